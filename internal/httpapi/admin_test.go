package httpapi_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/httpapi"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/seal"
	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

// offers is a configuration with one built-in provider, one that lacks a credential, and one that a file declares.
type offers struct{ ring *seal.Ring }

func (s offers) DeclaredRate() rate.Declared {
	return rate.Declared{RubPerUSD: "100", Margin: "0.1", Version: "declared", MarginAt: "weir.yaml:2"}
}

func (s offers) BuildCatalog(state *edit.State, _ bool) (*edit.Built, error) {
	r, err := rate.At(s.DeclaredRate(), state.Rates, time.Now().Add(time.Minute)) // what has just been set holds
	if err != nil {
		return nil, err
	}
	offer := func(provider, model string) catalog.Offer {
		return catalog.Offer{Provider: provider, Model: model, Pricing: catalog.Pricing{List: "builtin-1",
			Base: catalog.Prices{Prompt: money.Price{Nano: 1e8, Set: true}, Completion: money.Price{Nano: 2e8, Set: true}}}}
	}
	return edit.Build(&edit.Base{
		Declared: catalog.Declared{
			Providers: []catalog.Provider{{ID: "open", Dialect: "openai", BaseURL: "https://open.example", Key: "sk-of-the-environment"}, {ID: "filed", Dialect: "openai", BaseURL: "https://filed.example"}},
			Offers:    []catalog.Offer{offer("open", "acme/small"), offer("filed", "acme/small")},

			PricesAsOf: time.Now().AddDate(0, 0, -40),
		},
		Known:         []catalog.Provider{{ID: "quiet", Dialect: "openai", BaseURL: "https://quiet.example"}},
		FileProviders: map[string]string{"filed": "weir.yaml:7"}, FileEndpoints: map[string]string{"filed/acme/small": "weir.yaml:9"},
	}, state, r, state.Credentials(s.ring, func(string) (string, bool) { return "", false }))
}

// startAdmin runs a node whose administrators use the public listener.
func startAdmin(t *testing.T) *node {
	t.Helper()
	return startWith(t, relayFunc(hello), func(c *httpapi.Config) { c.AdminAPI = true }, withEditor(t))
}

func withEditor(t *testing.T) func(*httpapi.Deps) {
	edits, _ := editorAndStore(t)
	return edits
}

// editorAndStore is withEditor, and the store of its catalog.
func editorAndStore(t *testing.T) (func(*httpapi.Deps), *store.Store) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	ring, err := seal.NewRing([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return func(d *httpapi.Deps) {
		seen := health.New(health.Default(time.Now))
		desk := console.New(console.Deps{Node: "n1", Health: seen, History: health.NewHistory(seen, store.Nodes, "n1", time.Hour), Now: time.Now,
			Self: func() console.Node { return console.Node{} }, Others: func() []console.Node { return nil }})
		d.Operations = slices.Concat(accountapi.Operations(accountapi.Deps{}), adminapi.Operations(adminapi.Deps{Console: desk, Editor: edit.NewEditor(store.Catalog, offers{ring}, ring, time.Now, nil), KeyVariables: builtin.KeyVariables}))
	}, store
}

// TestAskedServers shows what the server of a provider has said of its models, and why it does not answer.
func TestAskedServers(t *testing.T) {
	t.Parallel()
	edits, store := editorAndStore(t)
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) { c.AdminAPI = true }, edits)
	if made := n.managed(t, 201, "POST", "/api/admin/providers", `{"id":"shed","base_url":"https://shed.example/v1","models":"discover"}`); at(made, "data", "asked", "asked_at") != nil ||
		at(made, "data", "asked", "named") != 0.0 || at(n.managed(t, 200, "GET", "/api/admin/providers/open", ""), "data", "asked") != nil {
		t.Errorf("before it was asked: %v", at(made, "data", "asked"))
	}
	then := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := store.Catalog.PutFound(t.Context(), &edit.Found{Provider: "shed", Server: edit.ServerVLLM, Asked: then.Add(time.Minute), At: then, Problem: "status 502", Notes: []string{"one is doubtful"},
		Models: []edit.FoundModel{{ID: "a", Type: catalog.TypeChat, Context: 4096}}}, true); err != nil {
		t.Fatal(err)
	}
	n.managed(t, 200, "PATCH", "/api/admin/providers/shed", `{"name":"Shed"}`) // the catalog is built anew
	got := at(n.managed(t, 200, "GET", "/api/admin/providers/shed", ""), "data")
	for _, c := range []struct {
		want any
		path []any
	}{{"vllm", []any{"server"}}, {"2027-01-02T03:04:05Z", []any{"answered_at"}}, {"2027-01-02T03:05:05Z", []any{"asked_at"}}, {1.0, []any{"named"}}, {"status 502", []any{"problem"}}, {"one is doubtful", []any{"notes", 0}}} {
		if is := at(got, append([]any{"asked"}, c.path...)...); is != c.want {
			t.Errorf("%v is %v, want %v", c.path, is, c.want)
		}
	}
	if at(got, "models") != 1.0 {
		t.Errorf("it serves %v models", at(got, "models"))
	}
}

