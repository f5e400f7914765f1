package bedrock

import (
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/claude"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
)

const idPrefix = "tooluse_"

// encoder writes one request from its canonical form.
type encoder struct {
	ep     *catalog.Endpoint
	req    *completion.Request
	p      *completion.Prompt
	family family
	rawjson.Writer

	marks     claude.Marks
	answerCap int64
	thinking  bool
	more      rawjson.Writer // members of additionalModelRequestFields
	documents int
	names     names // of documents
	sent      dialect.Sent
}

func (e *encoder) encode() error {
	if err := e.check(); err != nil {
		return err
	}
	format := completion.FormatAnthropic
	if e.family != anthropic {
		format = "" // other families do not have these fields
	}
	if e.req.WithoutReasoning || e.p.Foreign(format) {
		e.sent.Note(completion.NoticeReasoning)
	}
	if err := e.reasoning(); err != nil {
		return err
	}
	e.marks = claude.MarksOf(e.p)
	e.sent.Has(dialect.FieldCap | dialect.FieldN | dialect.FieldTools | dialect.FieldChoice | dialect.FieldSerial | dialect.FieldFormat)
	if e.caches() {
		e.sent.Has(dialect.FieldCache)
	}
	e.Writer = dialect.Writer(len(e.req.Body))
	e.Object()
	// in the order in which the provider caches: tools, system, messages
	e.tools()
	e.system()
	if err := e.messages(); err != nil {
		return err
	}
	e.inference()
	e.modelFields()
	e.format()
	if tier := e.ep.Tier; tier != "" && tier != "default" && tier != catalog.BatchTier {
		e.Name("serviceTier").Object()
		e.Name("type").Text(tier)
		e.EndObject()
	}
	e.EndObject()
	return nil
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

// reasoning writes the reasoning setting, and adjusts the cap of the answer to it.
func (e *encoder) reasoning() error {
	r := &e.req.Reasoning
	e.answerCap = e.req.MaxTokens
	if !r.Chosen() || e.ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) == 0 {
		return nil
	}
	switch e.family {
	case openAI:
		e.sent.Has(dialect.FieldReasoning)
		effort, still := r.EffortFor(&e.ep.Facts, e.req.AnswerCap(e.ep.MaxCompletion))
		if still {
			e.sent.Explain(dialect.FieldReasoning, "reasoning", completion.NoticeStill)
		}
		if effort != "" {
			e.more.Name("reasoning_effort").Text(leveled(effort))
		}
		return nil
	case other, nova:
		e.sent.Explain(dialect.FieldReasoning, "reasoning", "The reasoning setting was left out, because the provider has none.")
		return nil
	case anthropic:
	}
	d, err := claude.Decide(e.ep, e.req, e.p)
	if err != nil {
		return err
	}
	if d.Notice != "" {
		e.sent.Explain(dialect.FieldReasoning, "reasoning", d.Notice)
	}
	e.sent.Has(dialect.FieldReasoning)
	if e.thinking = d.On; !d.On { // it is off unless asked for
		return nil
	}
	e.more.Name("thinking").Object()
	if d.Adaptive {
		e.more.Name("type").Text("adaptive")
	} else {
		e.more.Name("type").Text("enabled")
		e.more.Name("budget_tokens").Int(d.Budget)
		e.answerCap = d.Cap
	}
	e.more.EndObject()
	if d.Effort != "" {
		e.more.Name("output_config").Object()
		e.more.Name("effort").Text(d.Effort)
		e.more.EndObject()
	}
	return nil
}

// leveled is the nearest of the three efforts that open models accept.
func leveled(effort string) string {
	switch effort {
	case "none", "minimal", "low":
		return "low"
	case "medium":
		return effort
	}
	return "high"
}

// caches reports whether the model accepts cache points: other models refuse the whole request.
func (e *encoder) caches() bool {
	return e.family == anthropic || e.family == nova || e.ep.Provider.Quirks.CacheControl
}

// point writes a cache point after a marked part, if it is among the last four of the request.
func (e *encoder) point(c completion.Cache) {
	if !e.caches() || !e.marks.Keep(c) {
		return
	}
	e.Object()
	e.Name("cachePoint").Object()
	e.Name("type").Text("default")
	if c == "1h" && e.family == anthropic {
		e.Name("ttl").Text("1h")
	}
	e.Close("}}")
}

// tools writes the tools. The wire accepts calls and results only together with tools, and cannot forbid calls: a request with calls in
// its conversation that allows no further ones declares only the tools that were called.
func (e *encoder) tools() {
	c := &e.p.Choice
	list, called := e.p.Tools, e.called()
	if c.Mode == completion.ChoiceNone {
		if len(list) > 0 && len(called) > 0 {
			e.sent.Explain(dialect.FieldChoice, "tool_choice", "tool_choice none was left out, because the provider does not support it.")
		}
		list = nil
	}
	if len(list) == 0 && len(called) == 0 {
		return
	}
	e.Name("toolConfig").Object()
	e.Name("tools").Array()
	for i := range list {
		if t := &list[i]; c.Allowed == nil || slices.Contains(c.Allowed, t.Name) {
			e.tool(t)
		}
	}
	if len(list) == 0 {
		for _, name := range called {
			e.tool(e.declared(name))
		}
	}
	e.EndArray()
	if len(list) > 0 {
		e.choice()
	}
	e.EndObject()
}

