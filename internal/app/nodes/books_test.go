package nodes_test

import (
	"net/http"
	"net/url"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// The books are checked by one node, and every node shows what was found. What was posted for a call is found by its id.
func TestBooksAreCheckedOnce(t *testing.T) {
	t.Parallel()
	nodes := apptest.StartNodes(t, 2, pgtest.New(t), apptest.Quick, func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
	boss := nodes[0].NewOwner(t, 10, apikey.NewKey{})
	if err := nodes[0].Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Operator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	ask := func(i, status int, method, path string) []byte {
		t.Helper()
		desk := &apptest.Account{Gw: &apptest.Gateway{URL: nodes[i].Node.AdminURL(), Client: nodes[i].Client}, Key: boss.Pages.Key}
		got := desk.Do(t, method, "/api/admin/"+path, nil)
		if got.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		return got.Body
	}
	called := boss.Account.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
	if called.Status != http.StatusOK {
		t.Fatalf("%d %s", called.Status, called.Body)
	}
	id := apptest.Decode[struct{ ID string }](t, called.Body).ID
	type books struct {
		Data struct {
			Check *struct {
				Node, By string
				EndedAt  *string `json:"ended_at"`
				Balanced *bool
				Parts    []struct{ Name string }
			}
		}
	}
	ask(0, 204, http.MethodDelete, "ledger/check")
	ask(0, 202, http.MethodPost, "ledger/check")
	apptest.WaitFor(t, "the other node to show the end of the check", func() bool {
		k := apptest.Decode[books](t, ask(1, 200, http.MethodGet, "ledger")).Data.Check
		return k != nil && k.Node == nodes[0].Node.ID() && k.EndedAt != nil && k.Balanced != nil && *k.Balanced && len(k.Parts) > 10
	})
	type transaction struct {
		Data struct {
			Kind    string
			Others  *string
			Entries []struct {
				Account string
				Amount  string
			}
		}
	}
	is := apptest.Decode[transaction](t, ask(1, 200, http.MethodGet, "ledger/transaction?q="+url.QueryEscape(id))).Data
	rubles := func(text string) money.Nano {
		n, err := money.Parse(text)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if is.Kind != "settle" || is.Others == nil || len(is.Entries) != 2 || rubles(is.Entries[0].Amount) >= 0 || rubles(is.Entries[0].Amount)+rubles(is.Entries[1].Amount)+rubles(*is.Others) != 0 {
		t.Errorf("%+v", is)
	}
	ask(1, 404, http.MethodGet, "ledger/transaction?q=nothing")
}
