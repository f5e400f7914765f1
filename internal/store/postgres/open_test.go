package postgres_test

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/store/postgres"
	"weir/internal/store/postgres/pgtest"
)

// with adds an option to a DSN.
func with(dsn, option string) string { return dsn + "&" + option }

func TestOpenFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dsn := pgtest.New(t)
	conn := connect(t, dsn)
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE ascii ENCODING SQL_ASCII TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	server, options, _ := strings.Cut(strings.TrimPrefix(dsn, "postgres://weir:geheim@/"), "?")
	for name, c := range map[string]struct {
		dsn  string
		kind fault.Kind
		says string
	}{
		"nobody there":    {"postgres://weir:geheim@" + nobody + "/weir", fault.StorageUnavailable, "cannot be reached"},
		"no such base":    {"postgres://weir:geheim@/none?" + options, fault.StorageUnavailable, "cannot be reached"},
		"not understood":  {"postgres://weir:geheim%zz@/" + server, fault.Invalid, "percent-encoded"},
		"no such port":    {"postgres://weir:geheim@host:port/weir", fault.Invalid, "not understood"},
		"other encoding":  {"postgres://weir:geheim@/ascii?" + options, fault.Invalid, "must be UTF8"},
		"unknown setting": {with(dsn, "no_such_setting=1"), fault.StorageUnavailable, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := postgres.Open(t.Context(), c.dsn)
			if err == nil {
				_ = s.Close()
			}
			if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v; want %s with %q", err, c.kind, c.says)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
}

// Nodes that start at once on an empty database all find it ready.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			s, err := postgres.Open(context.Background(), dsn)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = s.Close() }()
			if _, err := s.Accounts.ListUsers(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	nodes.Wait()
}

// A migration that is cut off at any moment, as by the death of its node, is made good by the next start.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	want := 6
	if testing.Short() {
		want = 2
	}
	for cut, tries, most := 0, 0, 60; cut < want; tries++ {
		if tries == 20*want {
			t.Fatalf("of %d starts %d were cut off", tries, cut)
		}
		dsn := pgtest.New(t)
		if tries%2 == 1 { // a database that is older
			b := bare(t, dsn)
			chain.UpTo(t, b, 20)
		}
		if interrupted(t, dsn, rand.IntN(most)) {
			cut++
		} else { // it came too late: on this machine a look takes longer, or a start less
			most = max(most/2, 1)
		}
		s := openDSN(t, dsn)
		checks, _, err := s.Ledger.Checks(t.Context(), ledger.Anchor{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if !c.OK {
				t.Errorf("%s: %s", c.Name, c.Detail)
			}
		}
		wallet(t, s, "w1")
	}
}

// interrupted has the server end the connection of a start after as many looks at it, and reports whether the start failed by it. A look takes about a
// millisecond, and a start fifty.
func interrupted(t *testing.T, dsn string, looks int) bool {
	t.Helper()
	conn := connect(t, dsn)
	done := make(chan error, 1)
	go func() {
		s, err := postgres.Open(context.Background(), dsn)
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			return err != nil
		default:
		}
		var pid int
		err := conn.QueryRow(context.Background(), `SELECT COALESCE(MAX(pid), 0) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&pid)
		if err != nil {
			t.Fatal(err)
		}
		if looks--; looks >= 0 || pid == 0 {
			continue
		}
		if _, err := conn.Exec(context.Background(), "SELECT pg_terminate_backend($1)", pid); err != nil {
			t.Fatal(err)
		}
		return <-done != nil
	}
}
