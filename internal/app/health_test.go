package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/config"
)

// slowClock advances only when it is told to, so that long waits take no time.
type slowClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *slowClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *slowClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// provider is a simulated provider whose condition changes.
type provider struct {
	id       string
	takes    atomic.Int64 // how long an answer takes, by the test's clock
	fails    atomic.Bool
	attempts atomic.Int64
}

// trio are three providers of test/trio, in the order of their prices.
type trio struct {
	*apptest.Gateway
	clock     *slowClock
	providers []*provider
	before    map[string]int64
}

func startTrio(t *testing.T) *trio {
	t.Helper()
	x := &trio{clock: &slowClock{now: time.Now()}, before: map[string]int64{}}
	var sim http.Handler
	for _, id := range []string{"one", "two", "three"} {
		x.providers = append(x.providers, &provider{id: id})
	}
	x.Gateway = apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Clock = x.clock.Now
		s.Health = config.Default().Health
		for i, p := range x.providers {
			p.takes.Store(int64(100 * time.Millisecond))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p.attempts.Add(1)
				x.clock.add(time.Duration(p.takes.Load()))
				if p.fails.Load() {
					http.Error(w, "out of order", http.StatusInternalServerError)
					return
				}
				sim.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: p.id, Name: p.id, Dialect: "openai", BaseURL: server.URL + "/v1"})
			o := apptest.OfferOf(t, p.id, "test/trio", "chat")
			o.Pricing.Base.Prompt = apptest.Price(t, fmt.Sprintf("0.%d", i+1))
			s.Offers = append(s.Offers, o)
		}
	})
	sim = x.Sim
	return x
}

// phase makes n calls, one per second, and returns the number of attempts per provider.
func (x *trio) phase(t *testing.T, a *apptest.Account, name string, n int) map[string]int64 {
	t.Helper()
	for range n {
		x.clock.add(time.Second)
		got := a.Chat(t, map[string]any{"model": "test/trio", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "hello"}},
			"provider": map[string]any{"sort": "price", "preferred_max_latency": 1}})
		if got.Status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", name, got.Status, got.Body)
		}
	}
	counts, line := map[string]int64{}, ""
	for _, p := range x.providers {
		total := p.attempts.Load()
		counts[p.id] = total - x.before[p.id]
		x.before[p.id] = total
		line += fmt.Sprintf("  %s %d", p.id, counts[p.id])
	}
	t.Logf("%-48s %d calls, attempts:%s", name, n, line)
	return counts
}

// Providers slow down, fail and recover: traffic moves to the next best one and returns, and clients see no errors.
func TestTrafficMovesAndReturns(t *testing.T) {
	t.Parallel()
	x := startTrio(t)
	a := x.NewAccount(t)
	for _, p := range x.providers { // so that each has a history
		for range 3 {
			got := a.Chat(t, map[string]any{"model": "test/trio", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "hello"}},
				"provider": map[string]any{"only": []any{p.id}}})
			if got.Status != http.StatusOK {
				t.Fatalf("status %d: %s", got.Status, got.Body)
			}
		}
		x.before[p.id] = p.attempts.Load()
	}
	one, two := x.providers[0], x.providers[1]
	want := func(name string, n int, attempts ...int64) {
		t.Helper()
		got := x.phase(t, a, name, n)
		for i, p := range x.providers {
			if got[p.id] != attempts[i] {
				t.Errorf("%s: %d attempts at %s, want %d", name, got[p.id], p.id, attempts[i])
			}
		}
	}
	want("all is well: the cheapest serves", 10, 10, 0, 0)

	one.takes.Store(int64(3 * time.Second))
	moved := x.phase(t, a, "one is slow: its median passes the second", 20)
	if moved["one"]+moved["two"] != 20 || moved["two"] == 0 || moved["three"] != 0 {
		t.Errorf("it moved to %v", moved)
	}
	want("one is still slow", 10, 0, 10, 0)

	two.fails.Store(true)
	failing := x.phase(t, a, "two fails as well: the third serves", 10)
	if failing["two"] < 3 || failing["two"] > 5 || failing["three"] != 10 || failing["one"] != 0 {
		t.Errorf("it moved to %v", failing)
	}
	x.clock.add(time.Minute)
	probed := x.phase(t, a, "two still fails: probes find out", 10)
	if probed["two"] < 1 || probed["two"] > 4 || probed["three"] != 10 {
		t.Errorf("it moved to %v", probed)
	}

	two.fails.Store(false)
	x.clock.add(61 * time.Second) // the second ejection in a row lasts twice as long
	if back := x.phase(t, a, "two is well again", 10); back["two"] < 9 {
		t.Errorf("it moved to %v", back)
	}
	one.takes.Store(int64(100 * time.Millisecond))
	x.clock.add(6 * time.Minute) // the measurements of its speed have expired, so it must be tried again
	a.Chat(t, map[string]any{"model": "test/trio", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "hello"}}, "provider": map[string]any{"only": []any{"one"}}})
	x.before["one"] = one.attempts.Load()
	want("one is quick again", 10, 10, 0, 0)
	x.WantBalanced(t)
}

