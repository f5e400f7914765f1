// Package builtin holds the catalog that Weir is born with: servers that speak the OpenAI wire, and the real models and dollar
// prices of most, so that a provider works once its key variable is set. It must not read the environment itself, and it reads its
// larger half only when someone asks for models.
package builtin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/rawjson"
)

//go:embed providers.json
var providersJSON []byte

//go:embed catalog.json
var catalogJSON []byte

// hostedJSON reports what tools cost that makers of models run themselves: for all models of a provider whose names begin so, the first line that
// fits. A price that an offer has of its own counts. Each price has its source beside it, and what has no price the reason.
//
//go:embed hosted.json
var hostedJSON []byte

// capabilitiesJSON reports which parameters models refuse that their provider takes elsewhere. All lines that fit count: of a provider ("": any),
// of models whose names begin so and do not go on like one in but, and of those that reason, or do not.
//
//go:embed capabilities.json
var capabilitiesJSON []byte

// factsJSON reports how families of models take what requests ask for, each with where it was read.
//
//go:embed facts.json
var factsJSON []byte

// byhand has documents like catalog.json for what no open price list has, one for each type of model. Each names its sources.
//
//go:embed byhand
var byhand embed.FS

// Provider is a server that Weir can use. Those that have models in the catalog are switched on when their key is set; of the others only
// address and quirks are known.
type Provider struct {
	catalog.Provider                // its BaseURL may hold ${VARIABLE}
	KeyVariables     []string       // environment variables that may hold its key, the first that is set counts; none: it needs no key
	Template         bool           // it has no models here: a declaration like it brings them
	UpstreamID       string         // what its ids of models are written in: {id} and ${VARIABLE} are put in; "": nothing
	Params           catalog.Params // parameters that every model of it understands
	MaxN             int            // largest n; 0: any
	ImplicitCache    bool           // caches prompts unasked
}

// Lookup finds an environment variable, like os.LookupEnv.
type Lookup = func(name string) (string, bool)

// KeyIn is the provider's key in the environment. It is missing unless the variables of the address are set too.
func (p *Provider) KeyIn(env Lookup) (string, bool) {
	if p.Template {
		return "", false
	}
	if _, missing := Expand(p.BaseURL, env); missing != "" {
		return "", false
	}
	return p.AnyKeyIn(env)
}

// AnyKeyIn is the first of the provider's keys that is set, wherever the provider may be.
func (p *Provider) AnyKeyIn(env Lookup) (string, bool) {
	for _, name := range p.KeyVariables {
		if key, set := env(name); set && key != "" {
			return key, true
		}
	}
	return "", false
}

// Variables are the environment variables that text names with ${}, each once.
func Variables(text string) []string {
	var out []string
	for {
		_, rest, found := strings.Cut(text, "${")
		name, rest, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return out
		}
		if text = rest; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
}

// Expand puts environment variables where text names them with ${}; missing is the first that is not set. An address in a variable
// may end in a slash.
func Expand(text string, env Lookup) (expanded, missing string) {
	for _, name := range Variables(text) {
		value, set := env(name)
		if !set || value == "" {
			return text, name
		}
		if value == "global" { // the host of Google's services there names no place
			text = strings.ReplaceAll(text, "//${"+name+"}-", "//")
		}
		text = strings.ReplaceAll(text, "${"+name+"}", strings.TrimRight(value, "/"))
	}
	return text, ""
}

// ExpandWires is Expand of every address among wires. One that needs a variable that is not set is left out: the provider's models of its
// type are then served as its others are.
func ExpandWires(wires map[string]catalog.Wire, env Lookup) map[string]catalog.Wire {
	var out map[string]catalog.Wire
	for kind, w := range wires {
		var missing string
		if w.BaseURL, missing = Expand(w.BaseURL, env); missing != "" {
			continue
		}
		if out == nil {
			out = make(map[string]catalog.Wire, len(wires))
		}
		out[kind] = w
	}
	return out
}

var providers = sync.OnceValues(func() ([]Provider, error) { return parseProviders(providersJSON) })

