// Package importer makes the built-in catalog out of three public price lists. It takes a price only where two of them agree, and
// it must not guess: what it does not take it names, with the reason, for a person to review.
package importer

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Result is what an import made.
type Result struct {
	Catalog []byte    // the file catalog.json of package builtin
	Taken   int       // offers in it
	Refused []Refusal // in the order of providers, then by id
}

// Refusal is a model that was left out.
type Refusal struct {
	Provider, ID, Reason string
}

// Import reads the folders models-dev, litellm and portkey-models in dir. It fails with fault.Invalid when one of their files is
// missing or no JSON.
func Import(dir fs.FS, providers []builtin.Provider) (Result, error) {
	src, err := readSources(dir, providers)
	if err != nil {
		return Result{}, err
	}
	im := importer{src: src, models: map[string]modelInfo{}}
	for i := range providers {
		if err := im.provider(&providers[i]); err != nil {
			return Result{}, err
		}
	}
	return Result{Catalog: im.write(), Taken: im.taken, Refused: im.refused}, nil
}

type importer struct {
	src     *sources
	refused []Refusal
	taken   int
	models  map[string]modelInfo
	offers  []providerOffers
}

type providerOffers struct {
	provider string
	offers   []offer
}

type modelInfo struct{ name, created string }

// offer is one line of the catalog file.
type offer struct {
	id, model       string
	context, output int64
	maxPrompt       int64
	input           catalog.Modality
	features        []string
	quote           quote
}

func (im *importer) provider(p *builtin.Provider) error {
	models := im.src.modelsDev[p.Sources.ModelsDev]
	if models == nil {
		return fault.Newf(fault.Invalid, "importer.Import", "models-dev has no provider %q.", p.Sources.ModelsDev)
	}
	byID := index(models)
	out := providerOffers{provider: p.ID}
	taken := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		o, reason := im.offer(p, id, byID[id])
		if other := taken[o.model]; reason == "" && other != "" {
			reason = fmt.Sprintf("its slug %s is already %s", o.model, other)
		}
		if reason != "" {
			im.refused = append(im.refused, Refusal{p.ID, id, reason})
			continue
		}
		taken[o.model] = id
		out.offers = append(out.offers, o)
		im.taken++
		if _, known := im.models[o.model]; !known { // the first provider of the list names a model
			im.models[o.model] = modelInfo{name: strings.TrimSuffix(rawjson.Text(rawjson.Find(byID[id], "name")), " (latest)"), created: rawjson.Text(rawjson.Find(byID[id], "release_date"))}
		}
	}
	slices.SortFunc(out.offers, func(a, b offer) int { return strings.Compare(a.model, b.model) })
	im.offers = append(im.offers, out)
	return nil
}

// offer reads one model of one provider; reason says why it is refused.
func (im *importer) offer(p *builtin.Provider, id string, model []byte) (o offer, reason string) {
	o = offer{id: id}
	if reason = o.describe(model); reason != "" {
		return o, reason
	}
	var ok bool
	if o.model, ok = Slug(p, id); !ok {
		return o, "its id cannot be turned into a slug"
	}
	quotes := []quote{quoteModelsDev(model)}
	if v := im.src.liteLLM[p.Sources.LiteLLM+id]; v != nil && rawjson.Text(rawjson.Find(v, "litellm_provider")) == p.Sources.LiteLLMProvider {
		quotes = append(quotes, quoteLiteLLM(v))
	}
	if v := im.src.portkey[p.Sources.Portkey][id]; v != nil {
		quotes = append(quotes, quotePortkey(v, o.maxPrompt))
	}
	o.quote, reason = agree(quotes, p.Quirks.CacheControl)
	if o.quote.audio == "" {
		o.input &^= catalog.Audio // nobody knows what it would cost
	}
	return o, reason
}

// describe reads what models-dev says of a model beside its price.
func (o *offer) describe(model []byte) (reason string) {
	text := func(name string) string { return rawjson.Text(rawjson.Find(model, name)) }
	flag := func(name string) bool { b, _ := rawjson.Bool(rawjson.Find(model, name)); return b }
	in, out := modalities(model, "input"), modalities(model, "output")
	switch {
	case text("status") == "deprecated":
		return "it is deprecated"
	case strings.HasSuffix(o.id, "-latest"):
		return "it is a moving alias, whose price moves with it"
	case strings.Contains(strings.ToLower(o.id), "embed"):
		return "it is an embedding model"
	case in&catalog.Text == 0 || out != catalog.Text:
		return fmt.Sprintf("it takes %s and gives %s, not text for text", in, out)
	}
	o.input = in &^ catalog.Video // no source prices video
	o.context, _ = rawjson.Int(rawjson.FindPath(model, "limit", "context"))
	o.output, _ = rawjson.Int(rawjson.FindPath(model, "limit", "output"))
	if o.context <= 0 {
		return "its context length is unknown"
	}
	o.output = min(o.output, o.context)
	o.maxPrompt = o.context
	if n, ok := rawjson.Int(rawjson.FindPath(model, "limit", "input")); ok && n > 0 {
		o.maxPrompt = n
	}
	if flag("tool_call") {
		o.features = append(o.features, "tools")
	}
	if flag("structured_output") {
		o.features = append(o.features, "schema")
	}
	if flag("reasoning") {
		o.features = append(o.features, "reasoning")
	}
	if temperature, ok := rawjson.Bool(rawjson.Find(model, "temperature")); ok && !temperature {
		o.features = append(o.features, "fixed")
	}
	return ""
}

