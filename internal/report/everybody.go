package report

import (
	"context"
	"time"

	"weir/internal/record"
)

// wideWindow is how many calls one step of a search over all accounts looks at: they are scattered over the table.
const wideWindow = 1000

// AllCalls lists calls of all accounts, the newest first. A page may be short, as those of Calls.
func (r *Reporter) AllCalls(ctx context.Context, s Search) (p Page, err error) {
	if _, err = r.book.CatchUp(ctx); err != nil {
		return p, err
	}
	return r.pageOfAll(ctx, s)
}

func (r *Reporter) pageOfAll(ctx context.Context, s Search) (p Page, err error) {
	most := s.Limit
	for range windows {
		if s.Filter.Model != "" || s.Filter.Provider != "" { // roll-ups know where nothing is to be found
			before := s.To
			if s.After != (Place{}) && s.After.At.Before(before) {
				before = s.After.At.Add(time.Microsecond)
			}
			hour, err := r.store.LastHourOfAll(ctx, s.Filter, s.From, before)
			if err != nil || hour.IsZero() {
				return Page{Calls: p.Calls}, err
			}
			if end := hour.Add(time.Hour); end.Before(s.To) {
				s.To = end
			}
		}
		s.Limit = most - len(p.Calls)
		w, err := r.store.SearchAll(ctx, s, wideWindow)
		if err != nil {
			return Page{}, err
		}
		p.Calls = append(p.Calls, w.Calls...)
		p.Next, s.After = w.End, w.End
		if p.Next == (Place{}) || len(p.Calls) >= most {
			break
		}
	}
	return p, nil
}

// hoursOfAll is of how long a time calls of all accounts are counted by the hour: hours are read account by account.
const hoursOfAll = 48 * time.Hour

// OverTime counts calls of all accounts, or of one, by the hour or the day of UTC, and those that failed. What clients stopped did not fail. A short
// time is counted by the hour. It begins later where calls that failed before are not kept.
func (r *Reporter) OverTime(ctx context.Context, q Query) (*Usage, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	longest := hoursOfAll
	if q.Wallet != "" {
		longest *= 4
	}
	q.Metric, q.Part, q.Bucket = Outcomes, None, Day
	if q.To.Sub(q.From) <= longest {
		q.Bucket = Hour
	}
	q.From, q.To = q.Bucket.Floor(q.From), q.Bucket.Next(q.Bucket.Floor(q.To.Add(-time.Microsecond)))
	f := &q.Filter
	var rows []Row
	var err error
	switch failing := f.Result != "" && f.Result != record.OK && f.Result != record.Canceled; {
	case q.Wallet != "":
		rows, err = r.daysOfUTC(ctx, q)
	case failing:
		rows, err = r.failed(ctx, &q)
	case q.Bucket == Hour || f.Kind != "" || f.Result != "" || f.Key != "" || f.Member != "":
		rows, err = r.store.Usage(ctx, q)
	default:
		if rows, err = r.failed(ctx, &q); err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].Sums = Sums{Failed: rows[i].Failed}
		}
		var sales []SaleRow
		sales, err = r.store.Sales(ctx, SalesQuery{From: q.From, To: q.To, Part: ByDay, Model: f.Model, Provider: f.Provider})
		for i := range sales {
			rows = append(rows, Row{At: sales[i].Day, Sums: Sums{Calls: sales[i].Calls, Cost: sales[i].Sales}})
		}
	}
	if err != nil {
		return nil, err
	}
	return arrange(q, rows, Calls, 1), nil
}

// failed are calls of all accounts that failed. It moves the beginning of a query to where they are kept.
func (r *Reporter) failed(ctx context.Context, q *Query) ([]Row, error) {
	rows, since, err := r.store.FailedCalls(ctx, *q)
	if since.After(q.From) && since.Before(q.To) {
		if q.From = q.Bucket.Floor(since); q.From.Before(since) {
			q.From = q.Bucket.Next(q.From)
		}
	}
	return rows, err
}

// daysOfUTC are calls of an account by buckets of UTC. Its roll-ups have its own days: where those differ, they are made of hours.
func (r *Reporter) daysOfUTC(ctx context.Context, q Query) ([]Row, error) {
	zones, err := r.store.Zones(ctx, q.Wallet)
	if err != nil {
		return nil, err
	}
	bucket := q.Bucket
	if len(zones) > 0 {
		q.Bucket = Hour
	}
	rows, err := r.store.Usage(ctx, q)
	for i := range rows {
		rows[i].At = bucket.Floor(rows[i].At)
	}
	return rows, err
}

// SoldIn sums the sales of a period.
func (r *Reporter) SoldIn(ctx context.Context, q SalesQuery) (sum Sale, err error) {
	q.Part = ByDay
	days, err := r.store.Sales(ctx, q)
	for i := range days {
		sum.Add(&days[i].Sale)
	}
	return sum, err
}

// CallOfRequest is the generation of the call that a request made, "" for none: by the second that the id of the request begins with.
func (r *Reporter) CallOfRequest(ctx context.Context, request string) (string, error) {
	at, ok := record.RequestSecond(request)
	if !ok {
		return "", nil
	}
	if _, err := r.book.CatchUp(ctx); err != nil {
		return "", err
	}
	return r.store.CallOfRequest(ctx, request, at)
}
