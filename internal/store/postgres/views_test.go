package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestViews(t *testing.T) {
	t.Parallel()
	storetest.Views(t, func(t *testing.T) storetest.ViewStore {
		s, _ := openStore(t)
		return s
	})
}
