package storetest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/usage"
	"weir/internal/video"
)

// Books are a store and a way past it.
type Books struct {
	Store *store.Store
	// SQL runs a statement on a separate connection. Once Unlock has run there, triggers and references stop it no more.
	SQL    func(text string, args ...any) error
	Unlock func() error
	Lock   func() error // undoes Unlock, so that nothing is seen of it
	// DropTrigger is the statement for it.
	DropTrigger func(table, name string) string
	// Blunt are ways to keep the trigger entries_fixed from working while there still is something of its name.
	Blunt map[string]string
}

// Tampering checks that changes of rows without the store are stopped, or found. open gives an empty store and closes
// it after the test.
func Tampering(t *testing.T, open func(*testing.T) Books) {
	t.Run("what is posted stays", func(t *testing.T) {
		t.Parallel()
		whatIsPostedStays(t, kept(t, open(t)))
	})
	t.Run("the sum of entries", func(t *testing.T) {
		t.Parallel()
		sumOfEntries(t, kept(t, open(t)))
	})
	t.Run("explain", func(t *testing.T) {
		t.Parallel()
		explainFindsMismatch(t, kept(t, open(t)))
	})
	t.Run("a dropped trigger", func(t *testing.T) {
		t.Parallel()
		droppedTrigger(t, kept(t, open(t)))
	})
	t.Run("a blunt trigger", func(t *testing.T) {
		t.Parallel()
		for name := range open(t).Blunt {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bluntTrigger(t, kept(t, open(t)), name)
			})
		}
	})
	t.Run("chain cut and made again", func(t *testing.T) {
		t.Parallel()
		anchorFinds(t, kept(t, open(t)))
	})
	t.Run("sums above int64", func(t *testing.T) {
		t.Parallel()
		largeSums(t, kept(t, open(t)))
	})
	t.Run("leases near the bound", func(t *testing.T) {
		t.Parallel()
		largeLeases(t, kept(t, open(t)))
	})
	t.Run("older books", func(t *testing.T) {
		t.Parallel()
		olderBooks(t, kept(t, open(t)))
	})
	t.Run("roll-ups of an older form", func(t *testing.T) {
		t.Parallel()
		filledOnce(t, kept(t, open(t)))
	})
	lyingRecords(t, open)
	sweptBooks(t, open)
	names := slices.Sorted(maps.Keys(tamperings))
	const benches = 3
	for i := range benches {
		t.Run(fmt.Sprint("verify ", i+1), func(t *testing.T) {
			t.Parallel()
			b := kept(t, open(t)) // the same for many, because making it takes longer than the checks
			for j := i; j < len(names); j += benches {
				c := tamperings[names[j]]
				t.Run(names[j], func(t *testing.T) { b.undone(t, c.text, func() { verifyFinds(t, b, c.check) }) })
			}
			verifyFinds(t, b, "")
		})
	}
}

// sumOfEntries is 0 rubles, and no more when an entry was changed.
func sumOfEntries(t *testing.T, b Books) {
	if totals, err := b.Store.Ledger.Totals(t.Context()); err != nil || totals.Entries == 0 || totals.Sum != "0" {
		t.Errorf("%d entries sum to %s, %v", totals.Entries, totals.Sum, err)
	}
	b.undone(t, "UPDATE entries SET amount = amount - 1500000000 WHERE ref = 'settle:gen-1'", func() {
		if totals, err := b.Store.Ledger.Totals(t.Context()); err != nil || totals.Sum != "-1.5" {
			t.Errorf("after an entry was changed they sum to %s, %v", totals.Sum, err)
		}
	})
}

// refundOf8 makes the refund of 3 one of 8, everywhere but in the audit chain; the call was charged 7.
const refundOf8 = "UPDATE entries SET amount = 8 WHERE ref = 'refund:1' AND line = 0; UPDATE entries SET amount = -8 WHERE ref = 'refund:1' AND line = 1; UPDATE wallets SET credited = credited - 3 + 8; " +
	"UPDATE usage_hourly SET refunded = 8 WHERE refunded = 3; UPDATE usage_daily SET refunded = 8 WHERE refunded = 3; UPDATE usage_groups SET refunded = 8 WHERE refunded = 3; UPDATE usage_taxes SET refunded = 8 WHERE refunded = 3; UPDATE key_spend SET spent = spent + 3 - 8"

