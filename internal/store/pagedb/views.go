package pagedb

import (
	"context"
	"time"

	"weir/internal/fault"
	"weir/internal/store/sqldb"
	"weir/internal/view"
)

var views = sqldb.Map[view.View, struct {
	ID, Page, Name, Query string
	User                  string `db:"user_id"`
	CreatedAt, UpdatedAt  time.Time
}]("views")

// ListViews is view.Store.ListViews.
func (s *Pages) ListViews(ctx context.Context, user string) ([]view.View, error) {
	return views.List(ctx, s.db, "store.ListViews", `WHERE user_id = $1 ORDER BY page, name`, user)
}

// AddView is view.Store.AddView. The user's row is locked, so that views are counted one after another.
func (s *Pages) AddView(ctx context.Context, v view.View) error {
	const op = "store.AddView"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(v.User); err != nil {
			return sqldb.NoUser(op, err)
		}
		var have int
		switch err := t.Row(`SELECT COUNT(*) FROM views WHERE user_id = $1`, v.User).Scan(&have); {
		case err != nil:
			return err
		case have >= view.MaxPerUser:
			return fault.Newf(fault.Invalid, op, "An account may have %d views. Delete one that is not used.", view.MaxPerUser)
		}
		return insertView(t, op, &v)
	})
}

func insertView(t *sqldb.Tx, op string, v *view.View) error {
	return views.AddNew(t, op, "This page has a view of this name. Choose another name.", v)
}

// ChangeView is view.Store.ChangeView. A new name is a new row, because a name that is taken must be refused by both databases alike.
func (s *Pages) ChangeView(ctx context.Context, user, id string, now time.Time, change func(*view.View) error) (v view.View, err error) {
	const op = "store.ChangeView"
	err = s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		if v, err = views.LockedRow(t, `WHERE user_id = $1 AND id = $2`, user, id); err != nil {
			return sqldb.NoneOf(op, "view", err)
		}
		if err := change(&v); err != nil {
			return err
		}
		v.UpdatedAt = now
		if _, err := t.Exec(`DELETE FROM views WHERE id = $1`, id); err != nil {
			return err
		}
		return insertView(t, op, &v)
	})
	return v, err
}

// DeleteView is view.Store.DeleteView.
func (s *Pages) DeleteView(ctx context.Context, user, id string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		return sqldb.NoneOf("store.DeleteView", "view", t.One(`DELETE FROM views WHERE user_id = $1 AND id = $2`, user, id))
	})
}
