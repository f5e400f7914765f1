// Package webui serves the files of the web interface, which are built from web/ and part of the binary. It knows neither the API nor who is
// signed in: a page is the same for everybody, save its language, its theme and a nonce.
package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed all:dist
var built embed.FS

// Built are the files of the interface in this binary; a build without npm has no files.
func Built() fs.FS {
	f, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // cannot happen: the path is valid
	}
	return f
}

// Site is the interface. It is safe for concurrent use.
type Site struct {
	files map[string]*File
	app   *builtPage // nil: the interface was not built
	entry *builtPage // sign-in and all that leads to it
	needs []need     // of pages in app
}

// File is content that is sent as it is. It is safe for concurrent use.
type File struct {
	kind    string
	etag    string // without quotes
	hashed  bool   // its name changes with its content
	plain   []byte // nil: unpacked is asked
	gz, br  []byte // nil: not compressed
	varying bool

	unpacked func() ([]byte, error) // in place of plain: from gz, kept once a client has asked, for nearly all take gzip
}

// kinds are the media types of files that a build may contain. A file of another type is an error of the build, not a guess.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".json": "application/json; charset=utf-8", ".svg": "image/svg+xml",
	".png": "image/png", ".ico": "image/x-icon", ".webp": "image/webp", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json", ".wasm": "application/wasm", ".map": "application/json; charset=utf-8",
}

var gzipMagic = []byte{0x1f, 0x8b}

// hashedFolder has the files whose names change with their content.
const hashedFolder = "/assets/"

// New reads a built interface. An empty folder is one that was not built: then each page says how to get it.
func New(dist fs.FS) (*Site, error) {
	s := &Site{files: map[string]*File{}}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name)[0] == '.' {
			return err
		}
		content, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		return s.add("/"+name, content)
	})
	if err != nil {
		return nil, fmt.Errorf("webui: %w", err)
	}
	for name, f := range s.files {
		if f.plain == nil && f.gz == nil {
			return nil, fmt.Errorf("webui: %s is there as brotli only, which not all clients take", name)
		}
		f.varying = f.gz != nil || f.br != nil
	}
	if s.app == nil && (len(s.files) > 0 || s.entry != nil) {
		return nil, fmt.Errorf("webui: the built files have no index.html")
	}
	if s.entry == nil {
		s.entry = s.app
	}
	return s, nil
}

func (s *Site) add(name string, content []byte) (err error) {
	base, coding := name, ""
	for _, ending := range []string{".br", ".gz"} {
		if strings.HasSuffix(name, ending) {
			base, coding = strings.TrimSuffix(name, ending), ending
		}
	}
	switch {
	case path.Ext(base) == ".html" && coding != "": // written anew for each request
		return nil
	case base == "/index.html":
		s.app, err = parse(content)
		return err
	case base == "/pages.txt":
		s.needs, err = parseNeeds(content)
		return err
	case base == "/sign-in.html":
		s.entry, err = parse(content)
		return err
	}
	kind := kinds[path.Ext(base)]
	if kind == "" {
		return fmt.Errorf("%s has a type that is not served", name)
	}
	f := s.files[base]
	if f == nil {
		f = &File{kind: kind, hashed: strings.HasPrefix(base, hashedFolder)}
		s.files[base] = f
	}
	switch coding {
	case ".br":
		f.br = content
	case ".gz":
		if !bytes.HasPrefix(content, gzipMagic) { // a reader would need 40 KiB for each file
			return fmt.Errorf("%s is not gzip", name)
		}
		f.gz = content
		f.unpacked = sync.OnceValues(func() ([]byte, error) { return unpacked(content) })
		if f.plain == nil {
			f.etag = Fingerprint(content)
		}
	default:
		f.plain, f.etag = content, Fingerprint(content)
	}
	return nil
}

