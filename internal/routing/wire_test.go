package routing_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/routing"
)

// Endpoints that take a request as its client wrote it are preferred; where there is none, any other will do.
func TestWire(t *testing.T) {
	t.Parallel()
	snap, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{
			{ID: "native", Dialect: "anthropic", BaseURL: "https://native.test"},
			{ID: "second", Dialect: "anthropic", BaseURL: "https://second.test"},
			{ID: "other", Dialect: "openai", BaseURL: "https://other.test/v1"},
		},
		Offers: []catalog.Offer{offer("native", "v/m", "9", "9"), offer("second", "v/m", "8", "8"), offer("other", "v/m", "1", "1"), offer("other", "v/plain", "1", "1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		query   routing.Query
		want    []string
		dropped string // the reason of other
	}{
		{"the wire has endpoints", routing.Query{Models: []string{"v/m"}, Needs: routing.Needs{Wire: "anthropic"}}, []string{"second", "native"}, "wire"},
		{"it has one", routing.Query{Models: []string{"v/m"}, Needs: routing.Needs{Wire: "anthropic"}, Preferences: routing.Preferences{Ignore: []string{"second"}}}, []string{"native"}, "wire"},
		{"a filter leaves none", routing.Query{Models: []string{"v/m"}, Needs: routing.Needs{Wire: "anthropic"}, Preferences: routing.Preferences{Ignore: []string{"native", "second"}}}, []string{"other"}, ""},
		{"the model has none", routing.Query{Models: []string{"v/plain"}, Needs: routing.Needs{Wire: "anthropic"}}, []string{"other"}, ""},
		{"no wire is asked for", routing.Query{Models: []string{"v/m"}}, []string{"other", "second", "native"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.query.Explain = true
			plan, err := routing.Choose(c.query, snap)
			if err != nil || !slices.Equal(tags(plan), c.want) || dropped(plan)["other"] != c.dropped {
				t.Errorf("%v: %v, dropped %v", err, tags(plan), dropped(plan))
			}
			for _, k := range plan.Candidates {
				if k.DroppedBy == "wire" && !strings.Contains(k.Detail, "openai") {
					t.Errorf("detail %q", k.Detail)
				}
			}
		})
	}
}
