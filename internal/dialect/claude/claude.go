// Package claude has the rules for Anthropic's models that hold on every wire that serves them: how reasoning is requested, how a
// conversation is cut into messages, how many cache marks a request may have. It must not depend on a wire.
package claude

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// JSONInstruction replaces a request for a JSON object, which these wires have no field for.
const JSONInstruction = "Answer with one JSON object and nothing else: no prose, no code fence."

// UsualCap is the length of an answer, in tokens, when neither the client nor the endpoint sets a limit.
const UsualCap = 8192

// Adaptive reports whether a model takes an effort and decides itself how long it reasons. Other models take a budget.
func Adaptive(ep *catalog.Endpoint) bool {
	switch ep.ReasoningRequest() {
	case "adaptive":
		return true
	case "thinking":
		return false
	}
	switch f := &ep.Facts; {
	case len(f.Efforts) > 0:
		return true
	case f.BudgetLeast > 0:
		return false
	}
	return ep.Params != catalog.AllParams && ep.Params&catalog.ParamReasoningEffort != 0
}

// leastBudget is the smallest budget of reasoning, in tokens (Extended thinking).
const leastBudget = 1024

// Reasoning is the reasoning setting of one request.
type Reasoning struct {
	On, Off  bool   // neither: nothing is sent
	Adaptive bool   // On without a budget
	Effort   string // of a model that is adaptive; "" its own
	Budget   int64  // tokens; 0 when Adaptive
	Cap      int64  // tokens of the whole answer, 0 unknown
	Notice   string // a notice for the client, "" none
}

// Decide chooses the reasoning setting. It fails when a budget does not fit below the client's cap.
func Decide(ep *catalog.Endpoint, req *completion.Request, p *completion.Prompt) (Reasoning, error) {
	r := &req.Reasoning
	out := Reasoning{Cap: req.MaxTokens}
	if out.Cap == 0 {
		out.Cap = ep.MaxCompletion
	}
	if !r.Chosen() || ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) == 0 {
		return out, nil
	}
	if r.Off() && ep.Facts.CanStop() {
		out.Off = true
		return out, nil
	}
	if m := p.Choice.Mode; m == completion.ChoiceRequired || m == completion.ChoiceTool {
		out.Notice = completion.NoticeForced
		return out, nil
	}
	usual := req.AnswerCap(ep.MaxCompletion)
	if Adaptive(ep) {
		effort, still := r.EffortFor(&ep.Facts, usual)
		if still {
			out.Notice = completion.NoticeStill
		}
		if effort == "minimal" || effort == "none" { // these models' lowest effort
			effort = "low"
		}
		out.On, out.Adaptive, out.Effort = true, true, effort
		return out, nil
	}
	if p.Orphaned(completion.FormatAnthropic) {
		out.Notice = "Reasoning is off in this answer, because another provider began this turn."
		return out, nil
	}
	out.On, out.Budget = true, r.BudgetFor(&ep.Facts, req, ep.MaxCompletion)
	if r.Off() {
		out.Budget, out.Notice = max(int64(ep.Facts.BudgetLeast), leastBudget), completion.NoticeStill
	}
	switch {
	case req.MaxTokens > out.Budget:
	case req.MaxTokens > 0:
		return out, fault.Field("claude.Decide", "max_tokens", "The longest answer (%d tokens) must be above the reasoning budget (%d tokens).", req.MaxTokens, out.Budget)
	case out.Cap <= out.Budget:
		out.Cap = out.Budget + UsualCap
	}
	return out, nil
}

// Sampled are the parameters of sampling that a request sends: not those that the endpoint lacks or that another one excludes.
func Sampled(ep *catalog.Endpoint, s *completion.Sampling) catalog.Params {
	var has catalog.Params
	for _, x := range [...]struct {
		value string
		param catalog.Params
	}{{s.Temperature, catalog.ParamTemperature}, {s.TopP, catalog.ParamTopP}, {s.TopK, catalog.ParamTopK}} {
		if x.value != "" {
			has |= ep.Params & x.param
		}
	}
	return has &^ ep.Facts.Excluded(has)
}

