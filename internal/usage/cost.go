package usage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Cost is what u costs at prices p: its lines and their sum, rounded up once. p must be the prices that hold for u's number of
// prompt tokens, as catalog.Pricing.For returns them. It fails when a price is negative or when the sum does not fit, with
// money.ErrNegative or money.ErrOverflow as the cause; a charge is never below zero.
func Cost(u *Usage, p *catalog.Prices) ([]Line, money.Nano, error) {
	var room [maxLines]Line
	lines := AppendLines(room[:0], u, p)
	total, err := Total(lines)
	if err != nil {
		return nil, 0, err
	}
	return slices.Clone(lines), total, nil
}

// Saved is what the prompt's tokens that were read from a cache or written to one cost less than the others, below zero when writing cost more than
// reading brought. It is false where there are none, or none at the price of the prompt to compare with.
func Saved(lines []Line) (money.Nano, bool) {
	prompt := slices.IndexFunc(lines, func(l Line) bool { return l.Kind == KindPrompt })
	var full, paid money.Sum
	found := false
	for _, l := range lines {
		if prompt >= 0 && l.Kind.Cached() {
			found = true
			full.PerThousand(l.Quantity, lines[prompt].Price)
			paid.PerThousand(l.Quantity, l.Price)
		}
	}
	a, err := full.Ceil()
	b, err2 := paid.Ceil()
	return a - b, found && err == nil && err2 == nil
}

// AppendLines appends the parts of a cost to dst, in the order of their kinds, without those of quantity zero.
//
// The parts never overlap: each is taken from what the ones before it have left of the prompt or the answer, so that their
// quantities add up to exactly that, whatever was reported. A part without a price of its own stays a line, at the price
// of what it is a part of: the bill still reports how much of the prompt came from the cache.
func AppendLines(dst []Line, u *Usage, p *catalog.Prices) []Line {
	counts, prices := u.Counts(), p.All()
	for _, whole := range [...]Kind{KindPrompt, KindCompletion} {
		dst = appendWhole(dst, &counts, &prices, whole)
	}
	beside(u, p, func(l Line) { dst = append(dst, l) })
	return dst
}

// beside yields what is no part of the prompt or of the answer.
func beside(u *Usage, p *catalog.Prices, yield func(Line)) {
	counts, prices := u.Counts(), p.All()
	if p.Request.Set {
		yield(Line{Kind: KindRequest, Quantity: max(u.Requests.N, 1), Price: p.Request.Nano, Dollars: p.Request.Dollars})
	}
	for _, k := range counted {
		if price, n := prices[kinds[k].falls[0]], counts[kinds[k].at].N; price.Set && n > 0 {
			yield(Line{Kind: k, Quantity: n, Price: price.Nano, Dollars: price.Dollars})
		}
	}
}

// metered yields what is charged by more than tokens, and is in no list of prices.
func metered(u *Usage, t *catalog.Tariff, yield func(Line)) {
	for _, k := range meteredKinds {
		if price, n := k.own(t), u.of(k).N; price.Set && n > 0 {
			yield(Line{Kind: k, Quantity: n, Price: price.Nano, Dollars: price.Dollars})
		}
	}
}

// appendWhole appends the lines of the prompt or of the answer, and of its parts.
func appendWhole(dst []Line, counts *allCounts, prices *allPrices, whole Kind) []Line {
	w := part{left: counts[kinds[whole].at].N, price: *prices[kinds[whole].falls[0]]}
	at := len(dst)
	dst = w.reserve(dst, whole)
	for _, k := range partsOf[whole] {
		if n := counts[kinds[k].at].N - k.apart(counts); n > 0 {
			dst = w.take(dst, k, n, k.charged(prices))
		}
	}
	return w.settle(dst, at)
}

// apart is how much of a part's count has a line of another kind.
func (k Kind) apart(counts *allCounts) (n int64) {
	for _, inner := range includes[k] {
		n += max(counts[kinds[inner].at].N, 0)
	}
	return n
}

// hosted are the tools that providers run.
var hosted = [catalog.HostedTools]struct {
	kind Kind
	paid catalog.Paid
}{
	{KindWebSearch, catalog.PaidWebSearch}, {KindWebFetch, catalog.PaidWebFetch}, {KindFileSearch, catalog.PaidFileSearch},
	{KindCodeExecution, catalog.PaidCodeExecution}, {KindMCP, catalog.PaidMCP},
}

// Calls is how often each tool that the provider runs may be used, in the order of catalog.Paid.
type Calls [catalog.HostedTools]int64

// Set makes the counts of u those of so many calls.
func (c *Calls) Set(u *Usage) {
	for i := range hosted {
		*u.of(hosted[i].kind) = Of(c[i])
	}
}

// Hosted are the counts of tools that the provider runs.
func (u *Usage) Hosted() (c Calls) {
	for i := range hosted {
		c[i] = u.of(hosted[i].kind).N
	}
	return c
}

// Fill puts the calls that went by where u reports none, or a number below zero. While the report is not the last one, it also puts them where u
// reports fewer.
func (c *Calls) Fill(u *Usage, final bool) {
	for i := range hosted {
		if count := u.of(hosted[i].kind); !final || !count.Valid() {
			*count = atLeast(*count, c[i])
		}
	}
}

