package sim_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/sim"
)

// send writes a request onto a new connection, which is closed with the test.
func send(t testing.TB, addr, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(3 * time.Minute))
	if _, err := fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body); err != nil {
		t.Fatal(err)
	}
	return conn
}

// wire is what came over the connection.
type wire struct {
	raw    []byte
	err    error // how the connection ended; nil for a clean end
	status int
	header http.Header
	body   []byte // as far as it came, without transfer coding
	broken error  // what was wrong with the framing of the body
}

func exchange(t testing.TB, addr, body string) *wire {
	t.Helper()
	conn := send(t, addr, body)
	var w wire
	w.raw, w.err = io.ReadAll(conn)
	if len(w.raw) == 0 {
		return &w
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(bytes.NewReader(w.raw), 1<<20), nil)
	if err != nil {
		w.broken = err
		return &w
	}
	w.status, w.header = resp.StatusCode, resp.Header
	w.body, w.broken = io.ReadAll(resp.Body)
	return &w
}

// events reads a body as the specification of server-sent events says.
func events(body string) (data []string) {
	body = strings.TrimPrefix(body, "\xef\xbb\xbf")
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	var lines []string
	for _, line := range strings.Split(body, "\n") {
		if line == "" {
			if lines != nil {
				data = append(data, strings.Join(lines, "\n"))
			}
			lines = nil
			continue
		}
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			lines = append(lines, strings.TrimPrefix(value, " "))
		}
	}
	return data
}

// contentOf joins the content of a stream up to its first [DONE].
func contentOf(t testing.TB, body []byte) (text string, finish string, doneAt, total int) {
	t.Helper()
	all := events(string(body))
	doneAt = -1
	for i, data := range all {
		if data == "[DONE]" {
			if doneAt < 0 {
				doneAt = i
			}
			continue
		}
		if doneAt >= 0 {
			continue
		}
		a := parseAnswer(t, []byte(data))
		for _, c := range a.Choices {
			if c.Delta.Content != nil {
				text += *c.Delta.Content
			}
			if c.Finish != "" {
				finish = c.Finish
			}
		}
	}
	return text, finish, doneAt, len(all)
}

const prompt = "Tell me, о река, what is 水?"

