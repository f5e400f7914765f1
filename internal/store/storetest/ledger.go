package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/store/ledgerdb"
	"weir/internal/usage"
)

// RunLedger checks a store under the ledger, alone and through one and two nodes. open gives an empty store that reads that clock,
// and closes it after the test.
func RunLedger(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *books){
		"top-ups credit once":                         topUps,
		"adjustments":                                 adjustments,
		"adjustments below zero":                      belowZero,
		"adjustments once":                            adjustedOnce,
		"refunds":                                     refunds,
		"refunds on two nodes":                        refundsAtOnce,
		"many refunds of one call":                    manyRefunds,
		"refunds of a key's call":                     refundedKey,
		"a key's spending is reset":                   resetSpending,
		"a call without a charge is not refunded":     noCharge,
		"statement":                                   statement,
		"a call is recorded, charged, explained":      wholeCall,
		"uncharged calls":                             uncharged,
		"too little money":                            tooLittle,
		"key limits":                                  keyLimits,
		"many limits":                                 manyLimits,
		"the strictest limit":                         strictest,
		"limits renew":                                renewedLimits,
		"limits of a dead node":                       lostLimits,
		"keys that come from keys":                    childKeys,
		"limits after a crash":                        unappliedLimits,
		"holds end once":                              endsOnce,
		"a hold grows":                                growing,
		"a call that costs more than was held":        overrun,
		"the last ruble":                              lastRuble,
		"the last ruble on two nodes":                 lastRubleTwoNodes,
		"replay after a crash":                        replay,
		"a torn journal":                              tornJournal,
		"applying twice":                              applyTwice,
		"recall":                                      recall,
		"who sees which holds":                        whoSeesHolds,
		"a dead node":                                 deadNode,
		"a frozen node wakes":                         frozenNode,
		"fencing":                                     fencing,
		"the cost beyond a hold is covered":           coverOverrun,
		"the store is unavailable":                    storeAway,
		"a lease that is closed in the store alone":   closedUnheard,
		"the disk is full":                            diskFull,
		"no hold or lease leaks":                      noLeak,
		"steps of the wall clock":                     clockSteps,
		"many calls at once":                          manyAtOnce,
		"days of a time zone":                         zoneDays,
		"time zones of an account":                    accountZones,
		"activity":                                    activity,
		"paid tokens":                                 paidTokens,
		"one process per folder":                      oneProcess,
		"text that databases dislike":                 awkwardCall,
		"a call as large as can be":                   largestCall,
		"each field of a call":                        everyField,
		"a charge that cannot be posted is set aside": poison,
		"a charge set aside is posted once":           asidePosted,
		"a copied folder":                             copied,
		"the next beat finds another identity":        nextBeat,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newDesk(t, open))
		})
	}
	t.Run("the journal of other books", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, open)
		otherBooks(t, d, open(t, d.clock.Now))
	})
	t.Run("any schedule", func(t *testing.T) {
		t.Parallel()
		anySchedule(t, open)
	})
}

// clock moves only when the test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

const ruble = money.Ruble

// books is one store with the nodes that a test starts on it.
type books struct {
	t     *testing.T
	ctx   context.Context
	clock *clock
	store *store.Store
	n     atomic.Int64

	reached ledger.Store // what the nodes have of the store
}

func newDesk(t *testing.T, open Open) *books {
	c := &clock{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)} // a Wednesday
	s := open(t, c.Now)
	return &books{t: t, ctx: context.Background(), clock: c, store: s, reached: s.Ledger}
}

// wallet makes a wallet with that much in it.
func (d *books) wallet(amount money.Nano) string {
	d.t.Helper()
	id := fmt.Sprint(d.n.Add(1))
	u := account.User{ID: "usr_" + id, Name: "u" + id, Wallet: "wal_" + id, CreatedAt: d.clock.Now()}
	if err := d.store.Accounts.CreateUser(d.ctx, u, audit.Event{Actor: actor, Action: audit.UserCreated, Target: u.ID}); err != nil {
		d.t.Fatal(err)
	}
	if amount != 0 {
		d.topUp(u.Wallet, amount)
	}
	return u.Wallet
}

func (d *books) topUp(wallet string, amount money.Nano) {
	d.t.Helper()
	id := fmt.Sprint("auto-", d.n.Add(1))
	if _, err := ledger.Credit(d.ctx, d.store.Ledger, ledger.TopUp{Wallet: wallet, Source: "test", ExternalID: id, Amount: amount, Actor: actor}, d.clock.Now()); err != nil {
		d.t.Fatal(err)
	}
}

// config of a node whose goroutines do nothing by themselves: the test moves it.
func (d *books) config(dir string) ledger.Config {
	cfg := ledger.Default(dir, d.clock.Now)
	cfg.StoreFor = time.Minute // by the machine's clock: what is tested is not how long its disk takes
	cfg.Journal.Sync, cfg.Journal.SegmentBytes, cfg.ApplyEvery, cfg.TickEvery = journal.Never, 64<<10, time.Hour, time.Hour
	cfg.Wait = func(_ context.Context, wait time.Duration) error { d.clock.Advance(wait); return nil }
	return cfg
}

func (d *books) start(cfg ledger.Config) *ledger.Book {
	d.t.Helper()
	b, err := ledger.Start(d.ctx, d.reached, cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = b.Abandon() })
	return b
}

func (d *books) node() *ledger.Book {
	return d.start(d.config(filepath.Join(d.t.TempDir(), "journal")))
}

func (d *books) hold(b *ledger.Book, wallet string, amount money.Nano) *ledger.Hold {
	d.t.Helper()
	h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: wallet, Amount: amount})
	if err != nil {
		d.t.Fatal(err)
	}
	return h
}

func (d *books) refused(b *ledger.Book, r ledger.HoldRequest) *fault.Error {
	d.t.Helper()
	h, err := b.Hold(d.ctx, r)
	if err == nil {
		d.t.Fatalf("a hold of %s was granted", h.Amount())
	}
	return fault.From(err)
}

// call is a record of a call that costs that much.
func (d *books) call(wallet, key string, cost money.Nano) *record.Call {
	n := d.n.Add(1)
	c := &record.Call{Generation: fmt.Sprintf("gen-%d-%020d", d.clock.Now().Unix(), n), Request: fmt.Sprint("req_", n), User: "usr_1", Wallet: wallet, Key: key,
		API: "completions", At: d.clock.Now(), ModelAsked: "a/b", Model: "a/b", Provider: "p", ProviderName: "P", Endpoint: "p/a/b", Status: 200, Finish: "stop",
		Cost: cost, Settled: true, Duration: time.Second}
	c.Usage.Prompt, c.Usage.Completion = usage.Of(10), usage.Of(5)
	c.Lines = []usage.Line{{Kind: usage.KindPrompt, Quantity: 10}, {Kind: usage.KindCompletion, Quantity: 5}}
	if cost > 0 {
		c.Lines = append(c.Lines, usage.Line{Kind: usage.KindRequest, Quantity: 1, Price: int64(cost)})
	}
	return c
}

func (d *books) settle(b *ledger.Book, h *ledger.Hold, wallet string, cost money.Nano) *record.Call {
	d.t.Helper()
	c := d.call(wallet, "", cost)
	if err := b.Settle(d.ctx, h, c); err != nil {
		d.t.Fatal(err)
	}
	return c
}

// spend is a hold and its settlement.
func (d *books) spend(b *ledger.Book, wallet string, amount money.Nano) {
	d.t.Helper()
	d.settle(b, d.hold(b, wallet, amount), wallet, amount)
}

