package h1_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/upstream/h1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a connection that was recorded: what is written to it is dropped, what is read from it comes in pieces of at most step bytes.
type script struct {
	net.Conn // nil: nothing else is called
	text     []byte
	step     int
	closed   bool
}

func (c *script) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.step)], c.text)
	c.text = c.text[n:]
	return n, nil
}

func (c *script) Write(p []byte) (int, error) { return len(p), nil }

func (c *script) Close() error {
	c.closed = true
	return nil
}

// exchanged is the result of an exchange.
type exchanged struct {
	head h1.Head
	body string
	err  error
	kept bool
}

func hear(text []byte, step int) exchanged {
	conn := &script{text: text, step: step}
	host := newHost(h1.Config{Dial: func(context.Context, string) (net.Conn, error) { return conn, nil }}, "http", "acme.test")
	defer host.Close()
	var x h1.Exchange
	var got exchanged
	if got.head, got.err = x.Send(host, &h1.Request{Method: "POST", Path: "/", Body: []byte("{}")}); got.err == nil {
		var body []byte
		body, got.err = io.ReadAll(&x)
		got.body = string(body)
	}
	x.Close()
	got.kept = !conn.closed
	return got
}

// A panic while a connection is opened ends the call that wanted it, as any other panic in a call, and not the program.
func TestPanicOfADial(t *testing.T) {
	t.Parallel()
	host := newHost(h1.Config{Dial: func(context.Context, string) (net.Conn, error) { panic("no dial today") }}, "http", "acme.test")
	defer host.Close()
	defer func() {
		if got := recover(); got != "no dial today" {
			t.Errorf("the caller sees %v", got)
		}
	}()
	var x h1.Exchange
	_, err := x.Send(host, &h1.Request{Method: "POST", Path: "/"})
	t.Errorf("no panic, %v", err)
}

