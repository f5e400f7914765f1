package accountdb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/ownkey"
	"weir/internal/routing"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var providerKeys = sqldb.Map[ownkey.Key, struct {
	ID, Provider, Last4  string
	User                 string           `db:"user_id"`
	Order                routing.OwnOrder `db:"placement"`
	Off                  bool             `db:",number"`
	Sealed               []byte           `db:",null"`
	CreatedAt, ChangedAt time.Time
	UsedAt               time.Time `db:",null"`
	Failure              struct {
		Code   string    `db:"failure"`
		Status int       `db:"failure_status"`
		At     time.Time `db:"failed_at,null"`
	}
}]("provider_keys")

// ProviderKeys is ownkey.Store.ProviderKeys.
func (s *Accounts) ProviderKeys(ctx context.Context, user string) ([]ownkey.Key, error) {
	return providerKeys.List(ctx, s.db, "store.ProviderKeys", `WHERE user_id = $1 ORDER BY provider`, user)
}

// ProviderKey is ownkey.Store.ProviderKey.
func (s *Accounts) ProviderKey(ctx context.Context, user, id string) (k ownkey.Key, err error) {
	k, err = providerKeys.Find(ctx, s.db, `WHERE user_id = $1 AND id = $2`, user, id)
	return k, sqldb.NoneOf("store.ProviderKey", "provider key", err)
}

// AddProviderKey is ownkey.Store.AddProviderKey. The user's row is locked, so that keys are counted one after another.
func (s *Accounts) AddProviderKey(ctx context.Context, k ownkey.Key, most int, e audit.Event) error {
	const op = "store.AddProviderKey"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(k.User); err != nil {
			return sqldb.NoUser(op, err)
		}
		have := 0
		if err := t.Row(`SELECT COUNT(*) FROM provider_keys WHERE user_id = $1`, k.User).Scan(&have); err != nil {
			return err
		}
		old, err := providerKeys.Row(t, `WHERE user_id = $1 AND provider = $2`, k.User, k.Provider)
		switch {
		case err == nil:
			return fault.Newf(fault.Conflict, op, "There is a key of this provider already (%s). Change that one.", old.ID)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		case have >= most:
			return fault.Newf(fault.Invalid, op, "An account may have %d provider keys. Remove one that is not used.", most)
		}
		if err := providerKeys.Insert(t, &k); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.ProviderKeys, k.User), auditdb.Record(t, e, k.CreatedAt))
	})
}

// ChangeProviderKey is ownkey.Store.ChangeProviderKey.
func (s *Accounts) ChangeProviderKey(ctx context.Context, user, id string, c ownkey.Change, now time.Time, e audit.Event) (k ownkey.Key, err error) {
	const op = "store.ChangeProviderKey"
	err = s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		k, err = providerKeys.LockedRow(t, `WHERE user_id = $1 AND id = $2`, user, id)
		if err != nil {
			return sqldb.NoneOf(op, "provider key", err)
		}
		if c.Order != "" {
			k.Order = c.Order
		}
		if c.Off != nil {
			k.Off = *c.Off
		}
		if c.Sealed != nil {
			k.Sealed, k.Last4, k.ChangedAt, k.UsedAt, k.Failure = c.Sealed, c.Last4, now.UTC().Truncate(time.Microsecond), time.Time{}, ownkey.Failure{}
		}
		if err := providerKeys.Update(t, &k, "id; placement, off, sealed, last4, changed_at, used_at, failure, failure_status, failed_at"); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.ProviderKeys, user), auditdb.Record(t, e, now))
	})
	return k, err
}

// RemoveProviderKey is ownkey.Store.RemoveProviderKey.
func (s *Accounts) RemoveProviderKey(ctx context.Context, user, id string, now time.Time, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		k, err := providerKeys.LockedRow(t, `WHERE user_id = $1 AND id = $2`, user, id)
		if err != nil {
			return sqldb.NoneOf("store.RemoveProviderKey", "provider key", err)
		}
		if k.Order == routing.OwnOnly && !k.Removed() {
			_, err = t.Exec(`UPDATE provider_keys SET sealed = NULL, last4 = '', used_at = NULL, failure = '', failure_status = 0, failed_at = NULL WHERE id = $1`, id)
		} else {
			_, err = t.Exec(`DELETE FROM provider_keys WHERE id = $1`, id)
		}
		if err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.ProviderKeys, user), auditdb.Record(t, e, now))
	})
}

// NoteProviderKey is ownkey.Store.NoteProviderKey.
func (s *Accounts) NoteProviderKey(ctx context.Context, id string, changed, used time.Time, f ownkey.Failure) error {
	_, err := s.db.Exec(ctx, `UPDATE provider_keys SET used_at = $1, failure = $2, failure_status = $3, failed_at = $4 WHERE id = $5 AND changed_at = $6 AND sealed IS NOT NULL`,
		sqldb.Micros(used), f.Code, f.Status, sqldb.Micros(f.At), id, changed.UnixMicro())
	return err
}

// AllProviderKeys is ownkey.Store.AllProviderKeys.
func (s *Accounts) AllProviderKeys(ctx context.Context) ([]ownkey.Key, error) {
	return providerKeys.List(ctx, s.db, "store.AllProviderKeys", `WHERE sealed IS NOT NULL ORDER BY id`)
}

// RewrapProviderKey is ownkey.Store.RewrapProviderKey.
func (s *Accounts) RewrapProviderKey(ctx context.Context, id string, from, to []byte) (done bool, err error) {
	changed, err := s.db.Exec(ctx, `UPDATE provider_keys SET sealed = $1 WHERE id = $2 AND sealed = $3`, to, id, from)
	return changed == 1, err
}