// Providers lists the known providers in their fixed order. The caller must not change the result.
func Providers() []Provider {
	list, err := providers()
	if err != nil {
		panic(err) // a broken build: the embedded file is tested
	}
	return list
}

// KeyVariables are the environment variables that may hold the key of a built-in provider, and whether p is such a provider and has no key. There
// are none for one that needs no key or is not built in.
func KeyVariables(p *catalog.Provider) (variables []string, missing bool) {
	known, _ := Named(p.ID)
	return known.KeyVariables, len(known.KeyVariables) > 0 && p.Key == "" && len(p.Keys) == 0 && len(p.Headers) == 0
}

// Rate is how dollars become rubles, with the name that each charge keeps.
type Rate struct {
	money.Rate
	Version string
}

// Declare declares the providers in keys (provider id -> credential) and their models at that rate. Ids that are not known fail.
func Declare(keys map[string]string, rate Rate) (catalog.Declared, error) {
	return Embedded().Declare(keys, rate)
}

// documents are the parts of the built-in catalog, with the given list in place of the imported one.
func documents(imported []byte) ([][]byte, error) {
	out := [][]byte{imported}
	files, err := byhand.ReadDir("byhand")
	for i := 0; err == nil && i < len(files); i++ {
		if !strings.HasSuffix(files[i].Name(), ".json") {
			continue
		}
		var data []byte
		data, err = byhand.ReadFile("byhand/" + files[i].Name())
		out = append(out, data)
	}
	return out, err
}

// declare trusts the documents to be valid JSON: a test checks the embedded files, so that no start has to.
func declare(documents [][]byte, keys map[string]string, rate Rate, day time.Time) (catalog.Declared, error) {
	d := catalog.Declared{Families: Families()}
	if len(keys) == 0 {
		return d, nil
	}
	var chosen []Provider
	for _, p := range Providers() {
		if key, on := keys[p.ID]; on {
			p.Provider.Key = key
			d.Providers = append(d.Providers, p.Provider)
			chosen = append(chosen, p)
		}
	}
	if len(chosen) < len(keys) {
		return d, errors.New("a provider is not in the built-in catalog")
	}
	for _, data := range documents {
		asOf, err := time.Parse(time.DateOnly, rawjson.TextAt(data, "as_of"))
		if err != nil {
			return d, err
		}
		l := loader{d: &d, rate: rate, list: ListVersion(data), asOf: asOf, day: day}
		offers := rawjson.Find(data, "offers")
		for i := range chosen {
			for e := rawjson.ElementsOf(rawjson.Find(offers, chosen[i].ID)); e.Next(); {
				l.offer(&chosen[i], e.Value)
			}
		}
		if l.err != nil {
			return d, l.err
		}
	}
	d.Aliases = parseMap(rawjson.Find(documents[0], "aliases"))
	l := loader{d: &d, rate: rate}
	l.models(append(slices.Clip(documents), catalogJSON)) // a published list may lack a model that a document names
	l.hosted(hostedJSON)
	l.capabilities(capabilitiesJSON)
	for i := range d.Offers { // a search without a price is refused, so that no offer may claim it
		if o := &d.Offers[i]; !o.Pricing.Base.WebSearch.Set {
			o.Params &^= catalog.ParamWebSearchOptions
		}
	}
	return d, l.err
}

// ListVersion names a price list by its content.
func ListVersion(data []byte) string {
	sum := sha256.Sum256(bytes.TrimSpace(data))
	return "builtin-" + hex.EncodeToString(sum[:4])
}

// Features of a model beyond those that its provider supports everywhere, by their names in the file.
var features = map[string]catalog.Params{
	"tools":     catalog.ParamTools | catalog.ParamToolChoice | catalog.ParamParallelToolCalls,
	"schema":    catalog.ParamResponseFormat | catalog.ParamStructuredOutputs,
	"reasoning": catalog.ParamReasoning | catalog.ParamReasoningEffort | catalog.ParamIncludeReasoning,
	"budget":    catalog.ParamReasoning | catalog.ParamIncludeReasoning, // its reasoning takes a budget, not an effort
}

