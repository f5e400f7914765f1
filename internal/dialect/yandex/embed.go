package yandex

import (
	"iter"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/vector"
)

// embedding requests one vector per call at /foundationModels/v1/textEmbedding: a call has one text.
func embedding(ask dialect.Ask, ep *catalog.Endpoint, t *task.Embedding) iter.Seq2[*completion.Event, error] {
	return embed.Perform(ask, ep, t, embed.Limits{Inputs: 1}, func(batch []task.Input) (out embed.Answer, err error) {
		texts, err := embed.Texts(ep, batch)
		if err != nil {
			return out, err
		}
		b := rawjson.AppendText([]byte(`{"modelUri":`), address(ep.UpstreamID, t.InputType))
		b = rawjson.AppendText(append(b, `,"text":`...), texts[0])
		if t.Dimensions > 0 {
			b = strconv.AppendInt(append(b, `,"dim":"`...), int64(t.Dimensions), 10) // JSON of protocol buffers has 64-bit numbers as strings
			b = append(b, '"')
		}
		d, err := embed.Get(ask, dialect.Call{Path: "/foundationModels/v1/textEmbedding", Body: append(b, '}'), Unsent: append(purpose(ep, t), embed.Others(t)...)}, 1)
		if err != nil {
			return out, err
		}
		return readEmbedding(ep, &d)
	})
}

// address returns the address of the model for documents or for queries: "emb://folder/text-search-doc/latest". Any input that is not
// called a query is a document. An address of one model of the pair is changed to the other; any other address is kept.
func address(id, inputType string) string {
	if rest, is := strings.CutPrefix(id, "gpt://"); is { // declarations write all model names like this
		id = "emb://" + rest
	}
	switch strings.ToLower(inputType) {
	case "search_query", "query":
		return replaceLast(id, "-doc", "-query")
	case "search_document", "document", "passage":
		return replaceLast(id, "-query", "-doc")
	}
	return id
}

// purpose lists the client's purpose if the model is not one of a pair, or the pair has none for it.
func purpose(ep *catalog.Endpoint, t *task.Embedding) []string {
	known := map[string]string{}
	if strings.Contains(ep.UpstreamID, "-doc") || strings.Contains(ep.UpstreamID, "-query") {
		known = map[string]string{"search_query": "", "query": "", "search_document": "", "document": "", "passage": ""}
	}
	return embed.Purpose(t, known)
}

// replaceLast changes the suffix of one of the parts of an address.
func replaceLast(id, from, to string) string {
	parts := strings.Split(id, "/")
	for i := range parts {
		if name, is := strings.CutSuffix(parts[i], from); is {
			parts[i] = name + to
		}
	}
	return strings.Join(parts, "/")
}

// readEmbedding reads {"embedding":[...],"numTokens":"9","modelVersion":"..."}.
func readEmbedding(ep *catalog.Endpoint, d *embed.Document) (out embed.Answer, err error) {
	values := rawjson.Find(d.JSON, "embedding")
	if e := rawjson.ElementsOf(values); !e.Next() {
		return out, dialect.Empty(ep)
	}
	v, err := d.Vector(values)
	if err != nil {
		return out, dialect.Broken(ep, err)
	}
	out.Vectors, out.Model = []vector.Vector{v}, rawjson.TextAt(d.JSON, "modelVersion")
	tokens := rawjson.Find(d.JSON, "numTokens")
	if text, is := rawjson.Unquote(tokens); is {
		tokens = text
	}
	n, ok := rawjson.Int(tokens)
	out.Usage.Prompt = usage.Count{N: max(n, 0), Reported: ok && n >= 0}
	return out, nil
}
