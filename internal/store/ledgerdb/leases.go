package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/sqldb"
)

// lease has the columns of a lease that are read before it changes.
type lease struct {
	fund              ledger.Fund
	id                int64
	granted, consumed money.Nano
}

func (l *lease) left() money.Nano { return max(0, l.granted-l.consumed) }

func (l *lease) scan(row sqldb.Scanner) error {
	return row.Scan(&l.fund.Key, &l.fund.Period.Kind, &l.fund.Period.Start, (*int64)(&l.granted), (*int64)(&l.consumed))
}

// lockedFund is a wallet or a limit that the transaction has locked. Only lockFund gives one, and what
// locks a lease takes it: the lock of a lease before that of its fund does not compile.
type lockedFund struct{ ledger.Fund }

// lockLease finds and locks a lease of a fund; nil when it does not exist any more.
func lockLease(t *sqldb.Tx, of lockedFund, node string, id int64) (*lease, error) {
	l := lease{fund: ledger.Fund{Wallet: of.Wallet}, id: id}
	err := l.scan(t.LockedRow(leaseFind, node, id, of.Wallet))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &l, err
}

// lockFund locks a wallet or a limit, and reads how much it has left, and its recalls. The fund of a limit is created at its first use.
func lockFund(t *sqldb.Tx, p ledger.Fund, limit money.Nano) (of lockedFund, available money.Nano, recall int64, err error) {
	of = lockedFund{p}
	if p.Key == "" {
		err = t.LockedRow(walletFund, p.Wallet).Scan((*int64)(&available), &recall)
		if errors.Is(err, sql.ErrNoRows) {
			err = noWallet("store.Borrow", err)
		}
		return of, available, recall, err
	}
	if _, err := t.Exec(keyFundAdd, p.Wallet, p.Key, p.Period.Kind, p.Period.Start); err != nil {
		return of, 0, 0, err
	}
	var used money.Nano
	err = t.LockedRow(keyFund, p.Wallet, p.Key, p.Period.Kind, p.Period.Start).Scan((*int64)(&used), &recall)
	return of, limit - used, recall, err
}

func noWallet(op string, cause error) error {
	return fault.New(fault.NotFound, op, "There is no such wallet.").Because(cause)
}

// reserve moves n between the available and the leased money of a fund.
func reserve(t *sqldb.Tx, p ledger.Fund, n money.Nano) (err error) {
	switch {
	case n == 0:
	case p.Key == "":
		_, err = t.Exec(walletLease, p.Wallet, int64(n))
	default:
		_, err = t.Exec(keyLease, p.Wallet, p.Key, p.Period.Kind, p.Period.Start, int64(n))
	}
	return err
}

// Borrow is ledger.Leases.Borrow.
func (s *Ledger) Borrow(ctx context.Context, b ledger.Borrow) (g ledger.Grant, err error) {
	err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		g, err = borrow(t, b)
		return err
	})
	return g, err
}

func borrow(t *sqldb.Tx, b ledger.Borrow) (g ledger.Grant, err error) {
	var epoch int64
	if err := t.Row(nodeEpoch+t.Engine.ForKeyShare, b.Node).Scan(&epoch); err != nil {
		return g, err
	}
	if epoch != b.Epoch {
		return ledger.Grant{Fenced: true}, nil
	}
	of, available, recall, err := lockFund(t, b.Fund, b.Limit)
	if err != nil {
		return g, err
	}
	g.Available = available
	old, err := lockLease(t, of, b.Node, b.Lease)
	if err != nil {
		return g, err
	}
	was := lease{}
	if old != nil {
		was = *old
	}
	after := was
	after.granted += b.Need
	if after.left()-was.left() > available {
		return refuse(t, b, g, recall, old != nil)
	}
	g.Granted = b.Need + spare(b, available-(after.left()-was.left()))
	after.granted = was.granted + g.Granted
	if old == nil {
		_, err = t.Exec(leaseAdd, b.Fund.Wallet, b.Fund.Key, b.Fund.Period.Kind, b.Fund.Period.Start, b.Node, b.Lease, b.Epoch, int64(g.Granted), recall, b.Now.UnixMicro())
	} else {
		_, err = t.Exec(leaseExtend, b.Node, b.Lease, b.Fund.Wallet, int64(g.Granted))
	}
	if err != nil {
		return g, err
	}
	return g, reserve(t, b.Fund, after.left()-was.left())
}

// spare is how much is granted in addition to the need: the wished amount while that is little of the rest, and nothing when money is
// nearly used up.
func spare(b ledger.Borrow, rest money.Nano) money.Nano {
	share := rest / 8
	if share < b.Need {
		return 0
	}
	return max(0, min(b.Want-b.Need, share))
}

