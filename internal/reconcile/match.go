package reconcile

import (
	"math/big"
	"slices"
	"time"
)

type matcher struct {
	r         *Result
	tolerance *big.Rat // dollars for each call
}

func (m *matcher) add(d Difference, calls []*Call) {
	for _, c := range calls[:min(len(calls), maxNamed)] {
		d.Calls = append(d.Calls, c.Generation)
	}
	d.More = max(len(calls)-maxNamed, 0)
	m.r.Differences = append(m.r.Differences, d)
}

// apart reports whether the dollars of so many calls differ by more than the tolerance. What one side does not know does not differ.
func (m *matcher) apart(theirs, ours *big.Rat, calls int64) bool {
	if theirs == nil || ours == nil {
		return false
	}
	diff := new(big.Rat).Sub(theirs, ours)
	most := new(big.Rat).Mul(m.tolerance, new(big.Rat).SetInt64(max(calls, 1)))
	return diff.Abs(diff).Cmp(most) > 0
}

func otherTokens(theirs, ours *Figures) bool {
	return theirs.Prompt >= 0 && theirs.Prompt != ours.Prompt || theirs.Completion >= 0 && theirs.Completion != ours.Completion
}

// byCall compares rows that are of one call each.
func (m *matcher) byCall(rows []Row, calls []Call) {
	known := make(map[string]*Call, len(calls))
	for i := range calls {
		c := &calls[i]
		known[c.Generation] = c
		if c.Answer != "" {
			known[c.Answer] = c
		}
	}
	seen := make(map[*Call]bool, len(rows))
	lost := map[string]bool{}
	for i := range rows {
		row := &rows[i]
		d := Difference{Day: row.Day, Model: row.Model, Place: row.Place, Answer: row.Call, Theirs: row.Figures, Ours: Unreported()}
		c := known[row.Call]
		if c == nil {
			if d.Kind = Lost; lost[row.Call] {
				d.Kind = Doubled
			}
			lost[row.Call] = true
			m.add(d, nil)
			continue
		}
		d.Ours = c.figures()
		switch {
		case seen[c]:
			d.Kind = Doubled
		case otherTokens(&row.Figures, &d.Ours):
			d.Kind = Tokens
		case m.apart(row.Dollars, d.Ours.Dollars, 1):
			d.Kind = Repriced
		}
		if seen[c] = true; d.Kind != "" {
			m.add(d, []*Call{c})
		}
	}
	for i := range calls {
		c := &calls[i]
		if m.r.within(c) {
			m.r.Calls++
			if !seen[c] {
				m.add(Difference{Kind: Extra, Day: c.Began.Format(time.DateOnly), Model: c.Model, Answer: c.Answer, Theirs: Unreported(), Ours: c.figures()}, []*Call{c})
			}
		}
	}
}

type groupKey struct{ day, model string }

type group struct {
	key          groupKey
	place        string
	theirs, ours Figures
	calls        []*Call
	unpriced     bool
}

// byGroup compares rows that are of all calls of a day, or of a day and a model.
func (m *matcher) byGroup(rows []Row, calls []Call) {
	groups := map[groupKey]*group{}
	var order []*group
	at := func(day, model string) *group {
		if !m.r.ByModel {
			model = ""
		}
		k := groupKey{day, sameModel(model)}
		g := groups[k]
		if g == nil {
			g = &group{key: k, theirs: Unreported()}
			groups[k] = g
			order = append(order, g)
		}
		return g
	}
	for i := range rows {
		g := at(rows[i].Day, rows[i].Model)
		if g.place == "" {
			g.place = rows[i].Place
		}
		g.theirs.Add(&rows[i].Figures)
	}
	for i := range calls {
		c := &calls[i]
		day := c.Began.Format(time.DateOnly)
		if day < m.r.First || day > m.r.Last {
			continue
		}
		m.r.Calls++
		g := at(day, c.Model)
		f := c.figures()
		g.ours.Add(&f)
		g.calls = append(g.calls, c)
		g.unpriced = g.unpriced || !c.Priced
	}
	for _, g := range order {
		m.compare(g)
	}
}

func (m *matcher) compare(g *group) {
	if g.unpriced {
		g.ours.Dollars = nil
	} else if g.ours.Dollars == nil {
		g.ours.Dollars = new(big.Rat)
	}
	d := Difference{Day: g.key.day, Model: g.key.model, Place: g.place, Theirs: g.theirs, Ours: g.ours}
	behind := g.calls
	switch {
	case g.theirs.none() && len(g.calls) == 0:
		return
	case len(g.calls) == 0:
		d.Kind = Lost
	case g.place == "":
		d.Kind = Extra
	case g.theirs.Calls > g.ours.Calls:
		d.Kind = Lost
		if same := g.like(&g.theirs, &g.ours); g.theirs.Calls == g.ours.Calls+1 && same != nil {
			d.Kind, behind = Doubled, same
		}
	case g.theirs.Calls >= 0 && g.theirs.Calls < g.ours.Calls:
		d.Kind = Extra
		if same := g.like(&g.ours, &g.theirs); g.theirs.Calls == g.ours.Calls-1 && same != nil {
			behind = same
		}
	case otherTokens(&g.theirs, &g.ours):
		d.Kind = Tokens
	case m.apart(g.theirs.Dollars, g.ours.Dollars, g.ours.Calls):
		d.Kind = Repriced
	default:
		return
	}
	m.add(d, behind)
}

// like are the calls that have exactly the tokens that one side has more than the other. Without tokens none is like another.
func (g *group) like(more, less *Figures) []*Call {
	if more.Prompt < 0 || less.Prompt < 0 || more.Completion < 0 || less.Completion < 0 {
		return nil
	}
	prompt, completion := more.Prompt-less.Prompt, more.Completion-less.Completion
	return slices.Collect(func(yield func(*Call) bool) {
		for _, c := range g.calls {
			if c.Prompt == prompt && c.Completion == completion && !yield(c) {
				return
			}
		}
	})
}
