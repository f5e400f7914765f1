package postgres_test

import (
	"testing"
	"time"

	"weir/internal/store/postgres"
	"weir/internal/store/storetest"
)

func TestVideos(t *testing.T) {
	t.Parallel()
	storetest.Videos(t, func(t *testing.T, now func() time.Time) storetest.VideoStore {
		s, _ := openStore(t, postgres.WithClock(now))
		return s
	})
}
