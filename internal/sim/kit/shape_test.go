package kit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A shape adds what its recording has, and keeps everything else as it was.
func TestShapesAddAndChangeNothing(t *testing.T) {
	t.Parallel()
	frames := []Frame{
		{Kind: Opening, Data: []byte(`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)},
		{Kind: Content, Data: []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"Oх"},"finish_reason":null}]}`)},
		{Kind: Ending, Data: []byte(`{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`)},
		{Kind: Done, Data: []byte("[DONE]")},
	}
	whole := []byte(`{"id":"x","choices":[{"index":0,"message":{"content":"Oх"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1},"candidates":[{"index":0}]}`)
	names := map[string]bool{}
	for i := range Shapes {
		s := &Shapes[i]
		if s.Origin == "" || names[s.Wire+" "+s.Name] {
			t.Errorf("the shape %s of %s has no origin or is there twice", s.Name, s.Wire)
		}
		names[s.Wire+" "+s.Name] = true
		wire := &Wire{Name: s.Wire, Frame: SSE, Binary: s.Wire == "bedrock"}
		dressed := s.dress(&Reply{Wire: wire, Body: func() []byte { return whole }, Frames: slices.Values(frames)})
		changed := s.split > 0 || s.comment != "" || s.pad > 0 || len(s.first)+len(s.second) > 0
		if body := dressed.Body(); !bytes.Equal(body, whole) {
			changed = true
			within(t, s.Name, whole, body)
		}
		kept := 0
		for f := range dressed.Frames {
			if f.Comment != "" || len(f.Data) == 0 || kept < len(frames) && f.Kind != frames[kept].Kind || slices.ContainsFunc(append(s.first, s.second...), func(x Frame) bool { return bytes.Equal(x.Data, f.Data) }) {
				continue
			}
			changed = changed || !bytes.Equal(f.Data, frames[kept].Data)
			if f.Kind != Done {
				within(t, s.Name, frames[kept].Data, f.Data)
			}
			kept++
		}
		if kept != len(frames) {
			t.Errorf("%s: %d frames of %d are left", s.Name, kept, len(frames))
		}
		// what a shape adds to may be absent in these answers of the chat wire
		if !changed && s.Wire == "chat" {
			t.Errorf("%s of %s changes nothing", s.Name, s.Wire)
		}
	}
}

// within checks that a JSON object has every member of another, with the same value.
func within(t *testing.T, name string, less, more []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(less, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(more, &b); err != nil {
		t.Fatalf("%s: %v: %s", name, err, more)
	}
	var has func(a, b any) bool
	has = func(a, b any) bool {
		switch a := a.(type) {
		case map[string]any:
			m, ok := b.(map[string]any)
			for k, v := range a {
				ok = ok && has(v, m[k])
			}
			return ok
		case []any:
			l, ok := b.([]any)
			ok = ok && len(l) == len(a)
			for i := range a {
				ok = ok && has(a[i], l[i])
			}
			return ok
		}
		return a == b
	}
	if !has(a, b) {
		t.Errorf("%s: %s\nis not within %s", name, less, more)
	}
}

// The summary of a stream is its whole text, in the frame that ends it.
func TestSummary(t *testing.T) {
	t.Parallel()
	var s summary
	s.of([]byte(`{"choices":[{"delta":{"content":"on"},"finish_reason":null}]}`))
	got := string(s.of([]byte(`{"choices":[{"delta":{"content":"e"},"finish_reason":"stop"}]}`)))
	if !strings.Contains(got, `"message":{"role":"assistant","content":"one"}`) {
		t.Error(got)
	}
}
