package catalogapi

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/operation"
)

// ModelSeries is how a model has been served by the hour.
type ModelSeries struct {
	Model        string           `json:"model"`
	Metric       string           `json:"metric" enum:"ttft,tps,uptime,all"`
	Range        string           `json:"range" enum:"24h,7d"`
	LastServedAt *time.Time       `json:"last_served_at"` // beginning of the last hour in which a provider served the model; null when none did in this range
	T            []time.Time      `json:"t"`              // the beginnings of the hours
	Series       []ProviderSeries `json:"series"`         // providers of which something is known, by name
}

// ProviderSeries is what was measured at a provider: one figure for each hour, null where nothing was measured.
type ProviderSeries struct {
	Provider string     `json:"provider"`
	Name     string     `json:"name"`
	Values   []*float64 `json:"values,omitempty"` // of one metric
	TTFT     []*float64 `json:"ttft,omitempty"`   // of all
	TPS      []*float64 `json:"tps,omitempty"`    // of all
	Uptime   []*float64 `json:"uptime,omitempty"` // of all
}

type seriesInput struct {
	Vendor string `json:"-" path:"vendor" example:"sim"`
	Model  string `json:"-" path:"model" example:"chat"`
	Metric string `json:"-" query:"metric" enum:"ttft,tps,uptime,all"` // what is shown: ttft is the median time to the first content in ms, tps the median of tokens per second, uptime the percentage of attempts that were served; all is the three in one answer. ttft without it
	Range  string `json:"-" query:"range" enum:"24h,7d"`               // 24h without it
}

// ranges are the values of range, in hours.
var ranges = map[string]int{"24h": 24, "7d": 7 * 24}

// seriesOf are the values of metric: what a series has of an hour, nil where nothing is known.
var seriesOf = map[string]func(*health.Hour) *float64{
	"ttft": func(h *health.Hour) *float64 {
		d := h.FirstContent()
		return figure(math.Max(math.Round(float64(d)/1e6), 1), d > 0)
	},
	"tps": func(h *health.Hour) *float64 {
		f := h.Throughput()
		return figure(math.Round(f*10)/10, f > 0)
	},
	"uptime": percent,
}

// allSeries is the metric that asks for all of them in one answer.
const allSeries = "all"

func valuesOf(hours []health.Hour, metric string) []*float64 {
	all := make([]*float64, len(hours))
	for i := range hours {
		all[i] = seriesOf[metric](&hours[i])
	}
	return all
}

func (p *Pages) series(ctx context.Context, c *operation.Call, in *seriesInput) (none operation.Cached[ModelSeries], err error) {
	const op = "catalogapi.series"
	out := ModelSeries{Model: in.Vendor + "/" + in.Model, Metric: cmp.Or(in.Metric, "ttft"), Range: cmp.Or(in.Range, "24h")}
	if seriesOf[out.Metric] == nil && out.Metric != allSeries {
		return none, fault.Field(op, "metric", "metric must be ttft, tps, uptime or all.")
	}
	n, known := ranges[out.Range]
	if !known {
		return none, fault.Field(op, "range", "range must be 24h or 7d.")
	}
	m, variant, ok := p.Catalog().Resolve(out.Model)
	if !ok {
		return none, fault.New(fault.ModelNotFound, op, "There is no such model.")
	}
	providers := listing.Providers(m, variant)
	var ids []string
	owner := map[string]*catalog.Provider{}
	for i := range providers {
		for _, e := range providers[i].Endpoints {
			ids, owner[e.ID] = append(ids, e.ID), providers[i].Provider
		}
	}
	var hours []health.Hour
	from := c.At.UTC().Truncate(time.Hour).Add(-time.Duration(n-1) * time.Hour)
	if p.Hours != nil {
		if hours, from, err = p.Hours.Of(ctx, ids, n); err != nil {
			return none, err
		}
	}
	sums := map[*catalog.Provider][]health.Hour{}
	for i := range hours {
		if hours[i].Served > 0 && (out.LastServedAt == nil || hours[i].At.After(*out.LastServedAt)) {
			out.LastServedAt = &hours[i].At
		}
		of := owner[hours[i].Endpoint]
		if sums[of] == nil {
			sums[of] = make([]health.Hour, n)
		}
		if at := int(hours[i].At.Sub(from) / time.Hour); at < n {
			sums[of][at].Merge(&hours[i])
		}
	}
	for i := range n {
		out.T = append(out.T, from.Add(time.Duration(i)*time.Hour))
	}
	slices.SortFunc(providers, func(a, b listing.Providing) int { return strings.Compare(a.Name, b.Name) })
	for i := range providers {
		sum := sums[providers[i].Provider]
		if sum == nil {
			continue
		}
		one := ProviderSeries{Provider: providers[i].ID, Name: providers[i].Name}
		if out.Metric == allSeries {
			one.TTFT, one.TPS, one.Uptime = valuesOf(sum, "ttft"), valuesOf(sum, "tps"), valuesOf(sum, "uptime")
		} else {
			one.Values = valuesOf(sum, out.Metric)
		}
		out.Series = append(out.Series, one)
	}
	return operation.Once(out)
}
