package httpapi

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/health"
	"weir/internal/money"
)

// rendered is an answer that is the same for everybody and is made again when it is old, or when the catalog has changed.
type rendered struct {
	mu       sync.Mutex
	snapshot *catalog.Snapshot
	until    time.Time
	body     *listing.Body
}

// renderedFor is how long an answer with figures of health is good.
const renderedFor = time.Minute

// of returns the answer, which one caller makes and the others wait for.
func (r *rendered) of(s *catalog.Snapshot, now time.Time, make func() []byte) *listing.Body {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body == nil || r.snapshot != s || !now.Before(r.until) {
		r.body, r.snapshot, r.until = listing.BodyOf(make()), s, now.Add(renderedFor)
	}
	return r.body
}

// getCompactCatalog serves GET /api/catalog.
func (x *request) getCompactCatalog() error {
	s := x.api.Catalog()
	return x.send(x.api.compact.of(s, x.at, func() []byte { return x.api.compactCatalog(s) }))
}

// compactModel is a model as pages filter it.
type compactModel struct {
	listing.Offer
	caps, ins, outs, providers []string
	lacks                      []string
	policy                     catalog.DataPolicy
	rank                       int
}

// policies are the data policies, the strictest first.
var policies = []catalog.DataPolicy{catalog.PolicyZero, catalog.PolicyTransient, catalog.PolicyRetained, catalog.PolicyTraining, catalog.PolicyUnknown}

func policyOf(p *catalog.Provider) catalog.DataPolicy {
	return cmp.Or(p.DataPolicy, catalog.PolicyUnknown)
}

// outputs name what models of a type make, where that is no modality of a conversation.
var outputs = map[string]string{
	catalog.TypeEmbedding: "embedding", catalog.TypeTranscription: "transcript", catalog.TypeSpeech: "speech", catalog.TypeModeration: "moderation", catalog.TypeRerank: "rank",
	catalog.TypeImage: "image", catalog.TypeVideo: "video",
}

// abilities are the abilities by which pages filter, and the parameters that show them.
var abilities = []struct {
	id     string
	params catalog.Params
}{
	{"tools", catalog.ParamTools}, {"reasoning", catalog.ParamReasoning | catalog.ParamReasoningEffort}, {"json", catalog.ParamStructuredOutputs},
}

// usual are the settings that every chat page offers; those that no endpoint of a model takes are in lacks.
var usual = []struct {
	id     string
	params catalog.Params
}{
	{"temperature", catalog.ParamTemperature}, {"top_p", catalog.ParamTopP}, {"max_tokens", catalog.ParamMaxTokens}, {"response_format", catalog.ParamResponseFormat | catalog.ParamStructuredOutputs},
}

func newCompactModel(o listing.Offer, ranks listing.Ranks) compactModel {
	c := compactModel{Offer: o, rank: ranks[o.ID], caps: []string{}, policy: catalog.PolicyUnknown}
	var params catalog.Params
	var input, output catalog.Modality
	cache := false
	for _, e := range o.Endpoints {
		params |= paramsOf(e)
		input |= e.Input
		output |= e.Output
		cache = cache || e.Pricing.Base.CacheRead.Set || e.ImplicitCache
		if policy := policyOf(e.Provider); slices.Index(policies, policy) < slices.Index(policies, c.policy) {
			c.policy = policy
		}
	}
	for _, a := range abilities {
		if params&a.params != 0 {
			c.caps = append(c.caps, a.id)
		}
	}
	if cache {
		c.caps = append(c.caps, "cache")
	}
	if o.Model.Type == catalog.TypeChat {
		for _, u := range usual {
			if params&u.params == 0 {
				c.lacks = append(c.lacks, u.id)
			}
		}
	}
	c.ins, c.outs = input.Names(), output.Names()
	if made := outputs[o.Model.Type]; made != "" {
		c.outs = []string{made}
	}
	for _, e := range slices.SortedFunc(slices.Values(o.Endpoints), func(a, b *catalog.Endpoint) int {
		return cmp.Or(cmp.Compare(listing.Headline(a), listing.Headline(b)), strings.Compare(a.ID, b.ID))
	}) {
		if !slices.Contains(c.providers, e.Provider.ID) {
			c.providers = append(c.providers, e.Provider.ID)
		}
	}
	return c
}

