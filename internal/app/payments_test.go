package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/payment/yookassa"
	"weir/internal/secret"
	"weir/internal/sim/pay"
	"weir/internal/store"
	"weir/internal/store/sqlite"
)

// till is a payment service over a real store and the simulated provider, whose process can be killed after any act.
type till struct {
	store *store.Store
	shop  *pay.Shop
	now   time.Time
	lives int // acts until the process is killed; below 0: it is not

	service *payment.Service
	user    account.User
}

var errKilled = errors.New("the process was killed")

// act counts one act: reading or writing the store, or asking the provider. A killed process does nothing more.
func (t *till) act() error {
	if t.lives == 0 {
		return errKilled
	}
	if t.lives > 0 {
		t.lives--
	}
	return nil
}

// RoundTrip asks the provider. A process that is killed then has asked, and hears no answer.
func (t *till) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.act(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	s := httptest.NewRequest(r.Method, r.URL.Path+"?"+r.URL.RawQuery, r.Body)
	s.Header = r.Header
	t.shop.ServeHTTP(w, s)
	if err := t.act(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// mortal is the store of a process that can be killed.
type mortal struct {
	payment.Store
	t *till
}

func (m mortal) AddPayment(ctx context.Context, p payment.Payment, b payment.Bounds, r *payment.Rule, e audit.Event) error {
	if err := m.t.act(); err != nil {
		return err
	}
	return errors.Join(m.Store.AddPayment(ctx, p, b, r, e), m.t.act())
}

func (m mortal) UpdatePayment(ctx context.Context, id string, now time.Time, f func(*payment.Payment, *payment.Rule) (payment.Outcome, error)) (payment.Payment, error) {
	if err := m.t.act(); err != nil {
		return payment.Payment{}, err
	}
	p, err := m.Store.UpdatePayment(ctx, id, now, f)
	return p, errors.Join(err, m.t.act())
}

func (m mortal) AddRefund(ctx context.Context, f payment.Refund, post ledger.Posting, say func(*payment.Payment) (audit.Event, error)) (payment.Refund, error) {
	if err := m.t.act(); err != nil {
		return payment.Refund{}, err
	}
	f, err := m.Store.AddRefund(ctx, f, post, say)
	return f, errors.Join(err, m.t.act())
}

func (m mortal) UpdateRefund(ctx context.Context, id string, now time.Time, f func(*payment.Refund, *payment.Payment) (payment.Outcome, error)) (payment.Refund, error) {
	if err := m.t.act(); err != nil {
		return payment.Refund{}, err
	}
	r, err := m.Store.UpdateRefund(ctx, id, now, f)
	return r, errors.Join(err, m.t.act())
}

// start begins a process.
func (t *till) start() {
	shop := yookassa.New(yookassa.Config{BaseURL: "http://shop/v3", ShopID: "100500", SecretKey: secret.New("test_secret"), HTTP: t,
		Receipt: yookassa.Receipt{Send: true, Description: "Top-up", VATCode: 1, PaymentSubject: "service", PaymentMode: "advance"}})
	t.lives = -1
	t.service = payment.NewService(mortal{t.store.Payments, t}, shop, payment.Config{
		Now: func() time.Time { return t.now }, Min: 10 * money.Ruble, Max: 100_000 * money.Ruble, MaxOpen: 5, Test: true, Receipts: true, Auto: payment.AutoConfig{Enabled: true, MaxCap: 10_000 * money.Ruble}, Description: "Top-up",
	})
}

func openTill(tb testing.TB, s *store.Store) *till {
	tb.Helper()
	t := &till{store: s, now: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC), lives: -1}
	t.shop = pay.New(pay.Config{ShopID: "100500", SecretKey: "test_secret", Notify: "http://gateway/hook", Now: func() time.Time { return t.now }})
	t.shop.Set(pay.Faults{Hold: true})
	t.start()
	t.newUser(tb)
	return t
}

func (t *till) newUser(tb testing.TB) {
	var err error
	t.user, err = account.NewManager(t.store.Accounts, nil, time.Now).Create(tb.Context(), "Anna", audit.Actor{Name: "test"})
	if err != nil {
		tb.Fatal(err)
	}
}

func tillStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "weir.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (t *till) make(amount money.Nano, auto *payment.Terms) (payment.Payment, error) {
	return t.service.Make(context.Background(), payment.Ask{Account: t.user.ID, Wallet: t.user.Wallet, Amount: amount, Email: "anna@example.org",
		ReturnURL: "https://weir.example.org/money/top-up?payment={id}", Auto: auto, Actor: audit.Actor{Name: "test"}})
}

