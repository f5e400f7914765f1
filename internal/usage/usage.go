// Package usage holds what a call consumed, counted once at the upstream edge, and what that costs.
// Both the client's view and the bill read the same struct; a count that was not reported differs from zero.
package usage

import (
	"reflect"
	"slices"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Count is a number of something that was reported, or not.
type Count struct {
	N        int64
	Reported bool
}

// Of is a reported count.
func Of(n int64) Count { return Count{N: n, Reported: true} }

// Source is who counted, and what is notable about it: a set of bits. It is stored.
type Source uint8

// The sources. None of them: the upstream said so.
const (
	Estimated Source = 1 << iota // we counted, because the upstream said nothing or nonsense, or had not finished saying it
	Capped                       // the upstream's figure was above what the call could consume, and was cut to that
	TooLow                       // the upstream's figure is implausibly below what it delivered
)

// Reported is the source of what the upstream said, and nothing is to be said of it.
const Reported Source = 0

// String is the most notable that is to be said: "capped", "low", "estimated" or "reported".
func (s Source) String() string {
	switch {
	case s&Capped != 0:
		return "capped"
	case s&TooLow != 0:
		return "low"
	case s&Estimated != 0:
		return "estimated"
	}
	return "reported"
}

// Usage is what one call consumed. Prompt includes everything that went in (cached, written, audio, images),
// Completion everything that came out (reasoning, audio, images), as the chat wire counts them;
// a dialect whose wire counts otherwise adds up before it fills this in.
type Usage struct {
	Prompt       Count  // tokens, all of the prompt
	CacheRead    Count  // of Prompt: read from the provider's cache
	CacheWrite   Count  // of Prompt: written to its five-minute cache
	CacheWrite1h Count  // of Prompt: written to its one-hour cache
	PromptAudio  Count  // of Prompt
	PromptImage  Count  // of Prompt
	PromptVideo  Count  // of Prompt
	Completion   Count  // tokens, all of the answer
	Reasoning    Count  // of Completion
	OutputAudio  Count  // of Completion
	OutputImage  Count  // of Completion
	Accepted     Count  // of Completion: accepted prediction tokens
	Rejected     Count  // of Completion: rejected prediction tokens
	WebSearches  Count  // searches run by the provider
	Images       Count  // images produced
	Requests     Count  // requests as the provider bills them, where one of ours is several of its own; missing: one
	Millis       Count  // milliseconds of audio that went in
	Characters   Count  // characters that went in to be spoken
	Kilopixels   Count  // thousands of pixels of the images produced
	Seconds      Count  // seconds of video produced
	WebFetches   Count  // pages that the provider fetched
	FileSearches Count  // searches in files that the provider keeps
	Containers   Count  // containers in which the provider ran code
	MCPCalls     Count  // calls of tools of somebody's server that the provider made
	CachedAudio  Count  // of CacheRead and of PromptAudio
	UpstreamCost string // dollars as the upstream wrote them, decimal text, "" when missing
	Tier         string // service tier that the reply names, "" when missing
	Source       Source
}

// Counts are all counts of u in the order in which records keep them, so new ones come at the end.
func (u *Usage) Counts() [25]*Count {
	return [...]*Count{&u.Prompt, &u.CacheRead, &u.CacheWrite, &u.CacheWrite1h, &u.PromptAudio, &u.PromptImage, &u.PromptVideo,
		&u.Completion, &u.Reasoning, &u.OutputAudio, &u.OutputImage, &u.Accepted, &u.Rejected, &u.WebSearches, &u.Images,
		&u.Requests, &u.Millis, &u.Characters, &u.Kilopixels, &u.Seconds, &u.WebFetches, &u.FileSearches, &u.Containers, &u.MCPCalls, &u.CachedAudio}
}

type allCounts = [25]*Count

// CountNames are the names of the counts in JSON, such as "cache_write_1h", in the order of Counts.
var CountNames = func() (names [len(allCounts{})]string) {
	var u Usage
	counts := u.Counts()
	for field, v := range reflect.ValueOf(&u).Elem().Fields() {
		if count, is := v.Addr().Interface().(*Count); is {
			names[slices.Index(counts[:], count)] = snake(field.Name)
		}
	}
	return names
}()

// snake is a Go name in lower case, with a low line before each word and number.
func snake(name string) string {
	var b []byte
	for i := range len(name) {
		c := name[i]
		upper, digit := c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
		if upper && i > 0 && (i+1 == len(name) || name[i+1] >= 'a') && name[i-1] != '_' || digit {
			b = append(b, '_')
		}
		if upper {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return string(b)
}

// Kind names one line of a cost.
type Kind uint8

// The kinds of cost lines; the numbers are stored, so they are never reused.
const (
	KindPrompt Kind = iota + 1
	KindCacheRead
	KindCacheWrite
	KindCacheWrite1h
	KindPromptAudio
	KindPromptImage
	KindCompletion
	KindReasoning
	KindOutputAudio
	KindOutputImage
	KindRequest
	KindWebSearch
	KindImage
	KindMinute     // of audio that went in, in thousandths: in records of old
	KindCharacters // that went in to be spoken
	KindMegapixel  // of images produced, in thousandths
	KindVideo      // seconds produced
	KindAudio      // milliseconds that went in
	KindWebFetch
	KindFileSearch
	KindCodeExecution
	KindMCP
	KindCacheReadAudio

	endOfKinds
)

// kind is what the package knows of a kind of lines. A new price needs a row here, one in catalog.PriceKinds or among
// the kinds of catalog.Rates, and a count in Usage.
type kind struct {
	name, unit string
	counts     string // what a quantity of one is, in the plural; "" for tokens
	thousandth bool   // a quantity of one is a thousandth of that
	each       bool   // the price is for one, not for a thousand
	prompt     bool   // it belongs to the prompt
	part       Kind   // KindPrompt or KindCompletion: the tokens are a part of it
	cached     bool   // of Prompt: read from a cache or written to one; the others overlap with these
	written    bool   // of Prompt: written to a cache
	late       bool   // records have not always kept the count
	within     []Kind // parts whose counts include this one's

	listed string // catalog.PriceKind.Name; "" when the price is one of catalog.Rates
	rate   catalog.RateID
	count  string // the field of Usage; "" for what is in records of old only

	// Parts can be consumed only by requests with these, as far as they are set.
	in, out   catalog.Modality // some of these kinds of content
	longCache bool             // a mark for the one-hour cache

	// Made of the above. They are places and no functions: what is passed to a function value is allocated.
	at    int   // the count's place in Usage.Counts
	falls []int // places in catalog.Prices.All: the price of its own, and those that the tokens fall to, without the whole's
}

const tokens = "1k_tokens"

// kinds is the one table of what can be charged for.
var kinds = complete([...]kind{
	KindPrompt:       {name: "prompt", unit: tokens, prompt: true, listed: "prompt", count: "Prompt"},
	KindCacheRead:    {name: "cache_read", unit: tokens, prompt: true, part: KindPrompt, cached: true, listed: "cache_read", count: "CacheRead"},
	KindCacheWrite:   {name: "cache_write", unit: tokens, prompt: true, part: KindPrompt, cached: true, written: true, listed: "cache_write", count: "CacheWrite"},
	KindCacheWrite1h: {name: "cache_write_1h", unit: tokens, prompt: true, part: KindPrompt, cached: true, written: true, listed: "cache_write_1h", count: "CacheWrite1h", longCache: true},
	KindPromptAudio:  {name: "prompt_audio", unit: tokens, prompt: true, part: KindPrompt, listed: "audio", count: "PromptAudio", in: catalog.Audio | catalog.Video},
	KindPromptImage:  {name: "prompt_image", unit: tokens, prompt: true, part: KindPrompt, listed: "image", count: "PromptImage", in: ^catalog.Text},

	KindCompletion:  {name: "completion", unit: tokens, listed: "completion", count: "Completion"},
	KindReasoning:   {name: "reasoning", unit: tokens, part: KindCompletion, listed: "reasoning", count: "Reasoning"},
	KindOutputAudio: {name: "output_audio", unit: tokens, part: KindCompletion, listed: "audio_output", count: "OutputAudio", out: catalog.Audio},
	KindOutputImage: {name: "output_image", unit: tokens, part: KindCompletion, listed: "image_output", count: "OutputImage", out: catalog.Image}, // some models draw without being asked

	KindRequest:       {name: "request", unit: "request", counts: "requests", each: true, late: true, listed: "request", count: "Requests"},
	KindWebSearch:     {name: "web_search", unit: "search", counts: "searches", each: true, listed: "web_search", count: "WebSearches"},
	KindImage:         {name: "image", unit: "image", counts: "images", each: true, listed: "image_output_each", count: "Images"},
	KindWebFetch:      {name: "web_fetch", unit: "call", counts: "calls", each: true, listed: "web_fetch", count: "WebFetches"},
	KindFileSearch:    {name: "file_search", unit: "call", counts: "calls", each: true, listed: "file_search", count: "FileSearches"},
	KindCodeExecution: {name: "code_execution", unit: "container", counts: "containers", each: true, listed: "code_execution", count: "Containers"},
	KindMCP:           {name: "mcp", unit: "call", counts: "calls", each: true, listed: "mcp", count: "MCPCalls"},

	KindCacheReadAudio: {name: "cache_read_audio", unit: tokens, prompt: true, part: KindPrompt, cached: true, within: []Kind{KindCacheRead, KindPromptAudio},
		listed: "cache_read_audio", count: "CachedAudio", in: catalog.Audio | catalog.Video},

	KindMinute:     {name: "audio_minutes", unit: "minute", counts: "minutes", thousandth: true, prompt: true},
	KindAudio:      {name: "audio_milliseconds", unit: "minute", counts: "seconds", thousandth: true, prompt: true, late: true, count: "Millis", rate: catalog.RateMinute},
	KindCharacters: {name: "characters", unit: "1k_characters", counts: "characters", prompt: true, late: true, count: "Characters", rate: catalog.RateCharacters},
	KindMegapixel:  {name: "megapixels", unit: "megapixel", counts: "megapixels", thousandth: true, late: true, count: "Kilopixels", rate: catalog.RateMegapixel},
	KindVideo:      {name: "video_seconds", unit: "second", counts: "seconds", each: true, late: true, count: "Seconds", rate: catalog.RateSecond},
})

// maxLines is the most lines that a cost can have: one of each kind.
const maxLines = int(endOfKinds) - 1

// complete finds the counts and prices that the rows name.
func complete(rows [maxLines + 1]kind) [maxLines + 1]kind {
	var u Usage
	counts := u.Counts()
	for i := range rows {
		if rows[i].count != "" {
			field := reflect.ValueOf(&u).Elem().FieldByName(rows[i].count).Addr().Interface().(*Count)
			rows[i].at = slices.Index(counts[:], field)
		}
		for name := rows[i].listed; name != ""; {
			at := catalog.PriceKindOf(name)
			name = catalog.PriceKinds()[at].Else
			if len(rows[i].falls) == 0 || name != "" { // a part that reaches its whole falls to that by being one
				rows[i].falls = append(rows[i].falls, at)
			}
		}
	}
	return rows
}

// of is the count of the kind.
func (u *Usage) of(k Kind) *Count { return u.Counts()[kinds[k].at] }

// own is the price of the kind alone, nil when it has none.
func (k Kind) own(t *catalog.Tariff) *money.Price {
	if int(k) < len(kinds) && kinds[k].rate != catalog.NoRate {
		return t.Rate(kinds[k].rate)
	}
	if int(k) >= len(kinds) || len(kinds[k].falls) == 0 {
		return nil
	}
	return t.Prices.All()[kinds[k].falls[0]]
}

// charged is the price of a part among all prices; not Set where that is the whole's.
func (k Kind) charged(all *allPrices) money.Price {
	for _, at := range kinds[k].falls {
		if all[at].Set {
			return *all[at]
		}
	}
	return money.Price{}
}

// allPrices is what catalog.Prices.All returns.
type allPrices = [18]*money.Price

// possible reports whether a call can consume some of a part.
func (k Kind) possible(a *Ask, ep *catalog.Endpoint) bool {
	row := &kinds[k]
	out := a.Out
	if row.out == catalog.Image {
		out |= ep.Output // some models draw without being asked
	}
	return (row.in == 0 || a.In&row.in != 0) && (row.out == 0 || out&row.out != 0) && (!row.longCache || a.LongCache)
}

// partsOf has the parts of the prompt and of the answer, counted what has a count and a listed price and is no token, meteredKinds the rest.
var (
	partsOf      = [...][]Kind{KindPrompt: having(func(k *kind) bool { return k.part == KindPrompt }), KindCompletion: having(func(k *kind) bool { return k.part == KindCompletion })}
	counted      = having(func(k *kind) bool { return k.listed != "" && k.unit != tokens && k.name != "request" })
	meteredKinds = []Kind{KindAudio, KindCharacters, KindMegapixel, KindVideo}
)

// includes has the kinds whose counts are within that of another.
var includes = func() (list [endOfKinds][]Kind) {
	for i := range kinds {
		for _, outer := range kinds[i].within {
			list[outer] = append(list[outer], Kind(i))
		}
	}
	return list
}()

func having(is func(*kind) bool) (list []Kind) {
	for i := range kinds {
		if is(&kinds[i]) {
			list = append(list, Kind(i))
		}
	}
	return list
}

// Cached reports whether the kind is prompt that was read from a cache or written to one.
func (k Kind) Cached() bool { return int(k) < len(kinds) && kinds[k].cached }

// Line is one part of a cost: quantity × price, before the one rounding of the whole.
type Line struct {
	Kind     Kind
	Quantity int64
	Price    int64  // 10⁻⁹ rubles per 1000 tokens, characters or thousandths, per minute of audio, or per one for requests, searches, images and seconds
	Dollars  string // what the price was made of, as money.Price has it; "" when it was in rubles, and in records of old
}

// Kinds are all kinds of cost lines, those of records of old as well.
func Kinds() (all []Kind) {
	for k := KindPrompt; k < endOfKinds; k++ {
		all = append(all, k)
	}
	return all
}
