package routing_test

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/routing"
)

// world is a random catalog with a random question about it.
type world struct {
	snap   *catalog.Snapshot
	query  routing.Query
	health map[string]routing.Health
	rand   []float64
}

func drawWorld(t *rapid.T) world {
	providers := []string{"p0", "p1", "p2", "p3"}
	policies := []catalog.DataPolicy{catalog.PolicyZero, catalog.PolicyTransient, catalog.PolicyRetained, catalog.PolicyTraining, catalog.PolicyUnknown}
	d := catalog.Declared{}
	for _, id := range providers {
		d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: strings.ToUpper(id) + " Inc", Dialect: "openai", BaseURL: "http://" + id + ".test",
			DataPolicy: rapid.SampledFrom(policies).Draw(t, "policy")})
	}
	w := world{health: map[string]routing.Health{}}
	seen := map[string]bool{}
	for range rapid.IntRange(1, 24).Draw(t, "offers") {
		o := drawOffer(t, rapid.SampledFrom(providers).Draw(t, "provider"))
		key := o.Provider + o.Model + o.Region + o.Variant + o.Tier
		if !seen[key] {
			seen[key] = true
			d.Offers = append(d.Offers, o)
		}
	}
	d.Models = []catalog.ModelInfo{{Slug: "v/a"}, {Slug: "v/b"}, {Slug: "v/c"}}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	w.snap = snap
	for _, m := range snap.Models() {
		for _, ep := range m.Endpoints {
			h := routing.Health{Failing: rapid.Bool().Draw(t, "failing"), CoolDown: rapid.Bool().Draw(t, "cool-down"), Ejected: rapid.IntRange(0, 3).Draw(t, "ejected") == 0}
			if rapid.Bool().Draw(t, "measured") {
				h.Latency[0] = rapid.Float64Range(0.1, 5).Draw(t, "latency")
				h.Throughput[0] = rapid.Float64Range(1, 100).Draw(t, "throughput")
				for i := 1; i < 4; i++ {
					h.Latency[i] = h.Latency[i-1] + rapid.Float64Range(0, 2).Draw(t, "slower")
					h.Throughput[i] = h.Throughput[i-1] * rapid.Float64Range(0.5, 1).Draw(t, "slower still")
				}
			}
			w.health[ep.ID] = h
		}
	}
	w.rand = rapid.SliceOfN(rapid.Float64Range(0, 0.999999), 8, 8).Draw(t, "rand")
	w.query = drawQuery(t)
	if all := snap.Models(); rapid.Bool().Draw(t, "prefers") {
		for _, ep := range all[rapid.IntRange(0, len(all)-1).Draw(t, "preferred model")].Endpoints {
			w.query.Prefer = ep.ID
		}
	}
	return w
}

func drawOffer(t *rapid.T, provider string) catalog.Offer {
	nano := func(name string) money.Price {
		return money.Price{Nano: rapid.SampledFrom([]int64{0, 1, 500, 1000, 2000, 3000}).Draw(t, name), Set: true}
	}
	o := catalog.Offer{
		Provider: provider, Model: rapid.SampledFrom([]string{"v/a", "v/b", "v/c"}).Draw(t, "model"),
		Region:       rapid.SampledFrom([]string{"", "eu", "us"}).Draw(t, "region"),
		Tier:         rapid.SampledFrom([]string{"default", "default", "flex", "priority"}).Draw(t, "tier"),
		Variant:      rapid.SampledFrom([]string{"standard", "standard", "free", "thinking", "extended"}).Draw(t, "variant"),
		Quantization: rapid.SampledFrom([]string{"", "fp4", "mxfp4", "fp8", "bf16"}).Draw(t, "quantization"),
		Params:       catalog.Params(rapid.Uint32Range(1, uint32(catalog.AllParams)).Draw(t, "params")),
		Input:        catalog.Text | catalog.Modality(rapid.IntRange(0, 3).Draw(t, "input")),
		Output:       catalog.Text | catalog.Modality(rapid.IntRange(0, 3).Draw(t, "output")),
		MaxN:         rapid.IntRange(0, 3).Draw(t, "max n"),
	}
	o.ContextLength = rapid.SampledFrom([]int64{0, 100, 200}).Draw(t, "context")
	o.MaxCompletion = rapid.SampledFrom([]int64{0, 50, 100}).Draw(t, "completion")
	o.Pricing.Base = catalog.Prices{Prompt: nano("prompt"), Completion: nano("completion"), Request: nano("request")}
	if rapid.IntRange(0, 3).Draw(t, "search priced") > 0 {
		o.Pricing.Base.WebSearch = nano("search")
	}
	if rapid.Bool().Draw(t, "mcp priced") {
		o.Pricing.Base.MCP = nano("mcp")
	}
	if rapid.Bool().Draw(t, "threshold") {
		o.Pricing.Thresholds = []catalog.Threshold{{Above: 60, Prices: catalog.Prices{Prompt: nano("dear prompt")}}}
	}
	return o
}

