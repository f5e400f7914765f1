package upstreamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/rawjson"
	"weir/internal/upstream"
	"weir/internal/video"
)

// Studio is a simulated provider of videos: an http.Handler, and what it has counted.
type Studio interface {
	http.Handler
	// Counts are the submissions that began a job, and the cancellations of jobs that had not ended.
	Counts() (submits, cancels int64)
}

// Video describes a wire for videos to RunVideos.
type Video struct {
	Dialect  dialect.Dialect
	Provider catalog.Provider // BaseURL is below the simulator's origin
	Model    string           // the simulator's name of a model; settings are put after it
	Facts    *catalog.VideoFacts
	Request  video.Request // as the planner leaves it
	Studio   func(now func() time.Time) Studio

	Finds      bool // a submission whose answer was lost is found again
	Cancels    bool
	Inline     bool // videos come inside answers: no parts, no redirects, no expiry
	Kept       bool // videos lie in a bucket of the operator's own: they do not expire, and do not move
	HollowDone bool // a finished job is not distinguished from one without a video
}

// videoRun is a provider and the client that asks it.
type videoRun struct {
	*upstream.Videos
	w      *Video
	studio Studio
	origin string
	late   atomic.Int64 // by how much the clock is ahead
	began  time.Time
}

func (w *Video) video(t testing.TB) *videoRun {
	t.Helper()
	x := &videoRun{w: w, began: time.Now()}
	now := func() time.Time { return x.began.Add(time.Duration(x.late.Load())) }
	x.studio = w.Studio(now)
	srv := httptest.NewServer(x.studio)
	t.Cleanup(srv.Close)
	x.origin = srv.URL
	c := New(upstream.Config{Dialects: map[string]dialect.Dialect{w.Provider.Dialect: w.Dialect}, Now: now})
	t.Cleanup(c.Close)
	x.Videos = upstream.NewVideos(c, Files{})
	return x
}

// endpoint is the model with settings for the simulator.
func (x *videoRun) endpoint(settings string) *catalog.Endpoint {
	p := x.w.Provider
	p.BaseURL = x.origin + p.BaseURL
	model := x.w.Model
	if settings != "" {
		model += "@" + settings
	}
	return &catalog.Endpoint{ID: p.ID + "/x/video", Provider: &p, UpstreamID: model, Model: &catalog.Model{Slug: "x/video", Type: catalog.TypeVideo, Video: x.w.Facts}}
}

func (x *videoRun) submission() *video.Submission {
	r := x.w.Request
	return &video.Submission{Job: "vj_000000000000000000000001", Token: "vj_000000000000000000000001-0-0", Request: &r, At: x.began}
}

// job submits, and fails the test unless that goes well.
func (x *videoRun) job(t testing.TB, ep *catalog.Endpoint) *video.Job {
	t.Helper()
	a, err := x.Submit(t.Context(), ep, x.submission())
	if err != nil || a.ID == "" {
		t.Fatalf("submit: %q, %v", a.ID, err)
	}
	return &video.Job{ID: "vj_000000000000000000000001", UpstreamID: a.ID}
}

// ended polls until the job is no more active.
func (x *videoRun) ended(t testing.TB, ep *catalog.Endpoint, j *video.Job) video.Progress {
	t.Helper()
	for range 20 {
		p, err := x.Poll(t.Context(), ep, j)
		if err != nil {
			t.Fatalf("poll: %v", err)
		}
		if !p.State.Active() {
			return p
		}
	}
	t.Fatal("the job does not end")
	return video.Progress{}
}

// done is a job that has completed.
func (x *videoRun) done(t testing.TB, ep *catalog.Endpoint) *video.Job {
	t.Helper()
	j := x.job(t, ep)
	p := x.ended(t, ep, j)
	if p.State != video.Completed || len(p.Outputs) == 0 {
		t.Fatalf("the job ended as %+v, failure %v", p, p.Failure)
	}
	j.Outputs = p.Outputs
	return j
}

