package auth_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

var (
	began  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	here   = auth.Client{Address: "192.0.2.1", Network: "192.0.2.1", Agent: "Firefox"}
	secret = "correct horse battery"
)

// fixture is a Manager over a real store, with a clock that the test moves and mails that are kept.
type fixture struct {
	*auth.Manager
	store *store.Store

	mu    sync.Mutex
	now   time.Time
	mails []auth.Mail
}

func (o *fixture) clock() time.Time { o.mu.Lock(); defer o.mu.Unlock(); return o.now }

func (o *fixture) wait(d time.Duration) { o.mu.Lock(); defer o.mu.Unlock(); o.now = o.now.Add(d) }

func (o *fixture) Send(m auth.Mail) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mails = append(o.mails, m)
	return true
}

// token is the fragment of the last mail's link.
func (o *fixture) token(t *testing.T, kind auth.MailKind) string {
	t.Helper()
	if len(o.mails) == 0 || o.mails[len(o.mails)-1].Kind != kind {
		t.Fatalf("the last of %d mails is not of kind %s: %+v", len(o.mails), kind, o.mails)
	}
	_, token, _ := strings.Cut(o.mails[len(o.mails)-1].Link, "#")
	return token
}

func open(t *testing.T, c auth.Config, mail bool) *fixture {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	ok(t, err)
	t.Cleanup(func() { _ = s.Close() })
	o := &fixture{now: began, store: s}
	var mailer auth.Mailer
	if mail {
		mailer = o
	}
	o.Manager = auth.NewManager(o.store.People, apikey.NewManager(o.store.Accounts, nil, o.clock, 0), mailer, o.clock, c)
	return o
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, k fault.Kind) {
	t.Helper()
	if !fault.Is(err, k) {
		t.Fatalf("%v; want %s", err, k)
	}
}

// join makes a person with an invitation.
func (o *fixture) join(t *testing.T, email string) auth.Started {
	t.Helper()
	link, _, err := o.Invite(t.Context(), "", "", apikey.User, audit.Actor{Name: "operator"}, "")
	ok(t, err)
	_, token, _ := strings.Cut(link, "#")
	s, err := o.SignUp(t.Context(), auth.Form{Email: email, Password: secret, Token: token}, here)
	ok(t, err)
	return s
}

func TestSignUpByInvitation(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
	_, err := o.SignUp(t.Context(), auth.Form{Email: "a@example.org", Password: secret}, here)
	wantKind(t, err, fault.PermissionDenied)
	s := o.join(t, " Anna@Example.org ")
	got, p, err := o.Session(t.Context(), s.Token, nil)
	ok(t, err)
	if got.ID != s.ID || p.Email != "anna@example.org" || p.Name != "anna" || p.Role != apikey.User || !got.Fresh(o.clock()) {
		t.Fatalf("%+v %+v", got, p)
	}
	_, err = o.SignIn(t.Context(), "ANNA@example.org", secret, here)
	ok(t, err)
	link, _, err := o.Invite(t.Context(), "boss@example.org", "for the boss", apikey.Operator, audit.Actor{Name: "operator"}, "")
	ok(t, err)
	_, token, _ := strings.Cut(link, "#")
	s, err = o.SignUp(t.Context(), auth.Form{Email: "other@example.org", Password: secret, Token: token}, here)
	ok(t, err)
	if _, p, err = o.Session(t.Context(), s.Token, nil); err != nil || p.Email != "boss@example.org" || p.Role != apikey.Operator {
		t.Fatalf("an invitation decides address and role: %+v, %v", p, err)
	}
	_, err = o.SignUp(t.Context(), auth.Form{Email: "third@example.org", Password: secret, Token: token}, here)
	wantKind(t, err, fault.Invalid)
	_, _, err = o.Invite(t.Context(), "boss@example.org", "", apikey.User, audit.Actor{}, "")
	wantKind(t, err, fault.Invalid)
}

