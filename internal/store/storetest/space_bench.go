package storetest

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/usage"
)

var spaceCalls = flag.Int("space.calls", 50_000, "how many calls the database of BenchmarkSpace has")

// SpaceBench reports how many bytes of the database a call takes, in all and by table and index: calls as they are, with ids, candidates and
// attempts, of 200 accounts in a day. sizes gives the bytes of each table and index.
func SpaceBench(b *testing.B, open func(*testing.B) (s *store.Store, sizes func() (map[string]int64, error))) {
	ctx := context.Background()
	s, sizes := open(b)
	at := time.Unix(1.79e9, 0)
	random := rand.New(rand.NewPCG(3, 4))
	world := newWorld(random, 200)
	for i := range world.wallets {
		if err := s.Accounts.CreateUser(ctx, account.User{ID: world.users[i], Name: "u", Wallet: world.wallets[i], CreatedAt: at}, audit.Event{}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Ledger.Position(ctx, "node"); err != nil {
		b.Fatal(err)
	}
	empty, err := sizes()
	if err != nil {
		b.Fatal(err)
	}
	records := 0
	batch := ledger.Batch{Node: "node", Now: at}
	for i := range *spaceCalls {
		it := ledger.Encode(ledger.Item{Call: world.call(random, at.Add(time.Duration(i)*24*time.Hour/time.Duration(*spaceCalls))), WalletLease: int64(i), KeyLease: int64(i)})
		records += len(it.Record)
		batch.Items = append(batch.Items, it)
		if len(batch.Items) == 100 || i == *spaceCalls-1 {
			batch.To = batch.From + int64(len(batch.Items))
			if to, err := s.Ledger.Apply(ctx, &batch); err != nil || to != batch.To {
				b.Fatalf("%d, %v", to, err)
			}
			batch.From, batch.Items = batch.To, batch.Items[:0]
		}
	}
	full, err := sizes()
	if err != nil {
		b.Fatal(err)
	}
	all := int64(0)
	for _, name := range slices.Sorted(maps.Keys(full)) {
		n := full[name] - empty[name]
		all += n
		if per := float64(n) / float64(*spaceCalls); per >= 0.5 {
			fmt.Printf("%-32s %6.1f\n", name, per)
		}
	}
	fmt.Printf("%-32s %6.1f\n", "(records as in the journal)", float64(records)/float64(*spaceCalls))
	for b.Loop() {
	}
	b.ReportMetric(float64(all)/float64(*spaceCalls), "bytes/call")
}

// world has the names that calls have in common.
type world struct{ wallets, users, keys, agents []string }

func newWorld(random *rand.Rand, accounts int) *world {
	w := &world{agents: []string{"OpenAI/Python 1.99.1", "OpenAI/JS 5.12.2", "anthropic-sdk-python/0.64", "curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0 Safari/537.36"}}
	for range accounts {
		w.wallets = append(w.wallets, "wal_"+word62(random, 24))
		w.users = append(w.users, "usr_"+word62(random, 24))
		w.keys = append(w.keys, "key_"+word62(random, 24))
	}
	return w
}

func word62(random *rand.Rand, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[random.IntN(len(digits))]
	}
	return string(b)
}

// call is a call as they are.
func (w *world) call(random *rand.Rand, at time.Time) record.Call {
	n := random.IntN(len(w.wallets))
	model := pick(random, "openai/gpt-5.2", "openai/gpt-5.2-mini", "anthropic/claude-sonnet-4.5", "anthropic/claude-opus-4.5", "google/gemini-3-flash", "deepseek/deepseek-v3.2", "qwen/qwen3-next-80b")
	name := model[len(model)-8:]
	providers := [...]string{"azure", "together", "fireworks"}
	first := random.IntN(len(providers))
	prompt, completion := 1+random.Int64N(4000), 1+random.Int64N(900)
	lines := []usage.Line{{Kind: usage.KindPrompt, Quantity: prompt, Price: 20_250_000}, {Kind: usage.KindCompletion, Quantity: completion, Price: 162_000_000}}
	cost, err := usage.Total(lines)
	if err != nil {
		panic(err)
	}
	c := record.Call{Generation: fmt.Sprintf("gen-%d-%06d%s", at.Unix(), at.Nanosecond()/1000, word62(random, 14)), Request: "req_" + word62(random, 24), User: w.users[n], Wallet: w.wallets[n], Key: w.keys[n],
		API: pick(random, "completions", "completions", "messages", "responses"), At: at, ModelAsked: model, Model: model, Provider: providers[first], ProviderName: providers[first],
		Endpoint: providers[first] + "/" + model, UpstreamModel: name, UpstreamID: "chatcmpl-" + word62(random, 24), Streamed: random.IntN(2) == 0, Status: 200, Finish: "stop", NativeFinish: "stop",
		Usage: usage.Usage{Prompt: usage.Of(prompt), Completion: usage.Of(completion), Tier: "default"}, Lines: lines, Cost: cost, Settled: true,
		PriceList: "2026-11-01", Rate: "cbr-2026-11-21@81.2345+0.15", Hold: 3 * cost, Catalog: "9a0bb0765d079c56",
		FirstContent: time.Duration(random.Int64N(int64(time.Second))), Duration: time.Duration(random.Int64N(int64(9 * time.Second))), Generating: time.Duration(random.Int64N(int64(8 * time.Second))),
		UserAgent: w.agents[n%len(w.agents)]}
	if c.Hold > 100*money.Ruble {
		c.Hold = 100 * money.Ruble
	}
	for i := range providers {
		p := providers[(first+i)%len(providers)]
		c.Candidates = append(c.Candidates, record.Candidate{Endpoint: p + "/" + model, Order: i + 1, Score: random.Float64(), Reason: pick(random, "price", "weight"), Slug: model, Prompt: 20_250_000, Completion: 162_000_000})
	}
	c.Attempts = []record.Attempt{{Endpoint: c.Endpoint, Provider: c.Provider, Status: 200, Started: 81_234, FirstContent: c.FirstContent, Ended: c.Duration}}
	return c
}
