package httpapi

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/report"
	"weir/internal/zone"
)

const (
	defaultDays = 30
	seriesMost  = 50
	seriesUsual = 8
	// How long a period may be, by its buckets.
	mostHours, mostDays, mostMonths = 8 * 24, 400, 60
)

// instant reads a day of the account or a time. A day as the end of a period is included, so it means the beginning of the next one.
func instant(q url.Values, name string, end bool, zones zone.History) (t time.Time, given bool, err error) {
	text := q.Get(name)
	if text == "" {
		return t, false, nil
	}
	if t, err = time.Parse(time.DateOnly, text); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		t = zones.Start(t)
	} else if t, err = time.Parse(time.RFC3339Nano, text); err != nil {
		return t, true, fault.Field("httpapi.instant", name, "%s must be a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.", name)
	}
	if t = t.UTC(); t.Year() < 1970 || t.Year() > 9999 {
		return t, true, fault.Field("httpapi.instant", name, "%s must be between 1970 and 9999.", name)
	}
	return t, true, nil
}

// period reads the times of a query; without them it is the last 30 days of the account, with today.
func (x *request) period(q url.Values) (from, to time.Time, zones zone.History, err error) {
	if zones, err = x.api.Reports.Zones(x.context(), x.caller.Wallet); err != nil {
		return from, to, nil, err
	}
	to, given, err := instant(q, "to", true, zones)
	if err != nil {
		return from, to, nil, err
	}
	if !given {
		to = x.at.UTC().Add(time.Second) // a call that has just begun is included
	}
	from, given, err = instant(q, "from", false, zones)
	if !given {
		from = zones.Start(zones.Day(to.Add(-time.Microsecond)).AddDate(0, 0, 1-defaultDays))
	}
	if err == nil && !from.Before(to) {
		err = fault.Field("httpapi.period", "from", "from must be before to.")
	}
	return from, to, zones, err
}

// filter reads which calls are meant. A key is named by its hash, as on the routes of keys, or by its id, as in calls.
func (x *request) filter(q url.Values, names *keyNames) (f report.Filter, err error) {
	f = report.Filter{Model: q.Get("model"), Provider: q.Get("provider"), Key: q.Get("key"), Member: q.Get("member"), Kind: q.Get("kind"), Result: q.Get("result")}
	for _, v := range []struct {
		name, value string
		most        int
	}{{"model", f.Model, 640}, {"provider", f.Provider, 256}, {"key", f.Key, 128}, {"member", f.Member, 128}, {"kind", f.Kind, 64}, {"result", f.Result, 64}} {
		if len(v.value) > v.most {
			return f, fault.Field("httpapi.filter", v.name, "%s must have at most %d bytes.", v.name, v.most)
		}
	}
	if len(f.Key) == 64 && !strings.HasPrefix(f.Key, "key_") {
		id, err := names.byHash(f.Key)
		if err != nil {
			return f, err
		}
		f.Key = id
	}
	return f, nil
}

// keyNames knows the keys of an account by their ids. They are read when the first name is asked for.
type keyNames struct {
	x    *request
	list []*apikey.Key // the newest first
	keys map[string]*apikey.Key
}

// namedKeys is how many keys are known by name, deleted ones included, the newest first.
const namedKeys = 1000

func (n *keyNames) read() error {
	if n.keys != nil {
		return nil
	}
	list, err := n.x.api.Keys.List(n.x.context(), apikey.Filter{User: n.x.caller.User, IncludeDisabled: true, IncludeDeleted: true, Count: namedKeys})
	if err != nil {
		return err
	}
	n.keys = make(map[string]*apikey.Key, len(list))
	for i := range list {
		n.keys[list[i].ID], n.list = &list[i], append(n.list, &list[i])
	}
	return nil
}

func (n *keyNames) byHash(hash string) (string, error) {
	if err := n.read(); err != nil {
		return "", err
	}
	for id, k := range n.keys {
		if k.Hash == hash || k.Previous.Hash == hash {
			return id, nil
		}
	}
	return "", apikey.NotFound("httpapi.keyNames")
}

// append writes the key of a call, null for "".
func (n *keyNames) append(o *object, name, id string) {
	if id == "" {
		o.null(name)
		return
	}
	o.Name(name).Object()
	o.text("id", id)
	k := n.keys[id]
	if k == nil {
		o.null("hash")
		o.null("name")
		o.boolean("deleted", true)
	} else {
		o.text("hash", k.Hash)
		o.text("name", k.Name)
		o.boolean("deleted", !k.DeletedAt.IsZero())
	}
	o.EndObject()
}

