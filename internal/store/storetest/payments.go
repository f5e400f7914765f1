package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/store"
)

// Payments checks what a store does for payments. open gives an empty store, and closes it after the test.
func Payments(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"a payment comes back as stored":     paymentRoundTrip,
		"a list in pages":                    paymentPages,
		"a list by what is asked":            paymentQueries,
		"open payments are bounded":          paymentBound,
		"credited once, by many at once":     paymentRace,
		"an id of the provider is one's":     paymentIDs,
		"an update that fails":               paymentRollback,
		"a claim is exclusive until it ends": paymentClaim,
		"refunds never exceed":               refundBound,
		"a refund said twice":                refundTwice,
		"a refund that is canceled":          refundCanceled,
		"a rule and its cap":                 paymentRule,
		"rules that are due":                 paymentDueRules,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

var payAt = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

func payer(t *testing.T, s *store.Store) account.User {
	t.Helper()
	u, err := account.Make("Anna", apikey.User, payAt)
	if err == nil {
		err = s.Accounts.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{Name: "test"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func paymentOf(u account.User, id string) payment.Payment {
	return payment.Payment{ID: id, Account: u.ID, Wallet: u.Wallet, Provider: "yookassa", State: payment.New, Amount: 500 * money.Ruble, ReturnURL: "https://weir.example.org/", Description: "Top-up",
		Email: "anna@example.org", Save: true, CreatedAt: payAt, UpdatedAt: payAt, DueAt: payAt.Add(time.Minute)}
}

var (
	payBounds = payment.Bounds{Open: 3}
	payEvent  = audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.PaymentMade, Target: "pay", After: "x"}
)

func addPayment(t *testing.T, s *store.Store, p payment.Payment) payment.Payment {
	t.Helper()
	if err := s.Payments.AddPayment(t.Context(), p, payBounds, nil, payEvent); err != nil {
		t.Fatal(err)
	}
	return p
}

// credit marks a payment as paid, as the domain does.
func credit(p *payment.Payment, id string, amount money.Nano) payment.Outcome {
	if p.State == payment.Succeeded {
		return payment.Outcome{Unchanged: true}
	}
	top := ledger.TopUp{Wallet: p.Wallet, Source: p.Provider, ExternalID: id, Amount: amount, Actor: audit.Actor{Name: "payment:yookassa"}}
	post, err := top.Posting(payAt)
	if err != nil {
		panic(err)
	}
	p.State, p.ProviderID, p.Paid, p.EndedAt, p.DueAt = payment.Succeeded, id, amount, payAt, time.Time{}
	return payment.Outcome{Post: &post}
}

func paid(t *testing.T, s *store.Store, u account.User, id string) payment.Payment {
	t.Helper()
	addPayment(t, s, paymentOf(u, id))
	p, err := s.Payments.UpdatePayment(t.Context(), id, payAt, func(p *payment.Payment, _ *payment.Rule) (payment.Outcome, error) {
		return credit(p, "remote-"+id, p.Amount), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantBalance(t *testing.T, s *store.Store, u account.User, want money.Nano) {
	t.Helper()
	b, err := s.Ledger.Balance(t.Context(), u.Wallet)
	if err != nil || b.Balance != want {
		t.Errorf("the balance is %s, %v; want %s", b.Balance, err, want)
	}
}

func paymentRoundTrip(t *testing.T, s *store.Store) {
	u := payer(t, s)
	want := addPayment(t, s, paymentOf(u, "pay_1"))
	got, err := s.Payments.PaymentByID(t.Context(), "pay_1")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	some, err := s.Payments.Unanswered(t.Context(), "yookassa")
	if !some || err != nil {
		t.Errorf("unanswered: %v, %v", some, err)
	}
	want, err = s.Payments.UpdatePayment(t.Context(), "pay_1", payAt.Add(time.Second), func(p *payment.Payment, r *payment.Rule) (payment.Outcome, error) {
		if r != nil {
			t.Errorf("a rule of nobody: %v", r)
		}
		o := credit(p, "remote", 499*money.Ruble)
		p.MethodTitle, p.Reason, p.Problem, p.Tries, p.URL = "Bank card *4444", "reason", "problem", 3, "https://pay.example"
		return o, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err = s.Payments.PaymentOf(t.Context(), "yookassa", "remote")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if some, _ := s.Payments.Unanswered(t.Context(), "yookassa"); some {
		t.Error("it was answered")
	}
	wantBalance(t, s, u, 499*money.Ruble)
	for name, err := range map[string]error{"by id": second(s.Payments.PaymentByID(t.Context(), "pay_2")), "by the provider's": second(s.Payments.PaymentOf(t.Context(), "other", "remote")),
		"refund": second(s.Payments.RefundByID(t.Context(), "rfd_1")), "rule": second(s.Payments.RuleOf(t.Context(), u.ID))} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func paymentPages(t *testing.T, s *store.Store) {
	u, other := payer(t, s), payer(t, s)
	for i := range 5 {
		p := paymentOf(u, fmt.Sprint("pay_", i))
		p.State, p.CreatedAt = payment.Canceled, payAt.Add(time.Duration(i/2)*time.Hour) // two at the same time
		addPayment(t, s, p)
	}
	addPayment(t, s, paymentOf(other, "pay_other"))
	var ids []string
	for before := ""; ; {
		page, err := s.Payments.Payments(t.Context(), payment.Query{Account: u.ID, Before: before, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			ids = append(ids, page[i].ID)
		}
		if len(page) < 2 {
			break
		}
		before = page[1].ID
	}
	if d := cmp.Diff([]string{"pay_4", "pay_3", "pay_2", "pay_1", "pay_0"}, ids); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := s.Payments.Payments(t.Context(), payment.Query{Account: u.ID, Before: "pay_other", Limit: 2}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a page after another's payment: %v", err)
	}
	if open, err := s.Payments.Payments(t.Context(), payment.Query{Open: true, Limit: 9}); err != nil || len(open) != 1 || open[0].ID != "pay_other" {
		t.Errorf("open: %v, %v", open, err)
	}
}

func payRefund(*payment.Payment) (audit.Event, error) { return payEvent, nil }

func paymentQueries(t *testing.T, s *store.Store) {
	u, other := payer(t, s), payer(t, s)
	add := func(u account.User, id string, age time.Duration, change func(*payment.Payment)) {
		p := paymentOf(u, id)
		p.CreatedAt = payAt.Add(-age)
		change(&p)
		addPayment(t, s, p)
	}
	add(u, "pay_fresh", time.Minute, func(*payment.Payment) {})
	add(u, "pay_silent", time.Hour, func(p *payment.Payment) { p.ProviderID, p.State = "", payment.New })
	add(u, "pay_long", 3*time.Hour, func(p *payment.Payment) { p.ProviderID, p.State = "shop-long", payment.Pending })
	add(other, "pay_odd", 4*time.Hour, func(p *payment.Payment) { p.State, p.Problem, p.Provider = payment.Canceled, "of euros", "elsewhere" })
	p := paid(t, s, other, "pay_back")
	f, post := refundOf(p, "rfd_slow", 100*money.Ruble)
	if _, err := s.Payments.AddRefund(t.Context(), f, post, payRefund); err != nil {
		t.Fatal(err)
	}
	later := payAt.Add(payment.RefundsAfter + time.Second)
	for _, x := range []struct {
		name string
		q    payment.Query
		want string
	}{
		{"pending has those that are new", payment.Query{State: payment.Pending, Account: u.ID}, "pay_fresh pay_silent pay_long"},
		{"succeeded", payment.Query{State: payment.Succeeded}, "pay_back"},
		{"canceled", payment.Query{State: payment.Canceled}, "pay_odd"},
		{"of a provider", payment.Query{Provider: "elsewhere"}, "pay_odd"},
		{"by id", payment.Query{Name: "pay_long"}, "pay_long"},
		{"by the provider's id", payment.Query{Name: "shop-long"}, "pay_long"},
		{"by the refund", payment.Query{Name: "rfd_slow"}, "pay_back"},
		{"by nothing known", payment.Query{Name: "pay_lon"}, ""},
		{"in a time", payment.Query{From: payAt.Add(-3 * time.Hour), Until: payAt.Add(-time.Minute)}, "pay_silent pay_long"},
		{"that hang", payment.Query{Hanging: payAt}, "pay_silent pay_long pay_odd"},
		{"that hang later", payment.Query{Hanging: later, Account: other.ID}, "pay_back pay_odd"},
	} {
		x.q.Limit = 9
		all, err := s.Payments.Payments(t.Context(), x.q)
		if err != nil {
			t.Fatal(x.name, err)
		}
		var ids []string
		for i := range all {
			ids = append(ids, all[i].ID)
			if hangs := all[i].Hangs(x.q.Hanging) != ""; !x.q.Hanging.IsZero() && !hangs {
				t.Errorf("%s: %s hangs in the store alone", x.name, all[i].ID)
			}
		}
		if got := strings.Join(ids, " "); got != x.want {
			t.Errorf("%s: %q, not %q", x.name, got, x.want)
		}
	}
}

func paymentBound(t *testing.T, s *store.Store) {
	u := payer(t, s)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.Payments.AddPayment(t.Context(), paymentOf(u, fmt.Sprint("pay_", i)), payBounds, nil, payEvent)
		})
	}
	wg.Wait()
	added := 0
	for _, err := range errs {
		if err == nil {
			added++
		} else if !fault.Is(err, fault.RateLimited) {
			t.Error(err)
		}
	}
	if added != payBounds.Open {
		t.Errorf("%d were added", added)
	}
	addPayment(t, s, paymentOf(payer(t, s), "pay_other")) // another account has room
}

func paymentRace(t *testing.T, s *store.Store) {
	u := payer(t, s)
	addPayment(t, s, paymentOf(u, "pay_1"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := s.Payments.UpdatePayment(t.Context(), "pay_1", payAt, func(p *payment.Payment, _ *payment.Rule) (payment.Outcome, error) {
				return credit(p, "remote", p.Amount), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantBalance(t, s, u, 500*money.Ruble)
}

func paymentIDs(t *testing.T, s *store.Store) {
	u := payer(t, s)
	paid(t, s, u, "pay_1")
	addPayment(t, s, paymentOf(u, "pay_2"))
	_, err := s.Payments.UpdatePayment(t.Context(), "pay_2", payAt, func(p *payment.Payment, _ *payment.Rule) (payment.Outcome, error) {
		p.State, p.ProviderID = payment.Pending, "remote-pay_1"
		return payment.Outcome{}, nil
	})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the id of another payment: %v", err)
	}
	_, err = s.Payments.UpdatePayment(t.Context(), "pay_2", payAt, func(p *payment.Payment, _ *payment.Rule) (payment.Outcome, error) {
		o := credit(p, "remote-pay_1", p.Amount)
		p.ProviderID = "another"
		return o, nil
	})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("a reference that was posted: %v", err)
	}
	wantBalance(t, s, u, 500*money.Ruble)
}

func paymentRollback(t *testing.T, s *store.Store) {
	u := payer(t, s)
	want := addPayment(t, s, paymentOf(u, "pay_1"))
	no := errors.New("no")
	_, err := s.Payments.UpdatePayment(t.Context(), "pay_1", payAt, func(p *payment.Payment, _ *payment.Rule) (payment.Outcome, error) {
		p.State = payment.Canceled
		return payment.Outcome{}, no
	})
	if err == nil {
		t.Error("the error was lost")
	}
	got, err := s.Payments.PaymentByID(t.Context(), "pay_1")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func paymentClaim(t *testing.T, s *store.Store) {
	u := payer(t, s)
	addPayment(t, s, paymentOf(u, "pay_1"))
	due := payAt.Add(time.Minute)
	claim := func(now time.Time) int {
		all, err := s.Payments.ClaimPayments(t.Context(), now, now.Add(time.Minute), 9)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if a, b, c, d := claim(due.Add(-time.Second)), claim(due), claim(due.Add(time.Second)), claim(due.Add(time.Minute)); a != 0 || b != 1 || c != 0 || d != 1 {
		t.Errorf("claimed %d before, %d, %d again, %d when it ended", a, b, c, d)
	}
	for i, want := range []bool{true, false, true} {
		now := payAt.Add(time.Duration(i) * 2 * time.Second)
		if got, err := s.Payments.ClaimPayment(t.Context(), "pay_1", now.Add(-3*time.Second), now); got != want || err != nil {
			t.Errorf("look %d: %v, %v", i, got, err)
		}
	}
}

func refundOf(p payment.Payment, id string, amount money.Nano) (payment.Refund, ledger.Posting) {
	f := payment.Refund{ID: id, Payment: p.ID, Account: p.Account, State: payment.New, Amount: amount, Reason: "asked for", Actor: "test", CreatedAt: payAt, UpdatedAt: payAt, DueAt: payAt}
	back := ledger.PayBack{Wallet: p.Wallet, Source: p.Provider, ExternalID: "refund:" + id, Amount: amount, Reason: f.Reason, Actor: audit.Actor{Name: "test"}}
	post, err := back.Posting(payAt)
	if err != nil {
		panic(err)
	}
	return f, post
}

func refundBound(t *testing.T, s *store.Store) {
	u := payer(t, s)
	p := paid(t, s, u, "pay_1")
	paid(t, s, u, "pay_2") // the wallet has more than the payment
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			f, post := refundOf(p, fmt.Sprint("rfd_", i), 200*money.Ruble)
			_, errs[i] = s.Payments.AddRefund(t.Context(), f, post, payRefund)
		})
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !fault.Is(err, fault.Unprocessable) {
			t.Error(err)
		}
	}
	if done != 2 {
		t.Errorf("%d refunds of 200 rubles were made of 500", done)
	}
	wantBalance(t, s, u, 600*money.Ruble)
	if got, _ := s.Payments.PaymentByID(t.Context(), "pay_1"); got.Refunded != 400*money.Ruble {
		t.Errorf("refunded %s", got.Refunded)
	}
	addPayment(t, s, paymentOf(u, "pay_3"))
	open := paymentOf(u, "pay_3")
	f, post := refundOf(open, "rfd_open", money.Ruble)
	if _, err := s.Payments.AddRefund(t.Context(), f, post, payRefund); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("a refund of what was not paid: %v", err)
	}
}

func refundTwice(t *testing.T, s *store.Store) {
	u := payer(t, s)
	p := paid(t, s, u, "pay_1")
	f, post := refundOf(p, "rfd_1", 100*money.Ruble)
	for range 2 {
		got, err := s.Payments.AddRefund(t.Context(), f, post, payRefund)
		if d := cmp.Diff(f, got); d != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
	wantBalance(t, s, u, 400*money.Ruble)
	f.Amount++
	if _, err := s.Payments.AddRefund(t.Context(), f, post, payRefund); !fault.Is(err, fault.Conflict) {
		t.Errorf("another amount: %v", err)
	}
}

func refundCanceled(t *testing.T, s *store.Store) {
	u := payer(t, s)
	p := paid(t, s, u, "pay_1")
	f, post := refundOf(p, "rfd_1", 500*money.Ruble)
	if _, err := s.Payments.AddRefund(t.Context(), f, post, payRefund); err != nil {
		t.Fatal(err)
	}
	wantBalance(t, s, u, 0)
	due, err := s.Payments.ClaimRefunds(t.Context(), payAt, payAt.Add(time.Minute), 9)
	if err != nil || len(due) != 1 {
		t.Errorf("due: %v, %v", due, err)
	}
	want, err := s.Payments.UpdateRefund(t.Context(), "rfd_1", payAt, func(f *payment.Refund, p *payment.Payment) (payment.Outcome, error) {
		f.State, f.Failure, f.ProviderID, f.Tries, f.DueAt = payment.Canceled, "refused", "remote-r", 2, time.Time{}
		top := ledger.TopUp{Wallet: p.Wallet, Source: p.Provider, ExternalID: "refund:rfd_1:canceled", Amount: f.Amount}
		post, err := top.Posting(payAt)
		return payment.Outcome{Post: &post}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantBalance(t, s, u, 500*money.Ruble)
	got, err := s.Payments.RefundOf(t.Context(), "yookassa", "remote-r")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if p, _ := s.Payments.PaymentByID(t.Context(), "pay_1"); p.Refunded != 0 {
		t.Errorf("refunded %s", p.Refunded)
	}
	if all, err := s.Payments.PaymentRefunds(t.Context(), "pay_1"); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

func ruleOf(u account.User) payment.Rule {
	return payment.Rule{Account: u.ID, Wallet: u.Wallet, Provider: "yookassa", State: payment.RuleActive, Payment: "pay_0", Method: "card", MethodTitle: "Bank card *4444", Email: "anna@example.org",
		Threshold: 100 * money.Ruble, Amount: 500 * money.Ruble, Cap: 1200 * money.Ruble, ConsentAt: payAt, DueAt: payAt}
}

// consent gives an account an active rule.
func consent(t *testing.T, s *store.Store, u account.User) payment.Rule {
	t.Helper()
	r := ruleOf(u)
	p := paymentOf(u, "pay_consent_"+u.ID)
	p.State = payment.Canceled
	if err := s.Payments.AddPayment(t.Context(), p, payBounds, &r, payEvent); err != nil {
		t.Fatal(err)
	}
	return r
}

func paymentRule(t *testing.T, s *store.Store) {
	u := payer(t, s)
	auto := func(id string, at time.Time) error {
		p := paymentOf(u, id)
		p.Auto, p.Method, p.CreatedAt = true, "card", at
		return s.Payments.AddPayment(t.Context(), p, payBounds, nil, payEvent)
	}
	end := func(id string, with payment.State) {
		_, err := s.Payments.UpdatePayment(t.Context(), id, payAt, func(p *payment.Payment, r *payment.Rule) (payment.Outcome, error) {
			if r == nil || r.Account != u.ID {
				t.Errorf("the rule is %v", r)
			}
			if with == payment.Succeeded {
				return credit(p, "remote-"+id, p.Amount), nil
			}
			p.State = with
			return payment.Outcome{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := auto("pay_1", payAt); !fault.Is(err, fault.Conflict) {
		t.Errorf("without a consent: %v", err)
	}
	want := consent(t, s, u)
	got, err := s.Payments.RuleOf(t.Context(), u.ID)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	again := ruleOf(u)
	if err := s.Payments.AddPayment(t.Context(), paymentOf(u, "pay_again"), payBounds, &again, payEvent); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second consent: %v", err)
	}
	if err := auto("pay_1", payAt); err != nil {
		t.Fatal(err)
	}
	if err := auto("pay_2", payAt); !fault.Is(err, fault.Conflict) {
		t.Errorf("while another is open: %v", err)
	}
	end("pay_1", payment.Succeeded)
	if err := auto("pay_2", payAt); err != nil {
		t.Fatal(err)
	}
	end("pay_2", payment.Canceled)
	if err := auto("pay_3", payAt); err != nil {
		t.Errorf("a canceled one counts: %v", err)
	}
	end("pay_3", payment.Succeeded)
	if err := auto("pay_4", payAt); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("above the cap: %v", err)
	}
	if sum, err := s.Payments.AutoSum(t.Context(), u.ID, payment.MonthOf(payAt)); err != nil || sum != 1000*money.Ruble {
		t.Errorf("this month: %s, %v", sum, err)
	}
	if err := auto("pay_5", payAt.AddDate(0, 1, 0)); err != nil {
		t.Errorf("in the next month: %v", err)
	}
	if err := s.Payments.ChangeRule(t.Context(), u.ID, payAt, func(*payment.Rule) (*payment.Rule, audit.Event, error) { return nil, payEvent, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Payments.RuleOf(t.Context(), u.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("after it was withdrawn: %v", err)
	}
}

func paymentDueRules(t *testing.T, s *store.Store) {
	poor, rich, later, gone, paused := payer(t, s), payer(t, s), payer(t, s), payer(t, s), payer(t, s)
	for _, u := range []account.User{poor, rich, later, gone, paused} {
		consent(t, s, u)
	}
	paid(t, s, rich, "pay_rich")
	change := func(u account.User, f func(*payment.Rule)) {
		err := s.Payments.ChangeRule(t.Context(), u.ID, payAt, func(r *payment.Rule) (*payment.Rule, audit.Event, error) { f(r); return r, audit.Event{}, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	change(later, func(r *payment.Rule) { r.DueAt = payAt.Add(time.Hour) })
	change(paused, func(r *payment.Rule) { r.State = payment.RulePaused })
	if err := s.Accounts.SetUserDisabled(t.Context(), gone.ID, true, payAt, payEvent); err != nil {
		t.Fatal(err)
	}
	due, err := s.Payments.DueRules(t.Context(), payAt, 9)
	if err != nil || len(due) != 1 || due[0].Account != poor.ID {
		t.Errorf("due: %v, %v", due, err)
	}
}
