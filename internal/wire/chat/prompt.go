package chat

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// source makes the canonical form of chat requests.
type source struct{}

// Prompt reads the body again, which Decode has checked: the values have the right types. Data of files is checked here: a provider of this wire
// gets it as it was written, and checks it itself.
func (source) Prompt(req *completion.Request) (*completion.Prompt, error) {
	b := promptBuilder{p: &completion.Prompt{}, names: map[string]string{}}
	for _, m := range req.Members {
		v := req.Body[m.Value:m.End]
		if !rawjson.IsNull(v) && !b.setting(m.Name, v) {
			b.sampling(m.Name, v)
		}
	}
	b.conversation(req.Body, req.MessagesAt)
	if b.err != nil {
		return nil, b.err
	}
	return b.p, nil
}

// promptBuilder is the state of one Prompt.
type promptBuilder struct {
	p       *completion.Prompt
	names   map[string]string // tool by call id
	talking bool              // the conversation has begun: later system messages stay in their places
	called  string            // id of the last deprecated function call
	calls   int               // number of such calls
	at      int               // index of the message
	err     *fault.Error
}

// path is the path of a member of an element of the message.
func (b *promptBuilder) path(list string, index int, member string) string {
	return fmt.Sprintf("messages[%d].%s[%d].%s", b.at, list, index, member)
}

func (b *promptBuilder) setting(name string, v []byte) bool {
	p := b.p
	switch name {
	case "stop":
		p.Stop = wire.Texts(v)
	case "tools":
		for e := rawjson.ElementsOf(v); e.Next(); {
			if !completion.IsAdvisor(rawjson.TextAt(e.Value, "type")) {
				p.Tools = append(p.Tools, toolOf(e.Value))
			}
		}
	case "functions":
		for e := rawjson.ElementsOf(v); e.Next(); {
			p.Tools = append(p.Tools, functionOf(e.Value))
		}
	case "tool_choice", "function_call":
		p.Choice = choiceOf(v)
	case "parallel_tool_calls":
		p.Serial = string(v) == "false"
	case "response_format":
		p.Format = formatOf(v)
	case "audio":
		p.Audio = &completion.AudioOutput{Voice: rawjson.TextAt(v, "voice"), Format: rawjson.TextAt(v, "format")}
	case "web_search_options":
		p.Search = &completion.Search{ContextSize: rawjson.TextAt(v, "search_context_size"), Location: wire.Present(rawjson.Find(v, "user_location"))}
	case "cache_control":
		p.Cache = cacheOf(v)
	case "prompt_cache_key":
		p.CacheKey = rawjson.Text(v)
	default:
		return false
	}
	return true
}

func (b *promptBuilder) sampling(name string, v []byte) {
	s := &b.p.Sampling
	if number := numberOf(s, name); number != nil {
		*number = string(v)
		return
	}
	switch name {
	case "logprobs":
		s.Logprobs = string(v) == "true"
	case "top_logprobs":
		n, _ := rawjson.Int(v)
		s.TopLogprobs = int(n)
	case "logit_bias":
		s.LogitBias = v
	case "verbosity":
		s.Verbosity = rawjson.Text(v)
	}
}

// numberOf returns the field for that sampling parameter, nil for other names.
func numberOf(s *completion.Sampling, name string) *string {
	switch name {
	case "temperature":
		return &s.Temperature
	case "top_p":
		return &s.TopP
	case "top_k":
		return &s.TopK
	case "min_p":
		return &s.MinP
	case "top_a":
		return &s.TopA
	case "frequency_penalty":
		return &s.FrequencyPenalty
	case "presence_penalty":
		return &s.PresencePenalty
	case "repetition_penalty":
		return &s.RepetitionPenalty
	case "seed":
		return &s.Seed
	}
	return nil
}

func (b *promptBuilder) conversation(body []byte, at completion.Span) {
	for e := rawjson.ElementsOf(body[at.Start:at.End]); e.Next(); b.at++ {
		turns := len(b.p.Turns)
		b.message(e.Value)
		if len(b.p.Turns) > turns {
			b.p.Turns[turns].At = completion.Span{Start: at.Start + e.At, End: at.Start + e.At + len(e.Value)}
		}
	}
}

