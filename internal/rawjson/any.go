package rawjson

import (
	"fmt"
	"maps"
	"slices"
)

// Any writes a value whose type is only known as the program runs, such as the details of a fault. What has no form of its own in JSON, amounts among
// it, is a text.
func (w *Writer) Any(v any) {
	switch v := v.(type) {
	case nil:
		w.Null()
	case string:
		w.Text(v)
	case bool:
		w.Bool(v)
	case int:
		w.Int(int64(v))
	case int64:
		w.Int(v)
	case []string:
		w.Texts(v)
	case []any:
		w.Array()
		for _, inner := range v {
			w.Any(inner)
		}
		w.EndArray()
	case map[string]any:
		w.Object()
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.Name(name).Any(v[name])
		}
		w.EndObject()
	default:
		w.Text(fmt.Sprint(v))
	}
}
