package app

import (
	"log/slog"
	"sync"
	"time"

	"weir/internal/record"
	"weir/internal/usage"
)

// doubtEvery is how often the log tells of one provider's figures: a provider that always lies must not fill it. The metric counts them all.
const doubtEvery = 10 * time.Second

// mostDoubts bounds what is remembered of providers and kinds. They stand in the catalog, so they are few.
const mostDoubts = 1000

// doubts tells the operator of providers' figures that cannot be true, or hardly.
type doubts struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	last map[doubtKey]doubted
}

type doubtKey struct {
	provider string
	kind     usage.Source
}

// doubted is when the log told of it, and how often it has been so since.
type doubted struct {
	at   time.Time
	more int64
}

func (d *doubts) tell(c *record.Call) {
	more, tell := d.count(doubtKey{c.Provider, c.Usage.Source &^ usage.Estimated})
	if !tell {
		return
	}
	d.log.Warn("a provider reported implausible usage", "generation", c.Generation, "provider", c.Provider, "endpoint", c.Endpoint, "upstream_id", c.UpstreamID,
		"doubt", c.Usage.Source.String(), "prompt_tokens", c.Usage.Prompt.N, "completion_tokens", c.Usage.Completion.N, "cost", c.Cost.String(), "untold", more)
}

// count reports whether to log, and how often it has not been since the last time.
func (d *doubts) count(k doubtKey) (more int64, tell bool) {
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	x, before := d.last[k]
	if before && now.Sub(x.at) < doubtEvery {
		x.more++
		d.last[k] = x
		return 0, false
	}
	if d.last == nil || len(d.last) >= mostDoubts {
		d.last = map[doubtKey]doubted{}
	}
	d.last[k] = doubted{at: now}
	return x.more, true
}
