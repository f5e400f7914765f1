package catalogdb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/store/sqldb"
)

var drafts = sqldb.Map[edit.Draft, struct {
	ID, Version int64
	State       edit.DraftState
	Actor       string
	At          time.Time
	From        time.Time `db:"from_at,null"`
	Catalog     int64
	Edits       string
	Prices      struct {
		List, AsOf, Previous, Approved string
		Data                           []byte `db:",null"`
	} `db:"prices_"`
}]("catalog_drafts", sqldb.Encoded("edits", func(d *edit.Draft) string { return string(appendEdits(nil, d.Edits)) }, func(d *edit.Draft, text string) error {
	d.Edits = parseEdits(text)
	return nil
}))

// draftColumns are those that change.
var draftColumns = []string{"version", "state", "actor", "at", "from_at", "catalog", "edits", "prices_list", "prices_as_of", "prices_previous", "prices_approved", "prices_data"}

// DraftByID is edit.Drafts.DraftByID.
func (s *Catalog) DraftByID(ctx context.Context, id int64) (edit.Draft, error) {
	d, err := drafts.Find(ctx, s.db, `WHERE id = $1`, id)
	return d, sqldb.Missing("store.DraftByID", "There is no such publication.", err)
}

// OpenDraft is edit.Drafts.OpenDraft.
func (s *Catalog) OpenDraft(ctx context.Context) (*edit.Draft, error) {
	d, err := drafts.Find(ctx, s.db, `WHERE state = 'open'`)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, sqldb.Failure("store.OpenDraft", err)
	}
	return &d, nil
}

// PutDraft is edit.Drafts.PutDraft.
func (s *Catalog) PutDraft(ctx context.Context, d *edit.Draft) error {
	err := s.db.Write(ctx, func(t *sqldb.Tx) error {
		if d.Version == 1 {
			if err := t.Row(`SELECT COALESCE(MAX(id), 0) + 1 FROM catalog_drafts`).Scan(&d.ID); err != nil {
				return err
			}
			return drafts.Insert(t, d)
		}
		n, err := t.Exec(`UPDATE catalog_drafts SET `+sqldb.Equal(draftColumns, ", ", 3)+` WHERE id = $1 AND version = $2 AND state = 'open'`,
			append([]any{d.ID, d.Version - 1}, drafts.Args(d, draftColumns...)...)...)
		if err == nil && n == 0 {
			err = draftMoved()
		}
		return err
	})
	if s.db.Engine.Duplicate(err) {
		return draftMoved()
	}
	return err
}

func draftMoved() error {
	return fault.New(fault.Conflict, "store.PutDraft", "Somebody else has changed the draft since then: load it again.").Coded("draft_moved")
}

// DropDraft is edit.Drafts.DropDraft.
func (s *Catalog) DropDraft(ctx context.Context, id, version int64) error {
	n, err := s.db.Exec(ctx, `DELETE FROM catalog_drafts WHERE id = $1 AND version = $2 AND state = 'open'`, id, version)
	if err == nil && n == 0 {
		err = draftMoved()
	}
	return err
}

// Publications is edit.Drafts.Publications.
func (s *Catalog) Publications(ctx context.Context, before int64, count int) ([]edit.Draft, error) {
	return drafts.List(ctx, s.db, "store.Publications", `WHERE state <> 'open' AND ($1 = 0 OR id < $1) ORDER BY id DESC LIMIT $2`, before, count)
}

// scheduledDrafts reads what is to take effect.
func scheduledDrafts(ctx context.Context, q *sql.Tx) ([]edit.Draft, error) {
	rows, err := q.QueryContext(ctx, drafts.Select+`WHERE state = 'scheduled' ORDER BY from_at, id`)
	list, err := sqldb.Collect(rows, err, drafts.Scan)
	if len(list) == 0 {
		list = nil
	}
	return list, err
}

// putPublication stores the rows of a publication, and what has become of its draft.
func putPublication(t *sqldb.Tx, c *edit.Commit) error {
	for i := range c.Rows {
		if _, err := rows.Put(t, stored(&c.Rows[i]), `ON CONFLICT (kind, id) DO UPDATE SET `+rows.Excluded("kind", "id")); err != nil {
			return err
		}
	}
	d := c.Draft
	n, err := t.Exec(`UPDATE catalog_drafts SET `+sqldb.Equal(draftColumns, ", ", 4)+` WHERE id = $1 AND state IN ('open', 'scheduled') AND version IN ($2, $3)`,
		append([]any{d.ID, d.Version, d.Version - 1}, drafts.Args(d, draftColumns...)...)...)
	if err == nil && n == 0 {
		err = draftMoved()
	}
	return err
}

// appendEdits writes changes as a JSON array.
func appendEdits(b []byte, list []edit.Edit) []byte {
	b = append(b, '[')
	for i := range list {
		e := &list[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(append(b, `{"id":`...), e.ID)
		b = appendSpec(append(b, `,"set":`...), e.Set)
		b = append(b, `,"unset":[`...)
		for j, name := range e.Unset {
			if j > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendText(b, name)
		}
		b = append(b, ']')
		if e.Over {
			b = append(b, `,"over":true`...)
		}
		if e.Before != nil {
			b = appendSpec(append(b, `,"before":`...), e.Before)
		}
		if e.After != nil {
			b = appendSpec(append(b, `,"after":`...), e.After)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func parseEdits(text string) []edit.Edit {
	var list []edit.Edit
	specAt := func(v []byte, name string) edit.Spec {
		if found := rawjson.Find(v, name); found != nil {
			return parseSpec(string(found))
		}
		return nil
	}
	for e := rawjson.ElementsOf([]byte(text)); e.Next(); {
		x := edit.Edit{ID: rawjson.TextAt(e.Value, "id"), Set: specAt(e.Value, "set"), Before: specAt(e.Value, "before"), After: specAt(e.Value, "after")}
		for name := rawjson.ElementsOf(rawjson.Find(e.Value, "unset")); name.Next(); {
			x.Unset = append(x.Unset, rawjson.Text(name.Value))
		}
		x.Over, _ = rawjson.Bool(rawjson.Find(e.Value, "over"))
		list = append(list, x)
	}
	return list
}
