package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/ledger"
)

// Position is ledger.Nodes.Position.
func (s *Ledger) Position(ctx context.Context, node string) (position int64, err error) {
	err = s.find(ctx, func(row Scanner) error { return row.Scan(&position) }, nodePosition, node)
	if !errors.Is(err, sql.ErrNoRows) {
		return position, failure("store.Position", err)
	}
	return 0, s.write(ctx, func(t *tx) error {
		_, err := t.exec(nodeAdd, node)
		return err
	})
}

// Join is ledger.Nodes.Join.
func (s *Ledger) Join(ctx context.Context, node string, now time.Time) (epoch int64, err error) {
	err = s.writeLazily(ctx, func(t *tx) error {
		if err := t.lockNode(node); err != nil {
			return err
		}
		if err := t.closeLeases(node); err != nil {
			return err
		}
		return t.row(nodeJoin, node, now.UnixMicro()).Scan(&epoch)
	})
	return epoch, err
}

// lockNode prevents others from borrowing for the node, and waits for those who do.
func (t *tx) lockNode(node string) error {
	var epoch int64
	return t.lockedRow(nodeEpoch, node).Scan(&epoch)
}

// Leave is ledger.Nodes.Leave.
func (s *Ledger) Leave(ctx context.Context, node string, epoch int64) error {
	return s.writeLazily(ctx, func(t *tx) error {
		if err := t.lockNode(node); err != nil {
			return err
		}
		n, err := t.exec(nodeLeave, node, epoch)
		if err != nil || n == 0 {
			return err
		}
		return t.closeLeases(node)
	})
}

// Beat is ledger.Nodes.Beat.
func (s *Ledger) Beat(ctx context.Context, node string, epoch int64, now time.Time) (others []ledger.Node, current bool, err error) {
	err = s.writeLazily(ctx, func(t *tx) error {
		n, err := t.exec(nodeBeat, node, epoch, now.UnixMicro())
		current = n == 1
		return err
	})
	if err != nil {
		return nil, false, err
	}
	others, err = list(ctx, s.db, "store.Beat", columns(func(n *ledger.Node) []any { return []any{&n.ID, &n.Beat} }), nodeOthers, node)
	return others, current, err
}

// Evict is ledger.Nodes.Evict.
func (s *Ledger) Evict(ctx context.Context, node string, beat int64) (gone bool, err error) {
	err = s.writeLazily(ctx, func(t *tx) error {
		if err := t.lockNode(node); err != nil {
			return err
		}
		n, err := t.exec(nodeEvict, node, beat)
		if gone = n == 1; err != nil || !gone {
			return err
		}
		return t.closeLeases(node)
	})
	return gone && err == nil, err
}

// Serving is what a node that has begun and not ended says that it serves, when it last gave a sign of life.
type Serving struct {
	Node string
	Seen time.Time
	What string // "": it is of an earlier version
}

// SetServing keeps what a node serves, for others to compare.
func (s *Nodes) SetServing(ctx context.Context, node, what string) error {
	return s.writeLazily(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE nodes SET serving = $2 WHERE id = $1`, node, what)
		return err
	})
}

// AllServing lists the nodes that have begun and not ended.
func (s *Nodes) AllServing(ctx context.Context) ([]Serving, error) {
	return list(ctx, s.db, "store.AllServing", func(row Scanner) (n Serving, err error) {
		var seen int64
		err = row.Scan(&n.Node, &seen, &n.What)
		n.Seen = time.UnixMicro(seen)
		return n, err
	}, `SELECT id, seen_at, serving FROM nodes WHERE live = 1 ORDER BY id`)
}

// closeLeases gives all that is left in a node's leases back and removes them.
func (t *tx) closeLeases(node string) error {
	rows, err := t.Rows(leasesOfNode, []any{node})
	leases, err := collect(rows, err, columns(func(l *lease) []any {
		return []any{&l.fund.Wallet, &l.fund.Key, &l.fund.Period.Kind, &l.fund.Period.Start, &l.id}
	}))
	if err != nil {
		return err
	}
	for _, l := range leases {
		if err := t.giveBack(node, ledger.Return{Fund: l.fund, Lease: l.id, Close: true}); err != nil {
			return err
		}
	}
	return nil
}
