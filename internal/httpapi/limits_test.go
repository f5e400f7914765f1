package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/limit/quota"
	"weir/internal/money"
	"weir/internal/relay"
	"weir/internal/usage"
)

// gate is a relay whose calls wait until they are let go.
type gate struct {
	entered chan struct{}
	leave   chan struct{}
}

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{})} }

func (g *gate) Complete(ctx context.Context, c *relay.Call, sink relay.Sink) error {
	return relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		g.entered <- struct{}{}
		select {
		case <-g.leave:
			return hello(ctx, c, sink)
		case <-ctx.Done():
			return fault.New(fault.Canceled, "gate", "")
		}
	}).Complete(ctx, c, sink)
}

// limited checks a 429 of our own: a time to come back, and the headers that describe the limit.
func limited(t *testing.T, r *response, by, limit string) {
	t.Helper()
	m := wantError(t, r, 429, fault.RateLimited)
	if got := at(m, "error", "metadata", "limited_by"); got != by {
		t.Errorf("limited by %v; want %s", got, by)
	}
	after, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || after < 1 || float64(after) != at(m, "error", "metadata", "retry_after") {
		t.Errorf("Retry-After %q, in the body %v", r.Header.Get("Retry-After"), at(m, "error", "metadata", "retry_after"))
	}
	reset, err := strconv.ParseInt(r.Header.Get("X-Ratelimit-Reset"), 10, 64)
	if err != nil || reset < time.Now().Add(-time.Minute).UnixMilli() || r.Header.Get("X-Ratelimit-Limit") != limit || r.Header.Get("X-Ratelimit-Remaining") == "" {
		t.Errorf("headers %v", r.Header)
	}
}

// newKey is a further key of the first user.
func (n *node) newKey() string {
	n.t.Helper()
	_, text, err := n.keys.Create(n.t.Context(), apikey.NewKey{Name: "further", User: n.first.User.ID}, audit.Actor{Name: "test"})
	if err != nil {
		n.t.Fatal(err)
	}
	return text
}

// newUser is the key of a further user.
func (n *node) newUser(name string) string {
	n.t.Helper()
	u, err := n.users.Create(n.t.Context(), name, audit.Actor{Name: "test"})
	if err != nil {
		n.t.Fatal(err)
	}
	_, text, err := n.keys.Create(n.t.Context(), apikey.NewKey{Name: "first", User: u.ID}, audit.Actor{Name: "test"})
	if err != nil {
		n.t.Fatal(err)
	}
	return text
}

func TestRequestsByKey(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.KeyRates.Requests = 2 })
	for range 2 {
		if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
			t.Fatalf("status %d: %s", r.StatusCode, r.body)
		}
	}
	r := n.do("POST", "/v1/chat/completions", chatBody(false))
	limited(t, r, "requests_per_minute", "2")
	if after, _ := strconv.Atoi(r.Header.Get("Retry-After")); after > 30 {
		t.Errorf("Retry-After %d: the next request is there after 30 s", after)
	}
	if r := n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+n.newKey()); r.StatusCode != 200 {
		t.Errorf("another key: %d", r.StatusCode)
	}
	if r := n.do("GET", "/v1/credits", ""); r.StatusCode != 200 {
		t.Errorf("a route that costs nothing: %d", r.StatusCode)
	}
	m := n.do("GET", "/v1/key", "").json(t)
	if at(m, "data", "rate_limit", "requests") != 2. || at(m, "data", "rate_limit", "interval") != "1m" || at(m, "data", "rate_limit", "tokens") != nil {
		t.Errorf("rate_limit is %v", at(m, "data", "rate_limit"))
	}
}

// charged answers and says what the call cost.
func charged(tokens int64, cost money.Nano) relayFunc {
	return func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		c.Record.Settled, c.Record.Cost = true, cost
		c.Record.Usage = usage.Usage{Prompt: usage.Of(tokens / 2), Completion: usage.Of(tokens - tokens/2)}
		return answer(c, sink, "hello")
	}
}

func TestTokensAndRublesByKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rates     apikey.Rates
		relay     relayFunc
		ok        int // so many calls pass
		by, limit string
	}{
		"what was used counts, not what was foreseen": {apikey.Rates{Tokens: 1000}, charged(600, 5), 2, "tokens_per_minute", "1000"},
		"little is corrected to little":               {apikey.Rates{Tokens: 100}, charged(2, 5), 40, "", ""},
		"rubles":                                      {apikey.Rates{Rubles: 3 * money.Ruble}, charged(10, 2*money.Ruble), 2, "rubles_per_minute", "3"},
		"a failed call costs nothing": {apikey.Rates{Tokens: 100, Rubles: money.Ruble}, func(context.Context, *relay.Call, relay.Sink) error {
			return fault.New(fault.ProviderUnavailable, "test", "")
		}, 40, "", ""},
		"a prompt larger than the limit passes alone": {apikey.Rates{Tokens: 1}, charged(1, 0), 1, "tokens_per_minute", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, c.relay, func(cfg *httpapi.Config) { cfg.KeyRates = c.rates })
			for i := range c.ok {
				if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode == 429 {
					t.Fatalf("call %d: %s", i, r.body)
				}
			}
			if c.by != "" {
				limited(t, n.do("POST", "/v1/chat/completions", chatBody(false)), c.by, c.limit)
			}
		})
	}
}

// A call that runs keeps what it may use, whatever style it came by, and every answer says what is left.
func TestRunningCallsReserve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ route, body string }{
		"chat":      {"/v1/chat/completions", `{"model":"acme/small","max_tokens":600,"messages":[{"role":"user","content":"hi"}]}`},
		"responses": {"/v1/responses", `{"model":"acme/small","max_output_tokens":600,"input":"hi"}`},
		"messages":  {"/v1/messages", `{"model":"acme/small","max_tokens":600,"messages":[{"role":"user","content":"hi"}]}`},
		"gemini":    {"/v1beta/models/acme/small:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":600}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			n := start(t, g, func(cfg *httpapi.Config) { cfg.KeyRates = apikey.Rates{Tokens: 1000} })
			first := make(chan *response, 1)
			go func() { first <- n.do("POST", c.route, c.body) }()
			<-g.entered
			if r := n.do("POST", c.route, c.body); r.StatusCode != 429 || r.Header.Get("X-Ratelimit-Limit") != "1000" {
				t.Errorf("status %d beside a call of 600 tokens: %s", r.StatusCode, r.body)
			}
			close(g.leave)
			r := <-first
			left, err := strconv.Atoi(r.Header.Get("X-Ratelimit-Remaining"))
			if r.StatusCode != 200 || err != nil || left < 300 || left > 400 || r.Header.Get("X-Ratelimit-Limit") != "1000" || r.Header.Get("X-Ratelimit-Reset") == "" {
				t.Errorf("status %d, headers %v", r.StatusCode, r.Header)
			}
			if r := n.do("POST", c.route, c.body); r.StatusCode != 200 {
				t.Errorf("status %d after the call has ended, which used nothing: %s", r.StatusCode, r.body)
			}
		})
	}
}

// concurrent_calls limits the calls of one key that run at the same time, of every kind. Other keys, and requests without a model, do not count.
func TestCallsOfAKeyAtOneTime(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := start(t, g, func(cfg *httpapi.Config) { cfg.KeyRates = apikey.Rates{Calls: 2} })
	var all sync.WaitGroup
	for _, stream := range []bool{false, true} {
		all.Go(func() {
			if r := n.do("POST", "/v1/chat/completions", chatBody(stream)); r.StatusCode != 200 {
				t.Errorf("status %d: %s", r.StatusCode, r.body)
			}
		})
		<-g.entered
	}
	for _, route := range []string{"/v1/chat/completions", "/v1/embeddings", "/v1/responses"} {
		limited(t, n.do("POST", route, chatBody(false)), "concurrent_calls", "2")
	}
	if r := n.do("GET", "/v1/models", ""); r.StatusCode != 200 {
		t.Errorf("a call that asks no model: %d", r.StatusCode)
	}
	all.Go(func() {
		if r := n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+n.newKey()); r.StatusCode != 200 {
			t.Errorf("another key: %d", r.StatusCode)
		}
	})
	<-g.entered
	close(g.leave)
	all.Wait()
	if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
		t.Errorf("after they have ended: %d", r.StatusCode)
	}
}

