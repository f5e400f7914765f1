package adminapi

import (
	"cmp"
	"context"
	"math/big"
	"strconv"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/report"
)

// SalesFigures are what some calls brought and cost, in rubles where nothing else is said: sales - vat - provider_cost = margin, but for calls whose
// provider's cost is not known.
type SalesFigures struct {
	Calls        int64      `json:"calls"`
	Charged      int64      `json:"charged_calls"` // of them
	Prompt       int64      `json:"prompt_tokens"`
	CacheRead    int64      `json:"cached_tokens"`
	CacheWrite   int64      `json:"cache_write_tokens"`
	Completion   int64      `json:"completion_tokens"`
	Sales        money.Nano `json:"sales"`                 // what calls were charged, VAT within it
	VAT          money.Nano `json:"vat"`                   // in sales
	Cost         money.Nano `json:"provider_cost"`         // what providers ask for, at the rate of each call
	Dollars      money.Nano `json:"provider_cost_dollars"` // the same in dollars
	Margin       money.Nano `json:"margin"`
	OnCost       *string    `json:"margin_percent"`     // of the provider's cost, to a hundredth; null without any
	Unknown      int64      `json:"unknown_cost_calls"` // whose provider's cost is not known: prices in rubles, or details that were dropped before sales were kept
	UnknownSales money.Nano `json:"unknown_cost_sales"` // what they were charged, without VAT; no part of the margin
	Refunded     money.Nano `json:"refunded"`           // posted in these days, of calls of any day, VAT within it; no part of the other figures
	RefundedVAT  money.Nano `json:"refunded_vat"`
	Losing       int64      `json:"losing_calls"` // that cost more than they brought
	Lost         money.Nano `json:"lost"`         // by how much
}

// SalesLoss is why a row lost money.
type SalesLoss struct {
	Cause string  `json:"cause" enum:"price,cache,reported,uncharged"` // prices below the provider's; those of the cache alone; the provider asked for more than its prices; calls that were not charged
	Since *string `json:"since"`                                       // day since which it has lost money on each day with calls; null where it did not lose on the last one
}

// SalesRow is a group of calls.
type SalesRow struct {
	Key  string  `json:"key"`  // the day (YYYY-MM-DD), model, provider, or id of the account; "" for calls without one
	Name *string `json:"name"` // of the present catalog, or of the account; null for none
	SalesFigures
	Loss *SalesLoss `json:"loss"` // null: it lost none
}

// SalesDay is a day.
type SalesDay struct {
	Day    string     `json:"day"`
	Sales  money.Nano `json:"sales"`
	VAT    money.Nano `json:"vat"`
	Cost   money.Nano `json:"provider_cost"`
	Margin money.Nano `json:"margin"`
}

// AdminSales is what was sold in a period.
type AdminSales struct {
	From     string       `json:"from"` // its first day, of UTC
	To       string       `json:"to"`   // its last one
	By       string       `json:"by"`
	Total    SalesFigures `json:"total"`
	Previous SalesFigures `json:"previous"` // of as many days before
	Days     []SalesDay   `json:"days"`     // all of them, oldest first
	Rows     []SalesRow   `json:"rows"`     // of the page; days newest first, others by sales, the largest first
	Count    int          `json:"count"`    // rows of all pages
	Next     *string      `json:"next"`     // of the next page; null: absent
	LastDay  *string      `json:"last_day"` // when the period has no calls: the last day before its end that has some
}

// SalesOf says which sales.
type SalesOf struct {
	From     string `json:"-" query:"from" maxLength:"10"`      // first day, of UTC; 30 days with today without it
	To       string `json:"-" query:"to" maxLength:"10"`        // last day; today without it
	Model    string `json:"-" query:"model" maxLength:"640"`    // (none) for calls without one
	Provider string `json:"-" query:"provider" maxLength:"256"` // id; (none) for calls that no provider answered
	Account  string `json:"-" query:"account" maxLength:"128"`  // id of a person
}

type salesInput struct {
	SalesOf
	By string `json:"-" query:"by" enum:"day,model,provider,account"` // model without it
	accountapi.PageOf
}

// mostSalesDays bounds a period.
const mostSalesDays = 400

// usualSales is how many rows a page has.
const usualSales = 20

type salesRoutes struct{ accountapi.Deps }

