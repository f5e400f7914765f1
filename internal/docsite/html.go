package docsite

import (
	"bytes"
	_ "embed" // pages.html
	"html"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed pages.html
var pagesSource string

var templates = template.Must(template.New("pages").Funcs(template.FuncMap{"upper": strings.ToUpper}).Parse(pagesSource))

// view is what the templates show to one kind of reader. They escape everything, save the rendered text of our own pages.
type view struct {
	*book
	variant variant

	Words               map[string]string
	Lang, Other, Theme  string
	Interface, SignedIn bool
	Root, Search, To    string // To is where signing in leads back
	Title, About, Twin  string
	Indexed             bool // by search engines
	Groups              []linkedGroup
	Group               string // of the page, "" for those that are in no group
	Heading, Text       template.HTML
	Contents            []heading
	Before, After       *pageLink
	Query, ReadAs       string // ReadAs: the query on another keyboard
	Asked               bool
	Found               []found
}

// linkedGroup is a group in the list of pages.
type linkedGroup struct {
	Name  string
	Open  bool
	Pages []pageLink
}

// pageLink leads to a page.
type pageLink struct {
	To, Title, About string
	Current          bool
	Within           []pageLink // the pages that this one lists, where the reader is at one of them
}

// found is a result of a search.
type found struct {
	To, Title string
	Excerpt   []passage
}

// passage is a piece of a text and the word of the query after it.
type passage struct{ Text, Match string }

// form is a field for searches.
type form struct {
	ID, Search, Query string
	MaxLength         int
	Words             map[string]string
}

// Form returns the form with an id.
func (v *view) Form(id string) form {
	return form{ID: id, Search: searchPath, Query: v.Query, MaxLength: maxQuery / 2, Words: v.Words}
}

// newView prepares a page of the documentation; now is nil for others.
func newView(b *book, s *Sources, v variant, now *page) *view {
	look := &view{
		book: b, variant: v, Words: words[v.lang], Lang: v.lang, Other: "ru", Theme: v.theme, Interface: s.Interface, SignedIn: v.signedIn,
		Root: Root, Search: searchPath, To: Root,
	}
	if v.lang == "ru" {
		look.Other = "en"
	}
	if now != nil {
		look.To, look.Indexed, look.Group = now.path(), true, now.group
	}
	for _, g := range groups {
		in := now != nil && now.group == g.name
		pages := linkedGroup{Name: g.name, Open: in || g.name != "develop" && g.name != "decisions"}
		for _, p := range b.order {
			if p.group != g.name || p.parent != "" {
				continue
			}
			l := linkTo(p, now)
			if in && (now.name == p.name || now.parent == p.name) {
				for _, c := range b.children[p.name] {
					l.Within = append(l.Within, linkTo(c, now))
				}
			}
			pages.Pages = append(pages.Pages, l)
		}
		look.Groups = append(look.Groups, pages)
	}
	return look
}

func linkTo(p, now *page) pageLink {
	return pageLink{To: p.path(), Title: p.title, About: p.about, Current: p == now}
}

// write executes a template. All of them are executed by tests: one that fails is a mistake in it.
func (v *view) write(name string) []byte {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, v); err != nil {
		panic("docsite: " + err.Error())
	}
	return b.Bytes()
}

// render writes a page of the documentation. The first one lists all others with what they are for.
func (v *view) render(p *page) []byte {
	if p.name == "" {
		v.Title, v.About = v.Words["title"], v.Words["lead"]
		return v.write("cover")
	}
	v.Title, v.About, v.Heading = p.title, p.about, template.HTML(p.heading)
	v.Text = template.HTML(strings.ReplaceAll(p.html, writtenBase, html.EscapeString(v.variant.base)))
	if p.file != "" {
		v.Twin = p.twin()
	}
	if len(p.contents) > 1 {
		v.Contents = p.contents
	}
	i := slices.Index(v.order, p)
	if i > 0 {
		l := linkTo(v.order[i-1], p)
		v.Before = &l
	}
	if i+1 < len(v.order) {
		l := linkTo(v.order[i+1], p)
		v.After = &l
	}
	return v.write("page")
}

// results writes the page of a search.
func (v *view) results(query string) []byte {
	words := split(query)
	results := v.find(words)
	if typed := asTyped(query); len(words) > 0 && len(results) == 0 && typed != "" {
		if other := v.find(split(typed)); len(other) > 0 {
			words, results, v.ReadAs = split(typed), other, typed
		}
	}
	v.Title, v.Query, v.Asked = v.Words["search"], query, len(words) > 0
	for _, r := range results {
		text := excerpt(strings.ReplaceAll(r.in.text, writtenBase, v.variant.base), words)
		f := found{To: r.page.path(), Title: r.page.title, Excerpt: marked(text, words)}
		if r.in.id != "" {
			f.To += "#" + r.in.id
			f.Title += " › " + r.in.title
		}
		v.Found = append(v.Found, f)
	}
	return v.write("results")
}

// marked splits a text at the words of the query.
func marked(text string, words []string) (parts []passage) {
	folded := strings.ToLower(text)
	if len(folded) != len(text) {
		return []passage{{Text: text}}
	}
	for i := 0; i < len(text); {
		at, n := len(text), 0
		for _, w := range words {
			if j := begins(folded[i:], w); j >= 0 && i+j < at {
				at, n = i+j, len(w)
			}
		}
		parts = append(parts, passage{text[i:at], text[at : at+n]})
		i = at + n
	}
	return parts
}

// missing writes the page for an address without a page.
func (v *view) missing() []byte {
	v.Title = v.Words["missing"]
	return v.write("missing")
}

// send answers with a page that is made for one request.
func send(w http.ResponseWriter, r *http.Request, status int, content []byte) {
	h := w.Header()
	h["Cache-Control"] = []string{"no-store"}
	h["Content-Type"] = []string{"text/html; charset=utf-8"}
	h["Content-Length"] = []string{strconv.Itoa(len(content))}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // a client that is gone shows in the request's context
	}
}
