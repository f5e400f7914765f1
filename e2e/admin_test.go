package e2e_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type adminEndpoint struct {
	Data struct {
		ID      string `json:"id"`
		Origin  string `json:"origin"`
		On      bool   `json:"on"`
		Pricing struct {
			Base map[string]string `json:"base"`
			List string            `json:"list"`
		} `json:"pricing"`
	} `json:"data"`
}

type adminRates struct {
	Current struct {
		Version string `json:"version"`
		Rate    string `json:"rate"`
	} `json:"current"`
}

// administrator sends requests to the operators' listener as the demo's administrator.
func (d *demo) administrator(t *testing.T) *openai.Client {
	t.Helper()
	return d.client(t, withKey(d.ManagementKey), option.WithBaseURL(strings.TrimSuffix(d.AdminURL, "/")+"/api/admin/"))
}

// An administrator raises the price of a model while the node runs; the next call is charged the new price.
func TestPriceAtRunTime(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	admin := own.administrator(t)
	before := costOf(t, complete(t, own.client(t), ask("sim/chat", "Hello.")).Usage)

	path := "endpoints/" + url.PathEscape("sim/sim/chat")
	was := get[adminEndpoint](t, admin, path, nil).Data
	if was.Origin != "builtin" || !was.On {
		t.Fatalf("the endpoint is %+v", was)
	}
	prices := map[string]string{}
	for name, text := range was.Pricing.Base {
		prices[name] = decimal(10 * nanos(t, text))
	}
	var now adminEndpoint
	if err := admin.Patch(t.Context(), path, map[string]any{"prices": prices}, &now); err != nil {
		t.Fatal(explain(err))
	}
	if now.Data.Pricing.List != "database-1" {
		t.Errorf("the endpoint is %+v", now.Data)
	}
	if after := costOf(t, complete(t, own.client(t), ask("sim/chat", "Hello.")).Usage); after != 10*before {
		t.Errorf("an answer cost %d before and %d after its prices were made ten times as high", before, after)
	}
	var gone map[string]any
	if err := admin.Delete(t.Context(), path, nil, &gone); err != nil {
		t.Fatal(explain(err))
	}
	if after := costOf(t, complete(t, own.client(t), ask("sim/chat", "Hello.")).Usage); after != before {
		t.Errorf("an answer cost %d before and %d after the change was taken back", before, after)
	}
	refused(t, admin.Patch(sendingWrong(t.Context()), path, map[string]any{"balance": 1}, &now), 400, "invalid_request")
	refused(t, own.client(t, option.WithBaseURL(strings.TrimSuffix(own.AdminURL, "/")+"/api/admin/")).Get(t.Context(), path, nil, &now), 403, "permission_denied")
}

// Every administration route answers as the document says.
func TestAdministration(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	admin := own.administrator(t)
	var answer json.RawMessage
	post := func(path string, body any) {
		t.Helper()
		if err := admin.Post(t.Context(), path, body, &answer); err != nil {
			t.Fatalf("%s: %v", path, explain(err))
		}
	}
	post("providers", map[string]any{"id": "hut", "base_url": "https://hut.example/v1", "quirks": map[string]any{"drop": []string{"user"}}, "headers": map[string]any{"X-Team": "weir"}})
	post("endpoints", map[string]any{"provider": "hut", "model": "acme/tiny", "price_usd": map[string]any{"prompt": "0.6", "completion": "0.9"},
		"thresholds": []any{map[string]any{"above": 1000, "price_usd": map[string]any{"prompt": "1.2"}}}, "params": []string{"tools"}})
	post("providers", map[string]any{"id": "barn", "base_url": "https://barn.example", "api_key": "sk-of-the-barn-1234"}) // the demo has a key to encrypt it with
	if strings.Contains(string(answer), "sk-of-the-barn") {
		t.Errorf("a credential is shown: %s", answer)
	}
	var rates adminRates
	if err := admin.Post(t.Context(), "rates", map[string]any{"rate": "81.5", "margin": "0.15"}, &rates); err != nil {
		t.Fatal(explain(err))
	}
	if rates.Current.Rate != "81.5" || !strings.HasSuffix(rates.Current.Version, "@81.5+0.15") {
		t.Errorf("rates: %+v", rates)
	}
	for _, path := range []string{"catalog", "catalog/history?limit=2", "providers", "providers/hut", "endpoints?origin=database", "endpoints/hut%2Facme%2Ftiny", "rates"} {
		if err := admin.Get(t.Context(), path, nil, &answer); err != nil {
			t.Errorf("%s: %v", path, explain(err))
		}
	}
	for _, change := range []struct {
		path string
		body map[string]any
	}{{"providers/hut", map[string]any{"disabled": true, "quirks": nil}}, {"endpoints/hut%2Facme%2Ftiny", map[string]any{"thresholds": nil, "context_length": 8000}}} {
		if err := admin.Patch(t.Context(), change.path, change.body, &answer); err != nil {
			t.Errorf("%s: %v", change.path, explain(err))
		}
	}
	for _, path := range []string{"endpoints/hut%2Facme%2Ftiny", "providers/hut", "providers/barn"} {
		if err := admin.Delete(t.Context(), path, nil, &answer); err != nil {
			t.Errorf("%s: %v", path, explain(err))
		}
	}
	refused(t, admin.Get(t.Context(), "providers/hut", nil, &answer), 404, "not_found")
	refused(t, own.client(t, withKey(own.ManagementKey), option.WithBaseURL(strings.TrimSuffix(own.BaseURL, "/v1")+"/api/admin/")).Get(t.Context(), "catalog", nil, &answer), 404, "not_found")
}
