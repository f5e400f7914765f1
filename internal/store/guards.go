package store

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"weir/internal/store/sqldb"
)

// Guards reads the statements of migrations that create triggers, by the triggers' names: each ends with end. Triggers that a later
// migration drops are left out. A database must have exactly these; there is no other list.
func Guards(migrations fs.FS, end string) (map[string]sqldb.Guard, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	guards := map[string]sqldb.Guard{}
	for _, name := range names {
		b, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(b), "-- +goose Down")
		if err := readGuards(guards, up, end); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return guards, nil
}

func readGuards(guards map[string]sqldb.Guard, up, end string) error {
	const create, drop = "CREATE TRIGGER ", "DROP TRIGGER "
	for {
		c, d := strings.Index(up, create), strings.Index(up, drop)
		switch {
		case c < 0 && d < 0:
			return nil
		case c < 0 || d >= 0 && d < c:
			up = up[d+len(drop):]
			delete(guards, word(up))
			continue
		}
		up = up[c:]
		text, rest, whole := strings.Cut(up, end)
		_, on, two := strings.Cut(text, " ON ")
		if !whole || !two {
			return fmt.Errorf("the trigger %s has no end", word(up[len(create):]))
		}
		guards[word(up[len(create):])] = sqldb.Guard{Table: word(on), Text: text + strings.TrimSuffix(end, ";")}
		up = rest
	}
}

// word is the first word of a statement.
func word(s string) string {
	if i := strings.IndexAny(s, " \n;"); i >= 0 {
		return s[:i]
	}
	return s
}
