package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a price for which the sources have different values.
type Difference struct {
	Provider, ID, Price string
	Says                []string // "source value", in the order of the sources
	Taken               string   // what the catalog has, "" when it has none
}

// compare notes each price of an offer that at least two sources state with different values.
func (im *importer) compare(provider string, o *offer, quotes []quote, reason string) {
	taken := quote{}
	if reason == "" {
		taken = o.quote
	}
	add := func(price, taken string, of func(*quote) string) {
		var says []string
		values := map[string]bool{}
		for i := range quotes {
			if v := of(&quotes[i]); v != "" {
				says = append(says, quotes[i].source+" "+v)
				values[v] = true
			}
		}
		if len(values) > 1 {
			im.differs = append(im.differs, Difference{provider, o.id, price, says, taken})
		}
	}
	for _, name := range allNames(quotes, func(q *quote) prices { return q.base }) {
		add(name, taken.base[name], func(q *quote) string { return q.base[name] })
	}
	lengths := map[int64]bool{}
	tiers := map[string]bool{}
	for i := range quotes {
		for above := range quotes[i].above {
			lengths[above] = true
		}
		for tier := range quotes[i].tiers {
			tiers[tier] = true
		}
	}
	for _, above := range slices.Sorted(maps.Keys(lengths)) {
		at := func(q *quote) prices { return q.above[above] }
		for _, name := range allNames(quotes, at) {
			add(fmt.Sprintf("%s above %d", name, above), at(&taken)[name], func(q *quote) string { return at(q)[name] })
		}
	}
	for _, tier := range slices.Sorted(maps.Keys(tiers)) {
		at := func(q *quote) prices {
			if t := q.tiers[tier]; t != nil {
				return t.base
			}
			return nil
		}
		for _, name := range allNames(quotes, at) {
			add(tier+" "+name, at(&taken)[name], func(q *quote) string { return at(q)[name] })
		}
	}
}

func allNames(quotes []quote, of func(*quote) prices) []string {
	names := map[string]bool{}
	for i := range quotes {
		for name := range of(&quotes[i]) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Differences lists the prices on which sources disagree, one on each line.
func (r *Result) Differences() []byte {
	var b strings.Builder
	b.WriteString("# Prices on which the lists disagree, in dollars: provider, id, price, what each list says, what the catalog has. Made by weir catalog import.\n")
	for _, d := range r.Differs {
		taken := d.Taken
		if taken == "" {
			taken = "none"
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\n", d.Provider, d.ID, d.Price, strings.Join(d.Says, ", "), taken)
	}
	return []byte(b.String())
}
