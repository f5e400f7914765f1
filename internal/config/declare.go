package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/fault"
	"weir/internal/money"
)

// Catalog is the checked catalog: what the configuration declares, and the built-in providers whose key variable is set.
func (c *Config) Catalog(env Lookup) (*catalog.Snapshot, error) {
	d, err := c.Declared(env)
	if err != nil {
		return nil, err
	}
	return catalog.Build(d)
}

// Declared is the catalog before it is checked as a whole, so that more can be appended to it.
//
// A built-in provider takes part when its key variable is set and builtin allows it, unless a provider of that id is declared with
// models of its own. A provider that is declared under a built-in id without models has the built-in models, and what it says of
// key, address, headers and data policy holds.
func (c *Config) Declared(env Lookup) (catalog.Declared, error) {
	k := checker{c: c}
	d := declaring{checker: &k}
	d.all()
	if err := errors.Join(k.errs...); err != nil {
		return catalog.Declared{}, err
	}
	keys := d.borrowed
	for _, p := range builtin.Providers() {
		declared := slices.ContainsFunc(c.Providers, func(own Provider) bool { return own.ID == p.ID })
		if key, set := env(p.KeyVariable); set && key != "" && !declared && c.Builtin.Allows(p.ID) {
			keys[p.ID] = key
		}
	}
	more, err := builtin.Declare(keys, d.rate)
	if err != nil {
		return catalog.Declared{}, err
	}
	for i := range more.Providers {
		c.amend(&more.Providers[i])
	}
	// what the operator writes of a model beats what we know of it
	more.Models = slices.DeleteFunc(more.Models, func(m catalog.ModelInfo) bool {
		return slices.ContainsFunc(c.Models, func(own Model) bool { return own.ID == m.Slug })
	})
	d.out.Append(more)
	return d.out, nil
}

// amend puts what was declared of a built-in provider over it.
func (c *Config) amend(p *catalog.Provider) {
	for i := range c.Providers {
		own := &c.Providers[i]
		if own.ID != p.ID {
			continue
		}
		p.Name = cmp.Or(own.Name, p.Name)
		p.BaseURL = cmp.Or(own.BaseURL, p.BaseURL)
		p.DataPolicy = cmp.Or(catalog.DataPolicy(own.DataPolicy), p.DataPolicy)
		p.Headers = reveal(own.Headers)
		if !reflect.ValueOf(own.Quirks).IsZero() {
			p.Quirks = own.Quirks
		}
	}
}

func reveal(headers map[string]Secret) map[string]string {
	var out map[string]string
	for name, value := range headers {
		if out == nil {
			out = make(map[string]string, len(headers))
		}
		out[name] = value.Reveal()
	}
	return out
}

// Secrets lists every credential that the configuration holds or that built-in providers find in the environment, for whoever
// keeps them out of logs.
func (c *Config) Secrets() []string {
	var out []string
	if c.keys != nil {
		out = c.keys()
	}
	for i := range c.Providers {
		p := &c.Providers[i]
		for _, s := range append([]Secret{p.APIKey}, values(p.Headers)...) {
			if s.Reveal() != "" {
				out = append(out, s.Reveal())
			}
		}
	}
	return out
}

// builtinKeys lists what is set of the variables of built-in providers.
func builtinKeys(env Lookup) []string {
	var out []string
	for _, p := range builtin.Providers() {
		if key, set := env(p.KeyVariable); set && key != "" {
			out = append(out, key)
		}
	}
	return out
}

func values(m map[string]Secret) []Secret {
	var out []Secret
	for _, s := range m {
		out = append(out, s)
	}
	return out
}

// HTTP2 lists the providers that may be spoken to over HTTP/2.
func (c *Config) HTTP2() map[string]bool {
	out := map[string]bool{}
	for i := range c.Providers {
		if c.Providers[i].HTTP2 {
			out[c.Providers[i].ID] = true
		}
	}
	return out
}

// declaring turns the configuration's providers and models into catalog declarations.
type declaring struct {
	*checker
	rate     builtin.Rate
	list     string
	out      catalog.Declared
	borrowed map[string]string // built-in providers declared without models -> their keys
}

