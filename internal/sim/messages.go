package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// messagesWire is POST /v1/messages of Anthropic. Its words are those of Anthropic's API reference and of its answers to bad requests.
var messagesWire = &wire{
	name: "messages", say: &messagesPhrases,
	fail: messagesError,
	beside: func(h http.Header, f *refusal) {
		h.Set("Request-Id", messagesRequestID(f))
		if f.status == 429 || f.status == 529 || f.status >= 500 {
			h.Set("X-Should-Retry", "true")
		}
	},
	inside: func(f *refusal, _ string, _ int) frame { return frame{event: "error", data: messagesError(f)} },
	stream: streamType,
	frame:  sse,
	admit: func(s *Host, r *http.Request) *refusal {
		if s.hasKey(bearer(r), r.Header.Get("X-Api-Key")) {
			return nil
		}
		return wrongKey(401, "invalid x-api-key")
	},
	tooLong:   "prompt is too long: 200007 tokens > 200000 maximum",
	text:      func(s string) frame { return messagesDelta(s) },
	idle:      frame{event: "ping", data: []byte(`{"type":"ping"}`)},
	shapeless: []byte(`{"id":"msg_x","type":"message","role":"assistant","model":"m"}`),
}

func messagesDelta(s string) frame {
	return frame{event: "content_block_delta", data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}`)}
}

var messagesPhrases = phrases{
	item:    func(param string, i int) string { return param + "." + strconv.Itoa(i) },
	missing: func(param string) string { return param + ": Field required" },
	unknown: func(param string) string { return param + ": Extra inputs are not permitted" },
	wrongType: func(param, _, want string) string {
		word := map[string]string{
			"a string": "a valid string", "an array": "a valid list", "an object": "an object", "an integer": "a valid integer",
			"a number": "a valid number", "a boolean": "a valid boolean",
		}[want]
		if word == "" {
			word = want
		}
		return param + ": Input should be " + word
	},
	wrongValue: func(param, want string) string {
		return param + ": Input should be " + strings.TrimPrefix(want, "one of ")
	},
	outOfRange: func(param, low, high string) string {
		return param + ": Input should be greater than or equal to " + low + " and less than or equal to " + high
	},
	readable: func(err error) string { return "The request body is not valid JSON: " + err.Error() },
}

// messagesTypes are the types of errors by status.
var messagesTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}

func messagesType(status int) string {
	if t := messagesTypes[status]; t != "" {
		return t
	}
	if status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}

func messagesRequestID(f *refusal) string {
	d := newDigest
	d.add(f.message)
	return "req_" + hexOf(uint64(d))
}

func messagesError(f *refusal) []byte {
	dst := appendText([]byte(`{"type":"error","error":{"type":`), messagesType(f.status))
	dst = appendText(append(dst, `,"message":`...), f.message)
	dst = appendText(append(dst, `},"request_id":`...), messagesRequestID(f))
	return append(dst, '}')
}

// versions of the API, and whether one still has sampling parameters.
var messagesVersions = map[string]bool{"2023-01-01": true, "2023-06-01": true, "2026-10-21": false}

// messages serves POST /v1/messages.
func (s *chatWires) messages(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(messagesWire, w, r, func(body []byte) *refusal {
		m, refused := messagesRequest(r.Header, body, false)
		if refused != nil {
			return refused
		}
		w.Header()["Request-Id"] = []string{"req_" + hexOf(uint64(m.ask.digest()))}
		s.answer(w, r, started, m.ask, func(answer *answer, _ time.Time) *reply {
			return (&messagesReply{ask: m.ask, answer: answer, hide: m.hide}).reply()
		})
		return nil
	})
}

// countTokens serves POST /v1/messages/count_tokens.
func (s *chatWires) countTokens(w http.ResponseWriter, r *http.Request) {
	s.take(messagesWire, w, r, func(body []byte) *refusal {
		m, refused := messagesRequest(r.Header, body, true)
		if refused != nil {
			return refused
		}
		tokens, _ := m.ask.promptTokens()
		sendJSON(w, 200, append(appendInt([]byte(`{"input_tokens":`), tokens), '}'))
		return nil
	})
}

// messagesReader reads a request. It meets the parts of the prompt in the order in which they are cached: tools, system, messages.
type messagesReader struct {
	checker
	sampling bool // the version of the API has temperature and its like
	beta     bool // the caller asked for features that are not in the reference yet
	count    bool

	thinking string // type of the thinking configuration
	budget   int64
	hide     bool // the text of thinking is not shown
	effort   string
	cached   int // blocks with cache_control
	names    map[string]bool
	calls    openCalls // of the message before
	after    string    // its role
}

func messagesRequest(h http.Header, body []byte, count bool) (*messagesReader, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, unreadable(&messagesPhrases, err)
	}
	r := &messagesReader{checker: newChecker(&messagesPhrases), count: count, beta: h.Get("Anthropic-Beta") != "", names: map[string]bool{}}
	r.root, r.ask.marks = root, &marks{digest: newDigest}
	version := h.Get("Anthropic-Version")
	sampling, known := messagesVersions[version]
	switch {
	case version == "":
		r.refuse("", "", "anthropic-version: header is required")
	case !known:
		r.refuse("", "", `anthropic-version: "`+version+`" is not a valid version.`)
	}
	r.sampling = sampling
	if r.fault == nil {
		r.request()
	}
	return r, r.fault
}

type messagesField = field[*messagesReader]

var (
	messagesText   messagesField = func(r *messagesReader, v *node, p string) { r.aText(v, p) }
	messagesBool   messagesField = func(r *messagesReader, v *node, p string) { r.aBool(v, p) }
	messagesObject messagesField = func(r *messagesReader, v *node, p string) { r.anObject(v, p) }
	messagesArray  messagesField = func(r *messagesReader, v *node, p string) { r.anArray(v, p) }
	messagesBeta   messagesField = func(r *messagesReader, _ *node, p string) {
		if !r.beta {
			r.unknown(p)
		}
	}
)

// messagesFields are the members of a request, except those that are read in the order of the prompt.
var messagesFields map[string]messagesField

func init() {
	messagesFields = map[string]messagesField{
		"model": (*messagesReader).modelName, "messages": nil, "system": nil, "tools": nil,
		"max_tokens": func(r *messagesReader, v *node, p string) {
			if r.maybe(p) {
				n := r.integer(v, p, 0, 1<<31)
				r.ask.maxTokens, r.ask.mute = int(n), n == 0
			}
		},
		"stream": func(r *messagesReader, v *node, p string) {
			r.ask.stream = r.maybe(p) && r.typed(v, boolean, p) && v.yes()
		},
		"stop_sequences": func(r *messagesReader, v *node, p string) {
			if r.maybe(p) {
				r.stopSequences(v, p)
			}
		},
		"temperature": func(r *messagesReader, v *node, p string) { r.sample(v, p, 0, 1) },
		"top_p":       func(r *messagesReader, v *node, p string) { r.sample(v, p, 0, 1) },
		"top_k":       func(r *messagesReader, v *node, p string) { r.sample(v, p, 0, 1<<31) },
		"metadata": func(r *messagesReader, v *node, p string) {
			if r.maybe(p) {
				members(&r.checker, r, v, p, map[string]messagesField{"user_id": messagesText})
			}
		},
		"service_tier": func(r *messagesReader, v *node, p string) {
			if r.maybe(p) {
				r.words(v, p, "auto", "standard_only")
			}
		},
		"inference_geo":      messagesText,
		"cache_control":      func(r *messagesReader, v *node, p string) { r.cacheControl(v, p) },
		"thinking":           (*messagesReader).thinkingConfig,
		"tool_choice":        (*messagesReader).toolChoice,
		"output_config":      (*messagesReader).outputConfig,
		"container":          messagesBeta,
		"context_management": messagesBeta,
		"mcp_servers":        messagesBeta,
		"output_format":      messagesBeta,
		"speed":              messagesBeta,
		"user_profile_id":    messagesBeta,
		"thread":             messagesBeta,
	}
}

// maybe refuses what counting tokens does not take.
func (r *messagesReader) maybe(param string) bool {
	if r.count {
		r.unknown(param)
	}
	return !r.count
}

func (r *messagesReader) sample(v *node, param string, low, high float64) {
	if !r.sampling {
		r.unknown(param)
		return
	}
	if r.maybe(param) {
		r.decimal(v, param, low, high)
	}
}

func (r *messagesReader) request() {
	required := []string{"model", "messages", "max_tokens"}
	if r.count {
		required = required[:2]
	}
	if !members(&r.checker, r, r.root, "", messagesFields, required...) {
		return
	}
	r.think()
	if v := r.root.given("tools"); v != nil {
		r.each(v, "tools", r.tool)
		r.ask.overhead += countTokens(string(v.raw))
	}
	r.system(r.root.given("system"))
	messages := r.root.get("messages")
	if r.typed(messages, array, "messages") && len(messages.items) == 0 {
		r.refuse("messages", "", "messages: at least one message is required")
	}
	r.each(messages, "messages", func(v *node, param string) { r.message(v, param, v == &messages.items[len(messages.items)-1]) })
	if r.fault == nil {
		r.together()
	}
}

func (r *messagesReader) modelName(v *node, param string) {
	if !r.typed(v, text, param) {
		return
	}
	base, err := r.ask.knobs.named(v.text)
	if err != nil {
		r.refuse(param, "", "model: "+err.Error())
		return
	}
	r.ask.name, r.ask.persona = v.text, modelNamed(base)
	if r.ask.persona == nil && r.fault == nil {
		r.fault = &refusal{status: 404, message: "model: " + v.text}
	}
}

func (r *messagesReader) stopSequences(v *node, param string) {
	r.each(v, param, func(v *node, param string) {
		if !r.typed(v, text, param) {
			return
		}
		if strings.TrimSpace(v.text) == "" {
			r.refuse(param, "", "stop_sequences: each stop sequence must contain non-whitespace")
		}
		r.ask.stops = append(r.ask.stops, v.text)
	})
}

// cacheControl reads what marks a place of the prompt; true when it is for an hour.
func (r *messagesReader) cacheControl(v *node, param string) (hour bool) {
	members(&r.checker, r, v, param, map[string]messagesField{
		"type": func(r *messagesReader, v *node, p string) { r.words(v, p, "ephemeral") },
		"ttl":  func(r *messagesReader, v *node, p string) { r.words(v, p, "5m", "1h") },
		"scope": func(r *messagesReader, v *node, p string) {
			messagesBeta(r, v, p)
		},
	}, "type")
	if r.cached++; r.cached > maxMarks {
		r.refuse(param, "", "A maximum of "+strconv.Itoa(maxMarks)+" blocks with cache_control may be provided. Found "+strconv.Itoa(r.cached)+".")
	}
	return v.get("ttl").str() == "1h"
}

// marked adds a block of the prompt to what may be remembered.
func (r *messagesReader) marked(v *node, param string, tokens int) {
	var form strings.Builder
	for i, name := range v.names {
		if name != "cache_control" {
			form.WriteString(name + ":" + string(v.items[i].raw) + ",")
		}
	}
	if v.kind == text {
		form.WriteString("text:" + string(v.raw) + ",")
	}
	r.ask.marks.block(form.String(), tokens)
	if c := v.given("cache_control"); c != nil {
		r.ask.marks.here(r.cacheControl(c, under(param, "cache_control")))
	}
}

const (
	leastBudget    = 1024
	messagesOutput = 128_000 // clients of this wire ask for as much as they can get
)

func (r *messagesReader) thinkingConfig(v *node, param string) {
	fields := map[string]messagesField{
		"type": func(r *messagesReader, v *node, p string) {
			r.thinking = r.words(v, p, "enabled", "disabled", "adaptive")
		},
		"budget_tokens": func(r *messagesReader, v *node, p string) {
			n, ok := v.whole()
			if !ok {
				r.wrongType(p, v, "an integer")
			} else if n < leastBudget {
				r.refuse(p, "", p+": Input should be greater than or equal to 1024")
			}
			r.budget = n
		},
		"display": func(r *messagesReader, v *node, p string) {
			r.hide = r.words(v, p, "summarized", "omitted") == "omitted"
		},
	}
	if !members(&r.checker, r, v, param, fields, "type") {
		return
	}
	if r.thinking == "enabled" && r.budget == 0 {
		r.missing(param + ".enabled.budget_tokens")
	}
	if r.thinking != "enabled" && r.budget != 0 {
		r.unknown(param + "." + r.thinking + ".budget_tokens")
	}
}

func (r *messagesReader) outputConfig(v *node, param string) {
	members(&r.checker, r, v, param, map[string]messagesField{
		"effort": func(r *messagesReader, v *node, p string) {
			r.effort = r.words(v, p, "low", "medium", "high", "xhigh", "max")
		},
		"format":      (*messagesReader).outputFormat,
		"task_budget": messagesBeta,
	})
}

func (r *messagesReader) outputFormat(v *node, param string) {
	members(&r.checker, r, v, param, map[string]messagesField{
		"type": func(r *messagesReader, v *node, p string) { r.words(v, p, "json_schema") },
		"schema": func(r *messagesReader, v *node, p string) {
			if r.typed(v, object, p) {
				r.closed(v, p)
				r.ask.format, r.ask.schema = jsonSchema, v
				r.ask.overhead += countTokens(string(v.raw))
			}
		},
	}, "type", "schema")
}

// closed checks that a schema, as structured output needs it, allows no members but its own, at any depth.
func (r *messagesReader) closed(v *node, param string) {
	if v.is(object) && v.get("type").str() == "object" {
		if more := v.get("additionalProperties"); !more.is(boolean) || more.yes() {
			r.refuse(param, "", param+": For 'object' type, 'additionalProperties' must be explicitly set to false")
		}
	}
	for i := range v.items {
		r.closed(&v.items[i], param)
	}
}

// think settles how much is thought before the answer.
func (r *messagesReader) think() {
	a := r.ask
	a.thinking = true // this wire asks for it, or has none
	switch r.thinking {
	case "enabled":
		a.thought = min(int(r.budget)/32, effortTokens["max"])
		if !r.count && int(r.budget) >= a.maxTokens {
			r.refuse("thinking", "", "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
		}
		if t := r.root.given("temperature"); t != nil && string(t.raw) != "1" && string(t.raw) != "1.0" {
			r.refuse("temperature", "", "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking")
		}
		if r.root.given("top_k") != nil {
			r.refuse("top_k", "", "`top_k` must be unset when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking")
		}
		if a.choice.mode == "required" {
			r.refuse("tool_choice", "", "Thinking may not be enabled when tool_choice forces tool use.")
		}
	case "adaptive":
		effort := r.effort
		if effort == "" {
			effort = "high"
		}
		a.thought = effortTokens[effort]
	}
	if a.thought > 0 && a.maxTokens > 0 {
		// something is left to say, whatever is thought
		a.thought = min(a.thought, max(1, a.maxTokens/2))
	}
}

// serverTools are tools with schemas of the provider's own, by what their type begins with. The provider runs searches, fetches, code and MCP
// servers; those of the client are called like any tool.
var serverTools = []string{"bash_", "text_editor_", "computer_", "memory_", "web_search_", "web_fetch_", "code_execution_", "tool_search_tool_", "mcp_toolset", "advisor_"}

func (r *messagesReader) tool(v *node, param string) {
	if !r.typed(v, object, param) {
		return
	}
	kindOf := v.given("type")
	if kindOf != nil && !r.typed(kindOf, text, param+".type") {
		return
	}
	t := tool{name: v.get("name").str()}
	switch word := kindOf.str(); {
	case word == "" || word == "custom":
		r.customTool(v, param+".custom")
		t.schema = v.get("input_schema")
		r.ask.tools = append(r.ask.tools, t)
	case strings.HasPrefix(word, "web_search_"):
		if t.name != "web_search" {
			r.wrongValue(param+"."+word+".name", "'web_search'")
		}
		r.ask.searches = true
	case !hasPrefix(word, serverTools):
		r.refuse(param, "", param+": Input tag '"+word+"' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', 'memory_20250818', 'text_editor_20250728', 'web_search_20250305'")
	case strings.HasPrefix(word, "bash_") || strings.HasPrefix(word, "text_editor_") || strings.HasPrefix(word, "computer_") || strings.HasPrefix(word, "memory_"):
		r.ask.tools = append(r.ask.tools, t)
	default:
		r.ask.offer(word)
	}
	if r.names[t.name] {
		r.refuse(param, "", "tools: Tool names must be unique.")
	}
	r.names[t.name] = true
	r.marked(v, param+".custom", countTokens(string(v.raw)))
}

func hasPrefix(s string, of []string) bool {
	for _, p := range of {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func (r *messagesReader) customTool(v *node, param string) {
	members(&r.checker, r, v, param, map[string]messagesField{
		"type": messagesText, "description": messagesText, "strict": messagesBool, "cache_control": nil, "eager_input_streaming": messagesBool,
		"allowed_callers": messagesArray, "defer_loading": messagesBool, "input_examples": messagesArray,
		"name": func(r *messagesReader, v *node, p string) {
			if r.typed(v, text, p) && !validNameOf(v.text, 128) {
				r.refuse(p, "", p+": String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
			}
		},
		"input_schema": func(r *messagesReader, v *node, p string) {
			if !r.typed(v, object, p) {
				return
			}
			if kindOf := v.get("type"); kindOf == nil {
				r.missing(p + ".type")
			} else {
				r.words(kindOf, p+".type", "object")
			}
		},
	}, "name", "input_schema")
	if v.get("strict").yes() && v.get("input_schema").is(object) {
		r.closed(v.get("input_schema"), param+".input_schema")
	}
}

func (r *messagesReader) toolChoice(v *node, param string) {
	members(&r.checker, r, v, param, map[string]messagesField{
		"type": func(r *messagesReader, v *node, p string) {
			word := r.words(v, p, "auto", "any", "tool", "none")
			r.ask.choice.mode = map[string]string{"auto": "auto", "any": "required", "tool": "required", "none": "none"}[word]
		},
		"name": messagesText,
		"disable_parallel_tool_use": func(r *messagesReader, v *node, p string) {
			r.ask.parallel = !(r.typed(v, boolean, p) && v.yes())
		},
	}, "type")
	switch name := v.get("name"); {
	case v.get("type").str() != "tool" && name != nil:
		r.unknown(param + "." + v.get("type").str() + ".name")
	case v.get("type").str() != "tool":
	case name == nil:
		r.missing(param + ".tool.name")
	default:
		r.ask.choice.only = []string{name.str()}
	}
}

// together checks what depends on more than one member.
func (r *messagesReader) together() {
	a := r.ask
	if r.root.given("tool_choice") != nil && r.root.given("tools") == nil {
		r.refuse("tool_choice", "", "tool_choice: tool_choice may only be specified while providing tools.")
	}
	for _, name := range a.choice.only {
		if !r.names[name] {
			r.refuse("tool_choice", "", "Tool '"+name+"' not found in provided tools")
		}
	}
	if a.maxTokens > messagesOutput {
		r.refuse("max_tokens", "", "max_tokens: "+strconv.Itoa(a.maxTokens)+" > "+strconv.Itoa(messagesOutput)+", which is the maximum allowed number of output tokens for "+a.persona.Name)
	}
	if err := a.knobs.check(); err != nil {
		r.refuse("messages", "", "messages: "+err.Error())
	}
	if c := r.root.given("cache_control"); c != nil {
		a.marks.here(c.get("ttl").str() == "1h")
	}
	a.redact = a.knobs.redact
	if tokens, _ := a.promptTokens(); tokens > a.persona.ContextTokens {
		r.refuse("messages", "", "prompt is too long: "+strconv.Itoa(tokens)+" tokens > "+strconv.Itoa(a.persona.ContextTokens)+" maximum")
	}
}
