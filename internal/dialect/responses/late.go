package responses

import (
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// late decodes an item of the finished response, if no event had it.
func (dec *decoder) late(at int64, v []byte) error {
	id, call, kind := rawjson.TextAt(v, "id"), rawjson.TextAt(v, "call_id"), rawjson.TextAt(v, "type")
	for i := range dec.items {
		it := &dec.items[i]
		if it.id != id || id == "" {
			if (it.index != at || it.kind != kind) && (call == "" || it.callID != call) {
				continue
			}
		}
		if it.said || it.closed {
			return nil
		}
		dec.reset()
		dec.close(it, v)
		return dec.lateEvent("response.output_item.done", at, v)
	}
	if len(dec.items) >= maxItems {
		return errShape
	}
	dec.reset()
	dec.item(v).closed = true
	dec.announce(at, v)
	return dec.lateEvent("response.output_item.done", at, v)
}

func (dec *decoder) lateEvent(name string, at int64, v []byte) error {
	if !dec.pass && !dec.ev.HasContent() {
		return nil
	}
	return dec.send(name, itemEvent(name, at, v))
}

// announce makes the events that pass before the end of an item, where its server sent none: clients of this wire put an item in its place when it
// is announced, and read its text and its arguments as they grow.
func (dec *decoder) announce(at int64, v []byte) {
	if !dec.pass {
		return
	}
	kind := rawjson.TextAt(v, "type")
	begun := rawjson.Writer{}
	begun.Object()
	for m := rawjson.MembersOf(v); m.Next(); {
		name := string(m.Name)
		switch begun.Name(name); {
		case name == "status":
			begun.Text("in_progress")
		case name == "content" && kind == "message":
			begun.Raw([]byte("[]"))
		case name == "arguments" && kind == "function_call", name == "input" && kind == "custom_tool_call":
			begun.Text("")
		default:
			begun.Raw(m.Value)
		}
	}
	begun.EndObject()
	dec.held = append(dec.held, completion.Frame{Name: "response.output_item.added", Data: dec.bound(itemEvent("response.output_item.added", at, begun.B))})
	grows := func(event string, index int64, member string, value []byte) {
		w := rawjson.Writer{}
		w.Object()
		w.Name("type").Text("response." + event)
		w.Name("item_id").Text(rawjson.TextAt(v, "id"))
		w.Name("output_index").Int(at)
		if kind == "message" {
			w.Name("content_index").Int(index)
		}
		w.Name(member).Raw(value)
		w.EndObject()
		dec.held = append(dec.held, completion.Frame{Name: "response." + event, Data: w.B})
	}
	switch kind {
	case "function_call":
		if arguments := rawjson.Find(v, "arguments"); rawjson.KindOf(arguments) == rawjson.String {
			grows("function_call_arguments.delta", 0, "delta", arguments)
		}
	case "custom_tool_call":
		if input := rawjson.Find(v, "input"); rawjson.KindOf(input) == rawjson.String {
			grows("custom_tool_call_input.delta", 0, "delta", input)
		}
	case "message":
		index := int64(0)
		for part := rawjson.ElementsOf(rawjson.Find(v, "content")); part.Next(); index++ {
			switch text := rawjson.Find(part.Value, "text"); {
			case rawjson.TextAt(part.Value, "type") == "output_text" && rawjson.KindOf(text) == rawjson.String:
				grows("content_part.added", index, "part", []byte(`{"type":"output_text","text":"","annotations":[]}`))
				grows("output_text.delta", index, "delta", text)
			case rawjson.TextAt(part.Value, "type") == "refusal" && rawjson.KindOf(rawjson.Find(part.Value, "refusal")) == rawjson.String:
				grows("content_part.added", index, "part", []byte(`{"type":"refusal","refusal":""}`))
				grows("refusal.delta", index, "delta", rawjson.Find(part.Value, "refusal"))
			}
		}
	}
}

// itemEvent is the event of an item that its server did not send.
func itemEvent(name string, at int64, v []byte) []byte {
	b := append(append([]byte(`{"type":"`), name...), `","output_index":`...)
	return append(append(append(strconv.AppendInt(b, at, 10), `,"item":`...), v...), '}')
}