// expect is what net/http makes of it; rest is what it leaves unread.
func expect(text []byte) (resp *http.Response, body, rest string, err error) {
	r := bufio.NewReader(bytes.NewReader(text))
	for {
		resp, err = http.ReadResponse(r, &http.Request{Method: http.MethodPost})
		if err != nil {
			return nil, "", "", err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	b, err := io.ReadAll(resp.Body)
	left, _ := io.ReadAll(r)
	return resp, string(b), string(left), err
}

// check compares what both make of an answer: where both take it they agree on its body and on where it ends, and the way in which it
// arrived changes nothing.
func check(t *testing.T, text []byte) {
	got := hear(text, len(text)+1)
	for _, step := range []int{1, 3, 700} {
		again := hear(text, step)
		if (again.err == nil) != (got.err == nil) || again.err == nil && (again.head != got.head || again.body != got.body) {
			t.Fatalf("in pieces of %d: %+v, at once %+v", step, again, got)
		}
	}
	if got.err != nil {
		if got.kept {
			t.Fatal("a connection was kept after a fault")
		}
		return
	}
	resp, body, rest, err := expect(text)
	if err != nil {
		return
	}
	if got.head.Status != resp.StatusCode || got.body != body || got.head.Length != resp.ContentLength && resp.StatusCode != http.StatusNotModified {
		t.Fatalf("%+v, net/http has status %d, length %d and body %q", got, resp.StatusCode, resp.ContentLength, body)
	}
	if got.kept && (rest != "" || resp.Close) {
		t.Fatalf("kept, although net/http left %q, closing %v", rest, resp.Close)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n2;a=b\r\nok\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\nuntil the end",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length : 2\r\n\r\nok",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(check)
}

func FuzzChunks(f *testing.F) {
	for _, text := range []string{"0\r\n\r\n", "2\r\nok\r\n0\r\n\r\n", "00a;x=\"y\"\r\n0123456789\r\n0;z\r\nA: b\r\nC:\r\n\r\nmore", "2 \t\r\nok\r\n1\nx\r\n0\r\n\r\n", "10000000000000000\r\n", "-1\r\n", "0x2\r\nok"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		check(t, append([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), text...))
	})
}

// send is one exchange with a server.
func send(host *h1.Host) (h1.Head, string, error) {
	var x h1.Exchange
	defer x.Close()
	head, err := x.Send(host, &h1.Request{Method: "POST", Path: "/", Fields: []byte("Host: acme.test\r\n"), Body: []byte("{}")})
	if err != nil {
		return head, "", err
	}
	body, err := io.ReadAll(&x)
	return head, string(body), err
}

// newHost makes a host that has times and limits where a test sets none.
func newHost(cfg h1.Config, scheme, host string) *h1.Host {
	cfg.Connect, cfg.Handshake, cfg.Idle = cmp.Or(cfg.Connect, 5*time.Second), cmp.Or(cfg.Handshake, 5*time.Second), cmp.Or(cfg.Idle, 90*time.Second)
	cfg.Age, cfg.Requests = cmp.Or(cfg.Age, 10*time.Minute), cmp.Or(cfg.Requests, 1000)
	cfg.MaxIdle, cfg.MaxHead = cmp.Or(cfg.MaxIdle, 4096), cmp.Or(cfg.MaxHead, 64<<10)
	return h1.NewHost(cfg, scheme, host)
}

func hostOf(t testing.TB, cfg h1.Config, url string) *h1.Host {
	scheme, host, _ := strings.Cut(url, "://")
	names := h1.NewNames(nil, nil)
	cfg.Names = names
	h := newHost(cfg, scheme, host)
	t.Cleanup(names.Close)
	t.Cleanup(h.Close)
	return h
}

func TestTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	var offered []string
	srv.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		offered = hello.SupportedProtos
		return nil, nil
	}}
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	host := hostOf(t, h1.Config{TLS: &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}}}, srv.URL)
	for i := range 5 {
		head, body, err := send(host)
		if err != nil || body != "HTTP/1.1" || head.Reused != (i > 0) {
			t.Fatalf("request %d: %+v %q %v", i, head, body, err)
		}
	}
	if len(offered) != 1 || offered[0] != "http/1.1" {
		t.Errorf("offered %q", offered)
	}
	if _, _, err := send(hostOf(t, h1.Config{}, srv.URL)); err == nil {
		t.Error("a certificate of an unknown authority was taken")
	}
	srv.CloseClientConnections()
	for { // the end of the connection takes its time to arrive
		head, _, err := send(host)
		if err == nil && !head.Reused {
			break
		}
		if err != nil && (!head.Reused || head.Answered) {
			t.Fatalf("%+v %v", head, err)
		}
	}
}

// tlsServer answers every request with text in one TLS record.
func tlsServer(t *testing.T, cert tls.Certificate, text string) (url string, conns func() int) {
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			n++
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = io.WriteString(c, text)
				}
			})
		}
	})
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { _ = l.Close() })
	return "https://" + l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// Bytes after an answer are found although TLS has decrypted them already and our buffer ends with the answer.
func TestUnaskedBytesInsideTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	head := "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\nX: "
	head += strings.Repeat("x", 4<<10-4000-len(head)-4) + "\r\n\r\n"
	for behind, want := range map[string]int{"": 1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": 3} {
		url, conns := tlsServer(t, srv.TLS.Certificates[0], head+strings.Repeat("o", 4000)+behind)
		host := hostOf(t, h1.Config{TLS: &tls.Config{RootCAs: roots}}, url)
		for range 3 {
			if _, body, err := send(host); err != nil || len(body) != 4000 {
				t.Fatalf("%d bytes, %v", len(body), err)
			}
		}
		if n := conns(); n != want {
			t.Errorf("%d connections for three answers with %d bytes behind them", n, len(behind))
		}
		host.Close()
	}
}

