package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/completion"
	"weir/internal/httpapi"
	"weir/internal/rawjson"
)

// counts returns the routes that can answer without calling a provider.
func counts(route string) bool {
	return strings.HasSuffix(route, "_tokens") || strings.HasSuffix(route, ":countTokens") || route == "/v1/route/explain"
}

// batched are the routes that take requests for other routes: each is carried out by that route's handler, with all that holds there.
var batched = []string{"/v1/files", "/v1/batches", "/v1/messages/batches"}

// reporting are the routes on which coding agents report what they did.
var reporting = []string{"/v1/metrics", "/v1/logs", "/v1/traces"}

// Every route that calls models is among the outlets, so that a new one is not forgotten here.
func TestOutletsAreComplete(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, s := range apptest.OutletsOf(nil) {
		have[s.Route] = true
	}
	for _, r := range httpapi.New(httpapi.Deps{Now: time.Now}, httpapi.Config{}).Routes() {
		if r.Method == http.MethodPost && (strings.HasPrefix(r.Pattern, "/v1/") || strings.HasPrefix(r.Pattern, "/v1beta/models/{vendor}")) && r.Pattern != "/v1/keys" && !strings.HasSuffix(r.Pattern, "/cancel") && !slices.Contains(batched, r.Pattern) && !slices.Contains(reporting, r.Pattern) && !have[r.Pattern] {
			t.Errorf("%s is no outlet of these tests", r.Pattern)
		}
	}
}

// wishes are preferences that no provider of these tests meets, with the filter named in the refusal.
var wishes = []struct {
	value map[string]any
	by    string
}{
	{map[string]any{"only": []string{"nobody"}}, "only"},
	{map[string]any{"zdr": true}, "zdr"},
	{map[string]any{"data_collection": "deny"}, "data_collection"},
	{map[string]any{"quantizations": []string{"int4"}}, "quantizations"},
}

// Preferences hold on every route and dialect, whether they are in the body, at the key or at the account. If no provider meets them, none
// is called, and the error names the reason.
func TestPreferencesEverywhere(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t)
	a := w.NewAccount(t)
	callers := []struct {
		*apptest.Account
		at string // where the wish is set
	}{{a, "body"}, {w.WithDefaults(t, `{"zdr":true}`, ""), "key"}, {w.WithDefaults(t, "", `{"zdr":true}`), "account"}}
	for i := range w.Outlets {
		s := &w.Outlets[i]
		for j := range s.Models {
			model := s.Models[j]
			for k := range len(wishes) + len(callers) - 1 {
				caller, wish := callers[max(k-len(wishes)+1, 0)], wishes[1]
				more := map[string]any{}
				if caller.Account == a {
					wish = wishes[k]
					more["provider"] = wish.value
				}
				before := len(w.Asked())
				got := s.Send(t, caller.Account, model, more)
				name := fmt.Sprintf("%s of %s with %v at the %s", s.Route, model, wish.value, caller.at)
				if counts(s.Route) {
					if s.Route == "/v1/route/explain" && !bytes.Contains(got.Body, []byte(`"`+wish.by+`"`)) {
						t.Errorf("%s: %s", name, got.Body)
					}
				} else if got.Status != http.StatusNotFound || !bytes.Contains(got.Body, []byte(wish.by)) {
					t.Errorf("%s: %d %.300s", name, got.Status, got.Body)
				}
				if n := len(w.Asked()) - before; n != 0 {
					t.Errorf("%s: %d upstream requests", name, n)
				}
			}
		}
	}
	a.WantSpent(t, false)
}

// Fields for the gateway reach no provider, on any route.
func TestGatewayFieldsAreNotForwarded(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t)
	for i := range w.Outlets {
		s := &w.Outlets[i]
		for _, model := range s.Models {
			more := map[string]any{"provider": map[string]any{"sort": "price", "allow_fallbacks": true}, "models": []string{model}, "route": "fallback", "session_id": "s-1",
				"trace": map[string]any{"id": "t"}, "debug": map[string]any{"echo": true}, "usage": map[string]any{"include": true}, "plugins": []any{}, "transforms": []any{}}
			if s.Route == "/v1/videos" { // refuses fields that the model does not declare
				more = map[string]any{"provider": map[string]any{"sort": "price"}}
			}
			a := w.NewAccount(t) // a user may have few jobs at a time
			before := len(w.Asked())
			got := s.Send(t, a, model, more)
			if s.Route == "/v1/videos" {
				apptest.WaitFor(t, "the job to reach its provider", func() bool { return len(w.Asked()) > before })
			}
			if got.Status/100 != 2 {
				t.Errorf("%s of %s: %d %.300s", s.Route, model, got.Status, got.Body)
			}
			asked := w.Asked()[before:]
			if len(asked) == 0 && !counts(s.Route) {
				t.Errorf("%s of %s: no provider was called", s.Route, model)
			}
			for _, is := range asked {
				for _, name := range completion.GatewayFields() {
					if rawjson.Valid(is.Body) && rawjson.Find(is.Body, name) != nil || bytes.Contains(is.Body, []byte(`name="`+name)) {
						t.Errorf("%s of %s: %s of %s went to the provider: %.300s", s.Route, model, name, is.Path, is.Body)
					}
				}
			}
		}
	}
}

// camelOf is a name as the Gemini style shows it.
func camelOf(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '_' && i > 0 && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' {
			i++
			b.WriteByte(name[i] - 'a' + 'A')
		} else {
			b.WriteByte(name[i])
		}
	}
	return b.String()
}

// withoutPresets are the routes that refuse the member preset.
var withoutPresets = regexp.MustCompile(`/(images|audio|videos)|[eE]mbedContent`)

// A field that would send a request elsewhere, with other credentials or at another price, is refused by name on every route, and no
// provider is called.
func TestDiversionsAreRefused(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t)
	a := w.NewAccount(t)
	for i := range w.Outlets {
		s := &w.Outlets[i]
		model := s.Models[0]
		refused := func(field string, more map[string]any) {
			got := s.Send(t, a, model, more)
			want := http.StatusBadRequest
			if field == "preset" && !withoutPresets.MatchString(s.Route) {
				want = http.StatusNotFound // the account has no preset of that name
			}
			if got.Status != want || !bytes.Contains(got.Body, []byte(field)) && !bytes.Contains(got.Body, []byte(camelOf(field))) {
				t.Errorf("%s with %s: %d %.300s", s.Route, field, got.Status, got.Body)
			}
		}
		for _, field := range completion.DivertingFields() {
			if s.Route == "/v1/videos" && field == "callback_url" {
				continue
			}
			refused(field, map[string]any{field: "http://evil.test/"})
		}
		for _, field := range []string{"api_key", "api_base", "user_api_key", "litellm_call_id"} {
			refused("metadata."+field, map[string]any{"metadata": map[string]any{field: "x"}})
		}
		refused("provider.options.gpt.api_base", map[string]any{"provider": map[string]any{"options": map[string]any{"gpt": map[string]any{"api_base": "x"}}}})
		refused("image_config.base_url", map[string]any{"image_config": map[string]any{"base_url": "x"}})
		if s.InForm() {
			refused("extra_headers[Authorization]", map[string]any{"extra_headers[Authorization]": "x"})
			refused("metadata.api_key", map[string]any{"metadata[api_key]": "x"})
		}
	}
	if asked := w.Asked(); len(asked) > 0 {
		t.Errorf("%d upstream requests, the first %s", len(asked), asked[0].Path)
	}
	a.WantSpent(t, false)
}
