package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/config"
)

// All credentials of a provider reach the catalog in their order, are listed as secrets, and never print.
func TestSeveralCredentials(t *testing.T) {
	t.Parallel()
	const own = "base_url: \"http://h\", models: [{id: v/m, prices: {prompt: 1, completion: 1}}]"
	for _, c := range []struct {
		name, provider, id string
		first              string
		more               []string
	}{
		{"a list beside the key", "id: a, api_key: first-key, api_keys: [env:SECOND, third-key], " + own, "a", "first-key", []string{"second-key", "third-key"}},
		{"a list alone", "id: a, api_keys: [env:SECOND, third-key], " + own, "a", "second-key", []string{"third-key"}},
		{"a key alone", "id: a, api_key: first-key, " + own, "a", "first-key", nil},
		{"none", "id: a, " + own, "a", "", nil},
		{"a built-in provider", "id: openai, api_keys: [env:SECOND, third-key]", "openai", "second-key", []string{"third-key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse([]byte("providers: [{"+c.provider+"}]"), env("SECOND", "second-key"))
			if err != nil {
				t.Fatal(err)
			}
			d, err := declaredBy(&cfg, env())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range d.Providers {
				if p.ID == c.id && (p.Key != c.first || !slices.Equal(p.Keys, c.more)) {
					t.Errorf("key %q, further ones %q", p.Key, p.Keys)
				}
			}
			for _, key := range append(c.more, c.first) {
				if key != "" && !slices.Contains(cfg.Secrets(), key) {
					t.Errorf("%q is not known as a secret", key)
				}
				if key != "" && strings.Contains(fmt.Sprintf("%+v %#v", cfg, cfg), key) {
					t.Errorf("%q prints", key)
				}
			}
		})
	}
	for _, text := range []string{"api_keys: [\"\"]", "api_keys: [\"a b\"]"} {
		cfg, err := config.Parse([]byte("providers: [{id: a, "+text+", "+own+"}]"), env())
		if err == nil {
			err = cfg.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), "api_keys[0]") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestHTTPClientIsOneOfTwo(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"own": true, "standard": true, "curl": false} {
		cfg, err := config.Parse([]byte("upstream: {http_client: "+value+"}"), env())
		if err == nil {
			err = cfg.Validate()
		}
		if (err == nil) != want {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// A file of an earlier release names settings that are gone: the error says what to do.
func TestRemovedSettingsSayTheRemedy(t *testing.T) {
	t.Parallel()
	for text, key := range map[string]string{"server: {http_server: standard}": "server.http_server", "server: {timeouts: {busy: 1s}}": "server.timeouts.busy"} {
		if _, err := config.Parse([]byte(text), env()); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "remove this key") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
