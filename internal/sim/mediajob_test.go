package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/sim"
)

// clock is one that a test moves.
type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func clocked() (*sim.Server, *clock) {
	c := &clock{now: time.Unix(1767225600, 0).UTC()}
	return sim.New(sim.Config{Now: func() time.Time { return c.now }}), c
}

const runwayHeaders = "Authorization: Bearer k\nX-Runway-Version: 2024-11-06"

// runwayBegin submits a video with a marker and returns its id.
func runwayBegin(t testing.TB, s *sim.Server, marker string) string {
	t.Helper()
	w := post(s, "POST", "/runway/v1/text_to_video", runwayHeaders, `{"model":"veo3.1","ratio":"1280:720","duration":4,"promptText":"`+marker+` A heron"}`)
	if w.Code != 200 {
		t.Fatalf("submit: %d %s", w.Code, w.Body)
	}
	return textAt(readTree(t, w.Body.Bytes()), "id")
}

func runwayStatus(t testing.TB, s *sim.Server, id string) (string, tree) {
	t.Helper()
	w := post(s, "GET", "/runway/v1/tasks/"+id, runwayHeaders, "")
	if w.Code != 200 {
		return fmt.Sprint(w.Code), nil
	}
	read := readTree(t, w.Body.Bytes())
	return textAt(read, "status"), read
}

func TestJobClockByPolls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ marker, want string }{
		{"", "RUNNING SUCCEEDED SUCCEEDED"},
		{"[[sim polls=1]]", "SUCCEEDED SUCCEEDED"},
		{"[[sim polls=4 queued=2]]", "PENDING PENDING RUNNING SUCCEEDED"},
		{"[[sim job=fail polls=1]]", "FAILED FAILED"},
		{"[[sim job=fail polls=3]]", "RUNNING RUNNING FAILED"},
		{"[[sim job=policy]]", "RUNNING FAILED"},
		{"[[sim job=cancelled]]", "RUNNING CANCELLED"},
		{"[[sim job=expired]]", "RUNNING FAILED"},
		{"[[sim job=never]]", "RUNNING RUNNING RUNNING RUNNING"},
		{"[[sim job=stuck]]", "THROTTLED THROTTLED THROTTLED"},
		{"[[sim job=lost]]", "404 404"},
		{"[[sim job=empty]]", "RUNNING SUCCEEDED"},
	} {
		t.Run(c.marker, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			id := runwayBegin(t, s, c.marker)
			for i, want := range strings.Fields(c.want) {
				got, read := runwayStatus(t, s, id)
				if got != want {
					t.Fatalf("poll %d: %s, want %s", i+1, got, want)
				}
				outputs, _ := at(read, "output").([]any)
				if n := len(outputs); got == "SUCCEEDED" && (n == 1) == strings.Contains(c.marker, "empty") {
					t.Errorf("%d outputs", n)
				}
			}
		})
	}
}

func TestJobClockByTime(t *testing.T) {
	t.Parallel()
	s, c := clocked()
	id := runwayBegin(t, s, "[[sim takes=40s life=10m]]")
	step := func(after time.Duration, want string) tree {
		t.Helper()
		c.pass(after)
		got, read := runwayStatus(t, s, id)
		if got != want {
			t.Fatalf("after %v: %s, want %s", after, got, want)
		}
		return read
	}
	for range 5 {
		step(0, "PENDING")
	}
	step(10*time.Second, "RUNNING")
	if read := step(10*time.Second, "RUNNING"); numberAt(read, "progress") != 0.5 {
		t.Errorf("progress: %v", at(read, "progress"))
	}
	url := strings.TrimPrefix(textAt(step(20*time.Second, "SUCCEEDED"), "output.0"), "http://example.com")
	if w := post(s, "GET", url, "", ""); w.Code != 200 {
		t.Errorf("the result: %d", w.Code)
	}
	c.pass(10 * time.Minute)
	if w := post(s, "GET", url, "", ""); w.Code != 403 || !strings.Contains(w.Body.String(), "<Message>Request has expired</Message>") {
		t.Errorf("the result in the end: %d %s", w.Code, w.Body)
	}
	byConfig := sim.New(sim.Config{JobTime: time.Minute, Now: func() time.Time { return c.now }})
	id = runwayBegin(t, byConfig, "")
	if got, _ := runwayStatus(t, byConfig, id); got != "PENDING" {
		t.Errorf("by the config: %s", got)
	}
	c.pass(time.Minute)
	if got, _ := runwayStatus(t, byConfig, id); got != "SUCCEEDED" {
		t.Errorf("by the config, in the end: %s", got)
	}
}

