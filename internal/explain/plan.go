package explain

import (
	"math"
	"math/big"
	"slices"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/relay"
	"weir/internal/routing"
)

// RouteExplanation is where a chat request would go, and why.
type RouteExplanation struct {
	CatalogVersion string           `json:"catalog_version"`
	RateVersion    *string          `json:"rate_version"`
	Models         []string         `json:"models"` // the requested models, in order
	Preferences    RoutePreferences `json:"preferences"`
	Defaults       RouteDefaults    `json:"defaults"`
	Stream         bool             `json:"stream"`
	PromptTokens   int64            `json:"prompt_tokens"` // estimated
	MaxTokens      *int64           `json:"max_tokens"`
	Candidates     []RouteCandidate `json:"candidates"`
	Attempts       []string         `json:"attempts"` // endpoints in the order in which they would be tried
	Error          *operation.Raw   `json:"error" schema:"ErrorObject"`
}

// RoutePreferences is the preferences of a request, merged with those of its key and account.
type RoutePreferences struct {
	Order             []string       `json:"order,omitempty"`
	Only              []string       `json:"only,omitempty"`
	AndOnly           [][]string     `json:"and_only,omitempty"` // further lists, each of which must allow an endpoint
	Ignore            []string       `json:"ignore,omitempty"`
	AllowFallbacks    *bool          `json:"allow_fallbacks,omitzero"`
	RequireParameters bool           `json:"require_parameters,omitzero"`
	DataCollection    string         `json:"data_collection,omitempty"`
	ZDR               bool           `json:"zdr,omitzero"`
	Quantizations     []string       `json:"quantizations,omitempty"`
	Sort              operation.Raw  `json:"sort,omitempty"` // as ProviderPreferences has it
	MaxPrice          *PriceCeilings `json:"max_price,omitzero"`
	MinThroughput     *FigureCutoffs `json:"preferred_min_throughput,omitzero"`
	MaxLatency        *FigureCutoffs `json:"preferred_max_latency,omitzero"`
	Batch             string         `json:"batch,omitempty"`
}

// PriceCeilings is the ceilings of a price in rubles, exact.
type PriceCeilings struct {
	Prompt     string `json:"prompt,omitempty"`
	Completion string `json:"completion,omitempty"`
	Request    string `json:"request,omitempty"`
	Image      string `json:"image,omitempty"`
	Audio      string `json:"audio,omitempty"`
}

// FigureCutoffs is the worst figures that are wished for.
type FigureCutoffs struct {
	P50 *float64 `json:"p50,omitempty"`
	P75 *float64 `json:"p75,omitempty"`
	P90 *float64 `json:"p90,omitempty"`
	P99 *float64 `json:"p99,omitempty"`
}

// RouteDefaults is the defaults of key and account, as they were set.
type RouteDefaults struct {
	Account operation.Raw `json:"account" schema:"DefaultPreferences"`
	Key     operation.Raw `json:"key" schema:"DefaultPreferences"`
}

// RouteCandidate is an endpoint that routing considers.
type RouteCandidate struct {
	Endpoint     string         `json:"endpoint"`
	Tag          string         `json:"tag"` // names it in provider.order, only and ignore
	Provider     string         `json:"provider"`
	ProviderName string         `json:"provider_name"`
	OwnKey       *string        `json:"own_key"`    // id of the own key that it would be called with, for the fee that price shows; null: the gateway's
	Model        string         `json:"model"`      // the requested model
	Order        int            `json:"order"`      // position among the attempts, from 1; 0: not among them
	DroppedBy    *string        `json:"dropped_by"` // name of the filter
	Detail       *string        `json:"detail"`     // why the filter dropped it
	Score        *Score         `json:"score"`
	Price        CandidatePrice `json:"price"`
	Hold         *money.Nano    `json:"hold"` // rubles that an attempt reserves before it begins; null if they exceed the largest amount
	Health       RouteHealth    `json:"health"`
}

// CandidatePrice is rubles, for a prompt of this length.
type CandidatePrice struct {
	Prompt     money.Price `json:"prompt_per_1k"`
	Completion money.Price `json:"completion_per_1k"`
	Request    money.Price `json:"request"`
	List       *string     `json:"list"` // version of the price list
	Rate       *string     `json:"rate"` // version of the dollar rate and margin; null when priced in rubles
}

// RouteHealth is how an endpoint works.
type RouteHealth struct {
	Failing    bool         `json:"failing"`   // it currently fails
	CoolDown   bool         `json:"cool_down"` // it is tried after the others for a while
	Ejected    bool         `json:"ejected"`   // it currently gets no calls
	Latency    *Percentiles `json:"latency_ms"`
	Throughput *Percentiles `json:"throughput_tps"`
}

// Percentiles is null without measurements.
type Percentiles struct {
	P50 *float64 `json:"p50"`
	P75 *float64 `json:"p75"`
	P90 *float64 `json:"p90"`
	P99 *float64 `json:"p99"`
}

