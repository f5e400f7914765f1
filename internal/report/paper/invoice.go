package paper

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/rate"
)

// Invoices and acts are documents of Russian bookkeeping, and are in Russian whatever language the reader has.
const (
	bookkeeping = "ru"
	lineHeight  = 4.6
)

// Invoice prints an invoice with the seller's bank, the sum in words, and a code for apps of banks.
func Invoice(i *invoice.Invoice) ([]byte, error) {
	p := blank(bookkeeping, i.CreatedAt)
	created := i.CreatedAt.In(invoice.Moscow)
	title := "Счёт на оплату № " + i.Number + " от " + longDay(created)
	p.SetTitle(title, true)
	p.SetAuthor(plain(i.Seller.Name), true)
	p.AddPage()
	p.bank(&i.Seller)
	p.heading(title)
	p.parties("Поставщик", "Покупатель", &i.Seller, &i.Buyer)
	net := i.Total
	if i.VAT.Mode == rate.OnTop {
		net = i.Amount
	}
	p.goods(i.Line, net, i.VAT, i.Tax, i.Total, "Всего к оплате")
	p.words(i.Total)
	purpose := purposeOf(i, created)
	p.Ln(2)
	p.text("", normal, "Оплатить до "+longDay(i.ExpiresAt.In(invoice.Moscow))+" Назначение платежа: «"+purpose+"». По номеру счёта и ИНН плательщика деньги зачисляются на баланс.", width)
	if i.State == invoice.Cancelled {
		p.Ln(2)
		p.text("B", normal+1, "СЧЁТ ОТМЕНЁН "+longDay(i.EndedAt.In(invoice.Moscow))+". Не оплачивайте его.", width)
	} else if err := p.code(i, purpose); err != nil {
		return nil, err
	}
	p.Ln(8)
	p.signers(&i.Seller)
	return p.bytes()
}

// Act prints the act of a month.
func Act(a *invoice.Act) ([]byte, error) {
	p := blank(bookkeeping, a.MadeAt)
	last := a.To().AddDate(0, 0, -1)
	title := "Акт № " + a.Number + " от " + longDay(last)
	p.SetTitle(title+" об оказании услуг", true)
	p.SetAuthor(plain(a.Seller.Name), true)
	p.AddPage()
	p.heading(title)
	p.text("", normal, "об оказании услуг за период с "+longDay(a.From())+" по "+longDay(last), width)
	p.Ln(2)
	p.parties("Исполнитель", "Заказчик", &a.Seller, &a.Buyer)
	p.goods(a.Line+" за "+monthName(a.From()), a.Amount, a.VAT, a.Tax, a.Total, "Всего оказано услуг на сумму")
	p.words(a.Total)
	p.Ln(2)
	p.text("", normal, "Вышеперечисленные услуги оказаны полностью и в срок. Заказчик претензий по объёму, качеству и срокам оказания услуг не имеет.", width)
	p.Ln(4)
	p.statement(a)
	p.Ln(10)
	if p.GetY() > 297-bottom-40 {
		p.AddPage()
	}
	p.sides(a)
	return p.bytes()
}

func (p *printer) bytes() ([]byte, error) {
	var b bytes.Buffer
	err := p.Output(&b)
	return b.Bytes(), err
}

func longDay(t time.Time) string { return russian.long(t) + space + "г." }

// purposeOf is what the payer should write.
func purposeOf(i *invoice.Invoice, created time.Time) string {
	text := "Оплата по счёту № " + i.Number + " от " + created.Format("02.01.2006") + ". "
	if i.VAT.Mode == "" {
		return text + "Без НДС"
	}
	return text + "В т. ч. НДС " + i.VAT.Plain() + " % " + kopecks(i.Tax, ".", "")
}

// kopecks writes an amount with two decimals.
func kopecks(n money.Nano, point, group string) string {
	whole, part, _ := strings.Cut(n.String(), ".")
	for len(part) < 2 {
		part += "0"
	}
	if group != "" {
		whole = grouped(whole)
	}
	return whole + point + part
}

func sum(n money.Nano) string { return kopecks(n, ",", space) }

// text prints a text over as many lines as it needs, and moves below them.
func (p *printer) text(style string, size float64, s string, w float64) {
	p.pen(style, size, 0)
	x := p.GetX()
	for _, line := range p.lines(plain(s), w-1) {
		if p.GetY()+lineHeight > 297-bottom {
			p.AddPage()
			p.pen(style, size, 0)
		}
		p.SetX(x)
		p.CellFormat(w, lineHeight, line, "", 2, "L", false, 0, "")
	}
	p.SetX(left)
}

