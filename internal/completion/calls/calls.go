// Package calls puts the tool calls of an answer together. Providers send them in fragments, in whatever order; each style of clients has an
// order of its own. An Assembler is between the two: it brings every call to its client once, whole, with a name, arguments and an id.
package calls

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"weir/internal/completion"
)

// Order is how a style takes the calls of an answer.
type Order uint8

// The orders. Whatever the order, calls begin in the sequence in which the provider began them.
const (
	Mixed  Order = iota // fragments of several calls may alternate, with text between them
	InTurn              // a call ends before anything else begins
	Whole               // as InTurn, and each call comes in one fragment
)

// Assembler brings the calls of one choice into the order of a style. The events that it passes on have calls without gaps in their indexes.
// The first fragment of each is marked First and has its name and an id that no other call of the choice has; in an order other than Mixed its
// last one is marked Last. A call that ended without arguments has {}. What has neither a name nor arguments is no call.
//
// Text costs nothing while no call is open.
type Assembler struct {
	Order  Order
	Answer string            // id of the answer, of which ids are made for calls that have none
	Memory completion.Memory // counts what is held back; nil: it is not counted

	FreeText map[string]bool                               // names of the client's tools that take free text: a function of such a name stands for one
	Text     func(arguments []byte) (text []byte, ok bool) // the free text in the arguments of such a function

	calls  []call
	queue  []piece // what the client does not have yet, in order
	out    []completion.ToolCall
	now    *completion.Event // what is passed on of an event
	begun  int
	choice int
	over   bool // the choice has ended
}

// call is the state of a call.
type call struct {
	upstream  int // index in the dialect's events
	index     int // the client's index
	id, name  string
	signature string
	extra     []byte
	custom    bool
	held      []byte // arguments that the client does not have
	viewed    bool   // held is a view into the event
	argued    bool   // it has arguments
	bare      bool   // its only arguments so far are {}
	begun     bool   // the client has its beginning
	last      bool   // the provider has ended it
	ended     bool   // the client has its end
	whole     bool   // its free text is complete
	json      Scanner
}

// piece is a call, or content that has to wait for the end of calls before it.
type piece struct {
	call    int
	content *completion.Event // nil: a call
}

// Begun is how many calls the client has got.
func (a *Assembler) Begun() int { return a.begun }

// Event takes in an event of a dialect, and passes on what the client may get now. What put gets is valid during the call.
func (a *Assembler) Event(ev *completion.Event, put func(*completion.Event)) {
	if len(ev.ToolCalls) == 0 && len(a.queue) == 0 && (ev.Finish == "" || len(a.calls) == 0) || a.inside(ev) {
		put(ev)
		return
	}
	a.event(ev, put)
}

// inside reports whether an event has a further piece of the last call's arguments and nothing else that is new: most events of calls are such.
func (a *Assembler) inside(ev *completion.Event) bool {
	if a.Order != Mixed || len(ev.ToolCalls) != 1 || len(a.calls) == 0 || len(a.queue) > 0 || ev.Finish != "" {
		return false
	}
	t, c := &ev.ToolCalls[0], &a.calls[len(a.calls)-1]
	return c.upstream == t.Index && c.index == t.Index && c.begun && c.argued && !c.ended && !c.custom && !t.Last && t.Name == "" && len(t.Arguments) > 0
}

// End passes on what waits at the end of an answer whose choice had no finish reason.
func (a *Assembler) End(put func(*completion.Event)) {
	if len(a.calls) == 0 || a.over {
		return
	}
	a.over = true
	a.pump(true, false, put)
	a.rest()
	a.flush(put)
}

func (a *Assembler) event(ev *completion.Event, put func(*completion.Event)) {
	if a.now == nil {
		a.now = new(completion.Event)
	}
	now := a.now
	*now = *ev
	now.ToolCalls, a.choice = nil, ev.Choice
	if a.Order != Mixed && len(a.queue) > 0 && contentOf(ev) {
		if a.pump(false, true, put); len(a.queue) == 0 {
			a.flush(put)
		} else {
			a.hold(ev)
			now.Text, now.Reasoning, now.Refusal, now.ReasoningDetails, now.Images, now.ImageCount, now.Audio, now.Annotations, now.Logprobs = nil, nil, nil, nil, nil, 0, nil, nil, nil
		}
	}
	if !a.over {
		for i := range ev.ToolCalls {
			a.fragment(&ev.ToolCalls[i])
		}
	}
	a.over = a.over || ev.Finish != ""
	a.pump(a.over, false, put)
	if a.over {
		a.rest()
	}
	a.own()
	now.ToolCalls = a.out
	put(now)
	*now = completion.Event{}
	clear(a.out)
	a.out = a.out[:0]
}

