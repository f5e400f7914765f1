// Package sse reads and writes the frames of event streams, so that no style and no dialect parses lines itself.
// It must not interpret a frame's data, and must not keep more of a stream than one frame.
package sse

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Frame is one event of a stream. Its bytes are valid until the next call of Next.
type Frame struct {
	Event []byte // value of the last event field, empty when there was none
	Data  []byte // the data lines joined by line feeds; may be empty when the only data line was
}

// Limits bound how much of a stream is buffered or read, in bytes. A zero field means the default.
type Limits struct {
	Line  int64 // one line, and all data of one frame together
	Total int64 // the whole stream
}

// Defaults are the limits of an upstream's stream.
var Defaults = Limits{Line: 4 << 20, Total: 256 << 20}

// LimitError reports that a stream exceeded a limit. Nothing more can be read from it.
type LimitError struct {
	What  string // "line" or "stream"
	Bytes int64  // the limit
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("sse: %s longer than %d bytes", e.What, e.Bytes)
}

const firstBuffer = 1 << 10 // thousands of streams are open at once: a buffer grows only where a line is long, or a burst fills it

// Reader reads frames from a stream. It is not safe for concurrent use.
type Reader struct {
	src   io.Reader
	lim   Limits
	buf   []byte // buf[at:] is read and not yet parsed
	at    int
	seen  int // bytes of buf[at:] that are known to contain no line end
	total int64
	err   error // the end of src, returned once the buffer is parsed

	burst  bool               // the last read filled the buffer: more has arrived
	big    *[burstBuffer]byte // lent: buf lies in it; nil: buf is the reader's own
	own    []byte             // the reader's own buffer meanwhile
	roomy  int                // moves in a row for which the first buffer would have sufficed
	calm   int                // the same for calmBuffer
	skipLF bool               // the last line ended with CR: a line feed right after it belongs to that end
	first  bool               // nothing was parsed yet: a byte order mark may follow

	event   []byte
	data    []byte // data of a frame that is not contiguous in buf
	hasData bool
}

// NewReader reads frames from src.
func NewReader(src io.Reader, lim Limits) *Reader {
	r := new(Reader)
	r.Reset(src, lim)
	return r
}

// Reset makes r read another stream, with its present buffers.
func (r *Reader) Reset(src io.Reader, lim Limits) {
	if lim.Line <= 0 {
		lim.Line = Defaults.Line
	}
	if lim.Total <= 0 {
		lim.Total = Defaults.Total
	}
	r.giveBig()
	*r = Reader{src: src, lim: lim, buf: kept(r.buf), event: kept(r.event), data: kept(r.data), first: true, burst: true}
}

// burstBuffer is the size of a buffer for streams that come faster than they are read: one read then takes dozens of frames. It is lent, to the
// beginning of a stream as well: some of it has usually arrived.
const burstBuffer = 16 << 10

var bigs = sync.Pool{New: func() any { return new([burstBuffer]byte) }}

// giveBig gives back a buffer that was lent. What was in it is lost.
func (r *Reader) giveBig() {
	if r.big != nil {
		bigs.Put(r.big)
		r.big, r.buf, r.own = nil, r.own, nil
	}
}

// keepBuffer is the size up to which a buffer serves the next stream.
const keepBuffer = 64 << 10

