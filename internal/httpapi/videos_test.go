package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/money"
	"weir/internal/video"
)

// oneVideo is a store of one completed job with a video of ten bytes.
type oneVideo struct {
	mu     sync.Mutex
	asked  []*video.Submit
	ranges []string
	body   func() io.ReadCloser // nil: the ten bytes
	length int64                // announced of the body; 0: as it is
	err    error
}

const videoBytes = "0123456789"

func (f *oneVideo) job(id string) *video.Job {
	return &video.Job{ID: id, Generation: "gen-1", Model: "acme/film", State: video.Completed, CreatedAt: time.Unix(1000, 0), CompletedAt: time.Unix(2000, 0), ExpiresAt: time.Unix(3000, 0),
		Outputs: make([]video.Output, 1), Ended: video.Settled, Cost: 5 * money.Ruble}
}

func (f *oneVideo) Allowed() int { return 2 }

func (f *oneVideo) Submit(_ context.Context, s *video.Submit) (*video.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, s)
	return &video.Job{ID: "vj_new", Generation: s.Generation, Model: s.Request.Model, State: video.Pending, CreatedAt: time.Unix(1000, 0)}, f.err
}

func (f *oneVideo) NoJob() *fault.Error {
	return fault.New(fault.NotFound, "film", "There is no such video job.")
}

func (f *oneVideo) Get(_ context.Context, user, id string) (*video.Job, error) {
	if id != "vj_1" || !strings.HasPrefix(user, "usr_") {
		return nil, fault.New(fault.NotFound, "film", "There is no such video job.")
	}
	return f.job(id), nil
}

func (f *oneVideo) List(_ context.Context, q video.Query) ([]video.Job, bool, error) {
	jobs := []video.Job{*f.job("vj_1"), *f.job("vj_2")}
	return jobs[:min(q.Limit, 2)], q.Limit < 2, nil
}

func (f *oneVideo) Delete(ctx context.Context, user, id string) (*video.Job, error) {
	j, err := f.Get(ctx, user, id)
	if err == nil {
		j.State = video.Expired
	}
	return j, err
}

func (f *oneVideo) Open(ctx context.Context, user, id string, index int, header string) (*video.Content, *video.Job, error) {
	f.mu.Lock()
	f.ranges = append(f.ranges, header)
	f.mu.Unlock()
	j, err := f.Get(ctx, user, id)
	if err != nil || f.err != nil {
		return nil, nil, errors.Join(err, f.err)
	}
	if index > 0 {
		return nil, nil, fault.New(fault.NotFound, "film", "There is no such video.")
	}
	size := int64(len(videoBytes))
	c := &video.Content{Length: size, Size: size, MediaType: "video/mp4"}
	if r := video.ParseRange(header); r != nil {
		if c.From, c.Length, c.Partial = r.In(size); !c.Partial {
			c.Unfit = true
			return c, j, nil
		}
	}
	c.Body = io.NopCloser(strings.NewReader(videoBytes[c.From : c.From+c.Length]))
	if f.body != nil {
		c.Body = f.body()
	}
	if f.length != 0 {
		c.Length, c.Size = f.length, f.length
	}
	return c, j, nil
}

func startVideo(t *testing.T, f *oneVideo, edit func(*httpapi.Config)) *node {
	return startWith(t, relayFunc(hello), edit, func(d *httpapi.Deps) {
		d.Videos = f
		d.CheckCallback = func(param, address string) error {
			if strings.Contains(address, "10.0.0.1") {
				return fault.Field("check", param, "The address is not public.")
			}
			return nil
		}
	})
}

