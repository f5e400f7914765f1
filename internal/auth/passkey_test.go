package auth_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/auth/passkeytest"
	"weir/internal/fault"
)

var (
	site  = auth.Site{Host: "weir.example.org", Origin: "https://weir.example.org"}
	phone = passkeytest.Device{Origin: site.Origin, RPID: site.Host}
)

// holder is a person with a session and a passkey.
func (o *fixture) holder(t *testing.T, email string, d *passkeytest.Device) (auth.Person, auth.Session, *passkeytest.Key) {
	t.Helper()
	link, _, err := o.Invite(t.Context(), email, "", apikey.User, audit.Actor{Name: "operator"}, "")
	ok(t, err)
	_, token, _ := strings.Cut(link, "#")
	s, err := o.SignUp(t.Context(), auth.Form{Password: secret, Token: token}, here)
	ok(t, err)
	p, err := o.Of(t.Context(), s.User)
	ok(t, err)
	ch, err := o.BeginAdd(t.Context(), &p, site, here)
	ok(t, err)
	k, answer := d.Make(ch.Text, p.ID)
	made, err := o.AddPasskey(t.Context(), &p, site, ch.Step, "phone", []byte(answer), here)
	ok(t, err)
	if made.ID != k.IDText() || made.Name != "phone" || made.User != p.ID {
		t.Fatalf("%+v", made)
	}
	return p, s.Session, k
}

func withMail(t *testing.T) *fixture {
	return open(t, auth.Config{Passwords: true, SignUp: auth.ByInvite}, false)
}

func TestPasskeys(t *testing.T) {
	t.Parallel()
	o := withMail(t)
	for _, d := range []passkeytest.Device{phone, {Origin: site.Origin, RPID: site.Host, Backup: true}, {Origin: site.Origin, RPID: site.Host, Count: 7}} {
		p, s, k := o.holder(t, apikey.NewID("")+"@example.org", &d)
		for range 2 {
			ch, err := o.BeginPasskey(t.Context(), site, here)
			ok(t, err)
			if len(ch.Passkeys) != 0 || ch.User != nil {
				t.Fatalf("a visitor reads %+v", ch)
			}
			in, err := o.SignInWith(t.Context(), site, ch.Step, []byte(d.Sign(ch.Text, k)), here)
			ok(t, err)
			if in.User != p.ID || in.Method != "passkey" || in.Token == "" {
				t.Fatalf("%+v", in)
			}
		}
		o.wait(11 * time.Minute)
		ch, err := o.BeginProof(t.Context(), &p, site, here)
		ok(t, err)
		if len(ch.Passkeys) != 1 || ch.Passkeys[0].ID != k.IDText() || strings.Join(ch.Passkeys[0].Transports, " ") != "internal" {
			t.Fatalf("%+v", ch)
		}
		ok(t, o.ProveWith(t.Context(), &s, &p, site, ch.Step, []byte(d.Sign(ch.Text, k)), here))
		after, err := o.store.People.SessionsOf(t.Context(), p.ID, o.now)
		ok(t, err)
		fresh := 0
		for i := range after {
			if after[i].ID == s.ID && after[i].Fresh(o.now) {
				fresh++
			}
		}
		if fresh != 1 {
			t.Error("the session is not fresh after a proof")
		}
		ok(t, o.RenamePasskey(t.Context(), p.ID, k.IDText(), "key ring", here))
		list, err := o.Passkeys(t.Context(), p.ID)
		if err != nil || len(list) != 1 || list[0].Name != "key ring" || list[0].UsedAt.IsZero() {
			t.Fatalf("%+v, %v", list, err)
		}
		ok(t, o.RemovePasskey(t.Context(), &s, k.IDText(), here))
		ch, err = o.BeginPasskey(t.Context(), site, here)
		ok(t, err)
		_, err = o.SignInWith(t.Context(), site, ch.Step, []byte(d.Sign(ch.Text, k)), here)
		kind(t, err, fault.Authentication)
		_, err = o.BeginProof(t.Context(), &p, site, here)
		kind(t, err, fault.Conflict)
	}
}

func kind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%v; want %v", err, want)
	}
}

