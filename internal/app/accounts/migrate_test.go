package accounts_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/store"
	"weir/internal/store/postgres/pgtest"
)

// A database that was used goes from SQLite to PostgreSQL and back with every row. At each place its books are balanced, and the node goes
// on with its own data directory.
func TestMigrate(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	dsns := []string{"", pgtest.New(t), filepath.Join(t.TempDir(), "back.db")}
	var cfg config.Config
	var a apptest.Account
	serve := func(t *testing.T, dsn string) *apptest.Gateway {
		gw := apptest.StartGateway(t, apptest.Quick, func(s *apptest.Setup) {
			s.Config.DataDir, s.Store.DSN = data, config.DSN(dsn)
			cfg = s.Config
		})
		a.Gw = gw
		return gw
	}
	chat := map[string]any{"model": "test/next", "messages": []map[string]string{{"role": "user", "content": "hello"}}}
	use := func(t *testing.T) {
		t.Helper()
		for range 3 {
			if got := a.Chat(t, chat); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		}
		if got := a.Do(t, http.MethodPost, "/v1/responses", map[string]any{"model": "test/next", "input": "hello", "store": true}); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		a.Ended(t, a.Batch(t, "test/next", 3))
		a.AwaitSettled(t)
		a.Gw.WantBalanced(t)
	}
	t.Run("used", func(t *testing.T) {
		gw := serve(t, dsns[0])
		o := gw.NewOwner(t, 1000, apikey.NewKey{Limit: &apikey.Limit{Amount: 500 * money.Ruble}})
		a.Key = o.Account.Key
		o.MakePreset(t, map[string]any{"name": "tone", "model": "test/next", "system_prompt": "Тон: \U0001F3B5"})
		if err := gw.Node.Admin().Users.SetRole(t.Context(), o.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
			t.Fatal(err)
		}
		use(t)
		if _, err := app.Migrate(t.Context(), cfg, config.DSN(dsns[1]), func(store.Copied) {}); err == nil || !strings.Contains(err.Error(), "uses the data directory") {
			t.Errorf("while a node runs: %v", err)
		}
	})
	taken := cfg
	taken.Store.DSN = config.DSN(filepath.Join(t.TempDir(), "taken.db"))
	admin, err := app.OpenAdmin(t.Context(), taken, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Users.Bootstrap(t.Context(), "root"); err != nil {
		t.Fatal(err)
	}
	admin.Close()
	if _, err := app.Migrate(t.Context(), cfg, taken.Store.DSN, func(store.Copied) {}); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("to a database with rows: %v", err)
	}
	for i, dsn := range dsns[1:] {
		former, rows := cfg, map[string]int64{}
		report, err := app.Migrate(t.Context(), cfg, config.DSN(dsn), func(c store.Copied) { rows[c.Table] = c.Rows })
		if err != nil {
			t.Fatal(err)
		}
		if !report.OK() {
			_, _ = report.WriteTo(os.Stderr)
			t.Error("it is not balanced")
		}
		for _, table := range []string{"users", "api_keys", "wallets", "transactions", "entries", "generations", "responses", "batches", "presets", "audit", "ledger_chain", "usage_hourly", "books"} {
			if rows[table] == 0 {
				t.Errorf("table %s has no rows", table)
			}
		}
		if _, err := app.Migrate(t.Context(), former, config.DSN(dsn), func(store.Copied) {}); err == nil || !strings.Contains(err.Error(), "was moved to") {
			t.Errorf("from a database that was moved: %v", err)
		}
		t.Run([]string{"on PostgreSQL", "on SQLite again"}[i], func(t *testing.T) {
			serve(t, dsn)
			use(t)
		})
	}
	if _, err := app.Migrate(t.Context(), cfg, cfg.Store.DSN, func(store.Copied) {}); err == nil || !strings.Contains(err.Error(), "names already") {
		t.Errorf("to itself: %v", err)
	}
}

// A node that was killed may have charges in its journal that only it can post.
func TestMigrateAfterAKill(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { cfg.Store.DSN = config.DSN(filepath.Join(s.DataDir, "weir.db")) }) // its node is under way
	_ = gw
	if _, err := app.Migrate(t.Context(), cfg, config.DSN(filepath.Join(cfg.DataDir, "new.db")), func(store.Copied) {}); err == nil || !strings.Contains(err.Error(), "have not ended") {
		t.Errorf("got %v", err)
	}
}
