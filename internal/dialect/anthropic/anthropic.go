// Package anthropic is the dialect of the messages wire. A request that came by the same wire is sent byte for byte, except for the value
// of model; any other is written from its canonical form. It must not choose endpoints, and it does not edit what it passes on.
package anthropic

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

const (
	path = "/v1/messages"

	// version is the one that still takes sampling parameters. Requests that came by this wire have their own.
	version = "2023-06-01"
)

// Dialect implements dialect.Dialect. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Texter       = (*Dialect)(nil)
	_ dialect.TokenCounter = (*Dialect)(nil)
)

// Header gives the credential and the wire's version, and the provider's own fields, which win. A quirk may name another field than
// x-api-key for the credential.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	h := dialect.Credential(p, "X-Api-Key", "")
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", version)
	}
	return h
}

// Request encodes req for ep. It fails with fault.Invalid for a request that this wire cannot express.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (dialect.Call, error) {
	if req.Style == completion.Messages && req.Revised == 0 && req.Search == nil {
		edits, lost := req.Edits()
		f := fitted(ep, req, edits)
		if lost {
			f.sent.Note(completion.NoticeReasoning)
		}
		call := dialect.Call{Path: path + req.Query, Header: forwarded(req)}
		call.Body, call.More = spliced(ep, req, &f)
		var err error
		call.Notice, err = f.sent.Left(req)
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
	call := dialect.Call{Path: path}
	call.Body, call.More = e.Pieces()
	call.Notice, err = e.sent.Left(req)
	return call, err
}

// CountRequest encodes a request that counts the tokens of a prompt, which only clients of this wire send.
func (d *Dialect) CountRequest(ep *catalog.Endpoint, req *completion.Request) (call dialect.Call, ok bool) {
	if req.Style != completion.Messages || req.Revised != 0 {
		return call, false
	}
	edits, _ := req.Edits()
	f := fitted(ep, req, edits)
	call = dialect.Call{Path: path + "/count_tokens" + req.Query, Header: forwarded(req)}
	call.Body, call.More = spliced(ep, req, &f)
	return call, true
}

// spliced is the client's body with the value of model replaced, the gateway's own members removed, and the edits of the client's style
// and of the model's facts made. All other bytes stay the same, because signatures and cached prefixes depend on them.
func spliced(ep *catalog.Endpoint, req *completion.Request, f *fit) (first []byte, more [][]byte) {
	edits := f.edits
	for i := 0; i < len(req.Members); i++ {
		m := &req.Members[i]
		if m.Name == "model" {
			edits = append(edits, completion.Edit{Span: completion.Span{Start: m.Value, End: m.End}, With: string(rawjson.AppendText(nil, ep.UpstreamID))})
		}
		if value := req.Body[m.Value:m.End]; m.Name == "service_tier" && foreignTier(value) {
			edits = append(edits, completion.Edit{Span: completion.Span{Start: m.Value, End: m.End}, With: tierOfEndpoint(ep)})
		}
		if !f.leaves(m.Name) {
			continue
		}
		first := i
		for i+1 < len(req.Members) && f.leaves(req.Members[i+1].Name) {
			i++
		}
		out := completion.Edit{Span: completion.Span{Start: m.Start, End: req.Members[i].End}}
		switch { // with the comma that separated them from a member that stays
		case i+1 < len(req.Members):
			out.End = req.Members[i+1].Start
		case first > 0:
			out.Start = req.Members[first-1].End
		}
		edits = append(edits, out)
	}
	slices.SortStableFunc(edits, func(a, b completion.Edit) int { return cmp.Compare(a.Start, b.Start) })
	out, from := dialect.Writer(len(req.Body)), 0
	for i := range edits {
		out.Verbatim(req.Body[from:edits[i].Start])
		out.B = append(out.B, edits[i].With...)
		from = edits[i].End
	}
	out.Verbatim(req.Body[from:])
	return out.Pieces()
}

// foreignTier reports a service tier that routing has read and that is not a value of this wire.
func foreignTier(value []byte) bool {
	switch rawjson.Text(value) {
	case "priority", "fast", "flex", "scale":
		return true
	}
	return false
}

// tierOfEndpoint is the service tier to request of an endpoint: its own. An endpoint without one serves at its usual price, and must not
// be asked for a dearer tier.
func tierOfEndpoint(ep *catalog.Endpoint) string {
	if ep.Tier == "" || ep.Tier == "default" || ep.Tier == catalog.BatchTier {
		return `"standard_only"`
	}
	return string(rawjson.AppendText(nil, ep.Tier))
}

// forwarded returns the client's header fields that belong to the wire.
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
	r := readRefusal(body)
	r.Status, r.Header = status, header
	f := r.Fault(ep)
	f.Upstream.RefusedReasoning = status == http.StatusBadRequest && reasoningRefused(r.Message)
	return f
}

// reasoningRefused recognises the errors with which servers of this wire refuse thinking blocks that they did not make, that were
// altered, or that are in the wrong place.
func reasoningRefused(message string) bool {
	return strings.Contains(message, "`signature` in `thinking`") || strings.Contains(message, "`redacted_thinking`")
}

// readRefusal reads {"type":"error","error":{"type":...,"message":...}}, or what compatible servers send instead. Where there is a code beside
// the type, the type is the better word.
func readRefusal(body []byte) dialect.Refusal {
	r := dialect.ReadRefusal(body)
	if r.Kind != "" && r.Kind != "error" {
		r.Code, r.Kind = r.Kind, r.Code
	}
	return r
}
