package dialect

import (
	"bytes"

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

// OnlyFunctions fails when there is a tool that is no function: a hosted one, or one whose input has a grammar.
func OnlyFunctions(tools []completion.Tool) error {
	for i := range tools {
		if t := &tools[i]; t.Custom || t.Hosted != nil {
			return Cannot("tools", "tools of type "+t.HostedType)
		}
	}
	return nil
}

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
