package httpapi

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/health"
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

// ranges are the values of range, in hours.
var ranges = map[string]int{"": 24, "24h": 24, "7d": 7 * 24}

// seriesOf are the values of metric: what a series has of an hour, false where nothing is known.
var seriesOf = map[string]func(*health.Hour) (float64, bool){
	"ttft": func(h *health.Hour) (float64, bool) {
		d := h.FirstContent()
		return math.Max(math.Round(float64(d)/1e6), 1), d > 0
	},
	"tps": func(h *health.Hour) (float64, bool) {
		f := h.Throughput()
		return math.Round(f*10) / 10, f > 0
	},
	"uptime": func(h *health.Hour) (float64, bool) {
		f, known := h.Uptime()
		return math.Floor(f*100) / 100, known
	},
}

// allSeries is the metric that asks for all of them in one answer.
const allSeries = "all"

func appendValues(o *object, name string, hours []health.Hour, value func(*health.Hour) (float64, bool)) {
	o.Name(name).Array()
	for i := range hours {
		if v, known := value(&hours[i]); known {
			o.number(v)
		} else {
			o.Null()
		}
	}
	o.EndArray()
}

// getSeries serves GET /api/models/{vendor}/{model}/series.
func (x *request) getSeries() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	metric, span := q.Get("metric"), q.Get("range")
	if metric == "" {
		metric = "ttft"
	}
	if seriesOf[metric] == nil && metric != allSeries {
		return fault.Field("httpapi.getSeries", "metric", "metric must be ttft, tps, uptime or all.")
	}
	n, known := ranges[span]
	if !known {
		return fault.Field("httpapi.getSeries", "range", "range must be 24h or 7d.")
	}
	if span == "" {
		span = "24h"
	}
	id := x.pathModel()
	m, variant, ok := x.api.Catalog().Resolve(id)
	if !ok {
		return noModel("httpapi.getSeries")
	}
	providers := providersOf(m, variant)
	var ids []string
	owner := map[string]*catalog.Provider{}
	for i := range providers {
		for _, e := range providers[i].endpoints {
			ids, owner[e.ID] = append(ids, e.ID), providers[i].Provider
		}
	}
	var hours []health.Hour
	from := x.at.UTC().Truncate(time.Hour).Add(-time.Duration(n-1) * time.Hour)
	if x.api.Hours != nil {
		if hours, from, err = x.api.Hours.Of(x.context(), ids, n); err != nil {
			return err
		}
	}
	sums := map[*catalog.Provider][]health.Hour{}
	var last time.Time
	for i := range hours {
		if hours[i].Served > 0 && hours[i].At.After(last) {
			last = hours[i].At
		}
		p := owner[hours[i].Endpoint]
		if sums[p] == nil {
			sums[p] = make([]health.Hour, n)
		}
		if at := int(hours[i].At.Sub(from) / time.Hour); at < n {
			sums[p][at].Merge(&hours[i])
		}
	}
	o := newObject(4 << 10)
	o.Object()
	o.text("model", id)
	o.text("metric", metric)
	o.text("range", span)
	if last.IsZero() {
		o.null("last_served_at")
	} else {
		o.text("last_served_at", last.UTC().Format(time.RFC3339))
	}
	o.Name("t").Array()
	for i := range n {
		o.Text(from.Add(time.Duration(i) * time.Hour).Format(time.RFC3339))
	}
	o.EndArray()
	slices.SortFunc(providers, func(a, b providing) int { return strings.Compare(a.Name, b.Name) })
	o.Name("series").Array()
	for i := range providers {
		sum := sums[providers[i].Provider]
		if sum == nil {
			continue
		}
		o.Object()
		o.text("provider", providers[i].ID)
		o.text("name", providers[i].Name)
		if metric == allSeries {
			for _, m := range []string{"ttft", "tps", "uptime"} {
				appendValues(&o, m, sum, seriesOf[m])
			}
		} else {
			appendValues(&o, "values", sum, seriesOf[metric])
		}
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
	return x.sendOnce(&o)
}

// getStatus serves GET /api/status.
func (x *request) getStatus() error {
	if !x.api.cfg.Status {
		return fault.New(fault.NotFound, "httpapi.getStatus", "The status of providers is not shown on this gateway.")
	}
	s := x.api.Catalog()
	return x.send(x.api.status.of(s, x.at, func() []byte { return x.api.providerStatus(s) }))
}

const (
	statusLeast = 10 // attempts of this hour that are needed to judge a provider
	statusWorst = 95 // percent of them; below it the provider does not work well
)

// standing is how a provider works at present.
type standing struct {
	*catalog.Provider
	endpoints []*catalog.Endpoint
	models    map[*catalog.Model]bool
	state     string
	whole     health.Hour
}

func (a *API) providerStatus(s *catalog.Snapshot) []byte {
	day, from := a.lastDay()
	known := map[string]*standing{}
	var all []*standing
	for _, m := range s.Models() {
		for _, e := range m.Endpoints {
			p := known[e.Provider.ID]
			if p == nil {
				p = &standing{Provider: e.Provider, models: map[*catalog.Model]bool{}}
				known[e.Provider.ID], all = p, append(all, p)
			}
			p.endpoints, p.models[m] = append(p.endpoints, e), true
		}
	}
	slices.SortFunc(all, func(a, b *standing) int { return strings.Compare(a.Name, b.Name) })
	state, tried, down := "ok", 0, 0
	for _, p := range all {
		a.judge(p, day)
		switch p.state {
		case "down":
			down++
			state = "degraded"
		case "degraded":
			state = "degraded"
		}
		if p.state != "idle" {
			tried++
		}
	}
	if down > 0 && down == tried {
		state = "down"
	}
	o := newObject(4 << 10)
	o.Object()
	o.text("state", state)
	o.moment("at", from.Add((health.DayHours-1)*time.Hour))
	o.Name("providers").Array()
	for _, p := range all {
		o.Object()
		o.text("id", p.ID)
		o.text("name", p.Name)
		o.text("state", p.state)
		o.integer("models", int64(len(p.models)))
		o.Name("uptime_24h")
		o.percent(&p.whole)
		appendUptime(&o, "uptime", p.endpoints, day)
		o.integerOrNull("p50", p.whole.FirstContent().Milliseconds())
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
	return o.B
}

// judge decides the state of a provider. Endpoints that were not tried say nothing.
func (a *API) judge(p *standing, day map[string]*health.Daily) {
	tried, ejected := 0, 0
	var hour health.Hour
	for _, e := range p.endpoints {
		d := day[e.ID]
		if d == nil {
			continue
		}
		tried++
		if !a.alive(e) {
			ejected++
		}
		p.whole.Merge(&d.Whole)
		last := &d.Hours[health.DayHours-1]
		hour.Served += last.Served
		hour.Failed += last.Failed
	}
	up, _ := hour.Uptime()
	switch {
	case tried == 0:
		p.state = "idle"
	case ejected == tried:
		p.state = "down"
	case ejected > 0 || hour.Served+hour.Failed >= statusLeast && up < statusWorst:
		p.state = "degraded"
	default:
		p.state = "ok"
	}
}
