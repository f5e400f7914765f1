package upstream_test

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// bothClients runs a test over the client of our own and over net/http's.
func bothClients(t *testing.T, check func(t *testing.T, standard bool)) {
	for _, standard := range []bool{false, true} {
		t.Run(map[bool]string{false: "own", true: "standard"}[standard], func(t *testing.T) {
			t.Parallel()
			check(t, standard)
		})
	}
}

// verbatim is a dialect whose answers are their bodies. It counts nothing and judges nothing, so that what a test sees is HTTP alone.
type verbatim struct{}

func (verbatim) Header(*catalog.Provider) http.Header { return nil }

func (verbatim) Request(*catalog.Endpoint, *completion.Request) (dialect.Call, error) {
	return dialect.Call{Path: "/x", Body: []byte("{}")}, nil
}

func (verbatim) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	return dialect.Refusal{Status: status, Header: header, Message: string(body)}.Fault(ep)
}

func (verbatim) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		text, err := io.ReadAll(a.Body)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(&completion.Event{Text: text, Done: true}, nil)
	}
}

func verbatimClient(t testing.TB, cfg upstream.Config) *upstream.Client {
	cfg.Dialects = map[string]dialect.Dialect{"openai": verbatim{}}
	c := upstreamtest.New(cfg)
	t.Cleanup(c.Close)
	return c
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// framing is what a server may write, and what becomes of it.
var framing = []struct {
	name, answer string
	text         string // of the body
	fails        bool
	kept         bool // the connection serves again
	closes       bool // the server closes the connection after it
	stricter     bool // net/http takes it
}{
	{name: "length", answer: fine, text: "ok", kept: true},
	{name: "length twice the same", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", text: "ok", kept: true},
	{name: "chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", text: "ok", kept: true},
	{name: "chunks in capitals", answer: "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\n0A\r\n0123456789\r\n000\r\n\r\n", text: "0123456789", kept: true},
	{name: "chunk extensions", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b;c=\"d\"\r\nok\r\n0;e\r\n\r\n", text: "ok", kept: true},
	{name: "space behind a chunk's size", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\nok\r\n0\r\n\r\n", text: "ok", kept: true},
	{name: "trailers", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\nC: d\r\n\r\n", text: "ok", kept: true},
	{name: "until the end", answer: "HTTP/1.1 200 OK\r\n\r\nok", text: "ok", closes: true},
	{name: "close", answer: "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok", text: "ok"},
	{name: "close in a list", answer: "HTTP/1.1 200 OK\r\nConnection: foo, close\r\nContent-Length: 2\r\n\r\nok", text: "ok"},
	{name: "HTTP/1.0", answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", text: "ok"},
	{name: "HTTP/1.0 until the end", answer: "HTTP/1.0 200 OK\r\n\r\nok", text: "ok", closes: true},
	{name: "no body", answer: "HTTP/1.1 204 No Content\r\n\r\n", kept: true},
	{name: "no reason", answer: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", text: "ok", kept: true},
	{name: "no space before the value", answer: "HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\nok", text: "ok", kept: true},
	{name: "tabs around a value", answer: "HTTP/1.1 200 OK\r\nContent-Length:\t2 \t\r\n\r\nok", text: "ok", kept: true},
	{name: "empty value", answer: "HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 2\r\n\r\nok", text: "ok", kept: true},
	{name: "bytes above ASCII", answer: "HTTP/1.1 200 \xe9\r\nX: \xff\r\nContent-Length: 2\r\n\r\nok", text: "ok", kept: true},
	{name: "informational answers", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + fine, text: "ok", kept: true},
	{name: "as many as may be", answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 16) + fine, text: "ok", kept: true},
	{name: "large head", answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 60<<10) + "\r\nContent-Length: 2\r\n\r\nok", text: "ok", kept: true},
	{name: "large body", answer: upstreamtest.JSON(strings.Repeat("x", 300<<10)), text: strings.Repeat("x", 300<<10), kept: true},
	{name: "large chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + upstreamtest.Chunk(strings.Repeat("x", 300<<10)) + "0\r\n\r\n", text: strings.Repeat("x", 300<<10), kept: true},
	{name: "behind the length", answer: fine + "x", text: "ok"},
	{name: "a second answer", answer: fine + fine, text: "ok"},
	{name: "behind the chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nx", text: "ok"},
	{name: "a body where there is none", answer: "HTTP/1.1 204 No Content\r\n\r\nok"},

	{name: "too many informational answers", answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 17) + fine, fails: true},
	{name: "too large a head", answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 66<<10) + "\r\nContent-Length: 2\r\n\r\nok", fails: true},
	{name: "a switch of protocols", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", fails: true, closes: true},
	{name: "HTTP/2", answer: "\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\r\n\r\n", fails: true},
	{name: "HTTP/2 by name", answer: "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", fails: true, stricter: true},
	{name: "no HTTP", answer: "SSH-2.0-OpenSSH\r\n", fails: true, closes: true},
	{name: "nothing", fails: true, closes: true},
	{name: "half a status line", answer: "HTTP/1.1 2", fails: true, closes: true},
	{name: "half a head", answer: "HTTP/1.1 200 OK\r\nContent-Le", fails: true, closes: true},
	{name: "short status", answer: "HTTP/1.1 20 OK\r\n\r\n", fails: true, closes: true},
	{name: "long status", answer: "HTTP/1.1 2000 OK\r\n\r\n", fails: true, closes: true},
	{name: "status that is no number", answer: "HTTP/1.1 2x0 OK\r\n\r\n", fails: true, closes: true},
	{name: "control character in the reason", answer: "HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok", fails: true, stricter: true},
	{name: "folded line", answer: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok", fails: true, stricter: true},
	{name: "space before the first field", answer: "HTTP/1.1 200 OK\r\n X: a\r\nContent-Length: 2\r\n\r\nok", fails: true},
	{name: "space before the colon", answer: "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", fails: true, stricter: true, closes: true},
	{name: "no colon", answer: "HTTP/1.1 200 OK\r\nContent-Length 2\r\n\r\nok", fails: true},
	{name: "no name", answer: "HTTP/1.1 200 OK\r\n: 2\r\nContent-Length: 2\r\n\r\nok", fails: true},
	{name: "bad name", answer: "HTTP/1.1 200 OK\r\nX(y): 2\r\nContent-Length: 2\r\n\r\nok", fails: true},
	{name: "NUL in a value", answer: "HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 2\r\n\r\nok", fails: true},
	{name: "bare CR", answer: "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 2\r\n\r\nok", fails: true},
	{name: "bare LF", answer: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", fails: true, stricter: true},
	{name: "two lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", fails: true},
	{name: "length in a list", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", fails: true},
	{name: "length with a sign", answer: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", fails: true},
	{name: "negative length", answer: "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", fails: true},
	{name: "empty length", answer: "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok", fails: true},
	{name: "huge length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok", fails: true},
	{name: "length and chunks", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", fails: true, stricter: true},
	{name: "unknown coding", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok", fails: true},
	{name: "several codings", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nok", fails: true},
	{name: "chunked twice", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "chunks in HTTP/1.0", answer: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", fails: true, stricter: true, closes: true},
	{name: "short body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", fails: true, closes: true},
	{name: "short chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok", fails: true, closes: true},
	{name: "no last chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", fails: true, closes: true},
	{name: "half the last chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", fails: true, closes: true},
	{name: "no size", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "size that is no number", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "size with a sign", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "size with a prefix", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "huge size", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000002\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "long chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "LF behind a size", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n", fails: true},
	{name: "long extension", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 8<<10) + "\r\nok\r\n0\r\n\r\n", fails: true},
	{name: "large trailers", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + strings.Repeat("X: y\r\n", 8<<10) + "\r\n", fails: true},
	{name: "trailer without a colon", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX\r\n\r\n", fails: true},
}

// Both clients take what is HTTP/1 and refuse what is not; ours is the stricter one. A connection serves again exactly when its answer
// came to its end and nothing follows it.
func TestFraming(t *testing.T) {
	t.Parallel()
	for _, tt := range framing {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bothClients(t, func(t *testing.T, standard bool) {
				first := upstreamtest.Send(tt.answer)
				if tt.closes {
					first = upstreamtest.SendClose(tt.answer)
				}
				p := upstreamtest.NewProvider(t, first, upstreamtest.Send(fine))
				c := verbatimClient(t, upstream.Config{Standard: standard})
				ep := endpoint(p.URL)
				got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil))
				if fails := tt.fails && !(standard && tt.stricter); fails != (got.Err != nil) {
					t.Fatalf("fault %v, want one: %v", got.Err, fails)
				}
				if !tt.fails && got.Text != tt.text {
					t.Fatalf("%d bytes %.100q, want %d", len(got.Text), got.Text, len(tt.text))
				}
				if standard {
					return
				}
				if again := upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil)); again.Text != "ok" {
					t.Fatalf("the next call: %+v", again)
				}
				if seen := p.Seen(); (seen[0].Conn == seen[1].Conn) != tt.kept {
					t.Errorf("connections %d and %d, want the same: %v", seen[0].Conn, seen[1].Conn, tt.kept)
				}
			})
		})
	}
}

// pipes makes c reach http://acme.test over a connection that carries the parts of an answer one by one: a read sees no more than one.
func pipes(t *testing.T, c *upstream.Client, parts func(yield func(string) bool)) {
	var servers sync.WaitGroup
	t.Cleanup(func() {
		c.Close()
		servers.Wait()
	})
	c.Dial("http", "acme.test", func() net.Conn {
		ours, theirs := net.Pipe()
		servers.Go(func() {
			defer theirs.Close()
			r := bufio.NewReader(theirs)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				for part := range parts {
					if _, err := io.WriteString(theirs, part); err != nil {
						return
					}
				}
			}
		})
		return ours
	})
}

// Nothing of an answer depends on how reads fall: it is cut between every two bytes, and sent byte by byte.
func TestBordersOfReads(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"length": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothClients(t, func(t *testing.T, standard bool) {
				c := verbatimClient(t, upstream.Config{Standard: standard})
				cut := -1
				pipes(t, c, func(yield func(string) bool) {
					if cut > 0 {
						_ = yield(answer[:cut]) && yield(answer[cut:])
						return
					}
					for i := range len(answer) {
						if !yield(answer[i : i+1]) {
							return
						}
					}
				})
				for ; cut < len(answer); cut++ {
					if got := upstreamtest.Collect(c.Complete(context.Background(), endpoint("http://acme.test"), request(false), nil)); got.Err != nil || got.Text != "hello" {
						t.Fatalf("cut at %d: %+v", cut, got)
					}
				}
			})
		})
	}
}

// A refusal arrives although the provider has not read the request, which it then never reads.
func TestRefusalOfALargeRequest(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan struct{})
		var server sync.WaitGroup
		server.Go(func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			_, _ = io.WriteString(conn, upstreamtest.Sized(413, "text/plain", "too large"))
			<-answered // and the request is never read
		})
		defer server.Wait()
		defer l.Close()
		c := upstreamtest.New(upstream.Config{Standard: standard, Dialects: map[string]dialect.Dialect{"openai": large{}}})
		defer c.Close()
		got := upstreamtest.Collect(c.Complete(context.Background(), endpoint("http://"+l.Addr().String()), request(false), nil))
		close(answered)
		if got.Err == nil || got.Err.Kind != fault.PayloadTooLarge {
			t.Errorf("%+v", got.Err)
		}
	})
}

