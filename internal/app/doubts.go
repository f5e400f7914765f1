package app

import (
	"log/slog"
	"sync"
	"time"

	"weir/internal/record"
	"weir/internal/usage"
)

// doubtEvery is how often one provider's implausible reports are logged, so that such a provider cannot fill the log. The metric counts all
// of them.
const doubtEvery = 10 * time.Second

// mostDoubts bounds the entries for pairs of provider and kind. There are few, because providers come from the catalog.
const mostDoubts = 1000

// doubts logs usage reports of providers that are implausible or impossible.
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

// doubted is the time of the last log line of a pair, and the number of reports since then.
type doubted struct {
	at   time.Time
	more int64
}

func (d *doubts) report(c *record.Call) {
	more, due := d.count(doubtKey{c.Provider, c.Usage.Source &^ usage.Estimated})
	if !due {
		return
	}
	d.log.Warn("a provider reported implausible usage", "generation", c.Generation, "provider", c.Provider, "endpoint", c.Endpoint, "upstream_id", c.UpstreamID,
		"doubt", c.Usage.Source.String(), "prompt_tokens", c.Usage.Prompt.N, "completion_tokens", c.Usage.Completion.N, "cost", c.Cost.String(), "not_logged", more)
}

// count reports whether to log, and how many reports were not logged since the last log line.
func (d *doubts) count(k doubtKey) (more int64, due bool) {
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
