package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// benchVendor is the first part of the slugs of Weir's models, which the hand-tuned handler also removes.
const benchVendor = "bench/"

// weirConfig configures Weir as an operator would: keys, routing, holds, exact settlement, a durable record of each call, metrics, access
// log. It differs from the defaults only in limits, because all clients here have one address, one user and one key.
const weirConfig = `TOPdata_dir: DIR/weir-data
server:
  listen: LISTEN
  admin_listen: ADMIN
  shutdown_delay: 0s
  limits:
    max_connections_per_address: 16000
    max_in_flight_requests: 16000
    max_streams_per_key: 16000
log:
  access: true
price_lists: {every: 0s}
providers:
  - id: mock
    base_url: SCHEME://UPSTREAM/v1
    api_key: upstream
PROVIDER    models:
`

// weirModel is one of the mock's models with prices, so that every call is charged.
const weirModel = `      - id: SLUG
        upstream_id: MODEL
        prices: {prompt: "0.015", completion: "0.06"}
        context_length: 2000000
        max_output: 8192
        input: [text, image]
        output: [text]
`

// moreModels are n models without requests, each with an endpoint, and every second with two: what a large catalog costs.
func moreModels(n int, upstream string) string {
	var b strings.Builder
	add := func(step int) {
		for i := 0; i < n; i += step {
			b.WriteString(strings.NewReplacer("SLUG", fmt.Sprintf("vendor-%d/model-%d", i%50, i), "MODEL", fmt.Sprint("model-", i)).Replace(weirModel))
		}
	}
	if add(1); n > 0 {
		fmt.Fprintf(&b, "  - id: second\n    base_url: http://%s/v1\n    api_key: upstream\n    models:\n", upstream)
	}
	add(2)
	return b.String()
}

func startWeir(ctx context.Context, s settings, dir string, mock *process) (t target, err error) {
	address, err := freePort()
	if err != nil {
		return t, err
	}
	admin, err := freePort()
	if err != nil {
		return t, err
	}
	text := strings.NewReplacer("DIR", dir, "LISTEN", address, "ADMIN", admin, "UPSTREAM", mock.address, "SCHEME", cmp.Or(s.over.scheme, "http"), "PROVIDER", s.over.provider, "TOP", s.over.upstream).Replace(weirConfig)
	for model := range answers() {
		text += strings.NewReplacer("SLUG", benchVendor+model, "MODEL", model).Replace(weirModel)
	}
	text += moreModels(s.models, mock.address)
	config := filepath.Join(dir, "weir.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return t, err
	}
	binary, err := filepath.Abs(s.weir)
	if err != nil {
		return t, err
	}
	key, err := openAccount(ctx, dir, binary, config)
	if err != nil {
		return t, err
	}
	server, err := start(ctx, dir, targetWeir, address, binary, "serve", "-c", config)
	return target{name: targetWeir, vendor: benchVendor, key: key, admin: admin, process: server}, err
}

// weir measures Weir: first its footprint, then the same work as for the other targets.
func (r *results) weir(ctx context.Context, s settings, dir string, mock *process) error {
	t, err := startWeir(ctx, s, dir, mock)
	if err != nil {
		return err
	}
	defer t.stop()
	taken, err := footprintOf(ctx, t, s.weir)
	if err != nil {
		return err
	}
	r.Weir = taken.least(r.Weir)
	if err := r.scenarios(ctx, s, t); err != nil {
		return err
	}
	if bad, _ := r.weirErrors(); bad > 0 {
		printed, _ := os.ReadFile(t.log.Name())
		fmt.Fprintf(os.Stderr, "the end of Weir's log:\n%s\n", tail(printed, 2000))
	}
	return nil
}

// runner runs commands of Weir with a configuration, and returns what they print.
func runner(ctx context.Context, dir, binary, config string) func(args ...string) (string, error) {
	return func(args ...string) (string, error) {
		command := exec.CommandContext(ctx, binary, append(args, "-c", config)...)
		command.Dir, command.Env = dir, childEnv(dir)
		printed, err := command.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("weir %s: %w\n%s", strings.Join(args, " "), err, printed)
		}
		return strings.TrimSpace(string(printed)), nil
	}
}

// openAccount makes a user with a key and money, and returns the key. In a second pass the user already exists.
func openAccount(ctx context.Context, dir, binary, config string) (key string, err error) {
	run := runner(ctx, dir, binary, config)
	if _, err := os.Stat(filepath.Join(dir, "weir-data")); err != nil {
		if _, err := run("user", "add", "bench"); err != nil {
			return "", err
		}
		if _, err := run("topup", "bench", "100000000"); err != nil {
			return "", err
		}
	}
	return run("key", "add", "bench", "--quiet")
}

// footprintOf sends one request to the newly started server, and returns how long that took and how large the program is.
func footprintOf(ctx context.Context, t target, binary string) (*footprint, error) {
	first := load{address: t.address, conns: 1, count: 1, time: 10 * time.Second, patience: 10 * time.Second,
		request: request(t.address, t.key, newBodies().chat(t.vendor+modelChat, 1<<10))}
	if f := first.run(ctx); f.Errors > 0 {
		printed, _ := os.ReadFile(t.log.Name())
		return nil, fmt.Errorf("the first answer: %s\n%s", f.FirstError, tail(printed, 2000))
	}
	f := &footprint{Start: time.Since(t.started)}
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	f.Binary = info.Size()
	return f, nil
}

// profile makes the target record a profile during a scenario, if the flag is set. The returned function waits for it.
func (t target) profile(ctx context.Context, s settings, one scenario) func() error {
	if s.profile == "" || t.admin == "" {
		return func() error { return nil }
	}
	failed := make(chan error, 1)
	go func() {
		failed <- fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", t.admin, max(1, int(s.each.Seconds()))), filepath.Join(s.profile, one.name+".pprof"))
	}()
	return func() error { return <-failed }
}

func fetch(ctx context.Context, from, to string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %.200s", from, reply.Status, text)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// least combines two passes by the smaller values, because noise only adds.
func (f *footprint) least(than *footprint) *footprint {
	if than == nil {
		return f
	}
	return &footprint{Binary: f.Binary, Start: min(f.Start, than.Start)}
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }
