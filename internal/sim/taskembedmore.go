package sim

import (
	"net/http"
	"strings"
	"time"
)

// cohereWire is Cohere's second version: embed and rerank.
var cohereWire = wholeWire("cohere", &coherePhrases, func(f *refusal) []byte {
	return append(appendText(append(appendText([]byte(`{"id":`), amazonID(f.message)), `,"message":`...), f.message), '}')
}, byScheme("invalid api token", "Bearer ", "bearer ", "BEARER "),
	"invalid request: too many tokens: total number of tokens in the input cannot exceed 128000 - received 130000. Try using a shorter input.",
	`{"id":"x","meta":{"api_version":{"version":"2"}}}`)

var cohereTypes = map[string]string{
	"a string": "string", "a boolean": "bool", "a number": "float", "an integer": "int", "an array": "[]string", "an object": "object", "null": "null",
}

var coherePhrases = phrases{
	item: openAIPhrases.item,
	missing: func(param string) string {
		if param == "model" {
			return "a model parameter is required for this endpoint."
		}
		return "invalid request: " + param + " parameter is required"
	},
	unknown: func(param string) string { return "unknown field: parameter '" + param + "' is not a valid field" },
	wrongType: func(param, got, want string) string {
		return "invalid type: parameter '" + param + "' is of type " + cohereTypes[got] + " but should be of type " + cohereTypes[want] + "."
	},
	wrongValue: func(param, want string) string { return "invalid request: " + param + " must be " + want },
	outOfRange: func(param, low, high string) string {
		return "invalid request: " + param + " is invalid, value must be between " + low + " and " + high
	},
	readable: func(error) string { return "invalid json syntax" },
}

var cohereEmbedders = map[string]*embedder{
	"embed":                   {dims: 1536, choices: []int{256, 512, 1024, 1536}, tokens: 128_000, inputs: 96, unit: true},
	"embed-v4.0":              {dims: 1536, choices: []int{256, 512, 1024, 1536}, tokens: 128_000, inputs: 96, unit: true},
	"embed-english-v3.0":      {dims: 1024, tokens: 512, inputs: 96, unit: true},
	"embed-multilingual-v3.0": {dims: 1024, tokens: 512, inputs: 96, unit: true},
}

func cohereUnknown(name string) *refusal {
	return &refusal{status: 404, message: "model '" + name + "' not found, make sure the correct model ID was used and that you have access to the model."}
}

// cohereKinds are the types of numbers, in the order of an answer.
var cohereKinds = []string{"float", "int8", "uint8", "binary", "ubinary", "base64"}

// cohereImageTokens is what an image costs.
const cohereImageTokens = 1000

