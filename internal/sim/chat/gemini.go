package chat

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// GeminiWire is generateContent of Google, by AI Studio and by Vertex. It is JSON of protocol buffers: names may be written in two
// ways, and complaints name fields as the buffers do.
var GeminiWire = &kit.Wire{
	Name: "gemini", Phrases: &GeminiPhrases,
	ErrorBody:  geminiError,
	ErrorFrame: func(f *kit.Refusal, _ string, _ int) kit.Frame { return kit.Frame{Data: geminiError(f)} },
	Stream:     []string{"text/event-stream"},
	Frame: func(dst []byte, f kit.Frame) []byte {
		return append(append(append(dst, "data: "...), f.Data...), "\r\n\r\n"...)
	},
	Admit: func(s *kit.Host, r *http.Request) *kit.Refusal {
		switch {
		case s.HasKey(kit.Bearer(r), r.Header.Get("X-Goog-Api-Key"), r.URL.Query().Get("key")):
			return nil
		case r.Header.Get("Authorization") != "":
			return kit.WrongKey(401, "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.")
		}
		return kit.WrongKey(400, "API key not valid. Please pass a valid API key.")
	},
	TooLong: "The input token count (1200007) exceeds the maximum number of tokens allowed (1048576).",
	TextFrame: func(s string) kit.Frame {
		return kit.Frame{Data: []byte(`{"candidates":[{"content":{"parts":[{"text":"` + s + `"}],"role":"model"},"index":0}]}`)}
	},
	IdleFrame:  kit.Frame{Data: []byte(`{"candidates":[]}`)},
	Incomplete: []byte(`{"modelVersion":"m","responseId":"x"}`),
}

// GeminiPhrases are the words of Google's errors.
var GeminiPhrases = kit.Phrases{
	Item: kit.OpenAIPhrases.Item,
	Missing: func(param string) string {
		return "* GenerateContentRequest." + Snake(param) + ": " + LastName(Snake(param)) + " is not specified\n"
	},
	Unknown: func(param string) string {
		at, name := "", param
		if i := strings.LastIndexByte(param, '.'); i >= 0 {
			at, name = " at '"+Snake(param[:i])+"'", param[i+1:]
		}
		return `Invalid JSON payload received. Unknown name "` + name + `"` + at + ": Cannot find field."
	},
	WrongType: func(param, got, want string) string {
		return "Invalid value at '" + Snake(param) + "' (" + geminiTypes[want] + "), " + got
	},
	WrongValue: func(param, want string) string {
		return "Invalid value at '" + Snake(param) + "' (TYPE_ENUM): expected " + want
	},
	OutOfRange: func(param, low, high string) string {
		return "* GenerateContentRequest." + Snake(param) + ": must be in the range [" + low + ", " + high + "].\n"
	},
	Readable: func(err error) string { return "Invalid JSON payload received. " + err.Error() },
	Rename:   kit.Camel,
}

var geminiTypes = map[string]string{
	"a string": "TYPE_STRING", "a boolean": "TYPE_BOOL", "an integer": "TYPE_INT32", "a number": "TYPE_FLOAT", "an object": "TYPE_MESSAGE", "an array": "TYPE_MESSAGE",
}

