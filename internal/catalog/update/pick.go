package update

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/rawjson"
)

// offerID is the name of an offer of a provider, as changes have it.
func offerID(provider string, offer []byte) string {
	id := provider + " " + rawjson.TextAt(offer, "id")
	if v := rawjson.TextAt(offer, "variant"); v != "" {
		id += " " + v
	}
	return id
}

// each calls f with each offer of a list, in its order.
func each(data []byte, f func(provider, id string, offer []byte)) {
	for p := rawjson.MembersOf(rawjson.Find(data, "offers")); p.Next(); {
		for e := rawjson.ElementsOf(p.Value); e.Next(); {
			f(string(p.Name), offerID(string(p.Name), e.Value), e.Value)
		}
	}
}

// ByOffer lists the offers that differ between two price lists: by kind, and then by id.
func ByOffer(before, after []byte) []edit.ListChange {
	c := Compare(before, after)
	found := map[string]*edit.ListChange{}
	add := func(offer, kind string) *edit.ListChange {
		found[offer] = &edit.ListChange{Offer: offer, Kind: kind}
		return found[offer]
	}
	for _, id := range c.New {
		add(id, edit.ListNew)
	}
	for _, id := range c.Gone {
		add(id, edit.ListGone)
	}
	for i := range c.Changed {
		x := &c.Changed[i]
		one := found[x.Offer]
		if one == nil {
			one = add(x.Offer, edit.ListLimits)
		}
		one.Prices = append(one.Prices, edit.ListPrice{Name: x.Price, Old: x.Old, New: x.New})
		switch {
		case slices.Contains(limits, x.Price), slices.Contains(facts, x.Price):
		case x.By.Sign() > 0:
			one.Kind = edit.ListRaised
		case one.Kind == edit.ListLimits:
			one.Kind = edit.ListLowered
		}
	}
	was, is := offers(before), offers(after)
	for _, id := range c.New {
		for _, p := range listed(is[id]) {
			found[id].Prices = append(found[id].Prices, edit.ListPrice{Name: p[0], New: p[1]})
		}
	}
	for _, id := range c.Gone {
		for _, p := range listed(was[id]) {
			found[id].Prices = append(found[id].Prices, edit.ListPrice{Name: p[0], Old: p[1]})
		}
	}
	for _, data := range [][]byte{before, after} {
		each(data, func(provider, id string, offer []byte) {
			if one := found[id]; one != nil {
				one.Provider, one.Model = provider, rawjson.TextAt(offer, "model")
			}
		})
	}
	var out []edit.ListChange
	for _, id := range slices.Sorted(maps.Keys(found)) {
		slices.SortStableFunc(found[id].Prices, func(x, y edit.ListPrice) int { return strings.Compare(x.Name, y.Name) })
		out = append(out, *found[id])
	}
	slices.SortStableFunc(out, func(x, y edit.ListChange) int {
		return cmp.Compare(slices.Index(edit.ListKinds, x.Kind), slices.Index(edit.ListKinds, y.Kind))
	})
	return out
}

// listed are the base prices of an offer, by name and value.
func listed(prices map[priceKey]map[string]string) (out [][2]string) {
	base := prices[priceKey{}]
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if !slices.Contains(limits, name) && !slices.Contains(facts, name) {
			out = append(out, [2]string{name, base[name]})
		}
	}
	return out
}

// Pick makes a list of one in which some offers are as in another: replaced, added, or missing. One that is added takes the place of an offer of
// the same model that the other list no longer has.
func Pick(from, to []byte, chosen map[string]bool) (*builtin.List, error) {
	theirs, placed := map[string][]byte{}, map[string]bool{}
	each(to, func(provider, id string, offer []byte) {
		theirs[id] = offer
		placed[provider+" "+order(offer)] = placed[provider+" "+order(offer)] || chosen[id]
	})
	offers, all := map[string][][]byte{}, true
	each(from, func(provider, id string, offer []byte) {
		now := theirs[id]
		switch {
		case now == nil && (chosen[id] || placed[provider+" "+order(offer)]):
			return
		case chosen[id]:
			offer = now
		case !bytes.Equal(offer, now):
			all = false
		}
		offers[provider] = append(offers[provider], offer)
		delete(theirs, id)
	})
	each(to, func(provider, id string, offer []byte) {
		switch {
		case theirs[id] == nil:
		case chosen[id]:
			offers[provider] = append(offers[provider], offer)
		default:
			all = false
		}
	})
	if all {
		return builtin.ReadList(to)
	}
	return builtin.ReadList(merged(from, to, offers))
}

// merged writes a list with these offers, in the form of the importer: what describes models is of both lists, first of the first one. It is as
// old as the first one.
func merged(from, to []byte, offers map[string][][]byte) []byte {
	b := rawjson.AppendText([]byte(`{"as_of": `), rawjson.TextAt(from, "as_of"))
	for _, name := range []string{"models", "aliases"} {
		b = append(rawjson.AppendText(append(b, ",\n"...), name), ": {"...)
		members := map[string][]byte{}
		for _, data := range [][]byte{to, from} {
			for m := rawjson.MembersOf(rawjson.Find(data, name)); m.Next(); {
				members[string(m.Name)] = m.Value
			}
		}
		for i, key := range slices.Sorted(maps.Keys(members)) {
			b = append(append(rawjson.AppendText(line(b, i), key), ':'), members[key]...)
		}
		b = append(b, "\n}"...)
	}
	b = append(b, ",\n\"offers\": {"...)
	for i, provider := range slices.Sorted(maps.Keys(offers)) {
		list := offers[provider]
		slices.SortStableFunc(list, func(x, y []byte) int { return strings.Compare(order(x), order(y)) })
		b = append(rawjson.AppendText(line(b, i), provider), ": ["...)
		for j := range list {
			b = append(line(b, j), list[j]...)
		}
		b = append(b, ']')
	}
	return append(b, "\n}}\n"...)
}

// order is by what offers of a provider are sorted.
func order(offer []byte) string {
	return rawjson.TextAt(offer, "model") + "/" + rawjson.TextAt(offer, "variant")
}

func line(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(b, '\n')
}

// Editing is edit.PriceLists.
type Editing struct{}

var _ edit.PriceLists = Editing{}

// ListInUse is edit.PriceLists.ListInUse.
func (Editing) ListInUse(p *edit.Prices) edit.Prices {
	list, _ := Use(p.Data)
	return pricesOf(list)
}

// CompareLists is edit.PriceLists.CompareLists.
func (Editing) CompareLists(before, after []byte) []edit.ListChange { return ByOffer(before, after) }

// PickFromList is edit.PriceLists.PickFromList.
func (Editing) PickFromList(from, to []byte, offers map[string]bool) (edit.Prices, error) {
	list, err := Pick(from, to, offers)
	if err != nil {
		return edit.Prices{}, err
	}
	return pricesOf(list), nil
}

func pricesOf(list *builtin.List) edit.Prices {
	return edit.Prices{List: list.Version, AsOf: list.AsOf.Format(time.DateOnly), Data: list.Data()}
}
