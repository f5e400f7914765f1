package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/internal/blob"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/video"
)

var errDead = &fault.Error{Kind: fault.StorageUnavailable, Op: "storetest", Public: "this process has died"}

// killableStore is a process that dies before or after one of its acts on the world, and does nothing more.
type killableStore struct {
	video.Store
	video.Upstream
	*files
	mu     sync.Mutex
	acts   int
	at     int
	after  bool
	dead   bool
	cancel context.CancelFunc
}

func (m *killableStore) act(do func() error) error {
	m.mu.Lock()
	m.acts++
	mine := m.acts == m.at
	if m.dead || mine && !m.after {
		m.die()
		m.mu.Unlock()
		return errDead
	}
	m.mu.Unlock()
	err := do()
	if mine {
		m.mu.Lock()
		m.die()
		m.mu.Unlock()
		return errDead
	}
	return err
}

// gone reports whether the process is dead. Its background work may still be dying.
func (m *killableStore) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *killableStore) die() {
	m.dead = true
	m.cancel()
}

func (m *killableStore) AddJob(ctx context.Context, j *video.Job, from ledger.Handover, limit int) error {
	return m.act(func() error { return m.Store.AddJob(ctx, j, from, limit) })
}

func (m *killableStore) AcceptJob(ctx context.Context, id string, due time.Time) error {
	return m.act(func() error { return m.Store.AcceptJob(ctx, id, due) })
}

func (m *killableStore) Job(ctx context.Context, user, id string) (j *video.Job, err error) {
	if m.gone() {
		return nil, errDead
	}
	return m.Store.Job(ctx, user, id)
}

func (m *killableStore) ClaimJobs(ctx context.Context, node string, epoch int64, now time.Time, n int) (all []*video.Job, err error) {
	err = m.act(func() error { all, err = m.Store.ClaimJobs(ctx, node, epoch, now, n); return err })
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (m *killableStore) KeepJob(ctx context.Context, j *video.Job, release bool) error {
	return m.act(func() error { return m.Store.KeepJob(ctx, j, release) })
}

func (m *killableStore) AdoptJob(ctx context.Context, j *video.Job) error {
	return m.act(func() error { return m.Store.AdoptJob(ctx, j) })
}

func (m *killableStore) EndJob(ctx context.Context, j *video.Job, end video.End) error {
	return m.act(func() error { return m.Store.EndJob(ctx, j, end) })
}

func (m *killableStore) Submit(ctx context.Context, ep *catalog.Endpoint, s *video.Submission) (a video.Accepted, err error) {
	err = m.act(func() error { a, err = m.Upstream.Submit(ctx, ep, s); return err })
	return a, err
}

func (m *killableStore) Poll(ctx context.Context, ep *catalog.Endpoint, j *video.Job) (p video.Progress, err error) {
	err = m.act(func() error { p, err = m.Upstream.Poll(ctx, ep, j); return err })
	return p, err
}

func (m *killableStore) Put(ctx context.Context, key, mediaType string, r io.Reader) (n int64, etag string, err error) {
	err = m.act(func() error { n, etag, err = m.files.Put(ctx, key, mediaType, r); return err })
	return n, etag, err
}

func (m *killableStore) Open(ctx context.Context, ep *catalog.Endpoint, j *video.Job, o *video.Output, r *video.Range) (*video.Content, error) {
	return m.Upstream.Open(ctx, ep, j, o, r)
}

// deathAtEveryStep kills a process before and after each of its acts, in turn, and has another life of it, or another node, go on.
func deathAtEveryStep(t *testing.T, s *studio, kind memory, takeover bool, series int) {
	dir := filepath.Join(t.TempDir(), "journal")
	other := s.node()
	for at := 1 + series%every(deaths); ; at += every(deaths) {
		lived := true
		for _, after := range []bool{false, true} {
			s.provider = newProvider()
			s.provider.memory, s.provider.series = kind, fmt.Sprint(at, after, "-")
			lived = s.oneDeath(dir, other, at, after, takeover) && lived
		}
		if lived {
			if at < 10 {
				t.Fatalf("a whole job took only %d acts", at)
			}
			return
		}
	}
}

// oneDeath reports whether the process lived to see the job's end.
func (s *studio) oneDeath(dir string, other *ledger.Book, at int, after, takeover bool) (lived bool) {
	t := s.t
	t.Helper()
	c, f := s.user(100*ruble), newFiles()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	m := &killableStore{Store: s.store.Jobs, Upstream: s.provider, files: f, at: at, after: after, cancel: cancel}
	book := s.start(s.config(dir))
	k := s.crew(book, func(d *video.Deps, _ *video.Config) { d.Store, d.Upstream, d.Contents = m, m, contents{m} })
	in := s.newVideo(c, "v/film")
	_, err := k.Submit(ctx, in)
	for range 20 {
		if m.gone() || err != nil {
			break
		}
		s.clock.Advance(31 * time.Second)
		if jobs := must(s.store.Jobs.Jobs(s.ctx, video.Query{User: c.User, Limit: 1})); len(jobs) == 1 && !jobs[0].Active() {
			break
		}
		_, err = k.Step(ctx)
	}
	lived = !m.gone()
	if err := book.Abandon(); err != nil {
		t.Fatal(err)
	}
	next := other
	if takeover && !lived {
		s.evicted(other)
	} else {
		next = s.start(s.config(dir))
		defer func() { _ = next.Abandon() }()
	}
	heir := s.crew(next, withFiles(f))
	jobs := must(s.store.Jobs.Jobs(s.ctx, video.Query{User: c.User, Limit: 5}))
	what := fmt.Sprintf("act %d, after %t", at, after)
	if len(jobs) == 0 { // it died before there was one, or before its client can have received it
		s.balanced()
		for range 3 {
			heir.step(31 * time.Second)
		}
		asks, _ := s.provider.asksAndJobs()
		if reported := s.reported(c.User); asks != 0 || len(reported) != 0 || !m.gone() || err != nil && !errors.Is(err, errDead) {
			t.Fatalf("%s: no job, and %d submissions, %q, %v", what, asks, reported, err)
		}
		s.balanced()
		s.wantBalance(s.store.Ledger, c.Wallet, 100*ruble, 0, 0)
		return lived
	}
	j := &jobs[0]
	for range 30 {
		if j = heir.job(j); !j.Active() {
			break
		}
		heir.step(31 * time.Second)
	}
	s.ended(j)
	asks, made := s.provider.asksAndJobs()
	switch {
	case made > 1 || asks > 1 && s.provider.memory == forgetful:
		t.Fatalf("%s: %d submissions made %d jobs", what, asks, made)
	case j.State == video.Completed && j.Cost == 8*ruble && j.Ended == video.Settled:
		s.wantBalance(s.store.Ledger, c.Wallet, 100*ruble, 8*ruble, 0)
		if k := j.Outputs[0].Kept; !slices.Contains(f.keys(), k) {
			t.Fatalf("%s: %q is not among %q", what, k, f.keys())
		}
	case j.State == video.Failed && s.provider.memory == forgetful && j.UpstreamID == "":
		s.wantBalance(s.store.Ledger, c.Wallet, 100*ruble, 0, 0)
	default:
		t.Fatalf("%s: %+v", what, j)
	}
	if reported := s.reported(c.User); len(reported) != 1 || reported[0] != j.ID+"-"+string(j.State) {
		t.Fatalf("%s: %q", what, reported)
	}
	return lived
}

// contents is the blob store of a killableStore.
type contents struct{ *killableStore }

func (c contents) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error) {
	return c.files.Open(ctx, key, offset, length)
}
