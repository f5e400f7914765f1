package docsite

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Table returns the files of the table in order, and the sentence of each.
func Table() (files []string, about map[string]string) {
	about = map[string]string{}
	for _, g := range groups {
		for _, e := range g.pages {
			files = append(files, e.file)
			about[e.file] = e.about
		}
	}
	return files, about
}

// Groups returns the names of the groups, and of the shelves.
func Groups() (names []string) {
	names = append(names, shelves...)
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// Words returns the texts around the pages.
func Words() map[string]map[string]string { return words }

// Kept returns how many pages are kept as they are sent, and how many bytes they have.
func (s *Site) Kept() (n, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept), s.size
}

// KeptBytes is the bound of those bytes.
const KeptBytes = keptBytes

var (
	HashOf    = hashOf
	Highlight = highlight
	Language  = language
	Fragment  = fragment
	Excerpt   = excerpt
	AsTyped   = asTyped
)

// Index returns the list of pages for readers of the repository, by the titles of files. Pages that are made are at /docs only.
func Index(title func(file string) string) string {
	var b strings.Builder
	b.WriteString("# Documentation\n\nA running Weir serves these pages at `/docs`, with search, and with its own address in the examples; there you also find every operation of the API and every setting. Russian translations are in [ru](ru/start.md).\n")
	for _, shelf := range shelves {
		b.WriteString("\n## " + words["en"][shelf] + "\n")
		for _, g := range groups {
			if g.shelf != shelf {
				continue
			}
			if g.name == "decisions" {
				b.WriteString("\n### Decisions\n\n- [Decisions](decisions/README.md): why it was built so.\n")
				continue
			}
			b.WriteString("\n### " + words["en"][g.name] + "\n\n")
			for _, e := range g.pages {
				if file, ok := strings.CutPrefix(e.file, "docs/"); ok {
					b.WriteString("- [" + title(e.file) + "](" + file + "): " + e.about + "\n")
				} else if e.file == changesFile {
					b.WriteString("- [" + title(e.file) + "](../" + e.file + "): " + e.about + "\n")
				}
			}
		}
	}
	return b.String()
}

// FirstLine splits the first line of a translation: the file that it translates, the hash of that file's text, and the rest.
func FirstLine(text string) (of, hash, rest string, ok bool) {
	of, hash, _, rest, ok = firstLine(text)
	return of, hash, rest, ok
}

// Outline returns the blocks of code of a page, and the levels of its headings.
func Outline(source string) (code []string, levels []int) {
	doc := goldmark.New().Parser().Parse(text.NewReader([]byte(source)))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			code = append(code, string(n.Lines().Value([]byte(source))))
		case *ast.Heading:
			levels = append(levels, n.Level)
		}
		return ast.WalkContinue, nil
	})
	return code, levels
}
