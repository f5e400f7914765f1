package httpapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/sorting"
)

// Stats reports how endpoints have been doing.
type Stats interface {
	// Stats is what was measured at an endpoint, by its id: percent of the attempts of one day that succeeded, and of 30 minutes the
	// median time to first content and the median output tokens per second. known is false when there was no attempt.
	Stats(endpoint string) (uptime1d float64, latency30m time.Duration, throughput30m float64, known bool)
}

// getProviders serves GET /v1/models/{vendor}/{model}/providers. Source of the fields: completions of the specification, 11.4.
func (x *exchange) getProviders() error {
	id := x.pathModel()
	m, variant, ok := x.api.Catalog().Resolve(id)
	if !ok {
		return noModel("httpapi.getProviders")
	}
	o := newObject(8 << 10)
	o.Object()
	o.text("model_id", m.ID)
	o.text("model_slug", id)
	o.text("model_name", m.Name)
	o.Name("providers").Array()
	for _, p := range providersOf(m, variant) {
		p.append(&o, x.api.Stats)
	}
	o.EndArray()
	o.EndObject()
	return x.sendOnce(&o)
}

// providing is one provider and its endpoints for a model.
type providing struct {
	*catalog.Provider
	endpoints []*catalog.Endpoint
	best      *catalog.Endpoint // whose prices are shown for the provider
}

// providersOf lists who serves a model under a suffix, the cheapest first.
func providersOf(m *catalog.Model, v catalog.Variant) []providing {
	var all []providing
	for _, e := range m.Endpoints {
		if !v.ServedBy(e.Variant) {
			continue
		}
		i := slices.IndexFunc(all, func(p providing) bool { return p.Provider == e.Provider })
		if i < 0 {
			i, all = len(all), append(all, providing{Provider: e.Provider})
		}
		all[i].endpoints = append(all[i].endpoints, e)
	}
	for i := range all {
		all[i].best = listing.Cheapest(all[i].endpoints)
	}
	sorting.By(all, func(a, b providing) int {
		return cmp.Or(cmp.Compare(listing.Headline(a.best), listing.Headline(b.best)), strings.Compare(a.Name, b.Name))
	})
	return all
}

func (p *providing) append(o *object, stats Stats) {
	best := p.best
	var params catalog.Params
	for _, e := range p.endpoints {
		params |= paramsOf(e)
	}
	o.Object()
	o.text("id", providerID(p.ID))
	o.text("provider", p.ID)
	o.text("provider_model_id", best.UpstreamID)
	o.price("price_in_per_1k", best.Pricing.Base.Prompt)
	o.price("price_out_per_1k", best.Pricing.Base.Completion)
	o.text("quantization", quantization(best))
	o.text("data_retention_policy", string(cmp.Or(p.DataPolicy, catalog.PolicyUnknown)))
	o.moment("updated_at", p.updatedAt())
	latency := p.medianLatency(stats)
	if latency > 0 { // 0 is unknown: what was measured is not that
		latency = max(latency.Round(time.Millisecond), time.Millisecond)
	}
	if latency > 0 {
		o.integer("median_latency_ms", latency.Milliseconds())
	} else {
		o.null("median_latency_ms")
	}
	o.boolean("supports_streaming", best.Streams())
	o.boolean("supports_tools", params&catalog.ParamTools != 0)
	o.boolean("supports_response_format", params&catalog.ParamResponseFormat != 0)
	o.texts("supported_parameters", params.Names())
	appendPricing(o, &best.Pricing)
	o.Name("endpoints").Array()
	for _, e := range p.endpoints {
		appendEndpoint(o, e, stats)
	}
	o.EndArray()
	o.EndObject()
}

// providerID is the stable id of a provider.
func providerID(slug string) string {
	sum := sha256.Sum256([]byte(slug))
	return "prv_" + hex.EncodeToString(sum[:10])
}

func quantization(e *catalog.Endpoint) string { return cmp.Or(e.Quantization, "unknown") }

// updatedAt is when an offer of the provider last changed; where that is unknown, when the model appeared; zero where that is unknown, too.
func (p *providing) updatedAt() time.Time {
	var at time.Time
	for _, e := range p.endpoints {
		t := e.UpdatedAt
		if t.IsZero() {
			t = e.Model.Created
		}
		if t.After(at) {
			at = t
		}
	}
	return at.Truncate(time.Second)
}

// medianLatency is that of the endpoint whose prices are shown, or of the first one that is known; 0 when none is.
func (p *providing) medianLatency(stats Stats) time.Duration {
	_, latency, _ := measured(p.best, stats)
	for i := 0; latency == 0 && i < len(p.endpoints); i++ {
		_, latency, _ = measured(p.endpoints[i], stats)
	}
	return latency
}

