package store

import (
	"context"

	"github.com/pressly/goose/v3"

	"weir/internal/fault"
)

// Migrate applies the migrations that the database lacks. It returns Invalid, and changes nothing, when the database has migrations that this
// version does not know: it would read and write their tables wrongly.
func Migrate(ctx context.Context, p *goose.Provider) error {
	current, known, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > known {
		return fault.Newf(fault.Invalid, "store.Migrate", "The database belongs to a newer version of Weir: it has migration %d, and this version knows %d. "+
			"Start the newer version, or restore the backup from before the upgrade.", current, known)
	}
	_, err = p.Up(ctx)
	return err
}
