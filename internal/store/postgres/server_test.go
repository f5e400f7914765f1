package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store"
	"weir/internal/store/postgres/pgtest"
)

// wallet makes a user's wallet with a hundred rubles in it.
func wallet(t *testing.T, s *store.Store, name string) string {
	t.Helper()
	at := time.Unix(1e9, 0)
	if err := s.Accounts.CreateUser(t.Context(), account.User{ID: "usr_" + name, Name: name, Wallet: name, CreatedAt: at}, audit.Event{Action: audit.UserCreated}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Credit(t.Context(), s.Ledger, ledger.TopUp{Wallet: name, Source: "test", ExternalID: name, Amount: 100 * money.Ruble}, at); err != nil {
		t.Fatal(err)
	}
	return name
}

// node makes a node known, and returns a request of it to borrow a ruble of a wallet.
func node(t *testing.T, s *store.Store, id string) func(wallet string, lease int64) ledger.Borrow {
	t.Helper()
	if _, err := s.Ledger.Position(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	epoch, err := s.Ledger.Join(t.Context(), id, time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	return func(wallet string, lease int64) ledger.Borrow {
		return ledger.Borrow{Fund: ledger.Fund{Wallet: wallet}, Node: id, Epoch: epoch, Lease: lease, Need: money.Ruble, Want: money.Ruble, Now: time.Unix(1e9, 0)}
	}
}

// until waits until a query that counts something counts n.
func until(t *testing.T, conn *pgx.Conn, n int, query string) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	for pause := time.Millisecond; ; pause = min(2*pause, 64*time.Millisecond) {
		var got int
		if err := conn.QueryRow(t.Context(), query).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got == n {
			return
		}
		select {
		case <-time.After(pause):
		case <-deadline:
			t.Fatalf("%d instead of %d: %s", got, n, query)
		}
	}
}

const waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

// begin begins a transaction on a new connection, which waits for a deadlock as long as it takes.
func begin(t *testing.T, dsn string) pgx.Tx {
	t.Helper()
	conn := connect(t, with(dsn, "deadlock_timeout=1h"))
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func lock(t *testing.T, tx pgx.Tx, wallet string) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM wallets WHERE id = $1 FOR UPDATE", wallet); err != nil {
		t.Error(err)
	}
}

func commit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// A transaction that the server gives up to end a deadlock is run again, and its caller sees nothing of it.
func TestDeadlockIsRunAgain(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	s := openDSN(t, with(dsn, "deadlock_timeout=10ms"))
	look := connect(t, dsn)
	first, second, third := wallet(t, s, "w1"), wallet(t, s, "w2"), wallet(t, s, "w3")
	borrow := node(t, s, "node")
	var back []ledger.Return
	for i, w := range []string{first, second, third} {
		if _, err := s.Ledger.Borrow(t.Context(), borrow(w, int64(i+1))); err != nil {
			t.Fatal(err)
		}
		back = append(back, ledger.Return{Fund: ledger.Fund{Wallet: w}, Lease: int64(i + 1), Amount: money.Ruble})
	}
	// The store holds w1 and waits for w2. Another holds w3 and waits for w1. When w2 is free the store goes on to w3: a circle.
	holder, other := begin(t, dsn), begin(t, dsn)
	lock(t, holder, second)
	lock(t, other, third)
	returned := make(chan error, 1)
	go func() { returned <- s.Ledger.Return(context.WithoutCancel(t.Context()), "node", back) }()
	until(t, look, 1, waiting)
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		lock(t, other, first)
	}()
	until(t, look, 2, waiting)
	commit(t, holder)
	<-passed // the store gave way: no other session looks for a circle
	commit(t, other)
	if err := <-returned; err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{first, second, third} {
		if b, err := s.Ledger.Balance(t.Context(), w); err != nil || b.Leased != 0 {
			t.Errorf("%s has %s leased, %v", w, b.Leased, err)
		}
	}
}

