package ledgerdb

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"weir/internal/store/sqldb"
)

// guards asks the engine which triggers must exist. They are read separately: engines may need to write for it.
func (s *Ledger) guards(ctx context.Context) (map[string]sqldb.Guard, string) {
	want, err := s.db.Engine.Guards(ctx)
	if err != nil {
		return nil, "what the triggers should be could not be read: " + err.Error()
	}
	return want, ""
}

// triggers compares the triggers that work with those that there must be, word for word, and finds any other on their tables.
func (c *checker) triggers(list string, want map[string]sqldb.Guard, unknown string) {
	if unknown != "" {
		c.add("triggers", []string{unknown}, "")
		return
	}
	tables := map[string]bool{}
	for _, g := range want {
		tables[g.Table] = true
	}
	found := map[string]sqldb.Guard{}
	var wrong []string
	c.each(list, func(v []any) {
		table, name := text(v[0]), text(v[1])
		if _, known := want[name]; tables[table] && !known {
			wrong = append(wrong, fmt.Sprintf("there is a trigger %s on %s, which the program has not made", name, table))
		}
		if old, twice := found[name]; !twice || old.Table != want[name].Table {
			found[name] = sqldb.Guard{Table: table, Text: text(v[2])}
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
