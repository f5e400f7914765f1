package gigachat

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// encoder writes one request from its canonical form.
type encoder struct {
	ep   *catalog.Endpoint
	req  *completion.Request
	p    *completion.Prompt
	sent dialect.Sent
	rawjson.Writer
}

func (e *encoder) encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if e.req.WithoutReasoning || e.p.Foreign(completion.FormatGigaChat) {
		e.sent.Note(completion.NoticeReasoning)
	}
	e.sent.Has(dialect.FieldCap | dialect.FieldN | dialect.FieldTools | dialect.FieldChoice | dialect.FieldFormat |
		dialect.FieldSerial) // an answer of this wire has one call
	e.B = make([]byte, 0, len(e.req.Body)+512)
	e.Object()
	e.Name("model").Text(e.ep.UpstreamID)
	if err := e.messages(); err != nil {
		return nil, err
	}
	e.functions()
	e.sampling()
	e.format()
	if e.req.Stream {
		e.Name("stream").Bool(true)
	}
	e.EndObject()
	return e.B, nil
}

// check refuses requests that this wire cannot express.
func (e *encoder) check() error {
	if err := dialect.OneAnswer(e.req); err != nil {
		return err
	}
	switch {
	case e.req.Search != nil: // a search that is required, not merely offered to the model
		return dialect.Cannot("plugins", "a web search")
	case e.p.Search != nil:
		e.sent.Explain(dialect.FieldSearch, "tools", completion.NoticeSearch)
	}
	if err := e.sent.OnlyFunctions(e.p); err != nil {
		return err
	}
	return nil
}

// messages writes the conversation: all instructions in one message at the front, and each call with its result before the next.
func (e *encoder) messages() error {
	e.Name("messages").Array()
	e.system()
	results := e.results()
	for i := range e.p.Turns {
		t := &e.p.Turns[i]
		var err error
		switch t.Role {
		case completion.User:
			err = e.user(t.Parts)
		case completion.Assistant:
			err = e.assistant(t.Parts, results)
		case completion.System: // at the front
		}
		if err != nil {
			return err
		}
	}
	if len(e.p.Spoken()) == 0 {
		e.say("user", completion.Filler)
		e.EndObject()
	}
	e.EndArray()
	return nil
}

func (e *encoder) system() {
	var all []string
	collect := func(parts []completion.Part) {
		if text := joined(parts); text != "" {
			all = append(all, text)
		}
	}
	collect(e.p.System)
	for i := range e.p.Turns {
		if e.p.Turns[i].Role == completion.System {
			collect(e.p.Turns[i].Parts)
		}
	}
	if len(all) > 0 {
		e.say("system", strings.Join(all, "\n\n"))
		e.EndObject()
	}
}

// joined is the text of parts, without those of white space.
func joined(parts []completion.Part) string {
	var text []string
	for i := range parts {
		if k := parts[i].Kind; (k == completion.TextPart || k == completion.RefusalPart) && strings.TrimSpace(parts[i].Text) != "" {
			text = append(text, parts[i].Text)
		}
	}
	return strings.Join(text, "\n")
}

// say begins a message; the caller writes its closing brace.
func (e *encoder) say(role, content string) {
	e.Object()
	e.Name("role").Text(role)
	e.Name("content").Text(content)
}

// results returns the tool results by the ids of the calls.
func (e *encoder) results() map[string]*completion.Result {
	var out map[string]*completion.Result
	for i := range e.p.Turns {
		for j := range e.p.Turns[i].Parts {
			if r := e.p.Turns[i].Parts[j].Result; r != nil {
				if out == nil {
					out = make(map[string]*completion.Result)
				}
				out[r.CallID] = r
			}
		}
	}
	return out
}

// user writes a user's message; tool results follow their calls instead.
func (e *encoder) user(parts []completion.Part) error {
	var files []string
	said := false
	for i := range parts {
		part := &parts[i]
		said = said || part.Kind != completion.ResultPart
		if part.Media == nil {
			continue
		}
		if part.Media.FileID == "" {
			return dialect.Cannot("messages", "images, audio and documents, except by the id of a file that was uploaded to it")
		}
		files = append(files, part.Media.FileID)
	}
	if !said {
		return nil
	}
	e.say("user", cmp.Or(joined(parts), completion.Filler))
	if len(files) > 0 {
		e.Name("attachments").Texts(files)
	}
	e.EndObject()
	return nil
}

// assistant writes an answer: one message, or one for each call, because a message of this wire has one call and its result must follow
// it.
func (e *encoder) assistant(parts []completion.Part, results map[string]*completion.Result) error {
	text, states := joined(parts), states(parts)
	called := false
	for i := range parts {
		c := parts[i].Call
		if c == nil {
			continue
		}
		arguments, err := dialect.ObjectArguments(c)
		if err != nil {
			return err
		}
		e.say("assistant", text)
		e.Name("function_call").Object()
		e.Name("name").Text(c.Name)
		e.Name("arguments").Raw(arguments)
		e.EndObject()
		if len(states) > 0 {
			e.Name("functions_state_id").Text(states[0])
			states = states[1:]
		}
		e.EndObject()
		text, called = "", true
		if r := results[c.ID]; r != nil {
			if err := e.result(c.Name, r); err != nil {
				return err
			}
		}
	}
	if !called && text != "" {
		e.say("assistant", text)
		e.EndObject()
	}
	return nil
}

