package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// bedrockWire is Converse of Amazon Bedrock: JSON on the way in, events in binary frames on the way out.
var bedrockWire = &wire{
	name: "bedrock", say: &bedrockPhrases,
	fail: func(f *refusal) []byte { return append(appendText([]byte(`{"message":`), f.message), '}') },
	beside: func(h http.Header, f *refusal) {
		h.Set("X-Amzn-Errortype", bedrockError(f)+":http://internal.amazon.com/coral/com.amazon.bedrock/")
		h.Set("X-Amzn-Requestid", amazonID(f.message))
	},
	admit: func(*Host, *http.Request) *refusal { return nil }, // what is signed is known when the body is
	inside: func(f *refusal, _ string, _ int) frame {
		kind := bedrockError(f)
		return frame{event: exceptionMark + strings.ToLower(kind[:1]) + kind[1:], data: append(appendText([]byte(`{"message":`), f.message), '}')}
	},
	stream:  []string{"application/vnd.amazon.eventstream"},
	binary:  true,
	frame:   eventFrame,
	tooLong: "Input is too long for requested model.",
	text: func(s string) frame {
		return frame{event: "contentBlockDelta", data: []byte(`{"contentBlockIndex":0,"delta":{"text":"` + s + `"}}`)}
	},
	idle:      frame{event: "contentBlockDelta", data: []byte(`{"contentBlockIndex":0,"delta":{"text":""}}`)},
	shapeless: []byte(`{"metrics":{"latencyMs":1}}`),
}

var bedrockPhrases = phrases{
	item: func(param string, i int) string { return param + "." + strconv.Itoa(i+1) + ".member" },
	missing: func(param string) string {
		return "1 validation error detected: Value null at '" + param + "' failed to satisfy constraint: Member must not be null"
	},
	unknown: func(param string) string {
		return "Malformed input request: #: extraneous key [" + param + "] is not permitted, please reformat your input and try again."
	},
	wrongType: func(param, got, want string) string {
		return "Unexpected field type at '" + param + "': " + got + " is not " + want
	},
	wrongValue: func(param, want string) string {
		return "1 validation error detected: Value at '" + param + "' failed to satisfy constraint: Member must satisfy enum value set: [" + strings.ReplaceAll(strings.TrimPrefix(want, "one of "), "'", "") + "]"
	},
	outOfRange: func(param, low, high string) string {
		return "1 validation error detected: Value at '" + param + "' failed to satisfy constraint: Member must have value between " + low + " and " + high
	},
	readable: func(error) string { return "Malformed input request, please reformat your input and try again." },
}

// bedrockErrors are the names of errors by status.
var bedrockErrors = map[int]string{
	400: "ValidationException", 401: "UnrecognizedClientException", 402: "AccessDeniedException", 403: "AccessDeniedException", 404: "ResourceNotFoundException", 405: "UnknownOperationException",
	408: "ModelTimeoutException", 413: "ValidationException", 415: "ValidationException", 422: "ValidationException", 424: "ModelErrorException", 429: "ThrottlingException",
	503: "ServiceUnavailableException",
}

// bedrockError is the name of an error. A refusal about a signature brings its own.
func bedrockError(f *refusal) string {
	if strings.HasSuffix(f.code, "Exception") {
		return f.code
	}
	if name := bedrockErrors[f.status]; name != "" {
		return name
	}
	return "InternalServerException"
}

// converse serves POST /model/{id}/converse and, as a stream, converse-stream.
func (s *chatWires) converse(stream bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		s.take(bedrockWire, w, r, func(body []byte) *refusal {
			if refused := signedBy(s.Host, r, body); refused != nil {
				return refused
			}
			b, refused := bedrockRequest(r.PathValue("id"), body)
			if refused != nil {
				return refused
			}
			b.ask.stream = stream
			w.Header()["X-Amzn-Requestid"] = []string{amazonID(hexOf(uint64(b.ask.digest())))}
			s.answer(w, r, started, b.ask, func(answer *answer, _ time.Time) *reply {
				return (&bedrockReply{ask: b.ask, answer: answer}).reply()
			})
			return nil
		})
	}
}

