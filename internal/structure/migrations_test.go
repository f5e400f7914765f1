package structure_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Migrations are numbered without gaps or duplicates, and both stores have the same numbers. A store with a duplicate does not open. Those of the
// versions before 1.0 end with the number of the file that makes the same tables at once.
func TestMigrationNumbers(t *testing.T) {
	t.Parallel()
	const schema = 67
	for folder, first := range map[string]int{"migrations": schema, "migrations/before1.0": 1} {
		var lists [][]string
		for _, store := range []string{"sqlite", "postgres"} {
			files, err := os.ReadDir("../store/" + store + "/" + folder)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range files {
				if !f.IsDir() {
					names = append(names, f.Name())
				}
			}
			slices.Sort(names)
			for i, name := range names {
				if want := fmt.Sprintf("%05d_", first+i); !strings.HasPrefix(name, want) {
					t.Errorf("%s, %s: %s should begin with %s", store, folder, name, want)
				}
			}
			if first == 1 && len(names) != schema {
				t.Errorf("%s: %d migrations before 1.0, want %d", store, len(names), schema)
			}
			lists = append(lists, names)
		}
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("the stores differ:\n%v\n%v", lists[0], lists[1])
		}
	}
}
