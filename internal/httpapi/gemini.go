package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/redact"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/gemini"
)

// Paths of the Gemini style. Models are named by vendor/model or, where only one model has it, by the second half.
const (
	geminiRoot  = "/v1beta"
	geminiModel = geminiRoot + "/models/{vendor}/{model}"
	geminiBare  = geminiRoot + "/models/{model}"
	geminiName  = "models/" // begins the name of a model
)

// ofGemini reports whether a path belongs to the Gemini style, so that its errors have that style's envelope.
func ofGemini(path string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(path, "/api"), geminiRoot)
	return ok && (rest == "" || rest[0] == '/')
}

// keysOfQuery are the keys in a request's query. They are looked at and go nowhere else: the access log has the route's pattern alone.
func keysOfQuery(r *http.Request) []string {
	if !strings.Contains(r.URL.RawQuery, "key") {
		return nil
	}
	values, _ := url.ParseQuery(r.URL.RawQuery)
	return values["key"]
}

// postGenerate serves POST /v1beta/models/{model}:generateContent.
func (x *request) postGenerate() error {
	call, options, err := x.readGenerate(false)
	if err != nil {
		return err
	}
	defer func() { x.record = call.Record }()
	return x.blocked(x.api.Relay.Complete(x.context(), call, gemini.NewWhole(wholeWriter{x}, options)), false)
}

// postStreamGenerate serves POST /v1beta/models/{model}:streamGenerateContent: events with alt=sse, else one JSON array that grows.
func (x *request) postStreamGenerate() error {
	call, options, err := x.readGenerate(true)
	if err != nil {
		return err
	}
	defer func() { x.record = call.Record }()
	array := x.r.URL.Query().Get("alt") != "sse"
	s := x.openStream(GeminiErrorBody, func(w *frameWriter) frames { return gemini.NewStream(w, options, array) })
	if array {
		s.kind = jsonType
	}
	defer s.silence() // also when the relay panics
	err = x.api.Relay.Complete(x.context(), call, s.sink())
	s.silence()
	return x.blocked(err, !array)
}

// readGenerate reads a request for content and admits it.
func (x *request) readGenerate(stream bool) (*relay.Call, gemini.Options, error) {
	req, err := x.readContents(func(body []byte, model string) (*completion.Request, error) {
		return gemini.Decode(body, model, stream)
	})
	if err == nil {
		err = x.reserve(req)
	}
	if err != nil {
		return nil, gemini.Options{}, err
	}
	return x.newCall(req, "gemini", gemini.PromptText(req)), gemini.OptionsOf(req, x.generation), nil
}

// readContents reads the body of a request to the model that the path names, and the header fields that belong to it.
func (x *request) readContents(decode func(body []byte, model string) (*completion.Request, error)) (*completion.Request, error) {
	body, err := x.readBody()
	if err != nil {
		return nil, err
	}
	model := x.pathModel()
	if body, model, err = x.contentsPreset(body, model); err != nil {
		return nil, err
	}
	req, err := decode(body, model)
	if err != nil {
		return nil, err
	}
	if len(req.Body) > len(body) { // a copy with other spellings
		if err := x.memory.Charge(int64(len(req.Body))); err != nil {
			return nil, err
		}
	}
	req.Account = x.caller.Wallet
	req.Memory = &x.memory
	x.usePlugins(req)
	if err := x.nameModels(req); err != nil {
		return nil, err
	}
	return req, x.readHeaders(req)
}

const maxModelName = 256 // bytes

// nameModels completes the names of a request's models. The one in the path was not checked before.
func (x *request) nameModels(req *completion.Request) (err error) {
	if name := req.Models[0]; len(name) > maxModelName || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
		return fault.Field("httpapi.nameModels", "model", "The name of a model must be UTF-8 without NUL, of at most %d bytes.", maxModelName)
	}
	x.asked = req.Models[0]
	for i, name := range req.Models {
		if req.Models[i], err = fullName(x.api.Catalog(), name); err != nil {
			return err
		}
	}
	x.asked = req.Models[0]
	return nil
}

// fullName is the slug of the model that a client of this style means by a name without a vendor: Google's, or else the only one with that name.
func fullName(snap *catalog.Snapshot, name string) (string, error) {
	name = strings.TrimPrefix(name, geminiName)
	if _, _, ok := snap.Resolve(name); ok || strings.Contains(name, "/") {
		return name, nil
	}
	const google = "google/"
	if _, _, ok := snap.Resolve(google + name); ok {
		return google + name, nil
	}
	base, variant := name, ""
	if at := strings.IndexByte(name, ':'); at > 0 {
		base, variant = name[:at], name[at:]
	}
	var same []string
	for _, m := range snap.Models() {
		_, second, _ := strings.Cut(m.Slug, "/")
		called := m.Vendor == strings.TrimSuffix(google, "/") && slices.ContainsFunc(m.Endpoints, func(ep *catalog.Endpoint) bool { return ep.UpstreamID == base })
		if second == base || called {
			same = append(same, m.Slug+variant)
		}
	}
	switch len(same) {
	case 0:
		return name, nil
	case 1:
		return same[0], nil
	}
	return "", fault.Field("httpapi.fullName", "model", "Several models are called %q. Name the vendor, too: %s.", base[:min(len(base), 128)], strings.Join(same[:min(len(same), 5)], ", "))
}

