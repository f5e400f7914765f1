package mail

import (
	"embed"
	htmltemplate "html/template"
	"net/url"
	"strings"
	texttemplate "text/template"
	"unicode"
)

// content is what a mail says, before it is text or HTML. Nothing in it is markup.
type content struct {
	Lang    string
	Subject string
	Lead    string
	Items   []item
	Button  string // on the link, where there is one
	Link    string
	End     string
	Footer  []footnote
}

type item struct{ Title, Text string }

type footnote struct{ Label, Link string }

// mail.txt gives each link a line of its own. mail.html has no images and nothing from elsewhere, and can be read without styles, in the dark and
// at 320 pixels: what a mail program ignores of its style sheet, the attributes of the elements say.
//
//go:embed mail.txt mail.html
var layouts embed.FS

var (
	inLayouts  = map[string]any{"plain": plain, "ascii": asciiURL}
	textLayout = texttemplate.Must(texttemplate.New("mail.txt").Funcs(inLayouts).ParseFS(layouts, "mail.txt"))
	htmlLayout = htmltemplate.Must(htmltemplate.New("mail.html").Funcs(inLayouts).ParseFS(layouts, "mail.html"))
)

// asciiURL writes the host of a link in the letters that DNS knows.
func asciiURL(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Hostname() == "" {
		return link
	}
	return strings.Replace(link, u.Hostname(), ascii(u.Hostname()), 1)
}

const longestSubject = 150 // characters

// plain is a text on one line. Characters that would change the direction of the text around them, or that are invisible, become spaces: people
// choose the names of keys.
func plain(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "")))
}

// subjectOf is a text for the header.
func subjectOf(s string) string { return clip(plain(s), longestSubject) }

// clip shortens a text to most characters.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}
