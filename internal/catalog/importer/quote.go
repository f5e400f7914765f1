package importer

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"weir/internal/catalog"
)

// prices are dollars under the catalog's names of prices: per million tokens or characters, or per one request, search, image or minute;
// plain decimal text. A price that a source does not state is absent. The sources write a zero both for "free" and for "not charged
// separately", so a zero in a lesser price is ignored.
type prices map[string]string

// names of prices in addition to those of catalog.PriceNames.
const (
	perMinute     = "minute"
	perCharacters = "characters" // per million of them
)

// quote has the prices of one model in one source.
type quote struct {
	source string
	base   prices
	above  map[int64]prices  // of prompts with more tokens than the key
	tiers  map[string]*quote // "flex", "priority" and batch
	hours  []byte            // prices by hour of the day, as they go into the catalog
	images map[image]string  // per image
	video  map[string]string // per second, by resolution
	odd    string            // why the quote cannot be taken as it stands, "" when it can
	final  bool              // the other sources do not count
}

// batch is a tier that is compared with the others but not offered.
const batch = "batch"

type image struct{ variant, resolution string }

// put sets a price that a source states; "" is no price.
func (p prices) put(name, text string) {
	if text != "" {
		p[name] = text
	}
}

// putLesser is put for prices of which a zero is ignored.
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

// mains are the prices by which models of a type are charged, in the order in which they are tried: all prices of a row must be agreed
// on.
var mains = map[string][][]string{
	catalog.TypeChat:          {{"prompt", "completion"}},
	catalog.TypeEmbedding:     {{"prompt"}},
	catalog.TypeModeration:    {{"prompt"}},
	catalog.TypeTranscription: {{perMinute}, {"prompt", "completion"}},
	catalog.TypeImage:         {{"prompt", "image_output"}, {"image_output_each"}},
	catalog.TypeSpeech:        {{perCharacters}, {"prompt", "audio_output"}},
	catalog.TypeRerank:        {{"request"}, {"prompt"}},
}

// terms are the inputs of an agreement other than the quotes.
type terms struct {
	kind   string
	free   bool // a price of zero means free
	writes bool // clients can cause cache writes

	searches bool   // each request has the fee of a search
	maker    *offer // of a reseller: the maker's own offer of the model, nil when unknown
}

