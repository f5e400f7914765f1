package kit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// acting are words in the names of tools with which agents run commands or change files: Bash, exec_command, run_shell_command, apply_patch, str_replace_editor.
var acting = []string{
	"bash", "sh", "zsh", "shell", "powershell", "pwsh", "cmd", "command", "exec", "execute", "terminal", "console", "stdin", "repl", "python", "ipython", "notebook", "computer", "browser",
	"patch", "write", "edit", "editor", "replace", "delete", "remove", "rename", "move", "kill", "task", "agent",
}

// commanding are the arguments in which such tools take what they run or write, whatever their names are.
var commanding = []string{"command", "commands", "cmd", "argv", "shell", "script", "code", "patch", "chars"}

// acts reports whether a call of the tool runs a command or changes files where the client is.
func (t *Tool) acts() bool {
	if slices.ContainsFunc(wordsOf(t.Name), func(w string) bool { return slices.Contains(acting, w) }) {
		return true
	}
	properties := t.Schema.Get("properties")
	if properties == nil {
		return false
	}
	return slices.ContainsFunc(commanding, func(name string) bool { return properties.Get(name) != nil })
}

// wordsOf are the words of a name, in lower case: runShellCommand, run_shell_command and Run-Shell-Command have the same ones.
func wordsOf(name string) []string {
	var b strings.Builder
	var last rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

// agent reports whether the request comes from a program that runs commands: it offers a tool for that.
func (a *Request) agent() bool {
	return slices.ContainsFunc(a.Tools, func(t Tool) bool { return t.acts() })
}

// harmless is what a tool that acts is called with: a command that does nothing. Only a script gives such a tool other words.
const harmless = "true"

// mentions reports whether a text has a name as a word of its own: "calls" does not name the tool ls.
func mentions(text, name string) bool {
	part := func(r rune) bool { return Letter(r) || r == '_' }
	for from := 0; name != ""; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !part(before) && !part(after) {
			return true
		}
		from = at + 1
	}
	return false
}

// asksFor reports whether the request asks for a tool that acts: the choice names it and no other. Words of the prompt do not, for agents
// write into prompts what no person has asked for, and "bash" is a word like others.
func (c *toolChoice) asksFor(name string) bool {
	return c.Mode != "none" && len(c.Only) == 1 && c.Only[0] == name
}