func TestFaults(t *testing.T) {
	t.Parallel()
	s, addr := start(t, sim.Config{})
	plain := ask(t, s, request("chat", prompt, "")).text()

	status := func(want int, has string) func(*testing.T, *wire) {
		return func(t *testing.T, w *wire) {
			if w.status != want || w.broken != nil || !bytes.Contains(w.body, []byte(has)) {
				t.Errorf("%d %q (%v); want %d with %q", w.status, w.body, w.broken, want, has)
			}
		}
	}
	retry := func(want string) func(*testing.T, *wire) {
		return func(t *testing.T, w *wire) {
			if w.status != 429 || w.header.Get("Retry-After") != want {
				t.Errorf("%d, Retry-After %q; want %q", w.status, w.header.Get("Retry-After"), want)
			}
		}
	}
	// good is the plain answer, streamed or whole.
	good := func(t *testing.T, w *wire) {
		t.Helper()
		if w.status != 200 || w.broken != nil {
			t.Fatalf("%d %v", w.status, w.broken)
		}
		if !strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream") && bytes.HasPrefix(w.body, []byte("{")) {
			if got := parseAnswer(t, w.body).text(); got != plain {
				t.Errorf("content %q", got)
			}
			return
		}
		if got, finish, done, _ := contentOf(t, w.body); got != plain || finish != "stop" || done < 0 {
			t.Errorf("content %q, finish %q, [DONE] at %d", got, finish, done)
		}
	}
	// part is a beginning of the plain answer.
	part := func(t *testing.T, w *wire) {
		t.Helper()
		var text string
		for _, data := range events(string(w.body)) {
			if data == "[DONE]" || strings.Contains(data, `"finish_reason":"`) {
				t.Errorf("an ending came: %s", data)
				return
			}
			a := parseAnswer(t, []byte(data))
			text += *a.Choices[0].Delta.Content
		}
		if text == "" || text == plain || !strings.HasPrefix(plain, text) {
			t.Errorf("content %q is no part of %q", text, plain)
		}
	}
	reset := func(t *testing.T, w *wire) {
		t.Helper()
		if !errors.Is(w.err, syscall.ECONNRESET) {
			t.Errorf("the connection ended with %v", w.err)
		}
	}
	short := func(t *testing.T, w *wire) {
		t.Helper()
		if !errors.Is(w.broken, io.ErrUnexpectedEOF) || w.err != nil {
			t.Errorf("body %v, connection %v", w.broken, w.err)
		}
	}
	zipped := func(size int, fails bool) func(*testing.T, *wire) {
		return func(t *testing.T, w *wire) {
			if w.header.Get("Content-Encoding") != "gzip" || w.broken != nil {
				t.Fatalf("%v %v", w.header, w.broken)
			}
			z, err := gzip.NewReader(bytes.NewReader(w.body))
			var n int64
			if err == nil {
				n, err = io.Copy(io.Discard, z)
			}
			if (err != nil) != fails || int(n) < size {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
	}
	both := func(checks ...func(*testing.T, *wire)) func(*testing.T, *wire) {
		return func(t *testing.T, w *wire) {
			for _, c := range checks {
				c(t, w)
			}
		}
	}

	const whole, stream = 1, 2
	for _, c := range []struct {
		marker string
		modes  int
		check  func(*testing.T, *wire)
	}{
		{"fault=none", whole | stream, good},
		{"fault=u2", whole | stream, func(t *testing.T, w *wire) {
			if len(w.raw) > 0 || w.err != nil {
				t.Errorf("%q, %v", w.raw, w.err)
			}
		}},
		{"fault=u2 how=reset", whole | stream, func(t *testing.T, w *wire) {
			if reset(t, w); len(w.raw) > 0 {
				t.Errorf("%q", w.raw)
			}
		}},
		{"fault=u6", whole, reset},
		{"fault=u6", stream, both(reset, part)},
		{"fault=u7", whole, short},
		{"fault=u7", stream, func(t *testing.T, w *wire) {
			if part(t, w); w.broken != nil || w.err != nil {
				t.Errorf("%v %v", w.broken, w.err)
			}
		}},
		{"fault=u7-length after=3", stream, both(short, part)},
		{"fault=u7-chunk", whole, short},
		{"fault=u7-chunk", stream, both(short, part)},
		{"fault=u7-clean", whole, func(t *testing.T, w *wire) {
			if w.status != 200 || w.broken != nil || bytes.HasSuffix(w.body, []byte("}")) {
				t.Errorf("%d %v %q", w.status, w.broken, w.body)
			}
		}},
		{"fault=u8", whole, good},
		{"fault=u8", stream, func(t *testing.T, w *wire) {
			if got, finish, done, _ := contentOf(t, w.body); got != plain || finish != "stop" || done >= 0 || w.broken != nil {
				t.Errorf("%q %q %d %v", got, finish, done, w.broken)
			}
		}},
		{"fault=u9", whole | stream, retry("7")},
		{"fault=u9 retry-after=120", whole | stream, retry("120")},
		{"fault=u10", whole | stream, retry("")},
		{"fault=u11", whole, func(t *testing.T, w *wire) {
			if _, err := http.ParseTime(w.header.Get("Retry-After")); err != nil || w.status != 429 {
				t.Errorf("%d %v", w.status, err)
			}
		}},
		{"fault=u11 how=negative", whole, retry("-5")},
		{"fault=u11 how=huge", whole, retry("99999999999999999999")},
		{"fault=u11 how=rubbish", whole, retry("soon")},
		{"fault=u11 how=fraction", whole, retry("1.5")},
		{"fault=u11 how=past", whole, retry("Wed, 21 Oct 2015 07:28:00 GMT")},
		{"fault=u12", whole | stream, status(400, `"type":"invalid_request_error"`)},
		{"fault=u12 status=413", whole, status(413, "")},
		{"fault=u12 status=422", whole, status(422, "")},
		{"fault=u12-model", whole, status(400, "model_not_found")},
		{"fault=u12-context", whole, status(400, "context_length_exceeded")},
		{"fault=u12-secret", whole, status(400, "sk-sim-canary")},
		{"fault=u13", whole | stream, status(401, "invalid_api_key")},
		{"fault=u13 status=402", whole, status(402, "insufficient_quota")},
		{"fault=u13 status=403", whole, status(403, "")},
		{"fault=u14", whole | stream, status(404, "model_not_found")},
		{"fault=u14-html", whole, status(404, "<html>")},
		{"fault=u15", whole | stream, status(500, "server_error")},
		{"fault=u15 status=502", whole, status(502, "")},
		{"fault=u15 status=504 how=html", whole, status(504, "<html>")},
		{"fault=u15 status=522 how=empty", whole, status(522, "")},
		{"fault=u15 status=529", whole, status(529, "")},
		{"fault=u16", whole | stream, status(503, "overloaded")},
		{"fault=u16 retry-after=2", whole, func(t *testing.T, w *wire) {
			if w.status != 503 || w.header.Get("Retry-After") != "2" {
				t.Errorf("%d %v", w.status, w.header)
			}
		}},
		{"fault=u17", whole | stream, func(t *testing.T, w *wire) {
			if w.status != 302 || w.header.Get("Location") != "http://"+addr+"/sim/redirected" {
				t.Errorf("%d %v", w.status, w.header)
			}
		}},
		{"fault=u17 status=307 to=http://127.0.0.1:1/", whole, func(t *testing.T, w *wire) {
			if w.status != 307 || w.header.Get("Location") != "http://127.0.0.1:1/" {
				t.Errorf("%d %v", w.status, w.header)
			}
		}},
		{"fault=u18", whole | stream, func(t *testing.T, w *wire) {
			if w.status != 200 || len(w.body) > 0 || w.broken != nil {
				t.Errorf("%d %q", w.status, w.body)
			}
		}},
		{"fault=u18-truncated", whole | stream, status(200, `{"id":`)},
		{"fault=u18-html", whole | stream, status(200, "<html>")},
		{"fault=u18-text", whole | stream, status(200, "upstream connect error")},
		{"fault=u18-array", whole | stream, status(200, `[]`)},
		{"fault=u18-null", whole | stream, status(200, `null`)},
		{"fault=u18-object", whole | stream, status(200, `{}`)},
		{"fault=u18-nochoices", whole | stream, status(200, `"model":"m"}`)},
		{"fault=u19", whole | stream, status(200, `"code":502`)},
		{"fault=u19 code=429", whole | stream, status(200, `"code":429`)},
		{"fault=u19 after=2", stream, func(t *testing.T, w *wire) {
			all := events(string(w.body))
			if n := len(all); n != 5 || !strings.HasPrefix(all[3], `{"error":`) || all[4] != "[DONE]" {
				t.Errorf("%q", all)
			}
		}},
		{"fault=u20", whole, func(t *testing.T, w *wire) {
			if good(t, w); w.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Error(w.header)
			}
		}},
		{"fault=u20", stream, func(t *testing.T, w *wire) {
			if good(t, w); w.header.Get("Content-Type") != "application/json" {
				t.Error(w.header)
			}
		}},
		{"fault=u20-plain", stream, func(t *testing.T, w *wire) {
			if got, _, _, _ := contentOf(t, w.body); got != plain || w.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Error(w.header, got)
			}
		}},
		{"fault=u20-html", whole | stream, status(200, "<html>")},
		{"fault=u20-none", whole, func(t *testing.T, w *wire) {
			if good(t, w); w.header.Get("Content-Type") != "" {
				t.Error(w.header)
			}
		}},
		{"fault=u21", whole | stream, zipped(1, true)},
		{"fault=u21-rubbish", whole | stream, zipped(0, true)},
		{"fault=u21-valid", whole | stream, zipped(100, false)},
		{"fault=u22 bytes=50000000", whole | stream, func(t *testing.T, w *wire) {
			if zipped(50_000_000, false)(t, w); len(w.body) > 500_000 {
				t.Errorf("the bomb has %d bytes", len(w.body))
			}
		}},
		{"fault=u22-big bytes=3000000", whole, func(t *testing.T, w *wire) {
			if good(t, w); len(w.body) < 3_000_000 {
				t.Errorf("%d bytes", len(w.body))
			}
		}},
		{"fault=u22-big bytes=3000000", stream, func(t *testing.T, w *wire) {
			if line, _, _ := bytes.Cut(w.body, []byte("\n")); len(line) < 3_000_000 {
				t.Errorf("the first line has %d bytes", len(line))
			}
		}},
		{"fault=u23 gap=1us", whole, good},
		{"fault=u24", whole | stream, func(t *testing.T, w *wire) {
			if good(t, w); len(w.header) < 80 {
				t.Errorf("%d headers", len(w.header))
			}
		}},
		{"fault=u24-line bytes=70000", whole, func(t *testing.T, w *wire) {
			if good(t, w); len(w.header.Get("X-Sim-Filler-0")) != 70_000 {
				t.Error("no such header")
			}
		}},
		{"fault=u24-1xx count=20", whole | stream, func(t *testing.T, w *wire) {
			if n := bytes.Count(w.raw, []byte("HTTP/1.1 103 Early Hints\r\n")); n != 20 || !bytes.Contains(w.raw, []byte("HTTP/1.1 200 OK\r\n")) {
				t.Errorf("%d informational answers", n)
			}
		}},
		{"fault=u25", stream, func(t *testing.T, w *wire) {
			if !bytes.Contains(w.body, bytes.Repeat([]byte("a"), 5<<20)) {
				t.Error("no long line")
			}
			good(t, w)
		}},
		{"fault=u25-comment bytes=100000", stream, good},
		{"fault=u25", whole, good},
		{"fault=u26", stream, good},
		{"fault=u26", whole, good},
		{"fault=u26-crlf", stream, both(good, has("\r\n\r\n"))},
		{"fault=u26-cr", stream, both(good, has("\r\r"))},
		{"fault=u26-bom", stream, both(good, has("\xef\xbb\xbfdata: {"))},
		{"fault=u26-comments", stream, both(good, has("\n: a comment\n"))},
		{"fault=u26-fields", stream, both(good, has("\nevent: message\nid: 2\nretry: 3000\n"))},
		{"fault=u26-nospace", stream, both(good, has("data:{"))},
		{"fault=u26-multiline", stream, both(good, has(",\ndata: \"object\""))},
		{"fault=u26-split", stream, both(good, func(t *testing.T, w *wire) {
			// a chunk that begins inside of a character
			if !bytes.Contains(w.raw, []byte("\r\n1\r\n\xb0\r\n")) && !bytes.Contains(w.raw, []byte("\r\n1\r\n\xb5\r\n")) && !bytes.Contains(w.raw, []byte("\r\n1\r\n\xbe\r\n")) {
				t.Errorf("no character was cut: %q", w.raw)
			}
		})},
		{"fault=u26-empty", stream, both(good, has(`data: {"choices":[]}`))},
		{"fault=u27", stream, has(`"content":"cut` + "\n\n")},
		{"fault=u27-text", stream, has("\n\ndata: Internal Server Error\n\n")},
		{"fault=u27-utf8", stream, has("\xff\xfe")},
		{"fault=u28", stream, func(t *testing.T, w *wire) {
			if _, _, done, n := contentOf(t, w.body); n-done != 4 {
				t.Errorf("[DONE] at %d of %d", done, n)
			}
			good(t, w)
		}},
		{"fault=u28-twice", stream, func(t *testing.T, w *wire) {
			if _, _, done, n := contentOf(t, w.body); n-done != 2 {
				t.Errorf("[DONE] at %d of %d", done, n)
			}
			good(t, w)
		}},
		{"fault=u29", stream, func(t *testing.T, w *wire) {
			if got, finish, done, n := contentOf(t, w.body); got != "" || finish != "" || done != 1 || n != 2 {
				t.Errorf("%q", w.body)
			}
		}},
		{"fault=u29", whole, status(200, `"content":null},"finish_reason":null`)},
		{"fault=u29-done", stream, func(t *testing.T, w *wire) {
			if string(w.body) != "data: [DONE]\n\n" {
				t.Errorf("%q", w.body)
			}
		}},
		{"fault=u29-empty", stream, func(t *testing.T, w *wire) {
			if w.status != 200 || len(w.body) > 0 {
				t.Errorf("%q", w.body)
			}
		}},
		{"fault=u29-comments", stream, func(t *testing.T, w *wire) {
			if len(events(string(w.body))) > 0 || len(w.body) == 0 {
				t.Errorf("%q", w.body)
			}
		}},
		{"fault=u30", whole, both(good, hasNot(`"usage"`))},
		{"fault=u30-negative", whole, both(good, has(`"prompt_tokens":-`))},
		{"fault=u30-huge", whole, both(good, has(`000000000000,"completion_tokens":`))},
		{"fault=u30-strings", whole, both(status(200, plain[:4]), has(`"prompt_tokens":"`))},
		{"fault=u30-floats", whole, both(status(200, plain[:4]), has(`.5,"completion_tokens":`))},
		{"usage=missing", whole, both(good, hasNot(`"usage"`))},
		{"fault=u31", whole | stream, func(t *testing.T, w *wire) {
			if good(t, w); len(w.header.Values("Set-Cookie")) != 2 || w.header.Get("Server") == "" || w.header.Get("X-Sim-Hop") != "1" || w.header.Get("Location") == "" {
				t.Error(w.header)
			}
		}},
	} {
		for _, m := range []struct {
			name, more string
			mode       int
		}{{"whole", "", whole}, {"stream", `"stream":true`, stream}} {
			if c.modes&m.mode == 0 {
				continue
			}
			t.Run(c.marker+" "+m.name, func(t *testing.T) {
				t.Parallel()
				c.check(t, exchange(t, addr, request("chat", "[[sim "+c.marker+"]] "+prompt, m.more)))
			})
		}
	}
}

