package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"weir/internal/money"
)

// Tick does one round of all upkeep: signs, and then sweep. The Book calls each every TickEvery, and neither waits for the other: on a store
// that is slow for each wallet, a sweep over many lasts longer than leases without a sign of life.
func (b *Book) Tick(ctx context.Context) error { return errors.Join(b.signs(ctx), b.sweep(ctx)) }

func (b *Book) upkeepRound(of func(context.Context) error) func(context.Context) {
	return func(ctx context.Context) {
		if err := of(ctx); err != nil && ctx.Err() == nil {
			b.log.Debug("upkeep of leases", "error", err)
		}
	}
}

// signs does what other nodes and new calls wait for: it prepares the journal's next file, gives a sign of life, closes the leases of dead
// nodes, answers recalls, and says what is held here.
func (b *Book) signs(ctx context.Context) error {
	prepared := b.journal.Prepare()
	alive, err := b.beat(ctx)
	err = errors.Join(prepared, err, b.answerRecalls(ctx))
	if alive { // last: others wait for recalls
		err = errors.Join(err, b.tell(ctx))
	}
	return err
}

// beat reports whether a sign of life was due and taken.
func (b *Book) beat(ctx context.Context) (bool, error) {
	b.upkeep.Lock()
	defer b.upkeep.Unlock()
	now := b.cfg.Now()
	if since := now.Sub(b.upkeep.beatAt); since >= 0 && since < b.cfg.BeatEvery {
		return false, nil
	}
	short, cancel := b.storeContext(ctx)
	defer cancel()
	epoch := b.epoch.Load()
	others, current, err := b.store.Beat(short, b.node, epoch, now)
	if err != nil {
		return false, err
	}
	if !current {
		return false, b.rejoinLocked(ctx, epoch)
	}
	b.beaten(now)
	return true, b.watch(ctx, others)
}

// tell reports to other nodes how much calls hold here, where that has changed.
func (b *Book) tell(ctx context.Context) error {
	epoch := b.epoch.Load()
	var news []Held
	var of []*lease
	for _, p := range b.shares() {
		p.mu.Lock()
		for _, l := range p.leases(epoch) {
			if l.held != l.reported {
				news, of = append(news, Held{Wallet: p.id.Wallet, Lease: l.id, Amount: l.held}), append(of, l)
			}
		}
		p.mu.Unlock()
	}
	for len(news) > 0 {
		n := min(len(news), maxBatch)
		short, cancel := b.storeContext(ctx)
		err := b.store.Tell(short, b.node, epoch, news[:n])
		cancel()
		if err != nil {
			return err
		}
		for i, l := range of[:n] {
			l.share.mu.Lock()
			l.reported = news[i].Amount
			l.share.mu.Unlock()
		}
		news, of = news[n:], of[n:]
	}
	return nil
}

// watch closes the leases of nodes without a beat for LapseAfter by this node's own clock: no wall clock decides it.
func (b *Book) watch(ctx context.Context, others []Node) error {
	now := b.cfg.Now()
	seen := make(map[string]sighting, len(others))
	var errs []error
	for _, o := range others {
		s, ok := b.upkeep.seen[o.ID]
		if !ok || s.beat != o.Beat {
			s = sighting{beat: o.Beat, since: now}
		}
		seen[o.ID] = s
		if now.Sub(s.since) < b.cfg.LapseAfter {
			continue
		}
		gone, err := b.store.Evict(ctx, o.ID, o.Beat)
		if gone {
			b.log.Warn("a node gave no sign of life; its leases went back", "node", o.ID)
			delete(seen, o.ID)
		}
		errs = append(errs, err)
	}
	b.upkeep.seen = seen
	return errors.Join(errs...)
}

// answerRecalls returns the free money of leases when another node found too little in their funds.
func (b *Book) answerRecalls(ctx context.Context) error {
	mine := map[int64]*share{}
	for _, p := range b.shares() {
		p.mu.Lock()
		if p.lease != nil {
			mine[p.lease.id] = p
		}
		for _, l := range p.former {
			mine[l.id] = p
		}
		p.mu.Unlock()
	}
	if len(mine) == 0 {
		return nil
	}
	short, cancel := b.storeContext(ctx)
	defer cancel()
	ids, err := b.store.Recalled(short, b.node)
	if err != nil {
		return err
	}
	var list []back
	for _, id := range ids {
		if p := mine[id]; p != nil {
			list = b.giveBack(list, p, id)
		}
	}
	return b.restore(ctx, list)
}

// giveBack adds all that the lease has free, which is answer enough when it is nothing.
func (b *Book) giveBack(list []back, p *share, id int64) []back {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy != nil { // it is being borrowed for: the next round
		return list
	}
	p.tight = b.cfg.Now().Add(b.cfg.SpendFor)
	if l := p.byID(id); l != nil {
		list = append(list, l.giving(max(0, l.free())))
	}
	return list
}

func (p *share) byID(id int64) *lease {
	if p.lease != nil && p.lease.id == id {
		return p.lease
	}
	for _, l := range p.former {
		if l.id == id {
			return l
		}
	}
	return nil
}

// back is money on its way from a lease to the store. Its share is busy until end.
type back struct {
	lease *lease
	n     money.Nano
	end   func()
}

// giving takes n out of the lease at once, so that it is not spent meanwhile. It is called with the share's lock.
func (l *lease) giving(n money.Nano) back {
	l.granted -= n
	l.low = l.free()
	return back{lease: l, n: n, end: l.share.begin()}
}

