package h1_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/upstream/h1"
)

const stolen = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"

// server answers each request by answer, which is also notified when the client is done with it.
type server struct {
	net.Listener
	dialled atomic.Int64
	wg      sync.WaitGroup
}

func serve(t *testing.T, connected func(net.Conn), answer func(c net.Conn, path string, done <-chan struct{}), done <-chan struct{}) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: l}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.dialled.Add(1)
			s.wg.Go(func() {
				defer c.Close()
				if connected != nil {
					connected(c)
				}
				for r := bufio.NewReader(c); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					answer(c, req.URL.Path, done)
				}
			})
		}
	})
	return s
}

func (s *server) dial(ctx context.Context, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", s.Addr().String())
}

func fetch(host *h1.Host, path string) (string, error) {
	var x h1.Exchange
	defer x.Close()
	if _, err := x.Send(host, &h1.Request{Method: "POST", Path: path, Body: []byte("{}")}); err != nil {
		return "", err
	}
	body, err := io.ReadAll(&x)
	return string(body), err
}

func own(path string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
}

// A server that sends more than it was asked for loses the connection: what it sent is never read as the answer to another request.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		connected func(net.Conn)
		answer    func(path string) string
		later     string // sent when the client has read the answer
		fails     bool
		first     string // what the first request gets when that is not its path
	}{
		"bytes behind a body":     {answer: func(p string) string { return own(p) + "x" }},
		"a second answer at once": {answer: func(p string) string { return own(p) + stolen }},
		"a second answer later":   {answer: own, later: stolen},
		"a byte later":            {answer: own, later: "\n"},
		"a second answer behind chunks": {answer: func(p string) string {
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n%s", len(p), p, stolen)
		}},
		"an answer that has none behind it": {answer: func(string) string { return "HTTP/1.1 204 No Content\r\n\r\n" + stolen }, first: "none"},
		"a body where there is none":        {answer: func(string) string { return "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nstolen" }, first: "none"},
		"an informational answer behind":    {answer: func(p string) string { return own(p) + "HTTP/1.1 100 Continue\r\n\r\n" }},
		"informational answers without end": {answer: func(string) string { return strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 5000) + stolen }, fails: true},
		"an upgrade":                        {answer: func(string) string { return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + stolen }, fails: true},
		"two lengths": {answer: func(string) string {
			return "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab" + stolen
		}, fails: true},
		"a length and chunks": {answer: func(string) string {
			return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + stolen
		}, fails: true},
		"an answer before the request (once)": {connected: func(c net.Conn) { _, _ = io.WriteString(c, own("early")) }, answer: own, first: "early"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done, sent := make(chan struct{}), make(chan struct{})
			first := sync.Once{}
			s := serve(t, c.connected, func(conn net.Conn, path string, done <-chan struct{}) {
				_, _ = io.WriteString(conn, c.answer(path))
				if path == "/a" && c.later != "" {
					<-done
					_, _ = io.WriteString(conn, c.later)
				}
				first.Do(func() { close(sent) })
			}, done)
			defer s.wg.Wait()
			defer s.Close()
			host := newHost(h1.Config{Dial: s.dial}, "http", "acme.test")
			defer host.Close()
			got, err := fetch(host, "/a")
			want := "/a"
			switch c.first {
			case "none":
				want = ""
			case "early":
				want = "early"
			}
			if c.fails != (err != nil) || !c.fails && got != want {
				t.Errorf("the first request got %q, %v", got, err)
			}
			close(done)
			<-sent
			if c.connected != nil {
				return // the second connection begins in the same way: what is said before a request is that request's own
			}
			got, err = fetch(host, "/b")
			if c.fails != (err != nil) || strings.Contains(got, "stolen") || !c.fails && c.first == "" && got != "/b" {
				t.Errorf("the second request got %q, %v", got, err)
			}
			if n := s.dialled.Load(); n != 2 {
				t.Errorf("two requests went over %d connections", n)
			}
		})
	}
}

// A connection serves so many requests, and for so long, and then another one does.
func TestConnectionsRetire(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, func(c net.Conn, path string, _ <-chan struct{}) { _, _ = io.WriteString(c, own(path)) }, nil)
	defer s.wg.Wait()
	defer s.Close()
	now := time.Unix(1_000_000, 0)
	host := newHost(h1.Config{Dial: s.dial, Requests: 3, Age: time.Minute, Idle: time.Hour, Now: func() time.Time { return now }}, "http", "acme.test")
	defer host.Close()
	for i, want := range []int64{1, 1, 1, 2, 2, 2, 3} {
		if got, err := fetch(host, fmt.Sprint("/", i)); err != nil || got != fmt.Sprint("/", i) {
			t.Fatalf("%q, %v", got, err)
		}
		if n := s.dialled.Load(); n != want {
			t.Fatalf("%d requests went over %d connections, not %d", i+1, n, want)
		}
	}
	now = now.Add(time.Minute)
	if _, err := fetch(host, "/old"); err != nil || s.dialled.Load() != 4 {
		t.Errorf("%v, and %d connections: the old one was used", err, s.dialled.Load())
	}
}
