package vector

import "encoding/binary"

// plainList checks numbers as nearly all servers write them: separated by commas, with white space only before a number, at most two digits
// before the point, and no exponent that is positive. It reports false for any other list, right or wrong.
//
// One table look-up and one shift decide for two bytes: a row has, for each state, the state that its bytes lead to. As there is no branch,
// digits that no predictor can guess cost nothing. Of the table only the rows of bytes that numbers have are ever in memory.
func plainList(b []byte) bool {
	s := uint64(start)
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		s = pairs[uint16(w)] >> (s & 63)
		s = pairs[uint16(w>>16)] >> (s & 63)
		s = pairs[uint16(w>>32)] >> (s & 63)
		s = pairs[uint16(w>>48)] >> (s & 63)
		b = b[8:]
	}
	last := s & 63
	for _, c := range b {
		last = after(last, c)
	}
	switch last {
	case one, whole, fraction, power:
		return true
	}
	return false
}

// The states, as how far a row is shifted for each. A row of zeros leads to wrong from everywhere, and so does wrong in any row.
const (
	wrong    = 6 * iota
	start    // before a number
	minus    // after its sign
	one      // after a first digit other than zero
	whole    // after all digits that there may be before the point
	point    // after the point
	fraction // after a digit behind the point
	e        // after the e
	less     // after the sign of the exponent
	power    // after a digit of the exponent
	states   = iota
)

// pairs has a row for each two bytes, the first in the low bits.
var pairs [1 << 16]uint64

func init() {
	const known = "0123456789-.,eE \t\r\n"
	for _, c := range []byte(known) {
		for _, d := range []byte(known) {
			for s := uint64(start); s < 6*states; s += 6 {
				pairs[uint16(c)|uint16(d)<<8] |= after(after(s, c), d) << s
			}
		}
	}
}

// after is the state that a byte leads to.
func after(s uint64, c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		switch s {
		case start, minus:
			if c == '0' {
				return whole
			}
			return one
		case one:
			return whole
		case point, fraction:
			return fraction
		case less, power:
			return power
		}
	case c == ',' && (s == one || s == whole || s == fraction || s == power):
		return start
	case c == '-' && s == start:
		return minus
	case c == '-' && s == e:
		return less
	case c == '.' && (s == one || s == whole):
		return point
	case c|0x20 == 'e' && (s == one || s == whole || s == fraction):
		return e
	case (c == ' ' || c == '\n' || c == '\t' || c == '\r') && s == start:
		return start
	}
	return wrong
}