// Whatever is done to a job, an end is an end, and no state comes before one that was seen.
func TestJobNeverGoesBack(t *testing.T) {
	t.Parallel()
	order := map[string]int{"PENDING": 0, "THROTTLED": 0, "RUNNING": 1, "SUCCEEDED": 2, "FAILED": 2, "CANCELLED": 2, "404": 3}
	rapid.Check(t, func(t *rapid.T) {
		s, c := clocked()
		markers := rapid.SampledFrom([]string{"", "polls=3", "polls=4 queued=1", "takes=9s", "job=fail", "job=never", "job=policy takes=3s"})
		w := post(s, "POST", "/runway/v1/text_to_video", runwayHeaders, `{"model":"veo3.1","ratio":"1280:720","promptText":"[[sim `+markers.Draw(t, "marker")+`]] A heron"}`)
		var read tree
		if err := json.Unmarshal(w.Body.Bytes(), &read); err != nil || w.Code != 200 {
			t.Fatal(w.Code, err)
		}
		path, seen := "/runway/v1/tasks/"+textAt(read, "id"), "PENDING"
		t.Repeat(map[string]func(*rapid.T){
			"wait":   func(t *rapid.T) { c.pass(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond) },
			"delete": func(*rapid.T) { post(s, "DELETE", path, runwayHeaders, "") },
			"poll": func(t *rapid.T) {
				w, got := post(s, "GET", path, runwayHeaders, ""), "404"
				if w.Code == 200 {
					var read tree
					if err := json.Unmarshal(w.Body.Bytes(), &read); err != nil {
						t.Fatal(err)
					}
					got = textAt(read, "status")
				}
				if order[got] < order[seen] || order[seen] == 2 && got != seen && got != "404" {
					t.Fatalf("%s after %s", got, seen)
				}
				seen = got
			},
		})
	})
}

func TestJobsBelongToKeys(t *testing.T) {
	t.Parallel()
	s := fixed()
	id := runwayBegin(t, s, "")
	other := strings.Replace(runwayHeaders, "Bearer k", "Bearer other", 1)
	for _, method := range []string{"GET", "DELETE"} {
		if w := post(s, method, "/runway/v1/tasks/"+id, other, ""); w.Code != 404 {
			t.Errorf("%s with another key: %d", method, w.Code)
		}
	}
	if w := post(s, "GET", "/luma/dream-machine/v1/generations/"+id, "Authorization: Bearer k", ""); w.Code != 404 {
		t.Errorf("on another wire: %d", w.Code)
	}
	runwayStatus(t, s, id)
	post(s, "DELETE", "/runway/v1/tasks/"+id, runwayHeaders, "")
	want := map[string]sim.JobCounts{
		"runway k":     {Wire: "runway", Key: "k", Submits: 1, Polls: 1, Cancels: 1},
		"runway other": {Wire: "runway", Key: "other", Polls: 1},
		"luma k":       {Wire: "luma", Key: "k", Polls: 1},
	}
	for _, got := range s.Jobs() {
		if got != want[got.Wire+" "+got.Key] {
			t.Errorf("counted %+v", got)
		}
		delete(want, got.Wire+" "+got.Key)
	}
	if len(want) > 0 {
		t.Errorf("not counted: %v", want)
	}
	stats := readTree(t, post(s, "GET", "/sim/stats", "", "").Body.Bytes())
	if numberAt(stats, "jobs.1.submits") != 1 || textAt(stats, "jobs.1.wire") != "runway" {
		t.Errorf("stats: %v", stats["jobs"])
	}
	s.Reset()
	if got := s.Jobs(); len(got) != 0 {
		t.Errorf("after a reset: %v", got)
	}
}

