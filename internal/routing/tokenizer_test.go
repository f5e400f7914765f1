package routing_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/routing"
)

// Tokens go to the models that they were made for, and to servers that take each model's own.
func TestTokenized(t *testing.T) {
	t.Parallel()
	d := catalog.Declared{Providers: []catalog.Provider{
		{ID: "open", Name: "Open", Dialect: "openai", BaseURL: "https://open.example/v1"},
		{ID: "own", Name: "Own", Dialect: "openai", BaseURL: "https://own.example/v1", Quirks: catalog.Quirks{TokenInput: true}},
		{ID: "other", Name: "Other", Dialect: "cohere", BaseURL: "https://other.example"},
	}}
	for slug, providers := range map[string][]string{"openai/embed": {"open", "other"}, "v/embed": {"open", "own"}, "v/lonely": {"open", "other"}} {
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeEmbedding})
		for _, p := range providers {
			d.Offers = append(d.Offers, catalog.Offer{Provider: p, Model: slug, UpstreamID: "e", Input: catalog.Text, Output: catalog.Text,
				Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: money.Price{Nano: 1, Set: true}}}})
		}
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	choose := func(slug string, tokenized bool) (ids []string, err error) {
		plan, err := routing.Choose(routing.Query{Models: []string{slug}, Type: catalog.TypeEmbedding, Needs: routing.Needs{Input: catalog.Text, Tokenized: tokenized, N: 1}, MaxAttempts: 9, Explain: true}, snap)
		for i := range plan.Attempts {
			ids = append(ids, plan.Attempts[i].Endpoint.Provider.ID)
		}
		return ids, err
	}
	for slug, want := range map[string]string{"openai/embed": "open", "v/embed": "own"} {
		if ids, err := choose(slug, true); err != nil || len(ids) != 1 || ids[0] != want {
			t.Errorf("%s: %v, %v", slug, ids, err)
		}
		if ids, err := choose(slug, false); err != nil || len(ids) != 2 {
			t.Errorf("%s of texts: %v, %v", slug, ids, err)
		}
	}
	if _, err := choose("v/lonely", true); err == nil || fault.From(err).Kind != fault.Invalid || fault.From(err).Param != "input" {
		t.Errorf("%v", err)
	}
}
