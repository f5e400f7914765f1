package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/app/apptest"
)

const corpus = "../rawjson/testdata/jsontestsuite/test_parsing"

// Each file of the JSON parsing corpus is sent as a body, and as the value of an ignored field. Invalid JSON is refused and reaches no
// provider. Valid JSON does no harm.
func TestJSONCorpus(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	a := gw.NewAccount(t)
	files, err := os.ReadDir(corpus)
	if err != nil || len(files) < 318 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	served := 0
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(corpus, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		embedded := append([]byte(`{"model":"test/next","max_tokens":1,"messages":[{"role":"user","content":"hello"}],"ignored":`), text...)
		for how, body := range map[string][]byte{"alone": text, "embedded": append(embedded, '}')} {
			name := f.Name() + " " + how
			attempts, began := gw.Attempts(), time.Now()
			got := a.Send(t, http.MethodPost, "/v1/chat/completions", body, nil)
			if took := time.Since(began); took > 2*apptest.Patience*time.Second {
				t.Errorf("%s took %v", name, took)
			}
			tried := gw.Attempts() - attempts
			switch kind := f.Name()[0]; {
			case got.Status != http.StatusOK && (got.Status < 400 || got.Status >= 500):
				t.Errorf("%s: status %d: %s", name, got.Status, got.Body)
			case how == "alone" && got.Status != http.StatusBadRequest, kind == 'n' && got.Status != http.StatusBadRequest:
				t.Errorf("%s: status %d, want 400: %.200s", name, got.Status, got.Body)
			case got.Status == http.StatusBadRequest && (kind == 'n' || how == "alone") && tried != 0:
				t.Errorf("%s: %d attempts for a bad body", name, tried)
			}
			if got.Status == http.StatusOK {
				served++
				got.WantComplete(t, false)
			} else {
				got.WantEnvelope(t)
			}
		}
	}
	a.WantNothingHeld(t)
	if served < 90 {
		t.Errorf("only %d of the harmless files were served", served)
	}
	t.Logf("%d files twice, %d answered", len(files), served)
	gw.WantBalanced(t)
}
