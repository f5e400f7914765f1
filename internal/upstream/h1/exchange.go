package h1

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"weir/internal/http1"
)

const (
	maxInformational = 16       // 1xx answers before the real one
	inlineBody       = 64 << 10 // a longer body is sent while the answer is read: the server may answer before it has read the body
	directRead       = 512      // a reader with less space reads through the buffer, which saves system calls
	spaceBytes       = 4 << 10  // size of a buffer; thousands of exchanges run at once
)

var (
	errAborted       = errors.New("h1: the exchange was aborted")
	errHeadLarge     = errors.New("h1: the head of the answer is too large")
	errInformational = errors.New("h1: too many informational answers")
)

// Request is one request. Its bytes must not change before the exchange is closed.
type Request struct {
	Method     string
	Base, Path string // the two halves of the target, which begins with a slash; as sent
	Fields     []byte // as AppendFields makes them
	Body       []byte
	More       [][]byte // what follows Body
}

func (r *Request) length() int {
	n := len(r.Body)
	for _, piece := range r.More {
		n += len(piece)
	}
	return n
}

// Head is the status line and header of an answer.
type Head struct {
	Status   int
	Length   int64  // of the body in bytes; -1: unknown
	Encoding string // value of Content-Encoding

	Connected bool // the connection had been used before
	Reused    bool // it had served before
	Written   bool // the whole request was sent
	Answered  bool // some byte arrived
}

type space [spaceBytes]byte

var spaces = sync.Pool{New: func() any { return new(space) }}

// Exchange is one request and its answer. The zero value is ready for Send, and so is a closed Exchange. Only Abort may be called
// concurrently with another method.
type Exchange struct {
	mu      sync.Mutex // guards the next three
	conn    *conn
	dialing context.CancelFunc
	aborted bool

	host  *Host
	space *space // the memory in which buf began, nil when no buffer is held
	buf   []byte // buf[at:to] is received and not yet read
	at    int
	to    int
	// filled: the last read from the connection filled its buffer
	filled bool
	head   head
	got    Head
	sent   *sending // a request that is sent while the answer is read, else nil

	framing  http1.Chunked
	left     int64 // of a body of known length
	ended    bool  // the body was read to its end
	unusable bool  // the connection is not used again
	err      error // of the body

	vec  [2][]byte // buffers of one write
	bufs net.Buffers
}

// Send sends r to h and waits for the head of the answer. After an error, the Head's facts about the connection are still valid.
func (x *Exchange) Send(h *Host, r *Request) (Head, error) {
	err := x.connect(h)
	if err == nil {
		x.space = spaces.Get().(*space)
		x.buf = x.space[:]
		err = x.write(r)
	}
	if err == nil {
		err = x.readHead(r.Method == http.MethodHead)
	}
	if x.sent != nil {
		x.got.Written = x.sent.fine()
	}
	return x.got, err
}

// Header is the header of the answer. It may be called between Send and the first Read.
func (x *Exchange) Header() http.Header { return x.head.header() }

// Abort ends at once whatever the exchange is waiting for: the connection is closed. It may be called at any time.
func (x *Exchange) Abort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aborted = true
	if x.dialing != nil {
		x.dialing()
	}
	if x.conn != nil {
		x.conn.close()
	}
}

// Sent reports whether the whole request has been sent.
func (x *Exchange) Sent() bool { return x.sent == nil || x.sent.fine() }

// Close ends the exchange. From then on the caller may change the request's bytes. The connection is kept when the answer was read to its end and no data follows it.
func (x *Exchange) Close() {
	x.mu.Lock()
	c, keep := x.conn, x.ended && !x.unusable && !x.aborted && x.at == x.to
	x.conn = nil
	x.mu.Unlock()
	if c != nil && keep && x.Sent() {
		x.host.put(c)
	} else if c != nil {
		c.close()
	}
	if x.sent != nil {
		<-x.sent.done // from here on the caller owns the body again
	}
	x.release()
	x.mu.Lock()
	x.aborted, x.dialing = false, nil
	x.mu.Unlock()
	x.filled = false
	x.host = nil
	x.head, x.got, x.sent, x.framing, x.err = head{}, Head{}, nil, http1.Chunked{}, nil
	x.left, x.ended, x.unusable = 0, false, false
	x.vec, x.bufs = [2][]byte{}, nil
}

