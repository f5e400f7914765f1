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
