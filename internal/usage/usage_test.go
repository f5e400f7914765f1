package usage_test

import (
	"reflect"
	"testing"

	"weir/internal/usage"
)

// A new count must be listed in Counts, or no record keeps it.
func TestCountsAreAllOfThem(t *testing.T) {
	t.Parallel()
	var u usage.Usage
	for i, c := range u.Counts() {
		*c = usage.Of(int64(i + 1))
	}
	seen := map[int64]bool{}
	v := reflect.ValueOf(u)
	for i := range v.NumField() {
		c, ok := v.Field(i).Interface().(usage.Count)
		if ok && (c.N == 0 || seen[c.N]) {
			t.Errorf("%s is not among the counts, or twice", v.Type().Field(i).Name)
		}
		seen[c.N] = true
	}
}
