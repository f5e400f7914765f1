package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/usage"
)

// InvoiceStore is what Invoices checks.
type InvoiceStore interface {
	LedgerStore
	PaymentStore
	report.Store
	invoice.Store
}

// Invoices checks what a store does for invoices and acts. open gives an empty store, and closes it after the test.
func Invoices(t *testing.T, open func(*testing.T) InvoiceStore) {
	cases := map[string]func(*testing.T, InvoiceStore){
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
		"acts are the statement, whatever happens":      actsAreStatements,
		"acts by many at once, without gaps":            actsRace,
		"acts of all accounts, and of none too early":   actsOfAll,
		"no act for nothing, less after large refunds":  actsOfNothing,
		"an import that is tried, made and made again":  invoiceImport,
		"one payer, two accounts with the same INN":     invoiceSameINN,
		"another wallet's invoice takes no document of": invoiceForeign,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// InvoiceSeller is a seller whose check digits are right.
var InvoiceSeller = invoice.Seller{
	Name: "ООО «Плотина»", INN: "7707083893", KPP: "770701001", Address: "119000, г. Москва, ул. Речная, д. 1", Bank: "АО «Речной банк», г. Москва", BIK: "044525225",
	Account: "40702810400000000018", Correspondent: "30101810400000000225", Director: "Иванова А. П.", Accountant: "Петров Б. В.",
}

// biller is a manager at a moment.
func biller(s InvoiceStore, at time.Time, change ...func(*invoice.Config)) *invoice.Manager {
	c := invoice.Config{Now: func() time.Time { return at }, Seller: InvoiceSeller, VAT: rate.VAT{Mode: rate.Included, Percent: "22"}, Prefix: "W-", ActPrefix: "A-", Line: "Доступ к моделям, аванс", ActLine: "Доступ к моделям",
		Least: money.Ruble, Most: 1_000_000 * money.Ruble, ExpireAfter: 10 * 24 * time.Hour, Open: 1000, Day: 1000}
	for _, f := range change {
		f(&c)
	}
	return invoice.NewManager(s, c)
}

var (
	invoiceBy    = audit.Actor{Name: "test"}
	invoiceBuyer = invoice.Buyer{Name: "ООО «Ромашка»", INN: "5024002119", KPP: "502401001", Address: "143400, Московская обл., г. Красногорск, ул. Ленина, д. 5"}
)

// client is an account with a buyer.
func client(t *testing.T, s InvoiceStore) account.User {
	t.Helper()
	u := payer(t, s)
	if _, err := biller(s, payAt).SaveBuyer(t.Context(), u.ID, invoiceBuyer, invoiceBy); err != nil {
		t.Fatal(err)
	}
	return u
}

func bill(t *testing.T, s InvoiceStore, u account.User, m *invoice.Manager, amount money.Nano) invoice.Invoice {
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

func invoiceRoundTrip(t *testing.T, s InvoiceStore) {
	u := client(t, s)
	want := bill(t, s, u, biller(s, payAt), 12_200*money.Ruble)
	got, err := s.InvoiceByID(t.Context(), want.ID)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if want.Number != "W-2026-1" || want.Tax != 2200*money.Ruble || want.Total != 12_200*money.Ruble || want.State != invoice.Open || want.Buyer != invoiceBuyer || want.Seller != InvoiceSeller {
		t.Errorf("%+v", want)
	}
	if _, err := s.InvoiceByID(t.Context(), "inv_none"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := s.ActByID(t.Context(), "act_none"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := biller(s, payAt).Invoice(t.Context(), want.ID, "usr_other"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an invoice of another account: %v", err)
	}
	if _, err := biller(s, payAt).Cancel(t.Context(), want.ID, "usr_other", invoiceBy); !fault.Is(err, fault.NotFound) {
		t.Errorf("an invoice of another account: %v", err)
	}
}

func invoiceBuyers(t *testing.T, s InvoiceStore) {
	m := biller(s, payAt)
	u := payer(t, s)
	if _, err := m.Buyer(t.Context(), u.ID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := m.Make(t.Context(), invoice.Order{Account: u.ID, Wallet: u.Wallet, Amount: 500 * money.Ruble}); !fault.Is(err, fault.Unprocessable) {
		t.Error(err)
	}
	sole := invoice.Buyer{Name: "ИП Сидоров", INN: "500100732259", Address: "Москва"}
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
func invoiceNumbers(t *testing.T, s InvoiceStore) {
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

func invoiceYears(t *testing.T, s InvoiceStore) {
	u := client(t, s)
	other := InvoiceSeller
	other.INN = "5024002119"
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

func invoiceBounds(t *testing.T, s InvoiceStore) {
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

func invoicePages(t *testing.T, s InvoiceStore) {
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
func invoiceStates(t *testing.T, s InvoiceStore) {
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
			got, err := s.InvoiceByID(t.Context(), i.ID)
			if err != nil || got.State != state || got.Received != received || got.Credited != received || (got.EndedAt.IsZero() != (state == invoice.Open)) {
				t.Fatalf("%s with %s of %s, ended %s, %v; want %s with %s", got.State, got.Received, got.Credited, got.EndedAt, err, state, received)
			}
		}
		total += received
	}
	wantBalance(t, s, u, total)
}

func invoiceOnce(t *testing.T, s InvoiceStore) {
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

// BankStatement is a statement with one document for each map; what it does not say is as it should be.
func BankStatement(documents ...map[string]string) []byte {
	var b strings.Builder
	b.WriteString("1CClientBankExchange\r\nВерсияФормата=1.03\r\nКодировка=Windows\r\nРасчСчет=" + InvoiceSeller.Account + "\r\n")
	for _, d := range documents {
		b.WriteString("СекцияДокумент=Платежное поручение\r\n")
		for _, f := range [][2]string{{"Номер", "17"}, {"Дата", "03.11.2026"}, {"Сумма", "100.00"}, {"ПлательщикСчет", "40702810500000000001"}, {"Плательщик1", invoiceBuyer.Name}, {"ПлательщикИНН", invoiceBuyer.INN},
			{"ПолучательСчет", InvoiceSeller.Account}, {"ДатаПоступило", "03.11.2026"}, {"НазначениеПлатежа", "Оплата"}} {
			value, ok := d[f[0]]
			if !ok {
				value = f[1]
			}
			b.WriteString(f[0] + "=" + value + "\r\n")
		}
		b.WriteString("КонецДокумента\r\n")
	}
	b.WriteString("КонецФайла\r\n")
	return []byte(b.String())
}

func importOne(t *testing.T, s InvoiceStore, dry bool, documents ...map[string]string) *invoice.Report {
	t.Helper()
	r, err := biller(s, payAt).Import(t.Context(), BankStatement(documents...), dry, invoiceBy)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func outcomes(r *invoice.Report) (all []invoice.Outcome) {
	for i := range r.Matches {
		all = append(all, r.Matches[i].Outcome)
	}
	return all
}

func wantOutcomes(t *testing.T, what string, r *invoice.Report, want ...invoice.Outcome) {
	t.Helper()
	if d := cmp.Diff(want, outcomes(r)); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
		for i := range r.Matches {
			t.Log(r.Matches[i].Note)
		}
	}
}

func invoiceTwins(t *testing.T, s InvoiceStore) {
	u := client(t, s)
	i := bill(t, s, u, biller(s, payAt), 100*money.Ruble)
	doc := map[string]string{"НазначениеПлатежа": "Оплата по счету " + i.Number}
	wantOutcomes(t, "imported", importOne(t, s, false, doc), invoice.Credited)
	if _, done, again, err := biller(s, payAt).MarkPaid(t.Context(), i.ID, seen(0, "17")); err != nil || !again || done.Manual {
		t.Errorf("imported, then marked: %+v, %v, %v", done, again, err)
	}
	j := bill(t, s, u, biller(s, payAt), 100*money.Ruble)
	if _, _, _, err := biller(s, payAt).MarkPaid(t.Context(), j.ID, seen(0, "17")); err != nil {
		t.Fatal(err)
	}
	doc["НазначениеПлатежа"], doc["ПлательщикСчет"] = j.Number, "40702810500000000002"
	wantOutcomes(t, "marked, then tried", importOne(t, s, true, doc), invoice.Already)
	wantOutcomes(t, "marked, then imported", importOne(t, s, false, doc), invoice.Already)
	doc["Сумма"] = "99.00"
	wantOutcomes(t, "marked with another amount", importOne(t, s, false, doc), invoice.Refused)
	wantBalance(t, s, u, 200*money.Ruble)
}

func invoiceSums(t *testing.T, s InvoiceStore) {
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
	if _, err := ledger.Adjust(t.Context(), s, ledger.Adjustment{Wallet: u.Wallet, ID: "spent", Amount: -60 * money.Ruble, Reason: "spent", Actor: invoiceBy}, payAt); err != nil {
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

func invoiceOnTop(t *testing.T, s InvoiceStore) {
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
	if got, _ := s.InvoiceByID(t.Context(), i.ID); got.State != invoice.Paid || got.Credited != i.Amount {
		t.Errorf("%+v", got)
	}
}

func invoiceRace(t *testing.T, s InvoiceStore) {
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

func invoiceRollback(t *testing.T, s InvoiceStore) {
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

func invoiceSameINN(t *testing.T, s InvoiceStore) {
	u, v := client(t, s), client(t, s)
	i := bill(t, s, u, biller(s, payAt), 100*money.Ruble)
	bill(t, s, v, biller(s, payAt), 100*money.Ruble)
	wantOutcomes(t, "imported", importOne(t, s, false, map[string]string{"НазначениеПлатежа": i.Number}), invoice.Credited)
	wantBalance(t, s, u, 100*money.Ruble)
	wantBalance(t, s, v, 0)
}

func invoiceForeign(t *testing.T, s InvoiceStore) {
	u, v := client(t, s), client(t, s)
	i, j := bill(t, s, u, biller(s, payAt), 100*money.Ruble), bill(t, s, v, biller(s, payAt), 100*money.Ruble)
	wantOutcomes(t, "the first", importOne(t, s, false, map[string]string{"НазначениеПлатежа": i.Number}), invoice.Credited)
	wantOutcomes(t, "the same with another purpose", importOne(t, s, false, map[string]string{"НазначениеПлатежа": j.Number}), invoice.Refused)
	wantOutcomes(t, "the same, tried", importOne(t, s, true, map[string]string{"НазначениеПлатежа": j.Number}), invoice.Refused)
	wantBalance(t, s, v, 0)
}

func invoiceImport(t *testing.T, s InvoiceStore) {
	u := client(t, s)
	m := biller(s, payAt)
	i, gone, old := bill(t, s, u, m, 100*money.Ruble), bill(t, s, u, m, 100*money.Ruble), bill(t, s, u, biller(s, payAt.AddDate(0, -2, 0)), 100*money.Ruble)
	if _, err := m.Cancel(t.Context(), gone.ID, u.ID, invoiceBy); err != nil {
		t.Fatal(err)
	}
	d := func(changes ...string) map[string]string {
		one := map[string]string{"НазначениеПлатежа": "Оплата по счёту № " + i.Number + " от 03.11.2026. В т. ч. НДС 22% - 18.03"}
		for k := 0; k < len(changes); k += 2 {
			one[changes[k]] = changes[k+1]
		}
		return one
	}
	file := []map[string]string{
		d("Сумма", "60.00"), d("Сумма", "60.00"), d("Сумма", "40.50", "Номер", "18"), d("ПлательщикИНН", "7707083893"), d("ПлательщикСчет", InvoiceSeller.Account, "ПолучательСчет", "40702810500000000001"),
		d("ПолучательСчет", "40702810500000000009"), d("ДатаПоступило", ""), d("НазначениеПлатежа", "За услуги"), d("НазначениеПлатежа", i.Number+" и "+gone.Number), d("НазначениеПлатежа", "W-2026-999"),
		d("НазначениеПлатежа", gone.Number), d("Сумма", "1e3"), d("НазначениеПлатежа", "счет "+old.Number, "Номер", "19"),
	}
	want := []invoice.Outcome{invoice.Credited, invoice.Already, invoice.Credited, invoice.PayerDiffers, invoice.Outgoing, invoice.OtherAccount, invoice.NotArrived, invoice.NoNumber, invoice.Ambiguous,
		invoice.UnknownNumber, invoice.WasCancelled, invoice.Unreadable, invoice.Credited}
	tried := importOne(t, s, true, file...)
	wantOutcomes(t, "tried", tried, want...)
	wantBalance(t, s, u, 0)
	made := importOne(t, s, false, file...)
	wantOutcomes(t, "made", made, want...)
	wantBalance(t, s, u, 200_500_000_000)
	for k := range made.Matches {
		x, y := tried.Matches[k], made.Matches[k]
		if x.Credited != y.Credited || x.Missing != y.Missing || x.Note != y.Note {
			t.Errorf("document %d: tried %s, %s, %q; made %s, %s, %q", k, x.Credited, x.Missing, x.Note, y.Credited, y.Missing, y.Note)
		}
	}
	if made.Credited != 200_500_000_000 || tried.Credited != made.Credited || made.Counts[invoice.Credited] != 3 {
		t.Errorf("%s, %v", made.Credited, made.Counts)
	}
	want[0], want[2], want[12] = invoice.Already, invoice.Already, invoice.Already
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { wantOutcomes(t, "made again", importOne(t, s, false, file...), want...) })
	}
	wg.Wait()
	wantBalance(t, s, u, 200_500_000_000)
	if got, _ := s.InvoiceByID(t.Context(), i.ID); got.State != invoice.Paid || got.Missing() != -500_000_000 {
		t.Errorf("%+v", got)
	}
}

// spend applies calls of a wallet.
func spend(t *testing.T, s InvoiceStore, node string, u account.User, costs map[time.Time]money.Nano) (calls []record.Call) {
	t.Helper()
	from, err := s.Position(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.Batch{Node: node, Now: payAt, From: from}
	for at, cost := range costs {
		c := record.Call{Generation: fmt.Sprintf("gen-%d-%s-%d", at.UnixMicro(), node, len(b.Items)), Request: "req_1", User: u.ID, Wallet: u.Wallet, At: at, Key: "key_1", API: "completions", Model: "a/x", Provider: "p", Endpoint: "e", Status: 200, Settled: true, Cost: cost,
			Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(cost)}}}
		b.Items = append(b.Items, ledger.Encode(ledger.Item{Call: c}))
		calls = append(calls, c)
	}
	b.To = b.From + int64(len(b.Items))
	if to, err := s.Apply(t.Context(), &b); err != nil || to != b.To {
		t.Fatalf("%d, %v", to, err)
	}
	return calls
}

// actsAreStatements makes calls, refunds, adjustments and top-ups at random moments of half a year, the edges of months in Moscow among them, and
// compares each act with sums of its own: the statement of the month, and acts that together are what was spent, to the kopeck.
func actsAreStatements(t *testing.T, s InvoiceStore) {
	r := rand.New(rand.NewPCG(11, 13))
	u := client(t, s)
	begin := time.Date(2026, 3, 31, 21, 0, 0, 0, time.UTC) // 1 April in Moscow
	bill(t, s, u, biller(s, begin.AddDate(0, 1, 9)), 100*money.Ruble)
	months := []string{"2026-04", "2026-05", "2026-06", "2026-07", "2026-08", "2026-09"}
	type flow struct{ topped, spent money.Nano }
	flows := map[string]*flow{}
	at := func() time.Time {
		edge := begin.AddDate(0, r.IntN(7), 0)
		switch r.IntN(4) {
		case 0:
			return edge
		case 1:
			return edge.Add(-time.Microsecond)
		}
		return begin.Add(time.Duration(r.Int64N(int64(183 * 24 * time.Hour)))).Truncate(time.Microsecond)
	}
	of := func(at time.Time) *flow {
		m := at.Add(3 * time.Hour).UTC().Format("2006-01")
		if flows[m] == nil {
			flows[m] = &flow{}
		}
		return flows[m]
	}
	n := 0
	events := func(some int) {
		costs := map[time.Time]money.Nano{}
		for range some {
			when, cost := at(), money.Nano(r.Int64N(5e9))
			if _, twice := costs[when]; !twice {
				costs[when] = cost
				of(when).spent += cost
			}
		}
		calls := spend(t, s, "node", u, costs)
		for k := range some / 3 {
			when := at()
			if _, err := ledger.Credit(t.Context(), s, ledger.TopUp{Wallet: u.Wallet, Source: "test", ExternalID: fmt.Sprint(n, k), Amount: money.Nano(1 + r.Int64N(1e12)), Actor: invoiceBy}, when); err != nil {
				t.Fatal(err)
			}
			m, _ := topUpOf(t, s, u, when)
			of(when).topped += m
			when = at()
			amount := money.Nano(r.Int64N(2e9) - 1e9 - 1)
			if _, err := ledger.Adjust(t.Context(), s, ledger.Adjustment{Wallet: u.Wallet, ID: fmt.Sprint(n, k), Amount: amount, Reason: "r", BelowZero: true, Actor: invoiceBy}, when); err != nil {
				t.Fatal(err)
			}
			of(when).spent -= amount
			c := &calls[k]
			if amount = c.Cost / money.Nano(1+r.Int64N(3)); amount > 0 {
				when = at()
				if _, err := ledger.GiveBack(t.Context(), s, ledger.Refund{Generation: c.Generation, ID: fmt.Sprint(n, k), Amount: amount, Reason: "r", Actor: invoiceBy}, when); err != nil {
					t.Fatal(err)
				}
				of(when).spent -= amount
			}
			n++
		}
	}
	events(60)
	m := biller(s, time.Date(2026, 12, 10, 0, 0, 0, 0, time.UTC))
	due, err := m.ActsDue(t.Context(), u.ID)
	if err != nil || len(due) == 0 || due[0] != "2026-05" || due[len(due)-1] != "2026-11" {
		t.Errorf("%q, %v", due, err)
	}
	var acted, spent money.Nano
	opening := flows[months[0]].topped - flows[months[0]].spent
	if before := flows["2026-03"]; before != nil {
		opening += before.topped - before.spent
	}
	for k, month := range months[1:] {
		acts, err := m.MakeActs(t.Context(), u.ID, u.Wallet, month, invoiceBy)
		if err != nil || len(acts) != 1 {
			t.Fatalf("%s: %d, %v", month, len(acts), err)
		}
		a, f := acts[0], flows[month]
		if a.Number != fmt.Sprint("A-2026-", k+1) || a.Opening != opening || a.ToppedUp != f.topped || a.Spent != f.spent || a.Closing != opening+f.topped-f.spent {
			t.Errorf("%s: %s + %s - %s = %s; want %s + %s - %s", month, a.Opening, a.ToppedUp, a.Spent, a.Closing, opening, f.topped, f.spent)
		}
		opening = a.Closing
		acted, spent = acted+a.Amount, spent+f.spent
		if a.Amount%invoice.Kopeck != 0 || a.After < 0 || a.After >= invoice.Kopeck || acted+a.After != spent {
			t.Errorf("%s: all acts are %s, and %s is carried on; %s was spent", month, acted, a.After, spent)
		}
		if got, err := s.ActByID(t.Context(), a.ID); err != nil || got != a {
			t.Errorf("(-want +got), %v:\n%s", err, cmp.Diff(a, got))
		}
	}
	// What comes late is in the next act, and those that were made stay.
	before, err := s.Acts(t.Context(), u.ID, "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	late := time.Date(2026, 6, 5, 0, 0, 0, 0, time.UTC)
	spend(t, s, "late", u, map[time.Time]money.Nano{late: 7_000_000_003})
	if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-10", invoiceBy); err != nil {
		t.Fatal(err)
	}
	after, err := s.Acts(t.Context(), u.ID, "", "", 100)
	if d := cmp.Diff(before, after[1:]); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if f := flows["2026-10"]; f != nil {
		spent += f.spent
	}
	if a := after[0]; acted+a.Amount+a.After != spent+7_000_000_003 {
		t.Errorf("%s and %s, %s carried on; %s was spent", acted, a.Amount, a.After, spent+7_000_000_003)
	}
}

// topUpOf is the top-up of a wallet at a moment, the newest.
func topUpOf(t *testing.T, s InvoiceStore, u account.User, at time.Time) (money.Nano, bool) {
	t.Helper()
	day := report.Day.Floor(at)
	a, err := s.Account(t.Context(), u.Wallet, day, day.AddDate(0, 0, 1), 1000)
	if err != nil {
		t.Fatal(err)
	}
	var found *ledger.Movement
	for i := range a.Movements {
		if x := &a.Movements[i]; x.Kind == ledger.TopUpKind && x.At.Equal(at) && (found == nil || x.Transaction > found.Transaction) {
			found = x
		}
	}
	if found == nil {
		t.Fatal("no top-up")
	}
	return found.Amount, true
}

func actsRace(t *testing.T, s InvoiceStore) {
	var wg sync.WaitGroup
	m := biller(s, payAt)
	at := payAt.AddDate(0, -2, 0)
	users := make([]account.User, 4)
	for k := range users {
		users[k] = client(t, s)
		bill(t, s, users[k], biller(s, at), 100*money.Ruble)
		spend(t, s, fmt.Sprint("node", k), users[k], map[time.Time]money.Nano{at: 5 * money.Ruble, at.AddDate(0, 1, 0): 6 * money.Ruble})
	}
	for _, u := range users {
		for range 3 {
			wg.Go(func() {
				if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-10", invoiceBy); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	all, err := s.Acts(t.Context(), "", "", "", 100)
	if err != nil || len(all) != 8 {
		t.Fatalf("%d acts, %v", len(all), err)
	}
	numbers := map[int64]bool{}
	for i := range all {
		numbers[all[i].Seq] = true
	}
	if len(numbers) != 8 || !numbers[1] || !numbers[8] {
		t.Errorf("%v", numbers)
	}
	if some, err := s.Acts(t.Context(), "", "2026-09", "", 100); err != nil || len(some) != 4 {
		t.Errorf("%d, %v", len(some), err)
	}
}

func actsOfAll(t *testing.T, s InvoiceStore) {
	at := payAt.AddDate(0, -1, 0)
	want := map[string]bool{}
	if err := biller(s, payAt).MakeAllActs(t.Context(), "2026-11", invoiceBy, func(string, []invoice.Act, error) {}); !fault.Is(err, fault.Invalid) {
		t.Errorf("of nobody, too early: %v", err)
	}
	for k := range 3 {
		u := client(t, s)
		bill(t, s, u, biller(s, at), 100*money.Ruble)
		if k > 0 {
			spend(t, s, fmt.Sprint("node", k), u, map[time.Time]money.Nano{at: 5 * money.Ruble})
			want[u.ID] = true
		}
	}
	early := time.Date(2026, 11, 1, 20, 59, 59, 0, time.UTC) // the second begins in Moscow a second later
	all := func(at time.Time) (map[string]bool, error) {
		got := map[string]bool{}
		err := biller(s, at).MakeAllActs(t.Context(), "2026-10", invoiceBy, func(account string, acts []invoice.Act, err error) {
			if err != nil || len(acts) != 1 {
				t.Errorf("%d, %v", len(acts), err)
			}
			got[account] = true
		})
		return got, err
	}
	if got, err := all(early); !fault.Is(err, fault.Invalid) || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := all(early.Add(time.Second)); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := all(payAt); err != nil || len(got) != 0 {
		t.Errorf("made again: %v, %v", got, err)
	}
}

func actsOfNothing(t *testing.T, s InvoiceStore) {
	u := client(t, s)
	at := time.Date(2026, 7, 10, 0, 0, 0, 0, time.UTC)
	m := biller(s, payAt)
	if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-07", invoiceBy); !fault.Is(err, fault.Unprocessable) {
		t.Error(err)
	}
	bill(t, s, u, biller(s, at), 100*money.Ruble)
	for _, month := range []string{"2026-06", "2026-7", "2026-13", "", "2026-11", "2027-01"} {
		if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, month, invoiceBy); !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Unprocessable) {
			t.Errorf("%q: %v", month, err)
		}
	}
	calls := spend(t, s, "n1", u, map[time.Time]money.Nano{at: 50 * money.Ruble})
	spend(t, s, "n2", u, map[time.Time]money.Nano{at.AddDate(0, 2, 0): 70 * money.Ruble, at.AddDate(0, 3, 0): 9_999_999})
	if made, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-07", invoiceBy); err != nil || len(made) != 1 || made[0].Amount != 50*money.Ruble {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := ledger.GiveBack(t.Context(), s, ledger.Refund{Generation: calls[0].Generation, ID: "1", Reason: "r", Actor: invoiceBy}, at.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	made, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-10", invoiceBy)
	if err != nil || len(made) != 1 || made[0].Month != "2026-09" || made[0].Amount != 20*money.Ruble || made[0].Before != -50*money.Ruble || made[0].Number != "A-2026-2" {
		t.Errorf("%+v, %v", made, err)
	}
}
