package kit

import (
	"errors"
	"strconv"
	"strings"
)

// Refusal is an error that a provider answers with instead of a result.
type Refusal struct {
	Status  int
	Kind    string // "type" of the error
	Code    string // "": null
	Param   string // "": null
	Message string
}

// Unreadable returns the refusal of a body that is not valid JSON.
func Unreadable(say *Phrases, err error) *Refusal {
	r := &Refusal{Status: 400, Kind: "invalid_request_error", Message: say.Readable(err)}
	var twice duplicateError
	if errors.As(err, &twice) {
		r.Code, r.Param = "duplicate_member", string(twice)
	}
	return r
}

// Checker reads the members of a request and keeps the first error.
type Checker struct {
	Phrases *Phrases
	Root    *Node
	Request *Request
	Fault   *Refusal
	Status  int                               // status of refusals; 0: 400
	Address func(model string) (string, bool) // returns the model's name in an address; nil: models have names
}

// NewChecker makes a checker with a wire's words.
func NewChecker(say *Phrases) Checker {
	return Checker{Phrases: say, Request: &Request{Knobs: Knobs{After: -1}, N: 1, ParallelCalls: true, Choice: toolChoice{Mode: "auto"}}}
}

// Refuse records an error about a parameter. Only the first error of a request is kept.
func (c *Checker) Refuse(param, code, message string) {
	if c.Fault == nil {
		c.Fault = &Refusal{Status: max(c.Status, 400), Kind: "invalid_request_error", Code: code, Param: param, Message: message}
	}
}

// WrongType refuses a value of the wrong kind; want says which kind is valid.
func (c *Checker) WrongType(param string, v *Node, want string) {
	c.Refuse(param, "invalid_type", c.Phrases.WrongType(param, kindNames[v.Kind], want))
}

// WrongValue refuses a value; want says what is valid.
func (c *Checker) WrongValue(param, want string) {
	c.Refuse(param, "invalid_value", c.Phrases.WrongValue(param, want))
}

// Unknown refuses the request because a parameter is unknown.
func (c *Checker) Unknown(param string) {
	c.Refuse(param, "unknown_parameter", c.Phrases.Unknown(param))
}

// Field checks the value of a member for a reader of type R. A nil Field accepts any value.
type Field[R any] func(reader R, v *Node, param string)

// Members checks an object: all required names are present, no name is unknown, and each value that is not null passes its Field.
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

// Under returns the path of a member of param.
func Under(param, name string) string {
	if param == "" {
		return name
	}
	return param + "." + name
}

// Each calls element for the elements of an array, until one is refused.
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

// ExpectText refuses a value that is not a string.
func (c *Checker) ExpectText(v *Node, param string) { c.ExpectKind(v, Text, param) }

// ExpectBool refuses a value that is not a boolean.
func (c *Checker) ExpectBool(v *Node, param string) { c.ExpectKind(v, Boolean, param) }

// ExpectObject refuses a value that is not an object.
func (c *Checker) ExpectObject(v *Node, param string) { c.ExpectKind(v, Object, param) }

// ExpectArray refuses a value that is not an array.
func (c *Checker) ExpectArray(v *Node, param string) { c.ExpectKind(v, Array, param) }

// Missing refuses the request because a parameter is missing.
func (c *Checker) Missing(param string) {
	c.Refuse(param, "missing_required_parameter", c.Phrases.Missing(param))
}

// ExpectKind refuses a value of another kind and reports whether the kind is right.
func (c *Checker) ExpectKind(v *Node, k Kind, param string) bool {
	if v.Kind != k {
		c.WrongType(param, v, kindNames[k])
		return false
	}
	return true
}

// OneOf returns a string that must be one of the words, and "" when it is refused.
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

// MaxInteger is the upper bound for integers that have no other.
const MaxInteger = 1<<63 - 1

// UnknownModel is OpenAI's refusal of an unknown model.
func UnknownModel(name string) *Refusal {
	return &Refusal{Status: 404, Kind: "invalid_request_error", Code: "model_not_found", Param: "model", Message: "The model '" + name + "' does not exist or you do not have access to it."}
}

// AddText appends text to a turn. Markers are applied in all turns except those of the model.
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

// ValidNameOf reports whether s has 1 to most bytes, all of them letters, digits, _ or -.
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
