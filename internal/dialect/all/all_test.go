package all_test

import (
	"maps"
	"slices"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/all"
)

// Every dialect that a catalog may name exists, and the reverse.
func TestEveryNameHasADialect(t *testing.T) {
	t.Parallel()
	if wired, named := slices.Sorted(maps.Keys(all.Dialects())), slices.Sorted(slices.Values(catalog.Dialects())); !slices.Equal(wired, named) {
		t.Errorf("%v are wired, %v may be named", wired, named)
	}
}
