package report

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Metric is a figure of usage.
type Metric string

// The metrics.
const (
	Cost            Metric = "cost"
	Calls           Metric = "calls"
	Errors          Metric = "errors"
	TokensIn        Metric = "tokens_in"
	TokensOut       Metric = "tokens_out"
	TokensCached    Metric = "tokens_cached" //nolint:gosec // no credentials
	TokensReasoning Metric = "tokens_reasoning"
	FirstToken      Metric = "first_token" // the average in milliseconds

	Outcomes Metric = "outcomes" // of a query alone: how many calls failed or were canceled, and what all cost
)

// Of is the metric of some calls. It is not known where nothing was measured.
func (m Metric) Of(s *Sums) (n int64, known bool) {
	switch m {
	case Cost:
		return int64(s.Cost), true
	case Calls:
		return s.Calls, true
	case Errors:
		return s.Failed, true
	case TokensIn:
		return s.Prompt, true
	case TokensOut:
		return s.Completion, true
	case TokensCached:
		return s.CacheRead, true
	case TokensReasoning:
		return s.Reasoning, true
	}
	if s.FirstContents == 0 {
		return 0, false
	}
	return (s.FirstContent / time.Duration(s.FirstContents)).Milliseconds(), true
}

// rank orders series: of those that are averages, the one of most calls is the first.
func (m Metric) rank(s *Sums) int64 {
	if m == FirstToken {
		return s.FirstContents
	}
	n, _ := m.Of(s)
	return n
}

// Series is a group over time.
type Series struct {
	Key    string
	Total  Sums
	Values []Sums // by bucket
}

// Usage is usage over time.
type Usage struct {
	Query
	Times      []time.Time // of hours; days and months of the account are written as their midnight in UTC
	Series     []Series    // the largest first
	Other      []Sums      // the rest, by bucket; nil without a rest
	OtherTotal Sums
	OtherCount int // of groups in it
	Sums       []Sums
	Total      Sums

	PreviousFrom  time.Time
	PreviousTotal Sums
	LastAt        time.Time // when the period has no calls: when the last one before its end began
}

// Usage sums usage over time: the most groups that are the largest by m, and the rest.
func (r *Reporter) Usage(ctx context.Context, q Query, m Metric, most int) (*Usage, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	if q.Metric = m; q.Whole {
		q.Metric = ""
	}
	u, err := r.arranged(ctx, q, m, most)
	if err != nil {
		return nil, err
	}
	q.Metric, u.Metric = m, m
	switch {
	case q.parted():
		u.PreviousFrom = q.From.Add(q.From.Sub(q.To))
	case q.Bucket == Hour:
		u.PreviousFrom = q.Bucket.back(q.From, len(u.Times))
	default:
		u.PreviousFrom = q.Zones.Start(q.Bucket.back(q.Zones.Day(q.From), len(u.Times)))
	}
	if u.PreviousTotal, err = r.total(ctx, q, u.PreviousFrom, q.From); err != nil {
		return nil, err
	}
	if u.Total.Calls == 0 {
		u.LastAt, err = r.lastCall(ctx, q.Wallet, q.Filter, q.To)
	}
	return u, err
}

// parted reports whether days of a query are not whole.
func (q *Query) parted() bool {
	return q.Bucket == Day && (!q.begins(q.From) || !q.begins(q.To))
}

// begins reports whether a day of the account begins at t.
func (q *Query) begins(t time.Time) bool { return q.Zones.Start(q.Zones.Day(t)).Equal(t) }

// stored is a query of whole buckets as the store is asked it.
func (q *Query) stored() Query {
	s := *q
	if s.Bucket != Hour {
		s.From, s.To = q.Zones.Day(q.From), q.Zones.Day(q.To)
	}
	return s
}

