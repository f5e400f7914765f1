package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// studio is a provider of videos: the simulator in a process, behind a gate that can stop one request at a given point, so that the gateway
// can be killed there.
type studio struct {
	gate *httptest.Server
	sim  string        // its address
	end  chan struct{} // closed when the test ends

	mu   sync.Mutex
	stop *stop
}

// stop is the point at which a request is stopped: before the provider gets it, after the provider has answered but before the gateway gets
// the answer, after half of the answer, or after the whole.
type stop struct {
	requests *regexp.Regexp // matches method, space and path
	when     string         // "before", "after", "half", "whole"
	reached  chan struct{}
}

func startStudio(t testing.TB) *studio {
	t.Helper()
	cmd := exec.Command(program, "sim", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	found := regexp.MustCompile(`http://[^/\s]+`).FindString(line)
	if err != nil || found == "" {
		t.Fatalf("the simulator said %q, %v", line, err)
	}
	s := &studio{sim: found, end: make(chan struct{})}
	s.gate = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.end)
		s.gate.Close()
	})
	return s
}

// keep holds a request until the gateway is killed. The server does not notice that when the gateway has sent the next request already, after
// a whole answer: then until the end of the test.
func (s *studio) keep(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.end:
	}
}

// at arms the gate once. The channel is closed when a request has been stopped.
func (s *studio) at(requests, when string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = &stop{regexp.MustCompile(requests), when, make(chan struct{})}
	return s.stop.reached
}

func (s *studio) take(r *http.Request) *stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.stop
	if x == nil || !x.requests.MatchString(r.Method+" "+r.URL.Path) {
		return nil
	}
	s.stop = nil
	return x
}

func (s *studio) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	x := s.take(r)
	if x != nil && x.when == "before" {
		close(x.reached)
		s.keep(r)
		return
	}
	req, err := http.NewRequest(r.Method, s.sim+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Header = r.Header.Clone()
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	switch {
	case x == nil:
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(got)
		return
	case x.when == "half":
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(got[:len(got)/2])
		_ = http.NewResponseController(w).Flush()
	case x.when == "whole":
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(got)
		_ = http.NewResponseController(w).Flush()
	}
	close(x.reached)
	s.keep(r)
}

// submits returns the number of submissions to the provider.
func (s *studio) submits(t *testing.T) (n int64) {
	t.Helper()
	var stats struct{ Jobs []struct{ Submits int64 } }
	body := fetched(t, s.sim+"/sim/stats")
	if err := json.Unmarshal(body, &stats); err != nil {
		t.Fatal(err)
	}
	for _, j := range stats.Jobs {
		n += j.Submits
	}
	return n
}

