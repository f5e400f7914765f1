package postgres_test

import (
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/store/postgres"
	"weir/internal/store/postgres/pgtest"
)

// A server that can lose what it has committed is refused, unless that is accepted; and connections wait for the disk whatever the
// database's default is.
func TestCommitsAreDurable(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	dsn := server.New(t)
	conn := connect(t, dsn)
	exec := func(text string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(dsn, says string) {
		t.Helper()
		s, err := postgres.Open(t.Context(), dsn)
		if err == nil {
			_ = s.Close()
		}
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "store.allow_data_loss") {
			t.Fatalf("%v; want a word on %s", err, says)
		}
		if s, err = postgres.Open(t.Context(), dsn, postgres.AllowDataLoss(true)); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
	}
	refused(with(dsn, "synchronous_commit=off"), "synchronous_commit = off")
	for _, name := range []string{"fsync", "full_page_writes"} {
		exec("ALTER SYSTEM SET " + name + " = off")
		server.Stop(t)
		server.Start(t)
		conn = connect(t, dsn)
		refused(dsn, name+" = off")
		exec("ALTER SYSTEM RESET " + name)
		server.Stop(t)
		server.Start(t)
		conn = connect(t, dsn)
	}
	exec("ALTER ROLE ALL SET synchronous_commit = off")
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var settings string // of the store's own connections, from another one
	err = connect(t, dsn).QueryRow(t.Context(), "SELECT current_setting('synchronous_commit')").Scan(&settings)
	if err != nil || settings != "off" {
		t.Fatalf("the default is %q, %v", settings, err)
	}
	if got := postgres.WaitsFor(t, dsn); got != "on" {
		t.Errorf("commits wait for %q", got)
	}
}
