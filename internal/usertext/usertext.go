// Package usertext says which texts of users may stand in a line beside those of others: names, notes and titles.
package usertext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether s is valid UTF-8 without control characters, breaks of lines and paragraphs, and characters that change the direction of
// other text. An empty text is one line.
func Is(s string) bool { return !strings.ContainsFunc(s, breaks) }

// Cut returns the first most bytes of s without what Is refuses.
func Cut(s string, most int) string {
	return strings.Map(func(r rune) rune {
		if breaks(r) {
			return -1
		}
		return r
	}, s[:min(most, len(s))])
}

// breaks also refuses the character that stands for broken bytes.
func breaks(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError
}
