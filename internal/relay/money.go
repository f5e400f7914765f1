package relay

import (
	"context"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/internal/budget"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/routing"
	"weir/internal/task"
	"weir/internal/usage"
)

// cover holds what the attempt may cost: its prompt and, for a whole answer, its full output bound, for a stream the first slice and the
// reasoning that its model may not show. The upper bound of a prompt is often twice its length: before refusing because of the balance,
// cover counts the prompt.
//
// rest are the attempts that may follow: see dearest.
func (x *run) cover(ctx context.Context, at *routing.Attempt, rest []routing.Attempt) *fault.Error {
	err := x.coverAll(ctx, at, rest)
	if err != nil && err.Kind == fault.PaymentRequired {
		return x.allowing(err, at.Endpoint, rest)
	}
	return err
}

// coverAll is cover, without what its refusal says of tokens.
func (x *run) coverAll(ctx context.Context, at *routing.Attempt, rest []routing.Attempt) *fault.Error {
	x.promptMost = 0
	need, err := x.dearest(at.Endpoint, rest)
	if err != nil {
		return fault.From(err)
	}
	refused := x.reserve(ctx, need)
	if refused == nil || refused.Kind != fault.PaymentRequired {
		return refused
	}
	first := x.hold == nil
	least, err := x.atLeast(at.Endpoint, rest)
	if err != nil || least >= need || x.reserve(ctx, least) != nil {
		return refused
	}
	media := x.req.Needs.MediaTokens // their upper bound does not follow from a count of the text
	x.promptMost = max(x.promptTokens()-media, 0)*3/2 + roomOfPrompt + max(x.req.Needs.MediaMost, media)
	if need, err = x.dearest(at.Endpoint, rest); err == nil {
		if refused = x.reserve(ctx, need); refused == nil {
			return nil
		}
	}
	if first {
		x.hold.Release()
		x.hold, x.rec.Hold = nil, 0
		refused = x.reserve(ctx, need) // the cost of the whole request
	}
	return refused
}

// allowing adds to a refusal how long an answer the money that is left allows. A client that names no max_tokens is held to the longest answer.
func (x *run) allowing(refused *fault.Error, ep *catalog.Endpoint, rest []routing.Attempt) *fault.Error {
	text, _ := refused.Details["available"].(string)
	available, err := money.Parse(text)
	if err != nil || !x.req.Chats() {
		return refused
	}
	asked := x.req
	defer func() { x.req = asked }()
	fits := func(tokens int64) bool {
		req := *asked
		req.MaxTokens, x.req = tokens, &req
		need, err := x.dearest(ep, rest)
		return err == nil && need <= available
	}
	least, most := int64(0), max(x.bound/int64(max(asked.N, 1)), 1) // the first fits, the second does not
	if fits(most) {
		return refused // the answer's length is not what costs too much
	}
	for most-least > 1 {
		if middle := least + (most-least)/2; fits(middle) {
			least = middle
		} else {
			most = middle
		}
	}
	if least == 0 {
		return refused
	}
	out := *refused
	out.Details = maps.Clone(refused.Details)
	out.Details["affordable_tokens"] = least
	out.Public += " What is left now allows max_tokens of up to " + strconv.FormatInt(least, 10) + "."
	return &out
}

// roomOfPrompt covers the differences between vocabularies in a short prompt.
const roomOfPrompt = 64

// atLeast is the hold of the attempt for the shortest possible prompt: if the balance is below that, nothing is counted.
func (x *run) atLeast(ep *catalog.Endpoint, rest []routing.Attempt) (money.Nano, error) {
	shortest := x.req.Needs.PromptTokens / 4
	x.promptMost = max(shortest, 1)
	defer func() { x.promptMost = 0 }()
	return x.dearest(ep, rest)
}

// reserve makes the hold one of at least need.
func (x *run) reserve(ctx context.Context, need money.Nano) *fault.Error {
	if x.hold == nil && x.call.Held != nil {
		x.hold, x.call.Held = x.call.Held, nil
		x.rec.Hold = x.hold.Amount()
	}
	if x.hold != nil {
		return x.grow(ctx, need-x.hold.Amount())
	}
	var err error
	caller := x.call.Caller
	x.hold, err = x.relay.Book.Hold(ctx, ledger.HoldRequest{Wallet: caller.Wallet, Key: caller.Key, Limits: caller.Limits(x.call.Limits), Amount: need})
	if err != nil {
		x.hold = nil
		return budget.Named(fault.From(err), x.budgets)
	}
	x.rec.Hold = need
	return nil
}

