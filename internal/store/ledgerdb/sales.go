package ledgerdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store/sqldb"
)

// saleColumns are the key columns of sales, partColumns those of sales_parts, saleSums their figures in the order of sale.
var (
	saleColumns = []string{"day", "wallet", "model", "provider"}
	partColumns = []string{"part", "day", "value", "beside"}
	saleSums    = []string{"calls", "requests", "prompt", "cache_read", "cache_write", "completion", "cost", "tax", "upstream", "dollars", "unknown", "unknown_net",
		"refunded", "refunded_tax", "losing", "lost_price", "lost_cache", "lost_reported", "lost_uncharged"}

	salesTable  = sqldb.Table{Name: "sales", Columns: slices.Concat(saleColumns, saleSums), Merge: addTo("sales", saleColumns, saleSums)}
	salesParts  = sqldb.Table{Name: "sales_parts", Columns: slices.Concat(partColumns, saleSums), Merge: addTo("sales_parts", partColumns, saleSums)}
	selectSales = selectAll("sales", saleColumns, saleSums)
)

// addTo is the end of an INSERT that adds to the figures of an existing row.
func addTo(table string, key, sums []string) string {
	set := make([]string, len(sums))
	for i, c := range sums {
		set[i] = c + " = " + table + "." + c + " + excluded." + c
	}
	return "ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(set, ", ")
}

// saleKey is the key of sales.
type saleKey struct{ day, wallet, model, provider string }

// partKey is the key of sales_parts.
type partKey struct{ part, day, value, beside string }

// The parts of sales_parts beside byModel: by account, by account and month, whose day is its first one, and all of a day.
const (
	byAccount = "account"
	byMonth   = "month"
	byDay     = "day"
)

// sale are the figures of a row of sales.
type sale [19]int64

func (k saleKey) order(l saleKey) int {
	return cmp.Or(cmp.Compare(k.day, l.day), cmp.Compare(k.wallet, l.wallet), cmp.Compare(k.model, l.model), cmp.Compare(k.provider, l.provider))
}

func (k partKey) order(l partKey) int {
	return cmp.Or(cmp.Compare(k.part, l.part), cmp.Compare(k.day, l.day), cmp.Compare(k.value, l.value), cmp.Compare(k.beside, l.beside))
}

func (k saleKey) args(args []any, s *sale) []any {
	return s.args(append(args, k.day, k.wallet, k.model, k.provider))
}

func (k partKey) args(args []any, s *sale) []any {
	return s.args(append(args, k.part, k.day, k.value, k.beside))
}

// addTo adds the figures of a row to a digest of sums.
func (k saleKey) addTo(d *ledger.Digest, s *sale) {
	d.AddSums("sales", []string{k.day, k.wallet, k.model, k.provider}, saleSums, s[:])
}

func (s *sale) args(args []any) []any {
	for _, n := range s {
		args = append(args, n)
	}
	return args
}

func (s *sale) plus(o *sale) {
	for i, n := range o {
		s[i] += n
	}
}

// saleOf is what a call brought and cost.
func saleOf(c *record.Call) *sale {
	u := &c.Usage
	s := sale{1, bit(c.Settled), u.Prompt.N, u.CacheRead.N, u.Written().N, u.Completion.N, int64(c.Cost)}
	m, known := report.MarginOf(c)
	dollars, _ := report.DollarsOf(c)
	lost := [...]report.Loss{report.LossPrice, report.LossCache, report.LossReported, report.LossUncharged}
	if s[7] = int64(m.VAT); !known {
		s[7] = int64(report.VATOf(c))
		s[10], s[11] = 1, int64(c.Cost)-s[7]
		return &s
	}
	s[8], s[9] = int64(m.Upstream), int64(dollars)
	if why := report.LossOf(c, &m); why != report.NoLoss {
		s[14], s[15+slices.Index(lost[:], why)] = 1, -int64(m.Margin)
	}
	return &s
}

// scanSale reads the figures of a row behind its key.
func scanSale(row sqldb.Scanner, s *report.Sale, key ...any) error {
	return row.Scan(append(key, &s.Calls, &s.Charged, &s.Prompt, &s.CacheRead, &s.CacheWrite, &s.Completion, (*int64)(&s.Sales), (*int64)(&s.VAT), (*int64)(&s.Upstream), (*int64)(&s.Dollars),
		&s.Unknown, (*int64)(&s.UnknownNet), (*int64)(&s.Refunded), (*int64)(&s.RefundedVAT), &s.Losing, (*int64)(&s.LostPrice), (*int64)(&s.LostCache), (*int64)(&s.LostReported), (*int64)(&s.LostUncharged))...)
}

