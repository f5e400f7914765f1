package media_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/sim"
	"weir/internal/store/postgres/pgtest"
)

// videoHeld is the cost of four seconds with audio at the prices of these tests.
const videoHeld = 8 * money.Ruble

// A hundred submissions at once, by five keys of one user at every node: two are accepted, reach the provider and hold money. The errors of
// the others name these two. When the two have ended, their places are free.
func TestTwoVideoJobs(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	studio := sim.New(sim.Config{})
	l := apptest.Listen(t)
	go func() { _ = studio.Serve(l) }()
	t.Cleanup(func() { _ = studio.Close(context.Background()) })
	change := apptest.Videos(t, "http://"+l.Addr().String(), map[string]string{"film/never": "video@job=never"})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		twoJobs(t, []*apptest.Gateway{apptest.StartGateway(t, change)}, rounds)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		twoJobs(t, apptest.StartNodes(t, 2, pgtest.New(t), change, apptest.Quick), rounds)
	})
	t.Cleanup(func() {
		want := int64(2 * (2 + 1) * rounds)
		if c := apptest.VideoCounts(studio); c.Submits != want || c.Cancels != want {
			t.Errorf("the provider was asked for %d jobs, and had to cancel %d; want %d", c.Submits, c.Cancels, want)
		}
	})
}

func twoJobs(t *testing.T, nodes []*apptest.Gateway, rounds int) {
	const submits = 100
	for round := range rounds {
		keys := apptest.Everywhere(nodes, nodes[0].Open(t, apptest.Opening{Amount: 10_000 * money.Ruble, Keys: make([]*apikey.Limit, 5)}))
		var all sync.WaitGroup
		start, got := make(chan struct{}), make([]*apptest.Answer, submits)
		for i := range submits {
			all.Go(func() {
				<-start
				got[i] = keys[i%len(keys)].Do(t, http.MethodPost, "/v1/videos", apptest.Shoot("film/never", "A heron."))
			})
		}
		close(start)
		all.Wait()
		var taken []string
		for _, a := range got {
			if a.Status == http.StatusAccepted {
				taken = append(taken, a.Video(t, http.StatusAccepted).ID)
			}
		}
		slices.Sort(taken)
		if len(taken) != 2 {
			t.Fatalf("%d jobs were taken", len(taken))
		}
		for _, a := range got {
			if a.Status != http.StatusAccepted {
				a.WantVideoLimit(t, taken)
			}
		}
		a := keys[0]
		for _, id := range taken {
			a.AwaitVideo(t, id, "in_progress")
		}
		for _, node := range apptest.Everywhere(nodes, keys[:1]) {
			if round == 0 { // the other node may still report holds of submissions that were refused at that time
				apptest.WaitFor(t, "two jobs to hold money and nothing else", func() bool { return apptest.Parse(t, node.Credits(t).Reserved) == 2*videoHeld })
			}
		}
		for _, id := range taken {
			if f := a.Do(t, http.MethodDelete, "/v1/videos/"+id, nil).Video(t, http.StatusOK); f.Status != "cancelled" || f.Usage != nil {
				t.Errorf("a deleted job: %+v", f)
			}
		}
		again := keys[len(keys)-1].Shoot(t, apptest.Shoot("film/never", "A heron."))
		a.AwaitVideo(t, again.ID, "in_progress")
		a.Do(t, http.MethodDelete, "/v1/videos/"+again.ID, nil).Video(t, http.StatusOK)
		if round == 0 {
			apptest.WaitFor(t, "nothing to be held", func() bool { return a.Credits(t).Reserved == "0" })
		}
		a.WantSpent(t, false)
	}
	for _, gw := range nodes {
		gw.WantBalanced(t)
	}
}

// Without a master key nobody can sign a callback, and nobody is promised one. Nodes that share a database make none for themselves.
func TestCallbackThatNobodySigns(t *testing.T) {
	t.Parallel()
	gw := apptest.StartNodes(t, 1, pgtest.New(t), apptest.Videos(t, "", map[string]string{"film/works": "video"}))[0]
	body := apptest.Shoot("film/works", "A heron.")
	body["callback_url"] = "https://example.com/x"
	if m := gw.NewAccount(t).Do(t, http.MethodPost, "/v1/videos", body).WantWord(t, 400, "invalid_request"); m["param"] != "callback_url" {
		t.Errorf("param %v", m["param"])
	}
}

