package storetest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/record"
	"weir/internal/usage"
	"weir/internal/video"
)

// Books are a store and a way past it.
type Books struct {
	Store interface {
		LedgerStore
		AccountStore
		video.Store
	}
	// SQL runs a statement on a connection of its own. Once Unlock has run there, triggers and references stop it no more.
	SQL    func(text string, args ...any) error
	Unlock func() error
	// Record reads the record of a generation.
	Record func(generation string) []byte
}

// Tampering checks that whoever changes rows behind the store's back is stopped, or found out. open gives an empty store and closes
// it after the test.
func Tampering(t *testing.T, open func(*testing.T) Books) {
	t.Run("what is posted stays", func(t *testing.T) {
		t.Parallel()
		whatIsPostedStays(t, kept(t, open(t)))
	})
	t.Run("explain", func(t *testing.T) {
		t.Parallel()
		explainFindsMismatch(t, kept(t, open(t)))
	})
	for name, c := range tamperings {
		t.Run("verify/"+name, func(t *testing.T) {
			t.Parallel()
			verifyFinds(t, kept(t, open(t)), c.text, c.check)
		})
	}
}

// tamperings are changes of the rows that kept makes, each with the check that finds it.
var tamperings = map[string]struct{ text, check string }{
	"nothing":                        {"SELECT 1", ""},
	"an entry changed":               {"UPDATE entries SET amount = -6 WHERE ref = 'settle:gen-1'", "entries"},
	"both sides changed":             {"UPDATE entries SET amount = CASE WHEN account = 'wallet:wal_1' THEN 2000 ELSE -2000 END WHERE ref = 'topup:test:1'", "wallets"},
	"a wallet credited":              {"UPDATE wallets SET credited = credited + 1", "wallets"},
	"a wallet discharged":            {"UPDATE wallets SET charged = charged - 1", "wallets"},
	"a wallet gone":                  {"DELETE FROM wallets", "wallets"},
	"money leased to nobody":         {"UPDATE wallets SET leased = leased + 1", "leases"},
	"a lease gone":                   {"DELETE FROM leases WHERE key_id = ''", "leases"},
	"a key's lease gone":             {"DELETE FROM leases WHERE key_id <> ''", "leases"},
	"a cost changed":                 {"UPDATE generations SET cost = 6 WHERE id = 'gen-1'", "settlements"},
	"a cost changed, and its entry":  {"UPDATE generations SET cost = 6 WHERE id = 'gen-1'; UPDATE entries SET amount = -6 WHERE ref = 'settle:gen-1'", "records"},
	"a name changed":                 {"UPDATE generations SET user_id = 'usr_2' WHERE id = 'gen-1'", "records"},
	"a record damaged":               {"UPDATE generations SET record = substr(record, 1, 1) WHERE id = 'gen-1'", "records"},
	"a record of another call":       {"UPDATE generations SET record = (SELECT record FROM generations WHERE id = 'gen-2') WHERE id = 'gen-1'", "records"},
	"an entry's transaction changed": {"UPDATE entries SET transaction_id = 77 WHERE transaction_id = 1", "entries"},
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
	"a job's escrow gone":            {"DELETE FROM leases WHERE node = 'job:vj_1'", "video jobs"},
	"a job's hold changed":           {"UPDATE video_jobs SET hold = hold + 1 WHERE id = 'vj_1'", "video jobs"},
	"an active job gone":             {"DELETE FROM video_jobs WHERE id = 'vj_1'", "video jobs"},
	"a voided job called settled":    {"UPDATE video_jobs SET state = 'completed', ended = 'settled' WHERE id = 'vj_2'", "video jobs"},
	"a voided job called active":     {"UPDATE video_jobs SET state = 'pending', ended = '' WHERE id = 'vj_2'", "video jobs"},
	"a voided job with a cost":       {"UPDATE video_jobs SET cost = 5 WHERE id = 'vj_2'", "video jobs"},
	"the record of a job gone":       {"DELETE FROM generations WHERE id = 'gen-4'", "video jobs"},
	"the place of a job gone":        {"DELETE FROM video_slots", "video jobs"},
	"an event changed":               {"UPDATE audit SET after = 'nothing' WHERE seq = 1", "audit chain"},
	"an event gone":                  {"DELETE FROM audit WHERE seq = 1", "audit chain"},
}

