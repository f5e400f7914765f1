package cohere

import (
	"iter"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// maxInputs is how many inputs a call may have (Cohere, API reference, Embed v2).
const maxInputs = 96

// embedding requests vectors at /v2/embed in the client's form.
func (d *Dialect) embedding(ask dialect.Ask, ep *catalog.Endpoint, t *task.Embedding) iter.Seq2[*completion.Event, error] {
	limits := embed.Limits{Inputs: limit(ep.Provider.Quirks.MaxInputs, maxInputs), Tokens: int64(ep.Provider.Quirks.MaxInputTokens)}
	if alone(ep, t) && slices.ContainsFunc(t.Inputs, func(in task.Input) bool { return image(&in) != "" }) {
		limits.Inputs = 1
	}
	return embed.Perform(ask, ep, t, limits, func(batch []task.Input) (out embed.Answer, err error) {
		packed := d.forms.Packed(ask, t)
		body, unsent, err := encodeEmbed(ep, t, batch, packed)
		if err != nil {
			return out, err
		}
		doc, err := embed.Get(ask, dialect.Call{Path: "/v2/embed", Body: body, Unsent: unsent}, len(batch))
		if err != nil {
			return out, err
		}
		out, err = readEmbed(ep, &doc)
		d.forms.Answered(ask, packed, out.Vectors)
		return out, err
	})
}

func limit(own, usual int) int {
	if own > 0 {
		return min(own, usual)
	}
	return usual
}

// inputTypes maps the purposes that clients name to the wire's words.
var inputTypes = map[string]string{
	"search_query": "search_query", "query": "search_query", "search_document": "search_document", "document": "search_document", "passage": "search_document",
	"classification": "classification", "clustering": "clustering", "image": "image",
}

// inputType returns the wire's word for the purpose, which the wire requires. Without one from the client it is a document, the most
// usual.
func inputType(ep *catalog.Endpoint, t *task.Embedding) (string, error) {
	if t.InputType == "" {
		return "search_document", nil
	}
	if word, known := inputTypes[strings.ToLower(t.InputType)]; known {
		return word, nil
	}
	f := dialect.Unsupported(ep, "input_type must be search_query, search_document, classification, clustering or image.")
	f.Param = "input_type"
	return "", f
}

// alone reports whether an image must be the only input of a call, in a field of its own: so it is for the purpose "image", which gives
// one vector for all images of a call, and for the models before embed-v4.0, which have no other purpose for images (Cohere, Embed v3.0
// models are now multimodal).
func alone(ep *catalog.Endpoint, t *task.Embedding) bool {
	return strings.EqualFold(t.InputType, "image") || strings.Contains(ep.MakersID(), "-v3.0")
}

// image is the address of an input that is one image, "" otherwise.
func image(in *task.Input) string {
	if len(in.Parts) != 1 {
		return ""
	}
	return in.Parts[0].ImageURL
}

// foreign are members that only other wires have, beside those that are translated: this one refuses what it does not know.
var foreign = []string{"encoding_format", "late_chunking", "max_chunks_per_doc", "normalized", "rank_fields", "task", "truncation"}

func encodeEmbed(ep *catalog.Endpoint, t *task.Embedding, batch []task.Input, packed bool) (body []byte, unsent []string, err error) {
	word, err := inputType(ep, t)
	if err != nil {
		return nil, nil, err
	}
	sole := ""
	if alone(ep, t) {
		if sole = image(&batch[0]); sole != "" && word != "image" {
			word = "image"
			if t.InputType != "" {
				unsent = append(unsent, "input_type")
			}
		}
	}
	var w rawjson.Writer
	w.Object()
	w.Name("model").Text(ep.UpstreamID)
	w.Name("input_type").Text(word)
	w.Name("embedding_types").Array()
	switch {
	case t.Numbers != "":
		w.Text(t.Numbers)
	case packed:
		w.Text("base64")
	default:
		w.Text("float")
	}
	w.EndArray()
	if t.Dimensions > 0 {
		w.Name("output_dimension").Int(int64(t.Dimensions))
	}
	known := append([]string{"input_type", "embedding_types", "output_dimension", "texts", "inputs", "images"}, foreign...)
	unsent = append(unsent, dialect.WriteExtra(&w, t.Extra, &ep.Provider.Quirks, known...)...)
	if sole != "" {
		w.Name("images").Texts([]string{sole})
		w.EndObject()
		return w.B, unsent, nil
	}
	if texts, err := embed.Texts(ep, batch); err == nil {
		w.Name("texts").Texts(texts)
		w.EndObject()
		return w.B, unsent, nil
	}
	w.Name("inputs").Array()
	for i := range batch {
		if batch[i].Tokens != nil {
			return nil, nil, embed.NoTokens(ep)
		}
		w.Object()
		w.Name("content").Array()
		for j := range batch[i].Parts {
			embed.WritePart(&w, &batch[i].Parts[j])
		}
		w.Close("]}")
	}
	w.Close("]}")
	return w.B, unsent, nil
}

// types are the forms of vectors in an answer; one of them is asked for.
var types = []string{"base64", "float", "int8", "uint8", "binary", "ubinary"}

// readEmbed reads {"embeddings":{"base64":[...]},"meta":{"billed_units":{...}}}. A server that does not support base64 answers with
// floats.
func readEmbed(ep *catalog.Endpoint, d *embed.Document) (out embed.Answer, err error) {
	out.ID = rawjson.TextAt(d.JSON, "id")
	for m := rawjson.MembersOf(rawjson.Find(d.JSON, "embeddings")); m.Next(); {
		if !slices.Contains(types, string(m.Name)) || out.Vectors != nil {
			continue
		}
		for e := rawjson.ElementsOf(m.Value); e.Next(); {
			v, err := d.Vector(e.Value)
			if err != nil {
				return out, dialect.Broken(ep, err)
			}
			out.Vectors = append(out.Vectors, v)
		}
	}
	if out.Vectors == nil {
		return out, dialect.Empty(ep)
	}
	billed := rawjson.FindPath(d.JSON, "meta", "billed_units")
	texts, images := count(rawjson.Find(billed, "input_tokens")), count(rawjson.Find(billed, "image_tokens"))
	if texts.Reported || images.Reported {
		out.Usage.Prompt = usage.Count{N: texts.N + images.N, Reported: texts.N <= most && images.N <= most}
		out.Usage.PromptImage = images
	}
	return out, nil
}

const most = 1 << 40

// count reads a whole number of zero or more.
func count(v []byte) usage.Count {
	n, ok := rawjson.Int(v)
	return usage.Count{N: max(n, 0), Reported: ok && n >= 0}
}
