package listing

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/health"
)

// Stats reports how endpoints have been doing. *health.Registry is one.
type Stats interface {
	// Shown is what was measured at an endpoint, by its id.
	Shown(endpoint string) health.Shown
}

// Measured are the figures of an endpoint. Tokens per second are those of text. Without stats nothing is known.
func Measured(e *catalog.Endpoint, stats Stats) health.Shown {
	if stats == nil {
		return health.Shown{Uptime: 100}
	}
	s := stats.Shown(e.ID)
	if e.Output&catalog.Text == 0 || e.Model.Type != catalog.TypeChat {
		s.Throughput = 0
	}
	return s
}

// Params are the parameters that an endpoint understands. All of them means that none were declared, and then only a chat model may be taken at
// its word: they are parameters of chat.
func Params(e *catalog.Endpoint) catalog.Params {
	if e.Params == catalog.AllParams && e.Model.Type != catalog.TypeChat {
		return 0
	}
	return e.Carried()
}

// Policy is what a provider does with requests, unknown where it does not say.
func Policy(p *catalog.Provider) catalog.DataPolicy {
	return cmp.Or(p.DataPolicy, catalog.PolicyUnknown)
}

// Providing is a provider of a model, with its endpoints.
type Providing struct {
	*catalog.Provider
	Endpoints []*catalog.Endpoint
	Best      *catalog.Endpoint // whose prices are shown for the provider
}

// Providers lists who serves a model under a suffix, the cheapest first.
func Providers(m *catalog.Model, v catalog.Variant) []Providing {
	var all []Providing
	for _, e := range m.Endpoints {
		if !v.ServedBy(e.Variant) {
			continue
		}
		i := slices.IndexFunc(all, func(p Providing) bool { return p.Provider == e.Provider })
		if i < 0 {
			i, all = len(all), append(all, Providing{Provider: e.Provider})
		}
		all[i].Endpoints = append(all[i].Endpoints, e)
	}
	for i := range all {
		all[i].Best = Cheapest(all[i].Endpoints)
	}
	slices.SortFunc(all, func(a, b Providing) int {
		return cmp.Or(cmp.Compare(Headline(a.Best), Headline(b.Best)), strings.Compare(a.Name, b.Name))
	})
	return all
}