// large sends more than sockets hold.
type large struct{ verbatim }

func (large) Request(*catalog.Endpoint, *completion.Request) (dialect.Call, error) {
	return dialect.Call{Path: "/x", Body: make([]byte, 32<<20)}, nil
}

// peculiar has other fields for each request, and a path that must be escaped.
type peculiar struct{ verbatim }

func (peculiar) Header(*catalog.Provider) http.Header {
	return http.Header{"X-Version": {"1"}, "X-Kept": {"yes"}}
}

func (peculiar) Request(*catalog.Endpoint, *completion.Request) (dialect.Call, error) {
	return dialect.Call{Path: "/a b/\u00fc?q=1#part", Body: []byte("{}"), Header: http.Header{"X-Version": {"2"}}}, nil
}

func TestFieldsAndPathOfOneRequest(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		p := upstreamtest.NewProvider(t, upstreamtest.Send(fine))
		c := upstreamtest.New(upstream.Config{Standard: standard, Dialects: map[string]dialect.Dialect{"openai": peculiar{}}})
		defer c.Close()
		for range 2 {
			if got := upstreamtest.Collect(c.Complete(context.Background(), endpoint(p.URL), request(false), nil)); got.Err != nil {
				t.Fatal(got.Err)
			}
		}
		for _, seen := range p.Seen() {
			if seen.Path != "/v1/a%20b/%C3%BC?q=1" || strings.Join(seen.Header["X-Version"], ",") != "2" || seen.Header.Get("X-Kept") != "yes" {
				t.Errorf("%s %v", seen.Path, seen.Header)
			}
		}
	})
}
