package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store/sqldb"
)

// result adds the condition of a result by its column.
func result(c *sqldb.Conditions, column, value string) {
	if value == report.Failed {
		c.Add(column + " NOT IN ('" + record.OK + "', '" + record.Canceled + "')")
		return
	}
	c.Equal(column, value)
}

// columnsOf are the names that the properties of calls have in a roll-up.
type columnsOf map[report.Part]string

var (
	fullColumns = columnsOf{report.Model: "model", report.Key: "key_id", report.Member: "user_id", report.Provider: "provider", report.Kind: "api", report.Result: "result"}
	// groups are the parts of usage_groups, each with what it can tell.
	groups = []struct {
		part    string
		columns columnsOf
	}{
		{byModel, columnsOf{report.Model: "value", report.Provider: "beside"}},
		{byKey, columnsOf{report.Key: "value", report.Member: "beside"}},
		{byKind, columnsOf{report.Kind: "value", report.Result: "beside"}},
	}
)

// given are the properties that a filter and a part use.
func given(f *report.Filter, part report.Part) (all []report.Part) {
	for _, x := range []struct {
		part  report.Part
		value string
	}{{report.Model, f.Model}, {report.Key, f.Key}, {report.Member, f.Member}, {report.Provider, f.Provider}, {report.Kind, f.Kind}, {report.Result, f.Result}} {
		if x.value != "" || x.part == part || x.part == report.Key && !f.Sees.All() {
			all = append(all, x.part)
		}
	}
	return all
}

// groupOf is the part of usage_groups that can answer for those properties; "" if none can. How many calls failed only the part with
// results can tell, and full roll-ups.
func groupOf(all []report.Part) (string, columnsOf) {
	for i := len(groups) - 1; i >= 0; i-- {
		g := groups[i]
		fits := true
		for _, p := range all {
			if g.columns[p] == "" {
				fits = false
			}
		}
		if fits {
			return g.part, g.columns
		}
	}
	return "", fullColumns
}

func filter(c *sqldb.Conditions, f *report.Filter, names columnsOf) {
	c.Equal(names[report.Model], f.Model)
	c.Equal(names[report.Key], f.Key)
	c.Sees(names[report.Key], f.Org, f.Sees)
	c.Equal(names[report.Member], f.Member)
	c.Equal(names[report.Provider], f.Provider)
	c.Equal(names[report.Kind], f.Kind)
	result(c, names[report.Result], f.Result)
}

// usageColumn is a figure of a row of report.Usage, with the metric that needs it; "" is needed always.
type usageColumn struct {
	name   string
	metric report.Metric
}

// needed reports whether a metric needs the column: each that is read costs time in each row.
func (c usageColumn) needed(m report.Metric) bool {
	switch {
	case m == "", c.metric == "", c.metric == m:
		return true
	case m == report.Outcomes:
		return c.name == "errors" || c.name == "cancelled" || c.name == "cost"
	}
	return false
}

var usageColumns = []usageColumn{
	{"calls", ""}, {"requests", allFigures}, {"errors", report.Errors}, {"cancelled", allFigures}, {"prompt", report.TokensIn}, {"cache_read", report.TokensCached}, {"cache_write", allFigures},
	{"completion", report.TokensOut}, {"reasoning", report.TokensReasoning}, {"cost", report.Cost}, {"refunded", allFigures}, {"first_content_us", report.FirstToken}, {"first_contents", report.FirstToken},
}

// allFigures is the metric of what only a query for all figures needs.
const allFigures report.Metric = "all"

// usageSums are the sums that a metric needs.
func usageSums(m report.Metric) string {
	var b strings.Builder
	for _, c := range usageColumns {
		if c.needed(m) {
			b.WriteString(", CAST(SUM(" + c.name + ") AS BIGINT)")
		} else {
			b.WriteString(", CAST(0 AS BIGINT)")
		}
	}
	if m == "" {
		return b.String() + ", MAX(last_at)"
	}
	return b.String() + ", CAST(0 AS BIGINT)"
}