func (s *taskWires) cohereEmbed(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(cohereWire, w, r, func(body []byte) *refusal {
		c, refused := reader(cohereWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{checker: *c}
		e.cohere()
		return s.perform(w, r, started, &e.checker, whole(cohereWire, `{"id":"x","embeddings":{},"texts":[]}`, func() []byte {
			vectors := e.vectors()
			dst := append(appendText([]byte(`{"id":`), amazonID(string(canonical(nil, e.root)))), `,"embeddings":{`...)
			for i, kind := range e.kinds {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(appendText(dst, kind), ':')
				dst = listed(dst, vectors, func(dst []byte, _ int, v []float32) []byte {
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
			dst = listed(append(dst, `,"texts":`...), e.shown, func(dst []byte, _ int, s string) []byte { return appendText(dst, s) })
			dst = append(dst, `,"meta":{"api_version":{"version":"2"}`...)
			texts := counted{"input_tokens", e.total() - cohereImageTokens*e.images}
			if e.images == 0 {
				dst = appendCounts(dst, "billed_units", e.ask.knobs.usage, texts)
			} else {
				dst = appendCounts(dst, "billed_units", e.ask.knobs.usage, counted{"images", e.images}, texts, counted{"image_tokens", cohereImageTokens * e.images})
			}
			return append(dst, '}', '}')
		}))
	})
}

func (e *embeds) cohere() {
	e.status = 400
	truncate := "END"
	given := 0
	members(&e.checker, e, e.root, "", map[string]field[*embeds]{
		"model": func(e *embeds, v *node, p string) {
			if e.typed(v, text, p) {
				e.model = asked(&e.checker, v.text, cohereEmbedders, cohereUnknown)
			}
		},
		"input_type": func(e *embeds, v *node, p string) {
			e.prefix = e.words(v, p, "search_document", "search_query", "classification", "clustering", "image")
		},
		"texts":            func(_ *embeds, _ *node, _ string) { given++ },
		"images":           func(_ *embeds, _ *node, _ string) { given++ },
		"inputs":           func(_ *embeds, _ *node, _ string) { given++ },
		"max_tokens":       func(e *embeds, v *node, p string) { e.integer(v, p, 1, anyInt) },
		"output_dimension": func(e *embeds, v *node, p string) { e.dims = int(e.integer(v, p, 1, anyInt)) },
		"embedding_types": func(e *embeds, v *node, p string) {
			asked := map[string]bool{}
			e.each(v, p, func(v *node, p string) { asked[e.words(v, p, cohereKinds...)] = true })
			for _, kind := range cohereKinds {
				if asked[kind] {
					e.kinds = append(e.kinds, kind)
				}
			}
		},
		"truncate": func(e *embeds, v *node, p string) { truncate = e.words(v, p, "NONE", "START", "END") },
		"priority": func(e *embeds, v *node, p string) { e.integer(v, p, 0, 999) },
	}, "model")
	if e.fault != nil {
		if e.fault.code == "unknown_parameter" {
			e.fault.status = 422
		}
		return
	}
	switch {
	case e.prefix == "":
		e.refuse("input_type", "", "invalid request: valid input_type must be provided with the provided model")
	case given != 1:
		e.refuse("texts", "", "invalid request: exactly one of texts, images or inputs must be specified")
	case len(e.kinds) == 0:
		e.kinds = []string{"float"}
	}
	e.sized("output_dimension")
	e.cohereInputs()
	for i, n := range e.counts {
		if n > e.model.tokens && truncate == "NONE" {
			e.refuse("texts", "", "invalid request: too many tokens: total number of tokens in the input cannot exceed "+itoa(e.model.tokens)+" - received "+itoa(n)+". Try using a shorter input.")
		}
		if e.images == 0 {
			e.counts[i] = min(n, e.model.tokens)
		}
	}
}

func (e *embeds) cohereInputs() {
	list := func(name string, one func(v *node, param string)) {
		v := e.root.given(name)
		if v == nil || e.fault != nil || !e.typed(v, array, name) {
			return
		}
		switch n := len(v.items); {
		case n == 0:
			e.refuse(name, "", "invalid request: at least one of "+name+" must be specified")
		case n > e.model.inputs:
			e.refuse(name, "", "invalid request: total number of "+name+" must be at most "+itoa(e.model.inputs)+" - received "+itoa(n))
		}
		e.each(v, name, one)
	}
	list("texts", e.add)
	list("images", func(v *node, param string) {
		if e.prefix != "image" {
			e.refuse(param, "", "invalid request: input_type must be image when images are specified")
		}
		e.cohereImage(v, param)
	})
	list("inputs", func(v *node, param string) {
		e.each(v.get("content"), param+".content", func(v *node, param string) {
			switch v.get("type").str() {
			case "text":
				if t := v.get("text"); t.is(text) {
					e.add(t, param+".text")
					return
				}
				e.missing(param + ".text")
			case "image_url":
				e.cohereImage(v.get("image_url").get("url"), param+".image_url.url")
			default:
				e.wrongValue(param+".type", "text or image_url")
			}
		})
	})
}

func (e *embeds) cohereImage(v *node, param string) {
	m := medium{kind: "image"}
	if v == nil || !v.is(text) || !strings.HasPrefix(v.text, "data:image/") || !m.located(v.text) || m.width == 0 {
		e.refuse(param, "", "invalid request: the provided image is not a valid data URI")
		return
	}
	e.texts = append(e.texts, []string{e.prefix, "image", m.String()})
	e.counts = append(e.counts, cohereImageTokens)
	e.images++
}

var geminiEmbedders = map[string]*embedder{
	"embed":                {dims: 3072, free: true, tokens: 2048, inputs: 100},
	"gemini-embedding-001": {dims: 3072, free: true, tokens: 2048, inputs: 100},
	"text-embedding-004":   {dims: 768, free: true, tokens: 2048, inputs: 100},
}

var geminiEmbedWire = func() *wire {
	on := *geminiWire
	on.say = &geminiEmbedPhrases
	on.shapeless = []byte(`{"metadata":{}}`)
	return &on
}()

var geminiEmbedPhrases = func() phrases {
	say := geminiPhrases
	missing, outOfRange := say.missing, say.outOfRange
	say.missing = func(param string) string { return embedRequest(missing(param)) }
	say.outOfRange = func(param, low, high string) string { return embedRequest(outOfRange(param, low, high)) }
	return say
}()

func embedRequest(s string) string {
	return strings.Replace(s, "GenerateContentRequest", "EmbedContentRequest", 1)
}

var taskTypes = []string{
	"TASK_TYPE_UNSPECIFIED", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING", "QUESTION_ANSWERING",
	"FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY",
}

// GoogleMethod serves the methods of Gemini's embedding models; false for other methods.
func (s *taskWires) GoogleMethod(w http.ResponseWriter, r *http.Request, model, method string) bool {
	if method != "embedContent" && method != "batchEmbedContents" {
		return false
	}
	s.geminiEmbed(w, r, time.Now(), model, method == "batchEmbedContents")
	return true
}

// geminiEmbed serves :embedContent and :batchEmbedContents. It tells no usage, as the models before gemini-embedding-2 do not.
func (s *taskWires) geminiEmbed(w http.ResponseWriter, r *http.Request, started time.Time, model string, batch bool) {
	s.take(geminiEmbedWire, w, r, func(body []byte) *refusal {
		c, refused := reader(geminiEmbedWire, body)
		if refused != nil {
			return refused
		}
		g := &geminiEmbeds{checker: *c}
		g.model = asked(&g.checker, model, geminiEmbedders, func(name string) *refusal {
			return &refusal{status: 404, message: "models/" + name + " is not found for API version v1beta, or is not supported for embedContent. Call ListModels to see the list of available models and their supported methods."}
		})
		if batch {
			g.batch()
		} else {
			g.one(g.root, "")
		}
		return s.perform(w, r, started, &g.checker, whole(geminiEmbedWire, `{}`, func() []byte {
			values := func(dst []byte, i int, v []string) []byte {
				return append(appendVector(append(dst, `{"values":`...), g.model.vector(g.sizes[i], v...)), '}')
			}
			if batch {
				return append(listed([]byte(`{"embeddings":`), g.texts, values), '}')
			}
			return append(values([]byte(`{"embedding":`), 0, g.texts[0]), '}')
		}))
	})
}

type geminiEmbeds struct {
	checker
	model *embedder
	texts [][]string
	sizes []int
}

func (g *geminiEmbeds) batch() {
	members(&g.checker, g, g.root, "", map[string]field[*geminiEmbeds]{"requests": func(g *geminiEmbeds, v *node, p string) {
		if !g.typed(v, array, p) {
			return
		}
		if len(v.items) > 100 {
			g.refuse(p, "", "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n")
		}
		g.each(v, p, func(v *node, p string) {
			if !g.typed(v, object, p) {
				return
			}
			if name := v.get("model").str(); name != "models/"+g.ask.name && g.fault == nil {
				g.refuse(p, "", "* BatchEmbedContentsRequest."+p+".model: unexpected model name format, or not the model of the batch\n")
			}
			g.one(v, p)
		})
	}})
	if g.fault == nil && len(g.texts) == 0 {
		g.refuse("requests", "", "* BatchEmbedContentsRequest.requests: requests is not specified\n")
	}
}

// one reads a request for one vector.
func (g *geminiEmbeds) one(v *node, param string) {
	if g.fault != nil {
		return
	}
	task, title, size := "", "", g.model.dims
	var said []string
	members(&g.checker, g, v, param, map[string]field[*geminiEmbeds]{
		"model":   func(g *geminiEmbeds, v *node, p string) { g.aText(v, p) },
		"content": func(g *geminiEmbeds, v *node, p string) { said = g.content(v, p) },
		"taskType": func(g *geminiEmbeds, v *node, p string) {
			if task = v.str(); oneWord(task, taskTypes) == "" {
				g.refuse(p, "", "Invalid value at '"+snake(p)+"' (type.googleapis.com/google.ai.generativelanguage.v1beta.TaskType), \""+task+"\"")
			}
		},
		"title": func(g *geminiEmbeds, v *node, p string) {
			g.aText(v, p)
			title = v.text
		},
		"outputDimensionality": func(g *geminiEmbeds, v *node, p string) {
			size = int(g.integer(v, p, 1, int64(g.model.dims)))
		},
	}, "content")
	if title != "" && task != "RETRIEVAL_DOCUMENT" {
		g.refuse(under(param, "title"), "", "* EmbedContentRequest.title: title is only supported with the task type RETRIEVAL_DOCUMENT\n")
	}
	g.texts, g.sizes = append(g.texts, append([]string{task, title}, said...)), append(g.sizes, size)
}

func (g *geminiEmbeds) content(v *node, param string) (said []string) {
	tokens := 0
	members(&g.checker, g, v, param, map[string]field[*geminiEmbeds]{
		"role": func(g *geminiEmbeds, v *node, p string) { g.aText(v, p) },
		"parts": func(g *geminiEmbeds, v *node, p string) {
			g.each(v, p, func(v *node, p string) {
				members(&g.checker, g, v, p, map[string]field[*geminiEmbeds]{"text": func(g *geminiEmbeds, v *node, p string) {
					if g.typed(v, text, p) {
						plain := g.plain(v.text, p)
						tokens += countTokens(plain)
						said = append(said, plain)
					}
				}})
			})
		},
	})
	if g.fault == nil && tokens == 0 {
		g.refuse(param, "", "* EmbedContentRequest.content: contents is not specified\n")
	}
	return said
}

var yandexEmbedders = map[string]*embedder{
	"embed":             {dims: 256, tokens: 2048, inputs: 1, unit: true},
	"text-search-doc":   {dims: 256, tokens: 2048, inputs: 1, unit: true},
	"text-search-query": {dims: 256, tokens: 2048, inputs: 1, unit: true},
}

func (s *taskWires) yandexEmbedding(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(yandexTaskWire, w, r, func(body []byte) *refusal {
		c, refused := reader(yandexTaskWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{checker: *c}
		e.yandex()
		return s.perform(w, r, started, &e.checker, whole(yandexTaskWire, `{"embedding":[]}`, func() []byte {
			dst := appendVector([]byte(`{"embedding":`), e.vectors()[0])
			style := e.ask.knobs.usage
			if style == "" {
				style = "strings" // as JSON of protocol buffers writes 64-bit numbers
			}
			if style != "missing" {
				dst = appendCount(append(dst, ','), "numTokens", e.total(), style)
			}
			return append(dst, `,"modelVersion":"07.11.2023"}`...)
		}))
	})
}

func (e *embeds) yandex() {
	var input *node
	members(&e.checker, e, e.root, "", map[string]field[*embeds]{
		"modelUri": func(e *embeds, v *node, p string) {
			if !e.typed(v, text, p) {
				return
			}
			rest, ok := strings.CutPrefix(v.text, "emb://")
			name, ok2 := yandexModel("gpt://" + rest)
			if !ok || !ok2 {
				e.refuse(p, "", "Failed to parse model URI '"+v.text+"'")
				return
			}
			e.model = asked(&e.checker, name, yandexEmbedders, func(string) *refusal {
				return &refusal{status: 400, message: "Specified model '" + v.text + "' is not supported"}
			})
		},
		"text": func(_ *embeds, v *node, _ string) { input = v },
		"dim":  func(e *embeds, v *node, p string) { e.dims = int(e.integer(v, p, 1, anyInt)) },
	}, "modelUri", "text")
	if e.fault != nil {
		return
	}
	if e.sized("dim"); input == nil {
		e.missing("text")
		return
	}
	e.prefix = e.ask.knobs.base
	if e.add(input, "text"); e.fault != nil {
		return
	}
	if n := e.counts[0]; n == 0 || n > e.model.tokens {
		e.refuse("text", "", "Input text is empty or too long: number of tokens must be no more than "+itoa(e.model.tokens)+", got "+itoa(n))
	}
}

var gigachatEmbedders = map[string]*embedder{
	"embed":           {dims: 1024, tokens: 512, inputs: 1024, unit: true},
	"Embeddings":      {dims: 1024, tokens: 512, inputs: 1024, unit: true},
	"Embeddings-2":    {dims: 1024, tokens: 512, inputs: 1024, unit: true},
	"EmbeddingsGigaR": {dims: 2560, tokens: 4096, inputs: 1024, unit: true},
}

func (s *taskWires) gigachatEmbeddings(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(gigachatWire, w, r, func(body []byte) *refusal {
		c, refused := reader(gigachatWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{checker: *c}
		e.gigachat()
		return s.perform(w, r, started, &e.checker, whole(gigachatEmbedWire, `{"object":"list","data":[],"model":"m"}`, func() []byte {
			dst := listed([]byte(`{"object":"list","data":`), e.vectors(), func(dst []byte, i int, v []float32) []byte {
				dst = appendVector(append(dst, `{"object":"embedding","embedding":`...), v)
				dst = appendInt(append(dst, `,"index":`...), i)
				return append(appendCounts(dst, "usage", e.ask.knobs.usage, counted{"prompt_tokens", e.counts[i]}), '}')
			})
			return append(appendText(append(dst, `,"model":`...), e.ask.name), '}')
		}))
	})
}

var gigachatEmbedWire = wholeWire("gigachat-embeddings", &gigachatPhrases, gigachatWire.fail, gigachatWire.admit, "Tokens limit exceeded", `{"object":"list","model":"m"}`)

func (e *embeds) gigachat() {
	e.status = 422
	name, input := e.root.get("model"), e.root.given("input")
	if !name.is(text) {
		e.missing("model")
		return
	}
	e.model = asked(&e.checker, name.text, gigachatEmbedders, func(string) *refusal { return &refusal{status: 404, message: "No such model"} })
	if e.fault != nil {
		return
	}
	e.dims, e.prefix = e.model.dims, e.ask.knobs.base
	switch {
	case input == nil:
		e.missing("input")
	case input.is(text):
		e.add(input, "input")
	default:
		e.each(input, "input", e.add)
	}
	if e.fault == nil && len(e.texts) == 0 {
		e.missing("input")
	}
	for i, n := range e.counts {
		if n == 0 || n > e.model.tokens {
			e.refuse("input", "", "Tokens limit exceeded: input["+itoa(i)+"] has "+itoa(n)+" of 1 to "+itoa(e.model.tokens)+" tokens")
			e.fault.status = 413
		}
	}
}
