package vector

import (
	"math"
	"strconv"
)

// parse reads the JSON number that b begins with, and how long it is. What b has there is checked: it is a finite 32-bit float.
func parse(b []byte) (x float32, size int) {
	i, m, places := 0, uint64(0), 0
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		i++
	}
	from := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		m = m*10 + uint64(b[i]-'0')
	}
	count := i - from
	if i < len(b) && b[i] == '.' {
		i++
		from = i
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			m = m*10 + uint64(b[i]-'0')
		}
		places = i - from
		count += places
	}
	if i < len(b) && b[i]|0x20 == 'e' || count > maxDigits || places >= len(powers) {
		return parseAny(b)
	}
	// Both are exact, so that the quotient is the number to half a unit of 64 bits. Rounded again it is right, unless it is in the middle
	// between two 32-bit floats, or below the normal ones.
	f := float64(m) / powers[places]
	bits := math.Float64bits(f)
	if m > maxExact || bits&(1<<29-1) == 1<<28 || f < leastNormal && m != 0 {
		return parseAny(b)
	}
	if negative {
		f = -f
	}
	return float32(f), i
}

const (
	maxDigits   = 19       // that surely fit into 64 bits
	maxExact    = 1 << 53  // integers up to it are 64-bit floats
	leastNormal = 0x1p-126 // of 32-bit floats
)

// powers of ten that are 64-bit floats.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseAny reads any number.
func parseAny(b []byte) (x float32, size int) {
	for size < len(b) && (begins[b[size]] || b[size] == '.' || b[size]|0x20 == 'e' || b[size] == '+') {
		size++
	}
	f, _ := strconv.ParseFloat(string(b[:size]), 32)
	return float32(f), size
}
