package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"weir/internal/store"
	"weir/internal/store/sqldb"
)

// definition is all that a trigger does but for the text of its function.
const (
	definition = `SELECT c.relname::text, t.tgname::text, pg_get_triggerdef(t.oid, true) || ' AS ' || l.lanname || ' ' || COALESCE(array_to_string(p.proconfig, ' '), '')`
	ofTables   = ` FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang JOIN pg_class c ON c.oid = t.tgrelid
	WHERE NOT t.tgisinternal AND pg_table_is_visible(c.oid) `
)

// triggers lists the triggers that work in a session like this one, and the rules that rewrite statements before any trigger sees them.
const triggers = definition + " || p.prosrc" + ofTables + `AND (t.tgenabled = 'A' OR t.tgenabled = 'O' AND current_setting('session_replication_role') <> 'replica')
	UNION ALL SELECT c.relname::text, 'rule ' || r.rulename, pg_get_ruledef(r.oid) FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
	WHERE pg_table_is_visible(c.oid) AND r.rulename <> '_RETURN'`

// guards has the server print the migrations' statements in its own form: on temporary tables like the real ones, which a rollback
// removes.
func (e *engine) guards(ctx context.Context) (map[string]sqldb.Guard, error) {
	want, err := store.Guards(migrations, ";")
	if err != nil {
		return nil, err
	}
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	made := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		g := want[name]
		if !made[g.Table] {
			made[g.Table] = true
			if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE "+g.Table+" (LIKE "+g.Table+")"); err != nil {
				return nil, err
			}
		}
		if _, err := tx.ExecContext(ctx, g.Text); err != nil {
			return nil, err
		}
	}
	rows, err := tx.QueryContext(ctx, definition+ofTables+"AND c.relnamespace = pg_my_temp_schema()")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var g sqldb.Guard
		if err := rows.Scan(&g.Table, &name, &g.Text); err != nil {
			return nil, err
		}
		body, err := functionBody(g.Text)
		if err != nil {
			return nil, err
		}
		g.Text += body
		want[name] = g
	}
	return want, rows.Err()
}

// functionBody is the text of the function that a trigger calls, as a migration makes it.
func functionBody(trigger string) (string, error) {
	_, name, _ := strings.Cut(trigger, " EXECUTE FUNCTION ")
	name, _, _ = strings.Cut(name, "(")
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		b, err := fs.ReadFile(migrations, f)
		if err != nil {
			return "", err
		}
		if _, rest, made := strings.Cut(string(b), "CREATE FUNCTION "+name+"()"); made {
			_, rest, _ = strings.Cut(rest, "$$")
			if body, _, whole := strings.Cut(rest, "$$"); whole {
				return body, nil
			}
		}
	}
	return "", fmt.Errorf("no migration makes the function %s", name)
}