// compactModels lists all models that some endpoint serves: the most used first, then the newest.
func compactModels(s *catalog.Snapshot, ranks listing.Ranks) []compactModel {
	var all []compactModel
	for _, m := range s.Models() {
		for _, o := range listing.Offers(m) {
			if len(o.Endpoints) > 0 {
				all = append(all, newCompactModel(o, ranks))
			}
		}
	}
	place := func(c *compactModel) int {
		if c.rank == 0 {
			return math.MaxInt
		}
		return c.rank
	}
	slices.SortStableFunc(all, func(a, b compactModel) int {
		return cmp.Or(cmp.Compare(place(&a), place(&b)), b.Model.Created.Compare(a.Model.Created))
	})
	return all
}

func (a *API) compactCatalog(s *catalog.Snapshot) []byte {
	all := compactModels(s, a.models.Ranks())
	aliases := s.Aliases()
	day, from := a.lastDay()
	o := newObject(512 * len(all))
	o.Object()
	o.text("version", s.Version)
	o.moment("at", from.Add((health.DayHours-1)*time.Hour))
	o.text("currency", "RUB")
	appendFacets(&o, s, all)
	o.Name("models").Array()
	for i := range all {
		a.appendCompact(&o, &all[i], day, aliases[all[i].Model])
	}
	o.EndArray()
	o.Name("spoken").Object()
	for _, heard := range slices.Sorted(maps.Keys(listing.Spoken)) {
		o.text(heard, listing.Spoken[heard])
	}
	o.EndObject()
	o.EndObject()
	return o.B
}

// lastDay is what is known of the last day.
func (a *API) lastDay() (map[string]*health.Daily, time.Time) {
	if a.Hours == nil {
		return nil, a.Now().UTC().Truncate(time.Hour).Add(-(health.DayHours - 1) * time.Hour)
	}
	return a.Hours.LastDay()
}

// alive reports whether an endpoint takes calls.
func (a *API) alive(e *catalog.Endpoint) bool { return a.Health == nil || !a.Health.Of(e.ID).Ejected }

// facet counts models by a value.
type facet map[string]int

func (f facet) add(values ...string) {
	for _, v := range values {
		f[v]++
	}
}

// append writes the values, the most frequent first.
func (f facet) append(o *object, name string, called func(id string) string, more func(id string)) {
	ids := make([]string, 0, len(f))
	for id := range f {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(f[b], f[a]), strings.Compare(a, b)) })
	o.Name(name).Array()
	for _, id := range ids {
		o.Object()
		o.text("id", id)
		o.text("name", called(id))
		o.integer("count", int64(f[id]))
		if more != nil {
			more(id)
		}
		o.EndObject()
	}
	o.EndArray()
}

func appendFacets(o *object, s *catalog.Snapshot, all []compactModel) {
	types, caps, ins, outs, policy, vendors, providers := facet{}, facet{}, facet{}, facet{}, facet{}, facet{}, facet{}
	for i := range all {
		c := &all[i]
		types.add(c.Model.Type)
		caps.add(c.caps...)
		ins.add(c.ins...)
		outs.add(c.outs...)
		policy.add(string(c.policy))
		vendors.add(c.Model.Vendor)
		providers.add(c.providers...)
	}
	itself := func(id string) string { return id }
	o.Name("facets").Object()
	types.append(o, "types", itself, nil)
	caps.append(o, "caps", itself, nil)
	ins.append(o, "ins", itself, nil)
	outs.append(o, "outs", itself, nil)
	policy.append(o, "policies", itself, nil)
	vendors.append(o, "vendors", catalog.VendorName, nil)
	providers.append(o, "providers", func(id string) string { return s.Providers[id].Name }, func(id string) { o.text("policy", string(policyOf(s.Providers[id]))) })
	o.EndObject()
}

func (o *object) priceOrNull(name string, p money.Price) {
	if p.Set {
		o.price(name, p)
	} else {
		o.null(name)
	}
}

func (o *object) integerOrNull(name string, n int64) {
	if n > 0 {
		o.integer(name, n)
	} else {
		o.null(name)
	}
}

