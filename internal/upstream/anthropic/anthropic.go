// Package anthropic is the dialect of the messages wire. A request that came by the same wire goes out byte for byte, but for the
// value of model; any other is written from its canonical form. It must not choose endpoints, and it edits nothing that it passes on.
package anthropic

import (
	"net/http"
	"slices"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/upstream"
)

const (
	path = "/v1/messages"

	// version is the one that still takes sampling parameters. Requests that came by this wire bring their own.
	version = "2023-06-01"
)

// Dialect implements upstream.Dialect. It is safe for concurrent use.
type Dialect struct{}

var _ upstream.Dialect = (*Dialect)(nil)

// Header gives the credential and the wire's version, and the provider's own fields, which win. A quirk says where the
// credential goes when not into x-api-key.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	h := make(http.Header, len(p.Headers)+2)
	h.Set("Anthropic-Version", version)
	if p.Key != "" {
		name, value := p.Quirks.AuthHeader, p.Key
		if name == "" {
			name = "X-Api-Key"
		}
		if scheme := p.Quirks.AuthScheme; scheme != "" {
			value = scheme + " " + value
		}
		h.Set(name, value)
	}
	for name, value := range p.Headers {
		h.Set(name, value)
	}
	return h
}

// Request encodes req for ep. It fails with fault.Invalid for what this wire cannot say.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (upstream.Call, error) {
	if req.Style == completion.Messages {
		return upstream.Call{Path: path + req.Query, Body: withModel(ep, req), Header: forwarded(req)}, nil
	}
	p, err := req.Prompt()
	if err != nil {
		return upstream.Call{}, err
	}
	e := encoder{ep: ep, req: req, p: p}
	body, err := e.encode()
	if err != nil {
		return upstream.Call{}, err
	}
	return upstream.Call{Path: path, Body: body}, nil
}

// withModel is the client's body with the value of model replaced: nothing else moves, because signatures and cached prefixes
// depend on the bytes.
func withModel(ep *catalog.Endpoint, req *completion.Request) []byte {
	for i := range req.Members {
		if m := &req.Members[i]; m.Name == "model" {
			out := make([]byte, 0, len(req.Body)+len(ep.UpstreamID))
			out = append(out, req.Body[:m.Value]...)
			out = rawjson.AppendText(out, ep.UpstreamID)
			return append(out, req.Body[m.End:]...)
		}
	}
	return slices.Clone(req.Body)
}

// forwarded are the header fields of the client that belong to the wire.
func forwarded(req *completion.Request) http.Header {
	if req.Version == "" && len(req.Betas) == 0 {
		return nil
	}
	h := http.Header{}
	if req.Version != "" {
		h["Anthropic-Version"] = []string{req.Version}
	}
	if len(req.Betas) > 0 {
		h["Anthropic-Beta"] = req.Betas
	}
	return h
}

// Failure classifies an answer that is not 2xx.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := upstream.Refusal{}
	if rawjson.Valid(body) {
		r = readRefusal(body)
	}
	r.Status, r.Header = status, header
	return r.Fault(ep)
}

// readRefusal reads {"type":"error","error":{"type":...,"message":...}}.
func readRefusal(body []byte) upstream.Refusal {
	inner := rawjson.Find(body, "error")
	return upstream.Refusal{Code: rawjson.Text(rawjson.Find(inner, "type")), Message: rawjson.Text(rawjson.Find(inner, "message")), Raw: string(body)}
}
