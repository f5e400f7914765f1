package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/video"
)

// delayed is a store that does not report the outcome of some writes.
type delayed struct {
	video.Store
	mu      sync.Mutex
	fates   map[string]string // of "add" and "accept": "done", "lost" or "later"; "": as they are
	pending []func() error    // what is done later
}

func (d *delayed) write(what string, do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	gone := fault.New(fault.StorageUnavailable, "storetest", "no answer")
	switch d.fates[what] {
	case "done":
		if err := do(); err != nil {
			return err
		}
	case "lost":
	case "later":
		d.pending = append(d.pending, do)
		d.fates[what] = "lost"
	default:
		return do()
	}
	return gone
}

func (d *delayed) AddJob(ctx context.Context, j *video.Job, from ledger.Handover, limit int) error {
	kept := *j
	return d.write("add", func() error { return d.Store.AddJob(context.WithoutCancel(ctx), &kept, from, limit) })
}

func (d *delayed) AcceptJob(ctx context.Context, id string, due time.Time) error {
	return d.write("accept", func() error { return d.Store.AcceptJob(context.WithoutCancel(ctx), id, due) })
}

// arrive runs the delayed writes.
func (d *delayed) arrive(t *testing.T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, do := range d.pending {
		if err := do(); err != nil && !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	}
	d.pending = nil
}

// Whatever a store does to a submission, and however late: a client that was refused has no job, and one that was not has one.
func delayedSubmission(t *testing.T, s *studio) {
	for _, c := range []struct {
		add, accept string
		after       time.Duration // what was delayed arrives then
		refused     bool
		want        video.State // of the job that there is; "": none
	}{
		{"", "", 0, false, video.Completed},
		{"lost", "", 0, true, ""},
		{"done", "", 0, false, video.Completed},
		{"later", "", 0, true, video.Failed},
		{"", "done", 0, false, video.Completed},
		{"", "lost", 0, false, video.Failed}, // the client finds it
		{"", "later", time.Second, false, video.Completed},
		{"", "later", 2 * time.Minute, false, video.Failed},
		{"done", "later", time.Second, false, video.Completed},
	} {
		name := fmt.Sprintf("%+v", c)
		s.provider = newProvider()
		d := &delayed{Store: s.store.Jobs, fates: map[string]string{"add": c.add, "accept": c.accept}}
		k, u := s.crew(s.node(), func(deps *video.Deps, _ *video.Config) { deps.Store = d }), s.user(100*ruble)
		in := s.newVideo(u, "v/film")
		j, err := k.Submit(s.ctx, in)
		if (err != nil) != c.refused || err != nil && !fault.Is(err, fault.StorageUnavailable) {
			t.Fatalf("%s: %v", name, err)
		}
		if c.after > time.Minute {
			k.step(c.after)
			d.arrive(t)
		} else {
			s.clock.Advance(c.after)
			d.arrive(t)
		}
		for range 6 {
			k.step(31 * time.Second)
		}
		asks, _ := s.provider.asksAndJobs()
		if (asks == 1) != (c.want == video.Completed) || asks > 1 {
			t.Errorf("%s: the provider was asked %d times", name, asks)
		}
		if !c.refused {
			if j = k.job(j); j.State != c.want {
				t.Errorf("%s: the job is %s", name, j.State)
			}
			s.ended(j)
		}
		listed := must(s.store.Jobs.Jobs(s.ctx, video.Query{User: u.User, Limit: 5}))
		if (len(listed) == 1) != (c.want == video.Completed) {
			t.Errorf("%s: %d jobs are listed", name, len(listed))
		}
		if has := must(s.store.Jobs.HasJob(s.ctx, u.Wallet, in.Generation)); has != (c.want == video.Completed) {
			t.Errorf("%s: the call became a job: %t", name, has)
		}
		if reported := s.reported(u.User); len(reported) != len(listed) {
			t.Errorf("%s: %q", name, reported)
		}
		if err := k.book.Close(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.balanced()
		s.wantBalance(s.store.Ledger, u.Wallet, 100*ruble, map[video.State]money.Nano{video.Completed: 8 * ruble}[c.want], 0)
	}
}

// A named call whose node died before its job was accepted may be repeated: the first job is never started, however late its acceptance
// arrives.
func refusedByName(t *testing.T, s *studio) {
	d := &delayed{Store: s.store.Jobs, fates: map[string]string{"accept": "later"}}
	k, u := s.crew(s.node(), func(deps *video.Deps, _ *video.Config) { deps.Store = d }), s.user(100*ruble)
	in := s.newVideo(u, "v/film")
	j, err := k.Submit(s.ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	if has := must(s.store.Jobs.HasJob(s.ctx, u.Wallet, in.Generation)); has {
		t.Error("the call became a job")
	}
	if err := s.store.Jobs.AcceptJob(s.ctx, j.ID, s.clock.Now()); !fault.Is(err, fault.Conflict) {
		t.Errorf("it is accepted all the same: %v", err)
	}
	k.step(time.Second)
	if now := k.job(j); now.State != video.Failed {
		t.Errorf("%s", now.State)
	}
	if asks, _ := s.provider.asksAndJobs(); asks != 0 {
		t.Errorf("the provider was asked %d times", asks)
	}
	s.ended(k.job(j))
	s.wantBalance(s.store.Ledger, u.Wallet, 100*ruble, 0, 0)
}
