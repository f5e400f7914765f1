package postgres

import (
	"context"
	"database/sql"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"weir/internal/store"
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
func (e *engine) guards(ctx context.Context) (map[string]store.Guard, error) {
	want, err := store.Guards(migrations, ";")
	if err != nil {
		return nil, err
	}
	body, err := keptBody()
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
		var g store.Guard
		if err := rows.Scan(&g.Table, &name, &g.Text); err != nil {
			return nil, err
		}
		g.Text += body
		want[name] = g
	}
	return want, rows.Err()
}

// keptBody is the text of the one function that triggers call, as the migrations make it.
func keptBody() (string, error) {
	b, err := fs.ReadFile(migrations, path.Join("migrations", "00001_ledger.sql"))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(b), "CREATE FUNCTION kept()")
	_, rest, _ = strings.Cut(rest, "$$")
	body, _, ok := strings.Cut(rest, "$$")
	if !ok {
		return "", sql.ErrNoRows
	}
	return body, nil
}
