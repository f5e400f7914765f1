package accountapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/routing"
)

// resting is a health in which some endpoints take no calls.
type resting map[string]bool

func (r resting) Of(endpoint string) routing.Health {
	return routing.Health{Ejected: r[endpoint]}
}

func TestTroubles(t *testing.T) {
	t.Parallel()
	free := money.Price{Set: true}
	price := catalog.Pricing{Base: catalog.Prices{Prompt: free, Completion: free}}
	d := catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.invalid/v1"}, {ID: "q", Dialect: "openai", BaseURL: "https://q.invalid/v1"}}}
	for _, slug := range []string{"a/both", "b/one"} {
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Name: slug})
		d.Offers = append(d.Offers, catalog.Offer{Provider: "p", Model: slug, Pricing: price})
	}
	d.Offers = append(d.Offers, catalog.Offer{Provider: "q", Model: "a/both", Pricing: price})
	s, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	both, _ := s.Model("a/both")
	one, _ := s.Model("b/one")
	fact := func(k notify.Kind, slug string) notify.Fact { return notify.Fact{Kind: k, Ref: slug, Name: slug} }
	for name, c := range map[string]struct {
		rest resting
		want []notify.Fact
	}{
		"all well":   {nil, nil},
		"one of two": {resting{both.Endpoints[0].ID: true}, []notify.Fact{fact(modelTrouble, "a/both")}},
		"the worse first": {
			resting{both.Endpoints[0].ID: true, one.Endpoints[0].ID: true}, []notify.Fact{fact(modelDown, "b/one"), fact(modelTrouble, "a/both")},
		},
		"all of two": {resting{both.Endpoints[0].ID: true, both.Endpoints[1].ID: true}, []notify.Fact{fact(modelDown, "a/both")}},
	} {
		d := Deps{Catalog: func() *catalog.Snapshot { return s }, Health: c.rest}
		if diff := cmp.Diff(c.want, d.troubles([]string{"a/both", "b/one", "gone/gone"})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
