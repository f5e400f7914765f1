package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// cell is one row of the failure matrix: what an upstream does, and what the client must see in each mode.
type cell struct {
	fault  string // as the simulator's model names have it
	after  int    // content frames before the fault; the streaming column then sees content first
	whole  []int  // statuses allowed for a whole answer without fallback
	stream []int  // statuses allowed for a stream without fallback; 200 together with broken means an error event
	broken bool   // a stream that began must end with an error event
	fine   bool   // the fault is none for the client: the answer is complete
	only   string // "stream" or "whole" when the other mode does not have this fault
	closed bool   // the fault is in the address: nobody listens there
}

var matrix = []cell{
	{fault: "u1", whole: []int{502, 503}, stream: []int{502, 503}, closed: true},
	{fault: "u2", whole: []int{502}, stream: []int{502}},
	{fault: "u3", whole: []int{504}, stream: []int{504}},
	{fault: "u4", whole: []int{504}, stream: []int{504}},
	{fault: "u5", whole: []int{504}, stream: []int{200}, broken: true, after: 2},
	{fault: "u6", whole: []int{502}, stream: []int{200}, broken: true, after: 2},
	{fault: "u7", whole: []int{502}, stream: []int{200}, broken: true, after: 2},
	{fault: "u8", stream: []int{200}, fine: true, only: "stream"},
	{fault: "u9,retry-after=7", whole: []int{429}, stream: []int{429}},
	{fault: "u10", whole: []int{429}, stream: []int{429}},
	{fault: "u11", whole: []int{429}, stream: []int{429}},
	{fault: "u12,status=400", whole: []int{400}, stream: []int{400}},
	{fault: "u12,status=413", whole: []int{413, 400}, stream: []int{413, 400}},
	{fault: "u12,status=422", whole: []int{400, 422}, stream: []int{400, 422}},
	{fault: "u13,status=401", whole: []int{502}, stream: []int{502}},
	{fault: "u13,status=402", whole: []int{502}, stream: []int{502}},
	{fault: "u13,status=403", whole: []int{502}, stream: []int{502}},
	{fault: "u14", whole: []int{502}, stream: []int{502}},
	{fault: "u15,status=500", whole: []int{502}, stream: []int{502}},
	{fault: "u15,status=502", whole: []int{502}, stream: []int{502}},
	{fault: "u15,status=504", whole: []int{502}, stream: []int{502}},
	{fault: "u15,status=520", whole: []int{502}, stream: []int{502}},
	{fault: "u15,status=529", whole: []int{502}, stream: []int{502}},
	{fault: "u16", whole: []int{503}, stream: []int{503}},
	{fault: "u17", whole: []int{502}, stream: []int{502}},
	{fault: "u18", whole: []int{502}, stream: []int{502}},
	{fault: "u19", whole: []int{502, 503, 429}, stream: []int{502, 503, 429}},
	{fault: "u20", whole: []int{200, 502}, stream: []int{200, 502}},
	{fault: "u21", whole: []int{502}, stream: []int{502, 200}, broken: true},
	{fault: "u22", whole: []int{502}, stream: []int{502, 200}, broken: true},
	{fault: "u23", whole: []int{504}, stream: []int{200}, broken: true},
	{fault: "u24", whole: []int{502}, stream: []int{502}},
	{fault: "u25", stream: []int{502, 200}, broken: true, only: "stream"},
	{fault: "u26", stream: []int{200}, fine: true, only: "stream"},
	{fault: "u27", stream: []int{200}, broken: true, after: 2, only: "stream"},
	{fault: "u28", stream: []int{200}, fine: true, only: "stream"},
	{fault: "u29", stream: []int{502}, only: "stream"},
	{fault: "u30", whole: []int{200}, stream: []int{200}, fine: true},
	{fault: "u31", whole: []int{200}, stream: []int{200}, fine: true},
}

