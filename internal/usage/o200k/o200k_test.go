package o200k_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"

	"weir/internal/usage/o200k"
)

var update = flag.Bool("update", false, "write o200k.gz of the library's vocabulary")

// known is another implementation of the vocabulary, of which ours is made and with which it is compared.
var known = codec.NewO200kBase()

// The embedded vocabulary is the library's.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	var want []byte
	tokens := 0
	for id := uint(0); ; id++ {
		token, err := known.Decode([]uint{id})
		if err != nil {
			break
		}
		want = append(append(want, byte(len(token))), token...)
		tokens++
	}
	if tokens != 199_998 {
		t.Fatalf("%d tokens", tokens)
	}
	if *update {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(want)
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			err = os.WriteFile("o200k.gz", b.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(want, o200k.Unpacked()) {
		t.Error("o200k.gz is not the library's vocabulary: run go test -update")
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 0, "Hello, world!": 4, "Привет, мир!": 5, "\x7f": 1, "\xff": 1, "\xff\xfe\xc3": 1, "你好，世界": 3, "  \n\n  x": 3, "can't CAN'T can'ſt": 7,
		"1234567": 3, "https://example.com//\n": 5, "HTTPServerError": 3, "e\u0301te\u0301": 4, "😀😀": 2, " ": 1, "\r\n": 1, "<|endoftext|>": 7,
		"\n \n": 1, "\n\n \n": 1, "a\n \nb": 3, "\n \n x": 2, "\r\n \r\n": 2, // the library has more: see comparable
	} {
		if got := o200k.Count([]byte(text)); got != want {
			t.Errorf("%q: %d tokens, want %d (the library has %d)", text, got, want, reference(t, text))
		}
	}
}

// whites is white space as o200k_base has it.
var whites = regexp.MustCompile(`[\s\v\x{85}\p{Z}]+`)

// comparable takes out of a text what the library counts wrongly. It takes \x7f for nothing. And white space with two ends of lines and
// something between them is one piece by \s*[\r\n]+: the vocabulary has such pieces as tokens. The library's engine of expressions parts them.
func comparable(text string) string {
	return whites.ReplaceAllStringFunc(strings.ReplaceAll(text, "\x7f", ""), func(white string) string {
		const ends = "\r\n"
		first, last := strings.IndexAny(white, ends), strings.LastIndexAny(white, ends)
		if first == last {
			return white
		}
		return white[:first] + strings.Map(func(r rune) rune {
			if strings.ContainsRune(ends, r) {
				return r
			}
			return -1
		}, white[first:last]) + white[last:]
	})
}

func reference(t interface{ Fatal(...any) }, text string) int64 {
	n, err := known.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return int64(n)
}

// Whatever the text, the count is the library's.
func TestCountIsTheReferences(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{
		"a", "A", "Word", "WORD", "word", "camelCaseWord", "'s", "'S", "'t", "'re", "'RE", "'ve", "'ll", "'Ll", "'d", "'m", "'x", "'", "'ſ", "ſ", " ", "  ", "\t", "\n", "\r", "\r\n", "\n\n", "\u00a0", "\u2028", "\u0085",
		"\v", "0", "12", "345", "6789", "½", "Ⅷ", "٣", "!", "?!", "//", "/", "-", "—", "_", "{", "}", "\"", "\\", "😀", "👩‍👩‍👧", "é", "e\u0301", "\u0301", "ʰ", "ǅ", "Я", "слово", "СЛОВО", "語", "言葉です", "한국어", "עברית", "العربية",
		"ไทย", "हिन्दी", "\x00", "\x1b", "\u200d", "\ufeff", "\U0010ffff", "<|endoftext|>", "\xff", "\xe2\x82", strings.Repeat("a", 70), strings.Repeat("xyz", 40), strings.Repeat(" ", 90), strings.Repeat("=", 200), strings.Repeat("河", 50),
	})
	random := rapid.Map(rapid.Rune(), func(r rune) string { return string(r) })
	rapid.Check(t, func(t *rapid.T) {
		text := comparable(strings.Join(rapid.SliceOfN(rapid.OneOf(words, words, random), 0, 30).Draw(t, "text"), ""))
		if got, want := o200k.Count([]byte(text)), reference(t, text); got != want {
			t.Fatalf("%q: %d tokens, want %d", text, got, want)
		}
	})
}

func FuzzCount(f *testing.F) {
	f.Add("Hello, world!")
	f.Add("\xf0\x9f\x98\x80\xff")
	f.Add(" \n\t\n a\u00a0\r\n\u2028")
	f.Add(strings.Repeat("ab", 60) + "'ll 1234\r\n/ \t")
	f.Fuzz(func(t *testing.T, text string) {
		text = comparable(text[:min(len(text), 4<<10)])
		if got, want := o200k.Count([]byte(text)), reference(t, text); got != want {
			t.Fatalf("%d tokens, want %d", got, want)
		}
	})
}
