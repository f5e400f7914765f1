package httpapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/money"
	"weir/internal/rate"
)

// getProviders serves GET /v1/models/{vendor}/{model}/providers. Source of the fields: completions of the specification, 11.4.
func (x *request) getProviders() error {
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
	for _, p := range listing.Providers(m, variant) {
		(&providing{p}).append(&o, x.api.Stats)
	}
	o.EndArray()
	o.EndObject()
	return x.sendOnce(&o)
}

// getEndpointsZDR serves GET /v1/endpoints/zdr: the endpoints that provider.zdr leaves, of all models.
func (x *request) getEndpointsZDR() error {
	hidden, err := x.hidden()
	if err != nil {
		return err
	}
	o := newObject(64 << 10)
	o.Object()
	o.Name("data").Array()
	for _, m := range x.api.Catalog().Models() {
		for _, offer := range listing.Offers(m) {
			if hidden[offer.ID] {
				continue
			}
			for _, e := range offer.Endpoints {
				if e.Provider.DataPolicy != catalog.PolicyZero || e.Tier == catalog.BatchTier { // a provider stores its batches until they are fetched
					continue
				}
				o.Object()
				o.text("model_id", offer.ID)
				o.text("model_name", m.Name)
				o.text("name", e.Provider.Name+": "+m.Name)
				appendEndpointMembers(&o, e, x.api.Stats)
				o.EndObject()
			}
		}
	}
	o.EndArray()
	o.EndObject()
	return x.sendOnce(&o)
}

// providing is one provider and its endpoints for a model.
type providing struct{ listing.Providing }

func (p *providing) append(o *object, stats listing.Stats) {
	best := p.Best
	var params catalog.Params
	for _, e := range p.Endpoints {
		params |= listing.Params(e)
	}
	o.Object()
	o.text("id", providerID(p.ID))
	o.text("provider", p.ID)
	o.text("provider_model_id", best.UpstreamID)
	o.price("price_in_per_1k", best.Pricing.Base.Prompt)
	o.price("price_out_per_1k", best.Pricing.Base.Completion)
	o.text("quantization", quantization(best))
	o.text("data_retention_policy", string(listing.Policy(p.Provider)))
	o.text("updated_at", p.updatedAt().UTC().Format(time.RFC3339))
	latency := p.medianLatency(stats)
	if latency > 0 { // 0 is unknown: what was measured is not that
		latency = max(latency.Round(time.Millisecond), time.Millisecond)
	}
	o.integer("median_latency_ms", latency.Milliseconds())
	o.boolean("supports_streaming", best.Streams())
	o.boolean("supports_tools", params&catalog.ParamTools != 0)
	o.boolean("supports_response_format", params&catalog.ParamResponseFormat != 0)
	o.texts("supported_parameters", params.Names())
	appendPricing(o, &best.Pricing)
	o.Name("endpoints").Array()
	for _, e := range p.Endpoints {
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

// updatedAt is when an offer of the provider last changed; where that is unknown, when the model appeared or was first known; the beginning of
// 1970 where that is unknown, too.
func (p *providing) updatedAt() time.Time {
	at := time.Unix(0, 0)
	for _, e := range p.Endpoints {
		t := e.UpdatedAt
		if t.IsZero() {
			t = e.Model.KnownSince
		}
		if t.After(at) {
			at = t
		}
	}
	return at.Truncate(time.Second)
}

// medianLatency is that of the endpoint whose prices are shown, or of the first one that is known; 0 when none is.
func (p *providing) medianLatency(stats listing.Stats) time.Duration {
	latency := listing.Measured(p.Best, stats).Latency
	for i := 0; latency == 0 && i < len(p.Endpoints); i++ {
		latency = listing.Measured(p.Endpoints[i], stats).Latency
	}
	return latency
}

func appendEndpoint(o *object, e *catalog.Endpoint, stats listing.Stats) {
	o.Object()
	appendEndpointMembers(o, e, stats)
	o.EndObject()
}

func appendEndpointMembers(o *object, e *catalog.Endpoint, stats listing.Stats) {
	o.text("tag", e.Tag)
	o.text("provider_name", e.Provider.Name)
	o.text("quantization", quantization(e))
	o.text("service_tier", e.Tier)
	o.text("variant", e.Variant)
	appendPricing(o, &e.Pricing)
	o.integer("context_length", cmp.Or(e.ContextLength, e.Model.ContextLength))
	o.integer("max_completion_tokens", e.MaxCompletion)
	o.texts("supported_parameters", listing.Params(e).Names())
	o.boolean("supports_implicit_caching", e.ImplicitCache)
	if !e.Retires.IsZero() {
		o.text("retires", e.Retires.Format(time.DateOnly))
	}
	shown := listing.Measured(e, stats)
	o.figure("uptime_last_1d", shown.Uptime)
	o.figure("latency_last_30m_ms", float64(shown.Latency)/float64(time.Millisecond))
	o.figure("throughput_last_30m_tps", shown.Throughput)
	o.integer("samples_last_30m", shown.HalfHour)
	o.integer("samples_last_1d", shown.OneDay)
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
	for i, kind := range catalog.NamedRates() {
		o.priceIfSet(kind.Listed, *p.Rates.Each()[i])
	}
	if o.B[len(o.B)-1] == '{' { // videos and images by the piece: their tokens cost nothing
		o.price("prompt_per_1k", p.Base.Prompt)
		o.price("completion_per_1k", p.Base.Completion)
	}
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

// appendVAT writes which tax prices contain, null for none.
func appendVAT(o *object, v rate.VAT) {
	if v.Mode == "" {
		o.Null()
		return
	}
	o.Object()
	o.text("mode", v.Mode)
	o.text("percent", v.Percent)
	o.EndObject()
}