// presorted are rows of a full roll-up, added up by all of its leading columns up to one: in this order the table has them, and what is left to
// sort by that column is little. key are the columns of its key. With all figures the whole takes a third of the time.
func presorted(from string, key []string, last string, m report.Metric) string {
	n := slices.Index(key, last)
	if last == "key_id" || n < 0 || n > slices.Index(key, "provider") { // in order already, or with nothing to add up
		return from
	}
	var b strings.Builder
	by := key[0] + ", " + strings.Join(key[2:n+1], ", ") // all have one wallet
	b.WriteString("(SELECT " + by)
	for _, c := range usageColumns {
		if c.needed(m) {
			b.WriteString(", SUM(" + c.name + ") AS " + c.name)
		}
	}
	if m == "" {
		b.WriteString(", MAX(last_at) AS last_at")
	}
	return b.String() + " FROM " + from + " GROUP BY " + by + ") s"
}

// Usage is report.Store.Usage.
func (s *Ledger) Usage(ctx context.Context, q report.Query) ([]report.Row, error) {
	if by, sorts, err := s.sorts(ctx, &q); sorts || err != nil {
		if err != nil {
			return nil, err
		}
		return s.usageByTags(ctx, q, by)
	}
	var c sqldb.Conditions
	all := q.Wallet == ""
	if !all {
		c.Add("wallet = ?", q.Wallet)
	}
	table, key, bucket, names := "usage_hourly", hourColumns, "hour", fullColumns
	if q.Bucket == report.Hour {
		c.Add("hour >= ? AND hour < ?", q.From.Unix(), q.To.Unix())
	} else {
		var part string
		if part, names = groupOf(given(&q.Filter, q.Part)); part != "" {
			table, key = "usage_groups", nil
			c.Add("part = ?", part)
		} else {
			table, key = "usage_daily", dayColumns
		}
		c.Add("day >= ? AND day < ?", q.From.Format(time.DateOnly), q.To.Format(time.DateOnly))
		bucket = dayBuckets(q.Bucket)
	}
	filter(&c, &q.Filter, names)
	value := names[q.Part]
	if q.Part == report.None {
		value = "''"
	}
	from := table + c.Where()
	switch {
	case all: // account by account: rows of all of them have no index by time
		from = "wallets w CROSS JOIN " + table + " u WHERE u.wallet = w.id AND " + c.Text.String()
	case s.db.Engine.Sorts && key != nil:
		from = presorted(from, key, value, q.Metric)
	}
	return s.usageRows(ctx, &q, bucket, value, from, c.Args)
}

// dayBuckets is the bucket of a row of a day.
func dayBuckets(b report.Bucket) string {
	switch b {
	case report.Month:
		return "substr(day, 1, 7)"
	case report.Period:
		return "''"
	}
	return "day"
}

// usageRows sums the rows of a roll-up by bucket and value.
func (s *Ledger) usageRows(ctx context.Context, q *report.Query, bucket, value, from string, args []any) ([]report.Row, error) {
	by := "1, 2"
	if q.Bucket == report.Period {
		by = "2" // SQLite would sort all rows by a text that is the same in each
	}
	text := "SELECT " + bucket + ", " + value + usageSums(q.Metric) + " FROM " + from + " GROUP BY " + by + " ORDER BY " + by
	return sqldb.List(ctx, s.db, "store.Usage", func(row sqldb.Scanner) (r report.Row, err error) {
		var first, last, hour int64
		var day string
		var at any = &day
		if q.Bucket == report.Hour {
			at = &hour
		}
		err = row.Scan(at, &r.Value, &r.Calls, &r.Charged, &r.Failed, &r.Canceled, &r.Prompt, &r.CacheRead, &r.CacheWrite, &r.Completion, &r.Reasoning, (*int64)(&r.Cost),
			(*int64)(&r.Refunded), &first, &r.FirstContents, &last)
		if err != nil {
			return r, err
		}
		if r.FirstContent = time.Duration(first) * time.Microsecond; last > 0 {
			r.LastAt = time.UnixMicro(last).UTC()
		}
		switch q.Bucket {
		case report.Hour:
			r.At = time.Unix(hour, 0).UTC()
		case report.Month:
			r.At, err = time.Parse("2006-01", day)
		case report.Period:
			r.At = q.From
		default:
			r.At, err = time.Parse(time.DateOnly, day)
		}
		return r, err
	}, text, args...)
}

