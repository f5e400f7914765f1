package accounts_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
)

type personRow struct {
	ID, Name, Role, Available string
	Blocked                   bool
	SpentMonth                string  `json:"spent_month"`
	LastCall                  *string `json:"last_call_at"`
}

type person struct {
	personRow
	Wallet, Balance, Held string
	Running               *int
	Sessions              int
	Keys                  []struct {
		Hash, Label, Name, Spent string
		Management, Disabled     bool
		DisabledBy               *struct {
			Actor string
			Name  *string
			Owner bool
		} `json:"disabled_by"`
	}
	Calls []struct{ ID, Cost, Model string }
}

// peopleDesk is a gateway with its listener for operators, an operator and an administrator at it.
type peopleDesk struct {
	gw                      *apptest.Gateway
	operator, administrator *apptest.Account
	ids                     map[string]string
}

func openPeople(t *testing.T, edit ...func(*apptest.Setup)) *peopleDesk {
	t.Helper()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		for _, e := range edit {
			e(s)
		}
	})
	d := &peopleDesk{gw: gw, ids: map[string]string{}}
	for role, at := range map[apikey.Role]**apptest.Account{apikey.Operator: &d.operator, apikey.Administrator: &d.administrator} {
		o := gw.NewOwner(t, 1, apikey.NewKey{})
		if err := gw.Node.Admin().Users.SetRole(t.Context(), o.User, role, audit.Actor{Name: "test"}); err != nil {
			t.Fatal(err)
		}
		*at = &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: o.Pages.Key}
		d.ids[string(role)] = o.User
	}
	return d
}

func do[T any](t *testing.T, by *apptest.Account, status int, method, path string, body any) T {
	t.Helper()
	got := by.Do(t, method, path, body)
	if got.Status != status {
		t.Fatalf("%s %s %v: %d, want %d: %s", method, path, body, got.Status, status, got.Body)
	}
	if len(got.Body) == 0 {
		return *new(T)
	}
	return apptest.Decode[struct{ Data T }](t, got.Body).Data
}

// Operators find people by what these know of themselves, and see of them what they see.
func TestPeopleAreFound(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	o := d.gw.NewOwner(t, 100, apikey.NewKey{})
	o.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}})
	is := do[person](t, d.operator, 200, http.MethodGet, "/api/admin/users/"+o.User, nil)
	if is.ID != o.User || is.LastCall == nil || len(is.Keys) != 2 || len(is.Calls) != 1 || is.Calls[0].Cost != is.SpentMonth || is.SpentMonth == "0" || is.Running == nil || *is.Running != 0 {
		t.Errorf("%+v", is)
	}
	end := func(label string) string { return label[len(label)-3:] }
	for what, q := range map[string]string{"id": o.User, "name": is.Name, "a part of the name": strings.ToUpper(is.Name), "label": is.Keys[0].Label, "last three": end(is.Keys[1].Label), "last four": "x" + end(is.Keys[1].Label)} {
		rows := do[[]personRow](t, d.operator, 200, http.MethodGet, "/api/admin/users?q="+strings.ReplaceAll(q, " ", "+"), nil)
		if !slices.ContainsFunc(rows, func(r personRow) bool {
			return r.ID == o.User && r.Available == is.Available && r.SpentMonth == is.SpentMonth && r.LastCall != nil && *r.LastCall == *is.LastCall
		}) {
			t.Errorf("by %s %q: %+v", what, q, rows)
		}
	}
	if rows := do[[]personRow](t, d.operator, 200, http.MethodGet, "/api/admin/users?q=nobody", nil); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	if rows := do[[]personRow](t, d.operator, 200, http.MethodGet, "/api/admin/users?role=operator", nil); len(rows) != 1 || rows[0].ID != d.ids["operator"] {
		t.Errorf("%+v", rows)
	}
	do[any](t, o.Pages, 404, http.MethodGet, "/api/admin/users", nil) // not on this listener
	do[any](t, &apptest.Account{Gw: d.operator.Gw, Key: o.Pages.Key}, 403, http.MethodGet, "/api/admin/users", nil)
	for _, path := range []string{"?q=" + o.Key, "?role=boss", "?blocked=yes", "?cursor=usr_none"} {
		got := d.operator.Do(t, http.MethodGet, "/api/admin/users"+path, nil)
		if got.Status != 400 || strings.Contains(string(got.Body), o.Key) {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}

	type found struct {
		User personRow
		Key  struct {
			Hash, Label, State string
			Former             bool
		}
	}
	whose := func(status int, key string) found {
		t.Helper()
		return do[found](t, d.operator, status, http.MethodPost, "/api/admin/users/find", map[string]any{"key": key})
	}
	if f := whose(200, " "+o.Key+"\n"); f.User.ID != o.User || f.Key.Hash != apikey.Hash(o.Key) || f.Key.State != "active" || f.Key.Former {
		t.Errorf("%+v", f)
	}
	whose(404, apikey.Mint(false))
	whose(400, o.Key[:len(o.Key)-1])
	admin, by := d.gw.Node.Admin(), audit.Actor{Name: "test"}
	if _, _, err := admin.Keys.Rotate(t.Context(), "", apikey.Hash(o.Key), 1, by); err != nil {
		t.Fatal(err)
	}
	if f := whose(200, o.Key); !f.Key.Former {
		t.Errorf("%+v", f)
	}
	if err := admin.Keys.Delete(t.Context(), "", apikey.Hash(o.Key), by); err != nil {
		t.Fatal(err)
	}
	if f := whose(200, o.Key); f.Key.State != "deleted" {
		t.Errorf("%+v", f)
	}
}

