package yandex_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect/yandex"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream/upstreamtest"
)

func declare(ep *catalog.Endpoint) {
	ep.UpstreamID = "gpt://folder/text-search-doc/latest"
}

// What is sent for a task, and what is read of the answer.
func TestPerform(t *testing.T) {
	t.Parallel()
	upstreamtest.Exchanges(t, new(yandex.Dialect), declare, []upstreamtest.Exchange{
		{Name: `a document`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a")}, Path: `/foundationModels/v1/textEmbedding`,
			Request: `{"modelUri":"emb://folder/text-search-doc/latest","text":"a"}`,
			Answer:  `{"embedding":[1,2],"numTokens":"7","modelVersion":"1"}`,
			Want:    `[{0 [1 2]}] [] {7 true} {0 false}`},
		{Name: `a query of two numbers`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), InputType: "search_query", Dimensions: 2}, Path: `/foundationModels/v1/textEmbedding`,
			Request: `{"modelUri":"emb://folder/text-search-query/latest","text":"a","dim":"2"}`,
			Answer:  `{"embedding":[1,2],"numTokens":7}`,
			Want:    `[{0 [1 2]}] [] {7 true} {0 false}`},
	})
}

// What this wire cannot do, and answers that are none.
func TestPerformRefuses(t *testing.T) {
	t.Parallel()
	upstreamtest.Refusals(t, new(yandex.Dialect), declare, map[string]upstreamtest.Refused{
		"no JSON":                {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{`, Kind: fault.ProviderUnavailable},
		"nothing":                {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"embedding":[]}`, Kind: fault.ProviderUnavailable},
		"tokens":                 {Task: &task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, Answer: `{}`, Kind: fault.Invalid},
		"texts in a vector":      {Task: &task.Embedding{Inputs: upstreamtest.Texts("a")}, Answer: `{"embedding":["1"]}`, Kind: fault.ProviderUnavailable},
		"a size that it has not": {Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), Dimensions: 3}, Answer: `{"embedding":[1,2]}`, Kind: fault.Invalid},
	})
}

// Refusals as they were reported; the text of each is that of the gRPC error.
func TestFailureAsReported(t *testing.T) {
	t.Parallel()
	ep := &catalog.Endpoint{Provider: &catalog.Provider{Name: "Yandex"}}
	for report, tt := range map[string]struct {
		status     int
		message    string
		kind       fault.Kind
		next       fault.Next
		public     string
		retryAfter time.Duration
	}{
		// a quota of requests in a second
		"langchain-ai/langchain#19773": {429, "ai.embeddingsTextEmbeddingRequestsPerSecond.rate rate quota limit exceed: allowed 10 requests", fault.RateLimited, fault.NextEndpoint, "The provider's rate limit is reached.", time.Second},
		// another one, whose end is unknown
		"of an hour": {429, "ai.imageGenerationRequestsPerHour.rate rate quota limit exceed: allowed 10 requests", fault.RateLimited, fault.NextEndpoint, "The provider's rate limit is reached.", 10 * time.Second},
		// the folder has no right to the model
		"black-roland/homeassistant-yandexgpt#60": {403, "Access to model art://yandex-art/latest denied", fault.ProviderUnavailable, fault.NextEndpoint, "The provider did not accept the gateway's request.", 0},
		// the operator's folder: none of the client's business (Yandex AI Studio, Error codes)
		"of a folder": {400, "Specified folder ID 'b1gabc' does not match with service account folder ID 'b1gxyz'", fault.ProviderUnavailable, fault.NextEndpoint, "The provider did not accept the gateway's request.", 0},
		"of a model":  {400, "Failed to parse model URI", fault.Invalid, fault.NextEndpoint, "Failed to parse model URI", 0},
		// the operator's folder or model: another endpoint may be right
		"black-roland/homeassistant-yandexgpt#11": {400, "invalid model_uri", fault.Invalid, fault.NextEndpoint, "invalid model_uri", 0},
	} {
		body := fmt.Sprintf(`{"error":{"grpcCode":1,"httpCode":%d,"message":%q,"httpStatus":"x","details":[]}}`, tt.status, tt.message)
		f := new(yandex.Dialect).Failure(ep, tt.status, http.Header{}, []byte(body))
		if f.Kind != tt.kind || f.Next != tt.next || f.Public != tt.public || f.RetryAfter != tt.retryAfter {
			t.Errorf("%s: %+v", report, f)
		}
	}
	told := new(yandex.Dialect).Failure(ep, 429, http.Header{"Retry-After": {"7"}}, []byte(`{"message":"RequestsPerSecond"}`))
	if told.RetryAfter != 7*time.Second {
		t.Errorf("%+v", told)
	}
}