// TestMediaKeys shows for each wire a request that is admitted with the key, and that nothing else opens it.
func TestMediaKeys(t *testing.T) {
	t.Parallel()
	const heron = `"prompt":"A heron"`
	now := func() time.Time { return time.Unix(1767225600, 0).UTC() }
	kling := func(header, claims, secret string) string {
		return "Authorization: Bearer " + jwt(header, claims, secret)
	}
	const hs, fine, secret = `{"alg":"HS256"}`, `{"iss":"kling-simulator-access-key","exp":1767225700}`, "kling-simulator-secret-key"
	for _, c := range []struct {
		name, path, body, good string
		bad                    []string
		status                 int
	}{
		{"images", "/v1/images/generations", `{"model":"gpt-image-1",` + heron + `}`, "Authorization: Bearer k", []string{"", "Authorization: Bearer x", "Authorization: Key k", "X-Key: k"}, 401},
		{"videos", "/v1/videos", `{` + heron + `}`, "Authorization: Bearer k", []string{"", "Authorization: Bearer x"}, 401},
		{"openrouter images", "/openrouter/api/v1/images", `{"model":"a/b",` + heron + `}`, "Authorization: Bearer k", []string{"", "X-Key: k"}, 401},
		{"openrouter chat", "/openrouter/api/v1/chat/completions", `{"model":"image","modalities":["image","text"],"messages":[{"role":"user","content":"A heron"}]}`, "Authorization: Bearer k", []string{""}, 401},
		{"openrouter videos", "/openrouter/api/v1/videos", `{"model":"a/b",` + heron + `}`, "Authorization: Bearer k", []string{"", "X-Key: k"}, 401},
		{"imagen", "/v1beta/models/imagen-4.0-generate-001:predict", `{"instances":[{` + heron + `}]}`, "X-Goog-Api-Key: k", []string{"X-Goog-Api-Key: x", ""}, 400},
		{"veo", "/v1beta/models/veo-3.1-generate-preview:predictLongRunning", `{"instances":[{` + heron + `}]}`, "X-Goog-Api-Key: k", []string{"X-Goog-Api-Key: x"}, 400},
		{"fal queue", "/fal/queue/fal-ai/flux", `{` + heron + `}`, "Authorization: Key k", []string{"", "Authorization: Bearer k", "Authorization: Key x"}, 401},
		{"fal run", "/fal/run/fal-ai/flux", `{` + heron + `}`, "Authorization: Key k", []string{"Authorization: Bearer k"}, 401},
		{"bfl", "/bfl/v1/flux-pro-1.1", `{` + heron + `}`, "X-Key: k", []string{"", "Authorization: Bearer k", "X-Key: x"}, 403},
		{"yandex art", "/yandex-art/foundationModels/v1/imageGenerationAsync", `{"modelUri":"art://f/yandex-art","messages":[{"text":"A heron"}]}`, "Authorization: Api-Key k", []string{"", "Authorization: Key k", "Authorization: Api-Key x"}, 401},
		{"runway", "/runway/v1/text_to_video", `{"model":"veo3.1","promptText":"A heron","ratio":"1280:720"}`, runwayHeaders, []string{"", "X-Runway-Version: 2024-11-06", "Authorization: Bearer x\nX-Runway-Version: 2024-11-06"}, 401},
		{"runway version", "/runway/v1/text_to_video", `{"model":"veo3.1","promptText":"A heron","ratio":"1280:720"}`, runwayHeaders, []string{"Authorization: Bearer k", "Authorization: Bearer k\nX-Runway-Version: 2023-09-06"}, 400},
		{"kling", "/kling/v1/videos/text2video", `{` + heron + `}`, kling(hs, fine, secret), []string{
			"", "Authorization: Bearer k", kling(hs, fine, "another"), kling(`{"alg":"none"}`, fine, secret), kling(hs, `{"iss":"kling-simulator-access-key","exp":1767225600}`, secret),
			kling(hs, `{"iss":"kling-simulator-access-key"}`, secret), kling(hs, `{"iss":"x","exp":1767225700}`, secret), kling(hs, `{"iss":"kling-simulator-access-key","exp":1767225700,"nbf":1767225601}`, secret),
		}, 401},
		{"minimax", "/minimax/v1/video_generation", `{"model":"T2V-01",` + heron + `}`, "Authorization: Bearer k", []string{"", "X-Key: k"}, 200},
		{"luma", "/luma/dream-machine/v1/generations", `{"model":"ray-2",` + heron + `}`, "Authorization: Bearer k", []string{"Authorization: Bearer x"}, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sim.New(sim.Config{Key: "k", Now: now})
			for _, headers := range c.bad {
				w := post(s, "POST", c.path, headers, c.body)
				if w.Code != c.status || c.name == "minimax" && !strings.Contains(w.Body.String(), `"status_code":1004`) {
					t.Errorf("with %q: %d %s", headers, w.Code, w.Body)
				}
			}
			if n := len(s.Jobs()); n != 0 {
				t.Errorf("%d owners have something", n)
			}
			if w := post(s, "POST", c.path, c.good, c.body); w.Code < 200 || w.Code > 202 && c.status != w.Code || strings.Contains(w.Body.String(), "1004") {
				t.Errorf("with the key: %d %s", w.Code, w.Body)
			}
		})
	}
}

