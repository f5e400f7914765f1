package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/idempotency"
)

// memory is a store of several nodes.
type memory struct {
	mu   sync.Mutex
	rows map[string]idempotency.Entry
	err  error
}

func (m *memory) BeginIdempotent(_ context.Context, e idempotency.Entry, _ idempotency.Bounds) (*idempotency.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	if old, ok := m.rows[e.User+"\n"+e.Name]; ok && old.ExpiresAt.After(e.CreatedAt) {
		return &old, nil
	}
	if m.rows == nil {
		m.rows = map[string]idempotency.Entry{}
	}
	m.rows[e.User+"\n"+e.Name] = e
	return nil, nil
}

func (m *memory) FinishIdempotent(_ context.Context, user, name, generation string, a idempotency.Answer) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.rows[user+"\n"+name]
	if m.err != nil || !ok || e.Generation != generation || e.Finished {
		return false, m.err
	}
	e.Finished, e.Answer = true, a
	m.rows[user+"\n"+name] = e
	return true, nil
}

func (m *memory) DropIdempotent(_ context.Context, user, name, generation string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.rows[user+"\n"+name]; m.err == nil && ok && e.Generation == generation && !e.Finished {
		delete(m.rows, user+"\n"+name)
	}
	return m.err
}

func (m *memory) SweepIdempotent(_ context.Context, now time.Time, n int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := 0
	for k, e := range m.rows {
		if e.ExpiresAt.Before(now) && gone < n {
			delete(m.rows, k)
			gone++
		}
	}
	return gone, m.err
}

// world is a store, a clock and what was charged.
type world struct {
	store   *memory
	now     time.Time
	charged map[string]bool
	reports atomic.Int64
}

func newWorld() *world {
	return &world{store: &memory{}, now: time.Unix(1_700_000_000, 0), charged: map[string]bool{}}
}

func (w *world) node(node, life string) *idempotency.Manager {
	c := idempotency.Default(func() time.Time { return w.now })
	c.Node, c.Life, c.MaxBytes, c.RunFor = node, life, 100, time.Hour
	c.Settled = func(_ context.Context, wallet, generation string) (bool, error) {
		return w.charged[wallet+generation], nil
	}
	c.Report = func(string, error) { w.reports.Add(1) }
	return idempotency.New(w.store, c)
}

func request(name, body, generation string) idempotency.Request {
	return idempotency.Request{User: "u", Wallet: "w", Name: name, Hash: idempotency.Hash("POST", "/r", []byte(body)), Generation: generation}
}

func begin(t *testing.T, m *idempotency.Manager, r idempotency.Request) *idempotency.Run {
	t.Helper()
	run, kept, err := m.Begin(t.Context(), r)
	if err != nil || run == nil || kept != nil {
		t.Fatalf("Begin: run %v, kept %v, %v; want a run", run, kept, err)
	}
	return run
}

func refused(t *testing.T, m *idempotency.Manager, r idempotency.Request, want fault.Kind) *fault.Error {
	t.Helper()
	run, kept, err := m.Begin(t.Context(), r)
	if run != nil || kept != nil || !fault.Is(err, want) {
		t.Fatalf("Begin: run %v, kept %v, %v; want %s", run, kept, err, want)
	}
	return fault.From(err)
}

func TestFirstAnswerAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	one, two := w.node("a", "1"), w.node("b", "1")
	run := begin(t, one, request("k", "body", "gen-1"))
	if e := refused(t, two, request("k", "body", "gen-2"), fault.IdempotencyInFlight); e.RetryAfter <= 0 {
		t.Errorf("no time to come back: %v", e)
	}
	refused(t, one, request("k", "other", "gen-3"), fault.IdempotencyMismatch)
	run.Keep(idempotency.Answer{Status: 200, Type: "text/plain", Body: []byte("hi")})
	_, kept, err := two.Begin(t.Context(), request("k", "body", "gen-4"))
	if err != nil || kept == nil || kept.Generation != "gen-1" || kept.Answer.Status != 200 || string(kept.Answer.Body) != "hi" {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	refused(t, one, request("k", "other", "gen-5"), fault.IdempotencyMismatch)
	other := request("k", "other", "gen-6")
	other.User = "v"
	begin(t, one, other)
	w.now = w.now.Add(24*time.Hour + 1)
	begin(t, one, request("k", "other", "gen-7")) // forgotten by then
}

func TestFreedNamesStartAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	m := w.node("a", "1")
	old := begin(t, m, request("k", "one", "gen-1"))
	old.Free()
	run := begin(t, m, request("k", "two", "gen-2"))
	old.Keep(idempotency.Answer{Status: 200}) // a run that lost its name changes nothing any more
	refused(t, m, request("k", "two", "gen-3"), fault.IdempotencyInFlight)
	run.Keep(idempotency.Answer{Status: 200, Body: make([]byte, 101)})
	if e := refused(t, m, request("k", "two", "gen-4"), fault.IdempotencyNotKept); !strings.Contains(e.Public, "gen-2") {
		t.Errorf("an answer that was too large: %v", e)
	}
}

func TestDeadRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		again      func(*world) *idempotency.Manager
		wait       time.Duration
		charged    bool
		want       fault.Kind // Internal: a run begins
		afterwards fault.Kind
	}{
		"the same life":                    {func(w *world) *idempotency.Manager { return w.node("a", "1") }, time.Minute, false, fault.IdempotencyInFlight, fault.IdempotencyInFlight},
		"the next life of the node":        {func(w *world) *idempotency.Manager { return w.node("a", "2") }, 0, false, fault.Internal, fault.IdempotencyInFlight},
		"the next life, charged":           {func(w *world) *idempotency.Manager { return w.node("a", "2") }, 0, true, fault.IdempotencyNotKept, fault.IdempotencyNotKept},
		"another node, soon":               {func(w *world) *idempotency.Manager { return w.node("b", "1") }, time.Minute, false, fault.IdempotencyInFlight, fault.IdempotencyInFlight},
		"another node, when it is over":    {func(w *world) *idempotency.Manager { return w.node("b", "1") }, time.Hour, false, fault.Internal, fault.IdempotencyInFlight},
		"another node, over, charged":      {func(w *world) *idempotency.Manager { return w.node("b", "1") }, time.Hour, true, fault.IdempotencyNotKept, fault.IdempotencyNotKept},
		"a node whose name begins as ours": {func(w *world) *idempotency.Manager { return w.node("aa", "1") }, 0, false, fault.IdempotencyInFlight, fault.IdempotencyInFlight},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			begin(t, w.node("a", "1"), request("k", "body", "gen-1"))
			w.now = w.now.Add(c.wait)
			w.charged["wgen-1"] = c.charged
			m := c.again(w)
			if c.want == fault.Internal {
				begin(t, m, request("k", "body", "gen-2"))
			} else {
				refused(t, m, request("k", "body", "gen-2"), c.want)
			}
			refused(t, m, request("k", "body", "gen-3"), c.afterwards)
		})
	}
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	w := newWorld()
	m := w.node("a", "1")
	run := begin(t, m, request("k", "body", "gen-1"))
	w.store.err = fault.New(fault.StorageUnavailable, "memory", "Away.")
	refused(t, m, request("k2", "body", "gen-2"), fault.StorageUnavailable)
	run.Keep(idempotency.Answer{Status: 200})
	if w.reports.Load() != 1 {
		t.Errorf("%d reports", w.reports.Load())
	}
	w.store.err = nil
	refused(t, m, request("k", "body", "gen-3"), fault.IdempotencyInFlight)
	w.charged["wgen-1"] = true
	refused(t, w.node("a", "2"), request("k", "body", "gen-3"), fault.IdempotencyNotKept)
}

