package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/internal/money"
)

// door is what all nodes reach the providers of jobs through, each under its own name. While it is shut, requests that would bring a job to its
// end wait.
type door struct {
	address string

	mu     sync.Mutex
	pass   int           // lines of batches that are let through while it is shut
	opened chan struct{} // nil while it is open
	waited map[string]map[string]bool
}

// What a request at the door is for.
const (
	forVideo = "a video"
	forLine  = "a line of a batch"
	forBatch = "a provider's batch"
)

func newDoor(t *testing.T, host, upstream string) *door {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	target := &url.URL{Scheme: "http", Host: hostOf(t, upstream)}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}}
	d := &door{address: l.Addr().String()}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		r.URL.Path = "/" + path
		body, err := io.ReadAll(r.Body) // from here on the end of the connection is seen
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if d.lets(r, node) {
			proxy.ServeHTTP(w, r)
		}
	}))
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(func() { d.open(); server.CloseClientConnections(); server.Close() })
	return d
}

// lets waits until a request may pass, or its node is gone: then it reports false.
func (d *door) lets(r *http.Request, node string) bool {
	var what string
	switch {
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/videos/"):
		what = forVideo
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/batches/"):
		what = forBatch
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		what = forLine
	default:
		return true
	}
	d.mu.Lock()
	opened := d.opened
	if opened == nil {
		d.mu.Unlock()
		return true
	}
	if what == forLine && d.pass > 0 {
		d.pass--
		d.mu.Unlock()
		return true
	}
	if d.waited[what] == nil {
		d.waited[what] = map[string]bool{}
	}
	d.waited[what][node] = true
	d.mu.Unlock()
	select {
	case <-opened:
		return r.Context().Err() == nil
	case <-r.Context().Done():
		return false
	}
}

func (d *door) shut(pass int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened, d.pass, d.waited = make(chan struct{}), pass, map[string]map[string]bool{}
}

// forget forgets who has waited.
func (d *door) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waited = map[string]map[string]bool{}
}

func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		close(d.opened)
		d.opened = nil
	}
}

// who are the nodes whose requests for something have waited since the door was shut.
func (d *door) who(what string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.waited[what]))
}

// providers are those of a node that are not everybody's, as the end of the section that site.config began.
func (f *fleet) providers(i int) string {
	return fmt.Sprintf(`  - id: near
    base_url: http://%[1]s/v1
    models:
      - {id: test/near, upstream_id: chat, prices: {prompt: "0.1", completion: "0.4"}}
      - {id: test/two, upstream_id: chat, prices: {prompt: "0.1", completion: "0.4"}}
  - id: films
    base_url: http://%[2]s/node%[3]d/v1
    api_key: sk-films
    models: [{id: test/film, upstream_id: video, video: [{price: "1.5"}]}]
  - id: lines
    base_url: http://%[2]s/node%[3]d/v1
    api_key: sk-lines
    models: [{id: test/lines, upstream_id: echo, prices: {prompt: "1", completion: "2"}}]
  - id: batches
    base_url: http://%[2]s/node%[3]d/v1
    api_key: sk-batches
    models:
      - {id: test/batch, upstream_id: echo, prices: {prompt: "10", completion: "20"}}
      - {id: test/batch, upstream_id: echo, tier: batch, prices: {prompt: "5", completion: "10"}}
  - id: far
    base_url: http://%[4]s/v1
    models: [{id: test/two, upstream_id: chat, prices: {prompt: "0.1", completion: "0.4"}}]
models:
  - id: test/film
    type: video
    video: {resolutions: [720p], durations: [4], aspect_ratios: ["16:9"]}
`, f.near[i].address, f.door.address, i, f.everywhere.address)
}

