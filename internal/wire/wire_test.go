package wire_test

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire"
)

func TestReaderPathsAndFirstFault(t *testing.T) {
	t.Parallel()
	r := wire.NewReader([]byte(`{"a":[{"b":1},{"b":[null,"x"]}],"c":2}`), "test")
	r.Object()
	r.Member()
	r.Array()
	r.Element()
	r.Skip()
	r.Element()
	r.Object()
	r.Member()
	if got := r.Path(); got != "a[1].b" {
		t.Errorf("path is %q", got)
	}
	if _, ok := r.Int(0, 9); ok {
		t.Error("an array was read as an integer")
	}
	if f := r.Err(); f == nil || f.Kind != fault.Invalid || f.Param != "a[1].b" {
		t.Errorf("got %v", f)
	}
	r.Fail(fault.InvalidPrompt, "later")
	if _, ok := r.Member(); ok || r.Element() || r.Skip() != nil || r.Kind() != rawjson.Invalid || r.Err().Kind != fault.Invalid {
		t.Error("the first fault did not stick")
	}
}

func TestReaderScalars(t *testing.T) {
	t.Parallel()
	one := func(v string) *wire.Reader {
		r := wire.NewReader([]byte(v), "test")
		return &r
	}
	if v, ok := one("1e1").Int(10, 10); !ok || v != 10 {
		t.Errorf("got %d %v", v, ok)
	}
	for v, says := range map[string]string{"11": "from 1 to 10", "0": "from 1 to 10", "1.5": "from 1 to 10", `"1"`: "a number"} {
		r := one(v)
		if _, ok := r.Int(1, 10); ok || !strings.Contains(r.Err().Public, says) {
			t.Errorf("%s: %v", v, r.Err())
		}
	}
	r := one("-1")
	if _, ok := r.Int(0, math.MaxInt64); ok || !strings.Contains(r.Err().Public, "at least 0") {
		t.Error(r.Err())
	}
	for _, null := range []*wire.Reader{one("null")} {
		if _, ok := null.Bool(); ok || null.Err() != nil {
			t.Error("null is no absent boolean")
		}
	}
	if got := one("null").Switch(); got != wire.Unset {
		t.Errorf("null switches to %v", got)
	}
	if got := one("false").Switch(); got != wire.Off {
		t.Errorf("false switches to %v", got)
	}
	r = one(`{"a":`)
	r.Object()
	r.Member()
	r.Skip()
	if r.Err() == nil {
		t.Error("unchecked bytes that break off read without a fault")
	}
}

func TestTier(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "default": "default", "standard": "default", "flex": "flex", "priority": "priority", "on_demand": ""} {
		if got := wire.Tier(in); got != want {
			t.Errorf("%q is named %q, want %q", in, got, want)
		}
	}
}

func TestAppendCost(t *testing.T) {
	t.Parallel()
	r := relay.Receipt{Cost: 3 * money.Ruble / 2, PromptCost: money.Ruble / 4}
	got := string(wire.AppendCost(nil, &r))
	if got != `"cost":1.5,"currency":"RUB","is_byok":false,"cost_details":{"upstream_inference_cost":null`+
		`,"upstream_inference_prompt_cost":0.25,"upstream_inference_completions_cost":1.25,"upstream_inference_input_cost":0.25,"upstream_inference_output_cost":1.25}` {
		t.Error(got)
	}
}

func TestAppendFigures(t *testing.T) {
	t.Parallel()
	figures := []wire.Figure{{Name: "a", Required: true}, {Name: "b"}, {Name: "c"}}
	if got := string(wire.AppendFigures([]byte("x"), "d", figures)); got != "x" {
		t.Errorf("nothing reported gives %s", got)
	}
	figures[2].Count = usage.Of(-5)
	if got := string(wire.AppendFigures(nil, "d", figures)); got != `,"d":{"a":0,"c":0}` {
		t.Errorf("got %s", got)
	}
}

// slow is a writer that keeps what it got until Flush.
type slow struct {
	bytes.Buffer
	flushes int
	err     error
}

func (s *slow) Flush() error {
	s.flushes++
	return s.err
}

// A stream flushes what was written since the last time, keep-alives at once, and nothing after its end.
func TestStreamFlushes(t *testing.T) {
	t.Parallel()
	w := &slow{}
	s := wire.NewStream(w)
	want := func(n int) {
		t.Helper()
		if w.flushes != n {
			t.Errorf("%d flushes; want %d", w.flushes, n)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(s.Flush())
	want(0)
	check(s.Do(func() { s.Send([]byte("data: 1\n\n")) }))
	want(0)
	check(s.Flush())
	check(s.Flush())
	want(1)
	check(s.KeepAlive())
	want(2)
	check(s.Do(func() { s.Send([]byte("data: 2\n\n")) }))
	w.err = io.ErrClosedPipe
	if err := s.Flush(); err != io.ErrClosedPipe {
		t.Error(err)
	}
	before := w.Len()
	if err := s.Do(func() { s.Send([]byte("data: 3\n\n")) }); err != io.ErrClosedPipe || w.Len() != before {
		t.Errorf("%v; wrote %q", err, w.Bytes()[before:])
	}
	want(3)
}