func TestFreeModels(t *testing.T) {
	t.Parallel()
	free := strings.Replace(chatBody(false), "acme/small", "acme/small:free", 1)
	for name, c := range map[string]struct {
		rates     quota.Free
		by, limit string
	}{
		"by the minute":       {quota.Free{PerMinute: 2, PerDay: 50}, "free_requests_per_minute", "2"},
		"by the day":          {quota.Free{PerMinute: 20, PerDay: 2, PaidPerDay: 2}, "free_requests_per_day", "2"},
		"more for who paid":   {quota.Free{PerMinute: 20, PerDay: 1, PaidPerDay: 2}, "free_requests_per_day", "2"}, // the credit that the test's ledger has
		"unlimited by minute": {quota.Free{PerDay: 2, PaidPerDay: 2}, "free_requests_per_day", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(hello), func(cfg *httpapi.Config) { cfg.FreeRates = c.rates })
			for range 2 {
				if r := n.do("POST", "/v1/chat/completions", free); r.StatusCode != 200 {
					t.Fatalf("status %d: %s", r.StatusCode, r.body)
				}
			}
			limited(t, n.do("POST", "/v1/chat/completions", free, "Authorization", "Bearer "+n.newKey()), c.by, c.limit) // by user, not by key
			limited(t, n.do("POST", "/v1/chat/completions", strings.Replace(free, `"model":"acme/small:free"`, `"model":"acme/small","models":["acme/small:free"]`, 1)), c.by, c.limit)
			if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
				t.Errorf("the same model, paid: %d", r.StatusCode)
			}
			if r := n.do("POST", "/v1/chat/completions", free, "Authorization", "Bearer "+n.newUser("Boris")); r.StatusCode != 200 {
				t.Errorf("another user: %d", r.StatusCode)
			}
		})
	}
}

func TestStreamsByKey(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := start(t, g, func(c *httpapi.Config) { c.MaxStreamsByKey = 2 })
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if r := n.do("POST", "/v1/chat/completions", chatBody(true)); r.StatusCode != 200 {
				t.Errorf("status %d", r.StatusCode)
			}
		})
		<-g.entered
	}
	limited(t, n.do("POST", "/v1/chat/completions", chatBody(true)), "max_streams_per_key", "2")
	wg.Go(func() { // not a stream
		if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
			t.Errorf("status %d", r.StatusCode)
		}
	})
	<-g.entered
	close(g.leave)
	wg.Wait()
	if r := n.do("POST", "/v1/chat/completions", chatBody(true)); r.StatusCode != 200 {
		t.Errorf("when they have ended: %d", r.StatusCode)
	}
}

// One user's burst leaves room for the others; the node's own limit is for all of them.
func TestOneUsersBurst(t *testing.T) {
	t.Parallel()
	g := newGate()
	n := start(t, g, func(c *httpapi.Config) { c.MaxInFlight = 8 })
	other := n.newUser("Boris")
	ask := func(key string) *response {
		return n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+key)
	}
	var wg sync.WaitGroup
	var passed, refused atomic.Int64
	burst := make(chan *response, 50)
	for range 50 {
		wg.Go(func() {
			r := ask(n.first.KeyText)
			burst <- r
			if r.StatusCode == 200 {
				passed.Add(1)
			} else {
				refused.Add(1)
			}
		})
	}
	for range 46 {
		limited(t, <-burst, "max_user_share", "4")
	}
	for range 4 {
		wg.Go(func() {
			if r := ask(other); r.StatusCode != 200 {
				t.Errorf("the other user: %d %s", r.StatusCode, r.body)
			}
		})
	}
	for range 8 {
		<-g.entered
	}
	wantError(t, ask(n.newUser("Clara")), 503, fault.Overloaded) // the node is full
	limited(t, ask(other), "max_user_share", "4")
	close(g.leave)
	wg.Wait()
	if passed.Load() != 4 || refused.Load() != 46 {
		t.Errorf("%d passed, %d refused", passed.Load(), refused.Load())
	}
	if r := ask(n.first.KeyText); r.StatusCode != 200 {
		t.Errorf("afterwards: %d", r.StatusCode)
	}
}

