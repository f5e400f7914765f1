package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/relay"
)

func TestChatWhole(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	r := n.do("POST", "/v1/chat/completions", chatBody(false))
	m := r.json(t)
	if r.StatusCode != 200 || at(m, "choices", 0, "message", "content") != "Hello" {
		t.Fatalf("status %d, body %s", r.StatusCode, r.body)
	}
	if r.Header.Get("Content-Type") != "application/json; charset=utf-8" || r.ContentLength != int64(len(r.body)) {
		t.Errorf("headers %v", r.Header)
	}
	if id := r.Header.Get("X-Generation-Id"); id == "" || at(m, "id") != id || !strings.HasPrefix(id, "gen-") {
		t.Errorf("generation id %q, in the body %v", id, at(m, "id"))
	}
}

// Some proxies in between take a stream for one only with this header.
func TestChatStreamKeepsTheConnection(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	s := n.dial()
	for range 2 {
		s.send("%s", n.head("Content-Type: application/json\r\nContent-Length: "+itoa(len(chatBody(true)))+"\r\n\r\n")+chatBody(true))
		if r := s.response(); r.StatusCode != 200 || r.Header.Get("Connection") != "keep-alive" {
			t.Errorf("status %d, headers %v", r.StatusCode, r.Header)
		}
	}
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	r := n.do("POST", "/v1/chat/completions", chatBody(true))
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
	f := frames(r.body)
	if r.StatusCode != 200 || r.ContentLength != -1 || f[len(f)-1] != "[DONE]" || strings.Count(string(r.body), "[DONE]") != 1 {
		t.Fatalf("status %d, length %d, frames %q", r.StatusCode, r.ContentLength, f)
	}
	var text string
	for _, frame := range f[:len(f)-1] {
		var m map[string]any
		if err := json.Unmarshal([]byte(frame), &m); err != nil {
			t.Fatal(err)
		}
		if at(m, "id") != r.Header.Get("X-Generation-Id") {
			t.Errorf("id %v", at(m, "id"))
		}
		piece, _ := at(m, "choices", 0, "delta", "content").(string)
		text += piece
	}
	if text != "Hello" {
		t.Errorf("text %q", text)
	}
}

// Every frame must be on the wire before more is waited for.
func TestStreamIsFlushed(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		if err := sink.Start(served(c)); err != nil {
			return err
		}
		for _, p := range []string{"one", "two"} {
			if err := sink.Event(&completion.Event{Text: []byte(p)}); err != nil {
				return err
			}
			if err := flush(sink); err != nil {
				return err
			}
			<-next
		}
		return sink.End(relay.Receipt{})
	}), nil)
	s := n.dial()
	s.send("%s", n.head("Content-Length: "+itoa(len(chatBody(true)))+"\r\n\r\n"+chatBody(true)))
	for _, want := range []string{`"one"`, `"two"`} {
		for line := ""; !strings.Contains(line, want); {
			var err error
			if line, err = s.r.ReadString('\n'); err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
		}
		next <- struct{}{}
	}
}

func TestChatStrict(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	strictByDefault := start(t, relayFunc(hello), func(c *httpapi.Config) { c.Strict = true })
	for name, r := range map[string]*response{
		"header":  n.do("POST", "/v1/chat/completions", chatBody(false), "X-Response-Schema", "strict"),
		"default": strictByDefault.do("POST", "/v1/chat/completions", chatBody(false)),
	} {
		if at(r.json(t), "choices", 0, "message", "content", 0, "text") != "Hello" {
			t.Errorf("%s: %s", name, r.body)
		}
	}
}

func TestCallCarriesWhatIsKept(t *testing.T) {
	t.Parallel()
	calls := make(chan *relay.Call, 1)
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		calls <- c
		return hello(ctx, c, sink)
	}), nil)
	r := n.do("POST", "/v1/chat/completions", chatBody(false), "Referer", "https://app.example", "X-Title", strings.Repeat("t", 300),
		"User-Agent", "test/1", "X-Session-Id", "s1")
	c := <-calls
	if c.Caller.User != n.first.User.ID || c.Caller.Key != n.first.Key.ID || c.API != "completions" || c.Generation != r.Header.Get("X-Generation-Id") ||
		c.RequestID != r.Header.Get("X-Request-Id") || c.UserAgent != "test/1" || c.Referer != "https://app.example" || len(c.Title) != 256 ||
		c.Request.SessionID != "s1" || c.Catalog == nil {
		t.Fatalf("call %+v", c)
	}
	wantError(t, n.do("POST", "/v1/chat/completions", chatBody(false), "X-Session-Id", strings.Repeat("s", 257)), 400, fault.Invalid)
}

