package structure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plainer are words that our comments once used in a sense of their own, and what says the same.
var plainer = map[string]string{
	"nobody":  "say who or what does not: no client, no account",
	"whoever": "name who: the client, the node",
	"tells":   "reports, sends, shows",
	"told":    "reported, sent, known",
	"purse":   "wallet",
	"pot":     "wallet",
	"film":    "video",
	"spoilt":  "invalid",
	"absurd":  "implausible",
	"beget":   "make",
}

// Comments of the product use the words of docs/glossary.md. Constants and the like may have any name.
func TestCommentsUsePlainWords(t *testing.T) {
	words := regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Sorted(maps.Keys(plainer)), "|") + `)\b`)
	root := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, file, entry.Name())
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range parsed.Comments {
			for _, comment := range group.List {
				seen++
				for _, word := range words.FindAllString(comment.Text, -1) {
					t.Errorf("%s: %q in a comment; better: %s", set.Position(comment.Pos()), word, plainer[strings.ToLower(word)])
				}
			}
		}
		return nil
	})
	if err != nil || seen < 1000 {
		t.Fatalf("%d comments were read, %v", seen, err)
	}
}

// A comment of a declaration begins with its name: one that begins with another's was left behind when something was renamed.
func TestCommentsBeginWithTheName(t *testing.T) {
	tests := regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)`)
	named := regexp.MustCompile(`^([a-z]\w*|\w+[A-Z]\w*) (\w+s|are|say|have)\b`)
	seen := 0
	check := func(at token.Position, doc *ast.CommentGroup, name string) {
		if doc == nil {
			return
		}
		seen++
		if m := named.FindStringSubmatch(doc.Text()); m != nil && m[1] != name && !tests.MatchString(name) {
			t.Errorf("%s: the comment of %s begins with %s", at, name, m[1])
		}
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, file, entry.Name())
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(set.Position(d.Pos()), d.Doc, d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && len(d.Specs) == 1 {
						check(set.Position(d.Pos()), d.Doc, s.Name.Name)
					}
				}
			}
		}
		return nil
	})
	if err != nil || seen < 1000 {
		t.Fatalf("%d comments were read, %v", seen, err)
	}
}
