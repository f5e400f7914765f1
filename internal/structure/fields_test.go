package structure_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forms is the source of what is said of fields that people fill in on pages: by the domain, by the routes of the forms, and by the readers of
// presets and preferences.
var forms = []string{
	"internal/person/*.go", "internal/account/account.go", "internal/apikey/store.go", "internal/payment/service.go", "internal/payment/state.go",
	"internal/voucher/*.go", "internal/preset/*.go", "internal/ownkey/*.go", "internal/view/*.go", "internal/chat/*.go", "internal/invoice/*.go",
	"internal/httpapi/accountkeys.go", "internal/httpapi/elsewhere.go", "internal/httpapi/keys.go", "internal/httpapi/moves.go", "internal/httpapi/passkeys.go",
	"internal/httpapi/payments.go", "internal/httpapi/preferences.go", "internal/httpapi/presets.go", "internal/httpapi/profile.go", "internal/httpapi/providerkeys.go", "internal/httpapi/signin.go",
	"internal/httpapi/storing.go", "internal/httpapi/vouchers.go", "internal/operation/read.go", "internal/operation/query.go", "internal/httpapi/chats.go", "internal/httpapi/invoices.go", "internal/httpapi/acts.go",
	"internal/foreign/foreign.go", "internal/httpapi/imports.go",
	"internal/wire/preferences.go", "internal/wire/preset.go", "internal/wire/reader.go", "internal/wire/storing.go",
}

// formats are the sentences of errors about fields in a file, and whether all of them are literals.
func formats(t *testing.T, path string) (all []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		place, known := map[string]int{"Field": 2, "Fail": 1, "FailAt": 2, "FailIn": 2}[f.Sel.Name]
		if x, named := f.X.(*ast.Ident); !known || len(call.Args) <= place || f.Sel.Name == "Field" && (!named || x.Name != "fault") {
			return true
		}
		l, ok := call.Args[place].(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			if strings.HasSuffix(path, "wire/reader.go") { // which passes on what its callers say
				return true
			}
			t.Errorf("%s: the sentence is no literal, so nobody can say it in another language", set.Position(call.Pos()))
			return true
		}
		text, err := strconv.Unquote(l.Value)
		if err != nil {
			t.Fatal(err)
		}
		if text != "%s" { // what another of these errors says, of a field with another name
			all = append(all, text)
		}
		return true
	})
	return all
}

// What the API says of a field of a form has a Russian sentence, and no Russian sentence is left of one that is gone.
func TestFieldsOfFormsAreSaidInRussian(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "web/src/api/fields.ru.json"))
	if err != nil {
		t.Fatal(err)
	}
	russian := map[string]string{}
	if err := json.Unmarshal(text, &russian); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, pattern := range forms {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no such source, %v", pattern, err)
		}
		files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
		for _, f := range files {
			for _, sentence := range formats(t, f) {
				said[sentence] = true
				if russian[sentence] == "" {
					t.Errorf("%s: %q has no Russian sentence in web/src/api/fields.ru.json", f, sentence)
				}
			}
		}
	}
	if len(said) < 90 {
		t.Errorf("only %d sentences were found", len(said))
	}
	for sentence, text := range russian {
		if !said[sentence] {
			t.Errorf("web/src/api/fields.ru.json: nothing says %q any more", sentence)
		}
		for _, n := range []int{1, 2, 3, 4} {
			if strings.Contains(text, "{"+strconv.Itoa(n)+"}") && strings.Count(sentence, "%") < n {
				t.Errorf("%q has no value {%d}", sentence, n)
			}
		}
		if !strings.ContainsFunc(text, func(r rune) bool { return r >= 'а' && r <= 'я' }) {
			t.Errorf("%q is not in Russian: %q", sentence, text)
		}
	}
}
