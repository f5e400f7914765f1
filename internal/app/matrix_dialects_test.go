package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/money"
)

// leg is a pair of client style and provider dialect in the failure matrix.
type leg struct {
	style    apptest.Style
	dialect  string
	fallback bool // the style can name fallback models
}

// TestFailureMatrix covers the dialect openai in the chat style.
var legs = []leg{
	{chatStyle{}, "anthropic", true}, {chatStyle{}, "gemini", true},
	{messagesStyle{}, "openai", false}, {messagesStyle{}, "anthropic", false}, {messagesStyle{}, "gemini", false},
	{apptest.GeminiStyle{}, "openai", true}, {apptest.GeminiStyle{}, "anthropic", true}, {apptest.GeminiStyle{}, "gemini", true},
	{chatStyle{}, "responses", true}, {messagesStyle{}, "responses", false}, {chatStyle{}, "bedrock", true}, {messagesStyle{}, "bedrock", false},
}

// slug returns the model with a cell's fault on a dialect.
func (l *leg) slug(c *apptest.Cell) string { return l.dialect + strings.TrimPrefix(c.Slug(), "test") }

// want returns the status that a client of the style must get.
func (l *leg) want(t *testing.T, c *apptest.Cell, stream bool) int {
	t.Helper()
	status := c.Want(t, l.dialect, stream)
	if l.style.Name() == "messages" && status == http.StatusServiceUnavailable {
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
	for _, on := range apptest.Dialects {
		id := "faults-" + on.Name
		d.Providers = append(d.Providers,
			catalog.Provider{ID: id, Name: id, Dialect: on.Name, BaseURL: open + on.Base, Key: "sk-upstream-key", Quirks: on.Quirks},
			catalog.Provider{ID: id + "-closed", Name: id + "-closed", Dialect: on.Name, BaseURL: closed + on.Base, Key: "sk-upstream-key", Quirks: on.Quirks})
		for i := range apptest.Matrix {
			provider := id
			if apptest.Matrix[i].Closed {
				provider += "-closed"
			}
			d.Offers = append(d.Offers, apptest.OfferOf(t, provider, (&leg{dialect: on.Name}).slug(&apptest.Matrix[i]), apptest.Matrix[i].Upstream()))
		}
	}
}

// The failure matrix on the other dialects, and in the messages style.
func TestFailureMatrixOfDialects(t *testing.T) {
	t.Parallel()
	patient, hasty := apptest.StartGateway(t, func(s *apptest.Setup) { faultCatalog(t, &s.Declared) }), apptest.StartGateway(t, func(s *apptest.Setup) {
		faultCatalog(t, &s.Declared)
		apptest.Hasten(&s.Upstream)
	})
	places := apptest.NewSlots()
	run := func(name string, waits bool, check func(*testing.T)) {
		places.Run(waits, func() { t.Run(name, check) })
	}
	for i := range apptest.Matrix {
		c := &apptest.Matrix[i]
		if !c.Waits { // one user for several cells: making many is slow, because each waits for the store
			run(c.Name(t), false, func(t *testing.T) {
				a := patient.NewAccount(t)
				eachLeg(c, i, func(name string, l *leg, stream, fallback bool) {
					t.Run(name, func(t *testing.T) { l.show(t, c, a, stream, fallback) })
				})
			})
			continue
		}
		eachLeg(c, i, func(name string, l *leg, stream, fallback bool) {
			run(c.Name(t)+"/"+name, true, func(t *testing.T) { l.show(t, c, hasty.NewAccount(t), stream, fallback) })
		})
	}
	places.Wait()
	for _, gw := range []*apptest.Gateway{patient, hasty} {
		if n := gw.Sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.WantBalanced(t)
	}
}

// eachLeg yields the variants of a cell with that number.
func eachLeg(c *apptest.Cell, n int, yield func(name string, l *leg, stream, fallback bool)) {
	for i := range legs {
		l := &legs[i]
		if !apptest.Shown(n, i) {
			continue
		}
		for _, stream := range []bool{false, true} {
			if !stream && c.Whole == 0 {
				continue
			}
			name := fmt.Sprintf("%s/%s/%s", l.style.Name(), l.dialect, map[bool]string{false: "whole", true: "stream"}[stream])
			yield(name, l, stream, false)
			if l.fallback {
				yield(name+"/fallback", l, stream, true)
			}
		}
	}
}

func (l *leg) ask(c *apptest.Cell) *apptest.Ask {
	return &apptest.Ask{Model: l.slug(c), Turns: []apptest.Turn{{Role: "user", Text: "Tell me about weirs."}}, MaxTokens: 4000}
}

// show makes one call and checks the client's answer and the charge.
func (l *leg) show(t *testing.T, c *apptest.Cell, a *apptest.Account, stream, fallback bool) {
	before := apptest.Parse(t, a.Credits(t).TotalUsage)
	body := l.style.Encode(l.ask(c))
	if l.style.Name() != "gemini" {
		body["stream"] = stream
	}
	if fallback {
		body["models"] = []string{"test/next"}
	}
	got := a.Do(t, http.MethodPost, l.style.Path(l.slug(c), stream), body)
	charged := true
	if fallback {
		l.checkFallback(t, c, a, got, stream)
	} else {
		charged = l.check(t, c, got, stream)
	}
	got.WantNoForeignHeaders(t)
	a.WantNothingHeld(t)
	var cost money.Nano
	if charged {
		g := a.Generation(t, got.Header.Get("X-Generation-Id"))
		cost = apptest.Parse(t, g.TotalCost)
		if g.TokensPrompt <= 0 || g.TokensPrompt > 1000 || g.TokensCompletion <= 0 || g.TokensCompletion > 4000 || cost != apptest.TestCost(t, g.TokensPrompt, g.TokensCompletion) {
			t.Errorf("generation %+v", g)
		}
	}
	if spent := apptest.Parse(t, a.Credits(t).TotalUsage) - before; spent != cost {
		t.Errorf("the answer cost %s, charged are %s", cost, spent)
	}
}

// check checks the answer of a call without a fallback, and reports whether it is charged.
func (l *leg) check(t *testing.T, c *apptest.Cell, got *apptest.Answer, stream bool) (charged bool) {
	t.Helper()
	if want := l.want(t, c, stream); got.Status != want {
		t.Fatalf("status %d, want %d: %s", got.Status, want, got.Body)
	}
	switch {
	case got.Status >= 400:
		l.wantError(t, c, got)
		return false
	case stream && c.Broken && l.brokenOff(t, got): // its prompt and the received part are charged
	case stream && c.Broken && c.Begun:
		t.Errorf("a broken stream ended without an error event: %s", got.Body)
	default:
		l.wantComplete(t, c, got, stream)
	}
	return true
}

func (l *leg) checkFallback(t *testing.T, c *apptest.Cell, a *apptest.Account, got *apptest.Answer, stream bool) {
	t.Helper()
	if got.Status != http.StatusOK {
		t.Fatalf("status %d although the next model works: %s", got.Status, got.Body)
	}
	served := l.served(t, got, stream)
	switch {
	case served == l.slug(c) && stream && c.Broken && l.brokenOff(t, got):
		return // content was sent, so a fallback is not possible
	case stream && c.Begun, c.Fine && served != l.slug(c), served == l.slug(c) && !c.MayServe(stream):
		t.Fatalf("served by %s: %s", served, got.Body)
	}
	l.wantComplete(t, c, got, stream)
	a.WantAttempts(t, got, map[bool]int{true: 1, false: 2}[served == l.slug(c)])
}

// served returns the model that an answer names.
func (l *leg) served(t *testing.T, got *apptest.Answer, stream bool) string {
	t.Helper()
	switch {
	case l.style.Name() != "gemini":
		return got.Model(t, stream)
	case stream:
		first, _, _ := bytes.Cut(got.Body, []byte("\n\n"))
		return apptest.GeminiStyle{}.Chunks(t, first)[0].ModelVersion
	}
	return apptest.Decode[apptest.GeminiReply](t, got.Body).ModelVersion
}

func (l *leg) wantError(t *testing.T, c *apptest.Cell, got *apptest.Answer) {
	t.Helper()
	if l.style.Name() == "chat" {
		c.WantError(t, got)
		return
	}
	if kind, message := l.style.Failure(got.Body); kind == "" || message == "" {
		t.Errorf("not the error envelope: %s", got.Body)
	}
	if got.Status == 429 || got.Status == 503 || got.Status == 529 {
		got.WantRetryAfter(t)
	}
	if wait := got.Header.Get("Retry-After"); c.Retry != "" && wait != c.Retry {
		t.Errorf("Retry-After %q, want %q", wait, c.Retry)
	}
	for _, secret := range []string{"127.0.0.1", "http://", "goroutine", ".go:", "sk-sim-canary"} {
		if strings.Contains(string(got.Body), secret) {
			t.Errorf("the error shows %q: %s", secret, got.Body)
		}
	}
}

// brokenOff reports whether a stream ends with an error event.
func (l *leg) brokenOff(t *testing.T, got *apptest.Answer) bool {
	t.Helper()
	if l.style.Name() == "chat" {
		frames := got.Frames(t)
		_, is := frames[len(frames)-1]["error"].(map[string]any)
		return is
	}
	if l.style.Name() == "gemini" {
		kind, message := apptest.GeminiStyle{}.Failure(got.Body[bytes.LastIndex(bytes.TrimRight(got.Body, "\n"), []byte("\n"))+1:])
		return kind != "" && message != "" && bytes.Contains(got.Body, []byte(`data: {"error":{`))
	}
	events := messagesStyle{}.events(t, got.Body)
	last := events[len(events)-1]
	failure, is := last["error"].(map[string]any)
	return last["type"] == "error" && is && failure["type"] != "" && failure["message"] != ""
}

// wantComplete checks that an answer is complete.
func (l *leg) wantComplete(t *testing.T, c *apptest.Cell, got *apptest.Answer, stream bool) {
	t.Helper()
	read := l.style.Whole
	if stream {
		read = l.style.Stream
	}
	if l.style.Name() == "messages" && l.dialect == "anthropic" && strings.HasPrefix(c.Fault, "u30") {
		return // bad usage is passed on as the provider sent it, and not used for charging
	}
	if s := read(t, got.Body); s.Text == "" || s.Finish != "stop" {
		t.Errorf("not a complete answer: %s", got.Body)
	}
}
