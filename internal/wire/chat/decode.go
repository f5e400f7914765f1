// Package chat is the chat completions style: it decodes POST /v1/chat/completions and encodes answers, whole and streamed. It must not
// know the endpoint of a request, or its cost except to print it, and it never changes the client's bytes.
package chat

import (
	"math"
	"slices"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/wire"
)

const op = "chat.Decode"

// Limits of a request (completions of the specification, section 2.1).
const (
	maxModels     = 10
	maxMessages   = 10_000
	maxTools      = 128
	maxStops      = 4
	maxN          = 128
	maxUser       = 256 // characters
	maxSafetyID   = 64
	maxSessionID  = 256
	maxModalities = 16
)

var (
	verbosities  = []string{"low", "medium", "high", "xhigh", "max"}
	tiers        = []string{"auto", "default", "flex", "priority", "fast", "scale", "on_demand"} // the last one is Groq's default
	shortEfforts = append(slices.Clone(wire.Efforts), "default")                                 // Groq's word for what the model does unasked
	modalities   = []string{"text", "image", "audio"}
	audioFormats = []string{"wav", "mp3", "flac", "opus", "aac", "pcm16"}
	contextSizes = []string{"low", "medium", "high"}
	ephemeral    = []string{"ephemeral"}
	cacheTTLs    = []string{"5m", "1h"}
	onlyContent  = []string{"content"}
)

// Decode reads the body of a chat completions request. The request keeps views into body, so body must not change afterwards. It fails
// with fault.Invalid, InvalidPrompt, StringTooLong, DuplicateKey or TooDeep; the error's Param is the path of the offending field.
// Unknown fields are kept.
func Decode(body []byte) (*completion.Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := decoder{
		Reader: wire.NewRequest(body, op, ""),
		req:    &completion.Request{Style: completion.Chat, Source: source{}, Body: body, N: 1},
	}
	d.req.Needs.Shrink, d.req.Needs.Readable = routing.ShrinkSmall, true
	d.run()
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.req, nil
}

// decoder is the state of one Decode.
type decoder struct {
	wire.Reader
	req *completion.Request

	model       string
	models      []string
	reasoning   wire.ReasoningAsked
	logprobs    bool
	topLogprobs bool
	audio       bool // the object audio is present
	tools       bool // the field tools is present
	functions   bool
	messages    bool

	tokens  int64               // of the prompt, estimated
	callIDs [][]byte            // of the tool calls so far
	known   int                 // how many of them are in messages that were read to their end
	calls   map[string]struct{} // the same ids as a set, once they are many
}

func (d *decoder) run() {
	if d.Kind() != rawjson.Object {
		d.Fail(fault.Invalid, "The body must be a JSON object.")
		return
	}
	d.Object()
	d.req.Members = make([]completion.Member, 0, 16)
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		m := completion.Member{Start: d.NameAt()}
		d.Kind() // moves to the value
		m.Value = d.Pos()
		m.Name = d.field(name)
		m.End = d.Pos()
		d.req.Members = append(d.req.Members, m)
	}
	d.finish()
}

// finish checks what needs the whole request, and sets the derived fields.
func (d *decoder) finish() {
	if d.Err() != nil {
		return
	}
	req := d.req
	req.Models = d.effectiveModels()
	req.Reasoning = d.reasoning.Judge(&d.Reader)
	req.Needs.N = req.N
	req.Needs.MaxTokens = req.MaxTokens
	req.Needs.Input |= catalog.Text
	req.Needs.PromptTokens += d.tokens + tokensPerRequest
	req.Needs.Dense = bytesPerToken
	switch {
	case len(req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "model is required: a slug such as vendor/model.")
	case !d.messages:
		d.FailAt(fault.InvalidPrompt, "messages", "messages is required: a list of at least one message.")
	case d.topLogprobs && !d.logprobs:
		d.FailAt(fault.Invalid, "top_logprobs", "top_logprobs needs logprobs: true.")
	case req.Needs.Output&catalog.Audio != 0 && !d.audio:
		d.FailAt(fault.Invalid, "audio", "audio is required when modalities has audio: a voice and a format.")
	case d.tools && d.functions:
		d.FailAt(fault.Invalid, "functions", "functions is the older form of tools; send only one of them.")
	}
}

