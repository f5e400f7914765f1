package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// cell is one row of the failure matrix: the fault of an upstream, and the client's result in each mode.
type cell struct {
	fault  string // as in the simulator's model names
	begun  bool   // a stream has content before the fault
	whole  int    // status of a whole answer without fallback, unless otherwise has one; 0: whole answers do not have this fault
	stream int    // status of a stream without fallback; 200 with broken means an error event
	broken bool   // a stream that began must end with an error event
	fine   bool   // the client gets a complete answer despite the fault
	closed bool   // the address refuses connections
	retry  string // Retry-After, if it is known
	raw    bool   // the provider's message is in metadata.raw
	waits  bool   // only a timeout ends it
}

const (
	bad    = 502
	late   = 504
	busy   = 503
	many   = 429
	ours   = 400
	large  = 413
	served = 200
)

// again copies a cell for several variants of a fault.
func again(c cell, variants ...string) []cell {
	var list []cell
	for _, v := range variants {
		c.fault = v
		list = append(list, c)
	}
	return list
}

var matrix = slices.Concat(
	again(cell{whole: bad, stream: bad, closed: true}, "u1"),
	again(cell{whole: bad, stream: bad}, "u2-close", "u2-reset"),
	again(cell{whole: late, stream: late, waits: true}, "u3", "u4"),
	again(cell{whole: late, stream: served, broken: true, begun: true, waits: true}, "u5"),
	again(cell{whole: bad, stream: served, broken: true, begun: true}, "u6", "u7-clean", "u7-chunk", "u7-length"),
	again(cell{stream: served, fine: true}, "u8"),
	again(cell{whole: many, stream: many, retry: "7"}, "u9"),
	again(cell{whole: many, stream: many, retry: "3600"}, "u9,retry-after=999999"),
	again(cell{whole: many, stream: many}, "u10", "u11-date", "u11-past", "u11-negative", "u11-huge", "u11-rubbish", "u11-fraction"),
	again(cell{whole: ours, stream: ours, raw: true}, "u12,status=400", "u12-secret"),
	again(cell{whole: large, stream: large, raw: true}, "u12,status=413"),
	again(cell{whole: ours, stream: ours, raw: true}, "u12,status=422"),
	again(cell{whole: bad, stream: bad}, "u13,status=401", "u13,status=402", "u13,status=403", "u14-json", "u14-html"),
	again(cell{whole: bad, stream: bad}, "u15,status=500", "u15,status=502", "u15,status=504", "u15,status=520", "u15,status=526", "u15,status=529", "u15-html", "u15-empty"),
	again(cell{whole: busy, stream: busy}, "u16-json", "u16-html", "u16-empty"),
	again(cell{whole: busy, stream: busy, retry: "9"}, "u16,retry-after=9"),
	again(cell{whole: bad, stream: bad}, "u17", "u17,status=307", "u17,status=308"),
	again(cell{whole: bad, stream: bad}, "u18-empty", "u18-truncated", "u18-html", "u18-text", "u18-array", "u18-null", "u18-object", "u18-nochoices"),
	again(cell{whole: bad, stream: bad}, "u19"),
	again(cell{whole: many, stream: many}, "u19,code=429"),
	again(cell{whole: busy, stream: busy}, "u19,code=503"),
	again(cell{stream: served, broken: true, begun: true}, "u19,after=2"),
	again(cell{whole: served, stream: served}, "u20", "u20-plain", "u20-json", "u20-none"),
	again(cell{whole: bad, stream: bad}, "u20-html"),
	again(cell{whole: bad, stream: served, broken: true}, "u21-truncated"),
	again(cell{whole: bad, stream: bad}, "u21-rubbish", "u22-bomb", "u22-big"),
	again(cell{whole: served, stream: served, fine: true}, "u21-valid"),
	again(cell{whole: late, stream: served, broken: true, begun: true, waits: true}, "u23"),
	again(cell{whole: bad, stream: bad}, "u24-headers", "u24-line", "u24-1xx"),
	again(cell{stream: bad}, "u25-content", "u25-comment", "u25-endless"),
	again(cell{stream: served, broken: true, begun: true}, "u25,after=2"),
	again(cell{stream: served, fine: true}, "u26-all", "u26-crlf", "u26-cr", "u26-bom", "u26-comments", "u26-fields", "u26-nospace", "u26-multiline", "u26-split", "u26-empty"),
	again(cell{stream: served, broken: true, begun: true}, "u27-cut", "u27-text", "u27-utf8"),
	again(cell{stream: bad}, "u27,after=0"),
	again(cell{stream: served, fine: true}, "u28-frames", "u28-twice"),
	again(cell{stream: bad}, "u29-role", "u29-done", "u29-empty", "u29-comments"),
	again(cell{whole: served, stream: served, fine: true}, "u30-missing", "u30-negative", "u30-huge", "u30-strings", "u30-floats", "u31"),
)

