package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/store/storetest"
)

// What the database file holds must open no door.
func TestNoKeyTextInTheFile(t *testing.T) {
	t.Parallel()
	s, path := openStore(t)
	m := account.NewManager(s.Accounts, nil, func() time.Time { return time.Unix(1e9, 0) })
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

func TestEveryTableHasALife(t *testing.T) {
	t.Parallel()
	_, path := openStore(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all string
	if err := db.QueryRow(`SELECT group_concat(name, ' ') FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT IN ('goose_db_version', 'schema_versions')`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	storetest.Lives(t, strings.Fields(all))
}
