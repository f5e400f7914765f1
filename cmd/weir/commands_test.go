package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "write docs/commands.md and docs/commands anew")

const (
	commandsPage   = "../../docs/commands.md"
	commandsFolder = "../../docs/commands/"
	firstGroup     = "## Run a gateway\n" // of what is made
)

// TestCommandsPage compares the pages of the commands with the program: each command is on the page of its group as its own help describes it,
// with its flags and an example, and no other is. What stands before the first group is written by hand.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	is, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(is), firstGroup)
	if !found {
		t.Fatalf("%s has no %q", commandsPage, firstGroup)
	}
	pages := commandsReference(t)
	pages[commandsPage] = head + pages[commandsPage]
	old, err := filepath.Glob(commandsFolder + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range old {
		if pages[name] == "" {
			t.Errorf("%s is of no group", name)
		}
	}
	for name, want := range pages {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		is, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(string(is), "\n")
		for i, line := range strings.Split(want, "\n") {
			if i >= len(got) || got[i] != line {
				t.Fatalf("%s:%d differs from the program's help:\n%s\nRun: go test ./cmd/weir -run TestCommandsPage -update", name, i+1, line)
			}
		}
		if n := strings.Count(want, "\n") + 1; n != len(got) {
			t.Errorf("%s has %d lines, the program's help %d", name, len(got), n)
		}
	}
}

// commandsReference is the page of each group, and the list of all on the first page.
func commandsReference(t *testing.T) map[string]string {
	t.Helper()
	pages, list := map[string]string{}, new(strings.Builder)
	for _, g := range groups {
		page := new(strings.Builder)
		fmt.Fprintf(page, "# Commands: %s\n\nWhat all commands have in common is in [Commands](../commands.md).\n\n", strings.ToLower(g.Title[:1])+g.Title[1:])
		fmt.Fprintf(list, "## %s\n\n| Command | What it does |\n|---|---|\n", g.Title)
		for _, top := range newProgram().Model.Children {
			if top.Hidden || top.Group.Key != g.Key {
				continue
			}
			fmt.Fprintf(list, "| [`weir %s`](commands/%s.md#weir-%s) | %s |\n", top.Name, g.Key, top.Name, top.Help)
			page.WriteString("## weir " + top.Path() + "\n\n")
			if len(top.Children) == 0 {
				block(t, page, top)
				continue
			}
			page.WriteString(top.Help + "\n\n")
			for _, c := range top.Leaves(true) {
				page.WriteString("### weir " + c.Path() + "\n\n")
				block(t, page, c)
			}
		}
		list.WriteByte('\n')
		pages[commandsFolder+g.Key+".md"] = ended(withoutEmptyFlags(page.String() + "\n"))
	}
	pages[commandsPage] = ended(list.String())
	return pages
}

// ended is a text with one line feed at its end.
func ended(s string) string { return strings.TrimRight(s, "\n") + "\n" }

// TestEachCommandHasAGroup is for those that are added: help would list one without a group apart from all others.
func TestEachCommandHasAGroup(t *testing.T) {
	t.Parallel()
	for _, top := range newProgram().Model.Children {
		if !top.Hidden && (top.Group == nil || !slices.ContainsFunc(groups, func(g kong.Group) bool { return g.Key == top.Group.Key })) {
			t.Errorf("weir %s has no group", top.Name)
		}
	}
}

var aliases = regexp.MustCompile(`\([^)]*\)`)

// block writes the help of a command as code, without what every command has.
func block(t *testing.T, b *strings.Builder, c *kong.Node) {
	t.Helper()
	var help bytes.Buffer
	program := newProgram()
	program.Stdout = &help
	ctx, err := kong.Trace(program, strings.Fields(aliases.ReplaceAllString(c.Path(), "")))
	if err == nil {
		err = ctx.PrintUsage(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	common := false
	for line := range strings.Lines(help.String()) {
		line = strings.TrimRight(line, "\n")
		if line == "" && common { // between flags of all commands and those of this one
			continue
		}
		if flagged := strings.TrimLeft(line, " "); strings.HasPrefix(flagged, "-") {
			common = strings.HasPrefix(flagged, "-h, --help") || strings.HasPrefix(flagged, "-c, --config") || strings.HasPrefix(flagged, "--data=")
		} else if !strings.HasPrefix(line, "   ") {
			common = false
		}
		switch {
		case common:
		case line == "":
			b.WriteByte('\n')
		default:
			b.WriteString("    " + line + "\n")
		}
	}
	b.WriteByte('\n')
}

// withoutEmptyFlags drops the heading of flags where there are none but the common ones.
func withoutEmptyFlags(text string) string {
	return strings.ReplaceAll(text, "\n    Flags:\n\n", "\n")
}