func TestChatErrors(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, _ relay.Sink) error {
		e := fault.New(fault.ProviderOverloaded, "test", "Every provider is busy.")
		e.RetryAfter = 7 * time.Second
		return e
	}), nil)
	for name, c := range map[string]struct {
		body   string
		status int
		kind   fault.Kind
	}{
		"relay's, whole":  {chatBody(false), 503, fault.ProviderOverloaded},
		"relay's, stream": {chatBody(true), 503, fault.ProviderOverloaded},
		"no JSON":         {"{", 400, fault.Invalid},
		"empty body":      {"", 400, fault.Invalid},
		"duplicate key":   {`{"model":"a/b","model":"c/d","messages":[]}`, 400, fault.DuplicateKey},
		"trailing data":   {chatBody(false) + "x", 400, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := n.do("POST", "/v1/chat/completions", c.body)
			wantError(t, r, c.status, c.kind)
			if c.status == 503 && r.Header.Get("Retry-After") != "7" {
				t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
			}
			if r.Header.Get("X-Generation-Id") == "" {
				t.Error("no generation id")
			}
		})
	}
}

// After the first frame an error is a frame, and the stream still ends in order.
func TestErrorsAfterTheFirstFrame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func() error
		code float64
		kind fault.Kind
	}{
		"fault": {func() error { return fault.New(fault.Timeout, "test", "Too slow.") }, 504, fault.Timeout},
		"panic": {func() error { panic("canary-prompt-text") }, 500, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(func(_ context.Context, call *relay.Call, sink relay.Sink) error {
				_ = sink.Start(served(call))
				_ = sink.Event(&completion.Event{Text: []byte("part")})
				return c.end()
			}), nil)
			r := n.do("POST", "/v1/chat/completions", chatBody(true))
			f := frames(r.body)
			var m map[string]any
			if err := json.Unmarshal([]byte(f[len(f)-2]), &m); err != nil || f[len(f)-1] != "[DONE]" {
				t.Fatalf("frames %q: %v", f, err)
			}
			if r.StatusCode != 200 || at(m, "error", "code") != c.code || at(m, "error", "metadata", "error_type") != c.kind.String() ||
				at(m, "choices", 0, "finish_reason") != "error" {
				t.Fatalf("last chunk %s", f[len(f)-2])
			}
			if strings.Contains(n.logged()+string(r.body), "canary") {
				t.Error("the panic's value is shown")
			}
			if after := n.do("POST", "/v1/chat/completions", chatBody(true)); after.StatusCode != 200 {
				t.Errorf("the node does not go on: %d", after.StatusCode)
			}
		})
	}
}

func TestPanicBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"text": "canary-1", "error": fault.New(fault.Invalid, "x", "canary-2"), "runtime": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(func(context.Context, *relay.Call, relay.Sink) error {
				if value == nil {
					_ = strings.Repeat("x", -len(chatBody(true))) // the runtime's own panics are errors
				}
				panic(value)
			}), nil)
			r := n.do("POST", "/v1/chat/completions", chatBody(true))
			wantError(t, r, 500, fault.Internal)
			log := n.logged()
			if strings.Contains(log+string(r.body), "canary") || !strings.Contains(log, "panic in a handler") {
				t.Errorf("log: %s", log)
			}
			metrics := scrape(t, n)
			if !strings.Contains(metrics, "weir_panics_total 1") {
				t.Error("the panic was not counted")
			}
		})
	}
}

// streamed sends a chat to a relay that is silent until then is called, reads the comments that break the silence, and returns the answer with all
// that follows them.
func streamed(t *testing.T, n *node, comments string, then func()) (*http.Response, []byte) {
	t.Helper()
	s := n.dial()
	s.send("%s", n.head("Content-Length: "+itoa(len(chatBody(true)))+"\r\n\r\n"+chatBody(true)))
	resp, err := http.ReadResponse(s.r, nil) // before the relay has said a word
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(comments))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != comments {
		t.Fatalf("silence is broken with %q, %v", got, err)
	}
	then()
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("after it: %q, %v", rest, err)
	}
	return resp, rest
}

