package upstream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/redact"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	whole = `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}`
	first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n"
	last  = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
)

func client(t testing.TB, cfg upstream.Config) *upstream.Client {
	cfg.Dialects = map[string]dialect.Dialect{"openai": new(openai.Dialect)}
	c := upstreamtest.New(cfg)
	t.Cleanup(c.Close)
	return c
}

func endpoint(url string) *catalog.Endpoint {
	p := &catalog.Provider{ID: "acme", Name: "Acme", Dialect: "openai", BaseURL: url + "/v1", Key: "acme-secret-key", Headers: map[string]string{"X-Team": "blue"}}
	return &catalog.Endpoint{ID: "acme/m", Provider: p, UpstreamID: "acme-large", Params: catalog.AllParams}
}

func request(stream bool) *completion.Request {
	body := []byte(`{"model":"x/y","messages":[{"role":"user","content":"hi"}]}`)
	req := &completion.Request{Body: body, Stream: stream, N: 1}
	for m := rawjson.MembersOf(body); m.Next(); {
		req.Members = append(req.Members, completion.Member{Name: string(m.Name), Start: m.Start, End: m.End, Value: m.At})
	}
	return req
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	bothClients(t, testRequestOnTheWire)
}

func testRequestOnTheWire(t *testing.T, standard bool) {
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(whole)))
	if got := upstreamtest.Collect(client(t, upstream.Config{Standard: standard}).Complete(context.Background(), endpoint(p.URL), request(false), nil)); got.Err != nil {
		t.Fatal(got.Err)
	}
	seen := p.Seen()[0]
	if seen.Path != "/v1/chat/completions" || seen.Body != `{"model":"acme-large","messages":[{"role":"user","content":"hi"}]}` {
		t.Errorf("%s %s", seen.Path, seen.Body)
	}
	for name, want := range map[string]string{"Authorization": "Bearer acme-secret-key", "Content-Type": "application/json", "Accept": "application/json",
		"X-Team": "blue", "User-Agent": "weir", "Accept-Encoding": "gzip, deflate, br, zstd"} {
		if got := seen.Header.Get(name); got != want {
			t.Errorf("%s: %q want %q", name, got, want)
		}
	}
}

// A connection serves again after a whole answer, after a stream, also when it continues after [DONE], and after a refusal; but not one of
// the standard client, which may read what a server has sent unasked as the answer to the next request.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	bothClients(t, testConnectionsAreReused)
}

func testConnectionsAreReused(t *testing.T, standard bool) {
	for _, tt := range []struct {
		name, answer string
		stream       bool
	}{
		{"whole", upstreamtest.JSON(whole), false},
		{"stream", upstreamtest.Stream(first, last), true},
		{"frames behind the end", upstreamtest.Stream(first, last, first, last), true},
		{"refusal", upstreamtest.Sized(429, "application/json", `{"error":{}}`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(tt.answer))
			c := upstreamtest.New(upstream.Config{Standard: standard, Dialects: map[string]dialect.Dialect{"openai": new(openai.Dialect)}})
			ep := endpoint(p.URL)
			for range 20 {
				upstreamtest.Collect(c.Complete(context.Background(), ep, request(tt.stream), nil))
			}
			c.Close()
			// What is drained after an answer may overlap with the next request; most must not need a new connection.
			conns := map[int]bool{}
			for _, s := range p.Seen() {
				conns[s.Conn] = true
			}
			if standard && len(conns) != 20 || !standard && len(conns) > 10 {
				t.Errorf("%d connections for 20 requests", len(conns))
			}
		})
	}
}

// A connection that the provider closed while it was idle is distinguished from one that failed: the request is sent once more.
func TestReusedConnectionThatIsGone(t *testing.T) {
	t.Parallel()
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(whole)), upstreamtest.SendClose(""))
	c := client(t, upstream.Config{})
	ep := endpoint(p.URL)
	if got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil)); got.Err != nil {
		t.Fatal(got.Err)
	}
	got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil))
	if got.Err == nil || !got.Err.Upstream.Reused {
		t.Fatalf("%+v", got)
	}
	got = upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil))
	if got.Err == nil || got.Err.Upstream.Reused {
		t.Fatalf("on a fresh connection: %+v", got)
	}
}

// The caller's end closes the connection at once, whatever the attempt is doing.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	bothClients(t, testCallerGone)
}

