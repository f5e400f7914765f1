package sim

import (
	"strconv"
	"strings"
)

// chatRequest reads a body of POST /v1/chat/completions as strictly as a provider does.
func chatRequest(body []byte) (*ask, *refusal) { return chatRequestFor(body, nil) }

// chatReader reads a request of the chat wire.
type chatReader struct{ checker }

func chatRequestFor(body []byte, address func(string) (string, bool)) (*ask, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, unreadable(&openAIPhrases, err)
	}
	c := chatReader{newChecker(&openAIPhrases)}
	c.address = address
	if !root.is(object) {
		c.refuse("", "", "The body must be a JSON object.")
		return nil, c.fault
	}
	c.root = root
	c.request()
	if c.fault != nil {
		return nil, c.fault
	}
	return c.ask, nil
}

// gatewayOnly are fields that a gateway obeys itself. That one arrives here is a gateway's mistake.
var gatewayOnly = []string{"models", "provider", "plugins", "session_id", "transforms", "route", "usage"}

// chatFields checks each known member that is given and not null. Unknown members are taken and ignored, as
// OpenAI-compatible servers do.
var chatFields = map[string]func(c *chatReader, v *node, param string){
	"stream":                func(c *chatReader, v *node, p string) { c.ask.stream = c.typed(v, boolean, p) && v.yes() },
	"stream_options":        (*chatReader).streamOptions,
	"max_tokens":            (*chatReader).cap,
	"max_completion_tokens": (*chatReader).cap,
	"temperature":           func(c *chatReader, v *node, p string) { c.decimal(v, p, 0, 2) },
	"top_p":                 func(c *chatReader, v *node, p string) { c.decimal(v, p, 0, 1) },
	"min_p":                 func(c *chatReader, v *node, p string) { c.decimal(v, p, 0, 1) },
	"top_a":                 func(c *chatReader, v *node, p string) { c.decimal(v, p, 0, 1) },
	"top_k":                 func(c *chatReader, v *node, p string) { c.integer(v, p, -1, anyInt) },
	"repetition_penalty":    func(c *chatReader, v *node, p string) { c.decimal(v, p, 0, 2) },
	"frequency_penalty":     func(c *chatReader, v *node, p string) { c.decimal(v, p, -2, 2) },
	"presence_penalty":      func(c *chatReader, v *node, p string) { c.decimal(v, p, -2, 2) },
	"seed": func(c *chatReader, v *node, p string) {
		c.integer(v, p, -anyInt-1, anyInt)
		c.ask.seed = string(v.raw)
	},
	"n":                   func(c *chatReader, v *node, p string) { c.ask.n = int(c.integer(v, p, 1, 128)) },
	"stop":                (*chatReader).stop,
	"logit_bias":          (*chatReader).logitBias,
	"logprobs":            func(c *chatReader, v *node, p string) { c.ask.logprobs = c.typed(v, boolean, p) && v.yes() },
	"top_logprobs":        func(c *chatReader, v *node, p string) { c.ask.top = int(c.integer(v, p, 0, 20)) },
	"tools":               (*chatReader).tools,
	"tool_choice":         (*chatReader).toolChoice,
	"parallel_tool_calls": func(c *chatReader, v *node, p string) { c.ask.parallel = c.typed(v, boolean, p) && v.yes() },
	"functions": func(c *chatReader, _ *node, p string) {
		c.refuse(p, "unsupported_parameter", "'functions' is no longer supported. Use 'tools' instead.")
	},
	"function_call": func(c *chatReader, _ *node, p string) {
		c.refuse(p, "unsupported_parameter", "'function_call' is no longer supported. Use 'tool_choice' instead.")
	},
	"response_format": (*chatReader).responseFormat,
	"reasoning_effort": func(c *chatReader, v *node, p string) {
		c.ask.effort = c.words(v, p, "none", "minimal", "low", "medium", "high", "xhigh", "max")
	},
	"reasoning":    (*chatReader).reasoning,
	"verbosity":    func(c *chatReader, v *node, p string) { c.words(v, p, "low", "medium", "high") },
	"modalities":   (*chatReader).modalities,
	"image_config": (*chatReader).pictureConfig,
	"audio":        (*chatReader).audio,
	"prediction": func(c *chatReader, v *node, p string) {
		if c.typed(v, object, p) && v.get("type").str() != "content" {
			c.wrongValue(p+".type", "'content'")
		}
	},
	"web_search_options": func(c *chatReader, v *node, p string) { c.typed(v, object, p) },
	"service_tier":       func(c *chatReader, v *node, p string) { c.words(v, p, "auto", "default", "flex", "scale", "priority") },
	"user":               func(c *chatReader, v *node, p string) { c.typed(v, text, p) },
	"safety_identifier":  func(c *chatReader, v *node, p string) { c.typed(v, text, p) },
	"prompt_cache_key":   func(c *chatReader, v *node, p string) { c.typed(v, text, p) },
	"store":              func(c *chatReader, v *node, p string) { c.typed(v, boolean, p) },
	"metadata":           (*chatReader).metadata,
}

