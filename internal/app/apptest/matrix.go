package apptest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/config"
)

// Cell is one row of the failure matrix: the fault of an upstream, and the client's result in each mode.
type Cell struct {
	Fault  string // as in the simulator's model names
	Begun  bool   // a stream has content before the fault
	Whole  int    // status of a whole answer without fallback, unless otherwise has one; 0: whole answers do not have this fault
	stream int    // status of a stream without fallback; 200 with broken means an error event
	Broken bool   // a stream that began must end with an error event
	Fine   bool   // the client gets a complete answer despite the fault
	Closed bool   // the address refuses connections
	Retry  string // Retry-After, if it is known
	Raw    bool   // the provider's message is in metadata.raw
	Waits  bool   // only a timeout ends it
}

const (
	Bad    = 502
	late   = 504
	busy   = 503
	many   = 429
	Ours   = 400
	large  = 413
	served = 200
)

// again copies a cell for several variants of a fault.
func again(c Cell, variants ...string) []Cell {
	var list []Cell
	for _, v := range variants {
		c.Fault = v
		list = append(list, c)
	}
	return list
}

var Matrix = slices.Concat(
	again(Cell{Whole: Bad, stream: Bad, Closed: true}, "u1"),
	again(Cell{Whole: Bad, stream: Bad}, "u2-close", "u2-reset"),
	again(Cell{Whole: late, stream: late, Waits: true}, "u3", "u4"),
	again(Cell{Whole: late, stream: served, Broken: true, Begun: true, Waits: true}, "u5"),
	again(Cell{Whole: Bad, stream: served, Broken: true, Begun: true}, "u6", "u7-clean", "u7-chunk", "u7-length"),
	again(Cell{stream: served, Fine: true}, "u8"),
	again(Cell{Whole: many, stream: many, Retry: "7"}, "u9"),
	again(Cell{Whole: many, stream: many, Retry: "3600"}, "u9,retry-after=999999"),
	again(Cell{Whole: many, stream: many}, "u10", "u11-date", "u11-past", "u11-negative", "u11-huge", "u11-rubbish", "u11-fraction"),
	again(Cell{Whole: Ours, stream: Ours, Raw: true}, "u12,status=400", "u12-secret"),
	again(Cell{Whole: large, stream: large, Raw: true}, "u12,status=413"),
	again(Cell{Whole: Ours, stream: Ours, Raw: true}, "u12,status=422"),
	again(Cell{Whole: Bad, stream: Bad}, "u13,status=401", "u13,status=402", "u13,status=403", "u14-json", "u14-html"),
	again(Cell{Whole: Bad, stream: Bad}, "u15,status=500", "u15,status=502", "u15,status=504", "u15,status=520", "u15,status=526", "u15-html", "u15-empty"),
	again(Cell{Whole: busy, stream: busy}, "u16-json", "u16-html", "u16-empty", "u15,status=529"),
	again(Cell{Whole: busy, stream: busy, Retry: "9"}, "u16,retry-after=9"),
	again(Cell{Whole: Bad, stream: Bad}, "u17", "u17,status=307", "u17,status=308"),
	again(Cell{Whole: Bad, stream: Bad}, "u18-empty", "u18-truncated", "u18-html", "u18-text", "u18-array", "u18-null", "u18-object", "u18-nochoices"),
	again(Cell{Whole: Bad, stream: Bad}, "u19"),
	again(Cell{Whole: many, stream: many}, "u19,code=429"),
	again(Cell{Whole: busy, stream: busy}, "u19,code=503"),
	again(Cell{stream: served, Broken: true, Begun: true}, "u19,after=2"),
	again(Cell{Whole: served, stream: served}, "u20", "u20-plain", "u20-json", "u20-none"),
	again(Cell{Whole: Bad, stream: Bad}, "u20-html"),
	again(Cell{Whole: Bad, stream: served, Broken: true}, "u21-truncated"),
	again(Cell{Whole: Bad, stream: Bad}, "u21-rubbish", "u22-bomb", "u22-big"),
	again(Cell{Whole: served, stream: served, Fine: true}, "u21-valid"),
	again(Cell{Whole: late, stream: served, Broken: true, Begun: true, Waits: true}, "u23"),
	again(Cell{Whole: Bad, stream: Bad}, "u24-headers", "u24-line", "u24-1xx"),
	again(Cell{stream: Bad}, "u25-content", "u25-comment", "u25-endless"),
	again(Cell{stream: served, Broken: true, Begun: true}, "u25,after=2"),
	again(Cell{stream: served, Fine: true}, "u26-all", "u26-crlf", "u26-cr", "u26-bom", "u26-comments", "u26-fields", "u26-nospace", "u26-multiline", "u26-split", "u26-empty"),
	again(Cell{stream: served, Broken: true, Begun: true}, "u27-cut", "u27-text", "u27-utf8"),
	again(Cell{stream: Bad}, "u27,after=0"),
	again(Cell{stream: served, Fine: true}, "u28-frames", "u28-twice"),
	again(Cell{stream: Bad}, "u29-role", "u29-done", "u29-empty", "u29-comments"),
	again(Cell{Whole: served, stream: served, Fine: true}, "u30-missing", "u30-negative", "u30-huge", "u30-strings", "u30-floats", "u31"),
)

