package structure_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// All files named on the page for new providers exist.
func TestAddingAProviderNamesRealFiles(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "adding-a-provider.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:internal|docs|cmd)/[^` ]+)`").FindAllSubmatch(page, -1)
	if len(named) < 10 {
		t.Fatalf("%d files are named, which is fewer than it takes", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat(filepath.Join(root, string(m[1]))); err != nil {
			t.Errorf("%s is named and not there", m[1])
		}
	}
}