func drawQuery(t *rapid.T) routing.Query {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"p0", "P1", "p2 inc", "p3/eu", "p0/flex", "p1/us/priority", "nobody"}), 0, 3)
	some := func(label string) []string { // most requests say nothing
		if rapid.IntRange(0, 2).Draw(t, label+"?") > 0 {
			return nil
		}
		return names.Draw(t, label)
	}
	rarely := func(label string) bool { return rapid.IntRange(0, 4).Draw(t, label) == 0 }
	q := routing.Query{
		Models:      rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"v/a", "v/b", "v/c", "v/a:free", "v/b:floor", "v/c:nitro", "v/a:thinking", "v/b:extended", "v/c:online"}), 1, 4, rapid.ID).Draw(t, "models"),
		MaxAttempts: rapid.IntRange(0, 8).Draw(t, "max"),
		Explain:     true,
		Preferences: routing.Preferences{
			Order: some("order"), Only: some("only"), Ignore: some("ignore"), NoFallbacks: rarely("no fallbacks"), RequireParameters: rarely("require"),
			DenyCollection: rarely("deny"), ZDR: rarely("zdr"), Sort: rapid.SampledFrom([]string{"", "price", "throughput", "latency", "exacto"}).Draw(t, "sort"),
			SortAcrossModels: rapid.Bool().Draw(t, "across"), Within: listed(some("within")),
			MinThroughput: routing.Cutoffs{P50: rapid.SampledFrom([]float64{0, 0, 50}).Draw(t, "min throughput"), P90: rapid.SampledFrom([]float64{0, 0, 70}).Draw(t, "p90")},
			MaxLatency:    routing.Cutoffs{P75: rapid.SampledFrom([]float64{0, 0, 3}).Draw(t, "max latency"), P99: rapid.SampledFrom([]float64{0, 0, 6}).Draw(t, "p99")},
		},
		Needs: routing.Needs{
			Params: catalog.Params(rapid.Uint32Range(0, uint32(catalog.AllParams)).Draw(t, "params")), Input: catalog.Modality(rapid.IntRange(0, 3).Draw(t, "input")),
			Output: catalog.Modality(rapid.IntRange(0, 3).Draw(t, "output")), N: rapid.IntRange(1, 3).Draw(t, "n"),
			PromptTokens: rapid.Int64Range(0, 120).Draw(t, "prompt"), MaxTokens: rapid.Int64Range(0, 80).Draw(t, "max tokens"),
			Tier:   rapid.SampledFrom([]string{"", "", "auto", "flex", "priority", "fast"}).Draw(t, "tier"),
			Search: rarely("search"), Shrink: rapid.SampledFrom([]routing.Shrink{routing.ShrinkNone, routing.ShrinkNone, routing.ShrinkSmall, routing.ShrinkAny}).Draw(t, "shrink"),
		},
	}
	if rarely("paid") {
		q.Needs.Paid = rapid.SampledFrom([]catalog.Paid{catalog.PaidWebSearch, catalog.PaidMCP, catalog.PaidWebSearch | catalog.PaidMCP, catalog.PaidCodeExecution, catalog.PaidFast, catalog.PaidTier, catalog.PaidRegion}).Draw(t, "paid for")
		q.Needs.Region = rapid.SampledFrom([]string{"", "us", "EU"}).Draw(t, "in")
	}
	if rarely("quantized") {
		q.Preferences.Quantizations = []string{rapid.SampledFrom([]string{"fp4", "fp8", "unknown", "bf16"}).Draw(t, "quantization")}
	}
	if rarely("priced") {
		ceiling := func(label string) *big.Rat {
			if rapid.Bool().Draw(t, label+"?") {
				return nil
			}
			return big.NewRat(rapid.Int64Range(0, 3000).Draw(t, label), 1_000_000_000)
		}
		q.Preferences.MaxPrice = &routing.MaxPrice{Prompt: ceiling("prompt ceiling"), Completion: ceiling("completion ceiling"), Request: ceiling("request ceiling")}
	}
	return q
}

