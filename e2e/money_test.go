package e2e_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
)

type credits struct {
	Data struct {
		Credits  json.Number `json:"total_credits"`
		Usage    json.Number `json:"total_usage"`
		Balance  json.Number `json:"balance"`
		Currency string      `json:"currency"`
	} `json:"data"`
}

type keyInfo struct {
	Data struct {
		Label     string       `json:"label"`
		Limit     *json.Number `json:"limit"`
		Remaining *json.Number `json:"limit_remaining"`
		Usage     json.Number  `json:"usage"`
		Daily     json.Number  `json:"usage_daily"`
		Weekly    json.Number  `json:"usage_weekly"`
		Monthly   json.Number  `json:"usage_monthly"`
	} `json:"data"`
}

type generation struct {
	Data struct {
		ID         string      `json:"id"`
		Model      string      `json:"model"`
		API        string      `json:"api_type"`
		Streamed   bool        `json:"streamed"`
		Cancelled  bool        `json:"cancelled"`
		Finish     string      `json:"finish_reason"`
		Prompt     int64       `json:"native_tokens_prompt"`
		Completion int64       `json:"native_tokens_completion"`
		Cost       json.Number `json:"total_cost"`
		Currency   string      `json:"currency"`
	} `json:"data"`
}

type activity struct {
	Data []struct {
		Date, Model, Cost string
		Requests          int64
	} `json:"data"`
	Currency string `json:"currency"`
}

// share is the gateway's information about the money of one key.
type share struct {
	credited, spent, balance, key, daily, weekly, monthly nano
}

func purseOf(t *testing.T, client *openai.Client) share {
	t.Helper()
	c := get[credits](t, client, "credits", nil).Data
	k := get[keyInfo](t, client, "key", nil).Data
	p := share{
		credited: nanos(t, c.Credits.String()), spent: nanos(t, c.Usage.String()), balance: nanos(t, c.Balance.String()),
		key: nanos(t, k.Usage.String()), daily: nanos(t, k.Daily.String()), weekly: nanos(t, k.Weekly.String()), monthly: nanos(t, k.Monthly.String()),
	}
	if p.balance != p.credited-p.spent || c.Currency != "RUB" {
		t.Errorf("balance %d is not credits %d - usage %d, or the currency is %q", p.balance, p.credited, p.spent, c.Currency)
	}
	return p
}

func TestEveryAnswerIsInTheBalance(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	client := own.client(t)
	before := purseOf(t, client)
	if before.credited <= 0 || before.spent != 0 {
		t.Fatalf("a new demo has %d credited and %d spent", before.credited, before.spent)
	}
	reasoning := ask("sim/reason", "Think about a weir.")
	tools := withTools("How high? [[sim calls=2]]")
	several := ask("sim/chat", "Name a river.")
	several.N = openai.Int(2)
	for _, c := range []struct {
		name   string
		params openai.ChatCompletionNewParams
		stream bool
	}{
		{"plain", ask("sim/chat", "What is a weir?"), false},
		{"streamed", ask("sim/chat", "What is a weir?"), true},
		{"reasoning", reasoning, false},
		{"reasoning streamed", reasoning, true},
		{"tools", tools, false},
		{"two answers", several, true},
		{"the provider reports no usage", ask("sim/chat", "Say something. [[sim usage=missing]]"), false},
		{"the same, streamed", ask("sim/chat", "Say something. [[sim usage=missing]]"), true},
		{"the provider reports nonsense", ask("sim/chat", "Say something. [[sim usage=negative]]"), false},
	} {
		var id string
		var usage openai.CompletionUsage
		if c.stream {
			_, chunks := stream(t, client, c.params)
			id, usage = chunks[0].ID, chunks[len(chunks)-1].Usage
		} else {
			answer := complete(t, client, c.params)
			id, usage = answer.ID, answer.Usage
		}
		cost := costOf(t, usage)
		if cost <= 0 || usage.PromptTokens <= 0 || usage.CompletionTokens <= 0 {
			t.Errorf("%s: usage is %s", c.name, usage.RawJSON())
		}
		after := purseOf(t, client)
		for what, moved := range map[string]nano{
			"total_usage": after.spent - before.spent, "balance": before.balance - after.balance, "key usage": after.key - before.key,
			"usage_daily": after.daily - before.daily, "usage_weekly": after.weekly - before.weekly, "usage_monthly": after.monthly - before.monthly,
		} {
			if moved != cost {
				t.Errorf("%s: %s moved by %d nano-rubles, the answer cost %d", c.name, what, moved, cost)
			}
		}
		g := get[generation](t, client, "generation", url.Values{"id": {id}}).Data
		if g.ID != id || nanos(t, g.Cost.String()) != cost || g.Currency != "RUB" || g.Streamed != c.stream || g.API != "completions" ||
			g.Model != c.params.Model || g.Prompt != usage.PromptTokens || g.Completion != usage.CompletionTokens || g.Finish == "" {
			t.Errorf("%s: the generation says %+v, the answer %s", c.name, g, usage.RawJSON())
		}
		before = after
	}
}

