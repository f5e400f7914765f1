package httpapi

import (
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
