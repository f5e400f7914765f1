package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/budget"
	"weir/internal/catalog"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/organization"
	"weir/internal/payment"
	"weir/internal/report"
	"weir/internal/store"
)

// Notify checks what a store does for notifications, with the watchers of several nodes. open gives an empty store, and closes it after the test.
func Notify(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"choices come back as stored":                      noticeSettings,
		"a link switches one mail off":                     noticeLinks,
		"the key of links is one for all nodes":            noticeKey,
		"tests are counted by day":                         noticeTests,
		"a state is told once, and again when it was over": noticeOnce,
		"one mail a day for each cause, a digest":          noticeDigest,
		"alarms of budgets once in a period":               noticeBudgets,
		"what ends before it is mailed is not mailed":      noticeOver,
		"two nodes send one mail":                          noticeFleet,
		"a node dies between claim and mail":               noticeDeath,
		"a mail that nobody takes is given up":             noticeGivenUp,
		"switched off before it is mailed":                 noticeSwitchedOff,
		"an organization has the addresses of its owners":  noticeOrganization,
		"what grew, and tags by themselves":                noticeGrown,
		"by webhook, without an address":                   noticeHook,
		"payments, refunds, failed top-ups":                noticeMoney,
		"nobody is told of what was before":                noticeBefore,
		"a thousand accounts":                              noticeThousand,
		"old events are swept":                             noticeSweep,
		"an inbox of what was noticed":                     noticeInbox,
		"what a person has read, in each account":          noticeReads,
		"reported when it is switched on":                  noticeLate,
		"what is over is bounded":                          noticeBound,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

// town is a gateway with people, whose nodes share a store and a clock.
type town struct {
	t     *testing.T
	store *store.Store
	mu    sync.Mutex
	at    time.Time
	seen  map[string]*report.Overview // by wallet
	keys  map[string][]apikey.Key     // by user
	spent map[string]report.KeySpend
	mails []notify.Mail

	budgets []notify.Standing
	reports *report.Reporter // nil: what is in seen

	fail error  // of the next attempts
	deaf string // an address to which no mail gets
	said []string
}

func newTown(t *testing.T, s *store.Store) *town {
	t.Helper()
	return &town{t: t, store: s, at: payAt, seen: map[string]*report.Overview{}, keys: map[string][]apikey.Key{}, spent: map[string]report.KeySpend{}}
}

func (w *town) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *town) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

func (w *town) Spending(ctx context.Context, wallet string, now time.Time) (*report.Overview, error) {
	if w.reports != nil {
		return w.reports.Spending(ctx, wallet, now)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := w.seen[wallet]; v != nil {
		return v, nil
	}
	return &report.Overview{Runway: -1}, nil
}

func (w *town) KeySpends(context.Context, string, string) (map[string]report.KeySpend, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spent, nil
}

func (w *town) Spenders(ctx context.Context, q report.SpenderQuery) ([]report.Spender, error) {
	return report.New(w.store.Ledger, flushed{w.store.Ledger}).Spenders(ctx, q)
}

func (w *town) KeyByID(ctx context.Context, id string) (apikey.Found, error) {
	return w.store.Accounts.KeyByID(ctx, id)
}

func (w *town) ListKeys(_ context.Context, f apikey.Filter) ([]apikey.Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[f.User], nil
}

func (w *town) Deliver(_ context.Context, m *notify.Mail) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return w.fail
	}
	if w.deaf == m.To {
		return fault.New(fault.ProviderUnavailable, "test", "The mail server does not answer.")
	}
	w.mails = append(w.mails, *m)
	return nil
}

func (w *town) SendTest(m *notify.Mail) bool { return w.Deliver(context.Background(), m) == nil }

// node is a node of the town.
func (w *town) node() (*notify.Manager, *notify.Watcher) {
	m := notify.NewManager(w.store.Notices, w.store.People, w, notify.Config{
		Now: w.now, Email: notify.CauseNames(), Webhook: notify.CauseNames(), TestsPerDay: 2, CheckEvery: 5 * time.Minute, MailsPerMinute: 60,
		Encode: func(f *notify.Fact) []byte { return []byte(`{"kind":"` + string(f.Kind) + `"}`) }, Wake: func() {},
		Report: func(what, _ string, _ notify.Cause, _ int, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = append(w.said, fmt.Sprint(what, ": ", err))
		},
	})
	n := notify.NewWatcher(m, w, w, func() *catalog.Snapshot { return &catalog.Snapshot{} })
	n.Budgets = w
	return m, n
}

