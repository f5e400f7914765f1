// Package auditdb keeps the audit chain. The packages of the store end with it the transactions whose changes it records.
package auditdb

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strconv"
	"strings"
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

// Change runs f in a transaction, as sqldb.DB.Write does, and records its event. With one without an action f has changed nothing. f compares with what
// is there after it has locked it: of two who make the same change at once one is recorded.
func Change(ctx context.Context, db *sqldb.DB, now time.Time, f func(*sqldb.Tx) (audit.Event, error)) error {
	return db.Write(ctx, func(t *sqldb.Tx) error {
		e, err := f(t)
		if err != nil || e.Action == "" {
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

// maxSkew is how far the clocks of nodes may be apart: rows are in the order of their numbers, which is nearly that of their times.
const maxSkew = time.Hour

// Find are the rows that a search chooses, the newest first. Indexes find them, whatever it asks for.
func Find(ctx context.Context, db *sqldb.DB, s audit.Search) ([]audit.Row, error) {
	var where sqldb.Conditions
	switch {
	case strings.HasPrefix(s.Who, "usr_"):
		where.Add("actor = ?", "user:"+s.Who)
	case strings.HasPrefix(s.Who, "key_"):
		where.Add("actor = ?", "key:"+s.Who)
	default:
		where.Equal("actor", s.Who)
	}
	if family, all := strings.CutSuffix(s.Action, "."); all {
		where.Add("action > ? AND action < ?", s.Action, family+"/") // "/" follows "."
	} else {
		where.Equal("action", s.Action)
	}
	where.Equal("target", s.Target)
	if s.Before > 0 {
		where.Add("seq < ?", s.Before)
	}
	if !s.From.IsZero() {
		where.Add("at >= ?", s.From.UnixMicro())
		where.Add("seq >= COALESCE((SELECT seq FROM audit WHERE at >= ? ORDER BY at, seq LIMIT 1), 0)", s.From.Add(-maxSkew).UnixMicro())
	}
	if !s.Until.IsZero() {
		where.Add("at < ?", s.Until.UnixMicro())
		where.Add("seq <= COALESCE((SELECT seq FROM audit WHERE at < ? ORDER BY at DESC, seq DESC LIMIT 1), 0)", s.Until.Add(maxSkew).UnixMicro())
	}
	return Chain.List(ctx, db, "store.AuditFound", where.Where()+` ORDER BY seq DESC LIMIT `+strconv.Itoa(s.Limit), where.Args...)
}