// called returns the names of the tools that were called so far.
func (e *encoder) called() (names []string) {
	for i := range e.p.Turns {
		for j := range e.p.Turns[i].Parts {
			if c := e.p.Turns[i].Parts[j].Call; c != nil && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// declared is the tool of that name; an undeclared one has only the name.
func (e *encoder) declared(name string) *completion.Tool {
	for i := range e.p.Tools {
		if e.p.Tools[i].Name == name {
			return &e.p.Tools[i]
		}
	}
	return &completion.Tool{Name: name}
}

func (e *encoder) tool(t *completion.Tool) {
	e.Object()
	e.Name("toolSpec").Object()
	e.Name("name").Text(t.Name)
	if strings.TrimSpace(t.Description) != "" {
		e.Name("description").Text(t.Description)
	}
	e.Name("inputSchema").Object()
	e.Name("json").Raw(dialect.ObjectSchema(t.Parameters))
	e.EndObject()
	if t.Strict != nil && *t.Strict && e.family == anthropic {
		e.Name("strict").Bool(true)
	}
	e.Close("}}")
	e.point(t.Cache)
}

func (e *encoder) choice() {
	switch e.p.Choice.Mode {
	case completion.ChoiceAuto:
		e.Name("toolChoice").Literal(`{"auto":{}}`)
	case completion.ChoiceRequired:
		e.Name("toolChoice").Literal(`{"any":{}}`)
	case completion.ChoiceTool:
		e.Name("toolChoice").Object()
		e.Name("tool").Object()
		e.Name("name").Text(e.p.Choice.Name)
		e.Close("}}")
	case completion.ChoiceUnset, completion.ChoiceNone:
	}
	if e.p.Serial {
		e.sent.Explain(dialect.FieldSerial, "parallel_tool_calls", "parallel_tool_calls was left out, because the provider does not support it.")
	}
}

func (e *encoder) system() {
	at := len(e.B)
	e.Name("system").Array()
	for part := range claude.System(e.p) {
		if strings.TrimSpace(part.Text) != "" {
			e.textBlock(part.Text)
			e.point(part.Cache)
		}
	}
	e.EndArrayOrDrop(at)
}

func (e *encoder) textBlock(text string) {
	e.Object()
	e.Name("text").Text(text)
	e.EndObject()
}

func (e *encoder) messages() error {
	e.Name("messages").Array()
	for m := range claude.Messages(e.p) {
		if err := e.message(&m); err != nil {
			return err
		}
	}
	e.EndArray()
	return nil
}

func (e *encoder) message(m *claude.Message) error {
	e.Object()
	e.Name("role").Text(m.Role)
	e.Name("content").Array()
	begin, documents, said := len(e.B), e.documents, false
	for part := range m.Parts() {
		said = said || part.Kind == completion.TextPart && strings.TrimSpace(part.Text) != ""
		if err := e.block(part); err != nil {
			return err
		}
		if len(e.B) > begin { // nothing can be cached before the first block
			e.point(part.Cache)
		}
	}
	if len(e.B) == begin || e.documents > documents && !said { // a document requires a text in the same message
		e.textBlock(completion.Filler)
	}
	if m.Last {
		e.point(e.p.Cache)
	}
	e.Close("]}")
	return nil
}

// block writes one content block. An empty one is left out.
func (e *encoder) block(part *completion.Part) error {
	switch part.Kind {
	case completion.TextPart, completion.RefusalPart:
		if strings.TrimSpace(part.Text) != "" {
			e.textBlock(part.Text)
		}
	case completion.ImagePart:
		return e.media(mediatype.Image, part.Media)
	case completion.FilePart:
		return e.media(mediatype.Document, part.Media)
	case completion.AudioPart:
		return e.media(mediatype.Audio, part.Media)
	case completion.VideoPart:
		return e.media(mediatype.Video, part.Media)
	case completion.CallPart:
		return e.call(part.Call)
	case completion.ResultPart:
		return e.result(part.Result)
	case completion.ReasoningPart:
		e.reasoningDetail(part.Reasoning)
	}
	return nil
}

// media writes bytes: the only addresses that this wire takes are in S3, which no client's wire has.
func (e *encoder) media(kind mediatype.Kind, m *completion.Media) error {
	format := formatOf(kind, m)
	switch {
	case m.Base64.None():
		return dialect.Cannot("messages", "a file by URL or by another provider's id; send its data")
	case format == "":
		return dialect.Cannot("messages", "files of type "+m.Type)
	}
	e.Object()
	e.Name(string(kind)).Object() // the wire's names of the kinds are ours
	e.Name("format").Text(format)
	if kind == mediatype.Document {
		e.documents++
		e.Name("name").Text(e.names.unused(documentName(m.Name)))
	}
	e.Name("source").Object()
	e.Name("bytes").Base64(m.Base64)
	e.Close("}}}")
	return nil
}

func (e *encoder) call(c *completion.Call) error {
	arguments, err := dialect.ObjectArguments(c)
	if err != nil {
		return err
	}
	e.Object()
	e.Name("toolUse").Object()
	e.Name("toolUseId").Text(claude.CallID(idPrefix, c.ID))
	e.Name("name").Text(c.Name)
	e.Name("input").Raw(arguments)
	e.Close("}}")
	return nil
}

func (e *encoder) result(r *completion.Result) error {
	e.Object()
	e.Name("toolResult").Object()
	e.Name("toolUseId").Text(claude.CallID(idPrefix, r.CallID))
	e.Name("content").Array()
	begin := len(e.B)
	marked := e.family == anthropic || e.family == nova // other families refuse a status
	if r.Failed && !marked {
		e.textBlock("Error:")
	}
	for i := range r.Parts {
		if err := e.block(&r.Parts[i]); err != nil {
			return err
		}
	}
	if len(e.B) == begin {
		e.textBlock(completion.Filler)
	}
	e.EndArray()
	if r.Failed && marked {
		e.Name("status").Text("error")
	}
	e.Close("}}")
	return nil
}

// reasoningDetail writes reasoning that a model of the same vendor has signed. Other reasoning is left out: it would be refused.
func (e *encoder) reasoningDetail(t *completion.ReasoningDetail) {
	switch {
	case e.family != anthropic || !t.Of(completion.FormatAnthropic):
	case t.Kind == completion.ReasoningText:
		e.Object()
		e.Name("reasoningContent").Object()
		e.Name("reasoningText").Object()
		e.Name("text").Text(t.Text)
		e.Name("signature").Text(t.Signature)
		e.Close("}}}")
	case t.Kind == completion.ReasoningEncrypted:
		e.Object()
		e.Name("reasoningContent").Object()
		e.Name("redactedContent").Text(t.Data)
		e.Close("}}")
	}
}

// inference writes the parameters that every model accepts.
func (e *encoder) inference() {
	at := len(e.B)
	e.Name("inferenceConfig").Object()
	if e.answerCap > 0 {
		e.Name("maxTokens").Int(e.answerCap)
	}
	s := &e.p.Sampling
	if !e.thinking { // a model that reasons accepts none of them
		sampled := claude.Sampled(e.ep, s)
		if sampled&catalog.ParamTemperature != 0 {
			value, clipped := claude.Share(s.Temperature)
			e.sent.Note(clipped)
			e.sent.Has(dialect.FieldTemperature)
			e.Name("temperature").Literal(value)
		}
		if sampled&catalog.ParamTopP != 0 {
			e.sent.Has(dialect.FieldTopP)
			e.Name("topP").Literal(s.TopP)
		}
	}
	start := len(e.B)
	e.Name("stopSequences").Array()
	stops, all := claude.Stops(e.p.Stop)
	for _, s := range stops {
		e.Text(s)
	}
	if all {
		e.sent.Has(dialect.FieldStop)
	}
	e.EndArrayOrDrop(start)
	e.EndObjectOrDrop(at)
}

// modelFields writes the fields that the wire passes to the model unread.
func (e *encoder) modelFields() {
	if k := e.p.Sampling.TopK; k != "" && k != "0" && e.ep.Params&catalog.ParamTopK != 0 && !e.thinking {
		switch e.family {
		case anthropic:
			e.sent.Has(dialect.FieldTopK)
			e.more.Name("top_k").Literal(k)
		case nova:
			e.sent.Has(dialect.FieldTopK)
			e.more.Name("inferenceConfig").Object()
			e.more.Name("topK").Literal(k)
			e.more.EndObject()
		case other, openAI:
		}
	}
	if len(e.more.B) > 0 {
		e.Name("additionalModelRequestFields").Object()
		e.Raw(e.more.B)
		e.EndObject()
	}
}

// format writes the schema of the answer, which this wire takes as text.
func (e *encoder) format() {
	f := &e.p.Format
	if f.Kind != completion.FormatSchema {
		return
	}
	e.Name("outputConfig").Object()
	e.Name("textFormat").Object()
	e.Name("type").Text("json_schema")
	e.Name("structure").Object()
	e.Name("jsonSchema").Object()
	e.Name("schema").Bytes(dialect.ClosedSchema(f.Schema))
	if f.Name != "" {
		e.Name("name").Text(f.Name)
	}
	if f.Description != "" {
		e.Name("description").Text(f.Description)
	}
	e.Close("}}}}")
}
