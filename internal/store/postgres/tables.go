package postgres

import "weir/internal/store/sqldb"

// ownTables names the tables of the store, without those of the migrations.
const ownTables = `(SELECT c.oid, c.relname::text AS name FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid)
	AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) AND c.relname NOT IN ('goose_db_version', 'schema_versions')) m`

var copier = sqldb.Copier{
	Columns: `SELECT m.name, a.attname::text, CASE format_type(a.atttypid, NULL) WHEN 'text' THEN 'text' WHEN 'bigint' THEN 'integer' WHEN 'integer' THEN 'integer' WHEN 'smallint' THEN 'integer'
		WHEN 'jsonb' THEN 'json' WHEN 'bytea' THEN 'bytes' WHEN 'boolean' THEN 'truth' ELSE format_type(a.atttypid, NULL) END
		FROM ` + ownTables + ` JOIN pg_attribute a ON a.attrelid = m.oid WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY m.name, a.attnum`,
	References: `SELECT m.name, o.relname::text FROM ` + ownTables + ` JOIN pg_constraint k ON k.conrelid = m.oid AND k.contype = 'f' JOIN pg_class o ON o.oid = k.confrelid`,
	Unhurried:  []string{"SET LOCAL statement_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0"},
	Suspend:    disableTriggers,
	Renumber:   renumber,
}

// disableTriggers switches off our triggers, and on again. Those that check references stay.
func disableTriggers(r sqldb.Runner) (resume func() error, err error) {
	tables, err := texts(r, `SELECT DISTINCT m.name FROM `+ownTables+` JOIN pg_trigger t ON t.tgrelid = m.oid AND NOT t.tgisinternal`)
	if err != nil {
		return nil, err
	}
	each := func(verb string) error {
		for _, table := range tables {
			if _, err := r.Exec("ALTER TABLE "+table+" "+verb+" TRIGGER USER", nil); err != nil {
				return err
			}
		}
		return nil
	}
	return func() error { return each("ENABLE") }, each("DISABLE")
}

// renumber makes identity columns go on after the highest number that was copied.
func renumber(r sqldb.Runner) error {
	columns, err := texts(r, `SELECT format('SELECT setval(pg_get_serial_sequence(%L, %L), GREATEST(MAX(%I), 1), MAX(%I) IS NOT NULL) FROM %I', m.name, a.attname, a.attname, a.attname, m.name)
		FROM `+ownTables+` JOIN pg_attribute a ON a.attrelid = m.oid AND a.attidentity <> ''`)
	if err != nil {
		return err
	}
	for _, query := range columns {
		var last int64
		if err := r.Row(query, nil).Scan(&last); err != nil {
			return err
		}
	}
	return nil
}

func texts(r sqldb.Runner, query string) (all []string, err error) {
	rows, err := r.Rows(query, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}
