package config

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/blob/s3"
	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/secret"
)

// declared returns the catalog before it is checked as a whole, with prices at the given rate. more has credentials of built-in providers
// that are stored elsewhere; they enable providers that are not declared.
//
// A built-in provider is enabled when its key variable is set and builtin allows it, unless a provider of that id is declared with models.
// A provider that is declared with a built-in id and without models has the built-in models, and overrides key, address, headers and data
// policy.
func (c *Config) declared(env Lookup, rate builtin.Rate, more map[string]string) (catalog.Declared, map[string]*edit.Discovery, error) {
	k := checker{c: c}
	d := declaring{checker: &k, given: &rate}
	d.all()
	if err := errors.Join(k.errs...); err != nil {
		return catalog.Declared{}, nil, err
	}
	keys := d.borrowed
	for _, p := range builtin.Providers() {
		declared := slices.ContainsFunc(c.Providers, func(own Provider) bool { return own.ID == p.ID })
		if key, set := p.KeyIn(env); set && !declared && c.Builtin.Allows(p.ID) {
			keys[p.ID] = key
		}
		if key, kept := more[p.ID]; kept && !declared && (key != "" || keys[p.ID] == "") { // without one in use there, that of the environment is
			keys[p.ID] = key
		}
	}
	list := c.list
	if list == nil {
		list = builtin.Embedded()
	}
	known, err := list.Declare(keys, d.rate)
	if err != nil {
		return catalog.Declared{}, nil, err
	}
	for i := range known.Providers {
		p := &known.Providers[i]
		c.amend(p)
		url, missing := builtin.Expand(p.BaseURL, env)
		p.BaseURL, p.Wires = url, builtin.ExpandWires(p.Wires, env)
		if _, kept := more[p.ID]; missing != "" && kept {
			p.BaseURL = "" // the address may be stored together with the credential
		} else if missing != "" {
			return catalog.Declared{}, nil, fmt.Errorf("provider %q needs the environment variable %s, or a base_url", p.ID, missing)
		}
	}
	// declared models override built-in ones
	known.Models = slices.DeleteFunc(known.Models, func(m catalog.ModelInfo) bool {
		i := slices.IndexFunc(d.out.Models, func(own catalog.ModelInfo) bool { return own.Slug == m.Slug })
		if i >= 0 {
			complete(&d.out.Models[i], &m)
		}
		return i >= 0
	})
	d.out.Append(known)
	d.out.Families = slices.Concat(known.Families, c.Families) // what the operator says counts before what is built in
	d.out.KnownSince, d.out.AttemptBudget = list.AsOf, c.Relay.AttemptBudget
	return d.out, d.discoveries, nil
}

// amend applies the declaration of a built-in provider to it.
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
		p.Proxy = own.Proxy
		p.CA, _ = readAuthorities(own.CAFile) // an error in the file was reported when it was checked
		_, p.Keys = own.credentials()
		if !reflect.ValueOf(own.Quirks).IsZero() {
			p.Quirks = own.Quirks
		}
		p.Facts = p.Facts.Over(&own.Facts)
	}
}

// credentials returns the first key of p, "" if it has none, and the others.
func (p *Provider) credentials() (first string, more []string) {
	for _, s := range append([]secret.Text{p.APIKey}, p.APIKeys...) {
		switch key := s.Reveal(); {
		case key == "":
		case first == "":
			first = key
		default:
			more = append(more, key)
		}
	}
	return first, more
}

func reveal(headers map[string]secret.Text) map[string]string {
	var out map[string]string
	for name, value := range headers {
		if out == nil {
			out = make(map[string]string, len(headers))
		}
		out[name] = value.Reveal()
	}
	return out
}

