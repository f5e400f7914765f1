package sim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// geminiWire is generateContent of Google, by AI Studio and by Vertex. It is JSON of protocol buffers: names may be written in two
// ways, and complaints name fields as the buffers do.
var geminiWire = &wire{
	name: "gemini", say: &geminiPhrases,
	fail:   geminiError,
	inside: func(f *refusal, _ string, _ int) frame { return frame{data: geminiError(f)} },
	stream: []string{"text/event-stream"},
	frame: func(dst []byte, f frame) []byte {
		return append(append(append(dst, "data: "...), f.data...), "\r\n\r\n"...)
	},
	admit: func(s *Host, r *http.Request) *refusal {
		switch {
		case s.hasKey(bearer(r), r.Header.Get("X-Goog-Api-Key"), r.URL.Query().Get("key")):
			return nil
		case r.Header.Get("Authorization") != "":
			return wrongKey(401, "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.")
		}
		return wrongKey(400, "API key not valid. Please pass a valid API key.")
	},
	tooLong: "The input token count (1200007) exceeds the maximum number of tokens allowed (1048576).",
	text: func(s string) frame {
		return frame{data: []byte(`{"candidates":[{"content":{"parts":[{"text":"` + s + `"}],"role":"model"},"index":0}]}`)}
	},
	idle:      frame{data: []byte(`{"candidates":[]}`)},
	shapeless: []byte(`{"modelVersion":"m","responseId":"x"}`),
}

var geminiPhrases = phrases{
	item: openAIPhrases.item,
	missing: func(param string) string {
		return "* GenerateContentRequest." + snake(param) + ": " + lastName(snake(param)) + " is not specified\n"
	},
	unknown: func(param string) string {
		at, name := "", param
		if i := strings.LastIndexByte(param, '.'); i >= 0 {
			at, name = " at '"+snake(param[:i])+"'", param[i+1:]
		}
		return `Invalid JSON payload received. Unknown name "` + name + `"` + at + ": Cannot find field."
	},
	wrongType: func(param, got, want string) string {
		return "Invalid value at '" + snake(param) + "' (" + geminiTypes[want] + "), " + got
	},
	wrongValue: func(param, want string) string {
		return "Invalid value at '" + snake(param) + "' (TYPE_ENUM): expected " + want
	},
	outOfRange: func(param, low, high string) string {
		return "* GenerateContentRequest." + snake(param) + ": must be in the range [" + low + ", " + high + "].\n"
	},
	readable: func(err error) string { return "Invalid JSON payload received. " + err.Error() },
	rename:   camel,
}

var geminiTypes = map[string]string{
	"a string": "TYPE_STRING", "a boolean": "TYPE_BOOL", "an integer": "TYPE_INT32", "a number": "TYPE_FLOAT", "an object": "TYPE_MESSAGE", "an array": "TYPE_MESSAGE",
}

// snake is a path of names as protocol buffers have them.
func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func lastName(param string) string { return param[strings.LastIndexByte(param, '.')+1:] }

var geminiStatuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 405: "NOT_FOUND", 409: "ABORTED", 413: "INVALID_ARGUMENT", 422: "INVALID_ARGUMENT",
	429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func geminiError(f *refusal) []byte {
	status := geminiStatuses[f.status]
	if status == "" {
		status = "INTERNAL"
		if f.status < 500 {
			status = "FAILED_PRECONDITION"
		}
	}
	dst := appendText(append(appendInt([]byte(`{"error":{"code":`), f.status), `,"message":`...), f.message)
	dst = appendText(append(dst, `,"status":`...), status)
	if f.code == "invalid_api_key" && f.status == 400 {
		dst = append(dst, `,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]`...)
	}
	return append(dst, "}}"...)
}

