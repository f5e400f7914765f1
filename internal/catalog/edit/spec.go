// Package edit is the part of the catalog that administrators change while nodes run: rows of a database override the built-in catalog
// and add to it and to the configuration. One row never has two owners, and a catalog that does not build is never published.
package edit

import (
	"crypto/x509"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// Kind is what a row describes.
type Kind string

// The kinds. A change of rate or margin, and a published price list, are in the history with those of rows.
const (
	Provider  Kind = "provider"
	Endpoint  Kind = "endpoint"
	Rate      Kind = "rate"
	PriceList Kind = "prices"
	Absence   Kind = "absence" // of an endpoint, a model or a provider: it is out of service
	// Publication is prices of endpoints that were changed together: a draft that was published.
	Publication Kind = "publication"
	Alias       Kind = "alias"   // another name of a model
	Order       Kind = "order"   // who serves a model first
	Setting     Kind = "setting" // another value for a while
)

// Spec is the content of a row: the names of fields, with points as the API nests them, and their values as text. A field that is not in
// it has its default or, over a built-in row, the built-in value. It never contains a secret.
type Spec map[string]string

// Type is the type of a field's text.
type Type uint8

// The types.
const (
	None Type = iota // no such field
	Text
	Integer
	Boolean
	Decimal // digits with an optional point
	List    // words between commas
	Duration
	Certificates // in PEM
)

func (t Type) String() string {
	return [...]string{"nothing", "text", "a whole number", "true or false", "a decimal number", "a list of words", "a duration like 30s", "certificates in PEM"}[t]
}

// identity are the fields that name an endpoint; they never change.
var identity = []string{"provider", "model", "region", "tier", "variant"}

// Identity are the fields that name an endpoint.
func Identity() []string { return slices.Clone(identity) }

var providerFields = map[string]Type{
	"models": Text, "vendor": Text, "context_length": Integer,
	"name": Text, "dialect": Text, "base_url": Text, "proxy": Text, "data_policy": Text, "api_key_env": Text, "ca": Certificates, "disabled": Boolean, "headers.*": Text,
}

var endpointFields = map[string]Type{
	"provider": Text, "model": Text, "region": Text, "tier": Text, "variant": Text,
	"type": Text, "upstream_id": Text, "upstream_model": Text, "quantization": Text, "context_length": Integer, "max_output": Integer, "max_n": Integer, "max_in_flight": Integer, "implicit_cache": Boolean,
	"about.name": Text, "about.description": Text, "about.hub_id": Text, "about.created": Text,
	"params": List, "input": List, "output": List, "disabled": Boolean,
	"margin":             Decimal,
	"thresholds.#.above": Integer,
	"hours.#.from":       Text, "hours.#.to": Text, "hours.#.zone": Text, "hours.#.days": List,
	"images.#.component": Text, "images.#.unit": Text, "images.#.variant": Text, "images.#.resolution": Text, "images.#.price": Decimal,
	"images.#.price_usd": Decimal, "images.#.basis": Text,
	"video.#.resolution": Text, "video.#.with_audio": Boolean, "video.#.per_second": Decimal, "video.#.per_second_usd": Decimal,
}

// quirkIndex finds a field of catalog.Quirks by its name in files.
var quirkIndex = map[string]int{}

// factIndex is the same of catalog.Facts.
var factIndex = map[string]int{}

func init() {
	for _, name := range catalog.PriceNames() {
		for _, group := range []string{"prices.", "price_usd.", "thresholds.#.prices.", "thresholds.#.price_usd.", "hours.#.prices.", "hours.#.price_usd."} {
			endpointFields[group+name] = Decimal
		}
		providerFields["prices."+name], providerFields["price_usd."+name] = Decimal, Decimal
	}
	for _, kind := range catalog.NamedRates() {
		endpointFields["prices."+kind.Name], endpointFields["price_usd."+kind.Name] = Decimal, Decimal
	}
	for _, kind := range catalog.Types() {
		providerFields["wires."+kind+".dialect"], providerFields["wires."+kind+".base_url"] = Text, Text
	}
	fields(reflect.TypeFor[catalog.Quirks](), quirkIndex, func(name string, t Type) { providerFields["quirks."+name] = t })
	fields(reflect.TypeFor[catalog.Facts](), factIndex, func(name string, t Type) { providerFields["facts."+name], endpointFields["facts."+name] = t, t })
}

// fields declares the fields of a struct by their names in files.
func fields(of reflect.Type, index map[string]int, declare func(name string, t Type)) {
	for i := range of.NumField() {
		name := of.Field(i).Tag.Get("yaml")
		index[name] = i
		switch of.Field(i).Type.Kind() {
		case reflect.Bool:
			declare(name, Boolean)
		case reflect.Int:
			declare(name, Integer)
		case reflect.Int64:
			declare(name, Duration)
		case reflect.Slice:
			declare(name, List)
		case reflect.Map:
			declare(name+".*", Text)
		default:
			declare(name, Text)
		}
	}
}

// Lists reports whether the values of that name are objects in a list, which a change replaces as a whole.
func Lists(name string) bool {
	return name == "thresholds" || name == "hours" || name == "images" || name == "video" || name == "endpoints"
}

// FieldType is the type of a field, None when rows of that kind have no field of that name.
func FieldType(k Kind, name string) Type {
	if k == Provider {
		if t := providerFields[name]; t != None {
			return t
		}
		for _, group := range []string{"headers.", "quirks.rename."} {
			if rest, ok := strings.CutPrefix(name, group); ok && rest != "" && providerFields[group+"*"] != None {
				return providerFields[group+"*"]
			}
		}
		return None
	}
	fields := endpointFields
	switch k {
	case Absence:
		return absenceFields[name]
	case Alias:
		return aliasFields[name]
	case Setting:
		return settingFields[name]
	case Order:
		fields = orderFields
	}
	list, rest, nested := strings.Cut(name, ".")
	if number, field, ok := strings.Cut(rest, "."); nested && ok && Lists(list) && isIndex(number) {
		name = list + ".#." + field
	}
	return fields[name]
}

// IsGroup reports whether a name is that of a group of fields, so that it can be unset with all of them.
func IsGroup(k Kind, name string) bool {
	fields := endpointFields
	switch k {
	case Provider:
		fields = providerFields
	case Alias:
		fields = aliasFields
	case Order:
		fields = orderFields
	}
	for field := range fields {
		if strings.HasPrefix(field, name+".") {
			return true
		}
	}
	return false
}

// maxListed is how many objects a list may have.
const maxListed = 64

// isIndex reports whether s is the number of a list's object, written in one way only.
func isIndex(s string) bool {
	n, ok := number(s)
	return ok && n < maxListed && (len(s) == 1 || s[0] != '0')
}

func number(s string) (n int64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, s != "" && len(s) <= 15
}

// What a spec may hold.
const (
	maxFields = 400
	maxText   = 2048
	maxPEM    = 32 << 10
)

// Check fails with fault.Invalid, naming the field, for unknown names and for texts that do not fit their type.
func (s Spec) Check(k Kind) error {
	if len(s) > maxFields {
		return fault.Newf(fault.Invalid, "edit.check", "A row must have at most %d fields.", maxFields)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		t := FieldType(k, name)
		if t == None {
			return unknownField(k, name)
		}
		if !t.fits(s[name]) {
			return fault.Field("edit.check", name, "%s must be %s.", name, t)
		}
	}
	return nil
}

func unknownField(k Kind, name string) error {
	return fault.Field("edit.check", clip(name), "A row of kind %s has no field of this name.", k)
}

func (t Type) fits(text string) bool {
	switch t {
	case Integer:
		_, ok := number(text)
		return ok && (len(text) == 1 || text[0] != '0')
	case Duration:
		d, err := time.ParseDuration(text)
		return err == nil && d > 0
	case Boolean:
		return text == "true" || text == "false"
	case Certificates:
		return len(text) <= maxPEM && x509.NewCertPool().AppendCertsFromPEM([]byte(text))
	case Decimal:
		whole, fraction, point := strings.Cut(text, ".")
		digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
		return len(text) <= 40 && digits(whole) && (!point || digits(fraction))
	}
	return len(text) <= maxText && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' })
}

// merged is s with the fields of set, without those that unset names: fields, and groups with all their fields.
func (s Spec) merged(set Spec, unset []string) Spec {
	out := maps.Clone(s)
	if out == nil {
		out = Spec{}
	}
	for _, name := range unset {
		maps.DeleteFunc(out, func(have, _ string) bool { return have == name || strings.HasPrefix(have, name+".") })
	}
	maps.Copy(out, set)
	return out
}

// String is the spec in the order of its names, for the audit log.
func (s Spec) String() string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(s)) {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(name + "=" + s[name])
	}
	const most = 4000
	if b.Len() > most {
		return strings.ToValidUTF8(b.String()[:most], "") + " and so on"
	}
	return b.String()
}

// Difference returns the fields in which two specs differ, with the values of each.
func Difference(before, after Spec) (was, is Spec) {
	was, is = Spec{}, Spec{}
	for name, text := range before {
		if now, ok := after[name]; !ok || now != text {
			was[name] = text
		}
	}
	for name, text := range after {
		if old, ok := before[name]; !ok || old != text {
			is[name] = text
		}
	}
	return was, is
}

func (s Spec) words(name string) []string {
	var out []string
	for word := range strings.SplitSeq(s[name], ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

func (s Spec) integer(name string) int64 {
	n, _ := number(s[name])
	return n
}

func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "")
	}
	return s
}
