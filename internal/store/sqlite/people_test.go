package sqlite_test

import (
	"database/sql"
	"testing"

	"weir/internal/store/storetest"
)

// raw is an empty store with its database.
func raw(t *testing.T) storetest.Raw {
	t.Helper()
	s, path := openStore(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := storetest.Raw{Store: s, Exec: func(text string) error { _, err := db.Exec(text); return err },
		Count: func(text string) (n int64, err error) { err = db.QueryRow(text).Scan(&n); return n, err },
		Bytes: func(hex string) string { return "X'" + hex + "'" }, Text: func(column string) string { return "CAST(" + column + " AS TEXT)" }}
	rows, err := db.Query(`SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.rowid, c.cid`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var c [3]string
		if err := rows.Scan(&c[0], &c[1], &c[2]); err != nil {
			t.Fatal(err)
		}
		r.Columns = append(r.Columns, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}
