package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"weir/internal/fault"
)

// Whoever listens learns that the connection is lost: because the server closed it, or because nothing passes any more.
func TestLostListener(t *testing.T) {
	t.Parallel()
	line := newWire(t)
	s := openDSN(t, line.dsn)
	lost := func(how func()) {
		t.Helper()
		joined := make(chan struct{})
		go func() { <-joined; how() }()
		err := s.Nodes.Listen(t.Context(), func() { close(joined) }, func(note string) { t.Errorf("heard %q", note) })
		if !fault.Is(err, fault.StorageUnavailable) {
			t.Errorf("Listen: %v; want StorageUnavailable", err)
		}
	}
	lost(func() {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, line.dsn)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close(ctx) }()
		if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN weir' AND datname = current_database()"); err != nil {
			t.Error(err)
		}
	})
	lost(line.silent.Lock)
	line.silent.Unlock()

	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Nodes.Listen(ctx, cancel, func(string) {}); ctx.Err() == nil || err == nil {
		t.Errorf("told to end: %v", err)
	}
}