func TestVideoJobs(t *testing.T) {
	t.Parallel()
	f := &oneVideo{}
	n := startVideo(t, f, func(c *httpapi.Config) { c.PublicURL = "https://weir.test/base" })
	r := n.do("POST", "/v1/videos", `{"model":"acme/film","prompt":"a fox","callback_url":"https://hooks.test/x"}`)
	job := r.json(t)
	if r.StatusCode != 202 || job["id"] != "vj_new" || job["status"] != "pending" || job["polling_url"] != "https://weir.test/base/v1/videos/vj_new" || job["generation_id"] != r.Header.Get("X-Generation-Id") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if s := f.asked[0]; s.Request.Prompt != "a fox" || s.Request.CallbackURL != "https://hooks.test/x" || s.RequestID != r.Header.Get("X-Request-Id") || s.Caller.User == "" {
		t.Errorf("%+v", s)
	}
	wantError(t, n.do("POST", "/v1/videos", `{"model":"acme/film"}`), 400, fault.Invalid)
	wantError(t, n.do("POST", "/v1/videos", `{"model":"acme/film","prompt":"a","callback_url":"https://10.0.0.1/x"}`), 400, fault.Invalid)
	wantError(t, n.do("POST", "/v1/videos", `{"model":"acme/film","prompt":"a"}`, "Authorization", ""), 401, fault.Authentication)
	got := n.do("GET", "/v1/videos/vj_1", "").json(t)
	if got["status"] != "completed" || at(got, "usage", "cost") != 5.0 || at(got, "unsigned_urls", 0) != "https://weir.test/base/v1/videos/vj_1/content?index=0" {
		t.Errorf("%v", got)
	}
	wantError(t, n.do("GET", "/v1/videos/vj_2", ""), 404, fault.NotFound)
	wantError(t, n.do("GET", "/v1/videos/vj_1", "", "Authorization", "Bearer no"), 401, fault.Authentication)
	if page := n.do("GET", "/v1/videos?limit=1", "").json(t); len(page["data"].([]any)) != 1 || page["has_more"] != true {
		t.Errorf("%v", page)
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "status=done"} {
		wantError(t, n.do("GET", "/v1/videos?"+query, ""), 400, fault.Invalid)
	}
	if gone := n.do("DELETE", "/v1/videos/vj_1", "").json(t); gone["status"] != "expired" {
		t.Errorf("%v", gone)
	}
}

// polling addresses come from the configuration, then from a trusted proxy, then from the connection: never from what a client writes.
func TestVideoAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, public, proxies, host string
		headers                     []string
		want                        string
	}{
		{"the connection", "", "", "", []string{"X-Forwarded-Host", "evil.test"}, "http://{addr}"},
		{"the connection, and another host", "", "", "evil.test", nil, "http://{addr}"},
		{"the connection, and a host like localhost", "", "", "localhost.evil.test", nil, "http://{addr}"},
		{"the client's machine", "", "", "localhost:8080", nil, "http://localhost:8080"},
		{"a proxy", "", "127.0.0.0/8", "", []string{"X-Forwarded-Host", "api.acme.test", "X-Forwarded-Proto", "https"}, "https://api.acme.test"},
		{"a proxy that passes the host on", "", "127.0.0.0/8", "api.acme.test", nil, "http://api.acme.test"},
		{"a proxy that says nonsense", "", "127.0.0.0/8", "", []string{"X-Forwarded-Host", "a b/c", "X-Forwarded-Proto", "ftp"}, "http://{addr}"},
		{"configured", "https://weir.test", "127.0.0.0/8", "evil.test", []string{"X-Forwarded-Host", "api.acme.test"}, "https://weir.test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := startVideo(t, &oneVideo{}, func(cfg *httpapi.Config) {
				cfg.PublicURL = c.public
				if c.proxies != "" {
					cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(c.proxies)}
				}
			})
			want := strings.ReplaceAll(c.want, "{addr}", n.addr) + "/v1/videos/vj_1"
			headers := c.headers
			if c.host != "" {
				headers = append(slices.Clone(headers), "Host", c.host)
			}
			if got := n.do("GET", "/v1/videos/vj_1", "", headers...).json(t)["polling_url"]; got != want {
				t.Errorf("%v, want %s", got, want)
			}
		})
	}
}

