package ledger

import (
	"context"

	"weir/internal/money"
	"weir/internal/record"
)

// Balance is Reader.Balance after a flush. Held counts what calls hold, not what this node merely borrowed for calls to come.
func (b *Book) Balance(ctx context.Context, wallet string) (Balance, error) {
	if err := b.Flush(ctx); err != nil {
		return Balance{}, err
	}
	p := b.lock(purseID{Wallet: wallet})
	defer p.mu.Unlock()
	for p.busy != nil || p.closing != nil { // the store's figure and ours must be of one moment
		err := p.settled(ctx)
		if err != nil {
			return Balance{}, err
		}
	}
	end := p.begin()
	defer end()
	p.mu.Unlock()
	bal, err := b.readBalance(ctx, wallet)
	p.mu.Lock()
	if err != nil {
		return Balance{}, err
	}
	bal.Held = max(0, bal.Held-p.free(b.epoch.Load()))
	return bal, nil
}

// settled waits for what is under way between the purse and the store. It is called and returns with the lock.
func (p *purse) settled(ctx context.Context) error {
	if p.busy != nil {
		return p.await(ctx, 0)
	}
	ch := p.closing
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return storeAway("ledger.Balance", ctx.Err())
	}
}

func (b *Book) readBalance(ctx context.Context, wallet string) (Balance, error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.StoreFor)
	defer cancel()
	return b.store.Balance(ctx, wallet)
}

// free is what of the purse's leases no hold uses; below zero when calls cost more than was held, and used what others hold.
func (p *purse) free(epoch int64) (sum money.Nano) {
	for _, l := range p.leases(epoch) {
		sum += max(0, l.granted-l.spent) - l.held
	}
	return sum
}

// leases are those that the store knows of.
func (p *purse) leases(epoch int64) (list []*lease) {
	if p.lease != nil && p.lease.epoch == epoch {
		list = append(list, p.lease)
	}
	for _, l := range p.former {
		if l.epoch == epoch {
			list = append(list, l)
		}
	}
	return list
}

// Activity is Reader.Activity after a flush.
func (b *Book) Activity(ctx context.Context, wallet, key, from, to string) ([]ActivityRow, error) {
	if err := b.Flush(ctx); err != nil {
		return nil, err
	}
	return b.store.Activity(ctx, wallet, key, from, to)
}

// Call is Reader.Call after a flush.
func (b *Book) Call(ctx context.Context, wallet, generation string) (*record.Call, []Entry, error) {
	if err := b.Flush(ctx); err != nil {
		return nil, nil, err
	}
	return b.store.Call(ctx, wallet, generation)
}

// KeySpend is Reader.KeySpend after a flush.
func (b *Book) KeySpend(ctx context.Context, key string) (KeySpend, error) {
	if err := b.Flush(ctx); err != nil {
		return KeySpend{}, err
	}
	return b.store.KeySpend(ctx, key)
}

// Statement is Reader.Statement. What it lists does not come through the journal.
func (b *Book) Statement(ctx context.Context, wallet string, before int64, count int) ([]Movement, error) {
	return b.store.Statement(ctx, wallet, before, count)
}

// Refunds is Reader.Refunds, which need no flush either.
func (b *Book) Refunds(ctx context.Context, wallet, generation string) ([]Movement, error) {
	return b.store.Refunds(ctx, wallet, generation)
}

// Open is how many holds are open on this node, and their sum.
func (b *Book) Open() (holds int, sum money.Nano) {
	for _, p := range b.purses() {
		if p.id.Key != "" {
			continue
		}
		p.mu.Lock()
		for _, l := range append([]*lease{p.lease}, p.former...) {
			if l != nil {
				holds += l.holds
				sum += l.held
			}
		}
		p.mu.Unlock()
	}
	return holds, sum
}
