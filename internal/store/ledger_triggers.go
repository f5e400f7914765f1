package store

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Guard is a trigger that keeps rows as they are.
type Guard struct{ Table, Text string }

// Guards reads the statements of migrations that create triggers, by the triggers' names: each ends with end. Triggers that a later
// migration drops are left out. A database must have exactly these; there is no other list.
func Guards(migrations fs.FS, end string) (map[string]Guard, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	guards := map[string]Guard{}
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

func readGuards(guards map[string]Guard, up, end string) error {
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
		guards[word(up[len(create):])] = Guard{Table: word(on), Text: text + strings.TrimSuffix(end, ";")}
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

// guards asks the engine which triggers must exist. They are read separately: engines may need to write for it.
func (s *Ledger) guards(ctx context.Context) (map[string]Guard, string) {
	want, err := s.engine.Guards(ctx)
	if err != nil {
		return nil, "what the triggers should be could not be read: " + err.Error()
	}
	return want, ""
}

// triggers compares the triggers that work with those that there must be, word for word, and finds any other on their tables.
func (c *checker) triggers(list string, want map[string]Guard, unknown string) {
	if unknown != "" {
		c.add("triggers", []string{unknown}, "")
		return
	}
	tables := map[string]bool{}
	for _, g := range want {
		tables[g.Table] = true
	}
	found := map[string]Guard{}
	var wrong []string
	c.each(list, func(v []any) {
		table, name := text(v[0]), text(v[1])
		if _, known := want[name]; tables[table] && !known {
			wrong = append(wrong, fmt.Sprintf("there is a trigger %s on %s, which the program has not made", name, table))
		}
		if old, twice := found[name]; !twice || old.Table != want[name].Table {
			found[name] = Guard{Table: table, Text: text(v[2])}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch g, ok := found[name]; {
		case !ok:
			wrong = append(wrong, "the trigger "+name+" is missing or switched off")
		case g != want[name]:
			wrong = append(wrong, "the trigger "+name+" is not what the program made: it may stop nothing any more")
		}
	}
	c.add("triggers", wrong, "%d triggers keep what was posted", len(want))
}
