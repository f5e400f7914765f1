// Package plugin does what requests ask of the gateway itself and what endpoints lack: it shortens prompts, reads files, stands in for
// schemas, mends and checks JSON. It speaks no wire and calls nobody: it works on canonical prompts and events alone.
package plugin

import (
	"context"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/relay"
)

// Shaper implements relay.Shaper. It is safe for concurrent use.
type Shaper struct{ tokens relay.Tokens }

var _ relay.Shaper = (*Shaper)(nil)

// New makes a Shaper that measures prompts with tokens.
func New(tokens relay.Tokens) *Shaper { return &Shaper{tokens} }

// Begin is a relay.Shaper's.
func (s *Shaper) Begin(string) relay.Shaping { return s }

// Shape makes req fit ep; see relay.Shaping. It fails with fault.InvalidPrompt for files that cannot be read, and with fault.ContextLength
// for prompts that stay too long.
func (s *Shaper) Shape(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*completion.Request, relay.Reshape, error) {
	a := &answer{}
	out := req
	if f := req.Format; f != nil {
		out = emulate(ep, out, a)
		a.mend = req.Heal && !req.Stream
		if f.Kind == completion.FormatSchema && f.Strict != nil && *f.Strict && f.Schema != nil && !req.Stream {
			a.against(ctx, f.Schema)
		}
	}
	var err error
	if req.Needs.Unread(ep) {
		if out, err = s.read(out, a); err != nil {
			return nil, nil, err
		}
	}
	if out.Needs.TooLong(ep) {
		if out, err = s.shorten(ep, out, a); err != nil {
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
	tokensPerMedia = 1500 // a picture at full detail
	bytesPerToken  = 8    // base64 of a document
)

// size is how many tokens a prompt has.
func (s *Shaper) size(p *completion.Prompt) int64 {
	n := s.tokens.Count(p.Text()) + media(p.System)
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
				n += int64(len(m.Base64)) / bytesPerToken
			}
		}
		if r := parts[i].Result; r != nil {
			n += media(r.Parts)
		}
	}
	return n
}

// emulate stands in for a schema that ep does not understand: its model is made to call a tool whose arguments it describes, and they are the
// answer. Where that cannot be, and the answer will be mended, an instruction says what is wanted; else the format is left to be dropped.
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

func refused(kind fault.Kind, format string, args ...any) error {
	f := fault.Newf(kind, "plugin.Shape", format, args...)
	f.Param, f.Next = "messages", fault.NextModel
	return f
}