func kept(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// Next returns the next frame that has data. Comments, id, retry and unknown fields are skipped. It returns io.EOF at the end of the
// stream, after a last frame that may lack its blank line; a *LimitError; or the source's own error, without the frame that it
// interrupted.
func (r *Reader) Next() (Frame, error) {
	r.event, r.data, r.hasData = r.event[:0], r.data[:0], false
	var held span // the only data line so far, in buf: most frames are one line and are never copied
	for {
		line, ok, err := r.line(&held)
		if err != nil {
			return Frame{}, err
		}
		if !ok && !r.hasData {
			return Frame{}, io.EOF
		}
		if !ok || line.empty() {
			if r.hasData {
				return Frame{Event: r.event, Data: r.value(held)}, nil
			}
			r.event = r.event[:0]
			continue
		}
		if held.set {
			r.data, held = append(r.data, r.buf[held.from:held.to]...), span{}
		}
		if held, err = r.field(line); err != nil {
			return Frame{}, err
		}
	}
}

// span is a range of buf.
type span struct {
	from, to int
	set      bool
}

func (s span) empty() bool { return s.from == s.to }

func (r *Reader) value(held span) []byte {
	if held.set {
		return r.buf[held.from:held.to]
	}
	return r.data
}

// field parses one line. The first data line of a frame is returned as a range of buf, further ones are collected in data.
func (r *Reader) field(line span) (held span, err error) {
	text := r.buf[line.from:line.to]
	name, value := text, text[len(text):]
	if i := bytes.IndexByte(text, ':'); i >= 0 {
		name, value = text[:i], text[i+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "event":
		r.event = append(r.event[:0], value...)
	case "data":
		if !r.hasData {
			r.hasData = true
			return span{line.to - len(value), line.to, true}, nil
		}
		if int64(len(r.data)+1+len(value)) > r.lim.Line {
			return span{}, &LimitError{"line", r.lim.Line}
		}
		r.data = append(append(r.data, '\n'), value...)
	}
	return span{}, nil
}

// line reads one line without its end; ok is false at the end of the stream. A held span moves with the buffer.
func (r *Reader) line(held *span) (line span, ok bool, err error) {
	for {
		if r.skipLF && r.at < len(r.buf) {
			if r.buf[r.at] == '\n' {
				r.at++
			}
			r.skipLF = false
		}
		if n := r.lineEnd(); n >= 0 {
			line = span{from: r.at, to: r.at + n, set: true}
			r.skipLF = r.buf[line.to] == '\r'
			r.at, r.seen = line.to+1, 0
			break
		}
		if int64(len(r.buf)-r.at) > r.lim.Line {
			return span{}, false, &LimitError{"line", r.lim.Line}
		}
		if r.err == io.EOF && r.at < len(r.buf) {
			line = span{from: r.at, to: len(r.buf), set: true}
			r.at, r.seen = len(r.buf), 0
			break
		}
		if r.err == io.EOF {
			return span{}, false, nil
		}
		if err := r.fill(held); err != nil {
			return span{}, false, err
		}
	}
	if int64(line.to-line.from) > r.lim.Line {
		return span{}, false, &LimitError{"line", r.lim.Line}
	}
	if r.first {
		r.first = false
		if bytes.HasPrefix(r.buf[line.from:line.to], []byte("\xef\xbb\xbf")) {
			line.from += 3
		}
	}
	return line, true, nil
}

// lineEnd is the length of the line at r.at, -1 when its end has not arrived.
func (r *Reader) lineEnd() int {
	rest := r.buf[r.at+r.seen:]
	n := bytes.IndexByte(rest, '\n')
	if n >= 0 {
		rest = rest[:n]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		n = cr
	}
	if n < 0 {
		r.seen = len(r.buf) - r.at
		return -1
	}
	return r.seen + n
}

// fill reads more of the source. It keeps the held line and the bytes that are not parsed, and drops the rest.
func (r *Reader) fill(held *span) error {
	if r.err != nil {
		return r.err
	}
	keep := r.at
	if held.set {
		keep = held.from
	}
	if len(r.buf) == cap(r.buf) || keep == len(r.buf) {
		r.move(keep, held)
	}
	for range 100 { // so many empty reads mean a broken source
		room := cap(r.buf) - len(r.buf)
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.burst = n == room && room >= firstBuffer/2
		r.buf = r.buf[:len(r.buf)+n]
		r.err = err
		if r.total += int64(n); r.total > r.lim.Total {
			r.err = &LimitError{"stream", r.lim.Total}
			return r.err
		}
		if n > 0 || err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

const (
	calmBuffer  = 4 << 10 // for streams of which several frames arrive at a time
	soonCalm    = 4       // reads in a row for which that suffices, after which a buffer that was lent is given back
	seldomRoomy = 64      // reads in a row for which the first buffer suffices, after which a larger one is left to the collector
)

// move shifts buf[keep:] to the front, or into a larger buffer unless half of this one is free, or into a small one for a stream that has become
// slow.
func (r *Reader) move(keep int, held *span) {
	rest := r.buf[keep:]
	r.follow(len(r.buf))
	switch {
	case r.burst && cap(r.buf) < burstBuffer:
		r.borrow(rest)
	case r.big != nil && r.roomy > 0, cap(r.buf) > firstBuffer && r.roomy > seldomRoomy:
		r.replace(firstBuffer, rest)
	case r.big != nil && r.calm > soonCalm:
		r.replace(calmBuffer, rest)
	case len(rest) > cap(r.buf)/2 || cap(r.buf) == 0:
		r.replace(max(firstBuffer, 2*cap(r.buf)), rest)
	default:
		r.buf = append(r.buf[:0], rest...)
	}
	r.at -= keep
	if held.set {
		held.from -= keep
		held.to -= keep
	}
}

// follow counts the reads in a row for which smaller buffers would have sufficed; filled is what the buffer holds before it is moved.
func (r *Reader) follow(filled int) {
	r.roomy, r.calm = r.roomy+1, r.calm+1
	if filled > firstBuffer {
		r.roomy = 0
	}
	if filled > calmBuffer {
		r.calm = 0
	}
}

// borrow puts rest, a part of the buffer, into one that is lent.
func (r *Reader) borrow(rest []byte) {
	big := bigs.Get().(*[burstBuffer]byte)
	next := append(big[:0], rest...)
	r.own, r.big, r.buf, r.roomy, r.calm = r.buf[:0], big, next, 0, 0
}

// replace puts rest, a part of the buffer, into one of the reader's own of at least that size.
func (r *Reader) replace(size int, rest []byte) {
	next := r.own[:0]
	if r.big == nil || cap(next) < max(size, len(rest)) {
		next = make([]byte, 0, max(size, len(rest)))
	}
	next = append(next, rest...)
	r.giveBig()
	r.buf, r.roomy, r.calm = next, 0, 0
}

// Done is the frame that ends a stream of the chat and responses styles.
const Done = "data: [DONE]\n\n"

// KeepAlive is the comment that keeps an idle connection open. It ends with one line feed: older clients take a blank line
// after a comment for an empty event.
const KeepAlive = ": keep-alive\n"