// bank prints the block from which payers copy.
func (p *printer) bank(s *invoice.Seller) {
	const label, value = 16.0, 58.0
	main := width - label - value
	y := p.GetY()
	p.SetDrawColor(60, 66, 70)
	box := func(x, y, w, h float64) { p.Rect(x, y, w, h, "D") }
	cell := func(x, y, w float64, style string, size float64, s string) {
		p.SetXY(x+1, y+1)
		p.text(style, size, s, w-2)
	}
	p.pen("", normal, 0)
	h1 := max(14, float64(len(p.lines(plain(s.Bank), main-3)))*lineHeight+7)
	box(left, y, main, h1)
	cell(left, y, main, "", normal, s.Bank)
	p.SetXY(left+1, y+h1-5)
	p.text("", small-1, "Банк получателя", main)
	box(left+main, y, label, 7)
	cell(left+main, y, label, "", normal, "БИК")
	box(left+main+label, y, value, 7)
	cell(left+main+label, y, value, "", normal, s.BIK)
	box(left+main, y+7, label, h1-7)
	cell(left+main, y+7, label, "", normal, "Сч. №")
	box(left+main+label, y+7, value, h1-7)
	cell(left+main+label, y+7, value, "", normal, s.Correspondent)
	y += h1
	half := main / 2
	box(left, y, half, 7)
	cell(left, y, half, "", normal, "ИНН "+s.INN)
	box(left+half, y, half, 7)
	cell(left+half, y, half, "", normal, "КПП "+s.KPP)
	p.pen("", normal, 0)
	h2 := max(14, float64(len(p.lines(plain(s.Name), main-3)))*lineHeight+7)
	box(left, y+7, main, h2)
	cell(left, y+7, main, "", normal, s.Name)
	p.SetXY(left+1, y+7+h2-5)
	p.text("", small-1, "Получатель", main)
	box(left+main, y, label, 7+h2)
	cell(left+main, y, label, "", normal, "Сч. №")
	box(left+main+label, y, value, 7+h2)
	cell(left+main+label, y, value, "B", normal, s.Account)
	p.SetXY(left, y+7+h2+6)
}

func (p *printer) heading(title string) {
	p.text("B", 13, title, width)
	p.Ln(1)
	p.SetLineWidth(0.6)
	p.SetDrawColor(0, 0, 0)
	p.Line(left, p.GetY(), left+width, p.GetY())
	p.SetLineWidth(0.2)
	p.Ln(3)
}

func (p *printer) parties(from, to string, s *invoice.Seller, b *invoice.Buyer) {
	const label = 26.0
	for _, x := range []struct{ name, text string }{{from, partyLine(s.Name, s.INN, s.KPP, s.Address)}, {to, partyLine(b.Name, b.INN, b.KPP, b.Address)}} {
		y := p.GetY()
		p.text("", normal, x.name+":", label)
		p.SetXY(left+label, y)
		p.text("B", normal, x.text, width-label)
		p.Ln(2)
	}
}

func partyLine(name, inn, kpp, address string) string {
	text := name + ", ИНН " + inn
	if kpp != "" {
		text += ", КПП " + kpp
	}
	return text + ", " + address
}

// goods prints the one line that is sold, and the totals.
func (p *printer) goods(line string, net money.Nano, v rate.VAT, tax, total money.Nano, last string) {
	widths := []float64{8, width - 8 - 16 - 14 - 32 - 32, 16, 14, 32, 32}
	p.SetDrawColor(60, 66, 70)
	p.pen("B", small, 0)
	for i, name := range []string{"№", "Наименование", "Кол-во", "Ед.", "Цена, ₽", "Сумма, ₽"} {
		p.CellFormat(widths[i], 6, name, "1", 0, "C", false, 0, "")
	}
	p.Ln(6)
	p.pen("", normal, 0)
	lines := p.lines(plain(line), widths[1]-3)
	y, h := p.GetY(), max(7, float64(len(lines))*lineHeight+2)
	x := left
	for i, c := range []struct{ text, align string }{{"1", "C"}, {"", "L"}, {"1", "R"}, {"усл.", "C"}, {sum(net), "R"}, {sum(net), "R"}} {
		p.SetXY(x, y)
		p.CellFormat(widths[i], h, c.text, "1", 0, c.align, false, 0, "")
		x += widths[i]
	}
	p.SetXY(left+widths[0]+0.5, y+1)
	p.text("", normal, line, widths[1]-1)
	p.SetXY(left, y+h+2)
	name, value := "Без налога (НДС)", "—"
	switch v.Mode {
	case rate.Included:
		name, value = "В том числе "+russian.rate(v.Plain()), sum(tax)
	case rate.OnTop:
		name, value = russian.rate(v.Plain()), sum(tax)
	}
	for _, r := range [][2]string{{"Итого", sum(net)}, {name, value}, {last, sum(total)}} {
		p.pen("B", normal, 0)
		p.CellFormat(width-36, 5.2, r[0]+":", "", 0, "R", false, 0, "")
		p.CellFormat(36, 5.2, r[1], "", 1, "R", false, 0, "")
	}
	p.Ln(2)
}