// deliver sends what the provider has to say, or as much of it as is asked for.
func (t *till) deliver(bodies [][]byte) {
	for _, b := range bodies {
		n, err := yookassa.ReadNotice(b)
		if err != nil {
			panic(err)
		}
		_ = t.service.Notice(context.Background(), n) // one that fails is asked for by Round
	}
}

// settle lets time pass until nothing can be under way any more.
func (t *till) settle() {
	t.shop.Set(pay.Faults{Hold: true})
	for range 10 {
		t.now = t.now.Add(7 * time.Hour)
		t.service.Round(context.Background())
	}
}

// check compares the wallet with the provider's list: that is all the money there is.
func (t *till) check(tb rapid.TB) {
	tb.Helper()
	var want money.Nano
	for _, p := range t.shop.Payments() {
		own, err := t.store.Payments.PaymentByID(context.Background(), p.Reference)
		if err != nil {
			tb.Fatalf("the provider has a payment that is not here: %v", err)
		}
		if own.Account != t.user.ID {
			continue
		}
		if p.Status == "succeeded" {
			want += money.Nano(p.Kopecks-p.Refunded) * (money.Ruble / 100)
		}
		if (p.Status == "succeeded") != (own.State == payment.Succeeded) {
			tb.Errorf("payment %s is %s there and %s here", p.ID, p.Status, own.State)
		}
	}
	b, err := t.store.Ledger.Balance(context.Background(), t.user.Wallet)
	if err != nil {
		tb.Fatal(err)
	}
	if b.Balance != want {
		tb.Errorf("the wallet has %s rubles, the provider's list says %s", b.Balance, want)
	}
}

