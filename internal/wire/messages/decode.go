// Package messages is the messages style: it decodes POST /v1/messages and encodes answers, whole and streamed. Answers of upstreams with
// this wire are passed on unchanged except for the model's name. It must not check what such an upstream checks itself.
package messages

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

const (
	op          = "messages.Decode"
	maxMessages = 100_000
	maxModels   = 10
	maxUser     = 256

	maxSessionID = 256

	// The estimate of the prompt is for the size of a hold: it should rather be high than low.
	bytesPerToken    = 3
	tokensPerMessage = 8
	tokensPerRequest = 3
	tokensPerMedium  = 4000    // an image or a document given by address
	bytesPerBase64   = 8       // of base64 to a token: a page of a document
	densestBase64    = 2       // of a document of pages with two words each
	mostDocument     = 300_000 // of the largest number of pages that providers read; such pages may have hardly any bytes
	mostImage        = 6500

	ownWire = "anthropic" // dialect of the endpoints that use this wire
)

// Decode reads the body of a messages request, only the fields that the gateway itself needs. The request keeps views into body. It fails
// with fault.Invalid, InvalidPrompt, DuplicateKey or TooDeep; the error's Param is the path of the offending field.
func Decode(body []byte) (*completion.Request, error) {
	d, err := read(body)
	if err != nil {
		return nil, err
	}
	switch {
	case len(d.req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "model is required.")
	case !d.messages:
		d.FailAt(fault.InvalidPrompt, "messages", "messages is required: a list of at least one message.")
	case d.req.MaxTokens == 0:
		d.FailAt(fault.Invalid, "max_tokens", "max_tokens is required: an integer of at least 1.")
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.req, nil
}

// DecodeCount reads the body of a count_tokens request, which has neither max_tokens nor stream.
func DecodeCount(body []byte) (*completion.Request, error) {
	d, err := read(body)
	if err != nil {
		return nil, err
	}
	switch {
	case len(d.req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "model is required.")
	case !d.messages:
		d.FailAt(fault.InvalidPrompt, "messages", "messages is required: a list of at least one message.")
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.req, nil
}

type decoder struct {
	wire.Reader
	req      *completion.Request
	model    string
	models   []string
	messages bool
	effort   string
}

func read(body []byte) (*decoder, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := &decoder{Reader: wire.NewRequest(body, op, ""), req: &completion.Request{Style: completion.Messages, Source: source{}, Body: body, N: 1}}
	if d.Kind() != rawjson.Object {
		d.Fail(fault.Invalid, "The body must be a JSON object.")
		return nil, d.Err()
	}
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		m := completion.Member{Name: string(name), Start: d.NameAt()}
		d.Kind() // moves to the value
		m.Value = d.Pos()
		d.field(m.Name)
		m.End = d.Pos()
		d.req.Members = append(d.req.Members, m)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	d.finish()
	return d, nil
}

// finish sets the fields that are derived from the whole request.
func (d *decoder) finish() {
	req := d.req
	if d.model != "" {
		req.Models = append(req.Models, d.model)
	}
	for _, name := range d.models {
		if slug := Slug(name); !slices.Contains(req.Models, slug) {
			req.Models = append(req.Models, slug)
		}
	}
	if req.Reasoning.Set && req.Reasoning.MaxTokens == 0 && !req.Reasoning.Disabled {
		req.Reasoning.Effort = d.effort
		req.Reasoning.Enabled = d.effort == ""
	}
	// max_tokens is required on this wire: tools write the largest value that they know, whatever the model's limit is. Routing ignores
	// it, so that endpoints with a lower limit are used too.
	req.Needs.N = 1
	req.Needs.Input |= catalog.Text
	req.Needs.Wire, req.Needs.Passed = ownWire, ownWire
	req.Needs.PromptTokens += tokensPerRequest
	req.Needs.Dense = bytesPerToken
	if bytes.Contains(req.Body, []byte(`"cache_control"`)) {
		req.HasRoles |= completion.HasCacheControl
	}
}

// field reads one top-level field. Fields that only the upstream uses are skipped, whatever they contain.
func (d *decoder) field(name string) {
	req := d.req
	switch name {
	case "model":
		if slug, ok := d.Slug(); ok {
			d.model = Slug(slug)
		}
	case "models":
		d.models = d.Slugs(maxModels)
	case "provider":
		req.Preferences = d.Preferences()
	case "session_id":
		req.SessionID, _ = d.Stored(maxSessionID)
	case "plugins":
		d.Plugins(req)
	case "transforms":
		d.Transforms(req)
	case "max_tokens":
		req.MaxTokens, _ = d.Int(1, math.MaxInt64)
		d.needs(catalog.ParamMaxTokens)
	case "stream":
		req.Stream, _ = d.Bool()
	case "messages":
		req.MessagesAt.Start = d.Pos()
		d.readMessages()
		req.MessagesAt.End = d.Pos()
	case "system":
		at := d.Pos() // of the value: the name has already been read
		v := d.Skip()
		d.count(v)
		req.Opening[0] = opened(at, v, true)
	case "tools":
		if v := d.Skip(); rawjson.KindOf(v) == rawjson.Array && len(v) > 2 {
			d.needs(catalog.ParamTools)
			req.Needs.PromptTokens += int64(len(v))/bytesPerToken + 1
			for e := rawjson.ElementsOf(v); e.Next(); {
				wire.OfferTool(&req.Needs, e.Value)
			}
			d.filters(v)
		}
	case "thinking":
		d.thinking(d.Skip())
	case "output_config":
		v := d.Skip()
		d.effort = rawjson.TextAt(v, "effort")
		if !rawjson.IsNull(rawjson.Find(v, "format")) {
			d.needs(catalog.ParamResponseFormat | catalog.ParamStructuredOutputs)
		}
	case "metadata":
		if user := rawjson.TextAt(d.Skip(), "user_id"); len(user) <= 4*maxUser && strings.IndexByte(user, 0) < 0 {
			req.User = user[:min(len(user), maxUser)]
		}
	case "service_tier":
		d.tier(d.Skip())
	case "thread":
		if !rawjson.IsNull(d.Skip()) {
			d.refuseThread()
		}
	case "output_format":
		if !rawjson.IsNull(d.Skip()) {
			d.needs(catalog.ParamResponseFormat | catalog.ParamStructuredOutputs)
		}
	case "betas", "anthropic_beta":
		d.Skip()
		d.Fail(fault.Invalid, "%s is not allowed in the body. Send beta features in the header anthropic-beta.", name)
	default:
		v := d.Skip()
		if !rawjson.IsNull(v) {
			d.needs(params[name])
		}
		wire.PaidMember(&req.Needs, name, v)
	}
}

// refuseThread refuses conversations that the server keeps. A continued one has only its new messages: its length would be unknown, and
// other users of the provider's key could continue it. By these details, clients know to send the whole conversation.
func (d *decoder) refuseThread() {
	d.Fail(fault.Invalid, "thread is not supported: no conversation is kept here. Leave thread out and send the whole conversation in messages.")
	if err := d.Err(); err.Param == "thread" {
		err.Details = map[string]any{"error_code": "thread_unsupported_request", "unsupported": []string{"thread"}}
	}
}

// params are the fields that not all endpoints of other wires support.
var params = map[string]catalog.Params{
	"temperature": catalog.ParamTemperature, "top_p": catalog.ParamTopP, "top_k": catalog.ParamTopK, "stop_sequences": catalog.ParamStop, "tool_choice": catalog.ParamToolChoice,
}

func (d *decoder) needs(p catalog.Params) { d.req.Needs.Params |= p }

// Slug completes a model's name as clients of this style write it: coding tools append the context size, and leave out the vendor.
func Slug(name string) string {
	if at := strings.IndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		name = name[:at]
	}
	if !strings.Contains(name, "/") {
		return "anthropic/" + name
	}
	return name
}

// filters detects searches that run code to filter their results: such code costs nothing in addition.
func (d *decoder) filters(tools []byte) {
	for e := rawjson.ElementsOf(tools); e.Next(); {
		kind := rawjson.TextAt(e.Value, "type")
		for _, prefix := range [...]string{"web_search_", "web_fetch_"} {
			if date, ok := strings.CutPrefix(kind, prefix); ok && len(date) == 8 && date >= "20260209" {
				d.req.Needs.Paid &^= catalog.PaidCodeExecution
			}
		}
	}
}

// tier reads a service tier. No value of this wire costs more; values of the other styles prefer endpoints of a tier, as they do there.
// An unknown value counts as a feature of unknown cost, because a provider might charge for it.
func (d *decoder) tier(v []byte) {
	switch word := rawjson.Text(v); word {
	case "", "auto", "standard_only", "standard", "default", "scale":
	case "priority", "fast":
		d.req.Needs.Tier = "priority"
	case "flex":
		d.req.Needs.Tier = word
	default:
		d.req.Needs.Tier = word
		d.req.Needs.Paid |= catalog.PaidTier
	}
}

func (d *decoder) thinking(v []byte) {
	r := &d.req.Reasoning
	switch rawjson.TextAt(v, "type") {
	case "enabled":
		r.Set = true
		r.MaxTokens, _ = rawjson.Int(rawjson.Find(v, "budget_tokens"))
		r.MaxTokens = max(r.MaxTokens, 0)
		d.needs(catalog.ParamReasoning)
	case "adaptive":
		r.Set = true
		d.needs(catalog.ParamReasoning)
	case "disabled":
		r.Set, r.Disabled = true, true
	}
}

func (d *decoder) readMessages() {
	if d.Kind() != rawjson.Array {
		d.Skip()
		d.Fail(fault.InvalidPrompt, "messages must be an array.")
		return
	}
	d.Array()
	n := 0
	for d.Element() {
		if n++; n > maxMessages {
			d.TooMany(maxMessages)
			return
		}
		if d.Kind() != rawjson.Object {
			d.Fail(fault.InvalidPrompt, "%s must be an object.", d.Path())
			return
		}
		d.Kind() // moves to the value
		at := d.Pos()
		v := d.Skip()
		d.req.Needs.PromptTokens += tokensPerMessage
		from, content := find(v, "content")
		d.count(content)
		if n == 1 {
			d.req.Opening[1] = opened(at+from, content, false)
		}
		d.req.Prefill = rawjson.TextAt(v, "role") == "assistant"
	}
	d.messages = n > 0
}

// opened returns the part of a text or a list of blocks, found at an offset of the body, that is the same in all calls of a conversation:
// one text, without its cache marks, which move. Of instructions it is the last text: coding agents change the first one.
func opened(at int, v []byte, last bool) (span completion.Span) {
	if rawjson.KindOf(v) == rawjson.String {
		return completion.Span{Start: at, End: at + len(v)}
	}
	for e := rawjson.ElementsOf(v); e.Next(); {
		from, text := find(e.Value, "text")
		if text == nil {
			continue
		}
		start := at + e.At + from
		span = completion.Span{Start: start, End: start + len(text)}
		if !last {
			break
		}
	}
	return span
}

// find returns a member of v and the offset of its value in v.
func find(v []byte, name string) (at int, value []byte) {
	for m := rawjson.MembersOf(v); m.Next(); {
		if string(m.Name) == name {
			return m.At, m.Value
		}
	}
	return 0, nil
}

// signatureOf is the signature by which the provider of a thinking block recognizes it.
func signatureOf(block []byte, kind string) string {
	name := "signature"
	if kind == "redacted_thinking" {
		name = "data"
	}
	return wire.Known(rawjson.TextAt(block, name))
}

// count estimates the tokens of content and records its kinds.
func (d *decoder) count(content []byte) {
	n := &d.req.Needs
	if rawjson.KindOf(content) == rawjson.String {
		n.PromptTokens += int64(len(content))/bytesPerToken + 1
		d.refused(blank(content))
		return
	}
	for e := rawjson.ElementsOf(content); e.Next(); {
		switch kind := rawjson.TextAt(e.Value, "type"); kind {
		case "image", "document":
			n.Input |= map[string]catalog.Modality{"image": catalog.Image, "document": catalog.File}[kind]
			tokens, most := int64(tokensPerMedium), int64(mostImage)
			if kind == "document" {
				source := rawjson.Find(e.Value, "source")
				data := rawjson.Find(source, "data")
				if len(data) > tokensPerMedium {
					tokens = int64(len(data)) / bytesPerBase64
				}
				switch rawjson.TextAt(source, "type") {
				case "base64":
					most = max(int64(len(data))/densestBase64, mostDocument)
				case "text", "content":
					most = int64(len(e.Value))
				default:
					n.Open = true
				}
				n.Readable = true
				n.FileTokens += tokens
			}
			n.Medium(tokens, most)
			_, _, other := otherName(e.Value)
			d.refused(other)
		case "tool_result":
			n.PromptTokens += tokensPerMessage
			d.count(rawjson.Find(e.Value, "content"))
		case "thinking", "redacted_thinking":
			n.PromptTokens += int64(len(e.Value))/bytesPerToken + 1
			d.req.HasRoles |= completion.HasReasoning
			if s := signatureOf(e.Value, kind); s != "" {
				d.req.Signature = s
			}
		case "text":
			n.PromptTokens += int64(len(e.Value))/bytesPerToken + 1
			if cites(e.Value) {
				d.req.HasRoles |= completion.HasReasoning
			}
			d.refused(blank(rawjson.Find(e.Value, "text")))
		default:
			n.PromptTokens += int64(len(e.Value))/bytesPerToken + 1
		}
	}
}

func (d *decoder) refused(is bool) {
	if is {
		d.req.HasRoles |= completion.HasRefused
	}
}