func (d *books) wantBalance(b ledger.Reader, wallet string, credited, charged, held money.Nano) {
	d.t.Helper()
	got, err := b.Balance(d.ctx, wallet)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, node := b.(*ledger.Book); node { // what it holds, and not what it borrowed
		got.Leased = 0
	} else { // of the books nothing may be lent beyond that
		got.Held, got.Leased = got.Leased, 0
	}
	want := ledger.Balance{Credited: credited, Charged: charged, Balance: credited - charged, Held: held}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Fatal(diff)
	}
}

func (d *books) flush(b *ledger.Book) {
	d.t.Helper()
	if err := b.Flush(d.ctx); err != nil {
		d.t.Fatal(err)
	}
}

func (d *books) tick(b *ledger.Book) {
	d.t.Helper()
	if err := b.Tick(d.ctx); err != nil {
		d.t.Fatal(err)
	}
}

// balanced runs all checks of the store.
func (d *books) balanced() {
	d.t.Helper()
	if err := unbalanced(d.ctx, d.store.Ledger); err != nil {
		d.t.Fatal(err)
	}
}

func unbalanced(ctx context.Context, s ledger.Store) error {
	r, err := ledger.Verify(ctx, s, "", ledger.Anchor{}, time.Time{})
	if err != nil {
		return err
	}
	if !r.OK() {
		var text strings.Builder
		_, _ = r.WriteTo(&text)
		return errors.New(text.String())
	}
	return nil
}

func topUps(t *testing.T, d *books) {
	w, other := d.wallet(0), d.wallet(0)
	top := ledger.TopUp{Wallet: w, Source: "bank", ExternalID: "42", Amount: 3 * ruble, Actor: actor}
	first, err := ledger.Credit(d.ctx, d.store.Ledger, top, d.clock.Now())
	if err != nil || first.Repeated {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := ledger.Credit(d.ctx, d.store.Ledger, top, d.clock.Now())
	if err != nil || !again.Repeated || again.Transaction != first.Transaction {
		t.Fatalf("repeated: %+v, %v", again, err)
	}
	d.wantBalance(d.store.Ledger, w, 3*ruble, 0, 0)
	for name, c := range map[string]struct {
		change func(*ledger.TopUp)
		kind   fault.Kind
	}{
		"other amount":   {func(t *ledger.TopUp) { t.Amount++ }, fault.Conflict},
		"other wallet":   {func(t *ledger.TopUp) { t.Wallet = other }, fault.Conflict},
		"zero":           {func(t *ledger.TopUp) { t.Amount, t.ExternalID = 0, "z" }, fault.Invalid},
		"negative":       {func(t *ledger.TopUp) { t.Amount, t.ExternalID = -1, "n" }, fault.Invalid},
		"no wallet":      {func(t *ledger.TopUp) { t.Wallet, t.ExternalID = "wal_none", "w" }, fault.NotFound},
		"no source":      {func(t *ledger.TopUp) { t.Source = "" }, fault.Invalid},
		"colon in it":    {func(t *ledger.TopUp) { t.Source = "a:b" }, fault.Invalid},
		"no external id": {func(t *ledger.TopUp) { t.ExternalID = "" }, fault.Invalid},
		"too much":       {func(t *ledger.TopUp) { t.Amount, t.ExternalID = 1<<63-1, "m" }, fault.Invalid},
	} {
		bad := top
		c.change(&bad)
		if _, err := ledger.Credit(d.ctx, d.store.Ledger, bad, d.clock.Now()); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
	}
	d.wantBalance(d.store.Ledger, w, 3*ruble, 0, 0)
	var wg sync.WaitGroup
	var fresh atomic.Int64
	for range 8 {
		wg.Go(func() {
			p, err := ledger.Credit(d.ctx, d.store.Ledger, ledger.TopUp{Wallet: w, Source: "race", ExternalID: "1", Amount: ruble, Actor: actor}, d.clock.Now())
			if err != nil {
				t.Error(err)
			}
			if !p.Repeated {
				fresh.Add(1)
			}
		})
	}
	wg.Wait()
	if fresh.Load() != 1 {
		t.Errorf("credited %d times", fresh.Load())
	}
	d.wantBalance(d.store.Ledger, w, 4*ruble, 0, 0)
	onceForTwo(t, d)
	d.balanced()
}

// onceForTwo has two wallets claim the same external id at once: one gets it, the others of the same wallet repeat it, the rest conflict.
func onceForTwo(t *testing.T, d *books) {
	wallets := []string{d.wallet(0), d.wallet(0)}
	var wg sync.WaitGroup
	var credited [2]atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			p, err := ledger.Credit(d.ctx, d.store.Ledger, ledger.TopUp{Wallet: wallets[i%2], Source: "race", ExternalID: "2", Amount: ruble, Actor: actor}, d.clock.Now())
			switch {
			case err == nil && !p.Repeated:
				credited[i%2].Add(1)
			case err != nil && !fault.Is(err, fault.Conflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	first, second := credited[0].Load(), credited[1].Load()
	if first+second != 1 {
		t.Errorf("credited %d and %d times", first, second)
	}
	d.wantBalance(d.store.Ledger, wallets[0], money.Nano(first)*ruble, 0, 0)
	d.wantBalance(d.store.Ledger, wallets[1], money.Nano(second)*ruble, 0, 0)
}

func adjustments(t *testing.T, d *books) {
	w := d.wallet(5 * ruble)
	b := d.node()
	h := d.hold(b, w, 2*ruble)
	adjust := func(id string, n money.Nano, reason string) error {
		_, err := b.Adjust(d.ctx, ledger.Adjustment{Wallet: w, ID: id, Amount: n, Reason: reason, Actor: actor})
		return err
	}
	if err := adjust("a", -3*ruble-1, "chargeback"); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("more than is available: %v", err)
	}
	if err := adjust("a", -3*ruble, ""); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a reason: %v", err)
	}
	if err := adjust("a", 0, "nothing"); !fault.Is(err, fault.Invalid) {
		t.Errorf("of zero: %v", err)
	}
	for range 2 {
		if err := adjust("a", -3*ruble, "chargeback"); err != nil {
			t.Error(err)
		}
	}
	if err := adjust("b", ruble, "goodwill"); err != nil {
		t.Error(err)
	}
	d.wantBalance(b, w, 3*ruble, 0, 2*ruble)
	h.Release()
	d.wantBalance(b, w, 3*ruble, 0, 0)
	d.balanced()
}

func wholeCall(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	b := d.node()
	h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: []ledger.Limit{{ID: "key_1", Amount: 5 * ruble, Reset: ledger.Daily}}, Amount: ruble})
	if err != nil {
		t.Fatal(err)
	}
	if h.Amount() != ruble {
		t.Errorf("held %s", h.Amount())
	}
	d.wantBalance(b, w, 10*ruble, 0, ruble)
	c := &record.Call{
		Generation: "gen-1772625600-0123456789abcdefghij", Request: "req_1", User: "usr_1", Wallet: w, Key: "key_1", API: "completions",
		At: d.clock.Now().Add(-3 * time.Second).Add(123456 * time.Microsecond), ModelAsked: "vendor/model:free \"quoted\"", Model: "vendor/model:free",
		Provider: "prov", ProviderName: "Prov \u2603", Endpoint: "prov/vendor/model", UpstreamModel: "up-1", UpstreamID: "chatcmpl-1", Streamed: true, Cancelled: true,
		Status: 200, Error: "timeout", Finish: "stop", NativeFinish: "STOP",
		Usage: usage.Usage{Prompt: usage.Of(1200), CacheRead: usage.Of(0), CacheWrite: usage.Of(7), CacheWrite1h: usage.Of(3), PromptAudio: usage.Of(1),
			PromptVideo: usage.Of(9), Completion: usage.Of(333), Reasoning: usage.Of(100), OutputImage: usage.Of(2), Rejected: usage.Of(0), WebSearches: usage.Of(1),
			UpstreamCost: "0.00123", Tier: "flex", Source: usage.Estimated},
		Lines: []usage.Line{{Kind: usage.KindPrompt, Quantity: 1189, Price: 25_000_001}, {Kind: usage.KindCacheWrite, Quantity: 7, Price: 25_000_001}, {Kind: usage.KindCacheWrite1h, Quantity: 3, Price: 25_000_001},
			{Kind: usage.KindPromptAudio, Quantity: 1, Price: 25_000_001}, {Kind: usage.KindCompletion, Quantity: 231, Price: 75_000_000}, {Kind: usage.KindReasoning, Quantity: 100, Price: 75_000_000},
			{Kind: usage.KindOutputImage, Quantity: 2, Price: 75_000_000}, {Kind: usage.KindRequest, Quantity: 1, Price: 5}},
		Settled: true, PriceList: "2026-03-01", Rate: "92.5*1.15", SourcePrice: "0.25/1M", Hold: ruble,
		Lost:         record.Lost{Tokens: 41_000, Why: record.LostEndpoint, From: "y/vendor/model", Cost: 120_000_001},
		FirstContent: 250 * time.Millisecond, Duration: 3 * time.Second, Generating: 2750 * time.Millisecond,
		Candidates: []record.Candidate{{Endpoint: "x/vendor/model", DroppedBy: "max_price", Detail: "0.5 > 0.1 \\ \n"}, {Endpoint: "prov/vendor/model", Order: 1, Score: 0.1, Reason: "sort:price"}},
		Attempts: []record.Attempt{{Endpoint: "y/vendor/model", Provider: "y", Status: 503, Reason: "provider_overloaded", Started: time.Millisecond, Ended: 20 * time.Millisecond},
			{Endpoint: "prov/vendor/model", Provider: "prov", Status: 200, Started: 21 * time.Millisecond, FirstContent: 250 * time.Millisecond, Ended: 3 * time.Second}},
		UserAgent: "sdk/1", Referer: "https://example.org/?a=1&b=<c>", Title: "a title", Session: "s", ClientUser: "u", Metadata: `{"a":"b"}`,
	}
	// 1200 x 25000.001 + 333 x 75000 + 5 = 30000001.2 + 24975000 + 5 nano-rubles, rounded up
	c.Cost = 54_975_007
	if err := b.Settle(d.ctx, h, c); err != nil {
		t.Fatal(err)
	}
	d.wantBalance(b, w, 10*ruble, c.Cost, 0)
	got, entries, err := b.Call(d.ctx, w, c.Generation)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("the record changed: %s", diff)
	}
	if len(entries) != 1 || entries[0].Amount != -c.Cost || entries[0].Account != "wallet:"+w || entries[0].Ref != "settle:"+c.Generation {
		t.Errorf("entries %+v", entries)
	}
	if _, _, err := b.Call(d.ctx, "", c.Generation); err != nil {
		t.Errorf("in any wallet: %v", err)
	}
	for _, wallet := range []string{d.wallet(0), "wal_none"} {
		if _, _, err := b.Call(d.ctx, wallet, c.Generation); !fault.Is(err, fault.NotFound) {
			t.Errorf("in another wallet: %v", err)
		}
	}
	spend, err := b.KeySpend(d.ctx, "key_1")
	if want := (ledger.KeySpend{Total: c.Cost, Daily: c.Cost, Weekly: c.Cost, Monthly: c.Cost}); err != nil || spend != want {
		t.Errorf("spending %+v, %v", spend, err)
	}
	x, err := ledger.Explain(d.ctx, b, w, c.Generation)
	if err != nil || !x.Matches || x.Exact != "0.0549750062" {
		t.Errorf("explanation %q, %q, %v", x.Exact, x.Why, err)
	}
	var text strings.Builder
	if _, err := x.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"0.0549750062", "0.054975007", "1189", "0.025000001", "2026-03-01", "92.5*1.15", "max_price", "provider_overloaded", "follows from the record", "estimated"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the explanation lacks %q:\n%s", part, &text)
		}
	}
	d.balanced()
}

