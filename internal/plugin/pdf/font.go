package pdf

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// font maps codes to characters.
type font struct {
	wide  bool // codes of two bytes
	codes map[uint32]string
	spans []span
	table *[256]rune // of a font of one byte a code; nil: only codes and spans map

	widths map[uint32]float64 // of codes, in parts of the font's size
	width  float64            // of any other code

	measured int // widths that were noted, also over one another
}

const usualWidth = 0.5 // of a letter, in parts of the font's size

// span is a range of codes for characters that follow one another.
type span struct {
	from, to uint32
	text     []uint16 // of from; the last unit grows
}

const (
	maxCodes = 70_000 // that a font maps one by one
	maxSpans = 10_000
)

func (d *document) font(v dict) *font {
	if v == nil || !d.spend(formWork) || !d.hold(fontRoom) {
		return nil
	}
	f := &font{codes: map[uint32]string{}, widths: map[uint32]float64{}, width: usualWidth}
	if _, data, held := d.data(v["ToUnicode"]); data != nil {
		d.cmap(f, data)
		d.release(held)
		slices.SortStableFunc(f.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	if d.name(v["Subtype"]) == "Type0" {
		f.wide = true
		f.measureWide(d, v)
		return f
	}
	first, _ := d.resolve(v["FirstChar"]).(float64)
	widths := d.array(v["Widths"])
	for i, w := range widths[:min(len(widths), 256)] {
		if n, ok := d.resolve(w).(float64); ok {
			d.measure(f, uint32(first)+uint32(i), n)
		}
	}
	f.table = winAnsi()
	encoding := d.resolve(v["Encoding"])
	if e, ok := encoding.(dict); ok {
		if d.name(e["BaseEncoding"]) == "MacRomanEncoding" {
			f.table = macRoman()
		}
		f.differ(d, d.array(e["Differences"]))
	} else if encoding == name("MacRomanEncoding") {
		f.table = macRoman()
	}
	return f
}

// measureWide reads the widths of a font of two bytes a code: a code with a list of widths from there on, or a range with one width.
func (f *font) measureWide(d *document, v dict) {
	list := d.array(v["DescendantFonts"])
	if len(list) == 0 {
		return
	}
	inner := d.dict(list[0])
	f.width = 1
	if n, ok := d.resolve(inner["DW"]).(float64); ok {
		f.width = n / 1000
	}
	w := d.array(inner["W"])
	for i := 0; i+1 < len(w) && d.spend(tokenWork); {
		from, _ := d.resolve(w[i]).(float64)
		if each := d.array(w[i+1]); each != nil {
			for j, n := range each {
				n, _ := d.resolve(n).(float64)
				if !d.measure(f, uint32(from)+uint32(j), n) {
					return
				}
			}
			i += 2
			continue
		}
		to, _ := d.resolve(w[i+1]).(float64)
		if i+2 >= len(w) || from < 0 || to-from > 0xffff {
			return
		}
		n, _ := d.resolve(w[i+2]).(float64)
		for code := from; code <= to; code++ {
			if !d.measure(f, uint32(code), n) {
				return
			}
		}
		i += 3
	}
}

// measure notes how wide a code is, in thousandths. It reports whether the font may have more.
func (d *document) measure(f *font, code uint32, n float64) bool {
	if f.measured++; f.measured > maxCodes || !d.spend(tokenWork) || !d.hold(memberRoom) {
		return false
	}
	f.widths[code] = n / 1000
	return true
}

// differ applies the differences of an encoding from its base: a code, and the names of the characters from there on.
func (f *font) differ(d *document, list array) {
	code := 0
	for _, v := range list {
		if !d.spend(tokenWork) {
			return
		}
		switch v := d.resolve(v).(type) {
		case float64:
			code = int(v)
		case name:
			if code >= 0 && code < 256 {
				if r := glyph(string(v)); r != 0 {
					f.table[code] = r
				}
			}
			code++
		}
	}
}

func (f *font) widthOf(code uint32) float64 {
	if w, ok := f.widths[code]; ok {
		return w
	}
	return f.width
}

// one writes the characters of a code.
func (f *font) one(out *strings.Builder, code uint32) {
	if s, ok := f.codes[code]; ok {
		out.WriteString(s)
		return
	}
	if i := sort.Search(len(f.spans), func(i int) bool { return f.spans[i].from > code }); i > 0 {
		if s := &f.spans[i-1]; code <= s.to && len(s.text) > 0 {
			units := append([]uint16(nil), s.text...)
			units[len(units)-1] += uint16(code - s.from)
			out.WriteString(clean(string(utf16.Decode(units))))
			return
		}
	}
	if f.table != nil && code < 256 && f.table[code] != 0 {
		out.WriteRune(f.table[code])
	}
}

// clean removes control characters except white space.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
}

// cmap reads a table from codes to characters.
func (d *document) cmap(f *font, data []byte) {
	l := lexer{in: data, budget: d.budget}
	defer l.drop()
	var args []any
	for {
		switch v := l.value(0, false).(type) {
		case end:
			return
		case keyword:
			switch v {
			case "endbfchar":
				d.chars(f, args)
			case "endbfrange":
				d.ranges(f, args)
			}
			args = args[:0]
			l.drop()
		default:
			if len(args) < 3*maxSpans {
				args = append(args, v)
			}
		}
	}
}

func codeOf(v any) (uint32, bool) {
	b, ok := v.([]byte)
	if !ok || len(b) == 0 || len(b) > 4 {
		return 0, false
	}
	code := uint32(0)
	for _, c := range b {
		code = code<<8 | uint32(c)
	}
	return code, true
}

// unitsOf are the UTF-16 units that a table gives for a code.
func unitsOf(v any) []uint16 {
	b, _ := v.([]byte)
	if len(b) == 1 {
		return []uint16{uint16(b[0])}
	}
	var units []uint16
	for i := 0; i+1 < len(b) && i < 32; i += 2 {
		units = append(units, uint16(b[i])<<8|uint16(b[i+1]))
	}
	return units
}

func (d *document) chars(f *font, args []any) {
	for i := 0; i+1 < len(args); i += 2 {
		if code, ok := codeOf(args[i]); ok && !d.character(f, code, args[i+1]) {
			return
		}
	}
}

// character stores the character of a code. It reports whether the font may have more.
func (d *document) character(f *font, code uint32, v any) bool {
	text := clean(string(utf16.Decode(unitsOf(v))))
	if len(f.codes) >= maxCodes || !d.spend(tokenWork+len(text)) || !d.hold(memberRoom+len(text)) {
		return false
	}
	f.codes[code] = text
	return true
}

func (d *document) ranges(f *font, args []any) {
	for i := 0; i+2 < len(args) && d.spend(tokenWork); i += 3 {
		from, ok := codeOf(args[i])
		to, also := codeOf(args[i+1])
		if !ok || !also || to < from || to-from > 0xffff {
			continue
		}
		if list, each := args[i+2].(array); each {
			for j, v := range list {
				if uint32(j) > to-from || !d.character(f, from+uint32(j), v) {
					break
				}
			}
			continue
		}
		if len(f.spans) < maxSpans && d.hold(memberRoom) {
			f.spans = append(f.spans, span{from, to, unitsOf(args[i+2])})
		}
	}
}

// Characters of the upper half of the two common encodings, from 0x80 on; a middle dot where there is none.
const (
	upperWin = "\u20ac\u00b7\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u00b7\u017d\u00b7\u00b7\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u00b7\u017e\u0178"
	upperMac = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u00a0ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uf8ffÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ"
)

func winAnsi() *[256]rune {
	t := ascii()
	for i := 0xa0; i < 256; i++ {
		t[i] = rune(i)
	}
	i := 0x80
	for _, r := range upperWin {
		t[i] = r
		i++
	}
	return t
}

func macRoman() *[256]rune {
	t := ascii()
	i := 0x80
	for _, r := range upperMac {
		t[i] = r
		i++
	}
	return t
}

func ascii() *[256]rune {
	var t [256]rune
	for i := ' '; i < 0x7f; i++ {
		t[i] = i
	}
	t['\t'], t['\n'], t['\r'] = ' ', ' ', ' '
	return &t
}

// glyphs are the names that fonts give characters, those of the Adobe glyph list that Latin texts use.
var glyphs = func() map[string]rune {
	m := map[string]rune{}
	for _, pair := range strings.Fields(glyphList) {
		n, r, _ := strings.Cut(pair, ":")
		m[n], _ = utf8.DecodeRuneInString(r)
	}
	m["space"], m["nbspace"], m["colon"] = ' ', ' ', ':'
	return m
}()

const glyphList = `exclam:! quotedbl:" numbersign:# dollar:$ percent:% ampersand:& quotesingle:' parenleft:( parenright:) asterisk:* plus:+ comma:, hyphen:- minus:- period:. slash:/
zero:0 one:1 two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 semicolon:; less:< equal:= greater:> question:? at:@ bracketleft:[ backslash:\ bracketright:] asciicircum:^ underscore:_
grave:` + "`" + ` braceleft:{ bar:| braceright:} asciitilde:~ quoteleft:‘ quoteright:’ quotedblleft:“ quotedblright:” quotesinglbase:‚ quotedblbase:„ bullet:• endash:– emdash:— ellipsis:… dagger:† daggerdbl:‡
fi:ﬁ fl:ﬂ ff:ﬀ ffi:ﬃ ffl:ﬄ guillemotleft:« guillemotright:» guilsinglleft:‹ guilsinglright:› exclamdown:¡ questiondown:¿ section:§ paragraph:¶ copyright:© registered:® trademark:™ degree:° cent:¢ sterling:£
yen:¥ Euro:€ florin:ƒ currency:¤ plusminus:± multiply:× divide:÷ mu:µ onehalf:½ onequarter:¼ threequarters:¾ onesuperior:¹ twosuperior:² threesuperior:³ periodcentered:· cedilla:¸ acute:´ dieresis:¨ macron:¯ logicalnot:¬
brokenbar:¦ ordfeminine:ª ordmasculine:º germandbls:ß ae:æ AE:Æ oe:œ OE:Œ oslash:ø Oslash:Ø aring:å Aring:Å ccedilla:ç Ccedilla:Ç ntilde:ñ Ntilde:Ñ eth:ð Eth:Ð thorn:þ Thorn:Þ dotlessi:ı
agrave:à aacute:á acircumflex:â atilde:ã adieresis:ä Agrave:À Aacute:Á Acircumflex:Â Atilde:Ã Adieresis:Ä egrave:è eacute:é ecircumflex:ê edieresis:ë Egrave:È Eacute:É Ecircumflex:Ê Edieresis:Ë
igrave:ì iacute:í icircumflex:î idieresis:ï Igrave:Ì Iacute:Í Icircumflex:Î Idieresis:Ï ograve:ò oacute:ó ocircumflex:ô otilde:õ odieresis:ö Ograve:Ò Oacute:Ó Ocircumflex:Ô Otilde:Õ Odieresis:Ö
ugrave:ù uacute:ú ucircumflex:û udieresis:ü Ugrave:Ù Uacute:Ú Ucircumflex:Û Udieresis:Ü yacute:ý ydieresis:ÿ Yacute:Ý Ydieresis:Ÿ scaron:š Scaron:Š zcaron:ž Zcaron:Ž lslash:ł Lslash:Ł
alpha:α beta:β gamma:γ delta:δ epsilon:ε lambda:λ pi:π sigma:σ omega:ω Delta:Δ Omega:Ω infinity:∞ lessequal:≤ greaterequal:≥ notequal:≠ approxequal:≈ summation:∑ integral:∫ radical:√ partialdiff:∂ arrowright:→ arrowleft:←`

// glyph is the character of a name, 0 when it has none that is known.
func glyph(n string) rune {
	if r, ok := glyphs[n]; ok {
		return r
	}
	base, _, _ := strings.Cut(n, ".") // a variant, such as a.sc
	if len(base) == 1 {
		return rune(base[0])
	}
	if hex, ok := strings.CutPrefix(base, "uni"); ok && len(hex) >= 4 {
		return scalar(hex[:4])
	}
	if hex, ok := strings.CutPrefix(base, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		return scalar(hex)
	}
	if digits, ok := strings.CutPrefix(base, "afii10"); ok { // Cyrillic
		if n, err := strconv.Atoi(digits); err == nil {
			return cyrillic(n)
		}
	}
	return glyphs[base]
}

func scalar(hex string) rune {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || n < ' ' || !utf8.ValidRune(rune(n)) {
		return 0
	}
	return rune(n)
}

// cyrillic is a letter by its number in an older list: 017 to 049 capitals and 065 to 097 small ones, with yo after e.
func cyrillic(n int) rune {
	letter := func(n int, a, yo rune) rune {
		switch {
		case n < 6:
			return a + rune(n)
		case n == 6:
			return yo
		}
		return a + rune(n) - 1
	}
	switch {
	case n >= 17 && n <= 49:
		return letter(n-17, 'А', 'Ё')
	case n >= 65 && n <= 97:
		return letter(n-65, 'а', 'ё')
	}
	return 0
}
