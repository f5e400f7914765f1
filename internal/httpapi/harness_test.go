package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/accesslog"
	"weir/internal/account"
	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/catalogapi"
	"weir/internal/chat"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/httpapi"
	"weir/internal/httpserver"
	"weir/internal/ledger"
	"weir/internal/litellmapi"
	"weir/internal/money"
	"weir/internal/organization"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/usage"
	"weir/internal/usage/tokenizer"
	"weir/internal/wire"
	"weir/internal/zone"
)

// relayFunc is a relay that does what the test says.
type relayFunc func(ctx context.Context, c *relay.Call, sink relay.Sink) error

func (f relayFunc) Complete(ctx context.Context, c *relay.Call, sink relay.Sink) error {
	c.Record = &record.Call{Generation: c.Generation, ModelAsked: c.Request.Models[0], Model: "acme/small", Provider: "acme", Streamed: c.Request.Stream,
		Attempts: []record.Attempt{{Endpoint: "acme/acme/small", Provider: "acme", Status: 200}}}
	return f(ctx, c, sink)
}

// answer sends text as an upstream would, piece by piece.
func answer(c *relay.Call, sink relay.Sink, pieces ...string) error {
	if err := sink.Start(served(c)); err != nil {
		return err
	}
	for i, p := range pieces {
		ev := &completion.Event{Text: []byte(p)}
		if i == len(pieces)-1 {
			ev.Finish = completion.Stop
		}
		if err := sink.Event(ev); err != nil {
			return err
		}
	}
	if err := flush(sink); err != nil {
		return err
	}
	return sink.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(3), Completion: usage.Of(4)}, Cost: 5})
}

// flush shows the client what the sink has kept, as the relay does before it waits.
func flush(sink relay.Sink) error {
	if client, keeps := sink.(relay.Flusher); keeps {
		return client.Flush()
	}
	return nil
}

func served(c *relay.Call) relay.Served {
	m, _ := c.Catalog.Model("acme/small")
	return relay.Served{Endpoint: m.Endpoints[0], Model: "acme/small"}
}

func hello(_ context.Context, c *relay.Call, sink relay.Sink) error {
	return answer(c, sink, "Hel", "lo")
}

// books is a ledger with fixed answers; it notes what it was asked.
type books struct {
	mu    sync.Mutex
	asked []string
	calls map[string]*record.Call // by wallet + generation
	rows  []ledger.ActivityRow
	spend map[string]ledger.KeySpend
	err   error

	refunds map[string][]ledger.Movement // by wallet + generation
	moved   []ledger.Movement
}

func (b *books) note(format string, args ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, fmt.Sprintf(format, args...))
	return b.err
}

func (b *books) Balance(_ context.Context, wallet string) (ledger.Balance, error) {
	return ledger.Balance{Credited: 100 * money.Ruble, Charged: 1, Balance: 100*money.Ruble - 1, Held: 7}, b.note("balance %s", wallet)
}

func (b *books) Local(_ string, t time.Time) time.Time { return zone.History(nil).Local(t) }

func (b *books) Activity(_ context.Context, wallet, key, from, to string) ([]ledger.ActivityRow, error) {
	return b.rows, b.note("activity %s %s %s %s", wallet, key, from, to)
}

func (b *books) Call(_ context.Context, wallet, id string) (*record.Call, []ledger.Entry, error) {
	if c := b.calls[wallet+id]; c != nil {
		return c, []ledger.Entry{{ID: 11}, {ID: 12}}, nil
	}
	return nil, nil, fault.New(fault.NotFound, "books.Call", "There is no such thing.")
}

func (b *books) Refunds(_ context.Context, wallet, id string) ([]ledger.Movement, error) {
	return b.refunds[wallet+id], nil
}

func (b *books) Statement(_ context.Context, wallet string, before int64, count int) ([]ledger.Movement, error) {
	return b.moved, b.note("statement %s %d %d", wallet, before, count)
}

func (b *books) KeySpend(_ context.Context, key string) (ledger.KeySpend, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spend[key], nil
}

func (b *books) FundStates(_ context.Context, funds []ledger.Fund) ([]ledger.FundState, error) {
	return make([]ledger.FundState, len(funds)), nil
}

// configuredSecret has no known form: only the configuration shows that it is a secret.
const configuredSecret = "plain-upstream-password"

