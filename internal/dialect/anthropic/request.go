package anthropic

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/claude"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
)

const idPrefix = "toolu_"

// encoder writes one request from its canonical form.
type encoder struct {
	ep  *catalog.Endpoint
	req *completion.Request
	p   *completion.Prompt
	rawjson.Writer

	marks     claude.Marks
	reasoning claude.Reasoning
	sent      dialect.Sent
}

func (e *encoder) encode() error {
	if err := e.check(); err != nil {
		return err
	}
	if e.req.WithoutReasoning || e.p.Foreign(completion.FormatAnthropic) {
		e.sent.Note(completion.NoticeReasoning)
	}
	var err error
	if e.reasoning, err = claude.Decide(e.ep, e.req, e.p); err != nil {
		return err
	}
	e.marks = claude.MarksOf(e.p)
	e.sent.Has(dialect.FieldCap | dialect.FieldN | dialect.FieldTools | dialect.FieldChoice | dialect.FieldSerial | dialect.FieldFormat |
		dialect.FieldCache)
	e.Writer = dialect.Writer(len(e.req.Body))
	e.Object()
	e.Name("model").Text(e.ep.UpstreamID)
	e.thinking()
	e.Name("max_tokens").Int(cmp.Or(e.reasoning.Cap, claude.UsualCap))
	// in the order in which the provider caches: tools, system, messages
	e.tools()
	e.system()
	if err := e.messages(); err != nil {
		return err
	}
	e.sampling()
	e.rest()
	e.EndObject()
	return nil
}

// check refuses requests that this wire cannot express.
func (e *encoder) check() error {
	if err := dialect.OneAnswer(e.req); err != nil {
		return err
	}
	if err := e.sent.OnlyFunctions(e.p); err != nil {
		return err
	}
	return nil
}

// thinking writes the reasoning settings.
func (e *encoder) thinking() {
	r := &e.reasoning
	if r.Notice != "" {
		e.sent.Explain(dialect.FieldReasoning, "reasoning", r.Notice)
	}
	if !r.On && !r.Off {
		return
	}
	e.sent.Has(dialect.FieldReasoning)
	e.Name("thinking").Object()
	switch {
	case r.Off:
		e.Name("type").Text("disabled")
	case r.Adaptive:
		e.Name("type").Text("adaptive")
		if !e.req.Reasoning.Exclude {
			e.Name("display").Text("summarized")
		}
	default:
		e.Name("type").Text("enabled")
		e.Name("budget_tokens").Int(r.Budget)
	}
	e.EndObject()
}

// effort translates the requested effort for this wire, "" for none.
func (e *encoder) effort() string {
	if e.reasoning.Adaptive {
		return e.reasoning.Effort
	}
	if e.ep.Params&catalog.ParamVerbosity != 0 {
		e.sent.Has(dialect.FieldVerbosity)
		return e.p.Sampling.Verbosity
	}
	return ""
}

// mark writes a cache mark.
func (e *encoder) mark(c completion.Cache) {
	if !e.marks.Keep(c) {
		return
	}
	e.Name("cache_control").Object()
	e.Name("type").Text("ephemeral")
	if c == "1h" {
		e.Name("ttl").Text("1h")
	}
	e.EndObject()
}

func (e *encoder) tools() {
	allowed := e.p.Choice.Allowed
	at := len(e.B)
	e.Name("tools").Array()
	for i := range e.p.Tools {
		if t := &e.p.Tools[i]; allowed == nil || slices.Contains(allowed, t.Name) {
			e.tool(t)
		}
	}
	if s := e.p.Search; s != nil {
		e.sent.Has(dialect.FieldSearch)
		e.sent.Domains(e.req, s, true, len(s.Include) == 0) // the wire takes one of the two
		e.Object()
		e.Name("type").Text("web_search_20250305")
		e.Name("name").Text("web_search")
		if s.MaxResults > 0 {
			e.Name("max_uses").Int(int64(s.MaxResults))
		}
		switch { // the wire allows only one of the two
		case len(s.Include) > 0:
			e.Name("allowed_domains").Texts(s.Include)
		case len(s.Exclude) > 0:
			e.Name("blocked_domains").Texts(s.Exclude)
		}
		e.EndObject()
	}
	if e.EndArrayOrDrop(at); len(e.B) > at {
		e.choice()
	}
}

