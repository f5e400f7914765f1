package kit

import (
	"errors"
	"strconv"
	"strings"
)

// Refusal is a request that a provider would not take, in its words.
type Refusal struct {
	Status  int
	Kind    string // "type" of the error
	Code    string // "" null
	Param   string // "" null
	Message string
}

// Unreadable is the refusal of a body that is no JSON.
func Unreadable(say *Phrases, err error) *Refusal {
	r := &Refusal{Status: 400, Kind: "invalid_request_error", Message: say.Readable(err)}
	var twice duplicateError
	if errors.As(err, &twice) {
		r.Code, r.Param = "duplicate_member", string(twice)
	}
	return r
}

// Checker reads the members of a request and keeps the first complaint.
type Checker struct {
	Phrases *Phrases
	Root    *Node
	Request *Request
	Fault   *Refusal
	Status  int                               // of what is refused; 0: 400
	Address func(model string) (string, bool) // the name inside a model's address; nil: models have names
}

// NewChecker makes a checker with a wire's words.
func NewChecker(say *Phrases) Checker {
	return Checker{Phrases: say, Request: &Request{Knobs: Knobs{After: -1}, N: 1, ParallelCalls: true, Choice: toolChoice{Mode: "auto"}}}
}

// Refuse complains about a parameter. The first complaint is the answer.
func (c *Checker) Refuse(param, code, message string) {
	if c.Fault == nil {
		c.Fault = &Refusal{Status: max(c.Status, 400), Kind: "invalid_request_error", Code: code, Param: param, Message: message}
	}
}

// WrongType complains about the kind of a value.
func (c *Checker) WrongType(param string, v *Node, want string) {
	c.Refuse(param, "invalid_type", c.Phrases.WrongType(param, kindNames[v.Kind], want))
}

// WrongValue complains about a value.
func (c *Checker) WrongValue(param, want string) {
	c.Refuse(param, "invalid_value", c.Phrases.WrongValue(param, want))
}

// Unknown complains about an unknown parameter.
func (c *Checker) Unknown(param string) {
	c.Refuse(param, "unknown_parameter", c.Phrases.Unknown(param))
}

// Field checks the value of a member for a reader of type R. A nil field takes anything.
type Field[R any] func(reader R, v *Node, param string)

// Members checks an object: all required names are there, no unknown ones, and each value that is not null by its field.
func Members[R any](c *Checker, reader R, v *Node, param string, fields map[string]Field[R], required ...string) bool {
	if !c.ExpectKind(v, Object, param) {
		return false
	}
	if rename := c.Phrases.Rename; rename != nil {
		for i, name := range v.Names {
			if _, known := fields[rename(name)]; known {
				v.Names[i] = rename(name)
			}
		}
	}
	for _, name := range required {
		if v.Get(name) == nil {
			c.Missing(Under(param, name))
		}
	}
	for i, name := range v.Names {
		check, known := fields[name]
		switch {
		case !known:
			c.Unknown(Under(param, name))
		case check != nil && v.Items[i].Kind != Null:
			check(reader, &v.Items[i], Under(param, name))
		}
	}
	return c.Fault == nil
}

// Under is the path of a member.
func Under(param, name string) string {
	if param == "" {
		return name
	}
	return param + "." + name
}

// Each hands on the elements of an array.
func (c *Checker) Each(v *Node, param string, element func(v *Node, param string)) {
	if !c.ExpectKind(v, Array, param) {
		return
	}
	for i := range v.Items {
		element(&v.Items[i], c.Phrases.Item(param, i))
		if c.Fault != nil {
			return
		}
	}
}

// ExpectText complains about a value that is no text.
func (c *Checker) ExpectText(v *Node, param string) { c.ExpectKind(v, Text, param) }

// ExpectBool complains about a value that is no boolean.
func (c *Checker) ExpectBool(v *Node, param string) { c.ExpectKind(v, Boolean, param) }

// ExpectObject complains about a value that is no object.
func (c *Checker) ExpectObject(v *Node, param string) { c.ExpectKind(v, Object, param) }

// ExpectArray complains about a value that is no array.
func (c *Checker) ExpectArray(v *Node, param string) { c.ExpectKind(v, Array, param) }

// Missing complains about a missing parameter.
func (c *Checker) Missing(param string) {
	c.Refuse(param, "missing_required_parameter", c.Phrases.Missing(param))
}

// ExpectKind complains about a value of another kind and returns whether it is right.
func (c *Checker) ExpectKind(v *Node, k Kind, param string) bool {
	if v.Kind != k {
		c.WrongType(param, v, kindNames[k])
		return false
	}
	return true
}

// OneOf reads a text that must be one of some words; "" after a complaint.
func (c *Checker) OneOf(v *Node, param string, words ...string) string {
	if v == nil {
		c.Missing(param)
		return ""
	}
	if c.ExpectKind(v, Text, param) {
		if w, err := oneOf(v.Text, words...); err == nil {
			return w
		}
		c.WrongValue(param, "one of '"+strings.Join(words, "', '")+"'")
	}
	return ""
}

// Integer reads a whole number from low to high.
func (c *Checker) Integer(v *Node, param string, low, high int64) int64 {
	n, ok := v.Int()
	switch {
	case !ok:
		c.WrongType(param, v, "an integer")
	case n < low || n > high:
		c.Refuse(param, "integer_out_of_range", c.Phrases.OutOfRange(param, strconv.FormatInt(low, 10), strconv.FormatInt(high, 10)))
	}
	return n
}

// Decimal checks a number from low to high.
func (c *Checker) Decimal(v *Node, param string, low, high float64) {
	x, ok := v.float()
	switch {
	case !ok:
		c.WrongType(param, v, "a number")
	case x < low || x > high:
		c.Refuse(param, "decimal_out_of_range", c.Phrases.OutOfRange(param, strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64)))
	}
}

// MaxInteger is the upper bound of an integer without one.
const MaxInteger = 1<<63 - 1

// UnknownModel is OpenAI's refusal of an unknown model.
func UnknownModel(name string) *Refusal {
	return &Refusal{Status: 404, Kind: "invalid_request_error", Code: "model_not_found", Param: "model", Message: "The model '" + name + "' does not exist or you do not have access to it."}
}

// Phrases adds text to a turn. Markers are obeyed wherever a caller writes, not in what the model itself said.
func (c *Checker) AddText(t *Turn, s, param string) {
	if t.Role != "assistant" {
		plain, err := c.Request.Knobs.Markers(s)
		if err != nil {
			c.Refuse(param, "invalid_value", "Invalid marker: "+err.Error()+".")
		}
		s = plain
	}
	if t.Text != "" {
		t.Text += "\n"
	}
	t.Text += s
}

// ValidName reports whether a text is a name of a tool.
func ValidName(s string) bool { return ValidNameOf(s, 64) }

// ValidNameOf reports whether a text is a name of so many bytes at most: letters, digits, _ and -.
func ValidNameOf(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '_' && c != '-' && (c >= 0x80 || !Letter(rune(c))) {
			return false
		}
	}
	return true
}

// NamePattern describes a valid name in an error.
const NamePattern = "a string of 1 to 64 letters, digits, '_' and '-'"
