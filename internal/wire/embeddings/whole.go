package embeddings

import (
	"io"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Whole collects vectors and writes them as one JSON document, in one Write, when all are there. It is a relay.Sink. Vectors that arrived in
// the client's form are copied as text.
type Whole struct {
	w       io.Writer
	id      string
	base64  bool
	buffers completion.Buffers // may be nil

	served  relay.Served
	vectors []task.Vector
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes the answer to req, a request of Decode, to w, which must not keep it. id is the answer's.
func NewWhole(w io.Writer, req *completion.Request, id string) *Whole {
	t, _ := req.Task.(*task.Embedding)
	return &Whole{w: w, id: id, base64: t.Base64, buffers: req.Buffers}
}

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	x.served, x.vectors = served, nil
	return nil
}

// Event takes in vectors.
func (x *Whole) Event(ev *completion.Event) error {
	if ev.Result != nil {
		x.vectors = append(x.vectors, ev.Result.Vectors...)
	}
	return nil
}

// End writes the document.
func (x *Whole) End(receipt relay.Receipt) error {
	b := rawjson.AppendText(append(x.buffer(), `{"id":`...), x.id)
	b = append(b, `,"object":"list","data":[`...)
	for i := range x.vectors {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"object":"embedding","index":`...)
		b = strconv.AppendInt(b, int64(x.vectors[i].Index), 10)
		b = append(b, `,"embedding":`...)
		if x.base64 {
			b = x.vectors[i].Numbers.AppendBase64(b)
		} else {
			b = x.vectors[i].Numbers.AppendNumbers(b)
		}
		b = append(b, '}')
	}
	b = rawjson.AppendText(append(b, `],"model":`...), x.served.Model)
	b = append(b, `,"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, receipt.Usage.Prompt.N, 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, receipt.Usage.Prompt.N+receipt.Usage.Completion.N, 10)
	b = append(wire.AppendCost(append(b, ','), &receipt), '}')
	b = append(wire.AppendNotice(b, x.served.Head.Notice), '}')
	_, err := x.w.Write(b)
	return err
}

// buffer has room for the document.
func (x *Whole) buffer() []byte {
	n := 512 + len(x.served.Head.Notice)
	for i := range x.vectors {
		n += 64 + x.vectors[i].Numbers.Room(x.base64)
	}
	if x.buffers == nil {
		return make([]byte, 0, n)
	}
	return x.buffers.Lend(n)
}
