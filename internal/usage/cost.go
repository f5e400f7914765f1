package usage

import (
	"slices"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Cost is what u costs at prices p: its lines and their sum, rounded up once. p must be the prices that hold for u's number of
// prompt tokens, as catalog.Pricing.For tells them. It fails when a price is negative or when the sum does not fit, with
// money.ErrNegative or money.ErrOverflow as the cause; a charge is never below zero.
func Cost(u Usage, p catalog.Prices) ([]Line, money.Nano, error) {
	var room [maxLines]Line
	lines := AppendLines(room[:0], &u, &p)
	total, err := Total(lines)
	if err != nil {
		return nil, 0, err
	}
	return slices.Clone(lines), total, nil
}

// AppendLines appends the parts of a cost to dst, in the order of their kinds, without those of quantity zero.
//
// The parts never overlap: each is taken from what the ones before it have left of the prompt or the answer, so that their
// quantities add up to exactly that, whatever was reported. A part without a price of its own stays a line, at the price
// of what it is a part of: the bill still reports how much of the prompt came from the cache.
func AppendLines(dst []Line, u *Usage, p *catalog.Prices) []Line {
	prompt := part{left: u.Prompt.N, price: p.Prompt}
	fiveMinutes := either(p.CacheWrite, p.Prompt)
	rest := len(dst)
	dst = prompt.reserve(dst, KindPrompt)
	dst = prompt.take(dst, KindCacheRead, u.CacheRead, p.CacheRead)
	dst = prompt.take(dst, KindCacheWrite, u.CacheWrite, p.CacheWrite)
	dst = prompt.take(dst, KindCacheWrite1h, u.CacheWrite1h, either(p.CacheWrite1h, fiveMinutes))
	dst = prompt.take(dst, KindPromptAudio, u.PromptAudio, p.Audio)
	dst = prompt.take(dst, KindPromptImage, u.PromptImage, p.Image)
	dst = prompt.settle(dst, rest)

	answer := part{left: u.Completion.N, price: p.Completion}
	rest = len(dst)
	dst = answer.reserve(dst, KindCompletion)
	dst = answer.take(dst, KindReasoning, u.Reasoning, p.Reasoning)
	dst = answer.take(dst, KindOutputAudio, u.OutputAudio, p.AudioOutput)
	dst = answer.take(dst, KindOutputImage, u.OutputImage, p.ImageOutput)
	dst = answer.settle(dst, rest)

	if p.Request.Set {
		dst = append(dst, Line{Kind: KindRequest, Quantity: max(u.Requests.N, 1), Price: p.Request.Nano, Dollars: p.Request.Dollars})
	}
	if p.WebSearch.Set && u.WebSearches.N > 0 {
		dst = append(dst, Line{Kind: KindWebSearch, Quantity: u.WebSearches.N, Price: p.WebSearch.Nano, Dollars: p.WebSearch.Dollars})
	}
	if p.ImageOutputEach.Set && u.Images.N > 0 {
		dst = append(dst, Line{Kind: KindImage, Quantity: u.Images.N, Price: p.ImageOutputEach.Nano, Dollars: p.ImageOutputEach.Dollars})
	}
	for i := 1; i < len(hosted); i++ { // searches have their place above
		if h, price := &hosted[i], hosted[i].price(p); price.Set && h.count(u).N > 0 {
			dst = append(dst, Line{Kind: h.kind, Quantity: h.count(u).N, Price: price.Nano, Dollars: price.Dollars})
		}
	}
	return dst
}

// hosted are the tools that providers run: what a call of each is counted and charged as.
var hosted = [catalog.HostedTools]struct {
	kind  Kind
	paid  catalog.Paid
	count func(*Usage) *Count
	price func(*catalog.Prices) *money.Price
}{
	{KindWebSearch, catalog.PaidWebSearch, func(u *Usage) *Count { return &u.WebSearches }, func(p *catalog.Prices) *money.Price { return &p.WebSearch }},
	{KindWebFetch, catalog.PaidWebFetch, func(u *Usage) *Count { return &u.WebFetches }, func(p *catalog.Prices) *money.Price { return &p.WebFetch }},
	{KindFileSearch, catalog.PaidFileSearch, func(u *Usage) *Count { return &u.FileSearches }, func(p *catalog.Prices) *money.Price { return &p.FileSearch }},
	{KindCodeExecution, catalog.PaidCodeExecution, func(u *Usage) *Count { return &u.Containers }, func(p *catalog.Prices) *money.Price { return &p.CodeExecution }},
	{KindMCP, catalog.PaidMCP, func(u *Usage) *Count { return &u.MCPCalls }, func(p *catalog.Prices) *money.Price { return &p.MCP }},
}

// Calls is how often each tool that the provider runs may be used, in the order of catalog.Paid.
type Calls [catalog.HostedTools]int64

// Set makes the counts of u those of so many calls.
func (c *Calls) Set(u *Usage) {
	for i := range hosted {
		*hosted[i].count(u) = Of(c[i])
	}
}

// Hosted are the counts of tools that the provider runs.
func (u *Usage) Hosted() (c Calls) {
	for i := range hosted {
		c[i] = hosted[i].count(u).N
	}
	return c
}

// Fill puts the calls that went by where u reports none, or a number below zero. While the report is not the last one, it also puts them where u
// reports fewer.
func (c *Calls) Fill(u *Usage, final bool) {
	for i := range hosted {
		if count := hosted[i].count(u); !final || !count.Valid() {
			*count = atLeast(*count, c[i])
		}
	}
}

// Only drops the counts of tools that the request did not pay for: what the provider did with them by itself is its own affair.
func (u *Usage) Only(paid catalog.Paid) {
	for i := range hosted {
		if h := &hosted[i]; h.kind != KindWebSearch && paid&h.paid == 0 { // some models search unasked
			*h.count(u) = Count{}
		}
	}
}

// TaskCost is what u costs at t, for what is charged by more than tokens. It fails like Cost.
func TaskCost(u Usage, t *catalog.Tariff) ([]Line, money.Nano, error) {
	var room [maxLines]Line
	lines := appendTariff(room[:0], &u, t)
	total, err := Total(lines)
	if err != nil {
		return nil, 0, err
	}
	return slices.Clone(lines), total, nil
}

// appendTariff is AppendLines for what is charged by more than tokens.
func appendTariff(dst []Line, u *Usage, t *catalog.Tariff) []Line {
	dst = AppendLines(dst, u, &t.Prices)
	for _, x := range [...]struct {
		kind     Kind
		price    money.Price
		quantity int64
	}{
		{KindAudio, t.Minute, u.Millis.N},
		{KindCharacters, t.Characters, u.Characters.N},
		{KindMegapixel, t.Megapixel, u.Kilopixels.N},
		{KindVideo, t.Second, u.Seconds.N},
	} {
		if x.price.Set && x.quantity > 0 {
			dst = append(dst, Line{Kind: x.kind, Quantity: x.quantity, Price: x.price.Nano, Dollars: x.price.Dollars})
		}
	}
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

func (w *part) take(dst []Line, kind Kind, n Count, own money.Price) []Line {
	quantity := min(n.N, w.left)
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
// behind the point, the last one rounded up where audio is sold by the minute. It appends nothing for a line that Cost would not make.
func (l Line) AppendAmount(b []byte) []byte {
	var sum money.Sum
	l.addTo(&sum)
	return sum.Append(b)
}

// kinds reports what each kind is called, what its price is for, and whether it belongs to the prompt.
var kinds = [...]struct {
	name, unit string
	each       bool // the price is for one, not for a thousand
	prompt     bool
}{
	KindPrompt:       {name: "prompt", unit: tokens, prompt: true},
	KindCacheRead:    {name: "cache_read", unit: tokens, prompt: true},
	KindCacheWrite:   {name: "cache_write", unit: tokens, prompt: true},
	KindCacheWrite1h: {name: "cache_write_1h", unit: tokens, prompt: true},
	KindPromptAudio:  {name: "prompt_audio", unit: tokens, prompt: true},
	KindPromptImage:  {name: "prompt_image", unit: tokens, prompt: true},
	KindCompletion:   {name: "completion", unit: tokens},
	KindReasoning:    {name: "reasoning", unit: tokens},
	KindOutputAudio:  {name: "output_audio", unit: tokens},
	KindOutputImage:  {name: "output_image", unit: tokens},
	KindRequest:      {name: "request", unit: "request", each: true},
	KindWebSearch:    {name: "web_search", unit: "search", each: true},
	KindImage:        {name: "image", unit: "image", each: true},
	KindMinute:       {name: "audio_minutes", unit: "minute", prompt: true},
	KindCharacters:   {name: "characters", unit: "1k_characters", prompt: true},
	KindMegapixel:    {name: "megapixels", unit: "megapixel"},
	KindVideo:        {name: "video_seconds", unit: "second", each: true},

	KindWebFetch:      {name: "web_fetch", unit: "call", each: true},
	KindFileSearch:    {name: "file_search", unit: "call", each: true},
	KindCodeExecution: {name: "code_execution", unit: "container", each: true},
	KindMCP:           {name: "mcp", unit: "call", each: true},
	KindAudio:         {name: "audio_milliseconds", unit: "minute", prompt: true},
}

const tokens = "1k_tokens"

// maxLines is the most lines that a cost can have: one of each kind.
const maxLines = len(kinds) - 1

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
