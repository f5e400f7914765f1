package docsite_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir"
	"weir/internal/docsite"
	"weir/internal/httpapi"
)

const ours = "https://weir.example.org"

func sources() docsite.Sources {
	return docsite.Sources{
		Files: weir.Files, OpenAPI: httpapi.OpenAPI(), Session: "__Host-weir", Interface: true,
		Settings: func() ([]docsite.Setting, error) { return settings, nil },
	}
}

var settings = []docsite.Setting{
	{Key: "server.listen", Type: "text", Default: "127.0.0.1:8080", Means: `where | clients "connect"`},
	{Key: "pricing.rub_per_usd", Type: "decimal", Default: `"100"`, Means: "the rate", Live: true},
	{Key: "providers[].id", Type: "text", Live: true},
}

// shared is the documentation of most tests.
var shared = docsite.New(sources())

// serve starts a server with the documentation and nothing else: what is not of the documentation is 404 with the header Not-Docs.
func serve(t *testing.T, site *docsite.Site, base string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, _ := site.Open(r, base); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Not-Docs", "1")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	return s
}

type reply struct {
	*http.Response
	text string
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func get(t *testing.T, s *httptest.Server, path string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res, string(b)}
}

// files lists the pages of the repository, without their translations and without the list for readers of the repository.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := fs.Glob(weir.Files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(f string) bool { return f == "docs/README.md" || strings.HasPrefix(f, "docs/ru/") })
}

func TestEveryFileStandsInTheTableOnce(t *testing.T) {
	t.Parallel()
	listed, about := docsite.Table()
	for _, f := range files(t) {
		if n := len(slices.DeleteFunc(slices.Clone(listed), func(l string) bool { return l != f })); n != 1 {
			t.Errorf("%s stands in groups of table.go %d times: give it one line, with what it is for", f, n)
		}
	}
	for _, f := range listed {
		if a := about[f]; len(a) < 10 || len(a) > 130 || !strings.HasSuffix(a, ".") {
			t.Errorf("%s: %q is not one short sentence", f, a)
		}
	}
}

