package embed_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/vector"
)

// server makes vectors: the number of an input is its text. refuse may return a refusal of a batch.
type server struct {
	dialect.Ask
	t      *testing.T
	ep     catalog.Endpoint
	mu     sync.Mutex
	sizes  []int // of the batches that were answered
	refuse func(batch []task.Input) *dialect.Refusal
	calls  int
	waits  []time.Duration
	gone   bool
}

func (s *server) Wait(d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, d)
	if s.gone {
		return errors.New("gone")
	}
	return nil
}

func (s *server) call(batch []task.Input) (out embed.Answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.refuse != nil {
		if r := s.refuse(batch); r != nil {
			return out, r.Fault(&s.ep)
		}
	}
	s.sizes = append(s.sizes, len(batch))
	for i := range batch {
		v, err := vector.Numbers([]byte("[" + batch[i].Parts[0].Text + "]"))
		if err != nil {
			s.t.Error(err)
		}
		out.Vectors = append(out.Vectors, v)
	}
	out.Usage.Prompt = usage.Of(int64(len(batch)))
	return out, nil
}

// embed embeds n texts and returns the fault; it checks that all vectors are there, in order, and counted.
func (s *server) embed(n int, l embed.Limits) *fault.Error {
	s.ep.Provider = &catalog.Provider{Name: "Acme"}
	want := &task.Embedding{}
	for i := range n {
		want.Inputs = append(want.Inputs, text(strconv.Itoa(i)))
	}
	for ev, err := range embed.Perform(s, &s.ep, want, l, s.call) {
		if err != nil {
			return fault.From(err)
		}
		for i, v := range ev.Result.Vectors {
			if got := v.Numbers.Values(); v.Index != i || !slices.Equal(got, []float32{float32(i)}) {
				s.t.Errorf("vector %d: %d %v", i, v.Index, got)
			}
		}
		if len(ev.Result.Vectors) != n || ev.Usage.Prompt != usage.Of(int64(n)) {
			s.t.Errorf("%d vectors, %+v", len(ev.Result.Vectors), ev.Usage)
		}
	}
	return nil
}

// A batch that is refused as too large is halved, in the words of each provider. What is learnt holds for the rest of the task.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]dialect.Refusal{
		"Voyage, ramakay/claude-self-reflect#38":    {Status: 400, Message: "Request to model 'voyage-3-large' failed. The max allowed tokens per submitted batch is 120000. Your batch has 124302 tokens after truncation. Please lower the number of tokens in the batch."},
		"Mistral, aurelio-labs/semantic-router#297": {Status: 400, Message: "Too many tokens in batch. Max is 16384 got 17555"},
		"Mistral, chroma-core/chroma#5597":          {Status: 400, Code: "3210", Message: "Too many tokens overall, split into more batches."},
		"OpenAI, spiceai/spiceai#6142":              {Status: 400, Code: "max_tokens_per_request", Message: "Requested 346134 tokens, max 300000 tokens per request"},
		"DashScope, memodb-io/memobase#142":         {Status: 400, Code: "InvalidParameter", Message: "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger than 10.: input.contents"},
		"TEI, coze-dev/coze-studio#455":             {Status: 413, Message: "batch size 100 > maximum allowed batch size 32", Raw: "{}"},
		"TEI, Zoo-Code-Org/Zoo-Code#335":            {Status: 422, Message: "batch size 60 > maximum allowed batch size 32"},
		"SiliconFlow, apecloud/ApeRAG#716":          {Status: 400, Code: "20042", Message: "input batch size 136 > maximum allowed batch size 64"},
		"Cohere, langchain4j/langchain4j#1442":      {Status: 400, Message: "invalid request: total number of texts must be at most 96 - received 280"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{t: t, refuse: func(batch []task.Input) *dialect.Refusal {
				if len(batch) > 10 {
					return &r
				}
				return nil
			}}
			if f := s.embed(77, embed.Limits{Inputs: 2048}); f != nil {
				t.Fatal(f)
			}
			if refused := s.calls - len(s.sizes); refused != 3 { // 77, 38, 19
				t.Errorf("%d calls were refused, those answered have %v inputs", refused, s.sizes)
			}
		})
	}
}

// Other refusals, and those of one input, are the task's.
func TestOtherRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refusal dialect.Refusal
		calls   int
		kind    fault.Kind
	}{
		"a text that is too long": {dialect.Refusal{Status: 400, Message: "This model's maximum context length is 8192 tokens, however you requested 9000 tokens."}, 1, fault.ContextLength},
		"one input":               {dialect.Refusal{Status: 400, Message: "batch size 1 > maximum allowed batch size 0"}, 3, fault.Invalid},
		"a failure":               {dialect.Refusal{Status: 500, Message: "input (700 tokens) is too large to process. increase the physical batch size (current batch size: 512)"}, 1, fault.ProviderUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{t: t, refuse: func([]task.Input) *dialect.Refusal { return &tt.refusal }}
			if f := s.embed(4, embed.Limits{Inputs: 9}); f == nil || f.Kind != tt.kind || s.calls != tt.calls {
				t.Errorf("%v after %d calls", f, s.calls)
			}
		})
	}
}

// A provider that allows few calls in a second (Yandex: ten, each with one text; langchain-ai/langchain#19773,
// yandex-cloud/yandex-ai-studio-sdk#71) refused every larger task, after most of it was paid.
func TestShortRateLimits(t *testing.T) {
	t.Parallel()
	limited := func(after string) *dialect.Refusal {
		return &dialect.Refusal{Status: 429, Header: http.Header{"Retry-After": {after}}, Message: "rate quota limit exceed: allowed 10 requests"}
	}
	each := func(n int, after string) func([]task.Input) *dialect.Refusal {
		calls := 0
		return func([]task.Input) *dialect.Refusal {
			if calls++; calls%n == 0 {
				return limited(after)
			}
			return nil
		}
	}
	for name, tt := range map[string]struct {
		inputs int
		server *server
		waits  int
		fails  bool
	}{
		"a task of many calls":   {50, &server{refuse: each(5, "1")}, 12, false},
		"a limit that is long":   {50, &server{refuse: each(5, "60")}, 0, true},
		"a task of one call":     {1, &server{refuse: each(1, "1")}, 0, true},
		"no end":                 {2, &server{refuse: each(1, "1")}, -1, true},
		"a client that has gone": {50, &server{refuse: each(5, "1"), gone: true}, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.t = t
			f := tt.server.embed(tt.inputs, embed.Limits{Inputs: 1})
			if (f != nil) != tt.fails || tt.waits >= 0 && len(tt.server.waits) != tt.waits {
				t.Errorf("%v after %d waits", f, len(tt.server.waits))
			}
		})
	}
}
