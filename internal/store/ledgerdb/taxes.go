package ledgerdb

import (
	"cmp"
	"slices"
	"strings"
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

	usageTaxes  = sqldb.Table{Name: "usage_taxes", Columns: slices.Concat(taxColumns, taxSums), Merge: addTaxes()}
	selectTaxes = selectAll("usage_taxes", taxColumns, taxSums)
)

func addTaxes() string {
	set := make([]string, len(taxSums))
	for i, c := range taxSums {
		set[i] = c + " = usage_taxes." + c + " + excluded." + c
	}
	return "ON CONFLICT (" + strings.Join(taxColumns, ", ") + ") DO UPDATE SET " + strings.Join(set, ", ")
}

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

// taxBook adds up VAT by wallet, day of the account and rate.
type taxBook struct {
	zones sqldb.Zones
	rows  map[taxKey]*taxes
}

func newTaxBook(z sqldb.Zones) *taxBook { return &taxBook{z, map[taxKey]*taxes{}} }

func (b *taxBook) add(wallet, vat string, at time.Time, s taxes) {
	k := taxKey{wallet, b.zones[wallet].Day(at).Format(time.DateOnly), vat}
	if b.rows[k] == nil {
		b.rows[k] = &taxes{}
	}
	b.rows[k].plus(s)
}

// call adds a call that was charged. The tax of each call is rounded, so the sum is that of the charges that users see.
func (b *taxBook) call(c *record.Call) {
	if !c.Settled {
		return
	}
	v := rate.PartsOf(c.Rate).VAT
	b.add(c.Wallet, v.Plain(), c.At, taxes{1, int64(c.Cost), int64(v.Part(c.Cost))})
}

// refund adds a refund of a call, of which before was given back earlier. Together the refunds of a call give back the tax of their sum, so
// that nothing is left of a tax whose charge was given back in parts.
func (b *taxBook) refund(c *record.Call, before, amount money.Nano, at time.Time) {
	v := rate.PartsOf(c.Rate).VAT
	b.add(c.Wallet, v.Plain(), at, taxes{3: 1, 4: int64(amount), 5: int64(v.Part(before+amount) - v.Part(before))})
}

// givenBack is one refund of a call.
type givenBack struct {
	at     int64 // Unix microseconds
	amount int64
}

// refunds adds all refunds of a call, the earliest posted first.
func (b *taxBook) refunds(c *record.Call, list []givenBack) {
	var before money.Nano
	for _, r := range list {
		b.refund(c, before, money.Nano(r.amount), time.UnixMicro(r.at))
		before += money.Nano(r.amount)
	}
}
