package openai

import (
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/wire/pack"
)

// asChat writes a request that came by another wire as a chat request, which is then sent like any chat request: with every quirk of the
// server.
func asChat(ep *catalog.Endpoint, req *completion.Request, sent *dialect.Sent) (*completion.Request, error) {
	p, err := req.Prompt()
	if err != nil {
		return nil, err
	}
	p, notice := dialect.Search(ep, req, p)
	if p.Search != nil && ep.Params&catalog.ParamWebSearchOptions == 0 { // the client merely offers it to the model
		silent := *p
		silent.Search = nil
		p, notice = &silent, completion.NoticeSearch
	}
	if notice != "" {
		sent.Explain(dialect.FieldSearch, "tools", notice)
	}
	if p.Search != nil {
		sent.Domains(req, p.Search, false, false)
	}
	if ep.Facts.CustomTools == catalog.Functions {
		sent.AsFunctions(p)
	}
	out := *req
	if most := ep.MaxCompletion; most > 0 {
		out.MaxTokens = min(out.MaxTokens, most)
	}
	w := writer{req: &out, p: p, Writer: rawjson.Writer{B: make([]byte, 0, len(req.Body)+512)}}
	if err := w.write(); err != nil {
		return nil, err
	}
	out.Style, out.Body, out.HasRoles, out.Members = completion.Chat, w.B, w.has, nil
	for m := rawjson.MembersOf(w.B); m.Next(); {
		out.Members = append(out.Members, completion.Member{Name: string(m.Name), Start: m.Start, Value: m.At, End: m.End})
		sent.Has(dialect.ChatField(string(m.Name)))
	}
	if len(p.Tools) == 0 { // their settings ask for nothing
		sent.Has(dialect.FieldTools | dialect.FieldChoice | dialect.FieldSerial)
	}
	return &out, nil
}

// writer writes the members of a chat request. The encoder writes what the request has in typed form outside its prompt, reasoning above
// all.
type writer struct {
	req *completion.Request
	p   *completion.Prompt
	has completion.Roles
	rawjson.Writer

	begun bool // a message is written
}

func (w *writer) write() error {
	w.Object()
	w.Name("model").Text(w.req.Models[0])
	if err := w.messages(); err != nil {
		return err
	}
	if err := w.tools(); err != nil {
		return err
	}
	w.sampling()
	w.format()
	w.rest()
	w.EndObject()
	return nil
}

func (w *writer) messages() error {
	w.Name("messages").Array()
	if len(w.p.System) > 0 {
		w.message("system", w.p.System)
	}
	for i := range w.p.Turns {
		t := &w.p.Turns[i]
		if t.Role != completion.System {
			w.begun = true
		}
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
	w.EndArray()
	return nil
}

func (w *writer) message(role string, parts []completion.Part) {
	if w.begun {
		w.has |= completion.HasLateSystem
	}
	w.begun = true
	w.Object()
	w.Name("role").Text(role)
	w.content(parts)
	w.EndObject()
}

// user writes the results of tools, each in a message, and then the user's own text.
func (w *writer) user(t *completion.Turn) error {
	var said []completion.Part
	for i := range t.Parts {
		part := &t.Parts[i]
		if part.Kind != completion.ResultPart {
			said = append(said, *part)
			continue
		}
		shown := w.result(part)
		if len(shown) > 0 { // most servers take only text as a tool's result; its images follow in a user message
			said = append(said, shown...)
		}
	}
	if len(said) == 0 {
		return nil
	}
	for i := range said {
		if m := said[i].Media; m != nil && m.Base64.None() && m.URL == "" && said[i].Kind != completion.FilePart {
			return dialect.Cannot("messages", "media by another provider's id")
		}
	}
	w.Object()
	w.Name("role").Text("user")
	if t.Name != "" {
		w.Name("name").Text(t.Name)
	}
	w.content(said)
	w.EndObject()
	return nil
}

// result writes a tool message and returns the parts of the result that are not text.
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
	w.Object()
	w.Name("role").Text("tool")
	w.Name("tool_call_id").Text(r.CallID)
	answer := completion.Part{Text: said, Cache: part.Cache}
	if answer.Cache != "" {
		w.has |= completion.HasToolParts
	}
	w.content([]completion.Part{answer})
	w.EndObject()
	return shown
}

