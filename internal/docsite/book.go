package docsite

import (
	"bytes"
	"embed"
	"fmt"
	"image"
	_ "image/png" // sizes of pictures
	"io/fs"
	"path"
	"strings"

	"weir/internal/rawjson"
	"weir/internal/webui"
)

//go:embed assets
var assets embed.FS

// book is the documentation, rendered. It does not change.
type book struct {
	pages     map[string]*page       // by the name below /docs/
	order     []*page                // as a reader turns them
	texts     map[string]string      // by path: twins and lists, as they are written
	files     map[string]*webui.File // by path
	addresses map[string]string      // of files of the repository
	sizes     map[string]image.Config
	children  map[string][]*page // pages that others list, by those

	translations map[string]*page // by their names in the repository

	Style, Script, Icon, Font string // addresses of files
}

const (
	searchPath      = Root + "/search"
	pagesList       = Root + "/pages.json"
	assetFolder     = Root + "/-/"
	referenceFolder = "reference/"  // made from the description of the API
	settingsFile    = "settings.md" // made from the settings
	exampleFile     = "weir.example.yaml"
	changesFile     = "CHANGELOG.md"
	indexFile       = "docs/README.md" // for readers of the repository; the first page is its like
)

// makeBook renders everything.
func makeBook(s Sources) (*book, error) {
	b := &book{pages: map[string]*page{}, texts: map[string]string{}, files: map[string]*webui.File{}, addresses: map[string]string{}, sizes: map[string]image.Config{}, children: map[string][]*page{}, translations: map[string]*page{}}
	for _, g := range groups {
		for _, e := range g.pages {
			if err := b.enter(s, g.name, e); err != nil {
				return nil, err
			}
		}
	}
	if err := b.embedded(s.Files); err != nil {
		return nil, err
	}
	b.addresses[exampleFile], b.addresses["internal/httpapi/openapi.yaml"] = "/"+exampleFile, "/openapi.yaml"
	b.addresses[indexFile] = Root
	for _, p := range b.order {
		if err := b.translate(s.Files, p); err != nil {
			return nil, err
		}
	}
	for _, p := range b.order { // pages lead to one another, so all addresses are known now
		if err := b.render(p); err != nil {
			return nil, err
		}
	}
	for _, p := range b.order {
		if p.russian != nil {
			p.russian.english = match(p.russian.source, p.ids)
		}
	}
	for _, t := range b.translations {
		if err := b.render(t); err != nil {
			return nil, err
		}
	}
	b.pages[""] = &page{lang: "en"}
	b.lists()
	return b, nil
}

// render makes the HTML of a page.
func (b *book) render(p *page) error {
	return p.render(b.resolver(p.origin), func(file string) (int, int) { c := b.sizes[file]; return c.Width, c.Height })
}

// enter adds the page of an entry, or the pages that are made for it.
func (b *book) enter(s Sources, group string, e entry) error {
	switch e.file {
	case referenceFolder:
		made, err := reference(s.OpenAPI)
		if err != nil {
			return err
		}
		for i, p := range made {
			p.group = group
			if i == 0 {
				p.about = e.about
			} else {
				p.parent = referenceName
			}
			b.add(p)
		}
		return nil
	case settingsFile:
		settings, err := s.Settings()
		if err != nil {
			return err
		}
		b.add(&page{name: "settings", file: settingsFile, origin: "docs/" + settingsFile, source: settingsPage(settings), about: e.about, group: group})
		return nil
	}
	text, err := fs.ReadFile(s.Files, e.file)
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	p := &page{also: e.also, file: strings.TrimPrefix(e.file, "docs/"), origin: e.file, source: string(text), about: e.about, group: group}
	p.name = strings.TrimSuffix(strings.TrimSuffix(p.file, ".md"), "/README")
	if e.file == changesFile {
		p.name, p.file = "changes", "changes.md"
	}
	if dir := path.Dir(p.file); b.pages[dir] != nil { // its page comes before it
		p.parent = dir
	}
	b.add(p)
	return nil
}

