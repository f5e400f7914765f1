package catalog

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/spelling"
)

// maxSlips is how many letters may be wrong, missing or too many.
const maxSlips = 3

// Nearest lists at most n models of a type that a client may have meant by a name that Resolve does not find: those of another vendor with
// the same name, those whose names begin so, and those that differ by few letters. The nearest come first, and newer ones before older.
func (s *Snapshot) Nearest(name, kind string, n int) []string {
	name, _ = SplitVariant(strings.ToLower(name))
	vendor, base, named := strings.Cut(name, "/")
	if !named {
		vendor, base = "", name
	}
	if base == "" || len(base) > spelling.Longest || len(vendor) > spelling.Longest {
		return nil
	}
	type near struct {
		model *Model
		rank  int
	}
	var found []near
	for _, m := range s.ordered {
		if m.Type != kind {
			continue
		}
		if rank := nearness(vendor, base, m.Slug); rank >= 0 {
			found = append(found, near{m, rank})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), b.model.Created.Compare(a.model.Created))
	})
	var slugs []string
	for _, f := range found[:min(n, len(found))] {
		slugs = append(slugs, f.model.Slug)
	}
	return slugs
}

// nearness ranks a slug, 0 for the nearest; it is negative for one that is not near.
func nearness(vendor, base, slug string) int {
	ownVendor, ownBase, _ := strings.Cut(strings.ToLower(slug), "/")
	slips := 0
	if vendor != "" {
		if slips = spelling.Distance(vendor, ownVendor, maxSlips); slips > maxSlips && ownBase != base {
			return -1
		}
	}
	switch {
	case ownBase == base:
		return 0
	case len(base) >= 3 && strings.HasPrefix(ownBase, base):
		return 1
	}
	if slips += spelling.Distance(base, ownBase, maxSlips); slips <= min(maxSlips, max(1, len(base)/4)) {
		return 1 + slips
	}
	return -1
}