// Snake is a path of names as protocol buffers have them.
func Snake(s string) string {
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

// LastName is the last step of a path.
func LastName(param string) string { return param[strings.LastIndexByte(param, '.')+1:] }

var geminiStatuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 405: "NOT_FOUND", 409: "ABORTED", 413: "INVALID_ARGUMENT", 422: "INVALID_ARGUMENT",
	429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func geminiError(f *kit.Refusal) []byte {
	status := geminiStatuses[f.Status]
	if status == "" {
		status = "INTERNAL"
		if f.Status < 500 {
			status = "FAILED_PRECONDITION"
		}
	}
	dst := kit.AppendText(append(kit.AppendInt([]byte(`{"error":{"code":`), f.Status), `,"message":`...), f.Message)
	dst = kit.AppendText(append(dst, `,"status":`...), status)
	if f.Code == "invalid_api_key" && f.Status == 400 {
		dst = append(dst, `,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]`...)
	}
	return append(dst, "}}"...)
}

// gemini serves POST .../models/{model}:{method}.
func (s *Wires) gemini(w http.ResponseWriter, r *http.Request) {
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
		s.Refuse(GeminiWire, w, &kit.Refusal{Status: 404, Message: "Requested entity was not found."})
		return
	}
	s.HandleJSON(GeminiWire, w, r, func(body []byte) *kit.Refusal {
		g, refused := geminiRequest(model, r.PathValue("project") != "", method == "countTokens", body)
		if refused != nil {
			return refused
		}
		if method == "countTokens" {
			tokens, _ := g.Request.PromptTokens()
			kit.SendJSON(w, 200, append(kit.AppendInt([]byte(`{"totalTokens":`), tokens), '}'))
			return nil
		}
		sse := r.URL.Query().Get("alt") == "sse"
		g.Request.Stream = method == "streamGenerateContent" && sse
		s.Answer(w, r, started, g.Request, func(answer *kit.Answer, now time.Time) *kit.Reply {
			out := &geminiReply{ask: g.Request, answer: answer, show: g.show, created: now}
			return out.reply(method == "streamGenerateContent" && !sse)
		})
		return nil
	})
}

