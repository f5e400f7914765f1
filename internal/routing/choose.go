package routing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/promptcache"
)

// Reasons for an attempt's place, and what its Score is then.
const (
	ReasonOnly       = "single"          // nothing to choose; score 0
	ReasonOrder      = "order"           // named by provider.order; score: place of the entry, from 1
	ReasonAfter      = "after"           // after those that order names; score: price
	ReasonPrice      = "sort:price"      // score: price
	ReasonThroughput = "sort:throughput" // score: median tokens per second
	ReasonLatency    = "sort:latency"    // score: median seconds to first content
	ReasonWeight     = "weight"          // drawn first; score: its share of the draw, 0 to 1
	ReasonFallback   = "price"           // load balancing after the drawn one; score: price
	ReasonPlace      = "place"           // load balancing, where the operator gave it a place; score: the place
	ReasonFailing    = "failing"         // load balancing, an outage now; score: price
	ReasonPriority   = "tier:priority"   // priority tier asked for; score: median tokens per second
	ReasonSticky     = "sticky"          // it served the conversation before and has it in its cache; score: price
	ReasonCache      = "cache"           // the rest of the conversation is expected to cost least here, with what caches save; score: rubles of that
	ReasonCoolDown   = "cool-down"       // put after all others after failures in a row; score: price
	ReasonOwn        = "own_key"         // called with the caller's own key; score 0
	ReasonEjected    = "ejected"         // gets no calls at present, unless every other is ejected too; score: price
)

// candidate is one endpoint on its way through the pipeline. Price is in nano-rubles: Query.Price, or prompt plus completion per
// 1000 tokens.
type candidate struct {
	ep      *catalog.Endpoint
	model   int // index into Query.Models
	dropped Filter
	health  Health
	price   int64
	listed  int // place of the order entry that names it, from 1; 0 none
	score   float64
	reason  string
	place   int // among the attempts, from 1
	rest    promptcache.Forecast
	rank    int // of an own key: 1 before the gateway's endpoints, -1 after them; 0 of those
	late    bool
}

// planner is the state of one call of Choose.
type planner struct {
	q        *Query
	tier     string // "flex", "priority" or ""
	ceilings ceilings
	cands    []candidate
	order    []*candidate // the remaining candidates, in the order of attempts
}

// Choose plans a call. Every model of the list must exist: an unknown one fails with fault.ModelNotFound, wherever it is,
// so that a typing error in a fallback shows before the day it is needed; one of another type fails with fault.WrongEndpoint.
// When no endpoint is left it fails with fault.NoEndpoints, or with fault.ContextLength when every endpoint was merely too short;
// When the key may call none of the models it fails with fault.PermissionDenied. Details["excluded_by"] then lists the filters, and the plan still holds the candidates.
//
// At most MaxAttempts endpoints are planned. Each model of the list gets one before any gets a second, so that a model with many
// endpoints does not hide those after it; the order of attempts stays that of the list.
func Choose(q Query, snap *catalog.Snapshot) (Plan, error) {
	if len(q.Models) == 1 {
		a, err := resolve(q.Models[0], &q, snap)
		if err != nil {
			return Plan{}, err
		}
		if len(a.model.Endpoints) == 1 && len(q.Own) == 0 {
			if plan, ok := single(&q, a); ok {
				return plan, nil
			}
		}
	}
	return choose(q, snap)
}

// single is the plan of the most frequent question: one model with one endpoint, which no filter refuses. It keeps the query and
// the planner off the heap, which the general way cannot.
func single(q *Query, a asked) (Plan, bool) {
	p := planner{q: q, tier: tierNamed(q.Needs.Tier)}
	if q.Preferences.MaxPrice != nil {
		p.ceilings = q.Preferences.MaxPrice.ceilings()
	}
	ep := a.model.Endpoints[0]
	if p.drop(ep, a.variant) != Kept || len(q.Preferences.Order) > 0 {
		return Plan{}, false
	}
	plan := Plan{Attempts: []Attempt{{Endpoint: ep, Slug: q.Models[0], Variant: a.variant}}}
	if q.Explain {
		plan.Candidates = []Candidate{{Endpoint: ep, Slug: q.Models[0], Order: 1, Reason: ReasonOnly}}
	}
	return plan, true
}

