package app_test

import (
	"testing"

	"weir/internal/app/apptest"
)

// Every cell of the matrix has a unique name.
func TestCellsAreNamed(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for i := range apptest.Matrix {
		c := &apptest.Matrix[i]
		if other, twice := seen[c.Name(t)]; twice {
			t.Errorf("%s and %s are both called %s", c.Fault, other, c.Name(t))
		}
		seen[c.Name(t)] = c.Fault
	}
}
