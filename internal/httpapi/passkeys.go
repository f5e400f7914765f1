package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// site is where passkeys work: the configured address, or "localhost" where none is configured. A name that only the request has is not believed.
func (x *request) site() (auth.Site, error) {
	u, err := url.Parse(x.base())
	if err == nil {
		host, port := strings.ToLower(u.Hostname()), u.Port()
		_, address := netip.ParseAddr(host)
		local := host == "localhost"
		if address != nil && host != "" && (local || u.Scheme == "https" && x.api.cfg.PublicURL != "") {
			origin := u.Scheme + "://" + host
			if port != "" && (u.Scheme != "https" || port != "443") && (u.Scheme != "http" || port != "80") {
				origin += ":" + port
			}
			return auth.Site{Host: host, Origin: origin}, nil
		}
	}
	return auth.Site{}, fault.New(fault.PermissionDenied, "httpapi.site",
		"Passkeys need a name with TLS: set server.public_url to the https address of this gateway. On this machine, open it as localhost instead of 127.0.0.1.")
}

// postPasskeyOptions serves POST /api/auth/passkey/options: what the browser hands to a passkey, to sign in with it, or to end the second step of
// a sign-in.
func (x *request) postPasskeyOptions() error {
	step := ""
	if err := x.form(map[string]*string{"step": &step}); err != nil {
		return err
	}
	at, err := x.site()
	if err != nil {
		return err
	}
	var ch auth.Challenge
	if step == "" {
		ch, err = x.api.People.BeginPasskey(x.context(), at, x.visitor())
	} else {
		ch, err = x.api.People.SecondStep(x.context(), step, at)
	}
	if err != nil {
		return err
	}
	return x.replyRequest(&ch)
}

// postPasskey serves POST /api/auth/passkey: the passkey's answer signs in.
func (x *request) postPasskey() error {
	var step string
	var answer []byte
	if err := x.formWith(map[string]*string{"step": &step}, "credential", &answer); err != nil {
		return err
	}
	at, err := x.site()
	if err != nil {
		return err
	}
	return x.begun(x.api.People.SignInWith(x.context(), at, step, answer, x.visitor()))
}

// postProofOptions serves POST /api/auth/prove/options: what the browser hands to a passkey of the person who is signed in.
func (x *request) postProofOptions() error {
	if err := x.form(nil); err != nil {
		return err
	}
	at, err := x.site()
	if err != nil {
		return err
	}
	ch, err := x.api.People.BeginProof(x.context(), x.person, at, x.visitor())
	if err != nil {
		return err
	}
	return x.replyRequest(&ch)
}