func uncharged(t *testing.T, d *books) {
	w := d.wallet(ruble)
	b := d.node()
	c := d.call(w, "key_1", 0)
	c.Settled, c.Status, c.Error, c.Model, c.Lines = false, 502, "provider_unavailable", "", nil
	c.Usage = usage.Usage{}
	b.Note(c)
	got, entries, err := b.Call(d.ctx, w, c.Generation)
	if err != nil || len(entries) != 0 {
		t.Fatalf("%v, %v", entries, err)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Error(diff)
	}
	// settled for nothing: a row of activity and an entry of zero
	free := d.call(w, "key_1", 0)
	h := d.hold(b, w, 0)
	if err := b.Settle(d.ctx, h, free); err != nil {
		t.Fatal(err)
	}
	if _, entries, err := b.Call(d.ctx, w, free.Generation); err != nil || len(entries) != 1 || entries[0].Amount != 0 {
		t.Fatalf("%v, %v", entries, err)
	}
	x, err := ledger.Explain(d.ctx, b, w, free.Generation)
	if err != nil || !x.Matches {
		t.Errorf("%s, %v", x.Why, err)
	}
	rows, err := b.Activity(d.ctx, w, "", "2026-03-04", "2026-03-04")
	if err != nil || len(rows) != 1 || rows[0].Requests != 1 || rows[0].PromptTokens != 10 {
		t.Errorf("%+v, %v", rows, err)
	}
	d.wantBalance(b, w, ruble, 0, 0)
	d.balanced()
}

func tooLittle(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	b := d.node()
	h := d.hold(b, w, 4*ruble)
	f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 6*ruble + 1})
	if f.Kind != fault.PaymentRequired || f.Details["required"] != "6.000000001" || f.Details["available"] != "6" || f.Details["reason"] != nil {
		t.Errorf("%v %v", f, f.Details)
	}
	if f.Details["reserved"] != "4" || f.RetryAfter == 0 || !strings.Contains(f.Public, "reserved") || strings.Contains(f.Public, "Top up") {
		t.Errorf("a hold that waits for another of the account: %q, %v, again in %v", f.Public, f.Details, f.RetryAfter)
	}
	if f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 10*ruble + 1}); f.Details["reserved"] != nil || f.RetryAfter != 0 || !strings.Contains(f.Public, "Top up") {
		t.Errorf("a hold above the whole balance: %q, %v, again in %v", f.Public, f.Details, f.RetryAfter)
	}
	other := d.node()
	if f := d.refused(other, ledger.HoldRequest{Wallet: w, Amount: 6*ruble + 1}); f.Details["reserved"] == nil || f.RetryAfter == 0 {
		t.Errorf("a hold that waits for one on another node: %q, %v, again in %v", f.Public, f.Details, f.RetryAfter)
	}
	if err := h.Grow(d.ctx, 6*ruble+1); fault.From(err).Details["reserved"] != nil { // no other call is in its way
		t.Errorf("a hold that grows: %v", err)
	}
	d.hold(b, w, 6*ruble).Release() // what is there can be had to the last nano-ruble
	d.settle(b, h, w, 4*ruble)
	if f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 1 << 62}); f.Kind != fault.PaymentRequired || f.Details["available"] != "6" {
		t.Errorf("an implausible hold: %v %v", f, f.Details)
	}
	if f := d.refused(b, ledger.HoldRequest{Wallet: "wal_none", Amount: 1}); f.Kind != fault.NotFound {
		t.Errorf("no wallet: %v", f)
	}
	if f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: -1}); f.Kind != fault.Internal {
		t.Errorf("negative: %v", f)
	}
	empty := d.wallet(0)
	if f := d.refused(b, ledger.HoldRequest{Wallet: empty, Amount: 1}); f.Kind != fault.PaymentRequired || f.Details["available"] != "0" {
		t.Errorf("empty: %v %v", f, f.Details)
	}
	d.topUp(empty, 1)
	d.hold(b, empty, 1)
	d.balanced()
}

