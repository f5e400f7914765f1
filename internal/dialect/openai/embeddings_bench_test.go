package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/embeddings"
)

// answering is an Ask that gives the same answer to every call.
type answering struct {
	dialect.Ask
	ep   *catalog.Endpoint
	req  *completion.Request
	body []byte
}

func (x *answering) Endpoint() *catalog.Endpoint  { return x.ep }
func (x *answering) Request() *completion.Request { return x.req }
func (x *answering) Now() time.Time               { return time.Time{} }

func (x *answering) Do(dialect.Call) (*dialect.Answer, error) {
	return &dialect.Answer{Endpoint: x.ep, Request: x.req, Length: int64(len(x.body)), Limits: dialect.DefaultLimits(),
		Body: dialect.NewBody(bytes.NewReader(x.body)), Exchange: noExchange{}}, nil
}

type noExchange struct{}

func (noExchange) Linger()             {}
func (noExchange) Header() http.Header { return nil }
func (noExchange) Close()              {}

// vectorsOf is an answer of n vectors as servers write it.
func vectorsOf(n, dims int, packed bool) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := []byte(`{"object":"list","data":[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendInt(append(b, `{"object":"embedding","index":`...), int64(i), 10), `,"embedding":`...)
		var raw []byte
		for j := range dims {
			x := (rnd.Float64() - 0.5) / 10
			if packed {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
				continue
			}
			b = strconv.AppendFloat(append(b, "[,"[min(j, 1)]), x, 'g', 8, 64)
		}
		if packed {
			b = append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), `"}`...)
		} else {
			b = append(b, "]}"...)
		}
	}
	return append(b, `],"model":"text-embedding-3-small","usage":{"prompt_tokens":128,"total_tokens":128}}`...)
}

// BenchmarkEmbeddings reads the vectors of 16 inputs of a provider and writes them for a client, in either form on either side.
func BenchmarkEmbeddings(b *testing.B) {
	for _, forms := range []struct {
		name         string
		packed, asks bool
	}{{"float-float", false, false}, {"base64-base64", true, true}, {"float-base64", false, true}, {"base64-float", true, false}} {
		b.Run(forms.name, func(b *testing.B) {
			ep := &catalog.Endpoint{ID: "p/m", UpstreamID: "m", Provider: &catalog.Provider{ID: "p", Name: "P"}}
			t := &task.Embedding{Base64: forms.asks}
			for range 16 {
				t.Inputs = append(t.Inputs, task.Input{Parts: []task.Part{{Text: "A weir holds the river back."}}})
			}
			req := &completion.Request{Task: t, Models: []string{"a/b"}}
			ask := &answering{ep: ep, req: req, body: vectorsOf(16, 1536, forms.packed)}
			b.SetBytes(int64(len(ask.body)))
			b.ReportAllocs()
			d := new(openai.Dialect)
			for b.Loop() {
				sink := embeddings.NewWhole(io.Discard, req, "gen-1")
				if err := sink.Start(relay.Served{Model: "a/b"}); err != nil {
					b.Fatal(err)
				}
				for ev, err := range d.Perform(ask, ep, req) {
					if err == nil {
						err = sink.Event(ev)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				if err := sink.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(128)}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
