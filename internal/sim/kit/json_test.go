package kit

import (
	"errors"
	"strings"
	"testing"
)

// What a strict provider refuses is refused with the error that its answer names.
func TestParseIsStrict(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"empty":                            {"", errSyntax},
		"white space alone":                {" \n", errSyntax},
		"a value after the value":          {"{} 1", errSyntax},
		"a byte after the value":           {"{}x", errSyntax},
		"a byte order mark":                {"\ufeff{}", errSyntax},
		"an object that does not end":      {`{"a":1`, errSyntax},
		"an array that does not end":       {`[1,`, errSyntax},
		"a string that does not end":       {`"a`, errSyntax},
		"a closing bracket of other kind":  {`[1}`, errSyntax},
		"a comma before the end":           {`{"a":1,}`, errSyntax},
		"a comma before an array's end":    {`[1,]`, errSyntax},
		"a missing comma":                  {`[1 2]`, errSyntax},
		"a missing colon":                  {`{"a" 1}`, errSyntax},
		"a number as a name":               {`{1:1}`, errSyntax},
		"a leading zero":                   {`01`, errSyntax},
		"a plus sign":                      {`+1`, errSyntax},
		"a point without digits":           {`1.`, errSyntax},
		"an unknown word":                  {`nul`, errSyntax},
		"an unknown escape":                {`"\x"`, errSyntax},
		"a control character":              {"\"\x01\"", errSyntax},
		"a short escape":                   {`"\u12"`, errSyntax},
		"bytes that are not UTF-8":         {"\"\xff\"", errUTF8},
		"half of a pair":                   {`"\ud83c"`, errSurrogate},
		"half of a pair, then text":        {`"\ud83cxxxxxxxx"`, errSurrogate},
		"half of a pair, then an escape":   {`"\ud83c\n"`, errSurrogate},
		"half of a pair, then another":     {`"\ud83c\ud83c"`, errSurrogate},
		"the second half alone":            {`"\udf0a"`, errSurrogate},
		"half of a pair in a name":         {`{"\ud83c":1}`, errSurrogate},
		"a name twice":                     {`{"a":1,"b":2,"a":3}`, duplicateError("a")},
		"a name twice, once with escapes":  {`{"a/~":1,"\u0061/~":3}`, duplicateError("a/~")},
		"a name twice in an inner object":  {`[{"x":{"a":1,"a":3}}]`, duplicateError("a")},
		"an empty name twice":              {`{"":1,"":3}`, duplicateError("")},
		"nesting beyond the limit":         {nested(maxDepth + 2), errDeep},
		"nesting beyond the limit, broken": {strings.Repeat("[", 100_000), errDeep},
		"nesting at the limit":             {nested(maxDepth + 1), nil},
		"all kinds":                        {` {"a":[1,-0.5e+3,true,null,"\u00e9\ud83c\udf0a\/"]} `, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse([]byte(c.body)); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// Raw bytes are those of the request, without the white space around them.
func TestParseKeepsRawBytes(t *testing.T) {
	t.Parallel()
	body := []byte(" { \"a\" : [ 1.50 , { } , \"\\u0041\" ] , \"b\" : false }\n")
	n, err := Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	a := n.Get("a")
	for _, c := range []struct {
		n    *Node
		want string
	}{
		{n, strings.TrimSpace(string(body))}, {a, `[ 1.50 , { } , "\u0041" ]`}, {&a.Items[0], "1.50"}, {&a.Items[1], "{ }"},
		{&a.Items[2], `"\u0041"`}, {n.Get("b"), "false"},
	} {
		if string(c.n.Raw) != c.want {
			t.Errorf("raw %q, want %q", c.n.Raw, c.want)
		}
	}
	if a.Items[2].Text != "A" {
		t.Errorf("text %q, want A", a.Items[2].Text)
	}
}