// content writes text as a string, and anything else as parts.
func (w *writer) content(parts []completion.Part) {
	w.Name("content")
	plain := true
	for i := range parts {
		plain = plain && parts[i].Kind == completion.TextPart && parts[i].Cache == ""
	}
	if plain && len(parts) <= 1 {
		text := ""
		if len(parts) == 1 {
			text = parts[0].Text
		}
		w.Text(text)
		return
	}
	w.Array()
	for i := range parts {
		w.part(&parts[i])
	}
	w.EndArray()
}

func (w *writer) part(part *completion.Part) {
	w.Object()
	m := part.Media
	switch part.Kind {
	case completion.ImagePart:
		w.Name("type").Text("image_url")
		w.Name("image_url").Object()
		w.address("url", m, mediatype.PNG)
		if m.Detail != "" {
			w.Name("detail").Text(m.Detail)
		}
		w.EndObject()
	case completion.AudioPart:
		w.Name("type").Text("input_audio")
		w.Name("input_audio").Object()
		w.Name("data").Base64(m.Base64)
		w.Name("format").Text(strings.TrimPrefix(m.Type, "audio/"))
		w.EndObject()
	case completion.FilePart:
		w.Name("type").Text("file")
		w.Name("file").Object()
		if m.FileID != "" {
			w.Name("file_id").Text(m.FileID)
		} else {
			w.address("file_data", m, "application/pdf")
		}
		if m.Name != "" {
			w.Name("filename").Text(m.Name)
		}
		w.EndObject()
	case completion.VideoPart:
		w.Name("type").Text("video_url")
		w.Name("video_url").Object()
		w.address("url", m, mediatype.MP4)
		w.EndObject()
	case completion.RefusalPart:
		w.Name("type").Text("refusal")
		w.Name("refusal").Text(part.Text)
	default:
		w.Name("type").Text("text")
		w.Name("text").Text(part.Text)
	}
	w.mark(part.Cache)
	w.EndObject()
}

func (w *writer) address(name string, m *completion.Media, kind string) {
	if m.Base64.None() {
		w.Name(name).Text(m.URL)
		return
	}
	if m.Type != "" {
		kind = m.Type
	}
	w.Name(name).DataURL(kind, m.Base64)
}

func (w *writer) mark(c completion.Cache) {
	if c == "" {
		return
	}
	w.has |= completion.HasCacheControl
	w.Name("cache_control").Object()
	w.Name("type").Text("ephemeral")
	if c == "1h" {
		w.Name("ttl").Text("1h")
	}
	w.EndObject()
}

func (w *writer) assistant(parts []completion.Part) {
	var said, calls, reasoning []completion.Part
	for i := range parts {
		switch parts[i].Kind {
		case completion.CallPart:
			calls = append(calls, parts[i])
		case completion.ReasoningPart:
			reasoning = append(reasoning, parts[i])
		case completion.ImagePart: // few models take their own images back, and none in an assistant message
		default:
			said = append(said, parts[i])
		}
	}
	if len(said)+len(calls)+len(reasoning) == 0 {
		return
	}
	w.Object()
	w.Name("role").Text("assistant")
	if len(said) > 0 {
		w.content(joined(said))
	} else {
		w.Name("content").Null()
		w.has |= completion.HasNulls
	}
	w.reasoning(reasoning)
	w.calls(calls)
	w.EndObject()
}

// joined makes one text of several, the form that most servers require of an assistant's content, unless there is more than text in it.
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

