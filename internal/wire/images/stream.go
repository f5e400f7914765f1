package images

import (
	"io"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Stream writes images as server-sent events. A finished image is held until the next one or the end, because the last one has the usage,
// and the charge must be stored before the client has the image. It is a relay.Sink.
type Stream struct {
	wire.Stream
	o      Options
	prefix string            // of the events' names
	held   []*task.MadeImage // finished, and not yet given
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes to w, which flushes after each Write.
func NewStream(w io.Writer, o Options) *Stream {
	s := &Stream{Stream: wire.NewNamedStream(w), o: o, prefix: "image_generation."}
	if o.Task != nil && o.Task.Edit {
		s.prefix = "image_edit."
	}
	return s
}

// Event writes an event.
func (s *Stream) Event(ev *completion.Event) error {
	return s.Do(func() {
		if len(ev.Reasoning) > 0 {
			s.text("reasoning", ev.Reasoning)
		}
		if len(ev.Text) > 0 {
			s.text("content", ev.Text)
		}
		switch {
		case ev.Result == nil || ev.Result.Image == nil:
		case ev.Result.Image.Partial:
			s.preview(ev.Result.Image)
		default:
			s.held = append(s.held, ev.Result.Image) // sent after the charge was stored
		}
	})
}

// begin begins an event, after its type.
func (s *Stream) begin(name string, room int) []byte {
	b := append(make([]byte, 0, room+512), "event: "...)
	b = append(append(b, s.prefix...), name...)
	b = append(b, "\ndata: {\"type\":\""...)
	b = append(append(b, s.prefix...), name...)
	return append(b, `",`...)
}

func (s *Stream) preview(p *task.MadeImage) {
	b := appendBase64(s.begin("partial_image", len(p.Data)*4/3), p)
	b = strconv.AppendInt(append(b, `,"partial_image_index":`...), int64(p.Preview), 10)
	b = strconv.AppendInt(append(b, `,"created_at":`...), s.o.Created, 10)
	s.Send(append(appendSettings(b, p), "}\n\n"...))
}

// text writes the text that a model wrote with its images, or the prompt as the model revised it.
func (s *Stream) text(phase string, text []byte) {
	b := append(s.begin("text_chunk", len(text)), `"phase":"`...)
	b = rawjson.AppendString(append(append(b, phase...), `","text":`...), text)
	s.Send(append(b, "}\n\n"...))
}

// completed writes a finished image. The last one has the receipt.
func (s *Stream) completed(p *task.MadeImage, receipt *relay.Receipt) {
	b := appendImage(s.begin("completed", len(p.Data)*4/3), p, s.o.Task)
	b = strconv.AppendInt(append(b, `,"created":`...), s.o.Created, 10)
	b = strconv.AppendInt(append(b, `,"created_at":`...), s.o.Created, 10)
	b = appendSettings(b, p)
	if p.Revised != "" {
		b = rawjson.AppendText(append(b, `,"revised_prompt":`...), p.Revised)
	}
	if receipt != nil {
		b = appendUsage(append(b, `,"usage":`...), receipt)
		b = wire.AppendNotice(b, s.Served().Head.Notice)
	}
	s.Send(append(b, "}\n\n"...))
}

// End writes the held images, the last one with the usage, and the end.
func (s *Stream) End(receipt relay.Receipt) error {
	return s.Do(func() {
		for i, p := range s.held {
			if i < len(s.held)-1 {
				s.completed(p, nil)
			} else {
				s.completed(p, &receipt)
			}
		}
		s.Finish()
	})
}
