package dialect_test

import (
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
)

// A tool that takes free text becomes a function with one text, with its grammar in the description, and so do the calls of earlier turns.
func TestFreeTextAsFunctions(t *testing.T) {
	t.Parallel()
	call := &completion.Call{ID: "c", Name: "patch", Arguments: []byte("a \"b\"\n"), Custom: true}
	p := &completion.Prompt{
		Tools:  []completion.Tool{{Name: "patch", Description: "edits", Custom: true, Grammar: &completion.Grammar{Syntax: "lark", Definition: "start: A"}}, {Name: "f"}},
		Choice: completion.Choice{Mode: completion.ChoiceTool, Name: "patch", Custom: true},
		Turns:  []completion.Turn{{Role: completion.Assistant, Parts: []completion.Part{{Kind: completion.CallPart, Call: call}}}},
	}
	var sent dialect.Sent
	if err := sent.OnlyFunctions(p); err != nil {
		t.Fatal(err)
	}
	tool := p.Tools[0]
	if tool.Custom || tool.Grammar != nil || string(tool.Parameters) != `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}` ||
		tool.Description != "edits\n\nThe text in input must match this grammar (lark):\nstart: A" || p.Choice.Custom || p.Tools[1].Parameters != nil {
		t.Errorf("%+v", p)
	}
	if call.Custom || string(call.Arguments) != `{"input":"a \"b\"\n"}` {
		t.Errorf("%+v %s", call, call.Arguments)
	}
	if notice, err := sent.Left(&completion.Request{}); err != nil || notice != completion.NoticeGrammar {
		t.Errorf("%q, %v", notice, err)
	}
}