// An invitation ends with what its maker may do: with an account that is disabled or has a lower role, and with sign-up.
func TestInvitationsEndWithTheirMaker(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
	boss := o.join(t, "boss@example.org")
	users := account.NewManager(o.store.Accounts, nil, o.clock)
	by := audit.Actor{Name: "test"}
	as := func(r apikey.Role) { t.Helper(); ok(t, users.SetRole(t.Context(), boss.User, r, by)) }
	_, err := users.CreateAs(t.Context(), "deputy", apikey.Administrator, by) // the last administrator would stay one
	ok(t, err)
	as(apikey.Administrator)
	invite := func(r apikey.Role) string {
		link, _, err := o.Invite(t.Context(), "", "", r, by, boss.User)
		ok(t, err)
		_, token, _ := strings.Cut(link, "#")
		return token
	}
	toUser, toOperator := invite(apikey.User), invite(apikey.Operator)
	works := func(token string) bool {
		_, err := o.LookAt(t.Context(), auth.Invitation, token)
		if err != nil {
			wantKind(t, err, fault.Invalid)
			_, err = o.SignUp(t.Context(), auth.Form{Email: "x@example.org", Password: secret, Token: token}, here)
			wantKind(t, err, fault.Invalid)
		}
		return err == nil
	}
	if as(apikey.Operator); !works(toUser) || works(toOperator) {
		t.Error("an operator's invitations are not those that operators may make")
	}
	if as(apikey.User); works(toUser) {
		t.Error("a user's invitation works")
	}
	as(apikey.Administrator)
	ok(t, o.store.Accounts.SetUserDisabled(t.Context(), boss.User, true, began, audit.Event{Action: audit.UserDisabled}))
	if works(toUser) || works(toOperator) {
		t.Error("an invitation of a disabled account works")
	}
	ok(t, o.store.Accounts.SetUserDisabled(t.Context(), boss.User, false, began, audit.Event{Action: audit.UserDisabled}))
	if !works(toUser) || !works(toOperator) {
		t.Error("an invitation does not work again")
	}
	closed := auth.NewManager(o.store.People, nil, nil, o.clock, auth.Config{Passwords: true})
	_, err = closed.LookAt(t.Context(), auth.Invitation, toUser)
	wantKind(t, err, fault.Invalid)
}

func TestSignUpByMail(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.Open}, true)
	s, err := o.SignUp(t.Context(), auth.Form{Email: "anna@example.org", Locale: "ru"}, here)
	if err != nil || s.Token != "" || o.mails[0].Locale != "ru" {
		t.Fatalf("%+v, %v, %v", s, err, o.mails)
	}
	token := o.token(t, auth.MailConfirm)
	_, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	wantKind(t, err, fault.Authentication)
	_, err = o.Confirm(t.Context(), auth.Form{Token: token, Password: "short"}, here)
	wantKind(t, err, fault.Invalid) // and the link works still
	s, err = o.Confirm(t.Context(), auth.Form{Token: token, Password: secret, Name: "Anna", Email: "boris@example.org"}, here)
	ok(t, err)
	if _, p, err := o.Session(t.Context(), s.Token, nil); err != nil || !p.Confirmed || p.Email != "anna@example.org" || p.Name != "Anna" {
		t.Fatalf("%+v, %v", p, err)
	}
	_, err = o.Confirm(t.Context(), auth.Form{Token: token, Password: secret}, here)
	wantKind(t, err, fault.Invalid)
	// somebody who asks again learns nothing, and the owner of the address is told
	s, err = o.SignUp(t.Context(), auth.Form{Email: "anna@example.org"}, here)
	if err != nil || s.Token != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	o.token(t, auth.MailExists)
}

