package structure_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forms are the packages whose refusals of fields people read on pages, each of which has a code.
var forms = []string{
	"internal/account", "internal/accountapi", "internal/adminapi", "internal/apikey", "internal/budget", "internal/chat", "internal/gatewayimport", "internal/invoice", "internal/operation", "internal/organization", "internal/ownkey",
	"internal/payment", "internal/auth", "internal/preset", "internal/view", "internal/voucher",
}

// coded is a code as the source gives it, with the names of its values.
type coded struct {
	at     token.Position
	values []string
}

// codesIn finds the codes of refusals in a file, and the refusals of fields that have none.
func codesIn(t *testing.T, path string) (found map[string][]coded, bare []token.Position) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found = map[string][]coded{}
	has := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, named := f.X.(*ast.Ident); named && x.Name == "fault" && f.Sel.Name == "Field" && !has[call] {
			bare = append(bare, set.Position(call.Pos()))
		}
		if f.Sel.Name != "Coded" || len(call.Args) == 0 {
			return true
		}
		has[f.X] = true
		code, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			return true // it passes on what its callers say
		}
		name, err := strconv.Unquote(code.Value)
		if err != nil {
			t.Fatal(err)
		}
		c := coded{at: set.Position(call.Pos())}
		for i := 1; i < len(call.Args); i += 2 {
			if l, ok := call.Args[i].(*ast.BasicLit); ok {
				c.values = append(c.values, strings.Trim(l.Value, `"`))
			}
		}
		found[name] = append(found[name], c)
		return true
	})
	return found, bare
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// What the API refuses of a field that people fill in has a code, each code has a Russian sentence with its values, and no Russian sentence is left
// of a code that is gone.
func TestCodesAreSaidInRussian(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "web/src/messages/refusals.ru.json"))
	if err != nil {
		t.Fatal(err)
	}
	russian := map[string]string{}
	if err := json.Unmarshal(text, &russian); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		found, bare := codesIn(t, path)
		if dir, _ := filepath.Rel(root, filepath.Dir(path)); slices.Contains(forms, filepath.ToSlash(dir)) {
			for _, at := range bare {
				t.Errorf("%s: a refusal of a field without a code", at)
			}
		}
		for code, uses := range found {
			said[code] = true
			for _, m := range placeholder.FindAllStringSubmatch(russian[code], -1) {
				for _, u := range uses {
					if !slices.Contains(u.values, m[1]) {
						t.Errorf("%s: %s has no value %q, which its Russian sentence says", u.at, code, m[1])
					}
				}
			}
			if russian[code] == "" {
				t.Errorf("%s: %s has no Russian sentence in web/src/messages/refusals.ru.json", uses[0].at, code)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(said) < 100 {
		t.Errorf("only %d codes were found", len(said))
	}
	for code, text := range russian {
		if !said[code] {
			t.Errorf("refusals.ru.json: no refusal has the code %s", code)
		}
		if !strings.ContainsFunc(text, func(r rune) bool { return r >= 'а' && r <= 'я' }) {
			t.Errorf("%s is not in Russian: %q", code, text)
		}
	}
}
