package anthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
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
	out []byte

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
	e.out = make([]byte, 0, len(e.req.Body)+512)
	e.out = append(e.out, `{"model":`...)
	e.out = rawjson.AppendText(e.out, e.ep.UpstreamID)
	cap, err := e.reasoning()
	if err != nil {
		return nil, err
	}
	e.name("max_tokens")
	e.out = strconv.AppendInt(e.out, cap, 10)
	// what is cached first comes first: tools, system, messages
	e.tools()
	e.system()
	if err := e.messages(); err != nil {
		return nil, err
	}
	e.sampling()
	e.rest()
	return append(e.out, '}'), nil
}

// name begins a member of the innermost object that is not empty.
func (e *encoder) name(name string) {
	e.out = append(append(append(e.out, `,"`...), name...), `":`...)
}

func (e *encoder) text(name, value string) {
	e.name(name)
	e.out = rawjson.AppendText(e.out, value)
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
		e.out = append(e.out, `,"thinking":{"type":"disabled"}`...)
		return answerCap, nil
	}
	if m := e.p.Choice.Mode; m == completion.ChoiceRequired || m == completion.ChoiceTool {
		e.notice = append(e.notice, "Reasoning was left out, because the provider does not take it together with a tool that must be called.")
		return answerCap, nil
	}
	e.thinking = true
	if upstream.Adaptive(e.ep) {
		e.out = append(e.out, `,"thinking":{"type":"adaptive"`...)
		if !r.Exclude {
			e.out = append(e.out, `,"display":"summarized"`...)
		}
		e.out = append(e.out, '}')
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
	e.out = append(e.out, `,"thinking":{"type":"enabled","budget_tokens":`...)
	e.out = append(strconv.AppendInt(e.out, budget, 10), '}')
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
	e.out = append(e.out, `,"cache_control":{"type":"ephemeral"`...)
	if c == "1h" {
		e.out = append(e.out, `,"ttl":"1h"`...)
	}
	e.out = append(e.out, '}')
}

func (e *encoder) tools() {
	allowed := e.p.Choice.Allowed
	n := 0
	for i := range e.p.Tools {
		t := &e.p.Tools[i]
		if allowed != nil && !contains(allowed, t.Name) {
			continue
		}
		e.open("tools", n)
		n++
		e.out = append(e.out, `{"name":`...)
		e.out = rawjson.AppendText(e.out, t.Name)
		if t.Description != "" {
			e.text("description", t.Description)
		}
		e.name("input_schema")
		if schema := t.Parameters; schema != nil {
			e.out = append(e.out, schema...)
		} else {
			e.out = append(e.out, `{"type":"object","properties":{}}`...)
		}
		if t.Strict != nil && *t.Strict {
			e.out = append(e.out, `,"strict":true`...)
		}
		e.mark(t.Cache)
		e.out = append(e.out, '}')
	}
	if s := e.p.Search; s != nil {
		e.open("tools", n)
		n++
		e.out = append(e.out, `{"type":"web_search_20250305","name":"web_search"`...)
		if s.MaxResults > 0 {
			e.name("max_uses")
			e.out = strconv.AppendInt(e.out, int64(s.MaxResults), 10)
		}
		e.domains("allowed_domains", s.Include)
		if len(s.Include) == 0 { // the wire takes one of the two
			e.domains("blocked_domains", s.Exclude)
		}
		e.out = append(e.out, '}')
	}
	if n == 0 {
		return
	}
	e.out = append(e.out, ']')
	e.choice()
}

