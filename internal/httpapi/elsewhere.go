package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/auth"
	"weir/internal/fault"
)

// tripCookie shows that the browser which comes back from another provider is the one that left.
const tripCookie = "__Host-weir-trip"

const (
	tripLife = 15 * time.Minute
	maxQuery = 4096 // bytes of what a provider sends back with the browser
)

// callbackOf is where a provider sends the browser back. It must be among the redirect addresses that the provider allows.
func (x *request) callbackOf(id string) string {
	return x.base() + "/api/auth/oidc/" + url.PathEscape(id) + "/callback"
}

// postVisit serves POST /api/auth/oidc/{id}: the address of another provider, to which the page goes.
func (x *request) postVisit() error {
	if err := x.secure(); err != nil {
		return err
	}
	if x.api.cfg.PublicURL == "" && !loopback(x.r.Host) {
		return fault.New(fault.PermissionDenied, "httpapi.postVisit", "This gateway does not know its address, to which the provider must send you back. Its operator sets server.public_url.")
	}
	v := auth.Visit{Provider: x.values[0]}
	purpose := ""
	if err := x.form(map[string]*string{"purpose": &purpose, "to": &v.To, "invitation": &v.Invitation}); err != nil {
		return err
	}
	if v.Aim = auth.Aim(purpose); purpose == "" {
		v.Aim = auth.Enter
	}
	if !ownPath(v.To) {
		return fault.Field("httpapi.postVisit", "to", "to must be a path of this gateway, such as /overview.").Coded("path")
	}
	if v.Aim == auth.Link && x.session != nil && !x.session.Fresh(x.at) {
		return auth.Stale("httpapi.session")
	}
	v.Redirect = x.callbackOf(v.Provider)
	address, cookie, err := x.api.People.Leave(x.context(), v, x.person, x.visitor())
	if err != nil {
		return err
	}
	x.setCookie(tripCookie, cookie, tripLife)
	x.w.Header()["Cache-Control"] = noStore
	var o object
	o.Object()
	o.text("url", address)
	o.EndObject()
	return x.reply(&o)
}

// ownPath reports whether a text is "" or a path of ours, whatever a browser makes of it.
func ownPath(to string) bool {
	if to == "" {
		return true
	}
	bad := strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f })
	return len(to) <= 2000 && to[0] == '/' && !strings.HasPrefix(to, "//") && !bad
}

// getVisitEnd serves GET /api/auth/oidc/{id}/callback: the browser is back. It goes on to a page in every case; what went wrong is in the
// address of the page.
func (x *request) getVisitEnd() error {
	if len(x.r.URL.RawQuery) > maxQuery {
		return fault.Newf(fault.Invalid, "httpapi.getVisitEnd", "The query must have at most %d bytes.", maxQuery)
	}
	q := x.r.URL.Query()
	r := auth.Returned{Provider: x.values[0], State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Refusal: q.Get("error")}
	if r.Refusal != "" {
		r.Code = ""
	}
	if c, err := x.r.Cookie(tripCookie); err == nil {
		r.Cookie = c.Value
	}
	x.setCookie(tripCookie, "", 0)
	a, err := x.api.People.Return(x.context(), &r, x.session, x.person, x.visitor())
	to := a.To
	switch {
	case err == nil && a.Aim == auth.Enter && a.Started.Step != "": // the page asks for the passkey; what follows # goes to no server
		to = "/sign-in?to=" + url.QueryEscape(cmp.Or(a.To, "/")) + "#" + a.Started.Step
	case err == nil && a.Aim == auth.Enter:
		if err := x.enter(a.Started); err != nil {
			return err
		}
	case err == nil && a.Linked:
		to = "/settings/security?linked=" + url.QueryEscape(r.Provider)
	case err != nil:
		if to, err = x.visitProblem(&a, r.Provider, err); err != nil {
			return err
		}
	}
	if to == "" {
		to = "/"
	}
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h.Set("Location", to)
	h.Set("Referrer-Policy", "no-referrer")
	x.writeBody(http.StatusSeeOther, nil, nil)
	return nil
}

// visitProblem is the page that says why a visit was in vain. It returns errors that no page can explain.
func (x *request) visitProblem(a *auth.Arrival, provider string, err error) (string, error) {
	name := auth.Problem(err)
	if name == "" {
		return "", err
	}
	if name != auth.ProblemProvider && name != auth.ProblemRefused {
		if refused := x.api.quotas.Failure(x.at, x.addressName()); refused != nil {
			return "", refused
		}
	}
	e := fault.From(err)
	x.api.Slog.Info("a visit at another sign-in provider was in vain", "request_id", x.id, "provider", provider, "problem", name, "op", e.Op, "cause", e.Cause)
	q := url.Values{"problem": {name}, "provider": {provider}, "request": {x.id}}
	if a.Aim == auth.Link {
		return "/settings/security?" + q.Encode(), nil
	}
	if a.To != "" {
		q.Set("to", a.To)
	}
	return "/sign-in?" + q.Encode(), nil
}

// linkedProviders are the ids of the configured providers at which the person who is signed in has an identity.
func (x *request) linkedProviders() ([]string, error) {
	linked := []string{}
	all := x.api.People.Providers()
	if len(all) == 0 {
		return linked, nil
	}
	mine, err := x.api.People.Identities(x.context(), x.person.ID)
	for _, p := range all {
		if slices.ContainsFunc(mine, func(i auth.Identity) bool { return i.Issuer == p.Issuer }) {
			linked = append(linked, p.ID)
		}
	}
	return linked, err
}
