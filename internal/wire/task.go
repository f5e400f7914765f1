package wire

import (
	"math"
	"slices"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// Estimates of an input's tokens: an upper bound for holds, and a lower bound for refusing what is certainly too long for a model.
const (
	BytesPerToken     = 3    // prose has 3.5 to 5 bytes to a token, code a little less
	mostBytesPerToken = 12   // words that are one token, in letters of two bytes
	ImageTokens       = 2000 // of an image, at most
)

// TextTokens is how many tokens a text has at most.
func TextTokens(text string) int64 { return int64(len(text))/BytesPerToken + 1 }

// LeastTokens is how many tokens a text has at least.
func LeastTokens(text string) int64 { return int64(len(text))/mostBytesPerToken + 1 }

// Members calls field for each member of a body, which must be an object.
func (r *Reader) Members(field func(name string)) {
	if r.Kind() != rawjson.Object {
		r.Fail(fault.Invalid, "The body must be a JSON object.")
		return
	}
	r.Object()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		field(string(name))
	}
}

// Extra appends the current member, which has no place in the canonical form, unless it is null or for this gateway.
func (r *Reader) Extra(list []task.Extra, name string) []task.Extra {
	if v := r.Skip(); !rawjson.IsNull(v) && !completion.GatewayOnly(name) {
		list = append(list, task.Extra{Name: name, Value: slices.Clone(v)})
	}
	return list
}

// Filled reads a string that must not be empty; ok is false when it is absent.
func (r *Reader) Filled() (text string, ok bool) {
	at := r.Path()
	b, ok := r.Text(math.MaxInt)
	if ok && len(b) == 0 {
		r.FailAt(fault.Invalid, at, "%s must not be empty.", at)
	}
	return string(b), ok
}

const maxPartType = 64 // characters

// Part reads {"type":"text","text":...} or {"type":"image_url","image_url":{"url":...}}. It calls text for the text.
func (r *Reader) Part(text func() string) (p task.Part) {
	at, kind, has := r.Path(), "", false
	if r.Kind() != rawjson.Object {
		r.Fail(fault.Invalid, "%s must be an object with a type.", at)
		return p
	}
	r.Object()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "type":
			b, _ := r.Text(maxPartType)
			kind = string(b)
		case "text":
			p.Text, has = text(), true
		case "image_url":
			p.ImageURL = r.ImageURL()
		default:
			r.Skip()
		}
	}
	switch {
	case kind == "text" && has:
		return task.Part{Text: p.Text}
	case kind == "image_url" && p.ImageURL != "":
		return task.Part{ImageURL: p.ImageURL}
	case kind == "text" || kind == "image_url":
		r.FailAt(fault.Invalid, at+"."+kind, "%s.%s is required.", at, kind)
	default:
		r.FailAt(fault.Invalid, at+".type", "%s.type must be text or image_url.", at)
	}
	return task.Part{}
}

// PartTexts yields the texts of parts until yield returns false. It returns whether all were yielded.
func PartTexts(parts []task.Part, yield func([]byte) bool) bool {
	for _, part := range parts {
		if part.ImageURL == "" && !yield([]byte(part.Text)) {
			return false
		}
	}
	return true
}
