package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// target is a measured server.
type target struct {
	name   string
	vendor string // prefix of the mock's model names for the slugs of this server; "": none
	key    string
	admin  string // address of Go's profiles; "": none
	*process
}

// scenario is one type of work, the same for every target.
type scenario struct {
	name string
	what string
	load load
	body func(*bodies, string) []byte // takes a model's slug
	of   string                       // the mock's model
}

func scenarios(s settings) []scenario {
	calm, fast := shapes[modelCalm], shapes[modelFast]
	kilobyte := func(b *bodies, model string) []byte { return b.chat(model, 1<<10) }
	streamed := func(b *bodies, model string) []byte { return b.stream(model, 1<<10) }
	all := []scenario{
		// First, because it measures memory, which later scenarios change.
		{"streams", fmt.Sprintf("%d streams, a frame each %s", s.streams, calm.gap),
			load{conns: s.streams, count: s.streams, time: 30 * time.Second, ramp: time.Second, frames: calm.frames}, streamed, modelCalm},
		{"chat1k", "1 KB chat, 32 connections", load{conns: 32, time: s.each, warm: 2000}, kilobyte, modelChat},
		{"open1k", fmt.Sprintf("1 KB chat at %d/s", s.rate), load{conns: 128, rate: s.rate, time: s.each, warm: 500}, kilobyte, modelChat},
		{"chat200k", "200 KB chat, 16 connections", load{conns: 16, time: s.each, warm: 50},
			func(b *bodies, model string) []byte { return b.chat(model, 200<<10) }, modelChat},
		{"fast", fmt.Sprintf("%d frames without a pause, 32 connections", fast.frames),
			load{conns: 32, time: s.each, warm: 50, frames: fast.frames}, streamed, modelFast},
		{"chat5m", "5 MB image in the prompt, 4 connections", load{conns: 4, time: s.each, warm: 4},
			func(b *bodies, model string) []byte { return b.imageRequest(model, 5<<20) }, modelChat},
		crowd(256, s.each), crowd(1000, s.each),
	}
	var chosen []scenario
	for _, one := range all {
		if strings.Contains(one.name, s.only) {
			one.load.patience = 60 * time.Second
			chosen = append(chosen, one)
		}
	}
	return chosen
}

// crowd is a 1 KB chat on so many connections at once, as load generators that count users have it: each asks again when it has its answer.
func crowd(users int, each time.Duration) scenario {
	return scenario{fmt.Sprintf("crowd%d", users), fmt.Sprintf("1 KB chat, %d connections", users),
		load{conns: users, time: each, warm: 2 * users, patience: 60 * time.Second},
		func(b *bodies, model string) []byte { return b.chat(model, 1<<10) }, modelChat}
}

// measurement is the result of one scenario for one target.
type measurement struct {
	Target, Scenario string
	figures
	PerSecond   float64
	CPU         time.Duration // of the target's processes
	CPUPerEach  time.Duration // CPU per request
	CPUPerFrame time.Duration
	RSSBefore   int64 // bytes
	RSSPeak     int64
}

// measure runs one scenario for one target.
func measure(ctx context.Context, t target, s scenario) (measurement, error) {
	m := measurement{Target: t.name, Scenario: s.name}
	work := s.load
	work.address = t.address
	work.request = request(t.address, t.key, s.body(newBodies(), t.vendor+s.of))
	if work.warm > 0 { // before the measurement starts
		warm := work
		warm.count, warm.time, warm.rate, warm.warm = work.warm, 20*time.Second, 0, 0
		warm.run(ctx)
		work.warm = 0
	}
	ids := t.ids()
	before, err := consumed(ids)
	if err != nil {
		return m, err
	}
	stop := watch(ids)
	m.figures = work.run(ctx)
	m.RSSPeak = stop()
	after, err := consumed(ids)
	if err != nil {
		return m, fmt.Errorf("%s ended during %s: %w", t.name, s.name, err)
	}
	m.RSSBefore = before.RSS
	m.CPU = after.CPU - before.CPU
	m.PerSecond = work.perSecond(m.figures)
	m.CPUPerEach = m.CPU / time.Duration(max(1, m.Requests))
	m.CPUPerFrame = m.CPU / time.Duration(max(1, m.Frames))
	return m, ctx.Err()
}

