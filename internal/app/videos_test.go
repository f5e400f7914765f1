package app_test

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
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/sim"
	"weir/internal/store/postgres/pgtest"
)

// videoHeld is the cost of four seconds with audio at the prices of these tests.
const videoHeld = 8 * money.Ruble

// videos adds video models on the wire of the simulator at origin ("": the gateway's own simulator), each with the simulator's name for it.
// Polls are frequent.
func videos(t *testing.T, origin string, models map[string]string) func(*setup) {
	return func(s *setup) {
		s.Video.FirstPoll, s.Video.MostPoll = 20*time.Millisecond, 200*time.Millisecond
		d := &s.Declared
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
		base := d.Providers[at].BaseURL
		if origin != "" {
			base = origin + "/v1"
		}
		for _, id := range []string{"filmer", "spare"} {
			d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: id, Dialect: "openai", BaseURL: base, Key: "sk-" + id})
		}
		for slug, upstream := range models {
			d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeVideo, Video: &catalog.VideoFacts{
				Durations: []int{4, 8}, Resolutions: []string{"720p"}, AspectRatios: []string{"16:9", "9:16"}, FrameImages: []string{"first_frame"}, Audio: true,
			}})
			d.Offers = append(d.Offers, videoOffer(t, "filmer", slug, upstream))
		}
	}
}

func videoOffer(t *testing.T, provider, slug, upstream string) catalog.Offer {
	return catalog.Offer{Provider: provider, Model: slug, UpstreamID: upstream, Input: catalog.Text | catalog.Image, Output: catalog.Video,
		Pricing: catalog.Pricing{List: "test", Video: []catalog.VideoRule{{PerSecond: price(t, "1")}, {WithAudio: true, PerSecond: price(t, "2")}}}}
}

// shownVideo is a job as clients see it.
type shownVideo struct {
	ID         string   `json:"id"`
	Status     string   `json:"status"`
	Generation string   `json:"generation_id"`
	Polling    string   `json:"polling_url"`
	URLs       []string `json:"unsigned_urls"`
	Error      string   `json:"error"`
	Usage      *struct {
		Cost json.Number `json:"cost"`
	} `json:"usage"`
	CreatedAt   int64 `json:"created_at"`
	CompletedAt int64 `json:"completed_at"`
	ExpiresAt   int64 `json:"expires_at"`
}

func (f *shownVideo) active() bool { return f.Status == "pending" || f.Status == "in_progress" }

// shoot returns the shortest request for a video.
func shoot(model, prompt string) map[string]any {
	return map[string]any{"model": model, "prompt": prompt}
}

func (a *answer) video(t *testing.T, status int) *shownVideo {
	t.Helper()
	var f shownVideo
	if err := json.Unmarshal(a.body, &f); err != nil || a.status != status || !strings.HasPrefix(f.ID, "vj_") {
		t.Fatalf("status %d, want %d, %v: %s", a.status, status, err, a.body)
	}
	return &f
}

// shoot submits a job that must be accepted.
func (a *account) shoot(t *testing.T, body map[string]any) *shownVideo {
	t.Helper()
	got := a.do(t, http.MethodPost, "/v1/videos", body)
	f := got.video(t, http.StatusAccepted)
	if f.Status != "pending" || f.Generation != got.header.Get("X-Generation-Id") || f.Polling != a.gw.url+"/v1/videos/"+f.ID {
		t.Errorf("a new job: %s", got.body)
	}
	return f
}

func (a *account) video(t *testing.T, id string) *shownVideo {
	t.Helper()
	return a.do(t, http.MethodGet, "/v1/videos/"+id, nil).video(t, http.StatusOK)
}

// await waits until the job is in one of the states.
func (a *account) awaitVideo(t *testing.T, id string, states ...string) (f *shownVideo) {
	t.Helper()
	waitFor(t, "the job "+id+" to be "+strings.Join(states, " or "), func() bool {
		f = a.video(t, id)
		return slices.Contains(states, f.Status) || !f.active()
	})
	if !slices.Contains(states, f.Status) {
		t.Fatalf("the job is %+v, want it %v", *f, states)
	}
	return f
}

// wantWord checks an error's status, envelope and machine word, and returns its metadata.
func (a *answer) wantWord(t *testing.T, status int, word string) map[string]any {
	t.Helper()
	a.wantEnvelope(t)
	var e struct {
		Error struct{ Metadata map[string]any }
	}
	if err := json.Unmarshal(a.body, &e); err != nil || a.status != status || e.Error.Metadata["error_type"] != word {
		t.Errorf("status %d, want %d %s: %s", a.status, status, word, a.body)
	}
	return e.Error.Metadata
}

