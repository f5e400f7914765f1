package store

import (
	"strings"
	"unicode/utf8"
)

// Text is s as it is kept: NUL and bytes that are not UTF-8 become U+FFFD, because not every database takes them.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// clean makes the texts among args such as are kept.
func clean(args []any) []any {
	for i, a := range args {
		if s, ok := a.(string); ok {
			if kept := Text(s); kept != s {
				args[i] = kept
			}
		}
	}
	return args
}
