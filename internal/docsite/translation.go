package docsite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
)

// russianFolder has the Russian translations of pages, each by the name that its page has below docs/.
const russianFolder = "ru/"

// firstLine splits the first line of a translation from the rest: of which file it is, the hash of the text that was translated, and what the
// page is for.
func firstLine(text string) (of, hash, about, rest string, ok bool) {
	line, rest, _ := strings.Cut(text, "\n")
	line, opened := strings.CutPrefix(line, "<!-- ")
	line, closed := strings.CutSuffix(line, " -->")
	names, about, said := strings.Cut(line, ": ")
	of, hash, named := strings.Cut(names, " ")
	return of, hash, about, rest, opened && closed && said && named && len(hash) == hashDigits && about != ""
}

const hashDigits = 12

// hashOf names a text of a page in its translations.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// translate reads the Russian text of a page, if it has one.
func (b *book) translate(files fs.FS, p *page) error {
	below, ok := strings.CutPrefix(p.origin, "docs/")
	if !ok {
		return nil
	}
	name := "docs/" + russianFolder + below
	text, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	of, hash, about, rest, ok := firstLine(string(text))
	if !ok || of != p.origin {
		return fmt.Errorf("docsite: %s does not begin with <!-- %s HASH: what it is for. -->", name, p.origin)
	}
	p.russian = &page{
		lang: "ru", name: p.name, file: russianFolder + below, origin: name, source: rest, about: about, also: p.also,
		group: p.group, parent: p.parent, older: hash != hashOf(p.source),
	}
	b.texts[p.russian.twin()] = p.russian.source
	b.addresses[name], b.translations[name] = p.path(), p.russian
	return nil
}

// in is the page in a language, or in English.
func (p *page) in(lang string) *page {
	if lang == "ru" && p.russian != nil {
		return p.russian
	}
	return p
}

// match finds the fragments of the English page for those that the headings of a translation have by their own words. It is empty where
// the translation does not have the same headings.
func match(source string, english []string) map[string]string {
	own, of := fragments(parse(goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID())), []byte(source))), map[string]string{}
	if len(own) == len(english) {
		for i, id := range own {
			of[id] = english[i]
		}
	}
	return of
}

// rename gives headings other fragments.
func rename(doc ast.Node, names map[string]string) {
	for _, h := range headings(doc) {
		if name := names[attribute(h)]; name != "" {
			h.SetAttributeString("id", []byte(name))
		}
	}
}

// fragments are those of all headings of a page, the title's too.
func fragments(doc ast.Node) (all []string) {
	for _, h := range headings(doc) {
		all = append(all, attribute(h))
	}
	return all
}

func headings(doc ast.Node) (all []*ast.Heading) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if h, ok := n.(*ast.Heading); ok && entering {
			all = append(all, h)
		}
		return ast.WalkContinue, nil
	})
	return all
}

// translated is the page of which a path names a translation, or nil: /docs/ru/start is /docs/start.
func (b *book) translated(p string) *page {
	name, ok := strings.CutPrefix(path.Clean(p), Root+"/"+russianFolder)
	if !ok {
		return nil
	}
	if page := b.pages[name]; page != nil && page.russian != nil {
		return page
	}
	return nil
}
