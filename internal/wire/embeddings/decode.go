// Package embeddings is the embeddings style: it decodes POST /v1/embeddings and encodes the answer, with vectors as numbers or as base64
// whatever the upstream's form. It must not know the endpoint of a request, or its cost except to print it.
package embeddings

import (
	"iter"
	"math"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

const op = "embeddings.Decode"

// Limits of a request (completions of the specification, section 6).
const (
	maxInputs    = 2048
	maxUser      = 256 // characters
	maxInputType = 64
	maxParts     = 256 // of one input
)

var (
	encodings = []string{"float", "base64"}
	kinds     = []string{"float", "base64", "int8", "uint8", "binary", "ubinary"}
)

// Decode reads the body of an embeddings request and keeps no view into it. It fails with fault.Invalid, StringTooLong, DuplicateKey or
// TooDeep; the error's Param is the path of the offending field. Unknown fields go to the provider.
func Decode(body []byte) (*completion.Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := decoder{Reader: wire.NewRequest(body, op, ""), req: &completion.Request{N: 1}, task: &task.Embedding{}}
	d.req.Task = d.task
	d.run()
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.req, nil
}

// PromptText yields the texts of a request, piece by piece.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t, _ := req.Task.(*task.Embedding)
		for i := range t.Inputs {
			if !wire.PartTexts(t.Inputs[i].Parts, yield) {
				return
			}
		}
	}
}

// decoder is the state of one Decode.
type decoder struct {
	wire.Reader
	req   *completion.Request
	task  *task.Embedding
	input bool
}

func (d *decoder) run() {
	d.Members(d.field)
	switch {
	case len(d.req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "model is required: a slug such as vendor/model.")
	case !d.input:
		d.FailAt(fault.Invalid, "input", "input is required: a text, or an array of texts, of tokens, or of objects with content.")
	}
	d.req.Needs.Input |= catalog.Text
}

func (d *decoder) field(name string) {
	switch name {
	case "model":
		if slug, ok := d.Slug(); ok {
			d.req.Models = []string{slug}
		}
	case "input":
		d.readInput()
	case "encoding_format":
		format, _ := d.Enum(encodings)
		d.task.Base64 = format == "base64"
	case "dimensions", "output_dimension": // Cohere's and Voyage's name of it
		if n, ok := d.Int(1, math.MaxInt32); ok {
			if was := d.task.Dimensions; was > 0 && was != int(n) {
				d.FailAt(fault.Invalid, name, "dimensions and output_dimension contradict each other: send one of them.")
			}
			d.task.Dimensions = int(n)
		}
	case "embedding_types", "embedding_type", "output_dtype": // Cohere's, Jina's and Voyage's name of it
		d.numbers(name)
	case "input_type":
		d.task.InputType, _ = d.Stored(maxInputType)
	case "user":
		d.req.User, _ = d.Stored(maxUser)
	case "provider":
		d.req.Preferences = d.Preferences()
	default:
		d.task.Extra = d.Extra(d.task.Extra, name)
	}
}

// numbers reads the kind of numbers in the vectors, as one word or as a list of one. An answer has one vector for each input, in one kind.
func (d *decoder) numbers(name string) {
	at, value := d.Path(), d.Skip()
	words := wire.Texts(value)
	switch {
	case rawjson.IsNull(value):
	case len(words) != 1 || !slices.Contains(kinds, words[0]):
		d.FailAt(fault.Invalid, at, "%s must be one of %s.", at, strings.Join(kinds, ", "))
	case words[0] == "base64":
		d.task.Base64 = true
	case words[0] != "float":
		d.task.Numbers, d.task.Asked = words[0], task.Extra{Name: name, Value: slices.Clone(value)}
	}
}

// readInput reads any of the five forms. All elements must have the form of the first.
func (d *decoder) readInput() {
	switch d.Kind() {
	case rawjson.Null:
		d.Skip()
	case rawjson.String:
		d.text()
	case rawjson.Array:
		d.list()
	case rawjson.Invalid:
	default:
		d.Fail(fault.Invalid, "input must be a string or an array.")
	}
}

