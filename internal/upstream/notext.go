package upstream

import (
	"iter"
	"net/http"

	"weir/internal/catalog"
	"weir/internal/completion"
)

// NoText is the half of a Dialect that a wire without conversations has. It is embedded.
type NoText struct{}

const (
	noText    = "The provider of this model does not serve requests for text."
	notServed = "The provider of this model does not serve requests of this kind."
)

// Request fails.
func (NoText) Request(ep *catalog.Endpoint, _ *completion.Request) (Call, error) {
	return Call{}, Unsupported(ep, noText)
}

// Events fails like Request.
func (NoText) Events(a *Answer) iter.Seq2[*completion.Event, error] {
	return Fails(Unsupported(a.Endpoint, noText))
}

// NotServed is what a Performer gives for a task that its wire has nothing for.
func NotServed(ep *catalog.Endpoint) iter.Seq2[*completion.Event, error] {
	return Fails(Unsupported(ep, notServed))
}

// Fails is the sequence of an attempt that comes to nothing but err.
func Fails(err error) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) { yield(nil, err) }
}

// Credential are the header fields of a provider whose credential stands in a field of that name, behind before, and the provider's own fields,
// which win.
func Credential(p *catalog.Provider, name, before string) http.Header {
	h := make(http.Header, len(p.Headers)+1)
	if p.Key != "" {
		h.Set(name, before+p.Key)
	}
	for name, value := range p.Headers {
		h.Set(name, value)
	}
	return h
}

// Bearer is Credential of a bearer token.
func Bearer(p *catalog.Provider) http.Header { return Credential(p, "Authorization", "Bearer ") }
