// Package importer makes the built-in catalog out of four public price lists. It takes a price only where two of them agree. It must not
// guess: it lists what it does not take, with the reason, for a person to review. An import with implausible prices fails: see sane.go.
package importer

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/rawjson"
)

// Result is the outcome of an import.
type Result struct {
	Catalog []byte    // the file catalog.json of package builtin
	Taken   int       // offers in it, service tiers not counted
	Refused []Refusal // in the order of providers, then by id
	Differs []Difference
	Sources map[string]string // by provider and id, separated by a space: the lists that have prices of what was taken
}

// Refusal is a model that was left out.
type Refusal struct {
	Provider, ID, Reason string
}

// Import reads the folders models-dev, litellm, portkey-models and genai-prices in dir, whose files may be compressed. It fails with
// fault.Invalid when one of them is missing or no JSON.
func Import(dir fs.FS, providers []builtin.Provider, book Book) (Result, error) {
	src, err := readSources(dir, &book)
	if err != nil {
		return Result{}, err
	}
	im := importer{src: src, book: &book, models: map[string]modelInfo{}, sources: map[string]string{}, made: map[string]*offer{}, facts: map[string]*offer{}}
	for i := range providers {
		if n, ok := book.Providers[providers[i].ID]; ok {
			im.provider(&providers[i], n)
		}
	}
	if err := im.sane(); err != nil {
		return Result{}, err
	}
	return Result{Taken: im.taken, Refused: im.refused, Differs: im.differs, Sources: im.sources, Catalog: im.write()}, nil
}

type importer struct {
	src     *sources
	book    *Book
	refused []Refusal
	differs []Difference
	taken   int
	sources map[string]string // of Result
	models  map[string]modelInfo
	made    map[string]*offer // by slug: as the maker of the model sells it
	facts   map[string]*offer // by slug: as the first provider of the list describes it
	offers  []providerOffers
}

type providerOffers struct {
	provider string
	offers   []offer
}

type modelInfo struct{ name, created, kind string }

// offer is one line of the catalog file.
type offer struct {
	id, model       string
	kind, variant   string
	quantization    string
	retires         string // the day from which it is not served; "": none is known
	context, output int64
	maxPrompt       int64
	input, gives    catalog.Modality
	features        []string
	efforts         []string // words of effort that it takes; none: they are not known
	budget          [2]int64 // the least and the most tokens that its reasoning may have; 0: not known
	quote           quote
	batch           *quote // in batches of the maker, nil not offered
}

func (im *importer) provider(p *builtin.Provider, n Names) {
	out := providerOffers{provider: p.ID}
	taken := map[string]string{}
	for _, model := range im.ids(&n) {
		e := im.entry(p.ID, &n, model)
		o, reason := im.offer(p, &n, &e)
		key := o.model + "/" + o.variant
		if other := taken[key]; reason == "" && other != "" {
			reason = "another id has its slug"
		}
		if reason != "" {
			im.refused = append(im.refused, Refusal{p.ID, model, reason})
			continue
		}
		taken[key] = model
		out.offers = append(out.offers, o)
		im.taken++
		im.describeModel(&o, &e)
		if maker, _, _ := strings.Cut(o.model, "/"); o.variant == "" && (maker == n.Vendor || maker == p.ID) {
			im.made[o.model] = &o
		}
	}
	slices.SortFunc(out.offers, func(a, b offer) int { return strings.Compare(a.model+"/"+a.variant, b.model+"/"+b.variant) })
	im.offers = append(im.offers, out)
}

