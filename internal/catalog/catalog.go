// Package catalog has the models that can be called and their prices: vendors' models, the providers that serve them, and the endpoints,
// each of which is one model at one provider. A Snapshot is immutable; a call keeps the one with which it was admitted.
package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
	"weir/internal/outbound"
)

// Threshold replaces prices for a whole request whose prompt has strictly more than Above tokens.
// Prices not set in it are inherited from the base.
type Threshold struct {
	Above  int64
	Prices Prices
}

// The purpose of an image price, and its origin.
const (
	UnitTokens    = "tokens_1k"
	UnitImage     = "image"
	UnitMegapixel = "megapixel"
	UnitSecond    = "second"

	BasisSupplier = "supplier_rate"
	BasisFixed    = "fixed"
)

// ImagePrice is one line of an image model's price list. Empty Variant and Resolution match any.
type ImagePrice struct {
	Component  string      // "text_input", "image_input", "image_output", "text_output"
	Unit       string      // one of the Unit constants
	Variant    string      // quality: "low", "medium", "high"; ""
	Resolution string      // "1K", "1024x1024"; ""
	Price      money.Price // per Unit
	Basis      string      // one of the Basis constants
}

// VideoRule is the price of a second of video. The first rule whose resolution and audio match applies.
type VideoRule struct {
	Resolution string // "720p"; "": any
	WithAudio  bool
	PerSecond  money.Price
}

// Pricing is everything needed to charge a call on one endpoint.
type Pricing struct {
	Base       Prices
	Thresholds []Threshold // ascending by Above
	Hours      []Hours     // the first that fits counts
	Rates
	Images []ImagePrice // of image models
	Video  []VideoRule  // of video models
	List   string       // version of the price list that Base came from
	Rate   string       // version of the dollar rate and margin used, "" when priced in rubles
	Source string       // the source's own price, decimal text as written, for audit
}

// Free reports whether nothing that is asked by text or with a recording has a price.
func (p *Pricing) Free() bool {
	if p.RatesSum() != 0 || len(p.Images) > 0 || len(p.Video) > 0 || !p.Base.zero() {
		return false
	}
	for i := range p.Thresholds {
		if !p.Thresholds[i].Prices.zero() {
			return false
		}
	}
	for i := range p.Hours {
		if !p.Hours[i].Prices.zero() {
			return false
		}
	}
	return true
}

func (p Prices) zero() bool {
	for _, f := range p.All() {
		if f.Nano != 0 {
			return false
		}
	}
	return true
}

// For returns the prices of a request with that many prompt tokens: the highest threshold passed wins. They must not be changed.
func (p *Pricing) For(promptTokens int64) *Prices {
	prices := &p.Base
	for i := range p.Thresholds {
		if t := &p.Thresholds[i]; promptTokens > t.Above {
			prices = p.Base.overriddenBy(&t.Prices)
		}
	}
	return prices
}

// SourceFor is the source of the prices of a request with that many prompt tokens: Source, and the threshold that was passed.
func (p *Pricing) SourceFor(promptTokens int64) string {
	for i := len(p.Thresholds) - 1; i >= 0; i-- {
		if above := p.Thresholds[i].Above; promptTokens > above {
			return p.Source + "; charged by the prices of prompts above " + strconv.FormatInt(above, 10) + " tokens"
		}
	}
	return p.Source
}

// Dearest is p with the highest of each price that may apply to a request with up to that many prompt tokens at any hour: no such request
// is charged more. It is p itself where one price applies to all.
func (p *Pricing) Dearest(promptTokens int64) *Pricing {
	if len(p.Hours) == 0 && (len(p.Thresholds) == 0 || promptTokens <= p.Thresholds[0].Above) {
		return p
	}
	most := *p
	most.Thresholds, most.Hours = nil, nil
	for i := range p.Thresholds {
		if t := &p.Thresholds[i]; promptTokens > t.Above {
			most.Base.raise(&t.Prices)
		}
	}
	for i := range p.Hours {
		most.Base.raise(&p.Hours[i].Prices)
	}
	return &most
}

// raise sets each price to that of o, where that is higher.
func (p *Prices) raise(o *Prices) {
	to, from := p.All(), o.All()
	for i := range to {
		if from[i].Set && (!to[i].Set || from[i].Nano > to[i].Nano) {
			*to[i] = *from[i]
		}
	}
}