// A query that takes longer than its caller waits fails, and leaves no session that waits or holds anything.
func TestImpatientCaller(t *testing.T) {
	t.Parallel()
	s, dsn := openStore(t)
	w := wallet(t, s, "w1")
	borrow := node(t, s, "node")
	look, tx := connect(t, dsn), begin(t, dsn)
	lock(t, tx, w)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := s.Ledger.Borrow(ctx, borrow(w, 1)); !fault.Is(err, fault.StorageUnavailable) {
		t.Fatalf("%v; want StorageUnavailable", err)
	}
	t.Logf("after %s", time.Since(began))
	until(t, look, 0, waiting)
	commit(t, tx)
	if g, err := s.Ledger.Borrow(t.Context(), borrow(w, 1)); err != nil || g.Granted != money.Ruble {
		t.Fatalf("%+v, %v", g, err)
	}
}

// Who hangs up while a posting is under way does not cut it off.
func TestHangingUp(t *testing.T) {
	t.Parallel()
	s, dsn := openStore(t)
	w := wallet(t, s, "w1")
	look, tx := connect(t, dsn), begin(t, dsn)
	lock(t, tx, w)
	ctx, cancel := context.WithCancel(t.Context())
	posted := make(chan error, 1)
	go func() {
		_, err := ledger.Credit(ctx, s.Ledger, ledger.TopUp{Wallet: w, Source: "test", ExternalID: "late", Amount: money.Ruble}, time.Unix(1e9, 0))
		posted <- err
	}()
	until(t, look, 1, waiting)
	cancel()
	commit(t, tx)
	if err := <-posted; err != nil {
		t.Fatal(err)
	}
}

// No list holds a connection for longer than the server allows; walks through whole tables may take their time.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	s := openDSN(t, with(dsn, "statement_timeout=50"))
	look, tx := connect(t, dsn), begin(t, dsn)
	if _, err := tx.Exec(t.Context(), "LOCK TABLE users, audit, entries IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accounts.ListUsers(t.Context()); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("%v; want StorageUnavailable", err)
	}
	checked := make(chan error, 1)
	go func() {
		_, _, err := s.Ledger.Checks(context.WithoutCancel(t.Context()), ledger.Anchor{}, nil)
		checked <- err
	}()
	until(t, look, 1, waiting)
	until(t, look, 1, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND now() - query_start > interval '200 ms'")
	commit(t, tx)
	if err := <-checked; err != nil {
		t.Errorf("a check was cut off: %v", err)
	}
}

// A node that freezes while it holds a wallet's row is cut off by the server, so that the others can go on.
func TestFrozenTransaction(t *testing.T) {
	t.Parallel()
	s, dsn := openStore(t)
	w := wallet(t, s, "w1")
	borrow := node(t, s, "node")
	// This is a store's connection, as open.go sets it up but with less patience, in a node that does nothing any more.
	frozen := connect(t, with(dsn, "idle_in_transaction_session_timeout=100"))
	tx, err := frozen.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lock(t, tx, w)
	if g, err := s.Ledger.Borrow(t.Context(), borrow(w, 1)); err != nil || g.Granted != money.Ruble {
		t.Fatalf("%+v, %v", g, err)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the frozen node committed")
	}
}

// A server that goes away and comes back, in order or not, is used again without a new start, and has everything that was committed.
func TestServerReturns(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := openDSN(t, server.New(t))
	w := wallet(t, s, "w1")
	borrow := node(t, s, "node")
	held := money.Nano(0)
	for name, stop := range map[string]func(testing.TB){"stopped": server.Stop, "killed": server.Kill} {
		if _, err := s.Ledger.Borrow(t.Context(), borrow(w, 1)); err != nil {
			t.Fatal(err)
		}
		held += money.Ruble
		stop(t)
		for _, ask := range []func() error{
			func() error { _, err := s.Ledger.Borrow(t.Context(), borrow(w, 1)); return err },
			func() error { _, err := s.Ledger.Balance(t.Context(), w); return err },
			func() error { _, _, err := s.Ledger.Checks(t.Context(), ledger.Anchor{}, nil); return err },
		} {
			if err := ask(); !fault.Is(err, fault.StorageUnavailable) {
				t.Errorf("%s: %v; want StorageUnavailable", name, err)
			}
		}
		server.Start(t)
		if b, err := s.Ledger.Balance(t.Context(), w); err != nil || b.Leased != held {
			t.Errorf("%s: %s leased, want %s; %v", name, b.Leased, held, err)
		}
	}
}
