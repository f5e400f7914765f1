package ledger

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
)

// shareID identifies the fund of a hold: a wallet, or a limit in it.
type shareID struct{ Wallet, Key string }

// share is a node's share of a wallet or of a limit. Its lock is held for moments, never across a question to the store.
type share struct {
	id   shareID
	book *Book

	mu      sync.Mutex
	dead    bool          // no longer in the book: look it up again
	lease   *lease        // the source of new holds, or nil
	former  []*lease      // no longer used, to be closed when their holds have ended
	busy    chan struct{} // not nil while someone asks the store about this share; closed at the end
	closing bool          // leases that nothing uses go back just now
	tries   int           // how many such questions were begun
	waiting money.Nano    // the sum for which other holds wait meanwhile
	refused refusal
	failed  failure

	want     money.Nano // size of the last grant
	wantAt   time.Time
	tight    time.Time // until then borrow no more than needed: other nodes are short
	lowSince time.Time
}

// refusal is the last answer that there is too little.
type refusal struct {
	try       int
	available money.Nano
	elsewhere money.Nano // in the leases of other nodes, and kept for jobs
}

// failure is the last failed answer.
type failure struct {
	try int
	err error
}

// lease is money borrowed from a fund. Its figures are guarded by the share's lock.
type lease struct {
	share *share
	id    int64
	epoch int64
	fund  Fund
	limit money.Nano // the amount of the Limit, when it was borrowed

	granted  money.Nano
	spent    money.Nano // settled, whether applied or not
	held     money.Nano
	holds    int
	low      money.Nano // least that was free since share.lowSince
	unsure   bool       // the store may have granted more than this node knows
	reported money.Nano // of held, at the last sign of life
}

func (l *lease) free() money.Nano { return l.granted - l.spent - l.held }

func (l *lease) number() int64 {
	if l == nil {
		return 0
	}
	return l.id
}

// take reserves n for a hold, which may have something from this lease already.
func (l *lease) take(n money.Nano, first bool) {
	l.held += n
	l.low = min(l.low, l.free())
	if first {
		l.holds++
	}
}

// end ends a hold of n with a charge.
func (l *lease) end(n, cost money.Nano) {
	if l == nil {
		return
	}
	l.share.mu.Lock()
	defer l.share.mu.Unlock()
	l.held -= n
	l.spent += cost
	l.holds--
	l.low = min(l.low, l.free())
}

// grow changes the size of a hold, even beyond the free amount.
func (l *lease) grow(n money.Nano) {
	if l == nil || n == 0 {
		return
	}
	l.share.mu.Lock()
	defer l.share.mu.Unlock()
	l.held += n
	l.low = min(l.low, l.free())
}

// shrink takes n of a hold back, or all of it when that is its first. It returns the lease that the hold has then.
func (l *lease) shrink(n money.Nano, first bool) *lease {
	if first {
		l.end(n, 0)
		return nil
	}
	l.grow(-n)
	return l
}

// usable reports whether new holds may come from l.
func (b *Book) usable(l *lease, lim *Limit, now time.Time) bool {
	if l == nil || l.unsure || l.epoch != b.epoch.Load() || !b.beating(now) {
		return false
	}
	if lim == nil {
		return true
	}
	return l.limit == lim.Amount && l.fund.Period == lim.Reset.Period(b.store.Local(l.fund.Wallet, now))
}

// beating reports whether the store has received this node's sign of life recently enough for its leases to be valid.
func (b *Book) beating(now time.Time) bool { return int64(now.Sub(b.started)) < b.goodFor.Load() }

func (b *Book) share(id shareID) *share {
	hash := maphash.String(b.seed, id.Wallet)
	if id.Key != "" {
		hash += maphash.String(b.seed, id.Key)
	}
	s := &b.shards[hash%uint64(len(b.shards))]
	s.RLock()
	p := s.shares[id]
	s.RUnlock()
	if p != nil {
		return p
	}
	s.Lock()
	defer s.Unlock()
	if p = s.shares[id]; p == nil {
		p = &share{id: id, book: b}
		s.shares[id] = p
	}
	return p
}

