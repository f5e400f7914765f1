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

// hoursOfAll is of how long a time calls of all accounts are counted by the hour.
const hoursOfAll = 48 * time.Hour

// ResultQuery asks how calls of all accounts ended, by bucket of UTC.
type ResultQuery struct {
	From, To    time.Time // beginnings of buckets
	Bucket      Bucket    // Hour or Day
	Filter      Filter    // its Model, Provider, Kind and Result
	Status      int       // HTTP status of the answer; 0: any
	ProviderKey string    // only calls of which an attempt was made with the key of this tag, of any model and provider; "": all
}

// ResultRow are the calls of a bucket. Of a Sale it has the calls, what they were charged, and what their margin follows from.
type ResultRow struct {
	At     time.Time
	Failed int64
	Sale
}

// Times are how many calls there were over time.
type Times struct {
	Usage
	Sold      *Sale // what the calls brought; nil where no sum has it
	Uncounted []Beside
}

// Beside is something that a search can ask for and that no roll-up has, alone or together with the rest of the search.
type Beside string

// What calls are not counted by.
const (
	ByCost        Beside = "min_cost"
	ByStatus      Beside = "status"
	ByProviderKey Beside = "provider_key"
)

// byAccounts reports whether calls are counted by the roll-ups of an account, or of all of them: those that have keys.
func byAccounts(s *Search) bool { return s.Wallet != "" || s.Filter.Key != "" }

// uncounted is what keeps calls from being counted: for it they would have to be looked at one by one.
func uncounted(s *Search) (by []Beside) {
	if s.MinCost > 0 {
		by = append(by, ByCost)
	}
	if s.Status != 0 && byAccounts(s) {
		by = append(by, ByStatus)
	}
	if s.ProviderKey != "" && (byAccounts(s) || s.Filter.Model != "" || s.Filter.Provider != "") {
		by = append(by, ByProviderKey)
	}
	return by
}

// OverTime counts calls of all accounts, or of one, by the hour or the day of UTC, and those that failed. What clients stopped did not fail. A short
// time is counted by the hour. Of all accounts it begins later where calls from before are not kept. Where calls cannot be counted, the answer says why,
// and has no figures.
func (r *Reporter) OverTime(ctx context.Context, s Search, now time.Time) (*Times, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	q := Query{Wallet: s.Wallet, Filter: s.Filter, From: s.From, To: s.To, Metric: Outcomes, Bucket: Day}
	longest := hoursOfAll
	if q.Wallet != "" {
		longest *= 4
	}
	if q.To.Sub(q.From) <= longest {
		q.Bucket = Hour
	}
	q.From, q.To = q.Bucket.Floor(q.From), q.Bucket.Next(q.Bucket.Floor(q.To.Add(-time.Microsecond)))
	if by := uncounted(&s); by != nil {
		return &Times{Usage: Usage{Query: q}, Uncounted: by}, nil
	}
	if byAccounts(&s) {
		rows, err := r.daysOfUTC(ctx, q)
		if err != nil {
			return nil, err
		}
		sold, err := r.soldTo(ctx, &q, now)
		return &Times{Usage: *arrange(q, rows, Calls, 1), Sold: sold}, err
	}
	since, err := r.store.KeptSince(ctx)
	if err != nil {
		return nil, err
	}
	if since.After(q.From) && since.Before(q.To) {
		if q.From = q.Bucket.Floor(since); q.From.Before(since) {
			q.From = q.Bucket.Next(q.From)
		}
	}
	list, err := r.store.Results(ctx, ResultQuery{From: q.From, To: q.To, Bucket: q.Bucket, Filter: s.Filter, Status: s.Status, ProviderKey: s.ProviderKey})
	if err != nil {
		return nil, err
	}
	var sold Sale
	rows := make([]Row, len(list))
	for i := range list {
		x := &list[i]
		sold.Add(&x.Sale)
		rows[i] = Row{At: x.At, Sums: Sums{Calls: x.Calls, Charged: x.Charged, Failed: x.Failed, Cost: x.Sales}}
	}
	return &Times{Usage: *arrange(q, rows, Calls, 1), Sold: &sold}, nil
}

// soldTo is what the calls of an account brought, nil where sales cannot tell: they have whole days, by model and provider. Today has all that there are.
func (r *Reporter) soldTo(ctx context.Context, q *Query, now time.Time) (*Sale, error) {
	f := q.Filter
	f.Member = "" // whose account it is
	days := SalesQuery{From: q.From, To: Day.Floor(q.To.Add(-time.Microsecond)).AddDate(0, 0, 1), Part: ByDay, Model: f.Model, Provider: f.Provider, Account: q.Wallet}
	f.Model, f.Provider = "", ""
	if f != (Filter{}) || !days.From.Equal(Day.Floor(days.From)) || !days.To.Equal(q.To) && !q.To.After(now) {
		return nil, nil //nolint:nilnil // not known
	}
	rows, err := r.store.Sales(ctx, days)
	if err != nil {
		return nil, err
	}
	sum := &Sale{}
	for i := range rows {
		sum.Add(&rows[i].Sale)
	}
	return sum, nil
}

// daysOfUTC are calls of an account by buckets of UTC. Its roll-ups have its own days: where those differ, they are made of hours. Those of all accounts
// are each by its own days.
func (r *Reporter) daysOfUTC(ctx context.Context, q Query) ([]Row, error) {
	if q.Wallet == "" {
		return r.store.Usage(ctx, q)
	}
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