func (x *Exchange) connect(h *Host) error {
	x.host = h
	if c := h.take(); c != nil {
		x.got.Reused = true
		return x.attach(c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.mu.Lock()
	x.dialing = cancel
	if x.aborted {
		cancel()
	}
	x.mu.Unlock()
	c, err := h.dial(ctx)
	if err != nil {
		return err
	}
	return x.attach(c)
}

func (x *Exchange) attach(c *conn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dialing = nil
	if x.aborted {
		c.close()
		return errAborted
	}
	x.conn, x.got.Connected = c, true
	return nil
}

// write sends the request in one write where that is possible.
func (x *Exchange) write(r *Request) error {
	b := append(x.buf[:0], r.Method...)
	b = append(b, ' ')
	b = append(b, r.Base...)
	b = append(b, r.Path...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = append(b, r.Fields...)
	b = append(b, "Content-Length: "...)
	length := r.length()
	b = strconv.AppendInt(b, int64(length), 10)
	b = append(b, "\r\n\r\n"...)
	if len(b)+length <= cap(b) {
		b = append(b, r.Body...)
		for _, piece := range r.More {
			b = append(b, piece...)
		}
		_, err := x.conn.Write(b)
		return x.answeredAnyway(err)
	}
	if length <= inlineBody {
		x.vec = [2][]byte{b, r.Body}
		x.bufs = append(x.vec[:2:2], r.More...)
		_, err := x.bufs.WriteTo(x.conn.Conn)
		return x.answeredAnyway(err)
	}
	bufs := append(net.Buffers{bytes.Clone(b), r.Body}, r.More...)
	c, sent := x.conn, &sending{done: make(chan struct{})}
	x.sent = sent
	go func() {
		defer close(sent.done)
		_, sent.err = bufs.WriteTo(c.Conn) // a write error also shows in reading, after anything that the server sent before
	}()
	return nil
}

// sending is a request that is sent while its answer is read.
type sending struct {
	done chan struct{}
	err  error // valid once done is closed
}

// fine reports whether the whole request has been sent.
func (s *sending) fine() bool {
	select {
	case <-s.done:
		return s.err == nil
	default:
		return false // the answer arrived before the server had read the request
	}
}

// answeredAnyway checks whether the server answered before it stopped reading, as for a request that it refuses.
func (x *Exchange) answeredAnyway(err error) error {
	if err == nil {
		x.got.Written = true
		return nil
	}
	x.unusable = true
	if x.fill() != nil {
		return err
	}
	return nil
}

// readHead reads the heads of informational answers and then that of the final one.
func (x *Exchange) readHead(noBody bool) error {
	informational, seen := 0, 0
	for {
		n, err := headEnd(x.buf[x.at:x.to], seen)
		if err != nil {
			return err
		}
		if size := cmp.Or(n, x.to-x.at); size > x.host.cfg.MaxHead {
			return errHeadLarge
		}
		if n == 0 {
			seen = x.to - x.at
			if err := x.fill(); err != nil {
				return err
			}
			continue
		}
		if x.head, err = parseHead(x.buf[x.at : x.at+n]); err != nil {
			return err
		}
		x.at, seen = x.at+n, 0
		switch {
		case x.head.status == http.StatusSwitchingProtocols:
			return errSwitch
		case x.head.status >= 200:
			x.begin(noBody)
			return nil
		}
		if informational++; informational > maxInformational {
			return errInformational
		}
	}
}

// begin prepares reading the body.
func (x *Exchange) begin(noBody bool) {
	h := &x.head
	x.got.Status = h.status
	x.unusable = x.unusable || h.last
	if len(h.encoding) > 0 {
		x.got.Encoding = string(h.encoding)
	}
	if noBody || bodyless(h.status) {
		h.chunked, h.length = false, 0
	}
	x.got.Length, x.left = h.length, h.length
	x.ended = h.length == 0
	if h.length < 0 && !h.chunked {
		x.unusable = true // the connection's end is the body's end
	}
}

// fill appends received data to the buffer.
func (x *Exchange) fill() error {
	if x.at == x.to {
		x.at, x.to = 0, 0
	}
	if x.to == len(x.buf) {
		x.grow()
	}
	for range 16 { // an empty read is allowed, but not many
		n, err := x.conn.Read(x.buf[x.to:])
		if n > 0 {
			x.to += n
			x.filled = x.to == len(x.buf)
			x.got.Answered = true
			return nil // a read error is reported again by the next read
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// grow makes room: at the front where data was consumed, else in a larger buffer. Only heads need a larger one.
func (x *Exchange) grow() {
	to := x.buf
	if x.at == 0 {
		to = make([]byte, 2*len(x.buf))
	}
	x.to = copy(to, x.buf[x.at:x.to])
	x.at, x.buf = 0, to
	if x.space != nil && len(to) > spaceBytes {
		spaces.Put(x.space)
		x.space = nil
	}
}

// release returns the buffer to the pool.
func (x *Exchange) release() {
	if x.space != nil {
		spaces.Put(x.space)
	}
	x.space, x.buf, x.at, x.to, x.head.fields, x.head.encoding = nil, nil, 0, 0, nil, nil
}

// Read reads the body. It returns io.EOF together with the last bytes or after them, and io.ErrUnexpectedEOF when the connection ended
// first. An error is returned again by later calls.
func (x *Exchange) Read(p []byte) (int, error) {
	if x.ended {
		return 0, io.EOF
	}
	if x.err != nil || len(p) == 0 {
		return 0, x.err
	}
	n, err := x.read(p, false)
	if err != nil && err != io.EOF {
		x.err = err
	}
	return n, err
}

// Buffered reports whether the next Read returns without waiting for the connection, as far as that is known: the connection is asked only
// where its last read filled the buffer, so that more is likely to have arrived.
func (x *Exchange) Buffered() bool {
	return x.at < x.to || x.ended || x.err != nil || x.filled && x.conn != nil && x.conn.arrived()
}

// Drained reads the rest of a body that is not needed, as far as it has arrived, and reports whether it found the end, so that the
// connection can be used again. It does not wait. After true only Close may be called.
func (x *Exchange) Drained() bool {
	if x.ended || x.err != nil || x.conn == nil {
		return x.ended
	}
	scratch := spaces.Get().(*space)
	defer spaces.Put(scratch)
	for !x.ended && x.err == nil {
		if _, err := x.read(scratch[:], true); err == errNothing {
			return false
		} else if err != nil && err != io.EOF {
			x.err = err
		}
	}
	return x.ended
}

// read reads some of the body. With now it does not wait, and returns errNothing instead.
func (x *Exchange) read(p []byte, now bool) (int, error) {
	known := x.head.length >= 0
	if known && int64(len(p)) > x.left {
		p = p[:x.left]
	}
	for {
		n, err := x.receive(p, now)
		if err == errNothing {
			return 0, err
		}
		n, bad := x.unframe(p[:n])
		switch {
		case bad != nil:
			return n, bad
		case x.ended:
			x.unusable = x.unusable || err != nil
			return n, io.EOF
		case err == io.EOF && !known && !x.head.chunked:
			x.ended = true
			return n, io.EOF
		case err != nil:
			return n, unexpected(err)
		case n > 0:
			return n, nil
		}
	}
}

// receive returns buffered data, or else reads from the connection, directly into p where p is large.
func (x *Exchange) receive(p []byte, now bool) (int, error) {
	if x.at == x.to {
		x.release()
		if now {
			return x.conn.readNow(p)
		}
		if len(p) >= directRead {
			n, err := x.conn.Read(p)
			x.filled = n == len(p)
			return n, err
		}
		x.space = spaces.Get().(*space)
		x.buf = x.space[:]
		if err := x.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, x.buf[x.at:x.to])
	if x.at += n; x.at == x.to {
		x.release()
	}
	return n, nil
}

// unframe removes the framing from received bytes and finds the end.
func (x *Exchange) unframe(p []byte) (int, error) {
	switch {
	case x.head.chunked:
		n, used, err := x.framing.Decode(p)
		x.ended = x.framing.Done()
		x.unusable = x.unusable || used < len(p)
		return n, err
	case x.head.length >= 0:
		x.left -= int64(len(p))
		x.ended = x.left == 0
	}
	return len(p), nil
}
