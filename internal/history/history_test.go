package history_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/history"
)

// memory is a store in memory.
type memory struct {
	mu    sync.Mutex
	kept  map[string]history.Response
	items map[string]string
	err   error
	swept int
	wrote int           // transactions of KeepResponses
	slow  time.Duration // what CarryResponses takes

	refused string // the response that the store can never take

	events []audit.Event
}

func newMemory() *memory {
	return &memory{kept: map[string]history.Response{}, items: map[string]string{}}
}

func (s *memory) Response(_ context.Context, account, id string, now time.Time) (*history.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	r, ok := s.kept[account+id]
	if !ok || !r.ExpiresAt.After(now) {
		return nil, fault.New(fault.NotFound, "memory", "No.")
	}
	return &r, nil
}

func (s *memory) ResponseChain(ctx context.Context, account, id string, now time.Time, n int, most int64) (list []history.Response, err error) {
	for id != "" && len(list) < n {
		r, err := s.Response(ctx, account, id, now)
		if fault.Is(err, fault.NotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		if most -= int64(r.Size()); most < 0 {
			return nil, fault.New(fault.ContextLength, "memory", "Too long.")
		}
		list, id = append([]history.Response{*r}, list...), r.Parent
	}
	return list, nil
}

func (s *memory) ResponseOfItem(ctx context.Context, account, item string, now time.Time) (*history.Response, error) {
	s.mu.Lock()
	id := s.items[account+item]
	s.mu.Unlock()
	return s.Response(ctx, account, id, now)
}

func (s *memory) HasResponse(ctx context.Context, account, id string, now time.Time) (bool, error) {
	_, err := s.Response(ctx, account, id, now)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s *memory) KeepResponses(_ context.Context, list []*history.Response) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote++
	if s.err != nil {
		return s.err
	}
	for _, r := range list {
		if s.refused != "" && r.ID == s.refused {
			return fault.New(fault.Unprocessable, "memory", "Not that one.")
		}
	}
	for _, r := range list {
		if old, ok := s.kept[r.Account+r.ID]; ok && old.Status.Final() {
			continue
		}
		s.kept[r.Account+r.ID] = *r
		for _, item := range r.Items {
			s.items[r.Account+item] = r.ID
		}
	}
	return nil
}

func (s *memory) MarkResponse(_ context.Context, account, id string, status history.Status, staleAt time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.kept[account+id]
	if s.err != nil || !ok || r.Status.Final() {
		return false, s.err
	}
	r.Status, r.StaleAt = status, staleAt
	s.kept[account+id] = r
	return true, nil
}

func (s *memory) CarryResponses(ctx context.Context, list []*history.Response, staleAt time.Time) (there []bool, err error) {
	time.Sleep(s.slow)
	for _, r := range list {
		done, err := s.MarkResponse(ctx, r.Account, r.ID, history.InProgress, staleAt)
		if err != nil {
			return nil, err
		}
		there = append(there, done)
	}
	return there, nil
}

func (s *memory) DeleteResponse(_ context.Context, account, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.kept[account+id]
	delete(s.kept, account+id)
	return ok, s.err
}

func (s *memory) CountResponses(_ context.Context, account string, now time.Time) (stock history.Stock, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.kept {
		if r.Account == account && r.ExpiresAt.After(now) {
			stock.Responses++
		}
	}
	return stock, s.err
}

func (s *memory) DeleteResponses(_ context.Context, account string, n int, _ time.Time, e *audit.Event) (gone int, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range s.kept {
		if r.Account == account && r.Status.Final() && gone < n {
			delete(s.kept, id)
			gone++
		}
	}
	if e != nil {
		s.events = append(s.events, *e)
	}
	return gone, s.err
}

func (s *memory) ShortenResponses(_ context.Context, account string, keepFor time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range s.kept {
		if at := r.CreatedAt.Add(keepFor); r.Account == account && r.ExpiresAt.After(at) {
			r.ExpiresAt = at
			s.kept[id] = r
		}
	}
	return s.err
}

