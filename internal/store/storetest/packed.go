package storetest

import (
	"compress/gzip"
	"context"
	"database/sql"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/store/ledgerdb"
)

// packedDB is a SQLite database with tables of version 38, compressed: 98 calls of four accounts, most of them packed with words that were
// learned, two with records of the first versions, and a refund.
//
//go:embed testdata/packed.db.gz
var packedDB string

// PackedFile puts a database of a version that packed its records into a folder. calls are the wallets and ids of its calls. The caller imports
// SQLite.
func PackedFile(t *testing.T) (path string, calls [][2]string) {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(packedDB))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "weir.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT wallet, id FROM generations`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	if err := rows.Err(); err != nil || len(calls) != 98 {
		t.Fatalf("%d calls, %v", len(calls), err)
	}
	return path, calls
}

// Unpacking rewrites a database that has the rows of PackedFile, in steps that are cut off and begun again: every record and every check stays as
// it was. count is a query for one number.
func Unpacking(t *testing.T, s *store.Store, calls [][2]string, count func(text string) int) {
	t.Helper()
	before, beforeChecks := allCalls(t, s, calls)
	if n := count(`SELECT COUNT(*) FROM generations WHERE details IS NULL`); n != len(calls) {
		t.Fatalf("%d of %d rows are packed", n, len(calls))
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := s.Ledger.UnpackCalls(cut, ledgerdb.Unpacked{}, 7); err == nil {
		t.Error("it went on after it was cut off")
	}
	if _, n, more, err := s.Ledger.UnpackCalls(t.Context(), ledgerdb.Unpacked{}, 7); err != nil || n != 7 || !more {
		t.Fatalf("%d, %t, %v", n, more, err)
	}
	half, halfChecks := allCalls(t, s, calls)
	var at ledgerdb.Unpacked
	sum := 7
	for more := true; more; {
		var n int
		var err error
		if at, n, more, err = s.Ledger.UnpackCalls(t.Context(), at, 10); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	after, afterChecks := allCalls(t, s, calls)
	if sum != len(calls) || count(`SELECT COUNT(*) FROM generations WHERE details IS NULL OR length(record) > 0`) != 0 {
		t.Errorf("%d of %d rows were rewritten", sum, len(calls))
	}
	if diff := cmp.Diff(before, half); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(beforeChecks, halfChecks) + cmp.Diff(beforeChecks, afterChecks); diff != "" {
		t.Error(diff)
	}
	// Only the one of the first version, which has no offers, needs its bytes.
	if n := count(`SELECT COUNT(*) FROM generations WHERE details->>'journal' IS NOT NULL`); n != 1 {
		t.Errorf("%d calls keep the bytes of the journal", n)
	}
	if n := count(`SELECT COUNT(*) FROM generations WHERE details->>'endpoint' IS NOT NULL AND details->>'model' IS NULL`); n != len(calls) {
		t.Errorf("the details of %d calls can be read", n)
	}
}

func allCalls(t *testing.T, s *store.Store, calls [][2]string) (all []*record.Call, checks []ledger.Check) {
	t.Helper()
	for _, id := range calls {
		c, _, err := s.Ledger.Call(t.Context(), id[0], id[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	checks, _, err := s.Ledger.Checks(t.Context(), ledger.Anchor{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	return all, checks
}
