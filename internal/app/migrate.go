package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/store"
)

// Migrate copies the database that cfg names to another, new one, and recomputes the ledger there. All nodes must have ended, so that no
// charge waits in a journal that the other database would not get. The former one is marked as moved, and refused from then on.
func Migrate(ctx context.Context, cfg config.Config, to config.DSN, copied func(store.Copied)) (ledger.Report, error) {
	dir := ledger.JournalDir(cfg.DataDir)
	from, err := openExisting(ctx, cfg)
	if err != nil {
		return ledger.Report{}, err
	}
	defer func() { _ = from.Close() }()
	claim, err := journal.Take(dir)
	if err != nil {
		return ledger.Report{}, err
	}
	defer func() { _ = claim.Release() }()
	if err := ended(ctx, from); err != nil {
		return ledger.Report{}, err
	}
	there := cfg
	there.Store.DSN = to
	if to.Postgres() == cfg.Store.DSN.Postgres() && there.StorePath() == cfg.StorePath() {
		return ledger.Report{}, errors.New("that is the database that the configuration names already")
	}
	target, err := openStore(ctx, there)
	if err != nil {
		return ledger.Report{}, fmt.Errorf("the other database: %w", err)
	}
	defer func() { _ = target.Close() }()
	if err := from.CopyTo(ctx, target, copied); err != nil {
		return ledger.Report{}, err
	}
	report, err := ledger.Verify(ctx, target.Ledger, dir, ledger.Anchor{}, time.Now())
	if err != nil || !report.OK() {
		return report, err
	}
	return report, from.SetMark(ctx, store.MarkMoved, fmt.Sprintf("the ledger that was here was moved to %s on %s: name that in store.dsn (WEIR_STORE_DSN)", to, time.Now().UTC().Format(time.DateOnly)))
}

// ended checks that no node uses a database, and that none was killed.
func ended(ctx context.Context, s *store.Store) error {
	nodes, err := s.NodesUnderWay(ctx)
	if err != nil || len(nodes) == 0 {
		return err
	}
	return fmt.Errorf("these nodes have not ended, and may have charges that the database does not have yet: %s. "+
		"Stop each with SIGTERM; start one that was killed once more, and stop it then", strings.Join(nodes, ", "))
}