// Standing has the budgets of the town, of whichever account.
func (w *town) Standing(context.Context, string, string) ([]notify.Standing, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.budgets, nil
}

func (w *town) OutOfMoney(ctx context.Context, account string, now time.Time, most int) ([]apikey.Branch, error) {
	return w.store.Accounts.OutOfMoney(ctx, account, now, most)
}

// resident is a person with a confirmed address, and with money.
func (w *town) resident(name string) account.User {
	w.t.Helper()
	u := account.User{ID: apikey.NewID("usr_"), Name: name, Wallet: apikey.NewID("wal_"), Role: apikey.User, CreatedAt: payAt}
	l := auth.Login{User: u.ID, Email: name + "@example.org", Password: "$argon2id$...", Confirmed: true, CreatedAt: payAt}
	ok(w.t, w.store.People.AddPerson(w.t.Context(), u, l, nil, "", event(audit.UserCreated)))
	w.has(u, 100*money.Ruble, 30)
	return u
}

// has gives a person's wallet an amount that lasts some days.
func (w *town) has(u account.User, amount money.Nano, days int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[u.Wallet] = &report.Overview{Balance: ledger.Balance{Balance: amount}, Runway: days, Topped: true}
}

// watch has nodes look and mail until there is nothing to do.
func (w *town) watch(nodes ...*notify.Watcher) {
	w.t.Helper()
	for _, n := range nodes {
		for n.CheckRound(w.t.Context()) < time.Second {
		}
	}
	w.send(nodes...)
}

func (w *town) send(nodes ...*notify.Watcher) {
	for _, n := range nodes {
		for range 3 {
			n.MailRound(w.t.Context())
		}
	}
}

// want checks the mails since the last time, as "to: kinds".
func (w *town) want(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []string
	for _, m := range w.mails {
		var kinds []string
		for _, f := range m.Facts {
			kinds = append(kinds, string(f.Kind))
		}
		got = append(got, m.To+": "+strings.Join(kinds, " "))
	}
	slices.Sort(got)
	slices.Sort(want)
	if w.mails = nil; !slices.Equal(got, want) {
		w.t.Errorf("mails %q, want %q", got, want)
	}
}

func noticeSettings(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u, other := w.resident("anna"), w.resident("boris")
	empty, err := s.Notices.NotifySettings(t.Context(), u.ID)
	if d := cmp.Diff(notify.Settings{Own: notify.Choices{}}, empty); d != "" || err != nil {
		t.Fatalf("%v %s", err, d)
	}
	want := notify.Settings{Threshold: 0, ThresholdSet: true, Webhook: "https://example.org/hook", Tags: []string{"project=атлас, b", "env"}, Own: notify.Choices{notify.LowBalance: {notify.Email: false}, notify.Payment: {notify.Email: true, notify.Webhook: false}}}
	for range 2 {
		ok(t, s.Notices.SaveNotifySettings(t.Context(), u.ID, payAt, saved(want)))
		got, err := s.Notices.NotifySettings(t.Context(), u.ID)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("%v %s", err, d)
		}
	}
	ok(t, s.Notices.SaveNotifySettings(t.Context(), u.ID, payAt, saved(notify.Settings{Threshold: money.Ruble, ThresholdSet: true, Own: notify.Choices{notify.LowBalance: {notify.Email: true}}})))
	got, err := s.Notices.NotifySettings(t.Context(), u.ID)
	want.Threshold, want.Webhook, want.Tags, want.Own[notify.LowBalance] = money.Ruble, "", nil, map[notify.Channel]bool{notify.Email: true}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Fatalf("%v %s", err, d)
	}
	if got, _ := s.Notices.NotifySettings(t.Context(), other.ID); len(got.Own) > 0 || got.ThresholdSet {
		t.Errorf("they are another's, too: %+v", got)
	}
	if err := s.Notices.SaveNotifySettings(t.Context(), "usr_none", payAt, saved(want)); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if err := s.Notices.SwitchNotice(t.Context(), "usr_none", notify.Payment, notify.Email, false, payAt, event(audit.NoticesChanged)); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func noticeLinks(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u, other := w.resident("anna"), w.resident("boris")
	m, _ := w.node()
	second, _ := w.node()
	token, err := m.Token(t.Context(), u.ID, notify.KeyLimit)
	ok(t, err)
	for range 2 { // mail programs repeat it, and other nodes take it
		cause, err := second.Unsubscribe(t.Context(), token)
		if err != nil || cause != notify.KeyLimit {
			t.Fatalf("%s, %v", cause, err)
		}
	}
	v, err := m.Settings(t.Context(), u.ID)
	ok(t, err)
	for _, cause := range notify.Causes {
		for _, by := range notify.Channels {
			if off := cause == notify.KeyLimit && by == notify.Email; v.On.On(cause, by) == off {
				t.Errorf("%s by %s is %v", cause, by, !off)
			}
		}
	}
	if v, _ := m.Settings(t.Context(), other.ID); !v.On.On(notify.KeyLimit, notify.Email) {
		t.Error("it was switched off for another account")
	}
	theirs, err := m.Token(t.Context(), other.ID, notify.KeyLimit)
	ok(t, err)
	first, signature, _ := strings.Cut(token, ".")
	theirFirst, _, _ := strings.Cut(theirs, ".")
	for name, bad := range map[string]string{
		"": "", "no signature": first, "an empty one": first + ".", "of another account": theirFirst + "." + signature, "cut": token[:len(token)-1], "longer": token + "A", "none": "x.y", "base64": "e30.e30",
		"long": strings.Repeat("A", 10000) + "." + signature, "twice": token + "." + token,
	} {
		if _, err := m.Unsubscribe(t.Context(), bad); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func noticeKey(t *testing.T, s *store.Store) {
	keys := make(chan string, 8)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key, err := s.Notices.NoticeKey(t.Context(), []byte(strings.Repeat(fmt.Sprint(i), 32)))
			if err != nil {
				t.Error(err)
			}
			keys <- string(key)
		})
	}
	wg.Wait()
	first := <-keys
	for range 7 {
		if k := <-keys; k != first || len(k) != 32 {
			t.Errorf("%q and %q", k, first)
		}
	}
}

