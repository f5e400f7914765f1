package media_test

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
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/config"
	"weir/internal/webhook"
)

func isVideo(b []byte) bool { return len(b) > 1000 && string(b[4:8]) == "ftyp" }

// Content can be read whole, in ranges, or with HEAD, and the results are the same from the provider and from the folder.
func TestVideoContent(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]string{"provider": config.KeepProvider, "folder": config.KeepFolder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}), func(s *apptest.Setup) {
				s.Video.Keep, s.Video.MinFreeBytes = keep, 0
			})
			a := gw.NewAccount(t)
			f := a.Shot(t, "A heron.")
			whole := a.Reel(t, "GET", f.ID, "", nil)
			if whole.Status != 200 || !isVideo(whole.Body) {
				t.Fatalf("status %d, %d bytes", whole.Status, len(whole.Body))
			}
			size := strconv.Itoa(len(whole.Body))
			for name, want := range map[string]string{
				"Content-Type": "application/octet-stream", "Content-Length": size, "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff",
				"X-Video-Content-Type": "video/mp4", "Content-Disposition": `attachment; filename="` + f.ID + `-0.mp4"`,
			} {
				if got := whole.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			whole.WantNoForeignHeaders(t)
			for accept, want := range map[string]string{"*/*": "application/octet-stream", "text/html, Video/MP4;q=0.9": "video/mp4", "video/webm": "application/octet-stream"} {
				if got := a.Reel(t, "GET", f.ID, "", map[string]string{"Accept": accept}).Header.Get("Content-Type"); got != want {
					t.Errorf("Accept %s: Content-Type %s, want %s", accept, got, want)
				}
			}
			tag := whole.Header.Get("ETag")
			for _, c := range []struct {
				name, query string
				header      map[string]string
				status      int
				from, to    int // byte range; to is exclusive
			}{
				{"index", "?index=0", nil, 200, 0, len(whole.Body)},
				{"first bytes", "", map[string]string{"Range": "bytes=0-9"}, 206, 0, 10},
				{"from the middle on", "", map[string]string{"Range": "bytes=1000-"}, 206, 1000, len(whole.Body)},
				{"last bytes", "", map[string]string{"Range": "bytes=-7"}, 206, len(whole.Body) - 7, len(whole.Body)},
				{"beyond the end", "", map[string]string{"Range": "bytes=10-99999999"}, 206, 10, len(whole.Body)},
				{"two ranges", "", map[string]string{"Range": "bytes=0-1,4-5"}, 200, 0, len(whole.Body)},
				{"another unit", "", map[string]string{"Range": "frames=0-1"}, 200, 0, len(whole.Body)},
				{"of this version", "", map[string]string{"Range": "bytes=0-9", "If-Range": tag}, 206, 0, 10},
				{"of another version", "", map[string]string{"Range": "bytes=0-9", "If-Range": `"x"`}, 200, 0, len(whole.Body)},
				{"known", "", map[string]string{"If-None-Match": tag}, 304, 0, 0},
				{"not known", "", map[string]string{"If-None-Match": `"x"`}, 200, 0, len(whole.Body)},
			} {
				got := a.Reel(t, "GET", f.ID, c.query, c.header)
				if got.Status != c.status || !bytes.Equal(got.Body, whole.Body[c.from:c.to]) || got.Header.Get("ETag") != tag {
					t.Errorf("%s: status %d, %d bytes, ETag %s", c.name, got.Status, len(got.Body), got.Header.Get("ETag"))
				}
				if want := "bytes " + strconv.Itoa(c.from) + "-" + strconv.Itoa(c.to-1) + "/" + size; c.status == 206 && got.Header.Get("Content-Range") != want {
					t.Errorf("%s: Content-Range %q, want %q", c.name, got.Header.Get("Content-Range"), want)
				}
				head := a.Reel(t, "HEAD", f.ID, c.query, c.header)
				if head.Status != c.status || len(head.Body) != 0 || c.status < 300 && head.Header.Get("Content-Length") != strconv.Itoa(c.to-c.from) {
					t.Errorf("%s: HEAD: status %d, Content-Length %s", c.name, head.Status, head.Header.Get("Content-Length"))
				}
			}
			for _, beyond := range []string{"bytes=" + size + "-", "bytes=-0"} {
				got := a.Reel(t, "GET", f.ID, "", map[string]string{"Range": beyond})
				if got.WantWord(t, 416, "range_not_satisfiable"); got.Header.Get("Content-Range") != "bytes */"+size {
					t.Errorf("Content-Range %q", got.Header.Get("Content-Range"))
				}
			}
			for query, want := range map[string]int{"?index=1": 404, "?index=63": 404, "?index=2147483647": 404, "?index=2147483648": 400, "?index=-1": 400, "?index=x": 400, "?index=0&index=1": 400} {
				a.Reel(t, "GET", f.ID, query, nil).WantWord(t, want, map[int]string{400: "invalid_request", 404: "not_found"}[want])
			}

			runs := a.AwaitVideo(t, a.Shoot(t, apptest.Shoot("film/never", "A heron.")).ID, "in_progress")
			if m := a.Reel(t, "GET", runs.ID, "", nil).WantWord(t, 404, "video_not_ready"); m["status"] != "in_progress" {
				t.Errorf("status %v", m["status"])
			}
			a.Do(t, "DELETE", "/v1/videos/"+runs.ID, nil).Video(t, 200)
			if m := a.Reel(t, "GET", runs.ID, "", nil).WantWord(t, 404, "video_not_available"); m["status"] != "cancelled" {
				t.Errorf("status %v", m["status"])
			}
			kept := func() int {
				files, _ := filepath.Glob(filepath.Join(gw.Dir, "content", "*", f.ID+"*"))
				return len(files)
			}
			if (kept() > 0) != (keep == config.KeepFolder) {
				t.Errorf("%d files are in the folder", kept())
			}
			if gone := a.Do(t, "DELETE", "/v1/videos/"+f.ID, nil).Video(t, 200); gone.Status != "expired" || gone.Usage == nil || gone.URLs != nil {
				t.Errorf("a deleted job: %+v", *gone)
			}
			a.Reel(t, "GET", f.ID, "", nil).WantWord(t, 404, "video_expired")
			apptest.WaitFor(t, "the file to be deleted", func() bool { return kept() == 0 })
			if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != videoHeld {
				t.Errorf("charged are %s", spent)
			}
			gw.WantBalanced(t)
		})
	}
}

