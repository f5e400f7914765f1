package completion

import "iter"

// Revision is the set of parts of the prompt that differ from the client's body. A dialect that uses the client's wire writes these from
// the prompt, and the rest from the body.
type Revision uint8

// The parts.
const (
	RevisedTurns  Revision = 1 << iota // messages were removed, shortened, replaced or inserted
	RevisedTools                       // tools and the tool choice
	RevisedFormat                      // the format of the answer
)

// Revise returns a copy of the request with an edited prompt: edit changes the canonical form each time the style makes it.
// The receiver is not changed.
func (r *Request) Revise(what Revision, edit func(*Prompt)) *Request {
	out := *r
	out.Source = revised{r.Source, edit}
	out.Revised |= what
	return &out
}

// revised is a source whose prompts are edited.
type revised struct {
	Source
	edit func(*Prompt)
}

// Prompt makes and edits the canonical form.
func (s revised) Prompt(req *Request) (*Prompt, error) {
	p, err := s.Source.Prompt(req)
	if err == nil {
		s.edit(p)
	}
	return p, err
}

// ReadFile is a file whose text was part of an earlier answer. The client sends the text back, so that the file is not read again.
type ReadFile struct {
	Hash string // hexadecimal SHA-256 of the file
	Text string
}

// Text yields the text of the prompt piece by piece, for counting. A piece is valid until the next one.
func (p *Prompt) Text() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !said(p.System, yield) {
			return
		}
		for i := range p.Turns {
			if !said(p.Turns[i].Parts, yield) {
				return
			}
		}
		for i := range p.Tools {
			t := &p.Tools[i]
			if !yield([]byte(t.Name)) || !yield([]byte(t.Description)) || !yield(t.Parameters) {
				return
			}
		}
		yield(p.Format.Schema)
	}
}

// Text yields the text of a turn, including tool calls and their results.
func (t *Turn) Text() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { said(t.Parts, yield) }
}

func said(parts []Part, yield func([]byte) bool) bool {
	for i := range parts {
		part := &parts[i]
		going := part.Text == "" || yield([]byte(part.Text))
		if c := part.Call; going && c != nil {
			going = yield([]byte(c.Name)) && yield(c.Arguments)
		}
		if t := part.Reasoning; going && t != nil && t.Text != "" {
			going = yield([]byte(t.Text))
		}
		if r := part.Result; going && r != nil {
			going = said(r.Parts, yield)
		}
		if !going {
			return false
		}
	}
	return true
}
