package storetest

import (
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/store"
	"weir/internal/webhook"
)

// deliveriesOfAll checks the list of events that wait, and what operators do with them.
func deliveriesOfAll(t *testing.T, s *store.Store) {
	addDelivery(t, s, delivery("vj_1-completed", "usr_1", at.Add(-time.Hour)), delivery("vj_2-completed", "usr_2", at), delivery("vj_3-completed", "usr_3", at))
	list := func(state string) (all []console.Job) {
		t.Helper()
		all, err := s.Notices.ListWork(t.Context(), console.JobSearch{Kind: console.Webhooks, State: state, Limit: 10}, at)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for range console.ManyTries {
		got := claim(t, s, at.Add(-time.Minute), 1)
		wantClaimed(t, got, "vj_1-completed")
		wantEnded(t, s, got[0], webhook.Outcome{State: webhook.Pending, NextAt: at.Add(-time.Hour), At: at, Status: 503, Error: "status 503"}, true)
	}
	e := audit.Event{Actor: actor, Action: audit.JobRetried, Target: "x"}
	if stuck := list(console.StuckJobs); len(stuck) != 1 || stuck[0].ID != "vj_1-completed" || !stuck[0].Stuck || stuck[0].Words != "status 503" || stuck[0].Tries != console.ManyTries || stuck[0].Account != "usr_1" {
		t.Fatalf("%+v", stuck)
	}
	if n, err := s.Notices.CountWork(t.Context(), console.Webhooks, at); err != nil || n.Open != 3 || n.Stuck != 1 {
		t.Errorf("%+v %v", n, err)
	}
	if open := list(console.OpenJobs); len(open) != 3 || open[1].Stuck {
		t.Errorf("%+v", open)
	}
	end := func(id string) error {
		return s.Notices.EndWork(t.Context(), console.Webhooks, id, "The receiver is gone.", at, e)
	}
	under := claim(t, s, at.Add(time.Hour), 3)
	if err := end("vj_2-completed"); err != nil {
		t.Fatal(err)
	}
	for i := range under { // an attempt that was under way changes nothing any more
		wantEnded(t, s, under[i], webhook.Outcome{State: webhook.Pending, NextAt: at, At: at, Error: "x"}, under[i].ID != "vj_2-completed")
	}
	if err := end("vj_2-completed"); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	if failed := list(console.FailedJobs); len(failed) != 1 || failed[0].ID != "vj_2-completed" || failed[0].Words != "The receiver is gone." || failed[0].State != "failed" {
		t.Fatalf("%+v", failed)
	}
	if err := s.Notices.RetryWork(t.Context(), console.Webhooks, "vj_2-completed", at, e); err != nil {
		t.Fatal(err)
	}
	if len(list(console.FailedJobs)) != 0 || len(list(console.OpenJobs)) != 3 {
		t.Error("it does not begin anew")
	}
	if err := s.Notices.RetryWork(t.Context(), console.Webhooks, "vj_none", at, e); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}
