package gemini

import (
	"bytes"
	"strconv"
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

const maxKind = 64 // bytes of a client's own word in an error

// source makes the canonical form of requests of this style.
type source struct{}

// Prompt reads the body, whose content was not checked before: invalid content is refused here, as an upstream of this wire would.
func (source) Prompt(req *completion.Request) (*completion.Prompt, error) {
	b := builder{p: &completion.Prompt{}, byID: map[string]int{}, byName: map[string][]int{}}
	for i := range req.Members {
		m := &req.Members[i]
		if v := req.Body[m.Value:m.End]; !rawjson.IsNull(v) {
			b.field(m.Name, v)
		}
	}
	at := 0
	for e := rawjson.ElementsOf(req.Body[req.MessagesAt.Start:req.MessagesAt.End]); e.Next(); at++ {
		b.content(place("contents", at), e.Value)
	}
	b.endCall()
	if b.err != nil {
		return nil, b.err
	}
	return b.p, nil
}

type builder struct {
	p      *completion.Prompt
	calls  []called
	byID   map[string]int   // the last call with an id
	byName map[string][]int // calls whose results have not been read, in order
	open   *completion.Call // its arguments come in pieces
	args   rawjson.Pieces   // of it
	err    *fault.Error
}

// called is a call of the conversation.
type called struct {
	id, name string
	answered bool
}

func (b *builder) fail(param, format string, args ...any) {
	if b.err == nil {
		b.err = fault.Newf(fault.InvalidPrompt, "gemini.Prompt", format, args...)
		b.err.Param = param
	}
}

// cannot refuses what only another provider can do.
func (b *builder) cannot(param, format string, args ...any) {
	if b.err == nil {
		b.err = fault.Field("gemini.Prompt", param, format, args...)
		b.err.Next = fault.NextEndpoint
	}
}

func (b *builder) field(name string, v []byte) {
	switch name {
	case "systemInstruction":
		at := 0
		for e := rawjson.ElementsOf(rawjson.Find(v, "parts")); e.Next(); at++ {
			if text := rawjson.Find(e.Value, "text"); rawjson.KindOf(text) == rawjson.String {
				b.p.System = append(b.p.System, completion.Part{Text: rawjson.Text(text)})
			} else {
				b.fail(place("systemInstruction.parts", at)+".text", "Each part of the instructions must have a text.")
			}
		}
	case "tools":
		at := 0
		for e := rawjson.ElementsOf(v); e.Next(); at++ {
			for m := rawjson.MembersOf(e.Value); m.Next(); {
				b.tool(place("tools", at), string(m.Name), m.Value)
			}
		}
	case "toolConfig":
		b.choice(rawjson.Find(v, "functionCallingConfig"))
	case "safetySettings":
		if e := rawjson.ElementsOf(v); e.Next() {
			b.p.Safety = v
		}
	case "generationConfig":
		b.config(v)
	}
}

func (b *builder) tool(path, name string, v []byte) {
	switch {
	case rawjson.IsNull(v):
	case name == "functionDeclarations":
		at := 0
		for e := rawjson.ElementsOf(v); e.Next(); at++ {
			t := completion.Tool{Name: rawjson.TextAt(e.Value, "name"), Description: rawjson.TextAt(e.Value, "description"), Parameters: wire.Present(rawjson.Find(e.Value, "parametersJsonSchema"))}
			if t.Name == "" {
				b.fail(place(path+"."+name, at)+".name", "name is required: a string.")
			}
			if old := rawjson.Find(e.Value, "parameters"); t.Parameters == nil && !rawjson.IsNull(old) {
				t.Parameters = jsonSchema(old)
			}
			b.p.Tools = append(b.p.Tools, t)
		}
	case name == "googleSearch" || name == "googleSearchRetrieval" || name == "enterpriseWebSearch":
		b.p.Search = &completion.Search{Exclude: wire.Texts(rawjson.Find(v, "excludeDomains"))}
	default:
		b.p.Tools = append(b.p.Tools, completion.Tool{Name: name, Hosted: v, HostedType: name[:min(len(name), maxKind)]})
	}
}

func (b *builder) choice(v []byte) {
	c := &b.p.Choice
	names := wire.Texts(rawjson.Find(v, "allowedFunctionNames"))
	switch mode := strings.ToUpper(rawjson.TextAt(v, "mode")); mode {
	case "", "MODE_UNSPECIFIED":
	case "AUTO":
		c.Mode = completion.ChoiceAuto
	case "NONE":
		c.Mode = completion.ChoiceNone
	case "VALIDATED":
		c.Mode, c.Allowed = completion.ChoiceAuto, names
	case "ANY":
		c.Mode, c.Allowed = completion.ChoiceRequired, names
		if len(names) == 1 {
			*c = completion.Choice{Mode: completion.ChoiceTool, Name: names[0]}
		}
	default:
		b.fail("toolConfig.functionCallingConfig.mode", "mode must be AUTO, ANY, NONE or VALIDATED.")
	}
}

func (b *builder) config(v []byte) {
	p := b.p
	s := &p.Sampling
	mime, schema, lowered := "", []byte(nil), []byte(nil)
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "temperature":
			s.Temperature = number(m.Value)
		case "topP":
			s.TopP = number(m.Value)
		case "topK":
			s.TopK = whole(m.Value)
		case "presencePenalty":
			s.PresencePenalty = number(m.Value)
		case "frequencyPenalty":
			s.FrequencyPenalty = number(m.Value)
		case "seed":
			s.Seed = number(m.Value)
		case "stopSequences":
			p.Stop = wire.Texts(m.Value)
		case "responseLogprobs":
			s.Logprobs, _ = rawjson.Bool(m.Value)
		case "logprobs":
			n, _ := rawjson.Int(m.Value)
			s.TopLogprobs = int(n)
		case "responseMimeType":
			mime = rawjson.Text(m.Value)
		case "responseSchema":
			if !rawjson.IsNull(m.Value) {
				lowered = jsonSchema(m.Value)
			}
		case "responseJsonSchema", "_responseJsonSchema":
			schema = wire.Present(m.Value)
		case "speechConfig":
			if voice := rawjson.Text(rawjson.FindPath(m.Value, "voiceConfig", "prebuiltVoiceConfig", "voiceName")); voice != "" {
				p.Audio = &completion.AudioOutput{Voice: voice, Format: "pcm16"}
			}
		}
	}
	if schema == nil {
		schema = lowered
	}
	switch {
	case schema != nil && mime != "text/x.enum":
		p.Format = completion.Format{Kind: completion.FormatSchema, Name: "answer", Schema: schema}
	case mime == "" || mime == "text/plain":
	case mime == "application/json":
		p.Format.Kind = completion.FormatJSON
	default:
		b.cannot("generationConfig.responseMimeType", "The provider of this model does not write %q. Use application/json.", mime[:min(len(mime), maxKind)])
	}
}