// RunVideos checks a dialect that makes videos against the simulator.
func RunVideos(t *testing.T, w Video) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *videoRun)
	}{
		{"a job from submission to file", videosHappy}, {"parts of a file", videosRange}, {"ends without a video", videosEnds}, {"a job that goes on", videosGoOn},
		{"an unknown job", videosLost}, {"submissions that fail", videosSubmit}, {"looks that fail", videosPoll}, {"files that fail", videosContent},
		{"an answer to a submission that is lost", videosRecover}, {"a submission that never arrived", videosAbsent}, {"cancellation", videosCancel}, {"several credentials", videosKeys},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, w.video(t))
		})
	}
}

// read is a file, which must be there.
func (x *videoRun) read(t testing.TB, ep *catalog.Endpoint, j *video.Job, r *video.Range) (*video.Content, []byte) {
	t.Helper()
	c, err := x.Open(t.Context(), ep, j, &j.Outputs[0], r)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = c.Body.Close() }()
	data, err := io.ReadAll(c.Body)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return c, data
}

func videosHappy(t *testing.T, x *videoRun) {
	ep := x.endpoint("polls=3")
	j := x.job(t, ep)
	states := map[video.State]bool{}
	var p video.Progress
	for range 3 {
		var err error
		if p, err = x.Poll(t.Context(), ep, j); err != nil {
			t.Fatal(err)
		}
		if states[p.State] = true; p.Percent < 0 || p.Percent > 100 {
			t.Errorf("%d percent", p.Percent)
		}
	}
	if p.State != video.Completed || len(p.Outputs) == 0 || states[video.Failed] {
		t.Fatalf("it ended as %+v", p)
	}
	j.Outputs = p.Outputs
	c, data := x.read(t, ep, j, nil)
	if len(data) < 64 || string(data[4:8]) != "ftyp" || c.MediaType != "video/mp4" || c.Size != int64(len(data)) {
		t.Errorf("the file is %d bytes of %d, %q, and begins with %q", len(data), c.Size, c.MediaType, data[:min(8, len(data))])
	}
	if submits, cancels := x.studio.Counts(); submits != 1 || cancels != 0 {
		t.Errorf("%d submissions, %d cancellations", submits, cancels)
	}
}

func videosRange(t *testing.T, x *videoRun) {
	ep := x.endpoint("")
	j := x.done(t, ep)
	whole, all := x.read(t, ep, j, nil)
	c, part := x.read(t, ep, j, &video.Range{First: 4, Last: 7})
	switch {
	case x.w.Inline && (c.Partial || !bytes.Equal(part, all)):
		t.Errorf("%d bytes, partial %t", len(part), c.Partial)
	case !x.w.Inline && (!c.Partial || string(part) != "ftyp" || c.From != 4 || c.Size != whole.Size):
		t.Errorf("%q from %d of %d, partial %t", part, c.From, c.Size, c.Partial)
	}
	if x.w.Inline {
		return
	}
	if c, err := x.Open(t.Context(), ep, j, &j.Outputs[0], &video.Range{First: 1 << 40, Last: -1}); err != nil || !c.Unfit {
		t.Errorf("behind the end: %+v, %v", c, err)
	}
}

func videosEnds(t *testing.T, x *videoRun) {
	for _, c := range []struct {
		settings string
		kind     fault.Kind
	}{{"job=fail", fault.ProviderUnavailable}, {"job=policy", fault.ContentPolicy}, {"job=cancelled", fault.ProviderUnavailable}, {"job=expired", fault.ProviderUnavailable}} {
		ep := x.endpoint(c.settings)
		p := x.ended(t, ep, x.job(t, ep))
		if p.State == video.Completed || p.Failure == nil || p.Failure.Kind != c.kind || p.Failure.Public == "" || strings.Contains(p.Failure.Public, "127.0.0.1") {
			t.Errorf("%s: %s, %v", c.settings, p.State, p.Failure)
		}
	}
	ep := x.endpoint("job=empty")
	if p := x.ended(t, ep, x.job(t, ep)); len(p.Outputs) > 0 && !x.w.HollowDone {
		t.Errorf("without a video: %+v", p)
	}
}

