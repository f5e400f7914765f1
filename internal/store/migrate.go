package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"github.com/pressly/goose/v3"

	"weir/internal/fault"
	"weir/internal/store/sqldb"
)

// versionsSince is the migration that made the table of versions. Older ones have no row in it.
const versionsSince = 33

// beforeDir is the folder with the migrations of the versions before 1.0. Weir 1.2 removes it: a database that old is then opened by 1.1 first.
const beforeDir = "before1.0"

// Migrate makes the tables of a new database with the first of files, which has all of them, and applies the later ones. A database whose tables are
// older than the first gets there by the migrations in the folder before1.0, which end with the number of the first. It notes beside each
// migration that weir, the version of this program, knows it. It returns Invalid, and changes nothing, when the database has migrations that this
// version does not know: it would read and write their tables wrongly. The error names the version that is needed. provider makes what runs the
// migrations of a folder on db.
func Migrate(ctx context.Context, files fs.FS, provider func(fs.FS) (*goose.Provider, error), db *sql.DB, weir string) error {
	p, err := provider(files)
	if err != nil {
		return err
	}
	current, known, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > known {
		return newer(ctx, db, current, known)
	}
	if current > 0 && current < p.ListSources()[0].Version {
		if err := catchUp(ctx, files, provider); err != nil {
			return err
		}
	}
	if _, err = p.Up(ctx); err != nil {
		return err
	}
	return noteVersion(ctx, db, weir)
}

// catchUp applies the migrations of the versions before 1.0.
func catchUp(ctx context.Context, files fs.FS, provider func(fs.FS) (*goose.Provider, error)) error {
	dir, err := fs.Sub(files, beforeDir)
	if err != nil {
		return err
	}
	p, err := provider(dir)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// newer is the error for tables of a version that this one does not know.
func newer(ctx context.Context, db *sql.DB, current, known int64) error {
	var needed string
	err := db.QueryRowContext(ctx, `SELECT weir FROM schema_versions WHERE number = $1`, current).Scan(&needed)
	switch {
	case errors.Is(err, sql.ErrNoRows): // the newer version died before it could note itself
		return fault.Newf(fault.Invalid, "store.Migrate", "The database belongs to a newer version of Weir: its tables have version %d, and this version knows %d. "+
			"Start the newer version, or restore the backup from before the upgrade.", current, known)
	case err != nil:
		return err
	}
	return fault.Newf(fault.Invalid, "store.Migrate", "The database belongs to a newer version of Weir: %[1]s has brought its tables to version %[2]d, and this version knows %[3]d. "+
		"Start Weir %[1]s or a later one, or restore the backup from before the upgrade.", needed, current, known)
}

// noteVersion gives each migration that has none the version that knows it. A node that died between a migration and its note leaves that to
// the next: a version that is named later than needed knows the tables, too.
func noteVersion(ctx context.Context, db *sql.DB, weir string) error {
	const lacking = ` FROM goose_db_version g WHERE g.version_id >= $1 AND NOT EXISTS (SELECT 1 FROM schema_versions v WHERE v.number = g.version_id)`
	var n int64
	if err := db.QueryRowContext(ctx, `SELECT COUNT(*)`+lacking, versionsSince).Scan(&n); err != nil || n == 0 {
		return err // nearly every start: nothing is written, and no lock is waited for
	}
	_, err := db.ExecContext(ctx, `INSERT INTO schema_versions (number, weir) SELECT DISTINCT g.version_id, CAST($2 AS TEXT)`+lacking+` ON CONFLICT DO NOTHING`, versionsSince, sqldb.Text(weir))
	return err
}
