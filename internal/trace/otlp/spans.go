package otlp

import (
	"net/url"
	"strconv"
	"time"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/record"
	"weir/internal/trace"
	"weir/internal/usage"
)

// Names of attributes. Those of gen_ai are of github.com/open-telemetry/semantic-conventions-genai as of autumn 2026, all of them in
// development; the others are stable, or ours.
const (
	operationName  = "gen_ai.operation.name"
	providerName   = "gen_ai.provider.name"
	requestModel   = "gen_ai.request.model"
	requestStream  = "gen_ai.request.stream"
	conversation   = "gen_ai.conversation.id"
	responseID     = "gen_ai.response.id"
	finishReasons  = "gen_ai.response.finish_reasons"
	firstChunk     = "gen_ai.response.time_to_first_chunk"
	inputTokens    = "gen_ai.usage.input_tokens"  //nolint:gosec // a name
	outputTokens   = "gen_ai.usage.output_tokens" //nolint:gosec // a name
	cacheRead      = "gen_ai.usage.cache_read.input_tokens"
	cacheWrite     = "gen_ai.usage.cache_write.input_tokens"
	reasoning      = "gen_ai.usage.reasoning.output_tokens"
	instructions   = "gen_ai.system_instructions"
	inputMessages  = "gen_ai.input.messages"
	outputMessages = "gen_ai.output.messages"

	requestMethod = "http.request.method"
	route         = "http.route"
	responseCode  = "http.response.status_code"
	path          = "url.path"
	scheme        = "url.scheme"
	errorType     = "error.type"
	serverAddress = "server.address"
	serverPort    = "server.port"

	weirRequest    = "weir.request_id"
	weirGeneration = "weir.generation_id"
	weirUser       = "weir.user_id"
	weirKey        = "weir.key_id"
	weirAsked      = "weir.model_asked"
	weirModel      = "weir.model"
	weirProvider   = "weir.provider"
	weirEndpoint   = "weir.endpoint"
	weirCost       = "weir.cost_nano"
	weirAttempts   = "weir.attempts"
	weirEstimated  = "weir.usage_estimated"
	weirOwnKey     = "weir.own_key"
	weirPreset     = "weir.preset"
	weirBatch      = "weir.batch"
	weirJob        = "weir.job_id"
)

// providers are the names that the conventions have for providers, by our ids.
var providers = map[string]string{
	"azure": "azure.ai.openai", "bedrock": "aws.bedrock", "gemini": "gcp.gemini", "google": "gcp.gemini", "vertex": "gcp.vertex_ai",
	"mistral": "mistral_ai", "xai": "x_ai",
}

// operations are the names that the conventions have for types of models; others have their own.
var operations = map[string]string{
	catalog.TypeChat: "chat", catalog.TypeEmbedding: "embeddings", catalog.TypeImage: "generate_content", catalog.TypeSpeech: "generate_content",
}

// sampled is the flag of W3C's trace context.
const sampled = 1

// span is a span of a call, without its attributes.
func span(c *trace.Call, id, parent [8]byte, name string, start, end time.Time, failed bool) *traces.Span {
	s := &traces.Span{
		TraceId: c.Trace[:], SpanId: id[:], Name: valid(name), Kind: traces.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: moment(start), EndTimeUnixNano: moment(end), Flags: sampled,
	}
	if parent != [8]byte{} {
		s.ParentSpanId = parent[:]
	}
	if failed {
		s.Status = &traces.Status{Code: traces.Status_STATUS_CODE_ERROR}
	}
	return s
}

// spans are those of a call: the whole call, or a job, and its attempts.
func (e *Exporter) spans(c *trace.Call, a *trace.Answer) []*traces.Span {
	name, kind, failed := a.Method+" "+a.Route, traces.Span_SPAN_KIND_SERVER, a.Status >= 500
	if a.Job != "" {
		name, kind, failed = "video "+cut(a.Asked), traces.Span_SPAN_KIND_INTERNAL, a.Reason != ""
	}
	whole := span(c, c.Span, c.Parent, name, a.At, a.At.Add(a.Took), failed)
	whole.Kind = kind
	if kind == traces.Span_SPAN_KIND_SERVER && c.Link != (trace.Parent{}) {
		whole.Links = []*traces.Span_Link{{TraceId: c.Link.Trace[:], SpanId: c.Link.Span[:]}}
	}
	var p pairs
	server(&p, a)
	whole.Attributes = p
	list := []*traces.Span{whole}
	if a.Record == nil {
		return list
	}
	n := min(len(a.Record.Attempts), len(c.Tried))
	for i := range n {
		list = append(list, e.attempt(c, a, i, i == n-1))
	}
	return list
}