// videoCounts returns the simulator's counts of video requests.
func videoCounts(s *sim.Server) (c sim.JobCounts) {
	for _, one := range s.Jobs() {
		c.Submits, c.Polls, c.Cancels, c.Downloads = c.Submits+one.Submits, c.Polls+one.Polls, c.Cancels+one.Cancels, c.Downloads+one.Downloads
	}
	return c
}

// A hundred submissions at once, by five keys of one user at every node: two are accepted, reach the provider and hold money. The errors of
// the others name these two. When the two have ended, their places are free.
func TestTwoVideoJobs(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	studio := sim.New(sim.Config{})
	l := listen(t)
	go func() { _ = studio.Serve(l) }()
	t.Cleanup(func() { _ = studio.Close(context.Background()) })
	change := videos(t, "http://"+l.Addr().String(), map[string]string{"film/never": "video@job=never"})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		twoJobs(t, []*gateway{startGateway(t, change)}, rounds)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		twoJobs(t, startNodes(t, 2, pgtest.New(t), change, quick), rounds)
	})
	t.Cleanup(func() {
		want := int64(2 * (2 + 1) * rounds)
		if c := videoCounts(studio); c.Submits != want || c.Cancels != want {
			t.Errorf("the provider was asked for %d jobs, and had to cancel %d; want %d", c.Submits, c.Cancels, want)
		}
	})
}

func twoJobs(t *testing.T, nodes []*gateway, rounds int) {
	const submits = 100
	for round := range rounds {
		keys := everywhere(nodes, nodes[0].open(t, opening{amount: 10_000 * money.Ruble, keys: make([]*apikey.Limit, 5)}))
		var all sync.WaitGroup
		start, got := make(chan struct{}), make([]*answer, submits)
		for i := range submits {
			all.Go(func() {
				<-start
				got[i] = keys[i%len(keys)].do(t, http.MethodPost, "/v1/videos", shoot("film/never", "A heron."))
			})
		}
		close(start)
		all.Wait()
		var taken []string
		for _, a := range got {
			if a.status == http.StatusAccepted {
				taken = append(taken, a.video(t, http.StatusAccepted).ID)
			}
		}
		slices.Sort(taken)
		if len(taken) != 2 {
			t.Fatalf("%d jobs were taken", len(taken))
		}
		for _, a := range got {
			if a.status != http.StatusAccepted {
				a.wantVideoLimit(t, taken)
			}
		}
		a := keys[0]
		for _, id := range taken {
			a.awaitVideo(t, id, "in_progress")
		}
		for _, node := range everywhere(nodes, keys[:1]) {
			if round == 0 { // the other node may still report holds of submissions that were refused at that time
				waitFor(t, "two jobs to hold money and nothing else", func() bool { return parse(t, node.credits(t).Reserved) == 2*videoHeld })
			}
		}
		for _, id := range taken {
			if f := a.do(t, http.MethodDelete, "/v1/videos/"+id, nil).video(t, http.StatusOK); f.Status != "cancelled" || f.Usage != nil {
				t.Errorf("a deleted job: %+v", f)
			}
		}
		again := keys[len(keys)-1].shoot(t, shoot("film/never", "A heron."))
		a.awaitVideo(t, again.ID, "in_progress")
		a.do(t, http.MethodDelete, "/v1/videos/"+again.ID, nil).video(t, http.StatusOK)
		if round == 0 {
			waitFor(t, "nothing to be held", func() bool { return a.credits(t).Reserved == "0" })
		}
		a.wantSpent(t, false)
	}
	for _, gw := range nodes {
		gw.wantBalanced(t)
	}
}

func (a *answer) wantVideoLimit(t *testing.T, active []string) {
	t.Helper()
	m := a.wantWord(t, http.StatusTooManyRequests, "rate_limit_exceeded")
	var reported []string
	list, _ := m["active_jobs"].([]any)
	for _, id := range list {
		s, _ := id.(string)
		reported = append(reported, s)
	}
	slices.Sort(reported)
	if m["limit"] != 2.0 || !slices.Equal(reported, active) || a.header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After %q, want jobs %v: %s", a.header.Get("Retry-After"), active, a.body)
	}
}

