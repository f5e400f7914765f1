package chat

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// bedrockWire is Converse of Amazon Bedrock: JSON on the way in, events in binary frames on the way out.
var bedrockWire = &kit.Wire{
	Name: "bedrock", Phrases: &bedrockPhrases,
	ErrorBody: func(f *kit.Refusal) []byte { return append(kit.AppendText([]byte(`{"message":`), f.Message), '}') },
	ErrorHeader: func(h http.Header, f *kit.Refusal) {
		h.Set("X-Amzn-Errortype", bedrockError(f)+":http://internal.amazon.com/coral/com.amazon.bedrock/")
		h.Set("X-Amzn-Requestid", kit.AmazonID(f.Message))
	},
	Admit: func(*kit.Host, *http.Request) *kit.Refusal { return nil }, // what is signed is known when the body is
	ErrorFrame: func(f *kit.Refusal, _ string, _ int) kit.Frame {
		kind := bedrockError(f)
		return kit.Frame{Event: kit.ExceptionMark + strings.ToLower(kind[:1]) + kind[1:], Data: append(kit.AppendText([]byte(`{"message":`), f.Message), '}')}
	},
	Stream:  []string{"application/vnd.amazon.eventstream"},
	Binary:  true,
	Frame:   kit.EventFrame,
	TooLong: "Input is too long for requested model.",
	TextFrame: func(s string) kit.Frame {
		return kit.Frame{Event: "contentBlockDelta", Data: []byte(`{"contentBlockIndex":0,"delta":{"text":"` + s + `"}}`)}
	},
	IdleFrame:  kit.Frame{Event: "contentBlockDelta", Data: []byte(`{"contentBlockIndex":0,"delta":{"text":""}}`)},
	Incomplete: []byte(`{"metrics":{"latencyMs":1}}`),
}

var bedrockPhrases = kit.Phrases{
	Item: func(param string, i int) string { return param + "." + strconv.Itoa(i+1) + ".member" },
	Missing: func(param string) string {
		return "1 validation error detected: Value null at '" + param + "' failed to satisfy constraint: Member must not be null"
	},
	Unknown: func(param string) string {
		return "Malformed input request: #: extraneous key [" + param + "] is not permitted, please reformat your input and try again."
	},
	WrongType: func(param, got, want string) string {
		return "Unexpected field type at '" + param + "': " + got + " is not " + want
	},
	WrongValue: func(param, want string) string {
		return "1 validation error detected: Value at '" + param + "' failed to satisfy constraint: Member must satisfy enum value set: [" + strings.ReplaceAll(strings.TrimPrefix(want, "one of "), "'", "") + "]"
	},
	OutOfRange: func(param, low, high string) string {
		return "1 validation error detected: Value at '" + param + "' failed to satisfy constraint: Member must have value between " + low + " and " + high
	},
	Readable: func(error) string { return "Malformed input request, please reformat your input and try again." },
}

// bedrockErrors are the names of errors by status.
var bedrockErrors = map[int]string{
	400: "ValidationException", 401: "UnrecognizedClientException", 402: "AccessDeniedException", 403: "AccessDeniedException", 404: "ResourceNotFoundException", 405: "UnknownOperationException",
	408: "ModelTimeoutException", 413: "ValidationException", 415: "ValidationException", 422: "ValidationException", 424: "ModelErrorException", 429: "ThrottlingException",
	503: "ServiceUnavailableException",
}

// bedrockError is the name of an error. A refusal about a signature brings its own.
func bedrockError(f *kit.Refusal) string {
	if strings.HasSuffix(f.Code, "Exception") {
		return f.Code
	}
	if name := bedrockErrors[f.Status]; name != "" {
		return name
	}
	return "InternalServerException"
}

// converse serves POST /model/{id}/converse and, as a stream, converse-stream.
func (s *Wires) converse(stream bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		s.HandleJSON(bedrockWire, w, r, func(body []byte) *kit.Refusal {
			if refused := signedBy(s.Host, r, body); refused != nil {
				return refused
			}
			b, refused := bedrockRequest(r.PathValue("id"), body)
			if refused != nil {
				return refused
			}
			b.Request.Stream = stream
			w.Header()["X-Amzn-Requestid"] = []string{kit.AmazonID(kit.HexOf(uint64(b.Request.Digest())))}
			s.Answer(w, r, started, b.Request, func(answer *kit.Answer, _ time.Time) *kit.Reply {
				return (&bedrockReply{ask: b.Request, answer: answer}).reply()
			})
			return nil
		})
	}
}

