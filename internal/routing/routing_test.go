package routing_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/routing"
)

// offer declares an endpoint with prices in rubles per 1000 tokens; change adjusts it.
func offer(provider, model, prompt, completion string, change ...func(*catalog.Offer)) catalog.Offer {
	o := catalog.Offer{Provider: provider, Model: model}
	o.Pricing.Base.Prompt = price(prompt)
	o.Pricing.Base.Completion = price(completion)
	o.Pricing.Base.WebSearch = price("0.9")
	for _, f := range change {
		f(&o)
	}
	return o
}

func price(text string) money.Price {
	p, err := money.ParsePrice(text)
	if err != nil {
		panic(err)
	}
	return p
}

// retired is the day since which no provider serves v/gone.
var retired = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func snapshot(t testing.TB, offers ...catalog.Offer) *catalog.Snapshot {
	t.Helper()
	d := catalog.Declared{
		Providers: []catalog.Provider{
			{ID: "alpha", Name: "Alpha Cloud", Dialect: "openai", BaseURL: "https://alpha.test/v1", DataPolicy: catalog.PolicyZero},
			{ID: "beta", Dialect: "openai", BaseURL: "https://beta.test/v1", DataPolicy: catalog.PolicyTransient},
			{ID: "gamma", Dialect: "openai", BaseURL: "https://gamma.test/v1", DataPolicy: catalog.PolicyTraining},
			{ID: "delta", Dialect: "openai", BaseURL: "https://delta.test/v1"},
		},
		Models:  []catalog.ModelInfo{{Slug: "v/embed", Type: "embedding"}, {Slug: "v/lonely"}},
		Offers:  offers,
		Retired: map[string]time.Time{"v/gone": retired, "v/m": retired},
		Aliases: map[string]string{"v/gone-too": "v/gone"},
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// four endpoints of v/m: alpha is cheapest, delta dearest.
func four(change ...func(*catalog.Offer)) []catalog.Offer {
	return []catalog.Offer{
		offer("alpha", "v/m", "1", "1", change...), offer("beta", "v/m", "2", "2", change...),
		offer("gamma", "v/m", "3", "3", change...), offer("delta", "v/m", "4", "4", change...),
	}
}

func tags(plan routing.Plan) []string {
	out := []string{}
	for _, a := range plan.Attempts {
		out = append(out, a.Endpoint.Tag)
	}
	return out
}

func dropped(plan routing.Plan) map[string]string {
	out := map[string]string{}
	for _, c := range plan.Candidates {
		if c.DroppedBy != "" {
			out[c.Endpoint.Tag] = c.DroppedBy
		}
	}
	return out
}

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

// Each case names the model list, what is asked, and what must come of it: the attempts in order and what dropped the others.
func TestPreferences(t *testing.T) {
	t.Parallel()
	health := map[string]routing.Health{
		"alpha/v/m": {Latency: [4]float64{3, 4, 5, 6}, Throughput: [4]float64{10, 9, 8, 7}},
		"beta/v/m":  {Latency: [4]float64{1, 2, 3, 4}, Throughput: [4]float64{30, 20, 10, 5}},
		"gamma/v/m": {Latency: [4]float64{2, 2, 2, 2}, Throughput: [4]float64{20, 20, 20, 20}},
	}
	region := func(r string) func(*catalog.Offer) { return func(o *catalog.Offer) { o.Region = r } }
	tier := func(r string) func(*catalog.Offer) { return func(o *catalog.Offer) { o.Tier = r } }
	variant := func(r string) func(*catalog.Offer) { return func(o *catalog.Offer) { o.Variant = r } }
	quant := func(r string) func(*catalog.Offer) { return func(o *catalog.Offer) { o.Quantization = r } }
	lists := func(p catalog.Params) func(*catalog.Offer) { return func(o *catalog.Offer) { o.Params = p } }
	takes := func(m catalog.Modality) func(*catalog.Offer) {
		return func(o *catalog.Offer) { o.Input = catalog.Text | m }
	}
	context := func(n int64) func(*catalog.Offer) { return func(o *catalog.Offer) { o.ContextLength = n } }
	short := []catalog.Offer{offer("alpha", "v/m", "1", "1", context(8192)), offer("beta", "v/m", "2", "2", context(32768))}
	readers := []catalog.Offer{offer("alpha", "v/m", "1", "1", takes(0)), offer("beta", "v/m", "2", "2", takes(catalog.File)), offer("gamma", "v/m", "3", "3", takes(catalog.Image))}
	tiers := []catalog.Offer{
		offer("alpha", "v/m", "2", "2"), offer("alpha", "v/m", "1", "1", tier("flex")), offer("alpha", "v/m", "4", "4", tier("priority")),
		offer("beta", "v/m", "3", "3"),
	}
	cases := []struct {
		name    string
		offers  []catalog.Offer // nil: four()
		models  []string        // nil: v/m
		pref    routing.Preferences
		needs   routing.Needs
		health  map[string]routing.Health
		max     int
		prefer  string
		want    []string
		dropped map[string]string
	}{
		{name: "nothing asked: by price", want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "at most so many attempts", max: 2, want: []string{"alpha", "beta"}},
		{name: "only", pref: routing.Preferences{Only: []string{"beta", "nobody"}}, want: []string{"beta"},
			dropped: map[string]string{"alpha": "only", "gamma": "only", "delta": "only"}},
		{name: "only takes display names and ignores case", pref: routing.Preferences{Only: []string{"ALPHA cloud"}}, want: []string{"alpha"},
			dropped: map[string]string{"beta": "only", "gamma": "only", "delta": "only"}},
		{name: "ignore beats only and order", pref: routing.Preferences{Only: []string{"alpha", "beta"}, Ignore: []string{"alpha"}, Order: []string{"alpha"}},
			want: []string{"beta"}, dropped: map[string]string{"alpha": "ignore", "gamma": "only", "delta": "only"}},
		{name: "a base slug means all regions, a tag means one",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", region("eu")), offer("alpha", "v/m", "2", "2", region("us")), offer("beta", "v/m", "3", "3", region("us"))},
			pref:   routing.Preferences{Only: []string{"alpha"}, Ignore: []string{"alpha/US"}}, want: []string{"alpha/eu"},
			dropped: map[string]string{"alpha/us": "ignore", "beta/us": "only"}},
		{name: "zdr", pref: routing.Preferences{ZDR: true}, want: []string{"alpha"}, dropped: map[string]string{"beta": "zdr", "gamma": "zdr", "delta": "zdr"}},
		{name: "data_collection deny", pref: routing.Preferences{DenyCollection: true}, want: []string{"alpha", "beta"},
			dropped: map[string]string{"gamma": "data_collection", "delta": "data_collection"}},
		{name: "quantizations: fp4 and fp8 mean their kinds too",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", quant("mxfp4")), offer("beta", "v/m", "2", "2", quant("mxfp8")), offer("gamma", "v/m", "3", "3", quant("bf16")), offer("delta", "v/m", "4", "4")},
			pref:   routing.Preferences{Quantizations: []string{"fp4", "fp8"}}, want: []string{"alpha", "beta"},
			dropped: map[string]string{"gamma": "quantizations", "delta": "quantizations"}},
		{name: "quantizations: no datum is unknown",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", quant("int8")), offer("delta", "v/m", "4", "4")},
			pref:   routing.Preferences{Quantizations: []string{"unknown"}}, want: []string{"delta"}, dropped: map[string]string{"alpha": "quantizations"}},
		{name: "max_price keeps what costs exactly the ceiling", pref: routing.Preferences{MaxPrice: &routing.MaxPrice{Prompt: rat("2"), Completion: rat("2.5")}},
			want: []string{"alpha", "beta"}, dropped: map[string]string{"gamma": "max_price", "delta": "max_price"}},
		{name: "max_price below a nano-ruble is not rounded up", pref: routing.Preferences{MaxPrice: &routing.MaxPrice{Prompt: rat("0.9999999999")}},
			offers: []catalog.Offer{offer("alpha", "v/m", "0.999999999", "1"), offer("beta", "v/m", "1", "1")},
			want:   []string{"alpha"}, dropped: map[string]string{"beta": "max_price"}},
		{name: "max_price reads the price that the prompt's length leads to",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) {
				o.Pricing.Thresholds = []catalog.Threshold{{Above: 100, Prices: catalog.Prices{Prompt: price("9")}}}
			}), offer("beta", "v/m", "2", "2")},
			pref: routing.Preferences{MaxPrice: &routing.MaxPrice{Prompt: rat("5")}}, needs: routing.Needs{PromptTokens: 101},
			want: []string{"beta"}, dropped: map[string]string{"alpha": "max_price"}},
		{name: "max_price of a request and of an audio token",
			offers: []catalog.Offer{
				offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Pricing.Base.Request = price("0.2") }),
				offer("beta", "v/m", "1", "1", func(o *catalog.Offer) { o.Pricing.Base.Audio = price("3") }), offer("gamma", "v/m", "2", "2")},
			pref: routing.Preferences{MaxPrice: &routing.MaxPrice{Request: rat("0.1"), Audio: rat("0.0029")}},
			want: []string{"gamma"}, dropped: map[string]string{"alpha": "max_price", "beta": "max_price"}},
		{name: "context_length counts prompt and answer",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.ContextLength = 149 }), offer("beta", "v/m", "2", "2", func(o *catalog.Offer) { o.ContextLength = 150 }), offer("gamma", "v/m", "3", "3")},
			needs:  routing.Needs{PromptTokens: 100, MaxTokens: 50}, want: []string{"beta", "gamma"}, dropped: map[string]string{"alpha": "context_length"}},
		{name: "max_completion_tokens",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.MaxCompletion = 49 }), offer("beta", "v/m", "2", "2", func(o *catalog.Offer) { o.MaxCompletion = 50 })},
			needs:  routing.Needs{MaxTokens: 50}, want: []string{"beta"}, dropped: map[string]string{"alpha": "max_completion_tokens"}},
		{name: "input modalities",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Input = catalog.Text }), offer("beta", "v/m", "2", "2")},
			needs:  routing.Needs{Input: catalog.Text | catalog.Image}, want: []string{"beta"}, dropped: map[string]string{"alpha": "input_modalities"}},
		{name: "output modalities",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("beta", "v/m", "2", "2", func(o *catalog.Offer) { o.Output = catalog.Text | catalog.Audio })},
			needs:  routing.Needs{Output: catalog.Audio}, want: []string{"beta"}, dropped: map[string]string{"alpha": "output_modalities"}},
		{name: "n",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.MaxN = 1 }), offer("beta", "v/m", "2", "2")},
			needs:  routing.Needs{N: 2}, want: []string{"beta"}, dropped: map[string]string{"alpha": "n"}},
		{name: "require_parameters",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Params = catalog.ParamSeed }), offer("beta", "v/m", "2", "2", func(o *catalog.Offer) { o.Params = catalog.ParamSeed | catalog.ParamTopK })},
			pref:   routing.Preferences{RequireParameters: true}, needs: routing.Needs{Params: catalog.ParamSeed | catalog.ParamTopK},
			want: []string{"beta"}, dropped: map[string]string{"alpha": "require_parameters"}},
		{name: "without require_parameters a missing one drops nothing",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Params = catalog.ParamSeed })},
			needs:  routing.Needs{Params: catalog.ParamTopK}, want: []string{"alpha"}},
		{name: "tools are wanted where some endpoint has them",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Params = catalog.ParamSeed }), offer("beta", "v/m", "2", "2", func(o *catalog.Offer) { o.Params = catalog.ParamTools })},
			needs:  routing.Needs{Params: catalog.ParamTools}, want: []string{"beta"}, dropped: map[string]string{"alpha": "tools"}},
		{name: "response_format, structured_outputs, verbosity likewise",
			offers: []catalog.Offer{
				offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Params = catalog.ParamStructuredOutputs | catalog.ParamVerbosity }),
				offer("beta", "v/m", "2", "2", func(o *catalog.Offer) { o.Params = catalog.ParamResponseFormat | catalog.ParamVerbosity }),
				offer("gamma", "v/m", "3", "3", func(o *catalog.Offer) {
					o.Params = catalog.ParamResponseFormat | catalog.ParamStructuredOutputs
				}),
				offer("delta", "v/m", "4", "4")},
			needs: routing.Needs{Params: catalog.ParamResponseFormat | catalog.ParamStructuredOutputs | catalog.ParamVerbosity}, want: []string{"delta"},
			dropped: map[string]string{"alpha": "response_format", "beta": "structured_outputs", "gamma": "verbosity"}},
		{name: "tools that nobody has drop nothing",
			offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Params = catalog.ParamSeed })},
			needs:  routing.Needs{Params: catalog.ParamTools}, want: []string{"alpha"}},
		{name: "order first, the others by price", pref: routing.Preferences{Order: []string{"delta", "nobody", "beta"}}, want: []string{"delta", "beta", "alpha", "gamma"}},
		{name: "order with sort for the others", pref: routing.Preferences{Order: []string{"alpha"}, Sort: "latency"}, health: health, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "order without fallbacks: the listed, in order, no others", pref: routing.Preferences{Order: []string{"gamma", "alpha"}, NoFallbacks: true},
			want: []string{"gamma", "alpha"}, dropped: map[string]string{"beta": "allow_fallbacks", "delta": "allow_fallbacks"}},
		{name: "no fallbacks: one attempt", pref: routing.Preferences{NoFallbacks: true}, want: []string{"alpha"},
			dropped: map[string]string{"beta": "allow_fallbacks", "gamma": "allow_fallbacks", "delta": "allow_fallbacks"}},
		{name: "no fallbacks: one attempt each model", models: []string{"v/m", "v/k"}, offers: append(four(), offer("beta", "v/k", "1", "1"), offer("gamma", "v/k", "2", "2")),
			pref: routing.Preferences{NoFallbacks: true, Sort: "price"}, want: []string{"alpha", "beta"}},
		{name: "sort price", pref: routing.Preferences{Sort: "price"}, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "sort throughput, unmeasured last", pref: routing.Preferences{Sort: "throughput"}, health: health, want: []string{"beta", "gamma", "alpha", "delta"}},
		{name: "sort latency, unmeasured last", pref: routing.Preferences{Sort: "latency"}, health: health, want: []string{"beta", "gamma", "alpha", "delta"}},
		{name: "exacto is the default order", pref: routing.Preferences{Sort: "exacto"}, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "preferred throughput moves to the end, never out", pref: routing.Preferences{Sort: "price", MinThroughput: routing.Cutoffs{P50: 15, P99: 6}}, health: health,
			want: []string{"gamma", "alpha", "beta", "delta"}},
		{name: "preferred latency moves to the end", pref: routing.Preferences{MaxLatency: routing.Cutoffs{P90: 3}}, health: health,
			want: []string{"beta", "gamma", "alpha", "delta"}},
		{name: "cool-down goes to the very end, also when listed first", pref: routing.Preferences{Order: []string{"alpha"}},
			health: map[string]routing.Health{"alpha/v/m": {CoolDown: true}}, want: []string{"beta", "gamma", "delta", "alpha"}},
		{name: "ejected goes behind what cools down", health: map[string]routing.Health{"alpha/v/m": {Ejected: true}, "gamma/v/m": {CoolDown: true}}, want: []string{"beta", "delta", "gamma", "alpha"}},
		{name: "so it does in an explicit sort, whatever is preferred", pref: routing.Preferences{Sort: "price", MaxLatency: routing.Cutoffs{P50: 1.5}},
			health: map[string]routing.Health{"alpha/v/m": {Ejected: true, Latency: [4]float64{1}}, "beta/v/m": {CoolDown: true, Latency: [4]float64{1}}, "delta/v/m": {Latency: [4]float64{1}}},
			want:   []string{"delta", "gamma", "beta", "alpha"}},
		{name: "without fallbacks the one attempt is not an ejected one", pref: routing.Preferences{NoFallbacks: true, Sort: "price"},
			health: map[string]routing.Health{"alpha/v/m": {Ejected: true}}, want: []string{"beta"}},
		{name: "who has the conversation in its cache comes first", prefer: "gamma/v/m", want: []string{"gamma", "alpha", "beta", "delta"}},
		{name: "unless it fails", prefer: "gamma/v/m", health: map[string]routing.Health{"gamma/v/m": {Failing: true}}, want: []string{"alpha", "beta", "delta", "gamma"}},
		{name: "or misses what is preferred", prefer: "gamma/v/m", pref: routing.Preferences{MaxLatency: routing.Cutoffs{P50: 1}},
			health: map[string]routing.Health{"alpha/v/m": {Latency: [4]float64{1}}}, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "or is filtered out", prefer: "gamma/v/m", pref: routing.Preferences{Ignore: []string{"gamma"}}, want: []string{"alpha", "beta", "delta"}},
		{name: "or something is asked for that replaces load balancing", prefer: "gamma/v/m", pref: routing.Preferences{Sort: "price"}, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "the priority tier is asked for, whoever has a cache", prefer: "beta/v/m", offers: tiers, needs: routing.Needs{Tier: "priority"}, want: []string{"alpha/priority", "beta", "alpha"}},
		{name: "the account's only and the request's", pref: routing.Preferences{Only: []string{"alpha", "beta"}, Within: [][]string{{"beta", "gamma"}}}, want: []string{"beta"},
			dropped: map[string]string{"alpha": "only", "gamma": "only", "delta": "only"}},
		{name: "failing goes behind stable in load balancing", health: map[string]routing.Health{"alpha/v/m": {Failing: true}}, want: []string{"beta", "gamma", "delta", "alpha"}},
		{name: "failing does not count in an explicit sort", pref: routing.Preferences{Sort: "price"}, health: map[string]routing.Health{"alpha/v/m": {Failing: true}},
			want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "models in their order", models: []string{"v/k", "v/m"}, offers: append(four(), offer("delta", "v/k", "9", "9")),
			want: []string{"delta", "alpha", "beta", "gamma", "delta"}},
		{name: "sorted across models", models: []string{"v/k", "v/m"}, offers: append(four(), offer("delta", "v/k", "2.5", "2.5")),
			pref: routing.Preferences{Sort: "price", SortAcrossModels: true}, want: []string{"alpha", "beta", "delta", "gamma", "delta"}},
		{name: "a long first model leaves room for the second", models: []string{"v/m", "v/k"}, offers: append(four(), offer("beta", "v/k", "9", "9")), max: 3,
			want: []string{"alpha", "beta", "beta"}},
		{name: "the same model twice is tried once", models: []string{"v/m", "v/m:floor"}, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "free endpoints serve only :free", offers: append(four(), offer("alpha", "v/m", "0", "0", variant("free"))), want: []string{"alpha", "beta", "gamma", "delta"},
			dropped: map[string]string{"alpha/free": "variant"}},
		{name: ":free", models: []string{"v/m:free"}, offers: []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("alpha", "v/m", "0", "0", variant("free"))}, want: []string{"alpha/free"},
			dropped: map[string]string{"alpha": "variant"}},
		{name: ":extended", models: []string{"v/m:extended"}, offers: []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("alpha", "v/m", "2", "2", variant("extended"))}, want: []string{"alpha/extended"},
			dropped: map[string]string{"alpha": "variant"}},
		{name: ":thinking takes thinking endpoints too", models: []string{"v/m:thinking"}, offers: []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("alpha", "v/m", "2", "2", variant("thinking"))},
			want: []string{"alpha", "alpha/thinking"}},
		{name: ":free", models: []string{"v/m:free"}, offers: []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("alpha", "v/m", "0", "0", variant("free"))}, want: []string{"alpha/free"},
			dropped: map[string]string{"alpha": "variant"}},
		{name: ":exacto is the default order", models: []string{"v/m:exacto"}, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: ":online takes only who searches", models: []string{"v/m:online"}, offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", lists(catalog.ParamTools)), offer("beta", "v/m", "2", "2", lists(catalog.ParamWebSearchOptions))},
			want: []string{"beta"}, dropped: map[string]string{"alpha": "web"}},
		{name: "a search as a plugin takes only who searches", offers: []catalog.Offer{offer("alpha", "v/m", "1", "1", lists(catalog.ParamTools)), offer("beta", "v/m", "2", "2")}, needs: routing.Needs{Search: true},
			want: []string{"beta"}, dropped: map[string]string{"alpha": "web"}},
		{name: "who has room for the whole prompt comes before who has it shortened", offers: short, needs: routing.Needs{PromptTokens: 9000, Shrink: routing.ShrinkAny}, want: []string{"beta"},
			dropped: map[string]string{"alpha": "context_length"}},
		{name: "too long for all, and shortened for all", offers: short, needs: routing.Needs{PromptTokens: 90000, Shrink: routing.ShrinkAny}, want: []string{"alpha", "beta"}},
		{name: "too long for all, and shortened where the context is small", offers: short, needs: routing.Needs{PromptTokens: 90000, Shrink: routing.ShrinkSmall}, want: []string{"alpha"},
			dropped: map[string]string{"beta": "context_length"}},
		{name: "an answer that needs all of the context leaves nothing to shorten to", offers: short, needs: routing.Needs{PromptTokens: 30000, MaxTokens: 8192, Shrink: routing.ShrinkAny}, want: []string{"beta"},
			dropped: map[string]string{"alpha": "context_length"}},
		{name: "who takes files comes before who gets their text", offers: readers, needs: routing.Needs{Input: catalog.Text | catalog.File, Readable: true}, want: []string{"beta"},
			dropped: map[string]string{"alpha": "input_modalities", "gamma": "input_modalities"}},
		{name: "nobody takes files", offers: readers[:1], needs: routing.Needs{Input: catalog.Text | catalog.File, Readable: true}, want: []string{"alpha"}},
		{name: "text of files does not help with pictures", offers: readers, needs: routing.Needs{Input: catalog.Text | catalog.File | catalog.Image, Readable: true}, want: []string{"gamma"},
			dropped: map[string]string{"alpha": "input_modalities", "beta": "input_modalities"}},
		{name: ":nitro sorts by throughput", models: []string{"v/m:nitro"}, health: health, want: []string{"beta", "gamma", "alpha", "delta"}},
		{name: "an explicit sort beats the suffix", models: []string{"v/m:nitro"}, pref: routing.Preferences{Sort: "price"}, health: health, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "tiers are not used unasked", offers: tiers, want: []string{"alpha", "beta"}, dropped: map[string]string{"alpha/flex": "tier", "alpha/priority": "tier"}},
		{name: "flex: only flex where there is one", offers: tiers, needs: routing.Needs{Tier: "flex"}, want: []string{"alpha/flex"},
			dropped: map[string]string{"alpha": "tier", "beta": "tier", "alpha/priority": "tier"}},
		{name: "flex where there is none: as usual", needs: routing.Needs{Tier: "flex"}, want: []string{"alpha", "beta", "gamma", "delta"}},
		{name: "priority first, then the rest", offers: tiers, needs: routing.Needs{Tier: "fast"}, want: []string{"alpha/priority", "alpha", "beta"}, dropped: map[string]string{"alpha/flex": "tier"}},
		{name: "a tier's tag in only asks for it", offers: tiers, pref: routing.Preferences{Only: []string{"alpha/flex"}}, want: []string{"alpha/flex"},
			dropped: map[string]string{"alpha": "only", "beta": "only", "alpha/priority": "only"}},
		{name: "a tier's tag in order asks for it", offers: tiers, pref: routing.Preferences{Order: []string{"alpha/priority"}}, want: []string{"alpha/priority", "alpha", "beta"},
			dropped: map[string]string{"alpha/flex": "tier"}},
		{name: "a base slug in only leaves the tiers out", offers: tiers, pref: routing.Preferences{Only: []string{"alpha"}}, want: []string{"alpha"},
			dropped: map[string]string{"beta": "only", "alpha/flex": "only", "alpha/priority": "only"}},
		{name: "a base slug in ignore means the tiers too", offers: tiers, models: []string{"v/m:floor"}, pref: routing.Preferences{Ignore: []string{"alpha"}}, want: []string{"beta"},
			dropped: map[string]string{"alpha": "ignore", "alpha/flex": "ignore", "alpha/priority": "ignore"}},
		{name: ":floor lets flex in, by price", offers: tiers, models: []string{"v/m:floor"}, want: []string{"alpha/flex", "alpha", "beta"}, dropped: map[string]string{"alpha/priority": "tier"}},
		{name: "without an answer cap only the prompt counts", offers: four(func(o *catalog.Offer) { o.ContextLength = 10 }), needs: routing.Needs{PromptTokens: 10},
			want: []string{"alpha", "beta", "gamma", "delta"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.offers == nil {
				c.offers = four()
			}
			if c.models == nil {
				c.models = []string{"v/m"}
			}
			q := routing.Query{Models: c.models, Preferences: c.pref, Needs: c.needs, MaxAttempts: c.max, Prefer: c.prefer, Explain: true}
			if c.health != nil {
				q.Health = func(id string) routing.Health { return c.health[id] }
			}
			plan, err := routing.Choose(q, snapshot(t, c.offers...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, tags(plan)); d != "" {
				t.Errorf("attempts (-want +got):\n%s", d)
			}
			if c.dropped != nil {
				if d := cmp.Diff(c.dropped, dropped(plan)); d != "" {
					t.Errorf("dropped (-want +got):\n%s", d)
				}
			}
			for _, cand := range plan.Candidates {
				if (cand.DroppedBy == "") != (cand.Detail == "") {
					t.Errorf("%s: dropped by %q, detail %q", cand.Endpoint.ID, cand.DroppedBy, cand.Detail)
				}
			}
		})
	}
}