// Errors of a submission are reported in the order of their statuses. After any of them, nothing is held and no provider was called.
func TestVideoAdmission(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}))
	poor := gw.Open(t, apptest.Opening{Amount: 2 * videoHeld, Keys: []*apikey.Limit{nil}})[0]
	full := gw.NewAccount(t)
	for _, a := range []*apptest.Account{poor, full} {
		for range 2 {
			a.AwaitVideo(t, a.Shoot(t, apptest.Shoot("film/never", "A heron.")).ID, "in_progress")
		}
	}
	bare := apptest.Shoot("film/works", "A heron.")
	with := func(name string, value any) map[string]any {
		body := apptest.Shoot("film/works", "A heron.")
		body[name] = value
		return body
	}
	for _, c := range []struct {
		name   string
		key    *apptest.Account
		body   map[string]any
		status int
		word   string
		param  string
	}{
		{"no key", &apptest.Account{Gw: gw, Key: "sk-weir-v1-none"}, bare, 401, "authentication", ""},
		{"no prompt", poor, map[string]any{"model": "film/works"}, 400, "invalid_request", "prompt"},
		{"a length that the model does not make", poor, with("duration", 5), 400, "invalid_request", "duration"},
		{"an unknown resolution", poor, with("resolution", "4K"), 400, "invalid_request", "resolution"},
		{"a callback that is no address", poor, with("callback_url", "example"), 400, "invalid_request", "callback_url"},
		{"no such model", poor, apptest.Shoot("film/none", "A heron."), 404, "model_not_found", ""},
		{"no money", poor, bare, 402, "payment_required", ""},
		{"too many", full, bare, 429, "rate_limit_exceeded", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.key.Do(t, http.MethodPost, "/v1/videos", c.body).WantWord(t, c.status, c.word)
			if c.param != "" && m["param"] != c.param {
				t.Errorf("param %v, want %s", m["param"], c.param)
			}
		})
	}
	if got := full.Do(t, http.MethodPost, "/v1/chat/completions", map[string]any{"model": "film/works", "messages": apptest.Question}); got.Status != http.StatusBadRequest && got.Status != http.StatusNotFound {
		t.Errorf("a model of videos asked to chat: status %d: %s", got.Status, got.Body)
	}
	for _, a := range []*apptest.Account{poor, full} {
		if held := apptest.Parse(t, a.Credits(t).Reserved); held != 2*videoHeld {
			t.Errorf("%s are held", held)
		}
	}
	if n := apptest.VideoCounts(gw.Sim).Submits; n != 4 {
		t.Errorf("the provider was asked for %d jobs", n)
	}
	gw.WantBalanced(t)
}

// A job ends in one state, and is charged once if there is a video, else not at all. Its place is then free.
func TestVideoEnds(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}))
	brief := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}), func(s *apptest.Setup) { s.Video.JobFor = 300 * time.Millisecond })
	cases := []struct {
		name, marker string
		gw           *apptest.Gateway
		status       string
		says         string
	}{
		{"done", "", gw, "completed", ""},
		{"done after many polls", "[[sim polls=12 queued=4]] ", gw, "completed", ""},
		{"two videos for one", "[[sim outputs=2]] ", gw, "completed", ""},
		{"failed", "[[sim job=fail]] ", gw, "failed", "could not be generated"},
		{"forbidden by policy", "[[sim job=policy]] ", gw, "failed", "moderation"},
		{"refused by policy", "[[sim job=refuse]] ", gw, "failed", "moderation"},
		{"ended by the provider", "[[sim job=cancelled]] ", gw, "failed", ""},
		{"forgotten by the provider", "[[sim job=lost]] ", gw, "failed", "does not have the job"},
		{"refused", "[[sim fault=u12]] ", gw, "failed", ""},
		{"polls that fail at first", "[[sim on=poll fault=u15 times=3 id=a]] ", gw, "completed", ""},
		{"never", "[[sim job=never]] ", brief, "expired", "in time"},
		{"stuck", "[[sim job=stuck]] ", brief, "expired", "in time"},
	}
	var all sync.WaitGroup // they mostly wait
	for _, c := range cases {
		all.Go(func() {
			t.Run(c.name, func(t *testing.T) { videoEnds(t, c.gw, c.marker, c.status, c.says) })
		})
	}
	all.Wait()
	gw.WantBalanced(t)
	brief.WantBalanced(t)
}

