package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
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
			c.stored = false
		}
		want := http.StatusOK
		if !c.stored {
			want = http.StatusNotFound
		}
		if text := o.Pages.Do(t, http.MethodGet, page+"/text", nil); text.Status != want {
			t.Errorf("%s: %d %s", name, text.Status, text.Body)
		}
	}
}

// The text of a call is what its model was given: the conversation before it, its own input, and the settings that are texts. Other
// accounts do not learn that it exists.
func TestTextOfCalls(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o, other := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
	post := func(body map[string]any) (response, text string) {
		body["model"], body["store"] = "test/next", true
		got := o.Account.Do(t, http.MethodPost, "/v1/responses", body)
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		response, _ = apptest.ParseObject(t, got)["id"].(string)
		o.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id"))
		return response, "/api/calls/" + got.Header.Get("X-Generation-Id") + "/text"
	}
	first, _ := post(map[string]any{"input": "hello", "instructions": "Be long."})
	_, path := post(map[string]any{
		"input":        []any{map[string]any{"role": "user", "content": "and now, as JSON?"}},
		"instructions": "Be brief.", "previous_response_id": first, "text": map[string]any{"format": map[string]any{"type": "json_object"}},
		"tools": []any{map[string]any{"type": "function", "name": "look", "parameters": map[string]any{"type": "object", "properties": map[string]any{}}}},
	})
	roles := func(text map[string]any) (list []any) {
		items, _ := text["input"].([]any)
		for _, v := range items {
			item, _ := v.(map[string]any)
			list = append(list, item["role"])
		}
		return list
	}
	text := o.Page(t, path)
	if got := fmt.Sprint(text["instructions"], text["whole"], roles(text), text["response_id"] != nil); got != "Be brief.true [user assistant user] true" {
		t.Errorf("%s: %v", got, text)
	}
	if got := fmt.Sprint(text["tools"], text["text"]); !strings.Contains(got, "look") || !strings.Contains(got, "json_object") {
		t.Errorf("%s", got)
	}
	for name, status := range map[string]int{"the account's key": http.StatusOK, "another account": http.StatusNotFound, "a visitor": http.StatusUnauthorized} {
		got := map[string]func() *apptest.Answer{
			"the account's key": func() *apptest.Answer { return o.Account.Do(t, http.MethodGet, path, nil) },
			"another account":   func() *apptest.Answer { return other.Pages.Do(t, http.MethodGet, path, nil) },
			"a visitor":         func() *apptest.Answer { return (&apptest.Account{Gw: gw}).Do(t, http.MethodGet, path, nil) },
		}[name]()
		if got.Status != status {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	if got := o.Account.Do(t, http.MethodDelete, "/v1/responses/"+first, nil); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if text := o.Page(t, path); text["whole"] != false || fmt.Sprint(roles(text)) != "[user]" {
		t.Errorf("the beginning is gone: %v", text)
	}
}
