package httpapi

import (
	"context"
	"math"
	"slices"
	"strconv"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/routing"
)

// Explainer plans calls without carrying them. *relay.Relay is one.
type Explainer interface {
	// Explain fails as a call would that has not even a candidate; see relay.Relay.
	Explain(ctx context.Context, c *relay.Call) (*relay.Explanation, error)
}

// postRouteExplain serves POST /v1/route/explain: the body is that of a chat request, and nothing is called, held or charged.
func (x *request) postRouteExplain() error {
	req, err := x.readChat()
	if err != nil {
		return err
	}
	e, err := x.api.Explainer.Explain(x.context(), x.newCall(req, "completions", nil))
	if err != nil {
		return err
	}
	return x.reply(&object{rawjson.Writer{B: AppendExplanation(make([]byte, 0, 512+1024*len(e.Candidates)), req, e)}})
}

// AppendExplanation appends the answer of POST /v1/route/explain to b: {"data":{...}}.
func AppendExplanation(b []byte, req *completion.Request, e *relay.Explanation) []byte {
	o := object{rawjson.Writer{B: b}}
	o.Object()
	o.Name("data").Object()
	o.text("catalog_version", e.Catalog.Version)
	o.textOrNull("rate_version", rateOf(e))
	o.texts("models", req.Models)
	o.Name("preferences")
	appendPreferences(&o, &req.Preferences)
	o.Name("defaults")
	appendDefaults(&o, e.Defaults)
	o.boolean("stream", req.Stream)
	o.integer("prompt_tokens", req.Needs.PromptTokens)
	if req.MaxTokens > 0 {
		o.integer("max_tokens", req.MaxTokens)
	} else {
		o.null("max_tokens")
	}
	o.Name("candidates").Array()
	for i := range e.Candidates {
		appendCandidate(&o, &e.Plan.Candidates[i], &e.Candidates[i])
	}
	o.EndArray()
	o.Name("attempts").Array()
	for i := range e.Plan.Attempts {
		o.any(e.Plan.Attempts[i].Endpoint.ID)
	}
	o.EndArray()
	if e.Err == nil {
		o.null("error")
	} else {
		o.Name("error").Raw(ErrorObject(e.Err, ""))
	}
	o.EndObject()
	o.EndObject()
	return o.B
}

// appendDefaults writes which preferences hold without being asked for, as they were given.
func appendDefaults(o *object, d *apikey.Defaults) {
	o.Object()
	if d == nil {
		d = &apikey.Defaults{}
	}
	o.raw("account", d.Account)
	o.raw("key", d.Key)
	o.EndObject()
}

// rateOf is the version of the dollar rate that the candidates' prices were made with, "" when all are in rubles by nature.
func rateOf(e *relay.Explanation) string {
	priced := slices.IndexFunc(e.Plan.Candidates, func(c routing.Candidate) bool { return c.Endpoint.Pricing.Rate != "" })
	if priced < 0 {
		return ""
	}
	return e.Plan.Candidates[priced].Endpoint.Pricing.Rate
}

func appendCandidate(o *object, c *routing.Candidate, w *relay.Weighed) {
	ep := c.Endpoint
	o.Object()
	o.text("endpoint", ep.ID)
	o.text("tag", ep.Tag)
	o.text("provider", ep.Provider.ID)
	o.text("provider_name", ep.Provider.Name)
	if ep.Own != nil {
		o.text("own_key", ep.Own.Key)
	} else {
		o.null("own_key")
	}
	o.text("model", c.Slug)
	o.integer("order", int64(c.Order))
	o.textOrNull("dropped_by", c.DroppedBy)
	o.textOrNull("detail", c.Detail)
	o.Name("score")
	appendScore(o, c.Score, c.Reason)
	o.Name("price")
	appendPrice(o, &w.Prices, &ep.Pricing)
	if w.Hold < 0 {
		o.null("hold")
	} else {
		o.amountText("hold", w.Hold)
	}
	appendHealth(o, &w.Health)
	o.EndObject()
}

// appendScore writes what a candidate was sorted by, null for one that was dropped.
func appendScore(o *object, value float64, reason string) {
	if reason == "" {
		o.Null()
		return
	}
	o.Object()
	o.Name("value")
	if math.IsNaN(value) || math.IsInf(value, 0) {
		o.Null()
	} else {
		o.B = strconv.AppendFloat(o.B, value, 'g', -1, 64)
	}
	o.text("by", reason)
	o.text("meaning", scoreMeanings[reason])
	o.EndObject()
}

// scoreMeanings say what the figure of a score is, for each reason that routing gives.
var scoreMeanings = map[string]string{
	routing.ReasonOnly:       "There was one endpoint only.",
	routing.ReasonOrder:      "Position of its entry in provider.order.",
	routing.ReasonAfter:      "Rubles per 1000 prompt and 1000 completion tokens together; it comes after the entries of provider.order.",
	routing.ReasonPrice:      "Rubles per 1000 prompt and 1000 completion tokens together; the lowest first.",
	routing.ReasonThroughput: "Median tokens per second; the highest first.",
	routing.ReasonLatency:    "Median seconds to the first content; the lowest first.",
	routing.ReasonWeight:     "Its weight in the random choice of the first place: 1/price squared.",
	routing.ReasonFallback:   "Rubles per 1000 prompt and 1000 completion tokens together; it comes after the one that was chosen at random.",
	routing.ReasonFailing:    "Rubles per 1000 prompt and 1000 completion tokens together; it is failing and comes after those that are not.",
	routing.ReasonPriority:   "Median tokens per second; the request asks for this tier.",
	routing.ReasonSticky:     "Rubles per 1000 prompt and 1000 completion tokens together; it served this conversation before and has it in its cache.",
	routing.ReasonCoolDown:   "Rubles per 1000 prompt and 1000 completion tokens together; it failed several times in a row and comes after the others.",
	routing.ReasonOwn:        "It is called with an own key, whose order decides its place.",
	routing.ReasonEjected:    "Rubles per 1000 prompt and 1000 completion tokens together; it gets no calls at present and comes last.",
}

func appendPrice(o *object, p *catalog.Prices, of *catalog.Pricing) {
	o.Object()
	o.price("prompt_per_1k", p.Prompt)
	o.price("completion_per_1k", p.Completion)
	o.price("request", p.Request)
	o.textOrNull("list", of.List)
	o.textOrNull("rate", of.Rate)
	o.EndObject()
}

func appendHealth(o *object, h *routing.Health) {
	o.Name("health").Object()
	o.boolean("failing", h.Failing)
	o.boolean("cool_down", h.CoolDown)
	o.boolean("ejected", h.Ejected)
	var milliseconds [4]float64
	for i, seconds := range h.Latency {
		milliseconds[i] = 1000 * seconds
	}
	appendPercentiles(o, "latency_ms", &milliseconds)
	appendPercentiles(o, "throughput_tps", &h.Throughput)
	o.EndObject()
}

// appendPercentiles writes null for what was never measured.
func appendPercentiles(o *object, name string, values *[4]float64) {
	if *values == [4]float64{} {
		o.null(name)
		return
	}
	o.Name(name).Object()
	for i, p := range [...]string{"p50", "p75", "p90", "p99"} {
		o.figure(p, values[i])
	}
	o.EndObject()
}

var _ Explainer = (*relay.Relay)(nil)
