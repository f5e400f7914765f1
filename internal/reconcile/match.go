package reconcile

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"
)

type matcher struct {
	r         *Result
	tolerance *big.Rat // dollars for each call
	sums      map[Kind]*Sum
	groups    map[groupKey]*group
	order     []*group
}

func (m *matcher) add(d Difference, calls []*Call) {
	for _, c := range calls[:min(len(calls), maxNamed)] {
		d.Calls = append(d.Calls, c.Generation)
	}
	d.More = max(len(calls)-maxNamed, 0)
	m.r.Differences = append(m.r.Differences, d)
	s := m.sums[d.Kind]
	if s == nil {
		s = &Sum{Kind: d.Kind}
		m.sums[d.Kind] = s
	}
	s.Differences++
	s.Calls += d.N
	s.Delta = s.Delta.plus(d.Delta)
}

// apart reports whether the dollars of so many calls differ by more than the tolerance. What one side does not know does not differ.
func (m *matcher) apart(theirs, ours *big.Rat, calls int64) bool {
	if theirs == nil || ours == nil {
		return false
	}
	diff := new(big.Rat).Sub(theirs, ours)
	return diff.Abs(diff).Cmp(m.most(calls)) > 0
}

func (m *matcher) most(calls int64) *big.Rat {
	return new(big.Rat).Mul(m.tolerance, new(big.Rat).SetInt64(max(calls, 1)))
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
		theirs := row.Figures
		theirs.Calls = 1
		m.row(row, &theirs)
		d := Difference{Day: row.Day, Model: row.Model, Place: row.Place, Answer: row.Call, Theirs: theirs, Ours: Unreported(), N: 1, Delta: deltaOf(&theirs)}
		c := known[row.Call]
		if c == nil {
			if d.Kind = Lost; lost[row.Call] {
				d.Kind = Doubled
			}
			lost[row.Call] = true
			m.add(d, nil)
			continue
		}
		first := !seen[c]
		seen[c] = true
		m.sameCall(d, c, first)
	}
	for i := range calls {
		c := &calls[i]
		if !seen[c] && !m.r.within(c) {
			continue
		}
		m.call(c)
		if f := c.figures(); !seen[c] {
			m.add(Difference{Kind: Extra, Day: c.day(), Model: c.Model, Answer: c.Answer, Theirs: Unreported(), Ours: f, N: 1, Delta: deltaOf(&f).negative()}, []*Call{c})
		}
	}
}

// sameCall compares a row with the call that it is of.
func (m *matcher) sameCall(d Difference, c *Call, first bool) {
	d.Ours = c.figures()
	behind := []*Call{c}
	switch {
	case !first:
		d.Kind = Doubled
		m.add(d, behind)
		return
	case otherTokens(&d.Theirs, &d.Ours):
		d.Kind = Tokens
	case m.apart(d.Theirs.Dollars, d.Ours.Dollars, 1):
		d.Kind = Repriced
	}
	if d.Kind != "" {
		d.Delta = DeltaBetween(&d.Theirs, &d.Ours)
		m.add(d, behind)
	}
	if d.Day != c.day() {
		d.Kind, d.Delta, d.Day = Late, Delta{}, c.day()
		m.add(d, behind)
	}
}

type groupKey struct{ day, model, key string }

type group struct {
	key          groupKey
	place        string
	theirs, ours Figures
	calls        []*Call
	unpriced     bool
}

func (m *matcher) at(day, model, key string) *group {
	if !m.r.ByModel {
		model = ""
	}
	if !m.r.ByKey {
		key = ""
	}
	k := groupKey{day, sameModel(model), key}
	g := m.groups[k]
	if g == nil {
		g = &group{key: k, theirs: Unreported()}
		m.groups[k] = g
		m.order = append(m.order, g)
	}
	return g
}

func (m *matcher) row(row *Row, f *Figures) {
	g := m.at(row.Day, row.Model, row.Key)
	if g.place == "" {
		g.place = row.Place
	}
	g.theirs.Add(f)
}

func (m *matcher) call(c *Call) {
	m.r.Calls++
	m.at(c.day(), c.Model, c.Key).take(c, 1)
}

// take adds a call to what the gateway has, or with -1 takes it away.
func (g *group) take(c *Call, sign int64) {
	if g.ours.Calls += sign; sign > 0 {
		g.calls = append(g.calls, c)
	} else {
		g.calls = slices.DeleteFunc(g.calls, func(x *Call) bool { return x == c })
	}
	g.ours.Prompt += sign * c.Prompt
	g.ours.Completion += sign * c.Completion
	if g.ours.Dollars == nil {
		g.ours.Dollars = new(big.Rat)
	}
	g.ours.Dollars = new(big.Rat).Add(g.ours.Dollars, new(big.Rat).SetFrac64(sign*int64(c.Dollars), billion))
	g.unpriced = g.unpriced || !c.Priced
}