// reasoning writes reasoning as text, and as reasoning_details, from which a further gateway can restore it.
func (w *writer) reasoning(parts []completion.Part) {
	if len(parts) == 0 {
		return
	}
	w.has |= completion.HasReasoning
	var text strings.Builder
	for i := range parts {
		text.WriteString(parts[i].Reasoning.Text)
	}
	if text.Len() > 0 || slices.ContainsFunc(parts, func(p completion.Part) bool {
		return p.Reasoning.Kind == completion.ReasoningText && p.Reasoning.Signature == ""
	}) {
		w.Name("reasoning").Text(text.String()) // some servers need it back even if it is empty
	}
	w.Name("reasoning_details").Array()
	for i := range parts {
		t := parts[i].Reasoning
		w.Object()
		switch t.Kind {
		case completion.ReasoningEncrypted:
			w.Name("type").Text("reasoning.encrypted")
			data := t.Data
			if t.Origin != "" || completion.ShownFormat(t.Format) != t.Format {
				data = pack.Pack(t) // only this gateway knows who reads it
			}
			w.Name("data").Text(data)
		case completion.ReasoningSummary:
			w.Name("type").Text("reasoning.summary")
			w.Name("summary").Text(t.Text)
		case completion.ReasoningText:
			w.Name("type").Text("reasoning.text")
			w.Name("text").Text(t.Text)
			if t.Signature != "" {
				w.Name("signature").Text(t.Signature)
			}
		}
		if t.ID != "" {
			w.Name("id").Text(t.ID)
		}
		if t.Format != "" {
			w.Name("format").Text(completion.ShownFormat(t.Format))
		}
		w.Name("index").Int(int64(i))
		w.EndObject()
	}
	w.EndArray()
}

func (w *writer) calls(parts []completion.Part) {
	if len(parts) == 0 {
		return
	}
	w.Name("tool_calls").Array()
	for i := range parts {
		c := parts[i].Call
		w.Object()
		w.Name("id").Text(c.ID)
		if c.Custom {
			w.Name("type").Text("custom")
			w.Name("custom").Object()
			w.Name("name").Text(c.Name)
			w.Name("input").Text(string(c.Arguments))
			w.Close("}}")
			continue
		}
		w.Name("type").Text("function")
		w.Name("function").Object()
		w.Name("name").Text(c.Name)
		w.Name("arguments").Text(string(c.Arguments))
		if c.Signature != "" {
			w.has |= completion.HasThoughtSignature
			w.Name("thought_signature").Text(c.Signature)
		}
		w.Close("}}")
	}
	w.EndArray()
}

func (w *writer) tools() error {
	if len(w.p.Tools) == 0 {
		return nil
	}
	w.Name("tools").Array()
	for i := range w.p.Tools {
		t := &w.p.Tools[i]
		if t.Hosted != nil {
			return dialect.Cannot("tools", "tools of type "+t.HostedType)
		}
		w.Object()
		kind := "function"
		if t.Custom {
			kind = "custom"
		}
		w.Name("type").Text(kind)
		w.Name(kind).Object()
		w.Name("name").Text(t.Name)
		if t.Description != "" {
			w.Name("description").Text(t.Description)
		}
		if !t.Custom {
			w.Name("parameters").Raw(dialect.ObjectSchema(t.Parameters))
		}
		if t.Strict != nil {
			w.Name("strict").Bool(*t.Strict)
		}
		if g := t.Grammar; g != nil {
			w.Name("format").Object()
			w.Name("type").Text("grammar")
			w.Name("grammar").Object()
			w.Name("syntax").Text(g.Syntax)
			w.Name("definition").Text(g.Definition)
			w.Close("}}")
		}
		w.EndObject()
		w.mark(t.Cache)
		w.EndObject()
	}
	w.EndArray()
	w.choice()
	if w.p.Serial {
		w.Name("parallel_tool_calls").Bool(false)
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
		w.Name("tool_choice").Object()
		w.Name("type").Text("allowed_tools")
		w.Name("allowed_tools").Object()
		w.Name("mode").Text(mode)
		w.Name("tools").Array()
		for _, name := range c.Allowed {
			w.Object()
			w.named("function", name)
			w.EndObject()
		}
		w.Close("]}}")
	case c.Mode == completion.ChoiceAuto:
		w.Name("tool_choice").Text("auto")
	case c.Mode == completion.ChoiceNone:
		w.Name("tool_choice").Text("none")
	case c.Mode == completion.ChoiceRequired:
		w.Name("tool_choice").Text("required")
	case c.Mode == completion.ChoiceTool:
		kind := "function"
		if c.Custom {
			kind = "custom"
		}
		w.Name("tool_choice").Object()
		w.named(kind, c.Name)
		w.EndObject()
	}
}