func (b *book) add(p *page) {
	p.lang = "en"
	b.pages[p.name] = p
	b.order = append(b.order, p)
	b.texts[p.twin()] = p.source
	b.addresses[p.origin] = p.path()
	if p.parent != "" {
		b.children[p.parent] = append(b.children[p.parent], p)
	}
}

// embedded adds the files that pages use.
func (b *book) embedded(files fs.FS) error {
	example, err := fs.ReadFile(files, exampleFile)
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	b.texts["/"+exampleFile] = string(example)
	pictures, err := fs.Glob(files, "docs/screens/*.png")
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	for _, name := range pictures {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("docsite: %w", err)
		}
		if b.sizes["/"+name], _, err = image.DecodeConfig(bytes.NewReader(content)); err != nil {
			return fmt.Errorf("docsite: %s: %w", name, err)
		}
		b.files["/"+name] = webui.NewFile("image/png", content, false)
		b.addresses[name] = "/" + name
	}
	look, err := fs.ReadFile(files, "web/src/styles.css")
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	font, err := fs.ReadFile(files, "web/src/assets/inter.woff2")
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	icon, err := fs.ReadFile(files, "web/src/assets/weir.svg")
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	style, err := assets.ReadFile("assets/docs.css")
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	script, err := assets.ReadFile("assets/docs.js")
	if err != nil {
		return fmt.Errorf("docsite: %w", err)
	}
	tokens, err := shared(string(look))
	if err != nil {
		return err
	}
	b.Font = b.asset("inter", ".woff2", "font/woff2", font)
	b.Icon = b.asset("weir", ".svg", "image/svg+xml", icon)
	b.Script = b.asset("docs", ".js", "text/javascript; charset=utf-8", script)
	b.Style = b.asset("docs", ".css", "text/css; charset=utf-8", []byte(strings.ReplaceAll(tokens, "./assets/inter.woff2", b.Font)+string(style)))
	return nil
}

// asset adds a file whose address changes with its content.
func (b *book) asset(name, ext, kind string, content []byte) (address string) {
	address = assetFolder + name + "." + webui.Fingerprint(content) + ext
	b.files[address] = webui.NewFile(kind, content, true)
	return address
}

// shared is what the documentation and the interface have in common of their style: the font and the colours.
func shared(look string) (string, error) {
	_, rest, begun := strings.Cut(look, "@font-face")
	tokens, _, ended := strings.Cut(rest, "@theme")
	if !begun || !ended || !strings.Contains(tokens, "--accent:") || !strings.Contains(tokens, "./assets/inter.woff2") {
		return "", fmt.Errorf("docsite: web/src/styles.css has no longer the form that the documentation reads: @font-face, colours, @theme")
	}
	return "@font-face" + tokens, nil
}

// lists makes what programs read: all pages with a sentence each, all pages in one text, and what the search of the interface needs.
func (b *book) lists() {
	var short, full strings.Builder
	w := rawjson.Writer{}
	w.Array()
	short.WriteString("# Weir\n\n> One HTTP API in front of many model providers, with a ledger in rubles that is exact to the nano-ruble. Keep your SDK, change the base URL and the key.\n\n" +
		"Each page is Markdown under the address below. All of them in one text: " + writtenBase + "/llms-full.txt. The description of the API as OpenAPI 3.1: " + writtenBase + "/openapi.yaml\n")
	for _, g := range groups {
		short.WriteString("\n## " + words["en"][g.name] + "\n\n")
		for _, p := range b.order {
			if p.group != g.name {
				continue
			}
			short.WriteString("- [" + p.title + "](" + writtenBase + p.twin() + "): " + p.about + "\n")
			full.WriteString("<!-- " + writtenBase + p.path() + " -->\n\n" + strings.TrimSpace(p.source) + "\n\n")
			w.Object()
			w.Name("path").Text(p.path())
			w.Name("title").Text(p.title)
			w.Name("about").Text(p.about)
			w.Name("headings").Array()
			for _, h := range p.contents {
				if h.Level == 2 {
					w.Texts([]string{h.ID, h.Text})
				}
			}
			w.EndArray()
			w.EndObject()
		}
	}
	w.EndArray()
	b.texts["/llms.txt"], b.texts["/llms-full.txt"], b.texts[pagesList] = short.String(), full.String(), string(w.B)
}