func refuse(t *sqldb.Tx, b ledger.Borrow, g ledger.Grant, recall int64, has bool) (ledger.Grant, error) {
	p := b.Fund
	if b.Recall {
		recall++
		text, args := walletRecall, []any{p.Wallet}
		if p.Key != "" {
			text, args = keyRecall, []any{p.Wallet, p.Key, p.Period.Kind, p.Period.Start}
		}
		if _, err := t.Exec(text, args...); err != nil {
			return g, err
		}
		if has { // a node does not recall from itself
			if _, err := t.Exec(leaseAnswer, b.Node, b.Lease, p.Wallet, recall); err != nil {
				return g, err
			}
		}
	}
	var hi, lo, jobsHi, jobsLo int64
	err := t.Row(leasesElse, p.Wallet, p.Key, p.Period.Kind, p.Period.Start, recall, b.Node).Scan(&hi, &lo, &jobsHi, &jobsLo, &g.Unanswered)
	g.Elsewhere, g.Jobs = wideOf(hi, lo).most(), wideOf(jobsHi, jobsLo).most()
	return g, err
}

// Return is ledger.Leases.Return.
func (s *Ledger) Return(ctx context.Context, node string, rs []ledger.Return) error {
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b ledger.Return) int { return fundOrder(a.Fund, b.Fund) })
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		for _, r := range rs {
			if err := giveBack(t, node, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func giveBack(t *sqldb.Tx, node string, r ledger.Return) error {
	of, _, recall, err := lockFund(t, r.Fund, 0)
	if err != nil {
		return err
	}
	old, err := lockLease(t, of, node, r.Lease)
	if err != nil || old == nil {
		return err
	}
	if r.Close {
		if _, err := t.Exec(leaseRemove, node, r.Lease, r.Fund.Wallet); err != nil {
			return err
		}
		return reserve(t, old.fund, -old.left())
	}
	if _, err := t.Exec(leaseReturn, node, r.Lease, r.Fund.Wallet, int64(r.Amount), recall); err != nil {
		return err
	}
	after := *old
	after.granted -= r.Amount
	return reserve(t, old.fund, after.left()-old.left())
}

// Tell is ledger.Leases.Tell.
func (s *Ledger) Tell(ctx context.Context, node string, epoch int64, hs []ledger.Held) error {
	hs = slices.Clone(hs)
	slices.SortFunc(hs, func(a, b ledger.Held) int {
		return leaseUse{wallet: a.Wallet, lease: a.Lease}.order(leaseUse{wallet: b.Wallet, lease: b.Lease})
	})
	args := make([]any, 0, 5*len(hs))
	for _, h := range hs {
		args = append(args, node, h.Lease, h.Wallet, epoch, int64(h.Amount))
	}
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		_, err := t.ExecEach(leaseTell, 5, args)
		return err
	})
}

// Recalled is ledger.Leases.Recalled.
func (s *Ledger) Recalled(ctx context.Context, node string) ([]int64, error) {
	return sqldb.List(ctx, s.db, "store.Recalled", sqldb.Only[int64], leasesRecalled, node)
}

// HandOver takes an amount from leases of a node and leases it to the job, so that the leased money of each fund stays the same.
func HandOver(t *sqldb.Tx, job string, o ledger.Handover, now time.Time) error {
	if o.Amount == 0 {
		return nil
	}
	if err := InEpoch(t, "store.AddJob", o.Node, o.Epoch); err != nil {
		return err
	}
	leases := slices.Clone(o.Leases)
	slices.SortFunc(leases, func(a, b ledger.Handed) int { return fundOrder(a.Fund, b.Fund) })
	for _, l := range leases {
		if err := moveLease(t, job, o, l.Fund, l.From, l.To, now); err != nil {
			return err
		}
	}
	return nil
}

func moveLease(t *sqldb.Tx, job string, o ledger.Handover, p ledger.Fund, from, to int64, now time.Time) error {
	of, _, recall, err := lockFund(t, p, 0)
	if err != nil {
		return err
	}
	old, err := lockLease(t, of, o.Node, from)
	if err != nil {
		return err
	}
	if old == nil || old.left() < o.Amount {
		return sqldb.Unavailable("store.AddJob", fmt.Errorf("lease %d of node %s does not have %s", from, o.Node, o.Amount))
	}
	if _, err := t.Exec(leaseExtend, o.Node, from, o.Wallet, -int64(o.Amount)); err != nil {
		return err
	}
	_, err = t.Exec(leaseAdd, p.Wallet, p.Key, p.Period.Kind, p.Period.Start, ledger.EscrowOwner+job, to, int64(0), int64(o.Amount), recall, now.UnixMicro())
	return err
}
