package httpapi

import "weir/internal/wire/rerank"

// postRerank serves POST /v1/rerank.
func (x *exchange) postRerank() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	req, err := rerank.Decode(body)
	if err != nil {
		return err
	}
	if err := x.admitTask(req); err != nil {
		return err
	}
	return x.perform(x.newCall(req, "rerank", rerank.PromptText(req)), rerank.NewWhole(wholeWriter{x}, req, x.generation))
}
