package httpapi

import (
	"net/http"
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/relay"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// maxNote is how much of a header that is kept with a call is kept, in bytes.
const maxNote = 256

// postChatCompletions serves POST /v1/chat/completions, whole or as a stream of events.
func (x *request) postChatCompletions() error {
	req, err := x.readChat()
	if err != nil {
		return err
	}
	if err := x.reserve(req); err != nil {
		return err
	}
	call := x.newCall(req, "completions", chat.PromptText(req))
	options := chat.OptionsOf(req, x.generation, x.at.Unix(), x.strict())
	defer func() { x.record = call.Record }()
	if req.Stream {
		return x.completeStream(call, options)
	}
	whole := chat.NewWhole(wholeWriter{x}, options)
	defer whole.Close()
	return x.api.Relay.Complete(x.context(), call, whole)
}

// readChat reads the body of a chat request.
func (x *request) readChat() (*completion.Request, error) {
	body, err := x.readBody()
	if err != nil {
		return nil, err
	}
	return x.decodeChat(body)
}

// decodeChat is the request of a body in the chat style.
func (x *request) decodeChat(body []byte) (*completion.Request, error) {
	shifted := false
	body, err := x.withPreset(body, func(body []byte, p *wire.Preset, model string) (out []byte) {
		out, shifted = chat.WithPreset(body, p, model)
		return out
	})
	if err != nil {
		return nil, err
	}
	req, err := chat.Decode(body)
	if err != nil && shifted {
		err = wire.Unshift(err, "messages")
	}
	if err != nil {
		return nil, err
	}
	req.Account = x.caller.Wallet
	req.Memory = &x.memory // what a provider sends is paid for: it counts, and is not refused
	x.usePlugins(req)
	x.asked = req.Models[0]
	if req.SessionID == "" {
		if req.SessionID = x.header("X-Session-Id"); len(req.SessionID) > 256 {
			return nil, fault.Field("httpapi.chat", "session_id", "X-Session-Id must have at most 256 bytes.")
		}
	}
	return req, nil
}

func (x *request) completeStream(call *relay.Call, o chat.Options) error {
	o.BareErrors = chat.NoChoices(x.header("User-Agent"))
	s := x.openStream(httpserver.ErrorObject, func(w *frameWriter) frames { return chat.NewStream(w, o) })
	defer s.silence() // also when the relay panics
	err := x.api.Relay.Complete(x.context(), call, s.sink())
	s.silence()
	return err
}

// strict reports whether message.content must always be an array.
func (x *request) strict() bool {
	return x.caller.Strict || x.api.cfg.Strict || strings.EqualFold(x.header("X-Response-Schema"), "strict")
}

// header is a request header by its canonical name.
func (x *request) header(name string) string {
	if v := x.r.Header[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// note is the first of some headers that is there, cut to what a record keeps.
func (x *request) note(names ...string) string {
	for _, name := range names {
		if v := x.header(name); v != "" {
			return strings.ToValidUTF8(v[:min(len(v), maxNote)], "")
		}
	}
	return ""
}

// wholeWriter writes a whole answer, head and body, with its one Write.
type wholeWriter struct{ x *request }

// Write sends the answer.
func (w wholeWriter) Write(body []byte) (int, error) {
	if err := w.x.r.Context().Err(); err != nil && w.x.named == nil { // a named answer is for the client's next try, too
		return 0, err
	}
	w.x.writeBody(http.StatusOK, jsonType, body)
	return len(body), nil
}
