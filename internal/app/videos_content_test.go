package app_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/webhook"
)

// shot makes a completed job.
func (a *account) shot(t *testing.T, prompt string) *shownVideo {
	t.Helper()
	return a.awaitVideo(t, a.shoot(t, shoot("film/works", prompt)).ID, "completed")
}

// reel reads a job's content with additional headers.
func (a *account) reel(t *testing.T, method, id, query string, header map[string]string) *answer {
	t.Helper()
	return a.send(t, method, "/v1/videos/"+id+"/content"+query, nil, header)
}

func isVideo(b []byte) bool { return len(b) > 1000 && string(b[4:8]) == "ftyp" }

// Content can be read whole, in ranges, or with HEAD, and the results are the same from the provider and from the folder.
func TestVideoContent(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]string{"provider": config.KeepProvider, "folder": config.KeepFolder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}), func(s *setup) {
				s.Video.Keep, s.Video.MinFreeBytes = keep, 0
			})
			a := gw.newAccount(t)
			f := a.shot(t, "A heron.")
			whole := a.reel(t, "GET", f.ID, "", nil)
			if whole.status != 200 || !isVideo(whole.body) {
				t.Fatalf("status %d, %d bytes", whole.status, len(whole.body))
			}
			size := strconv.Itoa(len(whole.body))
			for name, want := range map[string]string{
				"Content-Type": "application/octet-stream", "Content-Length": size, "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff",
				"X-Video-Content-Type": "video/mp4", "Content-Disposition": `attachment; filename="` + f.ID + `-0.mp4"`,
			} {
				if got := whole.header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			whole.wantNoForeignHeaders(t)
			for accept, want := range map[string]string{"*/*": "application/octet-stream", "text/html, Video/MP4;q=0.9": "video/mp4", "video/webm": "application/octet-stream"} {
				if got := a.reel(t, "GET", f.ID, "", map[string]string{"Accept": accept}).header.Get("Content-Type"); got != want {
					t.Errorf("Accept %s: Content-Type %s, want %s", accept, got, want)
				}
			}
			tag := whole.header.Get("ETag")
			for _, c := range []struct {
				name, query string
				header      map[string]string
				status      int
				from, to    int // byte range; to is exclusive
			}{
				{"index", "?index=0", nil, 200, 0, len(whole.body)},
				{"first bytes", "", map[string]string{"Range": "bytes=0-9"}, 206, 0, 10},
				{"from the middle on", "", map[string]string{"Range": "bytes=1000-"}, 206, 1000, len(whole.body)},
				{"last bytes", "", map[string]string{"Range": "bytes=-7"}, 206, len(whole.body) - 7, len(whole.body)},
				{"beyond the end", "", map[string]string{"Range": "bytes=10-99999999"}, 206, 10, len(whole.body)},
				{"two ranges", "", map[string]string{"Range": "bytes=0-1,4-5"}, 200, 0, len(whole.body)},
				{"another unit", "", map[string]string{"Range": "frames=0-1"}, 200, 0, len(whole.body)},
				{"of this version", "", map[string]string{"Range": "bytes=0-9", "If-Range": tag}, 206, 0, 10},
				{"of another version", "", map[string]string{"Range": "bytes=0-9", "If-Range": `"x"`}, 200, 0, len(whole.body)},
				{"known", "", map[string]string{"If-None-Match": tag}, 304, 0, 0},
				{"not known", "", map[string]string{"If-None-Match": `"x"`}, 200, 0, len(whole.body)},
			} {
				got := a.reel(t, "GET", f.ID, c.query, c.header)
				if got.status != c.status || !bytes.Equal(got.body, whole.body[c.from:c.to]) || got.header.Get("ETag") != tag {
					t.Errorf("%s: status %d, %d bytes, ETag %s", c.name, got.status, len(got.body), got.header.Get("ETag"))
				}
				if want := "bytes " + strconv.Itoa(c.from) + "-" + strconv.Itoa(c.to-1) + "/" + size; c.status == 206 && got.header.Get("Content-Range") != want {
					t.Errorf("%s: Content-Range %q, want %q", c.name, got.header.Get("Content-Range"), want)
				}
				head := a.reel(t, "HEAD", f.ID, c.query, c.header)
				if head.status != c.status || len(head.body) != 0 || c.status < 300 && head.header.Get("Content-Length") != strconv.Itoa(c.to-c.from) {
					t.Errorf("%s: HEAD: status %d, Content-Length %s", c.name, head.status, head.header.Get("Content-Length"))
				}
			}
			for _, beyond := range []string{"bytes=" + size + "-", "bytes=-0"} {
				got := a.reel(t, "GET", f.ID, "", map[string]string{"Range": beyond})
				if got.wantWord(t, 416, "range_not_satisfiable"); got.header.Get("Content-Range") != "bytes */"+size {
					t.Errorf("Content-Range %q", got.header.Get("Content-Range"))
				}
			}
			for query, want := range map[string]int{"?index=1": 404, "?index=63": 404, "?index=2147483647": 404, "?index=2147483648": 400, "?index=-1": 400, "?index=x": 400, "?index=0&index=1": 400} {
				a.reel(t, "GET", f.ID, query, nil).wantWord(t, want, map[int]string{400: "invalid_request", 404: "not_found"}[want])
			}

			runs := a.awaitVideo(t, a.shoot(t, shoot("film/never", "A heron.")).ID, "in_progress")
			if m := a.reel(t, "GET", runs.ID, "", nil).wantWord(t, 404, "video_not_ready"); m["status"] != "in_progress" {
				t.Errorf("status %v", m["status"])
			}
			a.do(t, "DELETE", "/v1/videos/"+runs.ID, nil).video(t, 200)
			if m := a.reel(t, "GET", runs.ID, "", nil).wantWord(t, 404, "video_not_available"); m["status"] != "cancelled" {
				t.Errorf("status %v", m["status"])
			}
			kept := func() int {
				files, _ := filepath.Glob(filepath.Join(gw.dir, "content", "*", f.ID+"*"))
				return len(files)
			}
			if (kept() > 0) != (keep == config.KeepFolder) {
				t.Errorf("%d files are in the folder", kept())
			}
			if gone := a.do(t, "DELETE", "/v1/videos/"+f.ID, nil).video(t, 200); gone.Status != "expired" || gone.Usage == nil || gone.URLs != nil {
				t.Errorf("a deleted job: %+v", *gone)
			}
			a.reel(t, "GET", f.ID, "", nil).wantWord(t, 404, "video_expired")
			waitFor(t, "the file to be deleted", func() bool { return kept() == 0 })
			if spent := parse(t, a.credits(t).TotalUsage); spent != videoHeld {
				t.Errorf("charged are %s", spent)
			}
			gw.wantBalanced(t)
		})
	}
}