func (e *encoder) tool(t *completion.Tool) {
	e.Object()
	e.Name("name").Text(t.Name)
	if t.Description != "" {
		e.Name("description").Text(t.Description)
	}
	e.Name("input_schema").Raw(dialect.ObjectSchema(t.Parameters))
	if t.Strict != nil && *t.Strict {
		e.Name("strict").Bool(true)
	}
	e.mark(t.Cache)
	e.EndObject()
}

func (e *encoder) choice() {
	word := ""
	switch e.p.Choice.Mode {
	case completion.ChoiceNone:
		e.Name("tool_choice").Literal(`{"type":"none"}`)
		return
	case completion.ChoiceRequired:
		word = "any"
	case completion.ChoiceTool:
		word = "tool"
	case completion.ChoiceAuto:
		word = "auto"
	case completion.ChoiceUnset:
		if !e.p.Serial {
			return
		}
		word = "auto"
	}
	e.Name("tool_choice").Object()
	e.Name("type").Text(word)
	if word == "tool" {
		e.Name("name").Text(e.p.Choice.Name)
	}
	if e.p.Serial {
		e.Name("disable_parallel_tool_use").Bool(true)
	}
	e.EndObject()
}

func (e *encoder) system() {
	at := len(e.B)
	e.Name("system").Array()
	for part := range claude.System(e.p) {
		if strings.TrimSpace(part.Text) != "" {
			e.textBlock(part)
		}
	}
	e.EndArrayOrDrop(at)
}

func (e *encoder) textBlock(part *completion.Part) {
	e.Object()
	e.Name("type").Text("text")
	e.Name("text").Text(part.Text)
	e.mark(part.Cache)
	e.EndObject()
}

func (e *encoder) messages() error {
	e.Name("messages").Array()
	for m := range claude.Messages(e.p) {
		e.Object()
		e.Name("role").Text(m.Role)
		e.Name("content").Array()
		begin := len(e.B)
		for part := range m.Parts() {
			if err := e.block(part); err != nil {
				return err
			}
		}
		if len(e.B) == begin {
			e.textBlock(&completion.Part{Text: completion.Filler})
		}
		e.Close("]}")
	}
	e.EndArray()
	return nil
}

// block writes one content block. An empty one is left out.
func (e *encoder) block(part *completion.Part) error {
	written, err := e.content(part)
	if err != nil || !written {
		return err
	}
	e.mark(part.Cache)
	e.EndObject()
	return nil
}

// content writes a block without its closing brace.
func (e *encoder) content(part *completion.Part) (written bool, err error) {
	switch part.Kind {
	case completion.TextPart, completion.RefusalPart:
		if strings.TrimSpace(part.Text) == "" { // the wire refuses texts of white space
			return false, nil
		}
		e.Object()
		e.Name("type").Text("text")
		e.Name("text").Text(part.Text)
	case completion.ImagePart:
		e.Object()
		e.Name("type").Text("image")
		e.source(part.Media, mediatype.PNG)
	case completion.FilePart:
		e.document(part.Media)
	case completion.AudioPart:
		return false, dialect.Cannot("messages", "sound")
	case completion.VideoPart:
		return false, dialect.Cannot("messages", "video")
	case completion.CallPart:
		return true, e.call(part.Call)
	case completion.ResultPart:
		return true, e.result(part.Result)
	case completion.ReasoningPart:
		return e.reasoningDetail(part.Reasoning), nil
	}
	return true, nil
}