// Errors of a submission are reported in the order of their statuses. After any of them, nothing is held and no provider was called.
func TestVideoAdmission(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}))
	poor := gw.open(t, opening{amount: 2 * videoHeld, keys: []*apikey.Limit{nil}})[0]
	full := gw.newAccount(t)
	for _, a := range []*account{poor, full} {
		for range 2 {
			a.awaitVideo(t, a.shoot(t, shoot("film/never", "A heron.")).ID, "in_progress")
		}
	}
	bare := shoot("film/works", "A heron.")
	with := func(name string, value any) map[string]any {
		body := shoot("film/works", "A heron.")
		body[name] = value
		return body
	}
	for _, c := range []struct {
		name   string
		key    *account
		body   map[string]any
		status int
		word   string
		param  string
	}{
		{"no key", &account{gw: gw, key: "sk-weir-v1-none"}, bare, 401, "authentication", ""},
		{"no prompt", poor, map[string]any{"model": "film/works"}, 400, "invalid_request", "prompt"},
		{"a length that the model does not make", poor, with("duration", 5), 400, "invalid_request", "duration"},
		{"an unknown resolution", poor, with("resolution", "4K"), 400, "invalid_request", "resolution"},
		{"a callback that nobody signs", poor, with("callback_url", "https://example.com/x"), 400, "invalid_request", "callback_url"},
		{"no such model", poor, shoot("film/none", "A heron."), 404, "model_not_found", ""},
		{"no money", poor, bare, 402, "payment_required", ""},
		{"too many", full, bare, 429, "rate_limit_exceeded", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.key.do(t, http.MethodPost, "/v1/videos", c.body).wantWord(t, c.status, c.word)
			if c.param != "" && m["param"] != c.param {
				t.Errorf("param %v, want %s", m["param"], c.param)
			}
		})
	}
	if got := full.do(t, http.MethodPost, "/v1/chat/completions", map[string]any{"model": "film/works", "messages": question}); got.status != http.StatusBadRequest && got.status != http.StatusNotFound {
		t.Errorf("a model of videos asked to chat: status %d: %s", got.status, got.body)
	}
	for _, a := range []*account{poor, full} {
		if held := parse(t, a.credits(t).Reserved); held != 2*videoHeld {
			t.Errorf("%s are held", held)
		}
	}
	if n := videoCounts(gw.sim).Submits; n != 4 {
		t.Errorf("the provider was asked for %d jobs", n)
	}
	gw.wantBalanced(t)
}

