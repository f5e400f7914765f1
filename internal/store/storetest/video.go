package storetest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/video"
	"weir/internal/webhook"
)

// Videos checks a store under video jobs, alone and through one and two nodes that work on them. open gives an empty store that reads that
// clock, and closes it after the test.
func Videos(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *studio){
		"a job comes back as stored":          jobRoundTrip,
		"a hold that becomes an escrow":       handedOver,
		"the limits of a job":                 handedLimits,
		"an unreported escrow":                unreportedEscrow,
		"jobs of others":                      foreignJobs,
		"pages of jobs":                       jobPages,
		"from submission to content":          wholeJob,
		"a limited key":                       limitedKey,
		"free videos":                         freeJob,
		"a provider that fails":               failedJob,
		"the next provider":                   nextProvider,
		"providers that are busy":             busyProviders,
		"an answer that was lost":             unseenAnswer,
		"a job that takes too long":           lateJob,
		"cancelling":                          cancelJob,
		"deleting a job":                      forgetJob,
		"too little money comes before limit": moneyBeforeLimit,
		"two jobs of a user":                  twoJobs,
		"a claim is exclusive":                exclusiveClaim,
		"a worker that slept":                 sleepingWorker,
		"a job seized from its worker":        seizedJob,
		"forbidden changes of state":          illegalStates,
		"two workers end a job":               endedOnce,
		"stored content":                      keptContent,
		"a submission that the store delays":  delayedSubmission,
		"nodes whose clocks are wrong":        wrongClocks,
		"a named call is repeated":            refusedByName,
		"old jobs are deleted":                forgottenJobs,
		"a charge that can never be posted":   asideJob,
		"one video and two jobs":              oneVideoTwoJobs,
		"an operator ends a job":              endedByOperator,
		"videos that have not ended":          openVideos,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newStudio(t, open))
		})
	}
	for name, c := range map[string]struct {
		memory   memory
		takeover bool
		series   int
	}{
		"no way to ask": {forgetful, false, 0}, "no way to ask, another node": {forgetful, true, 2},
		"idempotency keys": {tokens, false, 4}, "a list of jobs, another node": {lists, true, 6},
	} {
		t.Run("death at every step/"+name, func(t *testing.T) {
			t.Parallel()
			deathAtEveryStep(t, newStudio(t, open), c.memory, c.takeover, c.series)
		})
	}
}

// studio is a desk with a provider of videos.
type studio struct {
	*books
	provider *provider
	snap     *catalog.Snapshot
}

