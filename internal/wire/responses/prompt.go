package responses

import (
	"strconv"
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
	"weir/internal/wire/pack"
)

// source makes the canonical form of responses requests.
type source struct{}

// Prompt reads earlier turns and the input, item by item.
func (source) Prompt(req *completion.Request) (*completion.Prompt, error) {
	b := builder{p: &completion.Prompt{}, names: map[string]string{}}
	for _, m := range req.Members {
		if v := req.Body[m.Value:m.End]; !rawjson.IsNull(v) {
			b.field(m.Name, v)
		}
	}
	b.items("previous_response_id", req.History)
	b.input(req.Body[req.MessagesAt.Start:req.MessagesAt.End])
	if req.Compact {
		b.compact()
	}
	for i := range b.p.Turns {
		b.p.Turns[i].Parts = wire.Attach(b.p.Turns[i].Parts)
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.p, nil
}

type builder struct {
	p     *completion.Prompt
	names map[string]string // tool by call id
	err   *fault.Error
}

func (b *builder) fail(param, format string, args ...any) {
	if b.err == nil {
		b.err = fault.Newf(fault.InvalidPrompt, "responses.Prompt", format, args...)
		b.err.Param = param
	}
}

func (b *builder) field(name string, v []byte) {
	p, s := b.p, &b.p.Sampling
	switch name {
	case "instructions":
		if rawjson.KindOf(v) == rawjson.String {
			p.System = append(p.System, completion.Part{Text: rawjson.Text(v)})
		} else {
			b.items("instructions", v)
		}
	case "tools":
		for e := rawjson.ElementsOf(v); e.Next(); {
			b.tool(e.Value)
		}
	case "tool_choice":
		p.Choice = choiceOf(v)
	case "parallel_tool_calls":
		p.Serial = string(v) == "false"
	case "text":
		s.Verbosity = rawjson.TextAt(v, "verbosity")
		p.Format = formatOf(rawjson.Find(v, "format"))
	case "temperature":
		s.Temperature = string(v)
	case "top_p":
		s.TopP = string(v)
	case "top_k":
		s.TopK = string(v)
	case "frequency_penalty":
		s.FrequencyPenalty = string(v)
	case "presence_penalty":
		s.PresencePenalty = string(v)
	case "top_logprobs":
		n, _ := rawjson.Int(v)
		s.Logprobs, s.TopLogprobs = n > 0, int(n)
	case "prompt_cache_key":
		p.CacheKey = rawjson.Text(v)
	}
}

func (b *builder) tool(v []byte) {
	kind := rawjson.TextAt(v, "type")
	switch {
	case completion.IsAdvisor(kind):
	case kind == "function":
		b.p.Tools = append(b.p.Tools, completion.Tool{Name: rawjson.TextAt(v, "name"), Description: rawjson.TextAt(v, "description"),
			Parameters: wire.Present(rawjson.Find(v, "parameters")), Strict: wire.Truth(rawjson.Find(v, "strict"))})
	case kind == "custom":
		tool := completion.Tool{Name: rawjson.TextAt(v, "name"), Description: rawjson.TextAt(v, "description"), Custom: true, HostedType: kind}
		if format := rawjson.Find(v, "format"); rawjson.TextAt(format, "type") == "grammar" {
			tool.Grammar = &completion.Grammar{Syntax: rawjson.TextAt(format, "syntax"), Definition: rawjson.TextAt(format, "definition")}
		}
		b.p.Tools = append(b.p.Tools, tool)
	case kind == "namespace":
		b.namespace(v)
	case isSearch(kind):
		b.p.Search = &completion.Search{ContextSize: rawjson.TextAt(v, "search_context_size"), Location: wire.Present(rawjson.Find(v, "user_location")),
			Include: wire.Texts(rawjson.FindPath(v, "filters", "allowed_domains"))}
	default:
		b.p.Tools = append(b.p.Tools, completion.Tool{Name: rawjson.TextAt(v, "name"), Hosted: v, HostedType: kind})
	}
}

func choiceOf(v []byte) completion.Choice {
	switch rawjson.Text(v) {
	case "none":
		return completion.Choice{Mode: completion.ChoiceNone}
	case "auto":
		return completion.Choice{Mode: completion.ChoiceAuto}
	case "required":
		return completion.Choice{Mode: completion.ChoiceRequired}
	}
	switch kind := rawjson.TextAt(v, "type"); kind {
	case "function", "custom":
		return completion.Choice{Mode: completion.ChoiceTool, Name: rawjson.TextAt(v, "name"), Custom: kind == "custom"}
	case "allowed_tools":
		c := completion.Choice{Mode: completion.ChoiceAuto, Allowed: []string{}}
		if rawjson.TextAt(v, "mode") == "required" {
			c.Mode = completion.ChoiceRequired
		}
		for e := rawjson.ElementsOf(rawjson.Find(v, "tools")); e.Next(); {
			c.Allowed = append(c.Allowed, rawjson.TextAt(e.Value, "name"))
		}
		return c
	}
	return completion.Choice{}
}

func formatOf(v []byte) completion.Format {
	switch rawjson.TextAt(v, "type") {
	case "json_object":
		return completion.Format{Kind: completion.FormatJSON}
	case "json_schema":
		return completion.Format{Kind: completion.FormatSchema, Name: rawjson.TextAt(v, "name"), Description: rawjson.TextAt(v, "description"),
			Schema: wire.Present(rawjson.Find(v, "schema")), Strict: wire.Truth(rawjson.Find(v, "strict"))}
	}
	return completion.Format{}
}

func (b *builder) input(v []byte) {
	if rawjson.KindOf(v) == rawjson.String {
		b.add(completion.User, completion.Part{Text: rawjson.Text(v)})
		return
	}
	b.items("input", v)
}

func (b *builder) items(list string, v []byte) {
	at := 0
	for e := rawjson.ElementsOf(v); e.Next(); at++ {
		b.item(list+"["+strconv.Itoa(at)+"]", e.Value)
	}
}

// add appends a part to the last turn if it has that role, else to a new one.
func (b *builder) add(role completion.Role, parts ...completion.Part) {
	if n := len(b.p.Turns); n > 0 && b.p.Turns[n-1].Role == role && role == completion.Assistant {
		b.p.Turns[n-1].Parts = append(b.p.Turns[n-1].Parts, parts...)
		return
	}
	b.p.Turns = append(b.p.Turns, completion.Turn{Role: role, Parts: parts})
}

func (b *builder) item(path string, v []byte) {
	kind := rawjson.TextAt(v, "type")
	switch kind {
	case "", "message":
		b.message(path, v)
	case "function_call":
		call := &completion.Call{ID: rawjson.TextAt(v, "call_id"), Name: flatName(rawjson.TextAt(v, "namespace"), rawjson.TextAt(v, "name")), Arguments: []byte(rawjson.TextAt(v, "arguments"))}
		if len(strings.TrimSpace(string(call.Arguments))) == 0 {
			call.Arguments = []byte("{}")
		}
		b.call(path, call)
	case "custom_tool_call":
		b.call(path, &completion.Call{ID: rawjson.TextAt(v, "call_id"), Name: flatName(rawjson.TextAt(v, "namespace"), rawjson.TextAt(v, "name")),
			Arguments: []byte(rawjson.TextAt(v, "input")), Custom: true})
	case "function_call_output", "custom_tool_call_output":
		id := rawjson.TextAt(v, "call_id")
		b.add(completion.User, completion.Part{Kind: completion.ResultPart, Result: &completion.Result{CallID: id, Name: b.names[id], Parts: b.content(path+".output", rawjson.Find(v, "output"))}})
	case "reasoning":
		b.reasoning(v)
	case "additional_tools":
		for e := rawjson.ElementsOf(rawjson.Find(v, "tools")); e.Next(); {
			b.tool(e.Value)
		}
	case "item_reference":
		b.fail(path, "There is no stored item %q.", rawjson.TextAt(v, "id"))
	case "local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call":
		if name, arguments := pack.BuiltIn(v); name != "" && rawjson.TextAt(v, "call_id") != "" {
			b.call(path, &completion.Call{ID: rawjson.TextAt(v, "call_id"), Name: name, Arguments: arguments})
		}
	case "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "computer_call_output", "tool_search_output":
		b.builtInOutput(path, v)
	case "web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response", compactionType, triggerType, "program", "program_output":
		// calls of another provider's own tools mean nothing to this one
	default:
		b.fail(path, "The provider of this model does not take items of type %q.", kind[:min(len(kind), 64)])
	}
}

// builtInOutput reads the result of a call that pack.BuiltIn has read: its text, or what it has instead.
func (b *builder) builtInOutput(path string, v []byte) {
	id := rawjson.TextAt(v, "call_id")
	if b.names[id] == "" {
		return // the provider ran it
	}
	output := rawjson.Find(v, "output")
	if output == nil {
		output = rawjson.Find(v, "tools")
	}
	part := completion.Part{Text: rawjson.Text(output)}
	switch image := rawjson.Find(output, "image_url"); {
	case image != nil: // a screenshot
		part = completion.Part{Kind: completion.ImagePart, Media: wire.MediaFrom(&b.err, path+".output.image_url", image)}
	case rawjson.KindOf(output) != rawjson.String:
		part.Text = string(output)
	}
	b.add(completion.User, completion.Part{Kind: completion.ResultPart, Result: &completion.Result{CallID: id, Name: b.names[id], Parts: []completion.Part{part}}})
}

func (b *builder) call(path string, call *completion.Call) {
	if call.ID == "" || call.Name == "" {
		b.fail(path, "A call needs a call_id and a name.")
	}
	b.names[call.ID] = call.Name
	b.add(completion.Assistant, completion.Part{Kind: completion.CallPart, Call: call})
}

func (b *builder) message(path string, v []byte) {
	parts := b.content(path+".content", rawjson.Find(v, "content"))
	switch role := rawjson.TextAt(v, "role"); role {
	case "user":
		b.add(completion.User, parts...)
	case "assistant":
		b.add(completion.Assistant, parts...)
	case "system", "developer":
		if len(b.p.Turns) == 0 {
			b.p.System = append(b.p.System, parts...)
		} else {
			b.add(completion.System, parts...)
		}
	default:
		b.fail(path+".role", "A message needs a role: user, assistant, system or developer.")
	}
}

// content reads text or parts.
func (b *builder) content(path string, v []byte) (parts []completion.Part) {
	if rawjson.KindOf(v) == rawjson.String {
		return []completion.Part{{Text: rawjson.Text(v)}}
	}
	at := 0
	for e := rawjson.ElementsOf(v); e.Next(); at++ {
		if part, ok := b.part(path+"["+strconv.Itoa(at)+"]", e.Value); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

func (b *builder) part(path string, v []byte) (part completion.Part, ok bool) {
	switch kind := rawjson.TextAt(v, "type"); kind {
	case "input_text", "output_text", "text":
		return completion.Part{Text: rawjson.TextAt(v, "text")}, true
	case "refusal":
		return completion.Part{Kind: completion.RefusalPart, Text: rawjson.TextAt(v, "refusal")}, true
	case "input_image":
		media := &completion.Media{}
		if url := rawjson.Find(v, "image_url"); !rawjson.IsNull(url) {
			media = wire.MediaFrom(&b.err, path+".image_url", url)
		}
		media.FileID, media.Detail = rawjson.TextAt(v, "file_id"), rawjson.TextAt(v, "detail")
		return completion.Part{Kind: completion.ImagePart, Media: media}, true
	case "input_file":
		return completion.Part{Kind: completion.FilePart, Media: b.file(path, v)}, true
	case "input_audio":
		audio := rawjson.Find(v, "input_audio")
		media := wire.DataFrom(&b.err, path+".input_audio.data", "audio/"+rawjson.TextAt(audio, "format"), rawjson.Find(audio, "data"))
		return completion.Part{Kind: completion.AudioPart, Media: media}, true
	case "input_video":
		return completion.Part{Kind: completion.VideoPart, Media: wire.MediaFrom(&b.err, path+".video_url", rawjson.Find(v, "video_url"))}, true
	default:
		b.fail(path+".type", "The provider of this model does not take content of type %q.", kind[:min(len(kind), 64)])
	}
	return part, false
}

func (b *builder) file(path string, v []byte) *completion.Media {
	media := &completion.Media{}
	if data := rawjson.Find(v, "file_data"); !rawjson.IsNull(data) {
		media = wire.MediaFrom(&b.err, path+".file_data", data)
		if media.URL != "" && !strings.Contains(media.URL, "://") { // bare base64 is usual here
			media = wire.DataFrom(&b.err, path+".file_data", "", data)
		}
	} else if url := rawjson.Find(v, "file_url"); !rawjson.IsNull(url) {
		media = wire.MediaFrom(&b.err, path+".file_url", url)
	}
	media.FileID, media.Name = rawjson.TextAt(v, "file_id"), rawjson.TextAt(v, "filename")
	return media
}

// reasoning reads an item that a client sends back. Reasoning of a provider with another wire is packed into its encrypted content.
func (b *builder) reasoning(v []byte) {
	var text strings.Builder
	for _, list := range [...]string{"summary", "content"} {
		for e := rawjson.ElementsOf(rawjson.Find(v, list)); e.Next(); {
			text.WriteString(rawjson.TextAt(e.Value, "text"))
		}
	}
	t := completion.ReasoningDetail{Text: text.String()}
	if data := rawjson.TextAt(v, "encrypted_content"); data != "" {
		var ok bool
		if t, ok = pack.Unpack(data); !ok {
			t = completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: completion.FormatOpenAI, ID: rawjson.TextAt(v, "id"), Data: data}
		} else if t.Kind != completion.ReasoningEncrypted && t.Text == "" {
			t.Text = text.String()
		}
	} else if t.Text == "" {
		return
	}
	b.add(completion.Assistant, completion.Part{Kind: completion.ReasoningPart, Reasoning: &t})
}
