package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// overloadConfig has Weir's default limits, except those per user and per address, because here all clients share one user and one address.
// The limit of concurrent requests suits one processor: the default, for larger machines, would only make all requests wait longer here.
const overloadConfig = `
    max_in_flight_requests: 512
    max_user_share: 100
    max_streams_per_key: 16000
`

// The limits for the overload test.
const (
	leastGoodput = 0.8
	recovered    = 0.95
	recoverIn    = 10 * time.Second
)

// overloaded are the results of the overload test.
type overloaded struct {
	Saturation float64 // largest rate of answers per second, with clients that wait for their answers
	Offered    float64 // requests per second, independent of the gateway
	Goodput    float64 // those that were answered, per second
	Refused    float64 // refusals per second
	Seconds    float64
	CPU        time.Duration // of the gateway, in all
	Errors     int           // neither answered nor refused
	FirstError string
	Latency    quantiles     // of the answers
	Recovery   time.Duration // from the end of the load until the gateway reaches the share recovered of Saturation again; 0: not within twice recoverIn
}

// overload runs Weir alone on one processor, and the load and the provider on the others, so that the load does not take processor time
// from Weir.
func overload(ctx context.Context, s settings) error {
	if runtime.NumCPU() < 2 {
		return errors.New("the overload needs two processors: one for the gateway alone")
	}
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := pinSelf(ctx, 1, runtime.NumCPU()); err != nil {
		return err
	}
	mock, err := startSelf(ctx, dir, "mock", "")
	if err != nil {
		return err
	}
	defer mock.stop()
	t, err := startWeir(ctx, s, dir, mock, overloadConfig, 0, 1)
	if err != nil {
		return err
	}
	defer t.stop()
	if err := yieldSelf(); err != nil {
		return err
	}
	o, err := overwhelm(ctx, t, s)
	if err != nil {
		return err
	}
	return o.report(os.Stdout, s)
}

// overwhelm measures the saturation of the target, offers twice that rate, and measures the recovery.
func overwhelm(ctx context.Context, t target, s settings) (overloaded, error) {
	var o overloaded
	steady := load{address: t.address, time: s.each, patience: 20 * time.Second, refusals: true}
	if s.only == "chat1k" {
		steady.request = request(t.address, t.key, newBodies().chat(t.vendor+modelChat, 1<<10))
	} else {
		steady.request, steady.frames = request(t.address, t.key, newBodies().stream(t.vendor+modelFast, 1<<10)), shapes[modelFast].frames
	}
	warm := steady
	warm.conns = 64
	warm.run(ctx)
	for _, conns := range []int{8, 32, 128} {
		one := steady
		one.conns = conns
		f := one.run(ctx)
		if f.Errors > 0 {
			return o, fmt.Errorf("below the overload: %s", f.FirstError)
		}
		if each := one.perSecond(f); each > o.Saturation {
			o.Saturation, steady.conns = each, conns
		}
		fmt.Fprintf(os.Stderr, "%4d clients: %6.0f answers/s, p99 %s\n", conns, one.perSecond(f), f.Latency.P99.Round(time.Microsecond))
	}
	twice := steady
	twice.conns, twice.rate, twice.time, twice.ramp = s.clients, int(2*o.Saturation), 3*s.each, 0
	profiled := make(chan error, 1)
	go func() {
		select { // until the overload has lasted for a while
		case <-ctx.Done():
		case <-time.After(s.each):
		}
		profiled <- t.profile(ctx, s, scenario{name: "overload"})()
	}()
	spent, err := cpuOf(t.cmd.Process.Pid)
	if err != nil {
		return o, err
	}
	f := twice.run(ctx)
	ended := time.Now()
	if o.CPU, err = cpuOf(t.cmd.Process.Pid); err != nil {
		return o, err
	}
	o.CPU -= spent
	if err := <-profiled; err != nil {
		return o, err
	}
	o.Goodput, o.Refused = float64(f.Requests)/f.Seconds, float64(f.Refused)/f.Seconds
	o.Offered = float64(f.Requests+f.Refused+f.Errors) / f.Seconds
	o.Seconds = f.Seconds
	o.Errors, o.FirstError, o.Latency = f.Errors, f.FirstError, f.Latency
	for ctx.Err() == nil && time.Since(ended) < 2*recoverIn {
		again := steady
		again.time = 500 * time.Millisecond
		if f := again.run(ctx); again.perSecond(f) >= recovered*o.Saturation {
			o.Recovery = time.Since(ended)
			break
		}
	}
	return o, ctx.Err()
}

func (o *overloaded) report(out io.Writer, s settings) error {
	ratio := o.Goodput / o.Saturation
	fmt.Fprintf(out, "\nTwice the load that it can carry, on one processor of its own, %d clients\n", s.clients)
	fmt.Fprintln(out, "| saturation/s | offered/s | goodput/s | of saturation | refused/s | errors | p50 / p99 ms | recovery s |")
	fmt.Fprintln(out, "|-------------:|----------:|----------:|--------------:|----------:|-------:|-------------:|-----------:|")
	recovery := "never"
	if o.Recovery > 0 {
		recovery = strconv.FormatFloat(o.Recovery.Seconds(), 'f', 1, 64)
	}
	fmt.Fprintf(out, "| %12.0f | %9.0f | %9.0f | %11.0f %% | %9.0f | %6d | %12s | %10s |\n", o.Saturation, o.Offered, o.Goodput, 100*ratio, o.Refused, o.Errors, pair(o.Latency), recovery)
	fmt.Fprintf(out, "the gateway used %.0f %% of its processor\n", 100*o.CPU.Seconds()/o.Seconds)
	if o.FirstError != "" {
		fmt.Fprintf(out, "the first error: %s\n", o.FirstError)
	}
	if s.strict && (ratio < leastGoodput || o.Recovery == 0 || o.Recovery > recoverIn) {
		return fmt.Errorf("goodput must be %.0f %% and recovery within %s", 100*leastGoodput, recoverIn)
	}
	return nil
}

// pinSelf pins this process, and its later children, to the processors from first to below end.
func pinSelf(ctx context.Context, first, end int) error {
	printed, err := exec.CommandContext(ctx, "taskset", "-a", "-cp", processors(first, end), strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskset (of util-linux): %w\n%s", err, printed)
	}
	return nil
}

// yieldSelf gives the provider, which shares processors with the load, precedence. Otherwise a provider slowed down by the load would be
// measured instead of the gateway.
func yieldSelf() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, 5); err != nil {
			return err
		}
	}
	return nil
}

// pinned returns a command that runs a program on the processors from first to below end; if end is 0, it is the program itself.
func pinned(first, end int, program string, args ...string) []string {
	command := append([]string{program}, args...)
	if end == 0 {
		return command
	}
	return append([]string{"taskset", "-c", processors(first, end)}, command...) // taskset replaces itself by the program, so the process id is the same
}

func processors(first, end int) string { return fmt.Sprintf("%d-%d", first, end-1) }
