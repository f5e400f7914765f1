package catalogdb

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/rawjson"
	"weir/internal/store/sqldb"
)

var imports = sqldb.Map[edit.Import, struct {
	List, AsOf, Actor string
	At                time.Time
	Notes, Sources    string
	Differs, Refused  int
	Data              []byte
}]("price_imports", sqldb.Encoded("notes", func(i *edit.Import) string { return sqldb.Text(strings.Join(i.Notes, "\n")) }, func(i *edit.Import, text string) error {
	if text != "" {
		i.Notes = strings.Split(text, "\n")
	}
	return nil
}), sqldb.Encoded("sources", func(i *edit.Import) string { return sourcesText(i.Sources) }, func(i *edit.Import, text string) error {
	for m := rawjson.MembersOf([]byte(text)); m.Next(); {
		if i.Sources == nil {
			i.Sources = map[string]string{}
		}
		i.Sources[string(m.Name)] = rawjson.Text(m.Value)
	}
	return nil
}))

func sourcesText(list map[string]string) string {
	var w rawjson.Writer
	w.Object()
	for _, id := range slices.Sorted(maps.Keys(list)) {
		w.Name(sqldb.Text(id)).Text(list[id])
	}
	w.EndObject()
	return string(w.B)
}

// LastImport is edit.Imports.LastImport.
func (s *Catalog) LastImport(ctx context.Context) (*edit.Import, error) {
	i, err := imports.Find(ctx, s.db, `WHERE id = 1`)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, sqldb.Failure("store.LastImport", err)
	}
	return &i, nil
}

// PutImport is edit.Imports.PutImport.
func (s *Catalog) PutImport(ctx context.Context, i *edit.Import) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := imports.Put(t, i, ` ON CONFLICT (id) DO UPDATE SET `+imports.Excluded("id"), "id", int64(1))
		return err
	})
}
