// Package catalogapi is the part of the HTTP API that says what models there are, how they are used and how their providers work: what the pages
// for visitors show. Package operation writes the answers; package httpapi has the server, and the lists of models under /v1.
package catalogapi

import (
	"context"
	"math"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/health"
	"weir/internal/operation"
	"weir/internal/routing"
)

// Hours reports how endpoints have worked by the hour, on all nodes. *health.History is one.
type Hours interface {
	// LastDay is the last day of the endpoints of which something is known, and the hour with which it begins.
	LastDay() (map[string]*health.Daily, time.Time)
	// Of lists the last n hours of endpoints, and the first of them.
	Of(ctx context.Context, endpoints []string, n int) ([]health.Hour, time.Time, error)
}

// Health reports the present health of an endpoint. *health.Registry is one.
type Health interface {
	Of(endpoint string) routing.Health
}

// Deps are what the operations work with.
type Deps struct {
	Catalog func() *catalog.Snapshot
	Stats   listing.Stats // nil: nothing is known of any endpoint
	Health  Health        // nil: all endpoints take calls
	Hours   Hours         // nil: nothing is known of any hour
	Ranks   *listing.Rankings

	Status, Rankings bool // visitors may see how providers work, and which models are used most
}

// Pages are the operations, and what they keep.
type Pages struct {
	Deps
	compact operation.Rendering[CompactCatalog]
	status  operation.Rendering[ProviderStatus]
}

// New makes the pages.
func New(d Deps) *Pages { return &Pages{Deps: d} }

// Operations lists the operations. With empty Deps they can be described, not performed.
func (p *Pages) Operations() []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/catalog", ID: "getCatalog", Access: operation.Public, Tag: "catalog", Answer: "The catalog",
			Summary: "All models of all types in one compact answer, for pages that filter them in the browser. It changes at most once a minute; send its ETag",
		}, func(_ context.Context, c *operation.Call, _ *operation.None) (operation.Cached[CompactCatalog], error) {
			s := p.Catalog()
			return p.compact.Of(s, c.At, func() CompactCatalog { return p.compactCatalog(s, c.At) })
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/models/{vendor}/{model}/series", ID: "getModelSeries", Access: operation.Public, Tag: "catalog",
			Summary: "First token, speed or uptime of a model by hour and provider, as all nodes have measured them", Answer: "The series; the last hour is still running",
		}, p.series),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/status", ID: "getStatus", Access: operation.Public, Tag: "catalog",
			Summary: "How each provider has worked in the last 24 hours. web.status: false switches it off", Answer: "The providers that serve a model, by name",
		}, func(_ context.Context, c *operation.Call, _ *operation.None) (operation.Cached[ProviderStatus], error) {
			return p.ShownStatus(c.At)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/rankings", ID: "getRankings", Access: operation.Public, Tag: "catalog",
			Summary:     "Which models are used most here, by paid tokens of whole UTC days. For people with an account; for visitors, too, with web.rankings: true",
			Description: "A model is listed when at least five accounts (`least`) paid for it in the period. No account counts for more than the one with the fifth most, and neither free nor failed calls count.",
			Answer:      "The models, the most used first; at most 100",
		}, p.rankings),
	}
}

// lastDay is what is known of the last day, and the hour with which it begins.
func (p *Pages) lastDay(now time.Time) (map[string]*health.Daily, time.Time) {
	if p.Hours == nil {
		return nil, now.UTC().Truncate(time.Hour).Add(-(health.DayHours - 1) * time.Hour)
	}
	return p.Hours.LastDay()
}

// alive reports whether an endpoint takes calls.
func (p *Pages) alive(e *catalog.Endpoint) bool { return p.Health == nil || !p.Health.Of(e.ID).Ejected }

// percent is a percentage, rounded down: it is 100 only where nothing failed. nil: nothing is known.
func percent(h *health.Hour) *float64 {
	f, known := h.Uptime()
	return figure(math.Floor(f*100)/100, known)
}

// figure is a number, nil where it is not known.
func figure(f float64, known bool) *float64 {
	if !known {
		return nil
	}
	return &f
}

// count is a number, nil for 0.
func count[T int | int64](n T) *T {
	if n <= 0 {
		return nil
	}
	return &n
}

// uptimeOf are the percentages of the last hours of endpoints together, nil where nothing is known of any hour.
func uptimeOf(endpoints []*catalog.Endpoint, day map[string]*health.Daily) *[]*float64 {
	var hours [health.DayHours]health.Hour
	some := false
	for _, e := range endpoints {
		d := day[e.ID]
		if d == nil {
			continue
		}
		for i := range hours {
			hours[i].Served += d.Hours[i].Served
			hours[i].Failed += d.Hours[i].Failed
			some = some || d.Hours[i].Served+d.Hours[i].Failed > 0
		}
	}
	if !some {
		return nil
	}
	all := make([]*float64, len(hours))
	for i := range hours {
		all[i] = percent(&hours[i])
	}
	return &all
}