// domains restricts where a search looks.
func (e *encoder) domains(name string, list []string) {
	for i, domain := range list {
		e.open(name, i)
		e.out = rawjson.AppendText(e.out, domain)
	}
	if len(list) > 0 {
		e.out = append(e.out, ']')
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// open begins element n of a list.
func (e *encoder) open(list string, n int) {
	if n > 0 {
		e.out = append(e.out, ',')
		return
	}
	e.name(list)
	e.out = append(e.out, '[')
}

func (e *encoder) choice() {
	word := ""
	switch e.p.Choice.Mode {
	case completion.ChoiceNone:
		e.out = append(e.out, `,"tool_choice":{"type":"none"}`...)
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
	e.out = append(append(append(e.out, `,"tool_choice":{"type":"`...), word...), '"')
	if word == "tool" {
		e.text("name", e.p.Choice.Name)
	}
	if e.p.Serial {
		e.out = append(e.out, `,"disable_parallel_tool_use":true`...)
	}
	e.out = append(e.out, '}')
}

// system writes the instructions: those in front and those inside the conversation, for which this wire has no other place.
func (e *encoder) system() {
	n := 0
	write := func(parts []completion.Part) {
		for i := range parts {
			if parts[i].Kind == completion.TextPart && parts[i].Text != "" {
				e.open("system", n)
				n++
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
		e.open("system", n)
		n++
		e.textBlock(&completion.Part{Text: "Answer with one JSON object and nothing else: no prose, no code fence."})
	}
	if n > 0 {
		e.out = append(e.out, ']')
	}
}

func (e *encoder) textBlock(part *completion.Part) {
	e.out = append(e.out, `{"type":"text","text":`...)
	e.out = rawjson.AppendText(e.out, part.Text)
	e.mark(part.Cache)
	e.out = append(e.out, '}')
}

// messages writes the conversation. Neighbours of one role become one message, results of tools first, as the wire wants it.
func (e *encoder) messages() error {
	turns := e.p.Spoken()
	if len(turns) == 0 || turns[0].Role == completion.Assistant {
		turns = append([]completion.Turn{{Parts: []completion.Part{{Text: "..."}}}}, turns...)
	}
	e.name("messages")
	e.out = append(e.out, '[')
	first := true
	for at := 0; at < len(turns); {
		end := at + 1
		for end < len(turns) && turns[end].Role == turns[at].Role {
			end++
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		if err := e.message(turns[at:end], end == len(turns)); err != nil {
			return err
		}
		at = end
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) message(turns []completion.Turn, last bool) error {
	role := `{"role":"user","content":[`
	if turns[0].Role == completion.Assistant {
		role = `{"role":"assistant","content":[`
	}
	e.out = append(e.out, role...)
	begin := len(e.out)
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
				if err := e.block(part, begin); err != nil {
					return err
				}
			}
		}
	}
	if len(e.out) == begin {
		e.out = append(e.out, `{"type":"text","text":"..."}`...)
	}
	e.out = append(e.out, "]}"...)
	return nil
}

// block writes one content block, behind a comma unless it is the first since begin. What says nothing leaves no block.
func (e *encoder) block(part *completion.Part, begin int) error {
	at := len(e.out)
	if at > begin {
		e.out = append(e.out, ',')
	}
	written, err := e.content(part)
	if err != nil {
		return err
	}
	if !written {
		e.out = e.out[:at]
		return nil
	}
	e.mark(part.Cache)
	e.out = append(e.out, '}')
	return nil
}

// content writes a block but for its closing brace.
func (e *encoder) content(part *completion.Part) (written bool, err error) {
	switch part.Kind {
	case completion.TextPart, completion.RefusalPart:
		if part.Text == "" {
			return false, nil
		}
		e.out = append(e.out, `{"type":"text"`...)
		e.text("text", part.Text)
	case completion.ImagePart:
		e.out = append(e.out, `{"type":"image"`...)
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
		e.out = append(e.out, `,"source":{"type":"base64"`...)
		e.text("media_type", kind)
		e.out = append(e.out, `,"data":"`...)
		e.out = append(append(e.out, m.Base64...), '"')
	case m.FileID != "":
		e.out = append(e.out, `,"source":{"type":"file"`...)
		e.text("file_id", m.FileID)
	default:
		e.out = append(e.out, `,"source":{"type":"url"`...)
		e.text("url", m.URL)
	}
	e.out = append(e.out, '}')
}

func (e *encoder) document(m *completion.Media) {
	e.out = append(e.out, `{"type":"document"`...)
	e.source(m, "application/pdf")
	if m.Name != "" {
		e.text("title", m.Name)
	}
}

func (e *encoder) call(c *completion.Call) error {
	if !rawjson.Valid(c.Arguments) || rawjson.KindOf(c.Arguments) != rawjson.Object {
		return fault.Field("anthropic.Request", "messages", "The arguments of the tool call %q are no JSON object, and the provider of this model takes nothing else.", cut(c.ID))
	}
	e.out = append(e.out, `{"type":"tool_use"`...)
	e.text("id", upstream.CallID(idPrefix, c.ID))
	e.text("name", c.Name)
	e.name("input")
	e.out = append(e.out, bytes.TrimSpace(c.Arguments)...)
	return nil
}

func (e *encoder) result(r *completion.Result) error {
	e.out = append(e.out, `{"type":"tool_result"`...)
	e.text("tool_use_id", upstream.CallID(idPrefix, r.CallID))
	e.name("content")
	e.out = append(e.out, '[')
	begin := len(e.out)
	for i := range r.Parts {
		if err := e.block(&r.Parts[i], begin); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	if r.Failed {
		e.out = append(e.out, `,"is_error":true`...)
	}
	return nil
}

// thought writes reasoning of this wire's own. Anything else, and what nobody signed, is left out: it would be refused.
func (e *encoder) thought(t *completion.Thought) (written bool) {
	switch {
	case !t.Of(completion.FormatAnthropic):
		return false
	case t.Kind == completion.ThoughtText:
		e.out = append(e.out, `{"type":"thinking"`...)
		e.text("thinking", t.Text)
		e.text("signature", t.Signature)
	default:
		e.out = append(e.out, `{"type":"redacted_thinking"`...)
		e.text("data", t.Data)
	}
	return true
}

func cut(s string) string { return s[:min(len(s), 64)] }

// sampling writes what steers the choice of tokens. A model that thinks takes none of it.
func (e *encoder) sampling() {
	s := &e.p.Sampling
	if !e.thinking {
		if s.Temperature != "" && e.lists(catalog.ParamTemperature) {
			e.name("temperature")
			if t, ok := rawjson.Float([]byte(s.Temperature)); ok && t > 1 { // this wire's scale ends there
				e.out = append(e.out, '1')
			} else {
				e.out = append(e.out, s.Temperature...)
			}
		}
		if s.TopP != "" && e.lists(catalog.ParamTopP) {
			e.name("top_p")
			e.out = append(e.out, s.TopP...)
		}
		if s.TopK != "" && s.TopK != "0" && e.lists(catalog.ParamTopK) {
			e.name("top_k")
			e.out = append(e.out, s.TopK...)
		}
	}
	n := 0
	for _, stop := range e.p.Stop {
		if strings.TrimSpace(stop) != "" {
			e.open("stop_sequences", n)
			e.out = rawjson.AppendText(e.out, stop)
			n++
		}
	}
	if n > 0 {
		e.out = append(e.out, ']')
	}
}

func (e *encoder) lists(p catalog.Params) bool { return e.ep.Params&p != 0 }

func (e *encoder) rest() {
	if effort := e.effort(); effort != "" || e.p.Format.Kind == completion.FormatSchema {
		e.out = append(e.out, `,"output_config":{`...)
		begin := len(e.out)
		if effort != "" {
			e.out = append(e.out, `"effort":`...)
			e.out = rawjson.AppendText(e.out, effort)
		}
		if e.p.Format.Kind == completion.FormatSchema {
			if len(e.out) > begin {
				e.out = append(e.out, ',')
			}
			e.out = append(e.out, `"format":{"type":"json_schema","schema":`...)
			e.out = append(append(e.out, upstream.ClosedSchema(e.p.Format.Schema)...), '}')
		}
		e.out = append(e.out, '}')
	}
	if e.p.Cache != "" {
		e.mark(e.p.Cache)
	}
	if e.req.User != "" {
		sum := sha256.Sum256([]byte(e.req.Account + "\x00" + e.req.User))
		e.out = append(e.out, `,"metadata":{"user_id":"`...)
		e.out = append(hex.AppendEncode(e.out, sum[:]), `"}`...)
	}
	if e.req.Stream {
		e.out = append(e.out, `,"stream":true`...)
	}
}
