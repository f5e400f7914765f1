package pdf

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"io"
	"strconv"
)

// object is a value of the file and the data of its stream, nil without a stream.
type object struct {
	value  any
	stream []byte // as in the file, not decoded
}

// document is a file that is being read. Its objects are found by looking for them, not through its tables: those may be damaged, and say
// nothing that the objects do not say themselves. Of objects with the same number the last counts, as it does where a file was changed.
type document struct {
	*budget
	file      []byte
	lim       Limits
	objects   map[int]object
	fonts     map[fontID]*font // each is read once
	root      any              // the catalog, as the last trailer names it
	encrypted bool
}

// maxObjects of a file.
const maxObjects = 500_000

// scan finds all objects.
func (d *document) scan() {
	l := lexer{in: d.file, budget: d.budget}
	objects, trailers := word{text: "obj"}, word{text: "trailer"}
	for d.spend(objectWork) {
		at, trailer := objects.next(l.in, l.at), trailers.next(l.in, l.at)
		if trailer < at {
			l.at = trailer + len("trailer")
			if t, ok := l.value(0, true).(dict); ok {
				d.trailer(t)
			}
			continue
		}
		if at == len(l.in) {
			break
		}
		l.at = at + len("obj")
		if n, ok := numbered(d.file[max(0, at-32):at]); ok {
			d.take(n, &l)
		}
	}
	if d.root == nil {
		d.root = d.catalog()
	}
}

// word is a text that is looked for again and again. No byte is passed twice.
type word struct {
	text  string
	at    int // where it was found last
	found bool
}

