// Package responses is the dialect of the OpenAI responses wire. A request that came by the same wire is sent with its own body, except
// for the gateway's members; any other is written from its canonical form. The provider must store nothing: each request contains the
// whole conversation.
package responses

import (
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
)

const path = "/responses"

// Dialect implements dialect.Dialect. It is safe for concurrent use.
type Dialect struct{}

var _ dialect.Texter = (*Dialect)(nil)

// Header gives the credential, as a bearer token unless a quirk says otherwise, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Bearer(p)
}

// Request encodes req for ep. It fails with fault.Invalid for a request that this wire cannot express.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (dialect.Call, error) {
	e := encoder{ep: ep, req: req, format: formatOf(ep.Provider)}
	var err error
	if req.Style == completion.Responses && req.Revised == 0 && req.Search == nil && passes(ep, req) {
		e.splice()
	} else {
		err = e.write()
	}
	if err != nil {
		return dialect.Call{}, err
	}
	call := dialect.Call{Path: path}
	call.Body, call.More = e.Pieces()
	call.Notice, err = e.sent.Left(req)
	return call, err
}

// passes reports whether an endpoint can answer a request of this wire as its client wrote it. Only OpenAI's own API compacts conversations; others
// are asked for a summary, which the canonical form does.
func passes(ep *catalog.Endpoint, req *completion.Request) bool {
	return !req.Compact || formatOf(ep.Provider) == completion.FormatOpenAI
}

// formatOf names the vendor that encrypts a provider's reasoning: no other vendor can read it.
func formatOf(p *catalog.Provider) string {
	switch {
	case p.ID == "openai":
		return completion.FormatOpenAI
	case strings.HasPrefix(p.ID, "azure"):
		return completion.FormatAzure
	}
	return p.ID + "-responses-v1"
}

// originOf names the model of a provider: another model may not be able to read its encrypted reasoning.
func originOf(ep *catalog.Endpoint) string { return ep.Provider.ID + "/" + ep.UpstreamID }

// Failure classifies an answer that is not 2xx.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.ReadRefusal(body)
	r.Status, r.Header = status, header
	return r.Fault(ep)
}