// Answers that are not what they seem let nobody in, and leave the step used.
func TestHostileAnswersOfPasskeys(t *testing.T) {
	t.Parallel()
	o := withMail(t)
	honest := phone
	honest.Count = 5
	anna, session, key := o.holder(t, "anna@example.org", &honest)
	_, _, foreign := o.holder(t, "boris@example.org", &honest)
	change := func(f func(*passkeytest.Device)) passkeytest.Device {
		d := honest
		d.Count = honest.Count + 100
		f(&d)
		return d
	}
	cases := map[string]passkeytest.Device{
		"another origin":      change(func(d *passkeytest.Device) { d.Origin = "https://evil.example" }),
		"our name in another": change(func(d *passkeytest.Device) { d.Origin = "https://weir.example.org.evil.example" }),
		"a plain connection":  change(func(d *passkeytest.Device) { d.Origin = "http://weir.example.org" }),
		"another port":        change(func(d *passkeytest.Device) { d.Origin = "https://weir.example.org:8443" }),
		"no origin":           change(func(d *passkeytest.Device) { d.Origin = "" }),
		"another host":        change(func(d *passkeytest.Device) { d.RPID = "evil.example" }),
		"the parent's host":   change(func(d *passkeytest.Device) { d.RPID = "example.org" }),
		"another site's page": change(func(d *passkeytest.Device) { d.CrossSite = true }),
		"nobody was checked":  change(func(d *passkeytest.Device) { d.NoUser = true }),
		"nobody was there":    change(func(d *passkeytest.Device) { d.NoTouch = true }),
		"another ceremony":    change(func(d *passkeytest.Device) { d.Kind = "webauthn.payment" }),
		"a wrong signature":   change(func(d *passkeytest.Device) { d.Forge = true }),
		"another's handle":    change(func(d *passkeytest.Device) { d.Handle = foreign.Handle }),
		"an old counter":      change(func(d *passkeytest.Device) { d.Count = 2 }),
	}
	for name, d := range cases {
		t.Run(name, func(t *testing.T) {
			from := here
			from.Address = name // the limits of guesses are tested elsewhere
			ch, err := o.BeginPasskey(t.Context(), site, from)
			ok(t, err)
			answer := []byte(d.Sign(ch.Text, key))
			_, err = o.SignInWith(t.Context(), site, ch.Step, answer, from)
			kind(t, err, fault.Authentication)
			_, err = o.SignInWith(t.Context(), site, ch.Step, answer, from)
			kind(t, err, fault.Invalid)
			ch, err = o.BeginProof(t.Context(), &anna, site, from)
			ok(t, err)
			kind(t, o.ProveWith(t.Context(), &session, &anna, site, ch.Step, []byte(d.Sign(ch.Text, key)), from), fault.Authentication)
			if name == "a wrong signature" || name == "another's handle" || name == "an old counter" {
				return // that of a new passkey is not signed, and has no handle and no counter before
			}
			ch, err = o.BeginAdd(t.Context(), &anna, site, from)
			ok(t, err)
			_, made := d.Make(ch.Text, anna.ID)
			_, err = o.AddPasskey(t.Context(), &anna, site, ch.Step, "x", []byte(made), from)
			kind(t, err, fault.Invalid)
		})
	}
	count := honest.Count + 200
	sign := func(text string, k *passkeytest.Key) []byte {
		d := honest
		d.Count, count = count, count+1
		return []byte(d.Sign(text, k))
	}
	begin := func() auth.Challenge {
		ch, err := o.BeginPasskey(t.Context(), site, here)
		ok(t, err)
		return ch
	}
	for name, try := range map[string]struct {
		run  func() error
		want fault.Kind
	}{
		"another challenge": {func() error {
			one, two := begin(), begin()
			_, err := o.SignInWith(t.Context(), site, one.Step, sign(two.Text, key), here)
			return err
		}, fault.Authentication},
		"an answer again": {func() error {
			ch := begin()
			answer := sign(ch.Text, key)
			_, err := o.SignInWith(t.Context(), site, ch.Step, answer, here)
			ok(t, err)
			_, err = o.SignInWith(t.Context(), site, ch.Step, answer, here)
			return err
		}, fault.Invalid},
		"too late": {func() error {
			ch := begin()
			o.wait(6 * time.Minute)
			_, err := o.SignInWith(t.Context(), site, ch.Step, sign(ch.Text, key), here)
			return err
		}, fault.Invalid},
		"a step of another sort": {func() error {
			ch, err := o.BeginProof(t.Context(), &anna, site, here)
			ok(t, err)
			_, err = o.SignInWith(t.Context(), site, ch.Step, sign(ch.Text, key), here)
			return err
		}, fault.Invalid},
		"a step of another address": {func() error {
			ch := begin()
			_, err := o.SignInWith(t.Context(), auth.Site{Host: "other.example.org", Origin: site.Origin}, ch.Step, sign(ch.Text, key), here)
			return err
		}, fault.Invalid},
		"another person's step": {func() error {
			boris, err := o.Of(t.Context(), foreign.Handle)
			ok(t, err)
			ch, err := o.BeginProof(t.Context(), &boris, site, here)
			ok(t, err)
			return o.ProveWith(t.Context(), &session, &anna, site, ch.Step, sign(ch.Text, key), here)
		}, fault.Invalid},
		"another person's passkey": {func() error {
			ch, err := o.BeginProof(t.Context(), &anna, site, here)
			ok(t, err)
			return o.ProveWith(t.Context(), &session, &anna, site, ch.Step, sign(ch.Text, foreign), here)
		}, fault.Authentication},
		"an unknown passkey": {func() error {
			ch := begin()
			unknown, _ := phone.Make(ch.Text, anna.ID)
			_, err := o.SignInWith(t.Context(), site, ch.Step, sign(ch.Text, unknown), here)
			return err
		}, fault.Authentication},
		"a passkey that somebody has": {func() error {
			ch, err := o.BeginAdd(t.Context(), &anna, site, here)
			ok(t, err)
			k, made := phone.Make(ch.Text, anna.ID)
			_, err = o.AddPasskey(t.Context(), &anna, site, ch.Step, "one", []byte(made), here)
			ok(t, err)
			ch, err = o.BeginAdd(t.Context(), &anna, site, here)
			ok(t, err)
			again := strings.ReplaceAll(made, k.IDText(), foreign.IDText())
			_, err = o.AddPasskey(t.Context(), &anna, site, ch.Step, "two", []byte(again), here)
			return err
		}, fault.Invalid},
		"somebody who is disabled": {func() error {
			carla, _, k := o.holder(t, "carla@example.org", &honest)
			ok(t, o.store.Accounts.SetUserDisabled(t.Context(), carla.ID, true, o.now, audit.Event{Action: audit.UserDisabled}))
			ch := begin()
			_, err := o.SignInWith(t.Context(), site, ch.Step, sign(ch.Text, k), here)
			return err
		}, fault.Authentication},
		"nothing": {func() error {
			_, err := o.SignInWith(t.Context(), site, begin().Step, nil, here)
			return err
		}, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) { kind(t, try.run(), try.want) })
	}
}