func fetched(t *testing.T, address string) []byte {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

const videoConfig = `
server: {listen: %[1]q, admin_listen: "off", shutdown_delay: 0s}
data_dir: %[2]q
builtin: false
price_lists: {publish: off}
log: {access: false}
video: {first_poll: 100ms, most_poll: 300ms, keep: %[4]s, min_free_bytes: 1}
providers:
  - id: films
    base_url: %[3]s/v1
    api_key: sk-films
    models: [{id: films/plain, upstream_id: video, video: [{price: "2"}]}]
  - id: router
    base_url: %[3]s/openrouter/api/v1
    api_key: sk-router
    quirks: {videos_wire: openrouter}
    models: [{id: router/plain, upstream_id: some/video, video: [{price: "2"}]}]
models:
  - {id: films/plain, type: video, video: {durations: [4], resolutions: [720p]}}
  - {id: router/plain, type: video, video: {durations: [4], resolutions: [720p]}}
`

// node is a gateway process that is killed and restarted.
type node struct {
	t      testing.TB
	url    string
	config string
	key    string
	cmd    *exec.Cmd
	log    lockedBuffer
}

func startNode(t testing.TB, provider, keep string) *node {
	return serveNode(t, videoConfig, provider, keep)
}

// serveNode starts a node with a configuration, a format for its address, its data directory and more.
func serveNode(t testing.TB, format string, more ...any) *node {
	t.Helper()
	address := free(t)
	dir := t.TempDir()
	n := &node{t: t, url: "http://" + address, config: filepath.Join(dir, "weir.yaml")}
	if err := os.WriteFile(n.config, fmt.Appendf(nil, format, append([]any{address, filepath.Join(dir, "data")}, more...)...), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := weir(t, "user", "bootstrap", "alice", "-c", n.config)
	if err != nil {
		t.Fatalf("%v: %s", err, made)
	}
	if n.key = regexp.MustCompile(`sk-weir-v1-[0-9A-Za-z]+`).FindString(made); n.key == "" {
		t.Fatalf("no key in %s", made)
	}
	if said, err := weir(t, "topup", "alice", "100", "-c", n.config); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	n.start()
	t.Cleanup(n.kill)
	return n
}

func (n *node) start() {
	n.t.Helper()
	n.serve()
	n.wait("the gateway to be up", func() bool {
		res, err := http.Get(n.url + "/v1/models")
		if err == nil {
			res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
}

// serve starts the process and does not wait.
func (n *node) serve() {
	n.t.Helper()
	n.cmd = exec.Command(program, "serve", "-c", n.config)
	n.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
}

// kill ends the process without a chance to clean up.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// wait polls. The limit of a minute only prevents a hang.
func (n *node) wait(what string, cond func() bool) {
	n.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(3 * time.Minute) // only prevents a hang: a provider's list is believed a minute after a submission whose outcome is unknown
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			n.t.Fatalf("gave up waiting for %s\n%s", what, n.log.String())
		}
	}
}

// call sends a request; ok is false if the gateway died during it.
func (n *node) call(method, path, body string, header ...string) (status int, got []byte, ok bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, n.url+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.key)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, false
	}
	defer res.Body.Close()
	got, err = io.ReadAll(res.Body)
	return res.StatusCode, got, err == nil
}

type videoJob struct {
	ID, Status, Error string
	Usage             *struct{ Cost json.Number }
}

func (n *node) submit(model string) videoJob {
	n.t.Helper()
	return n.video(model, "A heron.")
}

func (n *node) video(model, prompt string) videoJob {
	n.t.Helper()
	status, body, ok := n.call("POST", "/v1/videos", `{"model":"`+model+`","prompt":"`+prompt+`"}`)
	return n.job(http.StatusAccepted, status, body, ok)
}

func (n *node) job(want, status int, body []byte, ok bool) (j videoJob) {
	n.t.Helper()
	if err := json.Unmarshal(body, &j); err != nil || !ok || status != want {
		n.t.Fatalf("status %d, want %d, %v: %s", status, want, err, body)
	}
	return j
}

func (n *node) ended(id string) (j videoJob) {
	n.t.Helper()
	n.wait("the job to end", func() bool {
		status, body, ok := n.call("GET", "/v1/videos/"+id, "")
		j = n.job(http.StatusOK, status, body, ok)
		return j.Status != "pending" && j.Status != "in_progress"
	})
	return j
}

// wantMoney checks the charge for a job's final state, that nothing is held, that both places of the user are free, and that the ledger is
// balanced.
func (n *node) wantMoney(completed int) {
	n.t.Helper()
	var c struct {
		Data struct {
			Usage    json.Number `json:"total_usage"`
			Reserved json.Number
		}
	}
	n.wait("nothing to be held", func() bool {
		_, body, _ := n.call("GET", "/v1/credits", "")
		return json.Unmarshal(body, &c) == nil && c.Data.Reserved == "0"
	})
	if want := json.Number(fmt.Sprint(8 * completed)); c.Data.Usage != want {
		n.t.Errorf("charged are %s, want %s", c.Data.Usage, want)
	}
	one, two := n.submit("films/plain"), n.submit("films/plain")
	n.ended(one.ID)
	n.ended(two.ID)
	n.kill()
	if said, err := weir(n.t, "ledger", "verify", "-c", n.config); err != nil {
		n.t.Errorf("ledger verify: %v\n%s", err, said)
	}
}

// The gateway is killed at each step of a job. After a restart there is at most one job at the provider, and one charge or none.
func TestVideoJobSurvivesDeath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		model          string
		requests, when string
		want           string
		submits        int64
	}{
		{"before the provider has it", "router/plain", `^POST .*/videos$`, "before", "failed", 0},
		{"before its answer is known, where it can be found", "films/plain", `^POST .*/videos$`, "after", "completed", 1},
		{"before its answer is known, where it cannot", "router/plain", `^POST .*/videos$`, "after", "failed", 1},
		{"while it is asked for progress", "films/plain", `^GET .*$`, "before", "completed", 1},
		{"before its progress is known", "router/plain", `^GET .*$`, "after", "completed", 1},
		{"while the video is asked for", "films/plain", `^GET .*/content$`, "before", "completed", 1},
		{"while the video is copied", "router/plain", `^GET .*/content$`, "half", "completed", 1},
		{"when the video is nearly copied", "films/plain", `^GET .*/content$`, "after", "completed", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startStudio(t)
			n := startNode(t, s.gate.URL, "folder")
			reached := s.at(c.requests, c.when)
			job := n.submit(c.model)
			select {
			case <-reached:
			case <-time.After(3 * time.Minute):
				t.Fatalf("the moment did not come\n%s", n.log.String())
			}
			n.kill()
			n.start()
			job = n.ended(job.ID)
			if job.Status != c.want || (job.Usage != nil) != (c.want == "completed") {
				t.Errorf("the job is %+v, want it %s\n%s", job, c.want, n.log.String())
			}
			if got := s.submits(t); got != c.submits {
				t.Errorf("the provider made %d jobs, want %d", got, c.submits)
			}
			completed := 0
			if c.want == "completed" {
				completed = 1
				if status, video, ok := n.call("GET", "/v1/videos/"+job.ID+"/content", ""); !ok || status != 200 || len(video) < 1000 || string(video[4:8]) != "ftyp" {
					t.Errorf("the video: status %d, %d bytes", status, len(video))
				}
			}
			n.wantMoney(completed)
		})
	}
}

