package relay_test

import (
	"testing"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
)

// The suffix :thinking switches reasoning on for the model that has it and for no other of the list, and never against the client.
func TestThinkingVariant(t *testing.T) {
	t.Parallel()
	on := completion.Reasoning{Set: true, Enabled: true}
	for _, c := range []struct {
		name   string
		models []string
		asked  completion.Reasoning
		want   []completion.Reasoning // of the attempts
	}{
		{"without a suffix", []string{"v/m"}, completion.Reasoning{}, []completion.Reasoning{{}}},
		{"switched on", []string{"v/m:thinking"}, completion.Reasoning{}, []completion.Reasoning{on}},
		{"another suffix", []string{"v/m:nitro"}, completion.Reasoning{}, []completion.Reasoning{{}}},
		{"an effort of the client's", []string{"v/m:thinking"}, completion.Reasoning{Set: true, Effort: "low"}, []completion.Reasoning{{Set: true, Effort: "low"}}},
		{"switched off by the client", []string{"v/m:thinking"}, completion.Reasoning{Set: true, Disabled: true}, []completion.Reasoning{{Set: true, Disabled: true}}},
		{"only how to show it", []string{"v/m:thinking"}, completion.Reasoning{Set: true, Exclude: true}, []completion.Reasoning{{Set: true, Exclude: true, Enabled: true}}},
		{"for one model of two", []string{"v/m:thinking", "v/n"}, completion.Reasoning{}, []completion.Reasoning{on, {}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"), offer("delta", "v/n", "1", "1"))
			w.plays("alpha/v/m", whole("hello", 10, 5))
			w.plays("delta/v/n", whole("hello", 10, 5))
			if len(c.want) > 1 {
				w.plays("alpha/v/m", script{fails(fault.ProviderUnavailable, fault.NextEndpoint)})
			}
			call := w.call(models(c.models...), func(call *relay.Call) { call.Request.Reasoning = c.asked })
			s := &sink{}
			if err := w.relay.Complete(t.Context(), call, s); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := w.up.seen[i].request.Reasoning; got != want {
					t.Errorf("attempt %d: %+v, want %+v", i, got, want)
				}
			}
			if call.Request.Reasoning != c.asked {
				t.Errorf("the request was changed: %+v", call.Request.Reasoning)
			}
			if last := c.models[len(c.want)-1]; s.served.Model != last {
				t.Errorf("served %s, want %s", s.served.Model, last)
			}
		})
	}
}