// An answer lets one session begin, whichever nodes receive it.
func TestPasskeysOverTwoNodes(t *testing.T) {
	t.Parallel()
	o := withMail(t)
	other := auth.NewManager(o.store.People, nil, nil, o.clock, auth.Config{Passwords: true, SignUp: auth.ByInvite})
	d := phone
	d.Count = 1
	_, _, key := o.holder(t, "anna@example.org", &d)
	for range 5 {
		ch, err := o.BeginPasskey(t.Context(), site, here)
		ok(t, err)
		answer := []byte(d.Sign(ch.Text, key))
		var in atomic.Int64
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				node := []*auth.Manager{o.Manager, other}[i%2]
				if _, err := node.SignInWith(t.Context(), site, ch.Step, answer, here); err == nil {
					in.Add(1)
				} else if !fault.Is(err, fault.Invalid) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 {
			t.Fatalf("%d sessions began", in.Load())
		}
	}
}

// A person has at most ten open steps: a new one ends the oldest. Many open steps in one network do not stop others there from signing in.
func TestOpenStepsAreBounded(t *testing.T) {
	t.Parallel()
	o := withMail(t)
	p, _, key := o.holder(t, "anna@example.org", &phone)
	first, err := o.BeginPasskey(t.Context(), site, here)
	ok(t, err)
	for range 200 {
		_, err := o.BeginPasskey(t.Context(), site, here)
		ok(t, err)
	}
	_, err = o.SignInWith(t.Context(), site, first.Step, []byte(phone.Sign(first.Text, key)), here)
	ok(t, err)
	for range 30 {
		_, err := o.BeginAdd(t.Context(), &p, site, here)
		ok(t, err)
	}
	if n := o.steps(t, p.ID); n != 10 {
		t.Errorf("a person has %d steps", n)
	}
}

