// Package bedrock is the dialect of Amazon Bedrock's Converse API: requests are JSON, streamed answers are a binary event stream. It must
// not choose endpoints. Fields of one vendor are sent only to that vendor's models.
package bedrock

import (
	"errors"
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
)

// Dialect implements dialect.Dialect and dialect.Authorizer. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Texter     = (*Dialect)(nil)
	_ dialect.Authorizer = (*Dialect)(nil)
)

// Header gives an API key of Bedrock as a bearer token, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Bearer(p)
}

// Authorize signs with a credential ACCESS_KEY_ID:SECRET[:SESSION_TOKEN]. The region comes from a quirk, or else from the address.
func (d *Dialect) Authorize(p *catalog.Provider, deps auth.Deps) (auth.Method, error) {
	if !auth.IsAccessKey(p.Key) {
		return nil, nil
	}
	region := p.Quirks.Region
	if region == "" {
		region = regionOf(p.BaseURL)
	}
	if region == "" {
		return nil, errors.New("bedrock: the address has no region; set the quirk region")
	}
	return auth.NewSignature(p.Key, region, "bedrock", deps.Now)
}

// regionOf finds the region in an address such as https://bedrock-runtime.us-east-1.amazonaws.com.
func regionOf(address string) string {
	_, host, _ := strings.Cut(address, "://")
	host, _, _ = strings.Cut(host, "/")
	labels := strings.Split(host, ".")
	for i, label := range labels[:len(labels)-1] {
		if strings.HasPrefix(label, "bedrock-runtime") {
			return labels[i+1]
		}
	}
	return ""
}

// Request encodes req for ep. It fails with fault.Invalid for a request that this wire cannot express.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (dialect.Call, error) {
	p, err := req.Prompt()
	if err != nil {
		return dialect.Call{}, err
	}
	e := encoder{ep: ep, req: req, p: p, family: familyOf(ep)}
	if err := e.encode(); err != nil {
		return dialect.Call{}, err
	}
	call := dialect.Call{Path: "/model/" + auth.Escaped(ep.UpstreamID) + "/converse"}
	call.Body, call.More = e.Pieces()
	e.sent.Translated(ep, req)
	if call.Notice, err = e.sent.Left(req); err != nil {
		return dialect.Call{}, err
	}
	if req.Stream {
		call.Path += "-stream"
		call.Header = http.Header{"Accept": {"application/vnd.amazon.eventstream"}}
	}
	return call, nil
}

// family is the vendor whose fields a model takes in addition to those of the wire.
type family uint8

const (
	other family = iota
	anthropic
	nova
	openAI
)

// familyOf reads the vendor from the id of a model, or of a profile that is named after it; upstream_model or a quirk declares it for other ids.
func familyOf(ep *catalog.Endpoint) family {
	switch id := ep.MakersID(); {
	case strings.Contains(id, "anthropic."):
		return anthropic
	case strings.Contains(id, "amazon.nova"):
		return nova
	case strings.Contains(id, "openai."):
		return openAI
	}
	switch ep.Provider.Quirks.ReasoningRequest {
	case "thinking", "adaptive":
		return anthropic
	case "effort":
		return openAI
	}
	return other
}

// Failure classifies an answer that is not 2xx.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := readRefusal(body)
	r.Status, r.Header = status, header
	// The header has the exception's name, and an address after a colon.
	if name, _, _ := strings.Cut(header.Get("X-Amzn-Errortype"), ":"); name != "" {
		r.Code = name
	}
	f := settled(r).Fault(ep)
	f.Upstream.RefusedReasoning = status == http.StatusBadRequest && reasoningRefused(r.Message)
	return f
}

// reasoningRefused recognises the errors that refuse thinking which the model did not make, which was altered, or which is in the wrong
// place.
func reasoningRefused(message string) bool {
	return strings.Contains(message, "`signature` in `thinking`") || strings.Contains(message, "`redacted_thinking`") || strings.Contains(message, "thinking.signature")
}

// readRefusal reads {"message":...}, in which some services name the exception as "namespace#Name".
func readRefusal(body []byte) dialect.Refusal {
	r := dialect.ReadRefusal(body)
	r.Code, r.Kind = r.Kind, r.Code
	if _, name, found := strings.Cut(r.Code, "#"); found {
		r.Code = name
	}
	return r
}

// settled corrects statuses with another meaning here: 400 for an exceeded quota of the account, or for a model that this region does not
// have.
func settled(r dialect.Refusal) dialect.Refusal {
	switch {
	case r.Code == "ServiceQuotaExceededException" && r.Status == http.StatusBadRequest:
		r.Status = http.StatusTooManyRequests
	case r.Status == http.StatusBadRequest && (strings.Contains(r.Message, "model identifier is invalid") || strings.Contains(r.Message, "on-demand throughput isn")):
		r.Code = "model_not_found"
	}
	return r
}
