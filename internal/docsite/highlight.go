package docsite

import (
	"html"
	"strings"
)

// keywords of the languages that pages use.
var keywords = map[string]string{
	"python": " from import def return for in if else with as print None True False async await class ",
	"js":     " import from const let await async for of new return if else function export true false null ",
	"go":     " package import func return if err nil for range defer var type struct map string ",
	"sh":     " export curl npm npx pip claude codex echo cd make docker ",
	"json":   " true false null ",
	"toml":   " true false ",
	"yaml":   " true false null ",
}

var languages = map[string]string{"javascript": "js", "ts": "js", "typescript": "js", "bash": "sh", "shell": "sh", "console": "sh", "py": "python", "yml": "yaml", "jsonc": "json"}

// tabs are the languages of programs as the interface names them: it and these pages share the reader's choice.
var tabs = map[string]string{"sh": "curl", "python": "Python", "js": "Node", "go": "Go", "php": "PHP"}

// language is the language of a block: as its fence says, else guessed from its form.
func language(info, code string) string {
	if name, _, _ := strings.Cut(info, " "); name != "" {
		if l := languages[name]; l != "" {
			return l
		}
		return name
	}
	first, _, _ := strings.Cut(strings.TrimLeft(code, "\n"), "\n")
	word, rest, spaced := strings.Cut(first, " ")
	switch {
	case strings.HasPrefix(code, "{"):
		return "json"
	case strings.HasPrefix(code, "data:") || strings.HasPrefix(code, "event:"):
		return ""
	case strings.HasSuffix(word, ":") && strings.Trim(word[:len(word)-1], "abcdefghijklmnopqrstuvwxyz_0123456789") == "":
		return "yaml"
	case spaced && strings.HasPrefix(rest, "= "), strings.HasPrefix(first, "[") && strings.HasSuffix(first, "]"):
		return "toml"
	}
	return "sh"
}

// highlight writes code as HTML with marks for texts, notes, numbers and words. What it does not understand stays plain.
func highlight(b *strings.Builder, code, lang string) {
	words := keywords[lang]
	if words == "" {
		b.WriteString(html.EscapeString(code))
		return
	}
	mark := func(class, text string) {
		b.WriteString(`<span class="syntax-` + class + `">` + html.EscapeString(text) + `</span>`)
	}
	for i := 0; i < len(code); {
		var n int
		c := code[i]
		before := byte('\n')
		if i > 0 {
			before = code[i-1]
		}
		spaced := before == '\n' || before == ' ' || before == '\t'
		switch {
		case (lang == "go" || lang == "js") && strings.HasPrefix(code[i:], "//") && spaced, c == '#' && spaced && lang != "json" && lang != "go" && lang != "js":
			n = len(line(code[i:]))
			mark("note", code[i:i+n])
		case c == '"' || c == '\'' && lang != "json" && (lang != "yaml" || spaced) || c == '`' && (lang == "js" || lang == "go"):
			n = quoted(code[i:], lang)
			mark("text", code[i:i+n])
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '-' && spaced:
			n = len(code[i:]) - len(strings.TrimLeft(code[i:], wordBytes))
			n = max(n, 1)
			switch word := code[i : i+n]; {
			case strings.Contains(words, " "+strings.TrimRight(word, ":")+" "):
				mark("word", word)
			case lang != "sh" && strings.Trim(word, "0123456789.-") == "" && word != "-":
				mark("number", word)
			default:
				b.WriteString(html.EscapeString(word))
			}
		default:
			n = 1
			for i+n < len(code) && code[i+n]&0xC0 == 0x80 { // the rest of a character
				n++
			}
			b.WriteString(html.EscapeString(code[i : i+n]))
		}
		i += n
	}
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$./:@%+~?&-"

func line(s string) string {
	l, _, _ := strings.Cut(s, "\n")
	return l
}

// quoted is the length of a quoted text with its quotes. One that does not end is its first byte.
func quoted(s, lang string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && (s[0] != '\'' || lang != "sh"):
			i++
		case s[i] == s[0]:
			return i + 1
		case s[i] == '\n' && s[0] == '"' && lang != "sh":
			return 1
		}
	}
	return 1
}