// steps is how many steps of an owner are open.
func (o *fixture) steps(t *testing.T, owner string) (n int) {
	t.Helper()
	all, err := o.store.People.Tokens(t.Context(), auth.Step, o.clock())
	ok(t, err)
	for _, step := range all {
		if step.User == owner {
			n++
		}
	}
	return n
}

// Wrong answers of a passkey are limited as wrong passwords are.
func TestGuessesOfPasskeysAreLimited(t *testing.T) {
	t.Parallel()
	o := withMail(t)
	_, _, key := o.holder(t, "anna@example.org", &phone)
	forger := phone
	forger.Forge = true
	try := func(d passkeytest.Device, c auth.Client) error {
		ch, err := o.BeginPasskey(t.Context(), site, c)
		ok(t, err)
		_, err = o.SignInWith(t.Context(), site, ch.Step, []byte(d.Sign(ch.Text, key)), c)
		return err
	}
	for range 10 {
		kind(t, try(forger, here), fault.Authentication)
	}
	kind(t, try(phone, here), fault.RateLimited)
	ok(t, try(phone, auth.Client{Address: "192.0.2.99"}))
	o.wait(15 * time.Minute)
	ok(t, try(phone, here))
}

// FuzzAnswers feeds what browsers send to both entries. No answer that is not signed lets anybody in, and none brings the program down.
func FuzzAnswers(f *testing.F) {
	honest := phone
	key, made := honest.Make("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "usr_x")
	f.Add([]byte(made))
	f.Add([]byte(honest.Sign("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", key)))
	f.Add([]byte(`{"id":"","rawId":"","type":"public-key","response":{}}`))
	f.Add([]byte(`{"id":1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		steps := &stepStore{token: auth.Token{User: "usr_x", Note: "add passkey", Data: site.Host + " AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}
		m := auth.NewManager(steps, nil, nil, func() time.Time { return began }, auth.Config{Passwords: true})
		p := auth.Person{}
		p.ID = "usr_x"
		if _, err := m.AddPasskey(t.Context(), &p, site, "s", "x", answer, here); err == nil && !steps.added {
			t.Fatal("a passkey was not added, and there is no error")
		}
		steps.token = auth.Token{User: "at:", Note: "sign in", Data: steps.token.Data}
		if _, err := m.SignInWith(t.Context(), site, "s", answer, here); err == nil {
			t.Fatalf("%q lets somebody in", answer)
		}
		steps.token = auth.Token{User: "half:usr_x", Note: "second step", Data: steps.token.Data}
		if _, err := m.SignInWith(t.Context(), site, "s", answer, here); err == nil {
			t.Fatalf("%q is a second step", answer)
		}
	})
}

// stepStore knows one step, and no passkey.
type stepStore struct {
	auth.Store
	token auth.Token
	added bool
}

func (s *stepStore) UseToken(context.Context, string, string, time.Time) (auth.Token, error) {
	return s.token, nil
}

func (s *stepStore) TokenBy(context.Context, string, string, time.Time) (auth.Token, error) {
	return s.token, nil
}

func (s *stepStore) PersonOf(_ context.Context, user string) (p auth.Person, err error) {
	p.ID, p.SecondStep = user, true
	return p, nil
}

func (s *stepStore) AddPasskey(context.Context, auth.Passkey, int, audit.Event) error {
	s.added = true
	return nil
}

func (s *stepStore) PasskeyBy(context.Context, string) (auth.Passkey, error) {
	return auth.Passkey{}, fault.New(fault.NotFound, "stepStore", "none")
}
