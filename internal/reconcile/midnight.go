package reconcile

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// mostLate is how many calls of a model past one midnight are tried in each combination; more than these are moved all or not at all.
const mostLate = 5

func nextDay(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// afterMidnight finds calls that the provider books on the day on which they ended. They are moved there when that leaves less to explain.
func (m *matcher) afterMidnight(late map[groupKey][]*Call) {
	keys := slices.SortedFunc(maps.Keys(late), func(a, b groupKey) int { return strings.Compare(a.day+a.model+a.key, b.day+b.model+b.key) })
	for _, k := range keys {
		before, after := m.groups[k], m.groups[groupKey{nextDay(k.day), k.model, k.key}]
		if moved := m.movedSet(before, after, late[k]); moved != nil {
			m.move(before, after, moved, 1)
			m.addLate(k, before, after, moved)
		}
	}
}

func (m *matcher) movedSet(before, after *group, calls []*Call) (best []*Call) {
	left := m.unexplained(before) + m.unexplained(after)
	for _, set := range combinations(calls) {
		if left == 0 {
			break
		}
		m.move(before, after, set, 1)
		if n := m.unexplained(before) + m.unexplained(after); n < left {
			left, best = n, set
		}
		m.move(before, after, set, -1)
	}
	return best
}

// combinations are those of calls, the smaller ones first.
func combinations(calls []*Call) (sets [][]*Call) {
	if len(calls) > mostLate {
		return [][]*Call{calls}
	}
	for bits := 1; bits < 1<<len(calls); bits++ {
		var set []*Call
		for i, c := range calls {
			if bits&(1<<i) != 0 {
				set = append(set, c)
			}
		}
		sets = append(sets, set)
	}
	slices.SortStableFunc(sets, func(a, b []*Call) int { return len(a) - len(b) })
	return sets
}

// move books calls on the next day, or with -1 on their own again.
func (m *matcher) move(before, after *group, calls []*Call, sign int64) {
	for _, c := range calls {
		if before != nil {
			before.take(c, -sign)
		}
		if after != nil {
			after.take(c, sign)
		}
	}
}

// unexplained rates what a day leaves: 0 when both sides are equal, 1 when known calls explain all of it, 2 otherwise.
func (m *matcher) unexplained(g *group) int {
	if g == nil {
		return 0
	}
	switch all := m.compare(g); {
	case len(all) == 0:
		return 0
	case len(all) == 1 && all[0].Kind != Lost && all[0].N > 0 && len(all[0].behind) < len(g.calls):
		return 1
	}
	return 2
}

func (m *matcher) addLate(k groupKey, before, after *group, calls []*Call) {
	d := Difference{Kind: Late, Day: k.day, Model: k.model, Key: k.key, Theirs: Unreported(), N: int64(len(calls))}
	for _, c := range calls {
		f := c.figures()
		d.Ours.Add(&f)
	}
	moved := deltaOf(&d.Ours)
	if before != nil {
		d.Delta = d.Delta.plus(moved.negative())
	}
	if after != nil {
		d.Place = after.place
		d.Delta = d.Delta.plus(moved)
	}
	m.add(d, calls)
}
