package edit

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/outbound"
	"weir/internal/rate"
)

// overProvider lays the spec over a provider. p is a copy of the caller's.
func (s Spec) overProvider(p *catalog.Provider) error {
	text := func(name string, into *string) {
		if v, ok := s[name]; ok {
			*into = v
		}
	}
	text("name", &p.Name)
	text("dialect", &p.Dialect)
	text("base_url", &p.BaseURL)
	text("ca", &p.CA)
	if v, ok := s["data_policy"]; ok {
		p.DataPolicy = catalog.DataPolicy(v)
	}
	if variable, ok := s["api_key_env"]; ok && !plainVariable(variable) {
		return fault.Field("edit.Provider", "api_key_env", "api_key_env must be the name of an environment variable, and none of Weir's own settings.")
	}
	if text, ok := s["proxy"]; ok {
		if err := checkProxy(text); err != nil {
			return err
		}
	}
	p.Headers, p.Wires = maps.Clone(p.Headers), maps.Clone(p.Wires)
	p.Quirks.Rename = maps.Clone(p.Quirks.Rename)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		var err error
		if header, ok := strings.CutPrefix(name, "headers."); ok {
			err = setHeader(p, header, s[name])
		} else if quirk, ok := strings.CutPrefix(name, "quirks."); ok {
			s.setQuirk(&p.Quirks, quirk)
		} else if fact, ok := strings.CutPrefix(name, "facts."); ok {
			s.setField(reflect.ValueOf(&p.Facts).Elem(), factIndex, "facts.", fact)
		} else if wire, ok := strings.CutPrefix(name, "wires."); ok {
			setWire(p, wire, s[name])
		}
		if err != nil {
			return err
		}
	}
	return checkDiscovery(s, p)
}

// plainVariable refuses Weir's own settings: a provider could be sent the master key under the name of a credential.
func plainVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != "" && len(name) <= 128 && !strings.HasPrefix(name, "WEIR_")
}

// checkProxy refuses what is no way, and a password in it: rows are visible in the catalog.
func checkProxy(text string) error {
	if outbound.Written(text) {
		return fault.Field("edit.Provider", "proxy", "proxy must not hold a password, because it is visible in the catalog: name variables with it, http://${PROXY_USER}:${PROXY_PASSWORD}@HOST:PORT.")
	}
	names := outbound.References(text)
	for _, name := range names {
		if !plainVariable(name) {
			return fault.Field("edit.Provider", "proxy", "proxy must name environment variables, and none of Weir's own settings.")
		}
	}
	if len(names) == 1 && text == "${"+names[0]+"}" {
		return nil
	}
	if _, err := outbound.Parse(text, func(string) (string, bool) { return "x", true }); err != nil {
		return fault.Field("edit.Provider", "proxy", "proxy: %s.", err.Error())
	}
	return nil
}

func setHeader(p *catalog.Provider, name, value string) error {
	plain := strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
	if !plain || name == "" {
		return fault.Field("edit.Provider", "headers."+clip(name), "The header %q cannot be sent.", clip(name))
	}
	for _, word := range []string{"auth", "key", "token", "secret", "cookie", "password"} {
		if strings.Contains(strings.ToLower(name), word) {
			return fault.Field("edit.Provider", "headers."+clip(name), "The header %q looks like a credential, and headers are visible in the catalog: use api_key.", clip(name))
		}
	}
	if p.Headers == nil {
		p.Headers = map[string]string{}
	}
	p.Headers[name] = value
	return nil
}

// setWire sets one field of how models of a type are served: "embedding.dialect".
func setWire(p *catalog.Provider, name, value string) {
	kind, field, _ := strings.Cut(name, ".")
	w := p.Wires[kind]
	if field == "dialect" {
		w.Dialect = value
	} else {
		w.BaseURL = value
	}
	if p.Wires == nil {
		p.Wires = map[string]catalog.Wire{}
	}
	p.Wires[kind] = w
}

func (s Spec) setQuirk(q *catalog.Quirks, name string) {
	if renamed, ok := strings.CutPrefix(name, "rename."); ok {
		if q.Rename == nil {
			q.Rename = map[string]string{}
		}
		q.Rename[renamed] = s["quirks."+name]
		return
	}
	s.setField(reflect.ValueOf(q).Elem(), quirkIndex, "quirks.", name)
}