// gemini serves POST .../models/{model}:{method}.
func (s *chatWires) gemini(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	model, method := r.PathValue("call"), ""
	if i := strings.LastIndexByte(model, ':'); i >= 0 {
		model, method = model[:i], model[i+1:]
	}
	for _, serve := range s.google {
		if serve(w, r, model, method) {
			return
		}
	}
	if method != "generateContent" && method != "streamGenerateContent" && method != "countTokens" {
		s.refuse(geminiWire, w, &refusal{status: 404, message: "Requested entity was not found."})
		return
	}
	s.take(geminiWire, w, r, func(body []byte) *refusal {
		g, refused := geminiRequest(model, r.PathValue("project") != "", method == "countTokens", body)
		if refused != nil {
			return refused
		}
		if method == "countTokens" {
			tokens, _ := g.ask.promptTokens()
			sendJSON(w, 200, append(appendInt([]byte(`{"totalTokens":`), tokens), '}'))
			return nil
		}
		sse := r.URL.Query().Get("alt") == "sse"
		g.ask.stream = method == "streamGenerateContent" && sse
		s.answer(w, r, started, g.ask, func(answer *answer, now time.Time) *reply {
			out := &geminiReply{ask: g.ask, answer: answer, show: g.show, created: now}
			return out.reply(method == "streamGenerateContent" && !sse)
		})
		return nil
	})
}

// geminiReader reads a request.
type geminiReader struct {
	checker
	vertex bool
	show   bool // thoughts
	level  string
	budget *int64
	steps  []geminiStep
	json   bool // the answer's type is JSON
}

// geminiStep is one content: what its parts were, as far as it matters to those after it.
type geminiStep struct {
	role             string
	calls, responses []string // names
	unsigned         string   // a first call without a signature
	said             bool     // it has more than calls or responses
}

type geminiField = field[*geminiReader]

var (
	geminiText   geminiField = func(r *geminiReader, v *node, p string) { r.aText(v, p) }
	geminiBool   geminiField = func(r *geminiReader, v *node, p string) { r.aBool(v, p) }
	geminiObject geminiField = func(r *geminiReader, v *node, p string) { r.anObject(v, p) }
	geminiArray  geminiField = func(r *geminiReader, v *node, p string) { r.anArray(v, p) }
	geminiFields map[string]geminiField
)

func geminiRequest(model string, vertex, count bool, body []byte) (*geminiReader, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, unreadable(&geminiPhrases, err)
	}
	r := &geminiReader{checker: newChecker(&geminiPhrases), vertex: vertex}
	r.root = root
	base, err := r.ask.knobs.named(model)
	if err != nil {
		return nil, &refusal{status: 400, message: "* GenerateContentRequest.model: unexpected model name format: " + err.Error() + "\n"}
	}
	r.ask.name, r.ask.persona = model, modelNamed(base)
	if r.ask.persona == nil {
		return nil, geminiUnknown(model)
	}
	if count && root.given("generateContentRequest") != nil {
		r.root = root.given("generateContentRequest")
	}
	if members(&r.checker, r, r.root, "", geminiFields) {
		r.conversation()
	}
	if r.fault == nil {
		r.together()
	}
	return r, r.fault
}

func geminiUnknown(model string) *refusal {
	return &refusal{status: 404, message: "models/" + model + " is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."}
}

func init() {
	geminiFields = map[string]geminiField{
		"model":             geminiText,
		"contents":          geminiArray, // read when the rest is known
		"systemInstruction": (*geminiReader).system,
		"tools": func(r *geminiReader, v *node, p string) {
			r.each(v, p, r.tool)
			r.ask.overhead += countTokens(string(v.raw))
		},
		"toolConfig":       (*geminiReader).toolConfig,
		"generationConfig": (*geminiReader).generationConfig,
		"safetySettings": func(r *geminiReader, v *node, p string) {
			r.each(v, p, func(v *node, p string) {
				members(&r.checker, r, v, p, map[string]geminiField{"category": geminiText, "threshold": geminiText, "method": geminiText})
			})
		},
		"cachedContent": func(r *geminiReader, _ *node, _ string) {
			if r.fault == nil {
				r.fault = &refusal{status: 403, message: "CachedContent not found (or permission denied)"}
			}
		},
		"labels": func(r *geminiReader, v *node, p string) {
			if r.anObject(v, p); !r.vertex {
				r.unknown(p)
			}
		},
		"serviceTier": geminiText,
		"store":       geminiBool,
	}
}

