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
		Result: task.Result{Verdicts: []task.Verdict{{Flagged: true, Own: []task.Judged{{Name: "pii"}}}}},
	}.Fuzz(f)
}

// Categories that only a model has stand after the others, under their own names.
func TestOwnCategories(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	x := moderations.NewWhole(&out, "modr-1")
	verdict := task.Verdict{Own: []task.Judged{{Name: `a "b"`, Is: true, Score: 0.5, Text: true}}}
	if err := x.Event(&completion.Event{Result: &task.Result{Verdicts: []task.Verdict{verdict}}}); err != nil {
		t.Fatal(err)
	}
	if err := x.End(relay.Receipt{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"violence/graphic":false,"a \"b\"":true}`, `"violence/graphic":0,"a \"b\"":0.5}`, `"violence/graphic":[],"a \"b\"":["text"]}`, `"flagged":false`} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("%s is not in %s", want, out.Bytes())
		}
	}
}
