package video_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/apikey"
	"weir/internal/blob"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/video"
)

// memory is a store that forgets at its end. away makes writes fail: before they are done, or after.
type memory struct {
	mu    sync.Mutex
	jobs  map[string]*video.Job
	owner map[string]int64 // epoch
	away  func(what string) (before, after error)
}

func newMemory() *memory { return &memory{jobs: map[string]*video.Job{}, owner: map[string]int64{}} }

func (m *memory) write(what string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var before, after error
	if m.away != nil {
		before, after = m.away(what)
	}
	if before != nil {
		return before
	}
	if err := do(); err != nil {
		return err
	}
	return after
}

func (m *memory) AddJob(_ context.Context, j *video.Job, _ ledger.Handover, limit int) error {
	return m.write("add", func() error {
		if len(m.jobs) >= limit {
			return video.TooMany(limit, nil)
		}
		kept := *j
		kept.Accepted = false
		m.jobs[j.ID] = &kept
		return nil
	})
}

func (m *memory) AcceptJob(_ context.Context, id string, due time.Time) error {
	return m.write("accept", func() error {
		j := m.jobs[id]
		if j == nil || !j.Accepted && (j.Fence > 0 || !j.Active()) {
			return fault.New(fault.Conflict, "memory", "changed")
		}
		if !j.Accepted {
			j.Accepted, j.DueAt = true, due
		}
		return nil
	})
}

func (m *memory) Clock(context.Context) (time.Time, error) { return time.Now(), nil }

func (m *memory) SweepJobs(context.Context, time.Time, int) (int, error) { return 0, nil }

func (m *memory) Job(_ context.Context, _, id string) (*video.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j := m.jobs[id]; j != nil {
		out := *j
		return &out, nil
	}
	return nil, fault.New(fault.NotFound, "memory.Job", "none")
}

func (m *memory) UpstreamTaken(_ context.Context, upstreamID, job string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.UpstreamID == upstreamID && j.ID != job {
			return true, nil
		}
	}
	return false, nil
}

func (m *memory) Jobs(context.Context, video.Query) ([]video.Job, error) { return nil, nil }

func (m *memory) WrestJob(context.Context, string) (*video.Job, error) { panic("not used") }

func (m *memory) SeizeJob(_ context.Context, _, id string) (*video.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.jobs[id]
	j.Fence++
	out := *j
	return &out, nil
}

func (m *memory) ClaimJobs(_ context.Context, _ string, epoch int64, now time.Time, n int) (all []*video.Job, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, j := range m.jobs {
		if len(all) == n || j.DueAt.IsZero() || j.DueAt.After(now) || m.owner[id] == epoch {
			continue
		}
		m.owner[id] = epoch
		j.Fence++
		out := *j
		out.Offers = append([]video.Offer(nil), j.Offers...)
		all = append(all, &out)
	}
	return all, nil
}

func (m *memory) KeepJob(_ context.Context, j *video.Job, release bool) error {
	return m.write("keep", func() error { return m.change(j, release, 0) })
}

func (m *memory) AdoptJob(ctx context.Context, j *video.Job) error {
	if taken, _ := m.UpstreamTaken(ctx, j.UpstreamID, j.ID); taken {
		return fault.New(fault.Unprocessable, "memory", "taken")
	}
	return m.KeepJob(ctx, j, true)
}

func (m *memory) EndJob(_ context.Context, j *video.Job, _ video.End) error {
	return m.write("end", func() error { return m.change(j, true, 1) })
}

func (m *memory) change(j *video.Job, release bool, fence int64) error {
	if m.jobs[j.ID].Fence != j.Fence {
		return fault.New(fault.Conflict, "memory", "changed")
	}
	kept := *j
	kept.Fence += fence
	m.jobs[j.ID] = &kept
	if release {
		delete(m.owner, j.ID)
	}
	return nil
}

// one is the only job.
func (m *memory) one() video.Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		return *j
	}
	return video.Job{}
}

// share has money for everyone.
type share struct{}

func (share) Hold(context.Context, ledger.HoldRequest) (*ledger.Hold, error) { return nil, nil }

