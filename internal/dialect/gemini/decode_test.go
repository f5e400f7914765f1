package gemini_test

import (
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/gemini"
	"weir/internal/upstream/upstreamtest"
)

func decode(body string) string {
	ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme"}}
	return upstreamtest.DumpAll(new(gemini.Dialect).Events(&dialect.Answer{Endpoint: ep, Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10},
		Body: dialect.NewBody(strings.NewReader(body))}))
}

// A frame that says nothing is no fault; one that is no answer is.
func TestFramesWithoutCandidates(t *testing.T) {
	t.Parallel()
	const said = `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`
	if plain, got := decode("data: "+said+"\n\n"), decode("data: {\"candidates\":[]}\n\ndata: "+said+"\n\n"); got != plain || !strings.Contains(got, " done\n") {
		t.Errorf("%q, without the empty frame %q", got, plain)
	}
	if got := decode("data: {}\n\ndata: " + said + "\n\n"); !strings.Contains(got, "fault ") {
		t.Errorf("%q", got)
	}
}

// FuzzEvents reads what a provider may send.
func FuzzEvents(f *testing.F) {
	a := upstreamtest.Answer{Text: []string{"Hel", "lo"}, Reasoning: []string{"hm"}, Calls: []completion.ToolCall{{Name: "f", Arguments: []byte(`{"ö":1}`)}}, Finish: "STOP"}
	f.Add(strings.Join(renderStream(a), ""))
	f.Add(frame(a, parts(a), ending(a)))
	f.Add(`{"candidates":[{"index":3,"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"QQ=="}},{"thoughtSignature":"s","text":""}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["q"],"groundingChunks":[{"web":{"uri":"u"}}]}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if got := decode(body); !strings.Contains(got, " done\n") && !strings.Contains(got, "fault ") {
			t.Errorf("neither an end nor a fault: %q", got)
		}
	})
}
