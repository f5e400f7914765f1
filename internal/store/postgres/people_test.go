package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestPeople(t *testing.T) {
	t.Parallel()
	storetest.People(t, func(t *testing.T) storetest.PeopleStore {
		s, _ := openStore(t)
		return s
	})
}

func TestEveryTableHasALife(t *testing.T) {
	t.Parallel()
	_, dsn := openStore(t)
	var all []string
	if err := connect(t, dsn).QueryRow(t.Context(), `SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('goose_db_version', 'schema_versions')`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	storetest.Lives(t, all)
}
