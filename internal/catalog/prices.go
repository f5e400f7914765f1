package catalog

import (
	"slices"

	"weir/internal/money"
)

// Prices are rubles for one endpoint. Token prices are per 1000 tokens, the others per one. A price that is not Set is not charged
// separately: its tokens are charged by the price that PriceKinds names.
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
	CacheReadAudio  money.Price // per 1000 audio prompt tokens that were read from the cache
}

// PriceKind describes one price of Prices. The configuration, the admin API, the public lists, the importer and the bill are all driven
// by PriceKinds; docs/adding-a-price.md shows what a new one needs.
type PriceKind struct {
	Name   string // in configuration and in the admin API: "cache_write_1h"
	Listed string // in the public lists: "cache_write_1h_per_1k"; "" where it has another place
	Tokens bool   // per 1000 tokens; else per one
	Else   string // Name of the price that its tokens fall to; "" for a whole, and for what is not tokens
}

// priceKinds has a row for each price of Prices.All, in that order: a price comes before those that fall back to it.
var priceKinds = [...]PriceKind{
	{"prompt", "prompt_per_1k", true, ""},
	{"completion", "completion_per_1k", true, ""},
	{"cache_read", "cache_read_per_1k", true, "prompt"},
	{"cache_write", "cache_write_per_1k", true, "prompt"},
	{"cache_write_1h", "cache_write_1h_per_1k", true, "cache_write"},
	{"reasoning", "reasoning_per_1k", true, "completion"},
	{"audio", "audio_per_1k", true, "prompt"},
	{"audio_output", "audio_output_per_1k", true, "completion"},
	{"image", "image_per_1k", true, "prompt"},
	{"image_output", "image_output_tokens_per_1k", true, "completion"},
	{"request", "", false, ""},
	{"image_output_each", "image_output", false, ""},
	{"web_search", "web_search", false, ""},
	{"web_fetch", "web_fetch", false, ""},
	{"file_search", "file_search", false, ""},
	{"code_execution", "code_execution", false, ""},
	{"mcp", "mcp", false, ""},
	{"cache_read_audio", "cache_read_audio_per_1k", true, "cache_read"},
}

// All are the prices of p, in the order of PriceKinds.
func (p *Prices) All() [len(priceKinds)]*money.Price {
	return [...]*money.Price{&p.Prompt, &p.Completion, &p.CacheRead, &p.CacheWrite, &p.CacheWrite1h, &p.Reasoning, &p.Audio, &p.AudioOutput,
		&p.Image, &p.ImageOutput, &p.Request, &p.ImageOutputEach, &p.WebSearch, &p.WebFetch, &p.FileSearch, &p.CodeExecution, &p.MCP, &p.CacheReadAudio}
}

// PriceKinds lists the prices that an endpoint can have. The caller must not change it.
func PriceKinds() []PriceKind { return priceKinds[:] }

// Rates are the prices of an endpoint for other units than tokens and pieces. Neither the length of a prompt nor the hour changes them.
type Rates struct {
	Minute     money.Price // per minute of audio input, for transcription priced by time
	Characters money.Price // per 1000 characters that go in, for speech
	Megapixel  money.Price // per million pixels of images that come out
	Second     money.Price // per second of video output
}

// RateID is the number of a price of Rates.
type RateID int

// The prices of Rates, in the order of Each.
const (
	NoRate RateID = iota
	RateMinute
	RateCharacters
	RateMegapixel
	RateSecond
	endOfRates
)

// RateKind describes one price of Rates. Like PriceKinds, RateKinds drive the declarations, the admin API, the public lists, the checks and
// the bill.
type RateKind struct {
	Name      string // in configuration and in the admin API: "minute"
	Listed    string // in the public lists
	Unit      string // where a list has one word for it
	Per       string // in words
	Thousands bool   // in rubles per 1000 and in dollars per million; else per one
	Lined     bool   // declared by lines with a variant, those of images and videos, and not by its name
	Type      string // of the models that are charged by it
}

var rateKinds = [endOfRates - 1]RateKind{
	RateMinute - 1:     {"minute", "audio_per_minute", "minute", "minute of sound", false, false, TypeTranscription},
	RateCharacters - 1: {"characters", "characters_per_1k", "characters_1k", "1000 characters", true, false, TypeSpeech},
	RateMegapixel - 1:  {"megapixel", "", UnitMegapixel, "megapixel", false, true, TypeImage},
	RateSecond - 1:     {"second", "", UnitSecond, "second", false, true, TypeVideo},
}

// NamedRates lists the prices of Rates that are declared by their name. They come first among those of Each. The caller must not change it.
func NamedRates() []RateKind {
	return rateKinds[:slices.IndexFunc(rateKinds[:], func(k RateKind) bool { return k.Lined })]
}

// Each are the prices of r, in the order of their numbers.
func (r *Rates) Each() [len(rateKinds)]*money.Price {
	return [...]*money.Price{&r.Minute, &r.Characters, &r.Megapixel, &r.Second}
}

// Rate is the price of that number.
func (r *Rates) Rate(id RateID) *money.Price { return r.Each()[id-1] }

// NamedRate is the price of that name and its kind; nil for other names, and for those declared by lines.
func (r *Rates) NamedRate(name string) (*money.Price, *RateKind) {
	for i := range NamedRates() {
		if rateKinds[i].Name == name {
			return r.Each()[i], &rateKinds[i]
		}
	}
	return nil, nil
}

// RatesSum adds them up, for comparisons of endpoints of one model.
func (r *Rates) RatesSum() (n int64) {
	for _, price := range r.Each() {
		n += price.Nano
	}
	return n
}

// PriceKindOf is the index in PriceKinds of the kind of that name, or -1.
func PriceKindOf(name string) int {
	for i := range priceKinds {
		if priceKinds[i].Name == name {
			return i
		}
	}
	return -1
}

// Field is the price of that name, or nil.
func (p *Prices) Field(name string) *money.Price {
	if i := PriceKindOf(name); i >= 0 {
		return p.All()[i]
	}
	return nil
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
	i := PriceKindOf(name)
	return i >= 0 && priceKinds[i].Tokens
}
