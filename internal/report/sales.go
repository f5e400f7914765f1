package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/money"
)

// ByAccount as a Part of sales is whose calls they were.
const ByAccount Part = "account"

// ByDay as a Part of sales is the day, of UTC.
const ByDay Part = "day"

// Sale is what some calls brought and cost. Refunds belong to the day on which they were posted, whatever day their calls are of.
type Sale struct {
	Calls      int64
	Charged    int64 // of them
	Prompt     int64 // tokens
	CacheRead  int64
	CacheWrite int64
	Completion int64

	Sales    money.Nano // what they were charged, VAT within it
	VAT      money.Nano // in Sales
	Upstream money.Nano // what providers ask for, in rubles at the rate of each call
	Dollars  money.Nano // and in billionths of a dollar

	Unknown    int64      // calls whose provider's cost is not known
	UnknownNet money.Nano // what they were charged, without VAT: no part of a margin

	Refunded    money.Nano // VAT within it
	RefundedVAT money.Nano

	Losing        int64      // calls that cost more than they brought
	LostPrice     money.Nano // by how much, for each Loss
	LostCache     money.Nano
	LostReported  money.Nano
	LostUncharged money.Nano
}

// Margin is what is left of sales without VAT and what providers ask for, of the calls whose cost is known.
func (s *Sale) Margin() money.Nano { return s.Sales - s.VAT - s.UnknownNet - s.Upstream }

// Add adds other figures.
func (s *Sale) Add(o *Sale) {
	s.Calls += o.Calls
	s.Charged += o.Charged
	s.Prompt += o.Prompt
	s.CacheRead += o.CacheRead
	s.CacheWrite += o.CacheWrite
	s.Completion += o.Completion
	s.Sales += o.Sales
	s.VAT += o.VAT
	s.Upstream += o.Upstream
	s.Dollars += o.Dollars
	s.Unknown += o.Unknown
	s.UnknownNet += o.UnknownNet
	s.Refunded += o.Refunded
	s.RefundedVAT += o.RefundedVAT
	s.Losing += o.Losing
	s.LostPrice += o.LostPrice
	s.LostCache += o.LostCache
	s.LostReported += o.LostReported
	s.LostUncharged += o.LostUncharged
}

// Lost is by how much calls cost more than they brought, and the cause of most of it.
func (s *Sale) Lost() (all money.Nano, most Loss) {
	var largest money.Nano
	for _, l := range []struct {
		why  Loss
		lost money.Nano
	}{{LossPrice, s.LostPrice}, {LossCache, s.LostCache}, {LossReported, s.LostReported}, {LossUncharged, s.LostUncharged}} {
		if all += l.lost; l.lost > largest {
			largest, most = l.lost, l.why
		}
	}
	return all, most
}

// SaleRow is a group of calls of sales.
type SaleRow struct {
	Value string    // of the part, "" where calls have none, and of days
	Day   time.Time // of days
	Sale
	Losses Loss      // why it lost money; NoLoss: it did not
	Since  time.Time // the day since which it has lost money on each day with calls; zero unless it has lost on the last of them
}

// SalesQuery asks for sales on days of UTC.
type SalesQuery struct {
	From, To                 time.Time // To is not included
	Part                     Part
	Model, Provider, Account string // "" for all, Nothing for calls without; an account by its wallet
}

// SaleDay is a row of the file of sales: what an account bought of a model at a provider on a day.
type SaleDay struct {
	Day                     time.Time
	Wallet, Model, Provider string
	Sale
}

// Sold is what was sold in a period.
type Sold struct {
	Rows     []SaleRow // days newest first; others by sales, the largest first
	Days     []SaleRow // by day, the oldest first; days without calls are there
	Total    Sale
	Previous Sale      // of as many days before
	LastDay  time.Time // when the period has no calls: the last day before its end that has some
}

// lossesBack is how many days before a period the begin of losses is looked for.
const lossesBack = 92