// geminiReader reads a request.
type geminiReader struct {
	kit.Checker
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

type geminiField = kit.Field[*geminiReader]

var (
	geminiText   geminiField = func(r *geminiReader, v *kit.Node, p string) { r.ExpectText(v, p) }
	geminiBool   geminiField = func(r *geminiReader, v *kit.Node, p string) { r.ExpectBool(v, p) }
	geminiObject geminiField = func(r *geminiReader, v *kit.Node, p string) { r.ExpectObject(v, p) }
	geminiArray  geminiField = func(r *geminiReader, v *kit.Node, p string) { r.ExpectArray(v, p) }
)

func geminiRequest(model string, vertex, count bool, body []byte) (*geminiReader, *kit.Refusal) {
	root, err := kit.Parse(body)
	if err != nil {
		return nil, kit.Unreadable(&GeminiPhrases, err)
	}
	r := &geminiReader{Checker: kit.NewChecker(&GeminiPhrases), vertex: vertex}
	r.Root = root
	base, err := r.Request.Knobs.ParseName(model)
	if err != nil {
		return nil, &kit.Refusal{Status: 400, Message: "* GenerateContentRequest.model: unexpected model name format: " + err.Error() + "\n"}
	}
	r.Request.Name, r.Request.Model = model, kit.ModelNamed(base)
	if r.Request.Model == nil {
		return nil, geminiUnknown(model)
	}
	if count && root.Given("generateContentRequest") != nil {
		r.Root = root.Given("generateContentRequest")
	}
	if kit.Members(&r.Checker, r, r.Root, "", geminiFields()) {
		r.conversation()
	}
	if r.Fault == nil {
		r.together()
	}
	return r, r.Fault
}

func geminiUnknown(model string) *kit.Refusal {
	return &kit.Refusal{Status: 404, Message: "models/" + model + " is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."}
}

// geminiFields are the members that a request may have.
func geminiFields() map[string]geminiField {
	return map[string]geminiField{
		"model":             geminiText,
		"contents":          geminiArray, // read when the rest is known
		"systemInstruction": (*geminiReader).system,
		"tools": func(r *geminiReader, v *kit.Node, p string) {
			r.Each(v, p, r.tool)
			r.Request.Overhead += kit.CountTokens(string(v.Raw))
		},
		"toolConfig":       (*geminiReader).toolConfig,
		"generationConfig": (*geminiReader).generationConfig,
		"safetySettings": func(r *geminiReader, v *kit.Node, p string) {
			r.Each(v, p, func(v *kit.Node, p string) {
				kit.Members(&r.Checker, r, v, p, map[string]geminiField{"category": geminiText, "threshold": geminiText, "method": geminiText})
			})
		},
		"cachedContent": func(r *geminiReader, _ *kit.Node, _ string) {
			if r.Fault == nil {
				r.Fault = &kit.Refusal{Status: 403, Message: "CachedContent not found (or permission denied)"}
			}
		},
		"labels": func(r *geminiReader, v *kit.Node, p string) {
			if r.ExpectObject(v, p); !r.vertex {
				r.Unknown(p)
			}
		},
		"serviceTier": geminiText,
		"store":       geminiBool,
	}
}

// enum reads a word that may be written in capitals or not.
func (r *geminiReader) enum(v *kit.Node, param string, words ...string) string {
	if !r.ExpectKind(v, kit.Text, param) {
		return ""
	}
	word := strings.ToUpper(v.Text)
	if !slices.Contains(words, word) {
		r.Refuse(param, "", "Invalid value at '"+Snake(param)+"' (TYPE_ENUM), \""+v.Text+"\"")
	}
	return word
}

func (r *geminiReader) generationConfig(v *kit.Node, param string) {
	schema := func(strict bool) geminiField {
		return func(r *geminiReader, v *kit.Node, p string) {
			if !r.ExpectKind(v, kit.Object, p) {
				return
			}
			if r.Request.Schema != nil {
				r.Refuse(p, "", "* GenerateContentRequest.generation_config.response_schema: only one of response_schema and response_json_schema can be set.\n")
			}
			if strict {
				r.schema(v, p)
			}
			r.Request.Format, r.Request.Schema = kit.JSONSchema, lowered(v)
			r.Request.Overhead += kit.CountTokens(string(v.Raw))
		}
	}
	kit.Members(&r.Checker, r, v, param, map[string]geminiField{
		"temperature":      func(r *geminiReader, v *kit.Node, p string) { r.Decimal(v, p, 0, 2) },
		"topP":             func(r *geminiReader, v *kit.Node, p string) { r.Decimal(v, p, 0, 1) },
		"topK":             func(r *geminiReader, v *kit.Node, p string) { r.Decimal(v, p, 1, 1000) },
		"presencePenalty":  func(r *geminiReader, v *kit.Node, p string) { r.Decimal(v, p, -2, 2) },
		"frequencyPenalty": func(r *geminiReader, v *kit.Node, p string) { r.Decimal(v, p, -2, 2) },
		"seed": func(r *geminiReader, v *kit.Node, p string) {
			r.Integer(v, p, -1<<31, 1<<31-1)
			r.Request.Seed = string(v.Raw)
		},
		"candidateCount":  func(r *geminiReader, v *kit.Node, p string) { r.Request.N = int(r.Integer(v, p, 1, 8)) },
		"maxOutputTokens": (*geminiReader).maxOutput,
		"stopSequences": func(r *geminiReader, v *kit.Node, p string) {
			r.Each(v, p, func(v *kit.Node, p string) {
				r.ExpectText(v, p)
				r.Request.Stops = append(r.Request.Stops, v.Text)
			})
			if len(v.Items) > 5 {
				r.Refuse(p, "", "* GenerateContentRequest.generation_config.stop_sequences: the number of stop_sequences must not exceed 5.\n")
			}
		},
		"responseMimeType": func(r *geminiReader, v *kit.Node, p string) {
			if !r.ExpectKind(v, kit.Text, p) {
				return
			}
			if !slices.Contains([]string{"text/plain", "application/json", "text/x.enum"}, v.Text) {
				r.Refuse(p, "", "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.\n")
			}
			r.json = v.Text != "text/plain"
		},
		"responseSchema":      schema(true),
		"responseJsonSchema":  schema(false),
		"_responseJsonSchema": schema(false),
		"responseModalities": func(r *geminiReader, v *kit.Node, p string) {
			r.Each(v, p, func(v *kit.Node, p string) {
				switch r.enum(v, p, "TEXT", "IMAGE", "AUDIO", "MODALITY_UNSPECIFIED") {
				case "IMAGE":
					r.Request.WantImage = true
				case "AUDIO":
					r.Request.WantAudio = true
				}
			})
		},
		"thinkingConfig": (*geminiReader).thinkingConfig,
		"responseLogprobs": func(r *geminiReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Boolean, p) && v.IsTrue() {
				r.Refuse(p, "", "Logprobs is not enabled for models/"+r.Request.Model.Name)
			}
		},
		"logprobs": func(r *geminiReader, v *kit.Node, p string) { r.Integer(v, p, 0, 20) }, "speechConfig": geminiObject, "mediaResolution": geminiText, "audioTimestamp": geminiBool, "imageConfig": (*geminiReader).imageConfig,
		"enableEnhancedCivicAnswers": geminiBool, "routingConfig": geminiObject,
	})
}