// A video is available for the promised time, and not longer.
func TestVideoRetention(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video"}), func(s *setup) {
		s.Video.Keep, s.Video.MinFreeBytes, s.Video.Retention = config.KeepFolder, 0, 2*time.Second
	})
	a := gw.newAccount(t)
	f := a.shoot(t, shoot("film/works", "A heron."))
	waitFor(t, "the video to expire", func() bool { return a.video(t, f.ID).Status == "expired" })
	a.reel(t, "GET", f.ID, "", nil).wantWord(t, 404, "video_expired")
	if is := a.video(t, f.ID); is.Usage == nil || parse(t, is.Usage.Cost) != videoHeld || len(is.URLs) > 0 {
		t.Errorf("an expired job: %+v", *is)
	}
	waitFor(t, "the file to be deleted", func() bool {
		files, _ := filepath.Glob(filepath.Join(gw.dir, "content", "*", f.ID+"*"))
		return len(files) == 0
	})
	gw.wantBalanced(t)
}

// A stored video does not need its provider any more. If videos cannot be stored at the moment, no job is started.
func TestKeptVideo(t *testing.T) {
	t.Parallel()
	keep := func(s *setup) { s.Video.Keep, s.Video.MinFreeBytes = config.KeepFolder, 0 }
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video"}), keep)
	a := gw.newAccount(t)
	// Of two downloads the first is cut in the middle: the copy is made again.
	f := a.shot(t, "[[sim on=content fault=u6 times=1 id=kept bytes=3000000]] A heron.")
	gw.sim.Reset()
	got := a.reel(t, "GET", f.ID, "", nil)
	if got.status != 200 || !isVideo(got.body) || len(got.body) != 3_000_000 || videoCounts(gw.sim).Downloads != 0 {
		t.Errorf("status %d, %d bytes, %d downloads", got.status, len(got.body), videoCounts(gw.sim).Downloads)
	}

	full := startGateway(t, videos(t, "", map[string]string{"film/works": "video"}), keep, func(s *setup) { s.Video.MinFreeBytes = 1 << 60 })
	b := full.newAccount(t)
	b.do(t, "POST", "/v1/videos", shoot("film/works", "A heron.")).wantWord(t, 503, "storage_unavailable")
	b.wantNothingHeld(t)
	if n := videoCounts(full.sim).Submits; n != 0 {
		t.Errorf("the provider was asked for %d jobs", n)
	}
}

// Faults while a finished video is fetched: before the first byte the client gets an error, after it the connection is cut, so that a part
// is not mistaken for the whole.
func TestVideoContentFaults(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video"}), func(s *setup) {
		s.Fetch.FirstByteTimeout, s.Fetch.IdleTimeout = 2*time.Second, 2*time.Second
	})
	for _, c := range []struct {
		fault  string
		status int // 200: the response is cut
		fine   bool
	}{
		{fault: "u2-close", status: 502}, {fault: "u2-reset", status: 502}, {fault: "u3", status: 502}, {fault: "u4", status: 502},
		{fault: "u5", status: 200}, {fault: "u6", status: 200}, {fault: "u7-length", status: 200}, {fault: "u7-chunk", status: 200},
		{fault: "u9", status: 502}, {fault: "u12", status: 502}, {fault: "u13", status: 502}, {fault: "u14-html", status: 502},
		{fault: "u15-html", status: 502}, {fault: "u16-json", status: 502}, {fault: "u17", status: 502}, {fault: "u20-html", status: 502},
		{fault: "u21-rubbish", status: 502}, {fault: "u24-headers", status: 502},
		{fault: "none bare=1", status: 200, fine: true}, {fault: "none bytes=5000000", status: 200, fine: true}, {fault: "u31", status: 200, fine: true},
	} {
		t.Run(named(t, c.fault), func(t *testing.T) {
			t.Parallel()
			a := gw.newAccount(t)
			f := a.shot(t, "[[sim on=content fault="+c.fault+"]] A heron.")
			status, got, err := a.download(t, f.ID)
			switch {
			case status != c.status:
				t.Errorf("status %d, want %d, %v: %.200s", status, c.status, err, got.body)
			case c.fine:
				if err != nil || !isVideo(got.body) {
					t.Errorf("%v after %d bytes", err, len(got.body))
				}
			case status == 200 && err == nil:
				t.Errorf("%d bytes were delivered as the whole file", len(got.body))
			case status != 200:
				got.wantWord(t, status, "provider_unavailable")
				for _, name := range []string{"Content-Range", "Content-Disposition", "X-Video-Content-Type"} {
					if v := got.header.Get(name); v != "" {
						t.Errorf("an error with %s: %s", name, v)
					}
				}
			}
			got.wantNoForeignHeaders(t)
			if is := a.video(t, f.ID); is.Status != "completed" {
				t.Errorf("the job is %s", is.Status)
			}
			if spent := parse(t, a.credits(t).TotalUsage); spent != videoHeld {
				t.Errorf("charged are %s", spent)
			}
		})
	}
}

