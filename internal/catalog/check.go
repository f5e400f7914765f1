package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/money"
)

// The words that declarations may hold.
var (
	types         = []string{TypeChat, TypeEmbedding, TypeModeration, TypeTranscription, TypeImage, TypeVideo, TypeSpeech, TypeRerank}
	tiers         = []string{"default", "flex", "priority", BatchTier}
	variants      = []string{"standard", "free", "thinking", "extended"}
	policies      = []DataPolicy{PolicyZero, PolicyTransient, PolicyRetained, PolicyTraining, PolicyUnknown}
	quantizations = []string{"int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16", "fp32", "unknown"}
	components    = []string{"text_input", "image_input", "image_output", "text_output"}
	imageUnits    = []string{UnitTokens, UnitImage, UnitMegapixel}
	bases         = []string{BasisSupplier, BasisFixed}
	frames        = []string{"first_frame", "last_frame"}

	imageResolutions  = []string{"512", "1k", "2k", "4k"}
	reasoningRequests = []string{"effort", "object", "enable_thinking", "thinking", "adaptive", "none"}
)

// UsualDialect is the wire that most providers have.
const UsualDialect = "openai"

// wireFacts are what routing and money must know of a wire.
type wireFacts struct {
	name     string
	searches bool // a web search that a request on another wire merely offers is sent to the provider
	alone    bool // a web search of its own clients is left out for providers on other wires
	tokens   bool // takes a prompt that the client has cut into tokens of its maker's models
	budgets  bool // models reason only when they are asked to, and keep to the budget of the request
}

// wires are the wires that providers may have: the one list of their names. Package app gives each an implementation.
var wires = []wireFacts{{name: UsualDialect, tokens: true}, {name: "anthropic", searches: true, alone: true, budgets: true}, {name: "gemini", searches: true}, {name: responsesDialect, searches: true, alone: true},
	{name: "bedrock", budgets: true}, {name: "gigachat"}, {name: "cohere"}, {name: "voyage"}, {name: "yandex"}, {name: "fal"}, {name: "bfl"}, {name: "runway"},
	{name: "kling"}, {name: "minimax"}, {name: "luma"}, {name: "deepgram"}, {name: "elevenlabs"}}

const responsesDialect = "responses"

// Dialects lists the wires that a provider may be declared with, the usual one first.
func Dialects() []string {
	names := make([]string, len(wires))
	for i := range wires {
		names[i] = wires[i].name
	}
	return names
}

func factsOf(wire string) (f wireFacts) {
	if i := slices.IndexFunc(wires, func(f wireFacts) bool { return f.name == wire }); i >= 0 {
		f = wires[i]
	}
	return f
}

// OffersSearch reports whether an endpoint would see a web search that a request offers the model. On the client's own wire, passed, it always does;
// where a request is translated, some wires leave it out.
func (ep *Endpoint) OffersSearch(passed string) bool {
	p := ep.Provider
	if factsOf(passed).alone {
		return p.Dialect == passed || passed == responsesDialect && p.Quirks.Responses
	}
	return factsOf(p.Dialect).searches || ep.Params&ParamWebSearchOptions != 0
}

// BudgetsReasoning reports whether models of the provider reason only when they are asked to, and keep to a budget.
func (p *Provider) BudgetsReasoning() bool { return factsOf(p.Dialect).budgets }

// ReadsTokens reports whether an endpoint has the tokenizer with which the client made the tokens of its prompt: OpenAI's, because clients
// tokenize for OpenAI's models unasked, or the model's own on servers that take it.
func (ep *Endpoint) ReadsTokens() bool {
	return ep.Model.Vendor == "openai" && factsOf(ep.Provider.Dialect).tokens || ep.Provider.Quirks.TokenInput
}

// Types lists the types of models.
func Types() []string { return slices.Clone(types) }

// oneOf refuses a word that is not in the list; "" means that it is missing, and passes.
func (b *builder) oneOf(where, what, word string, known []string) {
	if word != "" && !slices.Contains(known, word) {
		b.fail(where, "the %s %q is not one of %s", what, word, strings.Join(known, ", "))
	}
}

