package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
)

// leg is a pair of client style and provider dialect in the failure matrix.
type leg struct {
	style    style
	dialect  string
	fallback bool // the style can name fallback models
}

// TestFailureMatrix covers the dialect openai in the chat style.
var legs = []leg{
	{chatStyle{}, "anthropic", true}, {chatStyle{}, "gemini", true},
	{messagesStyle{}, "openai", false}, {messagesStyle{}, "anthropic", false}, {messagesStyle{}, "gemini", false},
	{geminiStyle{}, "openai", true}, {geminiStyle{}, "anthropic", true}, {geminiStyle{}, "gemini", true},
	{chatStyle{}, "responses", true}, {messagesStyle{}, "responses", false}, {chatStyle{}, "bedrock", true}, {messagesStyle{}, "bedrock", false},
}

// slug returns the model with a cell's fault on a dialect.
func (l *leg) slug(c *cell) string { return l.dialect + strings.TrimPrefix(c.slug(), "test") }

// want returns the status that a client of the style must get.
func (l *leg) want(t *testing.T, c *cell, stream bool) int {
	t.Helper()
	status := c.want(t, l.dialect, stream)
	if l.style.name() == "messages" && status == http.StatusServiceUnavailable {
		return 529
	}
	return status
}

// faultCatalog adds each fault on each dialect.
func faultCatalog(t *testing.T, d *catalog.Declared) {
	t.Helper()
	address := func(id string) string {
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == id })
		return strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
	}
	open, closed := address("works"), address("closed")
	for _, on := range dialects {
		id := "faults-" + on.name
		d.Providers = append(d.Providers,
			catalog.Provider{ID: id, Name: id, Dialect: on.name, BaseURL: open + on.base, Key: "sk-upstream-key", Quirks: on.quirks},
			catalog.Provider{ID: id + "-closed", Name: id + "-closed", Dialect: on.name, BaseURL: closed + on.base, Key: "sk-upstream-key", Quirks: on.quirks})
		for i := range matrix {
			provider := id
			if matrix[i].closed {
				provider += "-closed"
			}
			d.Offers = append(d.Offers, offerOf(t, provider, (&leg{dialect: on.name}).slug(&matrix[i]), matrix[i].upstream()))
		}
	}
}

// The failure matrix on the other dialects, and in the messages style.
func TestFailureMatrixOfDialects(t *testing.T) {
	t.Parallel()
	patient, hasty := startGateway(t, func(s *setup) { faultCatalog(t, &s.Declared) }), startGateway(t, func(s *setup) {
		faultCatalog(t, &s.Declared)
		u := &s.Upstream
		u.FirstByteTimeout, u.StreamFirstByteTimeout, u.IdleTimeout = 2*time.Second, 2*time.Second, 2*time.Second
		u.TotalTimeout, u.StreamTotalTimeout = 4*time.Second, 4*time.Second
	})
	places := newPlaces()
	run := func(name string, waits bool, check func(*testing.T)) {
		places.run(waits, func() { t.Run(name, check) })
	}
	for i := range matrix {
		c := &matrix[i]
		if !c.waits { // one user for several cells: making many is slow, because each waits for the store
			run(c.name(t), false, func(t *testing.T) {
				a := patient.newAccount(t)
				eachLeg(c, i, func(name string, l *leg, stream, fallback bool) {
					t.Run(name, func(t *testing.T) { l.show(t, c, a, stream, fallback) })
				})
			})
			continue
		}
		eachLeg(c, i, func(name string, l *leg, stream, fallback bool) {
			run(c.name(t)+"/"+name, true, func(t *testing.T) { l.show(t, c, hasty.newAccount(t), stream, fallback) })
		})
	}
	places.Wait()
	for _, gw := range []*gateway{patient, hasty} {
		if n := gw.sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.wantBalanced(t)
	}
}

// eachLeg yields the variants of a cell with that number.
func eachLeg(c *cell, n int, yield func(name string, l *leg, stream, fallback bool)) {
	for i := range legs {
		l := &legs[i]
		if !shown(n, i) {
			continue
		}
		for _, stream := range []bool{false, true} {
			if !stream && c.whole == 0 {
				continue
			}
			name := fmt.Sprintf("%s/%s/%s", l.style.name(), l.dialect, map[bool]string{false: "whole", true: "stream"}[stream])
			yield(name, l, stream, false)
			if l.fallback {
				yield(name+"/fallback", l, stream, true)
			}
		}
	}
}

func (l *leg) ask(c *cell) *ask {
	return &ask{model: l.slug(c), turns: []turn{{role: "user", text: "Tell me about weirs."}}, maxTokens: 4000}
}