func (d *decoder) effectiveModels() []string {
	if len(d.models) == 0 {
		if d.model == "" {
			return nil
		}
		return []string{d.model}
	}
	list := make([]string, 0, 1+len(d.models))
	if d.model != "" {
		list = append(list, d.model)
	}
next:
	for _, slug := range d.models {
		for _, have := range list {
			if have == slug {
				continue next
			}
		}
		list = append(list, slug)
	}
	return list
}

// needs records a parameter that not all endpoints support.
func (d *decoder) needs(p catalog.Params, present bool) {
	if present {
		d.req.Needs.Params |= p
	}
}

// present reports whether the value to read is not null.
func (d *decoder) present() bool {
	k := d.Kind()
	return k != rawjson.Null && k != rawjson.Invalid
}

// field reads one top-level field and returns its name. Known names cost no allocation.
func (d *decoder) field(name []byte) string {
	if known := d.sampling(name); known != "" {
		return known
	}
	req := d.req
	switch string(name) {
	case "model":
		d.model, _ = d.Slug()
		return "model"
	case "models":
		d.models = d.Slugs(maxModels)
		return "models"
	case "provider":
		req.Preferences = d.Preferences()
		return "provider"
	case "messages":
		req.MessagesAt.Start = d.Pos()
		d.readMessages()
		req.MessagesAt.End = d.Pos()
		return "messages"
	case "stream":
		req.Stream, _ = d.Bool()
		return "stream"
	case "stream_options":
		d.streamOptions()
		return "stream_options"
	case "max_completion_tokens":
		d.maxTokens(catalog.ParamMaxCompletionTokens)
		return "max_completion_tokens"
	case "max_tokens":
		d.maxTokens(catalog.ParamMaxTokens)
		return "max_tokens"
	case "n":
		if n, ok := d.Int(1, maxN); ok {
			req.N = int(n)
		}
		return "n"
	case "tools":
		d.readTools()
		return "tools"
	case "tool_choice":
		d.toolChoice()
		return "tool_choice"
	case "parallel_tool_calls":
		_, ok := d.Bool()
		d.needs(catalog.ParamParallelToolCalls, ok)
		return "parallel_tool_calls"
	case "functions":
		d.readFunctions()
		return "functions"
	case "function_call":
		d.functionChoice()
		return "function_call"
	case "response_format":
		d.responseFormat()
		return "response_format"
	case "structured_outputs":
		_, ok := d.Bool()
		d.needs(catalog.ParamStructuredOutputs, ok)
		return "structured_outputs"
	case "reasoning":
		d.needs(catalog.ParamReasoning, d.present())
		d.Reasoning(&d.reasoning)
		return "reasoning"
	case "reasoning_effort":
		if d.reasoning.ShortForm, _ = d.Enum(shortEfforts); d.reasoning.ShortForm == "default" {
			d.reasoning.ShortForm = ""
		}
		d.needs(catalog.ParamReasoningEffort, d.reasoning.ShortForm != "")
		return "reasoning_effort"
	case "include_reasoning":
		d.reasoning.HasInclude = d.Switch()
		d.needs(catalog.ParamIncludeReasoning, d.reasoning.HasInclude != wire.Unset)
		return "include_reasoning"
	case "modalities":
		d.readModalities()
		return "modalities"
	case "audio":
		d.readAudio()
		return "audio"
	case "image_config":
		d.Free(rawjson.Object)
		return "image_config"
	case "prediction":
		d.prediction()
		return "prediction"
	case "plugins":
		d.Plugins(req)
		return "plugins"
	case "web_search_options":
		d.webSearch()
		return "web_search_options"
	case "service_tier":
		req.Needs.Tier = d.tier()
		return "service_tier"
	case "metadata":
		req.Metadata = d.Metadata()
		return "metadata"
	case "user":
		req.User, _ = d.Stored(maxUser)
		return "user"
	case "session_id":
		req.SessionID, _ = d.Stored(maxSessionID)
		return "session_id"
	case "transforms":
		d.Transforms(req)
		return "transforms"
	}
	return d.accepted(name)
}

