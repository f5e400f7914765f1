package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
)

// message_start counts the prompt. A message_delta without output counts does not count the prompt a second time.
func TestOpeningCountIsNotFinal(t *testing.T) {
	t.Parallel()
	const head = `data: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"words"}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}%s}

data: {"type":"message_stop"}

`
	for _, c := range []struct{ usage, want string }{
		{``, "opening 9 1"}, {`,"usage":null`, "opening 9 1"}, {`,"usage":{"input_tokens":12}`, "opening 9 1; 12 not told"},
		{`,"usage":{"output_tokens":"lots"}`, "opening 9 1; 9 not told"}, {`,"usage":{"output_tokens":40}`, "opening 9 1; 9 40"},
	} {
		ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme"}}
		answer := dialect.Answer{Endpoint: ep, Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10}, Body: dialect.NewBody(strings.NewReader(fmt.Sprintf(head, c.usage)))}
		var reported []string
		for ev, err := range new(anthropic.Dialect).Events(&answer) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Usage == nil {
				continue
			}
			s := fmt.Sprint(ev.Usage.Prompt.N, " not told")
			if ev.Usage.Completion.Valid() {
				s = fmt.Sprint(ev.Usage.Prompt.N, " ", ev.Usage.Completion.N)
			}
			if ev.Opening {
				s = "opening " + s
			}
			reported = append(reported, s)
		}
		if got := strings.Join(reported, "; "); got != c.want {
			t.Errorf("%s: %s, want %s", c.usage, got, c.want)
		}
	}
}