// download reads content whose connection may be cut.
func (a *account) download(t *testing.T, id string) (int, *answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", a.gw.url+"/v1/videos/"+id+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	res, err := a.gw.client.Do(req)
	if err != nil {
		return 200, &answer{header: http.Header{}}, err // cut before the head was sent
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, &answer{status: res.StatusCode, header: res.Header, body: body}, err
}

// The end of a job is sent to its callback address once, signed with the account's secret.
func TestVideoCallbacks(t *testing.T) {
	t.Parallel()
	type call struct {
		header http.Header
		body   []byte
	}
	calls := make(chan call, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{r.Header, body}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	key := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(key, []byte(hex.EncodeToString([]byte("the master key of a test, no more")[:32])), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := startGateway(t, videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}), func(s *setup) {
		s.Sealing.MasterKeyFile, s.Fetch.AllowCallbacks, s.Video.Callbacks.Poll = key, []string{"127.0.0.0/8"}, 20*time.Millisecond
	})
	a := gw.newAccount(t)
	secret := a.webhookSecret(t)
	end := func(model, prompt string, want string) {
		t.Helper()
		body := shoot(model, prompt)
		body["callback_url"] = receiver.URL + "/hook"
		f := a.shoot(t, body)
		if want == "cancelled" {
			a.awaitVideo(t, f.ID, "in_progress")
			a.do(t, "DELETE", "/v1/videos/"+f.ID, nil).video(t, 200)
		}
		f = a.awaitVideo(t, f.ID, want)
		var got call
		select {
		case got = <-calls:
		case <-time.After(time.Minute):
			t.Fatal("no callback")
		}
		id := got.header.Get("webhook-id")
		at, err := strconv.ParseInt(got.header.Get("webhook-timestamp"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if signed, err := webhook.Signature([]string{secret}, id, time.Unix(at, 0), got.body); err != nil || id != f.ID+"-"+want || got.header.Get("webhook-signature") != signed {
			t.Errorf("id %q, signature %q, want %q (%v)", id, got.header.Get("webhook-signature"), signed, err)
		}
		var event struct {
			Type string
			Data shownVideo
		}
		if err := json.Unmarshal(got.body, &event); err != nil || event.Type != "video.generation."+want || event.Data.ID != f.ID || event.Data.Status != want || event.Data.Generation != f.Generation ||
			(want == "completed") != (event.Data.Usage != nil && len(event.Data.URLs) == 1) || event.Data.Error != f.Error {
			t.Errorf("%v: %s", err, got.body)
		}
	}
	end("film/works", "A heron.", "completed")
	end("film/works", "[[sim job=fail]] A heron.", "failed")
	end("film/never", "A heron.", "cancelled")
	a.do(t, "DELETE", "/v1/videos/"+a.shot(t, "A heron.").ID, nil).video(t, 200) // a job without a callback address
	select {
	case got := <-calls:
		t.Errorf("one more call: %s", got.body)
	default:
	}
	for _, address := range []string{"http://10.0.0.1/x", "http://example.com/x", "https://user@example.com/x", "ftp://127.0.0.1/x", "https://example.com:8443/x"} {
		body := shoot("film/works", "A heron.")
		body["callback_url"] = address
		if m := a.do(t, "POST", "/v1/videos", body).wantWord(t, 400, "invalid_request"); m["param"] != "callback_url" {
			t.Errorf("%s: param %v", address, m["param"])
		}
	}
	gw.wantBalanced(t)
}

// webhookSecret returns the secret that signs the account's events.
func (a *account) webhookSecret(t *testing.T) string {
	t.Helper()
	office := a.gw.node.Office()
	key, err := office.Keys.ByHash(t.Context(), "", apikey.Hash(a.key))
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := office.Keys.Create(t.Context(), apikey.NewKey{Name: "management", User: key.User, Creator: key.User, Management: true}, audit.Actor{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	got := (&account{gw: a.gw, key: text}).do(t, "POST", "/api/account/webhook-secret", nil)
	var reported struct{ Data struct{ Secret string } }
	if err := json.Unmarshal(got.body, &reported); err != nil || !strings.HasPrefix(reported.Data.Secret, "whsec_") {
		t.Fatalf("the secret: %d %s", got.status, got.body)
	}
	return reported.Data.Secret
}
