package gemini_test

import (
	"strconv"
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

// Calls whose arguments are streamed, as Vertex sends them: one call each, however it ends.
func TestStreamedArguments(t *testing.T) {
	t.Parallel()
	const begin, a, b, empty = `{"name":"f","willContinue":true}`, `{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}`,
		`{"partialArgs":[{"jsonPath":"$.a","stringValue":"y"},{"jsonPath":"$.b[0]","numberValue":1}]}`, `{}`
	const whole = `0:f{"a":"xy","b":[1]}.`
	for _, c := range []struct {
		name, parts, want string
	}{
		{"pieces end with the last", begin + a + b, whole}, // vercel/ai#14358
		{"an empty part ends", begin + a + b[:len(b)-1] + `,"willContinue":true}` + empty, whole},
		{"parts without pieces between", begin + `{"willContinue":true}` + a + `{"willContinue":true}` + b, whole},
		{"nothing ends it but the answer", begin + a, `0:f{"a":"x"}.`},
		{"the next call ends it", begin + a + `{"name":"g","args":{"c":1}}`, `0:f{"a":"x"}.1:g{"c":1}.`},
		{"two in turn", begin + a + b + begin + a + b, whole + `1:f{"a":"xy","b":[1]}.`},
		{"no arguments", begin + empty, `0:f{}.`},
		{"a name alone is a whole call", `{"name":"f"}`, `0:f.`}, // vercel/ai#14968
		{"in one part", `{"name":"f","partialArgs":[{"jsonPath":"$.a","boolValue":true}]}`, `0:f{"a":true}.`},
		{"the same id with its name again", `{"id":"i","name":"f","willContinue":true}{"id":"i","name":"f","partialArgs":[{"jsonPath":"$.a","nullValue":null}]}`, `0:f{"a":null}.`},
		{"pieces of nothing", a, "fault"},
		{"a path that is none", begin + `{"partialArgs":[{"jsonPath":"a","stringValue":"x"}]}`, "fault"},
	} {
		body := ""
		for e := range strings.SplitSeq(strings.ReplaceAll(c.parts, "}{", "}\n{"), "\n") {
			body += `data: {"candidates":[{"content":{"parts":[{"functionCall":` + e + "}]}}]}\n\n"
		}
		body += `data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}` + "\n\n"
		var names, args [8]string
		ended, failed, count := [8]bool{}, false, 0
		ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme"}}
		for ev, err := range new(gemini.Dialect).Events(&dialect.Answer{Endpoint: ep, Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10}, Body: dialect.NewBody(strings.NewReader(body))}) {
			if failed = err != nil; failed {
				break
			}
			for _, call := range ev.ToolCalls {
				names[call.Index] += call.Name
				args[call.Index] += string(call.Arguments)
				ended[call.Index] = ended[call.Index] || call.Last
				count = max(count, call.Index+1)
			}
		}
		got := ""
		for i := range count {
			if got += strconv.Itoa(i) + ":" + names[i] + args[i]; ended[i] {
				got += "."
			}
		}
		if failed {
			got = "fault"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