func choose(q Query, snap *catalog.Snapshot) (Plan, error) {
	p := planner{q: &q, tier: tierNamed(q.Needs.Tier), ceilings: q.Preferences.MaxPrice.ceilings()}
	models := make([]asked, 0, len(q.Models))
	total := 0
	retired := q.dropRetired(snap)
	for _, name := range q.Models {
		a, err := resolve(name, &q, snap)
		if err != nil {
			return Plan{}, err
		}
		models = append(models, a)
		total += len(a.model.Endpoints)
	}
	if len(q.Own) > 0 {
		total *= 2
	}
	if len(models) == 0 {
		return Plan{}, fault.Field("routing.Choose", "model", "model is required: a slug such as vendor/model.")
	}
	p.cands = make([]candidate, 0, total)
	p.order = make([]*candidate, 0, total)
	plan, err := p.plan(models)
	if err != nil && p.shortened() {
		plan, err = p.plan(models)
	}
	plan.Retired = retired
	return plan, err
}

// shortened begins again with a shorter answer, where the length of it is why an endpoint was dropped. Clients write the largest number that they
// know, or a default of their own, whatever the model has; one that must have it says so with require_parameters.
func (p *planner) shortened() bool {
	if p.q.Preferences.RequireParameters || p.q.Needs.Cut || p.q.Needs.MaxTokens == 0 {
		return false
	}
	if !slices.ContainsFunc(p.cands, func(c candidate) bool { return c.dropped == MaxCompletionTokens || c.dropped == ContextLength }) {
		return false
	}
	p.q.Needs.Cut = true
	p.cands, p.order = p.cands[:0], p.order[:0]
	return true
}

// dropRetired takes models that have retired out of the list, unless no other is left, and returns them.
func (q *Query) dropRetired(snap *catalog.Snapshot) (gone []string) {
	left := make([]string, 0, len(q.Models))
	for _, name := range q.Models {
		if _, retired := snap.Retired(name); retired {
			gone = append(gone, name)
		} else {
			left = append(left, name)
		}
	}
	if len(gone) == 0 || len(left) == 0 {
		return nil
	}
	q.Models = left
	return gone
}

// asked is one entry of the model list.
type asked struct {
	model   *catalog.Model
	variant catalog.Variant
}

// tierNamed folds the service tiers of the wire into those that endpoints have.
func tierNamed(name string) string {
	switch name {
	case "flex":
		return "flex"
	case "priority", "fast":
		return "priority"
	}
	return ""
}

func resolve(name string, q *Query, snap *catalog.Snapshot) (asked, error) {
	if len(name) > catalog.MaxSlugBytes {
		return asked{}, fault.Field("routing.Choose", "model", "A model id must have at most %d bytes.", catalog.MaxSlugBytes)
	}
	m, variant, ok := snap.Resolve(name)
	_, retired := snap.Retired(name)
	if !ok || retired {
		err := Unknown(name, cmp.Or(q.Type, catalog.TypeChat), snap)
		err.Param = paramOf(name, q)
		err.Details["requested_models"] = slices.Clone(q.Models)
		return asked{}, err
	}
	if want := cmp.Or(q.Type, catalog.TypeChat); m.Type != want {
		err := fault.Newf(fault.WrongEndpoint, "routing.Choose", "The model %q is of type %s and cannot be used here; this route serves type %s.", name, m.Type, want)
		err.Param = paramOf(name, q)
		return asked{}, err
	}
	return asked{m, variant}, nil
}

// suggestions is how many names an unknown model's error has at most.
const suggestions = 3

// Unknown is the error for a model of a type that is not in the catalog. It suggests what the client may have meant.
func Unknown(name, kind string, snap *catalog.Snapshot) *fault.Error {
	err := fault.Newf(fault.ModelNotFound, "routing.Unknown", "The model %q does not exist.", name)
	err.Param, err.Details = "model", map[string]any{}
	if day, ok := snap.Retired(name); ok {
		err.Public = fmt.Sprintf("The model %q has retired: no provider serves it since %s.", name, day.Format(time.DateOnly))
		err.Details["retired"] = day.Format(time.DateOnly)
	}
	if near := snap.Nearest(name, kind, suggestions); len(near) > 0 {
		err.Public += " Did you mean " + strings.Join(near, " or ") + "?"
		err.Details["suggestions"] = near
	}
	err.Public += " GET /v1/models lists all."
	return err
}

func paramOf(name string, q *Query) string {
	if len(q.Models) > 0 && q.Models[0] == name {
		return "model"
	}
	return "models"
}