func TestDetailNamesTheFigures(t *testing.T) {
	t.Parallel()
	plan, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Explain: true,
		Preferences: routing.Preferences{MaxPrice: &routing.MaxPrice{Completion: rat("3.25")}}}, snapshot(t, four()...))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Candidates {
		if c.Endpoint.Tag == "delta" && c.Detail != "The completion price is 4 rubles per 1000 tokens, the ceiling is 3.25." {
			t.Errorf("detail: %s", c.Detail)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, append(four(func(o *catalog.Offer) { o.ContextLength, o.Params = 100, catalog.ParamTools }), offer("alpha", "v/odd:name", "1", "1"))...)
	cases := []struct {
		name     string
		q        routing.Query
		kind     fault.Kind
		param    string
		excluded []string
	}{
		{name: "unknown model", q: routing.Query{Models: []string{"v/none"}}, kind: fault.ModelNotFound, param: "model"},
		{name: "unknown model as a fallback", q: routing.Query{Models: []string{"v/m", "v/none"}}, kind: fault.ModelNotFound, param: "models"},
		{name: "unknown suffix", q: routing.Query{Models: []string{"v/m:fast"}}, kind: fault.ModelNotFound, param: "model"},
		{name: "two suffixes", q: routing.Query{Models: []string{"v/m:free:nitro"}}, kind: fault.ModelNotFound, param: "model"},
		{name: "web search by a suffix that nobody has", q: routing.Query{Models: []string{"v/m:online"}}, kind: fault.Invalid, param: "model", excluded: []string{"web"}},
		{name: "web search by a plugin that nobody has", q: routing.Query{Models: []string{"v/m"}, Needs: routing.Needs{Search: true}}, kind: fault.Invalid, param: "plugins", excluded: []string{"web"}},
		{name: "web search by a fallback's suffix", q: routing.Query{Models: []string{"v/m", "v/m:online"}, Preferences: routing.Preferences{Order: []string{"nobody"}, NoFallbacks: true}},
			kind: fault.Invalid, param: "models", excluded: []string{"web", "allow_fallbacks"}},
		{name: "no model", q: routing.Query{}, kind: fault.Invalid, param: "model"},
		{name: "slug too long", q: routing.Query{Models: []string{"v/" + strings.Repeat("x", 255)}}, kind: fault.Invalid, param: "model"},
		{name: "embedding model", q: routing.Query{Models: []string{"v/embed"}}, kind: fault.WrongEndpoint, param: "model"},
		{name: "embedding model as a fallback", q: routing.Query{Models: []string{"v/m", "v/embed"}}, kind: fault.WrongEndpoint, param: "models"},
		{name: "nobody serves it", q: routing.Query{Models: []string{"v/lonely"}}, kind: fault.NoEndpoints, excluded: []string{}},
		{name: "two filters together", kind: fault.NoEndpoints, excluded: []string{"ignore", "zdr"},
			q: routing.Query{Models: []string{"v/m"}, Preferences: routing.Preferences{ZDR: true, Ignore: []string{"alpha"}}}},
		{name: "listed nobody, no fallbacks", kind: fault.NoEndpoints, excluded: []string{"allow_fallbacks"},
			q: routing.Query{Models: []string{"v/m"}, Preferences: routing.Preferences{Order: []string{"nobody"}, NoFallbacks: true}}},
		{name: "no free endpoint", q: routing.Query{Models: []string{"v/m:free"}}, kind: fault.NoEndpoints, excluded: []string{"variant"}},
		{name: "too long for all", q: routing.Query{Models: []string{"v/m"}, Needs: routing.Needs{PromptTokens: 101}}, kind: fault.ContextLength, param: "messages", excluded: []string{"context_length"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.q.Explain = true
			plan, err := routing.Choose(c.q, snap)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != c.kind || f.Param != c.param || f.Public == "" || f.Next != fault.Stop {
				t.Fatalf("got %v (param %q), want %s (param %q)", err, fault.From(err).Param, c.kind, c.param)
			}
			if c.excluded != nil {
				if d := cmp.Diff(c.excluded, f.Details["excluded_by"]); d != "" {
					t.Errorf("excluded_by (-want +got):\n%s", d)
				}
				for _, cand := range plan.Candidates {
					if cand.DroppedBy == "" {
						t.Errorf("%s was not dropped", cand.Endpoint.ID)
					}
				}
			}
		})
	}
}

