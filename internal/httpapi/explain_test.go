package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/relay"
	"weir/internal/routing"
)

func TestRouteExplain(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(nil), nil) // a relay that would fall over if anybody called it
	r := n.do("POST", "/v1/route/explain", `{"model":"acme/small","max_tokens":1000,"messages":[{"role":"user","content":"hi"}],"provider":{"sort":"price","max_price":{"prompt":0.05}}}`)
	if r.StatusCode != 200 || r.Header.Get("X-Generation-Id") != "" || r.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("%d %v %s", r.StatusCode, r.Header, r.body)
	}
	m := at(r.json(t), "data")
	for _, c := range []struct {
		path []any
		want any
	}{
		{[]any{"rate_version"}, "rate-1"}, {[]any{"models", 0}, "acme/small"}, {[]any{"stream"}, false}, {[]any{"max_tokens"}, 1000.}, {[]any{"error"}, nil},
		{[]any{"attempts", 0}, "best/acme/small"}, {[]any{"attempts", 1}, nil},
		{[]any{"candidates", 0, "endpoint"}, "acme/acme/small"}, {[]any{"candidates", 0, "order"}, 0.}, {[]any{"candidates", 0, "dropped_by"}, "max_price"},
		{[]any{"candidates", 0, "detail"}, "The prompt price is 0.1 rubles per 1000 tokens, the ceiling is 0.05."}, {[]any{"candidates", 0, "score"}, nil},
		{[]any{"candidates", 1, "endpoint"}, "best/acme/small"}, {[]any{"candidates", 1, "tag"}, "best"}, {[]any{"candidates", 1, "provider_name"}, "Best"},
		{[]any{"candidates", 1, "model"}, "acme/small"}, {[]any{"candidates", 1, "order"}, 1.}, {[]any{"candidates", 1, "dropped_by"}, nil},
		{[]any{"candidates", 1, "score", "by"}, "single"}, {[]any{"candidates", 1, "score", "meaning"}, "There was one endpoint only."},
		{[]any{"candidates", 1, "price", "prompt_per_1k"}, "0.05"}, {[]any{"candidates", 1, "price", "rate"}, "rate-1"},
		{[]any{"candidates", 2, "dropped_by"}, "variant"}, {[]any{"candidates", 2, "price", "completion_per_1k"}, "0"},
		{[]any{"candidates", 1, "health", "cool_down"}, false}, {[]any{"candidates", 1, "health", "latency_ms"}, nil},
	} {
		if got := at(m, c.path...); got != c.want {
			t.Errorf("%v is %v; want %v", c.path, got, c.want)
		}
	}
	// 1000 answer tokens at 0.1 per thousand, and the prompt
	if hold, _ := at(m, "candidates", 1, "hold").(string); !strings.HasPrefix(hold, "0.10") || hold == "0.1" {
		t.Errorf("hold %q", hold)
	}
	if version, _ := at(m, "catalog_version").(string); version == "" {
		t.Error("no catalog version")
	}
	if tokens, _ := at(m, "prompt_tokens").(float64); tokens <= 0 {
		t.Errorf("prompt tokens %v", at(m, "prompt_tokens"))
	}
	if r := n.manage("POST", "/v1/route/explain", chatBody(true)); r.StatusCode != 200 || at(r.json(t), "data", "stream") != true {
		t.Errorf("with a management key: %d %s", r.StatusCode, r.body)
	}
	if asked := n.books.asked; len(asked) != 0 {
		t.Errorf("the ledger was asked: %q", asked)
	}
}

func TestRouteExplainErrors(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(nil), nil)
	explain := func(body string) *response { return n.do("POST", "/v1/route/explain", body) }
	wantError(t, n.do("POST", "/v1/route/explain", chatBody(false), "Authorization", ""), 401, fault.Authentication)
	wantError(t, explain(`{"model":`), 400, fault.Invalid)
	wantError(t, explain(`{"model":"acme/small"}`), 400, fault.InvalidPrompt)
	wantError(t, explain(`{"model":"acme/none","messages":[{"role":"user","content":"hi"}]}`), 404, fault.ModelNotFound)
	wantError(t, n.do("POST", "/v1/route/explain", chatBody(false), "X-Session-Id", strings.Repeat("x", 257)), 400, fault.Invalid)
	wantError(t, n.do("GET", "/v1/route/explain", ""), 405, fault.MethodNotAllowed)

	// that nothing is left must be explained, too: the candidates are listed, and the error that the call would return
	m := at(explain(`{"model":"acme/small","messages":[{"role":"user","content":"hi"}],"provider":{"only":["nobody"]}}`).json(t), "data")
	if at(m, "error", "code") != 404. || at(m, "error", "metadata", "error_type") != "no_endpoints" || at(m, "error", "metadata", "excluded_by", 0) != "only" ||
		len(at(m, "attempts").([]any)) != 0 || at(m, "candidates", 2, "dropped_by") != "only" {
		t.Errorf("nothing left: %v", m)
	}
}

func TestExplanationOfHealth(t *testing.T) {
	t.Parallel()
	snap := testCatalog(t)
	calls := relay.New(relay.Deps{Now: time.Now, Health: func(string) routing.Health {
		return routing.Health{Failing: true, Ejected: true, Latency: [4]float64{0.1234567, 0.2, 0.3, 4}, Throughput: [4]float64{50, 40, 30, 1.5}}
	}}, relay.Default())
	req := &completion.Request{Models: []string{"acme/small"}, N: 1}
	e, err := calls.Explain(t.Context(), &relay.Call{Caller: &apikey.Caller{}, Request: req, Catalog: snap})
	if err != nil {
		t.Fatal(err)
	}
	body, err := httpapi.Explanation(req, e)
	if err != nil {
		t.Fatal(err)
	}
	r := &response{body: body}
	exactly(t, "health", at(r.json(t), "data", "candidates", 0, "health"), `{"failing":true,"cool_down":false,"ejected":true,
		"latency_ms":{"p50":123.457,"p75":200,"p90":300,"p99":4000},"throughput_tps":{"p50":50,"p75":40,"p90":30,"p99":1.5}}`)
}
