package openai_test

import (
	"bytes"
	"iter"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
)

func decode(ep *catalog.Endpoint, body []byte) iter.Seq2[*completion.Event, error] {
	return new(openai.Dialect).Events(answer(ep, dialect.NewBody(bytes.NewReader(body))))
}

// Whatever a provider sends, the decoder neither panics nor breaks the rules of a sequence: one end, texts in UTF-8,
// indexes of calls without gaps, nothing of a choice after its finish but what the server added.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<think>a</th\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"ink>b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":7,\"id\":\"x\",\"function\":{\"arguments\":{}}}]},\"finish_reason\":\"stop\"}]}\n\n",
		"data: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n",
		`[]`, `{"choices":[{}]}`, `{"choices":[{"delta":[]}]}`, "event: error\ndata: {\"message\":\"x\"}\n\n",
		`{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"text":"t"}]},{"type":"image_url","image_url":{}},{"text":"\ud800"}]}}]}`,
	} {
		f.Add([]byte(s))
	}
	ep := endpoint(f, []byte("think_tags: true\nthought_signature: true\ncost_field: cost.total\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		ended, calls := false, map[int]int{}
		for ev, err := range decode(ep, body) {
			if ended {
				t.Fatal("something came after the end")
			}
			if err != nil {
				ended = true
				continue
			}
			ended = ev.Done
			for _, b := range [][]byte{ev.Text, ev.Reasoning, ev.Refusal} {
				if !utf8.Valid(b) {
					t.Fatalf("%q is not UTF-8", b)
				}
			}
			for _, b := range [][]byte{ev.FrameExtra, ev.ChoiceExtra, ev.DeltaExtra} {
				if len(b) > 0 && !rawjson.Valid([]byte("{"+string(b)+"}")) {
					t.Fatalf("extra members %q are no JSON", b)
				}
			}
			for _, b := range [][]byte{ev.Images, ev.Audio, ev.Annotations, ev.Logprobs, ev.ReasoningDetails} {
				if len(b) > 0 && !rawjson.Valid(b) {
					t.Fatalf("raw value %q is no JSON", b)
				}
			}
			for _, c := range ev.ToolCalls {
				if c.Index > calls[ev.Choice] {
					t.Fatalf("call %d comes before call %d", c.Index, calls[ev.Choice])
				}
				calls[ev.Choice] = max(calls[ev.Choice], c.Index+1)
			}
		}
		if !ended {
			t.Fatal("the sequence did not end")
		}
	})
}

func FuzzFailure(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"context length","code":"x"}}`))
	f.Add(500, []byte(`[{"error":{"message":"m","code":429,"status":"RESOURCE_EXHAUSTED"}}]`))
	f.Add(422, []byte(`{"detail":[{"msg":"m"}]}`))
	ep := endpoint(f, nil)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := new(openai.Dialect).Failure(ep, status, nil, body)
		if e == nil || e.Upstream == nil || e.Public == "" {
			t.Fatalf("%+v", e)
		}
	})
}

// The words of a stream may be cut anywhere between frames: tags of reasoning included.
func TestThinkTagsCutAnywhere(t *testing.T) {
	t.Parallel()
	ep := endpoint(t, []byte("think_tags: true\n"))
	const whole = "\n<think>\nI </thin wonder <think> é</think>\n\nHello <think>no</think> world</thi"
	for size := 1; size <= len(whole); size++ {
		var body strings.Builder
		for rest := whole; rest != ""; {
			n := min(size, len(rest))
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			body.WriteString(`data: {"choices":[{"index":0,"delta":{"content":"` + strings.ReplaceAll(rest[:n], "\n", `\n`) + "\"}}]}\n\n")
			rest = rest[n:]
		}
		body.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		got := upstreamtest.Collect(decode(ep, []byte(body.String())))
		if want := "I </thin wonder <think> é"; strings.TrimLeft(got.Reasoning, "\n") != want {
			t.Errorf("pieces of %d: reasoning %q want %q", size, got.Reasoning, want)
		}
		if want := "Hello <think>no</think> world</thi"; got.Text != want {
			t.Errorf("pieces of %d: text %q want %q", size, got.Text, want)
		}
	}
}

const frame = `data: {"id":"chatcmpl-9lkfj2l3kfjA","object":"chat.completion.chunk","created":1721075651,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_b705f0c291","choices":[{"index":0,"delta":{"content":" hello \"world\""},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"

func BenchmarkFrame(b *testing.B) {
	const frames = 1000
	last := "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	body := []byte(strings.Repeat(frame, frames) + last)
	ep := endpoint(b, nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for n := 0; n < b.N; n += frames {
		for _, err := range decode(ep, body) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkWhole(b *testing.B) {
	body := []byte(`{"id":"chatcmpl-9lkfj2l3kfjA","object":"chat.completion","created":1721075651,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("lorem ipsum ", 80) + `"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0}}}`)
	ep := endpoint(b, nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		for _, err := range decode(ep, body) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	body := []byte(`{"model":"acme/large","messages":[{"role":"system","content":"You are helpful."},{"role":"user","content":"` +
		strings.Repeat("lorem ipsum ", 75) + `"}],"temperature":0.7,"max_tokens":256,"stream":true}`)
	req := request(b, body)
	ep := endpoint(b, nil)
	d := new(openai.Dialect)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := d.Request(ep, req); err != nil {
			b.Fatal(err)
		}
	}
}
