package sqlite_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	storetest.Webhooks(t, func(t *testing.T) storetest.WebhookStore {
		s, _ := openAccounts(t)
		return s
	})
}