// Secrets lists all credentials of the configuration, and those of built-in providers in the environment, so that logs can redact them.
func (c *Config) Secrets() []string {
	var out []string
	if c.keys != nil {
		out = c.keys()
	}
	out = append(out, c.Store.DSN.secrets()...)
	plain := []secret.Text{c.Mail.Password, c.Payments.YooKassa.SecretKey}
	for _, bucket := range []*s3.Config{&c.Video.S3, &c.Batch.S3, &c.Export.S3} {
		plain = append(plain, bucket.AccessKey, bucket.SecretKey, bucket.Session)
	}
	for _, s := range plain {
		if s.Reveal() != "" {
			out = append(out, s.Reveal())
		}
	}
	out = append(out, c.Upstream.Proxy.Secrets()...)
	for _, h := range c.Tracing.Receiver.Headers {
		if _, value, _ := strings.Cut(h.Reveal(), ":"); strings.TrimSpace(value) != "" {
			out = append(append(out, strings.TrimSpace(value)), secretParts(strings.TrimSpace(value))...)
		}
	}
	for i := range c.SignIn.Providers {
		if s := c.SignIn.Providers[i].ClientSecret.Reveal(); s != "" {
			out = append(out, s)
		}
	}
	for i := range c.Providers {
		p := &c.Providers[i]
		out = append(out, p.Proxy.Secrets()...)
		for _, s := range slices.Concat([]secret.Text{p.APIKey}, p.APIKeys, values(p.Headers)) {
			if s.Reveal() != "" {
				out = append(append(out, s.Reveal()), secretParts(s.Reveal())...)
			}
		}
	}
	return out
}

// builtinKeys lists the values of the key variables of built-in providers.
func builtinKeys(env Lookup) []string {
	var out []string
	for _, p := range builtin.Providers() {
		if key, set := p.AnyKeyIn(env); set {
			out = append(out, key)
		}
	}
	return out
}

func values(m map[string]secret.Text) []secret.Text {
	var out []secret.Text
	for _, s := range m {
		out = append(out, s)
	}
	return out
}

// HTTP2 lists the providers that may use HTTP/2.
func (c *Config) HTTP2() map[string]bool {
	out := map[string]bool{}
	for i := range c.Providers {
		if c.Providers[i].HTTP2 {
			out[c.Providers[i].ID] = true
		}
	}
	return out
}

// declaring converts the configuration's providers and models into catalog declarations.
type declaring struct {
	*checker
	given       *builtin.Rate // nil: the configuration's rate
	rate        builtin.Rate
	list        string
	out         catalog.Declared
	borrowed    map[string]string          // built-in providers declared without models -> their keys
	discoveries map[string]*edit.Discovery // of providers whose servers are asked for their models
	unclear     []string                   // slugs of models of which something is wrong
}

func (d *declaring) all() {
	declared := d.c.Rate()
	effective, err := rate.At(declared, nil, time.Time{})
	if err != nil {
		return // Validate has reported this
	}
	d.rate = builtin.Rate{Rate: effective.Rate, Version: effective.Version}
	if d.given != nil {
		d.rate = *d.given
	}
	d.list = d.c.listVersion()
	d.borrowed = map[string]string{}
	if !d.broken("relay.attempt_budget") {
		d.out.AttemptBudget = d.c.Relay.AttemptBudget
	}
	for i := range d.c.Families {
		d.family(i)
	}
	for i := range d.c.Providers {
		d.provider(i)
	}
	for i := range d.c.Models {
		d.model(i)
	}
}