// returnsAtOnce bounds how many wallets wait for one transaction.
const returnsAtOnce = 32

// restore returns money to the store. It is called without the lock of any share.
func (b *Book) restore(ctx context.Context, list []back) error {
	var errs []error
	for part := range slices.Chunk(list, returnsAtOnce) {
		rs := make([]Return, len(part))
		for i, x := range part {
			rs[i] = Return{Fund: x.lease.fund, Lease: x.lease.id, Amount: x.n}
		}
		short, cancel := b.storeContext(ctx)
		err := b.store.Return(short, b.node, rs)
		cancel()
		for _, x := range part {
			p := x.lease.share
			p.mu.Lock()
			if err != nil { // perhaps it went back, perhaps not: closing the lease settles it
				x.lease.unsure = true
				p.retire(x.lease)
			}
			x.end()
			p.mu.Unlock()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sweep returns money that leases did not need for SpendFor, closes unused leases, and drops shares without leases.
func (b *Book) sweep(ctx context.Context) error {
	now := b.cfg.Now()
	var errs []error
	var closing []*lease
	var reported []*share
	var spare []back
	for _, p := range b.shares() {
		p.mu.Lock()
		if p.busy == nil {
			errs = append(errs, b.cover(ctx, p, now))
			spare = b.trim(spare, p, now)
			if list := p.closable(); len(list) > 0 {
				p.closing = true
				closing, reported = append(closing, list...), append(reported, p)
			}
		}
		p.mu.Unlock()
		if len(spare) == returnsAtOnce { // no share is busy longer than one transaction
			errs, spare = append(errs, b.restore(ctx, spare)), nil
		}
	}
	errs = append(errs, b.restore(ctx, spare), b.close(ctx, closing))
	for _, p := range reported {
		p.mu.Lock()
		p.closing = false
		p.mu.Unlock()
	}
	b.forget(now)
	return errors.Join(errs...)
}

// cover borrows the cost of calls beyond their holds, when that was taken from money that covers other holds. Where the fund has less, it
// takes all of the fund.
func (b *Book) cover(ctx context.Context, p *share, now time.Time) error {
	for _, l := range p.leases(b.epoch.Load()) {
		lack := min(-l.free(), l.held)
		if lack <= 0 || l.unsure || !b.beating(now) {
			continue
		}
		end := p.begin()
		p.mu.Unlock()
		q := Borrow{Fund: l.fund, Limit: l.limit, Node: b.node, Epoch: l.epoch, Lease: l.id, Need: lack, Want: lack, Now: now}
		g, err := b.borrowOnce(ctx, q)
		if err == nil && g.Granted == 0 && g.Available > 0 {
			q.Need, q.Want = g.Available, g.Available
			g, err = b.borrowOnce(ctx, q)
		}
		p.mu.Lock()
		end()
		if err != nil {
			l.unsure = true
			p.retire(l)
			return err
		}
		l.granted += g.Granted
	}
	return nil
}

// trim adds money of the lease that has been free for SpendFor.
func (b *Book) trim(list []back, p *share, now time.Time) []back {
	l := p.lease
	if l == nil || now.Sub(p.lowSince) < b.cfg.SpendFor {
		return list
	}
	n := max(0, min(l.low, l.free()))
	p.lowSince = now
	l.low = l.free()
	switch {
	case l.holds == 0 && l.free() <= n || l.epoch != b.epoch.Load():
		p.retire(l)
	case n > 0:
		return append(list, l.giving(n))
	}
	return list
}

// closable takes the former leases that no hold uses.
func (p *share) closable() (out []*lease) {
	if p.closing {
		return nil
	}
	keep := p.former[:0]
	for _, l := range p.former {
		if l.holds == 0 {
			out = append(out, l)
		} else {
			keep = append(keep, l)
		}
	}
	clear(p.former[len(keep):])
	p.former = keep
	return out
}

// close ends leases in the store, after their settled charges were applied.
func (b *Book) close(ctx context.Context, leases []*lease) error {
	if len(leases) == 0 {
		return nil
	}
	err := b.Flush(ctx)
	if err == nil {
		rs := make([]Return, len(leases))
		for i, l := range leases {
			rs[i] = Return{Fund: l.fund, Lease: l.id, Close: true}
		}
		short, cancel := b.storeContext(ctx)
		defer cancel()
		err = b.store.Return(short, b.node, rs)
	}
	if err != nil {
		for _, l := range leases { // again at the next round
			l.share.mu.Lock()
			l.share.retire(l)
			l.share.mu.Unlock()
		}
	}
	return err
}

// forget drops shares that have had no lease for a while.
func (b *Book) forget(now time.Time) {
	for i := range b.shards {
		s := &b.shards[i]
		s.Lock()
		for id, p := range s.shares {
			p.mu.Lock()
			if p.lease == nil && len(p.former) == 0 && p.busy == nil && !p.closing && p.waiting == 0 && now.Sub(p.lowSince) > 20*b.cfg.SpendFor {
				p.dead = true
				delete(s.shares, id)
			}
			p.mu.Unlock()
		}
		s.Unlock()
	}
}

// shares lists all shares.
func (b *Book) shares() []*share {
	var all []*share
	for i := range b.shards {
		s := &b.shards[i]
		s.RLock()
		for _, p := range s.shares {
			all = append(all, p)
		}
		s.RUnlock()
	}
	return all
}
