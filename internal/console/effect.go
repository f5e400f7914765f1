package console

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
)

// Effect is what taking something out of service does, by the figures of the last two hours.
type Effect struct {
	Endpoints int     // that serve now
	Running   int64   // attempts under way, which may end
	PerHour   float64 // calls
	Moved     float64 // of them, that others take
	Failing   float64 // of them, that no other endpoint is left for
	To        []Destination
	Alone     []string // models that no other endpoint is left for
}

// Destination is an endpoint that gets calls of another.
type Destination struct {
	View     *edit.EndpointView
	PerHour  float64
	After    float64
	InFlight int64
	Limit    int64    // attempts at a time, of all nodes
	Dearer   *float64 // percent by which its price to customers differs; nil: one of them has no price by tokens
}

// Effect computes it for endpoints that a target names. What moves is shared by those that are left as they share the calls now.
func (c *Console) Effect(ctx context.Context, b *edit.Built, targets []*edit.EndpointView) (*Effect, error) {
	now, nodes := c.Now(), c.Nodes()
	going := map[string]bool{}
	models := map[string]bool{}
	e := &Effect{}
	for _, v := range targets {
		going[v.ID] = true
		if v.On && b.OutOf(v, now) == nil {
			e.Endpoints++
			models[v.Model] = true
		}
	}
	var ids []string
	for i := range b.Endpoints {
		if v := &b.Endpoints[i]; models[v.Model] {
			ids = append(ids, v.ID)
		}
	}
	standings, err := c.Standings(ctx, nodes, ids)
	if err != nil {
		return nil, err
	}
	gets := map[string]*Destination{}
	alone := map[string]bool{}
	for _, v := range targets {
		if !v.On || b.OutOf(v, now) != nil {
			continue
		}
		s := standings[v.ID]
		e.PerHour += s.PerHour
		e.Running += s.InFlight
		left := c.left(b, v, going, standings, now)
		if len(left) == 0 {
			e.Failing += s.PerHour
			alone[v.Model] = alone[v.Model] || v.Tier != catalog.BatchTier
			continue
		}
		e.Moved += s.PerHour
		share(v, s.PerHour, left, gets, standings)
	}
	for id, d := range gets {
		d.Limit = c.Health.InFlightLimit(d.View.MaxInFlight) * int64(len(nodes))
		d.InFlight = standings[id].InFlight
		e.To = append(e.To, *d)
	}
	slices.SortFunc(e.To, func(x, y Destination) int {
		return cmp.Or(cmp.Compare(y.After-y.PerHour, x.After-x.PerHour), cmp.Compare(x.View.ID, y.View.ID))
	})
	for model, is := range alone {
		if is {
			e.Alone = append(e.Alone, model)
		}
	}
	slices.Sort(e.Alone)
	return e, nil
}

// left are the endpoints that calls of one may go to when others go, too.
func (c *Console) left(b *edit.Built, of *edit.EndpointView, going map[string]bool, standings map[string]Standing, now time.Time) (out []*edit.EndpointView) {
	for i := range b.Endpoints {
		v := &b.Endpoints[i]
		tier := v.Tier == of.Tier || of.Tier != catalog.BatchTier && (v.Tier == "" || v.Tier == "default")
		if v.Model == of.Model && !going[v.ID] && v.On && tier && v.Variant == of.Variant && standings[v.ID].State != Ejected && b.OutOf(v, now) == nil {
			out = append(out, v)
		}
	}
	return out
}

// share adds calls of an endpoint to those of others, in proportion to what these serve now, or evenly when they serve nothing.
func share(of *edit.EndpointView, calls float64, among []*edit.EndpointView, gets map[string]*Destination, standings map[string]Standing) {
	sum := 0.0
	for _, v := range among {
		sum += standings[v.ID].PerHour
	}
	for _, v := range among {
		d := gets[v.ID]
		if d == nil {
			d = &Destination{View: v, PerHour: standings[v.ID].PerHour, After: standings[v.ID].PerHour, Dearer: dearer(of, v)}
			gets[v.ID] = d
		}
		part := 1 / float64(len(among))
		if sum > 0 {
			part = standings[v.ID].PerHour / sum
		}
		d.After += calls * part
	}
}

// dearer compares what a token of the prompt and one of the answer cost together.
func dearer(of, than *edit.EndpointView) *float64 {
	price := func(v *edit.EndpointView) int64 { return v.Pricing.Base.Prompt.Nano + v.Pricing.Base.Completion.Nano }
	if price(of) == 0 || price(than) == 0 {
		return nil
	}
	percent := 100 * (float64(price(than)) - float64(price(of))) / float64(price(of))
	return &percent
}

// Away changes how an endpoint stands that an operator took out of service.
func (s *Standing) Away(o *edit.Out) {
	s.State, s.Since, s.Until = Off, o.Since, o.Until
	if s.InFlight > 0 {
		s.State = Draining
	}
}
