package importer_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/importer"
)

var update = flag.Bool("update", false, "write the catalog and the page anew")

// The catalog and its page are what the sources in the repository give, to the byte.
func TestImportIsReproducible(t *testing.T) {
	t.Parallel()
	r, err := importer.Import(os.DirFS(filepath.Join("..", "sources")), builtin.Providers(), importer.DefaultBook())
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join("..", "..", "..", "docs", "catalog.md")
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Report(old, builtin.Providers())
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{filepath.Join("..", "builtin", "catalog.json"): r.Catalog, page: report} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the sources give; run: weir catalog import (%v)", file, err)
		}
	}
}
