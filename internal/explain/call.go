// Package explain says why a call was routed as it was and how its charge came about, and the same of a call that is only planned: the types that
// the routes for programs and those for pages show. It must not look anything up.
package explain

import (
	"math"
	"strconv"

	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/rate"
	"weir/internal/rawjson"
	"weir/internal/record"
	"weir/internal/routing"
	"weir/internal/usage"
)

// PlannedCandidate is an endpoint that routing considered.
type PlannedCandidate struct {
	Endpoint  string        `json:"endpoint"`
	OwnKey    *string       `json:"own_key"` // id of the own key that it would be called with; null: the gateway's
	Model     *string       `json:"model"`   // the requested model: model, or one of models
	Order     int           `json:"order"`   // position among the attempts, from 1; 0: not among them
	DroppedBy *string       `json:"dropped_by"`
	Detail    *string       `json:"detail"`
	Score     *Score        `json:"score"`
	Price     *PlannedPrice `json:"price"`
}

// PlannedPrice is rubles at the time of the call, for a prompt of its length; null in old records without them.
type PlannedPrice struct {
	Prompt     money.Nano `json:"prompt_per_1k"`
	Completion money.Nano `json:"completion_per_1k"`
	Request    money.Nano `json:"request"`
}

// Score is the sort criterion of a candidate; null if it was dropped.
type Score struct {
	Value   operation.As[*float64] `json:"value"`
	By      string                 `json:"by"`
	Meaning string                 `json:"meaning"` // meaning of the value, in a sentence
}

// MadeAttempt is one try at an endpoint. Times are from the beginning of the call.
type MadeAttempt struct {
	Endpoint   string  `json:"endpoint"`
	Provider   string  `json:"provider"`
	OwnKey     *string `json:"own_key"` // id of the own key that the attempt was made with; null: the gateway's
	Status     int     `json:"status"`
	Reason     *string `json:"reason"`
	Started    int64   `json:"started_ms"`
	FirstToken *int64  `json:"first_token_ms"`
	Ended      int64   `json:"ended_ms"`
}

// CostLine is a part of a charge: the quantity times the price. The sum of the lines is rounded up once.
type CostLine struct {
	Kind         string     `json:"kind"`
	Quantity     int64      `json:"quantity"`                                                                                        // tokens, characters or pieces; milliseconds of recordings and thousandths of megapixels
	Measure      string     `json:"measure"`                                                                                         // the quantity with its unit, such as "1200 tokens" or "3.41 seconds"
	Unit         string     `json:"unit" enum:"1k_tokens,request,search,image,call,container,minute,1k_characters,megapixel,second"` // what the price is for
	Price        money.Nano `json:"price"`
	PriceUSD     *string    `json:"price_usd"`             // the source's price in dollars, null for a price in rubles
	PriceUSDUnit *string    `json:"price_usd_unit"`        // what price_usd is for, such as "million tokens"
	Cost         string     `json:"cost" schema:"Decimal"` // rubles before the one rounding
}

// PriceBasis is what the prices come from. A price is its dollars times rubles_per_dollar times (1 + margin), and times (1 + vat) if that is on top,
// rounded up to 10⁻⁹ rubles.
type PriceBasis struct {
	List            *string     `json:"list"` // version of the price list
	Rate            *string     `json:"rate"` // version of the rate
	RublesPerDollar *string     `json:"rubles_per_dollar"`
	Margin          *string     `json:"margin"` // "0.15" for 15 %
	VAT             *VAT        `json:"vat"`
	VATAmount       *money.Nano `json:"vat_amount"` // rubles of VAT in the charge, null without VAT
	Source          *string     `json:"source"`     // the source's prices, and the threshold or the hours that applied
}

// VAT is the value-added tax that the prices contain, null for none.
type VAT struct {
	Mode    string `json:"mode" enum:"included,on_top"` // with on_top rate and margin are without it, and it was added
	Percent string `json:"percent"`                     // "22" for 22 %
}

