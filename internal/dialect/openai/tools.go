package openai

import (
	"bytes"
	"math/rand/v2"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// call is one tool call of a choice; its place in the list is its canonical index.
type call struct {
	upstream  int64 // the server's index, -1 when it wrote none
	id        string
	name      string
	arguments bool // some were already yielded
	custom    bool
	json      jsonDepth
}

// fragment is one element of tool_calls as the server wrote it.
type fragment struct {
	index     int64 // -1 none
	id        []byte
	name      []byte
	arguments []byte
	signature []byte
	custom    bool
	extra     []byte
}

// toolCalls decodes a tool_calls array: complete calls of a message, or fragments of a delta.
func (dec *decoder) toolCalls(c *choice, v []byte, whole bool) {
	for el := rawjson.ElementsOf(v); el.Next(); {
		if rawjson.KindOf(el.Value) == rawjson.Object {
			dec.fragment(c, dec.readFragment(el.Value), whole)
		}
	}
}

// functionCall decodes the deprecated form: one call without an id.
func (dec *decoder) functionCall(c *choice, v []byte, whole bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return
	}
	f := fragment{index: 0}
	dec.readFunction(&f, v)
	dec.fragment(c, f, whole)
}

func (dec *decoder) readFragment(v []byte) fragment {
	f := fragment{index: -1}
	extraAt := len(dec.extra)
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "index":
			if n, ok := rawjson.Int(m.Value); ok && n >= 0 {
				f.index = n
			}
		case "id":
			f.id = dec.unquoted(m.Value)
		case "type":
			f.custom = f.custom || string(m.Value) == `"custom"`
		case "function":
			dec.readFunction(&f, m.Value)
		case "custom":
			f.custom = true
			dec.readFunction(&f, m.Value)
		case "extra_content":
			if dec.q.ThoughtSignature {
				f.signature = dec.unquoted(rawjson.FindPath(m.Value, "google", "thought_signature"))
			}
			if f.signature == nil {
				dec.extra = appendMember(dec.extra, extraAt, v[m.Start:m.End])
			}
		default:
			dec.extra = appendMember(dec.extra, extraAt, v[m.Start:m.End])
		}
	}
	if len(dec.extra) > extraAt {
		f.extra = dec.extra[extraAt:len(dec.extra):len(dec.extra)]
	}
	return f
}

func (dec *decoder) readFunction(f *fragment, v []byte) {
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "name":
			f.name = dec.unquoted(m.Value)
		case "thought_signature":
			f.signature = dec.unquoted(m.Value)
		case "arguments", "input":
			switch rawjson.KindOf(m.Value) {
			case rawjson.String:
				f.arguments = dec.unquoted(m.Value)
			case rawjson.Object, rawjson.Array: // some servers write the object instead of a string
				f.arguments = m.Value
			}
		}
	}
}

// fragment adds a fragment to the event, under the canonical index of the call it belongs to.
func (dec *decoder) fragment(c *choice, f fragment, whole bool) {
	i := -1
	if !whole {
		i = c.belongs(&f)
	}
	out := completion.ToolCall{Index: i, Arguments: f.arguments, Custom: f.custom, Extra: f.extra}
	if i < 0 {
		i = len(c.calls)
		out.Index, out.ID, out.Name, out.Signature = i, string(f.id), string(f.name), string(f.signature)
		if out.ID == "" {
			out.ID = newCallID()
		}
		c.calls = append(c.calls, call{upstream: f.index, id: out.ID, name: out.Name, custom: f.custom})
	} else {
		known := &c.calls[i]
		out.Custom = known.custom
		if known.name == "" && len(f.name) > 0 { // the name arrived after the call's beginning
			out.Name = string(f.name)
			known.name = out.Name
		}
		out.Signature = string(f.signature)
		if len(f.arguments) == 0 && out.Name == "" && out.Signature == "" && out.Extra == nil {
			return // the fragment adds nothing
		}
	}
	if len(f.arguments) > 0 {
		c.calls[i].arguments = true
		c.calls[i].json.feed(f.arguments)
	}
	dec.ev.ToolCalls = append(dec.ev.ToolCalls, out)
}

// belongs finds the call that a fragment continues, -1 when it begins one. An id decides, since some servers write index 0 on every call
// of a parallel set. Without an id the index decides, unless the call at that index is complete and the fragment has a name. Without
// both, a name begins a call.
func (c *choice) belongs(f *fragment) int {
	if len(f.id) > 0 {
		for i := range c.calls {
			if c.calls[i].id == string(f.id) {
				return i
			}
		}
		if len(f.name) > 0 || f.index < 0 {
			return -1
		}
	}
	last := len(c.calls) - 1
	if f.index >= 0 {
		for last >= 0 && c.calls[last].upstream != f.index {
			last--
		}
	}
	if last < 0 {
		return -1
	}
	known := &c.calls[last]
	if len(f.name) > 0 && known.name != "" && (known.json.complete() || known.name != string(f.name) && !bytes.HasPrefix(f.name, []byte(known.name))) {
		return -1
	}
	return last
}

// jsonDepth scans JSON text in fragments far enough to see when its object is complete.
type jsonDepth struct {
	depth   int
	opened  bool
	quoted  bool
	escaped bool
}

func (j *jsonDepth) feed(b []byte) {
	for _, c := range b {
		switch {
		case j.escaped:
			j.escaped = false
		case j.quoted && c == '\\':
			j.escaped = true
		case c == '"':
			j.quoted = !j.quoted
		case j.quoted:
		case c == '{' || c == '[':
			j.opened = true
			j.depth++
		case c == '}' || c == ']':
			j.depth--
		}
	}
}

func (j *jsonDepth) complete() bool { return j.opened && j.depth <= 0 }

// newCallID makes an id for a call to which the server gave none.
func newCallID() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := []byte("call_000000000000000000000000")
	for i := len("call_"); i < len(id); i++ {
		id[i] = digits[rand.IntN(len(digits))]
	}
	return string(id)
}
