package gigachat

import (
	"cmp"
	"iter"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// maxEmbeds keeps a call small; the service documents no limit.
const maxEmbeds = 128

// embedding requests vectors at /embeddings. They have the model's own size, and are sent as numbers.
func embedding(ask dialect.Ask, ep *catalog.Endpoint, t *task.Embedding) iter.Seq2[*completion.Event, error] {
	q := &ep.Provider.Quirks
	limits := embed.Limits{Inputs: cmp.Or(q.MaxInputs, maxEmbeds), Tokens: int64(q.MaxInputTokens)}
	return embed.Perform(ask, ep, t, limits, func(batch []task.Input) (out embed.Answer, err error) {
		if t.Dimensions > 0 {
			return out, embed.NoDimensions(ep)
		}
		texts, err := embed.Texts(ep, batch)
		if err != nil {
			return out, err
		}
		var w rawjson.Writer
		w.Object()
		w.Name("model").Text(ep.UpstreamID)
		w.Name("input").Texts(texts)
		w.EndObject()
		d, err := embed.Get(ask, dialect.Call{Path: "/embeddings", Body: w.B, Unsent: append(embed.Purpose(t, nil), embed.Others(t)...)}, len(batch))
		if err != nil {
			return out, err
		}
		return readEmbeddings(ep, &d, len(batch))
	})
}

// readEmbeddings reads {"data":[{"embedding":[...],"index":0,"usage":{"prompt_tokens":6}}],"model":"Embeddings"}: each vector has its usage.
func readEmbeddings(ep *catalog.Endpoint, d *embed.Document, inputs int) (out embed.Answer, err error) {
	tokens := usage.Of(0)
	out.Vectors, err = d.Indexed(rawjson.Find(d.JSON, "data"), inputs, func(element []byte) {
		n, reported := rawjson.Int(rawjson.FindPath(element, "usage", "prompt_tokens"))
		embed.Add(&tokens, usage.Count{N: n, Reported: reported})
	})
	if err != nil {
		return out, dialect.Broken(ep, err)
	}
	if out.Vectors == nil {
		return out, dialect.Empty(ep)
	}
	out.Model, out.Usage.Prompt = rawjson.TextAt(d.JSON, "model"), tokens
	return out, nil
}
