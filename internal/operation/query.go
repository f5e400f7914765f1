package operation

import (
	"net/url"
	"reflect"
	"strconv"
	"time"

	"weir/internal/fault"
)

// read fills v from a parameter of the query. "" is as good as no parameter, and leaves v as it is.
func (q *parameter) read(v reflect.Value, values url.Values) error {
	text := values.Get(q.name)
	if text == "" {
		return nil
	}
	switch {
	case v.Type() == timeType:
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return fault.Field(op, q.name, "%s must be a time in RFC 3339, such as 2026-01-31T12:00:00Z.", q.name).Coded("time")
		}
		v.Set(reflect.ValueOf(t))
	case v.Kind() == reflect.Bool:
		switch text {
		case "true", "1":
			v.SetBool(true)
		case "false", "0":
		default:
			return fault.Field(op, q.name, "%s must be true or false.", q.name).Coded("true_or_false")
		}
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > q.most {
			return fault.Field(op, q.name, "%s must be a whole number from 1 to %d.", q.name, q.most).Coded("integer_range", "least", 1, "most", q.most)
		}
		v.SetInt(n)
	default:
		v.SetString(text)
	}
	return nil
}
