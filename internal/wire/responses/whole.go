package responses

import (
	"io"
	"slices"

	"weir/internal/completion"
	"weir/internal/relay"
)

// Whole collects an answer and writes it as one JSON document, in one Write, when it has ended. It is a relay.Sink.
type Whole struct {
	w      io.Writer
	o      Options
	c      composer
	native []byte
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes to w.
func NewWhole(w io.Writer, o Options) *Whole { return &Whole{w: w, o: o} }

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	x.c, x.native = newComposer(&x.o, served), nil
	return nil
}

// Event adds one event.
func (x *Whole) Event(ev *completion.Event) error {
	switch {
	case len(ev.Frames) > 0:
		x.native = slices.Clone(ev.Frames[len(ev.Frames)-1].Data)
	case ev.Choice <= 0:
		x.c.event(ev)
	}
	return nil
}

// End writes the document.
func (x *Whole) End(receipt relay.Receipt) error {
	var e *ending
	if x.native != nil {
		e = x.c.native(x.native)
	} else {
		e = x.c.end()
	}
	_, err := x.w.Write(x.c.settle(e, &receipt))
	return err
}
