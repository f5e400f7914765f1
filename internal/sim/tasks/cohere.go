package tasks

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// cohereWire is Cohere's second version: embed and rerank.
var cohereWire = kit.NewWholeWire("cohere", &coherePhrases, func(f *kit.Refusal) []byte {
	return append(kit.AppendText(append(kit.AppendText([]byte(`{"id":`), kit.AmazonID(f.Message)), `,"message":`...), f.Message), '}')
}, kit.ByScheme("invalid api token", "Bearer ", "bearer ", "BEARER "),
	"invalid request: too many tokens: total number of tokens in the input cannot exceed 128000 - received 130000. Try using a shorter input.",
	`{"id":"x","meta":{"api_version":{"version":"2"}}}`)

var cohereTypes = map[string]string{
	"a string": "string", "a boolean": "bool", "a number": "float", "an integer": "int", "an array": "[]string", "an object": "object", "null": "null",
}

var coherePhrases = kit.Phrases{
	Item: kit.OpenAIPhrases.Item,
	Missing: func(param string) string {
		if param == "model" {
			return "a model parameter is required for this endpoint."
		}
		return "invalid request: " + param + " parameter is required"
	},
	Unknown: func(param string) string { return "unknown field: parameter '" + param + "' is not a valid field" },
	WrongType: func(param, got, want string) string {
		return "invalid type: parameter '" + param + "' is of type " + cohereTypes[got] + " but should be of type " + cohereTypes[want] + "."
	},
	WrongValue: func(param, want string) string { return "invalid request: " + param + " must be " + want },
	OutOfRange: func(param, low, high string) string {
		return "invalid request: " + param + " is invalid, value must be between " + low + " and " + high
	},
	Readable: func(error) string { return "invalid json syntax" },
}

var cohereEmbedders = map[string]*embedder{
	"embed":                   {dims: 1536, choices: []int{256, 512, 1024, 1536}, tokens: 128_000, inputs: 96, unit: true},
	"embed-v4.0":              {dims: 1536, choices: []int{256, 512, 1024, 1536}, tokens: 128_000, inputs: 96, unit: true},
	"embed-english-v3.0":      {dims: 1024, tokens: 512, inputs: 96, unit: true},
	"embed-multilingual-v3.0": {dims: 1024, tokens: 512, inputs: 96, unit: true},
}

func cohereUnknown(name string) *kit.Refusal {
	return &kit.Refusal{Status: 404, Message: "model '" + name + "' not found, make sure the correct model ID was used and that you have access to the model."}
}

// cohereImageTokens is what an image costs.
const cohereImageTokens = 1000

// cohereKinds are the types of numbers, in the order of an answer.
var cohereKinds = []string{"float", "int8", "uint8", "binary", "ubinary", "base64"}

func (s *Wires) cohereEmbed(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(cohereWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(cohereWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{Checker: *c}
		e.cohere()
		return s.Serve(w, r, started, &e.Checker, kit.WholeReply(cohereWire, `{"id":"x","embeddings":{},"texts":[]}`, func() []byte {
			vectors := e.vectors()
			dst := append(kit.AppendText([]byte(`{"id":`), kit.AmazonID(string(kit.Canonical(nil, e.Root)))), `,"embeddings":{`...)
			for i, kind := range e.kinds {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(kit.AppendText(dst, kind), ':')
				dst = kit.AppendArray(dst, vectors, func(dst []byte, _ int, v []float32) []byte {
					switch kind {
					case "float":
						return appendVector(dst, v)
					case "base64":
						return appendPacked(dst, v)
					}
					return appendInts(dst, quantized(v, kind))
				})
			}
			dst = append(dst, '}')
			dst = kit.AppendArray(append(dst, `,"texts":`...), e.shown, func(dst []byte, _ int, s string) []byte { return kit.AppendText(dst, s) })
			dst = append(dst, `,"meta":{"api_version":{"version":"2"}`...)
			texts := kit.UsageCount{Name: "input_tokens", N: e.total() - cohereImageTokens*e.images}
			if e.images == 0 {
				dst = kit.AppendCounts(dst, "billed_units", e.Request.Knobs.Usage, texts)
			} else {
				dst = kit.AppendCounts(dst, "billed_units", e.Request.Knobs.Usage, kit.UsageCount{Name: "images", N: e.images}, texts, kit.UsageCount{Name: "image_tokens", N: cohereImageTokens * e.images})
			}
			return append(dst, '}', '}')
		}))
	})
}

