package docsite_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/docsite"
)

var update = flag.Bool("update", false, "write docs/README.md anew")

// TestIndex compares docs/README.md, which readers of the repository open first, with the table of pages.
func TestIndex(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "docs", "README.md")
	want := docsite.Index(func(page string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		return strings.TrimPrefix(title, "# ")
	})
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/README.md is older than the table of pages: go test ./internal/docsite -run TestIndex -update")
	}
}