func keyLimits(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	b := d.node()
	request := func(key string, amount, limit money.Nano, reset ledger.Reset) ledger.HoldRequest {
		return ledger.HoldRequest{Wallet: w, Key: key, Amount: amount, Limits: []ledger.Limit{{ID: key, Amount: limit, Reset: reset}}}
	}
	spend := func(key string, amount, limit money.Nano, reset ledger.Reset) {
		t.Helper()
		h, err := b.Hold(d.ctx, request(key, amount, limit, reset))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Settle(d.ctx, h, d.call(w, key, amount)); err != nil {
			t.Fatal(err)
		}
	}
	spend("key_n", 2*ruble, 3*ruble, ledger.Never)
	spend("key_d", 2*ruble, 3*ruble, ledger.Daily)
	spend("key_w", 2*ruble, 3*ruble, ledger.Weekly)
	spend("key_m", 2*ruble, 3*ruble, ledger.Monthly)
	refused := func(key string, reset ledger.Reset) {
		t.Helper()
		f := d.refused(b, request(key, ruble+1, 3*ruble, reset))
		if f.Kind != fault.PaymentRequired || f.Details["reason"] != "key_limit" || f.Details["available"] != "1" || f.Details["required"] != "1.000000001" {
			t.Fatalf("%s: %v %v", key, f, f.Details)
		}
	}
	refused("key_n", ledger.Never)
	refused("key_d", ledger.Daily)
	refused("key_w", ledger.Weekly)
	refused("key_m", ledger.Monthly)
	d.wantBalance(b, w, 100*ruble, 8*ruble, 0) // the refusals left nothing held
	h, err := b.Hold(d.ctx, request("key_d", ruble, 3*ruble, ledger.Daily))
	if err != nil {
		t.Fatal(err)
	}
	if f := d.refused(b, request("key_d", 1, 3*ruble, ledger.Daily)); f.Details["available"] != "0" {
		t.Errorf("beside an open hold: %v", f.Details)
	}
	h.Release()
	// a limit that is changed counts at once
	if f := d.refused(b, request("key_d", 1, 2*ruble, ledger.Daily)); f.Details["reason"] != "key_limit" {
		t.Errorf("lowered: %v", f.Details)
	}
	if h, err := b.Hold(d.ctx, request("key_d", 5*ruble, 8*ruble, ledger.Daily)); err != nil {
		t.Errorf("raised: %v", err)
	} else {
		h.Release()
	}
	advance := func(step time.Duration) { d.clock.Advance(step); d.tick(b) }
	advance(11*time.Hour + 59*time.Minute)
	refused("key_d", ledger.Daily)
	advance(time.Minute) // Thursday
	spend("key_d", 3*ruble, 3*ruble, ledger.Daily)
	refused("key_w", ledger.Weekly)
	advance(4 * 24 * time.Hour) // Monday
	spend("key_w", 3*ruble, 3*ruble, ledger.Weekly)
	refused("key_m", ledger.Monthly)
	advance(23 * 24 * time.Hour) // the first of April
	spend("key_m", 3*ruble, 3*ruble, ledger.Monthly)
	refused("key_n", ledger.Never)
	got, err := b.KeySpend(d.ctx, "key_m")
	if want := (ledger.KeySpend{Total: 5 * ruble, Daily: 3 * ruble, Weekly: 3 * ruble, Monthly: 3 * ruble}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	advance(time.Minute)
	advance(time.Minute)
	d.wantBalance(d.store.Ledger, w, 100*ruble, 17*ruble, 0)
	d.balanced()
}

func endsOnce(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	b := d.node()
	h := d.hold(b, w, 2*ruble)
	h.Release()
	h.Release()
	if err := b.Settle(d.ctx, h, d.call(w, "", ruble)); err == nil {
		t.Error("settled after release")
	}
	if err := h.Grow(d.ctx, 1); err == nil {
		t.Error("grew after release")
	}
	h = d.hold(b, w, 2*ruble)
	bad := d.call(w, "", -1)
	if err := b.Settle(d.ctx, h, bad); err == nil {
		t.Error("a negative charge was taken")
	}
	if err := b.Settle(d.ctx, h, d.call("wal_other", "", 1)); err == nil {
		t.Error("another wallet was charged")
	}
	d.settle(b, h, w, ruble)
	h.Release()
	if err := b.Settle(d.ctx, h, d.call(w, "", ruble)); err == nil {
		t.Error("settled twice")
	}
	d.wantBalance(b, w, 10*ruble, ruble, 0)
	d.balanced()
}

func growing(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	b := d.node()
	r := ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: []ledger.Limit{{ID: "key_1", Amount: 6 * ruble}}, Amount: ruble}
	h, err := b.Hold(d.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := h.Grow(d.ctx, ruble); err != nil {
			t.Fatal(err)
		}
	}
	err = h.Grow(d.ctx, 1)
	if f := fault.From(err); !fault.Is(err, fault.PaymentRequired) || f.Details["reason"] != "key_limit" || h.Amount() != 6*ruble {
		t.Fatalf("beyond the key's limit: %v, holding %s", err, h.Amount())
	}
	d.wantBalance(b, w, 10*ruble, 0, 6*ruble)
	other := d.hold(b, w, 0)
	if err := other.Grow(d.ctx, 4*ruble); err != nil {
		t.Fatal(err)
	}
	if err := other.Grow(d.ctx, 1); !fault.Is(err, fault.PaymentRequired) {
		t.Fatalf("beyond the balance: %v", err)
	}
	if err := other.Grow(d.ctx, -1); err == nil {
		t.Error("a hold shrank")
	}
	if err := b.Settle(d.ctx, h, d.call(w, "key_1", 5*ruble)); err != nil {
		t.Fatal(err)
	}
	if err := other.Grow(d.ctx, ruble); err != nil {
		t.Fatalf("what the other hold did not need: %v", err)
	}
	other.Release()
	d.wantBalance(b, w, 10*ruble, 5*ruble, 0)
	d.balanced()
}

func overrun(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	b := d.node()
	x, y := d.hold(b, w, 5*ruble), d.hold(b, w, 5*ruble)
	d.settle(b, x, w, 7*ruble)
	d.flush(b)
	d.balanced()
	d.settle(b, y, w, 5*ruble)
	d.wantBalance(b, w, 10*ruble, 12*ruble, 0)
	if f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 1}); f.Kind != fault.PaymentRequired || f.Details["available"] != "0" {
		t.Errorf("%v %v", f, f.Details)
	}
	d.topUp(w, 2*ruble)
	if f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 1}); f.Kind != fault.PaymentRequired {
		t.Errorf("%v", f)
	}
	d.topUp(w, 3)
	d.hold(b, w, 3).Release()
	d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 4})
	d.balanced()
}

func lastRuble(t *testing.T, d *books) {
	b := d.node()
	for round := range 20 {
		need := money.Nano(1000 + round*37)
		fits := round % 9
		w := d.wallet(need*money.Nano(fits) + need/2)
		race(t, d, []*ledger.Book{b}, w, need, fits, fits)
	}
	d.balanced()
}