func (n *node) managed(t *testing.T, status int, method, path, body string) map[string]any {
	t.Helper()
	r := n.manage(method, path, body)
	if r.StatusCode != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, r.StatusCode, status, r.body)
	}
	return r.json(t)
}

// A wire that does not exist is refused when it is declared, not at each call.
func TestAdminRefusesUnknownDialects(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	for param, body := range map[string]string{
		"dialect":             `{"id":"hut","base_url":"https://hut.example/v1","dialect":"nope"}`,
		"wires.image.dialect": `{"id":"hut","base_url":"https://hut.example/v1","wires":{"image":{"dialect":"nope"}}}`,
	} {
		r := n.manage("POST", "/api/admin/providers", body)
		wantError(t, r, 400, fault.Invalid)
		if s := string(r.body); !strings.Contains(s, param) || !strings.Contains(s, "anthropic, gemini") {
			t.Errorf("%s: %s", param, s)
		}
	}
}

func TestAdminProviders(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	made := n.managed(t, 201, "POST", "/api/admin/providers", `{"id":"hut","name":"Hut","base_url":"https://hut.example/v1","api_key":"sk-very-secret-credential-f00d",
		"headers":{"X-Team":"weir"},"quirks":{"system_role":true,"drop":["user","seed"],"rename":{"seed":"random_seed"},"cost_digits":10}}`)
	for path, want := range map[string]any{"id": "hut", "origin": "database", "on": true, "name": "Hut", "version": 1.0, "data_policy": "unknown", "where": nil} {
		if got := at(made, "data", path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if at(made, "data", "api_key", "source") != "database" || at(made, "data", "api_key", "last4") != "f00d" {
		t.Errorf("api_key is %v", at(made, "data", "api_key"))
	}
	if at(made, "data", "set", "quirks", "drop", 1) != "seed" || at(made, "data", "set", "quirks", "cost_digits") != 10.0 || at(made, "data", "set", "quirks", "rename", "seed") != "random_seed" ||
		at(made, "data", "set", "headers", "X-Team") != "weir" {
		t.Errorf("set is %v", at(made, "data", "set"))
	}
	changed := n.managed(t, 200, "PATCH", "/api/admin/providers/hut", `{"quirks":{"drop":null},"data_policy":"zero","disabled":true}`)
	if at(changed, "data", "set", "quirks", "drop") != nil || at(changed, "data", "set", "quirks", "system_role") != true || at(changed, "data", "data_policy") != "zero" || at(changed, "data", "on") != false {
		t.Errorf("changed to %v", changed)
	}
	list := n.managed(t, 200, "GET", "/api/admin/providers", "")
	var ids []string
	for i := range 4 {
		id, _ := at(list, "data", i, "id").(string)
		ids = append(ids, id)
	}
	if strings.Join(ids, " ") != "filed hut open quiet" || at(list, "data", 0, "where") != "weir.yaml:7" || at(list, "data", 3, "on") != false || at(list, "data", 2, "api_key", "source") != "configuration" {
		t.Errorf("the list is %v", list)
	}
	n.managed(t, 200, "DELETE", "/api/admin/providers/hut", "")
	wantError(t, n.manage("GET", "/api/admin/providers/hut", ""), 404, fault.NotFound)
	wantError(t, n.manage("DELETE", "/api/admin/providers/open", ""), 409, fault.Conflict)

	for _, where := range []string{n.logged(), string(n.manage("GET", "/api/admin/catalog/history", "").body), string(n.manage("GET", "/api/admin/providers", "").body)} {
		if strings.Contains(where, "secret-credential") || strings.Contains(where, "sk-of-the-environment") {
			t.Errorf("a credential came out: %s", where)
		}
	}
}

// Prices by hour of the day can be set at run time, and are checked.
func TestAdminHours(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	scheduled := n.managed(t, 201, "POST", "/api/admin/endpoints", `{"provider":"open","model":"acme/tiny","region":"night","prices":{"prompt":"1","completion":"2"},
		"hours":[{"from":"09:00","to":"12:00","days":["mon","fri"],"zone":"Asia/Shanghai","prices":{"prompt":"3"}}]}`)
	if h := at(scheduled, "data", "set", "hours", 0); at(h, "from") != "09:00" || at(h, "days", 1) != "fri" || at(h, "zone") != "Asia/Shanghai" || at(h, "prices", "prompt") != "3" {
		t.Errorf("hours are %v", h)
	}
	n.managed(t, 400, "POST", "/api/admin/endpoints", `{"provider":"open","model":"acme/tiny","region":"day","prices":{"prompt":"1","completion":"2"},"hours":[{"from":"12:00","to":"09:00","prices":{"prompt":"3"}}]}`)
}

// An administrator sees how old the prices are.
func TestAdminPricesAge(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	c := n.managed(t, 200, "GET", "/api/admin/catalog", "")
	if day := at(c, "prices", "as_of"); at(c, "prices", "days") != 40.0 || day != time.Now().AddDate(0, 0, -40).Format(time.DateOnly) {
		t.Errorf("prices are %v", at(c, "prices"))
	}
}

func TestAdminEndpoints(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	made := n.managed(t, 201, "POST", "/api/admin/endpoints", `{"provider":"open","model":"acme/tiny","region":"eu","price_usd":{"prompt":"0.6","completion":0.9},"context_length":8000,
		"params":["temperature","tools"],"thresholds":[{"above":1000,"prices":{"prompt":"1"}},{"above":2000,"price_usd":{"prompt":"3"}}]}`)
	if at(made, "data", "id") != "open/acme/tiny/eu" || at(made, "data", "pricing", "base", "prompt") != "0.066" || at(made, "data", "pricing", "list") != "database-1" || at(made, "data", "pricing", "rate") != "declared" {
		t.Errorf("made %v", made)
	}
	if at(made, "data", "set", "thresholds", 1, "above") != 2000.0 || at(made, "data", "set", "thresholds", 1, "price_usd", "prompt") != "3" || at(made, "data", "set", "params", 1) != "tools" {
		t.Errorf("set is %v", at(made, "data", "set"))
	}
	// a list is replaced as a whole, a group is merged, null unsets
	changed := n.managed(t, 200, "PATCH", "/api/admin/endpoints/open%2Facme%2Ftiny%2Feu", `{"thresholds":[{"above":500,"prices":{"prompt":"2"}}],"price_usd":{"prompt":"0.7"},"context_length":null}`)
	if set := at(changed, "data", "set"); at(set, "thresholds", 1) != nil || at(set, "thresholds", 0, "above") != 500.0 || at(set, "price_usd", "completion") != "0.9" ||
		at(set, "price_usd", "prompt") != "0.7" || at(set, "context_length") != nil {
		t.Errorf("changed to %v", set)
	}
	priced := n.managed(t, 200, "PATCH", "/api/admin/endpoints/open%2Facme%2Fsmall", `{"prices":{"prompt":"0.01","completion":"0.02"}}`)
	if at(priced, "data", "origin") != "builtin" || at(priced, "data", "pricing", "base", "prompt") != "0.01" {
		t.Errorf("a built-in endpoint is %v", priced)
	}
	page := n.managed(t, 200, "GET", "/api/admin/endpoints?limit=2", "")
	if at(page, "data", 0, "id") != "filed/acme/small" || at(page, "data", 2) != nil || at(page, "next") != "open/acme/small" {
		t.Errorf("the first page is %v", page)
	}
	page = n.managed(t, 200, "GET", "/api/admin/endpoints?limit=2&after=open%2Facme%2Fsmall", "")
	if at(page, "data", 0, "id") != "open/acme/tiny/eu" || at(page, "next") != nil {
		t.Errorf("the last page is %v", page)
	}
	page = n.managed(t, 200, "GET", "/api/admin/endpoints?origin=file&provider=filed&model=acme/small", "")
	if at(page, "data", 0, "id") != "filed/acme/small" || at(page, "data", 1) != nil {
		t.Errorf("the filtered page is %v", page)
	}
	n.managed(t, 200, "GET", "/api/admin/endpoints/open%2Facme%2Fsmall", "")
	n.managed(t, 200, "DELETE", "/api/admin/endpoints/open%2Facme%2Ftiny%2Feu", "")

	whole := n.managed(t, 200, "GET", "/api/admin/catalog", "")
	if at(whole, "version") != 4.0 || at(whole, "rate", "margin") != "0.1" || at(whole, "providers", 0, "origin") != "file" || at(whole, "endpoints", 1, "version") != 3.0 {
		t.Errorf("the catalog is %v", whole)
	}
	history := n.managed(t, 200, "GET", "/api/admin/catalog/history?limit=3", "")
	if at(history, "data", 0, "action") != "catalog.remove" || at(history, "data", 0, "after") != nil || at(history, "data", 2, "before", "price_usd", "prompt") != "0.6" ||
		at(history, "data", 2, "after", "price_usd", "prompt") != "0.7" || at(history, "next") != 2.0 || at(history, "data", 0, "from") != "127.0.0.1" {
		t.Errorf("the history is %v", history)
	}
	history = n.managed(t, 200, "GET", "/api/admin/catalog/history?before=2", "")
	if at(history, "data", 0, "version") != 1.0 || at(history, "next") != nil {
		t.Errorf("the rest of the history is %v", history)
	}
}

func TestAdminRates(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	set := n.managed(t, 201, "POST", "/api/admin/rates", `{"rate":"81.2345"}`)
	if at(set, "current", "rate") != "81.2345" || at(set, "current", "margin") != "0.1" || at(set, "current", "source") != "manual" || at(set, "data", 0, "rate") != "81.2345" ||
		at(set, "declared", "margin") != "weir.yaml:2" || at(set, "declared", "rate") != nil {
		t.Errorf("set: %v", set)
	}
	n.managed(t, 201, "POST", "/api/admin/rates", `{"rate":90,"from":"2090-01-01T00:00:00+03:00"}`)
	list := n.managed(t, 200, "GET", "/api/admin/rates", "")
	if at(list, "current", "rate") != "81.2345" || at(list, "data", 0, "from") != "2089-12-31T21:00:00Z" {
		t.Errorf("the list is %v", list)
	}
	wantError(t, n.manage("POST", "/api/admin/rates", `{"margin":"0.2"}`), 409, fault.Conflict)
	for body, param := range map[string]string{
		`{}`: "rate", `{"rate":"0"}`: "rate", `{"rate":-1}`: "rate", `{"rate":true}`: "rate", `{"rate":"80","from":"2020-01-01T00:00:00Z"}`: "from", `{"rate":"80","from":"soon"}`: "from",
		`{"rate":"80","actor":"me"}`: "actor",
	} {
		if m := wantError(t, n.manage("POST", "/api/admin/rates", body), 400, fault.Invalid); at(m, "error", "metadata", "param") != param {
			t.Errorf("%s: %v", body, m)
		}
	}
}

func TestAdminRefusesBodies(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	n.managed(t, 201, "POST", "/api/admin/providers", `{"id":"hut","base_url":"https://hut.example/v1"}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		kind               fault.Kind
		param              any
	}{
		{"POST", "providers", `[]`, 400, fault.Invalid, nil},
		{"POST", "providers", `{"base_url":"https://x.example"}`, 400, fault.Invalid, "id"},
		{"POST", "providers", `{"id":7}`, 400, fault.Invalid, "id"},
		{"POST", "providers", `{"id":"a","id":"b"}`, 400, fault.DuplicateKey, "id"},
		{"POST", "providers", `{"id":"x"}`, 400, fault.Invalid, nil},
		{"POST", "providers", `{"id":"x","base_url":"ftp://x.example"}`, 400, fault.Invalid, "base_url"},
		{"POST", "providers", `{"id":"x","base_url":"https://x.example","role":"administrator"}`, 400, fault.Invalid, "role"},
		{"POST", "providers", `{"id":"x","base_url":"https://x.example","version":9}`, 400, fault.Invalid, "version"},
		{"POST", "providers", `{"id":"hut","base_url":"https://x.example"}`, 409, fault.Conflict, nil},
		{"PATCH", "providers/hut", `{"id":"house"}`, 400, fault.Invalid, "id"},
		{"PATCH", "providers/hut", `{"api_key":7}`, 400, fault.Invalid, "api_key"},
		{"PATCH", "providers/hut", `{"disabled":"yes"}`, 400, fault.Invalid, "disabled"},
		{"PATCH", "providers/hut", `{"quirks":{"temper":true}}`, 400, fault.Invalid, "quirks.temper"},
		{"PATCH", "providers/hut", `{"quirks":[1]}`, 400, fault.Invalid, "quirks"},
		{"PATCH", "providers/hut", `{"headers":{"Authorization":"Bearer x"}}`, 400, fault.Invalid, "headers.Authorization"},
		{"PATCH", "providers/none", `{"name":"x"}`, 404, fault.NotFound, nil},
		{"PATCH", "providers/filed", `{"name":"x"}`, 409, fault.Conflict, nil},
		{"POST", "endpoints", `{"provider":"hut"}`, 400, fault.Invalid, "model"},
		{"POST", "endpoints", `{"provider":"none","model":"acme/x","prices":{"prompt":"1","completion":"1"}}`, 400, fault.Invalid, "provider"},
		{"POST", "endpoints", `{"provider":"hut","model":"acme/x","prices":{"prompt":"1"}}`, 400, fault.Invalid, nil},
		{"POST", "endpoints", `{"provider":"hut","model":"acme/x","prices":{"prompt":"1","completion":"-1"}}`, 400, fault.Invalid, "prices.completion"},
		{"POST", "endpoints", `{"provider":"hut","model":"acme/x","prices":{"prompt":"1","completion":"1"},"thresholds":{"above":1}}`, 400, fault.Invalid, "thresholds"},
		{"POST", "endpoints", `{"provider":"hut","model":"acme/x","prices":{"prompt":"1","completion":"1"},"thresholds":[{"over":1}]}`, 400, fault.Invalid, "thresholds.0.over"},
		{"POST", "endpoints", `{"provider":"hut","model":"acme/x","prices":{"prompt":"1","completion":"1"},"thresholds":[1]}`, 400, fault.Invalid, "thresholds.0"},
		{"POST", "endpoints", `{"provider":"hut","model":"acme/x","prices":{"prompt":"1","completion":"1"},"params":["a,b"]}`, 400, fault.Invalid, "params"},
		{"POST", "endpoints", `{"provider":"hut","model":"acme/x","prices":{"prompt":"1","completion":"1"},"context_length":1.5}`, 400, fault.Invalid, "context_length"},
		{"PATCH", "endpoints/open%2Facme%2Fsmall", `{"quantization":"int3"}`, 400, fault.Invalid, "quantization"},
		{"PATCH", "endpoints/filed%2Facme%2Fsmall", `{"disabled":true}`, 409, fault.Conflict, nil},
		{"GET", "endpoints?limit=0", "", 400, fault.Invalid, "limit"},
		{"GET", "endpoints?limit=1000", "", 400, fault.Invalid, "limit"},
		{"GET", "catalog/history?before=x", "", 400, fault.Invalid, "before"},
		{"POST", "providers", `{"id":"x","name":"` + strings.Repeat("x", 2<<20) + `"}`, 413, fault.PayloadTooLarge, nil},
	} {
		m := wantError(t, n.manage(c.method, "/api/admin/"+c.path, c.body), c.status, c.kind)
		if got := at(m, "error", "metadata", "param"); got != c.param {
			t.Errorf("%s %s %.80s: param %v, want %v (%v)", c.method, c.path, c.body, got, c.param, at(m, "error", "message"))
		}
	}
	if whole := n.managed(t, 200, "GET", "/api/admin/catalog", ""); at(whole, "version") != 1.0 {
		t.Errorf("refused bodies left version %v", at(whole, "version"))
	}
}

// Only those who run the gateway get in. On the public listener their browsers do, and their keys only where that is configured.
func TestAdminDoors(t *testing.T) {
	t.Parallel()
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) { c.AdminAPI, c.FailedAuthPerMinute = true, 1000 }, withEditor(t))
	by := audit.Actor{Name: "test"}
	boris, err := n.users.Create(t.Context(), "Boris", by)
	if err != nil {
		t.Fatal(err)
	}
	_, theirs, err := n.keys.Create(t.Context(), apikey.NewKey{Name: "m", User: boris.ID, Creator: boris.ID, Management: true}, by)
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range n.api.Routes() {
		if !strings.HasPrefix(route.Pattern, "/api/admin/") {
			continue
		}
		path := strings.ReplaceAll(route.Pattern, "{id}", "open")
		wantError(t, n.do(route.Method, path, "", "Authorization", ""), 401, fault.Authentication)
		wantError(t, n.do(route.Method, path, ""), 403, fault.PermissionDenied)
		wantError(t, n.do(route.Method, path, "", "Authorization", "Bearer "+theirs), 403, fault.PermissionDenied)
	}
	for _, role := range []apikey.Role{apikey.Operator, apikey.Administrator} {
		if err := n.users.SetRole(t.Context(), boris.ID, role, by); err != nil {
			t.Fatal(err)
		}
		if r := n.do("GET", "/api/admin/catalog", "", "Authorization", "Bearer "+theirs); r.StatusCode != 200 {
			t.Errorf("%s: status %d", role, r.StatusCode)
		}
		r := n.do("POST", "/api/admin/providers", `{"id":"hut-of-`+string(role)+`","base_url":"https://hut.example/v1"}`, "Authorization", "Bearer "+theirs)
		if want := map[apikey.Role]int{apikey.Operator: 403, apikey.Administrator: 201}[role]; r.StatusCode != want {
			t.Errorf("%s adds a provider: status %d, want %d", role, r.StatusCode, want)
		}
	}

	closed := startWith(t, relayFunc(hello), nil, withEditor(t))
	wantError(t, closed.manage("GET", "/api/admin/catalog", ""), 404, fault.NotFound)
	for key, want := range map[string]int{closed.first.ManagementKey: 200, closed.first.KeyText: 403, "": 401} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(context.Background(), "GET", "/api/admin/catalog", nil)
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		closed.api.Admin().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("on the operators' listener: status %d, want %d: %s", w.Code, want, w.Body)
		}
	}
}
