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
	Shelves             []shelf
	TextLang            string // of the page's text
	Older               string // address of the English text, which is newer than the translation
	Group               string // of the page, "" for those that are in no group
	Heading, Text       template.HTML
	Contents            []heading
	Before, After       *pageLink
	Query, ReadAs       string // ReadAs: the query on another keyboard
	Asked               bool
	Found               []found
}

// shelf is a part of the documentation with its groups.
type shelf struct {
	Name   string
	Groups []linkedGroup
}

// linkedGroup is a group in the list of pages.
type linkedGroup struct {
	Name  string
	Open  bool
	Pages []pageLink
}

// pageLink leads to a page.
type pageLink struct {
	To, Title, About, Lang string
	Current                bool
	Within                 []pageLink // the pages that this one lists, where the reader is at one of them
}

// found is a result of a search.
type found struct {
	To, Title, Lang string
	Excerpt         []passage
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
	for _, name := range shelves {
		look.Shelves = append(look.Shelves, shelf{name, look.linked(name, now)})
	}
	return look
}

// linked lists the groups of a shelf. Those of the shelf that is read are open; without a page, those for users.
func (v *view) linked(name string, now *page) (all []linkedGroup) {
	open := name == shelves[0]
	if now != nil && now.group != "" {
		open = slices.ContainsFunc(groups, func(g group) bool { return g.shelf == name && g.name == now.group })
	}
	for _, g := range groups {
		if g.shelf != name {
			continue
		}
		in := now != nil && now.group == g.name
		pages := linkedGroup{Name: g.name, Open: in || open && g.name != "decisions"}
		for _, p := range v.order {
			if p.group != g.name || p.parent != "" {
				continue
			}
			l := v.linkTo(p, now)
			if in && (now.name == p.name || now.parent == p.name) {
				for _, c := range v.children[p.name] {
					l.Within = append(l.Within, v.linkTo(c, now))
				}
			}
			pages.Pages = append(pages.Pages, l)
		}
		all = append(all, pages)
	}
	return all
}

func (v *view) linkTo(p, now *page) pageLink {
	text := p.in(v.Lang)
	return pageLink{To: p.path(), Title: text.title, About: text.about, Lang: text.lang, Current: p == now}
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
	text := p.in(v.Lang)
	v.Title, v.About, v.Heading, v.TextLang = text.title, text.about, template.HTML(text.heading), text.lang
	v.Text = template.HTML(strings.ReplaceAll(text.html, writtenBase, html.EscapeString(v.variant.base)))
	if text.file != "" {
		v.Twin = text.twin()
	}
	if text.older {
		v.Older = p.twin()
	}
	if len(text.contents) > 1 {
		v.Contents = text.contents
	}
	i := slices.Index(v.order, p)
	if i > 0 {
		l := v.linkTo(v.order[i-1], p)
		v.Before = &l
	}
	if i+1 < len(v.order) {
		l := v.linkTo(v.order[i+1], p)
		v.After = &l
	}
	return v.write("page")
}

// results writes the page of a search.
func (v *view) results(query string) []byte {
	words := split(query)
	results := v.find(words, v.Lang)
	if typed := asTyped(query); len(words) > 0 && len(results) == 0 && typed != "" {
		if other := v.find(split(typed), v.Lang); len(other) > 0 {
			words, results, v.ReadAs = split(typed), other, typed
		}
	}
	v.Title, v.Query, v.Asked = v.Words["search"], query, len(words) > 0
	for _, r := range results {
		text := r.in.text
		if !slices.ContainsFunc(words, func(w string) bool { return begins(strings.ToLower(text), w) >= 0 }) {
			text = r.page.about // found by its name
		}
		text = excerpt(strings.ReplaceAll(text, writtenBase, v.variant.base), words)
		f := found{To: r.page.path(), Title: r.page.title, Lang: r.page.lang, Excerpt: marked(text, words)}
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
