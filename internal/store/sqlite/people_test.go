package sqlite_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestPeople(t *testing.T) {
	t.Parallel()
	storetest.People(t, func(t *testing.T) storetest.PeopleStore {
		s, _ := openAccounts(t)
		return s
	})
}
