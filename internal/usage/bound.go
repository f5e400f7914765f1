package usage

import (
	"cmp"
	"math"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Ask is what of a request bounds what it can consume, wherever it is sent.
type Ask struct {
	Prompt    int64            // tokens at most: of all text, and of media whose size is known
	Open      bool             // some media are of unknown size: they may fill the context
	Answers   int64            // asked for; 0 is one
	MaxTokens int64            // of each answer; 0: missing
	Calls     Calls            // of tools that the provider runs, that it may cause
	In, Out   catalog.Modality // kinds of content that go in, and that are wanted out
	LongCache bool             // some of the prompt may be written to the one-hour cache
}

// What is believed of an upstream beyond what follows from request and offer.
const (
	ownPrompt     = 4096    // tokens of instructions that providers put in front of a prompt
	foundPages    = 16_384  // tokens of pages that one search, or another tool of the provider, puts into a prompt
	unaskedFinds  = 32      // searches by models that search without being asked, and calls of tools that they were given
	imagesEach    = 16      // images of one answer
	openContext   = 1 << 20 // tokens of a context of unknown length
	mostPlausible = 1 << 40 // of anything
)

// Bound is the most that a call can consume at ep: what an upstream reports beyond is not believed, and what is held for a call
// is derived from it. Only the counts that can occur are above zero.
func Bound(a *Ask, ep *catalog.Endpoint) Usage {
	n := max(a.Answers, 1)
	context := ep.ContextLength
	prompt := plus(a.Found(), ownPrompt)
	if context <= 0 {
		context = max(openContext, prompt)
	}
	if prompt = min(prompt, context); a.Open || a.In&^catalog.Text != 0 { // a small file may have any number of pages
		prompt = context
	}
	u := Usage{Prompt: Of(prompt), Requests: Of(1), WebSearches: Of(unaskedFinds)}
	for i, calls := range a.Calls {
		if calls > 0 {
			*u.of(hosted[i].kind) = Of(max(calls, unaskedFinds))
		}
	}
	answer := a.each(ep)
	u.Completion = Of(min(answer, mostPlausible/n) * n)
	for _, whole := range [...]Kind{KindPrompt, KindCompletion} {
		for _, k := range partsOf[whole] {
			if k.possible(a, ep) {
				*u.of(k) = *u.of(whole)
			}
		}
	}
	u.Accepted, u.Rejected = u.Completion, u.Completion
	if a.In&^catalog.Text != 0 {
		u.PromptVideo = u.Prompt
	}
	if u.OutputImage.Reported {
		u.Images = Of(n * imagesEach)
	}
	return u
}

// Found is the prompt with the pages that the provider's tools put into it: a search, a fetch or another call reads some.
func (a *Ask) Found() int64 {
	prompt := a.Prompt
	for _, calls := range a.Calls {
		prompt = plus(prompt, min(max(calls, 0), mostPlausible/foundPages)*foundPages)
	}
	return prompt
}

// Believed makes the calls of the provider's tools to which a report is cut those that are believed, as far as the request offers the tool. Cut to
// what was held, a report of 50 searches would cost less than one of 32. What no client asked for is cut to nothing.
func (a *Ask) Believed(most, to *Usage) {
	calls := most.Hosted()
	for i, n := range a.Calls {
		if n <= 0 {
			calls[i] = 0
		}
	}
	calls.Set(to)
}

// Reread raises most, the bound on a call at ep, by the rounds of so many calls of the provider's tools: the model is asked again after each call,
// every time with all that was found before, and the provider reports and bills the sum. OpenAI reports 115,886 tokens of prompt for a question of
// 20 with six searches.
func (a *Ask) Reread(most *Usage, ep *catalog.Endpoint, called Calls) {
	rounds := int64(0)
	for i, n := range called {
		if a.Calls[i] > 0 { // what the request offers, as often as is believed
			rounds += max(min(n, max(a.Calls[i], unaskedFinds)), 0)
		}
	}
	context := cmp.Or(max(ep.ContextLength, 0), openContext)
	was, prompt := most.Prompt.N, most.Prompt.N
	for n := int64(1); n <= rounds && prompt < mostPlausible; n++ {
		prompt = plus(prompt, min(plus(a.Prompt, ownPrompt+n*foundPages), context))
	}
	for _, k := range append([]Kind{KindPrompt}, partsOf[KindPrompt]...) {
		if c := most.of(k); c.N == was && was > 0 {
			c.N = prompt
		}
	}
}

// each is the most tokens that one answer has.
func (a *Ask) each(ep *catalog.Endpoint) int64 {
	answer := ep.MaxCompletion
	if answer <= 0 {
		answer = ep.ContextLength
	}
	capped := ep.Params&(catalog.ParamMaxTokens|catalog.ParamMaxCompletionTokens) != 0 // else the cap does not reach it
	if capped && a.MaxTokens > 0 && (answer <= 0 || a.MaxTokens < answer) {
		answer = a.MaxTokens
	}
	if answer <= 0 {
		return openContext
	}
	return answer
}

// plus adds and stops at what is plausible of anything.
func plus(a, b int64) int64 {
	if a > mostPlausible || b > mostPlausible {
		return mostPlausible
	}
	return a + b
}

// Most is what a consumption of up to u can cost at t, whatever its parts: of each whole as much as can be at the price of its dearest part,
// of the rest as much as can be at the next. What is charged for a usage that was cut to u is never more. It fails like Cost.
func Most(u *Usage, t *catalog.Tariff) (money.Nano, error) {
	var sum money.Sum
	mostOfPrices(&sum, u, &t.Prices, true)
	metered(u, t, func(l Line) { l.addTo(&sum) })
	return sum.Ceil()
}

// MostAt is Most of what has no other prices than p, with the price of a request or without.
func MostAt(u *Usage, p *catalog.Prices, request bool) (money.Nano, error) {
	var sum money.Sum
	mostOfPrices(&sum, u, p, request)
	return sum.Ceil()
}

// mostOfPrices adds it.
func mostOfPrices(sum *money.Sum, u *Usage, p *catalog.Prices, request bool) {
	mostOfWholes(sum, u, p)
	beside(u, p, func(l Line) {
		if request || l.Kind != KindRequest {
			l.addTo(sum)
		}
	})
}

// mostOfWholes adds the prompt and the answer.
func mostOfWholes(sum *money.Sum, u *Usage, p *catalog.Prices) {
	var room [8]sold // more than any whole has parts
	prices := p.All()
	for _, whole := range [...]Kind{KindPrompt, KindCompletion} {
		parts := room[:0]
		price := prices[kinds[whole].falls[0]].Nano
		for _, k := range partsOf[whole] {
			if own := k.charged(&prices); own.Set && own.Nano > price {
				parts = append(parts, sold{u.of(k).N, own.Nano})
			}
		}
		spread(sum, u.of(whole).N, price, parts)
	}
}

// sold is so much of a whole at a price that is above the whole's.
type sold struct{ n, price int64 }

// spread adds a whole, as much of it as can be at the price of its dearest part, and so on.
func spread(sum *money.Sum, left, price int64, parts []sold) {
	for left > 0 {
		next := -1
		for i := range parts {
			if parts[i].n > 0 && (next < 0 || parts[i].price > parts[next].price) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		n := min(parts[next].n, left)
		sum.PerThousand(n, parts[next].price)
		left -= n
		parts[next].n = 0
	}
	sum.PerThousand(max(left, 0), price)
}

// Cut cuts each count of u that is above most to what it has in to, and reports whether any was. Parts are cut to their wholes as well, and no
// count of the result is below zero.
func (u *Usage) Cut(most, to *Usage) bool {
	cut := false
	all, limits, instead := u.Counts(), most.Counts(), to.Counts()
	for i, c := range all {
		switch {
		case c.N < 0:
			*c = Count{}
		case c.N > limits[i].N:
			c.N, cut = max(instead[i].N, 0), true
		}
	}
	u.fitParts()
	if cut {
		u.Source |= Capped
	}
	return cut
}

// Follow makes u what is known after a further report of the same call. On most wires counts never fall, and each count is the higher one;
// where a report replaces those before it, each count is the later one that is above zero.
func (u *Usage) Follow(next *Usage, replaces bool) {
	reported := next.Counts()
	for i, old := range u.Counts() {
		if c := reported[i]; !old.Reported || c.Reported && (replaces && c.N > 0 || c.N >= old.N) {
			*old = *c
		}
	}
	u.Tier, u.UpstreamCost = cmp.Or(next.Tier, u.Tier), cmp.Or(next.UpstreamCost, u.UpstreamCost)
	u.Source = next.Source
}

// Delivered is what of an answer went by, by the gateway's own count.
type Delivered struct {
	Text   int64 // tokens of text of all kinds
	Audio  int64 // tokens
	Image  int64 // tokens
	Images int64 // images
}

// Tokens are all of them.
func (d *Delivered) Tokens() int64 { return d.Text + d.Audio + d.Image }

// doubtful is by how much a report must be below what was delivered to be marked: tokenizers differ, and estimates more.
const (
	doubtfulTimes = 3
	doubtfulMore  = 32
)

// Low reports whether a final report is implausibly below what was delivered. It is charged all the same: the provider's bill decides.
func Low(reported Count, d *Delivered) bool {
	return reported.Reported && reported.N >= 0 && reported.N <= math.MaxInt64/doubtfulTimes-doubtfulMore && d.Tokens() > reported.N*doubtfulTimes+doubtfulMore
}