var (
	href     = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	idOf     = regexp.MustCompile(` id="([^"]*)"`)
	inline   = regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<])|<style|\sstyle=|\son[a-z]+=|javascript:`)
	elements = regexp.MustCompile(`<[^>]*>`)
)

// elsewhere are addresses of other parts of Weir to which pages lead.
var elsewhere = []string{"/", "/models", "/playground", "/overview", "/openapi.yaml"}

// Every page answers, every link and anchor leads somewhere, and no page has a script or style in itself.
func TestEveryLinkResolves(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "ru"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			everyLinkResolves(t, lang)
		})
	}
}

func everyLinkResolves(t *testing.T, lang string) {
	t.Helper()
	s := serve(t, shared, ours)
	seen, ids, wanted := map[string]reply{}, map[string]map[string]bool{}, map[string]string{}
	queue := []string{"/docs"}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		if _, done := seen[p]; done {
			continue
		}
		r := get(t, s, p, "Accept-Language", lang)
		seen[p] = r
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", p, r.StatusCode)
		}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			continue
		}
		if m := inline.FindString(r.text); m != "" {
			t.Errorf("%s has a script or style in itself: %s", p, m)
		}
		ids[p] = map[string]bool{}
		for _, m := range idOf.FindAllStringSubmatch(r.text, -1) {
			if ids[p][m[1]] {
				t.Errorf("%s has the id %s twice", p, m[1])
			}
			ids[p][m[1]] = true
		}
		for _, m := range href.FindAllStringSubmatch(r.text, -1) {
			to := html.UnescapeString(m[1])
			if strings.Contains(to, "://") {
				if !strings.HasPrefix(m[0], "href") {
					t.Errorf("%s loads %s", p, to)
				}
				continue
			}
			file, anchor, anchored := strings.Cut(to, "#")
			if file == "" {
				file = p
			}
			if file, _, _ = strings.Cut(file, "?"); slices.Contains(elsewhere, file) || file == "/sign-in" {
				continue
			}
			queue = append(queue, file)
			if anchored {
				wanted[file+"#"+anchor] = p
			}
		}
	}
	for to, from := range wanted {
		file, anchor, _ := strings.Cut(to, "#")
		anchor, err := url.PathUnescape(anchor)
		if err != nil || !ids[file][anchor] {
			t.Errorf("%s leads to %s, where nothing has that id", from, to)
		}
	}
	for _, f := range files(t) {
		name := strings.TrimSuffix(strings.TrimSuffix(f, ".md"), "/README")
		if _, ok := seen["/"+name]; !ok {
			t.Errorf("no page leads to %s", f)
		}
	}
	if len(wanted) < 300 {
		t.Errorf("only %d anchors were followed", len(wanted))
	}
}

// Each page is in the list beside it, and one in a folder without a page of its own is in the list of every page. No page is without a link.
func TestEveryPageIsListed(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	beside := func(path string) string {
		_, list, _ := strings.Cut(get(t, s, path).text, `<nav class="side"`)
		list, _, _ = strings.Cut(list, "</nav>")
		return list
	}
	first := beside("/docs")
	for _, f := range files(t) {
		path := "/" + strings.TrimSuffix(strings.TrimSuffix(f, ".md"), "/README")
		link := `href="` + path + `"`
		if !strings.Contains(beside(path), link) {
			t.Errorf("%s is not in the list beside it", f)
		}
		if !strings.Contains(f, "/decisions/") && !strings.Contains(f, "/commands/") && !strings.Contains(first, link) {
			t.Errorf("%s is not in the list of pages", f)
		}
	}
}

// What stands in a file stands on its page: nothing is lost on the way.
var commandAsText = regexp.MustCompile(`<p>(?:\$ )?(?:curl|export|printf|make|go|(?:bin/)?weir) [^<]*`)

func TestPagesHaveTheTextOfTheirFiles(t *testing.T) {
	t.Parallel()
	const base = "http://127.0.0.1:8080"
	s := serve(t, shared, base)
	word := regexp.MustCompile(`[\p{L}\p{N}]{2,}`)
	for _, f := range files(t) {
		source, err := fs.ReadFile(weir.Files, f)
		if err != nil {
			t.Fatal(err)
		}
		twin := get(t, s, "/"+f)
		if twin.text != string(source) || twin.Header.Get("Content-Type") != "text/markdown; charset=utf-8" {
			t.Errorf("%s: its twin differs from the file (%s)", f, twin.Header.Get("Content-Type"))
		}
		page := get(t, s, "/"+strings.TrimSuffix(strings.TrimSuffix(f, ".md"), "/README"))
		_, article, _ := strings.Cut(page.text, "<article")
		article, _, _ = strings.Cut(article, "</article>")
		shown := html.UnescapeString(elements.ReplaceAllString(article, ""))
		text := regexp.MustCompile(`\]\([^)]*\)|<[a-z]+>|<!--.*?-->`).ReplaceAllString(string(source), "]")
		text = regexp.MustCompile("(?m)^ *(```.*|\\|[-:| ]+\\|)$").ReplaceAllString(text, "")
		for _, w := range word.FindAllString(text, -1) {
			if !strings.Contains(shown, w) {
				t.Errorf("%s: %q is not on the page", f, w)
				break
			}
		}
		// A command that is indented by four after a list is a paragraph of its last item.
		if at := commandAsText.FindString(article); at != "" {
			t.Errorf("%s: a command is not shown as code: %s", f, at)
		}
		if a, b := strings.Count(string(source), base), strings.Count(html.UnescapeString(article), base); a != b {
			t.Errorf("%s has the address %d times, its page %d times", f, a, b)
		}
	}
}

func TestTheAddressIsTheReaders(t *testing.T) {
	t.Parallel()
	site := shared
	s := serve(t, site, ours)
	for _, p := range []string{"/docs/start", "/docs/start.md", "/docs/clients", "/docs/reference", "/llms.txt", "/llms-full.txt", "/docs/search?q=base"} {
		if r := get(t, s, p); strings.Contains(r.text, "http://127.0.0.1:8080") || !strings.Contains(p, "search") && !strings.Contains(r.text, ours) {
			t.Errorf("%s does not have the address of this installation", p)
		}
	}
	if r := get(t, s, "/docs/start"); r.Header.Get("Strict-Transport-Security") == "" {
		t.Error("a page over TLS does not say that it stays so")
	}
	hostile := serve(t, site, `http://"><script>alert(1)</script>`)
	for _, p := range []string{"/docs/start", "/docs/search?q=base"} {
		if r := get(t, hostile, p); inline.MatchString(r.text) {
			t.Errorf("%s takes an address for HTML", p)
		}
	}
}