// contentOf reports whether an event has content besides calls.
func contentOf(ev *completion.Event) bool {
	return len(ev.Text) > 0 || len(ev.Reasoning) > 0 || len(ev.Refusal) > 0 || len(ev.ReasoningDetails) > 0 || len(ev.Images) > 0 ||
		len(ev.Audio) > 0 || len(ev.Annotations) > 0 || len(ev.Logprobs) > 0
}

// fragment takes in a fragment. Where the client has the call's beginning and not its end, it gets the fragment at once.
func (a *Assembler) fragment(t *completion.ToolCall) {
	at := len(a.calls) - 1
	for at >= 0 && a.calls[at].upstream != t.Index {
		at--
	}
	if at < 0 {
		at = len(a.calls)
		a.calls = append(a.calls, call{upstream: t.Index, custom: t.Custom})
		a.queue = append(a.queue, piece{call: at})
	}
	c := &a.calls[at]
	if c.ended {
		return
	}
	c.last = c.last || t.Last
	args := c.more(t.Arguments, a.Order != Mixed || a.FreeText != nil)
	if c.begun {
		if len(args) > 0 || len(t.Extra) > 0 || t.Name != "" && a.Order == Mixed {
			a.out = append(a.out, completion.ToolCall{Index: c.index, Name: t.Name, Custom: c.custom, Arguments: args, Extra: t.Extra})
		}
		if c.last && a.Order == Mixed {
			a.end(c)
		}
		return
	}
	if c.id == "" {
		c.id = t.ID
	}
	if c.signature == "" {
		c.signature = t.Signature
	}
	if c.extra == nil && len(t.Extra) > 0 {
		c.extra = slices.Clone(t.Extra)
	}
	c.name += t.Name
	switch {
	case len(args) == 0:
	case len(c.held) == 0:
		c.held, c.viewed = args, true
	default:
		c.keep()
		c.held = append(c.held, args...)
		a.count(len(args))
	}
}

// more returns what a piece of arguments adds to a call. {} and null stand for no arguments: such a piece is added where the call ends without others.
// Some servers begin every call with it.
func (c *call) more(args []byte, scan bool) []byte {
	if c.argued || c.custom {
		if c.argued = c.argued || len(args) > 0; scan && !c.custom {
			c.json.Feed(args)
		}
		return args
	}
	said := bytes.TrimSpace(args)
	switch {
	case len(said) == 0:
		return nil
	case string(said) == "{}" || string(said) == "null":
		c.bare = true
		return nil
	case c.bare && said[0] != '{': // no other object: the rest of what the model wrote
		args = append([]byte("{}"), args...)
	}
	c.argued, c.bare = true, false
	if scan {
		c.json.Feed(args)
	}
	return args
}

// complete reports whether the arguments are an object that has ended, so that something else may begin.
func (c *call) complete() bool { return c.whole || !c.custom && (c.bare || c.json.Complete()) }

// keep makes a copy of arguments that are a view.
func (c *call) keep() {
	if c.viewed {
		c.held, c.viewed = slices.Clone(c.held), false
	}
}

// own keeps the arguments that are held beyond this event.
func (a *Assembler) own() {
	for i := range a.queue {
		if a.queue[i].content == nil {
			if c := &a.calls[a.queue[i].call]; c.viewed {
				c.keep()
				a.count(len(c.held))
			}
		}
	}
}

func (a *Assembler) count(n int) {
	if a.Memory != nil {
		a.Memory.Force(int64(n))
	}
}

// pump passes on the pieces that wait, as far as their order allows. more says that content has come that must wait for them.
func (a *Assembler) pump(over, more bool, put func(*completion.Event)) {
	done := 0
	for done < len(a.queue) && a.piece(&a.queue[done], over, more || done+1 < len(a.queue), put) {
		done++
	}
	if done > 0 {
		n := copy(a.queue, a.queue[done:])
		clear(a.queue[n:])
		a.queue = a.queue[:n]
	}
}

// piece passes on the first of the pieces that wait, and reports whether the next may follow. behind says that there is one.
func (a *Assembler) piece(p *piece, over, behind bool, put func(*completion.Event)) bool {
	if p.content != nil {
		a.flush(put)
		put(p.content)
		return true
	}
	c := &a.calls[p.call]
	over = over || c.last
	if !c.begun {
		if over && c.name == "" && !c.argued {
			c.ended = true
			return true
		}
		if !over && !a.ready(c, behind) {
			return false
		}
		a.begin(c)
	}
	if a.Order == Mixed {
		if over {
			a.end(c)
		}
		return true
	}
	if !over && !(behind && c.complete()) {
		return false
	}
	a.end(c)
	return true
}