func (c *chatReader) request() {
	for _, name := range gatewayOnly {
		if c.root.has(name) {
			c.refuse("", "", "Unrecognized request argument supplied: "+name)
		}
	}
	c.model()
	for i, name := range c.root.names {
		v := &c.root.items[i]
		if check := chatFields[name]; check != nil && v.kind != null {
			check(c, v, name)
		}
		if c.fault != nil {
			return
		}
	}
	c.messages()
	if c.fault == nil {
		c.together()
	}
}

func (c *chatReader) model() {
	v := c.root.get("model")
	if v == nil {
		c.refuse("model", "missing_required_parameter", "you must provide a model parameter")
		return
	}
	if !c.typed(v, text, "model") {
		return
	}
	name := v.text
	if c.address != nil {
		inside, ok := c.address(name)
		if !ok {
			c.refuse("model", "invalid_value", "Failed to parse model URI: '"+name+"'. Expected gpt://<folder>/<model>[/<version>].")
			return
		}
		name = inside
	}
	base, err := c.ask.knobs.named(name)
	if err != nil {
		c.refuse("model", "invalid_value", "Invalid model name: "+err.Error()+".")
		return
	}
	c.ask.name, c.ask.persona = v.text, modelNamed(base)
	if c.ask.persona == nil && c.fault == nil {
		c.fault = unknownModel(v.text)
	}
}

