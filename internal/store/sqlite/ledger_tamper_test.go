package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/record"
	"weir/internal/store/sqlite"
	"weir/internal/usage"
)

// books is a database with a few calls in it, closed, and a plain connection to it.
func books(t *testing.T) (string, *sql.DB) {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "weir.db")
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	if err := s.CreateUser(ctx, account.User{ID: "usr_1", Name: "u", Wallet: "wal_1", CreatedAt: at}, audit.Event{Action: audit.UserCreated}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Credit(ctx, s, ledger.TopUp{Wallet: "wal_1", Source: "test", ExternalID: "1", Amount: 1000}, at); err != nil {
		t.Fatal(err)
	}
	b, err := ledger.Start(ctx, s, ledger.Config{Dir: filepath.Join(t.TempDir(), "journal"), Now: func() time.Time { return at }, Sync: journal.Never})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"gen-1", "gen-2"} {
		h, err := b.Hold(ctx, ledger.HoldRequest{Wallet: "wal_1", Key: "key_1", Limit: &ledger.KeyLimit{Amount: 500}, Amount: 10})
		if err != nil {
			t.Fatal(err)
		}
		c := &record.Call{Generation: id, Wallet: "wal_1", Key: "key_1", User: "usr_1", At: at, Model: "a/b", Cost: 7, Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: 7}}}
		if err := b.Settle(ctx, h, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(ctx); err != nil { // the leases stay open: they are rows to tamper with, too
		t.Fatal(err)
	}
	if err := b.Abandon(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return path, db
}

func exec(t *testing.T, db *sql.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	const unlock = "DROP TRIGGER entries_fixed; DROP TRIGGER entries_kept; DROP TRIGGER transactions_kept; DROP TRIGGER generations_fixed"
	for name, c := range map[string]struct{ text, check string }{
		"nothing":                        {"SELECT 1", ""},
		"an entry changed":               {"UPDATE entries SET amount = -6 WHERE ref = 'settle:gen-1'", "entries"},
		"both sides changed":             {"UPDATE entries SET amount = CASE WHEN account = 'wallet:wal_1' THEN 2000 ELSE -2000 END WHERE ref = 'topup:test:1'", "wallets"},
		"a wallet credited":              {"UPDATE wallets SET credited = credited + 1", "wallets"},
		"a wallet discharged":            {"UPDATE wallets SET charged = charged - 1", "wallets"},
		"a wallet gone":                  {"PRAGMA foreign_keys = 0; DELETE FROM wallets", "wallets"},
		"money leased to nobody":         {"UPDATE wallets SET leased = leased + 1", "leases"},
		"a lease gone":                   {"DELETE FROM leases WHERE key_id = ''", "leases"},
		"a key's lease gone":             {"DELETE FROM leases WHERE key_id <> ''", "leases"},
		"a cost changed":                 {"UPDATE generations SET cost = 6 WHERE id = 'gen-1'", "settlements"},
		"a cost changed, and its entry":  {"UPDATE generations SET cost = 6 WHERE id = 'gen-1'; UPDATE entries SET amount = -6 WHERE ref = 'settle:gen-1'", "records"},
		"a name changed":                 {"UPDATE generations SET user_id = 'usr_2' WHERE id = 'gen-1'", "records"},
		"a record damaged":               {"UPDATE generations SET record = x'01' WHERE id = 'gen-1'", "records"},
		"a record of another call":       {"UPDATE generations SET record = (SELECT record FROM generations WHERE id = 'gen-2') WHERE id = 'gen-1'", "records"},
		"an entry's transaction changed": {"PRAGMA foreign_keys = 0; UPDATE entries SET transaction_id = 77 WHERE transaction_id = 1", "entries"},
		"an entry's line changed":        {"UPDATE entries SET line = 1 WHERE account = 'revenue'", "entries"},
		"a call gone":                    {"DELETE FROM generations WHERE id = 'gen-1'", "settlements"},
		"a settlement gone":              {"DELETE FROM entries WHERE ref = 'settle:gen-1'", "settlements"},
		"an uncharged call charged":      {"UPDATE generations SET settled = 0 WHERE id = 'gen-1'", "settlements"},
		"tokens changed":                 {"UPDATE usage_hourly SET cache_read = cache_read + 1", "usage by hour"},
		"a status changed":               {"UPDATE generations SET status = 500 WHERE id = 'gen-1'", "records"},
		"an hour gone":                   {"DELETE FROM usage_hourly", "usage by hour"},
		"a day changed":                  {"UPDATE usage_daily SET cost = cost + 1", "usage by day"},
		"a day added":                    {"INSERT INTO usage_daily SELECT '2026-03-05', wallet, key_id, user_id, model, provider, 1, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0 FROM usage_daily", "usage by day"},
		"a key's spending forgotten":     {"UPDATE key_spend SET spent = 0 WHERE period = 'month'", "spending of keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, db := books(t)
			exec(t, db, unlock, c.text)
			s, err := sqlite.Open(t.Context(), path, sqlite.ReadOnly())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			r, err := ledger.Verify(t.Context(), s, "", time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if r.OK() != (c.check == "") {
				t.Errorf("verified: %t", r.OK())
			}
			failed := map[string]string{}
			for _, k := range r.Checks {
				if !k.OK {
					failed[k.Name] = k.Detail
				}
			}
			if c.check != "" && failed[c.check] == "" {
				t.Errorf("%q did not fail, but %v", c.check, failed)
			}
		})
	}
}

func TestWhatIsPostedStays(t *testing.T) {
	t.Parallel()
	_, db := books(t)
	for _, text := range []string{
		"UPDATE entries SET amount = 0", "DELETE FROM entries", "UPDATE transactions SET reason = 'x'", "DELETE FROM transactions", "UPDATE generations SET cost = 0",
	} {
		if _, err := db.Exec(text); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A charge that does not follow from its record is told.
func TestExplainFindsMismatch(t *testing.T) {
	t.Parallel()
	path, db := books(t)
	var rec []byte
	if err := db.QueryRow("SELECT record FROM generations WHERE id = 'gen-1'").Scan(&rec); err != nil {
		t.Fatal(err)
	}
	it, err := ledger.DecodeItem(rec)
	if err != nil {
		t.Fatal(err)
	}
	it.Call.Lines[0].Price++
	exec(t, db, "DROP TRIGGER generations_fixed")
	if _, err := db.Exec("UPDATE generations SET record = ? WHERE id = 'gen-1'", ledger.Encode(it).Record); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for id, want := range map[string]bool{"gen-1": false, "gen-2": true} {
		x, err := ledger.Explain(t.Context(), s, "", id)
		if err != nil || x.Matches != want {
			t.Errorf("%s: matches %t (%s), %v", id, x.Matches, x.Why, err)
		}
	}
}
