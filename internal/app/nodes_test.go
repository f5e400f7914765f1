package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/plugin/pdftext"
	"weir/internal/store/postgres/pgtest"
)

// TestMain lets the test binary run as its own child to read files, as the program does.
func TestMain(m *testing.M) {
	if pdftext.IsChild(os.Args[1:]) {
		os.Exit(pdftext.Main(os.Args[1:], os.Stdin, os.Stdout))
	}
	os.Exit(pgtest.Main(m).Run())
}

// onPostgres makes a node use that database.
func onPostgres(dsn string) func(*setup) {
	return func(s *setup) { s.Store.DSN = config.DSN(dsn) }
}

// startNodes starts nodes on one database.
func startNodes(t *testing.T, n int, dsn string, change ...func(*setup)) []*gateway {
	t.Helper()
	nodes := make([]*gateway, n)
	for i := range nodes {
		nodes[i] = startGateway(t, append(change, onPostgres(dsn))...)
	}
	return nodes
}

// everywhere returns the keys at each of the nodes.
func everywhere(nodes []*gateway, keys []*account) []*account {
	var out []*account
	for _, gw := range nodes {
		for _, k := range keys {
			out = append(out, &account{gw: gw, key: k.key})
		}
	}
	return out
}

// quick makes nodes return leases soon, so that a test need not wait for money that nodes keep for later calls.
func quick(s *setup) { s.Ledger.SpendFor = 50 * time.Millisecond }

// Two hundred calls at two nodes compete for the last rubles: never more are answered than the balance allows.
func TestLastRubleOnTwoNodes(t *testing.T) {
	t.Parallel()
	const tokens, calls = 50, 200
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	nodes := startNodes(t, 2, pgtest.New(t), patientUpstream, quick)
	hold := heldFor(t, tokens)
	prompt := "[[sim tokens=" + strconv.Itoa(tokens) + "]] hello"
	total, room := int64(0), int64(0)
	for range rounds {
		amount := 1 + money.Nano(rand.Int64N(12*int64(hold)))
		k := int64(amount / hold)
		keys := everywhere(nodes, nodes[0].open(t, opening{amount: amount, keys: []*apikey.Limit{nil, nil}}))
		answered := race(t, keys, calls, "test/flat", prompt, tokens)
		// A node may refuse while the other is about to give back, but never is too much admitted.
		if answered > k || answered == 0 && k > 0 {
			t.Errorf("%d calls were answered, there was money for %d", answered, k)
		}
		total, room = total+answered, room+k
		for _, a := range []*account{keys[0], keys[2]} {
			want := amount - money.Nano(answered)*hold
			waitFor(t, "both nodes to tell the same", func() bool { c := a.credits(t); return c.Reserved == "0" && parse(t, c.Balance) == want })
		}
	}
	if attempts := nodes[0].attempts() + nodes[1].attempts(); attempts != total {
		t.Errorf("%d attempts for %d answers", attempts, total)
	}
	t.Logf("%d rounds of %d calls, %d answered, there was money for %d", rounds, calls, total, room)
	for _, gw := range nodes {
		gw.wantBalanced(t)
	}
}

// A key that one node disables or deletes is refused by the other node within five seconds.
func TestRevocationOnTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 2, pgtest.New(t))
	here, there := nodes[0], nodes[1]
	by := audit.Actor{Name: "test"}
	hello := map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
	disabled := true
	for name, revoke := range map[string]func(t *testing.T, hash string) error{
		"disabled": func(t *testing.T, hash string) error {
			_, err := here.node.Office().Keys.Change(t.Context(), "", hash, apikey.Change{Disabled: &disabled}, by)
			return err
		},
		"deleted": func(t *testing.T, hash string) error {
			return here.node.Office().Keys.Delete(t.Context(), "", hash, by)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &account{gw: there, key: here.newAccount(t).key}
			if got := a.chat(t, hello); got.status != http.StatusOK {
				t.Fatalf("a key that the other node made: status %d: %s", got.status, got.body)
			}
			if err := revoke(t, apikey.Hash(a.key)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			waitFor(t, "the other node to refuse the key", func() bool { return a.chat(t, hello).status == http.StatusUnauthorized })
			promised(t, "revocation at the other node", time.Since(began), 5*time.Second)
		})
	}
}