// number is a number as written, "" for anything else.
func number(v []byte) string {
	if rawjson.KindOf(v) != rawjson.Number {
		return ""
	}
	return string(v)
}

// whole is a number that other wires have as an integer.
func whole(v []byte) string {
	if n, ok := rawjson.Int(v); ok {
		return strconv.FormatInt(n, 10)
	}
	return number(v)
}

func (b *builder) content(path string, v []byte) {
	turn := completion.Turn{}
	switch role := rawjson.TextAt(v, "role"); role {
	case "user", "function", "":
	case "model":
		turn.Role = completion.Assistant
	case "system":
		turn.Role = completion.System
	default:
		b.fail(path+".role", "role must be user or model.")
	}
	at := 0
	for e := rawjson.ElementsOf(rawjson.Find(v, "parts")); e.Next(); at++ {
		b.part(place(path+".parts", at), &turn, e.Value)
	}
	if at == 0 {
		b.fail(path+".parts", "parts is required: a list of at least one part.")
	}
	b.p.Turns = append(b.p.Turns, turn)
}

// part is one part of a content as it stands in the body.
type part struct {
	text, inline, file, call, response []byte
	thought                            bool
	signature                          string
	other                              string // name of content that only providers of this wire have
	clip                               bool   // it asks for a part of a video
}

