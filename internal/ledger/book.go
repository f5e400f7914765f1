package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger/journal"
	"weir/internal/loop"
	"weir/internal/money"
	"weir/internal/record"
)

// Book is the ledger of one node: it holds and settles in memory and in the journal, and writes both to the store in the background.
// It is safe for concurrent use.
type Book struct {
	store   Store
	cfg     Config
	log     *slog.Logger
	claim   *journal.Claim
	journal *journal.Journal
	started time.Time

	epoch    atomic.Int64
	goodFor  atomic.Int64 // leases may be used until started + that many nanoseconds
	leases   atomic.Int64 // ids given out
	draining atomic.Bool  // Close was called

	seed   maphash.Seed
	shards [64]shard

	node       string // this node's identity
	life       string // of this start
	superseded atomic.Bool

	applying   chan struct{} // one token: its holder applies
	stretch    stretch       // guarded by applying
	writer     string        // guarded by applying: the node in whose name the journal is applied
	identities int           // that were taken since; the applying token guards it
	most       int           // guarded by applying: records in the next batch
	aside      atomic.Int64  // records that could not be posted
	asideHere  atomic.Bool   // one of them is of this life, so leases are not charged all that was settled of them
	applied    atomic.Int64  // position in the journal
	behind     atomic.Bool   // the store did not take the last batch
	asleep     atomic.Bool   // the applier waits for work
	applyPause time.Duration // before it applies; its rounds alone use it

	upkeep struct { // guarded by its mutex; see beat
		sync.Mutex
		beatAt time.Time
		seen   map[string]sighting
	}

	dropped atomic.Int64 // uncharged records that found no room

	applier, keeper, sweeper *loop.Loop
}

// sighting is when a node's beat was seen to change.
type sighting struct {
	beat  int64
	since time.Time
}

type shard struct {
	sync.RWMutex
	shares map[shareID]*share
}

// Start opens the ledger of the node that owns cfg.Dir. Before it returns, it applies the records that the former process left in the
// journal, and returns the money that it had leased. It fails with fault.Conflict when another process uses cfg.Dir.
func Start(ctx context.Context, store Store, cfg Config) (*Book, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Wait == nil {
		cfg.Wait = loop.Wait
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	b := &Book{store: store, cfg: cfg, log: cfg.Log, started: cfg.Now(), seed: maphash.MakeSeed(), life: "life_" + strings.ToLower(rand.Text()), most: maxBatch,
		applying: make(chan struct{}, 1)}
	b.upkeep.seen = map[string]sighting{}
	b.applyPause = cfg.ApplyEvery
	b.applier = loop.New(0, b.applyRound)
	b.keeper = loop.Every(cfg.TickEvery, b.upkeepRound(b.signs))
	b.sweeper = loop.Every(cfg.TickEvery, b.upkeepRound(b.sweep))
	for i := range b.shards {
		b.shards[i].shares = map[shareID]*share{}
	}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.abandon())
	}
	b.applier.Start()
	b.keeper.Start()
	b.sweeper.Start()
	return b, nil
}

// JournalDir is the folder of the journal in a data directory.
func JournalDir(data string) string { return filepath.Join(data, "journal") }

func (b *Book) open(ctx context.Context) (err error) {
	if b.claim, err = journal.Take(b.cfg.Dir); err != nil {
		return err
	}
	books, err := b.store.Books(ctx, "books_"+strings.ToLower(rand.Text()))
	if err != nil {
		return err
	}
	if err := journal.CheckBooks(b.cfg.Dir, books); err != nil {
		return err
	}
	position, err := b.identify(ctx)
	if err != nil {
		return err
	}
	if n, err := b.store.CountAsides(ctx); err != nil {
		return err
	} else if n > 0 {
		b.aside.Store(n)
		b.log.Error("records wait that could not be posted, and their calls are not charged. See them with: weir ledger aside list", "records", n)
	}
	b.applied.Store(position)
	o := b.cfg.Journal
	o.Books, o.Base, o.Now, o.OnSyncError, o.OnTorn = books, position, b.cfg.Now, b.syncFailed, b.torn
	b.journal, err = journal.Open(b.cfg.Dir, o)
	if err != nil {
		return err
	}
	if first := b.journal.First(); first > position && position > 0 {
		b.log.Warn("the store is older than the journal: settlements between them are missing from the store, unless it has them from elsewhere",
			"store", position, "journal", first)
	}
	if err := b.Flush(ctx); err != nil {
		return err
	}
	return b.join(ctx)
}

