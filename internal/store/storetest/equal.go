package storetest

import (
	"bytes"

	"github.com/google/go-cmp/cmp"
)

// wholeBytes compares bytes at once: cmp.Diff alone looks at each of a megabyte by reflection. Whether nothing and nil are equal
// is left to other options.
var wholeBytes = cmp.FilterValues(func(a, b []byte) bool { return len(a) > 0 && len(b) > 0 }, cmp.Comparer(bytes.Equal))
