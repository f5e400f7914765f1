package ledgerdb

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store/sqldb"
)

// resultsForm is the form of call_results that this program writes.
const resultsForm = 1

// resultColumns are the key columns of call_results, resultSums its figures in the order of ended.
var (
	resultColumns = []string{"part", "span", "value", "at", "beside", "api", "status", "result"}
	resultSums    = []string{"calls", "requests", "cost", "tax", "upstream", "unknown", "unknown_net"}

	callResults   = sqldb.Table{Name: "call_results", Columns: slices.Concat(resultColumns, resultSums), Merge: addTo("call_results", resultColumns, resultSums)}
	selectResults = selectAll("call_results", resultColumns, resultSums)
	resultsOld    = `DELETE FROM call_results WHERE at < $1 AND at < (SELECT MIN(at) FROM call_results) + $2`
)

// The parts of call_results beside byModel.
const (
	ofAll         = "all"
	byProvider    = "provider"
	byProviderKey = "key"
)

// The lengths of time of call_results, in seconds.
const (
	hourSpan = 3600
	daySpan  = 24 * hourSpan
)

// resultKey is the key of call_results.
type resultKey struct {
	part        string
	span        int64
	value       string
	at          int64
	beside, api string
	status      int64
	result      string
}

// ended are the figures of a row of call_results.
type ended [7]int64

func (k resultKey) order(l resultKey) int {
	return cmp.Or(cmp.Compare(k.part, l.part), cmp.Compare(k.span, l.span), cmp.Compare(k.value, l.value), cmp.Compare(k.at, l.at),
		cmp.Compare(k.beside, l.beside), cmp.Compare(k.api, l.api), cmp.Compare(k.status, l.status), cmp.Compare(k.result, l.result))
}

func (k resultKey) args(args []any, s *ended) []any {
	args = append(args, k.part, k.span, k.value, k.at, k.beside, k.api, k.status, k.result)
	for _, n := range s {
		args = append(args, n)
	}
	return args
}

// result adds a call, of which s is what it brought, to the rows that have it.
func (b *dayBook) result(c *record.Call, s *sale) {
	sums := ended{s[0], s[1], s[6], s[7], s[8], s[10], s[11]}
	began := c.At.Unix()
	k := resultKey{api: c.API, status: int64(c.Status), result: c.Result()}
	add := func(part, value, beside string) {
		k.part, k.value, k.beside = part, value, beside
		for _, k.span = range [...]int64{hourSpan, daySpan} {
			k.at = began - (began%k.span+k.span)%k.span
			row := at(b.results, k)
			for i, n := range sums {
				row[i] += n
			}
		}
	}
	add(ofAll, "", "")
	add(byModel, c.Model, c.Provider)
	add(byProvider, c.Provider, "")
	for i := range c.Attempts {
		tag := c.Attempts[i].ProviderKey
		if tag != "" && !slices.ContainsFunc(c.Attempts[:i], func(a record.Attempt) bool { return a.ProviderKey == tag }) {
			add(byProviderKey, sqldb.Text(tag), "")
		}
	}
}

// rollUpResults adds to call_results. Its rows are those of all accounts, as those of sales_parts are.
func rollUpResults(t *sqldb.Tx, results map[resultKey]*ended) error {
	return merge(t, &callResults, results, resultKey.order, resultKey.args)
}

// resultsDropped is about how many rows one step deletes of those whose calls are dropped.
const resultsDropped = 5000

// dropResults deletes rows that begin before a moment, the oldest hours first. What is left of them means nothing: see counted.
func dropResults(t *sqldb.Tx, before int64) error {
	for left := int64(resultsDropped); left > 0; {
		n, err := t.Exec(resultsOld, before/1_000_000, int64(hourSpan))
		if err != nil || n == 0 {
			return err
		}
		left -= n
	}
	return nil
}

// counted reports whether a row has all calls of its time, and is compared with them: calls from before the horizon, in Unix microseconds, may have been
// dropped.
func (k resultKey) counted(horizon int64) bool { return k.at*1_000_000 >= horizon }

// fillResults makes call_results anew from the records.
func fillResults(t *sqldb.Tx) error {
	b := newDayBook(t.Zones)
	if err := allRecords(t, func(c *record.Call) { b.result(c, saleOf(c)) }); err != nil {
		return err
	}
	return writeResults(t, b.results)
}

