//go:build linux && !race

package main_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"weir/internal/plugin/pdf"
	"weir/internal/plugin/pdf/pdftest"
)

const (
	heapLimit    = "400MiB"
	addressLimit = 4 << 20 // KiB; a Go program reserves about two GiB at its start
	mostResident = 600 << 10
)

// procField returns a number from a process's status, such as VmHWM in KiB.
func procField(t *testing.T, pid int, name string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name+":" {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s of process %d", name, pid)
	return 0
}

// childTime returns the processor time of a process's ended children, in clock ticks.
func childTime(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	words := strings.Fields(rest)
	user, err := strconv.Atoi(words[13])
	if err != nil {
		t.Fatal(err)
	}
	system, err := strconv.Atoi(words[14])
	if err != nil {
		t.Fatal(err)
	}
	return user + system
}

// ask sends a request with a key and returns the status and the answer.
func (n *node) ask(t *testing.T, key, content string) (int, string) {
	t.Helper()
	as := *n
	as.APIKey = key
	res, err := as.post(t.Context(), `{"model":"test/reader","max_tokens":5,"messages":[{"role":"user","content":`+content+`}]}`)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(body)
}

var hostileAll = flag.Bool("hostile.all", false, "TestHostileFiles sends all files of pdftest, and not every fourth")

// Malicious files do not stop the gateway, and do not affect other users. Not parallel: it measures memory and uses much processor time.
func TestHostileFiles(t *testing.T) {
	s := &site{dir: t.TempDir(), upstream: simulator(t), node: &node{client: newClient(t)}}
	s.file = s.dir + "/weir.yaml"
	s.write(t, strings.Replace(s.config(settings{price: "0.1"}), "      - id: test/chat\n", "      - id: test/reader\n        input: [text]\n", 1)+
		"relay: {default_output_tokens: 100}\nruntime: {memory_limit: "+heapLimit+"}\n")
	keys := map[string]string{}
	for _, user := range []string{"poor", "rich", "quiet"} {
		weir(t, "user", "add", user, "-c", s.file)
		keys[user] = strings.TrimSpace(weir(t, "key", "add", "-q", user, "-c", s.file))
		if user != "poor" {
			weir(t, "topup", user, "100000", "-c", s.file)
		}
	}
	limited := exec.Command("sh", "-c", `ulimit -v "$1" && exec weir serve -c "$0"`, s.file, strconv.Itoa(addressLimit))
	s.serveAs(t, startCommand(t, limited, environment("GOMEMLIMIT="+heapLimit), nil))
	pid := s.cmd.Process.Pid

	type hostile struct {
		name, content string
		text          int // bytes of text that can be extracted
	}
	var files []hostile
	for i, f := range pdftest.Files() {
		if !*hostileAll && i%4 != 0 {
			continue
		}
		read, err := pdf.Text(f.Data, pdf.Default())
		if err != nil {
			read.Text = ""
		}
		files = append(files, hostile{f.Name, `[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` +
			base64.StdEncoding.EncodeToString(f.Data) + `"}}]`, len(read.Text)})
	}

	for _, f := range files {
		if status, body := s.ask(t, keys["poor"], f.content); status != http.StatusPaymentRequired {
			t.Fatalf("%s, without money: %d %s", f.name, status, body)
		}
	}
	if n := childTime(t, pid); n != 0 {
		t.Errorf("files of an account without money were read, for %d ticks", n)
	}

	var readers sync.WaitGroup
	todo := make(chan hostile)
	for range 2 { // as many as one user may have
		readers.Go(func() {
			for f := range todo {
				status, body := s.ask(t, keys["rich"], f.content)
				switch {
				case f.text == 0 && status != http.StatusBadRequest, f.text > 0 && f.text < 40_000 && status != http.StatusOK:
					t.Errorf("%s: %d %s", f.name, status, body)
				case status != http.StatusBadRequest && status != http.StatusOK: // long texts may or may not fit the model
					t.Errorf("%s: %d %s", f.name, status, body)
				}
			}
		})
	}
	calls := 0
	for _, f := range files {
		todo <- f
		for range 10 { // while the file is being read
			if status, body := s.ask(t, keys["quiet"], `"hello"`); status != http.StatusOK {
				t.Errorf("another user's call: %d %s", status, body)
			}
			calls++
		}
	}
	close(todo)
	readers.Wait()

	if s.ended() {
		t.Fatalf("the gateway ended: %v\n%s", s.err, s.stderr)
	}
	if n := childTime(t, pid); n == 0 {
		t.Error("no file was read in a child process")
	}
	peak := procField(t, pid, "VmHWM")
	if peak > mostResident {
		t.Errorf("the gateway has taken %d KiB", peak)
	}
	t.Logf("%d files, %d concurrent calls of another user, %d MiB at most", len(files), calls, peak>>10)
}
