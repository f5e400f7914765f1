package listing

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/catalog"
)

// item is one entry of a list, with its keys for sorting and searching.
type item struct {
	Offer
	name, vendor string // case folded
	words        string // case folded, for the search
	squeezed     string // names alone, without what separates their parts
	pairs        pairs  // of words and squeezed
	created      int64  // as it is shown: Unix seconds; 0 unknown
	in, out      int64  // rubles x 10^9 per 1000 tokens; missing: it is not priced by tokens
	sum          int64  // of both or, where it is not priced by tokens, its other price
	rank         int    // 1: the most used; 0: not used
	json         []byte // part of the whole list's body
	hash         uint64 // of json
}

func newItem(o Offer, r Ranks) item {
	m := o.Model
	it := item{Offer: o, name: Fold(m.Name), vendor: Fold(m.Vendor), rank: r[o.ID]}
	if !m.KnownSince.IsZero() {
		it.created = m.KnownSince.Unix()
	}
	it.in, it.out, it.sum = missing, missing, missing
	if e := Cheapest(o.Endpoints); e != nil {
		p := &e.Pricing.Base
		if p.Prompt.Set || p.Completion.Set {
			it.in, it.out, it.sum = p.Prompt.Nano, p.Completion.Nano, p.Prompt.Nano+p.Completion.Nano
		} else if m.Type != catalog.TypeTranscription { // a list of images compares them; minutes and tokens do not compare
			it.sum = orMissing(Headline(e))
		}
	}
	it.words = Fold(strings.Join([]string{o.ID, m.Name, m.Vendor, catalog.VendorName(m.Vendor), cmp.Or(m.Description, m.Summary), m.Russian()}, "\n"))
	names := []string{o.ID, m.Name, m.Vendor, catalog.VendorName(m.Vendor)}
	for i, name := range names {
		names[i] = squeeze(Fold(name))
	}
	it.squeezed = strings.Join(names, "\n")
	it.pairs.add(it.words)
	it.pairs.add(it.squeezed)
	return it
}

// order sorts by rank or, when nothing was counted, by age, the newest first.
func order(items []item, ranked bool) {
	slices.SortFunc(items, func(a, b item) int {
		if ranked {
			return a.compare(&b, ByRank, false)
		}
		return a.compare(&b, ByCreated, true)
	})
}

// SortKey is a sort key of a list.
type SortKey uint8

// The keys. Prices are those of 1000 tokens; ByPrice adds prompt and completion.
const (
	ByDefault SortKey = iota
	ByName
	ByVendor
	ByContext
	ByPrice
	ByCreated
	ByInput
	ByOutput
	ByRank
	sortKeys
)

// compare orders by a key; entries without a value come last in both directions, and equal ones are ordered by id.
func (it *item) compare(other *item, by SortKey, descending bool) int {
	x, y := it.figure(by), other.figure(by)
	n := 0
	switch {
	case by == ByName:
		n = strings.Compare(it.name, other.name)
	case by == ByVendor:
		n = strings.Compare(it.vendor, other.vendor)
	case x != missing && y != missing:
		n = cmp.Compare(x, y)
	}
	if descending {
		n = -n
	}
	return cmp.Or(falseFirst(x == missing, y == missing), n, strings.Compare(it.ID, other.ID))
}

const missing = -1

// figure is the value of a numeric key; texts are never missing.
func (it *item) figure(by SortKey) int64 {
	switch by {
	case ByContext:
		return orMissing(it.Model.ContextLength)
	case ByCreated:
		return orMissing(it.created)
	case ByRank:
		return orMissing(int64(it.rank))
	case ByInput:
		return it.in
	case ByOutput:
		return it.out
	case ByPrice:
		return it.sum
	}
	return 0
}

func orMissing(n int64) int64 {
	if n == 0 {
		return missing
	}
	return n
}
