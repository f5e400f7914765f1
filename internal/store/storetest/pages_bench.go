package storetest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/usage"
)

var pagesCalls = flag.Int("pages.calls", 20_000, "how many calls the database of BenchmarkPages has")

// PagesBench measures what the pages of an account read, in a database with as many calls as the flag -pages.calls says, of which one
// account has six in ten. It reports the median and the 95th percentile of each read. open also returns what a database does by itself after
// many changes, such as collecting statistics; nil for nothing.
func PagesBench(b *testing.B, open func(b *testing.B, now func() time.Time) (ReportStore, func() error)) {
	now := time.Date(2026, 11, 24, 12, 30, 0, 0, time.UTC)
	s, settle := open(b, func() time.Time { return now })
	began := time.Now()
	fillPages(b, s, now, *pagesCalls)
	if settle != nil {
		if err := settle(); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d calls applied in %s", *pagesCalls, time.Since(began).Round(time.Second))
	r := report.New(s, flushed{s})
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
	middle := report.Place{At: now.AddDate(0, 0, -45), ID: "gen"}
	for _, read := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"overview", func(ctx context.Context) error { _, err := r.Overview(ctx, wallet, now); return err }},
		{"usage 30 days by model", query(report.Model, report.Day, 30, report.Filter{})},
		{"usage 90 days by key", query(report.Key, report.Day, 90, report.Filter{})},
		{"usage 90 days by result", query(report.Result, report.Day, 90, report.Filter{})},
		{"usage 30 days by model of one key", query(report.Model, report.Day, 30, report.Filter{Key: "key_3"})},
		{"usage 90 days by key of one model", query(report.Key, report.Day, 90, report.Filter{Model: "vendor/model-3"})},
		{"usage 7 days by hour and model", query(report.Model, report.Hour, 7, report.Filter{})},
		{"usage 12 months by model", query(report.Model, report.Month, 365, report.Filter{})},
		{"calls, newest", search(30, report.Filter{}, 0)},
		{"calls, from the middle", func(ctx context.Context) error {
			_, err := r.Calls(ctx, report.Search{Wallet: wallet, From: today.AddDate(0, 0, -90), To: now, After: middle, Limit: 50})
			return err
		}},
		{"calls of one key", search(30, report.Filter{Key: "key_7"}, 0)},
		{"calls that failed with one model", search(90, report.Filter{Model: "vendor/model-5", Result: report.Failed}, 0)},
		{"calls of a rare model", search(90, report.Filter{Model: "vendor/rare"}, 0)},
		{"calls of a model that was not used", search(90, report.Filter{Model: "vendor/never"}, 0)},
		{"calls above a cost that none has", search(90, report.Filter{}, 1_000_000*money.Ruble)},
		{"statement of 30 days", statement(30)},
		{"statement of 366 days", statement(366)},
		{"a day of the statement", func(ctx context.Context) error { _, err := r.DayOf(ctx, wallet, today.AddDate(0, 0, -40)); return err }},
		{"spending of keys", func(ctx context.Context) error { _, err := r.KeySpends(ctx, "usr_0", wallet); return err }},
	} {
		b.Run(read.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if err := read.do(context.Background()); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}

// fillPages makes n calls in ninety days, most of them of one account with twenty keys, each of which uses five of 25 models.
func fillPages(b *testing.B, s ReportStore, now time.Time, n int) {
	ctx := context.Background()
	const wallets, size, days = 200, 1000, 90
	for i := range wallets {
		u := account.User{ID: fmt.Sprint("usr_", i), Name: "u", Wallet: fmt.Sprint("wal_", i), CreatedAt: now}
		if err := s.CreateUser(ctx, u, audit.Event{}); err != nil {
			b.Fatal(err)
		}
		for j := range 12 {
			top := ledger.TopUp{Wallet: u.Wallet, Source: "bench", ExternalID: fmt.Sprintf("%d-%d", i, j), Amount: 1000 * money.Ruble}
			if _, err := ledger.Credit(ctx, s, top, now.AddDate(0, 0, -7*j)); err != nil {
				b.Fatal(err)
			}
		}
	}
	if _, err := s.Position(ctx, "node"); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	start := now.AddDate(0, 0, -days)
	step := now.Sub(start) / time.Duration(n)
	batch := ledger.Batch{Node: "node", Now: now}
	for i := range n {
		at := start.Add(time.Duration(i) * step).Truncate(time.Microsecond)
		w := 0
		if random.IntN(10) >= 6 {
			w = 1 + random.IntN(wallets-1)
		}
		key := random.IntN(20)
		m := (3*key + random.IntN(5)) % 25
		model, provider := fmt.Sprint("vendor/model-", m), fmt.Sprint("provider-", m%6+random.IntN(2))
		if random.IntN(200_000) == 0 {
			model = "vendor/rare"
		}
		cost := money.Nano(random.Int64N(2_000_000_000))
		c := record.Call{Generation: fmt.Sprintf("gen-%d-%020d", at.Unix(), random.Uint64()), Request: "req_0123456789abcdefghijklmn", User: fmt.Sprint("usr_", w), Wallet: fmt.Sprint("wal_", w),
			Key: fmt.Sprint("key_", key), API: kindOf(random, m), At: at, ModelAsked: model, Model: model, Provider: provider, ProviderName: provider,
			Endpoint: provider + "/" + model, Status: 200, Finish: "stop", Settled: true, Cost: cost, Hold: 2 * cost, PriceList: "2026-11-01", Rate: "92.5*1.15", Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(cost)}},
			Usage:        usage.Usage{Prompt: usage.Of(random.Int64N(5000)), Completion: usage.Of(random.Int64N(900))},
			FirstContent: 300 * time.Millisecond, Generating: time.Second, Duration: 1400 * time.Millisecond, Catalog: "c-1",
			Candidates: []record.Candidate{{Endpoint: provider + "/" + model, Order: 1, Score: 0.5, Reason: "weight", Slug: model}, {Endpoint: "other/" + model, Order: 2, Reason: "price", Slug: model}},
			Attempts:   []record.Attempt{{Endpoint: provider + "/" + model, Provider: provider, Status: 200, FirstContent: 300 * time.Millisecond, Ended: 1390 * time.Millisecond}},
			UserAgent:  "openai-python/1.99.0"}
		switch random.IntN(40) {
		case 0:
			c.Error, c.Status, c.Settled, c.Cost, c.Lines = pick(random, "rate_limit_exceeded", "timeout", "provider_unavailable"), 503, false, 0, nil
		case 1:
			c.Error, c.Cancelled = "canceled", true
		}
		batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: c}))
		if len(batch.Items) == size || i == n-1 {
			batch.To = batch.From + int64(len(batch.Items))
			if to, err := s.Apply(ctx, &batch); err != nil || to != batch.To {
				b.Fatalf("%d, %v", to, err)
			}
			batch.From, batch.Items = batch.To, batch.Items[:0]
		}
	}
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