// sampling reads the sampling fields. It returns "" for any other name, having read nothing.
func (d *decoder) sampling(name []byte) string {
	switch string(name) {
	case "temperature":
		d.number(catalog.ParamTemperature, 0, 2)
		return "temperature"
	case "top_p":
		d.number(catalog.ParamTopP, 0, 1)
		return "top_p"
	case "top_k":
		_, ok := d.Int(0, math.MaxInt64)
		d.needs(catalog.ParamTopK, ok)
		return "top_k"
	case "min_p":
		d.number(catalog.ParamMinP, 0, 1)
		return "min_p"
	case "top_a":
		d.number(catalog.ParamTopA, 0, 1)
		return "top_a"
	case "frequency_penalty":
		d.number(catalog.ParamFrequencyPenalty, -2, 2)
		return "frequency_penalty"
	case "presence_penalty":
		d.number(catalog.ParamPresencePenalty, -2, 2)
		return "presence_penalty"
	case "repetition_penalty":
		d.number(catalog.ParamRepetitionPenalty, 0, 2)
		return "repetition_penalty"
	case "seed":
		_, ok := d.Int(math.MinInt64, math.MaxInt64)
		d.needs(catalog.ParamSeed, ok)
		return "seed"
	case "stop":
		d.stop()
		return "stop"
	case "logit_bias":
		d.logitBias()
		return "logit_bias"
	case "logprobs":
		v, ok := d.Bool()
		d.logprobs = v
		d.needs(catalog.ParamLogprobs, ok)
		return "logprobs"
	case "top_logprobs":
		_, d.topLogprobs = d.Int(0, 20)
		d.needs(catalog.ParamTopLogprobs, d.topLogprobs)
		return "top_logprobs"
	case "verbosity":
		_, ok := d.Enum(verbosities)
		d.needs(catalog.ParamVerbosity, ok)
		return "verbosity"
	}
	return ""
}

// accepted reads fields without an effect in the gateway: they are checked, and sent on or ignored.
func (d *decoder) accepted(name []byte) string {
	switch string(name) {
	case "cache_control":
		d.cacheControl()
		return "cache_control"
	case "prompt_cache_key":
		d.Kind()
		at := d.Pos()
		if d.RawString() != nil {
			d.req.CacheKey = completion.Span{Start: at, End: d.Pos()}
		}
		return "prompt_cache_key"
	case "prompt_cache_options":
		d.Free(rawjson.Object)
		return "prompt_cache_options"
	case "prompt_cache_retention":
		d.RawString()
		return "prompt_cache_retention"
	case "safety_identifier":
		d.Text(maxSafetyID)
		return "safety_identifier"
	case "store":
		d.Bool()
		return "store"
	case "usage":
		d.usage()
		return "usage"
	case "route":
		d.RawString()
		return "route"
	case "trace":
		d.Free(rawjson.Object)
		return "trace"
	case "debug":
		d.Free(rawjson.Object)
		return "debug"
	}
	wire.PaidMember(&d.req.Needs, string(name), d.Skip())
	return string(name)
}

func (d *decoder) number(p catalog.Params, lo, hi float64) {
	_, ok := d.Number(lo, hi)
	d.needs(p, ok)
}

func (d *decoder) maxTokens(p catalog.Params) {
	n, ok := d.Int(1, math.MaxInt64)
	if !ok {
		return
	}
	d.needs(p, true)
	if d.req.MaxTokens == 0 || n < d.req.MaxTokens {
		d.req.MaxTokens, d.req.Needs.MaxTokensName = n, p.String()
	}
}

