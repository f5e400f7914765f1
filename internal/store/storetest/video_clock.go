package storetest

import (
	"math"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/video"
)

// Jobs use the clock of the database: no node ends one early, polls too soon or keeps one too long because its own clock is wrong.
func wrongClocks(t *testing.T, s *studio) {
	at := func(off time.Duration) *crew {
		return s.crew(s.node(), func(_ *video.Deps, c *video.Config) { c.Now = func() time.Time { return s.clock.Now().Add(off) } })
	}
	fast, slow := at(5*time.Hour), at(-7*time.Hour)
	for _, x := range []struct{ takes, works *crew }{{fast, slow}, {slow, fast}} {
		s.provider = newProvider()
		s.provider.polls = 1 << 30
		fast.Upstream, slow.Upstream = s.provider, s.provider
		u := s.user(100 * ruble)
		j := x.takes.submit(u)
		if off := j.CreatedAt.Sub(s.clock.Now()).Abs(); off > time.Second {
			t.Fatalf("it was made %s from now", off)
		}
		if n := x.works.step(0); n != 1 || x.works.job(j).State != video.InProgress {
			t.Fatalf("%d steps, %s", n, x.works.job(j).State)
		}
		for _, k := range []*crew{fast, slow} {
			if n := k.step(time.Second); n != 0 {
				t.Errorf("it was looked at too soon")
			}
		}
		for range 19 { // fifty-seven minutes
			for _, k := range []*crew{fast, slow} {
				k.step(90 * time.Second)
			}
		}
		if now := x.takes.job(j); now.State != video.InProgress || now.Polls < 30 {
			t.Fatalf("%s after %d looks", now.State, now.Polls)
		}
		x.takes.step(5 * time.Minute)
		x.works.step(0)
		if now := x.works.job(j); now.State != video.Expired || now.CompletedAt.Sub(now.CreatedAt).Round(time.Hour) != time.Hour {
			t.Errorf("%s after %s", now.State, now.CompletedAt.Sub(now.CreatedAt))
		}
		s.ended(x.works.job(j))

		s.provider.polls = 0
		j = x.works.finished(x.takes.submit(u), video.Completed)
		for _, k := range []*crew{fast, slow} { // its content can be read for a day
			if got := k.job(j); got.State != video.Completed {
				t.Errorf("%s already", got.State)
			}
		}
		s.clock.Advance(25 * time.Hour)
		for _, k := range []*crew{fast, slow} {
			if got := k.job(j); got.State != video.Expired {
				t.Errorf("%s still", got.State)
			}
		}
		x.works.step(0)
	}
}