// A user's preferences take effect on every node within the promised seconds, also for styles that have no field for them.
func TestPreferencesOnTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 2, pgtest.New(t))
	here, there := nodes[0], nodes[1]
	a := &account{gw: there, key: here.newAccount(t).key}
	hello := map[string]any{"model": "test/next", "max_tokens": 100, "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
	ask := func(route string) int { return a.do(t, http.MethodPost, route, hello).status }
	if got := ask("/v1/chat/completions"); got != http.StatusOK {
		t.Fatalf("before: status %d", got)
	}
	users := here.node.Office().Users
	key, err := here.node.Office().Keys.ByHash(t.Context(), "", apikey.Hash(a.key))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := users.SetPreferences(t.Context(), key.User, `{"only":["nobody"]}`, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the other node to know of preferences", func() bool { return ask("/v1/chat/completions") == http.StatusNotFound })
	promised(t, "preferences at the other node", time.Since(began), 5*time.Second)
	if got := ask("/v1/messages"); got != http.StatusNotFound {
		t.Errorf("messages: status %d", got)
	}
	if err := users.SetPreferences(t.Context(), key.User, "", audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the other node to know that there are none", func() bool { return ask("/v1/messages") == http.StatusOK })
}

// PostgreSQL stops under load and comes back. Admitted calls finish, deliveries are charged once, calls that cannot be paid are refused
// before any provider is called, and the nodes recover by themselves.
func TestDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*pgtest.Server, testing.TB){"stopped": (*pgtest.Server).Stop, "killed": (*pgtest.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			nodes := startNodes(t, 2, server.New(t), patientUpstream, quick, func(s *setup) { s.Ledger.StoreFor = config.Default().Ledger.StoreFor })
			databaseGoesAway(t, server, nodes, func() { stop(server, t) })
		})
	}
}

func databaseGoesAway(t *testing.T, server *pgtest.Server, nodes []*gateway, stop func()) {
	keys := everywhere(nodes, nodes[0].newAccounts(t, 2))
	var o outage
	endLoad := o.load(t, keys)
	waitFor(t, "answers", func() bool { return o.answered.Load() > 40 })

	var admitted sync.WaitGroup
	var open atomic.Int64
	for _, a := range keys {
		for range 5 {
			admitted.Go(func() { o.long(t, a, func() { open.Add(1) }) })
		}
	}
	waitFor(t, "streams to begin", func() bool { return open.Load() == int64(5*len(keys)) })
	stop()
	admitted.Wait() // each must end, and be complete
	refused := o.refused.Load()
	waitFor(t, "calls to be refused", func() bool { return o.refused.Load() > refused+20 })
	for _, gw := range nodes {
		a := &account{gw: gw, key: keys[0].key}
		if got := a.do(t, http.MethodGet, "/v1/models", nil); got.status != http.StatusOK {
			t.Errorf("the catalog without the database: status %d", got.status)
		}
	}
	server.Start(t)
	began := time.Now()
	for _, a := range keys {
		waitFor(t, "calls to be taken again", func() bool { return o.one(t, a) })
	}
	promised(t, "calls after the database's return", time.Since(began), 5*time.Second)
	endLoad()

	for _, a := range keys {
		waitFor(t, "charges to be those delivered", func() bool {
			c := a.credits(t)
			return parse(t, c.TotalUsage) == o.reported[a.key] && c.Reserved == "0"
		})
	}
	attempts := nodes[0].attempts() + nodes[1].attempts()
	if attempts != o.answered.Load() {
		t.Errorf("%d attempts for %d answers", attempts, o.answered.Load())
	}
	t.Logf("%d answered, %d refused", o.answered.Load(), o.refused.Load())
	for _, gw := range nodes {
		gw.wantBalanced(t)
	}
}

