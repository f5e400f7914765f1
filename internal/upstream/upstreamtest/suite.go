package upstreamtest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/upstream"
	"weir/internal/usage"
)

// Answer is an answer of the suite, before a wire has rendered it.
type Answer struct {
	Text      []string // pieces of a stream; joined in a whole answer
	Reasoning []string
	Calls     []completion.ToolCall
	Finish    string // the wire's own word
	Usage     *usage.Usage
}

// Wire renders answers as one dialect's upstream writes them.
type Wire struct {
	Name        string // as in catalog.Provider.Dialect
	New         func() dialect.Texter
	Whole       func(Answer) string                                 // body of a whole answer
	Stream      func(Answer) []string                               // frames of a stream; the last one is the wire's own end
	Error       func(code, message string) string                   // JSON of a failure
	StreamError func(code, message string) string                   // frame of a failure inside a stream
	Finishes    map[string]completion.FinishReason                  // the wire's own words
	Request     func(t testing.TB, stream bool) *completion.Request // a request that the dialect can encode

	Binary  *Binary                   // how a stream is framed that is not made of lines of text; nil: it is an event stream
	Serial  bool                      // an answer has one call at most, and the wire has no id for it
	Declare func(p *catalog.Provider) // completes the declaration of a provider at its address; nil: nothing is needed
	Aside   func(c *Conn) (done bool) // answers a request that is not the call itself, such as one for a token; nil: absent
}

// Binary is what the suite needs to know about a wire with binary frames.
type Binary struct {
	Idle  string                // a frame that says nothing
	Long  func(size int) string // a frame of at least so many bytes
	Wrong string                // a frame whose content makes no sense
}

// hello is the plainest answer.
func (w Wire) hello() Answer {
	return Answer{Text: []string{"Hel", "lo \"wörld\"", " 😀\n"}, Finish: w.finishFor(completion.Stop),
		Usage: &usage.Usage{Prompt: usage.Of(9), Completion: usage.Of(5)}}
}

func (w Wire) finishFor(reason completion.FinishReason) string {
	best := ""
	for word, r := range w.Finishes {
		if r == reason && (best == "" || word < best) {
			best = word
		}
	}
	return best
}

const helloText = "Hello \"wörld\" 😀\n"

// Run checks a dialect against everything that holds for every dialect.
func Run(t *testing.T, w Wire) {
	t.Run("answers", func(t *testing.T) { t.Parallel(); runAnswers(t, w) })
	t.Run("borders", func(t *testing.T) { t.Parallel(); runBorders(t, w) })
	if w.Binary == nil {
		t.Run("syntax", func(t *testing.T) { t.Parallel(); runSyntax(t, w) })
	}
	t.Run("faults", func(t *testing.T) { t.Parallel(); runFaults(t, w) })
}

// Endpoint is an endpoint served at url.
func Endpoint(w Wire, url string) *catalog.Endpoint {
	p := &catalog.Provider{ID: "acme", Name: "Acme", Dialect: w.Name, BaseURL: url, Key: "acme-secret-key"}
	if w.Declare != nil {
		w.Declare(p)
	}
	return &catalog.Endpoint{ID: "acme/m", Provider: p, UpstreamID: "acme-large", Params: catalog.AllParams}
}

// idle, long and wrong are frames of the wire's framing.
func (w Wire) idle() string {
	if w.Binary != nil {
		return w.Binary.Idle
	}
	return ": hi\n\n"
}

func (w Wire) long(size int) string {
	if w.Binary != nil {
		return w.Binary.Long(size)
	}
	return "data: " + strings.Repeat("x", size) + "\n\n"
}

func (w Wire) wrong() string {
	if w.Binary != nil {
		return w.Binary.Wrong
	}
	return "data: {\"a\":\n\n"
}

func newClient(t testing.TB, w Wire, cfg upstream.Config) *upstream.Client {
	t.Helper()
	return clientOf(t, w.Name, w.New(), cfg)
}

