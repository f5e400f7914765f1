package voyage

import (
	"cmp"
	"iter"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

const maxInputs = 1000 // per call (Voyage AI, Text embeddings)

// maxTokens is how many tokens all inputs of one call may have together (Voyage AI, Text embeddings); for an unknown model, the smallest
// limit.
func maxTokens(model string) int64 {
	switch model {
	case "voyage-4-lite", "voyage-3.5-lite":
		return 1_000_000
	case "voyage-4", "voyage-3.5", "voyage-2":
		return 320_000
	}
	return 120_000
}

// embedding requests vectors at /embeddings in the client's form.
func (d *Dialect) embedding(ask dialect.Ask, ep *catalog.Endpoint, t *task.Embedding) iter.Seq2[*completion.Event, error] {
	q := &ep.Provider.Quirks
	limits := embed.Limits{Inputs: cmp.Or(q.MaxInputs, maxInputs), Tokens: cmp.Or(int64(q.MaxInputTokens), maxTokens(ep.MakersID()))}
	return embed.Perform(ask, ep, t, limits, func(batch []task.Input) (out embed.Answer, err error) {
		packed := d.forms.Packed(ask, t)
		body, unsent, err := encodeEmbed(ep, t, batch, packed)
		if err != nil {
			return out, err
		}
		doc, err := embed.Get(ask, dialect.Call{Path: "/embeddings", Body: body, Unsent: append(unsent, embed.Purpose(t, inputTypes)...)}, len(batch))
		if err != nil {
			return out, err
		}
		out, err = readEmbed(ep, &doc, len(batch))
		d.forms.Answered(ask, packed, out.Vectors)
		return out, err
	})
}

// inputTypes maps the purposes that clients name to the wire's words. It has none for other purposes.
var inputTypes = map[string]string{"search_query": "query", "query": "query", "search_document": "document", "document": "document", "passage": "document"}

func encodeEmbed(ep *catalog.Endpoint, t *task.Embedding, batch []task.Input, packed bool) (body []byte, unsent []string, err error) {
	texts, err := embed.Texts(ep, batch)
	if err != nil {
		return nil, nil, err
	}
	var w rawjson.Writer
	w.Object()
	w.Name("model").Text(ep.UpstreamID)
	if packed { // numbers have no name there
		w.Name("encoding_format").Text("base64")
	}
	if t.Numbers != "" {
		w.Name("output_dtype").Text(t.Numbers)
	}
	if !dialect.HasExtra(t.Extra, "truncation") { // a text that is too long is refused, as by every other wire
		w.Name("truncation").Bool(false)
	}
	if t.Dimensions > 0 {
		w.Name("output_dimension").Int(int64(t.Dimensions))
	}
	if word := inputTypes[strings.ToLower(t.InputType)]; word != "" {
		w.Name("input_type").Text(word)
	}
	w.Name("input").Texts(texts)
	known := append([]string{"input", "encoding_format", "output_dtype", "output_dimension", "input_type"}, foreign...)
	unsent = dialect.WriteExtra(&w, t.Extra, &ep.Provider.Quirks, known...)
	w.EndObject()
	return w.B, unsent, nil
}

// readEmbed reads {"data":[{"embedding":"...","index":0}],"model":"...","usage":{"total_tokens":9}}.
func readEmbed(ep *catalog.Endpoint, d *embed.Document, inputs int) (out embed.Answer, err error) {
	if out.Vectors, err = d.Indexed(rawjson.Find(d.JSON, "data"), inputs, nil); err != nil {
		return out, dialect.Broken(ep, err)
	}
	if out.Vectors == nil {
		return out, dialect.Empty(ep)
	}
	out.Model, out.Usage = rawjson.TextAt(d.JSON, "model"), used(d.JSON)
	return out, nil
}

// used returns the token counts of an answer.
func used(body []byte) usage.Usage {
	n, ok := rawjson.Int(rawjson.FindPath(body, "usage", "total_tokens"))
	return usage.Usage{Prompt: usage.Count{N: max(n, 0), Reported: ok && n >= 0}, Completion: usage.Of(0)}
}