func (e *encoder) source(m *completion.Media, kind string) {
	switch {
	case !m.Base64.None():
		if m.Type != "" {
			kind = m.Type
		}
		e.Name("source").Object()
		e.Name("type").Text("base64")
		e.Name("media_type").Text(kind)
		e.Name("data").Base64(m.Base64)
	case m.FileID != "":
		e.Name("source").Object()
		e.Name("type").Text("file")
		e.Name("file_id").Text(m.FileID)
	default:
		e.Name("source").Object()
		e.Name("type").Text("url")
		e.Name("url").Text(m.URL)
	}
	e.EndObject()
}

func (e *encoder) document(m *completion.Media) {
	e.Object()
	e.Name("type").Text("document")
	e.source(m, "application/pdf")
	if m.Name != "" {
		e.Name("title").Text(m.Name)
	}
}

func (e *encoder) call(c *completion.Call) error {
	arguments, err := dialect.ObjectArguments(c)
	if err != nil {
		return err
	}
	e.Object()
	e.Name("type").Text("tool_use")
	e.Name("id").Text(claude.CallID(idPrefix, c.ID))
	e.Name("name").Text(c.Name)
	e.Name("input").Raw(arguments)
	return nil
}

func (e *encoder) result(r *completion.Result) error {
	e.Object()
	e.Name("type").Text("tool_result")
	e.Name("tool_use_id").Text(claude.CallID(idPrefix, r.CallID))
	e.Name("content").Array()
	for i := range r.Parts {
		if err := e.block(&r.Parts[i]); err != nil {
			return err
		}
	}
	e.EndArray()
	if r.Failed {
		e.Name("is_error").Bool(true)
	}
	return nil
}

// reasoningDetail writes reasoning that was made on this wire. Reasoning of other wires and unsigned reasoning is left out: the provider
// would refuse it.
func (e *encoder) reasoningDetail(t *completion.ReasoningDetail) (written bool) {
	switch {
	case !t.Of(completion.FormatAnthropic):
		return false
	case t.Kind == completion.ReasoningText:
		e.Object()
		e.Name("type").Text("thinking")
		e.Name("thinking").Text(t.Text)
		e.Name("signature").Text(t.Signature)
	default:
		e.Object()
		e.Name("type").Text("redacted_thinking")
		e.Name("data").Text(t.Data)
	}
	return true
}

// sampling writes the sampling parameters. A model that reasons accepts none of them.
func (e *encoder) sampling() {
	s := &e.p.Sampling
	if !e.reasoning.On {
		sampled := claude.Sampled(e.ep, s)
		if sampled&catalog.ParamTemperature != 0 {
			value, clipped := claude.Share(s.Temperature)
			e.sent.Note(clipped)
			e.sent.Has(dialect.FieldTemperature)
			e.Name("temperature").Literal(value)
		}
		if sampled&catalog.ParamTopP != 0 {
			e.sent.Has(dialect.FieldTopP)
			e.Name("top_p").Literal(s.TopP)
		}
		if s.TopK != "0" && sampled&catalog.ParamTopK != 0 {
			e.sent.Has(dialect.FieldTopK)
			e.Name("top_k").Literal(s.TopK)
		}
	}
	at := len(e.B)
	e.Name("stop_sequences").Array()
	stops, all := claude.Stops(e.p.Stop)
	for _, stop := range stops {
		e.Text(stop)
	}
	if all {
		e.sent.Has(dialect.FieldStop)
	}
	e.EndArrayOrDrop(at)
}

func (e *encoder) rest() {
	at := len(e.B)
	e.Name("output_config").Object()
	if effort := e.effort(); effort != "" {
		e.Name("effort").Text(effort)
	}
	if e.p.Format.Kind == completion.FormatSchema {
		e.Name("format").Object()
		e.Name("type").Text("json_schema")
		e.Name("schema").Raw(dialect.ClosedSchema(e.p.Format.Schema))
		e.EndObject()
	}
	e.EndObjectOrDrop(at)
	if e.p.Cache != "" {
		e.mark(e.p.Cache)
	}
	if e.req.User != "" {
		e.Name("metadata").Object()
		e.Name("user_id").Text(dialect.HashUser(e.req.Account, []byte(e.req.User)))
		e.EndObject()
	}
	if e.req.Stream {
		e.Name("stream").Bool(true)
	}
}
