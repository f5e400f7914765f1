package accountdb

import (
	"context"
	"time"

	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/store/sqldb"
)

var _ foreign.Store = (*Accounts)(nil)

var foreigns = sqldb.Map[foreign.Record, struct {
	Account   string
	Kind      foreign.Kind
	Name, ID  string
	Fields    string
	UpdatedAt time.Time
}]("foreign_names")

// ForeignRecords is foreign.Store.ForeignRecords.
func (s *Accounts) ForeignRecords(ctx context.Context, account string, k foreign.Kind) ([]foreign.Record, error) {
	return foreigns.List(ctx, s.db, "store.ForeignRecords", `WHERE account = $1 AND kind = $2 ORDER BY name`, account, string(k))
}

// ForeignNamed is foreign.Store.ForeignNamed.
func (s *Accounts) ForeignNamed(ctx context.Context, account string, k foreign.Kind, name string) (foreign.Record, error) {
	r, err := foreigns.Find(ctx, s.db, `WHERE account = $1 AND kind = $2 AND name = $3`, account, string(k), name)
	return r, sqldb.NoneOf("store.ForeignNamed", "name", err)
}

// strayNames are names of what is gone: it may have been deleted where names are not known.
const strayNames = `DELETE FROM foreign_names WHERE account = $1
	AND id NOT IN (SELECT id FROM api_keys WHERE user_id = $1 AND deleted_at IS NULL) AND id NOT IN (SELECT id FROM org_teams WHERE org = $1)
	AND id NOT IN (SELECT id FROM org_services WHERE org = $1 AND ended_at IS NULL) AND id NOT IN (SELECT user_id FROM org_members WHERE org = $1)
	AND id NOT IN (SELECT id FROM org_invitations WHERE org = $1)`

// SaveForeign is foreign.Store.SaveForeign. The user's row is locked, so that records are counted one after another.
func (s *Accounts) SaveForeign(ctx context.Context, r foreign.Record) error {
	const op = "store.SaveForeign"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(r.Account); err != nil {
			return sqldb.NoUser(op, err)
		}
		if _, err := t.Exec(`DELETE FROM foreign_names WHERE account = $1 AND id = $2`, r.Account, r.ID); err != nil {
			return err
		}
		count := func() (n int, err error) {
			return n, t.Row(`SELECT COUNT(*) FROM foreign_names WHERE account = $1`, r.Account).Scan(&n)
		}
		have, err := count()
		if err == nil && have >= foreign.MaxPerAccount {
			if _, err = t.Exec(strayNames, r.Account); err == nil {
				have, err = count()
			}
		}
		switch {
		case err != nil:
			return err
		case have >= foreign.MaxPerAccount:
			return fault.Newf(fault.Invalid, op, "An account may have %d things with ids or fields of another gateway. Delete some, or leave those out.", foreign.MaxPerAccount)
		}
		return foreigns.AddNew(t, op, "Another one has this id already.", &r)
	})
}

// DeleteForeign is foreign.Store.DeleteForeign.
func (s *Accounts) DeleteForeign(ctx context.Context, account, id string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`DELETE FROM foreign_names WHERE account = $1 AND id = $2`, account, id)
		return err
	})
}
