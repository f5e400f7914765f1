package routing_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/routing"
)

// placed gives an offer an operator's place and weight.
func placed(place, weight int64) func(*catalog.Offer) {
	return func(o *catalog.Offer) { o.Place, o.Weight = place, weight }
}

// The operator's places come before prices, weights before both within a place, and a request's own wish before all of them.
func TestPlacesAndWeights(t *testing.T) {
	t.Parallel()
	places := []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("beta", "v/m", "4", "4", placed(2, 0)), offer("gamma", "v/m", "9", "9", placed(1, 1)), offer("delta", "v/m", "8", "8", placed(1, 3))}
	weights := []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("beta", "v/m", "9", "9", placed(0, 9))}
	failing := func(ids ...string) func(string) routing.Health {
		return func(id string) routing.Health { return routing.Health{Failing: slices.Contains(ids, id)} }
	}
	for name, c := range map[string]struct {
		offers []catalog.Offer
		u      float64
		health func(string) routing.Health
		pref   routing.Preferences
		prefer string
		want   []string
		reason string
		score  float64
	}{
		"three of four first attempts": {places, 0.7, nil, routing.Preferences{}, "", []string{"delta", "gamma", "beta", "alpha"}, routing.ReasonWeight, 0.75},
		"the fourth":                   {places, 0.8, nil, routing.Preferences{}, "", []string{"gamma", "delta", "beta", "alpha"}, routing.ReasonWeight, 0.25},
		"one without a weight has one": {weights, 0.05, nil, routing.Preferences{}, "", []string{"alpha", "beta"}, routing.ReasonWeight, 0.1},
		"the other by its weight":      {weights, 0.15, nil, routing.Preferences{}, "", []string{"beta", "alpha"}, routing.ReasonWeight, 0.9},
		"the first place fails":        {places, 0, failing("gamma/v/m", "delta/v/m"), routing.Preferences{}, "", []string{"beta", "alpha", "delta", "gamma"}, routing.ReasonWeight, 1},
		"half of the first fails":      {places, 0, failing("delta/v/m"), routing.Preferences{}, "", []string{"gamma", "beta", "alpha", "delta"}, routing.ReasonWeight, 1},
		"sorted by the request":        {places, 0, nil, routing.Preferences{Sort: "price"}, "", []string{"alpha", "beta", "delta", "gamma"}, routing.ReasonPrice, 2e3},
		"ordered by the request":       {places, 0, nil, routing.Preferences{Order: []string{"beta"}}, "", []string{"beta", "alpha", "delta", "gamma"}, routing.ReasonOrder, 1},
		"only what the request allows": {places, 0, nil, routing.Preferences{Ignore: []string{"delta", "gamma"}}, "", []string{"beta", "alpha"}, routing.ReasonWeight, 1},
		"where the prompt is cached":   {places, 0, nil, routing.Preferences{}, "alpha/v/m", []string{"alpha", "delta", "gamma", "beta"}, routing.ReasonSticky, 2e3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Explain: true, Health: c.health, Preferences: c.pref, Prefer: c.prefer, Rand: func() float64 { return c.u }}, snapshot(t, c.offers...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, tags(plan)); d != "" {
				t.Errorf("attempts (-want +got):\n%s", d)
			}
			first := plan.Candidates[slices.IndexFunc(plan.Candidates, func(x routing.Candidate) bool { return x.Order == 1 })]
			if score := first.Score; first.Reason != c.reason || score < 2e3 && c.score < 2e3 && (score < c.score-1e-9 || score > c.score+1e-9) {
				t.Errorf("the first has reason %s and score %v, want %s and %v", first.Reason, score, c.reason, c.score)
			}
		})
	}
}

// Whatever places there are: no healthy endpoint is tried after one with a later place, and without places nothing is as if there were.
func TestPlacesHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var offers []catalog.Offer
		place := map[string]int64{}
		for _, id := range []string{"alpha", "beta", "gamma", "delta"} {
			p := rapid.Int64Range(0, 3).Draw(r, "place of "+id)
			offers = append(offers, offer(id, "v/m", rapid.SampledFrom([]string{"0", "1", "2", "9"}).Draw(r, "price"), "1", placed(p, rapid.Int64Range(0, 3).Draw(r, "weight"))))
			if place[id] = p; p == 0 {
				place[id] = catalogLast
			}
		}
		plan, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Rand: func() float64 { return rapid.Float64Range(0, 0.999).Draw(r, "u") }}, snapshot(t, offers...))
		if err != nil {
			r.Fatal(err)
		}
		got := tags(plan)
		if len(got) != len(offers) || !slices.IsSortedFunc(got, func(a, b string) int { return int(place[a] - place[b]) }) {
			r.Fatalf("%v with places %v", got, place)
		}
	})
}

const catalogLast = 1000

// A list of allowed models from before a model was renamed goes on to hold; a star lets in only what the model's own name says.
func TestAllowedByAnotherName(t *testing.T) {
	t.Parallel()
	snap, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "alpha", Dialect: "openai", BaseURL: "https://alpha.test/v1"}},
		Offers:    []catalog.Offer{offer("alpha", "new/m", "1", "1")},
		Aliases:   map[string]string{"old/m": "new/m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]bool{"old/m": true, "new/*": true, "new/m": true, "old/*": false, "old/n": false} {
		for _, asked := range []string{"old/m", "new/m"} {
			_, err := routing.Choose(routing.Query{Models: []string{asked}, Preferences: routing.Preferences{Models: [][]string{{pattern}}}}, snap)
			if (err == nil) != want {
				t.Errorf("%s asked for, %s allowed: %v", asked, pattern, err)
			}
		}
	}
}