// Whatever order events come in, whatever is lost, changed or sent again, and whenever the process dies: in the end the wallet has what the
// provider's list says, to the kopeck.
func TestPaymentsInAnyOrder(t *testing.T) {
	t.Parallel()
	s := tillStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		x := openTill(t, s)
		var old [][]byte // notifications that were delivered, and may come again
		var last payment.Payment
		open := func() (ids []string) {
			for _, p := range x.shop.Payments() {
				if p.Status == "pending" {
					ids = append(ids, p.ID)
				}
			}
			return ids
		}
		n := 0
		rt.Repeat(map[string]func(*rapid.T){
			"make": func(rt *rapid.T) {
				p, err := x.make(money.Nano(rapid.IntRange(1000, 100_000).Draw(rt, "kopecks"))*(money.Ruble/100), nil)
				if err == nil {
					last = p
				}
			},
			"pay": func(rt *rapid.T) {
				if ids := open(); len(ids) > 0 {
					x.shop.Confirm(rapid.SampledFrom(ids).Draw(rt, "payment"))
				}
			},
			"decline": func(rt *rapid.T) {
				if ids := open(); len(ids) > 0 {
					x.shop.Decline(rapid.SampledFrom(ids).Draw(rt, "payment"), "insufficient_funds")
				}
			},
			"notify": func(rt *rapid.T) {
				all := x.shop.Notices()
				old = append(old, all...)
				x.deliver(all)
			},
			"notify again": func(rt *rapid.T) {
				if len(old) > 0 {
					x.deliver([][]byte{rapid.SampledFrom(old).Draw(rt, "notification")})
				}
			},
			"lose notifications": func(*rapid.T) { x.shop.Notices() },
			"look": func(rt *rapid.T) {
				if last.ID != "" {
					_, _ = x.service.Fresh(context.Background(), x.user.ID, last.ID)
				}
			},
			"wait": func(rt *rapid.T) {
				x.now = x.now.Add(time.Duration(rapid.SampledFrom([]int{1, 30, 600, 7200, 90_000}).Draw(rt, "seconds")) * time.Second)
				x.service.Round(context.Background())
			},
			"faults": func(rt *rapid.T) {
				x.shop.Set(pay.Faults{
					Hold: true, Lose: rapid.IntRange(0, 5).Draw(rt, "lose"), Fail: rapid.IntRange(0, 3).Draw(rt, "fail"), Down: rapid.Bool().Draw(rt, "down"), Twice: rapid.Bool().Draw(rt, "twice"),
					Kopecks: int64(rapid.IntRange(-50, 50).Draw(rt, "changed by")), TwoStages: rapid.Bool().Draw(rt, "two stages"), Refuse: rapid.Bool().Draw(rt, "refuse"), Pending: rapid.Bool().Draw(rt, "pending"),
				})
			},
			"refund": func(rt *rapid.T) {
				if last.ID == "" {
					return
				}
				n++
				_, _ = x.service.GiveBack(context.Background(), payment.Give{Payment: last.ID, Amount: money.Nano(rapid.IntRange(0, 50_000).Draw(rt, "kopecks")) * (money.Ruble / 100), Reason: "asked for",
					ID: fmt.Sprint(last.ID, "-", n-rapid.IntRange(0, 1).Draw(rt, "again")), Actor: audit.Actor{Name: "test"}})
			},
			"refund there": func(rt *rapid.T) {
				for _, p := range x.shop.Payments() {
					if p.Status == "succeeded" && rapid.Bool().Draw(rt, "this") {
						x.shop.RefundHere(p.ID, 100)
						return
					}
				}
			},
			"refunds end": func(rt *rapid.T) { x.shop.Settle(rapid.Bool().Draw(rt, "well")) },
			"die": func(rt *rapid.T) { // at one of the next acts; the next process goes on
				x.lives = rapid.IntRange(0, 6).Draw(rt, "acts")
				_, _ = x.make(100*money.Ruble, nil)
				x.service.Round(context.Background())
				x.start()
			},
		})
		x.shop.Settle(true)
		x.settle()
		x.shop.Settle(true)
		x.settle()
		if _, _, _, _, err := x.service.Compare(context.Background(), x.now.Add(-400*24*time.Hour)); err != nil {
			rt.Fatal(err)
		}
		x.check(rt)
		if all, err := s.Payments.Payments(context.Background(), payment.Query{Account: x.user.ID, Limit: 1000}); err != nil {
			rt.Fatal(err)
		} else {
			for _, p := range all {
				if p.Refunded > p.Paid || p.State == payment.New {
					rt.Errorf("payment %s is %s, paid %s, refunded %s", p.ID, p.State, p.Paid, p.Refunded)
				}
			}
		}
	})
	report, err := ledger.Verify(t.Context(), s.Ledger, t.TempDir(), ledger.Anchor{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// Automatic top-ups keep to what a person has consented to: the threshold, the cap of the month, and the end of the consent.
func TestAutomaticTopUps(t *testing.T) {
	t.Parallel()
	x := openTill(t, tillStore(t))
	ctx := t.Context()
	balance := func() money.Nano {
		b, err := x.store.Ledger.Balance(ctx, x.user.Wallet)
		if err != nil {
			t.Fatal(err)
		}
		return b.Balance
	}
	spend := func(n money.Nano) {
		t.Helper()
		_, err := ledger.Adjust(ctx, x.store.Ledger, ledger.Adjustment{Wallet: x.user.Wallet, ID: apikey.NewID("t"), Amount: -n, Reason: "spent", Actor: audit.Actor{Name: "test"}}, x.now)
		if err != nil {
			t.Fatal(err)
		}
	}
	round := func(wait time.Duration) {
		x.now = x.now.Add(wait)
		x.service.Round(ctx)
	}
	rule := func() payment.Rule {
		r, _, err := x.service.Rule(ctx, x.user.ID)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	p, err := x.make(500*money.Ruble, &payment.Terms{Threshold: 100 * money.Ruble, Amount: 400 * money.Ruble, Cap: 1000 * money.Ruble})
	if err != nil {
		t.Fatal(err)
	}
	round(time.Minute)
	if r := rule(); r.State != payment.RuleWaiting || balance() != 0 {
		t.Errorf("before the first payment: %v, %s", r, balance())
	}
	x.shop.Confirm(x.shop.Payments()[0].ID)
	if p, err = x.service.Fresh(ctx, x.user.ID, p.ID); err != nil || p.State != payment.Succeeded {
		t.Fatalf("%v, %v", p, err)
	}
	if r := rule(); r.State != payment.RuleActive || r.MethodTitle != "Bank card *4444" {
		t.Errorf("after it: %v", r)
	}
	if _, err := x.make(500*money.Ruble, &payment.Terms{Threshold: 0, Amount: 400 * money.Ruble, Cap: 1000 * money.Ruble}); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second consent: %v", err)
	}
	round(time.Hour)
	if balance() != 500*money.Ruble {
		t.Errorf("above the threshold: %s", balance())
	}
	for i, want := range []money.Nano{450, 450, 50} { // twice 400, and then the cap
		spend(balance() - 50*money.Ruble)
		round(time.Hour)
		round(time.Second) // what is done is not done again
		if balance() != want*money.Ruble {
			t.Errorf("below the threshold for the %d. time: %s", i+1, balance())
		}
	}
	x.now = time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC)
	round(0)
	if balance() != 450*money.Ruble {
		t.Errorf("in the next month: %s", balance())
	}
	x.shop.Revoke(rule().Method)
	spend(400 * money.Ruble)
	round(time.Hour)
	if r := rule(); r.State != payment.RulePaused || r.Why != "permission_revoked" || balance() != 50*money.Ruble {
		t.Errorf("after the method was revoked: %v, %s", r, balance())
	}
	if err := x.service.Withdraw(ctx, x.user.ID, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	n := len(x.shop.Payments())
	round(48 * time.Hour)
	if len(x.shop.Payments()) != n {
		t.Error("something was charged after the consent had ended")
	}
}

// What the provider confirms and is not rubles for this gateway is not credited, and an operator learns why.
func TestPaymentsWithAProblem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults pay.Faults
		real   bool
		says   string
	}{
		"another currency":             {faults: pay.Faults{Hold: true, Currency: "USD"}, says: "USD"},
		"play money at a real gateway": {faults: pay.Faults{Hold: true}, real: true, says: "play money"},
		"all of it taken on the way":   {faults: pay.Faults{Hold: true, Kopecks: -50_000}, says: "implausible"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := openTill(t, tillStore(t))
			x.service.Config().Test = !c.real
			p, err := x.make(500*money.Ruble, nil)
			if err != nil {
				t.Fatal(err)
			}
			x.shop.Set(c.faults)
			x.shop.Confirm(x.shop.Payments()[0].ID)
			x.deliver(x.shop.Notices())
			x.settle()
			got, err := x.store.Payments.PaymentByID(t.Context(), p.ID)
			if err != nil || got.State == payment.Succeeded || !strings.Contains(got.Problem, c.says) {
				t.Errorf("%v, %v", got, err)
			}
			if b, _ := x.store.Ledger.Balance(t.Context(), x.user.Wallet); b.Balance != 0 {
				t.Errorf("%s rubles were credited", b.Balance)
			}
		})
	}
}

