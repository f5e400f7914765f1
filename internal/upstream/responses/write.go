package responses

import (
	"bytes"
	"strconv"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/upstream"
	"weir/internal/wire"
)

func (e *encoder) cannot(param, what string) error {
	f := fault.Field("responses.Request", param, "The provider of this model does not take %s.", what)
	f.Next = fault.NextEndpoint
	return f
}

// write writes a request that came by another wire.
func (e *encoder) write() error {
	p, err := e.req.Prompt()
	if err != nil {
		return err
	}
	p, notice := upstream.Search(e.ep, e.req, p)
	if notice != "" {
		e.note(notice)
	}
	if e.req.N > 1 {
		return e.cannot("n", "more than one answer to a request")
	}
	e.out = append(make([]byte, 0, len(e.req.Body)+512), '{')
	e.text("model", e.ep.UpstreamID)
	e.name("input")
	e.out = append(e.out, '[')
	if len(p.System) > 0 {
		if err := e.message("system", "input_text", p.System); err != nil {
			return err
		}
	}
	custom := map[string]bool{}
	for i := range p.Turns {
		if err := e.turn(&p.Turns[i], custom); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	if err := e.tools(p); err != nil {
		return err
	}
	e.settings(p)
	var body []byte
	if p.Sampling.Logprobs {
		body = []byte(`{"include":["message.output_text.logprobs"]}`)
	}
	e.close(body)
	return nil
}

func (e *encoder) turn(t *completion.Turn, custom map[string]bool) error {
	role, kind := "user", "input_text"
	switch t.Role {
	case completion.System:
		role = "system"
	case completion.Assistant:
		role, kind = "assistant", "output_text"
	case completion.User:
	}
	for at := 0; at < len(t.Parts); {
		part := &t.Parts[at]
		switch part.Kind {
		case completion.CallPart:
			custom[part.Call.ID] = part.Call.Custom
			e.call(part.Call)
		case completion.ResultPart:
			if err := e.result(part.Result, custom[part.Result.CallID]); err != nil {
				return err
			}
		case completion.ReasoningPart:
			e.reasoned(part.Thought)
		default:
			end := at + 1
			for end < len(t.Parts) && !standsAlone(t.Parts[end].Kind) {
				end++
			}
			if err := e.message(role, kind, t.Parts[at:end]); err != nil {
				return err
			}
			at = end
			continue
		}
		at++
	}
	return nil
}

// standsAlone tells the parts that are items of their own on this wire.
func standsAlone(k completion.PartKind) bool {
	return k == completion.CallPart || k == completion.ResultPart || k == completion.ReasoningPart
}

func (e *encoder) message(role, kind string, parts []completion.Part) error {
	e.next()
	e.out = append(e.out, `{"type":"message"`...)
	e.text("role", role)
	e.name("content")
	e.out = append(e.out, '[')
	if err := e.content(kind, parts); err != nil {
		return err
	}
	e.out = append(e.out, "]}"...)
	return nil
}

func (e *encoder) content(kind string, parts []completion.Part) error {
	for i := range parts {
		part := &parts[i]
		e.next()
		e.out = append(e.out, '{')
		switch part.Kind {
		case completion.TextPart:
			e.text("type", kind)
			e.text("text", part.Text)
			if kind == "output_text" {
				e.raw("annotations", []byte("[]"))
			}
		case completion.RefusalPart:
			e.text("type", "refusal")
			e.text("refusal", part.Text)
		case completion.ImagePart:
			if kind == "output_text" {
				return e.cannot("messages", "pictures as words of the model")
			}
			e.text("type", "input_image")
			e.media("image_url", "image_url", part.Media)
			e.text("detail", orAuto(part.Media.Detail))
		case completion.FilePart:
			e.text("type", "input_file")
			e.media("file_data", "file_url", part.Media)
			if part.Media.Name != "" && part.Media.FileID == "" {
				e.text("filename", part.Media.Name)
			}
		case completion.AudioPart:
			if part.Media.Base64 == nil {
				return e.cannot("messages", "audio by its address")
			}
			e.text("type", "input_audio")
			e.name("input_audio")
			e.out = append(e.out, '{')
			e.name("data")
			e.out = append(append(append(e.out, '"'), part.Media.Base64...), '"')
			_, format, _ := bytes.Cut([]byte(part.Media.Type), []byte("/"))
			e.text("format", string(format))
			e.out = append(e.out, '}')
		default:
			return e.cannot("messages", "videos")
		}
		e.out = append(e.out, '}')
	}
	return nil
}

func orAuto(detail string) string {
	if detail == "" {
		return "auto"
	}
	return detail
}

// media writes where something is, or the thing itself as a data URL.
func (e *encoder) media(byValue, byAddress string, m *completion.Media) {
	switch {
	case m.FileID != "":
		e.text("file_id", m.FileID)
	case m.Base64 != nil:
		kind := m.Type
		if kind == "" {
			kind = "application/octet-stream"
		}
		e.name(byValue)
		e.out = append(append(append(e.out, `"data:`...), kind...), ";base64,"...)
		e.out = append(append(e.out, m.Base64...), '"')
	default:
		e.text(byAddress, m.URL)
	}
}

func (e *encoder) call(c *completion.Call) {
	e.foreign = e.foreign || c.Signature != "" // nobody of this wire signs calls
	e.next()
	e.out = append(e.out, '{')
	kind, member := "function_call", "arguments"
	if c.Custom {
		kind, member = "custom_tool_call", "input"
	}
	e.text("type", kind)
	e.text("call_id", c.ID)
	e.text("name", c.Name)
	e.name(member)
	e.out = append(rawjson.AppendString(e.out, c.Arguments), '}')
}

func (e *encoder) result(r *completion.Result, custom bool) error {
	e.next()
	e.out = append(e.out, '{')
	if custom {
		e.text("type", "custom_tool_call_output")
	} else {
		e.text("type", "function_call_output")
	}
	e.text("call_id", r.CallID)
	if words, ok := wordsOf(r.Parts); ok {
		e.text("output", words)
	} else {
		e.name("output")
		e.out = append(e.out, '[')
		if err := e.content("input_text", r.Parts); err != nil {
			return err
		}
		e.out = append(e.out, ']')
	}
	e.out = append(e.out, '}')
	return nil
}

// wordsOf is a result that is one text.
func wordsOf(parts []completion.Part) (string, bool) {
	switch {
	case len(parts) == 0:
		return "", true
	case len(parts) == 1 && parts[0].Kind == completion.TextPart:
		return parts[0].Text, true
	}
	return "", false
}

// reasoned writes reasoning that is the endpoint's own.
func (e *encoder) reasoned(t *completion.Thought) {
	if packed, ok := wire.Unpack(t.Data); ok {
		t = &packed
	}
	if !e.own(t) {
		e.foreign = e.foreign || t.Kind == completion.ThoughtEncrypted || t.Signature != ""
		return
	}
	e.next()
	e.out = append(e.out, `{"type":"reasoning"`...)
	if t.ID != "" {
		e.text("id", t.ID)
	}
	e.raw("summary", []byte("[]"))
	e.text("encrypted_content", t.Data)
	e.out = append(e.out, '}')
}

func (e *encoder) tools(p *completion.Prompt) error {
	if len(p.Tools) == 0 && p.Search == nil {
		return nil
	}
	e.name("tools")
	e.out = append(e.out, '[')
	for i := range p.Tools {
		t := &p.Tools[i]
		if t.Hosted != nil && !t.Custom {
			return e.cannot("tools", "tools of type "+t.HostedType)
		}
		e.tool(t)
	}
	if s := p.Search; s != nil {
		e.search(s)
	}
	e.out = append(e.out, ']')
	e.choice(&p.Choice)
	if p.Serial {
		e.raw("parallel_tool_calls", []byte("false"))
	}
	return nil
}

func (e *encoder) tool(t *completion.Tool) {
	e.next()
	e.out = append(e.out, '{')
	kind := "function"
	if t.Custom {
		kind = "custom"
	}
	e.text("type", kind)
	e.text("name", t.Name)
	if t.Description != "" {
		e.text("description", t.Description)
	}
	switch {
	case t.Custom:
		e.grammar(rawjson.FindPath(t.Hosted, "custom", "format"))
	default:
		parameters := t.Parameters
		if parameters == nil {
			parameters = []byte(`{"type":"object","properties":{}}`)
		}
		e.raw("parameters", parameters)
		e.name("strict") // absent is true on this wire and false on others
		e.out = strconv.AppendBool(e.out, t.Strict != nil && *t.Strict)
	}
	e.out = append(e.out, '}')
}

// grammar writes the format of a custom tool, which the chat wire writes one level deeper.
func (e *encoder) grammar(v []byte) {
	if rawjson.KindOf(v) != rawjson.Object {
		return
	}
	e.name("format")
	e.out = append(e.out, '{')
	for m := rawjson.MembersOf(v); m.Next(); {
		if string(m.Name) == "grammar" {
			for in := rawjson.MembersOf(m.Value); in.Next(); {
				e.raw(string(in.Name), in.Value)
			}
			continue
		}
		e.raw(string(m.Name), m.Value)
	}
	e.out = append(e.out, '}')
}

func (e *encoder) search(s *completion.Search) {
	e.next()
	e.out = append(e.out, `{"type":"web_search"`...)
	if s.ContextSize != "" {
		e.text("search_context_size", s.ContextSize)
	}
	if s.Location != nil {
		e.raw("user_location", s.Location)
	}
	if len(s.Include) > 0 {
		e.name("filters")
		e.out = append(e.out, `{"allowed_domains":[`...)
		for _, domain := range s.Include {
			e.next()
			e.out = rawjson.AppendText(e.out, domain)
		}
		e.out = append(e.out, "]}"...)
	}
	e.out = append(e.out, '}')
}

func (e *encoder) choice(c *completion.Choice) {
	switch {
	case c.Allowed != nil:
		e.name("tool_choice")
		e.out = append(e.out, `{"type":"allowed_tools"`...)
		mode := "auto"
		if c.Mode == completion.ChoiceRequired {
			mode = "required"
		}
		e.text("mode", mode)
		e.name("tools")
		e.out = append(e.out, '[')
		for _, name := range c.Allowed {
			e.next()
			e.out = append(rawjson.AppendText(append(e.out, `{"type":"function","name":`...), name), '}')
		}
		e.out = append(e.out, "]}"...)
	case c.Mode == completion.ChoiceAuto:
		e.text("tool_choice", "auto")
	case c.Mode == completion.ChoiceNone:
		e.text("tool_choice", "none")
	case c.Mode == completion.ChoiceRequired:
		e.text("tool_choice", "required")
	case c.Mode == completion.ChoiceTool:
		kind := "function"
		if c.Custom {
			kind = "custom"
		}
		e.name("tool_choice")
		e.out = append(e.out, '{')
		e.text("type", kind)
		e.text("name", c.Name)
		e.out = append(e.out, '}')
	}
}

func (e *encoder) settings(p *completion.Prompt) {
	req, s := e.req, &p.Sampling
	if req.Stream {
		e.raw("stream", []byte("true"))
	}
	if req.MaxTokens > 0 {
		e.name("max_output_tokens")
		e.out = strconv.AppendInt(e.out, max(req.MaxTokens, leastCap), 10)
	}
	for _, m := range [...]struct{ name, value string }{{"temperature", s.Temperature}, {"top_p", s.TopP}} {
		if m.value != "" && e.takes(m.name) {
			e.raw(m.name, []byte(m.value))
		}
	}
	if s.Logprobs && e.takes("top_logprobs") {
		e.name("top_logprobs")
		e.out = strconv.AppendInt(e.out, int64(s.TopLogprobs), 10)
	}
	if p.CacheKey != "" && !e.dropped("prompt_cache_key") {
		e.text("prompt_cache_key", p.CacheKey)
	}
	if req.User != "" && !e.dropped("user") {
		e.name("user")
		e.out = appendHash(e.out, req.Account, []byte(req.User))
	}
	if len(p.Stop) > 0 {
		e.note("Stop sequences were left out: the provider of this model does not take them.")
	}
	if p.Sound != nil {
		e.note("Spoken output was left out: the provider of this model has none.")
	}
	e.shape(&p.Format, s.Verbosity)
}

// takes tells whether the endpoint understands a parameter.
func (e *encoder) takes(name string) bool {
	p := catalog.ParamNamed(name)
	return e.ep.Params&p == p && !e.dropped(name)
}

// shape writes the member text.
func (e *encoder) shape(f *completion.Format, verbosity string) {
	if f.Kind == completion.FormatText && verbosity == "" {
		return
	}
	e.name("text")
	e.out = append(e.out, '{')
	if verbosity != "" {
		e.text("verbosity", verbosity)
	}
	switch f.Kind {
	case completion.FormatJSON:
		e.raw("format", []byte(`{"type":"json_object"}`))
	case completion.FormatSchema:
		e.name("format")
		e.out = append(e.out, `{"type":"json_schema"`...)
		e.text("name", f.Name)
		if f.Description != "" {
			e.text("description", f.Description)
		}
		e.raw("schema", f.Schema)
		if f.Strict != nil {
			e.name("strict")
			e.out = strconv.AppendBool(e.out, *f.Strict)
		}
		e.out = append(e.out, '}')
	case completion.FormatText:
	}
	e.out = append(e.out, '}')
}
