package webui_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"weir/internal/webui"
)

const head = `<!doctype html><html lang="__LANG__" data-theme="__THEME__"><meta name="csp-nonce" content="__NONCE__"></head>`

func dist() fstest.MapFS {
	f := fstest.MapFS{}
	for name, text := range map[string]string{
		".keep": "", "index.html": head + "app", "index.html.br": "never sent", "sign-in.html": head + "entry",
		"assets/a-1f.js": "plain js", "assets/a-1f.js.br": "br js", "assets/a-1f.js.gz": gz("gz js"), "assets/b-2e.css.br": "br css", "assets/b-2e.css.gz": gz("plain css"), "assets/inter-9.woff2": "font", "logo.svg": "<svg/>",
		"pages.txt": "page /chat/$id\ndata /api/me\nen assets/one.js\nru assets/one.js\n" +
			"page /chat\ndata /api/me\ndata /api/catalog\nen assets/words.en.js\nen assets/chat.js\nru assets/words.ru.js\nru assets/chat.js\n" +
			"page /chat/new\nen assets/new.js\npage /ends/$\nen assets/end.js",
	} {
		f[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return f
}

func gz(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// get asks a site, and returns nil if it does not answer.
func get(t *testing.T, s *webui.Site, path string, headers ...string) *http.Response {
	t.Helper()
	method, path, found := strings.Cut(path, " ")
	if !found {
		method, path = http.MethodGet, method
	}
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	h, _ := s.Open(r, "https://weir.example.org")
	if h == nil {
		return nil
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func site(t *testing.T) *webui.Site {
	t.Helper()
	s, err := webui.New(dist())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCodings(t *testing.T) {
	s := site(t)
	for accept, want := range map[string]string{
		"": "plain js", "identity": "plain js", "gzip, deflate, br, zstd": "br js", "gzip": gz("gz js"), "br;q=0, gzip": gz("gz js"), "*": "br js", "gzip;q=0.000, *;q=0": "plain js",
		"BR": "br js", "br; q=0.5": "br js", "*;q=0, gzip;q=0.1": gz("gz js"), "x-gzip": gz("gz js"), "brr, gzipp": "plain js",
	} {
		r := get(t, s, "/assets/a-1f.js", "Accept-Encoding", accept)
		if got := text(t, r); got != want {
			t.Errorf("Accept-Encoding %q got %q, want %q", accept, got, want)
		}
		if r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: Vary is %q", accept, r.Header.Get("Vary"))
		}
	}
}

// A build keeps compressed files alone; a client that takes neither coding gets what they hold.
func TestUnpacked(t *testing.T) {
	s := site(t)
	for accept, want := range map[string]string{"": "plain css", "identity": "plain css", "gzip": gz("plain css"), "br, gzip": "br css"} {
		r := get(t, s, "/assets/b-2e.css", "Accept-Encoding", accept)
		if got := text(t, r); got != want || r.Header.Get("Vary") != "Accept-Encoding" || r.Header.Get("Content-Length") != strconv.Itoa(len(want)) {
			t.Errorf("Accept-Encoding %q got %q with %v", accept, got, r.Header)
		}
		if again := get(t, s, "/assets/b-2e.css", "Accept-Encoding", accept, "If-None-Match", r.Header.Get("Etag")); again.StatusCode != 304 {
			t.Errorf("Accept-Encoding %q: a file that the client has got %d", accept, again.StatusCode)
		}
	}
	r := get(t, s, "HEAD /assets/b-2e.css")
	if text(t, r) != "" || r.Header.Get("Content-Length") != "9" {
		t.Errorf("HEAD got %v", r.Header)
	}
}

func TestFiles(t *testing.T) {
	s := site(t)
	r := get(t, s, "/assets/a-1f.js", "Accept-Encoding", "br")
	if h := r.Header; h.Get("Cache-Control") != "public, max-age=31536000, immutable" || h.Get("Content-Type") != "text/javascript; charset=utf-8" || h.Get("Content-Encoding") != "br" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Length") != "5" {
		t.Errorf("headers of a hashed file: %v", h)
	}
	etag := r.Header.Get("Etag")
	if again := get(t, s, "/assets/a-1f.js", "Accept-Encoding", "br", "If-None-Match", `"x", W/`+etag); again.StatusCode != 304 || text(t, again) != "" {
		t.Errorf("a file that the browser has got %d", again.StatusCode)
	}
	if other := get(t, s, "/assets/a-1f.js", "Accept-Encoding", "gzip", "If-None-Match", etag); other.StatusCode != 200 {
		t.Errorf("another coding of a file that the browser has got %d", other.StatusCode)
	}
	if head := get(t, s, "HEAD /assets/a-1f.js"); text(t, head) != "" || head.Header.Get("Content-Length") != "8" {
		t.Errorf("HEAD got %v", head.Header)
	}
	if r := get(t, s, "/logo.svg"); r.Header.Get("Cache-Control") != "public, no-cache" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "sandbox") || r.Header.Get("Vary") != "" {
		t.Errorf("headers of a file with a fixed name: %v", r.Header)
	}
}

func TestNothingElse(t *testing.T) {
	s := site(t)
	for _, path := range []string{
		"/assets/", "/assets/a-1f.js.br", "/assets/old.js", "/assets/../assets/a-1f.js", "/assets/%2e%2e/a", "/assets/a-1f.js/", "/.keep", "/index.html.br", "/dist/index.html", "/models",
	} {
		if r := get(t, s, path); r != nil {
			t.Errorf("a program's GET %s got %d: %s", path, r.StatusCode, text(t, r))
		}
	}
	for _, path := range []string{"/assets/", "/assets/a-1f.js.br", "/assets/old.js", "/assets/..%2fx"} {
		if r := get(t, s, path, "Accept", "text/html"); r != nil {
			t.Errorf("a browser's GET %s got %d: %s", path, r.StatusCode, text(t, r))
		}
	}
}

var nonceOf = regexp.MustCompile(`content="([A-Z2-7]{26})"`)

func TestPages(t *testing.T) {
	s := site(t)
	seen := map[string]bool{}
	for path, want := range map[string]string{
		"/": "app", "/models/openai/gpt-4.1": "app", "/calls/gen-1": "app", "/sign-in": "entry", "/sign-up": "entry", "/invite": "entry", "/reset/x": "entry", "/setup": "entry", "/welcome": "app",
		"/sign-inn": "app", "//evil.example/x": "app", "/..%2f..%2fetc/passwd": "app", "/.keep": "app", "/index.html.br": "app",
	} {
		r := get(t, s, path, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Language", "de, ru;q=0.4, en;q=0.3", "Cookie", "weir_theme=dark")
		body := text(t, r)
		nonce := nonceOf.FindStringSubmatch(body)
		if nonce == nil || !strings.HasSuffix(body, want) || !strings.Contains(body, `lang="ru" data-theme="dark"`) {
			t.Errorf("%s got %q", path, body)
			continue
		}
		if seen[nonce[1]] {
			t.Errorf("the nonce %s came twice", nonce[1])
		}
		seen[nonce[1]] = true
		policy := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "'nonce-"+nonce[1]+"'") || strings.Contains(policy, "unsafe") || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s has the headers %v", path, r.Header)
		}
	}
	want := map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "X-Frame-Options": "DENY", "Strict-Transport-Security": "max-age=31536000",
	}
	r := get(t, s, "HEAD /")
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if r.Header.Get(name) != want[name] {
			t.Errorf("%s is %q", name, r.Header.Get(name))
		}
	}
	if text(t, r) != "" || r.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("HEAD / got %v", r.Header)
	}
}

