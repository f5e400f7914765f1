package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestEveryTableHasALife(t *testing.T) {
	t.Parallel()
	_, dsn := openStore(t)
	var all []string
	if err := connect(t, dsn).QueryRow(t.Context(), `SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('goose_db_version', 'schema_versions')`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	storetest.Lives(t, all)
}

// raw is an empty store with its database.
func raw(t *testing.T) storetest.Raw {
	t.Helper()
	s, dsn := openStore(t)
	conn := connect(t, dsn)
	r := storetest.Raw{Store: s, Exec: func(text string) error { _, err := conn.Exec(t.Context(), text); return err },
		Count: func(text string) (n int64, err error) { err = conn.QueryRow(t.Context(), text).Scan(&n); return n, err },
		Bytes: func(hex string) string { return `'\x` + hex + "'" }, Text: func(column string) string { return "encode(" + column + ", 'escape')" }}
	rows, err := conn.Query(t.Context(), `SELECT c.table_name::text, c.column_name::text, c.data_type::text FROM information_schema.columns c
		JOIN information_schema.tables m ON m.table_schema = c.table_schema AND m.table_name = c.table_name AND m.table_type = 'BASE TABLE' WHERE c.table_schema = current_schema() ORDER BY 1, c.ordinal_position`)
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
