package tasks

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

var yandexEmbedders = map[string]*embedder{
	"embed":             {dims: 256, tokens: 2048, inputs: 1, unit: true},
	"text-search-doc":   {dims: 256, tokens: 2048, inputs: 1, unit: true},
	"text-search-query": {dims: 256, tokens: 2048, inputs: 1, unit: true},
}

func (s *Wires) yandexEmbedding(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(kit.YandexTaskWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(kit.YandexTaskWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{Checker: *c}
		e.yandex()
		return s.Serve(w, r, started, &e.Checker, kit.WholeReply(kit.YandexTaskWire, `{"embedding":[]}`, func() []byte {
			dst := appendVector([]byte(`{"embedding":`), e.vectors()[0])
			style := e.Request.Knobs.Usage
			if style == "" {
				style = "strings" // as JSON of protocol buffers writes 64-bit numbers
			}
			if style != "missing" {
				dst = kit.AppendCount(append(dst, ','), "numTokens", e.total(), style)
			}
			return append(dst, `,"modelVersion":"07.11.2023"}`...)
		}))
	})
}

func (e *embeds) yandex() {
	var input *kit.Node
	kit.Members(&e.Checker, e, e.Root, "", map[string]kit.Field[*embeds]{
		"modelUri": func(e *embeds, v *kit.Node, p string) {
			if !e.ExpectKind(v, kit.Text, p) {
				return
			}
			rest, ok := strings.CutPrefix(v.Text, "emb://")
			name, ok2 := chat.YandexModel("gpt://" + rest)
			if !ok || !ok2 {
				e.Refuse(p, "", "Failed to parse model URI '"+v.Text+"'")
				return
			}
			e.model = kit.FindModel(&e.Checker, name, yandexEmbedders, func(string) *kit.Refusal {
				return &kit.Refusal{Status: 400, Message: "Specified model '" + v.Text + "' is not supported"}
			})
		},
		"text": func(_ *embeds, v *kit.Node, _ string) { input = v },
		"dim":  func(e *embeds, v *kit.Node, p string) { e.dims = int(e.Integer(v, p, 1, kit.MaxInteger)) },
	}, "modelUri", "text")
	if e.Fault != nil {
		return
	}
	if e.sized("dim"); input == nil {
		e.Missing("text")
		return
	}
	e.prefix = e.Request.Knobs.Base
	if e.add(input, "text"); e.Fault != nil {
		return
	}
	if n := e.counts[0]; n == 0 || n > e.model.tokens {
		e.Refuse("text", "", "Input text is empty or too long: number of tokens must be no more than "+kit.Itoa(e.model.tokens)+", got "+kit.Itoa(n))
	}
}
