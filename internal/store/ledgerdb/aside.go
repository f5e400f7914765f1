package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// Life is ledger.Lives.Life.
func (s *Ledger) Life(ctx context.Context, node string) (life string, err error) {
	err = s.db.Read(ctx, &life, nodeLife, node)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return life, sqldb.Failure("store.Life", err)
}

// Live is ledger.Lives.Live.
func (s *Ledger) Live(ctx context.Context, node, former, life string) (done bool, err error) {
	changed, err := s.db.Exec(ctx, nodeLive, node, former, life)
	return changed == 1, err
}

// Books is ledger.Lives.Books.
func (s *Ledger) Books(ctx context.Context, fresh string) (id string, err error) {
	read := func() error {
		return s.db.Read(ctx, &id, booksRead)
	}
	if err = read(); !errors.Is(err, sql.ErrNoRows) {
		return id, sqldb.Failure("store.Books", err)
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(booksAdd, fresh)
		return err
	})
	if err != nil {
		return "", err
	}
	return id, sqldb.Failure("store.Books", read())
}

// SetAside is ledger.Shelf.SetAside.
func (s *Ledger) SetAside(ctx context.Context, life string, from int64, a *ledger.Aside) (position int64, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		moved, err := advance(t, a.Node, life, from, a.Position, &position)
		if err != nil || !moved {
			return err
		}
		return PutAside(t, a)
	})
	return position, err
}

// PutAside sets a record aside.
func PutAside(t *sqldb.Tx, a *ledger.Aside) error {
	return asides.Insert(t, a)
}

var asides = sqldb.Map[ledger.Aside, struct {
	ID, Position                     int64
	Node, Generation, Wallet, Reason string
	Cost                             money.Nano
	Record                           []byte
	At                               time.Time
}]("set_aside", sqldb.Computed[ledger.Aside]("id", "id"))

// advance moves a node on in its journal. It did not when the node is elsewhere; position says where.
func advance(t *sqldb.Tx, node, life string, from, to int64, position *int64) (moved bool, err error) {
	n, err := t.Exec(nodeAdvance, node, from, to, life)
	if err != nil {
		return false, err
	}
	if *position = to; n > 0 {
		return true, nil
	}
	var has string
	if err := t.Row(nodePlace, node).Scan(position, &has); err != nil || has == life {
		return false, err
	}
	return false, fault.New(fault.Conflict, "store.Apply", "The node has been restarted since then.")
}

// Asides is ledger.Shelf.Asides.
func (s *Ledger) Asides(ctx context.Context) ([]ledger.Aside, error) {
	return asides.List(ctx, s.db, "store.Asides", `WHERE state = 'open' ORDER BY id LIMIT 1000`)
}

// CountAsides is ledger.Shelf.CountAsides.
func (s *Ledger) CountAsides(ctx context.Context) (n int64, err error) {
	err = s.db.Read(ctx, &n, asideCount)
	return n, sqldb.Failure("store.CountAsides", err)
}

// PostAside is ledger.Shelf.PostAside.
func (s *Ledger) PostAside(ctx context.Context, id int64, by audit.Actor, now time.Time) error {
	err := s.postAside(ctx, id, by, now, false)
	if s.db.Engine.Duplicate(err) {
		err = s.postAside(ctx, id, by, now, true)
	}
	return s.db.Refused("store.PostAside", err)
}

func (s *Ledger) postAside(ctx context.Context, id int64, by audit.Actor, now time.Time, careful bool) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		a, err := decideAside(t, id, "posted")
		if err != nil {
			return err
		}
		it, err := ledger.DecodeItem(a.Record)
		if err != nil {
			return fault.New(fault.Unprocessable, "store.PostAside", "The record cannot be read by this version of the program.").Because(err)
		}
		Tidy(&it.Call)
		items := []ledger.Recorded{{Item: it, Record: a.Record}}
		if careful {
			if items, err = unknown(t, items); err != nil {
				return err
			}
		}
		done, err := ApplyItems(t, &ledger.Batch{Node: a.Node + ":aside", From: a.Position, Now: now, Items: items}, items)
		if err != nil {
			return err
		}
		if err := done.Seal(t); err != nil {
			return err
		}
		return auditdb.Record(t, audit.Event{Actor: by, Action: ledger.AsidePosted, Target: strconv.FormatInt(id, 10), After: a.Generation + ": " + a.Cost.String() + " rubles"}, now)
	})
}

// DismissAside is ledger.Shelf.DismissAside.
func (s *Ledger) DismissAside(ctx context.Context, id int64, reason string, by audit.Actor, now time.Time) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		a, err := decideAside(t, id, "dismissed")
		if err != nil {
			return err
		}
		return auditdb.Record(t, audit.Event{Actor: by, Action: ledger.AsideDismissed, Target: strconv.FormatInt(id, 10), Before: a.Generation + ": " + a.Cost.String() + " rubles", After: reason}, now)
	})
}

func decideAside(t *sqldb.Tx, id int64, state string) (ledger.Aside, error) {
	a, err := asides.LockedRow(t, `WHERE state = 'open' AND id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return a, fault.Newf(fault.NotFound, "store.Aside", "No record of the number %d is set aside.", id)
	}
	if err != nil {
		return a, err
	}
	return a, t.One(asideDecide, id, state)
}