// node is a running API with one user, who has an API key and a management key.
type node struct {
	t        testing.TB
	api      *httpapi.API
	server   *httpserver.Server
	addr     string
	url      string
	first    *account.First
	users    *account.Manager
	keys     *apikey.Manager
	people   *auth.Manager
	store    *store.Store
	orgs     *organization.Manager
	books    *books
	rankings *listing.Rankings
	log      *accesslog.Log
	output   *output
	served   chan error
}

// output is what a node logged. A test may read it while the node still writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a node on loopback until the test ends. edit may be nil.
func start(t testing.TB, r httpapi.Completer, edit func(*httpapi.Config)) *node {
	t.Helper()
	return startWith(t, r, edit, nil)
}

// startWith is start with further parts; parts may be nil.
func startWith(t testing.TB, r httpapi.Completer, edit func(*httpapi.Config), parts func(*httpapi.Deps)) *node {
	t.Helper()
	return startAll(t, r, edit, parts, nil)
}

// stopped has a node's clock stand still: what a minute or a day allows does not come back while a test runs.
func stopped(d *httpapi.Deps) {
	at := time.Now()
	d.Now = func() time.Time { return at }
}

// startAll is startWith with further parts of operations; operations may be nil.
func startAll(t testing.TB, r httpapi.Completer, edit func(*httpapi.Config), parts func(*httpapi.Deps), operations func(*accountapi.Deps, *catalogapi.Deps, *accountapi.EventsConfig)) *node {
	t.Helper()
	store, err := sqlite.Open(context.Background(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	verifier := apikey.NewVerifier(store.Accounts, time.Now, apikey.VerifierConfig{Preferences: func(text string) (routing.Preferences, error) {
		return wire.Defaults([]byte(text))
	}})
	n := &node{t: t, users: account.NewManager(store.Accounts, verifier, time.Now), keys: apikey.NewManager(store.Accounts, verifier, time.Now, 5),
		books: &books{calls: map[string]*record.Call{}, spend: map[string]ledger.KeySpend{}}, output: &output{}, served: make(chan error, 1)}
	if n.first, err = n.users.Bootstrap(t.Context(), "Anna"); err != nil {
		t.Fatal(err)
	}
	n.log = accesslog.New(n.output, accesslog.Options{})
	t.Cleanup(func() { _ = n.log.Close() })
	snapshot := testCatalog(t)
	cfg := httpapi.Default()
	if edit != nil {
		edit(&cfg)
	}
	deps := httpapi.Deps{
		Relay: r, Explainer: relay.New(relay.Deps{Now: time.Now, Rand: func() float64 { return 0 }}, relay.Default()), Verifier: verifier, Keys: n.keys, Ledger: n.books, Catalog: func() *catalog.Snapshot { return snapshot }, Tokens: tokenizer.Tokenizer{},
		Redact: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(configuredSecret), []byte("***")) },
		Log:    n.log, Slog: slog.New(n.log.Handler(slog.LevelInfo)), Now: time.Now, History: history.New(nil, history.Config{SweepEvery: time.Hour, BeatEvery: time.Hour}), // it stores nothing
	}
	n.store = store
	n.people = auth.NewManager(store.People, n.keys, nil, func() time.Time { return deps.Now() }, auth.Config{Passwords: true, SignUp: auth.ByInvite})
	deps.People, deps.CallerOf = n.people, verifier.Of
	agents := agent.NewManager(store.Agents, verifier.ForgetUser, func() time.Time { return deps.Now() }, auth.Config{}, 50)
	deps.Agents = agents
	if parts != nil {
		parts(&deps)
	}
	corrections, _ := deps.Ledger.(adminapi.Corrections)
	kept, ok := deps.History.(*history.Manager)
	if !ok {
		kept = history.New(nil, history.Config{SweepEvery: time.Hour, BeatEvery: time.Hour})
	}
	n.rankings = listing.NewRankings(deps.Catalog, deps.Now, deps.Slog)
	if deps.Operations == nil {
		orgs := organization.NewManager(store.Organizations, n.keys, verifier, nil, time.Now)
		deps.Organizations, deps.Directories, n.orgs = orgs, orgs, orgs
		accounts := accountapi.Deps{
			Organizations: orgs,
			Books:         deps.Ledger, Accounts: n.users, People: deps.People, Agents: agents, CallerOf: deps.CallerOf, History: kept, Chats: chat.NewManager(store.Pages, chat.Config{Now: time.Now, KeepFor: kept.KeepFor()}), Catalog: deps.Catalog, Keys: n.keys, CheckCallback: deps.CheckCallback, Videos: deps.Videos, MostRates: cfg.MostRates(),
			Log: deps.Slog, Explainer: deps.Explainer, Refusal: func(e *fault.Error) []byte { return httpserver.ErrorObject(e, "") },
		}
		pages := catalogapi.Deps{Catalog: deps.Catalog, Stats: deps.Stats, Ranks: n.rankings}
		followed := accountapi.DefaultEvents()
		followed.Most, followed.MostByUser, followed.KeepAlive = cfg.MaxEvents, cfg.MaxEventsByUser, cfg.KeepAliveEvery
		if operations != nil {
			operations(&accounts, &pages, &followed)
		}
		events := accountapi.NewEvents(accountapi.EventsDeps{Books: deps.Ledger, Reports: accounts.Reports, Keys: n.keys}, followed)
		accounts.Events, deps.Events = events, events
		deps.Operations = slices.Concat(accountapi.Operations(accounts), catalogapi.New(pages).Operations(), adminapi.Operations(adminapi.Deps{Of: accounts, Accounts: n.users, Corrections: corrections}),
			litellmapi.Operations(litellmapi.Deps{Of: accounts, Names: store.Accounts}))
	}
	n.api = httpapi.New(deps, cfg)
	n.server = httpapi.NewServer(n.api)
	l, err := httpserver.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.addr, n.url = l.Addr().String(), "http://"+l.Addr().String()
	go func() { n.served <- n.server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = n.server.Drain(ctx, 0, 0)
	})
	return n
}

