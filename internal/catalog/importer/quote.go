package importer

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"weir/internal/catalog"
)

// prices are dollars under the catalog's names of prices: per million tokens or characters, or per one request, search, image or
// minute; plain decimal text. What a source does not say is not in it. The sources write a zero both for "free" and for "not
// charged separately", so a zero in a lesser price says nothing and is left out.
type prices map[string]string

// names of prices beside those of catalog.PriceNames.
const (
	perMinute     = "minute"
	perCharacters = "characters" // per million of them
)

// quote is what one source says a model costs.
type quote struct {
	source string
	base   prices
	above  map[int64]prices  // of prompts with more tokens than the key
	tiers  map[string]*quote // "flex" and "priority"
	images map[image]string  // per image
	video  map[string]string // per second, by resolution
	odd    string            // why the quote cannot be taken as it stands, "" when it can
}

type image struct{ variant, resolution string }

// put sets a price that a source states; "" is none.
func (p prices) put(name, text string) {
	if text != "" {
		p[name] = text
	}
}

// putLesser is put for those prices where a zero says nothing.
func (p prices) putLesser(name, text string) {
	if text != "0" {
		p.put(name, text)
	}
}

func (q *quote) threshold(above int64, p prices) {
	if q.above == nil {
		q.above = map[int64]prices{}
	}
	q.above[above] = p
}

func (q *quote) tier(name string) *quote {
	if q.tiers == nil {
		q.tiers = map[string]*quote{}
	}
	if q.tiers[name] == nil {
		q.tiers[name] = &quote{source: q.source, base: prices{}}
	}
	return q.tiers[name]
}

// mains are the prices that models of a type are charged by, in the order in which they are looked for: all prices of a row must
// be agreed on.
var mains = map[string][][]string{
	catalog.TypeChat:          {{"prompt", "completion"}},
	catalog.TypeEmbedding:     {{"prompt"}},
	catalog.TypeModeration:    {{"prompt"}},
	catalog.TypeTranscription: {{perMinute}, {"prompt", "completion"}},
	catalog.TypeImage:         {{"prompt", "image_output"}, {"image_output_each"}},
	catalog.TypeSpeech:        {{perCharacters}, {"prompt", "audio_output"}},
	catalog.TypeRerank:        {{"request"}, {"prompt"}},
}

// terms are what an agreement depends on beside the quotes.
type terms struct {
	kind   string
	free   bool // prices of zero are meant
	writes bool // clients can cause cache writes
}

// agree makes one quote out of several, taking each price only where two agree; a value that as many others contradict is not
// agreed on.
func agree(t terms, quotes []quote) (q quote, reason string) {
	kind, free := t.kind, t.free
	if len(quotes) < 2 {
		return q, onlyOne
	}
	if kind == catalog.TypeVideo {
		return q, q.seconds(quotes)
	}
	var row []string
	for _, names := range mains[kind] {
		if value, ok := majority(quotes, joined(names)); ok {
			row = names
			// who is wrong about the main prices is not asked about the others
			quotes = slices.DeleteFunc(slices.Clone(quotes), func(x quote) bool { return joined(names)(x) != value })
			break
		}
	}
	if row == nil {
		return q, reasonFor(kind, quotes)
	}
	for _, x := range quotes {
		if x.odd != "" {
			return q, x.odd
		}
	}
	q.base = prices{}
	for _, name := range row {
		q.base[name] = quotes[0].base[name]
		if q.base[name] == "0" && !free {
			return q, zeroPrice
		}
	}
	if free && q.base[row[0]] == "0" {
		return q, ""
	}
	if row[0] == "image_output_each" {
		if reason := q.sizes(quotes); reason != "" {
			return q, reason
		}
	}
	q.lesser(quotes, row)
	if reason := q.hidden(quotes, t.writes); reason != "" {
		return q, reason
	}
	if reason := q.thresholds(quotes); reason != "" {
		return q, reason
	}
	q.takeTiers(quotes)
	return q, ""
}

const (
	onlyOne     = "only one source prices it"
	zeroPrice   = "a price of zero may mean free, a trial or a subscription"
	disagree    = "no two sources agree on its price"
	longPrompts = "long prompts cost more, but no two sources agree on how much"
)

func reasonFor(kind string, quotes []quote) string {
	reported := 0
	for _, x := range quotes {
		for _, names := range mains[kind] {
			if joined(names)(x) != "" {
				reported++
				break
			}
		}
	}
	if reported < 2 {
		return onlyOne
	}
	return disagree
}

// joined is a quote's values of names as one text, "" unless it has them all.
func joined(names []string) func(quote) string {
	return func(x quote) string {
		var parts []string
		for _, name := range names {
			if x.base[name] == "" {
				return ""
			}
			parts = append(parts, x.base[name])
		}
		return strings.Join(parts, " / ")
	}
}

// lesser takes the prices beside the main ones; one that nobody confirms stays out, and its tokens cost what the price they fall
// back to does.
func (q *quote) lesser(quotes []quote, row []string) {
	for _, name := range catalog.PriceNames() {
		if slices.Contains(row, name) {
			continue
		}
		if value, ok := majority(quotes, func(x quote) string { return x.base[name] }); ok {
			q.base[name] = value
		}
	}
	if q.base["reasoning"] == q.base["completion"] {
		delete(q.base, "reasoning")
	}
	if q.base["completion"] == "0" { // of models that answer in other ways
		delete(q.base, "completion")
	}
}