// salesSummed are the sums of the figures, as scanSale reads them.
var salesSummed = func() string {
	var b strings.Builder
	for _, c := range saleSums {
		b.WriteString(", CAST(SUM(" + c + ") AS BIGINT)")
	}
	return b.String()
}()

// salesFrom is the table with the fewest rows that can tell what a query asks for, and what its columns are there.
func salesFrom(q *report.SalesQuery) (table, part string, names map[report.Part]string) {
	model, account := q.Model != "" || q.Provider != "" || q.Part == report.Model || q.Part == report.Provider, q.Account != "" || q.Part == report.ByAccount
	switch {
	case model && account:
		return "sales", "", map[report.Part]string{report.Model: "model", report.Provider: "provider", report.ByAccount: "wallet", report.ByDay: "day"}
	case account:
		return "sales_parts", byAccount, map[report.Part]string{report.ByAccount: "value", report.ByDay: "day"}
	case !model && q.Part == report.ByDay:
		return "sales_parts", byDay, map[report.Part]string{report.ByDay: "day"}
	}
	return "sales_parts", byModel, map[report.Part]string{report.Model: "value", report.Provider: "beside", report.ByDay: "day"}
}

// among adds the conditions of a query.
func among(c *sqldb.Conditions, q *report.SalesQuery, names map[report.Part]string) {
	c.Add("day >= ? AND day < ?", q.From.Format(time.DateOnly), q.To.Format(time.DateOnly))
	sameParts(c, q, names)
}

// sameParts adds those that are not about days.
func sameParts(c *sqldb.Conditions, q *report.SalesQuery, names map[report.Part]string) {
	c.Equal(names[report.Model], q.Model)
	c.Equal(names[report.Provider], q.Provider)
	c.Equal(names[report.ByAccount], q.Account)
}

// Sales is report.Store.Sales.
func (s *Ledger) Sales(ctx context.Context, q report.SalesQuery) ([]report.SaleRow, error) {
	var c sqldb.Conditions
	table, part, names := salesFrom(&q)
	switch {
	case part == byAccount && q.Part == report.ByAccount:
		wholeMonths(&c, &q)
		sameParts(&c, &q, names)
	case part != "" && (q.Account != "" || q.Model != ""):
		c.Add("part || '' = ?", part) // else SQLite takes the key, and reads these days of all others
		among(&c, &q, names)
	default:
		if part != "" {
			c.Add("part = ?", part)
		}
		among(&c, &q, names)
	}
	return sqldb.List(ctx, s.db, "store.Sales", func(row sqldb.Scanner) (r report.SaleRow, err error) {
		if err = scanSale(row, &r.Sale, &r.Value); err == nil && q.Part == report.ByDay {
			r.Day, err = time.Parse(time.DateOnly, r.Value)
			r.Value = ""
		}
		return r, err
	}, "SELECT "+names[q.Part]+salesSummed+" FROM "+table+c.Where()+" GROUP BY 1 ORDER BY 1", c.Args...)
}

// wholeMonths takes accounts of whole months from the rows of these, and of the other days from those of days.
func wholeMonths(c *sqldb.Conditions, q *report.SalesQuery) {
	first := report.Month.Floor(q.From)
	if first.Before(q.From) {
		first = report.Month.Next(first)
	}
	last := report.Month.Floor(q.To)
	if last.Before(first) { // no whole month
		first, last = q.To, q.To
	}
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	c.Add("(part = '"+byAccount+"' AND day >= ? AND day < ? OR part = '"+byAccount+"' AND day >= ? AND day < ? OR part = '"+byMonth+"' AND day >= ? AND day < ?)",
		day(q.From), day(first), day(last), day(q.To), day(first), day(last))
}

// SalesOfDay is report.Store.SalesOfDay.
func (s *Ledger) SalesOfDay(ctx context.Context, q report.SalesQuery) ([]report.SaleDay, error) {
	var c sqldb.Conditions
	c.Equal("day", q.From.Format(time.DateOnly)) // and no range: then rows come in the order of the key
	sameParts(&c, &q, map[report.Part]string{report.Model: "model", report.Provider: "provider", report.ByAccount: "wallet"})
	return sqldb.List(ctx, s.db, "store.SalesOfDay", func(row sqldb.Scanner) (r report.SaleDay, err error) {
		r.Day = q.From
		err = scanSale(row, &r.Sale, &r.Wallet, &r.Model, &r.Provider)
		return r, err
	}, "SELECT wallet, model, provider, "+strings.Join(saleSums, ", ")+" FROM sales"+c.Where()+" ORDER BY wallet, model, provider", c.Args...)
}

