package upstream_test

import (
	"testing"
	"time"

	"weir/internal/dialect"
)

func TestRecordedSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1.5": 1500 * time.Millisecond, `"2.25"`: 2250 * time.Millisecond, "0": 0, "-1": 0, "1e300": 0, `"x"`: 0, "null": 0, "[1]": 0, "": 0, "1000001": 0,
	} {
		if got := dialect.RecordedSeconds([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
