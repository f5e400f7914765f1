package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/httpapi"
	"weir/internal/idempotency"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

// An account says which of its responses are stored and for how long, and deletes what is stored. Zero retention stores nothing, whatever it says.
func TestStoringOfAnAccount(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept := history.New(store.Pages, history.Default(time.Now))
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) {
		d.History = kept
	})
	const path = "/api/account/data"
	data := func(r *response) any { t.Helper(); return at(r.json(t), "data") }
	respond := func(more string) *response {
		t.Helper()
		return n.do("POST", "/v1/responses", `{"model":"acme/small","input":"hi"`+more+`}`)
	}
	stored := func(more string) bool {
		t.Helper()
		r := respond(more)
		id, _ := at(r.json(t), "id").(string)
		found := n.do("GET", "/v1/responses/"+id, "").StatusCode
		if kept := at(r.json(t), "store"); r.StatusCode != 200 || kept != (found == 200) {
			t.Errorf("%s: status %d, store %v, found %d", more, r.StatusCode, kept, found)
		}
		return found == 200
	}
	exactly(t, "at first", data(n.manage("GET", path, "")), `{"responses":"by_default","days":null,"max_days":30,"zdr":false,"stored":{"responses":0,"bytes":0,"oldest_at":null},"chats":false,"stored_chats":{"chats":0,"bytes":0}}`)
	for _, c := range []struct {
		set                string
		said, unsaid, deny bool // whether store: true, nothing and store: false store it
		refused            bool // store: true is an error
	}{
		{`{}`, true, true, false, false}, {`{"responses":"by_default"}`, true, true, false, false}, {`{"responses":"on_request","days":7}`, true, false, false, false}, {`{"responses":"never"}`, false, false, false, true},
	} {
		if r := n.manage("PUT", path, c.set); r.StatusCode != 200 {
			t.Fatalf("%s: %d %s", c.set, r.StatusCode, r.body)
		}
		if got := stored(``); got != c.unsaid {
			t.Errorf("%s: nothing said: %t", c.set, got)
		}
		if got := stored(`,"store":false`); got != c.deny {
			t.Errorf("%s: store false: %t", c.set, got)
		}
		if c.refused {
			wantError(t, respond(`,"store":true`), 400, fault.Invalid)
			wantError(t, respond(`,"background":true`), 400, fault.Invalid)
		} else if got := stored(`,"store":true`); got != c.said {
			t.Errorf("%s: store true: %t", c.set, got)
		}
		n.manage("PUT", "/api/account/preferences", `{"provider":{"zdr":true},"plugins":[{"id":"response-healing"}]}`)
		if stored(``) {
			t.Errorf("%s: stored with zero retention", c.set)
		}
		wantError(t, respond(`,"store":true`), 400, fault.Invalid)
		exactly(t, "what preferences leave", at(data(n.manage("GET", path, "")), "zdr"), `true`)
		n.manage("PUT", "/api/account/preferences", `{"provider":null}`)
	}
	// neither setting forgets the other
	n.manage("PUT", "/api/account/preferences", `{"provider":{"sort":"price"},"plugins":[{"id":"response-healing"}]}`)
	exactly(t, "still never", at(data(n.manage("GET", path, "")), "responses"), `"never"`)
	n.manage("PUT", path, `{"responses":"on_request","days":3}`)
	exactly(t, "still preferred", data(n.manage("GET", "/api/account/preferences", "")), `{"provider":{"sort":"price"},"plugins":[{"id":"response-healing"}]}`)
	n.manage("PUT", "/api/account/preferences", `{"provider":null}`)
	m := data(n.manage("GET", path, ""))
	exactly(t, "days", at(m, "days"), `3`)
	exactly(t, "count", at(m, "stored", "responses"), `5`)

	// what is stored expires with the new time, too
	found, err := store.Pages.CountResponses(t.Context(), n.first.User.ID, time.Now().Add(4*24*time.Hour))
	if err != nil || found.Responses != 0 {
		t.Errorf("after four days: %+v %v", found, err)
	}
	exactly(t, "deleted", data(n.manage("DELETE", "/api/account/responses", "")), `{"deleted":5}`)
	exactly(t, "nothing is left", at(data(n.manage("GET", path, "")), "stored"), `{"responses":0,"bytes":0,"oldest_at":null}`)

	for body, param := range map[string]any{
		`[]`: nil, `{"responses":"sometimes"}`: "responses", `{"days":0}`: "days", `{"days":31}`: "days", `{"days":1.5}`: "days", `{"day":1}`: "day", `{`: nil, `{"days":1,"days":2}`: nil, `{"responses":["never"]}`: "responses",
	} {
		r := n.manage("PUT", path, body)
		if got := at(r.json(t), "error", "metadata", "param"); r.StatusCode != 400 || param != nil && got != param {
			t.Errorf("%s: status %d, param %v", body, r.StatusCode, got)
		}
	}
	wantError(t, n.do("PUT", path, `{"responses":"never"}`), 403, fault.PermissionDenied)
	wantError(t, n.do("DELETE", "/api/account/responses", ""), 403, fault.PermissionDenied)
	wantError(t, n.manage("PUT", "/api/account/preferences", `{"provider":{"storing":{}}}`), 400, fault.Invalid)
	// what is longer than any key can be read with is refused, however long the preferences are that it comes beside
	n.manage("PUT", path, `{}`)
	if r := n.manage("PUT", "/api/account/preferences", `{"provider":{"zdr":`+strings.Repeat(" ", 8192-len(`{"zdr":false}`))+`false}}`); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.manage("PUT", path, `{"responses":"never"}`), 400, fault.Invalid)
	if !stored(``) {
		t.Error("the account's keys do not work")
	}
	n.manage("PUT", "/api/account/preferences", `{"provider":null}`)
	n.manage("PUT", path, `{"responses":"on_request"}`)
	wantError(t, n.manage("PUT", path, `{"responses":"sometimes"}`), 400, fault.Invalid)
	if !strings.Contains(string(n.manage("GET", path, "").body), `"on_request"`) {
		t.Error("an error changed something")
	}
}

