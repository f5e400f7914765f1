package gemini

import (
	"bytes"
	"strings"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// free are the members whose content belongs to the client: names in it stay as they are.
var free = map[string]bool{
	"args": true, "response": true, "parametersJsonSchema": true, "responseJsonSchema": true, "_responseJsonSchema": true, "labels": true, "partMetadata": true,
	"example": true, "default": true, "enum": true, "metadata": true,
}

// named are the members that are objects with names of the client's choice, whose values are of the wire again.
var named = map[string]bool{"properties": true, "defs": true}

// repeated are the lists for which the wire also takes one object.
var repeated = map[string]bool{"contents": true, "parts": true, "tools": true, "functionDeclarations": true, "requests": true}

// camel is a member's name as this wire has it, where it is written as protocol buffers have it, such as system_instruction; "" where it is
// not.
func camel(name []byte) string {
	if bytes.IndexByte(name, '_') <= 0 { // a leading underscore belongs to the name
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if c := name[i]; c == '_' && i > 0 && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' {
			i++
			b.WriteByte(name[i] - 'a' + 'A')
		} else {
			b.WriteByte(c)
		}
	}
	if b.Len() == len(name) {
		return ""
	}
	return b.String()
}

// normal returns a checked body with one spelling for each name and with lists where lists may be single objects. It is the body itself
// where there is nothing to change. It reads each byte once, however deep the body is.
func normal(body []byte) []byte {
	n := normalizer{body: body, cur: rawjson.At(body, 0)}
	n.value(nil, true)
	if n.out == nil {
		return body
	}
	return append(n.out, body[n.from:]...)
}

// normalizer copies a body with edits, which come in order.
type normalizer struct {
	body []byte
	cur  rawjson.Cursor
	out  []byte // what was copied so far; nil before the first edit
	from int    // up to where in body
}

func (n *normalizer) replace(start, end int, with string) {
	if n.out == nil {
		n.out = make([]byte, 0, len(n.body)+len(n.body)/16+64)
	}
	n.out = append(append(n.out, n.body[n.from:start]...), with...)
	n.from = end
}

// value reads the value of a member, or of an element where name is nil. top is set for the whole body, in which the gateway has members of
// its own.
func (n *normalizer) value(name []byte, top bool) {
	switch n.cur.Kind() {
	case rawjson.Object:
		if named[string(name)] {
			n.cur.Enter()
			for _, ok := n.cur.Member(); ok; _, ok = n.cur.Member() {
				n.value(nil, false)
			}
			return
		}
		if repeated[string(name)] {
			n.replace(n.cur.Pos(), n.cur.Pos(), "[")
			defer func() { n.replace(n.cur.Pos(), n.cur.Pos(), "]") }()
		}
		n.message(top)
	case rawjson.Array:
		n.cur.Enter()
		for n.cur.Element() {
			n.value(nil, false)
		}
	default:
		n.cur.Skip()
	}
}

// message edits the names of an object of the wire.
func (n *normalizer) message(top bool) {
	n.cur.Enter()
	for raw, ok := n.cur.Member(); ok; raw, ok = n.cur.Member() {
		own := top && completion.GatewayOnly(string(raw))
		name := ""
		if !own {
			name = camel(raw)
		}
		if name != "" {
			at := n.cur.NameAt()
			n.replace(at, rawjson.StringEnd(n.body, at), string(rawjson.AppendText(nil, name)))
		}
		n.cur.Kind() // moves to the value
		switch {
		case own || name == "" && free[string(raw)] || free[name]:
			n.cur.Skip()
		case name != "":
			n.value([]byte(name), false)
		default:
			n.value(raw, false)
		}
	}
}
