package ledger

import (
	"context"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
)

// Balance is Reader.Balance with the present holds of this node's calls. It never includes a call that has ended on this node. Charges that
// the store does not take at present count, too, as long as the leases that they are of are open and none of this node's was set aside.
func (b *Book) Balance(ctx context.Context, wallet string) (Balance, error) {
	own := b.held(wallet) // before its charges are written to the store: a call that ends meanwhile counts twice rather than not at all
	late, err := b.CatchUp(ctx)
	if err != nil {
		return Balance{}, err
	}
	var spent map[int64]money.Nano
	epoch := b.epoch.Load()
	if late != nil {
		spent = b.spent(wallet, epoch) // before the read: what is applied in between does not count twice
	}
	short, cancel := context.WithTimeout(ctx, b.cfg.StoreFor)
	defer cancel()
	bal, lent, err := b.store.BalanceBeside(short, wallet, b.node)
	bal.Held += own
	// In another epoch the leases are closed, and in another life a copy of the folder applies the journal: how much of them was charged is not
	// known any more. What was set aside does not wait.
	if lent.Epoch == epoch && lent.Life == b.life && !b.asideHere.Load() {
		for id, consumed := range lent.Consumed { // a lease that is closed is not there, and all that was settled of it is applied
			waiting := max(0, spent[id]-consumed)
			bal.Charged += waiting
			bal.Balance -= waiting
		}
	}
	return bal, err
}

// spent is what was settled of this node's leases of a wallet in an epoch, by the lease.
func (b *Book) spent(wallet string, epoch int64) map[int64]money.Nano {
	p := b.lock(shareID{Wallet: wallet})
	defer p.mu.Unlock()
	spent := map[int64]money.Nano{}
	for _, l := range p.leases(epoch) {
		spent[l.id] = l.spent
	}
	return spent
}

// held is the sum of this node's holds on a wallet.
func (b *Book) held(wallet string) money.Nano {
	_, sum := b.Running(wallet)
	return sum
}

// Running counts this node's holds on a wallet, and sums them.
func (b *Book) Running(wallet string) (holds int, sum money.Nano) {
	p := b.lock(shareID{Wallet: wallet})
	defer p.mu.Unlock()
	for _, l := range p.all() {
		holds += l.holds
		sum += l.held
	}
	return holds, sum
}

// all are the share's leases, also those of former epochs that calls still use.
func (p *share) all() []*lease {
	if p.lease == nil {
		return p.former
	}
	return append([]*lease{p.lease}, p.former...)
}

// leases are those that are in the store.
func (p *share) leases(epoch int64) (list []*lease) {
	for _, l := range p.all() {
		if l.epoch == epoch {
			list = append(list, l)
		}
	}
	return list
}

// Local is Reader.Local.
func (b *Book) Local(wallet string, t time.Time) time.Time { return b.store.Local(wallet, t) }

// Activity is Reader.Activity after CatchUp.
func (b *Book) Activity(ctx context.Context, wallet, key, from, to string) ([]ActivityRow, error) {
	if _, err := b.CatchUp(ctx); err != nil {
		return nil, err
	}
	return b.store.Activity(ctx, wallet, key, from, to)
}

// Call is Reader.Call after CatchUp. A call that is not found while the store is late may be in the journal: then the error is that of the
// store.
func (b *Book) Call(ctx context.Context, wallet, generation string) (*record.Call, []Entry, error) {
	late, err := b.CatchUp(ctx)
	if err != nil {
		return nil, nil, err
	}
	call, entries, err := b.store.Call(ctx, wallet, generation)
	if late != nil && fault.Is(err, fault.NotFound) {
		err = late
	}
	return call, entries, err
}

// FundStates is Reader.FundStates after CatchUp.
func (b *Book) FundStates(ctx context.Context, funds []Fund) ([]FundState, error) {
	if _, err := b.CatchUp(ctx); err != nil {
		return nil, err
	}
	return b.store.FundStates(ctx, funds)
}

// Fund is where a limit of a wallet counts at present.
func (b *Book) Fund(wallet string, l Limit) Fund {
	return Fund{Wallet: wallet, Key: l.ID, Period: l.Reset.Period(b.store.Local(wallet, b.cfg.Now()))}
}

// KeySpend is Reader.KeySpend after CatchUp.
func (b *Book) KeySpend(ctx context.Context, key string) (KeySpend, error) {
	if _, err := b.CatchUp(ctx); err != nil {
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
	for _, p := range b.shares() {
		if p.id.Key != "" {
			continue
		}
		p.mu.Lock()
		for _, l := range p.all() {
			holds += l.holds
			sum += l.held
		}
		p.mu.Unlock()
	}
	return holds, sum
}
