package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/money"
)

type agent struct {
	Hash, ID, Name, Parent, Tree, State string
	Calls                               int64
	Amount, Own, Held, Left             string
	ByChildren                          string `json:"by_children"`
	Models, Tools                       []string
	Depth                               int
	Deadline                            *string
	Loop                                *struct {
		Tools        []string
		Times, Calls int64
	}
}

type agentTree struct {
	Top  agent
	Data []agent
}

// child makes a key within that of an account.
func child(t *testing.T, by *apptest.Account, body map[string]any) (*apptest.Account, agent) {
	t.Helper()
	got := by.Do(t, http.MethodPost, "/v1/keys/child", body)
	if got.Status != http.StatusCreated {
		t.Fatalf("%v: %d %s", body, got.Status, got.Body)
	}
	made := apptest.Decode[struct {
		Data agent
		Key  string
	}](t, got.Body)
	if got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the text of a key may be kept: %v", got.Header)
	}
	return &apptest.Account{Gw: by.Gw, Key: made.Key}, made.Data
}

func hello() map[string]any {
	return map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}, "max_tokens": 20}
}

// status asks a short question and returns the status of the answer.
func status(t *testing.T, a *apptest.Account) int {
	t.Helper()
	return a.Do(t, http.MethodPost, "/v1/chat/completions", hello()).Status
}

