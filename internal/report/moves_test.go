package report_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"weir/internal/record"
	"weir/internal/report"
)

// A call moved if the endpoint was tried in vain or passed over, and another one answered; or none did and this one was not tried.
func TestMoves(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	failed := []record.Attempt{{Endpoint: "a", Reason: "timeout"}}
	ejected := []record.Candidate{{Endpoint: "a", DroppedBy: record.DroppedEjected}}
	m := report.MovesFrom("a")
	for i, c := range []record.Call{
		{Generation: "failed", Endpoint: "b", Attempts: failed, Candidates: ejected},
		{Generation: "failed last", Endpoint: "b", Attempts: failed, At: at.Add(time.Hour)},
		{Generation: "passed over", Endpoint: "b", Candidates: []record.Candidate{{Endpoint: "a", Reason: record.DroppedEjected}}},
		{Generation: "passed over, and none answered", Candidates: ejected},
		// and none of these
		{Generation: "served", Endpoint: "a", Attempts: failed},
		{Generation: "failed here and ended nowhere", Attempts: failed},
		{Generation: "canceled", Candidates: ejected, Cancelled: true},
		{Generation: "not wanted", Endpoint: "b", Candidates: []record.Candidate{{Endpoint: "a", DroppedBy: "max_price"}}},
		{Generation: "second choice", Endpoint: "b", Candidates: []record.Candidate{{Endpoint: "a"}}},
		{Generation: "an own key failed", Endpoint: "b", Attempts: []record.Attempt{{Endpoint: "a", Reason: "timeout", OwnKey: "pk_1"}}},
		{Generation: "another endpoint", Endpoint: "b", Attempts: []record.Attempt{{Endpoint: "c", Reason: "timeout"}}},
	} {
		if c.At.IsZero() {
			c.At = at.Add(time.Duration(i) * time.Minute)
		}
		m.Add(&c)
	}
	want := []report.Move{
		{To: "b", Failed: 2, Passed: 1, Last: at.Add(time.Hour), Call: "failed last"},
		{To: "", Passed: 1, Last: at.Add(3 * time.Minute), Call: "passed over, and none answered"},
	}
	if d := gocmp.Diff(want, m.List()); d != "" {
		t.Error(d)
	}
}