// Hasten shortens the timeouts of upstreams, for cells that wait for one. The whole call may last much longer than one silence: on a busy
// machine the next provider still has to answer within it.
func Hasten(u *config.Upstream) {
	u.FirstByte, u.StreamFirstByte, u.Idle = 2*time.Second, 2*time.Second, 2*time.Second
	u.Total, u.StreamTotal = 15*time.Second, 15*time.Second
}

// Shown reports whether a cell of a matrix runs for a wire. With -short, which is for the race detector, each wire runs another eighth of
// the cells.
func Shown(cell, wire int) bool { return !testing.Short() || (cell+wire)%8 == 0 }

// slots bounds how many cells run at a time: many of those that wait for a timeout, few of those that work.
type slots struct {
	sync.WaitGroup
	working, waiting chan struct{}
}

func NewSlots() *slots {
	return &slots{working: make(chan struct{}, 6), waiting: make(chan struct{}, 40)}
}

func (p *slots) Run(waits bool, cell func()) {
	pool := p.working
	if waits {
		pool = p.waiting
	}
	p.Go(func() {
		pool <- struct{}{}
		defer func() { <-pool }()
		cell()
	})
}

// Upstream returns the simulator's model with the fault.
func (c *Cell) Upstream() string { return "chat@fault=" + c.Fault }

// Slug returns the catalog's model with the fault.
func (c *Cell) Slug() string {
	return "test/" + strings.NewReplacer(",", "-", "=", "-").Replace(c.Fault)
}

var Question = []any{map[string]any{"role": "user", "content": "Tell me about weirs."}}

func (c *Cell) Check(t *testing.T, gw *Gateway, m *Manner, stream bool) {
	account := gw.NewAccount(t)
	began := time.Now()
	a := m.call(t, account, map[string]any{"model": m.slug(c), "stream": stream})
	if took := time.Since(began); took > 5*time.Second*Patience {
		t.Errorf("answered only after %v", took)
	}
	if want := c.Want(t, m.Name, stream); a.Status != want {
		t.Fatalf("status %d, want %d: %s", a.Status, want, a.Body)
	}
	switch {
	case a.Status >= 400:
		c.WantError(t, a)
		account.WantSpent(t, false)
	case stream && c.Broken:
		a.WantErrorEvent(t)
		account.WantSpent(t, true) // for its prompt and the received part
		account.wantPartialCharge(t, a)
	default:
		a.WantComplete(t, stream)
		account.wantCharged(t, a, stream)
	}
	a.WantNoForeignHeaders(t)
	account.WantNothingHeld(t)
}

func (c *Cell) WantError(t *testing.T, a *Answer) {
	t.Helper()
	a.WantEnvelope(t)
	if a.Status == 429 || a.Status == 503 {
		a.WantRetryAfter(t)
	}
	if got := a.Header.Get("Retry-After"); c.Retry != "" && got != c.Retry {
		t.Errorf("Retry-After %q, want %q", got, c.Retry)
	}
	if raw := strings.Contains(string(a.Body), `"raw":"`); c.Raw && !raw {
		t.Errorf("the provider's message is missing: %s", a.Body)
	}
}

func (c *Cell) CheckFallback(t *testing.T, gw *Gateway, m *Manner, stream bool) {
	account := gw.NewAccount(t)
	own := m.slug(c)
	a := m.call(t, account, map[string]any{"model": own, "models": []string{"test/next"}, "stream": stream})
	if a.Status != 200 {
		t.Fatalf("status %d although the next model works: %s", a.Status, a.Body)
	}
	served := a.Model(t, stream)
	switch {
	case served == own && stream && c.Broken:
		a.WantErrorEvent(t) // content was sent, so a fallback is not possible
		account.wantPartialCharge(t, a)
		account.WantNothingHeld(t)
		return
	case stream && c.Begun, c.Fine && served != own, served == own && !c.MayServe(stream):
		t.Fatalf("served by %s: %s", served, a.Body)
	}
	a.WantComplete(t, stream)
	account.wantCharged(t, a, stream)
	account.WantAttempts(t, a, map[bool]int{true: 1, false: 2}[served == own])
	account.WantNothingHeld(t)
}

