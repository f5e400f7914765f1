package apptest

import (
	"encoding/json"
	"net/http"
	"testing"
)

// Object is a JSON object.
type Object = map[string]any

// Respond makes a response, which must succeed.
func (a *Account) Respond(t *testing.T, body Object) Object {
	t.Helper()
	got := a.Do(t, http.MethodPost, "/v1/responses", body)
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	return ParseObject(t, got)
}

func ParseObject(t *testing.T, got *Answer) Object {
	t.Helper()
	var o Object
	if err := json.Unmarshal(got.Body, &o); err != nil {
		t.Fatalf("%v: %s", err, got.Body)
	}
	return o
}

func ID(o Object) string { s, _ := o["id"].(string); return s }

// Await polls a response until its status is final.
func (a *Account) Await(t *testing.T, response string) (o Object) {
	t.Helper()
	WaitFor(t, "the response "+response, func() bool {
		o = ParseObject(t, a.Do(t, http.MethodGet, "/v1/responses/"+response, nil))
		return o["status"] != "queued" && o["status"] != "in_progress"
	})
	return o
}