// shown reports whether a cell of a matrix runs for a wire. With -short, which is for the race detector, each wire runs another eighth of
// the cells.
func shown(cell, wire int) bool { return !testing.Short() || (cell+wire)%8 == 0 }

// places bounds how many cells run at a time: many of those that wait for a timeout, few of those that work.
type places struct {
	sync.WaitGroup
	working, waiting chan struct{}
}

func newPlaces() *places {
	return &places{working: make(chan struct{}, 6), waiting: make(chan struct{}, 40)}
}

func (p *places) run(waits bool, cell func()) {
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

// Whatever an upstream does, the client gets the status of the matrix, in the right envelope, and pays only for what was delivered. With a
// fallback it gets the next model's answer, if no content was sent before.
func TestFailureMatrix(t *testing.T) {
	t.Parallel()
	// Only the tests of timeouts use short ones: elsewhere a busy machine must not run into them.
	patient, hasty := startGateway(t), startGateway(t, func(s *setup) {
		u := &s.Upstream
		u.FirstByteTimeout, u.StreamFirstByteTimeout, u.IdleTimeout = 2*time.Second, 2*time.Second, 2*time.Second
		u.TotalTimeout, u.StreamTotalTimeout = 4*time.Second, 4*time.Second
	})
	// Cells mostly wait, and t.Parallel would limit them to the number of processors.
	cells, places := 0, newPlaces()
	run := func(name string, waits bool, check func(*testing.T)) {
		cells++
		places.run(waits, func() { t.Run(name, check) })
	}
	for n := range matrix {
		c, gw := &matrix[n], patient
		if c.waits {
			gw = hasty
		}
		for _, stream := range []bool{false, true} {
			if !stream && c.whole == 0 {
				continue
			}
			mode := map[bool]string{false: "/whole", true: "/stream"}[stream]
			for i := range manners {
				if !shown(n, i) {
					continue
				}
				m := &manners[i]
				run(m.name+"/"+c.name(t)+mode, c.waits, func(t *testing.T) { c.check(t, gw, m, stream) })
				if m.provider == "works" { // the fallback does not depend on the wire of the first attempt
					run(m.name+"/"+c.name(t)+mode+"/fallback", c.waits, func(t *testing.T) { c.checkFallback(t, gw, m, stream) })
				}
			}
		}
	}
	places.Wait()
	t.Logf("%d cells", cells)
	for _, gw := range []*gateway{patient, hasty} {
		if n := gw.sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.wantBalanced(t)
	}
}

// upstream returns the simulator's model with the fault.
func (c *cell) upstream() string { return "chat@fault=" + c.fault }

// slug returns the catalog's model with the fault.
func (c *cell) slug() string {
	return "test/" + strings.NewReplacer(",", "-", "=", "-").Replace(c.fault)
}

var question = []any{map[string]any{"role": "user", "content": "Tell me about weirs."}}

func (c *cell) check(t *testing.T, gw *gateway, m *manner, stream bool) {
	account := gw.newAccount(t)
	began := time.Now()
	a := m.call(t, account, map[string]any{"model": m.slug(c), "stream": stream})
	if took := time.Since(began); took > 5*time.Second*patience {
		t.Errorf("answered only after %v", took)
	}
	if want := c.want(t, m.name, stream); a.status != want {
		t.Fatalf("status %d, want %d: %s", a.status, want, a.body)
	}
	switch {
	case a.status >= 400:
		c.wantError(t, a)
		account.wantSpent(t, false)
	case stream && c.broken:
		a.wantErrorEvent(t)
		account.wantSpent(t, true) // for its prompt and the received part
		account.wantPartialCharge(t, a)
	default:
		a.wantComplete(t, stream)
		account.wantCharged(t, a, stream)
	}
	a.wantNoForeignHeaders(t)
	account.wantNothingHeld(t)
}

func (c *cell) wantError(t *testing.T, a *answer) {
	t.Helper()
	a.wantEnvelope(t)
	if a.status == 429 || a.status == 503 {
		a.wantRetryAfter(t)
	}
	if got := a.header.Get("Retry-After"); c.retry != "" && got != c.retry {
		t.Errorf("Retry-After %q, want %q", got, c.retry)
	}
	if raw := strings.Contains(string(a.body), `"raw":"`); c.raw && !raw {
		t.Errorf("the provider's message is missing: %s", a.body)
	}
}

func (c *cell) checkFallback(t *testing.T, gw *gateway, m *manner, stream bool) {
	account := gw.newAccount(t)
	own := m.slug(c)
	a := m.call(t, account, map[string]any{"model": own, "models": []string{"test/next"}, "stream": stream})
	if a.status != 200 {
		t.Fatalf("status %d although the next model works: %s", a.status, a.body)
	}
	served := a.model(t, stream)
	switch {
	case served == own && stream && c.broken:
		a.wantErrorEvent(t) // content was sent, so a fallback is not possible
		account.wantPartialCharge(t, a)
		account.wantNothingHeld(t)
		return
	case stream && c.begun, c.fine && served != own, served == own && !c.mayServe(stream):
		t.Fatalf("served by %s: %s", served, a.body)
	}
	a.wantComplete(t, stream)
	account.wantCharged(t, a, stream)
	account.wantAttempts(t, a, map[bool]int{true: 1, false: 2}[served == own])
	account.wantNothingHeld(t)
}

// mayServe reports whether the faulty endpoint may serve the answer itself.
func (c *cell) mayServe(stream bool) bool {
	if stream {
		return c.stream == http.StatusOK
	}
	return c.whole == http.StatusOK
}

// answer is a client's view of a response.
type answer struct {
	status int
	header http.Header
	body   []byte

	responses bool // it is of the responses style
}

func (a *answer) wantEnvelope(t *testing.T) {
	t.Helper()
	if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("content type %q of an error", got)
	}
	var e struct {
		Error struct {
			Code     int
			Message  string
			Metadata map[string]any
		}
	}
	if err := json.Unmarshal(a.body, &e); err != nil || e.Error.Code != a.status || e.Error.Message == "" || e.Error.Metadata == nil {
		t.Errorf("not the error envelope (%v): %s", err, a.body)
	}
	for _, secret := range []string{"127.0.0.1", "http://", "goroutine", ".go:"} {
		if bytes.Contains(a.body, []byte(secret)) {
			t.Errorf("the error shows %q: %s", secret, a.body)
		}
	}
}

