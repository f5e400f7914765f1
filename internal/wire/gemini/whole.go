package gemini

import (
	"io"
	"slices"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/wire"
)

// Whole collects an answer and writes it as one JSON document, in one Write, when it has ended. It is a relay.Sink.
type Whole struct {
	w      io.Writer
	o      Options
	served relay.Served
	body   []byte // the upstream's own answer, where it passes through
	all    []*collected
}

// collected is a candidate.
type collected struct {
	composer
	out  []byte // finished parts
	text output // open text
	open bool
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes to w.
func NewWhole(w io.Writer, o Options) *Whole { return &Whole{w: w, o: o} }

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	*x = Whole{w: x.w, o: x.o, served: served}
	return nil
}

// Event takes in one event.
func (x *Whole) Event(ev *completion.Event) error {
	if len(ev.Frames) > 0 {
		x.body = slices.Clone(ev.Frames[len(ev.Frames)-1].Data)
		return nil
	}
	if x.body == nil && ev.Choice >= 0 && ev.Choice < x.o.N {
		x.candidate(ev.Choice).event(ev)
	}
	return nil
}

func (x *Whole) candidate(index int) *collected {
	for len(x.all) <= index {
		c := &collected{}
		c.composer = newComposer(&x.o, c.put)
		x.all = append(x.all, c)
	}
	return x.all[index]
}

// put takes in a part: pieces of one text are joined.
func (c *collected) put(p *output) {
	if p.textual() && c.open && c.text.thought == p.thought && (c.text.signature == "" || p.signature == "") {
		c.text.text = append(c.text.text, p.text...)
		c.text.signature += p.signature
		return
	}
	c.end()
	if p.textual() {
		c.open = true
		c.text = output{text: append(c.text.text[:0], p.text...), thought: p.thought, signature: p.signature}
		return
	}
	c.add(p)
}

func (c *collected) end() {
	if c.open {
		c.open = false
		c.add(&c.text)
	}
}

func (c *collected) add(p *output) {
	if len(c.out) > 0 {
		c.out = append(c.out, ',')
	}
	c.out = p.append(c.out)
}

// End writes the document.
func (x *Whole) End(receipt relay.Receipt) error {
	if x.body != nil {
		_, err := x.w.Write(appendPassed(make([]byte, 0, len(x.body)+512), x.body, &x.served, &receipt))
		return err
	}
	n := 1024
	for _, c := range x.all {
		c.composer.rest()
		c.end()
		n += len(c.out)
	}
	b := append(make([]byte, 0, n), `{"candidates":[`...)
	for i, c := range x.all {
		if i > 0 {
			b = append(b, ',')
		}
		if len(c.out) == 0 {
			c.add(&output{})
		}
		b = append(append(append(b, `{"content":{"parts":[`...), c.out...), `],"role":"model"}`...)
		b = append(c.appendEnd(b, i), '}')
	}
	b = appendUsage(append(b, ']'), &receipt)
	b = wire.AppendNotice(appendNames(b, &x.o, &x.served), x.served.Head.Notice)
	_, err := x.w.Write(append(b, '}'))
	return err
}
