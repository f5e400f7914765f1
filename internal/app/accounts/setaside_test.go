package accounts_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store/sqlite"
)

// A charge that was set aside is reported by /readyz, which stays ready, and by a metric, until an operator has decided and the node has
// restarted.
func TestSetAsideChargesAreReported(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		store, err := sqlite.Open(t.Context(), filepath.Join(s.DataDir, "weir.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Ledger.Position(t.Context(), "node_other"); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.Ledger.Live(t.Context(), "node_other", "", "life"); err != nil || !ok {
			t.Fatal(ok, err)
		}
		rec := ledger.Encode(ledger.Item{Call: record.Call{Generation: "gen-1", Wallet: "wal_1", Cost: 5, Settled: true}}).Record
		for i := range int64(2) {
			a := ledger.Aside{Node: "node_other", Position: i + 1, Generation: "gen-1", Wallet: "wal_1", Cost: 5, Reason: "out of range", Record: rec, At: time.Now()}
			if _, err := store.Ledger.SetAside(t.Context(), "life", i, &a); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	})
	ask := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}}
	got := ask.Send(t, http.MethodGet, "/readyz", nil, map[string]string{"Authorization": ""})
	if body := string(got.Body); got.Status != http.StatusOK || !strings.Contains(body, `"status":"ok"`) || !strings.Contains(body, "2 charges could not be posted and were set aside; see: weir ledger aside list") {
		t.Errorf("readyz: %d %s", got.Status, body)
	}
	if !strings.Contains(gw.Metrics(t), "\nweir_ledger_set_aside 2\n") {
		t.Error("the metrics do not say so")
	}
	report, err := gw.Node.Admin().Verify(t.Context(), gw.Dir, ledger.Anchor{})
	if err != nil || report.OK() {
		t.Errorf("verified: %t, %v", report.OK(), err)
	}
	audio := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
	ask = &apptest.Account{Gw: &apptest.Gateway{URL: audio.Node.AdminURL(), Client: audio.Client}}
	if got := ask.Send(t, http.MethodGet, "/readyz", nil, map[string]string{"Authorization": ""}); got.Status != http.StatusOK || strings.Contains(string(got.Body), "set aside") {
		t.Errorf("readyz of a sound node: %d %s", got.Status, got.Body)
	}
	if !strings.Contains(audio.Metrics(t), "\nweir_ledger_set_aside 0\n") {
		t.Error("the metrics of a sound node do not say so")
	}
}
