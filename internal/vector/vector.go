// Package vector holds the numbers of an embedding in the form in which they arrived, so that they can be passed on as bytes, and converts
// them where another form is wanted. It must not know who sent them or in which document they are.
package vector

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// Vector is a list of finite 32-bit floats: JSON text, base64 text, or values. The zero Vector is empty. Text is a view: it is valid as
// long as the bytes that it was read from.
type Vector struct {
	form   form
	n      int
	text   []byte    // of numbers with its brackets, of packed without quotes
	values []float32 // of values
}

type form uint8

const (
	values  form = iota
	numbers      // an array of JSON numbers
	packed       // canonical base64 of little-endian 32-bit floats
)

var (
	errNumbers = errors.New("a vector is not an array of finite numbers")
	errPacked  = errors.New("a vector is not the base64 of finite 32-bit floats")
)

// Of is a vector of finite values, which it keeps.
func Of(v []float32) Vector { return Vector{form: values, n: len(v), values: v} }

// Len is how many numbers the vector has.
func (v *Vector) Len() int { return v.n }

// Packed reports whether the vector arrived as base64.
func (v *Vector) Packed() bool { return v.form == packed }

// Numbers checks a JSON array of numbers, all of it, and keeps a view of it. Every number must be finite as a 32-bit float. The array must
// have one.
func Numbers(text []byte) (Vector, error) {
	if len(text) < 3 || text[0] != '[' || text[len(text)-1] != ']' {
		return Vector{}, errNumbers
	}
	list := bytes.TrimRight(text[1:len(text)-1], " \t\r\n")
	if !plainList(list) && !anyList(list) {
		return Vector{}, errNumbers
	}
	v := Vector{form: numbers, n: bytes.Count(list, comma) + 1, text: text}
	if len(text) > wordy*v.n {
		return Of(v.Values()), nil
	}
	return v, nil
}

var comma = []byte{','}

// wordy is the length of a number, with its comma and white space, above which a provider's text is not worth passing on.
const wordy = 40

// anyList checks what plainList does not recognize.
func anyList(b []byte) bool {
	for {
		item, rest, more := bytes.Cut(b, comma)
		item = bytes.Trim(item, " \t\r\n")
		if !isNumber(item) {
			return false
		}
		if _, err := strconv.ParseFloat(string(item), 32); err != nil {
			return false
		}
		if !more {
			return true
		}
		b = rest
	}
}

// isNumber reports whether b is one JSON number (RFC 8259, section 6).
func isNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte{'-'})
	whole := digits(b)
	if whole == 0 || whole > 1 && b[0] == '0' {
		return false
	}
	b = b[whole:]
	if len(b) > 0 && b[0] == '.' {
		n := digits(b[1:])
		if n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && b[0]|0x20 == 'e' {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		n := digits(b)
		return n > 0 && n == len(b)
	}
	return len(b) == 0
}

// digits is how many digits b begins with.
func digits(b []byte) (n int) {
	for n < len(b) && b[n]-'0' <= 9 {
		n++
	}
	return n
}

