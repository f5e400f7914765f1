package catalog

// Model finds a model by its exact slug, without a variant suffix.
func (s *Snapshot) Model(slug string) (*Model, bool) {
	m, ok := s.models[slug]
	return m, ok
}

// Resolve finds the model that a client names, and the variant suffix it appended. A declared id that holds a colon wins over
// reading the text behind it as a suffix; an unknown suffix finds nothing.
func (s *Snapshot) Resolve(name string) (*Model, Variant, bool) {
	if m, ok := s.models[name]; ok {
		return m, NoVariant, true
	}
	base, variant := SplitVariant(name)
	if variant == NoVariant {
		return nil, NoVariant, false
	}
	m, ok := s.models[base]
	if !ok {
		return nil, NoVariant, false
	}
	return m, variant, true
}

// Models lists all models in slug order. The slice is shared: do not change it.
func (s *Snapshot) Models() []*Model { return s.ordered }

// Cheapest is the endpoint with the lowest prompt and completion price together, nil of none. Endpoints of other service tiers than
// the default count only when there is no other.
func Cheapest(endpoints []*Endpoint) *Endpoint {
	var best *Endpoint
	rank := func(e *Endpoint) (special bool, price int64) {
		return e.Tier != "" && e.Tier != "default", e.Pricing.Base.Prompt.Nano + e.Pricing.Base.Completion.Nano
	}
	for _, e := range endpoints {
		if best == nil {
			best = e
			continue
		}
		special, price := rank(e)
		bestSpecial, bestPrice := rank(best)
		if !special && bestSpecial || special == bestSpecial && price < bestPrice {
			best = e
		}
	}
	return best
}