// lock finds the share and locks it.
func (b *Book) lock(id shareID) *share {
	for {
		p := b.share(id)
		p.mu.Lock()
		if !p.dead {
			return p
		}
		p.mu.Unlock()
	}
}

// move reserves extra for a hold that has amount from the lease from (nil: nothing yet), and returns the lease that now covers the whole
// hold. When from is out of use by then, its amount moves to the new lease, too.
func (b *Book) move(ctx context.Context, id shareID, from *lease, lim *Limit, amount, extra money.Nano) (*lease, error) {
	l, err := b.take(ctx, id, from, lim, extra)
	if err != nil || from == nil || l == from {
		return l, err
	}
	again, err := b.take(ctx, id, l, lim, amount)
	if err == nil && again != l { // the world changes faster than we ask it
		again.end(amount, 0)
		err = storeAway("ledger.Grow", errors.New("leases change too fast"))
	}
	if err != nil {
		l.end(extra, 0)
		return nil, err
	}
	from.end(amount, 0)
	return l, nil
}

// take reserves n from the share's lease, which it makes or extends when there is too little. has is the lease from which the
// hold has something already.
func (b *Book) take(ctx context.Context, id shareID, has *lease, lim *Limit, n money.Nano) (*lease, error) {
	p := b.lock(id)
	arrived, wait := p.tries, p.busy != nil
	for {
		if p.dead {
			p.mu.Unlock()
			p = b.lock(id)
			arrived, wait = p.tries, p.busy != nil
		}
		l := p.lease
		usable := b.usable(l, lim, b.cfg.Now())
		if usable && l.free() >= n {
			l.take(n, l != has)
			p.mu.Unlock()
			return l, nil
		}
		if err := p.known(arrived, wait, l, usable, n, has == nil); err != nil {
			p.mu.Unlock()
			return nil, err
		}
		if p.busy == nil {
			l, err := b.ask(ctx, p, has, lim, n)
			if l != nil || err != nil {
				p.mu.Unlock()
				return l, err
			}
			continue
		}
		if err := p.await(ctx, n); err != nil {
			p.mu.Unlock()
			return nil, err
		}
	}
}

// known refuses n when a question to the store that failed ended after the caller arrived (wait: one was under way then), or when
// one that began after that has shown that there is not enough. first: nothing is held for the call yet.
func (p *share) known(arrived int, wait bool, l *lease, usable bool, n money.Nano, first bool) error {
	if p.failed.try > arrived || wait && p.failed.try == arrived {
		return p.failed.err
	}
	if p.refused.try <= arrived {
		return nil
	}
	free := money.Nano(0)
	if usable {
		free = l.free()
	}
	if n-free > p.refused.available {
		return p.tooLittle(n, p.refused.available+free, first)
	}
	return nil
}

// await waits for the question under way. It is called and returns with the lock.
func (p *share) await(ctx context.Context, n money.Nano) error {
	ch := p.busy
	some := min(n, maxWant/1024)
	p.waiting += some
	p.mu.Unlock()
	var err error
	select {
	case <-ch:
	case <-ctx.Done():
		err = fault.New(fault.Canceled, "ledger.Hold", "The request was cancelled.").Because(ctx.Err())
	}
	p.mu.Lock()
	p.waiting -= some
	return err
}

// begin claims the share for a question to the store; the function that it returns ends that. Both are called with the lock.
func (p *share) begin() (end func()) {
	ch := make(chan struct{})
	p.busy = ch
	p.tries++
	return func() {
		p.busy = nil
		close(ch)
	}
}

