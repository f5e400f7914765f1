package gemini_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/vector"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/gemini"
	"weir/internal/wire/wiretest"
)

var seeds = []string{
	`{` + asked + `}`,
	`{"system_instruction":{"parts":{"text":"s"}},"contents":{"parts":[{"text":"a","thought":true,"thoughtSignature":"d2Vpci4xLg=="},{"functionCall":{"name":"f","args":{}}},{"functionResponse":{"name":"f","response":{"error":"x"},"parts":[{"inlineData":{"mimeType":"image/png","data":"QQ"}}]}}]}}`,
	`{` + asked + `,"tools":[{"function_declarations":[{"name":"f","parameters":{"type":"OBJECT","nullable":true,"properties":{"a":{"anyOf":[{"type":"STRING"}],"min_items":"1"}}}}]},{"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED","allowedFunctionNames":["f"]}}}`,
	`{` + asked + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":-1},"responseModalities":["TEXT","AUDIO"],"responseMimeType":"application/json","responseSchema":{"type":"ARRAY","items":{}},"candidateCount":2,"stopSequences":["a"]}}`,
	`{"generateContentRequest":{` + asked + `}}`, `{`, `[]`, `null`,
}

// FuzzDecode looks for a body that is neither decoded into a valid request nor refused with an error that its client can read.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = gemini.DecodeCount(body, "x/y")
		req, err := gemini.Decode(body, "x/y", true)
		if err != nil {
			if e := fault.From(err); e.Public == "" || e.Kind == fault.Internal {
				t.Fatal(err)
			}
			return
		}
		if rawjson.Check(req.Body, rawjson.Defaults) != nil || req.Needs.PromptTokens <= 0 || req.N < 1 || len(req.Models) == 0 {
			t.Fatalf("%+v of %s", req, req.Body)
		}
		for range gemini.PromptText(req) {
		}
		again, err := gemini.Decode(req.Body, "x/y", true)
		if err != nil || !bytes.Equal(again.Body, req.Body) {
			t.Fatalf("%s is decoded again as %v, %v", req.Body, again, err)
		}
		p, err := req.Prompt()
		if err != nil {
			if e := fault.From(err); e.Public == "" || e.Param == "" {
				t.Fatal(err)
			}
			return
		}
		for i := range p.Tools {
			if v := p.Tools[i].Parameters; v != nil && !rawjson.Valid(v) {
				t.Fatalf("parameters %s", v)
			}
		}
		if v := p.Format.Schema; v != nil && !rawjson.Valid(v) {
			t.Fatalf("schema %s", v)
		}
	})
}

// FuzzPassed looks for an upstream's answer that is passed on as something that is not JSON, or with its own name of the model.
func FuzzPassed(f *testing.F) {
	f.Add([]byte(`{"candidates":[{"index":3,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1},"modelVersion":"secret"}`))
	f.Add([]byte("{\n\"usageMetadata\" : { } }"))
	f.Add([]byte(`{"usageMetadata":null}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if rawjson.Check(data, rawjson.Defaults) != nil || rawjson.KindOf(data) != rawjson.Object {
			return
		}
		ev := completion.Event{Text: []byte("x"), Frames: []completion.Frame{{Data: data}}}
		var whole, stream bytes.Buffer
		send(t, gemini.NewWhole(&whole, gemini.Options{N: 1}), []completion.Event{ev})
		send(t, gemini.NewStream(&stream, gemini.Options{N: 1}, false), []completion.Event{ev})
		if !rawjson.Valid(whole.Bytes()) {
			t.Fatalf("%s becomes %s", data, whole.Bytes())
		}
		if m := rawjson.Find(whole.Bytes(), "modelVersion"); m != nil && string(m) != `"x/y"` {
			t.Fatalf("the model is %s", m)
		}
		for frame := range strings.SplitSeq(strings.Trim(stream.String(), "\n"), "\n\n") {
			if text, ok := strings.CutPrefix(frame, "data: "); !ok || !rawjson.Valid([]byte(text)) {
				t.Fatalf("%s becomes %q", data, frame)
			}
		}
	})
}

var embedding = wiretest.Style{
	Seeds:  []string{`{"content":{"parts":[{"text":"x"}]}}`, `{"content":{"parts":{"inlineData":{"mimeType":"image/png","data":"QQ=="}}},"taskType":"CLUSTERING","outputDimensionality":3,"odd":1}`},
	Decode: func(body []byte) (*completion.Request, error) { return gemini.DecodeEmbed(body, "x/y", false) },
	Texts:  embeddings.PromptText,
	Whole: func(out *bytes.Buffer, req *completion.Request) relay.Sink {
		return gemini.NewEmbedWhole(out, req, false)
	},
	Result: task.Result{Vectors: []task.Vector{{Numbers: vector.Of([]float32{0.25, -1e-9})}}},
}

func FuzzEmbed(f *testing.F) { embedding.Fuzz(f) }

func TestEmbedWhole(t *testing.T) {
	t.Parallel()
	got := embedding.Answer(t, embedding.Seeds[0])
	if !bytes.HasPrefix(got, []byte(`{"embedding":{"values":[0.25,-1e-09]},"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3,"cost":5,`)) || !bytes.HasSuffix(got, []byte(`"metadata":{"notice":"Something \"else\"."}}`)) {
		t.Errorf("%s", got)
	}
}

// BenchmarkDecode reads a request as coding agents send it: long texts with underscores, tools, results.
func BenchmarkDecode(b *testing.B) {
	text := strings.Repeat("a_line of_source\\n", 2000)
	body := []byte(`{"systemInstruction":{"parts":[{"text":"` + text + `"}]},"contents":[` + strings.Repeat(`{"role":"user","parts":[{"text":"`+text+`"}]},{"role":"model","parts":[{"functionCall":{"name":"read_file","args":{"a_b":1}},"thoughtSignature":"c2lnbg=="}]},{"role":"user","parts":[{"functionResponse":{"name":"read_file","response":{"output":"`+text+`"}}}]},`, 5) + `{"role":"user","parts":[{"text":"q"}]}]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gemini.Decode(body, "x/y", true); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDeep reads bodies that are as deep as allowed: the time grows with the length alone.
func BenchmarkDeep(b *testing.B) {
	deep := strings.Repeat(`{"a_b":`, 100) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", 100)
	body := []byte(`{` + asked + `,"generationConfig":{"responseSchema":` + strings.Repeat(`{"items":`, 100) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", 100) + `},"odd":` + deep + `}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		req, err := gemini.Decode(body, "x/y", true)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := req.Prompt(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManyCalls reads a conversation of calls whose results come in the opposite order: the time grows with the length alone.
func BenchmarkManyCalls(b *testing.B) {
	const n = 50_000
	var calls, results []string
	for i := range n {
		calls = append(calls, fmt.Sprintf(`{"functionCall":{"id":"%d","name":"f%d"}}`, i, i))
		results = append(results, fmt.Sprintf(`{"functionResponse":{"id":"%d","name":"f%d","response":{}}}`, n-1-i, n-1-i))
	}
	body := []byte(`{"contents":[{"role":"model","parts":[` + strings.Join(calls, ",") + `]},{"parts":[` + strings.Join(results, ",") + `]}]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		req, err := gemini.Decode(body, "x/y", false)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := req.Prompt(); err != nil {
			b.Fatal(err)
		}
	}
}
