package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/store"
)

type migrateCmd struct {
	location
	To string `help:"The other database, which must be new: postgres://user:password@host/name, or the path of a SQLite file." placeholder:"DSN" env:"WEIR_MIGRATE_TO"`
}

func (c *migrateCmd) Run(ctx context.Context) error {
	if c.To == "" {
		return errors.New("name the other database with --to or WEIR_MIGRATE_TO")
	}
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	var rows int64
	report, err := app.Migrate(ctx, cfg, config.DSN(c.To), func(t store.Copied) {
		rows += t.Rows
		fmt.Printf("%10d  %s\n", t.Rows, t.Table)
	})
	if err != nil {
		return err
	}
	fmt.Printf("%10d  rows are equal in both.\n", rows)
	if _, err := report.WriteTo(os.Stdout); err != nil {
		return err
	}
	if !report.OK() {
		return errNotBalanced
	}
	fmt.Println("Name the new database in store.dsn, and keep the data directories. Weir refuses the old one from now on.")
	return nil
}
