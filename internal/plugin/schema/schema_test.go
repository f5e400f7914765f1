package schema_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/quick"

	"weir/internal/plugin/schema"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	person := `{"type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":["integer","null"],"minimum":0},
		"tags":{"type":"array","items":{"enum":["a","b"]},"maxItems":2,"uniqueItems":true}},"required":["name","age"],"additionalProperties":false}`
	tree := `{"$defs":{"node":{"type":"object","properties":{"v":{"type":"number"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}},"$ref":"#/$defs/node"}`
	for _, c := range []struct{ name, schema, doc, want string }{
		{"conforms", person, ` {"name":"A","age":3,"tags":["a","b"]} `, ""},
		{"null where it may be", person, `{"name":"A","age":null}`, ""},
		{"a whole number with a point", person, `{"name":"A","age":3.0}`, ""},
		{"no JSON", person, `{"name":`, "$ is no JSON"},
		{"wrong type", person, `[]`, "$ must be object"},
		{"wrong type inside", person, `{"name":1,"age":1}`, "$.name must be string"},
		{"one of two types", person, `{"name":"A","age":"1"}`, "$.age must be integer or null"},
		{"no whole number", person, `{"name":"A","age":1.5}`, "$.age must be integer or null"},
		{"missing", person, `{"name":"A"}`, "$.age is required"},
		{"one too many", person, `{"name":"A","age":1,"x":1}`, "$.x is not allowed"},
		{"too short", person, `{"name":"","age":1}`, "$.name must have at least 1 characters"},
		{"too small", person, `{"name":"A","age":-1}`, "$.age must be at least 0"},
		{"no such value", person, `{"name":"A","age":1,"tags":["c"]}`, "$.tags[0] must be one of the values of the schema"},
		{"repeated", person, `{"name":"A","age":1,"tags":["a","\u0061"]}`, "$.tags[1] must not repeat an element"},
		{"a tree", tree, `{"v":1,"next":{"v":2e0,"next":null}}`, ""},
		{"a broken tree", tree, `{"v":1,"next":{"v":"2","next":null}}`, "$.next matches none of the schemas that are allowed"},
		{"the root itself", `{"properties":{"x":{"$ref":"#"}},"additionalProperties":false}`, `{"x":{"x":{"y":1}}}`, "$.x.x.y is not allowed"},
		{"const", `{"const":{"a":[1,2]}}`, `{"a":[1.0,20e-1]}`, ""},
		{"another const", `{"const":{"a":[1,2]}}`, `{"a":[1]}`, "$ must be the constant of the schema"},
		{"order of members does not count", `{"enum":[{"a":1,"b":2}]}`, `{"b":2,"a":1}`, ""},
		{"oneOf", `{"oneOf":[{"type":"integer"},{"minimum":5}]}`, `7`, "$ must match exactly one of the schemas and matches 2"},
		{"allOf", `{"allOf":[{"minimum":5},{"exclusiveMaximum":9}]}`, `9`, "$ must be below 9"},
		{"exclusive", `{"exclusiveMinimum":5}`, `5`, "$ must be above 5"},
		{"maximum", `{"maximum":5}`, `5.0000000000000000001`, "$ must be at most 5"},
		{"a huge number", `{"maximum":5}`, `1e999999999`, "$ must be at most 5"},
		{"multiple", `{"multipleOf":0.01}`, `0.07`, ""},
		{"no multiple", `{"multipleOf":0.1}`, `0.25`, "$ must be a multiple of 0.1"},
		{"not", `{"not":{"type":"string"}}`, `"x"`, "$ matches a schema that is forbidden"},
		{"if", `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, "$.b is required"},
		{"else", `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, "$.c is required"},
		{"prefix", `{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, `["a",1,"b"]`, "$[2] must be number"},
		{"older prefix", `{"items":[{"type":"string"}]}`, `[1]`, "$[0] must be string"},
		{"contains", `{"contains":{"const":1}}`, `[2,3]`, "$ does not have the required elements"},
		{"contains none, which is enough", `{"contains":{"const":1},"minContains":0}`, `[2,3]`, ""},
		{"pattern", `{"pattern":"^[a-z]+$"}`, `"aB"`, "$ must match its pattern"},
		{"pattern of names", `{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-a":1}`, "$.x-a must be string"},
		{"length in characters", `{"maxLength":2}`, `"жж"`, ""},
		{"properties", `{"minProperties":2}`, `{"a":1}`, "$ must have at least 2 members"},
		{"formats say nothing", `{"type":"string","format":"email"}`, `"x"`, ""},
		{"a whole number, whatever its size", `{"type":"integer"}`, `1e300`, ""},
		{"nobody knows whether it is whole", `{"type":"integer"}`, `1e999`, schema.ErrTooLarge.Error()},
		{"names", `{"propertyNames":{"maxLength":2}}`, `{"aaa":1}`, "$.aaa has a member that the schema does not allow"},
		{"dependencies", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "$.b is required"},
		{"dependent schemas", `{"dependentSchemas":{"a":{"maxProperties":1}}}`, `{"a":1,"b":1}`, "$ must have at most 1 members"},
		{"older dependencies", `{"dependencies":{"a":["b"],"b":{"required":["c"]}}}`, `{"a":1,"b":1}`, "$.c is required"},
		{"references in older drafts stand alone", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/a","type":"string"}},"definitions":{"a":{}}}`, `{"a":1}`, ""},
		{"an anchor", `{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"null"}}}`, `1`, "$ must be null"},
		{"true allows all", `true`, `[]`, ""},
		{"false allows nothing", `{"properties":{"a":false}}`, `{"a":1}`, "$.a is not allowed"},
		{"a circle of references", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `1`, schema.ErrTooLarge.Error()},
		{"too much work", `{"anyOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"},{"type":"null"}]}}}}`,
			strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40), schema.ErrTooLarge.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := schema.Compile(t.Context(), []byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.Check(t.Context(), []byte(c.doc)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{`, `1`, `{"type":1}`, `{"required":[1]}`, `{"pattern":"(?=x)"}`, `{"patternProperties":{"(":{}}}`, `{"$ref":"#/$defs/none"}`, `{"$ref":"https://example.com/s"}`,
		`{"type":"text"}`, `{"type":[]}`, `{"enum":1}`, `{"multipleOf":0}`, `{"minimum":1e999}`, `{"required":"a"}`, `{"dependentRequired":{"a":{}}}`, `{"$schema":"https://example.com/s"}`,
		`{"$dynamicRef":"#a"}`, `{"unevaluatedItems":false}`, `{"allOf":[{"$id":"a"}]}`, `{"pattern":"\\Aa"}`, `{"pattern":"(?i)a"}`, `{"$ref":"#a"}`, `{"$ref":"#/%"}`,
		`{"anyOf":{}}`, `{"minimum":"1"}`, `{"minLength":-1}`, `{"properties":{"a":[]}}`, strings.Repeat(`{"not":`, 120) + "{}" + strings.Repeat("}", 120),
	} {
		if _, err := schema.Compile(t.Context(), []byte(s)); err == nil {
			t.Errorf("%.80s was compiled", s)
		}
	}
}

// Numbers compare alike however they are spelled.
func TestSpellingOfNumbers(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(t.Context(), []byte(`{"enum":[1500]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{"1500", "1500.0", "1.5e3", "15E2", "150000e-2"} {
		if err := s.Check(t.Context(), []byte(doc)); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
	odd := func(n int32) bool { return n == 1500 || s.Check(t.Context(), appendInt(n)) != nil }
	if err := quick.Check(odd, nil); err != nil {
		t.Error(err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range [][2]string{
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"a":{"a":1}}`},
		{`{"anyOf":[{"enum":[1,"x",null]},{"prefixItems":[{"multipleOf":0.1}],"uniqueItems":true}]}`, `[0.3,0.3]`},
		{`{"patternProperties":{"^a+$":{"pattern":"b*"}},"additionalProperties":false,"not":{"const":{}}}`, `{"aa":"b"}`},
		{`{"oneOf":[true,false],"if":{"minItems":1},"then":{"contains":{"type":"null"}}}`, `[null]`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	for _, h := range hostile {
		if len(h.schema)+len(h.doc) < 512 {
			f.Add([]byte(h.schema), []byte(h.doc))
		}
	}
	f.Fuzz(func(t *testing.T, raw, doc []byte) {
		before, _ := allocated()
		s, err := schema.Compile(t.Context(), raw)
		compiled, _ := allocated()
		if compiled-before > mostForCompiling {
			t.Fatalf("compiling allocated %d MiB", (compiled-before)>>20)
		}
		if err != nil {
			return
		}
		first := s.Check(t.Context(), doc)
		if checked, _ := allocated(); checked-compiled > mostForChecking {
			t.Fatalf("checking allocated %d MiB", (checked-compiled)>>20)
		}
		if errors.Is(first, schema.ErrTooLarge) {
			return
		}
		again := s.Check(t.Context(), doc)
		if (first == nil) != (again == nil) || first != nil && first.Error() != again.Error() {
			t.Fatalf("%v, and then %v", first, again)
		}
	})
}

func appendInt(n int32) []byte { return strconv.AppendInt(nil, int64(n), 10) }