func testCatalog(t testing.TB) *catalog.Snapshot {
	t.Helper()
	price := func(in, out string) catalog.Pricing {
		p, err := money.ParsePrice(in)
		if err != nil {
			t.Fatal(err)
		}
		q, err := money.ParsePrice(out)
		if err != nil {
			t.Fatal(err)
		}
		return catalog.Pricing{Base: catalog.Prices{Prompt: p, Completion: q}, List: "list-1", Rate: "rate-1"}
	}
	s, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "acme", Name: "Acme", Dialect: "openai", BaseURL: "https://upstream.invalid/v1"}, {ID: "best", Name: "Best", Dialect: "openai", BaseURL: "https://best.invalid/v1"}},
		Models: []catalog.ModelInfo{
			{Slug: "acme/small", Name: "Small", Description: "A small model", Created: time.Unix(1000, 0), ContextLength: 8000},
			{Slug: "acme/large-2026-01-31", Name: "Large", Created: time.Unix(2000, 0), ContextLength: 128000},
			{Slug: "zeta/plain", Name: "plain", Created: time.Unix(1500, 0)},
		},
		Offers: []catalog.Offer{
			{Provider: "acme", Model: "acme/small", Pricing: price("0.1", "0.2"), MaxCompletion: 4000},
			{Provider: "best", Model: "acme/small", Pricing: price("0.05", "0.1")},
			{Provider: "best", Model: "acme/small", Variant: "free", Pricing: price("0", "0")},
			{Provider: "acme", Model: "acme/large-2026-01-31", Pricing: price("1", "3")},
			{Provider: "acme", Model: "zeta/plain", Pricing: price("0.0123", "0.5")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// logged is everything that was logged so far.
func (n *node) logged() string {
	n.log.Flush()
	return n.output.String()
}

// response is an answer read to its end.
type response struct {
	*http.Response
	body []byte
}

func (r *response) json(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.body, &m); err != nil {
		t.Fatalf("status %d, body %q is no JSON object: %v", r.StatusCode, r.body, err)
	}
	return m
}

// at walks down a JSON value.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			a, _ := v.([]any)
			if p >= len(a) {
				return nil
			}
			v = a[p]
		}
	}
	return v
}

