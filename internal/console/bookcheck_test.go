package console_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/ledger"
)

// mark is kept for all nodes.
type mark struct {
	mu   sync.Mutex
	text string
}

func (m *mark) read(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text, nil
}

func (m *mark) swap(_ context.Context, old, value string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.text != old {
		return false, nil
	}
	m.text = value
	return true, nil
}

// checking is a node with the mark of its fleet; its check goes on when it is told.
func checking(m *mark, name string, verify func(context.Context, func(ledger.Check)) (ledger.Report, error)) (*console.BookChecks, context.CancelFunc) {
	c := &console.BookChecks{Node: name, Verify: verify, Mark: m.read, Swap: m.swap, Now: time.Now}
	life, end := context.WithCancel(context.Background())
	go c.Run(life)
	synctest.Wait()
	return c, end
}

// One check of the books runs in a fleet. Each node sees how far it is, and may stop it.
func TestBookChecks(t *testing.T) {
	t.Parallel()
	last := func(t *testing.T, c *console.BookChecks) *console.BookCheck {
		t.Helper()
		k, err := c.Last(t.Context())
		if err != nil || k == nil {
			t.Fatal(k, err)
		}
		return k
	}
	t.Run("it ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, more := &mark{}, make(chan ledger.Check)
			a, end := checking(m, "a", func(_ context.Context, done func(ledger.Check)) (ledger.Report, error) {
				var r ledger.Report
				for part := range more {
					done(part)
					r.Checks = append(r.Checks, part)
				}
				r.Checks = append(r.Checks, ledger.Check{Name: "holds", OK: true, Detail: "0 open, \"none\"\nat all"})
				return r, nil
			})
			defer end()
			b, endB := checking(m, "b", nil)
			defer endB()
			if k, err := b.Last(t.Context()); k != nil || err != nil {
				t.Error(k, err)
			}
			if _, err := a.Start(t.Context(), "olga"); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Start(t.Context(), "boris"); !fault.Is(err, fault.Conflict) {
				t.Errorf("a second one: %v", err)
			}
			more <- ledger.Check{Name: "entries", OK: true, Detail: "7 entries"}
			time.Sleep(5 * time.Second) // of the bubble
			if k := last(t, b); !k.Running() || k.By != "olga" || k.Node != "a" || len(k.Parts) != 1 || k.Parts[0].Name != "entries" || k.Balanced() {
				t.Errorf("%+v", k)
			}
			close(more)
			synctest.Wait()
			if k := last(t, b); k.Running() || !k.Balanced() || len(k.Parts) != 2 || k.Parts[1].Detail != "0 open, \"none\"\nat all" {
				t.Errorf("%+v", k)
			}
			if err := b.Stop(t.Context(), "boris"); err != nil || !last(t, b).Balanced() {
				t.Errorf("stop: %v", err)
			}
		})
	})
	waits := func(ctx context.Context, done func(ledger.Check)) (ledger.Report, error) {
		done(ledger.Check{Name: "entries", OK: true})
		<-ctx.Done()
		return ledger.Report{}, ctx.Err()
	}
	t.Run("another node stops it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &mark{}
			a, end := checking(m, "a", waits)
			defer end()
			b, endB := checking(m, "b", waits)
			defer endB()
			if _, err := a.Start(t.Context(), "olga"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if err := b.Stop(t.Context(), "boris"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			if k := last(t, a); k.Running() || k.Stopped != "boris" || k.Balanced() || len(k.Parts) != 1 {
				t.Errorf("%+v", k)
			}
			if _, err := b.Start(t.Context(), "boris"); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("its node ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &mark{}
			a, end := checking(m, "a", waits)
			if _, err := a.Start(t.Context(), "olga"); err != nil {
				t.Fatal(err)
			}
			end()
			synctest.Wait()
			if k := last(t, a); k.Running() || k.Failed == "" || k.Balanced() {
				t.Errorf("%+v", k)
			}
			if _, err := a.Start(t.Context(), "olga"); !fault.Is(err, fault.Draining) {
				t.Errorf("on a node that has ended: %v", err)
			}
		})
	})
	t.Run("its node is killed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &mark{}
			a, end := checking(m, "a", waits)
			if _, err := a.Start(t.Context(), "olga"); err != nil {
				t.Fatal(err)
			}
			killed := &mark{text: m.text} // what a left
			end()
			b, endB := checking(killed, "b", waits)
			defer endB()
			if k := last(t, b); !k.Running() {
				t.Errorf("at once: %+v", k)
			}
			time.Sleep(2 * time.Minute)
			if k := last(t, b); k.Running() || k.Failed == "" {
				t.Errorf("%+v", k)
			}
			if _, err := b.Start(t.Context(), "boris"); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("the database fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &mark{}
			a, end := checking(m, "a", func(context.Context, func(ledger.Check)) (ledger.Report, error) {
				return ledger.Report{}, fault.New(fault.StorageUnavailable, "test", "The database is away.").Because(errors.New("secret address"))
			})
			defer end()
			if _, err := a.Start(t.Context(), "olga"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if k := last(t, a); k.Running() || k.Failed != "The database is away." || k.Balanced() {
				t.Errorf("%+v", k)
			}
		})
	})
}
