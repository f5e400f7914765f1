package sqldb

import "weir/internal/record"

// Text is s as it is stored: NUL and bytes that are not UTF-8 become U+FFFD, because not every database accepts them.
func Text(s string) string { return record.Text(s) }

// Clean makes the texts among args such as are kept.
func Clean(args []any) []any {
	for i, a := range args {
		if s, ok := a.(string); ok {
			if kept := Text(s); kept != s {
				args[i] = kept
			}
		}
	}
	return args
}
