package accounts_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/rawjson"
)

type shownBudget struct {
	ID     string `json:"id"`
	Amount string `json:"amount"`
	Period string `json:"period"`
	Hard   bool   `json:"hard"`
	Scope  struct {
		Kind string
		ID   *string
		Key  *struct{ Name *string }
	} `json:"scope"`
	Spent, Held, Left *string
	RenewsAt          *string `json:"renews_at"`
}

type spendableNow struct {
	Amount string
	Data   []struct {
		Kind, Left string
		Budget     *string
		Name       *string
	}
}

// uncounted are the routes that cost nothing.
var uncounted = []string{":countTokens", "/count_tokens", "/input_tokens", "/route/explain", "/v1/moderations"}

// TestBudgetRefusals: a budget that is used up refuses a call of every style with 402, in the words of that style; it names the budget, and no time
// after which to try again. Nothing is charged, and no provider is asked.
func TestBudgetRefusals(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t)
	o := w.NewOwner(t, 10_000, apikey.NewKey{})
	b := do[shownBudget](t, o.Pages, 201, http.MethodPost, "/api/budgets", map[string]any{"scope": map[string]any{"kind": "organization"}, "period": "month", "amount": "0.000000001", "name": "Everything"})
	tried := 0
	for i := range w.Outlets {
		s := &w.Outlets[i]
		free := false
		for _, end := range uncounted {
			free = free || strings.HasSuffix(s.Route, end)
		}
		if free || len(s.Models) == 0 {
			continue
		}
		for _, stream := range []bool{false, true} {
			more := map[string]any{}
			if stream {
				if s.InForm() || !strings.HasSuffix(s.Route, "/completions") && !strings.HasSuffix(s.Route, "/messages") && s.Route != "/v1/responses" {
					continue
				}
				more["stream"] = true
			}
			got := s.Send(t, o.Account, s.Models[0], more)
			tried++
			text := string(got.Body)
			if got.Status != http.StatusPaymentRequired || !strings.Contains(text, `The budget \"Everything\" (account) has 0.000000001 of 0.000000001 rubles left`) {
				t.Errorf("%s: %d %s", s.Route, got.Status, text)
			}
			if got.Header.Get("Retry-After") != "" {
				t.Errorf("%s: Retry-After %q", s.Route, got.Header.Get("Retry-After"))
			}
			if strings.HasPrefix(s.Route, "/v1beta/") || strings.HasPrefix(s.Route, "/v1/messages") {
				continue // these envelopes have the sentence alone, or in places of their own
			}
			meta := rawjson.Find(rawjson.Find(got.Body, "error"), "metadata")
			for name, want := range map[string]string{"error_type": "payment_required", "reason": "budget", "budget": b.ID, "budget_name": "Everything", "scope": "organization", "amount": "0.000000001", "available": "0.000000001"} {
				if is := rawjson.Text(rawjson.Find(meta, name)); is != want {
					t.Errorf("%s: %s is %q, want %q", s.Route, name, is, want)
				}
			}
			if rawjson.Text(rawjson.Find(meta, "renews_at")) == "" {
				t.Errorf("%s: %s", s.Route, meta)
			}
		}
	}
	if tried < 18 {
		t.Errorf("%d calls were tried", tried)
	}
	if n := len(w.Asked()); n != 0 {
		t.Errorf("providers were asked %d times", n)
	}
	if got := do[shownBudget](t, o.Pages, 200, http.MethodGet, "/api/budgets/"+b.ID, nil); *got.Spent != "0" {
		t.Errorf("%+v", got)
	}
}

