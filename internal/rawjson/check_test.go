package rawjson_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

func TestCheckCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/jsontestsuite/test_parsing/*.json")
	if err != nil || len(files) != 318 {
		t.Fatalf("found %d corpus files, want 318 (%v)", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// the corpus has duplicate names under y_; this gateway refuses them, and says why
			want := name[:1]
			if strings.HasPrefix(name, "y_object_duplicated_key") {
				want = "d"
			}
			checkVerdict(t, "alone", want, b)
			field := fmt.Appendf(nil, `{"model":"a/b","ignored":%s,"stream":false}`, b)
			// bytes that close the object early can make a valid whole out of an invalid part; the oracle decides those
			if want == "n" && jsontext.Value(field).IsValid() {
				want = "i"
			}
			checkVerdict(t, "as a field value", want, field)
		})
	}
}

func checkVerdict(t *testing.T, where, want string, b []byte) {
	t.Helper()
	err := rawjson.Check(b, rawjson.Defaults)
	switch want {
	case "y":
		if err != nil {
			t.Errorf("%s: refused: %v", where, err)
		}
	case "n":
		if err == nil {
			t.Errorf("%s: accepted", where)
		}
	case "d":
		if !fault.Is(asError(err), fault.DuplicateKey) {
			t.Errorf("%s: got %v, want a duplicate key", where, err)
		}
	}
	if err != nil && (err.Public == "" || len(err.Public) > 1000) {
		t.Errorf("%s: the sentence %q is no help", where, err.Public)
	}
}

func asError(e *fault.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func TestCheck(t *testing.T) {
	t.Parallel()
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	object := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":0`, i)
		}
		return "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	array := func(n int) string { return "[" + strings.Repeat("0,", n-1) + "0]" }
	small := rawjson.Limits{Values: 5}
	for _, tc := range []struct {
		name  string
		body  string
		lim   rawjson.Limits
		kind  fault.Kind
		ok    bool
		param string
		says  string
	}{
		{name: "object with space", body: " {\"a\" : [1, 2.5e3, \"x\"]}\r\n", ok: true},
		{name: "Cyrillic", body: `{"а":"б"}`, ok: true},
		{name: "surrogate pair escape", body: `"\ud83d\ude00"`, ok: true},
		{name: "escape before a long run", body: `"\u0000` + strings.Repeat("0", 100) + `\ud83d\ude00` + strings.Repeat("x", 100) + `"`, ok: true},
		{name: "long run between two halves of a pair", body: `"\ud83d` + strings.Repeat("x", 100) + `\ude00"`, kind: fault.Invalid},
		{name: "long names that differ", body: `{"` + strings.Repeat("x", 100) + `":1,"` + strings.Repeat("x", 101) + `":2}`, ok: true},
		{name: "short escape before a long run", body: `"\u12` + strings.Repeat("z", 100) + `"`, kind: fault.Invalid},
		{name: "NUL escape", body: `"\u0000"`, ok: true},
		{name: "depth 256", body: nest(256), ok: true},
		{name: "depth 257", body: nest(257), kind: fault.TooDeep, says: "256"},
		{name: "brackets in strings are no depth", body: `["` + strings.Repeat("[", 500) + `"]`, ok: true},
		{name: "quotes in strings", body: `["a\"[[\\", "\\\""]`, ok: true},
		{name: "10000 keys", body: object(10_000), ok: true},
		{name: "10001 keys", body: object(10_001), kind: fault.Invalid, says: "10000 members"},
		{name: "keys are counted by object", body: `[` + object(6000) + `,` + object(6000) + `]`, ok: true},
		{name: "2000000 values", body: array(1_999_999), ok: true},
		{name: "2000001 values", body: array(2_000_000), kind: fault.Invalid, says: "2000000 values"},
		{name: "five values", body: `[[],{},{"a":1}]`, lim: small, ok: true},
		{name: "six values", body: `[[],{},{"a":1},0]`, lim: small, kind: fault.Invalid, says: "5 values"},
		{name: "duplicate at the top", body: `{"a":1,"b":2,"a":3}`, kind: fault.DuplicateKey, param: "a", says: "twice"},
		{name: "duplicate by escape", body: `{"model":1,"mod\u0065l":3}`, kind: fault.DuplicateKey, param: "model"},
		{name: "duplicate inside", body: `{"provider":{"only":[],"only":[]}}`, kind: fault.DuplicateKey, param: "provider.only"},
		{name: "duplicate in an array", body: `{"messages":[{},{"role":1,"role":1}]}`, kind: fault.DuplicateKey, param: "messages[1].role"},
		{name: "byte order mark", body: "\ufeff{}", kind: fault.Invalid, says: "byte order mark"},
		{name: "empty", body: "", kind: fault.Invalid, says: "empty"},
		{name: "space", body: " \n", kind: fault.Invalid, says: "empty"},
		{name: "trailing value", body: `{} {}`, kind: fault.Invalid, says: "after its JSON value"},
		{name: "trailing comma", body: `{"a":1,}`, kind: fault.Invalid, says: "not valid JSON"},
		{name: "cut", body: `{"a":`, kind: fault.Invalid, says: "not valid JSON"},
		{name: "open string", body: `{"a":"b`, kind: fault.Invalid, says: "not valid JSON"},
		{name: "lone surrogate", body: `"\ud800"`, kind: fault.Invalid},
		{name: "reversed surrogates", body: `"\udc00\ud800"`, kind: fault.Invalid},
		{name: "bad UTF-8", body: "\"\xff\"", kind: fault.Invalid},
		{name: "bad UTF-8 in a name", body: "{\"\xc3\":1}", kind: fault.Invalid},
		{name: "comment", body: "{}//x", kind: fault.Invalid},
		{name: "NaN", body: `{"a":NaN}`, kind: fault.Invalid},
		{name: "closing first", body: `]`, kind: fault.Invalid},
		{name: "control character", body: "\"a\nb\"", kind: fault.Invalid, says: "byte 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := rawjson.Check([]byte(tc.body), tc.lim)
			if tc.ok {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Kind != tc.kind || err.Param != tc.param || !strings.Contains(err.Public, tc.says) {
				t.Errorf("got %v, param %q: %q; want %v, param %q, with %q", err.Kind, err.Param, err.Public, tc.kind, tc.param, tc.says)
			}
		})
	}
}

// FuzzCheck: within the limits, Check and jsontext agree on every input, and on one with long runs made of it.
func FuzzCheck(f *testing.F) {
	addCorpus(f)
	long := bytes.Repeat([]byte("a"), 100)
	f.Fuzz(func(t *testing.T, b []byte) {
		agree(t, b)
		agree(t, bytes.ReplaceAll(b, []byte("a"), long))
		agree(t, slices.Concat([]byte(`["`), long[:int(crc32.ChecksumIEEE(b)%64)], b, []byte(`"]`), bytes.Repeat([]byte(" "), 64)))
	})
}

// Every sequence of up to four bytes that can matter to UTF-8 is judged alike wherever it is in a block.
func TestCheckAgreesOnUTF8(t *testing.T) {
	t.Parallel()
	edges := []byte{'a', 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF}
	body := []byte(`["` + strings.Repeat("b", 2*64+8) + `"]`)
	text := body[2 : len(body)-2]
	piece := make([]byte, 4)
	for n := range len(edges) * len(edges) * len(edges) * len(edges) {
		for i := range piece {
			piece[i] = edges[n%len(edges)]
			n /= len(edges)
		}
		at := 60 + int(crc32.ChecksumIEEE(piece)%12) // about the border of two blocks
		copy(text[at:], piece)
		if got, want := rawjson.Check(body, rawjson.Defaults) == nil, utf8.Valid(piece); got != want {
			t.Fatalf("%x at %d of a text: accepted is %v", piece, at, got)
		}
		copy(text[at:], "bbbb")
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func agree(t failer, b []byte) {
	t.Helper()
	err := rawjson.Check(b, rawjson.Defaults)
	valid := jsontext.Value(b).IsValid() && !bytes.HasPrefix(b, []byte("\xef\xbb\xbf"))
	switch {
	case err == nil && !valid:
		t.Fatalf("accepted %q", b)
	case err != nil && valid && !overLimit(err):
		t.Fatalf("refused %q: %v", b, err)
	case err != nil && err.Public == "":
		t.Fatalf("no sentence for %q", b)
	}
}

// However strings are put together from escapes, long runs and what does not belong into them, Check and jsontext agree.
func TestCheckAgreesOnLongStrings(t *testing.T) {
	t.Parallel()
	pieces := []string{`\u0041`, `\ud83d`, `\ude00`, `\u12`, `\u`, `\n`, `\\`, `\"`, `\x`, "\x01", "\xd0", strings.Repeat("a", 100), strings.Repeat("0", 64), strings.Repeat("я", 50),
		"ab", "u0041", "é", "€", "🙂", strings.Repeat("€", 40), strings.Repeat(`\"`, 40), strings.Repeat(`\\`, 33), "\xe2\x82", "\xf0\x9f\x99", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\x9f", `","`, `":"`, `":1,"`, `"`, "{", "]"}
	rapid.Check(t, func(t *rapid.T) {
		frame := rapid.SampledFrom([]string{`"%s"`, `{"k":"%s"}`, `{"%s":1,"b":2}`, `["%s",{"x":"y"}]`}).Draw(t, "frame")
		// mostly valid pieces, or nearly every string would be invalid
		last := rapid.SampledFrom([]int{2, 16, len(pieces)}).Draw(t, "last")
		valid := []string{pieces[0], pieces[1] + pieces[2], pieces[5], pieces[6], pieces[7], pieces[11], pieces[12], pieces[13], pieces[14], pieces[15],
			pieces[16], pieces[17], pieces[18], pieces[19], pieces[20], pieces[21]}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(valid), 0, 12).Draw(t, "valid"), "")
		if last > 2 {
			text += strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces[:last]), 0, 4).Draw(t, "any"), "")
		}
		agree(t, []byte(strings.Replace(frame, "%s", text, 1)))
	})
}

// A string ends at its first quote that is not escaped, wherever that is in a block.
func TestStringEnd(t *testing.T) {
	t.Parallel()
	pieces := []string{`\"`, `\\`, `\n`, "a", strings.Repeat("b", 61), strings.Repeat(`\\`, 32), strings.Repeat(`\"c`, 30)}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "text"), "")
		behind := strings.Repeat(" ", rapid.IntRange(0, 70).Draw(t, "behind"))
		b := []byte(`"` + text + `"` + behind)
		if got := rawjson.StringEnd(b, 0); got != len(text)+2 {
			t.Fatalf("the string ends at %d, want %d", got, len(text)+2)
		}
		if got := rawjson.StringEnd(b[:len(text)+1], 0); got != -1 {
			t.Fatalf("the string without its quote ends at %d", got)
		}
	})
}

func overLimit(err *fault.Error) bool {
	return err.Kind == fault.TooDeep || strings.Contains(err.Public, "more than")
}

func addCorpus(f *testing.F) {
	files, _ := filepath.Glob("testdata/jsontestsuite/test_parsing/*.json")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && len(b) < 1<<12 {
			f.Add(b)
		}
	}
	f.Add([]byte(`{"a":[1,{"b":"c\"d"},null],"e\u0041":"` + strings.Repeat("x", 300) + `\ud83d` + strings.Repeat("y", 300) + `\ude00"}`))
}

func chatBody(n int, piece string) []byte {
	return []byte(`{"model":"a/b","messages":[{"role":"user","content":"` + strings.Repeat(piece, n/len(piece)) + `"}],"stream":true}`)
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name string
		body []byte
	}{
		{"1KB", chatBody(1000, "hello world, this is some text. ")},
		{"200KB", chatBody(200_000, `hello world, this is \"quoted\" and\n longer text. `)},
		{"200KB/Cyrillic", chatBody(200_000, "шлюз считает каждый запрос. ")},
		{"200KB/mixed", chatBody(200_000, `water stone bridge мост \"quoted\" mill river level gate flow path\\name spring été `)},
		{"5MB", chatBody(5_000_000, "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := rawjson.Check(c.body, rawjson.Defaults); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