func TestVideoContent(t *testing.T) {
	t.Parallel()
	f := &oneVideo{}
	n := startVideo(t, f, nil)
	const tag = `"vj_1-0"`
	for _, c := range []struct {
		name, method string
		headers      []string
		status       int
		body, ranged string
	}{
		{"whole", "GET", nil, 200, videoBytes, ""},
		{"head", "HEAD", nil, 200, "", ""},
		{"a part", "GET", []string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		{"the rest", "GET", []string{"Range", "bytes=7-"}, 206, "789", "bytes 7-9/10"},
		{"the end", "GET", []string{"Range", "bytes=-3"}, 206, "789", "bytes 7-9/10"},
		{"more than there is", "GET", []string{"Range", "bytes=8-99"}, 206, "89", "bytes 8-9/10"},
		{"several ranges", "GET", []string{"Range", "bytes=0-1,3-4"}, 200, videoBytes, ""},
		{"another unit", "GET", []string{"Range", "lines=0-1"}, 200, videoBytes, ""},
		{"the same file", "GET", []string{"Range", "bytes=2-4", "If-Range", tag}, 206, "234", "bytes 2-4/10"},
		{"another file", "GET", []string{"Range", "bytes=2-4", "If-Range", `"other"`}, 200, videoBytes, ""},
		{"known", "GET", []string{"If-None-Match", `"x", ` + tag}, 304, "", ""},
		{"known to be weak", "GET", []string{"If-None-Match", "W/" + tag}, 304, "", ""},
		{"unknown", "GET", []string{"If-None-Match", `"x"`}, 200, videoBytes, ""},
	} {
		r := n.do(c.method, "/v1/videos/vj_1/content", "", c.headers...)
		h := r.Header
		if r.StatusCode != c.status || string(r.body) != c.body || h.Get("Content-Range") != c.ranged || h.Get("Etag") != tag || h.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%s: %d %q %v", c.name, r.StatusCode, r.body, h)
		}
		if c.status != 304 && (h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != `attachment; filename="vj_1-0.mp4"` || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Video-Content-Type") != "video/mp4") {
			t.Errorf("%s: %v", c.name, h)
		}
		if c.method == "HEAD" && h.Get("Content-Length") != "10" {
			t.Errorf("%s: %v", c.name, h)
		}
	}
	r := n.do("GET", "/v1/videos/vj_1/content", "", "Range", "bytes=10-")
	wantError(t, r, 416, fault.RangeNotSatisfiable)
	if r.Header.Get("Content-Range") != "bytes */10" {
		t.Errorf("%v", r.Header)
	}
	for index, status := range map[string]int{"0": 200, "": 200, "1": 404, "-1": 400, "2147483647": 404, "2147483648": 400, "x": 400, "0&index=1": 400} {
		if r := n.do("GET", "/v1/videos/vj_1/content?index="+index, ""); r.StatusCode != status {
			t.Errorf("index %s: %d %s", index, r.StatusCode, r.body)
		}
	}
	if r := n.do("GET", "/v1/videos/vj_2/content", ""); r.StatusCode != 404 {
		t.Errorf("%d", r.StatusCode)
	}
}

// broken gives some bytes and then fails.
type broken struct {
	first string
	err   error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.first == "" {
		return 0, b.err
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}

func (b *broken) Close() error { return nil }

// A video that cannot be read is an error before its first byte, and a cut connection after it: never a short file that looks whole.
func TestVideoContentBreaks(t *testing.T) {
	t.Parallel()
	cut := fault.New(fault.ProviderUnavailable, "fetch", "The provider broke off.")
	for _, c := range []struct {
		name   string
		f      *oneVideo
		status int // 0: the connection is cut
	}{
		{"refused", &oneVideo{err: fault.New(fault.VideoNotReady, "film", "Not yet.")}, 404},
		{"unreachable", &oneVideo{err: fault.New(fault.ProviderUnavailable, "film", "Gone.")}, 502},
		{"before the first byte", &oneVideo{body: func() io.ReadCloser { return &broken{err: cut} }}, 502},
		{"behind it", &oneVideo{body: func() io.ReadCloser { return &broken{first: "0123", err: cut} }}, 0},
		{"short", &oneVideo{body: func() io.ReadCloser { return &broken{first: "0123", err: io.EOF} }}, 0},
		{"cut, of unknown length", &oneVideo{length: -1, body: func() io.ReadCloser { return &broken{first: "0123", err: cut} }}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := startVideo(t, c.f, nil)
			r, err := n.try("GET", "/v1/videos/vj_1/content", "")
			if c.status == 0 {
				if err == nil {
					t.Errorf("a whole answer of %q", r.body)
				}
				return
			}
			if err != nil || r.StatusCode != c.status || r.Header.Get("Content-Range") != "" || r.Header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("%v %+v", err, r)
			}
		})
	}
	n := startVideo(t, &oneVideo{length: 4, body: func() io.ReadCloser { return &broken{first: "012345678", err: io.EOF} }}, nil)
	if r := n.do("GET", "/v1/videos/vj_1/content", ""); string(r.body) != "0123" || r.StatusCode != http.StatusOK {
		t.Errorf("%d %q: more than was told", r.StatusCode, r.body)
	}
}

