package httpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/httpserver"
)

func narrow(c *httpserver.Config) { c.MaxHeaderBytes = 16 << 10 }

// serve serves a handler until the test ends, and returns its address. edit may be nil.
func serve(t testing.TB, h http.Handler, edit func(*httpserver.Config)) string {
	t.Helper()
	_, address := start(t, h, edit)
	return address
}

func start(t testing.TB, h http.Handler, edit func(*httpserver.Config)) (*httpserver.Server, string) {
	t.Helper()
	l, err := httpserver.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := httpserver.Default()
	if edit != nil {
		edit(&cfg)
	}
	s := httpserver.New(httpserver.Deps{Handler: h, Slog: slog.New(slog.DiscardHandler), Now: time.Now}, cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ended, end := context.WithCancel(context.Background())
		end()
		_ = s.Drain(ended, 0, 0)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, l.Addr().String()
}

func dial(t testing.TB, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	text := fmt.Sprintf("%s %s %s %q %d %v", r.Method, r.URL.Path, r.Host, body, r.ContentLength, err)
	w.Header()["Content-Type"] = []string{"text/plain"}
	if r.Header.Get("X-Length") != "" {
		w.Header()["Content-Length"] = []string{fmt.Sprint(len(text))}
	}
	_, _ = io.WriteString(w, text)
}

func read(t testing.TB, in *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	r, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

func TestRawRequests(t *testing.T) {
	t.Parallel()
	address := serve(t, http.HandlerFunc(echo), narrow)
	const host = "Host: a.example:80\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
		body    string
		closes  bool
	}{
		"plain":                {"GET /a HTTP/1.1\r\n" + host + "\r\n", 200, `GET /a a.example:80 "" 0 <nil>`, false},
		"whole answer":         {"GET /a HTTP/1.1\r\n" + host + "X-Length: 1\r\n\r\n", 200, `GET /a a.example:80 "" 0 <nil>`, false},
		"body":                 {"POST /a HTTP/1.1\r\n" + host + "content-length: 3\r\n\r\nabc", 200, `POST /a a.example:80 "abc" 3 <nil>`, false},
		"chunks":               {"POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: u\r\n\r\n", 200, `POST /a a.example:80 "abc" -1 <nil>`, false},
		"query":                {"GET /a?b=c HTTP/1.1\r\n" + host + "\r\n", 200, `GET /a a.example:80 "" 0 <nil>`, false},
		"absolute form":        {"GET http://b.example/a HTTP/1.1\r\n" + host + "\r\n", 200, `GET /a b.example "" 0 <nil>`, false},
		"empty line before":    {"\r\nGET /a HTTP/1.1\r\n" + host + "\r\n", 200, `GET /a a.example:80 "" 0 <nil>`, false},
		"two empty lines":      {"\r\n\r\nGET /a HTTP/1.1\r\n" + host + "\r\n", 400, "", true},
		"close":                {"GET /a HTTP/1.1\r\n" + host + "Connection: x, Close\r\n\r\n", 200, `GET /a a.example:80 "" 0 <nil>`, true},
		"HTTP/1.0":             {"GET /a HTTP/1.0\r\n\r\n", 200, `GET /a  "" 0 <nil>`, true},
		"HTTP/1.0 kept":        {"GET /a HTTP/1.0\r\nConnection: keep-alive\r\nX-Length: 1\r\n\r\n", 200, `GET /a  "" 0 <nil>`, false},
		"HTTP/1.0 kept alone":  {"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, `GET /a  "" 0 <nil>`, false},
		"HEAD":                 {"HEAD /a HTTP/1.1\r\n" + host + "X-Length: 1\r\n\r\n", 200, "", false},
		"HEAD without length":  {"HEAD /a HTTP/1.1\r\n" + host + "\r\n", 200, "", false},
		"bytes above ASCII":    {"GET /a HTTP/1.1\r\n" + host + "X: \xe9\r\n\r\n", 200, `GET /a a.example:80 "" 0 <nil>`, false},
		"bare line feed":       {"GET /a HTTP/1.1\n" + host + "\r\n", 400, "", true},
		"bare line feed later": {"GET /a HTTP/1.1\r\n" + host + "X: y\n\r\n", 400, "", true},
		"carriage return":      {"GET /a HTTP/1.1\r\n" + host + "X: y\rz\r\n\r\n", 400, "", true},
		"NUL":                  {"GET /a HTTP/1.1\r\n" + host + "X: \x00\r\n\r\n", 400, "", true},
		"folded line":          {"GET /a HTTP/1.1\r\n" + host + "X: y\r\n z\r\n\r\n", 400, "", true},
		"space before colon":   {"GET /a HTTP/1.1\r\n" + host + "X : y\r\n\r\n", 400, "", true},
		"no colon":             {"GET /a HTTP/1.1\r\n" + host + "X\r\n\r\n", 400, "", true},
		"no name":              {"GET /a HTTP/1.1\r\n" + host + ": y\r\n\r\n", 400, "", true},
		"no host":              {"GET /a HTTP/1.1\r\n\r\n", 400, "", true},
		"two hosts":            {"GET /a HTTP/1.1\r\n" + host + host + "\r\n", 400, "", true},
		"malformed host":       {"GET /a HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "", true},
		"two lengths":          {"POST /a HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, "", true},
		"length with a sign":   {"POST /a HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\na", 400, "", true},
		"list of lengths":      {"POST /a HTTP/1.1\r\n" + host + "Content-Length: 1, 1\r\n\r\na", 400, "", true},
		"length and chunks":    {"POST /a HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "", true},
		"chunks twice":         {"POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "", true},
		"chunks in HTTP/1.0":   {"POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "", true},
		"other coding":         {"POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "", true},
		"HTTP/2":               {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "", true},
		"HTTP/1.2":             {"GET /a HTTP/1.2\r\n" + host + "\r\n", 505, "", true},
		"no version":           {"GET /a\r\n\r\n", 400, "", true},
		"two spaces":           {"GET  /a HTTP/1.1\r\n" + host + "\r\n", 400, "", true},
		"malformed target":     {"GET a%zz HTTP/1.1\r\n" + host + "\r\n", 400, "", true},
		"CONNECT":              {"CONNECT a:1 HTTP/1.1\r\n" + host + "\r\n", 501, "", true},
		"unknown expectation":  {"POST /a HTTP/1.1\r\n" + host + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\na", 417, "", true},
		"large head":           {"GET /a HTTP/1.1\r\n" + host + "X: " + strings.Repeat("y", 40<<10) + "\r\n\r\n", 431, "", true},
		"medium head":          {"GET /a HTTP/1.1\r\n" + host + "X: " + strings.Repeat("y", 15<<10) + "\r\n\r\n", 200, `GET /a a.example:80 "" 0 <nil>`, false},
		"TLS":                  {"\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n", 400, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// whole, in pieces, and together with the next request
			next := "GET /next HTTP/1.1\r\nHost: n\r\n\r\n"
			if c.closes && c.status == 200 {
				next = "" // unread, it would reset the connection, and the answer with it
			}
			for how, send := range map[string]func(w io.Writer) error{
				"whole": func(w io.Writer) error {
					_, err := io.WriteString(w, c.request+next)
					return err
				},
				"in pieces": func(w io.Writer) error {
					for p := []byte(c.request + next); len(p) > 0; {
						n := min(1+len(p)/50, len(p))
						if _, err := w.Write(p[:n]); err != nil {
							return err
						}
						p = p[n:]
					}
					return nil
				},
			} {
				conn, in := dial(t, address)
				if err := send(conn); err != nil && !c.closes {
					t.Fatalf("%s: %v", how, err)
				}
				method, _, _ := strings.Cut(strings.TrimSpace(c.request), " ")
				r, body := read(t, in, method)
				if r.StatusCode != c.status || c.status == 200 && body != c.body {
					t.Fatalf("%s: %d %q", how, r.StatusCode, body)
				}
				if r.Header.Get("Date") == "" && c.status == 200 {
					t.Errorf("%s: no date", how)
				}
				if c.closes {
					if !r.Close {
						t.Errorf("%s: the answer does not say that the connection ends", how)
					}
					if rest, _ := io.ReadAll(in); len(rest) > 0 {
						t.Errorf("%s: after the end: %q", how, rest)
					}
					continue
				}
				if _, body := read(t, in, "GET"); body != `GET /next n "" 0 <nil>` {
					t.Errorf("%s: the next answer is %q", how, body)
				}
			}
		})
	}
}

func TestRawAnswers(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 100<<10)
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
		closes  bool
		cut     bool
	}{
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, 200, "", false, false},
		"a status":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, 404, "", false, false},
		"no body":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204); _, _ = io.WriteString(w, "x") }, 204, "", false, false},
		"two heads": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); w.WriteHeader(200) }, 404, "", false, false},
		"large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(large)))
			_, _ = io.WriteString(w, large)
		}, 200, large, false, false},
		"large chunks": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, large)
			_, _ = io.WriteString(w, "y")
		}, 200, large + "y", false, false},
		"small chunks": {func(w http.ResponseWriter, _ *http.Request) {
			for range 3000 {
				_, _ = io.WriteString(w, "0123456789")
			}
		}, 200, strings.Repeat("0123456789", 3000), false, false},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			if _, err := io.WriteString(w, "abc"); !errors.Is(err, http.ErrContentLength) {
				panic(err)
			}
			_, _ = io.WriteString(w, "ab")
		}, 200, "", true, true},
		"too short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			_, _ = io.WriteString(w, "ab")
		}, 200, "ab", true, true},
		"close":       {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, 200, "", true, false},
		"body unread": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, 400, "", false, false},
		"aborted": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, large)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 200, large, true, true},
		"panic": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, large)
			_ = http.NewResponseController(w).Flush()
			panic("x")
		}, 200, large, true, true},
		"an injected line": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X"] = []string{"a\r\nSet-Cookie: b"}
			w.Header()["Y\r\nSet-Cookie"] = []string{"b"}
		}, 200, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var next atomic.Bool
			address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if next.Swap(true) {
					echo(w, r)
					return
				}
				c.handler(w, r)
			}), nil)
			conn, in := dial(t, address)
			fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab")
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r.Body)
			if r.StatusCode != c.status || string(body) != c.body || (err != nil) != c.cut {
				t.Fatalf("%d, %d bytes, %v", r.StatusCode, len(body), err)
			}
			if r.Header.Get("Set-Cookie") != "" {
				t.Error("a value became a field")
			}
			if c.closes {
				if rest, _ := io.ReadAll(in); len(rest) > 0 {
					t.Errorf("after the end: %q", rest)
				}
				return
			}
			fmt.Fprint(conn, "GET /n HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, text := read(t, in, "GET"); text != `GET /n x "" 0 <nil>` {
				t.Errorf("the next answer is %q", text)
			}
		})
	}
}

