package app

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/usage"
)

// Calls are dropped by whole days, in as many steps as it takes, and what was cut off goes on.
func TestDropCalls(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 15, 0, 0, 0, time.UTC)
	s, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()), sqlite.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Ledger.Position(t.Context(), "node"); err != nil {
		t.Fatal(err)
	}
	batch := ledger.Batch{Node: "node", Now: now}
	for w := range 3 {
		id := fmt.Sprint(w)
		if err := s.Accounts.CreateUser(t.Context(), account.User{ID: "usr_" + id, Name: "u", Wallet: "wal_" + id, CreatedAt: now}, audit.Event{Action: audit.UserCreated}); err != nil {
			t.Fatal(err)
		}
		for i := range 700 {
			at := now.Add(-time.Duration(i) * time.Hour)
			batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: record.Call{Generation: fmt.Sprintf("gen-%d-%d", at.Unix(), w), Wallet: "wal_" + id, User: "usr_" + id, At: at, Model: "a/b", Status: 200, Settled: true, Cost: 5,
				Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: 5}}}}))
		}
	}
	batch.To = int64(len(batch.Items))
	if to, err := s.Ledger.Apply(t.Context(), &batch); err != nil || to != batch.To {
		t.Fatal(to, err)
	}
	const retention = 10 * 24 * time.Hour
	cut := time.Date(2026, 11, 14, 0, 0, 0, 0, time.UTC)
	want := 0
	for i := range batch.Items {
		if batch.Items[i].Call.At.Before(cut) {
			want++
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	first, err := dropCalls(ended, s.Ledger, now, retention)
	if !errors.Is(err, context.Canceled) && !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("cut off: %d, %v", first, err)
	}
	rest, err := dropCalls(t.Context(), s.Ledger, now, retention)
	if err != nil || first+rest != want {
		t.Errorf("%d and %d dropped, want %d, %v", first, rest, want, err)
	}
	if again, err := dropCalls(t.Context(), s.Ledger, now, retention); err != nil || again != 0 {
		t.Errorf("again %d dropped, %v", again, err)
	}
	for i := range batch.Items {
		c := &batch.Items[i].Call
		if _, _, err := s.Ledger.Call(t.Context(), c.Wallet, c.Generation); c.At.Before(cut) != fault.Is(err, fault.NotFound) {
			t.Fatalf("%s: %v", c.Generation, err)
		}
	}
	r, err := ledger.Verify(t.Context(), s.Ledger, "", ledger.Anchor{}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if !c.OK && c.Name != "charges" {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}
