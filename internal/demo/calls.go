package demo

import (
	"math"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/routing"
	"weir/internal/usage"
)

// day makes the calls of an account on one day, in their order.
func (x *month) day(p *person, day int) (items []ledger.Item) {
	midnight := x.first.AddDate(0, 0, day)
	for i := range p.habits {
		h := &p.habits[i]
		if h.until > 0 && day > h.until {
			continue
		}
		n := h.perDay * (.7 + .6*x.rnd.Float64())
		if d := midnight.Weekday(); d == time.Saturday || d == time.Sunday {
			n *= h.weekend
		}
		for range int(math.Round(n)) {
			at := midnight.Add(time.Duration(x.hour(h) * float64(time.Hour)))
			if c, ok := x.call(p, h, at); ok {
				items = append(items, c)
			}
		}
		if day == Days-1 {
			items = append(items, x.recent(p, h)...)
		}
	}
	slices.SortStableFunc(items, func(a, b ledger.Item) int { return a.Call.At.Compare(b.Call.At) })
	p.keepLimits(items)
	return items
}

// keepLimits refuses the calls of a day that are beyond the limit which their keys have for a day. The limits for longer are never reached.
func (p *person) keepLimits(items []ledger.Item) {
	spent := map[string]money.Nano{}
	for i := range items {
		c := &items[i].Call
		k := p.keys[slices.IndexFunc(p.keys, func(k apikey.Key) bool { return k.ID == c.Key })]
		if k.Limit == nil || k.Limit.Reset != apikey.Daily || !c.Settled {
			continue
		}
		if spent[k.ID]+c.Cost <= k.Limit.Amount {
			spent[k.ID] += c.Cost
			continue
		}
		*c = record.Call{
			Generation: c.Generation, Request: c.Request, User: c.User, Wallet: c.Wallet, Key: c.Key, API: c.API, At: c.At, ModelAsked: c.ModelAsked, Streamed: c.Streamed, UserAgent: c.UserAgent,
			Title: c.Title, Referer: c.Referer, Parameters: c.Parameters, Catalog: c.Catalog, Candidates: c.Candidates,
			Status: 402, Error: fault.PaymentRequired.String(), Duration: 2 * time.Millisecond,
		}
	}
}

// hour is a moment of a program's day: most is in the middle.
func (x *month) hour(h *habit) float64 {
	middle := (x.rnd.Float64() + x.rnd.Float64()) / 2
	return float64(h.from) + middle*float64(h.to-h.from)
}

// recent are the calls of the last two hours, which are there at any hour of the day.
func (x *month) recent(p *person, h *habit) (items []ledger.Item) {
	for range int(math.Ceil(h.perDay / 8)) {
		if h.until == 0 {
			at := x.Now.Add(-time.Duration((.05 + 1.95*x.rnd.Float64()) * float64(time.Hour)))
			if c, ok := x.call(p, h, at); ok {
				items = append(items, c)
			}
		}
	}
	return items
}

// settled is how long before the end of the month a call begins at the latest, so that it has ended.
const settled = 2 * time.Minute

// call makes a call that begins at a moment; ok is false when that is not in the month, or the catalog lacks the model.
func (x *month) call(p *person, h *habit, at time.Time) (it ledger.Item, ok bool) {
	at = at.Truncate(time.Microsecond)
	model := x.pick(h.models)
	u := x.usage(h)
	draws := [...]float64{x.rnd.Float64(), x.rnd.Float64(), x.rnd.Float64()}
	if at.After(x.Now.Add(-settled)) || at.Before(x.first.Add(10*time.Hour)) {
		return it, false
	}
	plan, err := routing.Choose(routing.Query{
		Models: []string{model}, Needs: routing.Needs{N: 1, PromptTokens: u.Prompt.N}, Rand: x.rnd.Float64, At: at, Explain: true,
	}, x.Catalog)
	if err != nil || len(plan.Attempts) == 0 {
		return it, false
	}
	c := &it.Call
	*c = record.Call{
		Generation: x.generation(at), Request: x.id("req_", 24), User: p.user.ID, Wallet: p.user.Wallet, Key: p.keys[h.key].ID, API: h.api, At: at,
		ModelAsked: model, Streamed: h.stream, UserAgent: h.agent, Title: h.title, Referer: h.referer, Parameters: h.parameters, Catalog: x.Catalog.Version,
	}
	for i := range plan.Candidates {
		o := &plan.Candidates[i]
		prices := o.Endpoint.Pricing.At(at).For(u.Prompt.N)
		c.Candidates = append(c.Candidates, record.Candidate{
			Endpoint: o.Endpoint.ID, DroppedBy: o.DroppedBy, Detail: o.Detail, Order: o.Order, Score: o.Score, Reason: o.Reason, Slug: o.Slug,
			Prompt: money.Nano(prices.Prompt.Nano), Completion: money.Nano(prices.Completion.Nano), PerRequest: money.Nano(prices.Request.Nano),
		})
	}
	began := time.Duration(2+x.rnd.IntN(6)) * time.Millisecond
	for _, a := range plan.Attempts {
		f := x.fate(a.Endpoint, at)
		if f == nil {
			return it, x.answer(c, &a, &u, began, draws[:])
		}
		c.Attempts = append(c.Attempts, record.Attempt{Endpoint: a.Endpoint.ID, Provider: a.Endpoint.Provider.ID, Status: f.status, Reason: f.kind.String(), Words: f.words, Started: began, Ended: began + f.took})
		c.Error, c.Status, c.Duration = f.kind.String(), f.shown, began+f.took
		if began += f.took + time.Millisecond; f.final {
			break
		}
	}
	return it, true
}