// list reads an array: the tokens of one input, or inputs.
func (d *decoder) list() {
	start := d.Mark()
	d.Array()
	if !d.Element() {
		d.FailAt(fault.Invalid, "input", "input must not be an empty array.")
		return
	}
	first := d.Kind()
	d.Back(start)
	if first == rawjson.Number {
		d.tokens()
		return
	}
	d.Array()
	for d.Element() {
		if len(d.task.Inputs) == maxInputs {
			d.TooMany(maxInputs)
			return
		}
		if kind := d.Kind(); kind != first && kind != rawjson.Invalid {
			d.Fail(fault.Invalid, "%s is %s, but the elements before it are %s: all must have one form.", d.Path(), kind, plural(first))
			return
		}
		switch first {
		case rawjson.String:
			d.text()
		case rawjson.Array:
			d.tokens()
		case rawjson.Object:
			d.object()
		default:
			d.Fail(fault.Invalid, "%s must be a string, an array of tokens or an object with content.", d.Path())
		}
	}
}

func plural(k rawjson.Kind) string {
	switch k {
	case rawjson.String:
		return "strings"
	case rawjson.Array:
		return "arrays"
	case rawjson.Object:
		return "objects"
	}
	return "of another kind"
}

// add adds one input of at most so many tokens.
func (d *decoder) add(in task.Input, tokens int64) {
	d.task.Inputs = append(d.task.Inputs, in)
	d.input = true
	least := int64(len(in.Tokens))
	for i := range in.Parts {
		least += wire.LeastTokens(in.Parts[i].Text)
	}
	d.req.Needs.PromptTokens += tokens
	if in.Tokens == nil {
		d.req.Needs.Dense = wire.BytesPerToken
	}
	d.req.Needs.Longest = max(d.req.Needs.Longest, least)
}

func (d *decoder) text() {
	text, ok := d.filled()
	if ok {
		d.add(task.Input{Parts: []task.Part{{Text: text}}}, wire.TextTokens(text))
	}
}

// filled reads a string that must be present and not empty.
func (d *decoder) filled() (string, bool) {
	text, ok := d.Filled()
	if !ok {
		d.Required()
	}
	return text, ok && text != ""
}

// tokens reads an input that is a list of tokens.
func (d *decoder) tokens() {
	at := d.Path()
	tokens := []int32{}
	d.Array()
	for d.Element() {
		n, ok := d.Int(0, math.MaxInt32)
		if !ok {
			d.Required()
			return
		}
		tokens = append(tokens, int32(n))
	}
	if len(tokens) == 0 {
		d.FailAt(fault.Invalid, at, "%s must not be an empty array.", at)
		return
	}
	d.req.Needs.Tokenized = true
	d.add(task.Input{Tokens: tokens}, int64(len(tokens)))
}

// object reads {"content": "text"}, or {"content": [parts]}.
func (d *decoder) object() {
	at := d.Path()
	var in task.Input
	tokens := int64(0)
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if string(name) != "content" {
			d.Skip()
			continue
		}
		if d.Kind() != rawjson.Array {
			if text, ok := d.filled(); ok {
				in.Parts, tokens = append(in.Parts, task.Part{Text: text}), wire.TextTokens(text)
			}
			continue
		}
		d.Array()
		for d.Element() {
			if len(in.Parts) == maxParts {
				d.TooMany(maxParts)
				return
			}
			part, n := d.part()
			in.Parts, tokens = append(in.Parts, part), tokens+n
		}
	}
	if len(in.Parts) == 0 {
		d.FailAt(fault.Invalid, at+".content", "%s.content is required: a text, or an array of parts.", at)
		return
	}
	d.add(in, tokens)
}

// part reads a text, which must not be empty, or an image.
func (d *decoder) part() (p task.Part, tokens int64) {
	p = d.Part(func() string { text, _ := d.filled(); return text })
	if p.ImageURL != "" {
		d.req.Needs.Input |= catalog.Image
		return p, wire.ImageTokens
	}
	return p, wire.TextTokens(p.Text)
}
