package structure_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Migrations are numbered without gaps or duplicates, and both stores have the same numbers. A store with a duplicate does not open.
func TestMigrationNumbers(t *testing.T) {
	t.Parallel()
	var lists [][]string
	for _, store := range []string{"sqlite", "postgres"} {
		files, err := os.ReadDir("../store/" + store + "/migrations")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		slices.Sort(names)
		for i, name := range names {
			if want := fmt.Sprintf("%05d_", i+1); !strings.HasPrefix(name, want) {
				t.Errorf("%s: %s should begin with %s", store, name, want)
			}
		}
		lists = append(lists, names)
	}
	if !slices.Equal(lists[0], lists[1]) {
		t.Errorf("the stores differ:\n%v\n%v", lists[0], lists[1])
	}
}