// The error for a model that is not there suggests what may have been meant, and names the day on which it retired.
func TestUnknownModels(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, offer("alpha", "anthropic/claude-sonnet-4.5", "1", "1"), offer("alpha", "openai/gpt-5", "1", "1"), offer("alpha", "openai/gpt-5-mini", "1", "1"), offer("alpha", "openai/o3", "1", "1"))
	for name, want := range map[string][]string{
		"gpt-5": {"openai/gpt-5", "openai/gpt-5-mini"}, "azure/gpt-5": {"openai/gpt-5"}, "opnai/gpt-5-mni": {"openai/gpt-5-mini"}, "OpenAI/GPT-5-mini:nitro:free": nil,
		"claude-sonnet": {"anthropic/claude-sonnet-4.5"}, "anthropic/claude-sonnet-4-5": {"anthropic/claude-sonnet-4.5"}, "openai/o1": {"openai/o3"},
		"x/y": nil, "embed": nil, "": nil, "/": nil, strings.Repeat("g", 200): nil, strings.Repeat("v", 100) + "/gpt-5": nil, "v/gone": nil, "v/gone-too:nitro": nil,
	} {
		_, err := routing.Choose(routing.Query{Models: []string{name}}, snap)
		f := fault.From(err)
		if f == nil || f.Kind != fault.ModelNotFound || !strings.Contains(f.Public, "GET /v1/models") {
			t.Errorf("%q: %v", name, err)
			continue
		}
		got, _ := f.Details["suggestions"].([]string)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: (-want +got):\n%s", name, d)
		}
		if gone := strings.HasPrefix(name, "v/gone"); gone != (f.Details["retired"] == "2026-03-01") || gone != strings.Contains(f.Public, "2026-03-01") {
			t.Errorf("%q: %v, %v", name, f.Public, f.Details)
		}
	}
}

