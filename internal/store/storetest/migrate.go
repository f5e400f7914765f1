package storetest

import (
	"strings"
	"testing"
)

// NewerIsRefused gives the database a migration that this version does not know. run is a connection beside the store, open opens the database again.
func NewerIsRefused(t *testing.T, run func(sql string) error, open func() error) {
	if err := open(); err != nil {
		t.Fatalf("before: %v", err)
	}
	if err := run(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`); err != nil {
		t.Fatal(err)
	}
	if err := open(); err == nil || !strings.Contains(err.Error(), "newer version of Weir") {
		t.Errorf("a newer database: %v", err)
	}
	if err := run(`DELETE FROM goose_db_version WHERE version_id = 9999`); err != nil {
		t.Fatal(err)
	}
	if err := open(); err != nil {
		t.Errorf("after: %v", err)
	}
}
