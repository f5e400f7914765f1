package embed

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"weir/internal/rawjson"
)

var errVector = errors.New("a vector is neither numbers nor the base64 of them")

// Vector reads a vector from a JSON value: an array of numbers, or a string with the base64 of 32-bit floats in little-endian order. It
// is never empty.
func Vector(v []byte) ([]float32, error) {
	if rawjson.KindOf(v) == rawjson.String {
		text, ok := rawjson.Unquote(v)
		if !ok {
			return nil, errVector
		}
		return unpacked(text)
	}
	return numbers(v)
}

// unpacked decodes base64, with or without padding.
func unpacked(text []byte) ([]float32, error) {
	text = bytes.TrimRight(text, "=")
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := base64.RawStdEncoding.Decode(raw, text)
	if err != nil || n == 0 || n%4 != 0 {
		return nil, errVector
	}
	out := make([]float32, n/4)
	for i := range out {
		if out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])); !finite(out[i]) {
			return nil, errVector
		}
	}
	return out, nil
}

func numbers(v []byte) ([]float32, error) {
	out := make([]float32, 0, bytes.Count(v, []byte{','})+1)
	e := rawjson.ElementsOf(v)
	for e.Next() {
		if rawjson.KindOf(e.Value) != rawjson.Number {
			return nil, errVector
		}
		x, err := strconv.ParseFloat(string(e.Value), 32)
		if err != nil {
			return nil, errVector
		}
		out = append(out, float32(x))
	}
	if len(out) == 0 {
		return nil, errVector
	}
	return out, nil
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
