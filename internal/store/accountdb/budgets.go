package accountdb

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var budgets = sqldb.Map[budget.Budget, struct {
	ID, Account, Name, Alarms string
	Scope                     struct {
		Kind budget.Kind `db:"scope"`
		ID   string      `db:"scope_id"`
	}
	Amount money.Nano
	Reset  ledger.Reset
	Hard   bool
	Rules  struct {
		Models         string `db:"models"`
		Providers      string `db:"providers"`
		DenyCollection bool   `db:"deny_collection"`
		ZDR            bool   `db:"zdr"`
	}
	CreatedAt, UpdatedAt time.Time
	DeletedAt            time.Time `db:",null"`
}]("budgets",
	sqldb.Encoded("alarms", func(b *budget.Budget) string {
		words := make([]string, len(b.Alarms))
		for i, n := range b.Alarms {
			words[i] = strconv.Itoa(n)
		}
		return strings.Join(words, " ")
	}, func(b *budget.Budget, text string) error {
		for word := range strings.FieldsSeq(text) {
			n, err := strconv.Atoi(word)
			if err != nil {
				return err
			}
			b.Alarms = append(b.Alarms, n)
		}
		return nil
	}),
	words("models", func(r *budget.Rules) *[]string { return &r.Models }),
	words("providers", func(r *budget.Rules) *[]string { return &r.Providers }))

// words stores a list of words without spaces.
func words(column string, of func(*budget.Rules) *[]string) sqldb.Option[budget.Budget] {
	return sqldb.Encoded(column, func(b *budget.Budget) string { return strings.Join(*of(&b.Rules), " ") }, func(b *budget.Budget, text string) error {
		if text != "" {
			*of(&b.Rules) = strings.Fields(text)
		}
		return nil
	})
}

// widest orders scopes from the widest to the narrowest.
const widest = ` ORDER BY CASE scope WHEN 'organization' THEN 0 WHEN 'team' THEN 1 WHEN 'member' THEN 2 WHEN 'key' THEN 3 WHEN 'tag' THEN 4 ELSE 5 END, scope_id, reset, id`

// Budgets is budget.Store.Budgets.
func (s *Accounts) Budgets(ctx context.Context, account string) ([]budget.Budget, error) {
	return budgets.List(ctx, s.db, "store.Budgets", `WHERE account = $1`+widest, account)
}

