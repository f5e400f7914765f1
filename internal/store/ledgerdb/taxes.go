package ledgerdb

import (
	"cmp"
	"slices"
	"time"

	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

// taxColumns are the key columns of usage_taxes, taxSums its figures in the order of taxes.
var (
	taxColumns = []string{"wallet", "day", "vat"}
	taxSums    = []string{"calls", "cost", "tax", "refunds", "refunded", "refunded_tax"}

	usageTaxes  = sqldb.Table{Name: "usage_taxes", Columns: slices.Concat(taxColumns, taxSums), Merge: addTo("usage_taxes", taxColumns, taxSums)}
	selectTaxes = selectAll("usage_taxes", taxColumns, taxSums)
)

// taxKey is the key of usage_taxes. vat is a percentage, "" without VAT.
type taxKey struct{ wallet, day, vat string }

func (k taxKey) order(l taxKey) int {
	return cmp.Or(cmp.Compare(k.wallet, l.wallet), cmp.Compare(k.day, l.day), cmp.Compare(k.vat, l.vat))
}

// args appends a row of usage_taxes to args.
func (k taxKey) args(args []any, s *taxes) []any {
	args = append(args, k.wallet, k.day, k.vat)
	for _, n := range s {
		args = append(args, n)
	}
	return args
}

// taxes are the figures of a row of usage_taxes.
type taxes [6]int64

func (s *taxes) plus(o taxes) {
	for i, n := range o {
		s[i] += n
	}
}

// dayBook adds up what belongs to days: VAT by wallet, day of the account and rate, sales, and how calls ended.
type dayBook struct {
	zones   sqldb.Zones
	rows    map[taxKey]*taxes
	sales   map[saleKey]*sale
	results map[resultKey]*ended
}

func newDayBook(z sqldb.Zones) *dayBook {
	return &dayBook{z, map[taxKey]*taxes{}, map[saleKey]*sale{}, map[resultKey]*ended{}}
}

// sale adds to the sales of a call on the day of UTC that has a time.
func (b *dayBook) sale(c *record.Call, on time.Time, s *sale) {
	at(b.sales, saleKey{on.UTC().Format(time.DateOnly), c.Wallet, c.Model, c.Provider}).plus(s)
}

func (b *dayBook) add(wallet, vat string, on time.Time, s taxes) {
	at(b.rows, taxKey{wallet, b.zones[wallet].Day(on).Format(time.DateOnly), vat}).plus(s)
}

// call adds a call. The tax of each is rounded, so the sum is that of the charges that users see.
func (b *dayBook) call(c *record.Call) {
	s := saleOf(c)
	b.sale(c, c.At, s)
	b.result(c, s)
	if !c.Settled {
		return
	}
	v := rate.PartsOf(c.Rate).VAT
	b.add(c.Wallet, v.Plain(), c.At, taxes{1, int64(c.Cost), int64(v.Part(c.Cost))})
}

// refund adds a refund of a call, of which before was given back earlier. Together the refunds of a call give back the tax of their sum, so
// that nothing is left of a tax whose charge was given back in parts.
func (b *dayBook) refund(c *record.Call, before, amount money.Nano, at time.Time) {
	v := rate.PartsOf(c.Rate).VAT
	tax := int64(v.Part(before+amount) - v.Part(before))
	b.add(c.Wallet, v.Plain(), at, taxes{3: 1, 4: int64(amount), 5: tax})
	b.sale(c, at, &sale{12: int64(amount), 13: tax})
}

// givenBack is one refund of a call.
type givenBack struct {
	at     int64 // Unix microseconds
	amount int64
}

// refunds adds all refunds of a call, the earliest posted first.
func (b *dayBook) refunds(c *record.Call, list []givenBack) {
	var before money.Nano
	for _, r := range list {
		b.refund(c, before, money.Nano(r.amount), time.UnixMicro(r.at))
		before += money.Nano(r.amount)
	}
}
