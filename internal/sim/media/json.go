package media

import (
	"strconv"

	"weir/internal/sim/kit"
)

// Verbatim is finished JSON.
type Verbatim []byte

// JSONOf writes an object of names and values in turn.
func JSONOf(pairs ...any) Verbatim {
	dst := Verbatim{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(kit.AppendText(dst, pairs[i].(string)), ':')
		dst = AppendAny(dst, pairs[i+1])
	}
	return append(dst, '}')
}

// AppendAny writes a value of one of the kinds that answers are made of.
func AppendAny(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case Verbatim:
		return append(dst, v...)
	case string:
		return kit.AppendText(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	case []any:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendAny(dst, v[i])
		}
		return append(dst, ']')
	}
	panic("sim: an answer has no such value")
}