func videosGoOn(t *testing.T, x *videoRun) {
	for _, end := range []string{"never", "stuck"} {
		ep := x.endpoint("job=" + end)
		j := x.job(t, ep)
		for range 6 {
			if p, err := x.Poll(t.Context(), ep, j); err != nil || !p.State.Active() {
				t.Fatalf("%s: %+v, %v", end, p, err)
			}
		}
	}
}

func videosLost(t *testing.T, x *videoRun) {
	ep := x.endpoint("job=lost")
	j := x.job(t, ep)
	if _, err := x.Poll(t.Context(), ep, j); !fault.Is(err, fault.NotFound) {
		t.Errorf("poll: %v", err)
	}
}

func videosSubmit(t *testing.T, x *videoRun) {
	for _, c := range []struct {
		settings string
		kind     fault.Kind
		refused  bool // surely no job
	}{
		{"job=refuse", fault.ContentPolicy, true}, {"fault=u9", fault.RateLimited, true}, {"fault=u12", fault.Invalid, true}, {"fault=u13", fault.ProviderUnavailable, true},
		{"fault=u15", fault.ProviderUnavailable, false}, {"fault=u15,status=501", fault.ProviderUnavailable, false}, {"fault=u15,status=502", fault.ProviderUnavailable, false},
		{"fault=u15,status=504", fault.ProviderUnavailable, false}, {"fault=u15,status=529", fault.ProviderOverloaded, false}, {"fault=u16", fault.ProviderOverloaded, false},
		{"fault=u2", fault.ProviderUnavailable, false}, {"fault=u17", fault.ProviderUnavailable, false}, {"fault=u18", fault.ProviderUnavailable, false},
		{"fault=u18-html", fault.ProviderUnavailable, false}, {"fault=u18-object", fault.ProviderUnavailable, false}, {"fault=u18-array", fault.ProviderUnavailable, false}, {"fault=u18-null", fault.ProviderUnavailable, false},
		{"fault=u7", fault.ProviderUnavailable, false}, {"fault=u6", fault.ProviderUnavailable, false}, {"fault=u20-html", fault.ProviderUnavailable, false}, {"fault=u21-truncated", fault.ProviderUnavailable, false}, {"fault=u24", fault.ProviderUnavailable, false},
	} {
		a, err := x.Submit(t.Context(), x.endpoint(c.settings), x.submission())
		f := fault.From(err)
		if f == nil || f.Kind != c.kind || f.Public == "" || video.Refused(f) != c.refused {
			t.Errorf("%s: %q, %v, refused %t", c.settings, a.ID, err, f != nil && video.Refused(f))
		}
	}
	ep := x.endpoint("")
	ep.Provider.BaseURL = strings.Replace(ep.Provider.BaseURL, x.origin, refusing(t), 1)
	if _, err := x.Submit(t.Context(), ep, x.submission()); err == nil || !video.Refused(fault.From(err)) {
		t.Errorf("a closed port: %v", err)
	}
}

// refusing is an origin that refuses connections.
func refusing(t testing.TB) string {
	t.Helper()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	return srv.URL
}

func videosPoll(t *testing.T, x *videoRun) {
	for _, name := range []string{"u2", "u9", "u13", "u15", "u16", "u17", "u18", "u18-html", "u18-array", "u18-truncated", "u21-truncated", "u24"} {
		ep := x.endpoint("on=poll,fault=" + name + ",times=1,id=" + name)
		j := x.job(t, ep)
		p, err := x.Poll(t.Context(), ep, j)
		if err == nil || fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if p := x.ended(t, ep, j); p.State != video.Completed {
			t.Errorf("%s: then %+v", name, p)
		}
	}
}

