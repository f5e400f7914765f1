package pdf

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"io"
	"strconv"
)

// object is a value of the file with what its stream holds, nil for one without.
type object struct {
	value  any
	stream []byte // as it stands in the file
}

// document is a file that is being read. Its objects are found by looking for them, not through its tables: those may be damaged, and say
// nothing that the objects do not say themselves. Of objects with the same number the last counts, as it does where a file was changed.
type document struct {
	file      []byte
	lim       Limits
	objects   map[int]object
	fonts     map[ref]*font // those that pages share
	root      any           // the catalog, as the last trailer names it
	encrypted bool
	inflate   int // bytes of streams that may still be decompressed
	work      int
	cut       bool // something was left out because of a limit
}

// maxObjects of a file.
const maxObjects = 500_000

// scan finds all objects.
func (d *document) scan() {
	l := lexer{in: d.file, work: &d.work}
	for d.work > 0 {
		i := bytes.Index(d.file[l.at:], []byte("obj"))
		trailer := bytes.Index(d.file[l.at:l.at+max(i, 0)], []byte("trailer"))
		if i < 0 {
			trailer = bytes.Index(d.file[l.at:], []byte("trailer"))
		}
		if trailer >= 0 {
			l.at += trailer + len("trailer")
			if t, ok := l.value(0, true).(dict); ok {
				d.trailer(t)
			}
			continue
		}
		if i < 0 {
			break
		}
		at := l.at + i
		l.at = at + len("obj")
		if n, ok := numbered(d.file[max(0, at-32):at]); ok {
			d.take(n, &l)
		}
	}
	if d.work <= 0 {
		d.cut = true
	}
	if d.root == nil {
		d.root = d.catalog()
	}
}

// numbered is the number in front of "obj": "12 0 " ends the text.
func numbered(before []byte) (int, bool) {
	words := bytes.Fields(before)
	if len(words) < 2 {
		return 0, false
	}
	if _, err := strconv.Atoi(string(words[len(words)-1])); err != nil {
		return 0, false
	}
	digits := words[len(words)-2]
	if i := bytes.LastIndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[i+1:]
	}
	n, err := strconv.Atoi(string(digits))
	return n, err == nil && n >= 0
}

// take reads the object behind "obj".
func (d *document) take(n int, l *lexer) {
	o := object{value: l.value(0, true)}
	back := l.at
	if v, ok := o.value.(dict); ok {
		if l.value(0, true) == keyword("stream") {
			o.stream = d.streamAt(l, v)
		} else {
			l.at = back
		}
		switch v["Type"] {
		case name("XRef"):
			d.trailer(v)
		case name("ObjStm"):
			d.unpack(v, o.stream)
		}
	}
	d.put(n, o)
}

func (d *document) put(n int, o object) {
	if len(d.objects) < maxObjects {
		d.objects[n] = o
	} else {
		d.cut = true
	}
}

// streamAt is what stands between the word stream and its end.
func (d *document) streamAt(l *lexer, v dict) []byte {
	if l.at < len(l.in) && l.in[l.at] == '\r' {
		l.at++
	}
	if l.at < len(l.in) && l.in[l.at] == '\n' {
		l.at++
	}
	rest := l.in[l.at:]
	if length, ok := v["Length"].(float64); ok && length >= 0 && int(length) <= len(rest) {
		if tail := bytes.TrimLeft(rest[int(length):min(len(rest), int(length)+16)], "\r\n \t"); bytes.HasPrefix(tail, []byte("endstream")) {
			l.at += int(length)
			return rest[:int(length)]
		}
	}
	stop := bytes.Index(rest, []byte("endstream"))
	if stop < 0 {
		stop = len(rest)
	}
	l.at += stop
	return bytes.TrimSuffix(bytes.TrimSuffix(rest[:stop], []byte("\n")), []byte("\r"))
}

func (d *document) trailer(t dict) {
	if _, ok := t["Encrypt"]; ok {
		d.encrypted = true
	}
	if root, ok := t["Root"]; ok {
		d.root = root
	}
}

// unpack reads the objects that a stream holds.
func (d *document) unpack(v dict, stream []byte) {
	data := d.decode(v, stream)
	first, _ := v["First"].(float64)
	count, _ := v["N"].(float64)
	if int(first) < 0 || int(first) > len(data) {
		return
	}
	index := lexer{in: data[:int(first)], work: &d.work}
	for range int(min(count, maxObjects)) {
		n, ok := index.value(0, false).(float64)
		at, also := index.value(0, false).(float64)
		if !ok || !also || n < 0 || at < 0 || int(first)+int(at) > len(data) {
			return
		}
		l := lexer{in: data, at: int(first) + int(at), work: &d.work}
		d.put(int(n), object{value: l.value(0, true)})
	}
}

