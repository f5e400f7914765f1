package config

import (
	"reflect"
	"strings"
	"testing"
)

// A setting in bytes is written with a unit. Without its tag as:"size" it would be read as a bare number.
func TestSizesAreSizes(t *testing.T) {
	t.Parallel()
	n := 0
	var walk func(section reflect.Type, at string)
	walk = func(section reflect.Type, at string) {
		for _, e := range entriesOf(section) {
			if isSection(e.read) {
				walk(e.read, at+e.name+".")
				continue
			}
			inBytes, size := strings.Contains(e.name, "bytes"), e.read == sizeType || e.read == intSizeType
			if size {
				n++
			}
			if inBytes && !size {
				t.Errorf("%s%s has bytes in its name and is read as %s", at, e.name, e.read)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	if n < 25 {
		t.Errorf("only %d sizes were found", n)
	}
}
