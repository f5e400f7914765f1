package catalogapi

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/health"
	"weir/internal/money"
)

// CompactCatalog is all models of all types.
type CompactCatalog struct {
	Version  string            `json:"version"` // of the catalog
	At       time.Time         `json:"at"`      // the hour with which uptime ends; the last value of uptime is of this hour, which is still running
	Currency string            `json:"currency" enum:"RUB"`
	Facets   Facets            `json:"facets"`
	Models   []CompactModel    `json:"models"` // the most used first
	Spoken   map[string]string `json:"spoken"` // words as Russian speakers write names by ear, and the names that they stand for in a search
}

// Facets is what to filter by, with the number of models of each.
type Facets struct {
	Types     []FacetValue    `json:"types"`
	Caps      []FacetValue    `json:"caps"`
	Ins       []FacetValue    `json:"ins"`
	Outs      []FacetValue    `json:"outs"`
	Policies  []FacetValue    `json:"policies"`
	Vendors   []FacetValue    `json:"vendors"`
	Providers []FacetProvider `json:"providers"`
}

// FacetValue is a value that models have.
type FacetValue struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// FacetProvider is a provider that models have.
type FacetProvider struct {
	FacetValue
	Policy catalog.DataPolicy `json:"policy" enum:"zero,transient,retained,training,unknown"`
}

// CompactModel is a model as pages filter it. Members without a value are left out, except those that are required.
type CompactModel struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Vendor    string             `json:"vendor"`
	Type      string             `json:"type"`                                                                      // one of chat, embedding, image, video, audio_transcription, audio_speech, moderation and rerank
	In        *money.Price       `json:"in"`                                                                        // rubles per 1000 tokens, of the cheapest endpoint; null where tokens have no price
	Out       *money.Price       `json:"out"`                                                                       // rubles per 1000 tokens
	Cached    *money.Price       `json:"cached"`                                                                    // rubles per 1000 tokens that are read from the cache; null without a price of its own
	Unit      string             `json:"unit,omitempty" enum:"minute,characters_1k,second,image,megapixel,request"` // what else is charged for
	Each      *money.Price       `json:"each,omitempty"`                                                            // rubles per unit, the lowest price there is
	Varies    bool               `json:"varies,omitzero"`                                                           // other prices apply to long prompts or at some hours
	Ctx       *int64             `json:"ctx"`                                                                       // tokens
	Max       int64              `json:"max,omitzero"`                                                              // the longest answer in tokens
	Caps      []string           `json:"caps"`                                                                      // what at least one endpoint can do: tools, reasoning, json, cache
	Lacks     []string           `json:"lacks,omitempty" enum:"temperature,top_p,max_tokens,response_format"`       // usual settings that no endpoint of a chat model takes
	Ins       []string           `json:"ins"`                                                                       // of text, image, audio, file, video
	Outs      []string           `json:"outs"`                                                                      // of text, image, audio, video, embedding, transcript, speech, moderation, rank
	Policy    catalog.DataPolicy `json:"policy" enum:"zero,transient,retained,training,unknown"`                    // the strictest of its providers
	Providers []string           `json:"providers"`                                                                 // ids, the cheapest first
	Live      bool               `json:"live"`                                                                      // some endpoint takes calls at present
	P50       *int64             `json:"p50"`                                                                       // median ms to the first content in the last 30 minutes, of the fastest endpoint
	TPS       *float64           `json:"tps"`                                                                       // median of tokens per second in the last 30 minutes, of the fastest endpoint
	Uptime    *[]*float64        `json:"uptime"`                                                                    // percentage of attempts that were served, by hour, oldest first; null where nothing is known of an hour, or of the whole day
	Rank      *int               `json:"rank"`                                                                      // 1: the most used of the last seven whole days, as in GET /api/rankings
	Created   *string            `json:"created" format:"date"`
	Aliases   []string           `json:"aliases,omitempty"`               // other slugs of it
	About     string             `json:"about,omitempty"`                 // the beginning of what is declared of it, at most 100 bytes
	Retires   string             `json:"retires,omitempty" format:"date"` // day from which no provider serves it
}

// policies are the data policies, the strictest first.
var policies = []catalog.DataPolicy{catalog.PolicyZero, catalog.PolicyTransient, catalog.PolicyRetained, catalog.PolicyTraining, catalog.PolicyUnknown}

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

// compactCatalog lists all models that some endpoint serves: the most used first, then the newest.
func (p *Pages) compactCatalog(s *catalog.Snapshot, now time.Time) CompactCatalog {
	ranks, aliases := p.Ranks.Ranks(), s.Aliases()
	day, from := p.lastDay(now)
	out := CompactCatalog{Version: s.Version, At: from.Add((health.DayHours - 1) * time.Hour), Currency: "RUB", Spoken: listing.Spoken}
	created := map[string]time.Time{}
	for _, m := range s.Models() {
		for _, o := range listing.Offers(m) {
			if len(o.Endpoints) > 0 {
				created[o.ID] = m.Created
				out.Models = append(out.Models, p.compactModel(&o, ranks[o.ID], day, aliases[m]))
			}
		}
	}
	place := func(m *CompactModel) int {
		if m.Rank == nil {
			return math.MaxInt
		}
		return *m.Rank
	}
	slices.SortStableFunc(out.Models, func(a, b CompactModel) int {
		return cmp.Or(cmp.Compare(place(&a), place(&b)), created[b.ID].Compare(created[a.ID]))
	})
	out.Facets = facetsOf(s, out.Models)
	return out
}