// TestBudgets: budgets of an account, a key, a tag and sessions count what is spent, stop calls when it is used up, and let them go on when they are
// raised or deleted. The strictest comes first.
func TestBudgets(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o, other := gw.NewOwner(t, 100, apikey.NewKey{Name: "runs"}), gw.NewOwner(t, 100, apikey.NewKey{})
	budget := func(kind, id, amount string, more map[string]any) shownBudget {
		t.Helper()
		scope := map[string]any{"kind": kind}
		if id != "" {
			scope["id"] = id
		}
		body := map[string]any{"scope": scope, "period": "total", "amount": amount}
		for k, v := range more {
			body[k] = v
		}
		return do[shownBudget](t, o.Pages, 201, http.MethodPost, "/api/budgets", body)
	}
	now := func(id string) shownBudget {
		t.Helper()
		return do[shownBudget](t, o.Pages, 200, http.MethodGet, "/api/budgets/"+id, nil)
	}
	ask := func(status int, tags, session string) *apptest.Answer {
		t.Helper()
		got := o.Send(t, http.MethodPost, "/v1/chat/completions", []byte(`{"model":"test/next","messages":[{"role":"user","content":"Hello"}],"max_tokens":20}`), map[string]string{"Content-Type": "application/json", "X-Weir-Tags": tags, "X-Session-Id": session})
		if got.Status != status {
			t.Fatalf("tags %q, session %q: %d %s", tags, session, got.Status, got.Body)
		}
		return got
	}
	all := budget("organization", "", "50", map[string]any{"alarms": []int{80}})
	key := budget("key", apikey.Hash(o.Key), "40", nil)
	tag := budget("tag", "project=atlas", "30", nil)
	soft := budget("tag", "audit", "0", map[string]any{"hard": false, "alarms": []int{100}})
	each := budget("session", "", "20", nil)
	if key.Left == nil || *key.Left != "40" || each.Spent != nil || all.RenewsAt != nil {
		t.Errorf("%+v, %+v, %+v", key, each, all)
	}
	ask(200, "project=atlas, audit", "s1")
	spent := *now(all.ID).Spent
	for _, b := range []shownBudget{key, tag, soft} {
		if got := now(b.ID); *got.Spent != spent || spent == "0" {
			t.Errorf("%s: %v, want %s", b.Scope.Kind, *got.Spent, spent)
		}
	}
	s := do[spendableNow](t, o.Pages, 200, http.MethodGet, "/api/spendable?session=s2&tags=project=atlas,audit&key="+apikey.Hash(o.Key), nil)
	var order []string
	for _, r := range s.Data {
		order = append(order, r.Kind)
	}
	if want := []string{"session", "tag", "key", "organization", "wallet"}; cmp.Diff(want, order) != "" || s.Amount != "20" || s.Data[0].Left != "20" {
		t.Errorf("%+v", s)
	}
	do[shownBudget](t, o.Pages, 200, http.MethodPatch, "/api/budgets/"+each.ID, map[string]any{"amount": spent})
	if got := ask(402, "", "s1"); !strings.Contains(string(got.Body), "each session") {
		t.Errorf("%s", got.Body)
	}
	ask(200, "", "")
	do[shownBudget](t, o.Pages, 200, http.MethodPatch, "/api/budgets/"+tag.ID, map[string]any{"amount": spent})
	ask(402, "project=atlas", "")
	ask(200, "audit", "") // an alarm refuses nothing
	do[shownBudget](t, o.Pages, 200, http.MethodPatch, "/api/budgets/"+tag.ID, map[string]any{"amount": "30"})
	ask(200, "project=atlas", "")
	do[shownBudget](t, o.Pages, 200, http.MethodPatch, "/api/budgets/"+key.ID, map[string]any{"rules": map[string]any{"models": []string{"acme/*"}}})
	ask(403, "", "")
	do[any](t, o.Pages, 200, http.MethodDelete, "/api/budgets/"+key.ID, nil)
	ask(200, "", "")

	do[any](t, other.Pages, 404, http.MethodPatch, "/api/budgets/"+all.ID, map[string]any{"amount": "1"})
	do[any](t, other.Pages, 404, http.MethodDelete, "/api/budgets/"+all.ID, nil)
	do[any](t, other.Pages, 400, http.MethodPost, "/api/budgets", map[string]any{"scope": map[string]any{"kind": "key", "id": apikey.Hash(o.Key)}, "period": "day", "amount": "1"})
	do[any](t, o.Account, 403, http.MethodGet, "/api/budgets", nil)
	do[any](t, o.Pages, 409, http.MethodPost, "/api/budgets", map[string]any{"scope": map[string]any{"kind": "organization"}, "period": "total", "amount": "1"})
	for _, wrong := range []map[string]any{
		{"scope": map[string]any{"kind": "project"}, "period": "day", "amount": "1"},
		{"scope": map[string]any{"kind": "organization"}, "period": "year", "amount": "1"},
		{"scope": map[string]any{"kind": "organization"}, "period": "day"},
		{"scope": map[string]any{"kind": "organization"}, "period": "day", "amount": "-1"},
		{"scope": map[string]any{"kind": "organization"}, "period": "day", "amount": "1", "rules": map[string]any{"data_collection": "maybe"}},
		{"scope": map[string]any{"kind": "organization"}, "period": "day", "amount": "1", "hard": false},
		{"scope": map[string]any{"kind": "tag"}, "period": "day", "amount": "1"},
		{"scope": map[string]any{"kind": "team", "id": "team_none"}, "period": "day", "amount": "1"},
		{"scope": map[string]any{"kind": "member", "id": "svc_none"}, "period": "day", "amount": "1"},
	} {
		do[any](t, o.Pages, 400, http.MethodPost, "/api/budgets", wrong)
	}
	list := do[[]shownBudget](t, o.Pages, 200, http.MethodGet, "/api/budgets", nil)
	if len(list) != 4 || list[0].ID != all.ID {
		t.Errorf("%+v", list)
	}
}

// TestBudgetPuts: what is put is made once, left alone when it is put again, and changed to what another body says, with all that it leaves out.
func TestBudgetPuts(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{Name: "runs"})
	body := map[string]any{"scope": map[string]any{"kind": "key", "id": apikey.Hash(o.Key)}, "period": "month", "amount": "5", "alarms": []int{90, 80}, "name": "Runs"}
	put := func(result string) shownBudget {
		t.Helper()
		got := o.Pages.Do(t, http.MethodPut, "/api/budgets", body)
		out := apptest.Decode[struct {
			Result string
			Data   shownBudget
		}](t, got.Body)
		if got.Status != 200 || out.Result != result {
			t.Fatalf("%d %s, want %s", got.Status, got.Body, result)
		}
		return out.Data
	}
	first := put("created")
	if again := put("unchanged"); again.ID != first.ID || again.Amount != "5" {
		t.Errorf("%+v", again)
	}
	body["amount"] = "6"
	delete(body, "alarms")
	if now := put("changed"); now.ID != first.ID || now.Amount != "6" || !now.Hard {
		t.Errorf("%+v", now)
	}
	put("unchanged")
	body["amount"] = "-6"
	do[any](t, o.Pages, 400, http.MethodPut, "/api/budgets", body)
}