// If no provider works, clients get an error at once, with Retry-After. When the providers are back, so is the service, within a second.
func TestAllProvidersDown(t *testing.T) {
	t.Parallel()
	x := startTrio(t)
	a := x.NewAccount(t)
	for _, p := range x.providers {
		p.fails.Store(true)
	}
	statuses := map[int]int{}
	for range 20 {
		got := a.Chat(t, map[string]any{"model": "test/trio", "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
		statuses[got.Status]++
		if got.Status == http.StatusServiceUnavailable {
			if got.Header.Get("Retry-After") == "" || !strings.Contains(string(got.Body), `"error_type":"no_provider"`) {
				t.Errorf("Retry-After %q: %s", got.Header.Get("Retry-After"), got.Body)
			}
		}
	}
	var attempts int64
	for _, p := range x.providers {
		attempts += p.attempts.Load()
	}
	t.Logf("statuses %v, %d attempts", statuses, attempts)
	if statuses[http.StatusBadGateway]+statuses[http.StatusServiceUnavailable] != 20 || statuses[http.StatusServiceUnavailable] < 10 || attempts > 3*5+5 {
		t.Errorf("statuses %v, %d attempts", statuses, attempts)
	}
	for _, p := range x.providers {
		p.fails.Store(false)
	}
	x.clock.add(time.Second)
	if got := a.Chat(t, map[string]any{"model": "test/trio", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}); got.Status != http.StatusOK {
		t.Errorf("a second after the providers are back: status %d: %s", got.Status, got.Body)
	}
	a.WantNothingHeld(t)
}

// The health of endpoints survives a restart.
func TestHealthSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	t.Run("a node ends", func(t *testing.T) {
		gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.DataDir = dir })
		a := gw.NewAccount(t)
		if got := a.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}); got.Status != http.StatusOK {
			t.Fatalf("status %d", got.Status)
		}
	})
	saved, err := os.ReadFile(filepath.Join(dir, "health"))
	if err != nil || !bytes.Contains(saved, []byte("works/test/next")) {
		t.Fatalf("%v, %d bytes saved", err, len(saved))
	}
	t.Run("another begins", func(t *testing.T) {
		gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.DataDir = dir })
		if s := gw.Node.Health().Shown("works/test/next"); s.OneDay == 0 || s.Uptime != 100 {
			t.Errorf("%+v", s)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "health"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("an unreadable file is ignored", func(t *testing.T) {
		gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.DataDir = dir })
		if s := gw.Node.Health().Shown("works/test/next"); s.OneDay != 0 {
			t.Errorf("%+v", s)
		}
		apptest.WaitFor(t, "a word about it in the log", func() bool { return strings.Contains(gw.Log.String(), "cannot be read") })
	})
}