func (p *Prices) overriddenBy(o *Prices) *Prices {
	out := *p
	to, from := out.All(), o.All()
	for i := range to {
		if from[i].Set {
			*to[i] = *from[i]
		}
	}
	return &out
}

// DataPolicy is how a provider may use prompts.
type DataPolicy string

// The data policies, strictest first (completions of the specification, providers of a model).
const (
	PolicyZero      DataPolicy = "zero"      // keeps nothing
	PolicyTransient DataPolicy = "transient" // abuse checks only, deleted within 30 days, no training
	PolicyRetained  DataPolicy = "retained"
	PolicyTraining  DataPolicy = "training"
	PolicyUnknown   DataPolicy = "unknown"
)

// Modality is a kind of content, as a bit.
type Modality uint8

// The modalities.
const (
	Text Modality = 1 << iota
	Image
	Audio
	File
	Video

	AllModalities = Text | Image | Audio | File | Video
)

// Quirks are the ways in which an OpenAI-compatible server differs from OpenAI. They are data: a new provider needs a
// declaration, not code. The zero value is a server that follows the OpenAI document.
type Quirks struct {
	MaxTokensField   string            `yaml:"max_tokens_field"`   // "max_tokens" or "max_completion_tokens"; "": as the client wrote it
	ReasoningRequest string            `yaml:"reasoning_request"`  // "effort" (default), "object", "enable_thinking", "thinking", "adaptive", "none"
	ReasoningReply   string            `yaml:"reasoning_reply"`    // spelling sent back on assistant messages: "reasoning_content" (default), "reasoning", "none"
	SystemRole       bool              `yaml:"system_role"`        // has no developer role: send it as system
	StringToolResult bool              `yaml:"string_tool_result"` // takes tool results only as strings
	NoStreamOptions  bool              `yaml:"no_stream_options"`  // refuses stream_options
	CacheControl     bool              `yaml:"cache_control"`      // understands cache_control markers; else they are removed
	ThoughtSignature bool              `yaml:"thought_signature"`  // accepts and returns thought signatures in extra_content.google
	ThinkTags        bool              `yaml:"think_tags"`         // writes reasoning into content between <think> tags
	CostField        string            `yaml:"cost_field"`         // where the reply reports its dollar cost, such as "usage.cost"
	CostDigits       int               `yaml:"cost_digits"`        // decimal places by which CostField is shifted: 10 for xAI's ticks of 10^-10 dollars
	ReasoningCount   string            `yaml:"reasoning_count"`    // where reasoning is counted: "inside" completion_tokens, "outside" them, in the "total" alone (Google); "": shown by the sums
	CachedField      string            `yaml:"cached_field"`       // where cached tokens are reported when not in prompt_tokens_details, such as "usage.prompt_cache_hit_tokens"
	Drop             []string          `yaml:"drop"`               // top-level request fields that it refuses
	Rename           map[string]string `yaml:"rename"`             // top-level request fields under other names
	ForwardExtra     []string          `yaml:"forward_extra"`      // gateway fields it understands itself (provider, plugins, ...)
	Responses        bool              `yaml:"responses"`          // also has the responses wire, at the base URL's /responses: clients of that style are served by it
	ImagesWire       string            `yaml:"images_wire"`        // how it makes images: "" as OpenAI does, "openrouter" by one route /images, "chat" in conversations
	VideosWire       string            `yaml:"videos_wire"`        // how it makes videos: "" as OpenAI does, "openrouter" in the words of OpenRouter
	VideoBucket      string            `yaml:"video_bucket"`       // where it puts videos that would be too large for an answer: "gs://bucket/folder/" on Vertex; "": into answers
	AuthHeader       string            `yaml:"auth_header"`        // header that carries the key; "": Authorization
	AuthScheme       string            `yaml:"auth_scheme"`        // word before the key; "": Bearer in Authorization, none in another header
	AuthURL          string            `yaml:"auth_url"`           // where a credential is exchanged for tokens; "": where the key file says, or the usual address
	AuthScope        string            `yaml:"auth_scope"`         // what tokens are asked for; "": the usual scope
	Region           string            `yaml:"region"`             // that signatures are for; "": as the address says
	MaxInputs        int               `yaml:"max_inputs"`         // inputs of one embeddings call; 0: the wire's own limit
	MaxInputTokens   int               `yaml:"max_input_tokens"`   // tokens of all of them; 0: the wire's own limit
	ReasoningInSight bool              `yaml:"reasoning_in_sight"` // streams all reasoning of a model as text, so that the cost of a call shows while it arrives
	AudioStep        int               `yaml:"audio_step"`         // seconds: recordings priced by the minute are billed in whole steps; 0: to the millisecond
	AudioLeast       int               `yaml:"audio_least"`        // seconds: the least that such a recording is billed as
	TokenInput       bool              `yaml:"token_input"`        // embeds tokens as well as texts, with each model's own tokenizer
}

