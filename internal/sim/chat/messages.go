package chat

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// MessagesWire is POST /v1/messages of Anthropic. Its words are those of Anthropic's API reference and of its answers to bad requests.
var MessagesWire = &kit.Wire{
	Name: "messages", IDs: "msg_", Phrases: &messagesPhrases,
	ErrorBody: messagesError,
	ErrorHeader: func(h http.Header, f *kit.Refusal) {
		h.Set("Request-Id", messagesRequestID(f))
		if f.Status == 429 || f.Status == 529 || f.Status >= 500 {
			h.Set("X-Should-Retry", "true")
		}
	},
	ErrorFrame: func(f *kit.Refusal, _ string, _ int) kit.Frame {
		return kit.Frame{Event: "error", Data: messagesError(f)}
	},
	Stream: kit.StreamType,
	Frame:  kit.SSE,
	Admit: func(s *kit.Host, r *http.Request) *kit.Refusal {
		if s.HasKey(kit.Bearer(r), r.Header.Get("X-Api-Key")) {
			return nil
		}
		return kit.WrongKey(401, "invalid x-api-key")
	},
	TooLong:    "prompt is too long: 200007 tokens > 200000 maximum",
	TextFrame:  func(s string) kit.Frame { return messagesDelta(s) },
	IdleFrame:  kit.Frame{Event: "ping", Data: []byte(`{"type":"ping"}`)},
	Incomplete: []byte(`{"id":"msg_x","type":"message","role":"assistant","model":"m"}`),
}

