package embed

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/task"
)

// A task of several calls waits for rate limits that end soon: the calls that were answered are paid.
const (
	longestWait = 2 * time.Second
	mostWaits   = 10 // of one call
)

// caller makes the calls of one task.
type caller struct {
	ask     dialect.Ask
	ep      *catalog.Endpoint
	do      func(batch []task.Input) (Answer, error)
	several bool         // the task has other calls
	most    atomic.Int64 // inputs of one call, as refusals have shown; 0: unknown
}

// call requests the vectors of a batch. A batch that the provider refuses as too large is halved: limits are of a server's configuration
// or of its own tokens, which are only estimated here.
func (c *caller) call(batch []task.Input) (Answer, error) {
	most := int(c.most.Load())
	if most == 0 || len(batch) <= most {
		out, err := c.patiently(batch)
		if len(batch) == 1 || !tooLarge(err) {
			return out, err
		}
		c.most.Store(int64(len(batch) / 2))
	}
	half := len(batch) / 2
	out, err := c.call(batch[:half:half])
	if err != nil {
		return out, err
	}
	rest, err := c.call(batch[half:])
	if err != nil {
		return rest, err
	}
	out.Vectors = append(out.Vectors, rest.Vectors...)
	Add(&out.Usage.Prompt, rest.Usage.Prompt)
	Add(&out.Usage.PromptImage, rest.Usage.PromptImage)
	return out, nil
}

func (c *caller) patiently(batch []task.Input) (Answer, error) {
	for tries := 0; ; tries++ {
		out, err := c.do(batch)
		if err == nil {
			if n := len(out.Vectors); n != len(batch) {
				return out, dialect.Broken(c.ep, fmt.Errorf("%d vectors came for %d inputs", n, len(batch)))
			}
			return out, nil
		}
		f := fault.From(err)
		if !c.several || f.Kind != fault.RateLimited || f.RetryAfter > longestWait || tries == mostWaits {
			return out, err
		}
		if err := c.ask.Wait(f.RetryAfter); err != nil {
			return out, err
		}
	}
}

// largePhrases are those of refusals for which a smaller batch is the remedy, in lower case, as Voyage, Mistral (two), OpenAI,
// text-embeddings-inference with DashScope, and Cohere write them.
var largePhrases = []string{"per submitted batch", "tokens in batch", "split into more batches", "tokens per request", "batch size", "number of texts must be at most"}

// tooLarge reports whether a provider refused a batch because of its size.
func tooLarge(err error) bool {
	if err == nil {
		return false
	}
	f := fault.From(err)
	if f.Upstream == nil || f.Upstream.Status != 400 && f.Upstream.Status != 413 && f.Upstream.Status != 422 {
		return false
	}
	said := strings.ToLower(f.Public)
	for _, p := range largePhrases {
		if strings.Contains(said, p) {
			return true
		}
	}
	return false
}