func TestAnswersThatFailCostNothing(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	client := own.client(t)
	before := purseOf(t, client)
	for _, params := range []openai.ChatCompletionNewParams{
		ask("sim/nobody", "Hello."), ask("sim/chat", "Hello. [[sim fault=u15]]"), ask("sim/chat", "Hello. [[sim fault=u18]]"),
	} {
		if _, err := client.Chat.Completions.New(t.Context(), params); err == nil {
			t.Fatal("a request succeeded that should fail")
		}
	}
	if after := purseOf(t, client); after != before {
		t.Errorf("the purse was %+v and is %+v", before, after)
	}
}

func TestActivity(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	client := own.client(t)
	complete(t, client, ask("sim/chat", "Hello."))
	day := func(back int) url.Values {
		return url.Values{"date": {time.Now().UTC().AddDate(0, 0, -back).Format(time.DateOnly)}}
	}
	// Only whole days are shown, so a new demo has none; today's spending is in /credits and /key.
	for name, query := range map[string]url.Values{"all": nil, "yesterday": day(1), "the first day": day(30)} {
		if got := get[activity](t, client, "activity", query); got.Currency != "RUB" || got.Data == nil || len(got.Data) != 0 {
			t.Errorf("%s: %+v; want an empty list in RUB", name, got)
		}
	}
	for name, query := range map[string]url.Values{
		"today": day(0), "tomorrow": day(-1), "too old": day(31), "no date": {"date": {"yesterday"}}, "no such day": {"date": {"2026-02-30"}},
	} {
		t.Run(name, func(t *testing.T) {
			var none activity
			err := client.Get(sendingWrong(t.Context()), "activity?"+query.Encode(), nil, &none)
			_, said := refused(t, err, 400, "invalid_request")
			if said.Metadata["param"] != "date" {
				t.Errorf("param is %v", said.Metadata["param"])
			}
		})
	}
}

func TestUnknownGeneration(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	var none generation
	refused(t, client.Get(t.Context(), "generation?id=gen-1750000000-AAAAAAAAAAAAAAAAAAAA", nil, &none), 404, "not_found")
}

func TestLedgerBalancesAfterwards(t *testing.T) {
	t.Parallel()
	data := t.TempDir() + "/data"
	d, err := startDemo(data)
	if err != nil {
		t.Fatal(err)
	}
	answer := complete(t, d.client(t), ask("sim/chat", "What is a weir?"))
	cost := answer.Usage.JSON.ExtraFields["cost"].Raw()
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	printed, err := weir(t, "ledger", "verify", "--data", data)
	if err != nil || !strings.Contains(printed, "balanced") {
		t.Errorf("weir ledger verify: %v\n%s", err, printed)
	}
	printed, err = weir(t, "ledger", "explain", answer.ID, "--data", data)
	if err != nil || !strings.Contains(printed, cost) {
		t.Errorf("weir ledger explain does not show the cost %s: %v\n%s", cost, err, printed)
	}
}
