package sim

import (
	"errors"
	"strconv"
	"strings"
)

// refusal is a request that a provider would not take, in its words.
type refusal struct {
	status  int
	kind    string // "type" of the error
	code    string // "" null
	param   string // "" null
	message string
}

func unreadable(say *phrases, err error) *refusal {
	r := &refusal{status: 400, kind: "invalid_request_error", message: say.readable(err)}
	var twice duplicateError
	if errors.As(err, &twice) {
		r.code, r.param = "duplicate_member", string(twice)
	}
	return r
}

// checker reads the members of a request and keeps the first complaint.
type checker struct {
	phrases *phrases
	root    *node
	ask     *ask
	fault   *refusal
	status  int                               // of what is refused; 0: 400
	address func(model string) (string, bool) // the name inside a model's address; nil: models have names
}

func newChecker(say *phrases) checker {
	return checker{phrases: say, ask: &ask{knobs: knobs{after: -1}, n: 1, parallel: true, choice: toolChoice{mode: "auto"}}}
}

func (c *checker) refuse(param, code, message string) {
	if c.fault == nil {
		c.fault = &refusal{status: max(c.status, 400), kind: "invalid_request_error", code: code, param: param, message: message}
	}
}

func (c *checker) wrongType(param string, v *node, want string) {
	c.refuse(param, "invalid_type", c.phrases.wrongType(param, kindNames[v.kind], want))
}

func (c *checker) wrongValue(param, want string) {
	c.refuse(param, "invalid_value", c.phrases.wrongValue(param, want))
}

func (c *checker) unknown(param string) {
	c.refuse(param, "unknown_parameter", c.phrases.unknown(param))
}

// field checks the value of a member for a reader of type R. A nil field takes anything.
type field[R any] func(reader R, v *node, param string)

// members checks an object: all required names are there, no unknown ones, and each value that is not null by its field.
func members[R any](c *checker, reader R, v *node, param string, fields map[string]field[R], required ...string) bool {
	if !c.typed(v, object, param) {
		return false
	}
	if rename := c.phrases.rename; rename != nil {
		for i, name := range v.names {
			if _, known := fields[rename(name)]; known {
				v.names[i] = rename(name)
			}
		}
	}
	for _, name := range required {
		if v.get(name) == nil {
			c.missing(under(param, name))
		}
	}
	for i, name := range v.names {
		check, known := fields[name]
		switch {
		case !known:
			c.unknown(under(param, name))
		case check != nil && v.items[i].kind != null:
			check(reader, &v.items[i], under(param, name))
		}
	}
	return c.fault == nil
}

func under(param, name string) string {
	if param == "" {
		return name
	}
	return param + "." + name
}

// each hands on the elements of an array.
func (c *checker) each(v *node, param string, element func(v *node, param string)) {
	if !c.typed(v, array, param) {
		return
	}
	for i := range v.items {
		element(&v.items[i], c.phrases.item(param, i))
		if c.fault != nil {
			return
		}
	}
}

// kinds that most members have.
func (c *checker) aText(v *node, param string) { c.typed(v, text, param) }

func (c *checker) aBool(v *node, param string) { c.typed(v, boolean, param) }

func (c *checker) anObject(v *node, param string) { c.typed(v, object, param) }

func (c *checker) anArray(v *node, param string) { c.typed(v, array, param) }

func (c *checker) missing(param string) {
	c.refuse(param, "missing_required_parameter", c.phrases.missing(param))
}

// typed complains about a value of another kind and returns whether it is right.
func (c *checker) typed(v *node, k kind, param string) bool {
	if v.kind != k {
		c.wrongType(param, v, kindNames[k])
		return false
	}
	return true
}

func (c *checker) words(v *node, param string, words ...string) string {
	if v == nil {
		c.missing(param)
		return ""
	}
	if c.typed(v, text, param) {
		if w, err := oneOf(v.text, words...); err == nil {
			return w
		}
		c.wrongValue(param, "one of '"+strings.Join(words, "', '")+"'")
	}
	return ""
}

func (c *checker) integer(v *node, param string, low, high int64) int64 {
	n, ok := v.whole()
	switch {
	case !ok:
		c.wrongType(param, v, "an integer")
	case n < low || n > high:
		c.refuse(param, "integer_out_of_range", c.phrases.outOfRange(param, strconv.FormatInt(low, 10), strconv.FormatInt(high, 10)))
	}
	return n
}

func (c *checker) decimal(v *node, param string, low, high float64) {
	x, ok := v.float()
	switch {
	case !ok:
		c.wrongType(param, v, "a number")
	case x < low || x > high:
		c.refuse(param, "decimal_out_of_range", c.phrases.outOfRange(param, strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64)))
	}
}

const anyInt = 1<<63 - 1

func unknownModel(name string) *refusal {
	return &refusal{status: 404, kind: "invalid_request_error", code: "model_not_found", param: "model", message: "The model '" + name + "' does not exist or you do not have access to it."}
}

// say adds text to a turn. Markers are obeyed wherever a caller writes, not in what the model itself said.
func (c *checker) say(t *turn, s, param string) {
	if t.role != "assistant" {
		plain, err := c.ask.knobs.markers(s)
		if err != nil {
			c.refuse(param, "invalid_value", "Invalid marker: "+err.Error()+".")
		}
		s = plain
	}
	if t.text != "" {
		t.text += "\n"
	}
	t.text += s
}

func validName(s string) bool { return validNameOf(s, 64) }

func validNameOf(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '_' && c != '-' && (c >= 0x80 || !letter(rune(c))) {
			return false
		}
	}
	return true
}

const namePattern = "a string of 1 to 64 letters, digits, '_' and '-'"
