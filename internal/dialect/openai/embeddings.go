package openai

import (
	"cmp"
	"iter"
	"slices"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// Limits of one call (OpenAI, API reference, Create embeddings).
const (
	maxInputs      = 2048
	maxInputTokens = 300_000
)

// embed requests vectors at /embeddings in the client's form, so that they are passed on as bytes.
func (d *Dialect) embed(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request, t *task.Embedding) iter.Seq2[*completion.Event, error] {
	q := &ep.Provider.Quirks
	limits := embed.Limits{Inputs: cmp.Or(q.MaxInputs, maxInputs), Tokens: cmp.Or(int64(q.MaxInputTokens), maxInputTokens)}
	return embed.Perform(ask, ep, t, limits, func(batch []task.Input) (embed.Answer, error) {
		packed := d.forms.Packed(ask, t)
		body, unsent := encodeEmbedding(ep, req, t, batch, packed)
		doc, err := embed.Get(ask, dialect.Call{Path: "/embeddings", Body: body, Unsent: unsent}, len(batch))
		if err != nil {
			return embed.Answer{}, err
		}
		out, err := readEmbeddings(ep, &doc, len(batch))
		d.forms.Answered(ask, packed, out.Vectors)
		return out, err
	})
}

func encodeEmbedding(ep *catalog.Endpoint, req *completion.Request, t *task.Embedding, batch []task.Input, packed bool) (body []byte, unsent []string) {
	q := &ep.Provider.Quirks
	named := func(name string) string { return cmp.Or(q.Rename[name], name) }
	w := rawjson.Writer{B: make([]byte, 0, 256+sizeOf(batch))}
	w.Object()
	w.Name("model").Text(ep.UpstreamID)
	w.Name("input").Array()
	for i := range batch {
		writeInput(&w, &batch[i])
	}
	w.EndArray()
	if name := "encoding_format"; !slices.Contains(q.Drop, name) {
		format := "float"
		if packed {
			format = "base64"
		}
		w.Name(named(name)).Text(format)
	}
	if t.Dimensions > 0 {
		w.Name(named("dimensions")).Int(int64(t.Dimensions))
	}
	if name := "input_type"; slices.Contains(q.Drop, name) {
		unsent = embed.Purpose(t, nil)
	} else if t.InputType != "" {
		w.Name(named(name)).Text(t.InputType)
	}
	if req.User != "" && !slices.Contains(q.Drop, "user") {
		w.Name("user").Text(dialect.HashUser(req.Account, []byte(req.User)))
	}
	extra := t.Extra
	if t.Numbers != "" { // the server's own name is what its clients write
		extra = append(slices.Clip(extra), t.Asked)
	}
	unsent = append(unsent, dialect.WriteExtra(&w, extra, q, "input", named("encoding_format"), named("dimensions"), named("input_type"))...)
	w.EndObject()
	return w.B, unsent
}

func sizeOf(batch []task.Input) (n int) {
	for i := range batch {
		n += 4 + 7*len(batch[i].Tokens)
		for j := range batch[i].Parts {
			n += len(batch[i].Parts[j].Text) + len(batch[i].Parts[j].ImageURL) + 64
		}
	}
	return n
}

// writeInput writes one input: its tokens, its text, or an object of its parts where there are images among them.
func writeInput(w *rawjson.Writer, in *task.Input) {
	if in.Tokens != nil {
		w.Array()
		for _, n := range in.Tokens {
			w.Int(int64(n))
		}
		w.EndArray()
		return
	}
	if text, plain := embed.Text(in); plain {
		w.Text(text)
		return
	}
	w.Object()
	w.Name("content").Array()
	for i := range in.Parts {
		embed.WritePart(w, &in.Parts[i])
	}
	w.Close("]}")
}

// readEmbeddings reads {"data":[{"index":0,"embedding":...}],"usage":{...}}.
func readEmbeddings(ep *catalog.Endpoint, d *embed.Document, inputs int) (out embed.Answer, err error) {
	if out.Vectors, err = d.Indexed(rawjson.Find(d.JSON, "data"), inputs, nil); err != nil {
		return out, dialect.Broken(ep, err)
	}
	if out.Vectors == nil {
		return out, dialect.Empty(ep)
	}
	out.ID, out.Model = text(rawjson.Find(d.JSON, "id")), text(rawjson.Find(d.JSON, "model"))
	out.Usage = taskUsage(d.JSON, &ep.Provider.Quirks)
	return out, nil
}

// taskUsage reads the tokens of an answer without text. Some servers report only their sum, all of which counts as the prompt.
func taskUsage(body []byte, q *catalog.Quirks) usage.Usage {
	v := rawjson.Find(body, "usage")
	u, err := parseUsage(v, q)
	if err != nil || u == nil {
		return usage.Usage{}
	}
	if !u.Prompt.Reported {
		set(&u.Prompt, rawjson.Find(v, "total_tokens"))
	}
	return *u
}
