package update

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/rawjson"
)

// Changes are what differs between two price lists.
type Changes struct {
	New, Gone []string // offers: "provider id"
	Changed   []Change // the largest first
	Before    int      // offers in the old list
}

// Change is a price that differs, as a fraction of the old one: -0.2 is a fifth less.
type Change struct {
	Offer, Price string
	Old, New     string // "" where a list has none
	By           *big.Rat
}

// Compare finds what differs between two price lists.
func Compare(before, after []byte) Changes {
	a, b := offers(before), offers(after)
	c := Changes{Before: len(a)}
	for _, id := range slices.Sorted(maps.Keys(b)) {
		if a[id] == nil {
			c.New = append(c.New, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a)) {
		if b[id] == nil {
			c.Gone = append(c.Gone, id)
			continue
		}
		c.Changed = append(c.Changed, changed(id, a[id], b[id])...)
	}
	slices.SortStableFunc(c.Changed, func(x, y Change) int {
		return cmp.Or(new(big.Rat).Abs(y.By).Cmp(new(big.Rat).Abs(x.By)), strings.Compare(x.Offer, y.Offer))
	})
	return c
}

// priceKey is where an offer has prices: its base, above a number of tokens, a tier.
type priceKey struct{ tier, above string }

// offers indexes the prices of a list.
func offers(data []byte) map[string]map[priceKey]map[string]string {
	out := map[string]map[priceKey]map[string]string{}
	each(data, func(_, id string, offer []byte) {
		prices := map[priceKey]map[string]string{}
		collect(prices, "", offer)
		for _, name := range limits {
			if v := rawjson.Find(offer, name); v != nil {
				prices[priceKey{}][name] = string(v)
			}
		}
		for m := rawjson.MembersOf(rawjson.Find(offer, "facts")); m.Next(); {
			if slices.Contains(facts, string(m.Name)) {
				prices[priceKey{}][string(m.Name)] = factText(m.Value)
			}
		}
		for _, tier := range []string{"flex", "priority", catalog.BatchTier} {
			if v := rawjson.Find(offer, tier); v != nil {
				collect(prices, tier, v)
			}
		}
		out[id] = prices
	})
	return out
}

// limits are compared like prices: a model whose context shrinks to one token cannot serve any call.
var limits = []string{"context", "output"}

// facts are shown beside prices, and no bound applies to them: they change how a request is written and no charge.
var facts = []string{"budget_least", "budget_most", "efforts"}

// factText is a fact as people read it: a number, or words with commas.
func factText(v []byte) string {
	var words []string
	for e := rawjson.ElementsOf(v); e.Next(); {
		words = append(words, rawjson.Text(e.Value))
	}
	if words == nil {
		return string(v)
	}
	return strings.Join(words, ", ")
}

func collect(to map[priceKey]map[string]string, tier string, v []byte) {
	base := texts(rawjson.Find(v, "usd"))
	for m := rawjson.MembersOf(rawjson.Find(v, "video")); m.Next(); {
		base["video "+string(m.Name)] = rawjson.Text(m.Value)
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "images")); e.Next(); {
		base["image "+rawjson.TextAt(e.Value, "variant")+" "+rawjson.TextAt(e.Value, "resolution")] = rawjson.TextAt(e.Value, "usd")
	}
	to[priceKey{tier: tier}] = base
	for e := rawjson.ElementsOf(rawjson.Find(v, "above")); e.Next(); {
		to[priceKey{tier, string(rawjson.Find(e.Value, "tokens"))}] = texts(rawjson.Find(e.Value, "usd"))
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "hours")); e.Next(); {
		days := strings.Join(strings.Fields(strings.Trim(string(rawjson.Find(e.Value, "days")), "[]")), "")
		to[priceKey{tier, "at " + strings.TrimSpace(strings.ReplaceAll(days, `"`, "")+" "+rawjson.TextAt(e.Value, "from")+"-"+rawjson.TextAt(e.Value, "to"))}] = texts(rawjson.Find(e.Value, "usd"))
	}
}

func texts(v []byte) map[string]string {
	out := map[string]string{}
	for m := rawjson.MembersOf(v); m.Next(); {
		out[string(m.Name)] = rawjson.Text(m.Value)
	}
	return out
}

