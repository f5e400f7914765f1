package sqlite

import "weir/internal/store/sqldb"

// ofTables names the tables of the store, without those of SQLite and of the migrations.
const ofTables = `sqlite_master m WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND m.name NOT IN ('goose_db_version', 'schema_versions')`

var copier = sqldb.Copier{
	Columns: `SELECT m.name, c.name, CASE c.type WHEN 'TEXT' THEN 'text' WHEN 'INTEGER' THEN 'integer' WHEN 'BLOB' THEN 'bytes' ELSE c.type END
		FROM (SELECT name FROM ` + ofTables + `) m, pragma_table_info(m.name) c ORDER BY m.name, c.cid`,
	References: `SELECT m.name, f."table" FROM (SELECT name FROM ` + ofTables + `) m, pragma_foreign_key_list(m.name) f`,
	Suspend:    dropTriggers,
}

// dropTriggers removes the triggers, and makes them again as they were.
func dropTriggers(r sqldb.Runner) (resume func() error, err error) {
	rows, err := r.Rows(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	texts := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		texts[name] = text
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for name := range texts {
		if _, err := r.Exec("DROP TRIGGER "+name, nil); err != nil {
			return nil, err
		}
	}
	return func() error {
		for _, text := range texts {
			if _, err := r.Exec(text, nil); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