// enum reads a word that may be written in capitals or not.
func (r *geminiReader) enum(v *node, param string, words ...string) string {
	if !r.typed(v, text, param) {
		return ""
	}
	word := strings.ToUpper(v.text)
	if !slices.Contains(words, word) {
		r.refuse(param, "", "Invalid value at '"+snake(param)+"' (TYPE_ENUM), \""+v.text+"\"")
	}
	return word
}

func (r *geminiReader) generationConfig(v *node, param string) {
	schema := func(strict bool) geminiField {
		return func(r *geminiReader, v *node, p string) {
			if !r.typed(v, object, p) {
				return
			}
			if r.ask.schema != nil {
				r.refuse(p, "", "* GenerateContentRequest.generation_config.response_schema: only one of response_schema and response_json_schema can be set.\n")
			}
			if strict {
				r.schema(v, p)
			}
			r.ask.format, r.ask.schema = jsonSchema, lowered(v)
			r.ask.overhead += countTokens(string(v.raw))
		}
	}
	members(&r.checker, r, v, param, map[string]geminiField{
		"temperature":      func(r *geminiReader, v *node, p string) { r.decimal(v, p, 0, 2) },
		"topP":             func(r *geminiReader, v *node, p string) { r.decimal(v, p, 0, 1) },
		"topK":             func(r *geminiReader, v *node, p string) { r.decimal(v, p, 1, 1000) },
		"presencePenalty":  func(r *geminiReader, v *node, p string) { r.decimal(v, p, -2, 2) },
		"frequencyPenalty": func(r *geminiReader, v *node, p string) { r.decimal(v, p, -2, 2) },
		"seed": func(r *geminiReader, v *node, p string) {
			r.integer(v, p, -1<<31, 1<<31-1)
			r.ask.seed = string(v.raw)
		},
		"candidateCount":  func(r *geminiReader, v *node, p string) { r.ask.n = int(r.integer(v, p, 1, 8)) },
		"maxOutputTokens": (*geminiReader).maxOutput,
		"stopSequences": func(r *geminiReader, v *node, p string) {
			r.each(v, p, func(v *node, p string) {
				r.aText(v, p)
				r.ask.stops = append(r.ask.stops, v.text)
			})
			if len(v.items) > 5 {
				r.refuse(p, "", "* GenerateContentRequest.generation_config.stop_sequences: the number of stop_sequences must not exceed 5.\n")
			}
		},
		"responseMimeType": func(r *geminiReader, v *node, p string) {
			if !r.typed(v, text, p) {
				return
			}
			if !slices.Contains([]string{"text/plain", "application/json", "text/x.enum"}, v.text) {
				r.refuse(p, "", "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.\n")
			}
			r.json = v.text != "text/plain"
		},
		"responseSchema":      schema(true),
		"responseJsonSchema":  schema(false),
		"_responseJsonSchema": schema(false),
		"responseModalities": func(r *geminiReader, v *node, p string) {
			r.each(v, p, func(v *node, p string) {
				switch r.enum(v, p, "TEXT", "IMAGE", "AUDIO", "MODALITY_UNSPECIFIED") {
				case "IMAGE":
					r.ask.wantImage = true
				case "AUDIO":
					r.ask.wantAudio = true
				}
			})
		},
		"thinkingConfig": (*geminiReader).thinkingConfig,
		"responseLogprobs": func(r *geminiReader, v *node, p string) {
			if r.typed(v, boolean, p) && v.yes() {
				r.refuse(p, "", "Logprobs is not enabled for models/"+r.ask.persona.Name)
			}
		},
		"logprobs": func(r *geminiReader, v *node, p string) { r.integer(v, p, 0, 20) }, "speechConfig": geminiObject, "mediaResolution": geminiText, "audioTimestamp": geminiBool, "imageConfig": (*geminiReader).imageConfig,
		"enableEnhancedCivicAnswers": geminiBool, "routingConfig": geminiObject,
	})
}

