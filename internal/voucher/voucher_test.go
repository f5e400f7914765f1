package voucher_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/voucher"
)

// notes is a store that takes batches and nothing else.
type notes struct {
	voucher.Store
	batch voucher.Batch
	sums  []apikey.Sum
	event audit.Event
}

func (n *notes) AddVouchers(_ context.Context, b voucher.Batch, sums []apikey.Sum, e audit.Event) error {
	n.batch, n.sums, n.event = b, sums, e
	return nil
}

var now = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

func manager(s voucher.Store) *voucher.Manager {
	return voucher.NewManager(s, func() time.Time { return now })
}

// A code is read as people write it down, and only its hash reaches the store.
func TestCodesAsTyped(t *testing.T) {
	t.Parallel()
	n := &notes{}
	b, codes, err := manager(n).Make(t.Context(), voucher.Order{Amount: 99_900_000_000, Codes: 200, Uses: 2, Note: " spring ", Actor: audit.Actor{Name: "operator"}})
	if err != nil || len(codes) != 200 || b.Note != "spring" {
		t.Fatalf("%+v, %d codes, %v", b, len(codes), err)
	}
	for i, code := range codes {
		if strings.Contains(n.event.After, code) {
			t.Error("the audit log has a code")
		}
		if strings.ContainsAny(code, "ILOU") || len(code) != 24 {
			t.Errorf("%s", code)
		}
		for _, typed := range []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", ""), " " + strings.ReplaceAll(code, "-", " ") + "\n", strings.ReplaceAll(code, "-", "–"),
			strings.NewReplacer("0", "o", "1", "l").Replace(code), strings.NewReplacer("0", "O", "1", "I").Replace(code)} {
			if sum, err := voucher.SumOf(typed); err != nil || sum != n.sums[i] {
				t.Errorf("%q of %s: %v", typed, code, err)
			}
		}
	}
	if want := "200 codes of 99.9 rubles, each for 2 accounts: spring"; n.event.After != want || n.event.Action != audit.VouchersMade {
		t.Errorf("%+v", n.event)
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	fine := voucher.Order{Amount: 500 * money.Ruble, Codes: 1, Uses: 1, Note: "spring"}
	for field, change := range map[string][]func(*voucher.Order){
		"amount":     {func(o *voucher.Order) { o.Amount = 0 }, func(o *voucher.Order) { o.Amount = -1 }, func(o *voucher.Order) { o.Amount = 1 }, func(o *voucher.Order) { o.Amount = voucher.MostValue + money.Ruble }},
		"codes":      {func(o *voucher.Order) { o.Codes = 0 }, func(o *voucher.Order) { o.Codes = voucher.MostCodes + 1 }, func(o *voucher.Order) { o.Codes, o.Uses = 10_000, 1_000_000 }, func(o *voucher.Order) { o.Uses, o.Amount = 1_000_000, 1_000_000*money.Ruble }},
		"uses":       {func(o *voucher.Order) { o.Uses = 0 }, func(o *voucher.Order) { o.Uses = 1 << 60 }},
		"note":       {func(o *voucher.Order) { o.Note = " " }, func(o *voucher.Order) { o.Note = "a\nb" }, func(o *voucher.Order) { o.Note = "\xff" }, func(o *voucher.Order) { o.Note = strings.Repeat("x", 501) }},
		"expires_at": {func(o *voucher.Order) { o.ExpiresAt = now }},
	} {
		for i, c := range change {
			o := fine
			c(&o)
			if _, _, err := manager(&notes{}).Make(t.Context(), o); !fault.Is(err, fault.Invalid) || fault.From(err).Param != field {
				t.Errorf("%s, %d: %v", field, i, err)
			}
		}
	}
}

// Whatever is typed, it is a code or an error that names the field.
func FuzzSumOf(f *testing.F) {
	for _, seed := range []string{"", "7K3M-Q2XV-9TBN-04RC-HW5E", "7k3m q2xv 9tbn o4rc hw5e", strings.Repeat("-", 100), "ВАУЧЕР", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		sum, err := voucher.SumOf(typed)
		if err != nil {
			if fault.From(err).Param != "code" {
				t.Fatal(err)
			}
			return
		}
		if again, err := voucher.SumOf(strings.ToLower(typed)); err != nil || again != sum {
			t.Fatalf("%q: %v", typed, err)
		}
	})
}
