package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/sorting"
)

type pair struct{ key, place int }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

func TestLikeSlices(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []pair
		for i, k := range rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "keys") {
			all = append(all, pair{k, i})
		}
		want := slices.Clone(all)
		slices.SortStableFunc(want, byKey)
		got := slices.Clone(all)
		if sorting.Stable(got, byKey); !slices.Equal(got, want) {
			t.Fatalf("stable: %v; want %v", got, want)
		}
		whole := func(a, b pair) int { return cmp.Or(byKey(a, b), cmp.Compare(a.place, b.place)) }
		got = slices.Clone(all)
		if sorting.By(got, whole); !slices.Equal(got, want) {
			t.Fatalf("sorted: %v; want %v", got, want)
		}
		if got := sorting.Collect(slices.Values(all), whole); !slices.Equal(got, want) {
			t.Fatalf("collected: %v; want %v", got, want)
		}
	})
}