// unpacked is what gz holds.
func unpacked(gz []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// NewFile makes a file of a media type such as "text/css; charset=utf-8". It is compressed once if that makes it
// smaller; pass text only. hashed says that the file's address changes with its content.
func NewFile(kind string, content []byte, hashed bool) *File {
	f := &File{kind: kind, hashed: hashed, plain: content, etag: Fingerprint(content)}
	if len(content) < 1024 || !strings.HasPrefix(kind, "text/") && !strings.HasPrefix(kind, "image/svg") && !strings.HasPrefix(kind, "application/") {
		return f
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(content) // a buffer takes everything
	_ = z.Close()
	if b.Len() < len(content) {
		f.gz, f.varying = b.Bytes(), true
	}
	return f
}

// Size is how much memory the file holds, in bytes.
func (f *File) Size() int { return len(f.plain) + len(f.gz) + len(f.br) }

// Fingerprint is a short text that differs for other content: for ETags and addresses.
func Fingerprint(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Built reports whether the interface is there; without it each page says how to get it.
func (s *Site) Built() bool { return s.app != nil }

// Open finds what answers a GET of a path: a file, which is cheap to send, or a page. It returns nil for neither; programs that ask for
// anything else than a page get the API's own answer. base is the gateway's address for its clients.
func (s *Site) Open(r *http.Request, base string) (h http.Handler, cheap bool) {
	p := r.URL.Path
	if f := s.files[p]; f != nil {
		return f, true
	}
	if strings.HasPrefix(p, hashedFolder) || p != "/" && !WantsPage(r) {
		return nil, false
	}
	secure := strings.HasPrefix(base, "https://")
	if s.app == nil {
		return &notBuilt{secure}, false
	}
	if first, _, _ := strings.Cut(p[1:], "/"); slices.Contains(entries, first) {
		return &page{s.entry, nil, secure}, false
	}
	return &page{s.app, needOf(s.needs, p), secure}, false
}

// entries are the first segments of paths that people see before they are signed in. Links in mails and of set-up lead to them.
var entries = []string{"sign-in", "sign-up", "invite", "reset", "setup", "new-email", "keep-email"}

// WantsPage reports whether the client is a browser that opens an address, or another that names HTML.
func WantsPage(r *http.Request) bool {
	for _, v := range r.Header["Accept"] {
		if strings.Contains(v, "text/html") || strings.Contains(v, "application/xhtml+xml") {
			return true
		}
	}
	return false
}

// ServeHTTP sends the file in a coding that the client takes.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Cross-Origin-Resource-Policy"] = []string{"same-origin"}
	if f.hashed {
		h["Cache-Control"] = []string{"public, max-age=31536000, immutable"}
	} else {
		h["Cache-Control"] = []string{"public, no-cache"}
	}
	if f.varying {
		h.Add("Vary", "Accept-Encoding")
	}
	body, coding := f.plain, ""
	switch accepted := codings(r.Header["Accept-Encoding"]); {
	case f.br != nil && accepted.br:
		body, coding = f.br, "br"
	case f.gz != nil && accepted.gzip:
		body, coding = f.gz, "gzip"
	}
	etag := `"` + f.etag + `"`
	if coding != "" {
		etag = `"` + f.etag + "-" + coding + `"`
	}
	h["Etag"] = []string{etag}
	if matches(r.Header["If-None-Match"], etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if coding != "" {
		h["Content-Encoding"] = []string{coding}
	}
	if strings.HasPrefix(f.kind, "image/svg") { // opened by itself, it is a document
		h["Content-Security-Policy"] = []string{"default-src 'none'; style-src 'unsafe-inline'; sandbox"}
	}
	if body == nil {
		var err error
		if body, err = f.unpacked(); err != nil { // the file is part of this binary, which was put together wrongly
			http.Error(w, "This file of the build is damaged: "+err.Error(), http.StatusInternalServerError)
			return
		}
	}
	send(w, r, f.kind, body)
}

func send(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{kind}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that is gone shows in the request's context
	}
}

// matches reports whether an If-None-Match names an ETag, or any.
func matches(values []string, etag string) bool {
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == etag {
				return true
			}
		}
	}
	return false
}

type accepted struct{ br, gzip bool }

// codings reads an Accept-Encoding.
func codings(values []string) (a accepted) {
	given := map[string]bool{}
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			name, params, _ := strings.Cut(one, ";")
			q := strings.ReplaceAll(params, " ", "")
			refused := strings.HasPrefix(q, "q=0") && strings.Trim(q[3:], ".0") == ""
			given[strings.ToLower(strings.TrimSpace(name))] = !refused
		}
	}
	takes := func(names ...string) bool {
		for _, n := range append(names, "*") {
			if yes, named := given[n]; named {
				return yes
			}
		}
		return false
	}
	return accepted{br: takes("br"), gzip: takes("gzip", "x-gzip")}
}