// callColumns are the properties of calls in generations. There a result has three columns.
var callColumns = columnsOf{report.Model: "model", report.Key: "key_id", report.Member: "user_id", report.Provider: "provider", report.Kind: "api",
	report.Result: "CASE WHEN cancelled = 1 THEN '" + record.Canceled + "' WHEN error <> '' THEN error ELSE '" + record.OK + "' END"}

// SearchCalls is report.Store.SearchCalls. The inner query is a stretch of the index by time, the outer one chooses from it.
func (s *Ledger) SearchCalls(ctx context.Context, q report.Search, most int) (w report.Window, err error) {
	var inner sqldb.Conditions
	inner.Add("wallet = ?", q.Wallet)
	inner.Add("at >= ?", q.From.UnixMicro())
	if q.After == (report.Place{}) {
		inner.Add("at < ?", q.To.UnixMicro())
	} else { // only one upper bound, because SQLite may use the other; and no OR, because PostgreSQL would join two indexes for it
		at := q.After.At.UnixMicro()
		inner.Add("at <= ? AND NOT (at = ? AND id >= ?)", at, at, q.After.ID)
	}
	all := sqldb.Conditions{Args: inner.Args}
	if q.Charged {
		all.Add("settled = 1")
	}
	if q.MinCost > 0 {
		all.Add("cost >= ?", int64(q.MinCost))
	}
	details := sortedCalls(&all, &q.Filter)
	beside(&all, &q)
	if q.ProviderKey != "" {
		details = detailsFor(&q)
	}
	filter(&all, &q.Filter, callColumns)
	chosen := all.Text.Len() > 0
	look := "FROM generations WHERE " + inner.Text.String() + " ORDER BY at DESC, id DESC LIMIT "
	read := q.Limit
	if !chosen && q.Filter.Sorted() { // the records tell which of them fit
		read = most
	}
	text := "SELECT " + storedColumns + " " + look + strconv.Itoa(read)
	if chosen {
		// records are read of what fits alone
		text = "SELECT g." + strings.ReplaceAll(storedColumns, ", ", ", g.") + " FROM (SELECT id, at FROM (SELECT id, at, user_id, key_id, api, model, provider, status, error, cancelled, settled, cost" + details + " " + look + strconv.Itoa(most) + ") w WHERE " +
			all.Text.String() + " ORDER BY at DESC, id DESC LIMIT " + strconv.Itoa(q.Limit) + ") f JOIN generations g ON g.wallet = $1 AND g.id = f.id ORDER BY f.at DESC, f.id DESC"
	}
	if s.db.Engine.Skewed != nil { // a plan for an account of average size reads all calls of a large one
		all.Args = append([]any{s.db.Engine.Skewed}, all.Args...)
		inner.Args = append([]any{s.db.Engine.Skewed}, inner.Args...)
	}
	rows, err := sqldb.List(ctx, s.db, "store.SearchCalls", scanStored, text, all.Args...)
	if err != nil {
		return report.Window{}, err
	}
	w.Calls = make([]record.Call, 0, len(rows))
	var last report.Place
	for i := range rows {
		it, _, err := rows[i].read(nil, loadWith(rowOf(ctx, s.db.Engine.Read)))
		if err != nil {
			return report.Window{}, err
		}
		last = report.Place{At: time.UnixMicro(rows[i].at).UTC(), ID: rows[i].id}
		if !q.Filter.Fits(&it.Call) || len(withKey([]record.Call{it.Call}, q.ProviderKey)) == 0 {
			continue
		}
		if w.Calls = append(w.Calls, it.Call); len(w.Calls) == q.Limit {
			break
		}
	}
	if len(w.Calls) == q.Limit || len(rows) == read {
		w.End = last
		return w, nil
	}
	if !chosen {
		return w, nil
	}
	w.End, err = s.stretchEnd(ctx, " "+look, most, inner.Args)
	return w, err
}