func (s *memory) SweepResponses(context.Context, time.Time, history.Bounds, int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept++
	return map[bool]int{true: 200}[s.swept == 1], s.err
}

func (s *memory) sweeps() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.swept
}

func (s *memory) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// manager gives a running Manager in a synctest bubble.
func manager(t *testing.T, s *memory, edit func(*history.Config)) *history.Manager {
	t.Helper()
	c := history.Default(time.Now)
	c.KeepFor, c.MaxRuns, c.MaxChain = time.Hour, 2, 5
	if edit != nil {
		edit(&c)
	}
	m := history.New(s, c)
	m.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		m.Close(ctx)
	})
	return m
}

func queued(id string) history.Response {
	return history.Response{Account: "usr_1", ID: id, Status: history.Queued, Background: true, CreatedAt: time.Now()}
}

func final(id, parent string) *history.Response {
	return &history.Response{Account: "usr_1", ID: id, Parent: parent, Status: history.Completed, CreatedAt: time.Now()}
}

func status(t *testing.T, m *history.Manager, id string) history.Status {
	t.Helper()
	r, err := m.Find(t.Context(), "usr_1", id)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%v, want %v", err, kind)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manager(t, newMemory(), nil)
		run, err := m.Begin(t.Context(), queued("resp_1"))
		if err != nil || status(t, m, "resp_1") != history.Queued {
			t.Fatal(err, status(t, m, "resp_1"))
		}
		run.Started()
		if got := status(t, m, "resp_1"); got != history.InProgress {
			t.Error(got)
		}
		time.Sleep(10 * time.Minute) // its node says all the time that it carries it
		if got := status(t, m, "resp_1"); got != history.InProgress {
			t.Error(got)
		}
		_, err = m.Chain(t.Context(), "usr_1", "resp_1")
		wantKind(t, err, fault.PreviousNotFound)
		run.End(history.Answer{Status: history.Completed, Object: []byte("{}"), Output: []byte(`{"id":"msg_1"}`), Items: []string{"msg_1"}})
		r, err := m.OfItem(t.Context(), "usr_1", "msg_1")
		if err != nil || r.Status != history.Completed || string(r.Output) != `{"id":"msg_1"}` || !r.ExpiresAt.Equal(r.CreatedAt.Add(time.Hour)) {
			t.Errorf("%+v %v", r, err)
		}
		if list, err := m.Chain(t.Context(), "usr_1", "resp_1"); err != nil || len(list) != 1 {
			t.Errorf("%v %v", list, err)
		}
	})
}

