package accesslog_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/accesslog"
)

var (
	fieldRow  = regexp.MustCompile("(?m)^\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\|")
	fieldName = regexp.MustCompile("`([a-z_]+)`")
)

// documented are the fields in a section of docs/logs.md.
func documented(t *testing.T, section string) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## "+section+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	for _, m := range fieldRow.FindAllStringSubmatch(part, -1) {
		for _, name := range fieldName.FindAllStringSubmatch(m[1], -1) {
			names = append(names, name[1])
		}
	}
	if !found || len(names) == 0 {
		t.Fatalf("docs/logs.md has no fields in %q", section)
	}
	return names
}

func compare(t *testing.T, section string, written []string) {
	t.Helper()
	said := documented(t, section)
	for _, name := range written {
		if !slices.Contains(said, name) {
			t.Errorf("docs/logs.md, %s: %s is missing", section, name)
		}
	}
	for _, name := range said {
		if !slices.Contains(written, name) {
			t.Errorf("docs/logs.md, %s: nothing writes %s", section, name)
		}
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(said))); len(sorted) != len(said) {
		t.Errorf("docs/logs.md, %s has a field twice", section)
	}
}

// The page on the log has each field of an access line, and no other.
func TestAccessFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	r := accesslog.Record{At: time.Unix(1, 0)}
	for v, i := reflect.ValueOf(&r).Elem(), 0; i < v.NumField(); i++ {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(time.Second))
		case reflect.Bool:
			f.SetBool(true)
		default: // the time
		}
	}
	var out bytes.Buffer
	log := accesslog.New(&out, accesslog.Options{})
	log.Access(&r)
	_ = log.Close()
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	var written []string
	for name := range line {
		written = append(written, name)
	}
	compare(t, "A request", written)
}

// The page has each field that any other line may have. They are found in the source: the names among the arguments of a logger.
func TestOtherFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	written := map[string]bool{"time": true, "level": true, "msg": true}
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/sim/") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				fieldsIn(t, path, f.Body, written)
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Fatalf("%d files, %v", files, err)
	}
	var names []string
	for name := range written {
		names = append(names, name)
	}
	compare(t, "Other lines", names)
}

// fieldsIn collects the fields of a function's log lines.
func fieldsIn(t *testing.T, path string, body *ast.BlockStmt, to map[string]bool) {
	spread := false
	names := func(list []ast.Expr) {
		for i := 0; i < len(list); i += 2 {
			lit, ok := list[i].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				t.Errorf("%s: the name of a field is not a constant, or a field has no value", path)
				return
			}
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			to[name] = true
		}
	}
	var lists [][]ast.Expr // of type []any: the fields, where a call has them spread
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if kind, ok := n.Type.(*ast.ArrayType); ok {
				if elem, ok := kind.Elt.(*ast.Ident); ok && elem.Name == "any" {
					lists = append(lists, n.Elts)
				}
			}
		case *ast.CallExpr:
			if !logs(n) {
				return true
			}
			if n.Ellipsis == token.NoPos {
				names(n.Args[1:])
				return true
			}
			spread = true
			if call, ok := n.Args[1].(*ast.CallExpr); ok { // append(attrs, ...)
				names(call.Args[1:])
			}
		}
		return true
	})
	if spread {
		for _, l := range lists {
			names(l)
		}
	}
}

// logs reports whether a call writes a line: Info, Warn, Error or Debug of something whose name ends in log.
func logs(c *ast.CallExpr) bool {
	method, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || len(c.Args) == 0 || !slices.Contains([]string{"Info", "Warn", "Error", "Debug"}, method.Sel.Name) {
		return false
	}
	switch on := method.X.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(on.Name), "log")
	case *ast.SelectorExpr:
		return strings.HasSuffix(strings.ToLower(on.Sel.Name), "log")
	}
	return false
}