func (a *answer) wantRetryAfter(t *testing.T) {
	t.Helper()
	if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 || n > 3600 {
		t.Errorf("Retry-After %q with status %d", a.header.Get("Retry-After"), a.status)
	}
}

func (a *answer) wantNoForeignHeaders(t *testing.T) {
	t.Helper()
	for _, name := range []string{"Set-Cookie", "Server", "Location", "X-Upstream-Secret", "X-Powered-By"} {
		if v := a.header.Get(name); v != "" {
			t.Errorf("header %s: %s came through", name, v)
		}
	}
}

func (a *answer) frames(t *testing.T) []map[string]any {
	t.Helper()
	text, done := strings.CutSuffix(string(a.body), "data: [DONE]\n\n")
	if !done || strings.Contains(text, "[DONE]") {
		t.Fatalf("a stream must end with exactly one [DONE]: %s", a.body)
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

func (a *answer) model(t *testing.T, stream bool) string {
	t.Helper()
	if a.responses {
		model, _ := a.response(t, stream)["model"].(string)
		return model
	}
	if stream {
		model, _ := a.frames(t)[0]["model"].(string)
		return model
	}
	var m struct{ Model string }
	if err := json.Unmarshal(a.body, &m); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return m.Model
}

func (a *answer) wantErrorEvent(t *testing.T) {
	t.Helper()
	if a.responses {
		a.wantFailedResponse(t)
		return
	}
	frames := a.frames(t)
	for i, f := range frames {
		if e, ok := f["error"]; ok {
			_, isObject := e.(map[string]any)
			last := i == len(frames)-1
			if _, chat := f["choices"]; chat { // a chunk with the error, then the error alone
				last = i == len(frames)-2 && len(frames[i+1]) == 1 && reflect.DeepEqual(frames[i+1]["error"], e)
			}
			if !isObject || !last {
				t.Errorf("the error must be at the end: %s", a.body)
			}
			return
		}
	}
	t.Errorf("a broken stream ended without an error event: %s", a.body)
}

func (a *answer) wantComplete(t *testing.T, stream bool) {
	t.Helper()
	if a.responses {
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
		if err := json.Unmarshal(a.body, &m); err != nil || len(m.Choices) == 0 || m.Choices[0].FinishReason == "" || m.Choices[0].Message.Content == "" || m.Usage == nil {
			t.Errorf("not a complete answer (%v): %s", err, a.body)
		}
		return
	}
	finished, usage := false, false
	for _, f := range a.frames(t) {
		if f["error"] != nil {
			t.Errorf("error in a stream that should be complete: %s", a.body)
		}
		usage = usage || f["usage"] != nil
		choices, _ := f["choices"].([]any)
		for _, c := range choices {
			finished = finished || c.(map[string]any)["finish_reason"] != nil
		}
	}
	if !finished || !usage {
		t.Errorf("finished %t, usage %t: %s", finished, usage, a.body)
	}
}

// account is a user with a key. Each test has its own, so that parallel tests do not share balances.
type account struct {
	gw  *gateway
	key string
}

func (a *account) do(t *testing.T, method, path string, body any) *answer {
	t.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	return a.send(t, method, path, b, nil)
}

// send sends a body unchanged. header overrides; an empty value removes a header.
func (a *account) send(t *testing.T, method, path string, body []byte, header map[string]string) *answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.gw.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	if len(body) >= 1<<20 { // it may be refused before it is sent completely, and the write error would hide the response
		req.Header.Set("Expect", "100-continue")
	}
	for name, value := range header {
		if req.Header.Del(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := a.gw.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%v after %s", err, got)
	}
	return &answer{status: res.StatusCode, header: res.Header, body: got}
}

func (a *account) chat(t *testing.T, body map[string]any) *answer {
	t.Helper()
	return a.do(t, http.MethodPost, "/v1/chat/completions", body)
}

type credits struct {
	TotalUsage json.Number `json:"total_usage"`
	Balance    json.Number `json:"balance"`
	Reserved   json.Number `json:"reserved"`
}

func (a *account) credits(t *testing.T) credits {
	t.Helper()
	var c struct{ Data credits }
	got := a.do(t, http.MethodGet, "/v1/credits", nil)
	if err := json.Unmarshal(got.body, &c); err != nil || got.status != 200 {
		t.Fatalf("credits: %d %v %s", got.status, err, got.body)
	}
	return c.Data
}

func (a *account) wantSpent(t *testing.T, spent bool) {
	t.Helper()
	if c := a.credits(t); (c.TotalUsage != "0") != spent {
		t.Errorf("spent %s, want any: %t", c.TotalUsage, spent)
	}
}

// wantCharged checks that a complete answer has valid usage, and that exactly this was charged.
func (a *account) wantCharged(t *testing.T, got *answer, stream bool) {
	t.Helper()
	is := got.reported(t, stream)
	if is.prompt <= 0 || is.prompt > 1000 || is.completion <= 0 || is.completion > 4000 || is.cost != testCost(t, is.prompt, is.completion) {
		t.Errorf("usage %+v", is)
	}
	if spent := parse(t, a.credits(t).TotalUsage); spent != is.cost {
		t.Errorf("the answer cost %s, charged are %s", is.cost, spent)
	}
}

// wantPartialCharge checks that a broken stream was charged once.
func (a *account) wantPartialCharge(t *testing.T, got *answer) {
	t.Helper()
	g := a.generation(t, got.header.Get("X-Generation-Id"))
	cost := parse(t, g.TotalCost)
	if g.TokensPrompt <= 0 || g.TokensCompletion <= 0 || cost != testCost(t, g.TokensPrompt, g.TokensCompletion) {
		t.Errorf("generation %+v", g)
	}
	if spent := parse(t, a.credits(t).TotalUsage); spent != cost {
		t.Errorf("the part cost %s, charged are %s", cost, spent)
	}
}

// wantAttempts checks that the record of the call has every attempt, with a reason for each failed one.
func (a *account) wantAttempts(t *testing.T, got *answer, want int) {
	t.Helper()
	var c struct {
		Data struct{ Attempts []struct{ Reason string } }
	}
	call := a.do(t, http.MethodGet, "/api/calls/"+got.header.Get("X-Generation-Id"), nil)
	if err := json.Unmarshal(call.body, &c); err != nil || call.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", call.status, err, call.body)
	}
	for i, try := range c.Data.Attempts {
		if failed := i < len(c.Data.Attempts)-1; failed != (try.Reason != "") {
			t.Errorf("attempt %d: %+v", i, try)
		}
	}
	if n := len(c.Data.Attempts); n < want || want == 1 && n != 1 {
		t.Errorf("%d attempts are recorded, want %d: %s", n, want, call.body)
	}
}

// wantNothingHeld checks that no hold remains after the call.
func (a *account) wantNothingHeld(t *testing.T) {
	t.Helper()
	if c := a.credits(t); c.Reserved != "0" {
		t.Errorf("%s is still held", c.Reserved)
	}
}
