package auth_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/auth/passkeytest"
	"weir/internal/fault"
)

var (
	atSite = auth.Client{Address: "192.0.2.1", Network: "192.0.2.0/24", Agent: "Firefox", Site: site}
	corp   = auth.Provider{ID: "corp", Name: "Corp", Issuer: "https://id.example.org", TrustEmail: true, SignUp: true}
)

// provider says of everybody who comes what said has.
type provider struct {
	said auth.Claims
	trip auth.Trip
}

func (p *provider) Providers() []auth.Provider { return []auth.Provider{corp} }

func (p *provider) Begin(_ context.Context, _ string, t *auth.Trip) (string, error) {
	p.trip = *t
	return "https://id.example.org/", nil
}

func (p *provider) Finish(context.Context, string, *auth.Trip, string, string) (auth.Claims, error) {
	return p.said, nil
}

// visit goes to the provider and comes back.
func (o *fixture) visit(t *testing.T, at *provider, aim auth.Aim, s *auth.Session, p *auth.Person) (auth.Arrival, error) {
	t.Helper()
	_, cookie, err := o.Leave(t.Context(), auth.Visit{Provider: corp.ID, Aim: aim}, p, atSite)
	ok(t, err)
	return o.Return(t.Context(), &auth.Returned{Provider: corp.ID, State: at.trip.State, Code: "code", Cookie: cookie}, s, p, atSite)
}

func (o *fixture) require(t *testing.T, s *auth.Session, p *auth.Person, d *passkeytest.Device, k *passkeytest.Key) {
	t.Helper()
	ch, err := o.BeginProof(t.Context(), p, site, atSite)
	ok(t, err)
	ok(t, o.RequirePasskey(t.Context(), s, p, site, ch.Step, []byte(d.Sign(ch.Text, k)), atSite))
	*p, err = o.Of(t.Context(), p.ID)
	ok(t, err)
}

// Every way to sign in, with a passkey that the account requires or does not, or without one.
func TestWaysInWithASecondStep(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"password", "link of a mail", "link of an operator", "provider", "address vouched for by a provider", "demo", "passkey"} {
		for _, has := range []string{"no passkey", "a passkey", "a required passkey"} {
			t.Run(way+", "+has, func(t *testing.T) {
				t.Parallel()
				o := open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, true)
				at := &provider{}
				o.AllowElsewhere(at)
				d := phone
				p, s, k := o.holder(t, "anna@example.org", &d)
				at.said = auth.Claims{Issuer: corp.Issuer, Subject: "anna", Email: p.Email, Verified: true}
				if way == "provider" {
					_, err := o.visit(t, at, auth.Link, &s, &p)
					ok(t, err)
				}
				switch has {
				case "no passkey":
					ok(t, o.RemovePasskey(t.Context(), &s, k.IDText(), atSite))
				case "a required passkey":
					o.require(t, &s, &p, &d, k)
				}
				in, err := o.enter(t, way, at, &p, &d, k)
				switch {
				case way == "passkey" && has == "no passkey":
					kind(t, err, fault.Authentication)
				case way == "passkey" || has != "a required passkey":
					ok(t, err)
					if in.Token == "" || in.Step != "" {
						t.Fatalf("no session: %+v", in)
					}
				case way == "address vouched for by a provider": // which is not linked before the passkey has answered
					kind(t, err, fault.Conflict)
					if all, err := o.Identities(t.Context(), p.ID); err != nil || len(all) != 0 {
						t.Errorf("%v was linked, %v", all, err)
					}
				default:
					ok(t, err)
					o.finish(t, in, &p, &d, k)
				}
			})
		}
	}
}