func TestListsForPrograms(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	short, full, pages := get(t, s, "/llms.txt"), get(t, s, "/llms-full.txt"), get(t, s, "/docs/pages.json")
	_, about := docsite.Table()
	for _, f := range files(t) {
		line := regexp.MustCompile(`(?m)^- \[[^\]]+\]\(` + regexp.QuoteMeta(ours+"/"+f) + `\): ` + regexp.QuoteMeta(about[f]) + `$`)
		if len(line.FindAllString(short.text, -1)) != 1 {
			t.Errorf("/llms.txt does not list %s once", f)
		}
		source, err := fs.ReadFile(weir.Files, f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(full.text, strings.TrimSpace(strings.ReplaceAll(string(source), "http://127.0.0.1:8080", ours))) {
			t.Errorf("/llms-full.txt lacks %s", f)
		}
		if name := "/" + strings.TrimSuffix(strings.TrimSuffix(f, ".md"), "/README"); !strings.Contains(pages.text, `"path":"`+name+`"`) {
			t.Errorf("/docs/pages.json lacks %s", name)
		}
	}
	var list []struct {
		Path, Title, About string
		Headings           [][]string
	}
	if err := yaml.Unmarshal([]byte(pages.text), &list); err != nil || len(list) < 60 { // JSON is YAML
		t.Errorf("%v, %d pages", err, len(list))
	}
	for _, p := range list {
		for _, h := range p.Headings {
			if len(h) != 2 || p.Title == "" {
				t.Errorf("%+v", p)
			}
		}
	}
	// a client that names Markdown gets the twin at the address of the page
	if r := get(t, s, "/docs/money", "Accept", "text/markdown, text/html;q=0.5"); r.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.Contains(r.Header.Get("Vary")+fmt.Sprint(r.Header["Vary"]), "Accept") {
		t.Errorf("%s %v", r.Header.Get("Content-Type"), r.Header)
	}
	if r := get(t, s, "/docs/money", "Accept", "text/html, text/markdown;q=0.5"); !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%s", r.Header.Get("Content-Type"))
	}
}

