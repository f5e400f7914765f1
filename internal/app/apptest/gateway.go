package apptest

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/update"
	"weir/internal/config"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/sim"
	"weir/internal/store/sqlite/sqlitetest"
)

// Gateway is a whole node on loopback, with the simulator as its providers.
type Gateway struct {
	Node   app.Node
	URL    string
	Client *http.Client
	Sim    *sim.Server
	Log    *SafeBuffer
	Dir    string
	users  atomic.Int64
}

// SafeBuffer collects the log of a node.
type SafeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *SafeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *SafeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func Listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Setup contains what a test may change in a node before it starts.
type Setup struct {
	config.Config
	catalog.Declared
	Clock     func() time.Time                          // used by calls and health; nil: the system's clock
	WrapRelay func(httpapi.Completer) httpapi.Completer // wraps the relay; nil: not wrapped
}

// StartGateway starts a simulator and a node that uses it, with small limits. The catalog has a model for each cell of the failure matrix,
// and test/next, which works.
func StartGateway(t *testing.T, change ...func(*Setup)) *Gateway {
	t.Helper()
	simulator := sim.New(sim.Config{Shapes: shapes(t)})
	simListener := Listen(t)
	go func() { _ = simulator.Serve(simListener) }()
	refusing, err := simulator.RefusingAddr()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.PriceLists.Publish = update.Off // no request leaves the machine
	cfg.DataDir = t.TempDir()
	sqlitetest.New(t, cfg.DataDir)
	cfg.Server.AdminListen = config.Off
	cfg.Server.ShutdownDelay = 0
	cfg.Runtime.MemoryLimit = 8 << 30 // the nodes of all tests share the heap of one process
	// Go's client opens connections ahead of their use, and does not try again when one of them ends in the moment in which it is used first.
	cfg.Server.ReadHeader = time.Minute
	cfg.Builtin.All = false
	cfg.Server.MaxStreamsByKey, cfg.Server.MaxUserShare = 1<<20, 100 // the tests' user makes all the load
	cfg.Health.EjectAfter, cfg.Health.CoolDownAfter = 1<<20, 1<<20   // the tests check each failure, so no endpoint may be ejected
	Patient(&cfg)
	cfg.Journal.SegmentBytes = 2 << 20 // each node allocates one, and each check of the ledger reads it
	cfg.Upstream.Limits.Whole, cfg.Upstream.Limits.Stream, cfg.Upstream.Limits.Line = 2<<20, 4<<20, 256<<10
	cfg.Server.BodyBudget = 2 << 30 // cells with endless answers run at a time; other tests fill a budget
	made := &Setup{Config: cfg, Declared: matrixCatalog(t, "http://"+simListener.Addr().String()+"/v1", "http://"+refusing+"/v1")}
	for _, f := range change {
		f(made)
	}
	cfg, d := made.Config, made.Declared
	gw := &Gateway{Sim: simulator, Log: &SafeBuffer{}, Dir: cfg.DataDir, Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, ExpectContinueTimeout: time.Minute}}}
	listener := Listen(t)
	gw.Node, err = app.OpenNode(t.Context(), cfg, d, listener, gw.Log, made.Clock)
	if err != nil {
		t.Fatal(err)
	}
	gw.URL = gw.Node.BaseURL()
	if made.WrapRelay != nil {
		gw.Node.WrapRelay(made.WrapRelay)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- gw.Node.Run(ctx, func() (config.Config, error) { return cfg, nil }) }()
	t.Cleanup(func() {
		gw.Client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the node ended with %v", err)
		}
		_ = simulator.Close(context.Background())
	})
	return gw
}

var shapesFlag = flag.Uint64("shapes", rand.Uint64()|1, "seed by which the simulator dresses its answers as real providers do")

// shapes is that seed, which the log of each test has.
func shapes(t *testing.T) uint64 {
	t.Helper()
	t.Logf("the simulator's answers are dressed by -shapes=%d", *shapesFlag)
	return *shapesFlag
}

// Patient lets calls wait: many tests share a slow disk and few processors. Other tests cover a missing store and answers that wait.
func Patient(cfg *config.Config) {
	cfg.Ledger.StoreFor, cfg.Stream.KeepAliveAfter = 3*time.Minute, time.Minute
}

