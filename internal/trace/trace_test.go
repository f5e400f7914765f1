package trace_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/trace"
)

const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header      string
		ok, sampled bool
	}{
		{sampled, true, true},
		{strings.TrimSuffix(sampled, "1") + "0", true, false},
		{strings.TrimSuffix(sampled, "01") + "03", true, true}, // further flags
		{sampled + "-more", false, false},
		{"01" + sampled[2:] + "-more", true, true}, // a later version may have more
		{"01" + sampled[2:] + "more", false, false},
		{"ff" + sampled[2:], false, false},
		{strings.ToUpper(sampled), false, false},
		{"", false, false},
		{sampled[:54], false, false},
		{strings.Replace(sampled, "4bf92f3577b34da6a3ce929d0e0e4736", strings.Repeat("0", 32), 1), false, false},
		{strings.Replace(sampled, "00f067aa0ba902b7", strings.Repeat("0", 16), 1), false, false},
		{strings.Replace(sampled, "-00f0", "_00f0", 1), false, false},
		{strings.Replace(sampled, "4bf9", "4bg9", 1), false, false},
	} {
		p, ok := trace.Parse(c.header)
		if ok != c.ok || p.Sampled != c.sampled {
			t.Errorf("%q: %v %t, want %t, sampled %t", c.header, p, ok, c.ok, c.sampled)
		}
	}
}

// Whatever was read is written so that it is read again.
func FuzzParse(f *testing.F) {
	f.Add(sampled)
	f.Add("01" + sampled[2:] + "-x")
	f.Fuzz(func(t *testing.T, header string) {
		p, ok := trace.Parse(header)
		if !ok {
			return
		}
		again, ok := trace.Parse(p.String())
		if !ok || again != p || p.String()[3:52] != header[3:52] {
			t.Errorf("%q became %q", header, p)
		}
	})
}

type exported struct{ calls []*trace.Call }

func (e *exported) Export(c *trace.Call, _ *trace.Answer) { e.calls = append(e.calls, c) }

// Who is trusted decides; who is not gets a trace of its own, by the ratio, with a link.
func TestBegin(t *testing.T) {
	t.Parallel()
	unsampled := strings.TrimSuffix(sampled, "1") + "0"
	for _, c := range []struct {
		name            string
		ratio           float64
		headers         []string
		trusted         bool
		traced          bool
		continues, link bool
	}{
		{"nothing, no ratio", 0, nil, true, false, false, false},
		{"nothing, all", 1, nil, false, true, false, false},
		{"trusted and sampled", 0, []string{sampled}, true, true, true, false},
		{"trusted and not sampled", 1, []string{unsampled}, true, false, true, false},
		{"not trusted and sampled", 0, []string{sampled}, false, false, false, true},
		{"not trusted, all", 1, []string{unsampled}, false, true, false, true},
		{"two headers", 0, []string{sampled, sampled}, true, false, false, false},
		{"rubbish", 1, []string{"rubbish"}, true, true, false, false},
	} {
		var e exported
		tracer := trace.New(trace.Config{Ratio: c.ratio, Rand: rand.Uint64}, &e)
		call := tracer.Begin(c.headers, c.trusted)
		if (call != nil) != c.traced {
			t.Errorf("%s: %+v", c.name, call)
		}
		if call == nil {
			continue
		}
		tracer.End(call, &trace.Answer{})
		if len(e.calls) != 1 {
			t.Errorf("%s: it was not exported", c.name)
		}
		if continues := call.ID() == sampled[3:35]; continues != c.continues || continues != (call.Parent != [8]byte{}) {
			t.Errorf("%s: trace %s, parent %x", c.name, call.ID(), call.Parent)
		}
		if link := call.Link != (trace.Parent{}); link != c.link {
			t.Errorf("%s: link %v", c.name, call.Link)
		}
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	tracer := trace.New(trace.Config{Ratio: 0.25, Rand: source.Uint64}, &exported{})
	n := 0
	for range 10_000 {
		if tracer.Begin(nil, false) != nil {
			n++
		}
	}
	if n < 2300 || n > 2700 {
		t.Errorf("%d of 10000 at a ratio of a quarter", n)
	}
}

// A call that is not sampled costs no memory.
func TestNotSampledCostsNothing(t *testing.T) { //nolint:paralleltest // allocations of other tests would count
	tracer := trace.New(trace.Config{Rand: rand.Uint64}, &exported{})
	headers := []string{sampled}
	if n := testing.AllocsPerRun(100, func() {
		if tracer.Begin(headers, false) != nil {
			t.Fatal("it is traced")
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// Only named providers get the header, also of a call that is not sampled, and each attempt has a span of its own.
func TestPassedOn(t *testing.T) {
	t.Parallel()
	var e exported
	tracer := trace.New(trace.Config{PassTo: []string{"own"}, Rand: rand.Uint64}, &e)
	call := tracer.Begin(nil, false)
	at := func(provider string) string {
		return call.Trying(&catalog.Endpoint{Provider: &catalog.Provider{ID: provider}}, &completion.Request{})
	}
	if got := at("foreign"); got != "" {
		t.Errorf("another provider gets %q", got)
	}
	var spans []string
	for range 3 {
		p, ok := trace.Parse(at("own"))
		if !ok || p.Trace != call.Trace || p.Sampled || p.Span == call.Span || p.Span != call.Attempt(len(call.Tried)-1) {
			t.Errorf("%v of %+v", p, call)
		}
		spans = append(spans, p.String())
	}
	slices.Sort(spans)
	if len(slices.Compact(spans)) != 3 {
		t.Errorf("spans %v", spans)
	}
	if tracer.End(call, &trace.Answer{}); len(e.calls) != 0 {
		t.Error("a call that is not sampled was exported")
	}
}

// No answer takes more than the limit, however many pieces and tools it has.
func TestContentIsBounded(t *testing.T) {
	t.Parallel()
	call := trace.New(trace.Config{Ratio: 1, Content: true, ContentBytes: 100, Rand: rand.Uint64}, &exported{}).Begin(nil, false)
	call.Trying(&catalog.Endpoint{Provider: &catalog.Provider{ID: "p"}}, &completion.Request{})
	for i := range 1000 {
		call.Said(&completion.Event{Text: []byte("text"), Reasoning: []byte("why"), ToolCalls: []completion.ToolCall{{Index: i, Name: "f", Arguments: []byte("{}")}}})
	}
	n := len(call.Output.Text) + len(call.Output.Reasoning)
	for _, c := range call.Output.Calls {
		n += len(c.Arguments)
	}
	if n != 100 || len(call.Output.Calls) > 64 {
		t.Errorf("%d bytes, %d calls", n, len(call.Output.Calls))
	}
	call.Trying(&catalog.Endpoint{Provider: &catalog.Provider{ID: "p"}}, &completion.Request{})
	if len(call.Output.Text) != 0 {
		t.Error("an attempt has the content of the one before")
	}
}