func (b *promptBuilder) message(v []byte) {
	content, cache := rawjson.Find(v, "content"), cacheOf(rawjson.Find(v, "cache_control"))
	turn := completion.Turn{Name: rawjson.TextAt(v, "name")}
	switch rawjson.TextAt(v, "role") {
	case "system", "developer":
		parts := marked(b.content(content), cache)
		if !b.talking {
			b.p.System = append(b.p.System, parts...)
			return
		}
		turn.Role, turn.Parts = completion.System, parts
	case "assistant":
		turn.Role, turn.Parts = completion.Assistant, marked(b.assistant(v, content), cache)
		b.files(rawjson.Find(v, "annotations"))
	case "tool":
		id := rawjson.TextAt(v, "tool_call_id")
		turn.Name = ""
		turn.Parts = marked([]completion.Part{b.result(id, b.names[id], content)}, cache)
	case "function":
		turn.Name = ""
		turn.Parts = []completion.Part{b.result(b.called, rawjson.TextAt(v, "name"), content)}
	default:
		turn.Parts = marked(b.content(content), cache)
	}
	b.talking = true
	b.p.Turns = append(b.p.Turns, turn)
}

// files stores the texts of files from an earlier answer: a client sends them back so that the files need not be read again.
func (b *promptBuilder) files(annotations []byte) {
	for e := rawjson.ElementsOf(annotations); e.Next(); {
		file := rawjson.Find(e.Value, "file")
		hash := rawjson.TextAt(file, "hash")
		if rawjson.TextAt(e.Value, "type") != "file" || hash == "" {
			continue
		}
		text := ""
		for c := rawjson.ElementsOf(rawjson.Find(file, "content")); c.Next(); {
			text += rawjson.TextAt(c.Value, "text")
		}
		b.p.Files = append(b.p.Files, completion.ReadFile{Hash: hash, Text: text})
	}
}

func (b *promptBuilder) result(id, name string, content []byte) completion.Part {
	return completion.Part{Kind: completion.ResultPart, Result: &completion.Result{CallID: id, Name: name, Parts: b.content(content)}}
}

// assistant makes the parts of an assistant message: reasoning first, then text and images, then the calls.
func (b *promptBuilder) assistant(v, content []byte) []completion.Part {
	parts := append(reasoning(v), b.content(content)...)
	if text := rawjson.TextAt(v, "refusal"); text != "" {
		parts = append(parts, completion.Part{Kind: completion.RefusalPart, Text: text})
	}
	at := 0
	for e := rawjson.ElementsOf(rawjson.Find(v, "images")); e.Next(); at++ {
		url := rawjson.FindPath(e.Value, "image_url", "url")
		if url == nil {
			url = rawjson.Find(e.Value, "url")
		}
		if rawjson.KindOf(url) == rawjson.String {
			parts = append(parts, completion.Part{Kind: completion.ImagePart, Media: wire.MediaFrom(&b.err, b.path("images", at, "image_url.url"), url)})
		}
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "tool_calls")); e.Next(); {
		call := callOf(e.Value)
		b.names[call.ID] = call.Name
		parts = append(parts, completion.Part{Kind: completion.CallPart, Call: call})
	}
	if f := rawjson.Find(v, "function_call"); !rawjson.IsNull(f) {
		b.calls++
		b.called = "call_" + strconv.Itoa(b.calls)
		parts = append(parts, completion.Part{Kind: completion.CallPart, Call: &completion.Call{ID: b.called, Name: rawjson.TextAt(f, "name"), Arguments: argumentsOf(f)}})
	}
	return wire.Attach(parts)
}