// stretchEnd is the last of so many calls that a search looked at, and nowhere when there were fewer.
func (s *Ledger) stretchEnd(ctx context.Context, look string, most int, args []any) (end report.Place, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) error {
		var at int64
		err := row.Scan(&at, &end.ID)
		end.At = time.UnixMicro(at).UTC()
		if errors.Is(err, sql.ErrNoRows) {
			end, err = report.Place{}, nil
		}
		return err
	}, "SELECT at, id"+look+"1 OFFSET "+strconv.Itoa(most-1), args...)
	return end, sqldb.Failure("store.stretchEnd", err)
}

// LastHour is report.Store.LastHour.
func (s *Ledger) LastHour(ctx context.Context, wallet string, f report.Filter, from, before time.Time) (time.Time, error) {
	if kept, err := s.KeptSince(ctx); err != nil {
		return time.Time{}, err
	} else if kept.After(from) { // the roll-ups still have what came before
		from = kept
	}
	z, err := s.db.ZonesNow(ctx)
	if err != nil {
		return time.Time{}, err
	}
	h := z[wallet]
	if by, sorts, err := (&report.Query{Filter: f}).Sorts(); err != nil || sorts {
		if err != nil { // more than roll-ups can tell
			return before.Add(-time.Microsecond).Truncate(time.Hour), nil
		}
		return s.lastTagged(ctx, wallet, f, by, h, from, before)
	}
	// Of the day of before not all hours count: so it is looked at on its own, and then the latest day before it.
	part, names := groupOf(given(&f, report.None))
	for range 2 {
		day := h.Day(before.Add(-time.Microsecond))
		start := h.Start(day)
		var hours sqldb.Conditions
		hours.Add("wallet = ?", wallet)
		hours.Add("hour >= ? AND hour < ?", max(start.Unix(), report.Hour.Floor(from).Unix()), before.Add(time.Second-time.Microsecond).Unix())
		filter(&hours, &f, fullColumns)
		var hour int64
		found, err := s.first(ctx, &hour, "SELECT hour FROM usage_hourly WHERE "+hours.Text.String()+" ORDER BY hour DESC LIMIT 1", hours.Args)
		if found || err != nil {
			return time.Unix(hour, 0).UTC(), err
		}
		var days sqldb.Conditions
		days.Add("wallet = ?", wallet)
		table := "usage_daily"
		if part != "" {
			table = "usage_groups"
			days.Add("part = ?", part)
		}
		days.Add("day >= ? AND day < ?", h.Day(from).Format(time.DateOnly), day.Format(time.DateOnly))
		filter(&days, &f, names)
		var last string
		if found, err = s.first(ctx, &last, "SELECT day FROM "+table+" WHERE "+days.Text.String()+" ORDER BY day DESC LIMIT 1", days.Args); !found || err != nil {
			return time.Time{}, err
		}
		at, err := time.Parse(time.DateOnly, last)
		if err != nil {
			return time.Time{}, sqldb.Failure("store.LastHour", err)
		}
		before = h.Start(at.AddDate(0, 0, 1))
	}
	return time.Time{}, nil
}

// first scans a single value, and reports whether there is one.
func (s *Ledger) first(ctx context.Context, to any, text string, args []any) (found bool, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) error {
		err := row.Scan(to)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		found = err == nil
		return err
	}, text, args...)
	return found, sqldb.Failure("store.Read", err)
}