func has(part string) func(*testing.T, *wire) {
	return func(t *testing.T, w *wire) {
		t.Helper()
		if !bytes.Contains(w.body, []byte(part)) {
			t.Errorf("%q lacks %q", w.body, part)
		}
	}
}

func hasNot(part string) func(*testing.T, *wire) {
	return func(t *testing.T, w *wire) {
		t.Helper()
		if bytes.Contains(w.body, []byte(part)) {
			t.Errorf("%q has %q", w.body, part)
		}
	}
}

// A stall is proved by ending it: what came until then is all there was.
func TestStalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model, more string
		until             string // what must have come before the server closes
		check             func(*testing.T, string)
	}{
		{"u3", "chat-fault-u3", "", "", func(t *testing.T, got string) {
			if got != "" {
				t.Errorf("%q", got)
			}
		}},
		{"u4", "chat-fault-u4", "", "\r\n\r\n", func(t *testing.T, got string) {
			if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\n") || !strings.Contains(got, "Content-Length: ") {
				t.Errorf("%q", got)
			}
		}},
		{"u4 stream", "chat-fault-u4", `"stream":true`, "\r\n\r\n", func(t *testing.T, got string) {
			if !strings.Contains(got, "text/event-stream") || !strings.HasSuffix(got, "\r\n\r\n") || strings.Contains(got, "data:") {
				t.Errorf("%q", got)
			}
		}},
		{"u5", "chat-fault-u5", "", `"message"`, func(t *testing.T, got string) {
			if strings.Contains(got, "finish_reason") {
				t.Errorf("%q", got)
			}
		}},
		{"u5 stream", "chat@fault=u5,after=3", `"stream":true`, "data: ", func(t *testing.T, got string) {
			if n := strings.Count(got, "data: "); n != 4 || strings.HasSuffix(got, "0\r\n\r\n") {
				t.Errorf("%d frames: %q", n, got)
			}
		}},
		{"u25 endless", "chat@fault=u25-endless,bytes=1000", `"stream":true`, "aaaa", func(t *testing.T, got string) {
			if n := strings.Count(got, "a"); n < 1000 {
				t.Errorf("%d", n)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, addr := start(t, sim.Config{})
			conn := send(t, addr, request(c.model, "hi", c.more))
			eventually(t, func() bool { return s.Stats().Total.Open == 1 })
			var got bytes.Buffer
			buf := make([]byte, 4096)
			for !strings.Contains(got.String(), c.until) {
				n, err := conn.Read(buf)
				got.Write(buf[:n])
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			io.Copy(&got, conn)
			c.check(t, got.String())
			eventually(t, func() bool { return s.Stats().Total.Open == 0 }) // the handler ends after the connection
			if n := s.Stats().Total; n.Cancelled != 0 || n.Faults != 1 {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestEndlessDrip(t *testing.T) {
	t.Parallel()
	_, addr := start(t, sim.Config{})
	conn := send(t, addr, request("chat@fault=u23,gap=1us", "hi", `"stream":true`))
	r := bufio.NewReader(conn)
	for n := 0; n < 500; {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "data: ") {
			n++
		}
		if strings.Contains(line, "DONE") {
			t.Fatal("it ended")
		}
	}
}

func TestLimitedFaults(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	body := request("chat", "[[sim fault=u15 status=502 times=2 id=a]] hi", "")
	other := request("chat", "[[sim fault=u15 status=502 times=2 id=b]] hi", "")
	var got []int
	for _, b := range []string{body, body, other, body, body, other, other} {
		got = append(got, call(s, b).Code)
	}
	if want := "[502 502 502 200 200 502 200]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
	s.Reset()
	if code := call(s, body).Code; code != 502 {
		t.Errorf("%d after a reset", code)
	}
}

// One prompt goes to several models, as it does from a gateway that falls back.
func TestFaultForOneModel(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	prompt := "[[sim for=chat fault=u15]] [[sim for=json@seed=2 fault=u16]] hi"
	for _, c := range []struct {
		model string
		want  int
	}{{"chat", 500}, {"chat@seed=1", 500}, {"echo", 200}, {"json", 200}, {"json@seed=2", 503}, {"bench", 200}} {
		if got := call(s, request(c.model, prompt, "")).Code; got != c.want {
			t.Errorf("%s: %d, want %d", c.model, got, c.want)
		}
	}
	if got := ask(t, s, request("echo", prompt, "")).text(); got != "hi" {
		t.Errorf("echo of %q", got)
	}
}

func TestRedirectIsCounted(t *testing.T) {
	t.Parallel()
	s, addr := start(t, sim.Config{})
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr}).Post("http://"+addr+"/v1/chat/completions", "application/json", strings.NewReader(request("fault-u17", "hi", "")))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := s.Stats().Redirected; n != 1 {
		t.Errorf("%d redirects followed", n)
	}
}

// Faults that need the connection say so where there is none.
func TestNoConnectionToBreak(t *testing.T) {
	t.Parallel()
	if w := call(sim.New(sim.Config{}), request("fault-u2", "hi", "")); w.Code != http.StatusNotImplemented {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