func videoEnds(t *testing.T, gw *apptest.Gateway, marker, status, says string) {
	a := gw.NewAccount(t)
	first := a.Shoot(t, apptest.Shoot("film/works", marker+"A heron."))
	f := a.AwaitVideo(t, first.ID, status)
	if !strings.Contains(f.Error, says) || (f.Error == "") != (status == "completed") || f.CompletedAt < f.CreatedAt {
		t.Errorf("the job: %+v", *f)
	}
	cost := money.Nano(0)
	if status == "completed" {
		cost = videoHeld
		if f.Usage == nil || apptest.Parse(t, f.Usage.Cost) != cost || len(f.URLs) != 1 || f.URLs[0] != f.Polling+"/content?index=0" {
			t.Errorf("the job: %+v", *f)
		}
	} else if f.Usage != nil || len(f.URLs) > 0 {
		t.Errorf("the job: %+v", *f)
	}
	is := a.Credits(t)
	if apptest.Parse(t, is.TotalUsage) != cost || is.Reserved != "0" {
		t.Errorf("charged %s, held %s; want %s and nothing", is.TotalUsage, is.Reserved, cost)
	}
	if g := a.Generation(t, first.Generation); apptest.Parse(t, g.TotalCost) != cost || (g.GenerationTime > 0) != (cost > 0) || g.Model != "" && g.Model != "film/works" {
		t.Errorf("generation %+v", g)
	}
	a.Shoot(t, apptest.Shoot("film/works", "A heron.")) // twice: both places are free
	a.Shoot(t, apptest.Shoot("film/works", "A heron."))
}

// The cost of a job is in its account's daily totals, under its model.
func TestVideoActivity(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}))
	a := gw.NewAccount(t)
	for range 3 {
		a.AwaitVideo(t, a.Shoot(t, apptest.Shoot("film/works", "A heron.")).ID, "completed")
	}
	silent := apptest.Shoot("film/works", "A heron.")
	silent["generate_audio"], silent["duration"] = false, 8
	a.AwaitVideo(t, a.Shoot(t, silent).ID, "completed")
	gw.WantRollUp(t, map[string]money.Nano{"film/works": 4 * videoHeld}, 4)
	gw.WantBalanced(t)
}

// A repeated submission with the same idempotency key is the same job: one place, one hold, one job at the provider.
func TestNamedVideo(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/never": "video@job=never"}))
	a := gw.NewAccount(t)
	body, err := json.Marshal(apptest.Shoot("film/never", "A heron."))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{"Idempotency-Key": "one"}
	first := a.Send(t, http.MethodPost, "/v1/videos", body, named)
	job := first.Video(t, http.StatusAccepted)
	for range 3 {
		again := a.Send(t, http.MethodPost, "/v1/videos", body, named)
		if f := again.Video(t, http.StatusAccepted); f.ID != job.ID || again.Header.Get("Idempotent-Replayed") != "true" || string(again.Body) != string(first.Body) {
			t.Errorf("another answer: %s", again.Body)
		}
	}
	a.Send(t, http.MethodPost, "/v1/videos", []byte(`{"model":"film/never","prompt":"Another."}`), named).WantWord(t, http.StatusUnprocessableEntity, "idempotency_mismatch")
	a.AwaitVideo(t, job.ID, "in_progress")
	if held := apptest.Parse(t, a.Credits(t).Reserved); held != videoHeld || apptest.VideoCounts(gw.Sim).Submits != 1 {
		t.Errorf("%s are held, the provider was asked %d times", held, apptest.VideoCounts(gw.Sim).Submits)
	}
	request := first.Header.Get("X-Request-Id")
	apptest.WaitFor(t, "a line in the log", func() bool { return strings.Contains(gw.Log.String(), request) })
	for line := range strings.Lines(gw.Log.String()) {
		if !strings.Contains(line, request) {
			continue
		}
		for _, want := range []string{`"route":"/v1/videos"`, `"status":202`, `"model_asked":"film/never"`, job.Generation} {
			if !strings.Contains(line, want) {
				t.Errorf("the line of the submission has no %s: %s", want, line)
			}
		}
	}
}

