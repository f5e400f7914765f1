package docsite_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"weir"
	"weir/internal/docsite"
)

var translated = flag.String("translated", "", "a translation that is up to date: its first line gets the hash of the English text")

// translations lists the Russian texts by their names in the repository.
func translations(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"docs/ru/*.md", "docs/ru/*/*.md"} {
		found, err := fs.Glob(weir.Files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 12 {
		t.Errorf("only %d translations", len(names))
	}
	return append(names, "README.ru.md")
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTranslations compares each Russian text with the English one: it names it, its commands and programs are the same word for word, and as long as
// the English text is the one that was translated, so are its headings.
func TestTranslations(t *testing.T) {
	t.Parallel()
	for _, name := range translations(t) {
		of, hash, russian, ok := docsite.FirstLine(read(t, name))
		if want := strings.Replace(strings.Replace(name, "docs/ru/", "docs/", 1), ".ru.md", ".md", 1); !ok || of != want {
			t.Errorf("%s does not begin with <!-- %s HASH: what it is for. -->", name, want)
			continue
		}
		english := read(t, of)
		if name == *translated {
			line, rest, _ := strings.Cut(read(t, name), "\n")
			hash, russian = docsite.HashOf(english), rest
			line = strings.Replace(line, strings.Fields(line)[2], hash+":", 1)
			if err := os.WriteFile(filepath.Join("..", "..", filepath.FromSlash(name)), []byte(line+"\n"+rest), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if hash != docsite.HashOf(english) {
			t.Logf("%s is older than %s", name, of)
		}
		codeEN, levelsEN := docsite.Outline(english)
		codeRU, levelsRU := docsite.Outline(russian)
		if !slices.Equal(codeEN, codeRU) {
			for i, c := range codeEN {
				if i >= len(codeRU) || codeRU[i] != c {
					t.Errorf("%s: its block of code %d is not that of %s:\n%s", name, i+1, of, c)
					break
				}
			}
			if len(codeRU) > len(codeEN) {
				t.Errorf("%s has %d blocks of code, and %s has %d", name, len(codeRU), of, len(codeEN))
			}
		}
		if hash == docsite.HashOf(english) && !slices.Equal(levelsEN, levelsRU) {
			t.Errorf("%s has other headings than %s: %v, %v", name, of, levelsRU, levelsEN)
		}
		if at := regexp.MustCompile(`эндпоинт|\d %`).FindString(russian); at != "" {
			t.Errorf("%s says %q", name, at)
		}
	}
}

// TestRussianGuidesSayWhatPagesSay is TestGuidesSayWhatPagesSay for the translations.
func TestRussianGuidesSayWhatPagesSay(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	literal := regexp.MustCompile(`'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"`)
	for _, file := range glob(t, "../../web/src/messages/*.ru.ts") {
		for _, m := range literal.FindAllStringSubmatch(file.text, -1) {
			said[m[1]+m[2]] = true
		}
	}
	bold := regexp.MustCompile(`\*\*([^*]+)\*\*`)
	for _, file := range glob(t, "../../docs/ru/guides/*.md") {
		for _, m := range bold.FindAllStringSubmatch(prose(file.text), -1) {
			if !said[m[1]] {
				t.Errorf("%s: no page says %q", file.name, m[1])
			}
		}
	}
}

// withFiles are the files of the repository, with some of them replaced.
type withFiles struct{ replaced fstest.MapFS }

func (w withFiles) Open(name string) (fs.File, error) {
	if w.replaced[name] != nil {
		return w.replaced.Open(name)
	}
	return weir.Files.Open(name)
}

// TestOlderTranslation changes an English page: its translation then says that it is the older one, and leads to it.
func TestOlderTranslation(t *testing.T) {
	t.Parallel()
	const mark = `<p class="older">`
	english := "# Title\n\nWords.\n\n## A part\n\nMore.\n"
	for name, c := range map[string]struct {
		hash  string
		older bool
	}{"the text that was translated": {docsite.HashOf(english), false}, "a newer text": {docsite.HashOf("# Title\n"), true}} {
		src := sources()
		src.Files = withFiles{fstest.MapFS{
			"docs/glossary.md":    {Data: []byte(english)},
			"docs/ru/glossary.md": {Data: []byte("<!-- docs/glossary.md " + c.hash + ": Слова. -->\n# Название\n\nСлова.\n\n## Часть\n\nЕщё.\n")},
		}}
		s := serve(t, docsite.New(src), ours)
		r := get(t, s, "/docs/glossary", "Accept-Language", "ru")
		if strings.Contains(r.text, mark) != c.older || c.older && !strings.Contains(r.text, `href="/docs/glossary.md"`) {
			t.Errorf("%s: %s", name, r.text)
		}
		if !strings.Contains(r.text, `<h2 id="a-part"><a href="#a-part">Часть</a></h2>`) {
			t.Errorf("%s: the heading does not have the fragment of the English one", name)
		}
		if r := get(t, s, "/docs/glossary"); strings.Contains(r.text, mark) || !strings.Contains(r.text, "A part") {
			t.Errorf("%s: the English page is %s", name, r.text)
		}
	}
	src := sources()
	src.Files = withFiles{fstest.MapFS{"docs/ru/glossary.md": {Data: []byte("# Название\n")}}}
	if r := get(t, serve(t, docsite.New(src), ours), "/docs"); r.StatusCode != 500 || !strings.Contains(r.text, "docs/ru/glossary.md does not begin with") {
		t.Errorf("a translation without its first line: %d %.200s", r.StatusCode, r.text)
	}
}

// TestRussianPages gives Russian readers the translations, at the addresses of the English pages.
func TestRussianPages(t *testing.T) {
	t.Parallel()
	s := serve(t, shared, ours)
	page := get(t, s, "/docs/start", "Accept-Language", "ru")
	for _, want := range []string{
		`<article lang="ru"><h1>Начало за пять минут</h1>`, `id="2-ask-a-model"`, `<a href="/docs/clients" lang="ru">Настройка клиента</a>`, `href="/docs/ru/start.md"`, ours,
		`<a href="/docs/api" lang="en">Using the API</a>`, `<p class="shelf">Операторам</p>`,
	} {
		if !strings.Contains(page.text, want) {
			t.Errorf("the Russian page lacks %s", want)
		}
	}
	if r := get(t, s, "/docs/money", "Accept-Language", "ru"); !strings.Contains(r.text, `<a href="#what-is-held">Что резервируется</a>`) {
		t.Error("a link by a Russian heading does not lead to the fragment of the English one")
	}
	if r := get(t, s, "/docs/start", "Accept-Language", "ru", "Accept", "text/markdown"); !strings.HasPrefix(r.text, "# Начало") {
		t.Errorf("as Markdown: %.60s", r.text)
	}
	if r := get(t, s, "/docs/ru/start.md"); !strings.HasPrefix(r.text, "# Начало") {
		t.Errorf("the text: %.60s", r.text)
	}
	if r := get(t, s, "/docs/ru/start"); r.StatusCode != 308 || r.Header.Get("Location") != "/docs/start" {
		t.Errorf("the address of the translation: %d %s", r.StatusCode, r.Header.Get("Location"))
	}
	if r := get(t, s, "/docs/ru/routing"); r.StatusCode != 404 {
		t.Errorf("a translation that does not exist: %d", r.StatusCode)
	}
	if r := get(t, s, "/docs/search?q=%D1%80%D0%B5%D0%B7%D0%B5%D1%80%D0%B2%D0%B8%D1%80%D1%83%D0%B5%D1%82%D1%81%D1%8F", "Accept-Language", "ru"); !strings.Contains(r.text, `href="/docs/money#what-is-held"`) {
		t.Error("a Russian word does not find the Russian text")
	}
	if r := get(t, s, "/docs/search?q=failover", "Accept-Language", "ru"); !strings.Contains(r.text, `<li lang="en"><a href="/docs/routing`) {
		t.Error("an English word does not find the English text")
	}
}