// do sends a request; headers are pairs. Without an Authorization header among them the API key is sent.
func (n *node) do(method, path, body string, headers ...string) *response {
	n.t.Helper()
	resp, err := n.try(method, path, body, headers...)
	if err != nil {
		n.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

func (n *node) try(method, path, body string, headers ...string) (*response, error) {
	return n.tryIn(context.Background(), method, path, body, headers...)
}

func (n *node) tryIn(ctx context.Context, method, path, body string, headers ...string) (*response, error) {
	req, err := http.NewRequestWithContext(ctx, method, n.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+n.first.KeyText)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if len(body) >= 1<<20 { // it may be refused before it is sent whole, and a write that is cut would hide the answer
		req.Header.Set("Expect", "100-continue")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, ExpectContinueTimeout: 2 * time.Minute}, Timeout: 2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return &response{resp, b}, err
}

// signIn begins a session of the node's first user, and returns the headers of a page's requests.
func (n *node) signIn() []string {
	n.t.Helper()
	n.people.OpenDemo(n.first.User.ID)
	s, err := n.people.Demo(n.t.Context(), auth.Client{})
	if err != nil {
		n.t.Fatal(err)
	}
	return n.page("Cookie", "__Host-weir="+s.Token)
}

// page are the headers of a request that a page sends.
func (n *node) page(more ...string) []string {
	return append([]string{"Authorization", "", "Origin", n.url, "X-Weir", "1"}, more...)
}

// manage is do with the management key.
func (n *node) manage(method, path, body string) *response {
	n.t.Helper()
	return n.do(method, path, body, "Authorization", "Bearer "+n.first.ManagementKey)
}

func chatBody(stream bool) string {
	return fmt.Sprintf(`{"model":"acme/small","messages":[{"role":"user","content":"hi"}],"stream":%v}`, stream)
}

// wantError checks an answer against the standard envelope.
func wantError(t testing.TB, r *response, status int, kind fault.Kind) map[string]any {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("status %d, want %d; body %s", r.StatusCode, status, r.body)
	}
	if ct := r.Header.Get("Content-Type"); ct != "application/json; charset=utf-8" {
		t.Errorf("content type %q", ct)
	}
	m := r.json(t)
	message, _ := at(m, "error", "message").(string)
	if at(m, "error", "code") != float64(status) || at(m, "error", "metadata", "error_type") != kind.String() || message == "" {
		t.Fatalf("envelope %s; want code %d and type %s", r.body, status, kind)
	}
	if id := r.Header.Get("X-Request-Id"); len(id) != 28 || at(m, "error", "metadata", "request_id") != id {
		t.Errorf("request id %q, in the envelope %v", id, at(m, "error", "metadata", "request_id"))
	}
	return m
}

// socket is a raw connection to a node.
type socket struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func (n *node) dial() *socket {
	n.t.Helper()
	c, err := net.Dial("tcp", n.addr)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &socket{n.t, c, bufio.NewReader(c)}
}

func (s *socket) send(format string, args ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s, format, args...); err != nil {
		s.t.Fatalf("send: %v", err)
	}
}

// response reads one answer.
func (s *socket) response() *response {
	s.t.Helper()
	resp, err := http.ReadResponse(s.r, nil)
	if err != nil {
		s.t.Fatalf("reading the answer: %v", err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("reading the body: %v", err)
	}
	return &response{resp, b}
}

// closed fails unless the node closes the connection within d.
func (s *socket) closed(d time.Duration) {
	s.t.Helper()
	_ = s.SetReadDeadline(time.Now().Add(d))
	if _, err := s.r.ReadByte(); err == nil {
		s.t.Fatal("more bytes instead of the end of the connection")
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatalf("the connection is still open after %v", d)
	}
}

// head is the beginning of a chat request by hand.
func (n *node) head(extra string) string {
	return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + n.first.KeyText + "\r\n" + extra
}

// frames splits an event stream into its data, comments left out.
func frames(b []byte) []string {
	var all []string
	for _, line := range strings.Split(string(b), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, data)
		}
	}
	return all
}

func itoa(n int) string { return fmt.Sprint(n) }

// scrape reads the metrics.
func scrape(t testing.TB, n *node) string {
	t.Helper()
	w := httptest.NewRecorder()
	r, _ := http.NewRequestWithContext(context.Background(), "GET", "/metrics", nil)
	n.api.Admin().ServeHTTP(w, r)
	return w.Body.String()
}
