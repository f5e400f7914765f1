package relay

import (
	"context"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/routing"
)

// Explanation is how a call would be carried at this moment.
type Explanation struct {
	Catalog    *catalog.Snapshot
	Defaults   *apikey.Defaults // of the caller, nil without any; the request's preferences have been laid over them
	Plan       routing.Plan
	Candidates []Weighed    // in addition to Plan.Candidates
	Err        *fault.Error // the error with which the call would fail although there are candidates, nil when it may be tried
}

// Weighed has further facts about a candidate.
type Weighed struct {
	Prices catalog.Prices // by which the call would be charged, as far as its prompt can be estimated
	Hold   money.Nano     // the hold of an attempt before it begins; -1 when that overflows
	Health routing.Health
}

// Explain plans a call without carrying it: nothing is held, sent or recorded. It fails as Complete would when there is not even a
// candidate, as for a model that does not exist.
func (r *Relay) Explain(ctx context.Context, c *Call) (*Explanation, error) {
	c.prefer()
	x := &run{relay: r, call: c, rec: newRecord(c)}
	plan, err := x.plan(ctx)
	if err != nil && len(plan.Candidates) == 0 {
		return nil, err
	}
	x.req = c.Request
	e := &Explanation{Catalog: c.Catalog, Defaults: c.Caller.Defaults, Plan: plan, Err: err, Candidates: make([]Weighed, len(plan.Candidates))}
	for i := range plan.Candidates {
		ep := plan.Candidates[i].Endpoint
		w := &e.Candidates[i]
		w.Prices = *ep.Pricing.At(c.At).For(c.Request.Needs.PromptTokens)
		if r.Health != nil && ep.Own == nil {
			w.Health = r.Health(ep.ID)
		}
		var tooMuch error
		if w.Hold, tooMuch = x.opening(ep); tooMuch != nil {
			w.Hold = -1
		}
	}
	return e, nil
}
