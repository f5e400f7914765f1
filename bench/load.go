package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// load describes the work for one server. It ends by count or by time, whichever comes first; each request has a time limit.
type load struct {
	address  string
	request  []byte        // one complete HTTP request, head and body
	conns    int           // connections, each with at most one request at a time
	rate     int           // requests per second, independent of the server; 0: each connection sends after its last answer has ended
	count    int           // maximum of requests; 0: until the time is over
	time     time.Duration // no request starts later than this
	ramp     time.Duration // the first requests of the connections are spread over this time
	warm     int           // requests sent before, without counting
	frames   int           // text frames of a complete stream; 0: the answer is not a stream
	end      string        // begins the line that ends a stream; "": [DONE], as in a chat
	has      string        // what a whole answer must have; "": choices, as in a chat
	patience time.Duration // limit of one request
}

// figures are the results of a load.
type figures struct {
	Requests   int
	Errors     int    // answers that were not 200, incomplete, or wrong
	Cut        int    // those of Errors that were streams with missing frames or without an end
	FirstError string // the first of Errors
	Frames     int
	Seconds    float64
	Latency    quantiles // from the time when the request was due or sent to the end of its answer
	FirstFrame quantiles // the same, to a stream's first frame
	FrameDelay quantiles // from the mock's write of a frame to its read
}

type quantiles struct{ P50, P99, Max time.Duration }

func quantilesOf(samples []time.Duration) quantiles {
	if len(samples) == 0 {
		return quantiles{}
	}
	slices.Sort(samples)
	at := func(q float64) time.Duration { return samples[min(len(samples)-1, int(q*float64(len(samples))))] }
	return quantiles{P50: at(0.50), P99: at(0.99), Max: samples[len(samples)-1]}
}

func (l *load) perSecond(f figures) float64 { return float64(f.Requests) / max(f.Seconds, 1e-9) }

// run does the work and returns after the last answer.
func (l *load) run(ctx context.Context) figures {
	if l.warm > 0 {
		warm := *l
		warm.warm, warm.rate, warm.count, warm.ramp, warm.time = 0, 0, l.warm, 0, 20*time.Second
		warm.run(ctx)
	}
	clients := make([]client, l.conns)
	start := time.Now()
	next := l.closed(ctx, start)
	if l.rate > 0 {
		next = l.open(ctx, start)
	}
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c := &clients[i]
			c.load = l
			c.work(next, l.ramp*time.Duration(i)/time.Duration(l.conns))
		})
	}
	wg.Wait()
	return gather(clients, time.Since(start))
}

// schedule returns the time from which a client's next request is measured; false ends the client.
type schedule func() (time.Time, bool)

func (l *load) closed(ctx context.Context, start time.Time) schedule {
	var sent atomic.Int64
	end := start.Add(l.time)
	return func() (time.Time, bool) {
		now := time.Now()
		if ctx.Err() != nil || now.After(end) || l.count > 0 && sent.Add(1) > int64(l.count) {
			return now, false
		}
		return now, true
	}
}

// open schedules requests at a fixed rate. A request that finds all connections busy is measured from the time when it was due, so that a
// server that stalls cannot hide the delay of waiting requests.
func (l *load) open(ctx context.Context, start time.Time) schedule {
	total := int(l.time.Seconds() * float64(l.rate))
	due := make(chan time.Time, total)
	go func() {
		runtime.LockOSThread() // the runtime's timers are up to a millisecond late, which is more than the measured times
		defer close(due)
		for i := 0; i < total && ctx.Err() == nil; i++ {
			at := start.Add(time.Duration(i) * time.Second / time.Duration(l.rate))
			if wait := time.Until(at); wait > 0 {
				spec := syscall.NsecToTimespec(int64(wait))
				_ = syscall.Nanosleep(&spec, nil) // a signal may wake it early, which sends a request slightly early
			}
			due <- time.Now()
		}
	}()
	return func() (time.Time, bool) {
		at, ok := <-due
		return at, ok
	}
}

func gather(clients []client, took time.Duration) figures {
	f := figures{Seconds: took.Seconds()}
	var latency, first, delay []time.Duration
	for i := range clients {
		c := &clients[i]
		latency = append(latency, c.latency...)
		first = append(first, c.firstFrame...)
		delay = append(delay, c.frameDelay...)
		f.Errors += c.errors
		f.Cut += c.cut
		if f.FirstError == "" {
			f.FirstError = c.firstError
		}
	}
	f.Requests, f.Frames = len(latency), len(delay)
	f.Latency, f.FirstFrame, f.FrameDelay = quantilesOf(latency), quantilesOf(first), quantilesOf(delay)
	return f
}

// client is one connection and its results. One goroutine owns it.
type client struct {
	load *load
	conn net.Conn
	in   *bufio.Reader

	latency, firstFrame, frameDelay []time.Duration
	errors, cut                     int
	firstError                      string
}

