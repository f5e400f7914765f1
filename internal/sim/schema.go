package sim

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// invention writes a JSON value that conforms to a schema, the same one for the same random.
type invention struct {
	root  *node
	rnd   random
	words []string // taken from the prompt, for strings that nothing else is said of
	depth int
	left  int // what may still be looked at, see spend
	atoms int // of patterns that may still be written
	most  int // bytes that the value may have, about
}

// Schemas are strangers': one of a few lines may have a value of millions of lines, and no end where it refers to itself.
const (
	mostLooks    = 20_000
	mostInvented = 1 << 20
)

// Below this depth only what a schema requires is written, so that schemas that refer to themselves come to an end.
const optionalDepth = 3

// Far below it nothing is followed any more: such a schema has no finite value.
const lastDepth = 40

func invent(dst []byte, schema *node, rnd random, words []string) []byte {
	v := invention{root: schema, rnd: rnd, words: words, left: mostLooks, atoms: 10 * maxPatternAtoms, most: len(dst) + mostInvented}
	return v.value(dst, schema)
}

// spend pays for looking at n members; false when there was enough of that, and what is left becomes null.
func (v *invention) spend(n int) bool {
	v.left -= n
	return v.left > 0
}

func (v *invention) value(dst []byte, s *node) []byte {
	if v.depth++; v.depth > lastDepth || !v.spend(1) || len(dst) > v.most {
		v.depth--
		return append(dst, "null"...)
	}
	defer func() { v.depth-- }()
	s = v.resolve(s)
	if s != nil {
		v.spend(len(s.names))
	}
	if c := s.get("const"); c != nil {
		return append(dst, c.raw...)
	}
	if e := s.get("enum"); e.is(array) && len(e.items) > 0 {
		return append(dst, e.items[v.rnd.below(len(e.items))].raw...)
	}
	switch v.typeOf(s) {
	case "object":
		return v.object(dst, s)
	case "array":
		return v.array(dst, s)
	case "string":
		return appendText(dst, v.string(s))
	case "integer":
		return v.integer(dst, s)
	case "number":
		return v.number(dst, s)
	case "boolean":
		return strconv.AppendBool(dst, v.rnd.below(2) == 0)
	}
	return append(dst, "null"...)
}

