package accountapi

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
)

const (
	tripCookie = "__Host-weir-trip" // shows that the browser which comes back from another provider is the one that left
	tripLife   = 15 * time.Minute
)

// VisitInput is why a page goes to another provider.
type VisitInput struct {
	ID         string `json:"-" path:"id"` // of the provider
	Purpose    string `json:"purpose,omitempty" null:"none" enum:"sign_in,link,prove" default:"sign_in"`
	To         string `json:"to,omitempty" null:"none"`         // path of the page to go to afterwards
	Invitation string `json:"invitation,omitempty" null:"none"` // token of an invitation, with which an account may be made
}

// Visit is the address of another provider.
type Visit struct {
	URL string `json:"url" format:"uri"`
}

type visitEnd struct {
	ID    string `json:"-" path:"id"`     // of the provider
	State string `json:"-" query:"state"` // as it was given to the provider
	Code  string `json:"-" query:"code"`
	Iss   string `json:"-" query:"iss"`   // the provider
	Error string `json:"-" query:"error"` // why there is no code
}

func visits(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(form(operation.Operation{
			Method: "POST", Path: "/api/auth/oidc/{id}", ID: "visitProvider", Access: operation.Visiting, May: mayVisit, Cookies: true,
			Summary: "Begin to sign in at another provider: the page goes to the address. purpose is sign_in, link (needs a recent sign-in) or prove",
			Answer:  "The address of the provider; the cookie shows that the same browser comes back", Example: `{"purpose": "sign_in", "to": "/overview"}`,
		}), func(ctx context.Context, c *operation.Call, in *VisitInput) (Visit, error) {
			return visit(ctx, d.People, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/auth/oidc/{id}/callback", ID: "returnFromProvider", Access: operation.Visiting,
			Status: 303, Cookies: true, ForeignQuery: 4096, Tag: "sign-in",
			Summary: "Where a provider sends the browser back",
			Description: "It goes on to a page: after a sign-in to that which was asked for, otherwise to one that says what is wrong, " +
				"with problem, provider and request in its address.",
			Answer: "To a page: Location is a path of this gateway",
		}, func(ctx context.Context, c *operation.Call, in *visitEnd) (none operation.None, err error) {
			to, err := endVisit(ctx, d, c, in)
			if err != nil {
				return none, err
			}
			c.NoStore()
			c.Header.Set("Location", cmp.Or(to, "/"))
			c.Header.Set("Referrer-Policy", "no-referrer")
			return none, nil
		}),
	}
}

func mayVisit(c *operation.Call) error {
	if err := secure(c); err != nil {
		return err
	}
	return c.Browser.Returns()
}

func visit(ctx context.Context, people *auth.Manager, c *operation.Call, in *VisitInput) (out Visit, err error) {
	v := auth.Visit{Provider: in.ID, Aim: auth.Aim(cmp.Or(in.Purpose, string(auth.Enter))), To: in.To, Invitation: in.Invitation}
	if !ownPath(v.To) {
		return out, fault.Field("accountapi.visit", "to", "to must be a path of this gateway, such as /overview.").Coded("path")
	}
	if v.Aim == auth.Link && c.Session != nil && !c.Session.Fresh(c.At) {
		return out, auth.Stale("accountapi.visit")
	}
	v.Redirect = c.Base() + "/api/auth/oidc/" + url.PathEscape(v.Provider) + "/callback" // among those that the provider allows
	address, cookie, err := people.Leave(ctx, v, c.Person, c.Browser.Client())
	if err != nil {
		return out, err
	}
	c.Browser.SetCookie(tripCookie, cookie, tripLife)
	c.NoStore()
	return Visit{URL: address}, nil
}

// ownPath reports whether a text is "" or a path of ours, whatever a browser makes of it.
func ownPath(to string) bool {
	if to == "" {
		return true
	}
	bad := strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f })
	return len(to) <= 2000 && to[0] == '/' && !strings.HasPrefix(to, "//") && !bad
}

// endVisit is the page to which a browser goes that is back, "" the first. What went wrong is in the address of the page.
func endVisit(ctx context.Context, d Deps, c *operation.Call, in *visitEnd) (to string, err error) {
	r := auth.Returned{Provider: in.ID, State: in.State, Code: in.Code, Issuer: in.Iss, Refusal: in.Error, Cookie: c.Browser.Cookie(tripCookie)}
	if r.Refusal != "" {
		r.Code = ""
	}
	c.Browser.SetCookie(tripCookie, "", 0)
	a, err := d.People.Return(ctx, &r, c.Session, c.Person, c.Browser.Client())
	switch {
	case err != nil:
		return visitProblem(d, c, &a, r.Provider, err)
	case a.Aim == auth.Enter && a.Started.Step != "": // the page asks for the passkey; what follows # goes to no server
		return "/sign-in?to=" + url.QueryEscape(cmp.Or(a.To, "/")) + "#" + a.Started.Step, nil
	case a.Aim == auth.Enter:
		return a.To, enter(ctx, d.People, c, a.Started)
	case a.Linked:
		return "/settings/security?linked=" + url.QueryEscape(r.Provider), nil
	}
	return a.To, nil
}

// visitProblem is the page that says why a visit was in vain. It returns errors that no page can explain.
func visitProblem(d Deps, c *operation.Call, a *auth.Arrival, provider string, err error) (string, error) {
	name := auth.Problem(err)
	if name == "" {
		return "", err
	}
	if name != auth.ProblemProvider && name != auth.ProblemRefused {
		if refused := c.Gates.Failure(); refused != nil {
			return "", refused
		}
	}
	e, id := fault.From(err), c.Header.Get("X-Request-Id")
	d.Log.Info("a visit at another sign-in provider was in vain", "request_id", id, "provider", provider, "problem", name, "op", e.Op, "cause", e.Cause)
	q := url.Values{"problem": {name}, "provider": {provider}, "request": {id}}
	if a.Aim == auth.Link {
		return "/settings/security?" + q.Encode(), nil
	}
	if a.To != "" {
		q.Set("to", a.To)
	}
	return "/sign-in?" + q.Encode(), nil
}