// together checks what depends on more than one member.
func (c *chatReader) together() {
	a := c.ask
	switch {
	case c.root.given("stream_options") != nil && !a.stream:
		c.refuse("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case c.root.given("max_tokens") != nil && c.root.given("max_completion_tokens") != nil:
		c.refuse("max_tokens", "invalid_parameter_combination", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case c.root.given("top_logprobs") != nil && !a.logprobs:
		c.refuse("top_logprobs", "", "'top_logprobs' needs 'logprobs' to be true.")
	case c.root.given("tools") == nil && c.root.given("tool_choice") != nil:
		c.refuse("tool_choice", "", "'tool_choice' is only allowed when 'tools' are specified.")
	case c.root.given("tools") == nil && c.root.given("parallel_tool_calls") != nil:
		c.refuse("parallel_tool_calls", "", "'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	c.offered()
	c.outputs()
	if err := a.knobs.check(); err != nil {
		c.refuse("messages", "invalid_value", err.Error()+".")
	}
	if a.format == anyJSON && !c.saysJSON() {
		c.refuse("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
	if tokens, _ := a.promptTokens(); c.fault == nil && tokens > a.persona.ContextTokens {
		c.refuse("messages", "context_length_exceeded", "This model's maximum context length is "+strconv.Itoa(a.persona.ContextTokens)+" tokens. However, your messages resulted in "+strconv.Itoa(tokens)+" tokens.")
	}
}

// offered checks that the tool choice names tools that are there.
func (c *chatReader) offered() {
	for _, name := range c.ask.choice.only {
		found := false
		for i := range c.ask.tools {
			found = found || c.ask.tools[i].name == name
		}
		if !found {
			c.refuse("tool_choice", "", "Tool choice '"+name+"' not found in 'tools' parameter.")
		}
	}
}

func (c *chatReader) saysJSON() bool {
	for i := range c.ask.turns {
		if strings.Contains(strings.ToLower(c.ask.turns[i].text), "json") {
			return true
		}
	}
	return false
}

// outputs settles which kinds of output are wanted, and in which audio format.
func (c *chatReader) outputs() {
	a := c.ask
	if c.root.given("modalities") == nil {
		a.wantImage, a.wantAudio = a.persona.Name == "image", a.persona.Name == "audio"
	} else if a.wantAudio && c.root.given("audio") == nil {
		c.missing("audio")
	}
	if a.audioFormat == "" {
		a.audioFormat = "wav"
		if a.stream {
			a.audioFormat = "pcm16"
		}
	}
	if a.wantAudio && a.stream && a.audioFormat != "pcm16" {
		c.refuse("audio.format", "unsupported_value", "Unsupported value: 'audio.format' does not support '"+a.audioFormat+"' when stream=true. Supported values are: 'pcm16'.")
	}
}

func (c *chatReader) cap(v *node, param string) { c.ask.maxTokens = int(c.integer(v, param, 1, 1<<31)) }

func (c *chatReader) streamOptions(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	for _, name := range [...]string{"include_usage", "include_obfuscation"} {
		if o := v.given(name); o != nil {
			c.typed(o, boolean, param+"."+name)
		}
	}
	c.ask.streamUsage = v.get("include_usage").yes()
}

func (c *chatReader) stop(v *node, param string) {
	switch {
	case v.is(text):
		c.ask.stops = []string{v.text}
	case !v.is(array):
		c.wrongType(param, v, "a string or an array of strings")
	case len(v.items) > 4:
		c.refuse(param, "array_above_max_length", "Invalid 'stop': at most 4 sequences are allowed.")
	default:
		for i := range v.items {
			if c.typed(&v.items[i], text, param+"["+strconv.Itoa(i)+"]") {
				c.ask.stops = append(c.ask.stops, v.items[i].text)
			}
		}
	}
}

func (c *chatReader) logitBias(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	for i, name := range v.names {
		if _, err := strconv.ParseUint(name, 10, 32); err != nil {
			c.wrongValue(param, "token ids as names")
		}
		c.decimal(&v.items[i], param+"."+name, -100, 100)
	}
}

func (c *chatReader) metadata(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	if len(v.names) > 16 {
		c.refuse(param, "object_above_max_properties", "Invalid 'metadata': at most 16 pairs are allowed.")
	}
	for i, name := range v.names {
		if c.typed(&v.items[i], text, param+"."+name) && (len(name) > 64 || len(v.items[i].text) > 512) {
			c.wrongValue(param, "names of at most 64 and values of at most 512 characters")
		}
	}
}

func (c *chatReader) reasoning(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	if e := v.given("effort"); e != nil {
		c.ask.effort = c.words(e, param+".effort", "none", "minimal", "low", "medium", "high", "xhigh", "max")
	} else if v.get("enabled").yes() || v.given("max_tokens") != nil {
		c.ask.effort = "medium"
	}
}

func (c *chatReader) modalities(v *node, param string) {
	if !c.typed(v, array, param) {
		return
	}
	for i := range v.items {
		switch c.words(&v.items[i], param+"["+strconv.Itoa(i)+"]", "text", "image", "audio") {
		case "image":
			c.ask.wantImage = true
		case "audio":
			c.ask.wantAudio = true
		}
	}
}

func (c *chatReader) audio(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	voice, format := v.get("voice"), v.get("format")
	switch {
	case voice == nil:
		c.missing(param + ".voice")
	case format == nil:
		c.missing(param + ".format")
	case !voice.is(object): // a voice of one's own is given as an object
		c.typed(voice, text, param+".voice")
	}
	if format != nil {
		c.ask.audioFormat = c.words(format, param+".format", "wav", "pcm16")
	}
}

func (c *chatReader) name(v *node, param string) string {
	if v == nil {
		c.missing(param)
		return ""
	}
	if c.typed(v, text, param) && !validName(v.text) {
		c.wrongValue(param, namePattern)
	}
	return v.text
}

func (c *chatReader) tools(v *node, param string) {
	if !c.typed(v, array, param) {
		return
	}
	if len(v.items) == 0 {
		c.refuse(param, "empty_array", "Invalid 'tools': empty array. Expected an array with at least one element.")
	}
	if len(v.items) > 128 {
		c.refuse(param, "array_above_max_length", "Invalid 'tools': at most 128 are allowed.")
	}
	for i := range v.items {
		c.tool(&v.items[i], param+"["+strconv.Itoa(i)+"]")
	}
	c.ask.overhead += countTokens(string(v.raw))
}

func (c *chatReader) tool(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		c.missing(param + ".type")
		return
	}
	word := c.words(kindOf, param+".type", "function", "custom")
	inner := v.get(word)
	switch {
	case word == "":
		return
	case inner == nil:
		c.missing(param + "." + word)
		return
	case !c.typed(inner, object, param+"."+word):
		return
	}
	t := tool{name: c.name(inner.get("name"), param+"."+word+".name"), custom: word == "custom"}
	if p := inner.given("parameters"); p != nil && c.typed(p, object, param+".function.parameters") {
		if kind := p.get("type"); kind != nil && kind.str() != "object" {
			c.refuse(param+".function.parameters", "invalid_function_parameters", "Invalid schema for function '"+t.name+"': schema must be of type 'object'.")
		}
		t.schema = p
	}
	if s := inner.given("strict"); s != nil {
		c.typed(s, boolean, param+".function.strict")
	}
	if d := inner.given("description"); d != nil {
		c.typed(d, text, param+"."+word+".description")
	}
	c.ask.tools = append(c.ask.tools, t)
}

func (c *chatReader) toolChoice(v *node, param string) {
	choice := &c.ask.choice
	switch {
	case v.is(text):
		choice.mode = c.words(v, param, "none", "auto", "required")
	case !v.is(object):
		c.wrongType(param, v, "a string or an object")
	default:
		switch word := v.get("type").str(); word {
		case "function", "custom":
			choice.mode, choice.only = "required", []string{c.name(v.get(word).get("name"), param+"."+word+".name")}
		case "allowed_tools":
			c.allowedTools(v.get("allowed_tools"), param+".allowed_tools")
		default:
			c.wrongValue(param+".type", "'function', 'custom' or 'allowed_tools'")
		}
	}
}

func (c *chatReader) allowedTools(v *node, param string) {
	if v == nil {
		c.missing(param)
		return
	}
	mode, tools := v.get("mode"), v.get("tools")
	if mode == nil || !tools.is(array) {
		c.missing(param + ".mode and .tools")
		return
	}
	c.ask.choice.mode = c.words(mode, param+".mode", "auto", "required")
	c.ask.choice.only = []string{}
	for i := range tools.items {
		t := &tools.items[i]
		at := param + ".tools[" + strconv.Itoa(i) + "].name"
		c.ask.choice.only = append(c.ask.choice.only, c.name(t.get(t.get("type").str()).get("name"), at))
	}
}

func (c *chatReader) responseFormat(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	kindOf := v.get("type")
	if kindOf == nil {
		c.missing(param + ".type")
		return
	}
	switch c.words(kindOf, param+".type", "text", "json_object", "json_schema") {
	case "json_object":
		c.ask.format = anyJSON
	case "json_schema":
		c.jsonSchema(v.get("json_schema"), param+".json_schema")
	}
}

func (c *chatReader) jsonSchema(v *node, param string) {
	if v == nil {
		c.missing(param)
		return
	}
	if !c.typed(v, object, param) {
		return
	}
	c.name(v.get("name"), param+".name")
	schema := v.get("schema")
	if schema == nil {
		c.missing(param + ".schema")
		return
	}
	if s := v.given("strict"); s != nil {
		c.typed(s, boolean, param+".strict")
	}
	if c.typed(schema, object, param+".schema") {
		c.ask.format, c.ask.schema = jsonSchema, schema
		c.ask.overhead += countTokens(string(schema.raw))
	}
}

// pictureConfig is OpenRouter's image_config of chat completions: it gives the picture a size.
func (c *chatReader) pictureConfig(v *node, param string) {
	if !c.typed(v, object, param) {
		return
	}
	ratio, points := "1:1", 1024
	if given := v.given("aspect_ratio"); given != nil {
		ratio = c.words(given, param+".aspect_ratio", routerRatios[:len(routerRatios)-1]...)
	}
	if given := v.given("image_size"); given != nil {
		points = tierPoints[c.words(given, param+".image_size", "512", "1K", "2K", "4K")]
	}
	if c.fault == nil {
		c.ask.width, c.ask.height = pointsIn(ratio, points)
	}
}

var routerRatios = []string{"1:1", "1:2", "1:4", "1:8", "2:1", "2:3", "3:2", "3:4", "4:1", "4:3", "4:5", "5:4", "8:1", "9:16", "16:9", "9:19.5", "19.5:9", "9:20", "20:9", "9:21", "21:9", "auto"}

var tierPoints = map[string]int{"512": 512, "1K": 1024, "2K": 2048, "4K": 4096}