// takenOver: two of three nodes are killed while they work on a video, a batch of their own and, in the long run, one of a provider. The third
// brings all of them to their end, and each is charged once, also when the dead ones are back with their journals.
func (f *fleet) takenOver(t *testing.T) {
	t.Helper()
	const lines, price, cost = 20, "1000", 6 * money.Ruble // of four seconds
	file := f.nodes[0].file
	weir(t, "user", "add", "vera", "-c", file)
	weir(t, "topup", "vera", price, "-c", file)
	vera := *f.front
	vera.APIKey = strings.TrimSpace(weir(t, "key", "add", "-q", "vera", "-c", file))
	f.slow.Store(true)
	defer f.slow.Store(false)
	before := f.failed.Load()
	last := f.nodes[0] // it takes no job while it is away
	last.signal(t, syscall.SIGTERM)
	last.wantExit(t)
	f.door.shut(lines / 4)
	film := vera.made(t, "/v1/videos", "", `{"model":"test/film","prompt":"a weir"}`)
	own := vera.batch(t, "test/lines", lines)
	theirs, jobs := "", []string{forVideo, forLine}
	if *fleetLong { // it takes a while until it is asked for the first time
		theirs, jobs = vera.batch(t, "test/batch", lines), append(jobs, forBatch)
	}
	for _, what := range jobs {
		waitFor(t, "work on "+what, func() bool { return len(f.door.who(what)) > 0 })
	}
	t.Logf("a video is made by %v, a batch run by %v, a provider's batch watched by %v", f.door.who(forVideo), f.door.who(forLine), f.door.who(forBatch))
	last.serve(t)
	const called = `weir_calls_total{model="test/chat",provider="local"}`
	// One call may be on its way to the node when nginx finds it gone. Several come only when nginx has found it again.
	waitFor(t, "nginx to find the node again", func() bool { return last.counts(t, called) >= fleetWorkers })
	f.allowed(t, "a node is away", before, 0)
	before = f.failed.Load()
	began := time.Now()
	f.nodes[1].kill()
	f.nodes[2].kill()
	f.door.forget()
	for _, what := range jobs {
		waitFor(t, what+" to be taken over", func() bool { return slices.Contains(f.door.who(what), "node0") })
	}
	t.Logf("all of their jobs are taken over from two killed nodes after %v", time.Since(began).Round(time.Millisecond))
	f.allowed(t, "two of three nodes are killed", before, 2*fleetWorkers)
	f.door.open()
	var made videoState
	waitFor(t, "the video", func() bool { return vera.read("/v1/videos/"+film, &made) && made.Status == "completed" })
	sum := rubles(t, made.Usage.Cost)
	if sum != cost {
		t.Errorf("the video costs %s, want %s", sum, cost)
	}
	sum += vera.wantBatch(t, own, lines, 1, 2)
	if theirs != "" {
		sum += vera.wantBatch(t, theirs, lines, 5, 10)
	}
	wantCharged := func(when string) {
		waitFor(t, "nothing to be held "+when, func() bool { return vera.credits(t).Reserved == "0" })
		if got := rubles(t, vera.credits(t).TotalUsage); got != sum {
			t.Errorf("%s %s are charged, the jobs cost %s", when, got, sum)
		}
		verify(t, "-c", file)
	}
	wantCharged("after the jobs were taken over")
	before = f.failed.Load()
	f.nodes[1].serve(t)
	f.nodes[2].serve(t)
	f.answered(t, 20)
	wantCharged("after the dead nodes are back")
	f.allowed(t, "the dead nodes are back", before, 0)
}

type videoState struct {
	Status string
	Usage  usage
}

// made sends something that makes a thing, and returns its id.
func (n *node) made(t *testing.T, path, contentType, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.BaseURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType == "" {
		contentType = "application/json"
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	res, err := n.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	var is struct{ ID string }
	if err := json.Unmarshal(text, &is); err != nil || res.StatusCode >= 300 || is.ID == "" {
		t.Fatalf("%s: %d %s", path, res.StatusCode, text)
	}
	return is.ID
}

// read reads a thing. It reports false when there was no answer.
func (n *node) read(path string, into any) bool {
	status, err := n.getJSON(path, into)
	return err == nil && status == http.StatusOK
}

// batch sends a file of requests, and makes a batch of them.
func (n *node) batch(t *testing.T, model string, lines int) string {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("purpose", "batch")
	part, err := w.CreateFormFile("file", "requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		_, _ = fmt.Fprintf(part, `{"custom_id":"line-%d","method":"POST","url":"/v1/chat/completions","body":{"model":%q,"max_tokens":50,"messages":[{"role":"user","content":"word %d"}]}}`+"\n", i, model, i)
	}
	_ = w.Close()
	file := n.made(t, "/v1/files", w.FormDataContentType(), form.String())
	return n.made(t, "/v1/batches", "", fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"24h"}`, file))
}

// wantBatch waits for the end of a batch, checks that each line has one result, at prices in rubles for a thousand tokens, and returns what it costs.
func (n *node) wantBatch(t *testing.T, id string, lines int, prompt, completion int64) money.Nano {
	t.Helper()
	var b struct {
		Status string
		Output string                                 `json:"output_file_id"`
		Counts struct{ Total, Completed, Failed int } `json:"request_counts"`
		Usage  usage
	}
	waitFor(t, "the end of a batch", func() bool { return n.read("/v1/batches/"+id, &b) && b.Status == "completed" })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.BaseURL+"/v1/files/"+b.Output+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	res, err := n.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var sum money.Nano
	seen := map[string]bool{}
	for from := json.NewDecoder(res.Body); from.More(); {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body struct{ Usage usage }
			}
		}
		if err := from.Decode(&line); err != nil {
			t.Fatal(err)
		}
		is := line.Response.Body.Usage
		var want money.Sum
		want.PerThousand(is.PromptTokens, prompt*int64(money.Ruble))
		want.PerThousand(is.CompletionTokens, completion*int64(money.Ruble))
		exact, err := want.Ceil()
		if got := rubles(t, is.Cost); err != nil || got != exact || got <= 0 || seen[line.CustomID] {
			t.Errorf("%s, seen %t, costs %s for %d and %d tokens, want %s", line.CustomID, seen[line.CustomID], got, is.PromptTokens, is.CompletionTokens, exact)
		}
		seen[line.CustomID] = true
		sum += exact
	}
	if got := rubles(t, b.Usage.Cost); len(seen) != lines || b.Counts.Completed != lines || b.Counts.Failed != 0 || got != sum {
		t.Errorf("%d of %d lines have results: %+v; the lines cost %s", len(seen), lines, b, sum)
	}
	return sum
}

// counts is a metric that is not there before its first event.
func (s *site) counts(t *testing.T, name string) float64 {
	t.Helper()
	text := s.metrics(t)
	if !strings.Contains(text, "\n"+name+" ") {
		return 0
	}
	return s.metric(t, name)
}
