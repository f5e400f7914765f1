package gemini

import "weir/internal/rawjson"

// withText mends the parts of a conversation that SDKs cannot send back as they came, because they leave out an empty text: a part that was
// nothing else is dropped, and one that has a signature gets its text again. It returns the body itself where nothing is to be mended.
func withText(body []byte) []byte {
	var out []byte
	from := 0
	replace := func(start, end int, with string) {
		out = append(append(out, body[from:start]...), with...)
		from = end
	}
	for top := rawjson.MembersOf(body); top.Next(); {
		if string(top.Name) != "contents" {
			continue
		}
		for c := rawjson.ElementsOf(top.Value); c.Next(); {
			for m := rawjson.MembersOf(c.Value); m.Next(); {
				if string(m.Name) == "parts" {
					mendParts(top.At+c.At+m.At, m.Value, replace)
				}
			}
		}
	}
	if out == nil {
		return body
	}
	return append(out, body[from:]...)
}

// mendParts calls replace for what has to change in a list of parts at an offset of the body.
func mendParts(at int, list []byte, replace func(start, end int, with string)) {
	kept, open := 0, -1 // offset where parts to be dropped began, at the start of the list
	for e := rawjson.ElementsOf(list); e.Next(); {
		start, end := at+e.At, at+e.At+len(e.Value)
		data, signed := contentOf(e.Value)
		switch {
		case data:
			if open >= 0 {
				replace(open, start, "")
				open = -1
			}
			kept = end
		case signed:
			if open >= 0 {
				replace(open, start, "")
				open = -1
			}
			replace(start+1, start+1, `"text":"",`)
			kept = end
		case kept > 0: // with the comma before it
			replace(kept, end, "")
			kept = end
		case open < 0:
			open = start
		}
	}
}

// contentOf reports whether a part has content, and whether it has a signature.
func contentOf(part []byte) (data, signed bool) {
	if rawjson.KindOf(part) != rawjson.Object {
		return true, false
	}
	for m := rawjson.MembersOf(part); m.Next(); {
		switch string(m.Name) {
		case "thought":
		case "thoughtSignature":
			signed = true
		default:
			data = true
		}
	}
	return data, signed
}