// ready reports whether a call can begin that may not be complete. Names come in pieces: where one cannot be added to later, arguments show that
// it is whole.
func (a *Assembler) ready(c *call, behind bool) bool {
	if a.freeText(c) {
		return behind && c.complete()
	}
	switch a.Order {
	case Mixed:
		return c.name != ""
	case InTurn:
		return c.name != "" && (len(c.held) > 0 || behind && c.bare)
	}
	return c.name != "" && behind && c.complete()
}

func (a *Assembler) begin(c *call) {
	c.begun, c.index = true, a.begun
	a.begun++
	c.id = a.unique(c)
	if a.freeText(c) {
		c.custom, c.whole = true, true
		if text, ok := a.Text(c.held); ok {
			c.held = text
		}
	}
	a.out = append(a.out, completion.ToolCall{Index: c.index, ID: c.id, Name: c.name, Signature: c.signature, Custom: c.custom, Extra: c.extra, Arguments: c.held, First: true})
	c.held, c.viewed, c.extra = nil, false, nil
}

// freeText reports whether a call of a function stands for a tool that takes free text.
func (a *Assembler) freeText(c *call) bool { return !c.custom && a.FreeText[c.name] }

// unique is the id of a call, or another one where an earlier call has that id: no call of any answer has it. It is short, because some providers
// accept no long ids.
func (a *Assembler) unique(c *call) string {
	id := c.id
	for n := c.index + a.choice*completion.MaxCalls; id == "" || a.taken(c, id); n += 256 * completion.MaxCalls {
		id = "call_" + a.Answer[strings.LastIndexAny(a.Answer, "-_")+1:] + "_" + strconv.Itoa(n)
	}
	return id
}

func (a *Assembler) taken(c *call, id string) bool {
	for i := range a.calls {
		if other := &a.calls[i]; other != c && other.begun && other.id == id {
			return true
		}
	}
	return false
}

// end ends a call that has begun.
func (a *Assembler) end(c *call) {
	c.ended = true
	var args []byte
	if !c.argued && !c.custom {
		args = []byte("{}")
	}
	if n := len(a.out); n > 0 && a.out[n-1].Index == c.index {
		t := &a.out[n-1]
		if t.Last = true; args != nil {
			t.Arguments = args
		}
		return
	}
	if args != nil || a.Order != Mixed {
		a.out = append(a.out, completion.ToolCall{Index: c.index, Custom: c.custom, Arguments: args, Last: true})
	}
}

// rest ends the calls of a choice that has ended.
func (a *Assembler) rest() {
	for i := range a.calls {
		if c := &a.calls[i]; c.begun && !c.ended {
			a.end(c)
		}
	}
}

// flush passes on the fragments that were collected.
func (a *Assembler) flush(put func(*completion.Event)) {
	if len(a.out) > 0 {
		put(&completion.Event{Choice: a.choice, ToolCalls: a.out})
		clear(a.out)
		a.out = a.out[:0]
	}
}

// hold keeps the content of an event. Pieces of one text are joined.
func (a *Assembler) hold(ev *completion.Event) {
	a.count(len(ev.Text) + len(ev.Reasoning) + len(ev.Refusal) + len(ev.ReasoningDetails) + len(ev.Images) + len(ev.Audio) + len(ev.Annotations) + len(ev.Logprobs))
	if last := a.queue[len(a.queue)-1].content; last != nil && plain(last) && plain(ev) {
		last.Text = append(last.Text, ev.Text...)
		return
	}
	a.queue = append(a.queue, piece{content: &completion.Event{
		Choice: ev.Choice, Text: slices.Clone(ev.Text), Reasoning: slices.Clone(ev.Reasoning), Refusal: slices.Clone(ev.Refusal),
		ReasoningDetails: slices.Clone(ev.ReasoningDetails), Images: slices.Clone(ev.Images), ImageCount: ev.ImageCount,
		Audio: slices.Clone(ev.Audio), Annotations: slices.Clone(ev.Annotations), Logprobs: slices.Clone(ev.Logprobs),
	}})
}

// plain reports whether an event has text and no other content.
func plain(ev *completion.Event) bool {
	return len(ev.Text) > 0 && len(ev.Reasoning)+len(ev.Refusal)+len(ev.ReasoningDetails)+len(ev.Images)+len(ev.Audio)+len(ev.Annotations)+len(ev.Logprobs) == 0
}

// Scanner follows JSON text in fragments far enough to see where its outermost object or list ends.
type Scanner struct {
	depth   int
	opened  bool
	quoted  bool
	escaped bool
}

// Feed adds a fragment.
func (s *Scanner) Feed(b []byte) {
	for _, c := range b {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted && c == '\\':
			s.escaped = true
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case c == '{' || c == '[':
			s.opened = true
			s.depth++
		case c == '}' || c == ']':
			s.depth--
		}
	}
}

// Complete reports whether the text has an object or a list that has ended.
func (s *Scanner) Complete() bool { return s.opened && s.depth <= 0 }