func (p *planner) plan(models []asked) (Plan, error) {
	for i, a := range models {
		from := len(p.cands)
		for _, ep := range a.model.Endpoints {
			p.cands = append(p.cands, candidate{ep: ep, model: i, dropped: p.drop(ep, a.variant)})
		}
		p.narrow(p.cands[from:])
		p.addOwn(a, i, from)
	}
	p.arrange(models)
	plan := Plan{Attempts: p.pick(models)}
	if p.q.Explain {
		plan.Candidates = p.explain(models)
	}
	if len(plan.Attempts) == 0 {
		return plan, p.nothingLeft(models)
	}
	return plan, nil
}

// narrow applies to candidates of one model the filters that choose among what the others left.
func (p *planner) narrow(cands []candidate) {
	if p.tier == "flex" {
		flexOnly(cands)
	}
	p.whole(cands)
	p.soften(cands)
}

// arrange puts the remaining candidates into p.order, model by model or, when the request asks for it, all models together.
func (p *planner) arrange(models []asked) {
	together := p.together()
	from := 0
	for i := range p.cands {
		if p.cands[i].dropped == Kept {
			p.order = append(p.order, &p.cands[i])
		}
		last := i+1 == len(p.cands) || p.cands[i+1].model != p.cands[i].model
		if last && !together {
			p.sortGroup(p.order[from:], models[p.cands[i].model].variant)
			from = len(p.order)
		}
	}
	if together {
		p.sortGroup(p.order, catalog.NoVariant)
	}
	p.order = slices.DeleteFunc(p.order, func(c *candidate) bool { return c.dropped != Kept })
	if p.q.Health != nil {
		p.coolDown()
	}
}

// coolDown moves endpoints in cool-down to the very end, and ejected ones after them.
func (p *planner) coolDown() {
	rank := func(c *candidate) int {
		switch {
		case c.health.Ejected:
			return 2
		case c.health.CoolDown:
			return 1
		}
		return 0
	}
	for _, c := range p.order {
		switch rank(c) {
		case 1:
			c.reason, c.score = ReasonCoolDown, c.rubles()
		case 2:
			c.reason, c.score = ReasonEjected, c.rubles()
		}
	}
	slices.SortStableFunc(p.order, func(a, b *candidate) int { return rank(a) - rank(b) })
}

// together reports whether endpoints of all models are sorted as one list.
func (p *planner) together() bool {
	pref := &p.q.Preferences
	return pref.SortAcrossModels && len(pref.Order) == 0 && pref.Sort != "" && pref.Sort != "exacto"
}

// sortGroup orders the candidates of one model, or of all when they are sorted together.
func (p *planner) sortGroup(group []*candidate, v catalog.Variant) {
	group = p.splitOwn(group)
	if len(group) == 0 {
		return
	}
	p.measure(group)
	pref := &p.q.Preferences
	by := p.sortBy(v)
	switch {
	case len(pref.Order) > 0:
		p.byOrder(group, by, v)
	case len(group) == 1:
		group[0].reason = ReasonOnly
		return
	case by != "":
		sortBy(group, by)
	default:
		p.balance(group)
	}
	if p.tier == "priority" && len(pref.Order) == 0 {
		priorityFirst(group, strings.TrimPrefix(pref.Sort, "exacto"))
	}
	slices.SortStableFunc(group, func(a, b *candidate) int { return falseFirst(a.late, b.late) })
}

// measure sets the values by which candidates are compared.
func (p *planner) measure(group []*candidate) {
	pref := &p.q.Preferences
	cut := pref.MinThroughput != Cutoffs{} || pref.MaxLatency != Cutoffs{}
	for _, c := range group {
		if p.q.Price != nil {
			c.price = int64(p.q.Price(c.ep))
		} else {
			prices := p.prices(c.ep)
			c.price = prices.Prompt.Nano + prices.Completion.Nano
		}
		if p.q.Health != nil && len(p.cands) > 1 && c.ep.Own == nil {
			c.health = p.q.Health(c.ep.ID)
		}
		c.late = cut && (!pref.MinThroughput.reached(c.health.Throughput) || !pref.MaxLatency.kept(c.health.Latency))
	}
}

// reached reports whether measured values are at least the cutoffs; without a measurement it is false.
func (c Cutoffs) reached(m [4]float64) bool {
	for i, limit := range c.list() {
		if limit > 0 && m[i] < limit {
			return false
		}
	}
	return true
}