// The gateway is killed repeatedly at random times, around the response to the client and around the end of the job.
func TestVideoJobSurvivesDeaths(t *testing.T) {
	t.Parallel()
	s := startStudio(t)
	n := startNode(t, s.gate.URL, "folder")
	const rounds = 6
	done := 0
	for round := range rounds {
		before := s.submits(t)
		name, body := fmt.Sprint("round ", round), `{"model":"films/plain","prompt":"Heron number `+fmt.Sprint(round)+`."}`
		died := time.AfterFunc(time.Duration(round)*3*time.Millisecond, func() { _ = n.cmd.Process.Kill() })
		_, _, _ = n.call("POST", "/v1/videos", body, "Idempotency-Key", name)
		_ = n.cmd.Wait()
		died.Stop()
		n.start()
		status, got, ok := n.call("POST", "/v1/videos", body, "Idempotency-Key", name)
		if !ok || status != http.StatusAccepted && status != http.StatusUnprocessableEntity { // it was accepted, but the response is lost
			t.Fatalf("round %d: status %d: %s", round, status, got)
		}
		var page struct{ Data []videoJob }
		_, list, _ := n.call("GET", "/v1/videos?limit=1", "")
		if err := json.Unmarshal(list, &page); err != nil || len(page.Data) != 1 {
			t.Fatalf("%v: %s", err, list)
		}
		died = time.AfterFunc(time.Duration(200+round*60)*time.Millisecond, func() { _ = n.cmd.Process.Kill() })
		_ = n.cmd.Wait()
		died.Stop()
		n.start()
		if j := n.ended(page.Data[0].ID); j.Status != "completed" {
			t.Fatalf("round %d: the job is %+v\n%s", round, j, n.log.String())
		}
		done++
		if made := s.submits(t) - before; made != 1 {
			t.Errorf("round %d: the provider made %d jobs", round, made)
		}
	}
	n.wantMoney(done)
}
