package plugin

import (
	"context"
	"errors"
	"iter"
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/plugin/heal"
	"weir/internal/plugin/schema"
	"weir/internal/rawjson"
)

// answer changes the events of one answer.
type answer struct {
	notices     []string
	tool        bool                    // the arguments of the one tool are the answer
	mend        bool                    // malformed JSON is mended
	check       func(text []byte) error // reports how an answer fails its schema; nil: there is nothing to check
	annotations []byte                  // JSON list with the texts of files, nil: none
	head        completion.Head
	headed      bool
	choices     map[int]*choice
}

// choice is the state of one choice.
type choice struct {
	called  bool
	beside  []byte // text next to a call
	text    []byte // of a whole answer, until it is complete
	refused bool
}

func (a *answer) idle() bool {
	return len(a.notices) == 0 && !a.tool && !a.mend && a.check == nil && a.annotations == nil
}

func (a *answer) note(sentence string) { a.notices = append(a.notices, sentence) }

const unchecked = "The answer was not checked against the schema."

// against has the answer checked against a schema. One that is not understood here, or is too large to be, is the provider's business: the
// answer says that it was not checked.
func (a *answer) against(ctx context.Context, raw []byte) {
	s, err := schema.Compile(ctx, raw)
	if err != nil {
		a.note(unchecked)
		return
	}
	a.check = func(text []byte) error {
		err := s.Check(ctx, text)
		if err != nil && ctx.Err() != nil {
			return schema.ErrTooLarge // it says nothing any more
		}
		return err
	}
}

// reshape is a relay.Reshape. An attempt may be repeated: each answer starts again.
func (a *answer) reshape(events iter.Seq2[*completion.Event, error]) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		fresh := *a
		fresh.choices = map[int]*choice{}
		for ev, err := range events {
			if err == nil {
				ev, err = fresh.event(ev)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// event is an event as the client gets it. The upstream's own is not changed: its decoder uses it again.
func (a *answer) event(in *completion.Event) (*completion.Event, error) {
	ev := *in
	if ev.Head != nil {
		a.head, a.headed = *ev.Head, true
		for _, n := range a.notices {
			a.addNotice(n)
		}
		head := a.head
		ev.Head = &head
	}
	if ev.Choice < 0 {
		return &ev, nil
	}
	c := a.choices[ev.Choice]
	if c == nil {
		c = &choice{}
		a.choices[ev.Choice] = c
	}
	c.refused = c.refused || len(ev.Refusal) > 0
	if a.tool {
		c.unwrap(&ev)
	} else {
		c.called = c.called || len(ev.ToolCalls) > 0
	}
	if a.mend || a.check != nil {
		if err := a.judge(c, &ev); err != nil {
			return nil, err
		}
	}
	if a.annotations != nil && ev.Choice == 0 && ev.HasContent() {
		ev.Annotations, a.annotations = merged(a.annotations, ev.Annotations), nil
	}
	return &ev, nil
}

func (a *answer) addNotice(sentence string) {
	if strings.Contains(a.head.Notice, sentence) {
		return
	}
	if a.head.Notice != "" {
		a.head.Notice += " "
	}
	a.head.Notice += sentence
}

// unwrap makes text of the arguments of the tool that replaces a schema. Text next to the call is no part of the answer;
// where there is no call it is the answer.
func (c *choice) unwrap(ev *completion.Event) {
	calls := ev.ToolCalls
	ev.ToolCalls = nil
	if len(calls) == 0 && !c.called {
		c.beside = append(c.beside, ev.Text...)
	}
	ev.Text = nil
	for i := range calls {
		if c.called = true; calls[i].Index == 0 {
			ev.Text = append(ev.Text, calls[i].Arguments...)
		}
	}
	if ev.Finish == "" {
		return
	}
	if !c.called {
		ev.Text = c.beside
	}
	if ev.Finish == completion.ToolCalls {
		ev.Finish = completion.Stop
	}
	c.called = false // the rest of the gateway sees no call
}

// judge keeps the text of a whole answer back until it is complete, and then mends and checks it. An answer that was cut off, refused or
// left for a tool is not checked: its end shows that to the client.
func (a *answer) judge(c *choice, ev *completion.Event) error {
	c.text = append(c.text, ev.Text...)
	ev.Text = nil
	if ev.Finish == "" {
		return nil
	}
	text, content := c.text, ev.Frames == nil // an answer in its provider's own frames stays unchanged
	if c.called || c.refused || ev.Finish != completion.Stop && ev.Finish != completion.Length {
		ev.Text = text
		return nil
	}
	if a.mend && content && !rawjson.Valid(text) {
		if mended, ok := heal.JSON(text); ok {
			text = mended
			a.noted(ev, "The answer was invalid JSON and was repaired.")
		}
	}
	if a.check != nil && ev.Finish == completion.Stop {
		switch err := a.check(text); {
		case errors.Is(err, schema.ErrTooLarge):
			if content {
				a.noted(ev, unchecked)
			}
		case err != nil:
			return unfit(err)
		}
	}
	ev.Text = text
	return nil
}

// noted adds a notice to the answer's metadata.
func (a *answer) noted(ev *completion.Event, sentence string) {
	a.addNotice(sentence)
	head := a.head
	ev.Head = &head
}

// unfit is the fault of an answer that does not conform to its schema. It says nothing of the endpoint's health: schemas are clients'.
func unfit(why error) error {
	f := fault.Newf(fault.ProviderUnavailable, "plugin.judge", "The answer of the model does not conform to the schema: %s.", why)
	f.Next = fault.NextEndpoint
	return f
}

// merged are two JSON lists as one; either may be empty.
func merged(a, b []byte) []byte {
	out := append([]byte(nil), a...)
	for e := rawjson.ElementsOf(b); e.Next(); {
		out = append(append(out[:len(out)-1], ','), e.Value...)
		out = append(out, ']')
	}
	return out
}
