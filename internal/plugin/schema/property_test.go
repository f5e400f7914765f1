package schema_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/plugin/schema"
)

// document draws a small JSON value from few names and values, so that schemas often fit.
func document(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth == 0 {
			kind %= 6
		}
		switch kind {
		case 6:
			return "[" + strings.Join(rapid.SliceOfN(document(depth-1), 0, 4).Draw(t, "elements"), ",") + "]"
		case 7:
			members := map[string]string{}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "names") {
				members[name] = document(depth-1).Draw(t, "member")
			}
			out := []string{}
			for name, v := range members {
				out = append(out, strconv.Quote(name)+":"+v)
			}
			return "{" + strings.Join(out, ",") + "}"
		}
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	})
}

var (
	names   = []string{"a", "b", "aa", "ж"}
	scalars = []string{"0", "1", "1.0", "2.5", "-3e2", "1e999", `""`, `"a"`, `"aab"`, `"\u0061"`, "null", "true", "false"}
)

// keyword draws one member of a schema.
func keyword(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		sub := func() string { return drawn(depth-1).Draw(t, "schema") }
		one := []func() string{
			func() string {
				return `"type":"` + rapid.SampledFrom([]string{"object", "array", "string", "number", "integer", "boolean", "null"}).Draw(t, "type") + `"`
			},
			func() string {
				return `"enum":[` + document(1).Draw(t, "enum") + `,` + document(0).Draw(t, "enum") + `]`
			},
			func() string { return `"const":` + document(1).Draw(t, "const") },
			func() string { return `"minimum":` + rapid.SampledFrom([]string{"0", "1.0", "2"}).Draw(t, "minimum") },
			func() string {
				return `"multipleOf":` + rapid.SampledFrom([]string{"0.5", "1", "2"}).Draw(t, "multiple")
			},
			func() string { return `"maxLength":` + strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "length")) },
			func() string { return `"minItems":` + strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "items")) },
			func() string { return `"minProperties":` + strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "members")) },
			func() string { return `"required":["` + rapid.SampledFrom(names).Draw(t, "required") + `"]` },
			func() string { return `"uniqueItems":true` },
			func() string {
				return `"pattern":"` + rapid.SampledFrom([]string{"^a*$", "b", "(a|b){2}"}).Draw(t, "pattern") + `"`
			},
		}
		if depth > 0 {
			one = append(one,
				func() string {
					return `"properties":{"` + rapid.SampledFrom(names).Draw(t, "name") + `":` + sub() + `}`
				},
				func() string { return `"patternProperties":{"^a":` + sub() + `}` },
				func() string { return `"additionalProperties":` + sub() },
				func() string { return `"propertyNames":` + sub() },
				func() string { return `"dependentRequired":{"a":["b"]}` },
				func() string { return `"dependentSchemas":{"a":` + sub() + `}` },
				func() string { return `"items":` + sub() },
				func() string { return `"prefixItems":[` + sub() + `]` },
				func() string { return `"contains":` + sub() + `,"maxContains":1` },
				func() string { return `"anyOf":[` + sub() + `,` + sub() + `]` },
				func() string { return `"oneOf":[` + sub() + `,` + sub() + `]` },
				func() string { return `"allOf":[` + sub() + `,` + sub() + `]` },
				func() string { return `"not":` + sub() },
				func() string { return `"if":` + sub() + `,"then":` + sub() + `,"else":` + sub() },
			)
		}
		return rapid.SampledFrom(one).Draw(t, "keyword")()
	})
}

func drawn(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		members := map[string]string{}
		for _, m := range rapid.SliceOfN(keyword(depth), 0, 3).Draw(t, "keywords") {
			name, _, _ := strings.Cut(m, ":")
			members[name] = m
		}
		out := []string{}
		for _, m := range members {
			out = append(out, m)
		}
		return "{" + strings.Join(out, ",") + "}"
	})
}

// A schema and others that mean the same, or the opposite, agree on every document.
func TestSchemasThatMeanTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, doc := drawn(3).Draw(t, "schema"), document(3).Draw(t, "document")
		verdict := func(raw string) error {
			s, err := schema.Compile(t.Context(), []byte(raw))
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			return s.Check(t.Context(), []byte(doc))
		}
		want := verdict(raw)
		if errors.Is(want, schema.ErrTooLarge) {
			return // it has numbers that are not compared; those are decided nowhere
		}
		for _, same := range []string{
			`{"allOf":[` + raw + `]}`, `{"anyOf":[false,` + raw + `]}`, `{"oneOf":[` + raw + `,false]}`, `{"not":{"not":` + raw + `}}`,
			`{"$ref":"#/$defs/s%20","$defs":{"s ":` + raw + `}}`, `{"$ref":"#s","$defs":{"s":{"$anchor":"s","allOf":[` + raw + `]}}}`,
			`{"if":` + raw + `,"else":false}`,
		} {
			if got := verdict(same); (got == nil) != (want == nil) {
				t.Fatalf("%s says %v, and %s says %v", raw, want, same, got)
			}
		}
		if got := verdict(`{"not":` + raw + `}`); (got == nil) == (want == nil) {
			t.Fatalf("%s and its opposite both say %v", raw, got)
		}
	})
}
