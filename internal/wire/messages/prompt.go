package messages

import (
	"slices"
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
	"weir/internal/wire/pack"
)

const maxKind = 64 // bytes of a client's own word in an error

// source makes the canonical form of messages requests.
type source struct{}

// Prompt reads the body, whose content was not checked before: invalid content is refused here, as an upstream of this wire would.
func (source) Prompt(req *completion.Request) (*completion.Prompt, error) {
	b := builder{p: &completion.Prompt{}, names: map[string]string{}}
	for _, m := range req.Members {
		if v := req.Body[m.Value:m.End]; !rawjson.IsNull(v) {
			b.field(m.Name, v)
		}
	}
	at := 0
	for e := rawjson.ElementsOf(req.Body[req.MessagesAt.Start:req.MessagesAt.End]); e.Next(); at++ {
		b.message(at, e.Value)
	}
	if b.err != nil {
		return nil, b.err
	}
	b.clearReasoning()
	b.p.Tools = slices.DeleteFunc(b.p.Tools, func(t completion.Tool) bool { return b.withdrawn[t.Name] })
	return b.p, nil
}

type builder struct {
	p     *completion.Prompt
	names map[string]string // tool by call id
	clear int64             // of older turns than this many, reasoning is left out; 0: of none
	err   *fault.Error

	withdrawn map[string]bool // tools that the conversation took away again
}

func (b *builder) fail(param, format string, args ...any) {
	if b.err == nil {
		b.err = fault.Newf(fault.InvalidPrompt, "messages.Prompt", format, args...)
		b.err.Param = param
	}
}

func (b *builder) field(name string, v []byte) {
	p := b.p
	switch name {
	case "system":
		p.System = withoutBilling(b.content("system", v))
	case "tools":
		for e := rawjson.ElementsOf(v); e.Next(); {
			b.tool(e.Value)
		}
	case "tool_choice":
		b.choice(v)
	case "stop_sequences":
		p.Stop = wire.Texts(v)
	case "temperature":
		p.Sampling.Temperature = number(v)
	case "top_p":
		p.Sampling.TopP = number(v)
	case "top_k":
		p.Sampling.TopK = number(v)
	case "cache_control":
		p.Cache = cacheOf(v)
	case "output_config":
		b.format(rawjson.Find(v, "format"))
	case "output_format":
		b.format(v)
	case "context_management":
		b.edits(v)
	default:
		if remedy, ok := nativeRemedy(name); ok && !emptyList(v) {
			b.cannot(name, "%s needs a provider of the messages wire. %s", name, remedy)
		}
	}
}

// nativeRemedy says for a field whose meaning only providers of this wire know what a client can do instead.
func nativeRemedy(name string) (string, bool) {
	switch name {
	case "mcp_servers":
		return "Call the servers yourself and offer their tools in tools, or choose a model of such a provider.", true
	case "container", "fallback_credit_token":
		return "Leave it out, or choose a model of such a provider.", true
	case "compaction":
		return "Ask the model for a summary with an ordinary message, or choose a model of such a provider.", true
	}
	return "", false
}

func emptyList(v []byte) bool {
	e := rawjson.ElementsOf(v)
	return rawjson.KindOf(v) == rawjson.Array && !e.Next()
}

// cannot refuses what only another provider can do.
func (b *builder) cannot(param, format string, args ...any) {
	if b.err == nil {
		b.err = fault.Field("messages.Prompt", param, format, args...)
		b.err.Next = fault.NextEndpoint
	}
}

func (b *builder) format(v []byte) {
	if rawjson.TextAt(v, "type") == "json_schema" {
		b.p.Format = completion.Format{Kind: completion.FormatSchema, Name: "answer", Schema: wire.Present(rawjson.Find(v, "schema"))}
	}
}

// clearThinking is the only edit of context_management that can be made here; the type ends in a date.
const clearThinking = "clear_thinking_"

// edits reads context_management. Coding agents always send clear_thinking, which keeps all thinking or that of the last turns.
func (b *builder) edits(v []byte) {
	at := 0
	for e := rawjson.ElementsOf(rawjson.Find(v, "edits")); e.Next(); at++ {
		path, kind := place("context_management.edits", at), rawjson.TextAt(e.Value, "type")
		if !strings.HasPrefix(kind, clearThinking) {
			b.cannot(path+".type", "An edit of type %q needs a provider of the messages wire. Edit the messages yourself, or choose a model of such a provider.", kind[:min(len(kind), maxKind)])
			return
		}
		keep := rawjson.Find(e.Value, "keep")
		switch kind := rawjson.TextAt(keep, "type"); {
		case rawjson.Text(keep) == "all" || kind == "all":
		case keep == nil:
			b.clear = 1
		case kind == "thinking_turns":
			if n, ok := rawjson.Int(rawjson.Find(keep, "value")); ok && n > 0 {
				b.clear = n
				continue
			}
			b.fail(path+".keep.value", "keep.value must be an integer of at least 1.")
		default:
			b.fail(path+".keep", `keep must be "all", or an object of type thinking_turns with a value.`)
		}
	}
}