// join begins a new epoch, in which no lease exists yet.
func (b *Book) join(ctx context.Context) error {
	now := b.cfg.Now()
	epoch, err := b.store.Join(ctx, b.node, now)
	if err != nil {
		return err
	}
	b.epoch.Store(epoch)
	b.beaten(now)
	return nil
}

// beaten notes that the store took a sign of life that left at that time.
func (b *Book) beaten(at time.Time) {
	b.goodFor.Store(int64(at.Sub(b.started) + b.cfg.LeaseFor))
	b.upkeep.beatAt = at
}

func (b *Book) torn(path string, bytes int64) {
	b.log.Warn("the journal ends in a record that was not written whole when the node ended: the answer of its call had not ended, and it is not charged", "file", path, "bytes", bytes)
}

func (b *Book) syncFailed(err error) {
	b.log.Error("the disk does not keep the journal; no new calls are taken until it does", "error", err)
}

// Ready returns why the node should get no new calls: its journal has no room for them, or the store has been away for so long that its leases
// are over. It is nil when the node should get them. A store that is away is no reason before: all nodes would leave at once, while their
// leases still last.
func (b *Book) Ready(context.Context) error {
	if err := b.refuses(); err != nil {
		return err
	}
	if !b.beating(b.cfg.Now()) {
		return storeAway("ledger.Ready", errors.New("the store has taken no sign of life of this node for longer than leases last"))
	}
	return nil
}

// refuses returns why nothing new may be held, whatever the store says.
func (b *Book) refuses() error {
	if b.superseded.Load() {
		return storeAway("ledger.Ready", errSuperseded)
	}
	if !b.journal.Ready() || b.draining.Load() {
		return storeAway("ledger.Ready", errors.New("the journal has no room for new calls"))
	}
	return nil
}

// Node is this node's identity.
func (b *Book) Node() string { return b.node }

// Close writes everything to the store, returns the leases and ends the Book's goroutines. Holds that are still open are void. When the
// store is unavailable the journal keeps the rest for the next Start; the error reports that.
func (b *Book) Close(ctx context.Context) error {
	b.draining.Store(true)
	b.end()
	err := b.Flush(ctx)
	if err == nil {
		err = b.store.Leave(ctx, b.node, b.epoch.Load())
	}
	return errors.Join(err, b.journal.Close(), b.claim.Release())
}

// end ends the Book's goroutines.
func (b *Book) end() {
	b.applier.Stop()
	b.keeper.Stop()
	b.sweeper.Stop()
}

// Abandon ends the Book as the death of its process would: nothing is flushed, nothing given back.
func (b *Book) Abandon() error {
	b.end()
	return b.abandon()
}

func (b *Book) abandon() error {
	var errs []error
	if b.journal != nil {
		errs = append(errs, b.journal.Abandon())
	}
	if b.claim != nil {
		errs = append(errs, b.claim.Release())
	}
	return errors.Join(errs...)
}

// HoldRequest asks for money to be reserved.
type HoldRequest struct {
	Wallet string
	Key    string  // "" for calls without one
	Limits []Limit // at most MaxLimits, of different ids: the key's own first, if it has one. They are not changed, and not read after the call
	Amount money.Nano
}

// Hold is money reserved for one call. It ends once, by Settle or Release.
type Hold struct {
	book   *Book
	mu     sync.Mutex
	asked  asked
	wallet *lease // nil while nothing is held
	limits []limited
	ended  bool
}

// asked is for what a hold is.
type asked struct {
	Wallet, Key string
	Amount      money.Nano // all that is held
}

// limited is what is held of a limit.
type limited struct {
	Limit
	lease *lease // nil while nothing is held, and for an open limit
}