func TestCookiesAreNoMarkup(t *testing.T) {
	s := site(t)
	r := get(t, s, "/", "Cookie", `weir_theme="><script>; weir_lang=zz`, "Accept-Language", "ru;q=x, <b>;q=1, en-GB;q=0.2")
	if body := text(t, r); !strings.Contains(body, `<html lang="en" data-theme="system">`) {
		t.Errorf("got %q", body)
	}
}

func TestLanguage(t *testing.T) {
	for accept, want := range map[string]string{"": "en", "ru": "ru", "ru-RU,ru;q=0.9,en-US;q=0.8": "ru", "en-US,en;q=0.9,ru;q=0.8": "en", "RU": "ru", "*": "en", "de": "en", "ru;q=0": "en", "en;q=0.1, ru;q=7": "en"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Language", accept)
		if got := webui.Language(r); got != want {
			t.Errorf("Accept-Language %q is %s, want %s", accept, got, want)
		}
		r.AddCookie(&http.Cookie{Name: "weir_lang", Value: "ru"})
		if got := webui.Language(r); got != "ru" {
			t.Errorf("the cookie does not come first: %s", got)
		}
	}
}

func TestNotBuilt(t *testing.T) {
	s, err := webui.New(fstest.MapFS{".keep": {Data: nil}})
	if err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string]string{"en": "make build", "ru": "Описание API"} {
		r := get(t, s, "/models", "Accept", "text/html", "Accept-Language", lang)
		body, policy := text(t, r), r.Header.Get("Content-Security-Policy")
		if !strings.Contains(body, want) || strings.Contains(body, "<script") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("in %s: %v\n%s", lang, r.Header, body)
		}
		_, rest, _ := strings.Cut(body, `<style nonce="`)
		nonce, style, _ := strings.Cut(rest, `">`)
		if nonce == "" || !strings.Contains(policy, "'nonce-"+nonce+"'") || !strings.Contains(style, "[data-theme=dark]{color-scheme:dark;") {
			t.Errorf("in %s the style is not allowed, or damaged: %s\n%s", lang, policy, body)
		}
	}
	if get(t, s, "/models") != nil {
		t.Error("a program got a page")
	}
}

