package chat

import (
	"strconv"
	"strings"

	"weir/internal/sim/kit"
)

// chatRequest reads a body of POST /v1/chat/completions as strictly as a provider does.
func chatRequest(body []byte) (*kit.Request, *kit.Refusal) { return chatRequestFor(body, nil) }

// chatReader reads a request of the chat wire.
type chatReader struct{ kit.Checker }

func chatRequestFor(body []byte, address func(string) (string, bool)) (*kit.Request, *kit.Refusal) {
	root, err := kit.Parse(body)
	if err != nil {
		return nil, kit.Unreadable(&kit.OpenAIPhrases, err)
	}
	c := chatReader{kit.NewChecker(&kit.OpenAIPhrases)}
	c.Address = address
	if !root.Is(kit.Object) {
		c.Refuse("", "", "The body must be a JSON object.")
		return nil, c.Fault
	}
	c.Root = root
	c.request()
	if c.Fault != nil {
		return nil, c.Fault
	}
	return c.Request, nil
}

// gatewayOnly are fields that a gateway obeys itself. That one arrives here is a gateway's mistake.
var gatewayOnly = []string{"models", "provider", "plugins", "session_id", "transforms", "route", "usage"}

// chatFields checks each known member that is given and not null. Unknown members are taken and ignored, as
// OpenAI-compatible servers do.
var chatFields = map[string]func(c *chatReader, v *kit.Node, param string){
	"stream": func(c *chatReader, v *kit.Node, p string) {
		c.Request.Stream = c.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
	},
	"stream_options":        (*chatReader).streamOptions,
	"max_tokens":            (*chatReader).cap,
	"max_completion_tokens": (*chatReader).cap,
	"temperature":           func(c *chatReader, v *kit.Node, p string) { c.Decimal(v, p, 0, 2) },
	"top_p":                 func(c *chatReader, v *kit.Node, p string) { c.Decimal(v, p, 0, 1) },
	"min_p":                 func(c *chatReader, v *kit.Node, p string) { c.Decimal(v, p, 0, 1) },
	"top_a":                 func(c *chatReader, v *kit.Node, p string) { c.Decimal(v, p, 0, 1) },
	"top_k":                 func(c *chatReader, v *kit.Node, p string) { c.Integer(v, p, -1, kit.MaxInteger) },
	"repetition_penalty":    func(c *chatReader, v *kit.Node, p string) { c.Decimal(v, p, 0, 2) },
	"frequency_penalty":     func(c *chatReader, v *kit.Node, p string) { c.Decimal(v, p, -2, 2) },
	"presence_penalty":      func(c *chatReader, v *kit.Node, p string) { c.Decimal(v, p, -2, 2) },
	"seed": func(c *chatReader, v *kit.Node, p string) {
		c.Integer(v, p, -kit.MaxInteger-1, kit.MaxInteger)
		c.Request.Seed = string(v.Raw)
	},
	"n":          func(c *chatReader, v *kit.Node, p string) { c.Request.N = int(c.Integer(v, p, 1, 128)) },
	"stop":       (*chatReader).stop,
	"logit_bias": (*chatReader).logitBias,
	"logprobs": func(c *chatReader, v *kit.Node, p string) {
		c.Request.Logprobs = c.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
	},
	"top_logprobs": func(c *chatReader, v *kit.Node, p string) { c.Request.Top = int(c.Integer(v, p, 0, 20)) },
	"tools":        (*chatReader).tools,
	"tool_choice":  (*chatReader).toolChoice,
	"parallel_tool_calls": func(c *chatReader, v *kit.Node, p string) {
		c.Request.ParallelCalls = c.ExpectKind(v, kit.Boolean, p) && v.IsTrue()
	},
	"functions": func(c *chatReader, _ *kit.Node, p string) {
		c.Refuse(p, "unsupported_parameter", "'functions' is no longer supported. Use 'tools' instead.")
	},
	"function_call": func(c *chatReader, _ *kit.Node, p string) {
		c.Refuse(p, "unsupported_parameter", "'function_call' is no longer supported. Use 'tool_choice' instead.")
	},
	"response_format": (*chatReader).responseFormat,
	"reasoning_effort": func(c *chatReader, v *kit.Node, p string) {
		c.Request.Effort = c.OneOf(v, p, "none", "minimal", "low", "medium", "high", "xhigh", "max")
	},
	"reasoning":    (*chatReader).reasoning,
	"verbosity":    func(c *chatReader, v *kit.Node, p string) { c.OneOf(v, p, "low", "medium", "high") },
	"modalities":   (*chatReader).modalities,
	"image_config": (*chatReader).imageConfig,
	"audio":        (*chatReader).audio,
	"prediction": func(c *chatReader, v *kit.Node, p string) {
		if c.ExpectKind(v, kit.Object, p) && v.Get("type").Str() != "content" {
			c.WrongValue(p+".type", "'content'")
		}
	},
	"web_search_options": func(c *chatReader, v *kit.Node, p string) { c.ExpectKind(v, kit.Object, p) },
	"service_tier": func(c *chatReader, v *kit.Node, p string) {
		c.OneOf(v, p, "auto", "default", "flex", "scale", "priority")
	},
	"user":              func(c *chatReader, v *kit.Node, p string) { c.ExpectKind(v, kit.Text, p) },
	"safety_identifier": func(c *chatReader, v *kit.Node, p string) { c.ExpectKind(v, kit.Text, p) },
	"prompt_cache_key":  func(c *chatReader, v *kit.Node, p string) { c.ExpectKind(v, kit.Text, p) },
	"store":             func(c *chatReader, v *kit.Node, p string) { c.ExpectKind(v, kit.Boolean, p) },
	"metadata":          (*chatReader).metadata,
}

