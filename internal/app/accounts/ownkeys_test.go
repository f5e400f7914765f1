package accounts_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/ownkey"
	"weir/internal/sim"
	"weir/internal/store/postgres/pgtest"
)

// keyRecorder is a provider that records the key of each request, and refuses the keys that a test names.
type keyRecorder struct {
	mu     sync.Mutex
	sent   []apptest.Sent
	refuse map[string]int
	sim    *sim.Server
	origin string
}

func openDesk(t *testing.T) *keyRecorder {
	t.Helper()
	d := &keyRecorder{refuse: map[string]int{}, sim: sim.New(sim.Config{})}
	server := &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	l := apptest.Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _, _ = server.Close(), d.sim.Close(context.Background()) })
	d.origin = "http://" + l.Addr().String()
	return d
}

func (d *keyRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	status := 0
	d.mu.Lock()
	d.sent = append(d.sent, apptest.Sent{Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body})
	for key, s := range d.refuse {
		if shows(r.Header, key) {
			status = s
		}
	}
	d.mu.Unlock()
	if status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"No: %s","type":"refused"}}`, r.Header.Get("Authorization"))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.sim.ServeHTTP(w, r)
}

// shows reports whether a header has a text in any of its fields.
func shows(h http.Header, text string) bool {
	for _, values := range h {
		for _, v := range values {
			if strings.Contains(v, text) {
				return true
			}
		}
	}
	return false
}

// set has a key refused with a status, 0 accepted.
func (d *keyRecorder) set(key string, status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse[key] = status
}

// with counts the requests that showed a key, and forgets all.
func (d *keyRecorder) with(keys ...string) (n []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		count := 0
		for _, s := range d.sent {
			if shows(s.Header, key) {
				count++
			}
		}
		n = append(n, count)
	}
	d.sent = nil
	return n
}

const (
	deskKey  = "operator-key-of-the-desk"
	spareKey = "operator-key-of-the-spare"
	mine     = "own-key-0123456789-mine"
)

// declare adds the desk and a second provider with the same model.
func (d *keyRecorder) declare(t *testing.T) func(*apptest.Setup) {
	return func(s *apptest.Setup) {
		for id, key := range map[string]string{"desk": deskKey, "spare": spareKey} {
			s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: id, Name: strings.ToUpper(id[:1]) + id[1:], Dialect: "openai", BaseURL: d.origin + "/v1", Key: key, Headers: map[string]string{"X-Operator": deskKey}})
		}
		dear := apptest.OfferOf(t, "spare", "own/both", "chat")
		dear.Pricing.Base.Completion = apptest.Price(t, "4")
		s.Declared.Offers = append(s.Declared.Offers, apptest.OfferOf(t, "desk", "own/chat", "chat"), apptest.OfferOf(t, "desk", "own/both", "chat"), dear)
	}
}

// key is a provider key as the API shows it.
type key struct {
	ID, Provider, Last4, Order, State string
	UsedAt                            *string `json:"used_at"`
	LastError                         *struct {
		Code, Message string
		Status        int
	} `json:"last_error"`
}

// bring adds a key, and fails unless that has a status.
func bring(t *testing.T, a *apptest.Account, provider, secret, order string, status int) key {
	t.Helper()
	got := a.Do(t, http.MethodPost, "/api/provider-keys", map[string]any{"provider": provider, "key": secret, "order": order})
	if got.Status != status {
		t.Fatalf("%s: %d %s", provider, got.Status, got.Body)
	}
	if bytes.Contains(got.Body, []byte(secret)) {
		t.Errorf("the answer has the key: %s", got.Body)
	}
	return apptest.Decode[struct{ Data key }](t, got.Body).Data
}

// owned are an account's keys.
func owned(t *testing.T, a *apptest.Account) []key {
	t.Helper()
	got := a.Do(t, http.MethodGet, "/api/provider-keys", nil)
	if got.Status != http.StatusOK || bytes.Contains(got.Body, []byte(mine)) {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return apptest.Decode[struct{ Data []key }](t, got.Body).Data
}

func ask(model, word string) map[string]any {
	return map[string]any{"model": model, "messages": []any{map[string]any{"role": "user", "content": word}}}
}

// In every style and on every wire, the owner's calls go with the owner's key and nothing of the operator's, at a twentieth of the price;
// everybody else's go with the operator's key.
func TestOwnKeysOnEveryWire(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, apptest.Sealing(t))
	o, other := c.NewOwner(t, 1000, apikey.NewKey{}), c.NewOwner(t, 1000, apikey.NewKey{})
	for _, on := range apptest.Dialects {
		secret, token := "own-key-of-"+on.Name+"-1234", ""
		if on.Name == "gigachat" { // which is exchanged for a token
			secret = "owner:" + secret
			token = base64.StdEncoding.EncodeToString([]byte(secret))
		}
		bring(t, o.Pages, "on-"+on.Name, secret, "before", http.StatusCreated)
		for i, style := range []string{"chat", "responses", "messages"} {
			for _, own := range []bool{true, false} {
				who, word := other, fmt.Sprintf("%s%dtheirs", on.Name, i)
				if own {
					who, word = o, fmt.Sprintf("%s%downers", on.Name, i)
				}
				where := fmt.Sprint(style, " on ", on.Name, ", own: ", own)
				body, path := ask(on.Name+"/chat", word), "/v1/chat/completions"
				switch style {
				case "responses":
					path, body = "/v1/responses", map[string]any{"model": on.Name + "/chat", "input": word}
				case "messages":
					path, body["max_tokens"] = "/v1/messages", 100
				}
				got := who.Account.Do(t, http.MethodPost, path, body)
				sent := c.Received(word)
				if got.Status != http.StatusOK || len(sent) != 1 {
					t.Fatalf("%s: %d %s, %d requests", where, got.Status, got.Body, len(sent))
				}
				if shows(sent[0].Header, "own-key") != (own && token == "") || shows(sent[0].Header, "sk-upstream") != (!own && token == "") {
					t.Errorf("%s: sent with %v", where, sent[0].Header)
				}
				call := who.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id"))
				if (call["own_key"] != nil) != own || elements(call["attempts"])[0]["own_key"] != call["own_key"] {
					t.Errorf("%s: the record says %v, %v", where, call["own_key"], call["attempts"])
				}
				if style != "messages" && bytes.Contains(got.Body, []byte(`"is_byok":true`)) != own {
					t.Errorf("%s: %s", where, got.Body)
				}
				generation := apptest.Decode[struct {
					Data struct {
						IsByok bool `json:"is_byok"`
					}
				}](t, who.Account.Do(t, http.MethodGet, "/v1/generation?id="+got.Header.Get("X-Generation-Id"), nil).Body)
				if generation.Data.IsByok != own {
					t.Errorf("%s: the generation says %v", where, generation)
				}
				used, _ := call["usage"].(map[string]any)
				prices := ""
				for _, part := range elements(used["parts"]) {
					prices += fmt.Sprint(part["kind"], " ", part["price"], " ")
				}
				if want := map[bool]string{true: "prompt 0.005 completion 0.02 ", false: "prompt 0.1 completion 0.4 "}[own]; prices != want {
					t.Errorf("%s: charged by %s", where, prices)
				}
			}
		}
		if token != "" {
			c.Mu.Lock()
			exchanged := false
			for _, s := range c.Sent {
				exchanged = exchanged || s.Path == "/api/v2/oauth" && shows(s.Header, token)
			}
			c.Mu.Unlock()
			if !exchanged {
				t.Errorf("the key of %s was not exchanged", on.Name)
			}
		}
	}
	c.Mu.Lock()
	for _, s := range c.Sent { // each own key has gone to its own provider alone
		for _, on := range apptest.Dialects {
			if secret := "own-key-of-" + on.Name + "-1234"; shows(s.Header, secret) && on.Base != "" && !strings.HasPrefix(s.Path, on.Base) {
				t.Errorf("the key of %s went to %s", on.Name, s.Path)
			}
		}
	}
	c.Mu.Unlock()
	if strings.Contains(c.Log.String(), "own-key") {
		t.Error("an own key is in the log")
	}
	o.Account.AwaitSettled(t)
	c.WantBalanced(t)
}

// Whatever becomes of a person's key, shared endpoints are as healthy as before, others are served, and its owner reads why.
func TestOwnKeysThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
	}{{401, "refused"}, {403, "refused"}, {402, "no_credit"}, {429, "rate_limited"}, {404, "no_model"}, {500, "unavailable"}, {503, "unavailable"}} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			gw := apptest.StartGateway(t, apptest.Sealing(t), d.declare(t), func(s *apptest.Setup) { s.Health.EjectAfter, s.Health.CoolDownAfter = 2, 1 })
			o, other := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
			k := bring(t, o.Pages, "desk", mine, "before", http.StatusCreated)
			d.set(mine, c.status)
			for i := range 5 {
				got := o.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/chat", "hello"))
				if got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte(`"is_byok":false`)) {
					t.Fatalf("%d: %d %s", i, got.Status, got.Body)
				}
			}
			if n := d.with(mine, deskKey); n[0] == 0 || n[1] < 5 {
				t.Errorf("%d requests with the own key, %d with the gateway's", n[0], n[1])
			}
			shown := owned(t, o.Pages)[0]
			if e := shown.LastError; e == nil || e.Code != c.code || e.Status != c.status || !strings.Contains(e.Message, "Desk") {
				t.Errorf("%+v", shown)
			}
			healthy(t, other, "own/chat")
			if got := o.Pages.Do(t, http.MethodPatch, "/api/provider-keys/"+k.ID, map[string]any{"order": "only"}); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			d.with()
			got := o.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/both", "hello"))
			if n := d.with(mine, deskKey, spareKey); got.Status < 400 || n[0] == 0 || n[1]+n[2] != 0 {
				t.Errorf("only: %d %s after %v requests", got.Status, got.Body, n)
			}
			if bytes.Contains(got.Body, []byte(mine)) || strings.Contains(gw.Log.String(), mine) {
				t.Errorf("the key is in an answer or in the log: %s", got.Body)
			}
			healthy(t, other, "own/chat")
			d.set(mine, 0)
			for range 2 {
				if got := o.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/both", "hello")); got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte(`"is_byok":true`)) {
					t.Errorf("%d %s", got.Status, got.Body)
				}
			}
			if shown := owned(t, o.Pages)[0]; shown.LastError != nil || shown.UsedAt == nil {
				t.Errorf("after it works again: %+v", shown)
			}
			o.Account.AwaitSettled(t)
			gw.WantBalanced(t)
		})
	}
}

// healthy fails unless another account is served at once by the shared endpoint, about which nothing bad is known.
func healthy(t *testing.T, other *apptest.Owner, model string) {
	t.Helper()
	explained := other.Account.Do(t, http.MethodPost, "/v1/route/explain", ask(model, "hello"))
	plan := apptest.Decode[struct {
		Data struct {
			Candidates []struct {
				OwnKey *string `json:"own_key"`
				Health struct {
					Failing, Ejected bool
					CoolDown         bool `json:"cool_down"`
				}
			}
		}
	}](t, explained.Body).Data.Candidates
	if len(plan) != 1 || plan[0].OwnKey != nil || plan[0].Health.Failing || plan[0].Health.Ejected || plan[0].Health.CoolDown {
		t.Errorf("%s", explained.Body)
	}
	got := other.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask(model, "hello"))
	call := other.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id"))
	if got.Status != http.StatusOK || len(elements(call["attempts"])) != 1 {
		t.Errorf("%d %s after %v", got.Status, got.Body, call["attempts"])
	}
}

// What is held is the dearest possible outcome: the fee where only an own key may serve, else the price of the fallback.
func TestOwnKeysHold(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	gw := apptest.StartGateway(t, apptest.Sealing(t), d.declare(t))
	rich, o := gw.NewOwner(t, 1000, apikey.NewKey{}), gw.NewOwner(t, 1, apikey.NewKey{}) // a call holds for 4000 tokens: 0.08 rubles of fee, 1.6 of price
	k := bring(t, o.Pages, "desk", mine, "before", http.StatusCreated)
	richKey := bring(t, rich.Pages, "desk", mine+"2", "before", http.StatusCreated)
	explain := func(a *apptest.Account) map[bool]money.Nano {
		holds := map[bool]money.Nano{}
		for _, c := range elements(apptest.Decode[struct{ Data map[string]any }](t, a.Do(t, http.MethodPost, "/v1/route/explain", ask("own/both", "hello")).Body).Data["candidates"]) {
			if c["dropped_by"] == nil {
				own := c["own_key"] != nil
				holds[own] = max(holds[own], rubles(t, c["hold"]))
			}
		}
		return holds
	}
	holds := explain(rich.Account)
	if holds[true] == 0 || holds[false] < 100*holds[true] {
		t.Fatalf("%v", holds)
	}
	held := func(order string, own bool) {
		t.Helper()
		if got := rich.Pages.Do(t, http.MethodPatch, "/api/provider-keys/"+richKey.ID, map[string]any{"order": order}); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		got := rich.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/both", "hello"))
		call := rich.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id"))
		hold, _ := call["hold"].(map[string]any)
		want := holds[false]
		if order == "only" {
			want = holds[true]
		}
		if amount := rubles(t, hold["amount"]); order != "after" && amount != want || (call["own_key"] != nil) != own {
			t.Errorf("%s: %s is held, want %s; %v served", order, amount, want, call["own_key"])
		}
	}
	held("before", true)
	held("only", true)
	held("after", false)
	poor := o.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/both", "hello"))
	if n := d.with(mine + `"`); poor.Status != http.StatusPaymentRequired || n[0] != 0 {
		t.Errorf("%d %s", poor.Status, poor.Body)
	}
	if got := o.Pages.Do(t, http.MethodPatch, "/api/provider-keys/"+k.ID, map[string]any{"order": "only"}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	for _, stream := range []bool{false, true} {
		body := ask("own/both", "hello")
		body["stream"] = stream
		if got := o.Account.Do(t, http.MethodPost, "/v1/chat/completions", body); got.Status != http.StatusOK {
			t.Errorf("stream %v: %d %s", stream, got.Status, got.Body)
		}
	}
	o.Account.AwaitSettled(t)
	rich.Account.AwaitSettled(t)
	gw.WantBalanced(t)
}

