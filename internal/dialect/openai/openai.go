// Package openai is the dialect of the OpenAI chat wire and of the many servers that are compatible with it. catalog.Quirks describes how
// a server deviates: no decision in this package may depend on a provider's name other than OpenAI's own.
package openai

import (
	"net/http"
	"slices"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
)

const path = "/chat/completions"

// Dialect implements dialect.Dialect. It is safe for concurrent use.
type Dialect struct{ forms embed.Forms }

var _ dialect.Texter = (*Dialect)(nil)

// Header gives the credential, as a bearer token unless a quirk says otherwise, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Bearer(p)
}

// Request encodes req for ep; a request that came by another wire is first written as a chat request. It fails with fault.Invalid for a
// request that this wire cannot express, and when a reasoning budget does not fit below the cap of the answer.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (dialect.Call, error) {
	e := encoder{ep: ep, q: &ep.Provider.Quirks, req: req}
	if req.Signature != "" && !keeps(e.q) {
		e.sent.Note(completion.NoticeReasoning)
	}
	var err error
	switch {
	case req.Style != completion.Chat:
		e.translated = true
		e.req, err = asChat(ep, req, &e.sent)
	case req.Revised != 0:
		e.req, err = revise(req)
	}
	if err != nil {
		return dialect.Call{}, err
	}
	call := dialect.Call{Path: path}
	if err = e.encode(); err != nil {
		return dialect.Call{}, err
	}
	call.Body, call.More = e.Pieces()
	if e.translated {
		e.sent.Translated(ep, req)
	}
	call.Notice, err = e.sent.Left(req)
	return call, err
}

// keeps reports whether a server accepts signed reasoning from earlier turns: this wire has no field for it, only some servers'
// extensions do.
func keeps(q *catalog.Quirks) bool {
	return q.ThoughtSignature || slices.Contains(q.ForwardExtra, "reasoning_details")
}
