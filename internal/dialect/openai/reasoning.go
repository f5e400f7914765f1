package openai

import (
	"slices"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// reasoning writes the client's reasoning settings in the one spelling that the server knows.
func (e *encoder) reasoning() error {
	if slices.Contains(e.q.ForwardExtra, "include_reasoning") {
		if v := e.find("include_reasoning"); !rawjson.IsNull(v) {
			e.name("include_reasoning").Raw(v)
		}
	}
	r := &e.req.Reasoning
	field := e.reasoningField()
	can := field != "" && e.ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort|catalog.ParamIncludeReasoning) != 0
	switch {
	case can && !e.req.Stream && e.ep.Facts.ReasoningWhole == catalog.Refused:
		return e.streamOnly(field)
	case !r.Set:
		return nil
	case !can && r.Off():
	case !can || e.dropped(field):
		e.leaveReasoning()
	case e.without&catalog.ParamReasoning != 0:
		return e.excludeReasoning(field)
	default:
		e.sent.Has(dialect.FieldReasoning)
		return e.askReasoning(field)
	}
	return nil
}

// streamOnly asks a model not to reason, which does so in streams only and refuses to for a whole answer, even where the client is silent about it.
func (e *encoder) streamOnly(field string) error {
	r := &e.req.Reasoning
	if r.Chosen() && !r.Off() {
		e.sent.Explain(dialect.FieldReasoning, e.reasoningName(), "Reasoning was left out, because this model reasons only in streams.")
	} else {
		e.sent.Has(dialect.FieldReasoning)
	}
	off := *e.req
	off.Reasoning = completion.Reasoning{Set: true, Disabled: true}
	e.req = &off
	return e.askReasoning(field)
}

// reasoningField is the member with which the server is asked to reason, or "".
func (e *encoder) reasoningField() string {
	switch how := e.ep.ReasoningRequest(); how {
	case "", "effort":
		return "reasoning_effort"
	case "object":
		return "reasoning"
	case "enable_thinking", "thinking":
		return how
	}
	return ""
}

// leaveReasoning records that the client's choice of reasoning is left out.
func (e *encoder) leaveReasoning() {
	if e.translated || !e.req.Reasoning.Chosen() {
		return
	}
	for i := range e.req.Members {
		if m := &e.req.Members[i]; dialect.ChatField(m.Name) == dialect.FieldReasoning {
			e.leave(m)
		}
	}
}

func (e *encoder) askReasoning(field string) error {
	switch field {
	case "reasoning":
		e.reasoningObject()
	case "enable_thinking":
		return e.enableThinking()
	case "thinking":
		return e.thinking()
	default:
		e.reasoningEffort()
	}
	return nil
}

func (e *encoder) reasoningEffort() {
	effort := e.effort()
	if effort == "" {
		return
	}
	e.name("reasoning_effort").Text(effort)
}

// effort is the requested effort in a word of the model; a budget becomes the nearest one. It is "" when the client left it to the model.
func (e *encoder) effort() string {
	effort, still := e.req.Reasoning.EffortFor(&e.ep.Facts, e.req.AnswerCap(e.ep.MaxCompletion))
	if still {
		e.stillReasons()
	}
	if effort == "max" && len(e.ep.Facts.Efforts) == 0 { // few servers have this effort
		return "xhigh"
	}
	return effort
}

// stillReasons says that reasoning is not off, which the client wanted.
func (e *encoder) stillReasons() {
	e.sent.Explain(dialect.FieldReasoning, e.reasoningName(), completion.NoticeStill)
}

// reasoningName is the member in which the client set reasoning.
func (e *encoder) reasoningName() string {
	if e.has("reasoning_effort") {
		return "reasoning_effort"
	}
	return "reasoning"
}

// excludeReasoning leaves out reasoning that another parameter of the request excludes. Servers that reason unasked get a request not to.
func (e *encoder) excludeReasoning(field string) error {
	e.sent.Explain(dialect.FieldReasoning, e.reasoningName(), completion.NoticeForced)
	off := *e.req
	off.Reasoning = completion.Reasoning{Set: true, Disabled: true}
	e.req = &off
	if (field == "thinking" || field == "enable_thinking") && e.ep.Facts.CanStop() {
		return e.askReasoning(field)
	}
	return nil
}

