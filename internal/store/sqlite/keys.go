package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
)

const keyColumns = `k.id, k.hash, k.label, k.name, k.user_id, k.creator, k.management, k.disabled, k.limit_nano, k.limit_reset, k.strict,
	k.expires_at, k.created_at, k.updated_at, k.deleted_at`

// KeyByHash finds a key with its user's wallet and state; deleted ones, too. It fails with fault.NotFound.
func (s *Store) KeyByHash(ctx context.Context, hash string) (apikey.Found, error) {
	var f apikey.Found
	row := s.read.QueryRowContext(ctx, `SELECT `+keyColumns+`, u.wallet, u.disabled FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.hash = ?`, hash)
	key, err := scanKey(row, &f.Wallet, &f.UserDisabled)
	f.Key = key
	return f, noKey("sqlite.KeyByHash", err)
}

// ListKeys lists keys that are not deleted, newest first.
func (s *Store) ListKeys(ctx context.Context, f apikey.Filter) ([]apikey.Key, error) {
	if f.Count == 0 {
		f.Count = 100
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+keyColumns+` FROM api_keys k
		WHERE k.deleted_at IS NULL AND (? = '' OR k.user_id = ?) AND (? OR k.disabled = 0)
		ORDER BY k.created_at DESC, k.id DESC LIMIT ? OFFSET ?`, f.User, f.User, f.IncludeDisabled, f.Count, f.Offset)
	return collect("sqlite.ListKeys", rows, err, func(row scanner) (apikey.Key, error) { return scanKey(row) })
}

// InsertKey adds a key unless its user has maxPerUser of them.
func (s *Store) InsertKey(ctx context.Context, k apikey.Key, maxPerUser int, e audit.Event) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		var exists bool
		var keys int
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM users WHERE id = ?), (SELECT COUNT(*) FROM api_keys WHERE user_id = ? AND deleted_at IS NULL)`,
			k.User, k.User).Scan(&exists, &keys)
		switch {
		case err != nil:
			return err
		case !exists:
			return fault.New(fault.NotFound, "sqlite.InsertKey", "There is no such user.")
		case keys >= maxPerUser:
			return fault.Newf(fault.Invalid, "sqlite.InsertKey", "A user may have %d keys. Delete one that is not used.", maxPerUser)
		}
		if err := insertKey(ctx, tx, &k); err != nil {
			return err
		}
		return insertAudit(ctx, tx, e, k.CreatedAt)
	})
}

func insertKey(ctx context.Context, tx *sql.Tx, k *apikey.Key) error {
	limit, reset := limitColumns(k.Limit)
	_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (id, hash, label, name, user_id, creator, management, disabled, limit_nano, limit_reset, strict,
		expires_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.Hash, k.Label, k.Name, k.User, k.Creator, k.Management, k.Disabled, limit, reset, k.Strict,
		micros(k.ExpiresAt), k.CreatedAt.UnixMicro(), k.UpdatedAt.UnixMicro())
	return err
}

// ChangeKey edits a key that is not deleted. It fails with fault.NotFound.
func (s *Store) ChangeKey(ctx context.Context, user, hash string, c apikey.Change, now time.Time, e audit.Event) (apikey.Key, error) {
	var key apikey.Key
	err := s.inTx(ctx, func(tx *sql.Tx) (err error) {
		key, err = scanKey(tx.QueryRowContext(ctx, `SELECT `+keyColumns+` FROM api_keys k
			WHERE k.hash = ? AND (? = '' OR k.user_id = ?) AND k.deleted_at IS NULL`, hash, user, user))
		if err != nil {
			return noKey("sqlite.ChangeKey", err)
		}
		apply(&key, c)
		key.UpdatedAt = now.UTC()
		limit, reset := limitColumns(key.Limit)
		_, err = tx.ExecContext(ctx, `UPDATE api_keys SET name = ?, disabled = ?, limit_nano = ?, limit_reset = ?, strict = ?, updated_at = ? WHERE id = ?`,
			key.Name, key.Disabled, limit, reset, key.Strict, now.UnixMicro(), key.ID)
		if err != nil {
			return err
		}
		return insertAudit(ctx, tx, e, now)
	})
	return key, err
}

func apply(k *apikey.Key, c apikey.Change) {
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.Disabled != nil {
		k.Disabled = *c.Disabled
	}
	if c.Limit != nil {
		k.Limit = *c.Limit
	}
	if c.Strict != nil {
		k.Strict = *c.Strict
	}
}

// DeleteKey marks a key deleted; records go on naming it. It fails with fault.NotFound.
func (s *Store) DeleteKey(ctx context.Context, user, hash string, now time.Time, e audit.Event) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		err := one(tx.ExecContext(ctx, `UPDATE api_keys SET deleted_at = ?, updated_at = ? WHERE hash = ? AND (? = '' OR user_id = ?) AND deleted_at IS NULL`,
			now.UnixMicro(), now.UnixMicro(), hash, user, user))
		if err != nil {
			return noKey("sqlite.DeleteKey", err)
		}
		return insertAudit(ctx, tx, e, now)
	})
}

// scanKey reads keyColumns and what further columns the query has.
func scanKey(row scanner, more ...any) (k apikey.Key, err error) {
	var limit, expires, deleted sql.NullInt64
	var reset string
	var created, updated int64
	into := []any{&k.ID, &k.Hash, &k.Label, &k.Name, &k.User, &k.Creator, &k.Management, &k.Disabled, &limit, &reset, &k.Strict,
		&expires, &created, &updated, &deleted}
	if err := row.Scan(append(into, more...)...); err != nil {
		return apikey.Key{}, err
	}
	if limit.Valid {
		k.Limit = &apikey.Limit{Amount: money.Nano(limit.Int64), Reset: apikey.Reset(reset)}
	}
	k.CreatedAt, k.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	k.ExpiresAt, k.DeletedAt = moment(expires), moment(deleted)
	return k, nil
}

func limitColumns(l *apikey.Limit) (limit sql.NullInt64, reset string) {
	if l == nil {
		return limit, ""
	}
	return sql.NullInt64{Int64: int64(l.Amount), Valid: true}, string(l.Reset)
}

// micros is NULL for the zero time.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

func noKey(op string, err error) error {
	err = failure(op, err)
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.NotFound {
		return apikey.NotFound(op)
	}
	return err
}
