package httpapi_test

import (
	"context"
	"testing"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/task"
)

// TestRerankOfCohere has documents in answers by default at /v1/rerank, and not at /v2/rerank, where Cohere's API has none; return_documents decides on both.
func TestRerankOfCohere(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		if err := sink.Start(served(c)); err != nil {
			return err
		}
		if err := sink.Event(&completion.Event{Result: &task.Result{Ranks: []task.Rank{{Index: 1, Score: 0.5}}}, Finish: completion.Stop}); err != nil {
			return err
		}
		return sink.End(relay.Receipt{})
	}), nil)
	for _, c := range []struct {
		path, more string
		text       any
	}{
		{"/v1/rerank", "", "two"}, {"/v2/rerank", "", nil}, {"/v1/rerank", `,"return_documents":false`, nil}, {"/v2/rerank", `,"return_documents":true`, "two"},
	} {
		r := n.do("POST", c.path, `{"model":"acme/small","query":"q","documents":["one","two"]`+c.more+`}`)
		m := r.json(t)
		if r.StatusCode != 200 || at(m, "results", 0, "index") != 1.0 || at(m, "results", 0, "relevance_score") != 0.5 || at(m, "results", 0, "document", "text") != c.text ||
			at(m, "meta", "api_version", "version") != "2" || at(m, "meta", "billed_units", "search_units") != 1.0 || at(m, "id") == nil {
			t.Errorf("%s%s: %d %s", c.path, c.more, r.StatusCode, r.body)
		}
	}
}
