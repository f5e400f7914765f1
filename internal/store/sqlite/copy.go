package sqlite

import (
	"context"
	"errors"
	"net/url"
	"os"

	"weir/internal/fault"
)

// Copy writes the database at from, as it is at one moment, to a new file. Others may read and write meanwhile. It does not migrate the
// database, so an older version can read the copy. The copy has no free pages and nothing of deleted rows.
func Copy(ctx context.Context, from, to string) error {
	if _, err := os.Stat(from); err != nil { // SQLite would make it
		return fault.Wrap("sqlite.Copy", err)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fault.Wrap("sqlite.Copy", err)
	}
	db, err := open(from, url.Values{"_pragma": {busyTimeout()}}, 1)
	if err != nil {
		return fault.Wrap("sqlite.Copy", errors.Join(err, f.Close()))
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, to)
	if err = errors.Join(err, db.Close()); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fault.Wrap("sqlite.Copy", err)
	}
	return nil
}