const (
	maxBudget    = 32768
	geminiOutput = 65536
)

func (r *geminiReader) maxOutput(v *kit.Node, param string) {
	n, ok := v.Int()
	if ok && (n < 1 || n > geminiOutput) {
		r.Refuse(param, "", "Unable to submit request because it has a maxOutputTokens value of "+string(v.Raw)+" but the supported range is from 1 (inclusive) to "+strconv.Itoa(geminiOutput+1)+" (exclusive). Update the value and try again.")
	}
	r.Request.MaxTokens = int(r.Integer(v, param, 1, geminiOutput))
}

func (r *geminiReader) thinkingConfig(v *kit.Node, param string) {
	kit.Members(&r.Checker, r, v, param, map[string]geminiField{
		"includeThoughts": func(r *geminiReader, v *kit.Node, p string) { r.show = r.ExpectKind(v, kit.Boolean, p) && v.IsTrue() },
		"thinkingBudget": func(r *geminiReader, v *kit.Node, p string) {
			n, ok := v.Int()
			if !ok {
				r.WrongType(p, v, "an integer")
			} else if n < -1 || n > maxBudget {
				r.Refuse(p, "", "The thinking budget "+string(v.Raw)+" is invalid. Please choose a value between 0 and "+strconv.Itoa(maxBudget)+".")
			}
			r.budget = &n
		},
		"thinkingLevel": func(r *geminiReader, v *kit.Node, p string) {
			r.level = strings.ToLower(r.enum(v, p, "MINIMAL", "LOW", "MEDIUM", "HIGH", "THINKING_LEVEL_UNSPECIFIED"))
		},
	})
	switch {
	case r.budget != nil && r.level != "":
		r.Refuse(param, "", "You can only set only one of thinking budget and thinking level.")
	case r.show && r.budget != nil && *r.budget == 0:
		r.Refuse(param, "", "Unable to submit request because thinking_config.include_thoughts is only enabled when thinking is enabled.")
	}
}

func (r *geminiReader) tool(v *kit.Node, param string) {
	declared := false
	kit.Members(&r.Checker, r, v, param, map[string]geminiField{
		"functionDeclarations": func(r *geminiReader, v *kit.Node, p string) {
			declared = true
			r.Each(v, p, r.function)
		},
		"googleSearch":          func(r *geminiReader, v *kit.Node, p string) { r.ExpectObject(v, p); r.Request.Searches = true },
		"googleSearchRetrieval": geminiObject, "codeExecution": geminiObject, "urlContext": geminiObject, "googleMaps": geminiObject, "computerUse": geminiObject,
		"fileSearch": geminiObject, "retrieval": geminiObject, "enterpriseWebSearch": geminiObject, "mcpServers": geminiArray,
	})
	if r.Request.Searches && (declared || r.Request.Tools != nil) {
		r.Refuse(param, "", "Tool use with function calling is unsupported")
	}
}

func (r *geminiReader) function(v *kit.Node, param string) {
	var t kit.Tool
	kit.Members(&r.Checker, r, v, param, map[string]geminiField{
		"name": func(r *geminiReader, v *kit.Node, p string) {
			if r.ExpectKind(v, kit.Text, p) && !geminiName(v.Text) {
				r.Refuse(p, "", "* GenerateContentRequest."+Snake(p)+": [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n")
			}
			t.Name = v.Text
		},
		"description": geminiText, "behavior": geminiText, "response": geminiObject, "responseJsonSchema": geminiObject,
		"parameters": func(r *geminiReader, v *kit.Node, p string) {
			r.schema(v, p)
			t.Schema = lowered(v)
		},
		"parametersJsonSchema": func(r *geminiReader, v *kit.Node, p string) {
			if t.Schema != nil {
				r.Refuse(p, "", "* GenerateContentRequest."+Snake(param)+": only one of parameters and parameters_json_schema can be set.\n")
			}
			r.ExpectObject(v, p)
			t.Schema = v
		},
	}, "name")
	for i := range r.Request.Tools {
		if r.Request.Tools[i].Name == t.Name {
			r.Refuse(param, "", "Duplicate function declaration found: "+t.Name)
		}
	}
	r.Request.Tools = append(r.Request.Tools, t)
}

