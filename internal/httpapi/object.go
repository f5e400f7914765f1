package httpapi

import (
	"math"
	"strconv"
	"time"

	"weir/internal/money"
	"weir/internal/rawjson"
)

// object writes the JSON of our own answers. Its methods write a member each: a name and a value.
type object struct{ rawjson.Writer }

// newObject has room for so many bytes.
func newObject(room int) object { return object{rawjson.Writer{B: make([]byte, 0, room)}} }

func (o *object) text(name, value string)          { o.Name(name).Text(value) }
func (o *object) integer(name string, n int64)     { o.Name(name).Int(n) }
func (o *object) boolean(name string, value bool)  { o.Name(name).Bool(value) }
func (o *object) null(name string)                 { o.Name(name).Null() }
func (o *object) price(name string, p money.Price) { o.amountText(name, money.Nano(p.Nano)) }

// raw writes JSON as it is, null for "".
func (o *object) raw(name, value string) { o.Name(name).Literal(value) }

// textOrNull writes null for "".
func (o *object) textOrNull(name, value string) {
	if value == "" {
		o.null(name)
		return
	}
	o.text(name, value)
}

// amount writes rubles as a number with exact digits.
func (o *object) amount(name string, n money.Nano) { o.Name(name); o.B = n.Append(o.B) }

// amountText writes rubles as a string.
func (o *object) amountText(name string, n money.Nano) {
	o.Name(name)
	o.B = append(n.Append(append(o.B, '"')), '"')
}

// moment writes a time as RFC 3339 UTC, null for the zero time.
func (o *object) moment(name string, t time.Time) {
	if t.IsZero() {
		o.null(name)
		return
	}
	o.Name(name)
	o.B = append(t.UTC().AppendFormat(append(o.B, '"'), time.RFC3339Nano), '"')
}

func (o *object) texts(name string, values []string) { o.Name(name).Texts(values) }

func (o *object) integers(name string, values []int) { o.Name(name).Ints(values) }

// figure writes a measured number in few digits.
func (o *object) figure(name string, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		o.null(name)
		return
	}
	o.Name(name)
	o.number(math.Round(f*1000) / 1000)
}

// number writes a measured number as an element or after a name.
func (o *object) number(f float64) { o.Literal(strconv.FormatFloat(f, 'f', -1, 64)) }
