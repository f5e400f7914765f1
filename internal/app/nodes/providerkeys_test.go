package nodes_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/store/postgres/pgtest"
)

// keyedMill is a provider that counts the requests of each key, refuses keys with a status, and has streams wait for a test.
type keyedMill struct {
	mu     sync.Mutex
	calls  map[string]int
	refuse map[string]int
	hold   chan struct{} // a stream whose prompt is "wait" goes on when it is closed
}

func openKeyedMill(t *testing.T) (*keyedMill, string) {
	t.Helper()
	m := &keyedMill{calls: map[string]int{}, refuse: map[string]int{}, hold: make(chan struct{})}
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	l := apptest.Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return m, "http://" + l.Addr().String() + "/v1"
}

func (m *keyedMill) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	m.mu.Lock()
	m.calls[key]++
	status := m.refuse[key]
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case status != 0:
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"Not with %s","type":"refused"}}`, key)
		return
	case !strings.Contains(string(body), `"stream":true`):
		_, _ = io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta, finish, usage string) {
		_, _ = fmt.Fprintf(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]%s}`+"\n\n", delta, finish, usage)
		w.(http.Flusher).Flush()
	}
	chunk(`{"role":"assistant","content":"begun "}`, "null", "")
	if strings.Contains(string(body), `"wait"`) {
		<-m.hold
	}
	chunk(`{"content":"and ended"}`, "null", "")
	chunk(`{}`, `"stop"`, `,"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// seen is how many requests came with a key since it was asked last.
func (m *keyedMill) seen(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.calls[key]
	m.calls[key] = 0
	return n
}

func (m *keyedMill) set(key string, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse[key] = status
}

const (
	oldKey = "sk-old-key-of-the-mill-1111"
	newKey = "sk-new-key-of-the-mill-2222"
)

type millKey struct {
	ID      string
	State   string
	Last4   string
	Source  string
	Calls   int64
	Failed  int64
	Limited int64
	Running int64
	Until   *string `json:"resting_until"`
	Refusal *struct {
		Status int
		Words  string
	}
	Nodes []struct{ Node string }
}

// millDesk is an administrator at one of two nodes that share a mill with one key.
type millDesk struct {
	t     *testing.T
	nodes []*apptest.Gateway
	mill  *keyedMill
	boss  *apptest.Account
	users []*apptest.Account // the same at each node
}

func openMillDesk(t *testing.T) *millDesk {
	t.Helper()
	dsn := pgtest.New(t)
	master := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(master, []byte(strings.Repeat("0a1c", 16)), 0o600); err != nil {
		t.Fatal(err)
	}
	mill, address := openKeyedMill(t)
	d := &millDesk{t: t, mill: mill, nodes: apptest.StartNodes(t, 2, dsn, func(s *apptest.Setup) { s.Server.AdminAPI, s.Sealing.MasterKeyFile = true, master })}
	boss := d.nodes[0].NewOwner(t, 100, apikey.NewKey{})
	if err := d.nodes[0].Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	d.boss = boss.Pages
	d.users = apptest.Everywhere(d.nodes, []*apptest.Account{boss.Account})
	d.manage(201, http.MethodPost, "providers", map[string]any{"id": "mill", "base_url": address, "api_key": oldKey})
	d.manage(201, http.MethodPost, "endpoints", map[string]any{"provider": "mill", "model": "mill/chat", "upstream_id": "m", "context_length": 8000, "prices": map[string]any{"prompt": "0.1", "completion": "0.2"}})
	apptest.WaitFor(t, "both nodes to serve the mill", func() bool { return d.ask(0) == 200 && d.ask(1) == 200 })
	return d
}

func (d *millDesk) manage(status int, method, path string, body map[string]any) []byte {
	d.t.Helper()
	got := d.boss.Do(d.t, method, "/api/admin/"+path, body)
	if got.Status != status {
		d.t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	for _, key := range []string{oldKey, newKey} {
		if strings.Contains(string(got.Body), key) {
			d.t.Errorf("%s %s shows a key: %s", method, path, got.Body)
		}
	}
	return got.Body
}

// ask makes a call at a node, and returns its status.
func (d *millDesk) ask(node int) int {
	d.t.Helper()
	return d.users[node].Chat(d.t, map[string]any{"model": "mill/chat", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}).Status
}

func (d *millDesk) keys() []millKey {
	d.t.Helper()
	return apptest.Decode[struct{ Data []millKey }](d.t, d.manage(200, http.MethodGet, "providers/mill/keys", nil)).Data
}

func (d *millDesk) move(status int, id, state string, sure bool) []byte {
	d.t.Helper()
	return d.manage(status, http.MethodPatch, "providers/mill/keys/"+id, map[string]any{"state": state, "sure": sure})
}

// load makes calls at both nodes until the function that it returns is called; that one fails the test unless each call was answered, and some were
// before and after. So a change may be made between both.
func (d *millDesk) load(workers int) (done func()) {
	d.t.Helper()
	var all sync.WaitGroup
	var calls, failed atomic.Int64
	stop := make(chan struct{})
	for i := range workers {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if d.ask(i%2) != http.StatusOK {
					failed.Add(1)
				}
				calls.Add(1)
			}
		})
	}
	more := func() {
		before := calls.Load()
		apptest.WaitFor(d.t, "calls", func() bool { return calls.Load() >= before+int64(4*workers) })
	}
	more()
	return func() {
		d.t.Helper()
		more()
		close(stop)
		all.Wait()
		if n := failed.Load(); n > 0 {
			d.t.Errorf("%d of %d calls failed while the key was changed", n, calls.Load())
		}
	}
}

// only waits until calls of both nodes go over one key, and checks that they do.
func (d *millDesk) only(used, unused string) {
	d.t.Helper()
	apptest.WaitFor(d.t, "both nodes to know it", func() bool {
		d.mill.seen(used)
		d.mill.seen(unused)
		return d.ask(0) == 200 && d.ask(1) == 200 && d.mill.seen(used) == 2 && d.mill.seen(unused) == 0
	})
	for i := range 6 {
		if got := d.ask(i % 2); got != 200 {
			d.t.Errorf("a call got %d", got)
		}
	}
	if u, n := d.mill.seen(used), d.mill.seen(unused); u != 6 || n != 0 {
		d.t.Errorf("of 6 calls %d went over the key in use, %d over the other", u, n)
	}
}

// A key is replaced at two nodes: the new one is added, the old one drained while a stream runs over it, and taken out. No call fails, the
// stream ends, and from the drain on no new call has the old key.
func TestKeyIsRotatedOnAllNodes(t *testing.T) {
	t.Parallel()
	d := openMillDesk(t)
	d.mill.set(newKey, http.StatusUnauthorized)
	refused := d.boss.Do(t, http.MethodPost, "/api/admin/providers/mill/keys", map[string]any{"api_key": newKey})
	if refused.Status != 400 || !strings.Contains(string(refused.Body), "key_refused") || strings.Contains(string(refused.Body), newKey) {
		t.Errorf("a key that the provider refuses: %d %s", refused.Status, refused.Body)
	}
	d.mill.set(newKey, 0)
	added := apptest.Decode[struct {
		Data  millKey
		Tests []struct{ Wrong *string }
	}](t, d.manage(201, http.MethodPost, "providers/mill/keys", map[string]any{"api_key": newKey, "note": "the new one"}))
	if len(added.Tests) != 1 || added.Tests[0].Wrong != nil || added.Data.State != "in_use" || added.Data.Last4 != "2222" {
		t.Fatalf("%+v", added)
	}
	var keys []millKey
	apptest.WaitFor(t, "both nodes to report the old key", func() bool {
		keys = d.keys()
		return len(keys) == 2 && keys[0].Last4 == "1111" && keys[0].Calls >= 2 && len(keys[0].Nodes) == 2
	})
	old := keys[0].ID

	// a stream over the old key, at the node that does not make the change
	done := d.load(8)
	body, _ := json.Marshal(map[string]any{"model": "mill/chat", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "wait"}}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.nodes[1].URL+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.users[1].Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := d.nodes[1].Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for text := ""; !strings.Contains(text, "begun"); {
		if text, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	d.move(200, old, "draining", false)
	done()
	d.only(newKey, oldKey)
	apptest.WaitFor(t, "the running stream to be counted", func() bool { return d.keys()[0].Running == 1 })
	d.move(200, old, "off", false)
	d.only(newKey, oldKey)
	close(d.mill.hold)
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "and ended") || !strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the stream over the old key ends with %v: %s", err, rest)
	}
	apptest.WaitFor(t, "nothing to run over the old key", func() bool { return d.keys()[0].Running == 0 })
	if got := string(d.move(409, keys[1].ID, "draining", false)); !strings.Contains(got, "last_key") {
		t.Errorf("the last key: %s", got)
	}
	done = d.load(8)
	d.move(200, old, "in_use", false)
	d.move(200, old, "off", false)
	d.manage(200, http.MethodDelete, "providers/mill/keys/"+old, nil)
	done()
	d.only(newKey, oldKey)
	if keys := d.keys(); len(keys) != 1 {
		t.Errorf("%+v", keys)
	}
	log := string(d.manage(200, http.MethodGet, "catalog/history", nil))
	for _, action := range []string{"add", "drain", "out", "return", "forget"} {
		if !strings.Contains(log, "catalog_key."+action) {
			t.Errorf("no catalog_key.%s in the history", action)
		}
	}
}

// What users of other gateways report of several keys. A refused key takes out neither the provider nor the other keys (QuantumNous/new-api#3537,
// #7040; router-for-me/CLIProxyAPI#3975), and is used again by itself when it works; what is off is never asked, not even to look
// (maximhq/bifrost#5037).
func TestOneKeyOfSeveralIsRefused(t *testing.T) {
	t.Parallel()
	for status, counted := range map[int]func(millKey) int64{
		http.StatusUnauthorized:    func(k millKey) int64 { return k.Failed },
		http.StatusPaymentRequired: func(k millKey) int64 { return k.Failed },
		http.StatusTooManyRequests: func(k millKey) int64 { return k.Limited },
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			d := openMillDesk(t)
			d.manage(201, http.MethodPost, "providers/mill/keys", map[string]any{"api_key": newKey})
			apptest.WaitFor(t, "both nodes to have both keys", func() bool {
				d.mill.set(oldKey, status)
				defer d.mill.set(oldKey, 0)
				return d.ask(0) == 200 && d.ask(1) == 200
			})
			d.mill.set(oldKey, status)
			for i := range 6 {
				if got := d.ask(i % 2); got != 200 {
					t.Errorf("call %d got %d", i, got)
				}
			}
			var k millKey
			apptest.WaitFor(t, "both nodes to report the key, which rests", func() bool {
				if d.ask(0) != 200 || d.ask(1) != 200 { // a slow machine may see its rest end
					t.Error("a call failed because of one key")
				}
				k = d.keys()[0]
				return len(k.Nodes) == 2 && counted(k) >= 2 && k.Until != nil
			})
			if k.State != "in_use" || k.Refusal == nil || k.Refusal.Status != status || strings.Contains(k.Refusal.Words, oldKey) || !strings.Contains(k.Refusal.Words, "Not with") {
				t.Errorf("%+v %+v", k, k.Refusal)
			}
			d.mill.seen(oldKey)
			d.move(200, k.ID, "off", false)
			d.only(newKey, oldKey)
			d.manage(200, http.MethodPost, "providers/mill/test", nil)
			if n := d.mill.seen(oldKey); n != 0 {
				t.Errorf("the test of the provider shows it a key that is off, %d times", n)
			}
		})
	}
}
