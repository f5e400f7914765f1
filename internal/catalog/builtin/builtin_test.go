package builtin_test

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/money"
	"weir/internal/rawjson"
)

func rate(t testing.TB, rubles string) builtin.Rate {
	t.Helper()
	r, err := money.NewRate(rubles, "0")
	if err != nil {
		t.Fatal(err)
	}
	return builtin.Rate{Rate: r, Version: "test"}
}

func all() map[string]string {
	keys := map[string]string{}
	for _, p := range builtin.Providers() {
		if !p.Template {
			keys[p.ID] = "key-of-" + p.ID
		}
	}
	return keys
}

// placed has every variable that an address may need: whole addresses and parts of them.
func placed(name string) (string, bool) {
	if strings.HasSuffix(name, "_ENDPOINT") {
		return "https://set.test", true
	}
	return "set", true
}

// address fills in what addresses take from the environment.
func address(d *catalog.Declared) {
	for i := range d.Providers {
		d.Providers[i].BaseURL, _ = builtin.Expand(d.Providers[i].BaseURL, placed)
	}
}

func TestEverythingBuilds(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(all(), rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	address(&d)
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	offers, chat, served := map[string]int{}, 0, map[string]bool{}
	for _, m := range snap.Models() {
		if m.Name == "" || len(m.Endpoints) == 0 {
			t.Errorf("%s has no name or endpoint", m.Slug)
		}
		if m.Type == catalog.TypeChat {
			chat++
		}
		for _, ep := range m.Endpoints {
			offers[ep.Provider.ID]++
			p := ep.Pricing
			if p.Rate != "test" || !strings.HasPrefix(p.List, "builtin-") || !strings.HasPrefix(p.Source, "USD per ") || ep.UpdatedAt.IsZero() {
				t.Errorf("%s: %+v", ep.ID, p)
			}
			if m.Type == catalog.TypeChat {
				served[ep.Provider.ID] = true
				if free := ep.Variant == "free"; free != (p.Base.Prompt.Nano == 0) || free != (p.Base.Completion.Nano == 0) || ep.ContextLength == 0 || ep.Output&catalog.Text == 0 {
					t.Errorf("%s: %+v", ep.ID, ep)
				}
			}
			if m.Type == catalog.TypeChat && ep.Params&catalog.ParamWebSearchOptions != 0 && !p.Base.WebSearch.Set {
				t.Errorf("%s claims to search, which has no price", ep.ID)
			}
			if ep.Provider.Key != "key-of-"+ep.Provider.ID {
				t.Errorf("%s has another's key", ep.ID)
			}
		}
	}
	for _, p := range builtin.Providers() {
		if (offers[p.ID] == 0) != p.Template {
			t.Errorf("%s serves %d models, template is %t", p.ID, offers[p.ID], p.Template)
		}
	}
	if chat < 300 || len(served) < 20 {
		t.Errorf("there are %d chat models over %d providers", chat, len(served))
	}
}

func TestKnownPrices(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(map[string]string{"openai": "k"}, rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Providers) != 1 || d.Providers[0].Key != "k" {
		t.Fatalf("providers are %+v", d.Providers)
	}
	i := slices.IndexFunc(d.Offers, func(o catalog.Offer) bool { return o.Model == "openai/gpt-5.4" })
	o := d.Offers[i]
	// dollars per million at 100 rubles are a tenth of the number in rubles per thousand
	set := func(nano int64, dollars string) money.Price {
		return money.Price{Nano: nano, Set: true, Dollars: dollars}
	}
	if want := (catalog.Prices{Prompt: set(250_000_000, "2.5"), Completion: set(1_500_000_000, "15"), CacheRead: set(25_000_000, "0.25"),
		WebSearch: set(1_000_000_000, "0.01"), FileSearch: set(250_000_000, "0.0025"), CodeExecution: set(6_000_000_000, "0.06"), MCP: set(0, "0")}); o.Pricing.Base != want {
		t.Errorf("base is %+v", o.Pricing.Base)
	}
	if th := o.Pricing.Thresholds; len(th) != 1 || th[0].Above != 272000 || th[0].Prices.Prompt != set(500_000_000, "5") {
		t.Errorf("thresholds are %+v", th)
	}
	if o.Params&catalog.ParamTools == 0 || o.Params&catalog.ParamTemperature != 0 || o.Params&catalog.ParamReasoningEffort == 0 || o.Input != catalog.Text|catalog.Image|catalog.File {
		t.Errorf("params %s, input %s", o.Params, o.Input)
	}
}

func TestNothingOnNothingRead(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(nil, builtin.Rate{})
	if err != nil || len(d.Providers)+len(d.Offers)+len(d.Models) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := builtin.Declare(map[string]string{"nobody": "k"}, rate(t, "1")); err == nil {
		t.Error("an unknown provider was taken")
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	variables := map[string]string{}
	other := map[string]string{"anthropic": "anthropic", "google": "gemini", "vertex": "gemini", "bedrock": "bedrock", "gigachat": "gigachat", "voyage": "voyage", "fal": "fal", "bfl": "bfl", "deepgram": "deepgram", "elevenlabs": "elevenlabs", "runway": "runway", "kling": "kling", "luma": "luma"}
	noText := []string{"fal", "bfl", "voyage", "jina", "deepgram", "elevenlabs", "runway", "kling", "luma"} // what chats understand says nothing of their models
	for _, p := range builtin.Providers() {
		local := strings.HasPrefix(p.BaseURL, "http://localhost:")
		if (len(p.KeyVariables) == 0) != local || (p.Params == 0) != (p.Template || slices.Contains(noText, p.ID)) || p.Dialect != cmp.Or(other[p.ID], "openai") || !local && !strings.HasPrefix(p.BaseURL, "https://") && !strings.HasPrefix(p.BaseURL, "${") {
			t.Errorf("%+v", p)
		}
		for _, name := range p.KeyVariables {
			if variables[name] != "" {
				t.Errorf("%s and %s listen to %s", variables[name], p.ID, name)
			}
			variables[name] = p.ID
		}
		p.BaseURL, _ = builtin.Expand(p.BaseURL, placed)
		if snap, err := catalog.Build(catalog.Declared{Providers: []catalog.Provider{p.Provider}}); err != nil {
			t.Error(err)
		} else if used := snap.Providers[p.ID].BaseURL; used != p.BaseURL {
			t.Errorf("%s: %s is used as %s", p.ID, p.BaseURL, used)
		}
	}
	for _, id := range []string{"openai", "azure", "deepseek", "mistral", "groq", "cerebras", "together", "fireworks", "deepinfra", "novita", "xai", "openrouter", "moonshotai", "zai", "minimax",
		"alibaba", "perplexity", "sambanova", "nebius", "yandex", "vllm", "sglang", "ollama", "llama.cpp", "lmstudio"} {
		if _, ok := builtin.Named(id); !ok {
			t.Errorf("%s is not known", id)
		}
	}
	if p, ok := builtin.Named("groq"); !ok || p.Quirks.ReasoningReply != "reasoning" {
		t.Errorf("groq is %+v", p)
	}
}

func TestMediaPrices(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(map[string]string{"openai": "k", "cohere": "k"}, rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(nano int64, dollars string) money.Price {
		return money.Price{Nano: nano, Set: true, Dollars: dollars}
	}
	at := func(model, tier string) *catalog.Offer {
		i := slices.IndexFunc(d.Offers, func(o catalog.Offer) bool { return o.Model == model && o.Tier == tier })
		if i < 0 {
			t.Fatalf("there is no %s %s", model, tier)
		}
		return &d.Offers[i]
	}
	if o := at("openai/whisper-1", ""); o.Params != 0 || o.ImplicitCache {
		t.Errorf("whisper-1 is said to understand %s", o.Params)
	}
	if p := at("openai/whisper-1", "").Pricing; p.Minute != set(600_000_000, "0.006") || p.Base != (catalog.Prices{}) {
		t.Errorf("whisper-1: %+v", p)
	}
	if p := at("openai/tts-1", "").Pricing; p.Characters != set(1_500_000_000, "15") {
		t.Errorf("tts-1: %+v", p)
	}
	if p := at("openai/gpt-4o-transcribe", "").Pricing.Base; p.Audio != set(600_000_000, "6") || p.Prompt != set(250_000_000, "2.5") {
		t.Errorf("gpt-4o-transcribe: %+v", p)
	}
	if p := at("openai/gpt-image-1", "").Pricing.Base; p.ImageOutput != set(4_000_000_000, "40") || p.Image != set(1_000_000_000, "10") {
		t.Errorf("gpt-image-1: %+v", p)
	}
	if p := at("openai/omni-moderation-latest", "").Pricing.Base; p.Prompt != set(0, "0") {
		t.Errorf("omni-moderation-latest: %+v", p)
	}
	if p := at("cohere/rerank-v3.5", "").Pricing.Base; p.Request != set(200_000_000, "0.002") {
		t.Errorf("rerank-v3.5: %+v", p)
	}
	video := at("openai/sora-2", "")
	if want := []catalog.VideoRule{{Resolution: "720p", WithAudio: true, PerSecond: set(10_000_000_000, "0.1")}, {Resolution: "720p", PerSecond: set(10_000_000_000, "0.1")}}; !slices.Equal(video.Pricing.Video, want) || video.Output != catalog.Video {
		t.Errorf("sora-2: %+v", video)
	}
	i := slices.IndexFunc(d.Models, func(m catalog.ModelInfo) bool { return m.Slug == "openai/sora-2" })
	if v := d.Models[i].Video; v == nil || !slices.Equal(v.Durations, []int{4, 8, 12}) || !v.Audio {
		t.Errorf("sora-2 makes %+v", v)
	}
	// the dearer tier has no price for long prompts, so that it does not take them
	if o := at("openai/gpt-5.4", "priority"); o.ContextLength != 272_000 || len(o.Pricing.Thresholds) != 0 || o.Pricing.Base.Prompt != set(500_000_000, "5") || !strings.Contains(o.Pricing.Source, `"5"`) {
		t.Errorf("priority: %+v", o)
	}
}

func TestKeysAndAddresses(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) builtin.Lookup {
		return func(name string) (string, bool) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1], true
				}
			}
			return "", false
		}
	}
	azure, _ := builtin.Named("azure")
	if _, on := azure.KeyIn(env("AZURE_API_KEY", "k")); on {
		t.Error("azure is on without its address")
	}
	if key, on := azure.KeyIn(env("AZURE_API_KEY", "k", "AZURE_OPENAI_ENDPOINT", "https://a.test/")); !on || key != "k" {
		t.Error("azure is off")
	}
	if key, on := azure.KeyIn(env("AZURE_API_KEY", "second", "AZURE_OPENAI_API_KEY", "first", "AZURE_OPENAI_ENDPOINT", "x")); !on || key != "first" {
		t.Errorf("the key is %q", key)
	}
	if url, missing := builtin.Expand(azure.BaseURL, env("AZURE_OPENAI_ENDPOINT", "https://a.test/")); url != "https://a.test/openai/v1" || missing != "" {
		t.Errorf("%q, %q", url, missing)
	}
	if url, missing := builtin.Expand("a ${X} b", env("X", "")); url != "a ${X} b" || missing != "X" {
		t.Errorf("%q, %q", url, missing)
	}
	if got := builtin.Variables("${A}/${B}${A}${"); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("%q", got)
	}
	vertex, _ := builtin.Named("vertex")
	for place, want := range map[string]string{
		"europe-west4": "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google",
		"global":       "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google",
	} {
		if url, missing := builtin.Expand(vertex.BaseURL, env("VERTEX_LOCATION", place, "VERTEX_PROJECT", "p")); url != want || missing != "" {
			t.Errorf("%q, %q", url, missing)
		}
	}
	if _, on := vertex.KeyIn(env("VERTEX_SERVICE_ACCOUNT", "{}", "VERTEX_PROJECT", "p")); on {
		t.Error("vertex is on without its place")
	}
	ollama, _ := builtin.Named("ollama")
	if _, on := ollama.KeyIn(env()); on {
		t.Error("a server without models is on")
	}
}