// ask borrows from the store so that n can be held, and takes it. It is called and returns with the lock, which it releases meanwhile.
// When it returns neither a lease nor an error, the caller checks again.
//
// While the lock is released, calls go on: they take from the lease, and end their holds on it. So figures from before are not used after,
// and the grant is added to what the lease has then. busy keeps a second question about this share from being asked meanwhile. An answer
// that is lost leaves the lease unsure: the store may have granted what this node does not know of, and only closing the lease brings
// that back.
func (b *Book) ask(ctx context.Context, p *share, has *lease, lim *Limit, n money.Nano) (*lease, error) {
	now := b.cfg.Now()
	if !b.beating(now) {
		return nil, storeAway("ledger.Hold", errors.New("the store has taken no sign of life of this node for too long"))
	}
	end := p.begin()
	defer end()
	l, old := b.leaseFor(p, lim, now)
	back := old.spare()
	need := n - l.free()
	want := max(need, p.estimate(now, need, b.cfg.SpendFor))
	try := p.tries
	q := Borrow{Fund: l.fund, Limit: l.limit, Node: b.node, Epoch: l.epoch, Lease: l.id, Need: need, Want: want, Now: now}
	p.mu.Unlock()
	var g Grant
	var recalled bool
	err := b.returnSpare(ctx, old, back)
	if err == nil {
		g, recalled, err = b.borrow(ctx, q)
	}
	p.mu.Lock()

	if recalled {
		p.tight = b.cfg.Now().Add(b.cfg.SpendFor)
	}
	switch {
	case err != nil:
		// The store may have done it all the same: the lease is closed as soon as nothing needs it.
		l.unsure = true
		p.retire(l)
		p.failed = failure{try: try, err: err}
		return nil, err
	case g.Fenced:
		p.retire(l)
		return nil, b.rejoin(ctx, p, l.epoch)
	case g.Granted == 0:
		p.refused = refusal{try: try, available: max(g.Available, 0), elsewhere: g.Elsewhere + min(g.Jobs, math.MaxInt64-g.Elsewhere)}
		if l.granted == 0 && l.holds == 0 && p.lease == l {
			p.lease = nil
		}
		if g.Available+l.free() >= n { // holds have ended meanwhile
			return nil, nil
		}
		return nil, p.tooLittle(n, g.Available+l.free(), has == nil)
	}
	l.granted += g.Granted
	p.want, p.wantAt = g.Granted, now
	if l.free() < n { // somebody was quicker
		return nil, nil
	}
	l.take(n, l != has)
	l.low, p.lowSince = l.free(), now
	return l, nil
}

// spare takes the free amount of a lease that goes out of use, to be returned.
func (l *lease) spare() money.Nano {
	if l == nil || l.unsure || l.epoch != l.share.book.epoch.Load() || l.free() <= 0 {
		return 0
	}
	n := l.free()
	l.granted -= n
	return n
}

// returnSpare gives it back before its fund is asked for more.
func (b *Book) returnSpare(ctx context.Context, l *lease, n money.Nano) error {
	if n == 0 {
		return nil
	}
	ctx, cancel := b.storeContext(ctx)
	defer cancel()
	if err := b.store.Return(ctx, b.node, []Return{{Fund: l.fund, Lease: l.id, Amount: n}}); err != nil {
		return storeAway("ledger.Hold", err) // it is returned when the lease is closed
	}
	return nil
}

// leaseFor is the lease to extend: the present one if it may be used, else a new one. old is the lease that the new one replaces.
func (b *Book) leaseFor(p *share, lim *Limit, now time.Time) (l, old *lease) {
	if b.usable(p.lease, lim, now) {
		return p.lease, nil
	}
	if old = p.lease; old != nil {
		p.retire(old)
	}
	epoch := b.epoch.Load()
	l = &lease{share: p, id: epoch<<32 | b.leases.Add(1), epoch: epoch, fund: Fund{Wallet: p.id.Wallet}}
	if lim != nil {
		l.fund.Key, l.fund.Period, l.limit = p.id.Key, lim.Reset.Period(b.store.Local(p.id.Wallet, now)), lim.Amount
	}
	p.lease = l
	p.lowSince = now
	return l, old
}

func (p *share) retire(l *lease) {
	if p.lease == l {
		p.lease = nil
	}
	for _, f := range p.former {
		if f == l {
			return
		}
	}
	p.former = append(p.former, l)
}

