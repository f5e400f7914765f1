package storetest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/usage"
)

var (
	pagesCalls    = flag.String("pages.calls", "20000", "how many calls the database of BenchmarkPages has; with commas: it is measured at each of these sizes")
	pagesAccounts = flag.Int("pages.accounts", 200, "how many accounts it has, of which one makes six in ten of the calls")
	pagesKeys     = flag.Int("pages.keys", 4000, "how many keys they have")
	pagesAt       = flag.String("pages.at", "", "a database that was filled before: its path or DSN. It is only read")
	pagesKeep     = flag.Bool("pages.keep", false, "fill the database of -pages.at up to today, and measure nothing: for bench -pages")
)

// PagesAt is the database that is to be measured as it is, or "".
func PagesAt() string { return *pagesAt }

// PagesDB is an open store, and a way past it.
type PagesDB struct {
	Store  *store.Store
	SQL    func(text string, args ...any) error
	Settle func() error // what a database does by itself after many changes, such as collecting statistics; nil for nothing
	Reopen func() error // opens the store again, as a start does
	// Processor is the processor time that the database has taken beside this process; nil: none.
	Processor func() (time.Duration, error)
}

// PagesBench measures what the pages of an account read, in a database with as many calls, accounts and keys as the flags say. It reports the
// median and the 99th percentile of each read, and the processor time of this process and of the database.
func PagesBench(b *testing.B, open func(b *testing.B, now func() time.Time) PagesDB) {
	now := time.Date(2026, 11, 24, 12, 30, 0, 0, time.UTC)
	if *pagesKeep {
		now = time.Now().Truncate(time.Microsecond)
	}
	db := open(b, func() time.Time { return now })
	s := db.Store
	r := report.New(s.Ledger, flushed{s.Ledger})
	const wallet = "wal_0"
	today := report.Day.Floor(now)
	query := func(part report.Part, bucket report.Bucket, days int, f report.Filter) func(context.Context) error {
		q := report.Query{Wallet: wallet, Part: part, Bucket: bucket, Filter: f, From: bucket.Floor(today.AddDate(0, 0, 1-days)), To: today.AddDate(0, 0, 1)}
		if bucket == report.Month {
			q.To = bucket.Next(bucket.Floor(q.To))
		}
		return func(ctx context.Context) error {
			_, err := r.Usage(ctx, q, report.Cost, 8)
			return err
		}
	}
	// all figures, as tables and histograms need them
	whole := func(part report.Part, bucket report.Bucket, days int, f report.Filter) func(context.Context) error {
		q := report.Query{Wallet: wallet, Part: part, Bucket: bucket, Filter: f, Whole: true, From: today.AddDate(0, 0, 1-days), To: today.AddDate(0, 0, 1)}
		return func(ctx context.Context) error {
			if part == report.None {
				_, err := r.Histogram(ctx, q)
				return err
			}
			_, err := r.Usage(ctx, q, report.Cost, 8)
			return err
		}
	}
	search := func(days int, f report.Filter, least money.Nano) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := r.Calls(ctx, report.Search{Wallet: wallet, Filter: f, MinCost: least, From: today.AddDate(0, 0, 1-days), To: now.Add(time.Second), Limit: 50})
			return err
		}
	}
	statement := func(days int) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := r.Statement(ctx, wallet, today.AddDate(0, 0, 1-days), today)
			return err
		}
	}
	everybody := func(f report.Filter, least money.Nano) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := r.AllCalls(ctx, report.Search{Filter: f, MinCost: least, From: today.AddDate(0, 0, -89), To: now.Add(time.Second), Limit: 50})
			return err
		}
	}
	overTime := func(days int, s report.Search) func(context.Context) error {
		s.From, s.To = today.AddDate(0, 0, 1-days), now.Add(time.Second)
		return func(ctx context.Context) error {
			u, err := r.OverTime(ctx, s, now)
			if err == nil && u.Total.Calls == 0 {
				err = errors.New("there are no calls")
			}
			return err
		}
	}
	sold := func(by report.Part, days int, account string) func(context.Context) error {
		q := report.SalesQuery{Part: by, Account: account, From: today.AddDate(0, 0, 1-days), To: today.AddDate(0, 0, 1)}
		return func(ctx context.Context) error {
			s, err := r.Sold(ctx, q)
			if err == nil && len(s.Rows) == 0 {
				err = errors.New("nothing was sold")
			}
			if err != nil {
				return err
			}
			return r.LosingSince(ctx, q, s.Rows[:min(20, len(s.Rows))])
		}
	}
	middle := report.Place{At: now.AddDate(0, 0, -45), ID: "gen"}
	var last, other string // a generation of this account and one of another
	reads := []pagesRead{
		{"overview", func(ctx context.Context) error { _, err := r.Overview(ctx, wallet, report.Filter{}, now); return err }},
		{"usage 30 days by model", query(report.Model, report.Day, 30, report.Filter{})},
		{"usage 90 days by key", query(report.Key, report.Day, 90, report.Filter{})},
		{"usage 90 days by result", query(report.Result, report.Day, 90, report.Filter{})},
		{"usage 30 days by model of one key", query(report.Model, report.Day, 30, report.Filter{Key: keyOf(0, 3)})},
		{"usage 90 days by key of one model", query(report.Key, report.Day, 90, report.Filter{Model: "vendor/model-3"})},
		{"usage 7 days by hour and model", query(report.Model, report.Hour, 7, report.Filter{})},
		{"usage 12 months by model", query(report.Model, report.Month, 365, report.Filter{})},
		{"usage 366 days by model, all figures", whole(report.Model, report.Day, 366, report.Filter{})},
		{"usage 366 days by key of one model, all figures", whole(report.Key, report.Day, 366, report.Filter{Model: "vendor/model-3"})},
		{"usage 366 days by model of one key and kind", query(report.Model, report.Day, 366, report.Filter{Key: keyOf(0, 3), Kind: "completions"})},
		{"usage 8 days by hour and key of one model, all figures", whole(report.Key, report.Hour, 8, report.Filter{Model: "vendor/model-3"})},
		{"usage 90 days by value of a tag", query(report.TagNamed("project"), report.Day, 90, report.Filter{})},
		{"usage 90 days by name of tags", query(report.TagNames, report.Day, 90, report.Filter{})},
		{"usage 90 days by session", query(report.Session, report.Day, 90, report.Filter{})},
		{"usage 90 days by model of one tag", query(report.Model, report.Day, 90, report.Filter{Tag: "project=p3"})},
		{"usage 90 days by value of a tag of one key", query(report.TagNamed("project"), report.Day, 90, report.Filter{Key: keyOf(0, 3)})},
		{"calls of one tag", search(90, report.Filter{Tag: "project=p3"}, 0)},
		{"calls of a session", search(90, report.Filter{Session: "session-77"}, 0)},
		{"histogram of 8 days by hour", whole(report.None, report.Hour, 8, report.Filter{})},
		{"histogram of 90 days of failures of one model", whole(report.None, report.Day, 90, report.Filter{Model: "vendor/model-5", Result: report.Failed})},
		{"calls, newest", search(30, report.Filter{}, 0)},
		{"calls, from the middle", func(ctx context.Context) error {
			_, err := r.Calls(ctx, report.Search{Wallet: wallet, From: today.AddDate(0, 0, -90), To: now, After: middle, Limit: 50})
			return err
		}},
		{"calls of one key", search(30, report.Filter{Key: keyOf(0, 7)}, 0)},
		{"calls that failed with one model", search(90, report.Filter{Model: "vendor/model-5", Result: report.Failed}, 0)},
		{"calls of a rare model", search(90, report.Filter{Model: "vendor/rare"}, 0)},
		{"calls of a model that was not used", search(90, report.Filter{Model: "vendor/never"}, 0)},
		{"calls above a cost that none has", search(90, report.Filter{}, 1_000_000*money.Ruble)},
		{"calls of everybody, newest", everybody(report.Filter{}, 0)},
		{"calls of everybody that failed", everybody(report.Filter{Result: report.Failed}, 0)},
		{"calls of everybody with a rare model", everybody(report.Filter{Model: "vendor/rare"}, 0)},
		{"calls of everybody with a model that was not used", everybody(report.Filter{Model: "vendor/never"}, 0)},
		{"calls of everybody above a cost that none has", everybody(report.Filter{}, 1_000_000*money.Ruble)},
		{"histogram of everybody, a day by hour", overTime(1, report.Search{})},
		{"histogram of everybody, a day by hour of one model", overTime(1, report.Search{Filter: report.Filter{Model: "vendor/model-5"}})},
		{"histogram of everybody, 7 days", overTime(7, report.Search{})},
		{"histogram of everybody, 90 days", overTime(90, report.Search{})},
		{"histogram of everybody, 90 days of one model", overTime(90, report.Search{Filter: report.Filter{Model: "vendor/model-5"}})},
		{"histogram of everybody, 90 days of failures", overTime(90, report.Search{Filter: report.Filter{Result: report.Failed}})},
		{"histogram of everybody, 90 days of a kind", overTime(90, report.Search{Filter: report.Filter{Kind: "completions"}})},
		{"histogram of everybody, 90 days of a status", overTime(90, report.Search{Status: 503})},
		{"histogram of everybody, 90 days of a provider", overTime(90, report.Search{Filter: report.Filter{Provider: "provider-3"}})},
		{"histogram of everybody, 90 days of a provider's key", overTime(90, report.Search{ProviderKey: "0123456789ab"})},
		{"histogram of everybody, 2 days by hour of failures", overTime(2, report.Search{Filter: report.Filter{Result: report.Failed}})},
		{"causes of failures of a day", func(ctx context.Context) error {
			_, _, _, err := r.Causes(ctx, now.AddDate(0, 0, -1), now, 100)
			return err
		}},
		{"causes of failures of a day at one endpoint", func(ctx context.Context) error {
			_, err := r.CausesAt(ctx, "provider/vendor/model-3", now.AddDate(0, 0, -1), now, 100)
			return err
		}},
		{"what moved from one endpoint in a day", func(ctx context.Context) error {
			_, _, err := r.Moves(ctx, "provider/vendor/model-3", now.AddDate(0, 0, -1), now)
			return err
		}},
		{"sales of 30 days by model", sold(report.Model, 30, "")},
		{"sales of 90 days by account", sold(report.ByAccount, 90, "")},
		{"sales of 400 days by day of one account", sold(report.ByDay, 400, wallet)},
		{"file of sales of 90 days", func(ctx context.Context) error {
			q := report.SalesQuery{From: today.AddDate(0, 0, -89), To: today.AddDate(0, 0, 1)}
			return r.EachSale(ctx, q, func([]report.SaleDay) (bool, error) { return true, nil })
		}},
		{"statement of 30 days", statement(30)},
		{"statement of 366 days", statement(366)},
		{"a day of the statement", func(ctx context.Context) error { _, err := r.DayOf(ctx, wallet, today.AddDate(0, 0, -40)); return err }},
		{"key by its hash", func(ctx context.Context) error {
			_, err := s.Accounts.KeyByHash(ctx, hashOf(rand.IntN(max(1, *pagesKeys))))
			return err
		}},
		{"list of keys", func(ctx context.Context) error {
			_, err := s.Accounts.ListKeys(ctx, apikey.Filter{User: "usr_0"})
			return err
		}},
		{"balance", func(ctx context.Context) error { _, err := s.Ledger.Balance(ctx, wallet); return err }},
		{"activity of 30 days", func(ctx context.Context) error {
			_, err := s.Ledger.Activity(ctx, wallet, "", today.AddDate(0, 0, -30).Format(time.DateOnly), today.Format(time.DateOnly))
			return err
		}},
		{"generation by id", func(ctx context.Context) error { _, _, err := s.Ledger.Call(ctx, wallet, last); return err }},
		{"generation by id, of any account", func(ctx context.Context) error { _, _, err := s.Ledger.Call(ctx, "", other); return err }},
		{"statement by number", func(ctx context.Context) error {
			all, err := s.Ledger.Statement(ctx, wallet, math.MaxInt64, 50)
			if err == nil && len(all) == 0 {
				err = errors.New("there are no postings")
			}
			return err
		}},
		{"refunds of a generation", func(ctx context.Context) error { _, err := s.Ledger.Refunds(ctx, wallet, last); return err }},
		{"ranks of models", func(ctx context.Context) error {
			return s.Ledger.PaidTokens(ctx, today.AddDate(0, 0, -7).Format(time.DateOnly), today.AddDate(0, 0, -1).Format(time.DateOnly), func(string, string, int64) {})
		}},
		{"start", func(context.Context) error { return db.Reopen() }},
		{"spending of keys", func(ctx context.Context) error { _, err := r.KeySpends(ctx, "usr_0", wallet); return err }},
	}
	money := func(size string) {
		for _, read := range moneyReads(s, now) {
			b.Run(size+read.name, func(b *testing.B) { db.measure(b, read) })
		}
	}
	if *pagesAt != "" && !*pagesKeep {
		last, other = newest(b, s, wallet), newest(b, s, "wal_1")
		for _, read := range reads {
			b.Run(read.name, func(b *testing.B) { db.measure(b, read) })
		}
		money("")
		return
	}
	fillAccounts(b, &db, now)
	fill := pagesFill{store: s, now: now, random: rand.New(rand.NewPCG(1, 2))}
	for _, size := range strings.Split(*pagesCalls, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n <= fill.made {
			b.Fatalf("%q: sizes are numbers, each above the one before", *pagesCalls)
		}
		began, cpu, more := time.Now(), processor(), n-fill.made
		last, other = fill.to(b, n)
		fmt.Printf("%d calls applied in %s, %.1f us of processor time each\n", more, time.Since(began).Round(time.Second), float64((processor()-cpu).Nanoseconds())/1000/float64(more))
		if db.Settle != nil {
			if err := db.Settle(); err != nil {
				b.Fatal(err)
			}
		}
		if *pagesKeep {
			continue
		}
		for _, read := range reads {
			b.Run(size+"/"+read.name, func(b *testing.B) { db.measure(b, read) })
		}
		verifyPages(b, s, now)
	}
	fillMoney(b, &db, now)
	if db.Settle != nil {
		if err := db.Settle(); err != nil {
			b.Fatal(err)
		}
	}
	if *pagesKeep {
		return
	}
	money("money/")
	sweepPages(b, s, now)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("%d MiB of memory from the system\n", m.Sys>>20)
}

