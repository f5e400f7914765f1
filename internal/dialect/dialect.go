// Package dialect is the contract of provider wires, and the toolkit of those that implement it: each folder below is one wire. It must
// not open a connection, read a clock, choose endpoints or handle money.
package dialect

import (
	"io"
	"iter"
	"net/http"
	"slices"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Dialect encodes and decodes the wire of one kind of provider. The further interfaces that a dialect implements declare what its
// provider can do: Texter, Performer, VideoMaker, TokenCounter, Authorizer. A dialect is pure: sockets, clocks and limits belong to
// Client. Its methods are called concurrently.
type Dialect interface {
	// Header returns the header fields of every request to p: credential, content type and p's own fields. It is called once for each
	// credential that p declares, with that one in p.Key, and the results are kept.
	Header(p *catalog.Provider) http.Header
	// Failure classifies an answer that is not 2xx; body holds at most 64 KiB of it.
	Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error
}

// Texter is a Dialect of a provider that completes text.
type Texter interface {
	Dialect
	// Request encodes req for ep. It leaves req unchanged: the next attempt starts from it. The body may have views of req.Body, which
	// is not used for anything else before the attempt has ended.
	Request(ep *catalog.Endpoint, req *completion.Request) (Call, error)
	// Events decodes a 2xx answer. The sequence ends with one event that is Done, or with one error. Errors of a.Body are
	// passed on as they are; those of the decoder become faults through Broken, Ended, Empty and TooLarge.
	Events(a *Answer) iter.Seq2[*completion.Event, error]
}

// Call is one encoded request.
type Call struct {
	Method string // "": POST
	Path   string // appended to the provider's base URL, with its query if it has one
	Body   []byte
	More   [][]byte    // what follows Body: long values are views of the client's body and not copies
	Header http.Header // header fields of this request, in addition to those of the dialect's Header, which they override; nil: none
	Notice string      // sentences on what of the request is not in it, "" none

	// Fields that only a Performer sets.
	Unsent  []string                  // what of the task is not in the requests, by the names of the fields: the Ask reports or refuses it
	URL     string                    // the whole address instead of Path, as the provider gave it; "" none
	Stream  bool                      // the answer is a stream: the timeouts and limits of one
	Content func() (io.Reader, int64) // the body and its length where it is not in memory, opened anew for each try; nil: Body
}

// Size is the length of the body in bytes, where it is in memory.
func (call *Call) Size() int64 {
	n := int64(len(call.Body))
	for _, piece := range call.More {
		n += int64(len(piece))
	}
	return n
}

// Pieces are the parts of the body, where it is in memory.
func (call *Call) Pieces() [][]byte { return append([][]byte{call.Body}, call.More...) }

// LongValue is the length from which on a value of a request is not copied into the body that is sent, in bytes.
const LongValue = 16 << 10

// Writer writes the body of a request that is about as long as that of the client.
func Writer(length int) rawjson.Writer {
	return rawjson.Writer{B: make([]byte, 0, min(length, LongValue)+512), Long: LongValue}
}

// Verb is the HTTP method.
func (call *Call) Verb() string {
	if call.Method == "" {
		return http.MethodPost
	}
	return call.Method
}

// Answer is a 2xx answer that is being received.
type Answer struct {
	Endpoint *catalog.Endpoint
	Request  *completion.Request
	Length   int64 // declared length of the body in bytes, -1 unknown
	Limits   Limits
	Notice   string // of the Call: goes into the Head
	Body     *Body

	Exchange Exchange // the HTTP exchange that it came by; nil in tests of a decoder
}

// Exchange is the HTTP exchange of an answer.
type Exchange interface {
	// Linger reports that the answer is complete except for usage and the end mark.
	Linger()
	// Header returns the header fields of the answer. They are valid until its body is read: both use the same buffer.
	Header() http.Header
	// Close ends the exchange.
	Close()
}

// Finished reports that every choice of a streamed answer has ended. Usage and the mark of the end may follow: they are waited for only
// for Timeouts.Linger, then the body ends with io.EOF. It may be called again.
func (a *Answer) Finished() {
	if a.Exchange != nil {
		a.Exchange.Linger()
	}
}

// Close ends an answer that Ask.Do returned.
func (a *Answer) Close() {
	if a.Exchange != nil {
		a.Exchange.Close()
	}
}

// Body is the body of an answer, with its timeouts and size limits applied, and decompressed. Its errors other than io.EOF are
// *fault.Error.
type Body struct {
	r      io.Reader
	head   [64]byte // bytes that Peek has read and Read has not returned yet
	headAt int
	headTo int
	err    error // of the read that filled head
	sawEOF bool
}

// NewBody makes a Body of plain bytes.
func NewBody(r io.Reader) *Body { return &Body{r: r} }

// Reset makes b read from r.
func (b *Body) Reset(r io.Reader) { *b = Body{r: r} }

// AtEnd reports whether the end of the body was read.
func (b *Body) AtEnd() bool { return b.sawEOF }

// Peek returns the first byte of the body that is not white space or part of a byte order mark, without consuming it. White space before
// it is dropped: providers send some to keep a slow answer's connection alive.
func (b *Body) Peek() (byte, error) {
	for {
		for b.headAt < b.headTo {
			switch c := b.head[b.headAt]; c {
			case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
				b.headAt++
			default:
				return c, nil
			}
		}
		if b.err != nil {
			return 0, b.err
		}
		b.headAt = 0
		b.headTo, b.err = b.r.Read(b.head[:])
		b.sawEOF = b.err == io.EOF
	}
}

// Read continues after the bytes that Peek dropped.
func (b *Body) Read(p []byte) (int, error) {
	if b.headAt < b.headTo {
		n := copy(p, b.head[b.headAt:b.headTo])
		b.headAt += n
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	if err != nil {
		b.err = err
		b.sawEOF = err == io.EOF
	}
	return n, err
}

// ReadAll reads the whole body into buf, which it grows, up to the limit for whole answers.
func (a *Answer) ReadAll(buf []byte) ([]byte, error) {
	buf = buf[:0]
	if a.Length > 0 && a.Length <= a.Limits.Whole {
		buf = slices.Grow(buf, int(a.Length)+1) // one more, so that the read that finds the end needs no growth
	}
	for {
		if len(buf) == cap(buf) {
			n := int64(len(buf))
			buf = slices.Grow(buf, int(min(max(n, 4<<10), a.Limits.Whole+1-n))) // doubles: append grows large slices by a quarter, and copies each time
		}
		n, err := a.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > a.Limits.Whole {
			a.Holds(cap(buf))
			return buf, TooLarge(a.Endpoint, nil)
		}
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			a.Holds(cap(buf))
			return buf, err
		}
	}
}

// ReadLent reads the whole body, up to the limit for whole answers, into memory that the call's Buffers lend: it is valid until the call has
// ended. Without Buffers it is allocated.
func (a *Answer) ReadLent() ([]byte, error) {
	lend, back := func(n int) []byte { return make([]byte, 0, n) }, func([]byte) {}
	if a.Request != nil && a.Request.Buffers != nil {
		lend, back = a.Request.Buffers.Lend, a.Request.Buffers.Return
	}
	size := int64(firstLent)
	if a.Length >= 0 {
		size = min(a.Length+1, mostLent) // one more, so that the read that finds the end needs no growth
	}
	buf := lend(int(size))
	for {
		if len(buf) == cap(buf) {
			old := buf
			buf = append(lend(int(min(4*int64(cap(old)), a.Limits.Whole+1))), old...)
			back(old)
		}
		n, err := a.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > a.Limits.Whole {
			return nil, TooLarge(a.Endpoint, nil)
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// First sizes of a lent buffer, which then grows as bytes arrive.
const (
	firstLent = 64 << 10 // of an answer without a length
	mostLent  = 1 << 20  // whatever length a provider declares
)

// smallAnswer is the memory of an answer that is not counted, in bytes.
const smallAnswer = 64 << 10

// Holds reports memory that is kept of a large answer to the counter of its call.
func (a *Answer) Holds(n int) {
	if n > smallAnswer && a.Request != nil && a.Request.Memory != nil {
		a.Request.Memory.Force(int64(n))
	}
}

// Limits bound the memory and the length of an answer, in bytes.
type Limits struct {
	Whole    int64 `yaml:"max_response_bytes" as:"size"`     // body of a whole answer, after decompression
	Stream   int64 `constant:"max_stream_bytes" as:"size"`   // body of a stream
	Line     int   `constant:"sse_max_line_bytes" as:"size"` // one SSE line and one SSE event
	Headers  int64 `constant:"max_header_bytes" as:"size"`   // response headers
	Requests int   `constant:"connection_requests"`          // over one connection of our own client
	Media    int64 // body of a whole answer to a task, after decompression, and of a file that an answer names by address
}

// DefaultLimits are the usual ones.
func DefaultLimits() Limits {
	return Limits{Whole: 16 << 20, Stream: 256 << 20, Line: 4 << 20, Headers: 64 << 10, Requests: 1000, Media: 64 << 20}
}

// Authorizer is a Dialect whose requests may need more than a fixed header field as credential: a token that is fetched, or a signature.
type Authorizer interface {
	// Authorize returns the method for requests with the credential p.Key; nil means that Header is enough. It is called once for each
	// credential. Where there is a method, Header is called without the credential.
	Authorize(p *catalog.Provider, d auth.Deps) (auth.Method, error)
}

// TokenCounter is a Dialect whose provider counts the tokens of a prompt free of charge.
type TokenCounter interface {
	// CountRequest encodes the request that counts the tokens of req for ep; ok is false when the provider cannot count them. It leaves
	// req unchanged.
	CountRequest(ep *catalog.Endpoint, req *completion.Request) (call Call, ok bool)
}

// Reader opens the request body, which is read as it is sent.
func (call *Call) Reader() (io.ReadCloser, int64) {
	if call.Content == nil {
		return nil, 0
	}
	r, size := call.Content()
	return io.NopCloser(r), size
}
