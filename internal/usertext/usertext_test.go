package usertext_test

import (
	"strings"
	"testing"
	"unicode"

	"weir/internal/usertext"
)

func TestIs(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "Anna", "Анна и Ко", "משה", "محمد", "日本 語", "👩\u200d💻", "a\u00a0b", strings.Repeat("x", 1<<16)} {
		if !usertext.Is(s) {
			t.Errorf("%+q was refused", s)
		}
	}
	for _, r := range []rune{0, '\t', '\n', '\r', 0x1b, 0x7f, 0x85, 0x9b, '\u061c', '\u200e', '\u200f', '\u2028', '\u2029', '\u202a', '\u202e', '\u2066', '\u2069', unicode.ReplacementChar} {
		for _, s := range []string{string(r), string(r) + "a", "a" + string(r) + "b"} {
			if usertext.Is(s) {
				t.Errorf("%+q was accepted", s)
			}
			if got, want := usertext.Cut(s, 100), strings.ReplaceAll(s, string(r), ""); got != want {
				t.Errorf("of %+q %+q is left", s, got)
			}
		}
	}
	for _, s := range []string{"\xff", "a\xc3", "\xed\xa0\x80"} {
		if usertext.Is(s) {
			t.Errorf("%+q was accepted", s)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for most, want := range []string{"", "a", "a", "aй", "aй", "aй", "aй", "aйb", "aйb"} {
		if got := usertext.Cut("aй\u202eb", most); got != want {
			t.Errorf("%d bytes are %+q, want %+q", most, got, want)
		}
	}
}
