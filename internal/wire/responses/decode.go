// Package responses is the responses style: it decodes POST /v1/responses and encodes answers, whole and streamed, from the canonical
// form or from an upstream with this wire. It has no state: the caller adds earlier turns to the request, and stores the answer.
package responses

import (
	"math"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/wire"
)

const (
	op           = "responses.Decode"
	maxModels    = 10
	maxItems     = 10_000
	maxTools     = 512
	maxUser      = 256
	maxSessionID = 256
	maxIncludes  = 16

	bytesPerToken    = 3
	tokensPerItem    = 8
	tokensPerRequest = 3
	tokensPerImage   = 1500
	tokensPerFile    = 4000
	bytesPerFile     = 8 // of base64 to a token
	bytesPerAudio    = 128

	// The estimates for the densest inputs that a client can choose.
	mostImage      = 6500
	densestFile    = 2
	densestAudio   = 32
	densestVideo   = 2
	mostFile       = 300_000 // of the largest number of pages that providers read; such pages may have hardly any bytes
	longestAddress = 8192    // a video written in fewer bytes is an address
)

var (
	tiers       = []string{"auto", "default", "flex", "priority", "fast", "scale"}
	truncations = []string{"disabled", "auto"}
	verbosities = []string{"low", "medium", "high", "xhigh", "max"}
	includes    = []string{"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url", "web_search_call.results",
		"web_search_call.action.sources", "file_search_call.results", "code_interpreter_call.outputs", "computer_call_output.output.image_url"}
	choices    = []string{"none", "auto", "required"}
	formats    = []string{"text", "json_object", "json_schema"}
	modalities = []string{"text", "image", "audio"}
)

// Request is a decoded request of this style.
type Request struct {
	*completion.Request
	Input      completion.Span // value of input inside Body
	Previous   string          // previous_response_id, "" none
	Store      bool            // store the answer, unless the client or the operator forbids it
	StoreAsked bool            // the client wrote store: true
	Background bool
	Encrypted  bool // the answer must include encrypted reasoning: the client asks for it, or nothing is stored
}

// Decode reads the body of a responses request. The request keeps views into body. It fails with fault.Invalid, InvalidPrompt,
// StringTooLong, DuplicateKey or TooDeep; the error's Param is the path of the offending field.
func Decode(body []byte) (*Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := decoder{Reader: wire.NewRequest(body, op, ""), out: &Request{Request: &completion.Request{Style: completion.Responses, Source: source{}, Body: body, N: 1}, Store: true}}
	d.req = d.out.Request
	d.req.Needs.Readable = true
	if d.Kind() != rawjson.Object {
		d.Fail(fault.Invalid, "The body must be a JSON object.")
		return nil, d.Err()
	}
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		m := completion.Member{Name: string(name), Start: d.NameAt()}
		d.Kind() // moves to the value
		m.Value = d.Pos()
		d.field(m.Name)
		m.End = d.Pos()
		d.req.Members = append(d.req.Members, m)
	}
	d.finish()
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.out, nil
}

// Continue puts earlier turns, a JSON list of items, before the input.
func (r *Request) Continue(history []byte) {
	d := decoder{out: r, req: r.Request}
	newest := r.Signature
	defer func() {
		if newest != "" {
			r.Signature = newest
		}
	}()
	for e := rawjson.ElementsOf(history); e.Next(); {
		r.Needs.PromptTokens += tokensPerItem
		d.estimate(e.Value)
	}
	r.History = history
}

type decoder struct {
	wire.Reader
	out       *Request
	req       *completion.Request
	model     string
	models    []string
	reasoning wire.ReasoningAsked
	input     bool
	stored    wire.Switch
	trigger   bool  // the last item of input is a compaction_trigger
	calls     int64 // limit on calls of hosted tools, all together; 0: none in the request
}

