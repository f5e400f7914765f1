package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// maxForm is the largest form of a sign-in, in bytes.
const maxForm = 16 << 10

// form reads a JSON object of texts into the given places. Other members, and values that are no text, are refused; null is as good as none.
func (x *request) form(places map[string]*string) error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 4, Keys: 20, Values: 20}); err != nil {
		return err
	}
	return fillForm(body, places, func(string, []byte) (bool, error) { return false, nil })
}

// fillForm reads the members of a checked body. other takes those that are no text, and reports whether it knows them.
func fillForm(body []byte, places map[string]*string, other func(name string, value []byte) (bool, error)) error {
	if rawjson.KindOf(body) != rawjson.Object {
		return fault.New(fault.Invalid, "httpapi.form", "The body must be a JSON object.")
	}
	for m := rawjson.MembersOf(body); m.Next(); {
		if known, err := other(string(m.Name), m.Value); err != nil {
			return err
		} else if known {
			continue
		}
		place := places[string(m.Name)]
		switch kind := rawjson.KindOf(m.Value); {
		case place == nil:
			return fault.Field("httpapi.form", clip(string(m.Name)), "This route has no field of this name.").Coded("unknown_field")
		case kind == rawjson.String:
			*place = rawjson.Text(m.Value)
		case kind != rawjson.Null:
			return fault.Field("httpapi.form", string(m.Name), "%s must be a text.", string(m.Name)).Coded("text_needed")
		}
	}
	return nil
}

// needed refuses a form without one of its fields.
func needed(name, value string) error {
	if value == "" {
		return fault.Field("httpapi.form", name, "%s is missing.", name).Coded("missing")
	}
	return nil
}

// begun answers with the session that a sign-in has begun. The browser's earlier one ends.
func (x *request) begun(s auth.Started, err error) error {
	if err != nil {
		if fault.Is(err, fault.Authentication) {
			if refused := x.api.quotas.Failure(x.at, x.addressName()); refused != nil {
				return refused
			}
		}
		return err
	}
	if s.Step != "" {
		return x.halfBegun(s.Step)
	}
	if err := x.enter(s); err != nil {
		return err
	}
	session, p, err := x.api.People.Session(x.context(), s.Token, nil)
	if err != nil {
		return err
	}
	x.session, x.person = &session, &p
	return x.getMe()
}

// halfBegun answers with the step that a passkey must end before there is a session.
func (x *request) halfBegun(step string) error {
	var o object
	o.Object()
	o.text("second_step", step)
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	x.writeBody(http.StatusAccepted, jsonType, o.B)
	return nil
}

