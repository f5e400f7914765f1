package catalog_test

import (
	"testing"

	"weir/internal/catalog"
)

func TestOffersSearch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, dialect, passed string
		quirk                 bool
		params                catalog.Params
		want                  bool
	}{
		{"its own wire", "anthropic", "anthropic", false, 0, true},
		{"another wire of the client, whatever the endpoint can", "openai", "anthropic", false, catalog.ParamWebSearchOptions, false},
		{"a provider with both wires", "openai", "responses", true, 0, true},
		{"a provider with both wires, another client", "openai", "anthropic", true, 0, false},
		{"a client of Gemini's wire is translated", "anthropic", "gemini", false, 0, true},
		{"chat", "bedrock", "", false, 0, false},
		{"chat, and the endpoint takes a search", "openai", "", false, catalog.ParamWebSearchOptions, true},
	} {
		ep := &catalog.Endpoint{Provider: &catalog.Provider{Dialect: c.dialect, Quirks: catalog.Quirks{Responses: c.quirk}}, Params: c.params}
		if got := ep.OffersSearch(c.passed); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestBudgetsReasoning(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[string]bool{"anthropic": true, "bedrock": true, "openai": false, "gemini": false, "responses": false, "": false} {
		if p := (&catalog.Provider{Dialect: dialect}); p.BudgetsReasoning() != want {
			t.Errorf("%q: %t", dialect, !want)
		}
	}
}
