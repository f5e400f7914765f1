package apptest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/money"
)

// reported is what an answer reports about itself.
type reported struct {
	ID, Model          string
	Prompt, Completion int64
	Cost               money.Nano
}

func (a *Answer) Reported(t *testing.T, stream bool) (out reported) {
	t.Helper()
	if a.Responses {
		return a.reportedOfResponse(t, stream)
	}
	body := a.Body
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
	if err := json.Unmarshal(body, &m); err != nil || a.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", a.Status, err, a.Body)
	}
	return reported{m.ID, m.Model, m.Usage.PromptTokens, m.Usage.CompletionTokens, Parse(t, m.Usage.Cost)}
}

// KeyUsage returns the key's spending according to GET /v1/key.
func (a *Account) KeyUsage(t *testing.T) (total, daily money.Nano) {
	t.Helper()
	var k struct {
		Data struct {
			Usage json.Number
			Daily json.Number `json:"usage_daily"`
		}
	}
	got := a.Do(t, http.MethodGet, "/v1/key", nil)
	if err := json.Unmarshal(got.Body, &k); err != nil || got.Status != http.StatusOK {
		t.Fatalf("key: status %d, %v: %s", got.Status, err, got.Body)
	}
	return Parse(t, k.Data.Usage), Parse(t, k.Data.Daily)
}

// WantReported compares an answer with its record, to the nano-ruble.
func (a *Account) WantReported(t *testing.T, is reported) {
	t.Helper()
	g := a.Generation(t, is.ID)
	if g.ID != is.ID || g.Model != is.Model || g.Cancelled || g.TokensPrompt != is.Prompt || g.TokensCompletion != is.Completion || Parse(t, g.TotalCost) != is.Cost {
		t.Errorf("reported %+v, recorded %+v", is, g)
	}
	if want := TestCost(t, is.Prompt, is.Completion); is.Cost != want {
		t.Errorf("%s cost %s, its tokens cost %s", is.ID, is.Cost, want)
	}
}

// WantRollUp compares the store's daily totals of the only user with the reported costs. The API does not return today's totals yet.
func (gw *Gateway) WantRollUp(t *testing.T, byModel map[string]money.Nano, requests int64) {
	t.Helper()
	o := gw.Node.Admin()
	users, err := o.Users.List(t.Context())
	if err != nil || len(users) != 1 {
		t.Fatalf("%d users, %v", len(users), err)
	}
	today := time.Now().UTC()
	rows, err := o.Store.Ledger.Activity(t.Context(), users[0].Wallet, "", today.AddDate(0, 0, -1).Format(time.DateOnly), today.Format(time.DateOnly))
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
