package listing

import (
	"cmp"
	"maps"
	"strings"

	"weir/internal/catalog"
	"weir/internal/sorting"
)

// Ranks are places by popularity, from 1, by the id under which a model is listed.
type Ranks map[string]int

// RanksOf orders models by tokens, equals by id. tokens has them by the slug that served. What a suffix other than ":free" brought counts for
// the model.
func RanksOf(tokens map[string]int64) Ranks {
	sums := map[string]int64{}
	for slug, n := range tokens {
		if base, variant := catalog.SplitVariant(slug); variant != catalog.Free {
			slug = base
		}
		if n > 0 && slug != "" {
			sums[slug] += n
		}
	}
	ids := sorting.Collect(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), strings.Compare(a, b))
	})
	r := make(Ranks, len(ids))
	for i, id := range ids {
		r[id] = i + 1
	}
	return r
}
