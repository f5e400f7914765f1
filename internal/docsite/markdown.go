package docsite

import (
	"bytes"
	"fmt"
	"html"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// page is a page of the documentation, rendered.
type page struct {
	name     string // of its address below /docs/; "" is the first page
	file     string // of its twin below /docs/; "" for pages without one
	origin   string // its name in the repository, from which links are resolved
	source   string // Markdown
	title    string
	heading  string // the title as HTML
	about    string
	group    string
	deepest  int    // the headings that are listed and searched by themselves; 0: all of them
	parent   string // name of the page that lists it, "" for those of the table
	html     string // without the title
	contents []heading
	sections []section
	also     string            // other words by which it is looked for
	ids      []string          // fragments of all headings; of a translation, those that it has on the site
	english  map[string]string // of a translation: fragments of the English page by those of its own headings
	lang     string            // "en" or "ru"
	russian  *page             // nil without a translation
	older    bool              // a translation: the English text has changed since
}

func (p *page) path() string {
	if p.name == "" {
		return Root
	}
	return Root + "/" + p.name
}

func (p *page) twin() string { return Root + "/" + p.file }

// heading is one that a page's table of contents has.
type heading struct {
	Level    int
	ID, Text string
}

// section is what stands below a heading, for the search.
type section struct {
	id, title string // "" before the first heading
	text      string
	folded    string // title and text in lower case
}

// render makes a page of its Markdown. resolve turns a link into an address; "" makes it text.
func (p *page) render(resolve func(to string) string, image func(file string) (width, height int)) error {
	md := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&writer{resolve: resolve, image: image}, 100))),
	)
	source := []byte(p.source)
	doc := parse(md, source)
	first, ok := doc.FirstChild().(*ast.Heading)
	if !ok || first.Level != 1 {
		return fmt.Errorf("docsite: %s does not begin with a title", p.origin)
	}
	if p.english != nil {
		rename(doc, p.english)
	}
	p.ids = fragments(doc)
	p.title = plain(first, source)
	var b bytes.Buffer
	for c := first.FirstChild(); c != nil; c = c.NextSibling() {
		if err := md.Renderer().Render(&b, source, c); err != nil {
			return fmt.Errorf("docsite: %s: %w", p.origin, err)
		}
	}
	p.heading = b.String()
	doc.RemoveChild(doc, first)
	p.index(doc, source)
	b.Reset()
	if err := md.Renderer().Render(&b, source, doc); err != nil {
		return fmt.Errorf("docsite: %s: %w", p.origin, err)
	}
	p.html = b.String()
	return nil
}

func parse(md goldmark.Markdown, source []byte) ast.Node {
	return md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&ids{taken: map[string]bool{}}))))
}

// index collects the table of contents and what the search reads.
func (p *page) index(doc ast.Node, source []byte) {
	p.sections = []section{{title: p.title}}
	var words strings.Builder
	end := func() {
		last := &p.sections[len(p.sections)-1]
		last.text = strings.Join(strings.Fields(words.String()), " ")
		last.folded = strings.ToLower(last.title + "\n" + last.text)
		words.Reset()
	}
	for c := doc.FirstChild(); c != nil; c = c.NextSibling() {
		h, ok := c.(*ast.Heading)
		if !ok || p.deepest > 0 && h.Level > p.deepest {
			words.WriteString(plain(c, source) + " ")
			continue
		}
		end()
		id, title := attribute(h), plain(h, source)
		p.sections = append(p.sections, section{id: id, title: title})
		if h.Level == 2 || h.Level == 3 {
			p.contents = append(p.contents, heading{h.Level, id, title})
		}
	}
	end()
}

