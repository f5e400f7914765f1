package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/view"
)

type savedView struct{ ID, Page, Name, Query string }

func views(t *testing.T, a *apptest.Account, path string) []savedView {
	t.Helper()
	got := a.Do(t, http.MethodGet, path, nil)
	if got.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, got.Status, got.Body)
	}
	return apptest.Decode[struct{ Data []savedView }](t, got.Body).Data
}

// Views are saved, listed by page, changed and deleted by their account, and other accounts cannot detect them.
func TestViews(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o, other := gw.NewOwner(t, 1, apikey.NewKey{}), gw.NewOwner(t, 1, apikey.NewKey{})
	do := func(by *apptest.Account, status int, method, path string, body map[string]any) savedView {
		t.Helper()
		got := by.Do(t, method, path, body)
		if got.Status != status {
			t.Errorf("%s %s %v: %d %s", method, path, body, got.Status, got.Body)
		}
		return apptest.Decode[struct{ Data savedView }](t, got.Body).Data
	}
	week := do(o.Pages, 201, http.MethodPost, "/api/views", map[string]any{"page": "activity", "name": " By key ", "query": "days=7&by=key"})
	if want := (savedView{week.ID, "activity", "By key", "by=key&days=7"}); week != want || !strings.HasPrefix(week.ID, "view_") {
		t.Errorf("%v", week)
	}
	do(o.Pages, 201, http.MethodPost, "/api/views", map[string]any{"page": "calls", "name": "By key", "query": ""})
	do(o.Pages, 409, http.MethodPost, "/api/views", map[string]any{"page": "activity", "name": "By key", "query": ""})
	at := "/api/views/" + week.ID
	if got := do(o.Pages, 200, http.MethodPatch, at, map[string]any{"name": "Keys"}); got.Name != "Keys" || got.Query != week.Query {
		t.Errorf("%v", got)
	}
	if got := do(o.Pages, 200, http.MethodPatch, at, map[string]any{"query": "show=calls"}); got.Name != "Keys" || got.Query != "show=calls" {
		t.Errorf("%v", got)
	}
	do(o.Pages, 400, http.MethodPatch, at, map[string]any{"page": "calls"})
	do(o.Pages, 400, http.MethodPatch, at, map[string]any{"query": "min=1"})
	if all, calls := views(t, o.Pages, "/api/views"), views(t, o.Pages, "/api/views?page=calls"); len(all) != 2 || len(calls) != 1 || calls[0].Page != "calls" {
		t.Errorf("%v, %v", all, calls)
	}

	do(other.Pages, 404, http.MethodPatch, at, map[string]any{"name": "Mine"})
	do(other.Pages, 404, http.MethodDelete, at, nil)
	do(other.Pages, 404, http.MethodDelete, "/api/views/view_none", nil)
	do(o.Account, 403, http.MethodGet, "/api/views", nil) // a key that calls models
	if all := views(t, other.Pages, "/api/views"); len(all) != 0 {
		t.Errorf("the other account has %v", all)
	}
	do(o.Pages, 200, http.MethodDelete, at, nil)
	do(o.Pages, 404, http.MethodDelete, at, nil)

	for i := range view.MaxPerUser - 1 {
		do(o.Pages, 201, http.MethodPost, "/api/views", map[string]any{"page": "calls", "name": fmt.Sprint(i), "query": ""})
	}
	do(o.Pages, 400, http.MethodPost, "/api/views", map[string]any{"page": "calls", "name": "one more", "query": ""})
	do(other.Pages, 201, http.MethodPost, "/api/views", map[string]any{"page": "calls", "name": "one", "query": ""})
}

// What cannot be saved: each refusal names the field.
func TestViewRefusals(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 1, apikey.NewKey{})
	for _, r := range []struct{ body, param string }{
		{`{}`, "page"}, {`{"page":"activity","query":""}`, "name"}, {`{"page":"activity","name":"a"}`, "query"},
		{`{"page":"models","name":"a","query":""}`, "page"}, {`{"page":"../calls","name":"a","query":""}`, "page"},
		{`{"page":"calls","name":"","query":""}`, "name"}, {`{"page":"calls","name":"a\nb","query":""}`, "name"}, {`{"page":"calls","name":"` + strings.Repeat("a", 61) + `","query":""}`, "name"}, {`{"page":"calls","name":5,"query":""}`, "name"},
		{`{"page":"calls","name":"a","query":"https://example.org"}`, "query"}, {`{"page":"calls","name":"a","query":"open=gen-1"}`, "query"}, {`{"page":"calls","name":"a","query":"` + strings.Repeat("a", 2001) + `"}`, "query"},
		{`{"page":"calls","name":"a","query":"","user":"usr_1"}`, "user"},
	} {
		got := o.Pages.Send(t, http.MethodPost, "/api/views", []byte(r.body), nil)
		e := apptest.Decode[struct {
			Error struct{ Metadata struct{ Param string } }
		}](t, got.Body)
		if got.Status != http.StatusBadRequest || e.Error.Metadata.Param != r.param {
			t.Errorf("%s: %d %s", r.body, got.Status, got.Body)
		}
	}
	if got := o.Pages.Do(t, http.MethodGet, "/api/views?page=models", nil); got.Status != http.StatusBadRequest {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
