package httpapi_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi"
)

// A wrong parameter of a page is refused by its name.
func TestWrongQueriesOfPages(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	long := strings.Repeat("x", 700)
	for path, param := range map[string]string{
		"/api/usage?bucket=week": "bucket", "/api/usage?group=wallet": "group", "/api/usage?metric=profit": "metric", "/api/usage?limit=0": "limit", "/api/usage?limit=51": "limit",
		"/api/usage?from=yesterday": "from", "/api/usage?to=2026-02-30": "to", "/api/usage?from=2026-03-02&to=2026-03-01": "from", "/api/usage?from=1969-12-31": "from",
		"/api/usage?bucket=hour&from=2026-01-01&to=2026-01-31": "from", "/api/usage?from=2020-01-01&to=2026-01-01": "from", "/api/usage?bucket=month&from=2000-01-01&to=2026-01-01": "from",
		"/api/usage?model=" + long: "model", "/api/usage?result=" + long: "result", "/api/usage.csv?group=x": "group",
		"/api/calls?limit=201": "limit", "/api/calls?limit=-1": "limit", "/api/calls?cursor=x": "cursor", "/api/calls?cursor=" + long: "cursor", "/api/calls?min_cost=-1": "min_cost", "/api/calls?min_cost=1e3": "min_cost",
		"/api/calls?min_cost=0.0000000001": "min_cost", "/api/calls?id=" + long: "id", "/api/calls?from=2026-01-01T00:00:00": "from", "/api/calls.csv?to=x": "to",
		"/api/calls/histogram?from=2020-01-01&to=2026-01-01": "from",
		"/api/ledger?from=2026-01-01T00:00:00Z":              "from", "/api/ledger?from=2024-01-01&to=2026-01-01": "from", "/api/ledger?from=2026-02-01&to=2026-01-01": "from", "/api/ledger.csv?to=1": "to",
		"/api/ledger.pdf?lang=de": "lang", "/api/ledger/day/2026-1-1": "date", "/api/ledger/day/x": "date", "/api/ledger/day/2026-01-01?cursor=!": "cursor",
	} {
		r := n.manage("GET", path, "")
		m := wantError(t, r, 400, fault.Invalid)
		if at(m, "error", "metadata", "param") != param {
			t.Errorf("%s: %v", path, m)
		}
	}
	wantError(t, n.manage("GET", "/api/usage?key="+strings.Repeat("0", 64), ""), 404, fault.NotFound)
	wantError(t, n.manage("GET", "/api/calls?model=%ff", ""), 400, fault.Invalid)
}

