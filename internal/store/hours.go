package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/fault"
	"weir/internal/health"
)

// HoursMark is health.HourStore.HoursMark.
func (s *Nodes) HoursMark(ctx context.Context, node string) (mark int64, err error) {
	err = s.find(ctx, func(row Scanner) error { return row.Scan(&mark) }, `SELECT slot FROM endpoint_marks WHERE node = $1`, node)
	return mark, missing("store.HoursMark", "This node has stored no hours yet.", err)
}

// AddHours is health.HourStore.AddHours. The rows of a node are changed by that node alone.
func (s *Nodes) AddHours(ctx context.Context, node string, before, mark int64, hours []health.Hour) error {
	return s.writeLazily(ctx, func(t *tx) error {
		var n int64
		var err error
		if before < 0 {
			n, err = t.exec(`INSERT INTO endpoint_marks (node, slot) VALUES ($1, $2) ON CONFLICT DO NOTHING`, node, mark)
		} else {
			n, err = t.exec(`UPDATE endpoint_marks SET slot = $1 WHERE node = $2 AND slot = $3`, mark, node, before)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.Conflict, "store.AddHours", "Another process stores the hours of this node.")
		}
		for i := range hours {
			if err := t.addHour(node, &hours[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) addHour(node string, h *health.Hour) error {
	sum := health.Hour{}
	err := scanMeasured(t.row(`SELECT served, failed, limited, measured FROM endpoint_hours WHERE endpoint = $1 AND hour = $2 AND node = $3`, h.Endpoint, h.At.Unix(), node), &sum)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	sum.Merge(h)
	_, err = t.exec(`INSERT INTO endpoint_hours (endpoint, hour, node, served, failed, limited, measured) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (endpoint, hour, node) DO UPDATE SET served = excluded.served, failed = excluded.failed, limited = excluded.limited, measured = excluded.measured`,
		h.Endpoint, h.At.Unix(), node, sum.Served, sum.Failed, sum.Limited, sum.Measured())
	return err
}

// scanMeasured reads the counts of an hour, after the columns before. Measurements that cannot be read are left out.
func scanMeasured(row Scanner, h *health.Hour, before ...any) error {
	var measured []byte
	if err := row.Scan(append(before, &h.Served, &h.Failed, &h.Limited, &measured)...); err != nil {
		return err
	}
	if h.SetMeasured(measured) != nil {
		*h = health.Hour{Served: h.Served, Failed: h.Failed, Limited: h.Limited}
	}
	return nil
}

func scanHour(row Scanner) (h health.Hour, err error) {
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
	err := s.snapshot(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, e := range endpoints {
			rows, err := tx.QueryContext(ctx, `SELECT `+measuredColumns+` FROM endpoint_hours WHERE endpoint = $1 AND hour >= $2 ORDER BY hour, node`, e, since.Unix())
			some, err := collect(rows, err, scanHour)
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
	return list(ctx, s.db, "store.HoursSince", scanHour, `SELECT `+measuredColumns+` FROM endpoint_hours WHERE hour >= $1 ORDER BY endpoint, hour, node`, since.Unix())
}

// ForgetHours is health.HourStore.ForgetHours. It asks first, because most of the time there is nothing to delete and no transaction is needed.
func (s *Nodes) ForgetHours(ctx context.Context, before time.Time, n int) (gone int, err error) {
	var some bool
	err = s.find(ctx, func(row Scanner) error { return row.Scan(&some) }, `SELECT EXISTS (SELECT 1 FROM endpoint_hours WHERE hour < $1)`, before.Unix())
	if err != nil || !some {
		return 0, failure("store.ForgetHours", err)
	}
	err = s.writeLazily(ctx, func(t *tx) error {
		changed, err := t.exec(`DELETE FROM endpoint_hours WHERE (endpoint, hour, node) IN (SELECT endpoint, hour, node FROM endpoint_hours WHERE hour < $1 ORDER BY hour LIMIT $2)`,
			before.Unix(), n)
		gone = int(changed)
		return err
	})
	return gone, err
}