func TestDialectsAreKnown(t *testing.T) {
	t.Parallel()
	list, err := builtin.ParseProviders([]byte(`[{"id":"a"},{"id":"b","dialect":"bedrock"}]`))
	if err != nil || len(list) != 2 || list[0].Dialect != "openai" || list[1].Dialect != "bedrock" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := builtin.ParseProviders([]byte(`[{"id":"a","dialect":"bedrok"}]`)); err == nil || !strings.Contains(err.Error(), "bedrok") {
		t.Errorf("a dialect that nobody speaks: %v", err)
	}
}

// The dialects read from these whether reasoning takes a budget or an effort, and whether it may be sampled.
func TestReasoningOfNativeWires(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(map[string]string{"anthropic": "k", "google": "k", "vertex": "k", "bedrock": "k"}, rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	offers := map[string]*catalog.Offer{}
	for i := range d.Offers {
		if o := &d.Offers[i]; o.Tier == "" {
			offers[o.Provider+" "+o.Model] = o
		} else if o.Provider != "bedrock" && o.Tier != catalog.BatchTier {
			t.Errorf("%s at %s is offered in a tier that its wire does not ask for", o.Model, o.Provider)
		}
	}
	const claude, level, gemini = "anthropic/claude-", catalog.ParamReasoningEffort, "google/gemini-"
	for _, c := range []struct {
		model            string
		providers        []string
		reported, sample bool
	}{
		{claude + "haiku-4.5", []string{"anthropic", "bedrock"}, false, true},
		{claude + "sonnet-4.5", []string{"anthropic", "bedrock"}, false, true},
		{claude + "opus-4.5", []string{"anthropic", "bedrock"}, false, true},
		{claude + "sonnet-4.6", []string{"anthropic", "bedrock"}, true, true},
		{claude + "opus-4.6", []string{"anthropic", "bedrock"}, true, true},
		{claude + "opus-4.7", []string{"anthropic", "bedrock"}, true, false},
		{claude + "opus-4.8", []string{"anthropic", "bedrock"}, true, false},
		{gemini + "2.5-pro", []string{"google", "vertex"}, false, true},
		{gemini + "2.5-flash", []string{"google", "vertex"}, false, true},
		{gemini + "3-flash-preview", []string{"google", "vertex"}, true, true},
		{gemini + "3.1-pro-preview", []string{"google", "vertex"}, true, true},
	} {
		for _, provider := range c.providers {
			o := offers[provider+" "+c.model]
			if o == nil {
				t.Errorf("%s does not serve %s", provider, c.model)
				continue
			}
			const all = catalog.ParamReasoning | catalog.ParamTools | catalog.ParamStructuredOutputs | catalog.ParamResponseFormat | catalog.ParamStop
			if o.Params&all != all || o.Params&level != 0 != c.reported || o.Params&catalog.ParamTemperature != 0 != c.sample || o.Params&catalog.ParamTopP != 0 != c.sample || o.Params&catalog.ParamTopK != 0 && !c.sample {
				t.Errorf("%s at %s understands %s", c.model, provider, o.Params)
			}
			if wrote := o.Pricing.Base.CacheWrite.Set && o.Pricing.Base.CacheWrite1h.Set; wrote != strings.HasPrefix(c.model, claude) || !o.Pricing.Base.CacheRead.Set {
				t.Errorf("%s at %s: %s", c.model, provider, o.Pricing.Source)
			}
		}
	}
	for _, model := range []string{claude + "opus-4.1", claude + "opus-4.0", claude + "sonnet-4.0"} {
		if offers["anthropic "+model] != nil {
			t.Errorf("%s is retired", model)
		}
	}
	if o := offers["bedrock "+claude+"haiku-4.5"]; o.UpstreamID != "global.anthropic.claude-haiku-4-5-20251001-v1:0" {
		t.Errorf("the upstream id is %s", o.UpstreamID)
	}
}

// Every field of Quirks can be set in providers.json: a field added there must be read here.
func TestEveryQuirkIsRead(t *testing.T) {
	t.Parallel()
	file := []byte("{")
	kind := reflect.TypeFor[catalog.Quirks]()
	for i := range kind.NumField() {
		if i > 0 {
			file = append(file, ',')
		}
		value := map[reflect.Kind]string{reflect.String: `"x"`, reflect.Bool: "true", reflect.Int: "7", reflect.Slice: `["x"]`, reflect.Map: `{"x":"y"}`}[kind.Field(i).Type.Kind()]
		file = append(file, `"`+kind.Field(i).Tag.Get("yaml")+`":`+value...)
	}
	got := reflect.ValueOf(builtin.ParseQuirks(append(file, '}')))
	for i := range kind.NumField() {
		if got.Field(i).IsZero() {
			t.Errorf("%s is not read", kind.Field(i).Name)
		}
	}
}

// providers.json names only what is read: a misspelt quirk would be lost in silence.
func TestProvidersFileHasNoUnknownNames(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("providers.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := yaml.Unmarshal(data, &list); err != nil { // JSON is YAML
		t.Fatal(err)
	}
	known := []string{"id", "name", "dialect", "base_url", "keys", "data_policy", "template", "upstream_id", "max_n", "implicit_cache", "params", "quirks", "facts", "wires"}
	var quirks []string
	for i := range reflect.TypeFor[catalog.Quirks]().NumField() {
		quirks = append(quirks, reflect.TypeFor[catalog.Quirks]().Field(i).Tag.Get("yaml"))
	}
	var facts []string
	for i := range reflect.TypeFor[catalog.Facts]().NumField() {
		facts = append(facts, reflect.TypeFor[catalog.Facts]().Field(i).Tag.Get("yaml"))
	}
	for _, p := range list {
		its, _ := p["facts"].(map[string]any)
		for name := range its {
			if !slices.Contains(facts, name) {
				t.Errorf("%s: there is no fact %s", p["id"], name)
			}
		}
		if its != nil && its["source"] == nil {
			t.Errorf("%s has facts without a source", p["id"])
		}
		for name := range p {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is not read", p["id"], name)
			}
		}
		own, _ := p["quirks"].(map[string]any)
		for name := range own {
			if !slices.Contains(quirks, name) {
				t.Errorf("%s: there is no quirk %s", p["id"], name)
			}
		}
	}
}

func TestSmallAndLicensed(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"catalog.json", "providers.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	info, err := os.Stat("catalog.json")
	if err != nil || info.Size() > 300_000 {
		t.Errorf("catalog.json: %v, %v", info, err)
	}
	for _, name := range []string{"models-dev", "litellm", "portkey-models", "genai-prices"} {
		data, err := os.ReadFile(filepath.Join("LICENSES", name+".txt"))
		if err != nil || !strings.Contains(string(data), "MIT") || !strings.Contains(string(data), "Copyright") {
			t.Errorf("the licence of %s is missing: %v", name, err)
		}
	}
}

func BenchmarkDeclareAll(b *testing.B) {
	keys, r := all(), rate(b, "100")
	b.ReportAllocs()
	for b.Loop() {
		d, err := builtin.Declare(keys, r)
		if err != nil {
			b.Fatal(err)
		}
		address(&d)
		if _, err := catalog.Build(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDeclareOne(b *testing.B) {
	keys, r := map[string]string{"groq": "k"}, rate(b, "100")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := builtin.Declare(keys, r); err != nil {
			b.Fatal(err)
		}
	}
}