// Whatever an upstream does, the client sees the status that the matrix promises, in the right envelope, is charged only for an
// answer, and with a fallback gets the next model's answer as long as no content was sent.
func TestFailureMatrix(t *testing.T) {
	t.Parallel()
	gw := startGateway(t)
	for _, c := range matrix {
		for _, stream := range []bool{false, true} {
			if c.only == "stream" && !stream || c.only == "whole" && stream {
				continue
			}
			mode := map[bool]string{false: "whole", true: "stream"}[stream]
			t.Run(c.fault+"/"+mode, func(t *testing.T) {
				t.Parallel()
				c.check(t, gw, stream)
			})
			t.Run(c.fault+"/"+mode+"/fallback", func(t *testing.T) {
				t.Parallel()
				c.checkFallback(t, gw, stream)
			})
		}
	}
}

// upstream is the simulator's model that has the fault.
func (c *cell) upstream() string {
	name := "chat@fault=" + c.fault
	if c.after > 0 {
		name += ",after=" + strconv.Itoa(c.after)
	}
	return name
}

// slug is the model that the fault is served under.
func (c *cell) slug() string {
	return "test/" + strings.NewReplacer(",", "-", "=", "-").Replace(c.fault)
}

var question = []any{map[string]any{"role": "user", "content": "Tell me about weirs."}}

func (c *cell) check(t *testing.T, gw *gateway, stream bool) {
	account := gw.newAccount(t)
	a := account.chat(t, map[string]any{
		"model": c.slug(), "stream": stream, "messages": question,
	})
	allowed := c.whole
	if stream {
		allowed = c.stream
	}
	if !slices.Contains(allowed, a.status) {
		t.Fatalf("status %d, allowed %v: %s", a.status, allowed, a.body)
	}
	switch {
	case a.status >= 400:
		a.wantEnvelope(t)
		if a.status == 429 || a.status == 503 {
			a.wantRetryAfter(t)
		}
		account.wantSpent(t, false)
	case stream && c.broken:
		a.wantErrorEvent(t)
	default:
		a.wantComplete(t, stream)
		account.wantSpent(t, true)
	}
	a.wantNoForeignHeaders(t)
	account.wantNothingHeld(t)
}

func (c *cell) checkFallback(t *testing.T, gw *gateway, stream bool) {
	account := gw.newAccount(t)
	a := account.chat(t, map[string]any{
		"model": c.slug(), "models": []string{"test/next"}, "stream": stream,
		"messages": question,
	})
	if a.status != 200 {
		t.Fatalf("status %d although the next model works: %s", a.status, a.body)
	}
	contentSent := stream && c.after > 0
	served := "test/next"
	switch {
	case c.fine, a.model(t, stream) == c.slug() && slices.Contains(c.whole, 200):
		served = c.slug()
	case contentSent, stream && c.broken && a.model(t, stream) == c.slug():
		a.wantErrorEvent(t)
		account.wantNothingHeld(t)
		return
	}
	if got := a.model(t, stream); got != served {
		t.Fatalf("served by %s, want %s: %s", got, served, a.body)
	}
	a.wantComplete(t, stream)
	account.wantSpent(t, true)
	account.wantNothingHeld(t)
}

// answer is what a client received.
type answer struct {
	status int
	header http.Header
	body   []byte
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
	frames := a.frames(t)
	for i, f := range frames {
		if e, ok := f["error"]; ok {
			if _, isObject := e.(map[string]any); !isObject || i != len(frames)-1 {
				t.Errorf("the error must be the last frame: %s", a.body)
			}
			return
		}
	}
	t.Errorf("a broken stream ended without an error event: %s", a.body)
}

func (a *answer) wantComplete(t *testing.T, stream bool) {
	t.Helper()
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
		for _, c := range f["choices"].([]any) {
			finished = finished || c.(map[string]any)["finish_reason"] != nil
		}
	}
	if !finished || !usage {
		t.Errorf("finished %t, usage %t: %s", finished, usage, a.body)
	}
}

// account is a user of their own, so that parallel tests read their own balances.
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

// send sends a body as it is. header overrides; an empty value takes a header away.
func (a *account) send(t *testing.T, method, path string, body []byte, header map[string]string) *answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.gw.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
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
	return &answer{res.StatusCode, res.Header, got}
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

// wantNothingHeld checks that the call's hold has ended with it.
func (a *account) wantNothingHeld(t *testing.T) {
	t.Helper()
	if c := a.credits(t); c.Reserved != "0" {
		t.Errorf("%s is still held", c.Reserved)
	}
}