func (d *decoder) finish() {
	req := d.req
	if d.Err() != nil {
		return
	}
	req.Models = effective(d.model, d.models)
	req.Reasoning = d.reasoning.Judge(&d.Reader)
	req.Needs.N, req.Needs.MaxTokens, req.Needs.Passed = 1, req.MaxTokens, "responses"
	req.Needs.Input |= catalog.Text
	req.Needs.PromptTokens += tokensPerRequest
	req.Needs.Dense = bytesPerToken
	for i := range req.Needs.Uses {
		req.Needs.Uses[i] = d.calls
	}
	d.out.Store = d.stored != wire.Off
	d.out.StoreAsked = d.stored == wire.On
	if req.Preferences.ZDR {
		d.out.Store = false
	}
	d.out.Encrypted = d.out.Encrypted || !d.out.Store
	switch {
	case len(req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "model is required: a slug such as vendor/model.")
	case !d.input && d.out.Previous == "":
		d.FailAt(fault.InvalidPrompt, "input", "input is required: text or a list of items.")
	case d.out.Background && !d.out.Store:
		d.FailAt(fault.Invalid, "background", "background: true requires store: true.")
	case d.out.StoreAsked && req.Preferences.ZDR:
		d.FailAt(fault.Invalid, "store", "store: true contradicts provider.zdr, which stores nothing. Leave one of them out.")
	}
	if d.trigger {
		d.compacting()
	}
	if d.out.Previous != "" {
		req.Opening = [2]completion.Span{} // the conversation begins in an earlier response
	}
}

// effective is model followed by models, without duplicates.
func effective(model string, models []string) (list []string) {
	if model != "" {
		list = append(list, model)
	}
next:
	for _, slug := range models {
		for _, have := range list {
			if have == slug {
				continue next
			}
		}
		list = append(list, slug)
	}
	return list
}

func (d *decoder) needs(p catalog.Params, present bool) {
	if present {
		d.req.Needs.Params |= p
	}
}

func (d *decoder) present() bool {
	k := d.Kind()
	return k != rawjson.Null && k != rawjson.Invalid
}

func (d *decoder) field(name string) {
	req := d.req
	switch name {
	case "model":
		d.model, _ = d.Slug()
	case "models":
		d.models = d.Slugs(maxModels)
	case "provider":
		req.Preferences = d.Preferences()
	case "input":
		d.out.Input.Start = d.Pos()
		d.readInput()
		d.out.Input.End = d.Pos()
		req.MessagesAt = d.out.Input
	case "instructions":
		req.Opening[0].Start = d.Pos()
		d.instructions()
		req.Opening[0].End = d.Pos()
	case "prompt_cache_key":
		at := d.Pos()
		if key, _ := d.Text(math.MaxInt); len(key) > 0 {
			req.CacheKey = completion.Span{Start: at, End: d.Pos()}
		}
	case "stream":
		req.Stream, _ = d.Bool()
	case "previous_response_id":
		d.out.Previous, _ = d.Stored(maxUser)
	case "store":
		d.stored = d.Switch()
	case "background":
		d.out.Background, _ = d.Bool()
	case "conversation", "prompt":
		if d.present() {
			d.Fail(fault.Invalid, "%s is not supported.", name)
		}
		d.Skip()
	case "include":
		d.include()
	case "metadata":
		req.Metadata = d.Metadata()
	case "user":
		req.User, _ = d.Stored(maxUser)
	case "session_id":
		req.SessionID, _ = d.Stored(maxSessionID)
	case "truncation":
		if word, _ := d.Enum(truncations); word == "auto" {
			req.Needs.Shrink = routing.ShrinkAny
		}
	case "service_tier":
		switch tier, _ := d.Enum(tiers); tier {
		case "fast":
			req.Needs.Tier = "priority"
		case "flex", "priority":
			req.Needs.Tier = tier
		}
	case "modalities":
		d.modalities()
	default:
		d.setting(name)
	}
}

