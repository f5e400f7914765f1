package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

const (
	commandsPage = "../../docs/commands.md"
	firstCommand = "## "
)

// The page of the commands has each of them as its own help describes it, with its flags and an example, and no other. What stands before the
// first command is written by hand.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	is, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(is), "\n"+firstCommand)
	want := commandsReference(t)
	if *update {
		if err := os.WriteFile(commandsPage, []byte(head+"\n"+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got := strings.Split(firstCommand+rest, "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d after the head differs from the program's help:\n%s\nRun: go test ./cmd/weir -run TestCommandsPage -update", i+1, line)
		}
	}
	if n := len(strings.Split(want, "\n")); n != len(got) {
		t.Errorf("the page has %d lines, the program's help %d", len(got), n)
	}
}

// commandsReference is the help of each command, those of a group under its heading.
func commandsReference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, top := range newProgram().Model.Children {
		if top.Hidden {
			continue
		}
		b.WriteString(firstCommand + "weir " + top.Path() + "\n\n")
		if len(top.Children) == 0 {
			block(t, &b, top)
			continue
		}
		b.WriteString(top.Help + "\n\n")
		for _, c := range top.Leaves(true) {
			b.WriteString("### weir " + c.Path() + "\n\n")
			block(t, &b, c)
		}
	}
	return strings.TrimRight(withoutEmptyFlags(b.String()+"\n"), "\n") + "\n"
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
