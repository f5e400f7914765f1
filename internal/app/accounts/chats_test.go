package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

type keptChat struct {
	ID, Title string
	Size      int
	Content   map[string]any
}

// Chats are kept only when the account has switched it on; they are listed, read, given as a file and deleted by it, and other accounts cannot
// detect them.
func TestChats(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o, other := gw.NewOwner(t, 1, apikey.NewKey{}), gw.NewOwner(t, 1, apikey.NewKey{})
	const at = "/api/chats/k3v9x2p7q1m4"
	do := func(by *apptest.Account, status int, method, path, body string) string {
		t.Helper()
		got := by.Send(t, method, path, []byte(body), nil)
		if got.Status != status {
			t.Errorf("%s %s %s: %d %s", method, path, body, got.Status, got.Body)
		}
		return string(got.Body)
	}
	list := func(by *apptest.Account) []keptChat {
		t.Helper()
		return apptest.Decode[struct{ Data []keptChat }](t, []byte(do(by, 200, http.MethodGet, "/api/chats", ""))).Data
	}
	const body = `{"title":" What is a weir ","content":{"turns":{"a/b":[{"prompt":"<script>"}]},"n":1.50}}`
	do(o.Pages, 403, http.MethodPut, at, body)
	for _, p := range []*apptest.Account{o.Pages, other.Pages} {
		do(p, 200, http.MethodPut, "/api/account/data", `{"chats":true}`)
	}
	do(o.Pages, 200, http.MethodPut, at, body)
	do(other.Pages, 200, http.MethodPut, "/api/chats/zzzzzzzz", body)
	if got := do(o.Pages, 200, http.MethodGet, at, ""); !strings.Contains(got, `"content":{"turns":{"a/b":[{"prompt":"<script>"}]},"n":1.50}`) || !strings.Contains(got, `"title":"What is a weir"`) {
		t.Error(got)
	}
	if all := list(o.Pages); len(all) != 1 || all[0].Title != "What is a weir" || all[0].Size != 50 || all[0].Content != nil {
		t.Errorf("%+v", all)
	}
	do(o.Pages, 200, http.MethodPut, "/api/chats/aaaaaaaa", `{"title":"Second","content":{}}`)
	do(o.Pages, 200, http.MethodPut, at, `{"title":"First again","content":{}}`)
	if all := list(o.Pages); len(all) != 2 || all[0].Title != "First again" {
		t.Errorf("%+v", all)
	}
	file := apptest.Decode[struct{ Chats []keptChat }](t, []byte(do(o.Pages, 200, http.MethodGet, "/api/chats.json", ""))).Chats
	if len(file) != 2 || file[0].Title != "First again" || file[1].Content == nil {
		t.Errorf("%+v", file)
	}
	if got := do(o.Pages, 200, http.MethodGet, "/api/account/data", ""); !strings.Contains(got, `"chats":true,"stored_chats":{"chats":2,"bytes":4}`) {
		t.Error(got)
	}

	// Of others, and of none: one answer.
	none := do(other.Pages, 404, http.MethodGet, "/api/chats/nothinghere", "")
	for _, path := range []string{at, "/api/chats/UPPER", "/api/chats/..%2f..%2fa"} {
		if got := do(other.Pages, 404, http.MethodGet, path, ""); withoutID(got) != withoutID(none) {
			t.Errorf("%s: %s, not %s", path, got, none)
		}
		do(other.Pages, 404, http.MethodDelete, path, "")
	}
	do(o.Account, 403, http.MethodGet, "/api/chats", "") // a key that calls models
	do(o.Account, 403, http.MethodPut, at, body)

	do(o.Pages, 200, http.MethodDelete, at, "")
	do(o.Pages, 404, http.MethodDelete, at, "")
	if got := do(o.Pages, 200, http.MethodDelete, "/api/chats", ""); got != `{"data":{"deleted":1}}` {
		t.Error(got)
	}
	if all := list(other.Pages); len(all) != 1 {
		t.Errorf("of the other account %+v are left", all)
	}
	// Zero retention keeps nothing, and neither does an account that stores nothing.
	for _, off := range []struct{ path, body, undo string }{
		{"/api/account/data", `{"chats":true,"responses":"never"}`, `{"chats":true}`}, {"/api/account/data", `{}`, `{"chats":true}`},
		{"/api/account/preferences", `{"provider":{"zdr":true}}`, `{"provider":null}`},
	} {
		do(o.Pages, 200, http.MethodPut, off.path, off.body)
		do(o.Pages, 403, http.MethodPut, at, body)
		do(o.Pages, 200, http.MethodPut, off.path, off.undo)
	}
}

// withoutID is an error without the id of its request.
func withoutID(body string) string {
	from := strings.Index(body, "req_")
	if from < 0 {
		return body
	}
	to := from
	for to < len(body) && body[to] != '"' {
		to++
	}
	return body[:from] + body[to:]
}

// What cannot be kept: each refusal names the field.
func TestChatRefusals(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 1, apikey.NewKey{})
	o.Pages.Send(t, http.MethodPut, "/api/account/data", []byte(`{"chats":true}`), nil)
	const at = "/api/chats/k3v9x2p7q1m4"
	for _, r := range []struct {
		path, body, param string
		status            int
	}{
		{at, `{"content":{}}`, "title", 400}, {at, `{"title":"a"}`, "content", 400}, {at, `{"title":5,"content":{}}`, "title", 400}, {at, `{"title":"a","content":"b"}`, "content", 400},
		{at, `{"title":"a","content":{},"user":"usr_1"}`, "user", 400}, {at, `[]`, "", 400}, {at, `{`, "", 400}, {at, `{"title":"a","content":{"a":1,"a":2}}`, "", 400},
		{"/api/chats/short", `{"title":"a","content":{}}`, "id", 400}, {"/api/chats/Capitals", `{"title":"a","content":{}}`, "id", 400},
		{at, fmt.Sprintf(`{"title":"a","content":{"a":"%s"}}`, strings.Repeat("a", 1<<20)), "content", 400},
		{at, fmt.Sprintf(`{"title":"a","content":{"a":"%s"}}`, strings.Repeat("a", 2<<20)), "", 413},
	} {
		got := o.Pages.Send(t, http.MethodPut, r.path, []byte(r.body), nil)
		e := apptest.Decode[struct {
			Error struct{ Metadata struct{ Param string } }
		}](t, got.Body)
		if got.Status != r.status || r.param != "" && e.Error.Metadata.Param != r.param {
			t.Errorf("%s %.80s: %d %s", r.path, r.body, got.Status, got.Body)
		}
	}
}
