package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/app"
	"weir/internal/secret"
)

// A file with secrets that others can read is found, one without them is not.
func TestDoctorReadsTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		mode os.FileMode
		is   app.State
	}{
		{"secret-of-the-provider", 0o644, app.Weak}, {"secret-of-the-provider", 0o600, app.Good}, {"nothing", 0o644, app.Good},
	} {
		cfg := clinic(t, nil)
		cfg.Mail.Password = secret.New("secret-of-the-provider")
		path := filepath.Join(t.TempDir(), "weir.yaml")
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		app.Doctor{Version: "test", Path: path}.Examine(t.Context(), cfg, func(f app.Finding) {
			if f.Part == "configuration" && (f.Is != c.is || !strings.Contains(f.What, path) || strings.Contains(f.What, "secret-of")) {
				t.Errorf("%q with mode %o: %+v", c.text, c.mode, f)
			}
		})
	}
}

// Whatever is not well says what to do.
func TestEveryFindingHasARemedy(t *testing.T) {
	t.Parallel()
	findings := 0
	for _, name := range []string{"doctor.go", "doctorparts.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "say" || len(call.Args) < 4 {
				return true
			}
			is, _ := call.Args[0].(*ast.Ident)
			do, literal := call.Args[2].(*ast.BasicLit)
			if findings++; is != nil && is.Name != "Good" && literal && len(do.Value) < 6 {
				t.Errorf("%s: the finding %s has no remedy", name, call.Args[3].(*ast.BasicLit).Value)
			}
			return true
		})
	}
	if findings < 30 {
		t.Errorf("only %d findings were read", findings)
	}
}