// Share returns a temperature in the scale of these wires, which ends at 1, and a notice where it was above.
func Share(temperature string) (value, notice string) {
	if t, ok := rawjson.Float([]byte(temperature)); ok && t > 1 {
		return "1", "The temperature was lowered to 1, which is the highest of the provider."
	}
	return temperature, ""
}

// Stops returns the stop sequences that these wires accept: not those of white space alone. all reports whether these are all.
func Stops(list []string) (stops []string, all bool) {
	for _, s := range list {
		if strings.TrimSpace(s) != "" {
			stops = append(stops, s)
		}
	}
	return stops, len(stops) == len(list)
}

// maxMarks is how many cache marks a request may have.
const maxMarks = 4

// Marks decides which cache marks of a request are kept: the last four.
type Marks struct{ skip int }

// MarksOf counts the marks of a prompt.
func MarksOf(p *completion.Prompt) Marks { return Marks{max(p.Marks()-maxMarks, 0)} }

// Keep reports whether the next mark, if c is one, is kept. It must be called for each part in the order in which they are sent.
func (m *Marks) Keep(c completion.Cache) bool {
	if c == "" {
		return false
	}
	if m.skip > 0 {
		m.skip--
		return false
	}
	return true
}

// System yields the texts of the instructions: those before the conversation and those inside it, for which these wires have no other
// place.
func System(p *completion.Prompt) iter.Seq[*completion.Part] {
	return func(yield func(*completion.Part) bool) {
		texts := func(parts []completion.Part) bool {
			for i := range parts {
				if parts[i].Kind == completion.TextPart && parts[i].Text != "" && !yield(&parts[i]) {
					return false
				}
			}
			return true
		}
		if !texts(p.System) {
			return
		}
		for i := range p.Turns {
			if p.Turns[i].Role == completion.System && !texts(p.Turns[i].Parts) {
				return
			}
		}
		if p.Format.Kind == completion.FormatJSON {
			yield(&completion.Part{Text: JSONInstruction})
		}
	}
}

// Message is one message: consecutive turns of one role.
type Message struct {
	Role  string // "user" or "assistant"
	Last  bool   // of the conversation
	turns []completion.Turn
}

// Messages yields the messages of a conversation, user and assistant in turn. The first is the user's.
func Messages(p *completion.Prompt) iter.Seq[Message] {
	return func(yield func(Message) bool) {
		turns := p.Spoken()
		if len(turns) == 0 || turns[0].Role == completion.Assistant {
			turns = slices.Insert(slices.Clone(turns), 0, completion.Turn{Parts: []completion.Part{{Text: completion.Filler}}})
		}
		for len(turns) > 0 {
			n := 1
			for n < len(turns) && turns[n].Role == turns[0].Role {
				n++
			}
			m := Message{Role: "user", Last: n == len(turns), turns: turns[:n]}
			if turns[0].Role == completion.Assistant {
				m.Role = "assistant"
			}
			if !yield(m) {
				return
			}
			turns = turns[n:]
		}
	}
}

// Parts yields the parts of a message: tool results first, as these wires require. A text with which the answer should begin has no white
// space at its end, as these wires require.
func (m *Message) Parts() iter.Seq[*completion.Part] {
	return func(yield func(*completion.Part) bool) {
		for _, results := range [...]bool{true, false} {
			for i := range m.turns {
				for j := range m.turns[i].Parts {
					part := &m.turns[i].Parts[j]
					if (part.Kind == completion.ResultPart) != results {
						continue
					}
					ends := m.Last && i == len(m.turns)-1 && j == len(m.turns[i].Parts)-1
					if ends && m.Role == "assistant" && part.Kind == completion.TextPart {
						trimmed := *part
						trimmed.Text = strings.TrimRight(part.Text, " \t\r\n")
						part = &trimmed
					}
					if !yield(part) {
						return
					}
				}
			}
		}
	}
}

const maxCallID = 64

// CallID returns an id of a tool call in the characters that wires of Anthropic's models accept. Any other id becomes prefix followed by
// a hash, the same in each turn.
func CallID(prefix, id string) string {
	ok := id != "" && len(id) <= maxCallID
	for i := range len(id) {
		c := id[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if ok {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return prefix + hex.EncodeToString(sum[:12])
}