// listVersion returns a version for the declared prices, derived from their content.
func (c *Config) listVersion() string {
	h := sha256.New()
	for i := range c.Providers {
		p := &c.Providers[i]
		if p.Discover {
			writeAll(h, p.ID, fmt.Sprint(p.Prices, p.PriceUSD))
		}
		for j := range p.Models {
			o := &p.Models[j]
			writeAll(h, p.ID, o.ID, o.Region, o.Variant, o.Tier, fmt.Sprint(o.Prices, o.PriceUSD, o.Thresholds, o.Hours, o.Images, o.Video))
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
		dialect = "openai" // so that the rest is looked at, and this is said once
	}
	for name, value := range p.Headers {
		if !headerName(name) || strings.ContainsAny(value.Reveal(), "\r\n\x00") {
			d.fail(path+".headers", "the header %q cannot be sent", clip(name))
		}
	}
	if !sendable(p.APIKey.Reveal()) {
		d.fail(path+".api_key", "it contains a space or a line break and cannot be sent")
	}
	for j, key := range p.APIKeys {
		if key.Reveal() == "" || !sendable(key.Reveal()) {
			d.fail(path+".api_keys["+strconv.Itoa(j)+"]", "it is empty or contains a space or a line break and cannot be sent")
		}
	}
	ca, err := readAuthorities(p.CAFile)
	if err != nil {
		d.fail(path+".ca_file", "%w", err)
	}
	key, keys := p.credentials()
	known, isBuiltin := builtin.Named(p.ID)
	d.discovery(p, path, dialect, isBuiltin && !known.Template)
	if len(p.Models) == 0 && isBuiltin && !p.Discover {
		d.borrowed[p.ID] = key
		amended := known.Provider
		d.c.amend(&amended)
		d.try(path, amended)
		return
	}
	if p.BaseURL == "" {
		d.fail(path, "the provider %q needs base_url, such as http://localhost:8000/v1", p.ID)
		d.offers(i, path)
		return
	}
	provider := catalog.Provider{ID: p.ID, Name: p.Name, Dialect: dialect, BaseURL: p.BaseURL, Key: key, Keys: keys, Headers: reveal(p.Headers), CA: ca, Proxy: p.Proxy,
		DataPolicy: catalog.DataPolicy(p.DataPolicy), Quirks: p.Quirks, Facts: p.Facts, Like: p.Like, Wires: d.wires(path, p.Wires)}
	if d.try(path, provider); !d.failedBefore(path) {
		d.out.Providers = append(d.out.Providers, provider)
	}
	d.offers(i, path)
}

// discovery checks and converts what is said of models that the server names.
func (d *declaring) discovery(p *Provider, path, dialect string, known bool) {
	priced := *p
	priced.Prices, priced.PriceUSD = Prices{}, Prices{}
	switch has := p.Prices != priced.Prices || p.PriceUSD != priced.PriceUSD; {
	case !p.Discover && (has || p.Vendor != "" || p.ContextLength != 0):
		d.fail(path, "prices, price_usd, vendor and context_length of a provider are for models: discover; models that are listed have their own")
	case !p.Discover:
	case known:
		d.fail(path+".models", "the models of %s are known; leave models out", p.ID)
	case p.Vendor != "" && catalog.CheckSlug(p.Vendor+"/x") != nil:
		d.fail(path+".vendor", "%q may hold only letters, digits and -._:@+, and begin with a letter or digit", clip(p.Vendor))
	case dialect != "openai":
		d.fail(path+".models", "only servers with the dialect openai are asked for their models")
	default:
		found := edit.Discovery{Vendor: p.Vendor, Context: p.ContextLength}
		found.Pricing.Base, found.Pricing.Source = d.prices(path, &p.Prices, &p.PriceUSD, &found.Pricing)
		found.Pricing.List = d.list
		found.Complete(has)
		if d.discoveries == nil {
			d.discoveries = map[string]*edit.Discovery{}
		}
		d.discoveries[p.ID] = &found
	}
}

// failedBefore reports whether something was wrong of a provider itself, which is looked at before its models.
func (d *declaring) failedBefore(path string) bool {
	return slices.ContainsFunc(slices.Concat(d.failed, d.unread), func(other string) bool {
		return (other == path || strings.HasPrefix(other, path+".")) && !strings.HasPrefix(other, path+".models")
	})
}

// offers converts the models of a provider. Those of one that is wrong itself are looked at, too: they are offered by one that stands for it.
func (d *declaring) offers(i int, path string) {
	p := &d.c.Providers[i]
	if !slices.ContainsFunc(d.out.Providers, func(q catalog.Provider) bool { return q.ID == p.ID }) {
		instead := catalog.Provider{ID: p.ID, Name: p.Name, Dialect: "openai", BaseURL: "https://provider.invalid"}
		if d.build(instead) != nil {
			if instead.Name = ""; d.build(instead) != nil {
				return
			}
		}
		d.out.Providers = append(d.out.Providers, instead)
	}
	for j := range p.Models {
		d.offer(p.ID, path+".models["+strconv.Itoa(j)+"]", &p.Models[j])
	}
	if d.broken(path + ".like") { // what they were to have from it is missing
		d.out.Offers = slices.DeleteFunc(d.out.Offers, func(o catalog.Offer) bool { return o.Provider == p.ID })
	}
}

// family checks a family alone, so that an error gets its position.
func (d *declaring) family(i int) {
	path := "families[" + strconv.Itoa(i) + "]"
	_, err := catalog.Build(catalog.Declared{Families: d.c.Families[i : i+1], AttemptBudget: d.out.AttemptBudget})
	d.failEach(path, err)
	if !d.broken(path) {
		d.out.Families = append(d.out.Families, d.c.Families[i])
	}
}

// wires converts the settings per model type.
func (d *declaring) wires(path string, list map[string]Wire) map[string]catalog.Wire {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]catalog.Wire, len(list))
	for kind, w := range list {
		if w.Dialect != "" && !slices.Contains(dialects, w.Dialect) {
			d.fail(path+".wires."+kind+".dialect", "the dialect %q is not known%s; known: %s", w.Dialect, suggestion(w.Dialect, dialects), strings.Join(dialects, ", "))
		}
		out[kind] = catalog.Wire{Dialect: w.Dialect, BaseURL: w.BaseURL}
	}
	return out
}

