// Package paper prints statements of accounts, invoices and acts as PDF documents. It computes nothing: every figure is that of the statement,
// invoice or act. The same one always gives the same bytes.
package paper

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/report"
)

var (
	//go:embed DejaVuSans.ttf
	regular []byte
	//go:embed DejaVuSans-Bold.ttf
	bold []byte
)

// Head is what is printed above a statement.
type Head struct {
	Language string // "en" or "ru"
	Account  string // its name
	Wallet   string
	Site     string // address of the installation
	Made     time.Time
}

// All lengths are in millimetres.
const (
	font                             = "DejaVu"
	left, right, top, bottom float64 = 16, 16, 16, 18
	width                            = 210 - left - right
	rowHeight                        = 5.2
	small, normal, large             = 7.5, 8.5, 15
)

// The columns of the table: date, text, debit, credit, balance.
var columns = [...]float64{22, width - 22 - 3*34, 34, 34, 34}

type printer struct {
	*fpdf.Fpdf
	w *words
}

// Statement prints a statement, the oldest row first.
func Statement(s *report.Statement, h Head) ([]byte, error) {
	p := blank(h.Language, h.Made)
	p.SetTitle(p.w.title+", "+p.w.period(s.From, s.To), true)
	p.SetAuthor("Weir", true)
	p.AliasNbPages("{n}")
	p.SetFooterFunc(func() {
		p.SetY(-bottom + 6)
		p.pen("", small, 95)
		p.CellFormat(width/2, 4, p.fit(h.Account+" · "+h.Wallet, width/2), "", 0, "L", false, 0, "")
		p.CellFormat(width/2, 4, fmt.Sprintf(p.w.page, p.PageNo()), "", 0, "R", false, 0, "")
	})
	p.AddPage()
	p.head(s, &h)
	p.sums(s)
	p.tableHead()
	p.balance(s.From, p.w.opening, s.Opening)
	for i := range s.Lines {
		p.line(&s.Lines[i])
	}
	p.balance(s.To, p.w.closing, s.Closing)
	p.taxes(s.Taxes)
	p.notes(s, &h)
	var b bytes.Buffer
	err := p.Output(&b)
	return b.Bytes(), err
}

// blank is a document without pages.
func blank(language string, made time.Time) *printer {
	p := &printer{Fpdf: fpdf.New("P", "mm", "A4", ""), w: wordsOf(language)}
	p.SetCatalogSort(true)
	p.SetCreationDate(made)
	p.SetModificationDate(made)
	p.SetMargins(left, top, right)
	p.SetAutoPageBreak(false, bottom)
	p.AddUTF8FontFromBytes(font, "", regular)
	p.AddUTF8FontFromBytes(font, "B", bold)
	p.SetLang(language)
	return p
}

// pen sets the style, the size in points and the grey of text, 0 black.
func (p *printer) pen(style string, size float64, grey int) {
	p.SetFont(font, style, size)
	p.SetTextColor(grey, grey, grey)
}

func (p *printer) head(s *report.Statement, h *Head) {
	p.pen("B", large, 0)
	p.CellFormat(width, 8, p.w.title, "", 1, "L", false, 0, "")
	p.pen("", normal, 60)
	p.CellFormat(width, 6, p.w.period(s.From, s.To), "", 1, "L", false, 0, "")
	p.Ln(3)
	for _, x := range [][2]string{{p.w.account, h.Account}, {p.w.wallet, h.Wallet}, {p.w.site, h.Site}, {p.w.made, p.w.moment(h.Made)}, {p.w.currency, p.w.rubles}} {
		p.pen("", small, 95)
		p.CellFormat(28, 4.6, x[0], "", 0, "L", false, 0, "")
		p.pen("", normal, 0)
		p.CellFormat(width-28, 4.6, p.fit(x[1], width-28), "", 1, "L", false, 0, "")
	}
	p.Ln(4)
}

