package wire

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/routing"
)

// maxEntries bounds the provider lists of a request; there are fewer providers than that.
const maxEntries = 256

var (
	collections   = []string{"allow", "deny"}
	batches       = []string{"auto", routing.BatchOwn, routing.BatchNative}
	sorts         = []string{"price", "throughput", "latency", "exacto"}
	partitions    = []string{"model", "none"}
	quantizations = []string{"int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16", "fp32", "unknown"}
)

// Preferences reads the object provider (completions of the specification, section 3.1). Unknown members are skipped; a null member
// counts as absent.
func (r *Reader) Preferences() (p routing.Preferences) {
	if !r.Object() {
		return p
	}
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "order":
			p.Order = r.Slugs(maxEntries)
		case "only":
			p.Only = r.Slugs(maxEntries)
		case "ignore":
			p.Ignore = r.Slugs(maxEntries)
		case "allow_fallbacks":
			allow, set := r.Bool()
			p.NoFallbacks, p.AllowFallbacks = set && !allow, allow
		case "require_parameters":
			p.RequireParameters, _ = r.Bool()
		case "data_collection":
			policy, _ := r.Enum(collections)
			p.DenyCollection = policy == "deny"
		case "zdr":
			p.ZDR, _ = r.Bool()
		case "quantizations":
			p.Quantizations = r.enums(quantizations)
		case "sort":
			r.sort(&p)
		case "max_price":
			p.MaxPrice = r.maxPrice()
		case "preferred_min_throughput":
			p.MinThroughput = r.cutoffs()
		case "preferred_max_latency":
			p.MaxLatency = r.cutoffs()
		case "batch":
			p.Batch, _ = r.Enum(batches)
		case "enforce_distillable_text":
			r.Bool()
		case "options":
			r.Free(rawjson.Object)
		default:
			r.Skip()
		}
	}
	return p
}

// enums reads an array of allowed words.
func (r *Reader) enums(allowed []string) (list []string) {
	if !r.Array() {
		return nil
	}
	for r.Element() {
		word, ok := r.Enum(allowed)
		if !ok {
			r.Required()
			break
		}
		if len(list) == maxEntries {
			r.TooMany(maxEntries)
			break
		}
		list = append(list, word)
	}
	return list
}

// sort reads a criterion, or an object with criterion and partition.
func (r *Reader) sort(p *routing.Preferences) {
	by := ""
	switch r.Kind() {
	case rawjson.String, rawjson.Null:
		by, _ = r.Enum(sorts)
	case rawjson.Object:
		r.Object()
		for name, ok := r.Member(); ok; name, ok = r.Member() {
			switch string(name) {
			case "by":
				by, _ = r.Enum(sorts)
			case "partition":
				partition, _ := r.Enum(partitions)
				p.SortAcrossModels = partition == "none"
			default:
				r.Skip()
			}
		}
	default:
		r.wrong(rawjson.String)
	}
	p.Sort = by
}

// maxPrice reads the price limits, or nil.
func (r *Reader) maxPrice() *routing.MaxPrice {
	if !r.Object() {
		return nil
	}
	var m routing.MaxPrice
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "prompt":
			m.Prompt = r.price()
		case "completion":
			m.Completion = r.price()
		case "request":
			m.Request = r.price()
		case "image":
			m.Image = r.price()
		case "audio":
			m.Audio = r.price()
		default:
			r.Skip()
		}
	}
	if m == (routing.MaxPrice{}) {
		return nil
	}
	return &m
}

const (
	maxPriceText = 64      // bytes
	maxPriceSize = 1 << 20 // rubles; also keeps the exponent small, so that parsing is cheap
)