// setting reads the fields with parameters of the answer.
func (d *decoder) setting(name string) {
	number := func(p catalog.Params, lo, hi float64) {
		_, ok := d.Number(lo, hi)
		d.needs(p, ok)
	}
	switch name {
	case "max_output_tokens":
		n, ok := d.Int(1, math.MaxInt64)
		d.req.MaxTokens, d.req.Needs.MaxTokensName = n, name
		d.needs(catalog.ParamMaxTokens, ok)
	case "max_tool_calls":
		if most, ok := d.Int(1, math.MaxInt64); ok {
			d.calls = min(most, 1_000_000)
		}
	case "temperature":
		number(catalog.ParamTemperature, 0, 2)
	case "top_p":
		number(catalog.ParamTopP, 0, 1)
	case "frequency_penalty":
		number(catalog.ParamFrequencyPenalty, -2, 2)
	case "presence_penalty":
		number(catalog.ParamPresencePenalty, -2, 2)
	case "top_k":
		_, ok := d.Int(0, math.MaxInt64)
		d.needs(catalog.ParamTopK, ok)
	case "top_logprobs":
		_, ok := d.Int(0, 20)
		d.needs(catalog.ParamTopLogprobs|catalog.ParamLogprobs, ok)
	case "tools":
		d.tools()
	case "tool_choice":
		d.needs(catalog.ParamToolChoice, d.present())
		if d.Kind() == rawjson.Object {
			d.Free(rawjson.Object)
		} else {
			d.Enum(choices)
		}
	case "parallel_tool_calls":
		_, ok := d.Bool()
		d.needs(catalog.ParamParallelToolCalls, ok)
	case "text":
		d.textSettings()
	case "plugins":
		d.Plugins(d.req)
	case "reasoning":
		d.needs(catalog.ParamReasoning, d.present())
		d.Reasoning(&d.reasoning)
	default:
		wire.PaidMember(&d.req.Needs, name, d.Skip())
	}
}

func (d *decoder) instructions() {
	if d.Kind() == rawjson.Array {
		d.items()
		return
	}
	d.count(len(d.RawString()))
}

func (d *decoder) include() {
	if !d.Array() {
		return
	}
	for n := 1; d.Element(); n++ {
		if n > maxIncludes {
			d.TooMany(maxIncludes)
			return
		}
		word, ok := d.Enum(includes)
		if !ok {
			d.Required()
		}
		d.out.Encrypted = d.out.Encrypted || word == "reasoning.encrypted_content"
	}
}

func (d *decoder) modalities() {
	if !d.Array() {
		return
	}
	for d.Element() {
		word, ok := d.Enum(modalities)
		if !ok {
			d.Required()
			return
		}
		d.req.Needs.Output |= map[string]catalog.Modality{"text": catalog.Text, "image": catalog.Image, "audio": catalog.Audio}[word]
	}
}

func (d *decoder) textSettings() {
	if !d.Object() {
		return
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "verbosity":
			_, ok := d.Enum(verbosities)
			d.needs(catalog.ParamVerbosity, ok)
		case "format":
			d.format()
		default:
			d.Skip()
		}
	}
}

func (d *decoder) format() {
	d.Kind() // moves to the value
	at := d.Pos()
	if !d.Object() {
		return
	}
	kind, named := "", false
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "type":
			kind, _ = d.Enum(formats)
		case "name":
			named = d.RawString() != nil
		case "schema":
			d.Free(rawjson.Object)
		case "strict":
			d.Bool()
		default:
			d.Skip()
		}
	}
	switch kind {
	case "":
		d.FailIn(fault.Invalid, "type", "A format needs a type.")
	case "json_object":
		d.needs(catalog.ParamResponseFormat, true)
	case "json_schema":
		d.needs(catalog.ParamResponseFormat|catalog.ParamStructuredOutputs, true)
		if !named {
			d.FailIn(fault.Invalid, "name", "A schema needs a name.")
		}
	}
	if d.Err() == nil && kind != "text" {
		if f := formatOf(d.req.Body[at:d.Pos()]); f.Kind != completion.FormatText {
			d.req.Format = &f
		}
	}
}

func (d *decoder) tools() {
	if !d.Array() {
		return
	}
	n := 0
	for d.Element() {
		if n++; n > maxTools {
			d.TooMany(maxTools)
			return
		}
		if d.Kind() != rawjson.Object {
			d.Free(rawjson.Object)
			d.Required()
			return
		}
		v := d.Skip()
		d.count(len(v))
		switch kind := rawjson.TextAt(v, "type"); {
		case kind == "":
			d.Fail(fault.Invalid, "%s needs a type.", d.Path())
		case (kind == "function" || kind == "custom") && rawjson.TextAt(v, "name") == "":
			d.Fail(fault.Invalid, "%s needs a name.", d.Path())
		}
		wire.OfferTool(&d.req.Needs, v)
	}
	d.needs(catalog.ParamTools, n > 0)
}

