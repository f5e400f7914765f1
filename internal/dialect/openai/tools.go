package openai

import (
	"bytes"
	"slices"

	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/rawjson"
)

// call is one tool call of a choice; its place in the list is its canonical index.
type call struct {
	upstream int64 // the server's index, -1 when it wrote none
	id       string
	name     string
	argued   bool // it has arguments
	custom   bool
	json     calls.Scanner
}

// called reports whether the choice has a call that is more than an id.
func (c *choice) called() bool {
	return slices.ContainsFunc(c.calls, func(k call) bool { return k.name != "" || k.argued })
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

// functionCall decodes the deprecated form: one call without an id. Servers that know both forms write the same call twice.
func (dec *decoder) functionCall(c *choice, v []byte, whole bool) {
	if rawjson.KindOf(v) != rawjson.Object || len(c.calls) > 0 && c.calls[0].upstream != deprecated {
		return
	}
	f := fragment{index: deprecated}
	dec.readFunction(&f, v)
	dec.fragment(c, f, whole)
}

// deprecated is the index of a call in the deprecated form.
const deprecated = -2

func (dec *decoder) readFragment(v []byte) fragment {
	f := fragment{index: -1}
	extraAt, some := len(dec.extra), false
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
		case "function", "custom": // some servers write both, and leave one empty
			dec.readFunction(&f, m.Value)
			f.custom = f.custom || string(m.Name) == "custom" && (len(f.name) > 0 || len(f.arguments) > 0) && !some
			some = some || len(f.name) > 0 || len(f.arguments) > 0
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
			if name := dec.unquoted(m.Value); len(name) > 0 {
				f.name = name
			}
		case "thought_signature":
			f.signature = dec.unquoted(m.Value)
		case "arguments", "input":
			switch rawjson.KindOf(m.Value) {
			case rawjson.String:
				if text := dec.unquoted(m.Value); len(text) > 0 {
					f.arguments = text
				}
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
	if i < 0 {
		if len(f.name) == 0 && len(f.arguments) == 0 && (len(f.id) == 0 || whole) {
			return // an empty member is no call
		}
		i = len(c.calls)
		c.calls = append(c.calls, call{upstream: f.index, custom: f.custom})
	}
	known := &c.calls[i]
	out := completion.ToolCall{Index: i, Arguments: f.arguments, Signature: string(f.signature), Custom: known.custom, Extra: f.extra, Last: whole}
	if known.id == "" && len(f.id) > 0 {
		known.id = string(f.id)
		out.ID = known.id
	}
	if len(f.name) > 0 {
		more, _ := bytes.CutPrefix(f.name, []byte(known.name)) // some servers repeat the name
		out.Name = string(more)
		known.name += out.Name
	}
	if len(f.arguments) > 0 {
		known.argued = true
		known.json.Feed(f.arguments)
	}
	if out.ID == "" && out.Name == "" && len(out.Arguments) == 0 && out.Signature == "" && out.Extra == nil && !whole {
		return // the fragment adds nothing
	}
	dec.ev.ToolCalls = append(dec.ev.ToolCalls, out)
}

// belongs finds the call that a fragment continues, -1 when it begins one. Calls have indexes; but some servers write one index for all calls, a
// new index or id for each fragment, the same id for all calls, or none. So a name begins a call wherever the call at its place has one
// already and has begun its arguments, and nothing else does where its place has no call and the last one waits for arguments.
func (c *choice) belongs(f *fragment) int {
	last := len(c.calls) - 1
	at := last
	if f.index != -1 {
		for at >= 0 && c.calls[at].upstream != f.index {
			at--
		}
	}
	same := len(f.id) == 0
	if !same {
		for i := last; i >= 0; i-- {
			if c.calls[i].id == string(f.id) && (f.index == c.calls[i].upstream || f.index == -1 || len(f.name) == 0) {
				at, same = i, true
				break
			}
		}
	}
	switch {
	case at < 0 && same && len(f.name) == 0 && last >= 0 && !c.calls[last].json.Complete():
		return last // another index for each fragment
	case at < 0, f.index == -1 && !same && (len(f.name) > 0 || c.calls[at].json.Complete()):
		return -1
	}
	known := &c.calls[at]
	if len(f.name) == 0 || known.name == "" {
		return at
	}
	repeated := known.name == string(f.name) || bytes.HasPrefix(f.name, []byte(known.name))
	switch {
	case known.json.Complete():
		return -1
	case known.argued:
		if repeated {
			return at
		}
	case same && (f.index != -1 || repeated && len(f.id) > 0): // the name in pieces, or once more
		return at
	}
	return -1
}