// mediaSubmits are a good request of each wire, with a place for a marker.
var mediaSubmits = []struct{ name, path, headers, body string }{
	{"images", "/v1/images/generations", "", `{"model":"gpt-image-1","size":"1024x1024","prompt":"%s A heron"}`},
	{"videos", "/v1/videos", "", `{"prompt":"%s A heron"}`},
	{"openrouter images", "/openrouter/api/v1/images", "", `{"model":"a/b","prompt":"%s A heron"}`},
	{"openrouter videos", "/openrouter/api/v1/videos", "", `{"model":"a/b","prompt":"%s A heron"}`},
	{"imagen", "/v1beta/models/imagen-4.0-generate-001:predict", "", `{"instances":[{"prompt":"%s A heron"}]}`},
	{"veo", "/v1beta/models/veo-3.1-generate-preview:predictLongRunning", "", `{"instances":[{"prompt":"%s A heron"}]}`},
	{"fal queue", "/fal/queue/fal-ai/flux", "Authorization: Key k", `{"prompt":"%s A heron"}`},
	{"fal run", "/fal/run/fal-ai/flux", "Authorization: Key k", `{"prompt":"%s A heron"}`},
	{"bfl", "/bfl/v1/flux-pro-1.1", "X-Key: k", `{"prompt":"%s A heron"}`},
	{"yandex art", "/yandex-art/foundationModels/v1/imageGenerationAsync", "Authorization: Api-Key k", `{"modelUri":"art://f/yandex-art","messages":[{"text":"%s A heron"}]}`},
	{"runway", "/runway/v1/text_to_video", runwayHeaders, `{"model":"veo3.1","ratio":"1280:720","promptText":"%s A heron"}`},
	{"kling", "/kling/v1/videos/text2video", "Authorization: Bearer " + klingToken(), `{"prompt":"%s A heron"}`},
	{"minimax", "/minimax/v1/video_generation", "Authorization: Bearer k", `{"model":"T2V-01","prompt":"%s A heron"}`},
	{"luma", "/luma/dream-machine/v1/generations", "Authorization: Bearer k", `{"model":"ray-2","prompt":"%s A heron"}`},
}

func TestMediaFaults(t *testing.T) {
	t.Parallel()
	for _, c := range mediaSubmits {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			with := func(marker string) *httptest.ResponseRecorder {
				return post(s, "POST", c.path, c.headers, fmt.Sprintf(c.body, marker))
			}
			submits := func() (n int64) {
				for _, j := range s.Jobs() {
					n += j.Submits
				}
				return n
			}
			fine := with("").Code
			if n := submits(); n != 1 {
				t.Fatalf("%d submits after a plain one (%d)", n, fine)
			}
			for _, f := range []struct {
				marker string
				status int
				begins int64
				json   bool
			}{
				{"[[sim fault=u9 retry-after=3]]", 429, 0, true},
				{"[[sim fault=u12 status=422]]", 422, 0, true},
				{"[[sim fault=u13 status=402]]", 402, 0, true},
				{"[[sim fault=u15 status=502]]", 502, 0, true},
				{"[[sim fault=u15-html]]", 500, 0, false},
				{"[[sim fault=u16]]", 503, 0, true},
				{"[[sim fault=u17]]", 302, 0, false},
				{"[[sim fault=u18-text]]", 200, 0, false},
				{"[[sim fault=u18-nochoices]]", 200, 0, true},
				{"[[sim fault=u18-truncated]]", 200, 1, false},
				{"[[sim fault=u19 code=503]]", 200, 0, true},
				{"[[sim fault=u20]]", fine, 1, true},
				{"[[sim fault=u31]]", fine, 1, true},
			} {
				before := submits()
				w := with(f.marker)
				if w.Code != f.status || json.Valid(w.Body.Bytes()) != f.json {
					t.Errorf("%s: %d %.200s", f.marker, w.Code, w.Body)
				}
				if n := submits() - before; n != f.begins {
					t.Errorf("%s began %d", f.marker, n)
				}
				if f.status == 429 && w.Header().Get("Retry-After") != "3" {
					t.Errorf("Retry-After: %v", w.Header())
				}
			}
			for i, want := range []int{503, 503, fine} {
				if w := with("[[sim fault=u16 times=2 id=x]]"); w.Code != want {
					t.Errorf("call %d: %d", i, w.Code)
				}
			}
			if w := with("[[sim fault=u9 on=poll]]"); w.Code != fine {
				t.Errorf("a fault of another step: %d", w.Code)
			}
			for _, bad := range []string{"[[sim job=maybe]]", "[[sim on=monday]]", "[[sim polls=0]]", "[[sim misspelt=1]]", "[[sim fault=u99]]"} {
				if w := with(bad); w.Code == 200 && !strings.Contains(w.Body.String(), `"status_code":2013`) {
					t.Errorf("%s was taken: %.200s", bad, w.Body)
				}
			}
			if w := with("[[sim job=refuse]]"); w.Code == fine && !strings.Contains(w.Body.String(), `"status_code":1026`) {
				t.Errorf("what is barred was taken: %.200s", w.Body)
			}
		})
	}
}

