package openai

import (
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/upstream"
)

// asChat writes a request that came by another wire as a chat request, which is then sent like any: with every quirk of the server.
func asChat(ep *catalog.Endpoint, req *completion.Request) (_ *completion.Request, notice string, err error) {
	p, err := req.Prompt()
	if err != nil {
		return nil, "", err
	}
	p, notice = upstream.Search(ep, req, p)
	if p.Search != nil && ep.Params&catalog.ParamWebSearchOptions == 0 { // it is merely offered to the model
		silent := *p
		silent.Search = nil
		p, notice = &silent, completion.NoticeSearch
	}
	out := *req
	if most := ep.MaxCompletion; most > 0 {
		out.MaxTokens = min(out.MaxTokens, most)
	}
	w := writer{req: &out, p: p, out: append(make([]byte, 0, len(req.Body)+512), '{')}
	if err := w.write(); err != nil {
		return nil, "", err
	}
	out.Style, out.Body, out.HasRoles, out.Members = completion.Chat, w.out, w.has, nil
	for m := rawjson.MembersOf(w.out); m.Next(); {
		out.Members = append(out.Members, completion.Member{Name: string(m.Name), Start: m.Start, Value: m.At, End: m.End})
	}
	return &out, notice, nil
}

// writer writes the members of a chat request. What the request holds in typed form beside its prompt, reasoning above all, is the
// encoder's business.
type writer struct {
	req *completion.Request
	p   *completion.Prompt
	out []byte
	has completion.Roles
}

func (w *writer) write() error {
	w.text("model", w.req.Models[0])
	if err := w.messages(); err != nil {
		return err
	}
	if err := w.tools(); err != nil {
		return err
	}
	w.sampling()
	w.format()
	w.rest()
	w.out = append(w.out, '}')
	return nil
}

// name begins a member; the first of an object has no comma before it.
func (w *writer) name(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, '"'), name...), `":`...)
}

func (w *writer) text(name, value string) {
	w.name(name)
	w.out = rawjson.AppendText(w.out, value)
}

func (w *writer) raw(name string, value []byte) {
	w.name(name)
	w.out = append(w.out, value...)
}

// next separates elements of a list.
func (w *writer) next() {
	if w.out[len(w.out)-1] != '[' {
		w.out = append(w.out, ',')
	}
}

func (w *writer) cannot(what string) error {
	f := fault.Field("openai.Request", "messages", "The provider of this model does not take %s.", what)
	f.Next = fault.NextEndpoint
	return f
}

