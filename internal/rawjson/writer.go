package rawjson

import (
	"strconv"

	"weir/internal/encoded"
)

// Writer appends JSON to B and places the commas. It allocates nothing but what B needs to grow, and the zero Writer is ready.
//
// Every value has one method, and Name begins a member whose value comes next:
//
//	w.Object()
//	w.Name("model").Text("small")
//	w.Name("stop").Array()
//	w.Text("END")
//	w.EndArray()
//	w.EndObject() // {"model":"small","stop":["END"]}
//
// A Writer does not check that brackets match or that each member has a value. To take back what was written, cut B to the length it had
// before: a comma is written with the value that follows it.
//
// With Long, long values are not copied: Pieces has the text, and B only what lies between them. Nothing may be taken back then that has such a value.
type Writer struct {
	B []byte

	Long  int // Raw, Member, Base64, DataURL and Verbatim keep a view of so many bytes or more instead of a copy; 0: they always copy
	views []view
}

// view is bytes that belong into B at an offset.
type view struct {
	at int
	b  []byte
}

// add appends v, or a view of it. The last byte is always copied, because separate looks at it.
func (w *Writer) add(v []byte) {
	if w.Long > 0 && len(v) >= w.Long {
		last := len(v) - 1
		w.views = append(w.views, view{len(w.B), v[:last:last]})
		v = v[last:]
	}
	w.B = append(w.B, v...)
}

// Pieces returns the text as the bytes that come first, and those that follow. They are views of B and of what was written.
func (w *Writer) Pieces() (first []byte, more [][]byte) {
	if len(w.views) == 0 {
		return w.B, nil
	}
	more = make([][]byte, 0, 2*len(w.views))
	at := w.views[0].at
	first = w.B[:at:at]
	for i := range w.views {
		next := len(w.B)
		if i+1 < len(w.views) {
			next = w.views[i+1].at
		}
		more = append(more, w.views[i].b, w.B[at:next:next])
		at = next
	}
	return first, more
}

// separate writes the comma that the next name or element needs. Only an opening bracket, a colon or the beginning precedes
// a value that needs none, and no JSON value ends with one of these.
func (w *Writer) separate() {
	if n := len(w.B); n > 0 {
		switch w.B[n-1] {
		case '{', '[', ':':
		default:
			w.B = append(w.B, ',')
		}
	}
}

// Object begins an object.
func (w *Writer) Object() {
	w.separate()
	w.B = append(w.B, '{')
}

// EndObject ends the innermost object.
func (w *Writer) EndObject() { w.B = append(w.B, '}') }

// Array begins an array.
func (w *Writer) Array() {
	w.separate()
	w.B = append(w.B, '[')
}

// EndArray ends the innermost array.
func (w *Writer) EndArray() { w.B = append(w.B, ']') }

// Close writes several closing brackets, such as "]}", that end what is open from the inside out.
func (w *Writer) Close(brackets string) { w.B = append(w.B, brackets...) }

// EndObjectOrDrop ends the innermost object. If it is empty, it cuts B to the length at, which was taken before the member began.
func (w *Writer) EndObjectOrDrop(at int) { w.endOrDrop(at, '{', '}') }

// EndArrayOrDrop is EndObjectOrDrop for an array.
func (w *Writer) EndArrayOrDrop(at int) { w.endOrDrop(at, '[', ']') }

func (w *Writer) endOrDrop(at int, opening, closing byte) {
	if w.B[len(w.B)-1] == opening {
		w.B = w.B[:at]
		return
	}
	w.B = append(w.B, closing)
}

// Name begins a member of the innermost object and returns w for its value.
func (w *Writer) Name(name string) *Writer {
	w.separate()
	w.B = append(AppendText(w.B, name), ':')
	return w
}

// Text writes a string, escaped as AppendString does.
func (w *Writer) Text(s string) {
	w.separate()
	w.B = AppendText(w.B, s)
}

// Ints writes an array of integers.
func (w *Writer) Ints(list []int) {
	w.Array()
	for _, n := range list {
		w.Int(int64(n))
	}
	w.EndArray()
}

// Texts writes an array of strings.
func (w *Writer) Texts(list []string) {
	w.Array()
	for _, s := range list {
		w.Text(s)
	}
	w.EndArray()
}

// Bytes is Text for bytes.
func (w *Writer) Bytes(s []byte) {
	w.separate()
	w.B = AppendString(w.B, s)
}

// Base64 writes data as a string, without looking at it: package encoded has checked it.
func (w *Writer) Base64(data encoded.Base64) {
	w.separate()
	w.B = append(w.B, '"')
	w.add(data.Text())
	w.B = append(w.B, '"')
}

// DataURL is Base64 for a data: URL.
func (w *Writer) DataURL(mediaType string, data encoded.Base64) {
	w.separate()
	w.B = append(w.B, `"data:`...)
	w.B = append(AppendEscaped(w.B, []byte(mediaType)), ";base64,"...)
	w.add(data.Text())
	w.B = append(w.B, '"')
}

// Raw writes v as it is, without looking at it. It must be one JSON value: of a body that Check has passed, of an answer that Valid has, or made by
// this package. Empty is null.
func (w *Writer) Raw(v []byte) {
	w.separate()
	if len(v) == 0 {
		w.B = append(w.B, "null"...)
		return
	}
	w.add(v)
}

// Member writes a member of the innermost object, its name and its value, as it is. It must come from where Raw's values come from.
func (w *Writer) Member(m []byte) {
	w.separate()
	w.add(m)
}

// Verbatim writes bytes as they are, without a comma.
func (w *Writer) Verbatim(v []byte) { w.add(v) }

// Literal is Raw for a Go string: a constant, or a value such as a number that is kept as it was written.
func (w *Writer) Literal(v string) {
	w.separate()
	if v == "" {
		v = "null"
	}
	w.B = append(w.B, v...)
}

// Int writes an integer.
func (w *Writer) Int(n int64) {
	w.separate()
	w.B = strconv.AppendInt(w.B, n, 10)
}

// Bool writes true or false.
func (w *Writer) Bool(v bool) {
	w.separate()
	w.B = strconv.AppendBool(w.B, v)
}

// Null writes null.
func (w *Writer) Null() { w.Literal("null") }
