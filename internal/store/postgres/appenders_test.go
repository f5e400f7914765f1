package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestAppenders(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	storetest.Appenders(t, []storetest.LedgerStore{openDSN(t, dsn), openDSN(t, dsn), openDSN(t, dsn)})
}
