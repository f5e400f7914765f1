package gemini

import (
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// unsigned stands for a signature that a call never had: it was made by another model. Google's servers know the word.
const unsigned = "skip_thought_signature_validator"

// encoder writes one request from its canonical form.
type encoder struct {
	ep     *catalog.Endpoint
	req    *completion.Request
	p      *completion.Prompt
	out    []byte
	notice []string
}

func (e *encoder) encode() ([]byte, error) {
	for i := range e.p.Tools {
		if t := &e.p.Tools[i]; t.Custom || t.Hosted != nil {
			return nil, e.cannot("tools", "tools of type "+t.HostedType)
		}
	}
	if e.req.Thoughtless || e.p.Foreign(completion.FormatGoogle) {
		e.notice = append(e.notice, completion.NoticeThoughts)
	}
	if e.p.Serial && len(e.p.Tools) > 1 {
		e.notice = append(e.notice, "The provider of this model may make several tool calls at once: it cannot be told not to.")
	}
	if e.p.Search != nil && len(e.p.Tools) > 0 { // coding agents offer both, without being asked
		e.notice = append(e.notice, "The provider of this model does not search the web while there are tools: it was not offered to.")
	}
	e.B = append(make([]byte, 0, len(e.req.Body)+512), '{')
	if err := e.contents(); err != nil {
		return nil, err
	}
	e.system()
	e.tools()
	if err := e.config(); err != nil {
		return nil, err
	}
	return append(e.B, '}'), nil
}

func (e *encoder) cannot(param, what string) error {
	f := fault.Field("gemini.Request", param, "The provider of this model does not take %s.", what)
	f.Next = fault.NextEndpoint
	return f
}

// name begins a member; the first of an object has no comma before it.
func (e *encoder) name(name string) {
	if c := e.B[len(e.B)-1]; c != '{' && c != '[' {
		e.B = append(e.B, ',')
	}
	e.B = append(append(append(e.B, '"'), name...), `":`...)
}

func (e *encoder) text(name, value string) {
	e.Name(name).Text(value)
}

// comma separates elements of a list.
func (e *encoder) comma() {
	if c := e.B[len(e.B)-1]; c != '[' {
		e.B = append(e.B, ',')
	}
}

// contents writes the conversation; neighbours of one role become one content.
func (e *encoder) contents() error {
	e.Name("contents").Array()
	var open completion.Role
	some := false
	for i := range e.p.Turns {
		t := &e.p.Turns[i]
		if t.Role == completion.System || len(t.Parts) == 0 {
			continue
		}
		if !some || t.Role != open {
			if some {
				e.B = append(e.B, "]},"...)
			}
			role := `{"role":"user","parts":[`
			if t.Role == completion.Assistant {
				role = `{"role":"model","parts":[`
			}
			e.B = append(e.B, role...)
			some, open = true, t.Role
		}
		if err := e.turn(t); err != nil {
			return err
		}
	}
	if !some {
		e.B = append(e.B, `{"role":"user","parts":[{"text":""}`...)
	}
	e.B = append(e.B, "]}]"...)
	return nil
}

func (e *encoder) turn(t *completion.Turn) error {
	called := false // the first call of a step carries its signature
	signature := "" // of a text: it stands on the next one, or behind the last
	for i := range t.Parts {
		part := &t.Parts[i]
		var err error
		switch {
		case part.Kind == completion.CallPart:
			e.signed("", signature)
			signature = ""
			err = e.call(part.Call, !called)
			called = true
		case part.Kind == completion.ReasoningPart: // the words of a thought are not wanted back
			if s := signatureOf(part.Thought); s != "" {
				e.signed("", signature)
				signature = s
			}
		case part.Kind == completion.TextPart && part.Text != "" && signature != "":
			e.signed(part.Text, signature)
			signature = ""
		default:
			err = e.part(part)
		}
		if err != nil {
			return err
		}
	}
	e.signed("", signature)
	return nil
}

// signatureOf is the signature that stood on a text or a picture, "" of any other thought.
func signatureOf(t *completion.Thought) string {
	if t.Format == completion.FormatGoogle && t.Kind == completion.ThoughtEncrypted && t.ID == "" {
		return t.Data
	}
	return ""
}

// signed writes text with its signature; nothing without one.
func (e *encoder) signed(text, signature string) {
	if signature == "" {
		return
	}
	e.comma()
	e.B = rawjson.AppendText(append(e.B, `{"text":`...), text)
	e.B = append(rawjson.AppendText(append(e.B, `,"thoughtSignature":`...), signature), '}')
}

func (e *encoder) part(part *completion.Part) error {
	switch part.Kind {
	case completion.TextPart, completion.RefusalPart:
		if part.Text != "" {
			e.comma()
			e.B = append(rawjson.AppendText(append(e.B, `{"text":`...), part.Text), '}')
		}
	case completion.ImagePart:
		return e.media(part.Media, "image/png")
	case completion.AudioPart:
		return e.media(part.Media, "audio/wav")
	case completion.FilePart:
		return e.media(part.Media, "application/pdf")
	case completion.VideoPart:
		return e.media(part.Media, "video/mp4")
	case completion.ResultPart:
		return e.result(part.Result)
	case completion.CallPart, completion.ReasoningPart: // turn writes them
	}
	return nil
}

// media writes bytes or an address. Sound comes with the names of the chat wire.
func (e *encoder) media(m *completion.Media, kind string) error {
	if m.Type != "" {
		kind = m.Type
	}
	switch kind {
	case "audio/mp3":
		kind = "audio/mpeg"
	case "audio/pcm16":
		kind = "audio/L16"
	case "video/mov":
		kind = "video/quicktime"
	}
	switch {
	case m.Base64 != nil:
		e.comma()
		e.B = rawjson.AppendText(append(e.B, `{"inlineData":{"mimeType":`...), kind)
		e.B = append(append(append(e.B, `,"data":"`...), m.Base64...), `"}}`...)
	case m.URL != "":
		e.Raw(`{"fileData":{`)
		if m.Type != "" || kind != "image/png" {
			e.Name("mimeType").Text(kind)
		}
		e.Name("fileUri").Text(m.URL)
		e.EndObject()
		e.EndObject()
	default:
		return e.cannot("messages", "files by the id of another provider")
	}
	return nil
}

func (e *encoder) call(c *completion.Call, first bool) error {
	if c.Custom || !rawjson.Valid(c.Arguments) || rawjson.KindOf(c.Arguments) != rawjson.Object {
		return fault.Field("gemini.Request", "messages", "The arguments of the tool call %q are no JSON object, and the provider of this model takes nothing else.", c.ID[:min(len(c.ID), 64)])
	}
	e.comma()
	e.B = rawjson.AppendText(append(e.B, `{"functionCall":{"name":`...), c.Name)
	e.B = append(append(append(e.B, `,"args":`...), c.Arguments...), '}')
	switch {
	case c.Signature != "":
		e.Name("thoughtSignature").Text(c.Signature)
	case first && e.thinks():
		e.Name("thoughtSignature").Text(unsigned)
	}
	e.EndObject()
	return nil
}

// thinks reports whether the model may reason at all.
func (e *encoder) thinks() bool {
	return e.ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) != 0
}