var (
	allParts   = []report.Part{report.Model, report.Key, report.Member, report.Provider, report.Kind, report.Result}
	allMetrics = []report.Metric{report.Cost, report.Calls, report.Errors, report.TokensIn, report.TokensOut, report.TokensCached, report.TokensReasoning, report.FirstToken}
	allBuckets = []report.Bucket{report.Hour, report.Day, report.Month}
)

// chosen is one of some words, the usual one for "".
func chosen[T ~string](q url.Values, name string, usual T, all []T) (T, error) {
	v := cmp.Or(T(q.Get(name)), usual)
	if !slices.Contains(all, v) {
		words := make([]string, len(all))
		for i := range all {
			words[i] = string(all[i])
		}
		return v, fault.Field("httpapi.chosen", name, "%s must be one of %s.", name, strings.Join(words, ", "))
	}
	return v, nil
}

// usageQuery reads what usage is asked for. Its period is whole buckets.
func (x *request) usageQuery(q url.Values, names *keyNames) (u report.Query, err error) {
	from, to, zones, err := x.period(q)
	if err != nil {
		return u, err
	}
	usual := report.Day
	if to.Sub(from) <= 48*time.Hour {
		usual = report.Hour
	}
	if u.Bucket, err = chosen(q, "bucket", usual, allBuckets); err != nil {
		return u, err
	}
	if u.Part, err = chosen(q, "group", report.Model, allParts); err != nil {
		return u, err
	}
	if u.Filter, err = x.filter(q, names); err != nil {
		return u, err
	}
	u.Wallet, u.Zones = x.caller.Wallet, zones
	widen(&u, from, to)
	if now := x.at.UTC(); u.Bucket == report.Day && u.To.After(now) { // nothing has happened after now: today is whole
		if day := zones.Start(report.Day.Next(zones.Day(now))); u.To.Before(day) {
			u.To = day
		}
	}
	most := map[report.Bucket]time.Time{report.Hour: u.From.Add(mostHours * time.Hour), report.Day: u.From.Add(mostDays * 24 * time.Hour), report.Month: u.From.AddDate(0, mostMonths, 0)}
	if u.To.After(most[u.Bucket]) {
		return u, fault.Field("httpapi.usage", "from", "A period by hour has at most eight days, by day %d days, by month %d months. Choose another bucket, or a shorter period.", mostDays, mostMonths)
	}
	return u, nil
}

// widen sets a query's period to whole hours, or whole months of the account: of days at the ends the hours of the period count.
func widen(u *report.Query, from, to time.Time) {
	begin, next := report.Hour.Floor, report.Hour.Next
	if u.Bucket == report.Month {
		begin = func(t time.Time) time.Time { return u.Zones.Start(report.Month.Floor(u.Zones.Day(t))) }
		next = func(t time.Time) time.Time { return u.Zones.Start(report.Month.Next(u.Zones.Day(t))) }
	}
	u.From = begin(from)
	if u.To = begin(to); u.To.Before(to) {
		u.To = next(u.To)
	}
}

// getUsage serves GET /api/usage.
func (x *request) getUsage() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	names := &keyNames{x: x}
	query, err := x.usageQuery(q, names)
	if err != nil {
		return err
	}
	metric, err := chosen(q, "metric", report.Cost, allMetrics)
	if err != nil {
		return err
	}
	most, err := queryInt(q, "limit", seriesMost)
	if err != nil {
		return err
	}
	if query.Whole, err = queryBool(q, "figures"); err != nil {
		return err
	}
	u, err := x.api.Reports.Usage(x.context(), query, metric, cmp.Or(most, seriesUsual))
	if err != nil {
		return err
	}
	if query.Part == report.Key {
		if err := names.read(); err != nil {
			return err
		}
	}
	o := newObject(4096)
	o.Object()
	o.Name("data")
	x.appendUsageReport(&o, u, metric, names)
	o.EndObject()
	return x.reply(&o)
}

// unitOf is what a metric is counted in.
func unitOf(m report.Metric) string {
	switch m {
	case report.Cost:
		return "RUB"
	case report.Calls, report.Errors:
		return "calls"
	case report.FirstToken:
		return "ms"
	}
	return "tokens"
}

// appendFigure writes a metric of some calls: rubles as text, counts as numbers, null where nothing was measured.
func appendFigure(o *object, m report.Metric, s *report.Sums) {
	switch n, known := m.Of(s); {
	case !known:
		o.Null()
	case m == report.Cost:
		o.Text(money.Nano(n).String())
	default:
		o.Int(n)
	}
}

