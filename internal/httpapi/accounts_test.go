package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

func TestCredits(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for name, key := range map[string]string{"API key": n.first.KeyText, "management key": n.first.ManagementKey} {
		r := n.do("GET", "/v1/credits", "", "Authorization", "Bearer "+key)
		const want = `{"data":{"total_credits":100,"total_usage":0.000000001,"balance":99.999999999,"reserved":0.000000007,"currency":"RUB"}}`
		if string(r.body) != want {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	if n.books.asked[0] != "balance "+n.first.User.Wallet {
		t.Errorf("asked %q", n.books.asked)
	}
	n.books.err = fault.New(fault.StorageUnavailable, "x", "Away.")
	wantError(t, n.do("GET", "/v1/credits", ""), 503, fault.StorageUnavailable)
	n.books.err = fmt.Errorf("driver: canary")
	if r := n.do("GET", "/v1/credits", ""); strings.Contains(string(r.body), "canary") {
		t.Errorf("the cause is shown: %s", r.body)
	} else {
		wantError(t, r, 500, fault.Internal)
	}
}

func TestActivity(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	if r := n.do("GET", "/v1/activity", ""); string(r.body) != `{"data":[],"currency":"RUB"}` {
		t.Errorf("empty: %s", r.body)
	}
	n.books.rows = []ledger.ActivityRow{{Date: "2026-01-02", Model: "acme/small", Cost: 1500000000, Requests: 2, PromptTokens: 3, CompletionTokens: 4, ReasoningTokens: 5, Refunded: 500000000}}
	const row = `{"date":"2026-01-02","model":"acme/small","cost":"1.5","requests":2,"prompt_tokens":3,"completion_tokens":4,"reasoning_tokens":5,"refunded":"0.5"}`
	if r := n.do("GET", "/v1/activity", ""); string(r.body) != `{"data":[`+row+`],"currency":"RUB"}` {
		t.Errorf("one row: %s", r.body)
	}
	day := func(back int) string { return time.Now().UTC().AddDate(0, 0, -back).Format("2006-01-02") }
	for query, want := range map[string]string{
		"":                                  " " + day(30) + " " + day(1),
		"?date=" + day(1):                   " " + day(1) + " " + day(1),
		"?date=" + day(30):                  " " + day(30) + " " + day(30),
		"?api_key_hash=" + n.first.Key.Hash: n.first.Key.ID + " " + day(30) + " " + day(1),
	} {
		if r := n.do("GET", "/v1/activity"+query, ""); r.StatusCode != 200 {
			t.Errorf("%s: %d", query, r.StatusCode)
		}
		if got := n.books.asked[len(n.books.asked)-1]; got != "activity "+n.first.User.Wallet+" "+want {
			t.Errorf("%s: asked %q; want %q", query, got, want)
		}
	}
	for _, query := range []string{"?date=", "?date=" + day(0), "?date=" + day(31), "?date=" + day(-1), "?date=2026-02-30", "?date=2026-1-1", "?date=x%00", "?date=%ff", "?date=2026-01-01T00:00:00Z"} {
		m := wantError(t, n.do("GET", "/v1/activity"+query, ""), 400, fault.Invalid)
		if at(m, "error", "metadata", "param") != "date" {
			t.Errorf("%s: %v", query, m)
		}
	}
	wantError(t, n.do("GET", "/v1/activity?%zz", ""), 400, fault.Invalid)
	wantError(t, n.do("GET", "/v1/activity?api_key_hash="+strings.Repeat("0", 64), ""), 404, fault.NotFound)
}

func settledCall() *record.Call {
	return &record.Call{
		Generation: "gen-1-a", Request: "req_1", User: "usr_1", Key: "key_1", API: "completions", At: time.Unix(1_700_000_000, 0),
		ModelAsked: "acme/small", Model: "acme/small", Provider: "best", ProviderName: "Best", Endpoint: "best/acme/small",
		Status: 200, Finish: "stop", NativeFinish: "end_turn", Settled: true, Cost: 40, Hold: 100, PriceList: "list-1", Rate: "rate-1",
		Usage:        usage.Usage{Prompt: usage.Of(300), Completion: usage.Of(20), Reasoning: usage.Of(5), CacheRead: usage.Of(7), UpstreamCost: "0.00012", Source: usage.Estimated},
		Lines:        []usage.Line{{Kind: usage.KindPrompt, Quantity: 300, Price: 50_000_000}, {Kind: usage.KindRequest, Quantity: 1, Price: 7}},
		FirstContent: 120 * time.Millisecond, Generating: 80 * time.Millisecond, Duration: 210 * time.Millisecond,
		Catalog: "c-1", Candidates: []record.Candidate{{Endpoint: "best/acme/small", Order: 1, Score: 0.5, Reason: "weight", Slug: "acme/small", Prompt: 50_000_000, Completion: 100_000_000, PerRequest: 7}, {Endpoint: "gone/x", DroppedBy: "only", Detail: "Not listed."}},
		Attempts: []record.Attempt{{Endpoint: "best/acme/small", Provider: "best", Status: 200, FirstContent: 120 * time.Millisecond, Ended: 200 * time.Millisecond},
			{Endpoint: "x", Provider: "p", Status: 500, Reason: "provider_unavailable", Started: time.Millisecond, Ended: 2 * time.Millisecond}},
		Metadata: `{"a":"b"}`, Session: "s",
	}
}

func TestGenerationAndCall(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	n.books.calls[n.first.User.Wallet+"gen-1-a"] = settledCall()
	m := n.do("GET", "/v1/generation?id=gen-1-a", "").json(t)
	for _, c := range []struct {
		field string
		want  any
	}{
		{"id", "gen-1-a"}, {"created_at", "2023-11-14T22:13:20Z"}, {"provider_name", "Best"}, {"api_type", "completions"}, {"latency", 120.},
		{"generation_time", 80.}, {"tokens_prompt", 300.}, {"native_tokens_reasoning", 5.}, {"native_tokens_cached", 7.}, {"total_cost", 4e-8},
		{"upstream_inference_cost", nil}, {"currency", "RUB"}, {"native_finish_reason", "end_turn"}, {"cache_discount", nil}, {"request_id", "req_1"},
	} {
		if got := at(m, "data", c.field); got != c.want {
			t.Errorf("generation: %s is %v; want %v", c.field, got, c.want)
		}
	}
	if at(m, "data", "provider_responses", 1, "status") != 500. || at(m, "data", "provider_responses", 0, "provider_name") != "Best" ||
		at(m, "data", "provider_responses", 1, "provider_name") != "p" {
		t.Errorf("provider responses: %v", m)
	}
	const candidates = `[{"endpoint":"best/acme/small","model":"acme/small","order":1,"own_key":null,"dropped_by":null,"detail":null,
		"score":{"value":0.5,"by":"weight","meaning":"Its weight in the random choice of the first place: 1/price squared, or what the operator set."},
		"price":{"prompt_per_1k":"0.05","completion_per_1k":"0.1","request":"0.000000007"}},
		{"endpoint":"gone/x","model":null,"order":0,"own_key":null,"dropped_by":"only","detail":"Not listed.","score":null,"price":null}]`
	exactly(t, "generation's metadata", at(m, "data", "metadata"), `{"client":{"a":"b"},"routing":{"catalog_version":"c-1","candidates":`+candidates+`,"attempts":[
		{"endpoint":"best/acme/small","provider":"best","own_key":null,"status":200,"reason":null,"started_ms":0,"first_token_ms":120,"ended_ms":200},
		{"endpoint":"x","provider":"p","own_key":null,"status":500,"reason":"provider_unavailable","started_ms":1,"first_token_ms":null,"ended_ms":2}]}}`)
	m = n.manage("GET", "/api/calls/gen-1-a", "").json(t)
	exactly(t, "call's candidates", at(m, "data", "plan", "candidates"), candidates)
	for _, c := range []struct {
		path []any
		want any
	}{
		{[]any{"attempts", 0, "first_token_ms"}, 120.},
		{[]any{"attempts", 1, "first_token_ms"}, nil},
		{[]any{"attempts", 1, "reason"}, "provider_unavailable"},
		{[]any{"usage", "parts", 0, "cost"}, "0.015"},
		{[]any{"usage", "parts", 0, "price"}, "0.05"},
		{[]any{"usage", "parts", 1, "unit"}, "request"}, {[]any{"usage", "upstream_cost_usd"}, "0.00012"},
		{[]any{"usage", "parts", 1, "cost"}, "0.000000007"},
		{[]any{"usage", "source"}, "estimated"},
		{[]any{"price", "list"}, "list-1"},
		{[]any{"hold", "amount"}, "0.0000001"},
		{[]any{"hold", "released"}, "0.00000006"},
		{[]any{"entries", 1}, 12.},
		{[]any{"metadata", "a"}, "b"},
		{[]any{"cost"}, "0.00000004"},
	} {
		if got := at(m, append([]any{"data"}, c.path...)...); got != c.want {
			t.Errorf("call: %v is %v; want %v", c.path, got, c.want)
		}
	}
	wantError(t, n.do("GET", "/v1/generation", ""), 400, fault.Invalid)
	unknown := n.do("GET", "/v1/generation?id=gen-2-b", "")
	wantError(t, unknown, 404, fault.NotFound)
	wantError(t, n.do("GET", "/api/calls/gen-2-b", ""), 404, fault.NotFound)

	// somebody else's call is answered like one that does not exist
	other, key := secondUser(t, n)
	foreign := n.do("GET", "/v1/generation?id=gen-1-a", "", "Authorization", "Bearer "+key)
	wantError(t, foreign, 404, fault.NotFound)
	if at(foreign.json(t), "error", "message") != at(unknown.json(t), "error", "message") {
		t.Errorf("%s differs from %s", foreign.body, unknown.body)
	}
	wantError(t, n.do("GET", "/api/calls/gen-1-a", "", "Authorization", "Bearer "+key), 404, fault.NotFound)
	_ = other
}

// Cached tokens show what they saved.
func TestCacheDiscount(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for name, c := range map[string]struct {
		change   func(*record.Call)
		discount any
	}{
		"none": {func(*record.Call) {}, nil},
		"cache read": {func(c *record.Call) {
			c.Lines = append(c.Lines, usage.Line{Kind: usage.KindCacheRead, Quantity: 1000, Price: 5_000_000})
		}, 0.045},
		"cache write": {func(c *record.Call) {
			c.Lines = append(c.Lines, usage.Line{Kind: usage.KindCacheWrite1h, Quantity: 2000, Price: 100_000_000})
		}, -0.1},
		"all of it read": {func(c *record.Call) {
			c.Lines = []usage.Line{{Kind: usage.KindCacheRead, Quantity: 1000, Price: 5_000_000}}
		}, nil},
	} {
		call := settledCall()
		c.change(call)
		n.books.calls[n.first.User.Wallet+"gen-1-a"] = call
		m := at(n.do("GET", "/v1/generation?id=gen-1-a", "").json(t), "data")
		if got := at(m, "cache_discount"); got != c.discount {
			t.Errorf("%s: cache discount %v; want %v", name, got, c.discount)
		}
	}
}

func secondUser(t *testing.T, n *node) (account.User, string) {
	t.Helper()
	u, err := n.users.Create(t.Context(), "Boris", audit.Actor{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := n.keys.Create(t.Context(), apikey.NewKey{Name: "x", User: u.ID, Creator: u.ID}, audit.Actor{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return u, text
}

func TestKeyInfo(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	k, text, err := n.keys.Create(t.Context(), apikey.NewKey{Name: "x", User: n.first.User.ID, Creator: n.first.User.ID,
		Limit: &apikey.Limit{Amount: 10 * money.Ruble, Reset: apikey.Weekly}}, audit.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	n.books.spend[k.ID] = ledger.KeySpend{Total: 20 * money.Ruble, Daily: 1, Weekly: 4 * money.Ruble, Monthly: 9 * money.Ruble}
	m := n.do("GET", "/v1/key", "", "Authorization", "Bearer "+text).json(t)
	for field, want := range map[string]any{"label": k.Label, "limit": 10., "limit_remaining": 6., "limit_reset": "weekly", "usage": 20., "usage_daily": 1e-9,
		"usage_weekly": 4., "usage_monthly": 9., "is_management_key": false, "is_provisioning_key": false, "expires_at": nil, "creator_user_id": n.first.User.ID,
		"byok_usage": 0., "include_byok_in_limit": false, "is_free_tier": false} {
		if got := at(m, "data", field); got != want {
			t.Errorf("%s is %v; want %v", field, got, want)
		}
	}
	m = n.manage("GET", "/v1/key", "").json(t)
	if at(m, "data", "is_management_key") != true || at(m, "data", "limit") != nil || at(m, "data", "rate_limit", "requests") != -1. {
		t.Errorf("management key: %v", m)
	}
}

// The life of a key over the public routes: made, used, limited, disabled, enabled, deleted.
func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	r := n.manage("POST", "/v1/keys", `{"name":"build server","limit":12.5,"limit_reset":"daily","include_byok_in_limit":false,"expires_at":"2099-01-01T00:00:00+03:00"}`)
	m := r.json(t)
	text, _ := m["key"].(string)
	hash, _ := at(m, "data", "hash").(string)
	if _, ok := apikey.Check(text); r.StatusCode != 201 || !ok || hash != apikey.Hash(text) || at(m, "data", "label") != apikey.Label(text) ||
		at(m, "data", "limit") != 12.5 || at(m, "data", "limit_reset") != "daily" || at(m, "data", "expires_at") != "2098-12-31T21:00:00Z" ||
		r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("created: %d %s", r.StatusCode, r.body)
	}
	use := func() int {
		return n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+text).StatusCode
	}
	if use() != 200 {
		t.Fatal("the new key opens nothing")
	}
	patch := func(body string) map[string]any {
		t.Helper()
		r := n.manage("PATCH", "/v1/keys/"+hash, body)
		if r.StatusCode != 200 {
			t.Fatalf("%s: %d %s", body, r.StatusCode, r.body)
		}
		return at(r.json(t), "data").(map[string]any)
	}
	if k := patch(`{"disabled":true}`); k["disabled"] != true || use() != 401 {
		t.Errorf("disabled: %v", k)
	}
	if k := patch(`{"disabled":false,"name":"имя"}`); k["name"] != "имя" || use() != 200 {
		t.Errorf("enabled: %v", k)
	}
	if k := patch(`{"limit":1e-05}`); k["limit"] != 1e-05 {
		t.Errorf("an amount with an exponent, as Python writes it: %v", k)
	}
	if k := patch(`{"limit":"3.000000001"}`); k["limit"] != 3.000000001 || k["limit_reset"] != "daily" {
		t.Errorf("limit: %v", k)
	}
	if k := patch(`{"limit_reset":null}`); k["limit"] != 3.000000001 || k["limit_reset"] != nil {
		t.Errorf("reset: %v", k)
	}
	if k := patch(`{"limit":null}`); k["limit"] != nil {
		t.Errorf("no limit: %v", k)
	}
	if k := patch(`{}`); k["name"] != "имя" {
		t.Errorf("nothing: %v", k)
	}
	list := n.manage("GET", "/v1/keys", "").json(t)
	if is := at(list, "data", 0, "include_byok_in_limit"); is != false {
		t.Errorf("include_byok_in_limit is %v", is)
	}
	if at(list, "data", 0, "hash") != hash || len(at(list, "data").([]any)) != 3 || strings.Contains(fmt.Sprint(list), text) {
		t.Errorf("list: %v", list)
	}
	if got := n.manage("GET", "/v1/keys/"+hash, "").json(t); at(got, "data", "hash") != hash {
		t.Errorf("one: %v", got)
	}
	if page := n.manage("GET", "/v1/keys?offset=2&include_disabled=true", "").json(t); len(at(page, "data").([]any)) != 1 {
		t.Errorf("page: %v", page)
	}
	if r := n.manage("DELETE", "/v1/keys/"+hash, ""); string(r.body) != `{"deleted":true}` || use() != 401 {
		t.Errorf("deleted: %s", r.body)
	}
	wantError(t, n.manage("DELETE", "/v1/keys/"+hash, ""), 404, fault.NotFound)
	wantError(t, n.manage("GET", "/v1/keys/"+hash, ""), 404, fault.NotFound)
	if strings.Contains(n.logged(), text) {
		t.Error("the key is in the log")
	}
}

func TestKeyBodies(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	hash := n.first.Key.Hash
	for name, c := range map[string]struct{ method, body, param string }{
		"no name":            {"POST", `{}`, "name"},
		"null name":          {"POST", `{"name":null}`, "name"},
		"empty name":         {"POST", `{"name":""}`, "name"},
		"number name":        {"POST", `{"name":1}`, "name"},
		"NUL":                {"POST", `{"name":"a\u0000b"}`, "name"},
		"unknown field":      {"POST", `{"name":"x","is_admin":true}`, "is_admin"},
		"other case":         {"POST", `{"Name":"x"}`, "Name"},
		"owner":              {"POST", `{"name":"x","creator_user_id":"usr_other"}`, "creator_user_id"},
		"management":         {"POST", `{"name":"x","management":true}`, "management"},
		"negative limit":     {"POST", `{"name":"x","limit":-1}`, "limit"},
		"ten decimals":       {"POST", `{"name":"x","limit":0.0000000001}`, "limit"},
		"exponent":           {"POST", `{"name":"x","limit":1e999}`, "limit"},
		"huge limit":         {"POST", `{"name":"x","limit":99999999999999999999}`, "limit"},
		"limit true":         {"POST", `{"name":"x","limit":true}`, "limit"},
		"reset alone":        {"POST", `{"name":"x","limit_reset":"daily"}`, "limit_reset"},
		"unknown reset":      {"POST", `{"name":"x","limit":1,"limit_reset":"hourly"}`, "limit_reset"},
		"empty reset":        {"POST", `{"name":"x","limit":1,"limit_reset":""}`, "limit_reset"},
		"reset with NUL":     {"POST", `{"name":"x","limit":1,"limit_reset":"\u0000"}`, "limit_reset"},
		"past":               {"POST", `{"name":"x","expires_at":"2001-01-01T00:00:00Z"}`, "expires_at"},
		"no time":            {"POST", `{"name":"x","expires_at":"tomorrow"}`, "expires_at"},
		"time as a number":   {"POST", `{"name":"x","expires_at":1}`, "expires_at"},
		"disabled at birth":  {"POST", `{"name":"x","disabled":true}`, "disabled"},
		"disabled as text":   {"PATCH", `{"disabled":"true"}`, "disabled"},
		"expiry later":       {"PATCH", `{"expires_at":"2099-01-01T00:00:00Z"}`, "expires_at"},
		"hash":               {"PATCH", `{"hash":"x"}`, "hash"},
		"name with controls": {"PATCH", `{"name":"a\nb"}`, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := "/v1/keys"
			if c.method == "PATCH" {
				path += "/" + hash
			}
			m := wantError(t, n.manage(c.method, path, c.body), 400, fault.Invalid)
			if at(m, "error", "metadata", "param") != c.param {
				t.Errorf("%v; want param %s", m, c.param)
			}
		})
	}
	wantError(t, n.manage("POST", "/v1/keys", `{"name":"x","name":"y"}`), 400, fault.DuplicateKey)
	wantError(t, n.manage("POST", "/v1/keys", `{"name":"x","include_byok_in_limit":true}`), 400, fault.Invalid)
	wantError(t, n.manage("POST", "/v1/keys", `{"name":"x","workspace_id":"0df9e665-d932-5740-b2c7-b52af166bc11"}`), 400, fault.Invalid)
	wantError(t, n.manage("POST", "/v1/keys", `{"name":"x","creator_user_id":"user_other"}`), 400, fault.Invalid)
	wantError(t, n.manage("GET", "/v1/keys?workspace_id=org_other", ""), 400, fault.Invalid)
	workspace, _ := at(n.manage("POST", "/v1/keys", `{"name":"in no workspace"}`).json(t), "data", "workspace_id").(string)
	made := n.manage("POST", "/v1/keys", `{"name":"in its workspace","workspace_id":"`+workspace+`","creator_user_id":"`+workspace+`"}`)
	if made.StatusCode != 201 || at(made.json(t), "data", "workspace_id") != workspace || at(made.json(t), "data", "creator_user_id") != workspace {
		t.Errorf("%d %s", made.StatusCode, made.body)
	}
	if got := n.manage("GET", "/v1/keys?offset=0&workspace_id="+workspace, ""); got.StatusCode != 200 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	for _, body := range []string{``, `[]`, `null`, `"x"`, `{"name":"x"`, `{"name":"x"} {}`, "{\"name\":\"\xff\"}"} {
		wantError(t, n.manage("POST", "/v1/keys", body), 400, fault.Invalid)
	}
	// refused before it is sent: a client that is still writing may lose the answer with the connection
	wantError(t, n.do("POST", "/v1/keys", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`, "Authorization", "Bearer "+n.first.ManagementKey, "Expect", "100-continue"),
		413, fault.PayloadTooLarge)
	for _, path := range []string{"x", strings.Repeat("0", 64), "%00", strings.Repeat("z", 3000)} {
		wantError(t, n.manage("GET", "/v1/keys/"+path, ""), 404, fault.NotFound)
	}
	for _, query := range []string{"offset=-1", "offset=x", "offset=9223372036854775807", "include_disabled=maybe", "offset=%00"} {
		wantError(t, n.manage("GET", "/v1/keys?"+query, ""), 400, fault.Invalid)
	}
}

func TestKeysOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	_, key := secondUser(t, n)
	hash := apikey.Hash(key)
	wantError(t, n.manage("GET", "/v1/keys/"+hash, ""), 404, fault.NotFound)
	wantError(t, n.manage("PATCH", "/v1/keys/"+hash, `{"disabled":true}`), 404, fault.NotFound)
	wantError(t, n.manage("DELETE", "/v1/keys/"+hash, ""), 404, fault.NotFound)
	if r := n.do("GET", "/v1/key", "", "Authorization", "Bearer "+key); r.StatusCode != 200 {
		t.Errorf("their key: %d", r.StatusCode)
	}
}

func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil) // five keys a user, two of them from the bootstrap
	for range 3 {
		if r := n.manage("POST", "/v1/keys", `{"name":"x"}`); r.StatusCode != 201 {
			t.Fatalf("status %d", r.StatusCode)
		}
	}
	wantError(t, n.manage("POST", "/v1/keys", `{"name":"x"}`), 400, fault.Invalid)
}

func TestModels(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	ids := func(query string) string {
		t.Helper()
		r := n.do("GET", "/v1/models"+query, "", "Authorization", "")
		var list struct {
			Object string
			Data   []struct{ ID string }
		}
		if err := json.Unmarshal(r.body, &list); err != nil || r.StatusCode != 200 || list.Object != "list" {
			t.Fatalf("%s: %d %s", query, r.StatusCode, r.body)
		}
		var all []string
		for _, m := range list.Data {
			all = append(all, m.ID)
		}
		return strings.Join(all, " ")
	}
	const newest = "acme/large-2026-01-31 zeta/plain acme/small acme/small:free"
	for query, want := range map[string]string{
		"":                                     newest,
		"?page=1":                              newest,
		"?per_page=1":                          newest,
		"?page=1&per_page=2":                   "acme/large-2026-01-31 zeta/plain",
		"?page=2&per_page=3":                   "acme/small:free",
		"?page=9&per_page=100":                 "",
		"?search=ACME+small":                   "acme/small acme/small:free",
		"?search=%25":                          "",
		"?model_type=chat":                     newest,
		"?model_type=audio_transcription":      "",
		"?sort_by=name":                        "acme/large-2026-01-31 zeta/plain acme/small acme/small:free",
		"?sort_by=price":                       "acme/small:free acme/small zeta/plain acme/large-2026-01-31",
		"?sort_by=input_price&sort_order=desc": "acme/large-2026-01-31 acme/small zeta/plain acme/small:free",
		"?sort_by=context_length&sort_order=desc": "acme/large-2026-01-31 acme/small acme/small:free zeta/plain",
		"?sort_by=rank&other=x":                   newest,
	} {
		if got := ids(query); got != want {
			t.Errorf("%s: %s; want %s", query, got, want)
		}
	}
	for _, query := range []string{"page=0&per_page=1", "page=x&per_page=1", "page=1&per_page=101", "page=1&per_page=0", "page=9223372036854775808&per_page=1", "sort_by=x", "sort_order=up", "model_type=embedding",
		"search=" + strings.Repeat("x", 201), "search=%00", "search=%ff", "%zz=1"} {
		wantError(t, n.do("GET", "/v1/models?"+query, ""), 400, fault.Invalid)
	}
	r := n.do("GET", "/v1/models?page=2&per_page=1&search=acme", "")
	if r.Header.Get("X-Total-Count") != "3" || !strings.Contains(r.Header.Get("Link"), `<`) || strings.Count(r.Header.Get("Link"), "rel=") != 4 {
		t.Errorf("page headers %v", r.Header)
	}
}

func TestModelItem(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	m := n.do("GET", "/v1/models/acme/small", "").json(t)
	for _, c := range []struct {
		path []any
		want any
	}{
		{[]any{"id"}, "acme/small"}, {[]any{"object"}, "model"}, {[]any{"owned_by"}, "acme"}, {[]any{"vendor"}, "acme"}, {[]any{"name"}, "Small"},
		{[]any{"model_type"}, "chat"}, {[]any{"created"}, 1000.}, {[]any{"context_length"}, 8000.}, {[]any{"max_completion_tokens"}, 4000.},
		{[]any{"price_in_per_1k"}, "0.05"}, {[]any{"price_out_per_1k"}, "0.1"}, {[]any{"pricing", "prompt"}, "0.00005"}, {[]any{"pricing", "completion"}, "0.0001"},
		{[]any{"pricing", "request"}, "0"}, {[]any{"pricing", "input_cache_read"}, "0.00005"}, {[]any{"pricing", "currency"}, "RUB"}, {[]any{"pricing", "unit"}, "token"},
		{[]any{"architecture", "input_modalities", 0}, "text"},
	} {
		if got := at(m, c.path...); got != c.want {
			t.Errorf("%v is %v; want %v", c.path, got, c.want)
		}
	}
	if len(m["pricing"].(map[string]any)) != 12 {
		t.Errorf("pricing has %d keys", len(m["pricing"].(map[string]any)))
	}
	if m := n.do("GET", "/v1/models/acme/large-2026-01-31", "").json(t); m["base_model"] != "acme/large" {
		t.Errorf("base model %v", m["base_model"])
	}
	if m := n.do("GET", "/v1/models/acme/small:free", "").json(t); at(m, "price_in_per_1k") != "0" {
		t.Errorf("free: %v", m)
	}
	wantError(t, n.do("GET", "/v1/models/acme/none", ""), 404, fault.ModelNotFound)

	r := n.do("GET", "/v1/models", "")
	tag := r.Header.Get("Etag")
	if again := n.do("GET", "/v1/models", "", "If-None-Match", `"x", W/`+tag); again.StatusCode != 304 || len(again.body) != 0 {
		t.Errorf("known list: %d", again.StatusCode)
	}
	if again := n.do("GET", "/v1/models?search=large", "", "If-None-Match", tag); again.StatusCode != 200 {
		t.Errorf("another list: %d", again.StatusCode)
	}
}