// A video is available for the promised time, and not longer.
func TestVideoRetention(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}), func(s *apptest.Setup) {
		s.Video.Keep, s.Video.MinFreeBytes, s.Video.KeepFor = config.KeepFolder, 0, 2*time.Second
	})
	a := gw.NewAccount(t)
	f := a.Shoot(t, apptest.Shoot("film/works", "A heron."))
	apptest.WaitFor(t, "the video to expire", func() bool { return a.Video(t, f.ID).Status == "expired" })
	a.Reel(t, "GET", f.ID, "", nil).WantWord(t, 404, "video_expired")
	if is := a.Video(t, f.ID); is.Usage == nil || apptest.Parse(t, is.Usage.Cost) != videoHeld || len(is.URLs) > 0 {
		t.Errorf("an expired job: %+v", *is)
	}
	apptest.WaitFor(t, "the file to be deleted", func() bool {
		files, _ := filepath.Glob(filepath.Join(gw.Dir, "content", "*", f.ID+"*"))
		return len(files) == 0
	})
	gw.WantBalanced(t)
}

// A stored video does not need its provider any more. If videos cannot be stored at the moment, no job is started.
func TestKeptVideo(t *testing.T) {
	t.Parallel()
	keep := func(s *apptest.Setup) { s.Video.Keep, s.Video.MinFreeBytes = config.KeepFolder, 0 }
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}), keep)
	a := gw.NewAccount(t)
	// Of two downloads the first is cut in the middle: the copy is made again.
	f := a.Shot(t, "[[sim on=content fault=u6 times=1 id=kept bytes=3000000]] A heron.")
	gw.Sim.Reset()
	got := a.Reel(t, "GET", f.ID, "", nil)
	if got.Status != 200 || !isVideo(got.Body) || len(got.Body) != 3_000_000 || apptest.VideoCounts(gw.Sim).Downloads != 0 {
		t.Errorf("status %d, %d bytes, %d downloads", got.Status, len(got.Body), apptest.VideoCounts(gw.Sim).Downloads)
	}

	full := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}), keep, func(s *apptest.Setup) { s.Video.MinFreeBytes = 1 << 60 })
	b := full.NewAccount(t)
	b.Do(t, "POST", "/v1/videos", apptest.Shoot("film/works", "A heron.")).WantWord(t, 503, "storage_unavailable")
	b.WantNothingHeld(t)
	if n := apptest.VideoCounts(full.Sim).Submits; n != 0 {
		t.Errorf("the provider was asked for %d jobs", n)
	}
}