// tamperings are changes of the rows that kept makes, each with the check that finds it.
var tamperings = map[string]struct{ text, check string }{
	"an entry changed":               {"UPDATE entries SET amount = -6 WHERE ref = 'settle:gen-1'", "entries"},
	"both sides changed":             {"UPDATE entries SET amount = CASE WHEN account = 'wallet:wal_1' THEN 2000 ELSE -2000 END WHERE ref = 'topup:test:1'", "wallets"},
	"a wallet credited":              {"UPDATE wallets SET credited = credited + 1", "wallets"},
	"a wallet discharged":            {"UPDATE wallets SET charged = charged - 1", "wallets"},
	"a wallet gone":                  {"DELETE FROM wallets", "wallets"},
	"money leased without a lease":   {"UPDATE wallets SET leased = leased + 1", "leases"},
	"a lease gone":                   {"DELETE FROM leases WHERE key_id = ''", "leases"},
	"a key's lease gone":             {"DELETE FROM leases WHERE key_id <> ''", "leases"},
	"a cost changed":                 {"UPDATE generations SET cost = 6 WHERE id = 'gen-1'", "settlements"},
	"a cost changed, and its entry":  {"UPDATE generations SET cost = 6 WHERE id = 'gen-1'; UPDATE entries SET amount = -6 WHERE ref = 'settle:gen-1'", "records"},
	"a name changed":                 {"UPDATE generations SET user_id = 'usr_2' WHERE id = 'gen-1'", "records"},
	"a record damaged":               {"UPDATE generations SET details = '[]' WHERE id = 'gen-1'", "records"},
	"a record of another call":       {"UPDATE generations SET details = (SELECT details FROM generations WHERE id = 'gen-2') WHERE id = 'gen-1'", "records"},
	"an entry's transaction changed": {"UPDATE entries SET transaction_id = 77 WHERE transaction_id = 1", "entries"},
	"an entry's line changed":        {"UPDATE entries SET line = 1 WHERE account = 'revenue'", "entries"},
	"a call gone":                    {"DELETE FROM generations WHERE id = 'gen-1'", "settlements"},
	"a settlement gone":              {"DELETE FROM entries WHERE ref = 'settle:gen-1'", "settlements"},
	"an uncharged call charged":      {"UPDATE generations SET settled = 0 WHERE id = 'gen-1'", "settlements"},
	"tokens changed":                 {"UPDATE usage_hourly SET cache_read = cache_read + 1", "usage by hour"},
	"a status changed":               {"UPDATE generations SET status = 500 WHERE id = 'gen-1'", "records"},
	"an hour gone":                   {"DELETE FROM usage_hourly", "usage by hour"},
	"a day changed":                  {"UPDATE usage_daily SET cost = cost + 1", "usage by day"},
	"a day added":                    {"INSERT INTO usage_daily SELECT '2026-03-05', wallet, key_id, user_id, model, provider, api, result, 1, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0 FROM usage_daily", "usage by day"},
	"a group changed":                {"UPDATE usage_groups SET calls = calls + 1 WHERE part = 'kind'", "usage by group"},
	"a group gone":                   {"DELETE FROM usage_groups WHERE part = 'key'", "usage by group"},
	"a tag's day changed":            {"UPDATE tag_days SET cost = cost + 1 WHERE part = 'tag:project'", "usage by tag"},
	"a tag's usage changed":          {"UPDATE tag_usage SET cost = cost + 1 WHERE part = 'session'; UPDATE tag_days SET cost = cost + 1 WHERE part = 'session'", "usage by tag"},
	"a tag gone":                     {"DELETE FROM tag_usage WHERE part = 'tag:project'; DELETE FROM tag_days WHERE part IN ('tag', 'tag:project')", "usage by tag"},
	"a name of a tag gone":           {"DELETE FROM tag_days WHERE part = 'tag'", "usage by tag"},
	"a zone changed":                 {"UPDATE wallet_zones SET zone = 'Pacific/Kiritimati'", "usage by day"},
	"a tax changed":                  {"UPDATE usage_taxes SET tax = tax + 1", "VAT by day"},
	"a tax gone":                     {"DELETE FROM usage_taxes", "VAT by day"},
	"a refund's tax changed":         {"UPDATE usage_taxes SET refunded_tax = refunded_tax - 1", "VAT by day"},
	"sales changed":                  {"UPDATE sales SET upstream = upstream + 1", "sales"},
	"sales gone":                     {"DELETE FROM sales", "sales"},
	"sales of all accounts changed":  {"UPDATE sales_parts SET cost = cost - 1 WHERE part = 'model'", "sales"},
	"a month of sales changed":       {"UPDATE sales_parts SET calls = calls + 1 WHERE part = 'month'", "sales"},
	"a day of sales gone":            {"DELETE FROM sales_parts WHERE part = 'day'", "sales"},
	"sales of an account gone":       {"DELETE FROM sales_parts WHERE part = 'account'", "sales"},
	"a refund gone from the sales":   {"UPDATE sales SET refunded = 0; UPDATE sales_parts SET refunded = 0", "sales"},
	"calls by result changed":        {"UPDATE call_results SET cost = cost + 1 WHERE part = 'all' AND span = 86400", "calls by result"},
	"calls of models gone":           {"DELETE FROM call_results WHERE part = 'model'", "calls by result"},
	"calls at another status":        {"UPDATE call_results SET status = status + 1000 WHERE part = 'provider'", "calls by result"},
	"a call moved to another result": {"UPDATE usage_hourly SET result = 'canceled' WHERE model = 'a/none'", "usage by hour"},
	"a last call at another time":    {"UPDATE usage_daily SET last_at = last_at + 1", "usage by day"},
	"a key's spending forgotten":     {"UPDATE key_spend SET spent = 0 WHERE period = 'month'", "spending of keys and budgets"},
	"a budget's spending changed":    {"UPDATE key_spend SET spent = spent - 1 WHERE key_id = 'bud_1'", "spending of keys and budgets"},
	"a budget's spending dropped":    {"UPDATE key_spend SET spent = spent + 1, dropped = 1 WHERE key_id = 'bud_1'", "spending of keys and budgets"},
	"what keys below spent gone":     {"DELETE FROM key_spend WHERE key_id = 'key_0' AND period = 'day'", "spending of keys and budgets"},
	"a top-up enlarged, with its wallet": {"UPDATE entries SET amount = CASE WHEN account = 'wallet:wal_1' THEN 2000 ELSE -2000 END WHERE ref = 'topup:test:1'; " +
		"UPDATE wallets SET credited = 2000", "top-ups"},
	"a top-up of another source":      {"UPDATE entries SET account = 'topup:gift' WHERE account = 'topup:test'", "chain"},
	"a top-up by another":             {"UPDATE transactions SET actor = 'key:key_9' WHERE kind = 'topup'", "top-ups"},
	"a top-up at another time":        {"UPDATE transactions SET at = at + 86400000000 WHERE kind = 'topup'", "top-ups"},
	"a top-up with another reference": {"UPDATE transactions SET ref = 'topup:test:9' WHERE kind = 'topup'; UPDATE entries SET ref = 'topup:test:9' WHERE ref = 'topup:test:1'", "top-ups"},
	"a top-up called an adjustment":   {"UPDATE transactions SET kind = 'adjustment' WHERE kind = 'topup'; UPDATE entries SET account = 'adjustment' WHERE account = 'topup:test'", "top-ups"},
	"a top-up invented": {"INSERT INTO transactions (id, kind, ref, at) VALUES (90, 'topup', 'topup:test:2', 1); INSERT INTO entries VALUES ('wallet:wal_1', 'topup:test:2', 90, 0, 500), ('topup:test', 'topup:test:2', 90, 1, -500); " +
		"UPDATE wallets SET credited = credited + 500", "top-ups"},
	"a top-up gone":                           {"DELETE FROM transactions WHERE kind = 'topup'; DELETE FROM entries WHERE ref = 'topup:test:1'; UPDATE wallets SET credited = 0", "top-ups"},
	"a top-up gone, and its link":             {"DELETE FROM transactions WHERE kind = 'topup'; DELETE FROM entries WHERE ref = 'topup:test:1'; UPDATE wallets SET credited = 0; DELETE FROM ledger_chain WHERE seq = 1", "chain"},
	"an adjustment's reason changed":          {"UPDATE transactions SET reason = 'a present' WHERE kind = 'adjustment'", "top-ups"},
	"a refund above its charge":               {refundOf8, "refunds"},
	"a refund of another amount":              {strings.ReplaceAll(refundOf8, "8", "4"), "top-ups"},
	"a refund below zero":                     {"UPDATE entries SET amount = -amount WHERE ref = 'refund:1'", "entries"},
	"a refund of another call":                {"UPDATE entries SET account = 'refund:gen-1' WHERE account = 'refund:gen-2'", "top-ups"},
	"a refund of no call":                     {"UPDATE entries SET account = 'refund:gen-9' WHERE account = 'refund:gen-2'", "refunds"},
	"a refund of a call that was not charged": {"UPDATE entries SET account = 'refund:gen-0' WHERE account = 'refund:gen-2'", "refunds"},
	"a refund to another wallet":              {"UPDATE entries SET account = 'wallet:wal_2' WHERE ref = 'refund:1' AND account = 'wallet:wal_1'", "refunds"},
	"a refund called an adjustment":           {"UPDATE transactions SET kind = 'adjustment' WHERE kind = 'refund'", "entries"},
	"a refund by another":                     {"UPDATE transactions SET actor = 'key:key_9' WHERE kind = 'refund'", "top-ups"},
	"a refund's reason changed":               {"UPDATE transactions SET reason = 'a present' WHERE kind = 'refund'", "top-ups"},
	"a refund gone":                           {"DELETE FROM transactions WHERE kind = 'refund'; DELETE FROM entries WHERE ref = 'refund:1'; UPDATE wallets SET credited = credited - 3", "top-ups"},
	"a refund gone from the hours":            {"UPDATE usage_hourly SET refunded = 0", "usage by hour"},
	"a refund gone from the days":             {"UPDATE usage_daily SET refunded = 0", "usage by day"},
	"a refund that the key lost":              {"UPDATE key_spend SET spent = spent + 3", "spending of keys and budgets"},
	"a settlement at another time":            {"UPDATE transactions SET at = at + 1 WHERE kind = 'settle'", "chain"},
	"a settlement by somebody":                {"UPDATE transactions SET actor = 'operator' WHERE kind = 'settle'", "entries"},
	"an empty transaction":                    {"INSERT INTO transactions (id, kind, ref, at) VALUES (91, 'topup', 'topup:test:3', 1)", "entries"},
	"an unknown kind of transaction":          {"UPDATE transactions SET kind = 'gift' WHERE kind = 'topup'", "entries"},
	"a link gone":                             {"DELETE FROM ledger_chain WHERE seq = 2", "chain"},
	"the last link gone":                      {"DELETE FROM ledger_chain WHERE seq = (SELECT MAX(seq) FROM ledger_chain)", "chain"},
	"a link changed":                          {"UPDATE ledger_chain SET calls = calls + 1 WHERE seq = 2", "chain"},
	"the count of links changed":              {"UPDATE ledger_head SET length = length + 1", "chain"},
	"all links gone":                          {"DELETE FROM ledger_chain; DELETE FROM ledger_head", "chain"},
	"a charge made smaller everywhere": {"UPDATE entries SET amount = -6 WHERE ref = 'settle:gen-1'; UPDATE entries SET amount = amount - 1 WHERE account = 'revenue' AND amount = 14; UPDATE wallets SET charged = charged - 1; " +
		"UPDATE generations SET cost = 6 WHERE id = 'gen-1'; UPDATE usage_hourly SET cost = cost - 1 WHERE cost > 0; UPDATE usage_daily SET cost = cost - 1 WHERE cost > 0; UPDATE usage_groups SET cost = cost - 1 WHERE cost > 0; UPDATE usage_taxes SET cost = cost - 1 WHERE cost > 0; UPDATE key_spend SET spent = spent - 1 WHERE spent > 0", "chain"},
	"two calls exchanged": {"UPDATE generations SET id = 'gen-x' WHERE id = 'gen-1'; UPDATE generations SET id = 'gen-1' WHERE id = 'gen-2'; UPDATE generations SET id = 'gen-2' WHERE id = 'gen-x'", "chain"},
	"a call without a charge gone, with its roll-ups": {"DELETE FROM generations WHERE id = 'gen-0'; DELETE FROM usage_hourly WHERE model = 'a/none'; DELETE FROM usage_daily WHERE model = 'a/none'; " +
		"DELETE FROM usage_groups WHERE value IN ('a/none', '') AND part IN ('model', 'key'); UPDATE usage_groups SET calls = calls - 1 WHERE part = 'kind'", "chain"},
	"leases above int64":                      {"INSERT INTO leases (wallet, node, id, epoch, granted, at) VALUES ('wal_1', 'job:vj_1', 8, 0, 9000000000000000000, 1), ('wal_1', 'job:vj_1', 9, 0, 9000000000000000000, 1)", "leases"},
	"a lease that consumed less than nothing": {"UPDATE leases SET granted = 9000000000000000000, consumed = -9000000000000000000 WHERE key_id = '' AND epoch > 0", "leases"},
	"a key's leases above int64":              {"UPDATE leases SET granted = 9000000000000000000, consumed = -9000000000000000000 WHERE key_id <> ''", "leases"},
	"jobs above int64":                        {"UPDATE video_jobs SET hold = 9000000000000000000", "video jobs"},
	"a lease of no node":                      {"UPDATE leases SET node = 'nobody' WHERE key_id = '' AND epoch > 0", "leases"},
	"a lease of a node that left":             {"UPDATE nodes SET epoch = epoch + 1, live = 0", "leases"},
	"a lease of another wallet":               {"INSERT INTO leases (wallet, node, id, epoch, granted, at) VALUES ('wal_9', 'job:vj_9', 1, 0, 5, 1)", "leases"},
	"a job's escrow gone":                     {"DELETE FROM leases WHERE node = 'job:vj_1'", "video jobs"},
	"a job's hold changed":                    {"UPDATE video_jobs SET hold = hold + 1 WHERE id = 'vj_1'", "video jobs"},
	"an active job gone":                      {"DELETE FROM video_jobs WHERE id = 'vj_1'", "video jobs"},
	"a voided job called settled":             {"UPDATE video_jobs SET state = 'completed', ended = 'settled' WHERE id = 'vj_2'", "video jobs"},
	"a voided job called active":              {"UPDATE video_jobs SET state = 'pending', ended = '' WHERE id = 'vj_2'", "video jobs"},
	"a voided job with a cost":                {"UPDATE video_jobs SET cost = 5 WHERE id = 'vj_2'", "video jobs"},
	"the record of a job gone":                {"DELETE FROM generations WHERE id = 'gen-4'", "video jobs"},
	"the place of a job gone":                 {"DELETE FROM video_slots", "video jobs"},
	"an event changed":                        {"UPDATE audit SET after = 'nothing' WHERE seq = 1", "audit chain"},
	"two users with each other's wallets":     {"UPDATE users SET wallet = 'wal_0' WHERE id = 'usr_1'; UPDATE users SET wallet = 'wal_1' WHERE id = 'usr_7'; UPDATE users SET wallet = 'wal_7' WHERE id = 'usr_1'", "wallets' owners"},
	"an event gone":                           {"DELETE FROM audit WHERE seq = 1", "audit chain"},
}