func (share) Hand(ctx context.Context, _ *ledger.Hold, move func(context.Context, ledger.Handover) error) error {
	return move(ctx, ledger.Handover{})
}

// member is a node whose life can end.
type member struct {
	mu    sync.Mutex
	epoch int64
}

func (m *member) Node() string { return "node" }

func (m *member) Epoch() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch
}

func (m *member) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
}

// provider is made of functions; without them it takes a job, and has made it when it is first asked.
type provider struct {
	submit  func(context.Context, *video.Submission) (video.Accepted, error)
	recover func(*video.Submission) (video.Recovered, error)
	poll    func(*video.Job) (video.Progress, error)
	open    func() (*video.Content, error)
	openFor func(*video.Job) // called before
}

var done = video.Progress{State: video.Completed, Outputs: []video.Output{{URL: "https://one.test/v.mp4"}}}

func (p *provider) Submit(ctx context.Context, _ *catalog.Endpoint, s *video.Submission) (video.Accepted, error) {
	if p.submit != nil {
		return p.submit(ctx, s)
	}
	return video.Accepted{ID: "up-1"}, nil
}

func (p *provider) Recover(_ context.Context, _ *catalog.Endpoint, s *video.Submission) (video.Recovered, error) {
	if p.recover != nil {
		return p.recover(s)
	}
	return video.Recovered{}, nil
}

func (p *provider) Poll(_ context.Context, _ *catalog.Endpoint, j *video.Job) (video.Progress, error) {
	if p.poll != nil {
		return p.poll(j)
	}
	return done, nil
}

func (*provider) Cancel(context.Context, *catalog.Endpoint, *video.Job) error { return nil }

func (p *provider) Open(_ context.Context, _ *catalog.Endpoint, j *video.Job, _ *video.Output, _ *video.Range) (*video.Content, error) {
	if p.openFor != nil {
		p.openFor(j)
	}
	return p.open()
}

// rig is a service over memory.
type rig struct {
	*video.Service
	t      *testing.T
	store  *memory
	member *member
	snap   *catalog.Snapshot
}

func newRig(t *testing.T, p *provider, change ...func(*video.Deps, *video.Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: newMemory(), member: &member{epoch: 1}, snap: videos(t)}
	d := video.Deps{Store: r.store, Holds: share{}, Member: r.member, Upstream: p, Planner: &video.Router{Rand: func() float64 { return 0 }},
		Catalog: func() *catalog.Snapshot { return r.snap }}
	c := video.Default(time.Now)
	c.Report = func(what string, _ *video.Job, err error) { t.Logf("%s: %v", what, err) }
	for _, f := range change {
		f(&d, &c)
	}
	r.Service = video.New(d, c)
	return r
}

func (r *rig) submit() (*video.Job, error) { return r.submitAs("usr_1") }

func (r *rig) submitAs(user string) (*video.Job, error) {
	return r.Submit(context.Background(), &video.Submit{Caller: &apikey.Caller{User: user, Wallet: "wal_1"}, Generation: "gen-1", Catalog: r.snap,
		Request: &video.Request{Model: "v/plain", Prompt: "p"}})
}

func (r *rig) mustSubmit() *video.Job {
	r.t.Helper()
	j, err := r.submit()
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// within runs the service for so long, and closes it.
func (r *rig) within(d time.Duration) video.Job {
	r.t.Helper()
	r.Start()
	time.Sleep(d) // of the bubble's own time
	synctest.Wait()
	r.Close(context.Background())
	return r.store.one()
}

func TestStartedServiceCompletesJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		r := newRig(t, &provider{poll: func(*video.Job) (video.Progress, error) {
			if polls++; polls < 4 {
				return video.Progress{State: video.InProgress, Percent: 50}, nil
			}
			return done, nil
		}})
		r.mustSubmit()
		j := r.within(2 * time.Minute)
		if j.State != video.Completed || polls != 4 || j.CompletedAt.Sub(j.CreatedAt) > time.Minute {
			t.Errorf("%s after %d polls and %s", j.State, polls, j.CompletedAt.Sub(j.CreatedAt))
		}
		if _, err := r.submit(); !fault.Is(err, fault.Draining) {
			t.Errorf("a job of a service that was closed: %v", err)
		}
	})
}

