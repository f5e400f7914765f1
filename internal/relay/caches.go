package relay

import (
	"hash/maphash"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/promptcache"
	"weir/internal/record"
	"weir/internal/routing"
	"weir/internal/usage"
)

// viewOf is what is known of the conversation of a call in providers' caches. It is nil where no cache can be worth anything, so that short prompts and
// models without a price for reading cost no work; for continued responses, whose beginning is written otherwise each time; and where conversations
// do not return to endpoints at all.
func (r *Relay) viewOf(c *Call) *promptcache.View {
	req := c.Request
	if r.Prints == nil || r.cfg.StickyFor <= 0 || req.Needs.PromptTokens < promptcache.LeastTokens || req.History != nil || c.Deferred != nil {
		return nil
	}
	slug := req.Models[0]
	m, _, known := c.Catalog.Resolve(slug)
	if !known || !promptcache.Worth(m.Endpoints) {
		return nil
	}
	key, ok := r.sticky.key(c, slug, false)
	if !ok {
		return nil
	}
	v := &promptcache.View{User: maphash.String(r.caches.Seed, c.Caller.Wallet), Key: key, Model: maphash.String(r.caches.Seed, slug), Prompt: req.Needs.PromptTokens}
	v.Prints = r.Prints(r.caches.Seed, req)
	r.caches.Look(v, c.At)
	return v
}

func (x *run) rest(ep *catalog.Endpoint, prices *catalog.Prices) promptcache.Forecast {
	return x.view.Forecast(x.relay.rates, ep, prices)
}

// served returns the usage of an answer whose prompt was the client's, and the view of it; nil for others.
func (x *run) served() (*promptcache.View, *usage.Usage) {
	if x.shaping != nil || x.serving.Endpoint.Own != nil {
		return nil, nil
	}
	return x.view, &x.rec.Usage
}

// lost is what the call lost of its conversation in caches.
func (x *run) lost() record.Lost {
	v, u := x.served()
	if v == nil {
		return record.Lost{}
	}
	return v.Lost(x.serving.Endpoint.ID, u, x.serving.Endpoint.Pricing.At(x.call.At).For(u.Prompt.N))
}

// cached is what caches have saved of the charge.
func (x *run) cached() *money.Nano {
	if saved, ok := usage.Saved(x.rec.Lines); ok {
		return &saved
	}
	return nil
}

// keepView notes who has served the conversation, and what was read of it.
func (x *run) keepView(at *routing.Attempt) {
	v, u := x.served()
	if v == nil {
		return
	}
	warm, age := v.At(at.Endpoint.ID)
	x.relay.rates.Measure(at.Endpoint.ID, v.Prints.Kind(), warm, age, u)
	if at.Slug == x.call.Request.Models[0] {
		x.relay.caches.Keep(v, at.Endpoint.ID, u.Prompt.N, u.Completion.N, x.call.At)
	}
}
