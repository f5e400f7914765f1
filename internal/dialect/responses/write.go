package responses

import (
	"bytes"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
)

// write writes a request that came by another wire.
func (e *encoder) write() error {
	p, err := e.req.Prompt()
	if err != nil {
		return err
	}
	p, notice := dialect.Search(e.ep, e.req, p)
	if notice != "" {
		e.sent.Explain(dialect.FieldSearch, "tools", notice)
	}
	if err := dialect.OneAnswer(e.req); err != nil {
		return err
	}
	e.sent.Has(dialect.FieldCap | dialect.FieldN | dialect.FieldTools | dialect.FieldChoice | dialect.FieldSerial | dialect.FieldFormat |
		dialect.FieldVerbosity)
	e.Writer = dialect.Writer(len(e.req.Body))
	e.Object()
	e.Name("model").Text(e.ep.UpstreamID)
	e.Name("input").Array()
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
	e.EndArray()
	if err := e.tools(p); err != nil {
		return err
	}
	e.settings(p)
	var include []byte
	if p.Sampling.Logprobs {
		include = []byte(`["message.output_text.logprobs"]`)
	}
	e.close(include, nil)
	e.sent.Translated(e.ep, e.req)
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
			e.reasoned(part.Reasoning)
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

// standsAlone reports whether a part is a separate item on this wire.
func standsAlone(k completion.PartKind) bool {
	return k == completion.CallPart || k == completion.ResultPart || k == completion.ReasoningPart
}

func (e *encoder) message(role, kind string, parts []completion.Part) error {
	e.Object()
	e.Name("type").Text("message")
	e.Name("role").Text(role)
	e.Name("content").Array()
	if err := e.content(kind, parts); err != nil {
		return err
	}
	e.Close("]}")
	return nil
}

func (e *encoder) content(kind string, parts []completion.Part) error {
	for i := range parts {
		part := &parts[i]
		e.Object()
		switch part.Kind {
		case completion.TextPart:
			e.Name("type").Text(kind)
			e.Name("text").Text(part.Text)
			if kind == "output_text" {
				e.Name("annotations").Literal("[]")
			}
		case completion.RefusalPart:
			e.Name("type").Text("refusal")
			e.Name("refusal").Text(part.Text)
		case completion.ImagePart:
			if kind == "output_text" {
				return dialect.Cannot("messages", "images in assistant messages")
			}
			e.Name("type").Text("input_image")
			e.media("image_url", "image_url", part.Media)
			e.Name("detail").Text(orAuto(part.Media.Detail))
		case completion.FilePart:
			e.Name("type").Text("input_file")
			e.media("file_data", "file_url", part.Media)
			if part.Media.Name != "" && part.Media.FileID == "" {
				e.Name("filename").Text(part.Media.Name)
			}
		case completion.AudioPart:
			if part.Media.Base64.None() {
				return dialect.Cannot("messages", "audio by URL")
			}
			e.Name("type").Text("input_audio")
			e.Name("input_audio").Object()
			e.Name("data").Base64(part.Media.Base64)
			_, format, _ := bytes.Cut([]byte(part.Media.Type), []byte("/"))
			e.Name("format").Text(string(format))
			e.EndObject()
		default:
			return dialect.Cannot("messages", "videos")
		}
		e.EndObject()
	}
	return nil
}

func orAuto(detail string) string {
	if detail == "" {
		return "auto"
	}
	return detail
}

// media writes an address, or the bytes as a data URL.
func (e *encoder) media(byValue, byAddress string, m *completion.Media) {
	switch {
	case m.FileID != "":
		e.Name("file_id").Text(m.FileID)
	case !m.Base64.None():
		kind := m.Type
		if kind == "" {
			kind = "application/octet-stream"
		}
		e.Name(byValue).DataURL(kind, m.Base64)
	default:
		e.Name(byAddress).Text(m.URL)
	}
}

func (e *encoder) call(c *completion.Call) {
	e.foreign = e.foreign || c.Signature != "" // no vendor of this wire signs calls
	e.Object()
	kind, member := "function_call", "arguments"
	if c.Custom {
		kind, member = "custom_tool_call", "input"
	}
	e.Name("type").Text(kind)
	e.Name("call_id").Text(c.ID)
	e.Name("name").Text(c.Name)
	e.Name(member).Bytes(c.Arguments)
	e.EndObject()
}

func (e *encoder) result(r *completion.Result, custom bool) error {
	e.Object()
	if custom {
		e.Name("type").Text("custom_tool_call_output")
	} else {
		e.Name("type").Text("function_call_output")
	}
	e.Name("call_id").Text(r.CallID)
	if words, ok := wordsOf(r.Parts); ok {
		e.Name("output").Text(words)
	} else {
		e.Name("output").Array()
		if err := e.content("input_text", r.Parts); err != nil {
			return err
		}
		e.EndArray()
	}
	e.EndObject()
	return nil
}

// wordsOf returns a result that is one text.
func wordsOf(parts []completion.Part) (string, bool) {
	switch {
	case len(parts) == 0:
		return "", true
	case len(parts) == 1 && parts[0].Kind == completion.TextPart:
		return parts[0].Text, true
	}
	return "", false
}

// reasoned writes reasoning that the endpoint can read.
func (e *encoder) reasoned(t *completion.ReasoningDetail) {
	if !e.own(t) {
		e.foreign = e.foreign || t.Kind == completion.ReasoningEncrypted || t.Signature != ""
		return
	}
	e.Object()
	e.Name("type").Text("reasoning")
	if t.ID != "" {
		e.Name("id").Text(t.ID)
	}
	e.Name("summary").Literal("[]")
	e.Name("encrypted_content").Text(t.Data)
	e.EndObject()
}

func (e *encoder) tools(p *completion.Prompt) error {
	if len(p.Tools) == 0 && p.Search == nil {
		return nil
	}
	e.Name("tools").Array()
	for i := range p.Tools {
		t := &p.Tools[i]
		if t.Hosted != nil {
			return dialect.Cannot("tools", "tools of type "+t.HostedType)
		}
		e.tool(t)
	}
	if s := p.Search; s != nil {
		e.sent.Has(dialect.FieldSearch)
		e.sent.Domains(e.req, s, true, false)
		e.search(s)
	}
	e.EndArray()
	e.choice(&p.Choice)
	if p.Serial {
		e.Name("parallel_tool_calls").Bool(false)
	}
	return nil
}

func (e *encoder) tool(t *completion.Tool) {
	e.Object()
	kind := "function"
	if t.Custom {
		kind = "custom"
	}
	e.Name("type").Text(kind)
	e.Name("name").Text(t.Name)
	if t.Description != "" {
		e.Name("description").Text(t.Description)
	}
	switch {
	case t.Custom:
		if g := t.Grammar; g != nil {
			e.Name("format").Object()
			e.Name("type").Text("grammar")
			e.Name("syntax").Text(g.Syntax)
			e.Name("definition").Text(g.Definition)
			e.EndObject()
		}
	default:
		e.Name("parameters").Raw(dialect.ObjectSchema(t.Parameters))
		e.Name("strict").Bool(t.Strict != nil && *t.Strict) // true is the default of this wire and false that of others
	}
	e.EndObject()
}

func (e *encoder) search(s *completion.Search) {
	e.Object()
	e.Name("type").Text("web_search")
	if s.ContextSize != "" {
		e.Name("search_context_size").Text(s.ContextSize)
	}
	if s.Location != nil {
		e.Name("user_location").Raw(s.Location)
	}
	if len(s.Include) > 0 {
		e.Name("filters").Object()
		e.Name("allowed_domains").Texts(s.Include)
		e.EndObject()
	}
	e.EndObject()
}

func (e *encoder) choice(c *completion.Choice) {
	switch {
	case c.Allowed != nil:
		e.Name("tool_choice").Object()
		e.Name("type").Text("allowed_tools")
		mode := "auto"
		if c.Mode == completion.ChoiceRequired {
			mode = "required"
		}
		e.Name("mode").Text(mode)
		e.Name("tools").Array()
		for _, name := range c.Allowed {
			e.Object()
			e.Name("type").Text("function")
			e.Name("name").Text(name)
			e.EndObject()
		}
		e.Close("]}")
	case c.Mode == completion.ChoiceAuto:
		e.Name("tool_choice").Text("auto")
	case c.Mode == completion.ChoiceNone:
		e.Name("tool_choice").Text("none")
	case c.Mode == completion.ChoiceRequired:
		e.Name("tool_choice").Text("required")
	case c.Mode == completion.ChoiceTool:
		kind := "function"
		if c.Custom {
			kind = "custom"
		}
		e.Name("tool_choice").Object()
		e.Name("type").Text(kind)
		e.Name("name").Text(c.Name)
		e.EndObject()
	}
}

func (e *encoder) settings(p *completion.Prompt) {
	req, s := e.req, &p.Sampling
	if req.Stream {
		e.Name("stream").Bool(true)
	}
	if req.MaxTokens > 0 {
		e.Name("max_output_tokens").Int(max(req.MaxTokens, leastCap))
	}
	for _, m := range [...]struct {
		name, value string
		field       dialect.Fields
	}{{"temperature", s.Temperature, dialect.FieldTemperature}, {"top_p", s.TopP, dialect.FieldTopP}} {
		if m.value != "" && e.takes(m.name) {
			e.sent.Has(m.field)
			e.Name(m.name).Literal(m.value)
		}
	}
	if s.Logprobs && e.takes("top_logprobs") {
		e.sent.Has(dialect.FieldLogprobs | dialect.FieldTopLogprobs)
		e.Name("top_logprobs").Int(int64(s.TopLogprobs))
	}
	if p.CacheKey != "" && !e.dropped("prompt_cache_key") {
		e.Name("prompt_cache_key").Text(p.CacheKey)
	}
	if req.User != "" && !e.dropped("user") {
		e.Name("user").Text(dialect.HashUser(req.Account, []byte(req.User)))
	}
	if len(p.Stop) > 0 {
		e.sent.Explain(dialect.FieldStop, "stop", "The stop sequences were left out, because the provider has none.")
	}
	if p.Audio != nil {
		e.sent.Explain(dialect.FieldAudio, "audio", "Audio output was left out, because the provider has none.")
	}
	e.shape(&p.Format, s.Verbosity)
}

// takes reports whether the endpoint supports a parameter.
func (e *encoder) takes(name string) bool {
	p := catalog.ParamNamed(name)
	return e.ep.Params&p == p && !e.dropped(name)
}

// shape writes the member text.
func (e *encoder) shape(f *completion.Format, verbosity string) {
	if f.Kind == completion.FormatText && verbosity == "" {
		return
	}
	e.Name("text").Object()
	if verbosity != "" {
		e.Name("verbosity").Text(verbosity)
	}
	switch f.Kind {
	case completion.FormatJSON:
		e.Name("format").Literal(`{"type":"json_object"}`)
	case completion.FormatSchema:
		e.Name("format").Object()
		e.Name("type").Text("json_schema")
		e.Name("name").Text(f.Name)
		if f.Description != "" {
			e.Name("description").Text(f.Description)
		}
		e.Name("schema").Raw(f.Schema)
		if f.Strict != nil {
			e.Name("strict").Bool(*f.Strict)
		}
		e.EndObject()
	case completion.FormatText:
	}
	e.EndObject()
}