// kept reports whether measured values are at most the cutoffs; without a measurement it is false.
func (c Cutoffs) kept(m [4]float64) bool {
	for i, limit := range c.list() {
		if limit > 0 && (m[i] == 0 || m[i] > limit) {
			return false
		}
	}
	return true
}

func (c Cutoffs) list() [4]float64 { return [4]float64{c.P50, c.P75, c.P90, c.P99} }

// sortBy is the criterion in force: the request's own, else that of the suffix or of the flex tier, else none.
func (p *planner) sortBy(v catalog.Variant) string {
	by := p.q.Preferences.Sort
	switch {
	case by == "exacto":
		return ""
	case by != "":
		return by
	case v == catalog.Nitro:
		return "throughput"
	case v == catalog.Floor, p.tier == "flex":
		return "price"
	}
	return ""
}

// byOrder puts the endpoints that provider.order names first, in its order, and the others after them or, without fallbacks, out.
func (p *planner) byOrder(group []*candidate, by string, v catalog.Variant) {
	order := p.q.Preferences.Order
	for _, c := range group {
		for i, entry := range order {
			if names(entry, c.ep, p.asksForTier(c.ep, v)) {
				c.listed = i + 1
				break
			}
		}
		if c.listed == 0 && p.q.Preferences.NoFallbacks {
			c.dropped = AllowFallbacks
		}
	}
	if by == "" {
		by = "price"
	}
	sortBy(group, by)
	slices.SortStableFunc(group, func(a, b *candidate) int {
		if a.listed == 0 || b.listed == 0 {
			return falseFirst(a.listed == 0, b.listed == 0)
		}
		return cmp.Compare(a.listed, b.listed)
	})
	for _, c := range group {
		switch {
		case c.listed > 0:
			c.reason, c.score = ReasonOrder, float64(c.listed)
		case p.q.Preferences.Sort == "" || p.q.Preferences.Sort == "exacto":
			c.reason, c.score = ReasonAfter, c.rubles()
		}
	}
}

// sortBy sorts by price, throughput or latency; candidates without a measurement come last, equal ones are sorted by price and then by
// id.
func sortBy(group []*candidate, by string) {
	slices.SortStableFunc(group, func(a, b *candidate) int {
		switch by {
		case "throughput":
			if d := cmp.Compare(b.health.Throughput[0], a.health.Throughput[0]); d != 0 {
				return d
			}
		case "latency":
			x, y := a.health.Latency[0], b.health.Latency[0]
			if d := falseFirst(x == 0, y == 0); d != 0 {
				return d
			}
			if d := cmp.Compare(x, y); d != 0 {
				return d
			}
		}
		return byPrice(a, b)
	})
	for _, c := range group {
		switch by {
		case "throughput":
			c.reason, c.score = ReasonThroughput, c.health.Throughput[0]
		case "latency":
			c.reason, c.score = ReasonLatency, c.health.Latency[0]
		default:
			c.reason, c.score = ReasonPrice, c.rubles()
		}
	}
}

func byPrice(a, b *candidate) int {
	if d := cmp.Compare(a.price, b.price); d != 0 {
		return d
	}
	return strings.Compare(a.ep.ID, b.ep.ID)
}

// rubles is the price for display.
func (c *candidate) rubles() float64 { return float64(c.price) / float64(money.Ruble) }

// balance is the default order: stable endpoints before failing ones, each part by the operator's places and then by price, and one of the
// stable ones of the first place drawn to the front with a chance in proportion to its weight, which is 1/price² unless an operator set
// another. The draw leaves out what would be moved to the end again anyway, when it can.
func (p *planner) balance(group []*candidate) {
	unstable := func(c *candidate) bool { return c.health.Failing || c.health.CoolDown || c.health.Ejected }
	slices.SortStableFunc(group, func(a, b *candidate) int {
		if d := falseFirst(unstable(a), unstable(b)); d != 0 {
			return d
		}
		if d := cmp.Compare(placeOf(a), placeOf(b)); d != 0 {
			return d
		}
		return byPrice(a, b)
	})
	stable, prompt := 0, 0
	for _, c := range group {
		c.reason, c.score = ReasonFallback, c.rubles()
		if c.ep.Place > 0 {
			c.reason, c.score = ReasonPlace, float64(c.ep.Place)
		}
		switch {
		case unstable(c):
			c.reason = ReasonFailing
		case c.late:
			stable++
		default:
			stable++
			prompt++
		}
	}
	if stable == 0 || p.cheapest(group[:stable]) || p.stick(group[:stable]) {
		return
	}
	inTime := func(c *candidate) bool { return prompt == 0 || !c.late }
	first := group[slices.IndexFunc(group[:stable], inTime)]
	p.draw(group[:stable], func(c *candidate) bool { return inTime(c) && c.ep.Place == first.ep.Place })
}

