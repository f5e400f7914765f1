package app

import (
	"context"
	"io"
	"time"

	"weir/internal/blob/s3"
	"weir/internal/config"
	"weir/internal/export"
)

// ExportCalls exports the calls of each day from first to last, and passes each day to report.
func ExportCalls(ctx context.Context, cfg config.Config, first, last time.Time, version string, report func(export.Day, export.Outcome) error) error {
	admin, err := OpenAdmin(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer admin.Close()
	files, err := openExports(&cfg)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		d, outcome, err := export.Calls(ctx, admin.Store.Accounts, admin.Store.Ledger, files, day, version)
		if err != nil {
			return err
		}
		if err := report(d, outcome); err != nil {
			return err
		}
	}
	return nil
}

func openExports(cfg *config.Config) (interface {
	export.Files
	io.Closer
}, error) {
	if cfg.Export.Keep == config.KeepS3 {
		return s3.Open(cfg.Export.S3)
	}
	return export.OpenDir(cfg.ExportFolder())
}