// Sold sums sales up.
func (r *Reporter) Sold(ctx context.Context, q SalesQuery) (*Sold, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	days := q
	days.Part = ByDay
	days.From = q.From.Add(q.From.Sub(q.To))
	all, err := r.store.Sales(ctx, days)
	if err != nil {
		return nil, err
	}
	s := &Sold{}
	known := map[time.Time]*Sale{}
	for i := range all {
		if all[i].Day.Before(q.From) {
			s.Previous.Add(&all[i].Sale)
			continue
		}
		s.Total.Add(&all[i].Sale)
		known[all[i].Day] = &all[i].Sale
	}
	for day := q.From; day.Before(q.To); day = Day.Next(day) {
		row := SaleRow{Day: day}
		if has := known[day]; has != nil {
			row.Sale = *has
		}
		s.Days = append(s.Days, row)
	}
	if q.Part == ByDay {
		for i := range s.Days {
			if s.Days[i].Sale != (Sale{}) {
				s.Rows = append(s.Rows, s.Days[i])
			}
		}
		slices.Reverse(s.Rows)
	} else if s.Rows, err = r.store.Sales(ctx, q); err != nil {
		return nil, err
	}
	for i := range s.Rows {
		if row := &s.Rows[i]; row.Margin() < 0 {
			_, row.Losses = row.Lost()
		}
	}
	slices.SortStableFunc(s.Rows, func(a, b SaleRow) int {
		return cmp.Or(b.Day.Compare(a.Day), cmp.Compare(b.Sales, a.Sales), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Value, b.Value))
	})
	if s.Total.Calls == 0 {
		s.LastDay, err = r.store.LastSale(ctx, q.To)
	}
	return s, err
}

// LosingSince sets since when rows of a query lose money: from a day on, each day with calls has lost.
func (r *Reporter) LosingSince(ctx context.Context, q SalesQuery, rows []SaleRow) error {
	if q.Part == ByDay {
		return nil
	}
	for i := range rows {
		row := &rows[i]
		if row.Losses == NoLoss {
			continue
		}
		of := q
		of.Part, of.From = ByDay, q.From.AddDate(0, 0, -lossesBack)
		value := cmp.Or(row.Value, Nothing)
		switch q.Part {
		case Model:
			of.Model = value
		case Provider:
			of.Provider = value
		default:
			of.Account = value
		}
		days, err := r.store.Sales(ctx, of)
		if err != nil {
			return err
		}
		for k := len(days) - 1; k >= 0; k-- {
			switch margin := days[k].Margin(); {
			case margin < 0:
				row.Since = days[k].Day
				continue
			case days[k].Calls == 0: // a refund alone
				continue
			}
			break
		}
	}
	return nil
}

// EachSale calls f with what each account bought of each model at each provider on each day, the oldest first, until f reports that it has enough.
func (r *Reporter) EachSale(ctx context.Context, q SalesQuery, f func([]SaleDay) (more bool, err error)) error {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return err
	}
	for day := q.From; day.Before(q.To); day = Day.Next(day) {
		one := q
		one.From, one.To = day, Day.Next(day)
		rows, err := r.store.SalesOfDay(ctx, one)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		if more, err := f(rows); err != nil || !more {
			return err
		}
	}
	return nil
}

// WalletsOf are the wallets of rows.
func WalletsOf(rows []SaleDay) []string {
	wallets := make([]string, len(rows))
	for i := range rows {
		wallets[i] = rows[i].Wallet
	}
	return wallets
}

// SalesHeader names the columns of a file of sales.
var SalesHeader = []string{"day_utc", "account", "account_name", "model", "provider", "calls", "charged_calls", "prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens",
	"sales_rub", "vat_rub", "provider_cost_usd", "provider_cost_rub", "margin_rub", "unknown_cost_calls", "unknown_cost_sales_rub", "refunded_rub", "refunded_vat_rub"}

// Cells writes the cells of a row of a file of sales.
func (d *SaleDay) Cells(to *Sheet, account, name string) {
	to.Texts(d.Day.Format(time.DateOnly), account, name, d.Model, d.Provider)
	for _, n := range []int64{d.Calls, d.Charged, d.Prompt, d.CacheRead, d.CacheWrite, d.Completion} {
		to.Int(n)
	}
	for _, n := range []money.Nano{d.Sales, d.VAT, d.Dollars, d.Upstream, d.Margin()} {
		to.Amount(n)
	}
	to.Int(d.Unknown)
	for _, n := range []money.Nano{d.UnknownNet, d.Refunded, d.RefundedVAT} {
		to.Amount(n)
	}
}
