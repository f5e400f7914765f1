package app

import (
	"maps"
	"slices"
	"testing"

	"weir/internal/catalog"
)

// What a catalog may name can be spoken, and the reverse.
func TestEveryDialectIsWired(t *testing.T) {
	t.Parallel()
	if wired, named := slices.Sorted(maps.Keys(dialects())), slices.Sorted(slices.Values(catalog.Dialects())); !slices.Equal(wired, named) {
		t.Errorf("%v are wired, %v may be named", wired, named)
	}
}
