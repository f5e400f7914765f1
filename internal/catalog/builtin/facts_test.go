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
)

// Every fact can be set in the files, and is documented: a field added to catalog.Facts must be read here and explained there.
func TestEveryFactIsReadAndDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	kind := reflect.TypeFor[catalog.Facts]()
	for i := range kind.NumField() {
		name := kind.Field(i).Tag.Get("yaml")
		value := map[reflect.Kind]string{reflect.String: `"x"`, reflect.Int: "7", reflect.Int64: `"7s"`, reflect.Slice: `["x"]`}[kind.Field(i).Type.Kind()]
		if got := builtin.ParseFacts([]byte(`{"` + name + `":` + value + `}`)); reflect.ValueOf(got).Field(i).IsZero() {
			t.Errorf("%s is not read", name)
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/configuration.md does not explain %s", name)
		}
		for _, word := range catalog.FactWords(name) {
			if name != "reasoning_request" && !strings.Contains(string(page), "`"+word+"`") {
				t.Errorf("docs/configuration.md lacks the value %s of %s", word, name)
			}
		}
	}
}

// facts.json names only what is read, says where each entry was read, and each of its families has a model in the catalog or says that it is of
// a kind that operators declare.
func TestFactsFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("facts.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string][]map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil { // JSON is YAML
		t.Fatal(err)
	}
	var facts []string
	for i := range reflect.TypeFor[catalog.Facts]().NumField() {
		facts = append(facts, reflect.TypeFor[catalog.Facts]().Field(i).Tag.Get("yaml"))
	}
	for _, family := range file["families"] {
		for name := range family {
			if !slices.Contains([]string{"models", "but", "providers", "facts"}, name) {
				t.Errorf("%v: %s is not read", family["models"], name)
			}
		}
		its, _ := family["facts"].(map[string]any)
		for name := range its {
			if !slices.Contains(facts, name) {
				t.Errorf("%v: there is no fact %s", family["models"], name)
			}
		}
		if source, _ := its["source"].(string); len(source) < 10 {
			t.Errorf("%v has no source", family["models"])
		}
	}
	d, err := builtin.Declare(all(), rate(t, "1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Families) != len(file["families"]) || len(d.Families) < 30 {
		t.Errorf("%d families are read of %d", len(d.Families), len(file["families"]))
	}
	known := map[string]bool{}
	for _, p := range builtin.Providers() {
		known[p.ID] = true
	}
	for _, f := range d.Families {
		for _, id := range f.Providers {
			if !known[id] {
				t.Errorf("%v: there is no provider %s", f.Models, id)
			}
		}
	}
	address(&d)
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	for slug, want := range map[string]string{ // at any provider, whatever form its ids have
		"anthropic/claude-opus-4.6": "low medium high max", "openai/gpt-oss-120b": "low medium high", "google/gemini-3.1-pro-preview": "low medium high", "openai/gpt-5.1": "none low medium high",
	} {
		m, ok := snap.Model(slug)
		if !ok {
			t.Errorf("%s is not in the catalog", slug)
			continue
		}
		for _, ep := range m.Endpoints {
			if router := ep.Provider.ID == "openrouter" || ep.Provider.ID == "vercel"; !router && strings.Join(ep.Facts.Efforts, " ") != want {
				t.Errorf("%s takes %v, want %s", ep.ID, ep.Facts.Efforts, want)
			}
		}
	}
}
