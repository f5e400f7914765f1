// Package upstreamtest is the conformance suite that every dialect passes, and the scripted provider that it runs against.
// It is for tests only, and it never sleeps: a script that stalls waits until the other side closes the connection.
package upstreamtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Script answers one request. It writes any bytes; the connection then waits for the next request
// unless the script has closed it.
type Script func(c *Conn)

// Conn is a connection with one request read from it.
type Conn struct {
	net.Conn
	Request *http.Request
	Body    []byte
	Serial  int // of the connection, from 1
	closed  bool
	r       *bufio.Reader
}

// Close closes the connection properly.
func (c *Conn) Close() error {
	c.closed = true
	return c.Conn.Close()
}

// Reset closes the connection with a reset.
func (c *Conn) Reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Send writes text as it is.
func (c *Conn) Send(text string) { _, _ = io.WriteString(c.Conn, text) }

// Hang waits until the other side closes the connection.
func (c *Conn) Hang() {
	_, _ = io.Copy(io.Discard, c.r)
	_ = c.Close()
}

// Send is a script that writes text and keeps the connection.
func Send(text string) Script { return func(c *Conn) { c.Send(text) } }

// SendClose is a script that writes text and closes the connection.
func SendClose(text string) Script {
	return func(c *Conn) {
		c.Send(text)
		_ = c.Close()
	}
}

// SendReset is a script that writes text and resets the connection.
func SendReset(text string) Script {
	return func(c *Conn) {
		c.Send(text)
		c.Reset()
	}
}

// SendHang is a script that writes text and then nothing, until the other side gives up.
func SendHang(text string) Script {
	return func(c *Conn) {
		c.Send(text)
		c.Hang()
	}
}

// Sized is an answer with a Content-Length. Further header lines may be given.
func Sized(status int, contentType, body string, header ...string) string {
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s",
		status, contentType, len(body), lines(header), body)
}

// JSON is a 200 answer in JSON.
func JSON(body string) string { return Sized(200, "application/json", body) }

// StreamHead is the head of a chunked event stream.
func StreamHead(header ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" + lines(header) + "\r\n"
}

// StreamEnd is the last chunk.
const StreamEnd = "0\r\n\r\n"

// Chunk is data as one chunk.
func Chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

// Stream is a whole event stream, one chunk a frame.
func Stream(frames ...string) string {
	var s strings.Builder
	s.WriteString(StreamHead())
	for _, f := range frames {
		s.WriteString(Chunk(f))
	}
	s.WriteString(StreamEnd)
	return s.String()
}

func lines(header []string) string {
	if len(header) == 0 {
		return ""
	}
	return strings.Join(header, "\r\n") + "\r\n"
}

// Seen is one request as it arrived.
type Seen struct {
	Header http.Header
	Path   string
	Body   string
	Conn   int // serial of the connection
}

// Provider is a scripted fake on a loopback address.
type Provider struct {
	URL string

	l       net.Listener
	mu      sync.Mutex
	scripts []Script
	aside   func(*Conn) bool
	seen    []Seen
	conns   map[net.Conn]bool
	serial  int
	gone    chan int
	wg      sync.WaitGroup
	over    bool
}

// NewProvider starts a provider that answers the nth request by the nth script, and further ones by the last.
func NewProvider(t testing.TB, scripts ...Script) *Provider {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{URL: "http://" + l.Addr().String(), l: l, scripts: scripts, conns: make(map[net.Conn]bool), gone: make(chan int, 1024)}
	p.wg.Add(1)
	go p.accept()
	t.Cleanup(p.Close)
	return p
}

// Close ends the provider and waits for its scripts.
func (p *Provider) Close() {
	_ = p.l.Close()
	p.mu.Lock()
	p.over = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// SetAside has requests for which aside is true answered by it: no script is used up by them, and they are not Seen. It may be nil.
func (p *Provider) SetAside(aside func(c *Conn) (done bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aside = aside
}

// Seen are the requests so far.
func (p *Provider) Seen() []Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Seen(nil), p.seen...)
}

// Gone gives the serial of each connection as it ends, whichever side ended it.
func (p *Provider) Gone() <-chan int { return p.gone }

func (p *Provider) accept() {
	defer p.wg.Done()
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.over {
			_ = c.Close()
		}
		p.conns[c] = true
		p.serial++
		serial := p.serial
		p.wg.Add(1)
		p.mu.Unlock()
		go p.serve(c, serial)
	}
}

func (p *Provider) serve(nc net.Conn, serial int) {
	defer p.wg.Done()
	defer func() {
		_ = nc.Close()
		p.mu.Lock()
		delete(p.conns, nc)
		p.mu.Unlock()
		select {
		case p.gone <- serial:
		default: // so many that the test does not read them
		}
	}()
	r := bufio.NewReader(nc)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		c := &Conn{Conn: nc, Request: req, Body: body, Serial: serial, r: r}
		p.next(c)(c)
		if c.closed {
			return
		}
	}
}

func (p *Provider) next(c *Conn) Script {
	p.mu.Lock()
	aside := p.aside
	p.mu.Unlock()
	if aside != nil && aside(c) {
		return func(*Conn) {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, Seen{c.Request.Header, c.Request.URL.RequestURI(), string(c.Body), c.Serial})
	return p.scripts[min(len(p.seen), len(p.scripts))-1]
}
