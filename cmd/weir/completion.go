package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints code for the start-up file of a shell. The shell then asks weir complete.
type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

var completions = map[string]string{
	"bash": `# in ~/.bashrc: source <(weir completion bash)
complete -o default -C "weir complete" weir
`,
	"zsh": `# in ~/.zshrc: source <(weir completion zsh)
autoload -U +X bashcompinit && bashcompinit
complete -o default -C "weir complete" weir
`,
	"fish": `# in ~/.config/fish/config.fish: weir completion fish | source
function __weir_words
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct); and set COMP_LINE "$COMP_LINE "
    weir complete
end
complete -c weir -n "test (count (__weir_words)) -gt 0" -f -a "(__weir_words)"
`,
}

func (c *completionCmd) Run() error {
	fmt.Print(completions[c.Shell])
	return nil
}

// completeCmd is what shells call. They name the words around the cursor as arguments, too, which the line has as well.
type completeCmd struct {
	Line  string   `env:"COMP_LINE" help:"The command line up to the cursor."`
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCmd) Run() error {
	for _, word := range complete(c.Line) {
		fmt.Println(word)
	}
	return nil
}

// complete lists what the last word of a command line may be. Where it is a file or a name nothing is listed, so that the shell offers files.
func complete(line string) (words []string) {
	given := strings.Fields(line)
	if len(given) == 0 {
		return nil
	}
	begun := ""
	if last := len(given) - 1; last > 0 && !strings.HasSuffix(line, " ") {
		begun, given = given[last], given[:last]
	}
	var waits *kong.Flag // for its value
	node, positional := grammar(), 0
	for _, word := range given[1:] {
		switch sub := child(node, word); {
		case waits != nil:
			waits = nil
		case strings.HasPrefix(word, "-"):
			waits = flagWithValue(node, word)
		case sub != nil:
			node = sub
		default:
			positional++
		}
	}
	switch {
	case waits != nil:
		words = waits.EnumSlice()
	case strings.HasPrefix(begun, "-"):
		for _, f := range flagsOf(node) {
			words = append(words, "--"+f.Name)
		}
	case positional < len(node.Positional):
		words = node.Positional[positional].EnumSlice()
	case positional == 0:
		for _, c := range node.Children {
			if !c.Hidden {
				words = append(words, c.Name)
			}
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" || !strings.HasPrefix(w, begun) })
}

// flagWithValue finds a flag whose value is the next word.
func flagWithValue(node *kong.Node, word string) *kong.Flag {
	for _, f := range flagsOf(node) {
		if !f.IsBool() && (word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short)) {
			return f
		}
	}
	return nil
}

// flagsOf are the flags that a command takes, or the one that a group means when none is named.
func flagsOf(node *kong.Node) []*kong.Flag {
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	return slices.Concat(node.AllFlags(true)...)
}
