package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/agent"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/messages"
)

// messagesPath is below what every error has the envelope of the messages style.
const messagesPath = "/v1/messages"

// postMessages serves POST /v1/messages, whole or as a stream of events.
func (x *request) postMessages() error {
	req, err := x.readMessages(messages.Decode)
	if err != nil {
		return err
	}
	if err := x.reserve(req); err != nil {
		return err
	}
	x.showStanding()
	call := x.newCall(req, "messages", messages.PromptText(req))
	options := messages.Options{ID: "msg_" + strings.TrimPrefix(x.generation, "gen-"), Agent: messages.IsAgent(req), Request: req}
	defer func() { x.record = call.Record }()
	if !req.Stream {
		return x.api.Relay.Complete(x.context(), call, messages.NewWhole(wholeWriter{x}, options))
	}
	s := x.openStream(MessagesErrorBody, func(w *frameWriter) frames { return messages.NewStream(w, options) })
	defer s.silence() // also when the relay panics
	err = x.api.Relay.Complete(x.context(), call, s.sink())
	s.silence()
	return err
}

// readMessages reads the body of a messages request and the header fields that belong to it.
func (x *request) readMessages(decode func([]byte) (*completion.Request, error)) (*completion.Request, error) {
	body, err := x.readBody()
	if err != nil {
		return nil, err
	}
	if body, err = x.withPreset(body, messages.WithPreset); err != nil {
		return nil, err
	}
	req, err := decode(body)
	if err != nil {
		return nil, err
	}
	req.Account = x.caller.Wallet
	req.Memory = &x.memory
	for i, slug := range req.Models {
		req.Models[i] = knownModel(x.api.Catalog(), slug)
	}
	x.asked = req.Models[0]
	req.Version = x.header("Anthropic-Version")
	var left []string
	req.Betas, left = x.api.features.Betas(slices.Concat(x.r.Header["Anthropic-Beta"], x.r.Header["X-Anthropic-Beta"]))
	if len(left) > 0 {
		x.w.Header()["X-Left-Out-Betas"] = []string{cutList(left)}
		x.api.features.Restrict(req, left)
	}
	if x.r.URL.Query().Get("beta") == "true" {
		req.Query = "?beta=true"
	}
	return req, x.readHeaders(req)
}

// readHeaders reads the header fields that stand for members of the body, for clients that cannot add to it.
func (x *request) readHeaders(req *completion.Request) (err error) {
	if id := x.header("X-Session-Id"); id != "" {
		req.SessionID = id
	} else if id := x.header("X-Claude-Code-Session-Id"); id != "" && req.SessionID == "" && len(id) <= agent.MaxSession {
		req.SessionID = id // by which its reports are joined to its calls
	}
	if len(req.SessionID) > 4*256 || len(x.header("X-Session-Id")) > 256 {
		return fault.Field("httpapi.headers", "session_id", "X-Session-Id must have at most 256 bytes.")
	}
	if header := x.header("X-Provider-Preferences"); header != "" {
		if slices.ContainsFunc(req.Members, func(m completion.Member) bool { return m.Name == "provider" }) {
			return fault.Field("httpapi.headers", "provider", "Send preferences in the field provider or in the header X-Provider-Preferences, not in both.")
		}
		req.Preferences, err = preferencesOf(header)
	}
	return err
}

// cutList is a list for a header field: names that a client has sent in one.
func cutList(names []string) string {
	const most = 1024
	text := strings.Join(names, ", ")
	if len(text) > most {
		text = text[:most]
	}
	return text
}

// knownModel is the model that a client of this style means by an id without a vendor: it may be what the provider calls a model of that
// vendor, which is not always how its slug is spelled.
func knownModel(snap *catalog.Snapshot, slug string) string {
	name, bare := strings.CutPrefix(slug, "anthropic/")
	if _, _, ok := snap.Resolve(slug); ok || !bare {
		return slug
	}
	for _, m := range snap.Models() {
		if m.Vendor != "anthropic" {
			continue
		}
		for _, ep := range m.Endpoints {
			if ep.UpstreamID == name {
				return m.Slug
			}
		}
	}
	return slug
}

// preferencesOf reads provider preferences out of a header, for clients that cannot add to the body.
func preferencesOf(header string) (routing.Preferences, error) {
	raw := []byte(header)
	if err := rawjson.Check(raw, rawjson.Defaults); err != nil {
		return routing.Preferences{}, fault.Field("httpapi.messages", "X-Provider-Preferences", "X-Provider-Preferences must be a JSON object.")
	}
	r := wire.NewReader(raw, "httpapi.messages")
	p := r.Preferences()
	if err := r.Err(); err != nil {
		err.Param = strings.Trim("X-Provider-Preferences."+err.Param, ".")
		return p, err
	}
	return p, nil
}

// Counter asks providers how long prompts are. *relay.Relay is one.
type Counter interface {
	// CountTokens reports what the endpoint counts that would serve c; ok is false when it reports none. See relay.Relay.
	CountTokens(ctx context.Context, c *relay.Call) (n int64, ok bool)
}

const countWait = 10 * time.Second // for a provider's count: our own is at hand

// countTokens serves POST /v1/messages/count_tokens: the count of the provider where it has this wire, else our own. It is free.
func (x *request) countTokens() error {
	req, err := x.readMessages(messages.DecodeCount)
	if err != nil {
		return err
	}
	if _, _, ok := x.api.Catalog().Resolve(req.Models[0]); !ok {
		return routing.Unknown(req.Models[0], catalog.TypeChat, x.api.Catalog())
	}
	n, reported := int64(0), false
	if x.api.Counter != nil {
		ctx, cancel := context.WithTimeout(x.context(), countWait)
		defer cancel()
		n, reported = x.api.Counter.CountTokens(ctx, x.newCall(req, "messages", nil))
	}
	if !reported {
		n = x.api.Tokens.Count(messages.PromptText(req))
	}
	o := newObject(64)
	o.Object()
	o.integer("input_tokens", n)
	o.EndObject()
	return x.reply(&o)
}

// ofMessages reports whether a request without a route is of the messages style all the same.
func ofMessages(r *http.Request) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(r.URL.Path, "/api"), messagesPath)
	return ok && (rest == "" || rest[0] == '/')
}