// Whatever becomes of the work, its run ends and what it came to is kept.
func TestCarry(t *testing.T) {
	t.Parallel()
	answered := history.Answer{Status: history.Incomplete, Object: []byte("whole"), Output: []byte(`{"id":"msg_1"}`), Items: []string{"msg_1"}}
	broken := fault.New(fault.ProviderUnavailable, "test", "")
	for name, c := range map[string]struct {
		answer bool
		err    error
		panics bool
		cancel bool
		status history.Status
		object string
	}{
		"answered":              {answer: true, status: history.Incomplete, object: "whole"},
		"answered, then failed": {answer: true, err: broken, status: history.Incomplete, object: "whole"},
		"failed":                {err: broken, status: history.Failed, object: broken.Kind.String()},
		"panicked":              {panics: true, status: history.Failed, object: fault.Internal.String()},
		"answered and panicked": {answer: true, panics: true, status: history.Incomplete, object: "whole"},
		"cancelled meanwhile":   {answer: true, cancel: true, status: history.Cancelled, object: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := manager(t, newMemory(), nil)
				queued := queued("resp_1")
				queued.Object = []byte("{}")
				run, err := m.Begin(t.Context(), queued)
				if err != nil {
					t.Fatal(err)
				}
				panicked := func() (panicked bool) {
					defer func() { panicked = recover() != nil }()
					got := run.Carry(func(ctx context.Context) error {
						if got := status(t, m, "resp_1"); got != history.InProgress {
							t.Error(got)
						}
						if c.answer {
							run.Answer(answered)
						}
						if c.cancel {
							go func() { _, _ = m.Cancel(context.Background(), "usr_1", "resp_1") }()
							<-ctx.Done()
						}
						if c.panics {
							panic("on purpose")
						}
						return c.err
					}, func(err error) []byte { return []byte(fault.From(err).Kind.String()) })
					if !errors.Is(got, c.err) {
						t.Error(got)
					}
					return false
				}()
				synctest.Wait()
				r, err := m.Find(t.Context(), "usr_1", "resp_1")
				if err != nil || r.Status != c.status || string(r.Object) != c.object || panicked != c.panics {
					t.Errorf("%+v, panicked %v, %v", r, panicked, err)
				}
				for i := range 2 { // its place is free again: an account has two
					next := history.Response{Account: "usr_1", ID: "resp_" + string(rune('2'+i)), CreatedAt: time.Now()}
					if run, err := m.Begin(t.Context(), next); err != nil {
						t.Error(err)
					} else {
						defer run.End(history.Answer{Status: history.Completed})
					}
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m, elsewhere := manager(t, s, nil), manager(t, s, nil)
		for i, ask := range []*history.Manager{m, elsewhere} { // on the node that carries it, and on another
			id := []string{"resp_1", "resp_2"}[i]
			run, err := m.Begin(t.Context(), queued(id))
			if err != nil {
				t.Fatal(err)
			}
			run.Started()
			for range 2 {
				if r, err := ask.Cancel(t.Context(), "usr_1", id); err != nil || r.Status != history.Cancelled {
					t.Fatal(r, err)
				}
			}
			<-run.Context().Done()
			var f *fault.Error
			if !errors.As(context.Cause(run.Context()), &f) || f.Kind != fault.Canceled {
				t.Error(context.Cause(run.Context()))
			}
			run.End(history.Answer{Status: history.Completed, Object: []byte("late")})
			if r, _ := m.Find(t.Context(), "usr_1", id); r.Status != history.Cancelled || string(r.Object) == "late" {
				t.Errorf("%+v", r)
			}
		}
		m.Keep(final("resp_3", ""))
		_, err := m.Cancel(t.Context(), "usr_1", "resp_3")
		wantKind(t, err, fault.Invalid)
		_, err = m.Cancel(t.Context(), "usr_2", "resp_1")
		wantKind(t, err, fault.NotFound)
	})
}

// A response whose node has died is failed, and not under way for ever.
func TestLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := manager(t, s, nil)
		r := queued("resp_1")
		r.ExpiresAt, r.StaleAt = time.Now().Add(time.Hour), time.Now().Add(30*time.Second)
		if err := s.KeepResponses(t.Context(), []*history.Response{&r}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		if got := status(t, m, "resp_1"); got != history.Queued {
			t.Error(got)
		}
		time.Sleep(2 * time.Second)
		if got := status(t, m, "resp_1"); got != history.Failed {
			t.Error(got)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manager(t, newMemory(), nil)
		var runs []*history.Run
		for _, id := range []string{"resp_1", "resp_2"} {
			run, err := m.Begin(t.Context(), queued(id))
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
		}
		_, err := m.Begin(t.Context(), queued("resp_3"))
		wantKind(t, err, fault.RateLimited)
		runs[0].End(history.Answer{Status: history.Failed})
		again, err := m.Begin(t.Context(), queued("resp_3"))
		if err != nil {
			t.Fatal(err)
		}
		again.End(history.Answer{Status: history.Completed})
		runs[1].End(history.Answer{Status: history.Completed})
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := history.New(s, history.Default(time.Now))
		m.Start()
		for _, id := range []string{"resp_quick", "resp_slow"} {
			run, err := m.Begin(t.Context(), queued(id))
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				var f *fault.Error
				select {
				case <-run.Context().Done():
					errors.As(context.Cause(run.Context()), &f)
					run.End(history.Answer{Status: history.Failed, Object: []byte(f.Kind.String())})
				case <-time.After(map[string]time.Duration{"resp_quick": time.Second, "resp_slow": time.Hour}[id]):
					run.End(history.Answer{Status: history.Completed})
				}
			}()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		m.Close(ctx)
		if quick, slow := s.kept["usr_1resp_quick"], s.kept["usr_1resp_slow"]; quick.Status != history.Completed || slow.Status != history.Failed || string(slow.Object) != "draining" {
			t.Errorf("%+v %+v", quick, slow)
		}
		_, err := m.Begin(t.Context(), queued("resp_late"))
		wantKind(t, err, fault.Draining)
	})
}

