// Package gemini is the Gemini style: it decodes generateContent, countTokens, embedContent and batchEmbedContents and encodes their answers,
// whole and streamed. Answers of upstreams with this wire are passed on unchanged except for the model's name, the cost and a notice. It must
// not check what such an upstream checks itself.
package gemini

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

const (
	op           = "gemini.Decode"
	maxContents  = 100_000
	maxModels    = 10
	maxSessionID = 256
	maxN         = 8 // candidates (Gemini API, GenerationConfig.candidateCount)

	// The estimate of the prompt is for the size of a hold: it should rather be high than low.
	bytesPerToken    = 3
	tokensPerContent = 8
	tokensPerRequest = 3

	ownWire = "gemini" // dialect of the endpoints that use this wire
)

// Decode reads the body of a generateContent request to the model that its address names. The request keeps views into body. It fails with
// fault.Invalid, InvalidPrompt, DuplicateKey or TooDeep; the error's Param is the path of the offending field.
func Decode(body []byte, model string, stream bool) (*completion.Request, error) {
	body, err := checked(body)
	if err != nil {
		return nil, err
	}
	d := read(body, model)
	d.req.Stream = stream
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.req, nil
}

// DecodeCount reads the body of a countTokens request: contents, or a whole request in generateContentRequest.
func DecodeCount(body []byte, model string) (*completion.Request, error) {
	body, err := checked(body)
	if err != nil {
		return nil, err
	}
	if inner := rawjson.Find(body, "generateContentRequest"); rawjson.KindOf(inner) == rawjson.Object {
		if rawjson.Find(body, "contents") != nil {
			return nil, fault.Field(op, "contents", "Send contents or generateContentRequest, not both.")
		}
		body = inner
	}
	d := read(body, model)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.req, nil
}

// checked is a body with one spelling for each name.
func checked(body []byte) ([]byte, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	out := withText(normal(body))
	if len(out) != len(body) || len(out) > 0 && &out[0] != &body[0] {
		if err := rawjson.Check(out, rawjson.Defaults); err != nil { // a name in both spellings
			return nil, err
		}
	}
	return out, nil
}

type decoder struct {
	wire.Reader
	req      *completion.Request
	model    string // from the address
	models   []string
	contents bool
	labels   []byte
}