// Hold reserves r.Amount, which must not be negative, of the wallet and of each limit: of all of them or of none. It fails with fault.PaymentRequired
// when one has too little. Details: "required" and "available" in rubles, and "reserved" with a RetryAfter when only the holds of calls that run are in
// the way. Where a limit is too low, Details have it as well: "reason" is "budget" or "key_limit", "budget" or "key" its id, and "renews_at" when its
// next interval begins, in RFC 3339, if there is one. Of several such limits it is the strictest. Hold fails with fault.StorageUnavailable when only the
// store could decide, and it is unavailable.
func (b *Book) Hold(ctx context.Context, r HoldRequest) (*Hold, error) {
	if r.Amount < 0 || len(r.Wallet) > record.MaxID || len(r.Key) > record.MaxID || !differ(r.Limits) {
		return nil, fault.Wrap("ledger.Hold", fmt.Errorf("a hold of %s, key %q, with %d limits", r.Amount, r.Key, len(r.Limits)))
	}
	if err := b.refuses(); err != nil {
		return nil, err
	}
	h := &Hold{book: b, asked: asked{Wallet: r.Wallet, Key: r.Key}}
	if len(r.Limits) > 0 {
		h.limits = make([]limited, len(r.Limits))
		for i, l := range r.Limits {
			h.limits[i].Limit = l
		}
	}
	if err := h.extend(ctx, r.Amount); err != nil {
		return nil, err
	}
	return h, nil
}

// Amount is how much is reserved.
func (h *Hold) Amount() money.Nano {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked.Amount
}

// Grow reserves extra more. It fails like Hold; then the former amount is still held.
func (h *Hold) Grow(ctx context.Context, extra money.Nano) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || extra < 0 {
		return fault.Wrap("ledger.Grow", fmt.Errorf("growing a hold by %s, ended: %t", extra, h.ended))
	}
	return h.extend(ctx, extra)
}

func (h *Hold) extend(ctx context.Context, extra money.Nano) error {
	if extra == 0 {
		return nil
	}
	total, err := h.asked.Amount.Add(extra)
	if err != nil || total > maxHold {
		return h.book.implausible(ctx, h.asked.Wallet, max(extra, h.asked.Amount))
	}
	first := h.wallet == nil
	w, err := h.book.move(ctx, shareID{Wallet: h.asked.Wallet}, h.wallet, nil, h.asked.Amount, extra)
	if err != nil {
		return err
	}
	h.wallet = w
	for i := range h.limits {
		x := &h.limits[i]
		if x.Open {
			continue
		}
		l, err := h.book.move(ctx, h.share(x), x.lease, &x.Limit, h.asked.Amount, extra)
		if err != nil {
			err = h.strictest(ctx, h.refusal(err, x), h.limits[i+1:], extra)
			h.unextend(h.limits[:i], extra, first)
			return err
		}
		x.lease = l
	}
	h.asked.Amount = total
	return nil
}

func (h *Hold) share(x *limited) shareID { return shareID{Wallet: h.asked.Wallet, Key: x.ID} }

// unextend gives back what the wallet and the first limits have reserved before one refused.
func (h *Hold) unextend(taken []limited, extra money.Nano, first bool) {
	h.wallet = h.wallet.shrink(extra, first)
	for i := range taken {
		taken[i].lease = taken[i].lease.shrink(extra, first)
	}
}

// maxHold is more than any call costs, and little enough that sums of it fit.
const maxHold = 1_000_000_000 * money.Ruble

// implausible refuses a hold that no wallet could cover.
func (b *Book) implausible(ctx context.Context, wallet string, n money.Nano) error {
	bal, err := b.Balance(ctx, wallet)
	if err != nil {
		return err
	}
	p := b.lock(shareID{Wallet: wallet})
	defer p.mu.Unlock()
	return p.tooLittle(n, bal.Balance-bal.Held, false)
}

// Release gives the reserved money back. It is harmless after Settle or another Release.
func (h *Hold) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.end(0)
	}
}

func (h *Hold) end(cost money.Nano) {
	h.ended = true
	h.wallet.end(h.asked.Amount, cost)
	for i := range h.limits {
		h.limits[i].lease.end(h.asked.Amount, cost)
	}
}

