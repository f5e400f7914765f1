package wire

import (
	"bytes"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// MediaFrom reads an address from a JSON string: a data URL becomes its bytes and type, anything else stays an address. Data that is not
// base64 stays an address too, for the provider to check.
func MediaFrom(raw []byte) *completion.Media {
	text, _ := rawjson.Unquote(raw)
	if len(text) < 5 || !bytes.EqualFold(text[:5], []byte("data:")) {
		return &completion.Media{URL: string(text)}
	}
	head, data, ok := bytes.Cut(text[5:], []byte(","))
	kind, encoding, _ := bytes.Cut(head, []byte(";"))
	for bytes.IndexByte(encoding, ';') >= 0 { // parameters of the type, such as a character set
		_, encoding, _ = bytes.Cut(encoding, []byte(";"))
	}
	if !ok || !bytes.EqualFold(encoding, []byte("base64")) {
		return &completion.Media{URL: string(text)}
	}
	return &completion.Media{Type: string(bytes.ToLower(kind)), Base64: data}
}
