package moderations_test

import (
	"bytes"
	"testing"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/moderations"
)

// Whatever a client sends is either a request that can be answered, in JSON, or an error that it can read.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"input":"x"}`, `{"input":["x",""],"model":"a/b"}`, `{"input":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}`, `{"input":[]}`, `{}`, `[`, `{"model":null,"input":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := moderations.Decode(body, "openai")
		if err != nil {
			if e := fault.From(err); e.Public == "" || e.Kind == fault.Internal {
				t.Fatalf("%v", err)
			}
			return
		}
		for range moderations.PromptText(req) {
		}
		if len(req.Models) != 1 || req.Needs.PromptTokens < 0 || req.Needs.Longest > req.Needs.PromptTokens {
			t.Fatalf("%+v", req.Needs)
		}
		var out bytes.Buffer
		answer(t, req, &out)
		if !rawjson.Valid(out.Bytes()) {
			t.Fatalf("not JSON: %s", out.Bytes())
		}
	})
}

// give writes an answer with one event.
func give(t *testing.T, sink relay.Sink, result *task.Result) {
	t.Helper()
	for _, err := range []error{
		sink.Start(relay.Served{Model: "a/b", Head: completion.Head{Notice: "Something \"else\"."}}),
		sink.Event(&completion.Event{Result: result}),
		sink.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(3), Completion: usage.Of(0)}, Cost: 5 * money.Ruble}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func answer(t *testing.T, _ *completion.Request, out *bytes.Buffer) {
	t.Helper()
	give(t, moderations.NewWhole(out, "modr-1"), &task.Result{Verdicts: []task.Verdict{{Flagged: true}}})
}