// ids returns the provider's models in any source that lists them, sorted. genai-prices has rules instead of a list.
func (im *importer) ids(n *Names) []string {
	all := map[string]bool{}
	for id := range im.src.modelsDev[n.ModelsDev] {
		all[id] = true
	}
	for _, id := range im.src.litellmIDs(n) {
		all[id] = true
	}
	for id := range im.src.portkey[n.Portkey] {
		all[id] = true
	}
	for from := range n.IDs { // another name in a source is not another model
		if source, id, _ := strings.Cut(from, " "); source != "genai" && n.IDs[from] != id && !im.src.modelsDevHas(n, n.IDs[from]) {
			delete(all, n.IDs[from])
			all[id] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(x, y string) int {
		_, a := n.profile(x)
		_, b := n.profile(y)
		return cmp.Or(a-b, strings.Compare(x, y))
	})
}

func (s *sources) modelsDevHas(n *Names, id string) bool { return s.modelsDev[n.ModelsDev][id] != nil }

// entry has the records of one model in the sources.
type entry struct {
	id                            string
	kind                          string
	modelsDev, litellm, pk, genAI []byte
	confirmed                     *quote
}

func (im *importer) entry(provider string, n *Names, id string) entry {
	e := entry{id: id, modelsDev: im.src.modelsDev[n.ModelsDev][id], litellm: im.src.litellm(n, id), pk: im.src.portkey[n.Portkey][n.in("portkey", id)], genAI: im.src.genai(n, id)}
	if model, _ := n.profile(id); model != id { // a source that does not list the profile may list the model
		if e.modelsDev == nil {
			e.modelsDev = im.src.modelsDev[n.ModelsDev][model]
		}
		if e.pk == nil {
			e.pk = im.src.portkey[n.Portkey][model]
		}
	}
	for _, c := range im.book.Confirmed {
		if c.Provider == provider && c.ID == id && (c.Until == "" || im.book.AsOf <= c.Until) {
			e.confirmed = &quote{source: "checked by hand", base: maps.Clone(c.Prices), above: maps.Clone(c.Above), hours: c.Hours, final: c.Final}
		}
	}
	e.kind = e.typeOf()
	return e
}

// words in an id that show a type, where no source has it.
var words = []struct{ word, kind string }{
	{"moderation", catalog.TypeModeration}, {"rerank", catalog.TypeRerank}, {"embed", catalog.TypeEmbedding}, {"whisper", catalog.TypeTranscription},
	{"transcribe", catalog.TypeTranscription}, {"tts", catalog.TypeSpeech}, {"dall-e", catalog.TypeImage}, {"gpt-image", catalog.TypeImage}, {"sora", catalog.TypeVideo},
	{"veo-", catalog.TypeVideo},
}

// typeOf is the type of the model, "" for a type that Weir does not serve.
func (e *entry) typeOf() string {
	if mode := rawjson.TextAt(e.litellm, "mode"); mode != "" {
		return litellmTypes[mode]
	}
	in, out := modalities(e.modelsDev, "input"), modalities(e.modelsDev, "output")
	switch {
	case out&catalog.Video != 0:
		return catalog.TypeVideo
	case out&catalog.Image != 0:
		return catalog.TypeImage
	case out == catalog.Audio:
		return catalog.TypeSpeech
	case out == catalog.Text && in&catalog.Text == 0 && in&catalog.Audio != 0:
		return catalog.TypeTranscription
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(e.id), w.word) {
			return w.kind
		}
	}
	return catalog.TypeChat
}

func (e *entry) quotes(maxPrompt int64, day string) []quote {
	var out []quote
	if e.modelsDev != nil && rawjson.Find(e.modelsDev, "cost") != nil {
		out = append(out, quoteModelsDev(e.modelsDev, e.kind))
	}
	if e.litellm != nil {
		out = append(out, quoteLiteLLM(e.litellm, e.kind))
	}
	if e.pk != nil {
		out = append(out, quotePortkey(e.pk, e.kind, maxPrompt))
	}
	if e.genAI != nil {
		out = append(out, quoteGenAI(e.genAI, e.kind, day))
	}
	if e.confirmed != nil {
		out = append(out, *e.confirmed)
	}
	for i := range out { // prices for kinds of prompt that the model does not accept
		tooLong := func(above int64, _ prices) bool { return above >= maxPrompt }
		maps.DeleteFunc(out[i].above, tooLong)
		for _, t := range out[i].tiers {
			maps.DeleteFunc(t.above, tooLong)
		}
	}
	return out
}

// offer makes the catalog line of a model, or returns the reason why it is refused.
func (im *importer) offer(p *builtin.Provider, n *Names, e *entry) (o offer, reason string) {
	o = offer{id: e.id, kind: e.kind, quantization: quantized(e.id)}
	if strings.HasSuffix(e.id, ":batch") {
		return o, "it is served in batches"
	}
	if reason := e.unserved(n); reason != "" {
		return o, reason
	}
	var ok bool
	if o.model, o.variant, ok = im.book.Slug(n, e.id); !ok {
		return o, "its id cannot be turned into a slug"
	}
	if o.retires = im.retirement(p.ID, e); o.retires != "" && o.retires <= im.book.AsOf {
		return o, "it is retired"
	}
	if reason := im.unfit(n, e); reason != "" {
		return o, reason
	}
	if reason := o.describe(im, n, e); reason != "" {
		return o, reason
	}
	quotes := e.quotes(o.maxPrompt, im.book.AsOf)
	t := terms{kind: e.kind, free: e.kind == catalog.TypeModeration || o.variant == "free", writes: p.Quirks.CacheControl || marked(p, &o), searches: searches(o.model)}
	if n.Resells {
		t.maker = im.made[o.model]
	}
	o.quote, reason = agree(t, quotes)
	im.compare(p.ID, &o, quotes, reason)
	var names []string
	for i := range quotes {
		names = append(names, quotes[i].source)
	}
	im.sources[p.ID+" "+e.id] = strings.Join(names, ", ")
	if reason != "" {
		return o, reason
	}
	o.batch = im.batches(n, &o, e, quotes)
	if n.Untiered {
		o.quote.tiers = nil
	}
	if n.Resells {
		o.quote.storage()
	}
	if o.variant == "free" && o.quote.base["prompt"] != "0" {
		return o, "it is named free, but has a price"
	}
	if o.kind == catalog.TypeVideo && im.book.Video[o.model] == nil {
		return o, "its videos are not described by hand"
	}
	return o, o.unpriced()
}

