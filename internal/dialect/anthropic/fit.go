package anthropic

import (
	"slices"
	"strconv"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// fit is what of a client's own body changes for a model that does not take it.
type fit struct {
	edits   []completion.Edit
	without catalog.Params  // members that are left out, because another one excludes them
	barred  []string        // members that are left out with the last tool
	allowed map[string]bool // members that go, nil: all
	sent    dialect.Sent
}

// leaves reports whether a member of the body is left out.
func (f *fit) leaves(name string) bool {
	return completion.GatewayOnly(name) || f.without != 0 && f.without&catalog.ParamNamed(name) != 0 || slices.Contains(f.barred, name) || f.allowed != nil && !f.allowed[name]
}

// fitted compares a body with the facts of the model. Only what the model is known to refuse is changed. edits are those of the client's style.
func fitted(ep *catalog.Endpoint, req *completion.Request, edits []completion.Edit) fit {
	f := fit{edits: slices.Clone(edits), allowed: req.Permitted}
	facts := &ep.Facts
	if len(facts.Excludes) > 0 {
		var has catalog.Params
		for i := range req.Members {
			m := &req.Members[i]
			if name := m.Name; (name == "temperature" || name == "top_p" || name == "top_k") && !rawjson.IsNull(req.Body[m.Value:m.End]) {
				has |= catalog.ParamNamed(name)
			}
		}
		f.without = facts.Excluded(has)
		for _, name := range f.without.Names() {
			f.sent.Drop(name)
		}
	}
	if req.Lowered {
		for i := range req.Members {
			if m := &req.Members[i]; m.Name == "max_tokens" {
				f.replace(completion.Span{Start: m.Value, End: m.End}, strconv.FormatInt(req.MaxTokens, 10))
			}
		}
	}
	if len(facts.Efforts) > 0 {
		f.reasoning(ep, req)
	}
	if req.Needs.Advisor {
		f.advisors(req)
	}
	return f
}

// reasoning fits the settings of reasoning for a model that takes an effort: one of its words, no budget if it has none, and not off if it always
// reasons.
func (f *fit) reasoning(ep *catalog.Endpoint, req *completion.Request) {
	r, facts := &req.Reasoning, &ep.Facts
	var thinking, config *completion.Member
	for i := range req.Members {
		switch m := &req.Members[i]; m.Name {
		case "thinking":
			thinking = m
		case "output_config":
			config = m
		}
	}
	if config != nil {
		for in := rawjson.MembersOf(req.Body[config.Value:config.End]); in.Next(); {
			word := rawjson.Text(in.Value)
			if string(in.Name) != "effort" || word == "" {
				continue
			}
			if fits := facts.Effort(word); fits != word && fits != "" {
				f.replace(completion.Span{Start: config.Value + in.At, End: config.Value + in.End}, string(rawjson.AppendText(nil, fits)))
			}
		}
	}
	if thinking == nil {
		return
	}
	effort, still := r.EffortFor(facts, req.AnswerCap(ep.MaxCompletion))
	kind := rawjson.TextAt(req.Body[thinking.Value:thinking.End], "type")
	switch {
	case kind == "enabled" && facts.BudgetLeast == 0:
	case kind == "disabled" && still:
		f.sent.Explain(dialect.FieldReasoning, "thinking", completion.NoticeStill)
	default:
		return
	}
	with := `{"type":"adaptive","display":"summarized"}`
	if config == nil && effort != "" {
		with += `,"output_config":{"effort":` + string(rawjson.AppendText(nil, effort)) + `}`
	}
	f.replace(completion.Span{Start: thinking.Value, End: thinking.End}, with)
}

// advisors leaves advisors out, and the choice among tools with the last of them.
func (f *fit) advisors(req *completion.Request) {
	f.sent.Advisor(req)
	for i := range req.Members {
		m := &req.Members[i]
		if m.Name != "tools" {
			continue
		}
		if kept := dialect.WithoutAdvisors(req.Body[m.Value:m.End]); kept != nil {
			f.edits = append(f.edits, completion.Edit{Span: completion.Span{Start: m.Value, End: m.End}, With: string(kept)})
		} else {
			f.barred = []string{"tools", "tool_choice"}
		}
	}
}

// replace adds an edit, unless the client's style edits the same place.
func (f *fit) replace(at completion.Span, with string) {
	if !slices.ContainsFunc(f.edits, func(e completion.Edit) bool { return e.Start < at.End && at.Start < e.End }) {
		f.edits = append(f.edits, completion.Edit{Span: at, With: with})
	}
}
