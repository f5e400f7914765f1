package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
)

// ended waits for the end of a batch of messages, and returns the ways in which its requests ended.
func (a *account) ended(t *testing.T, id string) (results map[string]int) {
	t.Helper()
	waitFor(t, "the end of the batch", func() bool {
		var b struct {
			Status string `json:"processing_status"`
		}
		got := a.do(t, http.MethodGet, "/v1/messages/batches/"+id, nil)
		if err := json.Unmarshal(got.body, &b); err != nil {
			t.Fatalf("%d %s", got.status, got.body)
		}
		return b.Status == "ended"
	})
	results = map[string]int{}
	for line := range strings.Lines(string(a.do(t, http.MethodGet, "/v1/messages/batches/"+id+"/results", nil).body)) {
		var r struct {
			Result struct{ Type string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q", line)
		}
		results[r.Result.Type]++
	}
	return results
}

// batch makes a batch of messages.
func (a *account) batch(t *testing.T, model string, n int) (id string) {
	t.Helper()
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"custom_id": fmt.Sprint("r", i), "params": map[string]any{"model": model, "max_tokens": 5, "messages": question}}
	}
	var made struct{ ID string }
	got := a.do(t, http.MethodPost, "/v1/messages/batches", map[string]any{"requests": list})
	if err := json.Unmarshal(got.body, &made); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return made.ID
}

// A batch goes on when the text of its key is changed twice, and is counted.
func TestBatchOfARotatedKey(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { s.Server.AdminListen = "127.0.0.1:0" })
	o := gw.newOwner(t, 500, apikey.NewKey{})
	const n = 300
	id := o.batch(t, "test/next", n)
	hash := apikey.Hash(o.key)
	for range 2 {
		got := o.pages.do(t, http.MethodPost, "/api/keys/"+hash+"/rotate", map[string]any{"hours": 0})
		var made struct{ Key string }
		if err := json.Unmarshal(got.body, &made); err != nil || got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		hash = apikey.Hash(made.Key)
		o.account = &account{gw: gw, key: made.Key}
	}
	if results := o.ended(t, id); results["succeeded"] != n || len(results) != 1 {
		t.Errorf("%v", results)
	}
	text := gw.metrics(t)
	for name, want := range map[string]float64{`weir_batch_requests_total{result="succeeded"}`: n, `weir_batch_requests_total{result="errored"}`: 0} {
		if line := fmt.Sprintf("%s %v\n", name, want); !strings.Contains(text, line) {
			t.Errorf("the metrics do not have %q", line)
		}
	}
	gw.wantBalanced(t)
}