// changed compares what two lists charge for the same. A price that one of them lacks is the one that is charged instead.
func changed(offer string, a, b map[priceKey]map[string]string) []Change {
	var out []Change
	places := maps.Clone(a)
	maps.Copy(places, b)
	for _, at := range slices.SortedFunc(maps.Keys(places), func(x, y priceKey) int {
		return cmp.Or(strings.Compare(x.tier, y.tier), strings.Compare(x.above, y.above))
	}) {
		if at.tier != "" && (a[priceKey{tier: at.tier}] == nil || b[priceKey{tier: at.tier}] == nil) {
			continue // a tier that is new or gone is asked for by name
		}
		names := maps.Clone(a[at])
		if names == nil {
			names = map[string]string{}
		}
		maps.Copy(names, b[at])
		for _, name := range slices.Sorted(maps.Keys(names)) {
			old, now := charged(a, at, name), charged(b, at, name)
			if old == now {
				continue
			}
			what := strings.TrimSpace(at.tier + " " + name)
			switch {
			case strings.HasPrefix(at.above, "at "):
				what += " " + at.above
			case at.above != "":
				what += " above " + at.above
			}
			out = append(out, Change{offer, what, old, now, share(old, now)})
		}
	}
	return out
}

// charged is what a list charges by, "" for nothing.
func charged(list map[priceKey]map[string]string, at priceKey, name string) string {
	for name != "" {
		if text := list[at][name]; text != "" {
			return text
		}
		if text := list[priceKey{tier: at.tier}][name]; text != "" {
			return text
		}
		if i := catalog.PriceKindOf(name); i >= 0 {
			name = catalog.PriceKinds()[i].Else
		} else {
			name = ""
		}
	}
	return ""
}

// share is by how much of the old price the new one differs; from nothing to something is the whole.
func share(old, now string) *big.Rat {
	a, ok := new(big.Rat).SetString(old)
	if !ok || a.Sign() == 0 {
		return big.NewRat(1, 1)
	}
	b, ok := new(big.Rat).SetString(now)
	if !ok {
		return big.NewRat(-1, 1)
	}
	return b.Quo(b.Sub(b, a), a)
}

// Bounds are what may be published without an operator, as fractions: of a price, and of all offers.
type Bounds struct {
	Drop string `yaml:"max_drop" as:"decimal"`
	Rise string `yaml:"max_rise" as:"decimal"`
	Gone string `constant:"max_gone" as:"decimal"`
	New  string `constant:"max_new" as:"decimal"`
}

// Fraction is a number of Bounds, 0 for "".
func Fraction(decimal string) *big.Rat {
	x, ok := new(big.Rat).SetString(decimal)
	if !ok {
		return new(big.Rat)
	}
	return x
}

// Beyond says why changes are not within the bounds, "" when they are.
func (c *Changes) Beyond(b Bounds) string {
	share := func(n int) *big.Rat { return big.NewRat(int64(n), int64(max(c.Before, 1))) }
	if share(len(c.Gone)).Cmp(Fraction(b.Gone)) > 0 {
		return fmt.Sprintf("%d of %d offers are gone", len(c.Gone), c.Before)
	}
	if share(len(c.New)).Cmp(Fraction(b.New)) > 0 {
		return fmt.Sprintf("%d offers are new, in addition to %d", len(c.New), c.Before)
	}
	for i := range c.Changed {
		x := &c.Changed[i]
		if slices.Contains(facts, x.Price) {
			continue
		}
		if new(big.Rat).Neg(x.By).Cmp(Fraction(b.Drop)) > 0 || x.By.Cmp(Fraction(b.Rise)) > 0 && x.Old != "" && !slices.Contains(limits, x.Price) {
			return fmt.Sprintf("%s of %s changes by %s", x.Price, x.Offer, percent(x.By))
		}
	}
	return ""
}

func percent(by *big.Rat) string {
	text := new(big.Rat).Mul(by, big.NewRat(100, 1)).FloatString(1)
	if by.Sign() > 0 {
		text = "+" + text
	}
	return text + " %"
}

// Print writes the changes for a person: prices that change by more than a share, and how many change by less.
func (c *Changes) Print(w io.Writer, least *big.Rat) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d new, %d gone, %d prices changed\n", len(c.New), len(c.Gone), len(c.Changed))
	for _, id := range c.New {
		fmt.Fprintf(&b, "+ %s\n", id)
	}
	for _, id := range c.Gone {
		fmt.Fprintf(&b, "- %s\n", id)
	}
	less := 0
	for i := range c.Changed {
		x := &c.Changed[i]
		if new(big.Rat).Abs(x.By).Cmp(least) <= 0 {
			less++
			continue
		}
		fmt.Fprintf(&b, "~ %s %s: %s -> %s (%s)\n", x.Offer, x.Price, cmp.Or(x.Old, "none"), cmp.Or(x.New, "none"), percent(x.By))
	}
	if less > 0 {
		fmt.Fprintf(&b, "%d prices changed by %s or less\n", less, strings.TrimPrefix(percent(least), "+"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