// marked reports whether the provider's own wire has cache markers and charges for them.
func marked(p *builtin.Provider, o *offer) bool {
	return p.Dialect == "anthropic" || p.Dialect == "bedrock" && strings.HasPrefix(o.model, "anthropic/")
}

// unserved returns the reason to refuse a model that the provider does not serve to Weir's users, or not over Weir's wire.
func (e *entry) unserved(n *Names) string {
	switch {
	case begins(e.id, n.Elsewhere):
		return "it is for other places"
	case len(n.Only) > 0 && !begins(e.id, n.Only), n.Chat && e.kind != catalog.TypeChat:
		return "this provider serves it on another wire"
	case n.Chat && e.litellm == nil:
		return "litellm does not list it, so that the wire may not serve it"
	}
	return ""
}

// retirement is the day from which the provider does not serve a model, "" when none is known.
func (im *importer) retirement(provider string, e *entry) string {
	day := rawjson.TextAt(e.litellm, "deprecation_date")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		day = ""
	}
	for i := range im.book.Retired {
		if r := &im.book.Retired[i]; r.covers(provider, e.id) && (day == "" || r.On < day) {
			day = r.On
		}
	}
	return day
}

// unfit returns the reason to refuse a model that should not be offered at any price.
func (im *importer) unfit(n *Names, e *entry) string {
	endpoints := rawjson.Find(e.litellm, "supported_endpoints")
	switch {
	case n.Skip[e.id] != "":
		return n.Skip[e.id]
	case e.kind == "":
		return "it is called in a way that Weir does not have (litellm: " + rawjson.TextAt(e.litellm, "mode") + ")"
	case rawjson.TextAt(e.modelsDev, "status") == "deprecated":
		return "it is deprecated"
	case strings.HasSuffix(e.id, "-latest") && e.kind != catalog.TypeModeration, strings.HasPrefix(e.id, "~"):
		return "it is a moving alias, whose price moves with it"
	case strings.Contains(e.id, "deep-research"):
		return "it is not served by chat completions, and does searches of its own"
	case strings.Contains(e.id, "realtime"), strings.Contains(e.id, "live"):
		return "it is called over a realtime connection"
	case e.kind == catalog.TypeChat && n.ModelsDev != "" && e.modelsDev == nil && !im.newer(n, e):
		return "models-dev does not list it, so that it may be gone"
	case e.kind == catalog.TypeChat && endpoints != nil && !contains(endpoints, "/v1/chat/completions"):
		return "it is not served by chat completions"
	}
	return ""
}

// newer reports whether a model that models-dev lacks is newer than its list: no provider there has it, and the list of a reseller, which
// is the newest, has it. A model that a provider merely removed is listed by other providers, or by no reseller.
func (im *importer) newer(n *Names, e *entry) bool {
	model, _ := n.profile(e.id)
	slug, _, ok := im.book.Slug(n, e.id)
	name := bare(slug)
	return ok && !strings.Contains(model, ":") && !im.src.known[name] && !im.src.known[undated(name)] && im.src.resold[name]
}

// undated is a name without the day at its end.
func undated(name string) string {
	if at := len(name) - len("-2006-01-02"); at > 0 {
		if _, err := time.Parse("-"+time.DateOnly, name[at:]); err == nil {
			return name[:at]
		}
	}
	return name
}

// bare is the part of a model's name on which sources agree: without maker, dots and capitals.
func bare(id string) string {
	id, _, _ = strings.Cut(id[strings.LastIndexByte(id, '/')+1:], ":")
	return strings.ReplaceAll(strings.ToLower(id), ".", "-")
}

