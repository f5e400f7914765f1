package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	storetest.Accounts(t, func(t *testing.T) storetest.AccountStore {
		s, _ := openAccounts(t)
		return s
	})
}

func openAccounts(t *testing.T) (*sqlite.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weir.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, path
}

// Who has the file can drop the triggers, but not the traces.
func TestAuditFindsEditedRows(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]string{
		"changed": `UPDATE audit SET after = 'limit 1' WHERE seq = 2`,
		"removed": `DELETE FROM audit WHERE seq = 2`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := openAccounts(t)
			for range 3 {
				if err := s.Audit(t.Context(), audit.Event{Action: audit.TopUp, After: "limit 9"}, time.Unix(1, 0)); err != nil {
					t.Fatal(err)
				}
			}
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Exec(tamper); err == nil || !strings.Contains(err.Error(), "never") {
				t.Fatalf("the table let itself be edited: %v", err)
			}
			if _, err := db.Exec(`DROP TRIGGER audit_keep_rows; DROP TRIGGER audit_keep_all; ` + tamper); err != nil {
				t.Fatal(err)
			}
			if _, err := audit.Verify(s.AuditRows(t.Context())); !fault.Is(err, fault.Conflict) {
				t.Fatalf("Verify: %v; want Conflict", err)
			}
		})
	}
}

// What the database file holds must open no door.
func TestNoKeyTextInTheFile(t *testing.T) {
	t.Parallel()
	s, path := openAccounts(t)
	m := account.NewManager(s, nil, func() time.Time { return time.Unix(1e9, 0) })
	first, err := m.Bootstrap(t.Context(), "Anna")
	if err != nil || first == nil {
		t.Fatalf("Bootstrap: %v, %v", first, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{first.KeyText, first.ManagementKey} {
		if bytes.Contains(file, []byte(text)) || bytes.Contains(file, []byte(text[16:40])) {
			t.Error("the text of a key is in the file")
		}
		if !bytes.Contains(file, []byte(apikey.Hash(text))) {
			t.Error("the hash of a key is not in the file: the test looks at the wrong one")
		}
	}
}