func videosContent(t *testing.T, x *videoRun) {
	if x.w.Inline {
		return
	}
	for settings, fine := range map[string]bool{
		"hops=2": true, "bare=1": true, "on=content,fault=u14": false, "on=content,fault=u15": false, "on=content,fault=u7": false, "on=content,fault=u6": false, "on=content,fault=u2": false, "life=0s": false,
	} {
		if x.w.Kept && (settings == "life=0s" || settings == "hops=2") {
			continue
		}
		ep := x.endpoint(settings)
		j := x.done(t, ep)
		err := x.whole(t.Context(), ep, j)
		if (err == nil) != fine {
			t.Errorf("%s: %v", settings, err)
		}
	}
	if x.w.Kept {
		return
	}
	ep := x.endpoint("life=1m")
	j := x.done(t, ep)
	j.CompletedAt = x.began
	x.late.Store(int64(2 * time.Hour)) // the provider is asked for another address first
	if err := x.whole(t.Context(), ep, j); err == nil {
		t.Error("a file that has expired is read")
	}
}

// whole reads a file to its end.
func (x *videoRun) whole(ctx context.Context, ep *catalog.Endpoint, j *video.Job) error {
	c, err := x.Open(ctx, ep, j, &j.Outputs[0], nil)
	if err != nil {
		return err
	}
	defer func() { _ = c.Body.Close() }()
	n, err := io.Copy(io.Discard, c.Body)
	if err == nil && c.Length >= 0 && n != c.Length {
		err = fmt.Errorf("%d bytes of %d", n, c.Length)
	}
	return err
}

// A crash after the submission: its answer is lost, and the job is at the provider.
func videosRecover(t *testing.T, x *videoRun) {
	ep := x.endpoint("")
	if _, err := x.Submit(t.Context(), ep, x.submission()); err != nil {
		t.Fatal(err)
	}
	got, err := x.Recover(t.Context(), ep, x.submission())
	if err != nil {
		t.Fatal(err)
	}
	if !x.w.Finds {
		if got.Fate != video.Unknown {
			t.Errorf("fate %d of what nobody can find", got.Fate)
		}
		return
	}
	if len(got.Alike) == 1 && got.Fate != video.Adopted {
		got.ID = got.Alike[0]
	}
	if got.ID == "" || len(got.Alike) > 1 {
		t.Fatalf("%+v", got)
	}
	if p := x.ended(t, ep, &video.Job{UpstreamID: got.ID}); p.State != video.Completed {
		t.Errorf("the job that was found ended as %+v", p)
	}
	if submits, _ := x.studio.Counts(); submits != 1 {
		t.Errorf("%d submissions", submits)
	}
}

// A crash before the submission.
func videosAbsent(t *testing.T, x *videoRun) {
	got, err := x.Recover(t.Context(), x.endpoint(""), x.submission())
	if want := map[bool]video.Fate{true: video.Absent, false: video.Unknown}[x.w.Finds]; err != nil || got.Fate != want || got.ID != "" || len(got.Alike) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if submits, _ := x.studio.Counts(); submits != 0 {
		t.Errorf("%d submissions", submits)
	}
}