// MayServe reports whether the faulty endpoint may serve the answer itself.
func (c *Cell) MayServe(stream bool) bool {
	if stream {
		return c.stream == http.StatusOK
	}
	return c.Whole == http.StatusOK
}

// Answer is a client's view of a response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	Responses bool // it is of the responses style
}

func (a *Answer) WantEnvelope(t *testing.T) {
	t.Helper()
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("content type %q of an error", got)
	}
	var e struct {
		Error struct {
			Code     int
			Message  string
			Metadata map[string]any
		}
	}
	if err := json.Unmarshal(a.Body, &e); err != nil || e.Error.Code != a.Status || e.Error.Message == "" || e.Error.Metadata == nil {
		t.Errorf("not the error envelope (%v): %s", err, a.Body)
	}
	for _, secret := range []string{"127.0.0.1", "http://", "goroutine", ".go:"} {
		if bytes.Contains(a.Body, []byte(secret)) {
			t.Errorf("the error shows %q: %s", secret, a.Body)
		}
	}
}

func (a *Answer) WantRetryAfter(t *testing.T) {
	t.Helper()
	if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || n < 1 || n > 3600 {
		t.Errorf("Retry-After %q with status %d", a.Header.Get("Retry-After"), a.Status)
	}
}

func (a *Answer) WantNoForeignHeaders(t *testing.T) {
	t.Helper()
	for _, name := range []string{"Set-Cookie", "Server", "Location", "X-Upstream-Secret", "X-Powered-By"} {
		if v := a.Header.Get(name); v != "" {
			t.Errorf("header %s: %s came through", name, v)
		}
	}
}

func (a *Answer) Frames(t *testing.T) []map[string]any {
	t.Helper()
	text, done := strings.CutSuffix(string(a.Body), "data: [DONE]\n\n")
	if !done || strings.Contains(text, "[DONE]") {
		t.Fatalf("a stream must end with exactly one [DONE]: %s", a.Body)
	}
	var frames []map[string]any
	for frame := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(strings.TrimPrefix(frame, ": keep-alive\n"), "data: ")
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); !ok || err != nil {
			t.Fatalf("not a frame (%v): %q", err, frame)
		}
		frames = append(frames, m)
	}
	return frames
}

func (a *Answer) Model(t *testing.T, stream bool) string {
	t.Helper()
	if a.Responses {
		model, _ := a.Response(t, stream)["model"].(string)
		return model
	}
	if stream {
		model, _ := a.Frames(t)[0]["model"].(string)
		return model
	}
	var m struct{ Model string }
	if err := json.Unmarshal(a.Body, &m); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return m.Model
}

func (a *Answer) WantErrorEvent(t *testing.T) {
	t.Helper()
	if a.Responses {
		a.wantFailedResponse(t)
		return
	}
	frames := a.Frames(t)
	for i, f := range frames {
		if e, ok := f["error"]; ok {
			_, isObject := e.(map[string]any)
			if !isObject || i != len(frames)-1 {
				t.Errorf("the error must be at the end: %s", a.Body)
			}
			return
		}
	}
	t.Errorf("a broken stream ended without an error event: %s", a.Body)
}

func (a *Answer) WantComplete(t *testing.T, stream bool) {
	t.Helper()
	if a.Responses {
		a.wantCompleteResponse(t, stream)
		return
	}
	if !stream {
		var m struct {
			Choices []struct {
				FinishReason string `json:"finish_reason"`
				Message      struct{ Content string }
			}
			Usage map[string]any
		}
		if err := json.Unmarshal(a.Body, &m); err != nil || len(m.Choices) == 0 || m.Choices[0].FinishReason == "" || m.Choices[0].Message.Content == "" || m.Usage == nil {
			t.Errorf("not a complete answer (%v): %s", err, a.Body)
		}
		return
	}
	finished, usage := false, false
	for _, f := range a.Frames(t) {
		if f["error"] != nil {
			t.Errorf("error in a stream that should be complete: %s", a.Body)
		}
		usage = usage || f["usage"] != nil
		choices, _ := f["choices"].([]any)
		for _, c := range choices {
			finished = finished || c.(map[string]any)["finish_reason"] != nil
		}
	}
	if !finished || !usage {
		t.Errorf("finished %t, usage %t: %s", finished, usage, a.Body)
	}
}