func (p *printer) words(total money.Nano) {
	p.text("", normal, "Всего наименований 1, на сумму "+sum(total)+" руб.", width)
	p.text("B", normal, inWords(total), width)
}

// statement prints where the amount of an act comes from.
func (p *printer) statement(a *invoice.Act) {
	p.text("", small, "Движение по лицевому счёту за месяц (московское время), ₽; суммы точные, со всеми знаками:", width)
	for _, r := range []struct {
		name string
		n    money.Nano
	}{
		{"Остаток на начало месяца", a.Opening}, {"Поступило", a.ToppedUp}, {"Списано за услуги, за вычетом возвратов и корректировок", a.Spent}, {"Остаток на конец месяца", a.Closing},
		{"Перенесено из прошлых месяцев", a.Before}, {"Вошло в этот акт" + untaxedNote(a.VAT), a.Amount}, {"Перенесено на следующий месяц", a.After},
	} {
		p.pen("", small, 60)
		p.CellFormat(width-50, 4.4, r.name, "B", 0, "L", false, 0, "")
		p.CellFormat(50, 4.4, russian.amount(r.n), "B", 1, "R", false, 0, "")
	}
}

func untaxedNote(v rate.VAT) string {
	if v.Mode == rate.OnTop {
		return " (без НДС)"
	}
	return ""
}

func (p *printer) signers(s *invoice.Seller) {
	if p.GetY() > 297-bottom-30 {
		p.AddPage()
	}
	for _, x := range [][2]string{{chief(s), s.Director}, {"Бухгалтер", s.Accountant}} {
		if x[1] == "" {
			continue
		}
		p.pen("B", normal, 0)
		p.CellFormat(44, 6, x[0], "", 0, "L", false, 0, "")
		p.CellFormat(50, 6, "", "B", 0, "L", false, 0, "")
		p.pen("", normal, 0)
		p.CellFormat(width-94, 6, " "+p.fit(plain(x[1]), width-96), "", 1, "L", false, 0, "")
		p.Ln(4)
	}
}

func chief(s *invoice.Seller) string {
	if invoice.Sole(s.INN) {
		return "Предприниматель"
	}
	return "Руководитель"
}

// sides prints the places for both signatures.
func (p *printer) sides(a *invoice.Act) {
	half := width/2 - 4
	y := p.GetY()
	for i, x := range []struct{ title, name, who string }{{"Исполнитель", a.Seller.Name, a.Seller.Director}, {"Заказчик", a.Buyer.Name, ""}} {
		at := left + float64(i)*(half+8)
		p.SetXY(at, y)
		p.text("B", normal, x.title, half)
		p.SetX(at)
		p.pen("", small, 0)
		for k, line := range p.lines(plain(x.name), half-1) {
			if k == 4 {
				break
			}
			p.SetX(at)
			p.CellFormat(half, lineHeight, line, "", 2, "L", false, 0, "")
		}
		p.SetXY(at, y+32)
		p.CellFormat(half*0.55, 6, "", "B", 0, "L", false, 0, "")
		p.CellFormat(half*0.45, 6, " "+p.fit(plain(x.who), half*0.45-2), "", 0, "L", false, 0, "")
		p.SetXY(at, y+39)
		p.pen("", small-1, 95)
		p.CellFormat(half, 4, "М. П.", "", 0, "L", false, 0, "")
	}
}

var monthNames = [...]string{"январь", "февраль", "март", "апрель", "май", "июнь", "июль", "август", "сентябрь", "октябрь", "ноябрь", "декабрь"}

func monthName(t time.Time) string {
	return fmt.Sprintf("%s %d года", monthNames[t.Month()-1], t.Year())
}