// BilledAudio is what a recording of so many milliseconds is billed as where its price is by the minute.
func (q *Quirks) BilledAudio(millis int64) int64 {
	if millis <= 0 {
		return millis
	}
	millis = max(millis, int64(q.AudioLeast)*1000)
	if step := int64(q.AudioStep) * 1000; step > 0 && millis%step > 0 && millis <= math.MaxInt64-step {
		millis += step - millis%step
	}
	return millis
}

// Provider serves models. Its address and key never reach a client or a log.
type Provider struct {
	ID         string   // slug used in provider preferences, such as "deepinfra"
	Name       string   // display name
	Dialect    string   // wire, such as "openai"
	BaseURL    string   // without trailing slash; the dialect adds its path
	Key        string   // credential; "" sends none
	Keys       []string // further credentials, used when the provider refuses the ones before them
	Draining   []string // credentials that get no new calls; what was begun with one is still asked for with it
	Kept       bool     // the database keeps the credentials: others may come beside them
	Headers    map[string]string
	Proxy      outbound.Proxy // the way to it; not set: that of the whole gateway
	CA         string         // certificate authorities in PEM, trusted in addition to the system's; "" none
	DataPolicy DataPolicy
	Quirks     Quirks
	Facts      Facts           // of all its models
	Like       string          // the known server that it is declared to be like, for facts of families; ""
	Simulated  bool            // the built-in simulator
	Wires      map[string]Wire // by model type, for those that are served over another wire or at another address

	OwnKey string    // id of the caller's own key that Key is; "": the credentials are the operator's
	Of     *Provider // with an OwnKey, the provider of the catalog; else nil

	wire string // distinguishes this wire of the provider from its others; "" is the main one
}

// Wire is how a provider serves models of one type. Empty fields are as for its other models.
type Wire struct {
	Dialect string
	BaseURL string
}

// Wire names the provider together with the wire that its models of a type are served over: no two differ in address or dialect under one name.
func (p *Provider) Wire() string {
	if p.wire != "" {
		return p.wire
	}
	return p.ID
}

