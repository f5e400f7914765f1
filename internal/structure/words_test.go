package structure_test

import (
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
