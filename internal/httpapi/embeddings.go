package httpapi

import "weir/internal/wire/embeddings"

// postEmbeddings serves POST /v1/embeddings.
func (x *exchange) postEmbeddings() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	req, err := embeddings.Decode(body)
	if err != nil {
		return err
	}
	if err := x.admitTask(req); err != nil {
		return err
	}
	return x.perform(x.newCall(req, "embeddings", embeddings.PromptText(req)), embeddings.NewWhole(wholeWriter{x}, req, x.generation))
}
