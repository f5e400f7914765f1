package accounts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/backup"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// A backup that is made while calls are running has the charge of each call that was answered before it began, and of none that began
// after it ended. It is balanced, and a node serves from it. With PostgreSQL the database is dumped after it.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"sqlite":     func(*testing.T) string { return "" },
		"postgresql": func(t *testing.T) string { return pgtest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cfg config.Config
			from := dsn(t)
			gw := apptest.StartGateway(t, apptest.Quick, func(s *apptest.Setup) {
				s.Store.DSN = config.DSN(from)
				s.Journal.SegmentBytes = 64 << 10
				cfg = s.Config
			})
			a := gw.Open(t, apptest.Opening{Amount: 1_000_000 * money.Ruble, Keys: []*apikey.Limit{nil}})[0]
			chat := map[string]any{"model": "test/next", "messages": []map[string]string{{"role": "user", "content": "hello"}}}
			if got := a.Chat(t, chat); got.Status != 200 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			a.AwaitSettled(t)
			price := spent(t, a)
			begun, ended := new(atomic.Int64), new(atomic.Int64)
			begun.Store(1)
			ended.Store(1)
			stop := make(chan struct{})
			var load sync.WaitGroup
			for range 4 {
				load.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						begun.Add(1)
						if got := a.Chat(t, chat); got.Status != 200 {
							t.Errorf("%d %s", got.Status, got.Body)
							return
						}
						ended.Add(1)
					}
				})
			}
			type copied struct {
				backup   backup.Backup
				dsn      string
				min, max int64
			}
			var all []copied
			for range 3 {
				before := ended.Load()
				apptest.WaitFor(t, "twenty more calls", func() bool { return ended.Load() >= before+20 || t.Failed() })
				c := copied{min: ended.Load()}
				var err error
				if c.backup, err = app.Backup(t.Context(), cfg, t.TempDir(), "test"); err != nil {
					t.Fatal(err)
				}
				if from != "" {
					c.dsn = dumped(t, from)
				}
				c.max = begun.Load()
				all = append(all, c)
			}
			close(stop)
			load.Wait()
			for _, c := range all {
				b, err := backup.Open(t.Context(), c.backup.Path)
				if err != nil {
					t.Fatal(err)
				}
				to := cfg
				to.DataDir = filepath.Join(t.TempDir(), "restored")
				to.Store.DSN = config.DSN(c.dsn)
				err = app.Restore(t.Context(), to, &b, func(r ledger.Report) error {
					if !r.OK() {
						_, _ = r.WriteTo(os.Stderr)
						t.Error("it is not balanced")
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				again := apptest.StartGateway(t, apptest.Quick, func(s *apptest.Setup) { s.Config.DataDir, s.Store.DSN = to.DataDir, to.Store.DSN })
				there := &apptest.Account{Gw: again, Key: a.Key}
				there.AwaitSettled(t)
				calls := int64(spent(t, there) / price)
				if calls < c.min || calls > c.max {
					t.Errorf("%d calls are charged; %d had been answered before the backup, and %d had begun when it ended", calls, c.min, c.max)
				}
				if got := there.Chat(t, chat); got.Status != 200 {
					t.Errorf("a call after the restore: %d %s", got.Status, got.Body)
				}
				there.AwaitSettled(t)
				again.WantBalanced(t)
			}
		})
	}
}

func spent(t *testing.T, a *apptest.Account) money.Nano {
	t.Helper()
	n, err := money.Parse(a.Credits(t).TotalUsage.String())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dumped copies a database with the server's own programs, and returns the copy's DSN.
func dumped(t *testing.T, from string) (to string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "weir.dump")
	to = pgtest.New(t)
	for _, args := range [][]string{
		{pgtest.Program(t, "pg_dump"), "--format=custom", "--file=" + file, from},
		{pgtest.Program(t, "pg_restore"), "--no-owner", "--exit-on-error", "--dbname=" + to, file},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return to
}