func (d *declaring) all() {
	p := &d.c.Pricing
	rate, err := money.NewRate(string(p.RubPerUSD), string(p.Margin))
	if err != nil {
		return // Validate has said so
	}
	d.rate = builtin.Rate{Rate: rate, Version: p.version()}
	d.list = d.c.listVersion()
	d.borrowed = map[string]string{}
	for i := range d.c.Providers {
		d.provider(i)
	}
	for i := range d.c.Models {
		d.model(i)
	}
}

// version names rate and margin by their values too, so that a forgotten change of name cannot make two rates one.
func (p *Pricing) version() string {
	text := "usd=" + string(p.RubPerUSD) + " margin=" + string(p.Margin)
	if p.Version != "" {
		text = p.Version + " " + text
	}
	return text
}

// listVersion names the declared prices by their content.
func (c *Config) listVersion() string {
	h := sha256.New()
	for i := range c.Providers {
		p := &c.Providers[i]
		for j := range p.Models {
			o := &p.Models[j]
			writeAll(h, p.ID, o.ID, o.Region, o.Variant, o.Tier, fmt.Sprint(o.Prices, o.PriceUSD, o.Thresholds))
		}
	}
	return "declared-" + hex.EncodeToString(h.Sum(nil)[:4])
}

func writeAll(w io.Writer, fields ...string) {
	for _, f := range fields {
		fmt.Fprintf(w, "%q", f)
	}
}

func (d *declaring) provider(i int) {
	p := &d.c.Providers[i]
	path := "providers[" + strconv.Itoa(i) + "]"
	if p.ID == "" {
		d.fail(path, "it has no id")
		return
	}
	if slices.ContainsFunc(d.c.Providers[:i], func(q Provider) bool { return q.ID == p.ID }) {
		d.fail(path+".id", "the provider %q is declared twice", p.ID)
		return
	}
	dialect := cmp.Or(p.Dialect, "openai")
	if !slices.Contains(dialects, dialect) {
		d.fail(path+".dialect", "the dialect %q is not known%s; known: %s", dialect, suggestion(dialect, dialects), strings.Join(dialects, ", "))
	}
	for name, value := range p.Headers {
		if !headerName(name) || strings.ContainsAny(value.Reveal(), "\r\n\x00") {
			d.fail(path+".headers", "the header %q cannot be sent", clip(name))
		}
	}
	if strings.ContainsAny(p.APIKey.Reveal(), "\r\n\x00 ") {
		d.fail(path+".api_key", "it holds a space or a line break and cannot be sent")
	}
	known, isBuiltin := builtin.Named(p.ID)
	if len(p.Models) == 0 && isBuiltin {
		d.borrowed[p.ID] = p.APIKey.Reveal()
		amended := known.Provider
		d.c.amend(&amended)
		d.try(path, amended)
		return
	}
	if p.BaseURL == "" {
		d.fail(path, "the provider %q needs base_url, such as http://localhost:8000/v1", p.ID)
		return
	}
	provider := catalog.Provider{ID: p.ID, Name: p.Name, Dialect: dialect, BaseURL: p.BaseURL, Key: p.APIKey.Reveal(), Headers: reveal(p.Headers),
		DataPolicy: catalog.DataPolicy(p.DataPolicy), Quirks: p.Quirks}
	d.try(path, provider)
	d.out.Providers = append(d.out.Providers, provider)
	for j := range p.Models {
		d.offer(p.ID, path+".models["+strconv.Itoa(j)+"]", &p.Models[j])
	}
}

// try builds a provider alone, so that what is wrong with it has its place.
func (d *declaring) try(path string, p catalog.Provider) {
	if _, err := catalog.Build(catalog.Declared{Providers: []catalog.Provider{p}}); err != nil {
		d.fail(path, "%w", err)
	}
}

func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}

