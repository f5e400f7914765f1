package mail

import (
	"html"
	"strings"
	"unicode"
)

// content is what a mail says, before it is text or HTML. Nothing in it is markup.
type content struct {
	lang    string
	subject string
	heading string // over the text, "" none: the subject says it
	lead    string
	items   []item
	button  string // on the link, where there is one
	link    string
	end     string
	footer  []footnote
}

type item struct{ title, text string }

type footnote struct{ label, link string }

// plainText is a mail as text. Each link has a line of its own.
func plainText(c *content) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(plain(c.heading))
	add(plain(c.lead))
	for _, i := range c.items {
		add("* " + plain(i.title) + joined("\n  ", plain(i.text)))
	}
	if c.link != "" {
		add(c.button + ":\n" + c.link)
	}
	add(plain(c.end))
	for i, f := range c.footer {
		line := f.label + ": " + f.link
		if i == 0 {
			line = "-- \n" + line // what mail programs take for a signature
			parts = append(parts, line)
			continue
		}
		parts[len(parts)-1] += "\n" + line
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func joined(by, s string) string {
	if s == "" {
		return ""
	}
	return by + s
}

// style has the colors of both schemes. What a mail program ignores of it, the attributes of the elements say.
const style = `:root{color-scheme:light dark;supported-color-schemes:light dark}` +
	`@media (prefers-color-scheme:dark){.back{background:#0f1416!important}.sheet{background:#182023!important}.ink{color:#e6ecee!important}.pale{color:#9aa7ac!important}` +
	`.line{border-color:#2c373b!important}.go{background:#57b8c9!important;color:#08191d!important}.to{color:#6fc7d6!important}}` +
	`@media (max-width:400px){.sheet{padding:20px 16px!important}}`

const (
	font  = `font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif`
	small = font + `;font-size:13px;line-height:20px;color:#5f6c72`
	usual = font + `;font-size:15px;line-height:24px;color:#10191c`
)

// page is a mail as HTML: no images, nothing from elsewhere, readable without styles, in the dark and at 320 pixels.
func page(c *content) string {
	var b strings.Builder
	text := func(s string) string { return html.EscapeString(plain(s)) }
	b.WriteString(`<!doctype html><html lang="` + c.lang + `"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">` +
		`<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>` + text(c.subject) + `</title><style>` + style + `</style></head>` +
		`<body class="back" style="margin:0;padding:0;background:#f1f3f4"><table role="presentation" class="back" width="100%" cellpadding="0" cellspacing="0" style="background:#f1f3f4"><tr>` +
		`<td align="center" style="padding:16px 8px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px"><tr>` +
		`<td class="sheet" style="background:#ffffff;padding:28px;border-radius:8px;text-align:left;word-break:break-word;overflow-wrap:anywhere">`)
	heading := c.heading
	if heading == "" {
		heading = c.subject
	}
	b.WriteString(`<h1 class="ink" style="` + font + `;font-size:20px;line-height:28px;font-weight:600;color:#10191c;margin:0 0 12px">` + text(heading) + `</h1>`)
	if c.lead != "" {
		b.WriteString(`<p class="ink" style="` + usual + `;margin:0 0 16px">` + text(c.lead) + `</p>`)
	}
	for _, i := range c.items {
		b.WriteString(`<div class="line" style="border-top:1px solid #dde2e4;padding:12px 0"><p class="ink" style="` + usual + `;font-weight:600;margin:0">` + text(i.title) + `</p>`)
		if i.text != "" {
			b.WriteString(`<p class="pale" style="` + small + `;margin:2px 0 0">` + text(i.text) + `</p>`)
		}
		b.WriteString(`</div>`)
	}
	if c.link != "" {
		address := html.EscapeString(c.link)
		b.WriteString(`<p style="margin:16px 0 12px"><a class="go" href="` + address + `" style="` + font + `;font-size:15px;line-height:24px;font-weight:600;background:#0b6777;color:#ffffff;padding:10px 18px;border-radius:6px;text-decoration:none;display:inline-block">` +
			text(c.button) + `</a></p><p class="pale" style="` + small + `;margin:0 0 16px;word-break:break-all">` + address + `</p>`)
	}
	if c.end != "" {
		b.WriteString(`<p class="pale" style="` + small + `;margin:0">` + text(c.end) + `</p>`)
	}
	if len(c.footer) > 0 {
		b.WriteString(`<p class="pale line" style="` + small + `;margin:20px 0 0;padding:12px 0 0;border-top:1px solid #dde2e4">`)
		for i, f := range c.footer {
			if i > 0 {
				b.WriteString(`<br>`)
			}
			b.WriteString(`<a class="to" href="` + html.EscapeString(f.link) + `" style="color:#0b6777">` + text(f.label) + `</a>`)
		}
		b.WriteString(`</p>`)
	}
	b.WriteString(`</td></tr></table></td></tr></table></body></html>`)
	return b.String()
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
