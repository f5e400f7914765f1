package httpapi

import (
	"iter"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/wire"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/moderations"
	"weir/internal/wire/rerank"
)

// Largest bodies of requests that are no text, in bytes. Images travel inside them as base64.
const (
	maxEmbeddingsBody = 8 << 20
	maxModerationBody = 32 << 20
	maxRerankBody     = 8 << 20
	maxSpeechBody     = 1 << 20
	maxMediaBody      = 64 << 20
	maxRecordingForm  = 34 << 20 // a recording with its fields and the references of its speakers
	maxRecording      = 26_214_400
)

// atMost is the limit of a route's body that no configuration changes.
func atMost(bytes int64) func(*Config) int64 {
	return func(*Config) int64 { return bytes }
}

// These serve tasks whose request is a JSON object and whose answer comes whole.
var (
	postEmbeddings = whole("embeddings", func(_ *request, body []byte) (*completion.Request, error) { return embeddings.Decode(body) }, embeddings.PromptText,
		func(x *request, req *completion.Request) relay.Sink {
			return embeddings.NewWhole(wholeWriter{x}, req, x.generation)
		})
	postModerations = whole("moderations", func(x *request, body []byte) (*completion.Request, error) {
		return moderations.Decode(body, x.api.cfg.ModerationVendor)
	}, moderations.PromptText,
		func(x *request, _ *completion.Request) relay.Sink {
			return moderations.NewWhole(wholeWriter{x}, string(appendID([]byte("modr-"), 24)))
		})
	postRerank = whole("rerank", func(x *request, body []byte) (*completion.Request, error) {
		if x.route.Pattern == rerankV2 {
			return rerank.DecodeV2(body)
		}
		return rerank.Decode(body)
	}, rerank.PromptText,
		func(x *request, req *completion.Request) relay.Sink {
			return rerank.NewWhole(wholeWriter{x}, req, x.generation)
		})
)

// rerankV2 is the path of Cohere's clients.
const rerankV2 = "/v2/rerank"

// whole serves a task by the style api.
func whole(api string, decode func(x *request, body []byte) (*completion.Request, error), text func(*completion.Request) iter.Seq[[]byte],
	sink func(x *request, req *completion.Request) relay.Sink) func(*request) error {
	return func(x *request) error {
		body, err := x.readBody()
		if err != nil {
			return err
		}
		if body, err = x.withPreset(body, routePreset); err != nil {
			return err
		}
		req, err := decode(x, body)
		if err != nil {
			return err
		}
		if err := x.admitTask(req); err != nil {
			return err
		}
		return x.perform(x.newCall(req, api, text(req)), sink(x, req))
	}
}

// admitTask adds the request's client to a decoded task, and admits the task by what it requires.
func (x *request) admitTask(req *completion.Request) error {
	req.Account = x.caller.Wallet
	x.lent.Charge(&x.memory.Tab)
	req.Memory, req.Buffers = &x.memory, &x.lent
	req.N = max(req.N, 1)
	x.asked = req.Models[0]
	return x.reserve(req)
}

// routePreset takes of a preset what concerns a task: the model and the routing.
func routePreset(body []byte, p *wire.Preset, model string) []byte {
	return p.Route(body, model).Body()
}

// newCall is the call of a request that came by the style api. text yields the text of its prompt, which is counted when the upstream counts none.
func (x *request) newCall(req *completion.Request, api string, text iter.Seq[[]byte]) *relay.Call {
	c := &relay.Call{
		Caller: x.caller, Request: req, Generation: x.generation, RequestID: x.id, At: x.at, Catalog: x.api.Catalog(), API: api,
		Preset: x.preset, PresetVersion: x.presetVersion, PromptText: text, Trace: x.trace, UserAgent: x.note("User-Agent"), Referer: x.note("Referer", "Http-Referer"), Title: x.note("X-Title", "X-Openrouter-Title"),
		Parameters: wire.Parameters(req.Body, req.Members), Tags: x.tags(wire.MetadataOf(req.Body, req.Members)),
	}
	x.identify(req)
	if p := x.part; p != nil {
		c.Deferred, c.Held, c.Alone = p.Deferred, p.Held, p.Deferred == nil
		x.call = c
	}
	return c
}

// perform answers a task that is not streamed into sink.
func (x *request) perform(call *relay.Call, sink relay.Sink) error {
	defer func() { x.record = call.Record }()
	return x.api.Relay.Complete(x.context(), call, sink)
}

// performStream answers a task as an event stream. Its frames go to the sink that to makes; tell writes its faults.
func (x *request) performStream(call *relay.Call, tell rendering, to func(w *frameWriter) frames) error {
	s := x.openStream(tell, to)
	defer s.silence() // also when the relay panics
	defer func() { x.record = call.Record }()
	err := x.api.Relay.Complete(x.context(), call, s.sink())
	s.silence()
	return err
}
