package plugin

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
)

// shorten removes from the middle of the conversation as much as does not fit into ep's context. Instructions, the user's first text and
// the current turn stay, and a tool call is removed together with its results.
func (s *shaping) shorten(ctx context.Context, ep *catalog.Endpoint, req *completion.Request, a *answer) (*completion.Request, error) {
	p, err := req.Prompt()
	if err != nil {
		return nil, err
	}
	size, room := s.size(ctx, p), req.Needs.Room(ep)
	if err := overdue(ctx); err != nil {
		return nil, err
	}
	if size <= room { // it was only estimated to be too long
		out := *req
		out.Needs.PromptTokens = size
		return &out, nil
	}
	c := cutter{ctx: ctx, s: s, excess: size - room, gone: make([]bool, len(p.Turns)), cut: map[int]completion.Turn{}}
	c.take(p.Turns)
	if err := overdue(ctx); err != nil {
		return nil, err
	}
	if c.excess > 0 || room == 0 {
		f := refused(fault.ContextLength, "This model's maximum context length is %d tokens. The request has about %d, and %d of them cannot be left out: "+
			"the instructions, the first and the last messages.", ep.ContextLength, size, room+max(c.excess, 0))
		f.Overflow = fault.Overflow{Prompt: size, Limit: ep.ContextLength}
		return nil, f
	}
	out := req.Revise(completion.RevisedTurns, c.apply)
	out.Needs.PromptTokens = room - min(-c.excess, room)
	a.note(c.notice())
	return out, nil
}

// unit is a run of turns that stay or go together.
type unit struct {
	from, to int
	tokens   int64
}

// cutter decides which turns are removed.
type cutter struct {
	ctx    context.Context
	s      *shaping
	excess int64 // tokens that must still go
	gone   []bool
	cut    map[int]completion.Turn // turns that were shortened
}

// take removes units from the middle of the conversation outwards, until enough is removed.
func (c *cutter) take(turns []completion.Turn) {
	units := c.middle(turns)
	center := 0
	if len(units) > 0 {
		center = units[0].from + units[len(units)-1].to // twice the middle
	}
	slices.SortStableFunc(units, func(a, b unit) int {
		return abs(a.from+a.to-center) - abs(b.from+b.to-center)
	})
	for _, u := range units {
		if c.excess <= 0 {
			return
		}
		if c.excess < u.tokens*3/4 && c.squeeze(turns, u) {
			continue
		}
		for i := u.from; i < u.to; i++ {
			c.gone[i] = true
		}
		c.excess -= u.tokens
	}
}

func abs(n int) int { return max(n, -n) }

// middle are the units between the user's first and last texts.
func (c *cutter) middle(turns []completion.Turn) (units []unit) {
	first := slices.IndexFunc(turns, isSaid)
	last := len(turns) - 1
	for last > first && !isSaid(turns[last]) {
		last--
	}
	if first < 0 {
		return nil
	}
	for i := first + 1; i < last; {
		if turns[i].Role == completion.System {
			i++
			continue
		}
		end := i + 1
		if calls(&turns[i]) {
			for end < last && turns[end].Role == completion.User && answers(&turns[end]) {
				end++
			}
		}
		u := unit{from: i, to: end}
		for ; i < end; i++ {
			u.tokens += c.s.turnSize(c.ctx, &turns[i])
		}
		units = append(units, u)
	}
	return units
}

func (s *shaping) turnSize(ctx context.Context, t *completion.Turn) int64 {
	return s.count(ctx, t.Text()) + tokensPerTurn + media(t.Parts)
}

// isSaid reports whether a turn contains text of the user, and not only tool results.
func isSaid(t completion.Turn) bool {
	return t.Role == completion.User && slices.ContainsFunc(t.Parts, func(p completion.Part) bool { return p.Kind != completion.ResultPart })
}

func calls(t *completion.Turn) bool {
	return t.Role == completion.Assistant && slices.ContainsFunc(t.Parts, func(p completion.Part) bool { return p.Kind == completion.CallPart })
}

func answers(t *completion.Turn) bool {
	return slices.ContainsFunc(t.Parts, func(p completion.Part) bool { return p.Kind == completion.ResultPart })
}

// leastLeft is how many bytes of a text stay when it is shortened.
const leastLeft = 200

// squeeze removes the middle of the unit's longest text. It reports whether that was enough.
func (c *cutter) squeeze(turns []completion.Turn, u unit) bool {
	at, part, text := 0, -1, ""
	for i := u.from; i < u.to; i++ {
		for j := range turns[i].Parts {
			if t := longText(&turns[i].Parts[j]); len(t) > len(text) {
				at, part, text = i, j, t
			}
		}
	}
	if part < 0 || len(text) < 2*leastLeft {
		return false
	}
	before := c.s.turnSize(c.ctx, &turns[at])
	left := int64(len(text)) * max(before-c.excess*11/10-tokensPerTurn, 0) / before
	if left < leastLeft {
		return false
	}
	shorter := turns[at]
	shorter.At = completion.Span{}
	shorter.Parts = slices.Clone(shorter.Parts)
	setText(&shorter.Parts[part], without(text, int(left)))
	saved := before - c.s.turnSize(c.ctx, &shorter)
	if saved < c.excess {
		return false
	}
	c.cut[at] = shorter
	c.excess -= saved
	return true
}

// longText is the part's text that may be shortened: its own, or the only text of a tool's result.
func longText(p *completion.Part) string {
	switch {
	case p.Kind == completion.TextPart:
		return p.Text
	case p.Kind == completion.ResultPart && len(p.Result.Parts) == 1 && p.Result.Parts[0].Kind == completion.TextPart:
		return p.Result.Parts[0].Text
	}
	return ""
}

func setText(p *completion.Part, text string) {
	if p.Result == nil {
		p.Text = text
		return
	}
	r := *p.Result
	r.Parts = []completion.Part{{Text: text, Cache: r.Parts[0].Cache}}
	p.Result = &r
}

// without shortens a text to left bytes: its beginning and its end.
func without(text string, left int) string {
	head, tail := left/2, len(text)-left/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + "\n[...]\n" + text[tail:]
}

// apply is an edit of a prompt.
func (c *cutter) apply(p *completion.Prompt) {
	kept := p.Turns[:0]
	for i := range p.Turns {
		switch t, shorter := c.cut[i]; {
		case i < len(c.gone) && c.gone[i]:
		case shorter:
			kept = append(kept, t)
		default:
			kept = append(kept, p.Turns[i])
		}
	}
	p.Turns = kept
}

func (c *cutter) notice() string {
	gone := 0
	for _, g := range c.gone {
		if g {
			gone++
		}
	}
	return fmt.Sprintf("The conversation was too long for the model: in its middle, %d messages were left out and %d shortened.", gone, len(c.cut))
}