func modalities(model []byte, side string) catalog.Modality {
	var m catalog.Modality
	for e := rawjson.ElementsOf(rawjson.FindPath(model, "modalities", side)); e.Next(); {
		m |= catalog.ModalityNamed(rawjson.Text(e.Value))
	}
	return m
}

// agree makes one quote out of several, taking each price only where two agree. When clients can cause cache writes, a price for
// them that nobody confirms refuses the model: falling back to the prompt price would be too low.
func agree(quotes []quote, cacheWrites bool) (q quote, reason string) {
	for _, x := range quotes {
		if x.mode != "" && x.mode != "chat" {
			return q, "litellm says it is no chat model: " + x.mode
		}
	}
	pair, ok := majority(quotes, func(x quote) string { return cmp.Or(x.prompt, "?") + " / " + cmp.Or(x.completion, "?") })
	switch {
	case len(quotes) < 2:
		return q, "only one source has it"
	case !ok || strings.Contains(pair, "?"):
		return q, "no two sources agree on prompt and completion: " + each(quotes)
	}
	// who is wrong about the main prices is not asked about the others
	quotes = slices.DeleteFunc(slices.Clone(quotes), func(x quote) bool { return x.prompt+" / "+x.completion != pair })
	q.prompt, q.completion = quotes[0].prompt, quotes[0].completion
	if q.prompt == "0" || q.completion == "0" {
		return q, "a price of zero may mean free, a trial or a subscription"
	}
	for _, x := range quotes {
		if x.odd != "" {
			return q, x.odd
		}
	}
	q.lesserPrices(quotes)
	if cacheWrites && q.cacheWrite == "" && slices.ContainsFunc(quotes, func(x quote) bool { return dearer(x.cacheWrite, q.prompt) }) {
		return q, "cache writes cost extra, but no two sources agree on how much"
	}
	return q, q.thresholds(quotes)
}

// lesserPrices takes those beside prompt and completion; one that nobody confirms stays out, and its tokens cost what the
// price they fall back to does.
func (q *quote) lesserPrices(quotes []quote) {
	q.cacheRead, _ = majority(quotes, func(x quote) string { return x.cacheRead })
	q.cacheWrite, _ = majority(quotes, func(x quote) string { return x.cacheWrite })
	q.reasoning, _ = majority(quotes, func(x quote) string { return x.reasoning })
	q.audio, _ = majority(quotes, func(x quote) string { return x.audio })
	if q.reasoning == q.completion {
		q.reasoning = ""
	}
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
				at = append(at, t)
			}
		}
		pair, ok := majority(at, func(x quote) string { return x.prompt + " / " + x.completion })
		if !ok {
			return fmt.Sprintf("prompts above %d tokens cost more, but no two sources agree on how much", above)
		}
		at = slices.DeleteFunc(at, func(x quote) bool { return x.prompt+" / "+x.completion != pair })
		t := quote{prompt: at[0].prompt, completion: at[0].completion}
		t.lesserPrices(at)
		if q.cacheRead != "" && t.cacheRead == "" {
			t.cacheRead = t.prompt // the base's would be inherited and be too low
		}
		if q.reasoning != "" && t.reasoning == "" {
			t.reasoning = t.completion
		}
		q.threshold(above, t)
	}
	return ""
}

// majority is a value that at least two quotes share; empty values do not count.
func majority(quotes []quote, of func(quote) string) (string, bool) {
	seen := map[string]int{}
	for _, x := range quotes {
		v := of(x)
		if v == "" {
			continue
		}
		if seen[v]++; seen[v] == 2 {
			return v, true
		}
	}
	return "", false
}

// dearer compares two decimal texts; "" is dearer than nothing.
func dearer(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) > 0
}

func each(quotes []quote) string {
	var parts []string
	for _, x := range quotes {
		parts = append(parts, cmp.Or(x.prompt, "?")+" / "+cmp.Or(x.completion, "?"))
	}
	return strings.Join(parts, ", ")
}
