package wire

import (
	"unicode/utf8"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Limits of the field metadata (completions of the specification, section 2.1). Metadata is stored with the call, so its bytes are
// bounded as well: the limit leaves room for the longest names and values in any script.
const (
	maxPairs         = 16
	maxPairName      = 64  // characters
	maxPairValue     = 512 // characters
	MaxMetadataBytes = 40 << 10
)

// Metadata reads an object of strings and returns it in compact form, with the shortest escapes, or nil. A list under the name tags is left out: see Tags.
func (r *Reader) Metadata() []byte {
	if !r.Object() {
		return nil
	}
	out := []byte{'{'}
	n := 0
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		if n++; n > maxPairs {
			r.FailAt(fault.Invalid, "metadata", "metadata has more than %d entries.", maxPairs)
			return nil
		}
		if utf8.RuneCount(name) > maxPairName {
			r.FailAt(fault.StringTooLong, "metadata", "A name in metadata is longer than %d characters.", maxPairName)
			return nil
		}
		if string(name) == "tags" && r.Kind() == rawjson.Array {
			n--
			r.Skip()
			continue
		}
		value, ok := r.Text(maxPairValue)
		if !ok {
			r.Required()
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(append(rawjson.AppendString(out, name), ':'), value)
	}
	if out = append(out, '}'); len(out) > MaxMetadataBytes {
		r.FailAt(fault.StringTooLong, "metadata", "metadata has more than %d bytes. Send shorter or fewer values.", MaxMetadataBytes)
		return nil
	}
	return out
}
