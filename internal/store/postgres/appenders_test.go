package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestAppenders(t *testing.T) {
	t.Parallel()
	dsn := with(migrated(t), "statement_timeout=120000") // the nodes wait for one another, on a busy machine for longer than one may
	storetest.Appenders(t, []storetest.LedgerStore{openDSN(t, dsn), openDSN(t, dsn), openDSN(t, dsn)})
}