func (b *builder) checkQuirks(where string, q *Quirks) {
	b.oneOf(where, "max_tokens_field", q.MaxTokensField, []string{"max_tokens", "max_completion_tokens"})
	b.oneOf(where, "reasoning_request", q.ReasoningRequest, reasoningRequests)
	b.oneOf(where, "reasoning_reply", q.ReasoningReply, []string{"reasoning_content", "reasoning", "none"})
	b.oneOf(where, "reasoning_count", q.ReasoningCount, []string{"inside", "outside", "total"})
	b.oneOf(where, "images_wire", q.ImagesWire, []string{"openrouter", "chat"})
	b.oneOf(where, "videos_wire", q.VideosWire, []string{"openrouter"})
	if q.VideoBucket != "" && !strings.HasPrefix(q.VideoBucket, "gs://") {
		b.fail(where, "the video_bucket must begin with gs://")
	}
	for _, x := range [...]struct {
		name    string
		seconds int
	}{{"audio_step", q.AudioStep}, {"audio_least", q.AudioLeast}} {
		if x.seconds < 0 || x.seconds > 3600 {
			b.fail(where, "%s is %d, but must be 0 to 3600 seconds", x.name, x.seconds)
		}
	}
	if q.CostDigits < 0 || q.CostDigits > 18 {
		b.fail(where, "cost_digits is %d, but must be 0 to 18", q.CostDigits)
	}
	if q.MaxInputs < 0 || q.MaxInputTokens < 0 {
		b.fail(where, "max_inputs and max_input_tokens must not be negative")
	}
	if !headerWord(q.AuthHeader) {
		b.fail(where, "the auth_header %q is not a valid header name", q.AuthHeader)
	}
	if !headerWord(q.AuthScheme) {
		b.fail(where, "the auth_scheme %q must be one word without special characters", q.AuthScheme)
	}
}

// headerWord reports whether s can be a header's name; nothing can.
func headerWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func (b *builder) checkModel(where string, info *ModelInfo) {
	if info.ContextLength < 0 {
		b.fail(where, "its context length is negative")
	}
	b.oneOf(where, "type", info.Type, types)
	if info.Video == nil {
		return
	}
	if info.Type != TypeVideo {
		b.fail(where, "it has video settings, but its type is not %s", TypeVideo)
	}
	b.checkVideo(where, info.Video)
}

func (b *builder) checkVideo(where string, v *VideoFacts) {
	for _, size := range v.Sizes {
		if !pairOf(size, "x") {
			b.fail(where, "the video size %q is not written like 1280x720", size)
		}
	}
	for _, ratio := range v.AspectRatios {
		if !pairOf(ratio, ":") {
			b.fail(where, "the aspect ratio %q is not written like 16:9", ratio)
		}
	}
	for _, seconds := range v.Durations {
		if seconds <= 0 {
			b.fail(where, "a video cannot last %d seconds", seconds)
		}
	}
	for _, frame := range v.FrameImages {
		b.oneOf(where, "frame image", frame, frames)
	}
	for what, list := range map[string][]string{"resolution": v.Resolutions, "aspect ratio": v.AspectRatios, "size": v.Sizes, "frame image": v.FrameImages, "parameter": v.Passthrough} {
		for i, s := range list {
			if s == "" || slices.Contains(list[:i], s) {
				b.fail(where, "the %s %q of its videos is empty or listed twice", what, s)
			}
		}
	}
}

// pairOf reports whether text is two whole numbers above 0 with the separator between them.
func pairOf(text, separator string) bool {
	x, y, found := strings.Cut(text, separator)
	return found && plainCount(x) && plainCount(y)
}

func plainCount(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0'
}

func (b *builder) checkOffer(what string, o *Offer, ep *Endpoint) {
	if o.Region != "" && !plainPart(o.Region) {
		b.fail(what, "the region %q may hold only letters, digits and -._:@+", o.Region)
	}
	if !slices.Contains(tiers, ep.Tier) {
		b.fail(what, "the tier %q is not one of %s", ep.Tier, strings.Join(tiers, ", "))
	}
	if !slices.Contains(variants, ep.Variant) {
		b.fail(what, "the variant %q is not one of %s", ep.Variant, strings.Join(variants, ", "))
	}
	if ep.Quantization != "" && !slices.Contains(quantizations, ep.Quantization) {
		b.fail(what, "the quantization %q is not one of %s", ep.Quantization, strings.Join(quantizations, ", "))
	}
	if ep.ContextLength < 0 || ep.MaxCompletion < 0 || ep.MaxN < 0 || ep.MaxInFlight < 0 {
		b.fail(what, "a limit is negative")
	}
	if ep.ContextLength > 0 && ep.MaxCompletion > ep.ContextLength {
		b.fail(what, "its max_output of %d tokens is more than its context_length of %d", ep.MaxCompletion, ep.ContextLength)
	}
}

// checkPricing checks an endpoint's prices: that a model of its type can be charged by them, and that each is possible.
func (b *builder) checkPricing(where string, m *Model, p *Pricing) {
	b.checkKind(where, m.Type, p)
	rates := p.Rates.Each()
	if p.Base.negative() || slices.ContainsFunc(rates[:], func(r *money.Price) bool { return r.Nano < 0 }) {
		b.fail(where, "a price is negative")
	}
	b.checkThresholds(where, p.Thresholds)
	b.checkImages(where, p.Images)
	b.checkRules(where, m, p.Video)
}

