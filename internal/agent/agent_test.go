package agent_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

var (
	began    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	terminal = auth.Client{Address: "192.0.2.1", Network: "192.0.2.1", Agent: "claude-code/2.1.330"}
	browser  = auth.Client{Address: "198.51.100.7", Network: "198.51.100.7", Agent: "Firefox"}
)

// fixture is a Manager over a real store, with a clock that the test moves.
type fixture struct {
	*agent.Manager
	store    *store.Store
	verifier *apikey.Verifier
	person   auth.Person

	mu  sync.Mutex
	now time.Time
}

func (o *fixture) clock() time.Time { o.mu.Lock(); defer o.mu.Unlock(); return o.now }

func (o *fixture) wait(d time.Duration) { o.mu.Lock(); defer o.mu.Unlock(); o.now = o.now.Add(d) }

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *fixture {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	ok(t, err)
	t.Cleanup(func() { _ = s.Close() })
	o := &fixture{now: began, store: s}
	o.verifier = apikey.NewVerifier(s.Accounts, o.clock, apikey.VerifierConfig{})
	o.Manager = o.node()
	u := account.User{ID: apikey.NewID("usr_"), Name: "Anna", Wallet: apikey.NewID("wal_"), Role: apikey.User, CreatedAt: began}
	ok(t, s.People.AddPerson(t.Context(), u, auth.Login{User: u.ID, Email: "anna@example.org", CreatedAt: began}, nil, "", audit.Event{Action: audit.UserCreated, Target: u.ID}))
	o.person, err = s.People.PersonOf(t.Context(), u.ID)
	ok(t, err)
	return o
}

// node is a Manager that shares the store with others, and nothing else.
func (o *fixture) node() *agent.Manager {
	return agent.NewManager(o.store.Agents, o.verifier.ForgetUser, o.clock, auth.Config{}, 50)
}

func (o *fixture) ask(t *testing.T) agent.Asked {
	t.Helper()
	a, err := o.Ask(t.Context(), terminal)
	ok(t, err)
	return a
}

// signIn is the whole way of a terminal that its person allows.
func (o *fixture) signIn(t *testing.T) agent.Tokens {
	t.Helper()
	a := o.ask(t)
	_, err := o.Decide(t.Context(), &o.person, a.Code, true, browser)
	ok(t, err)
	tokens, err := o.Poll(t.Context(), a.DeviceCode)
	ok(t, err)
	return tokens
}

func (o *fixture) wantWord(t *testing.T, err error, word string) {
	t.Helper()
	if got := agent.Refusal(err); got != word {
		t.Fatalf("%q (%v); want %s", got, err, word)
	}
}

// works reports whether an access token calls models.
func (o *fixture) works(t *testing.T, access string) bool {
	t.Helper()
	c, err := o.verifier.Verify(t.Context(), access, nil)
	if err != nil && !fault.Is(err, fault.Authentication) {
		t.Fatal(err)
	}
	if err == nil && (c.User != o.person.ID || c.Management) {
		t.Fatalf("%+v", c)
	}
	return err == nil
}

func TestDeviceFlow(t *testing.T) {
	o := open(t)
	a := o.ask(t)
	if a.ExpiresIn != 10*time.Minute || a.Interval != 5*time.Second || len(a.DeviceCode) < 43 || len(a.Code) != 9 || a.Code[4] != '-' {
		t.Fatalf("%+v", a)
	}
	_, err := o.Poll(t.Context(), a.DeviceCode)
	o.wantWord(t, err, agent.Pending)
	_, err = o.Poll(t.Context(), a.DeviceCode)
	o.wantWord(t, err, agent.SlowDown)
	o.wait(5 * time.Second)
	_, err = o.Poll(t.Context(), a.DeviceCode)
	o.wantWord(t, err, agent.Pending)

	d, err := o.Look(t.Context(), o.person.ID, browser.Network, " "+strings.ToLower(a.Code))
	ok(t, err)
	if d.Client != "Claude Code" || d.Address != terminal.Address {
		t.Errorf("%+v", d)
	}
	if _, err = o.Decide(t.Context(), &o.person, strings.ReplaceAll(a.Code, "-", ""), true, browser); err != nil {
		t.Fatal(err)
	}
	_, err = o.Decide(t.Context(), &o.person, a.Code, false, browser) // decided once
	if !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
	o.wait(5 * time.Second)
	tokens, err := o.Poll(t.Context(), a.DeviceCode)
	ok(t, err)
	if tokens.Email != "anna@example.org" || tokens.ExpiresIn != time.Hour || !o.works(t, tokens.Access) {
		t.Errorf("%+v", tokens)
	}
	if _, valid := apikey.Check(tokens.Access); !valid || strings.HasPrefix(tokens.Refresh, apikey.Prefix) || o.works(t, tokens.Refresh) {
		t.Error("an access token is a key, a refresh token is none")
	}
	again, err := o.node().Poll(t.Context(), a.DeviceCode) // the answer was lost, and another node is asked
	if err != nil || again != tokens {
		t.Errorf("%+v, %v", again, err)
	}
	o.wait(time.Minute)
	_, err = o.Poll(t.Context(), a.DeviceCode)
	o.wantWord(t, err, agent.InvalidGrant)
	if !o.works(t, tokens.Access) {
		t.Error("a code that is used late ends nothing")
	}
}