// Who asks for a mail to another's address chooses nothing of the account, and cannot keep the owner's own mail away.
func TestStrangersSignUp(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.Open}, true)
	for field, f := range map[string]auth.Form{"password": {Email: "boris@example.org", Password: secret}, "name": {Email: "boris@example.org", Name: "Not Boris"}} {
		_, err := o.SignUp(t.Context(), f, here)
		if wantKind(t, err, fault.Invalid); fault.From(err).Param != field {
			t.Errorf("%v, want an error about %s", err, field)
		}
	}
	if len(o.mails) != 0 {
		t.Fatalf("mails were sent: %v", o.mails)
	}
	var stranger string
	for range 10 {
		_, err := o.SignUp(t.Context(), auth.Form{Email: "boris@example.org"}, here)
		ok(t, err)
	}
	if stranger = o.token(t, auth.MailConfirm); len(o.mails) != 3 {
		t.Fatalf("%d mails were sent to one address; want 3", len(o.mails))
	}
	home := auth.Client{Address: "198.51.100.9", Network: "198.51.100.9"}
	_, err := o.SignUp(t.Context(), auth.Form{Email: "boris@example.org"}, home)
	ok(t, err)
	own := o.token(t, auth.MailConfirm)
	if len(o.mails) != 4 {
		t.Fatal("strangers keep the owner's own mail away")
	}
	_, err = o.Confirm(t.Context(), auth.Form{Token: stranger, Password: secret}, here)
	wantKind(t, err, fault.Invalid) // the newer link has replaced it
	_, err = o.Confirm(t.Context(), auth.Form{Token: own, Password: secret}, home)
	ok(t, err)
	for i := range 30 { // from anywhere
		_, err := o.SignUp(t.Context(), auth.Form{Email: "clara@example.org"}, auth.Client{Network: fmt.Sprint(i)})
		ok(t, err)
	}
	if n := len(o.mails) - 4; n != 10 {
		t.Errorf("%d mails were sent to one address within an hour; want 10", n)
	}
	before := len(o.mails)
	for i := range 100 { // nor are many addresses written to from one place
		_, err := o.SignUp(t.Context(), auth.Form{Email: fmt.Sprintf("p%d@example.org", i)}, auth.Client{Network: "203.0.113.0/24"})
		ok(t, err)
	}
	if n := len(o.mails) - before; n != 60 {
		t.Errorf("%d mails were sent from one network within an hour; want 60", n)
	}
}