func noticeTests(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	m, _ := w.node()
	for range 2 {
		if sent, err := m.Test(t.Context(), u.ID); err != nil || !sent.Mail || sent.Webhook {
			t.Errorf("%+v, %v", sent, err)
		}
	}
	if _, err := m.Test(t.Context(), u.ID); !fault.Is(err, fault.RateLimited) || fault.From(err).RetryAfter != 12*time.Hour {
		t.Error(err)
	}
	w.pass(24 * time.Hour)
	if _, err := m.Test(t.Context(), u.ID); err != nil {
		t.Error(err)
	}
	silent := payer(t, s) // without a login
	if _, err := m.Test(t.Context(), silent.ID); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	var taken sync.Map
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if yes, err := s.Notices.TakeNoticeTest(t.Context(), silent.ID, "2026-11-03", 3); err != nil || yes {
				taken.Store(i, err)
			}
		})
	}
	wg.Wait()
	n := 0
	taken.Range(func(_, err any) bool { n++; return err == error(nil) || err == nil })
	if n != 3 {
		t.Errorf("%d tests of 3", n)
	}
}

func noticeOnce(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	_, n := w.node()
	w.watch(n)
	w.want()
	w.has(u, 10*money.Ruble, 2)
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want("anna@example.org: money_low")
	for range 10 { // it lasts, and flickers
		w.pass(5 * time.Hour)
		w.watch(n)
		w.has(u, 100*money.Ruble, 9)
		w.pass(30 * time.Minute)
		w.watch(n)
		w.has(u, 10*money.Ruble, 2)
	}
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want()
	w.has(u, 500*money.Ruble, 30) // topped up, for longer
	for range 3 {
		w.pass(5 * time.Hour)
		w.watch(n)
	}
	w.has(u, 10*money.Ruble, 2)
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want("anna@example.org: money_low")
}