// placeOf is the operator's place of an endpoint; those without one come after all others.
func placeOf(c *candidate) int64 { return cmp.Or(c.ep.Place, math.MaxInt64) }

// stick moves the preferred candidate to the front, unless it would be moved to the end again.
func (p *planner) stick(group []*candidate) bool {
	if p.q.Prefer == "" {
		return false
	}
	for i, c := range group {
		if c.ep.ID == p.q.Prefer && !c.late {
			c.reason, c.score = ReasonSticky, c.rubles()
			copy(group[1:i+1], group[:i])
			group[0] = c
			return true
		}
	}
	return false
}

// draw moves one of the candidates to the front. They come sorted by price.
func (p *planner) draw(group []*candidate, eligible func(*candidate) bool) {
	weighted := slices.ContainsFunc(group, func(c *candidate) bool { return c.ep.Weight > 0 && eligible(c) })
	least := int64(0) // cheapest price that is not zero
	for _, c := range group {
		if c.price > 0 && eligible(c) {
			least = c.price
			break
		}
	}
	// weights are relative to the cheapest, so that they stay near 1 whatever the currency
	weight := func(c *candidate) float64 {
		switch {
		case !eligible(c):
			return 0
		case weighted:
			return float64(max(c.ep.Weight, 1))
		case least == 0:
			return 1
		case c.price == 0:
			return 100
		}
		r := float64(least) / float64(c.price)
		return r * r
	}
	sum := 0.0
	for _, c := range group {
		sum += weight(c)
	}
	at := 0.0
	if p.q.Rand != nil {
		at = p.q.Rand() * sum
	}
	drawn := -1
	for i, c := range group {
		w := weight(c)
		if w == 0 {
			continue
		}
		drawn = i
		if at -= w; at < 0 {
			break
		}
	}
	c := group[drawn]
	c.reason, c.score = ReasonWeight, weight(c)/sum
	copy(group[1:drawn+1], group[:drawn])
	group[0] = c
}