// price reads a price limit in rubles, exact: a number, or a number in a string.
func (r *Reader) price() *big.Rat {
	var raw []byte
	switch r.Kind() {
	case rawjson.Null:
		r.cur.Skip()
		return nil
	case rawjson.Number:
		raw = r.cur.Skip()
	case rawjson.String:
		raw, _ = r.Text(maxPriceText)
	default:
		r.wrong(rawjson.Number)
		return nil
	}
	// the float is only for a check of the size: a huge exponent must not be computed exactly
	size, ok := rawjson.Float(raw)
	small := size != 0 && size < 1e-30
	if !ok || len(raw) > maxPriceText || size < 0 || size > maxPriceSize || small {
		r.Fail(fault.Invalid, "%s must be a decimal number of rubles from 0 to %d.", r.Path(), maxPriceSize).Coded("rubles_range_whole", "most", maxPriceSize)
		return nil
	}
	if size == 0 {
		return new(big.Rat) // such as 0e999999999
	}
	price, ok := new(big.Rat).SetString(string(raw))
	if !ok {
		r.Fail(fault.Invalid, "%s must be a decimal number.", r.Path()).Coded("decimal")
		return nil
	}
	return price
}

// cutoffs reads one number, which is for the median, or an object of percentiles.
func (r *Reader) cutoffs() (c routing.Cutoffs) {
	switch r.Kind() {
	case rawjson.Number:
		c.P50, _ = r.Number(0, math.MaxFloat64)
		return c
	case rawjson.Null:
		r.cur.Skip()
		return c
	}
	if !r.Object() {
		return c
	}
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "p50":
			c.P50, _ = r.Number(0, math.MaxFloat64)
		case "p75":
			c.P75, _ = r.Number(0, math.MaxFloat64)
		case "p90":
			c.P90, _ = r.Number(0, math.MaxFloat64)
		case "p99":
			c.P99, _ = r.Number(0, math.MaxFloat64)
		default:
			r.Skip()
		}
	}
	return c
}

// maxDefaults is how many bytes stored preferences may have.
const maxDefaults = 8 << 10

// settable are the members of preferences that may be stored for an account or a key.
var settable = []string{"order", "only", "ignore", "allow_fallbacks", "require_parameters", "data_collection", "zdr", "quantizations", "sort", "max_price",
	"preferred_min_throughput", "preferred_max_latency", "batch"}

// DefaultPreferences reads an object provider that is stored as a default for later requests. It is stricter than for a request: an
// unknown member is refused, because a typing error in it would go unnoticed. It fails with a *fault.Error.
func DefaultPreferences(text []byte) (routing.Preferences, error) { return defaults(text, false) }

// Defaults reads the defaults of an account: an object provider, which may also have members plugins and storing.
func Defaults(text []byte) (routing.Preferences, error) { return defaults(text, true) }

func defaults(text []byte, plugins bool) (routing.Preferences, error) {
	const op = "wire.DefaultPreferences"
	if len(text) > maxDefaults {
		return routing.Preferences{}, fault.Field(op, "provider", "Provider preferences must have at most %d bytes.", maxDefaults).Coded("preferences_bytes", "most", maxDefaults)
	}
	if err := rawjson.Check(text, rawjson.Limits{Depth: 8, Keys: 100, Values: 2000}); err != nil {
		return routing.Preferences{}, err
	}
	if rawjson.KindOf(text) != rawjson.Object {
		return routing.Preferences{}, fault.Field(op, "provider", "Provider preferences are a JSON object, such as {\"zdr\":true}.").Coded("preferences_object")
	}
	for m := rawjson.MembersOf(text); m.Next(); {
		name := string(m.Name)
		if plugins && name == PluginsOfAccount {
			if err := DefaultPlugins(m.Value); err != nil {
				return routing.Preferences{}, err
			}
			continue
		}
		if plugins && name == StoringOfAccount {
			if _, err := ReadStoring(m.Value); err != nil {
				return routing.Preferences{}, err
			}
			continue
		}
		if !slices.Contains(settable, name) {
			return routing.Preferences{}, fault.Field(op, "provider."+clip(m.Name), "%s is not one of %s.", clip(m.Name), strings.Join(settable, ", ")).Coded("unknown_field_of", "allowed", strings.Join(settable, ", "))
		}
	}
	r := NewReader(text, op)
	p := r.Preferences()
	if err := r.Err(); err != nil {
		err.Param = strings.TrimSuffix("provider."+err.Param, ".")
		return p, err
	}
	return p, nil
}
