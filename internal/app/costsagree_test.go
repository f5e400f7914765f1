package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/money"
)

// reported is what an answer reports about itself.
type reported struct {
	id, model          string
	prompt, completion int64
	cost               money.Nano
}

func (a *answer) reported(t *testing.T, stream bool) (out reported) {
	t.Helper()
	if a.responses {
		return a.reportedOfResponse(t, stream)
	}
	body := a.body
	if stream {
		frames := strings.Split(strings.TrimSuffix(string(body), "\n\ndata: [DONE]\n\n"), "\n\n")
		body = []byte(strings.TrimPrefix(frames[len(frames)-1], "data: "))
	}
	var m struct {
		ID, Model string
		Usage     struct {
			PromptTokens     int64       `json:"prompt_tokens"`
			CompletionTokens int64       `json:"completion_tokens"`
			Cost             json.Number `json:"cost"`
		}
	}
	if err := json.Unmarshal(body, &m); err != nil || a.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", a.status, err, a.body)
	}
	return reported{m.ID, m.Model, m.Usage.PromptTokens, m.Usage.CompletionTokens, parse(t, m.Usage.Cost)}
}

// keyUsage returns the key's spending according to GET /v1/key.
func (a *account) keyUsage(t *testing.T) (total, daily money.Nano) {
	t.Helper()
	var k struct {
		Data struct {
			Usage json.Number
			Daily json.Number `json:"usage_daily"`
		}
	}
	got := a.do(t, http.MethodGet, "/v1/key", nil)
	if err := json.Unmarshal(got.body, &k); err != nil || got.status != http.StatusOK {
		t.Fatalf("key: status %d, %v: %s", got.status, err, got.body)
	}
	return parse(t, k.Data.Usage), parse(t, k.Data.Daily)
}

// wantReported compares an answer with its record, to the nano-ruble.
func (a *account) wantReported(t *testing.T, is reported) {
	t.Helper()
	g := a.generation(t, is.id)
	if g.ID != is.id || g.Model != is.model || g.Cancelled || g.TokensPrompt != is.prompt || g.TokensCompletion != is.completion || parse(t, g.TotalCost) != is.cost {
		t.Errorf("reported %+v, recorded %+v", is, g)
	}
	if want := testCost(t, is.prompt, is.completion); is.cost != want {
		t.Errorf("%s cost %s, its tokens cost %s", is.id, is.cost, want)
	}
}

// When an answer has ended, balance, record and key agree at once with the cost that it reported.
func TestCostsAgreeAtOnce(t *testing.T) {
	t.Parallel()
	gw := startGateway(t)
	a := gw.newAccount(t)
	var spent money.Nano
	for i := range 40 {
		stream := i%2 == 1
		model := []string{"test/next", "test/u31", "test/u12-status-400"}[i%3] // the last one fails over
		is := a.chat(t, map[string]any{"model": model, "models": []string{"test/next"}, "stream": stream, "max_tokens": 1 + i*7, "messages": question}).reported(t, stream)
		spent += is.cost
		c := a.credits(t)
		if parse(t, c.TotalUsage) != spent || parse(t, c.Balance) != 100*money.Ruble-spent || c.Reserved != "0" || is.cost == 0 {
			t.Fatalf("answer %d cost %s of %s in all; credits are %+v", i, is.cost, spent, c)
		}
		if total, daily := a.keyUsage(t); total != spent || daily > spent || daily == 0 {
			t.Errorf("the key has spent %s, %s today, not %s", total, daily, spent)
		}
		a.wantReported(t, is)
	}
	gw.wantBalanced(t)
}

// The same holds for many concurrent clients, and for the totals of their user, by day and by model.
func TestCostsAgreeUnderLoad(t *testing.T) {
	t.Parallel()
	const clients, calls = 8, 25
	gw := startGateway(t)
	keys := gw.open(t, opening{amount: 100 * money.Ruble, keys: make([]*apikey.Limit, clients)})
	var (
		mu      sync.Mutex
		byModel = map[string]money.Nano{}
		sum     money.Nano
		all     sync.WaitGroup
	)
	for n, a := range keys {
		all.Go(func() {
			var mine money.Nano
			for i := range calls {
				stream := (n+i)%2 == 1
				model := []string{"test/next", "test/u31"}[i%2]
				is := a.chat(t, map[string]any{"model": model, "stream": stream, "max_tokens": 1 + i, "messages": question}).reported(t, stream)
				mine += is.cost
				a.wantReported(t, is)
				if total, _ := a.keyUsage(t); total != mine {
					t.Errorf("key %d has spent %s, not %s", n, total, mine)
				}
				mu.Lock()
				byModel[is.model] += is.cost
				sum += is.cost
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if got := parse(t, keys[0].credits(t).TotalUsage); got != sum {
		t.Errorf("charged %s, reported %s", got, sum)
	}
	gw.wantRollUp(t, byModel, clients*calls)
	gw.wantBalanced(t)
}

// wantRollUp compares the store's daily totals of the only user with the reported costs. The API does not return today's totals yet.
func (gw *gateway) wantRollUp(t *testing.T, byModel map[string]money.Nano, requests int64) {
	t.Helper()
	o := gw.node.Office()
	users, err := o.Users.List(t.Context())
	if err != nil || len(users) != 1 {
		t.Fatalf("%d users, %v", len(users), err)
	}
	today := time.Now().UTC()
	rows, err := o.Store.Activity(t.Context(), users[0].Wallet, "", today.AddDate(0, 0, -1).Format(time.DateOnly), today.Format(time.DateOnly))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]money.Nano{}
	for _, r := range rows {
		got[r.Model] += r.Cost
		requests -= r.Requests
	}
	for model, cost := range byModel {
		if got[model] != cost {
			t.Errorf("%s cost %s by day, reported %s", model, got[model], cost)
		}
	}
	if len(got) != len(byModel) || requests != 0 {
		t.Errorf("days have %v, %d requests are missing", got, requests)
	}
}