// recorded is what the gateway has; without dollars where they are not known of all calls.
func (g *group) recorded() Figures {
	f := g.ours
	switch {
	case g.unpriced:
		f.Dollars = nil
	case f.Dollars == nil:
		f.Dollars = new(big.Rat)
	}
	return f
}

// byGroup compares rows that are of all calls of a day, or of a day and a model.
func (m *matcher) byGroup(rows []Row, calls []Call) {
	for i := range rows {
		m.row(&rows[i], &rows[i].Figures)
	}
	late := map[groupKey][]*Call{}
	for i := range calls {
		c := &calls[i]
		if day := c.day(); day >= m.r.First && day <= m.r.Last {
			m.call(c)
		}
		if c.Ended.Format(time.DateOnly) == nextDay(c.day()) {
			k := groupKey{day: c.day()}
			if m.r.ByModel {
				k.model = sameModel(c.Model)
			}
			if m.r.ByKey {
				k.key = c.Key
			}
			late[k] = append(late[k], c)
		}
	}
	m.show()
	m.afterMidnight(late)
	for _, g := range m.order {
		for _, f := range m.compare(g) {
			m.add(f.Difference, f.behind)
		}
	}
}

// show notes the groups as they are before anything is explained.
func (m *matcher) show() {
	for _, g := range m.order {
		m.r.Groups = append(m.r.Groups, Group{Day: g.key.day, Model: g.key.model, Key: g.key.key, Theirs: g.theirs, Ours: g.recorded()})
	}
}

// named is a difference with the calls behind it.
type named struct {
	Difference
	behind []*Call
}

func (m *matcher) compare(g *group) []named {
	ours := g.recorded()
	d := Difference{Day: g.key.day, Model: g.key.model, Key: g.key.key, Place: g.place, Theirs: g.theirs, Ours: ours, Delta: DeltaBetween(&g.theirs, &ours)}
	switch {
	case g.theirs.none() && len(g.calls) == 0:
		return nil
	case len(g.calls) == 0:
		d.Kind, d.N = Lost, max(g.theirs.Calls, 0)
		return []named{{d, nil}}
	case g.place == "":
		d.Kind, d.N = Extra, ours.Calls
		d.Delta = deltaOf(&ours).negative()
		return []named{{d, g.calls}}
	case g.theirs.Calls >= 0 && g.theirs.Calls != ours.Calls:
		return m.otherCount(g, d)
	case otherTokens(&g.theirs, &ours):
		if found, behind, n := g.found(g.theirs.Calls < 0, d.Delta); found != "" {
			return m.explained(g, d, found, behind, n)
		}
		d.Kind = Tokens
	case !m.apart(g.theirs.Dollars, ours.Dollars, ours.Calls):
		return nil
	case g.theirs.Calls < 0 && g.theirs.Prompt < 0 && g.theirs.Completion < 0:
		return []named{m.costsAlone(g, d)}
	default:
		d.Kind = Repriced
	}
	return []named{{d, g.calls}}
}

// otherCount names a difference in the number of calls: surplus calls are doubled when one set of calls has exactly their tokens.
func (m *matcher) otherCount(g *group, d Difference) []named {
	n := d.Delta.Calls
	if n > 0 && n == d.Ours.Calls && d.Delta.Prompt == d.Ours.Prompt && d.Delta.Completion == d.Ours.Completion && g.theirs.Prompt >= 0 && g.theirs.Completion >= 0 {
		return m.explained(g, d, Doubled, g.calls, n)
	}
	if g.theirs.Prompt >= 0 && g.theirs.Completion >= 0 {
		sign, kind := int64(1), Doubled
		if n < 0 {
			sign, kind = -1, Extra
		}
		if behind := setOf(g.calls, int(sign*n), sign*d.Delta.Prompt, sign*d.Delta.Completion, n > 0); behind != nil {
			return m.explained(g, d, kind, behind, sign*n)
		}
	}
	if d.Kind, d.N = Lost, n; n < 0 {
		d.Kind, d.N = Extra, -n
	}
	return []named{{d, g.calls}}
}

// found looks, where a file does not count calls, for at most three calls that have exactly the tokens that one side has more.
func (g *group) found(uncounted bool, x Delta) (Kind, []*Call, int64) {
	if !uncounted || g.theirs.Prompt < 0 || g.theirs.Completion < 0 {
		return "", nil, 0
	}
	for n := 1; n <= mostSought; n++ {
		if behind := setOf(g.calls, n, x.Prompt, x.Completion, true); behind != nil {
			return Doubled, behind, int64(n)
		}
		if behind := setOf(g.calls, n, -x.Prompt, -x.Completion, false); behind != nil {
			return Extra, behind, int64(n)
		}
	}
	return "", nil, 0
}

