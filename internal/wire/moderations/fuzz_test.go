package moderations_test

import (
	"bytes"
	"testing"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire/moderations"
	"weir/internal/wire/wiretest"
)

func FuzzDecode(f *testing.F) {
	wiretest.Style{
		Seeds: []string{
			`{"input":"x"}`, `{"input":["x",""],"model":"a/b"}`,
			`{"input":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}`, `{"input":[]}`,
		},
		Decode: func(body []byte) (*completion.Request, error) { return moderations.Decode(body, "openai") },
		Texts:  moderations.PromptText,
		Whole:  func(out *bytes.Buffer, _ *completion.Request) relay.Sink { return moderations.NewWhole(out, "modr-1") },
		Result: task.Result{Verdicts: []task.Verdict{{Flagged: true}}},
	}.Fuzz(f)
}
