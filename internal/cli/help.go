package cli

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"weir/internal/spelling"
)

const (
	width  = 80 // of a page of help
	column = 26 // the widest left column that the right one stands beside
)

// WriteHelp prints what a command is for and what it takes.
func (c *Command) WriteHelp(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Usage: " + c.usage() + "\n\n")
	b.WriteString(wrapped(c.Help, 0))
	if len(c.args) > 0 {
		b.WriteString("\nArguments:\n")
		rows(&b, c.args, func(a *value) string { return a.bracketed() })
	}
	b.WriteString("\nFlags:\n")
	help := &value{name: "help", short: "h", help: "Show help of a command.", to: reflect.ValueOf(true)}
	rows(&b, append([]*value{help}, c.flags...), (*value).flagged)
	if len(c.Within) > 0 {
		b.WriteString("\nCommands:\n")
		left := make([]string, len(c.Within))
		right := make([]string, len(c.Within))
		for i, sub := range c.Within {
			left[i], right[i] = sub.Path(), sub.Help
		}
		table(&b, left, right)
		fmt.Fprintf(&b, "\nRun \"%s <command> --help\" for more information on a command.\n", c.full())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// full is the command with the program's name.
func (c *Command) full() string {
	root := c
	for root.Parent != nil {
		root = root.Parent
	}
	return strings.TrimSpace(root.Name + " " + c.Path())
}

func (c *Command) usage() string {
	s := c.full()
	if len(c.Within) > 0 {
		return s + " <command>"
	}
	for _, a := range c.args {
		s += " " + a.bracketed()
	}
	if len(c.flags) > 0 {
		s += " [flags]"
	}
	return s
}

// bracketed is an argument as usage shows it.
func (a *value) bracketed() string {
	s := a.shown()
	if a.list() {
		s += " ..."
	}
	if !a.required {
		s = "[" + s + "]"
	}
	return s
}

// flagged is a flag as help shows it.
func (a *value) flagged() string {
	s := "    --" + a.name
	if a.short != "" {
		s = "-" + a.short + ", --" + a.name
	}
	if a.to.Kind() == reflect.Bool {
		return s
	}
	if a.placeholder != "" {
		return s + "=" + a.placeholder
	}
	if a.initial != "" {
		return s + "=" + a.initial
	}
	return s + "=" + strings.ToUpper(a.name)
}

func rows(b *strings.Builder, values []*value, left func(*value) string) {
	names, helps := make([]string, len(values)), make([]string, len(values))
	for i, v := range values {
		names[i], helps[i] = left(v), v.help
		if v.env != "" {
			helps[i] += " [$" + v.env + "]"
		}
	}
	table(b, names, helps)
}

// table writes two columns; a wide entry of the left one has a line for itself.
func table(b *strings.Builder, left, right []string) {
	widest := 0
	for _, s := range left {
		if len(s) <= column {
			widest = max(widest, len(s))
		}
	}
	indent := 2 + widest + 4
	for i, s := range left {
		text := strings.TrimLeft(wrapped(right[i], indent), " ")
		switch {
		case text == "":
			fmt.Fprintf(b, "  %s\n", s)
		case len(s) > widest:
			fmt.Fprintf(b, "  %s\n%*s%s", s, indent, "", text)
		default:
			fmt.Fprintf(b, "  %-*s    %s", widest, s, text)
		}
	}
}

// wrapped breaks a text into lines that are indented; "" stays so.
func wrapped(text string, indent int) string {
	var b strings.Builder
	line := 0
	for _, word := range strings.Fields(text) {
		switch {
		case line == 0 && b.Len() == 0:
			b.WriteString(strings.Repeat(" ", indent))
		case line+1+len(word) > width-indent:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// meant suggests the name that was probably meant, or nothing.
func meant(name string, names []string) string {
	const most = 2 // letters that are wrong
	best, least := "", most+1
	for _, n := range names {
		if d := spelling.Distance(name, n, most); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}