func (c *client) work(next schedule, delay time.Duration) {
	time.Sleep(delay)
	defer c.hangUp()
	for {
		from, ok := next()
		if !ok {
			return
		}
		if err := c.once(from); err != nil {
			c.fail(err)
			c.hangUp()
		}
	}
}

var errCut = errors.New("the stream was cut")

func (c *client) fail(err error) {
	c.errors++
	if errors.Is(err, errCut) {
		c.cut++
	}
	if c.firstError == "" {
		c.firstError = err.Error()
	}
}

func (c *client) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// once sends the request and reads its answer. After an error the connection is not reused.
func (c *client) once(from time.Time) error {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.load.address, 5*time.Second)
		if err != nil {
			time.Sleep(10 * time.Millisecond) // limits the rate of attempts at a server that is down
			return err
		}
		c.conn = conn
		if c.in == nil {
			c.in = bufio.NewReaderSize(nil, 8<<10)
		}
		c.in.Reset(conn)
	}
	if err := c.conn.SetDeadline(time.Now().Add(c.load.patience)); err != nil {
		return err
	}
	if _, err := c.conn.Write(c.load.request); err != nil {
		return err
	}
	reply, err := readHead(c.in)
	if err != nil {
		return err
	}
	if err := c.readBody(reply, from); err != nil {
		return err
	}
	c.latency = append(c.latency, time.Since(from))
	if reply.closing {
		c.hangUp()
	}
	return nil
}

func (c *client) readBody(reply head, from time.Time) error {
	if reply.status != 200 {
		body, _ := io.ReadAll(io.LimitReader(reply.body(c.in), 300))
		return fmt.Errorf("status %d: %s", reply.status, body)
	}
	if c.load.frames > 0 {
		return c.readStream(reply, from)
	}
	return readWhole(reply.body(c.in), cmp.Or(c.load.has, `"choices"`))
}

// readWhole reads a whole reply and checks that it has an answer.
func readWhole(body io.Reader, has string) error {
	var room [4 << 10]byte
	n, err := io.ReadFull(body, room[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Contains(room[:n], []byte(has)) {
		return fmt.Errorf("the reply has no %s: %.200s", has, room[:n])
	}
	_, err = io.Copy(io.Discard, body)
	return err
}

func (c *client) readStream(reply head, from time.Time) error {
	if !reply.chunked {
		return fmt.Errorf("%w: the answer to a stream is not chunked", errCut)
	}
	frames, done := 0, false
	end := []byte(cmp.Or(c.load.end, "data: [DONE]"))
	lines := bufio.NewReaderSize(reply.body(c.in), 8<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%w after %d frames: %w", errCut, frames, err)
		}
		if sent, ok := stampIn(line); ok && len(line) < 1<<10 { // the last events of a response have its whole text once more
			now := time.Now()
			c.frameDelay = append(c.frameDelay, now.Sub(sent))
			if frames++; frames == 1 {
				c.firstFrame = append(c.firstFrame, now.Sub(from))
			}
		} else if bytes.HasPrefix(line, end) {
			done = true
		}
	}
	if frames != c.load.frames || !done {
		return fmt.Errorf("%w: %d of %d frames, end seen: %v", errCut, frames, c.load.frames, done)
	}
	_, err := c.in.Discard(2) // the line end after the last chunk
	return err
}

// stampIn finds the mock's time stamp in one line of a stream.
func stampIn(line []byte) (time.Time, bool) {
	at := bytes.IndexByte(line, '@')
	if at < 0 || len(line) < at+1+stampDigits {
		return time.Time{}, false
	}
	nanos, err := strconv.ParseInt(string(line[at+1:at+1+stampDigits]), 10, 64)
	return time.Unix(0, nanos), err == nil
}

// head has the parts of a reply's head that are needed to read its body.
type head struct {
	status  int
	length  int64 // -1: unknown
	chunked bool
	closing bool
}

func readHead(in *bufio.Reader) (head, error) {
	h := head{length: -1}
	line, err := in.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	if len(line) < 12 {
		return h, fmt.Errorf("status line %q", line)
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, err
	}
	for {
		line, err = in.ReadSlice('\n')
		if err != nil {
			return h, err
		}
		if len(line) <= 2 {
			return h, nil
		}
		if c := line[0] | 0x20; c != 'c' && c != 't' { // of Content-Length, Connection, Transfer-Encoding
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			h.length, err = strconv.ParseInt(string(value), 10, 64)
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			h.chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("Connection")):
			h.closing = bytes.EqualFold(value, []byte("close"))
		}
		if err != nil {
			return h, err
		}
	}
}

func (h head) body(in *bufio.Reader) io.Reader {
	switch {
	case h.chunked:
		return httputil.NewChunkedReader(in)
	case h.length >= 0:
		return &exactly{in, h.length}
	default:
		return in
	}
}

// exactly reads n bytes, and fails if there are fewer.
type exactly struct {
	from io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.from.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = errShort
	}
	return n, err
}

var errShort = errors.New("the reply ends before its Content-Length")
