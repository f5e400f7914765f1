package accounts_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
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
