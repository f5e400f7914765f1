package ledger

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/fault"
	"weir/internal/money"
)

// An escrow is money reserved for something that outlives a call and its node. In the store it is a lease like those of nodes, in a name
// that no node has: no epoch ends it and it is not recalled.
const (
	EscrowOwner = "job:" // + id of its job

	EscrowWalletLease int64 = 1 // of the wallet's balance
	EscrowKeyLease    int64 = 2 // of the key's limit
)

// Handover is money that a hold gives to an escrow. Leases are 0 where nothing is held.
type Handover struct {
	Node        string
	Epoch       int64
	Wallet      string
	Amount      money.Nano
	WalletLease int64
	Key         string // "" without a limit, like Period and KeyLease
	Period      Period
	KeyLease    int64
}

// Hand ends h by moving its amount to an escrow. move does that in one transaction of the store. When it fails with
// fault.StorageUnavailable it is unknown whether it did, and the leases are not used until the store answers. Any other error means that
// nothing was moved. h has ended in each case.
func (b *Book) Hand(ctx context.Context, h *Hold, move func(context.Context, Handover) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return fault.Wrap("ledger.Hand", errors.New("the hold has ended before"))
	}
	o, err := h.handover()
	if err != nil {
		h.end(0)
		return err
	}
	h.ended = true
	err = move(ctx, o)
	for _, l := range [...]*lease{h.wallet, h.key} {
		l.hand(h.asked.Amount, err)
	}
	return err
}

func (h *Hold) handover() (Handover, error) {
	o := Handover{Node: h.book.node, Epoch: h.book.epoch.Load(), Wallet: h.asked.Wallet, Amount: h.asked.Amount,
		WalletLease: h.wallet.number(), KeyLease: h.key.number()}
	if h.key != nil {
		o.Key, o.Period = h.key.fund.Key, h.key.fund.Period
	}
	for _, l := range [...]*lease{h.wallet, h.key} {
		if l != nil && l.epoch != o.Epoch {
			return o, storeAway("ledger.Hand", fmt.Errorf("the hold is of epoch %d, this node is in %d", l.epoch, o.Epoch))
		}
	}
	return o, nil
}

// hand ends a hold of n whose money went to an escrow, or did not.
func (l *lease) hand(n money.Nano, err error) {
	if l == nil {
		return
	}
	l.share.mu.Lock()
	defer l.share.mu.Unlock()
	l.held -= n
	l.holds--
	switch {
	case err == nil:
		l.granted -= n
	case fault.Is(err, fault.StorageUnavailable):
		l.unsure = true
		l.share.retire(l)
	}
	l.low = min(l.low, l.free())
}

// Epoch is the number of this node's present life. It changes when others took the node for dead.
func (b *Book) Epoch() int64 { return b.epoch.Load() }
