package media

import (
	"strconv"
	"strings"

	"weir/internal/sim/kit"
)

// detailPhrases are those of providers whose servers check bodies by their types and report what is wrong where.
var detailPhrases = kit.Phrases{
	Item:    func(param string, i int) string { return param + "." + strconv.Itoa(i) },
	Missing: func(string) string { return "Field required" },
	Unknown: func(string) string { return "Extra inputs are not permitted" },
	WrongType: func(_, _, want string) string {
		return "Input should be a valid " + strings.TrimPrefix(strings.TrimPrefix(want, "a "), "an ")
	},
	WrongValue: func(_, want string) string { return "Input should be " + want },
	OutOfRange: func(_, low, high string) string { return "Input should be from " + low + " to " + high },
	Readable:   func(error) string { return "JSON decode error" },
}

// detailTypes are the names of validation errors.
var detailTypes = map[string]string{
	"missing_required_parameter": "missing", "unknown_parameter": "extra_forbidden", "invalid_type": "type_error", "integer_out_of_range": "out_of_range",
	"decimal_out_of_range": "out_of_range", "string_above_max_length": "string_too_long", "content_policy_violation": "content_policy_violation",
}

// detailsError is an error with a place for status 422 and a sentence otherwise.
func detailsError(f *kit.Refusal) []byte {
	if f.Status != 422 {
		return JSONOf("detail", f.Message)
	}
	loc := []any{"body"}
	if f.Param != "" {
		for _, name := range strings.Split(f.Param, ".") {
			loc = append(loc, name)
		}
	}
	kind := detailTypes[f.Code]
	if kind == "" {
		kind = "value_error"
	}
	return JSONOf("detail", []any{JSONOf("loc", loc, "msg", f.Message, "type", kind)})
}
