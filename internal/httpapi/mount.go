package httpapi

import (
	"cmp"

	"weir/internal/operation"
)

// mount makes the route of an operation.
func mount(o *operation.Operation) *Route {
	r := &Route{Method: o.Method, Pattern: o.Path, access: o.Access, fresh: o.Fresh, asks: o.Asks, handle: func(x *request) error { return x.operate(o) }}
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
	c := operation.Call{Caller: x.caller, Session: x.session, Person: x.person, At: x.at, Request: x.r.Header, Header: x.w.Header(), Charge: x.charge, Base: x.base, Gates: gates{x}, Values: x.values[:], Address: shown(x.api.clientAddress(x.r))}
	if x.caller != nil {
		c.Actor = x.actor()
	}
	if c.Query, err = x.query(); err != nil {
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
	answer, file, err := o.Serve(x.context(), &c)
	switch {
	case err != nil:
		return err
	case file != nil:
		return x.sendFile(file)
	case !o.HasAnswer():
		x.writeBody(o.Status, nil, nil)
		return nil
	}
	x.writeBody(cmp.Or(c.Status, o.Status), jsonType, answer)
	return nil
}

// gates count for the account and the address of a request.
type gates struct{ x *request }

func (g gates) Redeem() error {
	return g.x.api.quotas.Redeem(g.x.at, g.x.caller.User, g.x.addressName())
}

func (g gates) KeyTest() error { return g.x.api.quotas.KeyTest(g.x.at, g.x.caller.User) }
