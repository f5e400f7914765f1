package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the tested binary: $WEIR_BIN, or else it is built here once, with constants that a test can set, so that it waits for no minutes.
var program string

// theDemo is the demo for all tests that do not check the balance.
var theDemo *demo

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "weir-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if program = os.Getenv("WEIR_BIN"); program == "" {
		program = filepath.Join(dir, "weir")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-X weir/internal/config.SettableConstants=yes", "-o", program, "./cmd/weir")
		build.Dir = ".."
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if printed, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("building weir: %w\n%s", err, printed)
		}
	}
	if theDemo, err = startDemo(filepath.Join(dir, "data")); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, theDemo.stop()
}

// demo is a running `weir demo` with a separate data folder, and its output line.
type demo struct {
	BaseURL       string   `json:"base_url"`
	APIKey        string   `json:"api_key"`
	ManagementKey string   `json:"management_key"`
	AdminURL      string   `json:"admin_url"`
	Models        []string `json:"models"`

	contract *contract
	cmd      *exec.Cmd
	log      lockedBuffer
	exited   chan error
}

// startDemo returns when the demo is ready. Its environment has only these variables, so that no real provider is enabled.
func startDemo(data string) (*demo, error) {
	d := &demo{exited: make(chan error, 1)}
	shapes := strconv.FormatInt(rand.Int64()|1, 10)
	fmt.Println("the demo's answers are dressed by --shapes", shapes)
	d.cmd = exec.Command(program, "demo", "--json", "--listen", "127.0.0.1:0", "--data", data, "--shapes", shapes, "--empty")
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(data), "TZ=UTC"}
	for _, list := range []string{"MODELS_DEV", "LITELLM", "PORTKEY", "GENAI_PRICES"} { // nothing is fetched from elsewhere
		d.cmd.Env = append(d.cmd.Env, "WEIR_PRICE_LISTS_"+list+"_URL=http://127.0.0.1:1/{file}.json")
	}
	d.cmd.Stderr = &d.log
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan []byte, 1)
	go func() {
		reader := bufio.NewReader(stdout)
		first, _ := reader.ReadBytes('\n')
		line <- first
		_, _ = io.Copy(io.Discard, reader)
		d.exited <- d.cmd.Wait()
	}()
	select {
	case first := <-line:
		err = json.Unmarshal(first, d)
	case <-time.After(3 * time.Minute):
		err = errors.New("nothing printed in 3 minutes")
	}
	if err == nil {
		d.contract, err = loadContract(d)
	}
	if err != nil {
		_ = d.cmd.Process.Kill()
		return nil, fmt.Errorf("weir demo --json: %w\n%s", err, d.log.String())
	}
	return d, nil
}

// stop ends the demo like an operator and checks its log, which must not contain a key.
func (d *demo) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-d.exited:
		if err != nil {
			return fmt.Errorf("weir demo ended badly after SIGTERM: %w\n%s", err, d.log.String())
		}
	case <-time.After(3 * time.Minute):
		_ = d.cmd.Process.Kill()
		return fmt.Errorf("weir demo did not end within 3 minutes of SIGTERM\n%s", d.log.String())
	}
	for _, secret := range []string{d.APIKey, d.ManagementKey} {
		if strings.Contains(d.log.String(), secret) {
			return errors.New("a key stands in the log of weir demo")
		}
	}
	return nil
}

// ownDemo starts a demo for one test that adds up money.
func ownDemo(t *testing.T) *demo {
	t.Helper()
	d, err := startDemo(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// weir runs another command of the binary on the demo's data and returns its output.
func weir(t testing.TB, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	printed, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return string(printed), err
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// free returns an address on which nothing listens. Its port is below those that the system assigns to connections, so a node finds it free
// again after a restart.
func free(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }()
		return l.Addr().String()
	}
}