// catalog finds the root of a file without a trailer.
func (d *document) catalog() any {
	for n, o := range d.objects {
		if v, ok := o.value.(dict); ok && v["Type"] == name("Catalog") {
			return ref(n)
		}
	}
	return nil
}

// resolve follows references.
func (d *document) resolve(v any) any {
	for range 16 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = d.objects[int(r)].value
	}
	return nil
}

func (d *document) dict(v any) dict {
	out, _ := d.resolve(v).(dict)
	return out
}

func (d *document) array(v any) array {
	out, _ := d.resolve(v).(array)
	return out
}

func (d *document) name(v any) name {
	out, _ := d.resolve(v).(name)
	return out
}

// data is what the stream that v refers to holds.
func (d *document) data(v any) (dict, []byte) {
	for range 16 {
		r, ok := v.(ref)
		if !ok {
			return nil, nil
		}
		o := d.objects[int(r)]
		if o.stream != nil {
			attributes, _ := o.value.(dict)
			return attributes, d.decode(attributes, o.stream)
		}
		v = o.value
	}
	return nil, nil
}

// decode undoes the filters of a stream, as far as they are known: nil when one is not.
func (d *document) decode(v dict, data []byte) []byte {
	filters := d.array(v["Filter"])
	if one := d.name(v["Filter"]); one != "" {
		filters = array{one}
	}
	if len(filters) > 8 {
		return nil
	}
	if p := d.dict(v["DecodeParms"]); p != nil && d.resolve(p["Predictor"]) != nil && d.resolve(p["Predictor"]) != 1.0 {
		return nil // of pictures and tables; what pages draw has none
	}
	for _, f := range filters {
		switch d.name(f) {
		case "FlateDecode", "Fl":
			data = d.inflated(data)
		case "ASCIIHexDecode", "AHx":
			l := lexer{in: append([]byte("<"), data...), work: &d.work}
			data = l.hex()
		case "ASCII85Decode", "A85":
			data = ascii85(data)
		default:
			return nil
		}
	}
	if d.work -= len(data) / 64; d.work < 0 {
		d.work = 0
	}
	return data
}

// inflated decompresses as much as there is: a damaged end loses only what is behind it.
func (d *document) inflated(data []byte) []byte {
	var r io.Reader
	z, err := zlib.NewReader(bytes.NewReader(data))
	if r = z; err != nil {
		if len(data) < 2 {
			return nil
		}
		r = flate.NewReader(bytes.NewReader(data[2:])) // its head is damaged
	}
	var out bytes.Buffer
	n, _ := io.Copy(&out, io.LimitReader(r, int64(d.inflate)+1))
	if d.inflate -= int(n); d.inflate < 0 {
		d.cut, d.inflate = true, 0
		return nil
	}
	return out.Bytes()
}

func ascii85(data []byte) []byte {
	out := []byte{}
	var group [5]byte
	n := 0
	flush := func(count int) {
		v := uint32(0)
		for i := range group {
			v = v*85 + uint32(group[i])
		}
		out = append(out, []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}[:count]...)
		n = 0
	}
	for _, c := range data {
		switch {
		case c == '~':
			data = nil
		case c == 'z' && n == 0:
			out = append(out, 0, 0, 0, 0)
		case c >= '!' && c <= 'u':
			group[n] = c - '!'
			if n++; n == 5 {
				flush(4)
			}
		}
		if data == nil {
			break
		}
	}
	if n > 1 {
		count := n - 1
		for ; n < 5; n++ {
			group[n] = 84
		}
		flush(count)
	}
	return out
}

// page is one page and the resources that it has or inherits.
type page struct {
	dict      dict
	resources dict
}

// pages are those of the file, in order.
func (d *document) pages() (list []page) {
	seen := map[ref]bool{}
	var walk func(v any, inherited dict, depth int)
	walk = func(v any, inherited dict, depth int) {
		if len(list) >= d.lim.Pages {
			d.cut = true
			return
		}
		if r, ok := v.(ref); ok {
			if seen[r] {
				return
			}
			seen[r] = true
		}
		node := d.dict(v)
		if node == nil || depth > maxNesting {
			return
		}
		if own := d.dict(node["Resources"]); own != nil {
			inherited = own
		}
		if kids := d.array(node["Kids"]); kids != nil && d.name(node["Type"]) != "Page" {
			for _, kid := range kids {
				walk(kid, inherited, depth+1)
			}
			return
		}
		list = append(list, page{node, inherited})
	}
	if root := d.dict(d.root); root != nil {
		walk(root["Pages"], nil, 0)
	}
	return list
}