// noticeOrganization has mails about the money of an organization go to its owners and billing people, those about keys to its owners; each of them
// once, also where one cannot be sent at first. Only an owner's has a link that switches it off.
func noticeOrganization(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	anna, boris, clara := w.resident("anna"), w.resident("boris"), w.resident("clara")
	o := mustOrg(t, s, anna.ID)
	for user, role := range map[string]apikey.OrgRole{boris.ID: apikey.OrgBilling, clara.ID: apikey.OrgManager} {
		ok(t, s.Organizations.AddMember(t.Context(), organization.Member{Org: o.ID, User: user, Role: role, JoinedAt: payAt}, 10, event(audit.OrgJoined)))
	}
	org := account.User{ID: o.ID, Wallet: o.Wallet}
	w.has(org, 100*money.Ruble, 30)
	m, n := w.node()
	w.watch(n)
	w.want()
	w.deaf = "boris@example.org"
	w.has(org, 10*money.Ruble, 2)
	w.pass(5 * time.Minute)
	w.watch(n)
	w.mu.Lock()
	for _, mail := range w.mails {
		if mail.Account != o.ID || mail.Unsubscribe == "" {
			t.Errorf("%+v", mail)
		}
	}
	w.mu.Unlock()
	w.want("anna@example.org: money_low")
	w.deaf = ""
	w.pass(time.Hour)
	w.watch(n)
	w.mu.Lock()
	for _, mail := range w.mails {
		if mail.Account != o.ID || mail.Unsubscribe != "" {
			t.Errorf("%+v", mail)
		}
	}
	w.mu.Unlock()
	w.want("boris@example.org: money_low")
	w.mu.Lock()
	w.keys[o.ID] = []apikey.Key{residentKey(org, "build", 10*money.Ruble)}
	w.keys[o.ID][0].ExpiresAt = w.at.Add(24 * time.Hour)
	w.mu.Unlock()
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want("anna@example.org: key_expiring")
	token, err := m.Token(t.Context(), o.ID, notify.LowBalance)
	ok(t, err)
	_, err = m.Unsubscribe(t.Context(), token)
	ok(t, err)
	w.has(org, 0, 0)
	w.pass(25 * time.Hour)
	w.watch(n)
	w.mu.Lock()
	for _, mail := range w.mails {
		if mail.Cause == notify.LowBalance {
			t.Errorf("a mail that was switched off: %+v", mail)
		}
	}
	w.mu.Unlock()
	v, err := m.Settings(t.Context(), o.ID)
	if err != nil || !v.Confirmed || !strings.Contains(v.Address, "anna@example.org") || !strings.Contains(v.Address, "boris@example.org") || strings.Contains(v.Address, "clara") {
		t.Errorf("%+v, %v", v, err)
	}
}

func residentKey(u account.User, name string, limit money.Nano) apikey.Key {
	return apikey.Key{ID: "key_" + name, Hash: "hash-" + name, Name: name, User: u.ID, Limit: &apikey.Limit{Amount: limit}}
}

// Each alarm of a budget is said once in a period, the highest that was passed alone, and a budget that only alarms is never used up.
func noticeBudgets(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	w.resident("anna")
	_, n := w.node()
	spend := func(hard, soft money.Nano) {
		w.pass(25 * time.Hour) // or mails would wait for the next day
		b := budget.Budget{ID: "bud_hard", Scope: budget.Scope{Kind: budget.Organization}, Amount: 100 * money.Ruble, Hard: true, Alarms: []int{50, 80}}
		w.mu.Lock()
		w.budgets = []notify.Standing{{Budget: b}, {Budget: b}}
		w.budgets[0].Spent = hard
		w.budgets[1].ID, w.budgets[1].Hard, w.budgets[1].Alarms, w.budgets[1].Spent = "bud_soft", false, []int{100}, soft
		w.mu.Unlock()
		w.watch(n)
	}
	spend(49*money.Ruble, 0)
	w.want()
	spend(81*money.Ruble, 0)
	w.want("anna@example.org: budget_alarm")
	spend(85*money.Ruble, 99*money.Ruble)
	w.want()
	spend(99*money.Ruble+1, 150*money.Ruble)
	w.want("anna@example.org: budget_alarm budget_reached")
	spend(100*money.Ruble, 200*money.Ruble)
	w.want()
}

func noticeDigest(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	_, n := w.node()
	w.keys[u.ID] = []apikey.Key{residentKey(u, "a", 100*money.Ruble), residentKey(u, "b", 100*money.Ruble), residentKey(u, "c", 100*money.Ruble)}
	spend := func(key string, amount money.Nano) {
		w.spent["key_"+key] = report.KeySpend{KeySpend: ledger.KeySpend{Total: amount}}
	}
	spend("a", 79*money.Ruble)
	w.watch(n)
	w.want()
	spend("a", 80*money.Ruble)
	spend("b", 100*money.Ruble)
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want("anna@example.org: key_limit key_limit_reached")
	spend("a", 100*money.Ruble)
	w.pass(5 * time.Minute)
	w.watch(n)
	spend("c", 90*money.Ruble)
	w.has(u, 0, 0)
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want("anna@example.org: money_gone") // another cause; the keys wait for tomorrow
	w.pass(23 * time.Hour)
	w.watch(n)
	w.want()
	w.pass(time.Hour)
	w.watch(n)
	w.want("anna@example.org: key_limit_reached key_limit")
}

