package upstream_test

import (
	"context"
	"errors"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/wire/messages"
)

// A provider of the client's wire counts; what it answers instead of a count is an error, and keeps no credential from serving.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	bothClients(t, testCountTokens)
}

func testCountTokens(t *testing.T, standard bool) {
	req, err := messages.DecodeCount([]byte(`{"messages":[{"role":"user","content":"q"}], "model":"x/y"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Query, req.Betas = "?beta=true", []string{"b"}
	const limited = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(`{"input_tokens":7}`)), upstreamtest.Send(upstreamtest.JSON(`{"input_tokens":"many"}`)), upstreamtest.Send(upstreamtest.JSON(`{"input_tokens":7`)),
		upstreamtest.Send(upstreamtest.Sized(429, "application/json", limited)), upstreamtest.Send(upstreamtest.JSON(`{"input_tokens":8}`)))
	c := upstreamtest.New(upstream.Config{Standard: standard, Dialects: map[string]dialect.Dialect{"anthropic": new(anthropic.Dialect), "openai": new(openai.Dialect)}})
	t.Cleanup(c.Close)
	ep := &catalog.Endpoint{ID: "acme/m", UpstreamID: "acme-large", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Dialect: "anthropic", BaseURL: p.URL, Keys: []string{"first-key", "second-key"}}}
	for i, want := range []struct {
		n    int64
		kind fault.Kind
	}{{7, 0}, {0, fault.ProviderUnavailable}, {0, fault.ProviderUnavailable}, {0, fault.RateLimited}, {8, 0}} {
		n, err := c.CountTokens(context.Background(), ep, req)
		var f *fault.Error
		if errors.As(err, &f) != (want.kind != 0) || n != want.n || f != nil && f.Kind != want.kind {
			t.Errorf("answer %d: %d tokens, %v", i, n, err)
		}
	}
	for _, seen := range p.Seen() {
		if seen.Path != "/v1/messages/count_tokens?beta=true" || seen.Body != `{"messages":[{"role":"user","content":"q"}], "model":"acme-large"}` || seen.Header.Get("X-Api-Key") != "first-key" || seen.Header.Get("Anthropic-Beta") != "b" {
			t.Errorf("%+v", seen)
		}
	}
	chat := *ep
	chat.Provider = &catalog.Provider{ID: "other", Name: "Other", Dialect: "openai", BaseURL: p.URL}
	if _, err := c.CountTokens(context.Background(), &chat, req); fault.From(err).Kind != fault.Invalid {
		t.Errorf("of a provider that does not count: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.CountTokens(gone, ep, &completion.Request{Style: completion.Messages}); fault.From(err).Kind != fault.Canceled {
		t.Errorf("of a caller who has gone: %v", err)
	}
}
