package auth_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
)

// mailTo is the last mail of a kind to an address.
func (o *fixture) mailTo(t *testing.T, to string, kind auth.MailKind) auth.Mail {
	t.Helper()
	for i := len(o.mails) - 1; i >= 0; i-- {
		if o.mails[i].To == to && o.mails[i].Kind == kind {
			return o.mails[i]
		}
	}
	t.Fatalf("no mail of kind %s to %s: %+v", kind, to, o.mails)
	return auth.Mail{}
}

// code is what follows the # of a mail's link.
func code(m auth.Mail) string {
	for i := range m.Link {
		if m.Link[i] == '#' {
			return m.Link[i+1:]
		}
	}
	return ""
}

// in is the session and the person of a browser.
func (o *fixture) in(t *testing.T, s auth.Started) (*auth.Session, *auth.Person) {
	t.Helper()
	session, p, err := o.Session(t.Context(), s.Token, nil)
	ok(t, err)
	return &session, &p
}

func TestMove(t *testing.T) {
	t.Parallel()
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	here1 := o.join(t, "anna@example.org")
	there, err := o.SignIn(t.Context(), "anna@example.org", secret, here)
	ok(t, err)
	ok(t, o.Recover(t.Context(), "anna@example.org", "en", here))
	reset := o.token(t, auth.MailReset)
	s, p := o.in(t, here1)
	boris := o.join(t, "boris@example.org")
	bs, bp := o.in(t, boris)

	ok(t, o.BeginMove(t.Context(), p, " New@example.org", "ru", here))
	link, stop := o.mailTo(t, "new@example.org", auth.MailMove), o.mailTo(t, "anna@example.org", auth.MailMoving)
	if link.Locale != "ru" || stop.Locale != "ru" || code(link) == "" || code(stop) == "" || code(link) == code(stop) {
		t.Fatalf("%+v %+v", link, stop)
	}
	if _, err := o.SignIn(t.Context(), "new@example.org", secret, here); !fault.Is(err, fault.Authentication) {
		t.Fatalf("the address works before it is confirmed: %v", err)
	}
	// somebody who was sent the link of another's account confirms nothing with it, and it does not wear out
	wantKind(t, o.EndMove(t.Context(), bs, bp, code(link), here), fault.PermissionDenied)
	wantKind(t, o.EndMove(t.Context(), s, p, code(stop), here), fault.Invalid)
	_, err = o.KeepAddress(t.Context(), code(link), here)
	wantKind(t, err, fault.Invalid)
	ok(t, o.EndMove(t.Context(), s, p, code(link), here))
	wantKind(t, o.EndMove(t.Context(), s, p, code(link), here), fault.Invalid)

	_, err = o.SignIn(t.Context(), "new@example.org", secret, here)
	ok(t, err)
	_, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	wantKind(t, err, fault.Authentication)
	_, _, err = o.Session(t.Context(), there.Token, nil)
	wantKind(t, err, fault.Authentication)
	_, p = o.in(t, here1)
	if p.Email != "new@example.org" || !p.Confirmed {
		t.Fatalf("%+v", p)
	}
	_, err = o.Reset(t.Context(), reset, "the phrase of a thief", here)
	wantKind(t, err, fault.Invalid)
	mails := len(o.mails)
	ok(t, o.Recover(t.Context(), "anna@example.org", "en", here))
	if len(o.mails) != mails {
		t.Fatal("the former address recovers the password")
	}

	// the owner of the former address takes it back, and all sessions end
	back := o.mailTo(t, "anna@example.org", auth.MailMoved)
	email, err := o.KeepAddress(t.Context(), code(back), here)
	if err != nil || email != "anna@example.org" {
		t.Fatalf("%s, %v", email, err)
	}
	_, _, err = o.Session(t.Context(), here1.Token, nil)
	wantKind(t, err, fault.Authentication)
	_, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	ok(t, err)
	for _, used := range []string{code(back), code(stop)} {
		_, err = o.KeepAddress(t.Context(), used, here)
		wantKind(t, err, fault.Invalid)
	}
}

// A change that was stopped before the link was opened never happens.
func TestMoveStopped(t *testing.T) {
	t.Parallel()
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	started := o.join(t, "anna@example.org")
	s, p := o.in(t, started)
	ok(t, o.BeginMove(t.Context(), p, "new@example.org", "en", here))
	link := o.mailTo(t, "new@example.org", auth.MailMove)
	_, err := o.KeepAddress(t.Context(), code(o.mailTo(t, "anna@example.org", auth.MailMoving)), here)
	ok(t, err)
	wantKind(t, o.EndMove(t.Context(), s, p, code(link), here), fault.Invalid)
	_, _, err = o.Session(t.Context(), started.Token, nil)
	wantKind(t, err, fault.Authentication)
	// after a day the link is dead, and after a week the way back
	started, err = o.SignIn(t.Context(), "anna@example.org", secret, here)
	ok(t, err)
	s, p = o.in(t, started)
	o.wait(24 * time.Hour)
	ok(t, o.BeginMove(t.Context(), p, "late@example.org", "en", here))
	late, stop := o.mailTo(t, "late@example.org", auth.MailMove), o.mailTo(t, "anna@example.org", auth.MailMoving)
	o.wait(24 * time.Hour)
	wantKind(t, o.EndMove(t.Context(), s, p, code(late), here), fault.Invalid)
	o.wait(6 * 24 * time.Hour)
	_, err = o.KeepAddress(t.Context(), code(stop), here)
	wantKind(t, err, fault.Invalid)
}