// clearReasoning leaves out the reasoning of older turns, as context_management asks.
func (b *builder) clearReasoning() {
	if b.clear == 0 {
		return
	}
	kept := int64(0)
	for i := len(b.p.Turns) - 1; i >= 0; i-- {
		t := &b.p.Turns[i]
		reasons := func(part completion.Part) bool { return part.Kind == completion.ReasoningPart }
		if !slices.ContainsFunc(t.Parts, reasons) {
			continue
		}
		if kept++; kept > b.clear {
			t.Parts = slices.DeleteFunc(t.Parts, reasons)
		}
	}
}

// number is a number as written, "" for anything else.
func number(v []byte) string {
	if rawjson.KindOf(v) != rawjson.Number {
		return ""
	}
	return string(v)
}

func (b *builder) tool(v []byte) {
	kind := rawjson.TextAt(v, "type")
	switch {
	case completion.IsAdvisor(kind):
	case kind == "" || kind == "custom":
		b.p.Tools = append(b.p.Tools, completion.Tool{Name: rawjson.TextAt(v, "name"), Description: rawjson.TextAt(v, "description"),
			Parameters: wire.Present(rawjson.Find(v, "input_schema")), Strict: wire.Truth(rawjson.Find(v, "strict")), Cache: cacheOf(rawjson.Find(v, "cache_control"))})
	case strings.HasPrefix(kind, "web_search_"):
		most, _ := rawjson.Int(rawjson.Find(v, "max_uses"))
		b.p.Search = &completion.Search{MaxResults: int(min(max(most, 0), 20)), Location: wire.Present(rawjson.Find(v, "user_location")),
			Include: wire.Texts(rawjson.Find(v, "allowed_domains")), Exclude: wire.Texts(rawjson.Find(v, "blocked_domains"))}
	default:
		b.p.Tools = append(b.p.Tools, completion.Tool{Name: rawjson.TextAt(v, "name"), Hosted: v, HostedType: kind})
	}
}

func (b *builder) choice(v []byte) {
	off, _ := rawjson.Bool(rawjson.Find(v, "disable_parallel_tool_use"))
	b.p.Serial = off
	switch rawjson.TextAt(v, "type") {
	case "auto":
		b.p.Choice.Mode = completion.ChoiceAuto
	case "any":
		b.p.Choice.Mode = completion.ChoiceRequired
	case "none":
		b.p.Choice.Mode = completion.ChoiceNone
	case "tool":
		b.p.Choice = completion.Choice{Mode: completion.ChoiceTool, Name: rawjson.TextAt(v, "name")}
	default:
		b.fail("tool_choice", "tool_choice.type must be auto, any, tool or none.")
	}
}

func (b *builder) message(at int, v []byte) {
	path := place("messages", at)
	turn := completion.Turn{Parts: wire.Attach(b.content(path+".content", rawjson.Find(v, "content")))}
	switch rawjson.TextAt(v, "role") {
	case "user":
	case "assistant":
		turn.Role = completion.Assistant
	case "system":
		if turn.Role = completion.System; len(turn.Parts) == 0 {
			return // it only changed the tools
		}
	default:
		b.fail(path+".role", "role must be user or assistant.")
	}
	b.p.Turns = append(b.p.Turns, turn)
}

// content reads text or blocks.
func (b *builder) content(path string, v []byte) (parts []completion.Part) {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		return []completion.Part{{Text: rawjson.Text(v)}}
	case rawjson.Array:
	default:
		b.fail(path, "It must be a string or a list of blocks.")
		return nil
	}
	at := 0
	for e := rawjson.ElementsOf(v); e.Next(); at++ {
		if part, ok := b.block(place(path, at), e.Value); ok {
			part.Cache = cacheOf(rawjson.Find(e.Value, "cache_control"))
			parts = append(parts, part)
		}
	}
	return parts
}

// withoutBilling leaves out the line that Claude Code puts in front of its instructions for Anthropic's billing. It is another one in each call, so that
// other providers would never find the prompt in their caches.
func withoutBilling(parts []completion.Part) []completion.Part {
	if len(parts) == 0 || !strings.HasPrefix(parts[0].Text, "x-anthropic-billing-header:") {
		return parts
	}
	if _, rest, more := strings.Cut(parts[0].Text, "\n"); more && rest != "" {
		parts[0].Text = rest
		return parts
	}
	return parts[1:]
}