// The pauses grow from the first to the most, unless the provider says how long.
func TestPollsBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, 2 * time.Minute, time.Hour} {
			var at []time.Time
			r := newRig(t, &provider{poll: func(*video.Job) (video.Progress, error) {
				at = append(at, time.Now())
				return video.Progress{State: video.Pending, Wait: wait}, nil
			}})
			r.mustSubmit()
			r.within(20 * time.Minute)
			first, last := at[1].Sub(at[0]), at[len(at)-1].Sub(at[len(at)-2])
			least, most := 5*time.Second, 30*time.Second
			if wait > 0 { // an hour is more than anybody may ask for
				least, most = min(wait, 5*time.Minute), min(wait, 5*time.Minute)
			}
			if first < least || last < most || first > last || last > most+time.Second {
				t.Errorf("a provider that asks for %s is polled after %s at first, and %s at last", wait, first, last)
			}
		}
	})
}

// Closing breaks off what takes too long, and leaves in the store that a provider may have the job.
func TestCloseBreaksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &provider{submit: func(ctx context.Context, _ *video.Submission) (video.Accepted, error) {
			<-ctx.Done()
			return video.Accepted{}, fault.New(fault.Canceled, "x", "gone")
		}})
		r.mustSubmit()
		r.Start()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		r.Close(ctx)
		if j := r.store.one(); j.State != video.Pending || !j.Submitting || time.Since(began) != 3*time.Second {
			t.Errorf("%s, submitting %t, after %s", j.State, j.Submitting, time.Since(began))
		}
	})
}

// A node that was taken for dead starts again: what it did is broken off, and continued with the store's state.
func TestNewLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, found := 0, 0
		r := newRig(t, &provider{
			submit: func(ctx context.Context, _ *video.Submission) (video.Accepted, error) {
				asked++
				<-ctx.Done()
				return video.Accepted{}, fault.New(fault.Canceled, "x", "gone")
			},
			recover: func(s *video.Submission) (video.Recovered, error) {
				found++
				if s.Token == "" || s.Request.Prompt != "p" {
					t.Errorf("%+v", s)
				}
				return video.Recovered{Fate: video.Adopted, Accepted: video.Accepted{ID: "up-9"}}, nil
			},
		})
		r.mustSubmit()
		r.Start()
		synctest.Wait()
		r.member.die()
		time.Sleep(time.Minute)
		synctest.Wait()
		r.Close(context.Background())
		if j := r.store.one(); j.State != video.Completed || j.UpstreamID != "up-9" || asked != 1 || found != 1 {
			t.Errorf("%s, %q: asked %d times, found %d times", j.State, j.UpstreamID, asked, found)
		}
	})
}

func TestPanicsAreMet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		panics := 0
		r := newRig(t, &provider{poll: func(*video.Job) (video.Progress, error) {
			if panics++; panics < 3 {
				panic("a bug")
			}
			return done, nil
		}})
		r.mustSubmit()
		if j := r.within(5 * time.Minute); j.State != video.Completed || panics != 3 {
			t.Errorf("%s after %d", j.State, panics)
		}
	})
}

// While the store is away the answer of a provider is kept in memory, and written when it is back.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	gone := fault.New(fault.StorageUnavailable, "memory", "away")
	for _, when := range []string{"before it is done", "after it is done"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked, failures := 0, 0
				r := newRig(t, &provider{submit: func(context.Context, *video.Submission) (video.Accepted, error) {
					asked++
					return video.Accepted{ID: "up-1"}, nil
				}})
				r.store.away = func(string) (before, after error) {
					if failures++; failures%5 == 0 {
						return nil, nil
					}
					if when == "before it is done" {
						return gone, nil
					}
					return nil, gone
				}
				var err error
				for failures < 5 { // a client that tries again
					if _, err = r.submit(); err == nil || when == "after it is done" {
						break
					}
				}
				if err != nil {
					t.Fatalf("a job that was kept is refused: %v", err)
				}
				if j := r.within(5 * time.Minute); j.State != video.Completed || asked != 1 || len(r.store.jobs) != 1 {
					t.Errorf("%s, asked %d times", j.State, asked)
				}
			})
		})
	}
}

