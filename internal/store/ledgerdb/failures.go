package ledgerdb

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store/sqldb"
)

// failureKey is the key of call_failures: an hour of an account with a cause.
type failureKey struct {
	hour                                    int64 // Unix seconds
	code, provider, words, endpoint, wallet string
}

// failureSums are the figures of a row of call_failures.
type failureSums struct {
	errors, reached, first, last int64
	sample, said                 string
}

func (k failureKey) order(l failureKey) int {
	return cmp.Or(cmp.Compare(k.hour, l.hour), cmp.Compare(k.code, l.code), cmp.Compare(k.provider, l.provider), cmp.Compare(k.words, l.words),
		cmp.Compare(k.endpoint, l.endpoint), cmp.Compare(k.wallet, l.wallet))
}

func (k failureKey) args(args []any, s *failureSums) []any {
	return append(args, k.hour, k.code, k.provider, k.words, k.endpoint, k.wallet, s.errors, s.reached, s.first, s.last, s.sample, s.said)
}

var callFailures = sqldb.Table{
	Name: "call_failures", Columns: []string{"hour", "code", "provider", "words", "endpoint", "wallet", "errors", "reached", "first_at", "last_at", "sample", "said"},
	Merge: `ON CONFLICT (hour, code, provider, words, endpoint, wallet) DO UPDATE SET errors = call_failures.errors + excluded.errors, reached = call_failures.reached + excluded.reached,
		first_at = CASE WHEN excluded.first_at < call_failures.first_at THEN excluded.first_at ELSE call_failures.first_at END,
		sample = CASE WHEN excluded.last_at < call_failures.last_at THEN call_failures.sample ELSE excluded.sample END,
		said = CASE WHEN excluded.last_at < call_failures.last_at THEN call_failures.said ELSE excluded.said END,
		last_at = CASE WHEN excluded.last_at < call_failures.last_at THEN call_failures.last_at ELSE excluded.last_at END`,
}

// failuresKept is how long causes are kept.
const failuresKept = report.MostFailureDays * 24 * time.Hour

