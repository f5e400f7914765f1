package routing

import (
	"fmt"
	"slices"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// OwnOrder is where endpoints with the caller's own key stand among the gateway's.
type OwnOrder string

// The orders.
const (
	OwnBefore OwnOrder = "before" // they are tried first
	OwnAfter  OwnOrder = "after"  // they are tried last
	OwnOnly   OwnOrder = "only"   // models that the provider serves are called with own keys alone
)

// Reasons for which an own key cannot be used.
const (
	OwnRemoved  = "removed"   // its owner removed it, and left the order OwnOnly
	OwnOff      = "off"       // its owner switched it off
	OwnNotTaken = "not_taken" // the operator does not want own keys
	OwnUnread   = "unread"    // it is sealed with a master key that this node does not have
)

// Own is what the caller's own key of a provider means for a plan.
type Own struct {
	Provider string // slug
	Order    OwnOrder
	// Endpoint is an endpoint of the provider as it is called with the key; nil where keys are not taken for it. It is nil itself when the key
	// cannot be used; Missing then says why.
	Endpoint func(*catalog.Endpoint) *catalog.Endpoint
	Missing  string
	Resting  bool // it failed a moment ago: unless nothing else is allowed, it is tried last
}

// ownOf is the caller's key for a provider, nil without one.
func (q *Query) ownOf(provider string) *Own {
	for i := range q.Own {
		if q.Own[i].Provider == provider {
			return &q.Own[i]
		}
	}
	return nil
}

// onlyOwn is the key for whose sake a model may be called with own keys alone, or nil.
func (q *Query) onlyOwn(m *catalog.Model) *Own {
	if len(q.Own) == 0 {
		return nil
	}
	for _, ep := range m.Endpoints {
		if o := q.ownOf(ep.Provider.ID); o != nil && o.Order == OwnOnly {
			return o
		}
	}
	return nil
}

// addOwn adds the endpoints of a model that can be called with an own key, and drops the gateway's where they are not allowed. Batches are
// made with the gateway's credentials alone, since they are fetched after a key may be gone.
func (p *planner) addOwn(a asked, model, from int) {
	if len(p.q.Own) == 0 {
		return
	}
	if p.q.onlyOwn(a.model) != nil {
		for i := from; i < len(p.cands); i++ {
			if p.cands[i].dropped == Kept {
				p.cands[i].dropped = OwnKeysFilter
			}
		}
	}
	if p.q.Needs.Batch {
		return
	}
	begin := len(p.cands)
	for _, ep := range a.model.Endpoints {
		o := p.q.ownOf(ep.Provider.ID)
		if o == nil || o.Endpoint == nil {
			continue
		}
		own := o.Endpoint(ep)
		if own == nil {
			continue
		}
		c := candidate{ep: own, model: model, dropped: p.drop(own, a.variant), rank: 1}
		if o.Order == OwnAfter || o.Order == OwnBefore && o.Resting && !p.q.Preferences.NoFallbacks {
			c.rank = -1
		}
		p.cands = append(p.cands, c)
	}
	p.narrow(p.cands[begin:]) // among themselves: a gateway's endpoint is no reason to leave out the caller's
}

// splitOwn sorts candidates with own keys to their ends of a group and returns the part between, which is the gateway's.
func (p *planner) splitOwn(group []*candidate) []*candidate {
	if len(p.q.Own) == 0 {
		return group
	}
	slices.SortStableFunc(group, func(a, b *candidate) int { return b.rank - a.rank })
	first, last := 0, len(group)
	for _, c := range group {
		if c.rank == 0 {
			continue
		}
		c.reason = ReasonOwn
		if c.rank > 0 {
			first++
		} else {
			last--
		}
	}
	for _, part := range [][]*candidate{group[:first], group[last:]} {
		p.measure(part)
		slices.SortStableFunc(part, byPrice)
		p.listedOnly(part)
	}
	return group[first:last]
}

// listedOnly drops those that provider.order does not name where it names all that may be tried.
func (p *planner) listedOnly(group []*candidate) {
	pref := &p.q.Preferences
	if len(pref.Order) == 0 || !pref.NoFallbacks {
		return
	}
	for _, c := range group {
		if !namedBy(pref.Order, c.ep, true) {
			c.dropped = AllowFallbacks
		}
	}
}

// noOwn is the error when only own keys are allowed for a model and none can be used; nil when something else left nothing.
func (p *planner) noOwn(models []asked, which string, details map[string]any) error {
	for i := range p.cands {
		if p.cands[i].ep.Own != nil {
			return nil // there was one, and a filter of the request dropped it
		}
	}
	var only *Own
	for _, a := range models {
		if o := p.q.onlyOwn(a.model); o != nil {
			only = o
			break
		}
	}
	if only == nil {
		return nil
	}
	const remedy = " in Settings, Provider keys (PATCH /api/provider-keys), or choose another order there: with before or after, the gateway's own endpoints serve it, at their price."
	why, do := "the key cannot be used for this request, or was put in when the provider had another address", "Put it in once more"
	switch only.Missing {
	case OwnRemoved:
		why, do = "the key was removed", "Put in another"
	case OwnOff:
		why, do = "the key is switched off", "Switch it on"
	case OwnNotTaken:
		why, do = "this gateway does not take own keys any more", "Remove the key"
	case OwnUnread:
		why, do = "the key cannot be decrypted at present", "Put it in once more"
	}
	err := fault.New(fault.NoEndpoints, "routing.Choose", fmt.Sprintf("The order of your key of %s is \"only\", so %s is called with it alone, but %s. %s%s", only.Provider, which, why, do, remedy))
	details["reason"] = "own_key_" + only.Missing
	if only.Missing == "" {
		details["reason"] = "own_key"
	}
	details["provider"] = only.Provider
	err.Details = details
	return err
}

// same reports whether two endpoints are one, called with the same credentials.
func same(a, b *catalog.Endpoint) bool {
	if a.Own != nil && b.Own != nil {
		return a.Own.Of == b.Own.Of
	}
	return a == b
}
