package accounts_test

import (
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

// The page of a call says whether its text is stored: only that of a response that was asked to be, until it is deleted.
func TestStoredTextOfCalls(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	for name, c := range map[string]struct {
		path   string
		body   map[string]any
		stored bool
	}{
		"a chat":              {"/v1/chat/completions", map[string]any{"messages": apptest.Question, "store": true}, false},
		"messages":            {"/v1/messages", map[string]any{"messages": apptest.Question, "max_tokens": 10}, false},
		"a response":          {"/v1/responses", map[string]any{"input": "hello", "store": false}, false},
		"a stored response":   {"/v1/responses", map[string]any{"input": "hello", "store": true}, true},
		"a streamed response": {"/v1/responses", map[string]any{"input": "hello", "store": true, "stream": true}, true},
	} {
		c.body["model"] = "test/next"
		got := o.Account.Do(t, http.MethodPost, c.path, c.body)
		if got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, got.Status, got.Body)
		}
		page := "/api/calls/" + got.Header.Get("X-Generation-Id")
		if stored := o.Page(t, page)["stored_text"]; stored != c.stored {
			t.Errorf("%s: stored_text is %v", name, stored)
		}
		if name == "a stored response" {
			id, _ := apptest.ParseObject(t, got)["id"].(string)
			if deleted := o.Account.Do(t, http.MethodDelete, "/v1/responses/"+id, nil); deleted.Status != http.StatusOK {
				t.Fatalf("%d %s", deleted.Status, deleted.Body)
			}
			if stored := o.Page(t, page)["stored_text"]; stored != false {
				t.Errorf("deleted: stored_text is %v", stored)
			}
		}
	}
}