// TestMediaRubbish shows that every wire refuses bodies that are none, in its own JSON.
func TestMediaRubbish(t *testing.T) {
	t.Parallel()
	s := fixed()
	for _, c := range mediaSubmits {
		for _, body := range []string{`{`, `[]`, `{}`, `{"prompt":1}`, `{"prompt":"a","prompt":"b"}`, strings.Replace(c.body, "%s A heron", "", 1)} {
			w := post(s, "POST", c.path, c.headers, body)
			if !json.Valid(w.Body.Bytes()) || w.Code == 200 && !strings.Contains(w.Body.String(), `"status_code":2013`) || w.Code >= 500 || w.Code == 201 || w.Code == 202 {
				t.Errorf("%s took %s: %d %s", c.name, body, w.Code, w.Body)
			}
		}
		r := httptest.NewRequest("POST", c.path, strings.NewReader(fmt.Sprintf(c.body, "")))
		r.Header.Set("Content-Type", "text/plain")
		for _, line := range strings.Split(c.headers, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 415 {
			t.Errorf("%s took text/plain: %d", c.name, w.Code)
		}
	}
}

func TestFaultsOfSteps(t *testing.T) {
	t.Parallel()
	t.Run("poll", func(t *testing.T) {
		t.Parallel()
		s := fixed()
		id := runwayBegin(t, s, "[[sim fault=u15 status=502 on=poll times=2 id=p polls=4]]")
		for i, want := range []string{"502", "502", "RUNNING", "SUCCEEDED"} {
			if got, _ := runwayStatus(t, s, id); got != want {
				t.Errorf("poll %d: %s, want %s", i, got, want)
			}
		}
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		s := fixed()
		id := runwayBegin(t, s, "[[sim fault=u16 on=cancel times=1 id=c job=never]]")
		if w := post(s, "DELETE", "/runway/v1/tasks/"+id, runwayHeaders, ""); w.Code != 503 {
			t.Errorf("first: %d", w.Code)
		}
		if got, _ := runwayStatus(t, s, id); got != "RUNNING" {
			t.Errorf("a cancel that failed cancelled: %s", got)
		}
		if w := post(s, "DELETE", "/runway/v1/tasks/"+id, runwayHeaders, ""); w.Code != 204 {
			t.Errorf("second: %d", w.Code)
		}
	})
	for _, c := range []struct {
		marker string
		status int
	}{
		{"fault=u14", 404}, {"fault=u17", 302}, {"fault=u13 status=403", 403}, {"fault=u18-html", 200}, {"hops=1", 302},
	} {
		t.Run("content "+c.marker, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			id := runwayBegin(t, s, "[[sim on=content polls=1 "+c.marker+"]]")
			_, read := runwayStatus(t, s, id)
			w := post(s, "GET", strings.TrimPrefix(textAt(read, "output.0"), "http://example.com"), "", "")
			if w.Code != c.status {
				t.Errorf("%d %.100s", w.Code, w.Body)
			}
		})
	}
}