// Plan is what routing considered, as it was shown at the time of the call.
type Plan struct {
	CatalogVersion *string            `json:"catalog_version"` // version of the catalog for the plan and the prices of the call
	Candidates     []PlannedCandidate `json:"candidates"`
}

// Routing is a plan, and the attempts that followed from it.
type Routing struct {
	Plan
	Attempts []MadeAttempt `json:"attempts"`
}

// Charge is the lines of a charge, and the counts that they follow from.
type Charge struct {
	Parts  []CostLine    `json:"parts"`
	Counts operation.Raw `json:"counts" schema:"Counts"` // in the order in which they are counted
	Exact  string        `json:"exact" schema:"Decimal"` // sum of the lines before it is rounded up to the cost
	Cache  *CacheReceipt `json:"cache"`                  // null: nothing was read from the provider's cache of prompts, written to it or lost of it
}

// CacheReceipt is what the provider's cache of prompts did for a call.
type CacheReceipt struct {
	Read    int64      `json:"read_tokens"`
	Written int64      `json:"written_tokens"`
	Saved   money.Nano `json:"saved"` // rubles that the charge would be higher without the cache; below zero where writing cost more than reading brought
	Lost    *CacheLost `json:"lost"`  // null: the call read what the call before it in the conversation had sent
}

// CacheLost is what a call did not read from a cache although the call before it in the conversation had sent the same.
type CacheLost struct {
	Tokens   int64      `json:"tokens"`
	Cost     money.Nano `json:"cost"` // rubles that reading would have been cheaper
	Because  string     `json:"because" enum:"endpoint_changed,prefix_changed,expired,not_kept"`
	Message  *int64     `json:"message"`  // of prefix_changed: number of the first message that differs, from 1; 0: the tools, or instructions before the messages
	Endpoint *string    `json:"endpoint"` // of endpoint_changed: the one that served the conversation before
}

// PlanOf is what routing considered for a call.
func PlanOf(c *record.Call) Plan {
	p := Plan{CatalogVersion: orNull(c.Catalog), Candidates: make([]PlannedCandidate, len(c.Candidates))}
	for i := range c.Candidates {
		k := &c.Candidates[i]
		p.Candidates[i] = PlannedCandidate{
			Endpoint: k.Endpoint, OwnKey: orNull(k.OwnKey), Model: orNull(k.Slug), Order: k.Order, DroppedBy: orNull(k.DroppedBy), Detail: orNull(k.Detail), Score: scoreOf(k.Score, k.Reason),
		}
		if k.Slug != "" { // else it is a record of old
			p.Candidates[i].Price = &PlannedPrice{Prompt: k.Prompt, Completion: k.Completion, Request: k.PerRequest}
		}
	}
	return p
}

// AttemptsOf are the attempts of a call.
func AttemptsOf(c *record.Call) []MadeAttempt {
	all := make([]MadeAttempt, len(c.Attempts))
	for i := range c.Attempts {
		a := &c.Attempts[i]
		all[i] = MadeAttempt{
			Endpoint: a.Endpoint, Provider: a.Provider, OwnKey: orNull(a.OwnKey), Status: a.Status, Reason: orNull(a.Reason), Started: a.Started.Milliseconds(), Ended: a.Ended.Milliseconds(),
		}
		if a.FirstContent > 0 {
			ms := a.FirstContent.Milliseconds()
			all[i].FirstToken = &ms
		}
	}
	return all
}

// RoutingOf is how a call was routed.
func RoutingOf(c *record.Call) Routing { return Routing{Plan: PlanOf(c), Attempts: AttemptsOf(c)} }

// ChargeOf is how the charge of a call came about.
func ChargeOf(c *record.Call) Charge {
	exact := usage.Exact(c.Lines)
	out := Charge{Parts: make([]CostLine, len(c.Lines)), Exact: string(exact.Append(nil))}
	for i, line := range c.Lines {
		part := CostLine{
			Kind: line.Kind.String(), Quantity: line.Quantity, Measure: line.Measure(), Unit: line.Kind.Unit(), Price: money.Nano(line.Price), PriceUSD: orNull(line.Dollars),
			Cost: string(line.AppendAmount(nil)),
		}
		if line.Dollars != "" {
			unit := line.Kind.DollarUnit()
			part.PriceUSDUnit = &unit
		}
		out.Parts[i] = part
	}
	var w rawjson.Writer
	w.Object()
	for i, count := range c.Usage.Counts() {
		if count.Reported || count.N != 0 {
			w.Name(usage.CountNames[i]).Int(count.N)
		}
	}
	w.EndObject()
	out.Counts = w.B
	out.Cache = cacheOf(c)
	return out
}