// grow holds so much more.
func (x *run) grow(ctx context.Context, extra money.Nano) *fault.Error {
	if extra <= 0 {
		return nil
	}
	if err := x.hold.Grow(ctx, extra); err != nil {
		return budget.Named(fault.From(err), x.budgets)
	}
	x.rec.Hold += extra
	return nil
}

// slice is how many answer tokens a stream's hold covers at first, and grows by.
func (x *run) slice() int64 { return x.relay.cfg.SliceTokens * int64(x.req.N) }

// usual is what the task usually costs at an endpoint. Routing compares endpoints by it: by what they charge for an image, a minute or a
// character, and not by their price of tokens alone.
func (x *run) usual(ep *catalog.Endpoint) money.Nano {
	t, prompt := x.call.Request.Task, x.call.Request.Needs.PromptTokens
	made := &task.Made{Done: true}
	u, _ := t.Consumed(made)
	if !u.Prompt.Reported {
		u.Prompt = usage.Of(prompt)
	}
	tariff := t.Tariff(ep.Pricing.At(x.call.At), u.Prompt.N, made)
	_, cost, err := usage.TaskCost(&u, &tariff)
	if err != nil {
		return math.MaxInt64
	}
	return cost
}

// asked has the request's bounds on its usage.
func (x *run) asked() usage.Ask {
	req := x.req
	needs := &req.Needs
	a := usage.Ask{Prompt: needs.PromptMost(), Open: needs.Open, Answers: int64(req.N), MaxTokens: req.MaxTokens,
		Calls: req.Calls(x.relay.cfg.HostedCalls), In: needs.Input, Out: needs.Output, LongCache: req.HasRoles&completion.HasCacheControl != 0}
	if x.promptMost > 0 {
		a.Prompt = min(a.Prompt, x.promptMost)
	}
	return a
}

// opening is the hold of an attempt at ep before it begins, and sets what the attempt may consume and what of that is held for. A
// stream's answer is held for step by step, except for the part that does not show while it arrives; everything else is held for at once.
func (x *run) opening(ep *catalog.Endpoint) (money.Nano, error) {
	if !x.req.Chats() {
		return x.taskNeed(ep)
	}
	x.open(ep)
	return x.mostAt(ep, &x.held, true)
}

// open sets what the attempt may consume, and what of that is held for.
func (x *run) open(ep *catalog.Endpoint) {
	a, needs, n := x.asked(), &x.req.Needs, int64(max(x.req.N, 1))
	x.most = usage.Bound(&a, ep)
	x.held = x.most
	x.held.Prompt.N = min(a.Found(), x.most.Prompt.N)
	if a.Open {
		x.held.Prompt.N = x.most.Prompt.N
	}
	a.Calls.Set(&x.held)
	if x.held.Images.N > 0 {
		x.held.Images.N = n
	}
	x.bound, x.unseen = x.most.Completion.N, 0
	capped := ep.MaxCompletion > 0 || x.req.MaxTokens > 0
	if !capped && ep.ContextLength > 0 {
		x.bound = min(x.bound, max(ep.ContextLength-needs.PromptTokens, 1)*n)
	}
	whole := x.bound
	if !capped && ep.ContextLength == 0 {
		whole = x.relay.cfg.DefaultOutput * n
	}
	x.covered = whole
	if silent := x.silent(ep, whole); x.req.Stream && silent < whole {
		x.covered, x.unseen = min(x.slice()+silent, x.bound), silent
	}
	x.held.Completion.N = x.covered
}

// mostAt is the highest cost of a consumption of up to u in a conversation at ep, with the price of a request or without.
func (x *run) mostAt(ep *catalog.Endpoint, u *usage.Usage, request bool) (money.Nano, error) {
	cost, err := usage.MostAt(u, &ep.Pricing.Dearest(x.held.Prompt.N).Base, request)
	if other := tierPricing(ep, x.req.Needs.Tier); err == nil && other != &ep.Pricing {
		var more money.Nano
		more, err = usage.MostAt(u, &other.Dearest(x.held.Prompt.N).Base, request)
		cost = max(cost, more)
	}
	return cost, err
}

