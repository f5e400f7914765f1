package httpapi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"weir/internal/money"
	"weir/internal/rawjson"
)

// object builds JSON by appending. Commas take care of themselves.
type object struct{ b []byte }

func (o *object) comma() {
	if n := len(o.b); n > 0 {
		switch o.b[n-1] {
		case '{', '[', ':':
		default:
			o.b = append(o.b, ',')
		}
	}
}

func (o *object) open()  { o.comma(); o.b = append(o.b, '{') }
func (o *object) close() { o.b = append(o.b, '}') }

func (o *object) name(name string) {
	o.comma()
	o.b = appendString(o.b, name)
	o.b = append(o.b, ':')
}

func (o *object) array(name string) { o.name(name); o.b = append(o.b, '[') }
func (o *object) end()              { o.b = append(o.b, ']') }

func (o *object) text(name, value string) {
	o.name(name)
	o.b = appendString(o.b, value)
}

// textOrNull writes null for "".
func (o *object) textOrNull(name, value string) {
	if value == "" {
		o.null(name)
		return
	}
	o.text(name, value)
}

func (o *object) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

// raw writes JSON as it is, null for "".
func (o *object) raw(name, value string) {
	if value == "" {
		o.null(name)
		return
	}
	o.name(name)
	o.b = append(o.b, value...)
}

func (o *object) integer(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) boolean(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

// amount writes rubles as a number with exact digits.
func (o *object) amount(name string, n money.Nano) {
	o.name(name)
	o.b = n.Append(o.b)
}

// amountText writes rubles as a string.
func (o *object) amountText(name string, n money.Nano) {
	o.name(name)
	o.b = append(n.Append(append(o.b, '"')), '"')
}

// moment writes a time as RFC 3339 UTC, null for the zero time.
func (o *object) moment(name string, t time.Time) {
	if t.IsZero() {
		o.null(name)
		return
	}
	o.name(name)
	o.b = append(o.b, '"')
	o.b = t.UTC().AppendFormat(o.b, time.RFC3339Nano)
	o.b = append(o.b, '"')
}

func (o *object) texts(name string, values []string) {
	o.array(name)
	for _, v := range values {
		o.comma()
		o.b = appendString(o.b, v)
	}
	o.end()
}

func (o *object) integers(name string, values []int) {
	o.array(name)
	for _, n := range values {
		o.comma()
		o.b = strconv.AppendInt(o.b, int64(n), 10)
	}
	o.end()
}

// price writes rubles as a string, "0" for what is not charged.
func (o *object) price(name string, p money.Price) {
	o.name(name)
	o.b = append(money.Nano(p.Nano).Append(append(o.b, '"')), '"')
}

// figure writes a measured number in few digits.
func (o *object) figure(name string, f float64) {
	o.name(name)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		o.b = append(o.b, "null"...)
		return
	}
	o.b = strconv.AppendFloat(o.b, math.Round(f*1000)/1000, 'f', -1, 64)
}

// any writes a value of a fault's details.
func (o *object) any(v any) {
	o.comma()
	switch v := v.(type) {
	case nil:
		o.b = append(o.b, "null"...)
	case string:
		o.b = appendString(o.b, v)
	case bool:
		o.b = strconv.AppendBool(o.b, v)
	case int:
		o.b = strconv.AppendInt(o.b, int64(v), 10)
	case int64:
		o.b = strconv.AppendInt(o.b, v, 10)
	case []string:
		o.b = append(o.b, '[')
		for _, s := range v {
			o.any(s)
		}
		o.end()
	case []any:
		o.b = append(o.b, '[')
		for _, inner := range v {
			o.any(inner)
		}
		o.end()
	case map[string]any:
		o.b = append(o.b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			o.name(name)
			o.any(v[name])
		}
		o.close()
	default: // amounts among them: decimal text
		o.b = appendString(o.b, fmt.Sprint(v))
	}
}

func appendString(b []byte, s string) []byte { return rawjson.AppendText(b, s) }
