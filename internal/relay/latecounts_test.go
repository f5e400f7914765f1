package relay_test

import (
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/usage"
)

// Only a report that counts answer tokens, and comes after all of the answer, is the last word on it. Prices are 1 and 2 rubles for 1000 tokens.
func TestLateCounts(t *testing.T) {
	t.Parallel()
	answer := text(strings.Repeat("word ", 200))
	of := usage.Of
	early := step{ev: &completion.Event{Text: answer.ev.Text, Usage: &usage.Usage{Prompt: of(10), Completion: of(1)}, Opening: true}}
	same := step{ev: &completion.Event{Text: answer.ev.Text, Usage: &usage.Usage{Prompt: of(10), Completion: of(150)}}}
	for _, c := range []struct {
		name   string
		script script
		want   int64 // answer tokens charged
	}{
		{"behind the answer", script{answer, used(10, 1), finish(completion.Stop), done()}, 1},
		{"with the answer", script{same, finish(completion.Stop), done()}, 150},
		{"before the answer that comes with it", script{early, finish(completion.Stop), done()}, 201},
		{"and then of the prompt alone", script{used(10, 1), answer, finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10)}), done()}, 201},
		{"and then of nothing", script{used(10, 1), answer, finish(completion.Stop), used(10, 0), done()}, 201},
		{"and then of less than nothing", script{used(10, 1), answer, finish(completion.Stop), used(10, -1), done()}, 201},
		{"running ahead, and then of nothing", script{used(10, 500), answer, finish(completion.Stop), used(10, 0), done()}, 500},
		{"nothing, of nothing", script{finish(completion.Stop), used(10, 0), done()}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
			w.plays("alpha/v/m", c.script)
			call := w.call(streamed)
			_ = w.relay.Complete(t.Context(), call, &sink{})
			if got := call.Record.Usage.Completion.N; got != c.want {
				t.Errorf("charged for %d tokens, want %d", got, c.want)
			}
		})
	}
}