// server adds what the span of a whole call has, or that of a job.
func server(p *pairs, a *trace.Answer) {
	if a.Job == "" {
		p.text(requestMethod, a.Method)
		p.text(route, a.Route)
		p.text(path, a.Path)
		p.text(scheme, "http")
		p.integer(responseCode, int64(a.Status))
		p.text(weirRequest, a.Request)
	}
	p.text(weirJob, a.Job)
	p.set(weirBatch, a.InBatch)
	p.text(errorType, a.Reason)
	p.text(weirUser, a.User)
	p.text(weirKey, a.Key)
	p.text(weirAsked, a.Asked)
	c := a.Record
	if c == nil {
		return
	}
	p.text(weirGeneration, c.Generation)
	p.text(weirPreset, c.Preset)
	p.text(weirModel, c.Model)
	p.text(weirProvider, c.Provider)
	p.integer(weirAttempts, int64(len(c.Attempts)))
	if c.Settled {
		p.integer(weirCost, int64(c.Cost))
	}
}

// attempt is the span of an attempt. What the call used and said is that of the last one.
func (e *Exporter) attempt(c *trace.Call, a *trace.Answer, i int, last bool) *traces.Span {
	ep, at, call := c.Tried[i], &a.Record.Attempts[i], a.Record
	kind, model := ep.Model.Type, ep.UpstreamID
	if kind == "" {
		kind = catalog.TypeChat
	}
	operation := kind
	if known := operations[kind]; known != "" {
		operation = known
	}
	var p pairs
	p.text(operationName, operation)
	name := ep.Provider.ID
	if known := providers[name]; known != "" {
		name = known
	}
	p.text(providerName, name)
	p.text(requestModel, model)
	p.set(requestStream, call.Streamed)
	p.text(conversation, call.Session)
	address(&p, ep.Provider.BaseURL)
	p.text(weirEndpoint, ep.ID)
	p.set(weirOwnKey, at.OwnKey != "")
	if at.Status > 0 {
		p.integer(responseCode, int64(at.Status))
	}
	p.text(errorType, at.Reason)
	if call.Streamed && at.FirstContent > 0 {
		p.seconds(firstChunk, at.FirstContent-at.Started)
	}
	if last && call.Settled {
		used(&p, call)
	}
	if last && c.Request != nil {
		e.content(&p, c)
	}
	s := span(c, c.Attempt(i), c.Span, operation+" "+cut(model), a.At.Add(at.Started), a.At.Add(at.Ended), at.Reason != "")
	s.Attributes = p
	return s
}

func cut(s string) string { return s[:min(len(s), maxText)] }

func used(p *pairs, c *record.Call) {
	u := &c.Usage
	p.text(responseID, c.UpstreamID)
	p.texts(finishReasons, c.Finish)
	for _, n := range [...]struct {
		key   string
		count usage.Count
	}{{inputTokens, u.Prompt}, {outputTokens, u.Completion}, {cacheRead, u.CacheRead}, {cacheWrite, usage.Count{N: u.CacheWrite.N + u.CacheWrite1h.N, Reported: u.CacheWrite.Reported || u.CacheWrite1h.Reported}}, {reasoning, u.Reasoning}} {
		if n.count.Reported || n.count.N > 0 { // what was not reported is not zero
			p.integer(n.key, n.count.N)
		}
	}
	p.set(weirEstimated, u.Source&usage.Estimated != 0)
}

// address adds whom the request went to.
func address(p *pairs, base string) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return
	}
	p.text(serverAddress, u.Hostname())
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if n, err := strconv.Atoi(port); err == nil {
		p.integer(serverPort, int64(n))
	}
}

var roles = [...]string{completion.User: "user", completion.Assistant: "assistant", completion.System: "system"}