// A key that is removed on one node is used by none. With "only", calls then say what to do instead of costing the whole price.
func TestOwnKeysRemoved(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	nodes := apptest.StartNodes(t, 2, pgtest.New(t), apptest.Sealing(t), d.declare(t))
	o := nodes[0].NewOwner(t, 100, apikey.NewKey{})
	there := &apptest.Account{Gw: nodes[1], Key: o.Account.Key}
	k := bring(t, o.Pages, "desk", mine, "only", http.StatusCreated)
	call := func(want int, own bool, reason string) {
		t.Helper()
		for _, a := range []*apptest.Account{o.Account, there} {
			got := a.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/both", "hello"))
			n := d.with(mine)
			if got.Status != want || bytes.Contains(got.Body, []byte(`"is_byok":true`)) != own || (n[0] > 0) != own || !bytes.Contains(got.Body, []byte(reason)) {
				t.Errorf("%d %s after %v requests with the key", got.Status, got.Body, n)
			}
		}
	}
	change := func(method string, body map[string]any) {
		t.Helper()
		if got := o.Pages.Do(t, method, "/api/provider-keys/"+k.ID, body); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	call(http.StatusOK, true, "")
	change(http.MethodPatch, map[string]any{"enabled": false})
	call(http.StatusNotFound, false, "own_key_off")
	change(http.MethodPatch, map[string]any{"enabled": true})
	call(http.StatusOK, true, "")
	change(http.MethodDelete, nil)
	if got := owned(t, o.Pages); len(got) != 1 || got[0].State != "removed" {
		t.Errorf("%+v", got)
	}
	call(http.StatusNotFound, false, "own_key_removed")
	change(http.MethodPatch, map[string]any{"key": mine})
	call(http.StatusOK, true, "")
	change(http.MethodDelete, nil)
	change(http.MethodDelete, nil)
	call(http.StatusOK, false, "")
	if got := owned(t, o.Pages); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// No other account can see, change, test or use a key, and invalid input is refused.
func TestOwnKeysAreTheirOwners(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	gw := apptest.StartGateway(t, apptest.Sealing(t), d.declare(t), func(s *apptest.Setup) { s.OwnKeys.TestsPerMinute, s.OwnKeys.MaxPerAccount = 3, 1 })
	o, other := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
	k := bring(t, o.Pages, "desk", mine, "before", http.StatusCreated)
	for _, c := range []struct{ method, path string }{{http.MethodPatch, ""}, {http.MethodDelete, ""}, {http.MethodPost, "/test"}} {
		body := map[string]any{"order": "only"}
		if c.method != http.MethodPatch {
			body = nil
		}
		theirs := other.Pages.Do(t, c.method, "/api/provider-keys/"+k.ID+c.path, body)
		none := other.Pages.Do(t, c.method, "/api/provider-keys/pk_000000000000000000000000"+c.path, body)
		if theirs.Status != http.StatusNotFound || none.Status != http.StatusNotFound || message(t, theirs.Body) != message(t, none.Body) {
			t.Errorf("%s: %d %s; %d %s", c.method, theirs.Status, theirs.Body, none.Status, none.Body)
		}
		if got := o.Account.Do(t, c.method, "/api/provider-keys/"+k.ID+c.path, body); got.Status != http.StatusForbidden {
			t.Errorf("a key that calls models: %d", got.Status)
		}
	}
	if got := owned(t, other.Pages); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := owned(t, o.Pages); len(got) != 1 || got[0].Order != "before" || got[0].Last4 != "mine" {
		t.Errorf("%+v", got)
	}
	bring(t, o.Pages, "desk", mine+"2", "before", http.StatusConflict)
	bring(t, o.Pages, "spare", mine+"2", "before", http.StatusBadRequest) // one more than an account may have
	for _, body := range []string{
		`{"provider":"desk"}`, `{"key":"abcdefghij"}`, `{"provider":"nobody","key":"abcdefghij"}`, `{"provider":"works","key":"abcdefghij"}`, `{"provider":"desk","key":"short"}`,
		`{"provider":"desk","key":"{\"type\":\"service_account\",\"token_uri\":\"http://127.0.0.1/\"}"}`, `{"provider":"desk","key":"has space inside"}`,
		`{"provider":"desk","key":"line\r\nX-Injected: 1"}`, `{"provider":"desk","key":"abcdefghij","order":"first"}`, `{"provider":"desk","key":"abcdefghij","base_url":"http://127.0.0.1"}`,
		`{"provider":"desk","key":7}`, `{"provider":"desk","key":"abcdefghij","enabled":"yes"}`, `[]`, `{`,
	} {
		if got := other.Pages.Send(t, http.MethodPost, "/api/provider-keys", []byte(body), nil); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	}
	d.with()
	statuses := map[int]int{}
	for range 5 {
		got := o.Pages.Do(t, http.MethodPost, "/api/provider-keys/"+k.ID+"/test", nil)
		statuses[got.Status]++
		if got.Status == http.StatusOK && !bytes.Contains(got.Body, []byte(`"accepted":true`)) {
			t.Errorf("%s", got.Body)
		}
	}
	if n := d.with(mine, deskKey); statuses[http.StatusOK] != 3 || statuses[http.StatusTooManyRequests] != 2 || n[0] != 3 || n[1] != 0 {
		t.Errorf("%v, %v", statuses, n)
	}
}

func message(t *testing.T, body []byte) string {
	t.Helper()
	var e struct{ Error struct{ Message string } }
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	return e.Error.Message
}

// A test call reports whether the key is accepted, refused, or whether that cannot be determined.
func TestOwnKeysAreTested(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	gw := apptest.StartGateway(t, apptest.Sealing(t), d.declare(t))
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	k := bring(t, o.Pages, "desk", mine, "only", http.StatusCreated)
	for _, c := range []struct {
		status   int
		accepted string
		code     string
	}{{0, "true", ""}, {401, "false", "refused"}, {403, "false", "refused"}, {402, "false", "no_credit"}, {429, "false", "rate_limited"}, {404, "true", "no_model"}, {400, "true", ""}, {500, "null", "unavailable"}, {0, "true", ""}} {
		d.set(mine, c.status)
		got := o.Pages.Do(t, http.MethodPost, "/api/provider-keys/"+k.ID+"/test", nil)
		if got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte(`"accepted":`+c.accepted)) || c.code != "" && !bytes.Contains(got.Body, []byte(`"code":"`+c.code+`"`)) || bytes.Contains(got.Body, []byte(mine)) {
			t.Errorf("%d: %d %s", c.status, got.Status, got.Body)
		}
		code := ""
		if e := owned(t, o.Pages)[0].LastError; e != nil {
			code = e.Code
		}
		if c.status != 400 && code != c.code {
			t.Errorf("%d: the list shows %q", c.status, code)
		}
	}
	if credits := o.Page(t, "/api/overview"); credits == nil {
		t.Error("no overview")
	}
	if n := d.with(deskKey); n[0] != 0 {
		t.Error("a test used the operator's key")
	}
}

// An operator who switches own keys off has none added and none used; who said "only" reads why.
func TestOwnKeysOff(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	keep := func(s *apptest.Setup) { s.OwnKeys.Fee = ownkey.Fee{Amount: money.Price{Nano: 250_000_000, Set: true}} }
	gw := apptest.StartGateway(t, apptest.Sealing(t), d.declare(t), keep)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	bring(t, o.Pages, "desk", mine, "only", http.StatusCreated)
	got := o.Account.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/both", "hello"))
	if call := o.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id")); rubles(t, call["cost"]) != money.Ruble/4 {
		t.Errorf("a fee of an amount: %v", call["cost"])
	}
	o.Account.AwaitSettled(t)
	gw.WantBalanced(t)
	off := apptest.StartGateway(t, apptest.Sealing(t), d.declare(t), func(s *apptest.Setup) { s.OwnKeys.Enabled = false })
	p := off.NewOwner(t, 100, apikey.NewKey{})
	bring(t, p.Pages, "desk", mine, "only", http.StatusConflict)
	list := apptest.Decode[struct {
		Enabled   bool
		Providers []any
	}](t, p.Pages.Do(t, http.MethodGet, "/api/provider-keys", nil).Body)
	if list.Enabled || len(list.Providers) != 0 {
		t.Errorf("%+v", list)
	}
	started := 0
	nodes := apptest.StartNodes(t, 2, pgtest.New(t), apptest.Sealing(t), d.declare(t), func(s *apptest.Setup) {
		s.OwnKeys.Enabled = started == 0
		started++
	})
	r := nodes[0].NewOwner(t, 100, apikey.NewKey{})
	bring(t, r.Pages, "desk", mine, "only", http.StatusCreated)
	d.with()
	there := &apptest.Account{Gw: nodes[1], Key: r.Account.Key}
	refused := there.Do(t, http.MethodPost, "/v1/chat/completions", ask("own/chat", "hello"))
	if n := d.with(mine, deskKey); refused.Status != http.StatusNotFound || !bytes.Contains(refused.Body, []byte("own_key_not_taken")) || n[0]+n[1] != 0 {
		t.Errorf("a node without own keys: %d %s after %v requests", refused.Status, refused.Body, n)
	}
	bare := apptest.StartNodes(t, 1, pgtest.New(t), d.declare(t))[0] // without a master key: one with a database of its own makes one
	q := bare.NewOwner(t, 100, apikey.NewKey{})
	bring(t, q.Pages, "desk", mine, "only", http.StatusConflict)
}
