package wire

import (
	"slices"

	"weir/internal/rawjson"
)

// TextAt is the text of the member of that name, "" when it is absent or no string.
func TextAt(v []byte, name string) string {
	if found := rawjson.Find(v, name); rawjson.KindOf(found) == rawjson.String {
		return rawjson.Text(found)
	}
	return ""
}

// Texts reads a string or an array of them.
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

// Truth is a boolean that may be absent.
func Truth(v []byte) *bool {
	b, ok := rawjson.Bool(v)
	if !ok {
		return nil
	}
	return &b
}