func lastRubleTwoNodes(t *testing.T, d *books) {
	cfg := func() ledger.Config {
		c := d.config(filepath.Join(t.TempDir(), "journal"))
		c.Wait = nil // real time: both nodes live by themselves
		c.TickEvery = 5 * time.Millisecond
		return c
	}
	books := []*ledger.Book{d.start(cfg()), d.start(cfg())}
	for round := range 5 {
		need := money.Nano(1000 + round*37)
		fits := 3 + round
		// With two nodes a hold may be refused while the other still has money, but never is too much admitted.
		race(t, d, books, d.wallet(need*money.Nano(fits)+need/2), need, 1, fits)
	}
	d.balanced()
}

// race lets 200 callers hold need at once, and settle it. least to most of them must be admitted.
func race(t *testing.T, d *books, books []*ledger.Book, w string, need money.Nano, least, most int) {
	t.Helper()
	var admitted atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range 200 {
		wg.Go(func() {
			b := books[i%len(books)]
			<-start
			h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Amount: need})
			if fault.Is(err, fault.PaymentRequired) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			admitted.Add(1)
			if err := b.Settle(d.ctx, h, d.call(w, "", need)); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	if n := int(admitted.Load()); n < least || n > most {
		t.Fatalf("admitted %d of %d", n, most)
	}
	for _, b := range books {
		d.flush(b)
	}
	bal, err := d.store.Ledger.Balance(d.ctx, w)
	if err != nil || bal.Balance < 0 || bal.Charged != need*money.Nano(admitted.Load()) {
		t.Fatalf("%+v, %v", bal, err)
	}
}

func replay(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	dir := filepath.Join(t.TempDir(), "journal")
	var charged money.Nano
	for round := range 4 {
		b := d.start(d.config(dir))
		for i := range 20 {
			d.spend(b, w, money.Nano(i+1))
			charged += money.Nano(i + 1)
			if i == 7*round {
				d.flush(b)
			}
		}
		d.hold(b, w, ruble) // lost with the process
		if err := b.Abandon(); err != nil {
			t.Fatal(err)
		}
		d.balanced()
	}
	b := d.start(d.config(dir))
	d.wantBalance(d.store.Ledger, w, 10*ruble, charged, 0)
	d.balanced()
	r, err := b.Verify(d.ctx, nil)
	if err != nil || !r.OK() {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := b.Close(d.ctx); err != nil {
		t.Fatal(err)
	}
}

func applyTwice(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	b := d.node()
	var items []ledger.Recorded
	for range 30 {
		c := d.settle(b, d.hold(b, w, ruble/100), w, ruble/100)
		items = append(items, ledger.Encode(ledger.Item{Call: *c, WalletLease: 1}))
	}
	d.wantBalance(b, w, 10*ruble, 3*ruble/10, 0)
	position, err := d.store.Ledger.Position(d.ctx, b.Node())
	if err != nil {
		t.Fatal(err)
	}
	fresh := ledger.Encode(ledger.Item{Call: *d.call(w, "", ruble)})
	for _, batch := range []ledger.Batch{
		{Node: b.Node(), From: position - 1, To: position + 5, Items: []ledger.Recorded{fresh}}, // from where the store is not
		{Node: b.Node(), From: position, To: position, Items: items},                            // generations that it has
		{Node: b.Node(), From: position, To: position, Items: items[3:4], Durable: true},
	} {
		batch.Now, batch.Life = d.clock.Now(), must(d.store.Ledger.Life(d.ctx, b.Node()))
		if got, err := d.store.Ledger.Apply(d.ctx, &batch); err != nil || got != position {
			t.Fatalf("at %d, %v, want %d", got, err, position)
		}
		d.wantBalance(d.store.Ledger, w, 10*ruble, 3*ruble/10, must(d.store.Ledger.Balance(d.ctx, w)).Leased)
		d.balanced()
	}
	// one new, known ones, and the new one again
	mixed := ledger.Batch{Node: b.Node(), Life: must(d.store.Ledger.Life(d.ctx, b.Node())), From: position, To: position, Now: d.clock.Now(), Items: []ledger.Recorded{items[0], fresh, items[1], fresh}}
	if _, err := d.store.Ledger.Apply(d.ctx, &mixed); err != nil {
		t.Fatal(err)
	}
	d.wantBalance(b, w, 10*ruble, 3*ruble/10+ruble, 0)
	d.balanced()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func tornJournal(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	dir := filepath.Join(t.TempDir(), "journal")
	b := d.start(d.config(dir))
	for range 3 {
		d.spend(b, w, ruble)
	}
	if err := b.Abandon(); err != nil {
		t.Fatal(err)
	}
	torn(t, d, dir, w)
}

func recall(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	one := d.node()
	h := d.hold(one, w, 10*ruble)
	h.Release() // the lease stays: other nodes cannot have it yet
	cfg := d.config(filepath.Join(t.TempDir(), "journal"))
	waits := 0
	cfg.Wait = func(_ context.Context, wait time.Duration) error {
		waits++
		d.clock.Advance(wait)
		return one.Tick(d.ctx)
	}
	two := d.start(cfg)
	all := d.hold(two, w, 100*ruble)
	if waits == 0 {
		t.Error("nothing had to be asked back")
	}
	waits = 0
	d.refused(one, ledger.HoldRequest{Wallet: w, Amount: 1})
	all.Release()
	if f := d.refused(two, ledger.HoldRequest{Wallet: w, Amount: 100*ruble + 1}); f.Details["available"] != "100" {
		t.Errorf("%v", f.Details)
	}
	if waits > 1 {
		t.Errorf("waited %d times for a node that has nothing", waits)
	}
	d.balanced()

	// Limits of keys are asked back as well.
	w = d.wallet(100 * ruble)
	r := ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: []ledger.Limit{{ID: "key_1", Amount: 20 * ruble, Reset: ledger.Daily}}, Amount: 2 * ruble}
	kh, err := one.Hold(d.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Amount = 19 * ruble
	if f := d.refused(two, r); f.Details["reason"] != "key_limit" || f.Details["available"] != "18" {
		t.Errorf("%v", f.Details)
	}
	r.Amount = 18 * ruble
	if _, err := two.Hold(d.ctx, r); err != nil {
		t.Error(err)
	}
	kh.Release()
	d.balanced()
}

// whoSeesHolds: a node shows the present holds of its calls, others show them as of its last sign of life. Money that a node has leased
// without holding it is never shown as held.
func whoSeesHolds(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	one, other := d.node(), d.node()
	beat := func(b *ledger.Book) {
		d.clock.Advance(2 * time.Second)
		d.tick(b)
	}
	want := func(when string, here, there money.Nano) {
		t.Helper()
		for _, x := range []struct {
			name string
			from ledger.Reader
			want money.Nano
		}{{"the node itself", one, here}, {"the other node", other, there}, {"the store", d.store.Ledger, there}} {
			if b := must(x.from.Balance(d.ctx, w)); b.Held != x.want || b.Balance != b.Credited-b.Charged {
				t.Errorf("%s: %s shows %s as held, want %s", when, x.name, b.Held, x.want)
			}
		}
	}
	d.spend(other, w, ruble)
	want("an unused lease", 0, 0)
	first, second := d.hold(one, w, 2*ruble), d.hold(one, w, 3*ruble)
	want("held", 5*ruble, 0)
	beat(one)
	want("held, with a sign of life", 5*ruble, 5*ruble)
	d.settle(one, first, w, ruble)
	want("one has ended", 3*ruble, 5*ruble)
	beat(one)
	want("one has ended, with a sign of life", 3*ruble, 3*ruble)
	second.Release()
	want("both have ended", 0, 3*ruble)
	beat(one)
	want("both have ended, with a sign of life", 0, 0)

	// More than a lease was for: it has nothing left, and nothing is shown of it.
	third := d.hold(one, w, ruble)
	beat(one)
	d.settle(one, third, w, 20*ruble)
	want("a call that cost much more", 0, 0)
	d.balanced()

	// A node that died is shown until its leases go back.
	d.hold(one, w, 4*ruble)
	beat(one)
	if err := one.Abandon(); err != nil {
		t.Fatal(err)
	}
	if b := must(other.Balance(d.ctx, w)); b.Held != 4*ruble {
		t.Errorf("%s of a dead node are held, want 4", b.Held)
	}
	for range 14 {
		d.clock.Advance(5 * time.Second)
		d.tick(other)
	}
	if b := must(other.Balance(d.ctx, w)); b.Held != 0 {
		t.Errorf("%s of an evicted node are held", b.Held)
	}
	d.balanced()
}

func deadNode(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	dead, alive := d.node(), d.node()
	d.hold(dead, w, 8*ruble)
	d.spend(dead, w, ruble)
	if err := dead.Abandon(); err != nil {
		t.Fatal(err)
	}
	d.tick(alive)
	d.refused(alive, ledger.HoldRequest{Wallet: w, Amount: 5 * ruble})
	for i := 0; i < 90 && must(d.store.Ledger.Balance(d.ctx, w)).Leased > 0; i += 5 {
		d.clock.Advance(5 * time.Second)
		d.tick(alive)
	}
	d.balanced()
	d.hold(alive, w, 5*ruble).Release()
	d.balanced()
}

func frozenNode(t *testing.T, d *books) {
	w := d.wallet(1000 * ruble)
	frozen, other := d.node(), d.node()
	h, idle := d.hold(frozen, w, 4*ruble), d.hold(frozen, w, ruble)
	if bal := must(d.store.Ledger.Balance(d.ctx, w)); bal.Leased <= 5*ruble {
		t.Fatalf("the lease has nothing to spare: %+v", bal)
	}
	d.tick(other)
	for range 14 {
		d.clock.Advance(5 * time.Second)
		d.tick(other)
	}
	all := d.hold(other, w, 1000*ruble) // what the frozen node held was taken over
	// It wakes, and its first act is not to lend what is no longer its own.
	if f := d.refused(frozen, ledger.HoldRequest{Wallet: w, Amount: 1}); f.Kind != fault.StorageUnavailable {
		t.Errorf("woken: %v", f)
	}
	if err := h.Grow(d.ctx, 1); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("grown: %v", err)
	}
	d.tick(frozen)
	d.refused(frozen, ledger.HoldRequest{Wallet: w, Amount: 1})
	idle.Release()
	d.settle(frozen, h, w, 3*ruble) // it was delivered, so it is charged, once
	d.flush(frozen)
	d.balanced()
	all.Release()
	for range 5 {
		d.clock.Advance(4 * time.Second)
		d.tick(frozen)
		d.tick(other)
	}
	d.wantBalance(d.store.Ledger, w, 1000*ruble, 3*ruble, 0)
	if f := d.hold(frozen, w, 997*ruble); f.Amount() != 997*ruble {
		t.Error("the node does not work again")
	}
	d.balanced()
}

// fencing is frozenNode at the store alone: not even a question that was under way may bring money to a closed epoch.
func fencing(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	const node = "node_1"
	must(d.store.Ledger.Position(d.ctx, node))
	epoch := must(d.store.Ledger.Join(d.ctx, node, d.clock.Now()))
	q := ledger.Borrow{Fund: ledger.Fund{Wallet: w}, Node: node, Epoch: epoch, Lease: 1, Need: ruble, Want: ruble, Now: d.clock.Now()}
	if g := must(d.store.Ledger.Borrow(d.ctx, q)); g.Granted != ruble || g.Fenced {
		t.Fatalf("%+v", g)
	}
	beat := func() int64 {
		must(d.store.Ledger.Position(d.ctx, "node_2"))
		others, _, err := d.store.Ledger.Beat(d.ctx, "node_2", 0, d.clock.Now())
		if err != nil || len(others) != 1 || others[0].ID != node {
			t.Fatalf("%v, %v", others, err)
		}
		return others[0].Beat
	}
	old := beat()
	if _, current, err := d.store.Ledger.Beat(d.ctx, node, epoch, d.clock.Now()); !current || err != nil {
		t.Fatal(current, err)
	}
	if gone := must(d.store.Ledger.Evict(d.ctx, node, old)); gone {
		t.Fatal("a node that lives was evicted")
	}
	if gone := must(d.store.Ledger.Evict(d.ctx, node, beat())); !gone {
		t.Fatal("a dead node was not evicted")
	}
	d.wantBalance(d.store.Ledger, w, 10*ruble, 0, 0)
	if g := must(d.store.Ledger.Borrow(d.ctx, q)); !g.Fenced || g.Granted != 0 {
		t.Fatalf("%+v", g)
	}
	if _, current, err := d.store.Ledger.Beat(d.ctx, node, epoch, d.clock.Now()); current || err != nil {
		t.Fatal(current, err)
	}
	d.wantBalance(d.store.Ledger, w, 10*ruble, 0, 0)
	d.balanced()
}

// coverOverrun: the cost of a call beyond its hold must not be taken from the money that covers another.
func coverOverrun(t *testing.T, d *books) {
	w := d.wallet(20 * ruble)
	one, two := d.node(), d.node()
	x, y := d.hold(one, w, 5*ruble), d.hold(one, w, 5*ruble)
	d.settle(one, x, w, 9*ruble)
	d.flush(one)
	d.tick(one)
	if f := d.refused(two, ledger.HoldRequest{Wallet: w, Amount: 6*ruble + 1}); f.Details["available"] != "6" {
		t.Errorf("%v", f.Details)
	}
	d.hold(two, w, 6*ruble)
	d.clock.Advance(2 * time.Second)
	d.tick(two) // reports to the other what it holds
	d.settle(one, y, w, 5*ruble)
	d.wantBalance(one, w, 20*ruble, 14*ruble, 6*ruble)
	d.balanced()
}

// away is a store that can be unplugged.
type away struct {
	*ledgerdb.Ledger
	gone    atomic.Bool
	unheard atomic.Bool // what is returned is, and the answer is lost
}

var errAway = fault.New(fault.StorageUnavailable, "away", "away")

func (a *away) Borrow(ctx context.Context, b ledger.Borrow) (ledger.Grant, error) {
	if a.gone.Load() {
		return ledger.Grant{}, errAway
	}
	return a.Ledger.Borrow(ctx, b)
}

func (a *away) Apply(ctx context.Context, b *ledger.Batch) (int64, error) {
	if a.gone.Load() {
		return 0, errAway
	}
	return a.Ledger.Apply(ctx, b)
}

func (a *away) Beat(ctx context.Context, node string, epoch int64, now time.Time) ([]ledger.Node, bool, error) {
	if a.gone.Load() {
		return nil, false, errAway
	}
	return a.Ledger.Beat(ctx, node, epoch, now)
}

func (a *away) Return(ctx context.Context, node string, rs []ledger.Return) error {
	if a.gone.Load() {
		return errAway
	}
	err := a.Ledger.Return(ctx, node, rs)
	if a.unheard.Load() {
		return errAway
	}
	return err
}

// closedUnheard has the store close a lease, and the node not learn of it. What was charged of it does not count twice when the store goes away.
func closedUnheard(t *testing.T, d *books) {
	a := &away{Ledger: d.store.Ledger}
	d.reached = a
	w := d.wallet(1000 * ruble)
	b := d.node()
	d.spend(b, w, ruble)
	a.unheard.Store(true)
	for range 3 {
		d.clock.Advance(time.Minute)
		_ = b.Tick(d.ctx) // fails where the answer is lost
	}
	if left := must(d.store.Ledger.Balance(d.ctx, w)).Leased; left != 0 {
		t.Fatalf("the lease is open, and has %s", left)
	}
	running := d.hold(b, w, ruble)
	a.gone.Store(true)
	d.settle(b, running, w, ruble)
	d.wantBalance(b, w, 1000*ruble, 2*ruble, 0)
	a.gone.Store(false)
	a.unheard.Store(false)
	d.tick(b)
	d.wantBalance(b, w, 1000*ruble, 2*ruble, 0)
	d.balanced()
}

func storeAway(t *testing.T, d *books) {
	a := &away{Ledger: d.store.Ledger}
	d.reached = a
	w, other := d.wallet(1000*ruble), d.wallet(10*ruble)
	b := d.node()
	running := d.hold(b, w, ruble)
	a.gone.Store(true)
	for range 3 {
		d.spend(b, w, ruble) // the lease has more than the first call needed
	}
	if f := d.refused(b, ledger.HoldRequest{Wallet: other, Amount: 1}); f.Kind != fault.StorageUnavailable || f.RetryAfter <= 0 {
		t.Errorf("a new wallet: %v", f)
	}
	if err := b.Ready(d.ctx); err != nil {
		t.Errorf("leases last, so the node stays: %v", err)
	}
	d.settle(b, running, w, ruble)
	if err := b.Flush(d.ctx); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("flush: %v", err)
	}
	d.wantBalance(b, w, 1000*ruble, 4*ruble, 0) // which can be read, and of which the store knows nothing yet
	if late, err := b.CatchUp(d.ctx); late == nil || err != nil {
		t.Errorf("catching up: %v, %v", late, err)
	}
	if _, _, err := b.Call(d.ctx, w, "gen-unknown"); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("a call that may be in the journal: %v", err)
	}
	if rows, err := b.Activity(d.ctx, w, "", "2000-01-01", "2100-01-01"); err != nil || len(rows) > 0 {
		t.Errorf("activity: %v, %v", rows, err)
	}
	if _, err := b.KeySpend(d.ctx, "key"); err != nil {
		t.Errorf("the spending of a key: %v", err)
	}
	d.clock.Advance(41 * time.Second)
	if err := b.Ready(d.ctx); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("no lease lasts, so every call is refused, and the node says that it is ready: %v", err)
	}
	if err := b.Tick(d.ctx); err == nil {
		t.Error("upkeep without a store")
	}
	if f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 1}); f.Kind != fault.StorageUnavailable {
		t.Errorf("after the lease: %v", f)
	}
	a.gone.Store(false)
	d.tick(b)
	if err := b.Ready(d.ctx); err != nil {
		t.Errorf("the store is back: %v", err)
	}
	d.wantBalance(b, w, 1000*ruble, 4*ruble, 0)
	d.spend(b, w, ruble)
	d.spend(b, other, ruble)
	d.wantBalance(b, w, 1000*ruble, 5*ruble, 0)
	d.clock.Advance(10 * time.Second)
	d.tick(b)
	d.tick(b)
	d.wantBalance(d.store.Ledger, w, 1000*ruble, 5*ruble, 0)
	d.balanced()
}

