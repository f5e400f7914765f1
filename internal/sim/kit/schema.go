package kit

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// generator writes a JSON value that conforms to a schema. The same seed gives the same value.
type generator struct {
	root  *Node
	rnd   Random
	words []string // from the prompt, for strings that the schema does not restrict
	depth int
	left  int // steps left, see spend
	atoms int // of patterns that may still be written
	most  int // approximate limit of the value's bytes
}

// Schemas are not trusted: a few lines can require a value of millions of lines, or one without end if the schema refers to itself.
const (
	maxSteps          = 20_000
	maxGeneratedBytes = 1 << 20
)

// optionalDepth is the depth below which only required members are written, so that recursive schemas end.
const optionalDepth = 3

// lastDepth is the depth below which nothing is generated: such a schema has no finite value.
const lastDepth = 40

func generate(dst []byte, schema *Node, rnd Random, words []string) []byte {
	v := generator{root: schema, rnd: rnd, words: words, left: maxSteps, atoms: 10 * maxPatternAtoms, most: len(dst) + maxGeneratedBytes}
	return v.value(dst, schema)
}

// spend subtracts n steps. It returns false when none are left; the rest of the value then becomes null.
func (v *generator) spend(n int) bool {
	v.left -= n
	return v.left > 0
}

func (v *generator) value(dst []byte, s *Node) []byte {
	if v.depth++; v.depth > lastDepth || !v.spend(1) || len(dst) > v.most {
		v.depth--
		return append(dst, "null"...)
	}
	defer func() { v.depth-- }()
	s = v.resolve(s)
	if s != nil {
		v.spend(len(s.Names))
	}
	if c := s.Get("const"); c != nil {
		return append(dst, c.Raw...)
	}
	if e := s.Get("enum"); e.Is(Array) && len(e.Items) > 0 {
		return append(dst, e.Items[v.rnd.Below(len(e.Items))].Raw...)
	}
	switch v.typeOf(s) {
	case "object":
		return v.object(dst, s)
	case "array":
		return v.array(dst, s)
	case "string":
		return AppendText(dst, v.string(s))
	case "integer":
		return v.integer(dst, s)
	case "number":
		return v.number(dst, s)
	case "boolean":
		return strconv.AppendBool(dst, v.rnd.Below(2) == 0)
	}
	return append(dst, "null"...)
}

// resolve follows references, chooses one of several alternatives and merges allOf into one schema.
func (v *generator) resolve(s *Node) *Node {
	for range lastDepth {
		if !v.spend(1) {
			return s
		}
		switch {
		case s.Get("$ref").Is(Text):
			s = v.target(s.Get("$ref").Text)
		case s.alternatives("anyOf") != nil:
			s = v.merged(s, "anyOf", v.simplest(s.alternatives("anyOf")))
		case s.alternatives("oneOf") != nil:
			s = v.merged(s, "oneOf", v.simplest(s.alternatives("oneOf")))
		case s.alternatives("allOf") != nil:
			all := s.alternatives("allOf")
			if !v.spend(len(s.Names)) {
				return s
			}
			s = without(s, "allOf")
			for i := range all {
				s = v.merged(s, "", v.resolve(&all[i]))
			}
		default:
			return s
		}
	}
	return s
}

func (n *Node) alternatives(name string) []Node {
	if a := n.Get(name); a.Is(Array) && len(a.Items) > 0 {
		return a.Items
	}
	return nil
}

// simplest chooses the first alternative near the root, and one without nesting at greater depth.
func (v *generator) simplest(of []Node) *Node {
	if v.depth > optionalDepth {
		for i := range of {
			if !v.spend(1) {
				break
			}
			if t := of[i].Get("type").Str(); t != "" && t != "object" && t != "array" {
				return &of[i]
			}
		}
	}
	return &of[0]
}

func (v *generator) target(ref string) *Node {
	at := v.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || !v.spend(len(ref)/16) {
		return &Node{Kind: Object}
	}
	for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if !v.spend(1 + len(at.Names)/8) {
			return &Node{Kind: Object}
		}
		if at = at.Get(name); at == nil {
			return &Node{Kind: Object}
		}
	}
	return at
}

func without(s *Node, name string) *Node {
	out := Node{Kind: Object}
	for i, have := range s.Names {
		if have != name {
			out.Names, out.Items = append(out.Names, have), append(out.Items, s.Items[i])
		}
	}
	return &out
}

