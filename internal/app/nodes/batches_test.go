package nodes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

// A batch goes on when the text of its key is changed twice, and is counted.
func TestBatchOfARotatedKey(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
	o := gw.NewOwner(t, 500, apikey.NewKey{})
	const n = 300
	id := o.Batch(t, "test/next", n)
	hash := apikey.Hash(o.Key)
	for range 2 {
		got := o.Pages.Do(t, http.MethodPost, "/api/keys/"+hash+"/rotate", map[string]any{"hours": 0})
		var made struct{ Key string }
		if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		hash = apikey.Hash(made.Key)
		o.Account = &apptest.Account{Gw: gw, Key: made.Key}
	}
	if results := o.Ended(t, id); results["succeeded"] != n || len(results) != 1 {
		t.Errorf("%v", results)
	}
	text := gw.Metrics(t)
	for name, want := range map[string]float64{`weir_batch_requests_total{result="succeeded"}`: n, `weir_batch_requests_total{result="errored"}`: 0} {
		if line := fmt.Sprintf("%s %v\n", name, want); !strings.Contains(text, line) {
			t.Errorf("the metrics do not have %q", line)
		}
	}
	gw.WantBalanced(t)
}