// pieces are a query's hours before its first whole day, its whole days, and its hours after the last one.
func (q *Query) pieces() []Query {
	first, last := q.From, q.Zones.Start(q.Zones.Day(q.To))
	if !q.begins(first) {
		first = q.Zones.Start(Day.Next(q.Zones.Day(first)))
	}
	if !first.Before(last) {
		hours := *q
		hours.Bucket = Hour
		return []Query{hours}
	}
	parts := []Query{*q, *q, *q}
	parts[0].Bucket, parts[0].To = Hour, first
	parts[1].Bucket, parts[1].From, parts[1].To = Day, first, last
	parts[2].Bucket, parts[2].From = Hour, last
	return slices.DeleteFunc(parts, func(p Query) bool { return !p.From.Before(p.To) })
}

// rows are usage by bucket and group. A day that is not whole has its hours inside the period.
func (r *Reporter) rows(ctx context.Context, q Query) ([]Row, error) {
	if !q.parted() {
		return r.store.Usage(ctx, q.stored())
	}
	type place struct {
		at    time.Time
		value string
	}
	all := []Row{}
	index := map[place]int{}
	for _, p := range q.pieces() {
		rows, err := r.store.Usage(ctx, p.stored())
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if p.Bucket == Hour {
				rows[i].At = q.Zones.Day(rows[i].At)
			}
			at := place{rows[i].At, rows[i].Value}
			if known, ok := index[at]; ok {
				all[known].Add(&rows[i].Sums)
				continue
			}
			index[at] = len(all)
			all = append(all, rows[i])
		}
	}
	slices.SortFunc(all, func(a, b Row) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Value, b.Value)) })
	return all, nil
}

// total sums the calls that fit a query, between two other moments. Of hours it reads whole days as such: they have far fewer rows.
func (r *Reporter) total(ctx context.Context, q Query, from, to time.Time) (sum Sums, err error) {
	q.Part, q.From, q.To = None, from, to
	parts := []Query{q}
	if q.Bucket == Hour || q.parted() {
		parts = q.pieces()
	}
	for _, p := range parts {
		rows, err := r.store.Usage(ctx, p.stored())
		if err != nil {
			return sum, err
		}
		for i := range rows {
			sum.Add(&rows[i].Sums)
		}
	}
	return sum, nil
}

// back is the beginning of the n-th bucket before t.
func (b Bucket) back(t time.Time, n int) time.Time {
	switch b {
	case Hour:
		return t.Add(-time.Duration(n) * time.Hour)
	case Month:
		return t.AddDate(0, -n, 0)
	}
	return t.AddDate(0, 0, -n)
}

// lastCall is when the last call before a moment began, to the hour if it has a filter.
func (r *Reporter) lastCall(ctx context.Context, wallet string, f Filter, before time.Time) (time.Time, error) {
	return r.store.LastHour(ctx, wallet, f, time.Unix(0, 0), before)
}

func arrange(q Query, rows []Row, m Metric, most int) *Usage {
	u := &Usage{Query: q}
	index := map[time.Time]int{}
	first, last := q.From, q.To.Add(-time.Nanosecond)
	if q.Bucket != Hour {
		first, last = q.Zones.Day(first), q.Zones.Day(last)
	}
	for t := q.Bucket.Floor(first); !t.After(last); t = q.Bucket.Next(t) {
		index[t] = len(u.Times)
		u.Times = append(u.Times, t)
	}
	u.Sums = make([]Sums, len(u.Times))
	groups := map[string]*Series{}
	for i := range rows {
		row := &rows[i]
		at, ok := index[row.At]
		if !ok {
			continue
		}
		g := groups[row.Value]
		if g == nil {
			g = &Series{Key: row.Value, Values: make([]Sums, len(u.Times))}
			groups[row.Value] = g
		}
		g.Values[at].Add(&row.Sums)
		g.Total.Add(&row.Sums)
		u.Sums[at].Add(&row.Sums)
		u.Total.Add(&row.Sums)
	}
	for _, g := range groups {
		u.Series = append(u.Series, *g)
	}
	slices.SortFunc(u.Series, func(a, b Series) int {
		return order(m, &a.Total, &b.Total, a.Key, b.Key)
	})
	if len(u.Series) > most {
		u.Other = make([]Sums, len(u.Times))
		for _, g := range u.Series[most:] {
			u.OtherTotal.Add(&g.Total)
			u.OtherCount++
			for i := range g.Values {
				u.Other[i].Add(&g.Values[i])
			}
		}
		u.Series = u.Series[:most:most]
	}
	return u
}

