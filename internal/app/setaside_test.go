package app_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store/sqlite"
)

// A charge that was set aside is reported by /readyz, which stays ready, and by a metric, until an operator has decided and the node has
// restarted.
func TestSetAsideChargesAreReported(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		store, err := sqlite.Open(t.Context(), filepath.Join(s.DataDir, "weir.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Position(t.Context(), "node_other"); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.Live(t.Context(), "node_other", "", "life"); err != nil || !ok {
			t.Fatal(ok, err)
		}
		rec := ledger.Encode(ledger.Item{Call: record.Call{Generation: "gen-1", Wallet: "wal_1", Cost: 5, Settled: true}}).Record
		for i := range int64(2) {
			a := ledger.Aside{Node: "node_other", Position: i + 1, Generation: "gen-1", Wallet: "wal_1", Cost: 5, Reason: "out of range", Record: rec, At: time.Now()}
			if _, err := store.SetAside(t.Context(), "life", i, &a); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	})
	ask := &account{gw: &gateway{url: gw.node.AdminURL(), client: gw.client}}
	got := ask.send(t, http.MethodGet, "/readyz", nil, map[string]string{"Authorization": ""})
	if body := string(got.body); got.status != http.StatusOK || !strings.Contains(body, `"status":"ok"`) || !strings.Contains(body, "2 charges could not be posted and were set aside; see: weir ledger aside list") {
		t.Errorf("readyz: %d %s", got.status, body)
	}
	if !strings.Contains(gw.metrics(t), "\nweir_ledger_set_aside 2\n") {
		t.Error("the metrics do not say so")
	}
	report, err := gw.node.Office().Verify(t.Context(), gw.dir, ledger.Anchor{})
	if err != nil || report.OK() {
		t.Errorf("verified: %t, %v", report.OK(), err)
	}
	audio := startGateway(t, func(s *setup) { s.Server.AdminListen = "127.0.0.1:0" })
	ask = &account{gw: &gateway{url: audio.node.AdminURL(), client: audio.client}}
	if got := ask.send(t, http.MethodGet, "/readyz", nil, map[string]string{"Authorization": ""}); got.status != http.StatusOK || strings.Contains(string(got.body), "set aside") {
		t.Errorf("readyz of a sound node: %d %s", got.status, got.body)
	}
	if !strings.Contains(audio.metrics(t), "\nweir_ledger_set_aside 0\n") {
		t.Error("the metrics of a sound node do not say so")
	}
}
