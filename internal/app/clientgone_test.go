package app_test

import (
	"runtime"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/money"
)

// If a client disconnects, its upstream call ends. The delivered part of a stream is charged, once; if nothing was delivered, nothing is
// charged. Nothing is left running.
//
// It does not run in parallel with other tests, because it counts goroutines. Its 20,000 frames a second are not dressed: shapes that cut frames into
// pieces take ten times the work.
func TestClientGone(t *testing.T) {
	const clients = 200
	gw := apptest.StartGateway(t, apptest.PatientUpstream)
	a := gw.Open(t, apptest.Opening{Amount: 1000 * money.Ruble, Keys: []*apikey.Limit{nil}})[0]
	a.Chat(t, map[string]any{"model": "test/next", "messages": apptest.Question}).WantComplete(t, false)
	gw.Client.CloseIdleConnections()
	settled := runtime.NumGoroutine()
	spent := a.Credits(t).TotalUsage

	for name, l := range map[string]apptest.Leaver{
		"before the first byte of a stream": {Account: a, Prompt: "[[sim delay=600s]] hello", Stream: true},
		"before the first content":          {Account: a, Prompt: "[[sim first=600s]] hello", Stream: true},
		"waiting for a whole answer":        {Account: a, Prompt: "[[sim delay=600s]] hello", Stream: false},
		"in the middle of a whole answer":   {Account: a, Prompt: "[[sim fault=u5]] hello", Stream: false},
	} {
		t.Run(name, func(t *testing.T) {
			gw.Leave(t, l, clients/4, "")
			if now := a.Credits(t).TotalUsage; now != spent {
				t.Errorf("nothing was delivered, and %s became %s", spent, now)
			}
		})
	}

	t.Run("in the middle of a stream", func(t *testing.T) {
		ids := gw.Leave(t, apptest.Leaver{Account: a, Prompt: "[[sim shape=none gap=10ms frames=3000]] hello", Stream: true}, clients, `"content":"`)
		a.WantPartial(t, ids, clients, apptest.Parse(t, spent))
	})

	gw.Client.CloseIdleConnections()
	apptest.WaitFor(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= settled })
	gw.WantBalanced(t)
}
