package accounts_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/secret"
)

// A provider is connected over the API alone: no variable is set, nothing is restarted, and its key is shown nowhere. The node has made the key that
// encrypts it.
func TestProviderIsConnected(t *testing.T) {
	t.Parallel()
	const wrong, right = "key-that-is-refused-0123456789", "key-that-is-taken-0123456789"
	d := openDesk(t)
	d.set(wrong, http.StatusUnauthorized)
	folder := ""
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminAPI, folder = true, s.DataDir })
	boss := gw.NewOwner(t, 100, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	manage := func(status int, method, path string, body map[string]any) []byte {
		t.Helper()
		got := boss.Pages.Do(t, method, "/api/admin/"+path, body)
		if got.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		for _, key := range []string{wrong, right} {
			if strings.Contains(string(got.Body), key) {
				t.Errorf("%s %s shows a key: %s", method, path, got.Body)
			}
		}
		return got.Body
	}
	type tests struct {
		Data []struct {
			Model, Wrong, Detail *string
			Tokens               *int64
			Advice               []string
		}
	}
	manage(201, http.MethodPost, "providers", map[string]any{"id": "hut", "base_url": d.origin + "/v1", "api_key": wrong})
	manage(404, http.MethodPost, "providers/hut/test", nil) // it serves nothing yet
	manage(201, http.MethodPost, "endpoints", map[string]any{"provider": "hut", "model": "hut/chat", "upstream_id": "chat", "context_length": 8000, "prices": map[string]any{"prompt": "0.1", "completion": "0.2"}})
	if got := apptest.Decode[tests](t, manage(200, http.MethodPost, "providers/hut/test", nil)).Data; len(got) != 1 || got[0].Wrong == nil || *got[0].Wrong != "key" || len(got[0].Advice) == 0 {
		t.Fatalf("%+v", got)
	}
	manage(200, http.MethodPatch, "providers/hut", map[string]any{"api_key": right})
	if got := apptest.Decode[tests](t, manage(200, http.MethodPost, "providers/hut/test", nil)).Data; len(got) != 1 || got[0].Wrong != nil || got[0].Tokens == nil || *got[0].Model != "hut/chat" {
		t.Fatalf("%+v", got)
	}
	type provider struct {
		Data struct {
			Models     int
			KeyMissing bool                   `json:"key_missing"`
			APIKey     struct{ Last4 string } `json:"api_key"`
		}
	}
	if is := apptest.Decode[provider](t, manage(200, http.MethodGet, "providers/hut", nil)).Data; is.Models != 1 || is.KeyMissing || is.APIKey.Last4 != "6789" {
		t.Errorf("%+v", is)
	}
	if got := boss.Account.Chat(t, map[string]any{"model": "hut/chat", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if n := d.with(wrong, right); n[1] < 2 || n[0] != 1 {
		t.Errorf("the provider was shown the keys %v times", n)
	}
	if info, err := os.Stat(filepath.Join(folder, "master.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// Tests of providers are limited by user: each is a call that the provider bills.
func TestProviderTestsAreBounded(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminAPI, s.OwnKeys.TestsPerMinute = true, 2 })
	boss := gw.NewOwner(t, 100, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Operator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{404, 404, 429} {
		if got := boss.Pages.Do(t, http.MethodPost, "/api/admin/providers/none/test", nil); got.Status != want {
			t.Errorf("test %d: %d %s", i, got.Status, got.Body)
		}
	}
}

// The keys that a file and the environment declare are listed with those that were pasted, by their ends, with where they are changed instead, and
// with their calls. They have no id: over the API they can neither be drained nor taken out.
func TestDeclaredKeysAreListed(t *testing.T) {
	const first, second, variable, pasted, other = "key-of-the-file-1111", "another-of-the-file-2222", "key-of-the-variable-3333", "key-that-is-pasted-4444", "key-of-a-variable-5555"
	t.Setenv("OPENAI_API_KEY", variable)
	t.Setenv("GROQ_API_KEY", other)
	d := openDesk(t)
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminAPI, s.Builtin.All = true, true
		s.Config.Providers = []config.Provider{{ID: "shed", BaseURL: d.origin + "/v1", APIKey: secret.New(first), APIKeys: []secret.Text{secret.New(second)},
			Models: []config.Offer{{ID: "shed/chat", UpstreamID: "chat", ContextLength: 8000, Prices: config.Prices{Prompt: "0.1", Completion: "0.2"}}}}, {ID: "groq", APIKey: secret.New(other)}}
		s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "old", Name: "Old", Dialect: "openai", BaseURL: d.origin + "/v1", Key: first})
	})
	boss := gw.NewOwner(t, 100, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	type key struct {
		ID, Where, Last4 *string
		State, Source    string
		Calls            int64
	}
	keys := func(provider string, want ...string) (list []key) {
		t.Helper()
		got := boss.Pages.Do(t, http.MethodGet, "/api/admin/providers/"+provider+"/keys", nil)
		list = apptest.Decode[struct{ Data []key }](t, got.Body).Data
		var is []string
		for _, k := range list {
			if (k.ID == nil) != (k.Source != "database") || k.Source == "database" && k.Where != nil {
				t.Errorf("%s", got.Body)
			}
			is = append(is, fmt.Sprintf("%s %s %s", *k.Last4, k.Source, k.State))
		}
		if !slices.Equal(is, want) {
			t.Errorf("%s has %q, want %q", provider, is, want)
		}
		for _, key := range []string{first, second, variable, pasted, other} {
			if strings.Contains(string(got.Body), key) {
				t.Errorf("a key is shown: %s", got.Body)
			}
		}
		return list
	}
	ofFile := []string{"1111 configuration in_use", "2222 configuration in_use"}
	keys("shed", ofFile...)
	if got := boss.Account.Chat(t, map[string]any{"model": "shed/chat", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	apptest.WaitFor(t, "the call to be counted", func() bool { return keys("shed", ofFile...)[0].Calls == 1 })
	if got := boss.Pages.Do(t, http.MethodPost, "/api/admin/providers/shed/keys", map[string]any{"api_key": pasted}); got.Status != http.StatusConflict {
		t.Errorf("a key for a provider of the file: %d %s", got.Status, got.Body)
	}

	keys("old", "1111 configuration in_use") // no file declares it
	if k := keys("groq", "5555 variable in_use"); *k[0].Where != "GROQ_API_KEY" {
		t.Errorf("it is said to be in %s", *k[0].Where)
	}
	if k := keys("openai", "3333 variable in_use"); *k[0].Where != "OPENAI_API_KEY" {
		t.Errorf("it is said to be in %s", *k[0].Where)
	}
	if got := boss.Pages.Do(t, http.MethodPatch, "/api/admin/providers/openai", map[string]any{"api_key": pasted}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	keys("openai", "3333 variable off", "4444 database in_use")
}