// sampling are the parameters that a model marked "fixed" refuses.
const sampling = catalog.ParamTemperature | catalog.ParamTopP | catalog.ParamTopK | catalog.ParamMinP | catalog.ParamTopA |
	catalog.ParamFrequencyPenalty | catalog.ParamPresencePenalty | catalog.ParamRepetitionPenalty | catalog.ParamLogprobs | catalog.ParamTopLogprobs

type loader struct {
	d    *catalog.Declared
	rate Rate
	list string
	asOf time.Time
	day  time.Time // offers that are retired by then are left out; zero: none are
	err  error
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("built-in catalog: "+format, args...)
	}
}

// offer reads a line: an endpoint, and those of its service tiers.
func (l *loader) offer(p *Provider, v []byte) {
	o := catalog.Offer{Provider: p.ID, Params: p.Params, MaxN: p.MaxN, ImplicitCache: p.ImplicitCache, Input: catalog.Text, Output: catalog.Text, UpdatedAt: l.asOf}
	o.Pricing.List, o.Pricing.Rate = l.list, l.rate.Version
	tiers := map[string][]byte{}
	for m := rawjson.MembersOf(v); m.Next(); {
		switch name := string(m.Name); name {
		case "model":
			o.Model = rawjson.Text(m.Value)
		case "id":
			o.UpstreamID = rawjson.Text(m.Value)
		case "variant":
			o.Variant = rawjson.Text(m.Value)
		case "quantization":
			o.Quantization = rawjson.Text(m.Value)
		case "context":
			o.ContextLength = l.count(m.Value)
		case "output":
			o.MaxCompletion = l.count(m.Value)
		case "input":
			o.Input = modalities(m.Value)
		case "gives":
			o.Output = modalities(m.Value)
		case "features":
			o.Params = withFeatures(o.Params, m.Value)
		case "facts":
			o.Listed = parseFacts(m.Value)
			o.Listed.Source = cmp.Or(o.Listed.Source, "models.dev")
		case "retires":
			day, err := time.Parse(time.DateOnly, rawjson.Text(m.Value))
			if err != nil {
				l.fail("%s is no day", m.Value)
			}
			o.Retires = day
		case "usd", "above", "hours", "images", "video":
			l.pricing(&o.Pricing, name, m.Value)
		case "flex", "priority", catalog.BatchTier:
			tiers[name] = m.Value
		}
	}
	if !l.day.IsZero() && !o.Retires.IsZero() && !l.day.Before(o.Retires) {
		if l.d.Retired == nil {
			l.d.Retired = map[string]time.Time{}
		}
		if l.d.Retired[o.Model].Before(o.Retires) {
			l.d.Retired[o.Model] = o.Retires
		}
		return
	}
	l.d.Offers = append(l.d.Offers, o)
	for _, name := range []string{"flex", "priority", catalog.BatchTier} {
		if tier, ok := tiers[name]; ok {
			l.d.Offers = append(l.d.Offers, l.tier(o, name, tier))
		}
	}
}

// tier is the offer at another service tier. One that has no price for long prompts does not take them.
func (l *loader) tier(o catalog.Offer, name string, v []byte) catalog.Offer {
	long := o.Pricing.Thresholds
	o.Tier = name
	o.Pricing = catalog.Pricing{List: l.list, Rate: l.rate.Version}
	for m := rawjson.MembersOf(v); m.Next(); {
		l.pricing(&o.Pricing, string(m.Name), m.Value)
	}
	if len(long) > 0 && len(o.Pricing.Thresholds) == 0 {
		o.ContextLength = min(o.ContextLength, long[0].Above)
		o.MaxCompletion = min(o.MaxCompletion, o.ContextLength)
	}
	return o
}

func withFeatures(p catalog.Params, v []byte) catalog.Params {
	for e := rawjson.ElementsOf(v); e.Next(); {
		if name := rawjson.Text(e.Value); name == "fixed" {
			p &^= sampling
		} else {
			p |= features[name]
		}
	}
	return p
}

