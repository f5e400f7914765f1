package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/httpserver"
)

// SessionCookie has the prefix that keeps a browser from sending it to another host or over a plain connection, and from taking it from one.
const SessionCookie = "__Host-weir"

// sessionToken is the token of the browser's session; "" without one. Only paths under /api/ read it, and a key goes before it.
func (x *request) sessionToken() string {
	h := x.r.Header
	if x.api.People == nil || len(h["Cookie"]) == 0 || x.hasKey() || !strings.HasPrefix(x.r.URL.Path, "/api/") {
		return ""
	}
	c, err := x.r.Cookie(SessionCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// verifySession finds the person whose browser sent the request. What changes something must come from a page of ours.
func (x *request) verifySession(token string) (*apikey.Caller, error) {
	if err := x.checkOrigin(); err != nil {
		return nil, err
	}
	s, p, err := x.api.People.Session(x.context(), token, x)
	if err != nil {
		return nil, err
	}
	if err := x.seeAs(&s, &p); err != nil {
		return nil, err
	}
	if x.route != nil && x.route.fresh && !s.Fresh(x.at) {
		return nil, auth.Stale("httpapi.session")
	}
	x.session, x.person = &s, &p
	x.w.Header()["Cache-Control"] = noStore // a browser keeps nothing of it; a handler may know better
	if x.acts, err = x.acting(p.ID); err != nil {
		return nil, err
	}
	if x.route == nil || x.route.access != inference && !x.route.rated() {
		c := apikey.Caller{Key: s.ID, Label: "session", User: p.ID, Wallet: p.Wallet, Management: true, Role: p.Role}
		if x.acts != nil {
			return member(c, x.acts, p.ID), nil
		}
		return &c, nil
	}
	if x.acts != nil && !x.route.roles.Has(x.acts.Role) { // who may not call models needs no key for it
		return member(apikey.Caller{Key: s.ID, Label: "session", Management: true}, x.acts, p.ID), nil
	}
	key, err := x.webKey(&p)
	if err != nil {
		return nil, err
	}
	caller, err := x.api.CallerOf(x.context(), key)
	if fault.Is(err, fault.Authentication) {
		err = fault.New(fault.PermissionDenied, "httpapi.session", `The key of your browser's calls, "web", is disabled or expired. Enable it among your keys, or delete it: then a new one is made.`)
	}
	if err == nil {
		err = x.mayFrom(caller)
	}
	return caller, err
}

// SeesHeader names in a request the person as whom its page believes to look at the interface, and in an answer as whom its session does.
const SeesHeader = "X-Weir-Sees"

// seeAs has the caller be the person as whom the session looks at the interface, who changes nothing. A page that believes to be another one's is
// refused: what is pressed in it was meant for that person, and would now happen to the operator's own account.
func (x *request) seeAs(s *auth.Session, p *auth.Person) error {
	seen, err := x.api.People.Seen(x.context(), s, p)
	if err != nil {
		return err
	}
	leaves := x.route != nil && x.route.leaves
	if s.Sees != "" {
		x.w.Header()[SeesHeader] = []string{s.Sees}
	}
	if believed := x.header(SeesHeader); believed != "" && believed != s.Sees && !leaves {
		return refuseSeeing("ended", "This page shows what another person sees, and that has ended. Nothing was done. Load the page again.")
	}
	switch {
	case seen == nil || leaves:
		return nil
	case x.route != nil && !x.route.shown():
		return refuseSeeing("refused", "You look at this gateway as another person sees it: nothing can be changed or spent, and what is for that person alone is not shown. End it first.")
	}
	*p = *seen
	return nil
}

func refuseSeeing(what, message string) error {
	e := fault.New(fault.PermissionDenied, "httpapi.seeAs", message)
	e.Details = map[string]any{"seeing": what}
	return e
}

// counted is the user for whom a request of a caller is counted: an operator uses up no allowance of another person.
func (x *request) counted(c *apikey.Caller) string {
	if x.session != nil {
		return x.session.User
	}
	return c.User
}

// checkOrigin refuses requests that another site's page has made a browser send. A page of ours sends X-Weir, which others cannot without asking
// first, and the browser says where a page is from.
func (x *request) checkOrigin() error {
	if m := x.r.Method; m == http.MethodGet || m == http.MethodHead {
		return nil
	}
	site := x.header("Sec-Fetch-Site")
	if x.header("X-Weir") == "1" && x.ownOrigin(x.header("Origin")) && (site == "" || site == "same-origin") {
		return nil
	}
	return fault.New(fault.PermissionDenied, "httpapi.checkOrigin", "Sessions are for pages of this gateway: the request needs its own Origin and the header X-Weir: 1. Programs use a management key instead.")
}

// ownOrigin reports whether an Origin is the address at which the browser has this gateway.
func (x *request) ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if own, err := url.Parse(x.base()); err == nil && strings.EqualFold(own.Host, u.Host) {
		return true
	}
	return strings.EqualFold(u.Host, x.r.Host)
}

// secure refuses to sign anybody in over a connection that others can read.
func (x *request) secure() error {
	if strings.HasPrefix(x.base(), "https://") || loopback(x.r.Host) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "httpapi.secure", "Sign-in needs an encrypted connection. Put TLS in front of this gateway, and set server.public_url to its https address.")
}

// loopback reports whether a host, with or without a port, is this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// local reports whether the browser is on this machine: its connection, what it asked for, and no proxy between.
func (x *request) local() bool {
	return httpserver.Peer(x.r).IsLoopback() && loopback(x.r.Host) && len(x.r.Header["X-Forwarded-For"]) == 0 && len(x.r.Header["Forwarded"]) == 0
}

// admitVisitor admits what a page asks for before and around a sign-in. With a session that still works the person is known.
func (x *request) admitVisitor() error {
	if x.api.People == nil {
		return noPeople()
	}
	if err := x.checkOrigin(); err != nil {
		return err
	}
	token := x.sessionToken()
	if token == "" {
		return x.api.quotas.Anonymous(x.at, x.addressName())
	}
	caller, err := x.verifySession(token)
	switch {
	case fault.Is(err, fault.Authentication):
		x.setSession("", 0)
		return x.api.quotas.Anonymous(x.at, x.addressName())
	case err != nil:
		return err
	}
	x.caller = caller
	return x.api.quotas.Call(x.at, x.counted(caller))
}

// setSession gives the browser a session's cookie, or takes it away with "".
func (x *request) setSession(token string, life time.Duration) {
	x.setCookie(SessionCookie, token, life)
}

// setCookie gives the browser a cookie that no script reads, or takes it away with "".
func (x *request) setCookie(name, value string, life time.Duration) {
	seconds := int64(life / time.Second)
	if value == "" {
		seconds = 0
	}
	h := x.w.Header()
	h["Set-Cookie"] = slices.DeleteFunc(h["Set-Cookie"], func(line string) bool { return strings.HasPrefix(line, name+"=") }) // one line for each name
	h.Add("Set-Cookie", name+"="+value+"; Path=/; Max-Age="+strconv.FormatInt(seconds, 10)+"; HttpOnly; Secure; SameSite=Lax")
}

// visitor is the browser, for records of its session.
func (x *request) visitor() auth.Client {
	at, _ := x.site() // where passkeys do not work there is none
	return auth.Client{Address: httpserver.ShowAddress(x.client()), Network: x.addressName(), Agent: x.header("User-Agent"), Site: at}
}

// noPeople is the error of gateways without sign-in.
func noPeople() error {
	return fault.New(fault.NotFound, "httpapi.people", "Sign-in is switched off on this gateway.")
}

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