// silent is how many tokens of an answer of at most that length an endpoint may reason without a word of it in the stream.
func (x *run) silent(ep *catalog.Endpoint, most int64) int64 {
	r := &x.req.Reasoning
	if ep.ReasonsInSight() && !r.Exclude {
		return 0
	}
	if ep.Provider.BudgetsReasoning() {
		if r.MaxTokens > 0 {
			n := int64(max(x.req.N, 1))
			return min(max(r.MaxTokens, r.BudgetOf(x.req.AnswerCap(ep.MaxCompletion))), most/n) * n
		}
		if x.req.Style != completion.Messages && (!r.Chosen() || r.Off()) || x.req.Style == completion.Messages && (!r.Set || r.Disabled) {
			return 0
		}
	}
	return most
}

// guard keeps a stream's hold ahead of its output. When the money ends, so does the stream.
func (x *run) guard(ctx context.Context) *fault.Error {
	slice, most := x.slice(), x.produced(x.meter.most())
	for most >= x.covered-slice/4 {
		if x.dry && (most <= x.covered || most < x.recount) {
			return nil // the present hold is enough for a little longer
		}
		more := min(slicesFor(most-x.covered, slice), x.bound-x.covered)
		if more <= 0 { // the answer is longer than it should be, if it is
			likely := x.produced(x.meter.likely())
			if likely <= x.covered {
				return nil
			}
			more = slicesFor(likely-x.covered, slice)
		}
		err := x.coverMost(ctx, more, slice)
		if x.dry = err != nil; err == nil || most <= x.covered {
			continue
		}
		counted := x.produced(x.meter.tokens(x.relay.Tokens)) // before anything reports that the balance ran out
		if counted > x.covered {
			return outOfMoney(err)
		}
		x.recount = most + max(x.covered-counted, leastRecount)
	}
	return nil
}

// slicesFor is a slice, and as many more as tokens fill: a provider that reports a billion tokens at once makes no million steps.
func slicesFor(tokens, slice int64) int64 { return slice * (1 + max(0, tokens)/slice) }

// coverMost covers so many further tokens, or as many slices of them as there is money for. It fails when it covers fewer than all. A store
// that is away is asked once.
func (x *run) coverMost(ctx context.Context, tokens, slice int64) *fault.Error {
	for part := tokens; tokens > 0; part = min(part, tokens) {
		if err := x.coverMore(ctx, part); err == nil {
			tokens -= part
		} else if part <= slice || err.Kind == fault.StorageUnavailable {
			return err
		} else {
			part = slice * max(1, part/2/slice)
		}
	}
	return nil
}

// leastRecount is how many tokens more there are to be before a stream's text is counted again.
const leastRecount = 8

// produced is the number of answer tokens after so many tokens of text: the upstream may have reported more, and hidden reasoning is not
// part of the text.
func (x *run) produced(text int64) int64 {
	d := x.meter.other(true, x.sellsImages())
	shown := text + d.Audio + d.Image + x.unseen
	if reported := x.meter.usage.Completion; reported.Valid() {
		return max(shown, min(reported.N, x.most.Completion.N))
	}
	return shown
}

func (x *run) sellsImages() bool { return x.serving.Endpoint.Pricing.Base.ImageOutputEach.Set }

// coverMore holds the cost of so many further answer tokens.
func (x *run) coverMore(ctx context.Context, tokens int64) *fault.Error {
	extra, err := x.answers(tokens)
	if err != nil {
		return fault.From(err)
	}
	_ = x.flush()
	if err := x.grow(ctx, extra); err != nil {
		return err
	}
	x.covered += tokens
	return nil
}

// answers is the highest cost of so many answer tokens.
func (x *run) answers(tokens int64) (money.Nano, error) {
	u := x.held
	u.Prompt, u.Images = usage.Count{}, usage.Count{}
	new(usage.Calls).Set(&u) // they are held for from the beginning
	u.Completion.N = tokens
	return x.mostAt(x.serving.Endpoint, &u, false)
}

// outOfMoney is the end of a stream whose hold cannot grow.
func outOfMoney(err *fault.Error) *fault.Error {
	end := *err
	end.Op, end.Next = "relay.guard", fault.Stop
	if end.Kind == fault.PaymentRequired {
		end.Public = "The balance ran out during this answer. Top up to continue."
		if end.Details["reason"] != nil { // a limit or a budget
			end.Public = "The money for this answer ran out. " + err.Public
		}
	}
	return &end
}