// enter goes in by a way.
func (o *fixture) enter(t *testing.T, way string, at *provider, p *auth.Person, d *passkeytest.Device, k *passkeytest.Key) (auth.Started, error) {
	t.Helper()
	switch way {
	case "password":
		return o.SignIn(t.Context(), p.Email, secret, atSite)
	case "link of a mail":
		ok(t, o.Recover(t.Context(), p.Email, "en", here))
		return o.Reset(t.Context(), o.token(t, auth.MailReset), "another long one", atSite)
	case "link of an operator":
		link, err := o.ResetLink(t.Context(), p.ID, audit.Actor{Name: "operator"})
		ok(t, err)
		_, token, _ := strings.Cut(link, "#")
		return o.Reset(t.Context(), token, "another long one", atSite)
	case "provider", "address vouched for by a provider":
		if way != "provider" { // only an address that its owner has confirmed is believed
			ok(t, o.Recover(t.Context(), p.Email, "en", here))
			_, err := o.Reset(t.Context(), o.token(t, auth.MailReset), "another long one", atSite)
			ok(t, err)
		}
		a, err := o.visit(t, at, auth.Enter, nil, nil)
		return a.Started, err
	case "demo":
		o.OpenDemo(p.ID)
		return o.Demo(t.Context(), atSite)
	}
	ch, err := o.BeginPasskey(t.Context(), site, atSite)
	ok(t, err)
	return o.SignInWith(t.Context(), site, ch.Step, []byte(d.Sign(ch.Text, k)), atSite)
}

// finish checks that half a sign-in is good for nothing but its passkey, and ends it.
func (o *fixture) finish(t *testing.T, in auth.Started, p *auth.Person, d *passkeytest.Device, k *passkeytest.Key) {
	t.Helper()
	if in.Token != "" || in.Step == "" {
		t.Fatalf("half a sign-in is %+v", in)
	}
	_, _, err := o.Session(t.Context(), in.Step, nil)
	kind(t, err, fault.Authentication)
	ch, err := o.SecondStep(t.Context(), in.Step, site)
	ok(t, err)
	if len(ch.Passkeys) != 1 || ch.Passkeys[0].ID != k.IDText() {
		t.Errorf("the browser is asked for %+v", ch.Passkeys)
	}
	_, err = o.SecondStep(t.Context(), in.Step, auth.Site{Host: "evil.example"})
	kind(t, err, fault.Invalid)
	kind(t, o.ProveWith(t.Context(), &auth.Session{}, p, site, in.Step, []byte(d.Sign(ch.Text, k)), atSite), fault.Invalid) // and it is used up
	_, err = o.SignInWith(t.Context(), site, in.Step, []byte(d.Sign(ch.Text, k)), atSite)
	kind(t, err, fault.Invalid)

	in, err = o.SignIn(t.Context(), p.Email, secret, atSite)
	if fault.Is(err, fault.Authentication) { // it was changed by a link
		in, err = o.SignIn(t.Context(), p.Email, "another long one", atSite)
	}
	ok(t, err)
	ch, err = o.SecondStep(t.Context(), in.Step, site)
	ok(t, err)
	done, err := o.SignInWith(t.Context(), site, in.Step, []byte(d.Sign(ch.Text, k)), atSite)
	ok(t, err)
	if done.User != p.ID || done.Method != "passkey" || done.Token == "" {
		t.Errorf("%+v", done)
	}
}