func modalities(v []byte) catalog.Modality {
	var m catalog.Modality
	for e := rawjson.ElementsOf(v); e.Next(); {
		m |= catalog.ModalityNamed(rawjson.Text(e.Value))
	}
	return m
}

func (l *loader) count(v []byte) int64 {
	n, ok := rawjson.Int(v)
	if !ok {
		l.fail("%s is no count", v)
	}
	return n
}

// pricing reads one member of an offer that holds prices.
func (l *loader) pricing(p *catalog.Pricing, name string, v []byte) {
	switch name {
	case "usd":
		p.Base = l.prices(v, p)
		p.Source = "USD per 1M tokens " + string(v) + p.Source
	case "above":
		for e := rawjson.ElementsOf(v); e.Next(); {
			p.Thresholds = append(p.Thresholds, catalog.Threshold{Above: l.count(rawjson.Find(e.Value, "tokens")), Prices: l.prices(rawjson.Find(e.Value, "usd"), p)})
			p.Source += " above " + string(e.Value)
		}
	case "hours":
		for e := rawjson.ElementsOf(v); e.Next(); {
			text := func(name string) string { return rawjson.TextAt(e.Value, name) }
			p.Hours = append(p.Hours, catalog.Hours{From: text("from"), To: text("to"), Zone: text("zone"), Days: texts(rawjson.Find(e.Value, "days")), Prices: l.prices(rawjson.Find(e.Value, "usd"), p)})
		}
	case "images":
		for e := rawjson.ElementsOf(v); e.Next(); {
			text := func(name string) string { return rawjson.TextAt(e.Value, name) }
			p.Images = append(p.Images, catalog.ImagePrice{Component: cmp.Or(text("component"), "image_output"), Unit: cmp.Or(text("unit"), catalog.UnitImage), Variant: text("variant"), Resolution: text("resolution"),
				Price: l.each(text("usd")), Basis: catalog.BasisSupplier})
		}
		p.Source = strings.TrimSpace(p.Source + " USD per image " + string(v))
	case "video":
		for m := rawjson.MembersOf(v); m.Next(); {
			// "720p" is the same price with and without audio, "720p/audio" and "720p/silent" are one of them, "*" is any other resolution
			resolution, which, _ := strings.Cut(string(m.Name), "/")
			for _, audio := range []bool{true, false} {
				if which == "audio" && !audio || which == "silent" && audio {
					continue
				}
				p.Video = append(p.Video, catalog.VideoRule{Resolution: strings.TrimPrefix(resolution, "*"), WithAudio: audio, PerSecond: l.each(rawjson.Text(m.Value))})
			}
		}
		p.Source += "USD per second " + string(v)
	default:
		l.fail("there is nothing named %q in an offer", name)
	}
}

// prices reads decimal texts of dollars, per million tokens or characters, or per one.
func (l *loader) prices(v []byte, to *catalog.Pricing) catalog.Prices {
	var p catalog.Prices
	for m := rawjson.MembersOf(v); m.Next(); {
		name, text := string(m.Name), rawjson.Text(m.Value)
		field := p.Field(name)
		switch {
		case field == nil:
			l.other(name, text, to)
		case catalog.PerTokens(name):
			*field = l.perThousand(text)
		default:
			*field = l.each(text)
		}
	}
	return p
}

func (l *loader) other(name, text string, to *catalog.Pricing) {
	price, kind := to.NamedRate(name)
	switch {
	case price == nil:
		l.fail("there is no price named %q", name)
	case kind.Thousands:
		*price = l.perThousand(text)
	default:
		*price = l.each(text)
	}
}

func (l *loader) perThousand(text string) money.Price {
	p, err := l.rate.PerThousand(text, 1_000_000)
	if err != nil {
		l.fail("price %s: %w", text, err)
	}
	return p
}

func (l *loader) each(text string) money.Price {
	p, err := l.rate.Each(text, 1)
	if err != nil {
		l.fail("price %s: %w", text, err)
	}
	return p
}

