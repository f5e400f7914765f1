// Package wire is the common part of the text styles: reading typed fields of a checked body, provider preferences, reasoning settings,
// and usage figures. It must not know a style's fields or the form of its answers.
package wire

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Reader walks a checked body once and reads its fields with their types checked. The first fault is kept: after it every loop ends and
// every value is absent, so callers check Err once.
//
// Before each value the reader knows its path, which becomes the error's param. Every reading method consumes one value; for null it
// reports an absent field.
type Reader struct {
	cur   rawjson.Cursor
	op    string
	fault *fault.Error
	path  [maxSteps]step
	depth int // steps in use; steps beyond maxSteps are not stored

	request bool   // the body is a request: its top-level members must not divert it
	allowed string // the one that is allowed
}

const maxSteps = 16

// step is one part of a path: a member's name, or an element's index when name is nil.
type step struct {
	name  []byte
	index int
}

// NewReader reads body, which rawjson.Check has passed. op names the caller in errors.
func NewReader(body []byte, op string) Reader {
	return Reader{cur: rawjson.At(body, 0), op: op}
}

// NewRequest is NewReader for the body of a request to a model: a member that would divert it ends the reading with a fault. except is
// the name of a member that has another meaning in this style, "" none.
func NewRequest(body []byte, op, except string) Reader {
	return Reader{cur: rawjson.At(body, 0), op: op, request: true, allowed: except}
}

// Err is the first fault, or nil.
func (r *Reader) Err() *fault.Error {
	if r.fault == nil && r.cur.Bad() {
		r.fault = fault.New(fault.Invalid, r.op, "The body is not valid JSON.")
	}
	return r.fault
}

// Fail records a fault at the current value, unless there is one already.
func (r *Reader) Fail(kind fault.Kind, format string, args ...any) Refusal {
	return r.FailAt(kind, r.Path(), format, args...)
}

// Refusal is the fault that a reader has just met, or nothing if it has met another before.
type Refusal struct{ e *fault.Error }

// Coded sets the code of the fault; see fault.Error.Coded.
func (r Refusal) Coded(code string, pairs ...any) {
	if r.e != nil {
		_ = r.e.Coded(code, pairs...)
	}
}

// FailAt is Fail at another path.
func (r *Reader) FailAt(kind fault.Kind, param, format string, args ...any) Refusal {
	if r.fault != nil {
		return Refusal{}
	}
	r.fault = fault.Newf(kind, r.op, format, args...)
	r.fault.Param = param
	return Refusal{r.fault}
}

// FailIn is Fail at a member of the object that was just read to its end.
func (r *Reader) FailIn(kind fault.Kind, member, format string, args ...any) Refusal {
	path := r.Path()
	if path != "" {
		path += "."
	}
	return r.FailAt(kind, path+member, format, args...)
}

// Path is the path of the current value, such as messages[3].content[0].type.
func (r *Reader) Path() string {
	var path strings.Builder
	for _, s := range r.path[:min(r.depth, maxSteps)] {
		switch {
		case s.name == nil && s.index < 0: // entered, and before the first member or element
		case s.name == nil:
			path.WriteString("[" + strconv.Itoa(s.index) + "]")
		case path.Len() == 0:
			path.WriteString(clip(s.name))
		default:
			path.WriteString("." + clip(s.name))
		}
	}
	return path.String()
}

const maxName = 64 // bytes of a client's own member name in a path

func clip(name []byte) string {
	if len(name) <= maxName {
		return string(name)
	}
	return string(bytes.ToValidUTF8(name[:maxName], nil)) + "..."
}

// Kind is the kind of the next value.
func (r *Reader) Kind() rawjson.Kind {
	if r.fault != nil {
		return rawjson.Invalid
	}
	return r.cur.Kind()
}

// Pos is the offset of the next value or, after a value, of the byte after it.
func (r *Reader) Pos() int { return r.cur.Pos() }

// NameAt is the offset of the quote of the name that Member returned last.
func (r *Reader) NameAt() int { return r.cur.NameAt() }

// Mark is a position in the body.
type Mark struct {
	cur   rawjson.Cursor
	depth int
}

// Mark returns the current position, such as that of a value which can be read only when a later member is known.
func (r *Reader) Mark() Mark { return Mark{r.cur, r.depth} }

// At goes to a marked value, which is read under the given member name of the current object. Back(back) returns to the position before.
func (r *Reader) At(m Mark, name []byte) (back Mark) {
	back = Mark{r.cur, r.depth}
	r.cur = m.cur
	r.push(step{name: name})
	return back
}

// Restart returns to a mark that was made right after Object: Member yields the members again. Back ends that.
func (r *Reader) Restart(m Mark) { r.cur, r.depth = m.cur, m.depth }