// AddBudget is budget.Store.AddBudget. The account's row is locked, so that budgets are counted one after another.
func (s *Accounts) AddBudget(ctx context.Context, b budget.Budget, e audit.Event) error {
	const op = "store.AddBudget"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(b.Account); err != nil {
			return sqldb.NoUser(op, err)
		}
		if err := fits(t, op, &b); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM budgets WHERE account = $1 AND scope = $2 AND scope_id = $3 AND reset = $4 AND deleted_at IS NOT NULL`, b.Account, string(b.Scope.Kind), b.Scope.ID, string(b.Reset)); err != nil {
			return err // the new one takes its place
		}
		if err := budgets.AddNew(t, op, "This scope has a budget of this period. Change that one, or choose another period.", &b); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Budgets, b.Account), auditdb.Record(t, e, b.CreatedAt))
	})
}

// fits fails where an account has no room for a budget, or not what it is of.
func fits(t *sqldb.Tx, op string, b *budget.Budget) error {
	var have int
	switch err := t.Row(`SELECT COUNT(*) FROM budgets WHERE account = $1 AND deleted_at IS NULL`, b.Account).Scan(&have); {
	case err != nil:
		return err
	case have >= budget.MaxPerAccount:
		return fault.Newf(fault.Invalid, op, "An account may have %d budgets. Delete one that is not used.", budget.MaxPerAccount)
	}
	return inAccount(t, op, b)
}

// inAccount fails for a team, member or key that the account of a budget does not have: it would bind no call.
func inAccount(t *sqldb.Tx, op string, b *budget.Budget) error {
	var find string
	var none *fault.Error
	switch b.Scope.Kind {
	case budget.Team:
		find, none = `SELECT id FROM org_teams WHERE org = $1 AND id = $2`, fault.Field(op, "scope.id", "There is no such team.").Coded("no_team")
	case budget.Member:
		find = `SELECT user_id FROM org_members WHERE org = $1 AND user_id = $2 UNION ALL SELECT id FROM org_services WHERE org = $1 AND id = $2 AND ended_at IS NULL`
		none = fault.Field(op, "scope.id", "There is no such member, and no such service.").Coded("no_member")
	case budget.Key:
		find, none = `SELECT id FROM api_keys WHERE user_id = $1 AND id = $2 AND deleted_at IS NULL`, fault.Field(op, "scope.id", "There is no such key.").Coded("no_key")
	case budget.Organization, budget.Tag, budget.Session:
		return nil
	}
	var id string
	err := t.Row(find, b.Account, b.Scope.ID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return none
	}
	return err
}

// ChangeBudget is budget.Store.ChangeBudget.
func (s *Accounts) ChangeBudget(ctx context.Context, account, id string, now time.Time, change func(*budget.Budget) (audit.Event, error)) (b budget.Budget, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		if b, err = budgets.LockedRow(t, `WHERE account = $1 AND id = $2 AND deleted_at IS NULL`, account, id); err != nil {
			return sqldb.NoneOf("store.ChangeBudget", "budget", err)
		}
		e, err := change(&b)
		if err != nil || e.Action == "" {
			return err
		}
		if err := budgets.Update(t, &b, "id; name, amount, hard, alarms, models, providers, deny_collection, zdr, updated_at"); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Budgets, account), auditdb.Record(t, e, now))
	})
	return b, err
}

// mostDeleted is how many deleted budgets an account keeps.
const mostDeleted = 100

// DeleteBudget is budget.Store.DeleteBudget. It ends those that cannot be brought back any more.
func (s *Accounts) DeleteBudget(ctx context.Context, account, id string, now time.Time, by audit.Actor) error {
	const op = "store.DeleteBudget"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(account); err != nil {
			return sqldb.NoUser(op, err)
		}
		b, err := budgets.LockedRow(t, `WHERE account = $1 AND id = $2 AND deleted_at IS NULL`, account, id)
		if err != nil {
			return sqldb.NoneOf(op, "budget", err)
		}
		b.DeletedAt = now
		if err := budgets.Update(t, &b, "id; deleted_at"); err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM budgets WHERE account = $1 AND deleted_at IS NOT NULL AND (deleted_at <= $2
			OR id NOT IN (SELECT id FROM budgets WHERE account = $1 AND deleted_at IS NOT NULL ORDER BY deleted_at DESC, id LIMIT $3))`, account, now.Add(-budget.Kept).UnixMicro(), mostDeleted)
		return errors.Join(err, t.Tell(invalidate.Budgets, account), auditdb.Record(t, b.Removal(by), now))
	})
}

// RestoreBudget is budget.Store.RestoreBudget.
func (s *Accounts) RestoreBudget(ctx context.Context, account, id string, now time.Time, by audit.Actor) (b budget.Budget, err error) {
	const op = "store.RestoreBudget"
	err = s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		if err := t.KnownUser(account); err != nil {
			return sqldb.NoUser(op, err)
		}
		b, err = budgets.LockedRow(t, `WHERE account = $1 AND id = $2 AND (deleted_at IS NULL OR deleted_at > $3)`, account, id, now.Add(-budget.Kept).UnixMicro())
		if err != nil {
			return sqldb.NoneOf(op, "budget that can be brought back", err)
		}
		if b.DeletedAt.IsZero() {
			return nil
		}
		if err := fits(t, op, &b); err != nil {
			return err
		}
		b.DeletedAt = time.Time{}
		if err := budgets.Update(t, &b, "id; deleted_at"); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Budgets, account), auditdb.Record(t, b.Return(by), now))
	})
	return b, err
}

// RenewsAt is budget.Store.RenewsAt.
func (s *Accounts) RenewsAt(ctx context.Context, wallet string, at time.Time, r ledger.Reset) (t time.Time, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		zones, err := sqldb.ZonesIn(ctx, q, wallet)
		if end := r.End(zones.Local(at)); err == nil && !end.IsZero() {
			t = zones.Start(end)
		}
		return err
	})
	return t, err
}
