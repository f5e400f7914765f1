package accounts_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// A program makes a user, credits them once, and gives them a key with a limit, with which calls are charged to them.
func TestUsersAreMadeByPrograms(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	u := do[personRow](t, d.administrator, 201, http.MethodPost, "/api/admin/users/new", map[string]any{"name": "Customer 4711"})
	if u.Name != "Customer 4711" || u.Role != "user" || u.Available != "0" {
		t.Errorf("%+v", u)
	}
	top := func(status int, user, amount, reference string) string {
		t.Helper()
		return do[struct{ Amount string }](t, d.administrator, status, http.MethodPost, "/api/admin/top-ups", map[string]any{"user": user, "amount": amount, "reference": reference}).Amount
	}
	for _, status := range []int{201, 200} {
		if got := top(status, u.ID, "1000", "order 4711"); got != "1000" {
			t.Errorf("%d: %s", status, got)
		}
	}
	top(409, u.ID, "2000", "order 4711")
	top(409, d.ids["operator"], "1000", "order 4711")
	top(400, u.ID, "0", "order 4712")
	top(400, u.ID, "-1", "order 4712")
	top(400, u.ID, "1", "")
	top(404, "usr_none", "1", "order 4712")
	top(400, "", "1", "order 4712")

	made := d.administrator.Do(t, http.MethodPost, "/api/admin/keys", map[string]any{"user": u.ID, "name": "Shop", "limit": "500", "limit_reset": "monthly"})
	key := apptest.Decode[struct {
		Key  string
		Data struct{ Name, Limit string }
	}](t, made.Body)
	if made.Status != 201 || key.Data.Name != "Shop" || key.Data.Limit != "500" || made.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	shop := &apptest.Account{Gw: d.gw, Key: key.Key}
	if got := shop.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}}); got.Status != 200 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	is := do[person](t, d.operator, 200, http.MethodGet, "/api/admin/users/"+u.ID, nil)
	if len(is.Keys) != 1 || is.Keys[0].Spent == "0" || is.Keys[0].Spent != is.SpentMonth || is.Keys[0].Management || !strings.HasPrefix(is.Balance, "99") {
		t.Errorf("%+v", is)
	}
	for path, body := range map[string]map[string]any{
		"/api/admin/users/new": {"name": "x"}, "/api/admin/keys": {"user": u.ID, "name": "x"}, "/api/admin/top-ups": {"user": u.ID, "amount": "1", "reference": "x"},
	} {
		do[any](t, d.operator, 403, http.MethodPost, path, body)
	}
	do[any](t, d.administrator, 403, http.MethodPost, "/api/admin/keys", map[string]any{"user": u.ID, "name": "x", "management": true})
	do[any](t, d.administrator, 404, http.MethodPost, "/api/admin/keys", map[string]any{"user": "usr_none", "name": "x"})
	do[any](t, d.administrator, 400, http.MethodPost, "/api/admin/users/new", map[string]any{"name": ""})
}