const (
	daySums  = `SELECT day, CAST(SUM(requests) AS BIGINT), CAST(SUM(cost) AS BIGINT) FROM usage_groups WHERE wallet = $1 AND part = '` + byKind + `' AND day >= $2 AND day < $3 GROUP BY day ORDER BY day`
	dayTaxes = `SELECT day, vat, calls, cost, tax, refunds, refunded, refunded_tax FROM usage_taxes WHERE wallet = $1 AND day >= $2 AND day < $3 ORDER BY day, vat`
	daySum   = `SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM usage_groups WHERE wallet = $1 AND part = '` + byKind + `' AND day >= $2 AND day < $3`
	// Postings by time. An index has them without settlements, of which there are very many more; the condition on the transaction makes planners
	// take it. The time is read of each by itself: joined, a planner that expects many of them would read all transactions.
	postingsOf = `SELECT transaction_id, line, account, amount, at FROM (SELECT transaction_id, line, account, amount, (SELECT t.at FROM transactions t WHERE t.id = transaction_id) AS at
		FROM entries WHERE account = $1 AND transaction_id >= 0 AND substr(ref, 1, 7) <> 'settle:') e WHERE at >= $2 AND at < $3 `
	postingSum = `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM (` + postingsOf + `) p`
	// What belongs to each posting is read by itself as well: joined, PostgreSQL reads all entries and transactions for it.
	postingsIn = `SELECT w.transaction_id, (SELECT t.kind FROM transactions t WHERE t.id = w.transaction_id), (SELECT t.ref FROM transactions t WHERE t.id = w.transaction_id), w.at,
		(SELECT t.actor FROM transactions t WHERE t.id = w.transaction_id), (SELECT t.reason FROM transactions t WHERE t.id = w.transaction_id), w.account, w.amount,
		COALESCE((SELECT o.account FROM entries o WHERE o.transaction_id = w.transaction_id AND o.line <> w.line AND substr(o.ref, 1, 7) <> 'settle:' LIMIT 1), '')
		FROM (` + postingsOf + `ORDER BY at, transaction_id LIMIT $4) w ORDER BY w.at, w.transaction_id`
	jobHolds = `SELECT substr(l.node, 5), l.granted - l.consumed, l.at, COALESCE((SELECT j.model FROM video_jobs j WHERE j.id = substr(l.node, 5)), '') FROM leases l
		WHERE l.wallet = $1 AND l.key_id = '' AND l.epoch = 0 AND l.granted > l.consumed ORDER BY l.at, l.node LIMIT 1000`
	toppedUp  = `SELECT 1 FROM entries WHERE account = $1 AND transaction_id >= 0 AND substr(ref, 1, 7) <> 'settle:' LIMIT 1`
	keySpends = `SELECT s.key_id, s.period, CAST(SUM(s.spent) AS BIGINT), CAST(SUM(s.forgiven) AS BIGINT) FROM api_keys k JOIN key_spend s ON s.key_id = k.id
		WHERE k.user_id = $1 AND k.deleted_at IS NULL AND (s.period = $2 AND s.start = $3 OR s.period = $4 AND s.start = $5 OR s.period = $6 AND s.start = $7 OR s.period = $8 AND s.start = $9)
		GROUP BY s.key_id, s.period`
	// one look for each key, not at all its days; its last one has a row for each user
	keyUses = `SELECT k.id, (SELECT g.last_at FROM usage_groups g WHERE g.wallet = $2 AND g.part = '` + byKey + `' AND g.value = k.id ORDER BY g.day DESC, g.last_at DESC LIMIT 1) AS at
		FROM api_keys k WHERE k.user_id = $1 AND k.deleted_at IS NULL`
)

