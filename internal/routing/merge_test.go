package routing_test

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/routing"
)

type prefs = routing.Preferences

var sameRat = cmp.Comparer(func(a, b *big.Rat) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 })

// Each case is one field of an account's preferences, of a request's, and what holds for the call.
func TestMerge(t *testing.T) {
	t.Parallel()
	price := func(prompt string) *routing.MaxPrice { return &routing.MaxPrice{Prompt: rat(prompt)} }
	for _, c := range []struct {
		name                   string
		account, request, want prefs
	}{
		{"nothing said", prefs{}, prefs{}, prefs{}},
		{"only of the account", prefs{Only: []string{"alpha"}}, prefs{}, prefs{Only: []string{"alpha"}}},
		{"only of the request", prefs{}, prefs{Only: []string{"alpha"}}, prefs{Only: []string{"alpha"}}},
		{"only of both: both hold", prefs{Only: []string{"alpha", "beta"}}, prefs{Only: []string{"beta/eu"}}, prefs{Only: []string{"beta/eu"}, Within: [][]string{{"alpha", "beta"}}}},
		{"only of an account, of its key, and of the request", prefs{Only: []string{"beta"}, Within: [][]string{{"alpha", "beta"}}}, prefs{Only: []string{"beta/eu"}},
			prefs{Only: []string{"beta/eu"}, Within: [][]string{{"alpha", "beta"}, {"beta"}}}},
		{"within stays when the request says nothing", prefs{Only: []string{"beta"}, Within: [][]string{{"alpha", "beta"}}}, prefs{},
			prefs{Only: []string{"beta"}, Within: [][]string{{"alpha", "beta"}}}},
		{"the default order of the request wins", prefs{Sort: "price"}, prefs{Sort: "exacto"}, prefs{Sort: "exacto"}},
		{"ignore of either", prefs{Ignore: []string{"alpha"}}, prefs{Ignore: []string{"beta"}}, prefs{Ignore: []string{"alpha", "beta"}}},
		{"zdr of the account", prefs{ZDR: true}, prefs{}, prefs{ZDR: true}},
		{"zdr of the request", prefs{}, prefs{ZDR: true}, prefs{ZDR: true}},
		{"data_collection", prefs{DenyCollection: true}, prefs{}, prefs{DenyCollection: true}},
		{"require_parameters", prefs{RequireParameters: true}, prefs{}, prefs{RequireParameters: true}},
		{"max_price: the request's is lower", prefs{MaxPrice: price("2")}, prefs{MaxPrice: price("1")}, prefs{MaxPrice: price("1")}},
		{"max_price: the account's is lower", prefs{MaxPrice: price("1")}, prefs{MaxPrice: price("2")}, prefs{MaxPrice: price("1")}},
		{"max_price of the account", prefs{MaxPrice: price("1")}, prefs{}, prefs{MaxPrice: price("1")}},
		{"max_price of the request", prefs{}, prefs{MaxPrice: price("1")}, prefs{MaxPrice: price("1")}},
		{"max_price: each ceiling by itself", prefs{MaxPrice: &routing.MaxPrice{Prompt: rat("1"), Image: rat("5"), Audio: rat("3")}},
			prefs{MaxPrice: &routing.MaxPrice{Prompt: rat("2"), Completion: rat("3"), Request: rat("4"), Audio: rat("1")}},
			prefs{MaxPrice: &routing.MaxPrice{Prompt: rat("1"), Completion: rat("3"), Request: rat("4"), Image: rat("5"), Audio: rat("1")}}},
		{"order of the account", prefs{Order: []string{"alpha"}}, prefs{}, prefs{Order: []string{"alpha"}}},
		{"order of the request wins", prefs{Order: []string{"alpha"}}, prefs{Order: []string{"beta"}}, prefs{Order: []string{"beta"}}},
		{"sort of the request wins, over an order too", prefs{Order: []string{"alpha"}, Sort: "price"}, prefs{Sort: "latency"}, prefs{Sort: "latency"}},
		{"sort and its partition belong together", prefs{Sort: "price", SortAcrossModels: true}, prefs{Sort: "latency"}, prefs{Sort: "latency"}},
		{"sort of the account", prefs{Sort: "price", SortAcrossModels: true}, prefs{}, prefs{Sort: "price", SortAcrossModels: true}},
		{"order of the request keeps the account's sort away", prefs{Sort: "price"}, prefs{Order: []string{"beta"}}, prefs{Order: []string{"beta"}}},
		{"no fallbacks of the account", prefs{NoFallbacks: true}, prefs{}, prefs{NoFallbacks: true}},
		{"fallbacks asked for", prefs{NoFallbacks: true}, prefs{AllowFallbacks: true}, prefs{AllowFallbacks: true}},
		{"fallbacks refused", prefs{AllowFallbacks: true}, prefs{NoFallbacks: true}, prefs{NoFallbacks: true}},
		{"quantizations of the account", prefs{Quantizations: []string{"fp8"}}, prefs{}, prefs{Quantizations: []string{"fp8"}}},
		{"quantizations of the request win", prefs{Quantizations: []string{"fp8"}}, prefs{Quantizations: []string{"bf16"}}, prefs{Quantizations: []string{"bf16"}}},
		{"preferred figures, each by itself", prefs{MinThroughput: routing.Cutoffs{P50: 1}, MaxLatency: routing.Cutoffs{P50: 2}}, prefs{MaxLatency: routing.Cutoffs{P90: 3}},
			prefs{MinThroughput: routing.Cutoffs{P50: 1}, MaxLatency: routing.Cutoffs{P90: 3}}},
	} {
		if diff := cmp.Diff(c.want, routing.Merge(c.account, c.request), sameRat); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// No request gets an endpoint that its account's preferences rule out, or that its own do.
func TestMergeOnlyNarrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		account := drawQuery(t).Preferences
		key := drawQuery(t).Preferences
		account.Within, key.Within, w.query.Preferences.Within = nil, nil, nil
		request := w.query.Preferences
		w.query.Preferences = routing.Merge(routing.Merge(account, key), request)
		plan, _ := w.choose()
		hard := func(p prefs) prefs {
			return prefs{Ignore: p.Ignore, ZDR: p.ZDR, DenyCollection: p.DenyCollection, RequireParameters: p.RequireParameters, Within: listed(p.Only),
				MaxPrice: w.query.Preferences.MaxPrice, Order: w.query.Preferences.Order, Only: w.query.Preferences.Only}
		}
		for _, a := range plan.Attempts {
			for whose, p := range map[string]prefs{"account": account, "key": key, "request": request} {
				q := w.query
				q.Preferences = hard(p)
				if v := violations(&q, a.Slug, a.Endpoint); len(v) > 0 {
					t.Fatalf("%s for %s violates %v of the %s", a.Endpoint.ID, a.Slug, v, whose)
				}
			}
		}
	})
}

// listed is a list of lists with list in it, if it has entries.
func listed(list []string) [][]string {
	if len(list) == 0 {
		return nil
	}
	return [][]string{list}
}
