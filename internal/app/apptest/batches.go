package apptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Ended waits for the end of a batch of messages, and returns the ways in which its requests ended.
func (a *Account) Ended(t *testing.T, id string) (results map[string]int) {
	t.Helper()
	WaitFor(t, "the end of the batch", func() bool {
		var b struct {
			Status string `json:"processing_status"`
		}
		got := a.Do(t, http.MethodGet, "/v1/messages/batches/"+id, nil)
		if err := json.Unmarshal(got.Body, &b); err != nil {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return b.Status == "ended"
	})
	results = map[string]int{}
	for line := range strings.Lines(string(a.Do(t, http.MethodGet, "/v1/messages/batches/"+id+"/results", nil).Body)) {
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

// Batch makes a batch of messages.
func (a *Account) Batch(t *testing.T, model string, n int) (id string) {
	t.Helper()
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"custom_id": fmt.Sprint("r", i), "params": map[string]any{"model": model, "max_tokens": 5, "messages": Question}}
	}
	var made struct{ ID string }
	got := a.Do(t, http.MethodPost, "/v1/messages/batches", map[string]any{"requests": list})
	if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return made.ID
}
