package kit

import (
	"fmt"
	"strings"
	"testing"
)

// Schemas that have no end, or values beyond all bounds, are answered with a value all the same, of some size and after some work.
func TestInventionHasAnEnd(t *testing.T) {
	t.Parallel()
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, schema := range map[string]string{
		"itself":                             `{"$ref":"#"}`,
		"itself in all of":                   `{"allOf":[{"$ref":"#"}]}`,
		"itself twice in all of":             `{"allOf":[{"$ref":"#"},{"$ref":"#"}],"required":["a","b"]}`,
		"a circle":                           `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#"}]}]}}}`,
		"itself in any of in all of":         `{"anyOf":[{"allOf":[{"$ref":"#"},{"$ref":"#"}]}]}`,
		"members without end":                `{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`,
		"elements without end":               `{"type":"array","minItems":1000,"items":{"$ref":"#"}}`,
		"unique elements without end":        `{"type":"array","minItems":1000,"uniqueItems":true,"items":{"$ref":"#"}}`,
		"unique constants":                   `{"type":"array","minItems":1000,"uniqueItems":true,"items":{"const":"` + strings.Repeat("x", 1<<16) + `"}}`,
		"long constants":                     `{"type":"array","minItems":1000,"items":{"type":"array","minItems":1000,"items":{"const":"` + strings.Repeat("x", 1<<18) + `"}}}`,
		"long texts":                         `{"type":"array","minItems":1000,"items":{"type":"string","minLength":100000}}`,
		"patterns that grow":                 `{"type":"array","minItems":1000,"items":{"pattern":"(((a{1000}){1000}){1000})?=x"}}`,
		"patterns that come to nothing":      `{"type":"array","minItems":1000,"items":{"type":"array","minItems":1000,"items":{"pattern":"([` + strings.Repeat("a", 4000) + `]{1000}){1000}(?=x)"}}}`,
		"many names again and again":         `{"allOf":[` + many(1000, `{"allOf":[{"$ref":"#/$defs/a"},{"title":"%d"}]}`) + `],"$defs":{"a":{` + many(5000, `"x%d":1`) + `}}}`,
		"a long chain":                       `{"allOf":[{"$ref":"#/$defs/a0"}],"$defs":{` + many(50_000, `"a%[1]d":{"allOf":[{"$ref":"#/$defs/a%[1]d0"},{"$ref":"#/$defs/a%[1]d1"}]}`) + `}}`,
		"required by the thousand":           `{"type":"object","required":[` + many(5000, `"r%d"`) + `],"properties":{` + many(5000, `"p%d":{}`) + `},"additionalProperties":{"$ref":"#"}}`,
		"a long path":                        `{"allOf":[{"$ref":"#` + strings.Repeat("/", 1<<20) + `"},{"$ref":"#"}]}`,
		"bounds that exclude all, and zeros": `{"type":"array","minItems":50,"items":{"type":"number","minimum":1e308,"maximum":-1e308,"multipleOf":5e-324}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Parse([]byte(schema))
			if err != nil {
				t.Fatal(err)
			}
			v := generator{root: s, words: []string{"word"}, left: maxSteps, atoms: 10 * maxPatternAtoms, most: maxGeneratedBytes}
			out := v.value(nil, s)
			if len(out) > maxGeneratedBytes+len(schema)+1<<20 {
				t.Errorf("it has %d bytes", len(out))
			}
			if _, err := Parse(out); err != nil {
				t.Errorf("%v: %.100s", err, out)
			}
			if v.depth != 0 {
				t.Errorf("it ends %d deep", v.depth)
			}
		})
	}
}

// What is invented for a schema is JSON, and the same each time.
func FuzzInvent(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"allOf":[{"$ref":"#"},{"anyOf":[{"enum":[1]}]}]}`, `{"pattern":"^[a-c]{2,3}$","maxLength":2}`,
		`{"type":"array","prefixItems":[{"type":"integer","multipleOf":3}],"minItems":2,"uniqueItems":true}`, `{"oneOf":[{"format":"uuid"}],"minProperties":3}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse(raw)
		if err != nil {
			return
		}
		out := generate(nil, s, 1, []string{"word"})
		if _, err := Parse(out); err != nil {
			t.Fatalf("%v: %.200s", err, out)
		}
		if again := generate(nil, s, 1, []string{"word"}); string(again) != string(out) {
			t.Fatalf("%.200s, and then %.200s", out, again)
		}
	})
}