// Who deletes what is stored deletes the answers that are kept for repeated requests, too. None of these is charged again.
func TestDeletionOfRepeatedAnswers(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	with := idempotency.Default(time.Now)
	with.Node, with.Life, with.StoreFor = "n", "1", 60*time.Second
	with.Settled = func(context.Context, string, string) (bool, error) { return false, nil }
	m := idempotency.New(store.Pages, with)
	relay := &counted{relay: relayFunc(hello)}
	n := startWith(t, relay, nil, func(d *httpapi.Deps) {
		d.History, d.Idempotency = history.New(store.Pages, history.Default(time.Now)), m
	})
	ask := map[string]string{"/v1/responses": `{"model":"acme/small","input":"hi"}`, "/v1/chat/completions": chatBody(false)}
	for path, body := range ask {
		for range 2 {
			if r := n.do("POST", path, body, named, path); r.StatusCode != 200 {
				t.Fatalf("%s: %d %s", path, r.StatusCode, r.body)
			}
		}
	}
	exactly(t, "deleted", at(n.manage("DELETE", "/api/account/responses", "").json(t), "data"), `{"deleted":1}`)
	for path, body := range ask {
		wantError(t, n.do("POST", path, body, named, path), 422, fault.IdempotencyNotKept)
	}
	if relay.n.Load() != 2 {
		t.Errorf("%d calls", relay.n.Load())
	}
}

// TestBrowsersKeepAsTheAccountSays: /api/me says of each account for how long a browser may keep what is made in it: as the account's data say, an organization's
// for itself, and not at all with zero retention.
func TestBrowsersKeepAsTheAccountSays(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	n := startAll(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.History = history.New(store.Pages, history.Default(time.Now)) }, emptyReports)
	page := n.join(t, "vera@example.org", apikey.User)
	org := n.org(t, page, "Strelka")
	days := func() [2]any {
		t.Helper()
		accounts, _ := n.do("GET", "/api/me", "", page...).json(t)["accounts"].([]any)
		if len(accounts) != 2 {
			t.Fatalf("accounts are %v", accounts)
		}
		return [2]any{at(accounts[0].(map[string]any), "keep_days"), at(accounts[1].(map[string]any), "keep_days")}
	}
	for _, c := range []struct {
		path, body string
		want       [2]any
	}{
		{"/api/account/data", `{}`, [2]any{nil, nil}},
		{"/api/account/data", `{"responses":"on_request","days":7}`, [2]any{7.0, nil}},
		{"/api/account/data?account=" + org, `{"responses":"never"}`, [2]any{7.0, 0.0}},
		{"/api/account/data", `{"responses":"never","days":7}`, [2]any{0.0, 0.0}},
		{"/api/account/data?account=" + org, `{"days":3}`, [2]any{0.0, 3.0}},
		{"/api/account/data", `{}`, [2]any{nil, 3.0}},
		{"/api/account/preferences", `{"provider":{"zdr":true}}`, [2]any{0.0, 3.0}},
		{"/api/account/preferences", `{"provider":null}`, [2]any{nil, 3.0}},
	} {
		if r := n.do("PUT", c.path, c.body, page...); r.StatusCode != 200 {
			t.Fatalf("%s %s: %d %s", c.path, c.body, r.StatusCode, r.body)
		}
		if got := days(); got != c.want {
			t.Errorf("after %s %s: %v, want %v", c.path, c.body, got, c.want)
		}
	}
}
