package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func TestVideos(t *testing.T) {
	t.Parallel()
	storetest.Videos(t, func(t *testing.T, now func() time.Time) storetest.VideoStore {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "weir.db"), sqlite.WithClock(now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