func messagesDelta(s string) kit.Frame {
	return kit.Frame{Event: "content_block_delta", Data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}`)}
}

var messagesPhrases = kit.Phrases{
	Item:    func(param string, i int) string { return param + "." + strconv.Itoa(i) },
	Missing: func(param string) string { return param + ": Field required" },
	Unknown: func(param string) string { return param + ": Extra inputs are not permitted" },
	WrongType: func(param, _, want string) string {
		word := map[string]string{
			"a string": "a valid string", "an array": "a valid list", "an object": "an object", "an integer": "a valid integer",
			"a number": "a valid number", "a boolean": "a valid boolean",
		}[want]
		if word == "" {
			word = want
		}
		return param + ": Input should be " + word
	},
	WrongValue: func(param, want string) string {
		return param + ": Input should be " + strings.TrimPrefix(want, "one of ")
	},
	OutOfRange: func(param, low, high string) string {
		return param + ": Input should be greater than or equal to " + low + " and less than or equal to " + high
	},
	Readable: func(err error) string { return "The request body is not valid JSON: " + err.Error() },
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

func messagesRequestID(f *kit.Refusal) string {
	d := kit.NewDigest
	d.Add(f.Message)
	return "req_" + kit.HexOf(uint64(d))
}

const threadUnsupported = "thread_unsupported_request"

func messagesError(f *kit.Refusal) []byte {
	dst := kit.AppendText([]byte(`{"type":"error","error":{"type":`), messagesType(f.Status))
	dst = kit.AppendText(append(dst, `,"message":`...), f.Message)
	if f.Code == threadUnsupported {
		dst = append(dst, `,"details":{"error_code":"`+threadUnsupported+`"}`...)
	}
	dst = kit.AppendText(append(dst, `},"request_id":`...), messagesRequestID(f))
	return append(dst, '}')
}

// versions of the API, and whether one still has sampling parameters.
var messagesVersions = map[string]bool{"2023-01-01": true, "2023-06-01": true, "2026-10-21": false}

// messages serves POST /v1/messages.
func (s *Wires) messages(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(MessagesWire, w, r, func(body []byte) *kit.Refusal {
		m, refused := messagesRequest(r.Header, body, false)
		if refused != nil {
			return refused
		}
		w.Header()["Request-Id"] = []string{"req_" + kit.HexOf(uint64(m.Request.Digest()))}
		s.Answer(w, r, started, m.Request, func(answer *kit.Answer, _ time.Time) *kit.Reply {
			return (&messagesReply{ask: m.Request, answer: answer, hide: m.hide}).reply()
		})
		return nil
	})
}

// countTokens serves POST /v1/messages/count_tokens.
func (s *Wires) countTokens(w http.ResponseWriter, r *http.Request) {
	s.HandleJSON(MessagesWire, w, r, func(body []byte) *kit.Refusal {
		m, refused := messagesRequest(r.Header, body, true)
		if refused != nil {
			return refused
		}
		tokens, _ := m.Request.PromptTokens()
		kit.SendJSON(w, 200, append(kit.AppendInt([]byte(`{"input_tokens":`), tokens), '}'))
		return nil
	})
}

// messagesReader reads a request. It meets the parts of the prompt in the order in which they are cached: tools, system, messages.
type messagesReader struct {
	kit.Checker
	sampling bool   // the version of the API has temperature and its like
	betas    string // features that are not in the reference yet, which the caller asked for
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

func messagesRequest(h http.Header, body []byte, count bool) (*messagesReader, *kit.Refusal) {
	root, err := kit.Parse(body)
	if err != nil {
		return nil, kit.Unreadable(&messagesPhrases, err)
	}
	r := &messagesReader{Checker: kit.NewChecker(&messagesPhrases), count: count, betas: strings.Join(h.Values("Anthropic-Beta"), ","), names: map[string]bool{}}
	r.Root, r.Request.Marks = root, &kit.Marks{Digest: kit.NewDigest}
	version := h.Get("Anthropic-Version")
	sampling, known := messagesVersions[version]
	switch {
	case version == "":
		r.Refuse("", "", "anthropic-version: header is required")
	case !known:
		r.Refuse("", "", `anthropic-version: "`+version+`" is not a valid version.`)
	}
	r.sampling = sampling
	if r.Fault == nil {
		r.request()
	}
	return r, r.Fault
}

type messagesField = kit.Field[*messagesReader]

var (
	messagesText   messagesField = func(r *messagesReader, v *kit.Node, p string) { r.ExpectText(v, p) }
	messagesBool   messagesField = func(r *messagesReader, v *kit.Node, p string) { r.ExpectBool(v, p) }
	messagesObject messagesField = func(r *messagesReader, v *kit.Node, p string) { r.ExpectObject(v, p) }
	messagesArray  messagesField = func(r *messagesReader, v *kit.Node, p string) { r.ExpectArray(v, p) }
)

// ofBeta is a member that the API knows only to callers who name one of these features, without its date, in Anthropic-Beta. then may be nil.
func ofBeta(then messagesField, features ...string) messagesField {
	return func(r *messagesReader, v *kit.Node, p string) {
		for _, feature := range features {
			if strings.Contains(r.betas, feature+"-20") {
				if then != nil {
					then(r, v, p)
				}
				return
			}
		}
		r.Unknown(p)
	}
}

// messagesFields are the members that a request may have.
func messagesFields() map[string]messagesField {
	return map[string]messagesField{
		"model": (*messagesReader).modelName, "messages": nil, "system": nil, "tools": nil,
		"max_tokens": func(r *messagesReader, v *kit.Node, p string) {
			if r.maybe(p) {
				n := r.Integer(v, p, 0, 1<<31)
				r.Request.MaxTokens, r.Request.CacheOnly = int(n), n == 0
			}
		},
		"stream": func(r *messagesReader, v *kit.Node, p string) {
			r.Request.Stream = r.maybe(p) && r.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
		},
		"stop_sequences": func(r *messagesReader, v *kit.Node, p string) {
			if r.maybe(p) {
				r.stopSequences(v, p)
			}
		},
		"temperature": func(r *messagesReader, v *kit.Node, p string) { r.sample(v, p, 0, 1) },
		"top_p":       func(r *messagesReader, v *kit.Node, p string) { r.sample(v, p, 0, 1) },
		"top_k":       func(r *messagesReader, v *kit.Node, p string) { r.sample(v, p, 0, 1<<31) },
		"metadata": func(r *messagesReader, v *kit.Node, p string) {
			if r.maybe(p) {
				kit.Members(&r.Checker, r, v, p, map[string]messagesField{"user_id": messagesText})
			}
		},
		"service_tier": func(r *messagesReader, v *kit.Node, p string) {
			if r.maybe(p) {
				r.OneOf(v, p, "auto", "standard_only")
			}
		},
		"inference_geo": messagesText,
		"cache_control": func(r *messagesReader, v *kit.Node, p string) { r.cacheControl(v, p) },
		"thinking":      (*messagesReader).thinkingConfig,
		"tool_choice":   (*messagesReader).toolChoice,
		"output_config": (*messagesReader).outputConfig,
		"speed":         func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, "standard", "fast") },
		"container": func(r *messagesReader, v *kit.Node, p string) {
			if !v.Is(kit.Text) {
				kit.Members(&r.Checker, r, v, p, map[string]messagesField{"id": messagesText, "skills": messagesArray})
			}
		},
		"diagnostics": func(r *messagesReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]messagesField{"previous_message_id": messagesText})
		},
		"context_management": ofBeta(func(r *messagesReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]messagesField{"edits": messagesArray})
		}, "context-management", "compact"),
		"compaction":            ofBeta(messagesObject, "compact"),
		"mcp_servers":           ofBeta(messagesArray, "mcp-client"),
		"output_format":         ofBeta((*messagesReader).outputFormat, "structured-outputs"),
		"fallbacks":             ofBeta(nil, "server-side-fallback"),
		"fallback_credit_token": ofBeta(nil, "fallback-credit"),
		"billing_policy":        ofBeta(messagesObject, "user-profiles-billing"),
		"thread":                ofBeta((*messagesReader).thread, "message-threads"),
	}
}

// thread refuses conversations that the server keeps, as the API refuses those that it cannot keep.
func (r *messagesReader) thread(v *kit.Node, param string) {
	continued := v.Get("type").Str() == "continue"
	kit.Members(&r.Checker, r, v, param, map[string]messagesField{
		"type": func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, "create", "continue") },
		"previous_message_id": func(r *messagesReader, v *kit.Node, p string) {
			if r.ExpectText(v, p); !continued {
				r.Unknown(p)
			}
		},
	}, "type")
	if continued && v.Get("previous_message_id") == nil {
		r.Missing(param + ".continue.previous_message_id")
	}
	r.Refuse(param, threadUnsupported, "thread: this server does not keep conversations. Send the full conversation without thread.")
}

// maybe refuses members that count_tokens does not accept.
func (r *messagesReader) maybe(param string) bool {
	if r.count {
		r.Unknown(param)
	}
	return !r.count
}

func (r *messagesReader) sample(v *kit.Node, param string, low, high float64) {
	if !r.sampling {
		r.Unknown(param)
		return
	}
	if r.maybe(param) {
		r.Decimal(v, param, low, high)
	}
}

func (r *messagesReader) request() {
	required := []string{"model", "messages", "max_tokens"}
	if r.count {
		required = required[:2]
	}
	if !kit.Members(&r.Checker, r, r.Root, "", messagesFields(), required...) {
		return
	}
	r.think()
	if v := r.Root.Given("tools"); v != nil {
		r.Each(v, "tools", r.tool)
		r.Request.Overhead += kit.CountTokens(string(v.Raw))
	}
	r.system(r.Root.Given("system"))
	messages := r.Root.Get("messages")
	if r.ExpectKind(messages, kit.Array, "messages") && len(messages.Items) == 0 {
		r.Refuse("messages", "", "messages: at least one message is required")
	}
	r.Each(messages, "messages", func(v *kit.Node, param string) { r.message(v, param, v == &messages.Items[len(messages.Items)-1]) })
	if r.Fault == nil {
		r.together()
	}
}

func (r *messagesReader) modelName(v *kit.Node, param string) {
	if !r.ExpectKind(v, kit.Text, param) {
		return
	}
	base, err := r.Request.Knobs.ParseName(v.Text)
	if err != nil {
		r.Refuse(param, "", "model: "+err.Error())
		return
	}
	r.Request.Name, r.Request.Model = v.Text, kit.ModelNamed(base)
	if r.Request.Model == nil && r.Fault == nil {
		r.Fault = &kit.Refusal{Status: 404, Message: "model: " + v.Text}
	}
}

func (r *messagesReader) stopSequences(v *kit.Node, param string) {
	r.Each(v, param, func(v *kit.Node, param string) {
		if !r.ExpectKind(v, kit.Text, param) {
			return
		}
		if strings.TrimSpace(v.Text) == "" {
			r.Refuse(param, "", "stop_sequences: each stop sequence must contain non-whitespace")
		}
		r.Request.Stops = append(r.Request.Stops, v.Text)
	})
}

// cacheControl reads what marks a place of the prompt; true when it is for an hour.
func (r *messagesReader) cacheControl(v *kit.Node, param string) (hour bool) {
	kit.Members(&r.Checker, r, v, param, map[string]messagesField{
		"type":  func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, "ephemeral") },
		"ttl":   func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, "5m", "1h") },
		"scope": ofBeta(nil, "prompt-caching-scope"),
	}, "type")
	if r.cached++; r.cached > kit.MaxMarks {
		r.Refuse(param, "", "A maximum of "+strconv.Itoa(kit.MaxMarks)+" blocks with cache_control may be provided. Found "+strconv.Itoa(r.cached)+".")
	}
	return v.Get("ttl").Str() == "1h"
}

// marked adds a block of the prompt to what may be remembered.
func (r *messagesReader) marked(v *kit.Node, param string, tokens int) {
	var form strings.Builder
	for i, name := range v.Names {
		if name != "cache_control" {
			form.WriteString(name + ":" + string(v.Items[i].Raw) + ",")
		}
	}
	if v.Kind == kit.Text {
		form.WriteString("text:" + string(v.Raw) + ",")
	}
	r.Request.Marks.Block(form.String(), tokens)
	if c := v.Given("cache_control"); c != nil {
		r.Request.Marks.Mark(r.cacheControl(c, kit.Under(param, "cache_control")))
	}
}

const (
	leastBudget    = 1024
	messagesOutput = 128_000 // clients of this wire ask for as much as they can get
)

func (r *messagesReader) thinkingConfig(v *kit.Node, param string) {
	fields := map[string]messagesField{
		"type": func(r *messagesReader, v *kit.Node, p string) {
			r.thinking = r.OneOf(v, p, "enabled", "disabled", "adaptive")
		},
		"budget_tokens": func(r *messagesReader, v *kit.Node, p string) {
			n, ok := v.Int()
			if !ok {
				r.WrongType(p, v, "an integer")
			} else if n < leastBudget {
				r.Refuse(p, "", p+": Input should be greater than or equal to 1024")
			}
			r.budget = n
		},
		"display": func(r *messagesReader, v *kit.Node, p string) {
			r.hide = r.OneOf(v, p, "summarized", "omitted") == "omitted"
		},
	}
	if !kit.Members(&r.Checker, r, v, param, fields, "type") {
		return
	}
	if r.thinking == "enabled" && r.budget == 0 {
		r.Missing(param + ".enabled.budget_tokens")
	}
	if r.thinking != "enabled" && r.budget != 0 {
		r.Unknown(param + "." + r.thinking + ".budget_tokens")
	}
}

func (r *messagesReader) outputConfig(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]messagesField{
		"effort": func(r *messagesReader, v *kit.Node, p string) {
			r.effort = r.OneOf(v, p, "low", "medium", "high", "xhigh", "max")
		},
		"format":      (*messagesReader).outputFormat,
		"task_budget": ofBeta(messagesObject, "task-budgets"),
	})
}

func (r *messagesReader) outputFormat(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]messagesField{
		"type": func(r *messagesReader, v *kit.Node, p string) { r.OneOf(v, p, "json_schema") },
		"schema": func(r *messagesReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Object, p) {
				r.closed(v, p)
				r.Request.Format, r.Request.Schema = kit.JSONSchema, v
				r.Request.Overhead += kit.CountTokens(string(v.Raw))
			}
		},
	}, "type", "schema")
}

// closed checks that a schema, as structured output needs it, allows no members but its own, at any depth.
func (r *messagesReader) closed(v *kit.Node, param string) {
	if v.Is(kit.Object) && v.Get("type").Str() == "object" {
		if more := v.Get("additionalProperties"); !more.Is(kit.Boolean) || more.IsTrue() {
			r.Refuse(param, "", param+": For 'object' type, 'additionalProperties' must be explicitly set to false")
		}
	}
	for i := range v.Items {
		r.closed(&v.Items[i], param)
	}
}

// think decides the number of reasoning tokens.
func (r *messagesReader) think() {
	a := r.Request
	a.Thinking = true // this wire asks for it, or has none
	switch r.thinking {
	case "enabled":
		a.ThinkingTokens = min(int(r.budget)/32, kit.EffortTokens["max"])
		if !r.count && int(r.budget) >= a.MaxTokens {
			r.Refuse("thinking", "", "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
		}
		if t := r.Root.Given("temperature"); t != nil && string(t.Raw) != "1" && string(t.Raw) != "1.0" {
			r.Refuse("temperature", "", "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking")
		}
		if r.Root.Given("top_k") != nil {
			r.Refuse("top_k", "", "`top_k` must be unset when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking")
		}
		if a.Choice.Mode == "required" {
			r.Refuse("tool_choice", "", "Thinking may not be enabled when tool_choice forces tool use.")
		}
	case "adaptive":
		effort := r.effort
		if effort == "" {
			effort = "high"
		}
		a.ThinkingTokens = kit.EffortTokens[effort]
	}
	if a.ThinkingTokens > 0 && a.MaxTokens > 0 {
		// something is left to say, whatever is thought
		a.ThinkingTokens = min(a.ThinkingTokens, max(1, a.MaxTokens/2))
	}
}

// serverTools are tools with schemas of the provider's own, by what their type begins with. The provider runs searches, fetches, code and MCP
// servers; those of the client are called like any tool.
var serverTools = []string{"bash_", "text_editor_", "computer_", "memory_", "web_search_", "web_fetch_", "code_execution_", "tool_search_tool_", "mcp_toolset", "advisor_"}

func (r *messagesReader) tool(v *kit.Node, param string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Given("type")
	if kindOf != nil && !r.ExpectKind(kindOf, kit.Text, param+".type") {
		return
	}
	t := kit.Tool{Name: v.Get("name").Str()}
	switch word := kindOf.Str(); {
	case word == "" || word == "custom":
		r.customTool(v, param+".custom")
		t.Schema = v.Get("input_schema")
		r.Request.Tools = append(r.Request.Tools, t)
	case strings.HasPrefix(word, "web_search_"):
		if t.Name != "web_search" {
			r.WrongValue(param+"."+word+".name", "'web_search'")
		}
		r.Request.Searches = true
	case !hasPrefix(word, serverTools):
		r.Refuse(param, "", param+": Input tag '"+word+"' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', 'memory_20250818', 'text_editor_20250728', 'web_search_20250305'")
	case strings.HasPrefix(word, "bash_") || strings.HasPrefix(word, "text_editor_") || strings.HasPrefix(word, "computer_") || strings.HasPrefix(word, "memory_"):
		r.Request.Tools = append(r.Request.Tools, t)
	default:
		r.Request.OfferHosted(word)
	}
	if r.names[t.Name] {
		r.Refuse(param, "", "tools: Tool names must be unique.")
	}
	r.names[t.Name] = true
	r.marked(v, param+".custom", kit.CountTokens(string(v.Raw)))
}

func hasPrefix(s string, of []string) bool {
	for _, p := range of {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func (r *messagesReader) customTool(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]messagesField{
		"type": messagesText, "description": messagesText, "strict": messagesBool, "cache_control": nil, "eager_input_streaming": messagesBool,
		"allowed_callers": messagesArray, "defer_loading": messagesBool, "input_examples": messagesArray,
		"name": func(r *messagesReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Text, p) && !kit.ValidNameOf(v.Text, 128) {
				r.Refuse(p, "", p+": String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
			}
		},
		"input_schema": func(r *messagesReader, v *kit.Node, p string) {
			if !r.ExpectKind(v, kit.Object, p) {
				return
			}
			if kindOf := v.Get("type"); kindOf == nil {
				r.Missing(p + ".type")
			} else {
				r.OneOf(kindOf, p+".type", "object")
			}
		},
	}, "name", "input_schema")
	if v.Get("strict").IsTrue() && v.Get("input_schema").Is(kit.Object) {
		r.closed(v.Get("input_schema"), param+".input_schema")
	}
}

func (r *messagesReader) toolChoice(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]messagesField{
		"type": func(r *messagesReader, v *kit.Node, p string) {
			word := r.OneOf(v, p, "auto", "any", "tool", "none")
			r.Request.Choice.Mode = map[string]string{"auto": "auto", "any": "required", "tool": "required", "none": "none"}[word]
		},
		"name": messagesText,
		"disable_parallel_tool_use": func(r *messagesReader, v *kit.Node, p string) {
			r.Request.ParallelCalls = !(r.ExpectKind(v, kit.Boolean, p) && v.IsTrue())
		},
	}, "type")
	switch name := v.Get("name"); {
	case v.Get("type").Str() != "tool" && name != nil:
		r.Unknown(param + "." + v.Get("type").Str() + ".name")
	case v.Get("type").Str() != "tool":
	case name == nil:
		r.Missing(param + ".tool.name")
	default:
		r.Request.Choice.Only = []string{name.Str()}
	}
}

// together checks rules that involve more than one member.
func (r *messagesReader) together() {
	a := r.Request
	if r.Root.Given("tool_choice") != nil && r.Root.Given("tools") == nil {
		r.Refuse("tool_choice", "", "tool_choice: tool_choice may only be specified while providing tools.")
	}
	for _, name := range a.Choice.Only {
		if !r.names[name] {
			r.Refuse("tool_choice", "", "Tool '"+name+"' not found in provided tools")
		}
	}
	if a.MaxTokens > messagesOutput {
		r.Refuse("max_tokens", "", "max_tokens: "+strconv.Itoa(a.MaxTokens)+" > "+strconv.Itoa(messagesOutput)+", which is the maximum allowed number of output tokens for "+a.Model.Name)
	}
	if err := a.Knobs.Check(); err != nil {
		r.Refuse("messages", "", "messages: "+err.Error())
	}
	if c := r.Root.Given("cache_control"); c != nil {
		a.Marks.Mark(c.Get("ttl").Str() == "1h")
	}
	a.Redact = a.Knobs.Redact
	if tokens, _ := a.PromptTokens(); tokens > a.Model.ContextTokens {
		r.Refuse("messages", "", "prompt is too long: "+strconv.Itoa(tokens)+" tokens > "+strconv.Itoa(a.Model.ContextTokens)+" maximum")
	}
}
