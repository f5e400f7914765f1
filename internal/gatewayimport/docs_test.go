package gatewayimport_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/gatewayimport"
)

var update = flag.Bool("update", false, "write the tables of docs/migrate")

func sprint(format string, v any) string { return fmt.Sprintf(format, v) }

// words say what a fate means, where a field has no text of its own.
var words = map[gatewayimport.Fate]string{
	gatewayimport.Becomes:    "carried",
	gatewayimport.Secret:     "no counterpart: a secret",
	gatewayimport.Statistics: "no counterpart: what happened there stays in their records",
	gatewayimport.Identity:   "no counterpart: a name or time of their records",
	gatewayimport.Operator:   "no counterpart in an account: the operator sets it",
	gatewayimport.BuiltIn:    "not needed: it happens here by itself",
	gatewayimport.None:       "no counterpart",
}

const heading = "## Field by field\n"

// tables are the fields of a gateway as the page has them.
func tables(t *testing.T, source string) string {
	var b strings.Builder
	b.WriteString(heading)
	section := ""
	for _, f := range gatewayimport.Fields(source) {
		at := strings.LastIndexByte(f.Path, '.')
		if f.Path[:at] != section {
			section = f.Path[:at]
			fmt.Fprintf(&b, "\n### `%s`\n\n| Field | Becomes | |\n|---|---|---|\n", section)
		}
		word, ok := words[f.Fate]
		if !ok {
			t.Errorf("%s: no such fate: %q", f.Path, f.Fate)
		}
		if f.Fate == gatewayimport.Becomes {
			word = f.Text
			f.Text = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Path[at+1:], word, f.Text)
	}
	return b.String()
}

// The pages for those who come from another gateway have each field that the importer knows, and say what it does with it.
func TestPagesHaveEachField(t *testing.T) {
	t.Parallel()
	for _, source := range gatewayimport.Sources {
		file := filepath.Join("..", "..", "docs", "migrate", source+".md")
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, tail, found := strings.Cut(string(page), heading)
		if !found {
			t.Fatalf("%s has no section %q", file, heading)
		}
		want := tables(t, source)
		if *update {
			if err := os.WriteFile(file, []byte(head+want), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if heading+tail != want {
			t.Errorf("%s differs from the importer's fields: go test ./internal/gatewayimport -run TestPagesHaveEachField -update", file)
		}
	}
}

// Each field is lost or carried as its line says, whatever else is given.
func TestFieldsAreLostAsListed(t *testing.T) {
	t.Parallel()
	for _, source := range gatewayimport.Sources {
		for _, f := range gatewayimport.Fields(source) {
			t.Run(source+"/"+f.Path, func(t *testing.T) {
				t.Parallel()
				p, err := gatewayimport.Read(source, files(nest(source, f.Path)), world())
				if err != nil {
					t.Fatal(err)
				}
				is := gatewayimport.Becomes
				for _, l := range p.Lost {
					if l.Field == f.Path {
						is = l.Fate
					}
				}
				if is != f.Fate {
					t.Errorf("it is %q, and %q in the list", is, f.Fate)
				}
			})
		}
	}
}

// nest makes an export that gives one field.
func nest(source, path string) string {
	parts := strings.Split(path, ".")
	name := parts[len(parts)-1]
	if source == gatewayimport.OneAPI || source == gatewayimport.NewAPI {
		return row(parts[0], name)
	}
	value := `"active"`
	inner := map[string]string{"designated_version": `{"config":{"seed":1}}`, "model_list": "[]", "disabled": "true"}
	if v, ok := inner[name]; ok {
		value = v
	}
	object := `"` + name + `":` + value
	for i := len(parts) - 2; i > 0; i-- {
		object = `"` + parts[i] + `":{` + object + `}`
	}
	switch {
	case parts[0] == "keys" && source == gatewayimport.OpenRouter:
		if name == "hash" {
			return `{"data":[{` + object + `}]}`
		}
		return `{"data":[{"hash":"1",` + object + `}]}`
	case parts[0] == "keys":
		return `{"keys":[{` + object + `}]}`
	case parts[0] == "teams" || parts[0] == "users" || parts[0] == "tags":
		return `{"` + parts[0] + `":[{` + object + `}]}`
	case parts[0] == "presets":
		if len(parts) == 2 && name != "designated_version" {
			object += `,"designated_version":{}`
		}
		if name == "slug" {
			return `{"data":{` + object + `}}`
		}
		return `{"data":{"slug":"x",` + object + `}}`
	case len(parts) > 2 && parts[1] == "model_list":
		return `{"model_list":[` + strings.TrimPrefix(object, `"model_list":`) + `]}`
	case name == "model_list":
		return `{` + object + `}`
	}
	return `{"model_list":[],` + object + `}`
}

// row makes a row of a table of one-api or new-api that gives one column, beside those by which its table is known.
func row(table, column string) string {
	if table == "options" {
		return `[{"key":"` + column + `","value":"500000"}]`
	}
	out := `"` + column + `":"active"`
	for _, c := range map[string][]string{
		"tokens": {`"unlimited_quota":true`}, "channels": {`"type":1`, `"models":""`}, "users": {`"username":""`}, "abilities": {`"channel_id":0`, `"model":""`},
	}[table] {
		if !strings.HasPrefix(c, `"`+column+`"`) {
			out += "," + c
		}
	}
	return `[{` + out + `}]`
}
