package heal_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/plugin/heal"
	"weir/internal/rawjson"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"JSON stays", ` {"a": [1, 2.50]} `, ` {"a": [1, 2.50]} `},
		{"JSON that is no object stays", `"text"`, `"text"`},
		{"a repeated name stays", `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{"a fence", "```json\n{\"a\": 1}\n```", `{"a": 1}`},
		{"a fence in prose", "Here you are:\n```\n{\"a\": 1}\n```\nEnjoy!", `{"a": 1}`},
		{"a fence that nobody closed", "```json\n{\"a\": [1, 2", `{"a":[1,2]}`},
		{"a fence on one line", "```{\"a\": 1}```", `{"a": 1}`},
		{"a fence inside a text", "{\"code\": \"```go\\nx\\n```\",}", "{\"code\":\"```go\\nx\\n```\"}"},
		{"prose before and behind", `Sure! {"a": 1} is the answer.`, `{"a": 1}`},
		{"prose with brackets", `As [asked]: {"answer": "long enough"}`, `{"answer": "long enough"}`},
		{"a trailing comma", `{"a": [1, 2,], "b": {"c": 3,},}`, `{"a":[1,2],"b":{"c":3}}`},
		{"commas too many", `{"a": 1,, "b": [1,,2]}`, `{"a":1,"b":[1,2]}`},
		{"missing commas", "{\"a\": \"x\"\n\"b\": \"y\" \"c\": [\"1\" \"2\"]}", `{"a":"x","b":"y","c":["1","2"]}`},
		{"single quotes", `{'a': 'it\'s', 'b': 'say "no"'}`, `{"a":"it's","b":"say \"no\""}`},
		{"typographer's quotes", `{“a”: “x”}`, `{"a":"x"}`},
		{"unquoted names", `{a: 1, b_2: {c-d: true}}`, `{"a":1,"b_2":{"c-d":true}}`},
		{"unquoted text", `{"a": some words, "b": [red, green]}`, `{"a":"some words","b":["red","green"]}`},
		{"an unclosed object", `{"a": {"b": 1`, `{"a":{"b":1}}`},
		{"an unclosed text", `{"a": "half a sent`, `{"a":"half a sent"}`},
		{"an unclosed name", `{"a": 1, "nam`, `{"a":1}`},
		{"a name without a value", `{"a": 1, "b":`, `{"a":1,"b":null}`},
		{"broken off in an escape", `{"a": "x\`, `{"a":"x"}`},
		{"a bracket too few inside", `{"a": [1, 2, "b": 3}`, ""},
		{"a list closed as an object", `{"a": [1, 2}`, `{"a":[1,2]}`},
		{"Python", `{'a': True, 'b': None, 'c': False, 'd': NaN}`, `{"a":true,"b":null,"c":false,"d":null}`},
		{"numbers of other spellings", `{"a": +1, "b": .5, "c": 007, "d": 1_000, "e": 5., "f": -01.50}`, `{"a":1,"b":0.5,"c":7,"d":1000,"e":5,"f":-1.50}`},
		{"a number with a unit", `{"a": 12 kg}`, `{"a":"12 kg"}`},
		{"quotes inside a text", `{"a": "He said "hi" to me", "b": 1}`, `{"a":"He said \"hi\" to me","b":1}`},
		{"a line break inside a text", "{\"a\": \"one\ntwo\ttab\"}", `{"a":"one\ntwo\ttab"}`},
		{"escapes of other languages", `{"a": "\d+ \x41 \u12"}`, `{"a":"\\d+ \\x41 \\u12"}`},
		{"comments", "{\"a\": 1, // one\n /* two */ \"b\": 2}", `{"a":1,"b":2}`},
		{"a missing colon", `{"a" 1}`, `{"a":1}`},
		{"Ruby", `{"a" => 1}`, `{"a":1}`},
		{"bytes that are no text", "{\"a\": \"\xff\"}", "{\"a\": \"\uFFFD\"}"},
		{"prose alone", "I cannot do that.", ""},
		{"nothing", "", ""},
		{"deeper than anybody nests", strings.Repeat("[", 5000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := heal.JSON([]byte(c.in))
			if c.want == "" {
				if ok {
					t.Fatalf("mended to %s", got)
				}
				if !ok && string(got) != c.in {
					t.Fatalf("changed to %s without being mended", got)
				}
				return
			}
			if !ok || string(got) != c.want {
				t.Errorf("got %s (%v), want %s", got, ok, c.want)
			}
		})
	}
}

// Whatever surrounds JSON, it is found unchanged.
func TestFindsWhatIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := `{"v":` + value(t, 3) + `,"w":"` + strings.Repeat("x", 40) + `"}`
		before := rapid.StringMatching(`[A-Za-z .:!]{0,30}`).Draw(t, "before")
		behind := rapid.StringMatching(`[A-Za-z .:!]{0,30}`).Draw(t, "behind")
		text := before + doc + behind
		if rapid.Bool().Draw(t, "fence") {
			text = before + "\n```json\n" + doc + "\n```\n" + behind
		}
		got, ok := heal.JSON([]byte(text))
		if !ok || string(bytes.TrimSpace(got)) != doc { // what is JSON but for its margins stays
			t.Fatalf("%q gave %q", text, got)
		}
	})
}

func value(t *rapid.T, depth int) string {
	switch k := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case k == 0:
		return "true"
	case k == 1:
		return rapid.StringMatching(`-?[1-9][0-9]{0,5}(\.[0-9]{1,3})?`).Draw(t, "number")
	case k == 2 || depth == 0:
		return string(rawjson.AppendText(nil, rapid.String().Draw(t, "text")))
	case k == 3:
		return "[" + value(t, depth-1) + ", " + value(t, depth-1) + "]"
	default:
		return `{"` + rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "name") + `": ` + value(t, depth-1) + "}"
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":1,}`, "```json\n{'a': True}\n```", `{a: "b`, `[1 2 3`, `{"a":"x"y"z"}`, "{\"a\":\n,", `{"a":\`, `[[[{`, "{“a”:‘b’}", `{"a"=>1;b:.5}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		kept := bytes.Clone(in)
		out, ok := heal.JSON(in)
		if !bytes.Equal(in, kept) {
			t.Fatal("the input was changed")
		}
		if rawjson.Valid(in) && !bytes.Equal(out, in) {
			t.Fatalf("valid %q became %q", in, out)
		}
		if ok != rawjson.Valid(out) && ok {
			t.Fatalf("%q became %q, which is no JSON", in, out)
		}
		if again, still := heal.JSON(out); ok && (!still || !bytes.Equal(again, out)) {
			t.Fatalf("%q is not stable: %q", out, again)
		}
	})
}
