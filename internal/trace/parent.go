package trace

// Parent is the span that a request came from, as its traceparent header names it: W3C Trace Context, section 3.2.
type Parent struct {
	Trace   [16]byte // not zero
	Span    [8]byte  // not zero
	Sampled bool
}

const parentSize = 55 // "00-" + 32 hex digits + "-" + 16 hex digits + "-" + 2 hex digits

// Parse reads a traceparent header. Of a version later than 00 it reads what this version has.
func Parse(header string) (p Parent, ok bool) {
	if len(header) < parentSize || header[2] != '-' || header[35] != '-' || header[52] != '-' {
		return Parent{}, false
	}
	var version, flags [1]byte
	if !unhex(version[:], header[:2]) || version[0] == 0xff || !unhex(p.Trace[:], header[3:35]) || !unhex(p.Span[:], header[36:52]) || !unhex(flags[:], header[53:55]) {
		return Parent{}, false
	}
	if len(header) > parentSize && (version[0] == 0 || header[parentSize] != '-') {
		return Parent{}, false
	}
	if p.Trace == [16]byte{} || p.Span == [8]byte{} {
		return Parent{}, false
	}
	p.Sampled = flags[0]&1 != 0
	return p, true
}

// String is the header, in version 00.
func (p Parent) String() string {
	b := append(make([]byte, 0, parentSize), "00-"...)
	b = append(appendHex(b, p.Trace[:]), '-')
	b = append(appendHex(b, p.Span[:]), "-0"...)
	if p.Sampled {
		return string(append(b, '1'))
	}
	return string(append(b, '0'))
}

const digits = "0123456789abcdef"

func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// unhex reads lower-case hex digits, twice as many as dst has bytes.
func unhex(dst []byte, text string) bool {
	for i := range dst {
		high, low := digit(text[2*i]), digit(text[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		dst[i] = high<<4 | low
	}
	return true
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}