// pick draws a model.
func (x *month) pick(list []choice) string {
	sum := 0
	for _, c := range list {
		sum += c.share
	}
	n := x.rnd.IntN(sum)
	for _, c := range list {
		if n -= c.share; n < 0 {
			return c.model
		}
	}
	return list[0].model
}

// usage draws what a call consumes: short ones are more frequent than long ones.
func (x *month) usage(h *habit) (u usage.Usage) {
	between := func(s span) int64 {
		r := x.rnd.Float64()
		return int64(float64(s.least) + r*r*float64(s.most-s.least))
	}
	u.Prompt, u.Completion = usage.Of(between(h.prompt)), usage.Of(between(h.answer))
	if h.cached > 0 && x.rnd.IntN(4) > 0 {
		u.CacheRead = usage.Of(u.Prompt.N * int64(h.cached) / 100 / 128 * 128)
	}
	if h.thinks > 0 {
		u.Reasoning = usage.Of(u.Completion.N * int64(h.thinks) / 100)
	}
	return u
}

// answer completes a call that an endpoint serves, and reports whether it could be priced.
func (x *month) answer(c *record.Call, a *routing.Attempt, u *usage.Usage, began time.Duration, draws []float64) bool {
	ep := a.Endpoint
	first := time.Duration((220 + 900*draws[0]*draws[0]) * float64(time.Millisecond)).Truncate(time.Microsecond)
	speed := 45 + 90*draws[1] // tokens a second
	if u.Reasoning.N > 0 {
		first += time.Duration(float64(u.Reasoning.N) / speed * float64(time.Second))
	}
	gone := c.Streamed && draws[2] < .012 // the client left in the middle
	if gone {
		u.Completion.N = max(u.Completion.N/3, u.Reasoning.N+1)
	}
	generating := time.Duration(float64(u.Completion.N-u.Reasoning.N) / speed * float64(time.Second)).Truncate(time.Microsecond)
	pricing := ep.Pricing.At(c.At.Add(began))
	lines, cost, err := usage.Cost(u, pricing.For(u.Prompt.N))
	if err != nil {
		return false
	}
	c.Attempts = append(c.Attempts, record.Attempt{Endpoint: ep.ID, Provider: ep.Provider.ID, Status: 200, Started: began, FirstContent: began + first, Ended: began + first + generating})
	c.Model, c.Provider, c.ProviderName, c.Endpoint, c.UpstreamModel, c.UpstreamID = a.Slug, ep.Provider.ID, ep.Provider.Name, ep.ID, ep.UpstreamID, x.id("sim-", 16)
	c.Usage, c.Lines, c.Cost, c.Settled, c.Hold = *u, lines, cost, true, 2*cost
	c.PriceList, c.Rate, c.SourcePrice = pricing.List, pricing.Rate, pricing.SourceFor(u.Prompt.N)
	c.FirstContent, c.Generating, c.Duration = began+first, generating, began+first+generating+time.Millisecond
	c.Status, c.Error, c.Finish, c.NativeFinish = 200, "", "stop", "stop"
	if gone {
		c.Status, c.Error, c.Cancelled, c.Finish, c.NativeFinish = 499, fault.Canceled.String(), true, "", ""
	}
	return true
}

// failing is how an attempt fails.
type failing struct {
	status, shown int // at the provider, and to the client
	kind          fault.Kind
	words         string
	took          time.Duration
	final         bool // no other endpoint is asked
}

// The failures of the month, by how often they are drawn.
var (
	overloaded = failing{status: 529, shown: 503, kind: fault.ProviderOverloaded, words: "Overloaded", took: 640 * time.Millisecond}
	limited    = failing{status: 429, shown: 429, kind: fault.RateLimited, words: "Rate limit reached for requests", took: 180 * time.Millisecond}
	broken     = failing{status: 503, shown: 503, kind: fault.ProviderOverloaded, words: "The server is temporarily unable to handle the request", took: 1300 * time.Millisecond}
	tooLong    = failing{status: 400, shown: 400, kind: fault.ContextLength, words: "This model's maximum context length was exceeded", took: 90 * time.Millisecond, final: true}
)

// The outage: a provider that mostly fails for some hours, while others serve.
const (
	outageDay      = Days - 6 // from 0
	outageFrom     = 13 * time.Hour
	outageTo       = 16 * time.Hour
	outageProvider = "demo-anthropic"
)

// fate is how an attempt fails, nil when it serves.
func (x *month) fate(ep *catalog.Endpoint, at time.Time) *failing {
	r := x.rnd.Float64()
	begin := x.first.AddDate(0, 0, outageDay)
	if ep.Provider.ID == outageProvider && at.After(begin.Add(outageFrom)) && at.Before(begin.Add(outageTo)) && r < .8 {
		return &overloaded
	}
	switch {
	case r < .012:
		return &overloaded
	case r < .024:
		return &limited
	case r < .032:
		return &broken
	case r < .034:
		return &tooLong
	}
	return nil
}