func newStudio(t *testing.T, open Open) *studio {
	s := &studio{books: newDesk(t, open), provider: newProvider()}
	second := func(n money.Nano) catalog.Pricing {
		return catalog.Pricing{Video: []catalog.VideoRule{{PerSecond: money.Price{Nano: int64(n), Set: true}}}, List: "list-1"}
	}
	var err error
	s.snap, err = catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "one", Name: "One", Dialect: "openai", BaseURL: "https://one.test"}, {ID: "two", Name: "Two", Dialect: "openai", BaseURL: "https://two.test"}},
		Models: []catalog.ModelInfo{
			{Slug: "v/film", Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Durations: []int{4, 8}}}, {Slug: "v/free", Type: catalog.TypeVideo},
		},
		Offers: []catalog.Offer{
			{Provider: "one", Model: "v/film", Pricing: second(ruble)}, {Provider: "two", Model: "v/film", Pricing: second(2 * ruble)},
			{Provider: "one", Model: "v/free", Pricing: second(0)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crew is one node at work.
type crew struct {
	*video.Service
	studio *studio
	book   *ledger.Book
	files  *files
}

// crew starts a node; change adjusts what it works with.
func (s *studio) crew(book *ledger.Book, change ...func(*video.Deps, *video.Config)) *crew {
	d := video.Deps{Store: s.store.Jobs, Holds: book, Member: book, Upstream: s.provider, Planner: &video.Router{Rand: func() float64 { return 0 }},
		Catalog: func() *catalog.Snapshot { return s.snap }, Callbacks: clockReader{s.clock}}
	c := video.Default(s.clock.Now)
	c.AddFor, c.StoreFor, c.PollFor = time.Minute, time.Minute, time.Minute
	c.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	c.Report = func(what string, j *video.Job, err error) { s.t.Logf("%s: %v", what, err) }
	for _, f := range change {
		f(&d, &c)
	}
	k := &crew{Service: video.New(d, c), studio: s, book: book}
	k.files, _ = d.Contents.(*files)
	return k
}

// user makes a user with a wallet.
func (s *studio) user(amount money.Nano) *apikey.Caller {
	w := s.wallet(amount)
	return &apikey.Caller{User: "usr_" + strings.TrimPrefix(w, "wal_"), Wallet: w, Key: "key_1"}
}

// newVideo is a request for eight seconds, which cost 8 rubles at one provider and 16 at the other.
func (s *studio) newVideo(c *apikey.Caller, model string, change ...func(*video.Request)) *video.Submit {
	r := &video.Request{Model: model, Prompt: "a weir in the rain", Seconds: 8, CallbackURL: "https://example.com/hook"}
	r.Preferences.Sort = "price"
	r.Preferences.Order = []string{"one", "two"}
	for _, f := range change {
		f(r)
	}
	return &video.Submit{Caller: c, Request: r, Generation: fmt.Sprintf("gen-1-%020d", s.n.Add(1)), RequestID: "req_1", Catalog: s.snap}
}

func (k *crew) submit(c *apikey.Caller) *video.Job {
	k.studio.t.Helper()
	j, err := k.Submit(k.studio.ctx, k.studio.newVideo(c, "v/film"))
	if err != nil {
		k.studio.t.Fatal(err)
	}
	return j
}

// step works on what is due, some time later.
func (k *crew) step(after time.Duration) int {
	k.studio.t.Helper()
	k.studio.clock.Advance(after)
	k.studio.tick(k.book)
	n, err := k.Step(k.studio.ctx)
	if err != nil {
		k.studio.t.Fatal(err)
	}
	return n
}

func (k *crew) job(j *video.Job) *video.Job {
	k.studio.t.Helper()
	found, err := k.Get(k.studio.ctx, j.User, j.ID)
	if err != nil {
		k.studio.t.Fatal(err)
	}
	return found
}

// finished works until the job has ended, and checks how.
func (k *crew) finished(j *video.Job, want video.State) *video.Job {
	k.studio.t.Helper()
	for range 200 {
		if j = k.job(j); !j.Active() {
			break
		}
		k.step(40 * time.Second)
	}
	if j.State != want {
		k.studio.t.Fatalf("the job is %s, not %s: %s", j.State, want, j.Error)
	}
	k.step(time.Second) // what is left to do
	k.studio.ended(j)
	return j
}

// ended checks what must be true of a job that has ended, and of all books.
func (s *studio) ended(j *video.Job) {
	s.t.Helper()
	s.balanced()
	call, entries, err := s.store.Ledger.Call(s.ctx, j.Wallet, j.Generation)
	if err != nil {
		s.t.Fatal(err)
	}
	if charged := len(entries) == 1 && entries[0].Amount == -j.Cost && call.Settled; charged != (j.Ended == video.Settled) || call.Cost != j.Cost || call.API != "video" {
		s.t.Fatalf("the job is %s for %s, its record %+v has entries %v", j.Ended, j.Cost, call, entries)
	}
}

// clockReader reports the ends of jobs.
type clockReader struct{ clock *clock }

func (x clockReader) Ended(j *video.Job) *webhook.Delivery {
	d := webhook.NewDelivery(j.ID+"-"+string(j.State), j.User, j.Callback, "video.generation."+string(j.State), []byte(`{"id":"`+j.ID+`"}`), x.clock.Now())
	return &d
}

// reported lists the events of a user in the outbox.
func (s *studio) reported(user string) (ids []string) {
	s.t.Helper()
	all, err := s.store.Notices.ClaimDeliveries(s.ctx, s.clock.Now(), s.clock.Now(), 100, 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range all {
		if d.Account == user {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func withFiles(f *files) func(*video.Deps, *video.Config) {
	return func(d *video.Deps, _ *video.Config) { d.Contents = f }
}

func jobRoundTrip(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	seed := int64(7)
	in := s.newVideo(c, "v/film", func(r *video.Request) {
		r.Seed, r.Size, r.Resolution, r.AspectRatio = &seed, "1280x720", "720p", "16:9"
		r.References = []video.Media{{Kind: catalog.Image, URL: "data:image/png;base64,AAAA"}}
		r.Options = []video.ProviderOptions{{Provider: "one", Fields: []video.Param{{Name: "style", Value: []byte(`"noir"`)}}}}
	})
	j, err := k.Submit(s.ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := s.store.Jobs.ClaimJobs(s.ctx, k.book.Node(), k.book.Epoch(), s.clock.Now(), 10)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("%d jobs, %v", len(claimed), err)
	}
	want := *j
	want.Fence++
	want.Request.Preferences, want.Request.CallbackURL = claimed[0].Request.Preferences, "" // used, and kept with the job
	if diff := cmp.Diff(&want, claimed[0], cmp.AllowUnexported(), cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); diff != "" {
		t.Fatal(diff)
	}
	shown := k.job(j)
	if shown.Request.Prompt != "" || shown.Hold != 16*ruble || shown.Videos != 1 || shown.Seconds != 8 || shown.Model != "v/film" {
		t.Fatalf("%+v", shown)
	}
	s.balanced()
}

// handed moves what a hold has into the escrow of a new job.
func (s *studio) handed(b *ledger.Book, h *ledger.Hold, c *apikey.Caller, id string, amount money.Nano, answer func(error) error) error {
	now := s.clock.Now()
	j := &video.Job{ID: id, User: c.User, Wallet: c.Wallet, Generation: "gen-" + id, State: video.Pending, Hold: amount, CreatedAt: now, DeadlineAt: now}
	return b.Hand(s.ctx, h, func(ctx context.Context, o ledger.Handover) error { return answer(s.store.Jobs.AddJob(ctx, j, o, 5)) })
}

func heard(err error) error { return err }

func handedOver(t *testing.T, s *studio) {
	c, b, other := s.user(100*ruble), s.node(), s.node()
	first, second, third := s.hold(b, c.Wallet, 10*ruble), s.hold(b, c.Wallet, 20*ruble), s.hold(b, c.Wallet, 5*ruble)
	if err := s.handed(b, first, c, "vj_1", 10*ruble, heard); err != nil {
		t.Fatal(err)
	}
	if err := s.handed(b, first, c, "vj_2", 10*ruble, heard); !fault.Is(err, fault.Internal) {
		t.Errorf("a hold was handed over twice: %v", err)
	}
	first.Release() // does nothing any more
	s.settle(b, second, c.Wallet, 20*ruble)
	refused := fault.New(fault.RateLimited, "storetest", "no")
	if err := b.Hand(s.ctx, third, func(context.Context, ledger.Handover) error { return refused }); !fault.Is(err, fault.RateLimited) {
		t.Errorf("%v", err)
	}
	s.flush(b)
	s.balanced()
	s.wantBalance(b, c.Wallet, 100*ruble, 20*ruble, 10*ruble)
	// An escrow is nothing that another node could give back, so that a refusal does not wait for it.
	before := s.clock.Now()
	s.clock.Advance(4 * time.Second)
	s.tick(b)
	s.clock.Advance(4 * time.Second)
	s.tick(b)
	if f := s.refused(other, ledger.HoldRequest{Wallet: c.Wallet, Amount: 71 * ruble}); f.Details["available"] != "70" || s.clock.Now().Sub(before) != 8*time.Second {
		t.Errorf("%v, %v after %s", f, f.Details, s.clock.Now().Sub(before))
	} else if f.Details["reserved"] != "10" || f.RetryAfter == 0 || strings.Contains(f.Public, "Top up") {
		t.Errorf("a hold that waits for a job: %q, %v, again in %v", f.Public, f.Details, f.RetryAfter)
	}
	if f := s.refused(other, ledger.HoldRequest{Wallet: c.Wallet, Amount: 80*ruble + 1}); f.Details["reserved"] != nil || !strings.Contains(f.Public, "Top up") {
		t.Errorf("a hold for which the end of the job is not enough: %q, %v", f.Public, f.Details)
	}
	s.hold(other, c.Wallet, 70*ruble).Release()
	s.balanced()
}

func unreportedEscrow(t *testing.T, s *studio) {
	c, b := s.user(100*ruble), s.node()
	unsent := func(err error) error {
		if err != nil {
			return err
		}
		return fault.New(fault.StorageUnavailable, "storetest", "no answer")
	}
	if err := s.handed(b, s.hold(b, c.Wallet, 10*ruble), c, "vj_1", 10*ruble, unsent); !fault.Is(err, fault.StorageUnavailable) {
		t.Fatal(err)
	}
	s.tick(b) // what else the lease had goes back
	s.balanced()
	s.wantBalance(b, c.Wallet, 100*ruble, 0, 10*ruble)
	s.hold(b, c.Wallet, 90*ruble).Release()
	late, watch := s.hold(b, c.Wallet, 10*ruble), s.node()
	s.evicted(watch)
	if err := s.handed(b, late, c, "vj_2", 10*ruble, heard); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("money of a former life was handed over: %v", err)
	}
	for id, want := range map[string]bool{"vj_1": true, "vj_2": false} {
		if _, err := s.store.Jobs.Job(s.ctx, c.User, id); (err == nil) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
	s.tick(b)
	s.balanced()
	s.wantBalance(watch, c.Wallet, 100*ruble, 0, 10*ruble)
}

func foreignJobs(t *testing.T, s *studio) {
	k, c, other := s.crew(s.node()), s.user(100*ruble), s.user(100*ruble)
	j := k.submit(c)
	for name, id := range map[string]string{"another user's": j.ID, "unknown": "vj_none", "not an id": "gen-1", "empty": ""} {
		_, get := k.Get(s.ctx, other.User, id)
		_, del := k.Delete(s.ctx, other.User, id)
		_, _, open := k.Open(s.ctx, other.User, id, 0, "")
		_, seize := s.store.Jobs.SeizeJob(s.ctx, other.User, id)
		for _, err := range []error{get, del, open} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !fault.Is(seize, fault.Conflict) {
			t.Errorf("%s was seized: %v", name, seize)
		}
	}
	for wallet, want := range map[string]bool{c.Wallet: true, other.Wallet: false} {
		if has, err := s.store.Jobs.HasJob(s.ctx, wallet, j.Generation); err != nil || has != want {
			t.Errorf("the call became a job: %t, %v; want %t", has, err, want)
		}
	}
	if has, err := s.store.Jobs.HasJob(s.ctx, c.Wallet, "gen-none"); err != nil || has {
		t.Errorf("an unknown call became a job: %t, %v", has, err)
	}
	if jobs, more, err := k.List(s.ctx, video.Query{User: other.User, Limit: 10}); err != nil || more || len(jobs) != 0 {
		t.Errorf("%v, %t, %v", jobs, more, err)
	}
}

func jobPages(t *testing.T, s *studio) {
	k, c := s.crew(s.node(), func(_ *video.Deps, cfg *video.Config) { cfg.Limit = 10 }), s.user(1000*ruble)
	var want []string
	for i := range 5 {
		if i%2 == 0 { // some of the same moment
			s.clock.Advance(time.Second)
		}
		want = append(want, k.submit(c).ID)
	}
	var got []string
	for after := ""; ; {
		jobs, more, err := k.List(s.ctx, video.Query{User: c.User, After: after, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i := range jobs {
			got = append(got, jobs[i].ID)
			after = jobs[i].ID
		}
		if !more {
			break
		}
	}
	if got[0] != want[4] || len(got) != 5 {
		t.Fatalf("%q, want the reverse of %q", got, want)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if _, _, err := k.List(s.ctx, video.Query{User: c.User, After: "vj_none", Limit: 2}); !fault.Is(err, fault.Invalid) {
		t.Errorf("after an unknown job: %v", err)
	}
	k.step(0)
	if jobs, _, err := k.List(s.ctx, video.Query{User: c.User, State: video.Pending, Limit: 2}); err != nil || len(jobs) != 0 {
		t.Errorf("%d pending, %v", len(jobs), err)
	}
	if jobs, _, err := k.List(s.ctx, video.Query{User: c.User, State: video.InProgress, Limit: 20}); err != nil || len(jobs) != 5 {
		t.Errorf("%d in progress, %v", len(jobs), err)
	}
}

func wholeJob(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	j := k.submit(c)
	s.wantBalance(k.book, c.Wallet, 100*ruble, 0, 16*ruble) // what the dearer provider takes
	if j.State != video.Pending || !strings.HasPrefix(j.ID, "vj_") || len(j.ID) != 27 {
		t.Fatalf("%s is %s", j.ID, j.State)
	}
	for _, amount := range []money.Nano{0, ruble} { // what the job holds is no charge
		if _, err := k.book.GiveBack(s.ctx, ledger.Refund{Generation: j.Generation, ID: "1", Amount: amount, Reason: "impatience", Actor: actor}); !fault.Is(err, fault.NotFound) {
			t.Errorf("a refund of a job that runs: %v", err)
		}
	}
	_, _, err := k.Open(s.ctx, c.User, j.ID, 0, "")
	if !fault.Is(err, fault.VideoNotReady) || fault.From(err).Details["status"] != "pending" {
		t.Errorf("%v", err)
	}
	k.step(0)
	if j = k.job(j); j.State != video.InProgress || j.UpstreamID != "up-1" {
		t.Fatalf("%s, %q", j.State, j.UpstreamID)
	}
	if n := k.step(time.Second); n != 0 {
		t.Errorf("%d jobs were polled too early", n)
	}
	s.provider.length = 3500 * time.Millisecond
	j = k.finished(j, video.Completed)
	if j.Cost != 4*ruble || j.Seconds != 4 {
		t.Errorf("%d seconds cost %s", j.Seconds, j.Cost)
	}
	s.wantBalance(k.book, c.Wallet, 100*ruble, 4*ruble, 0)
	rows, err := k.book.Activity(s.ctx, c.Wallet, "", "2026-03-04", "2026-03-04")
	if err != nil || len(rows) != 1 || rows[0].Cost != 4*ruble || rows[0].Requests != 1 || rows[0].Model != "v/film" {
		t.Errorf("%+v, %v", rows, err)
	}
	x, err := ledger.Explain(s.ctx, s.store.Ledger, c.Wallet, j.Generation)
	if err != nil || !x.Matches || x.Call.Endpoint != "one/v/film" || x.Call.UpstreamID != "up-1" || len(x.Call.Attempts) != 1 || x.Call.Status != 202 {
		t.Errorf("%+v, %v", x, err)
	}
	if reported := s.reported(c.User); !slices.Equal(reported, []string{j.ID + "-completed"}) {
		t.Errorf("%q", reported)
	}
	back, err := k.book.GiveBack(s.ctx, ledger.Refund{Generation: j.Generation, ID: "1", Reason: "a broken video", Actor: actor})
	if err != nil || back.Amount != 4*ruble || back.Wallet != c.Wallet {
		t.Errorf("%+v, %v", back, err)
	}
	s.wantBalance(k.book, c.Wallet, 104*ruble, 4*ruble, 0)
	readVideo(t, k, j)
	s.clock.Advance(24*time.Hour + time.Minute)
	if got := k.job(j); got.State != video.Expired {
		t.Errorf("before the sweep it is %s", got.State)
	}
	k.step(0)
	j = k.job(j)
	if _, _, err := k.Open(s.ctx, c.User, j.ID, 0, ""); !fault.Is(err, fault.VideoExpired) || j.State != video.Expired || j.Cost != 4*ruble || j.Ended != video.Settled || len(j.Outputs) != 0 {
		t.Errorf("%+v, %v", j, err)
	}
	if n := k.step(100 * time.Hour); n != 0 {
		t.Error("there is still something to do")
	}
	s.balanced()
}

func readVideo(t *testing.T, k *crew, j *video.Job) {
	t.Helper()
	for header, want := range map[string]string{"": videoText, "bytes=4-7": "4567", "bytes=10-": "abcdef", "bytes=-2": "ef", "bytes=0-0,2-3": videoText, "bytes=12-99": "cdef"} {
		c, _, err := k.Open(t.Context(), j.User, j.ID, 0, header)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c.Body)
		if err != nil || string(got) != want || c.Length != int64(len(want)) || c.Size != 16 || c.Partial != (want != videoText) || c.MediaType != "video/mp4" {
			t.Errorf("%q: %q, %+v, %v", header, got, c, err)
		}
		_ = c.Body.Close()
	}
	for _, header := range []string{"bytes=16-", "bytes=-0"} {
		if c, _, err := k.Open(t.Context(), j.User, j.ID, 0, header); err != nil || !c.Unfit || c.Size != 16 || c.Body != nil {
			t.Errorf("%s: %+v, %v", header, c, err)
		}
	}
	if _, _, err := k.Open(t.Context(), j.User, j.ID, 1, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("a second video: %v", err)
	}
}

func limitedKey(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	c.Limit = &apikey.Limit{Amount: 20 * ruble}
	j := k.submit(c)
	_, err := k.Submit(s.ctx, s.newVideo(c, "v/film"))
	if !fault.Is(err, fault.PaymentRequired) || fault.From(err).Details["reason"] != "key_limit" {
		t.Fatalf("a second job of a key whose limit is held: %v", err)
	}
	s.balanced()
	k.finished(j, video.Completed)
	if spent, err := s.store.Ledger.KeySpend(s.ctx, "key_1"); err != nil || spent.Total != 8*ruble {
		t.Errorf("%+v, %v", spent, err)
	}
	h, err := k.book.Hold(s.ctx, ledger.HoldRequest{Wallet: c.Wallet, Key: "key_1", Limits: []ledger.Limit{{ID: "key_1", Amount: 20 * ruble}}, Amount: 12 * ruble})
	if err != nil {
		t.Fatalf("what the job did not use is still held: %v", err)
	}
	h.Release()
}

func freeJob(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(0)
	j, err := k.Submit(s.ctx, s.newVideo(c, "v/free", func(r *video.Request) { r.Preferences.Order = nil }))
	if err != nil {
		t.Fatal(err)
	}
	if j = k.finished(j, video.Completed); j.Cost != 0 || j.Ended != video.Settled {
		t.Errorf("%s, %s", j.Cost, j.Ended)
	}
}

func failedJob(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	s.provider.ending = video.Progress{State: video.Failed, Failure: fault.New(fault.ContentPolicy, "x", "The prompt was refused.")}
	j := k.finished(k.submit(c), video.Failed)
	if j.Error != "The prompt was refused." || j.Reason != "content_policy_violation" || j.Ended != video.Voided {
		t.Errorf("%+v", j)
	}
	s.wantBalance(k.book, c.Wallet, 100*ruble, 0, 0)
	if _, _, err := k.Open(s.ctx, c.User, j.ID, 0, ""); !fault.Is(err, fault.VideoNotAvailable) {
		t.Errorf("%v", err)
	}
	s.provider.ending = video.Progress{State: video.Completed} // and no video
	k.finished(k.submit(c), video.Failed)
	s.provider.noPoll = fault.New(fault.NotFound, "x", "no such job")
	k.finished(k.submit(c), video.Failed)
	s.provider.noPoll = nil
	s.provider.refuse = func(string) error { e := refusal(400, fault.ContentPolicy); e.Next = fault.NextModel; return e }
	before, _ := s.provider.asksAndJobs()
	k.finished(k.submit(c), video.Failed)
	if after, _ := s.provider.asksAndJobs(); after != before+1 {
		t.Errorf("%d providers were asked for what none would make", after-before)
	}
	if reported := s.reported(c.User); len(reported) != 4 {
		t.Errorf("%q", reported)
	}
}

func nextProvider(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	s.provider.refuse = func(endpoint string) error {
		if strings.HasPrefix(endpoint, "one/") {
			return refusal(403, fault.ProviderUnavailable)
		}
		return nil
	}
	j := k.finished(k.submit(c), video.Completed)
	if j.Cost != 16*ruble {
		t.Errorf("it cost %s", j.Cost)
	}
	call, _, err := s.store.Ledger.Call(s.ctx, c.Wallet, j.Generation)
	if err != nil || len(call.Attempts) != 2 || call.Attempts[0].Status != 403 || call.Provider != "two" {
		t.Errorf("%+v, %v", call, err)
	}
}

func busyProviders(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	rounds := 0
	s.provider.refuse = func(endpoint string) error {
		if strings.HasPrefix(endpoint, "one/") {
			if rounds++; rounds <= 2 {
				e := refusal(429, fault.RateLimited)
				e.RetryAfter = time.Minute
				return e
			}
			return nil
		}
		return refusal(403, fault.PermissionDenied)
	}
	j := k.submit(c)
	k.step(0)
	if n := k.step(30 * time.Second); n != 0 || k.job(j).State != video.Pending {
		t.Fatalf("%d steps, %s", n, k.job(j).State)
	}
	if j = k.finished(j, video.Completed); j.Cost != 8*ruble {
		t.Errorf("it cost %s", j.Cost)
	}
	if asks, jobs := s.provider.asksAndJobs(); asks != 4 || jobs != 1 { // the one that refused for good is asked once
		t.Errorf("%d submissions, %d jobs", asks, jobs)
	}
	rounds = -1000
	s.provider.refuse = func(string) error { return refusal(429, fault.RateLimited) }
	if j = k.finished(k.submit(c), video.Failed); j.Reason != fault.RateLimited.String() {
		t.Errorf("%s", j.Reason)
	}
}

func unseenAnswer(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	for i, x := range []struct {
		memory memory
		err    error
		made   bool // the provider made the job before its answer was lost
		want   video.State
	}{
		{forgetful, refusal(504, fault.Timeout), true, video.Failed},
		{forgetful, fault.New(fault.Timeout, "x", "no answer"), true, video.Failed},
		{forgetful, refusal(500, fault.ProviderUnavailable), false, video.Failed},
		{forgetful, refusal(503, fault.ProviderOverloaded), false, video.Failed},
		{forgetful, refusal(529, fault.ProviderOverloaded), true, video.Failed},
		{tokens, refusal(502, fault.ProviderUnavailable), true, video.Completed},
		{lists, refusal(502, fault.ProviderUnavailable), true, video.Completed},
		{lists, refusal(501, fault.ProviderUnavailable), false, video.Failed}, // it may come to have it yet
	} {
		s.provider = newProvider()
		s.provider.memory, s.provider.series = x.memory, fmt.Sprint(i, "-")
		k = s.crew(k.book)
		first := true
		fail := func() error {
			if first {
				first = false
				return x.err
			}
			return nil
		}
		if x.made {
			s.provider.lose = fail
		} else {
			s.provider.refuse = func(string) error { return fail() }
		}
		j := k.finished(k.submit(c), x.want)
		if asks, jobs := s.provider.asksAndJobs(); asks != 1 || jobs != map[bool]int{true: 1}[x.made] {
			t.Errorf("%+v: %d submissions, %d jobs", x, asks, jobs)
		}
		if x.want == video.Failed && j.Reason != fault.ProviderUnavailable.String() {
			t.Errorf("%+v: %s", x, j.Reason)
		}
	}
	// a provider's list that has what belongs to another job does not show the fate of this one
	s.provider = newProvider()
	s.provider.memory, s.provider.series = lists, "twin-"
	k = s.crew(k.book)
	first := k.submit(c)
	k.step(0)
	k.step(0)
	other := s.user(100 * ruble)
	s.provider.refuse = func(string) error {
		for _, id := range s.provider.byToken {
			s.provider.twin = id
		}
		return refusal(502, fault.ProviderUnavailable)
	}
	if j := k.finished(k.submit(other), video.Failed); j.UpstreamID != "" || j.Cost != 0 {
		t.Errorf("a job has adopted another's video: %s, %s", j.UpstreamID, j.Cost)
	}
	s.provider.refuse = nil
	k.finished(first, video.Completed)
}

func lateJob(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	s.provider.polls = 1 << 30
	j := k.submit(c)
	k.step(0)
	j = k.finished(j, video.Expired)
	if took := j.CompletedAt.Sub(j.CreatedAt); took < time.Hour || took > time.Hour+time.Minute {
		t.Errorf("it expired after %s", took)
	}
	if !s.provider.jobs["up-1"].cancelled {
		t.Error("the provider still works on it")
	}
	if reported := s.reported(c.User); !slices.Equal(reported, []string{j.ID + "-expired"}) {
		t.Errorf("%q", reported)
	}
	s.wantBalance(k.book, c.Wallet, 100*ruble, 0, 0)
	// A job that ended without a poll is not thrown away.
	s.provider.polls = 0
	j = k.submit(c)
	k.step(0)
	k.step(5 * time.Hour)
	k.finished(j, video.Completed)
}

func cancelJob(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	pending := k.submit(c)
	j, err := k.Delete(s.ctx, c.User, pending.ID)
	if err != nil || j.State != video.Cancelled || j.Ended != video.Voided {
		t.Fatalf("%+v, %v", j, err)
	}
	k.step(0)
	if asks, _ := s.provider.asksAndJobs(); asks != 0 {
		t.Error("a provider was asked for a job that was cancelled before")
	}
	s.ended(k.job(pending))

	running := k.submit(c)
	k.step(0)
	s.provider.noCancel = true
	if _, err = k.Delete(s.ctx, c.User, running.ID); !fault.Is(err, fault.ProviderUnavailable) || k.job(running).State != video.InProgress {
		t.Fatalf("%v", err)
	}
	s.provider.noCancel = false
	if j, err = k.Delete(s.ctx, c.User, running.ID); err != nil || j.State != video.Cancelled || !s.provider.jobs["up-1"].cancelled {
		t.Fatalf("%+v, %v", j, err)
	}
	s.ended(k.job(running))
	if again, err := k.Delete(s.ctx, c.User, running.ID); err != nil || again.State != video.Cancelled {
		t.Errorf("%+v, %v", again, err)
	}
	s.wantBalance(k.book, c.Wallet, 100*ruble, 0, 0)

	// While a provider is asked, what could be cancelled is unknown.
	third := k.submit(c)
	s.provider.asked = func() {
		if _, err := k.Delete(s.ctx, c.User, third.ID); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%v", err)
		}
	}
	k.finished(third, video.Completed)
}

func forgetJob(t *testing.T, s *studio) {
	f := newFiles()
	k, c := s.crew(s.node(), withFiles(f)), s.user(100*ruble)
	j := k.finished(k.submit(c), video.Completed)
	if len(f.keys()) != 1 {
		t.Fatalf("%q", f.keys())
	}
	gone, err := k.Delete(s.ctx, c.User, j.ID)
	if err != nil || gone.State != video.Expired {
		t.Fatalf("%+v, %v", gone, err)
	}
	if _, _, err := k.Open(s.ctx, c.User, j.ID, 0, ""); !fault.Is(err, fault.VideoExpired) {
		t.Errorf("%v", err)
	}
	k.step(0)
	if len(f.keys()) != 0 {
		t.Errorf("%q are left", f.keys())
	}
	s.ended(k.job(j))
}

func moneyBeforeLimit(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(33*ruble)
	k.submit(c)
	k.submit(c)
	if _, err := k.Submit(s.ctx, s.newVideo(c, "v/film")); !fault.Is(err, fault.PaymentRequired) {
		t.Errorf("the third job, and no money: %v", err)
	}
	s.topUp(c.Wallet, 100*ruble)
	_, err := k.Submit(s.ctx, s.newVideo(c, "v/film"))
	e := fault.From(err)
	active, _ := e.Details["active_jobs"].([]string)
	if e.Kind != fault.RateLimited || e.Details["limit"] != 2 || len(active) != 2 || e.Details["reason"] != "video_limit" || e.RetryAfter != 30*time.Second {
		t.Errorf("the third job: %v, %v", err, e.Details)
	}
	s.tick(k.book)
	s.wantBalance(k.book, c.Wallet, 133*ruble, 0, 32*ruble)
	s.balanced()
	if holds, sum := k.book.Open(); holds != 0 || sum != 0 {
		t.Errorf("%d holds of %s are left on the node", holds, sum)
	}
}

// A hundred at once, over five keys and two nodes.
func twoJobs(t *testing.T, s *studio) {
	c := s.user(10_000 * ruble)
	for round := range 2 {
		crews := []*crew{s.crew(s.node()), s.crew(s.node())}
		var mu sync.Mutex
		var accepted []*video.Job
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				caller := *c
				caller.Key = fmt.Sprint("key_", i%5)
				j, err := crews[i%2].Submit(s.ctx, s.newVideo(&caller, "v/film"))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					accepted = append(accepted, j)
				} else if !fault.Is(err, fault.RateLimited) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(accepted) != 2 {
			t.Fatalf("round %d: %d jobs were accepted", round, len(accepted))
		}
		for _, k := range crews {
			if err := k.book.Close(s.ctx); err != nil { // what the node merely borrowed goes back
				t.Fatal(err)
			}
		}
		s.balanced()
		if bal := must(s.store.Ledger.Balance(s.ctx, c.Wallet)); bal.Held != 32*ruble {
			t.Errorf("round %d: %s are held", round, bal.Held)
		}
		crews = []*crew{s.crew(s.node()), s.crew(s.node())}
		for _, k := range crews { // both look for work
			wg.Go(func() {
				if _, err := k.Step(s.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, j := range accepted {
			crews[0].finished(j, video.Completed)
		}
		if asks, jobs := s.provider.asksAndJobs(); asks != 2*(round+1) || jobs != 2*(round+1) {
			t.Errorf("round %d: %d submissions, %d jobs", round, asks, jobs)
		}
	}
	s.wantBalance(s.store.Ledger, c.Wallet, 10_000*ruble, 32*ruble, 0)
}

func exclusiveClaim(t *testing.T, s *studio) {
	one, two, c := s.crew(s.node()), s.crew(s.node()), s.user(1000*ruble)
	j := one.submit(c)
	var wg sync.WaitGroup
	var mu sync.Mutex
	claims := 0
	for i := range 16 {
		k := []*crew{one, two}[i%2]
		wg.Go(func() {
			got, err := s.store.Jobs.ClaimJobs(s.ctx, k.book.Node(), k.book.Epoch(), s.clock.Now(), 10)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			claims += len(got)
		})
	}
	wg.Wait()
	if claims != 1 {
		t.Fatalf("it was claimed %d times", claims)
	}
	if _, err := s.store.Jobs.ClaimJobs(s.ctx, one.book.Node(), one.book.Epoch()-1, s.clock.Now(), 10); err != nil {
		t.Errorf("nothing was due, and yet: %v", err)
	}
	two.submit(c)
	if _, err := s.store.Jobs.ClaimJobs(s.ctx, one.book.Node(), one.book.Epoch()-1, s.clock.Now(), 10); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("a claim of a former life: %v", err)
	}
	if got := two.job(j); got.Fence != 1 {
		t.Errorf("fence %d", got.Fence)
	}
}

// evicted lets others take a node for dead.
func (s *studio) evicted(by *ledger.Book) {
	s.t.Helper()
	s.tick(by)
	for range 14 {
		s.clock.Advance(5 * time.Second)
		s.tick(by)
	}
}

func sleepingWorker(t *testing.T, s *studio) {
	slept, awake, c := s.crew(s.node()), s.crew(s.node()), s.user(1000*ruble)
	j := slept.submit(c)
	// It falls asleep with the provider's answer in its hand, and wakes when another node has settled what became of the job.
	s.provider.asked = func() {
		s.provider.asked = nil
		s.evicted(awake.book)
		if n := awake.step(0); n != 1 {
			t.Errorf("%d jobs were taken over", n)
		}
	}
	if _, err := slept.Step(s.ctx); err != nil {
		t.Fatal(err)
	}
	got := awake.finished(j, video.Failed)
	if made := s.provider.jobs["up-1"]; made == nil || !made.cancelled || len(s.provider.jobs) != 1 {
		t.Errorf("a job without money goes on: %+v", made)
	}
	if got.UpstreamID != "" {
		t.Errorf("the worker that slept has written %q", got.UpstreamID)
	}
	s.wantBalance(s.store.Ledger, c.Wallet, 1000*ruble, 0, 0)
}

func seizedJob(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(1000*ruble)
	j := k.submit(c)
	claim := func() *video.Job {
		return must(s.store.Jobs.ClaimJobs(s.ctx, k.book.Node(), k.book.Epoch(), s.clock.Now(), 10))[0]
	}
	first := claim()
	if got := must(s.store.Jobs.SeizeJob(s.ctx, c.User, j.ID)); got.Fence != first.Fence+1 || got.State != video.Pending {
		t.Errorf("%+v", got)
	}
	first.Submitting = true
	if err := s.store.Jobs.KeepJob(s.ctx, first, true); !fault.Is(err, fault.Conflict) {
		t.Errorf("a worker that lost the job still writes: %v", err)
	}
	first.State, first.Ended = video.Failed, video.Voided
	if err := s.store.Jobs.EndJob(s.ctx, first, video.End{Item: ledger.Encode(ledger.Item{Call: first.Call}), Now: s.clock.Now()}); !fault.Is(err, fault.Conflict) {
		t.Errorf("a worker that lost the job ends it: %v", err)
	}
	s.balanced()
	claimed := claim()
	claimed.Submitting = true
	if err := s.store.Jobs.KeepJob(s.ctx, claimed, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Jobs.SeizeJob(s.ctx, c.User, j.ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("a job that a provider is asked for was seized: %v", err)
	}
	claimed.Submitting = false
	if err := s.store.Jobs.KeepJob(s.ctx, claimed, false); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Delete(s.ctx, c.User, j.ID); err != nil {
		t.Fatal(err)
	}
	claimed.Submitting = true
	if err := s.store.Jobs.KeepJob(s.ctx, claimed, false); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a provider would be asked for a cancelled job: %v", err)
	}
	if _, err := s.store.Jobs.SeizeJob(s.ctx, c.User, j.ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("a job that has ended was seized: %v", err)
	}
	s.ended(k.job(j))
}

func illegalStates(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(10_000*ruble)
	for _, from := range video.States() {
		s.provider = newProvider()
		k = s.crew(k.book)
		j := s.in(k, c, from)
		for _, next := range video.States() {
			if from == next || from.To(next) {
				continue
			}
			changed := *j
			changed.State = next
			if err := s.store.Jobs.KeepJob(s.ctx, &changed, true); err == nil {
				t.Errorf("a job went from %s to %s", from, next)
			}
			if now := k.job(j); now.State != from {
				t.Errorf("it is %s", now.State)
			}
		}
		if j.Active() {
			if _, err := k.Delete(s.ctx, c.User, j.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.balanced()
}

// in is a job in that state.
func (s *studio) in(k *crew, c *apikey.Caller, want video.State) *video.Job {
	s.t.Helper()
	j := k.submit(c)
	if want == video.Pending {
		return k.job(j)
	}
	switch want {
	case video.InProgress:
		k.step(0)
	case video.Failed:
		s.provider.ending = video.Progress{State: video.Failed}
		k.finished(j, want)
	case video.Cancelled:
		if _, err := k.Delete(s.ctx, c.User, j.ID); err != nil {
			s.t.Fatal(err)
		}
	case video.Completed, video.Expired:
		k.finished(j, video.Completed)
		if want == video.Expired {
			if _, err := k.Delete(s.ctx, c.User, j.ID); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return k.job(j)
}

func endedOnce(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(1000*ruble)
	j := k.submit(c)
	k.step(0)
	var wg sync.WaitGroup
	for i := range 8 { // a worker that polls, and clients that cancel
		wg.Go(func() {
			if i%2 == 0 {
				_, _ = k.Step(s.ctx)
			} else if _, err := k.Delete(s.ctx, c.User, j.ID); err != nil && !fault.Is(err, fault.StorageUnavailable) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	k.finished(j, video.Cancelled)
	if reported := s.reported(c.User); len(reported) != 1 {
		t.Errorf("%q", reported)
	}
}

func keptContent(t *testing.T, s *studio) {
	f := newFiles()
	k, c := s.crew(s.node(), withFiles(f)), s.user(1000*ruble)
	s.provider.ending.Outputs = append(s.provider.ending.Outputs, video.Output{Handle: "2"})
	j := k.finished(k.submit(c), video.Completed)
	if len(f.keys()) != 2 || len(j.Outputs) != 2 || j.Outputs[1].Kept != f.keys()[1] || j.Outputs[0].Bytes != 16 || j.Outputs[1].MediaType != "video/mp4" {
		t.Fatalf("%q, %+v", f.keys(), j.Outputs)
	}
	if j.Cost != 8*ruble {
		t.Errorf("two videos where one was asked for cost %s", j.Cost)
	}
	for header, want := range map[string]string{"": videoText, "bytes=4-7": "4567", "bytes=-2": "ef"} {
		got, _, err := k.Open(s.ctx, c.User, j.ID, 0, header)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(got.Body); err != nil || string(b) != want || got.ETag != "etag" || got.Partial != (header != "") {
			t.Errorf("%s: %q, %+v, %v", header, b, got, err)
		}
	}
	if got, _, err := k.Open(s.ctx, c.User, j.ID, 0, "bytes=99-"); err != nil || !got.Unfit {
		t.Errorf("%+v, %v", got, err)
	}
	k.step(24 * time.Hour)
	if len(f.keys()) != 0 {
		t.Errorf("%q are left", f.keys())
	}
}