// better reports whether a pass replaces an earlier one: with fewer errors, else with less work, because noise only adds to both.
func (m measurement) better(than measurement) bool {
	if m.Errors != than.Errors {
		return m.Errors < than.Errors
	}
	if m.Scenario == "open1k" {
		return m.Latency.P99 < than.Latency.P99
	}
	return m.CPUPerEach < than.CPUPerEach
}

// results are the best measurements by target and scenario, and the footprint of Weir.
type results struct {
	Best   map[string]map[string]measurement
	Weir   *footprint `json:",omitempty"`
	styles []gate
	passes int
}

// footprint is the resource use of a gateway before any work.
type footprint struct {
	Binary int64         // bytes of the file
	Start  time.Duration // from its start to the end of its first answer, including key and wallet
}

func (r *results) add(m measurement) {
	if r.Best[m.Scenario] == nil {
		r.Best[m.Scenario] = map[string]measurement{}
	}
	if old, ok := r.Best[m.Scenario][m.Target]; !ok || m.better(old) {
		r.Best[m.Scenario][m.Target] = m
	}
}

// measureAll runs the servers one after another, so that they do not disturb one another, and prints the results.
func measureAll(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mock, err := startSelf(ctx, dir, "mock", "")
	if err != nil {
		return err
	}
	defer mock.stop()
	r := &results{Best: map[string]map[string]measurement{}, passes: s.passes}
	for range s.passes {
		if err := r.pass(ctx, s, dir, mock); err != nil {
			return err
		}
	}
	if s.weir != "" && strings.Contains("styles", s.only) {
		if r.styles, err = measureStyles(ctx, s, dir, mock, os.Stdout); err != nil {
			return err
		}
	}
	return r.report(os.Stdout, s)
}

// pass measures every target once.
func (r *results) pass(ctx context.Context, s settings, dir string, mock *process) error {
	if err := r.scenarios(ctx, s, target{name: targetDirect, process: mock}); err != nil {
		return err
	}
	if err := r.nginx(ctx, s, dir, mock); err != nil {
		return err
	}
	yardstick, err := startSelf(ctx, dir, "handtuned", mock.address)
	if err != nil {
		return err
	}
	err = r.scenarios(ctx, s, target{name: targetHandtuned, vendor: benchVendor, process: yardstick})
	yardstick.stop()
	if err != nil || s.weir == "" {
		return err
	}
	return r.weir(ctx, s, dir, mock)
}

func (r *results) scenarios(ctx context.Context, s settings, t target) error {
	for _, one := range scenarios(s) {
		done := t.profile(ctx, s, one)
		m, err := measure(ctx, t, one)
		if err := errors.Join(err, done()); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%-10s %-9s %7.0f/s  %7.1f us CPU each  p50 %-9s p99 %-9s errors %d\n", t.name, one.name, m.PerSecond,
			float64(m.CPUPerEach)/1e3, m.Latency.P50.Round(time.Microsecond), m.Latency.P99.Round(time.Microsecond), m.Errors)
		if m.FirstError != "" {
			fmt.Fprintf(os.Stderr, "    the first of them: %s\n", m.FirstError)
		}
		r.add(m)
	}
	return nil
}

// startSelf runs this program as one of its servers.
func startSelf(ctx context.Context, dir, what, upstream string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	address, err := freePort()
	if err != nil {
		return nil, err
	}
	return start(ctx, dir, what, address, self, "-serve", what, "-listen", address, "-upstream", upstream)
}
