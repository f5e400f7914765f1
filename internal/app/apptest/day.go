package apptest

import (
	"testing"
	"time"
)

// WithinADay waits for midnight of UTC where it is near: a test of what is spent today would run over it.
func WithinADay(t *testing.T) {
	t.Helper()
	const longest = 2 * time.Minute // of a test on a slow machine
	day := time.Now().UTC().Add(longest).Truncate(24 * time.Hour)
	if time.Now().Before(day) {
		t.Logf("waiting for %s", day.Format(time.DateTime))
	}
	WaitFor(t, "the next day", func() bool { return !time.Now().Before(day) })
}
