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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// node is a running `weir demo`, as a script sees it.
type node struct {
	BaseURL       string `json:"base_url"`
	APIKey        string `json:"api_key"`
	ManagementKey string `json:"management_key"`
	AdminURL      string `json:"admin_url"`
	PID           int    `json:"pid"`
	cmd           *exec.Cmd
	log           *bytes.Buffer
}

// buildWeir compiles the program once for all tests of this package.
var buildWeir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-test-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "weir")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

func weir(t *testing.T) string {
	t.Helper()
	bin, err := buildWeir()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// startDemo starts a node on dir and waits until it has printed its line.
func startDemo(t *testing.T, dir string) *node {
	t.Helper()
	n := &node{log: &bytes.Buffer{}}
	n.cmd = exec.Command(weir(t), "demo", "--json", "--listen", "127.0.0.1:0", "--data", dir)
	n.cmd.Env = append(os.Environ(), "WEIR_SERVER_SHUTDOWN_DELAY=0s")
	n.cmd.Stderr = n.log
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		n.kill()
		t.Fatalf("the demo ended before it was ready: %v\n%s", err, n.log)
	}
	if err := json.Unmarshal(line, n); err != nil {
		n.kill()
		t.Fatalf("%v in %s", err, line)
	}
	return n
}

func (n *node) kill() {
	_ = n.cmd.Process.Signal(syscall.SIGKILL)
	_ = n.cmd.Wait()
}

func (n *node) post(ctx context.Context, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.BaseURL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}

func (n *node) getJSON(path string, into any) (int, error) {
	req, err := http.NewRequest(http.MethodGet, n.BaseURL+path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+n.APIKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, json.NewDecoder(res.Body).Decode(into)
}

// delivered collects the ids of answers that reached the client whole.
type delivered struct {
	mu  sync.Mutex
	ids []string
}

func (d *delivered) add(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids = append(d.ids, id)
}

func (d *delivered) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.ids)
}

// load sends calls until ctx ends; an answer counts as delivered when its last byte came.
func (n *node) load(ctx context.Context, d *delivered, workers, streams int) *sync.WaitGroup {
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				n.whole(ctx, d, i)
			}
		})
	}
	for i := range streams {
		wg.Go(func() {
			for ctx.Err() == nil {
				n.stream(ctx, d, i)
			}
		})
	}
	return &wg
}

func (n *node) whole(ctx context.Context, d *delivered, i int) {
	res, err := n.post(ctx, fmt.Sprintf(`{"model":"sim/chat","messages":[{"role":"user","content":"call %d"}]}`, i))
	if err != nil {
		return
	}
	defer res.Body.Close()
	var answer struct{ ID string }
	if json.NewDecoder(res.Body).Decode(&answer) == nil && res.StatusCode == http.StatusOK {
		d.add(answer.ID)
	}
}

func (n *node) stream(ctx context.Context, d *delivered, i int) {
	res, err := n.post(ctx, fmt.Sprintf(`{"model":"sim/chat","stream":true,"messages":[{"role":"user","content":"stream %d [[sim gap=20ms frames=20]]"}]}`, i))
	if err != nil {
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && bytes.HasSuffix(body, []byte("data: [DONE]\n\n")) && !bytes.Contains(body, []byte(`"error":{`)) {
		d.add(res.Header.Get("X-Generation-Id"))
	}
}

// A process that is killed twenty times under load neither loses a delivered answer's charge, nor doubles one, nor leaks a hold.
func TestKillUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; the full run has it")
	}
	dir := t.TempDir()
	var got delivered
	for round := range 20 {
		started := time.Now()
		n := startDemo(t, dir)
		if took := time.Since(started); took > 3*time.Second {
			t.Errorf("round %d: ready only after %v", round, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		wg := n.load(ctx, &got, 8, 200)
		// the kill falls at a random moment of full work: as soon as enough answers have come in this round
		waitFor(t, "answers", func() bool { return got.count() >= (round+1)*150 })
		n.kill()
		cancel()
		wg.Wait()
		http.DefaultClient.CloseIdleConnections()
	}
	n := startDemo(t, dir)
	defer n.kill()

	waitFor(t, "all holds to end", func() bool {
		var credits struct {
			Data struct{ Reserved json.Number }
		}
		status, err := n.getJSON("/v1/credits", &credits)
		return err == nil && status == http.StatusOK && credits.Data.Reserved.String() == "0"
	})
	for _, id := range got.ids {
		var g struct {
			Data struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		if status, err := n.getJSON("/v1/generation?id="+id, &g); err != nil || status != http.StatusOK || g.Data.ID != id {
			t.Fatalf("%s was delivered and is not recorded: status %d, %v", id, status, err)
		}
	}
	t.Logf("%d delivered answers, each recorded", len(got.ids))
	verify(t, dir)
}

// verify runs the ledger's own recomputation: every check must hold.
func verify(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.Command(weir(t), "ledger", "verify", "--json", "--data", dir).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("ledger verify: %v\n%s%s", err, out, exit.Stderr)
	}
	var report struct {
		Balanced bool `json:"balanced"`
		Checks   []struct {
			Name   string `json:"name"`
			OK     bool   `json:"ok"`
			Detail string `json:"detail"`
		} `json:"checks"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if !report.Balanced || len(report.Checks) == 0 {
		t.Fatalf("not balanced: %s", out)
	}
	for _, c := range report.Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// waitFor polls cond until it holds; the deadline only bounds a hang.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}