func TestShortOfMemory(t *testing.T) {
	t.Parallel()
	var used atomic.Int64
	g := newGate()
	n := startWith(t, g, func(c *httpapi.Config) { c.MemoryLimit = 1000 }, func(d *httpapi.Deps) { d.Heap = used.Load })
	var wg sync.WaitGroup
	wg.Go(func() {
		if r := n.do("POST", "/v1/chat/completions", chatBody(true)); r.StatusCode != 200 {
			t.Errorf("what was under way: %d", r.StatusCode)
		}
	})
	<-g.entered
	used.Store(851)
	var r *response
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); { // a measurement is good for a while
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-g.entered; cancel() }()
		if r, _ = n.tryIn(ctx, "POST", "/v1/chat/completions", chatBody(false)); r != nil && r.StatusCode == 503 {
			g.entered <- struct{}{} // for the goroutine above
			break
		}
	}
	wantError(t, r, 503, fault.Overloaded)
	if after, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || after < 1 || after > 10 {
		t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
	}
	for _, path := range []string{"/healthz", "/readyz", "/v1/credits", "/v1/models"} {
		if r := n.do("GET", path, ""); r.StatusCode != 200 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	close(g.leave)
	wg.Wait()
}

// Clients that are refused at the same time do not come back at the same time.
func TestRetryAfterIsSpread(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxInFlight = 0 })
	seen := map[string]int{}
	for range 60 {
		r := n.do("POST", "/v1/chat/completions", chatBody(false))
		wantError(t, r, 503, fault.Overloaded)
		seen[r.Header.Get("Retry-After")]++
	}
	if len(seen) < 2 {
		t.Errorf("all 60 were told %v", seen)
	}
}

// A client that is sent away keeps its connection, when what it has sent is little.
func TestRefusedByLimitsKeepsTheConnection(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxInFlight = 0 })
	s := n.dial()
	for range 3 {
		s.send("%s", n.head("Content-Length: "+itoa(len(chatBody(false)))+"\r\n\r\n"+chatBody(false)))
		r := s.response()
		wantError(t, r, 503, fault.Overloaded)
		if r.Close {
			t.Fatal("the connection ends")
		}
	}
	s.send("%s", n.head("Content-Length: 1000\r\n\r\n")) // whose body never comes
	r := s.response()
	wantError(t, r, 503, fault.Overloaded)
	if !r.Close {
		t.Error("no Connection: close")
	}
	s.closed(3 * time.Minute)
	big := n.dial()
	big.send("%s", n.head("Content-Length: 1000000\r\n\r\n"))
	if r := big.response(); r.StatusCode != 503 || !r.Close {
		t.Errorf("a large body: %d, close %v", r.StatusCode, r.Close)
	}
}

func TestAnonymousByAddress(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.AnonymousPerSecond, c.AnonymousBurst = 1, 3
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	for _, path := range []string{"/nothing", "/v1/models", "/v1/nothing"} {
		if r := n.do("GET", path, "", "Authorization", "", "X-Forwarded-For", "192.0.2.1"); r.StatusCode == 429 {
			t.Fatalf("%s: %s", path, r.body)
		}
	}
	refused := 0
	for range 40 { // no client here is slower than one a second
		if r := n.do("GET", "/nothing", "", "Authorization", "", "X-Forwarded-For", "192.0.2.1"); r.StatusCode == 429 {
			limited(t, r, "anonymous", "1")
			refused++
		}
	}
	if refused == 0 {
		t.Error("nobody was refused")
	}
	if r := n.do("GET", "/nothing", "", "X-Forwarded-For", "192.0.2.2"); r.StatusCode != 404 {
		t.Errorf("another address: %d", r.StatusCode)
	}
	for path, status := range map[string]int{"/v1/credits": 200, "/v1/models": 200, "/v1/models/acme/small": 200, "/v1/embeddings/models": 200, "/nothing": 404} {
		if r := n.do("GET", path, "", "X-Forwarded-For", "192.0.2.1"); r.StatusCode != status {
			t.Errorf("%s with a valid key: %d", path, r.StatusCode)
		}
	}
	if r := n.do("GET", "/healthz", "", "X-Forwarded-For", "192.0.2.1"); r.StatusCode != 200 {
		t.Errorf("health: %d", r.StatusCode)
	}
}