const (
	mostBudget   = 32768
	geminiOutput = 65536
)

func (r *geminiReader) maxOutput(v *node, param string) {
	n, ok := v.whole()
	if ok && (n < 1 || n > geminiOutput) {
		r.refuse(param, "", "Unable to submit request because it has a maxOutputTokens value of "+string(v.raw)+" but the supported range is from 1 (inclusive) to "+strconv.Itoa(geminiOutput+1)+" (exclusive). Update the value and try again.")
	}
	r.ask.maxTokens = int(r.integer(v, param, 1, geminiOutput))
}

func (r *geminiReader) thinkingConfig(v *node, param string) {
	members(&r.checker, r, v, param, map[string]geminiField{
		"includeThoughts": func(r *geminiReader, v *node, p string) { r.show = r.typed(v, boolean, p) && v.yes() },
		"thinkingBudget": func(r *geminiReader, v *node, p string) {
			n, ok := v.whole()
			if !ok {
				r.wrongType(p, v, "an integer")
			} else if n < -1 || n > mostBudget {
				r.refuse(p, "", "The thinking budget "+string(v.raw)+" is invalid. Please choose a value between 0 and "+strconv.Itoa(mostBudget)+".")
			}
			r.budget = &n
		},
		"thinkingLevel": func(r *geminiReader, v *node, p string) {
			r.level = strings.ToLower(r.enum(v, p, "MINIMAL", "LOW", "MEDIUM", "HIGH", "THINKING_LEVEL_UNSPECIFIED"))
		},
	})
	switch {
	case r.budget != nil && r.level != "":
		r.refuse(param, "", "You can only set only one of thinking budget and thinking level.")
	case r.show && r.budget != nil && *r.budget == 0:
		r.refuse(param, "", "Unable to submit request because thinking_config.include_thoughts is only enabled when thinking is enabled.")
	}
}

func (r *geminiReader) tool(v *node, param string) {
	declared := false
	members(&r.checker, r, v, param, map[string]geminiField{
		"functionDeclarations": func(r *geminiReader, v *node, p string) {
			declared = true
			r.each(v, p, r.function)
		},
		"googleSearch":          func(r *geminiReader, v *node, p string) { r.anObject(v, p); r.ask.searches = true },
		"googleSearchRetrieval": geminiObject, "codeExecution": geminiObject, "urlContext": geminiObject, "googleMaps": geminiObject, "computerUse": geminiObject,
		"fileSearch": geminiObject, "retrieval": geminiObject, "enterpriseWebSearch": geminiObject, "mcpServers": geminiArray,
	})
	if r.ask.searches && (declared || r.ask.tools != nil) {
		r.refuse(param, "", "Tool use with function calling is unsupported")
	}
}

func (r *geminiReader) function(v *node, param string) {
	var t tool
	members(&r.checker, r, v, param, map[string]geminiField{
		"name": func(r *geminiReader, v *node, p string) {
			if r.typed(v, text, p) && !geminiName(v.text) {
				r.refuse(p, "", "* GenerateContentRequest."+snake(p)+": [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n")
			}
			t.name = v.text
		},
		"description": geminiText, "behavior": geminiText, "response": geminiObject, "responseJsonSchema": geminiObject,
		"parameters": func(r *geminiReader, v *node, p string) {
			r.schema(v, p)
			t.schema = lowered(v)
		},
		"parametersJsonSchema": func(r *geminiReader, v *node, p string) {
			if t.schema != nil {
				r.refuse(p, "", "* GenerateContentRequest."+snake(param)+": only one of parameters and parameters_json_schema can be set.\n")
			}
			r.anObject(v, p)
			t.schema = v
		},
	}, "name")
	for i := range r.ask.tools {
		if r.ask.tools[i].name == t.name {
			r.refuse(param, "", "Duplicate function declaration found: "+t.name)
		}
	}
	r.ask.tools = append(r.ask.tools, t)
}

