package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
)

const (
	overviewDays  = 30
	overviewParts = 3 // models with a part of their own
	overviewTop   = 6
	overviewCalls = 5
	runwayDays    = 7
)

// Share is what a model cost; the one without a name is the rest.
type Share struct {
	Model string
	Rest  bool
	Calls int64
	Cost  money.Nano
}

// DayShares is a day with the shares of models.
type DayShares struct {
	Day    time.Time
	Calls  int64
	Cost   money.Nano
	Shares []Share

	Prompt, CacheRead int64 // tokens: of all prompts, and of them those read from providers' caches
}

// Overview is the account at a glance.
type Overview struct {
	ledger.Balance
	Running int // calls and jobs on hold, -1 while other nodes have some
	Today   money.Nano
	Month   money.Nano
	Total   money.Nano // of Days
	Runway  int        // days, -1 unknown
	Days    []DayShares
	Top     []Share
	Models  []string // used in these days
	Calls   []record.Call
	Topped  bool // something was credited
}

// Overview makes the overview of a wallet at a moment, with the calls that of chooses. Of a part of them it cannot say how long the money lasts.
func (r *Reporter) Overview(ctx context.Context, wallet string, of Filter, now time.Time) (*Overview, error) {
	o, err := r.spendingOf(ctx, wallet, of, now)
	if err != nil {
		return nil, err
	}
	if o.Running, err = r.running(ctx, wallet, o.Held); err != nil {
		return nil, err
	}
	p, err := r.page(ctx, Search{Wallet: wallet, Filter: of, From: time.Unix(0, 0), To: now.Add(time.Hour), Limit: overviewCalls})
	if err != nil {
		return nil, err
	}
	if o.Calls = p.Calls; of != (Filter{}) {
		o.Runway = -1
	}
	return o, nil
}

// Spending is the part of the overview that roll-ups tell: all but Running and Calls.
func (r *Reporter) Spending(ctx context.Context, wallet string, now time.Time) (*Overview, error) {
	return r.spendingOf(ctx, wallet, Filter{}, now)
}

func (r *Reporter) spendingOf(ctx context.Context, wallet string, of Filter, now time.Time) (*Overview, error) {
	var err error
	o := &Overview{}
	if o.Balance, err = r.book.Balance(ctx, wallet); err != nil { // flushes
		return nil, err
	}
	zones, err := r.store.Zones(ctx, wallet)
	if err != nil {
		return nil, err
	}
	today := zones.Day(now)
	first, month := today.AddDate(0, 0, 1-overviewDays), Month.Floor(today)
	from := first
	if month.Before(from) {
		from = month
	}
	rows, err := r.store.Usage(ctx, Query{Wallet: wallet, Filter: of, Part: Model, Bucket: Day, Metric: Cost, From: from, To: today.AddDate(0, 0, 1)})
	if err != nil {
		return nil, err
	}
	o.spending(rows, first, today, month)
	o.Topped, err = r.store.ToppedUp(ctx, wallet)
	return o, err
}

// running counts what is on hold, -1 if other nodes hold something, whose calls are not known here.
func (r *Reporter) running(ctx context.Context, wallet string, held money.Nano) (int, error) {
	jobs, err := r.store.JobHolds(ctx, wallet)
	if err != nil {
		return 0, err
	}
	n, own := r.book.Running(wallet)
	for _, j := range jobs {
		own += j.Amount
	}
	if held > own {
		return -1, nil
	}
	return n + len(jobs), nil
}

func (o *Overview) spending(rows []Row, first, today, month time.Time) {
	total := map[string]*Share{}
	days := map[time.Time]map[string]*Sums{}
	for i := range rows {
		row := &rows[i]
		if !row.At.Before(month) {
			o.Month += row.Cost
		}
		if row.At.Before(first) {
			continue
		}
		if days[row.At] == nil {
			days[row.At] = map[string]*Sums{}
		}
		days[row.At][row.Value] = &row.Sums
		if total[row.Value] == nil {
			total[row.Value] = &Share{Model: row.Value}
		}
		s := total[row.Value]
		s.Calls += row.Calls
		s.Cost += row.Cost
		o.Total += row.Cost
	}
	for _, s := range total {
		o.Top = append(o.Top, *s)
		if s.Model != "" {
			o.Models = append(o.Models, s.Model)
		}
	}
	slices.Sort(o.Models)
	slices.SortFunc(o.Top, func(a, b Share) int {
		return cmp.Or(-cmp.Compare(a.Cost, b.Cost), -cmp.Compare(a.Calls, b.Calls), cmp.Compare(a.Model, b.Model))
	})
	var named []string
	for i := range o.Top {
		if i < overviewParts && o.Top[i].Cost > 0 && o.Top[i].Model != "" {
			named = append(named, o.Top[i].Model)
		}
	}
	if len(o.Top) > overviewTop {
		rest := Share{Rest: true}
		for _, s := range o.Top[overviewTop-1:] {
			rest.Calls += s.Calls
			rest.Cost += s.Cost
		}
		o.Top = append(o.Top[:overviewTop-1:overviewTop-1], rest)
	}
	var week money.Nano
	for day := first; !day.After(today); day = day.AddDate(0, 0, 1) {
		d := DayShares{Day: day}
		for _, s := range days[day] {
			d.Calls += s.Calls
			d.Cost += s.Cost
			d.Prompt += s.Prompt
			d.CacheRead += s.CacheRead
		}
		rest := d.Cost
		for _, m := range named {
			if s := days[day][m]; s != nil && s.Cost > 0 {
				d.Shares = append(d.Shares, Share{Model: m, Calls: s.Calls, Cost: s.Cost})
				rest -= s.Cost
			}
		}
		if rest > 0 {
			d.Shares = append(d.Shares, Share{Rest: true, Cost: rest})
		}
		o.Days = append(o.Days, d)
		if day.Equal(today) {
			o.Today = d.Cost
		} else if !day.Before(today.AddDate(0, 0, -runwayDays)) {
			week += d.Cost
		}
	}
	o.Runway = -1
	if available := o.Balance.Balance - o.Held; week > 0 {
		o.Runway = int(max(0, available) / max(1, week/runwayDays))
	}
}

// KeySpends is what the keys of a user spent, and when each was last used.
func (r *Reporter) KeySpends(ctx context.Context, user, wallet string) (map[string]KeySpend, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	return r.store.KeySpends(ctx, user, wallet)
}

// Pulse sums the calls of yesterday and today that of chooses: it changes with each call that is recorded, and costs little.
func (r *Reporter) Pulse(ctx context.Context, wallet string, of Filter, now time.Time) (s Sums, err error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return s, err
	}
	zones, err := r.store.Zones(ctx, wallet)
	if err != nil {
		return s, err
	}
	today := zones.Day(now)
	rows, err := r.store.Usage(ctx, Query{Wallet: wallet, Filter: of, Bucket: Day, From: today.AddDate(0, 0, -1), To: Day.Next(today)})
	for i := range rows {
		s.Add(&rows[i].Sums)
	}
	return s, err
}
