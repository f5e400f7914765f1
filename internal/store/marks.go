package store

import (
	"context"
	"database/sql"
	"errors"

	"weir/internal/store/sqldb"
)

// Marks say what a ledger is, to each program that opens it.
const (
	MarkDemo   = "demo"   // its money is play money
	MarkMonth  = "month"  // until when what a demo has was made up, as RFC 3339; "" where nothing was
	MarkMoved  = "moved"  // it goes on in another database; the value is a sentence that names it
	MarkCheck  = "check"  // the last check of the books that somebody asked for
	MarkPrices = "prices" // when the public price lists were fetched last by themselves, and what became of them
	MarkAlert  = "alert"  // which node looks for alerts, and until when
	MarkFetch  = "fetch"  // who fetches the public price lists, and how far it is
)

// Mark returns what a ledger is marked with, "" when it has no such mark.
func (s *Store) Mark(ctx context.Context, name string) (value string, err error) {
	err = s.db.Read(ctx, &value, `SELECT value FROM marks WHERE name = $1`, name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, sqldb.Failure("store.Mark", err)
}

// SetMark marks a ledger.
func (s *Store) SetMark(ctx context.Context, name, value string) error {
	_, err := s.db.Exec(ctx, `INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// Used reports whether anything was done with a ledger.
func (s *Store) Used(ctx context.Context) (bool, error) {
	for _, table := range used {
		if table == "nodes" { // a node that only began has a row
			continue
		}
		var n int64
		if err := s.db.Read(ctx, &n, `SELECT COUNT(*) FROM (SELECT 1 FROM `+table+` LIMIT 1) AS first`); err != nil {
			return false, sqldb.Failure("store.Used", err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, nil
}

// SwapMark marks a ledger if its mark is still that one, "" for none, and reports whether it did.
func (s *Store) SwapMark(ctx context.Context, name, old, value string) (done bool, err error) {
	var n int64
	if old == "" {
		n, err = s.db.Exec(ctx, `INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, value)
	} else {
		n, err = s.db.Exec(ctx, `UPDATE marks SET value = $2 WHERE name = $1 AND value = $3`, name, value, old)
	}
	return n > 0, sqldb.Failure("store.SwapMark", err)
}