// LastSale is report.Store.LastSale.
func (s *Ledger) LastSale(ctx context.Context, before time.Time) (day time.Time, err error) {
	var last string
	found, err := s.first(ctx, &last, "SELECT day FROM sales_parts WHERE part = '"+byModel+"' AND day < $1 AND calls > 0 ORDER BY day DESC LIMIT 1", []any{before.Format(time.DateOnly)})
	if found && err == nil {
		day, err = time.Parse(time.DateOnly, last)
	}
	return day, err
}

// rollUpSales adds to both tables. Rows of sales_parts are those of all accounts, so that batches of several nodes take turns from here on.
func rollUpSales(t *sqldb.Tx, sales map[saleKey]*sale) error {
	if err := merge(t, &salesTable, sales, saleKey.order, saleKey.args); err != nil {
		return err
	}
	return merge(t, &salesParts, partsOf(sales), partKey.order, partKey.args)
}

func partsOf(sales map[saleKey]*sale) map[partKey]*sale {
	parts := map[partKey]*sale{}
	for k, s := range sales {
		for _, p := range [...]partKey{{byModel, k.day, k.model, k.provider}, {byAccount, k.day, k.wallet, ""}, {byMonth, k.day[:len("2026-01-")] + "01", k.wallet, ""}, {byDay, k.day, "", ""}} {
			at(parts, p).plus(s)
		}
	}
	return parts
}

// compareSales compares sales with calls and refunds, and with what remains of the calls that were dropped.
func (u *usageCheck) compareSales(to dayCursor) {
	want := u.days.taxes.sales
	between := rowsBetween{"", u.whole, to}
	swept := u.c.books.swept.calls > 0
	u.c.each(between.of(selectSales), func(v []any) {
		var s sale
		for i := range s {
			s[i], _ = v[len(saleColumns)+i].(int64)
		}
		k, right := saleKey{text(v[0]), text(v[1]), text(v[2]), text(v[3])}, sale{}
		if want[k] != nil {
			right = *want[k]
			delete(want, k)
		}
		u.rows.sales++
		if !swept {
			compare(&u.wrong.sales, k, s, right)
			return
		}
		for i := range s {
			s[i] -= right[i]
		}
		k.addTo(&u.dropped.sales, &s)
	}, between.args()...)
	for k := range want {
		u.wrong.sales.add(fmt.Sprintf("%v is missing", k))
	}
}

// compareParts compares sales_parts with sales.
func (u *usageCheck) compareParts() {
	u.c.each(checkParts, func(v []any) {
		u.wrong.sales.add(fmt.Sprintf("the part by %s of %s for %s and %s differs from the sales that it is made of", text(v[0]), text(v[1]), text(v[2]), text(v[3])))
	})
}

var checkParts = func() string {
	list := func(before string) string { return before + strings.Join(saleSums, ", "+before) }
	differs := make([]string, len(saleSums))
	for i, c := range saleSums {
		differs[i] = "SUM(" + c + ") <> 0"
	}
	return "SELECT part, day, value, beside FROM (SELECT '" + byModel + "' AS part, day, model AS value, provider AS beside, " + list("") + " FROM sales UNION ALL SELECT '" + byAccount + "', day, wallet, '', " + list("") +
		" FROM sales UNION ALL SELECT '" + byMonth + "', substr(day, 1, 8) || '01', wallet, '', " + list("") + " FROM sales UNION ALL SELECT '" + byDay + "', day, '', '', " + list("") + " FROM sales UNION ALL SELECT part, day, value, beside, " + list("-") + " FROM sales_parts) p GROUP BY part, day, value, beside HAVING " + strings.Join(differs, " OR ") + " LIMIT 5"
}()

// remainder are the sales that hours have of calls that were dropped.
func remainder(h hourKey, more *sums) (saleKey, sale) {
	return saleKey{time.Unix(h.hour, 0).UTC().Format(time.DateOnly), h.wallet, h.model, h.provider},
		sale{more[0], more[1], more[4], more[5], more[6], more[7], more[9], 10: more[1], 11: more[9], 12: more[lastAt-1]}
}
