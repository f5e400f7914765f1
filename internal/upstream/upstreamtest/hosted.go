package upstreamtest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/usage"
)

// Hosted checks what a dialect counts of the tools that the provider runs, against the golden answers in dir. A file says in its first line what happened, and
// has an answer as whole.json, stream.sse or both, and the model in a section of that name where it matters. want has what each answer reports at
// its end, and what went by.
func Hosted(t *testing.T, d dialect.Texter, dir string, least int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) < least {
		t.Fatalf("%d files in %s, at least %d are there: %v", len(files), dir, least, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ep := &catalog.Endpoint{ID: "acme/m", UpstreamID: "m", Provider: &catalog.Provider{ID: "acme", Name: "Acme"}}
			got, want := "", ""
			for _, f := range a.Files {
				switch f.Name {
				case "model":
					ep.UpstreamID = strings.TrimSpace(string(f.Data))
				case "want":
					want = string(f.Data)
				default:
					got += f.Name + ": " + counted(t, d, ep, bytes.TrimSpace(f.Data)) + "\n"
				}
			}
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// counted is what an answer reports at its end of hosted tools, and what went by.
func counted(t *testing.T, d dialect.Texter, ep *catalog.Endpoint, body []byte) string {
	t.Helper()
	var reported usage.Usage
	var called usage.Calls
	answer := dialect.Answer{Endpoint: ep, Request: &completion.Request{}, Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10},
		Body: dialect.NewBody(bytes.NewReader(append(body, '\n', '\n')))}
	end := ""
	for ev, err := range d.Events(&answer) {
		if err != nil {
			end = ", broken"
			break
		}
		if ev.Usage != nil {
			reported.Follow(ev.Usage, ev.Replaces)
		}
		if ev.Called != nil {
			called = ev.Called.Hosted()
		}
	}
	var went usage.Usage
	called.Set(&went)
	return "reported " + hostedCounts(&reported) + ", went by " + hostedCounts(&went) + end
}

func hostedCounts(u *usage.Usage) string {
	var list []string
	for _, c := range []struct {
		name string
		n    usage.Count
	}{{"searches", u.WebSearches}, {"fetches", u.WebFetches}, {"file searches", u.FileSearches}, {"containers", u.Containers}, {"mcp calls", u.MCPCalls}} {
		if c.n.N != 0 {
			list = append(list, fmt.Sprintf("%d %s", c.n.N, c.name))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