// query reads what is asked for.
func (d salesRoutes) query(ctx context.Context, in *SalesOf, now time.Time) (q report.SalesQuery, err error) {
	today := report.Day.Floor(now)
	q = report.SalesQuery{From: today.AddDate(0, 0, -29), To: today, Model: in.Model, Provider: in.Provider}
	for _, x := range []struct {
		name, text string
		to         *time.Time
	}{{"to", in.To, &q.To}, {"from", in.From, &q.From}} {
		if x.text == "" {
			continue
		}
		if *x.to, err = time.Parse(time.DateOnly, x.text); err != nil || x.to.Year() < 1970 {
			return q, fault.Field("adminapi.sales", x.name, "%s must be a day such as 2026-01-31.", x.name).Coded("day")
		}
		if x.name == "to" {
			q.From = x.to.AddDate(0, 0, -29)
		}
	}
	q.To = report.Day.Next(q.To)
	if !q.From.Before(q.To) {
		return q, fault.Field("adminapi.sales", "from", "from must be before to.").Coded("from_after_to")
	}
	if q.To.Sub(q.From) > mostSalesDays*24*time.Hour {
		return q, fault.Field("adminapi.sales", "from", "A period has at most %d days. Choose a shorter period.", mostSalesDays).Coded("period_days", "most", mostSalesDays)
	}
	for _, x := range []struct {
		name, text string
		most       int
	}{{"model", in.Model, 640}, {"provider", in.Provider, 256}, {"account", in.Account, 128}} {
		if len(x.text) > x.most {
			return q, fault.Field("adminapi.sales", x.name, "%s must have at most %d bytes.", x.name, x.most).Coded("most_bytes", "most", x.most)
		}
	}
	if in.Account != "" {
		q.Account = in.Account // an account that is gone is shown by its wallet
		u, err := d.Accounts.ByID(ctx, in.Account)
		if err == nil {
			q.Account = u.Wallet
		} else if !fault.Is(err, fault.NotFound) {
			return q, err
		}
	}
	return q, nil
}

func salesFigures(s *report.Sale) SalesFigures {
	lost, _ := s.Lost()
	f := SalesFigures{
		Calls: s.Calls, Charged: s.Charged, Prompt: s.Prompt, CacheRead: s.CacheRead, CacheWrite: s.CacheWrite, Completion: s.Completion,
		Sales: s.Sales, VAT: s.VAT, Cost: s.Upstream, Dollars: s.Dollars, Margin: s.Margin(), Unknown: s.Unknown, UnknownSales: s.UnknownNet,
		Refunded: s.Refunded, RefundedVAT: s.RefundedVAT, Losing: s.Losing, Lost: lost,
	}
	if s.Upstream > 0 {
		f.OnCost = new(percentOf(f.Margin, s.Upstream))
	}
	return f
}

// percentOf is what share of an amount another one is, in per cent with two digits.
func percentOf(part, of money.Nano) string {
	return new(big.Rat).Mul(big.NewRat(int64(part), int64(of)), big.NewRat(100, 1)).FloatString(2)
}

func (d salesRoutes) list(ctx context.Context, c *operation.Call, in *salesInput) (out operation.Data[AdminSales], err error) {
	q, err := d.query(ctx, &in.SalesOf, c.At)
	if err != nil {
		return out, err
	}
	switch q.Part = report.Part(cmp.Or(in.By, string(report.Model))); q.Part {
	case report.ByDay, report.Model, report.Provider, report.ByAccount:
	default:
		return out, fault.Field("adminapi.sales", "by", "by must be one of %s.", "day, model, provider, account").Coded("one_of", "allowed", "day, model, provider, account")
	}
	from := 0
	if in.Cursor != "" {
		if from, err = strconv.Atoi(in.Cursor); err != nil || from < 0 {
			return out, fault.Field("adminapi.sales", "cursor", "cursor must be next of the page before.").Coded("cursor")
		}
	}
	s, err := d.Reports.Sold(ctx, q)
	if err != nil {
		return out, err
	}
	out.Data = AdminSales{
		From: dayText(q.From), To: dayText(q.To.AddDate(0, 0, -1)), By: string(q.Part), Total: salesFigures(&s.Total), Previous: salesFigures(&s.Previous),
		Days: make([]SalesDay, len(s.Days)), Count: len(s.Rows),
	}
	for i := range s.Days {
		x := &s.Days[i]
		out.Data.Days[i] = SalesDay{dayText(x.Day), x.Sales, x.VAT, x.Upstream, x.Margin()}
	}
	if !s.LastDay.IsZero() {
		out.Data.LastDay = new(dayText(s.LastDay))
	}
	end := min(from+cmp.Or(in.Limit, usualSales), len(s.Rows))
	rows := s.Rows[min(from, end):end]
	if end < len(s.Rows) {
		out.Data.Next = new(strconv.Itoa(end))
	}
	if err := d.Reports.LosingSince(ctx, q, rows); err != nil {
		return out, err
	}
	out.Data.Rows, err = d.rows(ctx, q.Part, rows)
	return out, err
}