// models describes the models that offers name. The first document that has a model counts; later ones add the fields that it lacks.
func (l *loader) models(documents [][]byte) {
	wanted, others, described := map[string]bool{}, map[string]bool{}, map[string]int{}
	for i := range l.d.Offers {
		wanted[l.d.Offers[i].Model] = true
	}
	for _, data := range documents {
		for m := rawjson.MembersOf(rawjson.Find(data, "models")); m.Next(); {
			slug := string(m.Name)
			if !wanted[slug] {
				continue
			}
			info := l.model(slug, m.Value)
			if i, before := described[slug]; before {
				complete(&l.d.Models[i], &info)
				continue
			}
			described[slug] = len(l.d.Models)
			l.d.Models = append(l.d.Models, info)
			others[slug] = info.Type != ""
		}
	}
	// the parameters of a provider's chat models do not hold for its other models, where the same names have other meanings
	for i := range l.d.Offers {
		if o := &l.d.Offers[i]; others[o.Model] {
			o.Params, o.MaxN, o.ImplicitCache = 0, 0, false
		}
	}
}

// hosted gives chat models the prices of the tools that their providers run.
func (l *loader) hosted(data []byte) {
	other := map[string]bool{}
	for i := range l.d.Models {
		m := &l.d.Models[i]
		other[m.Slug] = m.Type != "" && m.Type != catalog.TypeChat
	}
	for i := range l.d.Offers {
		o := &l.d.Offers[i]
		if other[o.Model] || !o.Pricing.Base.Completion.Set {
			continue
		}
		for e := rawjson.ElementsOf(rawjson.Find(data, "tools")); e.Next(); {
			text := func(name string) string { return rawjson.TextAt(e.Value, name) }
			if text("provider") != o.Provider || !strings.HasPrefix(o.Model, text("model")) {
				continue
			}
			usd := rawjson.Find(e.Value, "usd")
			prices := l.prices(usd, &catalog.Pricing{})
			for _, name := range catalog.PriceNames() {
				if own := o.Pricing.Base.Field(name); !own.Set {
					*own = *prices.Field(name)
				}
			}
			o.Pricing.Source += " USD per call of a tool " + string(usd)
			break
		}
	}
}

// capabilities removes the parameters that models refuse.
func (l *loader) capabilities(data []byte) {
	for e := rawjson.ElementsOf(rawjson.Find(data, "without")); e.Next(); {
		var gone catalog.Params
		for _, name := range texts(rawjson.Find(e.Value, "params")) {
			bit := catalog.ParamNamed(name)
			if bit == 0 {
				l.fail("there is no parameter named %q", name)
			}
			gone |= bit
		}
		provider, models, but := rawjson.TextAt(e.Value, "provider"), texts(rawjson.Find(e.Value, "models")), texts(rawjson.Find(e.Value, "but"))
		reasons, told := rawjson.Bool(rawjson.Find(e.Value, "reasoning"))
		begins := func(list []string, slug string) bool {
			return slices.ContainsFunc(list, func(prefix string) bool {
				exact, whole := strings.CutSuffix(prefix, "$")
				return whole && slug == exact || !whole && strings.HasPrefix(slug, prefix)
			})
		}
		for i := range l.d.Offers {
			o := &l.d.Offers[i]
			if o.Params == 0 || provider != "" && o.Provider != provider || len(models) > 0 && !begins(models, o.Model) || begins(but, o.Model) ||
				told && reasons != (o.Params&catalog.ParamReasoning != 0) {
				continue
			}
			o.Params &^= gone
			if gone&catalog.ParamWebSearchOptions != 0 {
				o.Pricing.Base.WebSearch = money.Price{}
			}
		}
	}
}

// complete adds the missing fields to a description.
func complete(info, more *catalog.ModelInfo) {
	info.Name, info.Description, info.HubID = cmp.Or(info.Name, more.Name), cmp.Or(info.Description, more.Description), cmp.Or(info.HubID, more.HubID)
	if info.Created.IsZero() {
		info.Created = more.Created
	}
	if info.Video == nil {
		info.Video = more.Video
	}
}

