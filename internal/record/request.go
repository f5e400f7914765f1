package record

import (
	"strings"
	"time"
)

const (
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	requestMark = "req_"
	secondSize  = 6 // digits of base 62: enough until the year 3769
)

// AppendRequest begins the id of a request with the second in which it came, so that its call is found without an index of these ids.
func AppendRequest(b []byte, at time.Time) []byte {
	var digits [secondSize]byte
	n := max(at.Unix(), 0)
	for i := range digits {
		digits[secondSize-1-i] = base62[n%62]
		n /= 62
	}
	return append(append(b, requestMark...), digits[:]...)
}

// RequestSecond is the second in which a request came, by its id; false for other text.
func RequestSecond(id string) (time.Time, bool) {
	rest, ok := strings.CutPrefix(id, requestMark)
	if !ok || len(rest) < secondSize {
		return time.Time{}, false
	}
	n := int64(0)
	for _, c := range []byte(rest[:secondSize]) {
		d := strings.IndexByte(base62, c)
		if d < 0 {
			return time.Time{}, false
		}
		n = 62*n + int64(d)
	}
	return time.Unix(n, 0).UTC(), true
}