// wantAdding checks that each line of a tree adds up, and that each key has what its children have spent.
func wantAdding(t *testing.T, tree agentTree) {
	t.Helper()
	parse := func(s string) money.Nano {
		n, err := money.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	below := map[string]money.Nano{}
	for _, a := range tree.Data {
		below[a.Parent] += parse(a.Own) + parse(a.ByChildren)
		if sum := parse(a.Own) + parse(a.ByChildren) + parse(a.Held) + parse(a.Left); sum != parse(a.Amount) {
			t.Errorf("%s: %s is not %s", a.Name, a.Amount, sum)
		}
		if parse(a.Own) < 0 {
			t.Errorf("%s has less than its children have spent: %s", a.Name, a.Own)
		}
	}
	for _, a := range tree.Data {
		if parse(a.ByChildren) != below[a.ID] {
			t.Errorf("%s: by children %s, they spent %s", a.Name, a.ByChildren, below[a.ID])
		}
	}
}

// TestChildKeys: a key gives a part of what it may do to another one, and no more than it has. What that one spends counts in all above it.
func TestChildKeys(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	o, stranger := gw.NewOwner(t, 100, apikey.NewKey{Name: "ci", Limit: &apikey.Limit{Amount: 50 * money.Ruble}, Models: []string{"test/*"}, ExpiresAt: end}), gw.NewOwner(t, 100, apikey.NewKey{})
	bot, shown := child(t, o.Account, map[string]any{"name": "release-bot", "amount": "20", "tools": []string{"read_file", "run_*"}, "depth": 2})
	if shown.Amount != "20" || shown.Left != "20" || shown.Own != "0" || shown.Depth != 2 || shown.State != "running" || len(shown.Models) != 1 || *shown.Deadline != end.Format(time.RFC3339) {
		t.Errorf("%+v", shown)
	}
	for what, x := range map[string]struct {
		status int
		body   map[string]any
	}{
		"more than is left": {400, map[string]any{"name": "x", "amount": "20.000000001"}},
		"nothing":           {400, map[string]any{"name": "x", "amount": "0"}},
		"no amount":         {400, map[string]any{"name": "x"}},
		"no name":           {400, map[string]any{"amount": "1"}},
		"other models":      {400, map[string]any{"name": "x", "amount": "1", "models": []string{"acme/*"}}},
		"all models":        {400, map[string]any{"name": "x", "amount": "1", "models": []string{"*"}}},
		"other tools":       {400, map[string]any{"name": "x", "amount": "1", "tools": []string{"delete_file"}}},
		"later":             {400, map[string]any{"name": "x", "amount": "1", "deadline": end.Add(time.Second)}},
		"past":              {400, map[string]any{"name": "x", "amount": "1", "deadline": end.Add(-2 * time.Hour)}},
		"as deep":           {400, map[string]any{"name": "x", "amount": "1", "depth": 2}},
	} {
		if got := bot.Do(t, http.MethodPost, "/v1/keys/child", x.body); got.Status != x.status {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	coder, _ := child(t, bot, map[string]any{"name": "coder", "amount": "10", "models": []string{"test/n*"}, "tools": []string{"run_tests"}, "depth": 1})
	tester, leaf := child(t, coder, map[string]any{"name": "tester", "amount": "10"})
	if got := tester.Do(t, http.MethodPost, "/v1/keys/child", map[string]any{"name": "x", "amount": "1"}); got.Status != http.StatusForbidden {
		t.Errorf("too deep: %d %s", got.Status, got.Body)
	}
	for _, a := range []*apptest.Account{o.Account, bot, coder, tester, tester} {
		if got := status(t, a); got != 200 {
			t.Fatal(got)
		}
	}
	tool := hello()
	for name, want := range map[string]int{"run_tests": 200, "read_file": 403} {
		tool["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": map[string]any{"type": "object"}}}}
		if got := tester.Do(t, http.MethodPost, "/v1/chat/completions", tool); got.Status != want {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	tree := do[agentTree](t, o.Pages, 200, http.MethodGet, "/api/agents/"+leaf.Hash, nil)
	wantAdding(t, tree)
	if len(tree.Data) != 3 || tree.Top.Name != "release-bot" || tree.Data[2].Name != "tester" || tree.Data[2].Calls != 3 || tree.Data[0].ByChildren == "0" {
		t.Errorf("%+v", tree)
	}
	if own := do[[]agent](t, bot, 200, http.MethodGet, "/v1/keys/child", nil); len(own) != 1 || own[0].Name != "coder" {
		t.Errorf("%+v", own)
	}
	if tops := do[[]agent](t, o.Pages, 200, http.MethodGet, "/api/agents", nil); len(tops) != 1 || tops[0].ID != tree.Top.ID {
		t.Errorf("%+v", tops)
	}
	if keys := do[[]struct{ Name string }](t, o.Pages, 200, http.MethodGet, "/api/keys", nil); len(keys) != 2 {
		t.Errorf("keys of agents are among those of people: %v", keys)
	}
	do[any](t, stranger.Pages, 404, http.MethodGet, "/api/agents/"+leaf.Hash, nil)
	do[any](t, stranger.Pages, 404, http.MethodPost, "/api/agents/"+leaf.Hash+"/stop", map[string]any{})
	do[any](t, stranger.Account, 404, http.MethodPost, "/v1/keys/child/"+leaf.Hash+"/stop", map[string]any{})
	do[any](t, tester, 404, http.MethodPost, "/v1/keys/child/"+shown.Hash+"/stop", map[string]any{}) // it comes from that one
	do[any](t, o.Pages, 403, http.MethodPost, "/v1/keys/child", map[string]any{"name": "x", "amount": "1"})
}

// TestChildrenEndWithTheirParents: a child never works when a key above it does not, whatever ended that one; and works again when it is enabled.
func TestChildrenEndWithTheirParents(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{Name: "ci"})
	hash := apikey.Hash(o.Key)
	bot, top := child(t, o.Account, map[string]any{"name": "bot", "amount": "20", "depth": 2})
	sub, leaf := child(t, bot, map[string]any{"name": "sub", "amount": "20", "depth": 1})
	want := func(bots, subs int) {
		t.Helper()
		if b, s := status(t, bot), status(t, sub); b != bots || s != subs {
			t.Errorf("%d and %d, want %d and %d", b, s, bots, subs)
		}
	}
	change := func(hash string, body map[string]any) {
		t.Helper()
		do[any](t, o.Pages, 200, http.MethodPatch, "/api/keys/"+hash, body)
	}
	want(200, 200)
	change(hash, map[string]any{"disabled": true})
	want(401, 401)
	change(hash, map[string]any{"disabled": false})
	want(200, 200)
	change(top.Hash, map[string]any{"disabled": true})
	want(401, 401)
	change(top.Hash, map[string]any{"disabled": false})
	change(hash, map[string]any{"allowed_models": []string{"acme/*"}})
	want(403, 403)
	change(hash, map[string]any{"allowed_models": nil})
	change(hash, map[string]any{"limit": "0.000000001"})
	want(402, 402)
	change(hash, map[string]any{"limit": nil})
	want(200, 200)
	got := o.Pages.Do(t, http.MethodPost, "/api/keys/"+hash+"/rotate", map[string]any{"hours": 0})
	if got.Status != 200 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	want(200, 200) // the key is the same with another text
	parent := &apptest.Account{Gw: o.Gw, Key: apptest.Decode[struct{ Key string }](t, got.Body).Key}

	stopped := do[struct {
		Stopped int
		Left    string
	}](t, parent, 200, http.MethodPost, "/v1/keys/child/"+leaf.Hash+"/stop", map[string]any{})
	if stopped.Stopped != 1 {
		t.Errorf("%+v", stopped)
	}
	want(200, 401)
	if again := do[struct{ Stopped int }](t, parent, 200, http.MethodPost, "/v1/keys/child/"+leaf.Hash+"/stop", map[string]any{}); again.Stopped != 0 {
		t.Errorf("%+v", again)
	}
	third, _ := child(t, bot, map[string]any{"name": "third", "amount": "1"})
	if all := do[struct{ Stopped int }](t, o.Pages, 200, http.MethodPost, "/api/agents/"+top.Hash+"/stop", map[string]any{}); all.Stopped != 2 {
		t.Errorf("%+v", all)
	}
	want(401, 401)
	if got := status(t, third); got != 401 {
		t.Error(got)
	}
	tree := do[agentTree](t, o.Pages, 200, http.MethodGet, "/api/agents/"+top.Hash, nil)
	wantAdding(t, tree)
	for _, a := range tree.Data {
		if a.State != "stopped" || a.Held != "0" {
			t.Errorf("%+v", a)
		}
	}
	last, _ := child(t, parent, map[string]any{"name": "last", "amount": "1"})
	do[any](t, o.Pages, 200, http.MethodDelete, "/api/keys/"+apikey.Hash(parent.Key), nil)
	if got := status(t, last); got != 401 {
		t.Error(got)
	}
}

// TestLoopEndsWithItsBudget: what people report of agents. A tool call that is refused is tried again, each time with a longer conversation, until
// somebody looks (Kilo-Org/kilocode#13772: 626 dollars); agents make agents without end (anthropics/claude-code#67704). Here the loop ends when its key
// has spent its amount, whatever the account has, and agents end at their depth.
func TestLoopEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 1000, apikey.NewKey{Name: "ci"})
	bot, top := child(t, o.Account, map[string]any{"name": "loop", "amount": "30", "depth": 1})
	messages := []any{map[string]any{"role": "user", "content": "Make the tests pass."}}
	tools := []any{map[string]any{"type": "function", "function": map[string]any{"name": "run_tests", "parameters": map[string]any{"type": "object"}}}}
	calls, last := 0, 200
	for ; calls < 2000 && last == 200; calls++ {
		last = bot.Do(t, http.MethodPost, "/v1/chat/completions", map[string]any{"model": "test/next", "messages": messages, "max_tokens": 50, "tools": tools, "tool_choice": "required"}).Status
		messages = append(messages, map[string]any{"role": "assistant", "content": strings.Repeat("I run the tests again. ", 20)}, map[string]any{"role": "user", "content": "The tool run_tests was refused."})
	}
	if last != http.StatusPaymentRequired {
		t.Fatalf("after %d calls: %d", calls, last)
	}
	tree := do[agentTree](t, o.Pages, 200, http.MethodGet, "/api/agents/"+top.Hash, nil)
	wantAdding(t, tree)
	if spent, err := money.Parse(tree.Top.Own); err != nil || spent > 30*money.Ruble || spent < 15*money.Ruble || tree.Top.Calls != int64(calls-1) {
		t.Errorf("%d calls, %+v", calls, tree.Top)
	}
	apptest.WaitFor(t, "the loop in the report", func() bool {
		tree = do[agentTree](t, o.Pages, 200, http.MethodGet, "/api/agents/"+top.Hash, nil)
		return tree.Top.Loop != nil
	})
	if l := tree.Top.Loop; len(l.Tools) != 1 || l.Tools[0] != "run_tests" || l.Times < 20 || l.Times > tree.Top.Calls {
		t.Errorf("%+v", l)
	}
	if tree.Top.State != "running" && tree.Top.State != "out_of_money" {
		t.Error(tree.Top.State)
	}
	if got := status(t, o.Account); got != 200 {
		t.Errorf("the key above has money: %d", got)
	}
	sub, _ := child(t, o.Account, map[string]any{"name": "1", "amount": "1", "depth": 7})
	for depth := 6; depth >= 0; depth-- {
		sub, _ = child(t, sub, map[string]any{"name": "next", "amount": "1", "depth": depth})
	}
	if got := sub.Do(t, http.MethodPost, "/v1/keys/child", map[string]any{"name": "one more", "amount": "1"}); got.Status != http.StatusForbidden {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestFirstCallsOfASession: eight first calls of a session at one moment do not pass its budget (BerriAI/litellm#40095: all of them did, because the
// budget of an unknown one was made by the first that was charged).
func TestFirstCallsOfASession(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 1000, apikey.NewKey{})
	do[shownBudget](t, o.Pages, 201, http.MethodPost, "/api/budgets", map[string]any{"scope": map[string]any{"kind": "session"}, "period": "total", "amount": "0.000000001"})
	var wg sync.WaitGroup
	got := make([]int, 8)
	for i := range got {
		wg.Go(func() {
			body := []byte(`{"model":"test/next","messages":[{"role":"user","content":"Hello"}],"max_tokens":64}`)
			got[i] = o.Send(t, http.MethodPost, "/v1/chat/completions", body, map[string]string{"Content-Type": "application/json", "X-Session-Id": "unknown"}).Status
		})
	}
	wg.Wait()
	if want := fmt.Sprint([]int{402, 402, 402, 402, 402, 402, 402, 402}); fmt.Sprint(got) != want {
		t.Error(got)
	}
}

// TestStopCutsStreams: a stop ends a stream of a key far below, which is charged for what it had delivered.
func TestStopCutsStreams(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 1000, apikey.NewKey{Name: "ci"})
	bot, top := child(t, o.Account, map[string]any{"name": "bot", "amount": "500", "depth": 1})
	sub, _ := child(t, bot, map[string]any{"name": "sub", "amount": "500"})
	begun, ended := make(chan struct{}), make(chan *apptest.Answer, 1)
	go func() {
		body := []byte(`{"model":"test/flat","stream":true,"messages":[{"role":"user","content":"[[sim gap=20ms frames=100000]] Hello"}]}`)
		ended <- sub.Read(t, body, func() { close(begun) })
	}()
	<-begun
	do[any](t, o.Account, 200, http.MethodPost, "/v1/keys/child/"+top.Hash+"/stop", map[string]any{})
	if got := <-ended; !strings.Contains(string(got.Body), "The calls of this key were stopped.") {
		t.Errorf("%d %.300s", got.Status, got.Body)
	}
	tree := do[agentTree](t, o.Pages, 200, http.MethodGet, "/api/agents/"+top.Hash, nil)
	wantAdding(t, tree)
	if tree.Top.ByChildren == "0" || tree.Top.Held != "0" {
		t.Errorf("%+v", tree.Top)
	}
}