func (c *chatReader) request() {
	for _, name := range gatewayOnly {
		if c.Root.Has(name) {
			c.Refuse("", "", "Unrecognized request argument supplied: "+name)
		}
	}
	c.model()
	for i, name := range c.Root.Names {
		v := &c.Root.Items[i]
		if check := chatFields[name]; check != nil && v.Kind != kit.Null {
			check(c, v, name)
		}
		if c.Fault != nil {
			return
		}
	}
	c.messages()
	if c.Fault == nil {
		c.together()
	}
}

func (c *chatReader) model() {
	v := c.Root.Get("model")
	if v == nil {
		c.Refuse("model", "missing_required_parameter", "you must provide a model parameter")
		return
	}
	if !c.ExpectKind(v, kit.Text, "model") {
		return
	}
	name := v.Text
	if c.Address != nil {
		inside, ok := c.Address(name)
		if !ok {
			c.Refuse("model", "invalid_value", "Failed to parse model URI: '"+name+"'. Expected gpt://<folder>/<model>[/<version>].")
			return
		}
		name = inside
	}
	base, err := c.Request.Knobs.ParseName(name)
	if err != nil {
		c.Refuse("model", "invalid_value", "Invalid model name: "+err.Error()+".")
		return
	}
	c.Request.Name, c.Request.Model = v.Text, kit.ModelNamed(base)
	if c.Request.Model == nil && c.Fault == nil {
		c.Fault = kit.UnknownModel(v.Text)
	}
}

