package sim

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// embedder is a model that turns texts into vectors.
type embedder struct {
	dims    int   // unless told
	choices []int // what may be told; nil: nothing may
	free    bool  // any number up to dims may be told
	tokens  int   // that one text may have
	inputs  int   // that one call may have
	unit    bool  // shortened vectors have the length 1 too
}

// fits reports whether vectors of so many dimensions can be had.
func (e *embedder) fits(dims int) bool {
	return e.free && dims >= 1 && dims <= e.dims || slices.Contains(e.choices, dims)
}

// vector is a direction that follows from the text alone. A shorter one is the beginning of a longer one, as it is for models that are
// trained so.
func (e *embedder) vector(dims int, of ...string) []float32 {
	rnd := random(fingerprint(of...))
	long := make([]float64, max(dims, e.dims))
	for i := range long {
		long[i] = float64(int64(rnd.next())) / (1 << 63)
	}
	scaled := long
	if e.unit {
		scaled = long[:dims]
	}
	sum := 0.0
	for _, x := range scaled {
		sum += float64(x * x) // the conversion keeps machines from fusing, so that all get the same
	}
	out := make([]float32, dims)
	for i := range out {
		out[i] = float32(long[i] / math.Sqrt(sum))
	}
	return out
}

func appendVector(dst []byte, v []float32) []byte {
	return listed(dst, v, func(dst []byte, _ int, x float32) []byte { return strconv.AppendFloat(dst, float64(x), 'g', -1, 32) })
}

// appendPacked writes 32-bit floats, least byte first, as base64.
func appendPacked(dst []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return appendBytes(dst, raw)
}

func appendBytes(dst, raw []byte) []byte {
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), raw)
	return append(dst, '"')
}

// quantized is a vector in one of the small types that some wires offer: int8, uint8, binary, ubinary.
func quantized(v []float32, kind string) []int {
	if kind == "binary" || kind == "ubinary" {
		out := make([]int, (len(v)+7)/8)
		for i, x := range v {
			if x > 0 {
				out[i/8] |= 0x80 >> (i % 8)
			}
		}
		for i := range out {
			if kind == "binary" {
				out[i] -= 128
			}
		}
		return out
	}
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(math.Round(float64(min(1, max(-1, 4*x))) * 127)) // components of long vectors are small
		if kind == "uint8" {
			out[i] += 128
		}
	}
	return out
}

func appendInts(dst []byte, v []int) []byte {
	return listed(dst, v, func(dst []byte, _, n int) []byte { return appendInt(dst, n) })
}

// openAIEmbedders also serve whoever does as OpenAI does.
var openAIEmbedders = map[string]*embedder{
	"embed":                  {dims: 1536, free: true, tokens: 8192, inputs: 2048, unit: true},
	"text-embedding-3-small": {dims: 1536, free: true, tokens: 8192, inputs: 2048, unit: true},
	"text-embedding-3-large": {dims: 3072, free: true, tokens: 8192, inputs: 2048, unit: true},
	"text-embedding-ada-002": {dims: 1536, tokens: 8192, inputs: 2048, unit: true},
}

const embedTokensPerCall = 300_000

// embeds is what a request for vectors comes to.
type embeds struct {
	checker
	model  *embedder
	dims   int
	kinds  []string   // encodings or types asked for
	prefix string     // what the provider puts before each text
	texts  [][]string // each as what its vector follows from
	shown  []string   // the texts as they came
	counts []int      // tokens of each
	images int        // how many of them are none
}

func (e *embeds) total() (n int) {
	for _, c := range e.counts {
		n += c
	}
	return n
}

// add takes one text.
func (e *embeds) add(v *node, param string) {
	if !e.typed(v, text, param) {
		return
	}
	plain := e.plain(v.text, param)
	e.shown = append(e.shown, v.text)
	e.texts = append(e.texts, []string{e.prefix, plain})
	e.counts = append(e.counts, countTokens(plain))
}

func (e *embeds) vectors() [][]float32 {
	out := make([][]float32, len(e.texts))
	for i, of := range e.texts {
		out[i] = e.model.vector(e.dims, append([]string{strconv.Itoa(e.model.dims)}, of...)...)
	}
	return out
}

