package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a measured server that this program started. It is ended by its process id.
type process struct {
	cmd     *exec.Cmd
	address string
	log     *os.File
	started time.Time
	done    chan struct{}
}

// start runs a command and waits until a server listens on address. Its output goes to dir/name.log.
func start(ctx context.Context, dir, name, address, program string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program, args...), address: address, log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir, p.cmd.Env = log, log, dir, childEnv(dir)
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // its log shows the result
	}()
	if err := p.waitListening(ctx); err != nil {
		p.stop()
		printed, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%s: %w; it printed:\n%s", name, err, printed)
	}
	return p, nil
}

// childEnv removes keys and settings of the user from the environment of measured servers.
func childEnv(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TZ=UTC"}
}

func (p *process) waitListening(ctx context.Context) error {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; {
		if conn, err := net.DialTimeout("tcp", p.address, time.Second); err == nil {
			return conn.Close()
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended before it listened on %s", p.address)
		case <-time.After(2 * time.Millisecond):
		}
	}
	return fmt.Errorf("nothing listens on %s after 15 s", p.address)
}

// stop terminates the process, and kills it after 10 s.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	_ = p.log.Close()
}

// ids returns the process and its children, such as nginx's workers.
func (p *process) ids() []int {
	ids := []int{p.cmd.Process.Pid}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", ids[0], ids[0]))
	for _, field := range strings.Fields(string(children)) {
		if id, err := strconv.Atoi(field); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// consumption is the resource use of processes.
type consumption struct {
	CPU time.Duration // user and system, since their start
	RSS int64         // current bytes
}

const tick = 10 * time.Millisecond // /proc uses hundredths of a second on Linux

func consumed(ids []int) (consumption, error) {
	var sum consumption
	for _, id := range ids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		if err != nil {
			return sum, err
		}
		// The name, field 2, may contain spaces; field 3 follows its last parenthesis.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 22 {
			return sum, fmt.Errorf("/proc/%d/stat has %d fields", id, len(fields))
		}
		var numbers [3]int64
		for i, at := range []int{14, 15, 24} { // utime, stime, rss: numbered as in proc(5)
			if numbers[i], err = strconv.ParseInt(fields[at-3], 10, 64); err != nil {
				return sum, err
			}
		}
		sum.CPU += time.Duration(numbers[0]+numbers[1]) * tick
		sum.RSS += numbers[2] * int64(os.Getpagesize())
	}
	return sum, nil
}

// watch samples the resident memory of processes until stop is called, which returns the maximum.
func watch(ids []int) (stop func() int64) {
	quit, peak := make(chan struct{}), make(chan int64)
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		highest := int64(0)
		for {
			if now, err := consumed(ids); err == nil {
				highest = max(highest, now.RSS)
			}
			select {
			case <-quit:
				peak <- highest
				return
			case <-ticker.C:
			}
		}
	}()
	return func() int64 {
		close(quit)
		return <-peak
	}
}

// freePort returns an unused loopback address.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