// results are served over a real connection: cuts and lengths need one.
func TestResults(t *testing.T) {
	t.Parallel()
	s, addr := start(t, sim.Config{})
	client := &http.Client{Timeout: time.Minute}
	t.Cleanup(client.CloseIdleConnections)
	urlOf := func(t *testing.T, marker string) string {
		t.Helper()
		r := httptest.NewRequest("POST", "http://"+addr+"/luma/dream-machine/v1/generations", strings.NewReader(`{"model":"ray-2","prompt":"[[sim polls=1 `+marker+`]] A heron"}`))
		r.RequestURI = ""
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer k")
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		poll := post(s, "GET", "/luma/dream-machine/v1/generations/"+textAt(readTree(t, body), "id"), "Authorization: Bearer k", "")
		// the job remembers the address it was submitted to
		return textAt(readTree(t, poll.Body.Bytes()), "assets.video")
	}
	get := func(t *testing.T, method, url, headers string) (*http.Response, []byte, error) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(headers, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				r.Header.Set(name, value)
			}
		}
		res, err := client.Do(r)
		if err != nil {
			return nil, nil, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return res, body, err
	}
	url := urlOf(t, "")
	res, whole, err := get(t, "GET", url, "")
	if err != nil || res.StatusCode != 200 || res.ContentLength != int64(len(whole)) || res.Header.Get("Accept-Ranges") != "bytes" || res.Header.Get("Content-Type") != "video/mp4" {
		t.Fatalf("%v %v", err, res)
	}
	tag := res.Header.Get("Etag")
	if res, body, err := get(t, "HEAD", url, ""); err != nil || res.StatusCode != 200 || len(body) > 0 || res.ContentLength != int64(len(whole)) {
		t.Errorf("HEAD: %v %v", err, res)
	}
	if res, body, err := get(t, "GET", url, "Range: bytes=10-19"); err != nil || res.StatusCode != 206 || !bytes.Equal(body, whole[10:20]) || res.Header.Get("Content-Range") != fmt.Sprintf("bytes 10-19/%d", len(whole)) {
		t.Errorf("a range: %v %v", err, res)
	}
	if res, body, err := get(t, "GET", url, "Range: bytes=-5\nIf-Range: "+tag); err != nil || res.StatusCode != 206 || !bytes.Equal(body, whole[len(whole)-5:]) {
		t.Errorf("the end: %v %v", err, res)
	}
	if res, _, err := get(t, "GET", url, fmt.Sprintf("Range: bytes=%d-", len(whole))); err != nil || res.StatusCode != 416 {
		t.Errorf("beyond the end: %v %v", err, res)
	}
	if res, _, err := get(t, "GET", url, "If-None-Match: "+tag); err != nil || res.StatusCode != 304 || tag == "" {
		t.Errorf("with the tag: %v %v", err, res)
	}
	if res, _, err := get(t, "GET", strings.Replace(url, "/0.mp4", "/1.mp4", 1), ""); err != nil || res.StatusCode != 404 {
		t.Errorf("a result that is not there: %v %v", err, res)
	}
	if res, body, err := get(t, "GET", urlOf(t, "hops=3"), ""); err != nil || res.StatusCode != 200 || described(t, body) != "mp4 1280x720 5s" || res.Request.URL.Query().Get("hop") != "3" {
		t.Errorf("behind redirects: %v %v", err, res)
	}
	if res, body, err := get(t, "GET", urlOf(t, "bare=1"), "Range: bytes=0-1"); err != nil || res.StatusCode != 200 || res.ContentLength != -1 || len(body) != len(whole) {
		t.Errorf("bare: %v %v", err, res)
	}
	if _, body, err := get(t, "GET", urlOf(t, "on=content fault=u7-length"), ""); err == nil || len(body) == 0 || len(body) >= len(whole) {
		t.Errorf("cut: %v, %d of %d bytes", err, len(body), len(whole))
	}
	if res, body, err := get(t, "GET", urlOf(t, "on=content fault=u20-html"), ""); err != nil || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || len(body) == 0 {
		t.Errorf("a page: %v %v", err, res)
	}
}

// A large result is made while it is sent.
func TestLargeResult(t *testing.T) {
	t.Parallel()
	s := fixed()
	id := runwayBegin(t, s, "[[sim polls=1 bytes=209715200]]")
	_, read := runwayStatus(t, s, id)
	url := strings.TrimPrefix(textAt(read, "output.0"), "http://example.com")
	var w countingWriter
	s.ServeHTTP(&w, httptest.NewRequest("GET", url, nil))
	if w.n != 209715200 || w.largest > 1<<20 {
		t.Errorf("%d bytes, %d at once", w.n, w.largest)
	}
	r := httptest.NewRequest("GET", url, nil)
	r.Header.Set("Range", "bytes=100000000-100000099")
	part, again := httptest.NewRecorder(), httptest.NewRecorder()
	s.ServeHTTP(part, r)
	r.Header.Set("Range", "bytes=99999990-100000009")
	s.ServeHTTP(again, r)
	if part.Code != 206 || part.Body.Len() != 100 || !bytes.Equal(part.Body.Bytes()[:10], again.Body.Bytes()[10:]) {
		t.Errorf("%d, %d bytes", part.Code, part.Body.Len())
	}
	r.Header.Set("Range", "bytes=0-9999")
	head := httptest.NewRecorder()
	s.ServeHTTP(head, r)
	b := head.Body.Bytes()
	if got := described(t, b[:bytes.LastIndex(b, []byte("free"))-4]); got != "mp4 1280x720 4s" {
		t.Errorf("what stands before the filler is %s", got)
	}
}

