// Package openai is the dialect of the OpenAI chat wire and of the many servers that are compatible with it. How a server
// deviates is told by catalog.Quirks: there must be no provider's name in this package's decisions but OpenAI's own.
package openai

import (
	"net/http"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/upstream"
)

const path = "/chat/completions"

// Dialect implements upstream.Dialect. It is safe for concurrent use.
type Dialect struct{}

var _ upstream.Dialect = (*Dialect)(nil)

// Header gives the credential as a bearer token and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	h := make(http.Header, len(p.Headers)+2)
	if p.Key != "" {
		h.Set("Authorization", "Bearer "+p.Key)
	}
	for name, value := range p.Headers {
		h.Set(name, value)
	}
	return h
}

// Request encodes req for ep. It fails with fault.WrongEndpoint for a request that is not in the chat style, and with
// fault.Invalid when a reasoning budget does not fit below the cap of the answer.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (upstream.Call, error) {
	if req.Style != completion.Chat {
		f := fault.New(fault.WrongEndpoint, "openai.Request", "This model cannot be called through this route.")
		f.Next = fault.NextEndpoint
		return upstream.Call{}, f
	}
	e := encoder{ep: ep, q: &ep.Provider.Quirks, req: req}
	body, err := e.encode()
	if err != nil {
		return upstream.Call{}, err
	}
	return upstream.Call{Path: path, Body: body}, nil
}