// KeyTag identifies a credential without revealing it.
func KeyTag(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

// IsKeyTag reports whether a text has the form of a KeyTag.
func IsKeyTag(tag string) bool {
	raw, err := hex.DecodeString(tag)
	return err == nil && len(raw) == 6 && tag == strings.ToLower(tag)
}

// keyMark separates the tag of a credential from the provider's id of what was begun with it.
const keyMark = "\x1f"

// Tagged is a provider's id of a video job or a batch, with the tag of the credential that began it: only the account of that knows it.
func Tagged(tag, id string) string { return tag + keyMark + id }

// Untagged is the reverse of Tagged. The tag of an id without one is "".
func Untagged(id string) (tag, plain string) {
	if tag, plain, found := strings.Cut(id, keyMark); found {
		return tag, plain
	}
	return "", id
}

// Streams reports whether the provider sends an answer in pieces: models of conversations do, and on OpenAI's wire the transcribers after Whisper.
func (ep *Endpoint) Streams() bool {
	switch ep.Model.Type {
	case TypeChat:
		return true
	case TypeTranscription:
		return ep.Provider.Dialect == UsualDialect && !strings.Contains(ep.MakersID(), "whisper")
	}
	return false
}

// unknownTo are the parameters that a wire does not have. A test compares them with what its dialect writes.
var unknownTo = map[string]Params{
	"anthropic": claudes,
	"bedrock":   claudes | ParamParallelToolCalls | ParamWebSearchOptions | ParamVerbosity,
	"gemini":    ParamMinP | ParamTopA | ParamRepetitionPenalty | ParamLogitBias | ParamPrediction | ParamVerbosity,
	"gigachat": ParamTopK | ParamMinP | ParamTopA | ParamFrequencyPenalty | ParamPresencePenalty | ParamLogitBias | ParamLogprobs | ParamTopLogprobs | ParamPrediction | ParamSeed |
		ParamStop | ParamWebSearchOptions | ParamVerbosity,
	"responses": ParamTopK | ParamMinP | ParamTopA | ParamFrequencyPenalty | ParamPresencePenalty | ParamRepetitionPenalty | ParamLogitBias | ParamPrediction | ParamSeed | ParamStop,
}

const claudes = ParamMinP | ParamTopA | ParamFrequencyPenalty | ParamPresencePenalty | ParamRepetitionPenalty | ParamLogitBias | ParamLogprobs | ParamTopLogprobs | ParamPrediction | ParamSeed

// Carried are the parameters of the endpoint that its wire carries.
func (ep *Endpoint) Carried() Params { return ep.Params &^ unknownTo[ep.Provider.Dialect] }

// Endpoint is one provider's offer of one model.
type Endpoint struct {
	ID            string // stable: "provider/model-slug[/tag...]"
	Tag           string // "provider[/region-or-variant][/tier]", as used in provider preferences
	Provider      *Provider
	Model         *Model
	UpstreamID    string // the provider's id of the model
	UpstreamModel string // the maker's name of it, as declared for an id of the operator's own; "": see MakersID
	Pricing       Pricing
	Quantization  string // "" unknown
	ContextLength int64  // tokens; 0 unknown
	MaxCompletion int64  // tokens; 0 unknown
	Params        Params // request parameters it understands; AllParams when not declared
	Facts         Facts  // how it takes them
	Input         Modality
	Output        Modality
	Tier          string // "default", "flex", "priority", BatchTier
	Region        string // where it works, as its declaration says; "" anywhere
	Variant       string // "standard", "free", "thinking", "extended"
	MaxN          int    // largest n it serves in one request; 0: any
	MaxInFlight   int64  // attempts at a time on one node; 0: the node's default
	Place         int64  // the operator's: lower ones come first; 0: after those that have one
	Weight        int64  // the operator's: share of the first attempts among those of its place; 0: none
	ImplicitCache bool
	Retires       time.Time // day from which the provider does not serve it; zero: none is known
	UpdatedAt     time.Time // of its prices, as far as anybody noted that
	Own           *Own      // set where the caller's own key is used; nil in a catalog
}

// MakersID is the name by which a dialect recognises a model and knows its parameters: the provider's id, unless the endpoint declares
// another. At some providers, operators name their deployments themselves.
func (ep *Endpoint) MakersID() string { return cmp.Or(ep.UpstreamModel, ep.UpstreamID) }

// VideoFacts are the parameters that a video model accepts. Lists are sorted as a person would read them.
type VideoFacts struct {
	Resolutions  []string // "720p", "1080p"
	AspectRatios []string // "16:9"
	Sizes        []string // "1280x720"
	Durations    []int    // seconds
	FrameImages  []string // "first_frame", "last_frame"
	Passthrough  []string // provider parameters that a client may set
	Audio        bool     // it can make audio
	Seed         bool     // it takes a seed
}

// Model is a model as clients name it.
type Model struct {
	ID            string // stable internal id, "mdl_..."
	Slug          string // "vendor/model"
	Name          string
	Vendor        string
	Description   string    // as declared; ""
	DescriptionRU string    // the same in Russian; "": none is declared
	Summary       string    // one sentence of its facts, in English
	SummaryRU     string    // the same in Russian
	Type          string    // one of the Type constants
	HubID         string    // its name on the public model hub, "" none
	Created       time.Time // zero: unknown
	KnownSince    time.Time // Created, or a day on which the model existed
	ContextLength int64
	Video         *VideoFacts // of video models, else nil
	Names         []string    // other slugs that it answers to
	Endpoints     []*Endpoint
}

// Snapshot is the whole catalog at one moment. It is never changed once published.
type Snapshot struct {
	Version    string
	Providers  map[string]*Provider
	PricesAsOf time.Time // day of the built-in price list; zero without built-in models

	models  map[string]*Model
	aliases map[string]*Model    // by other slugs
	retired map[string]time.Time // days on which models that no provider serves any more retired, by slug and by other slugs
	ordered []*Model             // by slug
}