// show makes one call and checks the client's answer and the charge.
func (l *leg) show(t *testing.T, c *cell, a *account, stream, fallback bool) {
	before := parse(t, a.credits(t).TotalUsage)
	body := l.style.encode(l.ask(c))
	if l.style.name() != "gemini" {
		body["stream"] = stream
	}
	if fallback {
		body["models"] = []string{"test/next"}
	}
	got := a.do(t, http.MethodPost, l.style.path(l.slug(c), stream), body)
	charged := true
	if fallback {
		l.checkFallback(t, c, a, got, stream)
	} else {
		charged = l.check(t, c, got, stream)
	}
	got.wantNoForeignHeaders(t)
	a.wantNothingHeld(t)
	var cost money.Nano
	if charged {
		g := a.generation(t, got.header.Get("X-Generation-Id"))
		cost = parse(t, g.TotalCost)
		if g.TokensPrompt <= 0 || g.TokensPrompt > 1000 || g.TokensCompletion <= 0 || g.TokensCompletion > 4000 || cost != testCost(t, g.TokensPrompt, g.TokensCompletion) {
			t.Errorf("generation %+v", g)
		}
	}
	if spent := parse(t, a.credits(t).TotalUsage) - before; spent != cost {
		t.Errorf("the answer cost %s, charged are %s", cost, spent)
	}
}

// check checks the answer of a call without a fallback, and reports whether it is charged.
func (l *leg) check(t *testing.T, c *cell, got *answer, stream bool) (charged bool) {
	t.Helper()
	if want := l.want(t, c, stream); got.status != want {
		t.Fatalf("status %d, want %d: %s", got.status, want, got.body)
	}
	switch {
	case got.status >= 400:
		l.wantError(t, c, got)
		return false
	case stream && c.broken && l.brokenOff(t, got): // its prompt and the received part are charged
	case stream && c.broken && c.begun:
		t.Errorf("a broken stream ended without an error event: %s", got.body)
	default:
		l.wantComplete(t, c, got, stream)
	}
	return true
}

func (l *leg) checkFallback(t *testing.T, c *cell, a *account, got *answer, stream bool) {
	t.Helper()
	if got.status != http.StatusOK {
		t.Fatalf("status %d although the next model works: %s", got.status, got.body)
	}
	served := l.served(t, got, stream)
	switch {
	case served == l.slug(c) && stream && c.broken && l.brokenOff(t, got):
		return // content was sent, so a fallback is not possible
	case stream && c.begun, c.fine && served != l.slug(c), served == l.slug(c) && !c.mayServe(stream):
		t.Fatalf("served by %s: %s", served, got.body)
	}
	l.wantComplete(t, c, got, stream)
	a.wantAttempts(t, got, map[bool]int{true: 1, false: 2}[served == l.slug(c)])
}

// served returns the model that an answer names.
func (l *leg) served(t *testing.T, got *answer, stream bool) string {
	t.Helper()
	switch {
	case l.style.name() != "gemini":
		return got.model(t, stream)
	case stream:
		first, _, _ := bytes.Cut(got.body, []byte("\n\n"))
		return geminiStyle{}.chunks(t, first)[0].ModelVersion
	}
	return decode[geminiReply](t, got.body).ModelVersion
}

func (l *leg) wantError(t *testing.T, c *cell, got *answer) {
	t.Helper()
	if l.style.name() == "chat" {
		c.wantError(t, got)
		return
	}
	if kind, message := l.style.failure(got.body); kind == "" || message == "" {
		t.Errorf("not the error envelope: %s", got.body)
	}
	if got.status == 429 || got.status == 503 || got.status == 529 {
		got.wantRetryAfter(t)
	}
	if wait := got.header.Get("Retry-After"); c.retry != "" && wait != c.retry {
		t.Errorf("Retry-After %q, want %q", wait, c.retry)
	}
	for _, secret := range []string{"127.0.0.1", "http://", "goroutine", ".go:", "sk-sim-canary"} {
		if strings.Contains(string(got.body), secret) {
			t.Errorf("the error shows %q: %s", secret, got.body)
		}
	}
}

// brokenOff reports whether a stream ends with an error event.
func (l *leg) brokenOff(t *testing.T, got *answer) bool {
	t.Helper()
	if l.style.name() == "chat" {
		frames := got.frames(t)
		_, is := frames[len(frames)-1]["error"].(map[string]any)
		return is
	}
	if l.style.name() == "gemini" {
		kind, message := geminiStyle{}.failure(got.body[bytes.LastIndex(bytes.TrimRight(got.body, "\n"), []byte("\n"))+1:])
		return kind != "" && message != "" && bytes.Contains(got.body, []byte(`data: {"error":{`))
	}
	events := messagesStyle{}.events(t, got.body)
	last := events[len(events)-1]
	failure, is := last["error"].(map[string]any)
	return last["type"] == "error" && is && failure["type"] != "" && failure["message"] != ""
}

// wantComplete checks that an answer is complete.
func (l *leg) wantComplete(t *testing.T, c *cell, got *answer, stream bool) {
	t.Helper()
	read := l.style.whole
	if stream {
		read = l.style.stream
	}
	if l.style.name() == "messages" && l.dialect == "anthropic" && strings.HasPrefix(c.fault, "u30") {
		return // bad usage is passed on as the provider sent it, and not used for charging
	}
	if s := read(t, got.body); s.text == "" || s.finish != "stop" {
		t.Errorf("not a complete answer: %s", got.body)
	}
}
