package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/video"
)

// endedByOperator checks that an operator ends a job once, that its money is back at once, and that what its provider delivers afterwards is not charged.
func endedByOperator(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	e := audit.Event{Actor: actor, Action: audit.JobEnded, Target: "x", After: "It is stuck."}
	end := func(j *video.Job) error { return k.EndNow(s.ctx, j.ID, "It is stuck.", e) }

	running := k.submit(c)
	k.step(0)
	stale := must(s.store.Jobs.Job(s.ctx, c.User, running.ID)) // what a worker has that is slow
	if err := end(running); err != nil {
		t.Fatal(err)
	}
	j := k.job(running)
	if j.State != video.Failed || j.Ended != video.Voided || j.Error != "It is stuck." {
		t.Errorf("%+v", j)
	}
	s.wantBalance(k.book, c.Wallet, 100*ruble, 0, 0)
	s.balanced()
	stale.State, stale.Ended, stale.Cost = video.Completed, video.Settled, stale.Hold
	if err := s.store.Jobs.KeepJob(s.ctx, stale, true); !fault.Is(err, fault.Conflict) {
		t.Errorf("a late worker still writes: %v", err)
	}
	k.step(time.Minute) // it is cancelled at its provider
	if !s.provider.jobs["up-1"].cancelled {
		t.Error("the provider still works on it")
	}
	if err := end(running); !fault.Is(err, fault.NotFound) {
		t.Errorf("it was ended twice: %v", err)
	}
	s.ended(k.job(running))
	if n := audited(t, s, audit.JobEnded); n != 1 {
		t.Errorf("%d rows say that it was ended", n)
	}

	// The provider takes the job while it is being ended.
	asked := k.submit(c)
	s.provider.asked = func() {
		if err := end(asked); err != nil {
			t.Error(err)
		}
	}
	k.step(0)
	s.provider.asked = nil
	k.step(time.Hour)
	if j := k.job(asked); j.State != video.Failed || j.UpstreamID != "" {
		t.Errorf("%+v", j)
	}
	s.ended(k.job(asked))
	s.wantBalance(k.book, c.Wallet, 100*ruble, 0, 0)
	s.balanced()
	if err := k.EndNow(s.ctx, "vj_none", "x", e); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}

	// Workers claim the job whenever the operator has taken it from them.
	for _, c := range []struct {
		claims int
		want   fault.Kind
	}{{claims: 2}, {claims: 100, want: fault.StorageUnavailable}} {
		contested := &contestedJobs{Store: s.store.Jobs, s: s, claims: c.claims}
		boss := s.crew(k.book, func(d *video.Deps, _ *video.Config) { d.Store = contested })
		j := k.submit(s.user(100 * ruble))
		k.step(0)
		err := boss.EndNow(s.ctx, j.ID, "It is stuck.", e)
		if c.want == 0 && err != nil || c.want != 0 && !fault.Is(err, c.want) {
			t.Errorf("%d claims: %v", c.claims, err)
		}
		if ended := k.job(j).State == video.Failed; ended != (c.want == 0) {
			t.Errorf("%d claims: %+v", c.claims, k.job(j))
		}
	}
	s.balanced()
}

// contestedJobs are jobs that a worker claims as often as it may, as soon as they are wrested.
type contestedJobs struct {
	video.Store
	s      *studio
	claims int
}

func (c *contestedJobs) WrestJob(ctx context.Context, id string) (*video.Job, error) {
	j, err := c.Store.WrestJob(ctx, id)
	if c.claims--; err == nil && c.claims >= 0 {
		must(c.s.store.Jobs.SeizeJob(ctx, j.User, id)) // as a claim, it moves the fence
	}
	return j, err
}

func audited(t *testing.T, s *studio, action string) int {
	t.Helper()
	rows, err := s.store.Accounts.AuditFound(s.ctx, audit.Search{Action: action, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}

// openVideos checks the list of videos that have not ended, which of them are stuck, and that a silent one is taken from its worker.
func openVideos(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(1000*ruble)
	first := k.submit(c)
	s.clock.Advance(time.Second)
	second := k.submit(s.user(1000 * ruble))
	list := func(state string, after *console.Job, limit int) (ids []string) {
		t.Helper()
		q := console.JobSearch{Kind: console.Videos, State: state, Limit: limit}
		if after != nil {
			q.At, q.After = after.Since.UnixMicro(), after.ID
		}
		all, err := s.store.Jobs.ListWork(s.ctx, q, s.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			ids = append(ids, all[i].ID)
		}
		return ids
	}
	if got := list(console.OpenJobs, nil, 10); !slices.Equal(got, []string{first.ID, second.ID}) {
		t.Errorf("%q", got)
	}
	page := must(s.store.Jobs.ListWork(s.ctx, console.JobSearch{Kind: console.Videos, State: console.OpenJobs, Limit: 1}, s.clock.Now()))
	if len(page) != 1 || page[0].Held != first.Hold || page[0].Account != c.User || page[0].Stuck {
		t.Fatalf("%+v", page)
	}
	if got := list(console.OpenJobs, &page[0], 10); !slices.Equal(got, []string{second.ID}) {
		t.Errorf("%q", got)
	}
	if got := list(console.StuckJobs, nil, 10); got != nil {
		t.Errorf("%q", got)
	}
	claimed := must(s.store.Jobs.ClaimJobs(s.ctx, k.book.Node(), k.book.Epoch(), s.clock.Now(), 1))[0]
	s.clock.Advance(console.SilentFor + time.Second)
	if got := list(console.StuckJobs, nil, 10); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if n := must(s.store.Jobs.CountWork(s.ctx, console.Videos, s.clock.Now())); n.Open != 2 || n.Stuck != 2 {
		t.Errorf("%+v", n)
	}
	e := audit.Event{Actor: actor, Action: audit.JobRetried, Target: claimed.ID}
	if err := s.store.Jobs.RetryWork(s.ctx, console.Videos, claimed.ID, s.clock.Now(), e); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Jobs.KeepJob(s.ctx, claimed, true); !fault.Is(err, fault.Conflict) {
		t.Errorf("the silent worker still has it: %v", err)
	}
	if err := s.store.Jobs.RetryWork(s.ctx, console.Videos, "vj_none", s.clock.Now(), e); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	if n := audited(t, s, audit.JobRetried); n != 1 {
		t.Errorf("%d rows", n)
	}
	k.finished(first, video.Completed)
	k.finished(second, video.Completed)
	if got := list(console.OpenJobs, nil, 10); got != nil {
		t.Errorf("%q", got)
	}
}
