package ledger

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
)

// An escrow is money reserved for something that outlives a call and its node. In the store it is a lease like those of nodes, in a name
// that no node has: no epoch ends it and it is not recalled.
const (
	EscrowOwner = "job:" // + id of its job

	EscrowWalletLease int64 = 1 // of the wallet's balance
	EscrowKeyLease    int64 = 2 // of the key's limit; those of other limits have the numbers after it
)

// Handover is money that a hold gives to an escrow.
type Handover struct {
	Node   string
	Epoch  int64
	Wallet string
	Amount money.Nano
	Leases []Handed
	Funds  []record.Fund // for the record of the call: its Funds
}

// Handed is a lease of a node that gives the amount to one of the escrow.
type Handed struct {
	Fund     Fund
	From, To int64
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
	h.wallet.hand(h.asked.Amount, err)
	for i := range h.limits {
		h.limits[i].lease.hand(h.asked.Amount, err)
	}
	return err
}

func (h *Hold) handover() (Handover, error) {
	o := Handover{Node: h.book.node, Epoch: h.book.epoch.Load(), Wallet: h.asked.Wallet, Amount: h.asked.Amount, Funds: h.funds(h.book.cfg.Now())}
	part := func(l *lease, to int64) error {
		if l == nil {
			return nil
		}
		if l.epoch != o.Epoch {
			return storeAway("ledger.Hand", fmt.Errorf("the hold is of epoch %d, this node is in %d", l.epoch, o.Epoch))
		}
		o.Leases = append(o.Leases, Handed{Fund: l.fund, From: l.id, To: to})
		return nil
	}
	err := part(h.wallet, EscrowWalletLease)
	other := 0 // in Funds
	for i := range h.limits {
		x, to := &h.limits[i], EscrowKeyLease
		if x.ID != h.asked.Key {
			to += int64(other) + 1
			if x.lease != nil {
				o.Funds[other].Lease = to
			}
			other++
		}
		err = errors.Join(err, part(x.lease, to))
	}
	return o, err
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
