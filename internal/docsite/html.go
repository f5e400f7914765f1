package docsite

import (
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// look writes pages for one kind of reader. Everything that is not written here is escaped, save the rendered text of our own pages.
type look struct {
	book    *book
	sources *Sources
	variant variant
	words   map[string]string
	b       strings.Builder
}

func (l *look) write(parts ...string) {
	for _, p := range parts {
		l.b.WriteString(p)
	}
}

// t is a text around the page, as HTML.
func (l *look) t(key string) string { return html.EscapeString(l.words[key]) }

const (
	logo   = `<svg viewBox="0 0 22 22" width="22" height="22" aria-hidden="true"><path d="M2 6.5c2.500 0 2.500 2 5 2s2.500-2 5-2 2.500 2 5 2 2-1 3-1.500" fill="none" stroke="var(--accent)" stroke-width="2" stroke-linecap="round"/><path d="M4 12h14l-2.200 6H6.200z" fill="var(--ink)"/></svg>`
	lens   = `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zm-1 3.500 3 3"/></svg>`
	rows   = `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M2.500 4h11M2.500 8h11M2.500 12h11"/></svg>`
	sheets = `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M7 5.500h5A1.500 1.500 0 0 1 13.500 7v5a1.500 1.500 0 0 1-1.500 1.500H7A1.500 1.500 0 0 1 5.500 12V7A1.500 1.500 0 0 1 7 5.500zM10.500 3.500v-.5a1 1 0 0 0-1-1H3.500a1 1 0 0 0-1 1V9.500a1 1 0 0 0 1 1H4"/></svg>`
	sun    = `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM8 1.500V3M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1"/></svg>`
	person = "/overview"
)

// head writes all before the content. p is nil for pages that are not of the documentation itself.
func (l *look) head(title, about string, p *page) {
	l.write(`<!doctype html><html lang="`, l.variant.lang, `" data-theme="`, l.variant.theme, `"><head><meta charset="utf-8">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">`,
		`<title>`, html.EscapeString(title), ` · Weir</title>`)
	if about != "" {
		l.write(`<meta name="description" content="`, html.EscapeString(about), `">`)
	}
	if p == nil {
		l.write(`<meta name="robots" content="noindex">`)
	}
	if p != nil && p.file != "" {
		l.write(`<link rel="alternate" type="text/markdown" href="`, p.twin(), `">`)
	}
	l.write(`<link rel="icon" href="`, l.book.icon, `" type="image/svg+xml"><link rel="preload" href="`, l.book.font, `" as="font" type="font/woff2" crossorigin>`,
		`<link rel="stylesheet" href="`, l.book.style, `"><script src="`, l.book.script, `" defer></script></head>`,
		`<body data-copy="`, l.t("copy"), `" data-copied="`, l.t("copied"), `" data-theme-name="`, l.t("theme"), `" data-system="`, l.t("system"), `" data-light="`, l.t("light"), `" data-dark="`, l.t("dark"), `" data-code-in="`, l.t("codeIn"), `"`)
	if l.variant.signedIn && l.sources.Interface {
		l.write(` data-key="`, l.t("key"), `"`)
	}
	l.write(`>`,
		`<a class="skip" href="#content">`, l.t("skip"), `</a>`)
	l.top(p)
}

func (l *look) top(p *page) {
	to := Root
	if p != nil {
		to = p.path()
	}
	l.write(`<header class="top"><a class="brand" href="/">`, logo, `Weir</a>`,
		`<button class="menu" type="button" popovertarget="pages" aria-label="`, l.t("pages"), `">`, rows, `</button>`,
		`<nav class="main" aria-label="`, l.t("main"), `">`)
	if l.sources.Interface {
		l.write(`<a href="/models">`, l.t("models"), `</a><a href="/playground">`, l.t("playground"), `</a>`)
	}
	l.write(`<a href="`, Root, `" class="on">`, l.t("docs"), `</a></nav><span class="gap"></span>`)
	if p != nil && p.name != "" { // the others have one in the page
		l.form("", "top-search")
	}
	l.write(`<a class="lens" href="`, searchPath, `" aria-label="`, l.t("search"), `">`, lens, `</a>`,
		`<button class="quiet" type="button" id="theme" hidden>`, sun, `</button>`)
	other := "ru"
	if l.variant.lang == "ru" {
		other = "en"
	}
	l.write(`<button class="quiet" type="button" id="language" value="`, other, `" lang="`, other, `" aria-label="`, strings.ToUpper(other), `, `, l.t("language"), `: `, l.t("other"), `" hidden>`, strings.ToUpper(other), `</button>`)
	switch {
	case !l.sources.Interface:
	case l.variant.signedIn:
		l.write(`<a class="button" href="`, person, `">`, l.t("account"), `</a>`)
	default:
		l.write(`<a class="button" href="/sign-in?to=`, url.QueryEscape(to), `">`, l.t("signIn"), `</a>`)
	}
	l.write(`</header><div class="frame">`)
	l.side(p)
}

func (l *look) form(query, id string) {
	l.write(`<form class="search" role="search" action="`, searchPath, `"><label for="`, id, `">`, lens, `<span class="hidden">`, l.t("searchLabel"), `</span></label>`,
		`<input id="`, id, `" type="search" name="q" value="`, html.EscapeString(query), `" maxlength="`, strconv.Itoa(maxQuery/2), `" placeholder="`, l.t("searchLabel"), `" autocomplete="off" spellcheck="false">`,
		`<button class="hidden" type="submit">`, l.t("find"), `</button></form>`)
}

// side writes the list of pages: beside the text where there is room, else over it.
func (l *look) side(now *page) {
	l.write(`<nav class="side" id="pages" popover aria-label="`, l.t("pages"), `">`)
	if l.sources.Interface {
		l.write(`<ul class="places"><li><a href="/models">`, l.t("models"), `</a></li><li><a href="/playground">`, l.t("playground"), `</a></li></ul>`)
	}
	if l.words["english"] != "" {
		l.write(`<p class="note">`, l.t("english"), `</p>`)
	}
	for _, g := range groups {
		in := now != nil && now.group == g.name
		open := ""
		if in || g.name != "develop" && g.name != "decisions" {
			open = " open"
		}
		l.write(`<details`, open, `><summary>`, l.t(g.name), `</summary><ul lang="en">`)
		for _, p := range l.book.order {
			if p.group != g.name || p.parent != "" {
				continue
			}
			l.item(p, now)
			list := l.book.children[p.name]
			if len(list) == 0 || !in || now.name != p.name && now.parent != p.name {
				l.write(`</li>`)
				continue
			}
			l.write(`<ul>`)
			for _, c := range list {
				l.item(c, now)
				l.write(`</li>`)
			}
			l.write(`</ul></li>`)
		}
		l.write(`</ul></details>`)
	}
	l.write(`</nav>`)
}

func (l *look) item(p, now *page) {
	current := ""
	if p == now {
		current = ` aria-current="page"`
	}
	l.write(`<li><a href="`, p.path(), `"`, current, `>`, html.EscapeString(p.title), `</a>`)
}

func (l *look) end() []byte {
	l.write(`</div></body></html>`)
	return []byte(l.b.String())
}

// render writes a page of the documentation.
func (l *look) render(p *page) []byte {
	if p.name == "" {
		return l.cover()
	}
	l.head(p.title, p.about, p)
	l.write(`<main id="content" tabindex="-1"><div class="above"><p class="group">`, l.t(p.group), `</p><div class="actions">`,
		`<a class="button" id="twin" href="`, p.twin(), `">`, sheets, l.t("markdown"), `</a>`)
	if len(p.contents) > 1 {
		l.write(`<button class="button contents-button" type="button" popovertarget="contents">`, l.t("contents"), `</button>`)
	}
	l.write(`</div></div><article lang="en"><h1>`, p.heading, `</h1>`, strings.ReplaceAll(p.html, writtenBase, html.EscapeString(l.variant.base)), `</article>`)
	l.neighbours(p)
	l.write(`</main>`)
	if len(p.contents) > 1 {
		l.write(`<nav class="contents" id="contents" popover aria-labelledby="contents-title"><p id="contents-title">`, l.t("contents"), `</p><ul lang="en">`)
		for _, h := range p.contents {
			l.write(`<li class="level`, strconv.Itoa(h.level), `"><a href="#`, html.EscapeString(h.id), `">`, html.EscapeString(h.text), `</a></li>`)
		}
		l.write(`</ul></nav>`)
	}
	return l.end()
}

func (l *look) neighbours(p *page) {
	l.write(`<nav class="neighbours" aria-label="`, l.t("neighbours"), `">`)
	for i, other := range l.book.order {
		if other != p {
			continue
		}
		if i > 0 {
			l.neighbour("prev", "before", l.book.order[i-1])
		}
		if i+1 < len(l.book.order) {
			l.neighbour("next", "after", l.book.order[i+1])
		}
	}
	l.write(`</nav>`)
}

func (l *look) neighbour(rel, word string, p *page) {
	l.write(`<a rel="`, rel, `" href="`, p.path(), `"><span>`, l.t(word), `</span><span lang="en">`, html.EscapeString(p.title), `</span></a>`)
}

// cover writes the first page: every page with what it is for.
func (l *look) cover() []byte {
	l.head(l.words["title"], l.words["lead"], l.book.pages[""])
	l.write(`<main id="content" tabindex="-1" class="cover"><h1>`, l.t("title"), `</h1><p class="lead">`, l.t("lead"), `</p>`)
	l.form("", "cover-search")
	for _, g := range groups {
		l.write(`<section><h2>`, l.t(g.name), `</h2><ul class="cards" lang="en">`)
		for _, p := range l.book.order {
			if p.group == g.name && p.parent == "" {
				l.write(`<li><a href="`, p.path(), `">`, html.EscapeString(p.title), `</a><p>`, html.EscapeString(p.about), `</p></li>`)
			}
		}
		l.write(`</ul></section>`)
	}
	l.write(`<section><h2>`, l.t("forPrograms"), `</h2><p>`, l.t("forProgramsText"), ` <a href="/llms.txt">/llms.txt</a>, <a href="/llms-full.txt">/llms-full.txt</a>, <a href="/openapi.yaml">/openapi.yaml</a></p></section></main>`)
	return l.end()
}

// results writes the page of a search.
func (l *look) results(query string) []byte {
	words := split(query)
	found, read := l.book.find(words), ""
	if typed := asTyped(query); len(words) > 0 && len(found) == 0 && typed != "" {
		if other := split(typed); len(l.book.find(other)) > 0 {
			words, read = other, typed
			found = l.book.find(other)
		}
	}
	l.head(l.words["search"], "", nil)
	l.write(`<main id="content" tabindex="-1" class="cover"><h1>`, l.t("search"), `</h1>`)
	l.form(query, "page-search")
	switch {
	case len(words) == 0:
		l.write(`<p class="lead"><a href="`, Root, `">`, l.t("toStart"), `</a></p>`)
	case len(found) == 0:
		l.write(`<p role="status" class="lead">`, l.t("none"), ` `, l.t("noneHelp"), `</p><p><a href="`, Root, `">`, l.t("toStart"), `</a></p>`)
	default:
		if read != "" {
			l.write(`<p>`, l.t("readAs"), ` “`, html.EscapeString(read), `”.</p>`)
		}
		l.write(`<p role="status" class="lead">`, l.t("results"), `: `, strconv.Itoa(len(found)), `</p><ol class="results" lang="en">`)
		for _, r := range found {
			l.result(r, words)
		}
		l.write(`</ol>`)
	}
	l.write(`</main>`)
	return l.end()
}

func (l *look) result(r result, words []string) {
	to, title := r.page.path(), html.EscapeString(r.page.title)
	if r.in.id != "" {
		to += "#" + r.in.id
		title += ` › ` + html.EscapeString(r.in.title)
	}
	l.write(`<li><a href="`, html.EscapeString(to), `">`, title, `</a><p>`)
	l.marked(excerpt(strings.ReplaceAll(r.in.text, writtenBase, l.variant.base), words), words)
	l.write(`</p></li>`)
}

// marked writes a text with the words of the query marked.
func (l *look) marked(text string, words []string) {
	folded := strings.ToLower(text)
	if len(folded) != len(text) {
		l.write(html.EscapeString(text))
		return
	}
	for i := 0; i < len(text); {
		at, n := -1, 0
		for _, w := range words {
			if j := begins(folded[i:], w); j >= 0 && (at < 0 || i+j < at) {
				at, n = i+j, len(w)
			}
		}
		if at < 0 {
			l.write(html.EscapeString(text[i:]))
			return
		}
		l.write(html.EscapeString(text[i:at]), `<mark>`, html.EscapeString(text[at:at+n]), `</mark>`)
		i = at + n
	}
}

// missing writes the page for an address without a page.
func (l *look) missing() []byte {
	l.head(l.words["missing"], "", nil)
	l.write(`<main id="content" tabindex="-1" class="cover"><h1>`, l.t("missing"), `</h1><p class="lead">`, l.t("missingText"), `</p>`)
	l.form("", "page-search")
	l.write(`<p><a href="`, Root, `">`, l.t("toStart"), `</a></p></main>`)
	return l.end()
}

// send answers with a page that is made for one request.
func (l *look) send(w http.ResponseWriter, r *http.Request, status int, content []byte) {
	h := w.Header()
	h["Cache-Control"] = []string{"no-store"}
	h["Content-Type"] = []string{"text/html; charset=utf-8"}
	h["Content-Length"] = []string{strconv.Itoa(len(content))}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // a client that is gone shows in the request's context
	}
}
