package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"weir/internal/audit"
)

// insertAudit puts an event at the end of the chain, in the transaction of the change that it tells of.
func insertAudit(ctx context.Context, tx *sql.Tx, e audit.Event, now time.Time) error {
	var seq int64
	var prev string
	err := tx.QueryRowContext(ctx, `SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&seq, &prev)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	r := audit.Link(e, seq, prev, now)
	_, err = tx.ExecContext(ctx, `INSERT INTO audit (seq, at, actor, from_addr, action, target, before, after, prev, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Seq, r.At.UnixMicro(), r.Name, r.From, r.Action, r.Target, r.Before, r.After, r.Prev, r.Hash)
	return err
}

// Audit appends an event that has no other change in this package.
func (s *Store) Audit(ctx context.Context, e audit.Event, now time.Time) error {
	return s.inTx(ctx, func(tx *sql.Tx) error { return insertAudit(ctx, tx, e, now) })
}

// AuditRows walks the whole chain from its beginning, as audit.Verify wants it.
func (s *Store) AuditRows(ctx context.Context) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		rows, err := s.read.QueryContext(ctx, `SELECT seq, at, actor, from_addr, action, target, before, after, prev, hash FROM audit ORDER BY seq`)
		if err != nil {
			yield(audit.Row{}, unavailable("sqlite.AuditRows", err))
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var r audit.Row
			var at int64
			if err := rows.Scan(&r.Seq, &at, &r.Name, &r.From, &r.Action, &r.Target, &r.Before, &r.After, &r.Prev, &r.Hash); err != nil {
				yield(r, unavailable("sqlite.AuditRows", err))
				return
			}
			r.At = time.UnixMicro(at).UTC()
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(audit.Row{}, unavailable("sqlite.AuditRows", err))
		}
	}
}
