package app

import (
	"context"

	"weir/internal/config"
	"weir/internal/store"
	"weir/internal/store/postgres"
	"weir/internal/store/sqlite"
)

// Version is the version of this program, set by the build.
var Version = "dev"

// openStore opens the database that cfg names, and migrates its tables to the current version.
func openStore(ctx context.Context, cfg config.Config) (*store.Store, error) {
	queryFor := patience(&cfg, store.QueryFor)
	if cfg.Store.DSN.Postgres() {
		return postgres.Open(ctx, cfg.Store.DSN.Reveal(), postgres.AllowDataLoss(cfg.Store.AllowDataLoss), postgres.WithQueryTime(queryFor), postgres.WithVersion(Version))
	}
	s, err := sqlite.Open(ctx, cfg.StorePath(), sqlite.WithQueryTime(queryFor), sqlite.WithVersion(Version))
	return s, explained(cfg.StorePath(), err)
}