// try builds a provider with those before it, which are right, so that an error gets its position.
func (d *declaring) try(path string, p catalog.Provider) {
	d.failEach(path, d.build(p))
}

// failEach reports each error of a catalog with a single declaration, which is at a path.
func (d *declaring) failEach(path string, err error) {
	for _, one := range listed(err) {
		d.fail(path, "%s", strings.TrimPrefix(one.Error(), "families[0]: "))
	}
}

// listed are the errors that one joins.
func listed(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func (d *declaring) build(p catalog.Provider) error {
	_, err := catalog.Build(catalog.Declared{Providers: append(slices.Clip(d.out.Providers), p), AttemptBudget: d.out.AttemptBudget})
	return err
}

// sendable reports whether a key can be sent in a header, or is the key file of a service account, which is exchanged before it is used.
func sendable(key string) bool {
	return strings.HasPrefix(strings.TrimSpace(key), "{") || !strings.ContainsAny(key, "\r\n\x00 ")
}

// secretParts returns the secret parts of a credential such as ACCESS_KEY_ID:SECRET.
func secretParts(key string) []string {
	if parts := strings.Split(key, ":"); len(parts) > 1 && sendable(key) && !strings.HasPrefix(key, "{") {
		return parts[1:]
	}
	return nil
}

// readAuthorities reads certificate authorities in PEM; "" without a file.
func readAuthorities(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return "", fmt.Errorf("there is no certificate in PEM in %s", path)
	}
	return string(pem), nil
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
		Provider: provider, Model: o.ID, UpstreamID: o.UpstreamID, UpstreamModel: o.UpstreamModel, Region: o.Region, Tier: o.Tier, Variant: o.Variant, Quantization: o.Quantization,
		ContextLength: o.ContextLength, MaxCompletion: o.MaxOutput, MaxN: int(o.MaxN), MaxInFlight: o.MaxInFlight, ImplicitCache: o.ImplicitCache, Facts: o.Facts,
		UpdatedAt: d.c.written,
		Input:     d.modalities(path+".input", o.Input), Output: d.modalities(path+".output", o.Output), Where: d.c.places.of(path),
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
	d.media(path, o, &out.Pricing)
	for i := range o.Thresholds {
		t := &o.Thresholds[i]
		at := path + ".thresholds[" + strconv.Itoa(i) + "]"
		if t.Prices.rates()+t.PriceUSD.rates() != "" {
			d.fail(at, "a threshold counts prompt tokens, so that it cannot change the price of minutes or characters")
		}
		prices, source := d.prices(at, &t.Prices, &t.PriceUSD, &out.Pricing)
		out.Pricing.Thresholds = append(out.Pricing.Thresholds, catalog.Threshold{Above: t.Above, Prices: prices})
		out.Pricing.Source += fmt.Sprintf("; above %d: %s", t.Above, source)
	}
	for i := range o.Hours {
		h := &o.Hours[i]
		at := path + ".hours[" + strconv.Itoa(i) + "]"
		if h.Prices.rates()+h.PriceUSD.rates() != "" {
			d.fail(at, "hours cannot change the price of minutes or characters")
		}
		prices, source := d.prices(at, &h.Prices, &h.PriceUSD, &out.Pricing)
		hours := catalog.Hours{From: h.From, To: h.To, Days: h.Days, Zone: h.Zone, Prices: prices}
		out.Pricing.Hours = append(out.Pricing.Hours, hours)
		out.Pricing.Source += fmt.Sprintf("; %s: %s", hours.String(), source)
	}
	if !d.broken(path) {
		d.out.Offers = append(d.out.Offers, out)
	}
}

