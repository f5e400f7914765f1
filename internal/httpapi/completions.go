package httpapi

import (
	"weir/internal/httpserver"
	"weir/internal/wire/chat"
	"weir/internal/wire/completions"
)

// postCompletions serves POST /v1/completions, the legacy style, as a chat whose one message is the prompt: whole or as a stream of events.
func (x *request) postCompletions() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	body, asked, err := completions.Decode(body)
	if err != nil {
		return err
	}
	if err := x.memory.Charge(int64(len(body))); err != nil {
		return err
	}
	req, err := x.decodeChat(body)
	if err != nil {
		return err
	}
	if err := x.reserve(req); err != nil {
		return err
	}
	call := x.newCall(req, "completions", chat.PromptText(req))
	options := chat.OptionsOf(req, x.generation, x.at.Unix(), false)
	if req.Stream {
		return x.performStream(call, httpserver.ErrorObject, func(w *frameWriter) frames { return chat.NewStream(completions.NewWriter(w, asked), options) })
	}
	whole := chat.NewWhole(completions.NewWriter(wholeWriter{x}, asked), options)
	defer whole.Close()
	return x.perform(call, whole)
}