// noteFailures adds the failures of a batch to those of their hours.
func noteFailures(t *sqldb.Tx, items []*ledger.Recorded, now time.Time) error {
	rows := map[failureKey]*failureSums{}
	for _, it := range items {
		eachFailure(&it.Call, func(k failureKey, said string, reached bool) {
			at := it.Call.At.UnixMicro()
			s := rows[k]
			if s == nil {
				s = &failureSums{first: at, last: at}
				rows[k] = s
			}
			s.errors++
			s.reached += bit(reached)
			if s.first = min(s.first, at); at >= s.last {
				s.last, s.sample, s.said = at, it.Call.Generation, said
			}
		})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := merge(t, &callFailures, rows, failureKey.order, failureKey.args); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM call_failures WHERE hour < $1`, now.Add(-failuresKept).Unix())
	return err
}

// eachFailure yields what failed of a call: its attempts, of which the last one may have reached the client, or the call by itself.
func eachFailure(c *record.Call, yield func(k failureKey, said string, reached bool)) {
	failed := c.Error != "" && !c.Cancelled
	k := failureKey{hour: hourOf(c).hour, wallet: c.Wallet}
	canceled := fault.Canceled.String()
	for i := range c.Attempts {
		a := &c.Attempts[i]
		if a.Reason == "" || a.Reason == canceled {
			continue
		}
		reached := failed && i == len(c.Attempts)-1
		failed = failed && !reached
		said := sqldb.Text(a.Words)
		k.code, k.provider, k.endpoint, k.words = sqldb.Text(a.Reason), sqldb.Text(a.Provider), sqldb.Text(a.Endpoint), record.Cause(said)
		yield(k, said, reached)
	}
	if failed {
		k.code, k.provider, k.endpoint, k.words = c.Error, "", "", ""
		yield(k, "", true)
	}
}

// The last call of a group is that with the latest time: a text of 16 digits comes before its id and what was said.
const (
	failureFigures = `CAST(SUM(errors) AS BIGINT), CAST(SUM(reached) AS BIGINT), MIN(first_at), MAX(last_at), MAX(substr('0000000000000000' || CAST(last_at AS TEXT), length(CAST(last_at AS TEXT)) + 1) || ' ' || sample || ' ' || said)`
	causeSums      = `SELECT code, provider, words, CAST(SUM(errors) AS BIGINT) AS errors, CAST(SUM(reached) AS BIGINT) AS reached, MIN(first_at) AS first_at, MAX(last_at) AS last_at,
		COUNT(DISTINCT wallet) AS accounts, COUNT(DISTINCT endpoint) AS endpoints FROM call_failures WHERE hour >= $1 AND hour < $2`
	failureParts = ` FROM call_failures WHERE hour >= $1 AND hour < $2 AND ($3 = '' OR code = $3 AND provider = $4 AND words = $5) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT `
)

// Failures is report.Store.Failures.
func (s *Ledger) Failures(ctx context.Context, from, to time.Time, most int) ([]report.Failure, error) {
	return sqldb.List(ctx, s.db, "store.Failures", scanCause, causes("", most), from.Unix(), to.Unix())
}

// FailuresAt is report.Store.FailuresAt.
func (s *Ledger) FailuresAt(ctx context.Context, endpoint string, from, to time.Time, most int) ([]report.Failure, error) {
	return sqldb.List(ctx, s.db, "store.FailuresAt", scanCause, causes(" AND endpoint = $3", most), from.Unix(), to.Unix(), endpoint)
}

// causes adds up the rows that fit by cause. The last call of each cause is looked up afterwards, in its hour: texts of all rows would be sorted
// for the few that are shown.
func causes(fit string, most int) string {
	return "SELECT code, provider, words, errors, reached, first_at, last_at, (SELECT 'x ' || f.sample || ' ' || f.said FROM call_failures f WHERE f.hour = g.last_at / 3600000000 * 3600" +
		" AND f.code = g.code AND f.provider = g.provider AND f.words = g.words AND f.last_at = g.last_at" + fit + " ORDER BY f.sample DESC, f.said DESC LIMIT 1), accounts, endpoints FROM (" +
		causeSums + fit + " GROUP BY code, provider, words ORDER BY 4 DESC, 7 DESC, code, provider, words LIMIT " + strconv.Itoa(most) + ") g ORDER BY errors DESC, last_at DESC, code, provider, words"
}

func scanCause(row sqldb.Scanner) (f report.Failure, err error) {
	var last string
	var first, lastAt int64
	err = row.Scan(&f.Code, &f.Provider, &f.Words, &f.Errors, &f.Reached, &first, &lastAt, &last, &f.Accounts, &f.Endpoints)
	f.FailureSums = failureOf(f.Errors, f.Reached, first, lastAt, last)
	return f, err
}

func failureOf(errors, reached, first, last int64, text string) report.FailureSums {
	f := report.FailureSums{Errors: errors, Reached: reached, First: time.UnixMicro(first).UTC(), Last: time.UnixMicro(last).UTC()}
	_, rest, _ := strings.Cut(text, " ")
	f.Call, f.Said, _ = strings.Cut(rest, " ")
	return f
}

// FailureParts is report.Store.FailureParts.
func (s *Ledger) FailureParts(ctx context.Context, from, to time.Time, c report.Cause, part report.FailurePart, most int) ([]report.FailedPart, error) {
	column := map[report.FailurePart]string{report.FailedWallet: "wallet", report.FailedEndpoint: "endpoint"}[part]
	return sqldb.List(ctx, s.db, "store.FailureParts", func(row sqldb.Scanner) (f report.FailedPart, err error) {
		var errors, reached, first, last int64
		var text string
		err = row.Scan(&f.Value, &errors, &reached, &first, &last, &text)
		f.FailureSums = failureOf(errors, reached, first, last, text)
		return f, err
	}, "SELECT "+column+", "+failureFigures+failureParts+strconv.Itoa(most), from.Unix(), to.Unix(), c.Code, c.Provider, c.Words)
}

// FailureTotals is report.Store.FailureTotals.
func (s *Ledger) FailureTotals(ctx context.Context, from, to time.Time) (errors, reached int64, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&errors, &reached) },
		`SELECT CAST(COALESCE(SUM(errors), 0) AS BIGINT), CAST(COALESCE(SUM(reached), 0) AS BIGINT) FROM call_failures WHERE hour >= $1 AND hour < $2`, from.Unix(), to.Unix())
	return errors, reached, sqldb.Failure("store.FailureTotals", err)
}

// Names is report.Store.Names.
func (s *Ledger) Names(ctx context.Context, kind report.NameKind, ids []string) (map[string]report.Named, error) {
	text := map[report.NameKind]string{
		report.UsersByID: `SELECT id, id, name, '' FROM users WHERE id`, report.UsersByWallet: `SELECT wallet, id, name, '' FROM users WHERE wallet`, report.KeysByID: `SELECT id, hash, name, label FROM api_keys WHERE id`,
	}[kind]
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, nil
	}
	args, marks := make([]any, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		args[i], marks[i] = sqldb.Text(id), "$"+strconv.Itoa(i+1)
	}
	type row struct {
		by string
		report.Named
	}
	rows, err := sqldb.List(ctx, s.db, "store.Names", sqldb.Columns(func(r *row) []any { return []any{&r.by, &r.ID, &r.Name, &r.Label} }), text+" IN ("+strings.Join(marks, ", ")+")", args...)
	by := make(map[string]report.Named, len(rows))
	for _, r := range rows {
		by[r.by] = r.Named
	}
	return by, err
}
