package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// maxNear bounds the names that Nearest compares: longer ones are no slip of the keyboard.
const maxNear = 64

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
	if base == "" || len(base) > maxNear || len(vendor) > maxNear {
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
		if slips = distance(vendor, ownVendor); slips > maxSlips && ownBase != base {
			return -1
		}
	}
	switch most := min(maxSlips, max(1, len(base)/4)); {
	case ownBase == base:
		return 0
	case len(base) >= 3 && strings.HasPrefix(ownBase, base):
		return 1
	case distance(base, ownBase)+slips <= most:
		return 1 + distance(base, ownBase) + slips
	}
	return -1
}

// distance is how many letters must be changed, added or removed to make b of a, or more than maxSlips.
func distance(a, b string) int {
	if d := len(a) - len(b); d > maxSlips || d < -maxSlips {
		return maxSlips + 1
	}
	var rows [2][maxNear + maxSlips + 1]int
	before, now := rows[0][:len(b)+1], rows[1][:len(b)+1]
	for j := range before {
		before[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			change := before[j]
			if a[i] != b[j] {
				change++
			}
			now[j+1] = min(change, before[j+1]+1, now[j]+1)
		}
		if slices.Min(now) > maxSlips {
			return maxSlips + 1
		}
		before, now = now, before
	}
	return before[len(b)]
}
