package httpapi

import (
	"cmp"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/money"
	"weir/internal/rawjson"
)

// appendModel writes a model as GET /v1/models lists it. Sources: completions of the specification, 11.3.
func appendModel(b []byte, it *listing.Offer) []byte {
	o := &object{rawjson.Writer{B: b}}
	m := it.Model
	pricing := it.Pricing()
	o.Object()
	o.text("id", it.ID)
	o.text("canonical_slug", m.Slug)
	o.text("base_model", baseModel(m.Slug))
	o.text("object", "model")
	o.text("type", "model") // this, display_name and created_at are the names of Anthropic's SDKs
	appendCreated(o, m)
	o.moment("created_at", m.KnownSince)
	o.text("owned_by", m.Vendor)
	o.text("vendor", m.Vendor)
	o.text("vendor_name", catalog.VendorName(m.Vendor))
	o.text("name", m.Name)
	o.text("display_name", m.Name)
	o.text("model_type", m.Type)
	appendDescription(o, m)
	o.integer("context_length", m.ContextLength)
	o.price("price_in_per_1k", pricing.Base.Prompt)
	o.price("price_out_per_1k", pricing.Base.Completion)
	appendTokenPricing(o, pricing, it.Endpoints)
	appendAbilities(o, it.Endpoints)
	o.EndObject()
	return o.B
}

// appendEmbeddingModel writes a model as GET /v1/embeddings/models lists it.
func appendEmbeddingModel(b []byte, it *listing.Offer) []byte {
	o := &object{rawjson.Writer{B: b}}
	m := it.Model
	pricing := it.Pricing()
	o.Object()
	o.text("id", it.ID)
	o.text("slug", it.ID)
	o.text("base_model", baseModel(m.Slug))
	o.text("object", "model")
	o.text("owned_by", m.Vendor)
	o.text("vendor", m.Vendor)
	o.text("vendor_name", catalog.VendorName(m.Vendor))
	o.text("display_name", m.Name)
	o.text("model_type", m.Type)
	appendDescription(o, m)
	appendCreated(o, m)
	o.integer("context_length", m.ContextLength)
	o.price("price_in_per_1k", pricing.Base.Prompt)
	o.price("price_out_per_1k", pricing.Base.Completion)
	o.EndObject()
	return o.B
}

// appendVideoModel writes a model as GET /v1/videos/models lists it.
func appendVideoModel(b []byte, it *listing.Offer) []byte {
	o := &object{rawjson.Writer{B: b}}
	m := it.Model
	facts := m.Video
	if facts == nil {
		facts = &catalog.VideoFacts{}
	}
	o.Object()
	o.text("id", it.ID)
	o.text("canonical_slug", m.Slug)
	o.text("name", m.Name)
	appendDescription(o, m)
	o.text("model_hub_id", m.HubID)
	appendCreated(o, m)
	o.texts("supported_resolutions", facts.Resolutions)
	o.texts("supported_aspect_ratios", facts.AspectRatios)
	o.texts("supported_sizes", facts.Sizes)
	o.texts("supported_frame_images", facts.FrameImages)
	o.texts("allowed_passthrough_parameters", facts.Passthrough)
	o.integers("supported_durations", facts.Durations)
	o.boolean("generate_audio", facts.Audio)
	o.boolean("seed", facts.Seed)
	o.null("creativity") // of models that enlarge videos; there are none, but OpenRouter's SDK requires the field
	o.null("upscale_factor")
	appendSKUs(o, it.Pricing(), facts.Audio)
	o.EndObject()
	return o.B
}

// appendSKUs writes what a video costs; of several keys that match, the most specific one holds. A model without sound has no price with it.
func appendSKUs(o *object, p *catalog.Pricing, sound bool) {
	o.Name("pricing_skus").Object()
	if p.Base.Request.Set {
		o.price("per-video", p.Base.Request)
	}
	for i := range p.Video {
		if p.Video[i].WithAudio && !sound {
			continue
		}
		key := "per-video-second"
		if r := p.Video[i].Resolution; r != "" {
			key += "-" + r
		}
		if p.Video[i].WithAudio {
			key += "-with-audio"
		}
		o.price(key, p.Video[i].PerSecond)
	}
	o.EndObject()
}