// A job ends in one state, and is charged once if there is a video, else not at all. Its place is then free.
func TestVideoEnds(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video"}))
	brief := startGateway(t, videos(t, "", map[string]string{"film/works": "video"}), func(s *setup) { s.Video.MaxAge = 300 * time.Millisecond })
	cases := []struct {
		name, marker string
		gw           *gateway
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
	gw.wantBalanced(t)
	brief.wantBalanced(t)
}

func videoEnds(t *testing.T, gw *gateway, marker, status, says string) {
	a := gw.newAccount(t)
	first := a.shoot(t, shoot("film/works", marker+"A heron."))
	f := a.awaitVideo(t, first.ID, status)
	if !strings.Contains(f.Error, says) || (f.Error == "") != (status == "completed") || f.CompletedAt < f.CreatedAt {
		t.Errorf("the job: %+v", *f)
	}
	cost := money.Nano(0)
	if status == "completed" {
		cost = videoHeld
		if f.Usage == nil || parse(t, f.Usage.Cost) != cost || len(f.URLs) != 1 || f.URLs[0] != f.Polling+"/content?index=0" {
			t.Errorf("the job: %+v", *f)
		}
	} else if f.Usage != nil || len(f.URLs) > 0 {
		t.Errorf("the job: %+v", *f)
	}
	is := a.credits(t)
	if parse(t, is.TotalUsage) != cost || is.Reserved != "0" {
		t.Errorf("charged %s, held %s; want %s and nothing", is.TotalUsage, is.Reserved, cost)
	}
	if g := a.generation(t, first.Generation); parse(t, g.TotalCost) != cost || (g.GenerationTime > 0) != (cost > 0) || g.Model != "" && g.Model != "film/works" {
		t.Errorf("generation %+v", g)
	}
	a.shoot(t, shoot("film/works", "A heron.")) // twice: both places are free
	a.shoot(t, shoot("film/works", "A heron."))
}

// The cost of a job is in its account's daily totals, under its model.
func TestVideoActivity(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video"}))
	a := gw.newAccount(t)
	for range 3 {
		a.awaitVideo(t, a.shoot(t, shoot("film/works", "A heron.")).ID, "completed")
	}
	silent := shoot("film/works", "A heron.")
	silent["generate_audio"], silent["duration"] = false, 8
	a.awaitVideo(t, a.shoot(t, silent).ID, "completed")
	gw.wantRollUp(t, map[string]money.Nano{"film/works": 4 * videoHeld}, 4)
	gw.wantBalanced(t)
}

// A repeated submission with the same idempotency key is the same job: one place, one hold, one job at the provider.
func TestNamedVideo(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, videos(t, "", map[string]string{"film/never": "video@job=never"}))
	a := gw.newAccount(t)
	body, err := json.Marshal(shoot("film/never", "A heron."))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{"Idempotency-Key": "one"}
	first := a.send(t, http.MethodPost, "/v1/videos", body, named)
	job := first.video(t, http.StatusAccepted)
	for range 3 {
		again := a.send(t, http.MethodPost, "/v1/videos", body, named)
		if f := again.video(t, http.StatusAccepted); f.ID != job.ID || again.header.Get("Idempotent-Replayed") != "true" || string(again.body) != string(first.body) {
			t.Errorf("another answer: %s", again.body)
		}
	}
	a.send(t, http.MethodPost, "/v1/videos", []byte(`{"model":"film/never","prompt":"Another."}`), named).wantWord(t, http.StatusUnprocessableEntity, "idempotency_mismatch")
	a.awaitVideo(t, job.ID, "in_progress")
	if held := parse(t, a.credits(t).Reserved); held != videoHeld || videoCounts(gw.sim).Submits != 1 {
		t.Errorf("%s are held, the provider was asked %d times", held, videoCounts(gw.sim).Submits)
	}
	request := first.header.Get("X-Request-Id")
	waitFor(t, "a line in the log", func() bool { return strings.Contains(gw.log.String(), request) })
	for line := range strings.Lines(gw.log.String()) {
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
	gw := startNodes(t, 1, server.New(t), videos(t, "", map[string]string{"film/works": "video", "film/slow": "video@takes=3s"}), quick,
		func(s *setup) { s.Ledger.StoreFor = config.Default().Ledger.StoreFor })[0]
	a := gw.newAccount(t)
	slow := a.awaitVideo(t, a.shoot(t, shoot("film/slow", "A heron.")).ID, "in_progress")
	server.Stop(t)
	began := time.Now()
	a.do(t, http.MethodPost, "/v1/videos", shoot("film/works", "A heron.")).wantWord(t, http.StatusServiceUnavailable, "storage_unavailable")
	promised(t, "a refusal without the database", time.Since(began), 2*time.Second)
	for _, path := range []string{"/v1/videos", "/v1/videos/" + slow.ID, "/v1/videos/" + slow.ID + "/content"} {
		a.do(t, http.MethodGet, path, nil).wantWord(t, http.StatusServiceUnavailable, "storage_unavailable")
	}
	server.Start(t)
	began = time.Now()
	waitFor(t, "jobs to be read again", func() bool { return a.do(t, http.MethodGet, "/v1/videos/"+slow.ID, nil).status == http.StatusOK })
	promised(t, "jobs after the database's return", time.Since(began), 5*time.Second)
	a.awaitVideo(t, slow.ID, "completed")
	waitFor(t, "a job to be taken again", func() bool {
		return a.do(t, http.MethodPost, "/v1/videos", shoot("film/works", "A heron.")).status == http.StatusAccepted
	})
	waitFor(t, "both to be charged for", func() bool {
		c := a.credits(t)
		return parse(t, c.TotalUsage) == 2*videoHeld && c.Reserved == "0"
	})
	if n := videoCounts(gw.sim).Submits; n != 2 {
		t.Errorf("the provider was asked for %d jobs", n)
	}
	gw.wantBalanced(t)
}

// Jobs are visible only to their user: for others their ids are unknown.
func TestVideosOfOtherUsers(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}))
	owner, other := gw.newAccount(t), gw.newAccount(t)
	done := owner.awaitVideo(t, owner.shoot(t, shoot("film/works", "A heron.")).ID, "completed")
	runs := owner.awaitVideo(t, owner.shoot(t, shoot("film/never", "A heron.")).ID, "in_progress")
	for _, id := range []string{done.ID, runs.ID, "vj_000000000000000000000000", "gen-1", "models2"} {
		for _, c := range []struct{ method, path string }{{"GET", ""}, {"DELETE", ""}, {"GET", "/content"}, {"GET", "/content?index=7"}} {
			got := other.do(t, c.method, "/v1/videos/"+id+c.path, nil)
			got.wantWord(t, http.StatusNotFound, "not_found")
			if unknown := other.do(t, c.method, "/v1/videos/vj_unknown"+c.path, nil); len(unknown.body) != len(got.body) {
				t.Errorf("the answer for an unknown id differs: %s\n%s", got.body, unknown.body)
			}
		}
	}
	var page struct {
		Data []shownVideo
		More bool `json:"has_more"`
	}
	read := func(a *account, query string) {
		got := a.do(t, http.MethodGet, "/v1/videos"+query, nil)
		page.Data = nil
		if err := json.Unmarshal(got.body, &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("%d %v %s", got.status, err, got.body)
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
	other.do(t, http.MethodGet, "/v1/videos?after="+done.ID, nil).wantWord(t, http.StatusBadRequest, "invalid_request")
	if f := owner.video(t, runs.ID); f.Status != "in_progress" {
		t.Errorf("the job is %s", f.Status)
	}
}