// TestRefusals has a row for each error that a program gets instead of tokens.
func TestRefusals(t *testing.T) {
	for name, try := range map[string]struct {
		do   func(*testing.T, *fixture) error
		want string
	}{
		"denied": {func(t *testing.T, o *fixture) error {
			a := o.ask(t)
			_, err := o.Decide(t.Context(), &o.person, a.Code, false, browser)
			ok(t, err)
			_, err = o.Poll(t.Context(), a.DeviceCode)
			return err
		}, agent.AccessDenied},
		"expired": {func(t *testing.T, o *fixture) error {
			a := o.ask(t)
			o.wait(10 * time.Minute)
			_, err := o.Poll(t.Context(), a.DeviceCode)
			return err
		}, agent.ExpiredToken},
		"expired after it was allowed": {func(t *testing.T, o *fixture) error {
			a := o.ask(t)
			_, err := o.Decide(t.Context(), &o.person, a.Code, true, browser)
			ok(t, err)
			o.wait(10 * time.Minute)
			_, err = o.Poll(t.Context(), a.DeviceCode)
			return err
		}, agent.ExpiredToken},
		"allowed by one who was disabled then": {func(t *testing.T, o *fixture) error {
			a := o.ask(t)
			_, err := o.Decide(t.Context(), &o.person, a.Code, true, browser)
			ok(t, err)
			ok(t, o.store.Accounts.SetUserDisabled(t.Context(), o.person.ID, true, began, audit.Event{Action: audit.UserDisabled}))
			_, err = o.Poll(t.Context(), a.DeviceCode)
			return err
		}, agent.InvalidGrant},
		"an unknown code": {func(t *testing.T, o *fixture) error { _, err := o.Poll(t.Context(), "x"); return err }, agent.InvalidGrant},
		"a long code": {func(t *testing.T, o *fixture) error {
			_, err := o.Poll(t.Context(), strings.Repeat("x", 129))
			return err
		}, agent.InvalidGrant},
		"no refresh token": {func(t *testing.T, o *fixture) error { _, err := o.Renew(t.Context(), o.signIn(t).Access); return err }, agent.InvalidGrant},
		"another's secret": {func(t *testing.T, o *fixture) error {
			one, two := o.signIn(t).Refresh, o.signIn(t).Refresh
			_, err := o.Renew(t.Context(), one[:len(agent.RefreshPrefix)+24]+two[len(agent.RefreshPrefix)+24:])
			return err
		}, agent.InvalidGrant},
		"a person who was disabled": {func(t *testing.T, o *fixture) error {
			tokens := o.signIn(t)
			ok(t, o.store.Accounts.SetUserDisabled(t.Context(), o.person.ID, true, began, audit.Event{Action: audit.UserDisabled}))
			_, err := o.Renew(t.Context(), tokens.Refresh)
			return err
		}, agent.InvalidGrant},
		"not renewed for a week": {func(t *testing.T, o *fixture) error {
			tokens := o.signIn(t)
			o.wait(7 * 24 * time.Hour)
			_, err := o.Renew(t.Context(), tokens.Refresh)
			return err
		}, agent.InvalidGrant},
		"too many from a network": {func(t *testing.T, o *fixture) (err error) {
			for n := 0; err == nil && n < 100; n++ {
				_, err = o.Ask(t.Context(), terminal)
			}
			return err
		}, agent.SlowDown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			o.wantWord(t, try.do(t, o), try.want)
		})
	}
}