// Without the database no job starts, and none is lost: running jobs continue when it is back, and are charged once.
func TestVideosWithoutDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	gw := apptest.StartNodes(t, 1, server.New(t), apptest.Videos(t, "", map[string]string{"film/works": "video", "film/slow": "video@takes=3s"}), apptest.Quick,
		func(s *apptest.Setup) { s.Ledger.StoreFor = config.Default().Ledger.StoreFor })[0]
	a := gw.NewAccount(t)
	submit := func(model string) *apptest.Answer {
		return a.Do(t, http.MethodPost, "/v1/videos", apptest.Shoot(model, "A heron."))
	}
	// With the real limit of the store a slow machine may refuse, and a job may begin in spite of it: jobs are counted at the end.
	var slow apptest.ShownVideo
	apptest.WaitFor(t, "a job to be taken", func() bool {
		got := submit("film/slow")
		return got.Status == http.StatusAccepted && json.Unmarshal(got.Body, &slow) == nil
	})
	apptest.WaitFor(t, "the job to be at its provider", func() bool {
		got := a.Do(t, http.MethodGet, "/v1/videos/"+slow.ID, nil)
		return got.Status == http.StatusOK && json.Unmarshal(got.Body, &slow) == nil && slow.Status == "in_progress"
	})
	server.Stop(t)
	began := time.Now()
	submit("film/works").WantWord(t, http.StatusServiceUnavailable, "storage_unavailable")
	apptest.Promised(t, "a refusal without the database", time.Since(began), 2*time.Second)
	for _, path := range []string{"/v1/videos", "/v1/videos/" + slow.ID, "/v1/videos/" + slow.ID + "/content"} {
		a.Do(t, http.MethodGet, path, nil).WantWord(t, http.StatusServiceUnavailable, "storage_unavailable")
	}
	server.Start(t)
	began = time.Now()
	apptest.WaitFor(t, "jobs to be read again", func() bool { return a.Do(t, http.MethodGet, "/v1/videos/"+slow.ID, nil).Status == http.StatusOK })
	apptest.Promised(t, "jobs after the database's return", time.Since(began), 5*time.Second)
	apptest.WaitFor(t, "a job to be taken again", func() bool { return submit("film/works").Status == http.StatusAccepted })
	var jobs struct{ Data []apptest.ShownVideo }
	apptest.WaitFor(t, "all jobs to be done", func() bool {
		got := a.Do(t, http.MethodGet, "/v1/videos", nil)
		return got.Status == http.StatusOK && json.Unmarshal(got.Body, &jobs) == nil &&
			!slices.ContainsFunc(jobs.Data, func(j apptest.ShownVideo) bool { return j.Status != "completed" })
	})
	n := len(jobs.Data)
	if n < 2 {
		t.Fatalf("%d jobs of two that were taken", n)
	}
	apptest.WaitFor(t, "all jobs to be charged for", func() bool {
		c := a.Credits(t)
		return apptest.Parse(t, c.TotalUsage) == money.Nano(n)*videoHeld && c.Reserved == "0"
	})
	if got := apptest.VideoCounts(gw.Sim).Submits; got != int64(n) {
		t.Errorf("the provider was asked for %d jobs of %d", got, n)
	}
	gw.WantBalanced(t)
}

// Jobs are visible only to their user: for others their ids are unknown.
func TestVideosOfOtherUsers(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}))
	owner, other := gw.NewAccount(t), gw.NewAccount(t)
	done := owner.AwaitVideo(t, owner.Shoot(t, apptest.Shoot("film/works", "A heron.")).ID, "completed")
	runs := owner.AwaitVideo(t, owner.Shoot(t, apptest.Shoot("film/never", "A heron.")).ID, "in_progress")
	for _, id := range []string{done.ID, runs.ID, "vj_000000000000000000000000", "gen-1", "models2"} {
		for _, c := range []struct{ method, path string }{{"GET", ""}, {"DELETE", ""}, {"GET", "/content"}, {"GET", "/content?index=7"}} {
			got := other.Do(t, c.method, "/v1/videos/"+id+c.path, nil)
			got.WantWord(t, http.StatusNotFound, "not_found")
			if unknown := other.Do(t, c.method, "/v1/videos/vj_unknown"+c.path, nil); len(unknown.Body) != len(got.Body) {
				t.Errorf("the answer for an unknown id differs: %s\n%s", got.Body, unknown.Body)
			}
		}
	}
	var page struct {
		Data []apptest.ShownVideo
		More bool `json:"has_more"`
	}
	read := func(a *apptest.Account, query string) {
		got := a.Do(t, http.MethodGet, "/v1/videos"+query, nil)
		page.Data = nil
		if err := json.Unmarshal(got.Body, &page); err != nil || got.Status != http.StatusOK {
			t.Fatalf("%d %v %s", got.Status, err, got.Body)
		}
	}
	if read(other, ""); len(page.Data) != 0 || page.More {
		t.Errorf("a stranger sees %v", page)
	}
	if read(owner, "?limit=1"); len(page.Data) != 1 || !page.More || page.Data[0].ID != runs.ID {
		t.Errorf("the first page: %+v", page)
	}
	if read(owner, "?limit=1&after="+runs.ID); len(page.Data) != 1 || page.More || page.Data[0].ID != done.ID {
		t.Errorf("the second page: %+v", page)
	}
	if read(owner, "?status=completed"); len(page.Data) != 1 || page.Data[0].ID != done.ID {
		t.Errorf("completed ones: %+v", page)
	}
	other.Do(t, http.MethodGet, "/v1/videos?after="+done.ID, nil).WantWord(t, http.StatusBadRequest, "invalid_request")
	if f := owner.Video(t, runs.ID); f.Status != "in_progress" {
		t.Errorf("the job is %s", f.Status)
	}
}
