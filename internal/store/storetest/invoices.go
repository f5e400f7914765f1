package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/store"
)

// Invoices checks what a store does for invoices and acts. open gives an empty store, and closes it after the test.
func Invoices(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"an invoice comes back as stored":               invoiceRoundTrip,
		"buyers":                                        invoiceBuyers,
		"numbers without gaps, by many at once":         invoiceNumbers,
		"numbers begin again with the year in Moscow":   invoiceYears,
		"no more open ones, and no more of a day":       invoiceBounds,
		"a list in pages, of one account or state":      invoicePages,
		"open to paid or cancelled, in any order":       invoiceStates,
		"a document is credited once, by many at once":  invoiceOnce,
		"imported, marked, and both":                    invoiceTwins,
		"in part, too much, and paid back":              invoiceSums,
		"with the tax on top":                           invoiceOnTop,
		"paid and cancelled at once: one of them":       invoiceRace,
		"a refusal of the books leaves no trace":        invoiceRollback,
		"acts are the statement, whatever happens":      func(t *testing.T, s *store.Store) { actsAreStatements(t, s, false) },
		"acts are the statement, wherever accounts are": func(t *testing.T, s *store.Store) { actsAreStatements(t, s, true) },
		"acts by many at once, without gaps":            actsRace,
		"acts by themselves, once, whatever dies":       actsByThemselves,
		"acts of all accounts, and of none too early":   actsOfAll,
		"no act for nothing, less after large refunds":  actsOfNothing,
		"an import that is tried, made and made again":  invoiceImport,
		"a statement that is kept, and its documents":   statementKept,
		"a document that two administrators assign":     statementAssigned,
		"acts that are missing":                         actsMissing,
		"one payer, two accounts with the same INN":     invoiceSameINN,
		"another wallet's invoice takes no document of": invoiceForeign,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

// InvoiceSeller is a seller whose check digits are right.
var InvoiceSeller = invoice.Seller{
	Name: "ООО «Плотина»", INN: "0012345673", KPP: "001201001", Address: "119000, г. Москва, ул. Речная, д. 1", Bank: "АО «Речной банк», г. Москва", BIK: "000000225",
	Account: "40702810400000000018", Correspondent: "30101810300000000225", Director: "Иванова А. П.", Accountant: "Петров Б. В.",
}

// biller is a manager at a moment.
func biller(s *store.Store, at time.Time, change ...func(*invoice.Config)) *invoice.Manager {
	c := invoice.Config{Now: func() time.Time { return at }, Seller: InvoiceSeller, VAT: rate.VAT{Mode: rate.Included, Percent: "22"}, Prefix: "W-", ActPrefix: "A-", Line: "Доступ к моделям, аванс", ActLine: "Доступ к моделям",
		Least: money.Ruble, Most: 1_000_000 * money.Ruble, ExpireAfter: 10 * 24 * time.Hour, Open: 1000, Day: 1000}
	for _, f := range change {
		f(&c)
	}
	return invoice.NewManager(s.Payments, c)
}

var (
	invoiceBy    = audit.Actor{Name: "test"}
	invoiceBuyer = invoice.Buyer{Name: "ООО «Ромашка»", INN: "0076543215", KPP: "007601001", Address: "143400, Московская обл., г. Красногорск, ул. Ленина, д. 5"}
)

// client is an account with a buyer.
func client(t *testing.T, s *store.Store) account.User {
	t.Helper()
	u := payer(t, s)
	if _, err := biller(s, payAt).SaveBuyer(t.Context(), u.ID, invoiceBuyer, invoiceBy); err != nil {
		t.Fatal(err)
	}
	return u
}

func bill(t *testing.T, s *store.Store, u account.User, m *invoice.Manager, amount money.Nano) invoice.Invoice {
	t.Helper()
	i, err := m.Make(t.Context(), invoice.Order{Account: u.ID, Wallet: u.Wallet, Amount: amount, Actor: invoiceBy})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func seen(amount money.Nano, reference string) invoice.Payment {
	return invoice.Payment{Amount: amount, Reference: reference, Date: time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), Actor: invoiceBy}
}

func invoiceRoundTrip(t *testing.T, s *store.Store) {
	u := client(t, s)
	want := bill(t, s, u, biller(s, payAt), 12_200*money.Ruble)
	got, err := s.Payments.InvoiceByID(t.Context(), want.ID)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if want.Number != "W-2026-1" || want.Tax != 2200*money.Ruble || want.Total != 12_200*money.Ruble || want.State != invoice.Open || want.Buyer != invoiceBuyer || want.Seller != InvoiceSeller {
		t.Errorf("%+v", want)
	}
	if _, err := s.Payments.InvoiceByID(t.Context(), "inv_none"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := s.Payments.ActByID(t.Context(), "act_none"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := biller(s, payAt).Invoice(t.Context(), want.ID, "usr_other"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an invoice of another account: %v", err)
	}
	if _, err := biller(s, payAt).Cancel(t.Context(), want.ID, "usr_other", invoiceBy); !fault.Is(err, fault.NotFound) {
		t.Errorf("an invoice of another account: %v", err)
	}
}

func invoiceBuyers(t *testing.T, s *store.Store) {
	m := biller(s, payAt)
	u := payer(t, s)
	if _, err := m.Buyer(t.Context(), u.ID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := m.Make(t.Context(), invoice.Order{Account: u.ID, Wallet: u.Wallet, Amount: 500 * money.Ruble}); !fault.Is(err, fault.Unprocessable) {
		t.Error(err)
	}
	sole := invoice.Buyer{Name: "ИП Сидоров", INN: "001234567887", Address: "Москва"}
	for _, b := range []invoice.Buyer{invoiceBuyer, sole} {
		if _, err := m.SaveBuyer(t.Context(), u.ID, b, invoiceBy); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Buyer(t.Context(), u.ID); err != nil || got != b {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// Whatever many makers do at once, refused ones among them, numbers are 1 to n.
func invoiceNumbers(t *testing.T, s *store.Store) {
	const makers, each = 6, 5
	var mu sync.Mutex
	numbers := map[string]bool{}
	var wg sync.WaitGroup
	for k := range makers {
		u := client(t, s)
		m := biller(s, payAt, func(c *invoice.Config) {
			if k%2 == 0 {
				c.Open = 3 // so that some are refused
			}
		})
		wg.Go(func() {
			for range each {
				i, err := m.Make(t.Context(), invoice.Order{Account: u.ID, Wallet: u.Wallet, Amount: 100 * money.Ruble, Actor: invoiceBy})
				if fault.Is(err, fault.RateLimited) {
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				mu.Lock()
				numbers[i.Number] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	const want = makers/2*each + makers/2*3
	for n := 1; n <= want; n++ {
		if !numbers[fmt.Sprint("W-2026-", n)] {
			t.Errorf("the number %d is missing", n)
		}
	}
	if len(numbers) != want {
		t.Errorf("%d numbers, want %d", len(numbers), want)
	}
}

func invoiceYears(t *testing.T, s *store.Store) {
	u := client(t, s)
	other := InvoiceSeller
	other.INN = "0076543215"
	newYear := time.Date(2026, 12, 31, 21, 0, 0, 0, time.UTC) // midnight in Moscow
	for _, c := range []struct {
		at     time.Time
		seller invoice.Seller
		want   string
	}{{newYear.Add(-time.Second), InvoiceSeller, "W-2026-1"}, {newYear, InvoiceSeller, "W-2027-1"}, {newYear.Add(-time.Hour), InvoiceSeller, "W-2026-2"}, {newYear, other, "W-2027-1"}, {newYear, InvoiceSeller, "W-2027-2"}} {
		if i := bill(t, s, u, biller(s, c.at, func(f *invoice.Config) { f.Seller = c.seller }), 100*money.Ruble); i.Number != c.want {
			t.Errorf("%s, want %s", i.Number, c.want)
		}
	}
}

func invoiceBounds(t *testing.T, s *store.Store) {
	u := client(t, s)
	few := func(c *invoice.Config) { c.Open, c.Day = 2, 4 }
	try := func(at time.Time) (invoice.Invoice, error) {
		return biller(s, at, few).Make(t.Context(), invoice.Order{Account: u.ID, Wallet: u.Wallet, Amount: 100 * money.Ruble})
	}
	first, _ := try(payAt)
	if _, err := try(payAt); err != nil {
		t.Fatal(err)
	}
	if _, err := try(payAt); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a third open one: %v", err)
	}
	if _, err := biller(s, payAt).Cancel(t.Context(), first.ID, u.ID, invoiceBy); err != nil {
		t.Fatal(err)
	}
	third, err := try(payAt)
	if err != nil {
		t.Error(err)
	}
	if _, _, _, err := biller(s, payAt).MarkPaid(t.Context(), third.ID, seen(0, "1")); err != nil {
		t.Error(err)
	}
	if _, err := try(payAt); err != nil {
		t.Error(err)
	}
	if _, err := biller(s, payAt, func(c *invoice.Config) { c.Open, c.Day = 100, 4 }).Make(t.Context(), invoice.Order{Account: u.ID, Wallet: u.Wallet, Amount: 100 * money.Ruble}); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a fifth one on a day: %v", err)
	}
	if _, err := try(payAt.Add(11 * 24 * time.Hour)); err != nil {
		t.Errorf("the open ones have expired: %v", err)
	}
	if v := client(t, s); v.ID != "" {
		if _, err := biller(s, payAt, few).Make(t.Context(), invoice.Order{Account: v.ID, Wallet: v.Wallet, Amount: 100 * money.Ruble}); err != nil {
			t.Errorf("another account: %v", err)
		}
	}
}

func invoicePages(t *testing.T, s *store.Store) {
	u, v := client(t, s), client(t, s)
	want := map[string]bool{}
	for range 5 {
		want[bill(t, s, u, biller(s, payAt), 100*money.Ruble).ID] = true // all at the same time
		bill(t, s, v, biller(s, payAt), 100*money.Ruble)
	}
	m := biller(s, payAt)
	got := map[string]bool{}
	for before := ""; ; {
		page, err := m.Invoices(t.Context(), invoice.Query{Account: u.ID, State: invoice.Open, Before: before, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			got[page[i].ID] = true
		}
		if len(page) < 2 {
			break
		}
		before = page[1].ID
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if paid, err := m.Invoices(t.Context(), invoice.Query{Account: u.ID, State: invoice.Paid, Limit: 9}); err != nil || len(paid) != 0 {
		t.Errorf("%d, %v", len(paid), err)
	}
	theirs, _ := m.Invoices(t.Context(), invoice.Query{Account: v.ID, Limit: 1})
	for _, before := range []string{"inv_none", theirs[0].ID} {
		if _, err := m.Invoices(t.Context(), invoice.Query{Account: u.ID, Before: before, Limit: 2}); !fault.Is(err, fault.NotFound) {
			t.Errorf("after %s: %v", before, err)
		}
	}
}

// invoiceStates drives invoices at random, and compares each with a model of a few lines.
func invoiceStates(t *testing.T, s *store.Store) {
	r := rand.New(rand.NewPCG(3, 5))
	u := client(t, s)
	m := biller(s, payAt)
	var total money.Nano
	for range 12 {
		i := bill(t, s, u, m, 100*money.Ruble)
		state, received := invoice.Open, money.Nano(0)
		for step := range 8 {
			switch r.IntN(3) {
			case 0:
				got, err := m.Cancel(t.Context(), i.ID, u.ID, invoiceBy)
				if received > 0 {
					if !fault.Is(err, fault.Conflict) {
						t.Errorf("cancelled with %s received: %v", received, err)
					}
					break
				}
				if state = invoice.Cancelled; err != nil || got.State != state {
					t.Errorf("%s, %v", got.State, err)
				}
			case 1:
				n := money.Nano(1+r.IntN(60)) * money.Ruble
				_, _, _, err := m.MarkPaid(t.Context(), i.ID, seen(n, fmt.Sprint("d", step)))
				if state == invoice.Cancelled {
					if !fault.Is(err, fault.Conflict) {
						t.Errorf("paid when cancelled: %v", err)
					}
					break
				}
				if received += n; err != nil {
					t.Error(err)
				}
				if received >= 100*money.Ruble {
					state = invoice.Paid
				}
			case 2:
				if received > 0 {
					n := min(received, 10*money.Ruble)
					if _, _, _, err := m.PayBack(t.Context(), i.ID, invoice.BackOrder{Amount: n, Reference: fmt.Sprint("b", step), Date: seen(0, "").Date, Reason: "asked for", Actor: invoiceBy}); err != nil {
						t.Error(err)
					}
					if received -= n; received == 0 && state == invoice.Open {
						continue // nothing is left, so it may be cancelled
					}
				}
			}
			got, err := s.Payments.InvoiceByID(t.Context(), i.ID)
			if err != nil || got.State != state || got.Received != received || got.Credited != received || (got.EndedAt.IsZero() != (state == invoice.Open)) {
				t.Fatalf("%s with %s of %s, ended %s, %v; want %s with %s", got.State, got.Received, got.Credited, got.EndedAt, err, state, received)
			}
		}
		total += received
	}
	wantBalance(t, s, u, total)
}

func invoiceOnce(t *testing.T, s *store.Store) {
	u := client(t, s)
	i := bill(t, s, u, biller(s, payAt), 100*money.Ruble)
	var wg sync.WaitGroup
	var mu sync.Mutex
	credited := 0
	for range 8 {
		wg.Go(func() {
			_, done, repeated, err := biller(s, payAt).MarkPaid(t.Context(), i.ID, seen(0, "17"))
			if err != nil || done.Amount != 100*money.Ruble {
				t.Errorf("%+v, %v", done, err)
			}
			if mu.Lock(); !repeated {
				credited++
			}
			mu.Unlock()
		})
	}
	wg.Wait()
	if credited != 1 {
		t.Errorf("%d were credited", credited)
	}
	wantBalance(t, s, u, 100*money.Ruble)
	if _, _, _, err := biller(s, payAt).MarkPaid(t.Context(), i.ID, seen(5*money.Ruble, "17")); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same document with another amount: %v", err)
	}
	if _, _, again, err := biller(s, payAt).MarkPaid(t.Context(), i.ID, seen(0, "0017")); err != nil || !again {
		t.Errorf("with zeros before it: %v, %v", again, err)
	}
}

func invoiceSums(t *testing.T, s *store.Store) {
	u := client(t, s)
	m := biller(s, payAt)
	i := bill(t, s, u, m, 100*money.Ruble)
	got, done, _, err := m.MarkPaid(t.Context(), i.ID, seen(30*money.Ruble, "1"))
	if err != nil || got.State != invoice.Open || got.Missing() != 70*money.Ruble || done.Credited != 30*money.Ruble {
		t.Errorf("%+v, %v", got, err)
	}
	got, done, _, err = m.MarkPaid(t.Context(), i.ID, seen(80*money.Ruble, "2"))
	if err != nil || got.State != invoice.Paid || got.Missing() != -10*money.Ruble || done.Credited != 80*money.Ruble {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, _, err := m.MarkPaid(t.Context(), i.ID, seen(0, "3")); !fault.Is(err, fault.Conflict) {
		t.Errorf("the rest of nothing: %v", err)
	}
	back := invoice.BackOrder{Amount: 10 * money.Ruble, Reference: "4", Date: seen(0, "").Date, Reason: "too much", Actor: invoiceBy}
	for n := range 2 {
		got, _, again, err := m.PayBack(t.Context(), i.ID, back)
		if err != nil || again != (n == 1) || got.Received != 100*money.Ruble || got.State != invoice.Paid {
			t.Errorf("%+v, %v, %v", got, again, err)
		}
	}
	back.Amount = 11 * money.Ruble
	if _, _, _, err := m.PayBack(t.Context(), i.ID, back); !fault.Is(err, fault.Conflict) {
		t.Errorf("the reference with another amount: %v", err)
	}
	if back.Reference, back.Amount = "5", 101*money.Ruble; true {
		if _, _, _, err := m.PayBack(t.Context(), i.ID, back); !fault.Is(err, fault.Unprocessable) {
			t.Errorf("more than arrived: %v", err)
		}
	}
	wantBalance(t, s, u, 100*money.Ruble)
	if _, err := ledger.Adjust(t.Context(), s.Ledger, ledger.Adjustment{Wallet: u.Wallet, ID: "spent", Amount: -60 * money.Ruble, Reason: "spent", Actor: invoiceBy}, payAt); err != nil {
		t.Fatal(err)
	}
	back.Amount = 50 * money.Ruble
	if _, _, _, err := m.PayBack(t.Context(), i.ID, back); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("more than is available: %v", err)
	}
	if back.BelowZero = true; true {
		if _, _, _, err := m.PayBack(t.Context(), i.ID, back); err != nil {
			t.Error(err)
		}
	}
	wantBalance(t, s, u, -10*money.Ruble)
	all, err := m.Transfers(t.Context(), i.ID)
	if err != nil || len(all) != 4 {
		t.Errorf("%d transfers, %v", len(all), err)
	}
}

func invoiceOnTop(t *testing.T, s *store.Store) {
	u := client(t, s)
	m := biller(s, payAt, func(c *invoice.Config) { c.VAT = rate.VAT{Mode: rate.OnTop, Percent: "22"} })
	i := bill(t, s, u, m, 99_990_000_000) // 99.99
	if i.Tax != 22*money.Ruble || i.Total != 121_990_000_000 {
		t.Errorf("%s with a tax of %s", i.Total, i.Tax)
	}
	for n, part := range []money.Nano{50 * money.Ruble, 70_010_000_000, 1_980_000_000} {
		if _, _, _, err := m.MarkPaid(t.Context(), i.ID, seen(part, fmt.Sprint(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	wantBalance(t, s, u, i.Amount)
	if got, _ := s.Payments.InvoiceByID(t.Context(), i.ID); got.State != invoice.Paid || got.Credited != i.Amount {
		t.Errorf("%+v", got)
	}
}

func invoiceRace(t *testing.T, s *store.Store) {
	u := client(t, s)
	m := biller(s, payAt)
	var want money.Nano
	for n := range 6 {
		i := bill(t, s, u, m, 100*money.Ruble)
		var paid, cancelled error
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _, paid = m.MarkPaid(t.Context(), i.ID, seen(0, fmt.Sprint(n))) })
		wg.Go(func() { _, cancelled = m.Cancel(t.Context(), i.ID, u.ID, invoiceBy) })
		wg.Wait()
		if (paid == nil) == (cancelled == nil) {
			t.Errorf("paid: %v, cancelled: %v", paid, cancelled)
		}
		if paid == nil {
			want += 100 * money.Ruble
		}
	}
	wantBalance(t, s, u, want)
}

func invoiceRollback(t *testing.T, s *store.Store) {
	u := client(t, s)
	nobody := u
	nobody.Wallet = "wal_none"
	if _, err := biller(s, payAt).Make(t.Context(), invoice.Order{Account: nobody.ID, Wallet: nobody.Wallet, Amount: 100 * money.Ruble}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if i := bill(t, s, u, biller(s, payAt), 100*money.Ruble); i.Seq != 1 {
		t.Errorf("the number %d: one is missing", i.Seq)
	}
}

func invoiceSameINN(t *testing.T, s *store.Store) {
	u, v := client(t, s), client(t, s)
	i := bill(t, s, u, biller(s, payAt), 100*money.Ruble)
	bill(t, s, v, biller(s, payAt), 100*money.Ruble)
	wantOutcomes(t, "imported", importOne(t, s, false, map[string]string{"НазначениеПлатежа": i.Number}), invoice.Credited)
	wantBalance(t, s, u, 100*money.Ruble)
	wantBalance(t, s, v, 0)
}
