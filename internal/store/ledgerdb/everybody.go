package ledgerdb

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store/sqldb"
)

// secondColumn is the second in the id of a call, of which an index exists for calls of all accounts. Calls of batches have that of their batch.
const secondColumn = "substr(id, 5, 10)"

// secondIn is the second in an id, as secondColumn has it.
func secondIn(id string) string {
	if len(id) < 4 {
		return ""
	}
	return id[4:min(14, len(id))]
}

// callFailed is the condition of the index of calls that failed.
const callFailed = "error <> '' AND cancelled = 0"

// beside adds the conditions of a search on what no roll-up knows.
func beside(c *sqldb.Conditions, q *report.Search) {
	if q.Status != 0 {
		c.Add("status = ?", int64(q.Status))
	}
	if q.ProviderKey != "" { // nearly: withKey looks at the attempts
		c.Add("CAST(details AS TEXT) LIKE ?", `%"key":%"`+q.ProviderKey+`"%`)
	}
}

// detailsFor is what a search needs of each call that it looks at, beside its columns.
func detailsFor(q *report.Search) string {
	if q.ProviderKey == "" {
		return ""
	}
	return ", details"
}

// withKey leaves calls of which an attempt was made with a provider's key. A client may have written what looks like its tag.
func withKey(calls []record.Call, tag string) []record.Call {
	if tag == "" {
		return calls
	}
	return slices.DeleteFunc(calls, func(c record.Call) bool {
		return !slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.ProviderKey == tag })
	})
}

// SearchAll is report.Store.SearchAll. The inner query is a stretch of an index, that of failures where only these are asked for, and the outer one
// chooses from it.
func (s *Ledger) SearchAll(ctx context.Context, q report.Search, most int) (w report.Window, err error) {
	before := strconv.FormatInt(q.To.Add(time.Second-time.Microsecond).Unix(), 10)
	var inner sqldb.Conditions
	inner.Add(secondColumn+" >= ?", strconv.FormatInt(q.From.Unix(), 10))
	if at := secondIn(q.After.ID); q.After == (report.Place{}) || at >= before {
		inner.Add(secondColumn+" < ?", before)
	} else {
		inner.Add(secondColumn+" <= ? AND NOT ("+secondColumn+" = ? AND id >= ?)", at, at, q.After.ID)
	}
	if r := q.Filter.Result; r != "" && r != record.OK && r != record.Canceled {
		inner.Add(callFailed)
	}
	all := sqldb.Conditions{Args: inner.Args}
	if q.Charged {
		all.Add("settled = 1")
	}
	if q.MinCost > 0 {
		all.Add("cost >= ?", int64(q.MinCost))
	}
	beside(&all, &q)
	filter(&all, &q.Filter, callColumns)
	order := " ORDER BY " + secondColumn + " DESC, id DESC LIMIT "
	look := " FROM generations WHERE " + inner.Text.String() + order
	chosen := all.Text.Len() > 0
	text := "SELECT wallet, id" + look + strconv.Itoa(q.Limit)
	if chosen {
		text = "SELECT wallet, id FROM (SELECT wallet, id, user_id, key_id, api, model, provider, status, error, cancelled, settled, cost" + detailsFor(&q) + look + strconv.Itoa(most) + ") w WHERE " +
			all.Text.String() + order + strconv.Itoa(q.Limit)
	}
	// records are read of what fits alone
	text = "SELECT g." + strings.ReplaceAll(storedColumns, ", ", ", g.") + " FROM (" + text + ") f JOIN generations g ON g.wallet = f.wallet AND g.id = f.id ORDER BY substr(f.id, 5, 10) DESC, f.id DESC"
	if s.db.Engine.Skewed != nil {
		all.Args = append([]any{s.db.Engine.Skewed}, all.Args...)
		inner.Args = append([]any{s.db.Engine.Skewed}, inner.Args...)
	}
	rows, err := sqldb.List(ctx, s.db, "store.SearchAll", scanStored, text, all.Args...)
	if err != nil {
		return report.Window{}, err
	}
	w.Calls = make([]record.Call, 0, len(rows))
	for i := range rows {
		it, _, err := rows[i].read(nil, loadWith(rowOf(ctx, s.db.Engine.Read)))
		if err != nil {
			return report.Window{}, err
		}
		w.Calls = append(w.Calls, it.Call)
	}
	if n := len(w.Calls); n == q.Limit && n > 0 {
		w.End = report.Place{At: w.Calls[n-1].At, ID: w.Calls[n-1].Generation}
	}
	w.Calls = withKey(w.Calls, q.ProviderKey)
	if w.End != (report.Place{}) {
		return w, nil
	}
	if !chosen {
		return w, nil
	}
	w.End, err = s.stretchEnd(ctx, look, most, inner.Args)
	return w, err
}