// replyRequest answers with what navigator.credentials.get takes (Web Authentication, section 5.1.10.2).
func (x *request) replyRequest(ch *auth.Challenge) error {
	var o object
	x.beginOptions(&o, ch)
	o.text("rpId", ch.Host)
	appendDescriptors(&o, "allowCredentials", ch.Passkeys)
	o.text("userVerification", "required")
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

func (x *request) beginOptions(o *object, ch *auth.Challenge) {
	o.Object()
	o.text("step", ch.Step)
	o.Name("public_key").Object()
	o.text("challenge", ch.Text)
	o.integer("timeout", ch.Life.Milliseconds())
	x.w.Header()["Cache-Control"] = noStore
}

func appendDescriptors(o *object, name string, all []auth.KnownPasskey) {
	o.Name(name).Array()
	for i := range all {
		o.Object()
		o.text("type", "public-key")
		o.text("id", all[i].ID)
		if len(all[i].Transports) > 0 {
			o.texts("transports", all[i].Transports)
		}
		o.EndObject()
	}
	o.EndArray()
}

// postNewPasskeyOptions serves POST /api/auth/passkeys/options: what navigator.credentials.create takes (Web Authentication, section 5.1.9).
func (x *request) postNewPasskeyOptions() error {
	if err := x.form(nil); err != nil {
		return err
	}
	at, err := x.site()
	if err != nil {
		return err
	}
	ch, err := x.api.People.BeginAdd(x.context(), x.person, at, x.visitor())
	if err != nil {
		return err
	}
	var o object
	x.beginOptions(&o, &ch)
	o.Name("rp").Object()
	o.text("id", ch.Host)
	o.text("name", "Weir")
	o.EndObject()
	o.Name("user").Object()
	o.text("id", base64.RawURLEncoding.EncodeToString([]byte(ch.User.ID)))
	name := ch.User.Email
	if name == "" {
		name = ch.User.Name
	}
	o.text("name", name)
	o.text("displayName", ch.User.Name)
	o.EndObject()
	o.Name("pubKeyCredParams").Array()
	for _, a := range ch.Algorithms {
		o.Object()
		o.text("type", "public-key")
		o.integer("alg", int64(a))
		o.EndObject()
	}
	o.EndArray()
	appendDescriptors(&o, "excludeCredentials", ch.Passkeys)
	o.Name("authenticatorSelection").Object()
	o.text("residentKey", "required")
	o.boolean("requireResidentKey", true)
	o.text("userVerification", "required")
	o.EndObject()
	o.text("attestation", "none")
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// postNewPasskey serves POST /api/auth/passkeys.
func (x *request) postNewPasskey() error {
	var step, name string
	var answer []byte
	if err := x.formWith(map[string]*string{"step": &step, "name": &name}, "credential", &answer); err != nil {
		return err
	}
	if err := needed("name", name); err != nil {
		return err
	}
	at, err := x.site()
	if err != nil {
		return err
	}
	k, err := x.api.People.AddPasskey(x.context(), x.person, at, step, name, answer, x.visitor())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data")
	appendPasskey(&o, &k)
	o.EndObject()
	x.writeBody(http.StatusCreated, jsonType, o.B)
	return nil
}

func appendPasskey(o *object, k *auth.Passkey) {
	o.Object()
	o.text("id", k.ID)
	o.text("name", k.Name)
	o.moment("created_at", k.CreatedAt)
	o.moment("used_at", k.UsedAt)
	o.EndObject()
}

// getPasskeys serves GET /api/auth/passkeys.
func (x *request) getPasskeys() error {
	all, err := x.api.People.Passkeys(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Array()
	for i := range all {
		appendPasskey(&o, &all[i])
	}
	o.EndArray()
	o.EndObject()
	return x.reply(&o)
}

// patchPasskey serves PATCH /api/auth/passkeys/{id}.
func (x *request) patchPasskey() error {
	var name string
	if err := x.form(map[string]*string{"name": &name}); err != nil {
		return err
	}
	if err := needed("name", name); err != nil {
		return err
	}
	if err := x.api.People.RenamePasskey(x.context(), x.caller.User, x.values[0], name, x.visitor()); err != nil {
		return err
	}
	return x.done()
}

// deletePasskey serves DELETE /api/auth/passkeys/{id}.
func (x *request) deletePasskey() error {
	if err := x.api.People.RemovePasskey(x.context(), x.session, x.values[0], x.visitor()); err != nil {
		return err
	}
	return x.done()
}

// postProve serves POST /api/auth/prove: the person gives the password again, or uses a passkey, before something that matters.
func (x *request) postProve() error {
	var password, step string
	var answer []byte
	if err := x.formWith(map[string]*string{"password": &password, "step": &step}, "credential", &answer); err != nil {
		return err
	}
	var err error
	wrong := fault.Field("httpapi.postProve", "password", "password must be your present password.").Coded("wrong_password")
	if step == "" && answer == nil {
		err = x.api.People.Prove(x.context(), x.session, x.person, password)
	} else {
		at, failed := x.site()
		if failed != nil {
			return failed
		}
		wrong = wrongPasskey()
		err = x.api.People.ProveWith(x.context(), x.session, x.person, at, step, answer, x.visitor())
	}
	return x.proved(err, wrong)
}

func wrongPasskey() *fault.Error {
	return fault.Field("httpapi.postProve", "credential", "This passkey does not work here. Give the password, or use another one.").Coded("passkey_elsewhere")
}

// proved answers a proof of who is signed in. One that fails does not end the session.
func (x *request) proved(err error, wrong *fault.Error) error {
	if fault.Is(err, fault.Authentication) {
		if refused := x.api.quotas.Failure(x.at, x.addressName()); refused != nil {
			return refused
		}
		return wrong.Because(err)
	}
	if err != nil {
		return err
	}
	return x.done()
}

// formWith is form, with one more member that is an object.
func (x *request) formWith(places map[string]*string, name string, place *[]byte) error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 8, Keys: 60, Values: 100}); err != nil {
		return err
	}
	return fillForm(body, places, func(member string, value []byte) (bool, error) {
		if member != name {
			return false, nil
		}
		if kind := rawjson.KindOf(value); kind != rawjson.Object && kind != rawjson.Null {
			return true, fault.Field("httpapi.form", name, "%s must be an object.", name).Coded("wrong_type")
		}
		if rawjson.KindOf(value) == rawjson.Object {
			*place = value
		}
		return true, nil
	})
}

// postSecondStep serves POST /api/auth/second-step: the account requires a passkey from now on, which the person has just used.
func (x *request) postSecondStep() error {
	var step string
	var answer []byte
	if err := x.formWith(map[string]*string{"step": &step}, "credential", &answer); err != nil {
		return err
	}
	at, err := x.site()
	if err != nil {
		return err
	}
	return x.proved(x.api.People.RequirePasskey(x.context(), x.session, x.person, at, step, answer, x.visitor()), wrongPasskey())
}

// deleteSecondStep serves DELETE /api/auth/second-step.
func (x *request) deleteSecondStep() error {
	if err := x.api.People.ReleasePasskey(x.context(), x.session, x.visitor()); err != nil {
		return err
	}
	return x.done()
}
