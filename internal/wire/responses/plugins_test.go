package responses_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/completion"
	"weir/internal/routing"
	"weir/internal/wire/responses"
)

// Plugins, the shape of the answer and truncation mean on this wire what they mean on the chat wire.
func TestDecodeForTheGateway(t *testing.T) {
	t.Parallel()
	yes := true
	for _, c := range []struct {
		name, members string
		shrink        routing.Shrink
		readable      bool
		heal          bool
		search        *completion.Search
		format        *completion.Format
	}{
		{name: "nothing", members: `"x":1`, readable: true},
		{name: "truncation", members: `"truncation":"auto"`, shrink: routing.ShrinkAny, readable: true},
		{name: "no truncation", members: `"truncation":"disabled"`, readable: true},
		{name: "plugins", members: `"plugins":[{"id":"response-healing"},{"id":"web","max_results":2},{"id":"context-compression"},{"id":"file-parser","pdf":{"engine":"native"}}]`, heal: true,
			shrink: routing.ShrinkAny, search: &completion.Search{MaxResults: 2}},
		{name: "text", members: `"text":{"format":{"type":"text"}}`, readable: true},
		{name: "object", members: `"text":{"format": {"type":"json_object"}}`, readable: true, format: &completion.Format{Kind: completion.FormatJSON}},
		{name: "schema", members: `"text":{"format":{"type":"json_schema","name":"n","schema":{"a":1},"strict":true}}`, readable: true,
			format: &completion.Format{Kind: completion.FormatSchema, Name: "n", Schema: []byte(`{"a":1}`), Strict: &yes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req, err := responses.Decode([]byte(`{"model":"v/m","input":"hi",` + c.members + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if req.Needs.Shrink != c.shrink || req.Needs.Readable != c.readable || req.Heal != c.heal {
				t.Errorf("needs %+v, heal %v", req.Needs, req.Heal)
			}
			if d := cmp.Diff(c.search, req.Search) + cmp.Diff(c.format, req.Format); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := responses.Decode([]byte(`{"model":"v/m","input":"hi","plugins":[{"id":"nope"}]}`)); err == nil {
		t.Error("an unknown plugin was taken")
	}
}