// A refunded amount is in the wallet or on its way back, never both. No account reads the payments of another.
func TestRefundsOfPayments(t *testing.T) {
	t.Parallel()
	x := openTill(t, tillStore(t))
	ctx := t.Context()
	p, err := x.make(500*money.Ruble, nil)
	if err != nil {
		t.Fatal(err)
	}
	give := func(id string, n money.Nano) (payment.Refund, error) {
		return x.service.GiveBack(ctx, payment.Give{Payment: p.ID, ID: id, Amount: n, Reason: "asked for", Actor: audit.Actor{Name: "test"}})
	}
	if _, err := give("early", 0); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("before it was paid: %v", err)
	}
	x.shop.Confirm(x.shop.Payments()[0].ID)
	if _, err := x.service.Fresh(ctx, "usr_other", p.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another account: %v", err)
	}
	if _, err := x.service.Fresh(ctx, x.user.ID, p.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if f, err := give("one", 100*money.Ruble); err != nil || f.State != payment.Succeeded {
			t.Errorf("%v, %v", f, err)
		}
	}
	for name, err := range map[string]error{
		"more than is left": second(give("much", 401*money.Ruble)), "half a kopeck": second(give("half", money.Ruble/200)), "below zero": second(give("minus", -money.Ruble)),
		"a reference of another amount": second(give("one", 50*money.Ruble)), "a reference with a space": second(give("a b", money.Ruble)),
	} {
		if err == nil {
			t.Errorf("%s: it was refunded", name)
		}
	}
	x.shop.Set(pay.Faults{Hold: true, Refuse: true})
	if f, err := give("two", 100*money.Ruble); err != nil || f.State != payment.Canceled {
		t.Errorf("refused: %v, %v", f, err)
	}
	x.check(t)
	x.shop.Set(pay.Faults{Hold: true, Lose: 3})
	if f, err := give("three", 0); err != nil || f.State.Ended() {
		t.Errorf("without an answer: %v, %v", f, err)
	}
	x.settle()
	x.check(t)
	if n := len(x.shop.Refunds()); n != 2 {
		t.Errorf("the provider made %d refunds", n)
	}
}