// A connection that the server has closed is not used again, once its end has arrived.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
			_ = c.Close()
		}
	})
	defer l.Close()
	var ours net.Conn
	host := newHost(h1.Config{Dial: func(ctx context.Context, address string) (net.Conn, error) {
		ours, err = new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		return ours, err
	}}, "http", "acme.test")
	defer host.Close()
	for range 20 {
		head, _, err := send(host)
		if err != nil || head.Reused {
			t.Fatalf("%+v %v", head, err)
		}
		for !h1.Ended(ours) {
			runtime.Gosched()
		}
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dialled := 0
		var servers sync.WaitGroup
		host := newHost(h1.Config{MaxIdle: 2, Dial: func(context.Context, string) (net.Conn, error) {
			dialled++
			ours, theirs := net.Pipe()
			servers.Go(func() {
				defer theirs.Close()
				for r := bufio.NewReader(theirs); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			})
			return ours, nil
		}}, "http", "acme.test")
		together := func(n int) {
			list := make([]h1.Exchange, n)
			for i := range list {
				if _, err := list[i].Send(host, &h1.Request{Method: "POST", Path: "/"}); err != nil {
					t.Fatal(err)
				}
			}
			for i := range list {
				list[i].Close()
			}
		}
		for _, step := range []struct {
			wait  time.Duration
			n     int // requests at a time
			total int // connections so far
		}{{0, 3, 3}, {0, 2, 3}, {60 * time.Second, 1, 3}, {60 * time.Second, 2, 4}, {89 * time.Second, 2, 4}, {90 * time.Second, 1, 5}} {
			time.Sleep(step.wait) // the bubble's time
			if together(step.n); dialled != step.total {
				t.Fatalf("%d connections after %+v", dialled, step)
			}
		}
		host.Close()
		servers.Wait()
	})
}

// An exchange ends at once when it is aborted, whatever it waits for, and never before.
func TestAbort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer string }{
		{"before the head", ""}, {"inside the head", "HTTP/1.1 200 OK\r\nX"}, {"inside the body", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				host := newHost(h1.Config{Dial: func(context.Context, string) (net.Conn, error) { return ours, nil }}, "http", "acme.test")
				var server sync.WaitGroup
				server.Go(func() {
					_, _ = http.ReadRequest(bufio.NewReader(theirs))
					_, _ = io.WriteString(theirs, tt.answer)
					_, _ = io.Copy(io.Discard, theirs) // until the other side closes
				})
				var x h1.Exchange
				time.AfterFunc(time.Minute, x.Abort)
				start := time.Now()
				_, err := x.Send(host, &h1.Request{Method: "POST", Path: "/"})
				if err == nil {
					_, err = io.ReadAll(&x)
				}
				if took := time.Since(start); err == nil || took != time.Minute {
					t.Errorf("%v after %v", err, took)
				}
				x.Close()
				server.Wait()
			})
		})
	}
	t.Run("while dialling", func(t *testing.T) {
		t.Parallel()
		var x h1.Exchange
		host := newHost(h1.Config{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			x.Abort()
			<-ctx.Done()
			return nil, ctx.Err()
		}}, "http", "acme.test")
		if head, err := x.Send(host, &h1.Request{Method: "POST", Path: "/"}); !errors.Is(err, context.Canceled) || head.Connected {
			t.Errorf("%+v %v", head, err)
		}
		x.Close()
	})
}

func TestFields(t *testing.T) {
	t.Parallel()
	got, err := h1.AppendFields([]byte("-"), "acme.test:80", http.Header{"X-B": {"2", "3"}, "X-A": {"1"}, "Connection": {"close"}, "content-length": {"9"}, "Host": {"evil"}})
	if want := "-Host: acme.test:80\r\nX-A: 1\r\nX-B: 2\r\nX-B: 3\r\n"; err != nil || string(got) != want {
		t.Errorf("%q %v", got, err)
	}
	for name, value := range map[string]string{"X": "a\r\nY: b", "X\r\n": "a", "X Y": "a", "": "a", "Ü": "a", "Z": "a\x00"} {
		if got, err := h1.AppendFields(nil, "acme.test", http.Header{name: {value}}); err == nil {
			t.Errorf("%q: %q went through as %q", name, value, got)
		}
	}
	if _, err := h1.AppendFields(nil, "a\r\nb", nil); err == nil {
		t.Error("a line break in the host went through")
	}
}

// answerAll answers every request on every connection with nothing.
func answerAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for r := bufio.NewReader(c); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		}()
	}
}
