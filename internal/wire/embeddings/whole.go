package embeddings

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Whole collects vectors and writes them as one JSON document, in one Write, when all are there. It is a relay.Sink.
type Whole struct {
	w      io.Writer
	id     string
	base64 bool

	served  relay.Served
	vectors []task.Vector
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes the answer to req, a request of Decode, to w. id is the answer's.
func NewWhole(w io.Writer, req *completion.Request, id string) *Whole {
	t, _ := req.Task.(*task.Embedding)
	return &Whole{w: w, id: id, base64: t.Base64}
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
	b := rawjson.AppendText(append(make([]byte, 0, x.size()), `{"id":`...), x.id)
	b = append(b, `,"object":"list","data":[`...)
	for i := range x.vectors {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"object":"embedding","index":`...)
		b = strconv.AppendInt(b, int64(x.vectors[i].Index), 10)
		b = append(b, `,"embedding":`...)
		if x.base64 {
			b = appendPacked(b, x.vectors[i].Values)
		} else {
			b = appendNumbers(b, x.vectors[i].Values)
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

// size is the approximate length of the document.
func (x *Whole) size() int {
	const numberBytes, packedBytes = 14, 6
	n := 512 + len(x.served.Head.Notice)
	for i := range x.vectors {
		if x.base64 {
			n += 64 + packedBytes*len(x.vectors[i].Values)
		} else {
			n += 64 + numberBytes*len(x.vectors[i].Values)
		}
	}
	return n
}

// appendPacked writes the base64 of 32-bit floats in little-endian order.
func appendPacked(b []byte, v []float32) []byte {
	raw := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"')
}

// appendNumbers writes each number in the fewest digits that identify it as a 32-bit float.
func appendNumbers(b []byte, v []float32) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, ']')
}