func geminiName(s string) bool {
	if s == "" || len(s) > 64 || s[0] != '_' && !(letter(rune(s[0])) && s[0] > '9') {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 || !letter(c) && !strings.ContainsRune("_.:-", c) }) < 0
}

// geminiSchema is what a schema may have: a part of OpenAPI, not JSON Schema.
var geminiSchema = map[string]geminiField{
	"type": nil, "format": geminiText, "title": geminiText, "description": geminiText, "nullable": geminiBool, "enum": geminiArray, "maxItems": nil, "minItems": nil,
	"properties": nil, "required": geminiArray, "minProperties": nil, "maxProperties": nil, "minLength": nil, "maxLength": nil, "pattern": geminiText, "example": nil,
	"anyOf": nil, "propertyOrdering": geminiArray, "default": nil, "items": nil, "minimum": nil, "maximum": nil,
}

func (r *geminiReader) schema(v *node, param string) {
	if !members(&r.checker, r, v, param, geminiSchema) {
		return
	}
	kindOf := ""
	if t := v.given("type"); t != nil {
		kindOf = r.enum(t, param+".type", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED")
	}
	at := "* GenerateContentRequest." + snake(param)
	if f := v.get("format").str(); kindOf == "STRING" && f != "" && f != "enum" && f != "date-time" {
		r.refuse(param, "", at+".format: only 'enum' and 'date-time' are supported for STRING type\n")
	}
	if kindOf == "ARRAY" && v.given("items") == nil {
		r.refuse(param, "", at+".items: missing field.\n")
	}
	properties := v.given("properties")
	if properties != nil && r.typed(properties, object, param+".properties") {
		for i := range properties.items {
			r.schema(&properties.items[i], param+".properties["+strconv.Itoa(i)+"].value")
		}
	}
	if need := v.given("required"); need.is(array) {
		for i := range need.items {
			if !properties.has(need.items[i].text) {
				r.refuse(param, "", at+".required["+strconv.Itoa(i)+"]: property is not defined\n")
			}
		}
	}
	if items := v.given("items"); items != nil {
		r.schema(items, param+".items")
	}
	if of := v.given("anyOf"); of != nil {
		r.each(of, param+".anyOf", r.schema)
	}
}

// lowered is a schema with its types in small letters, as JSON Schema has them.
func lowered(v *node) *node {
	out := *v
	out.items = make([]node, len(v.items))
	for i := range v.items {
		out.items[i] = *lowered(&v.items[i])
		if v.is(object) && v.names[i] == "type" && v.items[i].is(text) {
			out.items[i].text = strings.ToLower(v.items[i].text)
		}
	}
	return &out
}

func (r *geminiReader) toolConfig(v *node, param string) {
	mode := ""
	members(&r.checker, r, v, param, map[string]geminiField{
		"functionCallingConfig": func(r *geminiReader, v *node, p string) {
			members(&r.checker, r, v, p, map[string]geminiField{
				"mode": func(r *geminiReader, v *node, p string) {
					mode = r.enum(v, p, "AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")
				},
				"allowedFunctionNames": func(r *geminiReader, v *node, p string) {
					r.each(v, p, func(v *node, p string) {
						r.aText(v, p)
						r.ask.choice.only = append(r.ask.choice.only, v.text)
					})
				},
				"streamFunctionCallArguments": geminiBool,
			})
		},
		"retrievalConfig": geminiObject, "includeServerSideToolInvocations": geminiBool,
	})
	switch mode {
	case "ANY":
		r.ask.choice.mode = "required"
	case "NONE":
		r.ask.choice.mode = "none"
	}
	if r.ask.choice.only != nil && mode != "ANY" && mode != "VALIDATED" {
		r.refuse(param, "", "Function calling config is set with allowed_function_names but mode is not ANY or VALIDATED.")
	}
}

// together checks what depends on more than one member.
func (r *geminiReader) together() {
	a := r.ask
	for _, name := range a.choice.only {
		if !slices.ContainsFunc(a.tools, func(t tool) bool { return t.name == name }) {
			r.refuse("", "", "Allowed function name "+name+" is not declared in function_declarations.")
		}
	}
	switch {
	case a.format == jsonSchema && !r.json:
		r.refuse("", "", "* GenerateContentRequest.generation_config.response_schema: response_schema can only be set when response_mime_type is application/json or text/x.enum.\n")
	case r.json && a.format == plainText:
		a.format = anyJSON
	case a.wantImage && !slices.Contains(a.persona.Output, "image"), a.wantAudio && !slices.Contains(a.persona.Output, "audio"):
		r.refuse("", "", "The requested combination of response modalities is not supported by the model. models/"+a.persona.Name)
	}
	if r.root.get("generationConfig").given("responseModalities") == nil {
		a.wantImage, a.wantAudio = a.persona.Name == "image", a.persona.Name == "audio"
	}
	a.audioFormat = "pcm16"
	r.think()
	if err := a.knobs.check(); err != nil {
		r.refuse("", "", "Invalid marker: "+err.Error()+".")
	}
	if tokens, _ := a.promptTokens(); tokens > a.persona.ContextTokens {
		r.refuse("", "", "The input token count ("+strconv.Itoa(tokens)+") exceeds the maximum number of tokens allowed ("+strconv.Itoa(a.persona.ContextTokens)+").")
	}
}

// think settles how much is thought. Only the model "reason" thinks without being asked.
func (r *geminiReader) think() {
	a := r.ask
	a.thinking = true
	switch {
	case r.budget != nil && *r.budget >= 0:
		a.thought = min(int((*r.budget+31)/32), effortTokens["max"])
	case r.budget != nil:
		a.thought = effortTokens["medium"]
	case r.level != "":
		a.thought = effortTokens[r.level]
	case a.persona.Name == "reason":
		a.thought = effortTokens["medium"]
	}
	if a.thought > 0 && a.maxTokens > 0 {
		a.thought = min(a.thought, max(1, a.maxTokens/2))
	}
}

// imageConfig is generationConfig.imageConfig of generateContent: it gives the picture a size.
func (r *geminiReader) imageConfig(v *node, param string) {
	ratio, times := "1:1", 1
	members(&r.checker, r, v, param, map[string]geminiField{
		"aspectRatio": func(r *geminiReader, v *node, p string) {
			if ratio = v.str(); r.typed(v, text, p) && geminiSizes[ratio] == "" {
				r.refuse(p, "", "* GenerateContentRequest.generation_config.image_config.aspect_ratio: must be one of the supported aspect ratios.\n")
			}
		},
		"imageSize": func(r *geminiReader, v *node, p string) {
			if times = googleTiers[v.str()]; r.typed(v, text, p) && times == 0 {
				r.refuse(p, "", "* GenerateContentRequest.generation_config.image_config.image_size: must be one of 1K, 2K, 4K.\n")
			}
		},
		"personGeneration": geminiText, "imageOutputOptions": geminiObject,
	})
	if width, height, ok := pointsOf(geminiSizes[ratio]); ok {
		times = max(times, 1)
		r.ask.width, r.ask.height = width*times, height*times
	}
}

// The sizes that Gemini gives to a ratio at 1K, and how many times as large the other tiers are.
var (
	geminiSizes = map[string]string{
		"1:1": "1024x1024", "2:3": "832x1248", "3:2": "1248x832", "3:4": "864x1184", "4:3": "1184x864", "4:5": "896x1152", "5:4": "1152x896", "9:16": "768x1344", "16:9": "1344x768", "21:9": "1536x672",
	}
	googleTiers = map[string]int{"1K": 1, "2K": 2, "4K": 4}
)
