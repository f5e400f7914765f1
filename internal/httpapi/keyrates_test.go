package httpapi_test

import (
	"testing"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/money"
)

// A management key gives keys their own allowances, but none above the operator's for keys and accounts.
func TestRatesOfKeys(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.KeyRates = apikey.Rates{Requests: 100, Rubles: 10 * money.Ruble, Calls: 5}
		c.UserRates = apikey.Rates{Requests: 60, Calls: 50}
	})
	for name, c := range map[string]struct {
		rates string
		param string // of the refusal; "" for none
	}{
		"tighter":             {`{"requests_per_minute":1,"rubles_per_minute":"0.5"}`, ""},
		"the operator's":      {`null`, ""},
		"none where he has":   {`{"requests_per_minute":0}`, "rate_limits.requests_per_minute"},
		"above":               {`{"rubles_per_minute":10.000000001}`, "rate_limits.rubles_per_minute"},
		"where he has none":   {`{"tokens_per_minute":5}`, ""},
		"none where none are": {`{"tokens_per_minute":0}`, ""},
		"negative":            {`{"tokens_per_minute":-1}`, "rate_limits.tokens_per_minute"},
		"negative rubles":     {`{"rubles_per_minute":-0.000000001}`, "rate_limits.rubles_per_minute"},
		"calls at one time":   {`{"concurrent_calls":5}`, ""},
		"more calls":          {`{"concurrent_calls":6}`, "rate_limits.concurrent_calls"},
		"any calls":           {`{"concurrent_calls":0}`, "rate_limits.concurrent_calls"},
		"negative calls":      {`{"concurrent_calls":-1}`, "rate_limits.concurrent_calls"},
		"no number":           {`{"requests_per_minute":"x"}`, "rate_limits.requests_per_minute"},
		"above the account's": {`{"requests_per_minute":61}`, "rate_limits.requests_per_minute"},
		"as the account's":    {`{"requests_per_minute":60}`, ""},
		"unknown":             {`{"requests":1}`, "rate_limits.requests"},
		"no object":           {`[]`, "rate_limits"},
	} {
		t.Run(name, func(t *testing.T) {
			r := n.manage("POST", "/v1/keys", `{"name":"x","rate_limits":`+c.rates+`}`)
			if c.param != "" {
				if m := wantError(t, r, 400, fault.Invalid); at(m, "error", "metadata", "param") != c.param {
					t.Errorf("param %v; want %s", at(m, "error", "metadata", "param"), c.param)
				}
				return
			}
			if r.StatusCode != 201 {
				t.Fatalf("status %d: %s", r.StatusCode, r.body)
			}
			n.manage("DELETE", "/v1/keys/"+at(r.json(t), "data", "hash").(string), "")
		})
	}
	made := n.manage("POST", "/v1/keys", `{"name":"x","rate_limits":{"requests_per_minute":1,"concurrent_calls":4}}`).json(t)
	if at(made, "data", "rate_limits", "requests_per_minute") != 1. || at(made, "data", "rate_limits", "tokens_per_minute") != nil || at(made, "data", "rate_limits", "concurrent_calls") != 4. {
		t.Errorf("made %v", made)
	}
	text, _ := at(made, "data", "key").(string)
	if text == "" {
		text, _ = at(made, "key").(string)
	}
	ask := func() *response {
		return n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+text)
	}
	if r := ask(); r.StatusCode != 200 {
		t.Fatalf("status %d", r.StatusCode)
	}
	limited(t, ask(), "requests_per_minute", "1")
	hash, _ := at(made, "data", "hash").(string)
	if r := n.manage("PATCH", "/v1/keys/"+hash, `{"rate_limits":null}`); r.StatusCode != 200 || at(r.json(t), "data", "rate_limits") != nil {
		t.Fatalf("status %d: %s", r.StatusCode, r.body)
	}
	if m := n.do("GET", "/v1/key", "", "Authorization", "Bearer "+text).json(t); at(m, "data", "rate_limit", "requests") != 100. || at(m, "data", "rate_limit", "concurrent_calls") != 5. {
		t.Errorf("with the operator's limit: %v", m)
	}
}
