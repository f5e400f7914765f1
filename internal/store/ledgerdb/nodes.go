package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/ledger"
	"weir/internal/store/sqldb"
)

// Position is ledger.Nodes.Position.
func (s *Ledger) Position(ctx context.Context, node string) (position int64, err error) {
	err = s.db.Read(ctx, &position, nodePosition, node)
	if !errors.Is(err, sql.ErrNoRows) {
		return position, sqldb.Failure("store.Position", err)
	}
	return 0, s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(nodeAdd, node)
		return err
	})
}

// Join is ledger.Nodes.Join.
func (s *Ledger) Join(ctx context.Context, node string, now time.Time) (epoch int64, err error) {
	err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		if err := lockNode(t, node); err != nil {
			return err
		}
		if err := CloseLeases(t, node); err != nil {
			return err
		}
		return t.Row(nodeJoin, node, now.UnixMicro()).Scan(&epoch)
	})
	return epoch, err
}

// lockNode prevents others from borrowing for the node, and waits for those who do.
func lockNode(t *sqldb.Tx, node string) error {
	var epoch int64
	return t.LockedRow(nodeEpoch, node).Scan(&epoch)
}

// InEpoch fails unless a node is in an epoch, which it stays in until the transaction ends.
func InEpoch(t *sqldb.Tx, op, node string, epoch int64) error {
	var current int64
	if err := t.Row(nodeEpoch+t.Engine.ForKeyShare, node).Scan(&current); err != nil || current == epoch {
		return err
	}
	return sqldb.Unavailable(op, fmt.Errorf("node %s is in epoch %d, not in %d any more", node, current, epoch))
}

// Leave is ledger.Nodes.Leave.
func (s *Ledger) Leave(ctx context.Context, node string, epoch int64) error {
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		if err := lockNode(t, node); err != nil {
			return err
		}
		n, err := t.Exec(nodeLeave, node, epoch)
		if err != nil || n == 0 {
			return err
		}
		return CloseLeases(t, node)
	})
}

// Beat is ledger.Nodes.Beat.
func (s *Ledger) Beat(ctx context.Context, node string, epoch int64, now time.Time) (others []ledger.Node, current bool, err error) {
	err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		n, err := t.Exec(nodeBeat, node, epoch, now.UnixMicro())
		current = n == 1
		return err
	})
	if err != nil {
		return nil, false, err
	}
	others, err = sqldb.List(ctx, s.db, "store.Beat", sqldb.Columns(func(n *ledger.Node) []any { return []any{&n.ID, &n.Beat} }), nodeOthers, node)
	return others, current, err
}

// Evict is ledger.Nodes.Evict.
func (s *Ledger) Evict(ctx context.Context, node string, beat int64) (gone bool, err error) {
	err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		if err := lockNode(t, node); err != nil {
			return err
		}
		n, err := t.Exec(nodeEvict, node, beat)
		if gone = n == 1; err != nil || !gone {
			return err
		}
		return CloseLeases(t, node)
	})
	return gone && err == nil, err
}

// CloseLeases gives all that is left in a node's leases back and removes them.
func CloseLeases(t *sqldb.Tx, node string) error {
	leases, err := sqldb.All(t, sqldb.Columns(func(l *lease) []any {
		return []any{&l.fund.Wallet, &l.fund.Key, &l.fund.Period.Kind, &l.fund.Period.Start, &l.id}
	}), leasesOfNode, node)
	if err != nil {
		return err
	}
	for _, l := range leases {
		if err := giveBack(t, node, ledger.Return{Fund: l.fund, Lease: l.id, Close: true}); err != nil {
			return err
		}
	}
	return nil
}
