package catalog

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Model finds a model by its exact slug, or another that it has, without a variant suffix.
func (s *Snapshot) Model(slug string) (*Model, bool) {
	m, ok := s.models[slug]
	if !ok {
		m, ok = s.aliases[slug]
	}
	return m, ok
}

// Resolve finds the model that a client names, and the variant suffix it appended. A declared id that holds a colon wins over
// reading the text after it as a suffix; an unknown suffix finds nothing.
func (s *Snapshot) Resolve(name string) (*Model, Variant, bool) {
	if m, ok := s.Model(name); ok {
		return m, NoVariant, true
	}
	base, variant := SplitVariant(name)
	if variant == NoVariant {
		return nil, NoVariant, false
	}
	m, ok := s.Model(base)
	if !ok {
		return nil, NoVariant, false
	}
	return m, variant, true
}

// Retired reports since which day no provider serves a model that the catalog had once. The name may have a variant.
func (s *Snapshot) Retired(name string) (time.Time, bool) {
	day, ok := s.retired[name]
	if !ok {
		base, _ := SplitVariant(name)
		day, ok = s.retired[base]
	}
	return day, ok
}

// Aliases lists the other slugs of models, sorted.
func (s *Snapshot) Aliases() map[*Model][]string {
	all := make(map[*Model][]string, len(s.aliases))
	for _, slug := range slices.Sorted(maps.Keys(s.aliases)) {
		m := s.aliases[slug]
		all[m] = append(all[m], slug)
	}
	return all
}

// ModelsOf is how many models a provider serves.
func (s *Snapshot) ModelsOf(provider string) (n int) {
	for _, m := range s.ordered {
		if slices.ContainsFunc(m.Endpoints, func(e *Endpoint) bool { return e.Provider.ID == provider }) {
			n++
		}
	}
	return n
}

// Models lists all models in slug order. The slice is shared: do not change it.
func (s *Snapshot) Models() []*Model { return s.ordered }

// Cheapest is the endpoint with the lowest price, nil of none: prompt and completion together, and the prices of models of other types.
// Endpoints of other service tiers than the default count only when there is no other.
func Cheapest(endpoints []*Endpoint) *Endpoint {
	var best *Endpoint
	special := func(e *Endpoint) bool { return e.Tier != "" && e.Tier != "default" }
	for _, e := range endpoints {
		if best == nil {
			best = e
			continue
		}
		if !special(e) && special(best) || special(e) == special(best) && e.Pricing.headline() < best.Pricing.headline() {
			best = e
		}
	}
	return best
}

// headline is the number by which endpoints of one model are compared. They are charged in the same units, so that the sums of their
// prices are comparable.
func (p *Pricing) headline() int64 {
	sum := p.Base.Prompt.Nano + p.Base.Completion.Nano + p.Base.Request.Nano + p.Base.ImageOutput.Nano + p.Base.AudioOutput.Nano + p.Base.ImageOutputEach.Nano +
		p.RatesSum()
	if len(p.Images) > 0 {
		sum += p.Images[0].Price.Nano
	}
	if len(p.Video) > 0 {
		sum += p.Video[0].PerSecond.Nano
	}
	return sum
}

// closed are vendors whose models show only a summary of their reasoning at every provider, except those with open weights.
var closed = map[string][]string{"openai": {"gpt-oss"}, "google": {"gemma"}, "anthropic": nil, "x-ai": nil, "amazon": nil, "perplexity": nil}

// ReasonsInSight reports whether the model streams all its reasoning as text, so that a stream shows what it costs. A model for which
// that is unknown counts as one that hides it.
func (ep *Endpoint) ReasonsInSight() bool {
	const reasoning = ParamReasoning | ParamReasoningEffort | ParamIncludeReasoning
	if ep.Params&reasoning == 0 || ep.Provider.Simulated {
		return true
	}
	if !ep.Provider.Quirks.ReasoningInSight {
		return false
	}
	open, ok := closed[ep.Model.Vendor]
	if !ok {
		return true
	}
	_, name, _ := strings.Cut(ep.Model.Slug, "/")
	return slices.ContainsFunc(open, func(family string) bool { return strings.HasPrefix(name, family) })
}
