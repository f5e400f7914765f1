package rawjson_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"weir/internal/rawjson"
)

func TestAppendMended(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain", `"abc"`, "abc"},
		{"empty", `""`, ""},
		{"escapes", `"a\n\t\r\b\f\/\\\"z"`, "a\n\t\r\b\f/\\\"z"},
		{"unicode", `"\u00e9\u4F60"`, "é你"},
		{"pair", `"x\ud83d\ude00y"`, "x😀y"},
		{"lone high", `"x\ud83dy"`, "x\uFFFDy"},
		{"lone high before another escape", `"\ud83d\u0041"`, "\uFFFDA"},
		{"lone low", `"\ude00"`, "\uFFFD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !rawjson.Valid([]byte(tt.in)) {
				t.Fatal("not valid")
			}
			if got := string(rawjson.AppendMended(nil, []byte(tt.in))); got != tt.want {
				t.Errorf("got %q want %q", got, tt.want)
			}
			buf := []byte("before ")
			if got := string(rawjson.View(&buf, []byte(tt.in))); got != tt.want || (len(buf) > len("before ")) != strings.Contains(tt.in, `\`) {
				t.Errorf("viewed is %q, in the buffer %q", got, buf)
			}
		})
	}
}

// Valid accepts what the reference accepts when names may repeat, and besides it only half surrogate pairs.
func FuzzValid(f *testing.F) {
	for _, s := range []string{``, `{}`, `[]`, `[1,2,]`, `{"a":1,"a":[true,false,null]}`, `-0.5e+3`, `01`, `1.`, `"\u12"`, `"\ud800"`, ` {"a" : "b"} `, `{"a"}`, `[}`, "\"\x80\"", `nul`, `[[[[]]]]`, `{"a":{}}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := rawjson.Valid(b)
		want := utf8.Valid(b) && jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if got != want && len(b) < 128 {
			t.Errorf("%q: got %v, reference says %v", b, got, want)
		}
		if got && len(b) > 1 && b[0] == '"' && b[len(b)-1] == '"' && !utf8.Valid(rawjson.AppendMended(nil, b)) {
			t.Errorf("%q: text is not UTF-8", b)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	frame := []byte(`{"id":"chatcmpl-9lkfj2l3kfj","object":"chat.completion.chunk","created":1721075651,"model":"gpt-4o-mini-2024-07-18","system_fingerprint":"fp_b705f0c291","choices":[{"index":0,"delta":{"content":" hello world, this is"},"logprobs":null,"finish_reason":null}],"usage":null,"service_tier":"default"}`)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if !rawjson.Valid(frame) {
			b.Fatal("invalid")
		}
	}
}

func TestMended(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{"a": 1, "b":[true,null]}`, `{"a": 1, "b":[true,null]}`},
		{`{"a":1,"b":2,"a":{"c":3}}`, `{"a":{"c":3},"b":2}`},
		{`{"a":1,"\u0061":2}`, `{"a":2}`},
		{`[{"a":1,"a":-1.5e3},"x\ud83dy",{}]`, `[{"a":-1.5e3},"x` + "\uFFFD" + `y",{}]`},
		{`{ "\ud83d" : 1 , "b" : "\"" }`, `{"` + "\uFFFD" + `":1,"b":"\""}`},
		{`"\ude00"`, `"` + "\uFFFD" + `"`},
	} {
		got := rawjson.Mended([]byte(tt.in))
		if string(got) != tt.want {
			t.Errorf("%s became %s, want %s", tt.in, got, tt.want)
		}
		if err := rawjson.Check(got, rawjson.Defaults); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}
