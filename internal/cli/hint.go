package cli

import "strings"

// Hint puts flags, with a space before them, behind each command of the program that text names: "see: weir user list" becomes "see: weir
// user list -c weir.yaml". A command is meant whose target takes them.
func (c *Command) Hint(text, flags string, takes func(target any) bool) string {
	if flags == "" {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, c.Name+" ")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		begins := i == 0 || !partOfWord(text[i-1])
		end := i + len(c.Name)
		at := c
		for begins {
			word := firstWord(text[end:])
			sub := at.named(word)
			if sub == nil {
				break
			}
			at, end = sub, end+1+len(word)
		}
		b.WriteString(text[:end])
		text = text[end:]
		if len(at.Within) > 0 && at != c && at.fallback != nil {
			at = at.fallback
		}
		if len(at.Within) == 0 && takes(at.Target()) {
			if word := firstWord(text); word != "" && word == strings.ToUpper(word) { // a placeholder, such as NAME
				b.WriteString(text[:1+len(word)])
				text = text[1+len(word):]
			}
			b.WriteString(flags)
		}
	}
}

// firstWord is the word behind a single space, "" if there is none.
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
