package gatewayimport

import (
	"embed"
	"strings"
	"sync"
)

// Fate is what becomes of a field.
type Fate string

// The fates.
const (
	Becomes    Fate = "becomes"    // it is carried, or decides what is
	Secret     Fate = "secret"     // a secret, or the hash of one
	Statistics Fate = "statistics" // what happened there
	Identity   Fate = "identity"   // names and times of their records
	Operator   Fate = "operator"   // the operator of this installation sets it
	BuiltIn    Fate = "built_in"   // it happens here without a setting
	None       Fate = "none"       // there is no counterpart
	Unknown    Fate = "unknown"    // a field that the documents do not have
)

// Field is a field of another gateway's export.
type Field struct {
	Path string // "keys.limit"
	Fate Fate
	Text string // what it becomes, or what to do instead; Markdown, may be ""
}

//go:embed *.fields
var lists embed.FS

// Fields lists the fields of a gateway in the order of their documents. They are those of docs/migrate.
func Fields(source string) []Field {
	text, err := lists.ReadFile(source + ".fields")
	if err != nil {
		return nil
	}
	var all []Field
	for line := range strings.Lines(string(text)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
		fate, what, _ := strings.Cut(rest, "|")
		all = append(all, Field{path, Fate(fate), what})
	}
	return all
}

var byPath = map[string]func() map[string]Field{
	OpenRouter: sync.OnceValue(func() map[string]Field { return indexed(OpenRouter) }),
	LiteLLM:    sync.OnceValue(func() map[string]Field { return indexed(LiteLLM) }),
	OneAPI:     sync.OnceValue(func() map[string]Field { return indexed(OneAPI) }),
	NewAPI:     sync.OnceValue(func() map[string]Field { return indexed(NewAPI) }),
}

func fieldsOf(source string) map[string]Field { return byPath[source]() }

func indexed(source string) map[string]Field {
	m := map[string]Field{}
	for _, f := range Fields(source) {
		m[f.Path] = f
	}
	return m
}