func (a *API) appendCompact(o *object, c *compactModel, day map[string]*health.Daily, aliases []string) {
	m, p := c.Model, c.Pricing()
	o.Object()
	o.text("id", c.ID)
	o.text("name", m.Name)
	o.text("vendor", m.Vendor)
	o.text("type", m.Type)
	o.priceOrNull("in", p.Base.Prompt)
	o.priceOrNull("out", p.Base.Completion)
	o.priceOrNull("cached", p.Base.CacheRead)
	if unit, each := eachOf(p); unit != "" {
		o.text("unit", unit)
		o.price("each", each)
	}
	if len(p.Thresholds) > 0 || len(p.Hours) > 0 {
		o.boolean("varies", true)
	}
	ctx, longest, live, p50, tps := m.ContextLength, int64(0), false, time.Duration(0), 0.0
	retires := c.Endpoints[0].Retires
	for _, e := range c.Endpoints {
		ctx, longest, live = max(ctx, e.ContextLength), max(longest, e.MaxCompletion), live || a.alive(e)
		shown := measured(e, a.Stats)
		latency, throughput := shown.Latency, shown.Throughput
		if latency > 0 && (p50 == 0 || latency < p50) {
			p50 = max(latency, time.Millisecond)
		}
		tps = max(tps, throughput)
		if e.Retires.IsZero() || !retires.IsZero() && e.Retires.After(retires) {
			retires = e.Retires
		}
	}
	o.integerOrNull("ctx", ctx)
	if longest > 0 {
		o.integer("max", longest)
	}
	o.texts("caps", c.caps)
	if len(c.lacks) > 0 {
		o.texts("lacks", c.lacks)
	}
	o.texts("ins", c.ins)
	o.texts("outs", c.outs)
	o.text("policy", string(c.policy))
	o.texts("providers", c.providers)
	o.boolean("live", live)
	o.integerOrNull("p50", p50.Milliseconds())
	o.measured("tps", math.Round(tps*10)/10, tps > 0)
	appendUptime(o, "uptime", c.Endpoints, day)
	o.integerOrNull("rank", int64(c.rank))
	if m.Created.IsZero() {
		o.null("created")
	} else {
		o.text("created", m.Created.Format(time.DateOnly))
	}
	if len(aliases) > 0 {
		o.texts("aliases", aliases)
	}
	if m.Description != "" {
		o.text("about", clipAt(m.Description, maxAbout))
	}
	if !retires.IsZero() {
		o.text("retires", retires.Format(time.DateOnly))
	}
	o.EndObject()
}

// maxAbout is how much of a description pages search, in bytes: all of GET /api/catalog is read at once.
const maxAbout = 100

// clipAt cuts a text to at most n bytes, between characters.
func clipAt(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// eachOf is what a model charges for besides tokens, and the lowest price of it.
func eachOf(p *catalog.Pricing) (unit string, lowest money.Price) {
	lower := func(u string, price money.Price) {
		if price.Set && (unit == "" || u == unit && price.Nano < lowest.Nano) {
			unit, lowest = u, price
		}
	}
	for i, kind := range catalog.NamedRates() {
		lower(kind.Unit, *p.Rates.Each()[i])
	}
	for i := range p.Video {
		lower(catalog.UnitSecond, p.Video[i].PerSecond)
	}
	for i := range p.Images {
		if line := &p.Images[i]; line.Unit != catalog.UnitTokens && (line.Component == "" || line.Component == "image_output") {
			lower(line.Unit, line.Price)
		}
	}
	if p.Base.ImageOutputEach.Nano > 0 {
		lower("image", p.Base.ImageOutputEach)
	}
	if p.Base.Request.Nano > 0 {
		lower("request", p.Base.Request)
	}
	return unit, lowest
}

// percent writes a percentage, rounded down: it is 100 only where nothing failed.
func (o *object) percent(h *health.Hour) {
	if p, known := h.Uptime(); known {
		o.number(math.Floor(p*100) / 100)
	} else {
		o.Null()
	}
}

// appendUptime writes the percentages of the last hours of endpoints together, null where nothing is known of any hour.
func appendUptime(o *object, name string, endpoints []*catalog.Endpoint, day map[string]*health.Daily) {
	var hours [health.DayHours]health.Hour
	some := false
	for _, e := range endpoints {
		d := day[e.ID]
		if d == nil {
			continue
		}
		for i := range hours {
			hours[i].Served += d.Hours[i].Served
			hours[i].Failed += d.Hours[i].Failed
			some = some || d.Hours[i].Served+d.Hours[i].Failed > 0
		}
	}
	if !some {
		o.null(name)
		return
	}
	o.Name(name).Array()
	for i := range hours {
		o.percent(&hours[i])
	}
	o.EndArray()
}
