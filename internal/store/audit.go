package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"weir/internal/audit"
)

// record puts an event at the end of the audit chain, as the last thing in the transaction of the change that it records.
func (t *tx) record(e audit.Event, now time.Time) error {
	if err := t.lockTable("audit"); err != nil {
		return err
	}
	var seq int64
	var prev string
	err := t.row(`SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&seq, &prev)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	for _, s := range []*string{&e.Name, &e.From, &e.Action, &e.Target, &e.Before, &e.After} {
		*s = Text(*s) // the hash is of the stored text
	}
	r := audit.Link(e, seq, prev, now)
	_, err = t.exec(`INSERT INTO audit (seq, at, actor, from_addr, action, target, before, after, prev, hash, salt) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		r.Seq, r.At.UnixMicro(), r.Name, r.From, r.Action, r.Target, r.Before, r.After, r.Prev, r.Hash, r.Salt)
	return err
}

// Audit appends an event that has no other change in this package.
func (s *Accounts) Audit(ctx context.Context, e audit.Event, now time.Time) error {
	return s.write(ctx, func(t *tx) error { return t.record(e, now) })
}

// AuditRows walks the whole chain from its beginning, as audit.Verify requires.
func (s *Accounts) AuditRows(ctx context.Context) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		var stopped bool
		err := s.walk(ctx, func(ctx context.Context, q *sql.Tx) error {
			for row, err := range auditRows(ctx, q) {
				if err != nil {
					return err
				}
				if !yield(row, nil) {
					stopped = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(audit.Row{}, err)
		}
	}
}

const auditRead = `SELECT seq, at, actor, from_addr, action, target, before, after, prev, hash, salt, erased FROM audit `

func scanAudit(row Scanner) (r audit.Row, err error) {
	var at int64
	err = row.Scan(&r.Seq, &at, &r.Name, &r.From, &r.Action, &r.Target, &r.Before, &r.After, &r.Prev, &r.Hash, &r.Salt, &r.Erased)
	r.At = time.UnixMicro(at).UTC()
	return r, err
}

func auditRows(ctx context.Context, q *sql.Tx) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		rows, err := q.QueryContext(ctx, auditRead+`ORDER BY seq`)
		if err != nil {
			yield(audit.Row{}, err)
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			r, err := scanAudit(rows)
			if !yield(r, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(audit.Row{}, err)
		}
	}
}