// silent is a store that does not answer when it is asked to forget jobs.
type silent struct{ *memory }

func (silent) SweepJobs(ctx context.Context, _ time.Time, _ int) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// A store that takes too long to forget jobs is reported. One that is broken off by the end of the node is not.
func TestSlowSweepIsReported(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"slow": false, "the node ends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var reports []string
				r := newRig(t, &provider{}, func(d *video.Deps, c *video.Config) {
					d.Store = silent{newMemory()}
					c.Report = func(what string, _ *video.Job, _ error) { reports = append(reports, what) }
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if ends {
					cancel()
				}
				r.Sweep(ctx)
				if ends != (len(reports) == 0) {
					t.Errorf("%q", reports)
				}
			})
		})
	}
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under, most := 0, 0
		r := newRig(t, &provider{poll: func(*video.Job) (video.Progress, error) {
			mu.Lock()
			under++
			most = max(most, under)
			mu.Unlock()
			time.Sleep(20 * time.Second)
			mu.Lock()
			under--
			mu.Unlock()
			return done, nil
		}}, func(_ *video.Deps, c *video.Config) { c.AtOnce, c.Limit = 2, 9 })
		for range 5 {
			r.mustSubmit()
		}
		r.within(10 * time.Minute)
		for _, j := range r.store.jobs {
			if j.State != video.Completed {
				t.Errorf("%s is %s", j.ID, j.State)
			}
		}
		if most != 2 {
			t.Errorf("%d at once", most)
		}
	})
}

// fullStore is a blob store that may have no room.
type fullStore struct {
	video.Contents
	full bool
	mu   sync.Mutex
	kept map[string]string
}

func (s *fullStore) Put(_ context.Context, key, _ string, r io.Reader) (int64, string, error) {
	if s.full {
		return 0, "", fault.New(fault.StorageUnavailable, "shelf", "full")
	}
	b, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[key] = string(b)
	return int64(len(b)), "e", err
}

func (s *fullStore) Open(_ context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error) {
	return nil, blob.Info{}, blob.NotFound("shelf")
}

func (s *fullStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, key)
	return nil
}

func (s *fullStore) Sweep(context.Context, time.Time, int) (int, error) { return 0, nil }
func (s *fullStore) Ready(context.Context) error                        { return nil }

// A video that cannot be copied stays with its provider: the client gets what he pays for all the same.
func TestCopies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		full   bool
		size   int64 // that the provider reports
		opened error
		kept   int
	}{
		"kept":                    {size: 5, kept: 1},
		"of unknown size":         {size: -1, kept: 1},
		"no room":                 {size: 5, full: true},
		"cut short":               {size: 99},
		"the provider has it not": {opened: errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &fullStore{full: c.full, kept: map[string]string{}}
				opens := 0
				r := newRig(t, &provider{open: func() (*video.Content, error) {
					opens++
					if c.opened != nil {
						return nil, c.opened
					}
					return &video.Content{Body: io.NopCloser(strings.NewReader("movie")), Size: c.size, Length: c.size}, nil
				}}, func(d *video.Deps, _ *video.Config) { d.Contents = s })
				r.mustSubmit()
				j := r.within(20 * time.Minute)
				if j.State != video.Completed || len(s.kept) != c.kept || (j.Outputs[0].Kept != "") != (c.kept > 0) {
					t.Fatalf("%s, %+v, %v", j.State, j.Outputs, s.kept)
				}
				if c.kept == 0 && opens != 5 {
					t.Errorf("it was tried %d times", opens)
				}
				if c.kept > 0 { // and then the file is lost
					if _, _, err := r.Open(t.Context(), "usr_1", j.ID, 0, ""); !fault.Is(err, fault.ProviderUnavailable) {
						t.Errorf("%v", err)
					}
				}
			})
		})
	}
}

