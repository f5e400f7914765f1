package accesslog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"weir/internal/accesslog"
)

// sink collects what is written.
type sink struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *sink) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSuffix(s.buf.String(), "\n"), "\n")
}

func open(t *testing.T, o accesslog.Options) (*accesslog.Log, *sink) {
	t.Helper()
	s := &sink{}
	l := accesslog.New(s, o)
	t.Cleanup(func() { _ = l.Close() })
	return l, s
}

// only reads the one line that was written.
func only(t *testing.T, l *accesslog.Log, s *sink) map[string]any {
	t.Helper()
	l.Flush()
	lines := s.lines()
	if len(lines) != 1 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &m); err != nil {
		t.Fatalf("%s is no JSON: %v", lines[0], err)
	}
	return m
}

var full = accesslog.Record{
	At: time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC), Level: "INFO", RequestID: "req_1", ClientID: "theirs", Generation: "gen-1-x",
	User: "usr_1", Key: "key_1", Method: "POST", Route: "/v1/chat/completions", ModelAsked: "v/asked", Model: "v/served", Provider: "p",
	Status: 200, Attempts: 2, PromptTokens: 10, CompletionTokens: 20, Cost: 30, Hold: 40, FirstContent: time.Millisecond,
	Duration: 2 * time.Millisecond, BytesIn: 50, BytesOut: 60, Address: "192.0.2.1", Streamed: true, Estimated: true,
}

func TestRecordHasEveryField(t *testing.T) {
	t.Parallel()
	l, s := open(t, accesslog.Options{})
	l.Access(&full)
	got := only(t, l, s)
	want := map[string]any{
		"time": "2026-03-01T12:00:00.000005Z", "level": "INFO", "msg": "access", "request_id": "req_1", "client_request_id": "theirs",
		"generation_id": "gen-1-x", "user_id": "usr_1", "key_id": "key_1", "method": "POST", "route": "/v1/chat/completions",
		"model_asked": "v/asked", "model": "v/served", "provider": "p", "status": 200., "attempts": 2., "prompt_tokens": 10.,
		"completion_tokens": 20., "cost_nano": 30., "hold_nano": 40., "ttft_us": 1000., "duration_us": 2000., "bytes_in": 50.,
		"bytes_out": 60., "address": "192.0.2.1", "stream": true, "estimated": true,
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v; want %v", name, got[name], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("record has %d members, want %d: %v", len(got), len(want), got)
	}
}

func TestClientTextStaysOneLine(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"CR LF":        "a\r\nb",
		"NUL and ESC":  "a\x00\x1b[31mb",
		"DEL and C1":   "a\x7f\u0085\u009bb",
		"U+2028":       "a\u2028\u2029b",
		"quotes":       `a"b\c`,
		"bad UTF-8":    "a\xff\xfeb",
		"plain beyond": "имя 😀 \ufffd",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := open(t, accesslog.Options{})
			l.Access(&accesslog.Record{ModelAsked: text})
			l.Flush()
			line := s.lines()[0]
			for _, r := range line {
				if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
					t.Fatalf("raw %U in %q", r, line)
				}
			}
			if got := only(t, l, s)["model_asked"]; got != strings.ToValidUTF8(text, "\ufffd") && name != "bad UTF-8" {
				t.Fatalf("came back as %q", got)
			}
		})
	}
}