func dayText(t time.Time) string { return t.Format(time.DateOnly) }

func (d salesRoutes) rows(ctx context.Context, by report.Part, rows []report.SaleRow) ([]SalesRow, error) {
	keys := make([]string, len(rows))
	for i := range rows {
		keys[i] = rows[i].Value
	}
	names, err := d.names(ctx, by, keys)
	if err != nil {
		return nil, err
	}
	out := make([]SalesRow, len(rows))
	for i := range rows {
		row := &rows[i]
		n := names(row.Value)
		if by == report.ByDay {
			n.ID = dayText(row.Day)
		}
		out[i] = SalesRow{Key: n.ID, Name: accountapi.OrNull(n.Name), SalesFigures: salesFigures(&row.Sale)}
		if row.Losses != report.NoLoss {
			out[i].Loss = &SalesLoss{Cause: string(row.Losses)}
			if !row.Since.IsZero() {
				out[i].Loss.Since = new(dayText(row.Since))
			}
		}
	}
	return out, nil
}

// names returns what says how a group is called. An account that is gone keeps the id of its wallet.
func (d salesRoutes) names(ctx context.Context, by report.Part, keys []string) (func(key string) report.Named, error) {
	if by == report.ByAccount {
		owners, err := d.Reports.Names(ctx, report.UsersByWallet, keys)
		return func(key string) report.Named {
			o := owners[key]
			return report.Named{ID: cmp.Or(o.ID, key), Name: o.Name}
		}, err
	}
	snap := d.Catalog()
	return func(key string) report.Named {
		switch by {
		case report.Model:
			if m, _, ok := snap.Resolve(key); ok && key != "" {
				return report.Named{ID: key, Name: m.Name}
			}
		case report.Provider:
			if p := snap.Providers[key]; p != nil {
				return report.Named{ID: key, Name: p.Name}
			}
		}
		return report.Named{ID: key}
	}, nil
}

// file is a table of what each account bought of each model at each provider on each day: it is read a day at a time.
func (d salesRoutes) file(ctx context.Context, c *operation.Call, in *SalesOf) (operation.File, error) {
	q, err := d.query(ctx, in, c.At)
	if err != nil {
		return operation.File{}, err
	}
	name := "weir-sales-" + dayText(q.From) + "-" + dayText(q.To.AddDate(0, 0, -1)) + ".csv"
	return accountapi.Rows(name, func(row func(func(*report.Sheet)) bool) error {
		row(func(s *report.Sheet) { s.Texts(report.SalesHeader...) })
		return d.Reports.EachSale(ctx, q, func(rows []report.SaleDay) (bool, error) {
			owners, err := d.Reports.Names(ctx, report.UsersByWallet, report.WalletsOf(rows))
			if err != nil {
				return false, err
			}
			for i := range rows {
				o := owners[rows[i].Wallet]
				if !row(func(s *report.Sheet) { rows[i].Cells(s, cmp.Or(o.ID, rows[i].Wallet), o.Name) }) {
					return false, nil
				}
			}
			return true, nil
		})
	}), nil
}

func sales(of accountapi.Deps) []operation.Operation {
	d := salesRoutes{of}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/sales", ID: "getSales", Access: operation.Operating, Tag: "administration",
			Summary: "What calls of everybody brought and cost, by day, model, provider or account; for operators", Answer: "The figures of the period, of the one before, and a page of the table",
			Description: "Days are those of UTC. A call belongs to the day on which it began, a refund to the day on which it was posted.",
		}, d.list),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/sales.csv", ID: "getSalesFile", Access: operation.Operating, Tag: "administration", Media: "text/csv",
			Summary: "The sales of a period as a file: one row for each day, account, model and provider; for operators", Answer: "UTF-8 with a header row; amounts with a dot",
		}, d.file),
	}
}
