package vector

// plainList checks numbers as nearly all servers write them: separated by commas, with white space only before a number, at most two digits
// before the point, and no exponent that is positive. It reports false for any other list, right or wrong.
//
// One table look-up and one shift per byte decide: a row has, for each state, the state that its byte leads to. As there is no branch,
// digits that no predictor can guess cost nothing.
func plainList(b []byte) bool {
	s := uint64(start)
	for len(b) >= 8 {
		p := (*[8]byte)(b)
		s = rows[p[0]] >> (s & 63)
		s = rows[p[1]] >> (s & 63)
		s = rows[p[2]] >> (s & 63)
		s = rows[p[3]] >> (s & 63)
		s = rows[p[4]] >> (s & 63)
		s = rows[p[5]] >> (s & 63)
		s = rows[p[6]] >> (s & 63)
		s = rows[p[7]] >> (s & 63)
		b = b[8:]
	}
	for _, c := range b {
		s = rows[c] >> (s & 63)
	}
	switch s & 63 {
	case one, whole, fraction, power:
		return true
	}
	return false
}

// The states, as how far a row is shifted for each.
const (
	start    = 6 * iota // before a number
	minus               // after its sign
	one                 // after a first digit other than zero
	whole               // after all digits that there may be before the point
	point               // after the point
	fraction            // after a digit behind the point
	e                   // after the e
	less                // after the sign of the exponent
	power               // after a digit of the exponent
	wrong
)

var rows = func() (rows [256]uint64) {
	for c := range rows {
		for s := uint64(start); s <= wrong; s += 6 {
			rows[c] |= after(s, byte(c)) << s
		}
	}
	return rows
}()

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