// blocked answers for a prompt that a provider refused because of its content: this style has a place for that in an answer. Every other error
// comes back.
func (x *request) blocked(err error, events bool) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.ContentPolicy || f.Upstream == nil || x.w.Status() != 0 {
		return err
	}
	o := newObject(512)
	o.Object()
	o.Name("promptFeedback").Object()
	o.text("blockReason", "PROHIBITED_CONTENT")
	o.text("blockReasonMessage", httpserver.Sentence(f, ""))
	o.EndObject()
	o.Name("usageMetadata").Object()
	o.integer("promptTokenCount", 0)
	o.integer("totalTokenCount", 0)
	o.integer("cost", 0)
	o.text("currency", "RUB")
	o.EndObject()
	o.text("modelVersion", x.asked)
	o.text("responseId", x.generation)
	o.EndObject()
	body, kind := x.api.Redact(redact.Redact(o.B)), jsonType
	switch {
	case events:
		body, kind = slices.Concat([]byte("data: "), body, []byte("\n\n")), streamType
	case x.stream != nil:
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	x.writeBody(http.StatusOK, kind, body)
	return nil
}

// countContents serves POST /v1beta/models/{model}:countTokens: the count of the provider where it has this wire, else our own. It is free.
func (x *request) countContents() error {
	req, err := x.readContents(gemini.DecodeCount)
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
		n, reported = x.api.Counter.CountTokens(ctx, x.newCall(req, "gemini", nil))
	}
	if !reported {
		n = x.api.Tokens.Count(gemini.PromptText(req)) + req.Needs.MediaTokens
	}
	o := newObject(64)
	o.Object()
	o.integer("totalTokens", n)
	o.EndObject()
	return x.reply(&o)
}

// embedContents serves POST /v1beta/models/{model}:embedContent and, with batch, :batchEmbedContents.
func embedContents(batch bool) func(*request) error {
	return func(x *request) error {
		body, err := x.readBody()
		if err != nil {
			return err
		}
		req, err := gemini.DecodeEmbed(body, x.pathModel(), batch)
		if err != nil {
			return err
		}
		if err := x.nameModels(req); err != nil {
			return err
		}
		if err := x.readHeaders(req); err != nil {
			return err
		}
		if err := x.admitTask(req); err != nil {
			return err
		}
		return x.perform(x.newCall(req, "embeddings", embeddings.PromptText(req)), gemini.NewEmbedWhole(wholeWriter{x}, req, batch))
	}
}

const (
	geminiPage  = 50   // models on a page of a list (Gemini API, models.list)
	geminiPages = 1000 // at most
)

// getGeminiModels serves GET /v1beta/models: the models that answer in this style, in pages.
func (x *request) getGeminiModels() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	size := geminiPage
	if text := cmp.Or(q.Get("pageSize"), q.Get("page_size")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fault.Field("httpapi.models", "pageSize", "pageSize must be a whole number from 1 to %d.", geminiPages)
		}
		if n > 0 {
			size = min(n, geminiPages)
		}
	}
	after := cmp.Or(q.Get("pageToken"), q.Get("page_token"))
	hidden, err := x.hidden()
	if err != nil {
		return err
	}
	var all []listing.Offer
	for _, m := range x.api.Catalog().Models() {
		if m.Type == catalog.TypeChat || m.Type == catalog.TypeEmbedding {
			all = append(all, listing.Offers(m)...)
		}
	}
	all = slices.DeleteFunc(all, func(it listing.Offer) bool { return hidden[it.ID] })
	if after != "" {
		at := slices.IndexFunc(all, func(it listing.Offer) bool { return it.ID == after })
		if at < 0 {
			return fault.Field("httpapi.models", "pageToken", "pageToken must be the nextPageToken of the page before. Begin again without one.")
		}
		all = all[at+1:]
	}
	o := newObject(16 << 10)
	o.Object()
	o.Name("models").Array()
	for i := range all[:min(len(all), size)] {
		appendGeminiModel(&o, &all[i])
	}
	o.EndArray()
	if len(all) > size {
		o.text("nextPageToken", all[size-1].ID)
	}
	o.EndObject()
	x.w.Header()["Vary"] = varyPacking
	return x.sendOnce(&o)
}

// getGeminiModel serves GET /v1beta/models/{model}.
func (x *request) getGeminiModel() error {
	id, err := fullName(x.api.Catalog(), x.pathModel())
	if err != nil {
		return err
	}
	m, _, ok := x.api.Catalog().Resolve(id)
	if !ok {
		return routing.Unknown(id, catalog.TypeChat, x.api.Catalog())
	}
	offers := listing.Offers(m)
	at := max(slices.IndexFunc(offers, func(it listing.Offer) bool { return it.ID == id }), 0)
	o := newObject(1024)
	appendGeminiModel(&o, &offers[at])
	return x.sendOnce(&o)
}

