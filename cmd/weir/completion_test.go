package main

import (
	"strings"
	"testing"
)

// Completion offers the commands, flags and values that begin with what was typed, and nothing where a name or a file is expected.
func TestComplete(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                 "",
		"weir vers":                        "version",
		"weir complet":                     "completion",
		"weir key ":                        "add list rates preferences change reset-spending disable enable delete",
		"weir key add anna --re":           "--reset --requests",
		"weir key add --limit 5 --re":      "--reset --requests",
		"weir key add anna --reset ":       "daily weekly monthly",
		"weir key add anna --reset w":      "weekly",
		"weir key add ":                    "",
		"weir serve -c ":                   "",
		"weir serve --list":                "--listen",
		"weir completion ":                 "bash zsh fish",
		"weir user role anna o":            "operator",
		"weir catalog offer di":            "disable",
		"weir ledger aside ":               "list retry dismiss",
		"weir ledger aside --da":           "--data",
		"weir key add anna --unknown --re": "--reset --requests",
		"weir nothing ":                    "",
	} {
		if got := strings.Join(complete(line), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
