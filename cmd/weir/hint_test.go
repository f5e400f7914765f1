package main

import "testing"

// Flags are put behind commands that take them, wherever a text names one.
func TestHint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "",
		"see: weir user add": "see: weir user add -c x",
		"see: weir catalog offer list, or weir nothing": "see: weir catalog offer list -c x, or weir nothing",
		"weir user list; then weir key add NAME.":       "weir user list -c x; then weir key add NAME -c x.",
		"weir ledger aside":                             "weir ledger aside -c x", // means list
		"weir demo NAME":                                "weir demo NAME",         // takes none
		"a myweir user add, weir  user add":             "a myweir user add, weir  user add",
		"weir ledger asides":                            "weir ledger asides",
		"weir ledger aside dropped":                     "weir ledger aside -c x dropped",
		"/weir user add":                                "/weir user add",
		"weir ":                                         "weir ",
	} {
		if got := hint(text, " -c x"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := hint(text, ""); got != text {
			t.Errorf("without flags %q: %q", text, got)
		}
	}
}