// checkKind refuses an endpoint that nothing could be charged on, and prices that are never asked for.
func (b *builder) checkKind(where, kind string, p *Pricing) {
	tokens := p.Base.Prompt.Set && p.Base.Completion.Set
	ok, wanted := true, ""
	switch kind {
	case TypeChat:
		ok, wanted = tokens, "prompt and completion"
	case TypeEmbedding:
		ok, wanted = p.Base.Prompt.Set, "prompt"
	case TypeModeration:
		ok, wanted = p.Base.Prompt.Set || p.Base.Request.Set, "prompt or request"
	case TypeTranscription:
		ok, wanted = tokens || p.Minute.Set, "minute, or for prompt and completion"
	case TypeImage:
		ok = len(p.Images) > 0 || p.Base.ImageOutputEach.Set || p.Base.Prompt.Set && (p.Base.ImageOutput.Set || p.Base.Completion.Set)
		wanted = "images, image_output_each, or for prompt and image_output"
	case TypeVideo:
		ok, wanted = len(p.Video) > 0, "video"
	case TypeSpeech:
		ok = p.Characters.Set || p.Base.Prompt.Set && (p.Base.AudioOutput.Set || p.Base.Completion.Set)
		wanted = "characters, or for prompt and audio_output"
	case TypeRerank:
		ok, wanted = p.Base.Request.Set || p.Base.Prompt.Set, "request or prompt"
	}
	if !ok {
		of := ""
		if kind != TypeChat {
			of = " of type " + kind
		}
		b.fail(where, "it has no price for %s, by which a model%s is charged; write \"0\" if it is free", wanted, of)
	}
	only := func(set bool, price, of string) {
		if set && kind != of {
			b.fail(where, "it has a price for %s, which only models of type %s are charged by, and this one is of type %s; its type is declared in models", price, of, kind)
		}
	}
	for i, kind := range NamedRates() {
		only(p.Rates.Each()[i].Set, kind.Name, kind.Type)
	}
	only(len(p.Images) > 0, "images", TypeImage)
	only(len(p.Video) > 0, "video", TypeVideo)
}

func (b *builder) checkThresholds(where string, thresholds []Threshold) {
	last := int64(0)
	for _, t := range thresholds {
		if t.Above <= last {
			b.fail(where, "thresholds must be above 0 and ascend, but %d follows %d", t.Above, last)
		}
		if t.Prices.negative() {
			b.fail(where, "a price above %d prompt tokens is negative", t.Above)
		}
		if t.Prices == (Prices{}) {
			b.fail(where, "the threshold of %d prompt tokens changes no price", t.Above)
		}
		last = t.Above
	}
}

func (b *builder) checkImages(where string, list []ImagePrice) {
	seen := map[ImagePrice]bool{}
	for _, x := range list {
		line := fmt.Sprintf("images: %s %s %s", x.Component, x.Variant, x.Resolution)
		if x.Component == "" || x.Unit == "" {
			b.fail(where, "a line of images has no component or no unit")
		}
		b.oneOf(where, "component", x.Component, components)
		b.oneOf(where, "unit", x.Unit, imageUnits)
		b.oneOf(where, "basis", x.Basis, bases)
		b.checkSet(where, line, x.Price)
		x.Price, x.Unit, x.Basis = money.Price{}, "", ""
		if seen[x] {
			b.fail(where, "%s is priced twice", line)
		}
		seen[x] = true
	}
}

func (b *builder) checkSet(where, what string, p money.Price) {
	if !p.Set || p.Nano < 0 {
		b.fail(where, "%s has no price, or a negative one", what)
	}
}

// checkRules checks the prices of video: that each rule can be reached, and that no resolution is without one.
func (b *builder) checkRules(where string, m *Model, rules []VideoRule) {
	for i, r := range rules {
		line := fmt.Sprintf("video: %s, with_audio %t", r.Resolution, r.WithAudio)
		b.checkSet(where, line, r.PerSecond)
		if slices.ContainsFunc(rules[:i], func(q VideoRule) bool {
			return q.WithAudio == r.WithAudio && (q.Resolution == "" || q.Resolution == r.Resolution)
		}) {
			b.fail(where, "%s never applies, because an earlier rule covers it", line)
		}
	}
	if m.Video == nil || len(rules) == 0 {
		return
	}
	for _, resolution := range m.Video.Resolutions {
		prices := func(r VideoRule) bool { return r.Resolution == "" || r.Resolution == resolution }
		switch {
		case !slices.ContainsFunc(rules, prices):
			b.fail(where, "no video rule prices %s, which the model offers", resolution)
		case !m.Video.Audio && !slices.ContainsFunc(rules, func(r VideoRule) bool { return prices(r) && !r.WithAudio }):
			b.fail(where, "no video rule without audio prices %s, and the model has no sound: write one with_audio: false, or say that it has sound", resolution)
		}
	}
}

func (p Prices) negative() bool {
	for _, f := range p.All() {
		if f.Nano < 0 {
			return true
		}
	}
	return false
}
