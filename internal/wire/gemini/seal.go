package gemini

import (
	"encoding/base64"
	"strings"

	"weir/internal/completion"
	"weir/internal/wire/pack"
)

// sealedPrefix is how signatures begin that this style makes: "weir.1" as base64, the form that clients require of a signature.
const sealedPrefix = "d2Vpci4x"

// seal packs the reasoning before a part into the part's signature: clients send signatures back, and many leave out what was thought.
func seal(list []completion.ReasoningDetail) string {
	var b strings.Builder
	for i := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pack.Pack(&list[i]))
	}
	return base64.StdEncoding.EncodeToString([]byte(b.String()))
}

// unseal reads what seal made; ok is false for any other signature.
func unseal(s string) (list []completion.ReasoningDetail, ok bool) {
	if !strings.HasPrefix(s, sealedPrefix) {
		return nil, false
	}
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	text, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, false
	}
	for one := range strings.SplitSeq(string(text), ",") {
		t, ok := pack.Unpack(one)
		if !ok {
			return nil, false
		}
		list = append(list, t)
	}
	return list, true
}