// newAccounts makes users, each with a hundred rubles and a key.
func (gw *gateway) newAccounts(t *testing.T, n int) (out []*account) {
	t.Helper()
	for range n {
		out = append(out, gw.newAccount(t))
	}
	return out
}

// outage collects the clients' results while the database was stopped.
type outage struct {
	answered, refused atomic.Int64

	mu       sync.Mutex
	reported map[string]money.Nano // by key
}

// load sends calls with the keys until stop is called, which waits for the last call.
func (o *outage) load(t *testing.T, keys []*account) (stop func()) {
	t.Helper()
	o.reported = map[string]money.Nano{}
	end := make(chan struct{})
	var all sync.WaitGroup
	for _, a := range keys {
		for range 2 {
			all.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-end:
						return
					default:
						o.ask(t, a, "[[sim tokens=50]] hello", i%2 == 1)
					}
				}
			})
		}
	}
	return func() { close(end); all.Wait() }
}

func (o *outage) one(t *testing.T, a *account) bool {
	return o.ask(t, a, "[[sim tokens=50]] hello", false)
}

// ask sends one call. It reports whether the call was answered; else it must have been refused at once because of the database.
func (o *outage) ask(t *testing.T, a *account, prompt string, stream bool) bool {
	began := time.Now()
	got := a.chat(t, map[string]any{"model": "test/next", "stream": stream, "messages": []any{map[string]any{"role": "user", "content": prompt}}})
	if got.status == http.StatusServiceUnavailable {
		if took := time.Since(began); took > patience*2*time.Second {
			t.Errorf("refused after %s", took)
		}
		if !strings.Contains(string(got.body), `"storage_unavailable"`) || got.header.Get("Retry-After") == "" {
			t.Errorf("refused with %s", got.body)
		}
		o.refused.Add(1)
		return false
	}
	if got.status != http.StatusOK {
		t.Errorf("status %d: %s", got.status, got.body)
		return false
	}
	got.wantComplete(t, stream)
	o.deliver(a, got.reported(t, stream).cost)
	return true
}

func (o *outage) deliver(a *account, cost money.Nano) {
	o.answered.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reported[a.key] += cost
}

// long sends a call whose stream takes a second, until the call is admitted: a slow machine may refuse it before the database stops.
// begun is called at the first content. The stream must be complete.
func (o *outage) long(t *testing.T, a *account, begun func()) {
	body, err := json.Marshal(map[string]any{"model": "test/next", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "[[sim gap=50ms frames=20]] hello"}}})
	if err != nil {
		t.Error(err)
		return
	}
	got := a.read(t, body, begun)
	for got.status == http.StatusServiceUnavailable && t.Context().Err() == nil {
		got = a.read(t, body, begun)
	}
	if got.status != http.StatusOK {
		t.Errorf("status %d: %s", got.status, got.body)
		return
	}
	got.wantComplete(t, true)
	o.deliver(a, got.reported(t, true).cost)
}

// read sends a streamed call and calls begun at the first content of an answer.
func (a *account) read(t *testing.T, body []byte, begun func()) *answer {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.gw.url+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Error(err)
		return &answer{}
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := a.gw.client.Do(req)
	if err != nil {
		t.Error(err)
		return &answer{}
	}
	defer res.Body.Close()
	var first [1]byte
	_, err = io.ReadFull(res.Body, first[:])
	if res.StatusCode == http.StatusOK {
		begun()
	}
	rest, restErr := io.ReadAll(res.Body)
	if err := errors.Join(err, restErr); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	return &answer{status: res.StatusCode, header: res.Header, body: append(first[:], rest...)}
}