// A list goes on without models that have retired, wherever they are; a list of nothing else fails.
func TestRetiredModelsOfAList(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, four()...)
	for _, list := range [][]string{{"v/gone", "v/m"}, {"v/m", "v/gone"}, {"v/gone-too", "v/m", "v/gone:nitro"}} {
		plan, err := routing.Choose(routing.Query{Models: list, MaxAttempts: 1}, snap)
		if err != nil || len(plan.Attempts) != 1 || plan.Attempts[0].Slug != "v/m" || len(plan.Retired) != len(list)-1 {
			t.Errorf("%v: %+v %v", list, plan, err)
		}
	}
	if _, err := routing.Choose(routing.Query{Models: []string{"v/gone", "v/gone-too"}}, snap); !fault.Is(err, fault.ModelNotFound) {
		t.Errorf("%v", err)
	}
}

// An error for too many tokens, or for parameters that nothing supports, says what would be accepted.
func TestErrorsNameTheBound(t *testing.T) {
	t.Parallel()
	most := func(n, context int64) func(*catalog.Offer) {
		return func(o *catalog.Offer) { o.MaxCompletion, o.ContextLength = n, context }
	}
	for _, c := range []struct {
		name   string
		offers []catalog.Offer
		needs  routing.Needs
		kind   fault.Kind
		param  string
		words  string
	}{
		{"one bound", four(most(50, 100)), routing.Needs{PromptTokens: 1, MaxTokens: 51}, fault.Invalid, "max_tokens", "max_tokens must be at most 50 for the model"},
		{"by the context", four(most(0, 100)), routing.Needs{PromptTokens: 1, MaxTokens: 101, MaxTokensName: "max_output_tokens"}, fault.Invalid, "max_output_tokens", "max_output_tokens must be at most 100 for"},
		{"several bounds", []catalog.Offer{offer("alpha", "v/m", "1", "1", most(50, 100)), offer("beta", "v/m", "1", "1", most(60, 100)), offer("gamma", "v/m", "1", "1", most(50, 80))},
			routing.Needs{PromptTokens: 1, MaxTokens: 61}, fault.NoEndpoints, "max_tokens", "allows 61 tokens in max_tokens: they allow at most 50, 60."},
		{"the prompt is too long as well", four(most(50, 100)), routing.Needs{PromptTokens: 90, MaxTokens: 40}, fault.ContextLength, "messages", "90 in the messages and 40 for the answer"},
		{"parameters", []catalog.Offer{offer("alpha", "v/m", "1", "1", func(o *catalog.Offer) { o.Params = catalog.ParamSeed }), offer("beta", "v/m", "1", "1", func(o *catalog.Offer) { o.Params = catalog.ParamTopK })},
			routing.Needs{Params: catalog.ParamSeed | catalog.ParamTopK}, fault.NoEndpoints, "", "they lack: top_k, seed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Needs: c.needs, Preferences: routing.Preferences{RequireParameters: true}}, snapshot(t, c.offers...))
			f := fault.From(err)
			if f == nil || f.Kind != c.kind || f.Param != c.param || !strings.Contains(f.Public, c.words) {
				t.Errorf("%v %q", err, f.Param)
			}
		})
	}
}

