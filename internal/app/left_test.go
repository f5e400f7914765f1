package app_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// What a provider does not get is named in the answer, whole and streamed, in each style on each dialect. A client that requires all of
// its parameters is refused, by name: no provider is called, and nothing is charged.
func TestWhatIsLeftOutIsNamed(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	members := map[string]any{"odd_member": 1, "top_a": 0.5}
	for _, s := range styles {
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			named := 0
			for i := range apptest.Dialects {
				d := &apptest.Dialects[i]
				for name, value := range members {
					for _, stream := range []bool{false, true} {
						p := &place{Conformer: c, Account: a, style: s, dialect: d, stream: stream, word: fmt.Sprintf("L%dX", c.Cells.Add(1))}
						if p.checkMember(t, name, value) {
							named++
						}
					}
				}
			}
			if least := 2 * 2 * (len(apptest.Dialects) - 1) * 3 / 4; named < least { // on its own wire a request is passed on
				t.Errorf("%d members were named, at least %d are", named, least)
			}
			a.WantNothingHeld(t)
		})
	}
}

// checkMember sends a request with a member that few wires have, and reports whether the answer named it. Otherwise the provider got it.
func (p *place) checkMember(t *testing.T, name string, value any) (named bool) {
	t.Helper()
	where := fmt.Sprintf("%s to %s, streamed %v, %s", p.style.Name(), p.dialect.Name, p.stream, name)
	q := &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("Say it.")}, MaxTokens: 500, More: map[string]any{name: value}}
	got := p.Account.Ask(t, p.style, q, p.stream)
	sent := p.received()
	if len(sent) == 1 && strings.Contains(string(sent[0].Body), `"`+name+`"`) {
		return false // strict simulated wires refuse it
	}
	if got.Status != 200 || len(sent) != 1 || !names(noticeOf(t, p, got), name) {
		t.Errorf("%s: left out in silence: %d %.300s", where, got.Status, got.Body)
	}
	p.before, p.word = apptest.Parse(t, p.Credits(t).TotalUsage), p.word+"R"
	q.Turns = []apptest.Turn{p.user("Say it.")}
	q.More = maps.Clone(q.More)
	q.More["provider"] = map[string]any{"require_parameters": true}
	got = p.Account.Ask(t, p.style, q, p.stream)
	if _, message := p.style.Failure(got.Body); got.Status/100 != 4 || !names(message, name) {
		t.Errorf("%s is required: %d %.300s", where, got.Status, got.Body)
	}
	if n, spent := len(p.received()), p.spent(t); n != 0 || spent != 0 {
		t.Errorf("%s is required: %d upstream requests, %s was charged", where, n, spent)
	}
	return true
}

// names reports whether a text has a name, in either of the spellings that Gemini's wire takes.
func names(text, name string) bool {
	return strings.Contains(text, name) || strings.Contains(text, camelOf(name))
}

func noticeOf(t *testing.T, p *place, got *apptest.Answer) string {
	t.Helper()
	if p.stream {
		return p.style.Stream(t, got.Body).Notice
	}
	return p.style.Whole(t, got.Body).Notice
}