// Frames are sent with Flush, and a stream whose client has gone ends its request's context.
func TestRawStreams(t *testing.T) {
	t.Parallel()
	gone := make(chan error, 1)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- context.Cause(r.Context())
	}), nil)
	conn, in := dial(t, address)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 9)
	if _, err := io.ReadFull(r.Body, frame); err != nil || string(frame) != "data: 1\n\n" {
		t.Fatalf("%q %v", frame, err)
	}
	conn.Close()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A client that closes or resets its connection ends its own request and no other, in the first request of a connection and in a later one.
func TestSomeClientsLeave(t *testing.T) {
	t.Parallel()
	const pairs = 20
	left, stay := make(chan string, pairs), make(chan struct{})
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/patient" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			left <- r.URL.Path
			return
		}
		select {
		case <-stay:
		case <-r.Context().Done():
			t.Error("a request has ended whose client stays")
		}
	}), nil)
	leave := func(path string, conns []net.Conn, answers []*bufio.Reader) {
		for i, c := range conns {
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			if line, err := answers[i].ReadString('\n'); err != nil { // else a reset could come before the request is read
				t.Fatal(line, err)
			}
			if i%2 == 0 {
				_ = c.(*net.TCPConn).SetLinger(0)
			}
			c.Close()
		}
		for range conns {
			if got := <-left; got != path {
				t.Errorf("a client of %s has left, want %s", got, path)
			}
		}
	}
	var patient, hasty [pairs]net.Conn
	var answers, others [pairs]*bufio.Reader
	for i := range pairs {
		patient[i], answers[i] = dial(t, address)
		hasty[i], others[i] = dial(t, address)
		fmt.Fprint(patient[i], "GET /patient HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	leave("/hasty", hasty[:], others[:]) // by now those before are watched, too
	close(stay)
	for _, in := range answers {
		if r, _ := read(t, in, "GET"); r.StatusCode != 200 {
			t.Fatal(r.Status)
		}
	}
	leave("/again", patient[:], answers[:])
}

// A request that took long leaves its connection usable, also with the next request already there.
func TestLongRequests(t *testing.T) {
	t.Parallel()
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(60 * time.Millisecond):
		case <-r.Context().Done():
			t.Error("the request ended early")
		}
		echo(w, r)
	}), nil)
	conn, in := dial(t, address)
	for i := range 4 {
		fmt.Fprintf(conn, "POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n%d", i, i)
		if i%2 == 0 {
			continue
		}
		for j := i - 1; j <= i; j++ {
			if _, body := read(t, in, "POST"); body != fmt.Sprintf(`POST /%d x "%d" 1 <nil>`, j, j) {
				t.Fatalf("%q", body)
			}
		}
	}
}

