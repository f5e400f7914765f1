package nodes_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// Two hundred calls at two nodes compete for the last rubles: never more are answered than the balance allows.
func TestLastRubleOnTwoNodes(t *testing.T) {
	t.Parallel()
	const tokens, calls = 50, 200
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	nodes := apptest.StartNodes(t, 2, pgtest.New(t), apptest.PatientUpstream, apptest.Quick)
	hold := heldFor(t, tokens)
	prompt := "[[sim tokens=" + strconv.Itoa(tokens) + "]] hello"
	total, room := int64(0), int64(0)
	for range rounds {
		amount := 1 + money.Nano(rand.Int64N(12*int64(hold)))
		k := int64(amount / hold)
		keys := apptest.Everywhere(nodes, nodes[0].Open(t, apptest.Opening{Amount: amount, Keys: []*apikey.Limit{nil, nil}}))
		answered := race(t, keys, calls, "test/flat", prompt, tokens)
		// A node may refuse while the other is about to give back, but never is too much admitted.
		if answered > k || answered == 0 && k > 0 {
			t.Errorf("%d calls were answered, there was money for %d", answered, k)
		}
		total, room = total+answered, room+k
		for _, a := range []*apptest.Account{keys[0], keys[2]} {
			want := amount - money.Nano(answered)*hold
			apptest.WaitFor(t, "both nodes to tell the same", func() bool { c := a.Credits(t); return c.Reserved == "0" && apptest.Parse(t, c.Balance) == want })
		}
	}
	if attempts := nodes[0].Attempts() + nodes[1].Attempts(); attempts != total {
		t.Errorf("%d attempts for %d answers", attempts, total)
	}
	t.Logf("%d rounds of %d calls, %d answered, there was money for %d", rounds, calls, total, room)
	for _, gw := range nodes {
		gw.WantBalanced(t)
	}
}

// A key that one node disables or deletes is refused by the other node within a second.
func TestRevocationOnTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := apptest.StartNodes(t, 2, pgtest.New(t))
	here, there := nodes[0], nodes[1]
	by := audit.Actor{Name: "test"}
	hello := map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
	disabled := true
	for name, revoke := range map[string]func(t *testing.T, hash string) error{
		"disabled": func(t *testing.T, hash string) error {
			_, err := here.Node.Admin().Keys.Change(t.Context(), "", hash, apikey.Change{Disabled: &disabled}, by)
			return err
		},
		"deleted": func(t *testing.T, hash string) error {
			return here.Node.Admin().Keys.Delete(t.Context(), "", hash, by)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &apptest.Account{Gw: there, Key: here.NewAccount(t).Key}
			if got := a.Chat(t, hello); got.Status != http.StatusOK {
				t.Fatalf("a key that the other node made: status %d: %s", got.Status, got.Body)
			}
			if err := revoke(t, apikey.Hash(a.Key)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			apptest.WaitFor(t, "the other node to refuse the key", func() bool { return a.Chat(t, hello).Status == http.StatusUnauthorized })
			apptest.Promised(t, "revocation at the other node", time.Since(began), time.Second)
		})
	}
}

// A user's preferences take effect on every node within the promised seconds, also for styles that have no field for them.
func TestPreferencesOnTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := apptest.StartNodes(t, 2, pgtest.New(t))
	here, there := nodes[0], nodes[1]
	a := &apptest.Account{Gw: there, Key: here.NewAccount(t).Key}
	hello := map[string]any{"model": "test/next", "max_tokens": 100, "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
	ask := func(route string) int { return a.Do(t, http.MethodPost, route, hello).Status }
	if got := ask("/v1/chat/completions"); got != http.StatusOK {
		t.Fatalf("before: status %d", got)
	}
	users := here.Node.Admin().Users
	key, err := here.Node.Admin().Keys.ByHash(t.Context(), "", apikey.Hash(a.Key))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := users.SetPreferences(t.Context(), key.User, `{"only":["nobody"]}`, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	apptest.WaitFor(t, "the other node to know of preferences", func() bool { return ask("/v1/chat/completions") == http.StatusNotFound })
	apptest.Promised(t, "preferences at the other node", time.Since(began), time.Second)
	if got := ask("/v1/messages"); got != http.StatusNotFound {
		t.Errorf("messages: status %d", got)
	}
	if err := users.SetPreferences(t.Context(), key.User, "", audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	apptest.WaitFor(t, "the other node to know that there are none", func() bool { return ask("/v1/messages") == http.StatusOK })
}

// PostgreSQL stops under load and comes back. Admitted calls finish, deliveries are charged once, calls that cannot be paid are refused
// before any provider is called, and the nodes recover by themselves.
func TestDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*pgtest.Server, testing.TB){"stopped": (*pgtest.Server).Stop, "killed": (*pgtest.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			nodes := apptest.StartNodes(t, 2, server.New(t), apptest.PatientUpstream, apptest.Quick, func(s *apptest.Setup) { s.Ledger.StoreFor = config.Default().Ledger.StoreFor })
			databaseGoesAway(t, server, nodes, func() { stop(server, t) })
		})
	}
}