func TestKeepAlives(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		<-proceed
		return answer(c, sink, "late")
	}), func(c *httpapi.Config) { c.KeepAliveAfter, c.KeepAliveEvery = 20*time.Millisecond, 10*time.Millisecond })
	_, rest := streamed(t, n, strings.Repeat(": keep-alive\n", 3), func() { close(proceed) })
	if !bytes.Contains(rest, []byte(`"late"`)) || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) {
		t.Fatalf("after it: %q", rest)
	}
}

// A keep-alive has sent the head: what follows cannot be a plain error any more.
func TestErrorAfterAKeepAlive(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	n := start(t, relayFunc(func(context.Context, *relay.Call, relay.Sink) error {
		<-proceed
		return fault.New(fault.PaymentRequired, "test", "No money.")
	}), func(c *httpapi.Config) { c.KeepAliveAfter, c.KeepAliveEvery = 10*time.Millisecond, time.Hour })
	resp, rest := streamed(t, n, ": keep-alive\n", func() { close(proceed) })
	f := frames(rest)
	if resp.StatusCode != 200 || len(f) != 2 || !strings.Contains(f[0], `"error":{"code":402`) || f[1] != "[DONE]" {
		t.Fatalf("status %d, %q", resp.StatusCode, rest)
	}
}

func TestNoKeepAliveInFrontOfAPlainError(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(func(context.Context, *relay.Call, relay.Sink) error {
		return fault.New(fault.PaymentRequired, "test", "No money.")
	}), func(c *httpapi.Config) { c.KeepAliveAfter, c.KeepAliveEvery = time.Millisecond, time.Millisecond })
	for range 50 { // the timer and the error meet by chance
		r := n.do("POST", "/v1/chat/completions", chatBody(true))
		switch r.StatusCode {
		case 402:
			wantError(t, r, 402, fault.PaymentRequired)
		case 200:
			if f := frames(r.body); f[len(f)-1] != "[DONE]" {
				t.Fatalf("body %q", r.body)
			}
		default:
			t.Fatalf("status %d", r.StatusCode)
		}
	}
}

func TestClientGoneEndsTheCall(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, ended := make(chan struct{}), make(chan error, 1)
			n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
				close(begun)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return fault.New(fault.Canceled, "test", "")
			}), nil)
			s := n.dial()
			s.send("%s", n.head("Content-Length: "+itoa(len(chatBody(stream)))+"\r\n\r\n"+chatBody(stream)))
			<-begun
			_ = s.Close()
			select {
			case <-ended:
			case <-time.After(3 * time.Minute):
				t.Fatal("the call goes on without its client")
			}
			until(t, "the log has the call", func() bool { return strings.Contains(n.logged(), `"status":499`) })
		})
	}
}

// A client that stops reading is dropped, and the sink reports it to the relay.
func TestWriteStall(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		_ = sink.Start(served(c))
		piece := bytes.Repeat([]byte("x"), 256<<10)
		for {
			if err := sink.Event(&completion.Event{Text: piece}); err != nil {
				ended <- err
				return fault.New(fault.Canceled, "test", "").Because(err)
			}
		}
	}), func(c *httpapi.Config) { c.WriteStall = 300 * time.Millisecond })
	s := n.dial()
	s.send("%s", n.head("Content-Length: "+itoa(len(chatBody(true)))+"\r\n\r\n"+chatBody(true)))
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("ended by %v; want a timeout", err)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("a client that does not read holds the stream")
	}
}

func TestOverload(t *testing.T) {
	t.Parallel()
	begun, leave := make(chan struct{}), make(chan struct{})
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		begun <- struct{}{}
		<-leave
		return hello(ctx, c, sink)
	}), func(c *httpapi.Config) { c.MaxInFlight = 1 })
	done := make(chan *response)
	go func() { done <- n.do("POST", "/v1/chat/completions", chatBody(false)) }()
	<-begun
	wantError(t, n.do("POST", "/v1/chat/completions", chatBody(false)), 503, fault.Overloaded)
	if r := n.do("GET", "/healthz", ""); r.StatusCode != 200 {
		t.Errorf("health %d", r.StatusCode)
	}
	close(leave)
	if r := <-done; r.StatusCode != 200 {
		t.Errorf("the admitted one got %d", r.StatusCode)
	}
	go func() { <-begun }()
	if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
		t.Errorf("after it %d", r.StatusCode)
	}
}