// setField sets the field of that name in a struct.
func (s Spec) setField(of reflect.Value, index map[string]int, group, name string) {
	i, known := index[name]
	if !known {
		return
	}
	full := group + name
	switch field := of.Field(i); field.Kind() {
	case reflect.Bool:
		field.SetBool(s[full] == "true")
	case reflect.Int:
		field.SetInt(s.integer(full))
	case reflect.Int64:
		d, _ := time.ParseDuration(s[full]) // it was checked
		field.SetInt(int64(d))
	case reflect.Slice:
		field.Set(reflect.ValueOf(s.words(full)))
	case reflect.String:
		field.SetString(s[full])
	}
}

// overOffer lays the spec over an offer. Prices replace all prices of the offer: a list of prices is written by one hand.
func (s Spec) overOffer(o *catalog.Offer, r rate.Effective, version int64) error {
	text := func(name string, into *string) {
		if v, ok := s[name]; ok {
			*into = v
		}
	}
	text("provider", &o.Provider)
	text("model", &o.Model)
	text("region", &o.Region)
	text("tier", &o.Tier)
	text("variant", &o.Variant)
	text("upstream_id", &o.UpstreamID)
	text("upstream_model", &o.UpstreamModel)
	text("quantization", &o.Quantization)
	if _, ok := s["context_length"]; ok {
		o.ContextLength = s.integer("context_length")
	}
	if _, ok := s["max_output"]; ok {
		o.MaxCompletion = s.integer("max_output")
	}
	if _, ok := s["max_n"]; ok {
		o.MaxN = int(s.integer("max_n"))
	}
	if _, ok := s["max_in_flight"]; ok {
		o.MaxInFlight = s.integer("max_in_flight")
	}
	if v, ok := s["implicit_cache"]; ok {
		o.ImplicitCache = v == "true"
	}
	if _, ok := s["params"]; ok {
		o.Params = 0
	}
	for name := range s {
		if fact, ok := strings.CutPrefix(name, "facts."); ok {
			s.setField(reflect.ValueOf(&o.Facts).Elem(), factIndex, "facts.", fact)
		}
	}
	for _, name := range s.words("params") {
		bit := catalog.ParamNamed(name)
		if bit == 0 {
			return fault.Field("edit.Endpoint", "params", "There is no parameter %q.", clip(name))
		}
		o.Params |= bit
	}
	for name, into := range map[string]*catalog.Modality{"input": &o.Input, "output": &o.Output} {
		if err := s.modalities(name, into); err != nil {
			return err
		}
	}
	r, err := s.ownMargin(r)
	if err != nil {
		return err
	}
	if !s.priced() {
		if _, own := s["margin"]; own {
			o.Pricing, err = converted(o.Pricing, r)
		}
		return err
	}
	pricing, err := s.pricing(r)
	pricing.List = "database-" + strconv.FormatInt(version, 10)
	o.Pricing = pricing
	return err
}

func (s Spec) modalities(name string, into *catalog.Modality) error {
	if _, ok := s[name]; !ok {
		return nil
	}
	*into = 0
	for _, word := range s.words(name) {
		bit := catalog.ModalityNamed(word)
		if bit == 0 {
			return fault.Field("edit.Endpoint", name, "%q is not one of text, image, audio, file, video.", clip(word))
		}
		*into |= bit
	}
	return nil
}

var priceGroups = []string{"prices.", "price_usd.", "thresholds.", "hours.", "images.", "video."}

func isPrice(name string) bool {
	return slices.ContainsFunc(priceGroups, func(group string) bool { return strings.HasPrefix(name, group) })
}

func (s Spec) priced() bool {
	for name := range s {
		if isPrice(name) {
			return true
		}
	}
	return false
}

