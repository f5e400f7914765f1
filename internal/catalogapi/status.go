package catalogapi

import (
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/operation"
)

// ProviderStatus is how the providers work at present.
type ProviderStatus struct {
	State     string           `json:"state" enum:"ok,degraded,down"` // degraded: some provider does not work well; down: none that was tried works
	At        time.Time        `json:"at"`                            // the hour with which uptime ends, which is still running
	Providers []ProviderHealth `json:"providers"`
}

// ProviderHealth is how a provider works.
type ProviderHealth struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	State     string      `json:"state" enum:"ok,degraded,down,idle"` // degraded: some endpoint gets no calls, or of ten attempts or more in this hour more than one in twenty failed; down: no endpoint gets calls; idle: not tried in the last 24 hours
	Models    int         `json:"models"`
	Uptime24h *float64    `json:"uptime_24h"` // percentage of attempts
	Uptime    *[]*float64 `json:"uptime"`     // as in the catalog
	P50       *int64      `json:"p50"`        // median ms to the first content in the last 24 hours
}

const (
	statusLeast = 10 // attempts of this hour that are needed to judge a provider
	statusWorst = 95 // percent of them; below it the provider does not work well
)

// ShownStatus is the answer about providers. It fails where that is not shown.
func (p *Pages) ShownStatus(now time.Time) (operation.Cached[ProviderStatus], error) {
	if !p.Status {
		return operation.Cached[ProviderStatus]{}, fault.New(fault.NotFound, "catalogapi.status", "The status of providers is not shown on this gateway.")
	}
	s := p.Catalog()
	return p.status.Of(s, now, func() ProviderStatus { return p.providerStatus(s, now) })
}

// standing is what is known of a provider.
type standing struct {
	*catalog.Provider
	endpoints []*catalog.Endpoint
	models    map[*catalog.Model]bool
}

func (p *Pages) providerStatus(s *catalog.Snapshot, now time.Time) ProviderStatus {
	day, from := p.lastDay(now)
	known := map[string]*standing{}
	var all []*standing
	for _, m := range s.Models() {
		for _, e := range m.Endpoints {
			of := known[e.Provider.ID]
			if of == nil {
				of = &standing{Provider: e.Provider, models: map[*catalog.Model]bool{}}
				known[e.Provider.ID], all = of, append(all, of)
			}
			of.endpoints, of.models[m] = append(of.endpoints, e), true
		}
	}
	slices.SortFunc(all, func(a, b *standing) int { return strings.Compare(a.Name, b.Name) })
	out := ProviderStatus{State: "ok", At: from.Add((health.DayHours - 1) * time.Hour), Providers: make([]ProviderHealth, len(all))}
	tried, down := 0, 0
	for i, of := range all {
		state, whole := p.judge(of, day)
		switch state {
		case "down":
			down++
			out.State = "degraded"
		case "degraded":
			out.State = "degraded"
		}
		if state != "idle" {
			tried++
		}
		out.Providers[i] = ProviderHealth{
			ID: of.ID, Name: of.Name, State: state, Models: len(of.models), Uptime24h: percent(&whole), Uptime: uptimeOf(of.endpoints, day), P50: count(whole.FirstContent().Milliseconds()),
		}
	}
	if down > 0 && down == tried {
		out.State = "down"
	}
	return out
}

// judge decides the state of a provider, and sums up its day. Endpoints that were not tried say nothing.
func (p *Pages) judge(of *standing, day map[string]*health.Daily) (state string, whole health.Hour) {
	tried, ejected := 0, 0
	var hour health.Hour
	for _, e := range of.endpoints {
		d := day[e.ID]
		if d == nil {
			continue
		}
		tried++
		if !p.alive(e) {
			ejected++
		}
		whole.Merge(&d.Whole)
		last := &d.Hours[health.DayHours-1]
		hour.Served += last.Served
		hour.Failed += last.Failed
	}
	up, _ := hour.Uptime()
	switch {
	case tried == 0:
		return "idle", whole
	case ejected == tried:
		return "down", whole
	case ejected > 0 || hour.Served+hour.Failed >= statusLeast && up < statusWorst:
		return "degraded", whole
	}
	return "ok", whole
}
