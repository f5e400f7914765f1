package embed

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"strconv"

	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/vector"
)

// Document is a provider's answer, read once. JSON has everything of it except its vectors: each is replaced by an array of one number, by
// which Vector finds it. JSON is checked; it is as short as an answer without vectors.
type Document struct {
	JSON    []byte
	vectors []vector.Vector
}

// Get sends one request and reads its answer, which must be a JSON object. An object that reports an error although its status is 2xx becomes
// the fault that the dialect makes of it. inputs is how many vectors are expected. The vectors are views of memory that serves other calls
// when this one has ended.
func Get(ask dialect.Ask, call dialect.Call, inputs int) (Document, error) {
	answer, err := ask.Do(call)
	if err != nil {
		return Document{}, err
	}
	defer answer.Close()
	body, err := answer.ReadLent()
	if err != nil {
		return Document{}, err
	}
	d, err := Read(body, inputs)
	if err != nil {
		return Document{}, dialect.Broken(ask.Endpoint(), err)
	}
	answer.Holds(cap(d.JSON))
	if !rawjson.IsNull(rawjson.Find(d.JSON, "error")) {
		return Document{}, ask.Failure(http.StatusOK, http.Header{}, body)
	}
	return d, nil
}

var (
	errNotJSON   = errors.New("the answer is not a JSON object")
	errManyLists = errors.New("the answer has far more lists of numbers than there are inputs")
	errVector    = errors.New("a vector is neither numbers nor the base64 of them")
)

const (
	moreLists  = 64      // of numbers that are no vectors
	longString = 1 << 10 // a shorter one is read by Vector, if it is a vector
)

// Read takes the vectors out of a body, of which inputs are expected. Each of its bytes is looked at once: what is not a vector is checked when they are out.
func Read(body []byte, inputs int) (Document, error) {
	d := Document{JSON: make([]byte, 0, min(len(body), 512+128*inputs)), vectors: make([]vector.Vector, 0, inputs)}
	for i, from := 0, 0; ; {
		at, end := nextList(body, i)
		if end < 0 {
			return d, errNotJSON
		}
		if at == end {
			d.JSON = append(d.JSON, body[from:]...)
			break
		}
		if i = end; body[at] == '[' {
			v, err := vector.Numbers(body[at:end])
			if err != nil {
				return d, err
			}
			d.take(body[from:at], v)
			from = end
		} else if v, ok := packed(body[at:end]); ok {
			d.take(body[from:at], v)
			from = end
		}
		if len(d.vectors) > inputs+moreLists {
			return d, errManyLists
		}
	}
	if !rawjson.Valid(d.JSON) || rawjson.KindOf(d.JSON) != rawjson.Object {
		return d, errNotJSON
	}
	return d, nil
}

// nextList finds the next array of numbers, or string that is long, from i on. It is empty when there is none, and end negative when b is
// no JSON.
func nextList(b []byte, i int) (at, end int) {
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := rawjson.StringEnd(b, i)
			if end < 0 || end-i > longString {
				return i, end
			}
			i = end - 1
		case '[':
			if rawjson.KindOf(b[i+1:]) != rawjson.Number {
				continue
			}
			n := bytes.IndexByte(b[i:], ']')
			if n < 0 {
				return i, -1
			}
			return i, i + n + 1
		}
	}
	return len(b), len(b)
}

// take moves what is before a vector, and its number in place of it.
func (d *Document) take(before []byte, v vector.Vector) {
	d.JSON = strconv.AppendInt(append(append(d.JSON, before...), '['), int64(len(d.vectors)), 10)
	d.JSON = append(d.JSON, ']')
	d.vectors = append(d.vectors, v)
}

// packed reads a string as a vector.
func packed(text []byte) (vector.Vector, bool) {
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		var ok bool
		if inner, ok = rawjson.Unquote(text); !ok {
			return vector.Vector{}, false
		}
	} else if bytes.ContainsAny(inner, "\r\n") { // base64 may have them, JSON may not
		return vector.Vector{}, false
	}
	v, err := vector.Base64(inner)
	return v, err == nil
}

// Vector is the vector of a value of JSON: an array of numbers, or a string with the base64 of 32-bit floats in little-endian order. It is
// never empty.
func (d *Document) Vector(value []byte) (vector.Vector, error) {
	switch rawjson.KindOf(value) {
	case rawjson.String:
		if v, ok := packed(value); ok {
			return v, nil
		}
	case rawjson.Array:
		e := rawjson.ElementsOf(value)
		if e.Next() && rawjson.KindOf(e.Value) == rawjson.Number {
			if i, ok := rawjson.Int(e.Value); ok && i >= 0 && i < int64(len(d.vectors)) {
				return d.vectors[i], nil
			}
		}
	}
	return vector.Vector{}, errVector
}

// Indexed reads a list of {"index": 0, "embedding": ...}, in which the vectors may be in any order; without an index they are in order. each,
// which may be nil, gets every element.
func (d *Document) Indexed(list []byte, inputs int, each func(element []byte)) ([]vector.Vector, error) {
	order, err := places(list, inputs)
	if err != nil || len(order) == 0 {
		return nil, err
	}
	out := make([]vector.Vector, inputs)
	e := rawjson.ElementsOf(list)
	for i := 0; e.Next(); i++ {
		if out[order[i]], err = d.Vector(rawjson.Find(e.Value, "embedding")); err != nil {
			return nil, err
		}
		if each != nil {
			each(e.Value)
		}
	}
	return out, nil
}

// places are the inputs of a list's elements. Some servers number none of them but 0 (ik_llama.cpp), or go on from those of another caller
// whose inputs they embedded at the same time (Xinference): where there is one element for each input, such a list is in order.
func places(list []byte, inputs int) ([]int, error) {
	order := make([]int, 0, inputs)
	named, zeros, run := true, true, true
	for e := rawjson.ElementsOf(list); e.Next(); {
		i := int64(len(order))
		if v := rawjson.Find(e.Value, "index"); !rawjson.IsNull(v) {
			var ok bool
			if i, ok = rawjson.Int(v); !ok || i < 0 || i >= math.MaxInt32 {
				return nil, errIndex
			}
		}
		if len(order) == inputs {
			return nil, errIndex
		}
		zeros = zeros && i == 0
		run = run && (len(order) == 0 || i == int64(order[len(order)-1])+1)
		named = named && i < int64(inputs)
		order = append(order, int(i))
	}
	if named && distinct(order, inputs) {
		return order, nil
	}
	if len(order) < inputs || !zeros && !run {
		return nil, errIndex
	}
	for i := range order {
		order[i] = i
	}
	return order, nil
}

func distinct(order []int, inputs int) bool {
	seen := make([]bool, inputs)
	for _, i := range order {
		if seen[i] {
			return false
		}
		seen[i] = true
	}
	return true
}

var errIndex = errors.New("the vectors are not those of the inputs")
