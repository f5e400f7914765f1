// Package nodedb keeps what nodes report to one another.
package nodedb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/invalidate"
	"weir/internal/store/sqldb"
)

// Nodes has what nodes report to one another.
type Nodes struct{ db *sqldb.DB }

// New makes the nodes of a database.
func New(db *sqldb.DB) *Nodes { return &Nodes{db} }

var (
	_ health.HourStore  = (*Nodes)(nil)
	_ invalidate.Source = (*Nodes)(nil)
)

// HoursMark is health.HourStore.HoursMark.
func (s *Nodes) HoursMark(ctx context.Context, node string) (mark int64, err error) {
	err = s.db.Read(ctx, &mark, `SELECT slot FROM endpoint_marks WHERE node = $1`, node)
	return mark, sqldb.Missing("store.HoursMark", "This node has stored no hours yet.", err)
}

// AddHours is health.HourStore.AddHours. The rows of a node are changed by that node alone.
func (s *Nodes) AddHours(ctx context.Context, node string, before, mark int64, hours []health.Hour) error {
	return s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		var n int64
		var err error
		if before < 0 {
			n, err = t.Exec(`INSERT INTO endpoint_marks (node, slot) VALUES ($1, $2) ON CONFLICT DO NOTHING`, node, mark)
		} else {
			n, err = t.Exec(`UPDATE endpoint_marks SET slot = $1 WHERE node = $2 AND slot = $3`, mark, node, before)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.Conflict, "store.AddHours", "Another process stores the hours of this node.")
		}
		for i := range hours {
			if err := addHour(t, node, &hours[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func addHour(t *sqldb.Tx, node string, h *health.Hour) error {
	sum := health.Hour{}
	err := scanMeasured(t.Row(`SELECT served, failed, limited, measured FROM endpoint_hours WHERE endpoint = $1 AND hour = $2 AND node = $3`, h.Endpoint, h.At.Unix(), node), &sum)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	sum.Merge(h)
	_, err = t.Exec(`INSERT INTO endpoint_hours (endpoint, hour, node, served, failed, limited, measured) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (endpoint, hour, node) DO UPDATE SET served = excluded.served, failed = excluded.failed, limited = excluded.limited, measured = excluded.measured`,
		h.Endpoint, h.At.Unix(), node, sum.Served, sum.Failed, sum.Limited, sum.Measured())
	return err
}

// scanMeasured reads the counts of an hour, after the columns before. Measurements that cannot be read are left out.
func scanMeasured(row sqldb.Scanner, h *health.Hour, before ...any) error {
	var measured []byte
	if err := row.Scan(append(before, &h.Served, &h.Failed, &h.Limited, &measured)...); err != nil {
		return err
	}
	if h.SetMeasured(measured) != nil {
		*h = health.Hour{Served: h.Served, Failed: h.Failed, Limited: h.Limited}
	}
	return nil
}

func scanHour(row sqldb.Scanner) (h health.Hour, err error) {
	var endpoint string
	var at int64
	err = scanMeasured(row, &h, &endpoint, &at)
	h.Endpoint, h.At = endpoint, time.Unix(at, 0).UTC()
	return h, err
}

const measuredColumns = `endpoint, hour, served, failed, limited, measured`

// HoursOf is health.HourStore.HoursOf.
func (s *Nodes) HoursOf(ctx context.Context, endpoints []string, since time.Time) ([]health.Hour, error) {
	all := []health.Hour{}
	err := s.db.Snapshot(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, e := range endpoints {
			rows, err := tx.QueryContext(ctx, `SELECT `+measuredColumns+` FROM endpoint_hours WHERE endpoint = $1 AND hour >= $2 ORDER BY hour, node`, e, since.Unix())
			some, err := sqldb.Collect(rows, err, scanHour)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return nil
	})
	return all, err
}

// HoursSince is health.HourStore.HoursSince.
func (s *Nodes) HoursSince(ctx context.Context, since time.Time) ([]health.Hour, error) {
	return sqldb.List(ctx, s.db, "store.HoursSince", scanHour, `SELECT `+measuredColumns+` FROM endpoint_hours WHERE hour >= $1 ORDER BY endpoint, hour, node`, since.Unix())
}

// ForgetHours is health.HourStore.ForgetHours. It asks first, because most of the time there is nothing to delete and no transaction is needed.
func (s *Nodes) ForgetHours(ctx context.Context, before time.Time, n int) (gone int, err error) {
	var some bool
	err = s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 FROM endpoint_hours WHERE hour < $1)`, before.Unix())
	if err != nil || !some {
		return 0, sqldb.Failure("store.ForgetHours", err)
	}
	changed, err := s.db.ExecLazily(ctx, `DELETE FROM endpoint_hours WHERE (endpoint, hour, node) IN (SELECT endpoint, hour, node FROM endpoint_hours WHERE hour < $1 ORDER BY hour LIMIT $2)`,
		before.Unix(), n)
	return int(changed), err
}

// Serving is what a node that has begun and not ended says that it serves, when it last gave a sign of life.
type Serving struct {
	Node string
	Seen time.Time
	What string // "": it is of an earlier version
}

// SetServing keeps what a node serves, for others to compare.
func (s *Nodes) SetServing(ctx context.Context, node, what string) error {
	_, err := s.db.ExecLazily(ctx, `UPDATE nodes SET serving = $2 WHERE id = $1`, node, what)
	return err
}

// AllServing lists the nodes that have begun and not ended.
func (s *Nodes) AllServing(ctx context.Context) ([]Serving, error) {
	return sqldb.List(ctx, s.db, "store.AllServing", func(row sqldb.Scanner) (n Serving, err error) {
		var seen int64
		err = row.Scan(&n.Node, &seen, &n.What)
		n.Seen = time.UnixMicro(seen)
		return n, err
	}, `SELECT id, seen_at, serving FROM nodes WHERE live = 1 ORDER BY id`)
}

// Listen is hint.Source.Listen.
func (s *Nodes) Listen(ctx context.Context, joined func(), heard func(note string)) error {
	if s.db.Engine.Listen == nil {
		return errors.ErrUnsupported
	}
	return sqldb.Failure("store.Listen", s.db.Engine.Listen(ctx, joined, heard))
}