func (d *declaring) modalities(path string, names []string) catalog.Modality {
	var m catalog.Modality
	for _, name := range names {
		bit := catalog.ModalityNamed(name)
		if bit == 0 {
			d.fail(path, "%q is not one of text, image, audio, file, video", name)
		}
		m |= bit
	}
	return m
}

// prices reads prices in rubles and in dollars, and describes their source.
func (d *declaring) prices(path string, rubles, dollars *Prices, pricing *catalog.Pricing) (catalog.Prices, string) {
	var out catalog.Prices
	inRubles, inDollars := rubles.list(priceFields), dollars.list(priceFields)
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

// one reads a price in rubles or dollars. sold is the number of units that the dollar price is for.
func (d *declaring) one(path, name string, rubles, dollars Decimal, sold int64, pricing *catalog.Pricing) money.Price {
	var price money.Price
	var err error
	switch {
	case rubles != "" && dollars != "":
		d.fail(path, "%s has a price in rubles and one in dollars; keep one", name)
		return price
	case rubles != "":
		price, err = money.ParsePrice(string(rubles))
		pricing.Source += fmt.Sprintf("; RUB %s %s", name, rubles)
	case dollars != "":
		if sold > 1 {
			price, err = d.rate.PerThousand(string(dollars), sold)
		} else {
			price, err = d.rate.Each(string(dollars), sold)
		}
		pricing.Rate = d.rate.Version
		pricing.Source += fmt.Sprintf("; USD %s %s", name, dollars)
	}
	if err != nil {
		d.fail(path, "the price of %s: %s", name, fault.From(err).Public)
	}
	return price
}

const million = 1_000_000

// media reads the prices of other models than chat models.
func (d *declaring) media(path string, o *Offer, p *catalog.Pricing) {
	inRubles, inDollars := o.Prices.list(rateFields), o.PriceUSD.list(rateFields)
	for i, kind := range catalog.NamedRates() {
		sold := int64(1)
		if kind.Thousands {
			sold = million
		}
		*p.Rates.Each()[i] = d.one(path, kind.Name, inRubles[i], inDollars[i], sold, p)
	}
	for i := range o.Images {
		x := &o.Images[i]
		line := catalog.ImagePrice{Component: cmp.Or(x.Component, "image_output"), Unit: cmp.Or(x.Unit, catalog.UnitImage), Variant: x.Variant,
			Resolution: x.Resolution, Basis: cmp.Or(x.Basis, catalog.BasisFixed)}
		if x.Basis == "" && x.PriceUSD != "" {
			line.Basis = catalog.BasisSupplier
		}
		sold := int64(1)
		if line.Unit == catalog.UnitTokens {
			sold = million
		}
		line.Price = d.one(path+".images["+strconv.Itoa(i)+"]", strings.Join(strings.Fields(line.Component+" "+x.Variant+" "+x.Resolution), " "), x.Price, x.PriceUSD, sold, p)
		p.Images = append(p.Images, line)
	}
	for i := range o.Video {
		x := &o.Video[i]
		price := d.one(path+".video["+strconv.Itoa(i)+"]", "a second of "+cmp.Or(x.Resolution, "any")+" video", x.Price, x.PriceUSD, 1, p)
		p.Video = append(p.Video, catalog.VideoRule{Resolution: x.Resolution, WithAudio: x.WithAudio, PerSecond: price})
	}
	p.Source = strings.TrimPrefix(p.Source, "; ")
}

// facts returns nil if nothing is set.
func (f *Facts) facts() *catalog.VideoFacts {
	if reflect.ValueOf(*f).IsZero() {
		return nil
	}
	v := &catalog.VideoFacts{Resolutions: f.Resolutions, AspectRatios: f.AspectRatios, Sizes: f.Sizes, FrameImages: f.FrameImages, Passthrough: f.Passthrough,
		Audio: f.Audio, Seed: f.Seed}
	for _, seconds := range f.Durations {
		v.Durations = append(v.Durations, int(seconds))
	}
	return v
}

// complete fills missing fields of a declared model from the known one.
func complete(own, known *catalog.ModelInfo) {
	own.Name = cmp.Or(own.Name, known.Name)
	own.Description = cmp.Or(own.Description, known.Description)
	own.Type = cmp.Or(own.Type, known.Type)
	own.HubID = cmp.Or(own.HubID, known.HubID)
	if own.Created.IsZero() {
		own.Created = known.Created
	}
	if own.Video == nil {
		own.Video = known.Video
	}
}

// list returns the prices that the fields have.
func (p *Prices) list(fields []int) []Decimal {
	v := reflect.ValueOf(p).Elem()
	list := make([]Decimal, 0, len(fields))
	for _, field := range fields {
		list = append(list, Decimal(v.Field(field).String()))
	}
	return list
}

// rates is not "" when a price of other units than tokens and pieces is set.
func (p *Prices) rates() (all Decimal) {
	for _, text := range p.list(rateFields) {
		all += text
	}
	return all
}

// priceFields are the fields of Prices in the order of catalog.PriceKinds, rateFields those of catalog.NamedRates. Their names are the fields'
// YAML names.
var (
	priceFields = fieldsOf(catalog.PriceNames())
	rateFields  = fieldsOf(namesOf(catalog.NamedRates()))
)

func namesOf(kinds []catalog.RateKind) (names []string) {
	for i := range kinds {
		names = append(names, kinds[i].Name)
	}
	return names
}

func fieldsOf(names []string) (fields []int) {
	t := reflect.TypeFor[Prices]()
	for _, name := range names {
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("yaml") == name {
				fields = append(fields, i)
			}
		}
	}
	return fields
}

