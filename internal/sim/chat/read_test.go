package chat // the readers of foreign bytes are not for others to call

import (
	"strings"
	"testing"

	"weir/internal/sim/kit"
)

func FuzzPeek(f *testing.F) {
	for _, s := range []string{`{"model":"bench","stream":true}`, `{"a":"\\\"","model" : "b\"x"`, `{"stream_options":{"include_usage":true}}`, `"`, `\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := peek(b)
		n, err := kit.Parse(b)
		if err != nil || !n.Is(kit.Object) {
			return
		}
		// names written with escapes are not found; no benchmark writes those
		if m := n.Get("model"); m.Is(kit.Text) && strings.Count(string(b), `\`) == 0 && string(p.model) != m.Text {
			t.Fatalf("model %q in %q", p.model, b)
		}
		if s := n.Get("stream"); s != nil && strings.Count(string(b), `\`) == 0 && p.stream != s.IsTrue() {
			t.Fatalf("stream %v in %q", p.stream, b)
		}
	})
}
