package pagedb

import (
	"context"
	"time"

	"weir/internal/idempotency"
	"weir/internal/store/sqldb"
)

var answers = sqldb.Map[idempotency.Entry, struct {
	User                          string `db:"user_id"`
	Name, Hash, Generation, Owner string
	CreatedAt, StaleAt, ExpiresAt time.Time
	Finished                      bool
	Answer                        struct {
		Status int
		Type   string
		Body   []byte `db:",null"`
	}
}]("idempotency")

// BeginIdempotent is idempotency.Store.BeginIdempotent.
func (s *Pages) BeginIdempotent(ctx context.Context, e idempotency.Entry, b idempotency.Bounds) (found *idempotency.Entry, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		found = nil
		begun := e
		begun.Finished, begun.Answer = false, idempotency.Answer{}
		written, err := answers.Put(t, &begun, `ON CONFLICT (user_id, name) DO UPDATE SET `+answers.Excluded("user_id", "name")+`, size = excluded.size
			WHERE idempotency.expires_at <= excluded.created_at`, "size", 0)
		if err != nil {
			return err
		}
		if written == 0 {
			there, err := answers.Row(t, `WHERE user_id = $1 AND name = $2`, e.User, e.Name)
			found = &there
			return err
		}
		return boundIdempotent(t, e.User, b)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// boundIdempotent forgets the oldest tenth of a user's answers when there are too many.
func boundIdempotent(t *sqldb.Tx, user string, b idempotency.Bounds) error {
	var entries, bytes int64
	err := t.Row(`SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM idempotency WHERE user_id = $1`, user).Scan(&entries, &bytes)
	if err != nil || entries <= int64(b.Entries) && bytes <= b.Bytes {
		return err
	}
	_, err = t.Exec(`DELETE FROM idempotency WHERE user_id = $1 AND finished
		AND created_at <= (SELECT created_at FROM idempotency WHERE user_id = $1 AND finished ORDER BY created_at LIMIT 1 OFFSET $2)`, user, entries/10)
	return err
}

// FinishIdempotent is idempotency.Store.FinishIdempotent.
func (s *Pages) FinishIdempotent(ctx context.Context, user, name, generation string, a idempotency.Answer) (done bool, err error) {
	changed, err := s.db.Exec(ctx, `UPDATE idempotency SET finished = $1, status = $2, type = $3, size = $4, body = $5
		WHERE user_id = $6 AND name = $7 AND generation = $8 AND NOT finished`, true, a.Status, a.Type, len(a.Body), a.Body, user, name, generation)
	return changed == 1, err
}

// DropIdempotent is idempotency.Store.DropIdempotent.
func (s *Pages) DropIdempotent(ctx context.Context, user, name, generation string) error {
	_, err := s.db.Exec(ctx, `DELETE FROM idempotency WHERE user_id = $1 AND name = $2 AND generation = $3 AND NOT finished`, user, name, generation)
	return err
}

// SweepIdempotent is idempotency.Store.SweepIdempotent.
func (s *Pages) SweepIdempotent(ctx context.Context, now time.Time, n int) (gone int, err error) {
	changed, err := s.db.Exec(ctx, `DELETE FROM idempotency WHERE (user_id, name) IN (SELECT user_id, name FROM idempotency WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
		now.UnixMicro(), n)
	gone = int(changed)
	if err == nil && gone < n {
		err = s.db.Scrub(ctx)
	}
	return gone, err
}
