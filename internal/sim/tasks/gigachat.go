package tasks

import (
	"net/http"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

var gigachatEmbedders = map[string]*embedder{
	"embed":           {dims: 1024, tokens: 512, inputs: 1024, unit: true},
	"Embeddings":      {dims: 1024, tokens: 512, inputs: 1024, unit: true},
	"Embeddings-2":    {dims: 1024, tokens: 512, inputs: 1024, unit: true},
	"EmbeddingsGigaR": {dims: 2560, tokens: 4096, inputs: 1024, unit: true},
}

func (s *Wires) gigachatEmbeddings(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(chat.GigachatWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(chat.GigachatWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{Checker: *c}
		e.gigachat()
		return s.Serve(w, r, started, &e.Checker, kit.WholeReply(gigachatEmbedWire, `{"object":"list","data":[],"model":"m"}`, func() []byte {
			dst := kit.AppendArray([]byte(`{"object":"list","data":`), e.vectors(), func(dst []byte, i int, v []float32) []byte {
				dst = appendVector(append(dst, `{"object":"embedding","embedding":`...), v)
				dst = kit.AppendInt(append(dst, `,"index":`...), i)
				return append(kit.AppendCounts(dst, "usage", e.Request.Knobs.Usage, kit.UsageCount{Name: "prompt_tokens", N: e.counts[i]}), '}')
			})
			return append(kit.AppendText(append(dst, `,"model":`...), e.Request.Name), '}')
		}))
	})
}

var gigachatEmbedWire = kit.NewWholeWire("gigachat-embeddings", &chat.GigachatPhrases, chat.GigachatWire.ErrorBody, chat.GigachatWire.Admit, "Tokens limit exceeded", `{"object":"list","model":"m"}`)

func (e *embeds) gigachat() {
	e.Status = 422
	name, input := e.Root.Get("model"), e.Root.Given("input")
	if !name.Is(kit.Text) {
		e.Missing("model")
		return
	}
	e.model = kit.FindModel(&e.Checker, name.Text, gigachatEmbedders, func(string) *kit.Refusal { return &kit.Refusal{Status: 404, Message: "No such model"} })
	if e.Fault != nil {
		return
	}
	e.dims, e.prefix = e.model.dims, e.Request.Knobs.Base
	switch {
	case input == nil:
		e.Missing("input")
	case input.Is(kit.Text):
		e.add(input, "input")
	default:
		e.Each(input, "input", e.add)
	}
	if e.Fault == nil && len(e.texts) == 0 {
		e.Missing("input")
	}
	for i, n := range e.counts {
		if n == 0 || n > e.model.tokens {
			e.Refuse("input", "", "Tokens limit exceeded: input["+kit.Itoa(i)+"] has "+kit.Itoa(n)+" of 1 to "+kit.Itoa(e.model.tokens)+" tokens")
			e.Fault.Status = 413
		}
	}
}
