// Package gemini is the dialect of Google's generateContent wire, of AI Studio and of Vertex: the base URL decides which. A request that came
// by the same wire is sent as it is, without the members that are for the gateway; any other is written from its canonical form. It must not
// choose endpoints. It replaces missing signatures by a placeholder that Google accepts.
package gemini

import (
	"net/http"
	"net/url"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Dialect implements dialect.Dialect. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Texter       = (*Dialect)(nil)
	_ dialect.TokenCounter = (*Dialect)(nil)
)

// Header gives the credential and the provider's own fields, which win. A quirk may name another field than x-goog-api-key for the
// credential.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Credential(p, "X-Goog-Api-Key", "")
}

// Request encodes req for ep. It fails with fault.Invalid for a request that this wire cannot express.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (dialect.Call, error) {
	if native(ep, req) {
		var sent dialect.Sent
		w := dialect.Writer(len(req.Body))
		passed(&w, ep, req, "", fitted(ep, req, &sent))
		call := dialect.Call{Path: textPath(ep, req)}
		call.Body, call.More = w.Pieces()
		var err error
		call.Notice, err = sent.Left(req)
		return call, err
	}
	p, err := req.Prompt()
	if err != nil {
		return dialect.Call{}, err
	}
	p, notice := dialect.Search(ep, req, p)
	e := encoder{ep: ep, req: req, p: p}
	if notice != "" {
		e.sent.Explain(dialect.FieldSearch, "tools", notice)
	}
	if err := e.encode(); err != nil {
		return dialect.Call{}, err
	}
	e.sent.Translated(ep, req)
	if notice, err = e.sent.Left(req); err != nil {
		return dialect.Call{}, err
	}
	call := dialect.Call{Path: textPath(ep, req), Notice: notice}
	call.Body, call.More = e.Pieces()
	return call, nil
}

func textPath(ep *catalog.Endpoint, req *completion.Request) string {
	path := "/models/" + url.PathEscape(ep.UpstreamID)
	if req.Stream {
		return path + ":streamGenerateContent?alt=sse"
	}
	return path + ":generateContent"
}

// Failure classifies an answer that is not 2xx.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := readRefusal(body)
	r.Status, r.Header = status, header
	if status == http.StatusBadRequest && blocked(r.Message) {
		r.Code = "content_policy_violation"
	}
	if status == http.StatusBadRequest && badKey(body) {
		r.Status = http.StatusUnauthorized
	}
	if wait := retryDelay(body); wait != "" && header.Get("Retry-After") == "" {
		r.Header = header.Clone()
		r.Header.Set("Retry-After", wait)
	}
	f := r.Fault(ep)
	f.Upstream.RefusedReasoning = status == http.StatusBadRequest && (strings.Contains(r.Message, "thought signature") || strings.Contains(r.Message, "thought_signature"))
	return f
}

// readRefusal reads {"error":{"code":429,"message":...,"status":"RESOURCE_EXHAUSTED"}}, or a list with one of these.
func readRefusal(body []byte) dialect.Refusal {
	r := dialect.ReadRefusal(body)
	if r.Kind != "" {
		r.Code, r.Kind = r.Kind, r.Code
	}
	return r
}

// badKey reports whether an error is about an invalid key: this wire reports that as an invalid argument, which would otherwise be the
// client's mistake.
func badKey(body []byte) bool {
	for e := details(body); e.Next(); {
		switch rawjson.TextAt(e.Value, "reason") {
		case "API_KEY_INVALID", "API_KEY_EXPIRED":
			return true
		}
	}
	return false
}

// details yields the entries of an error's list of details.
func details(body []byte) *rawjson.Elements {
	if !rawjson.Valid(body) {
		body = nil
	}
	if el := rawjson.ElementsOf(body); el.Next() {
		body = el.Value
	}
	list := rawjson.ElementsOf(rawjson.FindPath(body, "error", "details"))
	return &list
}

// retryDelay is how many seconds an error asks to wait, "" when it does not ask.
func retryDelay(body []byte) string {
	for e := details(body); e.Next(); {
		if delay := rawjson.TextAt(e.Value, "retryDelay"); strings.HasSuffix(delay, "s") {
			return strings.TrimSuffix(delay, "s")
		}
	}
	return ""
}