func noticeOver(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	_, n := w.node()
	w.has(u, 10*money.Ruble, 2)
	for n.CheckRound(t.Context()) < time.Second {
	}
	w.has(u, 500*money.Ruble, 30)
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want()
	w.has(u, 8*money.Ruble, 1) // low again, within hours: the mail that was not sent is sent, with the sum of now
	w.pass(5 * time.Minute)
	w.watch(n)
	if len(w.mails) != 1 || w.mails[0].Facts[0].Amount != 8*money.Ruble {
		t.Errorf("%+v", w.mails)
	}
}

func noticeFleet(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	var want []string
	for i := range 10 {
		u := w.resident(fmt.Sprint("p", i))
		w.has(u, 10*money.Ruble, 2)
		hook := "https://example.org/" + u.Name
		ok(t, s.Notices.SaveNotifySettings(t.Context(), u.ID, payAt, saved(notify.Settings{Webhook: hook})))
		want = append(want, u.Name+"@example.org: money_low")
	}
	var wg sync.WaitGroup
	for range 4 {
		_, n := w.node()
		wg.Go(func() {
			for range 20 {
				n.CheckRound(t.Context())
				n.MailRound(t.Context())
			}
		})
	}
	wg.Wait()
	_, n := w.node()
	for range 10 { // what was found last
		n.MailRound(t.Context())
	}
	w.want(want...)
	due, err := s.Notices.ClaimDeliveries(t.Context(), w.now(), w.now().Add(time.Minute), 10, 100)
	if err != nil || len(due) != 10 {
		t.Errorf("%d webhooks, %v", len(due), err)
	}
	if len(w.said) > 0 {
		t.Errorf("%q", w.said)
	}
}

func noticeDeath(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	_, n := w.node()
	w.has(u, 10*money.Ruble, 2)
	for n.CheckRound(t.Context()) < time.Second {
	}
	first, err := s.Notices.ClaimMails(t.Context(), w.now(), w.now().Add(3*time.Minute), 10) // by a node that dies
	if err != nil || len(first) != 1 || first[0].Attempts != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	w.send(n)
	w.want() // the claim holds
	w.pass(3 * time.Minute)
	w.send(n)
	w.want("anna@example.org: money_low") // it was not lost
	if done, err := s.Notices.EndMail(t.Context(), &first[0], notify.MailOutcome{NextAt: w.now(), Words: "x"}); done || err != nil {
		t.Errorf("the dead node has ended it: %v, %v", done, err)
	}
	w.has(u, 0, 0)
	w.pass(25 * time.Hour)
	for n.CheckRound(t.Context()) < time.Second {
	}
	for range 20 { // a mail that kills each node which sends it is not repeated for ever
		_, err := s.Notices.ClaimMails(t.Context(), w.now(), w.now().Add(3*time.Minute), 10)
		ok(t, err)
		w.pass(3 * time.Minute)
	}
	w.send(n)
	w.want()
	if len(w.said) != 1 || !strings.Contains(w.said[0], "given up") {
		t.Errorf("%q", w.said)
	}
}

func noticeGivenUp(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	_, n := w.node()
	w.has(u, 10*money.Ruble, 2)
	w.fail = fault.New(fault.ProviderUnavailable, "mail", "greylisted (status 450)")
	began, attempts := w.now(), 0
	for n.CheckRound(t.Context()) < time.Second {
	}
	for range 200 {
		if n.MailRound(t.Context()); len(w.said) > 0 {
			break
		}
		if attempts++; attempts == 1 { // operators see why it waits
			jobs, err := s.Notices.ListWork(t.Context(), console.JobSearch{Kind: console.Notices, State: console.OpenJobs, Limit: 10}, w.now())
			if err != nil || len(jobs) != 1 || jobs[0].Words != "greylisted (status 450)" {
				t.Errorf("%+v, %v", jobs, err)
			}
		}
		w.pass(10 * time.Minute)
	}
	if took := w.now().Sub(began); len(w.said) != 1 || took < 20*time.Hour || took > 25*time.Hour || strings.Contains(w.said[0], "anna") {
		t.Errorf("after %s: %q", took, w.said)
	}
	w.fail = nil
	w.pass(time.Hour)
	w.watch(n)
	w.want() // it was given up
	w.has(u, 0, 0)
	w.pass(24 * time.Hour)
	w.watch(n)
	w.want("anna@example.org: money_gone") // and the next is not

	w.fail = fault.New(fault.Unprocessable, "mail", "no such mailbox (status 550)")
	w.has(u, 10*money.Ruble, 1)
	w.pass(31 * time.Hour)
	w.watch(n)
	w.fail = nil
	w.pass(time.Hour)
	w.watch(n)
	w.want()
}

