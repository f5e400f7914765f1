// Package voyage is the dialect of Voyage AI's wire: embeddings and rerank. It has no chat. It must not choose endpoints.
package voyage

import (
	"iter"
	"net/http"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// Dialect implements dialect.Dialect and dialect.Performer. It is safe for concurrent use.
type Dialect struct{ forms embed.Forms }

var (
	_ dialect.Dialect   = (*Dialect)(nil)
	_ dialect.Performer = (*Dialect)(nil)
)

// Header gives the credential as a bearer token, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Bearer(p)
}

// foreign are members that only other wires have, beside those that are translated: this one refuses what it does not know.
var foreign = []string{"late_chunking", "max_chunks_per_doc", "max_tokens", "max_tokens_per_doc", "normalized", "priority", "rank_fields", "task", "truncate"}

// Perform serves embeddings and reranking.
func (d *Dialect) Perform(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error] {
	switch t := req.Task.(type) {
	case *task.Embedding:
		return d.embedding(ask, ep, t)
	case *task.Rerank:
		return rank(ask, ep, t)
	}
	return dialect.NotServed(ep)
}

// Failure classifies an answer that is not 2xx: {"detail":"..."}.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if rawjson.Valid(body) {
		r.Message, r.Raw = rawjson.TextAt(body, "detail"), string(body)
	}
	return r.Fault(ep)
}