func (d *declaring) offer(provider, path string, o *Offer) {
	out := catalog.Offer{
		Provider: provider, Model: o.ID, UpstreamID: o.UpstreamID, Region: o.Region, Tier: o.Tier, Variant: o.Variant, Quantization: o.Quantization,
		ContextLength: o.ContextLength, MaxCompletion: o.MaxOutput, MaxN: int(o.MaxN), ImplicitCache: o.ImplicitCache,
		Input: d.modalities(path+".input", o.Input), Output: d.modalities(path+".output", o.Output), Where: d.c.places.of(path),
	}
	for i, name := range o.Params {
		bit := catalog.ParamNamed(name)
		if bit == 0 {
			d.fail(path+".params["+strconv.Itoa(i)+"]", "there is no parameter %q%s", name, suggestion(name, catalog.AllParams.Names()))
		}
		out.Params |= bit
	}
	out.Pricing.List = d.list
	out.Pricing.Base, out.Pricing.Source = d.prices(path, &o.Prices, &o.PriceUSD, &out.Pricing)
	for i := range o.Thresholds {
		t := &o.Thresholds[i]
		prices, source := d.prices(path+".thresholds["+strconv.Itoa(i)+"]", &t.Prices, &t.PriceUSD, &out.Pricing)
		out.Pricing.Thresholds = append(out.Pricing.Thresholds, catalog.Threshold{Above: t.Above, Prices: prices})
		out.Pricing.Source += fmt.Sprintf("; above %d: %s", t.Above, source)
	}
	d.out.Offers = append(d.out.Offers, out)
}

func (d *declaring) modalities(path string, names []string) catalog.Modality {
	var m catalog.Modality
	for _, name := range names {
		bit := catalog.ModalityNamed(name)
		if bit == 0 {
			d.fail(path, "%q is none of text, image, audio, file, video", name)
		}
		m |= bit
	}
	return m
}

// prices reads prices in rubles and in dollars, and says where they came from.
func (d *declaring) prices(path string, rubles, dollars *Prices, pricing *catalog.Pricing) (catalog.Prices, string) {
	var out catalog.Prices
	inRubles, inDollars := rubles.list(), dollars.list()
	for i, name := range catalog.PriceNames() {
		var price money.Price
		var err error
		switch rub, usd := string(inRubles[i]), string(inDollars[i]); {
		case rub != "" && usd != "":
			d.fail(path, "%s has a price in rubles and one in dollars; keep one", name)
			continue
		case rub != "":
			price, err = money.ParsePrice(rub)
		case usd != "" && catalog.PerTokens(name):
			price, err = d.rate.PerThousand(usd, 1_000_000)
			pricing.Rate = d.rate.Version
		case usd != "":
			price, err = d.rate.Each(usd, 1)
			pricing.Rate = d.rate.Version
		default:
			continue
		}
		if err != nil {
			d.fail(path, "the price of %s: %s", name, fault.From(err).Public)
			continue
		}
		*out.Field(name) = price
	}
	return out, source(rubles, "RUB per 1K tokens", dollars, "USD per 1M tokens")
}

// list is the prices in the order of catalog.PriceNames.
func (p *Prices) list() []Decimal {
	return []Decimal{p.Prompt, p.Completion, p.CacheRead, p.CacheWrite, p.CacheWrite1h, p.Reasoning, p.Audio, p.AudioOutput, p.Image, p.ImageOutput,
		p.Request, p.WebSearch, p.ImageOutputEach}
}

func source(rubles *Prices, rubUnit string, dollars *Prices, usdUnit string) string {
	var parts []string
	for _, x := range []struct {
		prices *Prices
		unit   string
	}{{rubles, rubUnit}, {dollars, usdUnit}} {
		var set []string
		for i, text := range x.prices.list() {
			if text != "" {
				set = append(set, catalog.PriceNames()[i]+" "+string(text))
			}
		}
		if len(set) > 0 {
			parts = append(parts, x.unit+" "+strings.Join(set, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

func (d *declaring) model(i int) {
	m := &d.c.Models[i]
	path := "models[" + strconv.Itoa(i) + "]"
	info := catalog.ModelInfo{Slug: m.ID, Name: m.Name, Description: m.Description, ContextLength: m.ContextLength}
	if m.Created != "" {
		created, err := time.Parse(time.DateOnly, m.Created)
		if err != nil {
			d.fail(path+".created", "%q is no day; write YYYY-MM-DD", clip(m.Created))
		}
		info.Created = created
	}
	if err := catalog.CheckSlug(m.ID); err != nil {
		d.fail(path+".id", "%w", err)
		return
	}
	d.out.Models = append(d.out.Models, info)
}