// block reads one content block. Results of a provider's own tool are left out, because another provider cannot use them.
func (b *builder) block(path string, v []byte) (part completion.Part, ok bool) {
	kind := rawjson.TextAt(v, "type")
	switch kind {
	case "text":
		return completion.Part{Text: b.required(path, "text", v)}, true
	case "image":
		return completion.Part{Kind: completion.ImagePart, Media: b.media(path, v)}, true
	case "document":
		return b.document(path, v), true
	case "tool_use":
		call := &completion.Call{ID: b.required(path, "id", v), Name: b.required(path, "name", v), Arguments: []byte("{}")}
		if input := rawjson.Find(v, "input"); rawjson.KindOf(input) == rawjson.Object {
			call.Arguments = input
		}
		b.names[call.ID] = call.Name
		return completion.Part{Kind: completion.CallPart, Call: call}, true
	case "tool_result":
		id := b.required(path, "tool_use_id", v)
		failed, _ := rawjson.Bool(rawjson.Find(v, "is_error"))
		result := &completion.Result{CallID: id, Name: b.names[id], Failed: failed}
		if c := rawjson.Find(v, "content"); !rawjson.IsNull(c) {
			result.Parts = b.content(path+".content", c)
		}
		return completion.Part{Kind: completion.ResultPart, Result: result}, true
	case "thinking":
		return b.reasoningDetail(rawjson.TextAt(v, "thinking"), rawjson.TextAt(v, "signature"))
	case "redacted_thinking":
		return b.redacted(rawjson.TextAt(v, "data"))
	case "tool_addition", "tool_removal":
		b.toolChange(kind == "tool_removal", rawjson.Find(v, "tool"))
		return part, false
	case "server_tool_use", "container_upload", "fallback":
		return part, false
	}
	if !strings.HasSuffix(kind, "_tool_result") {
		b.cannot(path+".type", "The provider of this model does not take content of type %q.", kind[:min(len(kind), maxKind)])
	}
	return part, false
}

// toolChange takes a tool away from here on, or gives it back. Wires without such blocks get the tools that are there at the end.
func (b *builder) toolChange(away bool, v []byte) {
	name := rawjson.TextAt(v, "name")
	if definition := rawjson.Find(v, "definition"); rawjson.KindOf(definition) == rawjson.Object {
		if name = rawjson.TextAt(definition, "name"); !away && !slices.ContainsFunc(b.p.Tools, func(t completion.Tool) bool { return t.Name == name }) {
			b.tool(definition)
		}
	}
	if b.withdrawn == nil {
		b.withdrawn = map[string]bool{}
	}
	b.withdrawn[name] = away
}

// required is a block's text member that no provider can do without.
func (b *builder) required(path, name string, v []byte) string {
	text := rawjson.Find(v, name)
	if rawjson.KindOf(text) != rawjson.String {
		b.fail(path+"."+name, "%s is required: a string.", name)
	}
	return rawjson.Text(text)
}

// reasoningDetail reads reasoning that a client sends back. Reasoning of a provider with another wire is packed into the signature.
func (b *builder) reasoningDetail(text, signature string) (completion.Part, bool) {
	t := completion.ReasoningDetail{Format: completion.FormatAnthropic, Text: text, Signature: signature}
	if packed, ok := pack.Unpack(signature); ok {
		if t = packed; t.Kind != completion.ReasoningEncrypted && t.Text == "" {
			t.Text = text
		}
	}
	return b.belongs(t)
}

func (b *builder) redacted(data string) (completion.Part, bool) {
	t := completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: completion.FormatAnthropic, Data: data}
	if packed, ok := pack.Unpack(data); ok {
		t = packed
	}
	return b.belongs(t)
}

func (b *builder) belongs(t completion.ReasoningDetail) (completion.Part, bool) {
	return completion.Part{Kind: completion.ReasoningPart, Reasoning: &t}, true
}

func (b *builder) media(path string, v []byte) *completion.Media {
	source := rawjson.Find(v, "source")
	switch rawjson.TextAt(source, "type") {
	case "base64":
		return wire.DataFrom(&b.err, path+".source.data", rawjson.TextAt(source, "media_type"), rawjson.Find(source, "data"))
	case "url":
		return wire.MediaFrom(&b.err, path+".source.url", rawjson.Find(source, "url"))
	case "file":
		return &completion.Media{FileID: rawjson.TextAt(source, "file_id")}
	}
	b.fail(path+".source.type", "source.type must be base64, url or file.")
	return &completion.Media{}
}

// document reads a file, or a plain text in a document block.
func (b *builder) document(path string, v []byte) completion.Part {
	source := rawjson.Find(v, "source")
	switch rawjson.TextAt(source, "type") {
	case "text":
		return completion.Part{Text: rawjson.TextAt(source, "data")}
	case "content":
		var text strings.Builder
		for _, part := range b.content(path+".source.content", rawjson.Find(source, "content")) {
			text.WriteString(part.Text)
		}
		return completion.Part{Text: text.String()}
	}
	media := b.media(path, v)
	media.Name = rawjson.TextAt(v, "title")
	return completion.Part{Kind: completion.FilePart, Media: media}
}

func cacheOf(v []byte) completion.Cache {
	switch {
	case rawjson.IsNull(v):
		return ""
	case rawjson.TextAt(v, "ttl") == "1h":
		return "1h"
	}
	return "5m"
}
