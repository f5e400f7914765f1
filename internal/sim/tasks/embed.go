package tasks

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// embedder is a model that turns texts into vectors.
type embedder struct {
	dims    int   // by default
	choices []int // what may be asked for; nil: nothing
	free    bool  // any number up to dims may be asked for
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
	rnd := kit.Random(kit.Fingerprint(of...))
	long := make([]float64, max(dims, e.dims))
	for i := range long {
		long[i] = float64(int64(rnd.Next())) / (1 << 63)
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
	return kit.AppendArray(dst, v, func(dst []byte, _ int, x float32) []byte { return strconv.AppendFloat(dst, float64(x), 'g', -1, 32) })
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
	return kit.AppendArray(dst, v, func(dst []byte, _, n int) []byte { return kit.AppendInt(dst, n) })
}

// openAIEmbedders also serve servers that copy OpenAI.
var openAIEmbedders = map[string]*embedder{
	"embed":                  {dims: 1536, free: true, tokens: 8192, inputs: 2048, unit: true},
	"text-embedding-3-small": {dims: 1536, free: true, tokens: 8192, inputs: 2048, unit: true},
	"text-embedding-3-large": {dims: 3072, free: true, tokens: 8192, inputs: 2048, unit: true},
	"text-embedding-ada-002": {dims: 1536, tokens: 8192, inputs: 2048, unit: true},
}

const embedTokensPerCall = 300_000

// embeds is a request for vectors.
type embeds struct {
	kit.Checker
	model  *embedder
	dims   int
	kinds  []string   // encodings or types asked for
	prefix string     // what the provider puts before each text
	texts  [][]string // each as what its vector follows from
	shown  []string   // the texts as they came
	counts []int      // tokens of each
	images int        // number of inputs that are images
}

func (e *embeds) total() (n int) {
	for _, c := range e.counts {
		n += c
	}
	return n
}

// add takes one text.
func (e *embeds) add(v *kit.Node, param string) {
	if !e.ExpectKind(v, kit.Text, param) {
		return
	}
	plain := e.StripMarkers(v.Text, param)
	e.shown = append(e.shown, v.Text)
	e.texts = append(e.texts, []string{e.prefix, plain})
	e.counts = append(e.counts, kit.CountTokens(plain))
}

func (e *embeds) vectors() [][]float32 {
	out := make([][]float32, len(e.texts))
	for i, of := range e.texts {
		out[i] = e.model.vector(e.dims, append([]string{strconv.Itoa(e.model.dims)}, of...)...)
	}
	return out
}

// openAIEmbeddings serves POST /v1/embeddings.
func (s *Wires) openAIEmbeddings(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(kit.ChatWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(kit.ChatWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{Checker: *c, kinds: []string{"float"}}
		e.openAI()
		return s.Serve(w, r, started, &e.Checker, kit.WholeReply(embeddingsWire, `{"object":"list","data":[],"model":"m"}`, func() []byte {
			dst := kit.AppendArray([]byte(`{"object":"list","data":`), e.vectors(), func(dst []byte, i int, v []float32) []byte {
				dst = append(kit.AppendInt(append(dst, `{"object":"embedding","index":`...), i), `,"embedding":`...)
				if e.kinds[0] == "base64" {
					return append(appendPacked(dst, v), '}')
				}
				return append(appendVector(dst, v), '}')
			})
			dst = kit.AppendText(append(dst, `,"model":`...), e.Request.Name)
			n := e.total()
			return append(kit.AppendCounts(dst, "usage", e.Request.Knobs.Usage, kit.UsageCount{Name: "prompt_tokens", N: n}, kit.UsageCount{Name: "total_tokens", N: n}), '}')
		}))
	})
}

// embeddingsWire has OpenAI's words, and other answers.
var embeddingsWire = kit.NewWholeWire("embeddings", &kit.OpenAIPhrases, (*kit.Refusal).JSON, kit.ChatWire.Admit,
	"This model's maximum context length is 8192 tokens, however you requested 9000 tokens (9000 in your prompt; 0 for the completion). Please reduce your prompt; or completion length.",
	`{"object":"list","model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`)

func (e *embeds) openAI() {
	for i, name := range e.Root.Names {
		switch v := &e.Root.Items[i]; name {
		case "model", "input", "dimensions": // read when the rest is known
		case "encoding_format":
			e.kinds[0] = e.OneOf(v, name, "float", "base64")
		case "user":
			e.ExpectText(v, name)
		default:
			e.Refuse("", "", "Unrecognized request argument supplied: "+name)
		}
	}
	name := e.Root.Get("model")
	if name == nil {
		e.Refuse("model", "missing_required_parameter", "you must provide a model parameter")
		return
	}
	if !e.ExpectKind(name, kit.Text, "model") {
		return
	}
	if e.model = kit.FindModel(&e.Checker, name.Text, openAIEmbedders, kit.UnknownModel); e.model == nil {
		return
	}
	e.dims = e.model.dims
	if v := e.Root.Given("dimensions"); v != nil {
		e.dims = int(e.Integer(v, "dimensions", 1, kit.MaxInteger))
		switch {
		case !e.model.free:
			e.Refuse("dimensions", "", "This model does not support specifying dimensions.")
		case !e.model.fits(e.dims):
			e.Refuse("dimensions", "", "Invalid value for 'dimensions' = "+kit.Itoa(e.dims)+". Must be less than or equal to "+kit.Itoa(e.model.dims)+".")
		}
	}
	if e.openAIInput(e.Root.Given("input")); e.Fault == nil {
		e.openAILimits()
	}
}

func (e *embeds) badInput() {
	e.Refuse("", "", "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
}

func (e *embeds) openAIInput(v *kit.Node) {
	switch {
	case v == nil:
		e.Missing("input")
	case v.Is(kit.Text):
		e.add(v, "input")
	case !v.Is(kit.Array) || len(v.Items) == 0:
		e.badInput()
	case v.Items[0].Is(kit.Number):
		e.addTokens(v)
	case len(v.Items) > e.model.inputs:
		e.badInput()
	default:
		for i := range v.Items {
			switch item := &v.Items[i]; {
			case item.Kind != v.Items[0].Kind:
				e.badInput()
			case item.Is(kit.Text):
				e.add(item, "input")
			default:
				e.addTokens(item)
			}
		}
	}
}

// addTokens takes a text that was cut into tokens by the caller.
func (e *embeds) addTokens(v *kit.Node) {
	if !v.Is(kit.Array) || len(v.Items) == 0 {
		e.badInput()
		return
	}
	for i := range v.Items {
		if n, ok := v.Items[i].Int(); !ok || n < 0 {
			e.badInput()
			return
		}
	}
	e.texts = append(e.texts, []string{"tokens", string(kit.Canonical(nil, v))})
	e.counts = append(e.counts, len(v.Items))
}

func (e *embeds) openAILimits() {
	for i, n := range e.counts {
		switch {
		case n == 0 && e.texts[i][1] == "":
			e.badInput()
		case n > e.model.tokens:
			count := kit.Itoa(n)
			e.Refuse("", "", "This model's maximum context length is "+kit.Itoa(e.model.tokens)+" tokens, however you requested "+count+" tokens ("+count+" in your prompt; 0 for the completion). Please reduce your prompt; or completion length.")
		}
	}
	if n := e.total(); n > embedTokensPerCall {
		e.Refuse("", "max_tokens_per_request", "Requested "+kit.Itoa(n)+" tokens, max "+kit.Itoa(embedTokensPerCall)+" tokens per request")
	}
}

// voyageWire is Voyage AI's: embeddings and rerank.
var voyageWire = kit.NewWholeWire("voyage", &voyagePhrases, detailError,
	kit.ByScheme("Provided API key is invalid.", "Bearer "),
	"The request body is not valid JSON, or some arguments were not specified properly. In particular, the example at index 0 in your batch has too many tokens and does not fit into the model's context window of 32000 tokens.",
	`{"object":"list","model":"m","usage":{"total_tokens":1}}`)

// detailError returns an error as FastAPI services in Python write it.
func detailError(f *kit.Refusal) []byte {
	return append(kit.AppendText([]byte(`{"detail":`), f.Message), '}')
}

const voyageBad = "The request body is not valid JSON, or some arguments were not specified properly. In particular, "

var voyagePhrases = kit.Phrases{
	Item:    kit.OpenAIPhrases.Item,
	Missing: func(param string) string { return voyageBad + "Argument '" + param + "' is missing" },
	Unknown: func(param string) string { return voyageBad + "Argument '" + param + "' is not supported by our API" },
	WrongType: func(param, got, want string) string {
		return voyageBad + "Argument '" + param + "' must be " + want + ", not " + got
	},
	WrongValue: func(param, want string) string { return voyageBad + "Argument '" + param + "' must be " + want },
	OutOfRange: func(param, low, high string) string {
		return voyageBad + "Argument '" + param + "' must be from " + low + " to " + high
	},
	Readable: func(err error) string { return voyageBad + err.Error() },
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

func voyageUnknown(name string) *kit.Refusal {
	return &kit.Refusal{Status: 400, Message: "Model " + name + " is not supported."}
}

func (s *Wires) voyageEmbeddings(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(voyageWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(voyageWire, body)
		if refused != nil {
			return refused
		}
		e := &embeds{Checker: *c}
		kind, packed := e.voyage()
		return s.Serve(w, r, started, &e.Checker, kit.WholeReply(voyageWire, `{"object":"list","data":[],"model":"m"}`, func() []byte {
			dst := kit.AppendArray([]byte(`{"object":"list","data":`), e.vectors(), func(dst []byte, i int, v []float32) []byte {
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
				return append(kit.AppendInt(append(dst, `,"index":`...), i), '}')
			})
			dst = kit.AppendText(append(dst, `,"model":`...), e.Request.Name)
			return append(kit.AppendCounts(dst, "usage", e.Request.Knobs.Usage, kit.UsageCount{Name: "total_tokens", N: e.total()}), '}')
		}))
	})
}

// voyage reads a request, and returns the type of numbers and whether they are packed.
func (e *embeds) voyage() (kind string, packed bool) {
	kind = "float"
	truncate := true
	kit.Members(&e.Checker, e, e.Root, "", map[string]kit.Field[*embeds]{
		"model": func(e *embeds, v *kit.Node, p string) {
			if e.ExpectKind(v, kit.Text, p) {
				e.model = kit.FindModel(&e.Checker, v.Text, voyageEmbedders, voyageUnknown)
			}
		},
		"input":            nil,
		"input_type":       func(e *embeds, v *kit.Node, p string) { e.prefix = e.OneOf(v, p, "query", "document") },
		"truncation":       func(e *embeds, v *kit.Node, p string) { truncate = e.ExpectKind(v, kit.Boolean, p) && v.IsTrue() },
		"output_dimension": func(e *embeds, v *kit.Node, p string) { e.dims = int(e.Integer(v, p, 1, kit.MaxInteger)) },
		"output_dtype": func(e *embeds, v *kit.Node, p string) {
			kind = e.OneOf(v, p, "float", "int8", "uint8", "binary", "ubinary")
		},
		"encoding_format": func(e *embeds, v *kit.Node, p string) { packed = e.OneOf(v, p, "base64") != "" },
	}, "input", "model")
	if e.Fault != nil {
		return kind, packed
	}
	e.sized("output_dimension")
	input := e.Root.Get("input")
	if input.Is(kit.Text) {
		e.add(input, "input")
	} else {
		e.Each(input, "input", e.add)
	}
	switch {
	case e.Fault != nil:
	case len(e.texts) == 0:
		e.Refuse("input", "", voyageBad+"Argument 'input' must not be an empty list")
	case len(e.texts) > e.model.inputs:
		e.Refuse("input", "", "The batch size limit is "+kit.Itoa(e.model.inputs)+". Your batch size is "+kit.Itoa(len(e.texts))+".")
	}
	for i, n := range e.counts {
		if n == 0 {
			e.Refuse("input", "", voyageBad+"Input cannot contain empty strings or empty lists")
		}
		if n > e.model.tokens && !truncate {
			e.Refuse("input", "", voyageBad+"the example at index "+kit.Itoa(i)+" in your batch has too many tokens and does not fit into the model's context window of "+kit.Itoa(e.model.tokens)+" tokens.")
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
			sizes = append(sizes, kit.Itoa(n))
		}
		if sizes == nil {
			sizes = []string{kit.Itoa(e.model.dims)}
		}
		e.WrongValue(param, "one of "+strings.Join(sizes, ", "))
	}
}
