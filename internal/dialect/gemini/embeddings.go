package gemini

import (
	"cmp"
	"iter"
	"net/url"
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

// maxEmbeds is how many requests a batch may have (Gemini API, models.batchEmbedContents).
const maxEmbeds = 100

// taskTypes maps the purposes that clients name to the wire's words (Gemini API, TaskType). The wire's own words pass unchanged.
var taskTypes = map[string]string{
	"search_query": "RETRIEVAL_QUERY", "query": "RETRIEVAL_QUERY", "search_document": "RETRIEVAL_DOCUMENT", "document": "RETRIEVAL_DOCUMENT",
	"passage": "RETRIEVAL_DOCUMENT", "classification": "CLASSIFICATION", "clustering": "CLUSTERING", "semantic_similarity": "SEMANTIC_SIMILARITY",
	"question_answering": "QUESTION_ANSWERING", "fact_verification": "FACT_VERIFICATION", "code_retrieval_query": "CODE_RETRIEVAL_QUERY",
	"retrieval_query": "RETRIEVAL_QUERY", "retrieval_document": "RETRIEVAL_DOCUMENT",
}

// taskPrefixes are the beginnings of texts by which some models know the purpose (Gemini API, Embeddings, task prefixes).
var taskPrefixes = map[string]string{
	"RETRIEVAL_QUERY": "task: search result | query: ", "RETRIEVAL_DOCUMENT": "title: none | text: ", "CLASSIFICATION": "task: classification | query: ",
	"CLUSTERING": "task: clustering | query: ", "SEMANTIC_SIMILARITY": "task: sentence similarity | query: ", "QUESTION_ANSWERING": "task: question answering | query: ",
	"FACT_VERIFICATION": "task: fact checking | query: ", "CODE_RETRIEVAL_QUERY": "task: code retrieval | query: ",
}

// embed requests vectors with batchEmbedContents. The wire does not scale vectors with fewer dimensions than the model's own to length 1:
// this is done here, as for every other provider.
func (d *Dialect) embed(ask dialect.Ask, ep *catalog.Endpoint, t *task.Embedding) iter.Seq2[*completion.Event, error] {
	q := &ep.Provider.Quirks
	limits := embed.Limits{Inputs: min(cmp.Or(q.MaxInputs, maxEmbeds), maxEmbeds), Tokens: int64(q.MaxInputTokens)}
	return embed.Perform(ask, ep, t, limits, func(batch []task.Input) (out embed.Answer, err error) {
		body, err := encodeEmbeds(ep, t, batch)
		if err != nil {
			return out, err
		}
		path := "/models/" + url.PathEscape(ep.UpstreamID) + ":batchEmbedContents"
		d, err := embed.Get(ask, dialect.Call{Path: path, Body: body, Unsent: append(embed.Purpose(t, taskTypes), embed.Others(t)...)}, len(batch))
		if err != nil {
			return out, err
		}
		out, err = readEmbeds(ep, &d)
		if t.Dimensions > 0 {
			for i := range out.Vectors {
				v := out.Vectors[i].Values()
				embed.Normalize(v)
				out.Vectors[i] = vector.Of(v)
			}
		}
		return out, err
	})
}

func encodeEmbeds(ep *catalog.Endpoint, t *task.Embedding, batch []task.Input) ([]byte, error) {
	texts, err := embed.Texts(ep, batch)
	if err != nil {
		return nil, err
	}
	word, prefix := taskTypes[strings.ToLower(t.InputType)], ""
	if ep.Facts.InputType == catalog.Prefix {
		word, prefix = "", taskPrefixes[word]
	}
	b := []byte(`{"requests":[`)
	for i, text := range texts {
		if !strings.HasPrefix(text, prefix) { // a client may have written it itself
			text = prefix + text
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(append(b, `{"model":`...), "models/"+ep.UpstreamID)
		b = append(rawjson.AppendText(append(b, `,"content":{"parts":[{"text":`...), text), "}]}"...)
		if word != "" {
			b = rawjson.AppendText(append(b, `,"taskType":`...), word)
		}
		if t.Dimensions > 0 {
			b = strconv.AppendInt(append(b, `,"outputDimensionality":`...), int64(t.Dimensions), 10)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...), nil
}

// readEmbeds reads {"embeddings":[{"values":[...]}],"usageMetadata":{"promptTokenCount":9}}. Older models report no usage.
func readEmbeds(ep *catalog.Endpoint, d *embed.Document) (out embed.Answer, err error) {
	for e := rawjson.ElementsOf(rawjson.Find(d.JSON, "embeddings")); e.Next(); {
		v, err := d.Vector(rawjson.Find(e.Value, "values"))
		if err != nil {
			return embed.Answer{}, dialect.Broken(ep, err)
		}
		out.Vectors = append(out.Vectors, v)
	}
	if out.Vectors == nil {
		return out, dialect.Empty(ep)
	}
	n, ok := rawjson.Int(rawjson.FindPath(d.JSON, "usageMetadata", "promptTokenCount"))
	out.Usage.Prompt = usage.Count{N: max(n, 0), Reported: ok && n >= 0}
	return out, nil
}