// settle turns the hold into a charge for what was consumed. It returns once the charge is in the journal, even when the client has gone.
// After an error nothing was charged.
func (x *run) settle() *fault.Error {
	x.settling = true
	ep := x.serving.Endpoint
	rec := x.rec
	u := &rec.Usage
	pricing, lines, cost, err := x.bill(ep, u)
	if err != nil || x.givenUp && cost > x.hold.Amount() { // the sum overflows: what was delivered is still charged
		lines, cost, u.Source = nil, x.hold.Amount(), usage.Capped
	}
	rec.Lines, rec.Cost = lines, cost
	rec.PriceList, rec.Rate, rec.SourcePrice = pricing.List, pricing.Rate, pricing.SourceFor(u.Prompt.N)
	rec.Model, rec.Provider, rec.ProviderName = x.serving.Slug, ep.Provider.ID, ep.Provider.Name
	rec.Endpoint, rec.UpstreamModel, rec.UpstreamID, rec.OwnKey = ep.ID, ep.UpstreamID, x.head.ID, ownKeyOf(ep)
	rec.Finish, rec.NativeFinish, rec.Notice = string(x.meter.finish), x.meter.native, x.head.Notice
	rec.Lost = x.lost()
	rec.Duration = x.since()
	if rec.FirstContent > 0 {
		rec.Generating = rec.Duration - rec.FirstContent
	}
	status := rec.Status
	if rec.Error == "" {
		rec.Status = 200
	}
	if err := x.relay.Book.Settle(context.Background(), x.hold, rec); err != nil {
		rec.Lines, rec.Cost, rec.Status = nil, 0, status
		return fault.From(err)
	}
	rec.Settled, x.settled = true, true
	if x.meter.watch && x.req.Chats() {
		x.relay.Loops.Called(rec.Key, rec.At, x.meter.tools)
	}
	if doubt := x.relay.Doubt; doubt != nil && u.Source&(usage.Capped|usage.TooLow) != 0 {
		doubt(rec)
	}
	return nil
}

// end sends the end of a settled answer.
func (x *run) end() error {
	rec := x.rec
	return x.sink.End(Receipt{Usage: rec.Usage, Cost: rec.Cost, PromptCost: usage.PromptCost(rec.Lines), Lost: rec.Lost, Cached: x.cached(), OwnKey: x.serving.Endpoint.Own != nil})
}

// bill sets u to what was consumed at an endpoint, and returns its cost and the prices. A cost above the hold is added to the hold. Where the balance
// does not allow that, the usage is cut to what the hold covers and one slice more of the answer: no call takes more than that from a
// wallet beyond its balance.
func (x *run) bill(ep *catalog.Endpoint, u *usage.Usage) (*catalog.Pricing, []usage.Line, money.Nano, error) {
	if !x.req.Chats() {
		return x.taskBill(ep, u)
	}
	x.consumed(u)
	pricing := tierPricing(ep, u.Tier).At(x.begun())
	if x.zeroCompletion(u) {
		lines, cost, err := usage.Cost(u, &free)
		return pricing, lines, cost, err
	}
	lines, cost, err := usage.Cost(u, pricing.For(u.Prompt.N))
	if err == nil && x.affords(cost) {
		return pricing, lines, cost, nil
	}
	x.cutToHold(u)
	pricing = ep.Pricing.At(x.begun())
	lines, cost, err = usage.Cost(u, pricing.For(min(u.Prompt.N, x.held.Prompt.N)))
	return pricing, lines, cost, err
}

// free has no price.
var free catalog.Prices

// cutToHold cuts what was consumed to what the hold covers and one slice more of the answer.
func (x *run) cutToHold(u *usage.Usage) {
	most := x.held
	if most.Completion.N = x.covered; !x.givenUp {
		most.Completion.N += x.slice()
	}
	u.Cut(&most, &most)
}

// begun is when the last attempt began: the hours of that moment are charged.
func (x *run) begun() time.Time {
	if n := len(x.rec.Attempts); n > 0 {
		return x.call.At.Add(x.rec.Attempts[n-1].Started)
	}
	return x.call.At
}

// affords reports whether the hold covers a cost, after adding the missing amount if the balance has it. Nothing is added for a call that was given up.
func (x *run) affords(cost money.Nano) bool {
	extra := cost - x.hold.Amount()
	if extra <= 0 || x.givenUp {
		return extra <= 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), affordWithin)
	defer cancel()
	return x.grow(ctx, extra) == nil
}

