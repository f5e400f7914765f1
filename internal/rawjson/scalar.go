package rawjson

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Unquote is the text of the string v, quotes included, nothing around it. The result is a view into v unless v has escapes.
// It returns false when v is no valid string.
func Unquote(v []byte) ([]byte, bool) {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return nil, false
	}
	if text := v[1 : len(v)-1]; bytes.IndexByte(text, '\\') < 0 {
		return text, bytes.IndexByte(text, '"') < 0
	}
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(v)), v)
	return text, err == nil
}

// AppendUnquoted appends the text of the string v to dst. On a v that is no valid string it returns false and dst as it was.
func AppendUnquoted(dst, v []byte) ([]byte, bool) {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' && bytes.IndexByte(v, '\\') < 0 {
		return append(dst, v[1:len(v)-1]...), true
	}
	out, err := jsontext.AppendUnquote(dst, v)
	if err != nil {
		return dst, false
	}
	return out, true
}

// Text is the text of the string v as a Go string, "" when v is no string.
func Text(v []byte) string {
	text, _ := Unquote(v)
	return string(text)
}

// IsNumber reports whether v is exactly one JSON number.
func IsNumber(v []byte) bool {
	_, ok := splitNumber(v)
	return ok
}

// number is a JSON number in its parts.
type number struct {
	negative bool
	whole    []byte // digits before the point
	fraction []byte // digits after it
	exponent int    // clamped to maxExponent either way
}

// maxExponent is past anything that an int64 or a float64 distinguishes, whatever digits precede it
// in a body of the largest size.
const maxExponent = 1 << 30

func splitNumber(v []byte) (number, bool) {
	var n number
	i := 0
	if i < len(v) && v[i] == '-' {
		n.negative = true
		i++
	}
	start := i
	for i < len(v) && isDigit(v[i]) {
		i++
	}
	if n.whole = v[start:i]; len(n.whole) == 0 || len(n.whole) > 1 && n.whole[0] == '0' {
		return n, false
	}
	if i < len(v) && v[i] == '.' {
		i++
		start = i
		for i < len(v) && isDigit(v[i]) {
			i++
		}
		if n.fraction = v[start:i]; len(n.fraction) == 0 {
			return n, false
		}
	}
	if i < len(v) && v[i]|0x20 == 'e' {
		i++
		negative := false
		if i < len(v) && (v[i] == '+' || v[i] == '-') {
			negative = v[i] == '-'
			i++
		}
		start = i
		for i < len(v) && isDigit(v[i]) {
			n.exponent = min(n.exponent*10+int(v[i]-'0'), maxExponent)
			i++
		}
		if i == start {
			return n, false
		}
		if negative {
			n.exponent = -n.exponent
		}
	}
	return n, i == len(v)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Int is the number v as an int64. Any spelling of an integer is taken (1, 1.0, 1e2, 100e-2); it returns false for fractions,
// for what does not fit, and for anything that is no number.
func Int(v []byte) (int64, bool) {
	n, ok := splitNumber(v)
	if !ok {
		return 0, false
	}
	// the value is the digits whole+fraction with the point after the first `point` of them
	point := len(n.whole) + n.exponent
	var acc uint64
	digits := len(n.whole) + len(n.fraction)
	for i := range digits {
		d := digitAt(&n, i)
		if i >= point {
			if d != 0 {
				return 0, false
			}
			continue
		}
		if acc > (math.MaxUint64-9)/10 {
			return 0, false
		}
		acc = acc*10 + uint64(d)
	}
	for i := digits; i < point && acc != 0; i++ {
		if acc > math.MaxInt64/10+1 {
			return 0, false
		}
		acc *= 10
	}
	if n.negative {
		if acc > 1<<63 {
			return 0, false
		}
		return -int64(acc), true
	}
	if acc > math.MaxInt64 {
		return 0, false
	}
	return int64(acc), true
}

func digitAt(n *number, i int) byte {
	if i < len(n.whole) {
		return n.whole[i] - '0'
	}
	return n.fraction[i-len(n.whole)] - '0'
}

// Float is the number v as the nearest float64. It returns false for what is no number and for what would be infinite.
// Never use it for money.
func Float(v []byte) (float64, bool) {
	if !IsNumber(v) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// Bool is the value of true or false; ok is false for anything else.
func Bool(v []byte) (value, ok bool) {
	switch string(v) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// IsNull reports whether v is nil (an absent member) or the literal null.
func IsNull(v []byte) bool { return v == nil || string(v) == "null" }

// TextAt is the text of the member of that name in the object v, "" when it is absent or no string.
func TextAt(v []byte, name string) string { return Text(Find(v, name)) }