// A look that brings the provider's verdict, or a video that is none, ends the job at once: it costs nothing, and has the provider's words.
func TestEndedWithoutAVideo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		progress video.Progress
		err      error
		want     string
	}{
		"no file":               {progress: video.Progress{State: video.Completed}, want: "The provider made no video."},
		"failed":                {progress: video.Progress{State: video.Failed, Failure: fault.New(fault.ProviderUnavailable, "p", "No GPU.")}, want: "No GPU."},
		"refused when polled":   {err: fault.New(fault.ContentPolicy, "p", "Not this."), want: "Not this."},
		"expired at the source": {progress: video.Progress{State: video.Expired}, want: "The provider made no video."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				polls := 0
				r := newRig(t, &provider{poll: func(*video.Job) (video.Progress, error) { polls++; return c.progress, c.err }})
				r.mustSubmit()
				j := r.within(20 * time.Minute)
				if j.State != video.Failed || j.Error != c.want || j.Cost != 0 || j.Ended == video.Settled || polls != 1 {
					t.Errorf("%s: %q, cost %s, %v, polled %d times", j.State, j.Error, j.Cost, j.Ended, polls)
				}
			})
		})
	}
}

// A video that its provider reports and does not have fails its job, which costs nothing. Of several, those that exist are charged for.
func TestAbsentContent(t *testing.T) {
	t.Parallel()
	for name, have := range map[string]int{"none": 0, "one of two": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				two := video.Progress{State: video.Completed, Outputs: []video.Output{{URL: "https://one.test/a.mp4"}, {URL: "https://one.test/b.mp4"}}}
				left := have
				r := newRig(t, &provider{poll: func(*video.Job) (video.Progress, error) { return two, nil }, open: func() (*video.Content, error) {
					if left--; left < 0 {
						return nil, &fault.Error{Kind: fault.ProviderUnavailable, Upstream: &fault.Upstream{Status: 404}}
					}
					return &video.Content{Body: io.NopCloser(strings.NewReader("movie")), Size: 5, Length: 5}, nil
				}}, func(d *video.Deps, _ *video.Config) { d.Contents = &fullStore{kept: map[string]string{}} })
				r.mustSubmit()
				j := r.within(20 * time.Minute)
				if want := map[bool]video.State{true: video.Completed, false: video.Failed}[have > 0]; j.State != want || (j.Ended == video.Settled) != (have > 0) || (j.Cost > 0) != (have > 0) {
					t.Errorf("%s, %v, cost %s", j.State, j.Ended, j.Cost)
				}
			})
		})
	}
}

// The store takes a job's end, and its answer is lost: what was copied belongs to the job. When another has the job, it does not.
func TestCopiesAfterAnUnreportedEnd(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := &fullStore{kept: map[string]string{}}
			r := newRig(t, &provider{open: func() (*video.Content, error) {
				return &video.Content{Body: io.NopCloser(strings.NewReader("movie")), Size: 5, Length: 5}, nil
			}}, func(d *video.Deps, _ *video.Config) { d.Contents = s })
			ends := 0
			r.store.away = func(what string) (before, after error) {
				if what != "end" {
					return nil, nil
				}
				if ends++; ends > 1 {
					return nil, nil
				}
				if lost {
					return nil, fault.New(fault.StorageUnavailable, "memory", "away")
				}
				for _, j := range r.store.jobs {
					j.Fence, j.State, j.Outputs, j.DueAt = j.Fence+1, video.Cancelled, nil, time.Time{}
				}
				return nil, nil
			}
			r.mustSubmit()
			j := r.within(5 * time.Minute)
			if lost && (j.State != video.Completed || len(s.kept) != 1 || s.kept[j.Outputs[0].Kept] != "movie") || !lost && len(s.kept) != 0 {
				t.Errorf("lost %t: %s, %+v, %v", lost, j.State, j.Outputs, s.kept)
			}
		})
	}
}

