// Package auditdb keeps the audit chain. The packages of the store end with it the transactions whose changes it records.
package auditdb

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"weir/internal/audit"
	"weir/internal/store/sqldb"
)

// Record puts an event at the end of the audit chain, as the last thing in the transaction of the change that it records.
func Record(t *sqldb.Tx, e audit.Event, now time.Time) error {
	if err := t.LockTable("audit"); err != nil {
		return err
	}
	var seq int64
	var prev string
	err := t.Row(`SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&seq, &prev)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	for _, s := range []*string{&e.Name, &e.From, &e.Action, &e.Target, &e.Before, &e.After} {
		*s = sqldb.Text(*s) // the hash is of the stored text
	}
	r := audit.Link(e, seq, prev, now)
	return Chain.Insert(t, &r)
}

// Write runs f in a transaction, as sqldb.DB.Write does, and records an event at its end.
func Write(ctx context.Context, db *sqldb.DB, e audit.Event, now time.Time, f func(*sqldb.Tx) error) error {
	return db.Write(ctx, func(t *sqldb.Tx) error {
		if err := f(t); err != nil {
			return err
		}
		return Record(t, e, now)
	})
}

// RecordAll appends several events to the audit chain.
func RecordAll(t *sqldb.Tx, events []audit.Event, now time.Time) error {
	for _, e := range events {
		if err := Record(t, e, now); err != nil {
			return err
		}
	}
	return nil
}

// Chain is the table of the chain.
var Chain = sqldb.Map[audit.Row, struct {
	Seq, Erased                                     int64
	At                                              time.Time
	Name                                            string `db:"actor"`
	From                                            string `db:"from_addr"`
	Action, Target, Before, After, Prev, Hash, Salt string
}]("audit")

// All walks the whole chain from its beginning, as audit.Verify requires.
func All(ctx context.Context, q *sql.Tx) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		rows, err := q.QueryContext(ctx, Chain.Select+`ORDER BY seq`)
		if err != nil {
			yield(audit.Row{}, err)
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			r, err := Chain.Scan(rows)
			if !yield(r, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(audit.Row{}, err)
		}
	}
}