func (l *loader) model(slug string, v []byte) catalog.ModelInfo {
	text := func(name string) string { return rawjson.TextAt(v, name) }
	info := catalog.ModelInfo{Slug: slug, Name: text("name"), Type: text("type"), Description: text("description"), HubID: text("hub_id"), Video: videoFacts(rawjson.Find(v, "video"))}
	if day := text("created"); day != "" {
		created, err := time.Parse(time.DateOnly, day)
		if err != nil {
			l.fail("%q is no day", day)
		}
		info.Created = created
	}
	return info
}

func videoFacts(v []byte) *catalog.VideoFacts {
	if v == nil {
		return nil
	}
	list := func(name string) []string { return texts(rawjson.Find(v, name)) }
	f := &catalog.VideoFacts{Resolutions: list("resolutions"), AspectRatios: list("aspect_ratios"), Sizes: list("sizes"), FrameImages: list("frame_images"),
		Passthrough: list("passthrough")}
	for e := rawjson.ElementsOf(rawjson.Find(v, "durations")); e.Next(); {
		seconds, _ := rawjson.Int(e.Value)
		f.Durations = append(f.Durations, int(seconds))
	}
	f.Audio, _ = rawjson.Bool(rawjson.Find(v, "audio"))
	f.Seed, _ = rawjson.Bool(rawjson.Find(v, "seed"))
	return f
}

func texts(v []byte) []string {
	var out []string
	for e := rawjson.ElementsOf(v); e.Next(); {
		out = append(out, rawjson.Text(e.Value))
	}
	return out
}

