package storetest

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/record"
	"weir/internal/usage"
)

// lies are changes of a record after which cost, entry, wallet, roll-ups and chain are made to fit: only the record itself shows them.
var lies = map[string]func(c *record.Call){
	"a quantity lowered":                  func(c *record.Call) { lineOf(c, usage.KindPrompt).Quantity /= 100 },
	"a quantity raised":                   func(c *record.Call) { lineOf(c, usage.KindCompletion).Quantity *= 2 },
	"a usage lowered":                     func(c *record.Call) { c.Usage.Completion = usage.Of(1) },
	"a price lowered":                     func(c *record.Call) { lineOf(c, usage.KindCompletion).Price /= 2 },
	"a price raised":                      func(c *record.Call) { lineOf(c, usage.KindVideo).Price++ },
	"a price in dollars changed":          func(c *record.Call) { lineOf(c, usage.KindCompletion).Dollars = "1" },
	"a price in dollars that is none":     func(c *record.Call) { lineOf(c, usage.KindCompletion).Dollars = "free" },
	"another rate":                        func(c *record.Call) { c.Rate = strings.Replace(c.Rate, "81.", "61.", 1) },
	"another margin":                      func(c *record.Call) { c.Rate = strings.Replace(c.Rate, "0.15", "0", 1) },
	"a rate that is none":                 func(c *record.Call) { c.Rate = "autumn" },
	"no rate":                             func(c *record.Call) { c.Rate = "" },
	"a line gone":                         func(c *record.Call) { c.Lines = without(c, usage.KindReasoning) },
	"a line twice":                        func(c *record.Call) { c.Lines = append(c.Lines, *lineOf(c, usage.KindMCP)) },
	"lines in another order":              func(c *record.Call) { slices.Reverse(c.Lines) },
	"reasoning called a cached prompt":    func(c *record.Call) { lineOf(c, usage.KindReasoning).Kind = usage.KindCacheRead },
	"a line of a kind that there is not":  func(c *record.Call) { lineOf(c, usage.KindMCP).Kind = 200 },
	"all lines gone":                      func(c *record.Call) { c.Lines = nil },
	"a search less":                       func(c *record.Call) { lineOf(c, usage.KindWebSearch).Quantity-- },
	"a page less":                         func(c *record.Call) { lineOf(c, usage.KindWebFetch).Quantity-- },
	"a search in files less":              func(c *record.Call) { lineOf(c, usage.KindFileSearch).Quantity-- },
	"a container less":                    func(c *record.Call) { lineOf(c, usage.KindCodeExecution).Quantity-- },
	"a call of somebody's server less":    func(c *record.Call) { lineOf(c, usage.KindMCP).Quantity-- },
	"an uncounted search":                 func(c *record.Call) { c.Usage.WebSearches = usage.Count{} },
	"a cheaper search":                    func(c *record.Call) { lineOf(c, usage.KindWebSearch).Price = 1 },
	"a minute less":                       func(c *record.Call) { lineOf(c, usage.KindAudio).Quantity -= 60_000 },
	"a second of video less":              func(c *record.Call) { lineOf(c, usage.KindVideo).Quantity-- },
	"what was written to a cache, cached": func(c *record.Call) { c.Usage.CacheRead, c.Usage.CacheWrite = c.Usage.CacheWrite, c.Usage.CacheRead },
}

func lineOf(c *record.Call, k usage.Kind) *usage.Line {
	return &c.Lines[slices.IndexFunc(c.Lines, func(l usage.Line) bool { return l.Kind == k })]
}

func without(c *record.Call, k usage.Kind) []usage.Line {
	return slices.DeleteFunc(slices.Clone(c.Lines), func(l usage.Line) bool { return l.Kind == k })
}

// lyingRecords checks that a charge must follow from its record, even if everything else agrees with it.
func lyingRecords(t *testing.T, open func(*testing.T) Books) {
	for name, lie := range lies {
		t.Run("record/"+name, func(t *testing.T) {
			t.Parallel()
			b := keptPriced(t, open(t))
			b.rewrite(t, "gen-9", func(*record.Call) {}) // what rewrites finds nothing by itself
			if found, _ := failed(t, &b, ledger.Anchor{}); len(found) > 0 {
				t.Fatalf("nothing was changed; found %v", found)
			}
			b.rewrite(t, "gen-9", lie)
			if found, _ := failed(t, &b, ledger.Anchor{}); len(found) != 1 || !strings.Contains(found["charges"], "gen-9") {
				t.Errorf("found %v", found)
			}
			if x, err := ledger.Explain(t.Context(), b.Store.Ledger, "", "gen-9"); err != nil || x.Matches {
				t.Errorf("it is explained as right: %v", err)
			}
		})
	}
}

