package h1

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"weir/internal/http1"
)

// framing are the header fields that control where a message ends and what happens to its connection. Only the Exchange sets them.
var framing = map[string]bool{"Host": true, "Connection": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Upgrade": true, "Te": true,
	"Expect": true, "Keep-Alive": true, "Proxy-Connection": true}

// AppendFields appends the header of a Request: the host first, then the fields of header in alphabetical order, without those for
// framing. It fails where a field cannot be sent.
func AppendFields(dst []byte, host string, header http.Header) ([]byte, error) {
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
		return nil, fmt.Errorf("h1: the host cannot be sent")
	}
	dst = append(append(append(dst, "Host: "...), host...), lineEnd...)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if framing[http.CanonicalHeaderKey(name)] {
			continue
		}
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 || !http1.IsToken(byte(r)) }) {
			return nil, fmt.Errorf("h1: a header field's name cannot be sent")
		}
		for _, value := range header[name] {
			if !http1.IsText([]byte(value)) {
				return nil, fmt.Errorf("h1: the header field %s cannot be sent", name)
			}
			dst = append(append(append(append(dst, name...), ": "...), value...), lineEnd...)
		}
	}
	return dst, nil
}
