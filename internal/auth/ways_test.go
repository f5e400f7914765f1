package auth_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
)

// Whoever loses a way to sign in, or gets one, reads of it: in their language, a few times a day, and whatever else is sent meanwhile.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
	d := phone
	p, s, k := o.holder(t, "anna@example.org", &d)
	last := func() auth.Mail { return o.mails[len(o.mails)-1] }
	if m := last(); m.Kind != auth.MailPasskeyAdded || m.To != "anna@example.org" || m.Link != "" {
		t.Fatalf("%+v", m)
	}
	ok(t, o.store.Accounts.SetProfile(t.Context(), p.ID, account.Profile{Name: p.Name, Language: "ru"}, began, func(account.Profile) audit.Event { return audit.Event{Action: audit.UserProfile} }))
	ok(t, o.RemovePassword(t.Context(), &s, here))
	if m := last(); m.Kind != auth.MailPasswordRemoved || m.Locale != "ru" {
		t.Fatalf("%+v", m)
	}
	_, err := o.SignIn(t.Context(), "anna@example.org", secret, here)
	wantKind(t, err, fault.Authentication)
	_, err = o.SignIn(t.Context(), "anna@example.org", "", here)
	wantKind(t, err, fault.Authentication)
	wantKind(t, o.RemovePassword(t.Context(), &s, here), fault.NotFound)
	wantKind(t, o.RemovePasskey(t.Context(), &s, k.IDText(), here), fault.Conflict)
	count := len(o.mails)
	for i := range 8 {
		p, err := o.Of(t.Context(), p.ID)
		ok(t, err)
		ok(t, o.SetPassword(t.Context(), &s, &p, "", fmt.Sprint("a phrase that is long ", i), here))
	}
	if n := len(o.mails) - count; n != 5 {
		t.Fatalf("%d mails of eight new passwords; want 5 in a day", n)
	}
	ok(t, o.RemovePasskey(t.Context(), &s, k.IDText(), here))
	if m := last(); m.Kind != auth.MailPasskeyRemoved {
		t.Fatalf("another kind of mail is hidden behind those of passwords: %+v", m)
	}
	o.wait(5 * time.Hour) // one more is due
	ok(t, o.Recover(t.Context(), "anna@example.org", "en", here))
	_, err = o.Reset(t.Context(), o.token(t, auth.MailReset), secret, here)
	ok(t, err)
	if m := last(); m.Kind != auth.MailPassword || m.Locale != "ru" {
		t.Fatalf("%+v", m)
	}
}

// A link for a new password is worth nothing after the password has changed another way.
func TestLinksEndWithThePassword(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fixture, *auth.Session, *auth.Person) error{
		"a new one": func(o *fixture, s *auth.Session, p *auth.Person) error {
			return o.SetPassword(t.Context(), s, p, secret, "another long phrase", here)
		},
		"none any more": func(o *fixture, s *auth.Session, _ *auth.Person) error {
			return o.RemovePassword(t.Context(), s, here)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
			d := phone
			p, s, _ := o.holder(t, "anna@example.org", &d)
			ok(t, o.Recover(t.Context(), p.Email, "en", here))
			link := o.token(t, auth.MailReset)
			ok(t, change(o, &s, &p))
			_, err := o.Reset(t.Context(), link, "the phrase of a thief", here)
			wantKind(t, err, fault.Invalid)
			_, err = o.SignIn(t.Context(), p.Email, "the phrase of a thief", here)
			wantKind(t, err, fault.Authentication)
		})
	}
}
