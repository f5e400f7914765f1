package app_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/app"
	"weir/internal/catalog/edit"
	"weir/internal/resource"
)

func kindNamed(name string) *resource.Kind {
	kinds := app.StateKinds()
	return &kinds[slices.IndexFunc(kinds, func(k resource.Kind) bool { return k.Name == name })]
}

// yamlTexts are what YAML could take for something else.
var yamlTexts = []string{"plain", "yes", "null", "~", "1e3", "0x10", "1_000", "0.60", "# no comment", "a: b", " spaces ", "'", `"`, "- x", "{", "&a", "*a", "!!int 3", "%", "@", "", "ключ", "2026-01-01", "${HUT_KEY}"}

func drawnFields(t *rapid.T, k edit.Kind) resource.Fields {
	of := map[edit.Kind]map[string][]string{
		edit.Provider: {"name": yamlTexts, "base_url": {"https://hut.example/v1"}, "headers.X-A": yamlTexts, "headers.1": yamlTexts, "quirks.system_role": {"true", "false"}, "quirks.rename.seed": yamlTexts,
			"quirks.drop": {"user", "user,seed"}, "quirks.cost_digits": {"10", "0"}, "wires.image.dialect": yamlTexts},
		edit.Endpoint: {"upstream_id": yamlTexts, "context_length": {"0", "8000"}, "price_usd.prompt": {"0.60", "1", "00.1"}, "prices.completion": {"12"}, "params": {"tools", "tools,temperature"}, "disabled": {"true"},
			"thresholds.0.above": {"1000"}, "thresholds.0.prices.prompt": {"1"}, "thresholds.1.above": {"2000"}, "thresholds.1.price_usd.prompt": {"3.50"},
			"hours.0.from": {"09:00"}, "hours.0.days": {"mon,fri"}, "about.created": {"2026-01-31"}},
	}[k]
	f := resource.Fields{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if rapid.Bool().Draw(t, name) {
			f[name] = rapid.SampledFrom(of[name]).Draw(t, "value of "+name)
		}
	}
	if f["thresholds.1.above"] != "" || f["thresholds.1.price_usd.prompt"] != "" {
		f["thresholds.0.above"] = "1000"
	}
	return f
}

// Whatever yamlTexts a row has, its file is read as the same row, and is the same file when it is written again.
func TestStateFilesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SampledFrom([]edit.Kind{edit.Provider, edit.Endpoint}).Draw(t, "kind")
		k := kindNamed(string(of) + "s")
		l := resource.Listing{Notes: []string{"A note\nof two lines: - x"}}
		for _, id := range []string{"filed", "hut", "hut/acme/1.0", "true"} {
			if id == "filed" {
				l.Items = append(l.Items, resource.Item{ID: id, Where: "weir.yaml:7"})
				continue
			}
			l.Items = append(l.Items, resource.Item{ID: id, Version: 3, Fields: drawnFields(t, of)})
		}
		text, err := app.StateFile(k, &l, nil)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "x.yaml")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		files := app.StateFiles{Kinds: app.StateKinds(), Env: os.LookupEnv}
		sets, err := files.Read(name)
		if err != nil || len(sets) != 1 || len(sets[0].Items) != 3 {
			t.Fatalf("%v\n%s", err, text)
		}
		read := resource.Listing{Notes: l.Notes, Items: l.Items[:1:1]}
		for i, w := range sets[0].Items {
			if want := l.Items[i+1]; w.ID != want.ID || !maps.Equal(w.Fields, want.Fields) {
				t.Fatalf("%s is %q, read as %q\n%s", want.ID, want.Fields, w.Fields, text)
			}
			read.Items = append(read.Items, resource.Item{ID: w.ID, Fields: w.Fields})
		}
		if again, err := app.StateFile(k, &read, nil); err != nil || string(again) != string(text) {
			t.Fatalf("%v\n%s\n%s", err, text, again)
		}
	})
}

func TestStateFilesRefuse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, text := range map[string]string{
		":1: \"gadgets\" is no kind":                        "gadgets: {}",
		":3: hut is here twice":                             "providers:\n  hut: {name: a}\n  hut: {name: b}",
		":2: provider \"hut\": A row of kind provider":      "providers:\n  hut: {temper: 1}",
		":2: endpoint \"a/b/c\": context_length must":       "endpoints:\n  a/b/c: {context_length: 1.5}",
		":2: api_key must not be in a file":                 "providers:\n  hut: {api_key: sk-in-the-clear}",
		":2: the environment variable HUT_KEY is not set":   "providers:\n  hut: {api_key: \"${HUT_KEY}\"}",
		":2: " + dir + "/empty is empty":                    "providers:\n  hut: {api_key: \"file:empty\"}",
		":3: write it out: anchors":                         "providers:\n  hut: &a {name: x}\n  hat: *a",
		":2: names with values are expected":                "providers:\n  - hut",
		":2: params is a list of words":                     "endpoints:\n  a/b/c: {params: [\"a,b\"]}",
		":1: rate \"current\": rate must be rubles":         "rates: {rate: \"0\"}",
		":3: the provider \"hut\" is at " + dir + "/x.yaml": "providers: {hut: {name: a}}\n---\nproviders: {hut: {name: b}}",
	} {
		name := filepath.Join(dir, "x.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files := app.StateFiles{Kinds: app.StateKinds(), Env: func(string) (string, bool) { return "", false }}
		if _, err := files.Read(dir); err == nil || !strings.Contains(err.Error(), "x.yaml"+says) || strings.Contains(err.Error(), "in-the-clear") {
			t.Errorf("%s\n%v, want %s", text, err, says)
		}
	}
}

// Secrets are found by what the files say of them, and what says that one stays says nothing else.
func TestSecretsOfStateFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hat.key", "sk-of-the-hat\n")
	write("providers.yaml", "providers:\n  hut: {api_key: \"${HUT_KEY}\"}\n  hat: {api_key: \"file:hat.key\"}\n  shed: {api_key: kept}\n  barn: {api_key: none}\n  mill: {name: Mill}\n")
	files := app.StateFiles{Kinds: app.StateKinds(), Env: func(name string) (string, bool) { return "sk-of-" + name, true }}
	sets, err := files.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []*resource.Secret{{From: "HUT_KEY", Value: "sk-of-HUT_KEY"}, {From: "file:hat.key", Value: "sk-of-the-hat"}, nil, {From: "none"}, nil} {
		w := sets[0].Items[i]
		if (w.Secret == nil) != (want == nil) || want != nil && *w.Secret != *want || w.Kept != (w.ID == "shed") {
			t.Errorf("%s: %+v, want %+v", w.ID, w.Secret, want)
		}
	}
	// written again, what they say of secrets stays
	text, err := app.StateFile(kindNamed("providers"), &resource.Listing{Items: []resource.Item{{ID: "hut", HasKey: true, Last4: "f00d"}, {ID: "shed", HasKey: true, Last4: "beef"}}}, files.References())
	if err != nil || string(text) != "providers:\n  hut:\n    api_key: ${HUT_KEY}\n  shed:\n    api_key: kept # ...beef\n" {
		t.Errorf("%v\n%s", err, text)
	}
}