// affordWithin bounds how long a settlement waits for a store that does not answer.
const affordWithin = 2 * time.Second

// zeroCompletion is the rule that an answer without output and without a proper ending costs nothing.
func (x *run) zeroCompletion(u *usage.Usage) bool {
	return !x.givenUp && x.meter.bytes == 0 && x.meter.images == 0 && x.meter.audio == 0 && u.Completion.N == 0 && (x.meter.finish == "" || x.meter.finish == completion.Failed)
}

// tierPricing is the price of the service tier that the reply names, not of the one asked for. A request of a provider's batch costs what the
// batch does, and no other request does, whatever tier the reply names: providers name the tier that the request had inside the batch.
func tierPricing(ep *catalog.Endpoint, tier string) *catalog.Pricing {
	if own := ep.Own; own != nil {
		price := tierPricing(own.Of, tier)
		if price == &own.Of.Pricing {
			return &ep.Pricing
		}
		fee := own.Fee.Of(price)
		return &fee
	}
	if tier == "" || tier == ep.Tier || tier == catalog.BatchTier || ep.Tier == catalog.BatchTier {
		return &ep.Pricing
	}
	for _, other := range ep.Model.Endpoints {
		if other.Tier == tier && untiered(other) == untiered(ep) {
			return &other.Pricing
		}
	}
	return &ep.Pricing
}

// untiered is an endpoint's tag without its service tier: the same for all tiers of one offer.
func untiered(ep *catalog.Endpoint) string { return strings.TrimSuffix(ep.Tag, "/"+ep.Tier) }

// consumed sets u to the usage to bill: the upstream's where it is plausible, and the gateway's own count where it is not.
func (x *run) consumed(u *usage.Usage) {
	m := &x.meter
	*u = m.usage
	if u.Tier == "" {
		u.Tier = x.head.Tier
	}
	final := m.final(x.req.N)
	paid := x.req.Paid()
	if m.cited && paid&catalog.PaidWebSearch != 0 { // pages are cited, so there was a search, whether or not the provider counts it
		m.called[0] = max(m.called[0], 1)
	}
	m.called.Fill(u, final)
	u.Only(paid)
	if n := m.images; n > u.Images.N && !(u.Images.Reported && final) {
		u.Images = usage.Of(n) // hardly a provider of this wire counts them
	} else if n > u.Images.N {
		u.Source |= usage.TooLow
	}
	if u.Prompt.N <= 0 {
		u.Prompt.Reported = false // every prompt has at least one token
	}
	rough := m.other(x.req.Stream, x.sellsImages())
	rough.Text = m.likely()
	most, to := x.most, x.held
	most.Completion.N = max(most.Completion.N, rough.Tokens()) // at least what was delivered
	asked := x.asked()
	asked.Reread(&most, x.serving.Endpoint, u.Hosted())
	most.Images.N, to.Images.N = max(most.Images.N, m.images), max(to.Images.N, m.images)
	if rough.Audio > 0 {
		most.OutputAudio = most.Completion
	}
	if rough.Image > 0 {
		most.OutputImage = most.Completion
	}
	to.Completion = usage.Of(max(x.bound, rough.Tokens()))
	if !x.limited() { // by nothing but the hold
		to.Completion = usage.Of(max(x.covered, rough.Tokens()))
	}
	asked.Believed(&most, &to)
	to.Reasoning, to.Accepted, to.Rejected, to.OutputAudio, to.OutputImage = to.Completion, to.Completion, to.Completion, to.Completion, to.Completion
	u.Complete(&most, &to, final, &rough, x.promptTokens, func() usage.Delivered {
		own := rough
		own.Text = m.tokens(x.relay.Tokens)
		return own
	})
}

// limited reports whether the request or the offer bounds the answer.
func (x *run) limited() bool {
	ep := x.serving.Endpoint
	return ep.MaxCompletion > 0 || ep.ContextLength > 0 || x.req.MaxTokens > 0
}

// promptTokens counts the prompt of the attempt: its text, and the usual tokens of its media.
func (x *run) promptTokens() int64 {
	if x.req.Revised != 0 {
		if p, err := x.req.Prompt(); err == nil {
			return x.relay.Tokens.Count(p.Text()) + x.req.Needs.MediaTokens
		}
	} else if x.call.PromptText != nil {
		return x.relay.Tokens.Count(x.call.PromptText) + x.req.Needs.MediaTokens
	}
	return x.req.Needs.PromptTokens
}