func TestBuiltFiles(t *testing.T) {
	s, err := webui.New(webui.Built())
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(webui.Built(), ".", func(name string, d fs.DirEntry, err error) error {
		if base, gzipped := strings.CutSuffix(name, ".gz"); gzipped && path.Ext(base) != ".html" {
			if r := get(t, s, "/"+base); r.StatusCode != http.StatusOK {
				t.Errorf("%s: %d, %s", name, r.StatusCode, text(t, r))
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A file whose end is missing is found when it is unpacked: what is sent compressed is not read at each start.
func TestDamagedFile(t *testing.T) {
	f := dist()
	whole := gz("plain css")
	f["assets/b-2e.css.gz"] = &fstest.MapFile{Data: []byte(whole[:len(whole)-9])}
	s, err := webui.New(f)
	if err != nil {
		t.Fatal(err)
	}
	if r := get(t, s, "/assets/b-2e.css"); r.StatusCode != http.StatusInternalServerError {
		t.Errorf("a damaged file is sent: %d", r.StatusCode)
	}
	if r := get(t, s, "/assets/b-2e.css", "Accept-Encoding", "br"); r.StatusCode != http.StatusOK || text(t, r) != "br css" {
		t.Errorf("its other form is not sent: %d", r.StatusCode)
	}
}

// What a page needs is named in its document, in its language: nothing that is not its own, and nothing in the pages of sign-in.
func TestNeedsOfPages(t *testing.T) {
	s, err := webui.New(dist())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/chat": "/api/me /api/catalog /assets/words.en.js /assets/chat.js", "/chat ru": "/api/me /api/catalog /assets/words.ru.js /assets/chat.js",
		"/chat/new": "/assets/new.js", "/chat/new ru": "", "/chat/5": "/api/me /assets/one.js", "/chat/5?x=1": "/api/me /assets/one.js",
		"/chat/": "", "/chat/5/6": "", "/": "", "/chat/%22%3E%3Cscript%3E": "/api/me /assets/one.js", "/sign-in": "", "/models": "", "/ends/a/b/c": "/assets/end.js", "/ends/a": "/assets/end.js", "/ends": "",
	} {
		path, lang, _ := strings.Cut(path, " ")
		var got []string
		for _, m := range regexp.MustCompile(`<link rel="(?:modulepreload|preload" as="fetch)" crossorigin href="(.*?)">`).FindAllStringSubmatch(text(t, get(t, s, path, "Accept", "text/html", "Accept-Language", lang)), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s %s: %q, want %q", path, lang, got, want)
		}
	}
}

func TestBadBuilds(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"no page":           func(f fstest.MapFS) { delete(f, "index.html") },
		"no nonce":          func(f fstest.MapFS) { f["index.html"] = &fstest.MapFile{Data: []byte("__LANG__ __THEME__")} },
		"no head":           func(f fstest.MapFS) { f["index.html"] = &fstest.MapFile{Data: []byte("__LANG__ __THEME__ __NONCE__")} },
		"no page of a need": func(f fstest.MapFS) { f["pages.txt"] = &fstest.MapFile{Data: []byte("en assets/a.js")} },
		"an unknown need":   func(f fstest.MapFS) { f["pages.txt"] = &fstest.MapFile{Data: []byte("page /\nde assets/a.js")} },
		"unknown type":      func(f fstest.MapFS) { f["assets/x.exe"] = &fstest.MapFile{Data: []byte("x")} },
		"brotli only":       func(f fstest.MapFS) { delete(f, "assets/b-2e.css.gz") },
		"broken gzip":       func(f fstest.MapFS) { f["assets/b-2e.css.gz"] = &fstest.MapFile{Data: []byte("no gzip")} },
	} {
		f := dist()
		change(f)
		if _, err := webui.New(f); err == nil {
			t.Errorf("a build with %s is served", name)
		}
	}
}

func FuzzOpen(f *testing.F) {
	s, err := webui.New(dist())
	if err != nil {
		f.Fatal(err)
	}
	f.Add("/assets/a-1f.js", "br;q=", "en;q=0.1", "weir_lang=en", `"x"`)
	f.Fuzz(func(t *testing.T, path, coding, lang, cookie, match string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = "/" + path
		for name, v := range map[string]string{"Accept-Encoding": coding, "Accept-Language": lang, "Cookie": cookie, "If-None-Match": match, "Accept": "text/html"} {
			r.Header.Set(name, v)
		}
		h, _ := s.Open(r, "http://x")
		if h == nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if body := w.Body.String(); w.Code == 200 && w.Header().Get("Content-Type") == "text/html; charset=utf-8" &&
			!regexp.MustCompile(`^<!doctype html><html lang="(en|ru)" data-theme="(light|dark|system)"><meta name="csp-nonce" content="[A-Z2-7]{26}">(<link rel="(modulepreload|preload" as="fetch)" crossorigin href="/[a-z/.-]+">\n)*</head>(app|entry)$`).MatchString(body) {
			t.Errorf("%q", body)
		}
	})
}