func second[T any](_ T, err error) error { return err }

// Two administrators refund a payment that both saw whole: one of them does, and the other learns what was done.
func TestRefundsOfTwoAdministrators(t *testing.T) {
	t.Parallel()
	x := openTill(t, tillStore(t))
	ctx := t.Context()
	p, err := x.make(500*money.Ruble, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.shop.Confirm(x.shop.Payments()[0].ID)
	by := audit.Actor{Name: "test"}
	if got, err := x.service.Check(ctx, p.ID, by); err != nil || got.State != payment.Succeeded {
		t.Fatalf("checked: %v, %v", got, err)
	}
	var seen money.Nano
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = x.service.GiveBack(ctx, payment.Give{Payment: p.ID, ID: fmt.Sprint("T-", i), Amount: 200 * money.Ruble, Seen: &seen, Reason: "asked for", Actor: by})
		})
	}
	wg.Wait()
	if a, b := errs[0] == nil, errs[1] == nil; a == b || !fault.Is(errors.Join(errs...), fault.Conflict) {
		t.Errorf("%v, %v", errs[0], errs[1])
	}
	if got, err := x.store.Payments.PaymentByID(ctx, p.ID); err != nil || got.Refunded != 200*money.Ruble {
		t.Errorf("%v, %v", got.Refunded, err)
	}
	rows, err := x.store.Accounts.AuditFound(ctx, audit.Search{Target: p.ID, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, r := range rows {
		said = append(said, r.Action+": "+r.Before+" > "+r.After)
	}
	want := []string{
		"payment.refund: 0 of 500 rubles refunded > 200 rubles as rfd_",
		"payment.check: pending, 0 of 500 rubles paid, 0 refunded > succeeded, 500 of 500 rubles paid, 0 refunded", "payment.create:",
	}
	for i, w := range want {
		if len(said) != len(want) || !strings.HasPrefix(said[i], w) {
			t.Fatalf("%q", said)
		}
	}
	x.check(t)
}