// appendCreated writes when a model appeared. SDKs require a number: where the day is unknown, it is one on which the model existed.
func appendCreated(o *object, m *catalog.Model) {
	if m.KnownSince.IsZero() {
		o.integer("created", 0)
		return
	}
	o.integer("created", m.KnownSince.Unix())
}

// appendDescription writes what is declared of a model, or a sentence of its facts in English and in Russian.
func appendDescription(o *object, m *catalog.Model) {
	o.text("description", cmp.Or(m.Description, m.Summary))
	o.text("description_ru", m.Russian())
}

// baseModel is the slug without a date at its end, as in "vendor/model-2026-01-31" or "vendor/model-20260131".
func baseModel(slug string) string {
	for _, form := range []string{"-####-##-##", "-########"} {
		if at := len(slug) - len(form); at > 0 && hasForm(slug[at:], form) {
			return slug[:at]
		}
	}
	return slug
}

// hasForm matches # with any digit and everything else with itself.
func hasForm(s, form string) bool {
	for i := range len(form) {
		if digit := '0' <= s[i] && s[i] <= '9'; form[i] == '#' && !digit || form[i] != '#' && form[i] != s[i] {
			return false
		}
	}
	return true
}

// appendTokenPricing writes the ten keys that clients multiply by tokens, and so per token, and what they are in.
func appendTokenPricing(o *object, pricing *catalog.Pricing, endpoints []*catalog.Endpoint) {
	p := &pricing.Base
	perToken := func(name string, price money.Price) {
		if !price.Set {
			o.text(name, "0")
			return
		}
		o.Name(name)
		o.B = append(price.AppendPerToken(append(o.B, '"')), '"')
	}
	o.Name("pricing").Object()
	perToken("prompt", p.Prompt)
	perToken("completion", p.Completion)
	perToken("input_cache_read", orPrice(p.CacheRead, p.Prompt)) // what has no price of its own costs what the prompt does
	perToken("input_cache_write", orPrice(p.CacheWrite, p.Prompt))
	perToken("internal_reasoning", p.Reasoning)
	perToken("audio_output", p.AudioOutput)
	if pricing.Minute.Set { // transcription by time
		o.price("audio", pricing.Minute)
		o.text("audio_unit", "minute")
	} else {
		perToken("audio", p.Audio)
	}
	o.price("image_output", p.ImageOutputEach)
	o.price("web_search", searchPrice(pricing, endpoints))
	o.price("request", p.Request)
	o.text("currency", "RUB")
	o.text("unit", "token")
	o.EndObject()
}

// searchPrice is the price of a web search: of the endpoint whose prices are shown or, since requests with a search go only to endpoints that have one,
// the lowest of the others.
func searchPrice(shown *catalog.Pricing, endpoints []*catalog.Endpoint) money.Price {
	best := shown.Base.WebSearch
	for _, e := range endpoints {
		if p := e.Pricing.Base.WebSearch; !shown.Base.WebSearch.Set && p.Set && (!best.Set || p.Nano < best.Nano) {
			best = p
		}
	}
	return best
}

func orPrice(p, usual money.Price) money.Price {
	if p.Set {
		return p
	}
	return usual
}

// appendAbilities writes what at least one endpoint can do.
func appendAbilities(o *object, endpoints []*catalog.Endpoint) {
	var params catalog.Params
	var input, output catalog.Modality
	var longest int64
	for _, e := range endpoints {
		params |= listing.Params(e)
		input |= e.Input
		output |= e.Output
		longest = max(longest, e.MaxCompletion)
	}
	o.texts("supported_parameters", params.Names())
	if longest > 0 {
		o.integer("max_completion_tokens", longest)
	}
	o.Name("architecture").Object()
	o.texts("input_modalities", input.Names())
	o.texts("output_modalities", output.Names())
	o.EndObject()
}