func (w *writer) messages() error {
	w.name("messages")
	w.out = append(w.out, '[')
	if len(w.p.System) > 0 {
		w.message("system", w.p.System)
	}
	for i := range w.p.Turns {
		t := &w.p.Turns[i]
		switch t.Role {
		case completion.System:
			w.message("system", t.Parts)
		case completion.Assistant:
			w.assistant(t.Parts)
		case completion.User:
			if err := w.user(t); err != nil {
				return err
			}
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *writer) message(role string, parts []completion.Part) {
	w.next()
	w.out = append(w.out, '{')
	w.text("role", role)
	w.content(parts)
	w.out = append(w.out, '}')
}

// user writes what tools answered, each in a message of its own, and then what the user said.
func (w *writer) user(t *completion.Turn) error {
	var said []completion.Part
	for i := range t.Parts {
		part := &t.Parts[i]
		if part.Kind != completion.ResultPart {
			said = append(said, *part)
			continue
		}
		shown := w.result(part)
		if len(shown) > 0 { // tools answer in words on most servers; what they show follows as the user's
			said = append(said, shown...)
		}
	}
	if len(said) == 0 {
		return nil
	}
	for i := range said {
		if m := said[i].Media; m != nil && m.Base64 == nil && m.URL == "" && said[i].Kind != completion.FilePart {
			return w.cannot("media by the id of another provider")
		}
	}
	w.next()
	w.out = append(w.out, '{')
	w.text("role", "user")
	if t.Name != "" {
		w.text("name", t.Name)
	}
	w.content(said)
	w.out = append(w.out, '}')
	return nil
}

// result writes a tool message and returns what of the result is no text.
func (w *writer) result(part *completion.Part) (shown []completion.Part) {
	r := part.Result
	var text strings.Builder
	for i := range r.Parts {
		if r.Parts[i].Kind == completion.TextPart {
			text.WriteString(r.Parts[i].Text)
		} else {
			shown = append(shown, r.Parts[i])
		}
	}
	said := text.String()
	if r.Failed {
		said = "Error: " + said
	}
	w.next()
	w.out = append(w.out, '{')
	w.text("role", "tool")
	w.text("tool_call_id", r.CallID)
	answer := completion.Part{Text: said, Cache: part.Cache}
	if answer.Cache != "" {
		w.has |= completion.HasToolParts
	}
	w.content([]completion.Part{answer})
	w.out = append(w.out, '}')
	return shown
}

// content writes text as a string, and anything else as parts.
func (w *writer) content(parts []completion.Part) {
	w.name("content")
	plain := true
	for i := range parts {
		plain = plain && parts[i].Kind == completion.TextPart && parts[i].Cache == ""
	}
	if plain && len(parts) <= 1 {
		text := ""
		if len(parts) == 1 {
			text = parts[0].Text
		}
		w.out = rawjson.AppendText(w.out, text)
		return
	}
	w.out = append(w.out, '[')
	for i := range parts {
		w.part(&parts[i])
	}
	w.out = append(w.out, ']')
}

func (w *writer) part(part *completion.Part) {
	w.next()
	w.out = append(w.out, '{')
	m := part.Media
	switch part.Kind {
	case completion.ImagePart:
		w.text("type", "image_url")
		w.name("image_url")
		w.out = append(w.out, '{')
		w.address("url", m, "image/png")
		if m.Detail != "" {
			w.text("detail", m.Detail)
		}
		w.out = append(w.out, '}')
	case completion.AudioPart:
		w.text("type", "input_audio")
		w.name("input_audio")
		w.out = append(append(append(w.out, `{"data":"`...), m.Base64...), '"')
		w.text("format", strings.TrimPrefix(m.Type, "audio/"))
		w.out = append(w.out, '}')
	case completion.FilePart:
		w.text("type", "file")
		w.name("file")
		w.out = append(w.out, '{')
		if m.FileID != "" {
			w.text("file_id", m.FileID)
		} else {
			w.address("file_data", m, "application/pdf")
		}
		if m.Name != "" {
			w.text("filename", m.Name)
		}
		w.out = append(w.out, '}')
	case completion.VideoPart:
		w.text("type", "video_url")
		w.name("video_url")
		w.out = append(w.out, '{')
		w.address("url", m, "video/mp4")
		w.out = append(w.out, '}')
	case completion.RefusalPart:
		w.text("type", "refusal")
		w.text("refusal", part.Text)
	default:
		w.text("type", "text")
		w.text("text", part.Text)
	}
	w.mark(part.Cache)
	w.out = append(w.out, '}')
}

func (w *writer) address(name string, m *completion.Media, kind string) {
	if m.Base64 == nil {
		w.text(name, m.URL)
		return
	}
	if m.Type != "" {
		kind = m.Type
	}
	w.name(name)
	w.out = append(w.out, `"data:`...)
	w.out = rawjson.AppendEscaped(w.out, []byte(kind))
	w.out = append(append(append(w.out, ";base64,"...), m.Base64...), '"')
}

func (w *writer) mark(c completion.Cache) {
	if c == "" {
		return
	}
	w.has |= completion.HasCacheControl
	w.name("cache_control")
	w.out = append(w.out, `{"type":"ephemeral"`...)
	if c == "1h" {
		w.out = append(w.out, `,"ttl":"1h"`...)
	}
	w.out = append(w.out, '}')
}

func (w *writer) assistant(parts []completion.Part) {
	var said, calls, thoughts []completion.Part
	for i := range parts {
		switch parts[i].Kind {
		case completion.CallPart:
			calls = append(calls, parts[i])
		case completion.ReasoningPart:
			thoughts = append(thoughts, parts[i])
		case completion.ImagePart: // what a model drew comes back to few models, and to none in its own turn
		default:
			said = append(said, parts[i])
		}
	}
	if len(said)+len(calls)+len(thoughts) == 0 {
		return
	}
	w.next()
	w.out = append(w.out, '{')
	w.text("role", "assistant")
	if len(said) > 0 {
		w.content(joined(said))
	} else {
		w.raw("content", []byte("null"))
		w.has |= completion.HasNulls
	}
	w.thoughts(thoughts)
	w.calls(calls)
	w.out = append(w.out, '}')
}

// joined makes one text of several, which is what an assistant's content is to most servers, unless there is more than text in it.
func joined(parts []completion.Part) []completion.Part {
	var text strings.Builder
	var mark completion.Cache
	for i := range parts {
		if parts[i].Kind != completion.TextPart {
			return parts
		}
		text.WriteString(parts[i].Text)
		if parts[i].Cache != "" {
			mark = parts[i].Cache
		}
	}
	return []completion.Part{{Text: text.String(), Cache: mark}}
}

// thoughts writes reasoning as text, and as the entries from which a gateway behind this one can make it whole again.
func (w *writer) thoughts(parts []completion.Part) {
	if len(parts) == 0 {
		return
	}
	w.has |= completion.HasReasoning
	var text strings.Builder
	for i := range parts {
		text.WriteString(parts[i].Thought.Text)
	}
	if text.Len() > 0 {
		w.text("reasoning", text.String())
	}
	w.name("reasoning_details")
	w.out = append(w.out, '[')
	for i := range parts {
		t := parts[i].Thought
		w.next()
		w.out = append(w.out, '{')
		switch t.Kind {
		case completion.ThoughtEncrypted:
			w.text("type", "reasoning.encrypted")
			w.text("data", t.Data)
		case completion.ThoughtSummary:
			w.text("type", "reasoning.summary")
			w.text("summary", t.Text)
		case completion.ThoughtText:
			w.text("type", "reasoning.text")
			w.text("text", t.Text)
			if t.Signature != "" {
				w.text("signature", t.Signature)
			}
		}
		if t.ID != "" {
			w.text("id", t.ID)
		}
		if t.Format != "" {
			w.text("format", t.Format)
		}
		w.name("index")
		w.out = append(strconv.AppendInt(w.out, int64(i), 10), '}')
	}
	w.out = append(w.out, ']')
}

func (w *writer) calls(parts []completion.Part) {
	if len(parts) == 0 {
		return
	}
	w.name("tool_calls")
	w.out = append(w.out, '[')
	for i := range parts {
		c := parts[i].Call
		w.next()
		w.out = append(w.out, '{')
		w.text("id", c.ID)
		if c.Custom {
			w.text("type", "custom")
			w.name("custom")
			w.out = append(w.out, '{')
			w.text("name", c.Name)
			w.text("input", string(c.Arguments))
			w.out = append(w.out, "}}"...)
			continue
		}
		w.text("type", "function")
		w.name("function")
		w.out = append(w.out, '{')
		w.text("name", c.Name)
		w.text("arguments", string(c.Arguments))
		if c.Signature != "" {
			w.has |= completion.HasThoughtSignature
			w.text("thought_signature", c.Signature)
		}
		w.out = append(w.out, "}}"...)
	}
	w.out = append(w.out, ']')
}

func (w *writer) tools() error {
	if len(w.p.Tools) == 0 {
		return nil
	}
	w.name("tools")
	w.out = append(w.out, '[')
	for i := range w.p.Tools {
		t := &w.p.Tools[i]
		if t.Hosted != nil {
			return fault.Field("openai.Request", "tools", "The provider of this model does not take tools of type %s.", t.HostedType)
		}
		w.next()
		w.out = append(w.out, '{')
		kind := "function"
		if t.Custom {
			kind = "custom"
		}
		w.text("type", kind)
		w.name(kind)
		w.out = append(w.out, '{')
		w.text("name", t.Name)
		if t.Description != "" {
			w.text("description", t.Description)
		}
		if t.Parameters != nil {
			w.raw("parameters", t.Parameters)
		} else if !t.Custom {
			w.has |= completion.HasBareFunction
		}
		if t.Strict != nil {
			w.name("strict")
			w.out = strconv.AppendBool(w.out, *t.Strict)
		}
		w.out = append(w.out, '}')
		w.mark(t.Cache)
		w.out = append(w.out, '}')
	}
	w.out = append(w.out, ']')
	w.choice()
	if w.p.Serial {
		w.raw("parallel_tool_calls", []byte("false"))
	}
	return nil
}

func (w *writer) choice() {
	c := &w.p.Choice
	switch {
	case c.Allowed != nil:
		mode := "auto"
		if c.Mode == completion.ChoiceRequired {
			mode = "required"
		}
		w.raw("tool_choice", []byte(`{"type":"allowed_tools","allowed_tools":{"mode":"`+mode+`","tools":[`))
		for _, name := range c.Allowed {
			w.next()
			w.out = rawjson.AppendText(append(w.out, `{"type":"function","function":{"name":`...), name)
			w.out = append(w.out, "}}"...)
		}
		w.out = append(w.out, "]}}"...)
	case c.Mode == completion.ChoiceAuto:
		w.text("tool_choice", "auto")
	case c.Mode == completion.ChoiceNone:
		w.text("tool_choice", "none")
	case c.Mode == completion.ChoiceRequired:
		w.text("tool_choice", "required")
	case c.Mode == completion.ChoiceTool:
		kind := "function"
		if c.Custom {
			kind = "custom"
		}
		w.raw("tool_choice", []byte(`{"type":"`+kind+`","`+kind+`":{"name":`))
		w.out = append(rawjson.AppendText(w.out, c.Name), "}}"...)
	}
}

func (w *writer) sampling() {
	s := &w.p.Sampling
	for _, n := range [...]struct{ name, value string }{
		{"temperature", s.Temperature}, {"top_p", s.TopP}, {"top_k", s.TopK}, {"min_p", s.MinP}, {"top_a", s.TopA}, {"frequency_penalty", s.FrequencyPenalty},
		{"presence_penalty", s.PresencePenalty}, {"repetition_penalty", s.RepetitionPenalty}, {"seed", s.Seed},
	} {
		if n.value != "" {
			w.raw(n.name, []byte(n.value))
		}
	}
	if s.LogitBias != nil {
		w.raw("logit_bias", s.LogitBias)
	}
	if s.Logprobs {
		w.raw("logprobs", []byte("true"))
		if s.TopLogprobs > 0 {
			w.raw("top_logprobs", strconv.AppendInt(nil, int64(s.TopLogprobs), 10))
		}
	}
	if s.Verbosity != "" {
		w.text("verbosity", s.Verbosity)
	}
	if len(w.p.Stop) > 0 {
		w.name("stop")
		w.out = append(w.out, '[')
		for _, stop := range w.p.Stop {
			w.next()
			w.out = rawjson.AppendText(w.out, stop)
		}
		w.out = append(w.out, ']')
	}
}

func (w *writer) format() {
	f := &w.p.Format
	switch f.Kind {
	case completion.FormatText:
	case completion.FormatJSON:
		w.raw("response_format", []byte(`{"type":"json_object"}`))
	case completion.FormatSchema:
		w.raw("response_format", []byte(`{"type":"json_schema","json_schema":{`))
		w.text("name", f.Name)
		if f.Description != "" {
			w.text("description", f.Description)
		}
		if f.Schema != nil {
			w.raw("schema", f.Schema)
		}
		if f.Strict != nil {
			w.name("strict")
			w.out = strconv.AppendBool(w.out, *f.Strict)
		}
		w.out = append(w.out, "}}"...)
	}
}

func (w *writer) rest() {
	if n := w.req.MaxTokens; n > 0 {
		w.raw("max_completion_tokens", strconv.AppendInt(nil, n, 10))
	}
	if s := w.p.Search; s != nil {
		w.name("web_search_options")
		w.out = append(w.out, '{')
		if s.ContextSize != "" {
			w.text("search_context_size", s.ContextSize)
		}
		if s.Location != nil {
			w.raw("user_location", s.Location)
		}
		w.out = append(w.out, '}')
	}
	if w.p.CacheKey != "" {
		w.text("prompt_cache_key", w.p.CacheKey)
	}
	if w.p.Cache != "" {
		w.mark(w.p.Cache)
	}
	if w.req.User != "" {
		w.text("user", w.req.User)
	}
	if w.req.Stream {
		w.raw("stream", []byte("true"))
	}
}
