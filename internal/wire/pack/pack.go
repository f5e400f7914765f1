// Package pack encodes reasoning as one opaque string, for wires with a field for one string, and decodes it. Clients send the string
// back on any wire. It must not depend on a wire.
package pack

import (
	"encoding/base64"
	"strings"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// packed begins reasoning that was packed into the one opaque string that a client's wire has room for.
const packed = "weir.1."

// Pack encodes a piece of reasoning as one opaque string, which Unpack decodes. It hides nothing and proves nothing: the provider whose
// reasoning it is signs what must not be altered.
func Pack(t *completion.ReasoningDetail) string {
	kind := [...]string{completion.ReasoningText: "text", completion.ReasoningSummary: "summary", completion.ReasoningEncrypted: "encrypted"}[t.Kind]
	b := append(make([]byte, 0, 128+len(t.Text)+len(t.Signature)+len(t.Data)), `{"kind":"`...)
	b = append(append(b, kind...), '"')
	for _, m := range [...]struct{ name, value string }{{"format", t.Format}, {"id", t.ID}, {"text", t.Text}, {"signature", t.Signature}, {"data", t.Data}, {"origin", t.Origin}} {
		if m.value != "" {
			b = rawjson.AppendText(append(append(append(b, `,"`...), m.name...), `":`...), m.value)
		}
	}
	return packed + base64.RawURLEncoding.EncodeToString(append(b, '}'))
}

// Unpack reads what Pack made; ok is false for any other string.
func Unpack(s string) (t completion.ReasoningDetail, ok bool) {
	rest, ours := strings.CutPrefix(s, packed)
	if !ours {
		return t, false
	}
	b, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || !rawjson.Valid(b) || rawjson.KindOf(b) != rawjson.Object {
		return t, false
	}
	switch rawjson.TextAt(b, "kind") {
	case "text":
	case "summary":
		t.Kind = completion.ReasoningSummary
	case "encrypted":
		t.Kind = completion.ReasoningEncrypted
	default:
		return t, false
	}
	t.Format, t.ID, t.Text, t.Signature, t.Data = rawjson.TextAt(b, "format"), rawjson.TextAt(b, "id"), rawjson.TextAt(b, "text"), rawjson.TextAt(b, "signature"), rawjson.TextAt(b, "data")
	t.Origin = rawjson.TextAt(b, "origin")
	return t, true
}