// priorityFirst moves the priority tier to the front, by throughput unless the request sorts otherwise.
func priorityFirst(group []*candidate, explicit string) {
	isPriority := func(c *candidate) bool { return c.ep.Tier == "priority" }
	slices.SortStableFunc(group, func(a, b *candidate) int {
		if d := falseFirst(!isPriority(a), !isPriority(b)); d != 0 || !isPriority(a) || explicit != "" {
			return d
		}
		if d := cmp.Compare(b.health.Throughput[0], a.health.Throughput[0]); d != 0 {
			return d
		}
		return byPrice(a, b)
	})
	for _, c := range group {
		if isPriority(c) && explicit == "" {
			c.reason, c.score = ReasonPriority, c.health.Throughput[0]
		}
	}
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// pick decides which of p.order become attempts, numbers them, and makes them.
func (p *planner) pick(models []asked) []Attempt {
	left := cmp.Or(p.q.MaxAttempts, DefaultMaxAttempts)
	if len(models) > 1 {
		p.dropRepeats()
	}
	if p.q.Preferences.NoFallbacks && len(p.q.Preferences.Order) == 0 {
		p.firstOfEach(len(models), func(c *candidate, first bool) {
			if !first {
				c.dropped = AllowFallbacks
			}
		})
		p.order = slices.DeleteFunc(p.order, func(c *candidate) bool { return c.dropped != Kept })
	}
	if len(p.order) <= left {
		for _, c := range p.order {
			c.place = 1
		}
	} else {
		if !p.together() {
			p.firstOfEach(len(models), func(c *candidate, first bool) {
				if first && left > 0 {
					c.place, left = 1, left-1
				}
			})
		}
		for _, c := range p.order {
			if c.place == 0 && left > 0 {
				c.place, left = 1, left-1
			}
		}
	}
	attempts := make([]Attempt, 0, min(len(p.order), cmp.Or(p.q.MaxAttempts, DefaultMaxAttempts)))
	for _, c := range p.order {
		if c.place == 0 {
			continue
		}
		attempts = append(attempts, Attempt{Endpoint: c.ep, Slug: p.q.Models[c.model], Variant: models[c.model].variant})
		c.place = len(attempts)
	}
	return attempts
}

// firstOfEach visits p.order and reports which candidate is the first of its entry in the model list.
func (p *planner) firstOfEach(models int, visit func(c *candidate, first bool)) {
	var room [16]bool
	seen := room[:]
	if models > len(room) {
		seen = make([]bool, models)
	}
	for _, c := range p.order {
		visit(c, !seen[c.model])
		seen[c.model] = true
	}
}

// dropRepeats keeps each endpoint once: the list may name a model twice, with different suffixes.
func (p *planner) dropRepeats() {
	for i, c := range p.order {
		for _, earlier := range p.order[:i] {
			if same(earlier.ep, c.ep) && earlier.dropped == Kept {
				c.dropped = Duplicate
				break
			}
		}
	}
	p.order = slices.DeleteFunc(p.order, func(c *candidate) bool { return c.dropped != Kept })
}

// nothingLeft is the error of a plan without attempts.
func (p *planner) nothingLeft(models []asked) error {
	var by [filters]bool
	for i := range p.cands {
		by[p.cands[i].dropped] = true
	}
	excluded := []string{}
	for f := AllowedModels; f < filters; f++ {
		if by[f] {
			excluded = append(excluded, f.String())
		}
	}
	details := map[string]any{"excluded_by": excluded, "requested_models": slices.Clone(p.q.Models)}
	which := fmt.Sprintf("the model %q", p.q.Models[0])
	if len(models) > 1 {
		which = "the models of this request"
	}
	if len(excluded) == 1 && by[AllowedModels] {
		err := fault.Newf(fault.PermissionDenied, "routing.Choose", "This key may not call %s. It may call %s.", which, listed(p.q.Preferences.Models))
		err.Details, err.Param = details, paramOf(p.q.Models[0], p.q)
		return err
	}
	if by[OutOfService] {
		err := fault.Newf(fault.NoProvider, "routing.Choose", "The operator has taken each provider of %s out of service. Try again later, or name other models in models.", which)
		err.Details = details
		return err
	}
	if by[OwnKeysFilter] {
		if err := p.noOwn(models, which, details); err != nil {
			return err
		}
	}
	if err := p.tooManyTokens(which, details); err != nil {
		return err
	}
	if len(excluded) == 1 && by[ContextLength] {
		return p.tooLong(details)
	}
	if len(excluded) == 1 && by[InputModalities] && p.q.Type != "" {
		err := fault.Field("routing.Choose", "input", "No provider serves %s with this input: it takes text only.", which)
		err.Details = details
		return err
	}
	if by[InputModalities] && p.onlyFiles() {
		err := fault.Field("routing.Choose", "messages",
			"No provider of %s takes files, and this request does not use the file-parser plugin.", which)
		err.Details = details
		return err
	}
	if by[WebFilter] {
		err := fault.Newf(fault.Invalid, "routing.Choose", "No provider of %s has a web search, and this gateway has no other: "+
			"leave out the web plugin, or the suffix :online.", which)
		err.Details, err.Param = details, "plugins"
		if p.q.Needs.Search {
			return err
		}
		for i, a := range models {
			if a.variant == catalog.Online {
				err.Param = paramOf(p.q.Models[i], p.q)
				break
			}
		}
		return err
	}
	if by[UnpricedFilter] {
		return p.nobodyPriced(models, which, details)
	}
	if len(excluded) == 1 && by[TokenizerFilter] {
		err := fault.Field("routing.Choose", "input", "No provider of %s takes tokens. Send the texts.", which)
		err.Details = details
		return err
	}
	err := fault.Newf(fault.NoEndpoints, "routing.Choose", "No provider is left for %s: each endpoint was excluded by %s.", which, strings.Join(excluded, ", "))
	if len(excluded) == 0 {
		err.Public = fmt.Sprintf("No provider serves %s at present.", which)
	}
	if missing := p.missing(); missing != 0 {
		err.Public += fmt.Sprintf(" The parameters that this request requires and they lack: %s. Leave them out, or do without require_parameters.", strings.Join(missing.Names(), ", "))
		details["missing_parameters"] = missing.Names()
	}
	err.Details = details
	return err
}

// missing are the parameters for whose sake require_parameters excluded endpoints.
func (p *planner) missing() (all catalog.Params) {
	for i := range p.cands {
		if c := &p.cands[i]; c.dropped == RequireParameters {
			all |= p.q.Needs.Params &^ c.ep.Carried()
		}
	}
	return all
}

// tooManyTokens is the error when every endpoint allows fewer answer tokens than the request asks for, whatever its prompt; nil when it is
// another reason that excludes them.
func (p *planner) tooManyTokens(which string, details map[string]any) error {
	var bounds []int64
	for i := range p.cands {
		c := &p.cands[i]
		bound := cmp.Or(c.ep.MaxCompletion, c.ep.ContextLength)
		if c.dropped != ContextLength && c.dropped != MaxCompletionTokens || p.q.Needs.MaxTokens <= bound {
			return nil
		}
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	if bounds = slices.Compact(bounds); len(bounds) == 0 {
		return nil
	}
	name := cmp.Or(p.q.Needs.MaxTokensName, "max_tokens")
	details["max_tokens"] = bounds[len(bounds)-1]
	if len(bounds) == 1 {
		err := fault.Field("routing.Choose", name, "%s must be at most %d for %s.", name, bounds[0], which)
		err.Details = details
		return err
	}
	texts := make([]string, len(bounds))
	for i, n := range bounds {
		texts[i] = strconv.FormatInt(n, 10)
	}
	err := fault.Newf(fault.NoEndpoints, "routing.Choose", "No provider of %s allows %d tokens in %s: they allow at most %s.", which, p.q.Needs.MaxTokens, name, strings.Join(texts, ", "))
	err.Param, err.Details = name, details
	return err
}

// nobodyPriced is the error when endpoints would qualify, but all of them charge for something that has no price in the catalog.
func (p *planner) nobodyPriced(models []asked, which string, details map[string]any) error {
	paid := catalog.Paid(0)
	for i := range p.cands {
		if c := &p.cands[i]; c.dropped == UnpricedFilter {
			paid |= p.unpriced(c.ep, models[c.model].variant)
		}
	}
	err := fault.Newf(fault.NoEndpoints, "routing.Choose", "No provider of %s has a price for %s, which costs more than tokens. Leave it out, or choose a model with a price: "+
		"the prices of an endpoint are in GET /v1/models/{vendor}/{model}/providers.", which, paid)
	details["unpriced"] = paid.String()
	err.Details = details
	return err
}

// onlyFiles reports whether some endpoint would take the prompt but for the files in it, which a plugin could turn into text.
func (p *planner) onlyFiles() bool {
	for i := range p.cands {
		if c := &p.cands[i]; c.dropped == InputModalities && p.q.Needs.Input&^c.ep.Input == catalog.File {
			return true
		}
	}
	return false
}

// inputs are the names of the input fields of model types whose field is not called input.
var inputs = map[string]string{catalog.TypeImage: "prompt", catalog.TypeVideo: "prompt", catalog.TypeTranscription: "file", catalog.TypeRerank: "documents"}

// tooLong is the error when context length alone left nothing: the request is too big, not its preferences too narrow.
func (p *planner) tooLong(details map[string]any) error {
	longest := int64(0)
	for i := range p.cands {
		longest = max(longest, p.cands[i].ep.ContextLength)
	}
	n := &p.q.Needs
	if p.q.Type != "" {
		err := fault.Newf(fault.ContextLength, "routing.Choose", "This model's maximum context length is %d tokens. The request has about %d.", longest, cmp.Or(n.Longest, n.PromptTokens))
		err.Param, err.Details = cmp.Or(inputs[p.q.Type], "input"), details
		err.Overflow = fault.Overflow{Prompt: cmp.Or(n.Longest, n.PromptTokens), Limit: longest}
		return err
	}
	err := fault.Newf(fault.ContextLength, "routing.Choose",
		"This model's maximum context length is %d tokens. The request needs about %d: %d in the messages and %d for the answer.",
		longest, n.PromptTokens+n.MaxTokens, n.PromptTokens, n.MaxTokens)
	err.Param, err.Details = "messages", details
	err.Overflow = fault.Overflow{Prompt: n.PromptTokens, Output: n.MaxTokens, Limit: longest}
	return err
}