func source(rubles *Prices, rubUnit string, dollars *Prices, usdUnit string) string {
	var parts []string
	for _, x := range []struct {
		prices *Prices
		unit   string
	}{{rubles, rubUnit}, {dollars, usdUnit}} {
		var set []string
		for i, text := range x.prices.list(priceFields) {
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
	info := catalog.ModelInfo{Slug: m.ID, Name: m.Name, Description: m.Description, ContextLength: m.ContextLength, Type: m.Type, HubID: m.HubID, Video: m.Video.facts()}
	if m.Created != "" {
		created, err := time.Parse(time.DateOnly, m.Created)
		if err != nil {
			d.fail(path+".created", "%q is not a day; write YYYY-MM-DD", clip(m.Created))
		}
		info.Created = created
	}
	if err := catalog.CheckSlug(m.ID); err != nil {
		d.fail(path+".id", "%w", err)
	} else if slices.ContainsFunc(d.c.Models[:i], func(other Model) bool { return other.ID == m.ID }) {
		d.fail(path+".id", "the model %q is described twice", m.ID)
	} else {
		_, err := catalog.Build(catalog.Declared{Models: []catalog.ModelInfo{info}})
		d.failEach(path, err)
	}
	if d.broken(path) {
		d.unclear = append(d.unclear, m.ID)
		return
	}
	d.out.Models = append(d.out.Models, info)
}
