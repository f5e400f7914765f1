package relay_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
	"weir/internal/usage"
)

// What the provider's tools have done is charged, as its report says or, where the answer is cut off before that, as it went by; tools that the request
// does not pay for are the provider's own affair.
func TestHostedCallsAreCharged(t *testing.T) {
	t.Parallel()
	of := usage.Of
	called := step{ev: &completion.Event{Text: []byte("b"), Called: &usage.Usage{WebFetches: of(2), MCPCalls: of(1)}}}
	for _, c := range []struct {
		name   string
		paid   catalog.Paid
		script script
		want   string
	}{
		{"reported", catalog.PaidWebFetch | catalog.PaidCodeExecution, script{text("a"), finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), WebFetches: of(3), Containers: of(1)}), done()}, "130"},
		{"cut off", catalog.PaidWebFetch, script{text("a"), called, fails(fault.ProviderUnavailable, fault.Stop)}, "20"},
		{"reported below what went by", catalog.PaidWebFetch, script{text("a"), called, finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), WebFetches: of(1)}), done()}, "10"},
		{"not asked for", 0, script{text("a"), called, finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), Containers: of(7)}), done()}, "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "0", "0", prices(func(p *catalog.Prices) { p.WebFetch, p.CodeExecution, p.MCP = price("10"), price("100"), price("1000") })))
			w.plays("alpha/v/m", c.script)
			call := w.call(streamed, func(x *relay.Call) { x.Request.Needs.Paid = c.paid })
			_ = w.relay.Complete(t.Context(), call, &sink{})
			if rec := w.settled(call); rec == nil || rec.Cost != rubles(c.want) {
				t.Errorf("%+v, want %s", rec, c.want)
			}
		})
	}
}
