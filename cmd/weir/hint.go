package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// hint puts flags, with a space before them, behind each command of the program that text names: "see: weir user list" becomes "see: weir
// user list -c weir.yaml". A command is meant that is located.
func hint(text, flags string) string {
	if flags == "" {
		return text
	}
	program := grammar()
	var b strings.Builder
	for {
		i := strings.Index(text, program.Name+" ")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		begins := i == 0 || !partOfWord(text[i-1])
		end := i + len(program.Name)
		at := program
		for begins {
			word := firstWord(text[end:])
			sub := child(at, word)
			if sub == nil {
				break
			}
			at, end = sub, end+1+len(word)
		}
		b.WriteString(text[:end])
		text = text[end:]
		if at.DefaultCmd != nil {
			at = at.DefaultCmd
		}
		if _, ok := target(at).(located); ok {
			if word := firstWord(text); word != "" && word == strings.ToUpper(word) { // a placeholder, such as NAME
				b.WriteString(text[:1+len(word)])
				text = text[1+len(word):]
			}
			b.WriteString(flags)
		}
	}
}

// child is the command of a group that a word names, nil if it names none.
func child(of *kong.Node, word string) *kong.Node {
	for _, c := range of.Children {
		if c.Name == word || slices.Contains(c.Aliases, word) {
			return c
		}
	}
	return nil
}

// firstWord is the word behind a single space, or "".
func firstWord(s string) string {
	if !strings.HasPrefix(s, " ") {
		return ""
	}
	n := 1
	for n < len(s) && partOfWord(s[n]) {
		n++
	}
	return s[1:n]
}

// partOfWord reports whether b continues a word: names of commands have small letters and dashes.
func partOfWord(b byte) bool {
	return b == '-' || b == '_' || b == '/' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
