// Package plugin changes requests and answers where a request asks the gateway for it or an endpoint lacks a feature: it shortens
// prompts, reads files, replaces schemas, repairs and checks JSON. It knows no wire and makes no calls: it works only on canonical
// prompts and events.
package plugin

import (
	"context"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/rawjson"
	"weir/internal/relay"
)

// Shaper implements relay.Shaper. It is safe for concurrent use.
type Shaper struct {
	tokens relay.Tokens
	read   Read
	cfg    Config
	slots  *limit.Slots
}

var _ relay.Shaper = (*Shaper)(nil)

// New makes a Shaper that measures prompts with tokens and reads files with read.
func New(tokens relay.Tokens, read Read, cfg Config) *Shaper {
	cfg.ConcurrentPerUser = min(cfg.ConcurrentPerUser, cfg.Concurrent-1)
	return &Shaper{tokens: tokens, read: read, cfg: cfg, slots: limit.NewSlots(cfg.Concurrent, cfg.ConcurrentPerUser)}
}

// Shape makes req fit ep; see relay.Shaping. It fails with fault.InvalidPrompt for files that cannot be read, with fault.ContextLength for
// prompts that stay too long, and with fault.Overloaded or fault.RateLimited where too much is shaped already.
func (s *shaping) Shape(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
	leave, err := s.enter(ctx, ep, req)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	whole := ctx // the answer is checked when the shaping is over
	ctx, done := context.WithTimeoutCause(ctx, s.cfg.Time, errTime)
	defer done()
	a := &answer{}
	out := req
	if f := req.Format; f != nil {
		out = emulate(ep, out, a)
		a.mend = req.Heal && !req.Stream
		if f.Kind == completion.FormatSchema && f.Strict != nil && *f.Strict && f.Schema != nil && !req.Stream {
			a.against(whole, f.Schema)
		}
	}
	if req.Needs.Unread(ep) {
		if out, err = s.readFiles(ctx, out, a); err != nil {
			return nil, nil, err
		}
	}
	if out.Needs.TooLong(ep) {
		if out, err = s.shorten(ctx, ep, out, a); err != nil {
			return nil, nil, err
		}
	}
	if a.idle() {
		return out, nil, nil
	}
	return out, a.reshape, nil
}

const (
	tokensPerTurn  = 8
	tokensPerMedia = 1500 // an image at full detail
	bytesPerToken  = 8    // base64 of a document
)

// size is how many tokens a prompt has.
func (s *shaping) size(ctx context.Context, p *completion.Prompt) int64 {
	n := s.count(ctx, p.Text()) + media(p.System)
	for i := range p.Turns {
		n += tokensPerTurn + media(p.Turns[i].Parts)
	}
	return n
}

// media is how many tokens the parts have that are no text.
func media(parts []completion.Part) (n int64) {
	for i := range parts {
		if m := parts[i].Media; m != nil {
			n += tokensPerMedia
			if parts[i].Kind != completion.ImagePart {
				n += int64(m.Base64.Len()) / bytesPerToken
			}
		}
		if r := parts[i].Result; r != nil {
			n += media(r.Parts)
		}
	}
	return n
}

// emulate replaces a schema that ep does not support: it declares a tool whose arguments the schema describes, which the model must call,
// and the arguments are the answer. Where that is impossible, and the answer will be repaired, an instruction asks for the format; else
// the format is left in the request to be dropped.
func emulate(ep *catalog.Endpoint, req *completion.Request, a *answer) *completion.Request {
	if ep.Params&(catalog.ParamResponseFormat|catalog.ParamStructuredOutputs) != 0 {
		return req
	}
	f := req.Format
	const tools = catalog.ParamTools | catalog.ParamToolChoice
	if f.Kind == completion.FormatSchema && ep.Params&tools == tools && req.Needs.Params&catalog.ParamTools == 0 && describesObject(f.Schema) {
		a.tool = true
		return req.Revise(completion.RevisedTools|completion.RevisedFormat, func(p *completion.Prompt) {
			tool := completion.Tool{Name: f.Name, Description: f.Description, Parameters: f.Schema}
			if tool.Description == "" {
				tool.Description = "Gives the answer."
			}
			p.Tools = []completion.Tool{tool}
			p.Choice = completion.Choice{Mode: completion.ChoiceTool, Name: f.Name}
			p.Serial, p.Format = true, completion.Format{}
		})
	}
	if !req.Heal {
		return req
	}
	instruction := "Answer with one JSON object and nothing else: no prose, no code fence."
	if f.Schema != nil {
		instruction += " It must conform to this JSON schema: " + string(f.Schema)
	}
	return req.Revise(completion.RevisedTurns|completion.RevisedFormat, func(p *completion.Prompt) {
		p.Turns = append([]completion.Turn{{Role: completion.System, Parts: []completion.Part{{Text: instruction}}}}, p.Turns...)
		p.Format = completion.Format{}
	})
}

// describesObject reports whether a schema is one that the parameters of a tool may have.
func describesObject(s []byte) bool {
	kind := rawjson.Find(s, "type")
	return kind == nil && rawjson.Find(s, "properties") != nil || rawjson.Text(kind) == "object"
}

func refused(kind fault.Kind, format string, args ...any) *fault.Error {
	f := fault.Newf(kind, "plugin.Shape", format, args...)
	f.Param, f.Next = "messages", fault.NextModel
	return f
}