// members of a request that a provider of this wire gets as they are. Requests with others are translated, so that no unknown member makes a
// provider do something else, or something that costs more.
var (
	passed       = set("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "modelArmorConfig", "model", "labels", "serviceTier", "store", "metadata")
	passedConfig = set("temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema", "_responseJsonSchema",
		"responseModalities", "responseLogprobs", "logprobs", "presencePenalty", "frequencyPenalty", "seed", "speechConfig", "thinkingConfig", "imageConfig", "mediaResolution",
		"enableEnhancedCivicAnswers", "audioTimestamp")
	passedTool = set("functionDeclarations", "googleSearch", "googleSearchRetrieval", "urlContext", "codeExecution", "googleMaps", "enterpriseWebSearch", "computerUse")
)

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

func read(body []byte, model string) *decoder {
	d := &decoder{
		Reader: wire.NewRequest(body, op, ""), model: strings.TrimPrefix(model, "models/"),
		req: &completion.Request{Style: completion.Gemini, Source: source{}, Body: body, N: 1},
	}
	if d.Kind() != rawjson.Object {
		d.Fail(fault.Invalid, "The body must be a JSON object.")
		return d
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
	if d.Err() == nil {
		d.finish()
	}
	return d
}

// finish sets the fields that are derived from the whole request.
func (d *decoder) finish() {
	req := d.req
	if d.model != "" {
		req.Models = append(req.Models, d.model)
	}
	for _, name := range d.models {
		if name = strings.TrimPrefix(name, "models/"); !slices.Contains(req.Models, name) {
			req.Models = append(req.Models, name)
		}
	}
	n := &req.Needs
	n.N = req.N
	n.MaxTokens = req.MaxTokens
	n.MaxTokensName = "generationConfig.maxOutputTokens"
	n.Input |= catalog.Text
	n.PromptTokens += tokensPerRequest
	n.Dense = bytesPerToken
	n.Wire = ownWire
	if !req.Translate {
		n.Passed = ownWire
	}
	if req.Metadata == nil {
		req.Metadata = d.labels
	}
	switch {
	case len(req.Models) == 0:
		d.FailAt(fault.Invalid, "model", "The address names no model: send to /v1beta/models/vendor/model:generateContent.")
	case !d.contents:
		d.FailAt(fault.InvalidPrompt, "contents", "contents is required: a list of at least one content with parts.")
	}
}

// field reads one top-level field. Fields that only the upstream uses are skipped, whatever they contain.
func (d *decoder) field(name string) {
	req := d.req
	if !passed[name] && !completion.GatewayOnly(name) {
		req.Translate = true
	}
	switch name {
	case "model":
		if slug, ok := d.Slug(); ok && strings.TrimPrefix(slug, "models/") != d.model {
			d.FailAt(fault.Invalid, "model", "model in the body is another one than in the address. Leave it out of the body.")
		}
	case "models":
		d.models = d.Slugs(maxModels)
	case "provider":
		req.Preferences = d.Preferences()
	case "session_id":
		req.SessionID, _ = d.Stored(maxSessionID)
	case "plugins":
		d.Plugins(req)
	case "transforms":
		d.Transforms(req)
	case "metadata":
		req.Metadata = d.Metadata()
	case "labels":
		d.labels = d.Metadata()
	case "contents":
		req.MessagesAt.Start = d.Pos()
		d.readContents()
		req.MessagesAt.End = d.Pos()
	case "systemInstruction":
		at := d.Pos()
		v := d.Skip()
		d.parts("systemInstruction", rawjson.Find(v, "parts"))
		req.Opening[0] = opened(at, v)
	case "tools":
		d.readTools()
	case "toolConfig":
		v := d.Skip()
		if !rawjson.IsNull(v) {
			d.needs(catalog.ParamToolChoice)
		}
	case "generationConfig":
		d.config()
	case "serviceTier":
		d.tier(d.Skip())
	case "cachedContent":
		if v := d.Skip(); !rawjson.IsNull(v) && rawjson.Text(v) != "" {
			d.Fail(fault.Invalid, "cachedContent is not supported: contents that are cached by name belong to the key of the gateway. Send the whole prompt; what it begins with is cached by itself where the provider does that.")
		}
	case "safetySettings":
		d.Skip()
	case "store":
		if on, _ := d.Bool(); on { // the answer says that nothing is stored
			req.Translate = true
		}
	default:
		wire.PaidMember(&req.Needs, name, d.Skip())
	}
}

func (d *decoder) needs(p catalog.Params) { d.req.Needs.Params |= p }

// tier reads a service tier: routing chooses an endpoint of it.
func (d *decoder) tier(v []byte) {
	switch word := strings.ToLower(strings.TrimPrefix(strings.ToUpper(rawjson.Text(v)), "SERVICE_TIER_")); word {
	case "", "unspecified", "standard", "default", "auto", "scale":
	case "fast":
		d.req.Needs.Tier = "priority"
	case "flex", "priority":
		d.req.Needs.Tier = word
	default:
		d.Fail(fault.Invalid, "serviceTier must be standard, flex or priority.")
	}
}

// config reads generationConfig.
func (d *decoder) config() {
	if !d.Object() {
		return
	}
	req := d.req
	json, schema := false, false
	for raw, ok := d.Member(); ok; raw, ok = d.Member() {
		name := string(raw)
		if !passedConfig[name] {
			req.Translate = true
		}
		switch name {
		case "temperature":
			d.number(catalog.ParamTemperature, 0, 2)
		case "topP":
			d.number(catalog.ParamTopP, 0, 1)
		case "topK":
			d.number(catalog.ParamTopK, 0, math.MaxInt32)
		case "presencePenalty":
			d.number(catalog.ParamPresencePenalty, -2, 2)
		case "frequencyPenalty":
			d.number(catalog.ParamFrequencyPenalty, -2, 2)
		case "seed":
			if _, ok := d.Int(math.MinInt64, math.MaxInt64); ok {
				d.needs(catalog.ParamSeed)
			}
		case "candidateCount":
			if n, ok := d.Int(1, maxN); ok {
				req.N = int(n)
			}
		case "maxOutputTokens":
			if n, ok := d.Int(1, math.MaxInt64); ok {
				req.MaxTokens = n
				d.needs(catalog.ParamMaxTokens)
			}
		case "stopSequences":
			if v := d.Free(rawjson.Array); len(v) > 2 {
				d.needs(catalog.ParamStop)
			}
		case "responseLogprobs":
			if on, _ := d.Bool(); on {
				d.needs(catalog.ParamLogprobs)
			}
		case "logprobs":
			if _, ok := d.Int(0, 20); ok {
				d.needs(catalog.ParamTopLogprobs)
			}
		case "responseMimeType":
			json = rawjson.Text(d.Free(rawjson.String)) == "application/json"
		case "responseSchema", "responseJsonSchema", "_responseJsonSchema":
			schema = !rawjson.IsNull(d.Skip())
		case "responseModalities":
			d.modalities()
		case "thinkingConfig":
			d.thinking()
		default:
			d.Skip()
		}
	}
	switch {
	case schema:
		d.needs(catalog.ParamResponseFormat | catalog.ParamStructuredOutputs)
	case json:
		d.needs(catalog.ParamResponseFormat)
	}
}

func (d *decoder) number(p catalog.Params, lo, hi float64) {
	if _, ok := d.Number(lo, hi); ok {
		d.needs(p)
	}
}

func (d *decoder) modalities() {
	if !d.Array() {
		return
	}
	for n := 1; d.Element(); n++ {
		if n > maxN {
			d.TooMany(maxN)
			return
		}
		switch word := strings.ToUpper(rawjson.Text(d.Free(rawjson.String))); word {
		case "TEXT":
			d.req.Needs.Output |= catalog.Text
		case "IMAGE":
			d.req.Needs.Output |= catalog.Image
		case "AUDIO":
			d.req.Needs.Output |= catalog.Audio
		case "MODALITY_UNSPECIFIED":
		default:
			d.Fail(fault.Invalid, "%s must be TEXT, IMAGE or AUDIO.", d.Path())
		}
	}
}

// thinking reads thinkingConfig. Without includeThoughts the model may reason, and the client gets none of it.
func (d *decoder) thinking() {
	if !d.Object() {
		return
	}
	r := &d.req.Reasoning
	r.Set, r.Exclude = true, true
	d.needs(catalog.ParamReasoning)
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "includeThoughts":
			show, _ := d.Bool()
			r.Exclude = !show
		case "thinkingBudget":
			switch n, ok := d.Int(-1, math.MaxInt32); {
			case !ok:
			case n < 0:
				r.Enabled = true
			case n == 0:
				r.Disabled = true
			default:
				r.MaxTokens = n
			}
		case "thinkingLevel":
			switch word := strings.ToLower(rawjson.Text(d.Free(rawjson.String))); word {
			case "minimal", "low", "medium", "high":
				r.Effort = word
			case "", "thinking_level_unspecified":
			default:
				d.Fail(fault.Invalid, "%s must be MINIMAL, LOW, MEDIUM or HIGH.", d.Path())
			}
		default:
			d.req.Translate = true
			d.Skip()
		}
	}
	if r.Effort != "" && (r.MaxTokens > 0 || r.Enabled || r.Disabled) {
		d.FailIn(fault.Invalid, "thinkingLevel", "Send thinkingLevel or thinkingBudget, not both.")
	}
}

