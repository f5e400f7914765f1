package accounts_test

import (
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/rawjson"
)

// TestStopEndsJobs: the stop of a key ends the videos and batches of all keys that come from it. What their provider goes on with is charged when it has
// ended, and not before; another stop asks again. Those of other keys go on.
func TestStopEndsJobs(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}), func(s *apptest.Setup) { s.Video.Limit = 10 })
	o := gw.NewOwner(t, 1000, apikey.NewKey{})
	top, shown := child(t, o.Account, map[string]any{"name": "planner", "amount": "500", "depth": 2})
	leaf, _ := child(t, top, map[string]any{"name": "filmer", "amount": "200"})
	poor, _ := child(t, top, map[string]any{"name": "poor", "amount": "0.000000001"})
	others := o.Shoot(t, apptest.Shoot("film/works", "[[sim job=never]] A heron."))
	running := leaf.Shoot(t, apptest.Shoot("film/works", "[[sim job=never]] A heron."))
	waits := poor.Batch(t, "test/next", 2)
	requests := poor.RequestsBatch(t, "/v1/chat/completions", hello())
	for _, path := range []string{"/v1/messages/batches/" + waits, "/v1/batches/" + requests} {
		apptest.WaitFor(t, "the pause of the batch", func() bool {
			return rawjson.TextAt(poor.Do(t, http.MethodGet, path, nil).Body, "paused_by") == "payment_required"
		})
	}
	stubborn := top.Shoot(t, apptest.Shoot("film/works", "[[sim on=cancel fault=u15 polls=40]] A heron."))
	for _, f := range []string{running.ID, stubborn.ID} {
		o.AwaitVideo(t, f, "in_progress")
	}
	type stopped struct {
		Stopped, Cancelled int
		GoOn               int `json:"go_on"`
	}
	stop := func() stopped {
		t.Helper()
		return do[stopped](t, o.Account, 200, http.MethodPost, "/v1/keys/child/"+shown.Hash+"/stop", map[string]any{})
	}
	if got := stop(); got != (stopped{Stopped: 3, Cancelled: 3, GoOn: 1}) {
		t.Errorf("%+v", got)
	}
	if got := stop(); got != (stopped{GoOn: 1}) {
		t.Errorf("again: %+v", got)
	}
	if f := o.Video(t, running.ID); f.Status != "cancelled" || f.Usage != nil && f.Usage.Cost.String() != "0" {
		t.Errorf("%+v", f)
	}
	if f := o.Video(t, others.ID); f.Status != "in_progress" && f.Status != "pending" {
		t.Errorf("%+v", f)
	}
	for path, want := range map[string][2]string{"/v1/messages/batches/" + waits: {"processing_status", "ended"}, "/v1/batches/" + requests: {"status", "cancelled"}} {
		apptest.WaitFor(t, "the end of the batch", func() bool { return rawjson.TextAt(o.Do(t, http.MethodGet, path, nil).Body, want[0]) == want[1] })
	}
	if results := o.Ended(t, waits); results["canceled"] != 2 {
		t.Errorf("%v", results)
	}
	if f := o.AwaitVideo(t, stubborn.ID, "completed"); f.Usage == nil || f.Usage.Cost.String() == "0" {
		t.Errorf("what the provider has finished is not charged: %+v", f)
	}
	if got := stop(); got != (stopped{}) {
		t.Errorf("at the end: %+v", got)
	}
	if got := o.Do(t, http.MethodDelete, "/v1/videos/"+others.ID, nil); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	o.AwaitSettled(t)
	gw.WantBalanced(t)
}