// sign_in.passwords: false switches off every way that takes or sets one.
func TestPasswordsOff(t *testing.T) {
	on := open(t, auth.Config{Passwords: true, SignUp: auth.Open}, true)
	s := on.join(t, "anna@example.org")
	session, p, err := on.Session(t.Context(), s.Token, nil)
	ok(t, err)
	ok(t, on.Recover(t.Context(), "anna@example.org", "en", here))
	reset := on.token(t, auth.MailReset)
	_, err = on.SignUp(t.Context(), auth.Form{Email: "boris@example.org"}, here)
	ok(t, err)
	confirm := on.token(t, auth.MailConfirm)
	link, _, err := on.Invite(t.Context(), "", "", apikey.User, audit.Actor{Name: "operator"}, "")
	ok(t, err)
	_, invitation, _ := strings.Cut(link, "#")
	off := auth.NewManager(on.store.People, apikey.NewManager(on.store.Accounts, nil, on.clock, 0), on, on.clock, auth.Config{SignUp: auth.Open})
	for way, try := range map[string]func() error{
		"sign in": func() error { _, err := off.SignIn(t.Context(), "anna@example.org", secret, here); return err },
		"sign up": func() error {
			_, err := off.SignUp(t.Context(), auth.Form{Email: "clara@example.org"}, here)
			return err
		},
		"confirm": func() error {
			_, err := off.Confirm(t.Context(), auth.Form{Token: confirm, Password: secret}, here)
			return err
		},
		"invitation": func() error {
			_, err := off.SignUp(t.Context(), auth.Form{Email: "d@example.org", Password: secret, Token: invitation}, here)
			return err
		},
		"recover":       func() error { return off.Recover(t.Context(), "anna@example.org", "en", here) },
		"reset":         func() error { _, err := off.Reset(t.Context(), reset, "another long one", here); return err },
		"an operator's": func() error { _, err := off.ResetLink(t.Context(), p.ID, audit.Actor{Name: "operator"}); return err },
		"prove":         func() error { return off.Prove(t.Context(), &session, &p, secret) },
		"set":           func() error { return off.SetPassword(t.Context(), &session, &p, secret, "another long one", here) },
	} {
		if err := try(); !fault.Is(err, fault.PermissionDenied) {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// Wrong guesses of strangers, however many, do not keep who is signed in from proving who they are; nor are proofs free.
func TestProofsHaveTheirOwnGate(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	s := o.join(t, "anna@example.org")
	session, p, err := o.Session(t.Context(), s.Token, nil)
	ok(t, err)
	for range 11 {
		_, _ = o.SignIn(t.Context(), "anna@example.org", "wrong password", here)
	}
	_, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	wantKind(t, err, fault.RateLimited)
	ok(t, o.Prove(t.Context(), &session, &p, secret))
	wantKind(t, o.Prove(t.Context(), &session, &p, "wrong password"), fault.Authentication)
	for range 18 {
		ok(t, o.Prove(t.Context(), &session, &p, secret))
	}
	err = o.Prove(t.Context(), &session, &p, secret)
	if wantKind(t, err, fault.RateLimited); fault.From(err).RetryAfter <= 0 {
		t.Error("the refusal does not say how long to wait")
	}
	o.wait(15 * time.Minute)
	ok(t, o.Prove(t.Context(), &session, &p, secret))
}

// Guesses count by network, in which there may be many addresses.
func TestGuessesCountByNetwork(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
	o.join(t, "anna@example.org")
	for i := range 10 {
		_, err := o.SignIn(t.Context(), "anna@example.org", "wrong password", auth.Client{Address: fmt.Sprintf("2001:db8::%d", i), Network: "2001:db8::/64"})
		wantKind(t, err, fault.Authentication)
	}
	_, err := o.SignIn(t.Context(), "anna@example.org", secret, auth.Client{Address: "2001:db8::99", Network: "2001:db8::/64"})
	wantKind(t, err, fault.RateLimited)
}

func TestSignUpClosed(t *testing.T) {
	o := open(t, auth.Config{Passwords: true}, true)
	_, err := o.SignUp(t.Context(), auth.Form{Email: "anna@example.org", Password: secret, Token: "x"}, here)
	wantKind(t, err, fault.PermissionDenied)
	_, _, err = o.Invite(t.Context(), "", "", apikey.User, audit.Actor{}, "")
	wantKind(t, err, fault.Conflict)
}

// Who has no account and who gives a wrong password get the same answer.
func TestSignInRefusals(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
	s := o.join(t, "anna@example.org")
	disabled := o.join(t, "off@example.org")
	ok(t, o.store.Accounts.SetUserDisabled(t.Context(), disabled.User, true, began, audit.Event{Action: audit.UserDisabled}))
	var texts []string
	for _, try := range []struct{ email, password string }{
		{"anna@example.org", "wrong password"}, {"nobody@example.org", secret}, {"off@example.org", secret}, {"no address", secret}, {"anna@example.org", ""},
		{"anna@example.org", strings.Repeat("x", 1000)},
	} {
		_, err := o.SignIn(t.Context(), try.email, try.password, here)
		wantKind(t, err, fault.Authentication)
		texts = append(texts, fault.From(err).Public)
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Fatalf("the answers differ: %q", texts)
		}
	}
	_, _, err := o.Session(t.Context(), disabled.Token, nil)
	wantKind(t, err, fault.Authentication)
	_, _, err = o.Session(t.Context(), s.Token, nil)
	ok(t, err)
}

func TestGuessesAreBounded(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
	o.join(t, "anna@example.org")
	elsewhere := auth.Client{Address: "198.51.100.9", Network: "198.51.100.9"}
	for range 10 {
		_, err := o.SignIn(t.Context(), "anna@example.org", "wrong password", here)
		wantKind(t, err, fault.Authentication)
	}
	_, err := o.SignIn(t.Context(), "anna@example.org", secret, here)
	wantKind(t, err, fault.RateLimited)
	if fault.From(err).RetryAfter <= 0 {
		t.Fatal("the refusal does not say how long to wait")
	}
	// the owner, at another address, is not kept out
	for range 30 {
		_, err = o.SignIn(t.Context(), "anna@example.org", secret, elsewhere)
		ok(t, err)
	}
	o.wait(15 * time.Minute)
	_, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	ok(t, err)
}

func TestSessionsExpire(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite, Idle: time.Hour, Longest: 3 * time.Hour}, false)
	idle, used := o.join(t, "anna@example.org"), o.join(t, "boris@example.org")
	for range 3 {
		o.wait(59 * time.Minute)
		_, _, err := o.Session(t.Context(), used.Token, nil)
		ok(t, err)
	}
	_, _, err := o.Session(t.Context(), idle.Token, nil)
	wantKind(t, err, fault.Authentication)
	if all, err := o.Sessions(t.Context(), idle.User); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v: an idle session is listed", all, err)
	}
	o.wait(4 * time.Minute) // three hours and a minute after it began
	_, _, err = o.Session(t.Context(), used.Token, nil)
	wantKind(t, err, fault.Authentication)
	if n, err := o.Sweep(t.Context(), 100); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	_, _, err = o.Session(t.Context(), strings.Repeat("x", 1<<16), nil)
	wantKind(t, err, fault.Authentication)
}

