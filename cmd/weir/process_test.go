package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the factor by which a bounded wait may exceed its promise: tests share few cores, and may run with the race detector. The log
// reports waits over the promise.
const patience = 6

// process is a running weir and its output.
type process struct {
	cmd    *exec.Cmd
	stderr *lines
	exited chan struct{} // closed when it has ended
	err    error         // its result; valid once exited is closed
}

// lines collects an output, and delivers its lines as they arrive.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// with returns the last whole line that contains word, or "".
func (l *lines) with(word string) string {
	found := ""
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, word) && strings.HasSuffix(line, "\n") {
			found = line
		}
	}
	return found
}

// environment is the environment of programs under test. It has no provider's key of the machine, so that no request leaves it.
func environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TZ=UTC",
		"WEIR_SERVER_LIMITS_MAX_STREAMS_PER_KEY=1000", // one key has all the streams of a test
		"SETTABLE_CONSTANTS=yes",
		"WEIR_PRICE_LISTS_PUBLISH=off",
	}, more...)
}

// start runs weir. If firstLine is not nil, it returns once weir has written its first line to standard output.
func start(t *testing.T, firstLine *string, args ...string) *process {
	t.Helper()
	return startIn(t, environment(), firstLine, args...)
}

func startIn(t *testing.T, env []string, firstLine *string, args ...string) *process {
	t.Helper()
	return startCommand(t, exec.Command("weir", args...), env, firstLine)
}

// startCommand starts a program that is, or becomes, weir.
func startCommand(t *testing.T, cmd *exec.Cmd, env []string, firstLine *string) *process {
	t.Helper()
	p := &process{cmd: cmd, stderr: &lines{}, exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = env, p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	first := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, r)
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if firstLine != nil {
		if *firstLine = <-first; *firstLine == "" {
			<-p.exited
			t.Fatalf("%q ended before it was ready: %v\n%s", cmd.Args, p.err, p.stderr)
		}
	}
	return p
}

func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// kill ends the process at once. It does nothing after the end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// node is a running gateway.
type node struct {
	*process
	BaseURL  string `json:"base_url"`
	APIKey   string `json:"api_key"`
	AdminURL string `json:"admin_url"`
	client   *http.Client
	model    string
}

func newClient(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 500}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// startDemo starts a node with its simulator on dir and waits for its output line. more is added to its environment.
func startDemo(t *testing.T, dir string, more ...string) *node {
	t.Helper()
	n := &node{client: newClient(t), model: "sim/chat"}
	line := ""
	n.process = startIn(t, environment(more...), &line, "demo", "--json", "--listen", "127.0.0.1:0", "--data", dir)
	if err := json.Unmarshal([]byte(line), n); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return n
}

// simulator starts the simulator in a separate process and returns its base URL.
func simulator(t *testing.T) string {
	t.Helper()
	line := ""
	start(t, &line, "sim", "--listen", "127.0.0.1:0")
	_, url, ok := strings.Cut(strings.TrimSpace(line), "ready at ")
	if !ok {
		t.Fatalf("the simulator said %q", line)
	}
	return url
}

// site is a node with a configuration file, and a simulator in a separate process.
type site struct {
	*node
	dir, file, upstream string
	within              []string // a command that runs weir elsewhere than here
}

// settings are the parts of a site's configuration that tests change.
type settings struct {
	price  string // of an answer token
	server string // a line of the server's section
}

func (s *site) config(c settings) string {
	return fmt.Sprintf(`server:
  listen: 127.0.0.1:0
  admin_listen: 127.0.0.1:0
  limits: {public_per_minute: 1000000, failed_auth_per_minute: 1000000, anonymous_per_second: 1000000, anonymous_burst: 1000000, max_streams_per_key: 1000000, max_user_share: 100, user_calls_per_minute: 1000000}
  %s
data_dir: %s
builtin: false
providers:
  - id: local
    base_url: %s
    models:
      - id: test/chat
        upstream_id: chat
        prices: {prompt: "0.1", completion: "%s"}
        context_length: 100000
        max_output: 4000
`, c.server, filepath.Join(s.dir, "data"), s.upstream, c.price)
}

// write replaces a configuration atomically, as editors and deployments do.
func (s *site) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(s.file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.file+".new", s.file); err != nil {
		t.Fatal(err)
	}
}

// startSite serves a configuration, with a user with a thousand rubles.
func startSite(t *testing.T, c settings) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{dir: dir, file: filepath.Join(dir, "weir.yaml"), upstream: simulator(t), node: &node{client: newClient(t), model: "test/chat"}}
	s.write(t, s.config(c))
	weir(t, "user", "add", "anna", "-c", s.file)
	weir(t, "topup", "anna", "1000", "-c", s.file)
	s.APIKey = strings.TrimSpace(weir(t, "key", "add", "-q", "anna", "-c", s.file))
	s.serve(t)
	return s
}

// serve starts the site's node, for the first time or again.
func (s *site) serve(t *testing.T) {
	t.Helper()
	args := append(slices.Clone(s.within), "weir", "serve", "-c", s.file)
	s.serveAs(t, startCommand(t, exec.Command(args[0], args[1:]...), environment(), nil))
}

// serveAs waits until a started process serves the site.
func (s *site) serveAs(t *testing.T, p *process) {
	t.Helper()
	s.process = p
	const ready = "weir is ready"
	waitFor(t, "the node to be ready", func() bool { return s.ended() || s.stderr.with(ready) != "" })
	line := s.stderr.with(ready)
	if line == "" {
		t.Fatalf("weir serve ended: %v\n%s", s.err, s.stderr)
	}
	if err := json.Unmarshal([]byte(line), s.node); err != nil {
		t.Fatal(err)
	}
}

