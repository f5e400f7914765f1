package nodes_test

import (
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/store/postgres/pgtest"
)

// Each node shows the figures of all, and says which of them serves something else.
func TestEachNodeShowsAll(t *testing.T) {
	t.Parallel()
	nodes := apptest.StartNodes(t, 2, pgtest.New(t), apptest.Quick, func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
	boss := nodes[0].NewOwner(t, 1, apikey.NewKey{})
	if err := nodes[0].Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Operator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Points []struct{ Requests float64 }
		Nodes  []struct {
			ID      string
			Self    bool
			Ahead   *float64 `json:"ahead_ms"`
			Differs *string
		}
		Checks []struct {
			Kind string
			OK   bool
			At   *string
		}
	}
	look := func(gw *apptest.Gateway) answer {
		desk := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: boss.Pages.Key}
		got := desk.Do(t, http.MethodGet, "/api/admin/now", nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return apptest.Decode[answer](t, got.Body)
	}
	for _, gw := range nodes {
		apptest.WaitFor(t, "a node to know the other", func() bool {
			is := look(gw)
			return len(is.Nodes) == 2 && is.Nodes[0].Ahead != nil && is.Nodes[1].Ahead != nil
		})
	}
	key := nodes[0].NewAccount(t)
	for i, gw := range nodes {
		at := &apptest.Account{Gw: gw, Key: key.Key}
		for range 3 + i {
			if got := at.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		}
	}
	for i, gw := range nodes {
		apptest.WaitFor(t, "a node to show the calls of both", func() bool {
			is, sum := look(gw), 0.0
			for _, p := range is.Points {
				sum += p.Requests
			}
			return sum == 7 && is.Nodes[0].Self && is.Nodes[0].ID == gw.Node.ID() && is.Nodes[1].ID == nodes[1-i].Node.ID()
		})
	}
	if is := look(nodes[0]); is.Nodes[1].Differs == nil || is.Nodes[0].Differs != nil { // each has a simulator of its own, and so other providers
		t.Errorf("%+v", is.Nodes)
	}
	desk := &apptest.Account{Gw: &apptest.Gateway{URL: nodes[0].Node.AdminURL(), Client: nodes[0].Client}, Key: boss.Pages.Key}
	settings := apptest.Decode[struct {
		Nodes []struct {
			ID      string
			Self    bool
			Differs *string
		}
	}](t, desk.Do(t, http.MethodGet, "/api/admin/settings", nil).Body)
	if n := settings.Nodes; len(n) != 2 || !n[0].Self || n[0].Differs != nil || n[1].ID != nodes[1].Node.ID() || n[1].Differs == nil {
		t.Errorf("the page of settings has %+v", n)
	}
}
