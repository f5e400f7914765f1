package gemini

import (
	"net/url"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
)

// unsigned replaces the signature of a call that another model made. Google's servers accept this word.
const unsigned = "skip_thought_signature_validator"

// encoder writes one request from its canonical form.
type encoder struct {
	ep   *catalog.Endpoint
	req  *completion.Request
	p    *completion.Prompt
	sent dialect.Sent
	rawjson.Writer
}

func (e *encoder) encode() error {
	if err := e.sent.OnlyFunctions(e.p); err != nil {
		return err
	}
	if e.req.WithoutReasoning || e.p.Foreign(completion.FormatGoogle) {
		e.sent.Note(completion.NoticeReasoning)
	}
	if e.p.Serial && len(e.p.Tools) > 1 {
		e.sent.Explain(dialect.FieldSerial, "parallel_tool_calls", "parallel_tool_calls was left out, because the provider does not support it.")
	}
	if e.p.Search != nil && len(e.p.Tools) > 0 { // coding agents offer both without being asked to
		e.sent.Explain(dialect.FieldSearch, "tools", "The web search was left out, because the provider has none together with tools.")
	}
	e.sent.Has(dialect.FieldCap | dialect.FieldN | dialect.FieldTools | dialect.FieldChoice | dialect.FieldSerial | dialect.FieldSearch |
		dialect.FieldFormat | dialect.FieldStop | dialect.FieldModalities)
	e.Writer = dialect.Writer(len(e.req.Body))
	e.Object()
	if err := e.contents(); err != nil {
		return err
	}
	e.system()
	e.tools()
	if e.p.Safety != nil {
		e.sent.Has(dialect.FieldSafety)
		e.Name("safetySettings").Raw(e.p.Safety)
	}
	if err := e.config(); err != nil {
		return err
	}
	e.EndObject()
	return nil
}

// contents writes the conversation; consecutive turns of one role become one content. The wire refuses a content without parts: an answer of
// which nothing can go back is left out, and an empty turn of the user has a filler.
func (e *encoder) contents() error {
	e.Name("contents").Array()
	var open completion.Role
	some, begin := false, 0
	for i := range e.p.Turns {
		t := &e.p.Turns[i]
		if t.Role == completion.System || t.Role == completion.Assistant && silent(t) {
			continue
		}
		if !some || t.Role != open {
			if some {
				e.fill(begin)
				e.Close("]}")
			}
			role := "user"
			if t.Role == completion.Assistant {
				role = "model"
			}
			e.content(role)
			some, open, begin = true, t.Role, len(e.B)
		}
		if err := e.turn(t); err != nil {
			return err
		}
	}
	if !some {
		e.content("user")
		begin = len(e.B)
	}
	e.fill(begin)
	e.Close("]}]")
	return nil
}

// fill writes a part into a content that has none.
func (e *encoder) fill(begin int) {
	if len(e.B) == begin {
		e.Object()
		e.Name("text").Text(completion.Filler)
		e.EndObject()
	}
}