// Half a sign-in takes no passkey but its own person's, ends after minutes, and its number is bounded; none of that stops who is signed in.
func TestHalfSignedIn(t *testing.T) {
	t.Parallel()
	o := withMail(t)
	d := phone
	anna, session, key := o.holder(t, "anna@example.org", &d)
	_, _, foreign := o.holder(t, "boris@example.org", &d)
	o.require(t, &session, &anna, &d, key)

	in, err := o.SignIn(t.Context(), anna.Email, secret, atSite)
	ok(t, err)
	ch, err := o.SecondStep(t.Context(), in.Step, site)
	ok(t, err)
	_, err = o.SignInWith(t.Context(), site, in.Step, []byte(d.Sign(ch.Text, foreign)), atSite)
	kind(t, err, fault.Authentication)

	in, err = o.SignIn(t.Context(), anna.Email, secret, atSite)
	ok(t, err)
	ch, err = o.SecondStep(t.Context(), in.Step, site)
	ok(t, err)
	o.wait(6 * time.Minute)
	_, err = o.SecondStep(t.Context(), in.Step, site)
	kind(t, err, fault.Invalid)
	_, err = o.SignInWith(t.Context(), site, in.Step, []byte(d.Sign(ch.Text, key)), atSite)
	kind(t, err, fault.Invalid)

	for range 30 {
		_, err := o.SignIn(t.Context(), anna.Email, secret, atSite)
		ok(t, err)
	}
	if n := o.steps(t, "half:"+anna.ID); n != 10 {
		t.Errorf("%d second steps are open at once", n)
	}
	_, err = o.BeginProof(t.Context(), &anna, site, atSite) // of who is signed in
	ok(t, err)
	_, err = o.BeginPasskey(t.Context(), site, atSite) // of who has the passkey
	ok(t, err)

	nowhere := atSite
	nowhere.Site = auth.Site{}
	_, err = o.SignIn(t.Context(), anna.Email, secret, nowhere)
	kind(t, err, fault.PermissionDenied)
}

// Where a passkey is required, nothing else proves who is signed in.
func TestProofsWithASecondStep(t *testing.T) {
	t.Parallel()
	o := withMail(t)
	at := &provider{}
	o.AllowElsewhere(at)
	d := phone
	p, s, k := o.holder(t, "anna@example.org", &d)
	at.said = auth.Claims{Issuer: corp.Issuer, Subject: "anna"}
	_, err := o.visit(t, at, auth.Link, &s, &p)
	ok(t, err)
	ok(t, o.Prove(t.Context(), &s, &p, secret))
	_, err = o.visit(t, at, auth.Show, &s, &p)
	ok(t, err)

	elsewhere, err := o.SignIn(t.Context(), p.Email, secret, atSite)
	ok(t, err)
	o.require(t, &s, &p, &d, k)
	_, _, err = o.Session(t.Context(), elsewhere.Token, nil) // a session from before has no passkey behind it
	kind(t, err, fault.Authentication)

	o.wait(11 * time.Minute)
	kind(t, o.Prove(t.Context(), &s, &p, secret), fault.PermissionDenied)
	_, err = o.visit(t, at, auth.Show, &s, &p)
	if auth.Problem(err) != auth.ProblemPasskey {
		t.Errorf("a provider proves: %v", err)
	}
	kind(t, o.SetPassword(t.Context(), &s, &p, secret, "another long one", atSite), fault.PermissionDenied)
	if all, err := o.store.People.SessionsOf(t.Context(), p.ID, o.clock()); err != nil || len(all) != 1 || all[0].Fresh(o.clock()) {
		t.Errorf("%+v, %v", all, err)
	}
	ch, err := o.BeginProof(t.Context(), &p, site, atSite)
	ok(t, err)
	ok(t, o.ProveWith(t.Context(), &s, &p, site, ch.Step, []byte(d.Sign(ch.Text, k)), atSite))
	all, err := o.store.People.SessionsOf(t.Context(), p.ID, o.clock())
	ok(t, err)
	ok(t, o.SetPassword(t.Context(), &all[0], &p, "", "another long one", atSite))

	// The last passkey stays while it is required; an operator can end that.
	kind(t, o.RemovePasskey(t.Context(), &s, k.IDText(), atSite), fault.Conflict)
	ok(t, o.ReleasePasskey(t.Context(), &s, atSite))
	in, err := o.SignIn(t.Context(), p.Email, "another long one", atSite)
	if err != nil || in.Token == "" {
		t.Fatalf("%+v, %v", in, err)
	}
	o.require(t, &in.Session, &p, &d, k)
	ok(t, o.ReleaseFor(t.Context(), account.User{ID: p.ID}, audit.Actor{Name: "operator"}))
	_, _, err = o.Session(t.Context(), in.Token, nil)
	kind(t, err, fault.Authentication)
	ok(t, o.RemovePasskey(t.Context(), &s, k.IDText(), atSite))
}
