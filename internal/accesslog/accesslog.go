// Package accesslog writes log lines without making a request wait: access records, encoded by hand, and everything else through
// log/slog. It keeps prompts, keys and headers out by having no field for them, and redacts each finished line besides.
package accesslog

import (
	"bytes"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/redact"
)

// Options bound a Log. Zero fields take the default.
type Options struct {
	QueueBytes int           // lines waiting to be written, all together, half of them of one user; default 4 MiB. What does not fit is dropped and counted
	Gather     time.Duration // lines are written this long after the first of a batch; default 10 ms
	// Redact replaces secrets in a finished line; default redact.Redact.
	Redact func(line []byte) []byte
}

// Log is a queue of lines and the goroutine that writes them. It is safe for concurrent use. Close it to stop the goroutine.
type Log struct {
	out     io.Writer
	opts    Options
	shards  []shard
	wake    chan struct{}
	flush   chan chan struct{}
	quit    chan struct{}
	done    chan struct{}
	once    sync.Once
	seed    maphash.Seed
	dropped atomic.Int64
}

// shard is a part of the queue, with a lock. The writing goroutine takes full buffers away and leaves empty ones.
type shard struct {
	mu    sync.Mutex
	buf   []byte
	taken [senders]int32 // bytes of buf, by sender
	_     [64]byte       // no two locks in one cache line
}

// senders is how many groups users and addresses without a user fall into. One group has half of the queue at most, so that one client's flood of
// refused requests drops everybody else's records.
const senders = 64

// own is the sender of lines that are no access records. It has no share.
const own = -1

// New makes a Log that writes to out, and starts its goroutine. Errors of out are counted as drops.
func New(out io.Writer, o Options) *Log {
	if o.QueueBytes == 0 {
		o.QueueBytes = 4 << 20
	}
	if o.Gather == 0 {
		o.Gather = 10 * time.Millisecond
	}
	if o.Redact == nil {
		o.Redact = redact.Redact
	}
	l := &Log{
		out: out, opts: o, shards: make([]shard, 2*runtime.GOMAXPROCS(0)),
		seed: maphash.MakeSeed(),
		wake: make(chan struct{}, 1), flush: make(chan chan struct{}), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go l.run()
	return l
}

// Access queues one access record.
func (l *Log) Access(r *Record) {
	name := r.User
	if name == "" {
		name = r.Address
	}
	l.enqueue(int(maphash.String(l.seed, name)%senders), r.append)
}

// Write queues p, one line with its newline. It never fails: a full queue drops the line.
func (l *Log) Write(p []byte) (int, error) {
	l.enqueue(own, func(dst []byte) []byte { return append(dst, p...) })
	return len(p), nil
}

// enqueue lets line append one line of a sender to some shard.
func (l *Log) enqueue(sender int, line func([]byte) []byte) {
	s := &l.shards[rand.Uint32N(uint32(len(l.shards)))]
	s.mu.Lock()
	was := len(s.buf)
	s.buf = line(s.buf)
	room := l.opts.QueueBytes / len(l.shards)
	full := len(s.buf) > room
	if sender != own {
		n := s.taken[sender] + int32(len(s.buf)-was)
		if full = full || int(n) > room/2; !full {
			s.taken[sender] = n
		}
	}
	if full {
		s.buf = s.buf[:was]
	}
	s.mu.Unlock()
	if full {
		l.dropped.Add(1)
		return
	}
	if was == 0 {
		select {
		case l.wake <- struct{}{}:
		default: // the goroutine is awake already
		}
	}
}

// Dropped is the number of lines that were lost because the queue was full or the writer failed.
func (l *Log) Dropped() int64 { return l.dropped.Load() }

// Flush waits until everything queued before it was written.
func (l *Log) Flush() {
	ack := make(chan struct{})
	select {
	case l.flush <- ack:
		<-ack
	case <-l.done:
	}
}

// Close writes the queued lines and stops. Lines queued after it are lost.
func (l *Log) Close() error {
	l.once.Do(func() { close(l.quit) })
	<-l.done
	return nil
}

func (l *Log) run() {
	defer close(l.done)
	var spare, lines []byte
	gather := time.NewTimer(l.opts.Gather)
	gather.Stop()
	for {
		var ack chan struct{}
		stop := false
		select {
		case <-l.wake:
			gather.Reset(l.opts.Gather)
			select {
			case <-gather.C:
			case ack = <-l.flush:
			case <-l.quit:
				stop = true
			}
			gather.Stop()
		case ack = <-l.flush:
		case <-l.quit:
			stop = true
		}
		for i := range l.shards {
			s := &l.shards[i]
			s.mu.Lock()
			spare, s.buf = s.buf, spare[:0]
			s.taken = [senders]int32{}
			s.mu.Unlock()
			lines = l.redacted(lines[:0], spare)
			l.write(lines)
		}
		if ack != nil {
			close(ack)
		}
		if stop {
			return
		}
	}
}

// redacted appends the lines of batch to dst, each redacted separately: a secret's pattern must not match across lines.
func (l *Log) redacted(dst, batch []byte) []byte {
	for len(batch) > 0 {
		end := bytes.IndexByte(batch, '\n') + 1
		if end == 0 {
			end = len(batch)
		}
		dst = append(dst, l.opts.Redact(batch[:end:end])...)
		batch = batch[end:]
	}
	return dst
}

func (l *Log) write(lines []byte) {
	if len(lines) == 0 {
		return
	}
	if _, err := l.out.Write(lines); err != nil {
		l.dropped.Add(int64(bytes.Count(lines, []byte{'\n'})))
	}
}
