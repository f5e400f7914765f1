package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Dir is the folder that has the server's socket: the host of its DSN.
func (s *Server) Dir() string { return s.dir }

// Runs reports whether the server has not ended.
func (s *Server) Runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return false
	}
	select {
	case <-s.ended:
		s.process = nil
		return false
	default:
		return true
	}
}

// Standby starts a server that follows this one as a streaming replica. It ends with the test.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby, err := folderIn("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.close)
	out, err := standby.command("pg_basebackup", "-D", standby.data(), "-R", "-h", s.dir, "-U", "weir", "-X", "stream", "--checkpoint=fast", "--no-sync").CombinedOutput()
	if err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	standby.Start(t)
	return standby
}

// AwaitCopies makes each commit from now on wait until a standby has it on its disk, and waits until one follows so.
func (s *Server) AwaitCopies(t testing.TB) {
	t.Helper()
	for _, text := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := s.exec(text); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, "a standby to follow", "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming')")
}

// Promote makes a standby a server that is written to.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.exec("SELECT pg_promote(false)"); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the standby to be promoted", "SELECT NOT pg_is_in_recovery()")
}

// await asks until a query is true.
func (s *Server) await(t testing.TB, what, query string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, err := s.ask(ctx, query)
		switch {
		case err != nil:
			t.Fatal(fmt.Errorf("waiting for %s: %w", what, err))
		case yes:
			return
		}
		<-tick.C
	}
}

func (s *Server) ask(ctx context.Context, query string) (yes bool, err error) {
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, query).Scan(&yes)
	return yes, err
}
