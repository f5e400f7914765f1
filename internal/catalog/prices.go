package catalog

import "weir/internal/money"

// Prices are rubles for one endpoint. Token prices are per 1000 tokens, the others per one.
// What is not Set is not charged on its own: its tokens fall to the price that PriceKinds names.
type Prices struct {
	Prompt          money.Price // per 1000 uncached prompt tokens
	Completion      money.Price // per 1000 completion tokens
	CacheRead       money.Price // per 1000
	CacheWrite      money.Price // per 1000, five-minute cache
	CacheWrite1h    money.Price // per 1000, one-hour cache
	Reasoning       money.Price // per 1000
	Audio           money.Price // per 1000 audio prompt tokens
	AudioOutput     money.Price // per 1000 audio completion tokens
	Image           money.Price // per 1000 image prompt tokens
	ImageOutput     money.Price // per 1000 image completion tokens
	Request         money.Price // per request
	WebSearch       money.Price // per search
	ImageOutputEach money.Price // per image produced
	WebFetch        money.Price // per page that the provider fetches
	FileSearch      money.Price // per search in files that the provider keeps
	CodeExecution   money.Price // per container that the provider runs code in, however often
	MCP             money.Price // per call of a tool of somebody's server
}

// PriceKind describes one price of Prices. The configuration, the admin API, the public lists, the importer and the bill derive what they
// know of prices from PriceKinds; docs/adding-a-price.md shows what a new one needs.
type PriceKind struct {
	Name   string // in configuration and in the admin API: "cache_write_1h"
	Listed string // in the public lists: "cache_write_1h_per_1k"; "" where it has a place of its own
	Tokens bool   // per 1000 tokens; else per one
	Else   string // Name of the price that its tokens fall to; "" for a whole, and for what is not tokens
	Of     func(*Prices) *money.Price
}

// priceKinds has a row for each field of Prices, in an order in which what others fall to comes first.
var priceKinds = [...]PriceKind{
	{"prompt", "prompt_per_1k", true, "", func(p *Prices) *money.Price { return &p.Prompt }},
	{"completion", "completion_per_1k", true, "", func(p *Prices) *money.Price { return &p.Completion }},
	{"cache_read", "cache_read_per_1k", true, "prompt", func(p *Prices) *money.Price { return &p.CacheRead }},
	{"cache_write", "cache_write_per_1k", true, "prompt", func(p *Prices) *money.Price { return &p.CacheWrite }},
	{"cache_write_1h", "cache_write_1h_per_1k", true, "cache_write", func(p *Prices) *money.Price { return &p.CacheWrite1h }},
	{"reasoning", "reasoning_per_1k", true, "completion", func(p *Prices) *money.Price { return &p.Reasoning }},
	{"audio", "audio_per_1k", true, "prompt", func(p *Prices) *money.Price { return &p.Audio }},
	{"audio_output", "audio_output_per_1k", true, "completion", func(p *Prices) *money.Price { return &p.AudioOutput }},
	{"image", "image_per_1k", true, "prompt", func(p *Prices) *money.Price { return &p.Image }},
	{"image_output", "image_output_tokens_per_1k", true, "completion", func(p *Prices) *money.Price { return &p.ImageOutput }},
	{"request", "", false, "", func(p *Prices) *money.Price { return &p.Request }},
	{"image_output_each", "image_output", false, "", func(p *Prices) *money.Price { return &p.ImageOutputEach }},
	{"web_search", "web_search", false, "", func(p *Prices) *money.Price { return &p.WebSearch }},
	{"web_fetch", "web_fetch", false, "", func(p *Prices) *money.Price { return &p.WebFetch }},
	{"file_search", "file_search", false, "", func(p *Prices) *money.Price { return &p.FileSearch }},
	{"code_execution", "code_execution", false, "", func(p *Prices) *money.Price { return &p.CodeExecution }},
	{"mcp", "mcp", false, "", func(p *Prices) *money.Price { return &p.MCP }},
}

// PriceKinds lists the prices that an endpoint can have. The caller must not change it.
func PriceKinds() []PriceKind { return priceKinds[:] }

// PriceKindOf is the kind of that name, nil when there is none.
func PriceKindOf(name string) *PriceKind {
	for i := range priceKinds {
		if priceKinds[i].Name == name {
			return &priceKinds[i]
		}
	}
	return nil
}

// Field is the price of that name, nil when there is none.
func (p *Prices) Field(name string) *money.Price {
	if k := PriceKindOf(name); k != nil {
		return k.Of(p)
	}
	return nil
}

// Charged is what is charged for one of the kind at p: its own price, or the price that its tokens fall to.
func (k *PriceKind) Charged(p *Prices) money.Price {
	for k.Else != "" && !k.Of(p).Set {
		k = PriceKindOf(k.Else)
	}
	return *k.Of(p)
}

// PriceNames are the names of PriceKinds.
func PriceNames() []string {
	names := make([]string, len(priceKinds))
	for i := range priceKinds {
		names[i] = priceKinds[i].Name
	}
	return names
}

// PerTokens reports whether the price of that name is for 1000 tokens.
func PerTokens(name string) bool {
	k := PriceKindOf(name)
	return k != nil && k.Tokens
}

// fields are the prices in the order of PriceKinds.
func (p *Prices) fields() (all [len(priceKinds)]*money.Price) {
	for i := range priceKinds {
		all[i] = priceKinds[i].Of(p)
	}
	return all
}
