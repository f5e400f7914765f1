package completion

import "iter"

// Revision reports which parts of the prompt are not those of the client's body any more. A dialect that speaks the client's wire writes
// these from the prompt, and the rest from the body.
type Revision uint8

// The parts.
const (
	RevisedTurns  Revision = 1 << iota // messages were left out, shortened, replaced or put in between
	RevisedTools                       // tools and the choice among them
	RevisedFormat                      // the shape of the answer
)

// Revise is the request with another prompt: edit changes the canonical form that its style makes, each time that it is made.
// The request itself stays as it is.
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

// ReadFile is a file whose text an answer told, as the client sends it back, so that nobody has to read the file again.
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

// Text yields what a turn says, pieces of calls and of their results included.
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