func noLeak(t *testing.T, d *books) {
	b := d.node()
	var wallets []string
	for range 5 {
		w := d.wallet(100 * ruble)
		wallets = append(wallets, w)
		for i := range 10 {
			h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: "key_" + w, Limits: []ledger.Limit{{ID: "key_" + w, Amount: 50 * ruble, Reset: ledger.Monthly}}, Amount: ruble})
			if err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				h.Release()
			} else if err := b.Settle(d.ctx, h, d.call(w, "key_"+w, ruble/2)); err != nil {
				t.Fatal(err)
			}
		}
		d.wantBalance(b, w, 100*ruble, 3*ruble, 0) // at once, with no call in flight
	}
	for range 3 {
		d.clock.Advance(3 * time.Second)
		d.tick(b)
	}
	for _, w := range wallets {
		d.wantBalance(d.store.Ledger, w, 100*ruble, 3*ruble, 0) // and idle leases went back
	}
	if holds, sum := b.Open(); holds != 0 || sum != 0 {
		t.Errorf("%d holds of %s", holds, sum)
	}
	d.balanced()
	d.hold(b, wallets[0], ruble)
	if err := b.Close(d.ctx); err != nil {
		t.Fatal(err)
	}
	d.wantBalance(d.store.Ledger, wallets[0], 100*ruble, 3*ruble, 0)
	d.balanced()
}