func matrixCatalog(t *testing.T, open, closed string) catalog.Declared {
	t.Helper()
	d := catalog.Declared{Providers: []catalog.Provider{
		{ID: "works", Name: "Works", Dialect: "openai", BaseURL: open, Quirks: catalog.Quirks{Responses: true}},
		{ID: "translated", Name: "Translated", Dialect: "openai", BaseURL: open},
		{ID: "closed", Name: "Closed", Dialect: "openai", BaseURL: closed},
	}}
	offer := func(provider, slug, upstream string) {
		d.Offers = append(d.Offers, OfferOf(t, provider, slug, upstream))
	}
	offer("works", "test/next", "chat")
	offer("works", "test/flat", "chat")
	d.Offers[1].Pricing.Base.Prompt = Price(t, "0") // the hold then equals the cost of the answer
	for i := range Matrix {
		provider := "works"
		if Matrix[i].Closed {
			provider = "closed"
		}
		offer(provider, Matrix[i].Slug(), Matrix[i].Upstream())
		if provider == "works" {
			provider = "translated"
		}
		offer(provider, "translated"+strings.TrimPrefix(Matrix[i].Slug(), "test"), Matrix[i].Upstream())
	}
	return d
}

// OfferOf returns a model at the prices of these tests.
func OfferOf(t *testing.T, provider, slug, upstream string) catalog.Offer {
	t.Helper()
	return catalog.Offer{Provider: provider, Model: slug, UpstreamID: upstream, ContextLength: 100_000, MaxCompletion: 4000,
		Pricing: catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: Price(t, "0.1"), Completion: Price(t, "0.4")}}}
}

func Price(t *testing.T, text string) money.Price {
	t.Helper()
	p, err := money.ParsePrice(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Opening describes a new user.
type Opening struct {
	Amount     money.Nano
	Keys       []*apikey.Limit // one key each; nil: no limit
	Management bool            // the keys manage keys
}

// Open makes a user and returns the keys.
func (gw *Gateway) Open(t *testing.T, o Opening) []*Account {
	t.Helper()
	admin := gw.Node.Admin()
	by := audit.Actor{Name: "test"}
	u, err := admin.Users.Create(t.Context(), "user "+strconv.FormatInt(gw.users.Add(1), 10), by)
	if err != nil {
		t.Fatal(err)
	}
	if o.Amount > 0 {
		if _, err := admin.TopUp(t.Context(), u, o.Amount, "", by); err != nil {
			t.Fatal(err)
		}
	}
	var keys []*Account
	for _, limit := range o.Keys {
		_, text, err := admin.Keys.Create(t.Context(), apikey.NewKey{Name: "test", User: u.ID, Creator: u.ID, Limit: limit, Management: o.Management}, by)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, &Account{Gw: gw, Key: text})
	}
	return keys
}

// NewAccount makes a user with a hundred rubles and a key.
func (gw *Gateway) NewAccount(t *testing.T) *Account {
	t.Helper()
	return gw.Open(t, Opening{Amount: 100 * money.Ruble, Keys: []*apikey.Limit{nil}})[0]
}

// Attempts returns the number of requests that have reached an upstream.
func (gw *Gateway) Attempts() int64 {
	total := gw.Sim.Stats().Total
	return total.Requests + total.Refused
}

// WantBalanced recomputes the whole ledger. All charges must have been applied, which reading the credits ensures.
func (gw *Gateway) WantBalanced(t *testing.T) {
	t.Helper()
	report, err := gw.Node.Admin().Verify(t.Context(), gw.Dir, ledger.Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// WaitFor polls cond until it holds, ever less often. The deadline only prevents a hang.
func WaitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	for pause := time.Millisecond; !cond(); pause = min(2*pause, 64*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline:
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

// Patience is the factor by which a bounded wait may exceed its promise: tests share few cores, and may run with the race detector. The log
// reports waits over the promise.
const Patience = 10

// leastBound is the shortest bound: a process may wait for seconds until it has a processor.
const leastBound = 20 * time.Second

// Promised checks the time of something that must take at most limit.
func Promised(t *testing.T, what string, took, limit time.Duration) {
	t.Helper()
	t.Logf("%s: %v, promised %v", what, took.Round(time.Millisecond), limit)
	if took > max(limit*Patience, leastBound) {
		t.Errorf("%s took %v, promised %v", what, took, limit)
	}
}
