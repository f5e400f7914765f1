package completion

import "slices"

// NoticeReasoning says that reasoning of earlier turns was not sent to the provider, because only the provider that signed it accepts it.
const NoticeReasoning = "Reasoning of another provider was left out."

// Edit replaces a part of a request's Body.
type Edit struct {
	Span
	With string
}

// Editor is a Source whose style stores content of other wires in fields of its wire, or takes what the wire refuses. An upstream of that wire must
// not get it.
type Editor interface {
	// Edits returns the changes to req.Body for an upstream of the same wire, in order. It is nil for nearly every request.
	// lost reports whether the edits remove content, such as signed reasoning.
	Edits(req *Request) (list []Edit, lost bool)
}

// Edits returns the changes that the request's style makes in Body for an upstream of the same wire. See Editor.
func (r *Request) Edits() (list []Edit, lost bool) {
	if e, ok := r.Source.(Editor); ok && (r.HasRoles&(HasReasoning|HasRefused) != 0 || r.Permitted != nil) {
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

// Foreign reports whether the prompt has signed or encrypted reasoning in a format other than own.
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

// Of reports whether providers of a format accept this piece of reasoning: it has that format and is signed or encrypted.
func (t *ReasoningDetail) Of(format string) bool {
	return t.Format == format && (t.Kind == ReasoningText && t.Signature != "" || t.Kind == ReasoningEncrypted && t.Data != "")
}

// Spoken returns the turns of users and assistants that are not empty.
func (p *Prompt) Spoken() (list []Turn) {
	for _, t := range p.Turns {
		if t.Role != System && len(t.Parts) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// Orphaned reports whether the conversation ends with results of tool calls that the model made without reasoning in that format.
// Some models refuse to start reasoning in the middle of a turn.
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