func TestPasswordChange(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	s := o.join(t, "anna@example.org")
	other, err := o.SignIn(t.Context(), "anna@example.org", secret, here)
	ok(t, err)
	session, p, err := o.Session(t.Context(), s.Token, nil)
	ok(t, err)
	o.wait(11 * time.Minute)
	wantKind(t, o.SetPassword(t.Context(), &session, &p, "", "another long one", here), fault.Invalid)
	wantKind(t, o.SetPassword(t.Context(), &session, &p, "wrong password", "another long one", here), fault.Invalid)
	ok(t, o.SetPassword(t.Context(), &session, &p, secret, "another long one", here))
	o.token(t, auth.MailPassword)
	_, _, err = o.Session(t.Context(), s.Token, nil)
	ok(t, err)
	_, _, err = o.Session(t.Context(), other.Token, nil)
	wantKind(t, err, fault.Authentication)
	_, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	wantKind(t, err, fault.Authentication)
	_, err = o.SignIn(t.Context(), "anna@example.org", "another long one", here)
	ok(t, err)
}

func TestRecovery(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	s := o.join(t, "anna@example.org")
	ok(t, o.Recover(t.Context(), "nobody@example.org", "en", here))
	if len(o.mails) != 0 {
		t.Fatalf("a mail to nobody: %v", o.mails)
	}
	ok(t, o.Recover(t.Context(), "anna@example.org", "ru", here))
	token := o.token(t, auth.MailReset)
	_, err := o.Reset(t.Context(), token, "short", here)
	wantKind(t, err, fault.Invalid)
	fresh, err := o.Reset(t.Context(), token, "another long one", here)
	ok(t, err)
	_, _, err = o.Session(t.Context(), s.Token, nil)
	wantKind(t, err, fault.Authentication)
	_, _, err = o.Session(t.Context(), fresh.Token, nil)
	ok(t, err)
	_, err = o.Reset(t.Context(), token, "a third long one", here)
	wantKind(t, err, fault.Invalid)
	ok(t, o.Recover(t.Context(), "anna@example.org", "ru", here))
	token = o.token(t, auth.MailReset)
	o.wait(time.Hour)
	_, err = o.Reset(t.Context(), token, "a third long one", here)
	wantKind(t, err, fault.Invalid)
	link, err := o.ResetLink(t.Context(), s.User, audit.Actor{Name: "operator"})
	ok(t, err)
	_, token, _ = strings.Cut(link, "#")
	_, err = o.Reset(t.Context(), token, "a third long one", here)
	ok(t, err)
}