// What a spreadsheet would run is text in a file, and every text comes back from it.
func TestCellsOfFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "plain", "a,b", `say "x"`, "two\nlines", "кириллица", "=1+1", "+7", "-1", "@sum", "\t=1", "|cmd", `=HYPERLINK("http://x","y")`, " =1"} {
		cell := httpapi.CSVCell(text)
		rows, err := csv.NewReader(strings.NewReader(cell + ",end\n")).ReadAll()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got := rows[0][0]
		if got != text && got != "'"+text {
			t.Errorf("%q became %q", text, got)
		}
		if got != "" && strings.ContainsAny(got[:1], "=+-@\t\r|") {
			t.Errorf("a spreadsheet would run %q", got)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("Z3gwIGdlbi0x")
	f.Add("not a cursor")
	f.Fuzz(func(t *testing.T, text string) {
		again, err := httpapi.CursorOf(text)
		if err != nil {
			return
		}
		if twice, err := httpapi.CursorOf(again); err != nil || twice != again {
			t.Fatalf("%q reads as %q, and that as %q, %v", text, again, twice, err)
		}
	})
}

// A user reads few files at a time, and others read theirs beside them.
func TestFilesAtATime(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	n.books.rows = nil
	user := n.first.User.ID
	paths := []string{"/api/usage.csv", "/api/calls.csv", "/api/ledger.csv", "/api/ledger.pdf"}
	for _, path := range paths {
		r := n.manage("GET", path, "")
		if r.StatusCode != 200 || !strings.Contains(r.Header.Get("Content-Disposition"), "attachment") || r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
		}
	}
	for n.api.HoldFile(user) {
	}
	for _, path := range paths {
		m := wantError(t, n.manage("GET", path, ""), 429, fault.RateLimited)
		if at(m, "error", "metadata", "limited_by") != "max_files_per_user" {
			t.Errorf("%s: %v", path, m)
		}
	}
	page := n.join(t, "anna@example.org", apikey.User)
	if r := n.do("GET", "/api/calls.csv", "", page...); r.StatusCode != 200 {
		t.Errorf("another user: %d %s", r.StatusCode, r.body)
	}
	n.api.LeaveFile(user)
	if r := n.manage("GET", paths[0], ""); r.StatusCode != 200 {
		t.Errorf("after one has ended: %d", r.StatusCode)
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	page := n.join(t, "anna@example.org", apikey.User)
	if m := n.do("GET", "/api/account/profile", "", page...).json(t); at(m, "data", "email") != "anna@example.org" || at(m, "data", "language") != nil || at(m, "data", "theme") != "system" {
		t.Errorf("%v", m)
	}
	if r := n.do("PATCH", "/api/account/profile", `{"name":"Анна","language":"ru","theme":"dark"}`, page...); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	m := n.do("PATCH", "/api/account/profile", `{"theme":"system"}`, page...).json(t)
	if at(m, "data", "name") != "Анна" || at(m, "data", "language") != "ru" || at(m, "data", "theme") != "system" {
		t.Errorf("%v", m)
	}
	for body, param := range map[string]string{`{"language":"de"}`: "language", `{"theme":"pink"}`: "theme", `{"theme":null}`: "theme", `{"name":""}`: "name", `{"name":"` + strings.Repeat("x", 300) + `"}`: "name",
		`{"name":"usr_1"}`: "name", `{"role":"administrator"}`: "role", `{"language":1}`: "language"} {
		m := wantError(t, n.do("PATCH", "/api/account/profile", body, page...), 400, fault.Invalid)
		if at(m, "error", "metadata", "param") != param {
			t.Errorf("%s: %v", body, m)
		}
	}
	wantError(t, n.do("PATCH", "/api/account/profile", `{}`), 403, fault.PermissionDenied)
}

// Keys say what they may be used for, over both routes, and refuse rules that are none.
func TestRulesOfKeys(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for _, path := range []string{"/v1/keys", "/api/keys"} {
		made := n.manage("POST", path, `{"name":"a","allowed_models":["acme/*"],"allowed_ips":["127.0.0.1","2001:db8::/32","::ffff:192.0.2.7"],"schema":"strict"}`)
		m := made.json(t)
		if made.StatusCode != 201 || fmt.Sprint(at(m, "data", "allowed_models")) != "[acme/*]" || fmt.Sprint(at(m, "data", "allowed_ips")) != "[127.0.0.1 2001:db8::/32 192.0.2.7]" || at(m, "data", "schema") != "strict" {
			t.Errorf("%s: %d %s", path, made.StatusCode, made.body)
		}
		hash, _ := at(m, "data", "hash").(string)
		key, _ := m["key"].(string)
		if r := n.do("GET", "/v1/key", "", "Authorization", "Bearer "+key); r.StatusCode != 200 {
			t.Errorf("from its address: %d %s", r.StatusCode, r.body)
		}
		if r := n.manage("PATCH", path+"/"+hash, `{"allowed_ips":["192.0.2.1"],"allowed_models":null}`); r.StatusCode != 200 || at(r.json(t), "data", "allowed_models") != nil {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
		wantError(t, n.do("GET", "/v1/key", "", "Authorization", "Bearer "+key), 403, fault.PermissionDenied)
		if r := n.do("GET", "/v1/models", "", "Authorization", "Bearer "+key); r.StatusCode != 200 { // which needs no key
			t.Errorf("a public route: %d", r.StatusCode)
		}
		many := `"` + strings.Join(strings.Split(strings.Repeat("a ", 101), " ")[:101], `","`) + `"`
		for body, param := range map[string]string{`{"allowed_models":"x"}`: "allowed_models", `{"allowed_models":["a b"]}`: "allowed_models", `{"allowed_models":[""]}`: "allowed_models", `{"allowed_models":[` + many + `]}`: "allowed_models",
			`{"allowed_ips":["1.2.3.4/33"]}`: "allowed_ips", `{"allowed_ips":["fe80::1%eth0"]}`: "allowed_ips", `{"allowed_ips":{}}`: "allowed_ips", `{"schema":"x"}`: "schema"} {
			m := wantError(t, n.manage("PATCH", path+"/"+hash, body), 400, fault.Invalid)
			if at(m, "error", "metadata", "param") != param {
				t.Errorf("%s: %v", body, m)
			}
		}
		if r := n.manage("DELETE", path+"/"+hash, ""); r.StatusCode != 200 {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
	// management keys are made with a session alone, and expiry changes over /api/keys alone
	wantError(t, n.manage("POST", "/api/keys", `{"name":"a","management":true}`), 403, fault.PermissionDenied)
	wantError(t, n.manage("POST", "/v1/keys", `{"name":"a","management":true}`), 400, fault.Invalid)
	page := n.join(t, "anna@example.org", apikey.User)
	made := n.do("POST", "/api/keys", `{"name":"robot","management":true}`, page...)
	key, _ := made.json(t)["key"].(string)
	if made.StatusCode != 201 || !strings.HasPrefix(key, "sk-weir-mgmt-v1-") {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	hash, _ := at(made.json(t), "data", "hash").(string)
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if r := n.do("PATCH", "/api/keys/"+hash, `{"expires_at":"`+until+`"}`, page...); at(r.json(t), "data", "expires_at") != until {
		t.Errorf("%s", r.body)
	}
	if r := n.do("PATCH", "/api/keys/"+hash, `{"expires_at":null}`, page...); at(r.json(t), "data", "expires_at") != nil {
		t.Errorf("%s", r.body)
	}
}