func videosCancel(t *testing.T, x *videoRun) {
	ep := x.endpoint("job=never")
	j := x.job(t, ep)
	err := x.Cancel(t.Context(), ep, j)
	_, cancels := x.studio.Counts()
	p, polled := x.Poll(t.Context(), ep, j)
	if !x.w.Cancels {
		if !fault.Is(err, fault.ProviderUnavailable) || cancels != 0 || polled != nil || !p.State.Active() {
			t.Errorf("where there is no way: %v, %d cancellations, then %+v, %v", err, cancels, p, polled)
		}
		return
	}
	if err != nil || cancels != 1 || polled == nil && p.State.Active() {
		t.Errorf("%v, %d cancellations, then %+v, %v", err, cancels, p, polled)
	}
	if err := x.Cancel(t.Context(), ep, &video.Job{UpstreamID: "00000000-0000-4000-8000-000000000000"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown job: %v", err)
	}
}

// The job belongs to the credential that it was made with.
func videosKeys(t *testing.T, x *videoRun) {
	ep := x.endpoint("")
	if ep.Provider.Key == "" || strings.Contains(ep.Provider.Key, ":") {
		return // the simulator has one pair of keys
	}
	ep.Provider.Keys = []string{"sk-second-upstream-key"}
	j := x.done(t, ep)
	if _, data := x.read(t, ep, j, nil); len(data) == 0 {
		t.Error("no file")
	}
	if strings.Contains(j.UpstreamID, ep.Provider.Key) {
		t.Error("the name of the job holds a credential")
	}
}

// Files is an upstream.Opener over loopback. It sends credentials to their home alone, and follows three redirects.
type Files struct{}

// OpenFile implements upstream.Opener.
func (Files) OpenFile(ctx context.Context, _, address string, home outbound.Home, credentials http.Header, r *video.Range) (*video.Content, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("too many redirects")
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if origin := strings.Join(strings.SplitN(home.URL, "/", 4)[:min(3, strings.Count(home.URL, "/")+1)], "/"); strings.HasPrefix(address, origin+"/") {
		for name, values := range credentials {
			req.Header[name] = slices.Clone(values)
		}
	}
	if r != nil {
		req.Header.Set("Range", r.String())
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return content(resp)
}

func content(resp *http.Response) (*video.Content, error) {
	c := &video.Content{Body: resp.Body, Length: resp.ContentLength, Size: resp.ContentLength, MediaType: resp.Header.Get("Content-Type")}
	_, size, ranged := strings.Cut(resp.Header.Get("Content-Range"), "/")
	switch {
	case resp.StatusCode == http.StatusOK:
		return c, nil
	case resp.StatusCode == http.StatusPartialContent && ranged:
		c.Partial = true
		_, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &c.From)
		if n, parsed := strconv.ParseInt(size, 10, 64); parsed == nil {
			c.Size = n
		}
		return c, err
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		_ = resp.Body.Close()
		return &video.Content{Unfit: true}, nil
	}
	_ = resp.Body.Close()
	return nil, fmt.Errorf("status %d", resp.StatusCode)
}

// Submitted is what a dialect sends when it is asked for the videos of r: the path and the body of its one request, which is answered with an
// error. It fails the test when the dialect does not send one.
func Submitted(t testing.TB, d dialect.Dialect, ep *catalog.Endpoint, r *video.Request) (Seen, error) {
	t.Helper()
	p := NewProvider(t, Send(Sized(http.StatusBadRequest, "application/json", `{}`)))
	c := New(upstream.Config{Dialects: map[string]dialect.Dialect{ep.Provider.Dialect: d}})
	t.Cleanup(c.Close)
	at, own := *ep, *ep.Provider
	own.BaseURL = p.URL + own.BaseURL
	at.Provider = &own
	_, err := upstream.NewVideos(c, Files{}).Submit(t.Context(), &at, &video.Submission{Job: "vj_1", Token: "vj_1-0-0", Request: r})
	seen := p.Seen()
	if len(seen) == 0 {
		return Seen{}, err
	}
	return seen[0], nil
}

// FuzzVideos feeds read with what a provider might say of a job: valid JSON objects, beginning with seeds.
func FuzzVideos(f *testing.F, read func(ep *catalog.Endpoint, body []byte) video.Progress, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	ep := &catalog.Endpoint{Provider: &catalog.Provider{ID: "p", Name: "P", BaseURL: "https://p.example/v1"}, UpstreamID: "m"}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !rawjson.Valid(body) || rawjson.KindOf(body) != rawjson.Object {
			return
		}
		p := read(ep, body)
		if p.Percent < 0 || p.Percent > 100 || p.Length < 0 || p.Wait < 0 || p.State == "" {
			t.Errorf("%+v", p)
		}
		if ended := !p.State.Active() && p.State != video.Completed; ended != (p.Failure != nil) || ended && p.Failure.Public == "" {
			t.Errorf("%s, failure %v", p.State, p.Failure)
		}
		for _, o := range p.Outputs {
			if o.URL == "" && o.Handle == "" || o.Bytes < 0 {
				t.Errorf("output %+v", o)
			}
		}
	})
}