// hidden refuses a model of which some source says that it charges for more than what two sources agree on: falling back to the
// main price, or to nothing, would be too low.
func (q *quote) hidden(quotes []quote, writes bool) string {
	names := []string{"reasoning"}
	if writes {
		for _, name := range catalog.PriceNames() {
			if strings.HasPrefix(name, "cache_write") {
				names = append(names, name)
			}
		}
	}
	for _, x := range quotes {
		if x.base["request"] != "" && q.base["request"] == "" {
			return "requests have a fee, but no two sources agree on how much"
		}
		for _, name := range names {
			floor := cmp.Or(q.base[catalog.PriceKinds()[catalog.PriceKindOf(name)].Else], q.base["prompt"])
			if q.base[name] == "" && dearer(x.base[name], floor) {
				return strings.ReplaceAll(name, "_", " ") + " costs extra, but no two sources agree on how much"
			}
		}
	}
	return ""
}

// thresholds takes the prices of long prompts. A model of which any source says that long prompts cost more is refused unless
// another confirms how much: the base price alone would be too low.
func (q *quote) thresholds(quotes []quote) (reason string) {
	sizes := map[int64]bool{}
	for _, x := range quotes {
		for above := range x.above {
			sizes[above] = true
		}
	}
	for above := range sizes {
		var at []quote
		for _, x := range quotes {
			if t, ok := x.above[above]; ok {
				at = append(at, quote{base: t})
			}
		}
		row := []string{"prompt", "completion"}
		pair, ok := majority(at, joined(row))
		if !ok {
			return longPrompts
		}
		at = slices.DeleteFunc(at, func(x quote) bool { return joined(row)(x) != pair })
		t := quote{base: prices{"prompt": at[0].base["prompt"], "completion": at[0].base["completion"]}}
		t.lesser(at, row)
		// what the base has would be inherited and be too low
		for i := range sourceNames {
			name := sourceNames[i].ours
			fallback := wholeOf(name)
			if q.base[name] != "" && t.base[name] == "" && !dearer(q.base[name], t.base[fallback]) {
				t.base[name] = t.base[fallback]
			}
		}
		q.threshold(above, t.base)
	}
	return ""
}

// takeTiers takes those service tiers on whose prices two sources agree; the others are left out in silence, because the model
// itself is not.
func (q *quote) takeTiers(quotes []quote) {
	for _, name := range []string{"flex", "priority"} {
		var at []quote
		for _, x := range quotes {
			if t := x.tiers[name]; t != nil {
				at = append(at, *t)
			}
		}
		t, reason := agree(terms{kind: catalog.TypeChat}, at)
		if reason == longPrompts { // taken for short ones
			for i := range at {
				at[i].above = nil
			}
			t, reason = agree(terms{kind: catalog.TypeChat}, at)
		}
		if reason == "" {
			if q.tiers == nil {
				q.tiers = map[string]*quote{}
			}
			q.tiers[name] = &t
		}
	}
}

// sizes takes a price list by size and quality. A line above the plain price that nobody confirms refuses the model.
func (q *quote) sizes(quotes []quote) string {
	lines := map[image]bool{}
	for _, x := range quotes {
		for line := range maps.Keys(x.images) {
			lines[line] = true
		}
	}
	for line := range lines {
		value, ok := majority(quotes, func(x quote) string { return x.images[line] })
		if !ok {
			if slices.ContainsFunc(quotes, func(x quote) bool { return dearer(x.images[line], q.base["image_output_each"]) }) {
				return "larger or better images cost more, but no two sources agree on how much"
			}
			continue
		}
		if q.images == nil {
			q.images = map[image]string{}
		}
		q.images[line] = value
	}
	return ""
}

// seconds takes the price of a second at each resolution that two sources price alike.
func (q *quote) seconds(quotes []quote) string {
	resolutions := map[string]bool{}
	for _, x := range quotes {
		for r := range x.video {
			resolutions[r] = true
		}
	}
	for r := range resolutions {
		if value, ok := majority(quotes, func(x quote) string { return x.video[r] }); ok {
			if q.video == nil {
				q.video = map[string]string{}
			}
			q.video[r] = value
		}
	}
	if q.video == nil {
		return disagree
	}
	return ""
}

// majority is the value that at least two quotes share, when no other is shared by as many; empty values do not count.
func majority(quotes []quote, of func(quote) string) (string, bool) {
	seen := map[string]int{}
	for _, x := range quotes {
		if v := of(x); v != "" {
			seen[v]++
		}
	}
	best, tied := "", false
	for v, n := range seen {
		switch {
		case best == "" || n > seen[best]:
			best, tied = v, false
		case n == seen[best]:
			tied = true
		}
	}
	return best, !tied && seen[best] >= 2
}

// dearer compares two decimal texts; "" is dearer than nothing.
func dearer(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) > 0
}