// sums prints the balances and what lies between them.
func (p *printer) sums(s *report.Statement) {
	cells := []struct {
		name string
		n    money.Nano
	}{{p.w.opening, s.Opening}, {p.w.credited, s.Credited}, {p.w.debited, s.Debited}, {p.w.closing, s.Closing}}
	each := width / float64(len(cells))
	p.SetDrawColor(190, 196, 198)
	p.Line(left, p.GetY(), left+width, p.GetY())
	p.Ln(2)
	p.pen("", small, 95)
	for _, c := range cells {
		p.CellFormat(each, 4.5, c.name, "", 0, "L", false, 0, "")
	}
	p.Ln(4.5)
	for _, c := range cells {
		p.pen("B", normal+0.5, 0)
		text := p.w.amount(c.n)
		for size := normal + 0.5; p.GetStringWidth(text) > each-2 && size > 5; size -= 0.5 {
			p.pen("B", size, 0)
		}
		p.CellFormat(each, 5.5, text, "", 0, "L", false, 0, "")
	}
	p.Ln(8)
}

func (p *printer) tableHead() {
	p.pen("", small, 95)
	p.SetDrawColor(60, 66, 70)
	for i, name := range []string{p.w.date, p.w.what, p.w.debit, p.w.credit, p.w.balance} {
		align := "R"
		if i < 2 {
			align = "L"
		}
		p.CellFormat(columns[i], rowHeight+1, name, "B", 0, align, false, 0, "")
	}
	p.Ln(rowHeight + 2)
}

// row prints one row. Its text may have several lines.
func (p *printer) row(style string, day time.Time, text string, debit, credit, balance string) {
	p.pen(style, normal, 0)
	lines := p.wrap(text, columns[1]-2)
	height := rowHeight * float64(len(lines))
	if p.GetY()+height > 297-bottom {
		p.AddPage()
		p.tableHead()
		p.pen(style, normal, 0)
	}
	y := p.GetY()
	p.CellFormat(columns[0], rowHeight, p.w.day(day), "", 0, "L", false, 0, "")
	for i, line := range lines {
		p.SetXY(left+columns[0], y+float64(i)*rowHeight)
		p.CellFormat(columns[1], rowHeight, line, "", 0, "L", false, 0, "")
	}
	p.SetXY(left+columns[0]+columns[1], y)
	for i, cell := range []string{debit, credit, balance} {
		p.number(columns[2+i], cell, style)
	}
	p.SetXY(left, y+height)
	p.SetDrawColor(222, 226, 227)
	p.Line(left, p.GetY(), left+width, p.GetY())
}

// number prints an amount at the right edge of its column, smaller if all its digits need that.
func (p *printer) number(w float64, text, style string) {
	for size := normal; p.GetStringWidth(text) > w-1 && size > 5; size -= 0.5 {
		p.pen(style, size, 0)
	}
	p.CellFormat(w, rowHeight, text, "", 0, "R", false, 0, "")
	p.pen(style, normal, 0)
}

func (p *printer) balance(day time.Time, name string, n money.Nano) {
	p.row("B", day, name, "", "", p.w.amount(n))
}

func (p *printer) line(l *report.Line) {
	debit, credit := "", p.w.amount(l.Amount)
	if l.Amount < 0 || l.Kind == report.CallsKind {
		debit, credit = p.w.amount(-l.Amount), ""
	}
	p.row("", l.Day, p.w.text(l), debit, credit, p.w.amount(l.Balance))
}

// taxes prints what calls and refunds of the period contain of each VAT, if they contain any.
func (p *printer) taxes(all []report.Tax) {
	if !slices.ContainsFunc(all, func(t report.Tax) bool { return t.Percent != "" }) {
		return
	}
	if p.GetY()+rowHeight*float64(len(all)+3) > 297-bottom {
		p.AddPage()
	}
	p.Ln(5)
	cells := func(style string, rule string, text ...string) {
		p.pen(style, normal, 0)
		p.CellFormat(columns[0]+columns[1], rowHeight, text[0], rule, 0, "L", false, 0, "")
		for i, x := range text[1:] {
			size := normal
			for ; p.GetStringWidth(x) > columns[2+i]-1 && size > 5; size -= 0.5 {
				p.pen(style, size, 0)
			}
			p.CellFormat(columns[2+i], rowHeight, x, rule, 0, "R", false, 0, "")
			p.pen(style, normal, 0)
		}
		p.Ln(rowHeight)
	}
	p.SetDrawColor(60, 66, 70)
	cells("", "B", p.w.spent, p.w.net, p.w.vat, p.w.gross)
	p.SetDrawColor(222, 226, 227)
	var net, vat, gross money.Nano
	for i := range all {
		t := &all[i]
		cells("", "B", p.w.rate(t.Percent), p.w.amount(t.Gross()-t.VAT()), p.w.amount(t.VAT()), p.w.amount(t.Gross()))
		net, vat, gross = net+t.Gross()-t.VAT(), vat+t.VAT(), gross+t.Gross()
	}
	if len(all) > 1 {
		cells("B", "", p.w.together, p.w.amount(net), p.w.amount(vat), p.w.amount(gross))
	}
}