// bedrockReader reads a request.
type bedrockReader struct {
	kit.Checker
	thinking bool // with a budget
	cached   int
	names    map[string]bool
	calls    openCalls
	toolUsed bool
	roles    []string
}

type bedrockField = kit.Field[*bedrockReader]

var (
	bedrockText   bedrockField = func(r *bedrockReader, v *kit.Node, p string) { r.ExpectText(v, p) }
	bedrockObject bedrockField = func(r *bedrockReader, v *kit.Node, p string) { r.ExpectObject(v, p) }
	bedrockArray  bedrockField = func(r *bedrockReader, v *kit.Node, p string) { r.ExpectArray(v, p) }
)

func bedrockRequest(model string, body []byte) (*bedrockReader, *kit.Refusal) {
	root, err := kit.Parse(body)
	if err != nil {
		return nil, &kit.Refusal{Status: 400, Code: "SerializationException", Message: bedrockPhrases.Readable(err)}
	}
	r := &bedrockReader{Checker: kit.NewChecker(&bedrockPhrases), names: map[string]bool{}}
	r.Root, r.Request.Marks, r.Request.Thinking = root, &kit.Marks{Digest: kit.NewDigest}, true
	base, err := r.Request.Knobs.ParseName(model)
	r.Request.Name, r.Request.Model = model, kit.ModelNamed(base)
	if err != nil || r.Request.Model == nil {
		return nil, &kit.Refusal{Status: 400, Message: "The provided model identifier is invalid."}
	}
	if !kit.Members(&r.Checker, r, root, "", bedrockFields()) {
		return nil, r.Fault
	}
	if v := root.Given("toolConfig"); v != nil {
		r.toolConfig(v, "toolConfig")
	}
	r.system(root.Given("system"))
	r.messages(root.Given("messages"))
	if r.Fault == nil {
		r.together()
	}
	return r, r.Fault
}

// bedrockFields are the members that a request may have.
func bedrockFields() map[string]bedrockField {
	return map[string]bedrockField{
		"modelId": nil, "messages": nil, "system": nil, "toolConfig": nil,
		"inferenceConfig": func(r *bedrockReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]bedrockField{
				"maxTokens":   func(r *bedrockReader, v *kit.Node, p string) { r.Request.MaxTokens = int(r.Integer(v, p, 1, 1<<31)) },
				"temperature": func(r *bedrockReader, v *kit.Node, p string) { r.Decimal(v, p, 0, 1) },
				"topP":        func(r *bedrockReader, v *kit.Node, p string) { r.Decimal(v, p, 0, 1) },
				"stopSequences": func(r *bedrockReader, v *kit.Node, p string) {
					r.Each(v, p, func(v *kit.Node, p string) {
						if r.ExpectKind(v, kit.Text, p) && v.Text == "" {
							r.Refuse(p, "", "1 validation error detected: Value '' at '"+p+"' failed to satisfy constraint: Member must have length greater than or equal to 1")
						}
						r.Request.Stops = append(r.Request.Stops, v.Text)
					})
				},
			})
		},
		"additionalModelRequestFields": (*bedrockReader).modelFields,
		"outputConfig":                 (*bedrockReader).outputConfig,
		"guardrailConfig":              bedrockObject, "promptVariables": bedrockObject, "requestMetadata": bedrockObject, "additionalModelResponseFieldPaths": bedrockArray,
		"performanceConfig": func(r *bedrockReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]bedrockField{"latency": func(r *bedrockReader, v *kit.Node, p string) { r.OneOf(v, p, "standard", "optimized") }})
		},
		"serviceTier": func(r *bedrockReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]bedrockField{"type": func(r *bedrockReader, v *kit.Node, p string) {
				r.OneOf(v, p, "priority", "default", "flex", "reserved")
			}}, "type")
		},
	}
}

