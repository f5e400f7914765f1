package nodes_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/store/postgres/pgtest"
)

// Prices are raised by ten per cent in a draft. Once it is published all three nodes charge the next call by the new prices, also one that is
// started again; what is scheduled takes effect on all of them at its time, without anybody's doing.
func TestDraftToNextCallOnThreeNodes(t *testing.T) {
	dsn := pgtest.New(t)
	nodes := apptest.StartNodes(t, 3, dsn, apptest.Quick, func(s *apptest.Setup) { s.Server.AdminAPI = true })
	boss := nodes[0].NewOwner(t, 1000, apikey.NewKey{})
	if err := nodes[0].Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	manage := func(status int, method, path string, body any) []byte {
		t.Helper()
		got := boss.Pages.Do(t, method, "/api/admin/"+path, body)
		if got.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		return got.Body
	}
	manage(200, http.MethodPatch, "endpoints/works%2Ftest%2Fnext", map[string]any{"prices": map[string]any{"prompt": "0", "completion": "0", "request": "1"}})
	charged := func(gw *apptest.Gateway) string {
		t.Helper()
		at := &apptest.Account{Gw: gw, Key: boss.Key}
		got := at.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return got.Reported(t, false).Cost.String()
	}
	price := func(gw *apptest.Gateway) string {
		m, ok := gw.Node.Catalog().Model("test/next")
		if !ok {
			return ""
		}
		return m.Endpoints[0].Pricing.Base.Request.String()
	}
	agreed := func(want string) {
		t.Helper()
		apptest.WaitFor(t, "all nodes to charge "+want, func() bool {
			return price(nodes[0]) == want && price(nodes[1]) == want && price(nodes[2]) == want
		})
		for i, gw := range nodes {
			if got := charged(gw); got != want {
				t.Errorf("node %d charges %s, not %s", i, got, want)
			}
		}
	}
	type drafted struct {
		Draft *struct {
			Version int64
			Count   int
			Effect  struct{ Revenue, Changes string }
		}
	}
	type published struct{ Data struct{ ID int64 } }
	raise := func(percent string) drafted {
		t.Helper()
		return apptest.Decode[drafted](t, manage(200, http.MethodPost, "prices/raise", map[string]any{"percent": percent, "endpoints": []string{"works/test/next"}}))
	}
	agreed("1")
	d := raise("10")
	if d.Draft == nil || d.Draft.Count != 1 {
		t.Fatalf("draft %+v", d)
	}
	agreed("1")
	manage(409, http.MethodPost, "prices/publish", map[string]any{"version": d.Draft.Version + 1})
	first := apptest.Decode[published](t, manage(201, http.MethodPost, "prices/publish", map[string]any{"version": d.Draft.Version}))
	agreed("1.1")

	d = raise("100")
	manage(400, http.MethodPost, "prices/publish", map[string]any{"version": d.Draft.Version, "at": time.Now().Add(-time.Hour)})
	later := apptest.Decode[published](t, manage(201, http.MethodPost, "prices/publish", map[string]any{"version": d.Draft.Version, "at": time.Now().Add(time.Hour)}))
	manage(200, http.MethodPost, "prices/publications/"+strconv.FormatInt(later.Data.ID, 10)+"/cancel", nil)
	manage(409, http.MethodPost, "prices/publications/"+strconv.FormatInt(later.Data.ID, 10)+"/cancel", nil)

	d = raise("-10")
	manage(201, http.MethodPost, "prices/publish", map[string]any{"version": d.Draft.Version, "at": time.Now().Add(3 * time.Second)})
	agreed("0.99")
	nodes[2] = apptest.StartNodes(t, 1, dsn)[0]
	agreed("0.99")

	d = apptest.Decode[drafted](t, manage(200, http.MethodPost, "prices/publications/"+strconv.FormatInt(first.Data.ID, 10)+"/revert", nil))
	manage(201, http.MethodPost, "prices/publish", map[string]any{"version": d.Draft.Version})
	agreed("1")
}