// writeResults replaces the rows of call_results.
func writeResults(t *sqldb.Tx, results map[resultKey]*ended) error {
	if err := empty(t, callResults.Name); err != nil {
		return err
	}
	var horizon int64
	if err := t.Row(horizonRead).Scan(&horizon); err != nil {
		return err
	}
	maps.DeleteFunc(results, func(k resultKey, _ *ended) bool { return !k.counted(horizon) })
	if err := rollUpResults(t, results); err != nil {
		return err
	}
	_, err := t.Exec(`UPDATE usage_form SET results = $1 WHERE one = 1`, resultsForm)
	return err
}

// resultFigures are what a row of a report.ResultRow is summed up of.
var resultFigures = "CAST(SUM(CASE WHEN result IN ('" + record.OK + "', '" + record.Canceled + "') THEN 0 ELSE calls END) AS BIGINT)" + func() string {
	var b strings.Builder
	for _, c := range resultSums {
		b.WriteString(", CAST(SUM(" + c + ") AS BIGINT)")
	}
	return b.String()
}()

// Results is report.Store.Results.
func (s *Ledger) Results(ctx context.Context, q report.ResultQuery) ([]report.ResultRow, error) {
	part, value, span := ofAll, "", int64(daySpan)
	f := &q.Filter
	switch {
	case q.ProviderKey != "":
		part, value = byProviderKey, q.ProviderKey
	case f.Model != "":
		part, value = byModel, f.Model
	case f.Provider != "":
		part, value = byProvider, f.Provider
	}
	if value == report.Nothing {
		value = ""
	}
	if q.Bucket == report.Hour {
		span = hourSpan
	}
	var c sqldb.Conditions
	c.Add("part = ? AND span = ? AND value = ? AND at >= ? AND at < ?", part, span, value, q.From.Unix(), q.To.Unix())
	if part == byModel {
		c.Equal("beside", f.Provider)
	}
	c.Equal("api", f.Kind)
	if q.Status != 0 {
		c.Add("status = ?", int64(q.Status))
	}
	result(&c, "result", f.Result)
	return sqldb.List(ctx, s.db, "store.Results", func(row sqldb.Scanner) (r report.ResultRow, err error) {
		var began int64
		err = row.Scan(&began, &r.Failed, &r.Calls, &r.Charged, (*int64)(&r.Sales), (*int64)(&r.VAT), (*int64)(&r.Upstream), &r.Unknown, (*int64)(&r.UnknownNet))
		r.At = time.Unix(began, 0).UTC()
		return r, err
	}, "SELECT at, "+resultFigures+" FROM call_results"+c.Where()+" GROUP BY at ORDER BY at", c.Args...)
}

// resultCheck compares call_results with the calls, in a memory that grows with the days alone: calls come by account, the rows are those of all. Of each
// figure both sides add the amount times a number of its own, as spending does.
type resultCheck struct {
	horizon int64
	seeds   [2]maphash.Seed
	days    map[int64]*[2]uint64
	rows    int
}

func newResultCheck(c *checker) *resultCheck {
	var horizon int64
	c.one(horizonRead, &horizon)
	return &resultCheck{horizon: horizon, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, days: map[int64]*[2]uint64{}}
}

// add adds rows of calls, or takes those of the table away.
func (r *resultCheck) add(k resultKey, s *ended, sign int64) {
	if !k.counted(r.horizon) {
		return
	}
	type figure struct {
		resultKey
		column int
	}
	day := at(r.days, k.at-(k.at%daySpan+daySpan)%daySpan)
	for i, n := range s {
		if n != 0 {
			weigh(day, &r.seeds, figure{k, i}, sign*n)
		}
	}
}

// compare compares what calls added with the rows.
func (r *resultCheck) compare(c *checker) {
	c.each(selectResults, func(v []any) {
		n := func(i int) int64 { n, _ := v[i].(int64); return n }
		k := resultKey{text(v[0]), n(1), text(v[2]), n(3), text(v[4]), text(v[5]), n(6), text(v[7])}
		var s ended
		for i := range s {
			s[i] = n(len(resultColumns) + i)
		}
		if r.add(k, &s, -1); k.counted(r.horizon) {
			r.rows++
		}
	})
	var wrong differences
	for _, day := range slices.Sorted(maps.Keys(r.days)) {
		if *r.days[day] != [2]uint64{} && c.err == nil {
			wrong.add(fmt.Sprintf("%s has other sums than its calls", time.Unix(day, 0).UTC().Format(time.DateOnly)))
		}
	}
	c.add("calls by result", wrong, "%d rows agree with the calls", r.rows)
}