// Every operation has its section with its example, every named object too.
func TestReference(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	var doc struct {
		Tags       []struct{ Name string }
		Paths      map[string]map[string]yaml.Node
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal(httpapi.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	pages, n := map[string]string{}, 0
	for _, tag := range doc.Tags {
		pages[tag.Name] = get(t, s, "/docs/reference/"+tag.Name+".md").text
	}
	index := get(t, s, "/docs/reference/README.md").text
	for p, item := range doc.Paths {
		for method, node := range item {
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) {
				continue
			}
			var op struct{ Tags []string }
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			n++
			title := strings.ToUpper(method) + " " + p
			if !strings.Contains(pages[op.Tags[0]], "\n## "+title+"\n") || !strings.Contains(index, "`"+title+"`") {
				t.Errorf("%s is not in the reference", title)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d operations", n)
	}
	objects := get(t, s, "/docs/reference/objects").text
	for name := range doc.Components.Schemas {
		if !strings.Contains(objects, `id="`+docsite.Fragment(name)+`"`) {
			t.Errorf("the object %s is not in the reference", name)
		}
	}
	chat := get(t, s, "/docs/reference/inference.md").text
	for _, want := range []string{
		"curl $BASE/v1/chat/completions -H \"Authorization: Bearer $KEY\" -H \"Content-Type: application/json\" \\\n  -d '{\"model\":\"sim/chat\",\"messages\":[{\"role\":\"user\",\"content\":\"What is a weir?\"}],\"max_tokens\":100}'",
		"| `Idempotency-Key` | header | string | A unique name of the client",
		"| 402 | The request failed; error.metadata.error\\_type has the kind of error | `application/json`: [Error](objects.md#error) |",
		"`application/json`: [ChatRequest](objects.md#chatrequest)",
	} {
		if !strings.Contains(chat, want) {
			t.Errorf("the reference of chat lacks %s", want)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	r := get(t, s, "/docs/settings")
	for _, want := range []string{`<td><code>server.listen</code></td>`, `where | clients &quot;connect&quot;`, `<code>&quot;100&quot;</code>`, `the rate <em>Live.</em>`, `<td>none</td>`, `id="providers"`} {
		if !strings.Contains(r.text, want) {
			t.Errorf("lacks %s", want)
		}
	}
}

func TestHostilePaths(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	for _, c := range []struct {
		path   string
		status int
	}{
		{"/docs/../files.go", 404}, {"/docs/..%2f..%2fetc%2fpasswd", 404}, {"/docs/%2e%2e/%2e%2e/go.mod", 404}, {"/docs/./money", 308}, {"/docs//money", 308}, {"/docs/money/", 308}, {"/docs/", 308},
		{"/docs/decisions/../money", 308}, {"/docs/%00", 404}, {"/docs/money%00.md", 404}, {"/docs/\\..\\x", 404}, {"/docs/" + strings.Repeat("a/", 4000), 404}, {"/docs/" + strings.Repeat("%c3%28", 500), 404},
		{"/docs/money.md.md", 404}, {"/docs/README", 404}, {"/docs/table.go", 404}, {"/docs/-/", 404}, {"/docs/-/docs.css", 404}, {"/docs/screens/", 404}, {"/docs/decisions.md", 308}, {"/docs/weir.example.yaml", 404},
		{"/docs/search", 200}, {"/docs/search?q=" + strings.Repeat("a", 10000), 400}, {"/docs/search?q=%zz", 400}, {"/docs/search?q=%ff%fe", 200}, {"/docs/search?q=a;b", 400}, {"/docs/search/", 404}, {"/docs/Money", 404}, {"/DOCS", 404},
	} {
		r := get(t, s, c.path)
		if r.StatusCode != c.status {
			t.Errorf("%.60s answers %d, want %d", c.path, r.StatusCode, c.status)
		}
		if to := r.Header.Get("Location"); c.status == 308 && !(to == "/docs" || strings.HasPrefix(to, "/docs/") && path.Clean(to) == to) {
			t.Errorf("%.60s leads to %q", c.path, to)
		}
		if inline.MatchString(r.text) || strings.Contains(r.text, "root:") {
			t.Errorf("%.60s: %.300s", c.path, r.text)
		}
	}
	// other paths are not the documentation's, and a program gets the API's own answer
	for _, p := range []string{"/docsx", "/doc", "/v1/models", "/llms.txt/x", "/assets/x"} {
		if r := get(t, s, p); r.Header.Get("Not-Docs") == "" {
			t.Errorf("%s is answered", p)
		}
	}
	if r := get(t, s, "/docs/nothing", "Accept", "application/json"); r.Header.Get("Not-Docs") == "" {
		t.Error("a program gets a page for an address without one")
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	first := regexp.MustCompile(`(?s)<ol class="results"[^>]*>\s*<li[^>]*><a href="([^"]*)"`)
	for query, want := range map[string]string{
		"money": "/docs/money", "Routing": "/docs/routing", "claude code": "/docs/clients#claude-code-", "idempotency-key": "/docs/", "POST /v1/rerank": "/docs/re",
		"what is held": "/docs/money#what-is-held", "ьщтун": "/docs/money", "pricing.rub_per_usd": "/docs/settings#pricing", "payment_required": "/docs/errors",
		"failover": "/docs/routing", "fallback": "/docs/routing", "refund": "/docs/money#corrections-and-refunds", "caches": "/docs/caches", "backup": "/docs/back-up", "budget": "/docs/budgets",
		"docker": "/docs/install", "prices": "/docs/catalog",
	} {
		r := get(t, s, "/docs/search?q="+url.QueryEscape(query))
		if m := first.FindStringSubmatch(r.text); m == nil || !strings.HasPrefix(m[1], want) {
			t.Errorf("%q finds %v first, want %s", query, m, want)
		}
	}
	if r := get(t, s, "/docs/search?q=failover"); strings.Contains(r.text, `<li lang="en"><a href="/docs/routing#when-an-attempt-fails"`) || !strings.Contains(r.text, "<p>How a provider is chosen") {
		t.Error("a word by which a page is looked for finds sections that do not have it, or no sentence about the page")
	}
	for _, query := range []string{"", " ", "zzzzqqq", "money zzzzqqq", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "\x00", "ß ẞ İ", strings.Repeat("a ", 60)} {
		r := get(t, s, "/docs/search?q="+url.QueryEscape(query))
		if r.StatusCode != http.StatusOK || inline.MatchString(strings.ReplaceAll(r.text, "value=\""+html.EscapeString(query)+"\"", "")) || strings.Contains(r.text, "<img src=x") {
			t.Errorf("%q: %d", query, r.StatusCode)
		}
	}
	if r := get(t, s, "/docs/search?q=a"); strings.Count(r.text, "<li><a href") > 200 {
		t.Error("a search shows everything")
	}
}

// A page follows the reader: language, theme, session; and it is kept and compressed.
func TestReaders(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	en := get(t, s, "/docs/money")
	if !strings.Contains(en.text, `<html lang="en" data-theme="system">`) || !strings.Contains(en.text, `href="/sign-in?to=%2fdocs%2fmoney"`) {
		t.Errorf("%.900s", en.text)
	}
	ru := get(t, s, "/docs/routing", "Accept-Language", "ru", "Cookie", "weir_theme=dark; __Host-weir=abc")
	if !strings.Contains(ru.text, `<html lang="ru" data-theme="dark">`) || !strings.Contains(ru.text, "Аккаунт") || !strings.Contains(ru.text, `<article lang="en">`) || strings.Contains(ru.text, "/sign-in?") {
		t.Errorf("%.900s", ru.text)
	}
	policy := en.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'; script-src 'self'; style-src 'self'; ") || strings.Contains(policy, "unsafe") || en.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error(en.Header)
	}
	if r := get(t, s, "/docs/money", "If-None-Match", en.Header.Get("Etag")); r.StatusCode != http.StatusNotModified || r.text != "" {
		t.Errorf("the same page again: %d", r.StatusCode)
	}
	if r := get(t, s, "/docs/money", "If-None-Match", en.Header.Get("Etag"), "Accept-Language", "ru"); r.StatusCode != http.StatusOK {
		t.Errorf("the page in another language: %d", r.StatusCode)
	}
	z := get(t, s, "/docs/money", "Accept-Encoding", "gzip")
	zr, err := gzip.NewReader(strings.NewReader(z.text))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(zr); err != nil || !bytes.Equal(b, []byte(en.text)) || len(z.text)*3 > len(b) {
		t.Errorf("%v: %d bytes of %d", err, len(z.text), len(b))
	}
	plain := serve(t, docsite.New(func() docsite.Sources { s := sources(); s.Interface = false; return s }()), ours)
	if r := get(t, plain, "/docs"); strings.Contains(r.text, `href="/models"`) || strings.Contains(r.text, "/sign-in?") {
		t.Error("without the interface, pages lead to it")
	}
}

// The first request for a text under a new address of the gateway counts as a page, not as a file, because the text must be made. It is made only
// when it is sent.
func TestTextsForNewAddresses(t *testing.T) {
	t.Parallel()
	site := docsite.New(sources())
	r := httptest.NewRequest(http.MethodGet, "/llms-full.txt", nil)
	for range 2 {
		if _, cheap := site.Open(r, ours); cheap {
			t.Fatal("a text that was not made is said to be")
		}
	}
	h, _ := site.Open(r, ours)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), ours) {
		t.Fatalf("%d", w.Code)
	}
	if _, cheap := site.Open(r, ours); !cheap {
		t.Error("a text that was made is not kept")
	}
	if _, cheap := site.Open(r, "https://another.example.org"); cheap {
		t.Error("a text for another address is said to be there")
	}
}

// However many addresses a node is asked under, what it keeps is bounded.
func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	site := docsite.New(sources())
	for i := range 60 {
		r := httptest.NewRequest(http.MethodGet, "/docs/reference/objects", nil)
		h, _ := site.Open(r, fmt.Sprintf("https://host-%d.example.org", i))
		h.ServeHTTP(httptest.NewRecorder(), r)
		if n, size := site.Kept(); size > docsite.KeptBytes || n > 60 {
			t.Fatalf("%d pages with %d bytes are kept", n, size)
		}
	}
	if n, size := site.Kept(); n == 0 || size == 0 || n == 60 {
		t.Errorf("%d pages with %d bytes are kept: the bound was not reached", n, size)
	}
}

func TestWordsAreInBothLanguages(t *testing.T) {
	t.Parallel()
	all := docsite.Words()
	if a, b := slices.Sorted(maps.Keys(all["en"])), slices.Sorted(maps.Keys(all["ru"])); !slices.Equal(a, b) {
		t.Errorf("%v\n%v", a, b)
	}
	for _, g := range docsite.Groups() {
		if all["en"][g] == "" || all["ru"][g] == "" {
			t.Errorf("the group %s has no name", g)
		}
	}
}

func BenchmarkFirstPage(b *testing.B) {
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/docs", nil)
		h, _ := docsite.New(sources()).Open(r, ours)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}

func BenchmarkSearch(b *testing.B) {
	r := httptest.NewRequest(http.MethodGet, "/docs/search?q=a+the+hold+e+r+provider+s+money", nil)
	for b.Loop() {
		h, _ := shared.Open(r, ours)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}

func TestDamagedSources(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*docsite.Sources){
		"no files":            func(s *docsite.Sources) { s.Files = onlyLook{} },
		"an unknown document": func(s *docsite.Sources) { s.OpenAPI = []byte("a: [") },
		"no settings": func(s *docsite.Sources) {
			s.Settings = func() ([]docsite.Setting, error) { return nil, errors.New("no example") }
		},
	} {
		src := sources()
		edit(&src)
		if r := get(t, serve(t, docsite.New(src), ours), "/docs"); r.StatusCode != http.StatusInternalServerError {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
}

type onlyLook struct{}

func (onlyLook) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