// Files need an endpoint that takes them or a plugin that reads them: where there is neither, the error names the plugin.
func TestFilesThatNoEndpointTakes(t *testing.T) {
	t.Parallel()
	takes := func(in catalog.Modality) func(*catalog.Offer) { return func(o *catalog.Offer) { o.Input = in } }
	for _, c := range []struct {
		name  string
		takes catalog.Modality
		needs catalog.Modality
		kind  fault.Kind
		names bool
	}{
		{"files alone are missing", catalog.Text, catalog.Text | catalog.File, fault.Invalid, true},
		{"images are missing, too", catalog.Text, catalog.Text | catalog.File | catalog.Image, fault.NoEndpoints, false},
		{"images are missing", catalog.Text | catalog.File, catalog.Text | catalog.Image, fault.NoEndpoints, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			snap := snapshot(t, offer("alpha", "v/m", "1", "1", takes(c.takes)))
			_, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Needs: routing.Needs{Input: c.needs}}, snap)
			f := fault.From(err)
			if f == nil || f.Kind != c.kind || strings.Contains(f.Public, "file-parser") != c.names {
				t.Fatalf("%v", err)
			}
			if d := cmp.Diff([]string{"input_modalities"}, f.Details["excluded_by"]); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAttemptKeepsTheRequestedSlug(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, append(four(), offer("alpha", "v/odd:free", "1", "1"))...)
	plan, err := routing.Choose(routing.Query{Models: []string{"v/m:thinking", "v/odd:free"}, MaxAttempts: 2}, snap)
	if err != nil {
		t.Fatal(err)
	}
	got := []routing.Attempt{{Slug: plan.Attempts[0].Slug, Variant: plan.Attempts[0].Variant}, {Slug: plan.Attempts[1].Slug, Variant: plan.Attempts[1].Variant}}
	want := []routing.Attempt{{Slug: "v/m:thinking", Variant: catalog.Thinking}, {Slug: "v/odd:free"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The weights of prices 1, 2, 3 and 4 for prompt and completion alike are 144, 36, 16 and 9 of 205.
func TestLoadBalancingDrawsByPriceSquared(t *testing.T) {
	t.Parallel()
	zero := []catalog.Offer{offer("alpha", "v/m", "0", "0"), offer("beta", "v/m", "1", "1"), offer("gamma", "v/m", "2", "2")}
	free := []catalog.Offer{offer("alpha", "v/m", "0", "0"), offer("beta", "v/m", "0", "0")}
	cases := []struct {
		name   string
		offers []catalog.Offer
		u      float64
		want   []string
		share  float64
	}{
		{"start of the first", four(), 0, []string{"alpha", "beta", "gamma", "delta"}, 144.0 / 205},
		{"end of the first", four(), 143.9 / 205, []string{"alpha", "beta", "gamma", "delta"}, 144.0 / 205},
		{"start of the second", four(), 144.1 / 205, []string{"beta", "alpha", "gamma", "delta"}, 36.0 / 205},
		{"start of the third", four(), 180.1 / 205, []string{"gamma", "alpha", "beta", "delta"}, 16.0 / 205},
		{"end of the last", four(), 0.9999999, []string{"delta", "alpha", "beta", "gamma"}, 9.0 / 205},
		{"price zero weighs a hundred times the cheapest", zero, 99.9 / 101.25, []string{"alpha", "beta", "gamma"}, 100 / 101.25},
		{"the cheapest beside price zero", zero, 100.1 / 101.25, []string{"beta", "alpha", "gamma"}, 1 / 101.25},
		{"all free", free, 0.6, []string{"beta", "alpha"}, 0.5},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Explain: true, Rand: func() float64 { return c.u }}, snapshot(t, c.offers...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, tags(plan)); d != "" {
				t.Errorf("attempts (-want +got):\n%s", d)
			}
			i := slices.IndexFunc(plan.Candidates, func(x routing.Candidate) bool { return x.Order == 1 })
			first := plan.Candidates[i]
			if first.Reason != routing.ReasonWeight || first.Score < c.share-1e-9 || first.Score > c.share+1e-9 {
				t.Errorf("first has reason %s and score %v, want weight and %v", first.Reason, first.Score, c.share)
			}
		})
	}
}

func TestDrawSkipsWhatGoesToTheEnd(t *testing.T) {
	t.Parallel()
	health := func(id string) routing.Health {
		return map[string]routing.Health{"alpha/v/m": {CoolDown: true}, "gamma/v/m": {Throughput: [4]float64{50}}, "delta/v/m": {Failing: true, Throughput: [4]float64{50}}}[id]
	}
	for _, u := range []float64{0, 0.5, 0.999} {
		plan, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Health: health, Rand: func() float64 { return u },
			Preferences: routing.Preferences{MinThroughput: routing.Cutoffs{P50: 10}}}, snapshot(t, four()...))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"gamma", "delta", "beta", "alpha"}, tags(plan)); d != "" {
			t.Errorf("u=%v (-want +got):\n%s", u, d)
		}
	}
}