func attribute(h *ast.Heading) string {
	id, _ := h.AttributeString("id")
	b, _ := id.([]byte)
	return string(b)
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		default:
			if n.Type() == ast.TypeBlock && !entering {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// ids makes the fragments of headings as forges do, so that a link works in both.
type ids struct{ taken map[string]bool }

func (s *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := fragment(string(value))
	for n, first := 1, id; s.taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", first, n)
	}
	s.taken[id] = true
	return []byte(id)
}

func (s *ids) Put(value []byte) { s.taken[string(value)] = true }

func fragment(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsNumber(r), r == '_', r == '-':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// writer renders what our pages show in another way than the library does.
type writer struct {
	resolve func(to string) string
	image   func(file string) (width, height int)
}

// RegisterFuncs says which nodes it renders.
func (w *writer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, w.heading)
	r.Register(ast.KindLink, w.link)
	r.Register(ast.KindImage, w.picture)
	r.Register(ast.KindCodeBlock, w.code)
	r.Register(ast.KindFencedCodeBlock, w.code)
	r.Register(east.KindTable, w.table)
}

// heading is a link to itself, unless it contains one.
func (w *writer) heading(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h, ok := n.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	id, linked := html.EscapeString(attribute(h)), false
	for c := h.FirstChild(); c != nil; c = c.NextSibling() {
		linked = linked || c.Kind() == ast.KindLink
	}
	switch {
	case entering && linked:
		fmt.Fprintf(b, `<h%d id="%s">`, h.Level, id)
	case entering:
		fmt.Fprintf(b, `<h%d id="%s"><a href="#%s">`, h.Level, id, id)
	case linked:
		fmt.Fprintf(b, "</h%d>\n", h.Level)
	default:
		fmt.Fprintf(b, "</a></h%d>\n", h.Level)
	}
	return ast.WalkContinue, nil
}

func (w *writer) link(b util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	l, ok := n.(*ast.Link)
	if !ok {
		return ast.WalkContinue, nil
	}
	to := w.resolve(string(l.Destination))
	switch {
	case to == "":
	case !entering:
		_, _ = b.WriteString("</a>")
	case strings.Contains(to, "://"):
		_, _ = b.WriteString(`<a href="` + html.EscapeString(to) + `" rel="noopener noreferrer nofollow">`)
	default:
		_, _ = b.WriteString(`<a href="` + html.EscapeString(to) + `">`)
	}
	return ast.WalkContinue, nil
}

func (w *writer) picture(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	i, ok := n.(*ast.Image)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	src := w.resolve(string(i.Destination))
	if src == "" || strings.Contains(src, "://") { // nothing of other hosts is loaded
		_, _ = b.WriteString(html.EscapeString(plain(i, source)))
		return ast.WalkSkipChildren, nil
	}
	_, _ = b.WriteString(`<img src="` + html.EscapeString(src) + `" alt="` + html.EscapeString(plain(i, source)) + `" loading="lazy"`)
	if width, height := w.image(src); width > 0 {
		fmt.Fprintf(b, ` width="%d" height="%d"`, width, height)
	}
	_, _ = b.WriteString(">")
	return ast.WalkSkipChildren, nil
}

func (w *writer) code(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	code, info := string(n.Lines().Value(source)), ""
	if f, ok := n.(*ast.FencedCodeBlock); ok && f.Info != nil {
		info = string(f.Info.Segment.Value(source))
	}
	var marked strings.Builder
	highlight(&marked, strings.TrimRight(code, "\n")+"\n", language(info, code))
	// The script shows blocks that follow one another, each in another language, as one with a choice.
	tab := ""
	if name := tabs[language(info, code)]; info != "" && name != "" {
		tab = ` data-tab="` + name + `"`
	}
	fmt.Fprintf(b, `<div class="code"%s><pre tabindex="0" translate="no"><code>%s</code></pre></div>`+"\n", tab, marked.String())
	return ast.WalkSkipChildren, nil
}

// table scrolls in a frame of its own, which the keyboard can reach.
func (w *writer) table(b util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = b.WriteString(`<div class="table" tabindex="0"><table>` + "\n")
	} else {
		_, _ = b.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// resolver turns links of a file into addresses of this site.
func (b *book) resolver(origin string) func(string) string {
	return func(to string) string {
		if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://") || strings.HasPrefix(to, "mailto:") {
			return to
		}
		file, anchor, anchored := strings.Cut(to, "#")
		target := origin
		if file != "" {
			target = path.Join(path.Dir(origin), file)
		}
		if t := b.translations[target]; t != nil && t.english[anchor] != "" {
			anchor = t.english[anchor]
		}
		if file == "" {
			return "#" + anchor
		}
		address := b.addresses[target]
		if address != "" && anchored {
			address += "#" + anchor
		}
		return address
	}
}
