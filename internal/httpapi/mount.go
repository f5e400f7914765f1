package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/operation"
)

// mount makes the route of an operation.
func mount(o *operation.Operation) *Route {
	r := &Route{Method: o.Method, Pattern: o.Path, access: o.Access, fresh: o.Fresh, roles: o.Org, whole: o.Whole, private: o.Private, cookies: o.Cookies, leaves: o.Leaves, asks: o.Asks, from: o.From, handle: func(x *request) error { return x.operate(o) }}
	if o.LiteLLM {
		r.envelope = liteLLMEnvelope
	}
	switch {
	case o.Body > 0:
		r.body = atMost(o.Body)
	case o.HasBody():
		r.body = managementBody
	}
	return r
}

// operate answers a request of an operation.
func (x *request) operate(o *operation.Operation) (err error) {
	c := operation.Call{Caller: x.caller, Session: x.session, Person: x.person, Org: x.acts, At: x.at, Request: x.r.Header, Header: x.w.Header(), Charge: x.memory.Charge, Base: x.base, Gates: gates{x}, Still: x.still, Browser: browser{x}, Values: x.values[:], Address: httpserver.ShowAddress(x.client())}
	if x.caller != nil {
		c.Actor = x.actor()
	}
	if c.Query, err = x.queryOf(o); err != nil {
		return err
	}
	if o.May != nil {
		if err := o.May(&c); err != nil {
			return err
		}
	}
	if o.HasBody() {
		if c.Content, err = x.readObject(cmp.Or(o.Form, formLimits)); err != nil {
			return err
		}
	}
	answer, err := o.Serve(x.context(), &c)
	switch {
	case err != nil:
		return err
	case answer.File != nil:
		return x.sendFile(answer.File)
	case answer.Stream != nil:
		x.sendStream(answer.Stream)
		return nil
	case answer.Kept != nil:
		return x.send(answer.Kept)
	case !o.HasAnswer():
		x.writeBody(o.Status, nil, nil)
		return nil
	}
	x.writeBody(cmp.Or(c.Status, o.Status), jsonType, answer.JSON)
	return nil
}

// sendStream answers with events, until they end, which they say themselves, or the client has gone.
func (x *request) sendStream(s *operation.Stream) {
	defer s.Close()
	x.writeStreamHead(streamType)
	if x.r.Method != http.MethodHead {
		s.Follow(eventWriter{x})
	}
}

// eventWriter sends each write at once.
type eventWriter struct{ x *request }

func (w eventWriter) Write(b []byte) (int, error) {
	n, err := w.x.w.Write(b)
	if err == nil {
		err = w.x.w.Flush()
	}
	return n, err
}

// queryOf is the query of a request of an operation.
func (x *request) queryOf(o *operation.Operation) (url.Values, error) {
	switch most := o.ForeignQuery; {
	case most == 0:
		return x.query()
	case len(x.r.URL.RawQuery) > most:
		return nil, fault.Newf(fault.Invalid, "httpapi.queryOf", "The query must have at most %d bytes.", most)
	}
	return x.r.URL.Query(), nil
}

// gates count for the account and the address of a request.
type gates struct{ x *request }

func (g gates) Redeem() error {
	return g.x.api.quotas.Redeem(g.x.at, g.x.caller.User, g.x.addressName())
}

func (g gates) KeyTest() error { return g.x.api.quotas.KeyTest(g.x.at, g.x.caller.User) }

func (g gates) Failure() error { return g.x.api.quotas.Failure(g.x.at, g.x.addressName()) }

// browser is that of a request.
type browser struct{ x *request }

func (b browser) Client() auth.Client      { return b.x.visitor() }
func (b browser) Site() (auth.Site, error) { return b.x.site() }
func (b browser) Secure() error            { return b.x.secure() }
func (b browser) Local() bool              { return b.x.local() }
func (b browser) Language() string         { return b.x.api.Language(b.x.r) }
func (b browser) Theme() string            { return b.x.api.Theme(b.x.r) }

func (b browser) Returns() error {
	if b.x.api.cfg.PublicURL == "" && !loopback(b.x.r.Host) {
		return fault.New(fault.PermissionDenied, "httpapi.Returns", "This gateway does not know its address, to which the provider must send you back. Its operator sets server.public_url.")
	}
	return nil
}

func (b browser) Cookie(name string) string {
	if c, err := b.x.r.Cookie(name); err == nil {
		return c.Value
	}
	return ""
}

func (b browser) SetCookie(name, value string, life time.Duration) { b.x.setCookie(name, value, life) }
func (b browser) SetSession(token string, life time.Duration)      { b.x.setSession(token, life) }
