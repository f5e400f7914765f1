package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
)

// CreateUser adds a user, their wallet and the audit row.
func (s *Accounts) CreateUser(ctx context.Context, u account.User, e audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.insertUser(u); err != nil {
			return err
		}
		return t.record(e, u.CreatedAt)
	})
}

func (t *tx) insertUser(u account.User) error {
	if err := t.insertWallet(u.Wallet, u.CreatedAt); err != nil {
		return err
	}
	_, err := t.exec(`INSERT INTO users (id, name, wallet, role, disabled, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		u.ID, u.Name, u.Wallet, string(cmp.Or(u.Role, apikey.User)), u.Disabled, u.CreatedAt.UnixMicro(), u.CreatedAt.UnixMicro())
	return err
}

const userColumns = `id, name, wallet, role, disabled, preferences, language, theme, created_at`

// UserByID finds a user. It fails with fault.NotFound.
func (s *Accounts) UserByID(ctx context.Context, id string) (u account.User, err error) {
	err = s.find(ctx, func(row Scanner) (err error) { u, err = scanUser(row); return err }, `SELECT `+userColumns+` FROM users WHERE id = $1`, id)
	return u, noUser("store.UserByID", err)
}

// ListUsers lists all users, oldest first.
func (s *Accounts) ListUsers(ctx context.Context) ([]account.User, error) {
	return list(ctx, s.db, "store.ListUsers", scanUser, `SELECT `+userColumns+` FROM users ORDER BY created_at, id`)
}

// SetUserDisabled fails with fault.NotFound.
func (s *Accounts) SetUserDisabled(ctx context.Context, id string, disabled bool, now time.Time, e audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.one(`UPDATE users SET disabled = $1, updated_at = $2 WHERE id = $3`, disabled, now.UnixMicro(), id); err != nil {
			return noUser("store.SetUserDisabled", err)
		}
		return errors.Join(t.tell(invalidate.Keys, id), t.record(e, now))
	})
}

// SetUserRole fails with fault.NotFound.
func (s *Accounts) SetUserRole(ctx context.Context, id string, role apikey.Role, now time.Time, e audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.one(`UPDATE users SET role = $1, updated_at = $2 WHERE id = $3`, string(role), now.UnixMicro(), id); err != nil {
			return noUser("store.SetUserRole", err)
		}
		return errors.Join(t.tell(invalidate.Keys, id), t.record(e, now))
	})
}

// SetUserPreferences replaces preferences that are still was, and reports whether they were.
func (s *Accounts) SetUserPreferences(ctx context.Context, id, was, preferences string, now time.Time, e audit.Event) (done bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE users SET preferences = $1, updated_at = $2 WHERE id = $3 AND preferences = $4`, preferences, now.UnixMicro(), id, was)
		if done = n == 1; err != nil || !done {
			return err
		}
		return errors.Join(t.tell(invalidate.Keys, id), t.record(e, now))
	})
	return done && err == nil, err
}

// SetProfile fails with fault.NotFound.
func (s *Accounts) SetProfile(ctx context.Context, id string, p account.Profile, now time.Time, e audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.one(`UPDATE users SET name = $1, language = $2, theme = $3, updated_at = $4 WHERE id = $5`, p.Name, p.Language, p.Theme, now.UnixMicro(), id); err != nil {
			return noUser("store.SetProfile", err)
		}
		return t.record(e, now)
	})
}

// Bootstrap adds the first user with their keys, unless there is a user.
func (s *Accounts) Bootstrap(ctx context.Context, u account.User, keys []apikey.Key, events []audit.Event) (done bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		done = false
		if err := t.lockTable("users"); err != nil {
			return err
		}
		var users int
		if err := t.row(`SELECT COUNT(*) FROM users`).Scan(&users); err != nil || users > 0 {
			return err
		}
		if err := t.insertUser(u); err != nil {
			return err
		}
		for i := range keys {
			if err := t.insertKey(&keys[i]); err != nil {
				return err
			}
		}
		for _, e := range events {
			if err := t.record(e, u.CreatedAt); err != nil {
				return err
			}
		}
		done = true
		return nil
	})
	return done && err == nil, err
}

func scanUser(row Scanner) (u account.User, err error) {
	var created int64
	err = row.Scan(&u.ID, &u.Name, &u.Wallet, &u.Role, &u.Disabled, &u.Preferences, &u.Language, &u.Theme, &created)
	u.CreatedAt = time.UnixMicro(created).UTC()
	return u, err
}

func noUser(op string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, op, "There is no such user.")
	}
	return failure(op, err)
}
