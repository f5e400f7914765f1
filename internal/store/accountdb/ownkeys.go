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

const providerKeyRead = `SELECT id, user_id, provider, placement, off, sealed, last4, created_at, changed_at, used_at, failure, failure_status, failed_at FROM provider_keys`

func scanProviderKey(row sqldb.Scanner) (k ownkey.Key, err error) {
	var created, changed, off int64
	var used, failed sql.NullInt64
	var order string
	err = row.Scan(&k.ID, &k.User, &k.Provider, &order, &off, &k.Sealed, &k.Last4, &created, &changed, &used, &k.Failure.Code, &k.Failure.Status, &failed)
	k.Order, k.Off = routing.OwnOrder(order), off != 0
	k.CreatedAt, k.ChangedAt = time.UnixMicro(created).UTC(), time.UnixMicro(changed).UTC()
	k.UsedAt, k.Failure.At = sqldb.Moment(used), sqldb.Moment(failed)
	if len(k.Sealed) == 0 {
		k.Sealed = nil
	}
	return k, err
}

func oneIf(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// ProviderKeys is ownkey.Store.ProviderKeys.
func (s *Accounts) ProviderKeys(ctx context.Context, user string) ([]ownkey.Key, error) {
	return sqldb.List(ctx, s.db, "store.ProviderKeys", scanProviderKey, providerKeyRead+` WHERE user_id = $1 ORDER BY provider`, user)
}

// ProviderKey is ownkey.Store.ProviderKey.
func (s *Accounts) ProviderKey(ctx context.Context, user, id string) (k ownkey.Key, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) { k, err = scanProviderKey(row); return err }, providerKeyRead+` WHERE user_id = $1 AND id = $2`, user, id)
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
		old, err := scanProviderKey(t.Row(providerKeyRead+` WHERE user_id = $1 AND provider = $2`, k.User, k.Provider))
		switch {
		case err == nil:
			return fault.Newf(fault.Conflict, op, "There is a key of this provider already (%s). Change that one.", old.ID)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		case have >= most:
			return fault.Newf(fault.Invalid, op, "An account may have %d provider keys. Remove one that is not used.", most)
		}
		_, err = t.Exec(`INSERT INTO provider_keys (id, user_id, provider, placement, off, sealed, last4, created_at, changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			k.ID, k.User, k.Provider, string(k.Order), oneIf(k.Off), k.Sealed, k.Last4, k.CreatedAt.UnixMicro(), k.ChangedAt.UnixMicro())
		if err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.ProviderKeys, k.User), auditdb.Record(t, e, k.CreatedAt))
	})
}

// ChangeProviderKey is ownkey.Store.ChangeProviderKey.
func (s *Accounts) ChangeProviderKey(ctx context.Context, user, id string, c ownkey.Change, now time.Time, e audit.Event) (k ownkey.Key, err error) {
	const op = "store.ChangeProviderKey"
	err = s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		k, err = scanProviderKey(t.LockedRow(providerKeyRead+` WHERE user_id = $1 AND id = $2`, user, id))
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
		_, err = t.Exec(`UPDATE provider_keys SET placement = $1, off = $2, sealed = $3, last4 = $4, changed_at = $5, used_at = $6, failure = $7, failure_status = $8, failed_at = $9 WHERE id = $10`,
			string(k.Order), oneIf(k.Off), k.Sealed, k.Last4, k.ChangedAt.UnixMicro(), sqldb.Micros(k.UsedAt), k.Failure.Code, k.Failure.Status, sqldb.Micros(k.Failure.At), k.ID)
		if err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.ProviderKeys, user), auditdb.Record(t, e, now))
	})
	return k, err
}

// RemoveProviderKey is ownkey.Store.RemoveProviderKey.
func (s *Accounts) RemoveProviderKey(ctx context.Context, user, id string, now time.Time, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		k, err := scanProviderKey(t.LockedRow(providerKeyRead+` WHERE user_id = $1 AND id = $2`, user, id))
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
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`UPDATE provider_keys SET used_at = $1, failure = $2, failure_status = $3, failed_at = $4 WHERE id = $5 AND changed_at = $6 AND sealed IS NOT NULL`,
			sqldb.Micros(used), f.Code, f.Status, sqldb.Micros(f.At), id, changed.UnixMicro())
		return err
	})
}

// AllProviderKeys is ownkey.Store.AllProviderKeys.
func (s *Accounts) AllProviderKeys(ctx context.Context) ([]ownkey.Key, error) {
	return sqldb.List(ctx, s.db, "store.AllProviderKeys", scanProviderKey, providerKeyRead+` WHERE sealed IS NOT NULL ORDER BY id`)
}

// RewrapProviderKey is ownkey.Store.RewrapProviderKey.
func (s *Accounts) RewrapProviderKey(ctx context.Context, id string, from, to []byte) (done bool, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		n, err := t.Exec(`UPDATE provider_keys SET sealed = $1 WHERE id = $2 AND sealed = $3`, to, id, from)
		done = n == 1
		return err
	})
	return done && err == nil, err
}