// merged returns s without the member drop, with the members of more. Properties and required names are combined.
func (v *generator) merged(s *Node, drop string, more *Node) *Node {
	if more == nil || !v.spend(len(s.Names)+len(more.Names)) {
		return s
	}
	out := without(s, drop)
	for i, name := range more.Names {
		have := out.Get(name)
		switch {
		case have == nil:
			out.Names, out.Items = append(out.Names, name), append(out.Items, more.Items[i])
		case name == "properties" && have.Is(Object) && more.Items[i].Is(Object):
			*have = *v.merged(have, "", &more.Items[i])
		case name == "required" && have.Is(Array) && v.spend(len(have.Items)+len(more.Items[i].Items)):
			joined := *have
			joined.Items = append(append([]Node(nil), have.Items...), more.Items[i].Items...)
			*have = joined
		}
	}
	return out
}

func (v *generator) typeOf(s *Node) string {
	switch t := s.Get("type"); {
	case t.Is(Text):
		return t.Text
	case t.Is(Array) && len(t.Items) > 0:
		if t.Items[0].Text == "null" && len(t.Items) > 1 {
			return t.Items[1].Text
		}
		return t.Items[0].Text
	}
	for _, hint := range [...]struct{ member, kind string }{
		{"properties", "object"}, {"additionalProperties", "object"}, {"items", "array"}, {"prefixItems", "array"},
		{"pattern", "string"}, {"format", "string"}, {"minLength", "string"}, {"maxLength", "string"},
		{"minimum", "number"}, {"maximum", "number"}, {"multipleOf", "number"},
	} {
		if s.Has(hint.member) {
			return hint.kind
		}
	}
	if v.depth == 1 {
		return "object"
	}
	return "string"
}

func (v *generator) object(dst []byte, s *Node) []byte {
	properties, required := s.Get("properties"), s.Get("required")
	must := map[string]bool{}
	if required.Is(Array) && v.spend(len(required.Items)) {
		for i := range required.Items {
			must[required.Items[i].Text] = true
		}
	}
	dst = append(dst, '{')
	first := true
	member := func(name string, schema *Node) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(AppendText(dst, name), ':')
		dst = v.value(dst, schema)
	}
	written := 0
	known := map[string]bool{}
	if properties.Is(Object) && v.spend(len(properties.Names)) {
		for i, name := range properties.Names {
			known[name] = true
			if must[name] || v.depth <= optionalDepth {
				member(name, &properties.Items[i])
				written++
			}
		}
	}
	if required.Is(Array) {
		for i := range required.Items {
			if name := required.Items[i].Text; must[name] && !known[name] {
				known[name] = true // a name may be listed twice
				member(name, s.Get("additionalProperties"))
				written++
			}
		}
	}
	least, _ := s.Get("minProperties").Int()
	for ; int64(written) < min(least, 100); written++ {
		member("key_"+strconv.Itoa(written), s.Get("additionalProperties"))
	}
	return append(dst, '}')
}

func (v *generator) array(dst []byte, s *Node) []byte {
	least, has := s.Get("minItems").Int()
	n := max(least, int64(1+v.rnd.Below(2)))
	if v.depth > optionalDepth {
		n = least
	}
	if most, ok := s.Get("maxItems").Int(); ok {
		n = min(n, most)
	}
	prefix := s.Get("prefixItems")
	if prefix.Is(Array) && !has {
		n = max(n, int64(len(prefix.Items)))
	}
	unique := s.Get("uniqueItems").IsTrue()
	seen := map[string]bool{}
	dst = append(dst, '[')
	for i := range min(n, 1000) {
		if i > 0 {
			dst = append(dst, ',')
		}
		item := s.Get("items")
		if prefix.Is(Array) && int(i) < len(prefix.Items) {
			item = &prefix.Items[i]
		}
		start := len(dst)
		dst = v.value(dst, item)
		for try := 0; unique && seen[string(dst[start:])] && try < 200 && v.spend(len(dst[start:])/16); try++ {
			dst = v.value(dst[:start], item)
		}
		if unique {
			seen[string(dst[start:])] = true
		}
	}
	return append(dst, ']')
}

func (v *generator) string(s *Node) string {
	if p := s.Get("pattern"); p.Is(Text) && len(p.Text) <= maxPattern {
		if out, ok := matching(p.Text, &v.rnd, &v.atoms); ok {
			return out
		}
	}
	if out := formatted(s.Get("format").Str(), &v.rnd); out != "" {
		return out
	}
	out := v.rnd.pick(English.objects)
	if len(v.words) > 0 {
		out = v.rnd.pick(v.words)
	}
	if s.Get("minLength") == nil && s.Get("maxLength") == nil {
		return out
	}
	least, _ := s.Get("minLength").Int()
	var more strings.Builder
	for n := int64(utf8.RuneCountInString(out)); n < min(least, 100_000); {
		word := v.rnd.pick(English.objects)
		more.WriteString(" " + word)
		n += int64(1 + utf8.RuneCountInString(word))
	}
	out += more.String()
	if most, ok := s.Get("maxLength").Int(); ok && int64(utf8.RuneCountInString(out)) > most {
		out = string([]rune(out)[:max(most, 0)])
	}
	return out
}