func noticeSwitchedOff(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	m, n := w.node()
	w.has(u, 10*money.Ruble, 2)
	for n.CheckRound(t.Context()) < time.Second {
	}
	ok(t, m.Save(t.Context(), u.ID, notify.Change{Switches: notify.Choices{notify.LowBalance: {notify.Email: false}}}, audit.Actor{Name: "anna"}))
	w.watch(n)
	w.want()
	w.pass(7 * time.Hour)
	w.watch(n)
	ok(t, m.Save(t.Context(), u.ID, notify.Change{Switches: notify.Choices{notify.LowBalance: {notify.Email: true}}}, audit.Actor{Name: "anna"}))
	w.pass(5 * time.Minute)
	w.watch(n)
	w.want()
}

func noticeHook(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := payer(t, s) // without a login
	m, n := w.node()
	hook, low := "https://example.org/hook", 20*money.Ruble
	ok(t, m.Save(t.Context(), u.ID, notify.Change{Webhook: &hook, Threshold: &low}, audit.Actor{Name: "anna"}))
	w.has(u, 19*money.Ruble, 30)
	for range 3 {
		w.watch(n)
		w.pass(5 * time.Minute)
	}
	due, err := s.Notices.ClaimDeliveries(t.Context(), w.now(), w.now().Add(time.Minute), 10, 100)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d, %v", len(due), err)
	}
	if d := due[0]; d.URL != hook || d.Account != u.ID || d.Event != "notification.money_low" || !strings.Contains(string(d.Payload), `"data":{"kind":"money_low"}`) || !strings.HasPrefix(d.ID, "ntf-") {
		t.Errorf("%+v %s", d, d.Payload)
	}
	w.want()
	ok(t, m.Save(t.Context(), u.ID, notify.Change{Switches: notify.Choices{notify.LowBalance: {notify.Webhook: false}}}, audit.Actor{Name: "anna"}))
	w.has(u, 0, 0)
	w.watch(n)
	if sent, err := m.Test(t.Context(), u.ID); err != nil || sent.Mail || !sent.Webhook {
		t.Errorf("%+v, %v", sent, err)
	}
	due, err = s.Notices.ClaimDeliveries(t.Context(), w.now(), w.now().Add(time.Minute), 10, 100)
	if err != nil || len(due) != 1 || due[0].Event != "notification.test" {
		t.Errorf("%+v, %v", due, err)
	}
}