func (d *decoder) streamOptions() {
	if !d.Object() {
		return
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "include_usage":
			d.req.IncludeUsage, _ = d.Bool()
		case "include_obfuscation":
			d.Bool()
		default:
			d.Skip()
		}
	}
}

func (d *decoder) stop() {
	d.needs(catalog.ParamStop, d.present())
	if d.Kind() != rawjson.Array {
		d.RawString()
		return
	}
	d.Array()
	for n := 1; d.Element(); n++ {
		if n > maxStops {
			d.TooMany(maxStops)
			return
		}
		if d.RawString() == nil {
			d.Required()
		}
	}
}

func (d *decoder) logitBias() {
	d.needs(catalog.ParamLogitBias, d.present())
	if !d.Object() {
		return
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if !isTokenID(name) {
			d.Fail(fault.Invalid, "%s must be named by a token id.", d.Path())
			return
		}
		if _, ok := d.Number(-100, 100); !ok {
			d.Required()
		}
	}
}

func isTokenID(name []byte) bool {
	for _, c := range name {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(name) > 0 && len(name) < 20
}

func (d *decoder) readModalities() {
	if !d.Array() {
		return
	}
	for n := 1; d.Element(); n++ {
		if n > maxModalities {
			d.TooMany(maxModalities)
			return
		}
		word, ok := d.Enum(modalities)
		if !ok {
			d.Required()
		}
		switch word {
		case "text":
			d.req.Needs.Output |= catalog.Text
		case "image":
			d.req.Needs.Output |= catalog.Image
		case "audio":
			d.req.Needs.Output |= catalog.Audio
		}
	}
}

func (d *decoder) readAudio() {
	if !d.Object() {
		return
	}
	d.audio = true
	voice, format := false, false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "voice":
			voice = d.present()
			if d.Kind() == rawjson.Object { // a custom voice of the client: {id}
				d.Skip()
			} else {
				d.RawString()
			}
		case "format":
			_, format = d.Enum(audioFormats)
		default:
			d.Skip()
		}
	}
	switch {
	case !voice:
		d.FailIn(fault.Invalid, "voice", "audio.voice is required.")
	case !format:
		d.FailIn(fault.Invalid, "format", "audio.format is required.")
	}
}

func (d *decoder) prediction() {
	d.needs(catalog.ParamPrediction, d.present())
	if !d.Object() {
		return
	}
	kind, content := false, false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "type":
			_, kind = d.Enum(onlyContent)
		case "content":
			content = d.present()
			d.textOrParts()
		default:
			d.Skip()
		}
	}
	switch {
	case !kind:
		d.FailIn(fault.Invalid, "type", "prediction.type is required.")
	case !content:
		d.FailIn(fault.Invalid, "content", "prediction.content is required.")
	}
}

func (d *decoder) webSearch() {
	if !d.Object() {
		return
	}
	d.needs(catalog.ParamWebSearchOptions, true)
	d.req.Needs.Web = true
	d.req.Needs.Paid |= catalog.PaidWebSearch
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "search_context_size":
			d.Enum(contextSizes)
		case "user_location":
			d.Free(rawjson.Object)
		default:
			d.Skip()
		}
	}
}

func (d *decoder) tier() string {
	switch tier, _ := d.Enum(tiers); tier {
	case "fast":
		return "priority"
	case "flex", "priority":
		return tier
	}
	return ""
}

func (d *decoder) usage() {
	if !d.Object() {
		return
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if string(name) == "include" {
			d.Bool()
		} else {
			d.Skip()
		}
	}
}

// cacheControl reads a cache marker; present reports whether there is one.
func (d *decoder) cacheControl() (present bool) {
	if !d.Object() {
		return false
	}
	kind := false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "type":
			_, kind = d.Enum(ephemeral)
		case "ttl":
			d.Enum(cacheTTLs)
		default:
			d.Skip()
		}
	}
	if !kind {
		d.FailIn(fault.Invalid, "type", "cache_control.type is required: ephemeral.")
	}
	return true
}