// TestGuessing bounds the wrong codes that one person may type, without bounding others.
func TestGuessing(t *testing.T) {
	o := open(t)
	a := o.ask(t)
	for range 20 {
		if _, err := o.Look(t.Context(), o.person.ID, browser.Network, a.Code); err != nil { // what is right costs nothing
			t.Fatal(err)
		}
	}
	for n := range 10 {
		code := "BCDF-GHJK"
		if n%2 == 0 {
			code = "what?"
		}
		if _, err := o.Look(t.Context(), o.person.ID, browser.Network, code); !fault.Is(err, fault.NotFound) {
			t.Fatalf("%d: %v", n, err)
		}
	}
	if _, err := o.Look(t.Context(), o.person.ID, "another network", a.Code); !fault.Is(err, fault.RateLimited) {
		t.Errorf("%v", err)
	}
	if _, err := o.Look(t.Context(), "another person", browser.Network, a.Code); !fault.Is(err, fault.RateLimited) {
		t.Errorf("%v", err)
	}
	if _, err := o.Look(t.Context(), "another person", "another network", a.Code); err != nil {
		t.Errorf("%v", err)
	}
	o.wait(10 * time.Minute)
	b := o.ask(t)
	if _, err := o.Look(t.Context(), o.person.ID, browser.Network, b.Code); err != nil {
		t.Errorf("%v", err)
	}
}

// TestPollsWithJitter is a terminal that asks each five seconds, with what clocks and networks add and take away: what comes too early is not refused
// for ever.
func TestPollsWithJitter(t *testing.T) {
	o := open(t)
	a := o.ask(t)
	early := 0
	for n := range 100 {
		_, err := o.Poll(t.Context(), a.DeviceCode)
		switch agent.Refusal(err) {
		case agent.Pending:
		case agent.SlowDown:
			if early++; n%4 != 1 {
				t.Fatalf("%d: %v", n, err)
			}
		default:
			t.Fatalf("%d: %v", n, err)
		}
		o.wait([]time.Duration{3900, 5100, 4100, 5900}[n%4] * time.Millisecond)
	}
	if early == 0 {
		t.Error("nothing was too early")
	}
}

