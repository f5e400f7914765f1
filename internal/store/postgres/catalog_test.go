package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestCatalog(t *testing.T) {
	t.Parallel()
	storetest.Catalog(t, func(t *testing.T) storetest.CatalogStore {
		s, _ := openStore(t)
		return s
	})
}
