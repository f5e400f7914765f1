package nodes_test

import (
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/trace/otlp/otlptest"
)

// Each request of a batch is a call with its own trace, once, whether this node has made it or it was a part of a provider's batch.
func TestTracesOfBatches(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	gw := nativeGateway(t, func(s *apptest.Setup) { s.Config.Tracing.Receiver.URL, s.Config.Tracing.Calls.Ratio = receiver.URL, 1 })
	account := gw.NewAccount(t)
	const endpoint = "/v1/chat/completions"
	for _, batch := range []string{"own", "native"} {
		body := nativeBodies[endpoint]("acme/openai")
		body["provider"] = map[string]any{"batch": batch}
		status, lines := account.Finished(t, account.RequestsBatch(t, endpoint, body, body, body))
		if status != "completed" || len(lines) != 3 {
			t.Fatalf("%s: %s, %d lines", batch, status, len(lines))
		}
		for id, line := range lines {
			var calls, attempts []otlptest.Span
			apptest.WaitFor(t, "the spans of a request", func() bool {
				calls, attempts = nil, nil
				all := receiver.Spans("")
				for _, s := range all {
					if s.Attributes["weir.generation_id"] == line.Response.Generation {
						calls = append(calls, s)
					}
				}
				for _, s := range all {
					if len(calls) > 0 && s.Parent == calls[0].ID {
						attempts = append(attempts, s)
					}
				}
				return len(calls) > 0 && len(attempts) > 0
			})
			if len(calls) != 1 || calls[0].Attributes["weir.batch"] != true || calls[0].Attributes["http.route"] != endpoint || calls[0].Parent != "" {
				t.Errorf("%s, %s: calls %+v", batch, id, calls)
			}
			if tokens, _ := attempts[0].Attributes["gen_ai.usage.output_tokens"].(int64); len(attempts) != 1 || tokens <= 0 || attempts[0].Attributes["gen_ai.provider.name"] != "oa" {
				t.Errorf("%s, %s: attempts %+v", batch, id, attempts)
			}
		}
	}
}