// cacheOf is the receipt of a call's cache, nil where there is nothing to say.
func cacheOf(c *record.Call) *CacheReceipt {
	saved, ok := usage.Saved(c.Lines)
	if !ok && c.Lost.Why == "" {
		return nil
	}
	if !ok {
		saved = 0
	}
	out := &CacheReceipt{Read: c.Usage.CacheRead.N, Written: c.Usage.Written().N, Saved: saved}
	if l := &c.Lost; l.Why != "" {
		out.Lost = &CacheLost{Tokens: l.Tokens, Cost: l.Cost, Because: l.Why}
		switch l.Why {
		case record.LostPrefix:
			out.Lost.Message = &l.Message
		case record.LostEndpoint:
			out.Lost.Endpoint = &l.From
		}
	}
	return out
}

// BasisOf is what the prices of a call come from.
func BasisOf(c *record.Call) PriceBasis {
	p := rate.PartsOf(c.Rate)
	out := PriceBasis{List: orNull(c.PriceList), Rate: orNull(c.Rate), RublesPerDollar: orNull(p.RubPerUSD), Margin: orNull(p.Margin), Source: orNull(c.SourcePrice)}
	if p.VAT.Mode != "" {
		amount := p.VAT.Part(c.Cost)
		out.VAT, out.VATAmount = &VAT{Mode: p.VAT.Mode, Percent: p.VAT.Percent}, &amount
	}
	return out
}

// scoreOf is what a candidate was sorted by, nil for one that was dropped.
func scoreOf(value float64, reason string) *Score {
	if reason == "" {
		return nil
	}
	s := &Score{By: reason, Meaning: meanings[reason]}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		s.Value = operation.As[*float64]{Raw: strconv.AppendFloat(nil, value, 'g', -1, 64)}
	}
	return s
}

// meanings say what the figure of a score is, for each reason that routing gives.
var meanings = map[string]string{
	routing.ReasonOnly:       "There was one endpoint only.",
	routing.ReasonOrder:      "Position of its entry in provider.order.",
	routing.ReasonAfter:      "Rubles per 1000 prompt and 1000 completion tokens together; it comes after the entries of provider.order.",
	routing.ReasonPrice:      "Rubles per 1000 prompt and 1000 completion tokens together; the lowest first.",
	routing.ReasonThroughput: "Median tokens per second; the highest first.",
	routing.ReasonLatency:    "Median seconds to the first content; the lowest first.",
	routing.ReasonWeight:     "Its weight in the random choice of the first place: 1/price squared, or what the operator set.",
	routing.ReasonFallback:   "Rubles per 1000 prompt and 1000 completion tokens together; it comes after the one that was chosen at random.",
	routing.ReasonPlace:      "The operator's place of the endpoint; the lowest first.",
	routing.ReasonFailing:    "Rubles per 1000 prompt and 1000 completion tokens together; it is failing and comes after those that are not.",
	routing.ReasonPriority:   "Median tokens per second; the request asks for this tier.",
	routing.ReasonSticky:     "Rubles per 1000 prompt and 1000 completion tokens together; it served this conversation before and has it in its cache.",
	routing.ReasonCache:      "Rubles that this call and those expected after it cost here, with what caches save; the lowest first.",
	routing.ReasonCoolDown:   "Rubles per 1000 prompt and 1000 completion tokens together; it failed several times in a row and comes after the others.",
	routing.ReasonOwn:        "It is called with an own key, whose order decides its place.",
	routing.ReasonEjected:    "Rubles per 1000 prompt and 1000 completion tokens together; it gets no calls at present and comes last.",
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
