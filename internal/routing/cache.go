package routing

import (
	"fmt"
	"math"

	"weir/internal/money"
)

// alike is up to which part of the least expected price others count as the same: expectations are not exact, and equal endpoints share the load.
const alike = 1.01

// cheapest moves the candidate to the front at which the rest of the conversation is expected to cost least. Those of the operator's first place are
// compared, and those that have some of the conversation in their cache. Among equals, it is the one whose cache saves most, then the one that
// served the conversation before, then the draw decides. It reports whether the first one was chosen.
//
// Signed reasoning goes to its issuer, and an operator's weights decide where no cache is warm.
func (p *planner) cheapest(group []*candidate) bool {
	if p.q.Rest == nil || p.q.Issuer {
		return false
	}
	first, weighted, warm := placeOf(group[0]), false, false
	least := 0.0
	eligible := func(c *candidate) bool { return !c.late && (placeOf(c) == first || c.rest.Tokens > 0) }
	for _, c := range group {
		c.rest = p.q.Rest(c.ep, p.prices(c.ep))
		if !eligible(c) {
			continue
		}
		weighted = weighted || c.ep.Weight > 0
		warm = warm || c.rest.Saves > 0
		if least == 0 || c.rest.Cost < least {
			least = c.rest.Cost
		}
	}
	if least == 0 || weighted && !warm {
		return false
	}
	among := func(c *candidate) bool { return eligible(c) && c.rest.Cost <= least*alike }
	best, others := -1, 0
	for i, c := range group {
		if !among(c) {
			continue
		}
		others++
		switch {
		case best < 0, c.rest.Saves > group[best].rest.Saves:
			best = i
		case group[best].rest.Saves == 0 && c.ep.ID == p.q.Prefer:
			best = i
		}
	}
	c := group[best]
	if c.rest.Saves == 0 && c.ep.ID != p.q.Prefer && others > 1 {
		p.draw(group, among)
		return true
	}
	c.reason, c.score = ReasonCache, math.Round(c.rest.Cost/1e3)/1e6
	copy(group[1:best+1], group[:best])
	group[0] = c
	return true
}

// cacheDetail says what the cache of a candidate in the plan is expected to save, "" where it has nothing in it.
func (p *planner) cacheDetail(c *candidate) string {
	if c.rest.Tokens == 0 {
		return ""
	}
	return fmt.Sprintf("It has about %d tokens of this prompt in its cache: reading them is expected to save %s rubles.", c.rest.Tokens, about(c.rest.Saves))
}

// about is an expected amount in two digits that count.
func about(n money.Nano) string {
	step := money.Nano(1)
	for n/step >= 100 {
		step *= 10
	}
	return ((n + step/2) / step * step).String()
}
