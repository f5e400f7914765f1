// Package docsite serves the documentation: the pages of docs/, and references that are made from the description of the API and from the
// settings. Its pages are plain HTML that needs no script. It knows neither the API nor who is signed in, and reads no file of the machine.
package docsite

import (
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"weir/internal/webui"
)

// Sources is what the documentation is made from.
type Sources struct {
	Files     fs.FS // by their names in the repository: docs/, CHANGELOG.md, weir.example.yaml, and the look of the interface
	OpenAPI   []byte
	Settings  func() ([]Setting, error) // asked once, with the first page
	Interface bool                      // there are pages for models, accounts and the playground to lead to
	Session   string                    // the cookie that a signed-in browser has
}

// Setting is a key of the configuration.
type Setting struct {
	Key     string // with dots: server.listen
	Type    string
	Default string // as YAML
	Means   string // Markdown; "" if nothing is said of it
	Live    bool   // a running node applies a change
}

// Site is the documentation. It is safe for concurrent use.
type Site struct {
	sources Sources
	made    func() (*book, error)

	mu   sync.Mutex
	kept map[variant]*webui.File
	size int
}

// New prepares the documentation. Pages are rendered when the first of them is asked for: most nodes never show one.
func New(s Sources) *Site {
	return &Site{sources: s, made: sync.OnceValues(func() (*book, error) { return makeBook(s) }), kept: map[variant]*webui.File{}}
}

// keptBytes bounds the pages that are kept as they are sent, by language, theme and address. Beyond it they are put together again.
const keptBytes = 8 << 20

// variant is a page or text as one client gets it.
type variant struct {
	name, lang, theme, base string
	signedIn                bool
}

// Root is the address of the documentation.
const Root = "/docs"

// Open finds what answers a GET of a path, or nil where the documentation has no such page.
func (s *Site) Open(r *http.Request, base string) (h http.Handler, cheap bool) {
	p := r.URL.Path
	if p != Root && !strings.HasPrefix(p, Root+"/") && p != "/llms.txt" && p != "/llms-full.txt" && p != "/weir.example.yaml" {
		return nil, false
	}
	b, err := s.made()
	if err != nil { // a test makes the book from the same files: this binary was put together wrongly
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "The documentation of this build is damaged: "+err.Error(), http.StatusInternalServerError)
		}), false
	}
	if f := b.files[p]; f != nil {
		return f, true
	}
	if text, ok := b.texts[p]; ok {
		return s.text(p, text, base)
	}
	if p == searchPath {
		return &answer{site: s, book: b, search: true, base: base}, false
	}
	if page := b.pages[strings.TrimPrefix(p[len(Root):], "/")]; page != nil && (p == Root || p[len(p)-1] != '/') {
		if page.file != "" && prefersMarkdown(r) {
			twin := page.in(webui.Language(r)).twin()
			return s.text(twin, b.texts[twin], base)
		}
		return &answer{site: s, book: b, page: page, base: base}, false
	}
	if to := b.moved(p); to != "" {
		return redirect(to), true
	}
	if !webui.WantsPage(r) {
		return nil, false
	}
	return &answer{site: s, book: b, base: base}, false
}

// moved is the page of which a path is another spelling, or "".
func (b *book) moved(p string) string {
	clean := path.Clean(p)
	if name, ok := strings.CutSuffix(clean, ".md"); ok { // /docs/decisions.md: its text is that of decisions/README.md
		if page := b.pages[strings.TrimPrefix(name, Root+"/")]; page != nil && page.file != "" {
			return page.twin()
		}
		return ""
	}
	if clean == Root {
		return Root
	}
	if page := b.pages[strings.TrimPrefix(clean, Root+"/")]; page != nil && clean != p {
		return page.path()
	}
	if page := b.translated(p); page != nil {
		return page.path()
	}
	return ""
}

type redirect string

func (to redirect) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", string(to))
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.WriteHeader(http.StatusPermanentRedirect)
}

// prefersMarkdown reports whether the client names Markdown and not HTML: programs that read for a model do.
func prefersMarkdown(r *http.Request) bool {
	for _, v := range r.Header["Accept"] {
		if strings.Contains(v, "text/markdown") {
			return !strings.Contains(v, "text/html") || strings.Index(v, "text/markdown") < strings.Index(v, "text/html")
		}
	}
	return false
}

// writtenBase is the address of the gateway in the text of the documentation. Readers get that of theirs.
const writtenBase = "http://127.0.0.1:8080"

// text is a twin or a list, with the address of this gateway in its examples. It is cheap when it was made for that address already.
func (s *Site) text(name, text, base string) (h http.Handler, cheap bool) {
	kind := "text/markdown; charset=utf-8"
	if ext := path.Ext(name); ext != ".md" {
		kind = "text/plain; charset=utf-8"
	}
	if name == pagesList {
		kind = "application/json; charset=utf-8"
	}
	v := variant{name: name, base: base}
	s.mu.Lock()
	cheap = s.kept[v] != nil
	s.mu.Unlock()
	return making(func() http.Handler {
		return varying{s.keep(v, func() (string, []byte) { return kind, []byte(strings.ReplaceAll(text, writtenBase, base)) })}
	}), cheap
}

// varying is a file at an address that may also answer with a page.
type varying struct{ *webui.File }

func (v varying) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["Vary"] = append(w.Header()["Vary"], "Accept", "Accept-Language", "Cookie")
	v.File.ServeHTTP(w, r)
}

// making is an answer that is made when it is sent: what is refused costs nothing.
type making func() http.Handler

func (m making) ServeHTTP(w http.ResponseWriter, r *http.Request) { m().ServeHTTP(w, r) }

// keep returns what is kept for a variant, or makes it.
func (s *Site) keep(v variant, render func() (kind string, content []byte)) *webui.File {
	s.mu.Lock()
	f := s.kept[v]
	s.mu.Unlock()
	if f != nil {
		return f
	}
	kind, content := render()
	f = webui.NewFile(kind, content, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+f.Size() > keptBytes {
		clear(s.kept)
		s.size = 0
	}
	if _, raced := s.kept[v]; !raced {
		s.kept[v] = f
		s.size += f.Size()
	}
	return f
}

// answer is a page for one request. Without a page it answers 404.
type answer struct {
	site   *Site
	book   *book
	page   *page
	base   string
	search bool
}

// policy lets a page use our files and nothing else. Pages have no inline style or script, so they need no nonce and can be kept.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP sends the page.
func (a *answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	webui.Restrict(w.Header(), strings.HasPrefix(a.base, "https://"), policy)
	v := variant{lang: webui.Language(r), theme: webui.Theme(r), base: a.base, signedIn: a.site.signedIn(r)}
	look := func(p *page) *view { return newView(a.book, &a.site.sources, v, p) }
	switch {
	case a.search:
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil || len(q.Get("q")) > maxQuery {
			send(w, r, http.StatusBadRequest, look(nil).results(""))
			return
		}
		send(w, r, http.StatusOK, look(nil).results(q.Get("q")))
	case a.page == nil:
		send(w, r, http.StatusNotFound, look(nil).missing())
	default:
		v.name = a.page.name
		a.site.keep(v, func() (string, []byte) { return "text/html; charset=utf-8", look(a.page).render(a.page) }).ServeHTTP(w, r)
	}
}

// signedIn reports whether the browser has a session. Whether it is still valid is for the page of the account to find out.
func (s *Site) signedIn(r *http.Request) bool {
	if s.sources.Session == "" {
		return false
	}
	c, err := r.Cookie(s.sources.Session)
	return err == nil && c.Value != ""
}