// searches reports whether a model begins every answer with a web search: its cost is a fee per request.
func searches(slug string) bool {
	return strings.HasPrefix(slug, "perplexity/sonar") || strings.Contains(slug, "-search-preview") || strings.Contains(slug, "-search-api")
}

// describe reads what the sources report about a model in addition to its price: from models-dev, or from litellm where models-dev does
// not have it, or from another provider's entry or the facts entered by hand.
func (o *offer) describe(im *importer, n *Names, e *entry) (reason string) {
	switch known := im.facts[o.model]; {
	case e.modelsDev != nil:
		o.fromModelsDev(n, e)
	case e.litellm != nil:
		o.fromLiteLLM(e.litellm)
	case rawjson.Find(im.book.Facts[o.model], "context") != nil:
		o.fromFacts(im.book.Facts[o.model])
	case known != nil:
		o.input, o.gives, o.output, o.features = known.input, known.gives, known.output, known.features
		o.context = known.context
	}
	if window, ok := rawjson.Int(rawjson.Find(e.genAI, "context_window")); ok && e.modelsDev == nil && e.litellm == nil && window > 0 && (o.context == 0 || window < o.context) {
		o.context = window
	}
	if fixed, _ := rawjson.Bool(rawjson.Find(im.book.Facts[o.model], "fixed")); fixed && !slices.Contains(o.features, "fixed") {
		o.feature("fixed", true)
	}
	o.output = min(o.output, o.context)
	if o.maxPrompt == 0 {
		o.maxPrompt = o.context
	}
	o.input &^= catalog.Video // no source prices video input
	switch o.kind {
	case catalog.TypeChat:
		if o.context <= 0 || o.output < 0 {
			return "its context length is unknown"
		}
		if o.context > longest {
			return "its context length is implausible"
		}
		if o.input&catalog.Text == 0 || o.gives&catalog.Text == 0 {
			return "it does not turn text into text"
		}
		return ""
	case catalog.TypeTranscription:
		o.input, o.gives = catalog.Audio, catalog.Text
	case catalog.TypeSpeech:
		o.input, o.gives = catalog.Text, catalog.Audio
	case catalog.TypeVideo:
		o.input, o.gives = catalog.Text|catalog.Image, catalog.Video
	case catalog.TypeImage:
		o.input, o.gives = o.input&(catalog.Text|catalog.Image)|catalog.Text, catalog.Image
	case catalog.TypeModeration:
		o.gives = catalog.Text
		if o.input = catalog.Text; strings.HasPrefix(e.id, "omni-") {
			o.input |= catalog.Image
		}
	default:
		o.input, o.gives = catalog.Text, catalog.Text
	}
	o.output, o.features, o.efforts, o.budget = 0, nil, nil, [2]int64{} // of chat models only
	return ""
}

// longest is ten times the longest context of a known model.
const longest = 100_000_000

func (o *offer) fromModelsDev(n *Names, e *entry) {
	v := e.modelsDev
	flag := func(name string) bool { b, _ := rawjson.Bool(rawjson.Find(v, name)); return b }
	o.input, o.gives = modalities(v, "input"), modalities(v, "output")
	o.context, _ = rawjson.Int(rawjson.FindPath(v, "limit", "context"))
	o.output, _ = rawjson.Int(rawjson.FindPath(v, "limit", "output"))
	o.maxPrompt, _ = rawjson.Int(rawjson.FindPath(v, "limit", "input"))
	o.feature("tools", flag("tool_call"))
	o.feature("schema", flag("structured_output") || n.Budgets && rawjson.Find(v, "structured_output") == nil && e.can("native_structured_output"))
	budget := n.Budgets && takesBudget(v) && !e.can("adaptive_thinking")
	o.feature("reasoning", flag("reasoning") && !budget)
	o.feature("budget", flag("reasoning") && budget)
	temperature, reported := rawjson.Bool(rawjson.Find(v, "temperature"))
	o.feature("fixed", reported && !temperature)
	o.reasons(v)
}

