// Package catalogdb keeps providers, models and price lists as operators have changed them.
package catalogdb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/rawjson"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// Catalog has providers, models and price lists.
type Catalog struct{ db *sqldb.DB }

// New makes the catalog of a database.
func New(db *sqldb.DB) *Catalog { return &Catalog{db} }

var _ edit.Store = (*Catalog)(nil)

// row has, beside its keys, the newest one in use, or none: the version before this one reads and writes only that.
type row struct {
	edit.Row
	Sealed []byte
	Last4  string
}

var rows = sqldb.Map[row, struct {
	Kind            edit.Kind
	ID, Spec, Last4 string
	Over            bool
	Sealed          []byte `db:",null"`
	Version         int64
	UpdatedAt       time.Time
}]("catalog_rows", sqldb.Encoded("spec", func(r *row) string { return string(appendSpec(nil, r.Spec)) }, func(r *row, spec string) error {
	r.Spec = parseSpec(spec)
	return nil
}))

// keyRow is a key with the provider that it belongs to.
type keyRow struct {
	Provider string
	edit.Key
}

var keys = sqldb.Map[keyRow, struct {
	Provider string
	ID       string
	Sealed   []byte
	Last4    string
	State    edit.KeyState
	At       time.Time `db:"created_at"`
	By       string    `db:"actor"`
	Note     string
}]("catalog_keys")

var changes = sqldb.Map[edit.Entry, struct {
	Version       int64
	At            time.Time
	Name          string `db:"actor"`
	From          string `db:"from_addr"`
	Action, ID    string
	Kind          edit.Kind
	Before, After sql.NullString
}]("catalog_changes", spec("before", func(e *edit.Entry) *edit.Spec { return &e.Before }), spec("after", func(e *edit.Entry) *edit.Spec { return &e.After }))

// spec stores a spec of a change, which may have none.
func spec(column string, of func(*edit.Entry) *edit.Spec) sqldb.Option[edit.Entry] {
	return sqldb.Encoded(column, func(e *edit.Entry) (s sql.NullString) {
		if s.Valid = *of(e) != nil; s.Valid {
			s.String = string(appendSpec(nil, *of(e)))
		}
		return s
	}, func(e *edit.Entry, s sql.NullString) error {
		if s.Valid {
			*of(e) = parseSpec(s.String)
		}
		return nil
	})
}

const catalogVersion = `SELECT COALESCE(MAX(version), 0) FROM catalog_changes`

// CatalogVersion is the number of changes so far.
func (s *Catalog) CatalogVersion(ctx context.Context) (version int64, err error) {
	err = s.db.Read(ctx, &version, catalogVersion)
	return version, sqldb.Failure("store.CatalogVersion", err)
}

// CatalogState is everything at one moment.
func (s *Catalog) CatalogState(ctx context.Context) (state edit.State, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		if err := q.QueryRowContext(ctx, catalogVersion).Scan(&state.Version); err != nil {
			return err
		}
		found, err := q.QueryContext(ctx, rows.Select+`ORDER BY kind, id`)
		list, err := sqldb.Collect(found, err, rows.Scan)
		if err != nil {
			return err
		}
		if state.Rows, err = withKeys(ctx, q, list); err != nil {
			return err
		}
		found, err = q.QueryContext(ctx, changes.Select+`WHERE kind = 'rate' ORDER BY version`)
		rates, err := sqldb.Collect(found, err, changes.Scan)
		for i := range rates {
			if err == nil {
				state.Rates = append(state.Rates, rates[i].Rate())
			}
		}
		if err != nil {
			return err
		}
		if state.Scheduled, err = scheduledDrafts(ctx, q); err != nil {
			return err
		}
		if state.Found, err = foundModels(ctx, q); err != nil {
			return err
		}
		return publishedPrices(ctx, q, &state.Prices)
	})
	return state, err
}

// withKeys puts keys into the rows of their providers. What the version before this one has written counts: one key in place of all, or none.
func withKeys(ctx context.Context, q *sql.Tx, list []row) ([]edit.Row, error) {
	found, err := q.QueryContext(ctx, keys.Select+`ORDER BY provider, created_at, id`)
	all, err := sqldb.Collect(found, err, keys.Scan)
	if err != nil {
		return nil, err
	}
	of := map[string][]edit.Key{}
	for i := range all {
		of[all[i].Provider] = append(of[all[i].Provider], all[i].Key)
	}
	out := make([]edit.Row, 0, len(list))
	for i := range list {
		r := &list[i]
		if r.Kind == edit.Provider {
			r.Keys = of[r.ID]
			used := r.In(edit.KeyInUse)
			switch {
			case r.Sealed == nil && used != nil:
				r.Keys = nil
			case r.Sealed != nil && !slices.ContainsFunc(used, func(k edit.Key) bool { return bytes.Equal(k.Sealed, r.Sealed) }):
				r.Keys = []edit.Key{{ID: firstKey, Sealed: r.Sealed, Last4: r.Last4, State: edit.KeyInUse, At: r.UpdatedAt}}
			}
		}
		out = append(out, r.Row)
	}
	return out, nil
}