func clientOf(t testing.TB, name string, d dialect.Dialect, cfg upstream.Config) *upstream.Client {
	cfg.Dialects = map[string]dialect.Dialect{name: d}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// ask sends one request to a provider with one script.
func ask(t testing.TB, w Wire, cfg upstream.Config, stream bool, script Script) Sum {
	t.Helper()
	p := NewProvider(t, script)
	p.SetAside(w.Aside)
	c := newClient(t, w, cfg)
	return Collect(c.Complete(context.Background(), Endpoint(w, p.URL), w.Request(t, stream), nil))
}

func modes(t *testing.T, check func(t *testing.T, stream bool)) {
	for _, stream := range []bool{false, true} {
		t.Run(map[bool]string{false: "whole", true: "stream"}[stream], func(t *testing.T) {
			t.Parallel()
			check(t, stream)
		})
	}
}

func (w Wire) render(a Answer, stream bool) string {
	if stream {
		return Stream(w.Stream(a)...)
	}
	return JSON(w.Whole(a))
}

// answerCase is an answer and what it comes to.
type answerCase struct {
	name string
	in   Answer
	want Sum
}

func runAnswers(t *testing.T, w Wire) {
	calls := []completion.ToolCall{{Index: 0, ID: "call_a", Name: "weather", Arguments: []byte(`{"city":"Köln"}`)},
		{Index: 1, ID: "call_b", Name: "time", Arguments: []byte(`{}`)}}
	counts := &usage.Usage{Prompt: usage.Of(9), Completion: usage.Of(5)}
	toolFinish := w.finishFor(completion.ToolCalls)
	cases := []answerCase{
		{"text", w.hello(), Sum{Text: helloText, Finish: completion.Stop, Usage: counts}},
		{"no usage", Answer{Text: []string{"a"}, Finish: w.finishFor(completion.Stop)}, Sum{Text: "a", Finish: completion.Stop}},
		{"reasoning", Answer{Reasoning: []string{"hm ", "so"}, Text: []string{"Yes"}, Finish: w.finishFor(completion.Stop), Usage: counts},
			Sum{Reasoning: "hm so", Text: "Yes", Finish: completion.Stop, Usage: counts}},
		{"tool", Answer{Calls: calls[:1], Finish: toolFinish, Usage: counts}, Sum{Calls: calls[:1], Finish: completion.ToolCalls, Usage: counts}},
		{"parallel tools", Answer{Calls: calls, Finish: toolFinish, Usage: counts}, Sum{Calls: calls, Finish: completion.ToolCalls, Usage: counts}},
		{"text then tool", Answer{Text: []string{"Let me see."}, Calls: calls[:1], Finish: toolFinish},
			Sum{Text: "Let me see.", Calls: calls[:1], Finish: completion.ToolCalls}},
	}
	if w.Serial {
		calls[0].ID = ""
		cases = slices.DeleteFunc(cases, func(c answerCase) bool { return len(c.in.Calls) > 1 })
	}
	for word, reason := range w.Finishes {
		if reason != completion.Failed {
			want := reason
			cases = append(cases, answerCase{"finish " + word, Answer{Text: []string{"a"}, Finish: word}, Sum{Text: "a", Finish: want}})
		}
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			modes(t, func(t *testing.T, stream bool) {
				want := tt.want
				want.Done = true
				got := ask(t, w, upstream.Config{}, stream, Send(w.render(tt.in, stream)))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
			t.Run("whole for a stream", func(t *testing.T) {
				t.Parallel()
				want := tt.want
				want.Done = true
				got := ask(t, w, upstream.Config{}, true, Send(JSON(w.Whole(tt.in))))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// pieces gives out its text in two reads, cut at one place, or a byte a read when cut is negative.
type pieces struct {
	text string
	cut  int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := len(p.text)
	if p.cut < 0 {
		n = 1
	} else if p.cut > 0 {
		n, p.cut = p.cut, 0
	}
	n = copy(b, p.text[:n])
	p.text = p.text[n:]
	return n, nil
}

// direct decodes without a connection.
func direct(t testing.TB, w Wire, r io.Reader) Sum {
	ep := Endpoint(w, "http://127.0.0.1")
	limits := dialect.Limits{Whole: 16 << 20, Stream: 256 << 20, Line: 4 << 20}
	return Collect(w.New().Events(&dialect.Answer{Endpoint: ep, Request: w.Request(t, true), Length: -1, Limits: limits, Body: dialect.NewBody(r)}))
}

// runBorders cuts a stream between every two bytes: nothing of the answer may depend on how reads fall.
func runBorders(t *testing.T, w Wire) {
	a := w.hello()
	a.Reasoning = []string{"hm"}
	a.Calls = []completion.ToolCall{{ID: "call_a", Name: "f", Arguments: []byte(`{"ö":1}`)}}
	for name, text := range map[string]string{"whole": w.Whole(a), "stream": strings.Join(w.Stream(a), "")} {
		want := direct(t, w, strings.NewReader(text))
		if want.Err != nil || want.Text != helloText {
			t.Fatalf("%s: %+v", name, want)
		}
		for cut := -1; cut < len(text); cut++ {
			if got := direct(t, w, &pieces{text, cut}); !cmp.Equal(want, got) {
				t.Fatalf("%s cut at %d: %s", name, cut, cmp.Diff(want, got))
			}
		}
	}
}

// runSyntax writes a stream in the other ways that the format allows.
func runSyntax(t *testing.T, w Wire) {
	plain := strings.Join(w.Stream(w.hello()), "")
	want := direct(t, w, strings.NewReader(plain))
	for name, text := range map[string]string{
		"CRLF":         strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR":           strings.ReplaceAll(plain, "\n", "\r"),
		"BOM":          "\uFEFF" + plain,
		"comments":     ": hello\n\n" + strings.ReplaceAll(plain, "\n\n", "\n\n: keep-alive\n\n"),
		"other fields": strings.ReplaceAll(plain, "data: ", "id: 1\nretry: 5\ndata: "),
		"no space":     strings.ReplaceAll(plain, "data: ", "data:"),
		"last line":    strings.TrimRight(plain, "\n"),
		"blank lines":  "\n\n\n" + plain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, direct(t, w, strings.NewReader(text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// short are timeouts for providers that stall: what is waited for is the timeout itself.
var short = upstream.Config{Timeouts: upstream.Timeouts{FirstByte: 400 * time.Millisecond, StreamFirstByte: 400 * time.Millisecond, Idle: 400 * time.Millisecond}}

// failing is one cell of the failure matrix.
type failing struct {
	name   string
	cfg    upstream.Config
	whole  Script // nil: the case is for streams only
	stream Script // nil: the same as whole
	kind   fault.Kind
	next   fault.Next
	text   bool // some text comes before the fault of a stream
	loose  bool // some text may come before it: what was read depends on the kernel
	check  func(t *testing.T, f *fault.Error)
}

func runFaults(t *testing.T, w Wire) {
	for _, tt := range append(connectionFaults(w), append(statusFaults(w), bodyFaults(w)...)...) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			modes(t, func(t *testing.T, stream bool) {
				script := tt.whole
				if stream && tt.stream != nil {
					script = tt.stream
				}
				if script == nil {
					t.Skip("for streams only")
				}
				for _, standard := range []bool{false, true} { // both clients
					cfg := tt.cfg
					cfg.Standard = standard
					checkFault(t, tt, ask(t, w, cfg, stream, script), stream)
				}
			})
		})
	}
	t.Run("refused connection", func(t *testing.T) {
		t.Parallel()
		p := NewProvider(t, Send(""))
		p.Close()
		got := Collect(newClient(t, w, upstream.Config{}).Complete(context.Background(), Endpoint(w, p.URL), w.Request(t, false), nil))
		checkFault(t, failing{kind: fault.ProviderUnavailable, next: fault.NextEndpoint}, got, false)
	})
	t.Run("nothing after the end", func(t *testing.T) {
		t.Parallel()
		frames := w.Stream(w.hello())
		got := ask(t, w, upstream.Config{}, true, Send(Stream(append(frames, frames...)...)))
		if got.Err != nil || got.Text != helloText || !got.Done {
			t.Errorf("%+v", got)
		}
	})
}

func checkFault(t *testing.T, tt failing, got Sum, stream bool) {
	t.Helper()
	f := got.Err
	if f == nil {
		t.Fatalf("no fault: %+v", got)
	}
	if f.Kind != tt.kind || f.Next != tt.next {
		t.Errorf("kind %v next %v, want %v %v (%v)", f.Kind, f.Next, tt.kind, tt.next, f)
	}
	if f.Upstream == nil || f.Upstream.Provider != "Acme" {
		t.Errorf("upstream %+v", f.Upstream)
	} else if strings.Contains(f.Public+f.Upstream.Raw+f.Upstream.Code, "127.0.0.1") || strings.Contains(f.Public+f.Upstream.Raw+f.Upstream.Code, "acme-secret") {
		t.Errorf("address or key in %q %+v", f.Public, f.Upstream)
	}
	if f.Public == "" {
		t.Error("no public sentence")
	}
	if stream && !tt.loose && tt.text != (got.Text != "") {
		t.Errorf("text %q", got.Text)
	}
	if tt.check != nil {
		tt.check(t, f)
	}
}

// beginning are the frames up to the first that has text.
func beginning(frames []string) []string {
	for i, f := range frames {
		if strings.Contains(f, "Hel") {
			return frames[:i+1]
		}
	}
	panic("no text in the stream")
}

// then are the frames of a beginning and another.
func then(frames []string, last string) []string {
	return append(slices.Clone(beginning(frames)), last)
}

func connectionFaults(w Wire) []failing {
	frames := w.Stream(w.hello())
	body := w.Whole(w.hello())
	begun := StreamHead() + Chunk(strings.Join(beginning(frames), ""))
	half := Sized(200, "application/json", body)[:len(Sized(200, "application/json", body))-10]
	gone, late := fault.ProviderUnavailable, fault.Timeout
	endpoint := fault.NextEndpoint
	many := strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 17)
	drip := func(head, piece string) Script {
		return func(c *Conn) {
			c.Send(head)
			for { // progress without an end; the write fails once the client gives up
				if _, err := io.WriteString(c.Conn, piece); err != nil {
					_ = c.Close()
					return
				}
			}
		}
	}
	slow := upstream.Config{Timeouts: upstream.Timeouts{Total: 80 * time.Millisecond, StreamTotal: 80 * time.Millisecond}}
	return []failing{
		{name: "U2 closed before an answer", whole: SendClose(""), kind: gone, next: endpoint},
		{name: "U2 reset before an answer", whole: SendReset(""), kind: gone, next: endpoint},
		{name: "U3 silence", cfg: short, whole: SendHang(""), kind: late, next: endpoint},
		{name: "U4 headers and silence", cfg: short, whole: SendHang("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"),
			stream: SendHang(StreamHead()), kind: late, next: endpoint},
		{name: "U5 stall inside", cfg: short, whole: SendHang(half), stream: SendHang(begun), kind: late, next: endpoint, text: true},
		{name: "U6 reset inside", whole: SendReset(half), stream: func(c *Conn) {
			c.Send(begun)
			c.Reset()
		}, loose: true, kind: gone, next: endpoint},
		{name: "U7 short body", whole: SendClose(half), stream: SendClose(begun), kind: gone, next: endpoint, text: true},
		{name: "U7 stream without an end", stream: Send(Stream(beginning(frames)...)), kind: gone, next: endpoint, text: true},
		{name: "U23 no end", cfg: slow, whole: drip("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Chunk(" ")),
			stream: drip(StreamHead(), Chunk(w.idle())), kind: late, next: endpoint},
		{name: "U24 large headers", whole: Send(Sized(200, "application/json", body, "X-Big: "+strings.Repeat("x", 65<<10))), kind: gone, next: endpoint},
		{name: "U24 many informational answers", whole: Send(many + JSON(body)), kind: gone, next: endpoint},
		{name: "no HTTP", whole: SendClose("hello\r\n\r\n"), kind: gone, next: endpoint},
	}
}

func statusFaults(w Wire) []failing {
	refuse := func(status int, code, message string, header ...string) Script {
		return Send(Sized(status, "application/json", w.Error(code, message), header...))
	}
	wait := func(want time.Duration) func(*testing.T, *fault.Error) {
		return func(t *testing.T, f *fault.Error) {
			if f.RetryAfter != want {
				t.Errorf("retry after %v, want %v", f.RetryAfter, want)
			}
		}
	}
	chosen := func(t *testing.T, f *fault.Error) {
		if f.RetryAfter < time.Second || f.RetryAfter > time.Minute {
			t.Errorf("retry after %v", f.RetryAfter)
		}
	}
	reported := func(phrase string) func(*testing.T, *fault.Error) {
		return func(t *testing.T, f *fault.Error) {
			if !strings.Contains(f.Public, phrase) || !strings.Contains(f.Upstream.Raw, phrase) {
				t.Errorf("public %q raw %q", f.Public, f.Upstream.Raw)
			}
		}
	}
	limited, endpoint := fault.RateLimited, fault.NextEndpoint
	list := []failing{
		{name: "U9 429", whole: refuse(429, "rate_limit_exceeded", "slow", "Retry-After: 7"), kind: limited, next: endpoint, check: wait(7 * time.Second)},
		{name: "U9 429 long", whole: refuse(429, "rate_limit_exceeded", "slow", "Retry-After: 99999"), kind: limited, next: endpoint, check: wait(time.Hour)},
		{name: "U10 429 without a time", whole: refuse(429, "rate_limit_exceeded", "slow"), kind: limited, next: endpoint, check: chosen},
		{name: "U11 429 date", whole: refuse(429, "x", "slow", "Date: Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After: Mon, 02 Jan 2006 15:04:35 GMT"),
			kind: limited, next: endpoint, check: wait(30 * time.Second)},
		{name: "U11 429 past date", whole: refuse(429, "x", "slow", "Retry-After: Mon, 02 Jan 2006 15:04:35 GMT"), kind: limited, next: endpoint, check: wait(time.Second)},
		{name: "U11 429 negative", whole: refuse(429, "x", "slow", "Retry-After: -5"), kind: limited, next: endpoint, check: chosen},
		{name: "U11 429 huge", whole: refuse(429, "x", "slow", "Retry-After: "+strings.Repeat("9", 400)), kind: limited, next: endpoint, check: wait(time.Hour)},
		{name: "U11 429 rubbish", whole: refuse(429, "x", "slow", "Retry-After: soon"), kind: limited, next: endpoint, check: chosen},
		{name: "U11 429 NaN", whole: refuse(429, "x", "slow", "Retry-After: NaN"), kind: limited, next: endpoint, check: chosen},
		{name: "U12 400", whole: refuse(400, "bad", "temperature is off"), kind: fault.Invalid, next: fault.NextModel, check: reported("temperature is off")},
		{name: "U12 422", whole: refuse(422, "bad", "temperature is off"), kind: fault.Invalid, next: fault.NextModel, check: reported("temperature is off")},
		{name: "U12 413", whole: refuse(413, "bad", "too big"), kind: fault.PayloadTooLarge, next: fault.NextModel},
		{name: "U12 context length", whole: refuse(400, "bad", "This is above the maximum context length of 10 tokens"), kind: fault.ContextLength, next: fault.NextModel, check: reported("context length")},
		{name: "U12 unknown model", whole: refuse(400, "model_not_found", "no such model"), kind: fault.Invalid, next: endpoint},
		{name: "U12 secrets", whole: refuse(400, "bad", "see http://127.0.0.1:9/x with acme-secret-key at 127.0.0.1:80"), kind: fault.Invalid, next: fault.NextModel},
		{name: "U16 503", whole: refuse(503, "x", "busy", "Retry-After: 3"), kind: fault.ProviderOverloaded, next: endpoint, check: wait(3 * time.Second)},
		{name: "U16 529", whole: refuse(529, "x", "busy", "Retry-After: 3"), kind: fault.ProviderOverloaded, next: endpoint, check: wait(3 * time.Second)},
		{name: "U16 503 without a time", whole: refuse(503, "x", "busy"), kind: fault.ProviderOverloaded, next: endpoint, check: chosen},
		{name: "U17 redirect", whole: Send(Sized(302, "text/html", "", "Location: http://127.0.0.1:1/")), kind: fault.ProviderUnavailable, next: endpoint},
		{name: "U17 redirect that keeps the method", whole: Send(Sized(307, "text/html", "", "Location: http://127.0.0.1:1/")), kind: fault.ProviderUnavailable, next: endpoint},
	}
	for _, status := range []int{401, 402, 403, 404, 500, 502, 504, 520, 526} {
		list = append(list, failing{name: fmt.Sprintf("U13 to U15 %d", status), whole: refuse(status, "x", "account acme-secret-key"), kind: fault.ProviderUnavailable, next: endpoint,
			check: func(t *testing.T, f *fault.Error) {
				if f.Upstream.Status != status {
					t.Errorf("status %d", f.Upstream.Status)
				}
				if status <= 403 && (f.Upstream.Raw != "" || f.Details["reason"] != "upstream_auth") {
					t.Errorf("raw %q details %v", f.Upstream.Raw, f.Details)
				}
			}})
	}
	return list
}

func bodyFaults(w Wire) []failing {
	frames := w.Stream(w.hello())
	body := w.Whole(w.hello())
	alone := frames[len(frames)-1]
	if strings.Contains(alone, `"output":[`) { // the end of this wire repeats the answer
		alone = ""
	}
	gone, endpoint := fault.ProviderUnavailable, fault.NextEndpoint
	tooLarge := func(t *testing.T, f *fault.Error) {
		if f.Details["reason"] != "upstream_too_large" {
			t.Errorf("details %v", f.Details)
		}
	}
	small := upstream.Config{Limits: dialect.Limits{Whole: 100 << 10, Stream: 100 << 10, Line: 10 << 10}}
	pad := strings.Repeat(" ", 200<<10)
	comments := strings.Repeat(": "+strings.Repeat("x", 1000)+"\n", 200)
	if w.Binary != nil {
		comments = strings.Repeat(w.idle(), 1+(200<<10)/len(w.idle()))
	}
	chunkedHead := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	list := []failing{
		{name: "U21 truncated gzip", whole: Send(gzipped(body, 10)), stream: Send(gzippedStream(strings.Join(frames, ""), 60)), loose: true, kind: gone, next: endpoint},
		{name: "U21 rubbish as gzip", whole: Send(Sized(200, "application/json", body, "Content-Encoding: gzip")), kind: gone, next: endpoint},
		{name: "unknown encoding", whole: Send(Sized(200, "application/json", body, "Content-Encoding: lzma")), kind: gone, next: endpoint},
		{name: "U22 declared too large", cfg: small, whole: Send(Sized(200, "application/json", pad+body)), kind: gone, next: endpoint, check: tooLarge},
		{name: "U22 too large", cfg: small, whole: Send(chunkedHead + Chunk(pad+body) + StreamEnd), stream: Send(StreamHead() + Chunk(comments) + StreamEnd),
			kind: gone, next: endpoint, check: tooLarge},
		{name: "U22 whole answer to a stream request", cfg: upstream.Config{Limits: dialect.Limits{Whole: 100 << 10}}, stream: Send(JSON(body + pad)), kind: gone, next: endpoint, check: tooLarge},
		{name: "U22 bomb", cfg: small, whole: Send(gzipped(pad+pad+body, 0)), kind: gone, next: endpoint, check: tooLarge},
		{name: "U25 long line", cfg: small, stream: Send(Stream(then(frames, w.long(20<<10))...)), kind: gone, next: endpoint, text: true, check: tooLarge},
		{name: "U27 bad frame", stream: Send(Stream(then(frames, w.wrong())...)), kind: gone, next: endpoint, text: true},
		{name: "U29 empty stream", stream: Send(StreamHead() + StreamEnd), kind: gone, next: endpoint},
		{name: "U29 stream of its end alone", stream: Send(Stream(alone)), kind: gone, next: endpoint},
		{name: "U19 error inside", whole: Send(JSON(w.Error("server_error", "oops"))), stream: Send(Stream(then(frames, w.StreamError("server_error", "oops"))...)),
			kind: gone, next: endpoint, text: true},
		{name: "U19 rate limit inside", whole: Send(JSON(w.Error("rate_limit_exceeded", "slow"))), stream: Send(Stream(then(frames, w.StreamError("rate_limit_exceeded", "slow"))...)),
			kind: fault.RateLimited, next: endpoint, text: true},
		{name: "U19 overload inside", whole: Send(JSON(w.Error("overloaded_error", "busy"))), stream: Send(Stream(w.StreamError("overloaded_error", "busy"))),
			kind: fault.ProviderOverloaded, next: endpoint},
		{name: "204", whole: Send("HTTP/1.1 204 No Content\r\n\r\n"), kind: gone, next: endpoint},
	}
	for name, text := range map[string]string{"empty": "", "list": "[]", "null": "null", "object": "{}", "text": "hello", "truncated": body[:len(body)/2], "page": "<html></html>"} {
		list = append(list, failing{name: "U18 " + name, whole: Send(JSON(text)), stream: Send(StreamHead() + chunkUnlessEmpty(text) + StreamEnd), kind: gone, next: endpoint})
	}
	return list
}

func chunkUnlessEmpty(text string) string {
	if text == "" {
		return ""
	}
	return Chunk(text)
}