// Back returns to the position before At.
func (r *Reader) Back(m Mark) { r.cur, r.depth = m.cur, m.depth }

func (r *Reader) push(s step) {
	if r.depth < maxSteps {
		r.path[r.depth] = s
	}
	r.depth++
}

// Object enters the next value, an object. It returns false, having consumed the value, when it is null, and with a fault when it is no
// object. After true, Member runs through it to its end.
func (r *Reader) Object() bool { return r.enter(rawjson.Object) }

// Array is Object for an array and Element.
func (r *Reader) Array() bool { return r.enter(rawjson.Array) }

func (r *Reader) enter(want rawjson.Kind) bool {
	switch k := r.Kind(); k {
	case want:
		r.cur.Enter()
		r.push(step{index: -1}) // the place of the members' names
		return true
	case rawjson.Null:
		r.cur.Skip()
	default:
		r.wrong(want)
	}
	return false
}

func (r *Reader) wrong(want rawjson.Kind) {
	if r.fault == nil {
		r.Fail(fault.Invalid, "%s must be %s, not %s.", r.name(), want, r.cur.Kind()).Coded("wrong_type")
	}
}

// name is the path as it appears in a sentence.
func (r *Reader) name() string {
	if path := r.Path(); path != "" {
		return path
	}
	return "The body"
}

// Member moves to the next member of the object entered last.
func (r *Reader) Member() (name []byte, ok bool) {
	if r.fault != nil {
		return nil, false
	}
	if name, ok = r.cur.Member(); !ok {
		r.depth--
		return nil, false
	}
	if r.depth <= maxSteps {
		r.path[r.depth-1] = step{name: name}
	}
	if r.request && r.depth == 1 && !r.admit(name) {
		return nil, false
	}
	return name, true
}

// harmless are the fields that nearly every request has: comparing them with the spellings of diverting fields costs more than reading
// them.
var harmless = map[string]bool{
	"model": true, "messages": true, "input": true, "prompt": true, "stream": true, "stream_options": true, "system": true, "instructions": true,
	"max_tokens": true, "max_completion_tokens": true, "max_output_tokens": true, "temperature": true, "top_p": true, "n": true, "stop": true, "seed": true,
	"tools": true, "tool_choice": true, "parallel_tool_calls": true, "response_format": true, "reasoning": true, "reasoning_effort": true, "user": true,
	"store": true, "include": true, "text": true, "thinking": true, "encoding_format": true, "dimensions": true,
}

// admit refuses a top-level member that diverts the request, or contains one that does.
func (r *Reader) admit(name []byte) bool {
	if string(name) == r.allowed || harmless[string(name)] {
		return true
	}
	if completion.Diverts(string(name)) {
		r.fault = Diverted(r.op, string(name))
		return false
	}
	if mayHold(string(name)) {
		value := r.cur // a copy: the member is read a second time by its own reader
		value.Kind()
		if path := DivertsIn(string(name), value.Skip()); path != "" {
			r.fault = Diverted(r.op, path)
			return false
		}
	}
	return true
}

// Element moves to the next element of the array entered last.
func (r *Reader) Element() bool {
	if r.fault != nil {
		return false
	}
	if !r.cur.Element() {
		r.depth--
		return false
	}
	if r.depth <= maxSteps {
		s := &r.path[r.depth-1]
		s.name = nil
		s.index++
	}
	return true
}

// Skip skips the value, of any kind, and returns its bytes.
func (r *Reader) Skip() []byte {
	if r.fault != nil {
		return nil
	}
	return r.cur.Skip()
}

// take reads a value of one kind.
func (r *Reader) take(want rawjson.Kind) []byte {
	switch r.Kind() {
	case want:
		return r.cur.Skip()
	case rawjson.Null:
		r.cur.Skip()
	default:
		r.wrong(want)
	}
	return nil
}

// Bool reads a boolean; ok is false when it is absent.
func (r *Reader) Bool() (v, ok bool) {
	switch r.Kind() {
	case rawjson.True, rawjson.False:
		return rawjson.Bool(r.cur.Skip())
	case rawjson.Null:
		r.cur.Skip()
	default:
		r.wrong(rawjson.True)
	}
	return false, false
}