type countingWriter struct {
	header     http.Header
	n, largest int
}

func (w *countingWriter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}
func (w *countingWriter) WriteHeader(int) {}
func (w *countingWriter) Write(b []byte) (int, error) {
	w.n, w.largest = w.n+len(b), max(w.largest, len(b))
	return len(b), nil
}

func TestBucket(t *testing.T) {
	t.Parallel()
	s := fixed()
	const model = "/v1/projects/p/locations/l/publishers/google/models/veo-3.0-generate-001"
	w := post(s, "POST", model+":predictLongRunning", "Authorization: Bearer k", `{"instances":[{"prompt":"[[sim polls=1]] A heron"}],"parameters":{"storageUri":"gs://b/f"}}`)
	name := textAt(readTree(t, w.Body.Bytes()), "name")
	w = post(s, "POST", model+":fetchPredictOperation", "Authorization: Bearer k", `{"operationName":"`+name+`"}`)
	object, ok := strings.CutPrefix(textAt(readTree(t, w.Body.Bytes()), "response.videos.0.gcsUri"), "gs://b/")
	path := "/storage/v1/b/b/o/" + strings.ReplaceAll(object, "/", "%2F")
	if w := post(s, "GET", path+"?alt=media", "Authorization: Bearer k", ""); !ok || w.Code != 200 || described(t, w.Body.Bytes()) != "mp4 1280x720 8s" {
		t.Errorf("%s: %d %.100s", path, w.Code, w.Body)
	}
	if w := post(s, "GET", path+"?alt=media", "Authorization: Bearer other", ""); w.Code != 404 {
		t.Errorf("with another key: %d", w.Code)
	}
}

// TestUsageOfImages: counts follow size and quality, and bad providers count badly.
func TestUsageOfImages(t *testing.T) {
	t.Parallel()
	s := fixed()
	usage := func(more, marker string) any {
		w := post(s, "POST", "/v1/images/generations", "", `{"model":"gpt-image-1","prompt":"`+marker+`A heron"`+more+`}`)
		return readTree(t, w.Body.Bytes())["usage"]
	}
	for _, c := range []struct {
		more, marker, path string
		want               any
	}{
		{`,"quality":"low"`, "", "output_tokens", 272.0},
		{`,"quality":"high","n":2`, "", "output_tokens", 8320.0},
		{`,"quality":"high","size":"1024x1536"`, "", "output_tokens", 6240.0},
		{``, "", "input_tokens", 2.0},
		{``, "[[sim usage=negative]] ", "output_tokens", -1057.0},
		{``, "[[sim fault=u30-strings]] ", "output_tokens", "1056"},
	} {
		if got := at(usage(c.more, c.marker), c.path); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.more, c.marker, got, c.want)
		}
	}
	if got := usage("", "[[sim usage=missing]] "); got != nil {
		t.Errorf("usage that is missing: %v", got)
	}
}

// TestSizesAreTrue: what is asked for is what the bytes have.
func TestSizesAreTrue(t *testing.T) {
	t.Parallel()
	s := fixed()
	for _, format := range []string{"png", "jpeg", "webp"} {
		for size, want := range map[string]string{`{"width":100,"height":37}`: "100x37", `"portrait_16_9"`: "576x1024"} {
			w := post(s, "POST", "/fal/run/fal-ai/flux", "Authorization: Key k", `{"prompt":"a","image_size":`+size+`,"output_format":"`+format+`"}`)
			file := post(s, "GET", strings.TrimPrefix(textAt(readTree(t, w.Body.Bytes()), "images.0.url"), "http://example.com"), "", "")
			if got := described(t, file.Body.Bytes()); got != format+" "+want {
				t.Errorf("%s: %s", format, got)
			}
		}
	}
	for size, want := range map[string]string{"1280x512": "png 1280x512", "auto": "png 1024x1024"} {
		w := post(s, "POST", "/v1/images/generations", "", `{"model":"gpt-image-2","prompt":"a","size":"`+size+`"}`)
		if got := string(shortened(t, []byte(textAt(readTree(t, w.Body.Bytes()), "data.0.b64_json")))); got != "<"+want+">" {
			t.Errorf("%s: %s", size, got)
		}
	}
}