// silent reports whether a turn has nothing that the wire takes: text of white space, or reasoning that is not signed.
func silent(t *completion.Turn) bool {
	for i := range t.Parts {
		switch part := &t.Parts[i]; part.Kind {
		case completion.TextPart, completion.RefusalPart:
			if strings.TrimSpace(part.Text) != "" {
				return false
			}
		case completion.ReasoningPart:
			if signatureOf(part.Reasoning) != "" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// content begins the parts of one role.
func (e *encoder) content(role string) {
	e.Object()
	e.Name("role").Text(role)
	e.Name("parts").Array()
}

func (e *encoder) turn(t *completion.Turn) error {
	called := false // the first call of a step carries its signature
	signature := "" // of a text: it is sent with the next part, or after the last one
	for i := range t.Parts {
		part := &t.Parts[i]
		var err error
		switch {
		case part.Kind == completion.CallPart:
			e.signed("", signature)
			signature = ""
			err = e.call(part.Call, !called)
			called = true
		case part.Kind == completion.ReasoningPart: // the wire does not take the text of reasoning back
			if s := signatureOf(part.Reasoning); s != "" {
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

// signatureOf is the signature that belongs to a text or an image, "" for any other reasoning.
func signatureOf(t *completion.ReasoningDetail) string {
	if t.Format == completion.FormatGoogle && t.Kind == completion.ReasoningEncrypted && t.ID == "" {
		return t.Data
	}
	return ""
}

// signed writes text with its signature, or nothing without a signature.
func (e *encoder) signed(text, signature string) {
	if signature == "" {
		return
	}
	e.Object()
	e.Name("text").Text(text)
	e.Name("thoughtSignature").Text(signature)
	e.EndObject()
}

func (e *encoder) part(part *completion.Part) error {
	switch part.Kind {
	case completion.TextPart, completion.RefusalPart:
		if strings.TrimSpace(part.Text) != "" {
			e.Object()
			e.Name("text").Text(part.Text)
			e.EndObject()
		}
	case completion.ImagePart:
		return e.media(part.Media, mediatype.PNG)
	case completion.AudioPart:
		return e.media(part.Media, mediatype.WAV)
	case completion.FilePart:
		return e.media(part.Media, mediatype.PDF)
	case completion.VideoPart:
		return e.media(part.Media, mediatype.MP4)
	case completion.ResultPart:
		return e.result(part.Result)
	case completion.CallPart, completion.ReasoningPart: // written by turn
	}
	return nil
}

// media writes bytes or an address. Audio formats have the names of the chat wire.
func (e *encoder) media(m *completion.Media, kind string) error {
	if m.Type != "" {
		kind = m.Type
	}
	if kind = mediatype.Registered(kind); kind == "audio/pcm16" {
		kind = "audio/L16"
	}
	switch {
	case !m.Base64.None():
		e.Object()
		e.Name("inlineData").Object()
		e.Name("mimeType").Text(kind)
		e.Name("data").Base64(m.Base64)
		e.Close("}}")
	case m.URL != "" && (completion.PrivateFile(m.URL) || e.ownHost(m.URL)):
		return dialect.Cannot("messages", "addresses of files that belong to the account of its key")
	case m.URL != "":
		e.Object()
		e.Name("fileData").Object()
		if m.Type != "" || kind != mediatype.PNG {
			e.Name("mimeType").Text(kind)
		}
		e.Name("fileUri").Text(m.URL)
		e.Close("}}")
	default:
		return dialect.Cannot("messages", "files by another provider's id")
	}
	return nil
}

// ownHost reports whether an address is at the provider itself, which would read it with the gateway's key.
func (e *encoder) ownHost(address string) bool {
	base, err := url.Parse(e.ep.Provider.BaseURL)
	if err != nil {
		return true
	}
	u, err := url.Parse(address)
	return err != nil || strings.EqualFold(u.Hostname(), base.Hostname())
}

func (e *encoder) call(c *completion.Call, first bool) error {
	arguments, err := dialect.ObjectArguments(c)
	if err != nil {
		return err
	}
	e.Object()
	e.Name("functionCall").Object()
	e.Name("name").Text(c.Name)
	e.Name("args").Raw(arguments)
	e.EndObject()
	switch {
	case c.Signature != "":
		e.Name("thoughtSignature").Text(c.Signature)
	case first && e.thinks():
		e.Name("thoughtSignature").Text(unsigned)
	}
	e.EndObject()
	return nil
}

// thinks reports whether the model can reason.
func (e *encoder) thinks() bool {
	return e.ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) != 0
}

// result writes a tool's result: an object with its text, and after it its images and other media.
func (e *encoder) result(r *completion.Result) error {
	var text strings.Builder
	for i := range r.Parts {
		text.WriteString(r.Parts[i].Text)
	}
	e.Object()
	e.Name("functionResponse").Object()
	e.Name("name").Text(r.Name)
	e.Name("response")
	said := []byte(text.String())
	switch {
	case r.Failed:
		e.Object()
		e.Name("error").Bytes(said)
		e.EndObject()
	case rawjson.Valid(said) && rawjson.KindOf(said) == rawjson.Object:
		e.Raw(rawjson.Mended(said))
	default:
		e.Object()
		e.Name("result").Bytes(said)
		e.EndObject()
	}
	e.Close("}}")
	for i := range r.Parts {
		if r.Parts[i].Kind != completion.TextPart {
			if err := e.part(&r.Parts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// system writes the instructions from all places of the conversation.
func (e *encoder) system() {
	at := len(e.B)
	e.Name("systemInstruction").Object()
	e.Name("parts").Array()
	begin := len(e.B)
	write := func(parts []completion.Part) {
		for i := range parts {
			if parts[i].Kind == completion.TextPart {
				_ = e.part(&parts[i]) // a text part cannot fail
			}
		}
	}
	write(e.p.System)
	for i := range e.p.Turns {
		if e.p.Turns[i].Role == completion.System {
			write(e.p.Turns[i].Parts)
		}
	}
	if len(e.B) == begin {
		e.B = e.B[:at]
		return
	}
	e.Close("]}")
}

func (e *encoder) tools() {
	if len(e.p.Tools) == 0 && e.p.Search == nil {
		return
	}
	e.Name("tools").Array()
	if len(e.p.Tools) > 0 {
		e.Object()
		e.Name("functionDeclarations").Array()
		for i := range e.p.Tools {
			t := &e.p.Tools[i]
			e.Object()
			e.Name("name").Text(t.Name)
			if t.Description != "" {
				e.Name("description").Text(t.Description)
			}
			if t.Parameters != nil {
				e.Name("parametersJsonSchema").Raw(dialect.ObjectSchema(t.Parameters))
			}
			e.EndObject()
		}
		e.Close("]}")
	}
	if e.p.Search != nil && len(e.p.Tools) == 0 { // the wire takes either search or tools
		e.sent.Domains(e.req, e.p.Search, false, false)
		e.Literal(`{"googleSearch":{}}`)
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
	if mode == "AUTO" && names != nil { // the client allows only some tools and requires none; this wire can restrict only a required call
		mode = "VALIDATED"
	}
	e.Name("toolConfig").Object()
	e.Name("functionCallingConfig").Object()
	e.Name("mode").Text(mode)
	if names != nil {
		e.Name("allowedFunctionNames").Texts(names)
	}
	e.Close("}}")
}

// config writes generationConfig, or nothing when it would be empty.
func (e *encoder) config() error {
	at := len(e.B)
	e.Name("generationConfig").Object()
	s := &e.p.Sampling
	for _, n := range [...]struct {
		name, value string
		param       catalog.Params
		field       dialect.Fields
	}{
		{"temperature", s.Temperature, catalog.ParamTemperature, dialect.FieldTemperature}, {"topP", s.TopP, catalog.ParamTopP, dialect.FieldTopP},
		{"topK", s.TopK, catalog.ParamTopK, dialect.FieldTopK}, {"frequencyPenalty", s.FrequencyPenalty, catalog.ParamFrequencyPenalty, dialect.FieldFrequencyPenalty},
		{"presencePenalty", s.PresencePenalty, catalog.ParamPresencePenalty, dialect.FieldPresencePenalty}, {"seed", s.Seed, catalog.ParamSeed, dialect.FieldSeed},
	} {
		if n.value != "" && e.ep.Params&n.param != 0 {
			e.sent.Has(n.field)
			e.Name(n.name).Literal(n.value)
		}
	}
	if e.req.N > 1 {
		e.Name("candidateCount").Int(int64(e.req.N))
	}
	if n := e.req.MaxTokens; n > 0 {
		e.Name("maxOutputTokens").Int(n)
	}
	if len(e.p.Stop) > 0 {
		e.Name("stopSequences").Texts(e.p.Stop)
	}
	if s.Logprobs && e.ep.Params&catalog.ParamLogprobs != 0 {
		e.sent.Has(dialect.FieldLogprobs | dialect.FieldTopLogprobs)
		e.Name("responseLogprobs").Bool(true)
		if s.TopLogprobs > 0 {
			e.Name("logprobs").Int(int64(s.TopLogprobs))
		}
	}
	e.format()
	e.modalities()
	if err := e.thinking(); err != nil {
		return err
	}
	e.EndObjectOrDrop(at)
	return nil
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
	e.Name("responseModalities").Texts(words)
	if s := e.p.Audio; s != nil && s.Voice != "" {
		e.sent.Has(dialect.FieldAudio)
		e.Name("speechConfig").Object()
		e.Name("voiceConfig").Object()
		e.Name("prebuiltVoiceConfig").Object()
		e.Name("voiceName").Text(s.Voice)
		e.Close("}}}")
	}
}

// thinking writes the reasoning setting: newer models take a level, older ones a budget.
func (e *encoder) thinking() error {
	r := &e.req.Reasoning
	if !r.Set || !e.thinks() {
		return nil
	}
	e.sent.Has(dialect.FieldReasoning)
	e.Name("thinkingConfig").Object()
	if !r.Exclude && !r.Off() {
		e.Name("includeThoughts").Bool(true)
	}
	budget := r.BudgetFor(&e.ep.Facts, e.req, e.ep.MaxCompletion)
	switch {
	case !r.Chosen():
	case e.leveled():
		effort, still := r.EffortFor(&e.ep.Facts, e.req.AnswerCap(e.ep.MaxCompletion))
		if still {
			e.stillReasons()
		}
		if len(e.ep.Facts.Efforts) == 0 {
			effort = level(effort)
		}
		e.Name("thinkingLevel").Text(effort)
	case r.Off() && e.ep.Facts.CanStop():
		e.Name("thinkingBudget").Int(0)
	case r.Off():
		e.stillReasons()
		if least := e.ep.Facts.BudgetLeast; least > 0 {
			e.Name("thinkingBudget").Int(int64(least))
		}
	case budget > 0:
		if e.req.MaxTokens > 0 && budget >= e.req.MaxTokens {
			return fault.Field("gemini.Request", "max_tokens", "The longest answer (%d tokens) must be above the reasoning budget (%d tokens).", e.req.MaxTokens, budget)
		}
		e.Name("thinkingBudget").Int(budget)
	}
	e.EndObject()
	return nil
}

// stillReasons says that reasoning is not off, which the client wanted.
func (e *encoder) stillReasons() {
	e.sent.Explain(dialect.FieldReasoning, "reasoning", completion.NoticeStill)
}

func (e *encoder) leveled() bool {
	switch e.ep.ReasoningRequest() {
	case "effort":
		return true
	case "thinking":
		return false
	}
	switch f := &e.ep.Facts; {
	case len(f.Efforts) > 0:
		return true
	case f.BudgetMost > 0:
		return false
	}
	return e.ep.Params != catalog.AllParams && e.ep.Params&catalog.ParamReasoningEffort != 0
}

// level is the nearest of the wire's levels. Reasoning of a model with levels cannot be turned off.
func level(effort string) string {
	switch effort {
	case "none", "minimal":
		return "minimal"
	case "low", "medium":
		return effort
	}
	return "high"
}
