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

	upkeep struct { // guarded by its mutex; see Tick
		sync.Mutex
		beatAt time.Time
		seen   map[string]sighting
	}

	dropped atomic.Int64 // uncharged records that found no room

	applier, keeper *loop.Loop
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
	b.keeper = loop.Every(cfg.TickEvery, b.upkeepRound)
	for i := range b.shards {
		b.shards[i].shares = map[shareID]*share{}
	}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.abandon())
	}
	b.applier.Start()
	b.keeper.Start()
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
	Key    string    // "" for calls without one
	Limit  *KeyLimit // nil: only the wallet's balance binds
	Amount money.Nano
}

// Hold is money reserved for one call. It ends once, by Settle or Release.
type Hold struct {
	book   *Book
	mu     sync.Mutex
	asked  HoldRequest // Amount: all that is held
	limit  KeyLimit    // asked.Limit points to it
	wallet *lease      // nil while nothing is held
	key    *lease      // nil without a limit
	ended  bool
}

// Hold reserves r.Amount, which must not be negative. It fails with fault.PaymentRequired when the wallet or the key's limit has too
// little (Details: "required" and "available" in rubles, "reason": "key_limit" when the limit is what is too low, and "reserved" with a RetryAfter
// when only the holds of calls that run are in the way), and with
// fault.StorageUnavailable when only the store could decide, and it is unavailable.
func (b *Book) Hold(ctx context.Context, r HoldRequest) (*Hold, error) {
	if r.Amount < 0 || r.Limit != nil && r.Key == "" || len(r.Wallet) > record.MaxID || len(r.Key) > record.MaxID {
		return nil, fault.Wrap("ledger.Hold", fmt.Errorf("a hold of %s, key %q, limited: %t", r.Amount, r.Key, r.Limit != nil))
	}
	if err := b.refuses(); err != nil {
		return nil, err
	}
	h := &Hold{book: b, asked: r}
	h.asked.Amount = 0
	if r.Limit != nil {
		h.limit = *r.Limit
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
	w, err := h.book.move(ctx, shareID{Wallet: h.asked.Wallet}, h.wallet, nil, h.asked.Amount, extra)
	if err != nil {
		return err
	}
	if h.asked.Limit != nil {
		k, err := h.book.move(ctx, shareID{Wallet: h.asked.Wallet, Key: h.asked.Key}, h.key, &h.limit, h.asked.Amount, extra)
		if err != nil {
			h.unextend(w, extra)
			return err
		}
		h.key = k
	}
	h.wallet = w
	h.asked.Amount = total
	return nil
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

// unextend reverses the hold on the wallet when the key's limit refused.
func (h *Hold) unextend(w *lease, extra money.Nano) {
	if h.wallet != nil && w != h.wallet { // the hold has moved as a whole
		h.wallet = w
	}
	if h.wallet == nil {
		w.end(extra, 0)
		return
	}
	w.grow(-extra)
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
	h.key.end(h.asked.Amount, cost)
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
	it := Item{Call: *c, WalletLease: h.wallet.number(), KeyLease: h.key.number()}
	it.Call.Settled = true
	it.Call.Bound()
	cost := min(c.Cost, maxHold)
	if it.Call.Cost = cost; cost < c.Cost {
		b.log.Error("a charge was cut to the most that one call can cost", "generation", it.Call.Generation, "cost", c.Cost, "charged", cost)
	}
	buf := buffers.Get().(*[]byte)
	*buf = appendItem((*buf)[:0], &it)
	// What the store will take from a lease must never be more than the lease has recorded: an overrun counts before it is written.
	over := max(0, cost-h.asked.Amount)
	h.wallet.grow(over)
	h.key.grow(over)
	err := b.journal.Append(*buf)
	putBuffer(buf)
	if err != nil {
		h.wallet.grow(-over)
		h.key.grow(-over)
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
	it.Call.Settled, it.Call.Cost = false, 0
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