// Fifty clients that send a byte a second take nothing from the others, and each is told that it was too slow.
func TestFiftySlowClients(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.BodyIdle, c.BodyGrace, c.BodyMinRate, c.BodyTotal = time.Minute, 2*time.Second, 1000, time.Minute
	})
	var slow []*socket
	for range 50 {
		s := n.dial()
		_ = s.SetDeadline(time.Now().Add(60 * time.Second))
		s.send("%s", n.head("Content-Length: 1000\r\n\r\n{"))
		slow = append(slow, s)
	}
	for range 100 {
		if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
			t.Fatalf("beside slow clients: %d %s", r.StatusCode, r.body)
		}
	}
	for _, s := range slow {
		wantError(t, s.response(), 408, fault.RequestTimeout)
	}
}

// The allowance comes back with time.
func TestAllowancesRefill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := bareAPI(t, func(c *httpapi.Config) { c.KeyRates.Requests = 2 })
		ask := func() *recorded { return serveOnce(t, api, chatBody(false)) }
		if a, b, c := ask().status, ask().status, ask().status; a != 200 || b != 200 || c != 429 {
			t.Fatalf("statuses %d, %d, %d", a, b, c)
		}
		after, _ := strconv.Atoi(ask().header.Get("Retry-After"))
		time.Sleep(time.Duration(after) * time.Second)
		if a, b := ask().status, ask().status; a != 200 || b != 429 {
			t.Fatalf("after %d s: %d, then %d", after, a, b)
		}
	})
}

// anyone verifies every key as the same caller.
type anyone struct{ caller apikey.Caller }

func (a *anyone) Verify(context.Context, string, apikey.Stranger) (*apikey.Caller, error) {
	return &a.caller, nil
}

// bareAPI is an API without sockets and stores.
func bareAPI(t testing.TB, edit func(*httpapi.Config)) *httpapi.API {
	cfg := httpapi.Default()
	if edit != nil {
		edit(&cfg)
	}
	snapshot := testCatalog(t)
	return httpapi.New(httpapi.Deps{
		Relay: relayFunc(hello), Verifier: &anyone{apikey.Caller{Key: "key_1", User: "usr_1", Wallet: "wal_1"}},
		Catalog: func() *catalog.Snapshot { return snapshot }, Now: time.Now,
	}, cfg)
}

type recorded struct {
	status int
	header http.Header
	body   []byte
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) WriteHeader(status int)      { r.status = status }
func (r *recorded) Write(b []byte) (int, error) { r.body = append(r.body, b...); return len(b), nil }

func serveOnce(t testing.TB, api http.Handler, body string) *recorded {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), "POST", "/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.RequestURI, req.RemoteAddr = "/v1/chat/completions", "192.0.2.9:1"
	req.Header.Set("Authorization", "Bearer x")
	w := &recorded{header: http.Header{}}
	api.ServeHTTP(w, req)
	return w
}

// What it takes to send a client away.
func BenchmarkRefusal(b *testing.B) {
	for name, edit := range map[string]func(*httpapi.Config){
		"overloaded": func(c *httpapi.Config) { c.MaxInFlight = 0 },
		"limited":    func(c *httpapi.Config) { c.KeyRates.Requests = 1 },
	} {
		b.Run(name, func(b *testing.B) {
			api := bareAPI(b, edit)
			serveOnce(b, api, chatBody(false))
			b.ReportAllocs()
			for b.Loop() {
				if s := serveOnce(b, api, chatBody(false)).status; s != 503 && s != 429 {
					b.Fatal(fmt.Sprint("status ", s))
				}
			}
		})
	}
}
