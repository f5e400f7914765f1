// Package accountdb keeps users with their keys, and the people who sign in as them.
package accountdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"iter"
	"strconv"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/invalidate"
	"weir/internal/ownkey"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

// Accounts has users, their keys, and the audit chain.
type Accounts struct{ db *sqldb.DB }

// NewAccounts makes the accounts of a database.
func NewAccounts(db *sqldb.DB) *Accounts { return &Accounts{db} }

var (
	_ account.Store    = (*Accounts)(nil)
	_ apikey.Store     = (*Accounts)(nil)
	_ ownkey.Store     = (*Accounts)(nil)
	_ budget.Store     = (*Accounts)(nil)
	_ budget.LoopStore = (*Accounts)(nil)
)

// CreateUser adds a user, their wallet and the audit row.
func (s *Accounts) CreateUser(ctx context.Context, u account.User, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, u.CreatedAt, func(t *sqldb.Tx) error {
		return insertUser(t, u)
	})
}

func insertUser(t *sqldb.Tx, u account.User) error {
	if err := ledgerdb.InsertWallet(t, u.Wallet, u.CreatedAt); err != nil {
		return err
	}
	u.Role = cmp.Or(u.Role, apikey.User)
	return users.Insert(t, &u, "updated_at", u.CreatedAt.UnixMicro())
}

var users = sqldb.Map[account.User, struct {
	ID, Name, Wallet, Preferences, Language, Theme string
	Role                                           apikey.Role
	Disabled                                       bool
	CreatedAt                                      time.Time
}]("users")

// UserByID finds a user. It fails with fault.NotFound.
func (s *Accounts) UserByID(ctx context.Context, id string) (u account.User, err error) {
	u, err = users.Find(ctx, s.db, `WHERE id = $1`, id)
	return u, sqldb.NoUser("store.UserByID", err)
}

// ListUsers lists all users, oldest first.
func (s *Accounts) ListUsers(ctx context.Context) ([]account.User, error) {
	return users.List(ctx, s.db, "store.ListUsers", `ORDER BY created_at, id`)
}

// SetUserDisabled is account.Store.SetUserDisabled.
func (s *Accounts) SetUserDisabled(ctx context.Context, id string, disabled bool, now time.Time, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		role, was, err := standing(t, "store.SetUserDisabled", id, disabled)
		if err != nil || was == disabled {
			return err
		}
		if disabled && role == apikey.Administrator {
			if err := otherAdministrator(t, "store.SetUserDisabled", id); err != nil {
				return err
			}
		}
		if err := t.One(`UPDATE users SET disabled = $1, updated_at = $2 WHERE id = $3`, disabled, now.UnixMicro(), id); err != nil {
			return sqldb.NoUser("store.SetUserDisabled", err)
		}
		return errors.Join(t.Tell(invalidate.Keys, id), auditdb.Record(t, e, now))
	})
}

// standing is the role of a user, and whether they are disabled. An administrator who may lose that is not the last one until the transaction ends:
// no other one loses it meanwhile.
func standing(t *sqldb.Tx, op, id string, loses bool) (role apikey.Role, disabled bool, err error) {
	if loses {
		if err := t.LockTable("users"); err != nil {
			return "", false, err
		}
	}
	err = t.LockedRow(`SELECT role, disabled FROM users WHERE id = $1`, id).Scan(&role, &disabled)
	return role, disabled, sqldb.NoUser(op, err)
}

// SetUserRole is account.Store.SetUserRole.
func (s *Accounts) SetUserRole(ctx context.Context, id string, role apikey.Role, now time.Time, e audit.Event) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		was, disabled, err := standing(t, "store.SetUserRole", id, role != apikey.Administrator)
		if err != nil || was == role {
			return err
		}
		if was == apikey.Administrator && !disabled {
			if err := otherAdministrator(t, "store.SetUserRole", id); err != nil {
				return err
			}
		}
		if err := t.One(`UPDATE users SET role = $1, updated_at = $2 WHERE id = $3`, string(role), now.UnixMicro(), id); err != nil {
			return sqldb.NoUser("store.SetUserRole", err)
		}
		return errors.Join(t.Tell(invalidate.Keys, id), auditdb.Record(t, e, now))
	})
}