// reasoning is the reasoning of an assistant message.
func reasoning(v []byte) (parts []completion.Part) {
	details := wire.Reasoning(rawjson.Find(v, "reasoning_details"))
	for i := range details {
		parts = append(parts, completion.Part{Kind: completion.ReasoningPart, Reasoning: &details[i]})
	}
	if len(details) > 0 {
		return parts
	}
	text := rawjson.TextAt(v, "reasoning")
	if text == "" {
		text = rawjson.TextAt(v, "reasoning_content")
	}
	if text != "" {
		parts = append(parts, completion.Part{Kind: completion.ReasoningPart, Reasoning: &completion.ReasoningDetail{Text: text}})
	}
	return parts
}

func callOf(v []byte) *completion.Call {
	call := &completion.Call{ID: rawjson.TextAt(v, "id")}
	if custom := rawjson.Find(v, "custom"); !rawjson.IsNull(custom) {
		call.Custom, call.Name, call.Arguments = true, rawjson.TextAt(custom, "name"), []byte(rawjson.TextAt(custom, "input"))
		return call
	}
	f := rawjson.Find(v, "function")
	call.Name, call.Arguments = rawjson.TextAt(f, "name"), argumentsOf(f)
	call.Signature = rawjson.TextAt(f, "thought_signature")
	if call.Signature == "" {
		call.Signature = rawjson.Text(rawjson.FindPath(v, "extra_content", "google", "thought_signature"))
	}
	return call
}

// argumentsOf are the arguments of a function, as JSON text; a call without any has the empty object.
func argumentsOf(f []byte) []byte {
	if text := rawjson.TextAt(f, "arguments"); strings.TrimSpace(text) != "" {
		return []byte(text)
	}
	return []byte("{}")
}

// content reads the parts of a message's content.
func (b *promptBuilder) content(v []byte) []completion.Part {
	if rawjson.KindOf(v) == rawjson.String {
		if text := rawjson.Text(v); text != "" {
			return []completion.Part{{Text: text}}
		}
		return nil
	}
	var parts []completion.Part
	for e := rawjson.ElementsOf(v); e.Next(); {
		parts = append(parts, b.part(len(parts), e.Value))
	}
	return parts
}

func (b *promptBuilder) part(at int, v []byte) completion.Part {
	part := completion.Part{Cache: cacheOf(rawjson.Find(v, "cache_control"))}
	if part.Cache == "" && !rawjson.IsNull(rawjson.Find(v, "prompt_cache_breakpoint")) {
		part.Cache = "5m"
	}
	switch rawjson.TextAt(v, "type") {
	case "text":
		part.Text = rawjson.TextAt(v, "text")
	case "refusal":
		part.Kind, part.Text = completion.RefusalPart, rawjson.TextAt(v, "refusal")
	case "image_url":
		image := rawjson.Find(v, "image_url")
		part.Kind, part.Media = completion.ImagePart, wire.MediaFrom(&b.err, b.path("content", at, "image_url.url"), rawjson.Find(image, "url"))
		part.Media.Detail = rawjson.TextAt(image, "detail")
	case "input_audio":
		audio := rawjson.Find(v, "input_audio")
		part.Kind = completion.AudioPart
		part.Media = wire.DataFrom(&b.err, b.path("content", at, "input_audio.data"), "audio/"+rawjson.TextAt(audio, "format"), rawjson.Find(audio, "data"))
	case "file":
		part.Kind, part.Media = completion.FilePart, b.file(at, rawjson.Find(v, "file"))
	case "document_url":
		part.Kind, part.Media = completion.FilePart, wire.MediaFrom(&b.err, b.path("content", at, "document_url"), rawjson.Find(v, "document_url"))
		part.Media.Name = rawjson.TextAt(v, "document_name")
	default:
		member, video := "video_url", rawjson.Find(v, "video_url")
		if video == nil {
			member, video = "input_video", rawjson.Find(v, "input_video")
		}
		part.Kind, part.Media = completion.VideoPart, wire.MediaFrom(&b.err, b.path("content", at, member+".url"), rawjson.Find(video, "url"))
	}
	return part
}

func (b *promptBuilder) file(at int, v []byte) *completion.Media {
	media := &completion.Media{}
	if data := rawjson.Find(v, "file_data"); !rawjson.IsNull(data) {
		media = wire.MediaFrom(&b.err, b.path("content", at, "file.file_data"), data)
	}
	media.FileID, media.Name = rawjson.TextAt(v, "file_id"), rawjson.TextAt(v, "filename")
	return media
}

