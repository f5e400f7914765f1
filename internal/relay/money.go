package relay

import (
	"context"
	"strings"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/routing"
	"weir/internal/usage"
)

// cover holds what the attempt may cost: its prompt and, for a whole answer, its full output bound, for a stream the first slice.
func (x *run) cover(ctx context.Context, at *routing.Attempt) *fault.Error {
	need, err := x.opening(at.Endpoint)
	if err != nil {
		return fault.From(err)
	}
	if x.hold != nil {
		return x.grow(ctx, need-x.hold.Amount())
	}
	caller := x.call.Caller
	x.hold, err = x.relay.Book.Hold(ctx, ledger.HoldRequest{Wallet: caller.Wallet, Key: caller.Key, Limit: keyLimit(caller.Limit), Amount: need})
	if err != nil {
		return fault.From(err)
	}
	x.rec.Hold = need
	return nil
}

// opening is what an attempt at ep holds before it begins.
func (x *run) opening(ep *catalog.Endpoint) (money.Nano, error) {
	if x.req.Task != nil {
		return x.taskNeed(ep)
	}
	x.bound = x.outputBound(ep)
	x.covered = x.bound
	if x.req.Stream {
		x.covered = min(x.slice(), x.bound)
	}
	return x.need(ep)
}

// grow holds so much more.
func (x *run) grow(ctx context.Context, extra money.Nano) *fault.Error {
	if extra <= 0 {
		return nil
	}
	if err := x.hold.Grow(ctx, extra); err != nil {
		return fault.From(err)
	}
	x.rec.Hold += extra
	return nil
}

func keyLimit(l *apikey.Limit) *ledger.KeyLimit {
	if l == nil {
		return nil
	}
	return &ledger.KeyLimit{Amount: l.Amount, Reset: ledger.Reset(l.Reset)}
}

// slice is how many answer tokens a stream's hold covers at first, and grows by.
func (x *run) slice() int64 { return x.relay.cfg.SliceTokens * int64(x.req.N) }

// boundless is more tokens than any answer has, and few enough to have a price.
const boundless = 1_000_000_000

// outputBound is the most tokens that the answer can have. A stream that nothing bounds may go on for as long as its hold grows.
func (x *run) outputBound(ep *catalog.Endpoint) int64 {
	req := x.req
	bound := ep.MaxCompletion
	if bound == 0 && ep.ContextLength > 0 {
		bound = max(ep.ContextLength-req.Needs.PromptTokens, 1)
	}
	if req.MaxTokens > 0 && (bound == 0 || req.MaxTokens < bound) {
		bound = req.MaxTokens
	}
	switch n := int64(req.N); {
	case bound > 0:
		return min(bound, max(boundless/n, 1)) * n
	case req.Stream:
		return boundless
	default:
		return x.relay.cfg.DefaultOutput * n
	}
}

// need is what the call can cost at most on ep, as far as its output is covered: every kind of token at the dearest price that
// may apply to it.
func (x *run) need(ep *catalog.Endpoint) (money.Nano, error) {
	needs := &x.req.Needs
	p := ep.Pricing.For(needs.PromptTokens)
	in := dearest(p.Prompt, p.CacheWrite)
	if x.req.HasRoles&completion.HasCacheControl != 0 {
		in = dearest(in, p.CacheWrite1h)
	}
	if needs.Input&catalog.Audio != 0 {
		in = dearest(in, p.Audio)
	}
	if needs.Input&catalog.Image != 0 {
		in = dearest(in, p.Image)
	}
	var sum money.Sum
	sum.PerThousand(needs.PromptTokens, in.Nano)
	sum.PerThousand(x.covered, x.answerPrice(&p).Nano)
	sum.Each(1, p.Request.Nano)
	if needs.Web {
		sum.Each(1, p.WebSearch.Nano)
	}
	if (needs.Output|ep.Output)&catalog.Image != 0 { // some models draw without being asked
		sum.Each(int64(x.req.N), p.ImageOutputEach.Nano)
	}
	return sum.Ceil()
}

// answerPrice is the dearest price that may apply to an answer token.
func (x *run) answerPrice(p *catalog.Prices) money.Price {
	out := dearest(p.Completion, p.Reasoning)
	if x.req.Needs.Output&catalog.Audio != 0 {
		out = dearest(out, p.AudioOutput)
	}
	if x.req.Needs.Output&catalog.Image != 0 {
		out = dearest(out, p.ImageOutput)
	}
	return out
}

func dearest(a, b money.Price) money.Price {
	if b.Set && b.Nano > a.Nano {
		return b
	}
	return a
}

