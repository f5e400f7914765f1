package sqlite_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestChats(t *testing.T) {
	t.Parallel()
	storetest.Chats(t, func(t *testing.T) storetest.ChatStore {
		s, _ := openAccounts(t)
		return s
	})
}