func (b *builder) part(path string, turn *completion.Turn, v []byte) {
	var in part
	for m := rawjson.MembersOf(v); m.Next(); {
		if rawjson.IsNull(m.Value) {
			continue
		}
		switch name := string(m.Name); name {
		case "text":
			in.text = m.Value
		case "inlineData":
			in.inline = m.Value
		case "fileData":
			in.file = m.Value
		case "functionCall":
			in.call = m.Value
		case "functionResponse":
			in.response = m.Value
		case "thought":
			in.thought, _ = rawjson.Bool(m.Value)
		case "thoughtSignature":
			in.signature = rawjson.Text(m.Value)
		case "videoMetadata":
			in.clip = string(bytes.TrimSpace(m.Value)) != "{}"
		case "executableCode", "codeExecutionResult", "toolCall", "toolResponse": // what a provider's own tool did: another provider cannot use it
			in.other = "-"
		case "mediaResolution", "partMetadata", "audioTranscription", "mediaProcessing", "speechMetadata": // hints beside the content
		default:
			in.other = name
		}
	}
	if in.clip {
		b.cannot(path+".videoMetadata", "The provider of this model does not take a part of a video. Leave videoMetadata out.")
	}
	own := b.signed(turn, &in)
	switch {
	case in.call != nil:
		b.call(path+".functionCall", turn, in.call, own)
	case in.response != nil:
		b.response(path+".functionResponse", turn, in.response)
	case in.inline != nil:
		turn.Parts = append(turn.Parts, b.inline(path+".inlineData", in.inline))
	case in.file != nil:
		media := &completion.Media{Type: mediatype.Plain(rawjson.TextAt(in.file, "mimeType")), URL: rawjson.TextAt(in.file, "fileUri"), Name: rawjson.TextAt(in.file, "displayName")}
		if media.URL == "" {
			b.fail(path+".fileData.fileUri", "fileUri is required: an http or https address.")
		}
		turn.Parts = append(turn.Parts, b.remote(path+".fileData.fileUri", media))
	case in.thought:
		if text := rawjson.Text(in.text); text != "" && own == "" {
			turn.Parts = append(turn.Parts, completion.Part{Kind: completion.ReasoningPart, Reasoning: &completion.ReasoningDetail{Text: text}})
		}
	case in.text != nil:
		if rawjson.KindOf(in.text) != rawjson.String {
			b.fail(path+".text", "text must be a string.")
		}
		if text := rawjson.Text(in.text); text != "" {
			turn.Parts = append(turn.Parts, completion.Part{Text: text})
		}
	case in.other == "-" || in.signature != "":
	case in.other != "":
		b.cannot(path, "The provider of this model does not take a part of type %q.", in.other[:min(len(in.other), maxKind)])
	default:
		b.fail(path, "A part must have one of text, inlineData, fileData, functionCall and functionResponse.")
	}
}

// signed reads the signature of a part. It adds the reasoning that is packed in it, in place of what was shown of it before, or returns
// a signature of this wire's own for a call. Before a text or an image, such a signature is reasoning.
func (b *builder) signed(turn *completion.Turn, in *part) (own string) {
	if in.signature == "" {
		return ""
	}
	list, packed := unseal(in.signature)
	if !packed && in.call != nil {
		return in.signature
	}
	if !packed {
		list = []completion.ReasoningDetail{{Kind: completion.ReasoningEncrypted, Format: completion.FormatGoogle, Data: in.signature}}
		turn.Parts = append(turn.Parts, completion.Part{Kind: completion.ReasoningPart, Reasoning: &list[0]})
		return ""
	}
	for n := len(turn.Parts); n > 0 && shown(&turn.Parts[n-1]); n-- {
		turn.Parts = turn.Parts[:n-1]
	}
	for i := range list {
		turn.Parts = append(turn.Parts, completion.Part{Kind: completion.ReasoningPart, Reasoning: &list[i]})
	}
	return ""
}

// shown reports whether a part is reasoning as it was shown to the client, without what its provider would know it by.
func shown(p *completion.Part) bool {
	return p.Kind == completion.ReasoningPart && p.Reasoning.Signature == "" && p.Reasoning.Data == "" && p.Reasoning.Format == ""
}

// call reads a call, or a part of one: clients send back what was streamed to them (streamFunctionCallArguments), part by part.
func (b *builder) call(path string, turn *completion.Turn, v []byte, signature string) {
	pieces := rawjson.Find(v, "partialArgs")
	more, _ := rawjson.Bool(rawjson.Find(v, "willContinue"))
	if b.open != nil && rawjson.TextAt(v, "name") == "" {
		b.pieces(path, v, pieces, more)
		return
	}
	b.endCall()
	c := &completion.Call{ID: rawjson.TextAt(v, "id"), Name: rawjson.TextAt(v, "name"), Arguments: []byte("{}"), Signature: signature}
	if c.Name == "" {
		b.fail(path+".name", "name is required: a string.")
	}
	if c.ID == "" {
		c.ID = "call_" + strconv.Itoa(len(b.calls)+1)
	}
	if args := rawjson.Find(v, "args"); rawjson.KindOf(args) == rawjson.Object {
		c.Arguments = args
	}
	b.byID[c.ID] = len(b.calls)
	b.byName[c.Name] = append(b.byName[c.Name], len(b.calls))
	b.calls = append(b.calls, called{id: c.ID, name: c.Name})
	turn.Parts = append(turn.Parts, completion.Part{Kind: completion.CallPart, Call: c})
	if more || !rawjson.IsNull(pieces) {
		b.open, b.args = c, rawjson.Pieces{}
		b.pieces(path, v, pieces, more)
	}
}