// bedrockReader reads a request.
type bedrockReader struct {
	checker
	thinking bool // with a budget
	cached   int
	names    map[string]bool
	calls    openCalls
	toolUsed bool
	roles    []string
}

type bedrockField = field[*bedrockReader]

var (
	bedrockText   bedrockField = func(r *bedrockReader, v *node, p string) { r.aText(v, p) }
	bedrockObject bedrockField = func(r *bedrockReader, v *node, p string) { r.anObject(v, p) }
	bedrockArray  bedrockField = func(r *bedrockReader, v *node, p string) { r.anArray(v, p) }
	bedrockFields map[string]bedrockField
)

func bedrockRequest(model string, body []byte) (*bedrockReader, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, &refusal{status: 400, code: "SerializationException", message: bedrockPhrases.readable(err)}
	}
	r := &bedrockReader{checker: newChecker(&bedrockPhrases), names: map[string]bool{}}
	r.root, r.ask.marks, r.ask.thinking = root, &marks{digest: newDigest}, true
	base, err := r.ask.knobs.named(model)
	r.ask.name, r.ask.persona = model, modelNamed(base)
	if err != nil || r.ask.persona == nil {
		return nil, &refusal{status: 400, message: "The provided model identifier is invalid."}
	}
	if !members(&r.checker, r, root, "", bedrockFields) {
		return nil, r.fault
	}
	if v := root.given("toolConfig"); v != nil {
		r.toolConfig(v, "toolConfig")
	}
	r.system(root.given("system"))
	r.messages(root.given("messages"))
	if r.fault == nil {
		r.together()
	}
	return r, r.fault
}

func init() {
	bedrockFields = map[string]bedrockField{
		"modelId": nil, "messages": nil, "system": nil, "toolConfig": nil,
		"inferenceConfig": func(r *bedrockReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]bedrockField{
				"maxTokens":   func(r *bedrockReader, v *node, p string) { r.ask.maxTokens = int(r.integer(v, p, 1, 1<<31)) },
				"temperature": func(r *bedrockReader, v *node, p string) { r.decimal(v, p, 0, 1) },
				"topP":        func(r *bedrockReader, v *node, p string) { r.decimal(v, p, 0, 1) },
				"stopSequences": func(r *bedrockReader, v *node, p string) {
					r.each(v, p, func(v *node, p string) {
						if r.typed(v, text, p) && v.text == "" {
							r.refuse(p, "", "1 validation error detected: Value '' at '"+p+"' failed to satisfy constraint: Member must have length greater than or equal to 1")
						}
						r.ask.stops = append(r.ask.stops, v.text)
					})
				},
			})
		},
		"additionalModelRequestFields": (*bedrockReader).modelFields,
		"outputConfig":                 (*bedrockReader).outputConfig,
		"guardrailConfig":              bedrockObject, "promptVariables": bedrockObject, "requestMetadata": bedrockObject, "additionalModelResponseFieldPaths": bedrockArray,
		"performanceConfig": func(r *bedrockReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]bedrockField{"latency": func(r *bedrockReader, v *node, p string) { r.words(v, p, "standard", "optimized") }})
		},
		"serviceTier": func(r *bedrockReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]bedrockField{"type": func(r *bedrockReader, v *node, p string) { r.words(v, p, "priority", "default", "flex", "reserved") }}, "type")
		},
	}
}

