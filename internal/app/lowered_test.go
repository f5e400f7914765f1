package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// capSent finds the bound of an answer in the body that a provider got, by any of its names.
var capSent = regexp.MustCompile(`"(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens)"\s*:\s*(\d+)`)

// A client that asks for a longer answer than the model gives is served with the longest that there is, and the answer says so: many clients send
// a number of their own, whatever the model (anomalyco/opencode#1735, #1000, #34099; diffbot/code-gpt-docs#284). One that must have all of it says
// so with require_parameters, and is refused where its style routes by the bound.
func TestLongAnswersAreLowered(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t) // whose models give 4000
	for _, s := range styles {
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			a := c.NewAccount(t)
			for i := range apptest.Dialects {
				for _, stream := range []bool{false, true} {
					p := &place{Conformer: c, Account: a, style: s, dialect: &apptest.Dialects[i], stream: stream, word: fmt.Sprintf("C%dX", c.Cells.Add(1))}
					p.checkLowered(t)
				}
			}
			a.WantNothingHeld(t)
		})
	}
}

func (p *place) checkLowered(t *testing.T) {
	t.Helper()
	where := fmt.Sprintf("%s to %s, streamed %v", p.style.Name(), p.dialect.Name, p.stream)
	q := &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("Say it.")}, MaxTokens: 1_000_000}
	got := p.Account.Ask(t, p.style, q, p.stream)
	sent := p.received()
	if got.Status != 200 || len(sent) != 1 {
		t.Errorf("%s: %d %.300s, %d upstream requests", where, got.Status, got.Body, len(sent))
		return
	}
	if found := capSent.FindAllSubmatch(sent[0].Body, -1); len(found) != 1 || string(found[0][1]) != "4000" {
		t.Errorf("%s: the provider got %s", where, sent[0].Body)
	}
	messages := p.style.Name() == "messages" // has no member for a notice
	if notice := noticeOf(t, p, got); !messages && !strings.Contains(notice, "was lowered from 1000000 to 4000") {
		t.Errorf("%s: lowered in silence: %q", where, notice)
	}
	p.before, p.word = apptest.Parse(t, p.Credits(t).TotalUsage), p.word+"R"
	q = &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("Say it.")}, MaxTokens: 4000}
	if notice := noticeOf(t, p, p.Account.Ask(t, p.style, q, p.stream)); strings.Contains(notice, "lowered") {
		t.Errorf("%s: %q of what the model gives", where, notice)
	}
	if messages {
		return
	}
	p.before, p.word = apptest.Parse(t, p.Credits(t).TotalUsage), p.word+"R"
	q = &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("Say it.")}, MaxTokens: 1_000_000, More: map[string]any{"provider": map[string]any{"require_parameters": true}}}
	got = p.Account.Ask(t, p.style, q, p.stream)
	if _, message := p.style.Failure(got.Body); got.Status != 400 || !strings.Contains(message, "must be at most 4000") {
		t.Errorf("%s is required: %d %.300s", where, got.Status, got.Body)
	}
	if n, spent := len(p.received()), p.spent(t); n != 0 || spent != 0 {
		t.Errorf("%s is required: %d upstream requests, %s was charged", where, n, spent)
	}
}