func (w *world) choose() (routing.Plan, error) {
	q := w.query
	q.Health = func(id string) routing.Health { return w.health[id] }
	i := 0
	q.Rand = func() float64 { i++; return w.rand[i%len(w.rand)] }
	return routing.Choose(q, w.snap)
}

// violations returns the hard filters by which an endpoint must not serve a query: each rule written again, apart from the code under test.
func violations(q *routing.Query, slug string, ep *catalog.Endpoint) []string {
	var out []string
	bad := func(filter string, is bool) {
		if is {
			out = append(out, filter)
		}
	}
	_, variant := catalog.SplitVariant(slug)
	pref, needs := q.Preferences, q.Needs
	special := ep.Tier != "default"
	asked := map[string]bool{"flex": needs.Tier == "flex" || variant == "floor", "priority": needs.Tier == "priority" || needs.Tier == "fast" || variant == "nitro"}[ep.Tier]
	tag := func(list []string) bool {
		return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(e, ep.Tag) })
	}
	base := func(list []string) bool {
		return slices.ContainsFunc(list, func(e string) bool {
			return strings.EqualFold(e, ep.Provider.ID) || strings.EqualFold(e, ep.Provider.Name)
		})
	}
	policy := ep.Provider.DataPolicy
	level := ep.Quantization
	if level == "" {
		level = "unknown"
	}
	bad("only", len(pref.Only) > 0 && !tag(pref.Only) && !(base(pref.Only) && (!special || asked)))
	for _, list := range pref.Within {
		bad("only", !tag(list) && !base(list))
	}
	bad("ignore", tag(pref.Ignore) || base(pref.Ignore))
	bad("zdr", pref.ZDR && policy != "zero")
	bad("data_collection", pref.DenyCollection && policy != "zero" && policy != "transient")
	bad("quantizations", len(pref.Quantizations) > 0 && !slices.ContainsFunc(pref.Quantizations, func(a string) bool { return a == level || a == "fp4" && level == "mxfp4" }))
	if pref.MaxPrice != nil {
		prices, above := ep.Pricing.For(needs.PromptTokens), func(p money.Price, ceiling *big.Rat) bool {
			return ceiling != nil && big.NewRat(p.Nano, 1_000_000_000).Cmp(ceiling) > 0
		}
		bad("max_price", above(prices.Prompt, pref.MaxPrice.Prompt) || above(prices.Completion, pref.MaxPrice.Completion) || above(prices.Request, pref.MaxPrice.Request))
	}
	answer := needs.MaxTokens
	if needs.Cut {
		if ep.MaxCompletion > 0 {
			answer = min(answer, ep.MaxCompletion)
		} else if ep.ContextLength > 0 && answer >= ep.ContextLength {
			answer = max(ep.ContextLength-needs.PromptTokens, 1)
		}
	}
	shortened := needs.Shrink != routing.ShrinkNone && answer < ep.ContextLength // all contexts of these worlds are small
	bad("context_length", ep.ContextLength > 0 && needs.PromptTokens+answer > ep.ContextLength && !shortened)
	bad("max_completion_tokens", ep.MaxCompletion > 0 && answer > ep.MaxCompletion)
	bad("input_modalities", needs.Input|ep.Input != ep.Input)
	bad("output_modalities", needs.Output|ep.Output != ep.Output)
	bad("n", ep.MaxN > 0 && needs.N > ep.MaxN)
	bad("require_parameters", pref.RequireParameters && needs.Params|ep.Params != ep.Params)
	allowed := map[catalog.Variant][]string{"free": {"free"}, "extended": {"extended"}, "thinking": {"standard", "thinking"}}[variant]
	if allowed == nil {
		allowed = []string{"standard"}
	}
	bad("variant", !slices.Contains(allowed, ep.Variant))
	bad("tier", special && !asked && !tag(pref.Order) && !tag(pref.Only))
	bad("web", (needs.Search || variant == "online") && ep.Params&catalog.ParamWebSearchOptions == 0)
	wants, base0 := func(p catalog.Paid) bool { return needs.Paid&p != 0 }, &ep.Pricing.Base
	reported := ep.Params&catalog.ParamWebSearchOptions != 0 // in these worlds all endpoints use the chat wire
	bad("unpriced", (needs.Search || variant == "online" || wants(catalog.PaidWebSearch) && reported) && !base0.WebSearch.Set || wants(catalog.PaidMCP) && !base0.MCP.Set || wants(catalog.PaidCodeExecution) ||
		wants(catalog.PaidFast) && ep.Tier != "priority" || wants(catalog.PaidTier) && (needs.Tier == "" || needs.Tier == "auto" || ep.Tier != map[string]string{"fast": "priority"}[needs.Tier] && ep.Tier != needs.Tier) ||
		wants(catalog.PaidRegion) && (needs.Region == "" || !strings.EqualFold(ep.Tag, ep.Provider.ID+"/"+needs.Region) && !strings.HasPrefix(strings.ToLower(ep.Tag), strings.ToLower(ep.Provider.ID+"/"+needs.Region+"/"))))
	return out
}

