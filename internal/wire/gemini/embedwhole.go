package gemini

import (
	"io"
	"strconv"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// EmbedWhole collects vectors and writes them as one JSON document, in one Write, when all are there. It is a relay.Sink.
type EmbedWhole struct {
	w       io.Writer
	batch   bool
	buffers completion.Buffers // may be nil

	served  relay.Served
	vectors []task.Vector
}

var _ relay.Sink = (*EmbedWhole)(nil)

// NewEmbedWhole writes the answer to req, a request of DecodeEmbed, to w, which must not keep it.
func NewEmbedWhole(w io.Writer, req *completion.Request, batch bool) *EmbedWhole {
	return &EmbedWhole{w: w, batch: batch, buffers: req.Buffers}
}

// Start begins an answer; data of an earlier attempt is dropped.
func (x *EmbedWhole) Start(served relay.Served) error {
	x.served, x.vectors = served, nil
	return nil
}

// Event takes in vectors.
func (x *EmbedWhole) Event(ev *completion.Event) error {
	if ev.Result != nil {
		x.vectors = append(x.vectors, ev.Result.Vectors...)
	}
	return nil
}

// End writes the document.
func (x *EmbedWhole) End(receipt relay.Receipt) error {
	b := append(x.buffer(), `{"embedding":`...)
	if x.batch {
		b = append(b[:0], `{"embeddings":[`...)
	}
	for i := range x.vectors {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"values":`...)
		b = append(x.vectors[i].Numbers.AppendNumbers(b), '}')
	}
	if x.batch {
		b = append(b, ']')
	}
	b = append(b, `,"usageMetadata":{"promptTokenCount":`...)
	b = strconv.AppendInt(b, receipt.Usage.Prompt.N, 10)
	b = append(b, `,"totalTokenCount":`...)
	b = strconv.AppendInt(b, receipt.Usage.Prompt.N+receipt.Usage.Completion.N, 10)
	b = append(wire.AppendCost(append(b, ','), &receipt), '}')
	b = append(wire.AppendNotice(b, x.served.Head.Notice), '}')
	_, err := x.w.Write(b)
	return err
}

// buffer has room for the document.
func (x *EmbedWhole) buffer() []byte {
	n := 512 + len(x.served.Head.Notice)
	for i := range x.vectors {
		n += 64 + x.vectors[i].Numbers.Room(false)
	}
	if x.buffers == nil {
		return make([]byte, 0, n)
	}
	return x.buffers.Lend(n)
}
