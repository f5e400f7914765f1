package storetest

import (
	"strings"
	"testing"
)

// newerIsRefused gives the database a migration that this version does not know. run is a connection beside the store, open opens the database
// again as the version weir.
func newerIsRefused(t *testing.T, run func(sql string) error, open func(weir string) error) {
	exec := func(text string) {
		t.Helper()
		if err := run(text); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(words ...string) {
		t.Helper()
		err := open("v1.2.3")
		for _, w := range append(words, "newer version of Weir") {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("a newer database: %v, want %q", err, w)
			}
		}
	}
	if err := open("v1.2.3"); err != nil {
		t.Fatalf("before: %v", err)
	}
	exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`)
	refused("version 9999") // the newer one died before it could note itself
	exec(`INSERT INTO schema_versions (number, weir) VALUES (9999, 'v1.4.0')`)
	refused("Start Weir v1.4.0 or a later one")
	exec(`DELETE FROM goose_db_version WHERE version_id = 9999`)
	exec(`DELETE FROM schema_versions WHERE number = 9999`)
	if err := open("v1.2.3"); err != nil {
		t.Errorf("after: %v", err)
	}
}

// versionsAreNoted looks beside which migrations, from first on, a version is noted, and which. list lists "number weir" of each, in the order of numbers.
func versionsAreNoted(t *testing.T, first string, run func(sql string) error, open func(weir string) error, list func() []string) {
	if err := run(`DELETE FROM schema_versions`); err != nil { // as after a death between migrations and their note
		t.Fatal(err)
	}
	for range 2 { // a later version leaves what there is
		if err := open("v1.2.3"); err != nil {
			t.Fatal(err)
		}
		noted := list()
		if len(noted) == 0 || noted[0] != first+" v1.2.3" {
			t.Fatalf("%q, want the first to be %s by v1.2.3", noted, first)
		}
		for _, n := range noted {
			if !strings.HasSuffix(n, " v1.2.3") {
				t.Errorf("%q, want v1.2.3 beside each", n)
			}
		}
		if err := open("v1.3.0"); err != nil {
			t.Fatal(err)
		}
	}
}
