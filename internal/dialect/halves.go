package dialect

import (
	"bytes"
	"slices"
	"strings"

	"weir/internal/rawjson"
)

const (
	mostWaiting   = 16       // frames that wait for the second half of a character
	bytesWaiting  = 64 << 10 // of them together
	escapeLength  = 6        // of \ud83d
	noCharacter   = `\ufffd`
	deepestString = 32 // containers around a string that may be half a character
	mostCut       = 16 // texts of one frame that wait: servers cut one
	longestPlace  = 64 // bytes
)

// halves joins characters that a server has cut in two: some cut texts between UTF-16 code units, and one JSON string ends with \ud83d
// while the next begins with \ude00. A frame whose text ends with the first half waits for the frame that continues this text. A half
// without its other half becomes U+FFFD.
type halves struct {
	waiting []frame // the first has a text that ends with half a character
	bytes   int     // of all that wait
	cut     []text  // texts of the first frame that end with half a character
	place   string  // of the first frame
}

// frame is a frame that waits.
type frame struct{ event, data []byte }

// text is a string in a frame.
type text struct {
	name       string // of the member
	nth        int    // among the frame's strings of that name
	start, end int    // between the quotes
}

// mayHaveHalf reports whether data might have half a character: it has an escape of a surrogate.
func mayHaveHalf(data []byte) bool {
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 || at+escapeLength > len(data) {
			return false
		}
		if data[at+1] == 'u' && data[at+2]|0x20 == 'd' && data[at+3] >= '8' {
			return true
		}
		data = data[at+2:]
	}
}

// add takes the next frame of a stream and passes on each frame that is complete. data is changed.
func (h *halves) add(a *Answer, d Decoder, event, data []byte) error {
	if len(h.waiting) > 0 {
		texts, place := textsOf(data)
		continued := subset(place, h.place)
		for _, cut := range h.cut {
			for i := range texts {
				if t := &texts[i]; place == h.place && t.name == cut.name && t.nth == cut.nth {
					data = h.join(data, texts, i, cut)
				}
			}
		}
		if !continued && len(h.waiting) < mostWaiting && h.bytes+len(data) <= bytesWaiting {
			h.keep(event, data)
			return nil
		}
		if err := h.flush(a, d); err != nil {
			return err
		}
	}
	if !mayHaveHalf(data) {
		return pass(a, d, event, data)
	}
	texts, place := textsOf(data)
	h.cut = h.cut[:0]
	for _, t := range texts {
		if at := t.end - escapeLength; len(h.cut) < mostCut && at >= t.start && isHalf(data[at:t.end], first) && !escapedAt(data[t.start:at]) {
			h.cut = append(h.cut, t)
		}
	}
	if len(h.cut) == 0 {
		return pass(a, d, event, mendHalves(data))
	}
	h.place = place
	h.keep(event, data)
	return nil
}

func (h *halves) keep(event, data []byte) {
	h.waiting = append(h.waiting, frame{slices.Clone(event), slices.Clone(data)})
	h.bytes += len(data)
}

// join moves the first half of a character to the beginning of the text that continues it, when that has the second half. It returns the
// changed data of the new frame and moves its texts.
func (h *halves) join(data []byte, texts []text, i int, cut text) []byte {
	t := texts[i]
	if t.end-t.start < escapeLength || !isHalf(data[t.start:t.start+escapeLength], second) {
		return data
	}
	from := h.waiting[0].data[cut.end-escapeLength : cut.end]
	data = slices.Insert(slices.Clone(data), t.start, from...)
	for j := range texts {
		if texts[j].start > t.start {
			texts[j].start += escapeLength
		}
		if texts[j].end > t.start {
			texts[j].end += escapeLength
		}
	}
	copy(from, strings.Repeat(" ", escapeLength)) // marked, and cut out by flush: other texts keep their places until then
	return data
}

// flush passes on the frames that wait.
func (h *halves) flush(a *Answer, d Decoder) error {
	if len(h.waiting) == 0 {
		return nil
	}
	f := &h.waiting[0]
	for i := len(h.cut) - 1; i >= 0; i-- {
		if end := h.cut[i].end; f.data[end-1] == ' ' {
			f.data = slices.Delete(f.data, end-escapeLength, end)
		}
	}
	waiting := h.waiting
	h.waiting, h.cut, h.bytes = nil, h.cut[:0], 0
	for _, f := range waiting {
		if err := pass(a, d, f.event, mendHalves(f.data)); err != nil {
			return err
		}
	}
	return nil
}

// mendHalves replaces halves of characters by U+FFFD, in place.
func mendHalves(data []byte) []byte {
	for i := 0; i+escapeLength <= len(data); {
		at := bytes.IndexByte(data[i:], '\\')
		if at < 0 || i+at+escapeLength > len(data) {
			break
		}
		i += at
		switch {
		case isHalf(data[i:i+escapeLength], first) && i+2*escapeLength <= len(data) && isHalf(data[i+escapeLength:i+2*escapeLength], second):
			i += 2 * escapeLength
		case isHalf(data[i:i+escapeLength], first), isHalf(data[i:i+escapeLength], second):
			copy(data[i:], noCharacter)
			i += escapeLength
		default:
			i += 2
		}
	}
	return data
}

// The digits after \ud of a first and of a second half.
const (
	first  = "89abAB"
	second = "cdefCDEF"
)

func isHalf(v []byte, digits string) bool {
	return v[0] == '\\' && v[1] == 'u' && v[2]|0x20 == 'd' && strings.IndexByte(digits, v[3]) >= 0
}

// escapedAt reports whether the character after v, the beginning of a string, is escaped.
func escapedAt(v []byte) bool {
	n := len(v)
	for n > 0 && v[n-1] == '\\' {
		n--
	}
	return (len(v)-n)%2 == 1
}

// textsOf returns the strings of a frame, and its place: the numbers and ids by which frames of the same text can be recognized, whatever
// the wire is.
func textsOf(data []byte) (texts []text, place string) {
	named := map[string]int{} // how many strings of a name there were
	var walk func(v []byte, at int, name string, depth int)
	walk = func(v []byte, at int, name string, depth int) {
		switch kind := rawjson.KindOf(v); {
		case kind == rawjson.String:
			texts = append(texts, text{name: name, nth: named[name], start: at + 1, end: at + len(v) - 1})
			named[name]++
		case kind == rawjson.Object && depth < deepestString:
			for m := rawjson.MembersOf(v); m.Next(); {
				switch string(m.Name) {
				case "index", "output_index", "content_index", "summary_index", "contentBlockIndex":
					if len(place)+len(m.Value) < longestPlace {
						place += " " + string(m.Name[:1]) + string(m.Value)
					}
				}
				walk(m.Value, at+m.At, string(m.Name), depth+1)
			}
		case kind == rawjson.Array && depth < deepestString:
			for e := rawjson.ElementsOf(v); e.Next(); {
				walk(e.Value, at+e.At, name, depth+1)
			}
		}
	}
	walk(data, 0, "", 0)
	return texts, place
}

// subset reports whether all words of a are words of b.
func subset(a, b string) bool {
	if a == "" {
		return b == ""
	}
	for word := range strings.FieldsSeq(a) {
		if !slices.Contains(strings.Fields(b), word) {
			return false
		}
	}
	return true
}