func TestRawContinue(t *testing.T) {
	t.Parallel()
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(413)
			return
		}
		echo(w, r)
	}), nil)
	conn, in := dial(t, address)
	fmt.Fprint(conn, "POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("%q %v", line, err)
	}
	_, _ = in.ReadString('\n')
	fmt.Fprint(conn, "ab")
	if _, body := read(t, in, "POST"); body != `POST /a x "ab" 2 <nil>` {
		t.Fatalf("%q", body)
	}
	fmt.Fprint(conn, "POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	if r, _ := read(t, in, "POST"); r.StatusCode != 413 || !r.Close {
		t.Errorf("%d, close %v", r.StatusCode, r.Close)
	}
}

// A drain closes idle connections at once, and lets the answer under way end.
func TestRawDrain(t *testing.T) {
	t.Parallel()
	begun, leave := make(chan struct{}), make(chan struct{})
	s, address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			close(begun)
			<-leave
		}
		echo(w, r)
	}), nil)
	idle, idleIn := dial(t, address)
	fmt.Fprint(idle, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	read(t, idleIn, "GET")
	conn, in := dial(t, address)
	fmt.Fprint(conn, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(context.Background(), 0, time.Minute) }()
	if _, err := idleIn.ReadByte(); err != io.EOF {
		t.Errorf("the idle connection: %v", err)
	}
	close(leave)
	if r, body := read(t, in, "GET"); body != `GET /long x "" 0 <nil>` || !r.Close {
		t.Errorf("%q, close %v", body, r.Close)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}
