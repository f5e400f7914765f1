package importer_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/importer"
)

var update = flag.Bool("update", false, "write the catalog and the page anew")

func lists() fs.FS { return os.DirFS(filepath.Join("..", "sources")) }

// The catalog, its page and the report are what the sources in the repository give, to the byte.
func TestImportIsReproducible(t *testing.T) {
	t.Parallel()
	r, err := importer.Import(lists(), builtin.Providers(), importer.DefaultBook())
	if err != nil {
		t.Fatal(err)
	}
	page, report := filepath.Join("..", "..", "..", "docs", "catalog.md"), "REPORT.md"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	served, err := r.Page(old, builtin.Providers())
	if err != nil {
		t.Fatal(err)
	}
	if old, err = os.ReadFile(report); err != nil {
		t.Fatal(err)
	}
	leftOut, err := r.Report(old)
	if err != nil {
		t.Fatal(err)
	}
	differences := filepath.Join("..", "sources", "differences.tsv")
	for file, want := range map[string][]byte{differences: r.Differences(), filepath.Join("..", "builtin", "catalog.json"): r.Catalog, page: served, report: leftOut} {
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