// keptPriced is kept and one more call, with all kinds of usage and with prices in rubles and in dollars.
func keptPriced(t *testing.T, b Books) Books {
	t.Helper()
	kept(t, b)
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	version := "cbr-2026-11-21@81.2345+0.15"
	r, ok := rate.Named(version)
	if !ok {
		t.Fatal(version)
	}
	var tariff catalog.Tariff
	for i, name := range catalog.PriceNames() {
		var err error
		switch to := tariff.Field(name); {
		case name == "request":
			*to = money.Price{Nano: 1000, Set: true}
		case catalog.PerTokens(name):
			*to, err = r.PerThousand([]string{"0.0000001", "0.0000002", "0.0000003"}[i%3], money.Million)
		default:
			*to, err = r.Each("0.00000001", 1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tariff.Minute, tariff.Characters, tariff.Megapixel, tariff.Second = tariff.WebSearch, tariff.Prompt, tariff.WebSearch, tariff.WebSearch
	c := &record.Call{Generation: "gen-9", Wallet: "wal_1", Key: "key_1", User: "usr_1", At: at, Model: "a/priced", Rate: version}
	for i, n := range c.Usage.Counts() {
		*n = usage.Of(int64(3 + i))
	}
	c.Usage.Prompt, c.Usage.Completion, c.Usage.Millis, c.Usage.Characters, c.Usage.Kilopixels = usage.Of(1200), usage.Of(900), usage.Of(90_000), usage.Of(5000), usage.Of(1024)
	var err error
	if c.Lines, c.Cost, err = usage.TaskCost(&c.Usage, &tariff); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Credit(t.Context(), b.Store.Ledger, ledger.TopUp{Wallet: "wal_1", Source: "test", ExternalID: "9", Amount: 10 * c.Cost}, at); err != nil {
		t.Fatal(err)
	}
	cfg := ledger.Default(filepath.Join(t.TempDir(), "journal"), func() time.Time { return at })
	cfg.Journal.Sync, cfg.StoreFor = journal.Never, time.Minute
	book, err := ledger.Start(t.Context(), b.Store.Ledger, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: "wal_1", Key: "key_1", Amount: c.Cost})
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Settle(t.Context(), h, c); err != nil {
		t.Fatal(err)
	}
	if err := book.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := book.Abandon(); err != nil {
		t.Fatal(err)
	}
	return b
}

// item is a call as a record has it, without its leases.
func (b *Books) item(t *testing.T, generation string) ledger.Item {
	t.Helper()
	c, _, err := b.Store.Ledger.Call(t.Context(), "", generation)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Item{Call: *c}
}

// rewrite changes the record of a call, and then everything that follows from it, the chain as well. No other call has its model.
func (b *Books) rewrite(t *testing.T, generation string, change func(*record.Call)) {
	t.Helper()
	it := b.item(t, generation)
	c := &it.Call
	was := c.Cost
	change(c)
	if cost, err := usage.Total(c.Lines); err == nil {
		c.Cost = cost
	}
	more := int64(c.Cost - was)
	if err := b.Unlock(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		text string
		args []any
	}{
		{"UPDATE generations SET details = NULL, record = $1, cost = $2 WHERE id = $3", []any{ledger.Encode(it).Record, int64(c.Cost), generation}},
		{"UPDATE entries SET amount = $1 WHERE ref = $2", []any{-int64(c.Cost), "settle:" + generation}},
		{"UPDATE entries SET amount = amount + $1 WHERE account = 'revenue' AND transaction_id = (SELECT e.transaction_id FROM entries e WHERE e.ref = $2)", []any{more, "settle:" + generation}},
		{"UPDATE wallets SET charged = charged + $1 WHERE id = $2", []any{more, c.Wallet}},
		{"UPDATE key_spend SET spent = spent + $1 WHERE key_id = $2", []any{more, c.Key}},
		{"DELETE FROM ledger_chain", nil},
		{"DELETE FROM ledger_head", nil},
	} {
		if err := b.SQL(x.text, x.args...); err != nil {
			t.Fatalf("%s: %v", x.text, err)
		}
	}
	if err := b.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Store.Ledger.RebuildRollUps(t.Context()), b.Store.Ledger.TakeOver(t.Context())); err != nil {
		t.Fatal(err)
	}
}