// Asking tells nothing of other accounts, and sends nobody more than a few mails.
func TestMoveTellsNothing(t *testing.T) {
	t.Parallel()
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	o.join(t, "boris@example.org")
	_, p := o.in(t, o.join(t, "anna@example.org"))
	ok(t, o.BeginMove(t.Context(), p, "boris@example.org", "en", here))
	if m := o.mailTo(t, "boris@example.org", auth.MailTaken); m.Link != "" {
		t.Fatalf("%+v", m)
	}
	o.mailTo(t, "anna@example.org", auth.MailMoving)
	wantKind(t, o.BeginMove(t.Context(), p, "no address", "en", here), fault.Invalid)
	for range 4 {
		ok(t, o.BeginMove(t.Context(), p, "boris@example.org", "en", here))
	}
	wantKind(t, o.BeginMove(t.Context(), p, "third@example.org", "en", here), fault.RateLimited)
	for i := range 5 {
		_, p := o.in(t, o.join(t, fmt.Sprintf("p%d@example.org", i)))
		ok(t, o.BeginMove(t.Context(), p, "boris@example.org", "en", here))
	}
	got := map[string]int{}
	for _, m := range o.mails {
		got[m.To]++
	}
	if got["boris@example.org"] != 3 || got["anna@example.org"] != 3 {
		t.Fatalf("%v; want 3 mails a day to an address", got)
	}
	bare := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
	_, p = bare.in(t, bare.join(t, "anna@example.org"))
	wantKind(t, bare.BeginMove(t.Context(), p, "new@example.org", "en", here), fault.PermissionDenied)
}

// The address went to somebody else while its link was under way.
func TestMoveTaken(t *testing.T) {
	t.Parallel()
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	started := o.join(t, "anna@example.org")
	s, p := o.in(t, started)
	ok(t, o.BeginMove(t.Context(), p, "new@example.org", "en", here))
	link := o.mailTo(t, "new@example.org", auth.MailMove)
	o.join(t, "new@example.org")
	wantKind(t, o.EndMove(t.Context(), s, p, code(link), here), fault.Invalid)
	if _, p := o.in(t, auth.Started{Token: o.signed(t)}); p.Email != "anna@example.org" {
		t.Fatalf("%+v", p)
	}
	// an operator moves nobody onto another's address, either; and without mail there is no way back that nobody would read of
	operator := audit.Actor{Name: "operator"}
	wantKind(t, o.SetAddress(t.Context(), p.ID, "new@example.org", operator), fault.Invalid)
	wantKind(t, o.SetAddress(t.Context(), p.ID, "anna@example.org", operator), fault.Invalid)
	ok(t, o.SetAddress(t.Context(), p.ID, "given@example.org", operator))
	o.mailTo(t, "anna@example.org", auth.MailMoved)
	if p, err := o.Of(t.Context(), p.ID); err != nil || p.Email != "given@example.org" {
		t.Fatalf("%+v, %v", p, err)
	}
	_, _, err := o.Session(t.Context(), started.Token, nil)
	wantKind(t, err, fault.Authentication)
}

func (o *fixture) signed(t *testing.T) string {
	t.Helper()
	s, err := o.SignIn(t.Context(), "anna@example.org", secret, here)
	ok(t, err)
	return s.Token
}

// Somebody who writes down another's address and then moves away gets no account that shares it with its owner: what the owner stops is not
// confirmed by that. An address that is not confirmed can be confirmed by who is signed in.
func TestStoppedMoveOfAnUnprovenAddress(t *testing.T) {
	t.Parallel()
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	started := o.join(t, "victim@example.org")
	s, p := o.in(t, started)
	ok(t, o.BeginMove(t.Context(), p, "squatter@example.org", "en", here))
	ok(t, o.EndMove(t.Context(), s, p, code(o.mailTo(t, "squatter@example.org", auth.MailMove)), here))
	_, err := o.KeepAddress(t.Context(), code(o.mailTo(t, "victim@example.org", auth.MailMoved)), here)
	ok(t, err)
	if p, err := o.Of(t.Context(), p.ID); err != nil || p.Email != "victim@example.org" || p.Confirmed {
		t.Fatalf("%+v, %v", p, err)
	}

	started = o.join(t, "anna@example.org")
	s, p = o.in(t, started)
	mails := len(o.mails)
	ok(t, o.BeginMove(t.Context(), p, "anna@example.org", "en", here))
	link := o.mailTo(t, "anna@example.org", auth.MailMove)
	if len(o.mails) != mails+1 {
		t.Errorf("%+v", o.mails[mails:])
	}
	ok(t, o.EndMove(t.Context(), s, p, code(link), here))
	if len(o.mails) != mails+1 {
		t.Errorf("%+v", o.mails[mails:])
	}
	if _, p = o.in(t, started); !p.Confirmed {
		t.Errorf("%+v", p)
	}
	wantKind(t, o.BeginMove(t.Context(), p, "anna@example.org", "en", here), fault.Invalid)
}
