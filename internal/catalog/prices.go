package catalog

import "weir/internal/money"

// priceNames are the names of prices in files, in the order of the struct.
var priceNames = [...]string{"prompt", "completion", "cache_read", "cache_write", "cache_write_1h", "reasoning", "audio", "audio_output",
	"image", "image_output", "request", "web_search", "image_output_each", "web_fetch", "file_search", "code_execution", "mcp"}

// tokenPrices is how many of priceNames, from the start, are per 1000 tokens.
const tokenPrices = 10

// PriceNames lists the names that Field knows.
func PriceNames() []string { return priceNames[:] }

// PerTokens reports whether the price of that name is for tokens, and not for requests, searches or images.
func PerTokens(name string) bool {
	for _, n := range priceNames[:tokenPrices] {
		if n == name {
			return true
		}
	}
	return false
}

// Field is the price of that name, nil when there is none.
func (p *Prices) Field(name string) *money.Price {
	for i, n := range priceNames {
		if n == name {
			return p.fields()[i]
		}
	}
	return nil
}

// fields are the prices in the order of priceNames.
func (p *Prices) fields() [len(priceNames)]*money.Price {
	return [...]*money.Price{&p.Prompt, &p.Completion, &p.CacheRead, &p.CacheWrite, &p.CacheWrite1h, &p.Reasoning, &p.Audio, &p.AudioOutput,
		&p.Image, &p.ImageOutput, &p.Request, &p.WebSearch, &p.ImageOutputEach, &p.WebFetch, &p.FileSearch, &p.CodeExecution, &p.MCP}
}