// SetUserPreferences replaces preferences that are still was, and reports whether they were.
func (s *Accounts) SetUserPreferences(ctx context.Context, id, was, preferences string, now time.Time, e audit.Event) (done bool, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		n, err := t.Exec(`UPDATE users SET preferences = $1, updated_at = $2 WHERE id = $3 AND preferences = $4`, preferences, now.UnixMicro(), id, was)
		if done = n == 1; err != nil || !done {
			return err
		}
		return errors.Join(t.Tell(invalidate.Keys, id), auditdb.Record(t, e, now))
	})
	return done && err == nil, err
}

// NoteOnce is account.Store.NoteOnce.
func (s *Accounts) NoteOnce(ctx context.Context, e audit.Event, since, now time.Time) error {
	const done = `SELECT COUNT(*) FROM (SELECT 1 FROM audit WHERE target = $1 AND action = $2 AND actor = $3 AND at >= $4 LIMIT 1) a`
	args := []any{e.Target, e.Action, e.Name, since.UnixMicro()}
	var n int
	if err := s.db.Read(ctx, &n, done, args...); err != nil || n > 0 {
		return sqldb.Failure("store.NoteOnce", err)
	}
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.LockTable("audit"); err != nil {
			return err
		}
		if err := t.Row(done, args...).Scan(&n); err != nil || n > 0 {
			return err
		}
		return auditdb.Record(t, e, now)
	})
}

// SetProfile fails with fault.NotFound.
func (s *Accounts) SetProfile(ctx context.Context, id string, p account.Profile, now time.Time, event func(was account.Profile) audit.Event) error {
	return auditdb.Change(ctx, s.db, now, func(t *sqldb.Tx) (e audit.Event, err error) {
		var was account.Profile
		if err := t.LockedRow(`SELECT name, language, theme FROM users WHERE id = $1`, id).Scan(&was.Name, &was.Language, &was.Theme); err != nil {
			return e, sqldb.NoUser("store.SetProfile", err)
		}
		if e = event(was); e.Action == "" {
			return e, nil
		}
		return e, t.One(`UPDATE users SET name = $1, language = $2, theme = $3, updated_at = $4 WHERE id = $5`, p.Name, p.Language, p.Theme, now.UnixMicro(), id)
	})
}

// Bootstrap adds the first user with their keys, unless there is a user.
func (s *Accounts) Bootstrap(ctx context.Context, u account.User, own []apikey.Key, events []audit.Event) (done bool, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		done = false
		if err := t.LockTable("users"); err != nil {
			return err
		}
		var have int
		if err := t.Row(`SELECT COUNT(*) FROM users`).Scan(&have); err != nil || have > 0 {
			return err
		}
		if err := insertUser(t, u); err != nil {
			return err
		}
		for i := range own {
			if err := keys.Insert(t, &own[i]); err != nil {
				return err
			}
		}
		done = true
		return auditdb.RecordAll(t, events, u.CreatedAt)
	})
	return done && err == nil, err
}

// Audit appends an event that has no other change in this package.
func (s *Accounts) Audit(ctx context.Context, e audit.Event, now time.Time) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error { return auditdb.Record(t, e, now) })
}

// AuditFound are rows of the audit chain, the newest first.
func (s *Accounts) AuditFound(ctx context.Context, search audit.Search) ([]audit.Row, error) {
	return auditdb.Find(ctx, s.db, search)
}

// NamesOf are the names of users, and those of the owners of wallets and keys, by the ids of these. Unknown ids are left out.
func (s *Accounts) NamesOf(ctx context.Context, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	var in sqldb.Conditions
	for _, id := range ids {
		in.Args = append(in.Args, id)
		in.Text.WriteString(", $" + strconv.Itoa(len(in.Args)))
	}
	list := "(" + in.Text.String()[2:] + ")"
	_, err := sqldb.List(ctx, s.db, "store.NamesOf", func(row sqldb.Scanner) (id string, err error) {
		var name string
		err = row.Scan(&id, &name)
		names[id] = name
		return id, err
	}, `SELECT id, name FROM users WHERE id IN `+list+` UNION ALL SELECT wallet, name FROM users WHERE wallet IN `+list+` UNION ALL SELECT k.id, u.name FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.id IN `+list, in.Args...)
	return names, err
}

// AuditRows walks the whole chain from its beginning, as audit.Verify requires.
func (s *Accounts) AuditRows(ctx context.Context) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		var stopped bool
		err := s.db.Walk(ctx, func(ctx context.Context, q *sql.Tx) error {
			for row, err := range auditdb.All(ctx, q) {
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