// Explain shows a plan. refusal writes the error object of a fault.
func Explain(req *completion.Request, e *relay.Explanation, refusal func(*fault.Error) []byte) operation.Data[RouteExplanation] {
	out := RouteExplanation{
		CatalogVersion: e.Catalog.Version, RateVersion: orNull(rateOf(e)), Models: req.Models, Preferences: preferencesOf(&req.Preferences), Defaults: defaultsOf(e.Defaults), Stream: req.Stream,
		PromptTokens: req.Needs.PromptTokens, Candidates: make([]RouteCandidate, len(e.Candidates)), Attempts: make([]string, len(e.Plan.Attempts)),
	}
	if req.MaxTokens > 0 {
		out.MaxTokens = &req.MaxTokens
	}
	for i := range e.Candidates {
		out.Candidates[i] = candidateOf(&e.Plan.Candidates[i], &e.Candidates[i])
	}
	for i := range e.Plan.Attempts {
		out.Attempts[i] = e.Plan.Attempts[i].Endpoint.ID
	}
	if e.Err != nil {
		raw := operation.Raw(refusal(e.Err))
		out.Error = &raw
	}
	return operation.Data[RouteExplanation]{Data: out}
}

// defaultsOf are the preferences that hold without being asked for, as they were given.
func defaultsOf(d *apikey.Defaults) RouteDefaults {
	if d == nil {
		return RouteDefaults{}
	}
	return RouteDefaults{Account: rawOf(d.Account), Key: rawOf(d.Key)}
}

// rawOf is JSON as it is, null for "".
func rawOf(text string) operation.Raw {
	if text == "" {
		return nil
	}
	return operation.Raw(text)
}

// rateOf is the version of the dollar rate that the candidates' prices were made with, "" when all are in rubles by nature.
func rateOf(e *relay.Explanation) string {
	priced := slices.IndexFunc(e.Plan.Candidates, func(c routing.Candidate) bool { return c.Endpoint.Pricing.Rate != "" })
	if priced < 0 {
		return ""
	}
	return e.Plan.Candidates[priced].Endpoint.Pricing.Rate
}

func candidateOf(c *routing.Candidate, w *relay.Weighed) RouteCandidate {
	ep := c.Endpoint
	out := RouteCandidate{
		Endpoint: ep.ID, Tag: ep.Tag, Provider: ep.Provider.ID, ProviderName: ep.Provider.Name, Model: c.Slug, Order: c.Order, DroppedBy: orNull(c.DroppedBy), Detail: orNull(c.Detail),
		Score: scoreOf(c.Score, c.Reason), Price: priceOf(&w.Prices, &ep.Pricing), Health: healthOf(&w.Health),
	}
	if ep.Own != nil {
		out.OwnKey = &ep.Own.Key
	}
	if w.Hold >= 0 {
		out.Hold = &w.Hold
	}
	return out
}

func priceOf(p *catalog.Prices, of *catalog.Pricing) CandidatePrice {
	return CandidatePrice{Prompt: p.Prompt, Completion: p.Completion, Request: p.Request, List: orNull(of.List), Rate: orNull(of.Rate)}
}

func healthOf(h *routing.Health) RouteHealth {
	var milliseconds [4]float64
	for i, seconds := range h.Latency {
		milliseconds[i] = 1000 * seconds
	}
	return RouteHealth{Failing: h.Failing, CoolDown: h.CoolDown, Ejected: h.Ejected, Latency: percentilesOf(milliseconds), Throughput: percentilesOf(h.Throughput)}
}

// percentilesOf is nil for what was never measured.
func percentilesOf(values [4]float64) *Percentiles {
	if values == [4]float64{} {
		return nil
	}
	return &Percentiles{P50: figure(values[0]), P75: figure(values[1]), P90: figure(values[2]), P99: figure(values[3])}
}

// figure is a measured number in few digits.
func figure(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	f = math.Round(f*1000) / 1000
	return &f
}

func preferencesOf(p *routing.Preferences) RoutePreferences {
	out := RoutePreferences{
		Order: p.Order, Only: p.Only, AndOnly: p.Within, Ignore: p.Ignore, RequireParameters: p.RequireParameters, ZDR: p.ZDR, Quantizations: p.Quantizations,
		MaxPrice: ceilingsOf(p.MaxPrice), MinThroughput: cutoffsOf(p.MinThroughput), MaxLatency: cutoffsOf(p.MaxLatency), Batch: p.Batch,
	}
	if p.NoFallbacks {
		out.AllowFallbacks = new(bool)
	}
	if p.DenyCollection {
		out.DataCollection = "deny"
	}
	switch {
	case p.Sort == "":
	case p.SortAcrossModels:
		out.Sort = operation.Raw(`{"by":"` + p.Sort + `","partition":"none"}`)
	default:
		out.Sort = operation.Raw(`"` + p.Sort + `"`)
	}
	return out
}

func ceilingsOf(m *routing.MaxPrice) *PriceCeilings {
	if m == nil {
		return nil
	}
	text := func(r *big.Rat) string {
		if r == nil {
			return ""
		}
		digits, _ := r.FloatPrec() // they were written as decimals, so they end
		return r.FloatString(digits)
	}
	return &PriceCeilings{Prompt: text(m.Prompt), Completion: text(m.Completion), Request: text(m.Request), Image: text(m.Image), Audio: text(m.Audio)}
}

func cutoffsOf(c routing.Cutoffs) *FigureCutoffs {
	if c == (routing.Cutoffs{}) {
		return nil
	}
	positive := func(f float64) *float64 {
		if f <= 0 {
			return nil
		}
		return figure(f)
	}
	return &FigureCutoffs{P50: positive(c.P50), P75: positive(c.P75), P90: positive(c.P90), P99: positive(c.P99)}
}