// enter gives the browser a session that has begun. Its earlier one ends, so that a cookie from before the sign-in is worth nothing.
func (x *request) enter(s auth.Started) error {
	if x.session != nil {
		if err := x.api.People.SignOut(x.context(), x.session, x.visitor()); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	x.setSession(s.Token, s.ExpiresAt.Sub(x.at))
	return nil
}

// getMe serves GET /api/me: who is signed in, and which ways in there are.
func (x *request) getMe() error {
	f, err := x.api.People.Features(x.context())
	if err != nil {
		return err
	}
	var keys []auth.Passkey
	var linked []string
	var chats bool
	if x.person != nil {
		if chats, err = x.keepsChats(); err != nil {
			return err
		}
		if keys, err = x.api.People.Passkeys(x.context(), x.person.ID); err != nil {
			return err
		}
		if linked, err = x.linkedProviders(); err != nil {
			return err
		}
	}
	var o object
	o.Object()
	if p := x.person; p == nil {
		o.null("user")
		o.Name("accounts").Array()
		o.EndArray()
		o.boolean("operator", false)
		o.null("session")
	} else {
		o.Name("user").Object()
		o.text("id", p.ID)
		o.text("name", p.Name)
		o.textOrNull("email", p.Email)
		o.boolean("confirmed", p.Confirmed)
		o.boolean("has_password", p.HasPassword)
		o.integer("passkeys", int64(len(keys)))
		o.boolean("second_step", p.SecondStep)
		o.texts("providers", linked)
		o.boolean("keeps_chats", chats)
		o.text("role", string(p.Role))
		o.moment("created_at", p.CreatedAt)
		o.EndObject()
		o.Name("accounts").Array()
		o.Object()
		o.text("id", p.ID)
		o.text("name", p.Name)
		o.text("kind", "person")
		o.text("role", "owner")
		o.EndObject()
		o.EndArray()
		o.boolean("operator", p.Role != apikey.User)
		o.Name("session")
		appendSession(&o, x.session, true, x.at)
	}
	o.Name("features").Object()
	o.text("sign_up", string(f.SignUp))
	o.boolean("passwords", f.Passwords)
	o.boolean("mail", f.Mail)
	o.boolean("demo", f.Demo && x.local())
	o.boolean("setup", f.Setup)
	_, err = x.site()
	o.boolean("passkeys", err == nil)
	o.boolean("docs", x.api.cfg.Docs)
	o.boolean("rankings", x.showsRankings())
	o.boolean("payments", x.api.Payments != nil)
	o.Name("oidc").Array()
	for _, p := range x.api.People.Providers() {
		o.Object()
		o.text("id", p.ID)
		o.text("name", p.Name)
		o.boolean("sign_up", p.SignUp)
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
	locale, theme := x.api.Language(x.r), x.api.Theme(x.r)
	if p := x.person; p != nil {
		locale, theme = cmp.Or(p.Language, locale), cmp.Or(p.Theme, theme)
	}
	o.text("locale", locale)
	o.text("theme", theme)
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}

// postSignIn serves POST /api/auth/sign-in.
func (x *request) postSignIn() error {
	if err := x.secure(); err != nil {
		return err
	}
	var email, password string
	if err := x.form(map[string]*string{"email": &email, "password": &password}); err != nil {
		return err
	}
	if err := errors.Join(needed("email", email), needed("password", password)); err != nil {
		return err
	}
	return x.begun(x.api.People.SignIn(x.context(), email, password, x.visitor()))
}

// postSignUp serves POST /api/auth/sign-up.
func (x *request) postSignUp() error {
	if err := x.secure(); err != nil {
		return err
	}
	var f auth.Form
	if err := x.form(map[string]*string{"email": &f.Email, "name": &f.Name, "password": &f.Password, "invitation": &f.Token, "locale": &f.Locale}); err != nil {
		return err
	}
	s, err := x.api.People.SignUp(x.context(), f, x.visitor())
	if err == nil && s.Token == "" && s.Step == "" {
		return x.mailed()
	}
	return x.begun(s, err)
}

// mailed answers where a mail was sent, or would have been.
func (x *request) mailed() error {
	var o object
	o.Object()
	o.boolean("sent", true)
	o.EndObject()
	x.writeBody(http.StatusAccepted, jsonType, o.B)
	return nil
}

// done answers where there is nothing to say.
func (x *request) done() error {
	x.writeBody(http.StatusNoContent, nil, nil)
	return nil
}

// postConfirm serves POST /api/auth/confirm.
func (x *request) postConfirm() error {
	if err := x.secure(); err != nil {
		return err
	}
	var f auth.Form
	if err := x.form(map[string]*string{"token": &f.Token, "name": &f.Name, "password": &f.Password}); err != nil {
		return err
	}
	return x.begun(x.api.People.Confirm(x.context(), f, x.visitor()))
}

// postSetup serves POST /api/auth/setup.
func (x *request) postSetup() error {
	if err := x.secure(); err != nil {
		return err
	}
	var f auth.Form
	if err := x.form(map[string]*string{"email": &f.Email, "name": &f.Name, "password": &f.Password, "token": &f.Token}); err != nil {
		return err
	}
	return x.begun(x.api.People.Setup(x.context(), f, x.visitor()))
}

// postDemo serves POST /api/auth/demo: one click signs in to a demo, from a browser on its machine.
func (x *request) postDemo() error {
	if err := x.form(nil); err != nil {
		return err
	}
	if !x.local() {
		return fault.New(fault.PermissionDenied, "httpapi.postDemo", "Only a browser on the demo's own machine can sign in to it without a password.")
	}
	return x.begun(x.api.People.Demo(x.context(), x.visitor()))
}

// postRecover serves POST /api/auth/recover.
func (x *request) postRecover() error {
	var email, locale string
	if err := x.form(map[string]*string{"email": &email, "locale": &locale}); err != nil {
		return err
	}
	if err := x.api.People.Recover(x.context(), email, locale, x.visitor()); err != nil {
		return err
	}
	return x.mailed()
}

// postReset serves POST /api/auth/reset.
func (x *request) postReset() error {
	if err := x.secure(); err != nil {
		return err
	}
	var token, password string
	if err := x.form(map[string]*string{"token": &token, "password": &password}); err != nil {
		return err
	}
	return x.begun(x.api.People.Reset(x.context(), token, password, x.visitor()))
}

// postLink serves POST /api/auth/link: what a link is for, without using it. The token is in the body, because addresses are logged.
func (x *request) postLink() error {
	var kind, token string
	if err := x.form(map[string]*string{"kind": &kind, "token": &token}); err != nil {
		return err
	}
	t, err := x.api.People.LookAt(x.context(), kind, token)
	if err != nil {
		if refused := x.api.quotas.Failure(x.at, x.addressName()); refused != nil {
			return refused
		}
		return err
	}
	var o object
	o.Object()
	o.text("kind", t.Kind)
	o.textOrNull("email", t.Email)
	o.textOrNull("role", string(t.Role))
	o.moment("expires_at", t.ExpiresAt)
	o.EndObject()
	return x.reply(&o)
}

// postSignOut serves POST /api/auth/sign-out.
func (x *request) postSignOut() error {
	if err := x.form(nil); err != nil {
		return err
	}
	if x.session != nil {
		if err := x.api.People.SignOut(x.context(), x.session, x.visitor()); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	x.setSession("", 0)
	x.w.Header().Set("Clear-Site-Data", `"cache"`)
	return x.done()
}

func appendSession(o *object, s *auth.Session, current bool, now time.Time) {
	o.Object()
	o.text("id", s.ID)
	o.text("method", s.Method)
	o.moment("created_at", s.CreatedAt)
	o.moment("seen_at", s.SeenAt)
	o.moment("expires_at", s.ExpiresAt)
	o.textOrNull("address", s.Address)
	o.textOrNull("user_agent", s.Agent)
	o.boolean("current", current)
	o.boolean("fresh", s.Fresh(now))
	o.EndObject()
}

// noPeople is the error of gateways without sign-in.
func noPeople() error {
	return fault.New(fault.NotFound, "httpapi.people", "Sign-in is switched off on this gateway.")
}
