package sqldb_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir/internal/store/sqldb"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain": "plain", "имя 😀": "имя 😀", "a\x00b": "a\uFFFDb", "\x00\x00": "\uFFFD\uFFFD", "a\xffb": "a\uFFFDb", "a\xff\xfe\xfdb": "a\uFFFDb",
		"\xed\xa0\x80": "\uFFFD", "\uFFFD": "\uFFFD", "\t\n\x7f": "\t\n\x7f",
	} {
		if got := sqldb.Text(text); got != want {
			t.Errorf("%q is kept as %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		kept := sqldb.Text(s)
		if !utf8.ValidString(kept) || strings.Contains(kept, "\x00") || sqldb.Text(kept) != kept {
			t.Fatalf("%q is kept as %q", s, kept)
		}
		if utf8.ValidString(s) && !strings.Contains(s, "\x00") && kept != s {
			t.Fatalf("%q needs no change, and is kept as %q", s, kept)
		}
	})
}
