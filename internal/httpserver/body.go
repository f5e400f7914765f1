package httpserver

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/fault"
)

// Body is the body of one request: it is read within a limit, its memory and its time, or refused so that the answer is read all the same. The
// memory of what was read serves another client after Release.
type Body struct {
	w        http.ResponseWriter
	r        *http.Request
	timeouts *Timeouts
	memory   Memory
	buffer   *buffer
	came     int64 // bytes of it, as they were sent
	done     bool  // it was read to its end, or is not to be read
	message  bool  // of a socket, where others read what is left of it
}

// Open makes the body of a request whose answer is w.
func (b *Body) Open(w http.ResponseWriter, r *http.Request, t *Timeouts, m Memory) {
	*b = Body{w: w, r: r, timeouts: t, memory: m, done: r.ContentLength == 0}
}

// OpenMessage makes the body of a request that came as a message of a WebSocket.
func (b *Body) OpenMessage(w http.ResponseWriter, r *http.Request, t *Timeouts, m Memory) {
	b.Open(w, r, t, m)
	b.message = true
}

// Came is how many bytes of it were read from the connection.
func (b *Body) Came() int64 { return b.came }

// CheckSize refuses by Content-Length, before a byte of the body was read.
func (b *Body) CheckSize(most int64) error {
	if b.r.ContentLength > most {
		return TooLarge(most)
	}
	return nil
}

// TooLarge is the fault of a body of more than so many bytes.
func TooLarge(most int64) error {
	return fault.Newf(fault.PayloadTooLarge, "httpserver.Body", "The request body is larger than %d bytes.", most)
}

// Read reads the whole body, unpacked, whatever its type. The bytes are valid until Release: their memory then serves another client, so nothing
// that outlives the call may keep a view into them. Dialects build an upstream's body as a copy.
func (b *Body) Read(most int64) ([]byte, error) {
	packed, err := b.packed()
	if err != nil {
		return nil, err
	}
	guard := b.guard()
	if packed {
		err = b.unpack(guard, most)
	} else {
		err = b.fill(guard, b.r.ContentLength, most)
	}
	if err != nil {
		return nil, guard.explain(err)
	}
	b.done = true
	guard.done()
	if b.buffer == nil {
		return nil, nil
	}
	return b.buffer.b, nil
}

// ReadForm has read take a form of at most so many bytes from the body, which nothing may follow.
func (b *Body) ReadForm(most int64, read func(io.Reader) error) error {
	if packed, err := b.packed(); err != nil {
		return err
	} else if packed {
		return fault.New(fault.UnsupportedMediaType, "httpserver.ReadForm", "A form must not be gzip-encoded. Send it without Content-Encoding.")
	}
	if err := b.memory.Charge(formMemory); err != nil {
		return err
	}
	guard := b.guard()
	limited := &limitedBody{r: guard, left: most, most: most}
	err := read(limited)
	if err == nil {
		err = limited.rest()
	}
	if err != nil {
		return guard.explain(err)
	}
	b.done = true
	guard.done()
	return nil
}

// formMemory is what reading a form takes, in bytes: the parser's buffers.
const formMemory = 64 << 10

// CheckJSON accepts the media type of JSON, and the absence of one: people who forget the header get the parser's opinion.
func (b *Body) CheckJSON() error {
	types := b.r.Header["Content-Type"]
	if len(types) == 0 || types[0] == "application/json" {
		return nil
	}
	media, _, _ := strings.Cut(types[0], ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json") {
		return nil
	}
	return fault.New(fault.UnsupportedMediaType, "httpserver.CheckJSON", "The body must be JSON: send Content-Type: application/json.")
}

func (b *Body) packed() (bool, error) {
	encodings := b.r.Header["Content-Encoding"]
	switch {
	case len(encodings) == 0:
		return false, nil
	case len(encodings) == 1 && (encodings[0] == "" || strings.EqualFold(encodings[0], "identity")):
		return false, nil
	case len(encodings) == 1 && strings.EqualFold(encodings[0], "gzip"):
		return true, nil
	}
	return false, fault.New(fault.UnsupportedMediaType, "httpserver.Body", "Content-Encoding must be gzip or missing.")
}

// Bodies grow as their bytes arrive, whatever their clients announce: a buffer is never more than growth times what has come, or firstBuffer. Each
// growth copies what has come, so there are few: two for a body of 16 MiB.
const (
	firstBuffer = 16 << 10 // a body of up to so many bytes has one buffer, and is charged for once
	growth      = 32
	leastCharge = 4 << 10
	blindBuffer = 4 << 10 // the first of a body of unknown length, which doubles
)

// MemoryFor is how much memory a body of a size takes at most, while it grows.
func MemoryFor(size int64) int64 { return size + size/growth }