// openAIEmbeddings serves POST /v1/embeddings.
func (s *taskWires) openAIEmbeddings(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(chatWire, w, r, func(body []byte) *refusal {
		c, refused := reader(chatWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{checker: *c, kinds: []string{"float"}}
		e.openAI()
		return s.perform(w, r, started, &e.checker, whole(embeddingsWire, `{"object":"list","data":[],"model":"m"}`, func() []byte {
			dst := listed([]byte(`{"object":"list","data":`), e.vectors(), func(dst []byte, i int, v []float32) []byte {
				dst = append(appendInt(append(dst, `{"object":"embedding","index":`...), i), `,"embedding":`...)
				if e.kinds[0] == "base64" {
					return append(appendPacked(dst, v), '}')
				}
				return append(appendVector(dst, v), '}')
			})
			dst = appendText(append(dst, `,"model":`...), e.ask.name)
			n := e.total()
			return append(appendCounts(dst, "usage", e.ask.knobs.usage, counted{"prompt_tokens", n}, counted{"total_tokens", n}), '}')
		}))
	})
}

// embeddingsWire has OpenAI's words, and answers of its own.
var embeddingsWire = wholeWire("embeddings", &openAIPhrases, (*refusal).json, chatWire.admit,
	"This model's maximum context length is 8192 tokens, however you requested 9000 tokens (9000 in your prompt; 0 for the completion). Please reduce your prompt; or completion length.",
	`{"object":"list","model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`)

func (e *embeds) openAI() {
	for i, name := range e.root.names {
		switch v := &e.root.items[i]; name {
		case "model", "input", "dimensions": // read when the rest is known
		case "encoding_format":
			e.kinds[0] = e.words(v, name, "float", "base64")
		case "user":
			e.aText(v, name)
		default:
			e.refuse("", "", "Unrecognized request argument supplied: "+name)
		}
	}
	name := e.root.get("model")
	if name == nil {
		e.refuse("model", "missing_required_parameter", "you must provide a model parameter")
		return
	}
	if !e.typed(name, text, "model") {
		return
	}
	if e.model = asked(&e.checker, name.text, openAIEmbedders, unknownModel); e.model == nil {
		return
	}
	e.dims = e.model.dims
	if v := e.root.given("dimensions"); v != nil {
		e.dims = int(e.integer(v, "dimensions", 1, anyInt))
		switch {
		case !e.model.free:
			e.refuse("dimensions", "", "This model does not support specifying dimensions.")
		case !e.model.fits(e.dims):
			e.refuse("dimensions", "", "Invalid value for 'dimensions' = "+itoa(e.dims)+". Must be less than or equal to "+itoa(e.model.dims)+".")
		}
	}
	if e.openAIInput(e.root.given("input")); e.fault == nil {
		e.openAILimits()
	}
}

func (e *embeds) badInput() {
	e.refuse("", "", "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
}

func (e *embeds) openAIInput(v *node) {
	switch {
	case v == nil:
		e.missing("input")
	case v.is(text):
		e.add(v, "input")
	case !v.is(array) || len(v.items) == 0:
		e.badInput()
	case v.items[0].is(number):
		e.addTokens(v)
	case len(v.items) > e.model.inputs:
		e.badInput()
	default:
		for i := range v.items {
			switch item := &v.items[i]; {
			case item.kind != v.items[0].kind:
				e.badInput()
			case item.is(text):
				e.add(item, "input")
			default:
				e.addTokens(item)
			}
		}
	}
}

// addTokens takes a text that was cut into tokens by the caller.
func (e *embeds) addTokens(v *node) {
	if !v.is(array) || len(v.items) == 0 {
		e.badInput()
		return
	}
	for i := range v.items {
		if n, ok := v.items[i].whole(); !ok || n < 0 {
			e.badInput()
			return
		}
	}
	e.texts = append(e.texts, []string{"tokens", string(canonical(nil, v))})
	e.counts = append(e.counts, len(v.items))
}

func (e *embeds) openAILimits() {
	for i, n := range e.counts {
		switch {
		case n == 0 && e.texts[i][1] == "":
			e.badInput()
		case n > e.model.tokens:
			said := itoa(n)
			e.refuse("", "", "This model's maximum context length is "+itoa(e.model.tokens)+" tokens, however you requested "+said+" tokens ("+said+" in your prompt; 0 for the completion). Please reduce your prompt; or completion length.")
		}
	}
	if n := e.total(); n > embedTokensPerCall {
		e.refuse("", "max_tokens_per_request", "Requested "+itoa(n)+" tokens, max "+itoa(embedTokensPerCall)+" tokens per request")
	}
}

// voyageWire is Voyage AI's: embeddings and rerank.
var voyageWire = wholeWire("voyage", &voyagePhrases, detailError,
	byScheme("Provided API key is invalid.", "Bearer "),
	"The request body is not valid JSON, or some arguments were not specified properly. In particular, the example at index 0 in your batch has too many tokens and does not fit into the model's context window of 32000 tokens.",
	`{"object":"list","model":"m","usage":{"total_tokens":1}}`)

// detailError is the error of those who write their services in Python.
func detailError(f *refusal) []byte { return append(appendText([]byte(`{"detail":`), f.message), '}') }

const voyageBad = "The request body is not valid JSON, or some arguments were not specified properly. In particular, "

var voyagePhrases = phrases{
	item:    openAIPhrases.item,
	missing: func(param string) string { return voyageBad + "Argument '" + param + "' is missing" },
	unknown: func(param string) string { return voyageBad + "Argument '" + param + "' is not supported by our API" },
	wrongType: func(param, got, want string) string {
		return voyageBad + "Argument '" + param + "' must be " + want + ", not " + got
	},
	wrongValue: func(param, want string) string { return voyageBad + "Argument '" + param + "' must be " + want },
	outOfRange: func(param, low, high string) string {
		return voyageBad + "Argument '" + param + "' must be from " + low + " to " + high
	},
	readable: func(err error) string { return voyageBad + err.Error() },
}

var voyageSizes = []int{256, 512, 1024, 2048}

var voyageEmbedders = map[string]*embedder{
	"embed":           {dims: 1024, choices: voyageSizes, tokens: 32_000, inputs: 1000, unit: true},
	"voyage-3.5":      {dims: 1024, choices: voyageSizes, tokens: 32_000, inputs: 1000, unit: true},
	"voyage-3.5-lite": {dims: 1024, choices: voyageSizes, tokens: 32_000, inputs: 1000, unit: true},
	"voyage-3-large":  {dims: 1024, choices: voyageSizes, tokens: 32_000, inputs: 1000, unit: true},
	"voyage-code-3":   {dims: 1024, choices: voyageSizes, tokens: 32_000, inputs: 1000, unit: true},
	"voyage-law-2":    {dims: 1024, tokens: 16_000, inputs: 128, unit: true},
}

func voyageUnknown(name string) *refusal {
	return &refusal{status: 400, message: "Model " + name + " is not supported."}
}

func (s *taskWires) voyageEmbeddings(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(voyageWire, w, r, func(body []byte) *refusal {
		c, refused := reader(voyageWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{checker: *c}
		kind, packed := e.voyage()
		return s.perform(w, r, started, &e.checker, whole(voyageWire, `{"object":"list","data":[],"model":"m"}`, func() []byte {
			dst := listed([]byte(`{"object":"list","data":`), e.vectors(), func(dst []byte, i int, v []float32) []byte {
				dst = append(dst, `{"object":"embedding","embedding":`...)
				switch small := quantized(v, kind); {
				case kind == "float" && packed:
					dst = appendPacked(dst, v)
				case kind == "float":
					dst = appendVector(dst, v)
				case packed:
					raw := make([]byte, len(small))
					for i, n := range small {
						raw[i] = byte(n)
					}
					dst = appendBytes(dst, raw)
				default:
					dst = appendInts(dst, small)
				}
				return append(appendInt(append(dst, `,"index":`...), i), '}')
			})
			dst = appendText(append(dst, `,"model":`...), e.ask.name)
			return append(appendCounts(dst, "usage", e.ask.knobs.usage, counted{"total_tokens", e.total()}), '}')
		}))
	})
}

// voyage reads a request, and tells the type of numbers and whether they are packed.
func (e *embeds) voyage() (kind string, packed bool) {
	kind = "float"
	truncate := true
	members(&e.checker, e, e.root, "", map[string]field[*embeds]{
		"model": func(e *embeds, v *node, p string) {
			if e.typed(v, text, p) {
				e.model = asked(&e.checker, v.text, voyageEmbedders, voyageUnknown)
			}
		},
		"input":            nil,
		"input_type":       func(e *embeds, v *node, p string) { e.prefix = e.words(v, p, "query", "document") },
		"truncation":       func(e *embeds, v *node, p string) { truncate = e.typed(v, boolean, p) && v.yes() },
		"output_dimension": func(e *embeds, v *node, p string) { e.dims = int(e.integer(v, p, 1, anyInt)) },
		"output_dtype": func(e *embeds, v *node, p string) {
			kind = e.words(v, p, "float", "int8", "uint8", "binary", "ubinary")
		},
		"encoding_format": func(e *embeds, v *node, p string) { packed = e.words(v, p, "base64") != "" },
	}, "input", "model")
	if e.fault != nil {
		return kind, packed
	}
	e.sized("output_dimension")
	input := e.root.get("input")
	if input.is(text) {
		e.add(input, "input")
	} else {
		e.each(input, "input", e.add)
	}
	switch {
	case e.fault != nil:
	case len(e.texts) == 0:
		e.refuse("input", "", voyageBad+"Argument 'input' must not be an empty list")
	case len(e.texts) > e.model.inputs:
		e.refuse("input", "", "The batch size limit is "+itoa(e.model.inputs)+". Your batch size is "+itoa(len(e.texts))+".")
	}
	for i, n := range e.counts {
		if n == 0 {
			e.refuse("input", "", voyageBad+"Input cannot contain empty strings or empty lists")
		}
		if n > e.model.tokens && !truncate {
			e.refuse("input", "", voyageBad+"the example at index "+itoa(i)+" in your batch has too many tokens and does not fit into the model's context window of "+itoa(e.model.tokens)+" tokens.")
		}
		e.counts[i] = min(n, e.model.tokens)
	}
	return kind, packed
}

// sized settles the number of dimensions; 0 is the model's own.
func (e *embeds) sized(param string) {
	if e.dims == 0 {
		e.dims = e.model.dims
		return
	}
	if !e.model.fits(e.dims) {
		var sizes []string
		for _, n := range e.model.choices {
			sizes = append(sizes, itoa(n))
		}
		if sizes == nil {
			sizes = []string{itoa(e.model.dims)}
		}
		e.wrongValue(param, "one of "+strings.Join(sizes, ", "))
	}
}