func testCallerGone(t *testing.T, standard bool) {
	for _, tt := range []struct {
		name, answer string
	}{
		{"before the headers", ""},
		{"before content", upstreamtest.StreamHead()},
		{"inside the stream", upstreamtest.StreamHead() + upstreamtest.Chunk(first)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
				c.Send(tt.answer)
				if !strings.Contains(tt.answer, "data:") {
					cancel()
				}
				c.Hang()
			})
			var end error
			for ev, err := range client(t, upstream.Config{Standard: standard}).Complete(ctx, endpoint(p.URL), request(true), nil) {
				if err != nil {
					end = err
				} else if ev.HasContent() {
					cancel()
				}
			}
			if f := fault.From(end); f == nil || f.Kind != fault.Canceled || f.Next != fault.Stop {
				t.Errorf("%v", end)
			}
			<-p.Gone()
		})
	}
}

// givesUp is a connection whose reader gives up before it waits for more than so many bytes.
type givesUp struct {
	net.Conn
	after  int
	giveUp func()
}

func (c *givesUp) Read(p []byte) (int, error) {
	if c.after <= 0 {
		c.giveUp()
	}
	n, err := c.Conn.Read(p)
	c.after -= n
	return n, err
}

// The fault of a call that was given up says whether the provider had all of the request by then, and had not refused it.
func TestCallerGoneTaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
		stream       bool
		taken        bool
	}{
		{"before the headers", "", true, true},
		{"a whole answer", "", false, true},
		{"after early hints", "HTTP/1.1 103 Early Hints\r\n\r\n", true, true},
		{"before content", upstreamtest.StreamHead(), true, true},
		{"in a refusal", "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 100\r\n\r\n{", true, false},
		{"in an error", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\n{", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			p := upstreamtest.NewProvider(t, upstreamtest.SendHang(tt.answer))
			c := client(t, upstream.Config{Dial: func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
				return &givesUp{conn, len(tt.answer), cancel}, err
			}})
			got := upstreamtest.Collect(c.Complete(ctx, endpoint(p.URL), request(tt.stream), nil))
			if got.Err == nil || got.Err.Kind != fault.Canceled || got.Err.Taken != tt.taken {
				t.Errorf("%+v", got.Err)
			}
		})
	}
	t.Run("over net/http", func(t *testing.T) { // which may say that a request is written after its provider has read it
		t.Parallel()
		for range 100 {
			ctx, cancel := context.WithCancel(context.Background())
			p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
				cancel()
				c.Hang()
			})
			if got := upstreamtest.Collect(client(t, upstream.Config{Standard: true}).Complete(ctx, endpoint(p.URL), request(true), nil)); got.Err.Taken {
				return
			}
		}
		t.Error("no request was ever written")
	})
	bothClients(t, testNotTaken)
}

func testNotTaken(t *testing.T, standard bool) {
	t.Run("a request that is not read", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			if c, err := l.Accept(); err == nil {
				cancel()
				<-t.Context().Done()
				_ = c.Close()
			}
		}()
		big := *request(true)
		big.Body = []byte(`{"model":"x/y","messages":[{"role":"user","content":"` + strings.Repeat("x", 64<<20) + `"}]}`)
		big.Members = nil
		for m := rawjson.MembersOf(big.Body); m.Next(); {
			big.Members = append(big.Members, completion.Member{Name: string(m.Name), Start: m.Start, End: m.End, Value: m.At})
		}
		got := upstreamtest.Collect(client(t, upstream.Config{Standard: standard}).Complete(ctx, endpoint("http://"+l.Addr().String()), &big, nil))
		if got.Err == nil || got.Err.Kind != fault.Canceled || got.Err.Taken {
			t.Errorf("%+v", got.Err)
		}
	})
	t.Run("no connection", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		got := upstreamtest.Collect(client(t, upstream.Config{Standard: standard}).Complete(ctx, endpoint("http://127.0.0.1:1"), request(true), nil))
		if got.Err == nil || got.Err.Kind != fault.Canceled || got.Err.Taken {
			t.Errorf("%+v", got.Err)
		}
	})
}

func TestReaderStops(t *testing.T) {
	t.Parallel()
	bothClients(t, testReaderStops)
}

func testReaderStops(t *testing.T, standard bool) {
	p := upstreamtest.NewProvider(t, upstreamtest.SendHang(upstreamtest.StreamHead()+upstreamtest.Chunk(first)))
	for range client(t, upstream.Config{Standard: standard}).Complete(context.Background(), endpoint(p.URL), request(true), nil) {
		break
	}
	<-p.Gone()
}

func TestCallersOwnEnd(t *testing.T) {
	t.Parallel()
	bothClients(t, testCallersOwnEnd)
}