func toolOf(v []byte) completion.Tool {
	kind := rawjson.TextAt(v, "type")
	var tool completion.Tool
	switch kind {
	case "function", "":
		tool = functionOf(rawjson.Find(v, "function"))
	case "custom":
		custom := rawjson.Find(v, "custom")
		tool = completion.Tool{Name: rawjson.TextAt(custom, "name"), Description: rawjson.TextAt(custom, "description"), Custom: true, HostedType: kind}
		if format := rawjson.Find(custom, "format"); rawjson.TextAt(format, "type") == "grammar" {
			grammar := rawjson.Find(format, "grammar")
			tool.Grammar = &completion.Grammar{Syntax: rawjson.TextAt(grammar, "syntax"), Definition: rawjson.TextAt(grammar, "definition")}
		}
	default:
		tool = completion.Tool{Hosted: v, HostedType: kind}
	}
	tool.Cache = cacheOf(rawjson.Find(v, "cache_control"))
	return tool
}

func functionOf(v []byte) completion.Tool {
	return completion.Tool{Name: rawjson.TextAt(v, "name"), Description: rawjson.TextAt(v, "description"), Parameters: wire.Present(rawjson.Find(v, "parameters")),
		Strict: wire.Truth(rawjson.Find(v, "strict"))}
}

// choiceOf reads tool_choice, or the older function_call.
func choiceOf(v []byte) completion.Choice {
	switch rawjson.Text(v) {
	case "none":
		return completion.Choice{Mode: completion.ChoiceNone}
	case "auto":
		return completion.Choice{Mode: completion.ChoiceAuto}
	case "required", "any":
		return completion.Choice{Mode: completion.ChoiceRequired}
	}
	switch rawjson.TextAt(v, "type") {
	case "allowed_tools":
		allowed := rawjson.Find(v, "allowed_tools")
		c := completion.Choice{Mode: completion.ChoiceAuto, Allowed: []string{}}
		if rawjson.TextAt(allowed, "mode") == "required" {
			c.Mode = completion.ChoiceRequired
		}
		for e := rawjson.ElementsOf(rawjson.Find(allowed, "tools")); e.Next(); {
			name := rawjson.FindPath(e.Value, "function", "name")
			if name == nil {
				name = rawjson.Find(e.Value, "name")
			}
			c.Allowed = append(c.Allowed, rawjson.Text(name))
		}
		return c
	case "custom":
		return completion.Choice{Mode: completion.ChoiceTool, Name: rawjson.Text(rawjson.FindPath(v, "custom", "name")), Custom: true}
	default: // the older function_call has the name at its top
		if f := rawjson.Find(v, "function"); f != nil {
			v = f
		}
	}
	return completion.Choice{Mode: completion.ChoiceTool, Name: rawjson.TextAt(v, "name")}
}

func formatOf(v []byte) completion.Format {
	switch rawjson.TextAt(v, "type") {
	case "json_object":
		return completion.Format{Kind: completion.FormatJSON}
	case "json_schema":
		s := rawjson.Find(v, "json_schema")
		return completion.Format{Kind: completion.FormatSchema, Name: rawjson.TextAt(s, "name"), Description: rawjson.TextAt(s, "description"),
			Schema: wire.Present(rawjson.Find(s, "schema")), Strict: wire.Truth(rawjson.Find(s, "strict"))}
	}
	return completion.Format{}
}

// cacheOf reads a cache_control mark.
func cacheOf(v []byte) completion.Cache {
	switch {
	case rawjson.IsNull(v):
		return ""
	case rawjson.TextAt(v, "ttl") == "1h":
		return "1h"
	}
	return "5m"
}

// marked puts a message's own mark on its last part.
func marked(parts []completion.Part, mark completion.Cache) []completion.Part {
	if mark != "" && len(parts) > 0 {
		parts[len(parts)-1].Cache = mark
	}
	return parts
}
