package httpapi_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/usage"
)

// till is a node with a ledger: its first user has 10 rubles and was charged 4 for gen-1 and nothing for gen-0; another one has 10.
type till struct {
	*node
	store *store.Store
	other string // id of the other user
}

func openTill(t *testing.T) *till {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	cfg := ledger.Default(filepath.Join(t.TempDir(), "journal"), time.Now)
	cfg.Journal.Sync, cfg.StoreFor = journal.Never, time.Minute
	book, err := ledger.Start(t.Context(), s.Ledger, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = book.Abandon(); _ = s.Close() })
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) { c.AdminAPI = true }, func(d *httpapi.Deps) { d.Ledger = book })
	by := audit.Actor{Name: "test"}
	boris, err := n.users.Create(t.Context(), "Boris", by)
	if err != nil {
		t.Fatal(err)
	}
	anna := n.first.User
	for _, u := range []account.User{anna, boris} {
		if err := s.Accounts.CreateUser(t.Context(), u, audit.Event{Actor: by, Action: audit.UserCreated, Target: u.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Credit(t.Context(), ledger.TopUp{Wallet: u.Wallet, Source: "bank", ExternalID: u.ID, Amount: 10 * money.Ruble, Actor: by}); err != nil {
			t.Fatal(err)
		}
	}
	book.Note(&record.Call{Generation: "gen-0", Wallet: anna.Wallet, User: anna.ID, At: time.Now(), Status: 502})
	h, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: anna.Wallet, Amount: 4 * money.Ruble})
	if err != nil {
		t.Fatal(err)
	}
	c := &record.Call{Generation: "gen-1", Wallet: anna.Wallet, User: anna.ID, At: time.Now(), Model: "acme/small", Status: 200, Cost: 4 * money.Ruble,
		Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(4 * money.Ruble)}}}
	if err := book.Settle(t.Context(), h, c); err != nil {
		t.Fatal(err)
	}
	return &till{n, s, boris.ID}
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	n := openTill(t)
	adjustment := fmt.Sprintf(`{"user":%q,"amount":"-2.50","reason":"counted twice","reference":"INC-1"}`, n.first.User.ID)
	adjusted := n.managed(t, 201, "POST", "/api/admin/adjustments", adjustment)
	for name, want := range map[string]any{"kind": "adjustment", "amount": "-2.5", "reference": "INC-1", "reason": "counted twice", "generation": nil, "source": nil,
		"actor": "key:" + n.first.Management.ID, "wallet": n.first.User.Wallet} {
		if got := at(adjusted, "data", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	again := n.manage("POST", "/api/admin/adjustments", adjustment)
	if first := n.managed(t, 200, "POST", "/api/admin/adjustments", adjustment); fmt.Sprint(first) != fmt.Sprint(adjusted) || again.StatusCode != 200 {
		t.Errorf("repeated: %v", first)
	}
	n.managed(t, 201, "POST", "/api/admin/refunds", `{"generation":"gen-1","amount":1.5,"reason":"a broken answer","reference":"T-1"}`)
	rest := n.managed(t, 201, "POST", "/api/admin/refunds", `{"generation":"gen-1","amount":null,"reason":"a broken answer","reference":"T-2"}`)
	if at(rest, "data", "amount") != "2.5" || at(rest, "data", "generation") != "gen-1" {
		t.Errorf("the rest: %v", rest)
	}
	n.managed(t, 200, "POST", "/api/admin/refunds", `{"generation":"gen-1","reason":"a broken answer","reference":"T-2"}`)
	n.managed(t, 201, "POST", "/api/admin/adjustments", fmt.Sprintf(`{"user":%q,"amount":-1e2,"reason":"a chargeback","reference":"INC-2","below_zero":true}`, n.other))

	// The user sees all of it.
	if g := n.do("GET", "/v1/generation?id=gen-1", "").json(t); at(g, "data", "refunded") != 4.0 || at(g, "data", "total_cost") != 4.0 {
		t.Errorf("%v", g)
	}
	if c := n.do("GET", "/api/calls/gen-1", "").json(t); at(c, "data", "refunds", 0, "reference") != "T-1" || at(c, "data", "refunds", 1, "reason") != "a broken answer" || at(c, "data", "cost") != "4" {
		t.Errorf("%v", c)
	}
	if c := n.do("GET", "/v1/credits", "").json(t); at(c, "data", "balance") != 7.5 || at(c, "data", "total_usage") != 4.0 {
		t.Errorf("%v", c)
	}
	page := n.do("GET", "/api/account/statement?limit=3", "").json(t)
	if at(page, "data", 0, "reference") != "T-2" || at(page, "data", 2, "reference") != "INC-1" || at(page, "data", 3) != nil || at(page, "currency") != "RUB" {
		t.Errorf("%v", page)
	}
	last := n.do("GET", fmt.Sprintf("/api/account/statement?before=%v", at(page, "next")), "").json(t)
	if at(last, "data", 0, "kind") != "topup" || at(last, "data", 0, "source") != "bank" || at(last, "data", 1) != nil || at(last, "next") != nil {
		t.Errorf("%v", last)
	}
	report, err := ledger.Verify(t.Context(), n.store.Ledger, "", ledger.Anchor{}, time.Now())
	if err != nil || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
}

// What is refused names the field, and nothing moves.
func TestCorrectionsRefused(t *testing.T) {
	t.Parallel()
	n := openTill(t)
	user := n.first.User.ID
	adjust := func(members string) string { return strings.ReplaceAll("{"+members+"}", "USER", user) }
	n.managed(t, 201, "POST", "/api/admin/refunds", `{"generation":"gen-1","amount":"1","reason":"r","reference":"used"}`)
	n.managed(t, 201, "POST", "/api/admin/adjustments", adjust(`"user":"USER","amount":"1","reason":"r","reference":"used"`))
	const adjustments, refunds = "adjustments", "refunds"
	for _, c := range []struct {
		path, body, param string
		status            int
		kind              fault.Kind
	}{
		{adjustments, adjust(`"amount":1,"reason":"r","reference":"x"`), "user", 400, fault.Invalid},
		{adjustments, adjust(`"user":"usr_none","amount":1,"reason":"r","reference":"x"`), "user", 404, fault.NotFound},
		{adjustments, adjust(`"user":"USER","reason":"r","reference":"x"`), "amount", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":0,"reason":"r","reference":"x"`), "amount", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1e-10,"reason":"r","reference":"x"`), "amount", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":"-9223372036.854775808","reason":"r","reference":"x"`), "amount", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1000000000.1,"reason":"r","reference":"x"`), "amount", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":true,"reason":"r","reference":"x"`), "amount", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1,"reference":"x"`), "reason", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1,"reason":"` + strings.Repeat("r", 1001) + `","reference":"x"`), "reason", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1,"reason":"r"`), "reference", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1,"reason":"r","reference":"я"`), "reference", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1,"reason":"r","reference":"x","below_zero":"yes"`), "below_zero", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":1,"reason":"r","reference":"x","wallet":"wal_1"`), "wallet", 400, fault.Invalid},
		{adjustments, adjust(`"user":"USER","amount":-1000,"reason":"r","reference":"x"`), "amount", 422, fault.Unprocessable},
		{adjustments, adjust(`"user":"USER","amount":2,"reason":"r","reference":"used"`), "amount", 409, fault.Conflict},
		{adjustments, adjust(`"user":"USER","amount":1,"reason":"s","reference":"used"`), "reason", 409, fault.Conflict},
		{adjustments, fmt.Sprintf(`{"user":%q,"amount":1,"reason":"r","reference":"used"}`, n.other), "user", 409, fault.Conflict},
		{refunds, `{"reason":"r","reference":"x"}`, "generation", 400, fault.Invalid},
		{refunds, `{"generation":"gen-9","reason":"r","reference":"x"}`, "generation", 404, fault.NotFound},
		{refunds, `{"generation":"gen-0","reason":"r","reference":"x"}`, "generation", 422, fault.Unprocessable},
		{refunds, `{"generation":"gen-1","amount":0,"reason":"r","reference":"x"}`, "amount", 400, fault.Invalid},
		{refunds, `{"generation":"gen-1","amount":"-1","reason":"r","reference":"x"}`, "amount", 400, fault.Invalid},
		{refunds, `{"generation":"gen-1","amount":"3.000000001","reason":"r","reference":"x"}`, "amount", 422, fault.Unprocessable},
		{refunds, `{"generation":"gen-1","amount":"2","reason":"r","reference":"used"}`, "amount", 409, fault.Conflict},
		{refunds, `{"generation":"gen-1","reason":"r","reference":"used"}`, "amount", 409, fault.Conflict},
		{refunds, `{"generation":"gen-1","user":"usr_1","reason":"r","reference":"x"}`, "user", 400, fault.Invalid}, // the money goes to who paid
		{refunds, `{"generation":"gen-1","below_zero":true,"reason":"r","reference":"x"}`, "below_zero", 400, fault.Invalid},
	} {
		if m := wantError(t, n.manage("POST", "/api/admin/"+c.path, c.body), c.status, c.kind); at(m, "error", "metadata", "param") != c.param {
			t.Errorf("%s: %v", c.body, m)
		}
	}
	if c := n.do("GET", "/v1/credits", "").json(t); at(c, "data", "balance") != 8.0 {
		t.Errorf("%v", c)
	}
}

// A user reaches none of it, with no key and in no role but an administrator's, and sees no other statement.
func TestCorrectionsDoors(t *testing.T) {
	t.Parallel()
	n := openTill(t)
	by := audit.Actor{Name: "test"}
	keys := map[string]string{}
	for name, management := range map[string]bool{"api": false, "management": true} {
		_, text, err := n.keys.Create(t.Context(), apikey.NewKey{Name: name, User: n.other, Creator: n.other, Management: management}, by)
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = text
	}
	bodies := map[string]string{
		"/api/admin/adjustments": fmt.Sprintf(`{"user":%q,"amount":100,"reason":"I like it","reference":"mine"}`, n.other),
		"/api/admin/refunds":     `{"generation":"gen-1","reason":"I like it","reference":"mine"}`,
	}
	for _, role := range []apikey.Role{apikey.User, apikey.Operator, apikey.Administrator} {
		if err := n.users.SetRole(t.Context(), n.other, role, by); err != nil {
			t.Fatal(err)
		}
		for path, body := range bodies {
			wantError(t, n.do("POST", path, body, "Authorization", ""), 401, fault.Authentication)
			wantError(t, n.do("POST", path, body, "Authorization", "Bearer "+keys["api"]), 403, fault.PermissionDenied)
			if role != apikey.Administrator {
				wantError(t, n.do("POST", path, body, "Authorization", "Bearer "+keys["management"]), 403, fault.PermissionDenied)
			} else if r := n.do("POST", path, body, "Authorization", "Bearer "+keys["management"]); r.StatusCode != 201 {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
		}
	}
	for _, key := range keys {
		s := n.do("GET", "/api/account/statement", "", "Authorization", "Bearer "+key).json(t)
		if at(s, "data", 0, "reference") != "mine" || at(s, "data", 0, "amount") != "100" || at(s, "data", 1, "kind") != "topup" || at(s, "data", 2) != nil {
			t.Errorf("%v", s)
		}
		wantError(t, n.do("GET", "/api/calls/gen-1", "", "Authorization", "Bearer "+key), 404, fault.NotFound)
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=x", "before=0", "before=-1"} {
		wantError(t, n.do("GET", "/api/account/statement?"+query, ""), 400, fault.Invalid)
	}
	wantError(t, n.do("GET", "/api/account/statement", "", "Authorization", ""), 401, fault.Authentication)
}