func (p *printer) notes(s *report.Statement, h *Head) {
	if p.GetY() > 297-bottom-40 {
		p.AddPage()
	}
	p.Ln(5)
	p.pen("", small, 60)
	check := p.w.agrees
	if !s.Agrees {
		check = p.w.disagrees
	}
	for _, text := range []string{
		fmt.Sprintf(p.w.now, p.w.moment(h.Made), p.w.amount(s.Balance), p.w.amount(s.Held), p.w.amount(s.Balance-s.Held)), check, fmt.Sprintf(p.w.utc, s.Timezone),
	} {
		for _, line := range p.wrap(text, width) {
			p.CellFormat(width, 4.2, line, "", 1, "L", false, 0, "")
		}
	}
}

// wrap breaks a text into a few lines of a width.
func (p *printer) wrap(text string, w float64) (lines []string) {
	const most = 6
	if lines = p.lines(text, w); len(lines) > most {
		lines = append(lines[:most-1], "…")
	}
	return lines
}

// lines breaks a text into lines of a width; a word that is too long is cut.
func (p *printer) lines(text string, w float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && p.GetStringWidth(line+" "+word) <= w {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; p.GetStringWidth(line) > w; {
			cut := p.fits(line, w)
			lines, line = append(lines, line[:cut]), line[cut:]
		}
	}
	return append(lines, line)
}

// fits is how many bytes of a text have room, at least one character.
func (p *printer) fits(text string, w float64) int {
	end := 0
	for i := range text {
		if i > 0 && p.GetStringWidth(text[:i]) > w {
			return max(end, 1)
		}
		if i > 0 {
			end = i
		}
	}
	return max(end, 1)
}

// fit cuts a text to a width.
func (p *printer) fit(text string, w float64) string {
	if p.GetStringWidth(text) <= w-1 {
		return text
	}
	return text[:p.fits(text, w-4)] + "…"
}

// plain is a text that the font can print: what it has no glyph for becomes a question mark.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7f:
			return ' '
		case r <= 0x7e, r >= 0xa0 && r <= 0xff, r == 'Ё', r == 'ё', r >= 'А' && r <= 'я', r >= 0x2010 && r <= 0x2015, r >= 0x2018 && r <= 0x201e, r == '…', r == '№', r == '₽', r == '€':
			return r
		}
		return '?'
	}, text)
}

// text says what a row is about.
func (w *words) text(l *report.Line) string {
	if l.Kind == report.CallsKind {
		return w.calls(l.Count) + w.contains(l)
	}
	m := l.Movement
	if m == nil {
		return fmt.Sprintf("%s (%d)", w.kinds[l.Kind], l.Count) + w.contains(l)
	}
	text := w.kinds[l.Kind]
	if l.Kind == ledger.TopUpKind && l.Amount < 0 {
		text = w.payBack
	}
	if source, ok := strings.CutPrefix(m.Against, ledger.TopUpAccount); ok {
		text += ", " + cmp.Or(w.sources[source], source)
	}
	if call, ok := strings.CutPrefix(m.Against, ledger.RefundAccount); ok {
		text += ", " + call
	}
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	return plain(text + " [" + m.Ref + "]" + w.contains(l))
}

// contains says which VAT a row contains; nothing without any.
func (w *words) contains(l *report.Line) string {
	text := ""
	for i := range l.Taxes {
		if t := &l.Taxes[i]; t.Percent != "" {
			text += "; " + w.rate(t.Percent) + " " + w.amount(t.VAT)
			if len(l.Taxes) > 1 {
				text += " " + w.outOf + " " + w.amount(t.Gross)
			}
		}
	}
	return text
}

// rate names a VAT.
func (w *words) rate(percent string) string {
	if percent == "" {
		return w.untaxed
	}
	return w.tax + space + strings.Replace(percent, ".", w.point, 1) + space + "%"
}