// result writes what a tool answered: an object of the answer, and behind it what it showed.
func (e *encoder) result(r *completion.Result) error {
	var text strings.Builder
	for i := range r.Parts {
		text.WriteString(r.Parts[i].Text)
	}
	e.comma()
	e.B = rawjson.AppendText(append(e.B, `{"functionResponse":{"name":`...), r.Name)
	e.B = append(e.B, `,"response":`...)
	said := []byte(text.String())
	switch {
	case r.Failed:
		e.B = append(rawjson.AppendString(append(e.B, `{"error":`...), said), '}')
	case rawjson.Valid(said) && rawjson.KindOf(said) == rawjson.Object:
		e.B = append(e.B, said...)
	default:
		e.B = append(rawjson.AppendString(append(e.B, `{"result":`...), said), '}')
	}
	e.EndObject()
	e.EndObject()
	for i := range r.Parts {
		if r.Parts[i].Kind != completion.TextPart {
			if err := e.part(&r.Parts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// system writes the instructions, wherever they stood.
func (e *encoder) system() {
	some := false
	write := func(parts []completion.Part) {
		for i := range parts {
			if parts[i].Kind != completion.TextPart || parts[i].Text == "" {
				continue
			}
			if !some {
				e.Name("systemInstruction")
				e.B = append(e.B, `{"parts":[`...)
				some = true
			}
			_ = e.part(&parts[i]) // text cannot fail
		}
	}
	write(e.p.System)
	for i := range e.p.Turns {
		if e.p.Turns[i].Role == completion.System {
			write(e.p.Turns[i].Parts)
		}
	}
	if some {
		e.EndArray()
		e.EndObject()
	}
}

func (e *encoder) tools() {
	if len(e.p.Tools) == 0 && e.p.Search == nil {
		return
	}
	e.Name("tools").Array()
	if len(e.p.Tools) > 0 {
		e.B = append(e.B, `{"functionDeclarations":[`...)
		for i := range e.p.Tools {
			t := &e.p.Tools[i]
			e.Object()
			e.Name("name").Text(t.Name)
			if t.Description != "" {
				e.Name("description").Text(t.Description)
			}
			if t.Parameters != nil {
				e.Name("parametersJsonSchema").Raw(t.Parameters)
			}
			e.EndObject()
		}
		e.EndArray()
		e.EndObject()
	}
	if e.p.Search != nil && len(e.p.Tools) == 0 { // the wire takes one or the other
		e.B = append(e.B, `{"googleSearch":{}}`...)
	}
	e.EndArray()
	e.choice()
}

func (e *encoder) choice() {
	mode, c := "", &e.p.Choice
	switch c.Mode {
	case completion.ChoiceNone:
		mode = "NONE"
	case completion.ChoiceRequired, completion.ChoiceTool:
		mode = "ANY"
	case completion.ChoiceAuto:
		mode = "AUTO"
	case completion.ChoiceUnset:
		return
	}
	names := c.Allowed
	if c.Mode == completion.ChoiceTool {
		names = []string{c.Name}
	}
	if mode == "AUTO" && names != nil { // only some of them, and none is required: this wire can restrict no other mode
		mode = "VALIDATED"
	}
	e.Name("toolConfig")
	e.B = append(e.B, `{"functionCallingConfig":{"mode":"`...)
	e.B = append(append(e.B, mode...), '"')
	if names != nil {
		e.list("allowedFunctionNames", names)
	}
	e.EndObject()
	e.EndObject()
}

func (e *encoder) list(name string, values []string) {
	e.Name(name).Array()
	for _, v := range values {
		e.Text(v)
	}
	e.EndArray()
}

// config writes generationConfig, or nothing when it would be empty.
func (e *encoder) config() error {
	at := len(e.B)
	e.Name("generationConfig").Object()
	begin := len(e.B)
	s := &e.p.Sampling
	for _, n := range [...]struct {
		name, value string
		param       catalog.Params
	}{
		{"temperature", s.Temperature, catalog.ParamTemperature}, {"topP", s.TopP, catalog.ParamTopP}, {"topK", s.TopK, catalog.ParamTopK},
		{"frequencyPenalty", s.FrequencyPenalty, catalog.ParamFrequencyPenalty}, {"presencePenalty", s.PresencePenalty, catalog.ParamPresencePenalty}, {"seed", s.Seed, catalog.ParamSeed},
	} {
		if n.value != "" && e.ep.Params&n.param != 0 {
			e.Name(n.name).Raw(n.value)
		}
	}
	if e.req.N > 1 {
		e.integer("candidateCount", int64(e.req.N))
	}
	if n := e.req.MaxTokens; n > 0 {
		if most := e.ep.MaxCompletion; most > 0 {
			n = min(n, most)
		}
		e.integer("maxOutputTokens", n)
	}
	if len(e.p.Stop) > 0 {
		e.list("stopSequences", e.p.Stop)
	}
	if s.Logprobs && e.ep.Params&catalog.ParamLogprobs != 0 {
		e.Name("responseLogprobs").Literal("true")
		if s.TopLogprobs > 0 {
			e.integer("logprobs", int64(s.TopLogprobs))
		}
	}
	e.format()
	e.modalities()
	if err := e.thinking(); err != nil {
		return err
	}
	if len(e.B) == begin {
		e.B = e.B[:at]
		return nil
	}
	e.EndObject()
	return nil
}

func (e *encoder) integer(name string, n int64) {
	e.Name(name).Int(n)
}

func (e *encoder) format() {
	f := &e.p.Format
	if f.Kind == completion.FormatText {
		return
	}
	e.Name("responseMimeType").Text("application/json")
	if f.Kind == completion.FormatSchema && f.Schema != nil {
		e.Name("responseJsonSchema").Raw(f.Schema)
	}
}

func (e *encoder) modalities() {
	out := e.req.Needs.Output
	if out&(catalog.Image|catalog.Audio) == 0 {
		return
	}
	var words []string
	for _, m := range [...]struct {
		bit  catalog.Modality
		word string
	}{{catalog.Text, "TEXT"}, {catalog.Image, "IMAGE"}, {catalog.Audio, "AUDIO"}} {
		if out&m.bit != 0 {
			words = append(words, m.word)
		}
	}
	e.list("responseModalities", words)
	if s := e.p.Sound; s != nil && s.Voice != "" {
		e.Name("speechConfig")
		e.B = rawjson.AppendText(append(e.B, `{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":`...), s.Voice)
		e.B = append(e.B, "}}}"...)
	}
}

// thinking writes how much the model may reason: newer models are told a level, older ones a budget.
func (e *encoder) thinking() error {
	r := &e.req.Reasoning
	if !r.Set || !e.thinks() {
		return nil
	}
	e.Name("thinkingConfig").Object()
	if !r.Exclude && !r.Off() {
		e.Name("includeThoughts").Literal("true")
	}
	answerCap := e.req.AnswerCap(e.ep.MaxCompletion)
	switch {
	case !r.Chosen():
	case e.leveled():
		e.Name("thinkingLevel").Text(level(r.EffortOf(answerCap)))
	case r.Off():
		e.integer("thinkingBudget", 0)
	case r.BudgetOf(answerCap) > 0:
		budget := r.BudgetOf(answerCap)
		if e.req.MaxTokens > 0 && budget >= e.req.MaxTokens {
			return fault.Field("gemini.Request", "max_tokens", "The cap of the answer (%d tokens) must be above the reasoning budget (%d tokens).", e.req.MaxTokens, budget)
		}
		e.integer("thinkingBudget", budget)
	}
	e.EndObject()
	return nil
}

func (e *encoder) leveled() bool {
	switch e.ep.Provider.Quirks.ReasoningRequest {
	case "effort":
		return true
	case "thinking":
		return false
	}
	return e.ep.Params != catalog.AllParams && e.ep.Params&catalog.ParamReasoningEffort != 0
}

// level is the nearest of the levels that the wire has. A model that is told a level cannot be kept from thinking.
func level(effort string) string {
	switch effort {
	case "none", "minimal":
		return "minimal"
	case "low", "medium":
		return effort
	}
	return "high"
}
