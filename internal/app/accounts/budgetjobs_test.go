package accounts_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/rawjson"
)

// TestBudgetRefusesSockets: over a WebSocket of the responses style, a budget that is used up refuses in an event that names it and when it renews. The
// connection stays, and the next response is made when the budget is raised.
func TestBudgetRefusesSockets(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	b := do[shownBudget](t, o.Pages, 201, http.MethodPost, "/api/budgets", map[string]any{"scope": map[string]any{"kind": "tag", "id": "run=7"}, "period": "day", "amount": "0.000000001", "name": "Runs"})
	s := o.Socket(t)
	before := gw.Attempts()
	ask := apptest.Object{"model": "test/next", "input": "Hello", "metadata": map[string]any{"run": "7"}}
	got := s.Ask(ask)
	if got.Status != http.StatusPaymentRequired || got.Header.Get("Retry-After") != "" {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
	meta := rawjson.Find(rawjson.Find(got.Body, "error"), "metadata")
	for name, want := range map[string]string{"reason": "budget", "budget": b.ID, "budget_name": "Runs", "scope": "tag", "scope_id": "run=7", "renews_at": *b.RenewsAt} {
		if is := rawjson.TextAt(meta, name); is != want {
			t.Errorf("%s is %q, want %q: %s", name, is, want, got.Body)
		}
	}
	if n := gw.Attempts(); n != before {
		t.Errorf("a provider was asked %d times", n-before)
	}
	s.Respond(apptest.Object{"model": "test/next", "input": "Hello"}) // without the tag
	do[any](t, o.Pages, 200, http.MethodPatch, "/api/budgets/"+b.ID, map[string]any{"amount": "50"})
	s.Respond(ask)
	if now := do[shownBudget](t, o.Pages, 200, http.MethodGet, "/api/budgets/"+b.ID, nil); *now.Spent == "0" {
		t.Errorf("%+v", now)
	}
	o.AwaitSettled(t)
	gw.WantBalanced(t)
}

// TestBudgetHoldsBatches: the requests of a batch wait while a budget of theirs is used up, none is made and nothing is charged; they are made when it is
// raised, and count in it. One request with a tag of such a budget has the others of its batch wait, too.
func TestBudgetHoldsBatches(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	budget := func(kind, id string) shownBudget {
		t.Helper()
		return do[shownBudget](t, o.Pages, 201, http.MethodPost, "/api/budgets", map[string]any{"scope": map[string]any{"kind": kind, "id": id}, "period": "total", "amount": "0.000000001"})
	}
	key, tag := budget("key", apikey.Hash(o.Key)), budget("tag", "job=night")
	before := gw.Attempts()
	tagged := hello()
	tagged["metadata"] = map[string]any{"job": "night"}
	id := o.RequestsBatch(t, "/v1/chat/completions", tagged, tagged)
	paused := func() {
		t.Helper()
		apptest.WaitFor(t, "the pause of the batch", func() bool {
			got := o.Do(t, http.MethodGet, "/v1/batches/"+id, nil).Body
			return rawjson.TextAt(got, "paused_by") == "payment_required" && strings.Contains(string(got), `"status":"in_progress"`)
		})
	}
	paused()
	if spent := o.Credits(t); spent.TotalUsage.String() != "0" || spent.Reserved.String() != "0" || gw.Attempts() != before {
		t.Errorf("%+v, %d attempts", spent, gw.Attempts()-before)
	}
	for _, b := range []shownBudget{key, tag} {
		paused()
		do[any](t, o.Pages, 200, http.MethodPatch, "/api/budgets/"+b.ID, map[string]any{"amount": "50"})
	}
	status, lines := o.Finished(t, id)
	if status != "completed" || len(lines) != 2 {
		t.Errorf("%s %v", status, lines)
	}
	o.AwaitSettled(t)
	total := o.Credits(t).TotalUsage.String()
	for _, b := range []shownBudget{key, tag} {
		if now := do[shownBudget](t, o.Pages, 200, http.MethodGet, "/api/budgets/"+b.ID, nil); *now.Spent != total || total == "0" {
			t.Errorf("%+v, charged %s", now, total)
		}
	}
	gw.WantBalanced(t)
}

// TestHeaderTagsOfBatches: tags in the header of the request that makes a batch are those of the calls of all its lines, beside what a line has in its
// metadata; a budget of such a tag counts them. A wrong header is refused before there is a batch.
func TestHeaderTagsOfBatches(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	b := do[shownBudget](t, o.Pages, 201, http.MethodPost, "/api/budgets", map[string]any{"scope": map[string]any{"kind": "tag", "id": "project=atlas"}, "period": "total", "amount": "50"})
	line := hello()
	line["metadata"] = map[string]any{"step": "2"}
	requests, _ := json.Marshal(map[string]any{"requests": []any{map[string]any{"custom_id": "a", "params": hello()}, map[string]any{"custom_id": "b", "params": hello()}}})
	send := func(tags string) *apptest.Answer {
		return o.Send(t, http.MethodPost, "/v1/messages/batches", requests, map[string]string{"X-Weir-Tags": tags})
	}
	if got := send("project=atlas, =wrong"); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "X-Weir-Tags") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got := send("project=atlas, nightly")
	if got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if results := o.Ended(t, rawjson.TextAt(got.Body, "id")); results["succeeded"] != 2 {
		t.Errorf("%v", results)
	}
	id := o.RequestsBatch(t, "/v1/chat/completions", line) // without the header
	if status, _ := o.Finished(t, id); status != "completed" {
		t.Error(status)
	}
	o.AwaitSettled(t)
	with := func(query string) (n int) {
		t.Helper()
		return len(elements(o.Page(t, "/api/calls?"+query)["data"]))
	}
	if atlas, nightly, step := with("tag=project%3Datlas"), with("tag=nightly"), with("tag=step%3D2"); atlas != 2 || nightly != 2 || step != 1 {
		t.Errorf("%d, %d, %d calls have the tags", atlas, nightly, step)
	}
	sum := do[shownBudget](t, o.Pages, 200, http.MethodGet, "/api/budgets/"+b.ID, nil)
	if *sum.Spent == "0" || *sum.Spent == o.Credits(t).TotalUsage.String() {
		t.Errorf("%+v", sum)
	}
	gw.WantBalanced(t)
}