func (e *embeds) cohere() {
	e.Status = 400
	truncate := "END"
	given := 0
	kit.Members(&e.Checker, e, e.Root, "", map[string]kit.Field[*embeds]{
		"model": func(e *embeds, v *kit.Node, p string) {
			if e.ExpectKind(v, kit.Text, p) {
				e.model = kit.FindModel(&e.Checker, v.Text, cohereEmbedders, cohereUnknown)
			}
		},
		"input_type": func(e *embeds, v *kit.Node, p string) {
			e.prefix = e.OneOf(v, p, "search_document", "search_query", "classification", "clustering", "image")
		},
		"texts":            func(_ *embeds, _ *kit.Node, _ string) { given++ },
		"images":           func(_ *embeds, _ *kit.Node, _ string) { given++ },
		"inputs":           func(_ *embeds, _ *kit.Node, _ string) { given++ },
		"max_tokens":       func(e *embeds, v *kit.Node, p string) { e.Integer(v, p, 1, kit.MaxInteger) },
		"output_dimension": func(e *embeds, v *kit.Node, p string) { e.dims = int(e.Integer(v, p, 1, kit.MaxInteger)) },
		"embedding_types": func(e *embeds, v *kit.Node, p string) {
			asked := map[string]bool{}
			e.Each(v, p, func(v *kit.Node, p string) { asked[e.OneOf(v, p, cohereKinds...)] = true })
			for _, kind := range cohereKinds {
				if asked[kind] {
					e.kinds = append(e.kinds, kind)
				}
			}
		},
		"truncate": func(e *embeds, v *kit.Node, p string) { truncate = e.OneOf(v, p, "NONE", "START", "END") },
		"priority": func(e *embeds, v *kit.Node, p string) { e.Integer(v, p, 0, 999) },
	}, "model")
	if e.Fault != nil {
		if e.Fault.Code == "unknown_parameter" {
			e.Fault.Status = 422
		}
		return
	}
	switch {
	case e.prefix == "":
		e.Refuse("input_type", "", "invalid request: valid input_type must be provided with the provided model")
	case given != 1:
		e.Refuse("texts", "", "invalid request: exactly one of texts, images or inputs must be specified")
	case len(e.kinds) == 0:
		e.kinds = []string{"float"}
	}
	e.sized("output_dimension")
	e.cohereInputs()
	for i, n := range e.counts {
		if n > e.model.tokens && truncate == "NONE" {
			e.Refuse("texts", "", "invalid request: too many tokens: total number of tokens in the input cannot exceed "+kit.Itoa(e.model.tokens)+" - received "+kit.Itoa(n)+". Try using a shorter input.")
		}
		if e.images == 0 {
			e.counts[i] = min(n, e.model.tokens)
		}
	}
}

func (e *embeds) cohereInputs() {
	list := func(name string, one func(v *kit.Node, param string)) {
		v := e.Root.Given(name)
		if v == nil || e.Fault != nil || !e.ExpectKind(v, kit.Array, name) {
			return
		}
		switch n := len(v.Items); {
		case n == 0:
			e.Refuse(name, "", "invalid request: at least one of "+name+" must be specified")
		case n > e.model.inputs:
			e.Refuse(name, "", "invalid request: total number of "+name+" must be at most "+kit.Itoa(e.model.inputs)+" - received "+kit.Itoa(n))
		}
		e.Each(v, name, one)
	}
	list("texts", e.add)
	list("images", func(v *kit.Node, param string) {
		if e.prefix != "image" {
			e.Refuse(param, "", "invalid request: input_type must be image when images are specified")
		}
		e.cohereImage(v, param)
	})
	list("inputs", func(v *kit.Node, param string) {
		e.Each(v.Get("content"), param+".content", func(v *kit.Node, param string) {
			switch v.Get("type").Str() {
			case "text":
				if t := v.Get("text"); t.Is(kit.Text) {
					e.add(t, param+".text")
					return
				}
				e.Missing(param + ".text")
			case "image_url":
				e.cohereImage(v.Get("image_url").Get("url"), param+".image_url.url")
			default:
				e.WrongValue(param+".type", "text or image_url")
			}
		})
	})
}

func (e *embeds) cohereImage(v *kit.Node, param string) {
	m := kit.Medium{Kind: "image"}
	if v == nil || !v.Is(kit.Text) || !strings.HasPrefix(v.Text, "data:image/") || !m.FromURL(v.Text) || m.Width == 0 {
		e.Refuse(param, "", "invalid request: the provided image is not a valid data URI")
		return
	}
	e.texts = append(e.texts, []string{e.prefix, "image", m.String()})
	e.counts = append(e.counts, cohereImageTokens)
	e.images++
}
