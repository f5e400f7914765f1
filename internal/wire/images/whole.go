package images

import (
	"encoding/base64"
	"io"
	"slices"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Whole collects images and writes them as one JSON document, in one Write, when all are there. It is a relay.Sink.
type Whole struct {
	w io.Writer
	o Options

	served relay.Served
	images []*task.MadeImage
	text   []byte // that the model wrote beside them
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes to w.
func NewWhole(w io.Writer, o Options) *Whole { return &Whole{w: w, o: o} }

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	x.served, x.images, x.text = served, x.images[:0], x.text[:0]
	return nil
}

// Event keeps a finished image, and text.
func (x *Whole) Event(ev *completion.Event) error {
	x.text = append(x.text, ev.Text...)
	if ev.Result != nil && ev.Result.Image != nil && !ev.Result.Image.Partial {
		x.images = append(x.images, ev.Result.Image)
	}
	return nil
}

// End writes the document.
func (x *Whole) End(receipt relay.Receipt) error {
	slices.SortStableFunc(x.images, func(a, b *task.MadeImage) int { return a.Index - b.Index })
	room := 1024 + len(x.text)
	for _, p := range x.images {
		room += base64.StdEncoding.EncodedLen(len(p.Data)) + len(p.Revised) + 128
	}
	b := strconv.AppendInt(append(make([]byte, 0, room), `{"created":`...), x.o.Created, 10)
	b = append(b, `,"data":[`...)
	for i, p := range x.images {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendImage(append(b, '{'), p, x.o.Task)
		if p.Revised != "" {
			b = rawjson.AppendText(append(b, `,"revised_prompt":`...), p.Revised)
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	if len(x.images) > 0 {
		b = appendSettings(b, x.images[0])
	}
	if len(x.text) > 0 {
		b = rawjson.AppendString(append(b, `,"text":`...), x.text)
	}
	b = appendUsage(append(b, `,"usage":`...), &receipt)
	b = append(wire.AppendNotice(b, x.served.Head.Notice), '}')
	_, err := x.w.Write(b)
	return err
}
