package app_test

import (
	"runtime"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/money"
)

// If a client disconnects, its upstream call ends. The delivered part of a stream is charged, once; if nothing was delivered, nothing is
// charged, up to a number of calls, and the prompt beyond it. Nothing is left running.
//
// It does not run in parallel with other tests, because it counts goroutines. Its 20,000 frames a second are not dressed: shapes that cut frames into
// pieces take ten times the work.
func TestClientGone(t *testing.T) {
	const clients, free = 200, 20
	gw := apptest.StartGateway(t, apptest.PatientUpstream)
	a := gw.Open(t, apptest.Opening{Amount: 1000 * money.Ruble, Keys: []*apikey.Limit{nil}})[0]
	a.Chat(t, map[string]any{"model": "test/next", "messages": apptest.Question}).WantComplete(t, false)
	gw.Client.CloseIdleConnections()
	settled := runtime.NumGoroutine()
	spent := a.Credits(t).TotalUsage

	for name, l := range map[string]apptest.Leaver{
		"before the first byte of a stream": {Prompt: "[[sim delay=600s]] hello", Stream: true},
		"before the first content":          {Prompt: "[[sim first=600s]] hello", Stream: true},
		"waiting for a whole answer":        {Prompt: "[[sim delay=600s]] hello"},
		"in the middle of a whole answer":   {Prompt: "[[sim fault=u5]] hello"},
		"messages":                          {Style: "messages", Prompt: "[[sim delay=600s]] hello", Stream: true},
		"responses":                         {Style: "responses", Prompt: "[[sim delay=600s]] hello"},
		"responses through a socket":        {Style: "socket", Prompt: "[[sim delay=600s]] hello"},
		"a socket before the first content": {Style: "socket", Prompt: "[[sim first=600s]] hello"},
		"gemini":                            {Style: "gemini", Prompt: "[[sim delay=600s]] hello", Stream: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := gw.NewOwner(t, 1000, apikey.NewKey{})
			l.Account = o.Account
			gw.Leave(t, l, free, "")
			if now := o.Credits(t).TotalUsage; now != "0" {
				t.Errorf("nothing was delivered, and it cost %s", now)
			}
			gw.Leave(t, l, clients/10, "")
			o.WantGivenUp(t, free+clients/10, free)
		})
	}

	t.Run("in the middle of a stream", func(t *testing.T) {
		ids := gw.Leave(t, apptest.Leaver{Account: a, Prompt: "[[sim shape=none gap=10ms frames=3000]] hello", Stream: true}, clients, `"content":"`)
		a.WantPartial(t, ids, clients, apptest.Parse(t, spent))
	})

	t.Run("in the middle of a stream through a socket", func(t *testing.T) {
		before := a.Credits(t).TotalUsage
		ids := gw.Leave(t, apptest.Leaver{Account: a, Style: "socket", Prompt: "[[sim shape=none gap=10ms frames=3000]] hello"}, clients, "response.output_text.delta")
		a.WantPartial(t, ids, clients, apptest.Parse(t, before))
	})

	gw.Client.CloseIdleConnections()
	apptest.WaitFor(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= settled })
	gw.WantBalanced(t)
}