// states returns the ids of the states that the service keeps of its calls, in their order.
func states(parts []completion.Part) (list []string) {
	for i := range parts {
		if t := parts[i].Reasoning; t != nil && t.Format == completion.FormatGigaChat && t.Kind == completion.ReasoningEncrypted {
			list = append(list, t.Data)
		}
	}
	return list
}

// result writes a function's result, which must be JSON in a string.
func (e *encoder) result(name string, r *completion.Result) error {
	for i := range r.Parts {
		if r.Parts[i].Media != nil {
			return dialect.Cannot("messages", "images and documents in tool results")
		}
	}
	said := []byte(joined(r.Parts))
	switch {
	case r.Failed:
		said = append(rawjson.AppendString([]byte(`{"error":`), said), '}')
	case !rawjson.Valid(said) || rawjson.KindOf(said) != rawjson.Object:
		said = append(rawjson.AppendString([]byte(`{"result":`), said), '}')
	}
	e.say("function", string(said))
	e.Name("name").Text(name)
	e.EndObject()
	return nil
}

func (e *encoder) functions() {
	c := &e.p.Choice
	var list []*completion.Tool
	for i := range e.p.Tools {
		if t := &e.p.Tools[i]; c.Allowed == nil || slices.Contains(c.Allowed, t.Name) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return
	}
	e.Name("functions").Array()
	for _, t := range list {
		e.Object()
		e.Name("name").Text(t.Name)
		if t.Description != "" {
			e.Name("description").Text(t.Description)
		}
		e.Name("parameters").Raw(dialect.ObjectSchema(t.Parameters))
		e.EndObject()
	}
	e.EndArray()
	only := c.Name
	if c.Mode == completion.ChoiceRequired && len(list) == 1 {
		only = list[0].Name
	}
	switch {
	case c.Mode == completion.ChoiceNone:
		e.Name("function_call").Text("none")
	case only != "":
		e.Name("function_call").Object()
		e.Name("name").Text(only)
		e.EndObject()
	default: // the service calls no function unless it is requested
		e.Name("function_call").Text("auto")
		if c.Mode == completion.ChoiceRequired {
			e.sent.Explain(dialect.FieldChoice, "tool_choice", "tool_choice was left out, because the provider cannot require one of several tools.")
		}
	}
}

func (e *encoder) sampling() {
	s := &e.p.Sampling
	for _, n := range [...]struct {
		name, value string
		param       catalog.Params
		field       dialect.Fields
	}{
		{"temperature", s.Temperature, catalog.ParamTemperature, dialect.FieldTemperature}, {"top_p", s.TopP, catalog.ParamTopP, dialect.FieldTopP},
		{"repetition_penalty", s.RepetitionPenalty, catalog.ParamRepetitionPenalty, dialect.FieldRepetitionPenalty},
	} {
		if n.value != "" && e.ep.Params&n.param != 0 {
			e.sent.Has(n.field)
			e.Name(n.name).Literal(n.value)
		}
	}
	if e.req.MaxTokens > 0 {
		e.Name("max_tokens").Int(e.req.MaxTokens)
	}
	if len(e.p.Stop) > 0 {
		e.sent.Explain(dialect.FieldStop, "stop", "The stop sequences were left out, because the provider has none.")
	}
	r := &e.req.Reasoning
	switch {
	case !r.Chosen() || e.ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) == 0:
	case r.Off():
		e.sent.Explain(dialect.FieldReasoning, "reasoning", "Reasoning could not be switched off, because the provider has no setting for it.")
	default:
		e.sent.Has(dialect.FieldReasoning)
		e.Name("reasoning_effort").Text(leveled(r.EffortOf(e.req.AnswerCap(e.ep.MaxCompletion))))
	}
}

// leveled is the nearest of the three efforts that the wire has.
func leveled(effort string) string {
	switch effort {
	case "minimal", "low":
		return "low"
	case "", "medium":
		return "medium"
	}
	return "high"
}

func (e *encoder) format() {
	f := &e.p.Format
	if f.Kind == completion.FormatText {
		return
	}
	e.Name("response_format").Object()
	e.Name("type").Text("json_schema")
	if schema := string(f.Schema); f.Kind == completion.FormatSchema && schema != "" {
		e.Name("schema").Literal(schema)
	} else {
		e.Name("schema").Literal(`{"type":"object"}`)
	}
	if f.Strict != nil {
		e.Name("strict").Bool(*f.Strict)
	}
	e.EndObject()
}
