package upstream

import (
	"errors"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/task"
)

// With the defaults as they are, a provider that accepts a request and is silent is left in time for another one to be asked, and the last
// one may take as long as its time-out.
func TestSilentProvidersAreLeft(t *testing.T) {
	t.Parallel()
	timeouts, budget := Default().Timeouts, relay.Default().AttemptBudget
	c := &Client{cfg: Config{Timeouts: timeouts}}
	chat, reasons := &catalog.Model{Type: catalog.TypeChat, Vendor: "openai"}, catalog.ParamReasoning
	for name, k := range map[string]struct {
		model   *catalog.Model
		params  catalog.Params
		facts   catalog.Facts
		request completion.Request
		leaves  time.Duration // with another endpoint
		last    time.Duration // without one
	}{
		"stream":                {chat, 0, catalog.Facts{}, completion.Request{Stream: true}, 30 * time.Second, 120 * time.Second},
		"stream with reasoning": {chat, reasons, catalog.Facts{}, completion.Request{Stream: true}, 90 * time.Second, 120 * time.Second},
		"whole":                 {chat, 0, catalog.Facts{}, completion.Request{}, 120 * time.Second, 300 * time.Second},
		"whole with reasoning":  {chat, reasons, catalog.Facts{}, completion.Request{}, 240 * time.Second, 300 * time.Second},
		"vectors":               {&catalog.Model{Type: catalog.TypeEmbedding}, 0, catalog.Facts{}, completion.Request{Task: new(task.Embedding)}, 30 * time.Second, 300 * time.Second},
		"an image":              {&catalog.Model{Type: catalog.TypeImage}, 0, catalog.Facts{}, completion.Request{Task: new(task.Image)}, 180 * time.Second, 300 * time.Second},
		"a recording":           {&catalog.Model{Type: catalog.TypeTranscription}, 0, catalog.Facts{}, completion.Request{Task: new(task.Transcription)}, 180 * time.Second, 300 * time.Second},

		// what is said of a model counts, and never lasts longer than its time-out
		"a slow model":  {chat, reasons, catalog.Facts{FirstByteTimeout: 350 * time.Second, LeaveAfter: 340 * time.Second}, completion.Request{}, 340 * time.Second, 350 * time.Second},
		"a fast one":    {chat, reasons, catalog.Facts{FirstByteTimeout: 20 * time.Second}, completion.Request{Stream: true}, 20 * time.Second, 20 * time.Second},
		"left sooner":   {chat, 0, catalog.Facts{LeaveAfter: 5 * time.Second}, completion.Request{Stream: true}, 5 * time.Second, 120 * time.Second},
		"left for none": {chat, reasons, catalog.Facts{}, completion.Request{Remaining: 120 * time.Second}, 300 * time.Second, 300 * time.Second},
		"left in time":  {chat, 0, catalog.Facts{}, completion.Request{Remaining: 121 * time.Second}, 120 * time.Second, 300 * time.Second},
		"left too late": {chat, 0, catalog.Facts{LeaveAfter: 10 * time.Minute}, completion.Request{}, 300 * time.Second, 300 * time.Second},
	} {
		ep := &catalog.Endpoint{Model: k.model, Provider: &catalog.Provider{}, Params: k.params, Facts: k.facts}
		req := k.request
		for _, elsewhere := range []bool{true, false} {
			req.Elsewhere = elsewhere
			want := map[bool]time.Duration{true: k.leaves, false: k.last}[elsewhere]
			a := c.newAttempt(t.Context(), ep, nil, &req, req.Stream, nil)
			a.leave()
			a.timer.Stop()
			if _, late := a.look(want - time.Millisecond); late != nil {
				t.Errorf("%s, elsewhere %t: left too early: %v", name, elsewhere, late)
			}
			var expiry *expired
			if _, late := a.look(want); !errors.As(late, &expiry) || expiry.after != want {
				t.Errorf("%s, elsewhere %t: %v, want it to be left after %v", name, elsewhere, late, want)
			}
			if want >= budget {
				t.Errorf("%s, elsewhere %t: left after %v, when no other attempt may begin (%v)", name, elsewhere, want, budget)
			}
			a.headersArrived.Store(true) // and then nothing
			a.waiting.Store(int64(time.Second))
			silence := min(want, timeouts.Idle)
			if !elsewhere {
				silence = timeouts.Idle
			}
			if _, late := a.look(time.Second + silence - time.Millisecond); late != nil {
				t.Errorf("%s, elsewhere %t: left too early after the headers: %v", name, elsewhere, late)
			}
			if _, late := a.look(time.Second + silence); late == nil {
				t.Errorf("%s, elsewhere %t: not left %v after the headers", name, elsewhere, silence)
			}
			a.bodyArrived.Store(true) // it is at work
			if _, late := a.look(time.Second + timeouts.Idle - time.Millisecond); late != nil {
				t.Errorf("%s, elsewhere %t: left although it had begun: %v", name, elsewhere, late)
			}
		}
	}
}
