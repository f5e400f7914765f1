package accounts_test

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/config"
	"weir/internal/export"
	"weir/internal/money"
	"weir/internal/report"
	"weir/internal/store/postgres/pgtest"
)

// altered is a store whose books say something else.
type altered struct {
	export.Store
	more int64     // calls by the books that are not there
	kept time.Time // zero: all are kept
}

func (a altered) Usage(ctx context.Context, q report.Query) ([]report.Row, error) {
	rows, err := a.Store.Usage(ctx, q)
	if len(rows) > 0 {
		rows[0].Calls += a.more
	}
	return rows, err
}

func (a altered) KeptSince(ctx context.Context) (time.Time, error) {
	if a.kept.IsZero() {
		return a.Store.KeptSince(ctx)
	}
	return a.kept, nil
}

// full is a disk without room after some bytes.
type full struct{ export.Files }

var errFull = errors.New("the disk is full")

func (full) Put(_ context.Context, _, _ string, r io.Reader) (int64, string, error) {
	_, _ = io.CopyN(io.Discard, r, 5)
	return 0, "", errFull
}

// A file has each call of its day once, and sums up to the books. It is written anew only when there are other calls; what does not sum up, is
// gone from the store, or cannot be stored, leaves the file that was there.
func TestExport(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"sqlite":     func(*testing.T) string { return "" },
		"postgresql": func(t *testing.T) string { return pgtest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := dsn(t)
			day, start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1), time.Now()
			gw := apptest.StartGateway(t, func(s *apptest.Setup) {
				s.Store.DSN = config.DSN(from)
				s.Clock = func() time.Time { return day.Add(12*time.Hour + time.Since(start)) } // no test runs for half a day
			})
			a, b, idle := gw.NewOwner(t, 1000, apikey.NewKey{}), gw.NewOwner(t, 1000, apikey.NewKey{}), gw.NewOwner(t, 1000, apikey.NewKey{})
			call := func(o *apptest.Owner, model string, status int) {
				t.Helper()
				if got := o.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask(model, "hello")); got.Status != status {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
				o.Account.AwaitSettled(t)
			}
			for range 3 {
				call(a, "test/next", http.StatusOK)
			}
			call(b, "test/next", http.StatusOK)
			call(b, "test/u15-status-500", http.StatusBadGateway)
			dir, store := t.TempDir(), gw.Node.Admin().Store
			files, err := export.OpenDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = files.Close() }()
			run := func(s export.Store, f export.Files, want export.Outcome) (export.Day, error) {
				t.Helper()
				d, outcome, err := export.Calls(t.Context(), store.Accounts, s, f, day, "test")
				if outcome != want {
					t.Errorf("%q with %v, want %q", outcome, err, want)
				}
				return d, err
			}
			table := func() (rows int64, cost money.Nano) {
				t.Helper()
				f, err := os.Open(filepath.Join(dir, export.CallsKey(day)))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = f.Close() }()
				z, err := gzip.NewReader(f)
				if err != nil {
					t.Fatal(err)
				}
				all, err := csv.NewReader(z).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				seen := map[string]bool{}
				price := slices.Index(all[0], "cost_rub")
				if all[0][0] != "wallet" || price < 0 {
					t.Fatalf("%v", all[0])
				}
				for _, row := range all[1:] {
					n, err := money.Parse(row[price])
					if err != nil || seen[row[1]] {
						t.Errorf("%v %v", row, err)
					}
					seen[row[1]] = true
					cost += n
				}
				return int64(len(all) - 1), cost
			}
			check := func(d export.Day, calls int64) {
				t.Helper()
				rows, cost := table()
				content, err := os.ReadFile(filepath.Join(dir, export.CallsKey(day)))
				sum := sha256.Sum256(content)
				if err != nil || rows != calls || d.Calls != calls || cost != d.Cost || d.Accounts != 2 || d.Bytes != int64(len(content)) || d.SHA256 != hex.EncodeToString(sum[:]) {
					t.Errorf("%v: %d rows for %s: %+v", err, rows, cost, d)
				}
				if spent := spent(t, a.Account) + spent(t, b.Account) + spent(t, idle.Account); spent != cost {
					t.Errorf("the file has %s, the accounts spent %s", cost, spent)
				}
			}
			d, _ := run(store.Ledger, files, export.Written)
			check(d, 5)
			d, _ = run(store.Ledger, files, export.Unchanged)
			check(d, 5)
			if _, err := run(altered{Store: store.Ledger, more: 1}, files, ""); err == nil {
				t.Error("a call is missing, and nobody says so")
			}
			check(d, 5)
			call(a, "test/next", http.StatusOK)
			if _, err := run(store.Ledger, full{files}, ""); !errors.Is(err, errFull) {
				t.Errorf("a full disk: %v", err)
			}
			if rows, _ := table(); rows != 5 {
				t.Errorf("a full disk leaves %d rows", rows)
			}
			_, _ = run(altered{Store: store.Ledger, kept: day.AddDate(0, 0, 1)}, files, export.Dropped)
			d, _ = run(store.Ledger, files, export.Written)
			check(d, 6)
			for _, rubbish := range []string{"", "{", `{"day":"2026-11-01"}`, `[1]`, `{"day":"` + day.Format(time.DateOnly) + `","calls":6,"cost_rub":"x","accounts":2,"bytes":1,"sha256":""}`} {
				if err := os.WriteFile(filepath.Join(dir, export.ManifestKey(day)), []byte(rubbish), 0o600); err != nil {
					t.Fatal(err)
				}
				d, _ = run(store.Ledger, files, export.Written)
				check(d, 6)
			}
			if err := os.Remove(filepath.Join(dir, export.CallsKey(day))); err != nil {
				t.Fatal(err)
			}
			d, _ = run(store.Ledger, files, export.Written)
			check(d, 6)
		})
	}
}
