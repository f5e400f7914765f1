package messages_test

import (
	"strings"
	"testing"

	"weir/internal/wire/messages"
)

// A feature that is left out takes the members with it that only it can permit, at the top, in messages and in tools.
func TestUnpermitted(t *testing.T) {
	t.Parallel()
	features := messages.NewFeatures(nil)
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
		features.Restrict(req, nil)
		if list, _ := req.Edits(); len(list) != 0 || req.Permitted != nil {
			t.Errorf("%s: without a feature left out %v goes", c.name, list)
		}
		features.Restrict(req, []string{"future-2027-01-01"})
		if got := edited(t, req); got != c.want || c.top != "" && req.Permitted[c.top] {
			t.Errorf("%s: %s, permitted %v", c.name, got, req.Permitted)
		}
	}
}

// An operator adds a feature that is newer than this release, with what it permits.
func TestFeaturesOfOperators(t *testing.T) {
	t.Parallel()
	features := messages.NewFeatures([]string{"future-tool-2027-01-01=debug, tools[].later", "quiet"})
	kept, left := features.Betas([]string{"future-tool-2027-02-03,quiet,unknown-2027-01-01"})
	if strings.Join(kept, ",") != "future-tool-2027-02-03,quiet" || strings.Join(left, ",") != "unknown-2027-01-01" {
		t.Fatalf("kept %q, left %q", kept, left)
	}
	req, err := messages.Decode([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"q"}],"tools":[{"name":"f","later":1,"never":2}],"debug":{},"other":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	features.Restrict(req, left)
	if got := edited(t, req); !strings.Contains(got, `"tools":[{"name":"f","later":1}]`) || !req.Permitted["debug"] || req.Permitted["other"] {
		t.Errorf("%s, permitted %v", got, req.Permitted)
	}
}