// Account is report.Store.Account.
func (s *Ledger) Account(ctx context.Context, wallet string, from, to time.Time, most int) (a report.Account, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		var credited, charged, leased int64
		err := q.QueryRowContext(ctx, walletRead, sqldb.Text(wallet)).Scan(&credited, &charged, &leased)
		if errors.Is(err, sql.ErrNoRows) {
			return noWallet("store.Account", err)
		}
		if err != nil {
			return err
		}
		a.Balance = money.Nano(credited - charged)
		if a.Zone, err = sqldb.ZonesIn(ctx, q, wallet); err != nil {
			return err
		}
		begin, end := a.Zone.Start(from), a.Zone.Start(to)
		account := ledger.WalletAccount + sqldb.Text(wallet)
		for _, x := range []struct {
			to                 *money.Nano
			from, before       int64
			fromDay, beforeDay string
		}{
			{&a.Before, 0, begin.UnixMicro(), "", from.Format(time.DateOnly)},
			{&a.After, end.UnixMicro(), math.MaxInt64, to.Format(time.DateOnly), "~"},
		} {
			var posted, cost int64
			if err := q.QueryRowContext(ctx, postingSum, account, x.from, x.before).Scan(&posted); err != nil {
				return err
			}
			if err := q.QueryRowContext(ctx, daySum, sqldb.Text(wallet), x.fromDay, x.beforeDay).Scan(&cost); err != nil {
				return err
			}
			*x.to = money.Nano(posted - cost)
		}
		rows, err := q.QueryContext(ctx, daySums, sqldb.Text(wallet), from.Format(time.DateOnly), to.Format(time.DateOnly))
		if a.Days, err = sqldb.Collect(rows, err, func(row sqldb.Scanner) (d report.DaySum, err error) {
			var day string
			if err = row.Scan(&day, &d.Calls, (*int64)(&d.Cost)); err == nil {
				d.Day, err = time.Parse(time.DateOnly, day)
			}
			return d, err
		}); err != nil {
			return err
		}
		rows, err = q.QueryContext(ctx, dayTaxes, sqldb.Text(wallet), from.Format(time.DateOnly), to.Format(time.DateOnly))
		if a.Taxes, err = sqldb.Collect(rows, err, func(row sqldb.Scanner) (d report.DayTax, err error) {
			var day string
			err = row.Scan(&day, &d.Percent, &d.Calls, (*int64)(&d.Charged), (*int64)(&d.ChargedTax), &d.Refunds, (*int64)(&d.Refunded), (*int64)(&d.RefundedTax))
			if err == nil {
				d.Day, err = time.Parse(time.DateOnly, day)
			}
			return d, err
		}); err != nil {
			return err
		}
		rows, err = q.QueryContext(ctx, postingsIn, account, begin.UnixMicro(), end.UnixMicro(), int64(most+1))
		if a.Movements, err = sqldb.Collect(rows, err, scanMovement); err != nil {
			return err
		}
		if len(a.Movements) > most {
			a.Movements, a.More = a.Movements[:most], true
		}
		return nil
	})
	return a, err
}

// JobHolds is report.Store.JobHolds.
func (s *Ledger) JobHolds(ctx context.Context, wallet string) ([]report.Held, error) {
	return sqldb.List(ctx, s.db, "store.JobHolds", func(row sqldb.Scanner) (h report.Held, err error) {
		var at int64
		err = row.Scan(&h.Job, (*int64)(&h.Amount), &at, &h.Model)
		h.Since = time.UnixMicro(at).UTC()
		return h, err
	}, jobHolds, wallet)
}

// ToppedUp is report.Store.ToppedUp.
func (s *Ledger) ToppedUp(ctx context.Context, wallet string) (bool, error) {
	var one int
	return s.first(ctx, &one, toppedUp, []any{ledger.WalletAccount + wallet})
}

// KeySpends is report.Store.KeySpends.
func (s *Ledger) KeySpends(ctx context.Context, user, wallet string) (map[string]report.KeySpend, error) {
	z, err := s.db.ZonesNow(ctx)
	if err != nil {
		return nil, err
	}
	periods := ledger.Periods(z[wallet].Local(s.db.Now()))
	args := []any{user}
	for _, p := range periods {
		args = append(args, p.Kind, p.Start)
	}
	type spent struct {
		key, period string
		n, forgiven money.Nano
	}
	rows, err := sqldb.List(ctx, s.db, "store.KeySpends", sqldb.Columns(func(x *spent) []any { return []any{&x.key, &x.period, (*int64)(&x.n), (*int64)(&x.forgiven)} }), keySpends, args...)
	if err != nil {
		return nil, err
	}
	all := map[string]report.KeySpend{}
	for _, x := range rows {
		k := all[x.key]
		for i := range periods {
			if periods[i].Kind == x.period {
				spent, forgiven := spendIn(&k.KeySpend, i)
				*spent, *forgiven = x.n, x.forgiven
			}
		}
		all[x.key] = k
	}
	type use struct {
		key string
		at  sql.NullInt64
	}
	uses, err := sqldb.List(ctx, s.db, "store.KeySpends", sqldb.Columns(func(x *use) []any { return []any{&x.key, &x.at} }), keyUses, user, wallet)
	if err != nil {
		return nil, err
	}
	for _, x := range uses {
		if x.at.Int64 > 0 {
			k := all[x.key]
			k.LastAt = time.UnixMicro(x.at.Int64).UTC()
			all[x.key] = k
		}
	}
	return all, nil
}
