package compact_test

import (
	"testing"

	"weir/internal/store/compact"
)

// What it reads right is shown with a database of an older version, in sqlite and postgres. Here: whatever the bytes, it ends.
func FuzzExpand(f *testing.F) {
	f.Add([]byte("names"), []byte{0xC1, 0, 5, 0, 0, 0, 0, 0x50, 'a', 'b', 'c', 'd', 'e'})
	f.Add([]byte("names"), []byte{0xC1, 7, 9, 1, 2, 3, 4, 0x01, 3, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, names, packed []byte) {
		id, is := compact.Packed(packed)
		out, err := compact.New(id, []byte("words that were learned")).Expand([]byte("before"), names, packed)
		if !is && err == nil {
			t.Errorf("%q was read as packed", packed)
		}
		if err == nil && string(out[:6]) != "before" {
			t.Errorf("%q", out)
		}
	})
}