// resolve follows references, takes one of several alternatives and folds allOf into one schema.
func (v *invention) resolve(s *node) *node {
	for range lastDepth {
		if !v.spend(1) {
			return s
		}
		switch {
		case s.get("$ref").is(text):
			s = v.target(s.get("$ref").text)
		case s.alternatives("anyOf") != nil:
			s = v.merged(s, "anyOf", v.simplest(s.alternatives("anyOf")))
		case s.alternatives("oneOf") != nil:
			s = v.merged(s, "oneOf", v.simplest(s.alternatives("oneOf")))
		case s.alternatives("allOf") != nil:
			all := s.alternatives("allOf")
			if !v.spend(len(s.names)) {
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

func (n *node) alternatives(name string) []node {
	if a := n.get(name); a.is(array) && len(a.items) > 0 {
		return a.items
	}
	return nil
}

// simplest takes the first alternative near the root, and one without nesting far down.
func (v *invention) simplest(of []node) *node {
	if v.depth > optionalDepth {
		for i := range of {
			if !v.spend(1) {
				break
			}
			if t := of[i].get("type").str(); t != "" && t != "object" && t != "array" {
				return &of[i]
			}
		}
	}
	return &of[0]
}

func (v *invention) target(ref string) *node {
	at := v.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || !v.spend(len(ref)/16) {
		return &node{kind: object}
	}
	for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if !v.spend(1 + len(at.names)/8) {
			return &node{kind: object}
		}
		if at = at.get(name); at == nil {
			return &node{kind: object}
		}
	}
	return at
}

func without(s *node, name string) *node {
	out := node{kind: object}
	for i, have := range s.names {
		if have != name {
			out.names, out.items = append(out.names, have), append(out.items, s.items[i])
		}
	}
	return &out
}

// merged is s without the member drop, with what is said in more. Properties and required names add up.
func (v *invention) merged(s *node, drop string, more *node) *node {
	if more == nil || !v.spend(len(s.names)+len(more.names)) {
		return s
	}
	out := without(s, drop)
	for i, name := range more.names {
		have := out.get(name)
		switch {
		case have == nil:
			out.names, out.items = append(out.names, name), append(out.items, more.items[i])
		case name == "properties" && have.is(object) && more.items[i].is(object):
			*have = *v.merged(have, "", &more.items[i])
		case name == "required" && have.is(array) && v.spend(len(have.items)+len(more.items[i].items)):
			joined := *have
			joined.items = append(append([]node(nil), have.items...), more.items[i].items...)
			*have = joined
		}
	}
	return out
}

func (v *invention) typeOf(s *node) string {
	switch t := s.get("type"); {
	case t.is(text):
		return t.text
	case t.is(array) && len(t.items) > 0:
		if t.items[0].text == "null" && len(t.items) > 1 {
			return t.items[1].text
		}
		return t.items[0].text
	}
	for _, hint := range [...]struct{ member, kind string }{
		{"properties", "object"}, {"additionalProperties", "object"}, {"items", "array"}, {"prefixItems", "array"},
		{"pattern", "string"}, {"format", "string"}, {"minLength", "string"}, {"maxLength", "string"},
		{"minimum", "number"}, {"maximum", "number"}, {"multipleOf", "number"},
	} {
		if s.has(hint.member) {
			return hint.kind
		}
	}
	if v.depth == 1 {
		return "object"
	}
	return "string"
}

func (v *invention) object(dst []byte, s *node) []byte {
	properties, required := s.get("properties"), s.get("required")
	must := map[string]bool{}
	if required.is(array) && v.spend(len(required.items)) {
		for i := range required.items {
			must[required.items[i].text] = true
		}
	}
	dst = append(dst, '{')
	first := true
	member := func(name string, schema *node) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendText(dst, name), ':')
		dst = v.value(dst, schema)
	}
	written := 0
	known := map[string]bool{}
	if properties.is(object) && v.spend(len(properties.names)) {
		for i, name := range properties.names {
			known[name] = true
			if must[name] || v.depth <= optionalDepth {
				member(name, &properties.items[i])
				written++
			}
		}
	}
	if required.is(array) {
		for i := range required.items {
			if name := required.items[i].text; must[name] && !known[name] {
				known[name] = true // a name may be given twice
				member(name, s.get("additionalProperties"))
				written++
			}
		}
	}
	least, _ := s.get("minProperties").whole()
	for ; int64(written) < min(least, 100); written++ {
		member("key_"+strconv.Itoa(written), s.get("additionalProperties"))
	}
	return append(dst, '}')
}

func (v *invention) array(dst []byte, s *node) []byte {
	least, has := s.get("minItems").whole()
	n := max(least, int64(1+v.rnd.below(2)))
	if v.depth > optionalDepth {
		n = least
	}
	if most, ok := s.get("maxItems").whole(); ok {
		n = min(n, most)
	}
	prefix := s.get("prefixItems")
	if prefix.is(array) && !has {
		n = max(n, int64(len(prefix.items)))
	}
	unique := s.get("uniqueItems").yes()
	seen := map[string]bool{}
	dst = append(dst, '[')
	for i := range min(n, 1000) {
		if i > 0 {
			dst = append(dst, ',')
		}
		item := s.get("items")
		if prefix.is(array) && int(i) < len(prefix.items) {
			item = &prefix.items[i]
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

func (v *invention) string(s *node) string {
	if p := s.get("pattern"); p.is(text) && len(p.text) <= maxPattern {
		if out, ok := matching(p.text, &v.rnd, &v.atoms); ok {
			return out
		}
	}
	if out := formatted(s.get("format").str(), &v.rnd); out != "" {
		return out
	}
	out := v.rnd.pick(english.objects)
	if len(v.words) > 0 {
		out = v.rnd.pick(v.words)
	}
	if s.get("minLength") == nil && s.get("maxLength") == nil {
		return out
	}
	least, _ := s.get("minLength").whole()
	var more strings.Builder
	for n := int64(utf8.RuneCountInString(out)); n < min(least, 100_000); {
		word := v.rnd.pick(english.objects)
		more.WriteString(" " + word)
		n += int64(1 + utf8.RuneCountInString(word))
	}
	out += more.String()
	if most, ok := s.get("maxLength").whole(); ok && int64(utf8.RuneCountInString(out)) > most {
		out = string([]rune(out)[:max(most, 0)])
	}
	return out
}

func formatted(format string, rnd *random) string {
	two := func(from, n int) string { return strconv.Itoa(100 + from + rnd.below(n))[1:] }
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
		return "PT" + strconv.Itoa(1+rnd.below(59)) + "M"
	case "email", "idn-email":
		return "heron" + two(0, 100) + "@example.com"
	case "hostname", "idn-hostname":
		return "weir" + two(0, 100) + ".example.com"
	case "uri", "url", "iri", "uri-reference":
		return "https://example.com/weir/" + two(0, 100)
	case "ipv4":
		return "192.0.2." + strconv.Itoa(1+rnd.below(254))
	case "ipv6":
		return "2001:db8::" + strconv.FormatInt(int64(1+rnd.below(65534)), 16)
	case "uuid":
		h := hexOf(rnd.next()) + hexOf(rnd.next())
		return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
	}
	return ""
}

func hexOf(n uint64) string {
	var b [16]byte
	for i := range b {
		b[i] = hexDigits[n>>(60-4*i)&15]
	}
	return string(b[:])
}

// bounds reads minimum and maximum; each comes with whether it was given and whether it is itself excluded.
func bounds(s *node) (lo, hi float64, hasLo, hasHi, openLo, openHi bool) {
	lo, hasLo = s.get("minimum").float()
	hi, hasHi = s.get("maximum").float()
	if x, ok := s.get("exclusiveMinimum").float(); ok && (!hasLo || x >= lo) {
		lo, hasLo, openLo = x, true, true
	}
	if x, ok := s.get("exclusiveMaximum").float(); ok && (!hasHi || x <= hi) {
		hi, hasHi, openHi = x, true, true
	}
	// the fourth draft of JSON Schema wrote these as booleans
	openLo = openLo || s.get("exclusiveMinimum").yes()
	openHi = openHi || s.get("exclusiveMaximum").yes()
	return
}

// steps picks k so that k*unit lies in the bounds.
func (v *invention) steps(s *node, unit float64) float64 {
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
	return from + float64(v.rnd.below(int(min(to-from, 1e6))+1))
}

func (v *invention) integer(dst []byte, s *node) []byte {
	unit := 1.0
	if m, ok := s.get("multipleOf").float(); ok && m >= 1 && m == math.Trunc(m) {
		unit = m
	}
	return appendFinite(dst, v.steps(s, unit)*unit)
}

func (v *invention) number(dst []byte, s *node) []byte {
	if m, ok := s.get("multipleOf").float(); ok && m > 0 {
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
	at := lo + (hi-lo)*float64(1+v.rnd.below(9))/10
	if short := math.Round(at*100) / 100; short > lo && short < hi {
		at = short
	}
	return appendFinite(dst, at)
}

// appendFinite writes a number; bounds that contradict each other may lead to none.
func appendFinite(dst []byte, x float64) []byte {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		x = 0
	}
	return strconv.AppendFloat(dst, x, 'f', -1, 64)
}