func testCallersOwnEnd(t *testing.T, standard bool) {
	draining := fault.New(fault.Draining, "test", "The gateway is going down.")
	for _, tt := range []struct {
		name string
		ctx  func() (context.Context, func())
		want fault.Kind
	}{
		{"canceled before", func() (context.Context, func()) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}, fault.Canceled},
		{"deadline", func() (context.Context, func()) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			return ctx, cancel
		}, fault.Timeout},
		{"a cause of its own", func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(context.Background())
			timer := time.AfterFunc(30*time.Millisecond, func() { cancel(draining) })
			return ctx, func() { timer.Stop(); cancel(nil) }
		}, fault.Draining},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.SendHang(""))
			ctx, cancel := tt.ctx()
			defer cancel()
			got := upstreamtest.Collect(client(t, upstream.Config{Standard: standard}).Complete(ctx, endpoint(p.URL), request(true), nil))
			if got.Err == nil || got.Err.Kind != tt.want || got.Err.Next != fault.Stop {
				t.Errorf("%+v", got.Err)
			}
		})
	}
}

// A reader that is slow with what it has got is not the provider's fault.
func TestSlowReaderIsNotIdle(t *testing.T) {
	t.Parallel()
	bothClients(t, testSlowReaderIsNotIdle)
}

func testSlowReaderIsNotIdle(t *testing.T, standard bool) {
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.Stream(first, last)))
	c := client(t, upstream.Config{Standard: standard, Timeouts: upstream.Timeouts{Idle: time.Second}})
	busy := time.NewTimer(2 * time.Second)
	done := false
	for ev, err := range c.Complete(context.Background(), endpoint(p.URL), request(true), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.HasContent() && ev.Finish == "" {
			<-busy.C
		}
		done = ev.Done
	}
	if !done {
		t.Error("no end")
	}
}

func TestGzipIsUndone(t *testing.T) {
	t.Parallel()
	bothClients(t, testGzipIsUndone)
}

func testGzipIsUndone(t *testing.T, standard bool) {
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.Gzipped(whole)))
	got := upstreamtest.Collect(client(t, upstream.Config{Standard: standard}).Complete(context.Background(), endpoint(p.URL), request(false), nil))
	if got.Err != nil || got.Text != "hi" {
		t.Errorf("%+v", got)
	}
}

func TestMisconfiguredProvider(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*catalog.Provider){
		"dialect": func(p *catalog.Provider) { p.Dialect = "esperanto" },
		"address": func(p *catalog.Provider) { p.BaseURL = "acme" },
		"scheme":  func(p *catalog.Provider) { p.BaseURL = "ftp://acme" },
	} {
		ep := endpoint("http://127.0.0.1:1")
		change(ep.Provider)
		got := upstreamtest.Collect(client(t, upstream.Config{}).Complete(context.Background(), ep, request(false), nil))
		if got.Err == nil || got.Err.Kind != fault.ProviderUnavailable || got.Err.Next != fault.NextEndpoint {
			t.Errorf("%s: %+v", name, got.Err)
		}
	}
}

// A reloaded catalog takes effect at once: its key, its address.
func TestReload(t *testing.T) {
	t.Parallel()
	bothClients(t, testReload)
}

func testReload(t *testing.T, standard bool) {
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(whole)))
	c := client(t, upstream.Config{Standard: standard})
	for _, key := range []string{"first-key-1", "second-key"} {
		ep := endpoint(p.URL)
		ep.Provider.Key = key
		upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil))
	}
	seen := p.Seen()
	if got := seen[1].Header.Get("Authorization"); got != "Bearer second-key" || (seen[0].Conn == seen[1].Conn) == standard {
		t.Errorf("%q on connections %d and %d", got, seen[0].Conn, seen[1].Conn)
	}
}

func TestPublicTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 2000)
	for _, tt := range []struct{ name, message, want string }{
		{"key shapes", "bad sk-abcdefgh and Bearer xyz", "bad [redacted:key] and [redacted:bearer]"},
		{"configured secret", "team hunter2222", "team [redacted:secret]"},
		{"own header", "team blue-team", "team [redacted:secret]"},
		{"url", "see https://api.acme.test/docs?x=1, please", "see [url] please"},
		{"address", "dial 10.1.2.3:443 failed, version 1.2.3 is old", "dial [address] failed, version 1.2.3 is old"},
		{"long", long, strings.Repeat("é", 1024)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.Sized(400, "application/json", `{"error":{"message":`+string(rawjson.AppendText(nil, tt.message))+`}}`)))
			ep := endpoint(p.URL)
			ep.Provider.Headers = map[string]string{"X-Team": "blue-team"}
			got := upstreamtest.Collect(client(t, upstream.Config{Redactor: redact.New("hunter2222")}).Complete(context.Background(), ep, request(false), nil))
			if got.Err == nil || got.Err.Public != tt.want {
				t.Fatalf("%+v", got.Err)
			}
			if n := len(got.Err.Upstream.Raw); n == 0 || n > 1024 {
				t.Errorf("raw has %d bytes", n)
			}
		})
	}
}