// Jobs that have ended are deleted after a while, but only their rows: the charges stay.
func forgottenJobs(t *testing.T, s *studio) {
	k, u := s.crew(s.node(), func(_ *video.Deps, c *video.Config) { c.ForgetAfter = 30 * 24 * time.Hour }), s.user(100*ruble)
	done := k.finished(k.submit(u), video.Completed)
	s.provider.ending = video.Progress{State: video.Failed}
	failed := k.finished(k.submit(u), video.Failed)
	s.provider.polls = 1 << 30
	k.step(29 * 24 * time.Hour)
	k.Sweep(s.ctx)
	for _, j := range []*video.Job{done, failed} {
		if got := k.job(j); got.Active() || got.State == video.Completed {
			t.Errorf("%s", got.State)
		}
	}
	active := k.submit(u)
	k.step(0)
	s.clock.Advance(2 * 24 * time.Hour)
	s.tick(k.book)
	k.Sweep(s.ctx)
	for _, j := range []*video.Job{done, failed} {
		_, err := k.Get(s.ctx, u.User, j.ID)
		if e := fault.From(err); !fault.Is(err, fault.NotFound) || e.Public != "There is no such video job. Jobs are deleted 30 days after their end." {
			t.Errorf("%v", err)
		}
		if _, err := k.Delete(s.ctx, u.User, j.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if call, _, err := s.store.Ledger.Call(s.ctx, u.Wallet, j.Generation); err != nil || call.API != video.API {
			t.Errorf("the record of its call: %+v, %v", call, err)
		}
	}
	if jobs := must(s.store.Jobs.Jobs(s.ctx, video.Query{User: u.User, Limit: 9})); len(jobs) != 1 || jobs[0].ID != active.ID {
		t.Errorf("%d jobs are left", len(jobs))
	}
	s.wantBalance(s.store.Ledger, u.Wallet, 100*ruble, 8*ruble, 16*ruble)
	s.balanced()
}

// Two jobs that look the same in a provider's list, of which it made one: one job has it.
func oneVideoTwoJobs(t *testing.T, s *studio) {
	for range 5 {
		s.provider = newProvider()
		s.provider.memory, s.provider.twin = lists, "up-1-"+s.wallet(0)
		s.provider.refuse = func(string) error { return refusal(500, fault.ProviderUnavailable) }
		crews := []*crew{s.crew(s.node()), s.crew(s.node())}
		users := []*apikey.Caller{s.user(100 * ruble), s.user(100 * ruble)}
		jobs := []*video.Job{crews[0].submit(users[0]), crews[1].submit(users[1])}
		s.provider.jobs[s.provider.twin] = &made{}
		var wg sync.WaitGroup
		for _, k := range crews {
			wg.Go(func() {
				if _, err := k.Step(s.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		done := 0
		for range 10 {
			crews[0].step(40 * time.Second)
		}
		for _, j := range jobs {
			if j = crews[0].job(j); j.State == video.Completed {
				done++
			} else if j.State != video.Failed {
				t.Errorf("%s", j.State)
			}
			s.ended(j)
		}
		if done != 1 {
			t.Fatalf("%d jobs have the one video", done)
		}
	}
}

// A job whose charge the books can never take ends, and the charge waits for an operator.
func asideJob(t *testing.T, s *studio) {
	const most = 1_000_000_000 * ruble
	reported := 0
	k, u := s.crew(s.node(), func(d *video.Deps, _ *video.Config) { d.Aside = func() { reported++ } }), s.user(100*ruble)
	j := k.submit(u)
	k.step(0)
	for range 9 {
		s.settle(k.book, s.hold(k.book, u.Wallet, 0), u.Wallet, most)
	}
	s.settle(k.book, s.hold(k.book, u.Wallet, 0), u.Wallet, money.Nano(math.MaxInt64)-9*most-7*ruble) // eight are one too many
	s.flush(k.book)
	for range 5 {
		k.step(40 * time.Second)
	}
	if j = k.job(j); j.State != video.Completed || j.Cost != 8*ruble || reported != 1 {
		t.Fatalf("%s, reported %d times", j.State, reported)
	}
	waiting := must(s.store.Ledger.Asides(s.ctx))
	if len(waiting) != 1 || waiting[0].Generation != j.Generation || waiting[0].Wallet != u.Wallet || waiting[0].Cost != 8*ruble || waiting[0].Reason == "" {
		t.Fatalf("%+v", waiting)
	}
	s.mentions("set aside", "weir ledger aside")
	if ids := s.reported(u.User); len(ids) != 1 {
		t.Errorf("%q", ids)
	}
	by := audit.Actor{Name: "op"}
	if err := s.store.Ledger.PostAside(s.ctx, waiting[0].ID, by, s.clock.Now()); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("%v", err)
	}
	if err := s.store.Ledger.DismissAside(s.ctx, waiting[0].ID, "more than there is", by, s.clock.Now()); err != nil {
		t.Fatal(err)
	}
	s.balanced()
	if bal := must(s.store.Ledger.Balance(s.ctx, u.Wallet)); bal.Held != 0 {
		t.Errorf("%s are held", bal.Held)
	}
}