// agree makes one quote out of several. It takes a price only where two agree and fewer than that agree on another value.
func agree(t terms, quotes []quote) (q quote, reason string) {
	kind, free := t.kind, t.free
	if i := slices.IndexFunc(quotes, func(x quote) bool { return x.final }); i >= 0 {
		quotes = []quote{quotes[i], quotes[i]}
	}
	if len(quotes) < 2 {
		return q, onlyOne
	}
	if t.searches {
		quotes = withFees(quotes)
	}
	if kind == catalog.TypeVideo {
		return q, q.seconds(quotes)
	}
	var row []string
	var dissent []quote
	for _, names := range mains[kind] {
		if value, ok := majority(quotes, joined(names)); ok {
			row = names
			// a source with wrong main prices is not used for the other prices
			differs := func(x quote) bool { return joined(names)(x) != value }
			for i := range quotes {
				if differs(quotes[i]) {
					dissent = append(dissent, quotes[i])
				}
			}
			quotes = slices.DeleteFunc(slices.Clone(quotes), differs)
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
	if own, ok := t.resold(row, quotes); ok {
		quotes = append(quotes, own, own) // the maker's own prices where resellers list none
	}
	q.lesser(quotes, row)
	if reason := q.hidden(quotes, t.writes); reason != "" {
		return q, reason
	}
	if t.searches && q.base["request"] == "" {
		return q, "each answer begins with a search, and no two sources agree on what that costs"
	}
	if reason := q.thresholds(quotes); reason != "" {
		return q, reason
	}
	// a source with a wrong price still shows that long prompts have another one; only the amount cannot be used
	if len(q.above) == 0 && slices.ContainsFunc(dissent, func(x quote) bool { return len(x.above) > 0 }) {
		return q, longPrompts
	}
	q.takeTiers(quotes)
	for i := range quotes {
		if h := quotes[i].hours; h != nil { // only entered by hand
			q.hours = h
		}
	}
	return q, ""
}

// storage adds the price of the prompt to one of cache writes that is below it: resellers list for Gemini what five minutes of storage cost, and
// charge for it in addition to the tokens (OpenRouter's guide to prompt caching).
func (q *quote) storage() {
	for _, p := range append(slices.Collect(maps.Values(q.above)), q.base) {
		write, ok := new(big.Rat).SetString(p["cache_write"])
		prompt, ok2 := new(big.Rat).SetString(p["prompt"])
		if ok && ok2 && write.Cmp(prompt) < 0 {
			p["cache_write"], _ = shift(write.Add(write, prompt).FloatString(12), 0)
		}
	}
}

// withFees turns the price of a search into a fee per request.
func withFees(quotes []quote) []quote {
	out := slices.Clone(quotes)
	for i := range out {
		base := maps.Clone(out[i].base)
		if search := base["web_search"]; search != "" && base["request"] == "" {
			base["request"] = search
		}
		delete(base, "web_search")
		out[i].base = base
	}
	return out
}

// resold returns the maker's own quote for a reseller with the same main prices, which has the prices of long prompts and of requests.
// Resellers publish only the first prices.
func (t *terms) resold(row []string, quotes []quote) (own quote, ok bool) {
	if t.maker == nil || joined(row)(t.maker.quote) != joined(row)(quotes[0]) {
		return own, false
	}
	own = quote{source: "the maker's own price", base: prices{}, above: t.maker.quote.above}
	for _, name := range append([]string{"request"}, row...) {
		own.base.put(name, t.maker.quote.base[name])
	}
	return own, true
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

// joined returns a quote's values of names as one text, "" unless it has them all.
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

// lesser takes the prices in addition to the main ones. A price that no second source confirms is left out, and its tokens cost the price
// that they fall back to.
func (q *quote) lesser(quotes []quote, row []string) {
	for _, name := range catalog.PriceNames() {
		if slices.Contains(row, name) {
			continue
		}
		value, ok := majority(quotes, func(x quote) string { return x.base[name] })
		if !ok {
			value, ok = rounded(quotes, name)
		}
		if ok {
			q.base[name] = value
		}
	}
	if q.base["reasoning"] == q.base["completion"] {
		delete(q.base, "reasoning")
	}
	if q.base["completion"] == "0" { // of models that do not answer in text
		delete(q.base, "completion")
	}
}

// rounded returns the more exact of two values, when the quotes have only these two and one is the other rounded to fewer digits, but to
// at least three.
func rounded(quotes []quote, name string) (string, bool) {
	var values []string
	for _, x := range quotes {
		if v := x.base[name]; v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) != 2 {
		return "", false
	}
	long, short := values[0], values[1]
	if len(long) < len(short) {
		long, short = short, long
	}
	_, decimals, _ := strings.Cut(short, ".")
	digits := strings.TrimLeft(strings.ReplaceAll(short, ".", ""), "0")
	x, ok := new(big.Rat).SetString(long)
	return long, ok && len(digits) >= 3 && len(long) > len(short) && x.FloatString(len(decimals)) == short
}

// hidden refuses a model for which some source has a further price on which no two agree: falling back to the main price, or to nothing,
// would be too low.
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

// thresholds takes the prices of long prompts. A price of one source is taken when no other contradicts it: the base price alone would be
// too low, and most lists have no field for more. A model is refused when its sources contradict each other.
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
		if !ok && len(at) == 1 {
			if flat(quotes) {
				continue
			}
			pair, ok = joined(row)(at[0]), true
			at = append(at, at[0])
		}
		if !ok || pair == "" {
			return longPrompts
		}
		at = slices.DeleteFunc(at, func(x quote) bool { return joined(row)(x) != pair })
		t := quote{base: prices{"prompt": at[0].base["prompt"], "completion": at[0].base["completion"]}}
		t.lesser(at, row)
		maps.DeleteFunc(t.base, func(name, _ string) bool { return q.base[name] == "" }) // short prompts are charged the whole price for it, or nothing
		// a price missing here would be inherited from the base, which is too low
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

// flat reports whether the maker sells the model at one price for prompts of any length.
func flat(quotes []quote) bool {
	last := &quotes[len(quotes)-1]
	return strings.HasPrefix(last.source, "the maker") && len(last.above) == 0
}

// takeTiers takes those service tiers on whose prices two sources agree. The others are left out without a note, because the model itself
// is not refused.
func (q *quote) takeTiers(quotes []quote) {
	for _, name := range []string{batch, "flex", "priority"} {
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
		if reason != "" {
			continue
		}
		// a price without agreement would fall back to that of the whole prompt, which may be more than the usual tier charges for a
		// cached one
		if cached := q.base["cache_read"]; name == "flex" && t.base["cache_read"] == "" && dearer(t.base["prompt"], cached) {
			t.base.put("cache_read", cached)
		}
		if q.tiers == nil {
			q.tiers = map[string]*quote{}
		}
		q.tiers[name] = &t
	}
}

// sizes takes a price list by size and quality. An unconfirmed line above the plain price refuses the model.
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

// seconds takes the prices per second of those resolutions for which two sources have the same.
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

// majority is the value that at least two quotes share, when no other value is shared by as many; empty values do not count.
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

// dearer compares two decimal texts; any price is dearer than "".
func dearer(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) > 0
}