// fullVideos has two active jobs, and no room for another one.
type fullVideos struct {
	oneVideo
	keys map[string]string // by job
}

func (f *fullVideos) Submit(context.Context, *video.Submit) (*video.Job, error) {
	return nil, video.TooMany(2, []string{"vj_1", "vj_2"})
}

func (f *fullVideos) Get(_ context.Context, _, id string) (*video.Job, error) {
	return &video.Job{ID: id, Key: f.keys[id]}, nil
}

// The refusal of one job too many counts the jobs of the whole organization, and names those of the member for whom the key works.
func TestVideoLimitNamesSeenJobs(t *testing.T) {
	t.Parallel()
	full := &fullVideos{keys: map[string]string{}}
	n := startAll(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.Videos = full }, emptyReports)
	owner, member, colleague := n.join(t, "owner@example.org", apikey.User), n.join(t, "vera@example.org", apikey.User), n.join(t, "oleg@example.org", apikey.User)
	org := n.org(t, owner, "Strelka")
	n.invited(t, owner, member, org, "member")
	n.invited(t, owner, colleague, org, "member")
	key := func(page []string, job string) []string {
		made := n.do("POST", "/api/keys?account="+org, `{"name":"x"}`, page...).json(t)
		text, _ := made["key"].(string)
		id, _ := at(made, "data", "id").(string)
		if full.keys[job] == "" {
			full.keys[job] = id
		}
		return []string{"Authorization", "Bearer " + text}
	}
	ofMember, ofColleague, further := key(member, "vj_1"), key(colleague, "vj_2"), key(member, "vj_1")
	for name, x := range map[string]struct {
		by   []string
		path string
		want []any
	}{
		"the owner": {owner, "/api/v1/videos?account=" + org, []any{}}, "a member": {member, "/api/v1/videos?account=" + org, []any{"vj_1"}},
		"a member's key": {ofMember, "/v1/videos", []any{"vj_1"}}, "another key of the member": {further, "/v1/videos", []any{"vj_1"}}, "a colleague's key": {ofColleague, "/v1/videos", []any{"vj_2"}},
		"a person's own key": {nil, "/v1/videos", []any{"vj_1", "vj_2"}}, "the owner's key": {key(owner, "vj_3"), "/v1/videos", []any{}},
	} {
		got := n.do("POST", x.path, `{"model":"acme/film","prompt":"A heron."}`, x.by...)
		if diff := cmp.Diff(x.want, at(got.json(t), "error", "metadata", "active_jobs")); got.StatusCode != 429 || diff != "" {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
}

// askedVideos remembers whose jobs the lists of completed ones asked for.
type askedVideos struct {
	oneVideo
	sees []apikey.Sight
}

func (f *askedVideos) List(ctx context.Context, q video.Query) ([]video.Job, bool, error) {
	if q.State == video.Completed {
		f.sees = append(f.sees, q.Sees)
	}
	return f.oneVideo.List(ctx, q)
}

// TestJobsThatAreMine: with mine an owner gets their own jobs of the organization in place of all; in a person's own account it changes nothing.
func TestJobsThatAreMine(t *testing.T) {
	t.Parallel()
	asked := &askedVideos{}
	n := startAll(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.Videos = asked }, emptyReports)
	owner := n.join(t, "owner@example.org", apikey.User)
	org := n.org(t, owner, "Strelka")
	id, _ := at(n.do("GET", "/api/me", "", owner...).json(t), "user", "id").(string)
	for _, c := range []struct {
		query string
		want  apikey.Sight
	}{
		{"&account=" + org, apikey.Sight{}}, {"&mine=true&account=" + org, apikey.Sight{Member: id}}, {"&mine=false&account=" + org, apikey.Sight{}}, {"&mine=true", apikey.Sight{}},
	} {
		asked.sees = nil
		if r := n.do("GET", "/api/jobs?state=completed"+c.query, "", owner...); r.StatusCode != 200 || len(asked.sees) == 0 || asked.sees[0] != c.want {
			t.Errorf("%s: %d, asked for %v, want %v", c.query, r.StatusCode, asked.sees, c.want)
		}
	}
	wantError(t, n.do("GET", "/api/jobs?mine=perhaps", "", owner...), 400, fault.Invalid)
}