// hosted are the tools that a provider runs, and what they are in the catalog.
var hosted = map[string]catalog.Paid{
	"googleSearch": catalog.PaidWebSearch, "googleSearchRetrieval": catalog.PaidWebSearch, "enterpriseWebSearch": catalog.PaidWebSearch,
	"urlContext": catalog.PaidWebFetch, "codeExecution": catalog.PaidCodeExecution,
}

// lent are the tools that read what belongs to the account of the provider's key, or that connect to other servers with it.
var lent = set("fileSearch", "retrieval", "mcpServers", "exaAiSearch", "parallelAiSearch")

func (d *decoder) readTools() {
	if !d.Array() {
		return
	}
	for d.Element() {
		if !d.Object() {
			continue
		}
		for raw, ok := d.Member(); ok; raw, ok = d.Member() {
			d.tool(string(raw))
		}
	}
}

// tool reads one member of a tool: each is a kind of tool.
func (d *decoder) tool(name string) {
	n := &d.req.Needs
	v := d.Skip()
	if rawjson.IsNull(v) {
		return
	}
	if !passedTool[name] {
		d.req.Translate = true
	}
	paid := hosted[name]
	switch {
	case name == "functionDeclarations":
		if len(v) > 2 {
			d.needs(catalog.ParamTools)
			n.PromptTokens += int64(len(v))/bytesPerToken + 1
		}
		return
	case name == "computerUse": // the client carries out what the model asks for
		return
	case lent[name]:
		d.Fail(fault.Invalid, "%s is not supported: it uses stores, servers or credentials of the gateway's own account. Declare a function instead.", d.Path())
		return
	case paid == 0:
		paid = catalog.PaidOtherTool
	}
	n.Paid |= paid
	n.Web = n.Web || paid == catalog.PaidWebSearch
}

