package catalogdb

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/invalidate"
	"weir/internal/rawjson"
	"weir/internal/store/sqldb"
)

var found = sqldb.Map[edit.Found, struct {
	Provider, Server string
	Asked            time.Time
	At               time.Time `db:",null"`
	Problem          string
	Notes, Models    string
	Version          int64
}]("found_models", sqldb.Encoded("notes", func(f *edit.Found) string { return sqldb.Text(strings.Join(f.Notes, "\n")) }, func(f *edit.Found, text string) error {
	if text != "" {
		f.Notes = strings.Split(text, "\n")
	}
	return nil
}), sqldb.Encoded("models", func(f *edit.Found) string { return string(appendFound(f.Models)) }, func(f *edit.Found, text string) error {
	f.Models = parseFound(text)
	return nil
}))

const foundVersion = `SELECT COALESCE(MAX(version), 0) FROM found_models`

// FoundVersion is edit.FoundLists.FoundVersion.
func (s *Catalog) FoundVersion(ctx context.Context) (version int64, err error) {
	err = s.db.Read(ctx, &version, foundVersion)
	return version, sqldb.Failure("store.FoundVersion", err)
}

// Found is edit.FoundLists.Found.
func (s *Catalog) Found(ctx context.Context) ([]edit.Found, error) {
	return found.List(ctx, s.db, "store.Found", `ORDER BY provider`)
}

// ClaimFound is edit.FoundLists.ClaimFound.
func (s *Catalog) ClaimFound(ctx context.Context, provider string, was, now time.Time) (bool, error) {
	if was.IsZero() {
		n, err := s.db.Exec(ctx, `INSERT INTO found_models (provider, asked) VALUES ($1, $2) ON CONFLICT (provider) DO NOTHING`, provider, now.UnixMicro())
		return n > 0, sqldb.Failure("store.ClaimFound", err)
	}
	n, err := s.db.Exec(ctx, `UPDATE found_models SET asked = $1 WHERE provider = $2 AND asked = $3`, now.UnixMicro(), provider, was.UnixMicro())
	return n > 0, sqldb.Failure("store.ClaimFound", err)
}

// PutFound is edit.FoundLists.PutFound.
func (s *Catalog) PutFound(ctx context.Context, f *edit.Found, changed bool) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		kept := *f
		if changed {
			if err := t.Row(foundVersion).Scan(&kept.Version); err != nil {
				return err
			}
			kept.Version++
		}
		if _, err := found.Put(t, &kept, ` ON CONFLICT (provider) DO UPDATE SET `+found.Excluded("provider")); err != nil || !changed {
			return err
		}
		return t.Tell(invalidate.Catalog, "")
	})
}

// foundModels reads what servers have said, in the moment of a state.
func foundModels(ctx context.Context, q *sql.Tx) ([]edit.Found, error) {
	rows, err := q.QueryContext(ctx, found.Select+`ORDER BY provider`)
	list, err := sqldb.Collect(rows, err, found.Scan)
	if errors.Is(err, sql.ErrNoRows) || len(list) == 0 {
		return nil, err
	}
	return list, err
}

// abilities are the names under which abilities are kept.
var abilities = [...]string{edit.Unknown: "", edit.Can: "yes", edit.Cannot: "no"}

func appendFound(list []edit.FoundModel) []byte {
	var w rawjson.Writer
	w.Array()
	for i := range list {
		m := &list[i]
		w.Object()
		w.Name("id").Text(sqldb.Text(m.ID))
		w.Name("type").Text(m.Type)
		for name, n := range map[string]int64{"context": m.Context, "trained": m.Trained, "asked": m.Asked} {
			if n != 0 {
				w.Name(name).Int(n)
			}
		}
		for name, text := range map[string]string{
			"input": strings.Join(m.Input.Names(), ","), "tools": abilities[m.Tools], "reasons": abilities[m.Reasons], "quantization": m.Quantization, "mark": m.Mark,
		} {
			if text != "" {
				w.Name(name).Text(sqldb.Text(text))
			}
		}
		if m.Loaded {
			w.Name("loaded").Bool(true)
		}
		w.EndObject()
	}
	w.EndArray()
	return w.B
}

func parseFound(text string) (list []edit.FoundModel) {
	for e := rawjson.ElementsOf([]byte(text)); e.Next(); {
		of := func(name string) string { return rawjson.TextAt(e.Value, name) }
		count := func(name string) int64 {
			n, _ := rawjson.Int(rawjson.Find(e.Value, name))
			return n
		}
		able := func(name string) edit.Ability {
			for a, word := range abilities {
				if word == of(name) {
					return edit.Ability(a)
				}
			}
			return edit.Unknown
		}
		m := edit.FoundModel{
			ID: of("id"), Type: of("type"), Context: count("context"), Trained: count("trained"), Asked: count("asked"),
			Tools: able("tools"), Reasons: able("reasons"), Quantization: of("quantization"), Mark: of("mark"),
		}
		m.Loaded, _ = rawjson.Bool(rawjson.Find(e.Value, "loaded"))
		for name := range strings.SplitSeq(of("input"), ",") {
			m.Input |= catalog.ModalityNamed(name)
		}
		list = append(list, m)
	}
	return list
}