// explained is a difference whose tokens are those of known calls, and what of the cost is left then.
func (m *matcher) explained(g *group, d Difference, kind Kind, behind []*Call, n int64) []named {
	sign := int64(1)
	if kind == Extra {
		sign = -1
	}
	d.Kind, d.N, d.Delta.Calls = kind, n, sign*n
	if d.Delta.Dollars == nil {
		return []named{{d, behind}}
	}
	dollars := new(big.Rat) // behind may have more calls than n, each of which fits as well
	for _, c := range behind[:min(int(n), len(behind))] {
		dollars.Add(dollars, new(big.Rat).SetFrac64(sign*int64(c.Dollars), billion))
	}
	rest := new(big.Rat).Sub(d.Delta.Dollars, dollars)
	if new(big.Rat).Abs(rest).Cmp(m.most(d.Ours.Calls+n)) <= 0 {
		return []named{{d, behind}}
	}
	other := d
	d.Delta.Dollars = dollars
	other.Kind, other.N, other.Delta = Repriced, 0, Delta{Dollars: rest}
	return []named{{d, behind}, {other, g.calls}}
}

// costsAlone names a difference where a file has nothing but costs. Then a call is doubled, or is not billed, when it alone has the cost that differs; all
// else may be calls or prices.
func (m *matcher) costsAlone(g *group, d Difference) named {
	diff := d.Delta.Dollars
	kind, sign := Doubled, int64(1)
	if diff.Sign() < 0 {
		kind, sign = Extra, -1
	}
	var fits []*Call
	for _, c := range g.calls {
		if !m.apart(diff, new(big.Rat).SetFrac64(sign*int64(c.Dollars), billion), d.Ours.Calls+1) {
			fits = append(fits, c)
		}
	}
	alike := len(fits) > 0 && !slices.ContainsFunc(fits, func(c *Call) bool { return c.Dollars != fits[0].Dollars })
	if alike {
		d.Kind, d.N, d.Delta.Calls = kind, 1, sign
		return named{d, fits}
	}
	d.Kind = Cost
	return named{d, g.calls}
}

// mostSought is how many calls are sought behind a difference at once, and mostClasses among how many different ones: three of them are sought in
// quadratic time.
const (
	mostSought  = 3
	mostClasses = 1500
)

type tokensOf struct{ prompt, completion int64 }

// setOf finds the n calls that have exactly so many tokens together. It is nil unless there is one such set; calls with the same tokens stand for one
// another, and all of them are returned, one for each place first. A call may be taken again where again is set.
func setOf(calls []*Call, n int, prompt, completion int64, again bool) []*Call {
	if n < 1 || n > mostSought || prompt < 0 || completion < 0 || prompt == 0 && completion == 0 {
		return nil
	}
	classes := map[tokensOf][]*Call{}
	for _, c := range calls {
		k := tokensOf{c.Prompt, c.Completion}
		classes[k] = append(classes[k], c)
	}
	if n == 3 && len(classes) > mostClasses {
		return nil
	}
	keys := make([]tokensOf, 0, len(classes))
	for k := range classes {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareTokens)
	s := search{classes: classes, keys: keys, again: again}
	s.look(nil, 0, n, tokensOf{prompt, completion})
	if len(s.sets) != 1 {
		return nil
	}
	return s.callsOf(s.sets[0])
}

func compareTokens(a, b tokensOf) int {
	return cmp.Or(cmp.Compare(a.prompt, b.prompt), cmp.Compare(a.completion, b.completion))
}

type search struct {
	classes map[tokensOf][]*Call
	keys    []tokensOf
	again   bool
	sets    [][]tokensOf
}

// look finds sets in ascending order, and ends at the second one.
func (s *search) look(taken []tokensOf, from, n int, left tokensOf) {
	if left.prompt < 0 || left.completion < 0 || len(s.sets) > 1 {
		return
	}
	if n == 1 {
		if s.classes[left] != nil && (len(taken) == 0 || compareTokens(left, taken[len(taken)-1]) >= 0) && s.room(taken, left) {
			s.sets = append(s.sets, append(slices.Clone(taken), left))
		}
		return
	}
	for i := from; i < len(s.keys); i++ {
		if k := s.keys[i]; s.room(taken, k) {
			s.look(append(taken, k), i, n-1, tokensOf{left.prompt - k.prompt, left.completion - k.completion})
		}
	}
}

// room reports whether another call of a class may be taken.
func (s *search) room(taken []tokensOf, k tokensOf) bool {
	n := 0
	for _, t := range taken {
		if t == k {
			n++
		}
	}
	return s.again || n < len(s.classes[k])
}

func (s *search) callsOf(set []tokensOf) (out []*Call) {
	used := map[tokensOf]int{}
	for _, k := range set {
		all := s.classes[k]
		out = append(out, all[min(used[k], len(all)-1)])
		used[k]++
	}
	for _, k := range s.keys {
		if n := used[k]; n > 0 && n < len(s.classes[k]) {
			out = append(out, s.classes[k][n:]...)
		}
	}
	return out
}

// sortedSums are the sums in the order of kinds.
func (m *matcher) sortedSums() (all []Sum) {
	for _, s := range m.sums {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Sum) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return all
}