// One request a connection is the rule; HTTP/2 is used for providers that the operator names.
func TestProtocol(t *testing.T) {
	t.Parallel()
	for _, want := range []int{1, 2} {
		got := make(chan int, 1)
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.ProtoMajor
			_, _ = w.Write([]byte(whole))
		}))
		srv.EnableHTTP2 = true
		srv.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"openai": new(openai.Dialect)}, HTTP2: map[string]bool{"acme": want == 2},
			TLS: &tls.Config{RootCAs: roots}})
		if sum := upstreamtest.Collect(c.Complete(context.Background(), endpoint(srv.URL), request(false), nil)); sum.Err != nil {
			t.Error(sum.Err)
		} else if major := <-got; major != want {
			t.Errorf("HTTP/%d, want HTTP/%d", major, want)
		}
		c.Close()
		srv.Close()
	}
}

// A provider declared with HTTP/2 is not called over HTTP/1.1, whose kept connections could give one tenant's answer to another;
// one without TLS has no HTTP/2, and is asked as ever.
func TestProtocolHasNoFallback(t *testing.T) {
	t.Parallel()
	c := func(srv *httptest.Server) *upstream.Client {
		cfg := upstream.Config{Dialects: map[string]dialect.Dialect{"openai": new(openai.Dialect)}, HTTP2: map[string]bool{"acme": true}}
		if cert := srv.Certificate(); cert != nil {
			roots := x509.NewCertPool()
			roots.AddCert(cert)
			cfg.TLS = &tls.Config{RootCAs: roots}
		}
		c := upstreamtest.New(cfg)
		t.Cleanup(c.Close)
		return c
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(whole)) })
	old := httptest.NewUnstartedServer(answer)
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	defer old.Close()
	got := upstreamtest.Collect(c(old).Complete(context.Background(), endpoint(old.URL), request(false), nil))
	if got.Err == nil || got.Err.Kind != fault.ProviderUnavailable {
		t.Errorf("%+v", got)
	}
	plain := httptest.NewServer(answer)
	defer plain.Close()
	if got := upstreamtest.Collect(c(plain).Complete(context.Background(), endpoint(plain.URL), request(false), nil)); got.Err != nil {
		t.Error(got.Err)
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	t.Parallel()
	bothClients(t, testCertificatesAreChecked)
}

func testCertificatesAreChecked(t *testing.T, standard bool) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	got := upstreamtest.Collect(client(t, upstream.Config{Standard: standard}).Complete(context.Background(), endpoint(srv.URL), request(false), nil))
	if got.Err == nil || got.Err.Kind != fault.ProviderUnavailable {
		t.Errorf("%+v", got)
	}
}

func TestRefusalRetryAfterMilliseconds(t *testing.T) {
	t.Parallel()
	f := dialect.Refusal{Status: 429, Header: http.Header{"Retry-After-Ms": {"1200"}}}.Fault(endpoint("http://x"))
	if f.RetryAfter != 2*time.Second {
		t.Error(f.RetryAfter)
	}
}

// A prompt that a provider's policy refuses is reported with the model that it was for.
func TestRefusalByPolicy(t *testing.T) {
	t.Parallel()
	ep := endpoint("http://x")
	ep.Model = &catalog.Model{Slug: "v/m"}
	f := dialect.Refusal{Status: 400, Code: "content_filter", Message: "No."}.Fault(ep)
	if f.Kind != fault.ContentPolicy || f.Details["model_slug"] != "v/m" || f.Next != fault.NextModel {
		t.Errorf("%+v", f)
	}
	if f := (dialect.Refusal{Status: 400, Code: "bad", Message: "No."}).Fault(ep); f.Details != nil {
		t.Errorf("%+v", f)
	}
}

func TestBrokenKeepsFaults(t *testing.T) {
	t.Parallel()
	ep := endpoint("http://x")
	inner := fault.New(fault.Timeout, "x", "y")
	if got := dialect.Broken(ep, errors.Join(errors.New("outer"), inner)); got != inner {
		t.Errorf("%v", got)
	}
}