// How far the day of an account may be from that of UTC.
const (
	dayAhead  = 14 * time.Hour
	dayBehind = 12 * time.Hour
)

// fewAccounts is of how many accounts hours are looked for: hours of all accounts have no index by time. What more accounts have used on a day is
// found soon without.
const fewAccounts = 20

// LastHourOfAll is report.Store.LastHourOfAll. It finds the last day by an index of few rows, and then the hour among those of its accounts.
func (s *Ledger) LastHourOfAll(ctx context.Context, f report.Filter, from, before time.Time) (time.Time, error) {
	if kept, err := s.KeptSince(ctx); err != nil {
		return time.Time{}, err
	} else if kept.After(from) {
		from = kept
	}
	few := report.Filter{Model: f.Model, Provider: f.Provider}
	for range 2 { // the hours of the first day may all be after the moment
		var days sqldb.Conditions
		days.Add("part = '" + byModel + "'")
		days.Add("day >= ? AND day <= ?", from.Add(-dayBehind).UTC().Format(time.DateOnly), before.Add(dayAhead).UTC().Format(time.DateOnly))
		filter(&days, &few, groups[0].columns)
		var last string
		found, err := s.first(ctx, &last, "SELECT day FROM usage_groups WHERE "+days.Text.String()+" ORDER BY day DESC LIMIT 1", days.Args)
		if !found || err != nil {
			return time.Time{}, err
		}
		day, err := time.Parse(time.DateOnly, last)
		if err != nil {
			return time.Time{}, sqldb.Failure("store.LastHourOfAll", err)
		}
		begin, end := day.Add(-dayAhead), day.AddDate(0, 0, 1).Add(dayBehind)
		if end.After(before) {
			end = before
		}
		if begin.Before(from) {
			begin = report.Hour.Floor(from)
		}
		var users sqldb.Conditions
		users.Add("part = '" + byModel + "'")
		users.Add("day = ?", last)
		filter(&users, &few, groups[0].columns)
		wallets, err := sqldb.List(ctx, s.db, "store.LastHourOfAll", func(row sqldb.Scanner) (w string, err error) { return w, row.Scan(&w) },
			"SELECT DISTINCT wallet FROM usage_groups WHERE "+users.Text.String()+" LIMIT "+strconv.Itoa(fewAccounts+1), users.Args...)
		if err != nil || len(wallets) > fewAccounts {
			return report.Hour.Floor(end.Add(-time.Microsecond)), err
		}
		var latest int64
		for _, wallet := range wallets {
			var hours sqldb.Conditions
			hours.Add("wallet = ?", wallet)
			hours.Add("hour >= ? AND hour < ?", begin.Unix(), end.Add(time.Second-time.Microsecond).Unix())
			filter(&hours, &few, fullColumns)
			var hour int64
			if found, err = s.first(ctx, &hour, "SELECT hour FROM usage_hourly WHERE "+hours.Text.String()+" ORDER BY hour DESC LIMIT 1", hours.Args); err != nil {
				return time.Time{}, err
			}
			if found {
				latest = max(latest, hour)
			}
		}
		if latest > 0 {
			return time.Unix(latest, 0).UTC(), nil
		}
		if before = begin; !before.After(from) {
			return time.Time{}, nil
		}
	}
	return report.Hour.Floor(before), nil
}

// requestSeconds is how long after its request a call may begin: while it waits to be let in, or crosses the end of a second.
const requestSeconds = 3

// CallOfRequest is report.Store.CallOfRequest.
func (s *Ledger) CallOfRequest(ctx context.Context, request string, at time.Time) (generation string, err error) {
	args := []any{request}
	marks := make([]string, requestSeconds)
	for i := range marks {
		args = append(args, strconv.FormatInt(at.Unix()+int64(i), 10))
		marks[i] = "$" + strconv.Itoa(i+2)
	}
	_, err = s.first(ctx, &generation, "SELECT id FROM generations WHERE "+secondColumn+" IN ("+strings.Join(marks, ", ")+") AND details ->> 'request' = $1 LIMIT 1", args)
	return generation, err
}
