package routing

import (
	"math"
	"math/big"
	"strings"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Filter is a reason to drop a candidate. The numbers are the order in which hard filters ask: the first that refuses gives its name.
type Filter uint8

// The filters. Hard ones come first; the soft ones only choose among the candidates that the hard ones left.
const (
	Kept Filter = iota
	AllowedModels
	Only
	Ignore
	ZDR
	DataCollection
	Quantizations
	MaxPriceFilter
	ContextLength
	MaxCompletionTokens
	InputModalities
	OutputModalities
	TokenizerFilter
	NFilter
	RequireParameters
	VariantFilter
	TierFilter
	WebFilter
	UnpricedFilter // something of the request would be charged for by the provider, and has no price here
	OutOfService   // by an operator; all others have let it pass
	softTools
	softResponseFormat
	softStructuredOutputs
	softVerbosity
	softWire
	AllowFallbacks // allow_fallbacks is false, and other candidates came first
	Duplicate      // already in the plan for an earlier model of the list
	OwnKeysFilter  // the model is called with the caller's own keys alone
	filters
)

var filterNames = [filters]string{
	Kept: "", OutOfService: "out_of_service", AllowedModels: "allowed_models", Only: "only", Ignore: "ignore", ZDR: "zdr", DataCollection: "data_collection", Quantizations: "quantizations",
	MaxPriceFilter: "max_price", ContextLength: "context_length", MaxCompletionTokens: "max_completion_tokens",
	InputModalities: "input_modalities", OutputModalities: "output_modalities", TokenizerFilter: "tokenizer", NFilter: "n", RequireParameters: "require_parameters",
	VariantFilter: "variant", TierFilter: "tier", WebFilter: "web", UnpricedFilter: "unpriced", softTools: "tools", softResponseFormat: "response_format",
	softStructuredOutputs: "structured_outputs", softVerbosity: "verbosity", softWire: "wire", AllowFallbacks: "allow_fallbacks", Duplicate: "duplicate",
	OwnKeysFilter: "own_keys",
}

// String is the public name of a filter, as in excluded_by.
func (f Filter) String() string { return filterNames[f] }

// ceilings are MaxPrice in nano-rubles per the unit of the price they bind; -1 is a ceiling that nothing meets.
type ceilings struct {
	prompt, completion, request, image, audio int64
}

const noCeiling = math.MaxInt64

func (m *MaxPrice) ceilings() ceilings {
	if m == nil {
		return ceilings{noCeiling, noCeiling, noCeiling, noCeiling, noCeiling}
	}
	return ceilings{
		prompt: nanoFloor(m.Prompt, 1), completion: nanoFloor(m.Completion, 1), request: nanoFloor(m.Request, 1), image: nanoFloor(m.Image, 1),
		audio: nanoFloor(m.Audio, 1000), // the ceiling is per audio token, the price per 1000
	}
}

// nanoFloor is the largest whole number of nano-rubles that is at most rubles x times; a price of whole nano-rubles is
// within the ceiling exactly when it is at most that.
func nanoFloor(rubles *big.Rat, times int64) int64 {
	if rubles == nil {
		return noCeiling
	}
	if rubles.Sign() < 0 {
		return -1
	}
	n := new(big.Int).Mul(rubles.Num(), big.NewInt(int64(money.Ruble)))
	n.Mul(n, big.NewInt(times)).Quo(n, rubles.Denom())
	if !n.IsInt64() {
		return noCeiling
	}
	return n.Int64()
}

// drop finds the first hard filter that refuses an endpoint.
func (p *planner) drop(ep *catalog.Endpoint, variant catalog.Variant) Filter {
	pref, needs := &p.q.Preferences, &p.q.Needs
	asked := p.asksForTier(ep, variant)
	switch {
	case needs.Batch != (ep.Tier == catalog.BatchTier), needs.Batch && variant == catalog.Free, needs.Endpoint != "" && needs.Endpoint != ep.ID:
		return TierFilter
	case len(pref.Models) > 0 && !allowed(pref.Models, ep.Model, variant):
		return AllowedModels
	case len(pref.Only) > 0 && !namedBy(pref.Only, ep, asked):
		return Only
	case !within(pref.Within, ep):
		return Only
	case len(pref.Ignore) > 0 && namedBy(pref.Ignore, ep, true):
		return Ignore
	case pref.ZDR && (ep.Provider.DataPolicy != catalog.PolicyZero || needs.Batch): // every provider stores its batches until they are fetched
		return ZDR
	case pref.DenyCollection && ep.Provider.DataPolicy != catalog.PolicyZero && ep.Provider.DataPolicy != catalog.PolicyTransient:
		return DataCollection
	case len(pref.Quantizations) > 0 && !quantized(pref.Quantizations, ep.Quantization):
		return Quantizations
	case pref.MaxPrice != nil && !p.ceilings.admit(p.prices(ep)):
		return MaxPriceFilter
	case needs.TooLong(ep) && needs.Room(ep) == 0:
		return ContextLength
	case ep.MaxCompletion > 0 && needs.MaxTokens > ep.MaxCompletion && !needs.Cut:
		return MaxCompletionTokens
	case needs.Input&^ep.Input != 0 && !(needs.Readable && needs.Unread(ep)):
		return InputModalities
	case needs.Output&^ep.Output != 0:
		return OutputModalities
	case needs.Tokenized && !ep.ReadsTokens():
		return TokenizerFilter
	case ep.MaxN > 0 && needs.N > ep.MaxN:
		return NFilter
	case pref.RequireParameters && needs.Params&^ep.Carried() != 0:
		return RequireParameters
	case !variant.ServedBy(ep.Variant):
		return VariantFilter
	case tiered(ep) && !asked && !taggedBy(pref.Order, ep) && !taggedBy(pref.Only, ep):
		return TierFilter
	case (needs.Search || variant == catalog.Online) && ep.Carried()&catalog.ParamWebSearchOptions == 0:
		return WebFilter
	case ep.Own == nil && p.unpriced(ep, variant) != 0: // the owner of the key pays the provider
		return UnpricedFilter
	case p.q.Out != nil && p.q.Out(ep.ID) != InService:
		return OutOfService
	}
	return Kept
}

// unpriced returns the features of the request for which an endpoint would charge but has no price in the catalog.
func (p *planner) unpriced(ep *catalog.Endpoint, variant catalog.Variant) catalog.Paid {
	needs := &p.q.Needs
	paid := needs.Paid
	if needs.Search || variant == catalog.Online {
		paid |= catalog.PaidWebSearch
	}
	if paid == 0 {
		return 0
	}
	if !needs.Search && variant != catalog.Online && !ep.OffersSearch(needs.Passed) {
		paid &^= catalog.PaidWebSearch // the endpoint does not even get the offer of a search
	}
	paid &^= ep.Pricing.Base.Paid()
	if ep.Tier == "priority" {
		paid &^= catalog.PaidFast
	}
	if ep.Tier == p.tier {
		paid &^= catalog.PaidTier
	}
	if needs.Region != "" && strings.EqualFold(ep.Region, needs.Region) {
		paid &^= catalog.PaidRegion
	}
	return paid
}

// whole drops the candidates of one model that would get a shortened prompt, or the text of its files, if others take the prompt
// unchanged.
func (p *planner) whole(cands []candidate) {
	needs := &p.q.Needs
	if needs.Shrink == ShrinkNone && !needs.Readable {
		return
	}
	some := false
	for i := range cands {
		some = some || cands[i].dropped == Kept && !needs.TooLong(cands[i].ep) && !needs.Unread(cands[i].ep)
	}
	for i := range cands {
		switch c := &cands[i]; {
		case !some || c.dropped != Kept:
		case needs.TooLong(c.ep):
			c.dropped = ContextLength
		case needs.Unread(c.ep):
			c.dropped = InputModalities
		}
	}
}

func (c *ceilings) admit(p *catalog.Prices) bool {
	return p.Prompt.Nano <= c.prompt && p.Completion.Nano <= c.completion && p.Request.Nano <= c.request &&
		p.ImageOutputEach.Nano <= c.image && p.Audio.Nano <= c.audio
}

// prices are those by which the request would be charged, as far as the length of its prompt can be estimated.
func (p *planner) prices(ep *catalog.Endpoint) *catalog.Prices {
	return ep.Pricing.At(p.q.At).For(p.q.Needs.PromptTokens)
}

func tiered(ep *catalog.Endpoint) bool { return ep.Tier != "" && ep.Tier != "default" }

// asksForTier reports whether the request as a whole asks for an endpoint's service tier: by its tier field or by its suffix.
func (p *planner) asksForTier(ep *catalog.Endpoint, v catalog.Variant) bool {
	switch ep.Tier {
	case "flex":
		return p.tier == "flex" || v == catalog.Floor
	case "priority":
		return p.tier == "priority" || v == catalog.Nitro
	case catalog.BatchTier:
		return p.q.Needs.Batch
	}
	return true
}

// namedBy reports whether any entry names the endpoint. A provider's id or display name means all its endpoints, those of a
// service tier only when withTiers is set; a full tag means that endpoint alone. Case does not count.
func namedBy(entries []string, ep *catalog.Endpoint, withTiers bool) bool {
	for _, e := range entries {
		if names(e, ep, withTiers) {
			return true
		}
	}
	return false
}

// within reports whether each of the lists names the endpoint.
func within(lists [][]string, ep *catalog.Endpoint) bool {
	for _, entries := range lists {
		if !namedBy(entries, ep, true) {
			return false
		}
	}
	return true
}

func names(entry string, ep *catalog.Endpoint, withTiers bool) bool {
	if strings.EqualFold(entry, ep.Tag) {
		return true
	}
	base := strings.EqualFold(entry, ep.Provider.ID) || strings.EqualFold(entry, ep.Provider.Name)
	return base && (withTiers || !tiered(ep))
}

func taggedBy(entries []string, ep *catalog.Endpoint) bool {
	for _, e := range entries {
		if strings.EqualFold(e, ep.Tag) {
			return true
		}
	}
	return false
}

// quantized matches an endpoint's level: fp4 and fp8 mean their microscaling kinds too, and no datum is "unknown".
func quantized(allowed []string, level string) bool {
	if level == "" {
		level = "unknown"
	}
	for _, a := range allowed {
		switch {
		case a == level, a == "fp4" && (level == "mxfp4" || level == "nvfp4"), a == "fp8" && level == "mxfp8":
			return true
		}
	}
	return false
}

// soft are the filters that apply only where some endpoint of the model passes them.
var soft = [...]struct {
	filter Filter
	param  catalog.Params
}{
	{softTools, catalog.ParamTools},
	{softResponseFormat, catalog.ParamResponseFormat},
	{softStructuredOutputs, catalog.ParamStructuredOutputs},
	{softVerbosity, catalog.ParamVerbosity},
}

const softParams = catalog.ParamTools | catalog.ParamResponseFormat | catalog.ParamStructuredOutputs | catalog.ParamVerbosity

// soften applies the soft filters to one model's candidates.
func (p *planner) soften(cands []candidate) {
	if w := p.q.Needs.Wire; w != "" {
		prefer(cands, softWire, func(ep *catalog.Endpoint) bool { return ep.Provider.Dialect == w })
	}
	if p.q.Needs.Params&softParams == 0 {
		return
	}
	for _, s := range soft {
		if p.q.Needs.Params&s.param != 0 {
			prefer(cands, s.filter, func(ep *catalog.Endpoint) bool { return ep.Carried()&s.param != 0 })
		}
	}
}

// prefer drops the endpoints of a model that do not pass a soft filter, when some do.
func prefer(cands []candidate, f Filter, passes func(*catalog.Endpoint) bool) {
	some := false
	for i := range cands {
		some = some || cands[i].dropped == Kept && passes(cands[i].ep)
	}
	for i := range cands {
		if some && cands[i].dropped == Kept && !passes(cands[i].ep) {
			cands[i].dropped = f
		}
	}
}

// flexOnly drops the dearer tiers of a model when the request asked for flex and some flex endpoint is left.
func flexOnly(cands []candidate) {
	some := false
	for i := range cands {
		some = some || cands[i].dropped == Kept && cands[i].ep.Tier == "flex"
	}
	for i := range cands {
		if some && cands[i].dropped == Kept && cands[i].ep.Tier != "flex" {
			cands[i].dropped = TierFilter
		}
	}
}
