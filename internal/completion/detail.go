package completion

import "slices"

// NoticeReasoning reports that reasoning which came back with a conversation did not go to the provider: only who signed it takes it.
const NoticeReasoning = "Reasoning of another provider was left out."

// Edit replaces a part of a request's Body.
type Edit struct {
	Span
	With string
}

// Editor is a Source whose wire has places where a style puts what other wires said: an upstream of the same wire must not get that.
type Editor interface {
	// Edits are what has to be changed in req.Body for an upstream of the same wire, in order; nil: nothing, which is nearly always so.
	// lost reports whether the upstream will miss something, as reasoning that somebody had signed.
	Edits(req *Request) (list []Edit, lost bool)
}

// Edits are what its style changes in Body for an upstream of the same wire.
func (r *Request) Edits() (list []Edit, lost bool) {
	if e, ok := r.Source.(Editor); ok && r.HasRoles&HasReasoning != 0 {
		return e.Edits(r)
	}
	return nil, false
}

// forget drops the reasoning of earlier turns.
func (p *Prompt) forget() {
	for i := range p.Turns {
		t := &p.Turns[i]
		t.Parts = slices.DeleteFunc(t.Parts, func(part Part) bool { return part.Kind == ReasoningPart })
		for j := range t.Parts {
			if call := t.Parts[j].Call; call != nil {
				call.Signature = ""
			}
		}
	}
}

// Foreign reports whether there is something that a provider has signed or encrypted, and whose format is not own.
func (p *Prompt) Foreign(own string) bool {
	for i := range p.Turns {
		for j := range p.Turns[i].Parts {
			part := &p.Turns[i].Parts[j]
			if t := part.Reasoning; t != nil && t.Format != own && (t.Signature != "" || t.Data != "") {
				return true
			}
			if part.Call != nil && part.Call.Signature != "" && own != FormatGoogle {
				return true
			}
		}
	}
	return false
}

// Of reports whether a piece of reasoning is one that providers of a format take back: theirs, and signed or encrypted.
func (t *ReasoningDetail) Of(format string) bool {
	return t.Format == format && (t.Kind == ReasoningText && t.Signature != "" || t.Kind == ReasoningEncrypted && t.Data != "")
}

// Spoken are the turns of users and assistants that say anything.
func (p *Prompt) Spoken() (list []Turn) {
	for _, t := range p.Turns {
		if t.Role != System && len(t.Parts) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// Orphaned reports whether the conversation ends with the results of calls that the model did not make after thinking of its own, in that
// format: there are models that refuse to begin to think in the middle of a turn.
func (p *Prompt) Orphaned(format string) bool {
	turns := p.Spoken()
	at := len(turns)
	for at > 0 && turns[at-1].Role == User {
		at--
	}
	called := false
	for at--; at >= 0 && turns[at].Role == Assistant; at-- {
		for i := range turns[at].Parts {
			part := &turns[at].Parts[i]
			if part.Reasoning != nil && part.Reasoning.Of(format) {
				return false
			}
			called = called || part.Call != nil
		}
	}
	return called
}