// pieces adds to the call whose arguments come in pieces.
func (b *builder) pieces(path string, v, pieces []byte, more bool) {
	b.args.Set(rawjson.Find(v, "args"))
	if err := b.args.Add(pieces); err != nil {
		b.fail(path+".partialArgs", "partialArgs must be a list of values, each with a jsonPath at which no other kind of value is.")
	}
	if !more {
		b.endCall()
	}
}

// endCall ends the call whose arguments came in pieces.
func (b *builder) endCall() {
	if b.open != nil {
		b.open.Arguments = b.args.Append(nil)
		b.open = nil
	}
}

// response reads the result of a call: the one with its id, or else the first one of its name.
func (b *builder) response(path string, turn *completion.Turn, v []byte) {
	id, name := rawjson.TextAt(v, "id"), rawjson.TextAt(v, "name")
	of := b.answered(id, name)
	if of == nil {
		b.fail(path, "There is no call of %q before this response.", name[:min(len(name), maxKind)])
		return
	}
	r := &completion.Result{CallID: of.id, Name: of.name}
	text, failed := resultText(rawjson.Find(v, "response"))
	r.Failed = failed
	r.Parts = append(r.Parts, completion.Part{Text: text})
	n := 0
	for e := rawjson.ElementsOf(rawjson.Find(v, "parts")); e.Next(); n++ {
		in := place(path+".parts", n)
		if inline := rawjson.Find(e.Value, "inlineData"); !rawjson.IsNull(inline) {
			r.Parts = append(r.Parts, b.inline(in+".inlineData", inline))
			continue
		}
		file := rawjson.Find(e.Value, "fileData")
		address := rawjson.TextAt(file, "fileUri")
		if address == "" {
			b.fail(in, "A part of a response must have inlineData or fileData.")
			return
		}
		r.Parts = append(r.Parts, b.remote(in+".fileData.fileUri", &completion.Media{Type: mediatype.Plain(rawjson.TextAt(file, "mimeType")), URL: address}))
	}
	turn.Parts = append(turn.Parts, completion.Part{Kind: completion.ResultPart, Result: r})
}

// answered finds the call that a response belongs to; nil: absent. It takes the same time however many calls there are.
func (b *builder) answered(id, name string) *called {
	at, found := b.byID[id]
	if found = found && id != "" && !b.calls[at].answered; !found {
		list := b.byName[name]
		for len(list) > 0 && b.calls[list[0]].answered {
			list = list[1:]
		}
		if b.byName[name] = list; len(list) == 0 {
			return nil
		}
		at = list[0]
	}
	b.calls[at].answered = true
	return &b.calls[at]
}

// resultText is a response as text: the text itself where it is the only member, under one of the names that the wire's documentation uses.
func resultText(v []byte) (text string, failed bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return rawjson.Text(v), false
	}
	members, name, only := 0, "", []byte(nil)
	for m := rawjson.MembersOf(v); m.Next() && members < 2; members++ {
		name, only = string(m.Name), m.Value
	}
	if members == 1 && rawjson.KindOf(only) == rawjson.String {
		switch name {
		case "output", "result", "content":
			return rawjson.Text(only), false
		case "error":
			return rawjson.Text(only), true
		}
	}
	return string(v), false
}

func (b *builder) inline(path string, v []byte) completion.Part {
	mime := mediatype.Plain(rawjson.TextAt(v, "mimeType"))
	if mime == "" {
		b.fail(path+".mimeType", "mimeType is required, such as image/png.")
	}
	m := wire.DataFrom(&b.err, path+".data", mime, rawjson.Find(v, "data"))
	if isText(m.Type) {
		return completion.Part{Text: string(bytes.ToValidUTF8(m.Base64.File(), []byte("\uFFFD")))}
	}
	m.Name = rawjson.TextAt(v, "displayName")
	return mediaPart(m)
}

// remote is a file by address. Other wires take audio as data only.
func (b *builder) remote(path string, m *completion.Media) completion.Part {
	p := mediaPart(m)
	if p.Kind == completion.AudioPart {
		b.cannot(path, "The provider of this model takes audio as data only. Send it in inlineData.")
	}
	return p
}

// mediaPart is a part of the kind that a media type is for. Audio has the chat style's name of its format.
func mediaPart(m *completion.Media) completion.Part {
	p := completion.Part{Media: m}
	switch kindOf(m.Type) {
	case mediatype.Image:
		p.Kind = completion.ImagePart
	case mediatype.Audio:
		p.Kind = completion.AudioPart
		if name := mediatype.Name(mediatype.Audio, m.Type); name != "" {
			m.Type = "audio/" + name
		}
	case mediatype.Video:
		p.Kind = completion.VideoPart
	case mediatype.Document:
		p.Kind = completion.FilePart
	}
	return p
}