// TestRenewEarly is a program that renews all the time: it ends no other's access token.
func TestRenewEarly(t *testing.T) {
	o := open(t)
	first := o.signIn(t)
	for range 5 {
		o.wait(5 * time.Minute)
		again, err := o.Renew(t.Context(), first.Refresh)
		if err != nil || again.Access != first.Access || again.Refresh != first.Refresh {
			t.Fatalf("%+v, %v", again, err)
		}
	}
	again, err := o.Renew(t.Context(), first.Refresh)
	if err != nil || again.ExpiresIn != 35*time.Minute || !o.works(t, first.Access) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestRenew(t *testing.T) {
	o := open(t)
	first := o.signIn(t)
	o.wait(50 * time.Minute)
	second, err := o.Renew(t.Context(), first.Refresh)
	ok(t, err)
	if second.Access == first.Access || second.Refresh == first.Refresh || second.ExpiresIn != time.Hour || second.Email != first.Email {
		t.Errorf("%+v", second)
	}
	if !o.works(t, first.Access) || !o.works(t, second.Access) {
		t.Error("the former access token works until it expires: another terminal has it")
	}
	o.wait(11 * time.Minute)
	if o.works(t, first.Access) || !o.works(t, second.Access) {
		t.Error("an access token works for an hour")
	}
	o.wait(50 * time.Minute)
	if o.works(t, second.Access) {
		t.Error("an access token works for an hour")
	}
	list, err := o.Of(t.Context(), o.person.ID)
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestTwoTerminals share a refresh token and renew it at the same time, at several nodes: all get the same tokens.
func TestTwoTerminals(t *testing.T) {
	o := open(t)
	first := o.signIn(t)
	o.wait(50 * time.Minute)
	all := make([]agent.Tokens, 6)
	var wg sync.WaitGroup
	for i := range all {
		node := o.node()
		wg.Go(func() {
			var err error
			if all[i], err = node.Renew(t.Context(), first.Refresh); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range all {
		if all[i] != all[0] {
			t.Fatalf("%+v and %+v", all[i], all[0])
		}
	}
	o.wait(59 * time.Second)
	late, err := o.Renew(t.Context(), first.Refresh) // its first answer was lost
	if err != nil || late.Refresh != all[0].Refresh || late.Access != all[0].Access {
		t.Errorf("%+v, %v", late, err)
	}
	next, err := o.Renew(t.Context(), late.Refresh)
	if err != nil || !o.works(t, next.Access) {
		t.Errorf("%v", err)
	}
}

// TestReuse ends a sign-in whose token is used after it was replaced, however long ago that was: a copy is about.
func TestReuse(t *testing.T) {
	for name, times := range map[string]int{"once": 1, "three times": 3} {
		t.Run(name, func(t *testing.T) {
			o := open(t)
			copied := o.signIn(t)
			other := o.signIn(t)
			last := copied
			for range times {
				o.wait(40 * time.Minute)
				var err error
				last, err = o.Renew(t.Context(), last.Refresh)
				ok(t, err)
			}
			o.wait(time.Minute)
			_, err := o.Renew(t.Context(), copied.Refresh)
			o.wantWord(t, err, agent.InvalidGrant)
			_, err = o.Renew(t.Context(), last.Refresh)
			o.wantWord(t, err, agent.InvalidGrant)
			if o.works(t, last.Access) {
				t.Error("the access token works")
			}
			if _, err := o.Renew(t.Context(), other.Refresh); err != nil {
				t.Errorf("another sign-in: %v", err)
			}
		})
	}
}

// TestLongest ends a sign-in that was renewed all the time.
func TestLongest(t *testing.T) {
	o := open(t)
	tokens := o.signIn(t)
	var err error
	for days := 0; err == nil; days++ {
		if days > 30 {
			t.Fatal("it never ends")
		}
		o.wait(24 * time.Hour)
		var next agent.Tokens
		if next, err = o.Renew(t.Context(), tokens.Refresh); err == nil {
			tokens = next
		}
	}
	o.wantWord(t, err, agent.InvalidGrant)
	if o.clock().Sub(began) != 30*24*time.Hour {
		t.Errorf("it has ended after %s", o.clock().Sub(began))
	}
}

func TestRevoke(t *testing.T) {
	own, text := apikey.Make(apikey.NewKey{Name: "own"}, began)
	for name, try := range map[string]struct {
		token func(agent.Tokens) string
		ends  bool
	}{
		"the access token":  {func(k agent.Tokens) string { return k.Access }, true},
		"the refresh token": {func(k agent.Tokens) string { return k.Refresh }, true},
		"a guess":           {func(k agent.Tokens) string { return k.Refresh[:len(k.Refresh)-1] + "_" }, false},
		"another key":       {func(agent.Tokens) string { return text }, false},
		"nothing":           {func(agent.Tokens) string { return "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t)
			own := own
			own.User = o.person.ID
			ok(t, o.store.Accounts.InsertKey(t.Context(), own, 50, audit.Event{Action: audit.KeyCreated}))
			tokens := o.signIn(t)
			if !o.works(t, tokens.Access) {
				t.Fatal("it does not work")
			}
			ok(t, o.Revoke(t.Context(), try.token(tokens), "192.0.2.1"))
			if o.works(t, tokens.Access) == try.ends || !o.works(t, text) {
				t.Errorf("ends: %t", !try.ends)
			}
			if _, err := o.Renew(t.Context(), tokens.Refresh); (err != nil) != try.ends {
				t.Errorf("%v", err)
			}
			ok(t, o.Revoke(t.Context(), try.token(tokens), "192.0.2.1"))
		})
	}
}

// TestRemoved is a person who was disabled at another node: their tokens stop within the seconds for which a node remembers a key.
func TestRemoved(t *testing.T) {
	o := open(t)
	tokens := o.signIn(t)
	if !o.works(t, tokens.Access) {
		t.Fatal("it does not work")
	}
	ok(t, o.store.Accounts.SetUserDisabled(t.Context(), o.person.ID, true, began, audit.Event{Action: audit.UserDisabled}))
	o.wait(3 * time.Second)
	if o.works(t, tokens.Access) {
		t.Error("it works")
	}
}

func TestCleanCode(t *testing.T) {
	for text, want := range map[string]string{
		"WDJB-MJHT": "WDJBMJHT", "wdjb mjht": "WDJBMJHT", "wdjbmjht": "WDJBMJHT", " WDJB\u2013MJHT ": "WDJBMJHT",
		"": "", "WDJB-MJH": "", "WDJB-MJHTT": "", "WDJB-MJHA": "", "WDJB-MJH0": "", "WDJB-MJH\u212a": "", strings.Repeat("-", 40) + "WDJBMJHT": "",
	} {
		if got := agent.CleanCode(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

func TestClientName(t *testing.T) {
	for text, want := range map[string]string{
		"claude-code/2.1.330": "Claude Code", "codex_cli_rs/0.169.0 (Linux)": "Codex", "opencode/1.0": "opencode", "curl/8.5.0": "curl",
		"": "unknown", "Ваш банк/1": "unknown", "Your bank: allow/1": "Your", strings.Repeat("x", 41): "unknown",
	} {
		if got := agent.ClientName(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