// builtPage is a page of the interface between its placeholders.
type builtPage struct {
	parts  [][]byte
	places []string // after each part but the last
}

// headEnd is where the head of a page ends: before it is what this page needs.
const headEnd = "</head>"

var placeholders = []string{"__LANG__", "__THEME__", "__NONCE__", headEnd}

// parse splits a page at its placeholders. All must be there: a page without a nonce would not run.
func parse(content []byte) (*builtPage, error) {
	t := &builtPage{}
	seen := map[string]bool{}
	for {
		at, which := -1, ""
		for _, p := range placeholders {
			if i := bytes.Index(content, []byte(p)); i >= 0 && (at < 0 || i < at) {
				at, which = i, p
			}
		}
		if at < 0 {
			break
		}
		t.parts, t.places, seen[which] = append(t.parts, content[:at]), append(t.places, which), true
		content = content[at+len(which):]
	}
	t.parts = append(t.parts, content)
	for _, p := range placeholders {
		if !seen[p] {
			return nil, fmt.Errorf("a page has no %s", p)
		}
	}
	return t, nil
}

func (t *builtPage) fill(values map[string]string) []byte {
	var b []byte
	for i, p := range t.parts {
		b = append(b, p...)
		if i < len(t.places) {
			b = append(b, values[t.places[i]]...)
		}
	}
	return b
}

// page is the interface for one request.
type page struct {
	*builtPage
	need   *need // nil: no more than every page
	secure bool
}

// ServeHTTP sends the page. It is never stored: its nonce belongs to this answer.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nonce, lang := Protect(w.Header(), p.secure), Language(r)
	send(w, r, "text/html; charset=utf-8", p.fill(map[string]string{"__LANG__": lang, "__THEME__": Theme(r), "__NONCE__": nonce, headEnd: p.need.links(lang) + headEnd}))
}

// Protect sets the headers of a page that runs our scripts, and returns the nonce that its style elements need.
func Protect(h http.Header, secure bool) (nonce string) {
	nonce = rand.Text()
	Restrict(h, secure, "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; font-src 'self'; img-src 'self' data: blob:; "+
		"media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "+
		"require-trusted-types-for 'script'; trusted-types default")
	h["Cache-Control"] = []string{"no-store"}
	return nonce
}

// Restrict sets the headers of a page under a content policy: what it may do, what others may do with it, and what its content depends on.
func Restrict(h http.Header, secure bool, policy string) {
	h["Content-Security-Policy"] = []string{policy}
	h["Cross-Origin-Opener-Policy"] = []string{"same-origin"}
	h["Cross-Origin-Resource-Policy"] = []string{"same-origin"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["X-Frame-Options"] = []string{"DENY"}
	h["Referrer-Policy"] = []string{"no-referrer"}
	h["Permissions-Policy"] = []string{"microphone=(self), camera=(), geolocation=(), payment=(), usb=(), serial=(), bluetooth=(), midi=(), display-capture=(), browsing-topics=()"}
	if secure {
		h["Strict-Transport-Security"] = []string{"max-age=31536000"}
	}
	h.Add("Vary", "Accept")
	h.Add("Vary", "Accept-Language")
	h.Add("Vary", "Cookie")
}

// Language is the language of a page: as the browser's cookie says, else the first that both of us speak.
func Language(r *http.Request) string {
	if c, err := r.Cookie("weir_lang"); err == nil && (c.Value == "en" || c.Value == "ru") {
		return c.Value
	}
	best, most := "en", 0.0
	for _, v := range r.Header["Accept-Language"] {
		for one := range strings.SplitSeq(v, ",") {
			tag, params, _ := strings.Cut(one, ";")
			q := 1.0
			if text, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q="); ok {
				f, err := strconv.ParseFloat(text, 64)
				if err != nil {
					continue
				}
				q = f
			}
			lang, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
			if (lang == "en" || lang == "ru") && q > most && q <= 1 {
				best, most = lang, q
			}
		}
	}
	return best
}

// Theme is the theme of a page, as the browser's cookie says.
func Theme(r *http.Request) string {
	if c, err := r.Cookie("weir_theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return "system"
}