// modelFields are passed on to the model, which is one that takes Anthropic's fields.
func (r *bedrockReader) modelFields(v *node, param string) {
	if !r.typed(v, object, param) {
		return
	}
	thinking := v.given("thinking")
	if thinking == nil {
		thinking = v.given("reasoning_config")
	}
	if thinking != nil && r.typed(thinking, object, param+".thinking") {
		switch thinking.get("type").str() {
		case "enabled":
			n, ok := thinking.get("budget_tokens").whole()
			if !ok || n < leastBudget {
				r.model("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
			}
			r.thinking, r.ask.thought = true, min(int(n)/32, effortTokens["max"])
			if limit, given := r.root.get("inferenceConfig").get("maxTokens").whole(); given && limit <= n {
				r.model("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
			}
		case "adaptive":
			r.ask.thought = effortTokens["high"]
		case "disabled":
		default:
			r.model("thinking: Input tag '" + thinking.get("type").str() + "' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'")
		}
	}
	if effort := v.get("output_config").get("effort").str(); effort != "" && r.ask.thought > 0 && !r.thinking {
		r.ask.thought = effortTokens[effort]
	}
	for _, name := range v.names {
		switch name {
		case "thinking", "reasoning_config", "output_config", "top_k", "anthropic_beta":
		default:
			r.model(name + ": Extra inputs are not permitted")
		}
	}
}

// model is a complaint of the model itself, which Bedrock passes on.
func (r *bedrockReader) model(message string) {
	r.refuse("", "", "The model returned the following errors: "+message)
}

func (r *bedrockReader) outputConfig(v *node, param string) {
	if !members(&r.checker, r, v, param, map[string]bedrockField{"textFormat": bedrockObject, "effort": bedrockText}) || v.given("textFormat") == nil {
		return
	}
	format, at := v.get("textFormat"), param+".textFormat"
	fields := map[string]bedrockField{"type": func(r *bedrockReader, v *node, p string) { r.words(v, p, "json_schema") }, "structure": bedrockObject}
	if !members(&r.checker, r, format, at, fields, "type", "structure") {
		return
	}
	schema := format.get("structure").get("jsonSchema").get("schema")
	if !schema.is(text) {
		r.missing(at + ".structure.jsonSchema.schema")
		return
	}
	n, err := parse([]byte(schema.text))
	if err != nil || !n.is(object) {
		r.refuse(at, "", "The JSON schema in outputConfig is not valid JSON.")
		return
	}
	r.closed(n)
	r.ask.format, r.ask.schema = jsonSchema, n
	r.ask.overhead += countTokens(schema.text)
}

// closed checks that a schema allows no members but its own, at any depth.
func (r *bedrockReader) closed(v *node) {
	if v.is(object) && v.get("type").str() == "object" {
		if more := v.get("additionalProperties"); !more.is(boolean) || more.yes() {
			r.model("output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false")
		}
	}
	for i := range v.items {
		r.closed(&v.items[i])
	}
}

func (r *bedrockReader) toolConfig(v *node, param string) {
	if !members(&r.checker, r, v, param, map[string]bedrockField{"tools": bedrockArray, "toolChoice": nil}, "tools") {
		return
	}
	tools := v.get("tools")
	if len(tools.items) == 0 {
		r.refuse(param, "", "1 validation error detected: Value '[]' at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	r.each(tools, param+".tools", r.tool)
	r.ask.overhead += countTokens(string(tools.raw))
	choice := v.given("toolChoice")
	if choice == nil {
		return
	}
	members(&r.checker, r, choice, param+".toolChoice", map[string]bedrockField{
		"auto": bedrockObject,
		"any":  func(r *bedrockReader, _ *node, _ string) { r.ask.choice.mode = "required" },
		"tool": func(r *bedrockReader, v *node, p string) {
			if members(&r.checker, r, v, p, map[string]bedrockField{"name": bedrockText}, "name") {
				r.ask.choice.mode, r.ask.choice.only = "required", []string{v.get("name").text}
			}
		},
	})
}

func (r *bedrockReader) tool(v *node, param string) {
	if !members(&r.checker, r, v, param, map[string]bedrockField{"toolSpec": bedrockObject, "cachePoint": bedrockObject, "systemTool": bedrockObject}) {
		return
	}
	if point := v.given("cachePoint"); point != nil {
		r.cachePoint(point, param+".cachePoint")
		return
	}
	spec := v.given("toolSpec")
	if spec == nil {
		return
	}
	at := param + ".toolSpec"
	fields := map[string]bedrockField{"name": bedrockText, "description": bedrockText, "inputSchema": bedrockObject, "strict": func(r *bedrockReader, v *node, p string) { r.aBool(v, p) }}
	if !members(&r.checker, r, spec, at, fields, "name", "inputSchema") {
		return
	}
	name, schema := spec.get("name").text, spec.get("inputSchema").get("json")
	switch {
	case !validName(name):
		r.refuse(at, "", "1 validation error detected: Value '"+name+"' at '"+at+".name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
	case spec.has("description") && spec.get("description").str() == "":
		r.refuse(at, "", "1 validation error detected: Value '' at '"+at+".description' failed to satisfy constraint: Member must have length greater than or equal to 1")
	case !schema.is(object):
		r.missing(at + ".inputSchema.json")
	case schema.get("type").str() != "object":
		r.refuse(at, "", "The value at "+zeroBased(at)+".inputSchema.json.type must be one of the following: object.")
	case r.names[name]:
		r.model("tools: Tool names must be unique.")
	}
	r.names[name] = true
	r.ask.tools = append(r.ask.tools, tool{name: name, schema: schema})
	r.ask.marks.block(string(v.raw), countTokens(string(v.raw)))
}

// zeroBased is a path as the service writes it after its first checks: members counted from 0.
func zeroBased(param string) string {
	parts := strings.Split(param, ".")
	var out []string
	for i, p := range parts {
		if p == "member" {
			continue
		}
		if n, err := strconv.Atoi(p); err == nil && i+1 < len(parts) && parts[i+1] == "member" {
			p = strconv.Itoa(n - 1)
		}
		out = append(out, p)
	}
	return strings.Join(out, ".")
}

// cachePoint marks the prompt up to here.
func (r *bedrockReader) cachePoint(v *node, param string) {
	members(&r.checker, r, v, param, map[string]bedrockField{
		"type": func(r *bedrockReader, v *node, p string) { r.words(v, p, "default") }, "ttl": func(r *bedrockReader, v *node, p string) { r.words(v, p, "5m", "1h") },
	}, "type")
	if r.cached++; r.cached > maxMarks {
		r.model("A maximum of " + strconv.Itoa(maxMarks) + " blocks with cache_control may be provided. Found " + strconv.Itoa(r.cached) + ".")
	}
	r.ask.marks.here(v.get("ttl").str() == "1h")
}

func (r *bedrockReader) system(v *node) {
	if v == nil {
		return
	}
	t := turn{role: "system"}
	r.each(v, "system", func(v *node, param string) {
		if !members(&r.checker, r, v, param, map[string]bedrockField{"text": bedrockText, "cachePoint": bedrockObject, "guardContent": bedrockObject}) {
			return
		}
		switch point := v.given("cachePoint"); {
		case point != nil:
			r.cachePoint(point, param+".cachePoint")
		case v.get("text").str() == "":
			r.refuse(param, "", "1 validation error detected: Value '' at '"+param+".text' failed to satisfy constraint: Member must have length greater than or equal to 1")
		default:
			r.say(&t, v.get("text").text, param)
			r.ask.marks.block(string(v.raw), countTokens(v.get("text").text)+1)
		}
	})
	r.ask.turns = append(r.ask.turns, t)
}

// together checks what depends on more than one member.
func (r *bedrockReader) together() {
	a := r.ask
	if r.toolUsed && r.root.given("toolConfig") == nil {
		r.refuse("", "", "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	}
	for _, name := range a.choice.only {
		if !r.names[name] {
			r.refuse("", "", "The toolChoice field must name a tool of the toolConfig field: "+name+".")
		}
	}
	if r.thinking && a.choice.mode == "required" {
		r.model("Thinking may not be enabled when tool_choice forces tool use.")
	}
	if a.maxTokens > messagesOutput {
		r.refuse("", "", "The maximum tokens you requested exceeds the model limit of "+strconv.Itoa(messagesOutput)+". Try again with a maximum tokens value that is lower than "+strconv.Itoa(messagesOutput)+".")
	}
	if a.thought > 0 && a.maxTokens > 0 {
		a.thought = min(a.thought, max(1, a.maxTokens/2))
	}
	a.redact = a.knobs.redact
	if err := a.knobs.check(); err != nil {
		r.refuse("", "", "Invalid marker: "+err.Error()+".")
	}
	if tokens, _ := a.promptTokens(); tokens > a.persona.ContextTokens {
		r.refuse("", "", "Input is too long for requested model.")
	}
}
