package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/upstream"
)

const (
	defaultMaxTokens = 8192 // where neither the client nor the endpoint says how long an answer may be
	maxMarks         = 4    // cache marks of a request
	idPrefix         = "toolu_"
)

// encoder writes one request from its canonical form.
type encoder struct {
	ep  *catalog.Endpoint
	req *completion.Request
	p   *completion.Prompt
	rawjson.Writer

	skipMarks int // how many cache marks, from the front, are left out
	thinking  bool
	notice    []string
}

func (e *encoder) encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if e.req.Thoughtless || e.p.Foreign(completion.FormatAnthropic) {
		e.notice = append(e.notice, completion.NoticeThoughts)
	}
	e.skipMarks = max(e.p.Marks()-maxMarks, 0)
	e.B = make([]byte, 0, len(e.req.Body)+512)
	e.Object()
	e.Name("model").Text(e.ep.UpstreamID)
	cap, err := e.reasoning()
	if err != nil {
		return nil, err
	}
	e.Name("max_tokens").Int(cap)
	// what is cached first comes first: tools, system, messages
	e.tools()
	e.system()
	if err := e.messages(); err != nil {
		return nil, err
	}
	e.sampling()
	e.rest()
	e.EndObject()
	return e.B, nil
}

// check refuses what this wire has no words for.
func (e *encoder) check() error {
	if e.req.N > 1 {
		return e.cannot("n", "more than one answer to a request")
	}
	for i := range e.p.Tools {
		if t := &e.p.Tools[i]; t.Custom || t.Hosted != nil {
			return e.cannot("tools", "tools of type "+t.HostedType)
		}
	}
	return nil
}

func (e *encoder) cannot(param, what string) error {
	f := fault.Field("anthropic.Request", param, "The provider of this model does not take %s.", what)
	f.Next = fault.NextEndpoint
	return f
}

// reasoning decides how the model thinks and returns the cap of the whole answer.
func (e *encoder) reasoning() (answerCap int64, err error) {
	r := &e.req.Reasoning
	answerCap = e.req.MaxTokens
	if answerCap == 0 {
		if answerCap = e.ep.MaxCompletion; answerCap == 0 {
			answerCap = defaultMaxTokens
		}
	}
	if !r.Chosen() || e.ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) == 0 {
		return answerCap, nil
	}
	if r.Off() {
		e.Name("thinking").Literal(`{"type":"disabled"}`)
		return answerCap, nil
	}
	if m := e.p.Choice.Mode; m == completion.ChoiceRequired || m == completion.ChoiceTool {
		e.notice = append(e.notice, "Reasoning was left out, because the provider does not take it together with a tool that must be called.")
		return answerCap, nil
	}
	e.thinking = true
	if upstream.Adaptive(e.ep) {
		e.Name("thinking").Object()
		e.Name("type").Text("adaptive")
		if !r.Exclude {
			e.Name("display").Text("summarized")
		}
		e.EndObject()
		return answerCap, nil
	}
	if e.p.Orphaned(completion.FormatAnthropic) {
		e.thinking = false
		e.notice = append(e.notice, "The model does not reason in this answer: the turn under way was begun by another provider.")
		return answerCap, nil
	}
	budget := r.BudgetOf(answerCap)
	if budget >= answerCap {
		if e.req.MaxTokens > 0 {
			return 0, fault.Field("anthropic.Request", "max_tokens", "The cap of the answer (%d tokens) must be above the reasoning budget (%d tokens).", answerCap, budget)
		}
		answerCap += budget
	}
	e.Name("thinking").Object()
	e.Name("type").Text("enabled")
	e.Name("budget_tokens").Int(budget)
	e.EndObject()
	return answerCap, nil
}

// effort is the word of this wire for the effort asked for, "" for none.
func (e *encoder) effort() string {
	if e.thinking && upstream.Adaptive(e.ep) {
		switch effort := e.req.Reasoning.EffortOf(e.req.AnswerCap(e.ep.MaxCompletion)); effort {
		case "minimal":
			return "low"
		default:
			return effort
		}
	}
	if v := e.p.Sampling.Verbosity; v != "" && e.ep.Params&catalog.ParamVerbosity != 0 {
		return v
	}
	return ""
}

