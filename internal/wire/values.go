package wire

import (
	"slices"

	"weir/internal/rawjson"
)

// Texts reads a string or an array of strings.
func Texts(v []byte) (list []string) {
	if rawjson.KindOf(v) == rawjson.String {
		return []string{rawjson.Text(v)}
	}
	for e := rawjson.ElementsOf(v); e.Next(); {
		list = append(list, rawjson.Text(e.Value))
	}
	return list
}

// Present is v, nil for null.
func Present(v []byte) []byte {
	if rawjson.IsNull(v) {
		return nil
	}
	return slices.Clip(v)
}

// Truth reads a boolean; nil when it is absent.
func Truth(v []byte) *bool {
	b, ok := rawjson.Bool(v)
	if !ok {
		return nil
	}
	return &b
}
