// Package rerank is the rerank style: it decodes POST /v1/rerank and encodes the answer, in the shape that clients of Cohere, Jina and vLLM
// have in common. It must not know the endpoint of a request, or its cost beyond printing it.
package rerank

import (
	"iter"
	"math"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

const op = "rerank.Decode"

// Limits of a request.
const (
	maxDocuments = 10_000
	maxUser      = 256 // characters
)

const chunkTokens = 500 // a longer document is billed as several

// Decode reads the body of a rerank request and keeps no view into it. It fails with fault.Invalid, StringTooLong, DuplicateKey or
// TooDeep; the error's Param is the path of the offending field. Unknown fields go to the provider.
func Decode(body []byte) (*completion.Request, error) { return decode(body, true) }

// DecodeV2 is Decode of the second version of Cohere's API, whose answers have no documents unless the request wants them.
func DecodeV2(body []byte) (*completion.Request, error) { return decode(body, false) }

func decode(body []byte, documents bool) (*completion.Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := decoder{Reader: wire.NewRequest(body, op, ""), req: &completion.Request{N: 1}, task: &task.Rerank{Return: documents}}
	d.req.Task = d.task
	d.run()
	if err := d.Err(); err != nil {
		return nil, err
	}
	d.measure()
	return d.req, nil
}

// maxCounted bounds the bytes of queries that are counted: one long query for many documents must not occupy the tokenizer.
const maxCounted = 4 << 20

// PromptText yields the text that a model reads, piece by piece: the query once for each document.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t, _ := req.Task.(*task.Rerank)
		query, left := []byte(t.Query), maxCounted
		for _, document := range t.Documents {
			if left -= len(query); left > 0 && !yield(query) || !yield([]byte(document)) {
				return
			}
		}
	}
}

// decoder is the state of one Decode.
type decoder struct {
	wire.Reader
	req   *completion.Request
	task  *task.Rerank
	query bool
}

func (d *decoder) run() {
	d.Members(d.field)
	switch {
	case len(d.req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "model is required: a slug such as vendor/model.")
	case !d.query:
		d.FailAt(fault.Invalid, "query", "query is required: a text.")
	case d.task.Documents == nil:
		d.FailAt(fault.Invalid, "documents", "documents is required: an array of texts, or of objects with a text.")
	}
}

func (d *decoder) field(name string) {
	switch name {
	case "model":
		if slug, ok := d.Slug(); ok {
			d.req.Models = []string{slug}
		}
	case "query":
		d.task.Query, d.query = d.Filled()
	case "documents":
		d.documents()
	case "top_n", "top_k": // Cohere's and Voyage's name of it
		if n, ok := d.Int(1, math.MaxInt32); ok {
			d.task.TopN = int(n)
		}
	case "return_documents":
		if yes, ok := d.Bool(); ok {
			d.task.Return = yes
		}
	case "user":
		d.req.User, _ = d.Stored(maxUser)
	case "provider":
		d.req.Preferences = d.Preferences()
	default:
		d.task.Extra = d.Extra(d.task.Extra, name)
	}
}

func (d *decoder) documents() {
	if !d.Array() {
		return
	}
	for d.Element() {
		if len(d.task.Documents) == maxDocuments {
			d.TooMany(maxDocuments)
			return
		}
		switch d.Kind() {
		case rawjson.String:
			text, _ := d.Filled()
			d.task.Documents = append(d.task.Documents, text)
		case rawjson.Object:
			d.task.Documents = append(d.task.Documents, d.object())
		default:
			d.Fail(fault.Invalid, "%s must be a string, or an object with a text.", d.Path())
		}
	}
	if d.task.Documents == nil {
		d.FailAt(fault.Invalid, "documents", "documents must not be an empty array.")
	}
}

// object reads {"text": "..."}.
func (d *decoder) object() (text string) {
	at, has := d.Path(), false
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if string(name) == "text" {
			text, has = d.Filled()
		} else {
			d.Skip()
		}
	}
	if !has {
		d.FailAt(fault.Invalid, at+".text", "%s.text is required.", at)
	}
	return text
}

// measure estimates the tokens. The provider cuts a document that is too long for a model instead of refusing it, so only the query must
// fit.
func (d *decoder) measure() {
	needs, query := &d.req.Needs, wire.TextTokens(d.task.Query)
	for _, document := range d.task.Documents {
		n := wire.TextTokens(document)
		needs.PromptTokens += query + n
		needs.Dense = wire.BytesPerToken
		d.task.Chunks += int((query + n + chunkTokens - 1) / chunkTokens)
	}
	needs.Longest = wire.LeastTokens(d.task.Query)
	needs.Input = catalog.Text
}