// firstKey is the id of a key that was there before a provider could have several.
const firstKey = "pkey_first"

func stored(r *edit.Row) *row {
	out := &row{Row: *r}
	if used := r.In(edit.KeyInUse); used != nil {
		out.Sealed, out.Last4 = used[len(used)-1].Sealed, used[len(used)-1].Last4
	}
	return out
}

// putKeys has a provider have the keys of its row, and no others.
func putKeys(t *sqldb.Tx, c *edit.Commit) error {
	if c.Kind != edit.Provider {
		return nil
	}
	if _, err := t.Exec(`DELETE FROM catalog_keys WHERE provider = $1`, c.ID); err != nil || c.Row == nil {
		return err
	}
	for i := range c.Row.Keys {
		if err := keys.Insert(t, &keyRow{c.ID, c.Row.Keys[i]}); err != nil {
			return err
		}
	}
	return nil
}

// publishedPrices reads which price list was published last, and the list.
func publishedPrices(ctx context.Context, q *sql.Tx, p *edit.Prices) error {
	last, err := changes.Scan(q.QueryRowContext(ctx, changes.Select+`WHERE kind = 'prices' ORDER BY version DESC LIMIT 1`))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if *p = last.Prices(); p.List == "" {
		return nil
	}
	return q.QueryRowContext(ctx, priceListRead, p.List).Scan(&p.Data)
}

const priceListRead = `SELECT data FROM price_lists WHERE version = $1`

// PriceList is edit.Store.PriceList.
func (s *Catalog) PriceList(ctx context.Context, version string) (data []byte, err error) {
	err = s.db.Read(ctx, &data, priceListRead, version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, sqldb.Failure("store.PriceList", err)
}

// putPriceList keeps a list, and of the others those that may be asked for again.
func putPriceList(t *sqldb.Tx, p *edit.Prices) error {
	if p.Data != nil {
		if _, err := t.Exec(`INSERT INTO price_lists (version, data) VALUES ($1, $2) ON CONFLICT (version) DO NOTHING`, p.List, p.Data); err != nil {
			return err
		}
	}
	_, err := t.Exec(`DELETE FROM price_lists WHERE version NOT IN ($1, $2, $3)`, p.List, p.Previous, p.Approved)
	return err
}

// CommitCatalog makes one change with its entry and its audit row. It fails with fault.Conflict because of edit.ErrMoved when another
// was faster.
func (s *Catalog) CommitCatalog(ctx context.Context, c edit.Commit, e audit.Event) error {
	err := s.db.Write(ctx, func(t *sqldb.Tx) error {
		var version int64
		if err := t.Row(catalogVersion).Scan(&version); err != nil {
			return err
		}
		if version+1 != c.Version {
			return moved()
		}
		// of two nodes at this point the key of the table lets one through
		if err := changes.Insert(t, &c.Entry); err != nil {
			return err
		}
		if err := errors.Join(putCatalogRow(t, &c), putKeys(t, &c)); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Catalog, ""), auditdb.Record(t, e, c.At))
	})
	if s.db.Engine.Duplicate(err) {
		return moved()
	}
	return err
}

func moved() error {
	return fault.New(fault.Conflict, "store.CommitCatalog", "Somebody else changed the catalog in the same moment. Try again.").Because(edit.ErrMoved)
}

func putCatalogRow(t *sqldb.Tx, c *edit.Commit) error {
	r := c.Row
	switch {
	case c.Kind == edit.Rate:
		return nil
	case c.Kind == edit.Publication:
		return putPublication(t, c)
	case c.Kind == edit.PriceList && c.Draft != nil:
		return errors.Join(putPublication(t, c), putPriceList(t, &c.Prices))
	case c.Kind == edit.PriceList:
		return putPriceList(t, &c.Prices)
	case r == nil:
		_, err := t.Exec(`DELETE FROM catalog_rows WHERE kind = $1 AND id = $2`, string(c.Kind), c.ID)
		return err
	}
	_, err := rows.Put(t, stored(r), `ON CONFLICT (kind, id) DO UPDATE SET `+rows.Excluded("kind", "id"))
	return err
}

// CatalogHistory lists changes before a version (0: all), the newest first.
func (s *Catalog) CatalogHistory(ctx context.Context, before int64, count int) ([]edit.Entry, error) {
	return changes.List(ctx, s.db, "store.CatalogHistory",
		`WHERE $1 = 0 OR version < $1 ORDER BY version DESC LIMIT $2`, before, count)
}

// appendSpec writes a spec as a JSON object of texts, in the order of names.
func appendSpec(b []byte, s edit.Spec) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(s)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendText(b, sqldb.Text(name)), ':')
		b = rawjson.AppendText(b, sqldb.Text(s[name]))
	}
	return append(b, '}')
}

func parseSpec(text string) edit.Spec {
	s := edit.Spec{}
	for m := rawjson.MembersOf([]byte(text)); m.Next(); {
		s[string(m.Name)] = rawjson.Text(m.Value)
	}
	return s
}