// TestManyRunsOnASlowStore has a node carry more responses than the store could mark one by one before they count as given up.
func TestManyRunsOnASlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		s.slow = 4 * time.Second
		m := manager(t, s, func(c *history.Config) { c.MaxRuns = 600 })
		var runs []*history.Run
		for i := range 600 {
			run, err := m.Begin(t.Context(), queued(fmt.Sprintf("resp_%d", i)))
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
		}
		for range 10 {
			time.Sleep(10 * time.Second)
			for i, run := range runs {
				if got := status(t, m, fmt.Sprintf("resp_%d", i)); got.Final() || run.Context().Err() != nil {
					t.Fatalf("%d is %s, %v", i, got, run.Context().Err())
				}
			}
		}
		for _, run := range runs {
			run.End(history.Answer{Status: history.Completed})
		}
	})
}

func TestChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := manager(t, s, nil)
		parent := ""
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			m.Keep(final(id, parent))
			parent = id
		}
		if list, err := m.Chain(t.Context(), "usr_1", "e"); err != nil || len(list) != 5 || list[0].ID != "a" {
			t.Errorf("%v %v", list, err)
		}
		for _, id := range []string{"f", "none", ""} { // too long, unknown
			_, err := m.Chain(t.Context(), "usr_1", id)
			wantKind(t, err, fault.PreviousNotFound)
		}
		_, err := m.Chain(t.Context(), "usr_2", "e")
		wantKind(t, err, fault.PreviousNotFound)
		if err := m.Delete(t.Context(), "usr_1", "b"); err != nil {
			t.Fatal(err)
		}
		_, err = m.Chain(t.Context(), "usr_1", "e")
		wantKind(t, err, fault.PreviousNotFound)
		wantKind(t, m.Delete(t.Context(), "usr_1", "b"), fault.NotFound)
		time.Sleep(time.Hour)
		_, err = m.Chain(t.Context(), "usr_1", "a")
		wantKind(t, err, fault.PreviousNotFound)
		s.set(fault.New(fault.StorageUnavailable, "memory", "No."))
		_, err = m.Chain(t.Context(), "usr_1", "a")
		wantKind(t, err, fault.StorageUnavailable)
	})
}

// The text of a response is read within a bound, and what is left of a conversation whose beginning was deleted.
func TestText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := manager(t, s, nil)
		parent, bytes := "", int64(0)
		for _, id := range []string{"a", "b", "c"} {
			r := final(id, parent)
			m.Keep(r)
			parent, bytes = id, bytes+int64(r.Size())
		}
		if list, err := m.Text(t.Context(), "usr_1", "c", bytes); err != nil || len(list) != 3 || list[0].ID != "a" || list[2].ID != "c" {
			t.Errorf("%v %v", list, err)
		}
		_, err := m.Text(t.Context(), "usr_1", "c", bytes-1)
		wantKind(t, err, fault.PayloadTooLarge)
		for _, c := range [][2]string{{"usr_1", "none"}, {"usr_1", ""}, {"usr_2", "c"}} {
			_, err := m.Text(t.Context(), c[0], c[1], bytes)
			wantKind(t, err, fault.NotFound)
		}
		if err := m.Delete(t.Context(), "usr_1", "a"); err != nil {
			t.Fatal(err)
		}
		if list, err := m.Text(t.Context(), "usr_1", "c", bytes); err != nil || len(list) != 2 || list[0].Parent != "a" {
			t.Errorf("%v %v", list, err)
		}
		time.Sleep(time.Hour)
		_, err = m.Text(t.Context(), "usr_1", "c", bytes)
		wantKind(t, err, fault.NotFound)
		s.set(fault.New(fault.StorageUnavailable, "memory", "No."))
		_, err = m.Text(t.Context(), "usr_1", "c", bytes)
		wantKind(t, err, fault.StorageUnavailable)
	})
}

func TestKeeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		off := manager(t, newMemory(), func(c *history.Config) { c.KeepFor = 0 })
		if store, err := off.Stores(history.Wish{Asked: true, Bytes: 1}); store || err != nil {
			t.Error("stored although nothing is", err)
		}
		_, err := off.Chain(t.Context(), "usr_1", "a")
		wantKind(t, err, fault.PreviousNotFound)
		s := newMemory()
		var reported []string
		on := manager(t, s, func(c *history.Config) {
			c.MaxBytes = 10
			c.Report = func(what string, _ error) { reported = append(reported, what) }
		})
		for _, c := range []struct {
			wish  history.Wish
			store bool
			param string // of the fault, "" none
		}{
			{wish: history.Wish{Bytes: 10}, store: true},
			{wish: history.Wish{Bytes: 11}},
			{wish: history.Wish{Asked: true, Bytes: 11}},
			{wish: history.Wish{Background: true, Bytes: 10}, store: true},
			{wish: history.Wish{Background: true, Bytes: 11}, param: "background"},
			{wish: history.Wish{Forbidden: true}},
			{wish: history.Wish{Forbidden: true, Asked: true}, param: "store"},
			{wish: history.Wish{Forbidden: true, Background: true}, param: "store"},
		} {
			store, err := on.Stores(c.wish)
			if store != c.store || (err != nil) != (c.param != "") || err != nil && fault.From(err).Param != c.param {
				t.Errorf("%+v: %v, %v", c.wish, store, err)
			}
		}
		s.set(errors.New("away"))
		on.Keep(final("resp_1", "")) // must not fail
		time.Sleep(time.Second)
		synctest.Wait()
		if len(reported) != 1 {
			t.Error(reported)
		}
		s.set(nil)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if s.sweeps() != 2 { // the first had more to do
			t.Error(s.sweeps())
		}
	})
}

// An account that has much kept is not left alone until the next regular sweep.
func TestGrowthIsSwept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bounds history.Bounds
		output int
	}{
		"many responses": {history.Bounds{Responses: 30, Bytes: 1 << 30}, 1},
		"many bytes":     {history.Bounds{Responses: 1000, Bytes: 1000}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newMemory()
				s.swept = 1 // a sweep finds little
				m := manager(t, s, func(c2 *history.Config) { c2.Bounds = c.bounds })
				for i := range 3 {
					r := final(fmt.Sprint("resp_", i), "")
					r.Output = make([]byte, c.output)
					m.Keep(r)
				}
				time.Sleep(time.Second) // until they are written
				synctest.Wait()
				if s.sweeps() != 1 {
					t.Fatal("it was swept after a tenth of the bound")
				}
				r := final("resp_x", "")
				r.Output = make([]byte, c.output)
				m.Keep(r)
				synctest.Wait()
				if s.sweeps() != 1 {
					t.Error("a sweep came before what it is for was written")
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if s.sweeps() != 2 {
					t.Error("it was not swept")
				}
			})
		})
	}
}

// Deleting a response ends it.
func TestDeleteUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := manager(t, s, nil)
		run, err := m.Begin(t.Context(), queued("resp_1"))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Delete(t.Context(), "usr_1", "resp_1"); err != nil {
			t.Fatal(err)
		}
		<-run.Context().Done()
		run.End(history.Answer{Status: history.Completed})
		_, err = m.Find(t.Context(), "usr_1", "resp_1")
		wantKind(t, err, fault.NotFound)
	})
}