// Faults while a finished video is fetched: before the first byte the client gets an error, after it the connection is cut, so that a part
// is not mistaken for the whole.
func TestVideoContentFaults(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video"}), func(s *apptest.Setup) {
		s.Fetch.FirstByte, s.Fetch.Idle = 2*time.Second, 2*time.Second
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
		t.Run(apptest.Named(t, c.fault), func(t *testing.T) {
			t.Parallel()
			a := gw.NewAccount(t)
			f := a.Shot(t, "[[sim on=content fault="+c.fault+"]] A heron.")
			status, got, err := a.Download(t, f.ID)
			switch {
			case status != c.status:
				t.Errorf("status %d, want %d, %v: %.200s", status, c.status, err, got.Body)
			case c.fine:
				if err != nil || !isVideo(got.Body) {
					t.Errorf("%v after %d bytes", err, len(got.Body))
				}
			case status == 200 && err == nil:
				t.Errorf("%d bytes were delivered as the whole file", len(got.Body))
			case status != 200:
				got.WantWord(t, status, "provider_unavailable")
				for _, name := range []string{"Content-Range", "Content-Disposition", "X-Video-Content-Type"} {
					if v := got.Header.Get(name); v != "" {
						t.Errorf("an error with %s: %s", name, v)
					}
				}
			}
			got.WantNoForeignHeaders(t)
			if is := a.Video(t, f.ID); is.Status != "completed" {
				t.Errorf("the job is %s", is.Status)
			}
			if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != videoHeld {
				t.Errorf("charged are %s", spent)
			}
		})
	}
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
	gw := apptest.StartGateway(t, apptest.Videos(t, "", map[string]string{"film/works": "video", "film/never": "video@job=never"}), func(s *apptest.Setup) {
		s.Sealing.MasterKeyFile, s.Fetch.AllowCallbacks, s.Video.Callbacks.Poll = key, []string{"127.0.0.0/8"}, 20*time.Millisecond
	})
	a := gw.NewAccount(t)
	secret := a.WebhookSecret(t)
	end := func(model, prompt string, want string) {
		t.Helper()
		body := apptest.Shoot(model, prompt)
		body["callback_url"] = receiver.URL + "/hook"
		f := a.Shoot(t, body)
		if want == "cancelled" {
			a.AwaitVideo(t, f.ID, "in_progress")
			a.Do(t, "DELETE", "/v1/videos/"+f.ID, nil).Video(t, 200)
		}
		f = a.AwaitVideo(t, f.ID, want)
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
			Data apptest.ShownVideo
		}
		if err := json.Unmarshal(got.body, &event); err != nil || event.Type != "video.generation."+want || event.Data.ID != f.ID || event.Data.Status != want || event.Data.Generation != f.Generation ||
			(want == "completed") != (event.Data.Usage != nil && len(event.Data.URLs) == 1) || event.Data.Error != f.Error {
			t.Errorf("%v: %s", err, got.body)
		}
	}
	end("film/works", "A heron.", "completed")
	end("film/works", "[[sim job=fail]] A heron.", "failed")
	end("film/never", "A heron.", "cancelled")
	a.Do(t, "DELETE", "/v1/videos/"+a.Shot(t, "A heron.").ID, nil).Video(t, 200) // a job without a callback address
	select {
	case got := <-calls:
		t.Errorf("one more call: %s", got.body)
	default:
	}
	for _, address := range []string{"http://10.0.0.1/x", "http://example.com/x", "https://user@example.com/x", "ftp://127.0.0.1/x", "https://example.com:8443/x"} {
		body := apptest.Shoot("film/works", "A heron.")
		body["callback_url"] = address
		if m := a.Do(t, "POST", "/v1/videos", body).WantWord(t, 400, "invalid_request"); m["param"] != "callback_url" {
			t.Errorf("%s: param %v", address, m["param"])
		}
	}
	gw.WantBalanced(t)
}
