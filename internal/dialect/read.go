package dialect

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/wire/sse"
)

// Decoder turns one answer of a wire into events. Read drives it, and checks the JSON that it passes on. Its errors become faults of the
// endpoint.
type Decoder interface {
	// Whole decodes an answer that is one JSON object.
	Whole(body []byte) error
	// Frame decodes one JSON object of a stream. event is the name that its frame has, "" without one.
	Frame(event, data []byte) (Progress, error)
	// Complete reports whether a stream may end here without an end mark: the whole answer has arrived.
	Complete() bool
	// End yields the last event of a stream that has ended, with a mark or complete. It fails with Ended when the answer was cut off.
	End() error
}

// Progress is how far a stream has come.
type Progress uint8

// The kinds of progress. After Said only usage and an end mark may follow, which are not waited for long. After Done nothing more is
// read: the last event was yielded.
const (
	More Progress = iota
	Said
	Done
)

// Framer is a Decoder of a wire whose streams have binary frames, which begin with a zero byte, instead of server-sent events.
type Framer interface {
	Frames(a *Answer) Source
}

// Source returns the frames of a stream, and io.EOF after the last. A frame is valid until the next call.
type Source interface {
	Next() (event, data []byte, err error)
}

// Yield passes on an event, and reports whether more are requested.
type Yield func(*completion.Event, error) bool

// Send yields an event. It fails when the reader of events has stopped, or the answer has too many calls; Decoders return that error.
func (y Yield) Send(ev *completion.Event) error {
	if n := len(ev.ToolCalls); n > 0 && ev.ToolCalls[n-1].Index >= completion.MaxCalls {
		return errCalls
	}
	if !y(ev, nil) {
		return errStopped
	}
	return nil
}

var (
	errStopped  = errors.New("upstream: the reader of events has stopped")
	errCalls    = errors.New("upstream: too many tool calls")
	errNoAnswer = errors.New("upstream: neither JSON nor an event stream")
	errNotJSON  = errors.New("upstream: the answer is not JSON")
	errFrame    = errors.New("upstream: a frame is not a JSON object")

	errMark = errors.New("upstream: the end mark of a stream")
	errDone = errors.New("upstream: the last event was yielded")
)

const keepBuffer = 64 << 10 // a larger buffer is left to the collector

// reader is the state of reading one answer.
type reader struct {
	sse    sse.Reader
	body   []byte
	halves halves
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// Read decodes an answer, whole or streamed, by its form and not by the form that was requested: some servers answer a stream request
// with one JSON object and the other way round. It yields what d yields, or one error.
func Read(a *Answer, d Decoder, yield Yield) {
	if err := read(a, d); err != nil && err != errDone && !errors.Is(err, errStopped) {
		yield(nil, Broken(a.Endpoint, err))
	}
}

func read(a *Answer, d Decoder) error {
	first, err := a.Body.Peek()
	if errors.Is(err, io.EOF) {
		return Ended(a.Endpoint)
	}
	if err != nil {
		return err
	}
	r := readers.Get().(*reader)
	defer r.free()
	switch first {
	case '{':
		if r.body, err = a.ReadAll(r.body); err != nil {
			return err
		}
		if !rawjson.Valid(r.body) {
			return errNotJSON
		}
		if mayHaveHalf(r.body) {
			mendHalves(r.body)
		}
		return d.Whole(r.body)
	case 'd', 'e', 'i', 'r', ':': // data, event, id, retry, comment
		r.sse.Reset(a.Body, sse.Limits{Line: int64(a.Limits.Line), Total: a.Limits.Stream})
		return r.stream(a, d, events{&r.sse})
	case 0:
		if f, ok := d.(Framer); ok {
			return r.stream(a, d, f.Frames(a))
		}
	}
	return errNoAnswer
}

func (r *reader) free() {
	r.sse.Reset(nil, sse.Limits{})
	r.halves = halves{}
	if cap(r.body) > keepBuffer {
		r.body = nil
	}
	readers.Put(r)
}

// stream decodes a stream.
func (r *reader) stream(a *Answer, d Decoder, frames Source) error {
	for {
		event, data, err := frames.Next()
		if err != nil {
			return r.ended(a, d, err)
		}
		data = bytes.TrimSpace(data)
		switch {
		case len(data) == 0:
			continue
		case string(data) == "[DONE]":
			return r.ended(a, d, errMark)
		case !rawjson.Valid(data):
			return errFrame
		}
		if kind := rawjson.KindOf(data); kind == rawjson.String && string(event) == "error" {
			return refused(a, data)
		} else if kind != rawjson.Object {
			return errFrame
		}
		if r.halves.waiting != nil || mayHaveHalf(data) {
			err = r.halves.add(a, d, event, data)
		} else {
			err = pass(a, d, event, data)
		}
		if err != nil {
			return err
		}
	}
}

// pass decodes a frame. It fails with errDone after the last.
func pass(a *Answer, d Decoder, event, data []byte) error {
	progress, err := d.Frame(event, data)
	switch {
	case err != nil:
		return err
	case progress == Done:
		return errDone
	case progress == Said:
		a.Finished()
	}
	return nil
}

// ended ends a stream that returned err, errMark for its end mark, after the frames that wait.
func (r *reader) ended(a *Answer, d Decoder, err error) error {
	if late := r.halves.flush(a, d); late != nil {
		return late
	}
	if err == errMark {
		return d.End()
	}
	return finish(a, d, err)
}

// refused is the fault of an error that is one string.
func refused(a *Answer, text []byte) error {
	return Refusal{Status: 200, Message: rawjson.Text(text)}.Fault(a.Endpoint)
}

// finish ends a stream that returned err. Only finish decides what an end without a mark means: the answer was cut off, unless it was
// complete.
func finish(a *Answer, d Decoder, err error) error {
	var limit *sse.LimitError
	switch {
	case err == io.EOF && d.Complete():
		return d.End()
	case err == io.EOF:
		return Ended(a.Endpoint)
	case errors.As(err, &limit):
		return TooLarge(a.Endpoint, err)
	}
	return err
}

// events are the frames of an event stream.
type events struct{ r *sse.Reader }

func (e events) Next() (event, data []byte, err error) {
	frame, err := e.r.Next()
	return frame.Event, frame.Data, err
}