// order is that of series: the largest by a metric first.
func order(m Metric, a, b *Sums, keyA, keyB string) int {
	return cmp.Or(-cmp.Compare(m.rank(a), m.rank(b)), -cmp.Compare(a.Calls, b.Calls), cmp.Compare(keyA, keyB))
}

// many reports whether a query is by days, and by a property that mostly has very many values on each of them. Tags have few.
func (q *Query) many() bool {
	f := &q.Filter
	return (q.Part == Session || q.Part == ClientUser) && f.Tag == "" && f.Session == "" && f.ClientUser == "" && q.Bucket == Day && !q.parted()
}

// only narrows a query by session or user to one of them, and does not group.
func (q *Query) only(value string) {
	value = cmp.Or(value, Nothing)
	if q.Part == Session {
		q.Filter.Session = value
	} else {
		q.Filter.ClientUser = value
	}
	q.Part = None
}

// arranged reads and arranges usage. Of a property with many values it reads the sums of the period first, and then the days of the largest alone.
func (r *Reporter) arranged(ctx context.Context, q Query, m Metric, most int) (*Usage, error) {
	if !q.many() {
		rows, err := r.rows(ctx, q)
		return arrange(q, rows, m, most), err
	}
	whole := q.stored()
	whole.Bucket = Period
	totals, err := r.store.Usage(ctx, whole)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(totals, func(a, b Row) int { return order(m, &a.Sums, &b.Sums, a.Value, b.Value) })
	var rows []Row
	for _, t := range totals[:min(most, len(totals))] {
		one := q.stored()
		one.only(t.Value)
		days, err := r.store.Usage(ctx, one)
		if err != nil {
			return nil, err
		}
		for i := range days {
			days[i].Value = t.Value
		}
		rows = append(rows, days...)
	}
	u := arrange(q, rows, m, most)
	if len(totals) <= most {
		return u, nil
	}
	all := q.stored() // last: calls that came meanwhile are among the rest
	all.Part = None
	rows, err = r.store.Usage(ctx, all)
	if err != nil {
		return nil, err
	}
	u.rest(arrange(q, rows, m, 1), totals[most:])
	return u, nil
}

// rest makes all calls those of the usage, of which it has the largest groups, and what these leave the others.
func (u *Usage) rest(all *Usage, others []Row) {
	u.Other, u.OtherCount = slices.Clone(all.Sums), len(others)
	for i := range u.Other {
		u.Other[i].Sub(&u.Sums[i])
		u.Other[i].LastAt = time.Time{} // not known of a part of a day
		u.OtherTotal.Add(&u.Other[i])
	}
	for i := range others {
		if at := others[i].LastAt; at.After(u.OtherTotal.LastAt) {
			u.OtherTotal.LastAt = at
		}
	}
	u.Sums, u.Total = all.Sums, all.Total
}

// Rows lists usage by bucket and group, complete.
func (r *Reporter) Rows(ctx context.Context, q Query) ([]Row, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	return r.rows(ctx, q)
}

// Histogram sums calls and their Outcomes over time, without groups.
func (r *Reporter) Histogram(ctx context.Context, q Query) (*Usage, error) {
	q.Metric = Outcomes
	rows, err := r.Rows(ctx, q)
	if err != nil {
		return nil, err
	}
	return arrange(q, rows, Calls, 1), nil
}
