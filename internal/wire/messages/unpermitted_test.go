package messages_test

import (
	"strings"
	"testing"

	"weir/internal/wire/messages"
)

// A feature that is left out takes the members with it that only it can permit, at the top, in messages and in tools.
func TestUnpermitted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, top, want string }{
		{"per turn control", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"q"},{"role":"system","content":"s","output_config":{"effort":"high"}}]}`, "",
			`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"q"},{"role":"system","content":"s"}]}`},
		{"first and last", `{"model":"m","max_tokens":1,"messages":[{"a":1,"role":"user", "b":[1] ,"content":"q","c":{},"d":null}],"tools":[{"x":1},{"name":"f","y":{"z":1}}]}`, "",
			`{"model":"m","max_tokens":1,"messages":[{"role":"user", "content":"q"}],"tools":[{},{"name":"f"}]}`},
		{"at the top", `{"model":"m","future":{"a":1},"max_tokens":1,"messages":[{"role":"user","content":"q"}],"speed":"fast","debug":{"x":1}}`, "future",
			`{"model":"m","future":{"a":1},"max_tokens":1,"messages":[{"role":"user","content":"q"}],"speed":"fast","debug":{"x":1}}`},
	} {
		req, err := messages.Decode([]byte(c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		messages.Unpermitted(req, nil)
		if list, _ := req.Edits(); len(list) != 0 || req.Unpermitted != nil {
			t.Errorf("%s: without a feature left out %v goes", c.name, list)
		}
		messages.Unpermitted(req, []string{"future-2027-01-01"})
		if got := edited(t, req); got != c.want || strings.Join(req.Unpermitted, " ") != c.top {
			t.Errorf("%s: %s, and %q", c.name, got, req.Unpermitted)
		}
	}
}