// modelFields are passed on to the model, which is one that takes Anthropic's fields.
func (r *bedrockReader) modelFields(v *kit.Node, param string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	thinking := v.Given("thinking")
	if thinking == nil {
		thinking = v.Given("reasoning_config")
	}
	if thinking != nil && r.ExpectKind(thinking, kit.Object, param+".thinking") {
		switch thinking.Get("type").Str() {
		case "enabled":
			n, ok := thinking.Get("budget_tokens").Int()
			if !ok || n < leastBudget {
				r.model("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
			}
			r.thinking, r.Request.ThinkingTokens = true, min(int(n)/32, kit.EffortTokens["max"])
			if limit, given := r.Root.Get("inferenceConfig").Get("maxTokens").Int(); given && limit <= n {
				r.model("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
			}
		case "adaptive":
			r.Request.ThinkingTokens = kit.EffortTokens["high"]
		case "disabled":
		default:
			r.model("thinking: Input tag '" + thinking.Get("type").Str() + "' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'")
		}
	}
	if effort := v.Get("output_config").Get("effort").Str(); effort != "" && r.Request.ThinkingTokens > 0 && !r.thinking {
		r.Request.ThinkingTokens = kit.EffortTokens[effort]
	}
	for _, name := range v.Names {
		switch name {
		case "thinking", "reasoning_config", "output_config", "top_k", "anthropic_beta":
		default:
			r.model(name + ": Extra inputs are not permitted")
		}
	}
}

// model refuses with an error of the model, which Bedrock passes on.
func (r *bedrockReader) model(message string) {
	r.Refuse("", "", "The model returned the following errors: "+message)
}

func (r *bedrockReader) outputConfig(v *kit.Node, param string) {
	if !kit.Members(&r.Checker, r, v, param, map[string]bedrockField{"textFormat": bedrockObject, "effort": bedrockText}) || v.Given("textFormat") == nil {
		return
	}
	format, at := v.Get("textFormat"), param+".textFormat"
	fields := map[string]bedrockField{"type": func(r *bedrockReader, v *kit.Node, p string) { r.OneOf(v, p, "json_schema") }, "structure": bedrockObject}
	if !kit.Members(&r.Checker, r, format, at, fields, "type", "structure") {
		return
	}
	schema := format.Get("structure").Get("jsonSchema").Get("schema")
	if !schema.Is(kit.Text) {
		r.Missing(at + ".structure.jsonSchema.schema")
		return
	}
	n, err := kit.Parse([]byte(schema.Text))
	if err != nil || !n.Is(kit.Object) {
		r.Refuse(at, "", "The JSON schema in outputConfig is not valid JSON.")
		return
	}
	r.closed(n)
	r.Request.Format, r.Request.Schema = kit.JSONSchema, n
	r.Request.Overhead += kit.CountTokens(schema.Text)
}

// closed checks that a schema allows no members but its own, at any depth.
func (r *bedrockReader) closed(v *kit.Node) {
	if v.Is(kit.Object) && v.Get("type").Str() == "object" {
		if more := v.Get("additionalProperties"); !more.Is(kit.Boolean) || more.IsTrue() {
			r.model("output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false")
		}
	}
	for i := range v.Items {
		r.closed(&v.Items[i])
	}
}

func (r *bedrockReader) toolConfig(v *kit.Node, param string) {
	if !kit.Members(&r.Checker, r, v, param, map[string]bedrockField{"tools": bedrockArray, "toolChoice": nil}, "tools") {
		return
	}
	tools := v.Get("tools")
	if len(tools.Items) == 0 {
		r.Refuse(param, "", "1 validation error detected: Value '[]' at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	r.Each(tools, param+".tools", r.tool)
	r.Request.Overhead += kit.CountTokens(string(tools.Raw))
	choice := v.Given("toolChoice")
	if choice == nil {
		return
	}
	kit.Members(&r.Checker, r, choice, param+".toolChoice", map[string]bedrockField{
		"auto": bedrockObject,
		"any":  func(r *bedrockReader, _ *kit.Node, _ string) { r.Request.Choice.Mode = "required" },
		"tool": func(r *bedrockReader, v *kit.Node, p string) {
			if kit.Members(&r.Checker, r, v, p, map[string]bedrockField{"name": bedrockText}, "name") {
				r.Request.Choice.Mode, r.Request.Choice.Only = "required", []string{v.Get("name").Text}
			}
		},
	})
}

func (r *bedrockReader) tool(v *kit.Node, param string) {
	if !kit.Members(&r.Checker, r, v, param, map[string]bedrockField{"toolSpec": bedrockObject, "cachePoint": bedrockObject, "systemTool": bedrockObject}) {
		return
	}
	if point := v.Given("cachePoint"); point != nil {
		r.cachePoint(point, param+".cachePoint")
		return
	}
	spec := v.Given("toolSpec")
	if spec == nil {
		return
	}
	at := param + ".toolSpec"
	fields := map[string]bedrockField{"name": bedrockText, "description": bedrockText, "inputSchema": bedrockObject, "strict": func(r *bedrockReader, v *kit.Node, p string) { r.ExpectBool(v, p) }}
	if !kit.Members(&r.Checker, r, spec, at, fields, "name", "inputSchema") {
		return
	}
	name, schema := spec.Get("name").Text, spec.Get("inputSchema").Get("json")
	switch {
	case !kit.ValidName(name):
		r.Refuse(at, "", "1 validation error detected: Value '"+name+"' at '"+at+".name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
	case spec.Has("description") && spec.Get("description").Str() == "":
		r.Refuse(at, "", "1 validation error detected: Value '' at '"+at+".description' failed to satisfy constraint: Member must have length greater than or equal to 1")
	case !schema.Is(kit.Object):
		r.Missing(at + ".inputSchema.json")
	case schema.Get("type").Str() != "object":
		r.Refuse(at, "", "The value at "+zeroBased(at)+".inputSchema.json.type must be one of the following: object.")
	case r.names[name]:
		r.model("tools: Tool names must be unique.")
	}
	r.names[name] = true
	r.Request.Tools = append(r.Request.Tools, kit.Tool{Name: name, Schema: schema})
	r.Request.Marks.Block(string(v.Raw), kit.CountTokens(string(v.Raw)))
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
func (r *bedrockReader) cachePoint(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]bedrockField{
		"type": func(r *bedrockReader, v *kit.Node, p string) { r.OneOf(v, p, "default") }, "ttl": func(r *bedrockReader, v *kit.Node, p string) { r.OneOf(v, p, "5m", "1h") },
	}, "type")
	if r.cached++; r.cached > kit.MaxMarks {
		r.model("A maximum of " + strconv.Itoa(kit.MaxMarks) + " blocks with cache_control may be provided. Found " + strconv.Itoa(r.cached) + ".")
	}
	r.Request.Marks.Mark(v.Get("ttl").Str() == "1h")
}

func (r *bedrockReader) system(v *kit.Node) {
	if v == nil {
		return
	}
	t := kit.Turn{Role: "system"}
	r.Each(v, "system", func(v *kit.Node, param string) {
		if !kit.Members(&r.Checker, r, v, param, map[string]bedrockField{"text": bedrockText, "cachePoint": bedrockObject, "guardContent": bedrockObject}) {
			return
		}
		switch point := v.Given("cachePoint"); {
		case point != nil:
			r.cachePoint(point, param+".cachePoint")
		case v.Get("text").Str() == "":
			r.Refuse(param, "", "1 validation error detected: Value '' at '"+param+".text' failed to satisfy constraint: Member must have length greater than or equal to 1")
		default:
			r.AddText(&t, v.Get("text").Text, param)
			r.Request.Marks.Block(string(v.Raw), kit.CountTokens(v.Get("text").Text)+1)
		}
	})
	r.Request.Turns = append(r.Request.Turns, t)
}

// together checks rules that involve more than one member.
func (r *bedrockReader) together() {
	a := r.Request
	if r.toolUsed && r.Root.Given("toolConfig") == nil {
		r.Refuse("", "", "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	}
	for _, name := range a.Choice.Only {
		if !r.names[name] {
			r.Refuse("", "", "The toolChoice field must name a tool of the toolConfig field: "+name+".")
		}
	}
	if r.thinking && a.Choice.Mode == "required" {
		r.model("Thinking may not be enabled when tool_choice forces tool use.")
	}
	if a.MaxTokens > messagesOutput {
		r.Refuse("", "", "The maximum tokens you requested exceeds the model limit of "+strconv.Itoa(messagesOutput)+". Try again with a maximum tokens value that is lower than "+strconv.Itoa(messagesOutput)+".")
	}
	if a.ThinkingTokens > 0 && a.MaxTokens > 0 {
		a.ThinkingTokens = min(a.ThinkingTokens, max(1, a.MaxTokens/2))
	}
	a.Redact = a.Knobs.Redact
	if err := a.Knobs.Check(); err != nil {
		r.Refuse("", "", "Invalid marker: "+err.Error()+".")
	}
	if tokens, _ := a.PromptTokens(); tokens > a.Model.ContextTokens {
		r.Refuse("", "", "Input is too long for requested model.")
	}
}
