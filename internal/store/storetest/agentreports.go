package storetest

import (
	"testing"
	"time"

	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store"
)

// agentReports adds to reports, keeps the newest of each user, drops those of users that are gone, and sweeps old ones.
func agentReports(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, apikey.NewID("")+"@example.org"), mustPerson(t, s, apikey.NewID("")+"@example.org")
	change := func(user, session string, after time.Duration, add, least int64) agent.Change {
		c := agent.Change{User: user, Session: session, Client: "claude-code 2.1.330", At: at.Add(after)}
		for i := range c.Add {
			c.Add[i], c.Least[i] = add*int64(i+1), least*int64(i+1)
		}
		return c
	}
	want := func(user, session string, first, last time.Duration, n int64) {
		t.Helper()
		r, err := s.Agents.ReportOf(t.Context(), user, session)
		ok(t, err)
		if !r.FirstAt.Equal(at.Add(first)) || !r.LastAt.Equal(at.Add(last)) || r.Client != "claude-code 2.1.330" {
			t.Errorf("%+v", r)
		}
		for i, sum := range r.Sums {
			if sum != n*int64(i+1) {
				t.Errorf("count %d is %d, want %d", i, sum, n*int64(i+1))
			}
		}
	}
	nameless := change(u.ID, "one", time.Second, 2, 0)
	nameless.Client = ""
	ok(t, s.Agents.AddReports(t.Context(), []agent.Change{change(u.ID, "one", 0, 1, 0), change(other.ID, "one", 0, 50, 0)}, 2))
	ok(t, s.Agents.AddReports(t.Context(), []agent.Change{nameless}, 2))
	want(u.ID, "one", 0, time.Second, 3)
	ok(t, s.Agents.AddReports(t.Context(), []agent.Change{change(u.ID, "one", 2*time.Second, 0, 10)}, 2)) // since the session began
	want(u.ID, "one", 0, 2*time.Second, 10)
	ok(t, s.Agents.AddReports(t.Context(), []agent.Change{change(u.ID, "one", 3*time.Second, 0, 7)}, 2))
	want(u.ID, "one", 0, 3*time.Second, 10)
	ok(t, s.Agents.AddReports(t.Context(), []agent.Change{change(u.ID, "two", 4*time.Second, 0, 4), change(u.ID, "three", 5*time.Second, 5, 0)}, 2))
	want(u.ID, "two", 4*time.Second, 4*time.Second, 4)
	want(u.ID, "three", 5*time.Second, 5*time.Second, 5)
	_, err := s.Agents.ReportOf(t.Context(), u.ID, "one")
	wantKind(t, err, fault.NotFound)
	want(other.ID, "one", 0, 0, 50)

	ok(t, s.Accounts.ForgetUser(t.Context(), u.ID, at, event(audit.UserForgotten)))
	ok(t, s.Agents.AddReports(t.Context(), []agent.Change{change(u.ID, "two", 6*time.Second, 1, 0)}, 2))
	_, err = s.Agents.ReportOf(t.Context(), u.ID, "two")
	wantKind(t, err, fault.NotFound)

	later := at.Add(agent.KeepReport)
	_, err = s.Agents.Sweep(t.Context(), at, later.Add(-time.Microsecond), at, 100)
	ok(t, err)
	want(other.ID, "one", 0, 0, 50)
	_, err = s.Agents.Sweep(t.Context(), at, later, at, 100)
	ok(t, err)
	_, err = s.Agents.ReportOf(t.Context(), other.ID, "one")
	wantKind(t, err, fault.NotFound)
}