// guard keeps a stream's hold ahead of its output. When the money ends, so does the stream, with a debt of at most one slice.
func (x *run) guard(ctx context.Context) *fault.Error {
	slice, produced := x.slice(), x.meter.produced()
	for x.covered < x.bound && produced >= x.covered-slice/4 {
		if x.dry && produced < x.covered {
			return nil // what is held lasts a little longer
		}
		err := x.coverMore(ctx, min(slice, x.bound-x.covered))
		x.dry = err != nil
		if err != nil && produced >= x.covered {
			return outOfMoney(err)
		}
	}
	return nil
}

// coverMore holds what so many further answer tokens can cost.
func (x *run) coverMore(ctx context.Context, tokens int64) *fault.Error {
	p := x.serving.Endpoint.Pricing.For(x.req.Needs.PromptTokens)
	var sum money.Sum
	sum.PerThousand(tokens, x.answerPrice(&p).Nano)
	extra, err := sum.Ceil()
	if err != nil {
		return fault.From(err)
	}
	if err := x.grow(ctx, extra); err != nil {
		return err
	}
	x.covered += tokens
	return nil
}

// outOfMoney is the end of a stream whose hold cannot grow.
func outOfMoney(err *fault.Error) *fault.Error {
	end := *err
	end.Op, end.Next = "relay.guard", fault.Stop
	if end.Kind == fault.PaymentRequired {
		end.Public = "The balance ran out during this answer, so it ends here."
	}
	return &end
}

// settle turns the hold into a charge for what was consumed. It returns once the charge is in the journal, whether or not the
// client is still there. After an error nothing was charged.
func (x *run) settle() (Receipt, *fault.Error) {
	x.settling = true
	ep := x.serving.Endpoint
	u, pricing, lines, cost, err := x.bill(ep)
	if err != nil { // a sum that does not fit: what was delivered is not free for that
		lines, cost, u.Source = nil, x.hold.Amount(), usage.Capped
	}
	rec := x.rec
	rec.Usage, rec.Lines, rec.Cost = u, lines, cost
	rec.PriceList, rec.Rate, rec.SourcePrice = pricing.List, pricing.Rate, pricing.Source
	rec.Model, rec.Provider, rec.ProviderName = x.serving.Slug, ep.Provider.ID, ep.Provider.Name
	rec.Endpoint, rec.UpstreamModel, rec.UpstreamID = ep.ID, ep.UpstreamID, x.head.ID
	rec.Finish, rec.NativeFinish, rec.Notice = string(x.meter.finish), x.meter.native, x.head.Notice
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
		return Receipt{}, fault.From(err)
	}
	rec.Settled, x.settled = true, true
	return Receipt{Usage: u, Cost: cost, PromptCost: usage.PromptCost(lines)}, nil
}

// bill is what was consumed at an endpoint and what it costs, by which prices.
func (x *run) bill(ep *catalog.Endpoint) (usage.Usage, *catalog.Pricing, []usage.Line, money.Nano, error) {
	if x.req.Task != nil {
		return x.taskBill(ep)
	}
	u := x.consumed()
	pricing := tierPricing(ep, u.Tier)
	prices := pricing.For(u.Prompt.N)
	if x.zeroCompletion(&u) {
		prices = catalog.Prices{}
	}
	lines, cost, err := usage.Cost(u, prices)
	return u, pricing, lines, cost, err
}

// zeroCompletion is the rule that an answer without output and without a proper ending costs nothing.
func (x *run) zeroCompletion(u *usage.Usage) bool {
	return x.meter.bytes == 0 && x.meter.images == 0 && u.Completion.N == 0 && (x.meter.finish == "" || x.meter.finish == completion.Failed)
}

// tierPricing is the price of the service tier that the reply names, not of the one asked for.
func tierPricing(ep *catalog.Endpoint, tier string) *catalog.Pricing {
	if tier == "" || tier == ep.Tier {
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

// consumed is the usage to bill: what the upstream reported, where it is believable, and our own count where it is not.
func (x *run) consumed() usage.Usage {
	u := x.meter.usage
	if u.Tier == "" {
		u.Tier = x.head.Tier
	}
	if n := x.meter.images; !u.Images.Reported && n > 0 {
		u.Images = usage.Of(n) // no provider of this wire counts them
	}
	needs := &x.req.Needs
	bounds := usage.Bounds{Prompt: needs.PromptTokens, Completion: x.covered}
	if needs.Web {
		bounds.Searches = 1
	}
	if needs.Output&catalog.Image != 0 {
		bounds.Images = int64(x.req.N)
	}
	return u.Completed(bounds, func() (prompt, answer int64) {
		return x.promptTokens(), x.meter.tokens(x.relay.Tokens)
	})
}

// promptTokens counts the prompt that the attempt has sent.
func (x *run) promptTokens() int64 {
	if x.req.Revised != 0 {
		if p, err := x.req.Prompt(); err == nil {
			return x.relay.Tokens.Count(p.Text())
		}
	} else if x.call.PromptText != nil {
		return x.relay.Tokens.Count(x.call.PromptText)
	}
	return x.req.Needs.PromptTokens
}