func (p *Pages) compactModel(o *listing.Offer, rank int, day map[string]*health.Daily, aliases []string) CompactModel {
	m, price := o.Model, o.Pricing()
	c := CompactModel{
		ID: o.ID, Name: m.Name, Vendor: m.Vendor, Type: m.Type, In: priceOf(price.Base.Prompt), Out: priceOf(price.Base.Completion), Cached: priceOf(price.Base.CacheRead),
		Varies: len(price.Thresholds) > 0 || len(price.Hours) > 0, Policy: catalog.PolicyUnknown, Uptime: uptimeOf(o.Endpoints, day), Rank: count(rank), Aliases: aliases,
		About: clip(m.Description, maxAbout),
	}
	if unit, each := eachOf(price); unit != "" {
		c.Unit, c.Each = unit, &each
	}
	c.able(o)
	window, p50, tps := m.ContextLength, time.Duration(0), 0.0
	retires := o.Endpoints[0].Retires
	for _, e := range o.Endpoints {
		window, c.Max, c.Live = max(window, e.ContextLength), max(c.Max, e.MaxCompletion), c.Live || p.alive(e)
		shown := listing.Measured(e, p.Stats)
		if shown.Latency > 0 && (p50 == 0 || shown.Latency < p50) {
			p50 = max(shown.Latency, time.Millisecond)
		}
		tps = max(tps, shown.Throughput)
		if e.Retires.IsZero() || !retires.IsZero() && e.Retires.After(retires) {
			retires = e.Retires
		}
	}
	c.Ctx, c.P50, c.TPS = count(window), count(p50.Milliseconds()), figure(math.Round(tps*10)/10, tps > 0)
	if !m.Created.IsZero() {
		created := m.Created.Format(time.DateOnly)
		c.Created = &created
	}
	if !retires.IsZero() {
		c.Retires = retires.Format(time.DateOnly)
	}
	return c
}

// able sets what the endpoints of an offer can do, and who they are.
func (c *CompactModel) able(o *listing.Offer) {
	var params catalog.Params
	var input, output catalog.Modality
	cache := false
	for _, e := range o.Endpoints {
		params |= listing.Params(e)
		input |= e.Input
		output |= e.Output
		cache = cache || e.Pricing.Base.CacheRead.Set || e.ImplicitCache
		if policy := listing.Policy(e.Provider); slices.Index(policies, policy) < slices.Index(policies, c.Policy) {
			c.Policy = policy
		}
	}
	for _, a := range abilities {
		if params&a.params != 0 {
			c.Caps = append(c.Caps, a.id)
		}
	}
	if cache {
		c.Caps = append(c.Caps, "cache")
	}
	if o.Model.Type == catalog.TypeChat {
		for _, u := range usual {
			if params&u.params == 0 {
				c.Lacks = append(c.Lacks, u.id)
			}
		}
	}
	c.Ins, c.Outs = input.Names(), output.Names()
	if made := outputs[o.Model.Type]; made != "" {
		c.Outs = []string{made}
	}
	for _, e := range slices.SortedFunc(slices.Values(o.Endpoints), func(a, b *catalog.Endpoint) int {
		return cmp.Or(cmp.Compare(listing.Headline(a), listing.Headline(b)), strings.Compare(a.ID, b.ID))
	}) {
		if !slices.Contains(c.Providers, e.Provider.ID) {
			c.Providers = append(c.Providers, e.Provider.ID)
		}
	}
}

// priceOf is a price, nil where it is not set.
func priceOf(p money.Price) *money.Price {
	if !p.Set {
		return nil
	}
	return &p
}

// facet counts models by a value.
type facet map[string]int

func (f facet) add(values ...string) {
	for _, v := range values {
		f[v]++
	}
}

// values lists them, the most frequent first.
func (f facet) values(called func(id string) string) []FacetValue {
	all := make([]FacetValue, 0, len(f))
	for id, n := range f {
		all = append(all, FacetValue{ID: id, Name: called(id), Count: n})
	}
	slices.SortFunc(all, func(a, b FacetValue) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.ID, b.ID)) })
	return all
}

func facetsOf(s *catalog.Snapshot, all []CompactModel) (out Facets) {
	types, caps, ins, outs, policy, vendors, providers := facet{}, facet{}, facet{}, facet{}, facet{}, facet{}, facet{}
	for i := range all {
		c := &all[i]
		types.add(c.Type)
		caps.add(c.Caps...)
		ins.add(c.Ins...)
		outs.add(c.Outs...)
		policy.add(string(c.Policy))
		vendors.add(c.Vendor)
		providers.add(c.Providers...)
	}
	itself := func(id string) string { return id }
	out = Facets{Types: types.values(itself), Caps: caps.values(itself), Ins: ins.values(itself), Outs: outs.values(itself), Policies: policy.values(itself), Vendors: vendors.values(catalog.VendorName)}
	for _, v := range providers.values(func(id string) string { return s.Providers[id].Name }) {
		out.Providers = append(out.Providers, FacetProvider{FacetValue: v, Policy: listing.Policy(s.Providers[v.ID])})
	}
	return out
}

// maxAbout is how much of a description pages search, in bytes: all of GET /api/catalog is read at once.
const maxAbout = 100

// clip cuts a text to at most n bytes, between characters.
func clip(text string, n int) string {
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
