package sqldb

import (
	"context"
	"database/sql"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/limit"
)

// A user whose queries take all places that one user may have delays neither another user's query nor the gateway's own.
func TestUsersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		served := make(chan string, 20)
		s := Open(Engine{Places: 4, Write: func(_ context.Context, _ bool, f func(Runner) error) error { return f(nil) }}, time.Now)
		s.zones.Store(&knownZones{read: time.Now()})
		ask := func(user string, wait bool) {
			ctx := limit.For(t.Context(), &user)
			if user == "" {
				ctx = limit.For(t.Context(), nil)
			}
			go func() {
				err := s.Write(&ctx, func(*Tx) error {
					if wait {
						<-slow
					}
					served <- user
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}()
		}
		for range 10 {
			ask("greedy", true)
		}
		synctest.Wait()
		ask("modest", false)
		ask("", false)
		synctest.Wait()
		if len(served) != 2 {
			t.Errorf("%d others were served while one user asked", len(served))
		}
		close(slow)
		synctest.Wait()
		if len(served) != 12 {
			t.Errorf("%d were served in all", len(served))
		}
	})
}

// A query that waits for longer than a query may take fails with that reason, and takes no place.
func TestTurnThatNeverComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := Open(Engine{Places: 1, Write: func(_ context.Context, _ bool, f func(Runner) error) error { return f(nil) }}, time.Now)
		s.zones.Store(&knownZones{read: time.Now()})
		user := "usr_1"
		ctx := limit.For(t.Context(), &user)
		slow := make(chan struct{})
		go func() { _ = s.Write(&ctx, func(*Tx) error { <-slow; return nil }) }()
		synctest.Wait()
		if err := s.Snapshot(&ctx, func(context.Context, *sql.Tx) error { return nil }); err == nil {
			t.Error("it was answered")
		}
		close(slow)
		synctest.Wait()
		if err := s.Write(&ctx, func(*Tx) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}