// grow changes what is held everywhere, even beyond what is free.
func (h *Hold) grow(n money.Nano) {
	h.wallet.grow(n)
	for i := range h.limits {
		h.limits[i].lease.grow(n)
	}
}

// keyLease is the number of the lease of the key's own limit; 0 without one.
func (h *Hold) keyLease() int64 {
	for i := range h.limits {
		if x := &h.limits[i]; x.ID == h.asked.Key {
			return x.lease.number()
		}
	}
	return 0
}

// funds are the intervals, other than those of the key itself, in which a call that began at that time counts.
func (h *Hold) funds(at time.Time) []record.Fund {
	var list []record.Fund
	for i := range h.limits {
		x := &h.limits[i]
		if x.ID == h.asked.Key {
			continue
		}
		if list == nil {
			list = make([]record.Fund, 0, len(h.limits)-i)
		}
		f := record.Fund{ID: x.ID, Lease: x.lease.number()}
		if x.lease != nil {
			f.Kind, f.Start = x.lease.fund.Period.Kind, x.lease.fund.Period.Start
		} else {
			p := x.Reset.Period(h.book.store.Local(h.asked.Wallet, at))
			f.Kind, f.Start = p.Kind, p.Start
		}
		list = append(list, f)
	}
	return list
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

const keepBuffer = 16 << 10 // a larger buffer is left to the collector

func putBuffer(b *[]byte) {
	if cap(*b) <= keepBuffer {
		buffers.Put(b)
	}
}

// Settle ends h with a charge of c.Cost, which may exceed the hold when more was delivered than expected. It returns when the record is
// in the journal: from then on the charge survives the end of the process. An error means that nothing was charged and that h is still
// open.
func (b *Book) Settle(_ context.Context, h *Hold, c *record.Call) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return fault.Wrap("ledger.Settle", fmt.Errorf("the hold of %s has ended before", c.Generation))
	case c.Cost < 0 || c.Wallet != h.asked.Wallet || c.Generation == "":
		return fault.Wrap("ledger.Settle", fmt.Errorf("a charge of %s on %q for %q, held from %q", c.Cost, c.Wallet, c.Generation, h.asked.Wallet))
	}
	it := Item{Call: *c, WalletLease: h.wallet.number(), KeyLease: h.keyLease()}
	it.Call.Settled, it.Call.Funds = true, h.funds(c.At)
	it.Call.Bound()
	cost := min(c.Cost, maxHold)
	if it.Call.Cost = cost; cost < c.Cost {
		b.log.Error("a charge was cut to the most that one call can cost", "generation", it.Call.Generation, "cost", c.Cost, "charged", cost)
	}
	buf := buffers.Get().(*[]byte)
	*buf = appendItem((*buf)[:0], &it)
	// What the store will take from a lease must never be more than the lease has recorded: an overrun counts before it is written.
	over := max(0, cost-h.asked.Amount)
	h.grow(over)
	err := b.journal.Append(*buf)
	putBuffer(buf)
	if err != nil {
		h.grow(-over)
		return err
	}
	h.asked.Amount += over
	h.end(cost)
	b.wakeApplier()
	return nil
}

// Note keeps the record of a call that costs nothing. It never waits: under great pressure the record is dropped.
func (b *Book) Note(c *record.Call) {
	var it Item
	it.Call = *c
	it.Call.Settled, it.Call.Cost, it.Call.Funds = false, 0, nil
	it.Call.Bound()
	buf := buffers.Get().(*[]byte)
	*buf = appendItem((*buf)[:0], &it)
	ok := b.journal.Add(*buf)
	putBuffer(buf)
	if !ok {
		b.dropped.Add(1)
		return
	}
	b.wakeApplier()
}

// Dropped is how many records of uncharged calls found no room since Start.
func (b *Book) Dropped() int64 { return b.dropped.Load() }

// Lag is how many bytes of the journal the store has not taken yet.
func (b *Book) Lag() int64 { return max(0, b.journal.End()-b.applied.Load()) }

func storeAway(op string, cause error) *fault.Error {
	e := fault.New(fault.StorageUnavailable, op, "The balance cannot be checked at present. Try again.").Because(cause)
	e.RetryAfter = 2 * time.Second
	return e
}