// together checks rules that involve more than one member.
func (c *chatReader) together() {
	a := c.Request
	switch {
	case c.Root.Given("stream_options") != nil && !a.Stream:
		c.Refuse("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case c.Root.Given("max_tokens") != nil && c.Root.Given("max_completion_tokens") != nil:
		c.Refuse("max_tokens", "invalid_parameter_combination", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case c.Root.Given("top_logprobs") != nil && !a.Logprobs:
		c.Refuse("top_logprobs", "", "'top_logprobs' needs 'logprobs' to be true.")
	case c.Root.Given("tools") == nil && c.Root.Given("tool_choice") != nil:
		c.Refuse("tool_choice", "", "'tool_choice' is only allowed when 'tools' are specified.")
	case c.Root.Given("tools") == nil && c.Root.Given("parallel_tool_calls") != nil:
		c.Refuse("parallel_tool_calls", "", "'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	c.offered()
	c.outputs()
	if err := a.Knobs.Check(); err != nil {
		c.Refuse("messages", "invalid_value", err.Error()+".")
	}
	if a.Format == kit.AnyJSON && !c.mentionsJSON() {
		c.Refuse("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
	if tokens, _ := a.PromptTokens(); c.Fault == nil && tokens > a.Model.ContextTokens {
		c.Refuse("messages", "context_length_exceeded", "This model's maximum context length is "+strconv.Itoa(a.Model.ContextTokens)+" tokens. However, your messages resulted in "+strconv.Itoa(tokens)+" tokens.")
	}
}

// offered checks that the tool choice names only tools of the request.
func (c *chatReader) offered() {
	for _, name := range c.Request.Choice.Only {
		found := false
		for i := range c.Request.Tools {
			found = found || c.Request.Tools[i].Name == name
		}
		if !found {
			c.Refuse("tool_choice", "", "Tool choice '"+name+"' not found in 'tools' parameter.")
		}
	}
}

func (c *chatReader) mentionsJSON() bool {
	for i := range c.Request.Turns {
		if strings.Contains(strings.ToLower(c.Request.Turns[i].Text), "json") {
			return true
		}
	}
	return false
}

// outputs reads which kinds of output are requested, and the audio format.
func (c *chatReader) outputs() {
	a := c.Request
	if c.Root.Given("modalities") == nil {
		a.WantImage, a.WantAudio = a.Model.Name == "image", a.Model.Name == "audio"
	} else if a.WantAudio && c.Root.Given("audio") == nil {
		c.Missing("audio")
	}
	if a.AudioFormat == "" {
		a.AudioFormat = "wav"
		if a.Stream {
			a.AudioFormat = "pcm16"
		}
	}
	if a.WantAudio && a.Stream && a.AudioFormat != "pcm16" {
		c.Refuse("audio.format", "unsupported_value", "Unsupported value: 'audio.format' does not support '"+a.AudioFormat+"' when stream=true. Supported values are: 'pcm16'.")
	}
}

func (c *chatReader) cap(v *kit.Node, param string) {
	c.Request.MaxTokens = int(c.Integer(v, param, 1, 1<<31))
}

func (c *chatReader) streamOptions(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	for _, name := range [...]string{"include_usage", "include_obfuscation"} {
		if o := v.Given(name); o != nil {
			c.ExpectKind(o, kit.Boolean, param+"."+name)
		}
	}
	c.Request.StreamUsage = v.Get("include_usage").IsTrue()
}

func (c *chatReader) stop(v *kit.Node, param string) {
	switch {
	case v.Is(kit.Text):
		c.Request.Stops = []string{v.Text}
	case !v.Is(kit.Array):
		c.WrongType(param, v, "a string or an array of strings")
	case len(v.Items) > 4:
		c.Refuse(param, "array_above_max_length", "Invalid 'stop': at most 4 sequences are allowed.")
	default:
		for i := range v.Items {
			if c.ExpectKind(&v.Items[i], kit.Text, param+"["+strconv.Itoa(i)+"]") {
				c.Request.Stops = append(c.Request.Stops, v.Items[i].Text)
			}
		}
	}
}

func (c *chatReader) logitBias(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	for i, name := range v.Names {
		if _, err := strconv.ParseUint(name, 10, 32); err != nil {
			c.WrongValue(param, "token ids as names")
		}
		c.Decimal(&v.Items[i], param+"."+name, -100, 100)
	}
}

func (c *chatReader) metadata(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	if len(v.Names) > 16 {
		c.Refuse(param, "object_above_max_properties", "Invalid 'metadata': at most 16 pairs are allowed.")
	}
	for i, name := range v.Names {
		if c.ExpectKind(&v.Items[i], kit.Text, param+"."+name) && (len(name) > 64 || len(v.Items[i].Text) > 512) {
			c.WrongValue(param, "names of at most 64 and values of at most 512 characters")
		}
	}
}

func (c *chatReader) reasoning(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	if e := v.Given("effort"); e != nil {
		c.Request.Effort = c.OneOf(e, param+".effort", "none", "minimal", "low", "medium", "high", "xhigh", "max")
	} else if v.Get("enabled").IsTrue() || v.Given("max_tokens") != nil {
		c.Request.Effort = "medium"
	}
}

func (c *chatReader) modalities(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Array, param) {
		return
	}
	for i := range v.Items {
		switch c.OneOf(&v.Items[i], param+"["+strconv.Itoa(i)+"]", "text", "image", "audio") {
		case "image":
			c.Request.WantImage = true
		case "audio":
			c.Request.WantAudio = true
		}
	}
}

func (c *chatReader) audio(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	voice, format := v.Get("voice"), v.Get("format")
	switch {
	case voice == nil:
		c.Missing(param + ".voice")
	case format == nil:
		c.Missing(param + ".format")
	case !voice.Is(kit.Object): // a voice of one's own is given as an object
		c.ExpectKind(voice, kit.Text, param+".voice")
	}
	if format != nil {
		c.Request.AudioFormat = c.OneOf(format, param+".format", "wav", "pcm16")
	}
}

func (c *chatReader) name(v *kit.Node, param string) string {
	if v == nil {
		c.Missing(param)
		return ""
	}
	if c.ExpectKind(v, kit.Text, param) && !kit.ValidName(v.Text) {
		c.WrongValue(param, kit.NamePattern)
	}
	return v.Text
}

func (c *chatReader) tools(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Array, param) {
		return
	}
	if len(v.Items) == 0 {
		c.Refuse(param, "empty_array", "Invalid 'tools': empty array. Expected an array with at least one element.")
	}
	if len(v.Items) > 128 {
		c.Refuse(param, "array_above_max_length", "Invalid 'tools': at most 128 are allowed.")
	}
	for i := range v.Items {
		c.tool(&v.Items[i], param+"["+strconv.Itoa(i)+"]")
	}
	c.Request.Overhead += kit.CountTokens(string(v.Raw))
}

func (c *chatReader) tool(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		c.Missing(param + ".type")
		return
	}
	word := c.OneOf(kindOf, param+".type", "function", "custom")
	inner := v.Get(word)
	switch {
	case word == "":
		return
	case inner == nil:
		c.Missing(param + "." + word)
		return
	case !c.ExpectKind(inner, kit.Object, param+"."+word):
		return
	}
	t := kit.Tool{Name: c.name(inner.Get("name"), param+"."+word+".name"), Custom: word == "custom"}
	if p := inner.Given("parameters"); p != nil && c.ExpectKind(p, kit.Object, param+".function.parameters") {
		if kind := p.Get("type"); kind != nil && kind.Str() != "object" {
			c.Refuse(param+".function.parameters", "invalid_function_parameters", "Invalid schema for function '"+t.Name+"': schema must be of type 'object'.")
		}
		t.Schema = p
	}
	if s := inner.Given("strict"); s != nil {
		c.ExpectKind(s, kit.Boolean, param+".function.strict")
	}
	if d := inner.Given("description"); d != nil {
		c.ExpectKind(d, kit.Text, param+"."+word+".description")
	}
	c.Request.Tools = append(c.Request.Tools, t)
}

func (c *chatReader) toolChoice(v *kit.Node, param string) {
	choice := &c.Request.Choice
	switch {
	case v.Is(kit.Text):
		choice.Mode = c.OneOf(v, param, "none", "auto", "required")
	case !v.Is(kit.Object):
		c.WrongType(param, v, "a string or an object")
	default:
		switch word := v.Get("type").Str(); word {
		case "function", "custom":
			choice.Mode, choice.Only = "required", []string{c.name(v.Get(word).Get("name"), param+"."+word+".name")}
		case "allowed_tools":
			c.allowedTools(v.Get("allowed_tools"), param+".allowed_tools")
		default:
			c.WrongValue(param+".type", "'function', 'custom' or 'allowed_tools'")
		}
	}
}

func (c *chatReader) allowedTools(v *kit.Node, param string) {
	if v == nil {
		c.Missing(param)
		return
	}
	mode, tools := v.Get("mode"), v.Get("tools")
	if mode == nil || !tools.Is(kit.Array) {
		c.Missing(param + ".mode and .tools")
		return
	}
	c.Request.Choice.Mode = c.OneOf(mode, param+".mode", "auto", "required")
	c.Request.Choice.Only = []string{}
	for i := range tools.Items {
		t := &tools.Items[i]
		at := param + ".tools[" + strconv.Itoa(i) + "].name"
		c.Request.Choice.Only = append(c.Request.Choice.Only, c.name(t.Get(t.Get("type").Str()).Get("name"), at))
	}
}

func (c *chatReader) responseFormat(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	kindOf := v.Get("type")
	if kindOf == nil {
		c.Missing(param + ".type")
		return
	}
	switch c.OneOf(kindOf, param+".type", "text", "json_object", "json_schema") {
	case "json_object":
		c.Request.Format = kit.AnyJSON
	case "json_schema":
		c.jsonSchema(v.Get("json_schema"), param+".json_schema")
	}
}

func (c *chatReader) jsonSchema(v *kit.Node, param string) {
	if v == nil {
		c.Missing(param)
		return
	}
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	c.name(v.Get("name"), param+".name")
	schema := v.Get("schema")
	if schema == nil {
		c.Missing(param + ".schema")
		return
	}
	if s := v.Given("strict"); s != nil {
		c.ExpectKind(s, kit.Boolean, param+".strict")
	}
	if c.ExpectKind(schema, kit.Object, param+".schema") {
		c.Request.Format, c.Request.Schema = kit.JSONSchema, schema
		c.Request.Overhead += kit.CountTokens(string(schema.Raw))
	}
}

// imageConfig reads OpenRouter's image_config of chat completions, which sets the size of images.
func (c *chatReader) imageConfig(v *kit.Node, param string) {
	if !c.ExpectKind(v, kit.Object, param) {
		return
	}
	ratio, points := "1:1", 1024
	if given := v.Given("aspect_ratio"); given != nil {
		ratio = c.OneOf(given, param+".aspect_ratio", RouterRatios[:len(RouterRatios)-1]...)
	}
	if given := v.Given("image_size"); given != nil {
		points = TierPoints[c.OneOf(given, param+".image_size", "512", "1K", "2K", "4K")]
	}
	if c.Fault == nil {
		c.Request.Width, c.Request.Height = kit.SizeOfRatio(ratio, points)
	}
}

// RouterRatios are the aspect ratios that OpenRouter takes.
var RouterRatios = []string{"1:1", "1:2", "1:4", "1:8", "2:1", "2:3", "3:2", "3:4", "4:1", "4:3", "4:5", "5:4", "8:1", "9:16", "16:9", "9:19.5", "19.5:9", "9:20", "20:9", "9:21", "21:9", "auto"}

// TierPoints is the length of the shorter side by the name of a size, in points.
var TierPoints = map[string]int{"512": 512, "1K": 1024, "2K": 2048, "4K": 4096}