func parseProviders(data []byte) ([]Provider, error) {
	var out []Provider
	for e := rawjson.ElementsOf(data); e.Next(); {
		p, err := parseProvider(e.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func parseProvider(v []byte) (Provider, error) {
	text := func(name string) string { return rawjson.TextAt(v, name) }
	p := Provider{
		Provider: catalog.Provider{
			ID: text("id"), Name: text("name"), Dialect: cmp.Or(text("dialect"), catalog.UsualDialect), BaseURL: text("base_url"),
			DataPolicy: cmp.Or(catalog.DataPolicy(text("data_policy")), catalog.PolicyUnknown), Quirks: parseQuirks(rawjson.Find(v, "quirks")),
			Facts: parseFacts(rawjson.Find(v, "facts")),
		},
		KeyVariables: texts(rawjson.Find(v, "keys")), UpstreamID: text("upstream_id"),
	}
	if !slices.Contains(catalog.Dialects(), p.Dialect) {
		return p, fmt.Errorf("provider %s: there is no dialect named %q", p.ID, p.Dialect)
	}
	for m := rawjson.MembersOf(rawjson.Find(v, "wires")); m.Next(); {
		w := catalog.Wire{Dialect: rawjson.TextAt(m.Value, "dialect"), BaseURL: rawjson.TextAt(m.Value, "base_url")}
		if w.Dialect != "" && !slices.Contains(catalog.Dialects(), w.Dialect) {
			return p, fmt.Errorf("provider %s: there is no dialect named %q", p.ID, w.Dialect)
		}
		if p.Wires == nil {
			p.Wires = map[string]catalog.Wire{}
		}
		p.Wires[string(m.Name)] = w
	}
	p.Template, _ = rawjson.Bool(rawjson.Find(v, "template"))
	n, _ := rawjson.Int(rawjson.Find(v, "max_n"))
	p.MaxN = int(n)
	p.ImplicitCache, _ = rawjson.Bool(rawjson.Find(v, "implicit_cache"))
	for e := rawjson.ElementsOf(rawjson.Find(v, "params")); e.Next(); {
		bit := catalog.ParamNamed(rawjson.Text(e.Value))
		if bit == 0 {
			return p, fmt.Errorf("provider %s: there is no parameter named %s", p.ID, e.Value)
		}
		p.Params |= bit
	}
	return p, nil
}

func parseQuirks(v []byte) catalog.Quirks {
	text := func(name string) string { return rawjson.TextAt(v, name) }
	flag := func(name string) bool { b, _ := rawjson.Bool(rawjson.Find(v, name)); return b }
	count := func(name string) int { n, _ := rawjson.Int(rawjson.Find(v, name)); return int(n) }
	list := func(name string) []string { return texts(rawjson.Find(v, name)) }
	return catalog.Quirks{
		MaxTokensField: text("max_tokens_field"), ReasoningRequest: text("reasoning_request"), ReasoningReply: text("reasoning_reply"),
		SystemRole: flag("system_role"), StringToolResult: flag("string_tool_result"), NoStreamOptions: flag("no_stream_options"),
		CacheControl: flag("cache_control"), ThoughtSignature: flag("thought_signature"), ThinkTags: flag("think_tags"), ImagesWire: text("images_wire"), VideosWire: text("videos_wire"), VideoBucket: text("video_bucket"),
		CostField: text("cost_field"), CostDigits: count("cost_digits"), AudioStep: count("audio_step"), AudioLeast: count("audio_least"), ReasoningCount: text("reasoning_count"), CachedField: text("cached_field"), Drop: list("drop"), Rename: parseMap(rawjson.Find(v, "rename")),
		ForwardExtra: list("forward_extra"), Responses: flag("responses"), AuthHeader: text("auth_header"), AuthScheme: text("auth_scheme"),
		AuthURL: text("auth_url"), AuthScope: text("auth_scope"), Region: text("region"),
		MaxInputs: count("max_inputs"), MaxInputTokens: count("max_input_tokens"), TokenInput: flag("token_input"), ReasoningInSight: flag("reasoning_in_sight"),
	}
}

func parseFacts(v []byte) catalog.Facts {
	text := func(name string) string { return rawjson.TextAt(v, name) }
	count := func(name string) int { n, _ := rawjson.Int(rawjson.Find(v, name)); return int(n) }
	list := func(name string) []string { return texts(rawjson.Find(v, name)) }
	span := func(name string) time.Duration { d, _ := time.ParseDuration(text(name)); return d }
	return catalog.Facts{
		Efforts: list("efforts"), BudgetLeast: count("budget_least"), BudgetMost: count("budget_most"), ReasoningOff: text("reasoning_off"),
		ReasoningWhole:   text("reasoning_whole"),
		ReasoningRequest: text("reasoning_request"), ReasoningBack: text("reasoning_back"), Excludes: list("excludes"), JSONSchema: text("json_schema"),
		CallIDs: text("call_ids"), CustomTools: text("custom_tools"), SystemMessages: text("system_messages"), InputType: text("input_type"),
		ImageRatios: list("image_ratios"), ImageResolutions: list("image_resolutions"), Source: text("source"),
		FirstByteTimeout: span("first_byte_timeout"), LeaveAfter: span("leave_after"),
	}
}

var families = sync.OnceValue(func() (out []catalog.Family) {
	for e := rawjson.ElementsOf(rawjson.Find(factsJSON, "families")); e.Next(); {
		list := func(name string) []string { return texts(rawjson.Find(e.Value, name)) }
		out = append(out, catalog.Family{Providers: list("providers"), Models: list("models"), But: list("but"), Facts: parseFacts(rawjson.Find(e.Value, "facts"))})
	}
	return out
})

// Families lists what is known of families of models. The caller must not change the result.
func Families() []catalog.Family { return families() }

func parseMap(v []byte) map[string]string {
	var out map[string]string
	for m := rawjson.MembersOf(v); m.Next(); {
		if out == nil {
			out = map[string]string{}
		}
		out[string(m.Name)] = rawjson.Text(m.Value)
	}
	return out
}

// Named finds a known provider by id.
func Named(id string) (Provider, bool) {
	list := Providers()
	i := slices.IndexFunc(list, func(p Provider) bool { return p.ID == id })
	if i < 0 {
		return Provider{}, false
	}
	return list[i], true
}
