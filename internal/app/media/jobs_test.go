package media_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
)

type jobRow struct {
	ID, State, What, User string
	Held                  *string
	UserName              *string `json:"user_name"`
}

type jobsPage struct {
	Data   []jobRow
	Next   *string
	Counts []struct {
		Kind        string
		Open, Stuck int64
	}
}

// An operator sees the video that does not come to its end, has it asked for again, and ends it: what it held is back at once, the books are
// balanced, and nothing is charged later.
func TestOperatorEndsAVideo(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}), func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
	boss := gw.NewOwner(t, 1, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Operator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	desk := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: boss.Pages.Key}
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	stuck := o.Shoot(t, apptest.Shoot("film/works", "[[sim job=stuck]] A heron."))
	list := func(query string) jobsPage {
		t.Helper()
		got := desk.Do(t, http.MethodGet, "/api/admin/jobs?"+query, nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return apptest.Decode[jobsPage](t, got.Body)
	}
	apptest.WaitFor(t, "the provider to take the job", func() bool {
		all := list("kind=videos").Data
		return len(all) == 1 && all[0].State == "in_progress"
	})
	all := list("")
	if j := all.Data[0]; j.ID != stuck.ID || j.What != "film/works" || j.User != o.User || j.UserName == nil || j.Held == nil || *j.Held == "0" {
		t.Errorf("%+v", j)
	}
	if len(all.Counts) != 4 || all.Counts[0].Kind != "videos" || all.Counts[0].Open != 1 || all.Counts[0].Stuck != 0 {
		t.Errorf("%+v", all.Counts)
	}
	act := func(status int, path string, body any) *apptest.Answer {
		t.Helper()
		got := desk.Do(t, http.MethodPost, "/api/admin/jobs/"+path, body)
		if got.Status != status {
			t.Fatalf("%s: %d %s", path, got.Status, got.Body)
		}
		return got
	}
	act(204, "videos/"+stuck.ID+"/retry", nil)
	act(400, "videos/"+stuck.ID+"/end", map[string]any{"reason": " "})
	act(400, "songs/"+stuck.ID+"/retry", nil)
	act(204, "videos/"+stuck.ID+"/end", map[string]any{"reason": "The provider is out of order."})
	if f := o.Video(t, stuck.ID); f.Status != "failed" || f.Error != "The provider is out of order." {
		t.Errorf("%+v", f)
	}
	if is := o.Credits(t); apptest.Parse(t, is.TotalUsage) != 0 || is.Reserved != "0" {
		t.Errorf("%+v", is)
	}
	act(404, "videos/"+stuck.ID+"/end", map[string]any{"reason": "Again."})
	act(404, "batches/batch_none/end", map[string]any{"reason": "x"})
	act(404, "notices/usr_x.balance/end", map[string]any{"reason": "x"})
	if left := list("kind=videos"); len(left.Data) != 0 || left.Counts[0].Open != 0 {
		t.Errorf("%+v", left)
	}
	if got := desk.Do(t, http.MethodGet, "/api/admin/audit?action=job.&target="+stuck.ID, nil); strings.Count(string(got.Body), `"action":"job.end"`) != 1 || strings.Count(string(got.Body), `"action":"job.retry"`) != 1 {
		t.Errorf("%s", got.Body)
	}
	for _, query := range []string{"kind=songs", "state=lost", "kind=videos&state=failed", "cursor=x", "cursor=0.x"} {
		if got := desk.Do(t, http.MethodGet, "/api/admin/jobs?"+query, nil); got.Status != 400 {
			t.Errorf("%s: %d %s", query, got.Status, got.Body)
		}
	}
	for _, kind := range []string{"batches", "webhooks", "notices", "webhooks&state=failed"} {
		if got := list("kind=" + kind); len(got.Data) != 0 {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	gw.WantBalanced(t)
}