// TestFilesForPlayers asks ffprobe and ffmpeg whether they can read what is made.
func TestFilesForPlayers(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal("this test needs ffmpeg: run make ffmpeg, or put it into the search path")
	}
	s := fixed()
	for _, c := range []struct{ name, path, body, url string }{
		{"a.mp4", "/fal/run/x/video", `{"prompt":"a","resolution":"480p"}`, "video.url"},
		{"b.mp4", "/fal/run/x/video", `{"prompt":"[[sim bytes=3000000]] a","resolution":"1080p","aspect_ratio":"9:16","duration":"10"}`, "video.url"},
		{"c.webp", "/fal/run/x/image", `{"prompt":"a","output_format":"webp"}`, "images.0.url"},
		{"d.png", "/fal/run/x/image", `{"prompt":"a","output_format":"png"}`, "images.0.url"},
		{"e.jpeg", "/fal/run/x/image", `{"prompt":"a"}`, "images.0.url"},
	} {
		w := post(s, "POST", c.path, "Authorization: Key k", c.body)
		file := post(s, "GET", strings.TrimPrefix(textAt(readTree(t, w.Body.Bytes()), c.url), "http://example.com"), "", "")
		name := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(name, file.Body.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), ffmpeg, "-v", "error", "-i", name, "-f", "null", "-").CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", c.name, err, out)
		}
	}
}

// TestImageStreamFaults: the faults of streams work on streams of images.
func TestImageStreamFaults(t *testing.T) {
	t.Parallel()
	stream := func(marker string) string {
		w := post(fixed(), "POST", "/v1/images/generations", "", `{"model":"gpt-image-1","size":"1024x1024","stream":true,"partial_images":3,"prompt":"`+marker+` A heron"}`)
		return w.Body.String()
	}
	const partial, completed = "event: image_generation.partial_image\n", "event: image_generation.completed\n"
	for _, c := range []struct {
		marker              string
		partials, completed int
		has                 string
	}{
		{"", 3, 1, `"usage":{"input_tokens":2`},
		{"[[sim fault=u7 after=1]]", 1, 0, ""},
		{"[[sim fault=u8]]", 3, 0, ""},
		{"[[sim fault=u19 after=2]]", 2, 0, "event: error\ndata: {\"type\":\"error\",\"error\":{"},
		{"[[sim fault=u27-cut]]", 4, 1, `"b64_json":"cut` + "\n"},
		{"[[sim fault=u28-frames]]", 5, 2, ""},
		{"[[sim usage=missing]]", 3, 1, ""},
	} {
		got := stream(c.marker)
		if n, m := strings.Count(got, partial), strings.Count(got, completed); n != c.partials || m != c.completed || !strings.Contains(got, c.has) {
			t.Errorf("%q: %d previews, %d pictures", c.marker, n, m)
		}
	}
}

// A wire for images and videos answers any bytes in its own form.
func FuzzMedia(f *testing.F) {
	for i, c := range mediaSubmits {
		f.Add(uint8(i), []byte(fmt.Sprintf(c.body, "[[sim polls=1]]")))
	}
	n := len(mediaSubmits)
	form := "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na\r\n--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n" + string(pngOf(2, 2)) + "\r\n--b--\r\n"
	f.Add(uint8(n), []byte(form))
	f.Add(uint8(n+1), []byte(strings.Replace(form, `name="image"`, `name="input_reference"`, 1)))
	f.Add(uint8(n+2), []byte("eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJ4In0.AAAA"))
	s := sim.New(sim.Config{})
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		if bytes.Contains(body, []byte("[[sim")) && !bytes.Contains(body, []byte("[[sim polls=1]]")) {
			return // settings can make answers large or late, as they should
		}
		var w *httptest.ResponseRecorder
		switch i := int(which) % (n + 3); {
		case i < n:
			w = post(s, "POST", mediaSubmits[i].path, mediaSubmits[i].headers, string(body))
		case i < n+2:
			w = post(s, "POST", []string{"/v1/images/edits", "/v1/videos"}[i-n], "Content-Type: multipart/form-data; boundary=b", string(body))
		default:
			r := httptest.NewRequest("GET", "/kling/v1/videos/text2video/1", nil)
			r.Header.Set("Authorization", "Bearer "+string(body))
			w = httptest.NewRecorder()
			s.ServeHTTP(w, r)
		}
		kind := w.Header().Get("Content-Type")
		if w.Code >= 500 || strings.HasPrefix(kind, "application/json") != json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s %.300s", w.Code, kind, w.Body)
		}
	})
}
