package gigachat

import (
	"cmp"
	"errors"
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
		body, err := dialect.Object(ask, dialect.Call{Path: "/embeddings", Body: w.B, Unsent: embed.Purpose(t, nil)})
		if err != nil {
			return out, err
		}
		return readEmbeddings(ep, body, len(batch))
	})
}

// readEmbeddings reads {"data":[{"embedding":[...],"index":0,"usage":{"prompt_tokens":6}}],"model":"Embeddings"}: each vector has its usage.
func readEmbeddings(ep *catalog.Endpoint, body []byte, inputs int) (embed.Answer, error) {
	out := embed.Answer{Model: rawjson.TextAt(body, "model")}
	tokens := usage.Of(0)
	for e := rawjson.ElementsOf(rawjson.Find(body, "data")); e.Next(); {
		if out.Vectors == nil {
			out.Vectors = make([][]float32, inputs)
		}
		i, ok := rawjson.Int(rawjson.Find(e.Value, "index"))
		if !ok || i < 0 || i >= int64(inputs) || out.Vectors[i] != nil {
			return out, dialect.Broken(ep, errors.New("the vectors are not those of the inputs"))
		}
		var err error
		if out.Vectors[i], err = embed.Vector(rawjson.Find(e.Value, "embedding")); err != nil {
			return out, dialect.Broken(ep, err)
		}
		n, reported := rawjson.Int(rawjson.FindPath(e.Value, "usage", "prompt_tokens"))
		embed.Add(&tokens, usage.Count{N: n, Reported: reported})
	}
	if out.Vectors == nil {
		return out, dialect.Empty(ep)
	}
	out.Usage.Prompt = tokens
	return out, nil
}