// reasoningObject sends the client's own object where there is one, so that its unknown members are sent too.
func (e *encoder) reasoningObject() {
	r := &e.req.Reasoning
	w := e.name("reasoning")
	raw := e.find("reasoning")
	if effort, still := r.EffortFor(&e.ep.Facts, e.req.AnswerCap(e.ep.MaxCompletion)); still || r.Effort != "" && effort != r.Effort {
		if still {
			e.stillReasons()
		}
		w.Object()
		w.Name("effort").Text(effort)
		for m := rawjson.MembersOf(raw); m.Next(); {
			if name := string(m.Name); name != "effort" && name != "enabled" && name != "max_tokens" {
				w.Member(raw[m.Start:m.End])
			}
		}
		w.EndObject()
		return
	}
	if rawjson.KindOf(raw) == rawjson.Object {
		if on, given := rawjson.Bool(rawjson.Find(raw, "enabled")); !r.Enabled || on || given {
			w.Raw(raw)
			return
		}
		w.Object()
		w.Name("enabled").Bool(true) // requested by the model's suffix
		without(w, raw, "enabled")
		w.EndObject()
		return
	}
	w.Object()
	switch {
	case e.req.Reasoning.Off():
		w.Name("effort").Text("none")
	case r.Effort != "":
		w.Name("effort").Text(r.Effort)
	case r.MaxTokens > 0:
		w.Name("max_tokens").Int(r.MaxTokens)
	case r.Enabled:
		w.Name("enabled").Bool(true)
	}
	if r.Exclude {
		w.Name("exclude").Bool(true)
	}
	w.EndObject()
}

func (e *encoder) enableThinking() error {
	if e.has("enable_thinking") || !e.req.Reasoning.Chosen() { // a client may use the server's own spelling
		return nil
	}
	if e.req.Reasoning.Off() {
		if !e.ep.Facts.CanStop() {
			e.stillReasons()
			return nil
		}
		e.name("enable_thinking").Bool(false)
		return nil
	}
	budget, err := e.budget()
	if err != nil {
		return err
	}
	e.name("enable_thinking").Bool(true)
	if budget > 0 && !e.has("thinking_budget") {
		e.name("thinking_budget").Int(budget)
	}
	return nil
}

func (e *encoder) thinking() error {
	if e.has("thinking") && e.has("reasoning_effort") { // a client may use the server's own spelling: it takes an effort beside the switch
		e.reasoningEffort()
	}
	if e.has("thinking") || !e.req.Reasoning.Chosen() {
		return nil
	}
	if e.req.Reasoning.Off() {
		if !e.ep.Facts.CanStop() {
			e.stillReasons()
			return nil
		}
		e.name("thinking").Literal(`{"type":"disabled"}`)
		return nil
	}
	if len(e.ep.Facts.Efforts) > 0 { // it takes an effort beside the switch
		e.name("thinking").Literal(`{"type":"enabled"}`)
		e.reasoningEffort()
		return nil
	}
	budget, err := e.budget()
	if err != nil {
		return err
	}
	w := e.name("thinking")
	w.Object()
	w.Name("type").Text("enabled")
	if budget > 0 {
		w.Name("budget_tokens").Int(budget)
	}
	w.EndObject()
	return nil
}

// budget is how many tokens the model may reason, 0 when the client left it to the model. It stays below the cap that the client set on
// the answer. Where that is impossible the request is refused, because the answer would be empty.
func (e *encoder) budget() (int64, error) {
	r := &e.req.Reasoning
	if r.MaxTokens == 0 && r.Effort == "" {
		return 0, nil
	}
	budget := r.BudgetFor(&e.ep.Facts, e.req, e.ep.MaxCompletion)
	if e.req.MaxTokens > 0 && budget >= e.req.MaxTokens {
		return 0, fault.Field("openai.Request", "max_tokens",
			"The longest answer (%d tokens) must be above the reasoning budget (%d tokens).", e.req.MaxTokens, budget)
	}
	return budget, nil
}