func TestLongFieldsAreCut(t *testing.T) {
	t.Parallel()
	l, s := open(t, accesslog.Options{})
	l.Access(&accesslog.Record{ModelAsked: strings.Repeat("я", 5000)})
	got := only(t, l, s)["model_asked"].(string)
	if !strings.HasSuffix(got, "...[cut]") || len(got) > 2<<10+8 || !utf8.ValidString(got) {
		t.Fatalf("%d bytes, ending %q", len(got), got[len(got)-20:])
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	const canary = "sk-weir-v1-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
	l, s := open(t, accesslog.Options{})
	l.Access(&accesslog.Record{ModelAsked: canary, ClientID: "Bearer " + canary, Detail: "x " + canary})
	slog.New(l.Handler(slog.LevelInfo)).Error("failed with "+canary, "cause", errors.New(canary), slog.Group("g", "k", canary))
	l.Flush()
	all := strings.Join(s.lines(), "\n")
	if strings.Contains(all, canary) || strings.Contains(all, "abcdefghijklmnop") {
		t.Fatalf("the secret is in the log:\n%s", all)
	}
	if !strings.Contains(all, "[redacted:") {
		t.Fatalf("nothing was redacted:\n%s", all)
	}
}

// blocked is a writer that takes nothing until the test opens it.
type blocked struct{ begun, leave chan struct{} }

func (b *blocked) Write(p []byte) (int, error) {
	select {
	case b.begun <- struct{}{}:
	default:
	}
	<-b.leave
	return len(p), nil
}

func TestAFullQueueDropsAndCounts(t *testing.T) {
	t.Parallel()
	out := &blocked{make(chan struct{}, 1), make(chan struct{})}
	l := accesslog.New(out, accesslog.Options{QueueBytes: 64 << 10, Gather: time.Microsecond})
	l.Access(&full)
	<-out.begun // the goroutine hangs in Write from here on
	const n = 2000
	for range n {
		l.Access(&full)
	}
	if d := l.Dropped(); d < n/2 || d >= n {
		t.Fatalf("%d of %d lines dropped; want most and not all", d, n)
	}
	close(out.leave)
	_ = l.Close()
}

// A client that floods the log has half of the queue: other clients' lines are still recorded.
func TestOneSenderLeavesRoom(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*accesslog.Record, string){
		"a user":                    func(r *accesslog.Record, who string) { r.User = who },
		"an address without a user": func(r *accesslog.Record, who string) { r.User, r.Address = "", who },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &blocked{make(chan struct{}, 1), make(chan struct{})}
			l := accesslog.New(out, accesslog.Options{QueueBytes: 512 << 10, Gather: time.Microsecond})
			l.Access(&full)
			<-out.begun // the goroutine hangs in Write from here on
			line := full
			of(&line, "greedy")
			for range 4000 {
				l.Access(&line)
			}
			before := l.Dropped()
			if before == 0 {
				t.Fatal("the flood was kept whole")
			}
			const others = 20
			for i := range others {
				of(&line, fmt.Sprint("other ", i))
				l.Access(&line)
			}
			if d := l.Dropped() - before; d > others/2 { // some fall into the same group by chance
				t.Errorf("%d of %d lines of others were dropped", d, others)
			}
			close(out.leave)
			_ = l.Close()
		})
	}
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	t.Parallel()
	s := &sink{}
	l := accesslog.New(s, accesslog.Options{Gather: time.Hour})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l.Access(&full)
			}
		})
	}
	wg.Wait()
	_ = l.Close()
	_ = l.Close()
	if lines := s.lines(); len(lines) != 400 {
		t.Fatalf("%d lines; want 400", len(lines))
	}
	l.Flush() // of a closed log: returns
}

func TestWriterErrorsAreCounted(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	_ = r.Close()
	l := accesslog.New(w, accesslog.Options{})
	l.Access(&full)
	_ = l.Close()
	if l.Dropped() != 1 {
		t.Fatalf("%d dropped; want 1", l.Dropped())
	}
}

func TestSlog(t *testing.T) {
	t.Parallel()
	l, s := open(t, accesslog.Options{})
	h := l.Handler(slog.LevelInfo)
	if h.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("debug is enabled")
	}
	slog.New(h).With("a", 1).WithGroup("g").With("b", true).Info("hello\n", "c", "x\ty", slog.Group("d", "e", time.Second), "f", errors.New("bad"))
	got := only(t, l, s)
	for name, want := range map[string]any{"msg": "hello\n", "a": 1., "g.b": true, "g.c": "x\ty", "g.d.e": "1s", "g.f": "bad"} {
		if got[name] != want {
			t.Errorf("%s is %v; want %v", name, got[name], want)
		}
	}
}

// A failing upstream must not bury everything else: ten equal warnings a second.
func TestEqualWarningsAreLimited(t *testing.T) {
	t.Parallel()
	l, s := open(t, accesslog.Options{})
	h := l.Handler(slog.LevelInfo)
	at := time.Unix(100, 0)
	log := func(at time.Time, level slog.Level, msg string) {
		_ = h.Handle(context.Background(), slog.NewRecord(at, level, msg, 0))
	}
	for range 50 {
		log(at, slog.LevelWarn, "equal")
		log(at, slog.LevelInfo, "info")
	}
	log(at, slog.LevelWarn, "other")
	log(at.Add(time.Second), slog.LevelWarn, "equal")
	l.Flush()
	count := map[string]int{}
	for _, line := range s.lines() {
		var m struct{ Msg string }
		_ = json.Unmarshal([]byte(line), &m)
		count[m.Msg]++
	}
	if count["equal"] != 11 || count["info"] != 50 || count["other"] != 1 {
		t.Fatalf("lines by message: %v", count)
	}
}

func BenchmarkAccess(b *testing.B) {
	l := accesslog.New(io.Discard, accesslog.Options{QueueBytes: 1 << 30})
	defer func() { _ = l.Close() }()
	b.ReportAllocs()
	for b.Loop() {
		l.Access(&full)
	}
}

func BenchmarkEscape(b *testing.B) {
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf = accesslog.AppendEscaped(buf[:0], "openai/gpt-5.2-2026-01-31:nitro")
	}
}