// named writes a tool choice: the tool's type, and its name in an object of that type.
func (w *writer) named(kind, name string) {
	w.Name("type").Text(kind)
	w.Name(kind).Object()
	w.Name("name").Text(name)
	w.EndObject()
}

func (w *writer) sampling() {
	s := &w.p.Sampling
	for _, n := range [...]struct{ name, value string }{
		{"temperature", s.Temperature}, {"top_p", s.TopP}, {"top_k", s.TopK}, {"min_p", s.MinP}, {"top_a", s.TopA}, {"frequency_penalty", s.FrequencyPenalty},
		{"presence_penalty", s.PresencePenalty}, {"repetition_penalty", s.RepetitionPenalty}, {"seed", s.Seed},
	} {
		if n.value != "" {
			w.Name(n.name).Literal(n.value)
		}
	}
	if s.LogitBias != nil {
		w.Name("logit_bias").Raw(s.LogitBias)
	}
	if s.Logprobs {
		w.Name("logprobs").Bool(true)
		if s.TopLogprobs > 0 {
			w.Name("top_logprobs").Int(int64(s.TopLogprobs))
		}
	}
	if s.Verbosity != "" {
		w.Name("verbosity").Text(s.Verbosity)
	}
	if len(w.p.Stop) > 0 {
		w.Name("stop").Texts(w.p.Stop)
	}
}

func (w *writer) format() {
	f := &w.p.Format
	switch f.Kind {
	case completion.FormatText:
	case completion.FormatJSON:
		w.Name("response_format").Literal(`{"type":"json_object"}`)
	case completion.FormatSchema:
		w.Name("response_format").Object()
		w.Name("type").Text("json_schema")
		w.Name("json_schema").Object()
		w.Name("name").Text(f.Name)
		if f.Description != "" {
			w.Name("description").Text(f.Description)
		}
		if f.Schema != nil {
			w.Name("schema").Raw(f.Schema)
		}
		if f.Strict != nil {
			w.Name("strict").Bool(*f.Strict)
		}
		w.Close("}}")
	}
}

// modalities writes what the answer may have besides text.
func (w *writer) modalities() {
	out := w.req.Needs.Output
	if out&(catalog.Image|catalog.Audio) == 0 {
		return
	}
	words := []string{"text"}
	if out&catalog.Image != 0 {
		words = append(words, "image")
	}
	if out&catalog.Audio != 0 {
		words = append(words, "audio")
	}
	w.Name("modalities").Texts(words)
	if a := w.p.Audio; a != nil && out&catalog.Audio != 0 {
		w.Name("audio").Object()
		w.Name("voice").Text(a.Voice)
		w.Name("format").Text(a.Format)
		w.EndObject()
	}
}

func (w *writer) rest() {
	if n := w.req.MaxTokens; n > 0 {
		w.Name("max_completion_tokens").Int(n)
	}
	if w.req.N > 1 {
		w.Name("n").Int(int64(w.req.N))
	}
	w.modalities()
	if s := w.p.Search; s != nil {
		w.Name("web_search_options").Object()
		if s.ContextSize != "" {
			w.Name("search_context_size").Text(s.ContextSize)
		}
		if s.Location != nil {
			w.Name("user_location").Raw(s.Location)
		}
		w.EndObject()
	}
	if w.p.CacheKey != "" {
		w.Name("prompt_cache_key").Text(w.p.CacheKey)
	}
	if w.p.Cache != "" {
		w.mark(w.p.Cache)
	}
	if w.req.User != "" {
		w.Name("user").Text(w.req.User)
	}
	if w.req.Stream {
		w.Name("stream").Bool(true)
	}
}
