package config_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"weir/internal/config"
)

// The description has every key of the struct, with its default, and what the example file says of it.
func TestDescribe(t *testing.T) {
	t.Parallel()
	path, _ := example(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := config.Describe(data)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]config.Described{}
	for _, d := range all {
		if _, twice := by[d.Key]; twice {
			t.Errorf("%s is described twice", d.Key)
		}
		if d.Type == "any" {
			t.Errorf("%s: no such key in the struct", d.Key)
		}
		by[d.Key] = d
	}
	for _, want := range []config.Described{
		{Key: "server.listen", Type: "text", Value: "127.0.0.1:8080", Means: "where clients connect; :8080 for all interfaces"},
		{Key: "server.limits.max_body_bytes", Type: "size", Value: "32MiB", Means: "of one text request, after decompression"},
		{Key: "pricing.rub_per_usd", Type: "decimal", Value: `"100"`, Means: "set this to your rate. Without this line and the next, weir rate set changes them at run time", Live: true},
		{Key: "builtin", Type: "boolean or list", Value: "true", Means: "true, false, or a list of ids such as [openai, groq]", Live: true},
		{Key: "providers[].like", Type: "text", Value: "vllm", Example: true, Live: true, Means: "a known server, for defaults of address, key variable and quirks: vllm, sglang, ollama, llama.cpp, lmstudio, yandex, or any other of docs/catalog.md"},
	} {
		if got := by[want.Key]; got != want {
			t.Errorf("%s: %+v, want %+v", want.Key, got, want)
		}
	}
	missing := 0
	var walk func(reflect.Type, string)
	walk = func(of reflect.Type, at string) {
		for name, f := range config.Settings(of) {
			key := strings.TrimPrefix(at+"."+name, ".")
			found := false
			for _, d := range all {
				found = found || d.Key == key || strings.HasPrefix(d.Key, key+".") || strings.HasPrefix(d.Key, key+"[]")
			}
			if !found {
				missing++
				t.Errorf("%s is not described", key)
			}
			if f.Kind() == reflect.Struct && by[key].Key == "" {
				walk(f, key)
			}
		}
	}
	walk(reflect.TypeFor[config.Config](), "")
	if len(all) < 200 {
		t.Errorf("only %d keys are described", len(all))
	}
}
