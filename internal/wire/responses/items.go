package responses

import (
	"strconv"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// InputItems are the items of the input, separated by commas, as the client wrote them; a text becomes the equivalent message.
func InputItems(req *Request) []byte {
	v := req.Body[req.Input.Start:req.Input.End]
	switch rawjson.KindOf(v) {
	case rawjson.String:
		b := append(make([]byte, 0, len(v)+96), `{"type":"message","role":"user","content":[{"type":"input_text","text":`...)
		return append(append(b, v...), "}]}"...)
	case rawjson.Array:
		return rawjson.AppendOneLine(make([]byte, 0, len(v)), v[1:len(v)-1])
	}
	return nil
}

// Join joins several lists, each of items separated by commas.
func Join(lists ...[]byte) []byte {
	b := []byte{'['}
	for _, list := range lists {
		if len(strings.TrimSpace(string(list))) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, list...)
	}
	return append(b, ']')
}

// idSize is how many characters follow the prefix of a response's id.
const idSize = 32

// Listed are the input items of a stored response, each with an id: the client's own, or one made from the response and the item's index.
func Listed(response string, items []byte) (list [][]byte) {
	for e := rawjson.ElementsOf(Join(items)); e.Next(); {
		v := e.Value
		if rawjson.TextAt(v, "id") == "" {
			v = withID(v, response, len(list))
		}
		list = append(list, v)
	}
	return list
}

func withID(v []byte, response string, at int) []byte {
	prefix := "item_"
	kind := rawjson.TextAt(v, "type")
	switch kind {
	case "", "message":
		prefix = "msg_"
	case "function_call", "function_call_output":
		prefix = "fc_"
	case "reasoning":
		prefix = "rs_"
	}
	b := append(make([]byte, 0, len(v)+96), `{"id":"`...)
	b = append(append(append(b, prefix...), strings.TrimPrefix(response, "resp_")...), '_')
	b = append(strconv.AppendInt(b, int64(at), 10), '"')
	if kind == "" {
		b = append(b, `,"type":"message"`...)
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		if name := string(m.Name); name != "id" && (name != "type" || kind != "") {
			b = append(append(b, ','), v[m.Start:m.End]...)
		}
	}
	return append(b, '}')
}

// ResponseOf is the response of an input item, for an id that Listed has made.
func ResponseOf(item string) (response string, ok bool) {
	_, rest, _ := strings.Cut(item, "_")
	if len(rest) < idSize+2 || rest[idSize] != '_' {
		return "", false
	}
	return "resp_" + rest[:idSize], true
}

// Pick finds the item of that id, or nil.
func Pick(items [][]byte, id string) []byte {
	for _, v := range items {
		if rawjson.TextAt(v, "id") == id {
			return v
		}
	}
	return nil
}

// Split is a list of items, separated by commas, one by one.
func Split(items []byte) (list [][]byte) {
	for e := rawjson.ElementsOf(Join(items)); e.Next(); {
		list = append(list, e.Value)
	}
	return list
}

// References are the ids of the stored items that the input refers to instead of repeating them.
func References(req *Request) (ids []string) {
	for e := rawjson.ElementsOf(req.Body[req.Input.Start:req.Input.End]); e.Next(); {
		if rawjson.TextAt(e.Value, "type") == "item_reference" {
			ids = append(ids, rawjson.TextAt(e.Value, "id"))
		}
	}
	return ids
}

// Resolve returns the body with the stored items in place of the references. It fails with fault.NotFound for an item that is not in
// items.
func Resolve(req *Request, items map[string][]byte) ([]byte, error) {
	b := append(make([]byte, 0, 2*len(req.Body)), req.Body[:req.Input.Start]...)
	b = append(b, '[')
	at := 0
	for e := rawjson.ElementsOf(req.Body[req.Input.Start:req.Input.End]); e.Next(); at++ {
		v := e.Value
		if rawjson.TextAt(v, "type") == "item_reference" {
			id := rawjson.TextAt(v, "id")
			if v = items[id]; v == nil {
				f := fault.Newf(fault.NotFound, "responses.Resolve", "There is no item %q.", id[:min(len(id), maxUser)])
				f.Param = "input[" + strconv.Itoa(at) + "].id"
				return nil, f
			}
		}
		if at > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(append(b, ']'), req.Body[req.Input.End:]...), nil
}

// Restated is a stored response object with another status, and with its failure, if it failed.
func Restated(object []byte, status string, failure []byte) []byte {
	b := append(make([]byte, 0, len(object)+len(failure)), '{')
	for m := rawjson.MembersOf(object); m.Next(); {
		if len(b) > 1 {
			b = append(b, ',')
		}
		switch name := string(m.Name); {
		case name == "status":
			b = append(append(append(b, `"status":"`...), status...), '"')
		case name == "error" && failure != nil:
			b = append(append(b, `"error":`...), rawjson.Find(failure, "error")...)
			b = append(append(b, `,"error_type":`...), rawjson.Find(failure, "error_type")...)
		default:
			b = append(b, object[m.Start:m.End]...)
		}
	}
	return append(b, '}')
}

// IDOf is the id of an item.
func IDOf(item []byte) string { return rawjson.TextAt(item, "id") }
