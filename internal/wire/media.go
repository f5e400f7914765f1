package wire

import (
	"bytes"
	"encoding/base64"
	"strings"

	"weir/internal/completion"
	"weir/internal/encoded"
	"weir/internal/fault"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
)

// MediaFrom reads an address from a JSON string: a data URL becomes its bytes and type, anything else stays an address. What is wrong with a data URL
// becomes a fault in bad, unless there is one already; path is the member that has it.
func MediaFrom(bad **fault.Error, path string, raw []byte) *completion.Media {
	text, _ := rawjson.Unquote(raw)
	return mediaIn(bad, path, text)
}

func mediaIn(bad **fault.Error, path string, text []byte) *completion.Media {
	if !isData(text) {
		return &completion.Media{URL: string(text)}
	}
	head, data, ok := bytes.Cut(text[len(dataScheme):], []byte(","))
	kind, encoding, _ := bytes.Cut(head, []byte(";"))
	for bytes.IndexByte(encoding, ';') >= 0 { // parameters of the type, such as a character set
		_, encoding, _ = bytes.Cut(encoding, []byte(";"))
	}
	if !ok || !bytes.EqualFold(bytes.TrimSpace(encoding), []byte("base64")) {
		return badMedia(bad, path, "must be a data URL in base64, such as data:image/png;base64,...")
	}
	return mediaOf(bad, path, string(bytes.ToLower(bytes.TrimSpace(kind))), data)
}

// DataFrom reads base64 from a JSON string. Its faults are as MediaFrom's.
func DataFrom(bad **fault.Error, path, kind string, raw []byte) *completion.Media {
	text, _ := rawjson.Unquote(raw)
	if isData(text) {
		return badMedia(bad, path, "must be base64 alone: leave out the beginning of the data URL, up to its comma.")
	}
	return mediaOf(bad, path, kind, text)
}

// DataURL is an image that was given as base64, as an address for wires that have it so; "" when it is refused, for a reason that bad has then.
func DataURL(bad **fault.Error, path, kind string, raw []byte) string {
	return addressOf(DataFrom(bad, path, kind, raw))
}

// addressOf is the address of a medium: its own, or a data URL of what was checked.
func addressOf(m *completion.Media) string {
	if m.Base64.None() {
		return m.URL
	}
	return dataScheme + m.Type + ";base64," + string(m.Base64.Text())
}

const dataScheme = "data:"

func isData(text []byte) bool {
	return len(text) >= len(dataScheme) && bytes.EqualFold(text[:len(dataScheme)], []byte(dataScheme))
}

func mediaOf(bad **fault.Error, path, kind string, text []byte) *completion.Media {
	data, err := encoded.Parse(text)
	switch {
	case err != nil:
		return badMedia(bad, path, "is not base64: "+err.Error()+". Encode the bytes of the file as standard base64.")
	case kind != "" && !mediatype.Valid(kind):
		return badMedia(bad, path, "has no valid media type. It must be one such as image/png.")
	}
	if isImage(kind) { // image/jpg and other names that some providers refuse
		kind = mediatype.Registered(kind)
	}
	return &completion.Media{Type: typed(kind, data), Base64: data}
}

// typed is a declared type, or the one that the file shows where none is declared or an image is declared as another kind of image: providers
// refuse what does not agree.
func typed(kind string, data encoded.Base64) string {
	var head [mediatype.HeadBytes + 2]byte
	text := data.Text()
	n, _ := base64.StdEncoding.Decode(head[:], text[:min(len(text), len(head)/3*4)]) // it was checked
	found := mediatype.Found(head[:n])
	if found != "" && (mediatype.Generic(kind) || isImage(kind) && isImage(found)) {
		return found
	}
	return kind
}

func isImage(kind string) bool { return strings.HasPrefix(kind, "image/") }

// badMedia returns a medium without content, for callers that go on until they look at the fault.
func badMedia(bad **fault.Error, path, problem string) *completion.Media {
	if *bad == nil {
		*bad = fault.New(fault.InvalidPrompt, "wire.Media", path+" "+problem)
		(*bad).Param = path
	}
	return &completion.Media{}
}