// Pages of people follow one another, each person once.
func TestPeopleByPages(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	for range 7 {
		d.gw.NewOwner(t, 1, apikey.NewKey{})
	}
	seen, cursor := map[string]bool{}, ""
	for range 10 {
		got := d.operator.Do(t, http.MethodGet, "/api/admin/users?limit=2&cursor="+cursor, nil)
		page := apptest.Decode[struct {
			Data []personRow
			Next *string
		}](t, got.Body)
		for _, r := range page.Data {
			if seen[r.ID] {
				t.Errorf("%s is there twice", r.ID)
			}
			seen[r.ID] = true
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if users, err := d.gw.Node.Admin().Users.List(t.Context()); err != nil || len(seen) != len(users) {
		t.Errorf("%d of %d, %v", len(seen), len(users), err)
	}
}

// What operators do with people: each act is one row of the audit chain, and repeated it is none.
func TestPeopleAreHelped(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	o := d.gw.NewOwner(t, 100, apikey.NewKey{})
	at := "/api/admin/users/" + o.User
	acts := func() (n int) {
		t.Helper()
		for _, err := range d.gw.Node.Admin().Store.Accounts.AuditRows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	twice := func(by *apptest.Account, status int, method, path string, body any) {
		t.Helper()
		before := acts()
		do[any](t, by, status, method, path, body)
		if n := acts() - before; n != 1 {
			t.Errorf("%s %s: %d rows", method, path, n)
		}
		do[any](t, by, status, method, path, body)
		if n := acts() - before; n != 1 {
			t.Errorf("%s %s again: %d rows", method, path, n)
		}
	}
	works := func(want bool) {
		t.Helper()
		if got := o.Account.Do(t, http.MethodGet, "/v1/key", nil); (got.Status == 200) != want {
			t.Errorf("the key: %d %s", got.Status, got.Body)
		}
	}
	twice(d.operator, 204, http.MethodPost, at+"/block", nil)
	works(false)
	if rows := do[[]personRow](t, d.operator, 200, http.MethodGet, "/api/admin/users?blocked=true", nil); len(rows) != 1 || rows[0].ID != o.User || !rows[0].Blocked {
		t.Errorf("%+v", rows)
	}
	twice(d.operator, 204, http.MethodPost, at+"/unblock", nil)
	works(true)

	hash := apikey.Hash(o.Key)
	twice(d.operator, 204, http.MethodPatch, at+"/keys/"+hash, map[string]any{"disabled": true})
	works(false)
	for _, k := range do[person](t, d.operator, 200, http.MethodGet, at, nil).Keys {
		if k.Disabled != (k.Hash == hash) || (k.DisabledBy != nil) != k.Disabled || k.Disabled && k.DisabledBy.Owner {
			t.Errorf("%+v %+v", k, k.DisabledBy)
		}
	}
	twice(d.operator, 204, http.MethodPatch, at+"/keys/"+hash, map[string]any{"disabled": false})
	works(true)
	do[any](t, d.operator, 404, http.MethodPatch, "/api/admin/users/"+d.ids["operator"]+"/keys/"+hash, map[string]any{"disabled": true})

	if out := do[struct{ Sessions, Keys int }](t, d.operator, 200, http.MethodPost, at+"/sign-out", map[string]any{"keys": true}); out.Keys != 2 {
		t.Errorf("%+v", out)
	}
	works(false)
	if out := do[struct{ Sessions, Keys int }](t, d.operator, 200, http.MethodPost, at+"/sign-out", map[string]any{"keys": true}); out.Keys != 0 {
		t.Errorf("%+v", out)
	}

	twice(d.administrator, 204, http.MethodPatch, at, map[string]any{"role": "operator"})
	do[any](t, d.administrator, 400, http.MethodPatch, at, map[string]any{"role": "boss"})
	do[any](t, d.operator, 403, http.MethodPatch, at, map[string]any{"role": "user"})

	boss := "/api/admin/users/" + d.ids["administrator"]
	for _, act := range []string{"/block", "/unblock", "/sign-out", "/password-link"} {
		body := map[string]any(nil)
		if act == "/sign-out" {
			body = map[string]any{}
		}
		do[any](t, d.operator, 403, http.MethodPost, boss+act, body)
	}
	do[any](t, d.operator, 409, http.MethodPost, "/api/admin/users/"+d.ids["operator"]+"/block", nil)
	do[any](t, d.operator, 404, http.MethodPost, "/api/admin/users/usr_none/block", nil)
	if got := d.administrator.Do(t, http.MethodPatch, boss, map[string]any{"role": "user"}); got.Status != 409 || !strings.Contains(string(got.Body), "last administrator") {
		t.Errorf("the last administrator: %d %s", got.Status, got.Body)
	}
	twice(d.administrator, 204, http.MethodPatch, at, map[string]any{"role": "administrator"})
	do[any](t, d.administrator, 204, http.MethodPatch, boss, map[string]any{"role": "user"})
	if got := d.administrator.Do(t, http.MethodPatch, boss, map[string]any{"role": "administrator"}); got.Status != 403 {
		t.Errorf("a former administrator: %d %s", got.Status, got.Body)
	}
	if n, err := audit.Verify(d.gw.Node.Admin().Store.Accounts.AuditRows(t.Context())); err != nil {
		t.Error(fmt.Sprint(n), err)
	}
}