// fill reads a body of a known length, or, with a negative one, to its end.
func (b *Body) fill(r io.Reader, length, most int64) error {
	size := int64(blindBuffer)
	if length >= 0 {
		size = min(length, firstBuffer)
	}
	if err := b.startBuffer(size); err != nil {
		return err
	}
	for {
		have := b.buffer.b
		if length >= 0 && int64(len(have)) == length {
			return nil
		}
		if len(have) == cap(have) {
			if err := b.grow(length, most); err != nil {
				return err
			}
			have = b.buffer.b
		}
		free := have[len(have):cap(have)]
		if length >= 0 {
			free = free[:min(int64(len(free)), length-int64(len(have)))]
		}
		n, err := r.Read(free)
		b.buffer.b = have[:len(have)+n]
		switch {
		case length < 0 && int64(len(b.buffer.b)) > most:
			return TooLarge(most)
		case err == io.EOF && length >= 0 && int64(len(b.buffer.b)) < length:
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// startBuffer takes the first buffer of a body, charged for.
func (b *Body) startBuffer(size int64) error {
	size = bufferSize(size)
	if err := b.memory.Charge(chargeOf(size)); err != nil {
		return err
	}
	b.buffer = takeBuffer(int(size))
	return nil
}

// chargeOf is what a buffer of a body is charged for. A small one costs as much as a larger one: the rest of its call takes more.
func chargeOf(size int64) int64 { return max(size, leastCharge) }

// grow makes room for more of the body: at once all of it, when a part has come that deserves it. Without a length there is room for one byte
// more than the limit, which is the one that is too many.
func (b *Body) grow(length, most int64) error {
	old := b.buffer
	size := 2 * int64(cap(old.b))
	if length >= 0 {
		size = bufferSize(min(length, growth*int64(cap(old.b))))
	} else if size > most {
		size = max(bufferSize(most+1), int64(cap(old.b))+1)
	}
	if err := b.memory.Charge(chargeOf(size) - chargeOf(int64(cap(old.b)))); err != nil {
		return err
	}
	b.buffer = takeBuffer(int(size))
	b.buffer.b = append(b.buffer.b, old.b...)
	old.release()
	return nil
}

// Release gives the memory of the body back.
func (b *Body) Release() {
	if b.buffer != nil {
		b.buffer.release()
		b.buffer = nil
	}
}

// What a packed body may be: a small one may unpack to anything below freeUnpacked, a larger one to maxRatio times its size.
const (
	maxRatio     = 100
	freeUnpacked = 1 << 20
)

var unpackers sync.Pool

func (b *Body) unpack(guard *bodyGuard, most int64) error {
	src := &io.LimitedReader{R: guard, N: most + 1} // the packed form counts against the limit, too
	z, _ := unpackers.Get().(*gzip.Reader)
	var err error
	if z == nil {
		z, err = gzip.NewReader(src)
	} else {
		err = z.Reset(src)
	}
	if err != nil {
		return guard.badGzip(err)
	}
	defer unpackers.Put(z)
	err = b.fill(&ratioReader{z: z, guard: guard}, -1, most)
	switch {
	case err == nil:
		_, err = guard.Read(make([]byte, 1)) // the end of the body proper, so that the connection can go on
		if err == io.EOF {
			return nil
		}
		return guard.badGzip(err)
	case src.N == 0:
		return TooLarge(most)
	}
	return guard.badGzip(err)
}

// ratioReader stops a body that unpacks to much more than it is.
type ratioReader struct {
	z     *gzip.Reader
	guard *bodyGuard
	out   int64
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	r.out += int64(n)
	if r.out > freeUnpacked && r.out > maxRatio*r.guard.n {
		return n, fault.Newf(fault.PayloadTooLarge, "httpserver.Body", "The gzip body decompresses to more than %d times its size. Send it uncompressed.", maxRatio)
	}
	return n, err
}

const (
	restBytes = 64 << 10               // reading a body of up to so many bytes is cheaper than a new connection
	restGrace = 250 * time.Millisecond // and no longer
)

// Leave lets net/http read a small body that is not needed, so that a client can reuse its connection at once. What has not
// arrived within restGrace ends it.
func (b *Body) Leave() {
	if b.done || b.message || b.r.ContentLength <= 0 || b.r.ContentLength > restBytes {
		return
	}
	b.done = b.stopReading(restGrace)
}

// refuseGrace is how long net/http may look for the end of an unread body, before the connection lingers.
const refuseGrace = 100 * time.Millisecond

// Refuse makes sure that an answer given without reading the body ends the connection, also when the client sends slowly: net/http reads on a
// little after the handler, and waits for it. The connection lingers then, so that the answer is read.
func (b *Body) Refuse() {
	if b.done || b.message {
		return
	}
	b.done = true
	b.w.Header()["Connection"] = closeConn
	b.stopReading(refuseGrace)
}

// stopReading gives net/http until then to find the end of the body, and has the connection linger if it is closed after the answer.
func (b *Body) stopReading(within time.Duration) bool {
	if c, ok := b.r.Context().Value(connKey{}).(*tcpConn); ok {
		c.unread.Store(true)
	}
	c, ok := b.w.(interface{ SetReadDeadline(time.Time) error })
	return ok && c.SetReadDeadline(time.Now().Add(within)) == nil
}