// next is where the word is, at from or later; the end of in when it is missing.
func (w *word) next(in []byte, from int) int {
	if w.found && w.at >= from {
		return w.at
	}
	w.found, w.at = true, len(in)
	if i := bytes.Index(in[min(from, len(in)):], []byte(w.text)); i >= 0 {
		w.at = from + i
	}
	return w.at
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

// take reads the object after "obj".
func (d *document) take(n int, l *lexer) {
	o := object{value: l.value(0, true)}
	if v, ok := o.value.(dict); ok {
		if l.space(); bytes.HasPrefix(l.in[l.at:], []byte("stream")) {
			l.at += len("stream")
			o.stream = d.streamAt(l, v)
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
	if len(d.objects) < maxObjects && d.hold(objectRoom) {
		d.objects[n] = o
	} else {
		d.cut = true
	}
}

// streamAt is the bytes between the word stream and its end.
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

// unpack reads the objects that a stream holds. Those that claim the same place are one.
func (d *document) unpack(v dict, stream []byte) {
	data, held := d.decode(v, stream)
	defer d.release(held)
	first, _ := v["First"].(float64)
	count, _ := v["N"].(float64)
	if int(first) < 0 || int(first) > len(data) {
		return
	}
	index := lexer{in: data[:int(first)], budget: d.budget}
	defer index.drop()
	seen := map[int]any{}
	for range int(min(count, maxObjects)) {
		n, ok := index.value(0, false).(float64)
		at, also := index.value(0, false).(float64)
		if !ok || !also || n < 0 || at < 0 || int(first)+int(at) > len(data) {
			return
		}
		o, known := seen[int(at)]
		if !known {
			begin := int(first) + int(at)
			l := lexer{in: data, at: begin, paid: begin, budget: d.budget}
			o = l.value(0, true)
			seen[int(at)] = o
			index.keep(memberRoom)
		}
		d.put(int(n), object{value: o})
	}
}

// catalog finds the root of a file without a trailer: the last that was written, as far as numbers show.
func (d *document) catalog() any {
	last := -1
	for n, o := range d.objects {
		if v, ok := o.value.(dict); ok && v["Type"] == name("Catalog") {
			last = max(last, n)
		}
	}
	if last < 0 {
		return nil
	}
	return ref(last)
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

// data returns the decoded stream that v refers to. held is the memory that it takes until it is released.
func (d *document) data(v any) (attributes dict, data []byte, held int) {
	for range 16 {
		r, ok := v.(ref)
		if !ok {
			return nil, nil, 0
		}
		o := d.objects[int(r)]
		if o.stream != nil {
			attributes, _ = o.value.(dict)
			data, held = d.decode(attributes, o.stream)
			return attributes, data, held
		}
		v = o.value
	}
	return nil, nil, 0
}

// decode applies the filters of a stream. It returns nil when one is unknown. held is the memory that the result takes.
func (d *document) decode(v dict, data []byte) (out []byte, held int) {
	filters := d.array(v["Filter"])
	if one := d.name(v["Filter"]); one != "" {
		filters = array{one}
	}
	if len(filters) > 8 {
		return nil, 0
	}
	if p := d.dict(v["DecodeParms"]); p != nil && d.resolve(p["Predictor"]) != nil && d.resolve(p["Predictor"]) != 1.0 {
		return nil, 0 // filters of images and tables; page contents do not have them
	}
	for _, f := range filters {
		if !d.spend(filterWork + len(data)) {
			d.release(held)
			return nil, 0
		}
		before := held
		switch d.name(f) {
		case "FlateDecode", "Fl":
			data, held = d.inflated(data)
		case "ASCIIHexDecode", "AHx":
			data, held = d.unhexed(data)
		case "ASCII85Decode", "A85":
			data, held = d.ascii85(data)
		default:
			data, held = nil, 0
		}
		d.release(before)
		if data == nil {
			d.release(held)
			return nil, 0
		}
	}
	return data, held
}

// inflated decompresses as much as possible: a damaged end loses only the data after it. The memory of every buffer is taken from the
// budget before it is allocated.
func (d *document) inflated(data []byte) (out []byte, held int) {
	var r io.Reader
	z, err := zlib.NewReader(bytes.NewReader(data))
	if r = z; err != nil {
		if len(data) < 2 {
			return nil, 0
		}
		r = flate.NewReader(bytes.NewReader(data[2:])) // its head is damaged
	}
	out = []byte{}
	for {
		if len(out) == cap(out) {
			size := max(2*cap(out), 4096)
			if !d.hold(size) || !d.spend(len(out)) {
				d.release(held + size)
				return nil, 0
			}
			out = append(make([]byte, 0, size), out...)
			d.release(held)
			held = size
		}
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		if !d.spend(n) || err != nil {
			return out, held
		}
	}
}

func (d *document) unhexed(data []byte) (out []byte, held int) {
	if held = len(data)/2 + 1; !d.hold(held) {
		return nil, held
	}
	out = make([]byte, 0, held)
	half := -1
	for _, c := range data {
		if c == '>' {
			break
		}
		switch n := nibble(c); {
		case n < 0:
		case half < 0:
			half = n
		default:
			out, half = append(out, byte(half<<4|n)), -1
		}
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	return out, held
}

func (d *document) ascii85(data []byte) (out []byte, held int) {
	if i := bytes.IndexByte(data, '~'); i >= 0 {
		data = data[:i]
	}
	held = len(data) + 3*bytes.Count(data, []byte("z")) + 8
	if !d.hold(held) || !d.spend(held) {
		return nil, held
	}
	out = make([]byte, 0, held)
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
		case c == 'z' && n == 0:
			out = append(out, 0, 0, 0, 0)
		case c >= '!' && c <= 'u':
			group[n] = c - '!'
			if n++; n == 5 {
				flush(4)
			}
		}
	}
	if n > 1 {
		count := n - 1
		for ; n < 5; n++ {
			group[n] = 84
		}
		flush(count)
	}
	return out, held
}

// page is one page and the resources that it has or inherits.
type page struct {
	dict      dict
	resources dict
}

// pages are the file's pages, in order.
func (d *document) pages() (list []page) {
	seen := map[ref]bool{}
	var walk func(v any, inherited dict, depth int)
	walk = func(v any, inherited dict, depth int) {
		if !d.spend(objectWork) || !d.hold(memberRoom) {
			return
		}
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
