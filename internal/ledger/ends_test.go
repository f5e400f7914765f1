package ledger_test

import (
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/zone"
)

// TestResetEnds finds the moment at which a limit starts again, also where clocks are changed before it and where a zone is half an hour off.
func TestResetEnds(t *testing.T) {
	t.Parallel()
	in := func(name string) func(time.Time) time.Time {
		h, _, err := zone.History(nil).Choose(name, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		return h.Local
	}
	for _, c := range []struct {
		zone  string
		reset ledger.Reset
		at    string
		want  string
	}{
		{"UTC", ledger.Daily, "2026-08-07T13:30:00Z", "2026-08-08T00:00:00Z"},
		{"UTC", ledger.Weekly, "2026-08-07T13:30:00Z", "2026-08-10T00:00:00Z"},
		{"UTC", ledger.Weekly, "2026-08-10T00:00:00Z", "2026-08-17T00:00:00Z"},
		{"UTC", ledger.Weekly, "2026-08-09T23:59:59Z", "2026-08-10T00:00:00Z"},
		{"UTC", ledger.Monthly, "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"},
		{"Europe/Moscow", ledger.Daily, "2026-08-07T22:30:00Z", "2026-08-08T21:00:00Z"},
		{"Europe/Moscow", ledger.Monthly, "2026-08-31T20:59:00Z", "2026-08-31T21:00:00Z"},
		{"Europe/Berlin", ledger.Daily, "2026-10-24T23:30:00Z", "2026-10-25T23:00:00Z"},
		{"Europe/Berlin", ledger.Monthly, "2026-10-02T10:00:00Z", "2026-10-31T23:00:00Z"},
		{"Europe/Berlin", ledger.Weekly, "2026-03-28T10:00:00Z", "2026-03-29T22:00:00Z"},
		{"Asia/Kolkata", ledger.Daily, "2026-08-07T10:10:00Z", "2026-08-07T19:00:00Z"},
	} {
		at, _ := time.Parse(time.RFC3339, c.at)
		if got := c.reset.Ends(in(c.zone), at).Format(time.RFC3339); got != c.want {
			t.Errorf("%s %s at %s: ends %s, want %s", c.zone, c.reset, c.at, got, c.want)
		}
	}
	if end := ledger.Never.Ends(in("UTC"), time.Now()); !end.IsZero() {
		t.Errorf("never ends %s", end)
	}
}
