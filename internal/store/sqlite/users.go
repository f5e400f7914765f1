package sqlite

import (
	"context"
	"database/sql"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
)

// CreateUser adds a user, their wallet and the audit row.
func (s *Store) CreateUser(ctx context.Context, u account.User, e audit.Event) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		if err := insertUser(ctx, tx, u); err != nil {
			return err
		}
		return insertAudit(ctx, tx, e, u.CreatedAt)
	})
}

func insertUser(ctx context.Context, tx *sql.Tx, u account.User) error {
	if err := insertWallet(ctx, tx, u.Wallet, u.CreatedAt); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO users (id, name, wallet, disabled, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
		u.ID, u.Name, u.Wallet, u.Disabled, u.CreatedAt.UnixMicro(), u.CreatedAt.UnixMicro())
	return err
}

const userColumns = `id, name, wallet, disabled, created_at`

// UserByID finds a user. It fails with fault.NotFound.
func (s *Store) UserByID(ctx context.Context, id string) (account.User, error) {
	u, err := scanUser(s.read.QueryRowContext(ctx, `SELECT `+userColumns+` FROM users WHERE id = ?`, id))
	return u, noUser("sqlite.UserByID", err)
}

// ListUsers lists all users, oldest first.
func (s *Store) ListUsers(ctx context.Context) ([]account.User, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT `+userColumns+` FROM users ORDER BY created_at, id`)
	return collect("sqlite.ListUsers", rows, err, scanUser)
}

// SetUserDisabled fails with fault.NotFound.
func (s *Store) SetUserDisabled(ctx context.Context, id string, disabled bool, now time.Time, e audit.Event) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		err := one(tx.ExecContext(ctx, `UPDATE users SET disabled = ?, updated_at = ? WHERE id = ?`, disabled, now.UnixMicro(), id))
		if err != nil {
			return noUser("sqlite.SetUserDisabled", err)
		}
		return insertAudit(ctx, tx, e, now)
	})
}

// Bootstrap adds the first user with their keys, unless there is a user.
func (s *Store) Bootstrap(ctx context.Context, u account.User, keys []apikey.Key, events []audit.Event) (done bool, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		var users int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM users`).Scan(&users); err != nil || users > 0 {
			return err
		}
		if err := insertUser(ctx, tx, u); err != nil {
			return err
		}
		for i := range keys {
			if err := insertKey(ctx, tx, &keys[i]); err != nil {
				return err
			}
		}
		for _, e := range events {
			if err := insertAudit(ctx, tx, e, u.CreatedAt); err != nil {
				return err
			}
		}
		done = true
		return nil
	})
	return done && err == nil, err
}

// scanner is a row, or rows at one of them.
type scanner interface{ Scan(...any) error }

func scanUser(row scanner) (u account.User, err error) {
	var created int64
	err = row.Scan(&u.ID, &u.Name, &u.Wallet, &u.Disabled, &created)
	u.CreatedAt = time.UnixMicro(created).UTC()
	return u, err
}

// collect reads all rows of a query with scan. The result is empty, not nil, without rows.
func collect[T any](op string, rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, failure(op, err)
	}
	defer func() { _ = rows.Close() }()
	all := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, failure(op, err)
		}
		all = append(all, v)
	}
	return all, failure(op, rows.Err())
}

// one turns an update that met no row into sql.ErrNoRows.
func one(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return sql.ErrNoRows
}

func noUser(op string, err error) error {
	if err = failure(op, err); fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, op, "There is no such user.")
	}
	return err
}