func geminiName(s string) bool {
	if s == "" || len(s) > 64 || s[0] != '_' && !(kit.Letter(rune(s[0])) && s[0] > '9') {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 || !kit.Letter(c) && !strings.ContainsRune("_.:-", c) }) < 0
}

// geminiSchema is what a schema may have: a part of OpenAPI, not JSON Schema.
var geminiSchema = map[string]geminiField{
	"type": nil, "format": geminiText, "title": geminiText, "description": geminiText, "nullable": geminiBool, "enum": geminiArray, "maxItems": nil, "minItems": nil,
	"properties": nil, "required": geminiArray, "minProperties": nil, "maxProperties": nil, "minLength": nil, "maxLength": nil, "pattern": geminiText, "example": nil,
	"anyOf": nil, "propertyOrdering": geminiArray, "default": nil, "items": nil, "minimum": nil, "maximum": nil,
}

func (r *geminiReader) schema(v *kit.Node, param string) {
	if !kit.Members(&r.Checker, r, v, param, geminiSchema) {
		return
	}
	kindOf := ""
	if t := v.Given("type"); t != nil {
		kindOf = r.enum(t, param+".type", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED")
	}
	at := "* GenerateContentRequest." + Snake(param)
	if f := v.Get("format").Str(); kindOf == "STRING" && f != "" && f != "enum" && f != "date-time" {
		r.Refuse(param, "", at+".format: only 'enum' and 'date-time' are supported for STRING type\n")
	}
	if kindOf == "ARRAY" && v.Given("items") == nil {
		r.Refuse(param, "", at+".items: missing field.\n")
	}
	properties := v.Given("properties")
	if properties != nil && r.ExpectKind(properties, kit.Object, param+".properties") {
		for i := range properties.Items {
			r.schema(&properties.Items[i], param+".properties["+strconv.Itoa(i)+"].value")
		}
	}
	if need := v.Given("required"); need.Is(kit.Array) {
		for i := range need.Items {
			if !properties.Has(need.Items[i].Text) {
				r.Refuse(param, "", at+".required["+strconv.Itoa(i)+"]: property is not defined\n")
			}
		}
	}
	if items := v.Given("items"); items != nil {
		r.schema(items, param+".items")
	}
	if of := v.Given("anyOf"); of != nil {
		r.Each(of, param+".anyOf", r.schema)
	}
}

// lowered is a schema with its types in small letters, as JSON Schema has them.
func lowered(v *kit.Node) *kit.Node {
	out := *v
	out.Items = make([]kit.Node, len(v.Items))
	for i := range v.Items {
		out.Items[i] = *lowered(&v.Items[i])
		if v.Is(kit.Object) && v.Names[i] == "type" && v.Items[i].Is(kit.Text) {
			out.Items[i].Text = strings.ToLower(v.Items[i].Text)
		}
	}
	return &out
}

func (r *geminiReader) toolConfig(v *kit.Node, param string) {
	mode := ""
	kit.Members(&r.Checker, r, v, param, map[string]geminiField{
		"functionCallingConfig": func(r *geminiReader, v *kit.Node, p string) {
			kit.Members(&r.Checker, r, v, p, map[string]geminiField{
				"mode": func(r *geminiReader, v *kit.Node, p string) {
					mode = r.enum(v, p, "AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")
				},
				"allowedFunctionNames": func(r *geminiReader, v *kit.Node, p string) {
					r.Each(v, p, func(v *kit.Node, p string) {
						r.ExpectText(v, p)
						r.Request.Choice.Only = append(r.Request.Choice.Only, v.Text)
					})
				},
				"streamFunctionCallArguments": geminiBool,
			})
		},
		"retrievalConfig": geminiObject, "includeServerSideToolInvocations": geminiBool,
	})
	switch mode {
	case "ANY":
		r.Request.Choice.Mode = "required"
	case "NONE":
		r.Request.Choice.Mode = "none"
	}
	if r.Request.Choice.Only != nil && mode != "ANY" && mode != "VALIDATED" {
		r.Refuse(param, "", "Function calling config is set with allowed_function_names but mode is not ANY or VALIDATED.")
	}
}

// together checks rules that involve more than one member.
func (r *geminiReader) together() {
	a := r.Request
	for _, name := range a.Choice.Only {
		if !slices.ContainsFunc(a.Tools, func(t kit.Tool) bool { return t.Name == name }) {
			r.Refuse("", "", "Allowed function name "+name+" is not declared in function_declarations.")
		}
	}
	switch {
	case a.Format == kit.JSONSchema && !r.json:
		r.Refuse("", "", "* GenerateContentRequest.generation_config.response_schema: response_schema can only be set when response_mime_type is application/json or text/x.enum.\n")
	case r.json && a.Format == kit.PlainText:
		a.Format = kit.AnyJSON
	case a.WantImage && !slices.Contains(a.Model.Output, "image"), a.WantAudio && !slices.Contains(a.Model.Output, "audio"):
		r.Refuse("", "", "The requested combination of response modalities is not supported by the model. models/"+a.Model.Name)
	}
	if r.Root.Get("generationConfig").Given("responseModalities") == nil {
		a.WantImage, a.WantAudio = a.Model.Name == "image", a.Model.Name == "audio"
	}
	a.AudioFormat = "pcm16"
	r.think()
	if err := a.Knobs.Check(); err != nil {
		r.Refuse("", "", "Invalid marker: "+err.Error()+".")
	}
	if tokens, _ := a.PromptTokens(); tokens > a.Model.ContextTokens {
		r.Refuse("", "", "The input token count ("+strconv.Itoa(tokens)+") exceeds the maximum number of tokens allowed ("+strconv.Itoa(a.Model.ContextTokens)+").")
	}
}

// think decides the number of reasoning tokens. Only the model "reason" has reasoning by default.
func (r *geminiReader) think() {
	a := r.Request
	a.Thinking = true
	switch {
	case r.budget != nil && *r.budget >= 0:
		a.ThinkingTokens = min(int((*r.budget+31)/32), kit.EffortTokens["max"])
	case r.budget != nil:
		a.ThinkingTokens = kit.EffortTokens["medium"]
	case r.level != "":
		a.ThinkingTokens = kit.EffortTokens[r.level]
	case a.Model.Name == "reason":
		a.ThinkingTokens = kit.EffortTokens["medium"]
	}
	if a.ThinkingTokens > 0 && a.MaxTokens > 0 {
		a.ThinkingTokens = min(a.ThinkingTokens, max(1, a.MaxTokens/2))
	}
}

// imageConfig reads generationConfig.imageConfig of generateContent, which sets the size of images.
func (r *geminiReader) imageConfig(v *kit.Node, param string) {
	ratio, times := "1:1", 1
	kit.Members(&r.Checker, r, v, param, map[string]geminiField{
		"aspectRatio": func(r *geminiReader, v *kit.Node, p string) {
			if ratio = v.Str(); r.ExpectKind(v, kit.Text, p) && geminiSizes[ratio] == "" {
				r.Refuse(p, "", "* GenerateContentRequest.generation_config.image_config.aspect_ratio: must be one of the supported aspect ratios.\n")
			}
		},
		"imageSize": func(r *geminiReader, v *kit.Node, p string) {
			if times = GoogleTiers[v.Str()]; r.ExpectKind(v, kit.Text, p) && times == 0 {
				r.Refuse(p, "", "* GenerateContentRequest.generation_config.image_config.image_size: must be one of 1K, 2K, 4K.\n")
			}
		},
		"personGeneration": geminiText, "imageOutputOptions": geminiObject,
	})
	if width, height, ok := kit.ParseSize(geminiSizes[ratio]); ok {
		times = max(times, 1)
		r.Request.Width, r.Request.Height = width*times, height*times
	}
}

// The sizes that Gemini gives to a ratio at 1K, and how many times as large the other tiers are.
var (
	geminiSizes = map[string]string{
		"1:1": "1024x1024", "2:3": "832x1248", "3:2": "1248x832", "3:4": "864x1184", "4:3": "1184x864", "4:5": "896x1152", "5:4": "1152x896", "9:16": "768x1344", "16:9": "1344x768", "21:9": "1536x672",
	}
	GoogleTiers = map[string]int{"1K": 1, "2K": 2, "4K": 4}
)
