package wire

import (
	"math"

	"weir/internal/completion"
	"weir/internal/fault"
)

// Efforts are the reasoning efforts that a request may name.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

var (
	summaries = []string{"auto", "concise", "detailed"}
	contexts  = []string{"auto", "all_turns", "current_turn"}
	modes     = []string{"standard", "pro"}
)

// ReasoningAsked collects the reasoning settings of a request in their several spellings, for one decision at the end.
type ReasoningAsked struct {
	Object     bool
	Effort     string
	MaxTokens  int64
	Exclude    Switch
	Enabled    Switch
	Summary    string
	ShortForm  string // reasoning_effort
	HasInclude Switch // include_reasoning
}

// Switch is a boolean that may be absent.
type Switch uint8

// The switch positions.
const (
	Unset Switch = iota
	Off
	On
)

// Switch reads a boolean that may be absent.
func (r *Reader) Switch() Switch {
	switch v, ok := r.Bool(); {
	case !ok:
		return Unset
	case v:
		return On
	}
	return Off
}

// Reasoning reads the object reasoning (completions of the specification, section 2.6) into asked.
func (r *Reader) Reasoning(asked *ReasoningAsked) {
	if !r.Object() {
		return
	}
	asked.Object = true
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "effort":
			asked.Effort, _ = r.Enum(Efforts)
		case "max_tokens":
			asked.MaxTokens, _ = r.Int(1, math.MaxInt64)
		case "exclude":
			asked.Exclude = r.Switch()
		case "enabled":
			asked.Enabled = r.Switch()
		case "summary", "generate_summary":
			asked.Summary, _ = r.Enum(summaries)
		case "context":
			r.Enum(contexts)
		case "mode":
			r.Enum(modes)
		default:
			r.Skip()
		}
	}
}

// Judge makes one setting of them, or fails when the spellings contradict one another.
func (a *ReasoningAsked) Judge(r *Reader) completion.Reasoning {
	if *a == (ReasoningAsked{}) {
		return completion.Reasoning{}
	}
	effort := a.Effort
	if effort == "" {
		effort = a.ShortForm
	}
	switch {
	case a.Effort != "" && a.ShortForm != "" && a.Effort != a.ShortForm:
		r.FailAt(fault.Invalid, "reasoning_effort", "reasoning_effort is %s but reasoning.effort is %s.", a.ShortForm, a.Effort)
	case effort != "" && a.MaxTokens > 0:
		r.FailAt(fault.Invalid, "reasoning.max_tokens", "Send reasoning.effort or reasoning.max_tokens, not both.")
	case effort == "none" && a.Enabled == On:
		r.FailAt(fault.Invalid, "reasoning.enabled", "The effort none contradicts reasoning.enabled true.")
	case a.Enabled == Off && (effort != "" && effort != "none" || a.MaxTokens > 0):
		r.FailAt(fault.Invalid, "reasoning.enabled", "reasoning.enabled is false, but an effort or a budget is given.")
	case a.HasInclude == On && a.Exclude == On, a.HasInclude == Off && a.Exclude == Off:
		r.FailAt(fault.Invalid, "include_reasoning", "include_reasoning contradicts reasoning.exclude.")
	}
	return completion.Reasoning{
		Set:       true,
		Effort:    effort,
		MaxTokens: a.MaxTokens,
		Exclude:   a.Exclude == On || a.HasInclude == Off,
		Enabled:   a.Enabled == On && effort == "" && a.MaxTokens == 0,
		Disabled:  a.Enabled == Off || effort == "none",
		Summary:   a.Summary,
	}
}
