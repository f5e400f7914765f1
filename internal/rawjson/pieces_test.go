package rawjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/rawjson"
)

// What Vertex streams with streamFunctionCallArguments (vercel/ai#14358: lists; google/adk-go#1609: paths of RFC 9535 with brackets and quotes).
func TestPiecesWithPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, pieces, want string }{
		{"nothing", ``, `{}`},
		{"a text in pieces", `{"jsonPath":"$.a","stringValue":"x","willContinue":true},{"jsonPath":"$.a","stringValue":"\n\"y"},{"jsonPath":"$.a","stringValue":""}`, `{"a":"x\n\"y"}`},
		{"half characters", `{"jsonPath":"$.a","stringValue":"\ud83d","willContinue":true},{"jsonPath":"$.a","stringValue":"\ude00"}`, `{"a":"😀"}`},
		{"an empty text", `{"jsonPath":"$.a","stringValue":""}`, `{"a":""}`},
		{"other values", `{"jsonPath":"$.n","numberValue":0.5},{"jsonPath":"$.t","boolValue":true},{"jsonPath":"$.f","boolValue":false},{"jsonPath":"$.z","nullValue":null},{"jsonPath":"$.y","nullValue":"NULL_VALUE"}`, `{"n":0.5,"t":true,"f":false,"z":null,"y":null}`},
		{"nested", `{"jsonPath":"$.a.b[0].c","stringValue":"x"},{"jsonPath":"$.d","numberValue":1},{"jsonPath":"$.a.b[1].c","numberValue":2}`, `{"a":{"b":[{"c":"x"},{"c":2}]},"d":1}`},
		{"lists in lists", `{"jsonPath":"$.a[0][1]","numberValue":1},{"jsonPath":"$.a[0][0]","numberValue":0}`, `{"a":[[0,1]]}`},
		{"quoted names", `{"jsonPath":"$['a.b']","numberValue":1},{"jsonPath":"$.c[\"d]\"]['it\\'s \"']","stringValue":"x"}`, `{"a.b":1,"c":{"d]":{"it's \"":"x"}}}`},
		{"an element without values", `{"jsonPath":"$.a[2]","numberValue":2}`, `{"a":[null,null,2]}`},
		{"a value that is replaced", `{"jsonPath":"$.a","numberValue":1},{"jsonPath":"$.a","numberValue":2}`, `{"a":2}`},
		{"no value", `{"jsonPath":"$.a"}`, `{}`},
		{"a name twice in two notations", `{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$['a']","stringValue":"y"}`, `{"a":"xy"}`},
		{"no path", `{"stringValue":"x"}`, ""},
		{"the whole", `{"jsonPath":"$","stringValue":"x"}`, ""},
		{"a list as arguments", `{"jsonPath":"$[0]","stringValue":"x"}`, ""},
		{"no name", `{"jsonPath":"$..a","stringValue":"x"}`, ""},
		{"a filter", `{"jsonPath":"$.a[*]","stringValue":"x"}`, ""},
		{"an open bracket", `{"jsonPath":"$.a[1","stringValue":"x"}`, ""},
		{"an open quote", `{"jsonPath":"$['a","stringValue":"x"}`, ""},
		{"a text with members", `{"jsonPath":"$.a","stringValue":""},{"jsonPath":"$.a.b","stringValue":"x"}`, ""},
		{"members with a text", `{"jsonPath":"$.a.b","stringValue":""},{"jsonPath":"$.a","stringValue":"x"}`, ""},
		{"a list with members", `{"jsonPath":"$.a[0]","numberValue":1},{"jsonPath":"$.a.b","numberValue":1}`, ""},
		{"an absurd place", `{"jsonPath":"$.a[2000000000]","numberValue":1}`, ""},
		{"absurd depth", `{"jsonPath":"$` + strings.Repeat(".a", 65) + `","numberValue":1}`, ""},
	} {
		var p rawjson.Pieces
		err := p.Add([]byte("[" + c.pieces + "]"))
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %s", c.name, p.Append(nil))
			}
			continue
		}
		if got := p.Append(nil); err != nil || !same(string(got), c.want) {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func same(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// Whatever the arguments are: cut into pieces in any order that keeps lists and texts in sequence, they come out as they were.
func TestPiecesAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var pieces []string
		add := func(path, kind, value, more string) {
			quoted, _ := json.Marshal(path)
			pieces = append(pieces, fmt.Sprintf(`{"jsonPath":%s,%q:%s%s}`, quoted, kind, value, more))
		}
		names := rapid.SampledFrom([]string{"a", "ö", "b_c", "d-e"})
		var value func(path string, depth int) any
		value = func(path string, depth int) any {
			switch rapid.IntRange(0, 6-min(2*(depth/3), 2)).Draw(t, "kind") {
			case 0:
				add(path, "numberValue", "1.5", "")
				return 1.5
			case 1:
				add(path, "boolValue", "true", "")
				return true
			case 2:
				add(path, "nullValue", "null", "")
				return nil
			case 3, 4:
				var text string
				for _, s := range rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "text") {
					quoted, _ := json.Marshal(s)
					add(path, "stringValue", string(quoted), `,"willContinue":true`)
					text += s
				}
				return strings.ToValidUTF8(text, "\uFFFD")
			case 5:
				out := map[string]any{}
				for _, n := range rapid.SliceOfNDistinct(names, 1, 3, rapid.ID[string]).Draw(t, "names") {
					out[n] = value(path+"."+n, depth+1)
				}
				return out
			}
			out := []any{}
			for i := range rapid.IntRange(1, 3).Draw(t, "elements") {
				out = append(out, value(fmt.Sprintf("%s[%d]", path, i), depth+1))
			}
			return out
		}
		want := map[string]any{"x": value("$.x", 0), "y": value("$.y", 0)}
		var p rawjson.Pieces
		for len(pieces) > 0 {
			n := rapid.IntRange(1, len(pieces)).Draw(t, "together")
			if err := p.Add([]byte("[" + strings.Join(pieces[:n], ",") + "]")); err != nil {
				t.Fatal(err)
			}
			pieces = pieces[n:]
		}
		var got any
		out := p.Append(nil)
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}