func (d *decoder) readContents() {
	if d.Kind() != rawjson.Array {
		d.Skip()
		d.Fail(fault.InvalidPrompt, "contents must be an array.")
		return
	}
	d.Array()
	n := 0
	for d.Element() {
		if n++; n > maxContents {
			d.TooMany(maxContents)
			return
		}
		if d.Kind() != rawjson.Object {
			d.Fail(fault.InvalidPrompt, "%s must be an object with parts.", d.Path())
			return
		}
		at := d.Pos()
		v := d.Skip()
		d.req.Needs.PromptTokens += tokensPerContent
		d.parts(place("contents", n-1), rawjson.Find(v, "parts"))
		if n == 1 {
			d.req.Opening[1] = opened(at, v)
		}
		d.req.Prefill = rawjson.TextAt(v, "role") == "model"
	}
	d.contents = n > 0
}

func place(list string, at int) string { return list + "[" + strconv.Itoa(at) + "]" }

// opened is the first text of a content that stands at an offset of the body.
func opened(at int, content []byte) (span completion.Span) {
	for m := rawjson.MembersOf(content); m.Next(); {
		if string(m.Name) != "parts" {
			continue
		}
		for e := rawjson.ElementsOf(m.Value); e.Next(); {
			for p := rawjson.MembersOf(e.Value); p.Next(); {
				if string(p.Name) == "text" {
					start := at + m.At + e.At + p.At
					return completion.Span{Start: start, End: start + len(p.Value)}
				}
			}
		}
	}
	return span
}

// parts estimates the tokens of parts and records their kinds.
func (d *decoder) parts(path string, list []byte) {
	n := &d.req.Needs
	at := 0
	for e := rawjson.ElementsOf(list); e.Next(); at++ {
		for m := rawjson.MembersOf(e.Value); m.Next(); {
			switch string(m.Name) {
			case "inlineData":
				d.medium(rawjson.TextAt(m.Value, "mimeType"), max(len(rawjson.Find(m.Value, "data"))-2, 1))
			case "fileData":
				d.medium(rawjson.TextAt(m.Value, "mimeType"), 0)
				d.address(path, at, rawjson.Find(m.Value, "fileUri"))
			case "thoughtSignature":
				d.signature(rawjson.Text(m.Value))
			case "thought":
				d.req.HasRoles |= completion.HasReasoning
			case "functionResponse":
				n.PromptTokens += int64(len(rawjson.Find(m.Value, "response")))/bytesPerToken + tokensPerContent
				d.parts(place(path+".parts", at)+".functionResponse", rawjson.Find(m.Value, "parts"))
			default:
				n.PromptTokens += int64(len(m.Value))/bytesPerToken + 1
			}
		}
	}
}

// address refuses what the provider would read with the gateway's key.
func (d *decoder) address(path string, at int, v []byte) {
	if address := rawjson.Text(v); address != "" && completion.PrivateFile(address) {
		d.FailAt(fault.InvalidPrompt, place(path+".parts", at)+".fileData.fileUri",
			"fileUri must be an http or https address that everybody may read: uploaded files and buckets belong to the account of the provider's key. Send the file in inlineData.")
	}
}

// medium adds a file of the prompt. Its size is 0 where it is given by address.
func (d *decoder) medium(mime string, size int) {
	n := &d.req.Needs
	switch kind := kindOf(mime); kind {
	case mediatype.Image:
		n.Input |= catalog.Image
		wire.TakeImage(n, wire.FullImage)
	case mediatype.Audio:
		n.Input |= catalog.Audio
		wire.TakeAudio(n, mediatype.Name(mediatype.Audio, mime), size)
		n.Open = n.Open || size == 0
	case mediatype.Video:
		n.Input |= catalog.Video
		wire.TakeVideo(n, size)
	default:
		if size > 0 && isText(mime) {
			n.PromptTokens += int64(size)/bytesPerToken + 1
			return
		}
		n.Input |= catalog.File
		n.Readable = true
		wire.TakeFile(n, size)
	}
}

// kindOf is what a media type is for. An address without a type is an image, as in most requests, or a video of a video site, which has no
// other form.
func kindOf(mime string) mediatype.Kind {
	kind, _, _ := strings.Cut(mediatype.Plain(mime), "/")
	switch kind {
	case "image", "":
		return mediatype.Image
	case "audio":
		return mediatype.Audio
	case "video":
		return mediatype.Video
	}
	return mediatype.Document
}

func isText(mime string) bool { return strings.HasPrefix(mediatype.Plain(mime), "text/") }

// signature records the newest signature of a provider. One that another wire's reasoning is packed in must not reach a provider of this wire.
func (d *decoder) signature(s string) {
	if s == "" {
		return
	}
	d.req.HasRoles |= completion.HasReasoning
	if list, packed := unseal(s); packed {
		d.req.Translate = true
		if known := list[len(list)-1]; known.Signature+known.Data != "" {
			d.req.Signature = known.Signature + known.Data
		}
		return
	}
	d.req.Signature = s
}