func TestSetup(t *testing.T) {
	for name, made := range map[string]bool{"an empty store": false, "an administrator made by a command": true} {
		t.Run(name, func(t *testing.T) {
			o := open(t, auth.Config{Passwords: true}, false)
			var first *account.First
			if made {
				var err error
				first, err = account.NewManager(o.store.Accounts, nil, o.clock).Bootstrap(t.Context(), "root")
				ok(t, err)
			}
			link, err := o.BeginSetup(t.Context())
			ok(t, err)
			_, token, _ := strings.Cut(link, "#")
			form := auth.Form{Email: "root@example.org", Name: "Root", Password: secret, Token: token}
			wrong := form
			wrong.Token = "x"
			_, err = o.Setup(t.Context(), wrong, here)
			wantKind(t, err, fault.Invalid)
			s, err := o.Setup(t.Context(), form, here)
			ok(t, err)
			if made && s.User != first.User.ID {
				t.Fatalf("another administrator was made: %s", s.User)
			}
			_, p, err := o.Session(t.Context(), s.Token, nil)
			if err != nil || p.Role != apikey.Administrator {
				t.Fatalf("%+v, %v", p, err)
			}
			if link, err := o.BeginSetup(t.Context()); err != nil || link != "" {
				t.Fatalf("a second set-up: %q, %v", link, err)
			}
			_, err = o.Setup(t.Context(), form, here)
			wantKind(t, err, fault.Invalid)
		})
	}
}

// Two browsers with two set-up links make one administrator.
func TestSetupOnce(t *testing.T) {
	o := open(t, auth.Config{Passwords: true}, false)
	one, err := o.BeginSetup(t.Context())
	ok(t, err)
	two, err := o.BeginSetup(t.Context())
	ok(t, err)
	_, token, _ := strings.Cut(one, "#")
	_, err = o.Setup(t.Context(), auth.Form{Email: "a@example.org", Password: secret, Token: token}, here)
	ok(t, err)
	_, token, _ = strings.Cut(two, "#")
	_, err = o.Setup(t.Context(), auth.Form{Email: "b@example.org", Password: secret, Token: token}, here)
	wantKind(t, err, fault.Conflict)
}

func TestDemo(t *testing.T) {
	o := open(t, auth.Config{Passwords: true}, false)
	_, err := o.Demo(t.Context(), here)
	wantKind(t, err, fault.PermissionDenied)
	u, err := account.NewManager(o.store.Accounts, nil, o.clock).Create(t.Context(), "demo", audit.Actor{Name: "demo"})
	ok(t, err)
	o.OpenDemo(u.ID)
	s, err := o.Demo(t.Context(), here)
	ok(t, err)
	if _, p, err := o.Session(t.Context(), s.Token, nil); err != nil || p.ID != u.ID || p.Email != "" {
		t.Fatalf("%+v, %v", p, err)
	}
}

func TestWebKey(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
	s := o.join(t, "anna@example.org")
	of := func() string {
		t.Helper()
		_, p, err := o.Session(t.Context(), s.Token, nil)
		ok(t, err)
		id, err := o.WebKey(t.Context(), &p)
		ok(t, err)
		return id
	}
	first := of()
	if again := of(); again != first {
		t.Fatal("each call makes a key")
	}
	k, err := o.store.Accounts.KeyByID(t.Context(), first)
	ok(t, err)
	ok(t, o.store.Accounts.DeleteKey(t.Context(), s.User, k.Hash, began, audit.Event{Action: audit.KeyRevoked}))
	second := of()
	if second == first || of() != second {
		t.Fatal("a deleted key is not replaced once")
	}
}