// Int reads an integer within [lo, hi], also one written as 1.0 or 1e2.
func (r *Reader) Int(lo, hi int64) (v int64, ok bool) {
	raw := r.take(rawjson.Number)
	if raw == nil {
		return 0, false
	}
	v, ok = rawjson.Int(raw)
	if ok && v >= lo && v <= hi {
		return v, true
	}
	switch {
	case lo == math.MinInt64:
		r.Fail(fault.Invalid, "%s must be a 64-bit integer.", r.Path()).Coded("whole_number")
	case hi == math.MaxInt64:
		r.Fail(fault.Invalid, "%s must be an integer of at least %d.", r.Path(), lo).Coded("integer_least", "least", lo)
	default:
		r.Fail(fault.Invalid, "%s must be an integer from %d to %d.", r.Path(), lo, hi).Coded("integer_range", "least", lo, "most", hi)
	}
	return 0, false
}

// Number reads a number within [lo, hi].
func (r *Reader) Number(lo, hi float64) (v float64, ok bool) {
	raw := r.take(rawjson.Number)
	if raw == nil {
		return 0, false
	}
	v, ok = rawjson.Float(raw)
	if ok && v >= lo && v <= hi {
		return v, true
	}
	if math.IsInf(hi, 1) {
		r.Fail(fault.Invalid, "%s must be a number of at least %v.", r.Path(), lo).Coded("number_least", "least", lo)
	} else {
		r.Fail(fault.Invalid, "%s must be a number from %v to %v.", r.Path(), lo, hi).Coded("number_range", "least", lo, "most", hi)
	}
	return 0, false
}

// RawString reads a string of any length and returns it raw, with its quotes; nil when absent.
func (r *Reader) RawString() []byte { return r.take(rawjson.String) }

// Text reads a string of at most maxChars characters. The result is a view into the body unless the string has escapes.
func (r *Reader) Text(maxChars int) (text []byte, ok bool) {
	raw := r.take(rawjson.String)
	if raw == nil {
		return nil, false
	}
	if text, ok = rawjson.Unquote(raw); !ok {
		r.Fail(fault.Invalid, "%s is not a valid UTF-8 string.", r.Path()).Coded("not_utf8")
		return nil, false
	}
	if len(text) > maxChars && utf8.RuneCount(text) > maxChars {
		r.Fail(fault.StringTooLong, "%s is longer than %d characters.", r.Path(), maxChars).Coded("most_characters", "most", maxChars)
		return nil, false
	}
	return text, true
}

// Stored reads a string that will be stored: it must not contain NUL, which one of the databases cannot store.
func (r *Reader) Stored(maxChars int) (string, bool) {
	text, ok := r.Text(maxChars)
	if ok && bytes.IndexByte(text, 0) >= 0 {
		r.Fail(fault.Invalid, "%s contains a NUL character.", r.Path()).Coded("nul_character")
		return "", false
	}
	return string(text), ok
}

// maxSlug is the longest model or provider name, in bytes.
const maxSlug = 256

// Slug reads the name of a model or provider: 1 to 256 bytes.
func (r *Reader) Slug() (string, bool) {
	slug, ok := r.Stored(maxSlug)
	switch {
	case ok && slug == "":
		r.Fail(fault.Invalid, "%s must not be empty.", r.Path()).Coded("not_empty")
		return "", false
	case len(slug) > maxSlug:
		r.Fail(fault.StringTooLong, "%s is longer than %d bytes.", r.Path(), maxSlug).Coded("most_bytes", "most", maxSlug)
		return "", false
	}
	return slug, ok
}

// Enum reads a string that must be one of the allowed ones, and returns the allowed one.
func (r *Reader) Enum(allowed []string) (string, bool) {
	text, ok := r.Text(math.MaxInt)
	if !ok {
		return "", false
	}
	for _, a := range allowed {
		if string(text) == a {
			return a, true
		}
	}
	r.Fail(fault.Invalid, "%s must be one of %s.", r.Path(), strings.Join(allowed, ", ")).Coded("one_of", "allowed", strings.Join(allowed, ", "))
	return "", false
}

// Slugs reads an array of at most most names; nil when it is absent or empty.
func (r *Reader) Slugs(most int) (list []string) {
	if !r.Array() {
		return nil
	}
	for r.Element() {
		slug, ok := r.Slug()
		if !ok {
			r.Required()
			break
		}
		if len(list) == most {
			r.TooMany(most)
			break
		}
		list = append(list, slug)
	}
	return list
}

// Required fails for a value that was null where null is not allowed. After another fault it has no effect.
func (r *Reader) Required() {
	if r.fault == nil {
		r.Fail(fault.Invalid, "%s must not be null.", r.name()).Coded("not_null")
	}
}

// TooMany fails for the current array.
func (r *Reader) TooMany(most int) {
	r.depth--
	r.Fail(fault.Invalid, "%s has more than %d entries.", r.Path(), most).Coded("most_entries", "most", most)
	r.depth++
}

// Free reads a value of one kind whose content is not checked.
func (r *Reader) Free(want rawjson.Kind) []byte { return r.take(want) }
