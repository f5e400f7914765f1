package messages

import (
	"io"
	"slices"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
)

// Whole collects an answer and writes it as one JSON document, in one Write, when it has ended. It is a relay.Sink.
type Whole struct {
	w      io.Writer
	o      Options
	served relay.Served
	c      composer
	body   []byte // the upstream's own answer, where it passes through
	out    []byte // finished blocks
	block  block
	piece  []byte // of the open block
	signed string
	cited  []byte // citations of the open block, separated by commas
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes to w.
func NewWhole(w io.Writer, o Options) *Whole { return &Whole{w: w, o: o} }

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	*x = Whole{w: x.w, o: x.o, served: served}
	x.c = newComposer(x, &x.o)
	return nil
}

// Event takes in one event.
func (x *Whole) Event(ev *completion.Event) error {
	if len(ev.Frames) > 0 {
		x.body = slices.Clone(ev.Frames[len(ev.Frames)-1].Data)
		return nil
	}
	if ev.Choice <= 0 {
		x.c.event(ev)
	}
	return nil
}

func (x *Whole) begin(b *block) {
	x.block, x.piece, x.signed, x.cited = *b, x.piece[:0], "", x.cited[:0]
}

func (x *Whole) text(delta []byte) { x.piece = append(x.piece, delta...) }

func (x *Whole) sign(signature string) { x.signed += signature }

func (x *Whole) cite(citation []byte) {
	if len(x.cited) > 0 {
		x.cited = append(x.cited, ',')
	}
	x.cited = append(x.cited, citation...)
}

// end writes the open block.
func (x *Whole) end() {
	if len(x.out) > 0 {
		x.out = append(x.out, ',')
	}
	b := x.out
	switch x.block.kind {
	case thinkingBlock:
		b = rawjson.AppendString(append(b, `{"type":"thinking","thinking":`...), x.piece)
		b = rawjson.AppendText(append(b, `,"signature":`...), x.signed)
	case redactedBlock:
		b = rawjson.AppendText(append(b, `{"type":"redacted_thinking","data":`...), x.block.data)
	case toolBlock:
		b = rawjson.AppendText(append(b, `{"type":"tool_use","id":`...), x.block.id)
		b = rawjson.AppendText(append(b, `,"name":`...), x.block.name)
		b = append(b, `,"input":`...)
		if rawjson.Valid(x.piece) && rawjson.KindOf(x.piece) == rawjson.Object {
			b = append(b, x.piece...)
		} else { // the model wrote no valid object: the tool gets the raw text
			b = append(rawjson.AppendString(append(b, `{"input":`...), x.piece), '}')
		}
	default:
		b = rawjson.AppendString(append(b, `{"type":"text","text":`...), x.piece)
		if len(x.cited) > 0 {
			b = append(append(append(b, `,"citations":[`...), x.cited...), ']')
		}
	}
	x.out = append(b, '}')
}

// End writes the document.
func (x *Whole) End(receipt relay.Receipt) error {
	if x.body != nil {
		_, err := x.w.Write(renamed(make([]byte, 0, len(x.body)+len(x.served.Model)), x.body, &x.served))
		return err
	}
	x.c.close()
	b := appendHead(make([]byte, 0, len(x.out)+512), &x.o, &x.served)
	b = append(b, x.out...)
	b = append(append(b, `],"stop_reason":"`...), x.c.stopReason()...)
	b = append(b, `","stop_sequence":null,"usage":`...)
	_, err := x.w.Write(append(wire.AppendNotice(appendUsage(b, &receipt), x.served.Head.Notice), '}'))
	return err
}