// kept has a user, a top-up and two calls in the books. Their leases stay open: they are rows to tamper with, too.
func kept(t *testing.T, b Books) Books {
	t.Helper()
	ctx := context.Background()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	if err := b.Store.CreateUser(ctx, account.User{ID: "usr_1", Name: "u", Wallet: "wal_1", CreatedAt: at}, audit.Event{Action: audit.UserCreated}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Credit(ctx, b.Store, ledger.TopUp{Wallet: "wal_1", Source: "test", ExternalID: "1", Amount: 1000}, at); err != nil {
		t.Fatal(err)
	}
	book, err := ledger.Start(ctx, b.Store, ledger.Config{Dir: filepath.Join(t.TempDir(), "journal"), Now: func() time.Time { return at }, Sync: journal.Never})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"gen-1", "gen-2"} {
		h, err := book.Hold(ctx, ledger.HoldRequest{Wallet: "wal_1", Key: "key_1", Limit: &ledger.KeyLimit{Amount: 500}, Amount: 10})
		if err != nil {
			t.Fatal(err)
		}
		c := &record.Call{Generation: id, Wallet: "wal_1", Key: "key_1", User: "usr_1", At: at, Model: "a/b", Cost: 7, Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: 7}}}
		if err := book.Settle(ctx, h, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	keepJobs(t, b, book, at)
	if err := book.Abandon(); err != nil {
		t.Fatal(err)
	}
	return b
}

// keepJobs adds a video job that holds money and one that has failed.
func keepJobs(t *testing.T, b Books, book *ledger.Book, at time.Time) {
	t.Helper()
	ctx := context.Background()
	for i, id := range []string{"vj_1", "vj_2"} {
		h, err := book.Hold(ctx, ledger.HoldRequest{Wallet: "wal_1", Key: "key_1", Limit: &ledger.KeyLimit{Amount: 500}, Amount: 10})
		if err != nil {
			t.Fatal(err)
		}
		j := &video.Job{ID: id, User: "usr_1", Wallet: "wal_1", Key: "key_1", Generation: []string{"gen-3", "gen-4"}[i], Model: "v/m", State: video.Pending, Hold: 10, CreatedAt: at, DeadlineAt: at}
		j.Call = record.Call{Generation: j.Generation, User: j.User, Wallet: j.Wallet, Key: j.Key, API: video.API, At: at}
		if err := book.Hand(ctx, h, func(ctx context.Context, o ledger.Handover) error { return b.Store.AddJob(ctx, j, o, 2) }); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		j.State, j.Ended = video.Failed, video.Voided
		if err := b.Store.EndJob(ctx, j, video.End{Item: ledger.Encode(ledger.Item{Call: j.Call, WalletLease: ledger.EscrowWalletLease, KeyLease: ledger.EscrowKeyLease}), Now: at}); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *Books) change(t *testing.T, text string, args ...any) {
	t.Helper()
	if err := b.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := b.SQL(text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func verifyFinds(t *testing.T, b Books, text, check string) {
	b.change(t, text)
	r, err := ledger.Verify(t.Context(), b.Store, "", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() != (check == "") {
		t.Errorf("verified: %t", r.OK())
	}
	failed := map[string]string{}
	for _, k := range r.Checks {
		if !k.OK {
			failed[k.Name] = k.Detail
		}
	}
	if check != "" && failed[check] == "" {
		t.Errorf("%q did not fail, but %v", check, failed)
	}
	_, err = audit.Verify(b.Store.AuditRows(t.Context()))
	if broken := check == "audit chain"; broken != fault.Is(err, fault.Conflict) || !broken && err != nil {
		t.Errorf("audit.Verify: %v", err)
	}
}

func whatIsPostedStays(t *testing.T, b Books) {
	for _, text := range []string{
		"UPDATE entries SET amount = 0", "DELETE FROM entries", "UPDATE transactions SET reason = 'x'", "DELETE FROM transactions", "UPDATE generations SET cost = 0",
		"UPDATE audit SET after = 'x'", "DELETE FROM audit",
		"UPDATE video_jobs SET cost = 1 WHERE id = 'vj_2'", "UPDATE video_jobs SET state = 'pending', ended = '' WHERE id = 'vj_2'", "UPDATE video_jobs SET state = 'completed', ended = 'settled' WHERE id = 'vj_1'",
	} {
		if err := b.SQL(text); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A charge that does not follow from its record is told.
func explainFindsMismatch(t *testing.T, b Books) {
	it, err := ledger.DecodeItem(b.Record("gen-1"))
	if err != nil {
		t.Fatal(err)
	}
	it.Call.Lines[0].Price++
	b.change(t, "UPDATE generations SET record = $1 WHERE id = 'gen-1'", ledger.Encode(it).Record)
	for id, want := range map[string]bool{"gen-1": false, "gen-2": true} {
		x, err := ledger.Explain(t.Context(), b.Store, "", id)
		if err != nil || x.Matches != want {
			t.Errorf("%s: matches %t (%s), %v", id, x.Matches, x.Why, err)
		}
	}
}