// mark writes a cache mark, unless the last four of the request are behind it.
func (e *encoder) mark(c completion.Cache) {
	if c == "" {
		return
	}
	if e.skipMarks > 0 {
		e.skipMarks--
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
		e.Object()
		e.Name("type").Text("web_search_20250305")
		e.Name("name").Text("web_search")
		if s.MaxResults > 0 {
			e.Name("max_uses").Int(int64(s.MaxResults))
		}
		switch { // the wire takes one of the two
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
	e.Name("input_schema")
	if t.Parameters != nil {
		e.Raw(t.Parameters)
	} else {
		e.Literal(`{"type":"object","properties":{}}`)
	}
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

// system writes the instructions: those in front and those inside the conversation, for which this wire has no other place.
func (e *encoder) system() {
	at := len(e.B)
	e.Name("system").Array()
	write := func(parts []completion.Part) {
		for i := range parts {
			if parts[i].Kind == completion.TextPart && parts[i].Text != "" {
				e.textBlock(&parts[i])
			}
		}
	}
	write(e.p.System)
	for i := range e.p.Turns {
		if e.p.Turns[i].Role == completion.System {
			write(e.p.Turns[i].Parts)
		}
	}
	if e.p.Format.Kind == completion.FormatJSON {
		e.textBlock(&completion.Part{Text: "Answer with one JSON object and nothing else: no prose, no code fence."})
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

// messages writes the conversation. Neighbours of one role become one message, results of tools first, as the wire wants it.
func (e *encoder) messages() error {
	turns := e.p.Spoken()
	if len(turns) == 0 || turns[0].Role == completion.Assistant {
		turns = append([]completion.Turn{{Parts: []completion.Part{{Text: "..."}}}}, turns...)
	}
	e.Name("messages").Array()
	for at := 0; at < len(turns); {
		end := at + 1
		for end < len(turns) && turns[end].Role == turns[at].Role {
			end++
		}
		if err := e.message(turns[at:end], end == len(turns)); err != nil {
			return err
		}
		at = end
	}
	e.EndArray()
	return nil
}

func (e *encoder) message(turns []completion.Turn, last bool) error {
	role := "user"
	if turns[0].Role == completion.Assistant {
		role = "assistant"
	}
	e.Object()
	e.Name("role").Text(role)
	e.Name("content").Array()
	begin := len(e.B)
	for _, results := range []bool{true, false} {
		for i := range turns {
			for j := range turns[i].Parts {
				part := &turns[i].Parts[j]
				if (part.Kind == completion.ResultPart) != results {
					continue
				}
				if turns[0].Role == completion.Assistant && last && part.Kind == completion.TextPart && i == len(turns)-1 && j == len(turns[i].Parts)-1 {
					trimmed := *part // the beginning of the answer must not end with white space
					trimmed.Text = strings.TrimRight(part.Text, " \t\r\n")
					part = &trimmed
				}
				if err := e.block(part); err != nil {
					return err
				}
			}
		}
	}
	if len(e.B) == begin {
		e.Literal(`{"type":"text","text":"..."}`)
	}
	e.Close("]}")
	return nil
}

// block writes one content block. What says nothing leaves none.
func (e *encoder) block(part *completion.Part) error {
	written, err := e.content(part)
	if err != nil || !written {
		return err
	}
	e.mark(part.Cache)
	e.EndObject()
	return nil
}

// content writes a block but for its closing brace.
func (e *encoder) content(part *completion.Part) (written bool, err error) {
	switch part.Kind {
	case completion.TextPart, completion.RefusalPart:
		if part.Text == "" {
			return false, nil
		}
		e.Object()
		e.Name("type").Text("text")
		e.Name("text").Text(part.Text)
	case completion.ImagePart:
		e.Object()
		e.Name("type").Text("image")
		e.source(part.Media, "image/png")
	case completion.FilePart:
		e.document(part.Media)
	case completion.AudioPart:
		return false, e.cannot("messages", "sound")
	case completion.VideoPart:
		return false, e.cannot("messages", "video")
	case completion.CallPart:
		return true, e.call(part.Call)
	case completion.ResultPart:
		return true, e.result(part.Result)
	case completion.ReasoningPart:
		return e.thought(part.Thought), nil
	}
	return true, nil
}

func (e *encoder) source(m *completion.Media, kind string) {
	switch {
	case m.Base64 != nil:
		if m.Type != "" {
			kind = m.Type
		}
		e.Name("source").Object()
		e.Name("type").Text("base64")
		e.Name("media_type").Text(kind)
		e.Name("data").Quoted(m.Base64)
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
	if !rawjson.Valid(c.Arguments) || rawjson.KindOf(c.Arguments) != rawjson.Object {
		return fault.Field("anthropic.Request", "messages", "The arguments of the tool call %q are no JSON object, and the provider of this model takes nothing else.", cut(c.ID))
	}
	e.Object()
	e.Name("type").Text("tool_use")
	e.Name("id").Text(upstream.CallID(idPrefix, c.ID))
	e.Name("name").Text(c.Name)
	e.Name("input").Raw(bytes.TrimSpace(c.Arguments))
	return nil
}

func (e *encoder) result(r *completion.Result) error {
	e.Object()
	e.Name("type").Text("tool_result")
	e.Name("tool_use_id").Text(upstream.CallID(idPrefix, r.CallID))
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

// thought writes reasoning of this wire's own. Anything else, and what nobody signed, is left out: it would be refused.
func (e *encoder) thought(t *completion.Thought) (written bool) {
	switch {
	case !t.Of(completion.FormatAnthropic):
		return false
	case t.Kind == completion.ThoughtText:
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

func cut(s string) string { return s[:min(len(s), 64)] }

// sampling writes what steers the choice of tokens. A model that thinks takes none of it.
func (e *encoder) sampling() {
	s := &e.p.Sampling
	if !e.thinking {
		if s.Temperature != "" && e.lists(catalog.ParamTemperature) {
			value := s.Temperature
			if t, ok := rawjson.Float([]byte(value)); ok && t > 1 { // this wire's scale ends there
				value = "1"
			}
			e.Name("temperature").Literal(value)
		}
		if s.TopP != "" && e.lists(catalog.ParamTopP) {
			e.Name("top_p").Literal(s.TopP)
		}
		if s.TopK != "" && s.TopK != "0" && e.lists(catalog.ParamTopK) {
			e.Name("top_k").Literal(s.TopK)
		}
	}
	at := len(e.B)
	e.Name("stop_sequences").Array()
	for _, stop := range e.p.Stop {
		if strings.TrimSpace(stop) != "" {
			e.Text(stop)
		}
	}
	e.EndArrayOrDrop(at)
}

func (e *encoder) lists(p catalog.Params) bool { return e.ep.Params&p != 0 }

func (e *encoder) rest() {
	at := len(e.B)
	e.Name("output_config").Object()
	if effort := e.effort(); effort != "" {
		e.Name("effort").Text(effort)
	}
	if e.p.Format.Kind == completion.FormatSchema {
		e.Name("format").Object()
		e.Name("type").Text("json_schema")
		e.Name("schema").Raw(upstream.ClosedSchema(e.p.Format.Schema))
		e.EndObject()
	}
	e.EndObjectOrDrop(at)
	if e.p.Cache != "" {
		e.mark(e.p.Cache)
	}
	if e.req.User != "" {
		e.Name("metadata").Object()
		e.Name("user_id").Text(upstream.HashUser(e.req.Account, []byte(e.req.User)))
		e.EndObject()
	}
	if e.req.Stream {
		e.Name("stream").Bool(true)
	}
}
