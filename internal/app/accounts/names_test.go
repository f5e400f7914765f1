package accounts_test

import (
	"bytes"
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
)

// Names, notes and titles stand in lines beside those of others: on pages, in mails, in the terminals of operators. No route takes one that
// breaks its line or turns the text around it, and all take those of any script.
func TestNamesAreOneLine(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminListen, s.SignIn.SignUp = "127.0.0.1:0", "invitation" })
	o := gw.NewOwner(t, 1, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), o.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	desk := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: o.Pages.Key}
	o.Pages.Do(t, http.MethodPut, "/api/account/data", map[string]any{"chats": true})
	key := apptest.Decode[struct{ Data struct{ Hash string } }](t, o.Pages.Do(t, http.MethodPost, "/v1/keys", map[string]any{"name": "first"}).Body).Data.Hash
	o.Pages.Do(t, http.MethodPost, "/api/presets", map[string]any{"name": "notes", "system_prompt": "Be brief."})
	view := apptest.Decode[struct{ Data struct{ ID string } }](t, o.Pages.Do(t, http.MethodPost, "/api/views", map[string]any{"page": "activity", "name": "first", "query": ""}).Body).Data.ID
	for _, c := range []struct {
		by                  *apptest.Account
		method, path, field string
		body                map[string]any // and the field
	}{
		{o.Pages, http.MethodPost, "/v1/keys", "name", nil},
		{o.Pages, http.MethodPost, "/api/keys", "name", nil},
		{o.Pages, http.MethodPatch, "/v1/keys/" + key, "name", nil},
		{o.Pages, http.MethodPatch, "/api/keys/" + key, "name", nil},
		{o.Pages, http.MethodPatch, "/api/account/profile", "name", nil},
		{o.Pages, http.MethodPut, "/api/presets/notes", "description", map[string]any{"system_prompt": "Be brief."}},
		{o.Pages, http.MethodPost, "/api/views", "name", map[string]any{"page": "calls", "query": ""}},
		{o.Pages, http.MethodPatch, "/api/views/" + view, "name", nil},
		{o.Pages, http.MethodPut, "/api/chats/k3v9x2p7q1m4", "title", map[string]any{"content": map[string]any{}}},
		{o.Pages, http.MethodPost, "/api/invitations", "note", map[string]any{"role": "user"}},
		{desk, http.MethodPost, "/api/admin/vouchers", "note", map[string]any{"amount": "1", "codes": 1, "uses": 1}},
	} {
		with := func(text string) *apptest.Answer {
			body := map[string]any{c.field: text}
			for k, v := range c.body {
				body[k] = v
			}
			return c.by.Do(t, c.method, c.path, body)
		}
		for _, hostile := range []string{"a\x00b", "a\nb", "a\x1b[2Jb", "a\u0085b", "a\u2028b", "a\u202eb", "\u2067ab"} {
			if got := with(hostile); got.Status != http.StatusBadRequest || !bytes.Contains(got.Body, []byte(c.field)) {
				t.Errorf("%s %s with the %s %+q: %d %s", c.method, c.path, c.field, hostile, got.Status, got.Body)
			}
		}
		for _, usual := range []string{"Anna & Co", "Анна", "משה", "日本", "👩\u200d💻"} {
			if got := with(usual); got.Status >= 300 {
				t.Errorf("%s %s with the %s %+q: %d %s", c.method, c.path, c.field, usual, got.Status, got.Body)
			}
		}
	}
}