func formatted(format string, rnd *Random) string {
	two := func(from, n int) string { return strconv.Itoa(100 + from + rnd.Below(n))[1:] }
	date := func() string { return "2025-" + two(1, 12) + "-" + two(1, 28) }
	clock := func() string { return two(0, 24) + ":" + two(0, 60) + ":" + two(0, 60) + "Z" }
	switch format {
	case "date":
		return date()
	case "time":
		return clock()
	case "date-time":
		return date() + "T" + clock()
	case "duration":
		return "PT" + strconv.Itoa(1+rnd.Below(59)) + "M"
	case "email", "idn-email":
		return "heron" + two(0, 100) + "@example.com"
	case "hostname", "idn-hostname":
		return "weir" + two(0, 100) + ".example.com"
	case "uri", "url", "iri", "uri-reference":
		return "https://example.com/weir/" + two(0, 100)
	case "ipv4":
		return "192.0.2." + strconv.Itoa(1+rnd.Below(254))
	case "ipv6":
		return "2001:db8::" + strconv.FormatInt(int64(1+rnd.Below(65534)), 16)
	case "uuid":
		h := HexOf(rnd.Next()) + HexOf(rnd.Next())
		return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
	}
	return ""
}

// HexOf writes 16 hexadecimal digits.
func HexOf(n uint64) string {
	var b [16]byte
	for i := range b {
		b[i] = HexDigits[n>>(60-4*i)&15]
	}
	return string(b[:])
}

// bounds reads minimum and maximum, whether each is given, and whether each is exclusive.
func bounds(s *Node) (lo, hi float64, hasLo, hasHi, openLo, openHi bool) {
	lo, hasLo = s.Get("minimum").float()
	hi, hasHi = s.Get("maximum").float()
	if x, ok := s.Get("exclusiveMinimum").float(); ok && (!hasLo || x >= lo) {
		lo, hasLo, openLo = x, true, true
	}
	if x, ok := s.Get("exclusiveMaximum").float(); ok && (!hasHi || x <= hi) {
		hi, hasHi, openHi = x, true, true
	}
	// draft 4 of JSON Schema has booleans here
	openLo = openLo || s.Get("exclusiveMinimum").IsTrue()
	openHi = openHi || s.Get("exclusiveMaximum").IsTrue()
	return
}

// steps chooses k so that k*unit is within the bounds.
func (v *generator) steps(s *Node, unit float64) float64 {
	lo, hi, hasLo, hasHi, openLo, openHi := bounds(s)
	from, to := math.Ceil(lo/unit), math.Floor(hi/unit)
	if openLo && from*unit <= lo {
		from++
	}
	if openHi && to*unit >= hi {
		to--
	}
	switch {
	case !hasLo && !hasHi:
		from, to = 1, 100
	case !hasLo:
		from = to - 100
	case !hasHi:
		to = from + 100
	}
	return from + float64(v.rnd.Below(int(min(to-from, 1e6))+1))
}

func (v *generator) integer(dst []byte, s *Node) []byte {
	unit := 1.0
	if m, ok := s.Get("multipleOf").float(); ok && m >= 1 && m == math.Trunc(m) {
		unit = m
	}
	return appendFinite(dst, v.steps(s, unit)*unit)
}

func (v *generator) number(dst []byte, s *Node) []byte {
	if m, ok := s.Get("multipleOf").float(); ok && m > 0 {
		return appendFinite(dst, v.steps(s, m)*m)
	}
	lo, hi, hasLo, hasHi, openLo, openHi := bounds(s)
	switch {
	case !hasLo && !hasHi:
		lo, hi = 1, 100
	case !hasLo:
		lo = hi - 100
	case !hasHi:
		hi = lo + 100
	}
	if lo == hi && !openLo && !openHi {
		return appendFinite(dst, lo)
	}
	at := lo + (hi-lo)*float64(1+v.rnd.Below(9))/10
	if short := math.Round(at*100) / 100; short > lo && short < hi {
		at = short
	}
	return appendFinite(dst, at)
}

// appendFinite writes a number, 0 when contradictory bounds led to none.
func appendFinite(dst []byte, x float64) []byte {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		x = 0
	}
	return strconv.AppendFloat(dst, x, 'f', -1, 64)
}