func isSearch(kind string) bool { return len(kind) >= 10 && kind[:10] == "web_search" }

func (d *decoder) count(n int) { d.req.Needs.PromptTokens += int64(n)/bytesPerToken + 1 }

func (d *decoder) readInput() {
	switch d.Kind() {
	case rawjson.String:
		at := d.Pos()
		d.count(len(d.RawString()))
		d.input = true
		d.req.Opening[1] = completion.Span{Start: at, End: d.Pos()}
	case rawjson.Array:
		n := d.items()
		d.input = n > 1 || n == 1 && !d.trigger
	case rawjson.Null:
		d.Skip()
	default:
		d.Skip()
		d.Fail(fault.InvalidPrompt, "input must be text or a list of items.")
	}
}

// items reads a list of items; they are decoded only when a dialect needs their content.
func (d *decoder) items() (n int) {
	d.Array()
	for d.Element() {
		if n++; n > maxItems {
			d.TooMany(maxItems)
			return n
		}
		if d.Kind() != rawjson.Object {
			d.Skip()
			d.Fail(fault.InvalidPrompt, "%s must be an object.", d.Path())
			return n
		}
		at := d.Pos()
		v := d.Skip()
		if d.trigger {
			d.Fail(fault.InvalidPrompt, "%s follows a compaction_trigger, which must be the last item.", d.Path())
			return n
		}
		if d.trigger = rawjson.TextAt(v, "type") == triggerType; d.trigger {
			continue
		}
		if d.req.Opening[1].End == 0 {
			d.req.Opening[1] = completion.Span{Start: at, End: d.Pos()}
		}
		d.req.Needs.PromptTokens += tokensPerItem
		d.estimate(v)
	}
	return n
}

// estimate counts an item's tokens and records its kinds of content.
func (d *decoder) estimate(item []byte) {
	needs := &d.req.Needs
	if known := wire.Known(rawjson.TextAt(item, "encrypted_content")); known != "" {
		d.req.Signature = known
	}
	for _, list := range [...][]byte{rawjson.Find(item, "content"), rawjson.Find(item, "output")} {
		if rawjson.KindOf(list) == rawjson.String {
			d.count(len(list))
			continue
		}
		for e := rawjson.ElementsOf(list); e.Next(); {
			switch rawjson.TextAt(e.Value, "type") {
			case "input_image":
				needs.Input |= catalog.Image
				needs.Medium(tokensPerImage, mostImage)
			case "input_file":
				needs.Input |= catalog.File
				data := int64(len(rawjson.Find(e.Value, "file_data")))
				tokens := max(tokensPerFile, data/bytesPerFile)
				needs.Medium(tokens, max(data/densestFile, mostFile))
				needs.Open = needs.Open || data == 0
				needs.FileTokens += tokens
			case "input_audio":
				needs.Input |= catalog.Audio
				needs.Medium(int64(len(e.Value))/bytesPerAudio+1, int64(len(e.Value))/densestAudio+1)
			case "input_video":
				needs.Input |= catalog.Video
				needs.Medium(tokensPerFile, int64(len(e.Value))/densestVideo)
				needs.Open = needs.Open || len(e.Value) < longestAddress
			default:
				d.count(len(e.Value))
			}
		}
	}
	if kind := rawjson.TextAt(item, "type"); kind == "additional_tools" || kind == "tool_search_output" { // offered in the conversation, as in the member tools
		list := rawjson.Find(item, "tools")
		d.count(len(list))
		for e := rawjson.ElementsOf(list); e.Next(); {
			wire.OfferTool(needs, e.Value)
			needs.Params |= catalog.ParamTools
		}
	}
	for _, name := range [...]string{"arguments", "input", "summary", "encrypted_content"} {
		if v := rawjson.Find(item, name); v != nil {
			d.count(len(v))
		}
	}
}