// Whatever happens to nodes, a name is never charged for a second whole answer, and a name that was not charged is free in the end.
func TestOneChargeForOneName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		nodes := []*idempotency.Manager{w.node("a", "0"), w.node("b", "0")}
		lives := []int{0, 0}
		runs := map[int][]*idempotency.Run{}
		gens := map[*idempotency.Run]string{}
		charges, next := 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				n := rapid.IntRange(0, 1).Draw(t, "node")
				next++
				gen := fmt.Sprint("gen-", next)
				run, kept, err := nodes[n].Begin(context.Background(), request("k", "body", gen))
				if run != nil {
					runs[n], gens[run] = append(runs[n], run), gen
				}
				if run == nil && kept == nil && err == nil {
					t.Fatal("no answer at all")
				}
			},
			"charge, and perhaps keep": func(t *rapid.T) {
				n := rapid.IntRange(0, 1).Draw(t, "node")
				if len(runs[n]) == 0 {
					return
				}
				run := runs[n][0]
				runs[n] = runs[n][1:]
				w.charged["w"+gens[run]] = true
				charges++
				if rapid.Bool().Draw(t, "kept") {
					run.Keep(idempotency.Answer{Status: 200})
				} else { // the node dies in between
					lives[n]++
					nodes[n] = w.node(string(rune('a'+n)), fmt.Sprint(lives[n]))
				}
			},
			"fail": func(t *rapid.T) {
				n := rapid.IntRange(0, 1).Draw(t, "node")
				if len(runs[n]) > 0 {
					runs[n][0].Free()
					runs[n] = runs[n][1:]
				}
			},
			"die": func(t *rapid.T) {
				n := rapid.IntRange(0, 1).Draw(t, "node")
				lives[n]++
				nodes[n], runs[n] = w.node(string(rune('a'+n)), fmt.Sprint(lives[n])), nil
			},
			"": func(t *rapid.T) {
				if charges > 1 {
					t.Fatalf("%d charges", charges)
				}
				if len(runs[0])+len(runs[1]) > 1 {
					t.Fatal("two runs of one name")
				}
			},
		})
	})
}

func TestFiftyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	m := w.node("a", "1")
	var wg sync.WaitGroup
	var ran, waiting atomic.Int64
	for i := range 50 {
		wg.Go(func() {
			run, _, err := m.Begin(context.Background(), request("k", "body", fmt.Sprint("gen-", i)))
			if run != nil {
				ran.Add(1)
			} else if fault.Is(err, fault.IdempotencyInFlight) {
				waiting.Add(1)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 || waiting.Load() != 49 {
		t.Fatalf("%d runs, %d told to wait", ran.Load(), waiting.Load())
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": false, "a": true, "a b~!": true, strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, "a\n": false, "ключ": false, "\x7f": false} {
		if err := idempotency.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if idempotency.Hash("POST", "/a", []byte("b")) == idempotency.Hash("POST", "/ab", nil) {
		t.Error("route and body run into each other")
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld()
	m := w.node("a", "1")
	for i := range 1200 {
		begin(t, m, request(fmt.Sprint(i), "b", "g"))
	}
	w.now = w.now.Add(25 * time.Hour)
	begin(t, m, request("new", "b", "g"))
	if err := m.Sweep(t.Context()); err != nil || len(w.store.rows) != 1 {
		t.Fatalf("%d rows, %v", len(w.store.rows), err)
	}
	w.store.err = errors.New("away")
	if err := m.Sweep(t.Context()); err == nil {
		t.Fatal("no error")
	}
}

func TestSweepsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		c := idempotency.Default(time.Now)
		c.Node, c.Life = "a", "1"
		m := idempotency.New(store, c)
		begin(t, m, request("k", "b", "g"))
		m.Start()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		store.mu.Lock()
		if len(store.rows) != 1 {
			t.Error("it went too soon")
		}
		store.mu.Unlock()
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		store.mu.Lock()
		if len(store.rows) != 0 {
			t.Error("what has expired is still there")
		}
		store.mu.Unlock()
		m.Close()
	})
}