func noticeMoney(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u, other := w.resident("anna"), w.resident("boris")
	_, n := w.node()
	w.at = payAt.Add(-time.Hour)
	w.watch(n)
	w.at = payAt
	paid(t, s, u, "pay_1")
	consent(t, s, u)
	failed := paymentOf(u, "pay_2")
	failed.Auto, failed.Method = true, "card"
	addPayment(t, s, failed)
	_, err := s.Payments.UpdatePayment(t.Context(), "pay_2", payAt, func(p *payment.Payment, _ *payment.Rule) (payment.Outcome, error) {
		p.State, p.Reason, p.EndedAt, p.DueAt = payment.Canceled, "card_expired", payAt, time.Time{}
		return payment.Outcome{}, nil
	})
	ok(t, err)
	own := paymentOf(u, "pay_3") // not automatic: who gave it up knows
	addPayment(t, s, own)
	_, err = s.Payments.UpdatePayment(t.Context(), "pay_3", payAt, func(p *payment.Payment, _ *payment.Rule) (payment.Outcome, error) {
		p.State, p.EndedAt, p.DueAt = payment.Canceled, payAt, time.Time{}
		return payment.Outcome{}, nil
	})
	ok(t, err)
	got, err := s.Notices.MoneyFacts(t.Context(), u.ID, payAt, 10)
	want := []notify.Fact{{Kind: notify.PaymentReceived, Ref: "pay_1", Amount: 500 * money.Ruble, At: payAt, Days: -1}, {Kind: notify.TopUpFailed, Ref: "pay_2", Amount: 500 * money.Ruble, At: payAt, Days: -1, Reset: "card_expired"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if theirs, err := s.Notices.MoneyFacts(t.Context(), other.ID, payAt, 10); len(theirs) > 0 || err != nil {
		t.Errorf("%v, %v", theirs, err)
	}
	if later, err := s.Notices.MoneyFacts(t.Context(), u.ID, payAt.Add(time.Second), 10); len(later) > 0 || err != nil {
		t.Errorf("%v, %v", later, err)
	}
	for range 5 {
		w.pass(5 * time.Minute)
		w.watch(n)
	}
	w.want("anna@example.org: payment_received top_up_failed")
	w.pass(48 * time.Hour)
	w.watch(n)
	w.want()
}

func noticeBefore(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	paid(t, s, u, "pay_1")
	w.pass(time.Minute)
	_, n := w.node()
	w.watch(n) // which enrols them
	w.want()
}

func noticeThousand(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	const people = 60 // more than one claim
	for i := range people {
		w.has(w.resident(fmt.Sprint("p", i)), 0, 0)
	}
	_, n := w.node()
	rounds := 0
	for n.CheckRound(t.Context()) < time.Second {
		rounds++
	}
	if rounds < people/20-1 {
		t.Errorf("%d rounds", rounds)
	}
	if pause := n.MailRound(t.Context()); pause != time.Second || len(w.mails) != 1 { // one, and then the pause of the rate
		t.Errorf("%d mails at once, then %s", len(w.mails), pause)
	}
	for range people + 5 {
		n.MailRound(t.Context())
	}
	if len(w.mails) != people {
		t.Errorf("%d mails to %d people", len(w.mails), people)
	}
}

func noticeSweep(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	_, n := w.node()
	w.at = payAt.Add(-time.Hour)
	w.watch(n)
	w.at = payAt.Add(time.Minute)
	paid(t, s, u, "pay_1")
	w.has(u, 0, 0)
	w.watch(n)
	w.want("anna@example.org: money_gone", "anna@example.org: payment_received")
	if gone, err := s.Notices.SweepFacts(t.Context(), w.now(), 10); gone != 0 || err != nil {
		t.Errorf("%d, %v", gone, err)
	}
	if gone, err := s.Notices.SweepFacts(t.Context(), w.now().Add(time.Second), 10); gone != 1 || err != nil { // the state stays
		t.Errorf("%d, %v", gone, err)
	}
}

// inbox is what is kept of an account, the newest first: "kind", or "kind over".
func (w *town) inbox(account string) string {
	w.t.Helper()
	all, err := w.store.Notices.Noticed(w.t.Context(), account)
	ok(w.t, err)
	words := make([]string, len(all))
	for i := range all {
		if words[i] = string(all[i].Kind); !all[i].GoneAt.IsZero() {
			words[i] += " over"
		}
	}
	return strings.Join(words, ", ")
}

func (w *town) version(account string) int64 {
	w.t.Helper()
	n, err := w.store.Notices.NoticesVersion(w.t.Context(), account)
	ok(w.t, err)
	return n
}

// noticeInbox keeps facts that nothing reports, with figures as they are now; what is over is kept for a time, and what comes back later is new.
func noticeInbox(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := payer(t, s) // without a login
	_, n := w.node()
	expect := func(want string) {
		t.Helper()
		w.watch(n)
		if got := w.inbox(u.ID); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	expect("")
	w.has(u, 10*money.Ruble, 2)
	w.pass(5 * time.Minute)
	before := w.version(u.ID)
	expect("money_low")
	after := w.version(u.ID)
	w.pass(5 * time.Minute)
	expect("money_low")
	if before == after || w.version(u.ID) != after {
		t.Errorf("versions %d, %d, %d", before, after, w.version(u.ID))
	}
	found, err := s.Notices.Noticed(t.Context(), u.ID)
	ok(t, err)
	w.has(u, 7*money.Ruble, 1)
	w.pass(5 * time.Minute)
	expect("money_low")
	now, err := s.Notices.Noticed(t.Context(), u.ID)
	if err != nil || now[0].Amount != 7*money.Ruble || now[0].Days != 1 || !now[0].FoundAt.Equal(found[0].FoundAt) {
		t.Errorf("%+v, %v", now, err)
	}
	w.has(u, 0, 0)
	w.pass(5 * time.Minute)
	expect("money_gone, money_low over")
	w.has(u, 500*money.Ruble, 30)
	w.pass(10 * 24 * time.Hour)
	expect("money_gone over, money_low over")
	w.has(u, 10*money.Ruble, 2)
	w.pass(7 * time.Hour)
	expect("money_low, money_gone over") // again, and so the newest
	w.pass(61 * 24 * time.Hour)
	expect("money_low")
	w.want()
}

// noticeReads keeps one moment for each person and account. What was read stays read, and a membership that ends takes it along.
func noticeReads(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	anna, boris := w.resident("anna"), w.resident("boris")
	o := mustOrg(t, s, anna.ID)
	ok(t, s.Organizations.AddMember(t.Context(), organization.Member{Org: o.ID, User: boris.ID, Role: apikey.OrgMember, JoinedAt: payAt}, 10, event(audit.OrgJoined)))
	_, n := w.node()
	w.watch(n) // which enrols them
	until := func(person, account string, want time.Time) {
		t.Helper()
		if got, err := s.Notices.ReadUntil(t.Context(), person, account); err != nil || !got.Equal(want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	before := w.version(o.ID)
	ok(t, s.Notices.MarkRead(t.Context(), boris.ID, o.ID, payAt.Add(time.Microsecond)))
	read := w.version(o.ID)
	ok(t, s.Notices.MarkRead(t.Context(), boris.ID, o.ID, payAt.Add(-time.Hour)))
	if before == read || w.version(o.ID) != read {
		t.Errorf("versions %d, %d, %d", before, read, w.version(o.ID))
	}
	until(boris.ID, o.ID, payAt.Add(time.Microsecond))
	for _, other := range [][2]string{{boris.ID, boris.ID}, {anna.ID, o.ID}, {anna.ID, anna.ID}} {
		until(other[0], other[1], time.Time{})
	}
	ok(t, s.Notices.MarkRead(t.Context(), boris.ID, boris.ID, payAt))
	_, err := s.Organizations.RemoveMember(t.Context(), o.ID, boris.ID, payAt, event(audit.OrgJoined))
	ok(t, err)
	until(boris.ID, o.ID, time.Time{})
	until(boris.ID, boris.ID, payAt)
}

// noticeLate reports a state that was only in the inbox when its cause is switched on, once; an event is not news then.
func noticeLate(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	m, n := w.node()
	by := func(on bool) {
		t.Helper()
		off := notify.Choices{notify.LowBalance: {notify.Email: on}, notify.Payment: {notify.Email: on}}
		ok(t, m.Save(t.Context(), u.ID, notify.Change{Switches: off}, audit.Actor{Name: "anna"}))
		w.pass(5 * time.Minute)
		w.watch(n)
	}
	w.at = payAt.Add(-time.Hour)
	w.watch(n)
	w.at = payAt
	paid(t, s, u, "pay_1")
	w.has(u, 10*money.Ruble, 2)
	by(false)
	w.want()
	if got := w.inbox(u.ID); got != "money_low, payment_received" {
		t.Errorf("%q", got)
	}
	by(true)
	w.want("anna@example.org: money_low")
	by(false)
	by(true)
	w.pass(25 * time.Hour)
	w.watch(n)
	w.want()
}

// noticeBound keeps so many facts of an account: the oldest that are over give way, and none that holds.
func noticeBound(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	u := w.resident("anna")
	_, n := w.node()
	w.watch(n)
	w.has(u, 10*money.Ruble, 2)
	const each = 60 // of one check
	for round := range notify.MostKept/each + 2 {
		w.mu.Lock()
		w.keys[u.ID] = nil
		for i := range each {
			name := fmt.Sprintf("k%d-%d", round, i)
			w.keys[u.ID] = append(w.keys[u.ID], residentKey(u, name, money.Ruble))
			w.spent["key_"+name] = report.KeySpend{KeySpend: ledger.KeySpend{Total: money.Ruble}}
		}
		w.mu.Unlock()
		w.pass(5 * time.Minute)
		w.watch(n)
	}
	all, err := s.Notices.Noticed(t.Context(), u.ID)
	ok(t, err)
	if len(all) != notify.MostKept {
		t.Fatalf("%d facts, want %d", len(all), notify.MostKept)
	}
	holds := 0
	for i := range all {
		if all[i].GoneAt.IsZero() {
			holds++
		}
		if strings.HasPrefix(all[i].Name, "k0-") {
			t.Fatalf("the oldest is there: %+v", all[i])
		}
	}
	if holds != each+1 || all[len(all)-1].Kind != notify.MoneyLow {
		t.Errorf("%d hold, and the first is %s", holds, all[len(all)-1].Kind)
	}
}

// saved makes settings what they are to be.
func saved(n notify.Settings) func(*notify.Settings) (audit.Event, error) {
	return func(is *notify.Settings) (audit.Event, error) {
		*is = n
		return event(audit.NoticesChanged), nil
	}
}
