package sim_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/sim"
)

var update = flag.Bool("update", false, "write what the simulator says now into testdata")

// fixed is a simulator whose clock does not move.
func fixed() *sim.Server {
	return sim.New(sim.Config{Now: func() time.Time { return time.Unix(1767225600, 0).UTC() }})
}

// post sends a request in memory. Headers are lines "Name: value".
func post(s *sim.Server, method, path, headers, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range strings.Split(headers, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// tree is any JSON, read by the standard library.
type tree = map[string]any

func readTree(t testing.TB, b []byte) tree {
	t.Helper()
	var out tree
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%v in %q", err, b)
	}
	return out
}

// at follows a path of names and indexes, such as "content.0.text"; nil when there is nothing.
func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch on := v.(type) {
		case map[string]any:
			v = on[name]
		case []any:
			var i int
			if n, err := fmt.Sscanf(name, "%d", &i); n != 1 || err != nil || i >= len(on) {
				return nil
			}
			v = on[i]
		default:
			return nil
		}
	}
	return v
}

func textAt(v any, path string) string {
	s, _ := at(v, path).(string)
	return s
}

func numberAt(v any, path string) float64 {
	n, _ := at(v, path).(float64)
	return n
}

// event is one server-sent event.
type event struct {
	name string
	data tree
}

// readEvents reads a stream whose events are all JSON.
func readEvents(t testing.TB, body string) (all []event) {
	t.Helper()
	for _, block := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var e event
		for _, line := range strings.Split(block, "\n") {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = name
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				e.data = readTree(t, []byte(data))
			}
		}
		if e.data == nil {
			t.Fatalf("an event without data: %q", block)
		}
		all = append(all, e)
	}
	return all
}

// same fails the test when two values differ as JSON.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// TestGolden holds each wire to what was written down of it. A file has prose first, then a request, then the answer.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Comment) == 0 || len(a.Files) == 0 || a.Files[0].Name != "request" {
				t.Fatal("want prose, then a request")
			}
			head, body, _ := strings.Cut(string(a.Files[0].Data), "\n\n")
			line, headers, _ := strings.Cut(head, "\n")
			method, path, _ := strings.Cut(line, " ")
			got := printed(t, post(fixed(), method, path, headers, strings.TrimSpace(body)))
			if *update {
				a.Files = append(a.Files[:1], txtar.File{Name: "answer", Data: got})
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 2 || !bytes.Equal(a.Files[1].Data, got) {
				t.Errorf("the answer is now\n%s", got)
			}
		})
	}
}

// printed is an answer as a fixture has it: status, content type, body. Binary events are printed as read.
func printed(t testing.TB, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	out := fmt.Appendf(nil, "%d %s\n\n", w.Code, w.Header().Get("Content-Type"))
	if strings.HasSuffix(w.Header().Get("Content-Type"), ".eventstream") {
		for _, e := range readBinary(t, w.Body.Bytes()) {
			payload, _ := json.Marshal(e.payload)
			out = fmt.Appendf(out, "%s %s\n", e.headers[":event-type"], payload)
		}
		return out
	}
	return append(bytes.TrimRight(append(out, w.Body.Bytes()...), "\n"), '\n')
}

// png8 is a PNG of 8 by 8 pixels in base64. It is made here, so that no code of the simulator is used.
var png8 = func() string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}()
