package dialect

import (
	"bytes"
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Cannot is the fault of a request that a wire cannot express; another endpoint may be tried. param is the field of the request, and what
// completes the sentence "The provider of this model does not take ...".
func Cannot(param, what string) error {
	f := fault.Field("upstream.Request", param, "The provider of this model does not support %s.", what)
	f.Next = fault.NextEndpoint
	return f
}

// OneAnswer fails when a request asks for more than one answer.
func OneAnswer(req *completion.Request) error {
	if req.N > 1 {
		return Cannot("n", "more than one answer to a request")
	}
	return nil
}

// OnlyFunctions turns tools that take free text into functions, and notes a grammar that is not enforced. It fails when there is a hosted tool.
func (s *Sent) OnlyFunctions(p *completion.Prompt) error {
	for i := range p.Tools {
		if t := &p.Tools[i]; t.Hosted != nil {
			return Cannot("tools", "tools of type "+t.HostedType)
		}
	}
	s.AsFunctions(p)
	return nil
}

// AsFunctions turns tools that take free text into functions with one text, for wires and models that have functions only, and the calls of
// earlier turns with them. The grammar of such a text becomes a part of the description, with a notice: no provider enforces it then.
func (s *Sent) AsFunctions(p *completion.Prompt) {
	lost := false
	for i := range p.Tools {
		t := &p.Tools[i]
		if !t.Custom {
			continue
		}
		t.Custom, t.Parameters = false, []byte(freeText)
		if g := t.Grammar; g != nil {
			lost, t.Grammar = true, nil
			t.Description = strings.TrimSpace(t.Description + "\n\nThe text in " + completion.FreeText + " must match this grammar (" + g.Syntax + "):\n" + g.Definition)
		}
	}
	for i := range p.Turns {
		for j := range p.Turns[i].Parts {
			if c := p.Turns[i].Parts[j].Call; c != nil && c.Custom {
				c.Custom, c.Arguments = false, append(rawjson.AppendText([]byte(`{"`+completion.FreeText+`":`), string(c.Arguments)), '}')
			}
		}
	}
	p.Choice.Custom = false
	if lost {
		s.Note(completion.NoticeGrammar)
	}
}

// freeText is the schema of a function that stands for a tool that takes free text.
const freeText = `{"type":"object","properties":{"` + completion.FreeText + `":{"type":"string"}},"required":["` + completion.FreeText + `"],"additionalProperties":false}`

// maxShownID is how much of a call's id an error shows, in bytes.
const maxShownID = 64

// ObjectArguments returns the arguments of a function call, which most wires take as an object and not as text. It fails when they are no
// object.
func ObjectArguments(c *completion.Call) ([]byte, error) {
	if c.Custom || !rawjson.Valid(c.Arguments) || rawjson.KindOf(c.Arguments) != rawjson.Object {
		return nil, fault.Field("upstream.Request", "messages",
			"The arguments of the tool call %q must be a JSON object for the provider of this model.", c.ID[:min(len(c.ID), maxShownID)])
	}
	return rawjson.Mended(bytes.TrimSpace(c.Arguments)), nil
}