// shortened reports whether a plan may be for a shorter answer than was asked for: no endpoint gives the longer one, and its length is why.
func shortened(q *routing.Query, plan *routing.Plan) bool {
	long := false
	for _, c := range plan.Candidates {
		v := violations(q, c.Slug, c.Endpoint)
		if len(v) == 0 {
			if c.DroppedBy == "" {
				return false
			}
			continue // for what other endpoints have
		}
		long = long || v[0] == "max_completion_tokens" || v[0] == "context_length"
	}
	return long && q.Needs.MaxTokens > 0 && !q.Preferences.RequireParameters
}

// softly are the reasons that need more than the endpoint itself.
var softly = []string{"tools", "response_format", "structured_outputs", "verbosity", "allow_fallbacks", "duplicate"}

// atLeast10000 checks a law on a hundred times as many worlds as rapid does by itself.
func atLeast10000(t *testing.T, law func(*rapid.T)) {
	t.Helper()
	for range 100 {
		rapid.Check(t, law)
	}
}

func TestPlansKeepTheRules(t *testing.T) {
	t.Parallel()
	atLeast10000(t, func(t *rapid.T) {
		w := drawWorld(t)
		plan, err := w.choose()
		if (err == nil) != (len(plan.Attempts) > 0) {
			t.Fatalf("%d attempts and error %v", len(plan.Attempts), err)
		}
		most := w.query.MaxAttempts
		if most == 0 {
			most = routing.DefaultMaxAttempts
		}
		if len(plan.Attempts) > most {
			t.Fatalf("%d attempts, allowed are %d", len(plan.Attempts), most)
		}
		w.query.Needs.Cut = shortened(&w.query, &plan)
		used := map[*catalog.Endpoint]bool{}
		perModel := map[string]int{}
		for _, a := range plan.Attempts {
			if v := violations(&w.query, a.Slug, a.Endpoint); len(v) > 0 {
				t.Fatalf("attempt on %s for %s violates %v", a.Endpoint.ID, a.Slug, v)
			}
			if used[a.Endpoint] {
				t.Fatalf("two attempts on %s", a.Endpoint.ID)
			}
			used[a.Endpoint] = true
			perModel[a.Slug]++
		}
		if w.query.Preferences.NoFallbacks && len(w.query.Preferences.Order) == 0 {
			for slug, n := range perModel {
				if n > 1 {
					t.Fatalf("%d attempts for %s without fallbacks", n, slug)
				}
			}
		}
		checkCandidates(t, &w, &plan, most)
		checkOrder(t, &w, &plan)
	})
}