// pricing makes the prices of an endpoint, dollars at the rate.
func (s Spec) pricing(r rate.Effective) (catalog.Pricing, error) {
	p := pricer{spec: s, rate: r}
	var out catalog.Pricing
	out.Base = p.prices("")
	for i, kind := range catalog.NamedRates() {
		convert := p.each
		if kind.Thousands {
			convert = p.perMillion
		}
		*out.Rates.Each()[i] = p.price("prices."+kind.Name, "price_usd."+kind.Name, convert)
	}
	for _, at := range s.indexes("thresholds") {
		out.Thresholds = append(out.Thresholds, catalog.Threshold{Above: s.integer(at + "above"), Prices: p.prices(at)})
	}
	for _, at := range s.indexes("hours") {
		h := catalog.Hours{From: s[at+"from"], To: s[at+"to"], Zone: s[at+"zone"], Prices: p.prices(at)}
		if days := s[at+"days"]; days != "" {
			h.Days = strings.Split(days, ",")
		}
		out.Hours = append(out.Hours, h)
	}
	for _, at := range s.indexes("images") {
		out.Images = append(out.Images, p.image(at))
	}
	for _, at := range s.indexes("video") {
		out.Video = append(out.Video, catalog.VideoRule{Resolution: s[at+"resolution"], WithAudio: s[at+"with_audio"] == "true",
			PerSecond: p.required(at+"per_second", at+"per_second_usd", p.each)})
	}
	if p.dollars {
		out.Rate = r.Version
	}
	source := Spec{}
	for name, text := range s {
		if isPrice(name) {
			source[name] = text
		}
	}
	out.Source = source.String()
	return out, p.err
}

// indexes are the beginnings of the names of a list's objects in order: "thresholds.0.", "thresholds.1.".
func (s Spec) indexes(list string) []string {
	seen := map[int64]bool{}
	for name := range s {
		if rest, ok := strings.CutPrefix(name, list+"."); ok {
			index, _, _ := strings.Cut(rest, ".")
			n, _ := number(index)
			seen[n] = true
		}
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, list+"."+strconv.FormatInt(n, 10)+".")
	}
	return out
}

// pricer reads prices and keeps the first fault.
type pricer struct {
	spec    Spec
	rate    rate.Effective
	dollars bool
	err     error
}

func (p *pricer) fail(err error) money.Price {
	if p.err == nil {
		p.err = err
	}
	return money.Price{}
}

func (p *pricer) perMillion(usd string) (money.Price, error) {
	return p.rate.PerThousand(usd, 1_000_000)
}
func (p *pricer) each(usd string) (money.Price, error) { return p.rate.Each(usd, 1) }

// price is the price in rubles of that name, or the one in dollars; not set without either.
func (p *pricer) price(inRubles, inDollars string, convert func(string) (money.Price, error)) money.Price {
	rubles, hasRubles := p.spec[inRubles]
	usd, hasDollars := p.spec[inDollars]
	name, text, read := inRubles, rubles, money.ParsePrice
	switch {
	case hasRubles && hasDollars:
		return p.fail(fault.Field("edit.Endpoint", inDollars, "%s and %s are prices for the same, in rubles and in dollars: keep one.", inRubles, inDollars))
	case hasDollars:
		p.dollars = true
		name, text, read = inDollars, usd, convert
	case !hasRubles:
		return money.Price{}
	}
	price, err := read(text)
	if err != nil {
		return p.fail(fault.Field("edit.Endpoint", name, "%s: %s", name, fault.From(err).Public))
	}
	return price
}

func (p *pricer) required(inRubles, inDollars string, convert func(string) (money.Price, error)) money.Price {
	price := p.price(inRubles, inDollars, convert)
	if !price.Set && p.err == nil {
		return p.fail(fault.Field("edit.Endpoint", inRubles, "%s is missing.", inRubles))
	}
	return price
}

func (p *pricer) prices(at string) catalog.Prices {
	var out catalog.Prices
	for _, name := range catalog.PriceNames() {
		convert := p.each
		if catalog.PerTokens(name) {
			convert = p.perMillion
		}
		*out.Field(name) = p.price(at+"prices."+name, at+"price_usd."+name, convert)
	}
	return out
}

func (p *pricer) image(at string) catalog.ImagePrice {
	s := p.spec
	convert := p.each
	if s[at+"unit"] == catalog.UnitTokens {
		convert = p.perMillion
	}
	return catalog.ImagePrice{Component: s[at+"component"], Unit: s[at+"unit"], Variant: s[at+"variant"], Resolution: s[at+"resolution"],
		Basis: cmp.Or(s[at+"basis"], catalog.BasisSupplier),
		Price: p.required(at+"price", at+"price_usd", convert)}
}