// geminiMethods are the methods of this style for a type of model.
var geminiMethods = map[string][]string{
	catalog.TypeChat: {"generateContent", "streamGenerateContent", "countTokens"}, catalog.TypeEmbedding: {"embedContent", "batchEmbedContents"},
}

func appendGeminiModel(o *object, it *listing.Offer) {
	m := it.Model
	longest, thinks := int64(0), false
	for _, ep := range it.Endpoints {
		longest = max(longest, ep.MaxCompletion)
		thinks = thinks || ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) != 0
	}
	o.Object()
	o.text("name", geminiName+it.ID)
	o.text("displayName", m.Name)
	o.text("description", cmp.Or(m.Description, m.Summary))
	o.integer("inputTokenLimit", m.ContextLength)
	if longest > 0 {
		o.integer("outputTokenLimit", longest)
	}
	o.texts("supportedGenerationMethods", geminiMethods[m.Type])
	if thinks {
		o.boolean("thinking", true)
	}
	o.EndObject()
}

// geminiStatuses are the words of this style for statuses (google.rpc.Code); others are INTERNAL or, below 500, INVALID_ARGUMENT.
var geminiStatuses = map[int]string{
	http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusPaymentRequired: "FAILED_PRECONDITION", http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND",
	http.StatusMethodNotAllowed: "UNIMPLEMENTED", http.StatusUpgradeRequired: "UNIMPLEMENTED", http.StatusRequestTimeout: "DEADLINE_EXCEEDED", http.StatusConflict: "ABORTED", http.StatusRequestedRangeNotSatisfiable: "OUT_OF_RANGE",
	http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", httpserver.StatusClientGone: "CANCELLED", http.StatusBadGateway: "UNAVAILABLE", http.StatusServiceUnavailable: "UNAVAILABLE",
	http.StatusGatewayTimeout: "DEADLINE_EXCEEDED",
}

// errorDomain names the source of errors in the details of this style's envelope.
const errorDomain = "weir"

// GeminiErrorBody is the envelope of the Gemini style: {"error":{"code","message","status","details"}}.
func GeminiErrorBody(e *fault.Error, requestID string) []byte {
	status := httpserver.Status(e)
	word := geminiStatuses[status]
	switch {
	case word != "":
	case status < http.StatusInternalServerError:
		word = "INVALID_ARGUMENT"
	default:
		word = "INTERNAL"
	}
	o := newObject(512)
	o.Object()
	o.Name("error").Object()
	o.integer("code", int64(status))
	o.text("message", httpserver.Sentence(e, e.Param)) // SDKs show little else
	o.text("status", word)
	o.Name("details").Array()
	o.Object()
	o.text("@type", "type.googleapis.com/google.rpc.ErrorInfo")
	reason := strings.ToUpper(e.Kind.String())
	if e.Kind == fault.Authentication {
		reason = "API_KEY_INVALID"
	}
	o.text("reason", reason)
	o.text("domain", errorDomain)
	o.Name("metadata").Object() // of texts alone
	o.text("error_type", e.Kind.String())
	if requestID != "" {
		o.text("request_id", requestID)
	}
	if e.Param != "" && e.Kind != fault.HeaderTooLarge {
		o.text("param", e.Param)
	}
	if u := e.Upstream; u != nil && e.Kind != fault.Internal {
		if u.Provider != "" {
			o.text("provider_name", u.Provider)
		}
		if u.Code != "" {
			o.text("provider_code", u.Code)
		}
	}
	if e.Kind != fault.Internal {
		for _, name := range slices.Sorted(maps.Keys(e.Details)) {
			text, plain := e.Details[name].(string)
			if !plain {
				value := newObject(64)
				value.Any(e.Details[name])
				text = string(value.B)
			}
			o.text(name, text)
		}
	}
	o.EndObject()
	o.EndObject()
	if s := httpserver.RetryAfter(e); s > 0 {
		o.Object()
		o.text("@type", "type.googleapis.com/google.rpc.RetryInfo")
		o.text("retryDelay", strconv.FormatInt(s, 10)+"s")
		o.EndObject()
	}
	if requestID != "" {
		o.Object()
		o.text("@type", "type.googleapis.com/google.rpc.RequestInfo")
		o.text("requestId", requestID)
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
	o.EndObject()
	return redact.Redact(o.B)
}

// noMethod is the fault of a POST to a model with a method that this style does not have.
func noMethod(path string) *fault.Error {
	_, method, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	if at := strings.LastIndexByte(method, ':'); at >= 0 {
		method = method[at+1:]
	}
	return fault.New(fault.NotFound, "httpapi.route", fmt.Sprintf("There is no method %q. The methods of models are %s.", method[:min(len(method), 64)],
		strings.Join(append(slices.Clone(geminiMethods[catalog.TypeChat]), geminiMethods[catalog.TypeEmbedding]...), ", ")))
}