// reasons reads how a model is asked to reason. Words and ranges that no request could follow are left out: a list is not trusted.
func (o *offer) reasons(v []byte) {
	for e := rawjson.ElementsOf(rawjson.Find(v, "reasoning_options")); e.Next(); {
		switch rawjson.TextAt(e.Value, "type") {
		case "effort":
			o.efforts = nil
			for word := rawjson.ElementsOf(rawjson.Find(e.Value, "values")); word.Next(); {
				if text := rawjson.Text(word.Value); catalog.IsEffort(text) && !slices.Contains(o.efforts, text) {
					o.efforts = append(o.efforts, text)
				}
			}
			if !slices.ContainsFunc(o.efforts, func(word string) bool { return word != "none" }) {
				o.efforts = nil // a request for some reasoning would have no word
			}
		case "budget_tokens":
			least, _ := rawjson.Int(rawjson.Find(e.Value, "min"))
			most, _ := rawjson.Int(rawjson.Find(e.Value, "max"))
			if least >= 0 && most >= 0 && least <= longest && most <= longest && (most == 0 || most >= least) {
				o.budget = [2]int64{least, most}
			}
		}
	}
}

// can reports whether litellm lists a capability of a model.
func (e *entry) can(what string) bool {
	yes, _ := rawjson.Bool(rawjson.Find(e.litellm, "supports_"+what))
	return yes
}

// takesBudget reports whether models-dev says that a model may be given a budget of tokens for reasoning.
func takesBudget(v []byte) bool {
	for e := rawjson.ElementsOf(rawjson.Find(v, "reasoning_options")); e.Next(); {
		if rawjson.TextAt(e.Value, "type") == "budget_tokens" {
			return true
		}
	}
	return false
}

func (o *offer) fromLiteLLM(v []byte) {
	flag := func(name string) bool { b, _ := rawjson.Bool(rawjson.Find(v, "supports_"+name)); return b }
	o.input, o.gives = catalog.Text, catalog.Text
	for name, m := range map[string]catalog.Modality{"vision": catalog.Image, "audio_input": catalog.Audio, "pdf_input": catalog.File} {
		if flag(name) {
			o.input |= m
		}
	}
	o.context, _ = rawjson.Int(rawjson.Find(v, "max_input_tokens"))
	o.output, _ = rawjson.Int(rawjson.Find(v, "max_output_tokens"))
	o.feature("tools", flag("function_calling"))
	o.feature("schema", flag("response_schema"))
	o.feature("reasoning", flag("reasoning"))
}

// fromFacts reads the facts about a model that were entered by hand.
func (o *offer) fromFacts(v []byte) {
	o.input, o.gives = catalog.Text, catalog.Text
	for e := rawjson.ElementsOf(rawjson.Find(v, "input")); e.Next(); {
		o.input |= catalog.ModalityNamed(rawjson.Text(e.Value))
	}
	o.context, _ = rawjson.Int(rawjson.Find(v, "context"))
	o.output, _ = rawjson.Int(rawjson.Find(v, "output"))
	o.features = list(rawjson.Find(v, "features"))
}

func (o *offer) feature(name string, has bool) {
	if has {
		o.features = append(o.features, name)
	}
}

// unpriced removes the inputs and outputs of a model on whose price no two sources agree. It refuses a transcription model without an
// audio price, because the price of text would be too low.
func (o *offer) unpriced() string {
	base := o.quote.base
	switch o.kind {
	case catalog.TypeTranscription:
		if base["audio"] == "" && base[perMinute] == "" {
			return "it takes sound, and no two sources agree on what that costs"
		}
	case catalog.TypeChat:
		if base["audio"] == "" {
			o.input &^= catalog.Audio
		}
		o.gives &= catalog.Text | catalog.Audio
		if base["audio_output"] == "" {
			o.gives &= catalog.Text
		}
		if (o.input|o.gives)&catalog.Audio == 0 && strings.Contains(o.id, "-audio") {
			return "it is made for audio, and no two sources agree on what that costs"
		}
	}
	return ""
}

// shown is a name that can be shown: one line of printable characters; "" for any other.
func shown(name string) string {
	for _, c := range name {
		if !unicode.IsPrint(c) {
			return ""
		}
	}
	if len(name) > 100 {
		return ""
	}
	return name
}

// describeModel collects the facts about a model that do not depend on its provider. The name comes from the first provider of the list
// that serves it.
func (im *importer) describeModel(o *offer, e *entry) {
	if _, known := im.models[o.model]; known {
		return
	}
	facts := im.book.Facts[o.model]
	name := strings.TrimSpace(strings.TrimSuffix(rawjson.TextAt(e.modelsDev, "name"), " (latest)"))
	name = cmp.Or(strings.TrimSuffix(name, " (free)"), rawjson.TextAt(facts, "name"), rawjson.TextAt(e.genAI, "name"))
	im.models[o.model] = modelInfo{name: shown(name), created: cmp.Or(rawjson.TextAt(e.modelsDev, "release_date"), rawjson.TextAt(facts, "created")), kind: o.kind}
	im.facts[o.model] = o
}
