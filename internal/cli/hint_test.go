package cli_test

import (
	"testing"

	"weir/internal/cli"
)

// Flags are put behind commands that take them, wherever a text names one.
func TestHint(t *testing.T) {
	t.Parallel()
	takes := func(target any) bool { _, ok := target.(*show); return ok }
	for text, want := range map[string]string{
		"":                                       "",
		"see: prog group drop":                   "see: prog group drop -c x",
		"see: prog group rm ID, or prog nothing": "see: prog group rm ID -c x, or prog nothing",
		"prog group list; then prog group drop.": "prog group list -c x; then prog group drop -c x.",
		"prog group":                             "prog group -c x", // means list
		"prog add NAME":                          "prog add NAME",   // takes none
		"a myprog group drop, prog  group drop":  "a myprog group drop, prog  group drop",
		"prog group dropped":                     "prog group -c x dropped",
		"/prog group drop":                       "/prog group drop",
		"prog ":                                  "prog ",
	} {
		if got := cli.New("prog", "", new(program)).Hint(text, " -c x", takes); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := cli.New("prog", "", new(program)).Hint(text, "", takes); got != text {
			t.Errorf("without flags %q: %q", text, got)
		}
	}
}