// Only drops the counts of tools that the request did not pay for: what the provider did with them by itself is its own affair.
func (u *Usage) Only(paid catalog.Paid) {
	for i := range hosted {
		if h := &hosted[i]; h.kind != KindWebSearch && paid&h.paid == 0 { // some models search unasked
			*u.of(h.kind) = Count{}
		}
	}
}

// TaskCost is what u costs at t, for what is charged by more than tokens. It fails like Cost.
func TaskCost(u *Usage, t *catalog.Tariff) ([]Line, money.Nano, error) {
	var room [maxLines]Line
	lines := appendTariff(room[:0], u, t)
	total, err := Total(lines)
	if err != nil {
		return nil, 0, err
	}
	return slices.Clone(lines), total, nil
}

// appendTariff is AppendLines for what is charged by more than tokens.
func appendTariff(dst []Line, u *Usage, t *catalog.Tariff) []Line {
	dst = AppendLines(dst, u, &t.Prices)
	metered(u, t, func(l Line) { dst = append(dst, l) })
	return dst
}

// part hands out a whole, the prompt or the answer, to the lines of its parts. The whole's own line comes first and gets
// what is left.
type part struct {
	left  int64
	price money.Price
}

func (w *part) reserve(dst []Line, kind Kind) []Line {
	return append(dst, Line{Kind: kind, Price: w.price.Nano, Dollars: w.price.Dollars})
}

func (w *part) take(dst []Line, kind Kind, n int64, own money.Price) []Line {
	quantity := min(n, w.left)
	if quantity <= 0 {
		return dst
	}
	w.left -= quantity
	price := either(own, w.price)
	return append(dst, Line{Kind: kind, Quantity: quantity, Price: price.Nano, Dollars: price.Dollars})
}

func (w *part) settle(dst []Line, at int) []Line {
	if w.left > 0 {
		dst[at].Quantity = w.left
		return dst
	}
	copy(dst[at:], dst[at+1:])
	return dst[:len(dst)-1]
}

func either(own, parent money.Price) money.Price {
	if own.Set {
		return own
	}
	return parent
}

// Total is the charge for lines: their exact sum, rounded up once to 10⁻⁹ rubles. It fails like Cost.
func Total(lines []Line) (money.Nano, error) {
	sum := Exact(lines)
	return sum.Ceil()
}

// Exact is the sum of lines before it is rounded.
func Exact(lines []Line) (sum money.Sum) {
	for i := range lines {
		lines[i].addTo(&sum)
	}
	return sum
}

// PromptCost is the part of a charge that the prompt caused, rounded up for display: of lines that Cost has returned.
func PromptCost(lines []Line) money.Nano {
	var sum money.Sum
	for i := range lines {
		if k := lines[i].Kind; int(k) < len(kinds) && kinds[k].prompt {
			lines[i].addTo(&sum)
		}
	}
	cost, err := sum.Ceil()
	if err != nil {
		return 0 // Cost would have failed
	}
	return cost
}

func (l Line) addTo(sum *money.Sum) {
	switch {
	case l.Kind == KindAudio:
		sum.PerMinute(l.Quantity, l.Price)
	case int(l.Kind) < len(kinds) && kinds[l.Kind].each:
		sum.Each(l.Quantity, l.Price)
	default:
		sum.PerThousand(l.Quantity, l.Price)
	}
}

// AppendAmount appends what the line alone comes to, in rubles and before rounding: decimal text with at most twelve digits
// after the point, the last one rounded up where audio is sold by the minute. It appends nothing for a line that Cost would not make.
func (l Line) AppendAmount(b []byte) []byte {
	var sum money.Sum
	l.addTo(&sum)
	return sum.Append(b)
}

// String is the word for the kind in JSON, such as "cache_read"; "" for a number that is no kind.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return ""
}

// Unit is the word for what the kind's price is for: "1k_tokens", "request", "search", "image", "minute", "1k_characters", "megapixel" or
// "second"; "" for a number that is no kind.
func (k Kind) Unit() string {
	if int(k) < len(kinds) {
		return kinds[k].unit
	}
	return ""
}

// Measure is the quantity with its unit, such as "1200 tokens", "3.41 seconds" or "1.049 megapixels"; the number alone for a kind that does not exist.
func (l Line) Measure() string {
	if int(l.Kind) >= len(kinds) {
		return strconv.FormatInt(l.Quantity, 10)
	}
	k := &kinds[l.Kind]
	number := strconv.FormatInt(l.Quantity, 10)
	if k.thousandth {
		number = money.Nano(l.Quantity * 1_000_000).String() // a thousandth is a million of 10⁻⁹
	}
	return number + " " + cmp.Or(k.counts, "tokens")
}

// DollarUnit is the word for what Dollars of a line of this kind is the price of: "million tokens", "million characters", or Unit.
func (k Kind) DollarUnit() string {
	if what, isThousand := strings.CutPrefix(k.Unit(), "1k_"); isThousand {
		return "million " + what
	}
	return k.Unit()
}
