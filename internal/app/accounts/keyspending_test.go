package accounts_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
)

type keySpending struct {
	Name           string  `json:"name"`
	Spent          string  `json:"spent"`
	SpentTotal     string  `json:"spent_total"`
	SpentMonth     string  `json:"spent_month"`
	LimitRemaining *string `json:"limit_remaining"`
	Limit          *string `json:"limit"`
	LimitReset     *string `json:"limit_reset"`
	ExpiresAt      *string `json:"expires_at"`
}

// What people report of other gateways: a key whose spending was reset is refused for as long as a counter elsewhere is stale
// (BerriAI/litellm#30002, #38686), the reset is undone or ignored where the limit has an interval (#38686), and what was spent in total is gone
// with it (#25646).
func TestResetOfAKeysSpending(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]apikey.Reset{"in total": apikey.Never, "of a day": apikey.Daily, "of a month": apikey.Monthly} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apptest.WithinADay(t)
			d := openPeople(t)
			o := d.gw.NewOwner(t, 100, apikey.NewKey{})
			hash := apikey.Hash(o.Key)
			ask := map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}}
			key := func() keySpending {
				t.Helper()
				o.Do(t, http.MethodGet, "/v1/key", nil) // what this node has charged is posted first
				return do[keySpending](t, o.Pages, 200, http.MethodGet, "/api/keys/"+hash, nil)
			}
			o.Chat(t, ask)
			cost := key().SpentTotal
			limit := map[string]any{"limit": cost}
			if reset != apikey.Never {
				limit["limit_reset"] = string(reset)
			}
			do[any](t, o.Pages, 200, http.MethodPatch, "/api/keys/"+hash, limit)
			refused := func() {
				t.Helper()
				if got := o.Do(t, http.MethodPost, "/v1/chat/completions", ask); got.Status != 402 && got.Status != 403 {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
			}
			refused()
			if got := o.Do(t, http.MethodPost, "/api/keys/"+hash+"/reset-spending", map[string]any{}); got.Status != 403 {
				t.Fatalf("the key itself: %d %s", got.Status, got.Body)
			}
			stranger := d.gw.NewOwner(t, 1, apikey.NewKey{})
			do[any](t, stranger.Pages, 404, http.MethodPost, "/api/keys/"+hash+"/reset-spending", map[string]any{})
			path := "/api/admin/users/" + o.User + "/keys/" + hash + "/reset-spending"
			do[any](t, d.operator, 403, http.MethodPost, path, map[string]any{"reason": "x"})
			do[any](t, d.administrator, 400, http.MethodPost, path, map[string]any{"reason": " "})
			do[any](t, d.administrator, 404, http.MethodPost, "/api/admin/users/"+stranger.User+"/keys/"+hash+"/reset-spending", map[string]any{"reason": "x"})
			refused()
			do[any](t, d.administrator, 204, http.MethodPost, path, map[string]any{"reason": "ticket 4711"})
			if k := key(); k.Spent != "0" || k.SpentTotal != cost || k.LimitRemaining == nil || *k.LimitRemaining != cost {
				t.Fatalf("%+v", k)
			}
			// a call needs room for the most that it may cost
			twice, err := money.Parse(cost)
			if err != nil {
				t.Fatal(err)
			}
			do[any](t, o.Pages, 200, http.MethodPatch, "/api/keys/"+hash, map[string]any{"limit": "50"})
			if got := o.Chat(t, ask); got.Status != 200 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if k := key(); k.Spent != cost || k.SpentTotal != (twice*2).String() {
				t.Fatalf("%+v", k)
			}
			if reset == apikey.Never { // an interval that is given later starts with the reset, too: litellm#34270
				do[any](t, o.Pages, 200, http.MethodPatch, "/api/keys/"+hash, map[string]any{"limit_reset": "weekly"})
				if k := key(); k.Spent != cost {
					t.Errorf("%+v", k)
				}
			}
			if k := do[keySpending](t, o.Pages, 200, http.MethodPost, "/api/keys/"+hash+"/reset-spending", map[string]any{}); k.Spent != "0" || k.SpentTotal != (twice*2).String() {
				t.Errorf("by the owner: %+v", k)
			}
			rows, err := d.gw.Node.Admin().Store.Accounts.AuditFound(t.Context(), audit.Search{Action: audit.KeyReset, Limit: 10})
			if err != nil || len(rows) != 2 || rows[1].Before != cost || rows[1].After != "ticket 4711" || !strings.HasPrefix(rows[0].Actor.Name, "key:") || rows[0].Before != cost {
				t.Errorf("%+v, %v", rows, err)
			}
			checks, _, err := d.gw.Node.Admin().Store.Ledger.Checks(t.Context(), ledger.Anchor{}, nil)
			if err != nil || len(checks) == 0 {
				t.Fatal(checks, err)
			}
			for _, c := range checks {
				if !c.OK {
					t.Errorf("the books: %+v", c)
				}
			}
		})
	}
}

// An administrator changes the limit of a key, an operator does not; a change of a name resets nothing (rainway-ai-gateway/ai-gateway-api#82).
func TestOperatorsChangeKeys(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	o := d.gw.NewOwner(t, 100, apikey.NewKey{})
	o.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}})
	hash := apikey.Hash(o.Key)
	path := "/api/admin/users/" + o.User + "/keys/" + hash
	change := func(by *apptest.Account, status int, body map[string]any) {
		t.Helper()
		do[any](t, by, status, http.MethodPatch, path, body)
	}
	change(d.operator, 403, map[string]any{"limit": "1000"})
	change(d.operator, 403, map[string]any{"disabled": true, "limit": nil})
	change(d.administrator, 400, map[string]any{"limit": "-1"})
	change(d.administrator, 400, map[string]any{"limit_reset": "hourly"})
	change(d.administrator, 204, map[string]any{"limit": "250", "limit_reset": "monthly", "expires_at": "2099-01-01T00:00:00Z", "name": "Shop"})
	k := do[keySpending](t, o.Pages, 200, http.MethodGet, "/api/keys/"+hash, nil)
	if k.Name != "Shop" || k.Limit == nil || *k.Limit != "250" || k.LimitReset == nil || *k.LimitReset != "monthly" || k.ExpiresAt == nil || k.Spent == "0" {
		t.Errorf("%+v", k)
	}
	change(d.administrator, 204, map[string]any{"limit": nil, "expires_at": nil})
	if k = do[keySpending](t, o.Pages, 200, http.MethodGet, "/api/keys/"+hash, nil); k.Limit != nil || k.ExpiresAt != nil || k.Name != "Shop" {
		t.Errorf("%+v", k)
	}
	change(d.operator, 204, map[string]any{"disabled": true})
	change(d.operator, 204, map[string]any{"disabled": false})
}
