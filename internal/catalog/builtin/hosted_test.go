package builtin_test

import (
	"net/url"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/rawjson"
)

// Each price of a hosted tool names the page that states it, the day on which it was read and whether that is the maker's; and what has no price says why.
func TestHostedPricesHaveSources(t *testing.T) {
	t.Parallel()
	data := builtin.HostedJSON
	if !rawjson.Valid(data) {
		t.Fatal("no JSON")
	}
	text := func(v []byte, name string) string { return rawjson.TextAt(v, name) }
	asOf, err := time.Parse(time.DateOnly, text(data, "as_of"))
	if err != nil {
		t.Fatal(err)
	}
	read := func(v []byte) bool {
		day, err := time.Parse(time.DateOnly, text(v, "read"))
		return err == nil && !day.After(asOf)
	}
	prices := 0
	for e := rawjson.ElementsOf(rawjson.Find(data, "tools")); e.Next(); {
		who := text(e.Value, "provider") + " " + text(e.Value, "model")
		if _, ok := builtin.Named(text(e.Value, "provider")); !ok {
			t.Errorf("%s is no provider", who)
		}
		sources := map[string][]byte{}
		for m := rawjson.MembersOf(rawjson.Find(e.Value, "sources")); m.Next(); {
			sources[string(m.Name)] = m.Value
		}
		for m := rawjson.MembersOf(rawjson.Find(e.Value, "usd")); m.Next(); {
			prices++
			name := string(m.Name)
			source := sources[name]
			delete(sources, name)
			address, err := url.Parse(text(source, "url"))
			if from := text(source, "from"); err != nil || address.Scheme != "https" || address.Host == "" || !read(source) || from != "maker" && from != "secondary" || len(text(source, "says")) < 20 {
				t.Errorf("%s: the price of %s has no source: %s", who, name, source)
			}
			if new(catalog.Prices).Field(name) == nil {
				t.Errorf("%s: nothing is called %s", who, name)
			}
		}
		if len(sources) > 0 {
			t.Errorf("%s: sources of what has no price: %v", who, sources)
		}
	}
	unpriced := map[string]bool{}
	for e := rawjson.ElementsOf(rawjson.Find(data, "unpriced")); e.Next(); {
		unpriced[text(e.Value, "provider")+" "+text(e.Value, "tool")] = true
		if !read(e.Value) || len(text(e.Value, "why")) < 20 {
			t.Errorf("%s", e.Value)
		}
	}
	if prices < 15 || !unpriced["openai image_generation"] || !unpriced["anthropic mcp"] {
		t.Errorf("%d prices, without one %v", prices, unpriced)
	}
}

// Offers have the prices of hosted tools by their provider and model, and none without a source.
func TestHostedPrices(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(all(), rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"anthropic/anthropic/claude-opus-4.6": "web_search, web_fetch, code_execution", "openai/openai/gpt-5": "web_search, file_search, code_execution, mcp",
		"xai/x-ai/grok-4.3": "web_search, file_search, code_execution, mcp", "google/google/gemini-3-flash-preview": "web_search", "vertex/google/gemini-2.5-pro": "web_search",
		"vertex/google/gemini-3-flash-preview": "web_search", "mistral/mistralai/mistral-large-2512": "",
	}
	search := map[string]string{"openai/openai/gpt-5": "1", "openai/openai/gpt-4.1": "2.5", "anthropic/anthropic/claude-opus-4.6": "1", "xai/x-ai/grok-4.3": "0.5", "google/google/gemini-2.5-pro": "3.5"}
	for i := range d.Offers {
		o := &d.Offers[i]
		id := o.Provider + "/" + o.Model
		if tools, ok := want[id]; ok && o.Tier == "" && o.Pricing.Base.Paid().String() != tools {
			t.Errorf("%s has prices for %q, want %q", id, o.Pricing.Base.Paid(), tools)
		}
		if p, ok := search[id]; ok && o.Pricing.Base.WebSearch.String() != p {
			t.Errorf("a search of %s costs %s, want %s", id, o.Pricing.Base.WebSearch, p)
		}
		if o.Pricing.Base.Paid()&^(1<<catalog.HostedTools-1) != 0 {
			t.Errorf("%s has a price for %s", id, o.Pricing.Base.Paid())
		}
	}
}
