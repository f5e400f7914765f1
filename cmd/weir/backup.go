package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"weir/internal/app"
	"weir/internal/backup"
	"weir/internal/ledger"
)

type backupCmd struct {
	location
	Folder string `arg:"" help:"Folder for backups, outside of the data directory. Each gets a folder of its own in it."`
	Keep   int    `help:"Then remove the oldest backups of the folder until so many are left. Without it, all stay." placeholder:"COUNT"`
}

func (c *backupCmd) Run(ctx context.Context) error {
	if c.Keep < 0 {
		return errors.New("--keep must be 1 or more")
	}
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	b, err := app.Backup(ctx, cfg, c.Folder, app.Version)
	if err != nil {
		return err
	}
	fmt.Printf("Made %s: %d files.\n", b.Path, len(b.Files))
	if !b.HasDatabase() {
		fmt.Println(`The database is not in it: it is in PostgreSQL. Run pg_dump now, after this command and not before.`)
	}
	if c.Keep == 0 {
		return nil
	}
	removed, err := backup.Prune(c.Folder, c.Keep)
	for _, path := range removed {
		fmt.Printf("Removed %s.\n", path)
	}
	return err
}

type restoreCmd struct {
	location
	Backup string `arg:"" help:"A backup: a folder that weir backup made."`
	Check  bool   `help:"Compare its files with their checksums, and restore nothing."`
}

func (c *restoreCmd) Run(ctx context.Context) error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	b, err := backup.Open(ctx, c.Backup)
	if err != nil {
		return err
	}
	fmt.Printf("%s was made at %s by weir %s: its %d files are whole.\n", b.Path, b.At.Format(time.RFC3339), b.Version, len(b.Files))
	if c.Check {
		return nil
	}
	err = app.Restore(ctx, cfg, &b, func(r ledger.Report) error {
		if _, err := r.WriteTo(os.Stdout); err != nil || r.OK() {
			return err
		}
		return errNotBalanced
	})
	if err != nil {
		return err
	}
	fmt.Printf("Restored to %s. Start Weir here, and never again where the backup was made.\n", cfg.DataDir)
	return nil
}