func databaseGoesAway(t *testing.T, server *pgtest.Server, nodes []*apptest.Gateway, stop func()) {
	keys := apptest.Everywhere(nodes, nodes[0].NewAccounts(t, 2))
	var o outage
	endLoad := o.load(t, keys)
	apptest.WaitFor(t, "answers", func() bool { return o.answered.Load() > 40 })

	var admitted sync.WaitGroup
	var open atomic.Int64
	for _, a := range keys {
		for range 5 {
			admitted.Go(func() { o.long(t, a, func() { open.Add(1) }) })
		}
	}
	apptest.WaitFor(t, "streams to begin", func() bool { return open.Load() == int64(5*len(keys)) })
	stop()
	admitted.Wait() // each must end, and be complete
	refused := o.refused.Load()
	apptest.WaitFor(t, "calls to be refused", func() bool { return o.refused.Load() > refused+20 })
	for _, gw := range nodes {
		a := &apptest.Account{Gw: gw, Key: keys[0].Key}
		if got := a.Do(t, http.MethodGet, "/v1/models", nil); got.Status != http.StatusOK {
			t.Errorf("the catalog without the database: status %d", got.Status)
		}
	}
	server.Start(t)
	began := time.Now()
	for _, a := range keys {
		apptest.WaitFor(t, "calls to be taken again", func() bool { return o.one(t, a) })
	}
	apptest.Promised(t, "calls after the database's return", time.Since(began), 5*time.Second)
	endLoad()

	for _, a := range keys {
		apptest.WaitFor(t, "charges to be those delivered", func() bool {
			c := a.Credits(t)
			return apptest.Parse(t, c.TotalUsage) == o.reported[a.Key] && c.Reserved == "0"
		})
	}
	attempts := nodes[0].Attempts() + nodes[1].Attempts()
	if attempts != o.answered.Load() {
		t.Errorf("%d attempts for %d answers", attempts, o.answered.Load())
	}
	t.Logf("%d answered, %d refused", o.answered.Load(), o.refused.Load())
	for _, gw := range nodes {
		gw.WantBalanced(t)
	}
}

// outage collects the clients' results while the database was stopped.
type outage struct {
	answered, refused atomic.Int64

	mu       sync.Mutex
	reported map[string]money.Nano // by key
}

// load sends calls with the keys until stop is called, which waits for the last call.
func (o *outage) load(t *testing.T, keys []*apptest.Account) (stop func()) {
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

func (o *outage) one(t *testing.T, a *apptest.Account) bool {
	return o.ask(t, a, "[[sim tokens=50]] hello", false)
}

// ask sends one call. It reports whether the call was answered; else it must have been refused at once because of the database.
func (o *outage) ask(t *testing.T, a *apptest.Account, prompt string, stream bool) bool {
	began := time.Now()
	got := a.Chat(t, map[string]any{"model": "test/next", "stream": stream, "messages": []any{map[string]any{"role": "user", "content": prompt}}})
	if got.Status == http.StatusServiceUnavailable {
		if took := time.Since(began); took > apptest.Patience*2*time.Second {
			t.Errorf("refused after %s", took)
		}
		if !strings.Contains(string(got.Body), `"storage_unavailable"`) || got.Header.Get("Retry-After") == "" {
			t.Errorf("refused with %s", got.Body)
		}
		o.refused.Add(1)
		return false
	}
	if got.Status != http.StatusOK {
		t.Errorf("status %d: %s", got.Status, got.Body)
		return false
	}
	got.WantComplete(t, stream)
	o.deliver(a, got.Reported(t, stream).Cost)
	return true
}

func (o *outage) deliver(a *apptest.Account, cost money.Nano) {
	o.answered.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reported[a.Key] += cost
}

// long sends a call whose stream takes a second, until the call is admitted: a slow machine may refuse it before the database stops.
// begun is called at the first content. The stream must be complete.
func (o *outage) long(t *testing.T, a *apptest.Account, begun func()) {
	body, err := json.Marshal(map[string]any{"model": "test/next", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "[[sim gap=50ms frames=20]] hello"}}})
	if err != nil {
		t.Error(err)
		return
	}
	got := a.Read(t, body, begun)
	for got.Status == http.StatusServiceUnavailable && t.Context().Err() == nil {
		got = a.Read(t, body, begun)
	}
	if got.Status != http.StatusOK {
		t.Errorf("status %d: %s", got.Status, got.Body)
		return
	}
	got.WantComplete(t, true)
	o.deliver(a, got.Reported(t, true).Cost)
}