// Slow copies keep no job from being polled, and those of one user leave places to the others.
func TestSlowCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fullStore{kept: map[string]string{}}
		var mu sync.Mutex
		under, most, polls := 0, 0, 0
		r := newRig(t, &provider{
			poll: func(j *video.Job) (video.Progress, error) {
				if j.User == "usr_3" {
					mu.Lock()
					defer mu.Unlock()
					polls++
					return video.Progress{State: video.InProgress}, nil
				}
				return done, nil
			},
			openFor: func(j *video.Job) {
				if j.User != "usr_1" {
					return
				}
				mu.Lock()
				under++
				most = max(most, under)
				mu.Unlock()
				time.Sleep(10 * time.Minute)
				mu.Lock()
				under--
				mu.Unlock()
			},
			open: func() (*video.Content, error) {
				return &video.Content{Body: io.NopCloser(strings.NewReader("movie")), Size: 5, Length: 5}, nil
			},
		}, func(d *video.Deps, c *video.Config) { d.Contents, c.AtOnce, c.Copies, c.Limit = s, 1, 2, 99 })
		for range 20 { // of which fifteen rest
			r.mustSubmit()
		}
		r.Start()
		time.Sleep(2 * time.Minute)
		var quick []*video.Job
		for _, user := range []string{"usr_2", "usr_2", "usr_3"} {
			j, err := r.submitAs(user)
			if err != nil {
				t.Fatal(err)
			}
			quick = append(quick, j)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for _, j := range quick[:2] {
			if got, err := r.Get(context.Background(), j.User, j.ID); err != nil || got.State != video.Completed {
				t.Errorf("%+v, %v", got, err)
			}
		}
		mu.Lock()
		if most != 1 || polls < 4 {
			t.Errorf("one user copied %d at a time; a job was looked after %d times", most, polls)
		}
		mu.Unlock()
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		r.Close(context.Background())
		for _, j := range r.store.jobs {
			if j.User == "usr_1" && (j.State != video.Completed && j.State != video.Expired || j.Outputs != nil && j.Outputs[0].Kept == "") {
				t.Errorf("%s: %+v", j.State, j.Outputs)
			}
		}
		if len(s.kept) < 2 {
			t.Errorf("%d are kept", len(s.kept))
		}
	})
}

// A job that waited long is searched for from the moment at which its provider was asked, which the store has before the request leaves. A list that
// does not have it is believed a minute later, and even then no other provider is asked, since the provider did answer something.
func TestSearchBeginsAtTheSubmission(t *testing.T) {
	t.Parallel()
	for _, found := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var r *rig
			var asked, searched []time.Time
			r = newRig(t, &provider{
				submit: func(_ context.Context, s *video.Submission) (video.Accepted, error) {
					asked = append(asked, time.Now())
					if kept := r.store.one(); !kept.Submitting || time.Until(kept.AskedAt).Abs() > time.Millisecond || !s.At.Equal(kept.AskedAt) {
						t.Errorf("the store has %s, it is %s", kept.AskedAt, time.Now())
					}
					e := fault.New(fault.ProviderUnavailable, "x", "A heron cannot be made.")
					e.Upstream = &fault.Upstream{Status: 500, Request: "req_7"}
					if len(asked) == 1 {
						e.Kind, e.Upstream.Status, e.RetryAfter = fault.RateLimited, 429, 4*time.Minute
					}
					return video.Accepted{}, e
				},
				recover: func(s *video.Submission) (video.Recovered, error) {
					searched = append(searched, s.At)
					if found && len(searched) == 3 {
						return video.Recovered{Fate: video.Absent, Alike: []string{"up-1"}}, nil
					}
					return video.Recovered{Fate: video.Absent}, nil
				},
			})
			r.mustSubmit()
			j := r.within(10 * time.Minute)
			if len(asked) != 2 || asked[1].Sub(j.CreatedAt) < 4*time.Minute || len(searched) < 3 || searched[0].Sub(asked[1]).Abs() > time.Millisecond {
				t.Errorf("asked %v, searched from %v", asked, searched)
			}
			want := map[bool]video.State{true: video.Completed, false: video.Failed}[found]
			if j.State != want || !found && j.CompletedAt.Sub(asked[1]) < time.Minute {
				t.Errorf("%s, %s after the submission", j.State, j.CompletedAt.Sub(asked[1]))
			}
			if !found && (!strings.Contains(j.Doubt, `status 500, request "req_7"`) || strings.Contains(j.Doubt, "heron")) {
				t.Errorf("what is noted: %s", j.Doubt)
			}
		})
	}
}