// Base64 checks the base64 of 32-bit floats in little-endian order, with or without padding, and keeps a view of it where it is canonical.
// There must be one, and all must be finite.
func Base64(text []byte) (Vector, error) {
	v := Vector{form: packed, n: base64.RawStdEncoding.DecodedLen(len(bytes.TrimRight(text, "="))) / 4, text: text}
	if v.canonical() {
		return v, nil
	}
	text = bytes.TrimRight(text, "=")
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := base64.RawStdEncoding.Decode(raw, text)
	if err != nil || n == 0 || n%4 != 0 || !finite(raw[:n]) {
		return Vector{}, errPacked
	}
	out := make([]float32, n/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return Of(out), nil
}

var strict = base64.StdEncoding.Strict()

// canonical reports whether the text is what an encoder makes of n finite numbers.
func (v *Vector) canonical() bool {
	if v.n == 0 || len(v.text) != packedLen(v.n) {
		return false
	}
	var raw [chunkBytes]byte
	for text, left := v.text, 4*v.n; left > 0; {
		piece := text[:min(len(text), chunkText)]
		n, err := strict.Decode(raw[:], piece)
		if err != nil || n != min(left, chunkBytes) || !finite(raw[:n]) { // a line break is skipped, and shortens the result
			return false
		}
		text, left = text[len(piece):], left-n
	}
	return true
}

// finite reports whether no float has the exponent of infinities and NaN.
func finite(raw []byte) bool {
	const exponent = 0x7f800000
	for ; len(raw) >= 4; raw = raw[4:] {
		if binary.LittleEndian.Uint32(raw)&exponent == exponent {
			return false
		}
	}
	return true
}

// Room is how many bytes AppendBase64, or else AppendNumbers, appends at most.
func (v *Vector) Room(base64 bool) int {
	const longest = len("-1.17549435e-38,") // nine digits identify any
	switch {
	case base64:
		return packedLen(v.n) + len(`""`)
	case v.form == numbers:
		return len(v.text)
	}
	return longest*v.n + len("[")
}

// packedLen is the length of the base64 of n numbers.
func packedLen(n int) int { return base64.StdEncoding.EncodedLen(4 * n) }

// AppendNumbers appends a JSON array: the text that arrived, or each number in the fewest digits that identify it as a 32-bit float.
func (v *Vector) AppendNumbers(b []byte) []byte {
	if v.form == numbers {
		return append(b, v.text...)
	}
	b = append(b, '[')
	r := reader{v: v}
	var buf [chunk]float32
	for list := r.next(&buf); len(list) > 0; list = r.next(&buf) {
		for _, x := range list {
			b = append(strconv.AppendFloat(b, float64(x), 'g', -1, 32), ',')
		}
	}
	b[len(b)-1] = ']' // over the last comma: no vector is empty
	return b
}

// AppendBase64 appends a JSON string: the base64 of the numbers as 32-bit floats in little-endian order.
func (v *Vector) AppendBase64(b []byte) []byte {
	b = append(b, '"')
	if v.form == packed {
		return append(append(b, v.text...), '"')
	}
	r := reader{v: v}
	var buf [chunk]float32
	var raw [chunkBytes]byte
	for list := r.next(&buf); len(list) > 0; list = r.next(&buf) {
		for i, x := range list {
			binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
		}
		b = base64.StdEncoding.AppendEncode(b, raw[:4*len(list)])
	}
	return append(b, '"')
}

// Values are the numbers. They are a copy, unless the vector is made of values.
func (v *Vector) Values() []float32 {
	if v.form == values {
		return v.values
	}
	out := make([]float32, 0, v.n)
	r := reader{v: v}
	var buf [chunk]float32
	for list := r.next(&buf); len(list) > 0; list = r.next(&buf) {
		out = append(out, list...)
	}
	return out
}

// Sizes of the pieces that a conversion works in. The bytes of one are a multiple of three: base64 of pieces joins without padding.
const (
	chunk      = 192
	chunkBytes = 4 * chunk
	chunkText  = chunkBytes / 3 * 4
)

// reader reads the numbers of a vector, which is checked.
type reader struct {
	v  *Vector
	at int // index into text or values
}

// next returns further numbers, none after the last. They are valid until it is called again.
func (r *reader) next(buf *[chunk]float32) []float32 {
	switch r.v.form {
	case numbers:
		return r.parsed(buf)
	case packed:
		var raw [chunkBytes]byte
		piece := r.v.text[r.at:min(len(r.v.text), r.at+chunkText)]
		r.at += len(piece)
		n, _ := base64.StdEncoding.Decode(raw[:], piece)
		for i := range n / 4 {
			buf[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return buf[:n/4]
	}
	list := r.v.values[r.at:min(len(r.v.values), r.at+chunk)]
	r.at += len(list)
	return list
}

// parsed reads numbers from text.
func (r *reader) parsed(buf *[chunk]float32) []float32 {
	b := r.v.text
	for n := range buf {
		for r.at < len(b) && !begins[b[r.at]] {
			r.at++
		}
		if r.at == len(b) {
			return buf[:n]
		}
		var size int
		buf[n], size = parse(b[r.at:])
		r.at += size
	}
	return buf[:]
}

// begins has the bytes that a number begins with.
var begins = [256]bool{'-': true, '0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true}