// Account is a user with a key. Each test has its own, so that parallel tests do not share balances.
type Account struct {
	Gw  *Gateway
	Key string
}

func (a *Account) Do(t *testing.T, method, path string, body any) *Answer {
	t.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	return a.Send(t, method, path, b, nil)
}

// Send sends a body unchanged. header overrides; an empty value removes a header.
func (a *Account) Send(t *testing.T, method, path string, body []byte, header map[string]string) *Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.Gw.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	req.Header.Set("Content-Type", "application/json")
	if len(body) >= 1<<20 { // it may be refused before it is sent completely, and the write error would hide the response
		req.Header.Set("Expect", "100-continue")
	}
	for name, value := range header {
		if req.Header.Del(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := a.Gw.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%v after %s", err, got)
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: got}
}

func (a *Account) Chat(t *testing.T, body map[string]any) *Answer {
	t.Helper()
	return a.Do(t, http.MethodPost, "/v1/chat/completions", body)
}

type credits struct {
	TotalUsage json.Number `json:"total_usage"`
	Balance    json.Number `json:"balance"`
	Reserved   json.Number `json:"reserved"`
}

func (a *Account) Credits(t *testing.T) credits {
	t.Helper()
	var c struct{ Data credits }
	got := a.Do(t, http.MethodGet, "/v1/credits", nil)
	if err := json.Unmarshal(got.Body, &c); err != nil || got.Status != 200 {
		t.Fatalf("credits: %d %v %s", got.Status, err, got.Body)
	}
	return c.Data
}

func (a *Account) WantSpent(t *testing.T, spent bool) {
	t.Helper()
	if c := a.Credits(t); (c.TotalUsage != "0") != spent {
		t.Errorf("spent %s, want any: %t", c.TotalUsage, spent)
	}
}

// wantCharged checks that a complete answer has valid usage, and that exactly this was charged.
func (a *Account) wantCharged(t *testing.T, got *Answer, stream bool) {
	t.Helper()
	is := got.Reported(t, stream)
	if is.Prompt <= 0 || is.Prompt > 1000 || is.Completion <= 0 || is.Completion > 4000 || is.Cost != TestCost(t, is.Prompt, is.Completion) {
		t.Errorf("usage %+v", is)
	}
	if spent := Parse(t, a.Credits(t).TotalUsage); spent != is.Cost {
		t.Errorf("the answer cost %s, charged are %s", is.Cost, spent)
	}
}

// wantPartialCharge checks that a broken stream was charged once.
func (a *Account) wantPartialCharge(t *testing.T, got *Answer) {
	t.Helper()
	g := a.Generation(t, got.Header.Get("X-Generation-Id"))
	cost := Parse(t, g.TotalCost)
	if g.TokensPrompt <= 0 || g.TokensCompletion <= 0 || cost != TestCost(t, g.TokensPrompt, g.TokensCompletion) {
		t.Errorf("generation %+v", g)
	}
	if spent := Parse(t, a.Credits(t).TotalUsage); spent != cost {
		t.Errorf("the part cost %s, charged are %s", cost, spent)
	}
}

// WantAttempts checks that the record of the call has every attempt, with a reason for each failed one.
func (a *Account) WantAttempts(t *testing.T, got *Answer, want int) {
	t.Helper()
	var c struct {
		Data struct{ Attempts []struct{ Reason string } }
	}
	call := a.Do(t, http.MethodGet, "/api/calls/"+got.Header.Get("X-Generation-Id"), nil)
	if err := json.Unmarshal(call.Body, &c); err != nil || call.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", call.Status, err, call.Body)
	}
	for i, try := range c.Data.Attempts {
		if failed := i < len(c.Data.Attempts)-1; failed != (try.Reason != "") {
			t.Errorf("attempt %d: %+v", i, try)
		}
	}
	if n := len(c.Data.Attempts); n < want || want == 1 && n != 1 {
		t.Errorf("%d attempts are recorded, want %d: %s", n, want, call.Body)
	}
}

// WantNothingHeld checks that no hold remains after the call.
func (a *Account) WantNothingHeld(t *testing.T) {
	t.Helper()
	if c := a.Credits(t); c.Reserved != "0" {
		t.Errorf("%s is still held", c.Reserved)
	}
}