// kept has a user, a top-up and two calls in the books. Their leases stay open: they are rows to tamper with, too.
func kept(t *testing.T, b Books) Books {
	t.Helper()
	ctx := context.Background()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, u := range []account.User{{ID: "usr_1", Name: "u", Wallet: "wal_1", CreatedAt: at}, {ID: "usr_7", Name: "u", Wallet: "wal_7", CreatedAt: at}} {
		if err := b.Store.Accounts.CreateUser(ctx, u, account.CreatedEvent(&u, audit.Actor{})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Store.Accounts.SetZone(ctx, "wal_1", "Europe/Moscow", at.AddDate(0, 0, -3), audit.Event{Action: audit.UserTimezone, Target: "usr_1"}); err != nil {
		t.Fatal(err)
	}
	by := audit.Actor{Name: "key:key_1"}
	if _, err := ledger.Credit(ctx, b.Store.Ledger, ledger.TopUp{Wallet: "wal_1", Source: "test", ExternalID: "1", Amount: 1000, Actor: by}, at); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Adjust(ctx, b.Store.Ledger, ledger.Adjustment{Wallet: "wal_1", ID: "1", Amount: -3, Reason: "a slip", Actor: by}, at); err != nil {
		t.Fatal(err)
	}
	cfg := ledger.Default(filepath.Join(t.TempDir(), "journal"), func() time.Time { return at })
	cfg.Journal.Sync, cfg.StoreFor = journal.Never, time.Minute
	book, err := ledger.Start(ctx, b.Store.Ledger, cfg)
	if err != nil {
		t.Fatal(err)
	}
	book.Note(&record.Call{Generation: "gen-0", Wallet: "wal_1", User: "usr_1", At: at, Model: "a/none", Status: 502})
	for _, id := range []string{"gen-1", "gen-2"} {
		limits := []ledger.Limit{{ID: "key_1", Amount: 500}, {ID: "key_0", Open: true}, {ID: "bud_1", Amount: 500, Reset: ledger.Weekly}}
		h, err := book.Hold(ctx, ledger.HoldRequest{Wallet: "wal_1", Key: "key_1", Limits: limits, Amount: 10})
		if err != nil {
			t.Fatal(err)
		}
		c := &record.Call{Generation: id, Wallet: "wal_1", Key: "key_1", User: "usr_1", At: at, Model: "a/b", Session: "s-1", Tags: []string{"project=atlas"}, Cost: 7, Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: 7}}}
		if err := book.Settle(ctx, h, c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := book.GiveBack(ctx, ledger.Refund{Generation: "gen-2", ID: "1", Amount: 3, Reason: "a broken answer", Actor: by}); err != nil {
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
		h, err := book.Hold(ctx, ledger.HoldRequest{Wallet: "wal_1", Key: "key_1", Limits: []ledger.Limit{{ID: "key_1", Amount: 500}}, Amount: 10})
		if err != nil {
			t.Fatal(err)
		}
		j := &video.Job{ID: id, User: "usr_1", Wallet: "wal_1", Key: "key_1", Generation: []string{"gen-3", "gen-4"}[i], Model: "v/m", State: video.Pending, Hold: 10, CreatedAt: at, DeadlineAt: at}
		j.Call = record.Call{Generation: j.Generation, User: j.User, Wallet: j.Wallet, Key: j.Key, API: video.API, At: at}
		if err := book.Hand(ctx, h, func(ctx context.Context, o ledger.Handover) error { return b.Store.Jobs.AddJob(ctx, j, o, 2) }); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		j.State, j.Ended = video.Failed, video.Voided
		if err := b.Store.Jobs.EndJob(ctx, j, video.End{Item: ledger.Encode(ledger.Item{Call: j.Call, WalletLease: ledger.EscrowWalletLease, KeyLease: ledger.EscrowKeyLease}), Now: at}); err != nil {
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
	if err := b.Lock(); err != nil {
		t.Fatal(err)
	}
}

// filledOnce checks that the roll-ups are made of the records and refunds after an upgrade, and then not again.
func filledOnce(t *testing.T, b Books) {
	const empty = "DELETE FROM usage_hourly; DELETE FROM usage_daily; DELETE FROM usage_groups; DELETE FROM usage_taxes"
	wrong := func() (names []string) {
		t.Helper()
		if err := b.Store.Ledger.FillRollUps(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := ledger.Verify(t.Context(), b.Store.Ledger, "", ledger.Anchor{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range r.Checks {
			if !k.OK {
				names = append(names, k.Name)
			}
		}
		return names
	}
	b.change(t, "UPDATE usage_form SET form = 0; "+empty)
	if names := wrong(); len(names) > 0 {
		t.Errorf("after the first start: %q", names)
	}
	b.change(t, "UPDATE usage_form SET sales = 0; DELETE FROM sales; DELETE FROM sales_parts")
	if names := wrong(); len(names) > 0 {
		t.Errorf("after an upgrade from a version without sales: %q", names)
	}
	b.change(t, "UPDATE usage_form SET tags = 0; DELETE FROM tag_days; DELETE FROM tag_usage")
	if names := wrong(); len(names) > 0 {
		t.Errorf("after an upgrade from a version without sums by tags: %q", names)
	}
	b.change(t, "UPDATE usage_form SET results = 0; DELETE FROM call_results")
	if names := wrong(); len(names) > 0 {
		t.Errorf("after an upgrade from a version without calls by result: %q", names)
	}
	b.change(t, empty)
	if names := wrong(); len(names) != 4 {
		t.Errorf("what was damaged later is hidden: only %q", names)
	}
}

// written finds the tables that a statement changes.
var written = regexp.MustCompile(`(?:UPDATE|DELETE FROM|INSERT INTO) ([a-z_]+)`)

// undone changes rows, and puts those of the same tables back after the check.
func (b *Books) undone(t *testing.T, text string, check func()) {
	t.Helper()
	var save, back []string
	for _, m := range written.FindAllStringSubmatch(text, -1) {
		if table := m[1]; !slices.Contains(save, "CREATE TEMPORARY TABLE was_"+table+" AS SELECT * FROM "+table) {
			save = append(save, "CREATE TEMPORARY TABLE was_"+table+" AS SELECT * FROM "+table)
			back = append(back, fmt.Sprintf("DELETE FROM %[1]s; INSERT INTO %[1]s SELECT * FROM was_%[1]s; DROP TABLE was_%[1]s", table))
		}
	}
	b.change(t, strings.Join(append(save, text), "; "))
	defer b.change(t, strings.Join(back, "; "))
	check()
}

func verifyFinds(t *testing.T, b Books, check string) {
	r, err := ledger.Verify(t.Context(), b.Store.Ledger, "", ledger.Anchor{}, time.Time{})
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
	sameBy(t, b.Store, r, 1, 2, 7)
	_, err = audit.Verify(b.Store.Accounts.AuditRows(t.Context()))
	if broken := check == "audit chain"; broken != fault.Is(err, fault.Conflict) || !broken && err != nil {
		t.Errorf("audit.Verify: %v", err)
	}
}

// sameBy checks that the same checks fail when so many rows are compared at once.
func sameBy(t *testing.T, s *store.Store, r ledger.Report, rows ...int) {
	t.Helper()
	for _, rows := range rows {
		checks, _, err := s.Ledger.ChecksBy(t.Context(), ledger.Anchor{}, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(checks) != len(r.Checks) {
			t.Fatalf("%d checks by %d rows, %d otherwise", len(checks), rows, len(r.Checks))
		}
		for i, c := range checks {
			if was := r.Checks[i]; c.Name != was.Name || c.OK != was.OK || c.OK && c.Detail != was.Detail {
				t.Errorf("by %d rows %s is %t: %s; otherwise %s is %t: %s", rows, c.Name, c.OK, c.Detail, was.Name, was.OK, was.Detail)
			}
		}
	}
}

func whatIsPostedStays(t *testing.T, b Books) {
	for _, text := range []string{
		"UPDATE entries SET amount = 0", "DELETE FROM entries", "UPDATE transactions SET reason = 'x'", "DELETE FROM transactions", "UPDATE generations SET cost = 0", "UPDATE generations SET details = NULL", "UPDATE generations SET details = '{}', record = substr(record, 1, 0)", "DELETE FROM generations",
		"UPDATE audit SET after = 'x'", "DELETE FROM audit",
		"UPDATE video_jobs SET cost = 1 WHERE id = 'vj_2'", "UPDATE video_jobs SET state = 'pending', ended = '' WHERE id = 'vj_2'", "UPDATE video_jobs SET state = 'completed', ended = 'settled' WHERE id = 'vj_1'",
	} {
		if err := b.SQL(text); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A charge that does not follow from its record is reported.
func explainFindsMismatch(t *testing.T, b Books) {
	it := b.item(t, "gen-1")
	it.Call.Lines[0].Price++
	b.change(t, "UPDATE generations SET details = NULL, record = $1 WHERE id = 'gen-1'", ledger.Encode(it).Record)
	for id, want := range map[string]bool{"gen-1": false, "gen-2": true} {
		x, err := ledger.Explain(t.Context(), b.Store.Ledger, "", id)
		if err != nil || x.Matches != want {
			t.Errorf("%s: matches %t (%s), %v", id, x.Matches, x.Why, err)
		}
	}
}

func failed(t *testing.T, b *Books, noted ledger.Anchor) (checks map[string]string, end ledger.Anchor) {
	t.Helper()
	r, err := ledger.Verify(t.Context(), b.Store.Ledger, "", noted, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	checks = map[string]string{}
	for _, k := range r.Checks {
		if !k.OK {
			checks[k.Name] = k.Detail
		}
	}
	return checks, r.Chain
}

func droppedTrigger(t *testing.T, b Books) {
	if err := b.SQL(b.DropTrigger("entries", "entries_fixed")); err != nil {
		t.Fatal(err)
	}
	if found, _ := failed(t, &b, ledger.Anchor{}); !strings.Contains(found["triggers"], "entries_fixed") || len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

// A trigger must be exactly as the migrations create it. Otherwise it is reported.
func bluntTrigger(t *testing.T, b Books, name string) {
	if found, _ := failed(t, &b, ledger.Anchor{}); len(found) > 0 {
		t.Fatalf("found %v", found)
	}
	if err := b.SQL(b.Blunt[name]); err != nil {
		t.Fatal(err)
	}
	if found, _ := failed(t, &b, ledger.Anchor{}); len(found) != 1 || found["triggers"] == "" {
		t.Errorf("found %v", found)
	}
}

// An attacker that can compute a chain can make another one that fits. An anchor that was noted elsewhere finds it.
func anchorFinds(t *testing.T, b Books) {
	_, noted := failed(t, &b, ledger.Anchor{})
	again, err := ledger.ParseAnchor(noted.String())
	if err != nil || again != noted {
		t.Fatalf("anchor %v, read as %v: %v", noted, again, err)
	}
	if found, _ := failed(t, &b, noted); len(found) > 0 {
		t.Errorf("clean books: %v", found)
	}
	b.change(t, "DELETE FROM ledger_chain; DELETE FROM ledger_head; UPDATE entries SET account = 'topup:gift' WHERE account = 'topup:test'; UPDATE transactions SET ref = 'topup:gift:1' WHERE kind = 'topup'; UPDATE entries SET ref = 'topup:gift:1' WHERE ref = 'topup:test:1'; DELETE FROM audit WHERE action = 'topup'")
	if err := b.Store.Ledger.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found, _ := failed(t, &b, ledger.Anchor{}); found["chain"] != "" {
		t.Errorf("the chain was made again: %v", found)
	}
	if found, _ := failed(t, &b, noted); !strings.Contains(found["chain"], "the anchor noted") {
		t.Errorf("with the anchor: %v", found)
	}
}

// Sums over all wallets exceed an int64.
func largeSums(t *testing.T, b Books) {
	ctx, at := t.Context(), time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for i, w := range []string{"wal_2", "wal_3"} {
		if err := b.Store.Accounts.CreateUser(ctx, account.User{ID: "usr_" + w, Name: w, Wallet: w, CreatedAt: at}, audit.Event{Action: audit.UserCreated}); err != nil {
			t.Fatal(err)
		}
		for n := range 9 {
			if _, err := ledger.Credit(ctx, b.Store.Ledger, ledger.TopUp{Wallet: w, Source: "test", ExternalID: fmt.Sprint("large-", i, n), Amount: ledger.MaxPosting}, at); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ledger.Credit(ctx, b.Store.Ledger, ledger.TopUp{Wallet: w, Source: "test", ExternalID: "x", Amount: ledger.MaxPosting + 1}, at); !fault.Is(err, fault.Invalid) {
			t.Errorf("too large a top-up: %v", err)
		}
	}
	if found, _ := failed(t, &b, ledger.Anchor{}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// Leases of all that an int64 holds: what is refused is refused, also where rows say more than can be.
func largeLeases(t *testing.T, b Books) {
	ctx, at := t.Context(), time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	if err := b.Store.Accounts.CreateUser(ctx, account.User{ID: "usr_2", Name: "rich", Wallet: "wal_2", CreatedAt: at}, audit.Event{Action: audit.UserCreated}); err != nil {
		t.Fatal(err)
	}
	for n := range 9 {
		if _, err := ledger.Credit(ctx, b.Store.Ledger, ledger.TopUp{Wallet: "wal_2", Source: "test", ExternalID: fmt.Sprint("large-", n), Amount: ledger.MaxPosting}, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, fund := range []ledger.Fund{{Wallet: "wal_2"}, {Wallet: "wal_2", Key: "key_2", Period: ledger.Period{Kind: ledger.PeriodTotal}}} {
		borrow := func(node string, need money.Nano) ledger.Grant {
			t.Helper()
			g, err := b.Store.Ledger.Borrow(ctx, ledger.Borrow{Node: node, Epoch: epochs(t, b, node), Fund: fund, Limit: math.MaxInt64, Lease: 1 + int64(len(fund.Key)), Need: need, Want: need, Recall: true, Now: at})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		most := 9 * ledger.MaxPosting
		if g := borrow("node-a", most/2); g.Granted != most/2 {
			t.Fatalf("%+v", g)
		}
		if g := borrow("node-b", most-most/2); g.Granted != most-most/2 {
			t.Fatalf("%+v", g)
		}
		if g := borrow("node-c", math.MaxInt64); g.Granted != 0 || g.Elsewhere != most || !g.Unanswered {
			t.Errorf("%+v; want %s elsewhere", g, most)
		}
		if found, _ := failed(t, &b, ledger.Anchor{}); len(found) > 0 {
			t.Errorf("found %v", found)
		}
		b.change(t, "UPDATE leases SET granted = 9223372036854775807 WHERE wallet = 'wal_2' AND node <> 'node-c'")
		if g := borrow("node-c", math.MaxInt64); g.Granted != 0 || g.Elsewhere != math.MaxInt64 {
			t.Errorf("%+v", g)
		}
		if found, _ := failed(t, &b, ledger.Anchor{}); found["leases"] == "" || len(found) != 1 {
			t.Errorf("found %v", found)
		}
		b.change(t, "UPDATE leases SET granted = 4500000000000000000 WHERE wallet = 'wal_2' AND node <> 'node-c'")
	}
}

// epochs joins a node, once.
func epochs(t *testing.T, b Books, node string) int64 {
	t.Helper()
	if err := b.SQL("INSERT INTO nodes (id, epoch, live) VALUES ($1, 1, 1) ON CONFLICT (id) DO NOTHING", node); err != nil {
		t.Fatal(err)
	}
	return 1
}

// Books without a chain are accepted unchanged, and protected from then on.
func olderBooks(t *testing.T, b Books) {
	b.change(t, "DELETE FROM ledger_chain; DELETE FROM ledger_head")
	for range 2 {
		if err := b.Store.Ledger.TakeOver(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	found, end := failed(t, &b, ledger.Anchor{})
	if len(found) > 0 || end.Length != 1 {
		t.Errorf("a chain of %d; found %v", end.Length, found)
	}
	if _, err := ledger.Credit(t.Context(), b.Store.Ledger, ledger.TopUp{Wallet: "wal_1", Source: "test", ExternalID: "2", Amount: 5}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if found, end := failed(t, &b, ledger.Anchor{}); len(found) > 0 || end.Length != 2 {
		t.Errorf("a chain of %d; found %v", end.Length, found)
	}
	b.change(t, "UPDATE transactions SET reason = 'a slap' WHERE kind = 'adjustment'")
	if found, _ := failed(t, &b, ledger.Anchor{}); !strings.Contains(found["chain"], "link 1") {
		t.Errorf("found %v", found)
	}
}