// weir runs one command and returns its output.
func weir(t *testing.T, args ...string) string {
	t.Helper()
	return weirIn(t, environment(), args...)
}

func weirIn(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("weir", args...)
	cmd.Env = env
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("weir %s: %v\n%s%s", strings.Join(args, " "), err, out, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (n *node) post(ctx context.Context, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.BaseURL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	req.Header.Set("Content-Type", "application/json")
	return n.client.Do(req)
}

func (n *node) getJSON(path string, into any) (int, error) {
	req, err := http.NewRequest(http.MethodGet, n.BaseURL+path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	res, err := n.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, json.NewDecoder(res.Body).Decode(into)
}

// reply is an answer that the client received completely.
type reply struct {
	id    string
	usage usage
	last  bool // the node announced that it closes the connection
}

// broken is an answer that failed or was cut.
type broken struct {
	what string
	err  error
}

func (b *broken) String() string {
	if b == nil {
		return "nothing was wrong"
	}
	return fmt.Sprintf("%s (%v)", b.what, b.err)
}

// usage is the member of answers and last chunks that reports the cost.
type usage struct {
	PromptTokens     int64       `json:"prompt_tokens"`
	CompletionTokens int64       `json:"completion_tokens"`
	Cost             json.Number `json:"cost"`
}

// whole sends one call and reads its answer.
func (n *node) whole(ctx context.Context, prompt string) (reply, *broken) {
	res, err := n.post(ctx, fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, n.model, prompt))
	if err != nil {
		return reply{}, &broken{"no answer", err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, &broken{"answer cut", err}
	}
	var a struct {
		ID    string
		Usage usage
	}
	if err := json.Unmarshal(body, &a); err != nil || res.StatusCode != http.StatusOK {
		return reply{}, &broken{fmt.Sprintf("status %d %s", res.StatusCode, body), err}
	}
	return reply{a.ID, a.Usage, res.Close}, nil
}

const done = "data: [DONE]\n\n"

// stream sends one streamed call and reads its frames to the end. began, which may be nil, is called after the first.
func (n *node) stream(ctx context.Context, prompt string, began func()) (reply, *broken) {
	res, err := n.post(ctx, fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":%q}]}`, n.model, prompt))
	if err != nil {
		return reply{}, &broken{"no answer", err}
	}
	defer res.Body.Close()
	r := bufio.NewReader(res.Body)
	first, err := r.ReadString('\n')
	if res.StatusCode != http.StatusOK {
		return reply{}, &broken{fmt.Sprintf("status %d %s", res.StatusCode, first), nil}
	}
	if err != nil {
		return reply{}, &broken{"no frame", err}
	}
	if began != nil {
		began()
	}
	rest, err := io.ReadAll(r)
	text := first + string(rest)
	if err != nil {
		return reply{}, &broken{"stream cut", err}
	}
	frames, whole := strings.CutSuffix(text, done)
	if !whole || res.StatusCode != http.StatusOK || strings.Contains(frames, `"error":{`) {
		return reply{}, &broken{fmt.Sprintf("status %d %s", res.StatusCode, text[max(0, len(text)-1200):]), nil}
	}
	return lastChunk(res, frames)
}

// lastChunk reads the cost from the last frame before the end.
func lastChunk(res *http.Response, frames string) (reply, *broken) {
	frames = strings.TrimSuffix(frames, "\n\n")
	last := frames[strings.LastIndex(frames, "\n")+1:]
	var c struct{ Usage *usage }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(last, "data: ")), &c); err != nil || c.Usage == nil {
		return reply{}, &broken{"no usage in the last frame: " + last, err}
	}
	return reply{res.Header.Get("X-Generation-Id"), *c.Usage, res.Close}, nil
}

// delivered collects the answers that reached a client.
type delivered struct {
	mu      sync.Mutex
	replies []reply
}

func (d *delivered) add(r reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replies = append(d.replies, r)
}

func (d *delivered) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.replies)
}

// verify runs weir verify: every check must succeed.
func verify(t *testing.T, args ...string) {
	t.Helper()
	verifyIn(t, environment(), args...)
}

func verifyIn(t *testing.T, env []string, args ...string) {
	t.Helper()
	out := weirIn(t, env, append([]string{"ledger", "verify", "--json"}, args...)...)
	var report struct {
		Balanced bool `json:"balanced"`
		Checks   []struct {
			Name   string `json:"name"`
			OK     bool   `json:"ok"`
			Detail string `json:"detail"`
		} `json:"checks"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if !report.Balanced || len(report.Checks) == 0 {
		t.Errorf("not balanced: %s", out)
	}
	for _, c := range report.Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// waitFor polls cond until it holds, ever less often. The deadline only prevents a hang.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for pause := time.Millisecond; !cond(); pause = min(2*pause, 64*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline:
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

// leastBound is the shortest bound: a process may wait for seconds until it has a processor.
const leastBound = 20 * time.Second

// promised checks the time of something that must take at most limit.
func promised(t *testing.T, what string, took, limit time.Duration) {
	t.Helper()
	t.Logf("%s: %v, promised %v", what, took.Round(time.Millisecond), limit)
	if took > max(limit*patience, leastBound) {
		t.Errorf("%s took %v, promised %v", what, took, limit)
	}
}

// simulator sends a request to the site's simulator.
func (s *site) simulator(t *testing.T, method, path string, into any) {
	t.Helper()
	req, err := http.NewRequest(method, strings.TrimSuffix(s.upstream, "/v1")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