func TestPasswordsAndAddresses(t *testing.T) {
	for _, bad := range []string{"", "short", "aaaaaaaaaaaaaaaa", "password123", "Anna.Petrova", "anna.petrova@example.org", strings.Repeat("я", 129), "\xff0123456789"} {
		if err := auth.CheckPassword("password", bad, "anna.petrova@example.org"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{secret, "десять знаков", "0123456789x"} {
		ok(t, auth.CheckPassword("password", good, "anna@example.org"))
	}
	for _, bad := range []string{"", "x", "@example.org", "a@", "a@b", "a@b@c.org", "a b@c.org", "a@c.org\r\nBcc: x@y.org", "<a@b.org>", "a@.org", "a@org.", "a@b..org", strings.Repeat("a", 250) + "@b.org"} {
		if _, err := auth.CheckEmail("email", bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for in, want := range map[string]string{" A+b@Example.ORG\n": "a+b@example.org", "почта@пример.рф": "почта@пример.рф"} {
		if got, err := auth.CheckEmail("email", in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// Each sign-in leaves a row in the audit chain, so that a day has so many of one person, and the next day has more.
func TestSignInsOfADay(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	s := o.join(t, "anna@example.org")
	o.OpenDemo(s.User)
	for range 999 {
		_, err := o.Demo(t.Context(), here)
		ok(t, err)
	}
	_, err := o.Demo(t.Context(), here)
	wantKind(t, err, fault.RateLimited)
	o.join(t, "boris@example.org")
	o.wait(24 * time.Hour)
	_, err = o.Demo(t.Context(), here)
	ok(t, err)
}

// countedStore counts the writes of a manager, which take the time that others may measure.
type countedStore struct {
	auth.Store
	tokens int
}

func (c *countedStore) AddToken(ctx context.Context, t auth.Token, most int, events ...audit.Event) error {
	c.tokens++
	return c.Store.AddToken(ctx, t, most, events...)
}

// Whether there is an account shows neither in the answer nor in the work that is done before it.
func TestSameWorkForEveryAddress(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.Open}, true)
	o.join(t, "anna@example.org")
	counted := &countedStore{Store: o.store.People}
	m := auth.NewManager(counted, nil, o, o.clock, auth.Config{Passwords: true, SignUp: auth.Open})
	for name, ask := range map[string]func(email string) error{
		"recovery": func(email string) error { return m.Recover(t.Context(), email, "en", here) },
		"sign-up":  func(email string) error { _, err := m.SignUp(t.Context(), auth.Form{Email: email}, here); return err },
	} {
		for _, email := range []string{"anna@example.org", "nobody@example.org"} {
			counted.tokens = 0
			ok(t, ask(email))
			if counted.tokens != 1 {
				t.Errorf("%s of %s: %d links are stored", name, email, counted.tokens)
			}
		}
	}
}

// An invitation without an address is no way to ask which addresses have accounts.
func TestInvitationTestsFewAddresses(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	o.join(t, "anna@example.org")
	link, _, err := o.Invite(t.Context(), "", "", apikey.User, audit.Actor{Name: "operator"}, "")
	ok(t, err)
	_, token, _ := strings.Cut(link, "#")
	try := func(email string) error {
		_, err := o.SignUp(t.Context(), auth.Form{Email: email, Password: secret, Token: token}, here)
		return err
	}
	for range 10 {
		wantKind(t, try("anna@example.org"), fault.Invalid)
	}
	wantKind(t, try("anna@example.org"), fault.RateLimited)
	wantKind(t, try("boris@example.org"), fault.RateLimited)
	o.wait(24 * time.Hour)
	ok(t, try("boris@example.org"))
}

// Right passwords are not counted as guesses, but checking them takes a processor: one network has so many of an account in a minute.
func TestRightPasswordsAreBounded(t *testing.T) {
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	o.join(t, "anna@example.org")
	for range 60 {
		_, err := o.SignIn(t.Context(), "anna@example.org", secret, here)
		ok(t, err)
	}
	_, err := o.SignIn(t.Context(), "anna@example.org", secret, here)
	wantKind(t, err, fault.RateLimited)
	o.wait(time.Minute)
	_, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	ok(t, err)
}