func clockSteps(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	b, other := d.node(), d.node()
	h := d.hold(b, w, ruble)
	for _, step := range []time.Duration{-time.Hour, time.Second, -time.Second, time.Second, -time.Second} {
		d.clock.Advance(step)
		d.tick(other)
		d.tick(b)
		d.spend(b, w, ruble)
	}
	d.settle(b, h, w, ruble)
	d.wantBalance(b, w, 100*ruble, 6*ruble, 0)
	d.balanced()
}

func manyAtOnce(t *testing.T, d *books) {
	cfg := d.config(filepath.Join(t.TempDir(), "journal"))
	cfg.ApplyEvery, cfg.TickEvery = time.Millisecond, time.Millisecond
	b := d.start(cfg)
	wallets := []string{d.wallet(ruble), d.wallet(ruble), d.wallet(ruble)}
	var charged [3]atomic.Int64
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 60 {
				k := (g + i) % 3
				w := wallets[k]
				r := ledger.HoldRequest{Wallet: w, Key: "key_1" + w, Amount: money.Nano(1000 + i)}
				if i%2 == 0 {
					r.Limits = []ledger.Limit{{ID: r.Key, Amount: ruble / 2, Reset: ledger.Weekly}}
				}
				h, err := b.Hold(d.ctx, r)
				if err != nil {
					t.Error(err)
					return
				}
				switch i % 5 {
				case 0:
					h.Release()
				case 1:
					if err := h.Grow(d.ctx, 500); err != nil {
						t.Error(err)
					}
					fallthrough
				default:
					cost := h.Amount() - money.Nano(i%7) + money.Nano(i%11)
					if err := b.Settle(d.ctx, h, d.call(w, r.Key, cost)); err != nil {
						t.Error(err)
					}
					charged[k].Add(int64(cost))
				}
				if i%20 == 0 {
					d.clock.Advance(time.Second)
					if _, err := b.Balance(d.ctx, w); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for k, w := range wallets {
		d.wantBalance(b, w, ruble, money.Nano(charged[k].Load()), 0)
	}
	d.balanced()
	if err := b.Close(d.ctx); err != nil {
		t.Fatal(err)
	}
}

func activity(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	b := d.node()
	add := func(day time.Duration, key, model string, cost money.Nano) {
		c := d.call(w, key, cost)
		c.At, c.Model = c.At.Add(day*24*time.Hour), model
		c.Usage.Reasoning = usage.Of(2)
		c.Lines[1].Quantity -= 2
		c.Lines = slices.Insert(c.Lines, 2, usage.Line{Kind: usage.KindReasoning, Quantity: 2})
		if err := b.Settle(d.ctx, d.hold(b, w, cost), c); err != nil {
			t.Fatal(err)
		}
	}
	add(-1, "key_1", "m/cheap", 1)
	add(-1, "key_1", "m/dear", 5)
	add(-1, "key_2", "m/dear", 7)
	add(-1, "key_2", "m/also", 1)
	add(-2, "key_1", "m/dear", 100)
	add(0, "key_1", "m/dear", 9)
	row := func(date, model string, cost money.Nano, n int64) ledger.ActivityRow {
		return ledger.ActivityRow{Date: date, Model: model, Cost: cost, Requests: n, PromptTokens: 10 * n, CompletionTokens: 5 * n, ReasoningTokens: 2 * n}
	}
	for name, c := range map[string]struct {
		key, from, to string
		want          []ledger.ActivityRow
	}{
		"all keys": {"", "2026-03-02", "2026-03-03", []ledger.ActivityRow{row("2026-03-03", "m/dear", 12, 2), row("2026-03-03", "m/also", 1, 1), row("2026-03-03", "m/cheap", 1, 1), row("2026-03-02", "m/dear", 100, 1)}},
		"one key":  {"key_2", "2026-03-02", "2026-03-04", []ledger.ActivityRow{row("2026-03-03", "m/dear", 7, 1), row("2026-03-03", "m/also", 1, 1)}},
		"one day":  {"", "2026-03-04", "2026-03-04", []ledger.ActivityRow{row("2026-03-04", "m/dear", 9, 1)}},
		"nothing":  {"", "2025-01-01", "2025-12-31", []ledger.ActivityRow{}},
	} {
		got, err := b.Activity(d.ctx, w, c.key, c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	d.balanced()
}

// paidTokens counts what was paid for, by wallet: not what was free, failed or given back.
func paidTokens(t *testing.T, d *books) {
	b := d.node()
	w, v := d.wallet(100*ruble), d.wallet(100*ruble)
	add := func(wallet string, day time.Duration, model string, cost money.Nano, edit func(*record.Call)) *record.Call {
		c := d.call(wallet, "", cost)
		c.At, c.Model = c.At.Add(day*24*time.Hour), model
		if edit != nil {
			edit(c)
		}
		if err := b.Settle(d.ctx, d.hold(b, wallet, cost), c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	by := func(provider string) func(*record.Call) { return func(c *record.Call) { c.Provider = provider } }
	add(w, -1, "m/paid", 5, nil)
	add(w, 0, "m/paid", 7, nil)
	add(v, -1, "m/paid", 1, nil)
	add(v, -1, "m/paid:nitro", 1, nil)
	add(w, -2, "m/paid", 5, nil) // another day
	add(w, -1, "m/paid", 0, by("gratis"))
	add(w, -1, "m/free", 0, nil)
	add(w, -1, "m/failed", 3, func(c *record.Call) { c.Error = "provider_unavailable" })
	add(w, -1, "m/canceled", 3, func(c *record.Call) { c.Error, c.Cancelled = "canceled", true })
	back := add(v, -1, "m/back", ruble, nil)
	if _, err := b.GiveBack(d.ctx, ledger.Refund{Generation: back.Generation, ID: "1", Reason: "a test", Actor: audit.Actor{Name: "tester"}}); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	var wallets []string
	if err := d.store.Ledger.PaidTokens(d.ctx, "2026-03-03", "2026-03-04", func(wallet, model string, tokens int64) {
		if len(wallets) == 0 || wallets[len(wallets)-1] != wallet {
			wallets = append(wallets, wallet)
		}
		got[map[string]string{w: "w ", v: "v "}[wallet]+model] += tokens
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"w m/paid": 30, "v m/paid": 15, "v m/paid:nitro": 15, "w m/canceled": 15}, got); diff != "" {
		t.Error(diff)
	}
	if len(wallets) != 2 {
		t.Errorf("the wallets come as %v", wallets)
	}
	d.balanced()
}

func oneProcess(t *testing.T, d *books) {
	dir := filepath.Join(t.TempDir(), "journal")
	b := d.start(d.config(dir))
	if _, err := ledger.Start(d.ctx, d.store.Ledger, d.config(dir)); !fault.Is(err, fault.Conflict) {
		t.Fatalf("%v", err)
	}
	if err := b.Close(d.ctx); err != nil {
		t.Fatal(err)
	}
	again := d.start(d.config(dir))
	if again.Node() != b.Node() {
		t.Error("another identity")
	}
}

// awkwardCall has NUL and broken UTF-8 wherever foreign text could end up.
func awkwardCall(t *testing.T, d *books) {
	const bad = "a\x00b\xff"
	w := d.wallet(10 * ruble)
	b := d.node()
	c := d.call(w, "", ruble)
	c.User, c.API, c.ModelAsked, c.Model, c.Provider, c.Endpoint, c.UserAgent, c.Finish = bad, bad, bad, bad, bad, bad, bad, bad
	if err := b.Settle(d.ctx, d.hold(b, w, ruble), c); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Adjust(d.ctx, ledger.Adjustment{Wallet: w, ID: "1", Amount: ruble, Reason: bad, Actor: audit.Actor{Name: bad, From: bad}}); err != nil {
		t.Fatal(err)
	}
	d.wantBalance(b, w, 11*ruble, ruble, 0)
	if x, err := ledger.Explain(d.ctx, d.store.Ledger, "", c.Generation); err != nil || !x.Matches {
		t.Errorf("%s, %v", x.Why, err)
	}
	for _, kind := range []func() error{
		func() error { _, err := d.store.Ledger.Balance(d.ctx, bad); return err },
		func() error { _, _, err := d.store.Ledger.Call(d.ctx, bad, bad); return err },
	} {
		if err := kind(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v; want NotFound", err)
		}
	}
	if rows, err := d.store.Ledger.Activity(d.ctx, w, "", "2026-03-04", "2026-03-04"); err != nil || len(rows) != 1 || rows[0].Model != "a\uFFFDb\uFFFD" {
		t.Errorf("%v, %v", rows, err)
	}
	d.balanced()
}

// largestCall has more than can be kept in each field that somebody else fills: it is charged like any other.
func largestCall(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	cfg := d.config(filepath.Join(t.TempDir(), "journal"))
	cfg.Journal.SegmentBytes = 2 << 20
	b := d.start(cfg)
	text := strings.Repeat("\x00я\xff", 1<<18)
	c := d.call(w, "key_1", ruble)
	for _, p := range []*string{&c.Request, &c.User, &c.API, &c.ModelAsked, &c.Model, &c.Provider, &c.ProviderName, &c.Endpoint, &c.UpstreamModel, &c.UpstreamID, &c.Error,
		&c.Finish, &c.NativeFinish, &c.Notice, &c.PriceList, &c.Rate, &c.SourcePrice, &c.Catalog, &c.UserAgent, &c.Referer, &c.Title, &c.Session, &c.ClientUser, &c.Metadata, &c.Member, &c.Team,
		&c.Usage.UpstreamCost, &c.Usage.Tier} {
		*p = text
	}
	for _, n := range c.Usage.Counts() {
		*n = usage.Of(math.MaxInt64)
	}
	c.Usage.Requests = usage.Of(1) // what is billed was cut before; see usage.Bound
	bounded := *c
	bounded.Bound()
	c.Lines = usage.AppendLines(nil, &bounded.Usage, &catalog.Prices{Request: money.Price{Nano: int64(ruble), Set: true}})
	c.Status, c.At, c.Duration, c.FirstContent = math.MaxInt, time.Unix(1<<40, 0), math.MaxInt64, math.MinInt64
	for range 5000 {
		c.Candidates = append(c.Candidates, record.Candidate{Endpoint: text, DroppedBy: text, Detail: text, Reason: text, Slug: text, Score: math.Inf(1)})
		c.Attempts = append(c.Attempts, record.Attempt{Endpoint: text, Provider: text, Reason: text, Status: math.MaxInt})
		c.Tags, c.Funds = append(c.Tags, text), append(c.Funds, record.Fund{ID: text, Kind: text})
	}
	if err := b.Settle(d.ctx, d.hold(b, w, ruble), c); err != nil {
		t.Fatal(err)
	}
	d.wantBalance(b, w, 10*ruble, ruble, 0)
	kept, entries, err := b.Call(d.ctx, w, c.Generation)
	if err != nil || kept.Cost != ruble || kept.Key != "key_1" || len(entries) != 1 || entries[0].Amount != -ruble {
		t.Fatalf("%v, %v, %v", kept, entries, err)
	}
	d.balanced()
}