func (x *request) appendUsageReport(o *object, u *report.Usage, m report.Metric, names *keyNames) {
	figures := func(name string, all []report.Sums) {
		o.Name(name).Array()
		for i := range all {
			appendFigure(o, m, &all[i])
		}
		o.EndArray()
	}
	o.Object()
	o.moment("from", u.From)
	o.moment("to", u.To)
	o.text("bucket", string(u.Bucket))
	o.text("group", string(u.Part))
	o.text("metric", string(m))
	o.text("unit", unitOf(m))
	o.Name("t").Array()
	for _, t := range u.Times {
		o.Text(t.Format(time.RFC3339))
	}
	o.EndArray()
	o.Name("series").Array()
	for i := range u.Series {
		s := &u.Series[i]
		key, label := x.labelOf(u.Part, s.Key, names)
		o.Object()
		o.text("key", key)
		o.textOrNull("label", label)
		o.Name("total")
		appendFigure(o, m, &s.Total)
		if u.Whole {
			appendFigures(o, "figures", &s.Total)
		}
		figures("values", s.Values)
		o.EndObject()
	}
	o.EndArray()
	if u.Other == nil {
		o.null("other")
	} else {
		figures("other", u.Other)
	}
	o.integer("other_count", int64(u.OtherCount))
	o.Name("other_total")
	appendFigure(o, m, &u.OtherTotal)
	if u.Whole {
		appendFigures(o, "other_figures", &u.OtherTotal)
	}
	figures("sums", u.Sums)
	o.Name("total")
	appendFigure(o, m, &u.Total)
	if u.Whole {
		appendFigures(o, "figures", &u.Total)
	}
	o.Name("previous").Object()
	o.moment("from", u.PreviousFrom)
	o.moment("to", u.From)
	o.Name("total")
	appendFigure(o, m, &u.PreviousTotal)
	o.EndObject()
	o.moment("last_call_at", u.LastAt)
	o.EndObject()
}

// appendFigures writes all metrics of some calls, and how many of them were charged and stopped.
func appendFigures(o *object, name string, s *report.Sums) {
	o.Name(name).Object()
	for _, m := range allMetrics {
		o.Name(string(m))
		appendFigure(o, m, s)
	}
	o.integer("charged", s.Charged)
	o.integer("canceled", s.Canceled)
	o.EndObject()
}

// labelOf is how a group is named in a filter, and to people.
func (x *request) labelOf(p report.Part, value string, names *keyNames) (key, label string) {
	switch p {
	case report.Key:
		if k := names.keys[value]; k != nil {
			return k.Hash, k.Name
		}
	case report.Member:
		if value == x.caller.User {
			if u, err := x.api.Accounts.ByID(x.context(), value); err == nil {
				return value, u.Name
			}
		}
	case report.Model:
		if m, _, ok := x.api.Catalog().Resolve(value); ok && value != "" {
			return value, m.Name
		}
	case report.Provider:
		if p := x.api.Catalog().Providers[value]; p != nil {
			return value, p.Name
		}
	}
	return value, value
}

// getUsageFile serves GET /api/usage.csv.
func (x *request) getUsageFile() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	names := &keyNames{x: x}
	query, err := x.usageQuery(q, names)
	if err != nil {
		return err
	}
	if query.Part == report.Key {
		if err := names.read(); err != nil {
			return err
		}
	}
	return x.export("usage", "csv", query.From, query.To, func(e *exporting) error {
		rows, err := x.api.Reports.Rows(x.context(), query)
		if err != nil {
			return err
		}
		e.row("from_utc", string(query.Part), "name", "calls", "charged_calls", "failed_calls", "canceled_calls", "prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens",
			"first_token_ms", "cost_rub", "refunded_rub")
		for i := range rows {
			r := &rows[i]
			key, label := x.labelOf(query.Part, r.Value, names)
			e.Moment(r.At)
			e.Texts(key)
			e.Texts(label)
			for _, n := range []int64{r.Calls, r.Charged, r.Failed, r.Canceled, r.Prompt, r.CacheRead, r.CacheWrite, r.Completion, r.Reasoning} {
				e.Int(n)
			}
			if n, known := report.FirstToken.Of(&r.Sums); known {
				e.Int(n)
			} else {
				e.Texts("")
			}
			e.Amount(r.Cost)
			e.Amount(r.Refunded)
			e.end()
		}
		return nil
	})
}