// checkOrder demands that endpoints to be avoided come after all others, ejected ones at the very end; among the rest of a model,
// that those come last that miss what the request prefers, and that the one preferred for its cache comes first.
func checkOrder(t *rapid.T, w *world, plan *routing.Plan) {
	rank := func(a routing.Attempt) int {
		switch h := w.health[a.Endpoint.ID]; {
		case h.Ejected:
			return 2
		case h.CoolDown:
			return 1
		}
		return 0
	}
	late := func(a routing.Attempt) bool {
		h, p := w.health[a.Endpoint.ID], w.query.Preferences
		for i, least := range []float64{p.MinThroughput.P50, p.MinThroughput.P75, p.MinThroughput.P90, p.MinThroughput.P99} {
			if least > 0 && h.Throughput[i] < least {
				return true
			}
		}
		for i, most := range []float64{p.MaxLatency.P50, p.MaxLatency.P75, p.MaxLatency.P90, p.MaxLatency.P99} {
			if most > 0 && (h.Latency[i] == 0 || h.Latency[i] > most) {
				return true
			}
		}
		return false
	}
	if len(plan.Candidates) == 1 {
		return // there is nothing to put in order, so no health is asked for
	}
	reasons := map[int]routing.Candidate{}
	for _, c := range plan.Candidates {
		reasons[c.Order] = c
	}
	for i, a := range plan.Attempts {
		reason := reasons[i+1].Reason
		if (rank(a) == 2) != (reason == routing.ReasonEjected) || (rank(a) == 1) != (reason == routing.ReasonCoolDown) {
			t.Fatalf("%s is of rank %d, its reason is %q", a.Endpoint.ID, rank(a), reason)
		}
		if reason == routing.ReasonSticky && (a.Endpoint.ID != w.query.Prefer || late(a) || w.health[a.Endpoint.ID].Failing) {
			t.Fatalf("%s is sticky; preferred is %s", a.Endpoint.ID, w.query.Prefer)
		}
		if i == 0 {
			continue
		}
		before := plan.Attempts[i-1]
		if rank(before) > rank(a) {
			t.Fatalf("%s of rank %d stands before %s of rank %d", before.Endpoint.ID, rank(before), a.Endpoint.ID, rank(a))
		}
		if before.Slug != a.Slug || rank(before) != rank(a) {
			continue
		}
		if late(before) && !late(a) {
			t.Fatalf("%s misses what is preferred and stands before %s", before.Endpoint.ID, a.Endpoint.ID)
		}
		if reason == routing.ReasonSticky && w.query.Needs.Tier != "priority" && w.query.Needs.Tier != "fast" {
			t.Fatalf("%s has the conversation in its cache and stands behind %s", a.Endpoint.ID, before.Endpoint.ID)
		}
	}
}

// checkCandidates demands that every endpoint of every requested model is listed, with the right reason.
func checkCandidates(t *rapid.T, w *world, plan *routing.Plan, most int) {
	want := 0
	for _, name := range w.query.Models {
		m, _, _ := w.snap.Resolve(name)
		want += len(m.Endpoints)
	}
	if len(plan.Candidates) != want {
		t.Fatalf("%d candidates, the models have %d endpoints", len(plan.Candidates), want)
	}
	kept := 0
	for _, c := range plan.Candidates {
		v := violations(&w.query, c.Slug, c.Endpoint)
		switch {
		case len(v) > 0 && c.DroppedBy != v[0]:
			t.Fatalf("%s for %s was dropped by %q, the first filter against it is %q", c.Endpoint.ID, c.Slug, c.DroppedBy, v[0])
		case c.DroppedBy == "context_length" && w.query.Needs.Shrink != routing.ShrinkNone: // another has room for all of the prompt
		case len(v) == 0 && c.DroppedBy != "" && !slices.Contains(softly, c.DroppedBy) && !(c.DroppedBy == "tier" && w.query.Needs.Tier == "flex" && c.Endpoint.Tier != "flex"):
			t.Fatalf("%s for %s was dropped by %q without cause", c.Endpoint.ID, c.Slug, c.DroppedBy)
		case (c.DroppedBy != "") != (c.Detail != ""):
			t.Fatalf("%s dropped by %q has detail %q", c.Endpoint.ID, c.DroppedBy, c.Detail)
		case c.DroppedBy == "" && c.Reason == "":
			t.Fatalf("%s was kept without a reason", c.Endpoint.ID)
		}
		if c.DroppedBy == "" {
			kept++
		}
		if c.Order > 0 && (c.Order > len(plan.Attempts) || plan.Attempts[c.Order-1].Endpoint != c.Endpoint || plan.Attempts[c.Order-1].Slug != c.Slug) {
			t.Fatalf("%s says it is attempt %d", c.Endpoint.ID, c.Order)
		}
	}
	if len(plan.Attempts) != min(kept, most) {
		t.Fatalf("%d attempts of %d that were kept, allowed are %d", len(plan.Attempts), kept, most)
	}
}

func TestPlansAreDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		first, err1 := w.choose()
		second, err2 := w.choose()
		if !reflect.DeepEqual(first, second) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("the same question had two answers:\n%+v\n%+v", first, second)
		}
		w.query.Explain = false
		third, _ := w.choose()
		if !reflect.DeepEqual(first.Attempts, third.Attempts) || third.Candidates != nil {
			t.Fatalf("explaining changed the attempts:\n%+v\n%+v", first.Attempts, third.Attempts)
		}
	})
}
