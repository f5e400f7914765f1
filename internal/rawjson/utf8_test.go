package rawjson_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// Every sequence of up to two bytes, and the edges of longer ones, in every place of a text.
func TestValidUTF8(t *testing.T) {
	t.Parallel()
	check := func(b []byte) {
		if got, want := rawjson.ValidUTF8(b), utf8.Valid(b); got != want {
			t.Fatalf("%q: %v, want %v", b, got, want)
		}
	}
	var pieces [][]byte
	for a := range 256 {
		pieces = append(pieces, []byte{byte(a)})
		for b := range 256 {
			pieces = append(pieces, []byte{byte(a), byte(b)})
		}
	}
	for _, s := range []string{"€", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "\xed\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98"} {
		pieces = append(pieces, []byte(s))
	}
	for _, p := range pieces {
		for _, before := range []string{"", "a", "й", "1234567", "12345678", "привет, "} {
			for _, after := range []string{"", "z", "1234567890", "я"} {
				check([]byte(before + string(p) + after))
			}
		}
	}
}

func FuzzValidUTF8(f *testing.F) {
	f.Add([]byte("мост через river \xf0\x9f\x98\x80 €"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if rawjson.ValidUTF8(b) != utf8.Valid(b) {
			t.Fatalf("%q", b)
		}
	})
}

func BenchmarkValidUTF8(b *testing.B) {
	for name, text := range map[string]string{"english": "A river takes the way that is open to it. ", "russian": "Река выбирает путь, который ей открыт. ", "mixed": "water stone bridge мост level gate flow été "} {
		body := []byte(strings.Repeat(text, 4000))
		for how, valid := range map[string]func([]byte) bool{"own": rawjson.ValidUTF8, "standard": utf8.Valid} {
			b.Run(fmt.Sprint(name, " ", how), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if !valid(body) {
						b.Fatal("not valid")
					}
				}
			})
		}
	}
}