// estimate is how much to borrow: about as much as was spent in the last spendFor, judged by how long the last grant lasted.
func (p *share) estimate(now time.Time, need money.Nano, spendFor time.Duration) money.Nano {
	if now.Before(p.tight) {
		return need
	}
	want := p.want
	switch lasted := now.Sub(p.wantAt); {
	case want == 0:
		want = 4 * min(need, maxWant)
	case lasted < spendFor/4:
		want = 4 * min(want, maxWant)
	case lasted < spendFor:
		want = want / 16 * money.Nano(16*spendFor/lasted)
	default:
		want /= 2
	}
	return min(max(want, need+p.waiting), max(need, maxWant))
}

// maxWant bounds a lease: a million rubles are enough for seconds.
const maxWant = 1_000_000 * money.Ruble

// borrow asks the store, and the other nodes when the store has too little. recalled reports that it did the latter.
func (b *Book) borrow(ctx context.Context, q Borrow) (g Grant, recalled bool, err error) {
	g, err = b.borrowOnce(ctx, q)
	if err != nil || g.Fenced || g.Granted > 0 || g.Elsewhere == 0 {
		return g, false, err
	}
	q.Recall, q.Want = true, q.Need
	deadline := b.cfg.Now().Add(b.cfg.RecallFor)
	for {
		g, err = b.borrowOnce(ctx, q)
		if err != nil || g.Fenced || g.Granted > 0 || !g.Unanswered || !b.cfg.Now().Before(deadline) {
			return g, true, err
		}
		if b.cfg.Wait(ctx, b.cfg.RecallFor/20) != nil {
			return g, true, nil
		}
		q.Recall = false
	}
}

func (b *Book) borrowOnce(ctx context.Context, q Borrow) (Grant, error) {
	ctx, cancel := b.storeContext(ctx)
	defer cancel()
	g, err := b.store.Borrow(ctx, q)
	if err != nil && !fault.Is(err, fault.NotFound) {
		err = storeAway("ledger.Hold", err)
	}
	return g, err
}

// storeContext bounds a question to the store. It outlives the caller: an answer half-way would leave money nowhere.
func (b *Book) storeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), b.cfg.StoreFor)
}

// rejoin begins a new epoch after others have closed this one. It is called and returns with p's lock.
func (b *Book) rejoin(ctx context.Context, p *share, epoch int64) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	b.upkeep.Lock()
	defer b.upkeep.Unlock()
	return b.rejoinLocked(ctx, epoch)
}

func (b *Book) rejoinLocked(ctx context.Context, epoch int64) error {
	if b.epoch.Load() != epoch {
		return nil
	}
	ctx, cancel := b.storeContext(ctx)
	defer cancel()
	if same, err := b.sameLife(ctx); !same {
		return err
	}
	b.log.Warn("other nodes took this node for dead and closed its leases; it starts again")
	if err := b.join(ctx); err != nil {
		return storeAway("ledger.Hold", err)
	}
	return nil
}

// soon is when it is worth asking again for money that calls hold which run.
const soon = 2 * time.Second

// tooLittle is the refusal of n when available is all that can be borrowed. first: nothing is held for the call yet, so that all that is held is
// for others, whose end may be enough. It is called with the lock.
func (p *share) tooLittle(n, available money.Nano, first bool) error {
	e := fault.New(fault.PaymentRequired, "ledger.Hold", "The balance is too low for this request. Top up, or ask for fewer tokens.")
	e.Details = map[string]any{"required": n.String(), "available": max(available, 0).String()}
	reserved := p.refused.elsewhere
	for _, l := range p.all() {
		reserved += l.held
	}
	if first && reserved > 0 && n <= max(available, 0)+reserved {
		e.Details["reserved"] = reserved.String()
		e.RetryAfter = soon
		e.Public = "This request has to wait: " + reserved.String() + " rubles are reserved for calls and jobs that run. Try again when one has ended, or ask for fewer tokens."
	}
	return e
}