func newest(b *testing.B, s *store.Store, wallet string) string {
	w, err := s.Ledger.SearchCalls(b.Context(), report.Search{Wallet: wallet, From: time.Unix(0, 0), To: time.Unix(1<<40, 0), Limit: 1}, 1)
	if err != nil || len(w.Calls) == 0 {
		b.Fatalf("%s has no calls: %v", wallet, err)
	}
	return w.Calls[0].Generation
}

// pagesRead is what a page or a route reads.
type pagesRead struct {
	name string
	do   func(context.Context) error
}

func (db *PagesDB) measure(b *testing.B, read pagesRead) {
	var took []time.Duration
	taken := func() time.Duration {
		all := processor()
		if db.Processor != nil {
			server, err := db.Processor()
			if err != nil {
				b.Fatal(err)
			}
			all += server
		}
		return all
	}
	cpu := taken()
	for b.Loop() {
		began := time.Now()
		if err := read.do(context.Background()); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64((taken()-cpu).Microseconds())/1000/float64(len(took)), "cpu-ms")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

func verifyPages(b *testing.B, s *store.Store, now time.Time) {
	began, cpu := time.Now(), processor()
	most := heapPeak()
	v, err := ledger.Verify(context.Background(), s.Ledger, "", ledger.Anchor{}, now)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Printf("verified in %s, %s of processor time, with at most %d MB more in the heap\n", time.Since(began).Round(time.Millisecond), (processor() - cpu).Round(time.Millisecond), most()>>20)
	for _, c := range v.Checks {
		if !c.OK && c.Name != "charges" { // the lines of these calls follow from nothing
			b.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

func sweepPages(b *testing.B, s *store.Store, now time.Time) {
	began, cpu := time.Now(), processor()
	steps, dropped, longest := 0, 0, time.Duration(0)
	for after := ""; ; {
		step := time.Now()
		next, n, err := s.Ledger.SweepCalls(context.Background(), now.AddDate(0, 0, -80), after, 500)
		if err != nil {
			b.Fatal(err)
		}
		steps, dropped, longest = steps+1, dropped+n, max(longest, time.Since(step))
		if after = next; next == "" {
			break
		}
	}
	fmt.Printf("%d calls dropped in %d steps and %s, the longest step %s; %.1f us of processor time each\n", dropped, steps, time.Since(began).Round(time.Millisecond), longest.Round(time.Millisecond),
		float64((processor()-cpu).Nanoseconds())/1000/float64(max(dropped, 1)))
}

// processor is the processor time that this process has taken.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// keyOf is a key of an account.
func keyOf(account, i int) string { return fmt.Sprint("key_", account+i**pagesAccounts) }

func hashOf(i int) string { return fmt.Sprintf("%d-%060d", i*7919%1_000_003, i) }

// fillAccounts makes accounts beyond those that fillPages makes, and keys. They are rows without anything behind them.
func fillAccounts(b *testing.B, db *PagesDB, now time.Time) {
	at := now.UnixMicro()
	numbers := func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT ", 0, n-1)
	}
	if *pagesAccounts < walletsWithMoney || *pagesKeys < 8**pagesAccounts {
		b.Fatalf("at least %d accounts, and eight keys for each", walletsWithMoney)
	}
	ctx, s := context.Background(), db.Store
	for i := range walletsWithMoney {
		u := account.User{ID: fmt.Sprint("usr_", i), Name: "u", Wallet: fmt.Sprint("wal_", i), CreatedAt: now}
		if err := s.Accounts.CreateUser(ctx, u, audit.Event{}); err != nil {
			b.Fatal(err)
		}
		for j := range 12 {
			top := ledger.TopUp{Wallet: u.Wallet, Source: "bench", ExternalID: fmt.Sprintf("%d-%d", i, j), Amount: 1000 * money.Ruble}
			if _, err := ledger.Credit(ctx, s.Ledger, top, now.AddDate(0, 0, -7*j)); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, text := range []string{
		fmt.Sprintf("INSERT INTO wallets (id, created_at) %s 'wal_' || i, %d FROM n WHERE i >= %d", numbers(*pagesAccounts), at, walletsWithMoney),
		fmt.Sprintf("INSERT INTO users (id, name, wallet, created_at, updated_at) %s 'usr_' || i, 'u', 'wal_' || i, %d, %d FROM n WHERE i >= %d", numbers(*pagesAccounts), at, at, walletsWithMoney),
		fmt.Sprintf("INSERT INTO api_keys (id, hash, label, name, user_id, creator, management, created_at, updated_at) %s 'key_' || i, CAST(i * CAST(7919 AS BIGINT) %% 1000003 AS TEXT) || '-' || substr('%060d' || i, length(CAST(i AS TEXT)) + 1, 60), 'sk-weir-v1-abc...xyz', 'key', 'usr_' || (i %% %d), 'usr_0', FALSE, %d, %d FROM n",
			numbers(*pagesKeys), 0, *pagesAccounts, at, at),
	} {
		if err := db.SQL(text); err != nil {
			b.Fatal(err)
		}
	}
}

const walletsWithMoney = 200

// pagesFill makes calls in ninety days, most of them of one account with twenty keys, each of which uses five of 25 models.
type pagesFill struct {
	store       *store.Store
	now         time.Time
	random      *rand.Rand
	made        int
	last, other string // the newest generations of this account and of others
	batch       ledger.Batch
}

const (
	// Calls are applied account by account, a stretch of time after the other: as books of the same calls, but a batch changes few rows of
	// roll-ups, often, and they are neighbours. That takes a third of the time.
	fillStretch = 200_000
	fillBatch   = 2_000
)

// to adds calls, spread over all days, until there are n.
func (f *pagesFill) to(b *testing.B, n int) (last, other string) {
	if f.batch.Node == "" {
		f.batch = ledger.Batch{Node: "node", Now: f.now}
		if _, err := f.store.Ledger.Position(context.Background(), f.batch.Node); err != nil {
			b.Fatal(err)
		}
	}
	type place struct {
		at     time.Time
		wallet int
	}
	more := n - f.made
	start := f.now.AddDate(0, 0, -90)
	step := f.now.Sub(start) / time.Duration(more)
	var places []place
	for i := range more {
		p := place{at: start.Add(time.Duration(i) * step).Truncate(time.Microsecond)}
		if f.random.IntN(10) >= 6 {
			p.wallet = 1 + f.random.IntN(*pagesAccounts-1)
		}
		if places = append(places, p); len(places) < fillStretch && i < more-1 {
			continue
		}
		slices.SortStableFunc(places, func(p, q place) int { return cmp.Compare(p.wallet, q.wallet) })
		for j, p := range places {
			f.batch.Items = append(f.batch.Items, ledger.Encode(ledger.Item{Call: f.call(p.at, p.wallet)}))
			if len(f.batch.Items) == fillBatch || j == len(places)-1 {
				f.apply(b)
			}
		}
		places = places[:0]
	}
	f.made = n
	return f.last, f.other
}

func (f *pagesFill) apply(b *testing.B) {
	f.batch.To = f.batch.From + int64(len(f.batch.Items))
	to, err := f.store.Ledger.Apply(context.Background(), &f.batch)
	for tries := 0; fault.Is(err, fault.StorageUnavailable) && tries < 100; tries++ { // a server ends what takes too long on a busy machine
		to, err = f.store.Ledger.Apply(context.Background(), &f.batch)
	}
	if err != nil || to != f.batch.To {
		b.Fatalf("%d, %v", to, err)
	}
	f.batch.From, f.batch.Items = f.batch.To, f.batch.Items[:0]
}

func (f *pagesFill) call(at time.Time, w int) record.Call {
	random := f.random
	key := random.IntN(min(20, *pagesKeys / *pagesAccounts))
	m := (3*key + random.IntN(5)) % 25
	model, provider := fmt.Sprint("vendor/model-", m), fmt.Sprint("provider-", m%6+random.IntN(2))
	if random.IntN(200_000) == 0 {
		model = "vendor/rare"
	}
	cost := money.Nano(random.Int64N(2_000_000_000))
	c := record.Call{Generation: fmt.Sprintf("gen-%d-%020d", at.Unix(), random.Uint64()), Request: "req_0123456789abcdefghijklmn", User: fmt.Sprint("usr_", w), Wallet: fmt.Sprint("wal_", w),
		Key: keyOf(w, key), API: kindOf(random, m), At: at, ModelAsked: model, Model: model, Provider: provider, ProviderName: provider,
		Endpoint: provider + "/" + model, Status: 200, Finish: "stop", Settled: true, Cost: cost, Hold: 2 * cost, PriceList: "2026-11-01", Rate: "92.5*1.15", Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(cost)}},
		Usage:        usage.Usage{Prompt: usage.Of(random.Int64N(5000)), Completion: usage.Of(random.Int64N(900))},
		FirstContent: 300 * time.Millisecond, Generating: time.Second, Duration: 1400 * time.Millisecond, Catalog: "c-1",
		Candidates: []record.Candidate{{Endpoint: provider + "/" + model, Order: 1, Score: 0.5, Reason: "weight", Slug: model}, {Endpoint: "other/" + model, Order: 2, Reason: "price", Slug: model}},
		Attempts:   []record.Attempt{{Endpoint: provider + "/" + model, Provider: provider, ProviderKey: "0123456789ab", Status: 200, FirstContent: 300 * time.Millisecond, Ended: 1390 * time.Millisecond}},
		UserAgent:  "openai-python/1.99.0", Tags: []string{"env=" + pick(random, "prod", "test"), fmt.Sprint("project=p", random.IntN(10))}, Session: fmt.Sprint("session-", random.IntN(3000))}
	switch random.IntN(40) {
	case 0:
		c.Error, c.Status, c.Settled, c.Cost, c.Lines = pick(random, "rate_limit_exceeded", "timeout", "provider_unavailable"), 503, false, 0, nil
	case 1:
		c.Error, c.Cancelled = "canceled", true
	}
	if w == 0 {
		f.last = c.Generation
	} else {
		f.other = c.Generation
	}
	return c
}

// kindOf is what a model is used for.
func kindOf(random *rand.Rand, model int) string {
	switch {
	case model%8 == 0:
		return "embeddings"
	case model%11 == 0:
		return "images"
	}
	return pick(random, "completions", "completions", "messages")
}

// heapPeak watches the heap until most is called, which says how many bytes more it had at most than now, garbage included.
func heapPeak() (most func() int64) {
	runtime.GC()
	used := func() int64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, peak := used(), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				peak = max(peak, used()-before)
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		return peak
	}
}