// measured are the figures of an endpoint, zero where nothing is known.
func measured(e *catalog.Endpoint, stats Stats) (uptime float64, latency time.Duration, throughput float64) {
	if stats == nil {
		return 0, 0, 0
	}
	uptime, latency, throughput, known := stats.Stats(e.ID)
	if !known {
		return 0, 0, 0
	}
	return uptime, latency, throughput
}

func appendEndpoint(o *object, e *catalog.Endpoint, stats Stats) {
	o.Object()
	o.text("tag", e.Tag)
	o.text("provider_name", e.Provider.Name)
	o.text("quantization", quantization(e))
	o.text("service_tier", e.Tier)
	o.text("variant", e.Variant)
	appendPricing(o, &e.Pricing)
	o.integer("context_length", cmp.Or(e.ContextLength, e.Model.ContextLength))
	o.integer("max_completion_tokens", e.MaxCompletion)
	o.texts("supported_parameters", paramsOf(e).Names())
	o.boolean("supports_implicit_caching", e.ImplicitCache)
	if !e.Retires.IsZero() {
		o.text("retires", e.Retires.Format(time.DateOnly))
	}
	uptime, latency, throughput, known := 0.0, time.Duration(0), 0.0, false
	if stats != nil {
		uptime, latency, throughput, known = stats.Stats(e.ID)
	}
	o.measured("uptime_last_1d", uptime, known)
	o.measured("latency_last_30m_ms", float64(latency)/float64(time.Millisecond), known && latency > 0)
	o.measured("throughput_last_30m_tps", throughput, known && throughput > 0)
	o.EndObject()
}

// appendHours writes the prices of hours of the day: the first that fit count.
func appendHours(o *object, list []catalog.Hours) {
	o.Name("hours").Array()
	for i := range list {
		h := &list[i]
		o.Object()
		o.text("from", h.From)
		o.text("to", h.To)
		o.texts("days", h.Days)
		o.text("zone", cmp.Or(h.Zone, "UTC"))
		o.Name("pricing").Object()
		appendPrices(o, &h.Prices)
		o.EndObject()
		o.EndObject()
	}
	o.EndArray()
}

// appendPricing writes all prices of an endpoint, in rubles per what the keys say.
func appendPricing(o *object, p *catalog.Pricing) {
	o.Name("pricing").Object()
	if vat := rate.PartsOf(p.Rate).VAT; vat.Mode != "" { // the specification has no place for it
		o.Name("vat")
		appendVAT(o, vat)
	}
	o.Name("base").Object()
	appendPrices(o, &p.Base)
	o.priceIfSet("audio_per_minute", p.Minute)
	o.priceIfSet("characters_per_1k", p.Characters)
	o.EndObject()
	o.Name("variable_pricings").Array()
	for i := range p.Thresholds {
		o.Object()
		o.text("type", "prompt-threshold")
		o.integer("threshold", p.Thresholds[i].Above)
		o.Name("pricing").Object()
		appendPrices(o, &p.Thresholds[i].Prices)
		o.EndObject()
		o.EndObject()
	}
	o.EndArray()
	if len(p.Hours) > 0 {
		appendHours(o, p.Hours)
	}
	o.Name("per_request").Object()
	prices := p.Base.All()
	for i, k := range catalog.PriceKinds() {
		if !k.Tokens && k.Listed != "" {
			o.priceIfSet(k.Listed+"_rub", *prices[i])
		}
	}
	o.priceIfSet("request_rub", p.Base.Request)
	o.EndObject()
	o.Name("video").Object()
	o.Name("rules").Array()
	for i := range p.Video {
		o.Object()
		o.text("resolution", p.Video[i].Resolution)
		o.boolean("with_audio", p.Video[i].WithAudio)
		o.price("price_per_second_rub", p.Video[i].PerSecond)
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
	o.Name("image_prices").Array()
	for i := range p.Images {
		line := &p.Images[i]
		o.Object()
		o.text("component", line.Component)
		o.text("unit", line.Unit)
		o.text("variant", line.Variant)
		o.text("resolution", line.Resolution)
		o.price("price_rub", line.Price)
		o.text("basis", cmp.Or(line.Basis, catalog.BasisFixed))
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
}

// appendPrices writes the prices that are set: a threshold inherits the others from the base.
func appendPrices(o *object, p *catalog.Prices) {
	prices := p.All()
	for i, k := range catalog.PriceKinds() {
		if k.Listed != "" {
			o.priceIfSet(k.Listed, *prices[i])
		}
	}
}

// priceIfSet leaves out what is not charged on its own.
func (o *object) priceIfSet(name string, p money.Price) {
	if p.Set {
		o.price(name, p)
	}
}
